"""What the columns of a table hold: its distinct rows (or the objects of a long table) become `Votes`.

Content that cannot be votes, such as measurements or the names of objects, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from .._checks import InputError, InputRowsError
from .._text import arg
from ..consensus import Consensus
from ..votes import Votes
from ..votes.encoding import classes_of, labels_for_missing
from ..votes.labels import Label, plain
from ..votes.layout import frozen
from ..votes.reading import encode, named_columns
from .columns import LABELS, Column, Columns
from .engines import COUNT, FIRST, Frame, collect, exact

FEW_NUMBERS = 20  # so many classes may be text with fractional numbers in it
MANY_LABELS, MOSTLY = (
    100,
    0.5,
)  # a column with so many labels, and this share of them different, names objects


@dataclass(frozen=True)
class Content:
    """What a table holds: votes, and known and true labels of their objects."""

    votes: Votes
    known: Any
    truth: Any


def content_of(columns: Columns, distinct: Frame, long: Frame | None) -> Content:
    """Return what distinct rows hold; the votes on the objects of a long table are in its rows, `long`."""
    return _with_labels(_votes_of(columns, distinct, long), columns, distinct)


def _with_labels(votes: Votes, columns: Columns, distinct: Frame) -> Content:
    known = (
        _labels_of(columns.known, distinct)
        if columns.known_labels is None
        else columns.known_labels
    )
    known, truth = (None, known) if columns.unseen else (known, _labels_of(columns.truth, distinct))
    return Content(votes, known, truth)


def sorted_content(columns: Columns, distinct: Frame, long: Frame | None) -> tuple[Frame, Content]:
    """Return distinct rows and what they hold, in an order that does not depend on the engine's.

    Sums over rows then have the same last digits in every run.
    """
    if columns.objects is not None:
        distinct = distinct.sort(columns.objects)
        return distinct, content_of(columns, distinct, long)
    distinct = distinct if columns.known is None else distinct.sort(columns.known)
    votes = _votes_of(columns, distinct, long)
    soft = () if votes.stores.soft is None else votes.stores.soft.tables().values()
    keys = [*votes.stores.hard.values(), *(column for table in soft for column in table.T)]
    order = np.lexsort(keys if votes.index is None else [votes.index])
    distinct, votes = distinct[order], votes[order]
    return distinct, _with_labels(votes, columns, distinct)


def _votes_of(columns: Columns, distinct: Frame, long: Frame | None) -> Votes:
    if not len(distinct):
        raise InputError("table", "must have at least one row", came="none")
    _require_integers(columns, distinct, long)
    clusterings = {
        name: _values(distinct, column) for name, column in columns.clusterings.items()
    } or None
    given: dict[str, Any] = {
        "classes": columns.classes,
        "missing": columns.missing,
        "scale": columns.scale,
    }
    if columns.objects is not None:
        assert long is not None
        objects, voters, labels = (
            long.get_column(name).to_native()
            for name in (columns.objects, columns.voters, columns.labels)
        )
        given["object_ids"] = distinct.get_column(columns.objects).to_native()
        try:
            votes = Votes.from_long(
                objects, voters, labels, clusterings, repeats=columns.repeats, **given
            )
        except InputError as error:
            raise error.about("labels", "classifiers", f"in column {columns.labels!r}") from None
    else:
        classifiers = {
            name: _values(distinct, column) for name, column in columns.classifiers.items()
        }
        weight = distinct[COUNT].to_numpy() if COUNT in distinct.columns else None
        first = distinct[FIRST].to_numpy().astype(np.int64) if FIRST in distinct.columns else None
        try:
            votes = Votes.from_labels(classifiers, clusterings, sample_weight=weight, **given)
        except InputRowsError as error:
            raise (error if weight is None else error.among(weight, first)) from None
        votes = votes if first is None else replace(votes, object_ids=frozen(first))
    if columns.classes is None:
        times = {}  # how often each label occurs in each column of class labels
        for m, codes in votes.stores.hard.items():
            model = votes.models[m]
            if model.kind == "classifier" and model.name in columns.classifiers:
                times[model.name] = np.bincount(codes, votes.counts)[: model.n_groups]
        n_labels = {name: int(np.count_nonzero(own)) for name, own in times.items()}
        _require_few_classes(votes.n_classes, n_labels, columns.max_classes)
        _require_no_measurements(votes.classes)
        _require_no_names({name: (n_labels[name], float(own.sum())) for name, own in times.items()})
    return votes


def new_votes_of(
    columns: Columns, distinct: Frame, long: Frame | None, consensus: Consensus
) -> Votes:
    """Return votes for a consensus that exists: they may name other classes, or none at all."""
    soft = any(isinstance(column, dict) for column in columns.classifiers.values())
    labels = distinct if long is None or columns.objects is None else long
    no_votes = not soft and all(
        labels.get_column(column).is_null().all() for column in columns.classifiers.values()
    )
    classes = consensus.classes.tolist() if soft or no_votes or columns.scale is not None else None
    return _votes_of(only_scales_of(replace(columns, classes=classes), long), distinct, long)


def only_scales_of(columns: Columns, long: Frame | None) -> Columns:
    """Return the columns of a long table without the scales of voters who are not among these rows."""
    if columns.objects is None or long is None or not isinstance(columns.scale, Mapping):
        return columns
    here = set(map(str, long.get_column(columns.voters).unique().to_list()))
    return replace(
        columns,
        scale={name: scale for name, scale in columns.scale.items() if name in here} or None,
    )


def _labels_of(column: str | None, distinct: Frame) -> Any:
    """Return the labels in a column of distinct rows, or None if there are none."""
    if column is None or distinct.get_column(column).is_null().all():
        return None
    return nw.maybe_reset_index(
        distinct.get_column(column)
    ).to_native()  # pandas: an index would name objects


def find_classes(columns: Columns, frame: Frame) -> list[Label]:
    """Return the classes voted for anywhere in a table, which the engine finds."""
    if columns.classes is not None:
        return columns.classes
    encoded = []
    for name, column in columns.classifiers.items():
        found = exact(frame.select(column)).unique()
        found = collect(
            found if columns.max_classes is None else found.head(columns.max_classes + 2)
        )  # null is no class
        raw = named_columns({name: found.get_column(column).to_native()}, "classifiers", "")[name]
        encoded.append(encode(name, raw, "classifiers"))
    classes: list[Label] = classes_of(
        encoded, {}, None, labels_for_missing(columns.missing), "classifiers"
    ).tolist()
    _require_few_classes(
        len(classes), {column.name: len(column.seen) for column in encoded}, columns.max_classes
    )
    return classes


def one_row_per_object(columns: Columns, distinct: Frame) -> Frame:
    """Return the objects of a long table, each with the clusters and the known label that some of its rows have.

    An object with two clusters of one clustering, or with two known labels, is refused.
    """
    if columns.objects is None or not distinct.get_column(columns.objects).is_duplicated().any():
        return distinct
    counted = COUNT in distinct.columns
    if counted:
        objects = distinct.group_by(columns.objects, drop_null_keys=False).agg(nw.col(COUNT).sum())
    else:
        objects = distinct.select(columns.objects).unique(maintain_order=True)
    for name in columns.keys[1:]:
        stated = (
            distinct.select(columns.objects, name)
            .filter(~nw.col(name).is_null())
            .unique(maintain_order=True)
        )
        twice = stated.filter(nw.col(columns.objects).is_duplicated())
        if len(twice):
            phrase = f"Column {name!r} must hold one value for all rows of an object, or none in some of them"
            found = plain(twice.get_column(columns.objects)[0])
            argument = next(
                (argument for argument, column in columns.hard_columns if column == name),
                "clusterings",
            )
            raise InputError(argument, phrase=f"{phrase}, got two for object {found!r}")
        objects = objects.join(stated, on=columns.objects, how="left")
    return objects.select(*columns.keys, *([COUNT] if counted else ()))


def _values(distinct: Frame, column: Column) -> Any:
    """Return a column of labels as it is, and the shares of a soft model as a matrix."""
    if isinstance(column, dict):
        return np.column_stack(
            [_shares(distinct.get_column(name), name) for name in column.values()]
        )
    return distinct.get_column(column).to_native()


def _shares(column: Any, name: str) -> npt.NDArray[np.float64]:
    """Return a column of shares, which a CSV file has as text."""
    if column.dtype != nw.String:
        return column.cast(nw.Float64).to_numpy()
    shares = np.full(len(column), np.nan)
    for row, share in enumerate(column.to_list()):
        try:
            shares[row] = np.nan if share is None else float(share)
        except ValueError:
            phrase = f"A soft model must have numbers in column {name!r}, got {share!r}"
            raise InputError("classifiers", phrase=phrase) from None
    return shares


# ---- content that cannot be votes ----------------------------------------------------------------


def _require_integers(columns: Columns, distinct: Frame, long: Frame | None) -> None:
    """Refuse columns of labels with fractional numbers."""
    for argument, column in columns.hard_columns:
        frame = (
            long
            if long is not None and argument == "classifiers" and columns.objects is not None
            else distinct
        )
        if not frame.get_column(column).dtype.is_float():
            continue
        numbers = frame.get_column(column).to_numpy()
        broken = numbers[(np.floor(numbers) != numbers) & ~np.isnan(numbers)]
        if len(broken):
            raise InputError(
                argument,
                f"must hold {LABELS}",
                came=f"{plain(broken[0])!r} in column {column!r}",
                remedy=f"The columns of a soft model are passed as {arg(argument, {'name': {'class': column}})}.",
            )


def _require_few_classes(n_classes: int, n_labels: Mapping[str, int], most: int | None) -> None:
    if most is not None and n_classes > most:
        most_in = (
            f", most in {max(n_labels, key=lambda name: n_labels[name])!r}" if n_labels else ""
        )
        raise InputError(
            "classifiers",
            f"must hold at most {most:,} classes ({arg('max_classes')})",
            came=f"{n_classes:,}{most_in}",
            remedy=f"Leave out columns that are no votes, or raise {arg('max_classes')}.",
        )


def _require_no_measurements(classes: npt.NDArray[Any]) -> None:
    """Refuse text in which there are many fractional numbers."""
    if len(classes) <= FEW_NUMBERS or classes.dtype != object:
        return
    numbers = [label for label in classes if _is_number(label)]
    broken = [label for label in numbers if not float(label).is_integer()]
    if len(broken) > (FEW_NUMBERS if len(numbers) < len(classes) else 0):
        raise InputError(
            "classifiers",
            f"must hold {LABELS}",
            came=f"{len(numbers):,} different numbers such as {broken[0]!r}",
            remedy=f"Leave out columns of measurements or probabilities, or name the classes with {arg('classes', ...)}.",
        )


def _is_number(label: str) -> bool:
    try:
        return bool(np.isfinite(float(label)))
    except ValueError:
        return False


def _require_no_names(columns: Mapping[str, tuple[int, float]]) -> None:
    """Refuse a column, of which the numbers of labels and votes are given, in which hardly any label occurs twice."""
    for name, (n_labels, n_votes) in columns.items():
        if n_labels >= MANY_LABELS and n_labels > MOSTLY * n_votes:
            raise InputError(
                "classifiers",
                "must hold votes",
                came=f"{n_labels:,} different labels in {n_votes:,.0f} rows of column {name!r}, which seem to name objects",
                remedy=f"Leave it out, or name the classes with {arg('classes', ...)}.",
            )
