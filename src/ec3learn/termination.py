"""Folders that must not outlive the process, even if it is told to end while Python waits for DuckDB or for a pipe."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from threading import Thread

TERMINATED = 143  # the exit code
TEMPORARY: set[Path] = set()  # the folders
TRIES = 100  # to remove one


def remove_when_terminated() -> None:
    """Remove the folders when the process is told to end, at once, where Python's own handlers would wait for other code.

    A thread waits for the signal. Threads that are started later leave it alone, so call this before libraries start theirs.
    """
    if not hasattr(signal, "pthread_sigmask"):
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    Thread(target=_end_when_told, daemon=True).start()


def _end_when_told() -> None:
    signal.sigwait({signal.SIGTERM})
    for folder in list(TEMPORARY):
        for _ in range(TRIES):  # others may be writing there still
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.01)
    os._exit(TERMINATED)
