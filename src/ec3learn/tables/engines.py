"""Lazy engines: they count distinct rows, and join them with their answers.

narwhals counts; its joins match no nulls, so each engine joins in its own words. In all joins here
nulls match nulls, and a row without an answer stays.
"""

from __future__ import annotations

from functools import partial, reduce
from importlib import import_module
from operator import and_
from typing import Any

import narwhals.stable.v2 as nw

Frame = Any  # a DataFrame or LazyFrame of narwhals

OURS = "__ec3learn_"  # how the names of our columns begin, until they are dropped again
COUNT, FIRST = f"{OURS}count", f"{OURS}first"


def collect(frame: Frame) -> Frame:
    """Bring rows to this process; polars streams, which takes less memory."""
    how = {"engine": "streaming"} if frame.implementation.is_polars() else {}
    return nw.maybe_reset_index(frame.collect(**how))  # that of Dask repeats itself


def count_rows(frame: Frame, keys: list[str], row: str | None = None) -> Frame:
    """Count the distinct rows of the keys; if a column numbers the rows, find the first of each."""
    plain = {_key(i): key for i, key in enumerate(keys)}  # some engines read dots in names
    chosen = {name: nw.col(key) for name, key in plain.items()}
    first = {} if row is None else {FIRST: nw.col(row)}
    return (
        frame.select(**chosen, **first)
        .group_by(list(plain), drop_null_keys=False)
        .agg(nw.len().alias(COUNT), *(nw.col(name).min() for name in first))
        .rename(plain)
    )


def join(frame: Frame, answers: Frame, keys: list[str]) -> Frame:
    """Add the columns of a table in memory to the rows of a lazy table with the same keys."""
    return nw.from_native(JOINS[frame.implementation](frame.to_native(), answers.to_native(), keys))


def _join_polars(table: Any, answers: Any, keys: list[str]) -> Any:
    return table.join(answers.lazy(), on=keys, how="left", nulls_equal=True, maintain_order="left")


def _join_dask(table: Any, answers: Any, keys: list[str]) -> Any:
    """Join each partition by itself, which keeps its index and its order."""
    empty = import_module("dask.dataframe.utils").make_meta(table)
    added = {name: column.iloc[:0].array for name, column in answers.items() if name not in keys}
    return table.map_partitions(
        partial(_join_partition, answers=answers, keys=keys), meta=empty.assign(**added)
    )


def _join_partition(part: Any, answers: Any, keys: list[str]) -> Any:
    both = part[keys].merge(answers, on=keys, how="left", validate="many_to_one")
    return part.assign(**{name: both[name].array for name in answers.columns if name not in keys})


def _join_spark(table: Any, answers: Any, keys: list[str]) -> Any:
    """Broadcast the answers to every worker; the rows stay where they are."""
    functions = import_module("pyspark.sql.functions")
    answers = functions.broadcast(table.sparkSession.createDataFrame(answers))
    answers = answers.withColumnsRenamed({key: _key(i) for i, key in enumerate(keys)})
    same = [table[f"`{key}`"].eqNullSafe(answers[_key(i)]) for i, key in enumerate(keys)]
    return table.join(answers, reduce(and_, same), "left").drop(*map(_key, range(len(keys))))


def _join_duckdb(table: Any, answers: Any, keys: list[str]) -> Any:
    added = [quoted(name) for name in answers.column_names if name not in keys]
    keyed = [f"{quoted(key)} AS {_key(i)}" for i, key in enumerate(keys)]
    right = on_connection(table, answers).project(", ".join([*keyed, *added])).set_alias("r")
    same = [f"l.{quoted(key)} IS NOT DISTINCT FROM r.{_key(i)}" for i, key in enumerate(keys)]
    both = table.set_alias("l").join(right, " AND ".join(same), how="left")
    return both.project(", ".join([*map(quoted, table.columns), *added]))


def on_connection(table: Any, answers: Any) -> Any:
    """Make an Arrow table a relation on the connection of another relation.

    A relation does not tell its connection, but `query` runs on it, and there DuckDB finds an Arrow
    table by the name of the Python variable that holds it.
    """
    ec3learn_answers_in_arrow = answers  # noqa: F841
    return table.query(f"{OURS}view", "SELECT * FROM ec3learn_answers_in_arrow")


def quoted(name: str) -> str:
    """Write a column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def _key(number: int) -> str:
    """Name a key of the answers so that it differs from the columns of the table."""
    return f"{OURS}key{number}"


JOINS = {
    nw.Implementation.POLARS: _join_polars,
    nw.Implementation.DUCKDB: _join_duckdb,
    nw.Implementation.DASK: _join_dask,
    nw.Implementation.PYSPARK: _join_spark,
    nw.Implementation.PYSPARK_CONNECT: _join_spark,
}
