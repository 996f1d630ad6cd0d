"""The columns of a table become `Votes`: its distinct rows, or the objects of a long table.

A table in memory is taken as it is, because `Votes` finds its distinct rows. Of a lazy table the
engine counts the distinct rows, and only these come to this process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from .._checks import InputError, InputRowsError
from .._table import Table
from .._text import arg
from .._typing import Array
from ..algebra.membership import row_marks
from ..consensus import Consensus
from ..votes import Votes
from ..votes.labels import Label, cleaned, label_array, plain
from ..votes.layout import Models, frozen
from ..votes.reading import as_array
from ..votes.shares import normalised
from .columns import OURS, Column, Columns, Frame, hard, require_others

COUNT, FIRST = f"{OURS}count", f"{OURS}first"
INTEGER = "(0|-?[1-9][0-9]{0,17})"  # as Python prints it, below 64 bits
WHOLE = f"^{INTEGER}([.]0)?$"  # 1.0, as pandas prints it, is 1


@dataclass(frozen=True)
class Content:
    """The votes in a table, known and true labels of their objects, and the rows they stand for."""

    votes: Votes
    known: Any
    truth: Any
    rows: Frame


def content_of(frame: Frame, columns: Columns) -> Content:
    """Read a table."""
    rows, long = rows_of(frame, columns)
    if not len(rows):
        raise InputError("table", "must have at least one row", came="none")
    if columns.known is not None and isinstance(frame, nw.LazyFrame):
        rows = rows.sort(columns.known)
    columns, typed, long = with_types(columns, rows, long)
    votes = votes_of(columns, typed, long)
    if isinstance(frame, nw.LazyFrame) and columns.objects is None:
        marks = row_marks(votes)  # in their order, sums have the same last digits on every engine
        order = np.argsort(marks if votes.index is None else marks[votes.index], kind="stable")
        rows, typed, votes = rows[order], typed[order], votes[order]
    known = columns.known_labels
    if known is None:
        known = _labels_of(columns, "known", typed, votes.object_ids)
    truth = _labels_of(columns, "truth", typed, votes.object_ids)
    known, truth = (None, known) if columns.unseen else (known, truth)
    return Content(votes, known, truth, rows)


def new_content_of(frame: Frame, columns: Columns, consensus: Consensus) -> Content | None:
    """Read votes for a consensus, which may name other classes, or none; None: no rows."""
    rows, long = rows_of(frame, columns)
    if not len(rows):
        return None
    columns, typed, long = with_types(columns, rows, long)
    names = columns.classifiers
    labels = typed if long is None else long
    silent = all(labels.get_column(column).is_null().all() for column in hard(names))
    if columns.scale is None:
        voters = names if long is None else long.get_column(columns.voters).unique().to_list()
        graded = [str(name) for name in voters if not isinstance(names.get(name), dict)]
        columns = replace(columns, scale=_scales_in(consensus, graded))
    named = silent or len(hard(names)) < len(names) or columns.scale is not None
    columns = replace(columns, classes=consensus.classes.tolist() if named else None)
    return Content(votes_of(columns, typed, long), None, None, rows)


def _scales_in(consensus: Consensus, voters: Sequence[str]) -> Any:
    """The scales of these voters; one that all voters share is that of new voters, too."""
    models = [model for model in consensus.solution.models if model.is_voter]
    scales = {model.name: model.scale for model in models if model.scale is not None}
    is_shared = len(scales) == len(models) and len(set(scales.values())) == 1
    shared = next(iter(scales.values())) if is_shared else None
    scale_of = {name: scales.get(name, shared) for name in voters}
    return {name: scale for name, scale in scale_of.items() if scale is not None} or None


def rows_of(frame: Frame, columns: Columns) -> tuple[Frame, Frame | None]:
    """Bring the rows here, one per object or distinct row, and the votes of a long table."""
    if columns.objects is None:
        if isinstance(frame, nw.DataFrame):
            return frame, None
        return collect(count_rows(frame, columns.keys, columns.row_number)), None
    votes = frame.select(columns.objects, columns.voters, columns.labels)
    if columns.exclude:
        voter = nw.col(str(columns.voters)).cast(nw.String)
        names = votes.lazy().select(voter).unique().collect().get_column(str(columns.voters))
        require_others(columns.exclude, names.to_list())
        votes = votes.filter(~voter.is_in(columns.exclude))
    objects = frame.select(columns.keys)
    if isinstance(frame, nw.DataFrame):
        return _one_row_per_object(objects.unique(maintain_order=True), columns), votes
    rows = collect(objects.unique()).sort(columns.objects)
    return _one_row_per_object(rows, columns), collect(votes)


def _one_row_per_object(rows: Frame, columns: Columns) -> Frame:
    """Take the clusters and the known label of an object from those of its rows that have them."""
    assert columns.objects is not None
    if not rows.get_column(columns.objects).is_duplicated().any():
        return rows
    objects = rows.select(columns.objects).unique(maintain_order=True)
    for name in columns.keys[1:]:
        stated = rows.select(columns.objects, name).drop_nulls(name).unique(maintain_order=True)
        twice = stated.filter(nw.col(columns.objects).is_duplicated())
        if len(twice):
            argument = "known" if name == columns.known else "clusterings"
            phrase = (
                f"Column {name!r} must hold one value for all rows of an object, or none in some"
            )
            came = f"got two for object {plain(twice.get_column(columns.objects)[0])!r}"
            raise InputError(argument, phrase=f"{phrase}, {came}")
        objects = objects.join(stated, on=columns.objects, how="left")
    return objects


def votes_of(columns: Columns, rows: Frame, long: Frame | None) -> Votes:
    """Make `Votes` of distinct rows, counted as often as they occur, or of a long table."""
    if long is not None:
        rows = nw.maybe_reset_index(rows)
    clusterings = {
        name: _values(rows, column, columns.normalize)
        for name, column in columns.clusterings.items()
    } or None
    options: dict[str, Any] = {
        name: getattr(columns, name) for name in ("classes", "missing", "scale", "clean")
    }
    if long is not None:
        parts = {"objects": columns.objects, "voters": columns.voters, "labels": columns.labels}
        options |= {role: long.get_column(name).to_native() for role, name in parts.items()}
        options["object_ids"] = rows.get_column(columns.objects).to_native()
        return Votes.from_long(clusterings=clusterings, repeats=columns.repeats, **options)
    classifiers = {
        name: _values(rows, column, columns.normalize)
        for name, column in columns.classifiers.items()
    }
    weight, first = (
        rows[name].to_numpy() if name in rows.columns else None for name in (COUNT, FIRST)
    )
    if columns.id is not None:
        options["object_ids"] = rows.get_column(columns.id).to_native()
    try:
        votes = Votes.from_labels(classifiers, clusterings, sample_weight=weight, **options)
    except InputRowsError as error:
        wrong = error if weight is None else error.among(weight, first)
        wrong.remedy = wrong.remedy.replace("Divide", f"Pass {arg('normalize', True)} to divide")
        raise wrong from None
    return votes if first is None else replace(votes, object_ids=frozen(first.astype(np.int64)))


def _values(rows: Frame, column: Column, normalize: bool) -> Any:
    """A column of labels as it is, and the shares of a soft model as a matrix."""
    if not isinstance(column, dict):
        return rows.get_column(column).to_native()
    shares = np.column_stack(
        [rows.get_column(name).cast(nw.Float64).to_numpy() for name in column.values()]
    )
    return normalised(shares) if normalize else shares


def _labels_of(columns: Columns, argument: str, rows: Frame, names: Array | None) -> Any:
    """The labels in a column, with the chances of their objects; None if there are no labels."""
    column = getattr(columns, argument)
    if column is None or rows.get_column(column).is_null().all():
        return None
    labels = rows.get_column(column)
    if columns.clean:
        kind, backend = labels.dtype, labels.implementation
        labels = nw.new_series(column, [*map(cleaned, labels.to_list())], kind, backend=backend)
    if argument not in columns.chances:
        return as_array(labels.to_native(), argument)  # an index would name objects
    chances = rows.get_column(columns.chances[argument])
    table = Table({"object": [], "label": labels.to_list(), "chance": chances.to_list()})
    return labels_for(table, names)


def labels_for(labels: Any, names: Array | None, rows: Array | None = None) -> Any:
    """The same labels for objects with these names, or for objects in these rows."""
    if not isinstance(labels, Table):
        return labels if labels is None or rows is None else np.asarray(labels, dtype=object)[rows]
    order = range(len(labels["label"])) if rows is None else rows
    columns = {name: [labels[name][i] for i in order] for name in ("label", "chance")}
    columns["object"] = (
        list(range(len(order))) if names is None else [plain(name) for name in names]
    )
    return Table(columns)


# ---- distinct rows -------------------------------------------------------------------------------


def collect(frame: Frame) -> Frame:
    """Bring rows to this process; polars streams, which takes less memory."""
    how = {"engine": "streaming"} if frame.implementation.is_polars() else {}
    return nw.maybe_reset_index(frame.collect(**how))  # that of Dask repeats itself


def count_rows(frame: Frame, keys: list[str], row: str | None = None) -> Frame:
    """Count the distinct rows of the keys; if a column numbers the rows, find the first of each."""
    plain = {key_name(i): key for i, key in enumerate(keys)}  # some engines read dots in names
    chosen = {name: nw.col(key) for name, key in plain.items()}
    first = {} if row is None else {FIRST: nw.col(row)}
    return (
        frame.select(**chosen, **first)
        .group_by(list(plain), drop_null_keys=False)
        .agg(nw.len().alias(COUNT), *(nw.col(name).min() for name in first))
        .rename(plain)
    )


def key_name(number: int) -> str:
    """Name a key of the answers so that it differs from the columns of the table."""
    return f"{OURS}key{number}"


# ---- labels of files get their types -------------------------------------------------------------
# Nothing is guessed that could change a label: text of a CSV file stays text, unless all labels of
# its kind are integers as Python prints them, as ints or as floats.


def whole(text: str) -> Label:
    """The integer that a text is, or else the text."""
    return int(text.removesuffix(".0")) if re.match(WHOLE, text) else text


def without_fraction(sql: str) -> str:
    """The SQL of a text in which 1.0 is 1."""
    return rf"regexp_replace({sql}, '^{INTEGER}[.]0$', '\1')"


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
    classes, *labels = (
        label_array([str(label) for label in labels.tolist()])
        for labels in (labelled.classes, *(model.labels for model in labelled.models))
    )
    models = zip(labelled.models, labels, strict=True)
    return {"classes": classes, "models": Models(replace(m, labels=text) for m, text in models)}
