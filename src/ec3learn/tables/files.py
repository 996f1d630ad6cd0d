"""combine and extend for files: a file is a table of DuckDB, and goes through the same pipeline as any other table.

Nothing is guessed that could change a label: a field of a CSV file is text, unless all labels of
its kind are integers as Python prints them, as ints or as floats. Labels may be in a file of their
own: each object finds its label by name, as if the table had a column of them.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from .._checks import InputError
from .._text import arg, count, listed
from ..consensus import Consensus, changed
from ..methods import Method, method_of
from ..votes import Scale, spread_over
from ..votes.labels import label_array
from .columns import Columns, Naming, require_column
from .content import Content, content_of
from .engines import OURS, Frame, quoted
from .formats import ENDINGS, STANDARD, Format, format_of_content
from .output import Output, Rule
from .pipeline import MOST_ROWS, Answered, combine_frame, extend_frame
from .reading import MEMORY, READERS, Source, Workspace, delimiter_of, open_source, text, workspace
from .writing import require_outputs, write_rows, write_table

__all__ = [
    "STANDARD",
    "AnsweredFile",
    "FileTable",
    "combine_file",
    "content_of_file",
    "extend_file",
    "open_file",
    "read_labels",
    "require_outputs",
    "write_table",
]

ROW = f"{OURS}row"
UNWRITTEN = f"{OURS}answer_"  # a prefix for columns that are asked for but not written
INTEGER = "0|-?[1-9][0-9]*"  # as Python prints it
NOISE = "-1"


@dataclass(frozen=True)
class FileTable:
    """A table in a Parquet file, and the SQL that reads its labels where they differ from what is in the file."""

    work: Workspace
    parquet: Path
    format: Format  # of the file that was read
    encoding: str
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def connection(self) -> DuckDBPyConnection:
        """The connection on which the table is read."""
        return self.work.connection

    @property
    def is_text(self) -> bool:
        """Whether the labels have no type."""
        return self.format.name in ("csv", "tsv", "excel")

    @cached_property
    def rows(self) -> DuckDBPyRelation:
        """The columns as they are, in the order of the file."""
        return self.connection.read_parquet(str(self.parquet))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.rows.columns)

    @cached_property
    def relation(self) -> DuckDBPyRelation:
        """The columns with their labels, and as the last column the number of each row, counted from 0."""
        read = {name: quoted(name) for name in self.columns} | self.labels
        read[ROW] = "file_row_number"
        chosen = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in read.items())
        return self.connection.sql(f"SELECT {chosen} FROM read_parquet({text(self.parquet)})")

    @property
    def frame(self) -> Frame:
        """The same as a table that can be combined."""
        return nw.from_native(self.relation)

    def type_of(self, column: str) -> str:
        """The type of a column's labels, by DuckDB's name for it."""
        return str(self.relation.types[self.relation.columns.index(column)])

    def with_labels(self, columns: Columns, missing: Sequence[str] | None) -> FileTable:
        """Give labels their types: of text, integers where all of it in columns of a kind is; `missing` is null."""
        groups, graded = _label_groups(columns)
        labels = {}
        for name in (name for group in groups for name in group):
            sql = self.labels.get(name, quoted(name))
            if self.type_of(name) == "JSON":
                if name not in graded:
                    phrase = (
                        f"Column {name!r} must hold labels of one type, text, integers or bools"
                    )
                    raise InputError("classifiers", phrase=phrase)
                sql = f"({sql} ->> '$')"
            labels[name] = _without(sql, missing)
        if self.is_text:
            integers = self._integers(labels)
            for group in groups:
                if integers >= set(group):
                    labels |= {
                        name: f"CAST({_without_fraction(labels[name])} AS BIGINT)" for name in group
                    }
        return replace(self, labels=self.labels | _shares(columns) | labels)

    def _integers(self, labels: Mapping[str, str]) -> set[str]:
        """The columns that hold only integers as Python prints them; pandas writes 1.0 beside gaps, and 007 is text."""
        tests = [
            f"bool_and({sql} IS NULL OR (regexp_full_match({sql}, '({INTEGER})([.]0)?') "
            f"AND TRY_CAST({sql} AS BIGINT) IS NOT NULL))"
            for sql in labels.values()
        ]
        if not tests:
            return set()
        query = f"SELECT {', '.join(tests)} FROM read_parquet({text(self.parquet)})"
        found = self.connection.sql(query).fetchall()[0]
        return {name for name, all_integers in zip(labels, found, strict=True) if all_integers}

    def with_text(
        self, columns: Columns, consensus: Consensus, missing: Sequence[str] | None
    ) -> FileTable:
        """Leave labels text, written as the consensus writes them: where it has integers, 1.0 is 1."""
        written = {model.name: model.labels.tolist() for model in consensus.solution.models}
        everybody = [
            label for model in consensus.solution.models for label in model.labels.tolist()
        ]
        labels = {}
        for name, column in {**columns.classifiers, **columns.clusterings}.items():
            if isinstance(column, dict):
                continue
            known = (
                everybody if columns.objects and column == columns.labels else written.get(name, [])
            )
            sql, gaps = quoted(column), list(missing or ())
            if any(isinstance(label, int) for label in known):
                sql = _without_fraction(sql)
            if name in columns.clusterings and int(NOISE) not in known and NOISE not in known:
                gaps.append(NOISE)
            labels[column] = _without(sql, gaps)
        return replace(self, labels=self.labels | _shares(columns) | labels)


def _label_groups(columns: Columns) -> tuple[list[list[str]], list[str]]:
    """The columns that hold labels of one kind, group by group; and those with answers on a scale among them."""
    hard = {
        name: column for name, column in columns.classifiers.items() if not isinstance(column, dict)
    }
    by_scale: dict[Scale, list[str]] = {}
    if columns.objects is None:
        for name, scale in (columns.scale or {}).items():
            by_scale.setdefault(scale, []).append(hard[name])
    elif isinstance(columns.scale, Scale):
        by_scale[columns.scale] = [columns.labels]
    graded = [column for group in by_scale.values() for column in group]
    stated = [column for column in (columns.known, columns.truth) if column is not None]
    classes = [column for column in hard.values() if column not in graded]
    clusters = [[column] for column in columns.clusterings.values() if not isinstance(column, dict)]
    return [[*classes, *stated], *clusters, *by_scale.values()], graded


def _shares(columns: Columns) -> dict[str, str]:
    """The SQL of the columns of soft models."""
    soft = {**columns.classifiers, **columns.clusterings}.values()
    names = [name for column in soft if isinstance(column, dict) for name in column.values()]
    return {name: f"CAST({quoted(name)} AS DOUBLE)" for name in names}


def value_of(written: str, kind: str) -> Any:
    """Read a text as a value of one of DuckDB's types, if it is one; else it stays text."""
    if kind == "BOOLEAN" and written.lower() in ("true", "false"):
        return written.lower() == "true"
    number = written.removesuffix(".0")
    numeric = "INT" in kind or kind in ("DOUBLE", "FLOAT")
    return int(number) if numeric and re.fullmatch(INTEGER, number) else written


def _without(sql: str, missing: Sequence[str] | None) -> str:
    """The SQL of labels without those that mean "no vote"; an integer may be written as a float."""
    words = [word for label in missing or () for word in (label, label.removesuffix(".0"))]
    if not words:
        return sql
    gaps = ", ".join(text(word) for word in [*words, *(f"{word}.0" for word in words)])
    return f"CASE WHEN CAST({sql} AS VARCHAR) IN ({gaps}) THEN NULL ELSE {sql} END"


def _without_fraction(sql: str) -> str:
    """The SQL of a text in which 1.0 is 1."""
    return rf"regexp_replace({sql}, '^({INTEGER})[.]0$', '\1')"


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
        must = "must be left out unless the file is a spreadsheet"
        raise InputError("sheet", must, came=f"{sheet!r} for {kind.name}")
    with (
        workspace(beside, memory, bar=bar) as work,
        open_source(path, kind, encoding, sheet, work, memory) as source,
    ):
        work.bar.update(f"Reading {source.name}")
        yield _read(source)


def _read(source: Source) -> FileTable:
    """Read a file into a table; that of Parquet stays where it is."""
    if source.format.name == "csv" and source.format.delimiter is None:
        format = replace(source.format, delimiter=delimiter_of(source))
        source = replace(source, format=format)
    table = FileTable(
        source.work, READERS[source.format.name](source), source.format, source.encoding
    )
    table.relation.limit(0).fetchall()  # a broken file is refused here
    return table


# ---- answers for a file --------------------------------------------------------------------------


@dataclass(frozen=True)
class AnsweredFile:
    """A file and its answers; the objects of the consensus are distinct rows (named by the first) or those of a long table."""

    file: FileTable
    answered: Answered
    id: str | None = None  # the column that names the rows, which have numbers otherwise

    @property
    def consensus(self) -> Consensus:
        """The consensus on the distinct rows or objects."""
        return self.answered.consensus

    @property
    def truth(self) -> Any:
        """Labels to judge the consensus by, one per object."""
        return self.answered.truth

    @property
    def named_consensus(self) -> Consensus:
        """The consensus with each distinct row named like the first of its rows."""
        names = _names_of_rows(self.file, self.consensus.object_ids, self.id)
        return changed(self.consensus, object_ids=names)

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
        rows = self._objects() if per_object else self._rows()
        write_rows(rows, self.file.work, path, kind, overwrite)

    def _rows(self) -> DuckDBPyRelation:
        """All rows in the order of the file, which a join does not keep: the answers alone are sorted."""
        added = ", ".join(map(quoted, self.answered.output.types(self.consensus.classes)))
        self.answered.table.project(f"{added}, {ROW}").create_view("answers", replace=True)
        self.file.rows.create_view("own_rows", replace=True)
        answers = f"SELECT {added} FROM answers ORDER BY {ROW}"
        return self.file.connection.sql(f"SELECT * FROM own_rows POSITIONAL JOIN ({answers})")

    def _objects(self) -> DuckDBPyRelation:
        """The objects of a long table and their answers."""
        self.answered.columns.require_long()
        name = quoted(str(self.answered.columns.objects))
        new = map(quoted, self.answered.output.types(self.consensus.classes))
        values = ", ".join([name, *(f"any_value({column}) AS {column}" for column in new)])
        rows = self.answered.table.aggregate(f"{values}, min({ROW}) AS {ROW}", name)
        return rows.order(ROW).project(f"* EXCLUDE {ROW}")

    def by_row(self) -> tuple[Consensus, Any]:
        """The consensus over all rows of the file, and the labels to judge it by.

        The file must have been combined with `number=True`. The objects of a long table stay what
        they are.
        """
        if self.answered.columns.objects is not None:
            return self.consensus, self.truth
        column = quoted(f"{self.answered.output.prefix}number")
        rows = self.answered.table.order(ROW).project(f"{column} AS number").fetchnumpy()
        number = np.asarray(rows["number"], dtype=np.int64)
        names = None
        if self.id is not None:
            names = _names_of_rows(self.file, np.arange(len(number)), self.id)
        votes = self.consensus.solution.require_votes("rows")
        index = number if votes.index is None else votes.index[number]
        votes = spread_over(votes, index, names)
        consensus = changed(self.consensus, votes=votes, index=votes.index, object_ids=names)
        truth = None if self.truth is None else np.asarray(self.truth, dtype=object)[number]
        return consensus, truth

    def find_object(self, name: str) -> Any:
        """How the consensus names the object that is called so in the file."""
        columns, rows = self.answered.columns, self.consensus.object_ids
        if columns.objects is not None:
            return value_of(name, self.file.type_of(columns.objects))
        column = ROW if self.id is None else quoted(self.id)
        number = quoted(f"{self.answered.output.prefix}number")
        named = self.answered.table.filter(f"CAST({column} AS VARCHAR) = {text(name)}")
        numbers = named.project(number).limit(2).fetchall()
        if len(numbers) != 1:
            came = f"{name!r}, which {'two or more rows have' if numbers else 'no row has'}"
            remedy = f"Pass {arg('id')} to identify objects by name." if self.id is None else ""
            raise InputError("object", "must name one row", came=came, remedy=remedy)
        return int(numbers[0][0] if rows is None else rows[numbers[0][0]])


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
    number = number and columns.objects is None
    output = Output.of(table.frame, prefix, proba, rule, number)
    answered = combine_frame(table.frame, columns, method_of(method, "method"), output, max_rows)
    return AnsweredFile(table, answered, id)


def content_of_file(
    table: FileTable, naming: Naming, *, max_rows: int = MOST_ROWS, id: str | None = None
) -> Content:
    """Read the votes in a file and its known and true labels; the arguments are those of `combine_file`."""
    table, columns = _typed(table, naming, id)
    table.work.bar.update("Comparing")
    content = content_of(table.frame, columns, max_rows)
    names = _names_of_rows(table, content.votes.object_ids, id)
    return replace(content, votes=replace(content.votes, object_ids=names))


def extend_file(
    table: FileTable,
    consensus: Consensus,
    naming: Naming,
    *,
    proba: bool = False,
    prefix: str = "",
) -> AnsweredFile:
    """Answer for the objects of a file from a consensus that exists: `extend` for files.

    A CSV file has 1 as text where the consensus perhaps has an integer, so there all labels are
    text.
    """
    naming, missing = replace(naming, missing=None), naming.missing
    if table.is_text:
        written = _as_text(consensus)
        columns = naming.find_for(table.frame, written)
        table, consensus = table.with_text(columns, consensus, missing), written
    else:
        columns = naming.find_for(table.frame, consensus)
        table = table.with_labels(columns, missing)
        if naming.scale is not None:
            columns = replace(columns, scale=_typed_scale(table, columns))
    table.work.bar.update("Applying")
    output = Output.of(table.frame, prefix, proba)
    return AnsweredFile(table, extend_frame(table.frame, columns, consensus, output))


def _as_text(consensus: Consensus) -> Consensus:
    """The same consensus with all labels as text."""

    def written(labels: Any) -> Any:
        return label_array([str(label) for label in labels.tolist()])

    models = tuple(
        replace(model, labels=written(model.labels)) for model in consensus.solution.models
    )
    return changed(consensus, classes=written(consensus.classes), models=models)


def _typed(table: FileTable, naming: Naming, id: str | None) -> tuple[FileTable, Columns]:
    """Find the columns, and give labels, classes and answers on scales their types."""
    if id is not None:
        require_column(id, table.columns, "id")
        if naming.objects is not None:
            must = f"must be left out for a long table, whose objects are identified by {arg('objects')}"
            raise InputError("id", phrase=f"{arg('id')} {must}")
    naming, missing = replace(naming, missing=None), naming.missing
    files = {argument: _label_files(argument, naming, table) for argument in ("known", "truth")}
    files = {argument: paths for argument, paths in files.items() if paths}
    without: dict[str, Any] = dict.fromkeys(files)
    columns = replace(naming, **without).find(table.frame)
    for argument, paths in files.items():
        table = _with_label_files(table, columns, argument, paths, naming.objects or id)
        added: dict[str, Any] = {argument: f"{OURS}{argument}"}
        naming, columns = replace(naming, **added), replace(columns, **added)
    table = table.with_labels(columns, missing)
    typed: dict[str, Any] = {"scale": _typed_scale(table, columns)}
    if naming.classes is not None:
        (votes, *_), _graded = _label_groups(columns)
        typed["classes"] = _typed_classes(table, votes, list(naming.classes))
    columns = replace(naming, **typed).find(table.frame)
    return table, replace(columns, row_number=ROW if columns.objects is None else None)


def _typed_classes(table: FileTable, votes: list[str], classes: list[Any]) -> list[Any]:
    """Classes as values of the type of the columns that hold them; without any, integers if all are written so."""
    if votes:
        return [value_of(label, table.type_of(votes[0])) for label in classes]
    numbers = [value_of(label, "BIGINT") for label in classes]
    return classes if any(isinstance(number, str) for number in numbers) else numbers


def _typed_scale(table: FileTable, columns: Columns) -> Any:
    """The scales of columns with their answers as values of the type of the column."""

    def typed(scale: Scale, column: Any) -> Scale:
        kind = table.type_of(column)
        values, unordered = (
            [value_of(str(label), kind) for label in labels]
            for labels in (scale.values, scale.unordered)
        )
        return replace(scale, values=values, unordered=unordered)

    if isinstance(columns.scale, Mapping):
        return {
            name: typed(
                scale, columns.classifiers[name] if columns.objects is None else columns.labels
            )
            for name, scale in columns.scale.items()
        } or None
    return None if columns.scale is None else typed(columns.scale, columns.labels)


def _names_of_rows(table: FileTable, rows: Any, column: str | None) -> Any:
    """What a column holds in some rows, known by number; without a column, the numbers."""
    if column is None or rows is None:
        return rows
    table.connection.register("places", pa.table({"place": np.arange(len(rows)), "row": rows}))
    found = table.connection.sql(
        f"SELECT CAST({quoted(column)} AS VARCHAR) FROM places JOIN read_parquet({text(table.parquet)}) "
        "ON file_row_number = places.row ORDER BY place"
    ).fetchall()
    return label_array(
        [f"row {row}" if name is None else name for row, (name,) in zip(rows, found, strict=True)]
    )


# ---- labels in a file of their own ---------------------------------------------------------------


def _label_files(argument: str, naming: Naming, table: FileTable) -> list[str]:
    """The files that an argument names, perhaps with a column after a colon; none for a column of the table."""
    named: Any = getattr(naming, argument)
    names = [named] if isinstance(named, str) else list(named or ())
    files = [name for name in names if name not in table.columns and _is_file(name)]
    if len(names) > max(1, len(files)):
        must = "must be one column, or one or several files"
        raise InputError(argument, must, came=listed(names))
    return files


def _is_file(name: str) -> bool:
    return any(
        os.path.isfile(path) or PurePath(path).suffix.lower() in ENDINGS
        for path in (name, name.rpartition(":")[0])
    )


def _with_label_files(
    table: FileTable, columns: Columns, argument: str, files: Sequence[str], key: str | None
) -> FileTable:
    """Add a column that is not written: the labels that files have for the objects of the table."""
    if key is None:
        remedy = "It says which column of both files identifies objects."
        phrase = f"{arg(argument, files[0])} needs {arg('id')} or {arg('objects')}"
        raise InputError("id", phrase=phrase, remedy=remedy)
    labels = _labels_in(files, table, argument, key)
    (votes, *_), _graded = _label_groups(columns)
    kind = table.type_of(votes[0]) if votes else "VARCHAR"
    values = [value_of(label, kind) for label in labels.values()]
    for label in values:
        if isinstance(label, str) != (kind == "VARCHAR"):
            must = f"must hold labels like those in column {votes[0]!r} ({kind})"
            raise InputError(argument, must, got=label)
    lookup, name = f"{OURS}{argument}_labels", f"{OURS}{argument}"
    table.connection.register(lookup, pa.table({"name": list(labels), "label": values}))
    named = _without_fraction(f"CAST({quoted(key)} AS VARCHAR)")
    sql = f"(SELECT label FROM {lookup} WHERE name = {named})"
    table = replace(table, labels=table.labels | {name: sql})
    labelled = table.relation.filter(f"{name} IS NOT NULL")
    n_found = labelled.aggregate(f"count(DISTINCT {quoted(key)})").fetchall()[0][0]
    if not n_found:
        must = f"must name objects of the table, those in column {key!r}"
        came = f"{listed(list(labels), 5)} in {', '.join(files)}"
        raise InputError(argument, must, came=came)
    if n_found < len(labels):
        lacking = f"{len(labels) - n_found:,} of {count(len(labels), 'object')} with a label"
        text = f"In {', '.join(files)}, {lacking} could not be found in the table."
        warnings.warn(text, stacklevel=2)
    return table


def _labels_in(files: Iterable[str], table: FileTable, argument: str, key: str) -> dict[str, str]:
    """The labels in several files by object, both as text; an object 1.0, as pandas writes it, is the object 1."""
    labels: dict[str, str] = {}
    for file in files:
        for name, label in read_labels(table, argument, file, key).items():
            object = str(value_of(name, "BIGINT"))
            if labels.setdefault(object, label) != label:
                came = f"{labels[object]!r} and {label!r} for {name!r}, the last in {file}"
                raise InputError(argument, "must give an object one label", came=came)
    if not labels:
        came = f"none in {', '.join(files)}"
        raise InputError(argument, "must be a file with labels of some objects", came=came)
    return labels


def read_labels(beside: FileTable, argument: str, name: str, key: str) -> dict[str, str]:
    """Read the labels in a file by object, both as text; it is FILE, or FILE:COLUMN where there are several columns."""
    path, _, column = (name, "", "") if os.path.isfile(name) else name.rpartition(":")
    with open_file(path or name, encoding=beside.encoding) as table:
        object, label = _columns_in(table.columns, argument, path, column, key)
        chosen = (f"CAST({quoted(each)} AS VARCHAR)" for each in (object, label))
        rows = table.rows.project(", ".join(chosen)).fetchall()
    labels: dict[str, str] = {}
    for object, label in rows:
        if object is not None and label is not None and labels.setdefault(object, label) != label:
            came = f"two for {object!r} in {path}"
            raise InputError(argument, "must give an object one label", came=came)
    return labels


def _columns_in(
    names: list[str], argument: str, path: str, column: str, key: str
) -> tuple[str, str]:
    """The columns of the objects and of the labels: by name, or the first and the second of two."""
    if column:
        require_column(column, names, argument)
    others = [name for name in names if name != key]
    if key not in names and len(names) == 2 and not column:
        return names[0], names[1]
    if key not in names or (not column and len(others) != 1):
        must = f"must be a file with a column {key!r} and one column of labels"
        remedy = f"Write {path}:COLUMN to choose one of several columns."
        raise InputError(argument, must, came=f"{listed(names, 30)} in {path}", remedy=remedy)
    return key, column or others[0]
