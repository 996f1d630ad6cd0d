"""The commands that say how far an answer can be trusted: agreement, ask and estimate."""

from __future__ import annotations

from math import inf
from os.path import isfile
from typing import TYPE_CHECKING, Any

from .._checks import InputError
from .._table import Table, first_rows
from . import options as o
from .parsing import Options, combined, naming_from, opened, prepare, show

if TYPE_CHECKING:
    from ..consensus import Consensus
    from ..tables.files import FileTable
    from ..votes import Votes


@o.command
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
@o.max_rows
@o.json
def agreement(votes: str, level: str, json: bool, **options: Any) -> None:
    """Show how much voters agree beyond chance.

    All together, each two, and each with known labels, with 95 % intervals.

    For example:
    ec3learn agreement votes.csv --classifiers svm,tree,bayes
    ec3learn agreement answers.csv --objects task --voters worker -c answer --known truth.csv
    ec3learn agreement scores.csv -c 'judge_*' --classes bad,good --scale 1-5 --level ordinal
    """
    from ..diagnosis import agreement as measure
    from ..diagnosis import kappas
    from ..tables.files import content_of_file
    from ..votes import as_class_votes

    limits = {"max_rows": options["max_rows"], "id": options["id"]}
    with opened(votes, options) as table:
        content = content_of_file(table, naming_from(options), **limits)
    cast, known = content.votes, content.known
    if cast.models.is_voter.sum() < 2:
        raise InputError("classifiers", "must have at least two voters to compare", came="one")
    measures, pairs = measure(cast, level), kappas(cast, level=level)  # type: ignore[arg-type]
    with_labels = None if known is None else kappas(as_class_votes(cast), known)
    worth = _worth(cast, known)
    if json:
        return show({"measures": measures, "pairs": pairs, "known": with_labels} | worth, json)
    show(f"{measures}\n\n{_worth_in_words(**worth)}\n")
    weighted = "" if level == "nominal" else ", weighted by how far their answers are apart"
    show(_by_kappa(f"Cohen's kappa of two voters{weighted}", pairs, "pairs"))
    if with_labels is not None:
        show("\n" + _by_kappa("Cohen's kappa with known labels", with_labels, "voters"))


def _worth(votes: Votes, known: Any) -> dict[str, Any]:
    """How many independent votes those on an object are worth, and how that was measured."""
    from ..diagnosis import effective_voters, error_correlation
    from ..diagnosis.correlation import shown_by_labels, shows_correlation
    from ..votes.encoding import known_codes

    by_labels = False
    if known is not None:
        codes = known_codes(known, votes.classes, votes.n_objects, votes.object_ids)
        by_labels = shown_by_labels(votes, codes)
    correlation = effective = None
    if shows_correlation(votes, by_labels):
        correlation = error_correlation(votes, known if by_labels else None)
        effective = effective_voters(votes, correlation)
    return {
        "by_labels": by_labels,
        "effective_voters": effective,
        "error_correlation": correlation,
    }


def _worth_in_words(
    by_labels: bool, effective_voters: float | None, error_correlation: float | None
) -> str:
    from ..diagnosis.correlation import LEAST_VOTERS
    from ..diagnosis.metrics import LEAST_LABELS

    if effective_voters is None:
        few = f"Fewer than {LEAST_VOTERS} voters do not show how much their errors correlate"
        return f"{few}; {LEAST_LABELS} known labels would."
    most, how = "at most ", "not counting those that all share"
    if by_labels:
        most, how = "", "measured on known labels"
    how = f"correlation of errors {error_correlation:.2f}, {how}"
    return (
        f"The votes on an object are worth {most}{effective_voters:.1f} independent ones ({how})."
    )


def _by_kappa(title: str, table: Table, what: str) -> str:
    """The first rows of a table, the lowest kappa first; few objects may show it by chance."""
    from ..diagnosis.metrics import FEW

    rows = list(table.rows())
    few = [row["objects"] < FEW for row in rows]
    rows.sort(key=lambda row: (row["objects"] < FEW, inf if row["kappa"] is None else row["kappa"]))
    if any(few) and not all(few):
        title = f"{title}, the lowest first, those with fewer than {FEW} common objects last"
    else:
        title = f"{title}, the lowest first"
    heads = list(table.columns)
    lowest_first = Table.of(heads, [list(row.values()) for row in rows])
    return f"{title}\n{first_rows(lowest_first, f'{what}; --json has them all')}"


@o.command
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
@o.files("--text", metavar="COLUMN", help="A column to carry along with --out: the objects' text.")
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
    with combined(votes, options, number=True) as answered:
        asked = answered.by_row()[0].ask(n, goal, random_state=seed)  # type: ignore[arg-type]
        if out is not None:
            table = _to_label(asked, answered.file, votes, text, options)
            write_table(table, answered.file, out, options["overwrite"])
    if json or out is None:
        show(asked, json)


def _to_label(
    asked: Table, file: FileTable, votes: str, text: str | None, options: Options
) -> Table:
    """The objects as a file for `--known`, named as in the input, with label to be filled in."""
    from ..tables.files import read_labels

    key = _key(options)
    columns = {
        key if name == "object" else name: values
        for name, values in asked.columns.items()
        if name == "label" or any(value is not None for value in values)
    }
    if text is not None:
        texts = read_labels(file, "text", [f"{votes}:{text}"], key)
        columns[text] = [texts.get(str(name)) for name in columns[key]]
    return Table(columns)


def _key(options: Options) -> str:
    """The column that names objects, also in the table of `ask`."""
    return str(options["objects"] or options["id"] or "object")


@o.command
@o.votes
@o.naming
@o.solving
@o.reading
@o.option("--label", metavar="LABEL", help="The class to estimate; by default all.")
@o.option("--each-voter", is_flag=True, help="Estimate the accuracy of each voter too.")
@o.id
@o.max_rows
@o.json
def estimate(votes: str, label: str | None, each_voter: bool, json: bool, **options: Any) -> None:
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
    with combined(votes, options, number=True, unseen=True) as answered:
        consensus, truth = answered.by_row()
        by_text = {str(plain): plain for plain in consensus.classes.tolist()}
        wanted = None if label is None else by_text.get(label, label)
        known = _as_drawn(truth, consensus, answered.file, options)
        estimated = consensus.estimate(wanted, known, voters=each_voter)
    show(estimated, json)


def _as_drawn(truth: Any, consensus: Consensus, file: FileTable, options: Options) -> Any:
    """The labels, with chances and goals where a file of `--known` is one of `ask`."""
    from ..tables.files import open_file, read_labels

    files: dict[str, list[str]] = {}
    for name in filter(isfile, options["known"]):
        with open_file(name) as table:
            for column in {"chance", "goal"} & set(table.columns):
                files.setdefault(column, []).append(f"{name}:{column}")
    if not files:
        return truth
    draws = {column: read_labels(file, "known", files[column], _key(options)) for column in files}
    names = [consensus.solution.name_of(i) for i in range(consensus.solution.n_objects)]
    drawn = {column: [values.get(str(name)) for name in names] for column, values in draws.items()}
    return Table({"object": names, "label": list(truth)} | drawn)
