"""Tables in files: every format gives back what was put in, and what can't be read or written is refused in one sentence."""

import csv
import datetime
import io
import json
import os
import re
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from ec3learn.cli.app import require_outputs
from ec3learn.tables import combine
from ec3learn.tables.columns import Naming
from ec3learn.tables.files import combine_file, content_of_file, open_file
from ec3learn.tables.formats import Format

from ..strategies import fuzzed

HOSTILE = [
    "a,b",
    'say "hi"',
    "two\nlines",
    "\r\n",
    "=1+1",
    "😀",
    "ÿ",
    " spaced ",
    "007",
    "1.0",
    "NA",
    "null",
    "true",
    "-",
    "'",
    "\\N",
]
FILES = [
    "csv",
    "csv.gz",
    "csv.zst",
    "tsv",
    "jsonl",
    "jsonl.gz",
    "jsonl.zst",
    "parquet",
    "arrow",
    "feather",
]


def opened(path, given=None, **options):
    return open_file(str(path), format=given, memory="200MB", **options)


def rows_of(path, given=None, **options):
    """What stands in a file, as a list of dicts."""
    with opened(path, given, **options) as table:
        return table.rows.to_arrow_table().to_pylist()


def put(folder, name, columns):
    """Write columns by the libraries that users have, and return the path."""
    path, frame = folder / name, pl.DataFrame(columns)
    if name.startswith("x.csv") or name.startswith("x.tsv"):
        plain = frame.write_csv(separator="\t" if ".tsv" in name else ",").encode()
    elif ".jsonl" in name:
        plain = "".join(
            json.dumps(row, ensure_ascii=False) + "\n" for row in frame.to_dicts()
        ).encode()
    elif ".parquet" in name:
        frame.write_parquet(path)
        return path
    else:
        frame.write_ipc(path, compat_level=pl.CompatLevel.oldest())
        return path
    compression = {"gz": "gzip", "zst": "zstd"}.get(name.rpartition(".")[2])
    with pa.output_stream(path, compression=compression) as file:
        file.write(plain)
    return path


def answered_of(
    table, method="majority", classifiers="vote", max_rows=1_000_000, proba=False, **options
):
    """Solve a table of a file, by default by its column `vote`."""
    return combine_file(
        table, Naming(classifiers, **options), method, proba=proba, prefix="", max_rows=max_rows
    )


def combined(path, out, **options):
    """Combine the column `vote` of a file, and return what was written."""
    with opened(path, beside=str(out)) as table:
        answered_of(table, **options).write(str(out), overwrite=True)
    return rows_of(out)


# ---- what goes in comes out ----------------------------------------------------------------------


@pytest.mark.parametrize("ending", FILES)
def test_every_format_gives_back_its_columns_and_the_labels_as_they_were(tmp_path, ending):
    labels = [*HOSTILE, None]
    path = put(tmp_path, f"x.{ending}", {"vote": labels, "n": [str(i) for i in range(len(labels))]})
    rows = combined(path, tmp_path / f"out.{ending}")
    assert [row["vote"] for row in rows] == labels
    assert [row["n"] for row in rows] == [str(i) for i in range(len(labels))]
    assert [row["consensus"] for row in rows[:-1]] == HOSTILE


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_any_format_can_be_written_from_any(tmp_path, ending):
    path = put(
        tmp_path, "x.jsonl", {"vote": ["a", "b", None], "n": [1, 2, 3], "f": [0.5, 1.0, None]}
    )
    rows = combined(path, tmp_path / f"out.{ending}")
    assert [str(row["n"]) for row in rows] == ["1", "2", "3"]
    assert [row["vote"] for row in rows] == ["a", "b", None]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
@given(
    st.lists(
        st.one_of(
            st.none(),
            st.text(
                st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
                min_size=1,
                max_size=5,
            ),
        ),
        min_size=1,
        max_size=6,
    ).filter(any)
)
@fuzzed(10)
def test_any_label_survives(tmp_path_factory, ending, labels):
    folder = tmp_path_factory.mktemp("files")
    path = put(
        folder,
        f"x.{ending}",
        {"vote": pl.Series(labels, dtype=pl.String), "n": ["x"] * len(labels)},
    )
    rows = combined(path, folder / f"out.{ending}")
    assert [None if row["vote"] is None else str(row["vote"]) for row in rows] == labels
    assert all(row["consensus"] is not None for row in rows)


def test_columns_of_parquet_keep_their_types(tmp_path):
    columns = {
        "vote": ["a", "b"],
        "i": pl.Series([1, None], dtype=pl.Int8),
        "t": pl.Series([0, 1]).cast(pl.Datetime("us")),
    }
    columns |= {
        "l": [[1, 2], []],
        "s": [{"x": 1}, {"x": None}],
        "f": pl.Series([0.5, None], dtype=pl.Float32),
    }
    path = put(tmp_path, "x.parquet", columns)
    combined(path, tmp_path / "out.parquet")
    before, after = pq.read_table(path), pq.read_table(tmp_path / "out.parquet")
    assert after.select(before.column_names).to_pylist() == before.to_pylist()
    for name in ("i", "t", "f"):
        assert after.schema.field(name).type == before.schema.field(name).type


# ---- labels keep their types ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "labels"),
    [
        ("1.0 2.0", [1, 2]),
        ("1 2.0", [1, 2]),
        ("-1.0 0.0", [-1, 0]),
        ("9007199254740993.0 1", [9007199254740993, 1]),
        *((f"1.0 {text}", ["1.0", text]) for text in ("x1.0", "007.0", "1.00", "1e3", "-0.0")),
        ("1.0 9999999999999999999.0", ["1.0", "9999999999999999999.0"]),
    ],
)
def test_text_is_whole_numbers_if_all_of_it_is_as_python_prints_them(tmp_path, fields, labels):
    one, other = fields.split(" ", 1)
    (tmp_path / "x.csv").write_text(f"a,b\n{one},\n,{other}\n")
    with opened(tmp_path / "x.csv") as table:
        classes = combine_file(table, Naming(["a", "b"]), "majority").consensus.classes
        rows = table.rows.fetchall()
    assert classes.tolist() == sorted(labels)
    assert rows == [(one, None), (None, other)]


@pytest.mark.parametrize(
    ("said", "text"), [("NA", "NA"), ("2", "2.0"), ("2.0", "2"), ("007", "007")]
)
def test_labels_that_mean_no_vote_hide_no_whole_numbers(tmp_path, said, text):
    (tmp_path / "x.csv").write_text(f"vote,b\n0,0\n{text},0\n1,1\n")
    with opened(tmp_path / "x.csv") as table:
        votes = content_of_file(table, Naming(["vote", "b"], missing=[said])).votes
    assert votes.classes.tolist() == [0, 1]


@pytest.mark.parametrize(("name", "classes"), [("i", [0]), ("t", ["NA"]), ("b", [False])])
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_labels_that_mean_no_vote_are_known_by_their_text(tmp_path, ending, name, classes):
    columns = {"i": [0, 2], "t": ["2", "NA"], "b": [True, False]}
    with opened(put(tmp_path, f"x.{ending}", columns)) as table:
        votes = content_of_file(table, Naming([name], missing=["2", "true"])).votes
    assert votes.classes.tolist() == classes


@pytest.mark.parametrize(
    "lines", ['{"vote": 1}\n{"vote": "1"}\n', '{"vote": 9007199254740993}\n{"vote": 0.5}\n']
)
def test_labels_of_several_kinds_in_json_are_refused(tmp_path, lines):
    (tmp_path / "x.jsonl").write_text(lines)
    with pytest.raises(ValueError, match="Column 'vote' must hold labels of one type"):
        combined(tmp_path / "x.jsonl", tmp_path / "out.csv")


@pytest.mark.parametrize(
    "text", ["vote;n\na;1\n", "vote\tn\na\t1\n", "vote|n\na|1\n", "vote,n\na,1\n"]
)
def test_the_delimiter_follows_from_the_first_line_and_is_kept(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    combined(tmp_path / "x.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().startswith(text[:6])


def test_an_arrow_file_of_several_batches_keeps_its_order(tmp_path):
    table = pa.table({"n": range(100_000), "vote": ["a", "b"] * 50_000})
    with (
        pa.OSFile(str(tmp_path / "x.arrow"), "wb") as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=30_000)
    combined(tmp_path / "x.arrow", tmp_path / "out.arrow")
    after = pl.read_ipc(tmp_path / "out.arrow")
    assert after["n"].to_list() == list(range(100_000))
    assert (after["consensus"] == after["vote"]).all()


@pytest.mark.parametrize(
    ("numbers", "written"),
    [
        ("9007199254740993 0.5 1", ["9007199254740993", "0.5", "1"]),
        ("9223372036854775808 0.5", ["9223372036854775808", "0.5"]),
        (
            "9223372036854775808 18446744073709551615",
            ["9223372036854775808", "18446744073709551615"],
        ),
        ("-9007199254740993 1", ["-9007199254740993", "1"]),
        ("9007199254740992 0.5", ["9007199254740992", "0.5"]),
    ],
)
def test_numbers_of_json_keep_their_digits(tmp_path, numbers, written):
    lines = [f'{{"vote": "a", "n": {number}}}' for number in numbers.split()]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    combined(tmp_path / "x.jsonl", tmp_path / "out.jsonl")
    assert re.findall(r'"n":([^,}]*)', (tmp_path / "out.jsonl").read_text()) == written


@pytest.mark.parametrize("name", ["Consensus", "consensus"])
@pytest.mark.parametrize("ending", ["csv"])
def test_a_column_named_like_a_new_one_is_refused_in_any_case(tmp_path, name, ending):
    path = put(tmp_path, f"x.{ending}", {"vote": ["a"], name: ["mine"]})
    with pytest.raises(
        ValueError,
        match=f"table must have no column '{name}', because .* is added. Rename it, or pass prefix",
    ):
        combined(path, tmp_path / "out.csv")


def test_rows_keep_their_order(tmp_path):
    n = 300_000  # more than a row group
    frame = pl.DataFrame({"n": range(n)}).with_columns(vote=pl.col("n") * 7919 % 5)
    frame.write_parquet(tmp_path / "x.parquet", row_group_size=50_000)
    combined(tmp_path / "x.parquet", tmp_path / "out.parquet")
    out = pl.read_parquet(tmp_path / "out.parquet")
    assert out["n"].to_list() == list(range(n))
    assert (out["consensus"] == out["vote"]).all()


def test_numbers_beyond_64_bits_and_nested_values_of_json_are_kept(tmp_path):
    lines = [
        '{"vote":"a","big":123456789012345678901234567890,"deep":[1,{"x":null}]}',
        '{"vote":"b","big":1,"late":true}',
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    combined(tmp_path / "x.jsonl", tmp_path / "out.jsonl")
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert first["big"] == 123456789012345678901234567890
    assert first["deep"] == [1, {"x": None}]
    assert second["late"] is True


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
@pytest.mark.parametrize("ending", ["csv"])
def test_other_encodings_are_read(tmp_path, encoding, ending):
    text = "vote\né\n" if ending == "csv" else '{"vote": "é"}\n'
    (tmp_path / f"x.{ending}").write_bytes(text.encode(encoding))
    assert rows_of(tmp_path / f"x.{ending}", encoding=encoding) == [{"vote": "é"}]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path, ending):
    text = "vote,b\nx,y\n" if ending == "csv" else '{"vote": "x", "b": "y"}\n'
    (tmp_path / f"x.{ending}").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert rows_of(tmp_path / f"x.{ending}") == [{"vote": "x", "b": "y"}]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(tmp_path, newline):
    (tmp_path / "x.csv").write_bytes(newline.join(["a,b", "1,2", "", "3,", ""]).encode())
    assert rows_of(tmp_path / "x.csv") == [{"a": "1", "b": "2"}, {"a": "3", "b": None}]


def test_an_empty_line_is_a_missing_value_of_a_single_column(tmp_path):
    (tmp_path / "x.csv").write_text("vote\na\n\nb\n")
    assert rows_of(tmp_path / "x.csv") == [{"vote": "a"}, {"vote": None}, {"vote": "b"}]


def test_a_column_without_a_name_is_called_after_its_place(tmp_path):
    (tmp_path / "x.csv").write_text(",vote\n0,a\n")
    assert rows_of(tmp_path / "x.csv") == [{"column_1": "0", "vote": "a"}]


def test_hostile_names_of_columns_and_files_are_only_names(tmp_path):
    folder = tmp_path / "it's [a] * ?"
    folder.mkdir()
    names = ['a"b', "x.y", "drop table;", "'", "é", "count(*)"]
    path = folder / "k=v *.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([[*names, "vote"], [*"123456", "u"]])
    assert list(combined(path, folder / "o'ut [1].parquet")[0]) == [
        *names,
        "vote",
        "consensus",
        "confidence",
    ]


def test_an_arrow_stream_is_read_as_a_file_is(tmp_path):
    table = pa.table({"vote": ["a", None]})
    with (
        pa.OSFile(str(tmp_path / "x.arrow"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as writer,
    ):
        writer.write_table(table)
    assert rows_of(tmp_path / "x.arrow") == table.to_pylist()


# ---- spreadsheets --------------------------------------------------------------------------------


def workbook(folder, **sheets):
    """Write sheets, given as rows, and return the path."""
    pytest.importorskip("fastexcel", reason="spreadsheets are read by fastexcel (extra excel)")
    book = pytest.importorskip(
        "openpyxl", reason="openpyxl writes the spreadsheets of this test"
    ).Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(folder / "x.xlsx")
    return folder / "x.xlsx"


def test_cells_of_a_spreadsheet_are_read_as_fields_of_a_csv_file(tmp_path):
    day = datetime.date(2024, 5, 17)
    path = workbook(
        tmp_path,
        votes=[["vote", "mixed", "day"], ["a", 1, day], [None, "unsure", None], ["007", 0.25, day]],
    )
    assert rows_of(path) == [
        {"vote": "a", "mixed": "1", "day": "2024-05-17 00:00:00"},
        {"vote": None, "mixed": "unsure", "day": None},
        {"vote": "007", "mixed": "0.25", "day": "2024-05-17 00:00:00"},
    ]
    assert [row["consensus"] for row in combined(path, tmp_path / "out.csv")][::2] == ["a", "007"]


def test_a_spreadsheet_is_found_by_its_content_on_standard_input(tmp_path, monkeypatch):
    path = workbook(tmp_path, votes=[["vote"], ["a"]])
    with open(path, "rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        assert rows_of("-", "excel") == [{"vote": "a"}]


def test_another_sheet_than_the_first_is_read_by_its_name(tmp_path):
    path = workbook(tmp_path, first=[["vote"], ["a"]], second=[["vote"], ["b"]])
    assert rows_of(path, sheet="second") == [{"vote": "b"}]
    assert rows_of(path) == [{"vote": "a"}]
    with pytest.raises(ValueError, match=r"x.xlsx cannot be read as a spreadsheet: .*third"):
        rows_of(path, sheet="third")


def test_a_column_of_a_spreadsheet_without_a_name_is_called_after_its_place(tmp_path):
    path = workbook(tmp_path, votes=[["vote", None], ["a", "b"]])
    assert rows_of(path) == [{"vote": "a", "column_2": "b"}]


def test_a_spreadsheet_is_written_with_its_texts_as_texts(tmp_path):
    texts = ["=1+1", "'quoted", "a\vb", "007"]
    path = put(
        tmp_path, "x.jsonl", {"vote": texts, "n": [1, 2, None, 4], "f": [0.5, 1.5, 2.5, None]}
    )
    rows = combined(path, tmp_path / "out.xlsx")
    assert [row["vote"] for row in rows] == ["=1+1", "'quoted", "a\ufffdb", "007"]
    assert [row["n"] for row in rows] == ["1", "2", None, "4"]
    assert list(rows[0]) == ["vote", "n", "f", "consensus", "confidence"]
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    kinds = [cell.data_type for cell in book.active[2]]
    assert kinds == ["s", "n", "n", "s", "n"]


def test_an_old_spreadsheet_is_only_read(tmp_path):
    path = put(tmp_path, "x.csv", {"vote": ["a", "b"]})
    with pytest.raises(
        ValueError, match=r"The format of '.*out.xls' is not known. Pass out_format: csv"
    ):
        combined(path, tmp_path / "out.xls")
    assert Format.of("x.xlsx").for_output("-", None).name == "csv"


def test_a_spreadsheet_without_its_library_tells_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    (tmp_path / "x.xlsx").write_bytes(b"")
    words = "Reading a spreadsheet needs fastexcel: pip install 'ec3learn[excel]'."
    with pytest.raises(ModuleNotFoundError, match=re.escape(words)):
        rows_of(tmp_path / "x.xlsx")


# ---- what can't be read --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.csv", b"", "must name its columns in the first line, got an empty one."),
        (
            "x.csv",
            b"a,b\n1,2\n3\n",
            "must have 2 fields in every line, as in the first, got 1 in line 3.",
        ),
        (
            "x.csv",
            b"a,b\n1,2,3\n",
            "must have 2 fields in every line, as in the first, got 3 in line 2.",
        ),
        ("x.csv", b'a,b\n1,"2\n3,4\n', "must close every quote"),
        ("x.csv", b'a,b\n5" disk,"2', "must close every quote"),
        ("x.csv", b'a\n"', "must close every quote"),
        ("x.csv", b"a,b\r\n1,2\n3,4\r\n", "must end all its lines in the same way."),
        ("x.csv", b'a,b\n1,"' + b"4,5\n" * 2_000_000, "must "),
        ("x.csv", b"a,a\n1,2\n", "cannot be read as csv: "),
        ("x.csv", b"a,b\n\xe9,2\n", "Pass another encoding, such as latin-1 or utf-16."),
        (
            "x.csv",
            "a,b\n1,2\n".encode("utf-16"),
            "Pass another encoding, such as latin-1 or utf-16.",
        ),
        ("x.csv.gz", b"no gzip", "cannot be read as csv: "),
        ("x.csv.zst", b"no zstd", "cannot be read as csv: "),
        ("x.jsonl", b"", "must hold a JSON object in each line."),
        (
            "x.jsonl",
            b'{"a": 1}\n{"a": \n',
            "must hold a JSON object in each line, got unexpected end",
        ),
        ("x.jsonl", b'{"a": 1}\n5\n', "must hold a JSON object in each line."),
        ("x.jsonl", b'[{"a": 1}]\n', "must hold a JSON object in each line."),
        ("x.jsonl", b'{"a": 1, "a": 2}\n', 'got the key "a" twice.'),
        ("x.jsonl", b'{"a": "\xff"}\n', "Pass another encoding, such as latin-1 or utf-16."),
        ("x.parquet", b"", "cannot be read as parquet: "),
        ("x.parquet", b"PAR1 and nonsense PAR1", "cannot be read as parquet: "),
        ("x.arrow", b"ARROW1 and nonsense", "cannot be read as arrow: "),
        ("x.xlsx", b"", "cannot be read as a spreadsheet: "),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(words)) as refused:
        rows_of(tmp_path / name)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path / name))


def test_an_arrow_file_whose_texts_end_beyond_it_is_refused(tmp_path):
    path, table = tmp_path / "x.arrow", pa.table({"vote": ["a", "bb", "c"]})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    ends, wrong = (np.array([0, 1, 3, end], dtype=np.int32).tobytes() for end in (4, 1 << 30))
    assert ends in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(ends, wrong))
    with pytest.raises(ValueError, match="cannot be read as arrow: "):
        rows_of(path)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl.gz"])
@fuzzed(25)
@given(place=st.floats(0, 1), bit=st.integers(0, 7))
def test_a_file_with_one_bit_flipped_is_a_table_or_is_refused(tmp_path_factory, ending, place, bit):
    folder = tmp_path_factory.mktemp("flipped")
    path = put(folder, f"x.{ending}", {"vote": ["a", "b"] * 40, "n": list(range(80))})
    content = bytearray(path.read_bytes())
    content[int(place * (len(content) - 1))] ^= 1 << bit
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with opened(path) as table:
                answered_of(table, classifiers=["vote"]).write(str(folder / "out.csv"))
        except ValueError as refused:
            assert "\n" not in str(refused) and "Traceback" not in str(refused)


@pytest.mark.parametrize("memory", ["lots"])
def test_memory_is_a_size(tmp_path, memory):
    path = put(tmp_path, "x.csv", {"vote": ["a"]})
    words = re.escape(f"memory must be a size such as '800MB' or '4GB', got '{memory}'.")
    with pytest.raises(ValueError, match=words), open_file(str(path), memory=memory):
        pass


@pytest.mark.parametrize("ending", ["csv", "jsonl.gz", "parquet"])
@fuzzed(10)
@given(data=st.data())
def test_a_file_that_was_cut_is_refused_unless_all_its_rows_but_the_last_are_whole(
    tmp_path_factory, ending, data
):
    folder = tmp_path_factory.mktemp("cut")
    labels = data.draw(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=6))
    rows = [{"vote": label, "n": str(i)} for i, label in enumerate(labels)]
    if "csv" in ending:  # as some programs do, with quotes around everything
        cells = [["vote", "n"], *map(list, map(dict.values, rows))]
        lines = (
            ",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in cells
        )
        with pa.output_stream(
            folder / f"x.{ending}", compression={"gz": "gzip", "zst": "zstd"}.get(ending[4:])
        ) as file:
            file.write("".join(lines).encode())
    else:
        put(folder, f"x.{ending}", {name: [row[name] for row in rows] for name in ("vote", "n")})
    path = folder / f"x.{ending}"
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 2))])
    try:
        found = rows_of(path)
    except (ValueError, UserWarning) as refused:
        assert "\n" not in str(refused)
    else:
        # A last line of two fields, one empty, looks whole.
        sure = max(len(found) - 1, 0) if ending == "csv" else len(found)
        assert found[:sure] == rows[:sure]


def test_a_wrong_label_is_counted_by_rows_of_the_file(tmp_path):
    said = ["a"] * 40 + ["c", "d"] * 13
    path = put(tmp_path, "x.csv", {"n": [str(i) for i in range(66)], "vote": said})
    words = "got 'c' at row 40 of the file, counted from 0, in column 'vote' and 25 more like it. Pass missing='c'"
    with opened(path) as table, pytest.raises(ValueError, match=re.escape(words)):
        answered_of(table, classes=["a", "b"])
    with (
        opened(path) as table,
        pytest.raises(
            ValueError, match=re.escape("'c' at row 40 of the file, counted from 0, in column 'vo")
        ),
    ):
        answered_of(table, classes=["a", "b"], scale=["a", "b"])


def test_wrong_probabilities_are_counted_by_rows_of_the_file(tmp_path):
    path = put(
        tmp_path,
        "x.csv",
        {"p_a": ["0.9"] * 5 + ["0.8"] * 3 + ["0.1"], "p_b": ["0.1"] * 5 + ["0.4"] * 3 + ["0.9"]},
    )
    words = "got a row that sums to 1.2 at row 5 of the file, counted from 0, in column 'm', and 2 more. Pass normalize=True to divide each row by its sum."
    with opened(path) as table, pytest.raises(ValueError, match=re.escape(words)):
        answered_of(table, classifiers={"m": "p_*"})


@pytest.mark.parametrize("ending", ["csv.gz", "jsonl", "parquet", "xlsx"])
@given(
    st.binary(max_size=60)
    | st.sampled_from([b"a,b\n", b'{"a":1}\n', b"PAR1", b"ARROW1\0\0", b"PK\x03\x04"]).flatmap(
        lambda head: st.binary(max_size=40).map(head.__add__)
    )
)
@fuzzed(25)
def test_any_bytes_are_a_table_or_are_refused(tmp_path_factory, ending, content):
    path = tmp_path_factory.mktemp("fuzz") / f"x.{ending}"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rows_of(path)
        except ValueError as refused:
            assert "\n" not in str(refused)


# ---- what can't be written -----------------------------------------------------------------------


@pytest.mark.posix
def test_a_file_can_replace_itself(tmp_path):
    path = put(tmp_path, "x.parquet", {"vote": ["a", "b", "b"]})
    path.chmod(0o640)
    rows = combined(path, path)
    assert [row["consensus"] for row in rows] == ["a", "b", "b"]
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.posix
def test_a_link_stays_a_link(tmp_path):
    path = put(tmp_path, "x.csv", {"vote": ["a"]})
    (tmp_path / "real.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    combined(path, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert "consensus" in (tmp_path / "real.csv").read_text()


def test_the_output_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    path, out, steps = put(tmp_path, "x.csv", {"vote": ["a"]}), tmp_path / "out.csv", []
    flush, rename = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda file: (steps.append(("flushed", os.fstat(file).st_ino)), flush(file))
    )
    monkeypatch.setattr(
        os,
        "replace",
        lambda one, other: (steps.append(("named", os.stat(one).st_ino)), rename(one, other)),
    )
    combined(path, out)
    assert steps == [("flushed", out.stat().st_ino), ("named", out.stat().st_ino)]


def test_an_output_that_appears_meanwhile_is_not_replaced(tmp_path):
    path, out = put(tmp_path, "x.csv", {"vote": ["a"]}), tmp_path / "out.csv"
    with opened(path, beside=str(out)) as table:
        answered = answered_of(table)
        out.write_text("precious")
        with pytest.raises(
            FileExistsError,
            match=re.escape("out.csv exists already. Pass overwrite=True to replace it."),
        ):
            answered.write(str(out))
    assert out.read_text() == "precious"


def test_duckdb_never_fetches_an_extension(tmp_path):
    with opened(put(tmp_path, "x.csv", {"vote": ["a"]})) as table:
        for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
            assert table.work.connection.sql(f"SELECT current_setting('{setting}')").fetchall() == [
                (False,)
            ]


@pytest.mark.parametrize("ending", ["csv.gz", "parquet"])
def test_files_are_read_solved_and_written_without_a_socket(tmp_path, ending):
    put(tmp_path, f"x.{ending}", {"vote": ["a", "b", "b"]})
    program = "import sys; sys.addaudithook(lambda event, _: event.startswith('socket.') and sys.exit(f'touched {event}'))\n"
    program += PROGRAM.replace("while True:", "if True:")
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / f"x.{ending}", tmp_path / f"out.{ending}"],
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_nothing_is_left_beside_the_output(tmp_path):
    path = put(tmp_path, "x.csv", {"vote": ["a"]})
    combined(path, tmp_path / "out.csv")
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "x.csv"]


def test_a_traceback_of_an_engine_is_no_part_of_the_sentence(tmp_path):
    path = put(tmp_path, "x.arrow", {"vote": ["a", "b"]})
    with pytest.raises(ValueError, match=r"cannot be read as arrow: first\.$"), opened(path):
        raise pa.ArrowInvalid("first Detail: Python exception: Traceback (most recent call last):")


def test_a_line_that_is_too_long_is_told(tmp_path):
    (tmp_path / "x.csv").write_text(f"vote,b\na,b\na,{'z' * (1 << 25)}\n")
    with pytest.raises(ValueError, match="must have lines of at most 4 MB"):
        rows_of(tmp_path / "x.csv")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_device_that_is_full_is_told(tmp_path):
    path = put(tmp_path, "x.csv", {"vote": ["a"]})
    with opened(path) as table, pytest.raises(OSError, match="No space left on device"):
        answered_of(table).write("/dev/full", "csv")
    assert not Path("/dev/full").is_file()


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_full_disk_leaves_the_old_output_whole(tmp_path, ending):
    frame = pl.DataFrame({"vote": ["a", "b"] * 50_000}).with_columns(
        n=pl.int_range(pl.len()).hash()
    )
    frame.write_parquet(tmp_path / "x.parquet")
    out = tmp_path / f"out.{ending}"
    out.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (100_000, hard)
    )  # what a full disk does, for files of this process
    try:
        with pytest.raises(OSError, match="cannot be written: "):
            combined(tmp_path / "x.parquet", out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert out.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == [out.name, "x.parquet"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "arrow"])
def test_a_full_disk_is_not_the_fault_of_the_input(tmp_path, ending):
    numbers = np.random.default_rng(0).integers(2**60, size=40_000)
    path = put(
        tmp_path,
        f"x.{ending}",
        {"vote": ["a", "b"] * 20_000, "n": [str(number) for number in numbers]},
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        words = f"No space is left for working files in {re.escape(str(tmp_path))}. Free some, or pass out in another folder."
        with pytest.raises(OSError, match=words), opened(path, beside=str(tmp_path / "out.csv")):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("argument", ["save", "report", "known"])
def test_no_output_but_out_may_be_a_file_that_is_read(tmp_path, argument):
    path = put(tmp_path, "x.csv", {"vote": ["a"]})
    (tmp_path / "link").symlink_to(path)
    require_outputs({"out": str(path)}, True, [str(path)], [str(path)])
    with pytest.raises(
        ValueError, match=f"{argument} must not be a file that is read, got '.*link'"
    ):
        require_outputs({argument: str(tmp_path / "link")}, True, [str(path)], [str(path)])
    with pytest.raises(ValueError, match=r"out must not be a file that is read, got '.*x.csv'"):
        require_outputs({"out": str(path)}, True, [str(path)])


def many_rows(path, labels, n_rows=50_000):
    """Write a table of several row groups, whose votes are drawn from labels and null."""
    rng = np.random.default_rng(0)
    votes = {
        f"v{j}": [[*labels, None][z] for z in rng.integers(len(labels) + 1, size=n_rows)]
        for j in range(3)
    }
    table = pl.DataFrame({"id": range(n_rows), **votes, "said, 'so'": ['\n"', "é"] * (n_rows // 2)})
    table.write_parquet(path, row_group_size=3_000)
    return table


@pytest.mark.filterwarnings("ignore:.* no vote")
@pytest.mark.parametrize("labels", [["a", "b'", "\n,"], [-1, 7, 2**40], [True, False]])
def test_answers_are_those_of_the_table_in_memory_in_its_order(tmp_path, labels):
    table = many_rows(tmp_path / "x.parquet", labels)
    with opened(tmp_path / "x.parquet") as rows:
        answered = answered_of(rows, "iec3", ["v0", "v1", "v2"], proba=True)
        answered.write(str(tmp_path / "out.parquet"))
    in_memory = combine(table, classifiers=["v0", "v1", "v2"], method="iec3", proba=True)
    assert_frame_equal(pl.read_parquet(tmp_path / "out.parquet"), in_memory)


PROGRAM = """
import sys
from ec3learn.tables.columns import Naming
from ec3learn.tables.files import combine_file, open_file
source, out = sys.argv[1:]
with open_file(source, beside=out) as table:
    answered = combine_file(table, Naming("vote"), prefix="", max_rows=10)
    print("writing", flush=True)
    while True:
        answered.write(out, overwrite=True)
"""


@pytest.mark.parametrize("pause", [0.0, 0.1])
def test_killed_at_any_moment_the_output_is_whole(tmp_path, pause):
    pl.DataFrame({"vote": ["a", "b"] * 20_000}).write_parquet(tmp_path / "x.parquet")
    out = tmp_path / "out.csv"
    out.write_text("old\n")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, tmp_path / "x.parquet", out], stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"writing\n"
    time.sleep(pause)
    process.kill()
    process.communicate()
    lines = out.read_text().splitlines()
    assert lines == ["old"] or (len(lines) == 40_001 and lines[-1].startswith("b,b,"))
    assert {name for name in os.listdir(tmp_path) if not name.startswith(".ec3learn-")} == {
        "out.csv",
        "x.parquet",
    }


@pytest.mark.parametrize(
    ("path", "given", "delimiter", "words"),
    [
        (
            "votes.db",
            None,
            None,
            "The format of 'votes.db' is not known. Pass format: csv, tsv, jsonl, parquet, arrow, excel, "
            "label-studio, argilla;",
        ),
        (
            "votes.xlsx.gz",
            None,
            None,
            "The format of 'votes.xlsx.gz' is not known.",
        ),
        ("-", None, None, "The format of '-' is not known. Pass format: csv, tsv, jsonl, parquet,"),
        ("x.parquet.gz", None, None, "The format of 'x.parquet.gz' is not known."),
        (
            "x.csv",
            "xml",
            None,
            "Unknown format 'xml'. Pass format: csv, tsv, jsonl, parquet, arrow, excel, label-studio, argilla;",
        ),
        (
            "x.csv",
            None,
            "ab",
            "delimiter must be a single character, for CSV only, got 'ab' for csv.",
        ),
        (
            "x.parquet",
            None,
            ";",
            "delimiter must be a single character, for CSV only, got ';' for parquet.",
        ),
    ],
)
def test_an_unknown_format_is_refused(path, given, delimiter, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        Format.of(path, given, delimiter)


@pytest.mark.parametrize(
    "path", ["x.CSV", "a.b.tsv.gz", "x.ndjson.zst", "x.pq", "x.ipc", "-", "x.XLSX", "x.ods"]
)
def test_the_format_is_found_by_the_name_or_as_said(path):
    assert Format.of(path, "csv" if path == "-" else None).name in (
        "csv",
        "tsv",
        "jsonl",
        "parquet",
        "arrow",
        "excel",
    )


def test_a_tab_may_be_written_as_backslash_t():
    assert Format.of("x.csv", None, "\\t").delimiter == "\t"
