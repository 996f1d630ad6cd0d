"""combine and extend for files, which go through the same pipeline as any other table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from duckdb import DuckDBPyRelation

from .._checks import InputError
from .._text import arg, count, listed
from ..consensus import Consensus, changed
from ..methods import Method, method_of
from ..votes import spread_over
from ..votes.labels import label_array
from .columns import Columns, Naming, columns_in, require_column
from .content import Content, content_of, labels_for
from .engines import OURS, quoted
from .file_table import ROW, FileTable, files_of, open_file
from .formats import STANDARD, is_file
from .label_types import whole
from .pipeline import MOST_ROWS, Answered, Output, Rule, combine_frame, extend_frame
from .writing import require_outputs, write_rows, write_table

__all__ = [
    "STANDARD",
    "AnsweredFile",
    "FileTable",
    "combine_file",
    "content_of_file",
    "extend_file",
    "files_of",
    "open_file",
    "require_outputs",
    "write_table",
]

UNWRITTEN = f"{OURS}answer_"  # a prefix for columns that are asked for but not written


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
        self.file.work.bar.update(f"Writing {path}")
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
        new = map(quoted, self.output.types(self.consensus.classes))
        values = ", ".join([name, *(f"any_value({column}) AS {column}" for column in new)])
        rows = self.table.aggregate(f"{values}, min({ROW}) AS {ROW}", name)
        return rows.order(ROW).project(f"* EXCLUDE {ROW}")

    def by_row(self) -> tuple[Consensus, Any]:
        """The consensus over all rows of the file, and the labels to judge it by.

        The objects of a long table stay what they are.
        """
        if self.columns.objects is not None:
            return self.consensus, self.truth
        if self.consensus.solution.n_objects < len(self.rows):
            phrase = f"This needs all distinct rows, and there are more than {arg('max_rows')}"
            raise InputError("max_rows", phrase=phrase, remedy="Raise it.")
        number = self.row_numbers(ROW)
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
    rule: Rule = "argmax",
    prefix: str = UNWRITTEN,
    max_rows: int = MOST_ROWS,
    id: str | None = None,
) -> AnsweredFile:
    """Combine the votes in a file; `naming` has classes and missing labels as text.

    The column `id` names the rows. `known` and `truth` may name files too, in which objects are
    named as in that column, or in the one of the objects.
    """
    table, columns = _found(table, naming, id)
    table.work.bar.update("Combining")
    output = Output(prefix, proba, rule)
    answered = combine_frame(table.frame, columns, method_of(method, "method"), output, max_rows)
    return AnsweredFile(**vars(answered), file=table, id=id)


def content_of_file(table: FileTable, naming: Naming, *, id: str | None = None) -> Content:
    """Read the votes and labels in a file; the arguments are those of `combine_file`."""
    table, columns = _found(table, naming, id)
    table.work.bar.update("Comparing")
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
    table.work.bar.update("Applying")
    answered = extend_frame(table.frame, columns, consensus, Output(prefix, proba))
    return AnsweredFile(**vars(answered), file=table)


def _found(table: FileTable, naming: Naming, id: str | None) -> tuple[FileTable, Columns]:
    """Find the columns, and add the labels of other files."""
    if id is not None:
        require_column(id, table.columns, "id")
        if naming.objects is not None:
            must = f"must be left out for a long table, which names objects by {arg('objects')}"
            raise InputError("id", phrase=f"{arg('id')} {must}")
        again = f"count({quoted(id)}) - count(DISTINCT {quoted(id)})"
        n_again = table.rows.aggregate(again).fetchall()[0][0]
        if n_again:
            text = f"{count(n_again, 'row')} in column {id!r} are called like an earlier row."
            warnings.warn(text, stacklevel=2)
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
