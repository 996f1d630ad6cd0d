"""Answers beside the columns of a file, in the order of its rows, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from ..combining import Answered
from ..engines import quoted
from .formats import STANDARD, Format
from .lookup import looked_up
from .reading import ROW, FileTable, text
from .workspace import Workspace, is_plain

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


def require_free(path: str, overwrite: bool) -> None:
    """Refuse to replace a file unless told to, and to write where no file can be."""
    if path == STANDARD:
        return
    if os.path.isdir(path):
        raise IsADirectoryError(f"The output must be a file, got the folder {path}.")
    near = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(near):
        raise FileNotFoundError(f"The folder of {path} must exist, got {near}.")
    if os.path.isfile(path) and not overwrite:
        raise FileExistsError(f"{path} exists already. Pass --overwrite to replace it.")


def write(
    work: Workspace,
    table: FileTable,
    answered: Answered,
    path: str,
    format: Format,
    overwrite: bool = False,
) -> None:
    """Write the columns of a file and the answers behind them.

    Parameters
    ----------
    work : Workspace
        Where the file lies until it is whole.
    table : FileTable
        The columns, as they are in the file.
    answered : Answered
        What to write behind them.
    path : path, or "-" for standard output
        The file; a pipe or a device gets the finished bytes.
    format : Format
        How to write it.
    overwrite : bool
        Replace a file that is there.
    """
    finished = work.path("output")
    try:
        with looked_up(work.connection, table, answered) as found:
            rows = _sorted(work, table, answered) if found is None else found
            _write_arrow(rows, finished) if format.name == "arrow" else _copy(rows, finished, format)
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise OSError(f"{path} can't be written: {str(error).splitlines()[0].rstrip('.')}.") from None
    _publish(finished, path, overwrite)


def _sorted(work: Workspace, table: FileTable, answered: Answered) -> DuckDBPyRelation:
    """Return the columns of the file and the answers in the order of the file, which a join does not keep.

    To sort the answers alone and lay them beside the file costs far less than to sort all columns; labels are sorted as numbers.
    """
    both = answered.table
    new = {quoted(name): kind for name, kind in zip(both.columns, both.types, strict=True) if name not in table.columns}
    new.pop(quoted(ROW))
    texts = {name for name, kind in new.items() if kind == "VARCHAR"}
    classes = ", ".join(text(label) for label in answered.consensus.classes)
    if texts:
        work.connection.execute(f"CREATE OR REPLACE TYPE label AS ENUM ({classes})")
    codes = ", ".join(f"enum_code(CAST({name} AS label)) AS {name}" if name in texts else name for name in new)
    both.project(f"{quoted(ROW)}, {codes}").create_view("answers")
    decoded = ", ".join(f"list_extract([{classes}], {name} + 1) AS {name}" if name in texts else name for name in new)
    return work.connection.sql(
        f"SELECT * FROM ({table.sql}) POSITIONAL JOIN "
        f"(SELECT {decoded} FROM (SELECT * EXCLUDE {quoted(ROW)} FROM (FROM answers ORDER BY {quoted(ROW)})))"
    )


def _copy(rows: Any, target: Path, format: Format) -> None:
    compression = "" if format.compression is None else f", COMPRESSION {format.compression}"
    options = {
        "parquet": "FORMAT parquet",
        "jsonl": f"FORMAT json{compression}",
    }.get(format.name, f"FORMAT csv, HEADER, DELIMITER {text(format.delimiter)}, NULLSTR ''{compression}")
    rows.query("written", f"COPY (FROM written) TO {text(target)} ({options})")


def _write_arrow(rows: Any, target: Path) -> None:
    with rows.to_arrow_reader() as batches, pa.OSFile(str(target), "wb") as file, pa.ipc.new_file(file, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _publish(finished: Path, path: str, overwrite: bool) -> None:
    """Give a finished file its name; what stood there before stays whole until then."""
    if not is_plain(path):
        with open(finished, "rb") as file, nullcontext(sys.stdout.buffer) if path == STANDARD else open(path, "wb") as output:
            shutil.copyfileobj(file, output, 1 << 20)
            output.flush()
        return
    target = os.path.realpath(path)
    with open(finished, "rb") as file:
        os.fsync(file.fileno())
    require_free(path, overwrite)
    if os.path.exists(target):
        os.chmod(finished, stat.S_IMODE(os.stat(target).st_mode))
    os.replace(finished, target)
