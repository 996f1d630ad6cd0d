"""How votes are made: what was passed is checked and encoded once, and becomes the fields of `Votes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from .._checks import InputError, InputTypeError, require_choice, unknown_name
from .._text import arg
from .._typing import Array
from ..kernels import compiled
from . import encoding
from .derived import ones
from .distinct import SAMPLE, distinct_entries, distinct_rows, rows_repeat, sampled_rows
from .labels import Label, plain
from .layout import (
    SoftShares,
    Stores,
    entries_from,
    entries_of_votes,
)
from .models import BaseModel, Models
from .reading import Column, Where, encode, named_columns, single_column
from .scale import Scale, scales_of

SPARSE_FROM = 0.75  # share of missing votes from which SPARSE_MODELS classifiers or more are kept as a sparse matrix
SPARSE_MODELS = 16
Repeats = Literal["mean", "last", "first", "error"]
REPEATS = get_args(Repeats)


def fields_of_columns(
    columns: Mapping[str, Any],
    clusterings: Mapping[str, Any],
    argument: str,
    classes: Sequence[Label] | Array | None,
    missing: Label | None,
    scale: Any = None,
) -> dict[str, Any]:
    """Check and encode columns of votes and of clusters, one per base model; 2-D ones are soft."""
    absent = encoding.labels_for_missing(missing)
    scales = scales_of(scale, list(columns))
    _require_same_objects(columns, clusterings, argument)
    n_classes = (
        len(classes) if isinstance(classes, Sized) and getattr(classes, "ndim", 1) > 0 else None
    )
    _require_same_width(
        {name: raw for name, raw in columns.items() if name not in scales}, argument, n_classes
    )
    require_unique_names([*columns, *clusterings])
    both = {name: (raw, argument) for name, raw in columns.items()}
    both |= {name: (raw, "clusterings") for name, raw in clusterings.items()}
    shares = {
        name: encoding.checked_shares(raw, Where(where, name))
        for name, (raw, where) in both.items()
        if raw.ndim > 1
    }
    original = {
        name: encode(name, raw, where, name in scales)
        for name, (raw, where) in both.items()
        if raw.ndim == 1
    }
    for name in scales.keys() & shares.keys():
        _require_answers(shares[name], scales[name], Where(argument, name))

    packed, distinct = None if shares else distinct_rows(list(original.values())), original
    if packed is not None:
        codes, index, counts = packed
        distinct = {
            c.name: replace(c, raw=rows, low=0)
            for c, rows in zip(original.values(), codes, strict=True)
        }

    soft_votes = {name: shares[name] for name in columns if name in shares and name not in scales}
    voted = [distinct[name] for name in columns if name not in shares and name not in scales]
    _require_classes(classes, voted, soft_votes, scales)
    class_names = encoding.classes_of(voted, soft_votes, classes, absent, argument)
    clusters = {
        name: encoding.cluster_codes(distinct[name], absent)
        for name in clusterings
        if name not in shares
    }

    def model_of(name: str) -> BaseModel:
        if name in scales:
            return _grader(name, scales[name])
        if name in columns:
            return BaseModel(name, "classifier", class_names)
        return BaseModel(
            name,
            "clustering",
            clusters[name][1] if name in clusters else np.arange(shares[name].shape[1]),
        )

    def codes_of(name: str) -> Array:
        if name in clusters:
            return clusters[name][0]
        if name in scales:
            return encoding.grade_codes(
                distinct[name], scales[name], absent, argument, original[name]
            )
        return encoding.class_codes(distinct[name], class_names, absent, argument, original[name])

    models = [model_of(name) for name in both]
    hard_codes = {m: codes_of(name) for m, name in enumerate(both) if name not in shares}
    n_objects = len(next(iter(both.values()))[0])
    by_number = {m: shares[name] for m, name in enumerate(both) if name in shares}
    stores = Stores(hard_codes, SoftShares.of(by_number))
    fields = _fields(class_names, models, n_objects, stores)
    return (
        fields if packed is None else fields | {"index": index, "counts": counts.astype(np.float64)}
    )


def fields_of_crowd(
    table: Any, classes: Sequence[Label] | Array | None, missing: Label | None
) -> dict[str, Any] | None:
    """Encode a large row-major table of integers in which few vote on each object: its votes are found in one pass over it.

    None says that it is another table, or that something is wrong with it: then it is read column
    by column.
    """
    if (
        not isinstance(table, np.ndarray)
        or isinstance(table, np.ma.MaskedArray)
        or table.ndim != 2
        or missing is None
    ):
        return None
    n_objects, n_voters = table.shape
    if (
        table.dtype.kind not in "iu"
        or not table.flags.c_contiguous
        or n_objects <= SAMPLE
        or n_voters < SPARSE_MODELS
    ):
        return None
    absent = encoding.labels_for_missing(missing)
    found = _votes_in(table, [label for kind, label in absent if kind == "int"])
    if found is None:
        return None
    starts, voters, labels = found
    column = encode("classifiers", labels, "classifiers")
    class_names = encoding.classes_of([column], {}, classes, absent, "classifiers")
    if (
        class_names.dtype.kind not in "iu"
        or not np.isin(np.asarray(column.values)[column.seen], class_names).all()
    ):
        return None
    voters *= len(class_names)
    voters += encoding.class_codes(column, class_names, absent, "classifiers", column)
    entries = entries_from(starts, voters, (n_objects, n_voters * len(class_names)))
    if rows_repeat(distinct_entries(entries[sampled_rows(n_objects)]).n_codes, n_objects):
        return None
    models = [BaseModel(f"classifier_{m}", "classifier", class_names) for m in range(n_voters)]
    return _fields(class_names, models, n_objects, Stores(sparse=entries))


def _votes_in(table: Array, absent: Sequence[int]) -> tuple[Array, Array, Array] | None:
    """Return where the votes of each row begin, and the voter and the label of each; None if more than a quarter are there."""
    if not absent:
        return None
    voted = table != absent[0]
    for label in absent[1:]:
        voted &= table != label
    n_votes = np.count_nonzero(voted)
    if not 0 < n_votes <= (1 - SPARSE_FROM) * table.size:
        return None
    width = np.int32 if voted.size < 1 << 31 else np.int64
    starts, loops = np.zeros(len(table) + 1, dtype=width), compiled(table.size)
    if loops is not None:
        voters, labels = (
            np.empty(n_votes + 1, dtype=width),
            np.empty(n_votes + 1, dtype=table.dtype),
        )
        loops.list_votes(table, voted, starts, voters, labels)
        return starts, voters[:-1], labels[:-1]
    np.cumsum(np.count_nonzero(voted, axis=1), out=starts[1:])
    at = np.flatnonzero(voted)
    return starts, (at % table.shape[1]).astype(width), table.ravel()[at]


def _require_same_width(columns: Mapping[str, Any], argument: str, n_classes: int | None) -> None:
    """Refuse soft votes for other numbers of classes, before somebody wonders why their rows do not sum to 1."""
    widths = {name: raw.shape[1] for name, raw in columns.items() if raw.ndim > 1}
    transposed = [
        name
        for name, raw in columns.items()
        if raw.ndim > 1 and len(raw) == n_classes and raw.shape[1] != n_classes
    ]
    if transposed:
        came = f"shape {columns[transposed[0]].shape} for {transposed[0]!r}"
        must = f"must have one row per object and one column for each of the {n_classes} classes"
        raise InputError(argument, must, came=came, remedy="Transpose it.")
    for name, width in widths.items():
        first = next(iter(widths))
        if width != widths[first]:
            came = f"{widths[first]:,} for {first!r} and {width:,} for {name!r}"
            raise InputError(
                argument,
                "must have one column per class",
                came=came,
                remedy="Add columns of 0 where one is missing.",
            )


def _require_answers(shares: Array, scale: Scale, where: Where) -> None:
    if shares.shape[1] != len(scale.labels):
        raise where.error(
            "must have one column per answer of the scale",
            f"{shares.shape[1]} for {len(scale.labels)}",
        )


def fields_of_long(
    objects: Any,
    voters: Any,
    labels: Any,
    object_ids: Any,
    classes: Sequence[Label] | Array | None,
    missing: Label | None,
    scale: Any = None,
    repeats: str = "mean",
) -> dict[str, Any]:
    """Check and encode a long table, one row per vote."""
    require_choice("repeats", repeats, REPEATS)
    given = {"objects": objects, "voters": voters, "labels": labels}
    lengths = [len(column) if hasattr(column, "__len__") else 0 for column in given.values()]
    if len(set(lengths)) > 1:
        came = "{}, {} and {}".format(*lengths)
        three = f"{arg('objects')}, {arg('voters')} and {arg('labels')}"
        raise InputError("objects", phrase=f"{three} must have the same length, got {came}")
    absent = encoding.labels_for_missing(missing)
    columns = {
        name: single_column(column, name, mixed=scale is not None and name == "labels")
        for name, column in given.items()
    }
    object_codes, ids = _ordered_objects(columns["objects"], object_ids)
    voter_codes, voter_labels = encoding.name_codes(columns["voters"], "voters")
    voter_names = [str(name) for name in voter_labels]
    scales = scales_of(scale, voter_names)
    class_names, models, codes = _long_models(
        columns["labels"], voter_codes, voter_names, scales, classes, absent
    )
    voted = np.flatnonzero(codes >= 0)
    if classes is None and not len(voted):
        raise no_votes("labels")
    offsets = Models(models).offsets
    pairs = object_codes[voted] * len(voter_names) + voter_codes[voted]
    kept, share, n_repeated = _once_each(pairs, codes[voted], repeats, ids, voter_names)
    objects, groups = object_codes[voted[kept]], (offsets[voter_codes] + codes)[voted[kept]]
    entries = entries_of_votes(objects, groups, (len(ids), int(offsets[-1])), share)
    stores = Stores(sparse=entries, n_repeated=n_repeated)
    return _fields(class_names, models, len(ids), stores) | {"object_ids": ids}


def _fields(
    classes: Array, models: Sequence[BaseModel], n_objects: int, stores: Stores
) -> dict[str, Any]:
    """Return the fields of votes in which every model and every object counts once, and has a row of its own."""
    weights = np.ones(len(models))
    fields = {
        "classes": classes,
        "models": Models(models),
        "n_objects": n_objects,
        "weights": weights,
    }
    return fields | {"counts": ones(n_objects), "stores": stores}


def _require_classes(
    classes: Any, voted: Sequence[Any], soft: Mapping[str, Any], scales: Mapping[str, Scale]
) -> None:
    if scales and classes is None and not voted and not soft:
        raise InputError(
            "classes",
            "must say what the ends of a scale mean, from low to high",
            came="none",
            remedy=f"Pass {arg('classes', ['bad', 'good'])}, or whatever they are called.",
        )


def _grader(name: str, scale: Scale) -> BaseModel:
    return BaseModel(name, "grader", scale.labels, scale.positions, scale.direction != "learn")


# ---- columns -------------------------------------------------------------------------------------


def cluster_columns(clusterings: Any, first: int = 0) -> dict[str, Any]:
    """Return the columns of clusterings by name; there may be none."""
    return (
        {}
        if clusterings is None
        else named_columns(clusterings, "clusterings", "clustering", first)
    )


def no_votes(argument: str) -> InputError:
    """Return the error for votes that are all missing."""
    return InputError(argument, "must hold at least one vote", came="only missing ones")


def require_unique_names(names: Iterable[str]) -> None:
    """Refuse two base models of one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(
                "classifiers",
                phrase=f"Base models must have different names, got {name!r} twice",
                remedy="Pass dicts of name -> column to name them.",
            )
        seen.add(name)


def _require_same_objects(
    columns: Mapping[str, Any], clusterings: Mapping[str, Any], argument: str
) -> None:
    if columns and clusterings:
        n_one, n_other = len(next(iter(columns.values()))), len(next(iter(clusterings.values())))
        if n_one != n_other:
            came = f"{n_one} and {n_other} rows"
            raise InputError(
                argument, f"and {arg('clusterings')} must describe the same objects", came=came
            )


# ---- long tables ---------------------------------------------------------------------------------


def _ordered_objects(column: Column, object_ids: Any) -> tuple[Array, Array]:
    """Return each vote's object as a number, and the objects' names in the order asked for."""
    codes, ids = encoding.name_codes(column, "objects")
    if object_ids is None:
        return codes, ids
    given = single_column(object_ids, "object_ids")
    order, sorted_ids = encoding.name_codes(given, "object_ids")
    if len(sorted_ids) < len(order):
        raise InputError(
            "object_ids",
            "must not repeat",
            came=f"{len(order)} names for {len(sorted_ids)} objects",
        )
    place = {label: i for i, label in enumerate(sorted_ids[order].tolist())}
    for label in ids.tolist():
        if label not in place:
            raise InputError(
                "object_ids", "must name every object that was voted on", came=f"none for {label!r}"
            )
    return np.array([place[label] for label in ids.tolist()])[codes], sorted_ids[order]


def _long_models(
    column: Column,
    voter_codes: Array,
    names: Sequence[str],
    scales: Mapping[str, Scale],
    classes: Sequence[Label] | Array | None,
    missing: encoding.Missing,
) -> tuple[Array, list[BaseModel], Array]:
    """Return the classes, the voters, and the number of each vote's class or answer (-1: missing).

    Voters with the same scale are read together; those without any vote for classes.
    """
    graded = np.array([name in scales for name in names], dtype=bool)[voter_codes]
    for_classes = _part(column, ~graded)
    _require_classes(classes, [] if graded.all() else [for_classes], {}, scales)
    class_names = encoding.classes_of([for_classes], {}, classes, missing, "labels")
    codes = np.full(len(voter_codes), -1, dtype=np.int64)
    own = encoding.class_codes(for_classes, class_names, missing, "labels", for_classes)
    codes[~graded] = np.where(own == len(class_names), -1, own.astype(np.int64))
    for scale in dict.fromkeys(scales.values()):
        rows = np.isin(
            voter_codes, [v for v, name in enumerate(names) if scales.get(name) == scale]
        )
        part = _part(column, rows)
        own = encoding.grade_codes(part, scale, missing, "labels", part)
        codes[rows] = np.where(own == len(scale.labels), -1, own.astype(np.int64))
    models = [
        _grader(name, scales[name])
        if name in scales
        else BaseModel(name, "classifier", class_names)
        for name in names
    ]
    return class_names, models, codes


def _part(column: Column, rows: Array) -> Column:
    return column if rows.all() else replace(column, raw=column.raw[rows])


def _once_each(
    pairs: Array, codes: Array, repeats: str, ids: Array, names: Sequence[str]
) -> tuple[Array, Array | None, int]:
    """Return the votes to keep, sorted by object and voter; the share of one vote that each is; and how many were repeats.

    `pairs` numbers object and voter of each vote, `codes` what it says. A repeat is a further vote
    of a voter on the same object. "mean" gives each of n such votes the share 1 / n.
    """
    order = np.argsort(pairs, kind="stable")
    new = np.diff(pairs[order], prepend=-1) != 0
    n_repeated = int((~new).sum())
    if not n_repeated:
        return order, None, 0
    if repeats == "error":
        row, voter = divmod(int(pairs[order][np.argmin(new)]), len(names))
        raise InputError(
            "voters",
            "must have one vote per object",
            came=f"{n_repeated} more, the first by {names[voter]!r} on {plain(ids[row])!r}",
            remedy=f"Pass {arg('repeats', 'mean')}, {arg('repeats', 'last')} or {arg('repeats', 'first')} to allow them.",
        )
    if repeats in ("first", "last"):
        return order[new if repeats == "first" else np.append(new[1:], True)], None, n_repeated
    run = np.cumsum(new) - 1
    size = np.bincount(run)
    key = (
        run * (int(codes.max(initial=0)) + 1) + codes[order]
    )  # votes that repeat the same label are one entry
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    return order[first], count / size[run[first]], n_repeated


# ---- weights -------------------------------------------------------------------------------------


def model_weights(weights: Any, names: list[str]) -> Array:
    """Return one weight per base model; models that a dict does not name have 1."""
    if not isinstance(weights, Mapping):
        return non_negative(weights, "weights", len(names), "base models")
    known = set(names)
    for name in weights:
        if name not in known:
            raise unknown_name("base model", name, names)
    return non_negative(
        [weights.get(name, 1.0) for name in names], "weights", len(names), "base models"
    )


def non_negative(values: Any, argument: str, n_wanted: int, what: str) -> Array:
    """Return `n_wanted` finite, non-negative numbers."""
    try:
        weights = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(argument, "must hold numbers", got=values) from None
    if weights.shape != (n_wanted,):
        came = f"shape {weights.shape}" if weights.ndim else repr(values)
        raise InputError(
            argument, f"must have one number for each of the {n_wanted} {what}", came=came
        )
    wrong = ~(weights >= 0) | np.isinf(weights)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(
            argument, "must be finite and >= 0", came=f"{weights[at]} at position {at}"
        )
    return weights
