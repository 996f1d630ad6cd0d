"""CrowdClassifier: annotators' votes and the objects' features together.

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
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from .._checks import InputError, require_integer
from .._text import arg, percent
from .._typing import Array
from ..answer.notes import Note
from ..consensus import Consensus
from ..methods.base import Method, method_of, trusting_votes
from ..methods.voting import MajorityVote
from ..votes import Votes
from ..votes.reading import frame_of, index_of
from .pools import classifier_pool
from .rows import TableClassifier, check_table, limit_threads, with_warnings
from .training import Training, fit_and_vote, predict_shares

CANDIDATES = {"extra": "extra trees", "lr": "logistic regression"}  # of the default pool


@dataclass(eq=False, repr=False)
class CrowdClassifier(TableClassifier, BaseEstimator):  # type: ignore[misc]
    """Learn a classifier from annotators instead of labels, and how each annotator errs.

    The features say what similar objects were called, the votes say what this one was called by
    whom, and each shows how far the other can be trusted. Features that the votes do not bear out
    are not used, and a note says so.

    Parameters
    ----------
    estimator : classifier with `predict_proba`, a pipeline say, or None
        What learns from the features. None takes extra trees or logistic regression, whichever
        explains the votes better. Both accept dataframes with categories, dates and missing values.
    method : a name in METHODS, or a method such as DawidSkene()
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
    >>> right = rng.random((3, 150)) < 0.6
    >>> said = np.where(right, y, rng.integers(3, size=(3, 150)))
    >>> votes = dict(zip(["ann", "bob", "cy"], said))
    >>> model = CrowdClassifier(random_state=0).fit(X, votes)
    >>> bool(np.mean(model.transduction_ == y) > 0.9)
    True
    >>> model.predict(X[[0, 75]])
    array([0, 1])
    """

    estimator: Any = None
    method: str | Method = "ebcc"
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
        votes : Votes, or a wide table
            A wide table has one row per object and one column per voter, None or NaN where it did
            not vote: a 2-D array, a dict of voter -> column or a dataframe. For one row per vote,
            pass `Votes.from_long(objects, voters, labels, object_ids=X.index)`. `Votes` are in the
            order of the rows, or name them as a pandas table does.
        known : as in `ec3learn.solve`
            Labels of a few objects.
        """
        self._check()
        X = check_table(self, X, reset=True)
        votes = read_votes(votes, X)
        self.classes_ = votes.classes
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with limit_threads(X), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            alone = self.method_.solve(votes, known)
            majority = MajorityVote().solve(votes, known)
            codes = np.where(majority.unanswered, -1, codes_of(majority))
            model, prior, notes = self._first(X, votes, codes)
            self.consensus_ = self._alternate(X, votes, known, model, (alone, prior, codes))
            codes = codes_of(self.consensus_)
            whole = (np.arange(len(codes)), np.arange(0))
            self.estimator_, _ = fit_and_vote(
                "estimator", model, X, codes, whole, len(self.classes_)
            )
        self.transduction_ = self.consensus_.labels()
        notes += [*self.consensus_.notes, self._features_note(alone)]
        self.notes_ = with_warnings(notes, caught)
        return self

    def _alternate(
        self, X: Any, votes: Votes, known: Any, model: Any, start: tuple[Consensus, Array, Array]
    ) -> Consensus:
        """The consensus after the last round that explains the votes no worse than the first."""
        best, prior, codes = start
        least = -np.inf
        for turn in range(self.rounds):
            if turn:
                prior = self._out_of_fold(model, X, codes)
            consensus = self.method_.solve(votes, known, prior)
            trust = consensus.solution.trust
            likelihood = -np.inf if trust is None else trust.likelihood
            if likelihood < least:
                break
            least = likelihood if turn == 0 else least
            best, before, codes = consensus, codes, codes_of(consensus)
            settled = np.mean(before != codes) <= 0.002  # hardly any class changed
            if settled or trust is None or trust.weight <= 0:
                break
        return best

    def _first(self, X: Any, votes: Votes, codes: Array) -> tuple[Any, Array, list[Note]]:
        """The classifier to take, its first probabilities out of fold, and why it was taken."""
        if self.estimator is not None:
            return self.estimator, self._out_of_fold(self.estimator, X, codes), []
        tried = {}
        for name, model in classifier_pool(random_state=self._seed):
            if name in CANDIDATES:
                prior = self._out_of_fold(model, X, codes)
                trusting = trusting_votes(votes.with_prior(prior), None).prior
                assert trusting is not None
                tried[name] = trusting.learned.likelihood, model, prior
        taken = max(tried, key=lambda name: tried[name][0])
        (other,) = (title for name, title in CANDIDATES.items() if name != taken)
        text = f"Classifier: {CANDIDATES[taken]}. By {other} the votes would be less likely."
        return *tried[taken][1:], [Note("choice", text)]

    def _out_of_fold(self, model: Any, X: Any, codes: Array) -> Array:
        """Class probabilities of all rows by classifiers that have not seen them."""
        n_classes = len(self.classes_)
        settings = (None, self.cv, None, n_classes, self.n_jobs, self._seed)
        work = Training(X, codes, *settings, judge_all=True)
        return work.fit_classifiers([("estimator", model)])[1]["estimator"]

    def _features_note(self, alone: Consensus) -> Note:
        """What the features added."""
        trust = self.consensus_.solution.trust
        if trust is not None and trust.weight > 0:
            changed = percent(float(np.mean(alone.labels() != self.transduction_)))
            text = f"{changed} of the objects have another class than by votes alone."
            return Note("features", f"With the features, {text}")
        one_class = len(self.classes_) < 2
        why = "there is only one class" if one_class else "the votes do not bear them out"
        end = "the answer is that of the votes alone."
        return Note("features", f"The features were not used, because {why}: {end}")

    # ---- new rows --------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities of rows without votes, by the classifier as far as it is trusted."""
        check_is_fitted(self)
        shares = predict_shares(
            self.estimator_, check_table(self, X, reset=False), len(self.classes_)
        )
        trust = self.consensus_.solution.trust
        return shares if trust is None else np.exp(trust.log_proba(shares))

    def consensus_for(self, X: Any, votes: Any) -> Consensus:
        """The consensus on new rows that the same voters have voted on.

        Parameters
        ----------
        X : array, sparse matrix or dataframe
            The features.
        votes : as in `fit`
            The votes; rows may lack them. Voters are matched by name.
        """
        check_is_fitted(self)
        X = check_table(self, X, reset=False)
        prior = None
        if self.consensus_.solution.trust is not None:
            prior = predict_shares(self.estimator_, X, len(self.classes_))
        return self.consensus_.extend(read_votes(votes, X, self.classes_), prior=prior)

    # ---- checks ----------------------------------------------------------------------------------

    def _check(self) -> None:
        require_integer("rounds", self.rounds, 1)
        require_integer("cv", self.cv, 2)
        self.method_ = method_of(self.method, "method")
        if not self.method_.admits_prior:
            remedy = f"Take {arg('method', 'ebcc')} or {arg('method', 'dawid-skene')}."
            came = f"{self.method_.title}, which does not"
            raise InputError("method", "must support a prior", came=came, remedy=remedy)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def codes_of(consensus: Consensus) -> Array:
    """The number of each row's class."""
    return consensus.solution.expand(consensus.solution.row_classes)


# ---- votes on the rows of X ----------------------------------------------------------------------


def read_votes(votes: Any, X: Any, classes: Array | None = None) -> Votes:
    """Votes on the rows of X from `Votes` or a wide table; of these classes, if any."""
    if votes is None:
        phrase = "CrowdClassifier requires y to be passed, but the target y is None"
        raise InputError("votes", phrase=phrase, remedy="Pass votes in its place.")
    if not isinstance(votes, Votes):
        is_table = isinstance(votes, Mapping) or frame_of(votes) is not None
        one_column = not is_table and np.array(votes, dtype=object).ndim == 1
        votes = Votes.from_labels({"voter": votes} if one_column else votes, classes=classes)
    n_rows, ids = X.shape[0], votes.object_ids
    if len(votes) != n_rows:
        must = f"must describe the {n_rows:,} rows of {arg('X')}"
        remedy = f"One row per vote goes through {arg('Votes.from_long')}."
        raise InputError("votes", must, came=f"{len(votes):,} objects", remedy=remedy)
    if ids is None or index_of(X) is None:
        return votes
    # The rows may be named in another order.
    place = {name: i for i, name in enumerate(ids.tolist())}
    rows = [place.get(name, -1) for name in X.index.tolist()]
    return votes[rows] if sorted(rows) == list(range(n_rows)) else votes
