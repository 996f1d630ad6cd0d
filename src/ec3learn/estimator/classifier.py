"""EC3Classifier: from a feature table to a consensus classifier, as a scikit-learn estimator.

Classifiers are fitted to the labelled rows and clusterings to all rows. Their votes become `Votes`,
a method makes a consensus of them, and the consensus is extended to new rows. Only classifiers that
have not seen a labelled row vote on it.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    InputError,
    InputTypeError,
    is_integer,
    require_bool,
    require_choice,
    require_integer,
    require_number,
)
from .._progress import Bar, progress
from .._text import arg, some
from .._typing import Array
from ..answer.notes import (
    CHOICE,
    FREE_TEXT,
    LEFT_OUT,
    LONG_TABLE,
    NO_ANSWER,
    UNUSED_LABELS,
    WEIGHTS,
    Note,
)
from ..consensus import Consensus
from ..methods.base import Method, method_of
from ..votes import Votes
from ..votes.reading import frame_of
from .composition import Composition
from .pooling import PooledVote
from .pools import Pool, libraries_of, too_slow_for
from .rows import TableClassifier, Target, check_weights, count_rows, limit_threads, with_warnings
from .training import Training, mean_shares

ROWS_FOR_TEXT = 50  # a column of fewer values is never taken for free text
ROWS_FOR_LIMITS = 100  # with fewer, to limit threads or begin others takes longer than to predict
ROWS_FOR_RETRAINING = 20  # without a label, for retrain_rounds="auto"


@dataclass(eq=False, repr=False)
class EC3Classifier(TransformerMixin, TableClassifier, Composition):  # type: ignore[misc]
    """Train a pool of classifiers and clusterings, and combine their votes.

    Rows without a label are used too: the clusterings are fitted to all rows, and the votes on all
    of them are combined.

    Parameters
    ----------
    classifiers, clusterers : name of a pool, or list of (name, estimator)
        "default", "fast", "strong", "paper", or your own estimators, pipelines included. "strong"
        takes what is installed of CatBoost, LightGBM, XGBoost, TabICL and TabPFN, and `notes_` says
        what. An empty list of clusterers means no clusterings.
    consensus : "auto", a name in METHODS, or a method such as EC3(beta=0)
        "auto" pools the votes: labels teach a weight per classifier from votes out of fold
        (`PooledVote`). With few labels clusterings count, too.
    voting : "soft" or "hard"
        Whether classifiers vote with probabilities, where they have them, or with their most
        probable class.
    cv : int, or a splitter such as GroupKFold()
        The folds in which the labelled rows get votes from classifiers that have not seen them.
        With `fit(X, y, groups=...)`, rows of one group are in one fold.
    unlabelled : label
        A value of `y` that means "no label", besides None and NaN.
    prefit : bool
        The base models are fitted already and are used as they are. They should not have seen the
        rows passed to `fit`.
    retrain_rounds : int or "auto"
        How often the pool is retrained on the rows the consensus is most confident of, if there are
        rows without labels. "auto" is 1 if there are at least as many rows without labels as with,
        else 0.
    on_error : "raise" or "drop"
        What to do if a base model fails: raise an error that names it, or go on without it and say
        so in `notes_`.
    n_jobs : int or None
        Number of base models to fit in parallel. The answers are the same for any number.
    random_state : int, RandomState or None
        Seed of the pools and the folds.
    verbose : int
        1 shows the progress on a terminal.
    time_limit : float or None
        Seconds after which no base model is begun any more; what was fitted by then is combined,
        and `notes_` says what was left out. The first classifier is always fitted.

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
        The fitted classifiers: trained on all labelled rows, and two more for each round of
        retraining.
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
    voting: Literal["soft", "hard"] = "soft"
    cv: Any = 5
    unlabelled: Any = None
    prefit: bool = False
    retrain_rounds: int | Literal["auto"] = "auto"
    on_error: Literal["raise", "drop"] = "raise"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    time_limit: float | None = None

    # ---- fit -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, **fit_params: Any) -> EC3Classifier:
        """Fit the base models, collect their votes and solve the consensus.

        Parameters
        ----------
        X : array, sparse matrix or dataframe
            The features.
        y : array
            The labels. None, NaN and `unlabelled` mean that a label is missing.
        **fit_params
            `sample_weight`, which counts rows in the consensus too; a warning names classifiers
            that do not accept it. With metadata routing, what the classifiers ask for. `groups`,
            one per row, for `cv`.
        """
        self._check()
        deadline = np.inf if self.time_limit is None else time.monotonic() + self.time_limit
        groups = fit_params.pop("groups", None)
        X = self._read(X, y, fit_params.get("sample_weight"))
        if groups is not None and count_rows(groups) != count_rows(X):
            raise InputError(
                "groups",
                f"must hold one group per row, {count_rows(X):,} in all",
                came=f"{count_rows(groups):,}",
            )
        params = self._route(
            fit_params if self._weights is None else {**fit_params, "sample_weight": self._weights}
        )
        self._warn_of_weights(params)
        with limit_threads(X), progress("Fitting base models", shown=self.verbose > 0) as bar:
            self._fit_pools(X, params, groups, deadline, bar)
        labels = self.consensus_.proba.argmax(axis=1)
        self.transduction_ = self.classes_[
            np.where(self._target.labelled, self._target.codes, labels)
        ]
        self.voters_ = self.consensus_.voters()
        return self

    def _fit_pools(
        self, X: Any, params: dict[str, dict[str, Any]], groups: Any, deadline: float, bar: Bar
    ) -> None:
        pool = self._pool("classifiers")
        work = Training(
            pool=pool if self.prefit else self._with_class_weights(pool, self.classes_),
            clusterers=self._pool("clusterers"),
            X=X,
            target=self._target,
            params=params,
            prefit=self.prefit,
            cv=self.cv,
            groups=groups,
            n_rounds=self._n_rounds(),
            on_error=self.on_error,
            n_jobs=self.n_jobs,
            seed=self._seed,
            bar=bar,
            notes=self._fit_notes,
            deadline=deadline,
        )
        self.estimators_, shares = work.fit_classifiers()
        self.clusterers_, clusters = work.fit_clusterings()
        work.vote_on_rest(self.estimators_, shares)
        self._hard = self.voting == "hard"
        votes = self._make_votes(shares, clusters, self._weights)
        auto = isinstance(self.consensus, str) and self.consensus == "auto"
        self.method_ = PooledVote() if auto else method_of(self.consensus, "consensus")
        self._solve(votes)
        self._retrain(work, shares, clusters)

    def _retrain(
        self, work: Training, shares: dict[str, Array], clusters: dict[str, Array]
    ) -> None:
        """Retrain the pool and solve again; the models of all rounds together count as much as the first ones."""
        rest = ~self._target.labelled  # the votes on labelled rows stay out of fold
        first = dict(shares)
        retrained = {name: np.zeros_like(table) for name, table in shares.items()}
        for _ in range(work.n_rounds):
            if time.monotonic() > work.deadline:
                self.notes_.append(
                    Note(LEFT_OUT, f"The pool was not retrained: {arg('time_limit')} was reached.")
                )
                break
            new = work.retrain(
                self.estimators_, self.consensus_.proba, self.consensus_.proba.argmax(axis=1)
            )
            for name, (models, proba) in new.items():
                n_before = len(self.estimators_[name]) - 1
                self.estimators_[name] = [*self.estimators_[name], *models]
                retrained[name] = (retrained[name] * n_before + 2 * proba) / (n_before + 2)
                shares[name] = np.where(
                    rest[:, None], (first[name] + retrained[name]) / 2, first[name]
                )
            self._solve(self._make_votes(shares, clusters, self._weights))

    def _solve(self, votes: Votes) -> None:
        notes = list(self._fit_notes)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if self.method_.admits_known:
                names = np.array(
                    [*self._target.names, None], dtype=object
                )  # None where the code is -1
                self.consensus_: Consensus = self.method_.solve(
                    votes, known=names[self._target.codes]
                )
            else:
                self.consensus_ = self.method_.solve(votes)
                text = f"{self.method_.title} does not support known labels: they were used to train the classifiers only."
                notes.append(Note(UNUSED_LABELS, text))
        solved = (
            note
            for note in self.consensus_.solution.notes
            if note.kind not in (LONG_TABLE, NO_ANSWER)
        )  # of tables of votes
        self.notes_ = with_warnings([*notes, *solved], caught)

    def _n_rounds(self) -> int:
        """Return how often to retrain."""
        n_rest = int((~self._target.labelled).sum())
        if self.prefit or not n_rest:
            return 0
        if self.retrain_rounds == "auto":
            return 1 if n_rest >= max(ROWS_FOR_RETRAINING, len(self._target.codes) - n_rest) else 0
        return int(self.retrain_rounds)

    def _make_votes(
        self, shares: dict[str, Array], clusters: dict[str, Array], weights: Array | None = None
    ) -> Votes:
        names = self._target.names
        if not self._hard:
            return Votes.from_probabilities(
                shares, clusters or None, classes=names, sample_weight=weights
            )
        labels = np.array([*names, None], dtype=object)  # None, the last, where a row got no vote
        chosen = {
            name: np.where(np.isnan(table).any(axis=1), -1, table.argmax(axis=1))
            for name, table in shares.items()
        }
        hard = {name: labels[codes] for name, codes in chosen.items()}
        return Votes.from_labels(hard, clusters or None, classes=names, sample_weight=weights)

    # ---- reading and checking --------------------------------------------------------------------

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Read the labels and the seed, and return the features as the base models get them."""
        if y is None:
            phrase = f"This {type(self).__name__} estimator requires y to be passed, but the target y is None"
            raise InputError(
                "y", phrase=phrase, remedy="Pass labels, with None for rows without one."
            )
        X = self._check_X(X, reset=True)
        weights = check_weights(sample_weight, X)
        fitted = self._pool("classifiers") if self.prefit else []
        trained_on = [
            np.asarray(model.classes_) for _, model in fitted if hasattr(model, "classes_")
        ]
        self._target = Target.read(y, self.unlabelled, weights, trained_on)
        self._weights = None if sample_weight is None else weights
        self.classes_ = self._target.classes
        self._seed = self._draw_seed()
        self._fit_notes: list[Note] = []
        if isinstance(self.classifiers, str):
            self._warn_of_free_text(X)
            self._note_members()
        return X

    def _note_members(self) -> None:
        """Note which libraries a pool takes, and what is left out of it."""
        slow = too_slow_for(self.classifiers, len(self.classes_))
        if slow:
            text = f"Left out of the pool {self.classifiers!r}, because they take too long with {len(self.classes_):,} classes: "
            self._fit_notes.append(Note(LEFT_OUT, f"{text}{', '.join(slow)}."))
        taken, missing = libraries_of(self.classifiers)
        if taken:
            left_out = f"; not installed: {', '.join(missing)}" if missing else ""
            self._fit_notes.append(
                Note(CHOICE, f"The pool {self.classifiers!r} takes {', '.join(taken)}{left_out}.")
            )

    def _warn_of_weights(self, params: dict[str, dict[str, Any]]) -> None:
        """Warn if classifiers do not get the weights of the rows."""
        without = [name for name, own in params.items() if not own]
        if without and self._weights is not None and not self.prefit:
            why = "they do not request it" if self._uses_routing else "their fit does not take it"
            note = Note(
                WEIGHTS, f"Trained without {arg('sample_weight')}, because {why}: {some(without)}."
            )
            warnings.warn(str(note), stacklevel=3)
            self._fit_notes.append(note)

    def _warn_of_free_text(self, X: Any) -> None:
        """Warn if a column holds free text, which our own pools would take for categories."""
        frame = frame_of(X)
        if frame is None or len(frame) < ROWS_FOR_TEXT:
            return
        for name, dtype in frame.schema.items():
            n_texts = frame.get_column(name).n_unique() if dtype == nw.String else 0
            if n_texts > len(frame) / 2:
                note = Note(
                    FREE_TEXT,
                    f"The column {name!r} holds {n_texts:,} different texts in {len(frame):,} rows, and the pool "
                    f"{self.classifiers!r} takes text for categories. Leave it out, or pass classifiers that read text.",
                )
                warnings.warn(str(note), stacklevel=4)
                self._fit_notes.append(note)

    def _check(self) -> None:
        self._check_pools()
        require_choice("voting", self.voting, ("hard", "soft"))
        require_choice("on_error", self.on_error, ("drop", "raise"))
        if not hasattr(self.cv, "split") and (not is_integer(self.cv) or self.cv < 2):
            raise InputError(
                "cv",
                "must be an integer >= 2, or a splitter that has split(X, y, groups)",
                got=self.cv,
            )
        if self.retrain_rounds != "auto" and (
            not is_integer(self.retrain_rounds) or self.retrain_rounds < 0
        ):
            raise InputError(
                "retrain_rounds", "must be 'auto' or an integer >= 0", got=self.retrain_rounds
            )
        if not (isinstance(self.consensus, str) and self.consensus == "auto"):
            method_of(self.consensus, "consensus", ("auto",))
        if self.time_limit is not None:
            require_number("time_limit", self.time_limit, least=0)
        require_bool("prefit", self.prefit)
        self._check_n_jobs()
        if isinstance(self.unlabelled, (list, tuple, set, dict, np.ndarray)):
            raise InputTypeError("unlabelled", "must be one label", got=self.unlabelled)
        if not isinstance(self.verbose, bool):
            require_integer("verbose", self.verbose, 0)

    # ---- new rows --------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities of new rows, rows x classes; those of a row never depend on the other rows."""
        return self.consensus_for(X).proba

    def decision_function(self, X: Any) -> Array:
        """Return the logarithms of the class probabilities of new rows; with two classes, their difference."""
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def consensus_for(self, X: Any) -> Consensus:
        """Return the consensus on new rows, with `explain`, `contested` and so on."""
        votes = self._make_votes(*self._collect(X))
        return self.consensus_.extend(votes)

    def transform(self, X: Any) -> Array:
        """Return the class probabilities that each classifier predicts, side by side: rows x (classifiers x classes)."""
        shares, _ = self._collect(X, clusterings=False)
        return np.hstack(list(shares.values()))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of `transform`, such as "lr_spam"; `input_features` is ignored."""
        check_is_fitted(self)
        return np.array(
            [f"{name}_{label}" for name in self.estimators_ for label in self.classes_],
            dtype=object,
        )

    def _collect(
        self, X: Any, clusterings: bool = True
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the class probabilities by classifier, and the clusters by clustering."""
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        class_names = self.classes_ if self.prefit else np.arange(len(self.classes_))
        clusterers = self.clusterers_ if clusterings else {}
        jobs = [
            delayed(mean_shares)(models, X, class_names) for models in self.estimators_.values()
        ]
        jobs += [delayed(model.predict)(X) for model in clusterers.values()]
        if count_rows(X) < ROWS_FOR_LIMITS:
            answers = [ask(*args) for ask, args, _ in jobs]
        else:
            with limit_threads(X):
                answers = Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs)
        n_classifiers = len(self.estimators_)
        shares = dict(zip(self.estimators_, answers[:n_classifiers], strict=True))
        return shares, dict(zip(clusterers, map(np.asarray, answers[n_classifiers:]), strict=True))
