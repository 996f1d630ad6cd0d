"""A consensus in a few lines: how much there was, who agrees, how much is contested, and whether it beats the majority vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._text import Table, count, listed
from ..algebra.linear import normalised
from ..algebra.membership import membership, scatter_to_votes
from ..answer.notes import CONSTANT, DISTINCT_ROWS, Note
from ..consensus import Consensus
from ..methods import MajorityVote, Method
from ..votes import Votes
from ..votes.labels import plain
from .bias import bias_of

Array = npt.NDArray[Any]

CONTESTED = 0.1  # the margin below which an object is contested
FOLDS, LEAST_KNOWN = 5, 20
MANY_VOTES = 20  # that are all the same
SHOWN = 20  # rows of a table on the terminal


@dataclass(frozen=True)
class Summary:
    """What a person wants to know first."""

    method: str
    n_objects: int
    n_distinct: int
    classes: Table
    voters: Table
    contested: float
    held_out: dict[str, float] | None
    notes: tuple[Note, ...]

    @property
    def warning(self) -> str | None:
        """Return a plain warning if the majority vote is as good on labels that were hidden from the method."""
        if self.held_out is None or self.held_out["consensus"] > self.held_out["majority"]:
            return None
        ours, theirs = (f"{100 * self.held_out[who]:.1f} %" for who in ("consensus", "majority"))
        return (
            f"The result is no better than the majority vote: of {count(int(self.held_out['labels']), 'known label')}, hidden in "
            f"turn, {ours} came out right, by majority {theirs}. Try another method, or take the majority."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the same for machines."""
        return {
            "method": self.method,
            "objects": self.n_objects,
            "distinct": self.n_distinct,
            "classes": list(self.classes.rows()),
            "voters": list(self.voters.rows()),
            "contested": self.contested,
            "held_out": self.held_out,
            "warning": self.warning,
            "notes": [str(note) for note in self.notes],
        }

    def __str__(self) -> str:
        distinct = "" if self.n_distinct == self.n_objects else f" ({self.n_distinct:,} distinct)"
        names = listed(self.classes["class"], 5)
        lines = [
            f"{self.method}: {count(self.n_objects, 'object')}{distinct}, {count(len(self.classes), 'class', 'classes')} {names}",
            f"contested: {100 * self.contested:.1f} % of the objects (margin below {CONTESTED})",
        ]
        if self.held_out is not None:
            right = ", ".join(f"{who} {100 * self.held_out[who]:.1f} %" for who in ("consensus", "majority"))
            lines.append(f"right on {count(int(self.held_out['labels']), 'known label')}, hidden in turn: {right}")
        tables = (_first(self.classes, "classes"), _first(self.voters, "base models"))
        return "\n\n".join(["\n".join(lines), *tables, *(f"Note: {note}" for note in self.notes)])


def summary_of(consensus: Consensus, method: Method | None = None, *, fast: bool = False) -> Summary:
    """Return the summary of a consensus.

    Parameters
    ----------
    consensus : Consensus
        One that holds its votes.
    method : Method
        What made it; it is asked again with some of the known labels hidden, if there are enough of them.
    fast : bool
        Leave out what costs further solutions: the scores on hidden labels, and whether voters are biased.

    Returns
    -------
    Summary

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> consensus = EC3().solve(Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}))
    >>> summary_of(consensus).n_objects
    3
    """
    votes = consensus.require_votes("summary")
    counts = votes.counts
    notes = [note for note in consensus.notes if note.kind != DISTINCT_ROWS]  # they are counted above
    notes += _constant(votes)
    bias = None if fast else bias_of(consensus)
    notes += [] if bias is None else [bias]
    shares = normalised(np.bincount(consensus.row_classes, weights=counts, minlength=len(consensus.classes)))
    return Summary(
        str(consensus.settings["method"]),
        votes.n_objects if votes.sample_weight is None else round(float(votes.sample_weight.sum())),
        votes.n_rows,
        Table({"class": [plain(label) for label in consensus.classes], "share": shares.tolist()}),
        consensus.voters(),
        float(counts @ (consensus.row_margin < CONTESTED) / counts.sum()),
        None if fast or method is None or consensus.known is None else _held_out(consensus, method),
        tuple(dict.fromkeys(notes)),
    )


def _constant(votes: Votes) -> list[Note]:
    """Say which classifiers always say the same."""
    said = votes.hardened()
    seen = scatter_to_votes(said, membership(said), votes.counts[:, None])[:, 0]
    notes = []
    for m, model in enumerate(votes.models):
        own = seen[votes.offsets[m] : votes.offsets[m + 1]]
        if model.kind == "classifier" and votes.n_classes > 1 and own.sum() >= MANY_VOTES and (own > 0).sum() == 1:
            label = plain(model.labels[int(own.argmax())])
            notes.append(
                Note(CONSTANT, f"{model.name} always says {label!r}, which tells nothing about an object. Leave it out.")
            )
    return notes


def _first(table: Table, what: str) -> str:
    """Return the first rows of a table as text, and how many more there are."""
    rest = len(table) - SHOWN
    shown = Table({name: list(values)[:SHOWN] for name, values in table.columns.items()})
    return str(shown) if rest <= 0 else f"{shown}\n... and {rest:,} more {what}"


def _held_out(consensus: Consensus, method: Method) -> dict[str, float] | None:
    """Hide a part of the known labels at a time, solve, and count which of them come out right; None if there are too few."""
    assert consensus.known is not None and consensus.votes is not None
    votes, codes = consensus.votes, consensus.known.codes
    codes = codes if votes.index is None else codes[votes.index]
    weight = np.ones(len(codes)) if votes.sample_weight is None else votes.sample_weight
    objects = np.random.default_rng(0).permutation(np.flatnonzero(codes >= 0))
    folds = [objects[fold::FOLDS] for fold in range(min(FOLDS, len(objects)))]
    if weight[objects].sum() < LEAST_KNOWN or len(folds) < 2:
        return None
    right = np.zeros(2)
    majority = MajorityVote().solve(votes).labels()
    for hidden in folds:
        given: Array = np.full(len(codes), None)
        given[objects] = consensus.classes[codes[objects]]
        given[hidden] = None
        labels = method.solve(votes, given).labels()
        truth = consensus.classes[codes[hidden]]
        right += [float(weight[hidden] @ (answer[hidden] == truth)) for answer in (labels, majority)]
    total = float(weight[objects].sum())
    return {"labels": total, "consensus": float(right[0]) / total, "majority": float(right[1]) / total}
