"""Which format a file has: by its name, or as given; and what only Arrow keeps of it.

Columns that DuckDB would change go around it: Arrow reads them from the file again and writes them
beside the answers.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..._checks import InputError, InputFileError
from ..._text import arg

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
COMPRESSIONS = {"gzip": ".gz", "zstd": ".zst"}
COMPRESSED = ("csv", "tsv", "jsonl")  # as a whole, where the others compress by themselves
READ_ONLY = ("excel", "label-studio", "argilla")


BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"PK\x03\x04": "excel",
}
GZIP, BOM = b"\x1f\x8b", b"\xef\xbb\xbf"
ARROW = ("arrow", "parquet")  # formats whose columns have the types of Arrow
BATCH = 1 << 16  # rows of Parquet read at a time


def format_of_content(head: bytes) -> str | None:
    r"""Return the format of a file by how it begins; None where that does not tell.

    Examples
    --------
    >>> format_of_content(b"id,svm\n1,a\n"), format_of_content(b'{"id": 1}'), format_of_content(b"[1]")
    ('csv', 'jsonl', None)
    """
    if head.startswith(GZIP):
        inner = format_of_content(zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head))
        return f"{inner}.gz" if inner in COMPRESSED else None
    binary = next(
        (name for beginning, name in BEGINNINGS.items() if head.startswith(beginning)), None
    )
    text = head.removeprefix(BOM).lstrip()
    if binary is not None or not text or b"\0" in text or text.startswith(b"["):
        return binary
    first_line = text.splitlines()[0]
    return (
        "jsonl"
        if text.startswith(b"{")
        else "tsv"
        if b"\t" in first_line and b"," not in first_line
        else "csv"
    )


SAVED = ".ec3"  # what a saved consensus is usually called


@dataclass(frozen=True)
class Format:
    """A format, how the file is compressed as a whole, and for CSV the delimiter between fields."""

    name: str
    compression: str | None = None
    delimiter: str = ","

    @classmethod
    def of(
        cls,
        path: str,
        given: str | None = None,
        delimiter: str | None = None,
        argument: str = "format",
    ) -> Format:
        """Return the format that is given, as in "csv" or "csv.gz", or else the one of the file's extension."""
        endings = PurePath(f"x.{given}" if given is not None else path).suffixes[-2:]
        last = endings[-1].lower() if endings else ""
        compression = next((name for name, ending in COMPRESSIONS.items() if ending == last), None)
        ending = last if compression is None else endings[0].lower()
        name = next(
            (name for name, known in FORMATS.items() if ending in (f".{name}", *known)), None
        )
        if name is None or (compression is not None and name not in COMPRESSED):
            known = ", ".join(
                name for name in FORMATS if argument == "format" or name not in READ_ONLY
            )
            if given is not None:
                remedy = f"Choose from: {known}; csv, tsv and jsonl also with .gz or .zst."
                raise InputError(
                    argument, phrase=f"Unknown {arg(argument)} {given!r}", remedy=remedy
                )
            phrase = f"The format of {path!r} does not follow from its name"
            if Path(path).is_dir():
                raise InputFileError(
                    argument, phrase=f"{path} is a folder", remedy="Name a file in it."
                )
            if path.endswith(SAVED):
                phrase, remedy = (
                    f"{path} is a saved consensus, not a table of votes",
                    "Pass the table, or use voters or apply.",
                )
                raise InputError(argument, phrase=phrase, remedy=remedy)
            if path == STANDARD:
                phrase = "The format of standard input does not follow from its content"
            raise InputError(argument, phrase=phrase, remedy=f"Pass {arg(argument)}: {known}.")
        delimiter = "\t" if delimiter == "\\t" else delimiter
        if delimiter is not None and (
            name not in ("csv", "tsv") or len(delimiter) != 1 or delimiter in '"\r\n'
        ):
            raise InputError(
                "delimiter",
                "must be a single character, for CSV only",
                came=f"{delimiter!r} for {name}",
            )
        return cls(name, compression, delimiter or ("\t" if name == "tsv" else ","))

    def for_output(self, path: str, given: str | None) -> Format:
        """Return the format of an output: as given, by its name, or else this one; a delimiter is kept."""
        if given is None and path == STANDARD:
            return Format("csv") if self.name in READ_ONLY else replace(self, compression=None)
        output = Format.of(path, given, argument="out_format")
        if output.name in READ_ONLY:
            written = ", ".join(name for name in FORMATS if name not in READ_ONLY)
            phrase = f"{path} cannot be written: {output.name} is a format that is only read"
            raise InputError("out_format", phrase=phrase, remedy=f"Choose from: {written}.")
        return replace(output, delimiter=self.delimiter) if output.name == self.name else output


# ---- columns that DuckDB would change ------------------------------------------------------------


@dataclass(frozen=True)
class Carried:
    """A file of Arrow or Parquet whose columns come back as they are, of whatever type."""

    source: Path
    format: Format

    @property
    def schema(self) -> pa.Schema:
        """Return the columns and their types."""
        return (
            pq.read_schema(self.source)
            if self.format.name == "parquet"
            else open_arrow(self.source).schema
        )

    @property
    def unread(self) -> dict[str, pa.DataType]:
        """Return the columns whose values DuckDB would change or cannot read."""
        return {field.name: field.type for field in self.schema if not is_read(field.type)}

    def goes_around(self, output: Format) -> bool:
        """Return whether an output needs Arrow; of what cannot be written as it is, refuse it."""
        if output.name in ARROW:
            return (
                output.name == "arrow"
                or self.format.name == "arrow"
                or not all(map(_is_kept, self.schema.types))
            )
        for name, kind in self.unread.items():
            phrase = f"Column {name!r} holds {kind}, which {output.name} cannot keep as it is"
            raise InputError(
                "out_format",
                phrase=phrase,
                remedy=f"Pass {arg('out_format', 'parquet')}, or leave the column out.",
            )
        return False

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows in their order."""
        if self.format.name == "parquet":
            with pq.ParquetFile(self.source) as file:
                yield from file.iter_batches(BATCH)
        else:
            yield from batches_of(open_arrow(self.source))

    def write(self, rows: Any, target: Path, output: Format) -> None:
        """Write the columns of the file, and those that a relation of DuckDB adds to them, in the same order."""
        added = rows.select(*(name for name in rows.columns if name not in self.schema.names))
        with added.to_arrow_reader(BATCH) as answers, pa.OSFile(str(target), "wb") as file:
            schema = self.schema
            for field in answers.schema:
                schema = schema.append(field)
            new_writer = pq.ParquetWriter if output.name == "parquet" else pa.ipc.new_file
            with new_writer(file, schema) as writer:
                for batch, found in _in_step(self.batches(), answers):
                    columns = [*batch.columns, *found.columns]
                    writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _in_step(
    batches: Iterator[pa.RecordBatch], answers: pa.RecordBatchReader
) -> Iterator[tuple[pa.RecordBatch, pa.Table]]:
    """Yield batches, each with as many rows of the answers."""
    rest = answers.schema.empty_table()
    for batch in batches:
        while len(rest) < len(batch):
            following = next(answers, None)
            if following is None:
                raise pa.ArrowInvalid("the file was changed while it was read")
            rest = pa.concat_tables([rest, pa.Table.from_batches([following])])
        yield batch, rest[: len(batch)]
        rest = rest[len(batch) :]


# ---- files of Arrow ------------------------------------------------------------------------------


def open_arrow(source: Path) -> Any:
    """Open an Arrow file, or an Arrow stream."""
    file = pa.memory_map(str(source))
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)


def batches_of(reader: Any) -> Iterator[pa.RecordBatch]:
    """Read the batches of either."""
    if isinstance(reader, pa.RecordBatchReader):
        return iter(reader)
    return (reader.get_batch(i) for i in range(reader.num_record_batches))


# ---- types ---------------------------------------------------------------------------------------


def is_read(kind: pa.DataType) -> bool:
    """Return whether DuckDB reads all values of a type, and as they are."""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return is_read(kind.value_type)
    if types.is_decimal(kind):
        return not types.is_decimal256(kind) and kind.scale >= 0
    if types.is_nested(kind):
        return not types.is_union(kind) and all(
            is_read(kind.field(i).type) for i in range(kind.num_fields)
        )
    return not (types.is_duration(kind) or types.is_interval(kind) or types.is_float16(kind))


def _is_kept(kind: pa.DataType) -> bool:
    """Return whether DuckDB writes a type of Parquet as the one it read."""
    types = pa.types
    if (
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_struct(kind)
        or types.is_map(kind)
    ):
        return all(_is_kept(kind.field(i).type) for i in range(kind.num_fields))
    if types.is_timestamp(kind):
        return kind.unit in ("us", "ns") and kind.tz in (None, "UTC")
    if types.is_decimal128(kind):
        return kind.scale >= 0
    return kind in KEPT


TEXTS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
]  # one in Parquet
INTEGERS = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
]
KEPT = {*TEXTS, *INTEGERS, pa.bool_(), pa.float32(), pa.float64(), pa.date32(), pa.time64("us")}
