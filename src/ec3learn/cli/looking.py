"""`ec3learn explain` and `ec3learn voters`: why an object got its answer, and who drove all of them."""

from __future__ import annotations

import json as json_format
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .opening import opened, solved

if TYPE_CHECKING:
    from ..diagnosis.explanation import Explanation

OBJECT = typer.Option(
    "--object",
    metavar="NUMBER",
    help="The row, counted from 0; with --id or --objects a value of that column.",
    show_default=False,
)
ID = typer.Option("--id", metavar="COLUMN", help="The column that names the objects.", rich_help_panel=o.VOTES)
FILE = typer.Argument(metavar="VOTES", help="Table of votes, or a model saved by `ec3learn combine`.", show_default=False)


@o.spread
def explain(
    votes: o.Input,
    object: Annotated[str, OBJECT],
    who: o.Who,
    how: o.How,
    file: o.Read,
    id: Annotated[str | None, ID] = None,
    max_patterns: o.MaxPatterns = o.MOST_PATTERNS,
    json: o.Json = False,
) -> None:
    """Explain one object: who said what, and how much it gave to each class.

    Examples
    --------
      ec3learn explain votes.csv --object 17 --classifiers svm,tree --clusterings kmeans

      ec3learn explain votes.csv --object mail-17 --id id --classifiers svm,tree
    """
    with opened(votes, file) as open_file:
        answer = solved(open_file, who, how, max_patterns, number=who.objects is None)
        if who.objects is not None:
            explanation = answer.consensus.explain(answer.table.value(who.objects, object))
        else:
            explanation = answer.consensus.explain(answer.number(answer.table.row(object, id)))
    explanation = replace(explanation, object=object)
    print(json_format.dumps(_as_dict(explanation), ensure_ascii=False) if json else explanation)


def _as_dict(explanation: Explanation) -> dict[str, Any]:
    return {
        "object": explanation.object,
        "label": explanation.label,
        "proba": {str(label): float(share) for label, share in zip(explanation.classes, explanation.proba, strict=True)},
        "unit": explanation.unit,
        "by_model": list(explanation.by_model.rows()),
        "by_term": list(explanation.by_term.rows()),
    }


@o.spread
def voters(
    votes: Annotated[str, FILE],
    who: o.Who,
    how: o.How,
    file: o.Read,
    max_patterns: o.MaxPatterns = o.MOST_PATTERNS,
    json: o.Json = False,
) -> None:
    """Show the base models: coverage, agreement with the consensus, weight; of clusterings purity and mutual information.

    Examples
    --------
      ec3learn voters votes.csv --classifiers svm,tree --clusterings kmeans

      ec3learn voters model.ec3
    """
    if votes.endswith(".ec3"):
        from ..consensus import Consensus

        consensus = Consensus.load(votes)
    else:
        with opened(votes, file) as open_file:
            consensus = solved(open_file, who, how, max_patterns).consensus
    table = consensus.voters()
    print(json_format.dumps(list(table.rows()), ensure_ascii=False) if json else table)
