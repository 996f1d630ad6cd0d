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
from ..consensus import Consensus
from ..diagnosis import cross_validate, judge
from ..diagnosis.explanation import tally_text
from ..diagnosis.labels import given_labels
from ..diagnosis.metrics import object_weights
from ..diagnosis.score import LEAST_KNOWN, Score
from ..votes import Votes, n_alike
from ..votes.labels import plain
from .base import METHODS, Method, method_of

SHOWN = 10  # disputed objects
MINORITY = 0.25  # the share of methods that may differ on an object before they are divided


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
        """Return the methods, the best or else the most usual first.

        method; differs, the share of objects on which it differs from what most methods say (the
        first of them on a tie); confidence, its mean; correct, low and high, how often it is right,
        with a 95 % interval; log_loss, by which the better of two probabilities is told; and
        seconds.
        """
        usual = (self._codes == self._usual).astype(np.float64) @ self._weight
        correct = {
            name: (score.accuracy, *score.interval, score.consensus.log_loss)
            for name, score in self.scores.items()
        }
        rows = [
            (
                name,
                float(1 - usual[m] / self._total),
                float(self._weight @ answer.confidence) / self._total,
                *correct.get(name, (None, None, None, None)),
                self.seconds[name],
            )
            for m, (name, answer) in enumerate(self.answers.items())
        ]
        rows.sort(key=lambda row: (-(row[3] or 0.0), row[1]))
        heads = ("method", "differs", "confidence", "correct", "low", "high", "log_loss", "seconds")
        table = Table.of(heads, rows)
        return table if self.scores else table.select("method", "differs", "confidence", "seconds")

    @property
    def disagreement(self) -> float:
        """Return the share of objects on which not all methods say the same, of those whose label is not known."""
        return float(self._weight @ (self._codes != self._codes[0]).any(axis=0)) / self._total

    @property
    def divided(self) -> float:
        """Return the share of objects on which more than a quarter of the methods differ from the most usual answer."""
        against = (self._codes != self._usual).mean(axis=0)
        return float(self._weight @ (against > MINORITY)) / self._total

    @property
    def pairs(self) -> Table:
        """Return for each two methods the share of objects on which they differ."""
        differ = [
            [float(self._weight @ (a != b)) / self._total for a in self._codes] for b in self._codes
        ]
        return Table({"method": list(self.answers), **dict(zip(self.answers, differ, strict=True))})

    def disputed(self, n: int = SHOWN) -> Table:
        """Return at most n objects on which the methods disagree most, once for all objects with the same votes.

        Returns
        -------
        Table
            object; label, that of the first method; answers, how many methods give each; alike, how
            many objects have these votes; and who gives which answer.
        """
        require_integer("n", n, 0)
        first = self._first
        counts = np.stack([(self._codes == z).sum(axis=0) for z in range(len(first.classes))])
        against = len(self._codes) - counts.max(axis=0)
        against[self._weight == 0] = 0
        margin = np.mean([answer.margin for answer in self.answers.values()], axis=0)
        rows = np.arange(len(against)) if first.solution.index is None else first.solution.index
        order = np.lexsort((margin, -against))
        order = order[against[order] > 0]
        order = order[np.sort(np.unique(rows[order], return_index=True)[1])][:n]
        alike = n_alike(first.solution.require_votes("disputed"))
        given = [self._given(i) for i in order]
        return Table(
            {
                "object": [first.solution.name_of(int(i)) for i in order],
                "label": [plain(first.classes[code]) for code in self._codes[0][order]],
                "answers": [
                    tally_text([(label, len(names)) for label, names in said]) for said in given
                ],
                "alike": [round(float(alike[rows[i]])) for i in order],
                "who": [
                    "; ".join(f"{label}: {some(names, 20)}" for label, names in said)
                    for said in given
                ],
            }
        )

    def as_dict(self, n: int = SHOWN) -> dict[str, Any]:
        """Return the same for machines, with n disputed objects."""
        return {
            "objects": round(self._total),
            "disagreement": self.disagreement,
            "divided": self.divided,
            "methods": list(self.table.rows()),
            "scores": {name: score.as_dict() for name, score in self.scores.items()},
            "pairs": list(self.pairs.rows()),
            "disputed": list(self.disputed(n).rows()),
            "refused": {name: str(error) for name, error in self.refused.items()},
        }

    def __repr__(self) -> str:
        without = " without a known label" if given_labels(self._first.solution).any() else ""
        lines = [
            f"{count(len(self.answers), 'method')}, {count(round(self._total), 'object')}{without}"
        ]
        if len(self.answers) > 1:
            lines.append(f"Not all methods agree on {percent(self.disagreement)} of the objects")
            lines.append(
                f"More than a quarter of them differ from the most usual answer on {percent(self.divided)}"
            )
        lines += [f"{score.basis}, with 95 % intervals" for score in list(self.scores.values())[:1]]
        blocks = ["\n".join(lines), str(self.table)]
        disputed = self.disputed()
        if len(disputed):
            shown = {head: disputed[head] for head in ("object", "label", "answers")}
            blocks.append(
                f"Most disputed objects, with the label of {next(iter(self.answers))}:\n{Table(shown)}"
            )
        blocks += [f"Left out: {name}. {error}" for name, error in self.refused.items()]
        return "\n\n".join(blocks)

    @property
    def _first(self) -> Consensus:
        return next(iter(self.answers.values()))

    @cached_property
    def _codes(self) -> Array:
        """Return the class that each method gives each object, methods x objects."""
        return np.stack(
            [
                answer.solution.expand(answer.solution.row_classes)
                for answer in self.answers.values()
            ]
        )

    @cached_property
    def _usual(self) -> Array:
        """Return the class that most methods give each object, on a tie that of the first method."""
        counts = np.stack(
            [(self._codes == z).sum(axis=0) for z in range(len(self._first.classes))]
        ).astype(np.float64)
        counts[self._codes[0], np.arange(counts.shape[1])] += 0.5
        return np.argmax(counts, axis=0)

    @cached_property
    def _weight(self) -> Array:
        """Return how many objects each object counts for; those with a known label for none."""
        known = np.any([given_labels(answer.solution) for answer in self.answers.values()], axis=0)
        weight = object_weights(self._first.solution)
        return weight if known.all() else np.where(known, 0.0, weight)

    @cached_property
    def _total(self) -> float:
        return max(float(self._weight.sum()), 1e-300)

    def _given(self, i: int) -> list[tuple[Any, list[str]]]:
        """Return the answers for an object and the methods that give them, the most usual first."""
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
    """Return the methods by name; by default all."""
    if methods is None:
        return {name: make() for name, make in METHODS.items()}
    if isinstance(methods, Mapping):
        return {str(name): method_of(method, "methods") for name, method in methods.items()}
    if isinstance(methods, (str, Method)) or not hasattr(methods, "__iter__"):
        raise InputTypeError("methods", "must be a list of methods or of their names", got=methods)
    asked: dict[str, Method] = {}
    for given in methods:
        method = method_of(given, "methods")
        name = given if isinstance(given, str) else " ".join(repr(method).split())
        if name in asked:
            raise InputError(
                "methods", "must not repeat", came=listed([str(each) for each in methods])
            )
        asked[name] = method
    if not asked:
        raise InputError("methods", "must name at least one method", came="none")
    return asked


def _score(answer: Consensus, method: Method, known: Any, truth: Any, fast: bool) -> Score | None:
    """Return how often a method is right: by true labels, or else by known labels that were hidden from it."""
    if truth is not None:
        return judge(answer, truth)
    if known is None or fast:
        return None
    if method.admits_known:
        return cross_validate(answer, method)
    by_all = judge(answer, known)
    return by_all if by_all is not None and by_all.n_labels >= LEAST_KNOWN else None
