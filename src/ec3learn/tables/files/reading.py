"""Files become tables of DuckDB that are not held in memory.

Parquet is read where it lies. Other formats are parsed once, into Parquet in the workspace. Nothing is guessed that could
change a label: a field of a CSV file is text, unless all labels of its kind are whole numbers as Python prints them, as ints
or as floats.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import duckdb

from ..._text import listed
from ..engines import OURS, quoted
from .formats import STANDARD, Format
from .workspace import Workspace

ROW = f"{OURS}row"
BLOCK = 1 << 24  # bytes of text parsed at a time; a record must fit
WHOLE = "0|-?[1-9][0-9]*"  # a whole number as Python prints it


@dataclass(frozen=True)
class FileTable:
    """A table in a Parquet file: the SQL that reads each column, and where it differs the SQL that reads its labels."""

    connection: duckdb.DuckDBPyConnection
    parquet: Path
    columns: dict[str, str]
    labels: dict[str, str] = field(default_factory=dict)
    is_text: bool = False  # from CSV, where a label has no type
    mixed: Mapping[str, list[str]] = field(default_factory=dict)  # what columns of JSON hold that have no one type

    @property
    def sql(self) -> str:
        """Return the query for the columns as they are, in the order of the file."""
        return self._query(self.columns)

    @property
    def relation(self) -> duckdb.DuckDBPyRelation:
        """Return the columns with their labels, and behind them the number of each row, counted from 0."""
        return self.connection.sql(self._query(self.columns | self.labels | {ROW: "file_row_number"}))

    def sql_with(self, call: str, keys: Iterable[str], name: str) -> str:
        """Return the query for the columns as they are, and a column for what a function says of the labels of some of them."""
        read = self.columns | self.labels
        return self._query(self.columns | {name: f"{call}({', '.join(read[key] for key in keys)})"})

    def _query(self, columns: Mapping[str, str]) -> str:
        chosen = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in columns.items())
        return f"SELECT {chosen} FROM read_parquet({text(self.parquet)})"

    @property
    def kinds(self) -> dict[str, str]:
        """Return the type of each column, as DuckDB calls it."""
        relation = self.relation
        return dict(zip(relation.columns, map(str, relation.types), strict=True))

    def with_labels(self, groups: Iterable[Sequence[str]], missing: Sequence[str] = ()) -> FileTable:
        """Return the table with labels in some columns; text is whole numbers if all in a group of columns are.

        Parameters
        ----------
        groups : sequences of column names
            Columns whose labels must be of one kind.
        missing : sequence of str
            What means "no vote", in words.
        """
        chosen = [list(names) for names in groups if names]
        for name in {name for names in chosen for name in names} & self.mixed.keys():
            raise ValueError(
                f"Column {name!r} must hold labels of one kind, got {listed(self.mixed[name])}. Mend it in the file."
            )
        if not chosen or not (self.is_text or missing):
            return self
        kinds = self.kinds
        gaps = {name: [_value(label, kinds[name]) for label in missing] for names in chosen for name in names}
        said = {  # what is no value of the column's type does not stand there
            name: _without(self.columns[name], [label for label in gaps[name] if _fits(label, kinds[name])]) for name in gaps
        }
        if not self.is_text:
            return replace(self, labels=said)
        # A number that is not written as Python prints it is a label of its own: 007 is not 7. pandas writes 1.0 beside gaps.
        whole = {name: _whole(sql) for name, sql in said.items()}
        exact = [
            f"bool_and(coalesce(CAST(TRY_CAST({whole[name]} AS BIGINT) AS VARCHAR) = {whole[name]}, {sql} IS NULL))"
            for name, sql in said.items()
        ]
        found = self.connection.sql(f"SELECT {', '.join(exact)} FROM read_parquet({text(self.parquet)})").fetchall()[0]
        numbered = {name for name, is_integer in zip(said, found, strict=True) if is_integer}
        none = [number for label in missing if isinstance(number := _value(label, "BIGINT"), int)]
        numbers = {
            name: _without(f"CAST({whole[name]} AS BIGINT)", none) for names in chosen if numbered >= set(names) for name in names
        }
        return replace(self, labels=said | numbers)

    def with_text(self, columns: Iterable[str], missing: Sequence[str] = (), *, numbers: bool = False) -> FileTable:
        """Return the table with labels in some columns that are text, except those that mean "no vote".

        With `numbers` whole numbers are the same text, however they are written.
        """
        said = {name: _without(quoted(name), missing) for name in columns}
        if numbers:
            none = [str(_value(label, "BIGINT")) for label in missing]
            said = {name: _without(_whole(sql), none) for name, sql in said.items()}
        return replace(self, labels=self.labels | said)

    def value(self, column: str, said: str) -> Any:
        """Return what was said in words as a value of a column's type; text that is none stays text."""
        return _value(said, self.kinds.get(column, "VARCHAR"))

    def row(self, named: str, column: str | None = None) -> int:
        """Return the number of the row that is called so in a column, or by its number."""
        if column is None:
            n_rows = self.connection.sql(f"SELECT count(*) FROM read_parquet({text(self.parquet)})").fetchall()[0][0]
            if not named.isdecimal() or int(named) >= n_rows:
                raise ValueError(f"object must be the number of a row, 0 to {n_rows - 1}, got {named!r}. Pass --id for names.")
            return int(named)
        if column not in self.columns:
            raise ValueError(f"id must name a column of the table, got {column!r}. They are {listed(list(self.columns), 30)}.")
        found = self.relation.filter(f"CAST({quoted(column)} AS VARCHAR) = {text(named)}").project(ROW).limit(2).fetchall()
        if len(found) != 1:
            many = "two or more rows have" if found else "no row has"
            raise ValueError(f"object must name one row, got {named!r}, which {many} in column {column!r}.")
        return int(found[0][0])


def _value(said: str, kind: str) -> Any:
    if kind == "BOOLEAN" and said.lower() in ("true", "false"):
        return said.lower() == "true"
    number = said.removesuffix(".0")
    numeric = "INT" in kind or kind in ("DOUBLE", "FLOAT")
    return int(number) if numeric and re.fullmatch(WHOLE, number) else said


def _fits(value: Any, kind: str) -> bool:
    return isinstance(value, str) == (kind == "VARCHAR")


def _without(sql: str, missing: Sequence[Any]) -> str:
    if not missing:
        return sql
    labels = ", ".join(text(label) if isinstance(label, str) else str(label) for label in missing)
    return f"CASE WHEN {sql} IN ({labels}) THEN NULL ELSE {sql} END"


def _whole(sql: str) -> str:
    """Return the SQL for a text in which 1.0 is 1."""
    return rf"if(ends_with({sql}, '.0'), regexp_replace({sql}, '^({WHOLE})\.0$', '\1'), {sql})"


def read(work: Workspace, path: str, format: Format, encoding: str = "utf-8") -> FileTable:
    """Open a file as a table.

    Parameters
    ----------
    work : Workspace
        Where what was parsed is kept.
    path : path, or "-" for standard input
        The file.
    format : Format
        What it is.
    encoding : str
        How text is encoded.

    Returns
    -------
    FileTable
    """
    name = "Standard input" if path == STANDARD else path
    source = _local(work, path)
    with told(name, format.name, encoding):
        if format.name == "parquet":
            return _parquet(work, source, name)
        if format.name == "jsonl":
            return _json_lines(work, source, format, encoding, name)
        if format.name == "arrow":
            return _staged(work, *_arrow(source), name)
        return replace(_csv(work, source, format, encoding, name), is_text=True)


@contextmanager
def told(name: str, what: str, encoding: str) -> Iterator[None]:
    """Turn what libraries say about a file into one sentence."""
    import pyarrow as pa

    try:
        yield
    except (UnicodeError, LookupError) as error:
        raise _not_encoded(name, encoding, str(error)) from None
    except (duckdb.Error, pa.ArrowException, OSError, csv.Error) as error:  # Arrow has some of its own as OSError
        reason = str(error).splitlines()[0].rstrip(".")
        if "UTF8" in reason:
            raise _not_encoded(name, encoding, reason) from None
        raise ValueError(f"{name} can't be read as {what}: {reason}.") from None


def _not_encoded(name: str, encoding: str, reason: str) -> ValueError:
    return ValueError(
        f"{name} must be text in {encoding} ({reason.rstrip('.')}). Pass another --encoding, such as latin-1 or utf-16."
    )


def text(value: object) -> str:
    """Return a text in SQL."""
    return "'" + str(value).replace("'", "''") + "'"


# ---- one format each -------------------------------------------------------------------------------------------------


def _local(work: Workspace, path: str) -> Path:
    """Return a file by a name without signs that DuckDB takes for a pattern; what can be read only once is copied."""
    link = work.path("input")
    if path == STANDARD:
        with open(link, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return link
    with open(path, "rb") as file:  # says what is wrong with a path in the words of the system
        if os.path.isfile(path):
            link.symlink_to(os.path.realpath(path))
        else:
            with open(link, "wb") as copy:
                shutil.copyfileobj(file, copy)
    return link


def _parquet(work: Workspace, source: Path, name: str) -> FileTable:
    import pyarrow.parquet as pq

    names = pq.read_schema(source).names
    _require_names(names, name)
    return FileTable(work.connection, source, {column: quoted(column) for column in names})


def _staged(work: Workspace, batches: Any, names: list[str], name: str) -> FileTable:
    """Write batches into the workspace, once."""
    _require_names(names, name)
    staged = work.path("staged.parquet")
    work.connection.from_arrow(batches).write_parquet(str(staged), compression="zstd")
    return FileTable(work.connection, staged, {column: quoted(column) for column in names})


def _arrow(source: Path) -> tuple[Any, list[str]]:
    """Return the batches of an Arrow file, or of an Arrow stream."""
    import pyarrow as pa

    file = pa.memory_map(str(source))
    try:
        reader = pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        stream = pa.ipc.open_stream(file)
        return stream, stream.schema.names
    batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
    return pa.RecordBatchReader.from_batches(reader.schema, batches), reader.schema.names


def _csv(work: Workspace, source: Path, format: Format, encoding: str, name: str) -> FileTable:
    """Return a table of text; an empty field is null."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    heads = _heads(source, format, encoding, name)
    _require_names(heads, name)
    options = arrow_csv.ReadOptions(block_size=BLOCK, encoding=encoding, column_names=heads, skip_rows_after_names=1)
    # A line without fields is a missing value where there is one column, and nothing where there are more.
    parse = arrow_csv.ParseOptions(delimiter=format.delimiter, newlines_in_values=True, ignore_empty_lines=len(heads) > 1)
    convert = arrow_csv.ConvertOptions(column_types=dict.fromkeys(heads, pa.string()), null_values=[""], strings_can_be_null=True)
    try:
        return _staged(work, arrow_csv.open_csv(_bytes(source, format), options, parse, convert), heads, name)
    except (pa.ArrowInvalid, duckdb.Error):
        _require_equal_records(source, format, encoding, name, len(heads))
        raise


def _bytes(source: Path, format: Format) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(source), compression=format.compression)


def _records(source: Path, format: Format, encoding: str) -> Any:
    """Return the records of a CSV file by Python's own reader, which is slow and says where it is."""
    lines = io.TextIOWrapper(_bytes(source, format), encoding=with_bom(encoding), newline="")
    return csv.reader(lines, delimiter=format.delimiter)


def _heads(source: Path, format: Format, encoding: str, name: str) -> list[str]:
    """Return the names of the columns; one without a name is called after its place."""
    heads: list[str] = next(_records(source, format, encoding), [])
    if not any(heads):
        raise ValueError(f"{name} must name its columns in the first line, got an empty one.")
    if len(heads) == 1:
        other = next((sign for sign in ",;\t|" if sign in heads[0]), None)
        if other is not None:
            raise ValueError(
                f"{name} must have {format.delimiter!r} between its columns, got {heads[0]!r}. Pass --delimiter {other!r}."
            )
    unnamed = {i: f"column_{i + 1}" for i, head in enumerate(heads) if not head}
    if unnamed:
        warnings.warn(f"{name} has columns without a name, called {listed(list(unnamed.values()))} here.", stacklevel=2)
    return [unnamed.get(i, head) for i, head in enumerate(heads)]


def _require_equal_records(source: Path, format: Format, encoding: str, name: str, n_columns: int) -> None:
    """Say which line of a CSV file has too few or too many fields."""
    records = _records(source, format, encoding)
    for record in records:
        if record and len(record) != n_columns:
            raise ValueError(
                f"{name} must have {n_columns} fields in every line, as in the first, got {len(record)} in line "
                f"{records.line_num}."
            )


def _json_lines(work: Workspace, source: Path, format: Format, encoding: str, name: str) -> FileTable:
    """Return a table with a column for each key of JSON objects, typed where all its values are of one type."""
    lines = work.path("lines.jsonl")
    n_lines = _copy_lines(source, lines, format, encoding)
    sql, objects = work.connection.sql, f"read_ndjson_objects({text(lines)}, maximum_object_size = {BLOCK})"
    try:
        n_objects, first = sql(
            f"SELECT count(*) FILTER (json_type(json) = 'OBJECT'), first(json_keys(json)) FROM {objects}"
        ).fetchall()[0]
        all_keys = sql(f"SELECT DISTINCT unnest(json_keys(json)) AS key FROM {objects} ORDER BY key").fetchall()
    except duckdb.Error:
        n_objects = None
    if n_objects != n_lines:  # DuckDB passes over some lines that are no objects
        _require_objects(lines, name)
    names = list(dict.fromkeys([*(first or ()), *(key for (key,) in all_keys)]))
    _require_names(names, name)
    staged = work.path("staged.parquet")
    keys = ", ".join(f"{text(key)}: 'JSON'" for key in names)
    rows = f"read_ndjson({text(lines)}, columns = {{{keys}}}, maximum_object_size = {BLOCK})"
    sql(f"SELECT * FROM {rows}").write_parquet(str(staged), compression="zstd")
    lines.unlink()
    kinds = [f"list(DISTINCT {JSON_KIND.format(quoted(key))})" for key in names]
    found = sql(f"SELECT {', '.join(kinds)} FROM read_parquet({text(staged)})").fetchall()[0] if names else ()
    columns, mixed = {}, {}
    for key, kind in zip(names, found, strict=True):
        read_as = JSON_TYPES.get(frozenset(kind or ()) - {None})
        columns[key] = quoted(key) if read_as is None else read_as.format(quoted(key))
        if read_as is None:
            mixed[key] = sorted(filter(None, kind))
    return FileTable(work.connection, staged, columns, mixed=mixed)


# A whole number beyond 64 bits has a kind of its own: DuckDB takes it for a float, which would lose digits.
JSON_KIND = """CASE json_type({0})
    WHEN 'BIGINT' THEN 'int'
    WHEN 'UBIGINT' THEN if(TRY_CAST({0} AS BIGINT) IS NULL, 'large int', 'int')
    WHEN 'DOUBLE' THEN if(regexp_full_match(CAST({0} AS VARCHAR), '-?[0-9]+'), 'large int', 'float')
    WHEN 'VARCHAR' THEN 'text' WHEN 'BOOLEAN' THEN 'bool' WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array' END"""
JSON_TYPES = {
    frozenset(): "CAST({} AS VARCHAR)",
    frozenset({"int"}): "CAST({} AS BIGINT)",
    frozenset({"float"}): "CAST({} AS DOUBLE)",
    frozenset({"int", "float"}): "CAST({} AS DOUBLE)",
    frozenset({"bool"}): "CAST({} AS BOOLEAN)",
    frozenset({"text"}): "({} ->> '$')",
}


def _copy_lines(source: Path, target: Path, format: Format, encoding: str) -> int:
    """Copy the lines that are not empty, in UTF-8 without a byte order mark, and return how many there are."""
    n_lines = 0
    reading = io.TextIOWrapper(_bytes(source, format), encoding=with_bom(encoding), newline="\n")
    with reading as lines, open(target, "w", encoding="utf-8", newline="\n") as copy:
        for line in lines:
            if line.strip():
                copy.write(line if line.endswith("\n") else line + "\n")
                n_lines += 1
    return n_lines


def _require_objects(lines: Path, name: str) -> NoReturn:
    """Say which line holds no JSON object."""
    with open(lines, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                reason = "" if isinstance(json.loads(line), dict) else f"got {line.strip()[:40]}"
            except ValueError as error:
                reason = str(error).split(":")[0].lower()
            if reason:
                raise ValueError(f"{name} must hold a JSON object in each line, {reason} in line {number}.")
    raise ValueError(f"{name} must hold a JSON object in each line.")


# ---- checks ----------------------------------------------------------------------------------------------------------


def with_bom(encoding: str) -> str:
    """Return the encoding that leaves out a byte order mark."""
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _require_names(names: Sequence[str], name: str) -> None:
    """Refuse columns that DuckDB can't tell apart or has no name for."""
    seen: dict[str, str] = {}
    for column in names:
        other = seen.get(column.casefold())
        if other is not None:
            raise ValueError(f"{name} must have columns that differ in more than case, got {other!r} and {column!r}. Rename one.")
        seen[column.casefold()] = column
        if not column or column.casefold() == "file_row_number" or column.startswith(OURS):
            raise ValueError(f"{name} must have no column called {column!r}, a name that is used here. Rename it.")
    if not names:
        raise ValueError(f"{name} must have columns, got none.")
