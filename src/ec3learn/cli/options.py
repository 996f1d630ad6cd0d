"""The options that several commands share, in groups of those that go together, and what the tab key offers for them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from .._checks import InputError
from .._text import some


def option(
    default: Any,
    metavar: str | None,
    help: str,
    *names: str,
    panel: str | None = None,
    least: int | None = None,
) -> Any:
    """Return an option: a field of a group, or the default of a parameter of a command.

    It is named like the field or parameter, unless another long name is given; what the tab key
    offers depends on the metavar.
    """
    return field(
        default=default,
        metadata={
            "names": names,
            "metavar": metavar,
            "help": help,
            "rich_help_panel": panel,
            "min": least,
        },
    )


column_option, method_option, file_option = (
    partial(option, panel=panel) for panel in ("Columns", "Method", "Files")
)


def flatten_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose options are the parameters of a function; of those that are groups, their fields."""
    kinds = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    parameters: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        if name in groups:
            own = get_type_hints(groups[name])
            parameters += [
                _parameter(each.name, own[each.name], each) for each in fields(groups[name])
            ]
        elif isinstance(parameter.default, Field):
            parameters.append(_parameter(name, kinds[name], parameter.default))
        else:
            parameters.append(
                parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kinds[name])
            )

    @wraps(function)
    def command(**values: Any) -> None:
        given = {
            name: kind(**{each.name: values.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        function(**values, **given)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(name: str, kind: Any, given: Field[Any]) -> Parameter:
    """Return an option as Typer knows it."""
    how = dict(given.metadata)
    names = how.pop("names")
    names = (
        names
        if any(name.startswith("--") for name in names)
        else (f"--{name.replace('_', '-')}", *names)
    )
    shown = typer.Option(*names, **how, autocompletion=COMPLETE.get(how["metavar"]))
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=given.default, annotation=Annotated[kind, shown]
    )


class _Plain:
    """A command, or a group of them, whose help shows no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        options: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in options:
            if getattr(each, "is_flag", False) and each.metavar is None:
                each.metavar = " "
        return options


class PlainCommand(_Plain, TyperCommand):
    """A command whose help shows no type for flags, and that says what to do about arguments too many."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return no arguments: what no option or argument takes is refused."""
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            phrase = f"Unexpected {'argument' if len(rest) == 1 else 'arguments'} {some(list(map(repr, rest)))}"
            remedy = "Separate several names by commas (svm,tree), and quote patterns ('clf_*'). "
            takes_names = any(each.name == "classifiers" for each in self.params)
            raise InputError(
                "arguments",
                phrase=phrase,
                remedy=f"{remedy if takes_names else ''}See: {ctx.command_path} --help.",
            )
        return rest


class PlainGroup(_Plain, TyperGroup):
    """A group of such commands, that says where what was taken for a command is an option."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is named, and what follows it."""
        option = f"--{args[0]}"
        having = [
            name
            for name, command in self.commands.items()
            if any(option in each.opts for each in command.params)
        ]
        if args[0] not in self.commands and having and not ctx.resilient_parsing:
            phrase = f"No such command {args[0]!r}, but {ctx.command_path} {having[0]} has the option {option}"
            raise InputError(
                "command", phrase=phrase, remedy=f"See: {ctx.command_path} {having[0]} --help."
            )
        return super().resolve_command(ctx, args)


def argument(metavar: str, help: str) -> Any:
    """Return a positional argument of a command."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


# ---- what the tab key offers: methods, their parameters, and the columns of the table that the lin


def complete_methods(ctx: Any, incomplete: str) -> list[str]:
    """Return the methods, also after a comma."""
    from ..methods import METHODS

    return _listed(METHODS, incomplete)


def complete_settings(ctx: Any, incomplete: str) -> list[str]:
    """Return the parameters of the method that the line names, ready for a value."""
    from ..methods import METHODS

    method = METHODS.get(ctx.params.get("method") or "auto")
    names = [] if method is None else [f"{name}=" for name in method().get_params(deep=False)]
    return [name for name in names if name.startswith(incomplete)]


def complete_columns(ctx: Any, incomplete: str) -> list[str]:
    """Return the columns of the table that the line names, also after a comma."""
    return _listed(_columns_of(ctx), incomplete)


def complete_labels(ctx: Any, incomplete: str) -> list[str]:
    """Return the columns of the table, and the files that may hold labels."""
    from ..tables.files.formats import FORMATS

    endings = {ending for known in FORMATS.values() for ending in known}
    files = [
        str(path)
        for path in Path().glob(f"{incomplete}*")
        if path.suffix.lower() in endings or path.is_dir()
    ]
    return [*(name for name in _columns_of(ctx) if name.startswith(incomplete)), *files]


def _listed(names: Any, incomplete: str) -> list[str]:
    """Return what a list separated by commas may go on with: what stands there stays, and is not offered again."""
    before, comma, begun = incomplete.rpartition(",")
    taken = before.split(",")
    return [
        f"{before}{comma}{name}" for name in names if name.startswith(begun) and name not in taken
    ]


def _columns_of(ctx: Any) -> list[str]:
    """Return the columns of the table from its beginning alone; none if it cannot be read."""
    try:
        path = ctx.params.get("votes") or ctx.args[-1]  # where an option still lacks its value
        return _names_in(path, ctx.params.get("format"), ctx.params.get("delimiter"))
    except Exception:  # a shell has no place for errors
        return []


def _names_in(path: str, given: str | None, delimiter: str | None) -> list[str]:
    import pyarrow as pa

    from ..tables.files.formats import ARROW, Carried, Format

    format = Format.of(path, given, delimiter)
    if format.name in ARROW:
        return list(Carried(Path(path), format).schema.names)
    text = io.TextIOWrapper(
        pa.input_stream(path, compression=format.compression), encoding="utf-8-sig", newline=""
    )
    return (
        list(json.loads(text.readline()))
        if format.name == "jsonl"
        else next(csv.reader(text, delimiter=format.delimiter))
    )


COMPLETE: dict[str | None, Callable[..., list[str]]] = {
    "COLUMN": complete_columns,
    "COLUMNS": complete_columns,
    "COLUMN|FILE": complete_labels,
    "METHOD": complete_methods,
    "METHODS": complete_methods,
    "NAME=VALUE": complete_settings,
}


# ---- single options ------------------------------------------------------------------------------

Text = str | None
Texts = list[str] | None

Input = Annotated[str, argument("VOTES", "Table of votes: a file, or - for standard input.")]
ID = column_option(
    None, "COLUMN", "The column that identifies objects; by default, row numbers from 0."
)
TRUTH = column_option(
    None,
    "COLUMN|FILE",
    "True labels to judge the answer by, which the method does not see; named in the same way as --known.",
)
MAX_ROWS = method_option(
    5_000_000,
    "N",
    "Distinct rows to solve at most; if there are more, the most frequent, and the others are answered from their groups.",
)
MAX_LOADED = method_option(
    5_000_000,
    "N",
    "Distinct rows to load at most; if there are more, they are answered where they are, or some at a time.",
)
OVERWRITE = file_option(False, None, "Replace files that exist.")
JSON = option(False, None, "Print JSON.")


# ---- groups --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns hold votes."""

    classifiers: Texts = column_option(
        None,
        "COLUMNS",
        "Columns of class votes: names or patterns such as 'clf_*', separated by commas. May be repeated.",
        "-c",
    )
    clusterings: Texts = column_option(
        None, "COLUMNS", "Columns of clusters, named in the same way.", "-k"
    )
    soft: Texts = column_option(
        None,
        "NAME=COLUMNS",
        "A classifier with one column of probabilities per class: svm='svm_*', or svm=spam:p1,ham:p2. May be repeated.",
    )
    objects: Text = column_option(
        None,
        "COLUMN",
        "For a long table with one row per vote: the object. --classifiers is then the column of labels.",
    )
    voters: Text = column_option(None, "COLUMN", "For a long table: the voter.")
    repeats: str = column_option(
        "mean",
        "NAME",
        "For a long table, what to take of several votes of a voter on an object: mean, last, first or error.",
    )
    scale: Texts = column_option(
        None,
        "ANSWERS",
        "Answers of voters who score or rate instead of naming classes, from low to high: 0-9, or low,medium,high; for one "
        "voter, NAME=0-9. --classes says what the ends mean. May be repeated.",
    )
    unordered: Texts = column_option(
        None, "ANSWERS", "Answers beside the scale, without an order: unsure."
    )
    outside: str = column_option(
        "error", "NAME", "Answers that are not on the scale: error, or missing."
    )
    direction: str = column_option(
        "up",
        "NAME",
        "The end of a scale that means the last of --classes: up (high), down (low), or learn, from --known.",
    )
    missing: Texts = column_option(
        None, "LABELS", "Labels that mean no vote, like an empty field: NA,n/a. May be repeated."
    )


@dataclass(frozen=True)
class LabelOptions:
    """What is known about classes and labels."""

    known: Texts = column_option(
        None,
        "COLUMN|FILE",
        "Known labels of some objects: a column, empty where there is none, or a file with a column of objects, named like --id "
        "or --objects, and one of labels (FILE:COLUMN if it has several). Files may be repeated.",
    )
    classes: Text = column_option(
        None,
        "LABELS",
        "The classes and their order, separated by commas; by default those that are voted for.",
    )
    max_classes: int = method_option(1_000, "N", "Refuse votes for more classes than this.")


@dataclass(frozen=True)
class MethodOptions(LabelOptions):
    """How votes are combined."""

    method: str = method_option("auto", "METHOD", "A method that `ec3learn methods` lists.", "-m")
    settings: Texts = method_option(
        None,
        "NAME=VALUE",
        "A parameter of the method, such as alpha=0.4. May be repeated.",
        "--set",
    )
    class_prior: Texts = method_option(
        None,
        "CLASS=SHARE",
        "The share of a class that is known otherwise, such as toxic=.1,other=.2. May be repeated.",
    )


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read; the arguments of `open_file`."""

    format: Text = file_option(
        None,
        "FORMAT",
        "csv, tsv, jsonl (also with .gz or .zst), parquet, arrow or excel, by default that of the file's name; for an export of "
        "annotations, label-studio or argilla.",
    )
    delimiter: Text = file_option(None, "CHARACTER", "What separates the fields of a CSV file.")
    encoding: str = file_option("utf-8", "NAME", "How text is encoded, such as latin-1.")
    sheet: Text = file_option(None, "NAME", "The sheet of a spreadsheet; by default the first.")
    memory: str = file_option(
        "800MB", "SIZE", "Memory that DuckDB may use before it spills to disk."
    )


@dataclass(frozen=True)
class AnswerOptions:
    """What is added to a table, and where it is written."""

    proba: bool = method_option(False, None, "Add the probability of each class.")
    prefix: str = method_option("", "TEXT", "Prepended to the names of the new columns.")
    out: Text = file_option(
        None,
        "FILE",
        "Write the table with the answers appended: a file, or - for standard output.",
        "-o",
    )
    out_format: Text = file_option(
        None, "FORMAT", "Format of the output; by default that of its name, or else of the input."
    )
    per_object: bool = file_option(
        False, None, "Of a long table, write one row per object: the object and its answer."
    )
    overwrite: bool = OVERWRITE
    quiet: bool = option(
        False, None, "Print errors only: no summary, no warnings, no progress bar.", "-q"
    )
