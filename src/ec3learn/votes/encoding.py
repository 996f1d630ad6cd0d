"""Columns become numbers of classes, answers, clusters and objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._checks import InputError, InputRowsError, InputTypeError
from .._table import Table
from .._text import arg, count, listed
from .._typing import Array
from .labels import (
    KINDS,
    Label,
    Scale,
    cleaned,
    is_missing,
    kind_of,
    label_array,
    label_list,
    plain,
)
from .layout import smallest_uint
from .reading import Column, as_array, frame_of, index_names, index_of, single_column

KNOWN = (
    "an array with one label per object, None where there is none, a dict of object -> label, "
    "or a pair (objects, labels)"
)
CHOSEN = ("label", "vote")  # goals of `ask` that choose objects, so that no chance drew them
WHOLE = re.compile(r"[+-]?\d{1,18}(\.0*)?")


# ---- classes -------------------------------------------------------------------------------------


def classes_of(
    columns: Sequence[Column],
    tables: Mapping[str, Array],
    classes: Any,
    argument: str,
    clean: bool = False,
) -> Array:
    """The classes: those that are named, or those voted for, sorted.

    Soft votes (`tables`) must have a column for each.
    """
    names: list[Label] = []
    if classes is None:
        labels = [plain(column.labels[code]) for column in columns for code in column.seen]
        voted = sorted({_class_key(label, clean) for label in labels})
        names, first = [name for _, name in voted], dict(reversed(voted))
        if len(first) > 1:
            raise InputTypeError(
                argument,
                "must have labels of one kind",
                came=" and ".join(f"{kind} ({first[kind]!r})" for kind in sorted(first)),
                remedy="Convert them to one kind first.",
            )
    if classes is None and tables:
        n_columns = next(iter(tables.values())).shape[1]
        if not names or (kind_of(names[0]) == "int" and names[0] >= 0 and names[-1] < n_columns):
            names = list(range(n_columns))
    if classes is None and not names:
        if columns:
            raise InputError(argument, "must hold at least one vote", came="only missing ones")
        remedy = f"Pass {arg('classes', ['bad', 'good'])}, or whatever they are called."
        must = "must say what the ends of a scale mean, from low to high"
        raise InputError("classes", must, came="none", remedy=remedy)
    array = label_array(names if classes is None else label_list("classes", classes))
    for name, table in tables.items():
        require_width(name, table, array, argument)
    return array


def require_width(name: str, table: Array, groups: Array, argument: str) -> None:
    """Refuse a table of shares with too few or too many columns."""
    if table.ndim != 2 or table.shape[1] != len(groups):
        columns = f"shape {table.shape}" if table.ndim < 2 else count(table.shape[1], "column")
        remedy = f"Pass {arg('classes', ...)} in the order of the columns." * (argument != "prior")
        raise InputError(
            argument,
            "must have one row per object and one column per class",
            came=f"{columns} of {name!r} for {listed(groups)}",
            remedy="Transpose it." if len(table) == len(groups) else remedy,
        )


def vote_codes(
    column: Column,
    original: Column,
    classes: Array,
    scale: Scale | None,
    argument: str,
    clean: bool = False,
) -> tuple[Array, Array]:
    """The number of each vote's class or answer, behind all if missing; who is off the scale.

    `column` may hold the distinct rows only; `original` has every object, so that an error can name
    the row, and answers off the scale that are missing can be counted.
    """
    names = (classes if scale is None else scale.labels).tolist()
    form = _answer if scale is not None else partial(_class_key, clean=clean)
    lookup = _places(column, names, form)
    foreign = lookup < 0
    if foreign.any() and (scale is None or scale.outside == "error"):
        raise _foreign_error(argument, original, np.flatnonzero(foreign), names, scale)
    lookup[foreign] = len(names)
    outside = np.flatnonzero(foreign[original.codes] if foreign.any() else [])
    return np.take(lookup.astype(smallest_uint(len(names) + 1)), column.codes), outside


def _places(column: Column, names: Sequence[Label], form: Callable[[Label], Any]) -> Array:
    """The place of each label among the names, in this form: behind them if missing, -1 if none."""
    place = {form(name): number for number, name in enumerate(names)}
    lookup = np.full(column.n_codes, len(names))
    labels = [plain(column.labels[code]) for code in column.seen]
    lookup[column.seen] = [place.get(form(label), -1) for label in labels]
    return lookup


def _class_key(label: Label, clean: bool = False) -> tuple[str, Label]:
    return kind_of(label), cleaned(label) if clean else label


def _answer(label: Label) -> Any:
    """How answers on a scale are compared: 4, "4", "4.0" and " 4" are one answer.

    Labels of classes are taken as they are, for there 4 and "4" may be two.
    """
    text = str(label).strip()
    return int(text.partition(".")[0]) if WHOLE.fullmatch(text) else text


def _foreign_error(
    argument: str, column: Column, foreign: Array, names: list[Label], scale: Scale | None
) -> InputRowsError:
    """The error about labels that are neither classes nor answers."""
    where = f" in column {column.name!r}" if column.name != argument else ""
    must, more, remedy = f"must hold classes, {listed(names)}", "like", ""
    if scale is not None:
        must, more = f"must hold answers of the scale, {listed(names, 12)}", "off"
        if scale.is_scores:
            must = f"must hold scores from {scale.values:g} to {scale.unordered:g}"
        remedy = f", or a scale with {arg('outside', 'missing')} for all such answers"

    def tell(row: int, place: str, n: int) -> tuple[str, str]:
        label = plain(column.labels[int(column.codes[row])])
        others = f" and {n - 1:,} more {more} it" if n > 1 else ""
        came = f"{label!r} at {place}{where}{others}"
        return came, f"Pass {arg('missing', label)} if it means no vote{remedy}."

    rows = np.flatnonzero(np.isin(column.codes, foreign))
    return InputRowsError(argument, must, rows.tolist(), tell)


# ---- clusters and names --------------------------------------------------------------------------


def label_codes(column: Column) -> tuple[Array, Array]:
    """The number of each object's label among those that occur, and these; behind them: missing."""
    used = column.seen
    lookup = np.full(column.n_codes, len(used), dtype=smallest_uint(len(used) + 1))
    lookup[used] = np.arange(len(used))
    is_array = isinstance(column.labels, np.ndarray)
    labels = column.labels[used] if is_array else label_array([column.labels[i] for i in used])
    return np.take(lookup, column.codes), labels


def name_codes(column: Column, argument: str) -> tuple[Array, Array]:
    """Names (of objects, of voters) as numbers in sorted order, and the names."""
    is_gap = column.codes == len(column.labels)
    if is_gap.any():
        raise InputError(
            argument,
            "must not be missing",
            came=f"a missing value at row {int(np.argmax(is_gap))}",
            remedy="Leave that row out.",
        )
    codes, names = label_codes(column)
    return codes.astype(np.int64), names


# ---- known labels, and numbers of objects --------------------------------------------------------


def draw_of(known: Any) -> list[tuple[Any, ...]] | None:
    """The objects, labels and chances in the labelled rows of a table that `ask` made.

    The chance to be drawn is 0 for an object that was chosen, and NaN if it is unknown. None says
    that this is no such table: it has the columns label, and chance or goal.
    """
    columns = known.columns if isinstance(known, Table) else {}
    if not isinstance(known, (Table, dict)) and (frame := frame_of(known)) is not None:
        columns = {name: frame[name].to_list() for name in frame.columns}
    if "label" not in columns or not {"chance", "goal"} & set(columns):
        return None
    names = columns.get("object", next(iter(columns.values())))
    nothing = [None] * len(names)
    chances = [
        (0.0 if goal in CHOSEN else np.nan) if is_missing(chance) or chance == "" else float(chance)
        for chance, goal in zip(
            columns.get("chance", nothing), columns.get("goal", nothing), strict=True
        )
    ]
    rows = zip(map(plain, names), map(plain, columns["label"]), chances, strict=True)
    labelled = [row for row in rows if not is_missing(row[1]) and row[1] != ""]
    return list(zip(*labelled, strict=True)) or [(), (), ()]


def known_codes(
    known: Any, classes: Array, n_objects: int, object_ids: Array | None, argument: str = "known"
) -> Array:
    """The class number of each object whose label is known, -1 for the others.

    `known` is an array with missing values, a dict of object -> label, a pair (objects, labels), or
    the table of `Consensus.ask` with labels; errors call it `argument`.
    """
    names, labels = _pairs_of(known, n_objects, object_ids, argument)
    if labels is not None and not len(labels) and not len(names):
        return np.full(n_objects, -1)
    column = single_column(known if labels is None else labels, argument, KNOWN)
    if len(column.codes) != len(names):
        raise InputError(
            argument,
            f"must have one entry for each of the {len(names)} objects",
            got=len(column.codes),
            remedy="Pass a dict of object -> label to name only a few.",
        )
    places = _places(column, classes.tolist(), _class_key)[column.codes]
    if (places < 0).any():
        first = int(np.argmax(places < 0))
        label = plain(column.labels[int(column.codes[first])])
        alike = [name for name in classes.tolist() if cleaned(str(name)) == cleaned(str(label))]
        remedy = f"Pass {arg('classes', ...)} to name classes that nobody voted for."
        if kind_of(label) == "int" and kind_of(classes[0]) == "str":
            remedy = "Labels are the classes themselves, not their numbers."
        raise InputError(
            argument,
            f"must hold classes, {listed(classes)}",
            came=f"{label!r} for object {plain(names[first])!r}",
            remedy=f"Did you mean {alike[0]!r}?" if alike else remedy,
        )
    codes = np.where(places == len(classes), -1, places)
    if labels is None:
        return codes
    row = rows_by_name(names, n_objects, object_ids, argument, codes)
    return np.where(row >= 0, codes[row], -1)


def _pairs_of(
    known: Any, n_objects: int, object_ids: Array | None, argument: str
) -> tuple[Sequence[Any], Any]:
    """The objects and their labels; None for the labels if `known` has one for each object."""
    if (draw := draw_of(known)) is not None:
        return draw[0], draw[1]
    if frame_of(known) is not None:
        raise InputTypeError(
            argument,
            "must be a dict of object -> label, or an array",
            came=type(known).__name__,
            remedy="Pass one of its columns, or dict(zip(table[objects], table[labels])) with the "
            "names of two.",
        )
    if isinstance(known, Mapping):
        return list(known.keys()), list(known.values())
    names = index_names(index_of(known), object_ids)
    if names is not None:
        return names, as_array(known, argument)
    parts = known if isinstance(known, tuple) and len(known) == 2 else ()
    if parts and all(hasattr(part, "__len__") and not isinstance(part, str) for part in parts):
        return [plain(item) for item in parts[0]], [plain(item) for item in parts[1]]
    return range(n_objects) if object_ids is None else object_ids.tolist(), None


def rows_by_name(
    names: Sequence[Any],
    n_objects: int,
    object_ids: Array | None,
    argument: str,
    codes: Array | None = None,
) -> Array:
    """For each object the place of its name among `names`, -1 where it is not among them.

    Objects without names have numbers. Names whose code is -1 are left out, and a name that comes
    twice must have the same code.
    """
    ids = range(n_objects) if object_ids is None else object_ids.tolist()
    known = ids if object_ids is None else set(ids)
    place: dict[Any, int] = {}
    for row, name in enumerate(names):
        if kind_of(name) not in KINDS or name not in known:
            raise _unknown_object(name, object_ids, n_objects, argument)
        if codes is None or codes[row] >= 0:
            first = place.setdefault(name, row)
            if codes is not None and codes[first] != codes[row]:
                raise InputError(
                    argument, "must give an object one label", came=f"two for {plain(name)!r}"
                )
    if object_ids is not None:
        return np.array([place.get(name, -1) for name in ids], dtype=np.int64)
    rows = np.full(n_objects, -1)
    rows[list(place)] = list(place.values())
    return rows


def _unknown_object(
    name: Any, object_ids: Array | None, n_objects: int, argument: str
) -> InputError:
    if object_ids is None:
        must = f"must name objects by number, from 0 to {n_objects - 1}"
        remedy = f"Pass {arg('object_ids')} when making the votes, or an array in their order."
        return InputError(argument, must, got=name, remedy=remedy)
    remedy = f"The first objects are {listed(object_ids, 5)}."
    alike = [other for other in object_ids.tolist() if str(other) == str(name)]
    if alike:  # ids that one file has as numbers, and another as text
        kind = "text" if isinstance(alike[0], str) else "numbers"
        remedy = f"There is an object {alike[0]!r}: pass {kind} in both places."
    return InputError(argument, "must name objects that were voted on", got=name, remedy=remedy)


def rows_by_index(
    table: Any, n_objects: int, object_ids: Array | None, argument: str
) -> Array | None:
    """The same for the index of a pandas column or table; None where it has none."""
    names = index_names(index_of(table), object_ids)
    return None if names is None else rows_by_name(names, n_objects, object_ids, argument)
