"""Tables in files, larger than memory: any format is read by DuckDB, and an output appears whole or not at all."""

from .combining import (
    AnsweredFile,
    combine_file,
    content_of_file,
    extend_file,
    open_file,
    read_labels,
)
from .formats import STANDARD, Format
from .table import FileTable
from .writing import require_outputs, write_table

__all__ = [
    "STANDARD",
    "AnsweredFile",
    "FileTable",
    "Format",
    "combine_file",
    "content_of_file",
    "extend_file",
    "open_file",
    "read_labels",
    "require_outputs",
    "write_table",
]
