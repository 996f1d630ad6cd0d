"""combine and extend for files: a file is opened as a table of DuckDB, and goes through the same pipeline as any other table.

Labels may be in a file of their own: each object finds its label by name, as if the table had a
column of them.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from ..._checks import InputError
from ..._text import arg, count, listed
from ...consensus import Consensus, changed
from ...methods import Method
from ...votes import spread_over
from ...votes.labels import label_array
from ..columns import Columns, Naming
from ..content import Content
from ..engines import OURS, quoted
from ..output import Output, Rule
from ..pipeline import MOST_ROWS, Answered, combine_frame, content_of_frame, extend_frame
from .formats import COMPRESSIONS, FORMATS, STANDARD, Format, format_of_content
from .reading import read
from .table import MEMORY, ROW, FileTable, text, value_of, without_fraction, workspace
from .writing import write, write_rows

NOISE = "-1"
UNWRITTEN = f"{OURS}answer_"  # a prefix for columns that are asked for but not written
ENDINGS = {ending for endings in FORMATS.values() for ending in endings} | set(
    COMPRESSIONS.values()
)
TYPES = {"VARCHAR": pa.string(), "BOOLEAN": pa.bool_(), "BIGINT": pa.int64()}


@contextmanager
def open_file(
    path: str,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    memory: str = MEMORY,
    beside: str | None = None,
    bar: bool = False,
) -> Iterator[FileTable]:
    """Open a file (or standard input, "-") as a table, as long as this lasts, with temporary files beside the output."""
    if path == STANDARD and format is None and hasattr(sys.stdin.buffer, "peek"):
        format = "csv" if delimiter is not None else format_of_content(sys.stdin.buffer.peek())
    kind = Format.of(path, format, delimiter)
    if sheet is not None and kind.name != "excel":
        raise InputError(
            "sheet",
            "must be left out unless the file is a spreadsheet",
            came=f"{sheet!r} for {kind.name}",
        )
    try:
        with workspace(beside, memory, bar=bar) as work, work.told_if_full(duckdb.Error):
            yield read(work, path, kind, encoding, sheet)
    except duckdb.OutOfMemoryException:
        raise InputError("memory", "must be larger for this table", got=memory) from None


@dataclass(frozen=True, kw_only=True)
class AnsweredFile(Answered):
    """A file and its answers; the objects of the consensus are distinct rows (named by the first) or those of a long table."""

    file: FileTable
    columns: Columns
    id: str | None = (
        None  # the column that names the rows; without one they are named by their numbers
    )

    def write(
        self,
        path: str,
        format: str | None = None,
        overwrite: bool = False,
        *,
        per_object: bool = False,
    ) -> None:
        """Write the file with its answers appended; the format is by default that of the name, or else of the file.

        With `per_object` only the objects of a long table and their answers are written, in the
        order in which they appear.
        """
        self.file.work.bar.update(f"Writing {path}")
        kind = self.file.format.for_output(path, format)
        if per_object:
            self.columns.require_long()
            write_rows(self._objects(), self.file.work, path, kind, overwrite)
        else:
            write(self.file, self, path, kind, overwrite)

    def _objects(self) -> Any:
        """Return the objects of a long table and their answers."""
        name = self.columns.objects
        assert name is not None
        both = self.table
        own = {*self.file.columns, ROW}
        answers = [
            f"any_value({quoted(new)}) AS {quoted(new)}" for new in both.columns if new not in own
        ]
        counted = both.aggregate(
            ", ".join([quoted(name), *answers, f"min({quoted(ROW)}) AS {quoted(ROW)}"]),
            quoted(name),
        )
        return counted.order(quoted(ROW)).project(f"* EXCLUDE {quoted(ROW)}")

    @property
    def named_consensus(self) -> Consensus:
        """Return the consensus with each distinct row named like the first of its rows."""
        return changed(
            self.consensus, object_ids=_names_of_rows(self.file, self.consensus.object_ids, self.id)
        )

    def by_row(self) -> tuple[Consensus, Any]:
        """Return the consensus over all rows of the file, and the labels to judge it by.

        The file must have been combined with `number=True`. The objects of a long table stay what
        they are.
        """
        if self.columns.objects is not None:
            return self.consensus, self.truth
        found = self.table.order(ROW).project(f"{UNWRITTEN}number AS number").fetchnumpy()["number"]
        number = np.asarray(found, dtype=np.int64)
        names = (
            None if self.id is None else _names_of_rows(self.file, np.arange(len(number)), self.id)
        )
        votes = self.consensus.solution.require_votes("rows")
        index = number if votes.index is None else votes.index[number]
        votes = spread_over(votes, index, names)
        consensus = changed(self.consensus, votes=votes, index=votes.index, object_ids=names)
        return consensus, None if self.truth is None else np.asarray(self.truth, dtype=object)[
            number
        ]

    def find_object(self, name: str) -> Any:
        """Return how the consensus names the object that is called so in the file."""
        if self.columns.objects is not None:
            return self.file.value(self.columns.objects, name)
        if self.id is not None:
            is_it = f"CAST({quoted(self.id)} AS VARCHAR) = {text(name)}"
        else:
            is_it = f"{ROW} = TRY_CAST({text(name)} AS BIGINT)" if name.isdecimal() else "false"
        found = self.table.filter(is_it).project(f"{UNWRITTEN}number").limit(2).fetchall()
        if self.id is None and not found:
            must = f"must be the number of a row, 0 to {self.file.relation.count('*').fetchall()[0][0] - 1}"
            raise InputError(
                "object", must, got=name, remedy=f"Pass {arg('id')} to identify objects by name."
            )
        if len(found) != 1:
            many = "two or more rows have" if found else "no row has"
            raise InputError(
                "object", "must name one row", came=f"{name!r}, which {many} in column {self.id!r}"
            )
        number, rows = found[0][0], self.consensus.object_ids
        return int(number if rows is None else rows[number])


def combine_file(
    table: FileTable,
    naming: Naming,
    method: str | Method = "auto",
    *,
    proba: bool = False,
    rule: Rule = "argmax",
    prefix: str = UNWRITTEN,
    max_rows: int = MOST_ROWS,
    number: bool = False,
    id: str | None = None,
) -> AnsweredFile:
    """Combine the votes in a file: `combine` for files. `naming` has classes, and any number of missing labels, as text.

    The column `id` names the rows. `known` and `truth` may name files too, in which objects are
    named as in that column, or in the one of the objects.
    """
    table, columns = _typed(table, naming, id)
    table.work.bar.update("Combining")
    output = _output_of(table, prefix, proba, rule, number and columns.objects is None)
    answered = combine_frame(table.frame, columns, method, output, max_rows)
    return AnsweredFile(**vars(answered), file=table, columns=columns, id=id)


def content_of_file(
    table: FileTable, naming: Naming, *, max_rows: int = MOST_ROWS, id: str | None = None
) -> Content:
    """Return the votes in a file and its known and true labels; the arguments are those of `combine_file`."""
    table, columns = _typed(table, naming, id)
    table.work.bar.update("Comparing")
    content = content_of_frame(table.frame, columns, max_rows)
    names = _names_of_rows(table, content.votes.object_ids, id)
    return replace(content, votes=replace(content.votes, object_ids=names))


def _names_of_rows(table: FileTable, rows: Any, column: str | None) -> Any:
    """Return what a column holds in some rows, given by number; without a column, the numbers."""
    if column is None or rows is None:
        return rows
    wanted = table.connection.from_arrow(pa.table({"place": np.arange(len(rows)), "row": rows}))
    sql = table.columns[column]
    names = f"SELECT CAST({sql} AS VARCHAR) AS name, file_row_number AS row FROM read_parquet({text(table.parquet)})"
    found = (
        wanted.join(table.connection.sql(names), "row").order("place").project("name").fetchall()
    )
    return label_array(
        [f"row {row}" if name is None else name for row, (name,) in zip(rows, found, strict=True)]
    )


def _typed(table: FileTable, naming: Naming, id: str | None) -> tuple[FileTable, Columns]:
    """Find the columns, and give labels, classes and answers on scales their types."""
    if id is not None:
        table.require_column(id, "id")
        if naming.objects is not None:
            raise InputError(
                "id",
                f"must be left out for a long table, whose objects are identified by {arg('objects')}",
            )
    table, columns = _with_label_files(table, replace(naming, missing=None), id)
    table = table.with_labels(columns.label_groups, naming.missing, columns.graded)
    columns = columns.with_answers(table.value)
    if naming.classes is not None:
        columns = columns.with_classes(_typed_classes(table, columns, list(naming.classes)))
    return table, replace(columns, row_number=ROW if columns.objects is None else None)


def _with_label_files(
    table: FileTable, naming: Naming, id: str | None
) -> tuple[FileTable, Columns]:
    """Find the columns, those of known and true labels also in files of their own."""
    given: dict[str, Any] = {"known": naming.known, "truth": naming.truth}
    files = {argument: label_files(argument, names, table) for argument, names in given.items()}
    files = {argument: names for argument, names in files.items() if names}
    none: dict[str, Any] = dict.fromkeys(files)
    columns = replace(naming, **none).find(table.frame)
    for argument, names in files.items():
        table, columns = with_label_files(table, columns, argument, names, columns.objects or id)
    return table, columns


def extend_file(
    table: FileTable,
    consensus: Consensus,
    naming: Naming,
    *,
    proba: bool = False,
    prefix: str = "",
    max_rows: int = MOST_ROWS,
) -> AnsweredFile:
    """Answer for the objects of a file from a consensus that exists: `extend` for files."""
    columns = replace(naming, missing=None).find_for(table.frame, consensus)
    if table.is_text:
        table, consensus = _match_label_types(table, columns, consensus, naming.missing)
        columns = columns.with_classes(consensus.classes.tolist())
        columns = columns.with_answers(lambda _, answer: str(answer))
    else:
        table = table.with_labels(columns.label_groups, naming.missing, columns.graded)
        columns = columns if naming.scale is None else columns.with_answers(table.value)
    table.work.bar.update("Applying")
    output = _output_of(table, prefix, proba)
    answered = extend_frame(table.frame, columns, consensus, output, max_rows)
    return AnsweredFile(**vars(answered), file=table, columns=columns)


def _output_of(table: FileTable, *wanted: Any) -> Output:
    return replace(Output.of(table.frame, *wanted), folder=str(table.work.folder))


def _typed_classes(table: FileTable, columns: Columns, classes: list[str]) -> list[Any]:
    """Return classes as values of the type of the columns that hold them; with none, integers if all are written so."""
    first = next(iter(columns.label_groups[0]), None)
    if first is not None:
        return [table.value(first, label) for label in classes]
    numbers = [value_of(label, "BIGINT") for label in classes]
    return classes if any(isinstance(number, str) for number in numbers) else numbers


def _match_label_types(
    table: FileTable, columns: Columns, consensus: Consensus, missing: Sequence[str]
) -> tuple[FileTable, Consensus]:
    """Return the table and the consensus with all labels as text: in a CSV file 1 is text, in a consensus perhaps an int."""
    votes, *others = columns.label_groups
    table = table.with_text(votes, missing, integers=_are_integers(consensus.classes))
    table = table.with_text(columns.graded, missing, integers=True)
    labels = {
        base.name: base.labels for base in consensus.solution.models if base.kind == "clustering"
    }
    for (name,) in (names for names in others if names[0] not in columns.graded):
        found = labels.get(name, consensus.classes[:0])
        gaps = missing if NOISE in found.tolist() else [*missing, NOISE]
        table = table.with_text([name], gaps, integers=_are_integers(found))
    models = tuple(
        replace(base, labels=_as_text(base.labels)) for base in consensus.solution.models
    )
    return table, changed(consensus, classes=_as_text(consensus.classes), models=models)


def _are_integers(labels: Any) -> bool:
    return labels.dtype.kind in "iu"


def _as_text(labels: Any) -> Any:
    return label_array([str(label) for label in labels.tolist()])


# ---- labels in a file of their own ---------------------------------------------------------------


def label_files(argument: str, names: str | Sequence[str] | None, table: FileTable) -> list[str]:
    """Return the files that an option names, perhaps with a column after a colon; none for a column of the table."""
    names = [names] if isinstance(names, str) else list(names or ())
    files = [name for name in names if name not in table.columns and _is_file(name)]
    if len(names) > max(1, len(files)):
        raise InputError(
            argument, "must be one column, or one or several files", came=listed(names)
        )
    return files


def _is_file(name: str) -> bool:
    return any(
        os.path.isfile(path) or PurePath(path).suffix.lower() in ENDINGS
        for path in (name, name.rpartition(":")[0])
    )


def with_label_files(
    table: FileTable, columns: Columns, argument: str, files: Sequence[str], key: str | None
) -> tuple[FileTable, Columns]:
    """Return the table with one more column, which is not written: the labels that files have for its objects."""
    if key is None:
        remedy = "It says which column of both files identifies objects."
        raise InputError(
            "id",
            phrase=f"{arg(argument, files[0])} needs {arg('id')} or {arg('objects')}",
            remedy=remedy,
        )
    first = next(iter(columns.label_groups[0]), None)
    kind = "VARCHAR" if first is None else table.types[first]
    labels = {
        name: value_of(label, kind)
        for name, label in _labels_in(files, table, argument, key).items()
    }
    given = ", ".join(files)
    if not labels:
        raise InputError(
            argument, "must be a file with labels of some objects", came=f"none in {given}"
        )
    for label in labels.values():
        if isinstance(label, str) != (kind == "VARCHAR"):
            raise InputError(
                argument, f"must hold labels like those in column {first!r} ({kind})", got=label
            )
    name = f"{OURS}{argument}"
    _create_lookup(table, name, labels, kind if kind in TYPES else "BIGINT")
    sql = f"{name}(CAST({table.columns[key]} AS VARCHAR))"
    found = replace(table, columns=table.columns | {name: sql})
    _require_objects(found, argument, given, (key, name), labels)
    changed: dict[str, Any] = {argument: name}
    return found, replace(columns, **changed)


def _labels_in(files: Sequence[str], table: FileTable, argument: str, key: str) -> dict[str, str]:
    """Return the labels in several files by object, both as text."""
    labels: dict[str, str] = {}
    origin: dict[str, str] = {}
    for file in files:
        for name, label in read_labels(table, argument, file, key).items():
            if labels.setdefault(name, label) != label:
                came = f"{labels[name]!r} in {origin[name]} and {label!r} in {file} for {name!r}"
                raise InputError(argument, "must give an object one label", came=came)
            origin.setdefault(name, file)
    return labels


def read_labels(beside: FileTable, argument: str, given: str, key: str) -> dict[str, str]:
    """Return the labels in a file by object, both as text; it is FILE, or FILE:COLUMN where there are several columns."""
    path, _, column = (given, "", "") if os.path.isfile(given) else given.rpartition(":")
    path = path or given
    format = Format.of(path)
    if format.name == beside.format.name:
        format = replace(format, delimiter=beside.format.delimiter)
    with workspace() as work:
        table = read(work, path, format, beside.encoding)
        chosen = _columns_in(table, argument, path, column, key)
        found = table.relation.project(
            ", ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in chosen)
        ).fetchall()
    labels: dict[str, str] = {}
    for name, label in found:
        if name is not None and label is not None and labels.setdefault(name, label) != label:
            raise InputError(
                argument, "must give an object one label", came=f"two for {name!r} in {path}"
            )
    return labels


def _columns_in(
    table: FileTable, argument: str, path: str, column: str, key: str
) -> tuple[str, str]:
    """Return the columns of the objects and of the labels: by name, or the first and the second of two."""
    names = list(table.columns)
    if column:
        table.require_column(column, argument)
    others = [name for name in names if name != key]
    if key not in names and len(names) == 2 and not column:
        return names[0], names[1]
    if key not in names or (not column and len(others) != 1):
        must = f"must be a file with a column {key!r} and one column of labels"
        remedy = f"Write {path}:COLUMN to choose one of several columns."
        raise InputError(argument, must, came=f"{listed(names, 30)} in {path}", remedy=remedy)
    return key, column or others[0]


def _create_lookup(table: FileTable, name: str, labels: Mapping[str, Any], kind: str) -> None:
    """Let DuckDB call a function that looks labels up, some rows at a time; unlike a join this keeps the order of rows.

    An object 1.0, as pandas writes it, is the object 1, unless the labels name both.
    """
    by_number = {without_fraction(name): label for name, label in labels.items()}

    def look_up(objects: pa.ChunkedArray) -> pa.Array:
        names = objects.to_pylist()
        found = (
            None if name is None else labels.get(name, by_number.get(without_fraction(name)))
            for name in names
        )
        return pa.array(found, TYPES[kind])

    options: dict[str, Any] = {"type": "arrow", "null_handling": "special"}
    table.connection.create_function(name, look_up, ["VARCHAR"], kind, **options)


def _require_objects(
    table: FileTable, argument: str, given: str, names: tuple[str, str], labels: Mapping[str, Any]
) -> None:
    """Refuse labels of other objects alone; warn where some objects are not in the table."""
    key, label = map(quoted, names)
    found = (
        table.relation.filter(f"{label} IS NOT NULL")
        .aggregate(f"count(DISTINCT {key})")
        .fetchall()[0][0]
    )
    if not found:
        some = listed(list(labels), 5)
        raise InputError(
            argument,
            f"must name objects of the table, those in column {names[0]!r}",
            came=f"{some} in {given}",
        )
    if found < len(labels):
        lacking = f"{len(labels) - found:,} of {count(len(labels), 'object')} with a label"
        warnings.warn(f"In {given}, {lacking} could not be found in the table.", stacklevel=2)
