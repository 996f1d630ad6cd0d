"""A convolutional network over the features of a table; needs the extra `cnn`: torch, skorch."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from ..._checks import require_library
from ..._typing import Array
from ..rows import ProbableClass


@dataclass(eq=False, repr=False)
class ConvolutionalNetwork(ProbableClass, BaseEstimator):  # type: ignore[misc]
    """Two 1-D convolutions over the features in their order, and a dense layer.

    The features are an array of standardised numbers. The network is trained by Adam on the
    cross-entropy, through skorch.
    """

    max_epochs: int = 20
    lr: float = 0.001
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> ConvolutionalNetwork:
        """Train the network."""
        for library in ("torch", "skorch"):
            require_library("The convolutional network", library, "cnn")
        torch, skorch = import_module("torch"), import_module("skorch")
        nn, n_features = torch.nn, X.shape[1]
        self.classes_, codes = np.unique(y, return_inverse=True)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        # The seed of the user's own torch code stays as it is. Steps so small need one thread.
        with torch.random.fork_rng(devices=[]), threadpool_limits(1):
            torch.manual_seed(seed)
            self.net_ = skorch.NeuralNetClassifier(
                nn.Sequential(
                    nn.Unflatten(1, (1, n_features)),
                    nn.Conv1d(1, 16, 3, padding="same"),
                    nn.ReLU(),
                    nn.Conv1d(16, 32, 3, padding="same"),
                    nn.ReLU(),
                    nn.MaxPool1d(2, ceil_mode=True),
                    nn.Flatten(),
                    nn.Linear(32 * ((n_features + 1) // 2), 64),
                    nn.ReLU(),
                    nn.Linear(64, len(self.classes_)),
                ),
                criterion=nn.CrossEntropyLoss,
                optimizer=torch.optim.Adam,
                lr=self.lr,
                max_epochs=self.max_epochs,
                batch_size=128,
                iterator_train__shuffle=True,
                train_split=None,
                verbose=0,
            ).fit(X.astype(np.float32), codes.astype(np.int64))
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, rows x classes."""
        torch = import_module("torch")
        with torch.random.fork_rng(devices=[]), threadpool_limits(1):  # loaders draw numbers, too
            proba = self.net_.predict_proba(X.astype(np.float32)).astype(np.float64)
        return proba / proba.sum(axis=1, keepdims=True)
