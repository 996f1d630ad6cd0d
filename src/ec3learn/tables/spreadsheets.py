"""Spreadsheets, whose cells are read and written as text where they are no numbers."""

from __future__ import annotations

from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .._checks import require_library
from .._text import UNSHOWN, first_line

if TYPE_CHECKING:
    from .formats import Source


def read_sheet(source: Source) -> Any:
    """Read the cells of a sheet as an Arrow table of text; columns may have no name."""
    require_library("Reading a spreadsheet", "fastexcel", "excel")
    import fastexcel

    try:
        book = fastexcel.read_excel(source.path)
        cells = book.load_sheet(source.sheet or 0, dtypes="string")
        heads = [
            "" if head.column_name_from == "generated" else head.name
            for head in cells.available_columns()
        ]
        table = pa.Table.from_batches([cells.to_arrow()])
    except fastexcel.FastExcelError as error:
        problem = f"cannot be read as a spreadsheet: {first_line(error)}"
        raise source.error(problem, "Save it again as .xlsx, or as CSV.") from None
    return table.rename_columns(heads)


def write_sheet(rows: Any, target: Path) -> None:
    """Write a spreadsheet, whose texts are texts even where they look like formulas."""
    require_library("Writing a spreadsheet", "openpyxl", "excel")
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("votes")
    sheet.append(rows.columns)
    for batch in rows.to_arrow_reader():
        for line in zip(*batch.to_pydict().values(), strict=True):
            cells = [WriteOnlyCell(sheet, _cell(value)) for value in line]
            for cell in cells:
                cell.data_type = "s" if cell.data_type == "f" else cell.data_type
            sheet.append(cells)
    book.save(target)


def _cell(value: Any) -> Any:
    """A value as a cell can hold it."""
    plain = value if isinstance(value, (bool, int, float, NoneType)) else str(value)
    return UNSHOWN.sub("\ufffd", plain) if isinstance(plain, str) else plain
