"""`ec3learn combine` and `ec3learn apply`: a table in, a table out."""

from __future__ import annotations

import json as json_format
import sys
from typing import Annotated, Any

import typer

from . import options as o
from . import words
from .opening import opened, solved

MODEL_FILE = typer.Argument(metavar="MODEL", help="A file made by `ec3learn combine --save`.", show_default=False)
LABEL_RULE = typer.Option(
    "--rule", metavar="NAME", help="argmax, or mass: labels in the shares that the probabilities have.", rich_help_panel=o.MODEL
)
SAVE = typer.Option(metavar="FILE", help="Save what `ec3learn apply` needs.", rich_help_panel=o.FILE)
REPORT = typer.Option(metavar="FILE", help="Write a report to look at: one HTML file.", rich_help_panel=o.FILE)


def combine(
    votes: o.Input,
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
    proba: o.Proba = False,
    rule: Annotated[str, LABEL_RULE] = "argmax",
    prefix: o.Prefix = "",
    max_patterns: o.MaxPatterns = 5_000_000,
    max_classes: o.MaxClasses = 1_000,
    out: o.Out = None,
    save: Annotated[str | None, SAVE] = None,
    report: Annotated[str | None, REPORT] = None,
    overwrite: o.Overwrite = False,
    format: o.InFormat = None,
    out_format: o.OutFormat = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = "utf-8",
    memory: o.Memory = o.MEMORY,
    json: o.Json = False,
) -> None:
    """Combine votes and clusters into one classification.

    Examples
    --------
      ec3learn combine votes.csv --classifiers svm,tree --clusterings kmeans --out labels.csv

      ec3learn combine votes.parquet -c 'clf_*' -k 'km_*,dbscan' --known gold --out labels.parquet --save model.ec3

      ec3learn combine answers.csv --objects task --voters worker -c answer -m dawid-skene --out labels.csv

      cat votes.csv | ec3learn combine - --format csv -c svm,tree --out - > labels.csv
    """
    from ..files import require_free, write
    from ..summary import summary_of

    for path in filter(None, (out, save, report)):
        require_free(path, overwrite)
    with opened(votes, format=format, delimiter=delimiter, encoding=encoding, memory=memory, out=out) as file:
        target = None if out is None else file.format.for_output(out, out_format)
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
            proba=proba,
            rule=rule,
            prefix=prefix,
            max_patterns=max_patterns,
            max_classes=max_classes,
        )
        summary = summary_of(answer.consensus, answer.method)
        if out is not None and target is not None:
            file.step(f"Writing {out}")
            write(file.work, answer.table, answer.answered, out, target, overwrite)
    if save is not None:
        answer.consensus.save(save)
    if report is not None:
        answer.consensus.report(report, command=["ec3learn", *sys.argv[1:]], overwrite=overwrite)
    if summary.warning is not None:
        print(f"ec3learn: warning: {summary.warning}", file=sys.stderr)
    said = json_format.dumps(summary.as_dict(), ensure_ascii=False) if json else str(summary)
    print(said, file=sys.stderr if out == "-" else sys.stdout)


def apply(
    model: Annotated[str, MODEL_FILE],
    votes: o.Input,
    out: o.Out = None,
    classifiers: o.Classifiers = None,
    clusterings: o.Clusterings = None,
    soft: o.Soft = None,
    objects: o.Objects = None,
    voters: o.Voters = None,
    missing: o.Missing = None,
    proba: o.Proba = False,
    prefix: o.Prefix = "",
    max_patterns: o.MaxPatterns = 5_000_000,
    overwrite: o.Overwrite = False,
    format: o.InFormat = None,
    out_format: o.OutFormat = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = "utf-8",
    memory: o.Memory = o.MEMORY,
) -> None:
    """Answer for new objects by a saved model, without solving again.

    Columns are found by the names that the model's base models have.

    Examples
    --------
      ec3learn apply model.ec3 new.csv --out labels.csv

      ec3learn apply model.ec3 new.parquet --out - --out-format csv
    """
    from ..consensus import Consensus
    from ..files import like_model, require_free, write
    from ..frames.columns import columns_of_model, frame_of, source_of
    from ..frames.combining import extended
    from ..frames.output import Output

    out = "-" if out is None else out
    require_free(out, overwrite)
    learned = Consensus.load(model)
    with opened(votes, format=format, delimiter=delimiter, encoding=encoding, memory=memory, out=out) as file:
        target = file.format.for_output(out, out_format)
        who: dict[str, Any] = {
            "classifiers": words.choice(classifiers, soft) or None,
            "clusterings": words.names(clusterings) or None,
        }
        roles: dict[str, Any] = {"objects": objects, "voters": voters}
        table, learned, gap = like_model(file.table, learned, missing, **who, **roles)
        file.step("Applying")
        frame = frame_of(table.relation)
        who["classifiers"], who["clusterings"] = columns_of_model(frame, learned, **who, objects=objects)
        source = source_of(frame, **who, **roles, classes=learned.classes, missing=gap)
        answered = extended(frame, source, learned, Output.of(frame, prefix, proba), max_patterns)
        file.step(f"Writing {out}")
        write(file.work, table, answered, out, target, overwrite)
