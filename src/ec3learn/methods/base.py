"""What all methods share: `solve(votes) -> Consensus`, and a name to be found by."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from .._checks import InputError, InputTypeError, require_kind, unknown_name
from .._text import arg, count, some
from .._typing import Array
from ..algebra.membership import membership
from ..algebra.trust import learn_trust
from ..answer.mixtures import PrecisionRule, SubtypeRule
from ..answer.notes import Note
from ..answer.rule import KnownLabels, mean_votes
from ..answer.solution import Answer as Answer
from ..answer.solution import Details, Solution, no_distribution, unanswered_notes
from ..consensus import Consensus
from ..diagnosis.labels import label_chances
from ..votes import (
    Prior,
    Votes,
    as_class_votes,
    objects_per_row,
    only_rows,
    relative_weights,
    split_by,
    unweighted,
    votes_per_model,
)
from ..votes.encoding import known_codes
from ..votes.layout import frozen
from .parameters import Check

MOST_DIRECT_GROUPS = 10_000  # of which a dense matrix fits into memory


class Method(BaseEstimator):  # type: ignore[misc]
    """A way to combine votes: it is made with parameters, and `solve` answers for a table.

    A new method defines `_answer`, its `title`, and what is `allowed` for its parameters.
    """

    title: ClassVar[str]
    allowed: ClassVar[Mapping[str, Check]] = {}  # and None, where it is the default
    admits_known: ClassVar[bool] = True
    admits_prior: ClassVar[bool] = False  # class probabilities beside the votes
    reads_grades: ClassVar[bool] = False  # as answers on a scale; else as votes for classes
    corrects: ClassVar[bool] = False  # known labels correct an answer made without them
    learns_voters: ClassVar[bool] = False  # as if all weighed alike; their weights answer only

    def solve(self, votes: Votes, known: Any = None, prior: Any = None) -> Consensus:
        """Combine the votes.

        Parameters
        ----------
        votes : Votes
            What the base models said.
        known : array with missing values, dict of object -> label, or pair (objects, labels)
            Labels of a few objects.
        prior : table with one row per object and one column per class, or dict of object -> row
            Class probabilities that the object's own votes had no part in, such as those of a
            classifier of its features, out of fold. How far to trust them is learned; see
            `Votes.with_prior`.

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]})
        >>> EC3().solve(votes, known={1: "b"}).labels()
        array(['a', 'b', 'b'], dtype=object)
        """
        self._check()
        remedy = "Make one with Votes.from_labels, or pass a table to ec3learn.combine."
        require_kind("votes", votes, Votes, remedy)
        codes, chances = None, None
        if known is not None:
            objects = votes.n_objects, votes.object_ids
            codes = known_codes(known, votes.classes, *objects)
            chances = label_chances(known, *objects)
        votes = votes if prior is None else votes.with_prior(prior)
        votes, notes = self._readable(votes)
        votes, labels = self._split_known(votes, codes)
        if votes.prior is not None:
            self._require_prior(votes)
            votes = trusting_votes(votes, None if self.corrects else labels)
            notes.append(prior_note(votes))
        try:
            answer = self.answer(votes, labels)
        except np.linalg.LinAlgError:  # numbers so far apart that a matrix was singular
            raise no_distribution() from None
        if not answer.converged:
            warnings.warn(self._not_converged(), ConvergenceWarning, stacklevel=2)
        notes += [*answer.notes, *unanswered_notes(answer.unanswered, votes, answer.lacking)]
        return self._consensus(answer, votes, labels, label_chances=chances, notes=tuple(notes))

    def _consensus(
        self, answer: Answer, votes: Votes, labels: KnownLabels | None, **more: Any
    ) -> Consensus:
        """The answer with what it was made from."""
        weights = votes.weights.copy() if answer.weights is None else answer.weights
        solution = Solution(
            classes=votes.classes,
            models=tuple(votes.models),
            rule=answer.rule,
            weights=frozen(weights),
            made_by=type(self).__name__,
            settings={"method": self._title(labels), **plain_parameters(self.get_params())},
            votes=votes,
            solved_proba=frozen(answer.proba),
            index=votes.index,
            object_ids=votes.object_ids,
            known=labels,
            unanswered_rows=frozen(answer.unanswered),
            trust=None if votes.prior is None else votes.prior.trust,
            **{part.name: getattr(answer, part.name) for part in fields(Details)},
            **more,
        )
        return Consensus(solution)

    def answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        """The answer for each distinct row of the votes; `solve` makes a Consensus of it."""
        if known is None:
            require_votes(votes, np.ones(len(votes.models)))
        elif not self.admits_known:
            remedy = f"Leave {arg('known')} out, or take another {arg('method')}."
            raise InputError(
                "known", phrase=f"{self.title} does not support known labels", remedy=remedy
            )
        self._require_prior(votes)
        if not self.learns_voters:
            return self._answer(votes, known)
        return _by_weights(self._answer(unweighted(votes), known), votes, known)

    def _require_prior(self, votes: Votes) -> None:
        if votes.prior is not None and not self.admits_prior:
            other = f"take another {arg('method')}, such as {arg('method', 'auto')}"
            remedy = f"Leave {arg('prior')} out, or {other}."
            raise InputError(
                "prior", phrase=f"{self.title} does not support a prior", remedy=remedy
            )

    def _readable(self, votes: Votes) -> tuple[Votes, list[Note]]:
        """The votes as the method reads them, and notes on them."""
        notes = []
        if votes.stores.n_repeated:
            text = (
                f"{count(votes.stores.n_repeated, 'vote')} repeated a voter's vote on the same "
                f"object. By default they become one soft vote; {arg('repeats')} chooses otherwise."
            )
            notes.append(Note("repeats", text))
        if votes.stores.n_outside:
            outside = count(round(votes.stores.n_outside), "answer")
            notes.append(Note("outside", f"Off the scale and taken as missing: {outside}."))
        silent = np.flatnonzero(votes.models.is_voter & (votes_per_model(votes) == 0)).tolist()
        if silent:
            names = some([votes.models[m].name for m in silent])
            text = f"{count(len(silent), 'voter')} gave no vote that can be read: {names}."
            notes.append(Note("no votes", text))
        n_graders = sum(model.kind == "grader" for model in votes.models)
        if not n_graders or self.reads_grades:
            return votes, notes
        text = (
            f"{count(n_graders, 'voter')} answered on a scale, and each answer was taken as a "
            "vote for the nearest class. Dawid-Skene learns what answers mean instead."
        )
        return as_class_votes(votes), [*notes, Note("grades", text)]

    def _check(self) -> None:
        """Refuse parameters that are not allowed."""
        for name, check in self.allowed.items():
            value = getattr(self, name)
            if value is not None or getattr(type(self), name) is not None:
                check(name, value)

    @abstractmethod
    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        """The answer for each row of the votes."""

    def _title(self, known: KnownLabels | None) -> str:
        """What the method is called where it is shown."""
        return self.title

    def _known_pull(self) -> float:
        """How hard a known label pulls its object; infinite holds it fixed."""
        return np.inf

    def _not_converged(self) -> str:
        """The warning for a loop that was cut off."""
        cut = f"stopped at max_iter={self.max_iter} before reaching tol={self._tolerance()}"
        return f"{self._title(None)} {cut}. Raise max_iter or tol."

    def _tolerance(self) -> float:
        """When a loop stops, where that depends on other parameters."""
        return self.tol

    def _split_known(self, votes: Votes, codes: Array | None) -> tuple[Votes, KnownLabels | None]:
        """The votes, objects with known labels in distinct rows of their own, and these labels."""
        if codes is None or not (codes >= 0).any():
            return votes, None
        votes, row_codes = split_by(votes, codes)
        return votes, KnownLabels(row_codes, self._known_pull())


def _by_weights(answer: Answer, votes: Votes, known: KnownLabels | None) -> Answer:
    """The answer of a method that weighed all voters alike, with the weights of the votes."""
    weights, rule = relative_weights(votes), answer.rule
    if len(np.unique(weights[weights > 0])) < 2:
        return answer
    assert isinstance(rule, (PrecisionRule, SubtypeRule))
    by_group = weights[votes.models.group_model[rule.groups], None]
    rule = replace(rule, table=by_group * rule.table)
    proba, unanswered = rule.answers(membership(votes), known)
    return replace(answer, proba=proba, unanswered=unanswered, rule=rule)


def trusting_votes(votes: Votes, known: KnownLabels | None) -> Votes:
    """Votes with a prior, and with how far to trust it."""
    assert votes.prior is not None
    alike = unweighted(votes)
    alone = replace(alike, prior=None)
    start, _, _ = mean_votes(alone, membership(alone), alone.weights, known)
    return replace(
        votes,
        prior=Prior(
            votes.prior.proba, learn_trust(alike, start, None if known is None else known.codes)
        ),
    )


def prior_note(votes: Votes) -> Note:
    """The note on how far the prior of the votes was trusted."""
    assert votes.prior is not None
    trust, n_given = votes.prior.learned, int(objects_per_row(votes) @ votes.prior.given)
    if not n_given:
        text = "The prior has probabilities of no object: it was not used."
    elif not trust.weight:
        text = (
            f"The votes do not bear out the prior of {count(n_given, 'object')}: it was not used."
        )
    else:
        worth = f"it counts as much as {trust.weight:.1f} votes"
        worth += f", its log-probabilities times {trust.slope:.2f}"
        text = f"The prior of {count(n_given, 'object')} was trusted: {worth}."
    return Note("prior", text)


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can hold them."""
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): float(number) for key, number in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and np.isinf(value):
        return "inf"  # JSON has no infinity
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


# ---- by name -------------------------------------------------------------------------------------


METHODS: dict[str, Callable[..., Method]] = {}  # the package fills it, in the order users see


def method_of(method: str | Method, argument: str, also: tuple[str, ...] = ()) -> Method:
    """The method of a name or an instance; an error lists the names `also` too."""
    if isinstance(method, Method):
        return method
    if not isinstance(method, str):
        hint = f"Call it: {method.__name__}()." if isinstance(method, type) else ""
        raise InputTypeError(
            argument, "must be a method or its name", came=type(method).__name__, remedy=hint
        )
    if method.lower() not in METHODS:
        noun = "method" if argument in ("methods", "members") else argument
        raise unknown_name(noun, method, dict.fromkeys((*also, *METHODS)))
    return METHODS[method.lower()]()


def solve(
    votes: Votes,
    known: Any = None,
    method: str | Method = "auto",
    prior: Any = None,
    class_prior: Mapping[Any, float] | None = None,
) -> Consensus:
    """Combine votes into one classification, in one call.

    Parameters
    ----------
    votes : Votes
        What classifiers, annotators or judges said, and clusterings if there are any.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels of a few objects.
    method : str or method
        By default `Panel`, a mean of several methods. A name in `METHODS`, or a method with
        parameters of your own.
    prior : table with one row per object and one column per class, or dict of object -> row
        Class probabilities that the object's own votes had no part in, such as those of a
        classifier of its features, out of fold. How far to trust them is learned from the votes.
    class_prior : dict of class -> share
        Shares of the classes that are known otherwise, such as `{"toxic": 0.1}`. The answer gets
        them on average.

    Examples
    --------
    >>> import ec3learn
    >>> said = {"ann": ["a", "b", "b"], "bob": ["a", "a", "b"], "cy": ["a", "b", None]}
    >>> votes = ec3learn.Votes.from_labels(said)
    >>> ec3learn.solve(votes).labels()
    array(['a', 'b', 'b'], dtype=object)
    """
    chosen = method_of(method, "method")
    if class_prior is not None:
        chosen = with_class_prior(chosen, class_prior)
    return chosen.solve(votes, known, prior)


def with_class_prior(method: Method, class_prior: Mapping[Any, float]) -> Method:
    """A method that gives the classes these shares."""
    if "class_prior" not in method.get_params(deep=False):
        remedy = f"Leave {arg('class_prior')} out, or take {arg('method', 'auto')}."
        raise InputError(
            "class_prior",
            phrase=f"{method.title} does not support {arg('class_prior')}",
            remedy=remedy,
        )
    return clone(method).set_params(class_prior=class_prior)


def require_votes(votes: Votes, model_weights: Array) -> None:
    """Refuse votes among which no class vote counts."""
    counted = (
        votes if votes.sample_weight is None else only_rows(votes, np.flatnonzero(votes.counts > 0))
    )
    if not (votes_per_model(counted) * votes.weights * model_weights)[votes.models.is_voter].any():
        must = "must hold at least one class vote whose classifier and object have a weight above 0"
        raise InputError("votes", must, came="none")


def require_few_groups(n_groups: int) -> None:
    """Refuse a dense matrix over so many groups that it would fill the memory."""
    if n_groups > MOST_DIRECT_GROUPS:
        raise InputError(
            "solver",
            phrase=f"{arg('solver', 'direct')} needs a dense matrix over groups, at most "
            f"{MOST_DIRECT_GROUPS:,} of them, got {n_groups:,}",
            remedy=f"Take {arg('solver', 'cg')} or {arg('solver', 'auto')}.",
        )
