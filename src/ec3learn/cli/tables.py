"""`ec3learn combine` and `ec3learn apply`: a table in, a table out."""

from __future__ import annotations

import json as json_format
import os
import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

from ..answer.notes import Note
from . import options as o
from . import parsing as words
from .opening import opened, solved

MODEL_FILE = typer.Argument(metavar="MODEL", help="A file made by `ec3learn combine --save`.", show_default=False)
LABEL_RULE = typer.Option(
    "--rule", metavar="NAME", help="argmax, or mass: labels in the shares that the probabilities have.", rich_help_panel=o.MODEL
)
SAVE = typer.Option(metavar="FILE", help="Save what `ec3learn apply` needs.", rich_help_panel=o.FILE)
ID = typer.Option(
    "--id",
    metavar="COLUMN",
    help="The column that names the objects in the report; by default row numbers do.",
    rich_help_panel=o.VOTES,
)
REPORT = typer.Option(metavar="FILE", help="Write a report to look at: one HTML file.", rich_help_panel=o.FILE)


@o.spread
def combine(
    votes: o.Input,
    who: o.Who,
    how: o.How,
    file: o.Read,
    proba: o.Proba = False,
    rule: Annotated[str, LABEL_RULE] = "argmax",
    id: Annotated[str | None, ID] = None,
    prefix: o.Prefix = "",
    max_patterns: o.MaxPatterns = o.MOST_PATTERNS,
    out: o.Out = None,
    out_format: o.OutFormat = None,
    save: Annotated[str | None, SAVE] = None,
    report: Annotated[str | None, REPORT] = None,
    overwrite: o.Overwrite = False,
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
    from ..diagnosis.summary import summary_of
    from ..tables.files import require_free, write

    outputs = [path for path in (out, save, report) if path is not None]
    for path in outputs:
        require_free(path, overwrite)
    if len(set(map(os.path.realpath, outputs))) < len(outputs):
        raise ValueError("--out, --save and --report must name different files.")
    with opened(votes, file, out) as open_file:
        target = None if out is None else open_file.format.for_output(out, out_format)
        answer = solved(open_file, who, how, max_patterns, prefix=prefix, proba=proba, rule=rule)
        summary = summary_of(answer.consensus, answer.method)
        shown = answer.consensus if id is None else answer.named(id)
        if out is not None and target is not None:
            open_file.step(f"Writing {out}")
            write(open_file.work, answer.table, answer.answered, out, target, overwrite)
    if save is not None:
        answer.consensus.save(save)
    if report is not None:
        shown.report(report, command=["ec3learn", *sys.argv[1:]], overwrite=overwrite)
    if summary.warning is not None:
        print(f"ec3learn: warning: {words.in_words(summary.warning)}", file=sys.stderr)
    said = (
        json_format.dumps(summary.as_dict(), ensure_ascii=False)
        if json
        else str(replace(summary, notes=tuple(Note(note.kind, words.in_words(str(note))) for note in summary.notes)))
    )
    print(said, file=sys.stderr if out == "-" else sys.stdout)


@o.spread
def apply(
    model: Annotated[str, MODEL_FILE],
    votes: o.Input,
    who: o.Who,
    file: o.Read,
    proba: o.Proba = False,
    prefix: o.Prefix = "",
    max_patterns: o.MaxPatterns = o.MOST_PATTERNS,
    out: o.Out = None,
    out_format: o.OutFormat = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Answer for new objects by a saved model, without solving again.

    Columns are found by the names that the model's base models have.

    Examples
    --------
      ec3learn apply model.ec3 new.csv --out labels.csv

      ec3learn apply model.ec3 new.parquet --out - --out-format csv
    """
    from ..consensus import Consensus
    from ..tables.columns import columns_of_model, frame_of, source_of
    from ..tables.combining import extended
    from ..tables.files import like_model, require_free, write
    from ..tables.output import Output

    out = "-" if out is None else out
    require_free(out, overwrite)
    learned = Consensus.load(model)
    with opened(votes, file, out) as open_file:
        target = open_file.format.for_output(out, out_format)
        columns: dict[str, Any] = {
            "classifiers": words.choice(who.classifiers, who.soft) or None,
            "clusterings": words.names(who.clusterings) or None,
        }
        roles: dict[str, Any] = {"objects": who.objects, "voters": who.voters}
        table, learned = like_model(open_file.table, learned, words.names(who.missing), **columns, **roles)
        open_file.step("Applying")
        frame = frame_of(table.relation)
        columns["classifiers"], columns["clusterings"] = columns_of_model(frame, learned, **columns, objects=who.objects)
        source = source_of(frame, **columns, **roles, classes=learned.classes)
        answered = extended(frame, source, learned, Output.of(frame, prefix, proba), max_patterns)
        open_file.step(f"Writing {out}")
        write(open_file.work, table, answered, out, target, overwrite)
