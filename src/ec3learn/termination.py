"""Folders that must not outlive the process, even if it is told to end while Python waits for DuckDB or for a pipe."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from threading import Thread

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
