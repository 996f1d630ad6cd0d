"""Labels in files of their own: each object finds its label by name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._checks import InputError
from .._text import arg, count, listed
from .columns import OURS, ROW, Columns, quoted
from .content import without_fraction

if TYPE_CHECKING:
    from .files import FileTable

NUMBERED, LABEL = "object", "label"  # the columns of a table of `ask`; rows have numbers
# How an object was found, where the table of `ask` says so: 0 is the chance of what was chosen.
CHANCE = {"chance": "TRY_CAST(chance AS DOUBLE)"}
CHANCE["goal"] = "CASE WHEN goal IN ('label', 'vote') THEN 0 END"
# One row per object. It was drawn if any of its rows says so, with a label or without.
LOOKUP = """CREATE OR REPLACE TABLE {} AS
SELECT name, min(label) AS label, max(label) AS other,
  coalesce(max(chance) FILTER (chance > 0), CASE WHEN count(chance) = count(*) THEN 0 END) AS chance
FROM ({}) WHERE name IS NOT NULL GROUP BY name HAVING count(label) > 0 ORDER BY name"""


def with_label_files(
    table: FileTable, columns: Columns, argument: str, files: Sequence[str], key: str | None
) -> tuple[FileTable, Columns]:
    """Add columns that are not written: labels of files, and their chances.

    Objects are called what the column `key` holds, or else by the numbers of their rows.
    """
    lookup, where = f"{OURS}{argument}", ", ".join(files)
    for number, name in enumerate(files):
        _load(table, f"{lookup}_{number}", argument, name, key)
    every = " UNION ALL ".join(f"FROM {lookup}_{number}" for number in range(len(files)))
    table.work.connection.execute(LOOKUP.format(f"{lookup}_all", every))
    labels = table.work.connection.table(f"{lookup}_all")
    for named, label, other, _ in labels.filter("label <> other").limit(1).fetchall():
        came = f"{label!r} and {other!r} for {named!r} in {where}"
        raise InputError(argument, "must give an object one label", came=came)
    column = quoted(key) if key is not None else "file_row_number"
    named = without_fraction(f"CAST({column} AS VARCHAR)")
    sql = {
        name: f"(SELECT {what} FROM {lookup}_all WHERE name = {named})"
        for what, name in {"label": lookup, "chance": f"{lookup}_chance"}.items()
    }
    table = replace(table, labels=table.labels | sql)
    _require_found(table, argument, labels, where, key)
    found: dict[str, Any] = {argument: lookup}
    if labels.filter("chance IS NOT NULL").limit(1).fetchall():
        found["chances"] = {**columns.chances, argument: f"{lookup}_chance"}
    return table, replace(columns, **found)


def _require_found(
    table: FileTable, argument: str, labels: Any, where: str, key: str | None
) -> None:
    """Refuse labels of other objects only; warn where some of them are."""
    n_labels = labels.count("*").fetchall()[0][0]
    labelled = table.relation.filter(f"{OURS}{argument} IS NOT NULL")
    n_found = labelled.aggregate(f"count(DISTINCT {quoted(key or ROW)})").fetchall()[0][0]
    if not n_found:
        of = "the numbers of its rows" if key is None else f"those in column {key!r}"
        first = [name for name, *_ in labels.limit(6).fetchall()]
        came = f"labels of {listed(first, 5)} in {where}" if first else f"no label in {where}"
        raise InputError(argument, f"must have labels of objects of the table, {of}", came=came)
    if n_found < n_labels:
        lacking = f"{n_labels - n_found:,} of {count(n_labels, 'object')} with a label"
        text = f"In {where}, {lacking} could not be found in the table."
        warnings.warn(text, stacklevel=2)


def _load(table: FileTable, into: str, argument: str, name: str, key: str | None) -> None:
    """Load the labels of a file, FILE or FILE:COLUMN; an object 1.0, as pandas has it, is 1."""
    path, _, column = (name, "", "") if os.path.isfile(name) else name.rpartition(":")
    with table.beside(path or name) as file:
        objects, labels = _columns_in(list(file.columns), argument, path, column, key)
        found = [sql if column in file.columns else "NULL" for column, sql in CHANCE.items()]
        texts = [f"CAST({quoted(each)} AS VARCHAR)" for each in (objects, labels)]
        columns = f"{without_fraction(texts[0])} AS name, {texts[1]} AS label"
        file.rows.project(f"{columns}, coalesce({', '.join(found)}) AS chance").create(into)


def _columns_in(
    names: list[str], argument: str, path: str, column: str, key: str | None
) -> tuple[str, str]:
    """The columns of the objects and of the labels: the latter by name, or the only one."""
    key = key or NUMBERED
    others = [name for name in names if name != key]
    if not column:
        column = LABEL if LABEL in others or len(others) != 1 else others[0]
    if key not in names or column not in others:
        must = f"must be a file with a column {key!r} and one column of labels"
        remedy = f"Write {path}:COLUMN to choose one of several columns"
        remedy += f", or pass {arg('id')}." if key == NUMBERED else "."
        raise InputError(argument, must, came=f"{listed(names, 30)} in {path}", remedy=remedy)
    return key, column
