"""Columns become numbers of classes, answers, clusters and objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._checks import InputError, InputRowsError, InputTypeError
from .._text import arg, listed
from .._typing import Array
from .draws import draw_of
from .labels import (
    KINDS,
    Label,
    Missing,
    cleaned,
    kind_of,
    label_array,
    labels_for_missing,
    plain,
)
from .reading import Column, frame_of, has_index, single_column, smallest_uint
from .scale import Scale

__all__ = [
    "classes_of",
    "cluster_codes",
    "in_order_of",
    "known_codes",
    "labels_for_missing",
    "name_codes",
    "require_width",
    "rows_by_index",
    "rows_by_name",
    "vote_codes",
]
KNOWN = (
    "an array with one label per object, None where there is none, a dict of object -> label, "
    "or a pair (objects, labels)"
)
Spelled = Callable[[Label], list[Label]]  # the labels that a value may be a spelling of


# ---- classes -------------------------------------------------------------------------------------


def classes_of(
    columns: Sequence[Column],
    tables: Mapping[str, Array],
    classes: Any,
    missing: Missing,
    argument: str,
    clean: bool = False,
) -> Array:
    """The classes: those that are named, or those voted for, sorted.

    Soft votes (`tables`) must have a column for each.
    """
    if classes is None:
        names = _voted_classes(columns, missing, argument, clean)
    else:
        names = _named_classes(classes)
    if classes is None and tables:
        n_columns = next(iter(tables.values())).shape[1]
        if not names or (kind_of(names[0]) == "int" and names[0] >= 0 and names[-1] < n_columns):
            names = list(range(n_columns))
    if not names:
        raise InputError(argument, "must hold at least one vote", came="only missing ones")
    array = label_array(names)
    for name, table in tables.items():
        require_width(name, table, array, argument)
    return array


def require_width(name: str, table: Array, groups: Array, argument: str) -> None:
    """Refuse a table of shares with too few or too many columns."""
    if table.shape[1] != len(groups):
        remedy = f"Pass {arg('classes', ...)} in the order of the columns."
        raise InputError(
            argument,
            "must have one row per object and one column per class",
            came=f"{table.shape[1]} columns of {name!r} for {listed(groups)}",
            remedy="Transpose it." if len(table) == len(groups) else remedy,
        )


def _voted_classes(
    columns: Sequence[Column], missing: Missing, argument: str, clean: bool
) -> list[Label]:
    names: dict[str, set[Label]] = {}
    for column in columns:
        for code in _voted(column, missing):
            label = plain(column.labels[code])
            names.setdefault(kind_of(label), set()).add(cleaned(label) if clean else label)
    if len(names) > 1:
        raise InputTypeError(
            argument,
            "must have labels of one kind",
            came=" and ".join(f"{kind} ({min(labels)!r})" for kind, labels in names.items()),
            remedy="Convert them to one kind first.",
        )
    return sorted(next(iter(names.values()), set()))


def _named_classes(classes: Any) -> list[Label]:
    is_list = hasattr(classes, "__iter__") and getattr(classes, "ndim", 1) == 1
    names = [plain(label) for label in classes] if is_list else []
    kinds = {kind_of(label) for label in names}
    is_list = not isinstance(classes, str) and len(kinds) == 1 and kinds <= KINDS
    if not is_list or len(set(names)) < len(names):
        raise InputTypeError(
            "classes",
            "must be a list of different labels: all ints, all bools or all strings",
            got=classes,
        )
    return names


def _voted(column: Column, missing: Missing) -> Array:
    """The codes of the labels that occur and are votes."""
    seen, labels = column.seen, column.labels
    if isinstance(labels, np.ndarray):
        absent = [label for kind, label in missing if kind == "int"]
        return seen[~np.isin(labels[seen], absent)]
    is_vote = [(kind_of(labels[code]), labels[code]) not in missing for code in seen]
    return seen[np.array(is_vote, dtype=bool)]


def vote_codes(
    column: Column,
    original: Column,
    classes: Array,
    scale: Scale | None,
    missing: Missing,
    argument: str,
    clean: bool = False,
) -> Array:
    """The number of the class or answer of each vote, behind all of them where it is missing.

    `column` may hold the distinct rows only; `original` has every object, so that an error can name
    the row.
    """
    names = (classes if scale is None else scale.labels).tolist()
    spelled = _spellings if scale is not None else _clean_spellings if clean else _as_it_is
    lookup, foreign = _look_up(column, names, missing, spelled)
    if foreign and (scale is None or scale.outside == "error"):
        raise _foreign_error(argument, original, foreign, names, scale)
    return np.take(lookup.astype(smallest_uint(len(names) + 1)), column.codes)


def _foreign_error(
    argument: str, column: Column, foreign: list[int], names: list[Label], scale: Scale | None
) -> InputRowsError:
    """The error about labels that are neither classes nor answers."""
    where = f" in column {column.name!r}" if column.name != argument else ""
    must, more, remedy = f"must hold classes, {listed(names)}", " and {:,} more like it", ""
    if scale is not None:
        must, more = f"must hold answers of the scale, {listed(names, 12)}", " and {:,} more off it"
        remedy = f", or a scale with {arg('outside', 'missing')} for all such answers"

    def tell(row: int, place: str, n: int) -> tuple[str, str]:
        label = plain(column.labels[int(column.codes[row])])
        came = f"{label!r} at {place}{where}{more.format(n - 1) if n > 1 else ''}"
        return came, f"Pass {arg('missing', label)} if it means no vote{remedy}."

    rows = np.flatnonzero(np.isin(column.codes, foreign)).tolist()
    return InputRowsError(argument, must, rows, tell)


def _as_it_is(label: Label) -> list[Label]:
    return [label]


def _clean_spellings(label: Label) -> list[Label]:
    return [label, cleaned(label)]


def _spellings(answer: Label) -> list[Label]:
    """What an answer on a scale may be a spelling of: 4, "4", "4.0" and " 4" are one answer.

    Labels of classes are taken as they are, for there 4 and "4" may be two.
    """
    text = str(answer).strip()
    spellings: list[Label] = [answer, text]
    if kind_of(answer) != "bool" and re.fullmatch(r"[+-]?\d{1,18}(\.0*)?", text):
        whole = int(text.partition(".")[0])
        spellings += [whole, str(whole)]
    return spellings


def _look_up(
    column: Column, names: list[Label], missing: Missing, spelled: Spelled
) -> tuple[Array, list[int]]:
    """The place of each label among the names, behind them where it is none; codes of strangers."""
    place: dict[Any, int] = {}
    for number, name in enumerate(names):
        for label in _clean_spellings(name) if spelled is _clean_spellings else [name]:
            place.setdefault((kind_of(label), label), number)
    lookup, foreign = np.full(column.n_codes, len(names), dtype=np.int64), []
    for code in _voted(column, missing).tolist():
        keys = [(kind_of(label), label) for label in spelled(plain(column.labels[code]))]
        places = [place[key] for key in keys if key in place]
        lookup[code] = places[0] if places else len(names)
        foreign += [] if places else [code]
    return lookup, foreign


# ---- clusters and names --------------------------------------------------------------------------


def cluster_codes(column: Column, missing: Missing) -> tuple[Array, Array]:
    """The number of each object's cluster, empty ones left out, and their labels; -1 is noise."""
    used = _voted(column, missing | {("int", -1)})
    lookup = np.full(column.n_codes, len(used), dtype=smallest_uint(len(used) + 1))
    lookup[used] = np.arange(len(used))
    labels = column.labels
    if not isinstance(labels, np.ndarray):
        labels = label_array([labels[code] for code in used])
        return np.take(lookup, column.codes), labels
    return np.take(lookup, column.codes), labels[used]


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
    used = column.seen
    lookup = np.zeros(column.n_codes, dtype=np.int64)
    lookup[used] = np.arange(len(used))
    return lookup[column.codes], label_array([plain(column.labels[code]) for code in used])


# ---- known labels, and numbers of objects --------------------------------------------------------


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
    if len(column) != len(names):
        raise InputError(
            argument,
            f"must have one entry for each of the {len(names)} objects",
            got=len(column),
            remedy="Pass a dict of object -> label to name only a few.",
        )
    lookup, foreign = _look_up(column, classes.tolist(), frozenset(), _as_it_is)
    if foreign:
        first = int(np.argmax(np.isin(column.codes, foreign)))
        label = plain(column.labels[int(column.codes[first])])
        raise InputError(
            argument,
            f"must hold classes, {listed(classes)}",
            came=f"{label!r} for object {plain(names[first])!r}",
            remedy=_meant_class(label, classes),
        )
    codes = np.where(lookup == len(classes), -1, lookup)[column.codes]
    if labels is None:
        return codes
    row = rows_by_name(names, n_objects, object_ids, argument, codes)
    return np.where(row >= 0, codes[row], -1)


def _pairs_of(
    known: Any, n_objects: int, object_ids: Array | None, argument: str
) -> tuple[Sequence[Any], Any]:
    """The objects and their labels; None for the labels if `known` has one for each object."""
    draw = draw_of(known)
    if draw is not None:
        return draw.objects, draw.labels
    if frame_of(known) is not None:
        both = "dict(zip(table[objects], table[labels])) with the names of two"
        raise InputTypeError(
            argument,
            "must be a dict of object -> label, or an array",
            came=type(known).__name__,
            remedy=f"Pass one of its columns, or {both}.",
        )
    if isinstance(known, Mapping):
        return list(known.keys()), list(known.values())
    if object_ids is not None and has_index(known):
        return [plain(item) for item in known.index], known.tolist()
    parts = known if isinstance(known, tuple) and len(known) == 2 else ()
    if parts and all(hasattr(part, "__len__") and not isinstance(part, str) for part in parts):
        return [plain(item) for item in parts[0]], [plain(item) for item in parts[1]]
    if isinstance(known, list) and known and all(isinstance(pair, tuple) for pair in known):
        return [item for item, _ in known], [label for _, label in known]
    return range(n_objects) if object_ids is None else object_ids.tolist(), None


def _meant_class(label: Label, classes: Array) -> str:
    """What to do about a known label that is no class."""
    for name in classes.tolist():
        if cleaned(str(name)) == cleaned(str(label)):
            return f"Did you mean {name!r}?"
    if kind_of(label) == "int" and kind_of(classes[0]) == "str":
        return "Labels are the classes themselves, not their numbers."
    return f"Pass {arg('classes', ...)} to name classes that nobody voted for."


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
        if not isinstance(name, (str, int, np.integer, bool)) or name not in known:
            raise _unknown_object(name, object_ids, n_objects, argument)
        if codes is not None and codes[row] < 0:
            continue
        first = place.setdefault(name, row)
        if codes is not None and codes[first] != codes[row]:
            raise InputError(
                argument, "must give an object one label", came=f"two for {plain(name)!r}"
            )
    rows = np.full(n_objects, -1)
    if object_ids is None:
        rows[list(place)] = list(place.values())
        return rows
    rows[:] = [place.get(name, -1) for name in ids]
    return rows


def _unknown_object(
    name: Any, object_ids: Array | None, n_objects: int, argument: str
) -> InputError:
    if object_ids is None:
        must = f"must name objects by number, from 0 to {n_objects - 1}"
        return InputError(argument, must, got=name)
    remedy = f"The first objects are {listed(object_ids, 5)}."
    for other in object_ids.tolist():
        if str(other) == str(name):  # ids that one file has as numbers, and another as text
            kind = "text" if isinstance(other, str) else "numbers"
            remedy = f"There is an object {other!r}: pass {kind} in both places."
    return InputError(argument, "must name objects that were voted on", got=name, remedy=remedy)


def rows_by_index(table: Any, object_ids: Array | None, argument: str) -> Array | None:
    """The same for the index of a pandas column or table; None where it does not name objects."""
    if object_ids is None or not has_index(table):
        return None
    names = [plain(name) for name in table.index]
    if set(object_ids.tolist()).isdisjoint(names):
        return None
    return rows_by_name(names, len(object_ids), object_ids, argument)


def in_order_of(object_ids: Array | None, values: Any, argument: str) -> Any:
    """Values in the order of the objects, where the index of a pandas column names all of them."""
    rows = rows_by_index(values, object_ids, argument)
    # The place -1 of objects that are not named has no number.
    return values if rows is None else np.append(np.asarray(values, dtype=np.float64), np.nan)[rows]
