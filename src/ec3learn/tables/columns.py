"""Which columns of a table hold what: names, patterns, selectors and dicts become `Columns`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import narwhals
import narwhals.stable.v2 as nw

from .._checks import InputError, InputTypeError, require_choice
from .._text import arg, count, listed
from ..answer import ExtendWarning
from ..consensus import Consensus
from ..votes.assembly import REPEATS, Repeats
from ..votes.labels import Label, plain
from ..votes.reading import seen_by_narwhals
from ..votes.scale import scales_of, voter_scale
from .engines import JOINS, OURS, Frame

# A column of labels; of a soft model one column of shares per class or cluster.
Column = str | dict[Label, str]

# ---- tables --------------------------------------------------------------------------------------


def as_frame(table: Any) -> Frame:
    """See a table through narwhals; refuse what is no table of a supported kind."""
    frame = seen_by_narwhals(dataset_as_arrow(table) if is_dataset(table) else table)
    lazy = isinstance(frame, nw.LazyFrame) and frame.implementation in JOINS
    if not isinstance(frame, nw.DataFrame) and not lazy:
        must = "must be a pandas, polars or Arrow table, a polars LazyFrame, a DuckDB relation, "
        must += "a Dask or Spark DataFrame or a Dataset of Hugging Face"
        raise InputTypeError("table", must, came=type(table).__name__)
    return frame


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


# ---- columns -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Naming:
    """How a user names the columns of a table; the arguments are those of `combine`."""

    classifiers: Any
    clusterings: Any = ()
    known: Any = None
    objects: str | None = None  # with `voters`: the table is long, one row per vote
    voters: str | None = None
    classes: Iterable[Label] | None = None
    missing: Any = None  # a label; for a file, labels as text
    scale: Any = None
    repeats: Repeats = "mean"  # of a long table
    truth: str | None = None  # a column of labels to judge the answer by
    unseen: bool = False  # known labels judge the answer too: the method does not see them
    chances: Mapping[str, str] = field(default_factory=dict)  # of known, of truth

    def find(self, frame: Frame) -> Columns:
        """Find the columns in a table."""
        if _are_labels(self.known):
            if self.objects is None and not isinstance(frame, nw.DataFrame):
                remedy = "Only objects of a long table have names, and rows in memory numbers."
                came = type(self.known).__name__
                must = "must name a column of a lazy table"
                raise InputError("known", must, came=came, remedy=remedy)
            return replace(replace(self, known=None).find(frame), known_labels=self.known)
        names = names_in(frame)
        self._require_roles(list(frame.collect_schema().names()))
        require_choice("repeats", self.repeats, REPEATS)
        if isinstance(self.classes, str):
            raise InputTypeError("classes", "must be a list of labels", got=self.classes)
        classes = None if self.classes is None else [plain(label) for label in self.classes]
        roles = {self.known, self.truth, self.objects, self.voters}
        clusters = find_models(frame, self.clusterings, "clusterings", roles)
        taken = roles | set(columns_in(clusters))
        votes = find_models(frame, self.classifiers, "classifiers", taken, classes)
        soft = [list(column) for column in votes.values() if isinstance(column, dict)]
        if not votes or (self.objects is not None and (len(votes) > 1 or soft)):
            must = "must name at least one column, and of a long table the one column of labels"
            remedy = f"The columns are {listed(names, 30)}."
            raise InputError("classifiers", must, came=listed(list(votes)), remedy=remedy)
        self._require_one_role_each(columns_in(votes), columns_in(clusters))
        resolved: dict[str, Any] = {"classifiers": votes, "clusterings": clusters}
        resolved["classes"] = soft[0] if classes is None and soft else classes
        resolved["scale"] = self._scales(votes)
        return Columns(**vars(self) | resolved)

    def find_for(self, frame: Frame, consensus: Consensus) -> Columns:
        """Find the columns that are named, or else those named like the base models."""
        names = names_in(frame)
        wanted: dict[str, Any] = {"classifiers": [], "clusterings": []}
        for model in consensus.solution.models:
            wanted["classifiers" if model.is_voter else "clusterings"].append(model.name)
        wanted = {role: found for role, found in wanted.items() if getattr(self, role) is None}
        voters = wanted.get("classifiers")
        if voters is not None and (self.objects is not None or not {*voters} & {*names}):
            must = "must have columns named like the classifiers of the consensus, "
            long = f"{arg('objects')}, {arg('voters')} and {arg('classifiers')}"
            remedy = f"A long table needs {long}; of another, rename the columns."
            must += listed(voters)
            raise InputError("table", must, came=listed(names), remedy=remedy)
        lacking = [name for models in wanted.values() for name in models if name not in names]
        if lacking:
            n_lacking = count(len(lacking), "base model")
            text = f"The table has no column for {n_lacking} of the consensus; treated as missing: "
            warnings.warn(f"{text}{listed(lacking)}.", ExtendWarning, stacklevel=3)
        present: dict[str, Any] = {
            role: [name for name in models if name in names] for role, models in wanted.items()
        }
        columns = replace(self, **present, classes=consensus.classes).find(frame)
        if self.scale is None:
            columns = replace(columns, scale=_scales_in(consensus, columns))
        return columns

    def _scales(self, votes: Mapping[str, Column]) -> Any:
        """The scales by classifier; of a long table as they were passed."""
        if self.objects is None:
            hard = [name for name, column in votes.items() if not isinstance(column, dict)]
            return scales_of(self.scale, hard) or None
        if isinstance(self.scale, Mapping):
            return scales_of(self.scale, list(self.scale))
        return scales_of(self.scale, [""]).get("")

    def _require_roles(self, columns: list[str]) -> None:
        for argument in ("known", "truth", "objects", "voters"):
            if getattr(self, argument) is not None:
                require_column(getattr(self, argument), columns, argument)
        if (self.objects is None) != (self.voters is None):
            alone = "voters" if self.objects is None else "objects"
            both = f"{arg('objects')} and {arg('voters')} must be given together"
            raise InputError(alone, phrase=f"{both}, got {arg(alone)} alone")

    def _require_one_role_each(self, votes: list[str], clusters: list[str]) -> None:
        roles = [("objects", self.objects), ("voters", self.voters)]
        roles += [("classifiers", column) for column in votes]
        roles += [("clusterings", column) for column in clusters]
        roles += [("known", self.known), ("truth", self.truth)]
        first: dict[Any, str] = {}
        for argument, column in roles:
            if column is not None and first.setdefault(column, argument) != argument:
                both = f"{arg(first[column])} and {arg(argument)} must name different columns"
                raise InputError(argument, phrase=f"{both}, got {column!r} for both")


@dataclass(frozen=True)
class Columns(Naming):
    """The columns of each base model by its name; of a long table the one column of labels."""

    classifiers: dict[str, Column]
    clusterings: dict[str, Column] = field(default_factory=dict)
    classes: list[Label] | None = None
    row_number: str | None = None  # a column that numbers the rows; distinct rows keep the first
    known_labels: Any = None  # known labels by object, where no column has them

    @property
    def labels(self) -> str:
        """The column of labels of a long table."""
        return next(column for column in self.classifiers.values() if isinstance(column, str))

    @property
    def keys(self) -> list[str]:
        """The columns that make rows distinct; of a long table, those that belong to an object."""
        voted = columns_in(self.classifiers) if self.objects is None else [self.objects]
        stated = [column for column in (self.known, self.truth) if column is not None]
        stated += self.chances.values()
        return list(dict.fromkeys([*voted, *columns_in(self.clusterings), *stated]))

    @property
    def join_keys(self) -> list[str]:
        """The columns by which a row finds its answer."""
        return self.keys if self.objects is None else [self.objects]

    def require_long(self) -> None:
        """Refuse a table that has one row per object already."""
        if self.objects is None:
            phrase = f"{arg('per_object')} is for a long table, with one row per vote"
            remedy = f"Leave it out, or pass {arg('objects')} and {arg('voters')}."
            raise InputError("per_object", phrase=phrase, remedy=remedy)


def columns_in(models: Mapping[str, Column]) -> list[str]:
    """All columns that base models use."""
    return [
        name
        for column in models.values()
        for name in (column.values() if isinstance(column, dict) else [column])
    ]


def _are_labels(known: Any) -> bool:
    """Tell known labels by object from the name of a column."""
    return isinstance(known, Mapping) or (hasattr(known, "__len__") and not isinstance(known, str))


def _scales_in(consensus: Consensus, columns: Columns) -> Any:
    """The scales of a consensus; one that all its voters share is that of new voters, too."""
    scales = {
        model.name: voter_scale(model)
        for model in consensus.solution.models
        if model.kind == "grader"
    }
    if columns.objects is None:
        return {
            name: scales[name]
            for name, column in columns.classifiers.items()
            if name in scales and not isinstance(column, dict)
        } or None
    n_voters = sum(model.is_voter for model in consensus.solution.models)
    if len(set(scales.values())) == 1 and len(scales) == n_voters:
        return next(iter(scales.values()))
    return scales or None


def require_column(name: Any, columns: list[str], argument: str) -> None:
    """Refuse a column that is not there, and name the nearest that is."""
    if name in columns:
        return
    near = get_close_matches(str(name), map(str, columns), n=1)
    remedy = f"Did you mean {near[0]!r}?" if near else f"The columns are {listed(columns, 30)}."
    raise InputError(argument, "must name a column of the table", got=name, remedy=remedy)


# ---- names, patterns, selectors and dicts --------------------------------------------------------


def find_models(
    frame: Frame,
    choice: Any,
    argument: str,
    taken: set[Any],
    classes: list[Label] | None = None,
) -> dict[str, Column]:
    """Find the base models that were chosen, by name; patterns skip columns that are taken."""
    named = [choice] if isinstance(choice, Mapping) else []
    if isinstance(choice, (list, tuple)):
        named = [part for part in choice if isinstance(part, Mapping)]
        choice = [part for part in choice if not isinstance(part, Mapping)]
    models: dict[str, Column] = {}
    for name, column in (pair for part in named for pair in part.items()):
        model = _named_model(frame, str(name), column, argument, taken, classes)
        if isinstance(model, dict) and argument == "classifiers":
            classes = list(model)
        models[str(name)] = model
    if not isinstance(choice, Mapping):
        taken = taken | set(columns_in(models))
        columns = _matching_columns(frame, choice, argument, taken)
        models = {**{str(name): name for name in columns}, **models}
    return models


def _named_model(
    frame: Frame,
    name: str,
    column: Any,
    argument: str,
    taken: set[Any],
    classes: list[Label] | None,
) -> Column:
    """Find the column of labels of a base model, or its columns of shares by class or cluster."""
    columns = names_in(frame)
    if isinstance(column, (str, int)) and (column in columns or not _is_pattern(column)):
        require_column(column, columns, argument)
        return column  # type: ignore[return-value]  # pandas has columns named by numbers
    if isinstance(column, Mapping):
        parts = list(column.values())
        labels: list[Label] | None = [plain(label) for label in column]
    else:
        parts = _matching_columns(frame, column, argument, taken)
        labels = _labels_in_names(
            parts, column.split("*")[0] if isinstance(column, str) else f"{name}_"
        )
    for part in parts:
        require_column(part, columns, argument)
    if argument == "clusterings":
        return dict(enumerate(parts))
    return _columns_by_class(labels, parts, classes, f"{argument}[{name!r}]")


def _labels_in_names(parts: list[str], stem: str) -> list[Label] | None:
    """What follows the stem in the names of columns, or None if they do not all begin with it."""
    if not all(str(part).startswith(stem) for part in parts):
        return None
    texts = [part.removeprefix(stem) for part in parts]
    return [int(text) for text in texts] if all(text.isdecimal() for text in texts) else texts


def _columns_by_class(
    labels: list[Label] | None, parts: list[str], classes: list[Label] | None, argument: str
) -> dict[Label, str]:
    """The columns of a soft classifier by class: by name, or else in their order."""
    if classes is None and labels is None:
        remedy = "Give a column for each class by name, or pass "
        remedy += f"{arg('classes', ...)} in the order of the columns."
        must = "must tell the class of each column"
        raise InputError(argument, must, came=listed(parts), remedy=remedy)
    classes = labels if classes is None else classes
    assert classes is not None
    column_of = dict(zip(map(str, labels or parts), parts, strict=True))
    if column_of.keys() == set(map(str, classes)):
        return {label: column_of[str(label)] for label in classes}
    unnamed = not column_of.keys() & set(map(str, classes))
    if len(parts) != len(classes) or not unnamed:
        must = f"must have one column for each class, {listed(classes)}"
        raise InputError(argument, must, came=listed(labels or parts))
    return dict(zip(classes, parts, strict=True))


def _matching_columns(frame: Frame, choice: Any, argument: str, taken: set[Any]) -> list[str]:
    """The columns that names, patterns or a selector stand for."""
    columns = names_in(frame)
    if not isinstance(choice, (str, list, tuple, set, frozenset)):
        return [name for name in _selected_columns(frame, choice, argument) if name not in taken]
    chosen: list[str] = []
    for name in [choice] if isinstance(choice, str) else choice:
        if name in columns or not _is_pattern(name):
            require_column(name, columns, argument)
            chosen.append(name)
            continue
        free = [column for column in columns if column not in taken]
        matching = [column for column in free if fnmatchcase(str(column), name)]
        if not matching:
            remedy = f"The columns are {listed(columns, 30)}."
            raise InputError(argument, "must match columns of the table", got=name, remedy=remedy)
        chosen += matching
    return list(dict.fromkeys(chosen))


def _selected_columns(frame: Frame, selector: Any, argument: str) -> list[str]:
    """The columns that a selector of narwhals stands for, or one of polars in its own tables."""
    if isinstance(selector, narwhals.Expr):
        return list(frame.select(selector).collect_schema().names())
    if frame.implementation.is_polars() and type(selector).__module__.startswith("polars"):
        return list(frame.to_native().lazy().select(selector).collect_schema().names())
    must = "must be column names, a pattern such as 'clf_*', a narwhals selector "
    must += "or a dict of name -> column"
    raise InputTypeError(argument, must, came=type(selector).__name__)


def _is_pattern(name: Any) -> bool:
    return isinstance(name, str) and any(sign in name for sign in "*?[")
