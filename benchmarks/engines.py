"""Time and memory of `ec3learn.combine` on each kind of table, compared with a group-by and join by the engine itself.

    python benchmarks/engines.py [ENGINE ...] [--rows 5_000_000] [--folder /tmp] [--max-rows 10_000]
    [--ours]

The table has the columns of `out_of_core.py` and 100,000 distinct rows. Tables in memory are loaded
before the clock starts; lazy tables are read from Parquet and written to Parquet. The engine alone
groups by the twelve columns, counts, and joins the count back; it does less, because it solves
nothing. Each runs in its own process, in turn. Seconds are those of the processor, on all cores and
for Spark with its Java process; "peak" is the memory of this process (for Spark, without its Java
process), and "moved" is what the engine sends to it, as Arrow counts it. With `--ours`, the engine
alone is left out.

With `--max-rows`, lazy tables are combined again with only so many distinct rows solved: the most
frequent ones; the share of rows that get another label is printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from out_of_core import NAMES, make

N_DISTINCT = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("engines", nargs="*", help=", ".join(ENGINES))
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--folder", default=None)
    parser.add_argument(
        "--max-rows", type=int, default=None, help="also solve only so many distinct rows"
    )
    parser.add_argument("--ours", action="store_true", help="leave the engine alone out")
    parser.add_argument(
        "--only", nargs=4, metavar=("ENGINE", "WHO", "IN", "OUT"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.only:
        engine, who, source, target = options.only
        print(*measured(*ENGINES[engine], who, source, target, options.max_rows))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder, "votes.parquet")
        make(path, options.rows, N_DISTINCT)
        print(f"{options.rows:,} rows x {len(NAMES)} columns, {N_DISTINCT:,} distinct rows")
        print(
            "| engine | its own group by and join, s | combine, s | ratio | peak, MB | moved, MB |\n|---|---|---|---|---|---|"
        )
        for engine in options.engines or ENGINES:
            own = (
                float("nan")
                if options.ours
                else fresh(engine, "own", path, Path(folder, f"{engine}-own"))[0]
            )
            ours, moved, peak = fresh(engine, "ours", path, Path(folder, f"{engine}-ours"))
            print(
                f"| {engine} | {own:.1f} | {ours:.1f} | {ours / own:.2f} | {peak:.0f} | {moved:.1f} |",
                flush=True,
            )
            if options.max_rows:
                whole, part = Path(folder, f"{engine}-whole"), Path(folder, f"{engine}-part")
                fresh(engine, "iec3", path, whole)
                took, moved, _ = fresh(engine, "iec3", path, part, options.max_rows)
                text = (
                    f"{options.max_rows:,} rows solved by iEC3: {took:.1f} s, {moved:.1f} MB moved"
                )
                print(
                    f"  {text}, {other_labels(whole, part):.2%} of the rows get another label",
                    flush=True,
                )


def other_labels(one: Path, other: Path) -> float:
    """Return the share of rows whose label differs, rows with the same votes being the same."""
    import duckdb

    files = [
        f"read_parquet('{path}/*.parquet')" if path.is_dir() else f"read_parquet('{path}')"
        for path in (one, other)
    ]
    keys = ", ".join(NAMES)
    labels = [
        f"SELECT {keys}, any_value(consensus) AS label, count(*) AS n FROM {file} GROUP BY {keys}"
        for file in files
    ]
    same = " AND ".join(f"l.{name} IS NOT DISTINCT FROM r.{name}" for name in NAMES)
    query = f"SELECT sum(l.n) FILTER (l.label <> r.label) / sum(l.n) FROM ({labels[0]}) l JOIN ({labels[1]}) r ON {same}"
    return float(duckdb.sql(query).fetchall()[0][0] or 0.0)


def fresh(
    engine: str, who: str, path: Path, out: Path, max_rows: int | None = None
) -> tuple[float, float, float]:
    """Return the seconds, the megabytes that came to it and the peak in megabytes of a process of its own."""
    command = [sys.executable, __file__, "--only", engine, who, str(path), str(out)]
    command += [] if max_rows is None else ["--max-rows", str(max_rows)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{engine} ({who}) failed.")
    seconds, moved = map(float, printed.split()[-2:])
    return seconds, moved, used.ru_maxrss / 1024


def measured(
    load: Callable[[str], Any],
    own: Callable[[Any], Any],
    finish: Callable[[Any, str], Any],
    who: str,
    source: str,
    target: str,
    max_rows: int | None,
) -> tuple[float, float]:
    """Return the seconds from a table to its answers in the same kind of table, and the megabytes that came here."""
    from ec3learn import EC3, Votes, combine
    from ec3learn.tables import content

    EC3().solve(Votes.from_labels({"warm": [0, 1]}))
    collect, moved = content.collect, [0]

    def counted(frame: Any) -> Any:
        found = collect(frame)
        moved[0] += found.to_arrow().nbytes
        return found

    content.collect = counted
    table = load(source)
    given: dict[str, Any] = {
        "method": "auto" if who == "ours" else who,
        "classifiers": "clf_*",
        "clusterings": "km_*",
    }
    given |= {} if max_rows is None else {"max_rows": max_rows}
    began = processor_seconds()
    finish(own(table) if who == "own" else combine(table, **given), target)
    return processor_seconds() - began, moved[0] / 1e6


def processor_seconds() -> float:
    """Return the seconds of processor that this process and those it started have taken."""
    ticks, started = 0, {os.getpid()}
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda folder: int(folder.name)):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[1]) in started:
            started.add(int(folder.name))
            ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


# ---- how each engine loads, groups and joins, and ends -------------------------------------------


def load_pandas(source: str) -> Any:
    import pandas as pd

    return pd.read_parquet(source)


def own_pandas(table: Any) -> Any:
    counts = table.groupby(NAMES, dropna=False, sort=False).size().reset_index(name="n")
    return table.merge(counts, on=NAMES, how="left")


def load_polars(source: str) -> Any:
    import polars as pl

    return pl.read_parquet(source)


def load_lazy_polars(source: str) -> Any:
    import polars as pl

    return pl.scan_parquet(source)


def own_polars(table: Any) -> Any:
    return table.join(table.group_by(NAMES).len(), on=NAMES, how="left", nulls_equal=True)


def load_arrow(source: str) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(source)


def own_arrow(table: Any) -> Any:
    return table.join(
        table.group_by(NAMES).aggregate([([], "count_all")]), keys=NAMES
    )  # null matches nothing


def load_duckdb(source: str) -> Any:
    import duckdb

    KEPT.append(duckdb.connect())
    return KEPT[-1].read_parquet(source)


def own_duckdb(table: Any) -> Any:
    keys = ", ".join(NAMES)
    same = " AND ".join(f"l.{name} IS NOT DISTINCT FROM r.{name}" for name in NAMES)
    counts = table.query("votes", f"SELECT {keys}, count(*) AS n FROM votes GROUP BY ALL")
    return table.set_alias("l").join(counts.set_alias("r"), same, how="left").project("l.*, r.n")


def load_dask(source: str) -> Any:
    import dask.dataframe as dd

    return dd.read_parquet(source, split_row_groups=4)


def own_dask(table: Any) -> Any:
    counts = table.groupby(NAMES, dropna=False, sort=False).size().compute().reset_index(name="n")
    return table.merge(counts, on=NAMES, how="left")


def load_spark(source: str) -> Any:
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
    )
    for name in ("bindAddress", "host"):
        builder = builder.config(f"spark.driver.{name}", "127.0.0.1")
    return builder.getOrCreate().read.parquet(source)


def own_spark(table: Any) -> Any:
    from functools import reduce
    from operator import and_

    from pyspark.sql.functions import broadcast

    counts = table.groupBy(*NAMES).count().withColumnsRenamed({name: f"_{name}" for name in NAMES})
    same = reduce(and_, (table[name].eqNullSafe(counts[f"_{name}"]) for name in NAMES))
    return table.join(broadcast(counts), same, "left").drop(*(f"_{name}" for name in NAMES))


def keep(table: Any, target: str) -> None:
    KEPT.append(table)


KEPT: list[Any] = []
ENGINES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "pandas": (load_pandas, own_pandas, keep),
    "polars": (load_polars, own_polars, keep),
    "pyarrow": (load_arrow, own_arrow, keep),
    "polars-lazy": (load_lazy_polars, own_polars, lambda table, target: table.sink_parquet(target)),
    "duckdb": (load_duckdb, own_duckdb, lambda table, target: table.write_parquet(target)),
    "dask": (load_dask, own_dask, lambda table, target: table.to_parquet(target)),
    "spark": (load_spark, own_spark, lambda table, target: table.write.parquet(target)),
}

if __name__ == "__main__":
    main()
