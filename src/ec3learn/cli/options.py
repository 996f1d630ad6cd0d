"""Options that several commands share, each group one decorator, and their values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .._checks import InputError

if TYPE_CHECKING:
    from ..tables.columns import Naming

Options = Mapping[str, Any]  # the options of a command by name
Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]


class Option(click.Option):
    """An option that the help shows below the heading of its group."""

    def __init__(self, *names: Any, group: str = "Options", **details: Any) -> None:
        super().__init__(*names, **details)
        self.group = group


class Command(click.Command):
    """A command whose help has one heading per group of options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        groups = defaultdict(list)
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                groups[getattr(param, "group", "Options")].append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def group(*options: Decorator[Any]) -> Decorator[Any]:
    """Several options as one decorator."""
    return lambda function: reduce(lambda made, add: add(made), reversed(options), function)


option = partial(click.option, cls=Option)
columns, method, files = (partial(option, group=name) for name in ("Columns", "Method", "Files"))

# ---- single options ------------------------------------------------------------------------------

votes = click.argument("votes")
id = columns(
    "--id", metavar="COLUMN", help="The column that names objects; by default, row numbers from 0."
)
truth = columns(
    "--truth",
    metavar="COLUMN|FILE",
    help="True labels to judge the answer by, which the method does not see; as for --known.",
)
max_rows = method(
    "--max-rows",
    metavar="N",
    type=int,
    default=5_000_000,
    help="Distinct rows to hold in memory at most; more are answered from the most frequent.",
)
overwrite = files("--overwrite", is_flag=True, help="Replace files that exist.")
json = option("--json", is_flag=True, help="Print JSON.")
quiet = option("--quiet", "-q", is_flag=True, help="Print errors only: no summary, no warnings.")
fast = option(
    "--fast", is_flag=True, help="Leave out what solves again: cross-validation on known labels."
)

text = files("--text", metavar="COLUMN", help="A column to show with each object: its text.")

# ---- groups --------------------------------------------------------------------------------------

naming = group(
    columns(
        "--classifiers",
        "-c",
        multiple=True,
        metavar="COLUMNS",
        help="Columns of class votes: names or patterns such as 'clf_*', separated by commas. "
        "May be repeated.",
    ),
    columns("--clusterings", "-k", multiple=True, metavar="COLUMNS", help="Columns of clusters."),
    columns(
        "--soft",
        multiple=True,
        metavar="NAME=COLUMNS",
        help="A classifier with one column of probabilities per class: svm='svm_*', or "
        "svm=spam:p1,ham:p2. May be repeated.",
    ),
    columns(
        "--objects",
        metavar="COLUMN",
        help="For a long table with one row per vote: the object. --classifiers is then the "
        "column of labels.",
    ),
    columns("--voters", metavar="COLUMN", help="For a long table: the voter."),
    columns(
        "--repeats",
        metavar="NAME",
        default="mean",
        help="For a long table, what to take of several votes of a voter on an object: mean, "
        "last, first or error.",
    ),
    columns(
        "--scale",
        multiple=True,
        metavar="ANSWERS",
        help="Answers of voters who score or rate instead of naming classes, from low to high: "
        "0-9, or low,medium,high; 0.0-1.0 for any number between; for one voter, NAME=0-9. "
        "--classes says what the ends mean. May be repeated.",
    ),
    columns(
        "--unordered",
        multiple=True,
        metavar="ANSWERS",
        help="Answers beside the scale, without an order: unsure.",
    ),
    columns(
        "--outside",
        metavar="NAME",
        default="error",
        help="Answers that are not on the scale: error, or missing.",
    ),
    columns(
        "--direction",
        metavar="NAME",
        default="up",
        help="The end of a scale that means the last of --classes: up (high) or down (low).",
    ),
    columns(
        "--exclude",
        multiple=True,
        metavar="VOTERS",
        help="Voters to leave out, such as those that `ec3learn voters` lists first.",
    ),
    columns(
        "--clean",
        is_flag=True,
        help="Take labels that differ only in case, spaces around them or Unicode forms for one.",
    ),
    columns(
        "--normalize",
        is_flag=True,
        help="Divide the probabilities of --soft by their sum, where they do not sum to 1.",
    ),
    columns(
        "--missing",
        multiple=True,
        metavar="LABELS",
        help="Labels that mean no vote, like an empty field: NA,n/a. May be repeated.",
    ),
)
labels = group(
    columns(
        "--known",
        multiple=True,
        metavar="COLUMN|FILE",
        help="Known labels of some objects: a column, empty where there is none, or a file with a "
        "column of objects, named like --id or --objects, and one of labels (FILE:COLUMN if it "
        "has several). Files may be repeated.",
    ),
    columns(
        "--classes",
        metavar="LABELS",
        help="The classes and their order, separated by commas; by default those voted for.",
    ),
)
solving = group(
    labels,
    method(
        "--method",
        "-m",
        metavar="METHOD",
        default="auto",
        help="A method that `ec3learn methods` lists.",
    ),
    method(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter of the method, such as alpha=0.4. May be repeated.",
    ),
    method(
        "--class-prior",
        multiple=True,
        metavar="CLASS=SHARE",
        help="The share of a class that is known otherwise, such as toxic=.1,other=.2. May be "
        "repeated.",
    ),
)
reading = group(
    files(
        "--format",
        metavar="FORMAT",
        help="csv, tsv, jsonl (also with .gz or .zst), parquet, arrow or excel, by default that of "
        "the file's name; for an export of annotations, label-studio or argilla.",
    ),
    files("--delimiter", metavar="CHARACTER", help="What separates the fields of a CSV file."),
    files(
        "--encoding",
        metavar="NAME",
        default="utf-8",
        help="How text is encoded, such as latin-1.",
    ),
    files("--sheet", metavar="NAME", help="The sheet of a spreadsheet; by default the first."),
    files(
        "--memory",
        metavar="SIZE",
        default="800MB",
        help="Memory that DuckDB may use before it spills to disk.",
    ),
)
answers = group(
    method("--proba", is_flag=True, help="Add the probability of each class."),
    method(
        "--prefix", metavar="TEXT", default="", help="Prepended to the names of the new columns."
    ),
    files(
        "--out",
        "-o",
        metavar="FILE",
        help="Write the table with the answers appended: a file, or - for standard output.",
    ),
    files(
        "--out-format",
        metavar="FORMAT",
        help="Format of the output; by default that of its name, or else of the input.",
    ),
    files(
        "--per-object",
        is_flag=True,
        help="Of a long table, write one row per object: the object and its answer.",
    ),
    overwrite,
    quiet,
)

# ---- values --------------------------------------------------------------------------------------


def names(words: Sequence[str]) -> list[str]:
    """Names that are separated by commas or given one by one.

    Examples
    --------
    >>> names(["svm, tree", "clf_*"])
    ['svm', 'tree', 'clf_*']
    """
    return [name.strip() for word in words for name in word.split(",") if name.strip()]


def soft_models(words: Sequence[str]) -> dict[str, Any]:
    """Soft classifiers with their columns.

    Examples
    --------
    >>> soft_models(["svm=svm_*", "nn=spam:p1,ham:p2"])
    {'svm': 'svm_*', 'nn': {'spam': 'p1', 'ham': 'p2'}}
    """
    models: dict[str, Any] = {}
    for word in words:
        name, columns = pair(word, "soft")
        by_class = (part.partition(":")[::2] for part in names([columns]))
        models[name] = dict(by_class) if ":" in columns else columns
    return models


def scale_from(options: Options) -> Any:
    """The scale of all voters, or a dict of voter -> scale, with answers as text.

    Examples
    --------
    >>> options = {"scale": ["1-3"], "unordered": ["unsure"], "direction": "up", "outside": "error"}
    >>> scale_from(options)
    Scale(values=(1, 2, 3), unordered=('unsure',), direction='up', outside='error')
    >>> list(scale_from(options | {"scale": ["ann=low,medium,high", "bob=0-9"]}))
    ['ann', 'bob']
    >>> scale_from(options | {"scale": ["0.0-1.0"]})
    Scale(values=0.0, unordered=1.0, direction='up', outside='error')
    """
    from ..tables.content import whole
    from ..votes import Scale

    if not options["scale"]:
        return None
    how = {name: options[name] for name in ("direction", "outside")}
    how["unordered"] = list(map(whole, names(options["unordered"])))
    parts = [("", word) if "=" not in word else pair(word, "scale") for word in options["scale"]]
    scales = {name: Scale(**how | _answers(word)) for name, word in parts}
    if len(scales) < len(parts) or ("" in scales and len(scales) > 1):
        must = "must be one scale for all voters, or one for each as NAME=ANSWERS"
        raise InputError("scale", must, came=", ".join(options["scale"]))
    return scales.get("", scales)


def _answers(word: str) -> dict[str, Any]:
    """The answers of a scale: 1-9 for integers, 0.0-1.0 for any number between, or a list."""
    from ..tables.content import whole

    ends = re.fullmatch(r"(-?\d*\.?\d+) *- *(-?\d*\.?\d+)", word.strip())
    if ends is None:
        return {"values": list(map(whole, names([word])))}
    if "." in word:
        return {"values": float(ends[1]), "unordered": float(ends[2])}
    return {"values": list(range(int(ends[1]), int(ends[2]) + 1))}


def naming_from(options: Options) -> Naming:
    """The names of the columns; `apply` has no options for classes and known labels."""
    from ..tables.columns import Naming

    models = soft_models(options["soft"])
    classifiers = [*names(options["classifiers"]), *([models] if models else [])]
    known = list(options.get("known", ()))
    return Naming(
        classifiers or None,
        names(options["clusterings"]) or None,
        known=known if len(known) > 1 else next(iter(known), None),
        objects=options["objects"],
        voters=options["voters"],
        classes=names([options["classes"]]) if options.get("classes") else None,
        missing=names(options["missing"]),
        scale=scale_from(options),
        repeats=options["repeats"],
        clean=options["clean"],
        normalize=options["normalize"],
        exclude=names(options["exclude"]),
        truth=options.get("truth"),
    )


def class_shares(words: Sequence[str]) -> dict[str, float]:
    """The shares of classes.

    Examples
    --------
    >>> class_shares(["toxic=.1, other=.2"])
    {'toxic': 0.1, 'other': 0.2}
    """
    pairs = [pair(word, "class_prior", "CLASS=SHARE") for word in names(words)]
    try:
        return {name: float(share) for name, share in pairs}
    except ValueError:
        must = "must be CLASS=SHARE with a number"
        raise InputError("class_prior", must, came=", ".join(words)) from None


def pair(word: str, argument: str, form: str = "NAME=VALUE") -> tuple[str, str]:
    """A name and its value."""
    name, _, value = word.partition("=")
    if not name or not value:
        raise InputError(argument, f"must be {form}", got=word)
    return name.strip(), value.strip()
