"""The commands of `ec3learn`: each turns its options into arguments and calls the library.

Libraries are imported inside the commands, so that `ec3learn --help` loads none of them.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from json import dumps
from textwrap import fill, indent
from typing import Any

import click

from .. import __version__
from .._checks import InputError, require_integer
from .._table import Table
from .._text import printable
from . import options as o
from . import trust
from .parsing import combined, method_from, names, naming_from, opened, prepare, show, tell_written


@o.command
@o.votes
@o.naming
@o.solving
@o.reading
@o.answers
@o.method(
    "--rule",
    metavar="NAME",
    default="argmax",
    help="How labels follow from probabilities: argmax, or mass, which keeps the class shares.",
)
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
    type=int,
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
    if keep_objects and not (save and options["objects"]):
        must = "is for a long table, with one row per vote, whose consensus is saved"
        raise InputError("keep_objects", phrase=f"keep_objects {must}")
    outputs = {"out": out, "save": save, "report": report, "contested": contested}
    prepare(votes, outputs, options)
    require_integer("n_contested", n_contested, 0)
    if report is not None:
        from ..report import require_jinja2

        require_jinja2()  # before anything is written
    added = {name: options[name] for name in ("proba", "rule", "prefix")}
    with combined(votes, options, **added) as answered:
        named, truth = answered.named()
        summary = answered.consensus.summary(method_from(options), truth=answered.truth, fast=fast)
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


@o.command
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


@o.command
@o.votes
@o.naming
@o.solving
@o.reading
@o.option(
    "--object",
    metavar="NUMBER",
    required=True,
    help="The row, counted from 0; with --id or --objects, a value of that column.",
)
@o.id
@o.max_rows
@o.json
def explain(votes: str, object: str, json: bool, **options: Any) -> None:
    """Explain the answer for one object.

    Shows the vote of each base model, and how much it gave to each class.

    For example:
    ec3learn explain votes.csv --object 17 --classifiers svm,tree --clusterings kmeans
    ec3learn explain votes.csv --object mail-17 --id id --classifiers svm,tree
    """
    with combined(votes, options) as answered:
        explanation = answered.by_row()[0].explain(answered.object_called(object))
    show(replace(explanation, object=object), json)


@o.command
@o.votes
@o.naming
@o.solving
@o.reading
@o.id
@o.max_rows
@o.files("--out", "-o", metavar="FILE", help="Write the table of voters.")
@o.overwrite
@o.json
def voters(votes: str, json: bool, **options: Any) -> None:
    """Show how good each voter is, those in trouble first.

    VOTES may also be a consensus saved by `ec3learn combine --save`.

    For example:
    ec3learn voters votes.csv --classifiers svm,tree --clusterings kmeans
    ec3learn voters mails.ec3
    """
    from ..consensus import Consensus
    from ..diagnosis.voters import worst_first
    from ..tables.files import write_table

    if votes.endswith(".ec3"):
        for name in ("known", "classifiers", "clusterings"):
            if options[name]:
                must = "must be left out for a saved consensus, which does not hold the votes"
                raise InputError(name, must, came=", ".join(options[name]))
        if options["out"]:
            raise InputError("out", "must be left out for a saved consensus: pass --json")
        consensus = Consensus.load(votes)
    else:
        prepare(votes, {"out": options["out"]}, options)
        with combined(votes, options) as answered:
            consensus = answered.consensus
            if options["out"]:
                table = worst_first(consensus)
                write_table(table, answered.file, options["out"], options["overwrite"])
                return tell_written(options)
    show(worst_first(consensus), json)
    if not json:
        for note in consensus.notes:
            if note.kind == "two voters":
                show(f"\nNote: {note}")


@o.command
@o.votes
@o.naming
@o.labels
@o.reading
@o.method(
    "--methods",
    multiple=True,
    metavar="METHODS",
    help="The methods, separated by commas; by default all that `ec3learn methods` lists.",
)
@o.id
@o.truth
@o.fast
@o.json
def compare(
    votes: str,
    methods: tuple[str, ...],
    fast: bool,
    json: bool,
    **options: Any,
) -> None:
    """Compare the methods on the same votes.

    Shows how often they disagree, and how often each is right where labels are known.

    For example:
    ec3learn compare votes.csv --classifiers svm,tree,bayes --clusterings kmeans --known gold
    ec3learn compare votes.csv -c svm,tree,bayes --methods auto,majority --truth truth
    """
    from ..methods import compare as compare_methods
    from ..tables.files import content_of_file

    with opened(votes, options) as table:
        content = content_of_file(table, naming_from(options), id=options["id"])
        chosen = names(methods) if methods else None
        compared = compare_methods(
            content.votes, content.known, chosen, truth=content.truth, fast=fast
        )
    show({"methods": compared, "note": compared.note} if json else compared, json)


@o.command
@o.json
def methods(json: bool) -> None:
    """List the methods, and their parameters for --set.

    For example:
    ec3learn methods
    """
    from ..methods import describe_methods

    rows = describe_methods()
    if json:
        return show(rows, json)
    for row in rows:
        print(f"{row['method']:22}{row['what']}")
        values = {name: dumps(value).strip('"') for name, value in row["set"].items()}
        pairs = " ".join(f"{name}={value}" for name, value in values.items())
        if pairs:
            print(indent(fill(pairs, 96, break_on_hyphens=False), " " * 4))


@o.command
@o.files("--votes", metavar="FILE", help="Only write the table of votes, as CSV.")
@o.overwrite
def demo(votes: str | None, overwrite: bool) -> None:
    """Show what it does on 600 made-up emails.

    Five classifiers and two clusterings have looked at them.

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
    print(
        f"How often each is right about emails without a known label, where it votes:\n{right}\n",
        f"The base models:\n{consensus.voters()}\n",
        f"The most contested emails:\n{consensus.contested(5)}\n",
        "To try it on a file: ec3learn demo --votes votes.csv",
        sep="\n",
    )


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


judging = (trust.agreement, trust.ask, trust.estimate)
for each in (combine, apply, explain, voters, compare, *judging, methods, demo):
    app.add_command(each)
