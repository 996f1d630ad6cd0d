"""How votes are made: what was passed is checked and encoded once, and becomes the fields of `Votes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._checks import InputError, InputTypeError, unknown_name
from .._text import arg
from .distinct import distinct_rows
from .encoding import checked_shares, class_codes, classes_of, cluster_codes, name_codes, require_missing
from .labels import Label, plain
from .layout import BaseModel, Codes, SoftShares, entries_of_votes, frozen
from .reading import Column, Where, encode, named_columns, single_column

Array = npt.NDArray[Any]


def fields_of_columns(
    columns: Mapping[str, Any],
    clusterings: Mapping[str, Any],
    argument: str,
    classes: Sequence[Label] | Array | None,
    missing: Label | None,
) -> dict[str, Any]:
    """Check and encode columns of votes and of clusters, one per base model; 2-D ones are soft."""
    require_missing(missing)
    _require_same_objects(columns, clusterings, argument)
    require_unique_names([*columns, *clusterings])
    both = {name: (raw, argument) for name, raw in columns.items()}
    both |= {name: (raw, "clusterings") for name, raw in clusterings.items()}
    shares = {name: checked_shares(raw, Where(where, name)) for name, (raw, where) in both.items() if raw.ndim > 1}
    original = {name: encode(name, raw, where) for name, (raw, where) in both.items() if raw.ndim == 1}

    packed = None if shares else distinct_rows(list(original.values()))
    distinct, index, counts = original, None, None
    if packed is not None:
        codes, index, counts = packed
        distinct = {c.name: replace(c, raw=rows, low=0) for c, rows in zip(original.values(), codes, strict=True)}

    soft_votes = {name: shares[name] for name in columns if name in shares}
    voted = [distinct[name] for name in columns if name not in shares]
    class_names = frozen(classes_of(voted, soft_votes, classes, missing, argument))
    models: list[BaseModel] = []
    hard_codes: dict[int, Array] = {}
    for m, name in enumerate(both):
        if name in columns:
            labels = class_names
            if name not in shares:
                hard_codes[m] = frozen(class_codes(distinct[name], class_names, missing, argument, original[name]))
        elif name in shares:
            labels = np.arange(shares[name].shape[1])
        else:
            hard_codes[m], labels = cluster_codes(distinct[name], missing)
            frozen(hard_codes[m])
        models.append(BaseModel(name, "classifier" if name in columns else "clustering", frozen(labels)))

    n_objects = len(next(iter(both.values()))[0])
    by_number = {m: shares[name] for m, name in enumerate(both) if name in shares}
    return {
        "classes": class_names,
        "models": tuple(models),
        "n_objects": n_objects,
        "weights": frozen(np.ones(len(models))),
        "counts": ones(n_objects) if counts is None else frozen(counts.astype(np.float64)),
        "index": None if index is None else frozen(index),
        "hard": Codes(hard_codes),
        "soft": SoftShares.stacked(by_number) if by_number else None,
    }


def fields_of_long(
    objects: Any, voters: Any, labels: Any, object_ids: Any, classes: Sequence[Label] | Array | None, missing: Label | None
) -> dict[str, Any]:
    """Check and encode a long table, one row per vote."""
    given = {"objects": objects, "voters": voters, "labels": labels}
    lengths = [len(column) if hasattr(column, "__len__") else 0 for column in given.values()]
    if len(set(lengths)) > 1:
        came = "{}, {} and {}".format(*lengths)
        raise InputError("objects", f", {arg('voters')} and {arg('labels')} must have the same length", came=came)
    require_missing(missing)
    columns = {name: single_column(column, name) for name, column in given.items()}
    object_codes, ids = _ordered_objects(columns["objects"], object_ids)
    voter_codes, voter_labels = name_codes(columns["voters"], "voters")
    voter_names = [str(name) for name in voter_labels]
    column = columns["labels"]
    class_names = frozen(classes_of([column], {}, classes, missing, "labels"))
    codes = class_codes(column, class_names, missing, "labels", column)
    if classes is None and not (codes < len(class_names)).any():
        raise no_votes("labels")
    return {
        "classes": class_names,
        "models": tuple(BaseModel(name, "classifier", class_names) for name in voter_names),
        "n_objects": len(ids),
        "weights": frozen(np.ones(len(voter_names))),
        "object_ids": ids,
        "counts": ones(len(ids)),
        "sparse": _long_entries(object_codes, voter_codes, codes, len(class_names), ids, voter_names),
    }


# ---- columns ---------------------------------------------------------------------------------------------------------


def cluster_columns(clusterings: Any, first: int = 0) -> dict[str, Any]:
    """Return the columns of clusterings by name; there may be none."""
    return {} if clusterings is None else named_columns(clusterings, "clusterings", "clustering", first)


def no_votes(argument: str) -> InputError:
    """Return the error for votes that are all missing."""
    remedy = f"Pass {arg('classes', ...)} to make votes without any."
    return InputError(argument, "must hold at least one vote", came="only missing ones", remedy=remedy)


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


def _require_same_objects(columns: Mapping[str, Any], clusterings: Mapping[str, Any], argument: str) -> None:
    if columns and clusterings:
        n_one, n_other = len(next(iter(columns.values()))), len(next(iter(clusterings.values())))
        if n_one != n_other:
            came = f"{n_one} and {n_other} rows"
            raise InputError(argument, f"and {arg('clusterings')} must describe the same objects", came=came)


# ---- long tables -----------------------------------------------------------------------------------------------------


def _ordered_objects(column: Column, object_ids: Any) -> tuple[Array, Array]:
    """Return each vote's object as a number, and the objects' names in the order asked for."""
    codes, ids = name_codes(column, "objects")
    if object_ids is None:
        return codes, frozen(ids)
    given = single_column(object_ids, "object_ids")
    order, sorted_ids = name_codes(given, "object_ids")
    if len(sorted_ids) < len(order):
        raise InputError("object_ids", "must not repeat", came=f"{len(order)} names for {len(sorted_ids)} objects")
    place = {label: i for i, label in enumerate(sorted_ids[order].tolist())}
    for label in ids.tolist():
        if label not in place:
            raise InputError("object_ids", "must name every object that was voted on", came=f"none for {label!r}")
    return np.array([place[label] for label in ids.tolist()])[codes], frozen(sorted_ids[order])


def _long_entries(
    objects: Array, voters: Array, codes: Array, n_classes: int, ids: Array, names: Sequence[str]
) -> sparse.csr_array:
    """Return one entry per vote; a voter may vote on an object once."""
    voted = codes < n_classes
    objects, voters, codes = objects[voted], voters[voted], codes[voted]
    pair = objects * len(names) + voters
    order = np.argsort(pair)
    twice = np.flatnonzero(np.diff(pair[order]) == 0)
    if len(twice):
        row, voter = divmod(int(pair[order][twice[0]]), len(names))
        raise InputError(
            "voters",
            "must have one vote per object",
            came=f"{len(twice)} more, the first by {names[voter]!r} on {plain(ids[row])!r}",
            remedy="Keep one of them.",
        )
    return entries_of_votes(objects[order], (voters * n_classes + codes)[order], (len(ids), len(names) * n_classes))


# ---- weights ---------------------------------------------------------------------------------------------------------


def ones(n: int) -> Array:
    """Return n ones that take no memory."""
    return np.broadcast_to(np.float64(1.0), (n,))


def model_weights(weights: Any, names: list[str]) -> Array:
    """Return one weight per base model; models that a dict does not name have 1."""
    if not isinstance(weights, Mapping):
        return non_negative(weights, "weights", len(names), "base models")
    for name in weights:
        if name not in names:
            raise unknown_name("base model", name, names)
    return non_negative([weights.get(name, 1.0) for name in names], "weights", len(names), "base models")


def non_negative(values: Any, argument: str, n_wanted: int, what: str) -> Array:
    """Return `n_wanted` finite, non-negative numbers."""
    try:
        weights = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(argument, "must hold numbers", got=values) from None
    if weights.shape != (n_wanted,):
        came = f"shape {weights.shape}" if weights.ndim else repr(values)
        raise InputError(argument, f"must have one number for each of the {n_wanted} {what}", came=came)
    wrong = ~(weights >= 0) | np.isinf(weights)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(argument, "must be finite and >= 0", came=f"{weights[at]} at position {at}")
    return weights
