"""Which columns of a table hold what: names, patterns and dicts become `Columns`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Any

import narwhals.stable.v2 as nw

from .._checks import InputError, unknown_name
from .._text import arg, count, listed
from ..answer import ExtendWarning
from ..consensus import Consensus
from ..votes.assembly import Repeats
from ..votes.labels import Label, label_list, plain

Frame = Any  # a DataFrame or LazyFrame of narwhals
OURS = "__ec3learn_"  # how the names of our columns begin, until they are dropped again
LONG = "a long table, with one row per vote"
ROW = f"{OURS}row"  # numbers the rows of a file
# A column of labels; of a soft model one column of shares per class or cluster.
Column = str | dict[Label, str]

# ---- tables --------------------------------------------------------------------------------------


def is_dataset(table: Any) -> bool:
    """Tell a Dataset of Hugging Face, without loading its library."""
    return isinstance(table, getattr(sys.modules.get("datasets"), "Dataset", ()))


def dataset_as_arrow(dataset: Any) -> Any:
    """Read a Dataset of Hugging Face as Arrow, its class labels by name; -1 is a missing label."""
    import pyarrow as pa
    from pyarrow import compute

    arrow = dataset.with_format("arrow")[:]
    for name, feature in dataset.features.items():
        if isinstance(feature, sys.modules["datasets"].ClassLabel):
            codes = arrow[name]
            labels = compute.take(
                pa.array(feature.names), compute.if_else(compute.less(codes, 0), None, codes)
            )
            arrow = arrow.set_column(arrow.column_names.index(name), name, labels)
    return arrow


def names_in(frame: Frame) -> list[str]:
    """The names of a table's columns, without those that are ours."""
    return [name for name in frame.collect_schema().names() if not str(name).startswith(OURS)]


def text(value: object) -> str:
    """Write a text in SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Write a column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


# ---- columns -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Naming:
    """How a user names the columns of a table; the arguments are those of `combine`."""

    classifiers: Any  # of `Columns`: a dict of name -> column, as of the clusterings
    clusterings: Any = ()
    known: Any = None
    objects: str | None = None  # with `voters`: the table is long, one row per vote
    voters: str | None = None
    classes: Any = None
    missing: Any = None  # a label; for a file, labels as text
    scale: Any = None
    repeats: Repeats = "mean"  # of a long table
    id: str | None = None  # the column that names the rows of a table in memory
    clean: bool = False  # labels that differ only in spelling are one
    normalize: bool = False  # soft votes in a row are divided by their sum
    exclude: Collection[str] = ()  # voters that are left out
    truth: str | None = None  # a column of labels to judge the answer by
    unseen: bool = False  # known labels judge the answer too: the method does not see them
    chances: Mapping[str, str] = field(default_factory=dict)  # of known, of truth
    is_text: bool | None = None  # of a file: whether its labels have no types; None: in memory

    def find(self, frame: Frame) -> Columns:
        """Find the columns in a table."""
        if hasattr(self.known, "__len__") and not isinstance(self.known, str):
            if self.objects is None and not isinstance(frame, nw.DataFrame):
                remedy = "Only objects of a long table have names, and rows in memory numbers."
                came = type(self.known).__name__
                must = "must name a column of a lazy table"
                raise InputError("known", must, came=came, remedy=remedy)
            return replace(replace(self, known=None).find(frame), known_labels=self.known)
        self._require_roles(names_in(frame))
        in_long = self.objects is not None
        only_for(LONG, in_long or self.repeats == "mean", "repeats", self.repeats)
        has_rows = not in_long and isinstance(frame, nw.DataFrame)
        only_for(
            "a table in memory with one row per object", has_rows or self.id is None, "id", self.id
        )
        classes = None if self.classes is None else label_list("classes", self.classes)
        roles = {self.known, self.truth, self.objects, self.voters, self.id}
        clusters = find_models(frame, self.clusterings, "clusterings", roles)
        taken = roles | set(columns_in(clusters))
        votes = find_models(frame, self.classifiers, "classifiers", taken, classes)
        if self.objects is None:
            require_others(self.exclude, votes)
            votes = {name: column for name, column in votes.items() if name not in self.exclude}
        soft = [list(column) for column in votes.values() if isinstance(column, dict)]
        if not votes or (self.objects is not None and (len(votes) > 1 or soft)):
            must = "must name at least one column, and of a long table the one column of labels"
            remedy = f"The columns are {listed(names_in(frame), 30)}."
            raise InputError("classifiers", must, came=listed(list(votes)), remedy=remedy)
        self._require_one_role_each(columns_in(votes), columns_in(clusters))
        classes = soft[0] if classes is None and soft else classes
        found = {"classifiers": votes, "clusterings": clusters, "classes": classes}
        return Columns(**vars(self) | found)

    def find_for(self, frame: Frame, consensus: Consensus) -> Columns:
        """Find the columns that are named, or else those named like the base models."""
        names = names_in(frame)
        wanted: dict[str, Any] = {"classifiers": [], "clusterings": []}
        for model in consensus.solution.models:
            wanted["classifiers" if model.is_voter else "clusterings"].append(model.name)
        wanted = {role: found for role, found in wanted.items() if getattr(self, role) is None}
        soft = consensus.solution.soft_columns or {}
        there = {name for name in names if name not in soft}
        there |= {name for name, parts in soft.items() if {*parts.values()} <= {*names}}
        voters = wanted.get("classifiers")
        if voters is not None and (self.objects is not None or not {*voters} & there):
            must = (
                f"must have columns named like the classifiers of the consensus, {listed(voters)}"
            )
            remedy = "Rename them, or name the columns of the votes."
            raise InputError("table", must, came=listed(names), remedy=remedy)
        lacking = [name for models in wanted.values() for name in models if name not in there]
        if lacking:
            n_lacking = count(len(lacking), "base model")
            text = f"The table has no column for {n_lacking} of the consensus; treated as missing: "
            warnings.warn(f"{text}{listed(lacking)}.", ExtendWarning, stacklevel=3)
        present: dict[str, Any] = {
            role: {name: soft.get(name, name) for name in models if name in there}
            for role, models in wanted.items()
        }
        return replace(self, **present, classes=consensus.classes).find(frame)

    def _require_roles(self, columns: list[str]) -> None:
        for argument in ("known", "truth", "objects", "voters", "id"):
            if getattr(self, argument) is not None:
                require_column(getattr(self, argument), columns, argument)
        if (self.objects is None) != (self.voters is None):
            alone = "voters" if self.objects is None else "objects"
            both = f"{arg('objects')} and {arg('voters')} must be given together"
            raise InputError(alone, phrase=f"{both}, got {arg(alone)} alone")

    def _require_one_role_each(self, votes: list[str], clusters: list[str]) -> None:
        roles: dict[str, list[str | None]] = {
            "objects": [self.objects],
            "voters": [self.voters],
            "classifiers": [*votes],
            "clusterings": [*clusters],
            "known": [self.known],
            "truth": [self.truth],
        }
        for (one, columns), (other, others) in combinations(roles.items(), 2):
            for column in {*columns} & {*others} - {None}:
                both = f"{arg(one)} and {arg(other)} must name different columns"
                raise InputError(other, phrase=f"{both}, got {column!r} for both")


@dataclass(frozen=True)
class Columns(Naming):
    """The columns of each base model by its name; of a long table the one column of labels."""

    row_number: str | None = None  # a column that numbers the rows; distinct rows keep the first
    known_labels: Any = None  # known labels by object, where no column has them

    @property
    def labels(self) -> str:
        """The column of labels of a long table."""
        return hard(self.classifiers)[0]

    @property
    def keys(self) -> list[str]:
        """The columns that make rows distinct; of a long table, those that belong to an object."""
        voted = columns_in(self.classifiers) if self.objects is None else [self.objects]
        known = [*self.stated, *self.chances.values()]
        return list(dict.fromkeys([*voted, *columns_in(self.clusterings), *known]))

    @property
    def stated(self) -> list[str]:
        """The columns of labels that are known, to the method or to judge it."""
        return [column for column in (self.known, self.truth) if column is not None]

    @property
    def soft(self) -> dict[str, dict[str, str]] | None:
        """The columns of soft models, by model and class as text, for tables to come."""
        models = {**self.classifiers, **self.clusterings}
        soft = {name: column for name, column in models.items() if isinstance(column, dict)}
        return {
            name: {str(label): part for label, part in column.items()}
            for name, column in soft.items()
        } or None

    @property
    def join_keys(self) -> list[str]:
        """The columns by which a row finds its answer."""
        return self.keys if self.objects is None else [self.objects]

    def require_long(self) -> None:
        """Refuse a table that has one row per object already."""
        remedy = f"Leave it out, or pass {arg('objects')} and {arg('voters')}."
        only_for(LONG, self.objects is not None, "per_object", remedy=remedy)


def hard(models: Mapping[str, Column]) -> list[str]:
    """The columns of labels that base models use."""
    return [column for column in models.values() if not isinstance(column, dict)]


def columns_in(models: Mapping[str, Column]) -> list[str]:
    """All columns that base models use."""
    return [
        name
        for column in models.values()
        for name in (column.values() if isinstance(column, dict) else [column])
    ]


def only_for(kind: str, is_one: bool, argument: str, value: Any = None, remedy: str = "") -> None:
    """Refuse an argument that is for another kind of table."""
    if not is_one:
        raise InputError(argument, phrase=f"{arg(argument, value)} is for {kind}", remedy=remedy)


def require_column(name: Any, columns: Iterable[str], argument: str) -> None:
    """Refuse a column that is not there, and name the nearest that is."""
    if name in columns:
        return
    near = get_close_matches(str(name), map(str, columns), n=1)
    remedy = (
        f"Did you mean {near[0]!r}?" if near else f"The columns are {listed(list(columns), 30)}."
    )
    raise InputError(argument, "must name a column of the table", got=name, remedy=remedy)


# ---- names, patterns and dicts --------------------------------------------------------


def find_models(
    frame: Frame,
    choice: Any,
    argument: str,
    taken: set[Any],
    classes: list[Label] | None = None,
) -> dict[str, Column]:
    """Find the base models that were chosen, by name; patterns skip columns that are taken."""
    parts = [choice] if isinstance(choice, (str, Mapping)) else () if choice is None else choice
    dicts = [part for part in parts if isinstance(part, Mapping)]
    models: dict[str, Column] = {}
    for name, column in (pair for part in dicts for pair in part.items()):
        if not isinstance(column, Mapping) and not _is_pattern(column, frame):
            require_column(column, names_in(frame), argument)
            models[str(name)] = column
            continue
        soft = _soft_columns(frame, column, argument, taken)
        if argument == "classifiers":
            soft = _by_class(soft, classes, f"{argument}[{name!r}]")
            classes = list(soft)
        models[str(name)] = soft
    taken = taken | set(columns_in(models))
    names = [part for part in parts if not isinstance(part, Mapping)]
    columns = [each for name in names for each in _matching_columns(frame, name, argument, taken)]
    return {**{str(column): column for column in columns}, **models}


def _soft_columns(frame: Frame, column: Any, argument: str, taken: set[Any]) -> dict[Label, str]:
    """The columns of shares of a soft model; what `*` stands for in their names is the class."""
    if isinstance(column, Mapping):
        for part in column.values():
            require_column(part, names_in(frame), argument)
        return {plain(label): part for label, part in column.items()}
    parts = _matching_columns(frame, column, argument, taken)
    endings = [str(part).removeprefix(column.split("*")[0]) for part in parts]
    labels: list[Label] = [int(text) if text.isdecimal() else text for text in endings]
    return dict(zip(labels, parts, strict=True))


def _by_class(
    parts: dict[Label, str], classes: list[Label] | None, argument: str
) -> dict[Label, str]:
    """The columns of a soft classifier in the order of the classes."""
    by_text = {str(label): part for label, part in parts.items()}
    classes = list(parts) if classes is None else classes
    if by_text.keys() != set(map(str, classes)):
        must = f"must have one column for each class, {listed(classes)}"
        raise InputError(argument, must, came=listed(list(parts)))
    return {label: by_text[str(label)] for label in classes}


def _matching_columns(frame: Frame, name: Any, argument: str, taken: set[Any]) -> list[str]:
    """The columns that a name or a pattern stands for."""
    columns = names_in(frame)
    if not _is_pattern(name, frame):
        require_column(name, columns, argument)
        return [name]
    matching = [each for each in columns if each not in taken and fnmatchcase(str(each), name)]
    if not matching:
        remedy = f"The columns are {listed(columns, 30)}."
        raise InputError(argument, "must match columns of the table", got=name, remedy=remedy)
    return matching


def _is_pattern(name: Any, frame: Frame) -> bool:
    """Whether a name has signs of a pattern, and no column is called so."""
    is_pattern = isinstance(name, str) and any(sign in name for sign in "*?[")
    return is_pattern and name not in names_in(frame)


def require_others(exclude: Collection[str], voters: Collection[str]) -> None:
    """Refuse to leave out voters that there are not, or all voters."""
    for name in exclude:
        if name not in voters:
            raise unknown_name("exclude", name, voters)
    if exclude and set(voters) <= set(exclude):
        raise InputError("exclude", "must leave at least one voter", got=list(exclude))
