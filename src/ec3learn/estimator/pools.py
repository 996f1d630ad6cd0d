"""The pools: base classifiers and base clusterings by name, each of which accepts raw tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.cluster import AffinityPropagation, AgglomerativeClustering, KMeans
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from .._checks import (
    InputError,
    InputTypeError,
    MissingExtraError,
    require_bool,
    require_integer,
    unknown_name,
)
from .features import Features
from .models.classifiers import (
    LIBRARIES,
    Boosting,
    CalibratedLinearSVM,
    ExtraTrees,
    InstalledClassifier,
    NearestNeighbours,
    Perceptron,
    RandomForest,
    linear_svm,
)
from .models.clusterings import KDistanceDBSCAN, Landmarks, QuantileMeanShift, SilhouetteKMeans
from .models.convolution import ConvolutionalNetwork, require_cnn
from .models.kernel_bayes import KernelNaiveBayes

Pool = list[tuple[str, Any]]
Grid = dict[str, list[Any]]


class TableModel(Pipeline):  # type: ignore[misc]
    """A pipeline of `Features` and a model, whose model's parameters also have short names.

    `C` is short for `model__C`, and `n_clusters` for `model__clusterer__n_clusters` if the model
    has no `n_clusters` of its own.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from ec3learn.estimator import Features, TableModel
    >>> model = TableModel([("features", Features()), ("model", LogisticRegression())])
    >>> model.set_params(C=0.5)["model"]
    LogisticRegression(C=0.5)
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, as `Pipeline.get_params` does, those of the model under their short names as well."""
        parameters = super().get_params(deep=deep)
        if deep:
            parameters |= {short: parameters[name] for short, name in self._short_names().items()}
        return parameters

    def set_params(self, **parameters: Any) -> TableModel:
        """Set parameters by their full or short names."""
        names = self._short_names()
        full = {name: value for name, value in parameters.items() if name not in names}
        super().set_params(**full)
        super().set_params(
            **{names[name]: value for name, value in parameters.items() if name in names}
        )
        return self

    @property
    def labels_(self) -> Any:
        """The clusters of the rows passed to `fit`, if the model is a clustering."""
        return self.steps[-1][1].labels_

    def _short_names(self) -> dict[str, str]:
        """Return the full name of each short one; of two candidates the less nested one."""
        own = super().get_params(deep=True)
        step, model = self.steps[-1]
        deepest_first = sorted(model.get_params(deep=True), key=lambda name: -name.count("__"))
        return {
            name.rsplit("__")[-1]: f"{step}__{name}"
            for name in deepest_first
            if name.rsplit("__")[-1] not in own
        }


# ---- by name -------------------------------------------------------------------------------------


def classifier_pool(
    name: str = "default",
    *,
    soft: bool = True,
    without: Sequence[str] = (),
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Pool:
    """Return the base classifiers of a pool, unfitted.

    Parameters
    ----------
    name : "default", "fast", "strong" or "paper"
        "default" is a modern pool, and "fast" the four of it that take a fifth of its time.
        "strong" is "default" with what is installed of CatBoost, LightGBM, XGBoost, TabICL and
        TabPFN. "paper" is the seven classifiers of the paper.
    soft : bool
        Whether class probabilities are needed; the linear support vector machine is then
        calibrated.
    without : sequence of str
        Names of classifiers to leave out.
    random_state : int, RandomState instance, or None
        Seed of all classifiers.
    n_jobs : int or None
        Number of cores each classifier may use.

    Returns
    -------
    list of (name, classifier)
        Each accepts raw tables: `Features` is its first step.

    Examples
    --------
    >>> from ec3learn.estimator import classifier_pool
    >>> [name for name, model in classifier_pool("paper", without=["cnn"])]
    ['dt', 'nb', 'knn', 'lr', 'svm', 'sgd']
    """
    models = _without(_find_pool(CLASSIFIER_POOLS, name, "pool of classifiers"), without)
    require_bool("soft", soft)
    installed, missing = libraries_of(name)
    if missing and not installed:
        phrase = f"The pool {name!r} needs one or more of {', '.join(missing)}: pip install 'ec3learn[strong]'"
        raise MissingExtraError("strong", phrase=phrase, remedy="Or take the pool 'default'.")
    models = [model for model in models if model[0] not in missing]
    if any(key == "cnn" for key, *_ in models):
        require_cnn()
    made = [
        (key, features(), (model if soft else HARD.get(model, model))())
        for key, features, model, _ in models
    ]
    return _make_pipelines(made, random_state, n_jobs)


def clusterer_pool(
    name: str = "default",
    *,
    n_classes: int | None = None,
    without: Sequence[str] = (),
    n_landmarks: int = 2000,
    random_state: Any = None,
) -> Pool:
    """Return the base clusterings of a pool, unfitted.

    Parameters
    ----------
    name : "default", "fast", "strong" or "paper"
        "default" and "strong" have coarse and fine clusterings, "fast" two of them; "paper" is the
        five of the paper.
    n_classes : int or None
        Number of classes, from which the numbers of clusters follow; None stands for 5.
    without : sequence of str
        Names of clusterings to leave out.
    n_landmarks : int
        Maximum number of rows to cluster by algorithms whose memory grows with the square of the
        rows.
    random_state : int, RandomState instance, or None
        Seed of all clusterings.

    Returns
    -------
    list of (name, clustering)
        Each accepts raw tables (`Features` is its first step) and can `predict` the clusters of new
        rows.
    """
    make = _find_pool(CLUSTERER_POOLS, name, "pool of clusterings")
    if n_classes is not None:
        require_integer("n_classes", n_classes, 1)
    require_integer("n_landmarks", n_landmarks, 1)
    models = _without(make(n_classes or DEFAULT_CLASSES, n_landmarks), without)
    return _make_pipelines(models, random_state, None)


def grids(name: str = "default") -> dict[str, Grid]:
    """Return the parameter grids of the classifiers of a pool, as `GridSearchCV` takes them.

    Returns
    -------
    dict
        Name of a classifier -> name of a parameter -> list of values.
    """
    return {
        key: dict(grid)
        for key, _, _, grid in _find_pool(CLASSIFIER_POOLS, name, "pool of classifiers")
    }


def _find_pool(pools: dict[str, Any], name: Any, what: str) -> Any:
    if name not in pools:
        raise unknown_name(what, name, pools)
    return pools[name]


def _without(models: list[Any], names: Sequence[str]) -> list[Any]:
    """Return the models except those named."""
    if isinstance(names, str):
        raise InputTypeError(
            "without", "must be a list of names", got=names, remedy=f"Pass [{names!r}]."
        )
    keys = [key for key, *_ in models]
    for name in names:
        if name not in keys:
            raise InputError(
                "without", f"must name models of the pool ({', '.join(keys)})", got=name
            )
    return [model for model in models if model[0] not in names]


def libraries_of(name: Any) -> tuple[list[str], list[str]]:
    """Return the libraries besides scikit-learn that a pool takes and are installed, and those that are not."""
    libraries = list(LIBRARIES) if name == "strong" else []
    installed = [own for own in libraries if find_spec(own) is not None]
    return installed, [own for own in libraries if own not in installed]


def too_slow_for(name: Any, n_classes: int) -> list[str]:
    """Return the classifiers of a pool that would take too long with so many classes."""
    many = isinstance(name, str) and n_classes > CLASSES_FOR_BOOSTING
    return [key for key, *_ in CLASSIFIER_POOLS.get(name, ()) if key == "boosting"] if many else []


def _make_pipelines(
    models: list[tuple[str, Features, Any]], random_state: Any, n_jobs: int | None
) -> Pool:
    """Return pipelines with their seeds and numbers of cores set."""
    random = None if random_state is None else check_random_state(random_state)
    pool = []
    for key, features, model in models:
        pipeline = TableModel([("features", features), ("model", model)])
        names = Pipeline.get_params(pipeline)
        changes: dict[str, Any] = {name: n_jobs for name in names if name.endswith("__n_jobs")}
        if random is not None:
            seed = int(random.randint(np.iinfo(np.int32).max))
            changes |= {name: seed for name in names if name.endswith("__random_state")}
        pool.append((key, pipeline.set_params(**changes)))
    return pool


# ---- their contents ------------------------------------------------------------------------------

DEFAULT_CLASSES = 5
CLASSES_FOR_BOOSTING = 100  # with more, a tree per class and round takes too long
N_TREES = 200  # about 74 of them are out of bag for a row, and vote on it

# The name of a classifier, its features, the classifier, and its parameter grid.
Entry = tuple[str, Callable[[], Features], Callable[[], Any], Grid]

standardised = partial(Features, "standard")
standardised_dense = partial(Features, "standard", dense=True)
normalised = partial(Features, "normal")
normalised_dense = partial(Features, "normal", dense=True)
for_trees = partial(Features, None, text="shares", missing="keep")
for_boosting = partial(Features, None, text="shares", missing="keep", dense=True)
for_densities = partial(Features, None, missing="keep", dense=True)

LOGISTIC = partial(LogisticRegression, max_iter=1000)
PENALTIES: Grid = {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}
OF_SGD: Grid = {"alpha": [1e-5, 1e-4, 1e-3, 1e-2], "loss": ["log_loss", "modified_huber"]}
OF_BOOSTING: Grid = {
    "learning_rate": [0.03, 0.1],
    "max_leaf_nodes": [15, 31],
    "min_samples_leaf": [5, 20],
}
OF_FORESTS: Grid = {"min_samples_leaf": [1, 3, 10], "max_features": ["sqrt", 0.5]}
BAYES: Entry = (
    "nb",
    for_densities,
    KernelNaiveBayes,
    {"bandwidth": ["scott", 0.05, 0.1, 0.2, 0.5]},
)

PAPER: list[Entry] = [
    (
        "dt",
        for_trees,
        DecisionTreeClassifier,
        {"max_depth": [None, 4, 8, 16], "min_samples_leaf": [1, 5, 20]},
    ),
    BAYES,
    (
        "knn",
        standardised,
        NearestNeighbours,
        {"n_neighbors": [1, 3, 5, 10, 20, 50], "weights": ["uniform", "distance"]},
    ),
    ("lr", standardised, LOGISTIC, PENALTIES),
    ("svm", standardised, CalibratedLinearSVM, {"C": [0.01, 0.1, 1.0, 10.0]}),
    ("sgd", standardised, partial(SGDClassifier, loss="log_loss"), OF_SGD),
    (
        "cnn",
        standardised_dense,
        ConvolutionalNetwork,
        {"n_filters": [16, 32], "kernel_size": [3, 5], "lr": [0.001, 0.003]},
    ),
]

BOOSTING: Entry = ("boosting", for_boosting, Boosting, OF_BOOSTING)
LINEAR: Entry = ("lr", normalised, LOGISTIC, PENALTIES)

DEFAULT: list[Entry] = [
    BOOSTING,
    ("forest", for_trees, partial(RandomForest, N_TREES, oob_score=True), OF_FORESTS),
    ("extra", for_trees, partial(ExtraTrees, N_TREES, bootstrap=True, oob_score=True), OF_FORESTS),
    LINEAR,
    (
        "knn",
        normalised,
        NearestNeighbours,
        {"n_neighbors": [5, 10, 20, 50], "weights": ["uniform", "distance"]},
    ),
    ("mlp", normalised, Perceptron, {"n_hidden": [50, 100, 200], "alpha": [1e-4, 1e-2, 1.0]}),
    BAYES,
]

FAST: list[Entry] = [
    BOOSTING,
    (
        "extra",
        for_trees,
        partial(ExtraTrees, N_TREES // 2, bootstrap=True, oob_score=True),
        {"min_samples_leaf": [1, 3, 10]},
    ),
    LINEAR,
    BAYES,
]

STRONG: list[Entry] = [
    *DEFAULT,
    *((library, for_boosting, partial(InstalledClassifier, library), {}) for library in LIBRARIES),
]

CLASSIFIER_POOLS: dict[str, list[Entry]] = {
    "default": DEFAULT,
    "fast": FAST,
    "strong": STRONG,
    "paper": PAPER,
}
HARD: dict[Any, Callable[[], Any]] = {
    CalibratedLinearSVM: linear_svm
}  # replacements where no probabilities are needed


def paper_clusterings(n_classes: int, n_landmarks: int) -> list[tuple[str, Features, Any]]:
    """Return the clusterings of the paper; those of quadratic memory cluster landmarks."""
    return [
        ("dbscan", standardised_dense(), Landmarks(KDistanceDBSCAN(), n_landmarks)),
        (
            "hierarchical",
            standardised_dense(),
            Landmarks(AgglomerativeClustering(n_classes, linkage="complete"), n_landmarks),
        ),
        (
            "affinity",
            standardised_dense(),
            Landmarks(AffinityPropagation(damping=0.9, max_iter=500), n_landmarks),
        ),
        ("kmeans", standardised_dense(), SilhouetteKMeans()),
        ("meanshift", standardised_dense(), Landmarks(QuantileMeanShift(), n_landmarks)),
    ]


def default_clusterings(n_classes: int, n_landmarks: int) -> list[tuple[str, Features, Any]]:
    """Return k-means with four numbers of clusters, and two clusterings that allow other shapes."""
    models = {
        f"kmeans_{grain}": Landmarks(KMeans(grain * n_classes), 10 * n_landmarks)
        for grain in (1, 2, 4, 10)
    }
    mixture = GaussianMixture(2 * n_classes, covariance_type="diag", reg_covar=1e-3)
    models["mixture"] = Landmarks(mixture, 10 * n_landmarks)
    models["ward"] = Landmarks(AgglomerativeClustering(4 * n_classes), n_landmarks)
    return [(name, normalised_dense(), model) for name, model in models.items()]


def fast_clusterings(n_classes: int, n_landmarks: int) -> list[tuple[str, Features, Any]]:
    """Return k-means with few and with many clusters."""
    return [
        entry
        for entry in default_clusterings(n_classes, n_landmarks)
        if entry[0] in ("kmeans_2", "kmeans_10")
    ]


CLUSTERER_POOLS: dict[str, Callable[[int, int], list[tuple[str, Features, Any]]]] = {
    "default": default_clusterings,
    "fast": fast_clusterings,
    "strong": default_clusterings,
    "paper": paper_clusterings,
}
