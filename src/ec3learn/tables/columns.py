"""Which columns of a table hold what: the names, patterns, selectors and dicts that a user passes become `Columns`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import narwhals
import narwhals.stable.v2 as nw

from .._checks import InputError, InputTypeError, require_choice, require_integer
from .._text import arg, count, listed
from ..answer import ExtendWarning
from ..consensus import Consensus
from ..votes import Scale
from ..votes.assembly import REPEATS, Repeats
from ..votes.labels import Label, plain
from ..votes.reading import seen_by_narwhals
from ..votes.scale import scales_of, voter_scale
from .engines import ENGINES, OURS, Frame

Column = (
    str | dict[Label, str]
)  # a column of labels; of a soft model one column of shares per class or cluster

LABELS = "labels (ints, bools, strings or categoricals)"
LABEL_TYPES = (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown)


def as_frame(table: Any) -> Frame:
    """Return a table as narwhals sees it; refuse what is no table of a supported kind."""
    frame = seen_by_narwhals(dataset_as_arrow(table) if is_dataset(table) else table)
    lazy = isinstance(frame, nw.LazyFrame) and frame.implementation in ENGINES
    if not isinstance(frame, nw.DataFrame) and not lazy:
        raise InputTypeError(
            "table",
            "must be a pandas, polars or Arrow table, a polars LazyFrame, a DuckDB relation, a Dask or Spark DataFrame or a "
            "Dataset of Hugging Face",
            came=type(table).__name__,
        )
    for name in frame.collect_schema().names():
        if str(name).startswith(OURS):
            raise InputError(
                "table",
                f"must have no column that begins with {OURS!r}",
                got=name,
                remedy="Rename it.",
            )
    return frame


def is_dataset(table: Any) -> bool:
    """Return whether a table is a Dataset of Hugging Face, without loading its library."""
    return isinstance(table, getattr(sys.modules.get("datasets"), "Dataset", ()))


def dataset_as_arrow(dataset: Any) -> Any:
    """Return a Dataset of Hugging Face as an Arrow table, with class labels by name; -1 is what it writes for none."""
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
    """Return the names of the columns, without those that are ours."""
    return [name for name in frame.collect_schema().names() if not str(name).startswith(OURS)]


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
    max_classes: int | None = None
    scale: Any = None
    repeats: Repeats = "mean"  # of a long table
    truth: str | None = None  # a column of labels to judge the answer by
    unseen: bool = False  # known labels judge the answer too: the method does not see them

    def find(self, frame: Frame) -> Columns:
        """Find the columns in a table, and check what their names and types tell."""
        if _are_labels(self.known):
            if self.objects is None and not isinstance(frame, nw.DataFrame):
                remedy = "Only objects of a long table have names, and rows of a table in memory numbers."
                raise InputError(
                    "known",
                    "must name a column of a lazy table",
                    came=type(self.known).__name__,
                    remedy=remedy,
                )
            return replace(replace(self, known=None).find(frame), known_labels=self.known)
        self._require_roles(names_in(frame))
        if self.max_classes is not None:
            require_integer("max_classes", self.max_classes, 1)
        require_choice("repeats", self.repeats, REPEATS)
        if isinstance(self.classes, str):
            raise InputTypeError("classes", "must be a list of labels", got=self.classes)
        classes = None if self.classes is None else [plain(label) for label in self.classes]
        taken = {self.known, self.truth, self.objects, self.voters}
        clusters = _base_models(frame, self.clusterings, "clusterings", taken, None)
        votes = _base_models(
            frame, self.classifiers, "classifiers", taken | set(columns_in(clusters)), classes
        )
        soft = [list(column) for column in votes.values() if isinstance(column, dict)]
        if not votes:
            remedy = f"The columns are {listed(names_in(frame), 30)}."
            raise InputError(
                "classifiers", "must name at least one column", came="none", remedy=remedy
            )
        if self.objects is not None and (len(votes) > 1 or soft):
            raise InputError(
                "classifiers",
                "must name the one column of labels of a long table",
                came=listed(list(votes)),
            )
        self._require_one_role_each(votes, clusters)
        classes = soft[0] if classes is None and soft else classes
        found: dict[str, Any] = {
            "classifiers": votes,
            "clusterings": clusters,
            "classes": classes,
            "scale": self._scale(votes),
        }
        columns = Columns(**vars(self) | found)
        _require_label_types(frame, columns)
        return columns

    def find_for(self, frame: Frame, consensus: Consensus) -> Columns:
        """Find the columns for a consensus that exists: those that are named, or else those named like its base models."""
        columns = names_in(frame)
        wanted = {
            "classifiers": [base.name for base in consensus.solution.models if base.is_voter],
            "clusterings": [base.name for base in consensus.solution.models if not base.is_voter],
        }
        wanted = {
            argument: names for argument, names in wanted.items() if getattr(self, argument) is None
        }
        found: dict[str, Any] = {
            argument: [name for name in names if name in columns]
            for argument, names in wanted.items()
        }
        if self.classifiers is None and self.objects is not None:
            raise InputError(
                "classifiers", "must name the column of labels of a long table", got=None
            )
        if self.classifiers is None and not found["classifiers"]:
            raise InputError(
                "table",
                f"must have columns named like the classifiers of the consensus, {listed(wanted['classifiers'])}",
                came=listed(columns),
                remedy=f"A long table needs {arg('objects')}, {arg('voters')} and {arg('classifiers')}; of another, rename the "
                "columns.",
            )
        lacking = [name for names in wanted.values() for name in names if name not in columns]
        if lacking:
            warnings.warn(
                f"The table has no column for {count(len(lacking), 'base model')} of the consensus; treated as missing: "
                f"{listed(lacking)}.",
                ExtendWarning,
                stacklevel=3,
            )
        named = replace(self, **found, classes=consensus.classes).find(frame)
        return (
            named
            if self.scale is not None
            else replace(named, scale=self._scale_of(consensus, named.classifiers))
        )

    def _scale_of(self, consensus: Consensus, votes: Mapping[str, Column]) -> Any:
        """Return the scales of a consensus; the one for all voters, if there is one, also suits voters it has never seen."""
        scales = {
            base.name: voter_scale(base)
            for base in consensus.solution.models
            if base.kind == "grader"
        }
        if self.objects is None:
            return {
                name: scales[name]
                for name in votes
                if name in scales and not isinstance(votes[name], dict)
            } or None
        shared = len(set(scales.values())) == 1 and len(scales) == sum(
            base.is_voter for base in consensus.solution.models
        )
        return next(iter(scales.values())) if shared else scales or None

    def _scale(self, votes: Mapping[str, Column]) -> Any:
        """Return the scale of each classifier that has one; of a long table, whose voters are known later, what was given."""
        if self.objects is None:
            return (
                scales_of(
                    self.scale,
                    [name for name, column in votes.items() if not isinstance(column, dict)],
                )
                or None
            )
        return (
            scales_of(self.scale, list(self.scale))
            if isinstance(self.scale, Mapping)
            else scales_of(self.scale, [""]).get("")
        )

    def _require_roles(self, columns: list[str]) -> None:
        for argument in ("known", "truth", "objects", "voters"):
            if getattr(self, argument) is not None:
                require_column(getattr(self, argument), columns, argument)
        if self.truth is not None and self.truth == self.known:
            must = (
                f"must differ from {arg('known')}: labels that a method was given cannot judge it"
            )
            raise InputError("truth", must, got=self.truth)
        if (self.objects is None) != (self.voters is None):
            alone = "voters" if self.objects is None else "objects"
            phrase = f"{arg('objects')} and {arg('voters')} must be given together, got {arg(alone)} alone"
            raise InputError(alone, phrase=phrase)

    def _require_one_role_each(
        self, votes: Mapping[str, Column], clusters: Mapping[str, Column]
    ) -> None:
        """Refuse one column in two roles."""
        roles = [] if self.objects is None else [("objects", self.objects), ("voters", self.voters)]
        roles += [("classifiers", column) for column in columns_in(votes)]
        roles += [("clusterings", column) for column in columns_in(clusters)]
        first: dict[Any, str] = {}
        for argument, column in roles:
            if first.setdefault(column, argument) != argument:
                phrase = f"{arg(first[column])} and {arg(argument)} must name different columns, got {column!r} for both"
                raise InputError(argument, phrase=phrase)
        for argument in ("known", "truth"):
            column = getattr(self, argument)
            if first.get(column) in ("classifiers", "clusterings"):
                remedy = f"Leave it out of {arg('classifiers')} and {arg('clusterings')}."
                raise InputError(
                    argument, "must not be the column of a base model", got=column, remedy=remedy
                )


@dataclass(frozen=True)
class Columns(Naming):
    """The columns found in a table: those of each base model by its name; of a long table the one column of labels."""

    classifiers: dict[str, Column]
    clusterings: dict[str, Column] = field(default_factory=dict)
    classes: list[Label] | None = None
    row_number: str | None = (
        None  # a column that numbers the rows; a distinct row is then named by the first of its rows
    )
    known_labels: Any = None  # known labels by object, where no column has them

    @property
    def labels(self) -> str:
        """Return the column of labels of a long table."""
        return next(column for column in self.classifiers.values() if not isinstance(column, dict))

    @property
    def keys(self) -> list[str]:
        """Return the columns that make rows distinct; of a long table, those that belong to an object."""
        used = columns_in(self.clusterings)
        used = (
            [*columns_in(self.classifiers), *used]
            if self.objects is None
            else [self.objects, *used]
        )
        return list(dict.fromkeys([*used, *(column for _, column in self._stated)]))

    @property
    def _stated(self) -> list[tuple[str, str]]:
        """Return the columns of labels that no base model gave, each with the argument that names it."""
        return [
            (name, column)
            for name, column in (("known", self.known), ("truth", self.truth))
            if column is not None
        ]

    @property
    def join_keys(self) -> list[str]:
        """Return the columns by which a row finds its answer."""
        return self.keys if self.objects is None else [self.objects]

    @property
    def hard_columns(self) -> list[tuple[str, str]]:
        """Return the columns of labels, each with the argument that names it."""
        chosen = [("classifiers", column) for column in self.classifiers.values()]
        chosen += [("clusterings", column) for column in self.clusterings.values()]
        return [
            (argument, column) for argument, column in chosen if not isinstance(column, dict)
        ] + self._stated

    @property
    def graded_groups(self) -> list[list[str]]:
        """Return the columns that hold answers on a scale, and no classes, those of the same scale together."""
        if self.objects is not None:
            return [] if self.scale is None or isinstance(self.scale, Mapping) else [[self.labels]]
        groups: dict[Scale, list[str]] = {}
        for name, scale in (self.scale or {}).items():
            groups.setdefault(scale, []).extend(columns_in({name: self.classifiers[name]}))
        return list(groups.values())

    @property
    def graded(self) -> list[str]:
        """Return all columns that hold answers on a scale, and no classes."""
        return [column for group in self.graded_groups for column in group]

    @property
    def label_groups(self) -> list[list[str]]:
        """Return the columns of labels in groups of one type: all those of classes, each clustering, and those of each scale."""
        classes = [
            column
            for argument, column in self.hard_columns
            if argument != "clusterings" and column not in self.graded
        ]
        return [
            classes,
            *([column] for argument, column in self.hard_columns if argument == "clusterings"),
            *self.graded_groups,
        ]

    def require_long(self) -> None:
        """Refuse a table that has one row per object already."""
        if self.objects is None:
            remedy = f"Leave it out, or pass {arg('objects')} and {arg('voters')}."
            raise InputError(
                "per_object",
                phrase=f"{arg('per_object')} is for a long table, with one row per vote",
                remedy=remedy,
            )

    def with_classes(self, classes: Sequence[Label]) -> Columns:
        """Return the same columns with the same classes as values of another type."""

        def typed(column: Column) -> Column:
            return (
                dict(zip(classes, column.values(), strict=True))
                if isinstance(column, dict)
                else column
            )

        classifiers = {name: typed(column) for name, column in self.classifiers.items()}
        return replace(self, classifiers=classifiers, classes=list(classes))

    def with_answers(self, typed: Callable[[str, Label], Label]) -> Columns:
        """Return the same columns with the answers of scales as values of another type, which a column and an answer tell."""

        def retyped(column: Any, scale: Scale) -> Scale:
            values, unordered = (
                [typed(column, label) for label in labels]
                for labels in (scale.values, scale.unordered)
            )
            return replace(scale, values=values, unordered=unordered)

        if isinstance(self.scale, Scale):
            return replace(self, scale=retyped(self.labels, self.scale))
        columns = (
            self.classifiers
            if self.objects is None
            else dict.fromkeys(self.scale or (), self.labels)
        )
        return replace(
            self,
            scale={
                name: retyped(columns[name], scale) for name, scale in (self.scale or {}).items()
            }
            or None,
        )


def columns_in(base_models: Mapping[str, Column]) -> list[str]:
    """Return all columns that base models use."""
    return [
        name
        for column in base_models.values()
        for name in (column.values() if isinstance(column, dict) else [column])
    ]


# ---- names that are no columns, and types that are no labels -------------------------------------


def _are_labels(known: Any) -> bool:
    """Return whether known labels are given by object, rather than by the name of a column."""
    return isinstance(known, Mapping) or (hasattr(known, "__len__") and not isinstance(known, str))


def require_column(name: Any, columns: list[str], argument: str) -> None:
    """Refuse a column that is not there, and name the nearest that is."""
    if name in columns:
        return
    longer = [
        str(column)
        for column in columns
        if isinstance(name, str) and name and str(column).startswith(name)
    ]
    near = longer or get_close_matches(str(name), map(str, columns), n=1)
    if len(longer) > 1:
        remedy = f"Write '{name}*' for all columns that begin with it."
    else:
        remedy = f"Did you mean {near[0]!r}?" if near else f"The columns are {listed(columns, 30)}."
    raise InputError(argument, "must name a column of the table", got=name, remedy=remedy)


def _require_label_types(frame: Frame, columns: Columns) -> None:
    """Refuse types that cannot be labels; whether floats are integers only their values tell."""
    schema = frame.collect_schema()
    for argument, column in columns.hard_columns:
        if frame.implementation.is_pyspark() and any(sign in column for sign in ".`"):
            must = "must name columns without dots and backticks on Spark"
            raise InputError(argument, must, got=column, remedy="Rename it.")
        dtype = schema[column]
        if not (dtype.is_integer() or dtype.is_float() or isinstance(dtype, LABEL_TYPES)):
            raise InputTypeError(
                argument, f"must hold {LABELS}", came=f"{dtype} in column {column!r}"
            )


# ---- names, patterns, selectors and dicts --------------------------------------------------------


def _base_models(
    frame: Frame, choice: Any, argument: str, taken: set[Any], classes: list[Label] | None
) -> dict[str, Column]:
    """Return the base models that were chosen, by name."""
    if isinstance(choice, (list, tuple)) and any(isinstance(part, Mapping) for part in choice):
        named = {
            name: column
            for part in choice
            if isinstance(part, Mapping)
            for name, column in part.items()
        }
        found = _base_models(frame, named, argument, taken, classes)
        rest = [part for part in choice if not isinstance(part, Mapping)]
        return _base_models(frame, rest, argument, taken | set(columns_in(found)), classes) | found
    if not isinstance(choice, Mapping):
        return {str(name): name for name in _matching_columns(frame, choice, argument, taken)}
    columns = names_in(frame)
    models: dict[str, Column] = {}
    for name, column in choice.items():
        if isinstance(column, (str, int)) and (column in columns or not _is_pattern(column)):
            require_column(column, columns, argument)
            models[str(name)] = column  # type: ignore[assignment]  # pandas has columns that are named by numbers
            continue
        parts = (
            list(column.values())
            if isinstance(column, Mapping)
            else _matching_columns(frame, column, argument, taken)
        )
        for part in parts:
            require_column(part, columns, argument)
        if argument == "clusterings":
            models[str(name)] = dict(enumerate(parts))
            continue
        stem = column.split("*")[0] if isinstance(column, str) else f"{name}_"
        labels = (
            [plain(label) for label in column]
            if isinstance(column, Mapping)
            else _labels_in_names(parts, stem)
        )
        models[str(name)] = by_class = _columns_by_class(
            labels, parts, classes, f"{argument}[{name!r}]"
        )
        classes = list(by_class)
    return models


def _labels_in_names(parts: list[str], stem: str) -> list[Label] | None:
    """Return what follows the stem in the names of columns, or None if they do not all begin with it."""
    if not all(str(part).startswith(stem) for part in parts):
        return None
    texts = [part.removeprefix(stem) for part in parts]
    return [int(text) for text in texts] if all(text.isdecimal() for text in texts) else texts


def _columns_by_class(
    labels: list[Label] | None, parts: list[str], classes: list[Label] | None, argument: str
) -> dict[Label, str]:
    """Return a soft classifier's columns by class: matched by name, as text, or else by the order of the classes."""
    if labels is None and classes is None:
        remedy = f"Give a column for each class by name, or pass {arg('classes', ...)} in the order of the columns."
        raise InputError(
            argument, "must tell the class of each column", came=listed(parts), remedy=remedy
        )
    if classes is None:
        assert labels is not None
        return dict(zip(labels, parts, strict=True))
    texts = {str(label): label for label in classes}
    unnamed = labels is None or not texts.keys() & {str(label) for label in labels}
    if unnamed and len(parts) == len(classes):
        return dict(zip(classes, parts, strict=True))
    column_of = dict(zip(map(str, labels or parts), parts, strict=True))
    if column_of.keys() != texts.keys():
        raise InputError(
            argument,
            f"must have one column for each class, {listed(classes)}",
            came=listed(labels or parts),
        )
    return {label: column_of[text] for text, label in texts.items()}


def _matching_columns(frame: Frame, choice: Any, argument: str, taken: set[Any]) -> list[str]:
    """Return the columns that names, patterns or a selector stand for; those taken otherwise must be named outright."""
    columns = names_in(frame)
    if not isinstance(choice, (str, list, tuple, set, frozenset)):
        return [name for name in _selected_columns(frame, choice, argument) if name not in taken]
    found: list[str] = []
    for name in [choice] if isinstance(choice, str) else choice:
        if name in columns or not _is_pattern(name):
            require_column(name, columns, argument)
            found.append(name)
            continue
        matching = [
            column for column in columns if fnmatchcase(str(column), name) and column not in taken
        ]
        if not matching:
            remedy = f"The columns are {listed(columns, 30)}."
            raise InputError(argument, "must match columns of the table", got=name, remedy=remedy)
        found += matching
    return list(dict.fromkeys(found))


def _selected_columns(frame: Frame, selector: Any, argument: str) -> list[str]:
    """Return the columns that a selector stands for: one of narwhals, or for its own tables one of polars."""
    if isinstance(selector, narwhals.Expr):
        return list(frame.select(selector).collect_schema().names())
    polars = nw.dependencies.get_polars()
    if (
        polars is not None
        and isinstance(selector, polars.Expr)
        and frame.implementation.is_polars()
    ):
        return list(frame.to_native().lazy().select(selector).collect_schema().names())
    must = "must be column names, a pattern such as 'clf_*', a narwhals selector or a dict of name -> column"
    raise InputTypeError(argument, must, came=type(selector).__name__)


def _is_pattern(name: Any) -> bool:
    return isinstance(name, str) and any(sign in name for sign in "*?[")
