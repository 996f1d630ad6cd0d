"""Answers that are not classes: scores from 0 to 9, ratings from 1 to 5, "unsure".

Methods that need votes for classes get these instead; known labels may tell which end of a scale
means which class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from .._checks import InputError, InputTypeError, require_choice, unknown_name
from .._text import arg, listed
from .._typing import Array
from .derived import merge_equal_rows
from .labels import KINDS, Label, kind_of, plain
from .models import BaseModel, Models
from .queries import entries_of

if TYPE_CHECKING:
    from .votes import Votes

DIRECTIONS = ("up", "down", "learn")


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
    >>> votes = Votes.from_labels(scores, classes=["fine", "toxic"], scale=Scale(range(10), unordered=["unsure"]))
    >>> DawidSkene().solve(votes).labels()
    array(['fine', 'toxic', 'toxic', 'fine'], dtype=object)
    """

    values: Sequence[Label]
    unordered: Sequence[Label] = ()
    direction: Literal["up", "down", "learn"] = "up"
    outside: Literal["error", "missing"] = "error"

    def __post_init__(self) -> None:
        require_choice("direction", self.direction, DIRECTIONS)
        require_choice("outside", self.outside, ("error", "missing"))
        values, unordered = (_labels(name, getattr(self, name)) for name in ("values", "unordered"))
        if len(values) < 2:
            raise InputError(
                "values", "must name at least two answers, from low to high", came=listed(values)
            )
        keys = [(kind_of(label), label) for label in (*values, *unordered)]
        if len(set(keys)) < len(keys):
            raise InputError(
                "values",
                f"and {arg('unordered')} must not repeat",
                came=listed([*values, *unordered]),
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "unordered", unordered)

    @property
    def labels(self) -> Array:
        """Return all answers, those with an order first."""
        labels = np.empty(len(self.values) + len(self.unordered), dtype=object)
        labels[:] = [*self.values, *self.unordered]
        return labels

    @property
    def positions(self) -> Array:
        """Return where each answer lies between the first class (0) and the last (1); NaN for those without an order."""
        ordered = np.linspace(0.0, 1.0, len(self.values))
        return np.concatenate(
            [
                ordered[::-1] if self.direction == "down" else ordered,
                np.full(len(self.unordered), np.nan),
            ]
        )


def _labels(name: str, given: Any) -> tuple[Label, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputTypeError(
            name, "must be a sequence of labels (ints, bools or strings)", got=given
        )
    labels = tuple(plain(label) for label in given)
    for label in labels:
        if kind_of(label) not in KINDS:
            raise InputTypeError(name, "must hold labels (ints, bools or strings)", got=label)
    return labels


def voter_scale(model: BaseModel) -> Scale:
    """Return the scale on which a voter answered."""
    assert model.positions is not None
    ordered = ~np.isnan(model.positions)
    return Scale(model.labels[ordered].tolist(), model.labels[~ordered].tolist())


def shared_scale(models: Iterable[BaseModel]) -> Scale | None:
    """Return the scale on which all voters answer; None where some name classes, or scales differ."""
    voters = [model for model in models if model.is_voter]
    if any(model.positions is None for model in voters):
        return None
    scales = {replace(voter_scale(model), direction=_direction(model)) for model in voters}
    return scales.pop() if len(scales) == 1 else None


def _direction(model: BaseModel) -> Literal["up", "down", "learn"]:
    assert model.positions is not None
    low, high = model.positions[~np.isnan(model.positions)][[0, -1]]
    return "learn" if not model.oriented else "up" if low < high else "down"


def scales_of(scale: Any, names: Sequence[str]) -> dict[str, Scale]:
    """Return the scale of each voter that has one: one for all, or a dict of voter -> scale."""
    if scale is None:
        return {}
    if not isinstance(scale, Mapping):
        return dict.fromkeys(names, _scale(scale))
    for name in scale:
        if name not in names:
            raise unknown_name("voter", name, names)
    return {name: _scale(own) for name, own in scale.items()}


def _scale(given: Any) -> Scale:
    if isinstance(given, Scale):
        return given
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputTypeError(
            "scale",
            "must be a Scale, a sequence of answers, or a dict of voter -> scale",
            got=given,
        )
    return Scale(tuple(given))


def class_shares(positions: Array, n_classes: int) -> Array:
    """Return the vote that each answer stands for, answers x classes, by its position; rows of zeros are no vote.

    With t = position x n_classes the answer falls into class floor(t); on a border (t an integer
    strictly inside) it is half a vote for the class on either side.
    """
    shares = np.zeros((len(positions), n_classes))
    for answer, position in enumerate(positions):
        if not np.isnan(position):
            t = position * n_classes
            border = round(t)
            if abs(t - border) < 1e-9 and 0 < border < n_classes:
                shares[answer, border - 1 : border + 1] = 0.5
            else:
                shares[answer, min(int(t), n_classes - 1)] = 1.0
    return shares


# ---- votes on a scale ----------------------------------------------------------------------------


def as_class_votes(votes: Votes) -> Votes:
    """Return the votes with each answer on a scale replaced by a vote for the class it stands for, by the rule of `Scale`."""
    meaning = {}
    for m, model in enumerate(votes.models):
        if model.positions is not None:
            _require_direction(model)
            meaning[m] = class_shares(model.positions, votes.n_classes)
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
    """Return each answer as shares of the two classes that it lies between, in proportion, answers x classes; zeros for none."""
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
            _require_direction(model)
            answers = sparse.coo_array(shares_of(model.positions, votes.n_classes))
            rows.append(answers.coords[0] + votes.models.offsets[m])
            columns.append(answers.coords[1])
            shares.append(answers.data)
    entries = np.concatenate(shares), (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array(entries, shape=(votes.models.n_groups, votes.n_classes))


def oriented(votes: Votes, codes: Array) -> Votes:
    """Return the votes with the direction of scales learned: the end that goes with later classes becomes the high end.

    `codes` has the number of each object's class, -1 where it is not known. A scale whose voter
    said nothing about any of them, or nothing that goes with the classes, stays without a
    direction.
    """
    models = list(votes.models)
    weight = np.where(codes >= 0, 1.0 if votes.sample_weight is None else votes.sample_weight, 0.0)
    if all(model.oriented for model in models) or not weight.any():
        return votes
    known = np.flatnonzero(weight)
    rows, weight = (known if votes.index is None else votes.index[known]), weight[known]
    for m, model in enumerate(votes.models):
        if model.oriented or model.positions is None:
            continue
        _, row, group, share = entries_of(votes, np.array([m]))
        said = np.zeros((votes.n_rows, model.n_groups))
        said[row, group - votes.models.offsets[m]] = share
        said = said[rows]
        voted = weight * said[:, ~np.isnan(model.positions)].sum(axis=1)
        seen = (
            voted if len(np.unique(codes[known][voted > 0])) > 1 else weight
        )  # a voter may have seen one class only
        late = codes[known] - np.average(codes[known], weights=seen)
        along = float((weight * late) @ said @ np.nan_to_num(model.positions - 0.5))
        if along:
            models[m] = replace(
                model,
                positions=model.positions if along > 0 else 1 - model.positions,
                oriented=True,
            )
    return replace(votes, models=Models(models))


def _require_direction(model: BaseModel) -> None:
    if not model.oriented:
        raise InputError(
            "known",
            f"must tell which end of the scale of {model.name!r} means which class",
            came="no labels that do",
            remedy=f"Pass known labels of objects it voted on, or a scale with {arg('direction', 'up')}.",
        )
