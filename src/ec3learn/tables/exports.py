"""Exports of annotation tools become long tables: one row per annotator and object, with a column for each question.

Label Studio and Argilla export plain JSON (and CSV), which the standard library reads. Their own
libraries talk to their servers, and have nothing that makes such a table.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from .._checks import InputError
from .._table import Table
from .._text import count, first_line
from .columns import dataset_as_arrow, is_dataset

ANSWERS = {
    "choices": "choices",
    "rating": "rating",
    "number": "number",
    "pairwise": "selected",
}  # Label Studio: type -> key
KNOWN = "_known"
LARGEST = 1 << 63


def read_label_studio(source: Any, *, predictions: bool = False, backend: Any = "pandas") -> Any:
    """Read an export of Label Studio as a long table with one row per annotation.

    Parameters
    ----------
    source : path, or list of tasks
        A file exported as JSON, JSON-MIN or CSV, or the tasks in it.
    predictions : bool
        Also take the predictions of models as votes; the voter is the version of the model. Only
        JSON has them.
    backend : str
        The library of the dataframe: "pandas", "polars", "pyarrow", ...

    Returns
    -------
    dataframe
        The columns `id` (of the task), `annotator`, one for each question that is answered by a
        choice, rating, number or comparison, and one for each plain value in the task's data. A
        question with several choices at once has a column of bools for each choice, such as
        `topics=sport`. Skipped annotations are left out. A ground truth is no vote: it is in the
        column `<question>_known`, in all rows of its task.

    Examples
    --------
    >>> from ec3learn import combine, read_label_studio
    >>> def says(label):
    ...     return [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [label]}}]
    >>> tasks = [{"id": 1, "data": {"text": "fine"}, "annotations": [
    ...     {"completed_by": 7, "result": says("good")}, {"completed_by": 8, "result": says("good")}]}]
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
    source : path, list of records, or Dataset of Hugging Face
        What `dataset.records` of Argilla exports by `to_json`, `to_list` or `to_datasets`. The
        first has no status of responses, so that drafts and discarded responses count;
        `to_list(flatten=True)` and `to_datasets` have it, and only submitted responses are taken.
    suggestions : bool
        Also take suggestions as votes; the voter is the agent.
    backend : str
        The library of the dataframe: "pandas", "polars", "pyarrow", ...

    Returns
    -------
    dataframe
        The columns `id` (of the record), `annotator` (the user's id), one for each question, and
        one for each plain value in the fields and metadata. A question with several labels at once
        has a column of bools for each label, such as `topics=sport`.

    Examples
    --------
    >>> from ec3learn import read_argilla
    >>> responses = {"mood": [{"value": "good", "user_id": "ann"}, {"value": "bad", "user_id": "bob"}]}
    >>> read_argilla([{"id": "a", "fields": {"text": "fine"}, "responses": responses}]).values.tolist()
    [['fine', 'a', 'ann', 'good'], ['fine', 'a', 'bob', 'bad']]
    """
    return _read("argilla", source, suggestions, backend)


def _read(tool: str, source: Any, machines: bool, backend: Any) -> Any:
    name = "source"
    if isinstance(source, (str, PathLike)):
        name, source = str(source), Path(source).read_bytes()
    elif is_dataset(source):
        source = dataset_as_arrow(source).to_pylist()
    return Table(export_columns(tool, source, name, machines)).to_frame(backend)


def export_columns(
    tool: str, source: Any, name: str, machines: bool = False
) -> dict[str, list[Any]]:
    """Return the long table of an export as columns; `source` is the content of a file, or the items in it."""
    title, parse, rows_of, remedy = TOOLS[tool]
    try:
        text = source.decode("utf-8-sig") if isinstance(source, bytes) else source
        items = parse(text) if isinstance(text, str) else text
    except (ValueError, RecursionError, csv.Error) as error:
        raise InputError(
            "source", phrase=f"{name} cannot be read as an export of {title}: {first_line(error)}"
        ) from None
    rows: list[Row] = []
    n_items = 0
    try:
        for item in [items] if isinstance(items, dict) else items:
            rows += rows_of(item, machines)
            n_items += 1
    except (KeyError, TypeError, AttributeError, ValueError):
        phrase = f"{name} must be an export of {title}, but item {n_items} in it is not as {title} writes it"
        raise InputError("source", phrase=phrase, remedy=remedy) from None
    if not any(row.answers or row.known for row in rows):
        phrase = f"{name} must have annotations with labels or ratings, got {count(n_items, 'item')} without any"
        raise InputError("source", phrase=phrase, remedy=remedy)
    return _columns(rows)


# ---- rows ----------------------------------------------------------------------------------------


@dataclass
class Row:
    """What one annotator said about one object: all answers to each question, and those that are known to be right."""

    fields: dict[str, Any]
    answers: dict[str, list[Any]]
    known: dict[str, list[Any]] = field(default_factory=dict)


def _columns(rows: list[Row]) -> dict[str, list[Any]]:
    """Return rows as columns; a question with several answers at once has one column per answer."""
    columns = {
        name: [row.fields.get(name) for row in rows] for name in _keys(row.fields for row in rows)
    }
    said = [(row.answers, "") for row in rows] + [(row.known, KNOWN) for row in rows]
    for question in _keys(answers for answers, _ in said):
        several = any(len(answers.get(question, ())) > 1 for answers, _ in said)
        options = (
            sorted({answer for answers, _ in said for answer in answers.get(question, ())}, key=str)
            if several
            else []
        )
        for kind in ("", KNOWN):
            column = [answers.get(question) or None for answers, its in said if its == kind]
            if several:
                for option in options:
                    columns[f"{question}={option}{kind}"] = [
                        found and option in found for found in column
                    ]
            else:
                columns[question + kind] = [found and found[0] for found in column]
    return {
        name: _of_one_type(column)
        for name, column in columns.items()
        if any(value is not None for value in column)
    }


def _keys(dicts: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for each in dicts for key in each))


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return values as they are if dataframes have a type for all of them, or else as text."""
    kinds = {type(value) for value in values if value is not None}
    large = int in kinds and any(
        abs(value) >= LARGEST for value in values if isinstance(value, int)
    )
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    if len(kinds) > 1 or large:
        return [None if value is None else str(value) for value in values]
    return values


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if _is_plain(value)}


def _as_list(value: Any) -> list[Any]:
    """Return an answer, or several at once, as a list; one that is no label or number is none."""
    return [each for each in (value if isinstance(value, list) else [value]) if _is_plain(each)]


# ---- Label Studio --------------------------------------------------------------------------------


def _parse_label_studio(text: str) -> Any:
    """Return the tasks of JSON, or the annotations of JSON-MIN or CSV."""
    if text.lstrip().startswith(("[", "{")):
        return json.loads(text)
    return [
        {name: value or None for name, value in row.items()}
        for row in csv.DictReader(io.StringIO(text))
    ]


def _label_studio_rows(task: dict[str, Any], machines: bool) -> Iterator[Row]:
    if "annotator" in task:
        yield _flat_row(task)
        return
    annotations = [each for each in task["annotations"] if not each.get("was_cancelled")]
    known: dict[str, list[Any]] = {}
    for each in annotations:
        if each.get("ground_truth"):
            known |= _results(each)
    votes = [
        each for each in annotations if not each.get("ground_truth")
    ] or annotations  # no object is lost
    voters = [(_annotator(each["completed_by"]), each) for each in votes]
    if machines:
        voters += [
            (str(each.get("model_version") or "prediction"), each)
            for each in task.get("predictions") or ()
        ]
    for voter, each in voters:
        fields = _plain(task.get("data") or {}) | {"id": task["id"], "annotator": voter}
        yield Row(fields, {} if each.get("ground_truth") else _results(each), known)


def _annotator(completed_by: Any) -> str:
    """Return the name of an annotator, who is a number, or a dict if the export has users in full."""
    return str(
        completed_by.get("email", completed_by.get("id"))
        if isinstance(completed_by, dict)
        else completed_by
    )


def _results(annotation: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the answers about a task as a whole; those about a region of it also have a place."""
    answers: dict[str, list[Any]] = {}
    for result in annotation.get("result") or ():
        key, value = ANSWERS.get(result.get("type")), result.get("value") or {}
        if set(value) == {key}:
            answers.setdefault(result["from_name"], []).extend(_as_list(value[key]))
    return answers


def _flat_row(annotation: dict[str, Any]) -> Row:
    """Return an annotation of JSON-MIN, where a choice is a plain value, and any other answer as in JSON; in CSV as text."""
    row = Row({}, {})
    for name, value in annotation.items():
        decoded = _decoded(value)
        results = decoded if isinstance(decoded, list) else [decoded]
        found = [
            each[key]
            for each in results
            if isinstance(each, dict)
            for key in ANSWERS.values()
            if set(each) == {key}
        ]
        if found:
            row.answers[name] = [answer for each in found for answer in _as_list(each)]
        elif _is_plain(value):
            row.answers[name] = [value]
    row.fields = {"id": row.answers.pop("id")[0], "annotator": str(row.answers.pop("annotator")[0])}
    return row


def _decoded(value: Any) -> Any:
    """Return what is JSON in a field of a CSV file, and anything else as it is."""
    try:
        return (
            json.loads(value) if isinstance(value, str) and value.startswith(("[{", "{")) else value
        )
    except (ValueError, RecursionError):
        return value


# ---- Argilla -------------------------------------------------------------------------------------


def _argilla_rows(record: dict[str, Any], machines: bool) -> Iterator[Row]:
    record = record if "responses" in record else _nested(record)
    fields = _plain((record.get("fields") or {}) | (record.get("metadata") or {}))
    fields = {
        name: value for name, value in fields.items() if name not in ("id", "status", "_server_id")
    }
    said: dict[str, dict[str, list[Any]]] = {}
    for question, given in (record["responses"] or {}).items():
        for each in given:
            if each.get("status") in (None, "submitted"):
                said.setdefault(str(each["user_id"]), {})[question] = _as_list(each["value"])
    for question, each in (record.get("suggestions") or {}).items() if machines else ():
        said.setdefault(str(each.get("agent") or "suggestion"), {})[question] = _as_list(
            each["value"]
        )
    for voter, answers in said.items():
        yield Row(fields | {"id": record["id"], "annotator": voter}, answers)


def _nested(record: dict[str, Any]) -> dict[str, Any]:
    """Return a flat record, whose columns are named after question and part, as one that is not."""
    responses, suggestions = {}, {}
    for name, value in record.items():
        question, _, part = name.rpartition(".")
        if part == "responses":
            users, status = (record.get(f"{name}.{of}") or [] for of in ("users", "status"))
            given = zip(value or [], users, status, strict=True)
            responses[question] = [
                {"value": said, "user_id": user, "status": state} for said, user, state in given
            ]
        elif part == "suggestion" and value is not None:
            suggestions[question] = {"value": value, "agent": record.get(f"{name}.agent")}
    fields = {name: value for name, value in record.items() if ".suggestion" not in name}
    return {
        "id": record["id"],
        "fields": fields,
        "responses": responses,
        "suggestions": suggestions,
    }


TOOLS: dict[
    str, tuple[str, Callable[[str], Any], Callable[[dict[str, Any], bool], Iterator[Row]], str]
] = {
    "label-studio": (
        "Label Studio",
        _parse_label_studio,
        _label_studio_rows,
        "Export it as JSON, JSON-MIN or CSV.",
    ),
    "argilla": (
        "Argilla",
        json.loads,
        _argilla_rows,
        "Export it by dataset.records.to_json(path).",
    ),
}
