"""A small table to look at: columns by name, printed as text or HTML, turned into any dataframe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True, repr=False)
class Table:
    """Columns of equal length by name.

    Examples
    --------
    >>> table = Table({"model": ["svm", "knn"], "weight": [1.25, None]})
    >>> table
    model  weight
    svm     1.250
    knn
    >>> table["weight"][0], len(table)
    (1.25, 2)
    """

    columns: Mapping[str, Sequence[Any]]

    def __getitem__(self, name: str) -> Sequence[Any]:
        if name not in self.columns:
            raise KeyError(f"Unknown column {name!r}. Choose from: {', '.join(self.columns)}.")
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return the rows as dicts.

        Examples
        --------
        >>> from ec3learn import Table
        >>> list(Table({"model": ["svm", "knn"], "weight": [1.25, 0.75]}).rows())
        [{'model': 'svm', 'weight': 1.25}, {'model': 'knn', 'weight': 0.75}]
        """
        return (dict(zip(self.columns, values, strict=True)) for values in zip(*self.columns.values(), strict=True))

    def to_frame(self, backend: Any = "pandas") -> Any:
        """Return the table as a dataframe.

        Parameters
        ----------
        backend : str
            Any dataframe library narwhals can make a table with: "pandas", "polars", "pyarrow", ...

        Returns
        -------
        dataframe of that library

        Examples
        --------
        >>> Table({"model": ["svm", "knn"], "weight": [1.25, 0.75]}).to_frame("pandas")["weight"].sum().item()
        2.0
        """
        import narwhals.stable.v2 as nw

        try:
            return nw.from_dict({name: list(values) for name, values in self.columns.items()}, backend=backend).to_native()
        except ModuleNotFoundError:
            raise ModuleNotFoundError(f"A {backend} table needs {backend}: pip install {backend}.") from None

    def __repr__(self) -> str:
        texts = {name: [_text(value) for value in values] for name, values in self.columns.items()}
        widths = {name: max(map(len, [name, *column])) for name, column in texts.items()}
        right = {name: any(isinstance(value, (int, float)) for value in values) for name, values in self.columns.items()}

        def line(cells: Mapping[str, str]) -> str:
            return "  ".join(c.rjust(widths[n]) if right[n] else c.ljust(widths[n]) for n, c in cells.items()).rstrip()

        heads = {name: name for name in self.columns}
        return "\n".join([line(heads), *(line({n: texts[n][i] for n in texts}) for i in range(len(self)))])

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        rows = ("".join(f"<td>{escape(_text(value))}</td>" for value in row.values()) for row in self.rows())
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
