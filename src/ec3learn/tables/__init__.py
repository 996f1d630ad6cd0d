"""Tables of any kind in, the same kind out: pandas, polars, Arrow, DuckDB, Dask and Spark.

Rows with the same votes and clusters get the same answer. So an engine counts its distinct rows,
only these come to this process and are solved, and the engine joins the answers back; nulls match
nulls. Where there are too many of them, the most frequent ones are solved, and the engine answers
for every row from the table of the groups.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .combining import combine, extend, votes_from
    from .exports import (
        argilla_suggestions,
        label_studio_predictions,
        read_argilla,
        read_label_studio,
    )

__all__ = [
    "argilla_suggestions",
    "combine",
    "extend",
    "label_studio_predictions",
    "read_argilla",
    "read_label_studio",
    "votes_from",
]


def __getattr__(name: str) -> Any:
    """Load a name from its module; the command needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "combining" if name in ("combine", "extend", "votes_from") else "exports"
    return getattr(import_module(f".{home}", __name__), name)
