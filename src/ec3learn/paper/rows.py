"""Rows on disk: one Parquet file for each unit (experiment, data set, seed), written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .datasets import DatasetError
from .datasets.loading import require_pandas

COLUMNS = ("experiment", "dataset", "seed", "method", "setting", "metric", "value")


@dataclass(frozen=True)
class Unit:
    """What is computed, and written, at once."""

    experiment: str
    dataset: str
    seed: int

    def path(self, folder: Path) -> Path:
        """Return the file of the unit's rows.

        Parameters
        ----------
        folder : Path
            Of all rows.

        Returns
        -------
        Path
        """
        return folder / self.experiment / f"{self.dataset}-{self.seed}.parquet"


def write(folder: Path, unit: Unit, rows: Sequence[tuple[str, str, str, float]]) -> None:
    """Write the rows of a unit: under another name first, so that a file that is there is whole.

    Parameters
    ----------
    folder : Path
        Of all rows.
    unit : Unit
        Whose rows they are.
    rows : sequence of (method, setting, metric, value)
        The rows.
    """
    import pyarrow as pa
    from pyarrow import parquet

    n_rows = len(rows)
    method, setting, metric, value = zip(*rows, strict=True)
    names = {"experiment": [unit.experiment] * n_rows, "dataset": [unit.dataset] * n_rows, "seed": [unit.seed] * n_rows}
    names |= {"method": method, "setting": setting, "metric": metric}
    columns = {
        key: pa.array(column).dictionary_encode() if key != "seed" else pa.array(column, pa.int32())
        for key, column in names.items()
    }
    table = pa.table(columns | {"value": pa.array([float(f"{x:.6g}") for x in value], pa.float64())})
    path = unit.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    parquet.write_table(table, unfinished, compression="zstd", write_statistics=False)
    unfinished.replace(path)


def read(folder: str | Path, experiment: str | None = None) -> Any:
    """Read rows.

    Parameters
    ----------
    folder : path
        Where `run` wrote them.
    experiment : str, optional
        Of one experiment alone.

    Returns
    -------
    pandas.DataFrame
        With the columns experiment, dataset, seed, method, setting, metric and value.
    """
    require_pandas()
    import pandas as pd
    import pyarrow as pa

    files = sorted(Path(folder).glob(f"{experiment or '*'}/*.parquet"))
    if not files and experiment is None:
        raise DatasetError(f"{folder} holds no rows. Make some: ec3learn paper run --out {folder}.")
    if not files:
        return pd.DataFrame({name: [] for name in COLUMNS})
    return pa.concat_tables([_table(path) for path in files]).to_pandas()


def _table(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.ParquetFile(path).read()
    if tuple(table.column_names) != COLUMNS:
        raise DatasetError(f"{path} must have the columns {', '.join(COLUMNS)}, got {', '.join(table.column_names)}.")
    kinds = {"seed": pa.int32(), "value": pa.float64()}
    return table.cast(pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS]))
