"""Compiled loops for large tables: `pip install 'ec3learn[fast]'`.

Loading numba takes half a second, and compiling the loops for the first time a second more. So they
are used from a size on where that pays (`LEAST`), and everything else is numpy, as without the
extra.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .._text import first_line

# Numbers that a loop has to read: in numpy they take about as long as loading the loops.
LEAST = 1 << 22


@cache
def compiled() -> Any:
    """The module of compiled loops; None without numba, and with a warning if it is broken."""
    if find_spec("numba") is None or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return None
    try:
        return import_module(".loops", __name__)
    except (
        Exception
    ) as error:  # a broken installation raises anything: OSError, AttributeError, ...
        why = first_line(error)
        text = f"numba is installed but cannot be loaded, so large tables take longer: {why}."
        warnings.warn(
            f"{text} Install it again: pip install --force-reinstall 'ec3learn[fast]'.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
