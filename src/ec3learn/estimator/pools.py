"""The pools: base classifiers and base clusterings by name, each of which accepts raw tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
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

from .._checks import InputError, MissingExtraError, unknown_name
from .features import Features
from .models.classifiers import (
    LIBRARIES,
    Sized,
    folds_of_calibration,
    installed_classifier,
    leaves_and_rounds,
    neighbours,
    penalty_and_stopping,
    trees,
)
from .models.clusterings import KDistanceDBSCAN, Landmarks, QuantileMeanShift, SilhouetteKMeans
from .models.convolution import ConvolutionalNetwork, require_cnn
from .models.kernel_bayes import KernelNaiveBayes

Pool = list[tuple[str, Any]]

CLASSES_FOR_BOOSTING = 100  # with more, a tree per class and round takes too long

standardised = partial(Features, "standard")
normalised = partial(Features, "normal")
for_trees = partial(Features, None, text="shares")
as_they_are = partial(Features, None, dense=True)


def _knn() -> Any:
    return Sized(KNeighborsClassifier(10, weights="distance"), neighbours)


def _forest(kind: Any, n_trees: int) -> Any:
    return Sized(kind(n_trees, bootstrap=True, oob_score=True), trees)


def _svm() -> Any:
    svm = LinearSVC(dual="auto", max_iter=10_000)
    return Sized(CalibratedClassifierCV(svm, cv=3, ensemble=False), folds_of_calibration)


def _perceptron() -> Any:
    # Where rows are few, an epoch has few batches: a high rate makes up for that.
    mlp = MLPClassifier((100,), alpha=1.0, learning_rate_init=0.005, max_iter=100)
    return Sized(mlp, penalty_and_stopping)


def _boosting() -> tuple[str, Features, Any]:
    model = Sized(HistGradientBoostingClassifier(), leaves_and_rounds)
    return "boosting", for_trees(dense=True), model


def _linear() -> tuple[str, Features, Any]:
    return "lr", normalised(), LogisticRegression(max_iter=1000)


def _bayes() -> tuple[str, Features, Any]:
    return "nb", as_they_are(), KernelNaiveBayes()


def _default() -> list[tuple[str, Features, Any]]:
    return [  # about 74 of 200 trees are out of bag for a row, and vote on it
        _boosting(),
        ("forest", for_trees(), _forest(RandomForestClassifier, 200)),
        ("extra", for_trees(), _forest(ExtraTreesClassifier, 200)),
        _linear(),
        ("knn", normalised(), _knn()),
        ("mlp", normalised(), _perceptron()),
        _bayes(),
    ]


def _fast() -> list[tuple[str, Features, Any]]:
    extra = _forest(ExtraTreesClassifier, 100)
    return [_boosting(), ("extra", for_trees(), extra), _linear(), _bayes()]


def _strong() -> list[tuple[str, Features, Any]]:
    installed, missing = libraries_of("strong")
    if not installed:
        phrase = (
            f"The pool 'strong' needs one or more of {', '.join(missing)}: "
            "pip install 'ec3learn[strong]'"
        )
        raise MissingExtraError("strong", phrase=phrase, remedy="Or take the pool 'default'.")
    more = [(name, for_trees(dense=True), installed_classifier(name)) for name in installed]
    return _default() + more


def _paper() -> list[tuple[str, Features, Any]]:
    return [
        ("dt", for_trees(), DecisionTreeClassifier()),
        _bayes(),
        ("knn", standardised(), _knn()),
        ("lr", standardised(), LogisticRegression(max_iter=1000)),
        ("svm", standardised(), _svm()),
        ("sgd", standardised(), SGDClassifier(loss="log_loss")),
        ("cnn", standardised(dense=True), ConvolutionalNetwork()),
    ]


CLASSIFIER_POOLS: dict[str, Callable[[], list[tuple[str, Features, Any]]]] = {
    "default": _default,
    "fast": _fast,
    "strong": _strong,
    "paper": _paper,
}


def _default_clusterings(n_classes: int, n_landmarks: int) -> Pool:
    many = 10 * n_landmarks
    models: Pool = [
        (f"kmeans_{grain}", Landmarks(KMeans(grain * n_classes), many)) for grain in (1, 2, 4, 10)
    ]
    mixture = GaussianMixture(2 * n_classes, covariance_type="diag", reg_covar=1e-3)
    ward = Landmarks(AgglomerativeClustering(4 * n_classes), n_landmarks)
    return [*models, ("mixture", Landmarks(mixture, many)), ("ward", ward)]


def _fast_clusterings(n_classes: int, n_landmarks: int) -> Pool:
    models = dict(_default_clusterings(n_classes, n_landmarks))
    return [(name, models[name]) for name in ("kmeans_2", "kmeans_10")]


def _paper_clusterings(n_classes: int, n_landmarks: int) -> Pool:
    complete = AgglomerativeClustering(n_classes, linkage="complete")
    affinity = AffinityPropagation(damping=0.9, max_iter=500)
    return [
        ("dbscan", Landmarks(KDistanceDBSCAN(), n_landmarks)),
        ("hierarchical", Landmarks(complete, n_landmarks)),
        ("affinity", Landmarks(affinity, n_landmarks)),
        ("kmeans", SilhouetteKMeans()),
        ("meanshift", Landmarks(QuantileMeanShift(), n_landmarks)),
    ]


CLUSTERER_POOLS: dict[str, Callable[[int, int], Pool]] = {
    "default": _default_clusterings,
    "fast": _fast_clusterings,
    "strong": _default_clusterings,
    "paper": _paper_clusterings,
}


# ---- by name -------------------------------------------------------------------------------------


def classifier_pool(
    name: str = "default",
    *,
    without: Sequence[str] = (),
    random_state: Any = None,
) -> Pool:
    """The base classifiers of a pool, unfitted, as a list of (name, pipeline).

    Parameters
    ----------
    name : "default", "fast", "strong" or "paper"
        "default" is a modern pool, and "fast" the four of it that take a fifth of its time.
        "strong" is "default" with what is installed of CatBoost, LightGBM, XGBoost, TabICL and
        TabPFN. "paper" is the seven classifiers of the paper.
    without : sequence of str
        Names of classifiers to leave out.
    random_state : int, RandomState instance, or None
        Seed of all classifiers.

    Examples
    --------
    >>> from ec3learn.estimator import classifier_pool
    >>> [name for name, model in classifier_pool("paper", without=["cnn"])]
    ['dt', 'nb', 'knn', 'lr', 'svm', 'sgd']
    """
    if name not in CLASSIFIER_POOLS:
        raise unknown_name("pool of classifiers", name, CLASSIFIER_POOLS)
    models = _without(CLASSIFIER_POOLS[name](), without)
    if any(key == "cnn" for key, *_ in models):
        require_cnn()
    return _make_pipelines(models, random_state)


def clusterer_pool(
    name: str = "default",
    *,
    n_classes: int = 5,
    without: Sequence[str] = (),
    n_landmarks: int = 2000,
    random_state: Any = None,
) -> Pool:
    """The base clusterings of a pool, unfitted, as a list of (name, pipeline).

    Each can `predict` the clusters of new rows.

    Parameters
    ----------
    name : "default", "fast", "strong" or "paper"
        "default" and "strong" have coarse and fine clusterings, "fast" two of them; "paper" is the
        five of the paper.
    n_classes : int
        Number of classes, from which the numbers of clusters follow.
    without : sequence of str
        Names of clusterings to leave out.
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
    entries = [(key, features(dense=True), model) for key, model in models]
    return _make_pipelines(_without(entries, without), random_state)


def _without(models: list[Any], names: Sequence[str]) -> list[Any]:
    keys = [key for key, *_ in models]
    unknown = [name for name in names if name not in keys]
    if isinstance(names, str) or unknown:
        must = f"must be a list of names of models of the pool ({', '.join(keys)})"
        raise InputError("without", must, got=names if isinstance(names, str) else unknown[0])
    return [model for model in models if model[0] not in names]


def libraries_of(name: Any) -> tuple[list[str], list[str]]:
    """The libraries besides scikit-learn that a pool takes: those installed, and the others."""
    libraries = list(LIBRARIES) if name == "strong" else []
    installed = [library for library in libraries if find_spec(library) is not None]
    return installed, [library for library in libraries if library not in installed]


def _make_pipelines(models: list[tuple[str, Features, Any]], random_state: Any) -> Pool:
    """Pipelines with their seeds set."""
    random = None if random_state is None else check_random_state(random_state)
    pool = []
    for key, features, model in models:
        pipeline = Pipeline([("features", features), ("model", model)])
        if random is not None:
            seed = int(random.randint(np.iinfo(np.int32).max))
            names = [name for name in pipeline.get_params() if name.endswith("__random_state")]
            pipeline.set_params(**dict.fromkeys(names, seed))
        pool.append((key, pipeline))
    return pool
