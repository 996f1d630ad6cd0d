"""One progress bar, on a terminal only: by rich, where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any


@dataclass
class Bar:
    """A bar that shows what is going on and how far it is; without a terminal or rich it shows nothing."""

    bar: Any = None
    task: Any = None

    def update(
        self,
        what: str | None = None,
        *,
        done: float | None = None,
        total: float | None = None,
        step: float = 0,
    ) -> None:
        """Show what is going on, how much is done, and how much there is."""
        if self.bar is not None:
            given = {"description": what, "completed": done, "total": total}
            self.bar.update(
                self.task,
                advance=step or None,
                **{name: value for name, value in given.items() if value is not None},
            )


@contextmanager
def progress(
    what: str, total: float | None = None, *, shown: bool = True, keep: bool = False
) -> Iterator[Bar]:
    """Show a bar while something takes time, of so many steps; with `keep` the finished bar stays on the terminal."""
    if not shown or not sys.stderr.isatty() or find_spec("rich") is None:
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=not keep) as bar:
        yield Bar(bar, bar.add_task(what, total=total))
