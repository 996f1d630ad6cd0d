"""A file becomes a table of DuckDB: Parquet where it lies, other formats as a Parquet copy.

DuckDB works in a hidden folder next to the output, which is gone when the work is done.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from .._checks import InputError, InputFileError, require_library
from .._files import is_full, is_plain, place_for, temporary_folder
from .._progress import Bar, progress
from .._text import arg, first_line, listed, some
from .engines import quoted
from .formats import STANDARD, Format

MEMORY = "800MB"
SIZE = r"\d+(\.\d+)?\s*[KMGT]i?B"  # of memory
LONGEST = 1 << 22  # bytes of a record of text


@dataclass(frozen=True)
class Workspace:
    """Where files lie until they are whole, the engine that works on them, and a progress bar."""

    folder: Path
    connection: DuckDBPyConnection
    bar: Bar
    memory: str


@contextmanager
def workspace(
    output: str | None = None, memory: str = MEMORY, *, bar: bool = False
) -> Iterator[Workspace]:
    """Make a workspace on the disk of the output, so that a finished file only needs to be renamed.

    DuckDB uses so much memory before it spills to disk.
    """
    if re.fullmatch(SIZE, memory, re.IGNORECASE) is None:
        raise InputError("memory", "must be a size such as '800MB' or '4GB'", got=memory)
    near = None
    if output is not None and output != STANDARD and is_plain(output):
        near = os.path.dirname(os.path.realpath(place_for(output, argument="out")))
    with temporary_folder(near) as folder:
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
            with progress("Starting", shown=bar) as shown:
                yield Workspace(folder, connection, shown, memory)
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
        raise InputError("memory", "must be larger for this table", got=work.memory) from None
    except (duckdb.Error, pa.ArrowException, csv.Error, UnicodeDecodeError) as error:
        raise _as_sentence(error, source) from None
    except (OSError, LookupError) as error:
        known = isinstance(error, (InputError, KeyError, IndexError))
        if known or (isinstance(error, OSError) and error.errno and not is_full(error)):
            raise
        raise _as_sentence(error, source) from None


# What DuckDB says of broken files, and in our words.
PROBLEMS = {
    r"Maximum line size|full read on this file": "must have lines of at most 4 MB",
    r"on Line: (\d+).*Expected Number of Columns: (\d+) Found: (\d+)": (
        "must have {1} fields in every line, as in the first, got {2} in line {0}"
    ),
    r"on Line: (\d+).*unterminated quote": (
        "must close every quote, and have nothing but a delimiter behind it, in line {0}"
    ),
    r"CSV Parser state machine": "must end all its lines in the same way",
    r"Malformed JSON.*in line \d+: ([^.]*)": "must hold a JSON object in each line, got {0}",
    r"Failed to parse string: ('.*') as": "must hold numbers where probabilities are, got {0}",
    r"non-record JSON": "must hold a JSON object in each line",
    r"duplicate key (\"[^\"]*\")": "must hold a JSON object in each line, got the key {0} twice",
}


def _as_sentence(error: Exception, source: Source) -> InputError:
    """Say in one sentence what is wrong with a file, or that the disk is full."""
    if is_full(error):
        phrase = f"No space is left for working files in {source.work.folder.parent}"
        remedy = f"Free some, or pass {arg('out')} in another folder."
        return InputFileError("out", phrase=phrase, remedy=remedy)
    reason = str(error).replace(str(source.path), source.name).partition(" Detail: Python")[0]
    if isinstance(error, (UnicodeDecodeError, LookupError)) or re.search("utf-?8", reason, re.I):
        remedy = f"Pass another {arg('encoding')}, such as latin-1 or utf-16."
        return source.error(f"must be text in {source.encoding}", remedy)
    for pattern, problem in PROBLEMS.items():
        match = re.search(pattern, reason, re.DOTALL)
        if match:
            return source.error(problem.format(*match.groups()))
    reason = first_line(type(error)(reason)) if reason else type(error).__name__
    return source.error(f"cannot be read as {source.format.name}: {reason}")


# ---- one format each -----------------------------------------------------------------------------


def _arrow(source: Source) -> Path:
    """Copy an Arrow file, or an Arrow stream."""
    with pa.memory_map(str(source.path)) as file:
        try:
            opened = pa.ipc.open_file(file)
            batches = map(opened.get_batch, range(opened.num_record_batches))
        except pa.ArrowInvalid:
            file.seek(0)
            opened = batches = pa.ipc.open_stream(file)
        return source.staged_arrow(pa.RecordBatchReader.from_batches(opened.schema, batches))


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


def delimiter_of(source: Source) -> str:
    """The delimiter of a CSV file: the sign that is most frequent in its first line."""
    with source.lines() as lines:
        first = lines.readline(LONGEST)
    return max(",;\t|", key=first.count)


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
    require_library("Reading a spreadsheet", "fastexcel", "excel")
    import fastexcel

    try:
        book = fastexcel.read_excel(source.path)
        first, *others = book.sheet_names
        if source.sheet is not None and source.sheet not in book.sheet_names:
            must = f"must be a sheet of {source.name}, {listed(book.sheet_names)}"
            raise InputError("sheet", must, got=source.sheet)
        if source.sheet is None and others:
            sheets = f"{source.name} has {len(others) + 1} sheets; {first!r} is read."
            another = f"Pass {arg('sheet')} for another: {some(others)}."
            warnings.warn(f"{sheets} {another}", stacklevel=2)
        cells = book.load_sheet(source.sheet or 0, dtypes="string")
        heads = [
            "" if head.column_name_from == "generated" else head.name
            for head in cells.available_columns()
        ]
        table = pa.Table.from_batches([cells.to_arrow()])
    except fastexcel.FastExcelError as error:
        problem = f"cannot be read as a spreadsheet: {first_line(error)}"
        raise source.error(problem, "Save it again as .xlsx, or as CSV.") from None
    return source.staged_arrow(table.rename_columns(_named(heads)))


def _export(source: Source) -> Path:
    """Read an export of an annotation tool as a long table."""
    from .exports import export_columns

    with source.lines() as lines:
        columns = export_columns(source.format.name, lines.read(), source.name)
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


def text(value: object) -> str:
    """Write a text in SQL."""
    return "'" + str(value).replace("'", "''") + "'"
