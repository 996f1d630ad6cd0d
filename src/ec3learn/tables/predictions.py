"""A consensus goes back to annotation tools: as predictions, and as the tasks to label next."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from .._checks import InputError
from ..consensus import Consensus
from ..votes.labels import plain
from .exports import ANSWERS, results_in

VERSION = "ec3learn"  # the name of the model that predicted

Items = list[dict[str, Any]]


def label_studio_predictions(
    consensus: Consensus, source: Any, question: str, n: int | None = None
) -> Items:
    """Add a consensus to tasks of Label Studio, as a prediction with its confidence as score.

    Parameters
    ----------
    consensus : Consensus
        The answers; its objects are the ids of the tasks, as in the table of `read_label_studio`.
    source : path, or list of tasks
        The export that was read.
    question : str
        Which question is answered. It must have been answered in some task.
    n : int
        Take only the tasks that `ask` would label next, the most useful first.

    Returns
    -------
    list of tasks
        With `id`, `data` and `predictions`: save them as JSON to import them, or pass
        `task=task["id"], **task["predictions"][0]` to `client.predictions.create`.

    Examples
    --------
    >>> from ec3learn import MajorityVote, votes_from
    >>> from ec3learn.tables import label_studio_predictions, read_label_studio
    >>> value = {"choices": ["good"]}
    >>> said = {"from_name": "mood", "to_name": "text", "type": "choices", "value": value}
    >>> tasks = [{"id": 1, "data": {"text": "fine"}, "annotations": [
    ...     {"completed_by": 7, "result": [said]}, {"completed_by": 8, "result": [said]}]}]
    >>> votes = votes_from(
    ...     read_label_studio(tasks), objects="id", voters="annotator", classifiers="mood"
    ... )
    >>> task = label_studio_predictions(MajorityVote().solve(votes), tasks, "mood")[0]
    >>> task["predictions"][0]["score"], task["predictions"][0]["result"] == [said]
    (1.0, True)
    """
    tasks = _items(source)
    like = next((each for each in results_in(tasks) if each.get("from_name") == question), None)
    if like is None or like["type"] not in ANSWERS:
        must = "must be a question with choices, ratings, numbers or comparisons in the export"
        raise InputError("question", must, got=question)
    key, back = ANSWERS[like["type"]], []
    for task, label, score in _answered(consensus, tasks, n):
        value = {key: [label] if like["type"] == "choices" else label}
        result = {name: like[name] for name in ("from_name", "to_name", "type")} | {"value": value}
        prediction = {"model_version": VERSION, "score": score, "result": [result]}
        back.append({"id": task["id"], "data": task.get("data", {}), "predictions": [prediction]})
    return back


def argilla_suggestions(
    consensus: Consensus, source: Any, question: str, n: int | None = None
) -> Items:
    """Add a consensus to records of Argilla 2, as suggestions with their confidence as score.

    Parameters
    ----------
    consensus : Consensus
        The answers; its objects are the ids of the records, as in the table of `read_argilla`.
    source : path, or list of records
        What `dataset.records.to_json(path)` or `to_list()` exported.
    question : str
        Which question is answered.
    n : int
        Take only the records that `ask` would label next, the most useful first.

    Returns
    -------
    list of records
        Save them as JSON, and read them by `dataset.records.from_json(path)`.
    """
    return [
        {name: record[name] for name in ("id", "fields", "metadata", "vectors") if name in record}
        | {"suggestions": {question: {"value": label, "score": score, "agent": VERSION}}}
        for record, label, score in _answered(consensus, _items(source), n)
    ]


def _items(source: Any) -> Items:
    """The tasks or records in a file, or those passed."""
    items = json.loads(Path(source).read_bytes()) if isinstance(source, (str, PathLike)) else source
    return [items] if isinstance(items, dict) else list(items)


def _answered(
    consensus: Consensus, items: Items, n: int | None
) -> list[tuple[dict[str, Any], Any, float]]:
    """The items that have an answer, each with its label and confidence."""
    if consensus.object_ids is None:
        remedy = "Solve the votes of the table that was read, with `objects` named."
        raise InputError("consensus", "must have the names of its objects", remedy=remedy)
    answers = zip(map(plain, consensus.labels()), consensus.confidence.tolist(), strict=True)
    of_object = dict(zip(map(plain, consensus.object_ids), answers, strict=True))
    by_id = {item["id"]: item for item in items}
    wanted = by_id if n is None else consensus.ask(n)["object"]
    return [(by_id[i], *of_object[i]) for i in wanted if i in by_id and i in of_object]
