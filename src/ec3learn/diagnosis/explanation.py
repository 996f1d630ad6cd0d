"""Why an object got its answer: what each base model and each term gave to each class, and its votes in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from .._table import Table
from .._text import clipped, count, number_text, printable, shown
from .._typing import Array
from ..answer.extension import aligned_membership
from ..answer.rule import NOBODY, KnownLabels
from ..answer.solution import Solved, solution_of
from ..votes import BaseModel, Votes
from ..votes.labels import Label, plain
from ..votes.scale import class_shares

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

    def as_dict(self) -> dict[str, Any]:
        """The explanation as JSON can hold it."""
        return {
            "object": self.object,
            "label": self.label,
            "proba": {
                str(label): float(share)
                for label, share in zip(self.classes, self.proba, strict=True)
            },
            "unit": self.unit,
            "by_model": list(self._who_counted.rows()),
            "silent": len(self.silent),
            "by_term": list(self.by_term.rows()),
        }

    @cached_property
    def by_model(self) -> Table:
        """The vote of each base model, and what it gave to each class."""
        rest = [
            name for name in dict.fromkeys(name for name, _ in self.parts) if name not in self.said
        ]
        names = [*self.said, *rest]
        columns: dict[str, Sequence[Any]] = {
            "model": names,
            "kind": [self.kinds.get(name, "") for name in names],
            "said": [_said_text(self.said.get(name)) for name in names],
        }
        return Table(columns | self._given(names, position=0) if self.parts else columns)

    @cached_property
    def by_term(self) -> Table:
        """What each term gave to each class."""
        names = list(dict.fromkeys(term for _, term in self.parts))
        return Table({"term": names} | self._given(names, position=1))

    @cached_property
    def silent(self) -> list[str]:
        """The base models that said nothing about the object, and gave nothing to any class."""
        gave = {name for (name, _), part in self.parts.items() if np.abs(part).max(initial=0.0) > 0}
        return [name for name, said in self.said.items() if said is None and name not in gave]

    @property
    def _who_counted(self) -> Table:
        """The base models without the silent ones."""
        left_out = set(self.silent)
        rows = [row for row in self.by_model.rows() if row["model"] not in left_out]
        return Table({name: [row[name] for row in rows] for name in self.by_model.columns})

    @property
    def _who_did_not(self) -> str:
        return (
            f"{count(len(self.silent), 'other base model')} said nothing about it."
            if self.silent
            else ""
        )

    def _given(self, names: Sequence[str], position: int) -> dict[str, Sequence[Any]]:
        """How much each of some base models or terms counted, and what it gave to each class, as columns.

        What counts is its share of the answer, or how far its evidence sets the classes apart.
        """
        zero = np.zeros(len(self.classes))
        sums = [
            sum((part for key, part in self.parts.items() if key[position] == name), zero)
            for name in names
        ]
        given = np.array(sums).reshape(len(names), len(zero))
        weight = given.sum(axis=1) if self.unit == "probability" else np.ptp(given, axis=1)
        by_class = {
            f"to {plain(label)}": column.tolist()
            for label, column in zip(self.classes, given.T, strict=True)
        }
        return {"weight": weight.tolist(), **by_class}

    def __repr__(self) -> str:
        shares = ", ".join(
            f"{shown(plain(label))} {p:.3f}"
            for label, p in zip(self.classes, self.proba, strict=True)
        )
        head = printable(
            f"Object {clipped(repr(self.object))} is {clipped(repr(self.label))} ({shares})"
        )
        models = "\n".join(filter(None, [str(self._who_counted), self._who_did_not]))
        if not self.parts:
            return f"{head}\n\n{models}\n\n{NO_PARTS}"
        unit = "" if self.unit == "probability" else f"\n\nIn units of {self.unit}:"
        if self.unit == "change of probability":
            unit = "\n\nHow far each vote moves the probabilities: they would change by as much without it."
        return f"{head}{unit}\n\n{models}\n\n{self.by_term}"

    def _repr_html_(self) -> str:
        by_term = self.by_term._repr_html_() if self.parts else f"<p>{NO_PARTS}</p>"
        head, models = escape(repr(self).splitlines()[0]), self._who_counted._repr_html_()
        return f"<p>{head}</p>{models}<p>{self._who_did_not}</p>{by_term}"


def explain(outcome: Solved, i: Any) -> Explanation:
    """Explain one object: the vote of each base model, and how much it and each term gave to each class.

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
    own = votes[position]
    parts: dict[tuple[str, str], Array] = {}
    if outcome.rule is not None:
        known = (
            None
            if outcome.known is None
            else KnownLabels(outcome.known.codes[row : row + 1], outcome.known.pull)
        )
        owner = np.repeat(np.arange(len(outcome.models)), np.diff(outcome.group_offsets))
        given = aligned_membership(outcome, own, warn=False)
        for (m, term), part in outcome.rule.contributions(given, owner, known).items():
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
    """How many voters gave each answer: classes with the most votes first, answers on a scale in its order.

    Soft votes count by their shares.
    """
    counts: dict[Label, float] = {}
    place: dict[Label, int] = {}
    for m, answer in spoken.items():
        if models[m].is_voter:
            for label, share in answer.items() if isinstance(answer, dict) else [(answer, 1.0)]:
                if share > 0:
                    counts[label] = counts.get(label, 0.0) + share
        if models[m].kind == "grader":
            place |= {plain(label): number for number, label in enumerate(models[m].labels)}
    return sorted(counts.items(), key=lambda item: (place.get(item[0], -1), -item[1]))


def class_tally_of(spoken: Mapping[int, Any], votes: Votes) -> list[tuple[Label, float]]:
    """How many votes each class has, most first; an answer on a scale counts for the class that it falls into."""
    counts = dict(
        tally_of(
            {m: answer for m, answer in spoken.items() if votes.models[m].kind == "classifier"},
            votes.models,
        )
    )
    classes = [plain(label) for label in votes.classes]
    for m, answer in spoken.items():
        positions = votes.models[m].positions
        if positions is not None:
            given = answer if isinstance(answer, dict) else {answer: 1.0}
            shares = np.array([given.get(plain(label), 0.0) for label in votes.models[m].labels])
            for label, share in zip(
                classes, (shares @ class_shares(positions, len(classes))).tolist(), strict=True
            ):
                if share > 0:
                    counts[label] = counts.get(label, 0.0) + share
    return sorted(counts.items(), key=lambda item: -item[1])


def why_contested(
    tally: list[tuple[Label, float]], label: Label, decides: str, *, graded: bool = False
) -> str:
    """In a few words why an object is contested: from the votes for each class, its label, and what else decides.

    `graded` says that some of these votes are answers on a scale.
    """
    if not tally:
        if graded:
            return "no answer leans to a class"
        by = ["its clusters"] if "clusters" in decides or "groups" in decides else []
        by += ["its prior"] if "its prior" in decides else []
        return "nobody voted on it" + (
            f": {' and '.join(by)} decide{'s' * (by == ['its prior'])}" if by else ""
        )
    said, say, votes_say = ("lean to", "leans to", "lean to") if graded else ("said", "says", "say")
    first, most = tally[0]
    top = [name for name, votes in tally if votes > most - 1e-9]
    total = sum(votes for _, votes in tally)
    if label not in top:
        return f"the votes are overruled by {decides}: {number_text(most)} of {number_text(total)} {said} {first}"
    if len(top) > 1:
        *others, last = map(str, top)
        return f"the votes are tied between {', '.join(others)} and {last}: decided by {decides}"
    if len(tally) == 1:
        voices = (
            f"its only vote {say}" if total == 1 else f"all {number_text(total)} votes {votes_say}"
        )
        return f"{voices} {label}" + (
            "" if decides == "the more common class" else f", less sure by {decides}"
        )
    return f"the votes are split: {number_text(most)} of {number_text(total)} {said} {label}"


def tally_text(tally: list[tuple[Label, float]], most: int = 5) -> str:
    """The first answers of a tally, and how many votes each has, as text."""
    shown = [f"{label} ({number_text(count)})" for label, count in tally[:most]]
    return ", ".join(shown if len(tally) <= most else [*shown, f"{len(tally) - most} more"])


def _said_text(answer: Any) -> str:
    if isinstance(answer, dict):
        return ", ".join(f"{label} {share:.2f}" for label, share in answer.items())
    return "" if answer is None else str(answer)
