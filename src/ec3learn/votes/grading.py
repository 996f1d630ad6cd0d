"""Answers on a scale as votes for classes, for methods that need those; and which end of a scale means which class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy import sparse

from .._checks import InputError
from .._text import arg
from .._typing import Array
from .layout import BaseModel, Codes, SoftShares, frozen, frozen_entries
from .reading import smallest_uint
from .scale import class_shares
from .stores import Stores

if TYPE_CHECKING:
    from .votes import Votes

AnyVotes = TypeVar("AnyVotes", bound="Votes")


def as_class_votes(votes: AnyVotes) -> AnyVotes:
    """Return the votes with each answer on a scale replaced by a vote for the class it stands for, by the rule of `Scale`."""
    meaning = {m: _meaning(model, votes.n_classes) for m, model in enumerate(votes.models) if model.kind == "grader"}
    if not meaning:
        return votes
    hard, soft = dict(votes.hard), _soft_tables(votes)
    for m, shares in meaning.items():
        said = np.vstack([shares, np.zeros(votes.n_classes)])  # the last row is that of a missing vote
        nothing = said.sum(axis=1) == 0
        shared = ((said > 0) & (said < 1)).sum(axis=1) > 0  # an answer on the border of two classes
        if m in soft:
            soft[m] = soft[m] @ shares  # NaN stays NaN
        elif m in hard and not shared[hard[m]].any():
            codes = np.where(nothing, votes.n_classes, said.argmax(axis=1))
            hard[m] = frozen(codes.astype(smallest_uint(votes.n_classes + 1))[hard[m]])
        elif m in hard:
            said[nothing] = np.nan
            soft[m] = said[hard.pop(m)]
    models = [BaseModel(old.name, "classifier", votes.classes) if m in meaning else old for m, old in enumerate(votes.models)]
    entries = votes.sparse
    if entries is not None:
        blocks = [meaning[m] if m in meaning else np.eye(old.n_groups) for m, old in enumerate(votes.models)]
        entries = frozen_entries(sparse.csr_array(entries @ sparse.block_diag(blocks, "csr")))
    return replace(
        votes,
        models=tuple(models),
        stores=Stores(
            Codes({m: hard[m] for m in sorted(hard)}),
            SoftShares.stacked({m: soft[m] for m in sorted(soft)}) if soft else None,
            entries,
        ),
    ).merged()


def group_meaning(votes: Votes) -> sparse.csr_array:
    """Return the vote that each group stands for, groups x classes; rows of zeros are no vote."""
    classes = votes.group_class
    named = np.flatnonzero(classes >= 0)
    rows, columns, shares = [named], [classes[named]], [np.ones(len(named))]
    for m, model in enumerate(votes.models):
        if model.kind == "grader":
            _require_direction(model)
            assert model.positions is not None
            place = model.positions * (votes.n_classes - 1)
            apart = np.abs(place[:, None] - np.arange(votes.n_classes))
            own = sparse.coo_array(np.nan_to_num(np.maximum(1 - apart, 0.0)))
            rows.append(own.coords[0] + votes.offsets[m])
            columns.append(own.coords[1])
            shares.append(own.data)
    entries = np.concatenate(shares), (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array(entries, shape=(votes.n_groups, votes.n_classes))


def oriented(votes: AnyVotes, codes: Array) -> AnyVotes:
    """Return the votes with the direction of scales learned: the end that goes with later classes becomes the high end.

    `codes` has the number of each object's class, -1 where it is not known. A scale whose voter said nothing about any of them,
    or nothing that goes with the classes, stays without a direction.
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
        said = _memberships(votes, m)[rows]
        voted = weight * said[:, ~np.isnan(model.positions)].sum(axis=1)
        seen = voted if len(np.unique(codes[known][voted > 0])) > 1 else weight  # a voter may have seen one class only
        late = codes[known] - np.average(codes[known], weights=seen)
        along = float((weight * late) @ said @ np.nan_to_num(model.positions - 0.5))
        if along:
            positions = model.positions if along > 0 else 1 - model.positions
            models[m] = replace(model, positions=frozen(positions), oriented=True)
    return replace(votes, models=tuple(models))


def _meaning(model: BaseModel, n_classes: int) -> Array:
    _require_direction(model)
    assert model.positions is not None
    return class_shares(model.positions, n_classes)


def _require_direction(model: BaseModel) -> None:
    if not model.oriented:
        raise InputError(
            "known",
            f"must tell which end of the scale of {model.name!r} means which class",
            came="no labels that do",
            remedy=f"Pass known labels of objects it voted on, or a scale with {arg('direction', 'up')}.",
        )


def _soft_tables(votes: Votes) -> dict[int, Array]:
    """Return the shares of soft models by number, NaN where they did not vote."""
    tables = {}
    for soft in votes.soft.models if votes.soft is not None else ():
        shares = votes.soft.shares_of(soft)  # type: ignore[union-attr]
        shares[~shares.any(axis=1)] = np.nan
        tables[soft.number] = shares
    return tables


def _memberships(votes: Votes, m: int) -> Array:
    """Return which rows are in which of one model's groups, and by how much."""
    n_groups = votes.models[m].n_groups
    if m in votes.hard:
        return np.vstack([np.eye(n_groups), np.zeros(n_groups)])[votes.hard[m]]
    soft = _soft_tables(votes)
    if m in soft:
        return np.nan_to_num(soft[m])
    assert votes.sparse is not None
    return votes.sparse[:, int(votes.offsets[m]) : int(votes.offsets[m + 1])].toarray()
