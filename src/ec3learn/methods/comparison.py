"""All methods side by side: how often they disagree, on which objects, and how often each is right where labels are known."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from .._checks import InputError, InputTypeError, require_integer
from .._table import Table
from .._text import count, listed, percent, some
from .._typing import Array
from ..answer.solution import Solution
from ..consensus import Consensus
from ..diagnosis import cross_validate, judge
from ..diagnosis.explanation import tally_text
from ..diagnosis.labels import given_labels
from ..diagnosis.metrics import LEAST_LABELS, object_weights
from ..diagnosis.score import Score
from ..votes import Votes, n_alike
from ..votes.labels import plain
from .base import METHODS, Method, method_of

SHOWN = 10  # disputed objects


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The answers of several methods to the same votes.

    Attributes
    ----------
    answers : dict of name -> Consensus
        What each method found.
    seconds : dict of name -> float
        How long each took.
    scores : dict of name -> Score
        How often each is right: by true labels where these were given, else cross-validated on
        known labels.
    refused : dict of name -> InputError
        The methods that do not support these votes, and why.
    """

    answers: Mapping[str, Consensus]
    seconds: Mapping[str, float]
    scores: Mapping[str, Score]
    refused: Mapping[str, InputError]

    @cached_property
    def table(self) -> Table:
        """The methods, the best or else the most usual first.

        method; differs, the share of objects on which it differs from what most methods say (the
        first of them on a tie); confidence, its mean; correct, low and high, how often it is right,
        with a 95 % interval; log_loss, by which the better of two probabilities is told; and
        seconds.
        """
        differs = (self._codes != self._usual) @ self._weight / self._total
        rows = []
        for (name, answer), share in zip(self.answers.items(), differs.tolist(), strict=True):
            score = self.scores.get(name)
            correct = score and (score.accuracy, *score.interval, score.consensus.log_loss)
            sure = float(self._weight @ answer.confidence) / self._total
            rows.append((name, share, sure, *(correct or (None,) * 4), self.seconds[name]))
        rows.sort(key=lambda row: (-(row[3] or 0.0), row[1]))
        heads = ("method", "differs", "confidence", "correct", "low", "high", "log_loss", "seconds")
        table = Table.of(heads, rows)
        return table if self.scores else table.select("method", "differs", "confidence", "seconds")

    @property
    def disagreement(self) -> float:
        """The share of objects on which not all methods say the same, of those whose label is not known."""
        return float(self._weight @ (self._codes != self._codes[0]).any(axis=0)) / self._total

    def disputed(self, n: int = SHOWN) -> Table:
        """At most n objects on which the methods disagree most, once for all objects with the same votes.

        Returns
        -------
        Table
            object; label, that of the first method; answers, how many methods give each; alike, how
            many objects have these votes; and who gives which answer.
        """
        require_integer("n", n, 0)
        first = self._first
        against = np.where(self._weight > 0, len(self._codes) - self._tally.max(axis=0), 0)
        margin = np.mean([answer.margin for answer in self.answers.values()], axis=0)
        order = np.lexsort((margin, -against))
        order = order[against[order] > 0]
        rows = first.expand(np.arange(len(first.row_proba)))
        order = order[np.sort(np.unique(rows[order], return_index=True)[1])][:n]
        alike = n_alike(first.require_votes("disputed"))
        heads = ("object", "label", "answers", "alike", "who")
        table = []
        for i in order.tolist():
            answers = self._answers_for(i)
            tally = tally_text([(label, len(names)) for label, names in answers])
            who = "; ".join(f"{label}: {some(names, 20)}" for label, names in answers)
            label = plain(first.classes[self._codes[0, i]])
            table.append((first.name_of(i), label, tally, round(float(alike[rows[i]])), who))
        return Table.of(heads, table)

    def as_dict(self, n: int = SHOWN) -> dict[str, Any]:
        """The same for machines, with n disputed objects."""
        return {
            "objects": round(self._total),
            "disagreement": self.disagreement,
            "methods": list(self.table.rows()),
            "scores": {name: score.as_dict() for name, score in self.scores.items()},
            "disputed": list(self.disputed(n).rows()),
            "refused": {name: str(error) for name, error in self.refused.items()},
        }

    def __repr__(self) -> str:
        without = " without a known label" if given_labels(self._first).any() else ""
        n_objects = count(round(self._total), "object")
        lines = [f"{count(len(self.answers), 'method')}, {n_objects}{without}"]
        if len(self.answers) > 1:
            lines.append(f"Not all methods agree on {percent(self.disagreement)} of the objects")
        lines += [f"{score.basis}, with 95 % intervals" for score in list(self.scores.values())[:1]]
        blocks = ["\n".join(lines), str(self.table)]
        disputed = self.disputed()
        if len(disputed):
            head = f"Most disputed objects, with the label of {next(iter(self.answers))}:"
            blocks.append(f"{head}\n{disputed.select('object', 'label', 'answers')}")
        blocks += [f"Left out: {name}. {error}" for name, error in self.refused.items()]
        return "\n\n".join(blocks)

    @property
    def _first(self) -> Solution:
        return next(iter(self.answers.values())).solution

    @cached_property
    def _codes(self) -> Array:
        """The class that each method gives each object, methods x objects."""
        solutions = [answer.solution for answer in self.answers.values()]
        return np.stack([solution.expand(solution.row_classes) for solution in solutions])

    @cached_property
    def _tally(self) -> Array:
        """How many methods give each class, classes x objects."""
        classes = range(len(self._first.classes))
        return np.stack([(self._codes == z).sum(axis=0) for z in classes])

    @cached_property
    def _usual(self) -> Array:
        """The class that most methods give each object, on a tie that of the first method."""
        tally = self._tally.astype(np.float64)
        tally[self._codes[0], np.arange(tally.shape[1])] += 0.5
        return np.argmax(tally, axis=0)

    @cached_property
    def _weight(self) -> Array:
        """How many objects each object counts for; those with a known label for none."""
        known = np.any([given_labels(answer.solution) for answer in self.answers.values()], axis=0)
        weight = object_weights(self._first)
        return weight if known.all() else np.where(known, 0.0, weight)

    @cached_property
    def _total(self) -> float:
        return max(float(self._weight.sum()), 1e-300)

    def _answers_for(self, i: int) -> list[tuple[Any, list[str]]]:
        """The answers for an object and the methods that give them, the most usual first."""
        by_class: dict[int, list[str]] = {}
        for name, code in zip(self.answers, self._codes[:, i].tolist(), strict=True):
            by_class.setdefault(code, []).append(name)
        ranked = sorted(by_class.items(), key=lambda item: -len(item[1]))
        return [(plain(self._first.classes[code]), names) for code, names in ranked]


def compare(
    votes: Votes,
    known: Any = None,
    methods: Sequence[str | Method] | Mapping[str, str | Method] | None = None,
    *,
    truth: Any = None,
    fast: bool = False,
) -> Comparison:
    """Let several methods answer for the same votes, and compare their answers.

    Where methods disagree, the answer depends on what they assume: review those objects, or get
    some labels.

    Parameters
    ----------
    votes : Votes
        What classifiers, annotators or judges said, and clusterings if there are any.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels of a few objects. From 20 of them on, each method is cross-validated: it solves five
        times more, each time with a fifth of these labels hidden. Methods that do not support known
        labels are judged by all of them.
    methods : sequence of methods or their names, or dict of name -> method
        By default all in `METHODS`.
    truth : as `known`
        True labels, which no method sees, to judge all of them by.
    fast : bool
        Leave out cross-validation.

    Examples
    --------
    >>> from ec3learn import Votes, compare
    >>> votes = Votes.from_labels({"ann": list("aabbab"), "bob": list("aabbba"), "cy": list("abbaab")})
    >>> compared = compare(votes, methods=["majority", "dawid-skene"])
    >>> compared.disagreement, compared.table["method"]
    (0.0, ['majority', 'dawid-skene'])
    """
    if not isinstance(votes, Votes):
        raise InputTypeError(
            "votes",
            "must be a Votes",
            came=type(votes).__name__,
            remedy="Make one with Votes.from_labels.",
        )
    answers: dict[str, Consensus] = {}
    seconds: dict[str, float] = {}
    scores: dict[str, Score] = {}
    refused: dict[str, InputError] = {}
    for name, method in _asked(methods).items():
        begun = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of methods one by one, beside their answers
                answer = method.solve(votes, known if method.admits_known else None)
        except InputError as error:
            if error.argument in ("known", "truth"):
                raise
            refused[name] = error
            continue
        answers[name], seconds[name] = answer, perf_counter() - begun
        score = _score(answer, method, known, truth, fast)
        scores |= {} if score is None else {name: score}
    if not answers:
        raise next(iter(refused.values()))
    return Comparison(answers, seconds, scores, refused)


def _asked(methods: Any) -> dict[str, Method]:
    """The methods by name; by default all."""
    if methods is None:
        return {name: make() for name, make in METHODS.items()}
    if isinstance(methods, Mapping):
        return {str(name): method_of(method, "methods") for name, method in methods.items()}
    if isinstance(methods, str) or not isinstance(methods, Sequence):
        raise InputTypeError("methods", "must be a list of methods or of their names", got=methods)
    names = [each if isinstance(each, str) else " ".join(repr(each).split()) for each in methods]
    if not names:
        raise InputError("methods", "must name at least one method", came="none")
    if len(set(names)) < len(names):
        raise InputError("methods", "must not repeat", came=listed(names))
    return {name: method_of(each, "methods") for name, each in zip(names, methods, strict=True)}


def _score(answer: Consensus, method: Method, known: Any, truth: Any, fast: bool) -> Score | None:
    """How often a method is right: by true labels, or else by known labels that were hidden from it."""
    if truth is not None:
        return judge(answer, truth)
    if known is None or fast:
        return None
    if method.admits_known:
        return cross_validate(answer, method)
    by_all = judge(answer, known)
    return by_all if by_all is not None and by_all.n_labels >= LEAST_LABELS else None
