"""Files that appear whole or not at all, and folders that must not outlive the process."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

from ._checks import InputError, InputFileExistsError, InputFileNotFoundError, InputIsADirectoryError, InputTypeError
from ._text import arg

# ---- whole files -----------------------------------------------------------------------------------------------------


def path_of(path: Any, argument: str = "path") -> Path:
    """Return the path of a file; refuse what is no path, and folders."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputTypeError(argument, "must be the name of a file", got=path)
    if "\0" in os.fspath(path):
        raise InputError(argument, "must be the name of a file, without NUL", got=path)
    place = Path(path)
    if place.is_dir():
        raise InputIsADirectoryError(argument, "must be a file", came=f"the folder {place}")
    return place


def place_for(path: Any, overwrite: bool = True, argument: str = "path") -> Path:
    """Return where a file is to be written; refuse places where no file can be, and to replace one unless `overwrite` is set."""
    place = path_of(path, argument)
    if not Path(os.path.realpath(place)).parent.is_dir():
        raise InputFileNotFoundError(argument, "must lie in a folder that exists", came=str(place))
    if place.is_file() and not overwrite:
        remedy = f"Pass {arg('overwrite', True)} to replace it."
        raise InputFileExistsError(argument, phrase=f"{place} exists already", remedy=remedy)
    return place


@contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """Open a file that appears, under its name, when all of it is on the disk; until then an older one stays as it is."""
    near = Path(os.path.realpath(target)).parent if is_plain(target) else None
    handle, temporary = tempfile.mkstemp(dir=near, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        publish(Path(temporary), target)
    finally:
        Path(temporary).unlink(missing_ok=True)


def publish(finished: Path, target: Path) -> None:
    """Give a finished file its name; what stood there stays whole until then, and its mode and links to it are kept.

    A pipe or a device is no file that could be replaced: it gets the bytes.
    """
    with open(finished, "r+b") as file:  # Windows flushes only what is open for writing
        if not is_plain(target):
            with open(target, "wb") as device:
                shutil.copyfileobj(file, device, 1 << 20)
            return
        os.fsync(file.fileno())
    place = os.path.realpath(target)
    umask = os.umask(0)
    os.umask(umask)
    mode = stat.S_IMODE(os.stat(place).st_mode) if os.path.exists(place) else 0o666 & ~umask
    os.chmod(finished, mode)
    os.replace(finished, place)


def is_plain(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is, or would be, a file on a disk; pipes and devices are not."""
    return not os.path.exists(path) or os.path.isfile(path)


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
    Thread(target=_end_on_signal, args=(signals,), daemon=True).start()


def _end_on_signal(signals: tuple[int, ...]) -> None:
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
