"""Why an object got its answer: what base models and terms gave to each class, and its votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._table import Table
from .._text import clipped, count, number_text, printable, shown
from .._typing import Array
from ..answer.extension import aligned_membership
from ..answer.rule import NOBODY, KnownLabels
from ..answer.solution import Solved, solution_of
from ..votes import BaseModel
from ..votes.labels import Label, plain

NO_PARTS = "The answer of this method is not a sum of parts."


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why one object got its answer: parts that add up to its class probabilities.

    Attributes
    ----------
    label, proba
        The answer and the class probabilities.
    by_model : Table
        The vote of each base model, and how much it gave to each class.
    by_term : Table
        How much each term gave to each class: the distributions of its groups, the objects it
        shares groups with, its own votes, its known label.
    parts : dict of (base model, term) -> array
        The parts themselves, one number per class; they add up to `proba`. Where `unit` is "log
        evidence" (Dawid-Skene) they add up to the logarithms of `proba`, less their mean: +1 for
        one class over another means 2.7 times as likely. Of a panel, the part of a base model is
        how far its vote moves the answer.
    unit : "probability", "log evidence" or "change of probability"
        What the parts are measured in.
    """

    object: Label
    label: Label
    classes: Array
    proba: Array
    said: Mapping[str, Any]
    kinds: Mapping[str, str]
    parts: Mapping[tuple[str, str], Array]
    unit: str = "probability"

    @cached_property
    def by_model(self) -> Table:
        """The vote of each base model that counted, and what it gave to each class."""
        gave, zero = self._gave(0), np.zeros(len(self.classes))
        names = [
            name
            for name, answer in self.said.items()
            if answer is not None or gave.get(name, zero).any()
        ]
        names += [name for name in gave if name not in self.said]
        columns: dict[str, Sequence[Any]] = {
            "model": names,
            "kind": [self.kinds.get(name, "") for name in names],
            "said": [_said_text(self.said.get(name)) for name in names],
        }
        return Table(columns | self._columns([gave.get(name, zero) for name in names]))

    @cached_property
    def by_term(self) -> Table:
        """What each term gave to each class."""
        gave = self._gave(1)
        return Table({"term": list(gave)} | self._columns(list(gave.values())))

    @property
    def silent(self) -> int:
        """How many base models said nothing about the object, and gave nothing to any class."""
        return len(set(self.said) - set(self.by_model["model"]))

    def as_dict(self) -> dict[str, Any]:
        """The explanation as JSON can hold it."""
        proba = zip(map(str, self.classes), self.proba.tolist(), strict=True)
        return {
            "object": self.object,
            "label": self.label,
            "proba": dict(proba),
            "unit": self.unit,
            "by_model": list(self.by_model.rows()),
            "silent": self.silent,
            "by_term": list(self.by_term.rows()),
        }

    def _gave(self, place: int) -> dict[str, Array]:
        """The sum of the parts of each base model (place 0) or term (place 1)."""
        sums: dict[str, Array] = {}
        for names, part in self.parts.items():
            sums[names[place]] = sums.get(names[place], 0.0) + part
        return sums

    def _columns(self, parts: list[Array]) -> dict[str, Sequence[Any]]:
        """How much each of these parts counted, and what it gave to each class.

        What counts is its share of the answer, or how far its evidence sets the classes apart.
        """
        if not self.parts:
            return {}
        table = np.reshape(parts, (len(parts), len(self.classes)))
        weight = table.sum(axis=1) if self.unit == "probability" else np.ptp(table, axis=1)
        columns = {
            f"to {plain(label)}": table[:, z].tolist() for z, label in enumerate(self.classes)
        }
        return {"weight": weight.tolist(), **columns}

    def __repr__(self) -> str:
        classes = zip(self.classes, self.proba, strict=True)
        shares = ", ".join(f"{shown(plain(label))} {p:.3f}" for label, p in classes)
        name, label = clipped(repr(self.object)), clipped(repr(self.label))
        unit = {
            "probability": "",
            "log evidence": "In units of log evidence:",
            "change of probability": "How far each vote moves the probabilities: "
            "they would change by as much without it.",
        }[self.unit]
        others = f"{count(self.silent, 'other base model')} said nothing about it."
        models = f"{self.by_model}\n{others}" if self.silent else str(self.by_model)
        head = printable(f"Object {name} is {label} ({shares})")
        blocks = [head, unit, models, str(self.by_term)] if self.parts else [head, models, NO_PARTS]
        return "\n\n".join(filter(None, blocks))


def explain(outcome: Solved, i: Any) -> Explanation:
    """Explain one object: what each base model said, and it and each term gave to each class.

    The object is given by its number, or by its name where the votes came from a long table.

    Returns
    -------
    Explanation
        Its parts add up to the object's class probabilities (of Dawid-Skene: to their logarithms,
        less the mean). C3E and UPE have no such parts: there it shows the votes only.

    Examples
    --------
    >>> from ec3learn import SoftVote, Votes
    >>> SoftVote().solve(Votes.from_labels({"svm": ["a", "b"], "knn": ["a", "a"]})).explain(1)
    Object 1 is 'a' (a 0.500, b 0.500)
    <BLANKLINE>
    model  kind        said  weight   to a   to b
    svm    classifier  b      0.500  0.000  0.500
    knn    classifier  a      0.500  0.500  0.000
    <BLANKLINE>
    term   weight   to a   to b
    votes   1.000  0.500  0.500
    """
    outcome = solution_of(outcome)
    votes = outcome.require_votes("explain")
    position = outcome.position_of(i)
    row = position if votes.index is None else int(votes.index[position])
    parts: dict[tuple[str, str], Array] = {}
    if outcome.rule is not None:
        known = outcome.known
        if known is not None:
            known = KnownLabels(known.codes[row : row + 1], known.pull)
        owner = np.repeat(np.arange(len(outcome.models)), np.diff(outcome.group_offsets))
        groups = aligned_membership(outcome, votes[position], warn=False)
        for (m, term), part in outcome.rule.contributions(groups, owner, known).items():
            parts[term if m == NOBODY else outcome.models[m].name, term] = part
    return Explanation(
        object=outcome.name_of(position),
        label=plain(outcome.classes[outcome.row_classes[row]]),
        classes=outcome.classes,
        proba=outcome.row_proba[row],
        said=dict(zip([model.name for model in votes.models], votes.said(position), strict=True)),
        kinds={model.name: outcome.called(model.kind) for model in votes.models},
        parts=parts,
        unit="probability" if outcome.rule is None else outcome.rule.unit,
    )


# ---- votes in words ------------------------------------------------------------------------------


def tally_of(spoken: Mapping[int, Any], models: Sequence[BaseModel]) -> list[tuple[Label, float]]:
    """How many voters gave each answer: most votes first, answers on a scale in its order.

    Soft votes count by their shares.
    """
    counts: dict[Label, float] = {}
    place: dict[Label, int] = {}
    for m, answer in spoken.items():
        if models[m].is_voter:
            shares = answer if isinstance(answer, dict) else {answer: 1.0}
            for label, share in shares.items():
                counts[label] = counts.get(label, 0.0) + share
        if models[m].kind == "grader":
            place |= {plain(label): number for number, label in enumerate(models[m].labels)}
    cast = [(label, n) for label, n in counts.items() if n > 0]
    return sorted(cast, key=lambda item: (place.get(item[0], -1), -item[1]))


def why_contested(tally: Array, classes: Sequence[Label], answer: int, graded: bool) -> str:
    """In a few words why an object is contested, from the votes for each class and its answer.

    `graded` says that voters answered on a scale.
    """
    said, says, say = ("lean to", "leans to", "lean to") if graded else ("said", "says", "say")
    most, total = float(tally.max()), float(tally.sum())
    top = np.flatnonzero(tally > most - 1e-9).tolist()
    if total == 0:
        return "no answer leans to a class" if graded else "nobody voted on it"
    first, shares = classes[top[0]], f"{number_text(most)} of {number_text(total)}"
    if answer not in top:
        return f"the votes are overruled: {shares} {said} {first}"
    if len(top) > 1:
        *others, last = (str(classes[z]) for z in top)
        return f"the votes are tied between {', '.join(others)} and {last}"
    if most < total:
        return f"the votes are split: {shares} {said} {first}"
    return (
        f"its only vote {says} {first}"
        if total == 1
        else f"all {number_text(total)} votes {say} {first}"
    )


def tally_text(tally: list[tuple[Label, float]], most: int = 5) -> str:
    """The first answers of a tally, and how many votes each has, as text."""
    shown = [f"{label} ({number_text(count)})" for label, count in tally[:most]]
    return ", ".join(shown if len(tally) <= most else [*shown, f"{len(tally) - most} more"])


def _said_text(answer: Any) -> str:
    if isinstance(answer, dict):
        return ", ".join(f"{label} {share:.2f}" for label, share in answer.items())
    return "" if answer is None else str(answer)
