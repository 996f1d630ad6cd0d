"""What is done with votes: questions about them, in numbers, and other votes made of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._checks import InputError, InputIndexError
from .._text import arg
from .._typing import Array
from .labels import Label, kind_of, plain
from .layout import (
    BaseModel,
    Codes,
    Models,
    distinct_rows,
    row_numbers,
    smallest_uint,
    vote_numbers,
    whole_votes,
)
from .shares import normalised

if TYPE_CHECKING:
    from .votes import Votes

FEW_OBJECTS = 50  # so few may all have different labels
SENTENCE = re.compile(r"(?=.{31})\S+(\s+\S+){3,}\s*", re.DOTALL)
FRACTION = re.compile(r"\s*[+-]?\d*\.\d*[1-9]\d*\s*")
ROUNDING = 1e-9  # by which a position may miss the border of a class
TIE = 1e-12  # shares that differ by less are equal but for rounding


# ---- who said what, and how often ----------------------------------------------------------------


def votes_on(votes: Votes, i: int) -> dict[int, Label | dict[Label, float]]:
    """What was said about object i, by the number of each model that said something."""
    if kind_of(i) != "int" or not -votes.n_objects <= i < votes.n_objects:
        raise InputIndexError(
            "i", f"must be the number of an object, from 0 to {votes.n_objects - 1}", got=i
        )
    row, models = int(i if votes.index is None else votes.index[i]), votes.models
    answers: dict[int, Any] = {
        m: plain(models[m].labels[codes[row]])
        for m, codes in votes.stores.hard.items()
        if codes[row] < models[m].n_groups
    }
    for m, shares in votes.stores.soft.items():
        if shares[row].any():
            labels = map(plain, models[m].labels)
            answers[m] = dict(zip(labels, shares[row].round(12).tolist(), strict=True))
    if votes.stores.sparse is not None:
        entries = slice(*votes.stores.sparse.indptr[row : row + 2])
        groups, parts = votes.stores.sparse.indices[entries], votes.stores.sparse.data[entries]
        for group, share in zip(groups.tolist(), parts.tolist(), strict=True):
            m = int(models.group_model[group])
            label = plain(models[m].labels[group - models.offsets[m]])
            answers[m] = label if share == 1 else {**answers.get(m, {}), label: share}
    return dict(sorted(answers.items()))


def soft_shares(votes: Votes) -> tuple[Array, Array] | None:
    """The shares of soft models side by side, and what each column adds to each group.

    The last shares of a model that are never 0 are left out: they are 1 less the others.
    """
    if not votes.stores.soft:
        return None
    tables, basis, rest = [], [], np.zeros(votes.models.n_groups)
    for m, table in sorted(votes.stores.soft.items()):
        adds = np.eye(table.shape[1], len(rest), votes.models.offsets[m])
        if (table[:, -1] > ROUNDING).all():
            rest += adds[-1]
            table, adds = table[:, :-1], adds[:-1] - adds[-1]
        tables.append(table)
        basis.append(adds)
    return np.hstack([*tables, np.ones((votes.n_rows, 1))]), np.vstack([*basis, rest])


def votes_per_model(votes: Votes, per_row: Array | None = None) -> Array:
    """How many objects each base model said something about, or other numbers summed over rows."""
    stores, models = votes.stores, votes.models
    per_row = objects_per_row(votes) if per_row is None else per_row
    totals = np.zeros(len(models))
    for m, codes in stores.hard.items():
        totals[m] = per_row @ (codes != models[m].n_groups)
    for m, shares in stores.soft.items():
        totals[m] = (per_row @ shares).sum()
    if stores.sparse is not None:
        sums = stores.sparse.T @ per_row
        totals += np.bincount(models.group_model, weights=sums, minlength=len(models))
    whole = totals.round()  # shares of one vote add up to 1 but for rounding
    return np.where(np.isclose(totals, whole, rtol=1e-9, atol=0), whole, totals)


def votes_per_voter(votes: Votes) -> Array:
    """How many votes each voter has cast, by what objects count; 0 for clusterings."""
    return votes_per_model(votes, votes.counts) * votes.models.is_voter


def relative_weights(votes: Votes) -> Array:
    """The weights of the base models, 1 on average over votes: only their ratios matter."""
    given = votes.weights / max(float(votes.weights.max()), 1e-300)
    if len(np.unique(given[given > 0])) < 2:
        return np.asarray(given > 0, dtype=np.float64)
    cast = votes_per_voter(votes) * (given > 0)
    total = float(cast @ given)
    return given * float(cast.sum()) / total if total > 0 else given


def objects_per_row(votes: Votes) -> Array:
    """How many objects have each distinct row."""
    if votes.sample_weight is None:
        return votes.counts
    return np.bincount(row_of_objects(votes), minlength=votes.n_rows).astype(np.float64)


def n_alike(votes: Votes) -> Array:
    """How many objects each distinct row stands for; whole sample weights count as repetitions."""
    weights = votes.sample_weight
    is_count = weights is None or bool((weights == weights.round()).all())
    return votes.counts if is_count else objects_per_row(votes)


def has_clusterings(votes: Votes) -> bool:
    """Whether there are clusterings with a weight above 0."""
    return bool((~votes.models.is_voter & (votes.weights > 0)).any())


def has_graders(votes: Votes) -> bool:
    """Whether voters with a weight above 0 answer on a scale."""
    models = votes.models
    return bool((models.is_voter & ~models.is_classifier & (votes.weights > 0)).any())


def voters_per_class(votes: Votes) -> Array:
    """How many classifiers name each class at least once."""
    models, stores = votes.models, votes.stores
    named = np.zeros(models.n_groups, dtype=bool)
    for m, codes in stores.hard.items():
        named[models.offsets[m] + np.setdiff1d(codes, models[m].n_groups)] = True
    for m, shares in stores.soft.items():
        named[models.offsets[m] : models.offsets[m + 1]] = shares.any(axis=0)
    if stores.sparse is not None:
        named[stores.sparse.indices] = True
    classes = models.group_class[named]
    return np.bincount(classes[classes >= 0], minlength=votes.n_classes)


def require_labels(votes: Votes, argument: str) -> Votes:
    """The votes; fractions are refused, and texts and names: hardly any of them is said twice."""
    came, fractions = "", [x for x in votes.classes.tolist() if FRACTION.fullmatch(str(x))]
    sentences = [SENTENCE.fullmatch(str(label)) is not None for label in votes.classes]
    many = votes.n_classes > FEW_OBJECTS // 2 and votes.counts.sum() >= FEW_OBJECTS
    if fractions:
        came = f"the fractional number {fractions[0]!r}"
    elif many:
        n_votes = float(votes_per_model(votes, votes.counts)[votes.models.is_classifier].sum())
        if votes.n_classes > n_votes / 2:
            came = f"{votes.n_classes:,} different ones in {n_votes:,.0f} votes"
    if not came and (many or sum(sentences) > 2) and votes.models.is_classifier.sum() > 1:
        lone = (voters_per_class(votes) < 2) & (many or np.array(sentences))
        if lone.sum() > votes.n_classes / 2:
            first = plain(votes.classes[np.argmax(lone)])
            came = f"{lone.sum():,} of {votes.n_classes:,} from one voter only, such as {first!r}"
    if came:
        raise InputError(
            argument,
            "must hold labels of classes",
            came=came,
            remedy=f"Leave out texts, names and measurements, pass {arg('scale')} with answers "
            f"that have an order, or name the {arg('classes')}.",
        )
    return votes


# ---- what votes mean -----------------------------------------------------------------------------


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


def group_ballot(votes: Votes) -> sparse.csr_array:
    """What groups mean where votes are counted: an answer on a scale is one for its class."""
    return group_meaning(votes, class_shares)


def group_meaning(
    votes: Votes, shares_of: Callable[[Array, int], Array] = shares_between
) -> sparse.csr_array:
    """The vote that each group stands for, groups x classes; rows of zeros are no vote.

    An answer on a scale is shared between the two classes it lies between, in proportion.
    """
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


# ---- rows ----------------------------------------------------------------------------------------


def only_rows(votes: Votes, rows: Array, index: Array | None = None) -> Votes:
    """Some of the distinct rows, each as one object, or with each object's row among them."""
    return replace(
        votes,
        n_objects=len(rows if index is None else index),
        counts=votes.counts[rows],
        index=index,
        stores=votes.stores.take(rows),
        prior=None if votes.prior is None else votes.prior.take(rows),
    )


def recounted(votes: Votes, sample_weight: Array | None) -> Votes:
    """The votes with these weights of objects, and with them the weight of each row."""
    if votes.index is not None:
        sums = np.bincount(votes.index, weights=sample_weight, minlength=votes.n_rows)
        counts = sums.astype(np.float64)
    else:
        counts = ones(votes.n_objects) if sample_weight is None else sample_weight
    return replace(votes, sample_weight=sample_weight, counts=counts)


def ones(n: int) -> Array:
    """Ones that take no memory."""
    return np.broadcast_to(np.float64(1.0), (n,))


def row_of_objects(votes: Votes) -> Array:
    """The number of each object's row."""
    return np.arange(votes.n_objects) if votes.index is None else votes.index


def by_object(votes: Votes) -> Votes:
    """The votes with one row per object."""
    if votes.index is None:
        return votes
    return recounted(only_rows(votes, votes.index), votes.sample_weight)


def spread_over(votes: Votes, index: Array, object_ids: Array | None = None) -> Votes:
    """The same distinct rows for other objects: the row of each, and their names."""
    return recounted(
        replace(votes, n_objects=len(index), index=index, object_ids=object_ids), sample_weight=None
    )


def split_by(votes: Votes, codes: Array) -> tuple[Votes, Array]:
    """Split rows whose objects differ in `codes` (integers from -1); and each row's code."""
    if votes.index is None:
        return votes, codes
    packed = distinct_rows([(votes.index, votes.n_rows), (codes + 1, int(codes.max()) + 2)])
    if packed is None:
        return by_object(votes), codes
    objects, index, _ = packed
    split = only_rows(votes, votes.index[objects], index)
    return recounted(split, votes.sample_weight), codes[objects]


def merge_equal_rows(votes: Votes) -> Votes:
    """The votes with one row for those that are equal; as they are if that saves little."""
    stores = votes.stores
    if votes.n_rows == 0 or stores.soft or votes.prior is not None:
        return votes
    columns: list[Codes] = [
        (codes, votes.models[m].n_groups + 1) for m, codes in stores.hard.items()
    ]
    if stores.sparse is not None:
        columns.append(row_numbers(stores.sparse))
    packed = distinct_rows(columns)
    if packed is None or (stores.sparse is not None and len(packed[0]) > votes.n_rows // 2):
        return votes
    rows, number, _ = packed
    return recounted(only_rows(votes, rows, number[row_of_objects(votes)]), votes.sample_weight)


# ---- models --------------------------------------------------------------------------------------


def unweighted(votes: Votes) -> Votes:
    """The votes with weight 1 for each base model with a weight above 0; objects keep theirs."""
    equal = (votes.weights > 0).astype(np.float64)
    return votes if np.array_equal(equal, votes.weights) else replace(votes, weights=equal)


def without_clusterings(votes: Votes) -> tuple[Votes, Array] | None:
    """The votes as if clusterings had said nothing, and which of the merged rows each row is now.

    None where no more rows are equal then.
    """
    hard, soft = dict(votes.stores.hard), dict(votes.stores.soft)
    for m in np.flatnonzero(~votes.models.is_voter).tolist():
        soft.pop(m, None)
        size = votes.models[m].n_groups
        hard[m] = np.full(votes.n_rows, size, dtype=smallest_uint(size + 1))
    stores = replace(votes.stores, hard=dict(sorted(hard.items())), soft=soft)
    merged = merge_equal_rows(replace(votes, stores=stores))
    if merged.n_rows == votes.n_rows:
        return None
    rows = np.zeros(votes.n_rows, dtype=np.int64)
    rows[row_of_objects(votes)] = row_of_objects(merged)
    return merged, rows


def hardened(votes: Votes) -> Votes:
    """The votes with each soft one replaced by its most probable class or answer, shared on a tie.

    Clusterings stay as they are.
    """
    stores, tables, entries = votes.stores, dict(votes.stores.soft), votes.stores.sparse
    if stores.is_hard:
        return votes
    for m, shares in tables.items():
        if votes.models[m].is_voter:
            top = (shares > 0) & (shares >= shares.max(axis=1, keepdims=True) - TIE)
            tables[m] = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
    if entries is not None and not (entries.data == 1).all():
        vote = vote_numbers(entries, votes.models)
        largest = np.maximum.reduceat(entries.data, np.flatnonzero(np.diff(vote, prepend=-1)))
        entries = entries.copy()
        entries.data = (entries.data >= largest[vote] - TIE).astype(np.float64)
        entries.eliminate_zeros()
        entries = whole_votes(entries, votes.models)
    return replace(votes, stores=stores.with_tables(stores.hard, tables, entries))


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
