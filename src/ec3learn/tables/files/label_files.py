"""Labels in a file of their own: each object finds its label by name, as if the table had a column of them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..._checks import InputError
from ..._text import arg, count, listed
from ..columns import Columns
from ..engines import OURS, quoted
from .formats import COMPRESSIONS, FORMATS, Format
from .reading import read
from .table import FileTable, value_of, workspace

ENDINGS = {ending for endings in FORMATS.values() for ending in endings} | set(COMPRESSIONS.values())
TYPES = {"VARCHAR": pa.string(), "BOOLEAN": pa.bool_(), "BIGINT": pa.int64()}


def is_label_file(given: str | None, table: FileTable) -> bool:
    """Return whether an option names a file, perhaps with a column after a colon, and not a column of the table."""
    if given is None or given in table.columns:
        return False
    return any(os.path.isfile(path) or PurePath(path).suffix.lower() in ENDINGS for path in (given, given.rpartition(":")[0]))


def with_label_file(table: FileTable, columns: Columns, argument: str, given: str, key: str | None) -> tuple[FileTable, Columns]:
    """Return the table with one more column, which is not written: the labels that a file has for its objects."""
    if key is None:
        remedy = "It says which column of both files identifies objects."
        raise InputError("id", phrase=f"{arg(argument, given)} needs {arg('id')} or {arg('objects')}", remedy=remedy)
    table.require_column(key, "id")
    first = next(iter(columns.label_groups[0]), None)
    kind = "VARCHAR" if first is None else table.types[first]
    labels = {name: value_of(label, kind) for name, label in read_labels(table, argument, given, key).items()}
    for label in labels.values():
        if isinstance(label, str) != (kind == "VARCHAR"):
            raise InputError(argument, f"must hold labels like those in column {first!r} ({kind})", got=label)
    name = f"{OURS}{argument}"
    _create_lookup(table, name, labels, kind if kind in TYPES else "BIGINT")
    sql = f"{name}(CAST({table.columns[key]} AS VARCHAR))"
    found = replace(table, columns=table.columns | {name: sql})
    _require_objects(found, argument, given, (key, name), labels)
    changed: dict[str, Any] = {argument: name}
    return found, replace(columns, **changed)


def read_labels(beside: FileTable, argument: str, given: str, key: str) -> dict[str, str]:
    """Return the labels in a file by object, both as text; it is FILE, or FILE:COLUMN where there are several columns."""
    path, _, column = (given, "", "") if os.path.isfile(given) else given.rpartition(":")
    path = path or given
    format = Format.of(path)
    if format.name == beside.format.name:
        format = replace(format, delimiter=beside.format.delimiter)
    with workspace() as work:
        table = read(work, path, format, beside.encoding)
        chosen = _columns_in(table, argument, path, column, key)
        found = table.relation.project(", ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in chosen)).fetchall()
    labels: dict[str, str] = {}
    for name, label in found:
        if name is not None and label is not None and labels.setdefault(name, label) != label:
            raise InputError(argument, "must give an object one label", came=f"two for {name!r} in {path}")
    return labels


def _columns_in(table: FileTable, argument: str, path: str, column: str, key: str) -> tuple[str, str]:
    """Return the columns of the objects and of the labels: by name, or the first and the second of two."""
    names = list(table.columns)
    if column:
        table.require_column(column, argument)
    others = [name for name in names if name != key]
    if key not in names and len(names) == 2 and not column:
        return names[0], names[1]
    if key not in names or (not column and len(others) != 1):
        must = f"must be a file with a column {key!r} and one column of labels"
        remedy = f"Write {path}:COLUMN to choose one of several columns."
        raise InputError(argument, must, came=f"{listed(names, 30)} in {path}", remedy=remedy)
    return key, column or others[0]


def _create_lookup(table: FileTable, name: str, labels: Mapping[str, Any], kind: str) -> None:
    """Let DuckDB call a function that looks labels up, some rows at a time; unlike a join this keeps the order of rows."""
    names, values = pa.array(labels.keys(), pa.string()), pa.array(labels.values(), TYPES[kind])

    def look_up(objects: pa.ChunkedArray) -> pa.Array:
        return values.take(pc.index_in(objects.cast(pa.string()), names))

    options: dict[str, Any] = {"type": "arrow", "null_handling": "special"}
    table.connection.create_function(name, look_up, ["VARCHAR"], kind, **options)


def _require_objects(table: FileTable, argument: str, given: str, names: tuple[str, str], labels: Mapping[str, Any]) -> None:
    """Refuse labels of other objects alone; warn where some objects are not in the table."""
    key, label = map(quoted, names)
    found = table.relation.filter(f"{label} IS NOT NULL").aggregate(f"count(DISTINCT {key})").fetchall()[0][0]
    if not found:
        some = listed(list(labels), 5)
        raise InputError(argument, f"must name objects of the table, those in column {names[0]!r}", came=f"{some} in {given}")
    if found < len(labels):
        lacking = f"{len(labels) - found:,} of {count(len(labels), 'object')} with a label"
        warnings.warn(f"In {given}, {lacking} could not be found in the table.", stacklevel=2)
