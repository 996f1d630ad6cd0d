"""The commands of `ec3learn`; each parses its options and calls the library.

Libraries are imported inside the commands, so that `ec3learn --help` loads none of them.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict, replace
from functools import cache
from json import dumps
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from .. import __version__
from .._checks import InputError, require_integer
from .._text import printable
from . import options as o
from . import trust
from .parsing import combined, method_from, names, naming_from, show, spell_option

if TYPE_CHECKING:
    from ..diagnosis.summary import Summary

ABOUT = "One answer from many models: combine the outputs of classifiers, annotators and clusterings into one classification."
WIDTH, INDENT = 100, " " * 4

app = typer.Typer(
    name="ec3learn",
    cls=o.PlainGroup,
    help=ABOUT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"ec3learn {__version__}")
        raise typer.Exit


@app.callback(help=ABOUT)
def ec3learn(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Take the options that stand before a command."""


@o.flatten_groups
def combine(
    votes: o.Input,
    columns: o.ColumnOptions,
    how: o.MethodOptions,
    file: o.ReadOptions,
    answer: o.AnswerOptions,
    rule: str = o.method_option(
        "argmax",
        "NAME",
        "How labels follow from probabilities: argmax, or mass, which keeps the shares of the classes.",
    ),
    id: o.Text = o.ID,
    truth: o.Text = o.TRUTH,
    max_rows: int = o.MAX_ROWS,
    contested: o.Text = o.file_option(
        None,
        "FILE",
        "Write the most contested objects, the first to review, as a table: CSV, for example.",
    ),
    n_contested: int = o.file_option(
        200, "N", "How many contested objects to write, to report and to print with --json."
    ),
    save: o.Text = o.file_option(None, "FILE", "Save the consensus, for `ec3learn apply`."),
    report: o.Text = o.file_option(None, "FILE", "Write a report: one HTML file."),
    fast: bool = o.option(
        False, None, "Leave out the diagnosis: cross-validation on known labels, biased voters."
    ),
    json: bool = o.JSON,
) -> None:
    """Combine votes and clusters into one classification, and print a summary with a diagnosis.

    For example:
    ec3learn combine votes.csv --classifiers svm,tree --clusterings kmeans --out labels.csv

    ec3learn combine votes.parquet -c 'clf_*' -k 'km_*,dbscan' --known gold --out labels.parquet
    --save mails.ec3

    ec3learn combine answers.csv --objects task --voters worker -c answer --known truth.csv
    --per-object --out labels.csv

    cat votes.csv | ec3learn combine - -c svm,tree --out - > labels.csv
    """
    from ..report import require_jinja2
    from ..tables.files import combine_file, open_file, require_outputs, write_table

    out, overwrite = answer.out, answer.overwrite
    if answer.quiet:
        warnings.simplefilter("ignore")
    require_integer("n_contested", n_contested, 0)
    outputs = {"out": out, "save": save, "report": report, "contested": contested}
    require_outputs(
        outputs,
        overwrite,
        {"votes": votes, "known": how.known, "truth": truth},
        not answer.per_object,
    )
    if report is not None:
        require_jinja2()  # before anything is written
    method, naming = method_from(how), naming_from(columns, how, truth)
    added: dict[str, Any] = {"proba": answer.proba, "rule": rule, "prefix": answer.prefix, "id": id}
    with open_file(votes, **asdict(file), beside=out, bar=not answer.quiet) as table:
        answered = combine_file(table, naming, method, max_rows=max_rows, **added)
        consensus, shown, labels = answered.consensus, answered.named_consensus, answered.truth
        summary = consensus.summary(method, truth=labels, fast=fast)
        if out is not None:
            answered.write(out, answer.out_format, overwrite, per_object=answer.per_object)
        if contested is not None:
            write_table(shown.contested(n_contested), table, contested, overwrite)
    if save is not None:
        consensus.save(save, overwrite=overwrite)
    if report is not None:
        made: dict[str, Any] = {
            "command": ["ec3learn", *sys.argv[1:]],
            "summary": summary,
            "n_contested": n_contested,
        }
        shown.report(report, truth=labels, overwrite=overwrite, **made)
    if json or not answer.quiet:
        objects = list(shown.contested(n_contested).rows()) if json else []
        _print_summary(
            summary, objects, json, answer.quiet, sys.stderr if out == "-" else sys.stdout
        )


def _print_summary(
    summary: Summary, contested: list[dict[str, Any]], json: bool, quiet: bool, file: TextIO
) -> None:
    """Print a summary, its notes in the words of the command; in JSON, the contested objects too."""
    from ..answer import Note

    summary = replace(
        summary, notes=tuple(Note(note.kind, note.sentence(spelled)) for note in summary.notes)
    )
    if json and summary.warning is not None and not quiet:
        print(f"ec3learn: warning: {printable(summary.warning)}", file=sys.stderr)
    show(summary.as_dict() | {"most_contested": contested} if json else summary, json, file)


@o.flatten_groups
def apply(
    consensus: Annotated[str, o.argument("CONSENSUS", "A file made by `ec3learn combine --save`.")],
    votes: o.Input,
    columns: o.ColumnOptions,
    file: o.ReadOptions,
    answer: o.AnswerOptions,
    max_rows: int = o.MAX_LOADED,
) -> None:
    """Answer for new objects from a saved consensus, without solving again.

    Columns are found by the names of its base models.

    For example:
    ec3learn apply mails.ec3 new.csv --out labels.csv

    ec3learn apply mails.ec3 new.parquet --out - --out-format csv
    """
    from ..consensus import Consensus
    from ..tables.files import STANDARD, extend_file, open_file, require_outputs

    if answer.quiet:
        warnings.simplefilter("ignore")
    out = STANDARD if answer.out is None else answer.out
    require_outputs(
        {"out": out},
        answer.overwrite,
        {"votes": votes, "consensus": consensus},
        not answer.per_object,
    )
    saved, naming = Consensus.load(consensus), naming_from(columns)
    with open_file(votes, **asdict(file), beside=out, bar=not answer.quiet) as table:
        answered = extend_file(
            table, saved, naming, proba=answer.proba, prefix=answer.prefix, max_rows=max_rows
        )
        answered.write(out, answer.out_format, answer.overwrite, per_object=answer.per_object)


@o.flatten_groups
def explain(
    votes: o.Input,
    columns: o.ColumnOptions,
    how: o.MethodOptions,
    file: o.ReadOptions,
    object: str = o.option(
        ..., "NUMBER", "The row, counted from 0; with --id or --objects, a value of that column."
    ),
    id: o.Text = o.ID,
    max_rows: int = o.MAX_ROWS,
    json: bool = o.JSON,
) -> None:
    """Explain the answer for one object: the vote of each base model, and how much it gave to each class.

    For example:
    ec3learn explain votes.csv --object 17 --classifiers svm,tree --clusterings kmeans

    ec3learn explain votes.csv --object mail-17 --id id --classifiers svm,tree
    """
    with combined(votes, columns, how, file, max_rows=max_rows, number=True, id=id) as answered:
        explanation = answered.consensus.explain(answered.find_object(object))
    show(replace(explanation, object=object), json)


@o.flatten_groups
def voters(
    votes: Annotated[
        str, o.argument("VOTES", "Table of votes, or a consensus saved by `ec3learn combine`.")
    ],
    columns: o.ColumnOptions,
    how: o.MethodOptions,
    file: o.ReadOptions,
    id: o.Text = o.ID,
    max_rows: int = o.MAX_ROWS,
    json: bool = o.JSON,
) -> None:
    """Show the base models: coverage, agreement with the consensus, weight; for clusterings, purity and mutual information.

    For example:
    ec3learn voters votes.csv --classifiers svm,tree --clusterings kmeans

    ec3learn voters mails.ec3
    """
    from ..consensus import Consensus
    from ..diagnosis import by_trouble
    from ..diagnosis.summary import two_voter_notes

    if votes.endswith(".ec3"):
        for name, given in {
            "known": how.known,
            "classifiers": columns.classifiers,
            "clusterings": columns.clusterings,
        }.items():
            if given is not None:
                raise InputError(
                    name,
                    "must be left out for a saved consensus, which does not hold the votes",
                    came=", ".join(given),
                )
        consensus = Consensus.load(votes)
    else:
        with combined(votes, columns, how, file, max_rows=max_rows, id=id) as answered:
            consensus = answered.consensus
    show(by_trouble(consensus), json)
    if not json:
        for note in two_voter_notes(consensus.solution):
            print(f"\nNote: {note.sentence(spelled)}")


@o.flatten_groups
def compare(
    votes: o.Input,
    columns: o.ColumnOptions,
    labels: o.LabelOptions,
    file: o.ReadOptions,
    methods: o.Texts = o.method_option(
        None,
        "METHODS",
        "The methods, separated by commas; by default all that `ec3learn methods` lists.",
    ),
    id: o.Text = o.ID,
    truth: o.Text = o.TRUTH,
    max_rows: int = o.MAX_ROWS,
    disputed: o.Text = o.file_option(
        None, "FILE", "Write the objects on which the methods disagree, the most disputed first."
    ),
    n_disputed: int = o.file_option(
        200, "N", "How many disputed objects to write, and to print with --json."
    ),
    overwrite: bool = o.OVERWRITE,
    fast: bool = o.option(False, None, "Leave out cross-validation on known labels."),
    json: bool = o.JSON,
) -> None:
    """Compare the methods: how often they disagree, on which objects, and how often each is right where labels are known.

    For example:
    ec3learn compare votes.csv --classifiers svm,tree,bayes --clusterings kmeans --known gold

    ec3learn compare answers.csv --objects task --voters worker -c answer --truth truth.csv
    --methods auto,majority,ebcc

    ec3learn compare votes.csv -c svm,tree,bayes --id id --disputed review.csv
    """
    from ..methods import compare as compare_methods
    from ..tables.files import content_of_file, open_file, require_outputs, write_table

    require_integer("n_disputed", n_disputed, 0)
    require_outputs(
        {"disputed": disputed}, overwrite, {"votes": votes, "known": labels.known, "truth": truth}
    )
    naming = naming_from(columns, labels, truth)
    with open_file(votes, **asdict(file), beside=disputed, bar=True) as table:
        content = content_of_file(table, naming, max_rows=max_rows, id=id)
        chosen = names(methods) or None
        compared = compare_methods(
            content.votes, content.known, chosen, truth=content.truth, fast=fast
        )
        if disputed is not None:
            write_table(compared.disputed(n_disputed), table, disputed, overwrite)
    show(compared.as_dict(n_disputed) if json else compared.describe(spelled), json)


@o.flatten_groups
def methods(json: bool = o.JSON) -> None:
    """List the methods by name, with their parameters for --set and the defaults.

    For example:
    ec3learn methods
    """
    from ..methods.base import describe_methods

    rows = describe_methods()
    if json:
        return show(rows, json)
    width = max(len(row["method"]) for row in rows) + 2
    for row in rows:
        print(f"{row['method']:{width}}{row['what']}")
        pairs = " ".join(
            f"{name}={value if isinstance(value, str) else dumps(value)}"
            for name, value in row["set"].items()
        )
        if pairs:
            print(
                fill(
                    pairs,
                    WIDTH,
                    initial_indent=INDENT,
                    subsequent_indent=INDENT,
                    break_on_hyphens=False,
                )
            )


@o.flatten_groups
def demo(
    votes: o.Text = o.option(None, "FILE", "Only write the table of votes, as CSV."),
    overwrite: bool = o.OVERWRITE,
) -> None:
    """Combine the votes of five classifiers and two clusterings on 600 made-up emails, and show the results.

    For example:
    ec3learn demo

    ec3learn demo --votes votes.csv
    """
    from ..demo import solve_demo, write_demo

    if votes is not None:
        write_demo(votes, overwrite)
        columns = "-c svm,tree,bayes,knn,rules -k kmeans,dbscan --known gold"
        print(printable(f"Written: {votes}. Try: ec3learn combine {votes} {columns}"))
        return
    right, consensus = solve_demo()
    print(f"How often each is right about emails without a known label, where it votes:\n{right}\n")
    print(f"The base models:\n{consensus.voters()}\n")
    print(f"The most contested emails:\n{consensus.contested(5)}\n")
    print("To try it on a file: ec3learn demo --votes votes.csv")


judging = (trust.agreement, trust.ask, trust.estimate)
for command in (combine, apply, explain, voters, compare, *judging, methods, demo):
    app.command(cls=o.PlainCommand)(command)


@cache
def _options() -> dict[str, str]:
    """Return the options of all commands by the name of their argument; what some command takes without one is left out."""
    main = typer.main.get_command(app)
    commands: list[Any] = list(getattr(main, "commands", {}).values())
    params = [param for command in commands for param in command.params]
    bare = {param.name for param in params if param.param_type_name == "argument"}
    return {param.name: max(param.opts, key=len) for param in params if param.name not in bare}


def spelled(name: str, value: str | None = None) -> str:
    """Return an argument of the library, and a value for it, as an option of the command."""
    return spell_option(_options(), name, value)
