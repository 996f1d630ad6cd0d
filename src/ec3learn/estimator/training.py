"""Base models are fitted, and vote on the rows they are fitted to: on labelled rows only those that have not seen them."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .pools import TableModel

Array = npt.NDArray[Any]
Named = list[tuple[str, Any]]

MOST_FOR_RETRAINING = 0.4  # the share of each class's rows, the surest first, that the pool is retrained on
LABEL_REPEATS = 3  # how often labelled rows stand beside rows the consensus has labelled


@dataclass
class Training:
    """Base models, and the rows of which some are labelled (`codes`: the number of a row's class, -1 for none).

    Classes are numbers to the classifiers, but for those that were fitted before. What the user should know comes into `notes`.
    """

    pool: Named
    clusterers: Named
    X: Any
    codes: Array
    classes: Array
    params: dict[str, dict[str, Any]]
    prefit: bool
    cv: int
    on_error: Literal["raise", "drop"]
    n_jobs: int | None
    seed: int
    verbose: bool
    notes: list[str]
    labelled: Array = field(init=False)
    progress: _Progress = field(init=False)

    def __post_init__(self) -> None:
        self.labelled = np.flatnonzero(self.codes >= 0)
        self.n_classes = len(self.classes)
        self.progress = _Progress(self.verbose)

    def classifiers(self) -> tuple[dict[str, list[Any]], dict[str, Array]]:
        """Return the fitted classifiers, each in a list of its own, and their out-of-fold votes on the labelled rows."""
        if self.prefit:
            fitted = {name: [model] for name, model in self.pool}
            own = _safe_indexing(self.X, self.labelled)
            return fitted, {name: self._said_before(name, model, own) for name, model in self.pool}
        folds = self._folds()
        fitted, votes = {}, {}
        everyone = np.arange(len(self.labelled))
        whole = (everyone, everyone[:0])
        own_folds = {name: [] if self.n_classes > 1 and _leaves_rows_out(model) else folds for name, model in self.pool}
        jobs = (
            delayed(self._fit_part)(name, model, train, test)
            for name, model in self.pool
            for train, test in [*own_folds[name], whole]
        )
        finished = Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs)
        for name, _ in self.pool:
            self.progress.start(name, len(own_folds[name]) + 1)
            results = []
            for _ in [*own_folds[name], whole]:
                results.append(next(finished))
                self.progress.step()
            self.progress.done()
            failures = [result for result in results if isinstance(result, str)]
            if failures:
                self._failed("classifier", name, failures[0])
                continue
            model = results[-1][0]
            table = np.full((len(self.labelled), self.n_classes), np.nan)  # a class's only row has no vote from others
            for f, (_, test) in enumerate(folds):
                table[test] = results[f][1] if own_folds[name] else _final(model).oob_decision_function_[test]
            fitted[name], votes[name] = [model], table
        if not fitted:
            raise ValueError("All classifiers failed, the reasons are in the warnings above. Pass others.")
        return fitted, votes

    def _fit_part(self, name: str, model: Any, train: Array, test: Array) -> Any:
        """Fit a copy to some labelled rows, and return it with its votes on others; what went wrong comes back as text."""
        rows, y = self.labelled[train], self.codes[self.labelled[train]]
        try:
            fitted = _fitted(model, _safe_indexing(self.X, rows), y, self._params_of(name, rows))
            held = _safe_indexing(self.X, self.labelled[test])
            proba = _shares(fitted, held, np.arange(self.n_classes)) if len(test) else None
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return (fitted, proba)

    def _said_before(self, name: str, model: Any, X: Any) -> Array:
        """Return the votes of a classifier that the user has fitted."""
        try:
            return _shares(model, X, self.classes)
        except (NotFittedError, AttributeError) as error:
            raise ValueError(
                f"The classifier {name!r} must be fitted where prefit=True ({error}). Fit it, or pass prefit=False."
            ) from None

    def _params_of(self, name: str, rows: Array) -> dict[str, Any]:
        return {key: _safe_indexing(value, rows) for key, value in self.params.get(name, {}).items() if value is not None}

    def _failed(self, kind: str, name: str, reason: str) -> None:
        if self.on_error == "raise":
            raise ValueError(
                f"The {kind} {name!r} failed ({reason}). Mend or remove it, or pass on_error='drop' to go on without it."
            )
        note = f"The {kind} {name!r} failed and was left out ({reason})."
        warnings.warn(note, stacklevel=5)
        self.notes.append(note)

    def _folds(self) -> list[tuple[Array, Array]]:
        """Return the folds of the labelled rows, fewer where a class has fewer rows than folds.

        The only row of a class is always learned from, and gets no vote.
        """
        codes = self.codes[self.labelled]
        counts = np.bincount(codes)
        alone = np.flatnonzero(counts[codes] == 1)
        several = np.flatnonzero(counts[codes] > 1)
        n_folds = int(min(self.cv, max(2, counts.min())))
        if counts.min() < self.cv:
            rows = "1 labelled row" if counts.min() == 1 else f"{counts.min()} labelled rows"
            rarest = self.classes[counts.argmin()]
            note = f"The class {rarest!s} has {rows}, fewer than cv={self.cv} folds: votes come from {n_folds} folds."
            warnings.warn(note, stacklevel=4)
            self.notes.append(note)
        if not len(several):
            return []
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.seed).split(several, codes[several])
        return [(np.concatenate([several[train], alone]), several[test]) for train, test in folds]

    def clusterings(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the fitted clusterings, and the cluster of each row."""
        fitted, clusters = {}, {}
        for name, model in self.clusterers:
            self.progress.start(name, 1)
            try:
                own = model if self.prefit else _quietly_fitted(clone(model), self.X)
                labels = own.predict(self.X) if self.prefit else own.labels_ if hasattr(own, "labels_") else own.predict(self.X)
            except Exception as error:
                self._failed("clustering", name, f"{type(error).__name__}: {error}")
                continue
            self.progress.step()
            self.progress.done()
            if hasattr(own, "predict"):
                fitted[name], clusters[name] = own, np.asarray(labels)
            else:
                self._failed("clustering", name, "it has no predict for new rows; wrap it in Landmarks(...)")
        return fitted, clusters

    def all_votes(self, fitted: dict[str, list[Any]], out_of_fold: dict[str, Array]) -> dict[str, Array]:
        """Return each classifier's votes on all rows: out of fold where they are labelled."""
        rest = np.flatnonzero(self.codes < 0)
        other = _safe_indexing(self.X, rest) if len(rest) else None
        shares = {}
        for name, models in fitted.items():
            table = np.empty((len(self.codes), self.n_classes))
            table[self.labelled] = out_of_fold[name]
            if other is not None:
                table[rest] = mean_shares(models, other, self.classes if self.prefit else np.arange(self.n_classes))
            shares[name] = table
        return shares

    def retrained(self, names: Iterable[str], proba: Array, labels: Array) -> dict[str, tuple[list[Any], Array]]:
        """Return classifiers retrained on two halves of the rows that the consensus is surest of, and their votes on all rows.

        Nobody votes on a row without a label that it was retrained on.
        """
        halves = self._sure_halves(proba, labels)
        new: dict[str, tuple[list[Any], Array]] = {}
        pool = dict(self.pool)
        for name in names:
            self.progress.start(f"{name}, again", 2)
            models, tables = [], []
            for rows, y in halves:
                models.append(_fitted(pool[name], _safe_indexing(self.X, rows), y, {}))
                tables.append(_shares(models[-1], self.X, np.arange(self.n_classes)))
                self.progress.step()
            self.progress.done()
            mean = (tables[0] + tables[1]) / 2
            for (rows, _), other in zip(halves, reversed(tables), strict=True):
                seen = rows[self.codes[rows] < 0]
                mean[seen] = other[seen]
            new[name] = models, mean
        return new

    def _sure_halves(self, proba: Array, labels: Array) -> list[tuple[Array, Array]]:
        """Return two halves of the surest unlabelled rows of each class, each with the labelled rows repeated."""
        free = self.codes < 0
        sure: list[Array] = []
        for z in range(self.n_classes):
            rows = np.flatnonzero(free & (labels == z))
            n_kept = int(np.ceil(MOST_FOR_RETRAINING * len(rows)))
            sure.append(rows[np.argsort(-proba[rows, z], kind="stable")[:n_kept]])
        rows = np.concatenate(sure)
        rows = np.random.default_rng(self.seed).permutation(rows)
        known = np.tile(self.labelled, LABEL_REPEATS)
        halves = []
        for half in (rows[::2], rows[1::2]):
            both = np.concatenate([known, half])
            halves.append((both, np.where(self.codes[both] >= 0, self.codes[both], labels[both])))
        return halves


# ---- single models ---------------------------------------------------------------------------------------------------


def _fitted(model: Any, X: Any, y: Array, params: dict[str, Any]) -> Any:
    """Return a copy that has learned; of one class alone there is nothing to learn, and many models refuse it."""
    if len(np.unique(y)) == 1:
        model = DummyClassifier()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fold is smaller than what the user's model was made for
        return clone(model).fit(X, y, **params)


def _final(model: Any) -> Any:
    """Return the model at the end of a pool's pipeline."""
    return model.steps[-1][1] if isinstance(model, TableModel) else model


def _leaves_rows_out(model: Any) -> bool:
    """Return whether a model votes on the rows it learns from by parts of itself that have not seen them, as forests may.

    A pipeline of the user's is not believed: its first steps may have seen the labels of all rows.
    """
    return bool(getattr(_final(model), "oob_score", False))


def _quietly_fitted(model: Any, X: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def _shares(model: Any, X: Any, classes: Array) -> Array:
    """Return a model's class probabilities in the order of `classes`, 0 for those it never saw; its choice if it has none."""
    out = np.zeros((_num_samples(X), len(classes)))
    place = {label: z for z, label in enumerate(classes.tolist())}
    if hasattr(model, "predict_proba"):
        columns = [place[label] for label in np.asarray(model.classes_).tolist()]
        out[:, columns] = model.predict_proba(X)
        out = np.where(np.isfinite(out), np.maximum(out, 0.0), 0.0)
        total = out.sum(axis=1, keepdims=True)
        return np.where(total > 0, out / np.where(total > 0, total, 1.0), 1 / len(classes))
    said = [place[label] for label in np.asarray(model.predict(X)).tolist()]
    out[np.arange(len(out)), said] = 1.0
    return out


def mean_shares(models: Sequence[Any], X: Any, classes: Array) -> Array:
    """Return the mean of the class probabilities of several models."""
    total = _shares(models[0], X, classes)
    for model in models[1:]:
        total = total + _shares(model, X, classes)
    return total / len(models)


def assigned(model: Any, X: Any) -> Array:
    """Return the cluster of each row."""
    return np.asarray(model.predict(X))


# ---- progress --------------------------------------------------------------------------------------------------------


@dataclass
class _Progress:
    """A bar for each base model, on the terminal."""

    shown: bool
    name: str = ""
    n_steps: int = 1
    n_done: int = 0
    began: float = 0.0

    def start(self, name: str, n_steps: int) -> None:
        self.name, self.n_steps, self.n_done, self.began = name, n_steps, 0, time.perf_counter()
        self._draw("")

    def step(self) -> None:
        self.n_done += 1
        self._draw("")

    def done(self) -> None:
        self._draw("\n")

    def close(self) -> None:
        sys.stderr.flush()

    def _draw(self, end: str) -> None:
        if not self.shown or (not end and not sys.stderr.isatty()):
            return
        filled = round(20 * self.n_done / self.n_steps)
        seconds = time.perf_counter() - self.began
        sys.stderr.write(f"\r{self.name[:28]:28s} [{'=' * filled}{' ' * (20 - filled)}] {seconds:6.1f} s{end}")
        sys.stderr.flush()
