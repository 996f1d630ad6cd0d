"""The words that several commands share, and what they stand for; those that go together in groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

FILE, VOTES, MODEL = "File", "Who votes", "How to combine"
MEMORY = "800MB"
MOST_PATTERNS = 5_000_000

Input = Annotated[
    str, typer.Argument(metavar="VOTES", help="Table of votes: a file, or - for standard input.", show_default=False)
]
Classifiers = Annotated[
    list[str] | None,
    typer.Option(
        "--classifiers",
        "-c",
        metavar="COLUMNS",
        help="Columns of class votes: names or patterns such as 'clf_*', with commas between, or repeated.",
        rich_help_panel=VOTES,
    ),
]
Clusterings = Annotated[
    list[str] | None,
    typer.Option(
        "--clusterings", "-k", metavar="COLUMNS", help="Columns of clusters, named in the same way.", rich_help_panel=VOTES
    ),
]
Soft = Annotated[
    list[str] | None,
    typer.Option(
        "--soft",
        metavar="NAME=COLUMNS",
        help="A classifier with a column of probabilities for each class: svm='svm_*', or svm=spam:p1,ham:p2. May be repeated.",
        rich_help_panel=VOTES,
    ),
]
Known = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Known labels of some objects; empty where there is none.", rich_help_panel=VOTES),
]
Objects = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="For a long table, one row a vote: who is voted on. --classifiers is then the column of labels.",
        rich_help_panel=VOTES,
    ),
]
Voters = Annotated[str | None, typer.Option(metavar="COLUMN", help="For a long table: who votes.", rich_help_panel=VOTES)]
Classes = Annotated[
    str | None,
    typer.Option(
        metavar="LABELS",
        help="The classes and their order, with commas between; found in the votes by default.",
        rich_help_panel=VOTES,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABELS",
        help="Labels that mean no vote, as an empty field does: NA,n/a, or repeated.",
        rich_help_panel=VOTES,
    ),
]
Method = Annotated[
    str, typer.Option("--method", "-m", metavar="NAME", help="One of those that `ec3learn methods` lists.", rich_help_panel=MODEL)
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the method, such as alpha=0.4. May be repeated.",
        rich_help_panel=MODEL,
    ),
]
MaxPatterns = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Distinct rows to solve; beyond, the most frequent are, and the others are answered from their groups.",
        rich_help_panel=MODEL,
    ),
]
MaxClasses = Annotated[int, typer.Option(metavar="N", help="Classes to believe in.", rich_help_panel=MODEL)]
InFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="csv, tsv, jsonl (also with .gz or .zst), parquet or arrow; by the file's name if not said.",
        rich_help_panel=FILE,
    ),
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="How text is encoded, as in latin-1.", rich_help_panel=FILE)]
Delimiter = Annotated[
    str | None, typer.Option(metavar="SIGN", help="What stands between the fields of a CSV file.", rich_help_panel=FILE)
]
Memory = Annotated[
    str, typer.Option(metavar="SIZE", help="What DuckDB may use before it spills to the disk.", rich_help_panel=FILE)
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="The table with the answers behind its columns: a file, or - for standard output.",
        rich_help_panel=FILE,
    ),
]
OutFormat = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="Format of the output; by its name, or else that of the input.", rich_help_panel=FILE),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.", rich_help_panel=FILE)]
Proba = Annotated[bool, typer.Option("--proba", help="Add the probability of each class.", rich_help_panel=MODEL)]
Prefix = Annotated[str, typer.Option(metavar="TEXT", help="Put before the names of the new columns.", rich_help_panel=MODEL)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


# ---- groups ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Who:
    """Who votes."""

    classifiers: Classifiers = None
    clusterings: Clusterings = None
    soft: Soft = None
    objects: Objects = None
    voters: Voters = None
    missing: Missing = None


@dataclass(frozen=True)
class How:
    """How votes are combined."""

    known: Known = None
    classes: Classes = None
    method: Method = "iec3"
    settings: Setting = None
    max_classes: MaxClasses = 1_000


@dataclass(frozen=True)
class Read:
    """How a file is read."""

    format: InFormat = None
    delimiter: Delimiter = None
    encoding: Encoding = "utf-8"
    memory: Memory = MEMORY


def spread(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose words are the parameters of a function; of those that are groups, their fields."""
    kinds = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    words: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        if name in groups:
            own = get_type_hints(groups[name], include_extras=True)
            words += [
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=own[field.name])
                for field in fields(groups[name])
            ]
        else:
            words.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kinds[name]))

    @wraps(function)
    def command(**said: Any) -> None:
        given = {name: kind(**{field.name: said.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()}
        function(**said, **given)

    command.__signature__ = Signature(words)  # type: ignore[attr-defined]
    command.__annotations__ = {word.name: word.annotation for word in words}
    return command
