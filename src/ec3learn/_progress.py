"""One line on the terminal that says what is going on, and how much of it is done."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ._text import printable

CLEAR = "\r\x1b[K"  # goes back to the beginning of the line, and empties it


@dataclass
class Bar:
    """The line; nothing is printed unless it is `shown`."""

    what: str
    shown: bool
    done: float = 0
    total: float | None = None

    def update(
        self,
        what: str | None = None,
        *,
        done: float | None = None,
        total: float | None = None,
        step: float = 0,
    ) -> None:
        """Show what is going on, how much is done, and how much there is."""
        self.what = what or self.what
        self.done = (self.done if done is None else done) + step
        self.total = total or self.total
        if self.shown:
            share = f" {self.done / self.total:.0%}" if self.total else ""
            print(f"{CLEAR}{printable(self.what)}{share}", end="", file=sys.stderr, flush=True)


@contextmanager
def progress(what: str, *, shown: bool = True) -> Iterator[Bar]:
    """Show on a terminal how far something is that takes time; the line is empty afterwards."""
    bar = Bar(what, shown and sys.stderr.isatty())
    bar.update()
    try:
        yield bar
    finally:
        if bar.shown:
            print(CLEAR, end="", file=sys.stderr, flush=True)
