"""The columns that are added to a table: their names, and the answers in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np

from .._checks import InputError, InputTypeError, require_bool, require_choice
from .._text import arg
from .._typing import Array
from ..consensus import Consensus
from ..votes.labels import plain
from .engines import Frame

Rule = Literal["argmax", "mass"]


@dataclass(frozen=True)
class Output:
    """The label, the confidence and, on request, the probability of each class and the object's number."""

    table_columns: list[str]
    prefix: str
    proba: bool
    rule: Rule
    number: bool = False
    folded: bool = False  # columns whose names differ only in case are one
    folder: str | None = None  # for working files; None is that of the system

    @classmethod
    def of(
        cls,
        frame: Frame,
        prefix: str = "",
        proba: bool = False,
        rule: Rule = "argmax",
        number: bool = False,
    ) -> Self:
        """Check what was asked for."""
        if not isinstance(prefix, str):
            raise InputTypeError("prefix", "must be a str", came=type(prefix).__name__)
        require_bool("proba", proba)
        require_choice("rule", rule, ("argmax", "mass"))
        require_bool("number", number)
        folded = frame.implementation.is_duckdb() or frame.implementation.is_spark_like()
        output = cls(frame.collect_schema().names(), prefix, proba, rule, number, folded)
        output.require_new_names(np.empty(0))
        return output

    def types(self, classes: Array) -> dict[str, Any]:
        """Return the new columns by name, each with its type."""
        shares = [f"proba_{plain(label)}" for label in classes if self.proba]
        types = {"consensus": label_type(classes)} | dict.fromkeys(
            ["confidence", *shares], nw.Float64()
        )
        types |= {"number": nw.Int64()} if self.number else {}
        return {self.prefix + name: dtype for name, dtype in types.items()}

    def require_new_names(self, classes: Array) -> None:
        """Refuse to overwrite a column, and new columns that the engine cannot tell apart."""
        taken = {self._told_apart(name): name for name in self.table_columns}
        for name in self.types(classes):
            other = taken.get(self._told_apart(name))
            if other in self.table_columns:
                remedy = f"Rename it, or pass {arg('prefix', 'ec3_')}."
                added = "one" if other == name else repr(name)
                raise InputError(
                    "table",
                    f"must have no column {other!r}, because {added} is added",
                    remedy=remedy,
                )
            if other is not None:
                remedy = f"Rename a class, or leave out {arg('proba')}."
                raise InputError(
                    "proba",
                    phrase=f"The columns {other!r} and {name!r} would differ only in case",
                    remedy=remedy,
                )
            taken[self._told_apart(name)] = name

    def _told_apart(self, name: Any) -> Any:
        return name.casefold() if self.folded and isinstance(name, str) else name

    def require_sample(self, most: int) -> None:
        """Refuse what needs all distinct rows, where only a sample of them is solved."""
        if self.number:
            what, instead = "This", ""
        elif self.rule != "argmax":
            what, instead = arg("rule", self.rule), f", or take {arg('rule', 'argmax')}"
        else:
            return
        phrase = f"{what} needs all distinct rows at once, got more than {arg('max_rows', most)}"
        raise InputError("max_rows", phrase=phrase, remedy=f"Raise {arg('max_rows')}{instead}.")

    def columns(self, answer: Consensus, backend: Any) -> list[Any]:
        """Return the answers as columns of a library."""
        answers = [
            answer.labels(self.rule),
            answer.confidence,
            *(answer.proba.T if self.proba else ()),
        ]
        values = [
            column.tolist() if column.dtype == object else np.ascontiguousarray(column)
            for column in answers
        ]
        types = self.types(answer.classes).items()
        return [
            nw.new_series(name, column, dtype, backend=backend)
            for (name, dtype), column in zip(types, values, strict=False)  # the number comes later
        ]

    def numbers(self, n: int, backend: Any) -> list[Any]:
        """Return the column of numbers, if it was asked for."""
        return (
            [nw.new_series(f"{self.prefix}number", np.arange(n), nw.Int64(), backend=backend)]
            if self.number
            else []
        )

    def empty(self, classes: Array, backend: Any) -> list[Any]:
        """Return the columns without any answers."""
        return [
            nw.new_series(name, [], dtype, backend=backend)
            for name, dtype in self.types(classes).items()
        ]

    def append_to(self, keys: Frame, answer: Consensus) -> Frame:
        """Append the answers to the distinct rows they belong to."""
        columns = self.columns(answer, keys.implementation)
        return keys.with_columns(*columns, *self.numbers(len(keys), keys.implementation))


def label_type(classes: Array) -> Any:
    """Return the type of the column of labels: integers, bools or text."""
    return {"b": nw.Boolean(), "i": nw.Int64(), "u": nw.UInt64()}.get(
        classes.dtype.kind, nw.String()
    )
