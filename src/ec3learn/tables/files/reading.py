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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import duckdb

from ..._checks import InputError, MissingExtraError, SpelledWarning
from ..._text import arg, listed, some
from ..engines import OURS, quoted
from ..exports import TOOLS, export_columns
from .formats import STANDARD, Format
from .table import FileTable, text
from .workspace import Workspace

BLOCK = 1 << 24  # bytes of text parsed at a time; a record must fit


def read(work: Workspace, path: str, format: Format, encoding: str = "utf-8", sheet: str | None = None) -> FileTable:
    """Open a file, or standard input for "-", as a table."""
    name = "Standard input" if path == STANDARD else path
    work.bar.update(f"Reading {name}")
    source = _local(work, path)
    with readable_errors(name, format.name, encoding):
        if format.name == "parquet":
            return _parquet(work, source, format, name)
        if format.name == "jsonl":
            return _json_lines(work, source, format, encoding, name)
        if format.name == "arrow":
            return _staged(work, *_arrow(source), format, name)
        if format.name == "excel":
            return _excel(work, source, format, sheet, name)
        if format.name in TOOLS:
            return _export(work, source, format, encoding, name)
        return replace(_csv(work, source, format, encoding, name), encoding=encoding)


@contextmanager
def readable_errors(name: str, what: str, encoding: str) -> Iterator[None]:
    """Turn the errors of libraries about a file into one sentence."""
    import pyarrow as pa

    try:
        yield
    except (UnicodeError, LookupError) as error:
        raise _not_encoded(name, encoding, str(error)) from None
    except duckdb.OutOfMemoryException:  # not the file's fault
        raise
    except (duckdb.Error, pa.ArrowException, OSError, csv.Error) as error:  # some errors of Arrow are an OSError
        reason = str(error).splitlines()[0].rstrip(".")
        if "UTF8" in reason:
            raise _not_encoded(name, encoding, reason) from None
        raise _file_error(name, f"cannot be read as {what}: {reason}") from None


def _not_encoded(name: str, encoding: str, reason: str) -> InputError:
    remedy = f"Pass another {arg('encoding')}, such as latin-1 or utf-16."
    return _file_error(name, f"must be text in {encoding} ({reason.rstrip('.')})", remedy)


def _file_error(name: str, problem: str, remedy: str = "") -> InputError:
    return InputError("votes", phrase=f"{name} {problem}", remedy=remedy)


# ---- one format each -------------------------------------------------------------------------------------------------


def _local(work: Workspace, path: str) -> Path:
    """Return a file by a name without characters that DuckDB takes for a pattern; what can be read only once is copied."""
    link = work.path("input")
    if path == STANDARD:
        with open(link, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return link
    with open(path, "rb") as file:  # so that the system says what is wrong with a path
        if os.path.isfile(path):
            link.symlink_to(os.path.realpath(path))
        else:
            with open(link, "wb") as copy:
                shutil.copyfileobj(file, copy)
    return link


def _parquet(work: Workspace, source: Path, format: Format, name: str) -> FileTable:
    import pyarrow.parquet as pq

    names = pq.read_schema(source).names
    _require_names(names, name)
    return FileTable(work, source, {column: quoted(column) for column in names}, format)


def _staged(work: Workspace, batches: Any, names: list[str], format: Format, name: str) -> FileTable:
    """Write batches into the workspace, once."""
    _require_names(names, name)
    staged = work.path("staged.parquet")
    work.connection.from_arrow(batches).write_parquet(str(staged), compression="zstd")
    return FileTable(work, staged, {column: quoted(column) for column in names}, format)


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
        return _staged(work, arrow_csv.open_csv(_bytes(source, format), options, parse, convert), heads, format, name)
    except (pa.ArrowInvalid, duckdb.Error):
        _require_equal_records(source, format, encoding, name, len(heads))
        raise


def _bytes(source: Path, format: Format) -> Any:
    import pyarrow as pa

    return pa.input_stream(str(source), compression=format.compression)


def _records(source: Path, format: Format, encoding: str) -> Any:
    """Return the records of a CSV file by Python's own reader, which is slow but knows the line."""
    lines = io.TextIOWrapper(_bytes(source, format), encoding=with_bom(encoding), newline="")
    return csv.reader(lines, delimiter=format.delimiter)


def _heads(source: Path, format: Format, encoding: str, name: str) -> list[str]:
    """Return the names of the columns in the first line."""
    heads: list[str] = next(_records(source, format, encoding), [])
    if not any(heads):
        raise _file_error(name, "must name its columns in the first line, got an empty one")
    if len(heads) == 1:
        other = next((sign for sign in ",;\t|" if sign in heads[0]), None)
        if other is not None:
            problem = f"must have {format.delimiter!r} between its columns, got {heads[0][:80]!r}"
            raise _file_error(name, problem, f"Pass {arg('delimiter', other)}.")
    return _named(heads, name)


def _named(heads: Sequence[str], name: str) -> list[str]:
    """Return the names of columns; one without a name is named after its place."""
    unnamed = {i: f"column_{i + 1}" for i, head in enumerate(heads) if not head}
    if unnamed:
        warnings.warn(f"{name} has columns without a name, named {listed(list(unnamed.values()))} here.", stacklevel=2)
    return [unnamed.get(i, head) for i, head in enumerate(heads)]


def _require_equal_records(source: Path, format: Format, encoding: str, name: str, n_columns: int) -> None:
    """Say which line of a CSV file has too few or too many fields."""
    records = _records(source, format, encoding)
    for record in records:
        if record and len(record) != n_columns:
            problem = f"must have {n_columns} fields in every line, as in the first"
            raise _file_error(name, f"{problem}, got {len(record)} in line {records.line_num}")


def _excel(work: Workspace, source: Path, format: Format, sheet: str | None, name: str) -> FileTable:
    """Return the cells of a sheet as text, as in a CSV file: a spreadsheet has a type for each cell, and none for a column."""
    import pyarrow as pa

    try:
        import fastexcel
    except ModuleNotFoundError:
        raise MissingExtraError.of("Reading a spreadsheet", "fastexcel", "excel") from None
    try:
        book = fastexcel.read_excel(source)
        if sheet is not None and sheet not in book.sheet_names:
            raise InputError("sheet", f"must be a sheet of {name}, {listed(book.sheet_names)}", got=sheet)
        if sheet is None and len(book.sheet_names) > 1:
            first, *others = book.sheet_names
            others_are = f"Pass {arg('sheet')} for another: {some(others)}."
            warnings.warn(SpelledWarning(f"{name} has {len(others) + 1} sheets; {first!r} is read. {others_are}"), stacklevel=2)
        cells = book.load_sheet(sheet or 0, dtypes="string")
        heads = ["" if head.column_name_from == "generated" else head.name for head in cells.available_columns()]
        table = pa.Table.from_batches([cells.to_arrow()])
    except fastexcel.FastExcelError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise _file_error(name, f"cannot be read as a spreadsheet: {reason}") from None
    heads = _named(heads, name)
    return _staged(work, table.rename_columns(heads), heads, format, name)


def _export(work: Workspace, source: Path, format: Format, encoding: str, name: str) -> FileTable:
    """Return an export of an annotation tool as a long table."""
    import pyarrow as pa

    columns = export_columns(format.name, source.read_text(encoding=with_bom(encoding)), name)
    return _staged(work, pa.table(columns), list(columns), format, name)


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
    return FileTable(work, staged, columns, format, mixed=mixed)


# An integer beyond 64 bits has a type of its own: DuckDB takes it for a float, which would lose digits.
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
                raise _file_error(name, f"must hold a JSON object in each line, {reason} in line {number}")
    raise _file_error(name, "must hold a JSON object in each line")


# ---- checks ----------------------------------------------------------------------------------------------------------


def with_bom(encoding: str) -> str:
    """Return the encoding that leaves out a byte order mark."""
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _require_names(names: Sequence[str], name: str) -> None:
    """Refuse columns that DuckDB cannot tell apart, and names that are reserved."""
    seen: dict[str, str] = {}
    for column in names:
        other = seen.get(column.casefold())
        if other is not None:
            problem = f"must have columns that differ in more than case, got {other!r} and {column!r}"
            raise _file_error(name, problem, "Rename one.")
        seen[column.casefold()] = column
        if not column or column.casefold() == "file_row_number" or column.startswith(OURS):
            raise _file_error(name, f"must have no column named {column!r}, which is reserved", "Rename it.")
    if not names:
        raise _file_error(name, "must have columns, got none")
