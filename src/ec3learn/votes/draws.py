"""Labels that come as the table of `Consensus.ask`: objects, their chances and their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._table import Table
from .labels import is_missing, plain
from .reading import frame_of

CHOSEN = ("label", "vote")  # goals of `ask` that choose objects, so that no chance drew them


@dataclass(frozen=True)
class Draw:
    """The labelled rows of such a table."""

    objects: Sequence[Any]
    labels: Sequence[Any]
    chances: Sequence[float]  # to be drawn: 0 if it was chosen, NaN if that is unknown


def draw_of(known: Any) -> Draw | None:
    """The draw in a table with the columns label, and chance or goal; None for anything else."""
    columns = known.columns if isinstance(known, Table) else {}
    if not isinstance(known, (Table, dict)) and (frame := frame_of(known)) is not None:
        columns = {name: frame[name].to_list() for name in frame.columns}
    if "label" not in columns or not {"chance", "goal"} & set(columns):
        return None
    names = columns.get("object", next(iter(columns.values())))
    nothing = [None] * len(names)
    chances = map(chance_of, columns.get("chance", nothing), columns.get("goal", nothing))
    rows = zip(map(plain, names), map(plain, columns["label"]), chances, strict=True)
    labelled = [row for row in rows if not is_missing(row[1]) and row[1] != ""]
    return Draw(*zip(*labelled, strict=True)) if labelled else Draw((), (), ())


def chance_of(chance: Any, goal: Any) -> float:
    """The chance of an object to be drawn, as in `Draw`."""
    if not is_missing(chance) and chance != "":
        return float(chance)
    return 0.0 if goal in CHOSEN else np.nan
