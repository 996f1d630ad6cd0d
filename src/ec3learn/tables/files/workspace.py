"""A hidden folder beside the output and a DuckDB that spills into it; both are gone when the work is done."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..._files import TEMPORARY
from .formats import STANDARD

if TYPE_CHECKING:
    import duckdb

MEMORY = "800MB"


@dataclass(frozen=True)
class Workspace:
    """Where files lie until they are whole, and the engine that works on them."""

    folder: Path
    connection: duckdb.DuckDBPyConnection

    def path(self, name: str) -> Path:
        """Return where a file of ours lies."""
        return self.folder / name


@contextmanager
def workspace(output: str | None = None, memory: str = MEMORY) -> Iterator[Workspace]:
    """Make a workspace on the disk of the output, so that a finished file only needs to be renamed.

    Parameters
    ----------
    output : path
        The file that will be written; the system's folder for temporary files if there is none, or if it is no plain file.
    memory : str
        What DuckDB may use before it spills to the disk.
    """
    import duckdb

    near = None if output is None or not is_plain(output) else os.path.dirname(os.path.realpath(output))
    if near is not None and not os.path.isdir(near):
        raise FileNotFoundError(f"The folder of {output} must exist, got {near}.")
    folder = Path(tempfile.mkdtemp(prefix=".ec3learn-", dir=near))
    TEMPORARY.add(folder)
    try:
        try:
            settings = {"memory_limit": memory, "temp_directory": str(folder / "spilled")}
            # Nothing is fetched from the network: what we use is in the wheel.
            settings |= dict.fromkeys(("autoinstall_known_extensions", "autoload_known_extensions"), "false")
            connection = duckdb.connect(config=settings)  # type: ignore[arg-type]
        except duckdb.Error:
            raise ValueError(f"memory must be a size such as '800MB' or '4GB', got {memory!r}.") from None
        try:
            connection.execute("SET enable_progress_bar = false")
            yield Workspace(folder, connection)
        finally:
            connection.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        TEMPORARY.discard(folder)


def is_plain(path: str) -> bool:
    """Return whether a path is, or would be, a file on a disk; pipes and devices are not."""
    return path != STANDARD and (not os.path.exists(path) or os.path.isfile(path))
