"""Files become tables that DuckDB reads, larger than memory: Parquet where it lies, other formats parsed once into Parquet."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import duckdb
import pyarrow as pa
from pyarrow import csv as arrow_csv

from ..._checks import InputError, require_library
from ..._files import is_full
from ..._text import arg, first_line, listed, some
from ..engines import OURS, quoted
from ..exports import TOOLS, export_columns
from .formats import STANDARD, Carried, Format
from .table import FileTable, Workspace, text

MOST_COLUMNS = 10_000  # beyond which DuckDB needs much memory and time
BLOCK = 1 << 24  # bytes of text parsed at a time; a record must fit


def read(
    work: Workspace, path: str, format: Format, encoding: str = "utf-8", sheet: str | None = None
) -> FileTable:
    """Open a file, or standard input for "-", as a table."""
    name = "Standard input" if path == STANDARD else path
    work.bar.update(f"Reading {name}")
    with work.told_if_full():
        source = Source(work, _local(work, path), name, format, encoding, sheet)
        with source.readable_errors():
            return READERS[format.name](source)


def _local(work: Workspace, path: str) -> Path:
    """Return a file by a name without characters that DuckDB takes for a pattern; what can be read only once is copied."""
    link = work.folder / "input"
    with (
        nullcontext(sys.stdin.buffer) if path == STANDARD else open(path, "rb") as file
    ):  # the system says what is wrong here
        if path != STANDARD and os.path.isfile(path):
            link.symlink_to(os.path.realpath(path))
        else:
            with open(link, "wb") as copy:
                shutil.copyfileobj(file, copy)
    return link


@dataclass(frozen=True)
class Source:
    """A file that is read: where it lies, what messages call it, and how it is written."""

    work: Workspace
    path: Path
    name: str
    format: Format
    encoding: str
    sheet: str | None

    def error(self, problem: str, remedy: str = "") -> InputError:
        """Return the error that something is wrong with the file."""
        return InputError("votes", phrase=f"{self.name} {problem}", remedy=remedy)

    @contextmanager
    def readable_errors(self) -> Iterator[None]:
        """Turn the errors of libraries about the file into one sentence."""
        try:
            yield
        except (UnicodeError, LookupError) as error:
            raise self._not_encoded(str(error)) from None
        except duckdb.OutOfMemoryException:  # not the file's fault
            raise
        except (
            duckdb.Error,
            pa.ArrowException,
            OSError,
            csv.Error,
        ) as error:  # some errors of Arrow are an OSError
            if is_full(error):  # nor this
                raise
            reason = first_line(error)
            if "UTF8" in reason:
                raise self._not_encoded(reason) from None
            raise self.error(f"cannot be read as {self.format.name}: {reason}") from None

    def _not_encoded(self, reason: str) -> InputError:
        remedy = f"Pass another {arg('encoding')}, such as latin-1 or utf-16."
        return self.error(f"must be text in {self.encoding} ({reason.rstrip('.')})", remedy)

    @property
    def bytes(self) -> Any:
        """Return the content, no longer compressed."""
        return pa.input_stream(str(self.path), compression=self.format.compression)

    def lines(self, newline: str | None) -> io.TextIOWrapper:
        """Return the content as lines of text, without a byte order mark."""
        encoding = "utf-8-sig" if codecs.lookup(self.encoding).name == "utf-8" else self.encoding
        return io.TextIOWrapper(self.bytes, encoding=encoding, newline=newline)

    def table(self, parquet: Path, columns: Mapping[str, str], **known: Any) -> FileTable:
        """Return the table that is in a Parquet file, by the SQL that reads each column."""
        self.require_names(list(columns))
        return FileTable(
            self.work, parquet, dict(columns), self.format, encoding=self.encoding, **known
        )

    def staged(self, batches: Any, names: list[str]) -> FileTable:
        """Write batches into the workspace, once, and return their table."""
        self.require_names(names)
        parquet = self.work.folder / "staged.parquet"
        self.work.connection.from_arrow(batches).write_parquet(str(parquet), compression="zstd")
        return self.table(parquet, {name: quoted(name) for name in names})

    def require_names(self, names: list[str]) -> None:
        """Refuse columns that DuckDB cannot tell apart, names that are reserved, and too many of them."""
        if len(names) > MOST_COLUMNS:
            remedy = f"Leave out columns that are not needed, or turn it into a long table with {arg('voters')}."
            raise self.error(
                f"must have at most {MOST_COLUMNS:,} columns, got {len(names):,}", remedy
            )
        seen: dict[str, str] = {}
        for column in names:
            other = seen.get(column.casefold())
            if other is not None:
                problem = (
                    f"must have columns that differ in more than case, got {other!r} and {column!r}"
                )
                raise self.error(problem, "Rename one.")
            seen[column.casefold()] = column
            if not column or column.casefold() == "file_row_number" or column.startswith(OURS):
                raise self.error(
                    f"must have no column named {column!r}, which is reserved", "Rename it."
                )
            if "\0" in column:
                raise self.error(
                    f"must have no NUL in the name of a column, got {column!r}", "Rename it."
                )
        if not names:
            raise self.error("must have columns, got none")


# ---- one format each -----------------------------------------------------------------------------


def _parquet(source: Source) -> FileTable:
    return _carrying(source, source.path, Carried(source.path, source.format))


def _arrow(source: Source) -> FileTable:
    """Return the columns of an Arrow file, or of an Arrow stream."""
    carried = Carried(source.path, source.format)
    readable = [column for column in carried.schema.names if column not in carried.unread]
    batches = (batch.select(readable) for batch in carried.batches())
    schema = pa.schema([carried.schema.field(column) for column in readable])
    staged = source.staged(pa.RecordBatchReader.from_batches(schema, batches), readable)
    return _carrying(source, staged.parquet, carried)


def _carrying(source: Source, parquet: Path, carried: Carried) -> FileTable:
    """Return a table whose columns are typed; one that DuckDB does not read has no values, and a type that no label has."""
    unread = carried.unread
    columns = {
        name: "CAST(NULL AS INTERVAL)" if name in unread else quoted(name)
        for name in carried.schema.names
    }
    return source.table(parquet, columns, carried=carried)


def _csv(source: Source) -> FileTable:
    """Return a table of text; an empty field is null."""
    heads, delimiter = _heads(source), source.format.delimiter
    options = arrow_csv.ReadOptions(block_size=BLOCK, column_names=heads, skip_rows_after_names=1)
    # A line without fields is a missing value where there is one column, and nothing where there
    # are more.
    parse = arrow_csv.ParseOptions(
        delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(heads) > 1
    )
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(heads, pa.string()), null_values=[""], strings_can_be_null=True
    )
    file = LastLine(
        pa.transcoding_input_stream(source.bytes, source.encoding, "utf-8"), delimiter, len(heads)
    )
    try:
        reader = arrow_csv.open_csv(pa.PythonFile(file, "r"), options, parse, convert)
        table = source.staged(
            pa.RecordBatchReader.from_batches(reader.schema, file.without_it(reader)), heads
        )
    except (pa.ArrowInvalid, duckdb.Error):
        _require_equal_records(source, len(heads))
        raise
    if not file.found:
        _require_equal_records(source, len(heads))
        raise source.error("must close every quote")
    return table


class LastLine(io.RawIOBase):
    """A CSV file with a line of ours at its end, which the parser finds unless a quote before it was never closed."""

    def __init__(self, file: Any, delimiter: str, n_columns: int) -> None:
        self.file, self.found = file, False
        self.mark = f"{OURS}{uuid4().hex}".replace(delimiter, "")
        self.line = (self.mark + delimiter * (n_columns - 1)).encode()
        self.waiting, self.ends_line = b"", True

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int = BLOCK) -> bytes:
        """Return so many bytes, fewer only at the end: the parser would take fewer for a block of its own."""
        while self.line and len(self.waiting) < size:
            block: bytes = self.file.read(size - len(self.waiting))
            if block:
                self.ends_line = block[-1:] in (b"\n", b"\r")
            else:
                block, self.line = (b"" if self.ends_line else b"\n") + self.line, b""
            self.waiting += block
        found, self.waiting = self.waiting[:size], self.waiting[size:]
        return found

    def without_it(self, reader: Any) -> Iterator[Any]:
        """Return the batches of the parser without our line."""
        held = None
        for batch in reader:
            if held is not None:
                yield held
            held = batch if len(batch) else held
        if held is not None:
            self.found = held.column(0)[-1].as_py() == self.mark
            yield held[:-1]


def _records(source: Source) -> Iterator[tuple[list[str], int]]:
    """Read the records of a CSV file, and the lines they end in, by Python's own reader, which is slow but knows the line."""
    at_end = False

    def until_end() -> Iterator[str]:
        nonlocal at_end
        yield from source.lines(newline="")
        at_end = True

    records, begin = csv.reader(until_end(), delimiter=source.format.delimiter), 1
    longest = csv.field_size_limit(BLOCK)
    try:
        for record in records:
            if at_end:  # it asked for more
                break
            yield record, records.line_num
            begin = records.line_num + 1
        else:
            return
    except csv.Error:  # a field that is too long
        pass
    finally:
        csv.field_size_limit(longest)
    raise source.error(f"must close every quote, got one in line {begin} that is open at the end")


def _heads(source: Source) -> list[str]:
    """Return the names of the columns in the first line."""
    heads, _ = next(_records(source), ([], 0))
    if not any(heads):
        raise source.error("must name its columns in the first line, got an empty one")
    if len(heads) == 1:
        other = next((sign for sign in ",;\t|" if sign in heads[0]), None)
        if other is not None:
            problem = (
                f"must have {source.format.delimiter!r} between its columns, got {heads[0][:80]!r}"
            )
            raise source.error(problem, f"Pass {arg('delimiter', other)}.")
    names = _named(heads, source)
    source.require_names(names)
    return names


def _named(heads: Sequence[str], source: Source) -> list[str]:
    """Return the names of columns; one without a name is named after its place."""
    unnamed = {i: f"column_{i + 1}" for i, head in enumerate(heads) if not head}
    if unnamed:
        warnings.warn(
            f"{source.name} has columns without a name, named {listed(list(unnamed.values()))} here.",
            stacklevel=2,
        )
    return [unnamed.get(i, head) for i, head in enumerate(heads)]


def _require_equal_records(source: Source, n_columns: int) -> None:
    """Say which line of a CSV file has too few or too many fields."""
    for record, line in _records(source):
        if record and len(record) != n_columns:
            problem = f"must have {n_columns} fields in every line, as in the first"
            raise source.error(f"{problem}, got {len(record)} in line {line}")


def _excel(source: Source) -> FileTable:
    """Return the cells of a sheet as text, as in a CSV file: a spreadsheet has a type for each cell, and none for a column."""
    require_library("Reading a spreadsheet", "fastexcel", "excel")
    import fastexcel

    name, sheet = source.name, source.sheet
    try:
        book = fastexcel.read_excel(source.path)
        if sheet is not None and sheet not in book.sheet_names:
            raise InputError(
                "sheet", f"must be a sheet of {name}, {listed(book.sheet_names)}", got=sheet
            )
        if sheet is None and len(book.sheet_names) > 1:
            first, *others = book.sheet_names
            others_are = f"Pass {arg('sheet')} for another: {some(others)}."
            warnings.warn(
                f"{name} has {len(others) + 1} sheets; {first!r} is read. {others_are}",
                stacklevel=2,
            )
        cells = book.load_sheet(sheet or 0, dtypes="string")
        heads = [
            "" if head.column_name_from == "generated" else head.name
            for head in cells.available_columns()
        ]
        table = pa.Table.from_batches([cells.to_arrow()])
    except fastexcel.FastExcelError as error:
        problem = f"cannot be read as a spreadsheet: {first_line(error)}"
        raise source.error(problem, "Save it again as .xlsx, or as CSV.") from None
    heads = _named(heads, source)
    return source.staged(table.rename_columns(heads), heads)


def _export(source: Source) -> FileTable:
    """Return an export of an annotation tool as a long table."""
    with source.lines(newline=None) as lines:
        columns = export_columns(source.format.name, lines.read(), source.name)
    return source.staged(pa.table(columns), list(columns))


def _json_lines(source: Source) -> FileTable:
    """Return a table with a column for each key of JSON objects, typed where all its values are of one type."""
    work = source.work
    lines = work.folder / "lines.jsonl"
    n_lines = _copy_lines(source, lines)
    sql, objects = (
        work.connection.sql,
        f"read_ndjson_objects({text(lines)}, maximum_object_size = {BLOCK})",
    )
    try:
        n_objects, first = sql(
            "SELECT count(*) FILTER (json_type(json) = 'OBJECT' AND len(json_keys(json)) = len(list_distinct(json_keys(json)))), "
            f"first(json_keys(json)) FROM {objects}"
        ).fetchall()[0]
        all_keys = sql(
            f"SELECT DISTINCT unnest(json_keys(json)) AS key FROM {objects} ORDER BY key"
        ).fetchall()
    except duckdb.Error:
        n_objects = None
    if (
        n_objects != n_lines
    ):  # DuckDB passes over some lines that are no objects, and over the second of two equal keys
        _require_objects(source, lines)
    names = list(dict.fromkeys([*(first or ()), *(key for (key,) in all_keys)]))
    source.require_names(names)
    keys = ", ".join(f"{text(key)}: 'JSON'" for key in names)
    rows = f"read_ndjson({text(lines)}, columns = {{{keys}}}, maximum_object_size = {BLOCK})"
    staged = work.folder / "staged.parquet"
    sql(f"SELECT * FROM {rows}").write_parquet(str(staged), compression="zstd")
    lines.unlink()
    kinds = [f"list(DISTINCT {JSON_KIND.format(quoted(key))})" for key in names]
    found = sql(f"SELECT {', '.join(kinds)} FROM read_parquet({text(staged)})").fetchall()[0]
    columns, mixed = {}, {}
    for key, kind in zip(names, found, strict=True):
        read_as = JSON_TYPES.get(frozenset(kind or ()) - {None})
        columns[key] = quoted(key) if read_as is None else read_as.format(quoted(key))
        if read_as is None:
            mixed[key] = sorted(filter(None, kind))
    return source.table(staged, columns, mixed=mixed)


# An integer beyond 64 bits has a type of its own: DuckDB takes it for a float, which would lose
# digits. One beyond 2^53 is an int that is no float.
JSON_KIND = """CASE json_type({0})
    WHEN 'BIGINT' THEN if(CAST({0} AS BIGINT) BETWEEN -9007199254740992 AND 9007199254740992, 'int', 'long int')
    WHEN 'UBIGINT' THEN if(TRY_CAST({0} AS BIGINT) IS NULL, 'large int',
                           if(CAST({0} AS BIGINT) <= 9007199254740992, 'int', 'long int'))
    WHEN 'DOUBLE' THEN if(regexp_full_match(CAST({0} AS VARCHAR), '-?[0-9]+'), 'large int', 'float')
    WHEN 'VARCHAR' THEN 'text' WHEN 'BOOLEAN' THEN 'bool' WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array' END"""
JSON_TYPES = {
    frozenset(): "CAST({} AS VARCHAR)",
    **{
        frozenset(kinds): "CAST({} AS BIGINT)"
        for kinds in (("int",), ("long int",), ("int", "long int"))
    },
    frozenset({"float"}): "CAST({} AS DOUBLE)",
    frozenset({"int", "float"}): "CAST({} AS DOUBLE)",
    frozenset({"bool"}): "CAST({} AS BOOLEAN)",
    frozenset({"text"}): "({} ->> '$')",
}


def _copy_lines(source: Source, target: Path) -> int:
    """Copy the lines that are not empty, in UTF-8 without a byte order mark, and return how many there are."""
    n_lines = 0
    with (
        source.lines(newline="\n") as lines,
        open(target, "w", encoding="utf-8", newline="\n") as copy,
    ):
        for line in lines:
            if line.strip():
                copy.write(line if line.endswith("\n") else line + "\n")
                n_lines += 1
    return n_lines


def _require_objects(source: Source, lines: Path) -> NoReturn:
    """Say which line holds no JSON object."""
    problem = "must hold a JSON object in each line"
    with open(lines, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            reason = _why_no_object(line.strip())
            if reason:
                raise source.error(f"{problem}, {reason} in line {number}")
    raise source.error(problem)


def _why_no_object(line: str) -> str:
    try:
        pairs = json.loads(line, object_pairs_hook=list)
    except ValueError as error:
        return str(error).split(":")[0].lower()
    if not line.startswith("{"):
        return f"got {line[:40]}"
    return "got a key twice" if len(dict(pairs)) < len(pairs) else ""


READERS: dict[str, Callable[[Source], FileTable]] = {
    "csv": _csv,
    "tsv": _csv,
    "jsonl": _json_lines,
    "parquet": _parquet,
    "arrow": _arrow,
    "excel": _excel,
    **dict.fromkeys(TOOLS, _export),
}
