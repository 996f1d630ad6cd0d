"""A convolutional network over the features of a table; needs the extra `cnn`: torch, skorch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..._checks import MissingExtraError
from ..._typing import Array
from .base import ProbabilisticClassifier

NEEDS = ("torch", "skorch")


@dataclass(eq=False, repr=False)
class ConvolutionalNetwork(ProbabilisticClassifier):
    """Two 1-D convolutions over the features in their order, and a dense layer.

    The features should be standardised. The network is trained by Adam on the cross-entropy,
    through skorch.

    Parameters
    ----------
    n_filters : int
        Filters of the first convolution; the second has twice as many.
    kernel_size : int
        Number of neighbouring features a filter sees.
    n_hidden : int
        Units of the dense layer.
    max_epochs : int
        Number of epochs.
    lr : float
        Learning rate.
    batch_size : int
        Rows per step.
    random_state : int, RandomState instance, or None
        Seed of the initial weights and of the order of the rows.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    net_ : skorch.NeuralNetClassifier

    Examples
    --------
    >>> from ec3learn.estimator import ConvolutionalNetwork
    >>> model = ConvolutionalNetwork(max_epochs=50, random_state=0)
    >>> model.fit([[0, 1], [0, 2], [5, 1], [5, 2]], ["a", "a", "b", "b"]).predict([[5, 3]])
    array(['b'], dtype='<U1')
    """

    _dtype, _sparse = np.float32, False

    n_filters: int = 16
    kernel_size: int = 3
    n_hidden: int = 64
    max_epochs: int = 20
    lr: float = 0.001
    batch_size: int = 128
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> ConvolutionalNetwork:
        """Train the network."""
        require_cnn()
        X, y = self._check_rows(X, y, reset=True)
        codes = self._encode_classes(y)
        torch, skorch = (import_module(name) for name in NEEDS)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        with (
            torch.random.fork_rng(devices=[]),
            one_thread(torch),
        ):  # the seed of the user's own torch code stays as it is
            torch.manual_seed(seed)
            self.net_ = skorch.NeuralNetClassifier(
                self._layers(torch.nn, X.shape[1], len(self.classes_)),
                criterion=torch.nn.CrossEntropyLoss,
                optimizer=torch.optim.Adam,
                lr=self.lr,
                max_epochs=self.max_epochs,
                batch_size=self.batch_size,
                iterator_train__shuffle=True,
                train_split=None,
                verbose=0,
            ).fit(X, codes.astype(np.int64))
        return self

    def _predict_proba(self, X: Array) -> Array:
        torch = import_module("torch")
        with (
            torch.random.fork_rng(devices=[]),
            one_thread(torch),
        ):  # loading rows draws random numbers too
            proba = np.asarray(self.net_.predict_proba(X), dtype=np.float64)
        return proba / proba.sum(axis=1, keepdims=True)

    def _layers(self, nn: Any, n_features: int, n_classes: int) -> Any:
        layers = [
            nn.Unflatten(1, (1, n_features)),
            nn.Conv1d(1, self.n_filters, self.kernel_size, padding="same"),
            nn.ReLU(),
            nn.Conv1d(self.n_filters, 2 * self.n_filters, self.kernel_size, padding="same"),
            nn.ReLU(),
            nn.MaxPool1d(2, ceil_mode=True),
            nn.Flatten(),
            nn.Linear(2 * self.n_filters * ((n_features + 1) // 2), self.n_hidden),
            nn.ReLU(),
            nn.Linear(self.n_hidden, n_classes),
        ]
        return nn.Sequential(*layers)


@contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Limit torch to one thread: with steps so small, more would wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def require_cnn() -> None:
    """Raise an error unless torch and skorch are installed."""
    if any(find_spec(name) is None for name in NEEDS):
        raise MissingExtraError(
            "torch",
            phrase="The convolutional network needs torch and skorch: pip install 'ec3learn[cnn]'",
            remedy="Or leave it out: classifier_pool('paper', without=['cnn']).",
        )
