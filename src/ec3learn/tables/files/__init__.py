"""Tables in files, larger than memory: any format is read as Parquet by DuckDB, and an output appears whole or not at all."""

from .applying import like_model
from .formats import STANDARD, Format
from .lookup import named_rows
from .reading import ROW, FileTable, read
from .workspace import Workspace, workspace
from .writing import require_free, write

__all__ = [
    "ROW",
    "STANDARD",
    "FileTable",
    "Format",
    "Workspace",
    "like_model",
    "named_rows",
    "read",
    "require_free",
    "workspace",
    "write",
]
