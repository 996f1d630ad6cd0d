"""CrowdClassifier: annotators' votes and the objects' features together, as a scikit-learn estimator.

A classifier learns from the annotators, and its class probabilities, out of fold, are the prior of
each object when the votes are combined. That shows how each annotator errs, so the classifier gets
better labels in the next round. The rounds start at the classifier: started at the answer from few
votes alone, they would only confirm it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._checks import InputError, InputTypeError, require_integer
from .._text import arg, percent
from .._typing import Array
from ..answer.notes import CHOICE, FEATURES, Note
from ..consensus import Consensus
from ..methods.base import Method, method_of, trusting_votes
from ..methods.voting import MajorityVote
from ..votes import Votes
from ..votes.encoding import known_codes
from ..votes.reading import frame_of, is_pandas
from .pools import classifier_pool
from .rows import TableClassifier, count_rows, limit_threads, take_rows, with_warnings
from .training import fit_and_vote, last_step, mean_shares, out_of_bag

CANDIDATES = {
    "extra": "extra trees",
    "lr": "logistic regression",
}  # of the default pool, where no estimator is given
LONG = (
    ("object", "voter", "label"),
    ("task", "worker", "label"),
)  # the columns of a long table; crowd-kit has the latter
SETTLED = 0.002  # the share of objects that may still change their class


@dataclass(eq=False, repr=False)
class CrowdClassifier(TableClassifier, BaseEstimator):  # type: ignore[misc]
    """Learn from annotators, not from labels: a classifier and the annotators' confusions are learned together.

    The features say what similar objects were called, the votes say what this one was called by
    whom, and each shows how far the other can be trusted. Features that the votes do not bear out
    are not used, and a note says so.

    Parameters
    ----------
    estimator : classifier with `predict_proba`, a pipeline say, or None
        What learns from the features. None takes extra trees or logistic regression, whichever
        explains the votes better. Both accept dataframes with categories, dates and missing values.
    method : "auto", a name in METHODS, or a method such as DawidSkene()
        What combines the votes; it must support a prior.
    rounds : int
        The most times that the classifier and the consensus are found in turn. They end where
        hardly any class changes, or before a round that explains the votes worse than the first.
    cv : int
        Number of folds in which objects get class probabilities from classifiers that have not seen
        them.
    n_jobs : int or None
        Number of folds to fit in parallel.
    random_state : int, RandomState or None
        Seed of the folds and of the default classifiers.

    Attributes
    ----------
    classes_ : array
        The classes.
    consensus_ : Consensus
        The consensus on the rows passed to `fit`, with `voters()`, `confusion(voter)`,
        `contested()`, `explain(i)` and so on.
    transduction_ : array
        The class of each row passed to `fit`.
    estimator_ : classifier
        The classifier, fitted to all rows with the classes of the consensus.
    method_ : Method
        The method that combined the votes.
    notes_ : list of Note
        What was chosen and why, how far the features were trusted, and what else to know.
        `print(note)` shows its text.

    Notes
    -----
    `fit` takes votes in place of `y`, so searches and cross-validation of scikit-learn cannot split
    them; split `Votes` by `votes[rows]`. `score(X, y)` compares with true labels. One label per
    row, as other classifiers take it, is a single voter.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ec3learn import CrowdClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> rng = np.random.default_rng(0)
    >>> votes = {name: np.where(rng.random(150) < 0.6, y, rng.integers(3, size=150)) for name in ("ann", "bob", "cy")}
    >>> model = CrowdClassifier(random_state=0).fit(X, votes)
    >>> bool(np.mean(model.transduction_ == y) > 0.9)
    True
    >>> model.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    """

    estimator: Any = None
    method: str | Method = "auto"
    rounds: int = 5
    cv: int = 5
    n_jobs: int | None = None
    random_state: Any = None

    # ---- fit -------------------------------------------------------------------------------------

    def fit(self, X: Any, votes: Any, known: Any = None) -> CrowdClassifier:
        """Learn the classifier and how each voter errs.

        Parameters
        ----------
        X : array, sparse matrix or dataframe
            The features, one row per object.
        votes : Votes, wide table or long table
            A wide table has one row per object and one column per voter, None or NaN where it did
            not vote: a 2-D array, a dict of voter -> column or a dataframe. A long table has one
            row per vote: a dataframe with the columns object, voter and label (or task, worker and
            label), or a tuple of these three. Its objects are the numbers of rows of `X`, or their
            names where `X` is a pandas table. `Votes` are in the order of the rows, or name them as
            a pandas table does.
        known : as in `ec3learn.solve`
            Labels of a few objects.
        """
        self._check()
        X = self._check_X(X, reset=True)
        votes = read_votes(votes, X)
        self.classes_ = votes.classes
        self.method_ = method_of(self.method, "method")
        seed = self._draw_seed()
        with limit_threads(X), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            alone = self.method_.solve(votes, known)
            best, notes = self._alternate(_Work(X, votes, known, self.cv, self.n_jobs, seed), alone)
        self.consensus_, self.estimator_ = best
        self.transduction_ = self.consensus_.labels()
        self.notes_ = with_warnings(
            [*notes, *self.consensus_.notes, self._features_note(alone)], caught
        )
        return self

    def _alternate(self, work: _Work, alone: Consensus) -> tuple[tuple[Consensus, Any], list[Note]]:
        """Return the best consensus with the classifier that was fitted to it, and notes; the rounds start at the classifier."""
        codes = work.first_codes()
        model, prior, notes = self._first(work, codes)
        best = first = alone
        for turn in range(self.rounds):
            if turn:
                prior = work.out_of_fold(model, codes)
            consensus = self.method_.solve(work.votes, work.known, prior)
            first = consensus if turn == 0 else first
            if _likelihood(consensus) < _likelihood(first):
                break
            best, before, codes = consensus, codes, work.codes_of(consensus)
            if np.mean(before != codes) <= SETTLED or not _trusts(consensus):
                break
        fitted, _ = work.fit(model, work.codes_of(best))
        return (best, fitted), notes

    def _first(self, work: _Work, codes: Array) -> tuple[Any, Array, list[Note]]:
        """Return the classifier to take, its first out-of-fold class probabilities, and why it was taken."""
        if self.estimator is not None:
            return self.estimator, work.out_of_fold(self.estimator, codes), []
        found = {}
        for name, model in classifier_pool(random_state=work.seed):
            if name not in CANDIDATES:
                continue
            prior = work.out_of_fold(model, codes)
            trusting = trusting_votes(work.votes.with_prior(prior), None).prior
            assert trusting is not None
            found[name] = trusting.learned.likelihood, model, prior
        taken = max(found, key=lambda name: found[name][0])
        (other,) = (title for name, title in CANDIDATES.items() if name != taken)
        text = f"Classifier: {CANDIDATES[taken]}, which explain the votes better than {other}."
        return *found[taken][1:], [
            Note(CHOICE, text.replace("regression, which explain ", "regression, which explains "))
        ]

    def _features_note(self, alone: Consensus) -> Note:
        """Return the note on what the features added."""
        if not _trusts(self.consensus_):
            what = (
                "there is only one class"
                if len(self.classes_) < 2
                else "the votes do not bear out what the classifier says"
            )
            return Note(
                FEATURES,
                f"The features were not used, because {what}: the answer is that of the votes alone.",
            )
        changed = float(np.mean(alone.labels() != self.transduction_))
        return Note(
            FEATURES,
            f"With the features, {percent(changed)} of the objects have another class than by votes alone.",
        )

    # ---- new rows --------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities of rows without votes: what the classifier says, as far as it is to be trusted."""
        shares = self._shares(X)
        return (
            shares
            if self.consensus_.solution.trust is None
            else np.exp(self.consensus_.solution.trust.log_proba(shares))
        )

    def predict_with_votes(self, X: Any, votes: Any) -> Array:
        """Return the classes of new rows that the same voters have voted on.

        Parameters
        ----------
        X : array, sparse matrix or dataframe
            The features.
        votes : as in `fit`
            The votes; rows may lack them. Voters are matched by name.
        """
        return self.consensus_for(X, votes).labels()

    def consensus_for(self, X: Any, votes: Any) -> Consensus:
        """Return the consensus on new rows that the same voters have voted on, with `proba`, `explain`, `contested` and so on."""
        shares = self._shares(X)
        new = read_votes(votes, X, self.classes_)
        return self.consensus_.extend(
            new, prior=None if self.consensus_.solution.trust is None else shares
        )

    def _shares(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        with limit_threads(X):
            return mean_shares([self.estimator_], X, np.arange(len(self.classes_)))

    # ---- checks ----------------------------------------------------------------------------------

    def _check(self) -> None:
        require_integer("rounds", self.rounds, 1)
        require_integer("cv", self.cv, 2)
        self._check_n_jobs()
        method = method_of(self.method, "method")
        if not method.admits_prior:
            remedy = f"Take {arg('method', 'auto')} or {arg('method', 'dawid-skene')}."
            raise InputError(
                "method",
                "must support a prior",
                came=f"{method.title}, which does not",
                remedy=remedy,
            )
        if self.estimator is not None and (
            isinstance(self.estimator, type) or not hasattr(self.estimator, "fit")
        ):
            remedy = (
                f"Call it: {self.estimator.__name__}()." if isinstance(self.estimator, type) else ""
            )
            raise InputTypeError(
                "estimator", "must be a classifier or None", got=self.estimator, remedy=remedy
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


# ---- the rounds ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Work:
    """The rows, their votes and known labels, and how classifiers are fitted to them."""

    X: Any
    votes: Votes
    known: Any
    cv: int
    n_jobs: int | None
    seed: int

    def first_codes(self) -> Array:
        """Return the class of each row by majority vote or known label, -1 where there is neither."""
        votes = self.votes
        answer = MajorityVote().solve(votes)
        codes = np.where(answer.unanswered, -1, self.codes_of(answer))
        if self.known is None:
            return codes
        known = known_codes(self.known, votes.classes, votes.n_objects, votes.object_ids)
        return np.where(known >= 0, known, codes)

    def codes_of(self, consensus: Consensus) -> Array:
        """Return the number of each row's class."""
        return consensus.solution.expand(consensus.solution.row_classes)

    def fit(self, model: Any, codes: Array, folds: Any = ()) -> tuple[Any, list[Any]]:
        """Return a copy fitted to the rows that have a class, and the class probabilities of the folds by copies of their own."""
        labelled = np.flatnonzero(codes >= 0)
        parts = [
            (labelled, labelled[:0]),
            *((labelled[train], labelled[test]) for train, test in folds),
        ]
        classes = np.arange(self.votes.n_classes)
        jobs = (
            delayed(fit_and_vote)(model, self.X, codes, train, test, {}, classes)
            for train, test in parts
        )
        results = Parallel(n_jobs=self.n_jobs)(jobs)
        for result in results:
            if isinstance(result, str):
                raise InputError(
                    "estimator",
                    phrase=f"The classifier failed ({result})",
                    remedy="Fix it, or pass another.",
                )
        return results[0][0], [shares for _, shares in results[1:]]

    def out_of_fold(self, model: Any, codes: Array) -> Array:
        """Return class probabilities of all rows by classifiers that have not seen them."""
        n_classes, labelled = self.votes.n_classes, np.flatnonzero(codes >= 0)
        prior = np.full((len(codes), n_classes), np.nan)
        if len(labelled) < 2:
            return prior
        in_bags = len(np.unique(codes[labelled])) > 1 and getattr(
            last_step(model), "oob_score", False
        )
        splitter = KFold(min(self.cv, len(labelled)), shuffle=True, random_state=self.seed)
        folds = [] if in_bags else list(splitter.split(labelled))
        fitted, parts = self.fit(model, codes, folds)
        if in_bags:
            prior[labelled] = out_of_bag(fitted, n_classes)
        for (_, test), shares in zip(folds, parts, strict=True):
            prior[labelled[test]] = shares
        rest = np.flatnonzero(codes < 0)
        if len(rest):
            prior[rest] = mean_shares([fitted], take_rows(self.X, rest), np.arange(n_classes))
        return prior


def _trusts(consensus: Consensus) -> bool:
    return consensus.solution.trust is not None and consensus.solution.trust.weight > 0


def _likelihood(consensus: Consensus) -> float:
    return -np.inf if consensus.solution.trust is None else consensus.solution.trust.likelihood


# ---- votes on the rows of X ----------------------------------------------------------------------


def read_votes(votes: Any, X: Any, classes: Array | None = None) -> Votes:
    """Return votes on the rows of X from `Votes`, a wide table or a long one; of the given classes, if any."""
    if votes is None:
        phrase = "CrowdClassifier requires y to be passed, but the target y is None"
        raise InputError("votes", phrase=phrase, remedy="Pass votes in its place.")
    n_rows = count_rows(X)
    long = _long_columns(votes)
    if isinstance(votes, Votes):
        read = _in_order_of(X, votes)
    elif long is not None:
        read = _read_long(long, X, classes)
    else:
        one_column = (
            not isinstance(votes, Mapping)
            and frame_of(votes) is None
            and np.array(votes, dtype=object).ndim == 1
        )
        read = Votes.from_labels({"voter": votes} if one_column else votes, classes=classes)
    if len(read) != n_rows:
        raise InputError(
            "votes",
            f"must describe the {n_rows:,} rows of {arg('X')}",
            came=f"{len(read):,} objects",
        )
    return read


def _read_long(long: tuple[Any, Any, Any], X: Any, classes: Array | None) -> Votes:
    """Return the votes of a long table, whose objects are the names of the rows of a pandas table, or else their numbers."""
    named = is_pandas(X)
    try:
        return Votes.from_long(
            *long, object_ids=X.index.tolist() if named else range(count_rows(X)), classes=classes
        )
    except InputError as error:
        if error.argument != "object_ids":
            raise
        phrase = f"The {'index' if named else 'row numbers'} of {arg('X')} {error.must}, got {error.came}"
        by_number = "Number the objects by row, from 0 on, or pass a pandas table whose index holds their names."
        raise InputError(
            "X", phrase=phrase, remedy="Set it to the names of the objects." if named else by_number
        ) from None


def _in_order_of(X: Any, votes: Votes) -> Votes:
    """Return votes on named objects in the order of the rows of a pandas table that has the same names."""
    if votes.object_ids is None or not is_pandas(X) or len(X) != len(votes):
        return votes
    place = {name: i for i, name in enumerate(votes.object_ids.tolist())}
    rows = [place.get(name, -1) for name in X.index.tolist()]
    return votes if sorted(rows) != list(range(len(votes))) else votes[rows]


def _long_columns(votes: Any) -> tuple[Any, Any, Any] | None:
    """Return the objects, voters and labels of a long table; None for anything else."""
    if isinstance(votes, tuple) and len(votes) == 3:
        return votes
    frame = None if isinstance(votes, Votes) else frame_of(votes)
    for names in LONG:
        if frame is not None and sorted(frame.columns) == sorted(names):
            objects, voters, labels = (frame[name].to_native() for name in names)
            return objects, voters, labels
    return None
