"""Files that cannot be read: what engines say of them in one sentence, and unknown formats."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .._checks import InputError, InputFileError
from .._files import is_full
from .._text import arg, first_line

if TYPE_CHECKING:
    from .formats import Source

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
    r"'arrow_table' failed: (?:Invalid: )?([^\n]*[^\n.])": "cannot be read as arrow: {0}",
    r"duplicate key (\"[^\"]*\")": "must hold a JSON object in each line, got the key {0} twice",
}


def as_sentence(error: Exception, source: Source) -> InputError:
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


def unknown_format(
    path: str, format: str | None, argument: str, known: Iterable[str]
) -> InputError:
    """The error for a file whose format is not known, with what to do."""
    phrase = (
        f"The format of {path!r} is not known"
        if format is None
        else f"Unknown {argument} {format!r}"
    )
    remedy = f"Pass {arg(argument)}: {', '.join(known)}; csv, tsv and jsonl also with .gz or .zst."
    if path.endswith(".ec3"):
        remedy = "It is a saved consensus: pass a table, or use voters or apply."
    return InputError(argument, phrase=phrase, remedy=remedy)
