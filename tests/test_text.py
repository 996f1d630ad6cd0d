"""Table: columns by name, as text, HTML and any dataframe."""

import re

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ec3learn import Table


@pytest.fixture
def table():
    return Table({"model": ["svm", "k<nn"], "weight": [1.25, None], "n": [3, 10]})


def test_text_aligns_numbers_to_the_right(table):
    assert repr(table).splitlines() == ["model  weight   n", "svm     1.250   3", "k<nn           10"]


def test_a_table_without_rows_shows_its_heads():
    assert repr(Table({"a": [], "b": []})) == "a  b"


def test_a_table_without_columns_is_empty():
    assert len(Table({})) == 0
    assert list(Table({}).rows()) == []


def test_rows_are_dicts(table):
    assert list(table.rows())[1] == {"model": "k<nn", "weight": None, "n": 10}
    assert len(table) == 2


def test_html_is_escaped():
    html = Table({"<b>": ["<script>alert(1)</script>"]})._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<b>" not in html


@pytest.mark.parametrize(("backend", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)])
def test_it_becomes_any_dataframe(table, backend, frame):
    made = table.to_frame(backend)
    assert isinstance(made, frame)
    assert list(made["model"]) == ["svm", "k<nn"] or made["model"].to_pylist() == ["svm", "k<nn"]


def test_an_unknown_column_is_refused(table):
    with pytest.raises(KeyError, match=re.escape("Unknown column 'wait'. Choose from: model, weight, n.")):
        table["wait"]


def test_a_dataframe_library_that_is_not_there_is_named(table):
    message = "A modin table needs modin: pip install modin."
    with pytest.raises(ModuleNotFoundError, match=re.escape(message)):
        table.to_frame("modin")
