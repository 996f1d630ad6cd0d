"""Run experiments into rows: a loop over units that are not there yet."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from . import datasets
from .datasets.loading import require_name
from .protocol import VERSION, Case, Protocol
from .rows import Unit, write
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
        Names in `EXPERIMENTS`; all if none.
    names : sequence of str
        Data sets; all that need no network if none. Some experiments are run on a few of them only, unless both are named.
    repeats : int
        How many random splits.
    n_jobs : int
        How many repeats run at a time.
    out : path
        The folder of the rows.
    folder : path
        Of data sets, as in `ec3learn.paper.datasets.load`.
    protocol : Protocol
        How a repeat is made.

    Returns
    -------
    int
        How many units were run.
    """
    chosen = [require_name(name, EXPERIMENTS, "experiment") for name in experiments] or list(EXPERIMENTS)
    wanted = [require_name(name, datasets.names(), "data set") for name in names] or datasets.at_hand(folder)
    out = Path(out)
    _require_same_protocol(out, protocol)
    left = [unit for unit in units(chosen, wanted, repeats, bool(experiments and names)) if not unit.path(out).exists()]
    cases: dict[tuple[int, str], list[Unit]] = {}
    for unit in left:
        cases.setdefault((unit.seed, unit.dataset), []).append(unit)
    progress = Progress(len(left))
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for done in work(delayed(_run_case)(own, out, folder, protocol, n_jobs == 1 and progress) for own in cases.values()):
        if n_jobs != 1:
            progress.step(done)
    progress.close()
    return len(left)


def _require_same_protocol(out: Path, protocol: Protocol) -> None:
    """Refuse to add rows to those of another protocol; the first run into a folder says which it is."""
    path = out / "protocol.json"
    ours = {"version": VERSION, **asdict(protocol), "without": list(protocol.without)}
    if not path.is_file():
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(ours, indent=1) + "\n")
    theirs = json.loads(path.read_text())
    if theirs != ours:
        differ = ", ".join(f"{key} {theirs.get(key)} and not {own}" for key, own in ours.items() if theirs.get(key) != own)
        raise ValueError(f"out must hold rows of one protocol, but those in {out} have {differ}. Take another folder.")


def units(experiments: Sequence[str], names: Sequence[str], repeats: int, named: bool = False) -> Iterator[Unit]:
    """Return all units in the order they are run: seed by seed, so that what is there at any time covers all data sets.

    Parameters
    ----------
    experiments, names : sequence of str
        Experiments and data sets.
    repeats : int
        Seeds 0, 1, ...
    named : bool
        Whether experiments and data sets were asked for by name: then each is run on each.

    Yields
    ------
    Unit
    """
    for seed in range(repeats):
        for name in names:
            for experiment in experiments:
                about = EXPERIMENTS[experiment]
                enough = about.repeats is not None and seed >= about.repeats
                if not enough and (named or about.takes(name)):
                    yield Unit(experiment, name, seed)


def _run_case(own: list[Unit], out: Path, folder: Any, protocol: Protocol, progress: Any) -> int:
    """Run the units of one data set and seed, and return how many they are."""
    case = Case(datasets.load(own[0].dataset, folder), own[0].seed, protocol)
    for unit in own:
        write(out, unit, EXPERIMENTS[unit.experiment].study(case))
        if progress:
            progress.step(1, f"{unit.dataset} {unit.seed} {unit.experiment}")
    return len(own)


class Progress:
    """How many units are done, and how long the others will take; a bar on a terminal, lines elsewhere."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.began = total, 0, time.monotonic()

    def step(self, n_units: int, name: str = "") -> None:
        """Count units.

        Parameters
        ----------
        n_units : int
            How many are done now.
        name : str
            What was done last.
        """
        self.done += n_units
        seconds = time.monotonic() - self.began
        left = seconds / self.done * (self.total - self.done)
        line = f"{self.done}/{self.total} units, {_clock(seconds)} gone, about {_clock(left)} left  {name}"
        if sys.stderr.isatty():
            bar = "=" * round(20 * self.done / self.total)
            sys.stderr.write(f"\r[{bar:20s}] {line[:100]:100s}")
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line of the bar."""
        if self.done and sys.stderr.isatty():
            sys.stderr.write("\n")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
