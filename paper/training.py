"""Train the base models of one repeat and keep their outputs; `protocol.py` says how."""

import warnings
from collections import namedtuple
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from joblib import Memory
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from ec3learn.estimator import Features, classifier_pool, clusterer_pool

from . import published
from .datasets import Dataset, cache_folder
from .protocol import Outputs, Protocol, Setup, split
from .scores import mean_auc

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

MODEL, INNER = "model__", "model__estimator__"  # the last step of a pipeline, and what it wraps
GRIDS = {
    "dt": {f"{MODEL}max_depth": [None, 8], f"{MODEL}min_samples_leaf": [1, 5, 20]},
    "nb": {f"{MODEL}bandwidth": ["scott", 0.05, 0.1, 0.2, 0.5]},
    "knn": {
        f"{INNER}n_neighbors": [1, 3, 5, 10, 20, 50],
        f"{INNER}weights": ["uniform", "distance"],
    },
    "lr": {f"{MODEL}C": [0.01, 0.1, 1.0, 10.0, 100.0]},
    "svm": {f"{INNER}estimator__C": [0.01, 0.1, 1.0, 10.0]},
    "sgd": {f"{MODEL}alpha": [1e-4, 1e-3, 1e-2], f"{MODEL}loss": ["log_loss"]},
    "cnn": {f"{MODEL}lr": [0.001, 0.003]},
}

LEAST_STEPS, BATCH = 200, 128  # of training the network


@dataclass(frozen=True, eq=False)
class Case:
    """A data set and a seed: what an experiment is run on."""

    data: Dataset
    seed: int
    protocol: Protocol = field(default_factory=Protocol)
    cache: Path | None = None

    def outputs(self, **setup):
        """Base outputs for these fields of `Setup`, made once and kept."""
        memory = Memory(self.cache or cache_folder() / "outputs", verbose=0, compress=3)
        return memory.cache(base_outputs)(self.data, Setup(self.seed, **setup), self.protocol)


def base_outputs(data, setup, protocol):
    """Train the base models of one repeat and return their outputs."""
    codes = data.codes
    parts, touched = split(len(codes), setup.seed, protocol.max_rows), -1
    if setup.removed is not None:
        parts, touched = _remove_share(parts, codes, setup)
    drawn = np.concatenate(parts)
    learned, known, others = parts
    if setup.everywhere:
        others = np.setdiff1d(np.arange(len(codes)), np.concatenate(parts[:2]))
    objects = np.concatenate([known, others])
    visible = np.full(len(codes), -1)
    for rows in (learned, known):
        visible[rows] = codes[rows]
    work = _Work(data, visible, learned, known, objects, setup, protocol)
    counts = np.bincount(codes)
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
            clusters=work.clusters(drawn),
            rivals=work.rivals(proba) if setup.tuned else {},
        )


def _remove_share(parts, codes, setup):
    """Remove a share of one class's rows from all sets; a larger share includes the smaller ones."""
    rng = np.random.default_rng([setup.seed, 1])
    drawn = np.concatenate(parts)
    touched = int(rng.choice(np.unique(codes[drawn])))
    rows = rng.permutation(drawn[codes[drawn] == touched])
    gone = rows[: round(setup.removed * len(rows))]
    return [np.setdiff1d(part, gone) for part in parts], touched


class _Work(namedtuple("_Work", "data codes learned known objects setup protocol")):
    """Trains the base models of one repeat; `codes` are -1 where a label must not be seen."""

    def classifiers(self):
        pool = dict(classifier_pool("paper", random_state=self.setup.seed))
        steps_per_epoch = -(-len(self.learned) // BATCH)
        n_epochs = max(20, -(-LEAST_STEPS // steps_per_epoch))
        pool["cnn"].set_params(model__max_epochs=n_epochs)
        return {
            CLASSIFIERS[key]: self._votes(key, model)
            for key, model in pool.items()
            if key not in self.protocol.without
        }

    def _votes(self, key, model):
        settings = ParameterGrid(GRIDS[key] if self.setup.tuned else {})
        table, codes = self.data.X.iloc[self.learned], self.codes[self.learned]
        fitted = [clone(model).set_params(**chosen).fit(table, codes) for chosen in settings]
        best = fitted[0]
        if self.setup.tuned:
            truth = self.codes[self.known]
            best = max(fitted, key=lambda each: mean_auc(self._proba(each, self.known), truth))
        return self._proba(best, self.objects)

    def _proba(self, model, rows):
        """Class probabilities with a column per class, also for classes missing in training."""
        proba = np.zeros((len(rows), self.data.n_classes))
        proba[:, model.classes_.astype(np.int64)] = model.predict_proba(self.data.X.iloc[rows])
        return proba / proba.sum(axis=1, keepdims=True)

    def clusters(self, drawn):
        """The clusters of the objects by clusterings fitted to the features of all drawn rows."""
        beyond = np.setdiff1d(self.objects, drawn)
        clusters = {}
        for key, model in _clusterings(self.data, tuple(drawn), self.setup.seed, self.protocol):
            labels = np.empty(len(self.data.X), dtype=np.int32)
            labels[drawn] = model[-1].labels_
            if len(beyond):
                labels[beyond] = model.predict(self.data.X.iloc[beyond])
            clusters[CLUSTERINGS[key]] = labels[self.objects]
        return clusters

    def rivals(self, proba):
        """The class probabilities of the test set by ensembles of classifiers."""
        test = ~np.isin(self.objects, self.known)
        answers = {"STA": self._stacked(np.hstack(list(proba.values())), test)}
        # XGBoost needs the codes 0, 1, 2, ...
        seen, numbers = np.unique(self.codes[self.learned], return_inverse=True)
        table, seed = self.data.X, self.setup.seed
        for name, ensemble in ensembles(self.protocol.without).items():
            features = Features(None, text="codes", dense=True, random_state=seed)
            model = make_pipeline(features, ensemble.set_params(random_state=seed))
            model.fit(table.iloc[self.learned], numbers)
            answers[name] = np.zeros((test.sum(), self.data.n_classes))
            answers[name][:, seen] = model.predict_proba(table.iloc[self.objects[test]])
        return answers

    def _stacked(self, votes, test):
        """Class probabilities by linear regression of the known labels on all votes."""
        responses = np.eye(self.data.n_classes)[self.codes[self.objects[~test]]]
        shares = np.maximum(Ridge(1.0).fit(votes[~test], responses).predict(votes[test]), 1e-9)
        return shares / shares.sum(axis=1, keepdims=True)


@lru_cache(4)  # clusterings do not depend on labels, so a case fits them once
def _clusterings(data, drawn, seed, protocol):
    """The fitted clusterings of the paper."""
    pool = clusterer_pool(
        "paper", n_classes=data.n_classes, n_landmarks=protocol.n_landmarks, random_state=seed
    )
    table = data.X.iloc[list(drawn)]
    return [(name, model.fit(table)) for name, model in pool if name not in protocol.without]


def ensembles(without):
    """The paper's ensembles of classifiers by name."""
    made = {
        "BAG": BaggingClassifier(n_estimators=50),
        "BOO": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=50),
        "RF": RandomForestClassifier(n_estimators=100),
    }
    if "XGB" not in without:
        from xgboost import XGBClassifier

        made["XGB"] = XGBClassifier(n_estimators=100, n_jobs=1)
    return {name: model for name, model in made.items() if name not in without}
