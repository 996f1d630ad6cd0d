"""All experiments, and how they are run into rows: a loop over the units that are not there yet.

Rows are one Parquet file per experiment. While experiments run, each unit (experiment, data set,
seed) is written to a file of its own in the folder `.units`, so that processes never wait for each
other and a run that is killed loses only the units at work. `merge` moves finished units into the
files of their experiments. Only one run at a time may write into a folder.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from joblib import Parallel, delayed
from pyarrow import parquet

from .._checks import InputError, require_choice
from .._files import whole_file
from .._progress import Bar, progress
from .._table import Table
from . import datasets, studies
from .clustering_studies import noisy_truth, tuned_clusterings
from .protocol import VERSION, Case, Protocol
from .studies import MOST_ROWS, Row, Study

COLUMNS = ("experiment", "dataset", "seed", "method", "setting", "metric", "value")
COST = "cost.csv"  # a line per unit: experiment, data set, seed, processor seconds; apart from the rows, always the same
UNITS = ".units"  # the folder of units that are not merged yet
TYPES = {"seed": pa.int32(), "value": pa.float64()}
SCHEMA = pa.schema([(name, TYPES.get(name, pa.string())) for name in COLUMNS])


# ---- list of all ---------------------------------------------------------------------------------


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
        return (
            name in self.datasets
            if self.datasets is not None
            else self.timed or name not in TIMED_ONLY
        )


TIMED_ONLY = ("sensor_3feat",)  # three features are too few for scores that mean anything
LARGEST = (
    "susy",
    "sensor",
    "magic",
    "sensor_sample",
)  # the paper's two, and two substitutes where these are not available
SEVERAL = ("letter", "sensor", "sensor_3feat")  # the largest with many classes

FEW_DISTINCT = ("titanic",)  # whose distinct rows can be clustered in all possible ways
LARGER = (
    "magic",
    "creditcard",
    "adults",
    "diabetes",
    "letter",
)  # those with 19,000 rows or more that are available

EXPERIMENTS: dict[str, Experiment] = {
    "datasets": Experiment(
        lambda case: studies.describe(case.data), "The data sets", repeats=1, timed=True
    ),
    "accuracy": Experiment(studies.accuracy, "Accuracy of all methods"),
    "labels_5": Experiment(partial(studies.accuracy, labels=5), "Accuracy with 5 labels per class"),
    "labels_20": Experiment(
        partial(studies.accuracy, labels=20), "Accuracy with 20 labels per class"
    ),
    "accuracy_large": Experiment(
        studies.accuracy_large, f"Accuracy with up to {MOST_ROWS:,} rows", LARGER
    ),
    "parameters": Experiment(studies.parameters, "Weights of the four terms"),
    "epsilon": Experiment(studies.epsilon, "Tolerance of the paper's loop"),
    "drop_classifier": Experiment(
        partial(studies.drop_one, kind="proba"), "One classifier left out"
    ),
    "add_classifier": Experiment(
        partial(studies.add_one_by_one, kind="proba", first=1), "Classifiers one by one"
    ),
    "clustering_nmi": Experiment(studies.clustering_nmi, "How clusterings match the classes"),
    "nmi_bound": Experiment(
        studies.nmi_bound, "The best match that clusterings can have", FEW_DISTINCT
    ),
    "tuned_clusterings": Experiment(tuned_clusterings, "Clusterings that are tuned"),
    "noisy_truth": Experiment(noisy_truth, "Clusterings that are noisy copies of the classes"),
    "drop_clustering": Experiment(
        partial(studies.drop_one, kind="clusters"), "One clustering left out"
    ),
    "add_clustering": Experiment(
        partial(studies.add_one_by_one, kind="clusters", first=0), "Clusterings one by one"
    ),
    "drop_term": Experiment(studies.drop_term, "One term left out"),
    "imbalance": Experiment(studies.imbalance, "A class made rare", LARGEST),
    "random_classifiers": Experiment(studies.random_classifiers, "Random classifiers"),
    "random_clusterings": Experiment(studies.random_clusterings, "Random clusterings"),
    "runtime": Experiment(studies.runtime, "Runtime of the combination", timed=True),
    "like_for_like": Experiment(studies.like_for_like, "Runtime of the published loops", SEVERAL),
    "growth_objects": Experiment(studies.growth_objects, "Runtime and objects", SEVERAL),
    "growth_models": Experiment(studies.growth_models, "Runtime and base models", SEVERAL),
    "growth_classes": Experiment(studies.growth_classes, "Runtime and classes", SEVERAL),
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


# ---- run them ------------------------------------------------------------------------------------

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

    The data sets, `names`, are by default all that need no network; some experiments run on a few
    of them only, unless both are named. Each of `n_jobs` processes takes one of `repeats` splits of
    one data set at a time. Rows are written to `out`; data sets are in `folder`, as in
    `ec3learn.paper.datasets.load`.
    """
    for name in experiments:
        require_choice("experiment", name, EXPERIMENTS)
    for name in names:
        require_choice("data set", name, datasets.names())
    out = Path(out)
    _require_same_protocol(out, protocol)
    there = finished(out)
    chosen = units(
        experiments or list(EXPERIMENTS),
        names or datasets.at_hand(folder),
        repeats,
        bool(experiments and names),
    )
    left = [unit for unit in chosen if unit not in there]
    cases = [list(own) for _, own in groupby(left, key=lambda unit: (unit.seed, unit.dataset))]
    try:
        with progress("Running experiments", len(left), keep=True) as bar:
            own = bar if n_jobs == 1 else Bar()  # other processes cannot draw on our bar
            work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
            for done in work(
                delayed(_run_case)(case, out, folder, protocol, own) for case in cases
            ):
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
        with whole_file(path) as file:
            file.write(f"{json.dumps(ours, indent=1)}\n".encode())
    theirs = json.loads(path.read_text())
    if theirs != ours:
        differ = ", ".join(
            f"{key} {theirs.get(key)}, not {own}"
            for key, own in ours.items()
            if theirs.get(key) != own
        )
        came = f"{out}, whose rows have {differ}"
        raise InputError(
            "out",
            "must be a folder with rows of the same protocol",
            came=came,
            remedy="Choose another folder.",
        )


def units(
    experiments: Sequence[str], names: Sequence[str], repeats: int, named: bool = False
) -> Iterator[Unit]:
    """Return all units in the order they are run: seed by seed, so that the rows cover all data sets early.

    With `named`, experiments and data sets were asked for by name, and each experiment runs on each
    data set.
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
        began = time.process_time()
        write(out, unit, EXPERIMENTS[unit.experiment].study(case))
        seconds = time.process_time() - began
        with (out / COST).open("a", encoding="utf-8") as log:
            log.write(f"{unit.experiment},{unit.dataset},{unit.seed},{seconds:.1f}\n")
        bar.update(f"{unit.dataset} {unit.seed} {unit.experiment}", step=1)
        if not sys.stderr.isatty():  # a log gets a line per unit
            print(
                f"{unit.dataset} {unit.seed} {unit.experiment}: {seconds:.1f} s",
                file=sys.stderr,
                flush=True,
            )
    return len(own)


# ---- rows on disk --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unit:
    """What is computed, and written, at once."""

    experiment: str
    dataset: str
    seed: int

    def path(self, folder: Path) -> Path:
        """Return where the unit's rows are until they are merged."""
        return folder / UNITS / self.experiment / f"{self.dataset}-{self.seed}.parquet"


def write(folder: Path, unit: Unit, rows: Iterable[Row]) -> None:
    """Write the rows (method, setting, metric, value) of a unit, whole or not at all; values are rounded to six digits."""
    whole = [(*astuple(unit), *names, float(f"{value:.6g}")) for *names, value in rows]
    path = unit.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_frame(path, pd.DataFrame(whole, columns=list(COLUMNS)))


def merge(folder: Path) -> None:
    """Move the rows of finished units into the files of their experiments."""
    for name, units, frame in _experiments(folder) if (folder / UNITS).is_dir() else ():
        if units:
            _write_frame(folder / f"{name}.parquet", frame)
        for (
            path
        ) in units:  # if this is cut off, the next merge finds rows twice and drops one of each
            path.unlink()
    if not any(folder.glob(f"{UNITS}/*/*.parquet")):
        shutil.rmtree(folder / UNITS, ignore_errors=True)


def finished(folder: Path) -> set[Unit]:
    """Return the units whose rows are there, merged or not."""
    there = (frame[list(COLUMNS[:3])].drop_duplicates() for *_, frame in _experiments(folder))
    return {Unit(*row) for frame in there for row in frame.itertuples(index=False, name=None)}


def read(folder: str | Path) -> Any:
    """Read the rows of all experiments from the folder that `run` wrote them to, as one table with `COLUMNS`."""
    frames = [frame for *_, frame in _experiments(Path(folder))]
    if not frames:
        raise InputError(
            "rows",
            phrase=f"{folder} holds no rows",
            remedy=f"Make some: ec3learn paper run --out {folder}.",
        )
    return pd.concat(frames, ignore_index=True)


def hours(folder: str | Path) -> float:
    """Return how many hours of a processor the units in a folder took, as far as they were timed."""
    path = Path(folder) / COST
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return sum(float(line.rsplit(",", 1)[1]) for line in lines) / 3600


def _experiments(folder: Path) -> Iterator[tuple[str, list[Path], Any]]:
    """Yield each experiment: its name, the files of units that are not merged, and all its rows by data set and seed."""
    for name in sorted(
        {path.stem for path in folder.glob("*.parquet")}
        | {path.name for path in folder.glob(f"{UNITS}/*")}
    ):
        units = sorted(folder.glob(f"{UNITS}/{name}/*.parquet"))
        files = [*folder.glob(f"{name}.parquet"), *units]
        if files:
            frame = pd.concat([_read_frame(path) for path in files])
            if units:
                frame = frame.drop_duplicates(list(COLUMNS[:-1]), keep="last").sort_values(
                    ["dataset", "seed"], kind="stable"
                )
            yield name, units, frame


def _read_frame(path: Path) -> Any:
    table = parquet.ParquetFile(path).read()
    if tuple(table.column_names) != COLUMNS:
        columns = ", ".join(table.column_names)
        raise InputError(
            "rows", phrase=f"{path} must have the columns {', '.join(COLUMNS)}, got {columns}"
        )
    return table.cast(SCHEMA).to_pandas()


def _write_frame(path: Path, frame: Any) -> None:
    table = pa.Table.from_pandas(frame, SCHEMA, preserve_index=False).replace_schema_metadata()
    with whole_file(path) as file:
        parquet.write_table(table, file, compression="zstd", write_statistics=False)
