"""Small tables, shown as text or HTML, that become dataframes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ._checks import InputError
from ._text import clipped, printable


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
    note: str = ""  # a sentence that is shown below

    @classmethod
    def of(cls, heads: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "") -> Table:
        """The table that has these rows."""
        columns = {head: [row[place] for row in rows] for place, head in enumerate(heads)}
        return cls(columns, note)

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def select(self, *names: str) -> Table:
        """The table with these columns, in this order."""
        return Table({name: self[name] for name in names}, self.note)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, each a dict of column name -> value."""
        return (
            dict(zip(self.columns, values, strict=True))
            for values in zip(*self.columns.values(), strict=True)
        )

    def to_frame(self, backend: Any = "pandas") -> Any:
        """The table as a dataframe.

        Parameters
        ----------
        backend : str
            Any dataframe library narwhals can make a table with: "pandas", "polars", "pyarrow", ...
        """
        import narwhals.stable.v2 as nw

        try:
            return nw.from_dict(
                {name: list(values) for name, values in self.columns.items()}, backend=backend
            ).to_native()
        except (ModuleNotFoundError, ValueError) as error:
            must = "must be 'pandas', 'polars', 'pyarrow' or the like, and installed"
            raise InputError("backend", must, got=backend) from error

    @property
    def _shown(self) -> Mapping[str, Sequence[Any]]:
        """The columns that have a value, or all where there are no rows."""
        return {
            name: values
            for name, values in self.columns.items()
            if not len(values) or any(value is not None for value in values)
        }

    def __repr__(self) -> str:
        texts = {name: [_text(value) for value in values] for name, values in self._shown.items()}
        heads = {name: clipped(name) for name in texts}
        widths = {name: max(map(len, [heads[name], *column])) for name, column in texts.items()}
        right = {
            name: any(isinstance(value, (int, float)) for value in values)
            for name, values in self.columns.items()
        }

        def line(cells: Mapping[str, str]) -> str:
            return "  ".join(
                c.rjust(widths[n]) if right[n] else c.ljust(widths[n]) for n, c in cells.items()
            ).rstrip()

        rows = (line({n: texts[n][i] for n in texts}) for i in range(len(self)))
        return "\n".join([line(heads), *rows, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        def line(tag: str, cells: Iterable[str]) -> str:
            return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

        heads = line("th", map(printable, self._shown))
        rows = (line("td", map(_text, row.values())) for row in Table(self._shown).rows())
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return f"<table><thead>{heads}</thead><tbody>{''.join(rows)}</tbody></table>{note}"


def first_rows(table: Table, what: str, most: int = 20) -> str:
    """The first rows of a table as text, and how many more there are.

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
