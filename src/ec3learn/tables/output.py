"""The columns that are added to a table: their names, and the answers in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np

from .._checks import InputError, InputTypeError, require_bool, require_choice
from .._text import arg
from .._typing import Array
from ..consensus import Consensus, changed
from ..votes.labels import plain
from .engines import Frame

Rule = Literal["argmax", "mass"]
LABEL_TYPES: dict[str, Any] = {"b": nw.Boolean(), "i": nw.Int64(), "u": nw.UInt64()}


@dataclass(frozen=True)
class Output:
    """The label and the confidence; on request the probabilities and the object's number."""

    table_columns: list[str]
    prefix: str
    proba: bool
    rule: Rule
    number: bool = False
    ignores_case: bool = False  # the engine takes names that differ only in case for one

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
        ignores_case = frame.implementation.is_duckdb() or frame.implementation.is_spark_like()
        return cls(list(frame.collect_schema().names()), prefix, proba, rule, number, ignores_case)

    def types(self, classes: Array) -> dict[str, Any]:
        """The new columns by name, each with its type."""
        large = classes.dtype == object and all(isinstance(label, int) for label in classes)
        label = LABEL_TYPES.get("u" if large else classes.dtype.kind, nw.String())
        shares = [f"proba_{plain(label)}" for label in classes if self.proba]
        types = {"consensus": label} | dict.fromkeys(["confidence", *shares], nw.Float64())
        types |= {"number": nw.Int64()} if self.number else {}
        return {self.prefix + name: dtype for name, dtype in types.items()}

    def require_new_names(self, classes: Array) -> None:
        """Refuse to overwrite a column, and new columns that the engine cannot tell apart."""
        taken = {self._folded(name): name for name in self.table_columns}
        for name in self.types(classes):
            other = taken.setdefault(self._folded(name), name)
            if other in self.table_columns:
                remedy = f"Rename it, or pass {arg('prefix', 'ec3_')}."
                must = f"must have no column {other!r}, because {name!r} is added"
                raise InputError("table", must, remedy=remedy)
            if other != name:
                phrase = f"The columns {other!r} and {name!r} would differ only in case"
                raise InputError(
                    "proba", phrase=phrase, remedy=f"Rename a class, or leave out {arg('proba')}."
                )

    def _folded(self, name: Any) -> Any:
        return name.casefold() if self.ignores_case and isinstance(name, str) else name

    def columns(self, answer: Consensus, backend: Any) -> list[Any]:
        """Write the answer for each object as columns of a library."""
        rows = changed(answer, index=None)  # distinct rows, which are fewer
        values = [rows.labels(self.rule), rows.confidence, *(rows.proba.T if self.proba else ())]
        types = list(self.types(answer.classes).items())
        columns = [
            nw.new_series(
                name,
                column.tolist() if column.dtype == object else np.ascontiguousarray(column),
                dtype,
                backend=backend,
            )
            for (name, dtype), column in zip(types, values, strict=False)  # the number is last
        ]
        if answer.solution.index is not None:
            columns = [column[answer.solution.index] for column in columns]
        if self.number:
            numbers = np.arange(answer.solution.n_objects)
            name, dtype = types[-1]
            columns.append(nw.new_series(name, numbers, dtype, backend=backend))
        return columns

    def empty(self, classes: Array, backend: Any) -> list[Any]:
        """The same columns without any rows."""
        return [
            nw.new_series(name, [], dtype, backend=backend)
            for name, dtype in self.types(classes).items()
        ]
