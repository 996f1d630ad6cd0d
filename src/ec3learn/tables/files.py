"""combine and extend for files, which go through the same pipeline as any other table.

A file is a table of DuckDB: its columns as they are, with labels that other files have. The file
that is written appears whole or not at all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from glob import escape, glob
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyRelation

from .._checks import InputError
from .._table import Table
from .._text import arg, listed
from ..consensus import Consensus, changed
from ..methods import Method, method_of
from ..votes import spread_over
from ..votes.labels import label_array
from .columns import (
    OURS,
    ROW,
    Columns,
    Frame,
    Naming,
    columns_in,
    only_for,
    quoted,
    require_column,
    text,
)
from .content import Content, content_of, labels_for, whole, without_fraction
from .formats import (
    LONGEST,
    MEMORY,
    READERS,
    STANDARD,
    Format,
    Source,
    format_of_content,
    is_file,
    is_table,
    open_source,
    workspace,
    write_rows,
)
from .pipeline import MOST_ROWS, Answered, Output, combine_frame, extend_frame, join

NUMBER = f"{OURS}number"  # a column of the number of each row's distinct row
UNWRITTEN = f"{OURS}answer_"  # a prefix for columns that are asked for but not written

# ---- a file as a table ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FileTable(Source):
    """A file that was read into a Parquet file, and the SQL of columns that are not in there."""

    parquet: Path
    labels: dict[str, str] = field(default_factory=dict)  # from other files

    @property
    def is_text(self) -> bool:
        """Whether the labels have no type."""
        return self.format.name in ("csv", "tsv", "excel")

    @cached_property
    def rows(self) -> DuckDBPyRelation:
        """The columns as they are, in the order of the file."""
        return self.work.connection.read_parquet(str(self.parquet))

    @cached_property
    def columns(self) -> dict[str, str]:
        """The names of the columns, and DuckDB's names for their types."""
        return dict(zip(self.rows.columns, map(str, self.rows.types), strict=True))

    @cached_property
    def relation(self) -> DuckDBPyRelation:
        """The columns, labels from other files, and as the last the number of each row, from 0.

        JSON that is of no type is text.
        """
        read = {
            name: f"{quoted(name)} ->> '$'" if kind == "JSON" else quoted(name)
            for name, kind in self.columns.items()
        }
        read |= {**self.labels, ROW: "file_row_number"}
        chosen = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in read.items())
        return self.work.connection.sql(f"SELECT {chosen} FROM read_parquet({text(self.parquet)})")

    @property
    def frame(self) -> Frame:
        """The same as a table that can be combined."""
        return nw.from_native(self.relation)

    def texts(self, column: str, key: str, values: Sequence[Any]) -> list[str | None]:
        """What a column holds, as text, in the first row whose key is each of some values."""
        wanted = pa.table(
            {"place": range(len(values)), "name": [str(whole(str(v))) for v in values]}
        )
        name = without_fraction(f"CAST({quoted(key)} AS VARCHAR)")
        held = self.relation.project(f"{name} AS name, {quoted(column)} AS held, {ROW} AS row")
        both = self.work.connection.from_arrow(wanted).join(held, "name", how="left")
        texts = both.aggregate("place, CAST(arg_min(held, row) AS VARCHAR) AS held", "place")
        return [held for _, held in texts.order("place").fetchall()]

    @contextmanager
    def beside(self, path: str) -> Iterator[FileTable]:
        """Open another file in the same workspace."""
        with open_source(path, Format.of(path), self.encoding, None, self.work) as source:
            yield _read(source)


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
) -> Iterator[FileTable]:
    """Open a file, several files, or standard input; temporary files are `beside` the output."""
    if path == STANDARD and format is None and hasattr(sys.stdin.buffer, "peek"):
        format = "csv" if delimiter is not None else format_of_content(sys.stdin.buffer.peek())
    paths = files_of(path)
    if path != STANDARD:
        os.stat(paths[0])  # a missing file is said to be missing, whatever its name
    kinds = {name: Format.of(name, format, delimiter) for name in paths}
    formats = {kind.name for kind in kinds.values()}
    if len(formats) > 1:
        raise InputError("votes", "must be files of one format", came=listed(sorted(formats)))
    with workspace(beside, memory) as work, ExitStack() as stack:
        tables = [
            _read(stack.enter_context(open_source(name, kind, encoding, sheet, work)))
            for name, kind in kinds.items()
        ]
        yield tables[0] if len(tables) == 1 else _stacked(tables)


def files_of(path: str) -> list[str]:
    """The files in a folder, or those of a pattern such as votes-*.csv; else the path."""
    if path == STANDARD or os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        return sorted(filter(is_table, glob(os.path.join(escape(path), "*")))) or [path]
    return sorted(filter(os.path.isfile, glob(path))) or [path]


def _stacked(tables: list[FileTable]) -> FileTable:
    """The rows of several tables, one after the other; columns are matched by name."""
    first, paths = tables[0], ", ".join(text(table.parquet) for table in tables)
    parquet = first.work.folder / "stacked.parquet"
    rows = f"SELECT * FROM read_parquet([{paths}], union_by_name = true)"
    first.work.connection.execute(f"COPY ({rows}) TO {text(parquet)} (FORMAT parquet)")
    return replace(first, parquet=parquet)


def _read(source: Source) -> FileTable:
    """Read a file into a table; that of Parquet stays where it is."""
    if source.format.name == "csv" and source.format.delimiter is None:
        with source.lines() as lines:
            first = lines.readline(LONGEST)
        delimiter = max(",;\t|", key=first.count)  # the sign that is most frequent there
        source = replace(source, format=replace(source.format, delimiter=delimiter))
    parquet = READERS[source.format.name](source)
    table = FileTable(**vars(source), parquet=parquet)
    table.rows.limit(0).fetchall()  # a broken file is refused here
    return table


# ---- its votes and its answers -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AnsweredFile(Answered):
    """A file and its answers; objects are distinct rows, or the objects of a long table."""

    file: FileTable
    id: str | None = None  # the column that names the rows, which have numbers otherwise

    def named(self) -> tuple[Consensus, Any]:
        """The consensus with each distinct row named like the first of its rows, and the truth."""
        names = _names_of_rows(self.file, self.consensus.object_ids, self.id)
        return changed(self.consensus, object_ids=names), labels_for(self.truth, names)

    def write(
        self,
        path: str,
        format: str | None = None,
        overwrite: bool = False,
        *,
        per_object: bool = False,
    ) -> None:
        """Write the file with its answers; the format is that of the name, or else of the file.

        With `per_object` only the objects of a long table and their answers are written, in the
        order in which they appear.
        """
        kind = self.file.format.for_output(path, format)
        rows = self._objects() if per_object else self._rows()
        write_rows(rows, self.file.work, path, kind, overwrite)

    def _rows(self) -> DuckDBPyRelation:
        """All rows in the order of the file, which a join does not keep: answers are sorted."""
        added = ", ".join(map(quoted, self.output.types(self.consensus.classes)))
        self.table.project(f"{added}, {ROW}").create_view("answers", replace=True)
        self.file.rows.create_view("own_rows", replace=True)
        answers = f"SELECT {added} FROM answers ORDER BY {ROW}"
        return self.file.work.connection.sql(f"SELECT * FROM own_rows POSITIONAL JOIN ({answers})")

    def _objects(self) -> DuckDBPyRelation:
        """The objects of a long table and their answers."""
        self.columns.require_long()
        name = quoted(str(self.columns.objects))
        chosen = ", ".join([name, *map(quoted, self.output.types(self.consensus.classes))])
        first = f"SELECT DISTINCT ON ({name}) {chosen} FROM answers ORDER BY {ROW}"
        return self.table.query("answers", first)

    def by_row(self) -> tuple[Consensus, Any]:
        """The consensus over all rows of the file, and the labels to judge it by.

        The objects of a long table stay what they are.
        """
        if self.columns.objects is not None:
            return self.consensus, self.truth
        if self.consensus.solution.n_objects < len(self.rows):
            phrase = f"This needs all distinct rows, and there are more than {arg('max_rows')}"
            raise InputError("max_rows", phrase=phrase, remedy="Raise it.")
        numbers = nw.new_series(NUMBER, range(len(self.rows)), backend=self.rows.implementation)
        keys = self.columns.join_keys
        joined = join(self.frame, self.rows.select(keys).with_columns(numbers), keys).to_native()
        number = joined.order(ROW).project(NUMBER).fetchnumpy()[NUMBER]
        rows = None if self.id is None else np.arange(len(number))
        names = _names_of_rows(self.file, rows, self.id)
        votes = self.consensus.solution.require_votes("rows")
        index = number if votes.index is None else votes.index[number]
        votes = spread_over(votes, index, names)
        chances = self.consensus.solution.label_chances
        consensus = changed(
            self.consensus,
            votes=votes,
            index=votes.index,
            object_ids=names,
            label_chances=None if chances is None else chances[number],
        )
        return consensus, labels_for(self.truth, names, number)

    def texts(
        self, column: str, objects: Sequence[Any], argument: str = "text"
    ) -> list[str | None]:
        """What a column holds for some objects, as text."""
        require_column(column, self.file.columns, argument)
        key = self.columns.objects or self.id or ROW
        return self.file.texts(column, key, objects)

    def object_called(self, name: str) -> Any:
        """How the consensus of `by_row` names the object that is called so in the file."""
        names = self.columns.objects or self.id
        return name if names is not None and self.file.columns[names] == "VARCHAR" else whole(name)


def combine_file(
    table: FileTable,
    naming: Naming,
    method: str | Method = "auto",
    *,
    proba: bool = False,
    counts: bool = False,
    prefix: str = UNWRITTEN,
    max_rows: int = MOST_ROWS,
    id: str | None = None,
) -> AnsweredFile:
    """Combine the votes in a file; `naming` has classes and missing labels as text.

    The column `id` names the rows. `known` and `truth` may name files too, in which objects are
    named as in that column, or in the one of the objects.
    """
    table, columns = _found(table, naming, id)
    output = Output(prefix, proba, counts)
    answered = combine_frame(table.frame, columns, method_of(method, "method"), output, max_rows)
    return AnsweredFile(**vars(answered), file=table, id=id)


def content_of_file(table: FileTable, naming: Naming, *, id: str | None = None) -> Content:
    """Read the votes and labels in a file; the arguments are those of `combine_file`."""
    table, columns = _found(table, naming, id)
    content = content_of(table.frame, columns)
    names = _names_of_rows(table, content.votes.object_ids, id)
    return replace(
        content,
        votes=replace(content.votes, object_ids=names),
        known=labels_for(content.known, names),
        truth=labels_for(content.truth, names),
    )


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
    columns = replace(naming, is_text=table.is_text).find_for(table.frame, consensus)
    answered = extend_frame(table.frame, columns, consensus, Output(prefix, proba))
    return AnsweredFile(**vars(answered), file=table)


def _found(table: FileTable, naming: Naming, id: str | None) -> tuple[FileTable, Columns]:
    """Find the columns, and add the labels of other files."""
    if id is not None:
        require_column(id, table.columns, "id")
        only_for("a table with one row per object", naming.objects is None, "id", id)
        names = table.rows.aggregate(f"{quoted(id)} AS name, count(*) AS n", quoted(id))
        for name, _ in names.filter("n > 1 AND name IS NOT NULL").limit(1).fetchall():
            remedy = f"One row per vote goes with {arg('objects')} and {arg('voters')}."
            came = f"{name!r} twice in column {id!r}"
            raise InputError("id", "must name each row once", came=came, remedy=remedy)
    files = {argument: _label_files(naming, argument, table) for argument in ("known", "truth")}
    without: dict[str, Any] = {argument: None for argument, paths in files.items() if paths}
    columns = replace(naming, **without, is_text=table.is_text).find(table.frame)
    for argument in without:
        from .label_files import with_label_files

        key = naming.objects or id
        table, columns = with_label_files(table, columns, argument, files[argument], key)
    for name in columns_in({**columns.classifiers, **columns.clusterings}):
        if table.columns[name] == "JSON" and columns.scale is None:
            phrase = f"Column {name!r} must hold labels of one type, text, integers or bools"
            raise InputError("classifiers", phrase=phrase)
    return table, replace(columns, row_number=ROW if columns.objects is None else None)


def _label_files(naming: Naming, argument: str, table: FileTable) -> list[str]:
    """The files of labels that an argument names; none for a column of the table."""
    named: Any = getattr(naming, argument)
    names = [named] if isinstance(named, str) else list(named or ())
    files = [name for name in names if name not in table.columns and is_file(name)]
    if len(names) > max(1, len(files)):
        must = "must be one column, or one or several files"
        raise InputError(argument, must, came=listed(names))
    return files


def _names_of_rows(table: FileTable, rows: Any, column: str | None) -> Any:
    """What a column holds in some rows, known by number; without a column, the numbers."""
    if column is None or rows is None:
        return rows
    names = zip(rows, table.texts(column, ROW, rows), strict=True)
    return label_array([f"row {row}" if name is None else name for row, name in names])


# ---- writing -------------------------------------------------------------------------------------


def write_table(table: Table, beside: FileTable, path: str, overwrite: bool = False) -> None:
    """Write a small table in the format of its name, or else of the file it is about."""
    columns = {
        name: column if len(column) else pa.array([], pa.string())
        for name, column in table.columns.items()
    }
    rows = beside.work.connection.from_arrow(pa.table(columns))
    write_rows(rows, beside.work, path, beside.format.for_output(path, None), overwrite)
