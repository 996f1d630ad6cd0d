"""Errors that are the user's, and checks of single arguments, in one wording.

Every such error is an `InputError`: one sentence that names the argument, what is allowed and what
came, and one with the remedy.

This module and its neighbours are loaded before anything else, so they leave numpy alone at first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from math import isfinite
from numbers import Integral, Real
from typing import Any

from ._text import clipped, printable

_NOTHING = object()


class InputError(ValueError):
    """What was passed is not allowed. The argument's name is an attribute, for programs.

    Parameters
    ----------
    argument : str
        The argument that is wrong.
    must : str
        What it must be: the sentence goes on from the argument's name.
    got : object
        What came; it is shown as Python writes it.
    came : str
        What came, in words, where its value alone says too little.
    remedy : str
        What to do about it, in whole sentences.
    phrase : str
        The first sentence as a whole, where "... must be ..., got ..." does not fit.

    Examples
    --------
    >>> InputError("alpha", "must be >= 0", got=-0.2, remedy="Leave it out to take the default.")
    InputError('alpha must be >= 0, got -0.2. Leave it out to take the default.')
    """

    def __init__(
        self,
        argument: str,
        must: str = "",
        *,
        got: Any = _NOTHING,
        came: str = "",
        remedy: str = "",
        phrase: str = "",
    ) -> None:
        super().__init__(argument)  # pickling calls the class with it, and restores the attributes
        self.argument, self.must, self.remedy, self.phrase = argument, must, remedy, phrase
        self.came = clipped(came if got is _NOTHING else repr(got), 300)

    def __str__(self) -> str:
        came = f", got {self.came}" if self.came else ""
        first = self.phrase or f"{self.argument} {self.must}{came}"
        return printable(clipped(f"{first}. {self.remedy}".rstrip(), 2_000))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class InputRowsError(InputError):
    """Some rows of a table, given in their order, hold what is not allowed.

    `tell` returns what came, and the remedy, of one of the rows, the name of its place, and how
    many rows there are.
    """

    def __init__(
        self,
        argument: str,
        must: str,
        rows: Sequence[int],
        tell: Callable[[int, str, int], tuple[str, str]],
    ) -> None:
        self.rows, self.tell = rows, tell
        came, remedy = tell(rows[0], f"row {rows[0]}", len(rows))
        super().__init__(argument, must, came=came, remedy=remedy)

    def among(self, counts: Sequence[int], first: Sequence[int] | None = None) -> InputError:
        """The error for distinct rows of a file: how often each occurs, and where first."""
        row, place = self.rows[0], "a distinct row"
        if first is not None:
            row = min(self.rows, key=lambda row: first[row])
            place = f"row {first[row]:,} of the file, counted from 0,"
        came, remedy = self.tell(row, place, sum(int(counts[row]) for row in self.rows))
        return InputError(self.argument, self.must, came=came, remedy=remedy)

    def __reduce__(self) -> Any:  # `tell` cannot be pickled
        plain = InputError(self.argument, self.must, came=self.came, remedy=self.remedy)
        return plain.__reduce__()


class InputTypeError(InputError, TypeError):
    """What was passed is of a kind that is not allowed."""


class InputIndexError(InputError, IndexError):
    """What was asked for is not there."""


class InputFileError(InputError, OSError):
    """A file that was named cannot be read or written."""


class InputFileNotFoundError(InputFileError, FileNotFoundError):
    """A file or folder that was named does not exist."""


class InputFileExistsError(InputFileError, FileExistsError):
    """A file that would be written exists already."""


class MissingExtraError(InputError, ModuleNotFoundError):
    """A library that is not installed is needed for this."""


def unknown_name(
    argument: str, name: Any, allowed: Iterable[str], hint: str = "", of: str = ""
) -> InputError:
    """An error for a name that is not among those allowed; it suggests the nearest."""
    names = list(allowed)
    near = get_close_matches(name, names, n=1) if isinstance(name, str) else []
    meant = f"Did you mean {near[0]!r}? " if near else ""
    remedy = f"{meant}Choose from: {', '.join(names) or 'none'}{f', {hint}' if hint else ''}."
    return InputError(argument, phrase=f"Unknown {argument} {name!r}{of}", got=name, remedy=remedy)


def require_library(what: str, library: str, extra: str | None = None) -> None:
    """Refuse what needs a library that is not installed, and say how to install it."""
    if find_spec(library) is None:
        wanted = library if extra is None else f"'ec3learn[{extra}]'"
        raise MissingExtraError(library, phrase=f"{what} needs {library}: pip install {wanted}")


# ---- checks of single arguments ------------------------------------------------------------------


def require_number(
    name: str, value: Any, *, least: float | None = None, above: float | None = None
) -> None:
    """Refuse what is not a finite number >= `least`, or > `above`."""
    bound = f">= {least}" if above is None else f"> {above}"
    enough = is_number(value) and (value >= (least or 0) if above is None else value > above)
    if not enough or not isfinite(value):
        raise InputError(name, f"must be a finite number {bound}", got=value)


def require_integer(name: str, value: Any, least: int) -> None:
    """Refuse what is not an integer >= `least`."""
    if not is_integer(value) or value < least:
        raise InputError(name, f"must be an integer >= {least}", got=value)


def require_choice(name: str, value: Any, allowed: Iterable[str]) -> None:
    """Refuse what is not among the names allowed."""
    if not isinstance(value, str) or value not in tuple(allowed):
        raise unknown_name(name, value, allowed)


def require_bool(name: str, value: Any) -> None:
    """Refuse what is not True or False."""
    if type(value).__name__ not in ("bool", "bool_"):  # Python's, and both of numpy's
        raise InputError(name, "must be True or False", got=value)


def require_kind(name: str, value: Any, kind: type, remedy: str) -> None:
    """Refuse what is of another class."""
    if not isinstance(value, kind):
        came = type(value).__name__
        raise InputTypeError(name, f"must be a {kind.__name__}", came=came, remedy=remedy)


def require_seed(name: str, value: Any) -> None:
    """Refuse what cannot seed numpy's random numbers."""
    if value is None:
        return
    from numpy.random import default_rng

    try:
        default_rng(value)
    except (TypeError, ValueError):
        raise InputError(
            name, "must be an integer >= 0, a numpy Generator or None", got=value
        ) from None


def is_number(value: Any) -> bool:
    """Whether the value is a number, infinity and NaN included."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    """Whether the value is an integer, and no bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)
