"""The other commands: how far an answer can be trusted, how voters and methods compare."""

from __future__ import annotations

import warnings
from dataclasses import replace
from json import dumps
from math import inf
from textwrap import fill, indent
from typing import Any

from .._checks import InputError
from .._table import Table, first_rows
from .._text import printable
from . import options as o
from .app import combined, command, opened, prepare, show, tell_written
from .options import Options, names, naming_from


@command
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


@command
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
        for name in filter(options.get, ("known", "classifiers", "clusterings", "out")):
            must = "must be left out for a saved consensus, which does not hold the votes"
            raise InputError(name, must)
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


@command
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


@command
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


@command
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


@command
@o.votes
@o.naming
@o.labels
@o.reading
@o.method(
    "--level",
    metavar="NAME",
    default="nominal",
    help="How far two answers are apart: nominal, ordinal or interval (numbers).",
)
@o.id
@o.json
def agreement(votes: str, level: str, json: bool, **options: Any) -> None:
    """Show how much voters agree beyond chance.

    All together and each two, with 95 % intervals.

    For example:
    ec3learn agreement votes.csv --classifiers svm,tree,bayes
    ec3learn agreement answers.csv --objects task --voters worker -c answer --known truth.csv
    ec3learn agreement scores.csv -c 'judge_*' --classes bad,good --scale 1-5 --level ordinal
    """
    from ..diagnosis import agreement as measure
    from ..diagnosis import kappas
    from ..diagnosis.correlation import independent_votes
    from ..tables.files import content_of_file

    with opened(votes, options) as table:
        content = content_of_file(table, naming_from(options), id=options["id"])
    cast, known = content.votes, content.known
    if cast.models.is_voter.sum() < 2:
        raise InputError("classifiers", "must have at least two voters to compare", came="one")
    measures, pairs = measure(cast, level), kappas(cast, level=level)  # type: ignore[arg-type]
    worth = independent_votes(cast, known)
    if json:
        return show({"measures": measures, "pairs": pairs} | worth, json)
    show(f"{measures}\n\n{_worth_in_words(**worth)}\n")
    weighted = "" if level == "nominal" else ", weighted by how far their answers are apart"
    show(_by_kappa(f"Cohen's kappa of two voters{weighted}", pairs))


def _worth_in_words(
    by_labels: bool, effective_voters: float | None, error_correlation: float | None
) -> str:
    from ..diagnosis.correlation import LEAST_VOTERS
    from ..diagnosis.metrics import LEAST_LABELS

    if effective_voters is None:
        few = f"Fewer than {LEAST_VOTERS} voters do not show how much their errors correlate"
        return f"{few}; {LEAST_LABELS} known labels would."
    most = "" if by_labels else "at most "
    how = "measured on known labels" if by_labels else "not counting those that all share"
    how = f"correlation of errors {error_correlation:.2f}, {how}"
    return (
        f"The votes on an object are worth {most}{effective_voters:.1f} independent ones ({how})."
    )


def _by_kappa(title: str, table: Table) -> str:
    """The first rows of a table, the lowest kappa first; few objects may show it by chance."""
    from ..diagnosis.metrics import FEW

    rows = sorted(
        table.rows(),
        key=lambda row: (row["objects"] < FEW, inf if row["kappa"] is None else row["kappa"]),
    )
    if rows and rows[0]["objects"] >= FEW > rows[-1]["objects"]:
        title += f", the lowest first, those with fewer than {FEW} common objects last"
    else:
        title += ", the lowest first"
    lowest_first = Table.of(list(table.columns), [list(row.values()) for row in rows])
    return f"{title}\n{first_rows(lowest_first, 'pairs; --json has them all')}"


@command
@o.votes
@o.naming
@o.solving
@o.reading
@o.option("--number", "-n", "n", metavar="N", type=int, default=20, help="How many objects.")
@o.option(
    "--goal",
    metavar="NAME",
    default="label",
    help="What will be asked for: label, to correct answers; vote, one vote more; share, labels of "
    "a random draw to estimate shares and accuracies from.",
)
@o.option("--seed", metavar="NUMBER", type=int, default=0, help="Seeds the draw of --goal share.")
@o.id
@o.max_rows
@o.files("--out", "-o", metavar="FILE", help="Write the objects as a table, for --known.")
@o.text
@o.overwrite
@o.json
def ask(
    votes: str, n: int, goal: str, seed: int, text: str | None, json: bool, **options: Any
) -> None:
    """List the objects to ask about next.

    A true label, or one vote more, is worth most for them.

    For example:
    ec3learn ask votes.csv --classifiers svm,tree,bayes --id id -n 50 --out review.csv
    ec3learn ask answers.csv --objects task --voters worker -c answer --goal vote
    ec3learn ask votes.csv -c svm,tree,bayes --id id --goal share -n 40 --out draw.csv
    """
    from ..tables.files import write_table

    out = options["out"]
    prepare(votes, {"out": out}, options)
    with combined(votes, options) as answered:
        asked = answered.by_row()[0].ask(n, goal, random_state=seed)  # type: ignore[arg-type]
        if text is not None:
            texts = {text: answered.texts(text, asked["object"])}
            asked = Table({**asked.columns, **texts}, asked.note)
        if out is not None:
            write_table(_to_label(asked, options), answered.file, out, options["overwrite"])
            tell_written(options)
    if json or out is None:
        show(asked, json)


def _to_label(asked: Table, options: Options) -> Table:
    """The objects as a file for `--known`, named as in the input, with label to be filled in."""
    key = str(options["objects"] or options["id"] or "object")
    columns = {
        key if name == "object" else name: values
        for name, values in asked.columns.items()
        if name == "label" or any(value is not None for value in values)
    }
    return Table(columns)


@command
@o.votes
@o.naming
@o.solving
@o.reading
@o.option("--label", metavar="LABEL", help="The class to estimate; by default all.")
@o.option("--by", metavar="COLUMN", help="Estimate each group of this column by itself.")
@o.option("--each-voter", is_flag=True, help="Estimate the accuracy of each voter too.")
@o.id
@o.max_rows
@o.json
def estimate(
    votes: str, label: str | None, by: str | None, each_voter: bool, json: bool, **options: Any
) -> None:
    """Estimate class shares and accuracies from labels.

    The labels (--known) must be of a random draw; the method does not see them. The file of `ask
    --goal share` says how its objects were drawn. Value, low and high use all answers, plain the
    labels alone; worth is how many labels alone would do as well.

    For example:
    ec3learn estimate votes.csv --classifiers svm,tree,bayes --known gold --label spam
    ec3learn estimate votes.csv -c svm,tree,bayes --id id --known draw.csv
    """
    if not options["known"]:
        must = "must be the labels of some objects, a column or a file"
        raise InputError("known", must, came="none")
    with combined(votes, options, unseen=True) as answered:
        consensus, truth = answered.by_row()
        by_text = {str(plain): plain for plain in consensus.classes.tolist()}
        wanted = None if label is None else by_text.get(label, label)
        names = map(consensus.solution.name_of, range(consensus.solution.n_objects))
        groups = None if by is None else answered.texts(by, list(names), "by")
        estimated = consensus.estimate(wanted, truth, voters=each_voter, by=groups)
    if json and estimated.note:
        warnings.warn(estimated.note, stacklevel=1)
    show(estimated, json)
