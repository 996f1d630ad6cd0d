"""`ec3learn explain` and `ec3learn voters`: why an object got its answer, and who drove all of them."""

from __future__ import annotations

import json as json_format
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .opening import opened, solved

if TYPE_CHECKING:
    from ..explanation import Explanation

OBJECT = typer.Option(
    "--object",
    metavar="NUMBER",
    help="The row, counted from 0; with --id or --objects a value of that column.",
    show_default=False,
)
ID = typer.Option("--id", metavar="COLUMN", help="The column that names the objects.", rich_help_panel=o.VOTES)
FILE = typer.Argument(metavar="VOTES", help="Table of votes, or a model saved by `ec3learn combine`.", show_default=False)


def explain(
    votes: o.Input,
    object: Annotated[str, OBJECT],
    id: Annotated[str | None, ID] = None,
    classifiers: o.Classifiers = None,
    clusterings: o.Clusterings = None,
    soft: o.Soft = None,
    known: o.Known = None,
    objects: o.Objects = None,
    voters: o.Voters = None,
    classes: o.Classes = None,
    missing: o.Missing = None,
    method: o.Method = "iec3",
    settings: o.Setting = None,
    max_patterns: o.MaxPatterns = 5_000_000,
    max_classes: o.MaxClasses = 1_000,
    format: o.InFormat = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = "utf-8",
    memory: o.Memory = o.MEMORY,
    json: o.Json = False,
) -> None:
    """Explain one object: who said what, and how much it gave to each class.

    Examples
    --------
      ec3learn explain votes.csv --object 17 --classifiers svm,tree --clusterings kmeans

      ec3learn explain votes.csv --object mail-17 --id id --classifiers svm,tree
    """
    with opened(votes, format=format, delimiter=delimiter, encoding=encoding, memory=memory) as file:
        answer = solved(
            file,
            classifiers=classifiers,
            clusterings=clusterings,
            soft=soft,
            known=known,
            objects=objects,
            voters=voters,
            classes=classes,
            missing=missing,
            method=method,
            settings=settings,
            max_patterns=max_patterns,
            max_classes=max_classes,
            number=objects is None,
        )
        if objects is not None:
            explanation = answer.consensus.explain(answer.table.value(objects, object))
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


def voters(
    votes: Annotated[str, FILE],
    classifiers: o.Classifiers = None,
    clusterings: o.Clusterings = None,
    soft: o.Soft = None,
    known: o.Known = None,
    objects: o.Objects = None,
    voters: o.Voters = None,
    classes: o.Classes = None,
    missing: o.Missing = None,
    method: o.Method = "iec3",
    settings: o.Setting = None,
    max_patterns: o.MaxPatterns = 5_000_000,
    max_classes: o.MaxClasses = 1_000,
    format: o.InFormat = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = "utf-8",
    memory: o.Memory = o.MEMORY,
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
        with opened(votes, format=format, delimiter=delimiter, encoding=encoding, memory=memory) as file:
            consensus = solved(
                file,
                classifiers=classifiers,
                clusterings=clusterings,
                soft=soft,
                known=known,
                objects=objects,
                voters=voters,
                classes=classes,
                missing=missing,
                method=method,
                settings=settings,
                max_patterns=max_patterns,
                max_classes=max_classes,
            ).consensus
    table = consensus.voters()
    print(json_format.dumps(list(table.rows()), ensure_ascii=False) if json else table)
