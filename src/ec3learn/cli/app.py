"""The command's parts that all commands share, and the commands combine and apply.

A command turns its options into arguments and calls the library. Libraries are imported inside the
commands, so that `ec3learn --help` loads none of them.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from inspect import getdoc
from json import dumps, loads
from textwrap import indent
from typing import TYPE_CHECKING, Any, TextIO

import click

from .. import __version__
from .._checks import InputError, unknown_name
from .._files import is_plain, place_for
from .._table import Table
from .._text import UNSHOWN, arg, printable
from . import options as o
from .options import Options, class_shares, naming_from, pair

if TYPE_CHECKING:
    from ..answer import Note
    from ..methods import Method
    from ..tables.files import AnsweredFile, FileTable


@click.group(
    context_settings={
        "help_option_names": ["-h", "--help"],
        "show_default": True,
        "max_content_width": 100,
    }
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def app(debug: bool) -> None:
    """One answer from many models, annotators or judges, and from clusterings."""


def command(function: Callable[..., None]) -> click.Command:
    """Make a function a command; its docstring is the help, with examples at the end."""
    about, _, examples = (getdoc(function) or "").partition("For example:\n")
    epilog = f"\b\nFor example:\n{indent(examples, '  ')}"
    return app.command(cls=o.Command, help=about, epilog=epilog)(function)


@command
@o.votes
@o.naming
@o.solving
@o.reading
@o.answers
@o.method("--counts", is_flag=True, help="Add the number of votes, n_votes, and of each class.")
@o.id
@o.truth
@o.max_rows
@o.files(
    "--contested",
    metavar="FILE",
    help="Write the most contested objects, the first to review, as a table: CSV, for example.",
)
@o.files(
    "--n-contested",
    metavar="N",
    type=click.IntRange(0),
    default=200,
    help="How many contested objects to write, to report and to print with --json.",
)
@o.text
@o.files("--save", metavar="FILE", help="Save the consensus, for `ec3learn apply`.")
@o.files(
    "--keep-objects",
    is_flag=True,
    help="Keep the names and answers of a long table's objects in what is saved; `ec3learn apply` "
    "tells which of its objects were solved before.",
)
@o.files("--report", metavar="FILE", help="Write a report: one HTML file.")
@o.fast
@o.json
def combine(
    votes: str,
    contested: str | None,
    n_contested: int,
    text: str | None,
    save: str | None,
    keep_objects: bool,
    report: str | None,
    fast: bool,
    json: bool,
    **options: Any,
) -> None:
    """Combine votes and clusters into one classification.

    VOTES is a table in a file, or - for standard input. A summary with a diagnosis is printed.

    For example:
    ec3learn combine votes.csv --classifiers svm,tree --clusterings kmeans --out labels.csv
    ec3learn combine votes.parquet -c 'clf_*' -k 'km_*,dbscan' --known gold --save mails.ec3
    ec3learn combine answers.csv --objects task --voters worker -c answer --known truth.csv
    cat votes.csv | ec3learn combine - -c svm,tree --out - > labels.csv
    """
    from ..tables.files import write_table

    out, quiet, overwrite = options["out"], options["quiet"], options["overwrite"]
    outputs = {"out": out, "save": save, "report": report, "contested": contested}
    prepare(votes, outputs, options)
    if report is not None:
        from ..report import require_jinja2

        require_jinja2()  # before anything is written
    added = {name: options[name] for name in ("proba", "counts", "prefix")}
    with combined(votes, options, **added) as answered:
        named, truth = answered.named()
        summary = answered.consensus.summary(method_from(options), truth=answered.truth, fast=fast)
        summary = replace(summary, notes=in_options(summary.notes))
        if out is not None:
            answered.write(out, options["out_format"], overwrite, per_object=options["per_object"])
        shown = json or contested is not None or (text is not None and report is not None)
        review = named.contested(n_contested) if shown else Table({})
        if text is not None and len(review):
            review = Table({**review.columns, text: answered.texts(text, review["object"])})
        if contested is not None:
            write_table(review, answered.file, contested, overwrite)
    if save is not None:
        answered.consensus.save(save, objects=keep_objects, overwrite=overwrite)
    if report is not None:
        named.report(
            report,
            truth=truth,
            overwrite=overwrite,
            command=["ec3learn", *sys.argv[1:]],
            summary=summary,
            n_contested=n_contested,
            texts=dict(zip(review["object"], review[text], strict=True)) if text else None,
        )
    tell_written(options)
    file = sys.stderr if out == "-" else sys.stdout
    if json:
        if summary.warning is not None:
            warnings.warn(summary.warning, stacklevel=1)
        show(summary.as_dict() | {"most_contested": list(review.rows())}, json, file)
    elif not quiet:
        show(summary, file=file)


@command
@click.argument("consensus")
@o.votes
@o.naming
@o.reading
@o.answers
@o.json
def apply(consensus: str, votes: str, json: bool, **options: Any) -> None:
    """Answer for new objects from a saved consensus.

    CONSENSUS is a file made by `ec3learn combine --save`. Columns are found by the names of its
    base models.

    For example:
    ec3learn apply mails.ec3 new.csv --out labels.csv
    ec3learn apply mails.ec3 new.parquet --out - --out-format csv
    """
    from ..consensus import Consensus
    from ..tables.files import extend_file

    out = options["out"] or "-"
    prepare(votes, {"out": out}, options)
    saved, naming = Consensus.load(consensus), naming_from(options)
    with opened(votes, options, out) as table:
        answered = extend_file(
            table, saved, naming, proba=options["proba"], prefix=options["prefix"]
        )
        answered.write(
            out, options["out_format"], options["overwrite"], per_object=options["per_object"]
        )
    tell_written(options)
    answer = answered.answer
    if json and answer is not None:
        show(answer.summary(fast=True), json, sys.stderr if out == "-" else sys.stdout)
    for note in () if json or answer is None else answer.solution.notes:
        warnings.warn(str(note), stacklevel=1)


# ---- what commands share -------------------------------------------------------------------------


def method_from(options: Options) -> Method:
    """The method with its parameters."""
    from ..methods import method_of
    from ..methods.base import with_class_prior

    name = options["method"]
    method = method_of(name, "method")
    allowed = method.get_params()
    for parameter, value in (pair(word, "settings") for word in options["settings"]):
        if parameter not in allowed:
            raise unknown_name("parameter", parameter, allowed, of=f" of {name}")
        try:
            method.set_params(**{parameter: loads("Infinity" if value == "inf" else value)})
        except ValueError:
            method.set_params(**{parameter: value})
    if options["class_prior"]:
        method = with_class_prior(method, class_shares(options["class_prior"]))
    return method


def opened(
    votes: str, options: Options, out: str | None = None
) -> AbstractContextManager[FileTable]:
    """The table of votes in a file; temporary files are beside the output."""
    from ..tables.files import open_file

    how = {name: options[name] for name in ("format", "delimiter", "encoding", "sheet", "memory")}
    return open_file(votes, **how, beside=out)


@contextmanager
def combined(
    votes: str, options: Options, *, unseen: bool = False, **details: Any
) -> Iterator[AnsweredFile]:
    """The combined votes of a file, which is open as long as this lasts.

    Known labels that are `unseen` by the method judge its answer. `details` are arguments of
    `combine_file`.
    """
    from ..consensus import changed
    from ..tables.files import combine_file

    method, naming = method_from(options), replace(naming_from(options), unseen=unseen)
    details |= {"max_rows": options["max_rows"], "id": options["id"]}
    with opened(votes, options, options.get("out")) as table:
        answered = combine_file(table, naming, method, **details)
        notes = in_options(answered.consensus.solution.notes)
        yield replace(answered, consensus=changed(answered.consensus, notes=notes))


def in_options(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    """The notes with calls of Python as options of the command."""
    from ..answer.notes import DRAW_LABELS, LEAVE_OUT

    calls = {DRAW_LABELS: "ec3learn ask --goal share -n 30", LEAVE_OUT: "--exclude"}
    for call, option in calls.items():
        notes = tuple(replace(note, text=note.text.replace(call, option)) for note in notes)
    return notes


def prepare(votes: str, outputs: Mapping[str, str | None], options: Options) -> None:
    """Refuse outputs that cannot be written, before any work; silence warnings if asked."""
    from ..tables.files import files_of

    for name in ("out_format", "per_object"):
        if options.get(name) and outputs["out"] is None:
            raise InputError(name, phrase=f"{name} needs a file to write, out, got none")
    read = files_of(votes)
    labels = [*options.get("known", ()), options.get("truth") or ""]
    replaceable = read if len(read) == 1 and options.get("per_object") is False else []
    require_outputs(outputs, options["overwrite"], [*read, *labels], replaceable)
    if options.get("quiet"):
        warnings.simplefilter("ignore")


def require_outputs(
    paths: Mapping[str, str | None],
    overwrite: bool,
    inputs: Sequence[str],
    replaceable: Sequence[str] = (),
) -> None:
    """Refuse outputs that cannot be written, exist already, or are a file that is used otherwise.

    Only `out` may replace an input, and only one that it has all of.
    """
    outputs = {argument: path for argument, path in paths.items() if path is not None}
    for argument, path in outputs.items():
        if path != "-":
            place_for(path, overwrite, argument)
        elif argument in ("save", "report"):
            raise InputError(argument, "must be a file: standard output is for tables", got=path)
        read = [file for file in inputs if argument != "out" or file not in replaceable]
        if any(_is_same_file(path, file) for file in read):
            raise InputError(argument, "must not be a file that is read", got=path)
    plain = [os.path.realpath(path) for path in outputs.values() if is_plain(path)]
    if len(set(plain)) < len(plain):
        *names, last = map(arg, outputs)
        phrase = f"{', '.join(names)} and {last} must name different files"
        raise InputError(next(iter(outputs)), phrase=phrase)


def _is_same_file(path: str, read: str) -> bool:
    """Whether a file that is read, as FILE or FILE:COLUMN, is the one at a path."""
    files = [file for file in (read, read.rpartition(":")[0]) if os.path.isfile(file)]
    return os.path.isfile(path) and any(os.path.samefile(path, file) for file in files)


# ---- what is printed -----------------------------------------------------------------------------


def tell_written(options: Options) -> None:
    """Say that the output is there."""
    if options["out"] not in (None, "-") and not options.get("quiet"):
        print(printable(f"Written: {options['out']}"), file=sys.stderr)


def show(result: Any, json: bool = False, file: TextIO | None = None) -> None:
    """Print a result, without anything that a terminal would obey."""
    if json:
        # JSON has no infinity and no NaN: they become null.
        plain = loads(dumps(result, default=_plain), parse_constant=lambda _: None)
        text = dumps(plain, ensure_ascii=False)
        print(UNSHOWN.sub(lambda sign: f"\\u{ord(sign.group()):04x}", text), file=file)
    else:
        print(printable(str(result), lines=True), file=file)


def _plain(value: Any) -> Any:
    """Tables as lists of rows, and other objects as dicts."""
    if isinstance(value, Table):
        return list(value.rows())
    return value.as_dict() if hasattr(value, "as_dict") else vars(value)
