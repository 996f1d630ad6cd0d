"""Files that appear whole or not at all, and temporary folders that do not outlive the process.

What a killed process leaves behind, the next one deletes: the system releases the lock in a
temporary folder when its owner ends.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any, BinaryIO

from ._checks import (
    InputFileError,
    InputFileExistsError,
    InputFileNotFoundError,
    InputTypeError,
)
from ._text import arg

try:
    import fcntl
except ModuleNotFoundError:  # on Windows, where killed processes leave their folders behind
    fcntl = None  # type: ignore[assignment]

FULL = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
TEMPORARY: set[Path] = set()  # the folders of this process
MAKING = Lock()  # held while one is made
BEGIN, LOCK = ".ec3learn-", "lock"  # how the name of such a folder begins, and a file in it


def path_of(path: Any, argument: str = "path") -> Path:
    """The path of a file; what is no path, and folders, are refused."""
    is_path = isinstance(path, (str, os.PathLike))
    if not is_path or not os.fspath(path) or "\0" in os.fspath(path):
        raise InputTypeError(argument, "must be the name of a file, without NUL", got=path)
    if os.path.isdir(path):
        raise InputFileError(argument, "must be a file", came=f"the folder {Path(path)}")
    return Path(path)


def place_for(path: Any, overwrite: bool = True, argument: str = "path") -> Path:
    """The path of a file to write; an existing file is refused unless `overwrite` is set."""
    place = path_of(path, argument)
    if not os.path.isdir(_folder_of(place)):
        raise InputFileNotFoundError(argument, "must lie in a folder that exists", came=str(place))
    if place.is_file() and not overwrite:
        remedy = f"Pass {arg('overwrite', True)} to replace it."
        raise InputFileExistsError(argument, phrase=f"{place} exists already", remedy=remedy)
    return place


def _folder_of(path: Path) -> str:
    """The folder of the file that a path leads to, through links."""
    return os.path.dirname(os.path.realpath(path))


@contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """A file to write that gets its name when all of it is on the disk."""
    with temporary_folder(_folder_of(target) if is_plain(target) else None) as folder:
        with open(folder / "whole", "wb") as file:
            yield file
        publish(folder / "whole", target)


def publish(finished: Path, target: Path) -> None:
    """Give a finished file its name; the mode of an older file, and links to it, are kept.

    A pipe or a device gets the bytes.
    """
    with open(finished, "r+b") as file:  # Windows flushes only what is open for writing
        if not is_plain(target):
            with open(target, "wb") as device:
                shutil.copyfileobj(file, device)
            return
        os.fsync(file.fileno())
    place = os.path.realpath(target)
    if os.path.exists(place):
        os.chmod(finished, stat.S_IMODE(os.stat(place).st_mode))
    os.replace(finished, place)


def is_plain(path: str | os.PathLike[str]) -> bool:
    """Whether a path is, or would be, a file on a disk; pipes and devices are not."""
    return not os.path.exists(path) or os.path.isfile(path)


def is_full(error: BaseException) -> bool:
    """Whether an error, of the system or of a library, says that the disk is full."""
    return any(reason in str(error) for reason in FULL)


@contextmanager
def temporary_folder(near: str | None = None) -> Iterator[Path]:
    """A folder that is gone afterwards; it deletes those that killed processes left beside it."""
    if fcntl is not None:
        _clear(Path(near or tempfile.gettempdir()))
    with MAKING:
        folder = Path(tempfile.mkdtemp(prefix=BEGIN, dir=near))
        TEMPORARY.add(folder)
    try:
        with open(folder / "new", "wb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
                os.rename(file.name, folder / LOCK)  # from here on it is locked, or left over
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        TEMPORARY.discard(folder)


def removed_after_a_crash(folder: Path) -> AbstractContextManager[Any]:
    """Have a shell remove a folder when this process ends, even if a library crashes it."""
    if os.name != "posix" or shutil.which("sh") is None:
        return nullcontext()
    # The end of its input, which is closed in any case, is all that the shell waits for.
    command = ["sh", "-c", 'exec >/dev/null 2>&1; cat; rm -rf -- "$0"', str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def _clear(near: Path) -> None:
    """Delete the temporary folders that nobody has locked."""
    for lock in near.glob(f"{BEGIN}*/{LOCK}"):
        with suppress(OSError), open(lock, "r+b") as file:  # in use, or gone meanwhile
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)


def end_at_once(*signals: int) -> None:
    """Delete the temporary folders and end when a signal comes, with 128 + signal as exit code.

    Python's own handlers would wait for a query or a solver to end; a thread does not. Threads that
    are started later leave the signals alone, so call this before libraries start theirs.
    """
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        Thread(target=_end_on, args=(signals,), daemon=True).start()


def _end_on(signals: tuple[int, ...]) -> None:
    came = signal.sigwait(signals)
    MAKING.acquire()  # no folder is made from here on
    for _ in range(100):  # while another thread writes into one
        for folder in list(TEMPORARY):
            shutil.rmtree(folder, ignore_errors=True)
        if not any(folder.exists() for folder in list(TEMPORARY)):
            break
        time.sleep(0.01)
    os._exit(128 + came)
