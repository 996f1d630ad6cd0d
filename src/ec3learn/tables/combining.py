"""combine, votes_from and extend: how a table becomes votes, and how the answers get back into it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from .._checks import require_integer
from .._text import arg, count
from ..answer import ExtendWarning
from ..answer.extension import require_rule
from ..answer.notes import DISTINCT_ROWS, SAMPLE, Note
from ..consensus import Consensus
from ..methods.base import Method, method_of
from ..votes import Votes
from ..votes.encoding import known_codes, name_codes
from ..votes.labels import Label, plain
from ..votes.reading import encode, named_columns
from .columns import Source, columns_of_model, frame_of, source_of
from .engines import COUNT, ENGINES, HASH, OURS, collected, counted, hashed, joined
from .groups import answered_from_groups, overridden
from .output import Output, Rule

Array = npt.NDArray[Any]
Table = TypeVar("Table")
Frame = Any  # a DataFrame or LazyFrame of narwhals

MOST_PATTERNS = 5_000_000
MOST_CLASSES = 1_000
UNSOLVED, RAISE = "rows it has not solved", f"Raise {arg('max_patterns')}"
CHUNK = 1 << 18  # rows answered at a time from the table of groups


def combine(
    table: Table,
    *,
    classifiers: Any,
    clusterings: Any = (),
    method: str | Method = "iec3",
    known: str | None = None,
    objects: str | None = None,
    voters: str | None = None,
    classes: Sequence[Label] | None = None,
    missing: Label | None = None,
    proba: bool = False,
    rule: Rule = "argmax",
    prefix: str = "",
    max_patterns: int = MOST_PATTERNS,
    max_classes: int = MOST_CLASSES,
    number: bool = False,
    return_consensus: bool = False,
) -> Any:
    """Combine the columns of a table into one classification, and put it into the table.

    Parameters
    ----------
    table : pandas, polars or Arrow table, polars LazyFrame, DuckDB relation, Dask or Spark DataFrame
        One row an object. Lazy tables stay lazy: the engine counts the distinct rows of the columns named here, only these
        come to this process, and the engine joins the answers back when you ask it for rows.
    classifiers, clusterings : column names, patterns such as "clf_*", a selector, or a dict of name -> column
        Who voted: ints, bools, strings or categoricals; null is no vote. In a dict a soft model has a column for each class,
        `{"svm": {"spam": "p1", "ham": "p2"}}`, or a list of columns: in the order of `classes`, or called after model and
        class, `{"svm": ["svm_spam", "svm_ham"]}`. Patterns and selectors leave out the columns that are named otherwise.
    method : str or method
        A name in `METHODS`, or a method with parameters of your own.
    known : column name
        Labels of a few objects; null where there is none.
    objects, voters : column names
        Given together, the table is long: a row a vote, with the object, the voter, and in `classifiers` the column of the
        labels. `clusterings` and `known` are then the same in all rows of an object.
    classes : sequence of labels
        The classes and their order; needed to name classes nobody voted for, or the order of soft votes.
    missing : label
        A further value that means "no vote".
    proba : bool
        Add a column `proba_<class>` for each class.
    rule : "argmax" or "mass"
        How labels follow from probabilities, as in `Consensus.labels`.
    prefix : str
        Put before the names of the new columns, where the table has such columns already.
    max_patterns : int
        The largest number of distinct rows (of a long table: of objects) to solve. If there are more, the most frequent ones
        are solved (among equals a hash decides; rows with a known label always are), and all the others are answered from
        the groups, as `Consensus.extend` does it. The consensus says so in its notes.
    max_classes : int
        The largest number of classes to believe in, unless `classes` names them.
    number : bool
        Add a column `number`: what the `Consensus` calls the row's object, as in `explain(number)`.
    return_consensus : bool
        Return the `Consensus` too, which tells who drove the answer; that of a lazy table has the distinct rows for its objects.

    Returns
    -------
    table, or (table, Consensus)
        The same kind of table with its columns untouched, and behind them `consensus` (text, 64-bit whole numbers or bools),
        `confidence` and, on request, the probabilities. pandas, polars, Arrow and Dask keep the order of the rows (Dask not
        that of a long table with too many objects); DuckDB and Spark promise none.

    Examples
    --------
    >>> import pandas as pd
    >>> from ec3learn.tables import combine
    >>> frame = pd.DataFrame({"id": [7, 8, 9], "clf_svm": ["a", "b", "b"], "clf_knn": ["a", None, "b"], "kmeans": [0, 0, 1]})
    >>> table, consensus = combine(frame, classifiers="clf_*", clusterings="kmeans", return_consensus=True)
    >>> table[["id", "consensus"]].values.tolist()
    [[7, 'a'], [8, 'b'], [9, 'b']]
    >>> consensus.voters()["model"]
    ['clf_svm', 'clf_knn', 'kmeans']
    """
    frame = frame_of(table)
    source = source_of(
        frame,
        classifiers,
        clusterings,
        known=known,
        objects=objects,
        voters=voters,
        classes=classes,
        missing=missing,
        max_classes=max_classes,
    )
    answered = combined(frame, source, method, Output.of(frame, prefix, proba, rule, number), max_patterns)
    return (answered.table, answered.consensus) if return_consensus else answered.table


def votes_from(
    table: Any,
    *,
    classifiers: Any,
    clusterings: Any = (),
    objects: str | None = None,
    voters: str | None = None,
    classes: Sequence[Label] | None = None,
    missing: Label | None = None,
    max_patterns: int = MOST_PATTERNS,
    max_classes: int = MOST_CLASSES,
) -> Votes:
    """Make `Votes` from the columns of a table.

    Parameters
    ----------
    table, classifiers, clusterings, objects, voters, classes, missing, max_classes
        As in `combine`.
    max_patterns : int
        The largest number of distinct rows that a lazy table may bring to this process.

    Returns
    -------
    Votes
        Of a table in memory an object a row; of a lazy table an object a distinct row, weighted by how often it stands there;
        of a long table its objects.

    Examples
    --------
    >>> import polars as pl
    >>> from ec3learn.tables import votes_from
    >>> table = pl.LazyFrame({"svm": ["a", "b", "b"], "knn": ["a", "b", "b"]})
    >>> sorted(votes_from(table, classifiers=["svm", "knn"]).sample_weight.tolist())
    [1.0, 2.0]
    """
    frame = frame_of(table)
    source = source_of(
        frame,
        classifiers,
        clusterings,
        objects=objects,
        voters=voters,
        classes=classes,
        missing=missing,
        max_classes=max_classes,
    )
    require_integer("max_patterns", max_patterns, 1)
    if isinstance(frame, nw.DataFrame):
        return source.votes(_units_in_memory(frame, source), frame)
    units = _distinct(frame, source, int(max_patterns))
    if units is None:
        raise ValueError(
            f"table must have at most max_patterns={max_patterns:,} distinct rows, got more. Raise max_patterns, or use combine, "
            "which solves a sample of them."
        )
    return source.votes(units, _long_rows(frame, source))


def extend(
    table: Table,
    model: Consensus,
    *,
    classifiers: Any = None,
    clusterings: Any = None,
    objects: str | None = None,
    voters: str | None = None,
    missing: Label | None = None,
    proba: bool = False,
    prefix: str = "",
    max_patterns: int = MOST_PATTERNS,
) -> Table:
    """Answer for the objects of another table without solving again.

    Parameters
    ----------
    table : as in `combine`
        The new objects.
    model : Consensus
        What was learned; `Consensus.load` reads it from a file.
    classifiers, clusterings : as in `combine`
        The columns of the base models; without them those that are called like the model's.
    objects, voters, missing, proba, prefix
        As in `combine`.
    max_patterns : int
        The largest number of distinct rows that a lazy table may bring to this process. If there are more, the engine answers
        from the groups alone and never-seen labels are not counted. With 0 it does so always: nothing is run until you ask for
        rows.

    Returns
    -------
    table
        The same kind of table with its columns untouched, and behind them `consensus`, `confidence` and, on request, the
        probabilities.

    Examples
    --------
    >>> import pandas as pd
    >>> from ec3learn.tables import combine, extend
    >>> old = pd.DataFrame({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]})
    >>> _, model = combine(old, classifiers=["svm", "knn"], return_consensus=True)
    >>> extend(pd.DataFrame({"svm": ["b"], "knn": ["b"]}), model)["consensus"].tolist()
    ['b']
    """
    if not isinstance(model, Consensus):
        raise TypeError(f"model must be a Consensus, got {type(model).__name__}. Consensus.load(path) reads one from a file.")
    frame = frame_of(table)
    classifiers, clusterings = columns_of_model(frame, model, classifiers, clusterings, objects)
    source = source_of(frame, classifiers, clusterings, objects=objects, voters=voters, classes=model.classes, missing=missing)
    answered: Table = extended(frame, source, model, Output.of(frame, prefix, proba), max_patterns).table
    return answered


# ---- the columns found, and what becomes of them ---------------------------------------------------------------------


@dataclass(frozen=True)
class Answered:
    """A table, and an answer for each of its distinct rows; without `answers` the table has them in columns already."""

    frame: Frame
    consensus: Consensus
    keys: list[str] = field(default_factory=list)  # the columns by which rows find their answers
    answers: Frame | None = None

    @property
    def table(self) -> Any:
        """Return the table with its answers, of the kind it was."""
        return (self.frame if self.answers is None else joined(self.frame, self.answers, self.keys)).to_native()


def combined(frame: Frame, source: Source, method: str | Method, output: Output, max_patterns: int) -> Answered:
    """Solve what the columns of a table say; `combine` for columns that have been found."""
    solver = method_of(method, "method")
    require_integer("max_patterns", max_patterns, 1)
    if output.number and source.objects is not None:
        raise ValueError("number must be False for a long table, got True. Its objects are called by their names.")
    solve = _combine_in_memory if isinstance(frame, nw.DataFrame) else _combine_in_engine
    return solve(frame, source, solver, output, int(max_patterns))


def extended(frame: Frame, source: Source, model: Consensus, output: Output, max_patterns: int) -> Answered:
    """Answer from a model; `extend` for columns that have been found."""
    require_integer("max_patterns", max_patterns, 0)
    output.require_free(model.classes)
    if isinstance(frame, nw.DataFrame):
        return Answered(_extend_in_memory(frame, source, model, output), model)
    distinct = _distinct(frame, source, int(max_patterns)) if max_patterns else None
    if distinct is None or not len(distinct):
        return Answered(_answered_from_groups(frame, source, model, output), model)
    answer = _extended(model, source.new_votes(distinct, _long_rows(frame, source), model))
    return Answered(frame, model, source.keys, output.beside(distinct.select(source.keys), answer))


# ---- in memory -------------------------------------------------------------------------------------------------------


def _combine_in_memory(frame: Frame, source: Source, solver: Method, output: Output, most: int) -> Answered:
    """Solve the distinct rows, which `Votes` finds by itself, and give every row its answer by number."""
    units = _units_in_memory(frame, source)
    votes = source.votes(units, frame)
    output.require_free(votes.classes)
    known = source.known_labels(units)
    if votes.n_rows <= most:
        consensus = answer = solver.solve(votes, known)
    else:
        output.require_sample(most)
        consensus, answer = _solve_sample(votes, known, solver, most)
    return Answered(_answered_in_memory(frame, units, source, output, answer), consensus)


def _solve_sample(votes: Votes, known: Any, solver: Method, most: int) -> tuple[Consensus, Consensus]:
    """Solve the most frequent rows, those with a known label first, and answer for all rows from their groups."""
    codes: Array = np.full(votes.n_rows, -1)
    if known is not None:
        votes, codes = votes.split_by(known_codes(known, votes.classes, votes.n_objects, None))
    shuffled = np.random.default_rng(0).permutation(votes.n_rows)
    rows = np.lexsort((shuffled, -votes.counts, codes < 0))[:most]
    labelled = codes[rows] >= 0
    _require_room(bool(labelled.all()), most)
    labels = [plain(votes.classes[code]) if code >= 0 else None for code in codes[rows]]
    sample = replace(votes.only_rows(rows), object_ids=None if votes.object_ids is None else votes.object_ids[rows])
    solved = solver.solve(sample, labels if labelled.any() else None)
    require_rule(solved, UNSOLVED, RAISE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtendWarning)  # clusters outside the sample: the note says how rows are answered
        extended = _extended(solved, votes)
    proba = np.array(extended.row_proba)
    proba[rows[labelled]] = solved.proba[labelled]
    note = _sample_note(len(rows), sample.counts.sum() / votes.counts.sum())
    return _noted(solved, note), replace(extended, solved_proba=proba)


def _extend_in_memory(frame: Frame, source: Source, model: Consensus, output: Output) -> Frame:
    """Answer for the rows of a table without solving; there may be none."""
    if not len(frame):
        return frame.with_columns(*output.empty(model.classes, frame.implementation))
    units = _units_in_memory(frame, source)
    extended = _extended(model, source.new_votes(units, frame, model))
    return _answered_in_memory(frame, units, source, output, extended)


def _extended(model: Consensus, votes: Votes) -> Consensus:
    """Answer for new votes, some rows at a time."""
    if votes.n_rows <= CHUNK:
        return model.extend(votes)
    places = np.arange(votes.n_rows)
    parts = [model.extend(votes.only_rows(places[begin : begin + CHUNK])) for begin in range(0, votes.n_rows, CHUNK)]
    return replace(
        parts[0],
        votes=votes,
        solved_proba=np.concatenate([part.proba for part in parts]),
        unanswered_rows=np.concatenate([part.unanswered for part in parts]),
        index=votes.index,
        object_ids=votes.object_ids,
    )


def _units_in_memory(frame: Frame, source: Source) -> Frame:
    """Return the rows, or of a long table the objects."""
    if source.objects is None:
        return frame
    return source.one_unit_an_object(frame.select(source.keys).unique(maintain_order=True))


def _answered_in_memory(frame: Frame, units: Frame, source: Source, output: Output, answer: Consensus) -> Frame:
    """Add the answers to a table, each row's by the number of its distinct row or object."""
    index = answer.index
    if source.objects is not None:
        index = np.argsort(_numbered(units, source.objects))[_numbered(frame, source.objects)]
    columns = output.columns(replace(answer, index=None), frame.implementation)
    answers = (column if index is None else column[index] for column in columns)
    return frame.with_columns(*answers, *output.numbers(len(frame), frame.implementation))


def _numbered(frame: Frame, objects: str) -> Array:
    """Return the objects as numbers in sorted order."""
    column = named_columns({"objects": frame.get_column(objects).to_native()}, "table", "")["objects"]
    return name_codes(encode("objects", column, "table"), "objects")[0]


# ---- in an engine ----------------------------------------------------------------------------------------------------


def _combine_in_engine(frame: Frame, source: Source, solver: Method, output: Output, most: int) -> Answered:
    """Solve the distinct rows that the engine counts."""
    units = _distinct(frame, source, most)
    if units is None:
        return _combine_sample(frame, source, solver, output, most)
    votes = source.votes(units, _long_rows(frame, source))
    output.require_free(votes.classes)
    consensus = solver.solve(votes, source.known_labels(units))
    answers = output.beside(units.select(source.keys), consensus)
    if source.objects is None:
        rows = count(len(units), "distinct row")
        consensus = _noted(
            consensus,
            Note(DISTINCT_ROWS, f"The objects here are the {rows} of the table, each counted as often as it occurs."),
        )
    return Answered(frame, consensus, source.keys, answers)


def _combine_sample(frame: Frame, source: Source, solver: Method, output: Output, most: int) -> Answered:
    """Solve the most frequent rows; the engine answers for all rows from their groups."""
    output.require_sample(most)
    sample = _most_frequent(frame, source, most)
    source = replace(source, classes=source.all_classes(frame))
    votes = source.votes(sample, _long_rows(frame, source, sample))
    output.require_free(votes.classes)
    solved = solver.solve(votes, source.known_labels(sample))
    answered = _answered_from_groups(frame, source, solved, output)
    if source.known is not None:
        labelled = output.beside(sample.select(source.keys), solved).filter(~nw.col(source.known).is_null())
        answered = overridden(answered, labelled, source.keys)
    n_rows = collected(frame.select(nw.len().alias(COUNT)))[COUNT].item()
    return Answered(answered, _noted(solved, _sample_note(len(sample), sample[COUNT].sum() / n_rows)))


def _answered_from_groups(frame: Frame, source: Source, model: Consensus, output: Output) -> Frame:
    """Let the engine answer for every row from its groups: by arrays where it works in Python anyway, else by joins."""
    require_rule(model, UNSOLVED, RAISE)
    engine, table = ENGINES[frame.implementation], frame.to_native()
    if engine.map_parts is None or (source.objects is not None and engine.together is None):
        return answered_from_groups(frame, source, model, output)
    if source.objects is not None and engine.together is not None:
        table = engine.together(table, source.objects)
    answered = partial(_answered_part, source=source, model=model, output=output)
    added = [column.to_native() for column in output.empty(model.classes, engine.backend)]
    return nw.from_native(engine.map_parts(table, answered, added))


def _answered_part(part: Any, source: Source, model: Consensus, output: Output) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtendWarning)
        return _extend_in_memory(nw.from_native(part, eager_only=True), source, model, output).to_native()


def _distinct(frame: Frame, source: Source, most: int) -> Frame | None:
    """Return the units and in how many rows each stands, or None if there are too many."""
    found = collected(counted(frame, source.keys, source.row).head(most + 1))
    return None if len(found) > most else source.one_unit_an_object(found)


def _most_frequent(frame: Frame, source: Source, most: int) -> Frame:
    """Return the units with the most rows, equally frequent ones in the order of a hash; those with a known label come first."""
    unknown = nw.lit(0) if source.known is None else nw.when(nw.col(source.known).is_null()).then(1).otherwise(0)
    order = {f"{OURS}unknown": unknown, f"{OURS}rare": 0 - nw.col(COUNT).cast(nw.Int64)}
    sample = collected(
        hashed(counted(frame, source.keys, source.row), source.keys).with_columns(**order).sort(*order, HASH).head(most)
    ).drop(HASH, *order)
    _require_room(source.known is not None and not sample.get_column(source.known).is_null().any(), most)
    return source.one_unit_an_object(sample)


def _long_rows(frame: Frame, source: Source, sample: Frame | None = None) -> Frame | None:
    """Return the votes of a long table: all, or those on a sample of the objects."""
    if source.objects is None:
        return None
    rows = frame.select(source.objects, source.voters, source.labels)
    if sample is not None:
        chosen = joined(rows, sample.select(source.objects, COUNT), [source.objects])
        rows = chosen.filter(~nw.col(COUNT).is_null()).drop(COUNT)
    return collected(rows)


# ---- what is said about it -------------------------------------------------------------------------------------------


def _noted(consensus: Consensus, note: Note) -> Consensus:
    return replace(consensus, notes=(*consensus.notes, note))


def _sample_note(n_solved: int, share: float) -> Note:
    return Note(
        SAMPLE,
        f"Solved on {count(n_solved, 'distinct row')}, the most frequent (max_patterns), which stand for {100 * share:.1f} % of "
        "the table; every row is answered from its groups.",
    )


def _require_room(all_known: bool, most: int) -> None:
    if all_known:
        raise ValueError(f"max_patterns must leave room for rows without a known label, got {most:,}. Raise it.")
