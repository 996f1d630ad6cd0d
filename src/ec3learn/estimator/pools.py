"""The pools: base classifiers and base clusterings by name, each of which accepts raw tables."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
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
from .models.clusterings import KDistanceDBSCAN, Landmarks, QuantileMeanShift, SilhouetteKMeans
from .models.convolution import ConvolutionalNetwork
from .models.kernel_bayes import KernelNaiveBayes

Pool = list[tuple[str, Any]]

standardised = partial(Features, "standard")
normalised = partial(Features, "normal")
for_trees = partial(Features, None, text="shares")


def _forest(kind: Any, n_trees: int = 200) -> Any:
    # About 74 of 200 trees are out of bag for a row, and vote on it.
    return Sized(kind(n_trees, bootstrap=True, oob_score=True), trees)


def _shared_models() -> dict[str, tuple[Features, Any]]:
    """The classifiers that several pools have."""
    knn = Sized(KNeighborsClassifier(10, weights="distance"), neighbours)
    return {
        "boosting": (
            for_trees(dense=True),
            Sized(HistGradientBoostingClassifier(), leaves_and_rounds),
        ),
        "lr": (normalised(), LogisticRegression(max_iter=1000)),
        "knn": (normalised(), knn),
        "nb": (Features(None, dense=True), KernelNaiveBayes()),
    }


def _default() -> dict[str, tuple[Features, Any]]:
    shared = _shared_models()
    # Where rows are few, an epoch has few batches: a high rate makes up for that.
    mlp = MLPClassifier((100,), alpha=1.0, learning_rate_init=0.005, max_iter=100)
    return {
        "boosting": shared["boosting"],
        "forest": (for_trees(), _forest(RandomForestClassifier)),
        "extra": (for_trees(), _forest(ExtraTreesClassifier)),
        "lr": shared["lr"],
        "knn": shared["knn"],
        "mlp": (normalised(), Sized(mlp, penalty_and_stopping)),
        "nb": shared["nb"],
    }


def _fast() -> dict[str, tuple[Features, Any]]:
    shared = _shared_models()
    extra = for_trees(), _forest(ExtraTreesClassifier, 100)
    return {"boosting": shared["boosting"], "extra": extra, "lr": shared["lr"], "nb": shared["nb"]}


def _paper() -> dict[str, tuple[Features, Any]]:
    shared = _shared_models()
    svm = CalibratedClassifierCV(LinearSVC(dual="auto", max_iter=10_000), cv=3, ensemble=False)
    return {
        "dt": (for_trees(), DecisionTreeClassifier()),
        "nb": shared["nb"],
        "knn": (standardised(), shared["knn"][1]),
        "lr": (standardised(), shared["lr"][1]),
        "svm": (standardised(), Sized(svm, folds_of_calibration)),
        "sgd": (standardised(), SGDClassifier(loss="log_loss")),
        "cnn": (standardised(dense=True), ConvolutionalNetwork()),
    }


CLASSIFIER_POOLS = {"default": _default, "fast": _fast, "paper": _paper}


def _default_clusterings(n_classes: int, n_landmarks: int) -> dict[str, Any]:
    grains = {f"kmeans_{grain}": KMeans(grain * n_classes) for grain in (1, 2, 4, 10)}
    mixture = GaussianMixture(2 * n_classes, covariance_type="diag", reg_covar=1e-3)
    models = {
        name: Landmarks(model, 10 * n_landmarks)  # their memory does not grow with the square
        for name, model in [*grains.items(), ("mixture", mixture)]
    }
    return {**models, "ward": Landmarks(AgglomerativeClustering(4 * n_classes), n_landmarks)}


def _fast_clusterings(n_classes: int, n_landmarks: int) -> dict[str, Any]:
    models = _default_clusterings(n_classes, n_landmarks)
    return {name: models[name] for name in ("kmeans_2", "kmeans_10")}


def _paper_clusterings(n_classes: int, n_landmarks: int) -> dict[str, Any]:
    complete = AgglomerativeClustering(n_classes, linkage="complete")
    affinity = AffinityPropagation(damping=0.9, max_iter=500)
    return {
        "dbscan": Landmarks(KDistanceDBSCAN(), n_landmarks),
        "hierarchical": Landmarks(complete, n_landmarks),
        "affinity": Landmarks(affinity, n_landmarks),
        "kmeans": SilhouetteKMeans(),
        "meanshift": Landmarks(QuantileMeanShift(), n_landmarks),
    }


CLUSTERER_POOLS = {
    "default": _default_clusterings,
    "fast": _fast_clusterings,
    "paper": _paper_clusterings,
}


# ---- by name -------------------------------------------------------------------------------------


def classifier_pool(name: str = "default", *, random_state: Any = None) -> Pool:
    """The base classifiers of a pool, unfitted, as a list of (name, pipeline).

    Parameters
    ----------
    name : "default", "fast" or "paper"
        "default" is a modern pool, and "fast" the four of it that take a fifth of its time. "paper"
        is the seven classifiers of the paper.
    random_state : int, RandomState instance, or None
        Seed of all classifiers.

    Examples
    --------
    >>> from ec3learn.estimator import classifier_pool
    >>> [name for name, model in classifier_pool("paper")]
    ['dt', 'nb', 'knn', 'lr', 'svm', 'sgd', 'cnn']
    """
    if name not in CLASSIFIER_POOLS:
        raise unknown_name("pool of classifiers", name, CLASSIFIER_POOLS)
    return _make_pipelines(CLASSIFIER_POOLS[name](), random_state)


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
    if name not in CLUSTERER_POOLS:
        raise unknown_name("pool of clusterings", name, CLUSTERER_POOLS)
    features = standardised if name == "paper" else normalised
    models = CLUSTERER_POOLS[name](n_classes, n_landmarks)
    entries = {key: (features(dense=True), model) for key, model in models.items()}
    return _make_pipelines(entries, random_state)


def _make_pipelines(models: dict[str, tuple[Features, Any]], random_state: Any) -> Pool:
    """Pipelines with their seeds set."""
    random = None if random_state is None else check_random_state(random_state)
    pool = []
    for key, (features, model) in models.items():
        pipeline = Pipeline([("features", features), ("model", model)])
        if random is not None:
            seed = int(random.randint(np.iinfo(np.int32).max))
            names = [name for name in pipeline.get_params() if name.endswith("__random_state")]
            pipeline.set_params(**dict.fromkeys(names, seed))
        pool.append((key, pipeline))
    return pool
