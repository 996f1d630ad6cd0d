"""The options that several commands share, in groups of those that go together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

COLUMNS, METHOD, FILES = "Columns", "Method", "Files"

Input = Annotated[
    str, typer.Argument(metavar="VOTES", help="Table of votes: a file, or - for standard input.", show_default=False)
]
MaxRows = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Distinct rows to solve. Above it the most frequent are solved, and the others are answered from their groups.",
        rich_help_panel=METHOD,
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write the table with the answers appended: a file, or - for standard output.",
        rich_help_panel=FILES,
    ),
]
OutFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT", help="Format of the output; by default that of its name, or else of the input.", rich_help_panel=FILES
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.", rich_help_panel=FILES)]
Proba = Annotated[bool, typer.Option("--proba", help="Add the probability of each class.", rich_help_panel=METHOD)]
Prefix = Annotated[str, typer.Option(metavar="TEXT", help="Prepended to the names of the new columns.", rich_help_panel=METHOD)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

MOST_ROWS = 5_000_000


# ---- groups ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns hold votes."""

    classifiers: Annotated[
        list[str] | None,
        typer.Option(
            "--classifiers",
            "-c",
            metavar="COLUMNS",
            help="Columns of class votes: names or patterns such as 'clf_*', separated by commas. May be repeated.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    clusterings: Annotated[
        list[str] | None,
        typer.Option(
            "--clusterings", "-k", metavar="COLUMNS", help="Columns of clusters, named in the same way.", rich_help_panel=COLUMNS
        ),
    ] = None
    soft: Annotated[
        list[str] | None,
        typer.Option(
            "--soft",
            metavar="NAME=COLUMNS",
            help="A classifier with one column of probabilities per class: svm='svm_*', or svm=spam:p1,ham:p2. May be repeated.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    objects: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="For a long table with one row per vote: the object. --classifiers is then the column of labels.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    voters: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="For a long table: the voter.", rich_help_panel=COLUMNS)
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABELS",
            help="Labels that mean no vote, like an empty field: NA,n/a. May be repeated.",
            rich_help_panel=COLUMNS,
        ),
    ] = None


@dataclass(frozen=True)
class MethodOptions:
    """How votes are combined."""

    known: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Known labels of some objects; empty where there is none.", rich_help_panel=COLUMNS),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS",
            help="The classes and their order, separated by commas; by default those that are voted for.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    method: Annotated[
        str,
        typer.Option("--method", "-m", metavar="NAME", help="A method that `ec3learn methods` lists.", rich_help_panel=METHOD),
    ] = "iec3"
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A parameter of the method, such as alpha=0.4. May be repeated.",
            rich_help_panel=METHOD,
        ),
    ] = None
    max_classes: Annotated[int, typer.Option(metavar="N", help="Refuse votes for more classes.", rich_help_panel=METHOD)] = 1_000


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read; the arguments of `open_file`."""

    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="csv, tsv, jsonl (also with .gz or .zst), parquet or arrow; by default that of the file's name.",
            rich_help_panel=FILES,
        ),
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="What separates the fields of a CSV file.", rich_help_panel=FILES)
    ] = None
    encoding: Annotated[
        str, typer.Option(metavar="NAME", help="How text is encoded, such as latin-1.", rich_help_panel=FILES)
    ] = "utf-8"
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory that DuckDB may use before it spills to disk.", rich_help_panel=FILES)
    ] = "800MB"


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
