"""Classes and clusters as numbers: which labels are classes, and which class or cluster each vote names."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import InputError, InputRowsError, InputTypeError
from .._text import arg, count, listed
from .._typing import Array
from .draws import draw_of
from .labels import KINDS, Label, fits_one_integer_type, is_missing, kind_of, label_array, plain
from .reading import (
    INTEGERS,
    Column,
    Where,
    frame_of,
    has_index,
    is_pandas,
    named_columns,
    single_column,
    smallest_uint,
)
from .scale import Scale

ROUNDING = 1e-6  # by which probabilities may miss 0, and their sum 1
Missing = frozenset[tuple[str, Label]]  # kinds and labels that mean "no vote"
KNOWN = "an array with one label per object, None where there is none, a dict of object -> label, or a pair (objects, labels)"


def labels_for_missing(missing: Any) -> Missing:
    """Return the labels that mean "no vote", of which the user may name one or several; refuse what is no label."""
    given = missing if isinstance(missing, (list, tuple, set, frozenset)) else [missing]
    labels = [plain(label) for label in given if not is_missing(label)]
    if any(kind_of(label) not in KINDS for label in labels):
        raise InputTypeError(
            "missing",
            "must be a label (an int, a bool or a string), or a list of labels",
            got=missing,
        )
    return frozenset((kind_of(label), label) for label in labels)


def means_missing(value: Label, missing: Missing) -> bool:
    """Return whether a value means "no vote", by itself or because the user said so."""
    return is_missing(value) or (kind_of(value), value) in missing


# ---- classes -------------------------------------------------------------------------------------


def classes_of(
    columns: Sequence[Column],
    tables: Mapping[str, Array],
    classes: Any,
    missing: Missing,
    argument: str,
) -> Array:
    """Return the classes: those given, or those voted for, sorted; soft votes (`tables`) must have a column for each."""
    names = (
        _voted_classes(columns, missing, argument) if classes is None else _given_classes(classes)
    )
    for kind, label in missing:
        other = next(
            (name for name in names if str(name) == str(label) and kind_of(name) != kind), None
        )
        if other is not None:
            raise InputError(
                "missing",
                "must be written as the labels are",
                got=label,
                remedy=f"Pass {arg('missing', other)}.",
            )
    if classes is None and tables:
        n_columns = next(iter(tables.values())).shape[1]
        if not names or (kind_of(names[0]) == "int" and names[0] >= 0 and names[-1] < n_columns):
            names = list(range(n_columns))
    if not fits_one_integer_type(names):
        came = f"{min(names)} and {max(names)}"
        raise InputError(
            argument if classes is None else "classes",
            INTEGERS,
            came=came,
            remedy="Pass strings instead.",
        )
    array = label_array(names)
    for name, table in tables.items():
        if table.shape[1] != len(array):
            n_classes = f"{count(len(array), 'class', 'classes')} {listed(array)}"
            raise InputError(
                argument,
                "must have one column per class",
                came=f"{table.shape[1]} columns of {name!r} for the {n_classes}",
                remedy=f"Pass {arg('classes', ...)} in the order of the columns.",
            )
    return array


def _voted_classes(columns: Sequence[Column], missing: Missing, argument: str) -> list[Label]:
    seen: dict[str, set[Label]] = {}
    for column in columns:
        for code in column.seen:
            label = plain(column.values[code])
            if not means_missing(label, missing):
                seen.setdefault(kind_of(label), set()).add(label)
    if len(seen) > 1:
        (one, first), (other, second) = list(seen.items())[:2]
        raise InputTypeError(
            argument,
            "must have labels of one kind",
            came=f"{one} ({min(first)!r}) and {other} ({min(second)!r})",
            remedy="Convert them to one kind first.",
        )
    return sorted(next(iter(seen.values()), set()))


def _given_classes(classes: Any) -> list[Label]:
    if (
        isinstance(classes, str)
        or not hasattr(classes, "__iter__")
        or getattr(classes, "ndim", 1) != 1
    ):
        raise InputTypeError("classes", "must be a list of labels", got=classes)
    names = [plain(label) for label in classes]
    kinds = {kind_of(label) for label in names}
    if not names:
        raise InputError("classes", "must name at least one class", came="none")
    if len(kinds) > 1 or not kinds <= KINDS:
        raise InputTypeError(
            "classes", "must be all ints, all bools or all strings", came=listed(names)
        )
    if len(set(names)) < len(names):
        raise InputError("classes", "must not repeat", came=listed(names))
    return names


def class_codes(
    column: Column, classes: Array, missing: Missing, argument: str, original: Column
) -> Array:
    """Return the number of the class of each vote, `n_classes` where it is missing.

    `column` may hold the distinct rows only; `original` has every object, so that an error can name
    the row.
    """
    lookup, foreign = _look_up(column, classes.tolist(), missing)
    if foreign:
        must, wrong = f"must hold classes, {listed(classes)}", np.isin(original.codes(), foreign)
        more = " and {} more like it"
        raise _at_rows(
            argument,
            must,
            original,
            wrong,
            more,
            lambda z: f"Pass {arg('missing', z)} if it means no vote.",
        )
    return _relabelled(column.codes(), lookup, len(classes) + 1)


def _meant_class(label: Label, classes: Array) -> str:
    """Return what to do about a known label that is no class: write it as the class it looks like, or name it as a class."""
    alike = [
        plain(own)
        for own in classes
        if str(own).strip().casefold() == str(label).strip().casefold()
    ]
    if alike:
        return f"Did you mean {alike[0]!r}?"
    if kind_of(label) == "int" and all(isinstance(own, str) for own in classes.tolist()):
        return "Labels are the classes themselves, not their numbers."
    if len(classes) > 2 and not _is_figure(label) and all(map(_is_figure, classes.tolist())):
        return f"If the votes are scores, pass {arg('scale')} and {arg('classes', ...)}."
    return f"Pass {arg('classes', ...)} to name classes that nobody voted for."


def _is_figure(label: Label) -> bool:
    return kind_of(label) == "int" or (isinstance(label, str) and label.strip().isdigit())


def grade_codes(
    column: Column, scale: Scale, missing: Missing, argument: str, original: Column
) -> Array:
    """Return the number of each answer on a scale, behind all of them where it is missing."""
    labels = scale.labels.tolist()
    lookup, foreign = _look_up(column, labels, missing, _spellings)
    if foreign and scale.outside == "error":
        must = f"must hold answers of the scale, {listed(labels, 12)}"
        all_of_them = f"a scale with {arg('outside', 'missing')} for all such answers"
        wrong = np.isin(original.codes(), foreign)

        def remedy(answer: Label) -> str:
            return f"Pass {arg('missing', answer)} if it means no vote, or {all_of_them}."

        raise _at_rows(argument, must, original, wrong, ", and {} more off the scale", remedy)
    return _relabelled(column.codes(), lookup, len(labels) + 1)


def _spellings(answer: Label) -> list[Label]:
    """Return what an answer on a scale may be a spelling of: 4, "4", "4.0" and " 4" are one answer.

    Labels of classes are taken as they are, for there 4 and "4" may be two.
    """
    text = str(answer).strip()
    found: list[Label] = [answer, text]
    if kind_of(answer) != "bool" and re.fullmatch(r"[+-]?\d{1,18}(\.0*)?", text):
        whole = int(text.partition(".")[0])
        found += [whole, str(whole)]
    return found


def _look_up(
    column: Column,
    labels: list[Label],
    missing: Missing,
    spellings: Callable[[Label], list[Label]] = lambda label: [label],
) -> tuple[Array, list[int]]:
    """Return the place of each code of a column among labels, behind all of them where it is none, and the codes of others."""
    number = {(kind_of(label), label): place for place, label in enumerate(labels)}
    lookup, foreign = np.full(column.n_codes, len(labels), dtype=np.int64), []
    for code in column.seen:
        value = plain(column.values[code])
        if means_missing(value, missing):
            continue
        places = [
            number[kind_of(own), own] for own in spellings(value) if (kind_of(own), own) in number
        ]
        if places:
            lookup[code] = places[0]
        else:
            foreign.append(code)
    return lookup, foreign


def _at_rows(
    argument: str,
    must: str,
    column: Column,
    wrong: Array,
    more: str,
    remedy: Callable[[Label], str],
) -> InputRowsError:
    """Return the error about some rows of a column."""
    where = f" in column {column.name!r}" if column.name != argument else ""

    def tell(row: int, place: str, n: int) -> tuple[str, str]:
        label = plain(column.values[int(column.codes()[row])])
        return f"{label!r} at {place}{where}{more.format(f'{n - 1:,}') if n > 1 else ''}", remedy(
            label
        )

    return InputRowsError(argument, must, np.flatnonzero(wrong).tolist(), tell)


# ---- clusters and names --------------------------------------------------------------------------


def cluster_codes(column: Column, missing: Missing) -> tuple[Array, Array]:
    """Return the number of each object's cluster, empty clusters left out, and the clusters' labels; -1 is noise."""
    values = column.values
    used = np.setdiff1d(column.seen, _noise_codes(column, missing), assume_unique=True)
    if not isinstance(values, np.ndarray):  # in the order they came
        used = np.array(sorted(used, key=lambda code: values[code]), dtype=np.int64)
    lookup = np.full(column.n_codes, len(used), dtype=np.int64)
    lookup[used] = np.arange(len(used))
    labels = (
        values[used]
        if isinstance(values, np.ndarray)
        else label_array([values[code] for code in used])
    )
    return _relabelled(column.codes(), lookup, len(used) + 1), labels


def _noise_codes(column: Column, missing: Missing) -> list[int]:
    values, missing = column.values, missing | {("int", -1)}
    if isinstance(values, np.ndarray):  # whole numbers only
        return np.flatnonzero(
            np.isin(values, [label for kind, label in missing if kind == "int"])
        ).tolist()
    return [code for code, value in enumerate(values) if means_missing(value, missing)]


def name_codes(column: Column, argument: str) -> tuple[Array, Array]:
    """Return names (of objects, of voters) as numbers in sorted order, and the names; none may be missing."""
    codes, seen = column.codes(), column.seen
    names = [plain(column.values[code]) for code in seen]
    if any(is_missing(name) for name in names):
        row = int(np.argmax(codes == seen[[is_missing(name) for name in names]][0]))
        raise InputError(
            argument,
            "must not be missing",
            came=f"a missing value at row {row}",
            remedy="Leave that row out.",
        )
    order = sorted(range(len(names)), key=names.__getitem__)
    lookup = np.zeros(column.n_codes, dtype=np.int64)
    lookup[seen[order]] = np.arange(len(seen))
    return lookup[codes], label_array([names[i] for i in order])


def _relabelled(codes: Array, lookup: Array, n_codes: int) -> Array:
    dtype = smallest_uint(n_codes)
    if codes.dtype == dtype and np.array_equal(lookup, np.arange(len(lookup))):
        return codes
    return np.take(lookup.astype(dtype), codes)


def known_codes(
    known: Any, classes: Array, n_objects: int, object_ids: Array | None, argument: str = "known"
) -> Array:
    """Return the class number of each object whose label is known, -1 for the others.

    `known` is an array with missing values, a dict of object -> label, a pair (objects, labels), or
    the table of `Consensus.ask` with labels; errors call it `argument`.
    """
    draw = draw_of(known)
    if draw is not None:
        known = draw.objects, draw.labels
    elif frame_of(known) is not None:
        remedy = "Pass one of its columns, or dict(zip(table[objects], table[labels])) with the names of two."
        raise InputTypeError(
            argument,
            "must be a dict of object -> label, or an array",
            came=type(known).__name__,
            remedy=remedy,
        )
    pairs = _known_pairs(known, object_ids is not None)
    names: Any
    if pairs is None:
        column, row, places = (
            single_column(known, argument, KNOWN),
            np.arange(n_objects),
            np.arange(n_objects),
        )
        if len(column) != n_objects:
            raise InputError(
                argument,
                f"must have one entry for each of the {n_objects} objects",
                got=len(column),
                remedy="Pass a dict of object -> label to name only a few.",
            )
        names = places if object_ids is None else object_ids
    else:
        names, labels = pairs
        if not names and not labels:
            return np.full(n_objects, -1)
        column = single_column(labels, argument, KNOWN)
        if len(names) != len(column):
            came = f"{len(names)} objects and {len(column)} labels"
            raise InputError(argument, "must pair each object with a label", came=came)
        row, places = object_places(names, n_objects, object_ids, argument)
    lookup, foreign = _look_up(column, classes.tolist(), frozenset())
    if foreign:
        first = int(np.argmax(np.isin(column.codes(), foreign)))
        label = plain(column.values[int(column.codes()[first])])
        came = f"{label!r} for object {plain(names[first])!r}"
        raise InputError(
            argument,
            f"must hold classes, {listed(classes)}",
            came=came,
            remedy=_meant_class(label, classes),
        )
    codes = np.where(lookup == len(classes), -1, lookup)[column.codes()][row]
    result, given = np.full(n_objects, -1), codes >= 0
    result[places[given]] = codes[given]
    twice = np.flatnonzero(given & (result[places] != codes))
    if len(twice):
        raise InputError(
            argument,
            "must give an object one label",
            came=f"two for {plain(names[row[twice[0]]])!r}",
        )
    return result


def _known_pairs(known: Any, named: bool) -> tuple[list[Any], list[Any]] | None:
    """Return objects and labels; a pandas Series has both if the objects have names."""
    if isinstance(known, Mapping):
        return list(known.keys()), list(known.values())
    if named and has_index(known):
        return [plain(item) for item in known.index], [plain(label) for label in known.tolist()]
    if (
        isinstance(known, tuple)
        and len(known) == 2
        and all(hasattr(part, "__len__") and not isinstance(part, str) for part in known)
    ):
        return [plain(item) for item in known[0]], [plain(item) for item in known[1]]
    if (
        isinstance(known, list)
        and known
        and all(isinstance(pair, tuple) and len(pair) == 2 for pair in known)
    ):
        return [item for item, _ in known], [label for _, label in known]
    return None


def object_places(
    objects: Sequence[Any], n_objects: int, object_ids: Array | None, argument: str
) -> tuple[Array, Array]:
    """Return the positions of objects by their names, or by their numbers where they have none, and before them whose each is.

    An object that was drawn several times has several.
    """
    if object_ids is None:
        for item in objects:
            if (
                kind_of(item) != "int" or not 0 <= item < n_objects
            ):  # -1 is what a failed lookup returns, not the last object
                raise InputError(
                    argument, f"must name objects by number, from 0 to {n_objects - 1}", got=item
                )
        return np.arange(len(objects)), np.array(objects, dtype=np.int64)
    labels = object_ids.tolist()
    place = {label: i for i, label in enumerate(labels)}
    for item in objects:
        if not isinstance(item, Hashable) or item not in place:
            remedy = f"The first objects are {listed(object_ids, 5)}."
            other = {str(label): label for label in labels}.get(str(item))
            if other is not None:  # ids that one file has as numbers, and another as text
                remedy = f"There is an object {other!r}: pass {'text' if isinstance(other, str) else 'numbers'} in both places."
            raise InputError(
                argument, "must name objects that were voted on", got=item, remedy=remedy
            )
    places = np.array([place[item] for item in objects], dtype=np.int64)
    if len(place) == len(labels):
        return np.arange(len(places)), places
    last = np.array([place[label] for label in labels])  # of the copies of each object
    order = np.argsort(last, kind="stable")
    begin, end = (np.searchsorted(last[order], places, side=side) for side in ("left", "right"))
    copies = [order[b:e] for b, e in zip(begin.tolist(), end.tolist(), strict=True)]
    return np.repeat(np.arange(len(places)), end - begin), np.concatenate(
        [np.empty(0, dtype=np.int64), *copies]
    )


def indexed_places(
    table: Any, object_ids: Array | None, argument: str
) -> tuple[Array, Array] | None:
    """Return the same for the index of a pandas column or table; None where it does not name objects."""
    if object_ids is None or not has_index(table):
        return None
    names = [plain(name) for name in table.index]
    return (
        object_places(names, len(object_ids), object_ids, argument)
        if not set(object_ids.tolist()).isdisjoint(names)
        else None
    )


def in_order_of(object_ids: Array | None, values: Any, argument: str) -> Any:
    """Return values in the order of the objects, where the index of a pandas column names all of them; others as they are."""
    found = indexed_places(values, object_ids, argument)
    if object_ids is None or found is None:
        return values
    row = np.full(len(object_ids), -1)
    row[found[1]] = found[0]
    if (row < 0).any():
        came = f"none for {plain(object_ids[row < 0][0])!r}"
        raise InputError(
            argument, f"must have one number for each of the {len(row)} objects", came=came
        )
    return np.asarray(values)[row]


# ---- soft votes ----------------------------------------------------------------------------------


def checked_shares(
    table: Any, where: Where, remedy: str = "A row of NaN is a missing vote."
) -> Array:
    """Return a table of shares; refuse rows that are negative or do not sum to 1, unless they are NaN for a missing vote."""
    try:
        masked = np.ma.isMaskedArray(table)
        shares = (
            np.ma.filled(table.astype(np.float64), np.nan)
            if masked
            else np.asarray(table, dtype=np.float64)
        )
    except (TypeError, ValueError):
        raise where.error(
            "must hold numbers, one row of probabilities per object",
            f"{table.dtype} values",
            kind=InputTypeError,
        ) from None
    if shares.shape[1] == 0:
        raise where.error("must have at least one column", f"shape {shares.shape}")
    wrong, is_negative = _wrong_shares(shares)
    if wrong:
        raise _not_shares(shares, wrong, where, remedy)
    return np.maximum(shares, 0.0) if is_negative else shares


def _wrong_shares(shares: Array, step: int = 1 << 16) -> tuple[list[int], bool]:
    """Return the rows that are negative or do not sum to 1, unless all of it is NaN; and whether rounding made some negative."""
    found: list[int] = []
    is_negative = False
    for begin in range(0, len(shares), step):
        part = shares[begin : begin + step]
        with np.errstate(over="ignore"):
            sums = sum(
                part.T, np.zeros(len(part))
            )  # a column at a time: numpy adds up short rows slowly
        if part.min() >= 0 and np.abs(sums - 1).max() <= ROUNDING:
            continue
        least = part.min(axis=1)
        is_negative |= bool((least < 0).any())
        right = (np.abs(sums - 1) <= ROUNDING) & (least >= -ROUNDING) | np.isnan(part).all(axis=1)
        found += (begin + np.flatnonzero(~right)).tolist()
    return found, is_negative


def _not_shares(shares: Array, wrong: list[int], where: Where, remedy: str) -> InputError:
    """Return the error about rows that are no distributions, with what helps against its first."""

    def tell(row: int, place: str, n: int) -> tuple[str, str]:
        with np.errstate(over="ignore"):
            least, total = shares[row].min(), shares[row].sum()
        negative = f"the negative value {least:.6g} in " if least < 0 else ""
        came = f"{negative}a row that sums to {total:.6g} at {place}{where.in_column}{f', and {n - 1:,} more' if n > 1 else ''}"
        if negative:
            return (
                came,
                "Turn logits or log-probabilities into probabilities first, as scipy.special.softmax does.",
            )
        if not total or not np.isfinite(total):
            return came, remedy
        from_probabilities = where.argument == "probabilities"
        return (
            came,
            f"Pass {arg('normalize', True)} to divide each row by its sum."
            if from_probabilities
            else "Divide each row by its sum.",
        )

    return InputRowsError(
        where.argument, "must have rows that are non-negative and sum to 1", wrong, tell
    )


def columns_by_class(
    tables: Mapping[str, Any], classes: Any, argument: str = "probabilities"
) -> tuple[dict[str, Any], Any]:
    """Put the columns of dataframes into the order of the classes, by name."""
    ordered: dict[str, Any] = {}
    for name, table in tables.items():
        ordered[name] = table
        frame = frame_of(table)
        if frame is not None:
            columns = list(table.columns) if is_pandas(table) else frame.columns
            classes = columns if classes is None else list(classes)
            place = {str(column): i for i, column in enumerate(columns)}
            if sorted(place) != sorted(str(label) for label in classes):
                came = f"{listed(columns)} for {name!r}"
                absent = [label for label in classes if str(label) not in place]
                known = len(absent) + len(place) == len(classes)
                remedy = f"Add columns of 0 for {listed(absent)}." if known else ""
                raise InputError(
                    argument,
                    f"must have one column per class, named {listed(classes)}",
                    came=came,
                    remedy=remedy,
                )
            table = named_columns({name: table}, argument, "")[name]
            ordered[name] = table[:, [place[str(label)] for label in classes]]
    return ordered, classes


def as_shares(table: Any, name: str, classes: Any, normalize: bool) -> Any:
    """Return the probabilities of the second of two classes as a table of both; with `normalize`, rows divided by their sums."""
    if sparse.issparse(table):
        came = f"a sparse matrix for {name!r}"
        raise InputTypeError(
            "probabilities",
            "must be dense tables, objects x classes",
            came=came,
            remedy="Use its toarray().",
        )
    if (
        not hasattr(table, "__len__")
        or not len(table)
        or np.asarray(table[:1]).dtype.kind not in "fiu"
    ):
        return table
    shares = (
        np.ma.filled(table.astype(np.float64), np.nan)
        if np.ma.isMaskedArray(table)
        else np.asarray(table)
    )
    if shares.ndim == 1 and (
        ((shares > 0) & (shares < 1)).any() or _are_sure(shares, name, classes)
    ):
        if classes is not None and len(classes) != 2:
            came = f"one number per object for {name!r}, and {len(classes)} classes"
            raise InputError("probabilities", "must have one column per class", came=came)
        return np.stack([1 - shares, shares], axis=1)
    if shares.ndim != 2 or not normalize:
        return table
    with np.errstate(over="ignore"):
        sums = shares.sum(axis=1, keepdims=True)
    return np.divide(
        shares, sums, out=shares.astype(np.float64), where=(sums > 0) & np.isfinite(sums)
    )


def _are_sure(column: Array, name: str, classes: Any) -> bool:
    """Return whether floats that are all 0 or 1 are probabilities of the second of two classes, and not labels."""
    if (
        column.dtype.kind != "f"
        or classes is None
        or len(classes) != 2
        or not np.isin(column[~np.isnan(column)], (0, 1)).all()
    ):
        return False
    labels = [plain(label) for label in classes]
    if labels == [0, 1]:
        return False  # a label says the same
    if not any(kind_of(label) == "int" and label in (0, 1) for label in labels):
        return True
    raise InputError(
        "probabilities",
        "must be tables of both classes where 0 and 1 could be labels as well as probabilities",
        came=f"only 0.0 and 1.0 for {name!r}, and the classes {listed(labels)}",
        remedy="Pass np.column_stack([1 - p, p]), or integers if they are labels.",
    )
