"""Solution: what a method found for a table of votes, and what follows from it directly.

Objects with the same votes and clusters have the same answer, so everything is kept once per
distinct row; `expand` repeats it per object. `Consensus`, which users hold, has a solution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.special import softmax

from .._checks import InputError, InputTypeError
from .._table import Table
from .._text import count, listed
from .._typing import Array
from ..algebra.membership import CHUNK, chunks, membership, normalised
from ..votes import BaseModel, Models, Trust, Votes, n_alike, voter_noun
from ..votes.labels import Label, kind_of, plain
from ..votes.layout import expand_rows, frozen
from .notes import Note
from .rule import KnownLabels, Rule

if TYPE_CHECKING:
    from ..consensus import Consensus

TIE = 1e-9  # probabilities that differ by less are equal
NOT_REACHED = "no vote, not even through others in the same groups, and got the mean vote of all"


@dataclass(frozen=True, eq=False, kw_only=True)
class Details:
    """What a method finds besides class probabilities, and how it got there.

    Without a `group_table`, of numbers of groups and their distributions, these are the means of
    their members.
    """

    group_table: tuple[Array, Array] | None = None
    objective: float | None = None
    n_iter: int = 0
    converged: bool = True
    history: Sequence[float] = ()
    worse_than_chance: tuple[str, ...] = ()
    lacking: str = NOT_REACHED  # what unanswered objects lack, and what they got instead


@dataclass(frozen=True, eq=False)
class Answer(Details):
    """What a method returns: class probabilities by row, rows no vote reaches, how it went."""

    proba: Array
    unanswered: Array
    rule: Rule | None = None  # how new objects are answered
    _: KW_ONLY
    weights: Array | None = None  # None: those of the votes
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Details):
    """The answer of a method for one table of votes."""

    classes: Array
    models: tuple[BaseModel, ...]
    weights: Array
    settings: Mapping[str, Any]
    made_by: str = ""  # the class of the method
    rule: Rule | None = None  # how new objects are answered, where the method can
    votes: Votes | None = None
    solved_proba: Array | None = None  # by distinct row; None: the objects were not kept
    solved_counts: Array | None = None  # of distinct rows, where there are no votes to ask
    index: Array | None = None  # the distinct row of each object; None: its own
    object_ids: Array | None = None
    known: KnownLabels | None = None
    label_chances: Array | None = None  # of each object to be labelled: `diagnosis.labels`
    unanswered_rows: Array | None = None
    notes: tuple[Note, ...] = ()  # those of the method
    trust: Trust | None = None  # how far class probabilities from elsewhere are trusted
    stored_mass: Array | None = None  # breaks ties, where it is the mass of another table
    stored_voters: Table | None = None  # of `diagnosis`, where there are no votes to make it from
    stored_doubts: Table | None = None  # likewise
    soft_columns: Mapping[str, Mapping[str, str]] | None = None  # of a table: by model and class
    stored_total: float | None = None  # how many objects its shares are of, where that is known

    def __post_init__(self) -> None:
        """Refuse answers that are no distributions: a solution that exists is valid."""
        if self.solved_proba is None:
            return
        least = self.solved_proba.min(initial=0.0)
        error = np.abs(self.solved_proba.sum(axis=1) - 1).max(initial=0.0)
        if not (least >= -1e-9 and error <= 1e-6):  # NaN is neither
            raise no_distribution()
        if least < 0 or error > 1e-9:
            proba = normalised(np.maximum(self.solved_proba, 0.0))
            object.__setattr__(self, "solved_proba", frozen(proba))

    @property
    def solution(self) -> Solution:
        """The solution itself, as a `Consensus` has it."""
        return self

    # ---- by object -------------------------------------------------------------------------------

    def expand(self, per_row: Array) -> Array:
        """For each object what there is for each distinct row."""
        return per_row if self.index is None else expand_rows(per_row, self.index)

    @cached_property
    def proba(self) -> Array:
        """The class probabilities, objects x classes."""
        return frozen(self.expand(self.row_proba))

    @property
    def n_objects(self) -> int:
        """How many objects there are; 0 where they were not kept."""
        rows = self.solved_proba if self.index is None else self.index
        return 0 if rows is None else len(rows)

    def name_of(self, i: int) -> Label:
        """What an object is called: its name where it has one, else its number."""
        return i if self.object_ids is None else plain(self.object_ids[i])

    def position_of(self, i: Any) -> int:
        """The number of an object by its name, or by its number where objects have no names."""
        if self.object_ids is None:
            if kind_of(i) != "int" or not -self.n_objects <= i < self.n_objects:
                must = f"must be the number of an object, from 0 to {self.n_objects - 1}"
                raise InputError("i", must, got=i)
            return int(i) % self.n_objects
        same_kind = kind_of(i) == kind_of(self.object_ids[0])
        places = np.flatnonzero((self.object_ids == i) & same_kind)
        if not len(places):
            remedy = f"The first objects are {listed(self.object_ids, 5)}."
            raise InputError("object", phrase=f"Unknown object {i!r}", got=i, remedy=remedy)
        return int(places[0])

    # ---- by distinct row -------------------------------------------------------------------------

    @property
    def has_objects(self) -> bool:
        """Whether there are answers for objects; a consensus loaded from a file may hold none."""
        return self.solved_proba is not None

    @property
    def row_proba(self) -> Array:
        """The class probabilities of each distinct row."""
        if self.solved_proba is None:
            raise InputError(
                "",
                phrase="This consensus was loaded from a file without objects, so it has no "
                "probabilities of its own",
                remedy="Use extend(votes), or save it with objects=True.",
            )
        return self.solved_proba

    @cached_property
    def row_counts(self) -> Array:
        """How often each distinct row counts: the sum of its objects' weights."""
        if self.votes is not None:
            return self.votes.counts
        assert self.solved_counts is not None
        return self.solved_counts

    @cached_property
    def mass(self) -> Array:
        """The sum of the probabilities of each class over all objects."""
        return self.row_counts @ self.row_proba

    @cached_property
    def row_classes(self) -> Array:
        """The number of each distinct row's class: the most probable, ties broken by mass."""
        return top_classes(self.row_proba, np.asarray(self.tie_mass))

    @cached_property
    def row_margin(self) -> Array:
        """By how much the most probable class of each distinct row leads the next."""
        return margin_of(self.row_proba)

    @property
    def tie_mass(self) -> Array | None:
        """The mass of the classes that breaks ties, also for new objects; None if not kept."""
        if self.stored_mass is not None or not self.has_objects:
            return self.stored_mass
        return self.mass

    # ---- groups ----------------------------------------------------------------------------------

    @cached_property
    def group_proba(self) -> Array:
        """The class distribution of each group; without members it has the mean vote of all."""
        order, table = self.group_means
        nobody = normalised(table.sum(axis=0)) if self.rule is None else self.rule.fallback
        out = np.tile(nobody, (int(self.group_offsets[-1]), 1))
        out[order] = table
        return frozen(out)

    @cached_property
    def group_means(self) -> tuple[Array, Array]:
        """The numbers of the groups that have members, and their class distributions."""
        if self.group_table is not None:
            return self.group_table
        votes = self.require_votes("group_proba")
        groups = membership(votes)
        sums = groups.scatter(votes.counts[:, None] * self.row_proba)
        some = np.flatnonzero(sums.any(axis=1))
        return groups.order[some], normalised(sums[some])

    @property
    def group_offsets(self) -> Array:
        """The number of each base model's first group, and the number of all groups at the end."""
        return Models(self.models).offsets

    # ---- in words --------------------------------------------------------------------------------

    def require_votes(self, what: str) -> Votes:
        """The votes; refuse where a file did not keep them."""
        if self.votes is None:
            raise InputError(
                "",
                phrase=f"{what} needs the votes, and a consensus loaded from a file does not hold "
                "them",
            )
        return self.votes

    @cached_property
    def voter_noun(self) -> str:
        """What the voters are called: judges, annotators or classifiers."""
        if self.votes is not None:
            return voter_noun(self.models, self.votes.stores.sparse is not None)
        is_crowd = self.stored_voters is not None and "annotator" in self.stored_voters["kind"]
        return voter_noun(self.models, is_crowd)

    def called(self, kind: str) -> str:
        """What a base model of this kind is called."""
        return {"classifier": self.voter_noun, "grader": "judge"}.get(kind, kind)

    @property
    def made_of(self) -> str:
        """How many voters and clusterings it combines, in words."""
        n_voters = sum(model.is_voter for model in self.models)
        clusterings = len(self.models) - n_voters
        further = f" and {count(clusterings, 'clustering')}" if clusterings else ""
        return count(n_voters, self.voter_noun) + further

    @property
    def description(self) -> str:
        """One line: the method, what it combined, and how sure it is on average."""
        start = f"{self.settings['method']} of {self.made_of}"
        n_classes = count(len(self.classes), "class", "classes")
        if not self.has_objects:
            holds = (
                "holds no objects" if self.rule is None else "extends to new objects, holds none"
            )
            return f"{start}, {n_classes}; {holds}"
        confidence = self.row_counts @ self.row_proba.max(axis=1, initial=0.0)
        sure = float(confidence / max(self.row_counts.sum(), 1e-300))
        n_objects = count(self.n_objects, "object")
        return f"{start}: {n_objects}, {n_classes}, mean confidence {sure:.3f}"


# What diagnosis and report take.
Solved: TypeAlias = "Consensus | Solution"


def solution_of(value: Solved) -> Solution:
    """The solution of an answer; what is none, such as votes, is refused."""
    solution = getattr(value, "solution", None)
    if not isinstance(solution, Solution):
        remedy = "Solve votes first: EC3().solve(votes)."
        came = type(value).__name__
        raise InputTypeError("consensus", "must be a Consensus", came=came, remedy=remedy)
    return solution


def no_distribution() -> InputError:
    """The error for an answer that is no distribution over the classes."""
    return InputError(
        "weights",
        phrase="The answer is no distribution over the classes, since numbers in it overflowed or "
        "lost their digits",
        remedy="Choose weights and parameters that differ by fewer orders of magnitude.",
    )


def unanswered_notes(
    unanswered: Array, votes: Votes, lacking: str = NOT_REACHED
) -> tuple[Note, ...]:
    """A note that counts the objects that no vote reaches, if there are any."""
    n = int(n_alike(votes)[unanswered].sum())
    if not n:
        return ()
    return (Note("unanswered", f"{count(n, 'object has', 'objects have')} {lacking}."),)


# ---- labels from class probabilities -------------------------------------------------------------


def top_classes(proba: Array, mass: Array) -> Array:
    """Each row's class with the highest probability; of tied ones the one with the largest mass."""
    shares = mass / max(float(mass.sum()), 1e-300)
    preference = np.argsort(-np.round(shares / TIE), kind="stable")  # equal ones keep their order
    best = np.empty(len(proba), dtype=np.int64)
    for rows in chunks(len(proba), max(1, 8 * CHUNK // proba.shape[1])):
        by_class = np.ascontiguousarray(proba[rows].T)  # class-major for speed
        highest = by_class >= by_class.max(axis=0) - TIE
        best[rows] = preference[highest[preference].argmax(axis=0)]
    return best


def margin_of(proba: Array) -> Array:
    """By how much the most probable class of each row leads the next."""
    if proba.shape[1] == 1:
        return np.ones(len(proba))
    return np.diff(np.partition(proba, -2, axis=1)[:, -2:])[:, 0]


def mass_classes(proba: Array, counts: Array, mass: Sequence[float] | Array) -> Array:
    """Classes whose shares match the mass, and of such labellings (nearly) the most probable.

    Row i gets argmax_z (proba_iz + b_z). The offsets b minimise the convex function sum_i max_z
    (proba_iz + b_z) - mass b, whose gradient is the difference between the shares and the mass. Its
    maximum is smoothed (a softmax at a falling temperature), so that Newton's method applies. Equal
    rows get equal classes.
    """
    target, share = np.asarray(mass) / np.sum(mass), counts / counts.sum()
    offsets = np.zeros(proba.shape[1])
    for temperature in 0.3 * 0.25 ** np.arange(8):
        for _ in range(20):
            soft = softmax((proba + offsets) / temperature, axis=1)
            excess = share @ soft - target
            if np.abs(excess).max() < 1e-3 * temperature + 1e-9:
                break
            curvature = (np.diag(share @ soft) - (soft * share[:, None]).T @ soft) / temperature
            curvature += 1e-6 * np.eye(len(target)) / temperature
            move = np.linalg.solve(curvature, excess)
            offsets -= move * min(1.0, 2 * temperature / max(np.abs(move).max(), 1e-300))
            offsets -= offsets.mean()
    return (proba + offsets).argmax(axis=1)


def matching_labels(labels: Array, ours: Array) -> Array:
    """The place of each label among ours, -1 for none; 1, True and "1" are three labels."""
    place = {(kind_of(label), label): j for j, label in enumerate(ours.tolist())}
    return np.array(
        [place.get((kind_of(label), label), -1) for label in labels.tolist()], dtype=np.int64
    )
