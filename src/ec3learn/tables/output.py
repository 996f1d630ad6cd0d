"""The columns that are added to a table: their names, and the answers in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from .._checks import require_bool, require_choice
from ..consensus import Consensus
from ..votes.labels import Label, plain

Array = npt.NDArray[Any]
Frame = Any  # a DataFrame or LazyFrame of narwhals
Rule = Literal["argmax", "mass"]


@dataclass(frozen=True)
class Output:
    """The label, the confidence and, on request, the probability of each class; the table must not have them already."""

    table_columns: list[str]
    prefix: str
    proba: bool
    rule: Rule
    number: bool = False  # add the number of each row's object, too

    @classmethod
    def of(cls, frame: Frame, prefix: str, proba: bool, rule: Rule = "argmax", number: bool = False) -> Self:
        """Check what was asked for."""
        if not isinstance(prefix, str):
            raise TypeError(f"prefix must be a str, got {type(prefix).__name__}.")
        require_bool("proba", proba)
        require_choice("rule", rule, ("argmax", "mass"))
        require_bool("number", number)
        output = cls(frame.collect_schema().names(), prefix, proba, rule, number)
        output.require_free(())
        return output

    def names(self, classes: Sequence[Label] | Array) -> list[str]:
        """Return the names of the new columns."""
        names = ["consensus", "confidence", *(f"proba_{plain(label)}" for label in classes if self.proba)]
        return [self.prefix + name for name in (*names, *(["number"] if self.number else ()))]

    def require_free(self, classes: Sequence[Label] | Array) -> None:
        """Refuse to overwrite a column."""
        for name in self.names(classes):
            if name in self.table_columns:
                raise ValueError(f"table must have no column {name!r}, because one is added. Rename it, or pass prefix='ec3_'.")

    def require_sample(self, most: int) -> None:
        """Refuse what needs all rows at once."""
        if self.rule != "argmax" or self.number:
            what, instead = ("number", "leave it out") if self.number else (f"rule={self.rule!r}", "take rule='argmax'")
            raise ValueError(
                f"{what} needs all distinct rows at once, got more than max_patterns={most:,}. Raise max_patterns, or {instead}."
            )

    def columns(self, answer: Consensus, backend: Any) -> list[Any]:
        """Return the answers as columns of a library."""
        values = [answer.labels(self.rule), answer.confidence, *(answer.proba.T if self.proba else ())]
        types = [label_type(answer.classes), *[nw.Float64()] * (len(values) - 1)]
        return [
            nw.new_series(
                name, column.tolist() if column.dtype == object else np.ascontiguousarray(column), dtype, backend=backend
            )
            for name, column, dtype in zip(self.names(answer.classes), values, types, strict=False)  # the number comes later
        ]

    def numbers(self, n: int, backend: Any) -> list[Any]:
        """Return the column of numbers, if it was asked for."""
        return [nw.new_series(f"{self.prefix}number", np.arange(n), nw.Int64(), backend=backend)] if self.number else []

    def empty(self, classes: Array, backend: Any) -> list[Any]:
        """Return the columns without any answers."""
        types = [label_type(classes), *[nw.Float64()] * (len(self.names(classes)) - 1)]
        return [nw.new_series(name, [], dtype, backend=backend) for name, dtype in zip(self.names(classes), types, strict=True)]

    def beside(self, keys: Frame, answer: Consensus) -> Frame:
        """Return the answers beside the keys they belong to."""
        columns = self.columns(answer, keys.implementation)
        return keys.with_columns(*columns, *self.numbers(len(keys), keys.implementation))


def label_type(classes: Array) -> Any:
    """Return the type of the column of labels: whole numbers, bools or text."""
    return {"b": nw.Boolean(), "i": nw.Int64(), "u": nw.UInt64()}.get(classes.dtype.kind, nw.String())
