"""Result files of promptfoo and deepeval become long tables, with one row per judgement.

Both are plain JSON, which the standard library reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from .._checks import InputError
from .._table import Table

__all__ = ["read_deepeval", "read_promptfoo"]

COLUMNS = ("object", "metric", "judge", "passed", "score")
Row = tuple[Any, ...]


def read_promptfoo(*files: str | PathLike[str], backend: Any = "pandas") -> Any:
    """Read what `promptfoo eval -o results.json` wrote as a table with one row per assertion.

    Parameters
    ----------
    files : paths
        Files that end in .json or .jsonl.
    backend : str
        The library of the dataframe: "pandas", "polars", "pyarrow", ...

    Returns
    -------
    dataframe
        The columns `object` (one answer of a model: the numbers of test and prompt), `metric`,
        `judge`, `passed`, `score` and `model`. The judge is the provider that grades. Where an
        assertion names no metric or provider, its type is in the column, such as "contains". A
        grader that failed has no row.
    """
    return _table(files, "promptfoo", _of_promptfoo, (*COLUMNS, "model"), backend)


def read_deepeval(*files: str | PathLike[str], backend: Any = "pandas") -> Any:
    """Read what deepeval wrote into `DEEPEVAL_RESULTS_FOLDER` as a table with one row per metric.

    Parameters
    ----------
    files : paths
        Files that end in .json, or folders with such files.
    backend : str
        The library of the dataframe: "pandas", "polars", "pyarrow", ...

    Returns
    -------
    dataframe
        The columns `object` (the name of the test case), `metric`, `judge` (the model that
        evaluates, or else the metric), `passed` and `score`. A metric that failed has no row.
    """
    folders = [Path(file) for file in files]
    paths = [p for f in folders for p in (sorted(f.glob("*.json")) if f.is_dir() else [f])]
    return _table(paths, "deepeval", _of_deepeval, COLUMNS, backend)


def _table(
    files: Iterable[str | PathLike[str]],
    tool: str,
    rows_of: Callable[[list[Any]], Iterator[Row]],
    columns: tuple[str, ...],
    backend: Any,
) -> Any:
    rows: list[Row] = []
    for file in map(Path, files):
        text = file.read_text(encoding="utf-8")
        parts = text.strip().split("\n") if file.suffix == ".jsonl" else [text]
        try:
            rows += rows_of([json.loads(part) for part in parts])
        except (KeyError, TypeError, AttributeError, ValueError):
            phrase = f"{file} must have results of {tool}, as JSON"
            raise InputError("files", phrase=phrase) from None
    return Table.of(columns, rows).to_frame(backend)


def _of_promptfoo(parts: list[Any]) -> Iterator[Row]:
    results = parts[0]["results"]["results"] if "results" in parts[0] else parts
    for result in results:
        place, model = f"{result['testIdx']} {result['promptIdx']}", result["provider"]["id"]
        for each in (result.get("gradingResult") or {}).get("componentResults") or []:
            about = each.get("assertion")  # a set of assertions has none of its own
            if about and not (each.get("metadata") or {}).get("graderError"):
                judge = about.get("provider") or about["type"]
                judge = judge.get("id", about["type"]) if isinstance(judge, dict) else judge
                metric = about.get("metric") or about["type"]
                yield place, metric, judge, each["pass"], each["score"], model


def _of_deepeval(parts: list[Any]) -> Iterator[Row]:
    (run,) = parts
    for case in run["testCases"] + run.get("conversationalTestCases", []):
        for each in case.get("metricsData") or []:
            if each.get("error") is None:
                judge = each.get("evaluationModel") or each["name"]
                yield case["name"], each["name"], judge, each["success"], each.get("score")
