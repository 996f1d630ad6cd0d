"""Compiled loops for large tables: `pip install 'ec3learn[fast]'`.

Loading numba takes half a second, and compiling the loops for the first time three to four seconds
more. So they are used from a size on where that pays, and everything else is numpy, as without the
extra. `compiled` is the one place where this is decided. `in_threads` runs a loop on as many
threads as joblib's `parallel_config` asks for, one unless told otherwise.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any

from joblib import effective_n_jobs, parallel_config
from threadpoolctl import threadpool_limits

from .._checks import InputError
from .._text import first_line

_limiting = Lock()
LEAST = (
    1 << 22
)  # numbers that a loop has to read: in numpy they take about as long as loading the loops


def compiled(n_numbers: int) -> Any:
    """Return the module of compiled loops where there are so many numbers to read that they pay, else None."""
    return _loops() if n_numbers >= LEAST else None


@cache
def _loops() -> Any:
    """Return the module of compiled loops; None without numba, or with one that cannot be loaded, which a warning says."""
    if find_spec("numba") is None or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return None
    try:
        return import_module(".loops", __name__)
    except (
        Exception
    ) as error:  # whatever a broken installation raises: ImportError, OSError, AttributeError, ...
        text = f"numba is installed but cannot be loaded, so large tables take longer: {first_line(error)}."
        warnings.warn(
            f"{text} Install it again: pip install --force-reinstall 'ec3learn[fast]'.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


@contextmanager
def threads(n_jobs: int) -> Iterator[None]:
    """Let loops use so many threads; -1 is one per core.

    Matrix products then use one: their other threads would spin for a while after each product, on
    the cores that the loops need.
    """
    if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise InputError(
            "n_jobs",
            "must be an integer other than 0",
            got=n_jobs,
            remedy="-1 takes one thread per core.",
        )
    with parallel_config("threading", n_jobs=n_jobs):
        if (
            n_jobs == 1 or find_spec("numba") is None or not _limiting.acquire(blocking=False)
        ):  # one limit for all threads
            yield
            return
        try:
            with threadpool_limits(1):
                yield
        finally:
            _limiting.release()


def n_threads() -> int:
    """Return how many threads to use."""
    return max(1, int(effective_n_jobs(None)))


def in_threads(work: Callable[[int, int], Any], n_rows: int) -> list[Any]:
    """Return what `work(begin, end)` returns for the parts of the rows, one part per thread."""
    n = min(n_threads(), max(1, n_rows))
    ends = [n_rows * k // n for k in range(n + 1)]
    return each_in_threads(work, ends[:-1], ends[1:])


def each_in_threads(work: Callable[..., Any], *items: Sequence[Any]) -> list[Any]:
    """Return what `work` returns for each of some items, several at a time."""
    n = n_threads()
    return list(
        map(work, *items)
        if n == 1 or len(items[0]) <= 1
        else _pool(n, os.getpid()).map(work, *items)
    )


@cache
def _pool(n: int, process: int) -> ThreadPoolExecutor:
    """Return the threads of a process; one that was forked has none of its parent's."""
    return ThreadPoolExecutor(n)
