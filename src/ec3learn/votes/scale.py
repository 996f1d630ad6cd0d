"""Answers that are not classes: scores from 0 to 9, ratings from 1 to 5, "unsure".

Methods that need votes for classes get these instead; known labels may tell which end of a scale
means which class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy import sparse

from .._checks import InputError, InputTypeError, require_choice, unknown_name
from .._text import arg, listed
from .._typing import Array
from .derived import merge_equal_rows, row_of_objects
from .labels import KINDS, Label, kind_of, plain
from .models import BaseModel, Models
from .queries import entries_of

if TYPE_CHECKING:
    from .votes import Votes

Direction = Literal["up", "down", "learn"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
ROUNDING = 1e-9  # by which a position may miss the border of a class


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
    direction : "up", "down" or "learn"
        Which end means which class: "up" says that the lowest answer stands for the first of
        `classes` and the highest for the last, "down" the opposite. "learn" takes it from known
        labels, for each voter alone.
    outside : "error" or "missing"
        What to do with an answer that is not on the scale.

    Examples
    --------
    >>> from ec3learn import DawidSkene, Scale, Votes
    >>> scores = {"gpt": [0, 9, 8, 1], "llama": [3, 7, 9, 2], "mistral": [1, 8, "unsure", 0]}
    >>> scale = Scale(range(10), unordered=["unsure"])
    >>> votes = Votes.from_labels(scores, classes=["fine", "toxic"], scale=scale)
    >>> DawidSkene().solve(votes).labels()
    array(['fine', 'toxic', 'toxic', 'fine'], dtype=object)
    """

    values: Sequence[Label]
    unordered: Sequence[Label] = ()
    direction: Direction = "up"
    outside: Literal["error", "missing"] = "error"

    def __post_init__(self) -> None:
        require_choice("direction", self.direction, DIRECTIONS)
        require_choice("outside", self.outside, ("error", "missing"))
        values, unordered = (_labels(name, getattr(self, name)) for name in ("values", "unordered"))
        labels = [*values, *unordered]
        if len(values) < 2 or len({(kind_of(label), label) for label in labels}) < len(labels):
            raise InputError(
                "values",
                "must name at least two answers, from low to high, and none twice",
                came=listed(labels),
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "unordered", unordered)

    @property
    def labels(self) -> Array:
        """All answers, those with an order first."""
        labels = np.empty(len(self.values) + len(self.unordered), dtype=object)
        labels[:] = [*self.values, *self.unordered]
        return labels

    @property
    def positions(self) -> Array:
        """Where each answer lies from the first class (0) to the last (1); NaN without an order."""
        ordered = np.linspace(0.0, 1.0, len(self.values))
        ordered = ordered[::-1] if self.direction == "down" else ordered
        return np.concatenate([ordered, np.full(len(self.unordered), np.nan)])

    def grader(self, name: str) -> BaseModel:
        """A voter who answers on this scale."""
        return BaseModel(name, "grader", self.labels, self.positions, self.direction != "learn")


def _labels(name: str, answers: Any) -> tuple[Label, ...]:
    is_list = isinstance(answers, Iterable) and not isinstance(answers, str)
    labels = tuple(plain(label) for label in answers) if is_list else ()
    if not is_list or any(kind_of(label) not in KINDS for label in labels):
        raise InputTypeError(
            name, "must be a sequence of labels (ints, bools or strings)", got=answers
        )
    return labels


def voter_scale(model: BaseModel) -> Scale:
    """The scale on which a voter answered."""
    assert model.positions is not None
    ordered = ~np.isnan(model.positions)
    return Scale(model.labels[ordered].tolist(), model.labels[~ordered].tolist())


def shared_scale(models: Iterable[BaseModel]) -> Scale | None:
    """The scale on which all voters answer; None where some name classes, or scales differ."""
    scales = set()
    for model in models:
        if model.kind == "classifier":
            return None
        if model.positions is not None:
            runs_up = model.positions[0] < model.positions[len(voter_scale(model).values) - 1]
            direction: Direction = "up" if runs_up else "down"
            direction = direction if model.oriented else "learn"
            scales.add(replace(voter_scale(model), direction=direction))
    return scales.pop() if len(scales) == 1 else None


def scales_of(scale: Any, names: Sequence[str]) -> dict[str, Scale]:
    """The scale of each voter that has one: one for all, or a dict of voter -> scale."""
    if scale is None:
        return {}
    scales = scale if isinstance(scale, Mapping) else dict.fromkeys(names, scale)
    for name, answers in scales.items():
        if name not in names:
            raise unknown_name("voter", name, names)
        if isinstance(answers, str) or not isinstance(answers, (Scale, Iterable)):
            raise InputTypeError(
                "scale",
                "must be a Scale, a sequence of answers, or a dict of voter -> scale",
                got=answers,
            )
    return {
        name: answers if isinstance(answers, Scale) else Scale(tuple(answers))
        for name, answers in scales.items()
    }


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


# ---- votes on a scale ----------------------------------------------------------------------------


def as_class_votes(votes: Votes) -> Votes:
    """The votes with each answer on a scale replaced by the class that it stands for (`Scale`)."""
    meaning = {
        m: class_shares(_directed(model), votes.n_classes)
        for m, model in enumerate(votes.models)
        if model.positions is not None
    }
    if not meaning:
        return votes
    hard, tables = dict(votes.stores.hard), votes.stores.soft_tables
    for m, shares in meaning.items():
        if m in tables:
            said = tables[m] @ shares  # what was put on answers outside the order is left out
            tables[m] = said / np.maximum(said.sum(axis=1, keepdims=True), 1e-300)
        elif m in hard:  # the last row is that of a missing vote
            tables[m] = np.vstack([shares, np.zeros(votes.n_classes)])[hard.pop(m)]
    models = Models(
        BaseModel(model.name, "classifier", votes.classes) if m in meaning else model
        for m, model in enumerate(votes.models)
    )
    entries = votes.stores.sparse
    if entries is not None:
        blocks = [meaning.get(m, np.eye(model.n_groups)) for m, model in enumerate(votes.models)]
        entries = entries @ sparse.block_diag([sparse.csr_array(block) for block in blocks], "csr")
    stores = votes.stores.with_tables(hard, tables, entries)
    return merge_equal_rows(replace(votes, models=models, stores=stores))


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
            answers = sparse.coo_array(shares_of(_directed(model), votes.n_classes))
            rows.append(answers.coords[0] + votes.models.offsets[m])
            columns.append(answers.coords[1])
            shares.append(answers.data)
    entries = np.concatenate(shares), (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array(entries, shape=(votes.models.n_groups, votes.n_classes))


def _directed(model: BaseModel) -> Array:
    """The positions of a grader's answers, if it is known which end means which class."""
    assert model.positions is not None
    if not model.oriented:
        must = f"must tell which end of the scale of {model.name!r} means which class"
        direction = f"a scale with {arg('direction', 'up')}"
        raise InputError(
            "known",
            must,
            came="no labels that do",
            remedy=f"Pass known labels of objects it voted on, or {direction}.",
        )
    return model.positions


def oriented(votes: Votes, codes: Array) -> Votes:
    """The votes with the direction of scales learned from known labels.

    The end that goes with later classes becomes the high end.

    `codes` has the number of each object's class, -1 where it is not known. A scale whose voter
    said nothing about any of them, or nothing that goes with the classes, stays without a
    direction.
    """
    weight = np.where(codes >= 0, 1.0 if votes.sample_weight is None else votes.sample_weight, 0.0)
    known = np.flatnonzero(weight)
    learning = [m for m, model in enumerate(votes.models) if not model.oriented]
    if not learning or not len(known):
        return votes
    models = list(votes.models)
    rows, classes, weight = row_of_objects(votes)[known], codes[known], weight[known]
    for m in learning:
        positions = models[m].positions
        assert positions is not None
        _, row, group, share = entries_of(votes, np.array([m]))
        said = np.zeros((votes.n_rows, len(positions)))
        said[row, group - votes.models.offsets[m]] = share
        said = said[rows]
        voted = weight * said[:, ~np.isnan(positions)].sum(axis=1)
        # A voter who saw one class only is compared with the mean of all known classes.
        seen = voted if len(np.unique(classes[voted > 0])) > 1 else weight
        late = classes - np.average(classes, weights=seen)
        along = float((weight * late) @ said @ np.nan_to_num(positions - 0.5))
        if along:
            turned = positions if along > 0 else 1 - positions
            models[m] = replace(models[m], positions=turned, oriented=True)
    return replace(votes, models=Models(models))
