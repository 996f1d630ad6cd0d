"""How numbers, and names from outside, are written in the report."""

from __future__ import annotations

import re
from typing import Any

SHOWN, HINTED = 48, 300  # characters of a name that are shown, and that its hint has
# What would break a line, hide, or turn the text after it around.
UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def shown(text: Any, most: int = SHOWN) -> str:
    r"""Return text from outside as it can be shown: on one line, no longer than `most`, and nothing in it that can't be seen.

    Examples
    --------
    >>> shown("two\nlines"), shown("x" * 10_000, 5), shown("")
    ('two⏎lines', 'xxxx…', '(empty)')
    """
    plain = UNSHOWN.sub(lambda found: "⏎" if found.group() in "\n\r" else "�", str(text)[: most + 1])
    plain = plain.encode("utf-8", "replace").decode()  # half of a pair of surrogates can't be written
    if not plain.strip():
        return "(blank)" if plain else "(empty)"
    return plain if len(plain) <= most else plain[: most - 1] + "…"


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
    return "–" if value is None else f"{value:.3f}"


def signed(value: float) -> str:
    """Return a number with its sign."""
    return f"{value:+.3f}".replace("-", "−")
