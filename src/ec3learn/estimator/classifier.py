"""EC3Classifier: from a feature table to a consensus classifier, as a scikit-learn estimator.

Classifiers are fitted to the labelled rows and clusterings to all rows. Their votes become `Votes`,
a method makes a consensus of them, and the consensus is extended to new rows. Only classifiers that
have not seen a labelled row vote on it.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._checks import InputError, InputTypeError
from .._text import arg, some
from .._typing import Array
from ..answer.notes import Note
from ..consensus import Consensus
from ..diagnosis.summary import table_notes
from ..methods.base import Method, method_of
from ..votes import Votes
from ..votes.reading import frame_of
from .pooling import PooledVote
from .pools import Pool, classifier_pool, clusterer_pool, seeded
from .rows import (
    TableClassifier,
    check_table,
    check_weights,
    limit_threads,
    read_labels,
    take_rows,
    with_warnings,
)
from .training import Training, mean_shares, weight_parameter

FREE_TEXT = (
    "seems to hold free text, which the pool takes for categories. Leave it out, or pass "
    "classifiers that read text."
)
POOLS = ("classifiers", "clusterers")


@dataclass(eq=False, repr=False)
class EC3Classifier(TableClassifier, BaseEstimator):  # type: ignore[misc]
    """Train a pool of classifiers and clusterings, and combine their votes.

    Rows without a label are used too: the clusterings are fitted to all rows, and the votes on all
    of them are combined.

    Parameters
    ----------
    classifiers, clusterers : name of a pool, or list of (name, estimator)
        "default", "fast", "paper", or your own estimators, pipelines included. An empty list of
        clusterers means no clusterings. Classifiers see the classes as the numbers 0, 1, 2 and so
        on.
    consensus : "auto", a name in METHODS, or a method such as EC3(beta=0)
        "auto" pools the votes: labels teach a weight per classifier from votes out of fold
        (`PooledVote`). With few labels clusterings count, too.
    cv : int, or a splitter such as GroupKFold()
        The folds in which the labelled rows get votes from classifiers that have not seen them.
        With `fit(X, y, groups=...)`, rows of one group are in one fold.
    unlabelled : label
        A value of `y` that means "no label", besides None and NaN.
    retrain : bool or "auto"
        Whether the pool is retrained on the rows the consensus is most confident of, if there are
        rows without labels. "auto" does so if there are at least as many of these as with labels.
    n_jobs : int or None
        Number of base models to fit in parallel. The answers are the same for any number.
    random_state : int, RandomState or None
        Seed of the pools and the folds.

    Attributes
    ----------
    classes_ : array
        The classes.
    transduction_ : array
        A label for each row passed to `fit`: the one passed, or else that of the consensus.
    consensus_ : Consensus
        The consensus on the rows passed to `fit`.
    voters_ : Table
        The base models, with their agreement with the consensus and their weights.
    estimators_ : dict of name -> list of classifiers
        The fitted classifiers: one trained on all labelled rows, and two more if it was retrained.
    clusterers_ : dict of name -> clustering
        The fitted clusterings.
    method_ : Method
        The method that combined the votes.
    notes_ : list of Note
        What was chosen and why, what was left out, and what else to know. `print(note)` shows its
        text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from ec3learn import EC3Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> pool = [("lr", LogisticRegression(max_iter=1000)), ("nb", GaussianNB())]
    >>> model = EC3Classifier(pool, clusterers=[], random_state=0).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    >>> model.consensus_for(X[:2]).explain(0).label
    0
    """

    classifiers: str | Pool = "default"
    clusterers: str | Pool = "default"
    consensus: str | Method = "auto"
    cv: Any = 5
    unlabelled: Any = None
    retrain: bool | Literal["auto"] = "auto"
    n_jobs: int | None = None
    random_state: Any = None

    # ---- fit -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> EC3Classifier:
        """Fit the base models, collect their votes and solve the consensus.

        Parameters
        ----------
        X : array, sparse matrix or dataframe
            The features.
        y : array
            The labels. None, NaN and `unlabelled` mean that a label is missing.
        sample_weight : array
            Weights of the rows, which count in the consensus too. A warning names classifiers that
            do not accept them.
        groups : array
            One group per row, for `cv`.
        """
        self._check()
        X = check_table(self, X, reset=True)
        check_consistent_length(X, y, groups)
        weights = None if sample_weight is None else check_weights(sample_weight, X)
        self.classes_, codes = read_labels(y, self.unlabelled, weights)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        is_auto = self.consensus == "auto"
        self.method_ = (
            PooledVote() if is_auto else method_of(self.consensus, "consensus", ("auto",))
        )
        n_classes = len(self.classes_)
        work = Training(X, codes, weights, self.cv, groups, n_classes, self.n_jobs, seed)
        pool = seeded(self._pairs("classifiers"), seed)
        if self.classifiers == "paper" and not all(map(find_spec, ("torch", "skorch"))):
            pool = [pair for pair in pool if pair[0] != "cnn"]
        if not pool:
            raise InputError("classifiers", "must hold at least one (name, estimator)", came="none")
        notes = [*self._notes_on_pool(X, pool, weights), *work.notes()]
        with limit_threads(X):
            self.estimators_, shares = work.fit_classifiers(pool)
            clusterings = self.clusterers
            if isinstance(clusterings, str):
                clusterings = clusterer_pool(clusterings, n_classes=n_classes)
            self.clusterers_, clusters = work.fit_clusterings(seeded(clusterings, seed))
            self._solve(shares, clusters, codes, weights, notes)
            few = max(20, len(work.labelled))  # fewer rows make hardly a difference
            if self.retrain and len(work.rest) >= (few if self.retrain == "auto" else 1):
                for name, (models, proba) in work.retrain(pool, self.consensus_.proba).items():
                    self.estimators_[name] += models
                    shares[name][work.rest] = (shares[name][work.rest] + proba) / 2
                self._solve(shares, clusters, codes, weights, notes)
        labels = self.consensus_.proba.argmax(axis=1)
        self.transduction_ = self.classes_[np.where(codes >= 0, codes, labels)]
        self.voters_ = self.consensus_.voters()
        return self

    def _solve(
        self,
        shares: dict[str, Array],
        clusters: dict[str, Array],
        codes: Array,
        weights: Array | None,
        notes: list[Note],
    ) -> None:
        votes = Votes.from_probabilities(
            shares, clusters or None, classes=self.classes_, sample_weight=weights
        )
        known = None
        if self.method_.admits_known:
            known = np.array([*self.classes_, None], dtype=object)[codes]  # None where it is -1
        else:
            used = "they were used to train the classifiers only"
            text = f"{self.method_.title} does not support known labels: {used}."
            notes = [*notes, Note("unused labels", text)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.consensus_: Consensus = self.method_.solve(votes, known=known)
        # Nobody passed a table of votes.
        odd = [note for note in table_notes(votes) if note.kind in ("look alike", "one voter")]
        solved = [*odd, *self.consensus_.solution.notes]
        self.notes_ = with_warnings([*notes, *solved], caught)

    # ---- base models -----------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; if deep, also the base models and theirs, with names such as `lr__C`."""
        params: dict[str, Any] = super().get_params(deep=deep)
        with suppress(TypeError, ValueError):  # `fit` tells what is no list of pairs
            models = [pair for pool in POOLS if deep for pair in self._pairs(pool)]
            for name, model in models:
                inner = model.get_params() if hasattr(model, "get_params") else {}
                params |= {name: model, **{f"{name}__{key}": inner[key] for key in inner}}
        return params

    def set_params(self, **params: Any) -> EC3Classifier:
        """Set parameters, base models (`lr="drop"` leaves one out), or theirs (`lr__C=0.1`)."""
        for pool in POOLS:
            setattr(self, pool, params.pop(pool, getattr(self, pool)))
            with suppress(TypeError, ValueError):
                pairs = self._pairs(pool)
                if {name for name, _ in pairs} & {key.split("__")[0] for key in params}:
                    setattr(self, pool, [(name, params.pop(name, model)) for name, model in pairs])
        super().set_params(**params)
        return self

    def _pairs(self, pool: str) -> Pool:
        """The models whose parameters can be set; clusterings of a pool follow from the labels."""
        models = getattr(self, pool)
        if not isinstance(models, str):
            return models
        return classifier_pool(models) if pool == "classifiers" else []

    # ---- notes and checks ------------------------------------------------------------------------

    def _notes_on_pool(self, X: Any, pool: Pool, weights: Array | None) -> list[Note]:
        """Columns of free text, and who gets no weights; warnings, too."""
        texts = columns_of_text(X) if isinstance(self.classifiers, str) else []
        notes = [Note("free text", f"The column {name!r} {FREE_TEXT}") for name in texts]
        without = [name for name, model in pool if weight_parameter(model) is None]
        if weights is not None and without:
            text = f"Trained without {arg('sample_weight')}, which their fit does not take: "
            notes.append(Note("weights", f"{text}{some(without)}."))
        for note in notes:
            warnings.warn(str(note), stacklevel=3)
        if self.classifiers == "paper" and "cnn" not in dict(pool):
            text = "The convolutional network was left out: pip install 'ec3learn[cnn]' adds it."
            notes.append(Note("choice", text))
        return notes

    def _check(self) -> None:
        for pool in POOLS:
            pairs = self._pairs(pool)
            for pair in pairs if isinstance(pairs, (list, tuple)) else [pairs]:
                is_pair = isinstance(pair, (list, tuple)) and len(pair) == 2
                model = pair[1] if is_pair else None
                if model != "drop" and (not hasattr(model, "fit") or isinstance(model, type)):
                    must = "must be the name of a pool or a list of (name, estimator)"
                    raise InputTypeError(pool, must, got=pair)
        names = [
            *super().get_params(deep=False),
            *(name for pool in POOLS for name, _ in self._pairs(pool)),
        ]
        wrong = [name for name in names if "__" in name or names.count(name) > 1]
        if wrong:
            must = "must have different names, without '__', that are no parameters"
            raise InputError("classifiers and clusterers", must, got=wrong[0])
        check_cv(self.cv)

    # ---- new rows --------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities of new rows; those of a row never depend on the other rows."""
        return self.consensus_for(X).proba

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are right; rows without a label do not count.

        So `cross_val_score` and searches can be given a `y` with missing labels, as None or as the
        number that `unlabelled` names.
        """
        classes, codes = read_labels(y, self.unlabelled, None)
        rows = np.flatnonzero(codes >= 0)
        weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return float(super().score(take_rows(X, rows), classes[codes[rows]], weights))

    def consensus_for(self, X: Any) -> Consensus:
        """The consensus on new rows, with `explain`, `contested` and so on."""
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        n_classes = len(self.classes_)
        with limit_threads(X):
            jobs = [
                delayed(mean_shares)(models, X, n_classes) for models in self.estimators_.values()
            ]
            shares = Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs)
            clusters = {name: np.asarray(c.predict(X)) for name, c in self.clusterers_.items()}
        tables = dict(zip(self.estimators_, shares, strict=True))
        votes = Votes.from_probabilities(tables, clusters or None, classes=self.classes_)
        return self.consensus_.extend(votes)


def columns_of_text(X: Any) -> list[str]:
    """The columns that hold free text, which our own pools would take for categories.

    With fewer than 50 rows they cannot be told apart.
    """
    frame = frame_of(X)
    if frame is None or len(frame) < 50:
        return []
    texts = [column for column in frame.iter_columns() if column.dtype == nw.String]
    return [column.name for column in texts if column.n_unique() > len(frame) / 2]
