"""Why an object got its answer: what base models and terms gave to each class, and its votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._table import Table
from .._text import clipped, count, printable, shown
from .._typing import Array
from ..answer.extension import aligned_membership
from ..answer.rule import REST, KnownLabels
from ..answer.solution import Solved, solution_of
from ..votes.labels import Label, plain

NO_PARTS = "The answer of this method is not a sum of parts."
UNITS = {
    "probability": "",
    "log evidence": "In units of log evidence:",
    "change of probability": "How far each vote moved the probabilities: take its numbers away to "
    f"have them without it.\n{REST.capitalize()}: the shares of the classes, and what votes say "
    "only together.",
}


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
    parts: Mapping[tuple[str, str], Array]
    unit: str
    by_model: Table
    by_term: Table
    silent: int  # how many base models said nothing about the object, and gave nothing to any class

    def as_dict(self) -> dict[str, Any]:
        """The explanation as JSON can hold it."""
        return {
            "object": self.object,
            "label": self.label,
            "proba": dict(zip(map(str, self.classes), self.proba.tolist(), strict=True)),
            "unit": self.unit,
            "by_model": list(self.by_model.rows()),
            "silent": self.silent,
            "by_term": list(self.by_term.rows()),
        }

    def __repr__(self) -> str:
        classes = zip(self.classes, self.proba, strict=True)
        shares = ", ".join(f"{shown(plain(label))} {p:.3f}" for label, p in classes)
        name, label = clipped(repr(self.object)), clipped(repr(self.label))
        models = str(self.by_model)
        if self.silent:
            models += f"\n{count(self.silent, 'other base model')} said nothing about it."
        head = printable(f"Object {name} is {label} ({shares})")
        parts = [UNITS[self.unit], models, str(self.by_term)] if self.parts else [models, NO_PARTS]
        return "\n\n".join(filter(None, [head, *parts]))


def explain(consensus: Solved, i: Any) -> Explanation:
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
    solution = solution_of(consensus)
    votes = solution.require_votes("explain")
    position = solution.position_of(i)
    row = position if votes.index is None else int(votes.index[position])
    parts: dict[tuple[str, str], Array] = {}
    if solution.rule is not None:
        known = solution.known
        if known is not None:
            known = KnownLabels(known.codes[row : row + 1], known.pull)
        owner = np.repeat(np.arange(len(solution.models)), np.diff(solution.group_offsets))
        groups = aligned_membership(solution, votes[position], warn=False)
        for (m, term), part in solution.rule.contributions(groups, owner, known).items():
            parts[term if m is None else solution.models[m].name, term] = part
    unit = "probability" if solution.rule is None else solution.rule.unit
    said = dict(zip([model.name for model in votes.models], votes.said(position), strict=True))
    kinds = {model.name: solution.called(model.kind) for model in votes.models}
    by_model, by_term = _sums(parts, 0), _sums(parts, 1)
    nothing = np.zeros(len(solution.classes))
    names = [
        name
        for name in said | by_model
        if said.get(name) is not None or by_model.get(name, nothing).any()
    ]
    gave = [by_model.get(name, nothing) for name in names]
    models: dict[str, Sequence[Any]] = {
        "model": names,
        "kind": [kinds.get(name, "") for name in names],
        "said": [_said_text(said.get(name)) for name in names],
    }
    return Explanation(
        object=solution.name_of(position),
        label=plain(solution.classes[solution.row_classes[row]]),
        classes=solution.classes,
        proba=solution.row_proba[row],
        parts=parts,
        unit=unit,
        by_model=Table(models | (_columns(gave, solution.classes, unit) if parts else {})),
        by_term=Table(
            {"term": list(by_term)} | _columns(list(by_term.values()), solution.classes, unit)
        ),
        silent=len(said) - sum(name in said for name in names),
    )


def _sums(parts: Mapping[tuple[str, str], Array], place: int) -> dict[str, Array]:
    """The sum of the parts of each base model (place 0) or term (place 1)."""
    sums: dict[str, Array] = {}
    for names, part in parts.items():
        sums[names[place]] = sums.get(names[place], 0.0) + part
    return sums


def _columns(parts: list[Array], classes: Array, unit: str) -> dict[str, Sequence[Any]]:
    """How much each of these parts counted, and what it gave to each class.

    What counts is its share of the answer, or how far its evidence sets the classes apart.
    """
    table = np.reshape(parts, (len(parts), len(classes)))
    weight = table.sum(axis=1) if unit == "probability" else np.ptp(table, axis=1)
    gave = zip(classes, table.T.tolist(), strict=True)
    return {"weight": weight.tolist(), **{f"to {plain(label)}": part for label, part in gave}}


def _said_text(answer: Any) -> str:
    if isinstance(answer, dict):
        return ", ".join(f"{label} {share:.2f}" for label, share in answer.items())
    return "" if answer is None else str(answer)
