"""Answers that are not classes: scores from 0 to 9, ratings from 1 to 5, "unsure".

Methods that need votes for classes get these instead; known labels may tell which end of a scale
means which class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from .._checks import InputError, is_number, require_choice, unknown_name
from .._text import listed
from .._typing import Array
from .derived import merge_equal_rows
from .labels import kind_of, label_list, object_array
from .models import BaseModel, Models
from .shares import normalised

if TYPE_CHECKING:
    from .votes import Votes

ROUNDING = 1e-9  # by which a position may miss the border of a class
MOST_STEPS = 10  # to which a voter's scores are rounded
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Scale:
    """The answers that a voter may give in place of classes.

    Dawid-Skene and its kin learn what each answer means. Methods that need votes for classes get
    them by this rule: the scale is divided evenly among the classes, in their order, from its low
    end to its high end; an answer on the border between two classes is half a vote for each, and an
    answer outside the order is no vote.

    Parameters
    ----------
    values : sequence of labels
        The answers that have an order, from low to high, such as `range(10)`.
    unordered : sequence of labels
        Answers that have none, such as `["unsure"]`.
    direction : "up" or "down"
        Which end means which class: "up" says that the lowest answer stands for the first of
        `classes` and the highest for the last, "down" the opposite.
    outside : "error" or "missing"
        What to do with an answer that is not on the scale.
    steps : sequence of numbers
        `Scale(0.0, 1.0)` takes any score from 0 to 1, and rounds it to the nearest of these steps.
        Without them each voter has at most ten: scores of its own, close together where many lie.

    Examples
    --------
    >>> from ec3learn import DawidSkene, Scale, Votes
    >>> scores = {"gpt": [0, 9, 8, 1], "llama": [3, 7, 9, 2], "mistral": [1, 8, "unsure", 0]}
    >>> scale = Scale(range(10), unordered=["unsure"])
    >>> votes = Votes.from_labels(scores, classes=["fine", "toxic"], scale=scale)
    >>> DawidSkene().solve(votes).labels()
    array(['fine', 'toxic', 'toxic', 'fine'], dtype=object)
    """

    values: Any
    unordered: Any = ()
    direction: Literal["up", "down"] = "up"
    outside: Literal["error", "missing"] = "error"
    steps: Sequence[float] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        require_choice("direction", self.direction, ("up", "down"))
        require_choice("outside", self.outside, ("error", "missing"))
        if self.is_scores:
            object.__setattr__(self, "steps", tuple(np.unique(self.steps).tolist()))
            if not 0 < self.unordered - self.values < np.inf:
                must = "must be the lowest score, and below the highest"
                raise InputError("values", must, came=f"{self.values} and {self.unordered}")
            return
        for name in ("values", "unordered"):
            labels = getattr(self, name)
            is_empty = isinstance(labels, (list, tuple)) and not labels
            object.__setattr__(self, name, () if is_empty else tuple(label_list(name, labels)))
        keys = {(kind_of(label), label) for label in self.labels}
        if len(self.values) < 2 or len(keys) < len(self.labels):
            raise InputError(
                "values",
                "must name at least two answers, from low to high, and none twice",
                came=listed(self.labels),
            )

    @property
    def is_scores(self) -> bool:
        """Whether any number from `values` to `unordered` is an answer."""
        return is_number(self.values) and is_number(self.unordered)

    @property
    def labels(self) -> Array:
        """All answers, those with an order first."""
        steps = [f"{step:g}" for step in self.steps]
        return object_array(steps if self.is_scores else [*self.values, *self.unordered])

    def grader(self, name: str) -> BaseModel:
        """A voter who answers on this scale: the answers lie from the first class to the last."""
        if self.is_scores:
            ends = np.array([self.values, self.unordered], dtype=np.float64)
            positions = (np.array(self.steps) - ends[0]) / (ends[1] - ends[0])
        else:
            ends = None
            unordered = np.full(len(self.unordered), np.nan)
            positions = np.append(np.linspace(0.0, 1.0, len(self.values)), unordered)
        positions = positions if self.direction == "up" else 1 - positions
        return BaseModel(name, "grader", self.labels, positions, ends)

    def rounded(self, values: Array) -> tuple[Array, Scale]:
        """Scores as the steps of this scale, and the scale with steps by what the scores show."""
        raw = np.array(values.tolist(), dtype=object)
        texts = np.array([str(value).strip() for value in raw], dtype=object)
        scores = np.array([float(text) if NUMBER.fullmatch(text) else np.nan for text in texts])
        inside = (scores >= self.values) & (scores <= self.unordered)
        steps = np.array(self.steps)
        if not self.steps:
            shown = scores[inside] if inside.any() else [self.values]
            shown = np.quantile(shown, np.linspace(0, 1, MOST_STEPS), method="nearest")
            steps = np.unique([float(f"{score:.3g}") for score in shown])
        scale = replace(self, steps=steps.tolist())
        answers = np.where(np.isnan(scores), raw, texts)
        nearest = np.searchsorted((steps[1:] + steps[:-1]) / 2, scores[inside], side="right")
        answers[inside] = scale.labels[nearest]
        return answers, scale


def voter_scale(model: BaseModel) -> Scale:
    """The scale on which a voter answered."""
    assert model.positions is not None
    ordered = ~np.isnan(model.positions)
    first, last = model.positions[ordered][[0, -1]]
    direction: Literal["up", "down"] = "up" if first <= last else "down"
    if model.ends is not None:
        low, high = model.ends.tolist()
        return Scale(low, high, direction, steps=[float(step) for step in model.labels])
    return Scale(model.labels[ordered].tolist(), model.labels[~ordered].tolist(), direction)


def scales_of(scale: Any, names: Sequence[str]) -> dict[str, Scale]:
    """The scale of each voter that has one: one for all, or a dict of voter -> scale."""
    if scale is None:
        return {}
    scales = scale if isinstance(scale, Mapping) else dict.fromkeys(names, scale)
    for name in scales:
        if name not in names:
            raise unknown_name("voter", name, names)
    return {
        name: answers if isinstance(answers, Scale) else Scale(answers)
        for name, answers in scales.items()
    }


# ---- votes on a scale ----------------------------------------------------------------------------


def as_class_votes(votes: Votes) -> Votes:
    """The votes with each answer on a scale replaced by the class that it stands for (`Scale`)."""
    meaning = {
        m: class_shares(model.positions, votes.n_classes)
        for m, model in enumerate(votes.models)
        if model.positions is not None
    }
    if not meaning:
        return votes
    hard, tables = dict(votes.stores.hard), dict(votes.stores.soft)
    models, entries = list(votes.models), votes.stores.sparse
    for m, shares in meaning.items():
        if m in tables:  # what was put on answers outside the order is left out
            tables[m] = normalised(tables[m] @ shares)
        if m in hard:  # the last row is that of a missing vote
            tables[m] = np.vstack([shares, np.zeros(votes.n_classes)])[hard.pop(m)]
        models[m] = BaseModel(models[m].name, "classifier", votes.classes)
    if entries is not None:
        sizes = [model.n_groups for model in votes.models]
        blocks = [meaning.get(m, sparse.identity(size)) for m, size in enumerate(sizes)]
        entries = sparse.csr_array(entries @ sparse.block_diag(blocks, "csr"))
    stores = votes.stores.with_tables(hard, tables, entries)
    return merge_equal_rows(replace(votes, models=Models(models), stores=stores))


def class_shares(positions: Array, n_classes: int) -> Array:
    """The vote that each answer stands for, answers x classes, by its position; zeros are no vote.

    With t = position x n_classes the answer falls into class floor(t); on a border (t an integer
    strictly inside) it is half a vote for the class on either side.
    """
    shares = np.zeros((len(positions), n_classes))
    ordered = np.flatnonzero(~np.isnan(positions))
    t = positions[ordered] * n_classes
    for side in (-ROUNDING, ROUNDING):
        cell = np.clip(np.floor(t + side).astype(np.int64), 0, n_classes - 1)
        shares[ordered, cell] += 0.5
    return shares


def shares_between(positions: Array, n_classes: int) -> Array:
    """Each answer as shares of the two classes that it lies between; zeros without an order."""
    apart = np.abs(positions[:, None] * (n_classes - 1) - np.arange(n_classes))
    return np.nan_to_num(np.maximum(1 - apart, 0.0))


def group_meaning(votes: Votes) -> sparse.csr_array:
    """The vote that each group stands for, groups x classes; rows of zeros are no vote.

    An answer on a scale is shared between the two classes it lies between, in proportion.
    """
    return _group_votes(votes, shares_between)


def group_ballot(votes: Votes) -> sparse.csr_array:
    """The same where votes are counted: an answer on a scale counts for the class it falls into."""
    return _group_votes(votes, class_shares)


def _group_votes(votes: Votes, shares_of: Callable[[Array, int], Array]) -> sparse.csr_array:
    classes = votes.models.group_class
    named = np.flatnonzero(classes >= 0)
    rows, columns, shares = [named], [classes[named]], [np.ones(len(named))]
    for m, model in enumerate(votes.models):
        if model.positions is not None:
            answers = sparse.coo_array(shares_of(model.positions, votes.n_classes))
            rows.append(answers.coords[0] + votes.models.offsets[m])
            columns.append(answers.coords[1])
            shares.append(answers.data)
    entries = np.concatenate(shares), (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array(entries, shape=(votes.models.n_groups, votes.n_classes))
