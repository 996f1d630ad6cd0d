"""What each engine does in its own way: a left join in which nulls match nulls, a hash of some columns, a function per part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from importlib import import_module
from itertools import chain
from operator import and_
from typing import Any, Literal
from uuid import uuid4

import narwhals.stable.v2 as nw

from .._checks import InputError
from .._files import temporary_folder

Frame = Any  # a DataFrame or LazyFrame of narwhals

OURS = "__ec3learn_"  # how the names of our columns begin, until they are dropped again
COUNT, HASH, FIRST = f"{OURS}count", f"{OURS}hash", f"{OURS}first"


@dataclass(frozen=True)
class Engine:
    """The library in which its rows come to this process, its left join, and how it adds a hash of some columns.

    Where it works in Python anyway, `map_parts` lets a function of ours add columns (given as empty
    ones) to each part of a table, and `together` puts all rows that agree in a column into one
    part. Where texts that differ may count as equal, `exact` returns a table in which they do not.
    `count` counts distinct rows quicker than narwhals does. `read` brings the rows of a table to
    this process some at a time, in their order.
    """

    backend: Literal["pandas", "polars", "pyarrow"]
    join: Callable[[Any, Any, list[str]], Any]
    add_hash: Callable[[Any, list[str]], Any]
    map_parts: Callable[[Any, Callable[[Any], Any], list[Any]], Any] | None = None
    together: Callable[[Any, str], Any] | None = None
    exact: Callable[[Any], Any] | None = None
    count: Callable[[Any, list[str], str | None], Any] | None = None
    read: Callable[[Any, int], Iterator[Any]] | None = None


def collect(frame: Frame) -> Frame:
    """Bring rows to this process; polars streams, which takes less memory."""
    return (
        frame.collect(engine="streaming") if frame.implementation.is_polars() else frame.collect()
    )


def read_parts(frame: Frame, size: int, together: str | None = None) -> Iterator[Frame]:
    """Bring rows to this process some at a time; with a column, sorted by it, all rows that agree in it come at once."""
    read = ENGINES[frame.implementation].read
    assert read is not None
    ordered = frame if together is None else frame.sort(together)
    held = [collect(ordered.head(0))]
    for part in map(nw.from_native, read(ordered.to_native(), size)):
        part = nw.concat([*held, part], how="vertical")
        n_whole = len(part) if together is None else _n_before_last(part.get_column(together))
        held = [part[n_whole:]] if n_whole < len(part) else []
        if n_whole:
            yield part[:n_whole]
    yield from held


def _n_before_last(column: Any) -> int:
    """Return how many values a sorted column has before those that equal its last one."""
    last = column[-1]
    return len(column) - int(
        (column.is_null() if last is None else (column == last).fill_null(False)).sum()
    )


def keep(parts: Iterator[Frame], folder: str | None = None) -> Frame:
    """Put parts together: in memory, or those of Arrow in a file that is gone when nobody reads it any more."""
    first = next(parts)
    if not first.implementation.is_pyarrow():
        return nw.concat([first, *parts], how="vertical")
    import pyarrow as pa

    with temporary_folder(folder) as place:
        path = str(place / "kept")
        with (
            pa.OSFile(path, "wb") as file,
            pa.ipc.new_file(file, first.to_native().schema) as writer,
        ):
            for part in chain([first], parts):
                writer.write_table(part.to_native())
        return nw.from_native(pa.ipc.open_file(pa.memory_map(path)).read_all())


def count_rows(frame: Frame, keys: list[str], row: str | None = None) -> Frame:
    """Return the distinct rows of the keys, how often each occurs and, if a column numbers the rows, the first of each."""
    count = ENGINES[frame.implementation].count
    if count is not None:
        return nw.from_native(count(frame.to_native(), keys, row))
    plain = {
        key: _key(i) for i, key in enumerate(keys)
    }  # names with a dot in them mean something else to some engines
    numbers = [] if row is None else [nw.col(row).alias(FIRST)]
    chosen = frame.select(*(nw.col(key).alias(name) for key, name in plain.items()), *numbers)
    grouped = chosen.group_by(list(plain.values())).agg(
        nw.len().alias(COUNT), *(nw.col(FIRST).min() for _ in numbers)
    )
    return grouped.rename({name: key for key, name in plain.items()})


def small_table(frame: Frame, columns: Mapping[str, Any]) -> Frame:
    """Return a table of ours that can be joined to this one."""
    return nw.from_dict(dict(columns), backend=ENGINES[frame.implementation].backend)


def exact(frame: Frame) -> Frame:
    """Return a lazy table in which texts are equal only if all their characters are, whatever the engine was told."""
    rewrite = ENGINES[frame.implementation].exact
    return frame if rewrite is None else nw.from_native(rewrite(frame.to_native()))


def join(frame: Frame, answers: Frame, keys: list[str]) -> Frame:
    """Add the columns of `answers` to the rows with the same keys; nulls match nulls, and nothing else changes.

    Two answers with the same keys would multiply rows, so they are an error, here or when the
    engine runs.
    """
    return nw.from_native(
        ENGINES[frame.implementation].join(frame.to_native(), answers.to_native(), keys)
    )


def _require_unique(n_answers: int, n_keys: int) -> None:
    if n_keys < n_answers:
        raise RuntimeError(f"{n_answers - n_keys:,} rows would have more than one answer.")


def add_hash(frame: Frame, keys: list[str]) -> Frame:
    """Add a column with a hash of the keys, the same in every run."""
    return nw.from_native(ENGINES[frame.implementation].add_hash(frame.to_native(), keys))


# ---- polars --------------------------------------------------------------------------------------


def _join_polars(table: Any, answers: Any, keys: list[str]) -> Any:
    checked = hasattr(answers, "n_unique")  # here, for polars joins in memory if it is to validate
    if checked:
        _require_unique(len(answers), answers.n_unique(keys))
    validate = "m:m" if checked else "m:1"
    return table.join(
        answers.lazy(),
        on=keys,
        how="left",
        nulls_equal=True,
        maintain_order="left",
        validate=validate,
    )


def _hash_polars(table: Any, keys: list[str]) -> Any:
    return table.with_columns(import_module("polars").struct(keys).hash(0).alias(HASH))


def _map_polars(table: Any, function: Callable[[Any], Any], added: list[Any]) -> Any:
    schema = table.collect_schema() | {column.name: column.dtype for column in added}
    pushed = {
        "predicate_pushdown": False,
        "projection_pushdown": False,
    }  # the function needs all columns
    return table.map_batches(function, schema=schema, streamable=True, **pushed)


def _read_polars(table: Any, size: int) -> Iterator[Any]:
    return table.collect_batches(chunk_size=size, maintain_order=True)


# ---- DuckDB --------------------------------------------------------------------------------------


def _join_duckdb(table: Any, answers: Any, keys: list[str]) -> Any:
    """Join on the connection that the relation belongs to, which only the relation knows."""
    from_arrow = type(answers) is not type(table)
    right = _on_connection(table, answers) if from_arrow else answers
    keyed = [f"{quoted(key)} AS {quoted(_key(i))}" for i, key in enumerate(keys)]
    added = [quoted(name) for name in right.columns if name not in keys]
    right = right.project(", ".join([*keyed, *added]))
    ours = _exact_sql(right, [_key(i) for i in range(len(keys))])
    if from_arrow:
        _require_unique(
            len(answers), right.project(", ".join(ours)).distinct().count("*").fetchall()[0][0]
        )
    same = [
        f"{key} IS NOT DISTINCT FROM {our}"
        for key, our in zip(_exact_sql(table, keys), ours, strict=True)
    ]
    both = table.set_alias("l").join(right.set_alias("r"), " AND ".join(same), how="left")
    return both.project(", ".join([*map(quoted, table.columns), *added]))


def _project_exactly(table: Any, names: list[str] | None = None, *more: str) -> Any:
    """Return some columns, by default all, with texts that are compared byte by byte."""
    names = table.columns if names is None else names
    chosen = (
        f"{sql} AS {quoted(name)}"
        for sql, name in zip(_exact_sql(table, names), names, strict=True)
    )
    return table.project(", ".join([*chosen, *more]))


def _exact_sql(table: Any, names: list[str]) -> list[str]:
    """Return the SQL of columns whose texts are compared byte by byte, also where a collation ignores case or accents."""
    kinds = dict(zip(table.columns, table.types, strict=True))
    return [
        f"({quoted(name)} COLLATE C)" if kinds[name] == "VARCHAR" else quoted(name)
        for name in names
    ]


def _count_duckdb(table: Any, keys: list[str], row: str | None) -> Any:
    """Count in SQL: an expression per column, as narwhals makes them, takes time that grows with the square of the columns."""
    numbers = [] if row is None else [f"{quoted(row)} AS {FIRST}"]
    chosen, by = _project_exactly(table, keys, *numbers), ", ".join(map(quoted, keys))
    return chosen.aggregate(
        ", ".join([by, f"count(*) AS {COUNT}", *(f"min({FIRST}) AS {FIRST}" for _ in numbers)]), by
    )


def _read_duckdb(table: Any, size: int) -> Iterator[Any]:
    from_batches = import_module("pyarrow").Table.from_batches
    with table.to_arrow_reader(size) as batches:
        for batch in batches:
            yield from_batches([batch])


SEES_VARIABLES = "python_enable_replacements"  # a setting of DuckDB


def _on_connection(table: Any, answers: Any) -> Any:
    """Return an Arrow table as a relation on the connection of another.

    A relation does not tell its connection, but `query` runs on it, and there DuckDB finds an Arrow
    table by the name of the Python variable that holds it, if it may. The user's tables come first,
    so the variable has a name that no table has.
    """
    name = f"{OURS}{uuid4().hex}"
    variables = {
        "table": table,
        "view": f"{name}_view",
        "sql": f"SELECT * FROM {name}",
        name: answers,
    }
    with _seeing_variables(table, name):
        relation = eval("table.query(view, sql)", variables)
    table.query(name, f"DROP VIEW IF EXISTS {name}_view")  # which older versions leave behind
    return relation


@contextmanager
def _seeing_variables(table: Any, name: str) -> Iterator[None]:
    """Let DuckDB find Python variables, as long as this lasts."""
    if table.query(name, f"SELECT current_setting('{SEES_VARIABLES}')").fetchall()[0][0]:
        yield
        return
    try:
        table.query(name, f"SET {SEES_VARIABLES} = true")
    except import_module("duckdb").Error:  # the configuration is locked
        raise InputError(
            "table",
            f"must be on a connection with {SEES_VARIABLES} = true, or one whose settings can change",
        ) from None
    try:
        yield
    finally:
        table.query(name, f"SET {SEES_VARIABLES} = false")


def _hash_duckdb(table: Any, keys: list[str]) -> Any:
    return table.project(f"*, hash({', '.join(map(quoted, keys))}) AS {quoted(HASH)}")


def quoted(name: str) -> str:
    """Return a column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


# ---- Spark ---------------------------------------------------------------------------------------


def _join_spark(table: Any, answers: Any, keys: list[str]) -> Any:
    """Broadcast answers of ours to every worker; the rows stay where they are."""
    functions = import_module("pyspark.sql.functions")
    if not hasattr(answers, "sparkSession"):
        _require_unique(len(answers), len(answers.group_by(keys).aggregate([])))
        answers = functions.broadcast(table.sparkSession.createDataFrame(answers))
    renamed = answers.withColumnsRenamed({key: _key(i) for i, key in enumerate(keys)})
    same = [table[_backticked(key)].eqNullSafe(renamed[_key(i)]) for i, key in enumerate(keys)]
    return table.join(renamed, reduce(and_, same), "left").drop(*map(_key, range(len(keys))))


def _hash_spark(table: Any, keys: list[str]) -> Any:
    functions = import_module("pyspark.sql.functions")
    return table.withColumn(HASH, functions.xxhash64(*(table[_backticked(key)] for key in keys)))


def _backticked(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# ---- Dask ----------------------------------------------------------------------------------------


def _join_dask(table: Any, answers: Any, keys: list[str]) -> Any:
    """Join each partition by itself, which keeps its index and its order; pandas matches nulls with nulls."""
    added = {name: column.iloc[:0].array for name, column in answers.items() if name not in keys}
    return table.map_partitions(
        partial(_join_partition, answers=answers, keys=keys), meta=_dask_meta(table).assign(**added)
    )


def _join_partition(part: Any, answers: Any, keys: list[str]) -> Any:
    both = part[keys].merge(answers, on=keys, how="left", validate="many_to_one")
    return part.assign(**{name: both[name].array for name in answers.columns if name not in keys})


def _dask_meta(table: Any) -> Any:
    """Return an empty pandas table with the columns and the index of a Dask table."""
    return import_module("dask.dataframe.utils").make_meta(table)


def _hash_dask(table: Any, keys: list[str]) -> Any:
    return table.map_partitions(
        _hash_partition, keys, meta=_hash_partition(_dask_meta(table), keys)
    )


def _hash_partition(part: Any, keys: list[str]) -> Any:
    return part.assign(
        **{HASH: import_module("pandas.util").hash_pandas_object(part[keys], index=False)}
    )


def _map_dask(table: Any, function: Callable[[Any], Any], added: list[Any]) -> Any:
    return table.map_partitions(
        function, meta=_dask_meta(table).assign(**{column.name: column.array for column in added})
    )


def _key(number: int) -> str:
    """Return the name that a key of the answers has, so that it differs from those of the table."""
    return f"{OURS}key{number}"


ENGINES = {
    nw.Implementation.POLARS: Engine(
        "polars", _join_polars, _hash_polars, _map_polars, read=_read_polars
    ),
    nw.Implementation.DUCKDB: Engine(
        "pyarrow",
        _join_duckdb,
        _hash_duckdb,
        exact=_project_exactly,
        count=_count_duckdb,
        read=_read_duckdb,
    ),
    nw.Implementation.DASK: Engine(
        "pandas", _join_dask, _hash_dask, _map_dask, lambda table, column: table.shuffle(column)
    ),
    nw.Implementation.PYSPARK: Engine("pyarrow", _join_spark, _hash_spark),
    nw.Implementation.PYSPARK_CONNECT: Engine("pyarrow", _join_spark, _hash_spark),
}
