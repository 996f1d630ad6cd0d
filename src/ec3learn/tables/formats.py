"""Which format a file has: by its name, by its content on standard input, or as the user says."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import PurePath

from .._checks import InputError
from .._text import arg

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
WRITTEN = (*TEXT, "parquet", "arrow", "excel")
ENDINGS = {ending for endings in FORMATS.values() for ending in endings} | COMPRESSIONS.keys()
BEGINNINGS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "excel", b"{": "jsonl"}


def format_of_content(head: bytes) -> str | None:
    r"""Tell the format of a file by how it begins; None where that does not tell.

    Examples
    --------
    >>> format_of_content(b"id,svm\n1,a\n"), format_of_content(b'{"id": 1}'), format_of_content(b"")
    ('csv', 'jsonl', None)
    """
    binary = next((name for start, name in BEGINNINGS.items() if head.startswith(start)), None)
    if binary is not None or not head or b"\0" in head or head.lstrip().startswith(b"["):
        return binary
    first = head.splitlines()[0]
    return "tsv" if b"\t" in first and b"," not in first else "csv"


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
        name = next(
            (name for name, known in FORMATS.items() if ending in (f".{name}", *known)), None
        )
        if name is None or (compression is not None and name not in TEXT):
            raise _unknown(path, format, argument)
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
        old = output.name == "excel" and not path.lower().endswith((STANDARD, ".xlsx"))
        if output.name not in WRITTEN or old:
            phrase = f"{path} cannot be written: its format is only read"
            remedy = f"Choose from: {', '.join(WRITTEN)} (.xlsx)."
            raise InputError("out_format", phrase=phrase, remedy=remedy)
        return replace(output, delimiter=self.delimiter) if output.name == self.name else output


def _unknown(path: str, format: str | None, argument: str) -> InputError:
    """The error for a file whose format is not known, with what to do."""
    known = ", ".join(FORMATS if argument == "format" else WRITTEN)
    choose = f"{known}; csv, tsv and jsonl also with .gz or .zst"
    if format is not None:
        remedy = f"Choose from: {choose}."
        return InputError(argument, phrase=f"Unknown {arg(argument)} {format!r}", remedy=remedy)
    if path.endswith(".ec3"):
        phrase = f"{path} is a saved consensus, not a table of votes"
        remedy = "Pass the table, or use voters or apply."
        return InputError(argument, phrase=phrase, remedy=remedy)
    phrase = f"The format of {path!r} does not follow from its name"
    if path == STANDARD:
        phrase = "The format of standard input does not follow from its content"
    return InputError(argument, phrase=phrase, remedy=f"Pass {arg(argument)}: {choose}.")
