"""Run experiments into rows, and read them: one Parquet file per experiment, in `results/`.

A unit is one experiment on one data set with one seed. Units whose rows are there are not run
again, so a run that was interrupted continues where it stopped. One run at a time may write. A row
names the table of its data set by its fingerprint, and the base models left out.
"""

from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from . import datasets
from .datasets import fingerprint
from .protocol import Protocol

COLUMNS = ["experiment", "dataset", "seed", "method", "setting", "metric", "value", "table"]
UNIT = COLUMNS[:3]
RESULTS = Path(__file__).with_name("results")
OWN = Path("paper-rows")  # of somebody who repeats experiments


def run(experiments, names=(), repeats=20, n_jobs=1, out=OWN, folder=None, protocol=None):
    """Run experiments and return the number of units that were run.

    The data sets, `names`, are by default all that need no network. Each of `n_jobs` processes
    takes one of `repeats` splits of one data set at a time.
    """
    out, protocol = Path(out), protocol or Protocol()
    out.mkdir(parents=True, exist_ok=True)
    there = finished(out)
    chosen = units(experiments, names or datasets.at_hand(folder), repeats, bool(names))
    left = [unit for unit in chosen if unit not in there]
    cases = [list(case) for _, case in groupby(left, key=lambda unit: unit[1:])]
    tables = {unit[1]: table for unit, table in there.items()}
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for rows in work(delayed(run_case)(case, folder, protocol, tables) for case in cases):
        append(out, rows)
        print(f"{len(rows)} rows of {rows[0][1]}, split {rows[0][2]}", flush=True)
    return len(left)


def units(experiments, names, repeats, named=False):
    """All units in the order they are run: seed by seed, so that all data sets come early.

    With data sets that are `named`, each experiment runs on each of them.
    """
    from .experiments import EXPERIMENTS

    return [
        (experiment, name, seed)
        for seed in range(repeats)
        for name in names
        for experiment in experiments
        for about in [EXPERIMENTS[experiment]]
        if (named or about.takes(name)) and (about.repeats is None or seed < about.repeats)
    ]


def run_case(case, folder, protocol, tables=()):
    """The rows of the units of one data set and seed; `tables` has those that other rows are from."""
    from .experiments import EXPERIMENTS
    from .training import Case

    _, name, seed = case[0]
    data = Case(datasets.load(name, folder), seed, protocol)
    table = " without ".join([fingerprint(data.data.frame), *protocol.without])
    if dict(tables).get(name, table) != table:
        raise ValueError(
            f"The folder has rows of {name} from table {dict(tables)[name]}, and this one is {table}: "
            "choose another folder with --out."
        )
    return [(*unit, *row, table) for unit in case for row in EXPERIMENTS[unit[0]].study(data)]


def append(out, rows):
    """Add rows to the files of their experiments; values are rounded to six digits."""
    frame = pd.DataFrame(rows, columns=COLUMNS)
    frame["value"] = [float(f"{value:.6g}") for value in frame["value"]]
    for name, part in frame.astype({"seed": "int32"}).groupby("experiment", sort=False):
        path = out / f"{name}.parquet"
        before = [pd.read_parquet(path)] if path.is_file() else []
        whole = pd.concat([*before, part]).sort_values(["dataset", "seed"], kind="stable")
        whole.to_parquet(path.with_suffix(".part"), index=False, compression="zstd")
        path.with_suffix(".part").replace(path)  # whole or not at all


def finished(folder):
    """The units whose rows are there, each with the table they are from."""
    files = sorted(Path(folder).glob("*.parquet"))
    frames = [pd.read_parquet(path)[[*UNIT, "table"]].drop_duplicates(UNIT) for path in files]
    return {tuple(unit): table for frame in frames for *unit, table in frame.to_numpy().tolist()}


def read(folder=RESULTS):
    """The rows of all experiments as one table."""
    files = sorted(Path(folder).glob("*.parquet"))
    if not files:
        raise ValueError(f"{folder} holds no rows. Make some: python -m paper run.")
    return pd.concat([pd.read_parquet(path) for path in files], ignore_index=True)


def compare(mine, theirs):
    """The mean AUC and F of each method in two folders of rows, on the units that both have."""
    both = mine[mine["metric"].isin(["auc", "f"])].merge(
        theirs, on=COLUMNS[:-2], suffixes=("", " committed")
    )
    known = both["table"].str[:64] == both["table committed"].str[:64]
    found = both.assign(
        difference=(both["value"] - both["value committed"]).abs(),
        **{"same table": np.where(known, "yes" + both["table"].str[64:], "no")},
    ).groupby(["dataset", "same table", "experiment", "method", "metric"], sort=False)
    means = found[["value", "value committed"]].mean().assign(splits=found["seed"].nunique())
    return means.assign(**{"largest difference": found["difference"].max()}).reset_index()
