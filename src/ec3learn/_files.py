"""Files that appear whole or not at all, and folders that must not outlive the process.

What is left when a process is killed outright, the next one clears away: a lock, which the system
releases when its holder dies, tells what is still in use.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

from ._checks import (
    InputError,
    InputFileExistsError,
    InputFileNotFoundError,
    InputIsADirectoryError,
    InputTypeError,
)
from ._text import arg

try:
    import fcntl
except ModuleNotFoundError:  # on Windows
    fcntl = None  # type: ignore[assignment]

# ---- whole files ---------------------------------------------------------------------------------


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
    if os.path.islink(os.path.realpath(place)):
        raise InputError(
            argument, "must be a file", came=f"the link {place}, which leads back to itself"
        )
    if place.is_file() and not overwrite:
        remedy = f"Pass {arg('overwrite', True)} to replace it."
        raise InputFileExistsError(argument, phrase=f"{place} exists already", remedy=remedy)
    return place


@contextmanager
def whole_file(target: Path) -> Iterator[BinaryIO]:
    """Open a file that appears, under its name, when all of it is on the disk; until then an older one stays as it is."""
    near = Path(os.path.realpath(target)).parent if is_plain(target) else None
    if near is not None:
        with os.scandir(near) as entries:
            _clear(entry.path for entry in entries if _is_old_part(entry, target.name))
    handle, temporary = tempfile.mkstemp(dir=near, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            _lock(file.fileno())
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


FULL = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


def is_full(error: BaseException) -> bool:
    """Return whether an error, of the system or of a library, says that there is no space left."""
    return any(reason in str(error) for reason in FULL)


# ---- folders that must not outlive the process ---------------------------------------------------

TEMPORARY: set[Path] = set()  # the folders
BEGIN, LOCK = ".ec3learn-", "lock"  # how the name of such a folder begins, and a file in it
OLD = 60  # seconds after which a file that nobody has locked is left over
TRIES = 100  # to remove one
SHOW_CURSOR = "\x1b[?25h"  # which a bar hides


@contextmanager
def temporary_folder(near: str | None = None) -> Iterator[Path]:
    """Make a folder that is gone afterwards, and clear away those of processes that were killed."""
    with os.scandir(near or tempfile.gettempdir()) as entries:
        _clear(
            os.path.join(entry.path, LOCK)
            for entry in entries
            if entry.name.startswith(BEGIN) and _is_ours(entry)
        )
    folder = Path(tempfile.mkdtemp(prefix=BEGIN, dir=near))
    TEMPORARY.add(folder)
    try:
        with open(folder / f"new {LOCK}", "wb") as file:
            _lock(file.fileno())
            os.rename(file.name, folder / LOCK)  # from here on it is locked, or left over
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        TEMPORARY.discard(folder)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        return (
            entry.is_dir(follow_symlinks=False)
            and entry.stat(follow_symlinks=False).st_uid == os.getuid()
        )
    except OSError:  # another process has removed it meanwhile
        return False


def _is_old_part(entry: os.DirEntry[str], name: str) -> bool:
    """Return whether an entry of a folder was once to become a file of that name, and has not been touched for a while."""
    is_part = (
        entry.name.startswith(f".{name}.")
        and entry.name.endswith(".part")
        and entry.is_file(follow_symlinks=False)
    )
    try:
        return is_part and time.time() - entry.stat().st_mtime > OLD
    except OSError:  # another process has removed it meanwhile
        return False


def _clear(locks: Iterable[str]) -> None:
    """Remove files that nobody has locked and, if they are the locks of folders, those folders."""
    if fcntl is None:
        return
    for path in list(locks):
        try:
            with open(path, "r+b") as file:
                _lock(file.fileno())
                if os.path.basename(path) == LOCK:
                    shutil.rmtree(os.path.dirname(path), ignore_errors=True)
                else:
                    os.unlink(path)
        except OSError:  # in use, or gone meanwhile
            continue


def _lock(file: int) -> None:
    """Lock a file as long as it is open; raise an OSError if another process has."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def end_at_once(*signals: int) -> None:
    """Remove the folders and end when one of these signals comes, where Python's own handlers would wait for other code.

    A thread waits for them. Threads that are started later leave them alone, so call this before
    libraries start theirs. The exit code is 128 more than the signal.
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
