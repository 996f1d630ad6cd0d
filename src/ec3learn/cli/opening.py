"""From the words of a command to a solved table; shared by the commands that need one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from .._progress import Bar, progress
from . import parsing as words
from .options import How, Read, Who

if TYPE_CHECKING:
    from ..consensus import Consensus
    from ..methods import Method
    from ..tables.combining import Answered
    from ..tables.files import FileTable, Format, Workspace


OUR_PREFIX = "__ec3learn_"  # of columns that are not written


@dataclass(frozen=True)
class Opened:
    """A table on disk, and where to say which step we are at."""

    work: Workspace
    table: FileTable
    format: Format
    step: Callable[[str], None]


@contextmanager
def opened(path: str, asked: Read, out: str | None = None) -> Iterator[Opened]:
    """Open a file, with a workspace beside the output."""
    from ..tables.files import Format, read, workspace

    kind = Format.of(path, asked.format, asked.delimiter)
    with workspace(out, asked.memory) as work, steps(work) as step:
        step(f"Reading {path}")
        yield Opened(work, read(work, path, kind, asked.encoding), kind, step)


@dataclass(frozen=True)
class Solved:
    """A table with its answers, and who drove them."""

    table: FileTable
    answered: Answered
    method: Method

    @property
    def consensus(self) -> Consensus:
        """Return what was solved."""
        return self.answered.consensus

    def number(self, row: int) -> int:
        """Return what the consensus calls the object in a row."""
        from ..tables.files import ROW

        number = self.answered.table.filter(f"{ROW} = {row}").project(f"{OUR_PREFIX}number").fetchall()[0][0]
        ids = self.consensus.object_ids
        return int(number if ids is None else ids[number])

    def named(self, column: str) -> Consensus:
        """Return the consensus with its distinct rows called by what a column says in the first of each."""
        from ..tables.files import named_rows

        ids = self.consensus.object_ids
        return self.consensus if ids is None else replace(self.consensus, object_ids=named_rows(self.table, ids, column))


def solved(
    file: Opened,
    who: Who,
    how: How,
    max_patterns: int,
    *,
    prefix: str = OUR_PREFIX,
    proba: bool = False,
    rule: Any = "argmax",
    number: bool = False,
) -> Solved:
    """Combine the votes of an open file."""
    from ..tables.columns import frame_of, label_columns, source_of
    from ..tables.combining import combined
    from ..tables.files import ROW
    from ..tables.output import Output

    solver = words.method_from(how.method, how.settings)
    columns: dict[str, Any] = {
        "classifiers": words.choice(who.classifiers, who.soft),
        "clusterings": words.names(who.clusterings),
    }
    roles: dict[str, Any] = {"known": how.known, "objects": who.objects, "voters": who.voters}
    groups = label_columns(file.table.relation, **columns, **roles)
    table = file.table.with_labels(groups, words.names(who.missing))
    first = next(iter(groups[0]), "")
    classes = None if how.classes is None else [table.value(first, label) for label in words.names([how.classes])]
    file.step("Combining")
    frame = frame_of(table.relation)
    source = source_of(frame, **columns, **roles, classes=classes, max_classes=how.max_classes)
    source = replace(source, row=ROW if who.objects is None else None)
    output = Output.of(frame, prefix, proba, rule, number)
    return Solved(table, combined(frame, source, solver, output, max_patterns), solver)


@contextmanager
def steps(work: Workspace) -> Iterator[Callable[[str], None]]:
    """Return a function that names the step we are at; a bar follows what DuckDB says about its query."""
    ended = Event()
    with progress("Starting") as bar:
        watching = Thread(target=_follow_query, args=(work, bar, ended), daemon=True)
        watching.start()
        try:
            yield bar.update
        finally:
            ended.set()
            watching.join()


def _follow_query(work: Workspace, bar: Bar, ended: Event) -> None:
    while not ended.wait(0.2):
        share = work.connection.query_progress()
        if share > 0:
            bar.update(done=share, total=100)
