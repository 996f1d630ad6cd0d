"""What the parameters of a method may be, and how they are written down."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .._checks import InputError, is_number, require_choice, require_integer, require_number

Check = Callable[[str, Any], None]
POSITIVE: Check = partial(require_number, above=0)
NOT_NEGATIVE: Check = partial(require_number, least=0)
COUNT: Check = partial(require_integer, least=0)
AT_LEAST_ONE: Check = partial(require_integer, least=1)


def one_of(*names: str) -> Check:
    """One of these names is allowed."""
    return partial(require_choice, allowed=names)


def require_pull(name: str, value: Any) -> None:
    """Refuse what is not a number > 0; infinity is allowed."""
    if not is_number(value) or not value > 0:
        raise InputError(
            name,
            "must be a number > 0",
            got=value,
            remedy="Use numpy.inf to keep known labels fixed.",
        )
