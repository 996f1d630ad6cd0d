"""What is going on, on a terminal, while it takes longer than a moment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..files import Workspace

MOMENT = 1.0  # seconds


@contextmanager
def steps(work: Workspace) -> Iterator[Callable[[str], None]]:
    """Return a function that names the step we are at; a bar follows what DuckDB says about its query."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    current, ended = ["Starting"], Event()
    watching = Thread(target=_watch, args=(work, current, ended), daemon=True)
    watching.start()
    try:
        yield lambda step: current.__setitem__(0, step)
    finally:
        ended.set()
        watching.join()


def _watch(work: Workspace, current: list[str], ended: Event) -> None:
    if ended.wait(MOMENT):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task: Any = bar.add_task(current[0], total=None)
        while not ended.wait(0.2):
            share = work.connection.query_progress()
            bar.update(task, description=current[0], completed=max(share, 0), total=100 if share > 0 else None)
