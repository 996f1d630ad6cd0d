"""Rows on disk: one Parquet file per experiment.

While experiments run, each unit (experiment, data set, seed) is written to a file of its own in the folder `.units`, so that
processes never wait for each other and a run that is killed loses only the units at work. `merge` moves finished units into the
files of their experiments. Only one run at a time may write into a folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from .._checks import InputError
from .._files import whole_file

COLUMNS = ("experiment", "dataset", "seed", "method", "setting", "metric", "value")
COST = "cost.csv"  # a line per unit: experiment, data set, seed, seconds; apart from the rows, which are always the same
UNITS = ".units"  # the folder of units that are not merged yet
TYPES = {"seed": pa.int32(), "value": pa.float64()}
SCHEMA = pa.schema([(name, TYPES.get(name, pa.string())) for name in COLUMNS])


@dataclass(frozen=True)
class Unit:
    """What is computed, and written, at once."""

    experiment: str
    dataset: str
    seed: int

    def path(self, folder: Path) -> Path:
        """Return where the unit's rows are until they are merged."""
        return folder / UNITS / self.experiment / f"{self.dataset}-{self.seed}.parquet"


def write(folder: Path, unit: Unit, rows: Sequence[tuple[str, str, str, float]]) -> None:
    """Write the rows (method, setting, metric, value) of a unit, whole or not at all; values are rounded to six digits."""
    whole = [(*astuple(unit), *names, float(f"{value:.6g}")) for *names, value in rows]
    path = unit.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_frame(path, pd.DataFrame(whole, columns=list(COLUMNS)))


def merge(folder: Path) -> None:
    """Move the rows of finished units into the files of their experiments."""
    for name, units in _units(folder).items():
        _write_frame(folder / f"{name}.parquet", _experiment(folder, name, units))
        for path in units:  # if this is cut off, the next merge finds rows twice and drops one of each
            path.unlink()
    if not _units(folder):
        shutil.rmtree(folder / UNITS, ignore_errors=True)


def finished(folder: Path) -> set[Unit]:
    """Return the units whose rows are there, merged or not."""
    there = (frame[list(COLUMNS[:3])].drop_duplicates() for frame in _experiments(folder))
    return {Unit(*row) for frame in there for row in frame.itertuples(index=False, name=None)}


def read(folder: str | Path) -> Any:
    """Read the rows of all experiments from the folder that `run` wrote them to, as one table with `COLUMNS`."""
    frames = list(_experiments(Path(folder)))
    if not frames:
        raise InputError("rows", phrase=f"{folder} holds no rows", remedy=f"Make some: ec3learn paper run --out {folder}.")
    return pd.concat(frames, ignore_index=True)


def hours(folder: str | Path) -> float:
    """Return how many hours the units in a folder took, as far as they were timed."""
    path = Path(folder) / COST
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return sum(float(line.rsplit(",", 1)[1]) for line in lines) / 3600


def _units(folder: Path) -> dict[str, list[Path]]:
    """Return the files of units that are not merged, by experiment."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob(f"{UNITS}/*/*.parquet")):
        found.setdefault(path.parent.name, []).append(path)
    return found


def _experiments(folder: Path) -> Iterator[Any]:
    """Return the rows of each experiment."""
    units = _units(folder)
    names = {path.stem for path in folder.glob("*.parquet")} | units.keys()
    return (_experiment(folder, name, units.get(name, [])) for name in sorted(names))


def _experiment(folder: Path, name: str, units: list[Path]) -> Any:
    """Return the rows of an experiment, merged and not, sorted by data set and seed."""
    frame = pd.concat([_read_frame(path) for path in [*folder.glob(f"{name}.parquet"), *units]])
    if units:
        frame = frame.drop_duplicates(list(COLUMNS[:-1]), keep="last").sort_values(["dataset", "seed"], kind="stable")
    return frame


def _read_frame(path: Path) -> Any:
    table = parquet.ParquetFile(path).read()
    if tuple(table.column_names) != COLUMNS:
        columns = ", ".join(table.column_names)
        raise InputError("rows", phrase=f"{path} must have the columns {', '.join(COLUMNS)}, got {columns}")
    return table.cast(SCHEMA).to_pandas()


def _write_frame(path: Path, frame: Any) -> None:
    table = pa.Table.from_pandas(frame, SCHEMA, preserve_index=False).replace_schema_metadata()
    with whole_file(path) as file:
        parquet.write_table(table, file, compression="zstd", write_statistics=False)
