"""The options that several commands share, in groups of those that go together, and what the tab key offers for them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

COLUMNS, METHOD, FILES = "Columns", "Method", "Files"


def option(
    panel: str | None, metavar: str | None, help: str, *names: str, complete: Callable[..., list[str]] | None = None
) -> Any:
    """Return an option of a command, in a panel of its help; without names it has that of its parameter."""
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, autocompletion=complete)


class _Plain:
    """A command, or a group of them, whose help shows no type for flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        options: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in options:
            if getattr(each, "is_flag", False) and each.metavar is None:
                each.metavar = " "
        return options


class PlainCommand(_Plain, TyperCommand):
    """A command whose help shows no type for flags."""


class PlainGroup(_Plain, TyperGroup):
    """A group of such commands."""


def argument(metavar: str, help: str) -> Any:
    """Return a positional argument of a command."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


# ---- what the tab key offers: methods, their parameters, and the columns of the table that the line names ------------


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
    files = [str(path) for path in Path().glob(f"{incomplete}*") if path.suffix.lower() in endings or path.is_dir()]
    return [*(name for name in _columns_of(ctx) if name.startswith(incomplete)), *files]


def _listed(names: Any, incomplete: str) -> list[str]:
    """Return what a list separated by commas may go on with: what stands there stays, and is not offered again."""
    before, comma, begun = incomplete.rpartition(",")
    taken = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun) and name not in taken]


def _columns_of(ctx: Any) -> list[str]:
    """Return the columns of the table from its beginning alone; none if it cannot be read."""
    try:
        path = ctx.params.get("votes") or ctx.args[-1]  # where an option still lacks its value
        return _names_in(path, ctx.params.get("format"), ctx.params.get("delimiter"))
    except Exception:  # a shell has no place for errors
        return []


def _names_in(path: str, given: str | None, delimiter: str | None) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ..tables.files import Format

    format = Format.of(path, given, delimiter)
    if format.name == "parquet":
        return list(pq.read_schema(path).names)
    if format.name == "arrow":
        return list(pa.ipc.open_file(path).schema.names)
    text = io.TextIOWrapper(pa.input_stream(path, compression=format.compression), encoding="utf-8-sig", newline="")
    return list(json.loads(text.readline())) if format.name == "jsonl" else next(csv.reader(text, delimiter=format.delimiter))


# ---- single options ---------------------------------------------------------------------------------------------------

Text = str | None
Texts = list[str] | None

Input = Annotated[str, argument("VOTES", "Table of votes: a file, or - for standard input.")]
Id = Annotated[
    Text,
    option(COLUMNS, "COLUMN", "The column that identifies objects; by default, row numbers from 0.", complete=complete_columns),
]
MaxRows = Annotated[
    int,
    option(
        METHOD,
        "N",
        "Distinct rows to solve at most; if there are more, the most frequent, and the others are answered from their groups.",
    ),
]
Proba = Annotated[bool, option(METHOD, None, "Add the probability of each class.", "--proba")]
Prefix = Annotated[str, option(METHOD, "TEXT", "Prepended to the names of the new columns.")]
Out = Annotated[
    Text, option(FILES, "FILE", "Write the table with the answers appended: a file, or - for standard output.", "--out", "-o")
]
OutFormat = Annotated[Text, option(FILES, "FORMAT", "Format of the output; by default that of its name, or else of the input.")]
Truth = Annotated[
    Text,
    option(
        COLUMNS,
        "COLUMN|FILE",
        "True labels to judge the answer by, which the method does not see; named in the same way as --known.",
        complete=complete_labels,
    ),
]
PerObject = Annotated[
    bool, option(FILES, None, "Of a long table, write one row per object: the object and its answer.", "--per-object")
]
Contested = Annotated[
    Text, option(FILES, "FILE", "Write the most contested objects, the first to review, as a table: CSV, for example.")
]
MostContested = Annotated[int, option(FILES, "N", "How many contested objects to write, to report and to print with --json.")]
Quiet = Annotated[bool, option(None, None, "Print errors only: no summary, no warnings, no progress bar.", "--quiet", "-q")]
Overwrite = Annotated[bool, option(FILES, None, "Replace files that exist.", "--overwrite")]
Json = Annotated[bool, option(None, None, "Print JSON.", "--json")]

MOST_ROWS, MOST_CONTESTED = 5_000_000, 200


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns hold votes."""

    classifiers: Annotated[
        Texts,
        option(
            COLUMNS,
            "COLUMNS",
            "Columns of class votes: names or patterns such as 'clf_*', separated by commas. May be repeated.",
            "--classifiers",
            "-c",
            complete=complete_columns,
        ),
    ] = None
    clusterings: Annotated[
        Texts,
        option(
            COLUMNS, "COLUMNS", "Columns of clusters, named in the same way.", "--clusterings", "-k", complete=complete_columns
        ),
    ] = None
    soft: Annotated[
        Texts,
        option(
            COLUMNS,
            "NAME=COLUMNS",
            "A classifier with one column of probabilities per class: svm='svm_*', or svm=spam:p1,ham:p2. May be repeated.",
        ),
    ] = None
    objects: Annotated[
        Text,
        option(
            COLUMNS,
            "COLUMN",
            "For a long table with one row per vote: the object. --classifiers is then the column of labels.",
            complete=complete_columns,
        ),
    ] = None
    voters: Annotated[Text, option(COLUMNS, "COLUMN", "For a long table: the voter.", complete=complete_columns)] = None
    repeats: Annotated[
        str,
        option(
            COLUMNS,
            "NAME",
            "For a long table, what to take of several votes of a voter on an object: mean, last, first or error.",
        ),
    ] = "mean"
    scale: Annotated[
        Texts,
        option(
            COLUMNS,
            "ANSWERS",
            "Answers of voters who score or rate instead of naming classes, from low to high: 0-9, or low,medium,high; for one "
            "voter, NAME=0-9. --classes says what the ends mean. May be repeated.",
        ),
    ] = None
    unordered: Annotated[Texts, option(COLUMNS, "ANSWERS", "Answers beside the scale, without an order: unsure.")] = None
    outside: Annotated[str, option(COLUMNS, "NAME", "Answers that are not on the scale: error, or missing.")] = "error"
    direction: Annotated[
        str,
        option(
            COLUMNS, "NAME", "The end of a scale that means the last of --classes: up (high), down (low), or learn, from --known."
        ),
    ] = "up"
    missing: Annotated[
        Texts, option(COLUMNS, "LABELS", "Labels that mean no vote, like an empty field: NA,n/a. May be repeated.")
    ] = None


@dataclass(frozen=True)
class LabelOptions:
    """What is known about classes and labels."""

    known: Annotated[
        Text,
        option(
            COLUMNS,
            "COLUMN|FILE",
            "Known labels of some objects: a column, empty where there is none, or a file with a column of objects, named like "
            "--id or --objects, and one of labels (FILE:COLUMN if it has several).",
            complete=complete_labels,
        ),
    ] = None
    classes: Annotated[
        Text,
        option(COLUMNS, "LABELS", "The classes and their order, separated by commas; by default those that are voted for."),
    ] = None
    max_classes: Annotated[int, option(METHOD, "N", "Refuse votes for more classes than this.")] = 1_000


@dataclass(frozen=True)
class MethodOptions(LabelOptions):
    """How votes are combined."""

    method: Annotated[
        str, option(METHOD, "NAME", "A method that `ec3learn methods` lists.", "--method", "-m", complete=complete_methods)
    ] = "auto"
    settings: Annotated[
        Texts,
        option(
            METHOD,
            "NAME=VALUE",
            "A parameter of the method, such as alpha=0.4. May be repeated.",
            "--set",
            complete=complete_settings,
        ),
    ] = None


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read; the arguments of `open_file`."""

    format: Annotated[
        Text,
        option(
            FILES,
            "FORMAT",
            "csv, tsv, jsonl (also with .gz or .zst), parquet, arrow or excel, by default that of the file's name; for an "
            "export of annotations, label-studio or argilla.",
        ),
    ] = None
    delimiter: Annotated[Text, option(FILES, "CHARACTER", "What separates the fields of a CSV file.")] = None
    encoding: Annotated[str, option(FILES, "NAME", "How text is encoded, such as latin-1.")] = "utf-8"
    sheet: Annotated[Text, option(FILES, "NAME", "The sheet of a spreadsheet; by default the first.")] = None
    memory: Annotated[str, option(FILES, "SIZE", "Memory that DuckDB may use before it spills to disk.")] = "800MB"


def flatten_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose options are the parameters of a function; of those that are groups, their fields."""
    kinds = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    options: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        if name in groups:
            own = get_type_hints(groups[name], include_extras=True)
            options += [
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=own[field.name])
                for field in fields(groups[name])
            ]
        else:
            options.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kinds[name]))

    @wraps(function)
    def command(**values: Any) -> None:
        given = {name: kind(**{field.name: values.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()}
        function(**values, **given)

    command.__signature__ = Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    return command
