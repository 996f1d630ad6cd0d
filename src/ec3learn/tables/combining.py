"""combine, votes_from and extend: a table in, the same kind of table, or its votes, out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from .._checks import require_kind
from ..consensus import Consensus
from ..diagnosis.correlation import bias_notes
from ..diagnosis.summary import table_notes
from ..methods import Method, ReliabilityWarning, method_of
from ..methods.base import with_class_prior
from ..votes import Votes
from ..votes.assembly import Repeats
from ..votes.labels import Label
from .columns import Naming, is_dataset
from .content import content_of
from .parts import combine_parts
from .pipeline import MOST_ROWS, Output, as_frame, combine_frame, extend_frame

Table = TypeVar("Table")

WEIGHTY = (
    "collapse",
    "long table",
    "look alike",
    "unanswered",
)  # warnings where nobody reads notes


@overload
def combine(
    table: Table,
    *,
    classifiers: Any = (),
    clusterings: Any = (),
    method: str | Method = "auto",
    known: Any = None,
    class_prior: Mapping[Any, float] | None = None,
    id: str | None = None,
    objects: str | None = None,
    voters: str | None = None,
    classes: Sequence[Label] | None = None,
    missing: Label | None = None,
    scale: Any = None,
    clean: bool = False,
    normalize: bool = False,
    repeats: Repeats = "mean",
    per_object: bool = False,
    proba: bool = False,
    counts: bool = False,
    prefix: str = "",
    max_rows: int = MOST_ROWS,
    by: str | None = None,
    separator: str | None = None,
    return_consensus: Literal[False] = False,
) -> Table: ...


@overload
def combine(
    table: Table,
    *,
    classifiers: Any = (),
    clusterings: Any = (),
    method: str | Method = "auto",
    known: Any = None,
    class_prior: Mapping[Any, float] | None = None,
    id: str | None = None,
    objects: str | None = None,
    voters: str | None = None,
    classes: Sequence[Label] | None = None,
    missing: Label | None = None,
    scale: Any = None,
    clean: bool = False,
    normalize: bool = False,
    repeats: Repeats = "mean",
    per_object: bool = False,
    proba: bool = False,
    counts: bool = False,
    prefix: str = "",
    max_rows: int = MOST_ROWS,
    by: str | None = None,
    separator: str | None = None,
    return_consensus: Literal[True],
) -> tuple[Table, Consensus]: ...


def combine(
    table: Table,
    *,
    classifiers: Any = (),
    clusterings: Any = (),
    method: str | Method = "auto",
    known: Any = None,
    class_prior: Mapping[Any, float] | None = None,
    id: str | None = None,
    objects: str | None = None,
    voters: str | None = None,
    classes: Sequence[Label] | None = None,
    missing: Label | None = None,
    scale: Any = None,
    clean: bool = False,
    normalize: bool = False,
    repeats: Repeats = "mean",
    per_object: bool = False,
    proba: bool = False,
    counts: bool = False,
    prefix: str = "",
    max_rows: int = MOST_ROWS,
    by: str | None = None,
    separator: str | None = None,
    return_consensus: bool = False,
) -> Any:
    """Combine the votes in the columns of a table, and append the answers to the table.

    Parameters
    ----------
    table : pandas, polars or Arrow table, polars LazyFrame, DuckDB relation, Dask or Spark
    DataFrame, Dataset of Hugging Face
        One row per object. Lazy tables stay lazy: the engine counts the distinct rows of the
        columns named here, only these are loaded into this process, and the engine joins the
        answers back when you ask it for rows. A Dataset's class labels are read by name, and -1 is
        a missing label.
    classifiers, clusterings : column names, patterns such as "clf_*", or a dict of name -> column
        The votes: ints, bools, strings or categoricals; null is no vote. In a dict, a soft model
        has one column per class, `{"svm": {"spam": "p1", "ham": "p2"}}`, or columns named after
        model and class, `{"svm": "svm_*"}`.
        Patterns skip columns that other arguments name.
    method : str or method
        By default the one that suits what there is, as in `ec3learn.solve`; a note of the consensus
        says which was chosen. A name in `METHODS`, or a method with its parameters.
    known : column name, dict of object -> label, pair (objects, labels), or array with missing
    values
        Known labels of some objects; a column is null elsewhere. The objects of a long table are
        called what `objects` holds, those of another table in memory what `id` or the index of
        pandas holds, else their row numbers; another lazy table needs a column.
    class_prior : dict of class -> share
        Shares of the classes that are known otherwise, as in `ec3learn.solve`.
    id : column name
        What the rows are called; for a table in memory with one row per object.
    objects, voters : column names
        For a long table with one row per vote: the columns of the object and of the voter;
        `classifiers` is then the column of the labels. `clusterings` and `known` must be the same
        in all rows of an object, or null in some.
    classes : sequence of labels
        The classes and their order. Needed to include classes nobody voted for, and for the order
        of soft votes.
    missing : label, or list of labels
        Further values that mean "no vote".
    scale : Scale, sequence of answers from low to high, or dict of classifier or voter -> one of
    them
        For voters that answer on a scale instead of naming classes; see `Scale`. `classes` then
        says what the ends mean.
    clean : bool
        Take labels that differ only in case, in spaces around them or in their form of Unicode for
        one, in lower case.
    normalize : bool
        Divide the soft votes in each row by their sum first, for scores that do not sum to 1.
    repeats : "mean", "last", "first" or "error"
        What to do with several votes of a voter on one object of a long table, as in
        `Votes.from_long`. Which vote is the last depends on the order of the rows, which some lazy
        tables do not guarantee.
    per_object : bool
        Of a long table, return one row per object: the column `objects` and the new columns.
    proba : bool
        Add a column `proba_<class>` for each class.
    counts : bool
        Add `n_votes`, how many votes the object has, and `votes_<class>`, how many of them are for
        each class; a soft vote is shared.
    prefix : str
        Prepended to the names of the new columns, in case the table has such columns already.
    max_rows : int
        The largest number of distinct rows (of a long table: objects) to solve. If there are more,
        the most frequent ones are solved, and those with a known label always; among equally
        frequent ones a draw decides, the same in every run. The other rows are answered as by
        `Consensus.extend`. A note of the consensus says so.
    by : column name
        Combine the rows of each value of this column for themselves, such as those of each
        criterion that judges answered. The rows of a lazy table come value after value.
    separator : str
        For answers with several labels each: lists, or texts such as "sport;news" in which this
        separates them. Each label is decided by itself. `consensus` has those that the object has
        as such a text, `confidence` that of the least sure label, and `proba_<label>` is the
        probability that it has this label. For a table in memory.
    return_consensus : bool
        Return the `Consensus` as well, or with `by` or `separator` one for each value or label
        in a dict: its `notes` say
        what to watch out for, and its `summary()` all that the command prints. Without it the
        weightiest notes come as a `ReliabilityWarning`: biased voters, a collapsed answer, labels
        that look alike, columns that seem wrong. The objects of a lazy table's consensus are its
        distinct rows.

    Returns
    -------
    table, or (table, Consensus)
        The same kind of table with `consensus` (text, 64-bit integers or bools), `confidence` and,
        on request, the probabilities appended. The order of the rows is kept, except by DuckDB and
        Spark.

    Examples
    --------
    >>> import pandas as pd
    >>> from ec3learn.tables import combine
    >>> votes = {"clf_svm": ["a", "b", "b"], "clf_knn": ["a", None, "b"], "kmeans": [0, 0, 1]}
    >>> frame = pd.DataFrame({"id": [7, 8, 9], **votes})
    >>> table, consensus = combine(
    ...     frame, classifiers="clf_*", clusterings="kmeans", return_consensus=True
    ... )
    >>> table[["id", "consensus"]].values.tolist()
    [[7, 'a'], [8, 'b'], [9, 'b']]
    >>> consensus.voters()["model"]
    ['clf_svm', 'clf_knn', 'kmeans']
    """
    frame = as_frame(table)
    naming = Naming(
        classifiers,
        clusterings,
        known,
        objects,
        voters,
        classes,
        missing,
        scale,
        repeats,
        id,
        clean,
        normalize,
    )
    output = Output(prefix, proba, counts)
    solver = method_of(method, "method")
    if class_prior is not None:
        solver = with_class_prior(solver, class_prior)
    if by is None and separator is None:
        answered = combine_frame(frame, naming.find(frame), solver, output, max_rows)
        answers = answered.per_object if per_object else answered.table
        found: dict[Any, Consensus] = {None: answered.consensus}
    else:
        answers, found = combine_parts(
            frame, naming, solver, output, max_rows, by, separator, per_object
        )
    answers = _like(table, answers)
    if return_consensus:
        return answers, found.get(None, found)
    for consensus in found.values():
        solution = consensus.solution
        notes = (*solution.notes, *table_notes(solution.require_votes("combine")))
        weighty = [note for note in notes if note.kind in WEIGHTY]
        for note in (*weighty, *bias_notes(solution)):
            warnings.warn(str(note), ReliabilityWarning, stacklevel=2)
    return answers


def votes_from(
    table: Any,
    *,
    classifiers: Any = (),
    clusterings: Any = (),
    id: str | None = None,
    objects: str | None = None,
    voters: str | None = None,
    classes: Sequence[Label] | None = None,
    missing: Label | None = None,
    scale: Any = None,
    clean: bool = False,
    normalize: bool = False,
    repeats: Repeats = "mean",
) -> Votes:
    """Make `Votes` from the columns of a table.

    Parameters
    ----------
    table, classifiers, clusterings, id, objects, voters, classes, missing, scale, clean, normalize,
    repeats
        As in `combine`.

    Returns
    -------
    Votes
        One object per row of a table in memory, per distinct row of a lazy table (weighted by how
        often it occurs), or per object of a long table.

    Examples
    --------
    >>> import polars as pl
    >>> from ec3learn.tables import votes_from
    >>> table = pl.LazyFrame({"svm": ["a", "b", "b"], "knn": ["a", "b", "b"]})
    >>> sorted(votes_from(table, classifiers=["svm", "knn"]).sample_weight.tolist())
    [1.0, 2.0]
    """
    frame = as_frame(table)
    naming = Naming(
        classifiers,
        clusterings,
        None,
        objects,
        voters,
        classes,
        missing,
        scale,
        repeats,
        id,
        clean,
        normalize,
    )
    return content_of(frame, naming.find(frame)).votes


def extend(
    table: Table,
    consensus: Consensus,
    *,
    classifiers: Any = None,
    clusterings: Any = None,
    objects: str | None = None,
    voters: str | None = None,
    missing: Label | None = None,
    scale: Any = None,
    clean: bool = False,
    normalize: bool = False,
    repeats: Repeats = "mean",
    per_object: bool = False,
    proba: bool = False,
    prefix: str = "",
) -> Table:
    """Answer for the objects of another table, without solving again.

    Parameters
    ----------
    table : as in `combine`
        The new objects.
    consensus : Consensus
        The consensus to extend; `Consensus.load` reads one from a file.
    classifiers, clusterings : as in `combine`
        The columns of the base models; by default those that are named like the base models of the
        consensus.
    objects, voters, missing, clean, normalize, repeats, per_object, proba, prefix
        As in `combine`.
    scale : as in `combine`
        By default the scales of the consensus; answers that are not on them are an error. A
        consensus that was made by a method without scales, such as the majority vote, has none.

    Returns
    -------
    table
        The same kind of table with `consensus`, `confidence` and, on request, the probabilities
        appended.

    Examples
    --------
    >>> import pandas as pd
    >>> from ec3learn.tables import combine, extend
    >>> old = pd.DataFrame({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]})
    >>> _, consensus = combine(old, classifiers=["svm", "knn"], return_consensus=True)
    >>> extend(pd.DataFrame({"svm": ["b"], "knn": ["b"]}), consensus)["consensus"].tolist()
    ['b']
    """
    require_kind("consensus", consensus, Consensus, "Consensus.load(path) reads one from a file.")
    frame = as_frame(table)
    naming = Naming(
        classifiers,
        clusterings,
        objects=objects,
        voters=voters,
        missing=missing,
        scale=scale,
        repeats=repeats,
        clean=clean,
        normalize=normalize,
    )
    output, columns = Output(prefix, proba), naming.find_for(frame, consensus)
    answered = extend_frame(frame, columns, consensus, output)
    answers: Table = _like(table, answered.per_object if per_object else answered.table)
    return answers


def _like(table: Any, answered: Any) -> Any:
    """Add the answers to a Dataset of Hugging Face; any other table has them already."""
    if not is_dataset(table):
        return answered
    for name in answered.column_names[len(table.column_names) :]:
        table = table.add_column(name, answered[name])
    return table
