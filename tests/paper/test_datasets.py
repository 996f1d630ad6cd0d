"""The data sets: where they are looked for, and the published files as tables."""

import gzip
import io
import zipfile

import pandas as pd
import pytest

from paper import datasets
from paper.datasets import DATASETS, Known, at_hand, cache_folder, fingerprint, load, random_outputs

from .conftest import blobs


def test_a_folder_comes_before_the_cache(folder, tmp_path, monkeypatch):
    (cache_folder() / "datasets").mkdir(parents=True)
    blobs(30).to_parquet(cache_folder() / "datasets" / "image.parquet")
    assert len(load("image").codes) == 30
    assert len(load("image", folder).codes) == 120
    monkeypatch.setenv("EC3LEARN_DATA", str(folder))
    assert len(load("image").codes) == 120
    assert at_hand() == ["iris", "image", "susy_synthetic"]


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(ValueError, match="EC3LEARN_DATA must be a folder with Parquet files, got"):
        load("magic", tmp_path / "nowhere")


def test_what_can_only_be_in_a_folder_says_so():
    with pytest.raises(
        ValueError, match=r"sensor_sample is not published .* Set EC3LEARN_DATA to a folder with"
    ):
        load("sensor_sample")


def test_another_copy_of_a_table_has_another_fingerprint():
    table = blobs(30)
    copy = table.rename(columns={"a": "x"}).astype({"kind": str})
    assert fingerprint(copy) == fingerprint(table)
    assert fingerprint(table.iloc[::-1]) != fingerprint(table)
    renamed = table["target"].cat.rename_categories({"class 0": "class 9"})
    assert fingerprint(table.assign(target=renamed)) != fingerprint(table)


def test_random_outputs_are_right_four_times_in_five():
    frame = random_outputs(20_000)
    votes = frame.filter(like="classifier")
    assert (votes.eq(frame["target"], axis=0).mean() - 0.8).abs().max() < 0.02
    assert frame.filter(like="clusters").nunique().tolist() == [2, 3, 5, 10, 20]


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

    def act(name, **members):
        file = tmp_path / f"{name}.zip"
        file.write_bytes(zipped(**members))
        known = Known("", file.as_uri(), DATASETS[name].read)
        monkeypatch.setitem(datasets.DATASETS, name, known)
        return load(name)

    return act


def classes(data):
    return data.frame["target"].tolist()


MAIL = ",".join(["0.5"] * 57)


def test_a_data_set_is_downloaded_once(publish, monkeypatch):
    first = publish("spambase", spambase__dat=f"{MAIL},1\n{MAIL},0\n")
    monkeypatch.setattr(datasets, "urlretrieve", None)
    again = load("spambase")
    assert classes(first) == classes(again) == ["spam", "nonspam"]
    assert [path.name for path in (cache_folder() / "datasets").iterdir()] == ["spambase.parquet"]


def test_susy_is_read_as_published(publish):
    rows = "\n".join(
        ",".join([f"{i % 2:.18e}", *(f"{i * j:.6e}" for j in range(18))]) for i in range(6)
    )
    data = publish("susy", SUSY__csv__gz=gzip.compress(rows.encode(), mtime=0))
    assert data.X.iloc[5].tolist() == [5.0 * j for j in range(18)]
    assert data.codes.tolist() == [0, 1, 0, 1, 0, 1]


def test_iris_letter_statlog_image_and_sensor_are_read_as_published(publish):
    flowers = "5.1, 3.5, 1.4, 0.2, Iris-setosa\n6.4, 3.2, 4.5, 1.5, Iris-versicolor\n"
    assert classes(publish("iris", iris__dat=flowers)) == ["Iris-setosa", "Iris-versicolor"]
    letters = "2," * 16 + "T\n" + "1," * 16 + "I\n"
    assert classes(publish("letter", letter__dat=letters)) == ["T", "I"]
    pixel = " ".join(["92"] * 36)
    grounds = {"sat__trn__txt": f"{pixel} 3\n", "sat__tst__txt": f"{pixel} 7\n"}
    assert classes(publish("statlog", **grounds)) == ["grey soil", "very damp grey soil"]
    head, segment = "@relation segment\n@data\n", "1.5, " * 19
    parts = {"segment__dat": f"{head}{segment}1\n{segment}2\n"}
    assert classes(publish("image", **parts)) == ["brickface", "sky"]
    drive = "\n".join(
        " ".join([*(f"{i + j:.2e}" for j in range(48)), str(i % 11 + 1)]) for i in range(22)
    )
    data = publish("sensor", Sensorless_drive_diagnosis__txt=drive)
    assert (data.X.iloc[3, 47], classes(data)[3]) == (50.0, "4")


def test_adults_with_a_missing_value_are_left_out(publish):
    person = "39, {}, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, {}\n"
    train = person.format("State-gov", "<=50K") + person.format("?", "<=50K")
    test = "|1x3 Cross validator\n" + person.format("Private", ">50K.")
    data = publish("adults", adult__data=train, adult__test=test)
    assert classes(data) == ["<=50K", ">50K"]
    assert data.X["workclass"].cat.categories.tolist() == ["Private", "State-gov"]


def test_diabetes_is_read_as_published(publish):
    table = "encounter_id,patient_nbr,race,admission_type_id,readmitted\n1,9,?,6,NO\n2,9,Asian,1,>30\n3,8,Asian,1,<30\n"
    data = publish("diabetes", diabetic_data__csv=table)
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
    data = publish("creditcard", cards__xls="a workbook")
    assert classes(data) == ["1", "0"]
    assert data.X.dtypes.astype(str).tolist() == ["int64", "category", "category", "category"]
