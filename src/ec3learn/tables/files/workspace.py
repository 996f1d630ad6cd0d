"""A hidden folder next to the output and a DuckDB that spills into it; both are gone when the work is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from ..._checks import InputError, InputFileError
from ..._files import is_full, is_plain, place_for, temporary_folder
from ..._progress import Bar, progress
from ..._text import arg
from .formats import STANDARD

if TYPE_CHECKING:
    import duckdb

MEMORY = "800MB"


@dataclass(frozen=True)
class Workspace:
    """Where files lie until they are whole, the engine that works on them, and a bar that shows what it is doing."""

    folder: Path
    connection: duckdb.DuckDBPyConnection
    bar: Bar

    def path(self, name: str) -> Path:
        """Return the path of a file of ours."""
        return self.folder / name

    @contextmanager
    def told_if_full(self, errors: type[Exception] = Exception) -> Iterator[None]:
        """Say where there is no space left, if that is what is wrong."""
        try:
            yield
        except errors as error:
            if isinstance(error, InputError) or not is_full(error):
                raise
            phrase = f"No space is left for working files in {self.folder.parent}"
            raise InputFileError("out", phrase=phrase, remedy=f"Free some, or pass {arg('out')} in another folder.") from None


@contextmanager
def workspace(output: str | None = None, memory: str = MEMORY, *, bar: bool = False) -> Iterator[Workspace]:
    """Make a workspace on the disk of the output, so that a finished file only needs to be renamed.

    DuckDB uses so much memory before it spills to disk. With `bar` the progress of its queries is shown, on a terminal.
    """
    import duckdb

    near = None
    if output is not None and output != STANDARD and is_plain(output):
        near = os.path.dirname(os.path.realpath(place_for(output, argument="out")))
    with temporary_folder(near) as folder:
        try:
            settings = {"memory_limit": memory, "temp_directory": str(folder / "spilled")}
            # Nothing is fetched from the network: what we use is in the wheel.
            settings |= dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), "false")
            connection = duckdb.connect(config=settings)  # type: ignore[arg-type]
        except duckdb.Error:
            raise InputError("memory", "must be a size such as '800MB' or '4GB'", got=memory) from None
        try:
            connection.execute("SET enable_progress_bar = false")
            with follow_queries(connection, shown=bar) as shown:
                yield Workspace(folder, connection, shown)
        finally:
            connection.close()


@contextmanager
def follow_queries(connection: duckdb.DuckDBPyConnection, *, shown: bool) -> Iterator[Bar]:
    """Show a bar that follows what DuckDB reports about its queries."""
    ended = Event()
    with progress("Starting", shown=shown) as bar:

        def watch() -> None:
            while not ended.wait(0.2):
                share = connection.query_progress()
                if share > 0:
                    bar.update(done=share, total=100)

        watching = Thread(target=watch, daemon=True)
        if bar.bar is not None:
            watching.start()
        try:
            yield bar
        finally:
            ended.set()
            if bar.bar is not None:
                watching.join()
