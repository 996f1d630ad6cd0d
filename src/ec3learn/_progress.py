"""One line on the terminal that says what is going on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ._text import printable

CLEAR = "\r\x1b[K"  # goes back to the beginning of the line, and empties it


@dataclass(frozen=True)
class Bar:
    """The line; nothing is printed unless it is `shown`."""

    shown: bool

    def update(self, what: str) -> None:
        """Show what is going on."""
        if self.shown:
            print(f"{CLEAR}{printable(what)}", end="", file=sys.stderr, flush=True)


@contextmanager
def progress(what: str, *, shown: bool = True) -> Iterator[Bar]:
    """Show on a terminal what takes its time; the line is empty afterwards."""
    bar = Bar(shown and sys.stderr.isatty())
    bar.update(what)
    try:
        yield bar
    finally:
        bar.update("")
