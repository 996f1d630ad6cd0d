"""A table in parts that are combined for themselves: the values of a column, or the labels of sets.

Where an answer may have several labels, each of them is a question with the answers yes and no.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from .._checks import InputError
from .._text import arg
from ..consensus import Consensus
from ..methods import Method
from ..votes.encoding import name_codes
from ..votes.labels import cleaned, label_array, plain
from ..votes.reading import single_column
from .columns import OURS, Columns, Frame, Naming, hard, names_in, only_for, require_column
from .content import collect
from .pipeline import Answered, Output, combine_frame

PLACE = f"{OURS}place"  # a column that numbers the rows of a table in memory
SET = f"{OURS}set_"  # before the answers for one label
YES, NO = "yes", "no"


def combine_parts(
    frame: Frame,
    naming: Naming,
    method: Method,
    output: Output,
    max_rows: int,
    by: str | None,
    separator: str | None,
    per_object: bool,
) -> tuple[Any, dict[Any, Consensus]]:
    """Combine the rows of each value of a column, or the answers to each label."""
    if separator is not None and (by is not None or not separator):
        must = (
            "must be a text such as ';'" if by is None else f"must be left out beside {arg('by')}"
        )
        raise InputError("separator", must, got=separator)
    if by is not None:
        parts, inner = _parts_by(frame, by), output
    else:
        parts = _parts_of_sets(frame, naming.find(frame), str(separator))
        output.require_new_names(frame, label_array(list(parts)))
        naming, inner = replace(naming, classes=[NO, YES]), replace(output, prefix=SET, proba=True)
    answered = {
        name: combine_frame(part, naming.find(part), method, inner, max_rows)
        for name, part in parts.items()
    }
    found = {name: part.consensus for name, part in answered.items()}
    if by is not None:
        return _together_by(frame, by, answered, per_object), found
    return _together_as_sets(frame, answered, output, str(separator), per_object), found


# ---- the values of a column ----------------------------------------------------------------------


def _parts_by(frame: Frame, by: str) -> dict[Any, Frame]:
    """The rows of each value of a column, without this column; numbered in memory."""
    require_column(by, names_in(frame), "by")
    rows, values = frame, frame.select(by)
    if isinstance(frame, nw.LazyFrame):
        values = collect(values.unique())
    else:
        rows = frame.with_row_index(PLACE)
    _, names = name_codes(single_column(values.get_column(by).to_native(), "by"), "by")
    return {name: rows.filter(nw.col(by) == name).drop(by) for name in map(plain, names)}


def _together_by(frame: Frame, by: str, parts: dict[Any, Answered], per_object: bool) -> Any:
    """The answers for all parts: in the order of a table in memory, or part after part."""
    tables = {value: part.per_object if per_object else part.table for value, part in parts.items()}
    named = [nw.from_native(table).with_columns(nw.lit(v).alias(by)) for v, table in tables.items()]
    together = nw.concat(named, how="diagonal")
    if per_object:
        return nw.maybe_reset_index(together).to_native()
    columns = together.collect_schema().names()
    added = [name for name in columns if name not in (PLACE, *frame.collect_schema().names())]
    if isinstance(frame, nw.LazyFrame):
        return together.select(*frame.collect_schema().names(), *added).to_native()
    together = nw.maybe_reset_index(together).sort(PLACE)
    return frame.with_columns(*(together.get_column(name) for name in added)).to_native()


# ---- the labels of sets --------------------------------------------------------------------------


def _parts_of_sets(frame: Frame, columns: Columns, separator: str) -> dict[str, Frame]:
    """The table for each label, where an answer is yes if it has this label."""
    only_for("a table in memory", isinstance(frame, nw.DataFrame), "separator", separator)
    answers = {
        name: [_labels_in(answer, separator, columns.clean) for answer in frame[name].to_list()]
        for name in [*hard(columns.classifiers), *columns.stated]
    }
    labels = {label for column in answers.values() for answer in column for label in answer or ()}
    labels |= {str(label) for label in columns.classes or ()}
    if not labels:
        raise InputError("classifiers", "must hold at least one label", came="none")
    return {
        label: frame.with_columns(
            nw.new_series(
                name,
                [each if each is None else YES if label in each else NO for each in column],
                nw.String(),
                backend=frame.implementation,
            )
            for name, column in answers.items()
        )
        for label in sorted(labels)
    }


def _labels_in(answer: Any, separator: str, clean: bool) -> set[str] | None:
    """The labels in an answer, perhaps none of them; None for no answer."""
    if answer is None or isinstance(answer, float):  # NaN
        return None
    parts = answer.split(separator) if isinstance(answer, str) else answer
    labels = {str(part).strip() for part in parts} - {""}
    return {str(cleaned(label)) for label in labels} if clean else labels


def _together_as_sets(
    frame: Frame, parts: dict[str, Answered], output: Output, separator: str, per_object: bool
) -> Any:
    """One row per row or object, with all labels that it has; as sure as the least sure of them."""
    tables = [
        nw.from_native(part.per_object if per_object else part.table) for part in parts.values()
    ]
    every = {
        name.removeprefix(SET): [table[name].to_list() for table in tables]
        for name in tables[0].columns
        if name.startswith(SET)
    }
    values = [
        [
            separator.join(label for label, said in zip(parts, row, strict=True) if said == YES)
            for row in zip(*every["consensus"], strict=True)
        ],
        np.min(every["confidence"], axis=0),
        *(every[f"proba_{YES}"] if output.proba else ()),
        *([every["n_votes"][0], *every[f"votes_{YES}"]] if output.counts else ()),
    ]
    rows = frame
    if per_object:
        rows = tables[0].select(next(iter(parts.values())).columns.join_keys)
    added = output.types(label_array(list(parts))).items()
    return rows.with_columns(
        nw.new_series(name, column, kind, backend=frame.implementation)
        for (name, kind), column in zip(added, values, strict=True)
    ).to_native()
