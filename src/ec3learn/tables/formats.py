"""Formats: a file becomes a table of DuckDB, and a table of DuckDB a file.

Parquet is read where it lies, other formats become a Parquet copy. The format follows from the
file's name, from what standard input begins with, or from what the user says. DuckDB works in a
hidden folder next to the output, which is gone when the work is done.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from .._checks import InputError, InputFileError
from .._files import is_full, is_plain, place_for, publish, removed_after_a_crash, temporary_folder
from .columns import quoted, text

STANDARD = "-"  # standard input or output, where a path is expected
FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "excel": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    "label-studio": (),
    "argilla": (),
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
TEXT = ("csv", "tsv", "jsonl")  # compressed as a whole, where the others compress by themselves
WRITTEN = {name: FORMATS[name] for name in (*TEXT, "parquet", "arrow")} | {"excel": (".xlsx",)}
ENDINGS = {ending for endings in FORMATS.values() for ending in endings} | COMPRESSIONS.keys()
BEGINNINGS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "excel", b"{": "jsonl"}
MEMORY = "800MB"
SIZE = r"\d+(\.\d+)?\s*[KMGT]i?B"  # of memory
LONGEST = 1 << 22  # bytes of a record of text
ERRORS = (duckdb.Error, pa.ArrowException, csv.Error, UnicodeDecodeError, RuntimeError)

# ---- formats -------------------------------------------------------------------------------------


def format_of_content(head: bytes) -> str:
    """Tell the format of a file by how it begins; what begins in no other way is CSV."""
    return next((name for start, name in BEGINNINGS.items() if head.startswith(start)), "csv")


def is_file(name: str) -> bool:
    """Whether a name, FILE or FILE:COLUMN, is one of a file rather than of a column."""
    paths = (name, name.rpartition(":")[0])
    return any(os.path.isfile(path) or is_table(path) for path in paths)


def is_table(path: str) -> bool:
    """Whether a name is one of a table, by its ending."""
    return PurePath(path).suffix.lower() in ENDINGS


@dataclass(frozen=True)
class Format:
    """A format, how the file is compressed as a whole, and for CSV the delimiter between fields."""

    name: str
    compression: str | None = None
    delimiter: str | None = None  # None: it follows from the first line

    @classmethod
    def of(
        cls,
        path: str,
        format: str | None = None,
        delimiter: str | None = None,
        argument: str = "format",
    ) -> Format:
        """Take the format that the user names, such as "csv.gz", or else that of the extension."""
        endings = PurePath(f"x.{format}" if format is not None else path.lower()).suffixes[-2:]
        compression = COMPRESSIONS.get(endings[-1]) if endings else None
        ending = endings[0 if compression else -1] if endings else ""
        known = FORMATS if argument == "format" else WRITTEN
        name = next((name for name, ends in known.items() if ending in (f".{name}", *ends)), None)
        if name is None or (compression is not None and name not in TEXT):
            from .problems import unknown_format

            raise unknown_format(path, format, argument, known)
        delimiter = "\t" if delimiter == "\\t" or name == "tsv" else delimiter
        if delimiter is not None and (
            name not in ("csv", "tsv") or len(delimiter) != 1 or delimiter in '"\r\n'
        ):
            must = "must be a single character, for CSV only"
            raise InputError("delimiter", must, came=f"{delimiter!r} for {name}")
        return cls(name, compression, delimiter)

    def for_output(self, path: str, format: str | None) -> Format:
        """The format of an output: as the user says, by its name, or else this one."""
        if format is None and path == STANDARD:
            kept = self.name in WRITTEN and self.name != "excel"
            return replace(self, compression=None) if kept else Format("csv")
        output = Format.of(path, format, argument="out_format")
        return replace(output, delimiter=self.delimiter) if output.name == self.name else output


# ---- where files are read ------------------------------------------------------------------------


@dataclass(frozen=True)
class Workspace:
    """Where files lie until they are whole, and the engine that works on them."""

    folder: Path
    connection: DuckDBPyConnection


@contextmanager
def workspace(output: str | None = None, memory: str = MEMORY) -> Iterator[Workspace]:
    """Make a workspace on the disk of the output, so that a finished file only needs to be renamed.

    DuckDB uses so much memory before it spills to disk.
    """
    if re.fullmatch(SIZE, memory, re.IGNORECASE) is None:
        raise InputError("memory", "must be a size such as '800MB' or '4GB'", got=memory)
    near = None
    if output is not None and output != STANDARD and is_plain(output):
        near = os.path.dirname(os.path.realpath(place_for(output, argument="out")))
    with temporary_folder(near) as folder, removed_after_a_crash(folder):
        settings: dict[str, Any] = {
            "memory_limit": memory,
            "temp_directory": str(folder / "spilled"),
            # Nothing is fetched from the network: what we use is in the wheel.
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        connection = duckdb.connect(config=settings)
        try:
            connection.execute("SET enable_progress_bar = false")
            yield Workspace(folder, connection)
        finally:
            connection.close()


@dataclass(frozen=True)
class Source:
    """A file that is read: where it lies, what messages call it, and how it is written."""

    work: Workspace
    path: Path
    name: str
    format: Format
    encoding: str = "utf-8"
    sheet: str | None = None

    def error(self, problem: str, remedy: str = "") -> InputError:
        """The error that something is wrong with the file."""
        return InputError("votes", phrase=f"{self.name} {problem}", remedy=remedy)

    def lines(self) -> io.TextIOWrapper:
        """The content as text, no longer compressed and without a byte order mark."""
        encoding = "utf-8-sig" if codecs.lookup(self.encoding).name == "utf-8" else self.encoding
        plain = pa.input_stream(str(self.path), compression=self.format.compression)
        return io.TextIOWrapper(plain, encoding=encoding, newline="")

    def in_utf8(self) -> str:
        """The file and its compression in SQL; a copy in UTF-8 where it is in another encoding."""
        with pa.input_stream(str(self.path), compression=self.format.compression) as content:
            marked = content.read(3) == codecs.BOM_UTF8
        if codecs.lookup(self.encoding).name == "utf-8" and not marked:
            return f"{text(self.path)}, compression = {text(self.format.compression or 'none')}"
        copy = self.path.with_suffix(".utf8")
        with self.lines() as lines, open(copy, "w", encoding="utf-8", newline="") as file:
            shutil.copyfileobj(lines, file, 1 << 20)
        return text(copy)

    def staged(self, query: str, suffix: str = ".parquet") -> Path:
        """Write what a query finds into a Parquet file."""
        parquet = self.path.with_suffix(suffix)
        self.work.connection.execute(
            f"COPY ({query}) TO {text(parquet)} (FORMAT parquet, COMPRESSION zstd)"
        )
        return parquet

    def staged_arrow(self, table: Any) -> Path:
        """Write an Arrow table, or a reader of one, into a Parquet file."""
        self.work.connection.register("arrow_table", table)
        return self.staged("SELECT * FROM arrow_table")


@contextmanager
def open_source(
    path: str, format: Format, encoding: str, sheet: str | None, work: Workspace
) -> Iterator[Source]:
    """Open a file, or standard input for "-"; what libraries say of it becomes one sentence."""
    # A name without characters that DuckDB takes for a pattern.
    local = work.folder / f"input_{len(list(work.folder.iterdir()))}"
    with nullcontext(sys.stdin.buffer) if path == STANDARD else open(path, "rb") as file:
        if path != STANDARD and os.path.isfile(path):
            local.symlink_to(os.path.realpath(path))
        else:  # it can be read only once
            with open(local, "wb") as copy:
                shutil.copyfileobj(file, copy)
    name = "Standard input" if path == STANDARD else path
    source = Source(work, local, name, format, encoding, sheet)
    try:
        yield source
    except duckdb.OutOfMemoryException:
        raise InputError("memory", "must be larger for this table") from None
    except (*ERRORS, OSError, LookupError) as error:
        known = isinstance(error, (InputError, KeyError, IndexError))
        if known or (isinstance(error, OSError) and error.errno and not is_full(error)):
            raise
        from .problems import as_sentence

        raise as_sentence(error, source) from None


# ---- one format each -----------------------------------------------------------------------------


def _arrow(source: Source) -> Path:
    """Copy an Arrow file, or an Arrow stream; DuckDB would trust what it says of its buffers."""
    with pa.memory_map(str(source.path)) as file:
        try:
            opened = pa.ipc.open_file(file)
            batches = map(opened.get_batch, range(opened.num_record_batches))
        except pa.ArrowInvalid:
            file.seek(0)
            opened = batches = pa.ipc.open_stream(file)
        checked = (batch.validate(full=True) or batch for batch in batches)
        return source.staged_arrow(pa.RecordBatchReader.from_batches(opened.schema, checked))


def _csv(source: Source) -> Path:
    """Read all fields as text; an empty field is null."""
    delimiter = source.format.delimiter
    with source.lines() as lines:
        heads = next(csv.reader(lines, delimiter=delimiter or ","), [])
    if not any(heads):
        raise source.error("must name its columns in the first line, got an empty one")
    names = ", ".join(f"{text(name)}: 'VARCHAR'" for name in _named(heads))
    dialect = f"delim = {text(delimiter)}, quote = '\"', escape = '\"', nullstr = '', header = true"
    return source.staged(
        f"SELECT * FROM read_csv({source.in_utf8()}, columns = {{{names}}}, {dialect}, "
        f"auto_detect = false, max_line_size = {LONGEST})"
    )


def _named(heads: Sequence[str]) -> list[str]:
    """Name columns that have no name after their place."""
    return [head or f"column_{place}" for place, head in enumerate(heads, 1)]


def _json_lines(source: Source) -> Path:
    """Read a column of JSON per key; it gets a type if all its values come back as they were."""
    options = "format = 'newline_delimited', records = true, maximum_depth = 1, sample_size = -1"
    rows = f"read_json({source.in_utf8()}, {options}, maximum_object_size = {LONGEST})"
    staged = source.staged(f"SELECT * FROM {rows}", ".json")
    objects = source.work.connection.read_parquet(str(staged))
    names = list(map(quoted, objects.columns))
    tests = [
        f"bool_and(coalesce({test.format(name, kind)}, {name} IS NULL))"
        for name in names
        for kind, test in JSON_TYPES.items()
    ]
    fits = iter(objects.aggregate(", ".join(tests)).fetchall()[0])
    columns = []
    for name in names:
        fitting = [kind for kind in JSON_TYPES if next(fits)]
        kind = fitting[0] if fitting else "JSON"
        value = f"{name} ->> '$'" if kind == "VARCHAR" else f"CAST({name} AS {kind})"
        columns.append(f"{value} AS {name}")
    return source.staged(f"SELECT {', '.join(columns)} FROM read_parquet({text(staged)})")


# The types of JSON, and how a value is tested that comes back from it as it was.
JSON_TYPES = {"VARCHAR": "json_type({0}) = 'VARCHAR'"}
JSON_TYPES |= dict.fromkeys(
    ("BIGINT", "BOOLEAN", "DOUBLE"), "to_json(TRY_CAST({0} AS {1})) = CAST({0} AS JSON)"
)


def _excel(source: Source) -> Path:
    """Read the cells of a sheet as text: a spreadsheet has no types of columns."""
    from .spreadsheets import read_sheet

    table = read_sheet(source)
    return source.staged_arrow(table.rename_columns(_named(table.column_names)))


def _export(source: Source) -> Path:
    """Read an export of an annotation tool as a long table."""
    from .exports import export_columns

    with source.lines() as lines:
        columns = export_columns(source.format.name, lines.read().encode(), source.name)
    return source.staged_arrow(pa.table(columns))


READERS: dict[str, Callable[[Source], Path]] = {
    "csv": _csv,
    "tsv": _csv,
    "jsonl": _json_lines,
    "parquet": lambda source: source.path,
    "arrow": _arrow,
    "excel": _excel,
    "label-studio": _export,
    "argilla": _export,
}


# ---- writing -----------------------------------------------------------------------------------


def write_rows(
    rows: Any, work: Workspace, path: str, format: Format, overwrite: bool = False
) -> None:
    """Write rows to a file, or to standard output for "-"."""
    finished = work.folder / "output"
    try:
        if format.name == "arrow":
            _write_arrow(rows, finished)
        elif format.name == "excel":
            from .spreadsheets import write_sheet

            write_sheet(rows, finished)
        else:
            rows.query("written", f"COPY (FROM written) TO {text(finished)} ({_options(format)})")
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if not is_full(error):
            raise
        phrase = f"{path} cannot be written: no space is left on the device"
        raise InputFileError("out", phrase=phrase) from None
    if path == STANDARD:
        with open(finished, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
        sys.stdout.buffer.flush()
    else:  # asked again: the file may have appeared meanwhile
        publish(finished, place_for(path, overwrite, "out"))


def _options(format: Format) -> str:
    """How DuckDB writes a format."""
    if format.name == "parquet":
        return "FORMAT parquet"
    options = "FORMAT json"
    if format.name != "jsonl":
        delimiter = text(format.delimiter or ("\t" if format.name == "tsv" else ","))
        options = f"FORMAT csv, HEADER, DELIMITER {delimiter}, NULLSTR ''"
    return f"{options}, COMPRESSION {format.compression or 'none'}"


def _write_arrow(rows: Any, target: Path) -> None:
    with (
        rows.to_arrow_reader() as batches,
        pa.OSFile(str(target), "wb") as file,
        pa.ipc.new_file(file, batches.schema) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)
