"""How votes are made: what was passed is checked once, and becomes the fields of `Votes`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from .._checks import InputError, InputTypeError, require_choice, unknown_name
from .._text import arg
from .._typing import Array
from .derived import ones
from .distinct import distinct_rows
from .encoding import classes_of, cluster_codes, name_codes, require_width, vote_codes
from .labels import Missing, labels_for_missing, plain
from .layout import SoftShares, Stores, entries_of_votes, vote_numbers, whole_votes
from .models import BaseModel, Models
from .reading import Column, encode, require_same_objects, single_column
from .scale import Scale, scales_of
from .shares import checked_shares

SPARSE_FROM = 0.75  # share of missing votes from which many classifiers are kept as sparse entries
SPARSE_MODELS = 16  # how many are many
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
) -> dict[str, Any]:
    """Check and encode columns of votes and of clusters, one per base model; 2-D ones are soft."""
    absent, scales = labels_for_missing(missing), scales_of(scale, list(columns))
    require_unique_names([*columns, *clusterings])
    require_same_objects({**columns, **clusterings}, argument)
    both = {name: (raw, argument) for name, raw in columns.items()}
    both |= {name: (raw, "clusterings") for name, raw in clusterings.items()}
    soft = {name: raw for name, (raw, _) in both.items() if raw.ndim > 1}
    columns_read = {
        name: encode(name, raw, where, name in scales)
        for name, (raw, where) in both.items()
        if name not in soft
    }
    distinct, rows = columns_read, {}
    packed = None if soft else distinct_rows([(c.codes, c.n_codes) for c in distinct.values()])
    if packed is not None:
        rows = {"index": packed[1], "counts": packed[2].astype(np.float64)}
        distinct = {
            name: replace(column, codes=codes)
            for (name, column), codes in zip(columns_read.items(), packed[0], strict=True)
        }
    named = [name for name in columns if name not in scales]
    voted = [distinct[name] for name in named if name not in soft]
    tables = {name: soft[name] for name in named if name in soft}
    _require_ends(classes, bool(named), scales)
    class_names = classes_of(voted, tables, classes, absent, argument, clean)

    models = []
    hard: dict[int, Array] = {}
    shares: dict[int, Array] = {}
    for m, (name, (raw, where)) in enumerate(both.items()):
        labels = np.arange(raw.shape[1] if name in soft else 0)
        if name in soft:
            shares[m] = checked_shares(raw, where, name)
        elif name in clusterings:
            hard[m], labels = cluster_codes(distinct[name], absent)
        else:
            read, scaled = (distinct[name], columns_read[name]), scales.get(name)
            hard[m] = vote_codes(*read, class_names, scaled, absent, argument, clean)
        if name in soft and name in scales:
            require_width(name, raw, scales[name].labels, argument)
        is_cluster = name in clusterings
        voter = None if is_cluster else _voter(name, scales, class_names)
        models.append(voter or BaseModel(name, "clustering", labels))
    n_objects = len(next(iter(both.values()))[0])
    fields = _fields(class_names, models, n_objects, Stores(hard, SoftShares.of(shares))) | rows
    return fields | {"stores": _with_crowd(**fields)}


def _with_crowd(models: Models, counts: Array, stores: Stores, **fields: Any) -> Stores:
    """The stores with many classifiers that hardly vote kept as sparse entries."""
    crowd = [m for m in stores.hard if models[m].kind == "classifier"]
    if len(crowd) < SPARSE_MODELS:
        return stores
    n_votes = sum(counts @ (stores.hard[m] < models[m].n_groups) for m in crowd)
    if n_votes > (1 - SPARSE_FROM) * len(crowd) * fields["n_objects"]:
        return stores
    return stores.with_entries_of(crowd, models)


def _voter(name: str, scales: Mapping[str, Scale], class_names: Array) -> BaseModel:
    if name in scales:
        return scales[name].grader(name)
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


def _require_ends(classes: Any, is_named: Any, scales: Mapping[str, Scale]) -> None:
    if scales and classes is None and not is_named:
        raise InputError(
            "classes",
            "must say what the ends of a scale mean, from low to high",
            came="none",
            remedy=f"Pass {arg('classes', ['bad', 'good'])}, or whatever they are called.",
        )


def require_unique_names(names: Sequence[str]) -> None:
    """Refuse two base models of one name."""
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise InputError(
            "classifiers",
            phrase=f"Base models must have different names, got {twice[0]!r} twice",
            remedy="Pass dicts of name -> column to name them.",
        )


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
        three = f"{arg('objects')}, {arg('voters')} and {arg('labels')}"
        came = "{}, {} and {}".format(*lengths)
        raise InputError("objects", phrase=f"{three} must have the same length, got {came}")
    absent = labels_for_missing(missing)
    object_codes, ids = _ordered_objects(single_column(objects, "objects"), object_ids)
    voter_codes, voter_labels = name_codes(single_column(voters, "voters"), "voters")
    column = single_column(labels, "labels", mixed=scale is not None)
    names = [str(name) for name in voter_labels]
    scales = scales_of(scale, names)
    class_names, codes = _ballots(column, voter_codes, names, scales, classes, absent, clean)
    models = Models(_voter(name, scales, class_names) for name in names)
    n_groups = np.diff(models.offsets)
    voted = np.flatnonzero(codes < n_groups[voter_codes])
    object_codes, voter_codes, codes = object_codes[voted], voter_codes[voted], codes[voted]
    kept = _first_or_last(object_codes * len(names) + voter_codes, repeats)
    groups = models.offsets[voter_codes] + codes
    shape = (len(ids), models.n_groups)
    entries = entries_of_votes(object_codes[kept], groups[kept], shape)
    n_votes = len(np.unique(vote_numbers(entries, models)))
    n_repeated = len(voted) - n_votes
    if n_repeated and repeats == "error":
        _, first = np.unique(object_codes * len(names) + voter_codes, return_index=True)
        again = np.setdiff1d(np.arange(len(voted)), first)[0]
        raise repeated_error(n_repeated, names[voter_codes[again]], ids[object_codes[again]])
    stores = Stores(sparse=whole_votes(entries, models), n_repeated=n_repeated)
    return _fields(class_names, models, len(ids), stores) | {"object_ids": ids}


def repeated_error(n_repeated: int, voter: str, item: Any) -> InputError:
    """The error for voters who vote on an object again."""
    others = ", ".join(str(arg("repeats", choice)) for choice in ("mean", "last"))
    return InputError(
        "voters",
        "must have one vote per object",
        came=f"{n_repeated} more, the first by {voter!r} on {plain(item)!r}",
        remedy=f"Pass {others} or {arg('repeats', 'first')} to allow them.",
    )


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
    missing: Missing,
    clean: bool,
) -> tuple[Array, Array]:
    """The classes, and the number of each vote's class or answer, behind all if it is missing."""
    scale_of = [scales.get(name) for name in names]
    names_class = np.array([scale is None for scale in scale_of])[voter_codes]
    _require_ends(classes, names_class.any(), scales)
    named = [column.take(names_class)]
    class_names = classes_of(named, {}, classes, missing, "labels", clean)
    codes = np.empty(len(voter_codes), dtype=np.int64)
    for scale in dict.fromkeys(scale_of):
        rows = np.array([other == scale for other in scale_of])[voter_codes]
        part = column.take(rows)
        codes[rows] = vote_codes(part, part, class_names, scale, missing, "labels", clean)
    return class_names, codes


def fields_of_few_votes(table: Any, missing: Any) -> dict[str, Any] | None:
    """Encode a table of integers in which few vote on each object: only its votes are read.

    None says that it is another table.
    """
    absent = [label for kind, label in labels_for_missing(missing) if kind == "int"]
    if not absent or type(table) is not np.ndarray or table.dtype.kind not in "iu":
        return None
    if table.ndim != 2 or table.shape[1] < SPARSE_MODELS:
        return None
    place = np.flatnonzero(np.logical_and.reduce([table != label for label in absent]))
    if not 0 < len(place) <= (1 - SPARSE_FROM) * table.size:
        return None
    voters = place % table.shape[1]
    column = encode("classifiers", table.ravel()[place], "classifiers")
    class_names = classes_of([column], {}, None, frozenset(), "classifiers")
    codes = vote_codes(column, column, class_names, None, frozenset(), "classifiers")
    models = [
        BaseModel(f"classifier_{m}", "classifier", class_names) for m in range(table.shape[1])
    ]
    starts = np.searchsorted(place, np.arange(0, table.size + 1, table.shape[1]))
    parts = (np.ones(len(place)), voters * len(class_names) + codes, starts)
    entries = sparse.csr_array(parts, shape=(len(table), len(models) * len(class_names)))
    return _fields(class_names, models, len(table), Stores(sparse=entries))


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
