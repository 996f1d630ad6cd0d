"""The data sets: where they are looked for, and the published files as tables."""

import gzip
import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from paper import datasets
from paper.datasets import at_hand, cache_folder, load
from paper.registry import DATASETS, Known, waveforms

from .conftest import blobs


def test_a_folder_comes_before_the_cache(folder, tmp_path, monkeypatch):
    (cache_folder() / "datasets").mkdir(parents=True)
    blobs(30).to_parquet(cache_folder() / "datasets" / "image.parquet")
    assert len(load("image").codes) == 30
    assert len(load("image", folder).codes) == 120
    monkeypatch.setenv("EC3LEARN_DATA", str(folder))
    assert len(load("image").codes) == 120
    assert at_hand() == ["iris", "image", "waveform"]


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(ValueError, match="EC3LEARN_DATA must be a folder with Parquet files, got"):
        load("magic", tmp_path / "nowhere")


def test_what_can_only_be_in_a_folder_says_so():
    with pytest.raises(
        ValueError, match=r"sensor_sample is not published .* Set EC3LEARN_DATA to a folder with"
    ):
        load("sensor_sample")


def test_iris_and_waveform_need_no_file():
    assert load("iris").codes.tolist() == [0] * 50 + [1] * 50 + [2] * 50
    assert load("waveform").X.shape == (5000, 21)


def test_waveforms_are_mixtures_of_the_published_waves():
    frame = waveforms(20_000)
    means = frame.groupby("target", observed=True).mean()
    first, second, third = (
        np.maximum(6 - np.abs(np.arange(1, 22) - peak), 0) for peak in (7, 15, 11)
    )
    for code, (one, other) in {
        "0": (first, second),
        "1": (first, third),
        "2": (second, third),
    }.items():
        np.testing.assert_allclose(means.loc[code], (one + other) / 2, atol=0.1)


# ---- downloads, from files of our own ------------------------------------------------------------


def zipped(**members):
    """A zip archive; `__` in the name of a member is a dot."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"folder/{name.replace('__', '.')}", content)
    return file.getvalue()


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Publish an archive as the one of a data set, and load it."""

    def act(name, shape, **members):
        file = tmp_path / f"{name}.zip"
        file.write_bytes(zipped(**members))
        known = Known("", shape, file.as_uri(), DATASETS[name].read)
        monkeypatch.setitem(datasets.DATASETS, name, known)
        return load(name)

    return act


def classes(data):
    return data.frame["target"].tolist()


MAIL = ",".join(["0.5"] * 57)


def test_a_data_set_is_downloaded_once(publish, monkeypatch):
    first = publish("spambase", (2, 57, 2), spambase__data=f"{MAIL},1\n{MAIL},0\n")
    monkeypatch.setattr(datasets, "urlretrieve", None)
    again = load("spambase")
    assert classes(first) == classes(again) == ["spam", "nonspam"]
    assert [path.name for path in (cache_folder() / "datasets").iterdir()] == ["spambase.parquet"]


def test_published_rows_features_and_classes_are_checked(publish):
    message = r"spambase must have \(2, 57, 2\) rows, features and classes, got \(1, 57, 1\)\."
    with pytest.raises(ValueError, match=message):
        publish("spambase", (2, 57, 2), spambase__data=f"{MAIL},1\n")


def test_susy_is_read_as_published(publish):
    rows = "\n".join(
        ",".join([f"{i % 2:.18e}", *(f"{i * j:.6e}" for j in range(18))]) for i in range(6)
    )
    data = publish("susy", (6, 18, 2), SUSY__csv__gz=gzip.compress(rows.encode(), mtime=0))
    assert data.X.iloc[5].tolist() == [5.0 * j for j in range(18)]
    assert data.codes.tolist() == [0, 1, 0, 1, 0, 1]


def test_letter_statlog_image_and_sensor_are_read_as_published(publish):
    letters = {"letter-recognition__data": "T" + ",2" * 16 + "\nI" + ",1" * 16 + "\n"}
    assert classes(publish("letter", (2, 16, 2), **letters)) == ["T", "I"]
    pixel = " ".join(["92"] * 36)
    assert classes(
        publish("statlog", (2, 36, 2), sat__trn=f"{pixel} 3\n", sat__tst=f"{pixel} 7\n")
    ) == ["3", "7"]
    head, segment = "; segments\n\nBRICKFACE,SKY\n\nREGION-CENTROID-COL,...\n", ",1.5" * 19
    parts = {
        "segmentation__data": f"{head}BRICKFACE{segment}\n",
        "segmentation__test": f"{head}SKY{segment}\n",
    }
    assert classes(publish("image", (2, 19, 2), **parts)) == ["BRICKFACE", "SKY"]
    drive = "\n".join(
        " ".join([*(f"{i + j:.2e}" for j in range(48)), str(i % 11 + 1)]) for i in range(22)
    )
    data = publish("sensor", (22, 48, 11), Sensorless_drive_diagnosis__txt=drive)
    assert (data.X.iloc[3, 47], classes(data)[3]) == (50.0, "4")


def test_adults_with_a_missing_value_are_left_out(publish):
    person = "39, {}, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, {}\n"
    train = person.format("State-gov", "<=50K") + person.format("?", "<=50K")
    test = "|1x3 Cross validator\n" + person.format("Private", ">50K.")
    data = publish("adults", (2, 14, 2), adult__data=train, adult__test=test)
    assert classes(data) == ["<=50K", ">50K"]
    assert data.X["workclass"].cat.categories.tolist() == ["Private", "State-gov"]


def test_diabetes_is_read_as_published(publish):
    table = "encounter_id,patient_nbr,race,admission_type_id,readmitted\n1,9,?,6,NO\n2,9,Asian,1,>30\n3,8,Asian,1,<30\n"
    data = publish("diabetes", (3, 2, 2), diabetic_data__csv=table)
    assert classes(data) == ["NO", "YES", "YES"]
    assert data.X.columns.tolist() == ["race", "admission_type_id"]
    assert data.X["admission_type_id"].dtype == "category"


def test_credit_cards_are_read_as_published(publish, monkeypatch):
    sheet = pd.DataFrame(
        {
            "ID": [1, 2],
            "LIMIT_BAL": [20_000, 50_000],
            "SEX": [2, 1],
            "EDUCATION": [1, 2],
            "MARRIAGE": [1, 1],
        }
    )
    monkeypatch.setattr("pandas.read_excel", lambda file, header: sheet.assign(default=[1, 0]))
    data = publish("creditcard", (2, 4, 2), cards__xls="a workbook")
    assert classes(data) == ["1", "0"]
    assert data.X.dtypes.astype(str).tolist() == ["int64", "category", "category", "category"]
