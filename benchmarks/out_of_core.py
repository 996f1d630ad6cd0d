"""A file larger than memory: `ec3learn combine`, compared with DuckDB alone, which groups it, joins a number and writes it.

    python benchmarks/out_of_core.py [--rows 100_000_000] [--times 1] [--folder /tmp]

The file has 12 columns, seven of strings and five of integers, three of them with nulls, and
800,000 distinct rows. Both run in their own processes, in turn, with the same memory limit for
DuckDB. Read the ratio, not the seconds; if others use the machine, the ratio of CPU seconds. The
peak is that of the whole process. Exceeded limits are marked, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

N_DISTINCT = 800_000
MEMORY = "800MB"
MOST_RATIO, MOST_MEMORY = 1.5, 1500
NAMES = [*(f"clf_{j}" for j in range(7)), *(f"km_{j}" for j in range(5))]


def make(path: Path, n_rows: int, n_distinct: int = N_DISTINCT) -> None:
    """Draw rows from distinct ones, some far more often than others; all of them occur."""
    import duckdb

    def draw(seed: int, below: int) -> str:
        return f"CAST(hash(i, {seed}) % {below} AS INT)"

    votes = [
        f"['spam', 'ham', 'news', 'other'][1 + (z + if({draw(j, 3)} = 0, {draw(100 + j, 4)}, 0)) % 4]"
        for j in range(7)
    ]
    columns = [*votes, *(f"z + {draw(50 + j, 3 + 2 * j)}" for j in range(5))]
    for j in (0, 1, 7):
        columns[j] = f"if({draw(70 + j, 20)} > 0, {columns[j]}, NULL)"
    named = ", ".join(f"{column} AS {name}" for column, name in zip(columns, NAMES, strict=True))
    connection = duckdb.connect(
        config={"memory_limit": "2GB", "temp_directory": str(path.parent / "making")}
    )
    drawn = f"SELECT {named} FROM (SELECT i, CAST(hash(i) % 4 AS INT) AS z FROM range({2 * n_distinct}) t(i))"
    distinct = f"SELECT DISTINCT * FROM ({drawn}) LIMIT {n_distinct}"
    connection.execute(
        f"CREATE TABLE patterns AS SELECT *, row_number() OVER () - 1 AS p FROM ({distinct})"
    )
    place = f"if(i < {n_distinct}, i, CAST(floor(pow((hash(i) % 1000003) / 1000003.0, 3) * {n_distinct}) AS BIGINT))"
    rows = f"SELECT patterns.* EXCLUDE p FROM range({n_rows}) t(i) JOIN patterns ON p = {place}"
    connection.execute(f"COPY ({rows}) TO '{path}'")
    connection.close()


def duckdb_alone(path: str, out: str) -> None:
    import duckdb

    connection = duckdb.connect(
        config={"memory_limit": MEMORY, "temp_directory": str(Path(out).parent / "spilled")}
    )
    keys = ", ".join(NAMES)
    grouped = connection.sql(
        f"SELECT {keys}, count(*) AS n FROM '{path}' GROUP BY ALL"
    ).to_arrow_table()
    same = " AND ".join(f"l.{name} IS NOT DISTINCT FROM r.{name}" for name in NAMES)
    assert grouped.num_rows == N_DISTINCT, grouped.num_rows
    connection.execute(
        f"COPY (SELECT l.*, r.n FROM '{path}' l LEFT JOIN grouped r ON {same}) TO '{out}'"
    )


def ours(path: str, out: str) -> None:
    from ec3learn.cli import main

    assert not main(
        [
            "combine",
            path,
            "-c",
            "clf_*",
            "-k",
            "km_*",
            "--memory",
            MEMORY,
            "--out",
            out,
            "--overwrite",
        ]
    )


def measured(who: str, path: Path, out: Path) -> tuple[float, float, float]:
    """Return seconds, seconds of processor and megabytes of a fresh process."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, __file__, "--only", who, str(path), str(out)], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        sys.exit(f"{who} failed.")
    out.unlink()
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--only", nargs=3, metavar=("WHO", "IN", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        {"duckdb": duckdb_alone, "ec3learn": ours}[options.only[0]](*options.only[1:])
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path, out = Path(folder, "votes.parquet"), Path(folder, "out.parquet")
        make(path, options.rows)
        print(
            f"{options.rows:,} rows x {len(NAMES)} columns, {path.stat().st_size / 1e6:.0f} MB of Parquet"
        )
        runs = [
            [measured(who, path, out) for who in ("duckdb", "ec3learn")]
            for _ in range(options.times)
        ]
    for i, who in enumerate(("DuckDB", "ec3learn")):
        seconds, processor = (median(run[i][j] for run in runs) for j in range(2))
        print(
            f"{who:9s} {seconds:6.1f} s ({processor:.1f} s of processor), peak {max(run[i][2] for run in runs):5.0f} MB"
        )
    ratio, busy = (median(run[1][j] / run[0][j] for run in runs) for j in range(2))
    peak = max(run[1][2] for run in runs)
    broken = ratio > MOST_RATIO or peak > MOST_MEMORY
    print(f"ratio {ratio:.2f} (at most {MOST_RATIO}), {busy:.2f} of processor")
    print(f"peak {peak:.0f} MB (at most {MOST_MEMORY}){' BROKEN' if broken else ''}")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
