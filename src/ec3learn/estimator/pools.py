"""The pools: base classifiers and base clusterings by name, each of which accepts raw tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import AffinityPropagation, AgglomerativeClustering, KMeans
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from .._checks import unknown_name
from .features import Features
from .models.classifiers import (
    Sized,
    folds_of_calibration,
    leaves_and_rounds,
    neighbours,
    penalty_and_stopping,
    trees,
)
from .models.clusterings import (
    ChosenClustering,
    KDistanceDBSCAN,
    Landmarks,
    best_kmeans,
    mean_shift,
)
from .models.convolution import ConvolutionalNetwork
from .models.kernel_bayes import KernelNaiveBayes

Pool = list[tuple[str, Any]]

CLASSIFIERS = {
    "default": ("boosting", "forest", "extra", "lr", "knn", "mlp", "nb"),
    "fast": ("boosting", "extra", "lr", "nb"),
    "paper": ("dt", "nb", "knn", "lr", "svm", "sgd", "cnn"),
}
CLUSTERERS = {
    "default": ("kmeans_1", "kmeans_2", "kmeans_4", "kmeans_10", "mixture", "ward"),
    "fast": ("kmeans_2", "kmeans_10"),
    "paper": ("dbscan", "hierarchical", "affinity", "kmeans", "meanshift"),
}


def _classifiers(scale: str) -> dict[str, tuple[Features, Any]]:
    """Every classifier, with the features it learns from."""
    scaled, raw = Features(scale), Features(None, dense=True)
    for_trees = Features(None, text="codes")
    # About 74 of 200 trees are out of bag for a row, and vote on it.
    forest = {"n_estimators": 200, "bootstrap": True, "oob_score": True}
    # Where rows are few, an epoch has few batches: a high rate makes up for that.
    mlp = MLPClassifier((100,), alpha=1.0, learning_rate_init=0.005, max_iter=100)
    svm = CalibratedClassifierCV(LinearSVC(dual="auto", max_iter=10_000), cv=3, ensemble=False)
    return {
        "boosting": (
            Features(None, text="codes", dense=True),
            Sized(HistGradientBoostingClassifier(), leaves_and_rounds),
        ),
        "forest": (for_trees, Sized(RandomForestClassifier(**forest), trees)),
        "extra": (for_trees, Sized(ExtraTreesClassifier(**forest), trees)),
        "lr": (scaled, LogisticRegression(max_iter=1000)),
        "knn": (scaled, Sized(KNeighborsClassifier(10, weights="distance"), neighbours)),
        "mlp": (scaled, Sized(mlp, penalty_and_stopping)),
        "nb": (raw, KernelNaiveBayes()),
        "dt": (for_trees, DecisionTreeClassifier()),
        "svm": (scaled, Sized(svm, folds_of_calibration)),
        "sgd": (scaled, SGDClassifier(loss="log_loss")),
        "cnn": (Features(scale, dense=True), ConvolutionalNetwork()),
    }


def _clusterers(n_classes: int, n_landmarks: int) -> dict[str, Any]:
    """Every clustering."""
    of_rows = {f"kmeans_{grain}": KMeans(grain * n_classes) for grain in (1, 2, 4, 10)}
    of_pairs = {  # their memory grows with the square of the rows
        "ward": AgglomerativeClustering(4 * n_classes),
        "dbscan": KDistanceDBSCAN(),
        "hierarchical": AgglomerativeClustering(n_classes, linkage="complete"),
        "affinity": AffinityPropagation(damping=0.9, max_iter=500),
        "meanshift": ChosenClustering(mean_shift),
    }
    mixture = GaussianMixture(2 * n_classes, covariance_type="diag", reg_covar=1e-3)
    return {
        **{name: Landmarks(model, 10 * n_landmarks) for name, model in of_rows.items()},
        **{name: Landmarks(model, n_landmarks) for name, model in of_pairs.items()},
        "mixture": Landmarks(mixture, 10 * n_landmarks),
        "kmeans": ChosenClustering(best_kmeans),
    }


# ---- by name -------------------------------------------------------------------------------------


def classifier_pool(name: str = "default", *, random_state: Any = None) -> Pool:
    """The base classifiers of a pool, unfitted, as a list of (name, pipeline).

    Parameters
    ----------
    name : "default", "fast" or "paper"
        "default" is a modern pool, and "fast" four of it. "paper" is the seven classifiers of the
        paper.
    random_state : int, RandomState instance, or None
        Seed of all classifiers.

    Examples
    --------
    >>> from ec3learn.estimator import classifier_pool
    >>> [name for name, model in classifier_pool("paper")]
    ['dt', 'nb', 'knn', 'lr', 'svm', 'sgd', 'cnn']
    """
    if name not in CLASSIFIERS:
        raise unknown_name("pool of classifiers", name, CLASSIFIERS)
    models = _classifiers("standard" if name == "paper" else "normal")
    pool = [(key, _pipeline(*models[key])) for key in CLASSIFIERS[name]]
    return pool if random_state is None else seeded(pool, random_state)


def clusterer_pool(
    name: str = "default",
    *,
    n_classes: int = 5,
    n_landmarks: int = 2000,
    random_state: Any = None,
) -> Pool:
    """The base clusterings of a pool, unfitted, as a list of (name, pipeline).

    Each can `predict` the clusters of new rows.

    Parameters
    ----------
    name : "default", "fast" or "paper"
        "default" has coarse and fine clusterings, "fast" two of them; "paper" is the five of the
        paper.
    n_classes : int
        Number of classes, from which the numbers of clusters follow.
    n_landmarks : int
        Maximum number of rows to cluster by algorithms whose memory grows with the square of the
        rows.
    random_state : int, RandomState instance, or None
        Seed of all clusterings.
    """
    if name not in CLUSTERERS:
        raise unknown_name("pool of clusterings", name, CLUSTERERS)
    features = Features("standard" if name == "paper" else "normal", dense=True)
    models = _clusterers(n_classes, n_landmarks)
    pool = [(key, _pipeline(features, models[key])) for key in CLUSTERERS[name]]
    return pool if random_state is None else seeded(pool, random_state)


def _pipeline(features: Features, model: Any) -> Pipeline:
    return Pipeline([("features", clone(features)), ("model", model)])


def seeded(pool: Pool, random_state: Any) -> Pool:
    """Copies of the models but "drop", with a seed in each `random_state` that is None."""
    random = check_random_state(random_state)
    copies = []
    for name, model in (pair for pair in pool if not isinstance(pair[1], str)):
        copy, seed = clone(model), int(random.randint(np.iinfo(np.int32).max))
        unset = [key for key, value in copy.get_params().items() if value is None]
        seeds = [key for key in unset if key.split("__")[-1] == "random_state"]
        copies.append((name, copy.set_params(**dict.fromkeys(seeds, seed))))
    return copies
