"""The one way from a table to its answers: distinct rows become votes, votes are solved, and every row gets its answer.

Rows with the same votes and clusters get the same answer, so only distinct rows are solved (of a
long table, its objects). A table in memory is taken as it is, because `Votes` finds its distinct
rows; of a lazy table the engine counts them, and joins the answers back. Where there are more than
`max_rows`, the most frequent are solved and every row is answered from its groups.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from .._checks import InputError, require_integer
from .._text import arg, count
from .._typing import Array
from ..answer import ExtendWarning, Note
from ..answer.extension import require_rule
from ..answer.notes import DISTINCT_ROWS, SAMPLE
from ..consensus import Consensus, changed
from ..methods import Method, method_of
from ..votes import Votes, only_rows, split_by
from ..votes.encoding import known_codes, name_codes
from ..votes.labels import plain
from ..votes.layout import frozen
from ..votes.reading import single_column
from .columns import Columns
from .content import (
    Content,
    content_of,
    find_classes,
    new_votes_of,
    one_row_per_object,
    only_scales_of,
    sorted_content,
)
from .engines import (
    COUNT,
    ENGINES,
    HASH,
    OURS,
    Frame,
    add_hash,
    collect,
    count_rows,
    exact,
    join,
    keep,
    read_parts,
)
from .groups import answer_from_groups, override, rules_for_joins
from .output import Output

MOST_ROWS, MOST_CLASSES = 5_000_000, 1_000
UNSOLVED, RAISE = "rows it has not solved", f"Raise {arg('max_rows')}"
CHUNK = 1 << 18  # rows answered at a time from the groups


@dataclass(frozen=True)
class Answered:
    """A table, and an answer for each of its distinct rows; without `answers` the table has them in columns already."""

    frame: Frame
    consensus: Consensus
    keys: list[str] = field(default_factory=list)  # the columns by which rows find their answers
    answers: Frame | None = None
    truth: Any = None  # labels to judge the consensus by, one per object

    @property
    def table(self) -> Any:
        """Return the table with its answers, of the kind it was."""
        return self._joined.to_native()

    def per_object(self, columns: Columns, output: Output) -> Any:
        """Return the objects of a long table with their answers; a table in memory keeps their order."""
        columns.require_long()
        rows = self._joined.select(columns.objects, *output.types(self.consensus.classes))
        if isinstance(rows, nw.LazyFrame):
            return rows.unique(columns.join_keys).to_native()
        return nw.maybe_reset_index(rows.unique(columns.join_keys, maintain_order=True)).to_native()

    @property
    def _joined(self) -> Frame:
        return self.frame if self.answers is None else join(self.frame, self.answers, self.keys)


def combine_frame(
    frame: Frame, columns: Columns, method: str | Method, output: Output, max_rows: int
) -> Answered:
    """Solve the votes in the columns of a table, and answer for every row."""
    solver = method_of(method, "method")
    require_integer("max_rows", max_rows, 1)
    if output.number and columns.objects is not None:
        remedy = "Its objects are identified by name."
        raise InputError("number", "must be False for a long table", got=True, remedy=remedy)
    solve = _combine_in_memory if isinstance(frame, nw.DataFrame) else _combine_in_engine
    return solve(frame, columns, solver, output, int(max_rows))


def content_of_frame(frame: Frame, columns: Columns, max_rows: int) -> Content:
    """Return what a table holds: on its rows in memory, on the distinct rows of a lazy table."""
    require_integer("max_rows", max_rows, 1)
    if isinstance(frame, nw.DataFrame):
        return content_of(columns, _objects_in_memory(frame, columns), frame)
    distinct = _distinct_rows(frame, columns, int(max_rows))
    if distinct is None:
        remedy = f"Raise {arg('max_rows')}, or use combine, which solves a sample of them."
        raise InputError(
            "table",
            f"must have at most {arg('max_rows', max_rows)} distinct rows",
            came="more",
            remedy=remedy,
        )
    return content_of(columns, distinct, _long_rows(frame, columns))


def extend_frame(
    frame: Frame, columns: Columns, consensus: Consensus, output: Output, max_rows: int
) -> Answered:
    """Answer for every row of a table from a consensus that exists."""
    require_integer("max_rows", max_rows, 0)
    require_rule(consensus.solution)
    output.require_new_names(consensus.classes)
    if isinstance(frame, nw.DataFrame):
        return Answered(_extend_in_memory(frame, columns, consensus, output), consensus)
    distinct = _distinct_rows(frame, columns, int(max_rows)) if max_rows else None
    if distinct is None:
        return Answered(_answer_from_groups(frame, columns, consensus, output), consensus)
    if not len(distinct):
        answers = distinct.select(columns.join_keys).with_columns(
            *output.empty(consensus.classes, distinct.implementation)
        )
        return Answered(frame, consensus, columns.join_keys, answers)
    answer = _extend_in_chunks(
        consensus, new_votes_of(columns, distinct, _long_rows(frame, columns), consensus)
    )
    return Answered(
        frame,
        consensus,
        columns.join_keys,
        output.append_to(distinct.select(columns.join_keys), answer),
    )


# ---- in memory -----------------------------------------------------------------------------------


def _combine_in_memory(
    frame: Frame, columns: Columns, solver: Method, output: Output, max_rows: int
) -> Answered:
    """Solve the distinct rows, which `Votes` finds by itself, and give every row its answer by number."""
    objects = _objects_in_memory(frame, columns)
    content = content_of(columns, objects, frame)
    output.require_new_names(content.votes.classes)
    if content.votes.n_rows <= max_rows:
        consensus = answer = solver.solve(content.votes, content.known)
    else:
        output.require_sample(max_rows)
        consensus, answer = _solve_sample(content.votes, content.known, solver, max_rows)
    return Answered(_append_by_number(frame, objects, columns, output, answer), consensus)


def _solve_sample(
    votes: Votes, known: Any, solver: Method, max_rows: int
) -> tuple[Consensus, Consensus]:
    """Solve the most frequent rows, those with a known label first, and answer for all rows from their groups."""
    codes: Array = np.full(votes.n_rows, -1)
    if known is not None:
        votes, codes = split_by(
            votes, known_codes(known, votes.classes, votes.n_objects, votes.object_ids)
        )
    shuffled = np.random.default_rng(0).permutation(votes.n_rows)
    rows = np.lexsort((shuffled, -votes.counts, codes < 0))[:max_rows]
    labelled = codes[rows] >= 0
    _require_unlabelled(bool(labelled.all()), max_rows)
    labels = [plain(votes.classes[code]) if code >= 0 else None for code in codes[rows]]
    first = (
        rows if votes.index is None else np.unique(votes.index, return_index=True)[1][rows]
    )  # an object of each row
    names = None if votes.object_ids is None else votes.object_ids[first]
    sample = replace(
        only_rows(votes, rows), object_ids=names, sample_weight=frozen(votes.counts[rows])
    )
    solved = solver.solve(sample, labels if labelled.any() else None)
    require_rule(solved.solution, UNSOLVED, RAISE)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ExtendWarning
        )  # clusters outside the sample: the note says how rows are answered
        extended = _extend_in_chunks(solved, votes)
    proba = np.array(extended.solution.row_proba)
    proba[rows[labelled]] = solved.proba[labelled]
    noted = _with_sample_note(solved, len(rows), sample.counts.sum() / votes.counts.sum())
    return noted, changed(extended, solved_proba=proba)


def _extend_in_memory(
    frame: Frame, columns: Columns, consensus: Consensus, output: Output
) -> Frame:
    """Answer for the rows of a table without solving; there may be none."""
    if not len(frame):
        return frame.with_columns(*output.empty(consensus.classes, frame.implementation))
    objects = _objects_in_memory(frame, columns)
    extended = _extend_in_chunks(consensus, new_votes_of(columns, objects, frame, consensus))
    return _append_by_number(frame, objects, columns, output, extended)


def _extend_in_chunks(consensus: Consensus, votes: Votes) -> Consensus:
    """Answer for new votes some rows at a time, which bounds the memory."""
    if votes.n_rows <= CHUNK:
        return consensus.extend(votes)
    rows = np.arange(votes.n_rows)
    parts = [
        consensus.extend(only_rows(votes, rows[begin : begin + CHUNK]))
        for begin in range(0, votes.n_rows, CHUNK)
    ]
    return changed(
        parts[0],
        votes=votes,
        solved_proba=np.concatenate([part.proba for part in parts]),
        unanswered_rows=np.concatenate([part.unanswered for part in parts]),
        index=votes.index,
        object_ids=votes.object_ids,
    )


def _objects_in_memory(frame: Frame, columns: Columns) -> Frame:
    """Return one row per object: the table itself, or what a long table says about its objects."""
    if columns.objects is None:
        return frame
    return one_row_per_object(columns, frame.select(columns.keys).unique(maintain_order=True))


def _append_by_number(
    frame: Frame, objects: Frame, columns: Columns, output: Output, answer: Consensus
) -> Frame:
    """Append the answers to a table: each row finds its own by the number of its distinct row or object."""
    index = answer.solution.index
    if columns.objects is not None:
        of_rows, of_objects = (
            name_codes(
                single_column(table.get_column(columns.objects).to_native(), "objects"), "objects"
            )[0]
            for table in (frame, objects)
        )  # in the sorted order of the names
        number = np.argsort(of_objects)[of_rows]
        index = number if index is None else index[number]
    new = output.columns(changed(answer, index=None), frame.implementation)
    answers = (column if index is None else column[index] for column in new)
    return frame.with_columns(*answers, *output.numbers(len(frame), frame.implementation))


# ---- in an engine --------------------------------------------------------------------------------


def _combine_in_engine(
    frame: Frame, columns: Columns, solver: Method, output: Output, max_rows: int
) -> Answered:
    """Solve the distinct rows that the engine counts."""
    distinct = _distinct_rows(frame, columns, max_rows)
    if distinct is None:
        return _combine_sample(frame, columns, solver, output, max_rows)
    distinct, content = sorted_content(columns, distinct, _long_rows(frame, columns))
    output.require_new_names(content.votes.classes)
    consensus = solver.solve(content.votes, content.known)
    answers = output.append_to(distinct.select(columns.join_keys), consensus)
    if columns.objects is None:
        rows = count(len(distinct), "distinct row")
        text = f"The objects here are the {rows} of the table, each counted as often as it occurs."
        consensus = _with_note(consensus, DISTINCT_ROWS, text)
    return Answered(frame, consensus, columns.join_keys, answers, content.truth)


def _combine_sample(
    frame: Frame, columns: Columns, solver: Method, output: Output, max_rows: int
) -> Answered:
    """Solve the most frequent rows; the engine answers for all rows from their groups."""
    output.require_sample(max_rows)
    if columns.known_labels is not None:
        came = f"labels by object, and more objects than {arg('max_rows', max_rows)}"
        raise InputError(
            "known", "must name a column", came=came, remedy=f"{RAISE}, or add them as a column."
        )
    sample = _most_frequent_rows(frame, columns, max_rows)
    columns, content = _content_of_sample(frame, columns, sample)
    output.require_new_names(content.votes.classes)
    solved = solver.solve(content.votes, content.known)
    answered = _answer_from_groups(frame, columns, solved, output)
    if columns.known is not None:
        labelled = output.append_to(sample, solved).filter(~nw.col(columns.known).is_null())
        answers = labelled.select(*columns.join_keys, *output.types(solved.classes))
        answered = override(answered, answers, columns.join_keys)
    n_rows = collect(frame.select(nw.len().alias(COUNT)))[COUNT].item()
    noted = _with_sample_note(solved, len(sample), sample[COUNT].sum() / n_rows)
    return Answered(answered, noted, truth=content.truth)


def _content_of_sample(frame: Frame, columns: Columns, sample: Frame) -> tuple[Columns, Content]:
    """Return what a sample holds, and the columns with the classes of the whole table."""
    columns = replace(columns, classes=find_classes(columns, frame))
    long = _long_rows(frame, columns, sample)
    return columns, content_of(only_scales_of(columns, long), sample, long)


def _answer_from_groups(
    frame: Frame, columns: Columns, consensus: Consensus, output: Output
) -> Frame:
    """Let the engine answer for every row from its groups: by arrays where it works in Python anyway, else by joins."""
    require_rule(consensus.solution, UNSOLVED, RAISE)
    if _answers_by_joins(frame, columns):
        if columns.objects is not None and columns.repeats != "mean":
            must = "must be 'mean' where an engine answers for objects that were not solved"
            raise InputError(
                "repeats", must, got=columns.repeats, remedy=f"{RAISE}, or leave it out."
            )
        rules = rules_for_joins(consensus)
        if rules is None:
            return _answer_in_parts(frame, columns, consensus, output)
        return answer_from_groups(frame, columns, consensus, output, rules)
    engine, table = ENGINES[frame.implementation], frame.to_native()
    assert engine.map_parts is not None
    if columns.objects is not None and engine.together is not None:
        table = engine.together(table, columns.objects)
    answer = partial(_answer_part, columns=columns, consensus=consensus, output=output)
    added = [column.to_native() for column in output.empty(consensus.classes, engine.backend)]
    return nw.from_native(engine.map_parts(table, answer, added))


def _answer_in_parts(frame: Frame, columns: Columns, consensus: Consensus, output: Output) -> Frame:
    """Answer here for the distinct rows, or the objects, that the engine hands over some at a time; it joins the answers back."""
    if ENGINES[frame.implementation].read is None:
        phrase = f"The engine cannot answer by {consensus.solution.settings['method']} for rows that were not solved"
        raise InputError("method", phrase=phrase, remedy=f"{RAISE}, or solve by another method.")
    if columns.objects is None:
        rows = count_rows(frame, columns.keys).drop(COUNT)
    else:
        rows = exact(frame.select(*columns.keys, columns.voters, columns.labels))
    answer = partial(_answer_part, columns=columns, consensus=consensus, output=output)
    wanted = [*columns.join_keys, *output.types(consensus.classes)]
    parts = (
        nw.from_native(answer(part.to_native()))
        for part in read_parts(rows, CHUNK, columns.objects)
    )
    answers = keep((part.select(wanted).unique(columns.join_keys) for part in parts), output.folder)
    return join(frame, answers, columns.join_keys)


def _answers_by_joins(frame: Frame, columns: Columns) -> bool:
    """Return whether the engine has to answer for rows by joins, since nothing of ours runs in it."""
    engine = ENGINES[frame.implementation]
    return engine.map_parts is None or (columns.objects is not None and engine.together is None)


def _answer_part(part: Any, columns: Columns, consensus: Consensus, output: Output) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtendWarning)
        return _extend_in_memory(
            nw.from_native(part, eager_only=True), columns, consensus, output
        ).to_native()


def _distinct_rows(frame: Frame, columns: Columns, max_rows: int) -> Frame | None:
    """Return the distinct rows and how often each occurs, or None if there are too many."""
    found = collect(count_rows(frame, columns.keys, columns.row_number).head(max_rows + 1))
    return None if len(found) > max_rows else one_row_per_object(columns, found)


def _most_frequent_rows(frame: Frame, columns: Columns, max_rows: int) -> Frame:
    """Return the most frequent distinct rows, those with a known label first, equally frequent ones in the order of a hash."""
    unknown = (
        nw.lit(0)
        if columns.known is None
        else nw.when(nw.col(columns.known).is_null()).then(1).otherwise(0)
    )
    order = {f"{OURS}unknown": unknown, f"{OURS}rare": 0 - nw.col(COUNT).cast(nw.Int64)}
    ranked = (
        add_hash(count_rows(frame, columns.keys, columns.row_number), columns.keys)
        .with_columns(**order)
        .sort(*order, HASH)
    )
    sample = collect(ranked.head(max_rows)).drop(HASH, *order)
    _require_unlabelled(
        columns.known is not None and not sample.get_column(columns.known).is_null().any(), max_rows
    )
    return one_row_per_object(columns, sample)


def _long_rows(frame: Frame, columns: Columns, sample: Frame | None = None) -> Frame | None:
    """Return the votes of a long table: all, or those on a sample of the objects."""
    if columns.objects is None:
        return None
    rows = frame.select(columns.objects, columns.voters, columns.labels)
    if sample is not None:
        chosen = join(rows, sample.select(columns.objects, COUNT), [columns.objects])
        rows = chosen.filter(~nw.col(COUNT).is_null()).drop(COUNT)
    return collect(rows)


# ---- notes ---------------------------------------------------------------------------------------


def _with_note(consensus: Consensus, kind: str, text: str) -> Consensus:
    return changed(consensus, notes=(*consensus.solution.notes, Note(kind, text)))


def _with_sample_note(consensus: Consensus, n_solved: int, share: float) -> Consensus:
    solved = f"Solved on the {count(n_solved, 'most frequent distinct row')} ({arg('max_rows')})"
    return _with_note(
        consensus,
        SAMPLE,
        f"{solved}, {100 * share:.1f} % of the table; every row is answered from its groups.",
    )


def _require_unlabelled(all_known: bool, max_rows: int) -> None:
    if all_known:
        raise InputError(
            "max_rows",
            "must leave room for rows without a known label",
            came=f"{max_rows:,}",
            remedy="Raise it.",
        )
