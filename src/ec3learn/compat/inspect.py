"""Logs of inspect_ai become votes, and a consensus becomes scores that `inspect score` reads.

Scorers are judges of a model's answers, or models are judges of the samples; see `read_logs`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from os import PathLike
from typing import Any

from .._checks import require_library
from .._files import place_for, whole_file
from .._table import Table
from ..consensus import Consensus
from ..votes.labels import is_missing, plain
from ..votes.reading import seen_by_narwhals

__all__ = ["read_logs", "write_scores"]

COLUMNS = ("object", "id", "epoch", "task", "model", "judge", "value")


def read_logs(*logs: str | PathLike[str], judge: str | None = None, backend: Any = "pandas") -> Any:
    """Read the scores in logs of inspect_ai as a long table with one row per score.

    Parameters
    ----------
    logs : paths
        Files that end in .eval or .json, or folders with such files.
    judge : str
        Take only the judges with a name that begins so, where others measure something else.
    backend : str
        The library of the dataframe: "pandas", "polars", "pyarrow", ...

    Returns
    -------
    dataframe
        The columns `object` (one answer of a model: model, sample and epoch), `id` (of the sample),
        `epoch`, `task`, `model`, `judge` and `value`: "C", "I", "P" or "N", a number or a bool. The
        judge is the scorer. Of a scorer that asks several, such as `model_graded_qa` with a list of
        models, each is a judge of its own, as is each key of a score with several values. A score
        without a value is left out.
    """
    require_library("Reading logs of inspect_ai", "inspect_ai", "inspect")
    from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

    rows = []
    for path in [os.fspath(log) for log in logs]:
        files = [log.name for log in list_eval_logs(path)] if os.path.isdir(path) else [path]
        for file in files:
            about = read_eval_log(file, header_only=True).eval
            for sample in read_eval_log_sample_summaries(file):
                place = [sample.id, sample.epoch, about.task, about.model]
                name = f"{about.model} {sample.id} {sample.epoch}"
                for scorer, score in (sample.scores or {}).items():
                    for who, value in _values(scorer, score.value, score.metadata or {}):
                        if not is_missing(value) and who.startswith(judge or ""):
                            rows.append([name, *place, who, value])
    return Table.of(COLUMNS, rows).to_frame(backend)


def _values(scorer: str, value: Any, about: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The judges behind a score, and what each said."""
    panel = about.get("panel")
    several = panel["votes"] if isinstance(panel, dict) and "votes" in panel else value
    if isinstance(several, list):
        several = dict(enumerate(several, start=1))
    if not isinstance(several, dict):
        yield scorer, value
        return
    for key, each in several.items():
        yield from _values(f"{scorer} {key}", each, {})


def write_scores(
    consensus: Consensus, table: Any, path: str | PathLike[str], *, overwrite: bool = False
) -> None:
    """Write a consensus as scores that `inspect score` adds to a log.

    `inspect score log.eval --scorer inspect_ai/precomputed_scores -S scores=consensus.jsonl`
    reads the file.

    Parameters
    ----------
    consensus : Consensus
        Its objects are those in the column `object` or `id` of the table.
    table : dataframe
        What `read_logs` returned. With logs of several models, pass the rows of one.
    path : path
        A file that ends in .jsonl. Each line has `id`, `epoch` (not where samples are the objects),
        `value`, the label, and `metadata`, with the `probability` of each label, and `notes`.
    overwrite : bool
        Replace the file if it exists.
    """
    rows = seen_by_narwhals(table).select("object", "id", "epoch").unique(maintain_order=True)
    ids = [] if consensus.object_ids is None else map(plain, consensus.object_ids)
    number = {str(name): i for i, name in enumerate(ids)}
    lines = {}
    for name, sample, epoch in rows.iter_rows():
        at = {"id": sample, "epoch": epoch} if str(name) in number else {"id": sample}
        lines[tuple(at.values())] = at, number.get(str(name), number.get(str(sample)))
    labels, proba = [*map(plain, consensus.labels())], consensus.proba
    classes, notes = [*map(str, consensus.classes)], [str(note) for note in consensus.notes]
    with whole_file(place_for(path, overwrite)) as file:
        for at, i in lines.values():
            if i is not None:
                about = {"probability": dict(zip(classes, proba[i].tolist(), strict=True))}
                line = at | {"value": labels[i], "metadata": about | {"notes": notes}}
                file.write(json.dumps(line).encode() + b"\n")
