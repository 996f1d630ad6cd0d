"""Answers found by a hash of a row's keys: unlike a join this keeps the order of the rows, so nothing has to be sorted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from ..._typing import Array
from ..engines import OURS, quoted
from ..pipeline import Answered
from .table import FileTable, text

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


ANSWER, HASH = f"{OURS}answer", f"{OURS}hash"
MOST_BITS = 24  # an index of 64 MB that tells where to look first


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
        found = f"SELECT * EXCLUDE {quoted(HASH)}, {ANSWER}({quoted(HASH)}) AS {ANSWER} FROM ({hashed})"
        columns = ", ".join([f"* EXCLUDE {ANSWER}", *lookup.columns])
        yield connection.sql(f"SELECT {columns} FROM ({found})")
    finally:
        connection.remove_function(ANSWER)


@dataclass(frozen=True)
class Lookup:
    """A function from hashes to answers, for one vector of DuckDB at a time."""

    hashes: Array  # sorted
    first: Array  # where the hashes begin that start with some bits
    shift: np.uint64
    values: dict[str, Array]  # of each new column, in the order of the hashes; text as its place in `texts`
    texts: dict[str, list[str]]

    @classmethod
    def of(cls, table: FileTable, answered: Answered) -> Self | None:
        """Index the answers; None if there are none, or if two of them share a hash."""
        if answered.answers is None or not len(answered.answers):
            return None
        answers = answered.answers.to_native()
        types = table.types
        keys = ", ".join(f"CAST({quoted(key)} AS {types[key]})" for key in answered.keys)
        hashes = table.connection.from_arrow(answers).project(f"hash({keys}) AS h").to_arrow_table()["h"].to_numpy()
        order = np.argsort(hashes)
        hashes = hashes[order]
        if (hashes[1:] == hashes[:-1]).any():
            return None
        bits = min(len(hashes).bit_length() + 2, MOST_BITS)
        shift = np.uint64(64 - bits)
        begins = np.searchsorted(hashes, np.arange(1 << bits, dtype=np.uint64) << shift)
        values, texts = {}, {}
        for name in answers.column_names:
            if name in answered.keys:
                continue
            column = answers[name].combine_chunks()
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                column = column.dictionary_encode()
                texts[name] = column.dictionary.to_pylist()
                column = column.indices
            values[name] = column.to_numpy(zero_copy_only=False)[order]
        return cls(hashes, np.minimum(begins, len(hashes) - 1).astype(np.int32), shift, values, texts)

    @property
    def sql_type(self) -> str:
        """Return the type of what is found."""
        kinds = {"f": "DOUBLE", "b": "BOOLEAN", "u": "UBIGINT"}
        fields = (
            f"{quoted(name)} {'INTEGER' if name in self.texts else kinds.get(values.dtype.kind, 'BIGINT')}"
            for name, values in self.values.items()
        )
        return f"STRUCT({', '.join(fields)})"

    @property
    def columns(self) -> list[str]:
        """Return the SQL of the new columns."""
        found = {name: f"{ANSWER}.{quoted(name)}" for name in self.values}
        for name, labels in self.texts.items():
            found[name] = f"list_extract([{', '.join(map(text, labels))}], {found[name]} + 1)"
        return [f"{sql} AS {quoted(name)}" for name, sql in found.items()]

    def __call__(self, hashes_of_rows: pa.Array) -> pa.Array:
        """Return the answers."""
        hashes = hashes_of_rows.to_numpy(zero_copy_only=False)
        places = self.first.take((hashes >> self.shift).view(np.int64)).astype(np.int64)
        missed = np.flatnonzero(self.hashes.take(places) != hashes)
        places[missed] = np.searchsorted(self.hashes, hashes[missed])
        if (self.hashes.take(places[missed], mode="clip") != hashes[missed]).any():
            raise ValueError("the file was changed while it was read")
        return pa.StructArray.from_arrays([pa.array(column.take(places)) for column in self.values.values()], list(self.values))
