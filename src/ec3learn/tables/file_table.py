"""A file as a table of DuckDB: its columns as they are, and its labels typed.

Nothing is guessed that could change a label: a field of a CSV file is text, unless all labels of
its kind are integers as Python prints them, as ints or as floats.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from .._checks import InputError
from ..consensus import Consensus
from ..votes import Scale
from .columns import Columns
from .engines import OURS, Frame, quoted
from .formats import STANDARD, Format, format_of_content
from .reading import MEMORY, READERS, Source, Workspace, delimiter_of, open_source, text, workspace

ROW = f"{OURS}row"
INTEGER = "0|-?[1-9][0-9]*"  # as Python prints it
NOISE = "-1"


@dataclass(frozen=True)
class FileTable:
    """A table in a Parquet file, and the SQL of labels that differ from what is in the file."""

    work: Workspace
    parquet: Path
    format: Format  # of the file that was read
    encoding: str
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def connection(self) -> DuckDBPyConnection:
        """The connection on which the table is read."""
        return self.work.connection

    @property
    def is_text(self) -> bool:
        """Whether the labels have no type."""
        return self.format.name in ("csv", "tsv", "excel")

    @cached_property
    def rows(self) -> DuckDBPyRelation:
        """The columns as they are, in the order of the file."""
        return self.connection.read_parquet(str(self.parquet))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.rows.columns)

    @cached_property
    def relation(self) -> DuckDBPyRelation:
        """The columns with their labels, and as the last column the number of each row, from 0."""
        read = {name: quoted(name) for name in self.columns} | self.labels
        read[ROW] = "file_row_number"
        chosen = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in read.items())
        return self.connection.sql(f"SELECT {chosen} FROM read_parquet({text(self.parquet)})")

    @property
    def frame(self) -> Frame:
        """The same as a table that can be combined."""
        return nw.from_native(self.relation)

    def type_of(self, column: str) -> str:
        """The type of a column's labels, by DuckDB's name for it."""
        return str(self.relation.types[self.relation.columns.index(column)])

    def with_labels(self, columns: Columns, missing: Sequence[str] | None) -> FileTable:
        """Give labels their types: text is integers where all of it in columns of a kind is."""
        groups, graded = label_groups(columns)
        labels = {}
        for name in (name for group in groups for name in group):
            sql = self.labels.get(name, quoted(name))
            if self.type_of(name) == "JSON":
                if name not in graded:
                    phrase = (
                        f"Column {name!r} must hold labels of one type, text, integers or bools"
                    )
                    raise InputError("classifiers", phrase=phrase)
                sql = f"({sql} ->> '$')"
            labels[name] = _without(sql, missing)
        if self.is_text:
            integers = self._integers(labels)
            for group in groups:
                if integers >= set(group):
                    labels |= {
                        name: f"CAST({without_fraction(labels[name])} AS BIGINT)" for name in group
                    }
        return replace(self, labels=self.labels | _shares(columns) | labels)

    def _integers(self, labels: Mapping[str, str]) -> set[str]:
        """The columns of integers as Python prints them, or as 1.0, as pandas does."""
        tests = [
            f"bool_and({sql} IS NULL OR (regexp_full_match({sql}, '({INTEGER})([.]0)?') "
            f"AND TRY_CAST({sql} AS BIGINT) IS NOT NULL))"
            for sql in labels.values()
        ]
        if not tests:
            return set()
        query = f"SELECT {', '.join(tests)} FROM read_parquet({text(self.parquet)})"
        found = self.connection.sql(query).fetchall()[0]
        return {name for name, all_integers in zip(labels, found, strict=True) if all_integers}

    def with_text(
        self, columns: Columns, consensus: Consensus, missing: Sequence[str] | None
    ) -> FileTable:
        """Leave labels text as the consensus writes them: where it has integers, 1.0 is 1."""
        written = {model.name: model.labels.tolist() for model in consensus.solution.models}
        everybody = [
            label for model in consensus.solution.models for label in model.labels.tolist()
        ]
        labels = {}
        for name, column in {**columns.classifiers, **columns.clusterings}.items():
            if isinstance(column, dict):
                continue
            known = (
                everybody if columns.objects and column == columns.labels else written.get(name, [])
            )
            sql, gaps = quoted(column), list(missing or ())
            if any(isinstance(label, int) for label in known):
                sql = without_fraction(sql)
            if name in columns.clusterings and int(NOISE) not in known and NOISE not in known:
                gaps.append(NOISE)
            labels[column] = _without(sql, gaps)
        return replace(self, labels=self.labels | _shares(columns) | labels)


def label_groups(columns: Columns) -> tuple[list[list[str]], list[str]]:
    """The columns of labels of one kind, group by group; and those with answers on a scale."""
    hard = {
        name: column for name, column in columns.classifiers.items() if not isinstance(column, dict)
    }
    by_scale: dict[Scale, list[str]] = {}
    if columns.objects is None:
        for name, scale in (columns.scale or {}).items():
            by_scale.setdefault(scale, []).append(hard[name])
    elif isinstance(columns.scale, Scale):
        by_scale[columns.scale] = [columns.labels]
    graded = [column for group in by_scale.values() for column in group]
    stated = [column for column in (columns.known, columns.truth) if column is not None]
    classes = [column for column in hard.values() if column not in graded]
    clusters = [[column] for column in columns.clusterings.values() if not isinstance(column, dict)]
    return [[*classes, *stated], *clusters, *by_scale.values()], graded


def _shares(columns: Columns) -> dict[str, str]:
    """The SQL of the columns of soft models."""
    soft = {**columns.classifiers, **columns.clusterings}.values()
    names = [name for column in soft if isinstance(column, dict) for name in column.values()]
    return {name: f"CAST({quoted(name)} AS DOUBLE)" for name in names}


def value_of(written: str, kind: str) -> Any:
    """Read a text as a value of one of DuckDB's types, if it is one; else it stays text."""
    if kind == "BOOLEAN" and written.lower() in ("true", "false"):
        return written.lower() == "true"
    number = written.removesuffix(".0")
    numeric = "INT" in kind or kind in ("DOUBLE", "FLOAT")
    return int(number) if numeric and re.fullmatch(INTEGER, number) else written


def _without(sql: str, missing: Sequence[str] | None) -> str:
    """The SQL of labels without those that mean "no vote"; an integer may be written as a float."""
    words = [word for label in missing or () for word in (label, label.removesuffix(".0"))]
    if not words:
        return sql
    gaps = ", ".join(text(word) for word in [*words, *(f"{word}.0" for word in words)])
    return f"CASE WHEN CAST({sql} AS VARCHAR) IN ({gaps}) THEN NULL ELSE {sql} END"


def without_fraction(sql: str) -> str:
    """The SQL of a text in which 1.0 is 1."""
    return rf"regexp_replace({sql}, '^({INTEGER})[.]0$', '\1')"


@contextmanager
def open_file(
    path: str,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    memory: str = MEMORY,
    beside: str | None = None,
    bar: bool = False,
) -> Iterator[FileTable]:
    """Open a file, or standard input for "-"; temporary files are `beside` the output."""
    if path == STANDARD and format is None and hasattr(sys.stdin.buffer, "peek"):
        format = "csv" if delimiter is not None else format_of_content(sys.stdin.buffer.peek())
    kind = Format.of(path, format, delimiter)
    if sheet is not None and kind.name != "excel":
        must = "must be left out unless the file is a spreadsheet"
        raise InputError("sheet", must, came=f"{sheet!r} for {kind.name}")
    with (
        workspace(beside, memory, bar=bar) as work,
        open_source(path, kind, encoding, sheet, work, memory) as source,
    ):
        work.bar.update(f"Reading {source.name}")
        yield _read(source)


def _read(source: Source) -> FileTable:
    """Read a file into a table; that of Parquet stays where it is."""
    if source.format.name == "csv" and source.format.delimiter is None:
        format = replace(source.format, delimiter=delimiter_of(source))
        source = replace(source, format=format)
    table = FileTable(
        source.work, READERS[source.format.name](source), source.format, source.encoding
    )
    table.relation.limit(0).fetchall()  # a broken file is refused here
    return table
