"""The columns of a file with the answers appended, in the order of its rows, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import duckdb
import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyRelation

from ..._checks import InputError, InputFileError
from ..._files import is_plain, place_for, publish
from ..._table import Table
from ..._text import arg, first_line
from ..._typing import Array
from ..engines import HASH, OURS, quoted
from ..pipeline import Answered
from .formats import STANDARD, Carried, Format
from .table import ROW, FileTable, Workspace, text

ANSWER = f"{OURS}answer"
MOST_BITS = 24  # an index of 64 MB that tells where to look first


def require_outputs(
    paths: Mapping[str, str | None],
    overwrite: bool,
    inputs: Mapping[str, str | Sequence[str] | None],
    out_has_votes: bool = False,
) -> None:
    """Refuse outputs that cannot be written, exist already, or are the same file as another or as an input; by argument.

    Only `out` may replace an input, `votes`, and only if it has all that is in there.
    """
    given = {argument: path for argument, path in paths.items() if path is not None}
    for argument, path in given.items():
        if path != STANDARD:
            place_for(path, overwrite, argument)
        elif argument in ("save", "report"):
            raise InputError(argument, "must be a file: standard output is for tables", got=path)
        for other, files in inputs.items():
            replaces = out_has_votes and (argument, other) == ("out", "votes")
            read = [files] if isinstance(files, str) else files or ()
            if not replaces and any(_is_same_file(path, file) for file in read):
                raise InputError(argument, "must not be a file that is read", got=path)
    plain = [os.path.realpath(path) for path in given.values() if is_plain(path)]
    if len(set(plain)) < len(plain):
        names = list(map(arg, given))
        phrase = f"{', '.join(names[:-1])} and {names[-1]} must name different files"
        raise InputError(next(iter(given)), phrase=phrase)


def _is_same_file(path: str, read: str) -> bool:
    """Return whether a file that is read, as FILE or FILE:COLUMN, is the one at a path."""
    files = [file for file in (read, read.rpartition(":")[0]) if os.path.isfile(file)]
    return os.path.isfile(path) and any(os.path.samefile(path, file) for file in files)


def write(table: FileTable, answered: Answered, path: str, format: Format, overwrite: bool) -> None:
    """Write the columns of a file with the answers appended, to standard output for "-"."""
    with look_up(table, answered) as found:
        rows = _join_and_sort(table, answered) if found is None else found
        write_rows(rows, table.work, path, format, overwrite, table.carried)


def write_table(table: Table, beside: FileTable, path: str, overwrite: bool = False) -> None:
    """Write a small table, such as the contested objects, in the format of its name, or else of the file it is about."""
    columns = {
        name: column if len(column) else pa.array([], pa.string())
        for name, column in table.columns.items()
    }
    rows = beside.connection.from_arrow(pa.table(columns))
    write_rows(rows, beside.work, path, beside.format.for_output(path, None), overwrite)


def write_rows(
    rows: DuckDBPyRelation,
    work: Workspace,
    path: str,
    format: Format,
    overwrite: bool = False,
    carried: Carried | None = None,
) -> None:
    """Write rows to a file, to standard output for "-"; columns that DuckDB would change are carried from another file."""
    finished = work.folder / "output"
    try:
        if carried is not None and carried.goes_around(format):
            carried.write(rows, finished, format)
        elif format.name == "arrow":
            _write_arrow(rows, finished)
        else:
            _copy(rows, finished, format)
    except duckdb.OutOfMemoryException:
        raise
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise InputFileError(
            "out", phrase=f"{path} cannot be written: {first_line(error)}"
        ) from None
    if path == STANDARD:
        with open(finished, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
        sys.stdout.buffer.flush()
    else:
        publish(
            finished, place_for(path, overwrite, "out")
        )  # asked again: the file may have appeared meanwhile


def _join_and_sort(table: FileTable, answered: Answered) -> DuckDBPyRelation:
    """Return the columns of the file and the answers in the order of the file, which a join does not keep.

    Sorting the answers alone and placing them beside the columns costs far less than sorting all
    columns.
    """
    answers = answered.table
    added = ", ".join(quoted(name) for name in answers.columns if name not in (*table.columns, ROW))
    answers.create_view("answers")
    in_order = f"SELECT {added} FROM answers ORDER BY {quoted(ROW)}"
    return table.connection.sql(f"SELECT * FROM ({table.sql}) POSITIONAL JOIN ({in_order})")


def _copy(rows: Any, target: Path, format: Format) -> None:
    compression = "" if format.compression is None else f", COMPRESSION {format.compression}"
    options = {
        "parquet": "FORMAT parquet",
        "jsonl": f"FORMAT json{compression}",
    }.get(
        format.name,
        f"FORMAT csv, HEADER, DELIMITER {text(format.delimiter)}, NULLSTR ''{compression}",
    )
    rows.query("written", f"COPY (FROM written) TO {text(target)} ({options})")


def _write_arrow(rows: Any, target: Path) -> None:
    with (
        rows.to_arrow_reader() as batches,
        pa.OSFile(str(target), "wb") as file,
        pa.ipc.new_file(file, batches.schema) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)


# ---- answers found by a hash of a row's keys -----------------------------------------------------


@contextmanager
def look_up(table: FileTable, answered: Answered) -> Iterator[DuckDBPyRelation | None]:
    """Give the columns of the file and the answers, in the order of the file; None if two answers share a hash.

    The connection has a function of ours as long as this lasts.
    """
    lookup = Lookup.of(table, answered)
    if lookup is None:
        yield None
        return
    connection = table.connection
    connection.create_function(ANSWER, lookup, ["UBIGINT"], lookup.sql_type, type="arrow")  # type: ignore[call-overload]
    try:
        hashed = table.sql_with("hash", answered.keys, HASH)
        yield connection.sql(
            f"SELECT * EXCLUDE {quoted(HASH)}, unnest({ANSWER}({quoted(HASH)})) FROM ({hashed})"
        )
    finally:
        connection.remove_function(ANSWER)


@dataclass(frozen=True)
class Lookup:
    """A function from hashes to answers, for one vector of DuckDB at a time."""

    hashes: Array  # sorted
    first: Array  # where the hashes begin that start with some bits
    shift: np.uint64
    answers: pa.StructArray  # in the order of the hashes
    sql_type: str  # of an answer

    @classmethod
    def of(cls, table: FileTable, answered: Answered) -> Self | None:
        """Index the answers; None if there are none, or if two of them share a hash."""
        if answered.answers is None or not len(answered.answers):
            return None
        answers = answered.answers.to_native()
        types = table.types
        keys = ", ".join(f"CAST({quoted(key)} AS {types[key]})" for key in answered.keys)
        hashes = (
            table.connection.from_arrow(answers)
            .project(f"hash({keys}) AS h")
            .to_arrow_table()["h"]
            .to_numpy()
        )
        order = np.argsort(hashes)
        hashes = hashes[order]
        if (hashes[1:] == hashes[:-1]).any():
            return None
        bits = min(len(hashes).bit_length() + 2, MOST_BITS)
        shift = np.uint64(64 - bits)
        begins = np.searchsorted(hashes, np.arange(1 << bits, dtype=np.uint64) << shift)
        new = answers.drop_columns(answered.keys).take(order).combine_chunks()
        added = table.connection.from_arrow(new)
        fields = (
            f"{quoted(name)} {kind}" for name, kind in zip(added.columns, added.types, strict=True)
        )
        found = pa.StructArray.from_arrays(
            [column.combine_chunks() for column in new.columns], new.column_names
        )
        first = np.minimum(begins, len(hashes) - 1).astype(np.int32)
        return cls(hashes, first, shift, found, f"STRUCT({', '.join(fields)})")

    def __call__(self, hashes_of_rows: pa.Array) -> pa.Array:
        """Return the answers."""
        hashes = hashes_of_rows.to_numpy(zero_copy_only=False)
        places = self.first.take((hashes >> self.shift).view(np.int64)).astype(np.int64)
        missed = np.flatnonzero(self.hashes.take(places) != hashes)
        places[missed] = np.searchsorted(self.hashes, hashes[missed])
        if (self.hashes.take(places[missed], mode="clip") != hashes[missed]).any():
            raise ValueError("the file was changed while it was read")
        return self.answers.take(pa.array(places))
