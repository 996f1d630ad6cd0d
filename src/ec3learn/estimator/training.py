"""Base models are fitted and vote on the rows they were fitted to; on labelled rows only models that have not seen them vote."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedGroupKFold

from .._checks import InputError
from .._progress import Bar
from .._text import arg, count
from .._typing import Array
from ..algebra.linear import normalised
from ..answer.notes import FEW_LABELS, LEFT_OUT, Note
from .pools import Pool, TableModel
from .rows import Target, count_rows, make_folds, take_rows

Fold = tuple[Array, Array]  # positions of rows to fit to, and to vote on

POOL_OF = {"classifier": "classifiers", "clustering": "clusterers"}
RETRAINED_SHARE = 0.4  # of the unlabelled rows of each class, the most confident first, that the pool is retrained on
LABEL_REPEATS = 3  # how often each labelled row is repeated among them
ROWS_TO_JUDGE = 4_000  # with a label, that classifiers vote on in folds: where that many are in some of the folds, these will do
ROWS_OF_A_CLASS = 50  # among them, if it has as many
ROWS_FOR_BAGS = 10  # per class: with fewer, trees that have not seen a row have seen too little of its class, and lean to others


@dataclass
class Training:
    """Base models, and the rows they are fitted to.

    The classes are numbers to the classifiers, except to those that the user has fitted. `notes`
    collects what the user should know; `params` holds what each classifier's `fit` gets besides X
    and y.
    """

    pool: Pool
    clusterers: Pool
    X: Any
    target: Target
    params: dict[str, dict[str, Any]]
    prefit: bool
    cv: Any
    groups: Any
    n_rounds: int
    on_error: Literal["raise", "drop"]
    n_jobs: int | None
    seed: int
    bar: Bar
    notes: list[Note]
    deadline: float  # by time.monotonic(); infinity for none

    @cached_property
    def labelled(self) -> Array:
        """The positions of the rows with a label."""
        return np.flatnonzero(self.target.labelled)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.target.classes)

    # ---- classifiers -----------------------------------------------------------------------------

    def fit_classifiers(self) -> tuple[dict[str, list[Any]], dict[str, Array]]:
        """Return a list of fitted models per classifier, and its votes on all rows, out of fold where they are labelled."""
        if self.prefit:
            said: dict[str, Array] = {}
            for name, model in self.pool:
                shares = self._prefit_votes(name, model)
                if shares is not None:
                    said[name] = shares
            self._require_some(said)
            return {name: [model] for name, model in self.pool if name in said}, said
        codes, whole = self.target.codes, (self.labelled, self.labelled[:0])
        jobs = {}
        for name, model in self.pool:
            parts = [whole] if self._votes_out_of_bag(model) else [*self.folds, whole]
            jobs[name] = [self._job(name, model, codes, train, test) for train, test in parts]
        n_fits = sum(map(len, jobs.values())) + 2 * self.n_rounds * len(self.pool)
        self.bar.update(total=n_fits + len(self.clusterers))
        fitted: dict[str, list[Any]] = {}
        votes: dict[str, Array] = {}
        for name, results in self._results("classifier", jobs):
            fitted[name], votes[name] = [results[-1][0]], self._held_out_votes(results)
        self._require_some(fitted)
        return fitted, votes

    def _require_some(self, fitted: Mapping[str, Any]) -> None:
        if not fitted:
            remedy = "The reasons are in the warnings above. Pass others."
            raise InputError("classifiers", phrase="All classifiers failed", remedy=remedy)

    def _held_out_votes(self, results: list[Any]) -> Array:
        """Return the votes of a classifier on the labelled rows, by its copies in the folds, or out of bag if it has none."""
        votes = np.full(
            (len(self.target.codes), self.n_classes), np.nan
        )  # the only row of a class gets no vote
        if self.folds and len(results) == 1:
            votes[self.labelled] = out_of_bag(results[0][0], self.n_classes)
            votes[~self.voted] = np.nan
        else:
            for (_, test), (_, shares) in zip(self.folds, results[:-1], strict=True):
                votes[test] = shares
        return votes

    def _job(self, name: str, model: Any, codes: Array, train: Array, test: Array) -> Any:
        """Return the call, for another process perhaps, that fits a copy to some rows with their classes and lets it vote."""
        params = {
            key: take_rows(value, train)
            for key, value in self.params.get(name, {}).items()
            if value is not None
        }
        return delayed(fit_and_vote)(
            model, self.X, codes, train, test, params, np.arange(self.n_classes)
        )

    def _prefit_votes(self, name: str, model: Any) -> Array | None:
        """Return the votes of a fitted classifier on all rows; None if it failed and is left out."""
        try:
            return _predict_shares(model, self.X, self.target.classes)
        except Exception as error:
            if self.on_error == "raise" and isinstance(error, InputError):
                raise
            if self.on_error == "raise" and isinstance(error, (NotFittedError, AttributeError)):
                phrase = (
                    f"The classifier {name!r} must be fitted where {arg('prefit', True)} ({error})"
                )
                raise InputError(
                    "prefit", phrase=phrase, remedy=f"Fit it, or pass {arg('prefit', False)}."
                ) from None
            self._leave_out("classifier", name, _reason(error), "was left out")
            return None

    def _votes_out_of_bag(self, model: Any) -> bool:
        """Return whether parts of a model that have not seen a row vote on it, as in a forest.

        Only models of our pools and bare forests: other steps of a pipeline may have seen the
        labels of all rows.
        """
        enough = len(self.labelled) >= ROWS_FOR_BAGS * self.n_classes > ROWS_FOR_BAGS
        return enough and not self.own_folds and bool(getattr(last_step(model), "oob_score", False))

    # ---- folds -----------------------------------------------------------------------------------

    @property
    def own_folds(self) -> bool:
        """Whether the user says which rows are in one fold."""
        return self.groups is not None or hasattr(self.cv, "split")

    @cached_property
    def folds(self) -> list[Fold]:
        """The folds of the labelled rows; rows that are in none get no vote."""
        codes = self.target.codes[self.labelled]
        if self.own_folds:
            groups = None if self.groups is None else take_rows(self.groups, self.labelled)
            own = hasattr(self.cv, "split")
            splitter = (
                self.cv
                if own
                else StratifiedGroupKFold(self.cv, shuffle=True, random_state=self.seed)
            )
            parts = splitter.split(codes, codes, groups)
        else:
            parts = self._split(codes)
        return [(self.labelled[train], self.labelled[test]) for train, test in parts]

    def _split(self, codes: Array) -> list[Fold]:
        """Return folds of the labelled rows, fewer than `cv` where every class has fewer rows.

        A rarer class is in some of the folds only. The only row of a class is always trained on,
        and gets no vote.
        """
        counts = np.bincount(codes)
        n_folds = int(min(self.cv, counts.max()))
        if n_folds < self.cv:
            text = f"No class has more than {count(n_folds, 'labelled row')}, fewer than {arg('cv', self.cv)} folds: "
            none = "labelled rows get no votes to judge classifiers by"
            self._warn(
                Note(
                    FEW_LABELS,
                    f"{text}{none if n_folds == 1 else f'votes come from {n_folds} folds'}.",
                )
            )
        alone, several = np.flatnonzero(counts[codes] == 1), np.flatnonzero(counts[codes] > 1)
        if not len(several):
            return []
        fold_of = make_folds(codes[several], n_folds, self.seed)
        enough = range(_enough_folds(counts[counts > 1], n_folds))
        return [
            (np.concatenate([several[fold_of != f], alone]), several[fold_of == f]) for f in enough
        ]

    @cached_property
    def fold_of(self) -> Array:
        """The fold of each row, -1 for none."""
        fold_of = np.full(len(self.target.codes), -1)
        for f, (_, test) in enumerate(self.folds):
            fold_of[test] = f
        return fold_of

    @property
    def voted(self) -> Array:
        """Which rows get votes: those without labels, and those in a fold."""
        return (
            np.full(len(self.target.codes), True)
            if self.prefit
            else ~self.target.labelled | (self.fold_of >= 0)
        )

    # ---- clusterings -----------------------------------------------------------------------------

    def fit_clusterings(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the fitted clusterings, and the cluster of each row."""
        jobs = {
            name: [delayed(_fit_and_assign)(model, self.X, self.prefit)]
            for name, model in self.clusterers
        }
        results = {name: result for name, (result,) in self._results("clustering", jobs)}
        return {name: model for name, (model, _) in results.items()}, {
            name: own for name, (_, own) in results.items()
        }

    # ---- jobs ------------------------------------------------------------------------------------

    def _results(
        self, kind: str, jobs: dict[str, list[Any]], retraining: bool = False
    ) -> Iterator[tuple[str, list[Any]]]:
        """Return each base model with the results of its jobs, as they are finished; those that fail or are late are left out.

        If time is limited, the jobs of a base model are only begun at its turn. The first
        classifier is never late.
        """
        run = Parallel(n_jobs=self.n_jobs, return_as="generator")
        limited, n_done = np.isfinite(self.deadline), 0
        everything = iter(()) if limited else run(job for own in jobs.values() for job in own)
        instead = "was not retrained" if retraining else "was left out"
        for name, own in jobs.items():
            self.bar.update(f"{name}, retrained" if retraining else name)
            if (
                time.monotonic() > self.deadline
                and not self.prefit
                and (n_done or kind == "clustering")
            ):
                self._warn(
                    Note(
                        LEFT_OUT,
                        f"The {kind} {name!r} {instead}: {arg('time_limit')} was reached before its turn.",
                    )
                )
                continue
            results = []
            for result in run(own) if limited else islice(everything, len(own)):
                results.append(result)
                self.bar.update(step=1)
            failures = [result for result in results if isinstance(result, str)]
            if not failures:
                n_done += 1
                yield name, results
                continue
            if self.on_error == "raise":
                _close_quietly(everything)
            self._leave_out(kind, name, failures[0], instead)
        deque(everything)  # to its very end, or joblib may warn that it was left early

    def _leave_out(self, kind: str, name: str, reason: str, instead: str) -> None:
        """Warn that a base model failed, and go on without it; or raise, if the user wants that."""
        if self.on_error == "raise":
            remedy = f"Fix or remove it, or pass {arg('on_error', 'drop')} to go on without it."
            raise InputError(
                POOL_OF[kind], phrase=f"The {kind} {name!r} failed ({reason})", remedy=remedy
            ) from None
        self._warn(
            Note(LEFT_OUT, f"The {kind} {name!r} failed and {instead} ({reason})."), stacklevel=7
        )

    def _warn(self, note: Note, stacklevel: int = 6) -> None:
        warnings.warn(str(note), stacklevel=stacklevel)
        self.notes.append(note)

    # ---- rows without labels ---------------------------------------------------------------------

    def vote_on_rest(self, fitted: dict[str, list[Any]], votes: dict[str, Array]) -> None:
        """Add each classifier's votes on the rows without labels to those on labelled rows; fitted ones have voted on all."""
        rest = np.flatnonzero(~self.target.labelled)
        if len(rest) and not self.prefit:
            X = take_rows(self.X, rest)
            for name, models in fitted.items():
                votes[name][rest] = mean_shares(models, X, np.arange(self.n_classes))

    def retrain(
        self, names: Iterable[str], proba: Array, labels: Array
    ) -> dict[str, tuple[list[Any], Array]]:
        """Return classifiers retrained on two halves of the most confident rows, and their votes on all rows.

        `proba` and `labels` (numbers of classes) are the consensus. No model votes on an unlabelled
        row it was retrained on.
        """
        halves = self._confident_halves(proba, labels)
        pool, everyone = dict(self.pool), np.arange(len(self.target.codes))
        classes = np.where(self.target.labelled, self.target.codes, labels)
        jobs = {
            name: [self._job(name, pool[name], classes, half, everyone) for half in halves]
            for name in names
        }
        new: dict[str, tuple[list[Any], Array]] = {}
        for name, results in self._results("classifier", jobs, retraining=True):
            tables = [table for _, table in results]
            mean = (tables[0] + tables[1]) / 2
            for rows, other in zip(halves, reversed(tables), strict=True):
                seen = rows[~self.target.labelled[rows]]
                mean[seen] = other[seen]
            new[name] = [model for model, _ in results], mean
        return new

    def _confident_halves(self, proba: Array, labels: Array) -> list[Array]:
        """Return two halves of the most confident unlabelled rows, each with the labelled rows repeated."""
        confident: list[Array] = []
        for z in range(self.n_classes):
            rows = np.flatnonzero(~self.target.labelled & (labels == z))
            n_kept = int(np.ceil(RETRAINED_SHARE * len(rows)))
            confident.append(rows[np.argsort(-proba[rows, z], kind="stable")[:n_kept]])
        rows = np.random.default_rng(self.seed).permutation(np.concatenate(confident))
        known = np.tile(self.labelled, LABEL_REPEATS)
        return [np.concatenate([known, half]) for half in (rows[::2], rows[1::2])]


def _enough_folds(counts: Array, n_folds: int) -> int:
    """Return how many of the folds hold enough rows to judge by, given the number of rows of each class."""
    share = max(
        ROWS_TO_JUDGE / counts.sum(), float((np.minimum(ROWS_OF_A_CLASS, counts) / counts).max())
    )
    return min(n_folds, int(np.ceil(share * n_folds)))


def _close_quietly(results: Iterator[Any]) -> None:
    """Stop the jobs that are left: an error will say why, so joblib need not warn that they were cancelled."""
    if isinstance(results, Generator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.close()


# ---- single models -------------------------------------------------------------------------------


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def fit_and_vote(
    model: Any,
    X: Any,
    codes: Array,
    train: Array,
    test: Array,
    params: dict[str, Any],
    classes: Array,
) -> Any:
    """Return a copy fitted to some rows, and its votes on others, if any; or what went wrong, as text."""
    try:
        fitted = _fit_classifier(model, take_rows(X, train), codes[train], params)
        return fitted, _predict_shares(fitted, take_rows(X, test), classes) if len(test) else None
    except Exception as error:
        return _reason(error)


def _fit_and_assign(model: Any, X: Any, prefit: bool) -> Any:
    """Return a fitted clustering, and the cluster of each row; or what went wrong, as text."""
    try:
        own = model if prefit else _fit_quietly(clone(model), X)
        labels = own.labels_ if not prefit and hasattr(own, "labels_") else own.predict(X)
    except Exception as error:
        return _reason(error)
    return (
        (own, np.asarray(labels))
        if hasattr(own, "predict")
        else "it has no predict for new rows; wrap it in Landmarks(...)"
    )


def _fit_classifier(model: Any, X: Any, y: Array, params: dict[str, Any]) -> Any:
    """Return a fitted copy; many classifiers refuse a single class, so that a constant one takes their place."""
    if len(np.unique(y)) == 1:
        return DummyClassifier().fit(X, y)
    return _fit_quietly(clone(model), X, y, **params)


def _fit_quietly(model: Any, *data: Any, **params: Any) -> Any:
    routed = (
        nullcontext()
        if not any("__" in name for name in params)
        else config_context(enable_metadata_routing=False)
    )
    with warnings.catch_warnings(), routed:
        warnings.simplefilter("ignore")  # a fold is smaller than what the model was meant for
        return model.fit(*data, **params)


def last_step(model: Any) -> Any:
    """Return the model at the end of a pipeline of our pools, or the model itself."""
    return model.steps[-1][1] if isinstance(model, TableModel) else model


def out_of_bag(model: Any, n_classes: int) -> Array:
    """Return what the trees of a fitted forest that have not seen a row say of it; NaN for rows that all of them have seen."""
    forest = last_step(model)
    shares = np.zeros((len(forest.oob_decision_function_), n_classes))
    shares[:, forest.classes_] = forest.oob_decision_function_
    shares[~(shares.sum(axis=1) > 0)] = np.nan
    return shares


def _predict_shares(model: Any, X: Any, classes: Array) -> Array:
    """Return the class probabilities in the order of `classes`, or 1 for the predicted class if the model has none.

    A class the model never saw gets 0.
    """
    shares = np.zeros((count_rows(X), len(classes)))
    place = {label: z for z, label in enumerate(classes.tolist())}
    if hasattr(model, "predict_proba"):
        columns = [place[label] for label in np.asarray(model.classes_).tolist()]
        shares[:, columns] = model.predict_proba(X)
        shares = np.where(np.isfinite(shares), np.maximum(shares, 0.0), 0.0)
        shares[~shares.any(axis=1)] = 1.0
        return normalised(shares)
    predicted = np.asarray(model.predict(X)).tolist()
    unknown = [label for label in predicted if label not in place]
    if unknown:
        phrase = f"{type(model).__name__} predicts the class {unknown[0]!r}, which neither {arg('y')} nor its classes_ hold"
        raise InputError(
            "classifiers",
            phrase=phrase,
            remedy="Pass rows of that class, or a classifier that has classes_.",
        )
    shares[np.arange(len(shares)), [place[label] for label in predicted]] = 1.0
    return shares


def mean_shares(models: Sequence[Any], X: Any, classes: Array) -> Array:
    """Return the class probabilities of a model, or the mean of these and of those of its retrained copies together."""
    first, *retrained = (_predict_shares(model, X, classes) for model in models)
    return (first + sum(retrained) / len(retrained)) / 2 if retrained else first
