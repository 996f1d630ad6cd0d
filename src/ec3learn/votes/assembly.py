"""How votes are made: what was passed is checked once, and becomes the fields of `Votes`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np

from .._checks import InputError, InputTypeError, require_choice, unknown_name
from .._text import arg
from .._typing import Array
from .encoding import classes_of, label_codes, name_codes, require_width, vote_codes
from .labels import Scale, labels_for_missing, plain, scales_of
from .layout import BaseModel, Models, Stores, distinct_rows, entries_of_votes, whole_votes
from .operations import ones
from .reading import (
    Column,
    as_array,
    encode,
    index_names,
    index_of,
    require_same_objects,
    single_column,
)
from .shares import checked_shares

SPARSE_FROM = 0.75  # share of missing votes from which many classifiers are kept as sparse entries
SPARSE_MODELS = 16  # how many are many
NOISE = {("int", -1)}  # objects outside all clusters, as DBSCAN writes them
Repeats = Literal["mean", "last", "first", "error"]
REPEATS = get_args(Repeats)


# ---- one column per base model -------------------------------------------------------------------


def fields_of_columns(
    columns: Mapping[str, Array],
    clusterings: Mapping[str, Array],
    argument: str,
    classes: Any = None,
    missing: Any = None,
    scale: Any = None,
    clean: bool = False,
    sample_weight: Any = None,
) -> dict[str, Any]:
    """Check and encode columns of votes and of clusters, one per base model; 2-D ones are soft."""
    absent, scales = labels_for_missing(missing), scales_of(scale, list(columns))
    require_unique_names([*columns, *clusterings])
    tables = {**columns, **clusterings}
    require_same_objects(tables, argument)
    for name in scales:
        if scales[name].is_scores and tables[name].ndim == 1:
            tables[name], scales[name] = scales[name].rounded(tables[name])
    where = dict.fromkeys(columns, argument) | dict.fromkeys(clusterings, "clusterings")
    absences = {name: absent | NOISE if name in clusterings else absent for name in tables}
    read = {
        name: encode(name, table, where[name], name in scales, absences[name])
        for name, table in tables.items()
        if table.ndim == 1
    }
    rows, distinct = _distinct(read) if len(read) == len(tables) else ({}, read)
    named = [name for name in columns if name not in scales]
    voted = [distinct[name] for name in named if name in read]
    soft = {name: tables[name] for name in named if name not in read}
    class_names = classes_of(voted, soft, classes, argument, clean)

    models: list[BaseModel] = []
    hard: dict[int, Array] = {}
    shares: dict[int, Array] = {}
    n_outside = 0.0
    for m, (name, table) in enumerate(tables.items()):
        if name not in read:
            labels = np.arange(table.shape[1])
            if name in scales:
                require_width(name, table, scales[name].labels, argument)
            shares[m] = checked_shares(table, where[name], name)
            shares[m][np.isnan(shares[m])] = 0
        elif name in clusterings:
            hard[m], labels = label_codes(distinct[name])
        else:
            hard[m], off = vote_codes(
                distinct[name], read[name], class_names, scales.get(name), argument, clean
            )
            n_outside += (
                len(off) if sample_weight is None else sum(np.take(np.asarray(sample_weight), off))
            )
        cluster = BaseModel(name, "clustering", labels) if name in clusterings else None
        models.append(cluster or _voter(name, scales.get(name), class_names))
    fields = (
        _fields(class_names, models, len(table), Stores(hard, shares, None, 0, n_outside)) | rows
    )
    return fields | {"stores": _with_crowd(**fields)}


def _distinct(columns: Mapping[str, Column]) -> tuple[dict[str, Array], Mapping[str, Column]]:
    """The row of each object and how often each occurs, and the columns of distinct rows."""
    packed = distinct_rows([(column.codes, column.n_codes) for column in columns.values()])
    if packed is None:
        return {}, columns
    objects, index, counts = packed
    distinct = {name: column.take(objects) for name, column in columns.items()}
    return {"index": index, "counts": counts.astype(np.float64)}, distinct


def _with_crowd(models: Models, counts: Array, stores: Stores, **fields: Any) -> Stores:
    """The stores with many classifiers that hardly vote kept as sparse entries."""
    crowd = {m: codes for m, codes in stores.hard.items() if models[m].kind == "classifier"}
    n_votes = sum(np.count_nonzero(codes < models[m].n_groups) for m, codes in crowd.items())
    if len(crowd) < SPARSE_MODELS or n_votes > (1 - SPARSE_FROM) * len(crowd) * len(counts):
        return stores
    rows = {m: np.flatnonzero(codes < models[m].n_groups) for m, codes in crowd.items()}
    groups = [models.offsets[m] + crowd[m][voted] for m, voted in rows.items()]
    shape = (len(counts), models.n_groups)
    entries = entries_of_votes(np.concatenate([*rows.values()]), np.concatenate(groups), shape)
    others = {m: codes for m, codes in stores.hard.items() if m not in crowd}
    return replace(stores, hard=others, sparse=entries)


def _voter(name: str, scale: Scale | None, class_names: Array) -> BaseModel:
    if scale is not None:
        return BaseModel(name, "grader", scale.labels, scale)
    return BaseModel(name, "classifier", class_names)


def _fields(
    classes: Array, models: Sequence[BaseModel], n_objects: int, stores: Stores
) -> dict[str, Any]:
    """The fields of votes in which every model and every object counts once, and has its row."""
    return {
        "classes": classes,
        "models": Models(models),
        "n_objects": n_objects,
        "weights": np.ones(len(models)),
        "counts": ones(n_objects),
        "stores": stores,
    }


def require_unique_names(names: Sequence[str]) -> None:
    """Refuse two base models of one name."""
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise InputError(
            "classifiers",
            phrase=f"Base models must have different names, got {twice[0]!r} twice",
            remedy="Pass dicts of name -> column to name them.",
        )


def wide_ids(object_ids: Any, n_objects: int, *tables: Any) -> Array | None:
    """The names of the objects of wide tables: those given, or those in the index of pandas."""
    who, remedy = "object_ids", "One row per vote goes through Votes.from_long."
    if object_ids is None:
        who, object_ids = "The index of the table", _common_index(tables)
        remedy += " To drop an index, call reset_index(drop=True)."
    if object_ids is None:
        return None
    codes, names = name_codes(single_column(object_ids, "object_ids"), "object_ids")
    if len(codes) != n_objects or len(names) < len(codes):
        twice = plain(names[np.argmax(np.bincount(codes))])
        came = f"{len(codes):,}" if len(codes) != n_objects else f"{twice!r} twice"
        phrase = f"{who} must name each of the {n_objects:,} objects once, got {came}"
        raise InputError("object_ids", phrase=phrase, remedy=remedy)
    return names[codes]


def _common_index(tables: Sequence[Any]) -> list[Any] | None:
    """What the pandas columns among some tables call their rows."""
    parts = [[*table.values()] if isinstance(table, Mapping) else [table] for table in tables]
    indexes = [index for index in map(index_of, chain.from_iterable(parts)) if index is not None]
    if not indexes:
        return None
    if not all(index.equals(indexes[0]) for index in indexes):
        must = "must have one index in all columns of pandas"
        remedy = "Align them, or pass arrays to go by position."
        raise InputError("classifiers", must, came="different ones", remedy=remedy)
    return index_names(indexes[0])


# ---- one row per vote ----------------------------------------------------------------------------


def fields_of_long(
    objects: Any,
    voters: Any,
    labels: Any,
    object_ids: Any = None,
    classes: Any = None,
    missing: Any = None,
    scale: Any = None,
    repeats: str = "mean",
    clean: bool = False,
) -> dict[str, Any]:
    """Check and encode a long table, one row per vote."""
    require_choice("repeats", repeats, REPEATS)
    lengths = [len(part) if hasattr(part, "__len__") else 0 for part in (objects, voters, labels)]
    if len(set(lengths)) > 1:
        came = "{}, {} and {}".format(*lengths)
        phrase = f"{arg('objects')}, {arg('voters')} and {arg('labels')} must have the same length"
        raise InputError("objects", phrase=f"{phrase}, got {came}")
    object_codes, ids = _ordered_objects(single_column(objects, "objects"), object_ids)
    voter_codes, voter_labels = name_codes(single_column(voters, "voters"), "voters")
    names = [str(name) for name in voter_labels]
    absent, scales = labels_for_missing(missing), scales_of(scale, names)
    scored = [v for v, name in enumerate(names) if name in scales and scales[name].is_scores]
    if scored:
        labels = np.array(as_array(labels, "labels"), dtype=object)
    for v in scored:
        rows = voter_codes == v
        labels[rows], scales[names[v]] = scales[names[v]].rounded(labels[rows])
    column = single_column(labels, "labels", mixed=scale is not None, missing=absent)
    class_names, codes, n_outside = _ballots(column, voter_codes, names, scales, classes, clean)
    models = Models(_voter(name, scales.get(name), class_names) for name in names)
    voted = np.flatnonzero(codes < np.diff(models.offsets)[voter_codes])
    object_codes, voter_codes = object_codes[voted], voter_codes[voted]
    groups = models.offsets[voter_codes] + codes[voted]
    kept = _first_or_last(object_codes * len(names) + voter_codes, repeats)
    shape = (len(ids), models.n_groups)
    entries = whole_votes(entries_of_votes(object_codes[kept], groups[kept], shape), models)
    n_repeated = len(voted) - round(entries.sum())
    if n_repeated and repeats == "error":
        first = _first_or_last(object_codes * len(names) + voter_codes, "first")
        again = np.setdiff1d(np.arange(len(voted)), first)[0]
        voter, item = names[voter_codes[again]], plain(ids[object_codes[again]])
        raise InputError(
            "voters",
            "must have one vote per object",
            came=f"{n_repeated} more, the first by {voter!r} on {item!r}",
            remedy="Pass repeats='mean', repeats='last' or repeats='first' to allow them.",
        )
    stores = Stores(sparse=entries, n_repeated=n_repeated, n_outside=n_outside)
    return _fields(class_names, models, len(ids), stores) | {"object_ids": ids}


def _first_or_last(pairs: Array, repeats: str) -> Any:
    """Which votes count: of those with the same voter and object the first, the last or all."""
    if repeats not in ("first", "last"):
        return slice(None)
    step = 1 if repeats == "first" else -1
    return np.arange(len(pairs))[::step][np.unique(pairs[::step], return_index=True)[1]]


def _ordered_objects(column: Column, object_ids: Any) -> tuple[Array, Array]:
    """Each vote's object as a number, and the objects' names in the order asked for."""
    codes, ids = name_codes(column, "objects")
    if object_ids is None:
        return codes, ids
    order, names = name_codes(single_column(object_ids, "object_ids"), "object_ids")
    place = {label: i for i, label in enumerate(names[order].tolist())}
    unnamed = [label for label in ids.tolist() if label not in place]
    if unnamed or len(names) < len(order):
        came = f"none for {unnamed[0]!r}" if unnamed else f"{len(order)} for {len(names)} objects"
        raise InputError(
            "object_ids", "must name every object that was voted on, each once", came=came
        )
    return np.array([place[label] for label in ids.tolist()])[codes], names[order]


def _ballots(
    column: Column,
    voter_codes: Array,
    names: Sequence[str],
    scales: Mapping[str, Scale],
    classes: Any,
    clean: bool,
) -> tuple[Array, Array, int]:
    """The classes, the number of each vote's class or answer, and how many are off their scale."""
    scale_of = [scales.get(name) for name in names]
    names_class = np.array([scale is None for scale in scale_of])[voter_codes]
    named = [column.take(names_class)] if names_class.any() else []
    class_names = classes_of(named, {}, classes, "labels", clean)
    codes, n_outside = np.empty(len(voter_codes), dtype=np.int64), 0
    for scale in dict.fromkeys(scale_of):
        rows = np.array([other == scale for other in scale_of])[voter_codes]
        part = column.take(rows)
        codes[rows], off = vote_codes(part, part, class_names, scale, "labels", clean)
        n_outside += len(off)
    return class_names, codes, n_outside


# ---- weights -------------------------------------------------------------------------------------


def model_weights(weights: Any, names: list[str]) -> Array:
    """One weight per base model; models that a dict does not name have 1."""
    if isinstance(weights, Mapping):
        for name in weights.keys() - set(names):
            raise unknown_name("base model", name, names)
        weights = [weights.get(name, 1.0) for name in names]
    return non_negative(weights, "weights", len(names), "base models")


def non_negative(values: Any, argument: str, n_wanted: int, what: str) -> Array:
    """`n_wanted` finite, non-negative numbers."""
    try:
        weights = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(argument, "must hold numbers", got=values) from None
    if weights.shape != (n_wanted,):
        raise InputError(
            argument,
            f"must have one number for each of the {n_wanted} {what}",
            came=f"shape {weights.shape}",
        )
    wrong = np.flatnonzero(~(weights >= 0) | np.isinf(weights))
    if len(wrong):
        raise InputError(
            argument, "must be finite and >= 0", came=f"{weights[wrong[0]]} at position {wrong[0]}"
        )
    return weights
