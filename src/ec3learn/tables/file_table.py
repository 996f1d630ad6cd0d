"""A file as a table of DuckDB: its columns as they are, with labels that other files have."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from glob import escape, glob
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
from duckdb import DuckDBPyRelation

from .._checks import InputError
from .._text import listed
from .engines import OURS, Frame, quoted
from .formats import STANDARD, Format, format_of_content, is_table
from .label_types import INTEGER, whole
from .reading import MEMORY, READERS, Source, Workspace, delimiter_of, open_source, text, workspace

ROW = f"{OURS}row"


@dataclass(frozen=True)
class FileTable:
    """A table in a Parquet file, and the SQL of columns that are not in the file."""

    work: Workspace
    parquet: Path
    format: Format  # of the file that was read
    encoding: str
    labels: dict[str, str] = field(default_factory=dict)  # from other files

    @property
    def is_text(self) -> bool:
        """Whether the labels have no type."""
        return self.format.name in ("csv", "tsv", "excel")

    @cached_property
    def rows(self) -> DuckDBPyRelation:
        """The columns as they are, in the order of the file."""
        return self.work.connection.read_parquet(str(self.parquet))

    @cached_property
    def columns(self) -> dict[str, str]:
        """The names of the columns, and DuckDB's names for their types."""
        return dict(zip(self.rows.columns, map(str, self.rows.types), strict=True))

    @cached_property
    def relation(self) -> DuckDBPyRelation:
        """The columns, labels from other files, and as the last the number of each row, from 0.

        JSON that is of no type is text.
        """
        read = {
            name: f"{quoted(name)} ->> '$'" if kind == "JSON" else quoted(name)
            for name, kind in self.columns.items()
        }
        read |= {**self.labels, ROW: "file_row_number"}
        chosen = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in read.items())
        return self.work.connection.sql(f"SELECT {chosen} FROM read_parquet({text(self.parquet)})")

    @property
    def frame(self) -> Frame:
        """The same as a table that can be combined."""
        return nw.from_native(self.relation)

    def texts(self, column: str, key: str, values: Sequence[Any]) -> list[str | None]:
        """What a column holds, as text, in the first row whose key is each of some values."""
        wanted = pa.table(
            {"place": range(len(values)), "name": [str(whole(str(v))) for v in values]}
        )
        name = without_fraction(f"CAST({quoted(key)} AS VARCHAR)")
        held = self.relation.project(f"{name} AS name, {quoted(column)} AS held, {ROW} AS row")
        both = self.work.connection.from_arrow(wanted).join(held, "name", how="left")
        texts = both.aggregate("place, CAST(arg_min(held, row) AS VARCHAR) AS held", "place")
        return [held for _, held in texts.order("place").fetchall()]

    @contextmanager
    def beside(self, path: str) -> Iterator[FileTable]:
        """Open another file in the same workspace."""
        kind = Format.of(path)
        with open_source(path, kind, self.encoding, None, self.work) as source:
            yield _read(source)


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
    """Open a file, several files, or standard input; temporary files are `beside` the output."""
    if path == STANDARD and format is None and hasattr(sys.stdin.buffer, "peek"):
        format = "csv" if delimiter is not None else format_of_content(sys.stdin.buffer.peek())
    paths = files_of(path)
    if path != STANDARD:
        os.stat(paths[0])  # a missing file is said to be missing, whatever its name
    kinds = {name: Format.of(name, format, delimiter) for name in paths}
    formats = {kind.name for kind in kinds.values()}
    if len(formats) > 1:
        raise InputError("votes", "must be files of one format", came=listed(sorted(formats)))
    if sheet is not None and formats != {"excel"}:
        must = "must be left out unless the file is a spreadsheet"
        raise InputError("sheet", must, came=f"{sheet!r} for {formats.pop()}")
    with workspace(beside, memory, bar=bar) as work, ExitStack() as stack:
        tables = []
        for name, kind in kinds.items():
            work.bar.update(f"Reading {name}")
            source = open_source(name, kind, encoding, sheet, work)
            tables.append(_read(stack.enter_context(source)))
        yield tables[0] if len(tables) == 1 else _stacked(tables)


def files_of(path: str) -> list[str]:
    """The files in a folder, or those of a pattern such as votes-*.csv; else the path."""
    if path == STANDARD or os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        return sorted(filter(is_table, glob(os.path.join(escape(path), "*")))) or [path]
    return sorted(filter(os.path.isfile, glob(path))) or [path]


def _stacked(tables: list[FileTable]) -> FileTable:
    """The rows of several tables, one after the other; columns are matched by name."""
    first, paths = tables[0], ", ".join(text(table.parquet) for table in tables)
    parquet = first.work.folder / "stacked.parquet"
    rows = f"SELECT * FROM read_parquet([{paths}], union_by_name = true)"
    first.work.connection.execute(f"COPY ({rows}) TO {text(parquet)} (FORMAT parquet)")
    return replace(first, parquet=parquet)


def _read(source: Source) -> FileTable:
    """Read a file into a table; that of Parquet stays where it is."""
    if source.format.name == "csv" and source.format.delimiter is None:
        format = replace(source.format, delimiter=delimiter_of(source))
        source = replace(source, format=format)
    parquet = READERS[source.format.name](source)
    table = FileTable(source.work, parquet, source.format, source.encoding)
    table.rows.limit(0).fetchall()  # a broken file is refused here
    return table


def without_fraction(sql: str) -> str:
    """The SQL of a text in which 1.0 is 1."""
    return rf"regexp_replace({sql}, '^{INTEGER}[.]0$', '\1')"
