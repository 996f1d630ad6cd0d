"""The one way from a table to its answers: votes are read, solved, and every row gets its answer.

Rows with the same votes and clusters get the same answer, so only distinct rows are solved (of a
long table, its objects). Where there are more than `max_rows`, the most frequent are solved, and
the others are answered by the rule that this finds. Rows in memory find their answers by number; a
lazy table is joined with its answers by its engine.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial, reduce
from importlib import import_module
from operator import and_
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from .._checks import InputError, InputTypeError, require_integer
from .._text import arg, count
from .._typing import Array
from ..algebra.membership import entries
from ..answer import ExtendWarning, Note
from ..answer.extension import require_rule
from ..answer.notes import NoteKind
from ..answer.solution import matching_labels
from ..consensus import Consensus, changed
from ..diagnosis.metrics import votes_per_row
from ..methods import Method
from ..votes import Votes, only_rows, split_by
from ..votes.encoding import known_codes, name_codes
from ..votes.labels import plain
from ..votes.layout import frozen
from ..votes.operations import group_ballot
from ..votes.reading import seen_by_narwhals, single_column
from .columns import OURS, Columns, Frame, dataset_as_arrow, is_dataset, quoted
from .content import Content, content_of, in_text, key_name, new_content_of

MOST_ROWS = 5_000_000
CHUNK = 1 << 18  # rows answered at a time by a rule, which bounds the memory
LABEL_TYPES: dict[str, Any] = {"b": nw.Boolean(), "i": nw.Int64(), "u": nw.UInt64()}

# ---- the columns that are added ------------------------------------------------------------------


@dataclass(frozen=True)
class Output:
    """The label and the confidence, and on request the probabilities and the votes."""

    prefix: str = ""
    proba: bool = False
    counts: bool = False

    def types(self, classes: Array) -> dict[str, Any]:
        """The new columns by name, each with its type."""
        large = classes.dtype == object and all(isinstance(label, int) for label in classes)
        label = LABEL_TYPES.get("u" if large else classes.dtype.kind, nw.String())
        shares = [f"proba_{plain(label)}" for label in classes if self.proba]
        types = {"consensus": label} | dict.fromkeys(["confidence", *shares], nw.Float64())
        if self.counts:
            votes = [f"votes_{plain(label)}" for label in classes]
            types |= {"n_votes": nw.Int64()} | dict.fromkeys(votes, nw.Float64())
        return {f"{self.prefix}{name}": dtype for name, dtype in types.items()}

    def require_new_names(self, frame: Frame, classes: Array) -> None:
        """Refuse to overwrite a column, and new columns that the engine cannot tell apart."""
        ignores_case = frame.implementation.is_duckdb() or frame.implementation.is_spark_like()
        folded = str.casefold if ignores_case else str
        taken = {folded(str(name)): str(name) for name in frame.collect_schema().names()}
        for name in self.types(classes):
            other = taken.setdefault(folded(name), name)
            if other is not name:
                must = f"must have no column {other!r}, because {name!r} is added"
                remedy = f"Rename it, or pass {arg('prefix', 'ec3_')}."
                raise InputError("table", must, remedy=remedy)

    def columns(self, classes: Array, answer: Consensus | None, backend: Any) -> list[Any]:
        """Write the answer for each object as columns of a library; None is for no objects."""
        types = self.types(classes)
        values: list[Any] = [[] for _ in types]
        if answer is not None:
            rows = changed(answer, index=None)  # distinct rows, which are fewer
            labels, shares = rows.labels(), rows.proba.T if self.proba else ()
            values = [labels.tolist() if labels.dtype == object else labels, rows.confidence]
            values += map(np.ascontiguousarray, shares)
            values += _vote_counts(rows) if self.counts else []
        columns = [
            nw.new_series(name, column, types[name], backend=backend)
            for name, column in zip(types, values, strict=True)
        ]
        if answer is None or answer.solution.index is None:
            return columns
        return [column[answer.solution.index] for column in columns]


def _vote_counts(answer: Consensus) -> list[Array]:
    """How many votes each distinct row has, and how many for each class; soft votes are shared."""
    votes = answer.solution.require_votes("counts")
    ballot = group_ballot(votes)
    n_votes = votes_per_row(votes, np.diff(ballot.indptr) > 0)
    by_class = np.pad((entries(votes) @ ballot).toarray(), [(0, 0), (0, 1)])
    places = matching_labels(answer.classes, votes.classes)  # of a class without votes: the last
    return [n_votes.round().astype(np.int64), *by_class.T[places]]


# ---- the way -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answered:
    """A table, and an answer for each of its distinct rows or objects."""

    frame: Frame
    columns: Columns
    output: Output
    consensus: Consensus
    rows: Frame  # those that are answered
    answer: Consensus | None  # for all of them; None: there are none
    truth: Any = None  # labels to judge the consensus by, one per object

    @property
    def table(self) -> Any:
        """The table with its answers, of the kind it was."""
        return self._with_answers(self.frame).to_native()

    @property
    def per_object(self) -> Any:
        """The objects of a long table with their answers; a table in memory keeps their order."""
        self.columns.require_long()
        objects = self.frame.select(self.columns.objects)
        if isinstance(objects, nw.LazyFrame):
            return self._with_answers(objects.unique()).to_native()
        objects = nw.maybe_reset_index(objects.unique(maintain_order=True))
        return self._with_answers(objects).to_native()

    def _with_answers(self, frame: Frame) -> Frame:
        """Add the answers to the table, or to its objects."""
        backend = self.rows.implementation
        added = self.output.columns(self.consensus.classes, self.answer, backend)
        if isinstance(frame, nw.LazyFrame):
            keys = self.columns.join_keys
            return join(frame, self.rows.select(keys).with_columns(*added), keys)
        if self.columns.objects is not None and self.answer is not None:
            number = _object_numbers(frame, self.rows, self.columns.objects)
            added = [column[number] for column in added]
        return frame.with_columns(*added)


def _object_numbers(frame: Frame, objects: Frame, name: str) -> Array:
    """The number of each row's object."""
    of_rows, of_objects = (
        name_codes(single_column(table.get_column(name).to_native(), "objects"), "objects")[0]
        for table in (frame, objects)
    )  # in the sorted order of the names
    return np.argsort(of_objects)[of_rows]


def combine_frame(
    frame: Frame, columns: Columns, method: Method, output: Output, max_rows: int
) -> Answered:
    """Solve the votes in the columns of a table, and answer for every row."""
    require_integer("max_rows", max_rows, 1)
    content = content_of(frame, columns)
    output.require_new_names(frame, content.votes.classes)
    if content.votes.n_rows > max_rows:
        consensus, answer = _solve_sample(content, method, int(max_rows))
    else:
        consensus = answer = method.solve(content.votes, content.known)
        if isinstance(frame, nw.LazyFrame) and columns.objects is None:
            rows = count(len(content.rows), "distinct row")
            text = (
                f"The objects here are the {rows} of the table, each counted as often as it occurs."
            )
            consensus = _with_note(consensus, "distinct rows", text)
    consensus = changed(consensus, soft_columns=columns.soft)
    return Answered(frame, columns, output, consensus, content.rows, answer, content.truth)


def extend_frame(frame: Frame, columns: Columns, consensus: Consensus, output: Output) -> Answered:
    """Answer for every row of a table from a consensus that exists."""
    require_rule(consensus.solution)
    output.require_new_names(frame, consensus.classes)
    content = new_content_of(frame, columns, consensus)
    if content is None:
        rows = frame if isinstance(frame, nw.DataFrame) else frame.head(0).collect()
        return Answered(frame, columns, output, consensus, rows, None)
    votes = content.votes
    if columns.is_text:  # a CSV file has 1 as text where the consensus perhaps has an integer
        consensus = changed(consensus, **in_text(consensus.solution))
        votes = replace(votes, **in_text(votes))
    answer = _extend_in_parts(consensus, votes)
    return Answered(frame, columns, output, consensus, content.rows, answer)


def _extend_in_parts(consensus: Consensus, votes: Votes) -> Consensus:
    """Answer for new votes, some distinct rows at a time."""
    if votes.n_rows <= CHUNK:
        return consensus.extend(votes)
    parts = [
        consensus.extend(only_rows(votes, rows))
        for rows in np.array_split(np.arange(votes.n_rows), votes.n_rows // CHUNK + 1)
    ]
    return changed(
        parts[0],
        votes=votes,
        solved_proba=np.concatenate([part.proba for part in parts]),
        unanswered_rows=np.concatenate([part.unanswered for part in parts]),
        index=votes.index,
        object_ids=votes.object_ids,
    )


# ---- more distinct rows than are solved ----------------------------------------------------------


def _solve_sample(content: Content, method: Method, max_rows: int) -> tuple[Consensus, Consensus]:
    """Solve the most frequent rows, labelled ones first, and answer for all by the rule found."""
    votes, codes = content.votes, np.full(content.votes.n_rows, -1)
    if content.known is not None:
        known = known_codes(content.known, votes.classes, votes.n_objects, votes.object_ids)
        votes, codes = split_by(votes, known)
    shuffled = np.random.default_rng(0).permutation(votes.n_rows)  # among equally frequent ones
    rows = np.lexsort((shuffled, -votes.counts, codes < 0))[:max_rows]
    labelled = codes[rows] >= 0
    solved = _solve_rows(votes, rows, codes[rows], method)
    with warnings.catch_warnings():  # of clusters outside the sample: the note says enough
        warnings.simplefilter("ignore", ExtendWarning)
        extended = _extend_in_parts(solved, votes)
    proba = np.array(extended.solution.row_proba)
    proba[rows[labelled]] = solved.proba[labelled]
    share = votes.counts[rows].sum() / votes.counts.sum()
    most = count(len(rows), "most frequent distinct row")
    text = f"Solved on the {most} ({arg('max_rows')}), {100 * share:.1f} % of the table; "
    text += "the others are answered by the rule that this found."
    return _with_note(solved, "sample", text), changed(extended, solved_proba=proba)


def _solve_rows(votes: Votes, rows: Array, codes: Array, method: Method) -> Consensus:
    """Solve some rows, counted as often as they occur; `codes` are known classes, or -1."""
    names = votes.object_ids
    if names is not None:  # that of the first object of each row
        first = rows if votes.index is None else np.unique(votes.index, return_index=True)[1][rows]
        names = names[first]
    counts = frozen(votes.counts[rows])
    sample = replace(only_rows(votes, rows), object_ids=names, sample_weight=counts)
    labelled = np.flatnonzero(codes >= 0)
    known = (labelled if names is None else names[labelled], votes.classes[codes[labelled]])
    solved = method.solve(sample, known if len(labelled) else None)
    require_rule(solved.solution, "rows it has not solved", f"Raise {arg('max_rows')}")
    return solved


def _with_note(consensus: Consensus, kind: NoteKind, text: str) -> Consensus:
    return changed(consensus, notes=(*consensus.solution.notes, Note(kind, text)))


# ---- engines join rows and answers ---------------------------------------------------------------
# narwhals' joins match no nulls, so each engine joins in its own words. Here nulls match nulls, and
# a row without an answer stays.


def as_frame(table: Any) -> Frame:
    """See a table through narwhals; refuse what is no table of a supported kind."""
    frame = seen_by_narwhals(dataset_as_arrow(table) if is_dataset(table) else table)
    lazy = isinstance(frame, nw.LazyFrame) and frame.implementation in JOINS
    if not isinstance(frame, nw.DataFrame) and not lazy:
        must = (
            "must be a pandas, polars or Arrow table, a polars LazyFrame, a DuckDB relation, "
            "a Dask or Spark DataFrame or a Dataset of Hugging Face"
        )
        raise InputTypeError("table", must, came=type(table).__name__)
    return frame


def join(frame: Frame, answers: Frame, keys: list[str]) -> Frame:
    """Add the columns of a table in memory to the rows of a lazy table with the same keys."""
    return nw.from_native(JOINS[frame.implementation](frame.to_native(), answers.to_native(), keys))


def _join_polars(table: Any, answers: Any, keys: list[str]) -> Any:
    return table.join(answers.lazy(), on=keys, how="left", nulls_equal=True, maintain_order="left")


def _join_dask(table: Any, answers: Any, keys: list[str]) -> Any:
    """Join each partition by itself, which keeps its index and its order."""
    empty = import_module("dask.dataframe.utils").make_meta(table)
    added = {name: column.iloc[:0].array for name, column in answers.items() if name not in keys}
    return table.map_partitions(
        partial(_join_partition, answers=answers, keys=keys), meta=empty.assign(**added)
    )


def _join_partition(part: Any, answers: Any, keys: list[str]) -> Any:
    both = part[keys].merge(answers, on=keys, how="left", validate="many_to_one")
    return part.assign(**{name: both[name].array for name in answers.columns if name not in keys})


def _join_spark(table: Any, answers: Any, keys: list[str]) -> Any:
    """Broadcast the answers to every worker; the rows stay where they are."""
    functions = import_module("pyspark.sql.functions")
    answers = functions.broadcast(table.sparkSession.createDataFrame(answers))
    answers = answers.withColumnsRenamed({key: key_name(i) for i, key in enumerate(keys)})
    same = [table[f"`{key}`"].eqNullSafe(answers[key_name(i)]) for i, key in enumerate(keys)]
    return table.join(answers, reduce(and_, same), "left").drop(*map(key_name, range(len(keys))))


def _join_duckdb(table: Any, answers: Any, keys: list[str]) -> Any:
    added = [quoted(name) for name in answers.column_names if name not in keys]
    keyed = [f"{quoted(key)} AS {key_name(i)}" for i, key in enumerate(keys)]
    # A relation does not tell its connection, but `query` runs on it, and there DuckDB finds an
    # Arrow table by the name of the Python variable that holds it.
    ec3learn_answers_in_arrow = answers  # noqa: F841
    right = table.query(f"{OURS}view", "SELECT * FROM ec3learn_answers_in_arrow")
    right = right.project(", ".join([*keyed, *added])).set_alias("r")
    same = [f"l.{quoted(key)} IS NOT DISTINCT FROM r.{key_name(i)}" for i, key in enumerate(keys)]
    both = table.set_alias("l").join(right, " AND ".join(same), how="left")
    return both.project(", ".join([*map(quoted, table.columns), *added]))


JOINS = {
    nw.Implementation.POLARS: _join_polars,
    nw.Implementation.DUCKDB: _join_duckdb,
    nw.Implementation.DASK: _join_dask,
    nw.Implementation.PYSPARK: _join_spark,
    nw.Implementation.PYSPARK_CONNECT: _join_spark,
}
