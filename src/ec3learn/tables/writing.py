"""Tables are written as files that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from .._checks import InputError, InputFileError, require_library
from .._files import is_full, is_plain, place_for, publish
from .._table import Table
from .._text import UNSHOWN, arg
from .formats import STANDARD, Format
from .reading import Workspace, text

if TYPE_CHECKING:
    from .file_table import FileTable


def require_outputs(
    paths: Mapping[str, str | None],
    overwrite: bool,
    inputs: Mapping[str, str | Sequence[str] | None],
    out_has_votes: bool = False,
) -> None:
    """Refuse outputs that cannot be written, exist already, or are a file that is used otherwise.

    Only `out` may replace an input, `votes`, and only if it has all that is in there.
    """
    outputs = {argument: path for argument, path in paths.items() if path is not None}
    for argument, path in outputs.items():
        if path != STANDARD:
            place_for(path, overwrite, argument)
        elif argument in ("save", "report"):
            raise InputError(argument, "must be a file: standard output is for tables", got=path)
        for other, files in inputs.items():
            replaces = out_has_votes and (argument, other) == ("out", "votes")
            read = [files] if isinstance(files, str) else files or ()
            if not replaces and any(_is_same_file(path, file) for file in read):
                raise InputError(argument, "must not be a file that is read", got=path)
    plain = [os.path.realpath(path) for path in outputs.values() if is_plain(path)]
    if len(set(plain)) < len(plain):
        *names, last = map(arg, outputs)
        phrase = f"{', '.join(names)} and {last} must name different files"
        raise InputError(next(iter(outputs)), phrase=phrase)


def _is_same_file(path: str, read: str) -> bool:
    """Whether a file that is read, as FILE or FILE:COLUMN, is the one at a path."""
    files = [file for file in (read, read.rpartition(":")[0]) if os.path.isfile(file)]
    return os.path.isfile(path) and any(os.path.samefile(path, file) for file in files)


def write_table(table: Table, beside: FileTable, path: str, overwrite: bool = False) -> None:
    """Write a small table in the format of its name, or else of the file it is about."""
    columns = {
        name: column if len(column) else pa.array([], pa.string())
        for name, column in table.columns.items()
    }
    rows = beside.work.connection.from_arrow(pa.table(columns))
    write_rows(rows, beside.work, path, beside.format.for_output(path, None), overwrite)


def write_rows(
    rows: Any, work: Workspace, path: str, format: Format, overwrite: bool = False
) -> None:
    """Write rows to a file, or to standard output for "-"."""
    finished = work.folder / "output"
    try:
        if format.name == "arrow":
            _write_arrow(rows, finished)
        elif format.name == "excel":
            _write_excel(rows, finished)
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


def _write_excel(rows: Any, target: Path) -> None:
    """Write a spreadsheet, whose texts are texts even where they look like formulas."""
    require_library("Writing a spreadsheet", "openpyxl", "excel")
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("votes")
    sheet.append(rows.columns)
    for batch in rows.to_arrow_reader():
        for line in zip(*batch.to_pydict().values(), strict=True):
            cells = [WriteOnlyCell(sheet, _cell(value)) for value in line]
            for cell in cells:
                cell.data_type = "s" if cell.data_type == "f" else cell.data_type
            sheet.append(cells)
    book.save(target)


def _cell(value: Any) -> Any:
    """A value as a cell can hold it."""
    plain = value if isinstance(value, (bool, int, float, NoneType)) else str(value)
    return UNSHOWN.sub("\ufffd", plain) if isinstance(plain, str) else plain
