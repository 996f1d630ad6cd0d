"""Which columns of a table say what: names, patterns, selectors and dicts become a `Source`, and a `Source` makes `Votes`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import narwhals
import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from .._checks import require_integer
from .._text import count, listed
from ..answer import ExtendWarning
from ..consensus import Consensus
from ..votes import Votes
from ..votes.encoding import classes_of
from ..votes.labels import Label, plain
from ..votes.layout import frozen
from ..votes.reading import encode, named_columns
from .engines import COUNT, ENGINES, FIRST, OURS, collected

Frame = Any  # a DataFrame or LazyFrame of narwhals
Said = str | dict[Label, str]  # a column of labels, or of a soft model a column of shares for each class or cluster

LABELS = "labels (ints, bools, strings or categoricals)"
FEW_NUMBERS = 20  # as many classes may be numbers with fractions, written as text
MANY_LABELS, MOSTLY = 100, 0.5  # as many labels in a column, and that share of them different, are names of objects


def frame_of(table: Any) -> Frame:
    """Return a table as narwhals sees it."""
    frame = nw.from_native(table, pass_through=True)
    lazy = isinstance(frame, nw.LazyFrame) and frame.implementation in ENGINES
    if not isinstance(frame, nw.DataFrame) and not lazy:
        raise TypeError(
            "table must be a pandas, polars or Arrow table, a polars LazyFrame, a DuckDB relation or a Dask or Spark DataFrame, "
            f"got {type(table).__name__}."
        )
    return frame


def columns_of(frame: Frame) -> list[str]:
    """Return the names of the columns, without any that are ours."""
    return [name for name in frame.collect_schema().names() if not str(name).startswith(OURS)]


@dataclass(frozen=True)
class Source:
    """The columns that say something. `units` below are what is solved once: distinct rows, or the objects of a long table."""

    classifiers: dict[str, Said]  # of a long table the one column of labels
    clusterings: dict[str, Said]
    known: str | None
    objects: str | None  # both or none: the table is long
    voters: str | None
    classes: list[Label] | None
    missing: Label | None
    max_classes: int | None
    row: str | None = None  # the column of the rows' numbers, by which distinct rows are called

    @property
    def labels(self) -> str:
        """Return the column of labels of a long table."""
        return next(column for column in self.classifiers.values() if not isinstance(column, dict))

    @property
    def keys(self) -> list[str]:
        """Return the columns by which units are told apart."""
        said = columns_in(self.clusterings)
        said = [*columns_in(self.classifiers), *said] if self.objects is None else [self.objects, *said]
        return list(dict.fromkeys(said if self.known is None else [*said, self.known]))

    def votes(self, units: Frame, rows: Frame | None) -> Votes:
        """Return the votes on some units; those of a long table stand in `rows`."""
        if not len(units):
            raise ValueError("table must hold at least one row, got none.")
        self._require_integer_numbers(units, rows)
        clusterings = {name: _values(units, column) for name, column in self.clusterings.items()} or None
        if self.objects is not None:
            assert rows is not None
            objects, voters, labels = (rows.get_column(column).to_native() for column in (self.objects, self.voters, self.labels))
            ids = units.get_column(self.objects).to_native()
            votes = Votes.from_long(
                objects, voters, labels, clusterings, object_ids=ids, classes=self.classes, missing=self.missing
            )
        else:
            classifiers = {name: _values(units, column) for name, column in self.classifiers.items()}
            weight = units[COUNT].to_numpy() if COUNT in units.columns else None
            votes = Votes.from_labels(classifiers, clusterings, classes=self.classes, missing=self.missing, sample_weight=weight)
            if FIRST in units.columns:
                votes = replace(votes, object_ids=frozen(units[FIRST].to_numpy().astype(np.int64)))
        if self.classes is None:
            named = {votes.models[m].name: len(np.unique(codes)) for m, codes in votes.hard.items()}
            self._require_few_classes(votes.n_classes, {name: named[name] for name in self.classifiers if name in named})
            _require_no_measurements(votes.classes)
            _require_no_ids(votes, set(self.classifiers))
        return votes

    def new_votes(self, units: Frame, rows: Frame | None, model: Consensus) -> Votes:
        """Return votes for a model that is there already: they may hold other classes, or none at all."""
        soft = any(isinstance(column, dict) for column in self.classifiers.values())
        labels = units if rows is None or self.objects is None else rows
        silent = not soft and all(labels.get_column(column).is_null().all() for column in self.classifiers.values())
        return replace(self, classes=model.classes.tolist() if soft or silent else None).votes(units, rows)

    def known_labels(self, units: Frame) -> Any:
        """Return the known labels of the units, or None if there are none."""
        if self.known is None or units.get_column(self.known).is_null().all():
            return None
        return units.get_column(self.known).to_native()

    def all_classes(self, frame: Frame) -> list[Label]:
        """Return the classes voted for anywhere in a table that is too large to be looked at here."""
        if self.classes is not None:
            return self.classes
        columns = []
        for name, column in self.classifiers.items():
            found = frame.select(column).unique()
            found = collected(found if self.max_classes is None else found.head(self.max_classes + 2))  # null is no class
            raw = named_columns({name: found.get_column(column).to_native()}, "classifiers", "")[name]
            columns.append(encode(name, raw, "classifiers"))
        classes: list[Label] = classes_of(columns, {}, None, self.missing, "classifiers").tolist()
        self._require_few_classes(len(classes), {column.name: len(column.seen) for column in columns})
        return classes

    def one_unit_an_object(self, units: Frame) -> Frame:
        """Refuse a long table in which an object has two clusters or two known labels."""
        if self.objects is None:
            return units
        twice = units.filter(nw.col(self.objects).is_duplicated())
        if len(twice):
            raise ValueError(
                "clusterings and known must be the same in all rows of an object, got different ones for object "
                f"{plain(twice.get_column(self.objects)[0])!r}."
            )
        return units

    def _require_integer_numbers(self, units: Frame, rows: Frame | None) -> None:
        said = {"classifiers": self.classifiers, "clusterings": self.clusterings}
        named = [(argument, column) for argument in said for column in said[argument].values()]
        for argument, column in [*named, ("known", self.known)]:
            frame = rows if rows is not None and argument == "classifiers" and self.objects is not None else units
            if column is None or isinstance(column, dict) or not frame.get_column(column).dtype.is_float():
                continue
            numbers = frame.get_column(column).to_numpy()
            broken = numbers[(np.floor(numbers) != numbers) & ~np.isnan(numbers)]
            if len(broken):
                raise ValueError(
                    f"{argument} must hold {LABELS}, got {plain(broken[0])!r} in column {column!r}. The columns of a soft model "
                    f"are given as a dict: {{'name': {{'class': {column!r}, ...}}}}."
                )

    def _require_few_classes(self, n_classes: int, n_labels: Mapping[str, int]) -> None:
        if self.max_classes is not None and n_classes > self.max_classes:
            most = f", most in {max(n_labels, key=lambda name: n_labels[name])!r}" if n_labels else ""
            raise ValueError(
                f"classifiers must hold at most max_classes={self.max_classes:,} classes, got {n_classes:,}{most}. Leave out "
                "columns that are no votes, or raise max_classes."
            )


def _require_no_measurements(classes: npt.NDArray[Any]) -> None:
    """Refuse text in which there are many numbers with fractions."""
    if len(classes) <= FEW_NUMBERS or classes.dtype != object:
        return
    numbers = [label for label in classes if _is_number(label)]
    broken = [label for label in numbers if not float(label).is_integer()]
    if len(broken) > (FEW_NUMBERS if len(numbers) < len(classes) else 0):
        raise ValueError(
            f"classifiers must hold {LABELS}, got {len(numbers):,} different numbers such as {broken[0]!r}. Leave out columns of "
            "measurements or probabilities, or name the classes by classes=[...]."
        )


def _is_number(label: str) -> bool:
    try:
        return bool(np.isfinite(float(label)))
    except ValueError:
        return False


def _require_no_ids(votes: Votes, classifiers: set[str]) -> None:
    """Refuse a column in which hardly any label comes twice."""
    for m, codes in votes.hard.items():
        voted = codes < votes.models[m].n_groups
        n_votes, n_labels = float(votes.counts[voted].sum()), len(np.unique(codes[voted]))
        if votes.models[m].name in classifiers and n_labels >= MANY_LABELS and n_labels > MOSTLY * n_votes:
            raise ValueError(
                f"classifiers must hold votes, got {n_labels:,} different labels in {n_votes:,.0f} rows of column "
                f"{votes.models[m].name!r}, as names of objects have. Leave it out, or name the classes by classes=[...]."
            )


def _values(units: Frame, column: Said) -> Any:
    """Return a column of labels as it is, and the shares of a soft model as a table."""
    if isinstance(column, dict):
        return np.column_stack([_shares(units.get_column(name), name) for name in column.values()])
    return units.get_column(column).to_native()


def _shares(column: Any, name: str) -> npt.NDArray[np.float64]:
    """Return a column of shares, which a CSV file has as text."""
    if column.dtype != nw.String:
        return column.cast(nw.Float64).to_numpy()
    shares = np.full(len(column), np.nan)
    for row, share in enumerate(column.to_list()):
        try:
            shares[row] = np.nan if share is None else float(share)
        except ValueError:
            raise ValueError(f"A soft model must have numbers in column {name!r}, got {share!r}.") from None
    return shares


# ---- what the user named ---------------------------------------------------------------------------------------------


def source_of(
    frame: Frame,
    classifiers: Any,
    clusterings: Any,
    *,
    known: str | None = None,
    objects: str | None = None,
    voters: str | None = None,
    classes: Iterable[Label] | None = None,
    missing: Label | None = None,
    max_classes: int | None = None,
) -> Source:
    """Find the columns that were named, and check what names and types tell."""
    columns = columns_of(frame)
    for argument, name in {"known": known, "objects": objects, "voters": voters}.items():
        if name is not None:
            _require_column(name, columns, argument)
    if (objects is None) != (voters is None):
        raise ValueError(f"objects and voters must be given together, got objects={objects!r} and voters={voters!r}.")
    if max_classes is not None:
        require_integer("max_classes", max_classes, 1)
    if isinstance(classes, str):
        raise TypeError(f"classes must be a list of labels, got {classes!r}.")
    given = None if classes is None else [plain(label) for label in classes]
    taken = {known, objects, voters}
    clusters = _named(frame, clusterings, "clusterings", taken, None)
    votes = _named(frame, classifiers, "classifiers", taken | set(columns_in(clusters)), given)
    soft = [list(column) for column in votes.values() if isinstance(column, dict)]
    if not votes:
        raise ValueError("classifiers must name at least one column, got none.")
    if objects is not None and (len(votes) > 1 or soft):
        raise ValueError(f"classifiers must name the one column of labels of a long table, got {listed(list(votes))}.")
    if known is not None and known in [*columns_in(votes), *columns_in(clusters)]:
        raise ValueError(f"known must be no base model's column, got {known!r}. Leave it out of classifiers and clusterings.")
    source = Source(votes, clusters, known, objects, voters, soft[0] if given is None and soft else given, missing, max_classes)
    _require_label_types(frame, source)
    return source


def label_columns(table: Any, classifiers: Any, clusterings: Any, **roles: str | None) -> list[list[str]]:
    """Return the columns of labels in groups that must be of one kind: all those of classes, and each clustering by itself."""
    source = source_of(frame_of(table), classifiers, clusterings, **roles)  # type: ignore[arg-type]
    classes = [column for column in source.classifiers.values() if not isinstance(column, dict)]
    clusters = [[column] for column in source.clusterings.values() if not isinstance(column, dict)]
    return [classes if source.known is None else [*classes, source.known], *clusters]


def columns_of_model(frame: Frame, model: Consensus, classifiers: Any, clusterings: Any, objects: str | None) -> tuple[Any, Any]:
    """Return the columns that were named, or else those that are called like the model's base models."""
    columns = columns_of(frame)
    wanted = {kind: [base.name for base in model.models if base.kind == kind] for kind in ("classifier", "clustering")}
    there = {kind: [name for name in wanted[kind] if name in columns] for kind in wanted}
    if classifiers is None and objects is not None:
        raise ValueError("classifiers must name the column of labels of a long table, got None.")
    if classifiers is None and not there["classifier"]:
        raise ValueError(
            f"table must have columns called like the model's classifiers, {listed(wanted['classifier'])}, got {listed(columns)}."
            " Pass classifiers={'name': 'column'} if they are called otherwise."
        )
    by_name = [kind for kind, choice in (("classifier", classifiers), ("clustering", clusterings)) if choice is None]
    lacking = [name for kind in by_name for name in wanted[kind] if name not in columns]
    if lacking:
        warnings.warn(
            f"table has no column for {count(len(lacking), 'base model')} of the model, treated as missing: {listed(lacking)}.",
            ExtendWarning,
            stacklevel=3,
        )
    return (
        there["classifier"] if classifiers is None else classifiers,
        there["clustering"] if clusterings is None else clusterings,
    )


def columns_in(said: Mapping[str, Said]) -> list[str]:
    """Return all columns that base models use."""
    return [name for column in said.values() for name in (column.values() if isinstance(column, dict) else [column])]


def _named(frame: Frame, choice: Any, argument: str, taken: set[Any], classes: list[Label] | None) -> dict[str, Said]:
    """Return the base models that were chosen, by name."""
    columns = columns_of(frame)
    if isinstance(choice, (list, tuple)) and any(isinstance(part, Mapping) for part in choice):
        named = {name: column for part in choice if isinstance(part, Mapping) for name, column in part.items()}
        found = _named(frame, named, argument, taken, classes)
        rest = [part for part in choice if not isinstance(part, Mapping)]
        return _named(frame, rest, argument, taken | set(columns_in(found)), classes) | found
    if not isinstance(choice, Mapping):
        return {str(name): name for name in _chosen(frame, choice, argument, taken)}
    said: dict[str, Said] = {}
    for name, column in choice.items():
        if isinstance(column, (str, int)) and (column in columns or not _is_pattern(column)):
            _require_column(column, columns, argument)
            said[str(name)] = column  # type: ignore[assignment]  # pandas has columns that are called by numbers
            continue
        parts = list(column.values()) if isinstance(column, Mapping) else _chosen(frame, column, argument, taken)
        for part in parts:
            _require_column(part, columns, argument)
        if argument == "clusterings":
            said[str(name)] = dict(enumerate(parts))
            continue
        stem = column.split("*")[0] if isinstance(column, str) else f"{name}_"
        labels = [plain(label) for label in column] if isinstance(column, Mapping) else _labels_in_names(parts, stem)
        said[str(name)] = by_class = _by_class(labels, parts, classes, f"{argument}[{name!r}]")
        classes = list(by_class)
    return said


def _labels_in_names(parts: list[str], stem: str) -> list[Label] | None:
    """Return what follows the stem in the names of columns, or None if they do not all begin with it."""
    if not all(str(part).startswith(stem) for part in parts):
        return None
    texts = [part.removeprefix(stem) for part in parts]
    return [int(text) for text in texts] if all(text.isdecimal() for text in texts) else texts


def _by_class(labels: list[Label] | None, parts: list[str], classes: list[Label] | None, where: str) -> dict[Label, str]:
    """Return a soft classifier's columns by class: matched by name, as text, or else by the order of the classes."""
    if labels is None and classes is None:
        raise ValueError(
            f"{where} must tell the class of each column, got {listed(parts)}. Pass a dict of class -> column, or classes=[...] "
            "in the order of the columns."
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
        raise ValueError(f"{where} must have one column for each class, {listed(classes)}, got {listed(labels or parts)}.")
    return {label: column_of[text] for text, label in texts.items()}


def _chosen(frame: Frame, choice: Any, argument: str, taken: set[Any]) -> list[str]:
    """Return the columns that names, patterns or a selector stand for; those taken otherwise must be named outright."""
    columns = columns_of(frame)
    if not isinstance(choice, (str, list, tuple, set, frozenset)):
        return [name for name in _selected(frame, choice, argument) if name not in taken]
    found: list[str] = []
    for name in [choice] if isinstance(choice, str) else choice:
        if name in columns or not _is_pattern(name):
            _require_column(name, columns, argument)
            found.append(name)
            continue
        matching = [column for column in columns if fnmatchcase(str(column), name) and column not in taken]
        if not matching:
            raise ValueError(f"{argument} must match columns of the table, got {name!r}. They are {listed(columns, 30)}.")
        found += matching
    return list(dict.fromkeys(found))


def _selected(frame: Frame, selector: Any, argument: str) -> list[str]:
    """Return the columns that a selector stands for: one of narwhals, or for its own tables one of polars."""
    if isinstance(selector, narwhals.Expr):
        return list(frame.select(selector).collect_schema().names())
    polars = nw.dependencies.get_polars()
    if polars is not None and isinstance(selector, polars.Expr) and frame.implementation.is_polars():
        return list(frame.to_native().lazy().select(selector).collect_schema().names())
    raise TypeError(
        f"{argument} must be column names, a pattern such as 'clf_*', a selector of narwhals or a dict of name -> column, "
        f"got {type(selector).__name__}."
    )


def _is_pattern(name: Any) -> bool:
    return isinstance(name, str) and any(sign in name for sign in "*?[")


def _require_column(name: Any, columns: list[str], argument: str) -> None:
    """Refuse a column that is not there, and name the nearest that is."""
    if name in columns:
        return
    near = get_close_matches(str(name), map(str, columns), n=1)
    if isinstance(name, str) and name and any(str(column).startswith(name) for column in columns):
        hint = f"Write '{name}*' for all columns that begin so."
    else:
        hint = f"Did you mean {near[0]!r}?" if near else f"They are {listed(columns, 30)}."
    raise ValueError(f"{argument} must name columns of the table, got {name!r}. {hint}")


def _require_label_types(frame: Frame, source: Source) -> None:
    """Refuse types that can't be labels; whether floats are whole numbers only their values tell."""
    schema = frame.collect_schema()
    known: dict[str, Said] = {} if source.known is None else {"known": source.known}
    for argument, said in (("classifiers", source.classifiers), ("clusterings", source.clusterings), ("known", known)):
        for column in said.values():
            if isinstance(column, dict):
                continue
            if frame.implementation.is_pyspark() and any(sign in column for sign in ".`"):
                raise ValueError(f"{argument} must name columns without dots and backticks on Spark, got {column!r}. Rename it.")
            dtype = schema[column]
            if not (dtype.is_integer() or dtype.is_float() or isinstance(dtype, LABEL_TYPES)):
                raise TypeError(f"{argument} must hold {LABELS}, got {dtype} in column {column!r}.")


LABEL_TYPES = (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown)
