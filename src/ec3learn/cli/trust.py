"""The commands that say how far an answer can be trusted: agreement, ask and estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .._checks import InputError
from .._table import Table, first_rows
from ..votes import as_class_votes
from . import options as o
from .parsing import combined, naming_from, show

if TYPE_CHECKING:
    from ..consensus import Consensus


@o.flatten_groups
def agreement(
    votes: o.Input,
    columns: o.ColumnOptions,
    labels: o.LabelOptions,
    file: o.ReadOptions,
    level: str = o.method_option(
        "nominal", "NAME", "How far two answers are apart: nominal, ordinal or interval (numbers)."
    ),
    id: o.Text = o.ID,
    max_rows: int = o.MAX_ROWS,
    json: bool = o.JSON,
) -> None:
    """Show how much voters agree beyond chance: all together, each two, and each with known labels, with 95 % intervals.

    For example:
    ec3learn agreement votes.csv --classifiers svm,tree,bayes

    ec3learn agreement answers.csv --objects task --voters worker -c answer --known truth.csv

    ec3learn agreement scores.csv -c 'judge_*' --classes bad,good --scale 1-5 --level ordinal --json
    """
    from ..diagnosis import agreement as measure
    from ..diagnosis import effective_voters, error_correlation, kappas
    from ..diagnosis.correlation import (
        LEAST_LABELS,
        LEAST_VOTERS,
        shown_by_labels,
        shows_correlation,
    )
    from ..tables.files import content_of_file, open_file
    from ..votes.encoding import known_codes

    with open_file(votes, **asdict(file), bar=True) as table:
        content = content_of_file(table, naming_from(columns, labels), max_rows=max_rows, id=id)
    cast = content.votes
    if cast.models.is_voter.sum() < 2:
        raise InputError("classifiers", "must have at least two voters to compare", came="one")
    measures, pairs = measure(cast, level), kappas(cast, level=level)  # type: ignore[arg-type]
    with_labels = None if content.known is None else kappas(as_class_votes(cast), content.known)
    codes = (
        None
        if content.known is None
        else known_codes(content.known, cast.classes, cast.n_objects, cast.object_ids)
    )
    by_labels = codes is not None and shown_by_labels(cast, codes)
    correlation = worth = None
    if shows_correlation(cast, by_labels):
        correlation = error_correlation(cast, content.known if by_labels else None)
        worth = effective_voters(cast, correlation)
    if json:
        found = {"measures": measures, "pairs": pairs, "known": with_labels, "by_labels": by_labels}
        return show(found | {"effective_voters": worth, "error_correlation": correlation}, json)
    print(f"{measures}\n")
    if worth is None:
        few = f"Fewer than {LEAST_VOTERS} voters do not show how much their errors correlate"
        print(f"{few}; {LEAST_LABELS} known labels would.\n")
    else:
        most, how = (
            ("", "measured on known labels")
            if by_labels
            else ("at most ", "not counting those that all share")
        )
        how = f"correlation of errors {correlation:.2f}, {how}"
        print(f"The votes on an object are worth {most}{worth:.1f} independent ones ({how}).\n")
    weighted = "" if level == "nominal" else ", weighted by how far their answers are apart"
    print(_by_kappa(f"Cohen's kappa of two voters{weighted}", pairs, "pairs"))
    if with_labels is not None:
        print("\n" + _by_kappa("Cohen's kappa with known labels", with_labels, "voters"))


def _by_kappa(title: str, table: Table, what: str) -> str:
    """Return the first rows of a table under its title, the lowest kappa first; on few objects it may be low by chance."""
    from ..diagnosis.pairs import FEW

    few = [n < FEW for n in table["objects"]]
    order = sorted(
        range(len(table)),
        key=lambda i: (few[i], float("inf") if table["kappa"][i] is None else table["kappa"][i]),
    )
    lowest_first = Table(
        {name: [values[i] for i in order] for name, values in table.columns.items()}
    )
    few_last = (
        f", those with fewer than {FEW} common objects last" if any(few) and not all(few) else ""
    )
    return f"{title}, the lowest first{few_last}\n{first_rows(lowest_first, f'{what}; --json has them all')}"


@o.flatten_groups
def ask(
    votes: o.Input,
    columns: o.ColumnOptions,
    how: o.MethodOptions,
    file: o.ReadOptions,
    n: int = o.option(20, "N", "How many objects.", "--number", "-n"),
    goal: str = o.option(
        "label",
        "NAME",
        "What will be asked for: label, to correct answers; vote, one vote more; share, labels of a random draw to estimate "
        "shares and accuracies from.",
    ),
    seed: int = o.option(0, "NUMBER", "Seeds the draw for --goal share."),
    id: o.Text = o.ID,
    max_rows: int = o.MAX_ROWS,
    out: o.Text = o.file_option(
        None, "FILE", "Write the objects as a table: CSV, for example.", "-o"
    ),
    overwrite: bool = o.OVERWRITE,
    json: bool = o.JSON,
) -> None:
    """List the objects to ask about next: where a label, or one vote more, is worth most.

    For example:
    ec3learn ask votes.csv --classifiers svm,tree,bayes --id id -n 50 --out review.csv

    ec3learn ask answers.csv --objects task --voters worker -c answer --goal vote

    ec3learn ask scores.csv -c 'judge_*' --classes bad,good --scale 1-5 --id id --goal share -n 40
    --out draw.csv --overwrite
    """
    from ..tables.files import require_outputs, write_table

    require_outputs({"out": out}, overwrite, {"votes": votes, "known": how.known})
    with combined(
        votes, columns, how, file, out=out, max_rows=max_rows, number=True, id=id
    ) as answered:
        found = answered.by_row()[0].ask(n, goal, random_state=seed)  # type: ignore[arg-type]
        if out is not None:
            write_table(found, answered.file, out, overwrite)
    if json or out is None:
        show(found, json)


@o.flatten_groups
def estimate(
    votes: o.Input,
    columns: o.ColumnOptions,
    how: o.MethodOptions,
    file: o.ReadOptions,
    label: o.Text = o.option(None, "LABEL", "The class whose share is estimated; by default all."),
    each_voter: bool = o.option(False, None, "Estimate the accuracy of each voter too."),
    chance: o.Text = o.column_option(
        None,
        "FILE",
        "The draw that `ec3learn ask --goal share` wrote, if the labelled objects come from it.",
    ),
    id: o.Text = o.ID,
    max_rows: int = o.MAX_ROWS,
    json: bool = o.JSON,
) -> None:
    """Estimate the shares of the classes and how often the answer is right, from labels of a random draw (--known).

    Value, low and high use all answers, plain the labels alone; worth is how many labels alone
    would do as well.

    The method does not see the labels.

    For example:
    ec3learn estimate votes.csv --classifiers svm,tree,bayes --known gold --label spam

    ec3learn estimate scores.csv -c 'judge_*' --classes bad,good --scale 1-5 --id id --known
    people.csv --chance draw.csv
    """
    from ..tables.files import read_labels

    if how.known is None:
        raise InputError(
            "known", "must be the labels of some objects, a column or a file", came="none"
        )
    with combined(
        votes, columns, how, file, max_rows=max_rows, number=True, id=id, unseen=True
    ) as answered:
        consensus, truth = answered.by_row()
        drawn = (
            None
            if chance is None
            else read_labels(answered.file, "chance", f"{chance}:chance", "object")
        )
        named = {str(own): own for own in consensus.classes.tolist()}
        wanted = None if label is None else named.get(label, label)
        chances = None if drawn is None else _chances_by_name(drawn, consensus)
        found = consensus.estimate(wanted, truth, voters=each_voter, chance=chances)
    show(found, json)


def _chances_by_name(drawn: Mapping[str, str], consensus: Consensus) -> dict[Any, float]:
    """Return chances, read as text, by the objects as the consensus names them."""
    names = (consensus.solution.name_of(i) for i in range(consensus.solution.n_objects))
    try:
        return {name: float(drawn[str(name)]) for name in names if str(name) in drawn}
    except ValueError as error:
        raise InputError(
            "chance", "must be a file whose column chance holds numbers", came=str(error)
        ) from None
