"""
100 million rows from a Parquet file
====================================

A table of votes need not fit into memory. Rows with the same votes get the same answer, so only the
distinct rows matter. polars reads the file and counts the distinct rows, ec3learn solves for these,
and polars joins the answers to all rows while it writes the result.

The file below has a million rows, which takes seconds. ``python examples/parquet.py 100_000_000``
runs a hundred million.
"""

import sys
import tempfile
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import ec3learn

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
PART = 1_000_000  # rows simulated at a time

# %%
# A large file
# ------------
#
# Five rules label transactions as "fine" or "fraud", and two clusterings group the customers. One
# vote in twenty is missing.


def simulate(n: int, seed: int) -> pl.DataFrame:
    """Return some rows of the table."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < 0.1
    table = {"id": np.arange(n) + seed * PART}
    for rule, wrong in {
        "amount": 0.1,
        "country": 0.2,
        "hour": 0.3,
        "device": 0.2,
        "history": 0.15,
    }.items():
        said = np.where(fraud ^ (rng.random(n) < wrong), "fraud", "fine")
        table[rule] = pl.Series(np.where(rng.random(n) < 0.05, "", said)).replace(
            "", None
        )  # no vote
    table["kind"] = np.where(fraud, rng.integers(3, size=n), rng.integers(8, size=n))
    table["region"] = np.where(rng.random(n) < 0.5, fraud * 5, rng.integers(20, size=n))
    return pl.DataFrame(table)


folder = tempfile.TemporaryDirectory()
files = Path(folder.name)
for seed, start in enumerate(range(0, ROWS, PART)):
    simulate(min(PART, ROWS - start), seed).write_parquet(files / f"votes-{seed:03}.parquet")

# %%
# One call
# --------
#
# ``scan_parquet`` reads nothing yet, and the result is lazy as well: rows are processed when
# ``sink_parquet`` asks for them.

table = pl.scan_parquet(files / "votes-*.parquet")
print(table.select(pl.len()).collect().item(), "rows")

rules, clusterings = ["amount", "country", "hour", "device", "history"], ["kind", "region"]
start = perf_counter()
answered, consensus = ec3learn.combine(
    table, classifiers=rules, clusterings=clusterings, return_consensus=True
)
answered.sink_parquet(files / "answers.parquet")
print(f"{perf_counter() - start:.1f} s, from file to file")
print(consensus)

# %% The consensus was solved on the distinct rows. It shows how each rule did, without reading the
# file again.

consensus.voters()

# %%
pl.scan_parquet(files / "answers.parquet").group_by("consensus").agg(
    pl.len(), pl.mean("confidence")
).sort("consensus").collect()

# %%
# How time grows
# --------------
#
# We repeat the call on parts of the file. The number of distinct rows grows far more slowly than
# the number of rows: with five rules, 8 kinds and 20 regions it cannot exceed 38,880, however long
# the file. So reading and writing dominate in the end. If the join does not fit into memory, use
# DuckDB or the command line, which spill to disk: see :doc:`/scale`.

sizes = [ROWS // 64, ROWS // 16, ROWS // 4, ROWS]
seconds, distinct = [], []
for size in sizes:
    start = perf_counter()
    some, its = ec3learn.combine(
        table.head(size), classifiers=rules, clusterings=clusterings, return_consensus=True
    )
    some.sink_parquet(files / "some.parquet")
    seconds.append(perf_counter() - start)
    distinct.append(its.solution.votes.n_objects)
folder.cleanup()

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
left.loglog(sizes, seconds, "o-", color="#00204d")
left.set(title="How time grows", xlabel="objects", ylabel="seconds, from file to file")
left.grid(alpha=0.3)
right.plot(sizes, distinct, "o-", color="#00204d")
right.set(
    xscale="log",
    ylim=(0, None),
    title="What has to be solved",
    xlabel="objects",
    ylabel="distinct rows",
)
right.grid(alpha=0.3)
plt.show()
