"""Which format a file has: by its name, or as given."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from ..._checks import InputError, InputIsADirectoryError
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


BEGINNINGS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"PK\x03\x04": "excel"}
GZIP, BOM = b"\x1f\x8b", b"\xef\xbb\xbf"


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
    binary = next((name for beginning, name in BEGINNINGS.items() if head.startswith(beginning)), None)
    text = head.removeprefix(BOM).lstrip()
    if binary is not None or not text or b"\0" in text or text.startswith(b"["):
        return binary
    first_line = text.splitlines()[0]
    return "jsonl" if text.startswith(b"{") else "tsv" if b"\t" in first_line and b"," not in first_line else "csv"


@dataclass(frozen=True)
class Format:
    """A format, how the file is compressed as a whole, and for CSV the delimiter between fields."""

    name: str
    compression: str | None = None
    delimiter: str = ","

    @classmethod
    def of(cls, path: str, given: str | None = None, delimiter: str | None = None, argument: str = "format") -> Format:
        """Return the format that is given, as in "csv" or "csv.gz", or else the one of the file's extension."""
        endings = PurePath(f"x.{given}" if given is not None else path).suffixes[-2:]
        last = endings[-1].lower() if endings else ""
        compression = next((name for name, ending in COMPRESSIONS.items() if ending == last), None)
        ending = last if compression is None else endings[0].lower() if len(endings) > 1 else ""
        name = next((name for name, known in FORMATS.items() if ending in (f".{name}", *known)), None)
        if name is None or (compression is not None and name not in COMPRESSED):
            known = ", ".join(name for name in FORMATS if argument == "format" or name not in READ_ONLY)
            if given is not None:
                remedy = f"Choose from: {known}; csv, tsv and jsonl also with .gz or .zst."
                raise InputError(argument, phrase=f"Unknown {arg(argument)} {given!r}", remedy=remedy)
            phrase = f"The format of {path!r} does not follow from its name"
            if Path(path).is_dir():
                raise InputIsADirectoryError(argument, phrase=f"{path} is a folder", remedy="Name a file in it.")
            if path == STANDARD:
                phrase = "The format of standard input does not follow from its content"
            raise InputError(argument, phrase=phrase, remedy=f"Pass {arg(argument)}: {known}.")
        delimiter = "\t" if delimiter == "\\t" else delimiter
        if delimiter is not None and (name not in ("csv", "tsv") or len(delimiter) != 1 or delimiter in '"\r\n'):
            raise InputError("delimiter", "must be a single character, for CSV only", came=f"{delimiter!r} for {name}")
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
