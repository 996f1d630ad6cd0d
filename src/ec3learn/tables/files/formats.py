"""Which format a file has: by its name, or as it was said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath

STANDARD = "-"  # standard input or output, where a path is asked for

FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
}
COMPRESSIONS = {"gzip": ".gz", "zstd": ".zst"}
TEXT = ("csv", "tsv", "jsonl")  # compressed as a whole, where the others compress by themselves


@dataclass(frozen=True)
class Format:
    """A format, how the file is compressed as a whole, and for CSV what stands between the fields."""

    name: str
    compression: str | None = None
    delimiter: str = ","

    @classmethod
    def of(cls, path: str, said: str | None = None, delimiter: str | None = None, argument: str = "format") -> Format:
        """Return the format that was said, as in "csv" or "csv.gz", or else the one that the file's name ends in."""
        endings = PurePath(f"x.{said}" if said is not None else path).suffixes[-2:]
        last = endings[-1].lower() if endings else ""
        compression = next((name for name, ending in COMPRESSIONS.items() if ending == last), None)
        ending = last if compression is None else endings[0].lower() if len(endings) > 1 else ""
        name = next((name for name, known in FORMATS.items() if ending in known), None)
        if name is None or (compression is not None and name not in TEXT):
            known = ", ".join(FORMATS)
            if said is not None:
                raise ValueError(f"Unknown {argument} {said!r}. Choose from: {known}; csv, tsv and jsonl also with .gz or .zst.")
            raise ValueError(f"The format of {path!r} is not in its name. Pass --{argument.replace('_', '-')}: {known}.")
        if delimiter is not None and (name not in ("csv", "tsv") or len(delimiter) != 1 or delimiter in '"\r\n'):
            raise ValueError(f"delimiter must be a single character, for CSV alone, got {delimiter!r} for {name}.")
        return cls(name, compression, delimiter or ("\t" if name == "tsv" else ","))

    def for_output(self, path: str, said: str | None) -> Format:
        """Return the format of an output: as was said, by its name, or else this one; a delimiter is kept."""
        if said is None and path == STANDARD:
            return replace(self, compression=None)
        output = Format.of(path, said, argument="out_format")
        return replace(output, delimiter=self.delimiter) if output.name == self.name else output
