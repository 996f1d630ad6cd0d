"""How things are written: counts and lists, arguments in messages, names from outside, numbers, and small tables."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


def count(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, in the singular or the plural."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(labels: Any, most: int = 10) -> str:
    """Return labels as a short list for a message."""
    shown = [clipped(repr(label.item() if hasattr(label, "item") else label)) for label in labels[:most]]
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
    return ", ".join(map(clipped, names[:most])) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def first_line(error: Exception) -> str:
    """Return the first line of what another library's error says, for the middle of a sentence."""
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


# ---- arguments in messages -------------------------------------------------------------------------------------------

Spelling = Callable[[str, str | None], str]  # an argument and a value for it, as the reader would write them
_BEGIN, _BETWEEN, _END = "\ue000", "\ue001", "\ue002"  # around an argument: of Unicode's private use, so in no one's text


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


# ---- names from outside, and numbers ---------------------------------------------------------------------------------

SHOWN, HINTED = 48, 300  # characters of a name that are shown, and that its hint has
# What would break a line, hide, or turn the text after it around.
UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def printable(text: str, lines: bool = False) -> str:
    r"""Return text with nothing in it that a terminal would obey, that hides, or that turns other text around.

    Line ends are kept if there may be several `lines`.

    Examples
    --------
    >>> printable("\x1b[31mred\nblue"), printable("two\nlines", lines=True)
    ('�[31mred⏎blue', 'two\nlines')
    """
    plain = UNSHOWN.sub(lambda found: found.group() if lines and found.group() == "\n" else _instead(found.group()), text)
    return plain.encode("utf-8", "replace").decode()  # half of a pair of surrogates can't be written


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


# ---- small tables ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Table:
    """Columns of equal length by name. Columns without any value are not shown.

    Examples
    --------
    >>> table = Table({"model": ["svm", "knn"], "weight": [1.25, None]})
    >>> table
    model  weight
    svm     1.250
    knn
    >>> table["weight"][0], list(table.rows())[1]
    (1.25, {'model': 'knn', 'weight': None})
    """

    columns: Mapping[str, Sequence[Any]]

    @classmethod
    def of(cls, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
        """Return the table that has these rows."""
        return cls({head: [row[place] for row in rows] for place, head in enumerate(heads)})

    def __getitem__(self, name: str) -> Sequence[Any]:
        if name not in self.columns:
            raise KeyError(f"Unknown column {name!r}. Choose from: {', '.join(self.columns)}.")
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def select(self, *names: str) -> Table:
        """Return the table with some of its columns, in this order."""
        return Table({name: self[name] for name in names})

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return the rows as dicts."""
        return (dict(zip(self.columns, values, strict=True)) for values in zip(*self.columns.values(), strict=True))

    def to_frame(self, backend: Any = "pandas") -> Any:
        """Return the table as a dataframe.

        Parameters
        ----------
        backend : str
            Any dataframe library narwhals can make a table with: "pandas", "polars", "pyarrow", ...
        """
        import narwhals.stable.v2 as nw

        try:
            return nw.from_dict({name: list(values) for name, values in self.columns.items()}, backend=backend).to_native()
        except ModuleNotFoundError:
            raise ModuleNotFoundError(f"A {backend} table needs {backend}: pip install {backend}.") from None
        except ValueError as error:  # several sentences in several lines
            if "backend" not in str(error):
                raise
            raise ValueError(f"backend must be 'pandas', 'polars', 'pyarrow' or the like, got {backend!r}.") from None

    @property
    def _shown(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns that have a value, or all where there are no rows."""
        return {name: own for name, own in self.columns.items() if not len(own) or any(value is not None for value in own)}

    def __repr__(self) -> str:
        texts = {name: [_text(value) for value in values] for name, values in self._shown.items()}
        heads = {name: clipped(name) for name in texts}
        widths = {name: max(map(len, [heads[name], *column])) for name, column in texts.items()}
        right = {name: any(isinstance(value, (int, float)) for value in values) for name, values in self.columns.items()}

        def line(cells: Mapping[str, str]) -> str:
            return "  ".join(c.rjust(widths[n]) if right[n] else c.ljust(widths[n]) for n, c in cells.items()).rstrip()

        return "\n".join([line(heads), *(line({n: texts[n][i] for n in texts}) for i in range(len(self)))])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{escape(printable(name))}</th>" for name in self._shown)
        rows = ("".join(f"<td>{escape(_text(value))}</td>" for value in row.values()) for row in Table(self._shown).rows())
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


def first_rows(table: Table, what: str, most: int = 20) -> str:
    """Return the first rows of a table as text, and how many more there are.

    Examples
    --------
    >>> print(first_rows(Table({"model": ["svm", "knn", "tree"]}), "models", 1))
    model
    svm
    ... and 2 more models
    """
    rest = len(table) - most
    first = Table({name: list(values)[:most] for name, values in table.columns.items()})
    return str(first) if rest <= 0 else f"{first}\n... and {rest:,} more {what}"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):  # one vote of thousands is little, not nothing
        return f"{value:.6f}".rstrip("0") if 1e-6 <= abs(value) < 5e-4 else f"{value:.3f}"
    return printable(clipped(str(value)))
