"""One repeat of the paper's protocol: draw and split rows, train the base models, and keep their outputs.

What the paper leaves open is decided here:

- At most `max_rows` rows of a data set are drawn at random, then split 60/20/20 into training, validation and test set. Both
  depend on the seed and the number of rows only.
- Classifiers are trained on the training set. Each setting of a small grid is scored by its AUC on the validation set, and the
  best one votes without being trained again. Clusterings are fitted to the features of all drawn
  rows. Affinity propagation, mean shift, DBSCAN and complete linkage cluster `n_landmarks` of them
  and extend the clusters to the others.
- Linear stacking is trained on the votes on the validation set. Bagging, AdaBoost, XGBoost and the random forest are trained on
  the training set and not tuned.
- The network is trained for as many epochs as give it 200 steps or more.
- With few labels (5 or 20 per class, drawn from the training set) nothing is tuned: base models keep their defaults, and all
  other rows are the test set. The votes on labelled rows are out-of-fold.
- No base model sees the label of a test row: such labels are set to -1 before training begins.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from .._checks import require_library
from .._files import whole_file
from .._typing import Array
from ..diagnosis.metrics import mean_auc
from ..estimator import Features, TableModel, classifier_pool, clusterer_pool, grids
from ..votes import Votes
from . import published
from .datasets import Dataset, cache_folder

VERSION = 1  # of this protocol; cached outputs of another version are not used

CLASSIFIERS = dict(
    zip(("dt", "nb", "knn", "lr", "svm", "sgd", "cnn"), published.CLASSIFIERS, strict=True)
)
CLUSTERINGS = dict(
    zip(
        ("dbscan", "hierarchical", "affinity", "kmeans", "meanshift"),
        published.CLUSTERINGS,
        strict=True,
    )
)

# Smaller grids where the pool's own would take most of the time.
GRIDS = grids("paper") | {
    "dt": {"max_depth": [None, 8], "min_samples_leaf": [1, 5, 20]},
    "sgd": {"alpha": [1e-4, 1e-3, 1e-2], "loss": ["log_loss"]},
    "cnn": {"lr": [0.001, 0.003]},
}

LEAST_STEPS = 200  # of training the network


@dataclass(frozen=True)
class Protocol:
    """How one repeat is made."""

    max_rows: int = 2500  # of a data set
    n_landmarks: int = (
        1000  # rows to cluster, for clusterings whose memory grows with the square of the rows
    )
    without: tuple[str, ...] = ()  # base models and ensembles to leave out, such as "cnn" or "XGB"


@dataclass(frozen=True)
class Setup:
    """Which outputs to make: from which seed, labels and rows."""

    seed: int
    labels: int | None = None  # labels per class; None: the whole training set
    tuned: bool = True
    removed: float | None = None  # share of the rows of one random class to remove
    everywhere: bool = (
        False  # vote on all rows of the data set outside the training and validation set
    )


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of base models for a set of objects, by the name of the model, and the objects' true classes.

    Only scores use the truth and, for known objects, the methods that learn from labels.
    """

    truth: Array  # the true class of each object as an integer
    known: Array  # whether methods may see the object's label; the others are the test set
    n_classes: int
    rare: int  # the rarest class; the F score of two classes is that of this one
    n_rows: int  # drawn
    touched: int = -1  # the class that rows were removed from, or -1
    proba: dict[str, Array] = field(
        default_factory=dict
    )  # objects x classes; no row is by a model that was trained on it
    clusters: dict[str, Array] = field(default_factory=dict)  # by the paper's five clusterings
    more_clusters: dict[str, Array] = field(default_factory=dict)  # by those of the default pool
    rivals: dict[str, Array] = field(
        default_factory=dict
    )  # by ensembles of classifiers: objects of the test set x classes

    @cached_property
    def test(self) -> Outputs:
        """The test set only."""
        return self.part(~self.known)

    def part(self, rows: Array) -> Outputs:
        """Return the outputs for some of the objects."""
        tables: dict[str, Any] = {
            name: {key: table[rows] for key, table in getattr(self, name).items()}
            for name in ("proba", "clusters", "more_clusters")
        }
        return replace(self, truth=self.truth[rows], known=self.known[rows], **tables)

    def votes(self, *, soft: bool = False, clusterings: str = "paper") -> Votes:
        """Return hard or soft votes, with "paper", "both" or "none" of the two sets of clusterings."""
        clusters = {
            "none": None,
            "paper": self.clusters,
            "both": self.clusters | self.more_clusters,
        }[clusterings]
        classes = list(range(self.n_classes))
        if soft:
            return Votes.from_probabilities(self.proba, clusters, classes=classes)
        return Votes.from_labels(
            {name: table.argmax(axis=1) for name, table in self.proba.items()},
            clusters,
            classes=classes,
        )


@dataclass(frozen=True, eq=False)
class Case:
    """A data set and a seed: what an experiment is run on."""

    data: Dataset
    seed: int
    protocol: Protocol = Protocol()
    cache: Path | None = None

    def outputs(self, **setup: Any) -> Outputs:
        """Return base outputs for the given fields of `Setup`, from the cache if they are there."""
        asked = Setup(self.seed, **setup)
        folder = cache_folder() / "outputs" if self.cache is None else self.cache
        path = folder / f"{self.data.name}-{self.seed}-{self._key(asked)}.joblib"
        if path.exists():
            return cast(Outputs, joblib.load(path))
        made = base_outputs(self.data, asked, self.protocol)
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            joblib.dump(made, file, compress=3)
        return made

    def _key(self, setup: Setup) -> str:
        """Return a checksum of all that determines the outputs: the rows, the setup and the protocol."""
        parts = repr(
            (
                VERSION,
                sorted(asdict(setup).items()),
                sorted(asdict(self.protocol).items()),
                self.data.content,
            )
        )
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


# ---- one repeat ----------------------------------------------------------------------------------


class Split(NamedTuple):
    """The positions of the rows in each set."""

    train: Array
    valid: Array
    test: Array


def split(n_rows: int, seed: int, max_rows: int) -> Split:
    """Draw at most `max_rows` rows and split them 60/20/20, whatever their labels.

    Examples
    --------
    >>> [len(part) for part in split(1000, seed=0, max_rows=100)]
    [60, 20, 20]
    """
    drawn = np.random.default_rng(seed).permutation(n_rows)[:max_rows]
    a, b = round(0.6 * len(drawn)), round(0.8 * len(drawn))
    return Split(np.sort(drawn[:a]), np.sort(drawn[a:b]), np.sort(drawn[b:]))


def base_outputs(data: Dataset, setup: Setup, protocol: Protocol) -> Outputs:
    """Train the base models of one repeat and return their outputs."""
    codes = data.codes
    parts = split(len(codes), setup.seed, protocol.max_rows)
    touched = -1
    if setup.removed is not None:
        parts, touched = _remove_share(parts, codes, setup)
    drawn = np.concatenate(parts)
    few = setup.labels is not None
    learned = _draw_few(parts.train, codes, setup) if few else parts.train
    known = learned if few else parts.valid
    objects = drawn if few else np.concatenate([parts.valid, parts.test])
    if setup.everywhere:
        others = np.setdiff1d(
            np.arange(len(codes)), np.concatenate([parts.train, parts.valid]), assume_unique=True
        )
        objects = np.concatenate([parts.valid, others])
    visible = np.full(len(codes), -1)
    for rows in (learned, known):
        visible[rows] = codes[rows]
    work = _Work(data, visible, learned, known, objects, setup, protocol)
    counts = np.bincount(codes, minlength=data.n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # iterations are limited on purpose
        proba = work.classifiers()
        return Outputs(
            truth=codes[objects],
            known=np.isin(objects, known),
            n_classes=data.n_classes,
            rare=int(len(counts) - 1 - counts[::-1].argmin()),
            n_rows=len(drawn),
            touched=touched,
            proba=proba,
            clusters=work.clusters("paper", drawn),
            more_clusters=work.clusters("default", drawn) if setup.tuned else {},
            rivals=work.rivals(proba) if setup.tuned else {},
        )


def _remove_share(parts: Split, codes: Array, setup: Setup) -> tuple[Split, int]:
    """Remove a share of one class's rows from all sets; a larger share includes the smaller ones."""
    rng = np.random.default_rng([setup.seed, 1])
    drawn = np.concatenate(parts)
    touched = int(rng.choice(np.unique(codes[drawn])))
    own = rng.permutation(drawn[codes[drawn] == touched])
    gone = own[: round((setup.removed or 0) * len(own))]
    return Split(*(np.setdiff1d(rows, gone) for rows in parts)), touched


def _draw_few(rows: Array, codes: Array, setup: Setup) -> Array:
    """Draw `setup.labels` rows of each class."""
    rng = np.random.default_rng([setup.seed, 2])
    own = [rng.permutation(rows[codes[rows] == z])[: setup.labels] for z in np.unique(codes[rows])]
    return np.sort(np.concatenate(own))


_FITTED: dict[
    Any, list[tuple[str, Any]]
] = {}  # clusterings: they do not depend on labels, so a case fits them once


@dataclass(frozen=True, eq=False)
class _Work:
    """Trains the base models of one repeat; `codes` are -1 where a label must not be seen."""

    data: Dataset
    codes: Array
    learned: Array
    known: Array
    objects: Array
    setup: Setup
    protocol: Protocol

    def classifiers(self) -> dict[str, Array]:
        left_out = [name for name in self.protocol.without if name in CLASSIFIERS]
        for library in ("torch", "skorch") if "cnn" not in left_out else ():
            require_library("The paper's convolutional network", library, "paper")
        pool = classifier_pool("paper", without=left_out, random_state=self.setup.seed)
        steps_per_epoch = -(-len(self.learned) // 128)  # batches of 128 rows
        for key, model in pool:
            if key == "cnn":
                model.set_params(max_epochs=max(20, -(-LEAST_STEPS // steps_per_epoch)))
        return {CLASSIFIERS[key]: self._votes(key, model) for key, model in pool}

    def _votes(self, key: str, model: Any) -> Array:
        if self.setup.labels is not None:
            proba = self._proba(self._fitted(model, self.learned), self.objects)
            proba[np.isin(self.objects, self.learned)] = self._out_of_fold(model)
            return proba
        if not self.setup.tuned:
            return self._proba(self._fitted(model, self.learned), self.objects)
        fitted = [
            self._fitted(clone(model).set_params(**setting), self.learned)
            for setting in ParameterGrid(GRIDS[key])
        ]
        scores = [
            mean_auc(self._proba(candidate, self.known), self.codes[self.known])
            for candidate in fitted
        ]
        return self._proba(fitted[int(np.argmax(scores))], self.objects)

    def _out_of_fold(self, model: Any) -> Array:
        """Return out-of-fold votes on the labelled rows, in the order of the objects."""
        rows = self.objects[np.isin(self.objects, self.learned)]
        codes = self.codes[rows]
        proba = np.empty((len(rows), self.data.n_classes))
        n_folds = int(max(2, min(5, np.bincount(codes)[np.unique(codes)].min())))
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.setup.seed)
        for others, fold in folds.split(rows, codes):
            proba[fold] = self._proba(self._fitted(clone(model), rows[others]), rows[fold])
        return proba

    def _fitted(self, model: Any, rows: Array) -> Any:
        return model.fit(self.data.X.iloc[rows], self.codes[rows])

    def _proba(self, model: Any, rows: Array) -> Array:
        """Return class probabilities with a column per class, also for classes missing in training."""
        proba = np.zeros((len(rows), self.data.n_classes))
        proba[:, model.classes_.astype(np.int64)] = model.predict_proba(self.data.X.iloc[rows])
        return proba / proba.sum(axis=1, keepdims=True)

    def clusters(self, pool: str, drawn: Array) -> dict[str, Array]:
        """Return the clusters of the objects by clusterings fitted to the features of all drawn rows."""
        beyond = np.setdiff1d(self.objects, drawn)
        found = {}
        for key, model in self._clusterings(pool, drawn):
            labels = np.empty(len(self.data.X), dtype=np.int32)
            labels[drawn] = model.labels_
            if len(beyond):
                labels[beyond] = model.predict(self.data.X.iloc[beyond])
            found[CLUSTERINGS.get(key, key)] = labels[self.objects]
        return found

    def _clusterings(self, pool: str, drawn: Array) -> list[tuple[str, Any]]:
        """Return the fitted clusterings of a pool; the last few pools are kept."""
        key = (self.data.content, pool, drawn.tobytes(), self.setup.seed, self.protocol)
        if key not in _FITTED:
            left_out = [
                name for name in self.protocol.without if name in CLUSTERINGS and pool == "paper"
            ]
            made = clusterer_pool(
                pool,
                n_classes=self.data.n_classes,
                n_landmarks=self.protocol.n_landmarks,
                without=left_out,
                random_state=self.setup.seed,
            )
            if len(_FITTED) > 3:
                _FITTED.pop(next(iter(_FITTED)), None)
            _FITTED[key] = [(name, model.fit(self.data.X.iloc[drawn])) for name, model in made]
        return _FITTED[key]

    def rivals(self, proba: dict[str, Array]) -> dict[str, Array]:
        """Return the class probabilities of the test set by ensembles of classifiers."""
        test = ~np.isin(self.objects, self.known)
        answers = {"STA": self._stacked(np.hstack(list(proba.values())), test)}
        seen, numbers = np.unique(
            self.codes[self.learned], return_inverse=True
        )  # XGBoost needs 0, 1, 2, ...
        for name, make in ensembles(self.protocol.without).items():
            features = Features(
                None, text="shares", missing="keep", dense=True, random_state=self.setup.seed
            )
            model = TableModel(
                [("features", features), ("model", make(random_state=self.setup.seed))]
            )
            model.fit(self.data.X.iloc[self.learned], numbers)
            answers[name] = np.zeros((test.sum(), self.data.n_classes))
            answers[name][:, seen] = model.predict_proba(self.data.X.iloc[self.objects[test]])
        return answers

    def _stacked(self, votes: Array, test: Array) -> Array:
        """Return class probabilities by multi-response linear regression of the known labels on all votes."""
        codes = self.codes[self.objects[~test]]
        responses = (
            Ridge(1.0).fit(votes[~test], np.eye(self.data.n_classes)[codes]).predict(votes[test])
        )
        shares = np.maximum(responses, 1e-9)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def ensembles(without: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    """Return the paper's ensembles of classifiers by name."""
    made: dict[str, Callable[..., Any]] = {
        "BAG": partial(BaggingClassifier, n_estimators=50),
        "BOO": partial(AdaBoostClassifier, DecisionTreeClassifier(max_depth=3), n_estimators=50),
        "RF": partial(RandomForestClassifier, n_estimators=100),
    }
    if "XGB" not in without:
        require_library("The paper's XGBoost", "xgboost", "paper")
        from xgboost import XGBClassifier

        made["XGB"] = partial(XGBClassifier, n_estimators=100, n_jobs=1)
    return {name: make for name, make in made.items() if name not in without}
