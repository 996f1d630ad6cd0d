"""Files that appear whole or not at all, and folders that must not outlive the process."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

from ._checks import InputFileNotFoundError, InputIsADirectoryError, InputTypeError

# ---- whole files -----------------------------------------------------------------------------------------------------


def place_for(path: Any) -> Path:
    """Return where a file is to be written; refuse what is no path, and places where no file can be."""
    place = path_of(path)
    if not place.parent.is_dir():
        raise InputFileNotFoundError("path", "must lie in a folder that exists", came=str(place))
    return place


def path_of(path: Any) -> Path:
    """Return the path of a file; refuse what is no path, and folders."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputTypeError("path", "must be the name of a file", got=path)
    place = Path(path)
    if place.is_dir():
        raise InputIsADirectoryError("path", "must be a file", came=f"the folder {place}")
    return place


@contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """Open a file that appears, under its name, when all of it is on the disk; until then an older one stays as it is."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # as an ordinary file would have been made
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


# ---- folders that must not outlive the process ----------------------------------------------------------------------

TEMPORARY: set[Path] = set()  # the folders
TRIES = 100  # to remove one
SHOW_CURSOR = "\x1b[?25h"  # which a bar hides


def end_at_once(*signals: int) -> None:
    """Remove the folders and end when one of these signals comes, where Python's own handlers would wait for other code.

    A thread waits for them. Threads that are started later leave them alone, so call this before libraries start theirs.

    Parameters
    ----------
    signals : int
        Such as `signal.SIGTERM`; the exit code is 128 more.
    """
    if not hasattr(signal, "pthread_sigmask"):
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    Thread(target=_end_when_told, args=(signals,), daemon=True).start()


def _end_when_told(signals: tuple[int, ...]) -> None:
    came = signal.sigwait(signals)
    for folder in list(TEMPORARY):
        for _ in range(TRIES):  # others may be writing there still
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.01)
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), f"{SHOW_CURSOR}\n".encode())
    os._exit(128 + came)
