"""How things are written: counts and lists, arguments in messages, names from outside, and numbers."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Sequence
from typing import Any


def count(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, in the singular or the plural."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(labels: Any, most: int = 10) -> str:
    """Return labels as a short list for a message."""
    shown = [
        clipped(repr(label.item() if hasattr(label, "item") else label)) for label in labels[:most]
    ]
    return "[" + ", ".join([*shown, "..."] if len(labels) > most else shown) + "]"


def clipped(text: str, most: int = 200) -> str:
    """Return text no longer than `most`: what follows is cut off, and marked so.

    Examples
    --------
    >>> clipped("x" * 10_000, 5), clipped("short", 5)
    ('xxxx…', 'short')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def some(names: Sequence[str], most: int = 10) -> str:
    """Return the first of some names, and how many more there are."""
    return ", ".join(map(clipped, names[:most])) + (
        f" and {len(names) - most:,} more" if len(names) > most else ""
    )


def first_line(error: Exception) -> str:
    """Return the first line of what another library's error says, for the middle of a sentence."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


# ---- arguments in messages -----------------------------------------------------------------------

Spelling = Callable[
    [str, str | None], str
]  # an argument and a value for it, as the reader would write them
_BEGIN, _BETWEEN, _END = (
    "\ue000",
    "\ue001",
    "\ue002",
)  # around an argument: of Unicode's private use, so in no one's text


def arg(name: str, value: Any = None) -> str:
    """Mention an argument (and a value for it, `...` for a list) in a message; `spell` writes it as the reader knows it."""
    return f"{_BEGIN}{name}{'' if value is None else _BETWEEN + repr(value)}{_END}"


def spell(text: str, spelling: Spelling | None = None) -> str:
    """Return a message with the arguments that `arg` has marked, spelled as in Python or as `spelling` writes them.

    Examples
    --------
    >>> spell(f"Pass {arg('known')}, or take {arg('weights', 'equal')} and {arg('max_rows', 100)}.")
    "Pass known, or take weights='equal' and max_rows=100."
    """
    first, *rest = text.split(_BEGIN)
    parts = [first]
    for part in rest:
        mentioned, _, after = part.partition(_END)
        name, given, value = mentioned.partition(_BETWEEN)
        value = "[...]" if value == "Ellipsis" else value
        if spelling is None:
            parts += [f"{name}={value}" if given else name, after]
        else:
            parts += [spelling(name, _unquoted(value) if given else None), after]
    return "".join(parts)


def _unquoted(value: str) -> str:
    return str(literal_eval(value)) if value[0] in "'\"" else value


# ---- names from outside, and numbers -------------------------------------------------------------

SHOWN, HINTED = 48, 300  # characters of a name that are shown, and that its hint has
# What would break a line, hide, or turn the text after it around.
UNSHOWN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def printable(text: str, lines: bool = False) -> str:
    r"""Return text with nothing in it that a terminal would obey, that hides, or that turns other text around.

    Line ends are kept if there may be several `lines`.

    Examples
    --------
    >>> printable("\x1b[31mred\nblue"), printable("two\nlines", lines=True)
    ('�[31mred⏎blue', 'two\nlines')
    """
    plain = UNSHOWN.sub(
        lambda found: found.group() if lines and found.group() == "\n" else _instead(found.group()),
        text,
    )
    return plain.encode(
        "utf-8", "replace"
    ).decode()  # half of a pair of surrogates can't be written


def _instead(sign: str) -> str:
    return "⏎" if sign in "\n\r" else "�"


def shown(text: Any, most: int = SHOWN) -> str:
    r"""Return text from outside as it can be shown: on one line, no longer than `most`, and nothing in it that can't be seen.

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
    """Return text from outside for the middle of a sentence, whose direction of writing it does not turn."""
    return f"\u2068{shown(text)}\u2069"


def percent(share: float | None) -> str:
    """Return a share as a percentage that does not round a little to nothing, or nearly all to all.

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
    """Return a number with three decimals; a dash for none."""
    return "–" if value is None else f"{value:.3f}".replace("-", "−")


def signed(value: float) -> str:
    """Return a number with its sign."""
    return f"{value:+.3f}".replace("-", "−")


def number_text(number: float) -> str:
    """Return a whole number as one, any other with two decimals."""
    return str(round(number)) if abs(number - round(number)) < 1e-6 else f"{number:.2f}"
