"""Labels of a file get their types, once its distinct rows are here.

Nothing is guessed that could change a label: text of a CSV file stays text, unless all labels of
its kind are integers as Python prints them, as ints or as floats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw

from ..votes.labels import Label, label_array
from ..votes.layout import Models
from .columns import Columns, hard
from .engines import Frame

INTEGER = "(0|-?[1-9][0-9]{0,17})"  # as Python prints it, below 64 bits
WHOLE = f"^{INTEGER}([.]0)?$"  # 1.0, as pandas prints it, is 1


def whole(text: str) -> Label:
    """The integer that a text is, or else the text."""
    return int(text.removesuffix(".0")) if re.match(WHOLE, text) else text


def with_types(
    columns: Columns, rows: Frame, long: Frame | None
) -> tuple[Columns, Frame, Frame | None]:
    """Give the labels of a file their types; those that mean no vote are null."""
    if columns.is_text is None:
        return columns, rows, long
    voted, clusters = hard(columns.classifiers), hard(columns.clusterings)
    labels = {*voted, *columns.stated, *clusters}
    frames = [_without(frame, labels, columns.missing or ()) for frame in (rows, long)]
    classes = [*_classes_in(columns), *columns.stated]
    frames = _with_integers(frames, classes, columns.is_text)
    for column in clusters:
        frames = _with_integers(frames, [column], columns.is_text)
    kinds = {kind for _, _, kind in _kinds(frames, classes)}
    typed = _typed_classes(columns.classes, kinds)
    return replace(columns, classes=typed, missing=None), frames[0], frames[1]


def _classes_in(columns: Columns) -> list[str]:
    """The columns of votes that name classes; the others have answers on a scale."""
    scale = columns.scale
    graded: Any = scale if isinstance(scale, Mapping) else columns.classifiers if scale else ()
    return hard({name: each for name, each in columns.classifiers.items() if name not in graded})


def _kinds(frames: list[Frame], group: list[str]) -> list[tuple[int, str, Any]]:
    """The columns of a group: in which frame they are, and their types."""
    return [
        (i, name, frame[name].dtype)
        for i, frame in enumerate(frames)
        for name in group
        if frame is not None and name in frame.columns
    ]


def _without(frame: Frame, labels: set[str], missing: Sequence[str]) -> Frame:
    """Make labels null that mean no vote; an integer may be written as a float."""
    gaps = {str(whole(label)) for label in missing}
    gaps |= {*missing, *(f"{label}.0" for label in gaps)}
    if frame is None or not gaps:
        return frame
    return frame.with_columns(
        nw.when(~nw.col(name).cast(nw.String).is_in(gaps)).then(nw.col(name)).alias(name)
        for name in labels & {*frame.columns}
    )


def _with_integers(frames: list[Frame], group: list[str], is_text: bool) -> list[Frame]:
    """Make text integers where all of it is, in a file without types or beside integers."""
    kinds = _kinds(frames, group)
    text = [(i, name) for i, name, kind in kinds if kind == nw.String]
    beside = is_text or len(text) < len(kinds)
    if not beside or not all(
        frames[i][name].drop_nulls().str.contains(WHOLE).all() for i, name in text
    ):
        return frames
    for i, name in text:
        frames[i] = frames[i].with_columns(frames[i][name].str.replace("[.]0$", "").cast(nw.Int64))
    return frames


def _typed_classes(classes: list[Label] | None, kinds: set[Any]) -> list[Label] | None:
    """Classes as labels of these types; without any, integers if all are."""
    if classes is None or nw.String in kinds:
        return classes
    if nw.Boolean in kinds:
        return [{"true": True, "false": False}.get(str(label).lower(), label) for label in classes]
    typed = [whole(str(label)) for label in classes]
    return typed if kinds or all(isinstance(label, int) for label in typed) else classes


def in_text(labelled: Any) -> dict[str, Any]:
    """The classes and base models of votes or of a solution, with all labels as text."""

    def written(labels: Any) -> Any:
        return label_array([str(label) for label in labels.tolist()])

    models = (replace(model, labels=written(model.labels)) for model in labelled.models)
    return {"classes": written(labelled.classes), "models": Models(models)}
