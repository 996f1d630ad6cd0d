"""Labels in files of their own: each object finds its label by name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from .._checks import InputError
from .._text import arg, count, listed
from ..votes.draws import chance_of
from .columns import Columns, Naming, require_column
from .engines import OURS, quoted
from .file_table import FileTable, label_groups, open_file, value_of, without_fraction
from .formats import ENDINGS

# The columns of a table of `ask` that say how an object was found, in SQL.
DRAW = {"chance": "TRY_CAST(chance AS DOUBLE)", "goal": "CAST(goal AS VARCHAR)"}


def label_files(argument: str, naming: Naming, table: FileTable) -> list[str]:
    """The files that an argument names, as FILE or FILE:COLUMN; none for a column of the table."""
    named: Any = getattr(naming, argument)
    names = [named] if isinstance(named, str) else list(named or ())
    files = [name for name in names if name not in table.columns and _is_file(name)]
    if len(names) > max(1, len(files)):
        must = "must be one column, or one or several files"
        raise InputError(argument, must, came=listed(names))
    return files


def _is_file(name: str) -> bool:
    return any(
        os.path.isfile(path) or PurePath(path).suffix.lower() in ENDINGS
        for path in (name, name.rpartition(":")[0])
    )


def with_label_files(
    table: FileTable, columns: Columns, argument: str, files: Sequence[str], key: str | None
) -> FileTable:
    """Add a column that is not written: the labels that files have for the objects of the table."""
    if key is None:
        remedy = "It says which column of both files identifies objects."
        phrase = f"{arg(argument, files[0])} needs {arg('id')} or {arg('objects')}"
        raise InputError("id", phrase=phrase, remedy=remedy)
    labels, chances = _read_labels(table, argument, files, key)
    (votes, *_), _graded = label_groups(columns)
    kind = table.type_of(votes[0]) if votes else "VARCHAR"
    values = [value_of(label, kind) for label in labels.values()]
    for label in values:
        if isinstance(label, str) != (kind == "VARCHAR"):
            must = f"must hold labels like those in column {votes[0]!r} ({kind})"
            raise InputError(argument, must, got=label)
    lookup, name = f"{OURS}{argument}_labels", f"{OURS}{argument}"
    found = {"label": values, "chance": [chances.get(object) for object in labels]}
    table.connection.register(lookup, pa.table({"name": list(labels)} | found))
    named = without_fraction(f"CAST({quoted(key)} AS VARCHAR)")
    added = {"label": name} | ({"chance": chance_column(argument)} if chances else {})
    sql = {
        column: f"(SELECT {what} FROM {lookup} WHERE name = {named})"
        for what, column in added.items()
    }
    table = replace(table, labels=table.labels | sql)
    labelled = table.relation.filter(f"{name} IS NOT NULL")
    n_found = labelled.aggregate(f"count(DISTINCT {quoted(key)})").fetchall()[0][0]
    if not n_found:
        must = f"must name objects of the table, those in column {key!r}"
        came = f"{listed(list(labels), 5)} in {', '.join(files)}"
        raise InputError(argument, must, came=came)
    if n_found < len(labels):
        lacking = f"{len(labels) - n_found:,} of {count(len(labels), 'object')} with a label"
        text = f"In {', '.join(files)}, {lacking} could not be found in the table."
        warnings.warn(text, stacklevel=2)
    return table


def chance_column(argument: str) -> str:
    """The column that holds the chances of the objects with a label, if there are any."""
    return f"{OURS}{argument}_chance"


def _read_labels(
    beside: FileTable, argument: str, files: Sequence[str], key: str
) -> tuple[dict[str, str], dict[str, float]]:
    """The labels in files by object, both as text; and the chances in those that `ask` wrote.

    FILE:COLUMN chooses one of several columns. An object 1.0, as pandas writes it, is the object 1.
    An object that is there twice was drawn if either row says so, with a label or without.
    """
    labels: dict[str, str] = {}
    drawn: dict[str, list[float]] = {}
    for name in files:
        path, _, column = (name, "", "") if os.path.isfile(name) else name.rpartition(":")
        with open_file(path or name, encoding=beside.encoding) as table:
            chosen = _columns_in(table.columns, argument, path, column, key)
            texts = [f"CAST({quoted(each)} AS VARCHAR)" for each in chosen]
            texts += [sql if column in table.columns else "NULL" for column, sql in DRAW.items()]
            rows = table.rows.project(", ".join(texts)).fetchall()
        for named, label, chance, goal in rows:
            if named is None:
                continue
            object = str(value_of(named, "BIGINT"))
            drawn.setdefault(object, []).append(chance_of(chance, goal))
            if label is not None and labels.setdefault(object, label) != label:
                came = f"{labels[object]!r} and {label!r} for {named!r}, the last in {path}"
                raise InputError(argument, "must give an object one label", came=came)
    if not labels:
        came = f"none in {', '.join(files)}"
        raise InputError(argument, "must be a file with labels of some objects", came=came)
    chances = {object: _most_random(drawn[object]) for object in labels}
    return labels, chances if any(not isnan(chance) for chance in chances.values()) else {}


def _most_random(chances: Sequence[float]) -> float:
    """The largest chance above 0; else that nothing is known, rather than that it was chosen."""
    return max(chances, key=lambda chance: (chance > 0, isnan(chance), chance))


def _columns_in(
    names: list[str], argument: str, path: str, column: str, key: str
) -> tuple[str, str]:
    """The columns of the objects and of the labels: by name, or the first and the second of two."""
    if column:
        require_column(column, names, argument)
    others = [name for name in names if name != key]
    if "label" in others and len(others) > 1:  # as in the table of `ask`
        column = column or "label"
    if key not in names and len(names) == 2 and not column:
        return names[0], names[1]
    if key not in names or (not column and len(others) != 1):
        must = f"must be a file with a column {key!r} and one column of labels"
        remedy = f"Write {path}:COLUMN to choose one of several columns."
        raise InputError(argument, must, came=f"{listed(names, 30)} in {path}", remedy=remedy)
    return key, column or others[0]
