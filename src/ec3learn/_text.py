"""How things are written: counts, lists, arguments in messages, names from outside, numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any


def count(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun, in the singular or the plural."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(labels: Any, most: int = 10) -> str:
    """Labels as a short list for a message."""
    shown = [
        clipped(repr(label.item() if hasattr(label, "item") else label)) for label in labels[:most]
    ]
    return "[" + ", ".join([*shown, "..."] if len(labels) > most else shown) + "]"


def clipped(text: str, most: int = 200) -> str:
    """The text, cut off with an ellipsis where it is longer than `most`.

    Examples
    --------
    >>> clipped("x" * 10_000, 5), clipped("short", 5)
    ('xxxx…', 'short')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def some(names: Sequence[str], most: int = 10) -> str:
    """The first of several names, and how many more there are."""
    return ", ".join(map(clipped, names[:most])) + (
        f" and {len(names) - most:,} more" if len(names) > most else ""
    )


def first_line(error: Exception) -> str:
    """The first line of another library's error, for the middle of a sentence."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def arg(name: str, value: Any = None) -> str:
    """An argument in a message, or an argument with a value; `...` stands for a list.

    Examples
    --------
    >>> arg("known"), arg("weights", "equal"), arg("classes", ...)
    ('known', "weights='equal'", 'classes=[...]')
    """
    if value is None:
        return name
    return f"{name}={'[...]' if value is ... else repr(value)}"


# ---- names from outside, and numbers -------------------------------------------------------------

# What would break a line, hide, or turn the text after it around.
UNSHOWN = re.compile(
    "[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def printable(text: str, lines: bool = False) -> str:
    r"""The text without control characters and invisible signs; line ends stay if `lines` is set.

    Examples
    --------
    >>> printable("\x1b[31mred\nblue"), printable("two\nlines", lines=True)
    ('�[31mred⏎blue', 'two\nlines')
    """
    text = re.sub("\r" if lines else "[\n\r]", "⏎", text)
    return UNSHOWN.sub("�", text).encode("utf-8", "replace").decode()  # lone surrogates become ?


def shown(text: Any, most: int = 48) -> str:
    r"""Text from outside as it can be shown: printable, on one line, no longer than `most`.

    Examples
    --------
    >>> shown("two\nlines"), shown("x" * 10_000, 5), shown("")
    ('two⏎lines', 'xxxx…', '(empty)')
    """
    plain = printable(str(text)[: most + 1])
    if not plain.strip():
        return "(blank)" if plain else "(empty)"
    return clipped(plain, most)


def isolated(text: Any) -> str:
    """Text from outside for the middle of a sentence; isolates bidirectional text."""
    return f"\u2068{shown(text)}\u2069"


def percent(share: float | None) -> str:
    """A share in percent; a little is not rounded to nothing, nor nearly all to all.

    Examples
    --------
    >>> percent(0.1234), percent(0.00001), percent(0.99999), percent(None)
    ('12.3 %', '< 0.1 %', '> 99.9 %', '–')
    """
    if share is None:
        return "–"
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if 0.9995 <= share < 1 - 1e-12 else f"{100 * share:.1f} %"


def number(value: float | None) -> str:
    """A number with three decimals, or a dash for none."""
    return "–" if value is None else f"{value:.3f}".replace("-", "−")


def signed(value: float) -> str:
    """A number with its sign and three decimals."""
    return f"{value:+.3f}".replace("-", "−")


def number_text(number: float) -> str:
    """A whole number without decimals, any other with two."""
    return str(round(number)) if abs(number - round(number)) < 1e-6 else f"{number:.2f}"
