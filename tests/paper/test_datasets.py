"""Data sets: where they are looked for, and what happens on the way from the network."""

import gzip
import hashlib
import http.server
import io
import json
import re
import subprocess
import sys
import threading
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ec3learn.paper import datasets
from ec3learn.paper.datasets import DatasetError, load
from ec3learn.paper.datasets.registry import DATASETS

MAIL = (
    "\n".join(
        ",".join([*(f"{(i * j) % 7 / 10}" for j in range(57)), str(i % 2)]) for i in range(40)
    )
    + "\n"
)


def zipped(**files):
    """An archive, the same bytes whenever it is made."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name.replace("__", "."), (2020, 1, 1, 0, 0, 0))
            archive.writestr(info, text)
    return content.getvalue()


class Server(http.server.ThreadingHTTPServer):
    """Serves bytes by path; may cut answers off, or not know how to go on in the middle."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.ranges, self.cut = {}, [], True, None
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        content = self.server.files[self.path]
        wanted = self.headers.get("Range")
        self.server.asked.append(wanted)
        start = int(re.match(r"bytes=(\d+)-", wanted)[1]) if wanted and self.server.ranges else 0
        if wanted and self.server.ranges and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start : self.server.cut])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = Server()
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of our own, and no folder."""
    monkeypatch.setenv("EC3LEARN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EC3LEARN_DATA", raising=False)
    return tmp_path / "cache" / "datasets"


@pytest.fixture
def mail(server, monkeypatch):
    """Spambase, small, on our server, with its checksum known."""
    content = zipped(spambase__data=MAIL)
    server.files["/spambase.zip"] = content
    put(
        monkeypatch,
        "spambase",
        server,
        "/spambase.zip",
        (40, 57, 2),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    return content


def put(monkeypatch, name, server, path, shape, **known):
    there = replace(DATASETS[name], url=server.url + path, shape=shape, **{"sha256": None} | known)
    monkeypatch.setitem(DATASETS, name, there)


# ---- where they are looked for -------------------------------------------------------------------


def test_a_folder_comes_before_the_cache_and_the_cache_before_the_network(
    tmp_path, cache, mail, server
):
    for place, n_rows in ((tmp_path / "mine", 3), (cache, 4)):
        place.mkdir(parents=True)
        pd.DataFrame({"x": range(n_rows), "target": ["a"] * n_rows}).to_parquet(
            place / "spambase.parquet"
        )
    assert len(load("spambase", tmp_path / "mine").X) == 3
    assert len(load("spambase").X) == 4
    (cache / "spambase.parquet").unlink()
    assert len(load("spambase").X) == 40


def test_the_folder_may_be_named_by_the_environment(tmp_path, monkeypatch):
    pd.DataFrame({"x": [1.0], "target": ["a"]}).to_parquet(tmp_path / "magic.parquet")
    monkeypatch.setenv("EC3LEARN_DATA", str(tmp_path))
    assert load("magic").source == f"folder ({tmp_path / 'magic.parquet'})"


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(
        DatasetError,
        match=re.escape(f"folder must be a folder with Parquet files, got '{tmp_path / 'no'}'."),
    ):
        load("magic", tmp_path / "no")


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(
        ValueError,
        match=r"Unknown data set 'Spambse'. Did you mean 'spambase'\? Choose from: titanic, ",
    ):
        load("Spambse")


@pytest.mark.parametrize("act", [lambda: load("magic", 5), lambda: datasets.at_hand(5)])
def test_what_is_no_folder_s_name_is_refused(act):
    with pytest.raises(
        TypeError, match=r"^folder must be the name of a folder with Parquet files, got 5\.$"
    ):
        act()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((-1,), "n_rows must be an integer >= 0, got -1."),
        ((2.5,), "n_rows must be an integer >= 0, got 2.5."),
        ((9, "x"), "seed must be an integer >= 0, a numpy Generator or None, got 'x'."),
    ],
)
def test_waveforms_that_can_not_be_made_are_refused(given, words):
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        datasets.waveforms(*given)


def test_users_see_what_they_need():
    assert datasets.__all__ == [
        "Dataset",
        "DatasetError",
        "at_hand",
        "cache_folder",
        "load",
        "names",
        "waveforms",
    ]


def test_a_file_cut_off_is_refused(tmp_path):
    (tmp_path / "magic.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DatasetError, match=r"magic.parquet cannot be read as Parquet \("):
        load("magic", tmp_path)


def test_the_class_must_be_the_last_column(tmp_path):
    pd.DataFrame({"target": ["a"], "x": [1.0]}).to_parquet(tmp_path / "magic.parquet")
    with pytest.raises(
        DatasetError, match="The last column of magic must be 'target', the class, got 'x'"
    ):
        load("magic", tmp_path)


def test_what_can_only_be_in_a_folder_says_so():
    with pytest.raises(
        DatasetError,
        match=r"sensor_sample is not published .* Set EC3LEARN_DATA to a folder with sensor_sample",
    ):
        load("sensor_sample")


def test_iris_and_waveform_need_no_file_and_say_what_they_are():
    assert load("iris").source.startswith("scikit-learn's copy")
    made = load("waveform")
    assert made.source == "made from the published definition (seed 0), not UCI's own 5,000 rows"
    assert (made.X.shape, made.n_classes) == ((5000, 21), 3)


def test_waveforms_are_mixtures_of_the_published_waves():
    frame = datasets.waveforms(60_000, seed=1)
    means = frame.groupby("target", observed=True).mean().to_numpy()
    first, second = (
        np.maximum(6 - np.abs(np.arange(1, 22) - 7), 0),
        np.maximum(6 - np.abs(np.arange(1, 22) - 15), 0),
    )
    np.testing.assert_allclose(means[0], (first + second) / 2, atol=0.05)


def test_content_changes_with_a_cell(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "target": ["a", "b"]})
    frame.to_parquet(tmp_path / "magic.parquet")
    before = load("magic", tmp_path).content
    frame.assign(x=[1.0, 2.5]).to_parquet(tmp_path / "magic.parquet")
    assert load("magic", tmp_path).content != before


# ---- the network ---------------------------------------------------------------------------------


def test_a_data_set_is_fetched_once(mail, server, cache):
    first = load("spambase")
    server.shutdown()
    again = load("spambase")
    pd.testing.assert_frame_equal(first.X, again.X)
    assert again.source == f"cache ({cache / 'spambase.parquet'})"
    assert list(again.classes) == ["nonspam", "spam"]
    assert [path.name for path in sorted(cache.iterdir())] == ["spambase.json", "spambase.parquet"]


def test_a_download_that_was_cut_off_goes_on(mail, server, cache):
    server.cut = 100
    with pytest.raises(
        DatasetError,
        match=r"spambase could not be downloaded .*cut off; the next call resumes from here",
    ):
        load("spambase")
    assert (cache / "spambase.part").read_bytes() == mail[:100]
    server.cut = None
    load("spambase")
    assert server.asked == [None, "bytes=100-"]


def test_a_download_begins_anew_where_the_server_can_not_go_on(mail, server, cache):
    cache.mkdir(parents=True)
    (cache / "spambase.part").write_bytes(b"left from yesterday")
    server.ranges = False
    assert len(load("spambase").X) == 40


def test_a_whole_file_left_from_a_kill_is_taken(mail, server, cache):
    cache.mkdir(parents=True)
    (cache / "spambase.part").write_bytes(mail)
    assert len(load("spambase").X) == 40


def test_another_checksum_is_refused_and_nothing_kept(mail, server, cache):
    server.files["/spambase.zip"] = zipped(spambase__data=MAIL.replace("0.1", "0.2", 1))
    with pytest.raises(
        DatasetError,
        match=r"must have the sha256 \w+, got \w+; it was deleted\. Try again when the network is up, or set",
    ):
        load("spambase")
    assert list(cache.iterdir()) == []


def test_without_a_known_checksum_the_first_download_sets_it(server, monkeypatch, cache):
    server.files["/magic.zip"] = zipped(magic04__data="1,2,3,4,5,6,7,8,9,10,g\n")
    put(monkeypatch, "magic", server, "/magic.zip", (1, 10, 1))
    load("magic")
    (cache / "magic.parquet").unlink()
    server.files["/magic.zip"] = zipped(magic04__data="1,2,3,4,5,6,7,8,9,11,g\n")
    with pytest.raises(
        DatasetError, match=r"must have the sha256 .* magic.json records that of the first download"
    ):
        load("magic")


def test_published_rows_features_and_classes_are_checked(server, monkeypatch, cache):
    server.files["/magic.zip"] = zipped(magic04__data="1,2,3,4,5,6,7,8,9,10,g\n")
    put(monkeypatch, "magic", server, "/magic.zip", (19020, 10, 2))
    with pytest.raises(
        DatasetError,
        match=r"was deleted: it must have 19020 rows, 10 features and 2 classes, got 1, 10 and 1\.",
    ):
        load("magic")
    assert list(cache.iterdir()) == []


def test_a_page_in_place_of_the_file_is_not_kept(server, monkeypatch, cache):
    server.files["/magic.zip"] = b"<html>We have moved.</html>"
    put(monkeypatch, "magic", server, "/magic.zip", None)
    with pytest.raises(
        DatasetError,
        match=r"magic: the file at .* cannot be used and was deleted: File is not a zip file\.",
    ):
        load("magic")
    assert list(cache.iterdir()) == []


def test_offline_is_one_sentence_with_what_to_do(server, monkeypatch):
    put(monkeypatch, "magic", server, "/magic.zip", None)
    server.shutdown()
    server.server_close()
    with pytest.raises(
        DatasetError,
        match=r"^magic could not be downloaded from http.*\. Try again when the network is up, or set EC3LEARN_DATA",
    ):
        load("magic")


def test_download_may_be_forbidden(mail, server):
    with pytest.raises(
        DatasetError, match=r"spambase is neither in a folder nor .*, and download=False\. Set"
    ):
        load("spambase", download=False)
    assert server.asked == []


def test_openml_says_where_the_file_is_and_what_its_md5_is(server, monkeypatch):
    text = "@relation titanic\n@attribute Class real\n@attribute Age real\n@attribute Sex real\n@attribute y {-1.0,1.0}\n@data\n"
    text += "1,2,3,-1.0\n2,2,1,1.0\n"
    server.files["/titanic.arff"] = text.encode()
    described = {
        "url": f"{server.url}/titanic.arff",
        "md5_checksum": hashlib.md5(text.encode()).hexdigest(),
    }
    server.files["/api/v1/json/data/40704"] = json.dumps(
        {"data_set_description": described}
    ).encode()
    put(monkeypatch, "titanic", server, "/api/v1/json/data/40704", (2, 3, 2))
    assert load("titanic").y.tolist() == ["-1.0", "1.0"]


def test_another_md5_than_openml_says_is_refused(server, monkeypatch):
    server.files["/titanic.arff"] = b"@relation titanic\n"
    described = {"url": f"{server.url}/titanic.arff", "md5_checksum": "0" * 32}
    server.files["/api/v1/json/data/40704"] = json.dumps(
        {"data_set_description": described}
    ).encode()
    put(monkeypatch, "titanic", server, "/api/v1/json/data/40704", (2, 3, 2))
    with pytest.raises(
        DatasetError, match=f"must have the md5 {'0' * 32}, got \\w+; it was deleted"
    ):
        load("titanic")


def test_a_bar_is_shown_on_a_terminal(mail, server, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    load("spambase")
    assert "Downloading spambase" in capsys.readouterr().err


# ---- files as they are published -----------------------------------------------------------------


def test_sensor_is_read_as_published(server, monkeypatch):
    rows = "\n".join(
        " ".join([*(f"{i + j:.2e}" for j in range(48)), str(i % 11 + 1)]) for i in range(22)
    )
    server.files["/s.zip"] = zipped(Sensorless_drive_diagnosis__txt=rows)
    put(monkeypatch, "sensor", server, "/s.zip", (22, 48, 11))
    data = load("sensor")
    assert data.X.iloc[3, 47] == 50.0
    assert data.y[3] == "4"


def test_susy_is_read_as_published(server, monkeypatch):
    rows = "\n".join(
        ",".join([f"{i % 2:.18e}", *(f"{i * j:.6e}" for j in range(18))]) for i in range(6)
    )
    server.files["/s.zip"] = zipped(SUSY__csv__gz=gzip.compress(rows.encode(), mtime=0))
    put(monkeypatch, "susy", server, "/s.zip", (6, 18, 2))
    data = load("susy")
    assert data.X.iloc[5].tolist() == [5.0 * j for j in range(18)]
    assert data.codes.tolist() == [0, 1, 0, 1, 0, 1]


def test_letter_statlog_image_are_read_as_published(server, monkeypatch):
    server.files["/letter.zip"] = zipped(
        **{"letter-recognition__data": "T,2,8,3,5,1,8,13,0,6,6,10,8,0,8,0,8\nI" + ",1" * 16 + "\n"}
    )
    put(monkeypatch, "letter", server, "/letter.zip", (2, 16, 2))
    assert load("letter").y.tolist() == ["T", "I"]
    pixel = " ".join(["92"] * 36)
    server.files["/sat.zip"] = zipped(sat__trn=f"{pixel} 3\n", sat__tst=f"{pixel} 7\n")
    put(monkeypatch, "statlog", server, "/sat.zip", (2, 36, 2))
    assert load("statlog").y.tolist() == ["3", "7"]
    head = "; segments\n\nBRICKFACE,SKY\n\nREGION-CENTROID-COL,...\n"
    segment = ",".join(["1.5"] * 19)
    server.files["/image.zip"] = zipped(
        segmentation__data=f"{head}BRICKFACE,{segment}\n",
        segmentation__test=f"{head}SKY,{segment}\n",
    )
    put(monkeypatch, "image", server, "/image.zip", (2, 19, 2))
    assert load("image").y.tolist() == ["BRICKFACE", "SKY"]


def test_adults_with_a_missing_value_are_left_out(server, monkeypatch):
    person = "39, {}, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, {}\n"
    train = person.format("State-gov", "<=50K") + person.format("?", "<=50K")
    test = "|1x3 Cross validator\n" + person.format("Private", ">50K.")
    server.files["/adult.zip"] = zipped(adult__data=train, adult__test=test)
    put(monkeypatch, "adults", server, "/adult.zip", (2, 14, 2))
    data = load("adults")
    assert data.y.tolist() == ["<=50K", ">50K"]
    assert data.X["workclass"].cat.categories.tolist() == ["Private", "State-gov"]


def test_diabetes_is_read_as_published(server, monkeypatch):
    table = "encounter_id,patient_nbr,race,admission_type_id,readmitted\n1,9,?,6,NO\n2,9,Asian,1,>30\n3,8,Asian,1,<30\n"
    server.files["/d.zip"] = zipped(diabetic_data__csv=table)
    put(monkeypatch, "diabetes", server, "/d.zip", (3, 2, 2))
    data = load("diabetes")
    assert data.y.tolist() == ["NO", "YES", "YES"]
    assert data.X.columns.tolist() == ["race", "admission_type_id"]
    assert data.X["admission_type_id"].dtype == "category"


def test_credit_cards_are_read_as_published(server, monkeypatch):
    sheet = pd.DataFrame(
        {
            "ID": [1, 2],
            "LIMIT_BAL": [20_000, 50_000],
            "SEX": [2, 1],
            "EDUCATION": [1, 2],
            "MARRIAGE": [1, 1],
        }
    )
    monkeypatch.setattr("ec3learn._checks.find_spec", lambda name: name)
    monkeypatch.setattr(
        "pandas.read_excel",
        lambda file, header: sheet.assign(default=[1, 0]) if header == 1 else None,
    )
    server.files["/c.zip"] = zipped(cards__xls="a workbook")
    put(monkeypatch, "creditcard", server, "/c.zip", (2, 4, 2))
    data = load("creditcard")
    assert data.y.tolist() == ["1", "0"]
    assert data.X.dtypes.astype(str).tolist() == ["int64", "category", "category", "category"]


def test_a_workbook_needs_xlrd(server, monkeypatch):
    monkeypatch.setattr("ec3learn._checks.find_spec", lambda name: None if name == "xlrd" else name)
    server.files["/c.zip"] = zipped(cards__xls="a workbook")
    put(monkeypatch, "creditcard", server, "/c.zip", (2, 4, 2))
    with pytest.raises(
        ModuleNotFoundError, match=re.escape("needs xlrd: pip install 'ec3learn[paper]'.")
    ):
        load("creditcard")


def test_a_file_the_archive_lacks_is_named(server, monkeypatch):
    server.files["/magic.zip"] = zipped(readme__txt="moved")
    put(monkeypatch, "magic", server, "/magic.zip", None)
    with pytest.raises(
        DatasetError,
        match=r"was deleted: the archive has no file 'magic04.data', only readme.txt\.",
    ):
        load("magic")


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_the_libraries_of_the_paper_are_asked_for_when_it_is_imported(library):
    program = f"import sys; sys.modules[{library!r}] = None; import ec3learn.paper"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (
        "Loading data sets needs pandas and pyarrow: pip install 'ec3learn[paper]'." in done.stderr
    )
