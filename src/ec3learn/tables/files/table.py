"""A table in a file: DuckDB reads it from Parquet, with its columns as they are and its labels typed.

Nothing is guessed that could change a label: a field of a CSV file is text, unless all labels of
its kind are integers as Python prints them, as ints or as floats. DuckDB works in a hidden folder
next to the output, which is gone when the work is done.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from ..._checks import InputError, InputFileError
from ..._files import is_full, is_plain, place_for, temporary_folder
from ..._progress import Bar, progress
from ..._text import arg, listed
from ..columns import require_column
from ..engines import OURS, Frame, quoted
from .formats import STANDARD, Carried, Format

ROW = f"{OURS}row"
INTEGER = "0|-?[1-9][0-9]*"  # an integer as Python prints it
AT_ONCE = 200  # columns of one query: the time of DuckDB grows faster than their number
MEMORY = "800MB"


@dataclass(frozen=True)
class Workspace:
    """Where files lie until they are whole, the engine that works on them, and a bar that shows what it is doing."""

    folder: Path
    connection: DuckDBPyConnection
    bar: Bar

    @contextmanager
    def told_if_full(self, errors: type[Exception] = Exception) -> Iterator[None]:
        """Say where there is no space left, if that is what is wrong."""
        try:
            yield
        except errors as error:
            if isinstance(error, InputError) or not is_full(error):
                raise
            phrase = f"No space is left for working files in {self.folder.parent}"
            raise InputFileError(
                "out", phrase=phrase, remedy=f"Free some, or pass {arg('out')} in another folder."
            ) from None


@contextmanager
def workspace(
    output: str | None = None, memory: str = MEMORY, *, bar: bool = False
) -> Iterator[Workspace]:
    """Make a workspace on the disk of the output, so that a finished file only needs to be renamed.

    DuckDB uses so much memory before it spills to disk. With `bar` the progress of its queries is
    shown, on a terminal.
    """
    near = None
    if output is not None and output != STANDARD and is_plain(output):
        near = os.path.dirname(os.path.realpath(place_for(output, argument="out")))
    with temporary_folder(near) as folder:
        try:
            settings = {"memory_limit": memory, "temp_directory": str(folder / "spilled")}
            # Nothing is fetched from the network: what we use is in the wheel.
            settings |= dict.fromkeys(
                ("autoinstall_known_extensions", "autoload_known_extensions"), "false"
            )
            connection = duckdb.connect(config=settings)  # type: ignore[arg-type]
        except duckdb.Error:
            raise InputError(
                "memory", "must be a size such as '800MB' or '4GB'", got=memory
            ) from None
        try:
            connection.execute("SET enable_progress_bar = false")
            with follow_queries(connection, shown=bar) as shown:
                yield Workspace(folder, connection, shown)
        finally:
            connection.close()


@contextmanager
def follow_queries(connection: DuckDBPyConnection, *, shown: bool) -> Iterator[Bar]:
    """Show a bar that follows what DuckDB reports about its queries."""
    ended = Event()
    with progress("Starting", shown=shown) as bar:

        def watch() -> None:
            while not ended.wait(0.2):
                share = connection.query_progress()
                if share > 0:
                    bar.update(done=share, total=100)

        watching = Thread(target=watch, daemon=True)
        if bar.shown:
            watching.start()
        try:
            yield bar
        finally:
            ended.set()
            if bar.shown:
                watching.join()


@dataclass(frozen=True)
class FileTable:
    """A table in a Parquet file: the SQL that reads each column and, where it differs, the SQL that reads its labels."""

    work: Workspace
    parquet: Path
    columns: dict[str, str]
    format: Format  # of the file that was read
    labels: dict[str, str] = field(default_factory=dict)
    mixed: Mapping[str, list[str]] = field(
        default_factory=dict
    )  # the types in columns of JSON that have several
    encoding: str = "utf-8"
    carried: Carried | None = None  # the file itself, if it has columns that DuckDB may change

    @property
    def connection(self) -> DuckDBPyConnection:
        """Return the connection on which the table is read."""
        return self.work.connection

    @property
    def is_text(self) -> bool:
        """Return whether the labels have no type."""
        return self.format.name in ("csv", "tsv", "excel")

    @property
    def sql(self) -> str:
        """Return the query for the columns as they are, in the order of the file."""
        return self._query(self._own)

    @property
    def _own(self) -> dict[str, str]:
        """Return the columns of the file, without those that are ours."""
        return {name: sql for name, sql in self.columns.items() if not name.startswith(OURS)}

    @cached_property
    def relation(self) -> DuckDBPyRelation:
        """Return the columns with their labels, and as the last column the number of each row, counted from 0."""
        return self.connection.sql(
            self._query(self.columns | self.labels | {ROW: "file_row_number"})
        )

    @property
    def frame(self) -> Frame:
        """Return the same as a table that can be combined."""
        return nw.from_native(self.relation)

    def sql_with(self, call: str, keys: Iterable[str], name: str) -> str:
        """Return the query for the columns as they are, and a column with a function of the labels of some of them."""
        read = self.columns | self.labels
        return self._query(self._own | {name: f"{call}({', '.join(read[key] for key in keys)})"})

    def _query(self, columns: Mapping[str, str]) -> str:
        chosen = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in columns.items())
        return f"SELECT {chosen} FROM read_parquet({text(self.parquet)})"

    @property
    def types(self) -> dict[str, str]:
        """Return the type of each column, by DuckDB's name for it."""
        return dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))

    def with_labels(
        self,
        groups: Iterable[Sequence[str]],
        missing: Sequence[str] | None = None,
        graded: Sequence[str] = (),
    ) -> FileTable:
        """Return the table with typed labels; text is integers if all of it in a group of columns is.

        `missing` are the labels that mean "no vote", as text. In `graded` columns, integers beside
        text are text.
        """
        either = {
            name: f"({self.columns[name]} ->> '$')"
            for name in graded
            if self.mixed.get(name) == ["int", "text"]
        }
        chosen, missing = [list(names) for names in groups if names], missing or ()
        for name in {
            name for names in chosen for name in names
        } & self.mixed.keys() - either.keys():
            phrase = f"Column {name!r} must hold labels of one type, got {listed(self.mixed[name])}"
            raise InputError("classifiers", phrase=phrase, remedy="Fix it in the file.")
        if not chosen or not (self.is_text or missing or either):
            return self
        read, types = self.columns | either, self.types | dict.fromkeys(either, "VARCHAR")
        gaps = {
            name: [value_of(label, types[name]) for label in missing]
            for names in chosen
            for name in names
        }
        labels = {  # a label that is no value of the column's type does not occur in it
            name: _without(read[name], [label for label in gaps[name] if _fits(label, types[name])])
            for name in gaps
        }
        return replace(
            self, labels=labels | (self._integers(labels, chosen, missing) if self.is_text else {})
        )

    def _integers(
        self, labels: Mapping[str, str], groups: list[list[str]], missing: Sequence[str]
    ) -> dict[str, str]:
        """Return the SQL of the columns of text whose group holds integers alone.

        A number that is not written as Python prints it is a label of its own: 007 is not 7. pandas
        writes 1.0 beside gaps.
        """
        plain = {name: _without_fraction(sql) for name, sql in labels.items()}
        exact = [
            f"bool_and(coalesce(CAST(TRY_CAST({plain[name]} AS BIGINT) AS VARCHAR) = {plain[name]}, {sql} IS NULL))"
            for name, sql in labels.items()
        ]
        found: list[bool] = []
        for begin in range(0, len(exact), AT_ONCE):
            some = ", ".join(exact[begin : begin + AT_ONCE])
            found += self.connection.sql(
                f"SELECT {some} FROM read_parquet({text(self.parquet)})"
            ).fetchall()[0]
        integers = {name for name, is_integer in zip(labels, found, strict=True) if is_integer}
        gaps = [number for label in missing if isinstance(number := value_of(label, "BIGINT"), int)]
        chosen = [name for names in groups if integers >= set(names) for name in names]
        return {name: _without(f"CAST({plain[name]} AS BIGINT)", gaps) for name in chosen}

    def with_text(
        self, columns: Iterable[str], missing: Sequence[str] = (), *, integers: bool = False
    ) -> FileTable:
        """Return the table with labels that are text, except those that mean "no vote".

        With `integers` the same integer is the same text, however it is written.
        """
        labels = {name: _without(quoted(name), missing) for name in columns}
        if integers:
            gaps = [str(value_of(label, "BIGINT")) for label in missing]
            labels = {name: _without(_without_fraction(sql), gaps) for name, sql in labels.items()}
        return replace(self, labels=self.labels | labels)

    def value(self, column: str, written: str) -> Any:
        """Return a text as a value of a column's type; what is no such value stays text."""
        return value_of(written, self.types.get(column, "VARCHAR"))

    def require_column(self, name: str, argument: str) -> None:
        """Refuse a name that no column has, and a column that cannot be read."""
        require_column(name, list(self.columns), argument)
        if self.carried is not None and name in self.carried.unread:
            came = f"{self.carried.unread[name]} in column {name!r}"
            raise InputError(argument, "must name a column of text, numbers or times", came=came)


def value_of(written: str, kind: str) -> Any:
    """Return a text as a value of one of DuckDB's types, if it is one."""
    if kind == "BOOLEAN" and written.lower() in ("true", "false"):
        return written.lower() == "true"
    number = without_fraction(written)
    numeric = "INT" in kind or kind in ("DOUBLE", "FLOAT")
    return int(number) if numeric and re.fullmatch(INTEGER, number) else written


def without_fraction(written: str) -> str:
    """Return an integer that is written as a float, such as 1.0, without its fraction; any other text as it is."""
    number = written.removesuffix(".0")
    return number if number != written and re.fullmatch(INTEGER, number) else written


def _fits(value: Any, kind: str) -> bool:
    return isinstance(value, str) == (kind == "VARCHAR")


def _without(sql: str, missing: Sequence[Any]) -> str:
    if not missing:
        return sql
    labels = ", ".join(text(label) if isinstance(label, str) else str(label) for label in missing)
    return f"CASE WHEN {sql} IN ({labels}) THEN NULL ELSE {sql} END"


def _without_fraction(sql: str) -> str:
    """Return the SQL of a text in which 1.0 is 1."""
    return rf"if(ends_with({sql}, '.0'), regexp_replace({sql}, '^({INTEGER})\.0$', '\1'), {sql})"


def text(value: object) -> str:
    """Return a text in SQL."""
    return "'" + str(value).replace("'", "''") + "'"
