"""Exports of annotation tools become long tables, and a consensus goes back to the tools.

A long table has one row per annotator and object. Predictions go back, or the tasks to label next.
Label Studio and Argilla export plain JSON, which the standard library reads. Their own libraries
talk to their servers, and have nothing that makes such a table.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from .._checks import InputError
from .._table import Table
from .._text import count, first_line
from ..consensus import Consensus
from ..votes.labels import plain

# The types of answers of Label Studio that can be votes, and where each has its value.
ANSWERS = {"choices": "choices", "rating": "rating", "number": "number", "pairwise": "selected"}
KNOWN = "_known"
Answers = dict[str, list[Any]]  # all answers to each question
# The fields of an object, what one annotator said about it, and what is known about it.
Row = tuple[dict[str, Any], Answers, Answers]


def read_label_studio(source: Any, *, predictions: bool = False, backend: Any = "pandas") -> Any:
    """Read an export of Label Studio as a long table with one row per annotation.

    Parameters
    ----------
    source : path, or list of tasks
        A file exported as JSON, or the tasks in it.
    predictions : bool
        Also take the predictions of models as votes; the voter is the version of the model.
    backend : str
        The library of the dataframe: "pandas", "polars", "pyarrow", ...

    Returns
    -------
    dataframe
        The columns `id` (of the task), `annotator`, one for each question that is answered by a
        choice, rating, number or comparison, and one for each plain value in the task's data. A
        question with several choices at once has lists, for `combine(separator=",")`, and a column
        of bools for each choice, such as `topics=sport`. Skipped annotations are left out. A ground
        truth is no vote: it is in the column `<question>_known`, in all rows of its task.

    Examples
    --------
    >>> from ec3learn import combine
    >>> from ec3learn.tables import read_label_studio
    >>> def says(label):
    ...     value = {"choices": [label]}
    ...     return [{"from_name": "mood", "to_name": "text", "type": "choices", "value": value}]
    >>> tasks = [{"id": 1, "data": {"text": "fine"}, "annotations": [
    ...     {"completed_by": 7, "result": says("good")},
    ...     {"completed_by": 8, "result": says("good")}]}]
    >>> table = read_label_studio(tasks)
    >>> table.values.tolist()
    [['fine', 1, '7', 'good'], ['fine', 1, '8', 'good']]
    >>> combine(table, objects="id", voters="annotator", classifiers="mood")["consensus"].tolist()
    ['good', 'good']
    """
    return _read("label-studio", source, predictions, backend)


def read_argilla(source: Any, *, suggestions: bool = False, backend: Any = "pandas") -> Any:
    """Read records of Argilla 2 as a long table with one row per user and record.

    Parameters
    ----------
    source : path, or list of records
        What `dataset.records` of Argilla exports by `to_json` or `to_list`. It has no status of
        responses, so drafts and discarded responses count too.
    suggestions : bool
        Also take suggestions as votes; the voter is the agent.
    backend : str
        The library of the dataframe: "pandas", "polars", "pyarrow", ...

    Returns
    -------
    dataframe
        The columns `id` (of the record), `annotator` (the user's id), one for each question, and
        one for each plain value in the fields and metadata. A question with several labels at once
        has lists, for `combine(separator=",")`, and a column of bools for each label, such as
        `topics=sport`.

    Examples
    --------
    >>> from ec3learn.tables import read_argilla
    >>> mood = [{"value": "good", "user_id": "ann"}, {"value": "bad", "user_id": "bob"}]
    >>> record = {"id": "a", "fields": {"text": "fine"}, "responses": {"mood": mood}}
    >>> read_argilla([record]).values.tolist()
    [['fine', 'a', 'ann', 'good'], ['fine', 'a', 'bob', 'bad']]
    """
    return _read("argilla", source, suggestions, backend)


def _read(tool: str, source: Any, machines: bool, backend: Any) -> Any:
    name = str(source) if isinstance(source, (str, PathLike)) else "source"
    return Table(export_columns(tool, source, name, machines)).to_frame(backend)


def export_columns(
    tool: str, source: Any, name: str, machines: bool = False
) -> dict[str, list[Any]]:
    """Read a file, its content as bytes, or the items in it as the columns of a long table."""
    title, rows_of, remedy = TOOLS[tool]
    try:
        items = _items(source)
        rows_by_item = [list(rows_of(item, machines)) for item in items]
        results = results_in(items) if rows_of is _label_studio_rows else ()
        # Spans, boxes and rankings are no votes.
        others = sorted({str(result.get("type")) for result in results} - ANSWERS.keys())
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        broken = isinstance(error, (ValueError, RecursionError))
        reason = first_line(error) if broken else f"an item is not as {title} writes it"
        phrase = f"{name} must be an export of {title}: {reason}"
        raise InputError("source", phrase=phrase, remedy=remedy) from None
    rows = [row for of_item in rows_by_item for row in of_item]
    if not any(answers or known for _, answers, known in rows):
        kinds = f", of {', '.join(others)} only" if others else ""
        phrase = f"{name} must have annotations with labels or ratings"
        came = f"got {count(len(items), 'item')} without any{kinds}"
        remedy = f"What can be votes: {', '.join(ANSWERS)}."
        raise InputError("source", phrase=f"{phrase}, {came}", remedy=remedy)
    n_empty = sum(
        not any(answers or known for _, answers, known in of_item) for of_item in rows_by_item
    )
    if n_empty:
        text = f"{n_empty:,} of {count(len(items), 'item')} in {name} have no annotation that votes"
        warnings.warn(f"{text}. Those without any annotation are left out.", stacklevel=4)
    return _columns(rows)


def results_in(tasks: list[Any]) -> Iterator[dict[str, Any]]:
    """All results in the annotations of tasks of Label Studio."""
    annotations = (each for task in tasks for each in task.get("annotations") or ())
    return (result for each in annotations for result in each.get("result") or ())


# ---- rows ----------------------------------------------------------------------------------------


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    """Turn rows into columns; one with several answers at once has lists, too."""
    names = dict.fromkeys(name for fields, _, _ in rows for name in fields)
    columns = {name: [fields.get(name) for fields, _, _ in rows] for name in names}
    said = {"": [answers for _, answers, _ in rows], KNOWN: [known for _, _, known in rows]}
    everything = [answers for column in said.values() for answers in column]
    for question in dict.fromkeys(name for answers in everything for name in answers):
        chosen = [answers.get(question, []) for answers in everything]
        several = max(map(len, chosen)) > 1
        options = sorted({answer for each in chosen for answer in each}, key=str) if several else []
        for ending, column in said.items():
            answers = [each.get(question) or None for each in column]
            whole = answers if several else [each and each[0] for each in answers]
            columns[question + ending] = whole
            for option in options:
                name = f"{question}={option}{ending}"
                columns[name] = [each and option in each for each in answers]
    columns = {name: _of_one_type(column) for name, column in columns.items()}
    return {
        name: column for name, column in columns.items() if any(each is not None for each in column)
    }


def _of_one_type(values: list[Any]) -> list[Any]:
    """Leave values that are of one type as they are, and write others as text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    large = kinds == {int} and any(abs(value or 0) >= 1 << 63 for value in values)
    if len(kinds) > 1 or large:
        return [None if value is None else str(value) for value in values]
    return values


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """The fields that hold a text or a number."""
    return {name: value for name, value in values.items() if isinstance(value, (str, int, float))}


def _as_list(value: Any) -> list[Any]:
    """An answer, or several at once, as a list; one that is no label or number is none."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, (str, int, float))]


# ---- Label Studio --------------------------------------------------------------------------------


def _label_studio_rows(task: dict[str, Any], machines: bool) -> Iterator[Row]:
    annotations = [each for each in task["annotations"] if not each.get("was_cancelled")]
    known: Answers = {}
    for each in annotations:
        if each.get("ground_truth"):
            known |= _results(each)
    votes = [each for each in annotations if not each.get("ground_truth")]
    voters = [(_annotator(each["completed_by"]), _results(each)) for each in votes]
    if not votes:  # no object is lost
        voters = [(_annotator(each["completed_by"]), {}) for each in annotations]
    for each in (task.get("predictions") or ()) if machines else ():
        voters.append((str(each.get("model_version") or "prediction"), _results(each)))
    for voter, answers in voters:
        fields = _plain(task.get("data") or {}) | {"id": task["id"], "annotator": voter}
        yield fields, answers, known


def _annotator(by: Any) -> str:
    """The name of an annotator, who is a number, or a dict if the export has users in full."""
    return str(by.get("email", by.get("id")) if isinstance(by, dict) else by)


def _results(annotation: dict[str, Any]) -> Answers:
    """The answers about a task as a whole; those about a region of it also have a place."""
    answers: Answers = {}
    for result in annotation.get("result") or ():
        key, value = ANSWERS.get(result.get("type")), result.get("value") or {}
        if set(value) == {key}:
            answers.setdefault(result["from_name"], []).extend(_as_list(value[key]))
    return answers


# ---- Argilla -------------------------------------------------------------------------------------


def _argilla_rows(record: dict[str, Any], machines: bool) -> Iterator[Row]:
    fields = _plain((record.get("fields") or {}) | (record.get("metadata") or {}))
    said: dict[str, Answers] = {}
    for question, responses in (record["responses"] or {}).items():
        for each in responses:
            said.setdefault(str(each["user_id"]), {})[question] = _as_list(each["value"])
    for question, each in (record.get("suggestions") or {}).items() if machines else ():
        agent = str(each.get("agent") or "suggestion")
        said.setdefault(agent, {})[question] = _as_list(each["value"])
    for voter, answers in said.items():
        yield fields | {"id": record["id"], "annotator": voter}, answers, {}


TOOLS: dict[str, tuple[str, Callable[[dict[str, Any], bool], Iterator[Row]], str]] = {
    "label-studio": ("Label Studio", _label_studio_rows, "Export it as JSON."),
    "argilla": ("Argilla", _argilla_rows, "Export it by dataset.records.to_json(path)."),
}


# ---- the way back --------------------------------------------------------------------------------

VERSION = "ec3learn"  # the name of the model that predicted


def label_studio_predictions(
    consensus: Consensus, source: Any, question: str, n: int | None = None
) -> list[dict[str, Any]]:
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
) -> list[dict[str, Any]]:
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


def _items(source: Any) -> list[dict[str, Any]]:
    """The tasks or records in a file, in its content as bytes, or those passed."""
    source = Path(source).read_bytes() if isinstance(source, (str, PathLike)) else source
    items = json.loads(source) if isinstance(source, bytes) else source
    return [items] if isinstance(items, dict) else list(items)


def _answered(
    consensus: Consensus, items: list[dict[str, Any]], n: int | None
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
