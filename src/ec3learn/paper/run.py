"""Run experiments into rows: a loop over the units that are not there yet."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from .._checks import InputError, require_choice
from .._progress import Bar, progress
from . import datasets
from .protocol import VERSION, Case, Protocol
from .rows import Unit, finished, merge, write
from .studies import EXPERIMENTS

DEFAULT = Protocol()


def run(
    experiments: Sequence[str] = (),
    names: Sequence[str] = (),
    *,
    repeats: int = 20,
    n_jobs: int = 1,
    out: str | Path = "results",
    folder: str | Path | None = None,
    protocol: Protocol = DEFAULT,
) -> int:
    """Run experiments; units whose rows are there already are not run again.

    Parameters
    ----------
    experiments : sequence of str
        Names in `EXPERIMENTS`; all by default.
    names : sequence of str
        Data sets; by default all that need no network. Some experiments run on a few of them only, unless both are named.
    repeats : int
        Number of random splits.
    n_jobs : int
        Number of processes; each takes one split of one data set at a time.
    out : path
        The folder of the rows.
    folder : path
        The folder of data sets, as in `ec3learn.paper.datasets.load`.
    protocol : Protocol
        How a repeat is made.

    Returns
    -------
    int
        The number of units that were run.
    """
    for name in experiments:
        require_choice("experiment", name, EXPERIMENTS)
    for name in names:
        require_choice("data set", name, datasets.names())
    out = Path(out)
    _require_same_protocol(out, protocol)
    there = finished(out)
    chosen = units(experiments or list(EXPERIMENTS), names or datasets.at_hand(folder), repeats, bool(experiments and names))
    left = [unit for unit in chosen if unit not in there]
    cases: dict[tuple[int, str], list[Unit]] = {}
    for unit in left:
        cases.setdefault((unit.seed, unit.dataset), []).append(unit)
    try:
        with progress("Running experiments", len(left), keep=True) as bar:
            own = bar if n_jobs == 1 else Bar()  # other processes cannot draw on our bar
            work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
            for done in work(delayed(_run_case)(case, out, folder, protocol, own) for case in cases.values()):
                bar.update(step=0 if n_jobs == 1 else done)
    finally:
        merge(out)
    return len(left)


def _require_same_protocol(out: Path, protocol: Protocol) -> None:
    """Refuse to add rows to those of another protocol; the first run into a folder records which one it follows."""
    path = out / "protocol.json"
    ours = {"version": VERSION, **asdict(protocol), "without": list(protocol.without)}
    if not path.is_file():
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(ours, indent=1) + "\n")
    theirs = json.loads(path.read_text())
    if theirs != ours:
        differ = ", ".join(f"{key} {theirs.get(key)}, not {own}" for key, own in ours.items() if theirs.get(key) != own)
        came = f"{out}, whose rows have {differ}"
        raise InputError("out", "must be a folder with rows of the same protocol", came=came, remedy="Choose another folder.")


def units(experiments: Sequence[str], names: Sequence[str], repeats: int, named: bool = False) -> Iterator[Unit]:
    """Return all units in the order they are run: seed by seed, so that the rows cover all data sets early.

    With `named`, experiments and data sets were asked for by name, and each experiment runs on each data set.
    """
    for seed in range(repeats):
        for name in names:
            for experiment in experiments:
                about = EXPERIMENTS[experiment]
                enough = about.repeats is not None and seed >= about.repeats
                if not enough and (named or about.takes(name)):
                    yield Unit(experiment, name, seed)


def _run_case(own: list[Unit], out: Path, folder: Any, protocol: Protocol, bar: Bar) -> int:
    """Run the units of one data set and seed, and return their number."""
    case = Case(datasets.load(own[0].dataset, folder), own[0].seed, protocol)
    for unit in own:
        began = time.monotonic()
        write(out, unit, EXPERIMENTS[unit.experiment].study(case))
        bar.update(f"{unit.dataset} {unit.seed} {unit.experiment}", step=1)
        if not sys.stderr.isatty():  # a log gets a line per unit
            print(f"{unit.dataset} {unit.seed} {unit.experiment}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    return len(own)
