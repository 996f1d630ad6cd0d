"""Checks of single arguments, in one wording: what it is called, what is allowed, what came."""

from __future__ import annotations

from typing import Any

import numpy as np


def require_number(name: str, value: Any, *, least: float | None = None, above: float | None = None) -> None:
    """Refuse what is not a finite number of at least `least`, or above `above`."""
    bound = f"of at least {least}" if least is not None else f"above {above}"
    small = is_number(value) and (value < least if least is not None else above is not None and value <= above)
    if not is_number(value) or small or not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number {bound}, got {value!r}.")


def require_whole(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def require_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse what is not among the names allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"Unknown {name} {value!r}. Choose from: {', '.join(allowed)}.")


def require_bool(name: str, value: Any) -> None:
    """Refuse what is not True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def require_seed(name: str, value: Any) -> None:
    """Refuse what numpy can't seed its random numbers by."""
    if value is None:
        return
    try:
        np.random.default_rng(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a whole number of at least 0, a numpy Generator or None, got {value!r}.") from None


def is_number(value: Any) -> bool:
    """Return whether the value is a number, infinite and NaN included."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Return whether the value is a whole number."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
