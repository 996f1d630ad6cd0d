"""All experiments, and how they are run into rows: a loop over the units that are not there yet."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from .._checks import InputError, require_choice
from .._progress import Bar, progress
from .._text import Table
from . import datasets
from .clustering_studies import noisy_truth, tuned_clusterings
from .protocol import VERSION, Case, Protocol
from .rows import COST, Unit, finished, merge, write
from .studies import (
    MOST_ROWS,
    Study,
    accuracy,
    accuracy_large,
    add_one_by_one,
    clustering_nmi,
    describe,
    drop_one,
    drop_term,
    imbalance,
    nmi_bound,
    parameters,
    random_classifiers,
    random_clusterings,
)
from .timing import epsilon, growth_classes, growth_models, growth_objects, like_for_like, runtime

# ---- list of all -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """An experiment: its function, its data sets (None: all that fit) and the repeats that suffice (None: all)."""

    study: Study
    title: str
    datasets: Sequence[str] | None = None
    repeats: int | None = None
    timed: bool = False

    def takes(self, name: str) -> bool:
        """Return whether the experiment runs on a data set without being asked to by name."""
        return name in self.datasets if self.datasets is not None else self.timed or name not in TIMED_ONLY


TIMED_ONLY = ("sensor_3feat",)  # three features are too few for scores that mean anything
LARGEST = ("susy", "sensor", "magic", "sensor_sample")  # the paper's two, and two substitutes where these are not available
SEVERAL = ("letter", "sensor", "sensor_3feat")  # the largest with many classes

FEW_DISTINCT = ("titanic",)  # whose distinct rows can be clustered in all possible ways
LARGER = ("magic", "creditcard", "adults", "diabetes", "letter")  # those with 19,000 rows or more that are available

EXPERIMENTS: dict[str, Experiment] = {
    "datasets": Experiment(lambda case: describe(case.data), "The data sets", repeats=1, timed=True),
    "accuracy": Experiment(accuracy, "Accuracy of all methods"),
    "labels_5": Experiment(partial(accuracy, labels=5), "Accuracy with 5 labels per class"),
    "labels_20": Experiment(partial(accuracy, labels=20), "Accuracy with 20 labels per class"),
    "accuracy_large": Experiment(accuracy_large, f"Accuracy with up to {MOST_ROWS:,} rows", LARGER),
    "parameters": Experiment(parameters, "Weights of the four terms"),
    "epsilon": Experiment(epsilon, "Tolerance of the paper's loop"),
    "drop_classifier": Experiment(partial(drop_one, kind="proba"), "One classifier left out"),
    "add_classifier": Experiment(partial(add_one_by_one, kind="proba", first=1), "Classifiers one by one"),
    "clustering_nmi": Experiment(clustering_nmi, "How clusterings match the classes"),
    "nmi_bound": Experiment(nmi_bound, "The best match that clusterings can have", FEW_DISTINCT),
    "tuned_clusterings": Experiment(tuned_clusterings, "Clusterings that are tuned"),
    "noisy_truth": Experiment(noisy_truth, "Clusterings that are noisy copies of the classes"),
    "drop_clustering": Experiment(partial(drop_one, kind="clusters"), "One clustering left out"),
    "add_clustering": Experiment(partial(add_one_by_one, kind="clusters", first=0), "Clusterings one by one"),
    "drop_term": Experiment(drop_term, "One term left out"),
    "imbalance": Experiment(imbalance, "A class made rare", LARGEST),
    "random_classifiers": Experiment(random_classifiers, "Random classifiers"),
    "random_clusterings": Experiment(random_clusterings, "Random clusterings"),
    "runtime": Experiment(runtime, "Runtime of the combination", timed=True),
    "like_for_like": Experiment(like_for_like, "Runtime of the published loops", SEVERAL),
    "growth_objects": Experiment(growth_objects, "Runtime and objects", SEVERAL),
    "growth_models": Experiment(growth_models, "Runtime and base models", SEVERAL),
    "growth_classes": Experiment(growth_classes, "Runtime and classes", SEVERAL),
}


def list_experiments() -> Table:
    """Return the names of the experiments, what they are about, and their data sets and repeats."""
    about = EXPERIMENTS.values()
    columns = {
        "experiment": list(EXPERIMENTS),
        "title": [each.title for each in about],
        "data sets": [", ".join(each.datasets or ["all"]) for each in about],
        "repeats": ["all" if each.repeats is None else f"at most {each.repeats}" for each in about],
    }
    return Table(columns)


# ---- run them --------------------------------------------------------------------------------------------------------

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
    """Run experiments (by default all) and return the number of units that were run; those whose rows are there are not.

    The data sets, `names`, are by default all that need no network; some experiments run on a few of them only, unless both are
    named. Each of `n_jobs` processes takes one of `repeats` splits of one data set at a time. Rows are written to `out`; data
    sets are in `folder`, as in `ec3learn.paper.datasets.load`.
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
        seconds = time.monotonic() - began
        with (out / COST).open("a", encoding="utf-8") as log:
            log.write(f"{unit.experiment},{unit.dataset},{unit.seed},{seconds:.1f}\n")
        bar.update(f"{unit.dataset} {unit.seed} {unit.experiment}", step=1)
        if not sys.stderr.isatty():  # a log gets a line per unit
            print(f"{unit.dataset} {unit.seed} {unit.experiment}: {seconds:.1f} s", file=sys.stderr, flush=True)
    return len(own)
