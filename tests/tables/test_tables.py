"""Tables of any kind: what goes in, what comes out, what comes to this process, and what is refused in which words."""

import gc
import re
import shutil
import subprocess
import sys
from typing import get_overloads

import dask.dataframe as dd
import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

from ec3learn import EC3, METHODS, Consensus, Panel, Scale, Votes
from ec3learn._checks import InputError
from ec3learn.answer import ExtendWarning
from ec3learn.methods import ReliabilityWarning
from ec3learn.tables import combine, extend, votes_from
from ec3learn.tables.columns import Naming
from ec3learn.tables.content import content_of
from ec3learn.tables.pipeline import as_frame

from ..strategies import any_tables, fuzzed

EXACT = {"atol": 1e-9, "rtol": 0}
IN_MEMORY = ["pandas", "polars", "pyarrow"]
DASK = pytest.param(
    "dask", marks=pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
)
LAZY = ["polars-lazy", "duckdb", DASK]
SPARK = pytest.param(
    "spark", marks=pytest.mark.filterwarnings("ignore")
)  # pyspark warns of newer pandas and of its own files
KINDS = [*IN_MEMORY, *LAZY, SPARK]
FEW = ["pandas", "polars-lazy", "duckdb"]  # where an engine makes no difference of its own
EXTENDING = [
    "ec3",
    "iec3",
    "majority",
    "soft-vote",
    "weighted-vote",
    "bgcm",
    "dawid-skene",
    "dawid-skene-one-coin",
]

CLASSIFIERS, CLUSTERINGS = ["svm", "knn", "tree"], ["km", "db"]
ALL = {"classifiers": CLASSIFIERS, "clusterings": CLUSTERINGS}


# ---- tables --------------------------------------------------------------------------------------


def votes_table(n=300, seed=0):
    """Three classifiers with strings (one empty) and gaps, two clusterings with noise and gaps, and columns beside them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    table = {"id": np.arange(n), "weight": rng.random(n)}
    for name in CLASSIFIERS:
        said = np.where(rng.random(n) < 0.6, truth, rng.integers(3, size=n))
        table[name] = [
            None if gone else ["spam", "ham", ""][z]
            for z, gone in zip(said, rng.random(n) < 0.15, strict=True)
        ]
    for name, noise in (("km", -1), ("db", None)):
        said = np.where(rng.random(n) < 0.8, truth, rng.integers(3, size=n))
        table[name] = [
            noise if gone else int(z) for z, gone in zip(said, rng.random(n) < 0.1, strict=True)
        ]
    table["gold"] = [["spam", "ham", ""][z] if i % 40 == 0 else None for i, z in enumerate(truth)]
    types = {"id": pl.Int32, "km": pl.Int8, "db": pl.Int64, "gold": pl.String}
    return pl.DataFrame(table, schema_overrides=types)


def long_table(n=60):
    """One row per vote, with a cluster and sometimes a known label beside the object."""
    wide = votes_table(n)
    columns = ["id", "km", "gold", *CLASSIFIERS]
    rows = [
        {
            "task": f"q{row['id']}",
            "worker": name,
            "answer": row[name],
            "topic": row["km"],
            "gold": row["gold"],
        }
        for row in wide.select(columns).rows(named=True)
        for name in CLASSIFIERS
    ]
    return pl.DataFrame(rows).with_columns(id=pl.int_range(3 * n))


@pytest.fixture(scope="session")
def spark():
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no Java runtime, which Spark needs")
    builder = pyspark.sql.SparkSession.builder.master("local[2]")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def made(request):
    """Return a function that makes a table of some kind from one of polars."""
    return lambda kind, frame: MAKERS[kind](request, frame)


def _as_duckdb(request, frame):
    connection = duckdb.connect()
    CONNECTIONS.append(connection)  # older relations do not keep theirs open
    connection.from_arrow(frame.to_arrow()).create("votes")
    return connection.table("votes")


def _as_spark(request, frame):
    texts = [name for name, dtype in frame.schema.items() if dtype in (pl.Categorical, pl.Enum)]
    arrow = frame.with_columns(pl.col(texts).cast(pl.String)).to_arrow(
        compat_level=pl.CompatLevel.oldest()
    )
    return request.getfixturevalue("spark").createDataFrame(arrow).repartition(3)


CONNECTIONS = []

MAKERS = {
    "pandas": lambda request, frame: frame.to_pandas(),
    "polars": lambda request, frame: frame,
    "pyarrow": lambda request, frame: frame.to_arrow(),
    "polars-lazy": lambda request, frame: frame.lazy(),
    "duckdb": _as_duckdb,
    "dask": lambda request, frame: dd.from_pandas(frame.to_pandas(), npartitions=5, sort=False),
    "spark": _as_spark,
}


def rows_of(table, *, sort=True):
    """What stands in a table, as one of polars."""
    frame = nw.from_native(table)
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    rows = pl.from_arrow(frame.to_arrow())
    return rows.sort("id") if sort else rows


def solved(frame, method=None, known=None, **options):
    """The same answer by the other route: arrays, votes, solve."""
    votes = Votes.from_labels(
        {name: frame[name].to_list() for name in CLASSIFIERS},
        {name: frame[name].to_list() for name in CLUSTERINGS},
        **options,
    )
    return (method or Panel()).solve(votes, None if known is None else frame[known].to_list())


# ---- the same answer on every kind of table ------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_is_that_of_votes_in_memory(made, kind):
    frame = votes_table()
    table, _ = combine(made(kind, frame), **ALL, proba=True, return_consensus=True)
    rows, expected = rows_of(table), solved(frame)
    assert rows["consensus"].to_list() == expected.labels().tolist()
    assert_allclose(rows["confidence"], expected.confidence, **EXACT)
    assert_allclose(
        rows.select(f"proba_{label}" for label in expected.classes), expected.proba, **EXACT
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_comes_back_as_it_was_with_columns_behind(made, kind):
    table = made(kind, votes_table())
    answered = combine(table, **ALL)
    before, after = (
        nw.from_native(table).collect_schema(),
        nw.from_native(answered).collect_schema(),
    )
    assert type(answered) is type(table)
    assert list(after.items())[: len(before)] == list(before.items())
    assert list(after.items())[len(before) :] == [
        ("consensus", nw.String()),
        ("confidence", nw.Float64()),
    ]
    assert_frame_equal(rows_of(answered).select(before.names()), rows_of(table))


@pytest.mark.parametrize("max_rows", [50])
@pytest.mark.parametrize("kind", [*IN_MEMORY, "polars-lazy", DASK])
def test_rows_keep_their_order(made, kind, max_rows):
    frame = votes_table().sample(fraction=1.0, shuffle=True, seed=1)
    answered = combine(made(kind, frame), **ALL, max_rows=max_rows)
    assert rows_of(answered, sort=False)["id"].to_list() == frame["id"].to_list()


@pytest.mark.parametrize("kind", ["pandas", DASK])
def test_the_index_is_kept(kind):
    table = votes_table(20).to_pandas().set_index("id").iloc[::-1]
    table = table if kind == "pandas" else dd.from_pandas(table, npartitions=3, sort=False)
    answered = combine(table, **ALL)
    answered = answered if kind == "pandas" else answered.compute()
    assert answered.index.name == "id"
    assert answered.index.tolist() == list(range(19, -1, -1))


@pytest.mark.parametrize("kind", ["pandas", "duckdb", DASK])
def test_known_labels_are_held(made, kind):
    frame = votes_table()
    rows = rows_of(combine(made(kind, frame), **ALL, known="gold"))
    expected = solved(frame, known="gold")
    assert rows["consensus"].to_list() == expected.labels().tolist()
    assert_allclose(rows["confidence"], expected.confidence, **EXACT)


@pytest.mark.parametrize("kind", [*FEW, SPARK])
def test_categoricals_enums_and_bools_vote(made, kind):
    frame = votes_table(80).with_columns(
        pl.col("svm").cast(pl.Categorical),
        pl.col("knn").cast(pl.Enum(["", "ham", "other", "spam"])),
        yes=pl.col("km") > 0,
    )
    rows = rows_of(combine(made(kind, frame), classifiers=CLASSIFIERS, clusterings=["yes"]))
    plain = {name: frame[name].cast(pl.String).to_list() for name in CLASSIFIERS}
    expected = Panel().solve(Votes.from_labels(plain, {"yes": frame["yes"].to_list()}))
    assert rows["consensus"].to_list() == expected.labels().tolist()
    assert_allclose(rows["confidence"], expected.confidence, **EXACT)


@pytest.mark.parametrize("kind", FEW)
def test_labels_that_are_whole_numbers_come_back_as_such(made, kind):
    frame = votes_table(80)
    answered = combine(made(kind, frame), classifiers=CLUSTERINGS, missing=-1)
    expected = Panel().solve(
        Votes.from_labels({name: frame[name].to_list() for name in CLUSTERINGS}, missing=-1)
    )
    assert nw.from_native(answered).collect_schema()["consensus"] == nw.Int64
    assert rows_of(answered)["consensus"].to_list() == expected.labels().tolist()


@pytest.mark.parametrize("kind", ["pandas", "duckdb"])
def test_hostile_names_and_labels_survive(made, kind):
    labels = ["a,b", 'say "hi"', "two\nlines", "🦆", "=1+1", "", "null", "it's", "tab\t"]
    names = ["a.b", 'with "quotes"', "back`tick", "spaß ☃", "select", "it's; DROP TABLE votes"]
    rng = np.random.default_rng(0)
    said = {
        name: [labels[z] for z in (np.arange(40) + rng.integers(2, size=40)) % len(labels)]
        for name in names
    }
    frame = pl.DataFrame({"id": range(40), **said})
    table = made(kind, frame)
    answered = rows_of(combine(table, classifiers=names))
    assert (
        answered["consensus"].to_list() == Panel().solve(Votes.from_labels(said)).labels().tolist()
    )
    assert_frame_equal(answered.select(frame.columns), rows_of(table))


@pytest.mark.parametrize("max_rows", [100, 2])
@pytest.mark.parametrize("kind", ["polars-lazy", "duckdb"])
def test_nan_is_no_vote_and_both_zeros_are_one_label(made, kind, max_rows):
    said = [1.0, float("nan"), None, -0.0, 0.0, 1.0, -0.0]
    frame = pl.DataFrame({"id": range(7), "a": said, "b": [1, 0, 1, 0, 1, 0, 1]})
    rows = rows_of(combine(made(kind, frame), classifiers=["a", "b"], max_rows=max_rows))
    assert rows["consensus"].null_count() == 0
    assert rows["confidence"][4] == pytest.approx(rows["confidence"][6])


@pytest.mark.filterwarnings("ignore:.* no vote")
@given(any_tables(known=True, weights=False, sample_weight=False, soft=False))
@fuzzed(15)
def test_every_table_has_one_answer(table):
    frame = pl.DataFrame({"id": range(table.n_objects), **table.classifiers, **table.clusterings})
    frame = frame.with_columns(
        gold=pl.Series([table.known.get(i) for i in range(table.n_objects)], dtype=pl.String)
    )
    frame = frame.with_columns(
        pl.col(list(table.classifiers)).cast(pl.String),
        pl.col(list(table.clusterings)).cast(pl.Int64),
    )
    chosen = {
        "classifiers": list(table.classifiers),
        "clusterings": list(table.clusterings),
        "classes": table.classes,
    }
    expected = EC3().solve(table.votes(), table.known or None)
    for kind in ["pandas", "polars", "pyarrow", "polars-lazy", "duckdb"]:
        rows = rows_of(combine(MAKERS[kind](None, frame), known="gold", method="iec3", **chosen))
        assert rows["consensus"].to_list() == expected.labels().tolist()
        assert_allclose(rows["confidence"], expected.confidence, **EXACT)


# ---- what comes to this process ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*LAZY, SPARK])
def test_only_distinct_rows_come_to_this_process(made, kind, monkeypatch):
    brought = []
    monkeypatch.setattr("narwhals.stable.v2.LazyFrame.collect", _counting(brought))
    frame = votes_table(400).with_columns(pl.col(CLASSIFIERS[1:]).fill_null("ham"), db=1, km=2)
    combine(made(kind, frame), **ALL)
    assert brought == [(frame.select(CLASSIFIERS).unique().height, 6)]


def _counting(brought):
    collect = nw.LazyFrame.collect

    def counted(self, *args, **kwargs):
        result = collect(self, *args, **kwargs)
        brought.append(result.shape)
        return result

    return counted


def test_duckdb_answers_on_the_connection_of_the_relation_and_leaves_nothing_there():
    connection = duckdb.connect()
    connection.from_arrow(votes_table().to_arrow()).create("votes")
    answered = combine(connection.table("votes"), **ALL)
    gc.collect()
    answered.create("answered")
    assert connection.sql("SELECT count(consensus) FROM answered").fetchall() == [(300,)]
    assert connection.sql("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall() == [
        ("answered",),
        ("votes",),
    ]
    assert (
        connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []
    )


@pytest.mark.parametrize("kind", LAZY)
def test_many_partitions_give_one_answer_again_and_again(tmp_path, kind):
    frame = pl.concat([votes_table(2000, seed=seed) for seed in range(8)]).with_columns(
        id=pl.int_range(16_000)
    )
    for part in range(8):
        frame[part * 2000 : (part + 1) * 2000].write_parquet(tmp_path / f"{part}.parquet")
    files = str(tmp_path / "*.parquet")
    read = {
        "dask": dd.read_parquet,
        "duckdb": duckdb.connect().read_parquet,
        "polars-lazy": pl.scan_parquet,
    }[kind]
    expected = solved(frame)
    for _ in range(3):
        rows = rows_of(combine(read(files), **ALL))
        assert rows["consensus"].to_list() == expected.labels().tolist()
        assert_allclose(rows["confidence"], expected.confidence, **EXACT)


@pytest.fixture
def datasets():
    module = pytest.importorskip(
        "datasets", reason="Hugging Face datasets is not installed (extra datasets)"
    )
    module.disable_progress_bars()
    return module


def test_a_dataset_of_hugging_face_comes_back_with_the_answers_of_its_rows(datasets):
    frame = votes_table().with_columns(text=pl.lit("x"))
    dataset = datasets.Dataset.from_polars(frame).shuffle(seed=0)
    answered = combine(dataset, **ALL, proba=True, known="gold")
    expected = combine(frame.to_arrow(), **ALL, proba=True, known="gold")
    assert type(answered) is type(dataset)
    assert answered["id"][:] == dataset["id"][:]
    assert_frame_equal(answered.to_polars().sort("id"), pl.from_arrow(expected))
    assert {name: answered.features[name] for name in dataset.column_names} == dict(
        dataset.features
    )


def test_class_labels_of_a_dataset_vote_by_name_and_minus_one_is_none(datasets):
    label = datasets.ClassLabel(names=["ham", "spam"])
    columns = {"svm": [0, 1, None, 0], "knn": [0, 1, 1, -1], "gold": [-1, -1, 1, -1]}
    dataset = datasets.Dataset.from_dict(columns, datasets.Features(dict.fromkeys(columns, label)))
    votes = votes_from(dataset, classifiers=["svm", "knn"])
    assert [votes.said(i) for i in range(4)] == [
        ["ham", "ham"],
        ["spam", "spam"],
        [None, "spam"],
        ["ham", None],
    ]
    answered, consensus = combine(
        dataset, classifiers=["svm", "knn"], known="gold", return_consensus=True
    )
    assert answered["consensus"][:] == ["ham", "spam", "spam", "ham"]
    assert answered["svm"][:] == columns["svm"]
    assert extend(dataset, consensus)["consensus"][:] == ["ham", "spam", "spam", "ham"]


def test_one_split_of_a_dataset_is_combined_at_a_time(datasets):
    splits = datasets.DatasetDict({"train": datasets.Dataset.from_dict({"svm": ["a"]})})
    with pytest.raises(
        TypeError, match=re.escape("or a Dataset of Hugging Face, got DatasetDict.")
    ):
        combine(splits, classifiers="svm")


def test_the_import_needs_no_engine():
    absent = ["pandas", "polars", "pyarrow", "duckdb", "dask", "pyspark"]
    program = f"import sys; sys.modules.update(dict.fromkeys({absent})); import ec3learn.tables"
    subprocess.run([sys.executable, "-c", program], check=True)


# ---- too many distinct rows ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*FEW, SPARK])
def test_rows_beyond_max_rows_are_answered_from_the_groups(made, kind):
    frame = votes_table()
    table, consensus = combine(
        made(kind, frame), **ALL, proba=True, max_rows=50, return_consensus=True
    )
    rows = rows_of(table)
    expected = consensus.extend(solved(frame).solution.votes)
    assert_allclose(
        rows.select(f"proba_{label}" for label in expected.classes), expected.proba, **EXACT
    )
    assert_allclose(rows["confidence"], expected.confidence, **EXACT)
    assert rows["consensus"].to_list() == expected.labels().tolist()


@pytest.mark.parametrize("kind", ["pandas", "duckdb"])
def test_the_consensus_says_that_a_sample_was_solved(made, kind):
    frame = votes_table()
    _, consensus = combine(made(kind, frame), **ALL, max_rows=50, return_consensus=True)
    most = (
        frame.group_by([*CLASSIFIERS, *CLUSTERINGS]).len()["len"].sort(descending=True)[:50].sum()
    )
    assert str(consensus.solution.notes[-1]) == (
        f"Solved on the 50 most frequent distinct rows (max_rows), {most / 3:.1f} % of the table; "
        "the others are answered by the rule that this found."
    )
    assert len(consensus.solution.votes) == 50
    assert consensus.summary(fast=True).n_objects == most


def biased_table():
    """Return the votes of six annotators who say yes to 35 % of what deserves it, and of one who is always right."""
    rng = np.random.default_rng(0)
    truth = rng.random(600) < 0.5
    biased = {f"w{j}": np.where(truth & (rng.random(600) < 0.35), "yes", "no") for j in range(6)}
    return pl.DataFrame(biased | {"good": np.where(truth, "yes", "no")})


@pytest.mark.parametrize("kind", ["pandas", "duckdb"])
@pytest.mark.parametrize("method", ["majority", "iec3"])
def test_biased_voters_are_warned_about_unless_the_notes_can_be_read(made, kind, method, recwarn):
    asked = {"classifiers": "*", "method": method}
    with pytest.warns(
        ReliabilityWarning, match=r"^The voters look biased, not only unreliable"
    ) as warned:
        combine(made(kind, biased_table()), **asked)
    assert warned[0].filename == __file__
    _, consensus = combine(made(kind, biased_table()), return_consensus=True, **asked)
    combine(made(kind, biased_table()), classifiers="*")  # the default allows for bias
    assert not [one for one in recwarn if one.category is ReliabilityWarning]
    assert "bias" in [note.kind for note in consensus.notes]


def test_a_table_that_seems_to_have_one_row_per_vote_is_warned_about():
    with pytest.warns(ReliabilityWarning, match=r"name its columns of objects and voters\.$"):
        combine(pl.DataFrame({"answer": ["yes", "no"] * 150}), classifiers="answer")


@pytest.mark.parametrize("kind", ["polars-lazy", "duckdb"])
def test_a_sample_gives_one_answer_again_and_again(made, kind):
    frame = votes_table()
    one, other = (
        rows_of(combine(made(kind, table), **ALL, max_rows=50))
        for table in (frame, frame if kind in IN_MEMORY else frame.reverse())
    )
    assert one["consensus"].to_list() == other["consensus"].to_list()
    assert_allclose(one["confidence"], other["confidence"], **EXACT)


@pytest.mark.parametrize("kind", ["polars-lazy", "duckdb"])
def test_classes_outside_the_sample_are_classes(made, kind):
    frame = votes_table().with_columns(
        svm=pl.when(pl.col("id") == 7).then(pl.lit("rare")).otherwise(pl.col("svm"))
    )
    _, consensus = combine(made(kind, frame), **ALL, max_rows=20, return_consensus=True)
    assert consensus.classes.tolist() == ["", "ham", "rare", "spam"]


@pytest.mark.parametrize(
    ("kind", "known_weight"),
    [*((kind, np.inf) for kind in [*IN_MEMORY, "polars-lazy"]), ("duckdb", 0.5)],
)
def test_rows_with_known_labels_are_always_solved(made, kind, known_weight):
    frame = votes_table()
    method = EC3(known_weight=known_weight)
    table, consensus = combine(
        made(kind, frame), **ALL, known="gold", method=method, max_rows=40, return_consensus=True
    )
    rows = rows_of(table)
    gold = frame["gold"].is_not_null().to_numpy()
    assert (consensus.solution.known.codes >= 0).sum() == frame.filter(gold).select(
        [*CLASSIFIERS, *CLUSTERINGS, "gold"]
    ).n_unique()
    assert nw.from_native(table).collect_schema()["consensus"] == nw.String
    if known_weight == np.inf:
        assert rows.filter(gold)["consensus"].to_list() == frame.filter(gold)["gold"].to_list()
    votes, codes = consensus.solution.votes, consensus.solution.known.codes
    code_of = codes if votes.index is None else codes[votes.index]
    sure = {(*votes.said(i), code_of[i]): consensus.confidence[i] for i in range(len(votes))}
    for row in rows.filter(gold).rows(named=True):
        said = [None if row[name] == -1 else row[name] for name in [*CLASSIFIERS, *CLUSTERINGS]]
        assert row["confidence"] == pytest.approx(
            sure[*said, consensus.classes.tolist().index(row["gold"])], abs=1e-9
        )


def test_a_method_that_cannot_extend_is_refused_beyond_max_rows():
    with pytest.raises(
        ValueError,
        match=re.escape("cannot be extended to rows it has not solved. Raise max_rows, or take"),
    ):
        combine(votes_table().lazy(), **ALL, method="c3e-sl", max_rows=20)


# ---- the same numbers on any engine, in any run --------------------------------------------------


def labelled_votes(n=20_000, n_labels=500):
    """Five classifiers with gaps, and known labels that disagree about objects with the same votes."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=n)
    table = {"id": np.arange(n)}
    for j in range(5):
        said = np.where(rng.random(n) < 0.7, truth, rng.integers(3, size=n))
        gone = rng.random(n) < 0.2
        table[f"clf{j}"] = [None if no else "abc"[z] for z, no in zip(said, gone, strict=True)]
    labels = np.full(n, None, object)
    chosen = rng.choice(n, n_labels, replace=False)
    labels[chosen] = np.array(list("abc"), object)[truth[chosen]]
    frame = pl.DataFrame(table | {"km": rng.integers(200, size=n), "gold": labels.tolist()})
    voted = ~pl.all_horizontal(pl.col(f"clf{j}").is_null() for j in range(5))
    return frame.filter(voted)  # a long table has no objects without votes


OF_ABC = [f"proba_{label}" for label in "abc"]


@pytest.mark.parametrize("clusterings", [["km"]])
@pytest.mark.parametrize("kind", KINDS)
def test_known_labels_teach_the_same_on_any_engine_and_in_any_run(made, kind, clusterings):
    frame, options = labelled_votes(), {"classifiers": "clf*", "known": "gold", "proba": True}
    options["clusterings"] = clusterings
    expected = combine(frame, **options)
    for seed in (1, 2):
        shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed)
        rows = rows_of(combine(made(kind, shuffled), **options))
        assert rows["consensus"].to_list() == expected["consensus"].to_list()
        assert_allclose(rows.select(OF_ABC), expected.select(OF_ABC), **EXACT)


def test_two_runs_of_a_lazy_table_have_the_same_last_digit():
    table = labelled_votes().lazy()
    options = {"classifiers": "clf*", "clusterings": ["km"], "known": "gold", "proba": True}
    runs = [combine(table, **options).collect() for _ in range(2)]
    assert_frame_equal(*runs, check_exact=True)


@pytest.mark.parametrize("kind", ["polars-lazy", "duckdb"])
def test_each_label_of_equal_rows_counts(made, kind):
    votes = {"a": ["x", "x", "y", "y"] * 50, "b": ["x", "y", "y", "x"] * 50}
    gold = [None if i >= 40 else "y" if i % 4 == 0 and i > 4 else "x" for i in range(200)]
    frame = pl.DataFrame(votes | {"id": range(200), "gold": gold})
    options = {"classifiers": ["a", "b"], "known": "gold", "return_consensus": True}
    table, consensus = combine(made(kind, frame), **options)
    assert any(str(note).startswith("40 known labels corrected") for note in consensus.notes)
    expected = combine(frame, **options)[0]
    assert_allclose(rows_of(table)["confidence"], expected["confidence"], **EXACT)


def test_a_consensus_that_cannot_extend_is_refused(made):
    model = combine(votes_table(), **ALL, method="c3e-sl", return_consensus=True)[1]
    with pytest.raises(
        ValueError, match=r"cannot be extended to new objects\. Solve old and new objects together"
    ):
        extend(made("duckdb", votes_table()), model)


# ---- which columns -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["duckdb"])
@pytest.mark.parametrize(
    "chosen",
    [
        "clf_*",
        ["clf_svm", "clf_k*"],
        ("clf_svm", "clf_knn"),
        {"clf_svm": "clf_svm", "clf_knn": "clf_knn"},
        "*",
    ],
)
def test_columns_are_chosen_by_name_pattern_or_dict(made, kind, chosen):
    table = pl.DataFrame(
        {"clf_svm": ["a", "b"], "clf_knn": ["a", "a"], "km": [0, 1], "gold": ["a", None]}
    )
    votes = combine(
        made(kind, table), classifiers=chosen, clusterings="km", known="gold", return_consensus=True
    )[1].solution.models
    assert [(model.name, model.kind) for model in votes] == [
        ("clf_svm", "classifier"),
        ("clf_knn", "classifier"),
        ("km", "clustering"),
    ]


def test_names_that_are_no_text_are_columns_of_pandas():
    table = pd.DataFrame({0: ["a", "b"], 1: ["a", "b"]})
    assert combine(table, classifiers=[0, 1])["consensus"].tolist() == ["a", "b"]


SHARES = [[0.9, 0.1], [0.2, 0.8], [None, None], [0.5, 0.5], [0.9, 0.1]]


def soft_table():
    """One soft classifier with a gap, one hard one, one soft clustering; the first row stands there twice."""
    spam, ham = zip(*SHARES, strict=True)
    return pl.DataFrame(
        {
            "id": range(5),
            "svm_spam": spam,
            "svm_ham": ham,
            "knn": ["spam", "ham", "ham", None, "spam"],
            "gmm_0": [1.0, 0.5, 0.0, None, 1.0],
            "gmm_1": [0.0, 0.5, 1.0, None, 0.0],
        },
        schema_overrides={"svm_ham": pl.Float32},
    )


def soft_answer(method):
    svm = np.array(
        [[np.nan, np.nan] if spam is None else [ham, spam] for spam, ham in SHARES], dtype=float
    )
    gmm = np.array([[1, 0], [0.5, 0.5], [0, 1], [np.nan, np.nan], [1, 0]])
    labels = {"svm": svm, "knn": soft_table()["knn"].to_list()}
    return method.solve(Votes.from_labels(labels, {"gmm": gmm}, classes=["ham", "spam"]))


@pytest.mark.parametrize("kind", [*FEW, SPARK])
def test_soft_votes_are_groups_of_columns(made, kind):
    chosen = {"svm": "svm_*", "knn": "knn"}
    table = combine(
        made(kind, soft_table()),
        classifiers=chosen,
        clusterings={"gmm": "gmm_*"},
        classes=["ham", "spam"],
    )
    expected = soft_answer(Panel())
    assert rows_of(table)["consensus"].to_list() == expected.labels().tolist()
    assert_allclose(rows_of(table)["confidence"], expected.confidence, atol=1e-7)


@pytest.mark.parametrize(
    ("chosen", "classes"),
    [
        ({"svm": {"spam": "a", "ham": "b"}}, None),
        ({"svm": {"ham": "b", "spam": "a"}}, ["spam", "ham"]),
    ],
)
def test_the_classes_of_soft_votes_are_keys_in_the_order_of_classes(chosen, classes):
    table = pl.DataFrame({"a": [0.9, 0.2], "b": [0.1, 0.8]})
    assert combine(table, classifiers=chosen, classes=classes)["consensus"].to_list() == [
        "spam",
        "ham",
    ]


def test_soft_columns_called_after_their_classes_are_matched_by_name():
    table = pl.DataFrame({"svm_spam": [0.9, 0.2], "svm_ham": [0.1, 0.8]})
    answered = combine(table, classifiers={"svm": "svm_*"}, classes=["ham", "spam"])
    assert answered["consensus"].to_list() == ["spam", "ham"]


def test_numbers_in_the_names_of_soft_columns_are_classes_that_are_numbers():
    table = pl.DataFrame({"svm_0": [0.9, 0.2], "svm_1": [0.1, 0.8], "knn": [0, 1]})
    assert combine(table, classifiers={"svm": "svm_*", "knn": "knn"})["consensus"].to_list() == [
        0,
        1,
    ]


# ---- long tables ---------------------------------------------------------------------------------

LONG = {"classifiers": "answer", "objects": "task", "voters": "worker"}


def long_answer(frame, method=None, known=False):
    objects = frame.unique("task", keep="first", maintain_order=True)
    votes = Votes.from_long(
        frame["task"].to_list(),
        frame["worker"].to_list(),
        frame["answer"].to_list(),
        {"topic": objects["topic"].to_list()},
        object_ids=objects["task"].to_list(),
    )
    gold = {
        task: label for task, label in objects.select("task", "gold").rows() if label is not None
    }
    return (method or Panel()).solve(votes, gold if known else None)


def test_the_objects_of_a_table_in_memory_are_called_what_a_column_or_the_index_says():
    table = pd.DataFrame({"no": [4, 2, 9], "a": ["x", "y", "x"], "b": ["x", "y", None], "k": 1})
    for named, how in (
        (table, {"id": "no"}),
        (table.set_index("no"), {}),
        (pl.from_pandas(table), {"id": "no"}),
    ):
        how |= {"classifiers": "?", "clusterings": "k"}
        answered, consensus = combine(named, **how, known={9: "y"}, return_consensus=True)
        assert answered["consensus"].to_list() == ["x", "y", "y"]
        assert votes_from(named, **how).object_ids.tolist() == [4, 2, 9]
        assert consensus.explain(9).object == 9
        with pytest.raises(InputError, match="known must name objects that were voted on, got 0"):
            combine(named, **how, known={0: "y"})
    for wrong, how in (
        (pl.from_pandas(table).lazy(), {}),
        (table, {"objects": "a", "voters": "b"}),
    ):
        with pytest.raises(InputError, match="id='no' is for a table in memory with one row per"):
            combine(wrong, classifiers="k", id="no", **how)
    with pytest.raises(InputError, match="must name each of the 6 objects once, got 2 twice"):
        combine(pd.concat([table, table]), classifiers=["a", "b"], id="no")


@pytest.mark.parametrize("per_object", [False, True])
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_criteria_are_combined_each_for_itself_and_come_back_in_one_table(kind, per_object):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "task": np.repeat(np.arange(20), 6),
            "criterion": ["clear", "true"] * 60,
            "worker": ["a", "a", "b", "b", "c", "c"] * 20,
            "answer": rng.choice(["yes", "no"], 120).tolist(),
        }
    ).sample(fraction=1, shuffle=True, seed=0)
    how = LONG | {"classifiers": "answer", "per_object": per_object}
    native = {"pandas": frame.to_pandas, "polars": lambda: frame, "arrow": frame.to_arrow}[kind]()
    table, found = combine(native, **how, by="criterion", return_consensus=True)
    rows = (
        pl.DataFrame(table)
        if kind == "polars"
        else pl.from_dataframe(nw.from_native(table).to_arrow())
    )
    assert rows.columns[-2:] == ["consensus", "confidence"] or per_object
    assert per_object or rows[frame.columns].equals(frame)
    for value in ("clear", "true"):
        alone = combine(frame.filter(pl.col("criterion") == value), **how)
        part = rows.filter(pl.col("criterion") == value)
        assert part["consensus"].to_list() == alone["consensus"].to_list()
        assert sorted(found[value].object_ids) == list(range(20))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop("criterion"), "by must name a column of the table"),
        (lambda table: table.with_columns(criterion=None), "by must not be missing"),
    ],
)
def test_a_criterion_that_is_not_there_is_refused(change, message):
    table = pl.DataFrame({"criterion": ["x", "y"], "a": ["x", "y"], "b": ["x", "y"]})
    with pytest.raises(InputError, match=message):
        combine(change(table), classifiers=["a", "b"], by="criterion")


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_criteria_of_a_lazy_table_are_combined_as_those_of_one_in_memory(kind):
    rng = np.random.default_rng(0)
    said = {f"judge_{j}": rng.choice(["yes", "no"], 40).tolist() for j in range(3)}
    frame = pl.DataFrame({"n": range(40), "criterion": ["true", "clear"] * 20, **said})
    lazy = frame.lazy() if kind == "polars" else duckdb.connect().from_arrow(frame.to_arrow())
    answered = combine(lazy, classifiers="judge_*", by="criterion", proba=True)
    rows = answered.collect() if kind == "polars" else answered.pl()
    expected = combine(frame, classifiers="judge_*", by="criterion", proba=True)
    assert_frame_equal(rows.sort("n"), expected)


def test_votes_are_counted_on_request():
    table = pd.DataFrame({"a": ["x", "x"], "b": ["x", "y"], "c": ["y", None]})
    answered = combine(table, classifiers=["a", "b", "c"], counts=True, method="majority")
    assert answered[["n_votes", "votes_x", "votes_y"]].values.tolist() == [[3, 2, 1], [2, 1, 1]]
    lazy = combine(pl.LazyFrame(table), classifiers=["a", "b", "c"], counts=True).collect()
    assert lazy.select("n_votes", "votes_x", "votes_y").rows() == [(3, 2, 1), (2, 1, 1)]


def test_soft_votes_are_shared_and_classes_without_votes_count_none():
    table = pl.DataFrame({"m_x": [0.25], "m_y": [0.75], "m_z": [0.0], "hard": ["y"]})
    answered = combine(table, classifiers=[{"m": "m_*"}, "hard"], counts=True)
    assert answered.select("n_votes", "^votes_.*$").rows() == [(2, 0.25, 1.75, 0.0)]


def test_scores_that_do_not_sum_to_1_are_divided_by_their_sum_on_request():
    table = pl.DataFrame({"m_a": [1.0, 3.0], "m_b": [1.0, 1.0], "n_a": [0.2, 0.1], "n_b": [0.3, 9]})
    how = {"classifiers": {"m": "m_*", "n": "n_*"}, "method": "soft-vote", "proba": True}
    with pytest.raises(InputError, match=r"Pass normalize=True to divide each row by its sum\.$"):
        combine(table, **how)
    with pytest.raises(InputError, match=r"Pass normalize=True to divide each row by its sum\.$"):
        combine(table.lazy(), **how)
    assert combine(table, **how, normalize=True)["proba_a"].round(3).to_list() == [0.45, 0.38]


SETS = pl.DataFrame(
    {
        "task": [1, 1, 1, 2, 2, 2, 3],
        "who": ["a", "b", "c", "a", "b", "c", "a"],
        "said": ["sport; news", "sport", "news;sport", "", "art", "", None],
    }
)


@pytest.mark.parametrize("kind", ["text", "lists", "pandas", "arrow"])
def test_each_label_of_answers_with_several_is_decided_by_itself(kind):
    lists = SETS.with_columns(pl.col("said").str.split(";"))
    native = {
        "text": lambda: SETS,
        "lists": lambda: lists,
        "pandas": lists.to_pandas,
        "arrow": lists.to_arrow,
    }[kind]()
    how = LONG | {"objects": "task", "voters": "who", "classifiers": "said", "method": "majority"}
    how |= {"separator": ";", "per_object": True, "proba": True, "counts": True}
    table, found = combine(native, **how, return_consensus=True)
    rows = (
        table if isinstance(table, pl.DataFrame) else pl.DataFrame(nw.from_native(table).to_dict())
    )
    assert rows.select("task", "consensus", "proba_news").rows()[:2] == [
        (1, "news;sport", pytest.approx(2 / 3)),
        (2, "", 0),
    ]
    assert rows["confidence"].to_list()[:2] == pytest.approx([2 / 3, 2 / 3])
    assert rows.select("n_votes", "votes_art", "votes_sport").rows()[:2] == [(3, 0, 3), (3, 1, 0)]
    assert list(found) == ["art", "news", "sport"]


def test_wide_sets_keep_the_rows_and_use_sets_that_are_known():
    table = pd.DataFrame(
        {"a": [["x"], ["x", "y"]], "b": [["x"], ["x", "y"]], "gold": [None, ["y"]]},
        index=["one", "two"],
    )
    answered = combine(table, classifiers=["a", "b"], known="gold", separator=",")
    assert answered["consensus"].to_dict() == {"one": "x", "two": "y"}
    assert answered["a"].tolist() == [["x"], ["x", "y"]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": SETS.lazy()}, "separator=';' is for a table in memory"),
        ({"by": "task"}, "separator must be left out beside by, got ';'"),
        ({"separator": ""}, "separator must be a text such as ';', got ''"),
        ({"table": SETS.with_columns(said=pl.lit(""))}, "classifiers must hold at least one label"),
        (
            {"table": SETS.with_columns(votes_art=1), "counts": True},
            "must have no column 'votes_art'",
        ),
    ],
)
def test_sets_that_cannot_be_combined_are_refused(change, message):
    how = {"table": SETS, "objects": "task", "voters": "who", "classifiers": "said"}
    with pytest.raises(InputError, match=message):
        combine(**how | {"separator": ";"} | change)


def test_a_table_alone_is_refused_with_its_columns():
    with pytest.raises(InputError, match=r"classifiers must name .*The columns are \['a', 'b'\]"):
        combine(pd.DataFrame({"a": ["x"], "b": ["y"]}))


@pytest.mark.parametrize("names", [["q1", "q2", "q3"], [10, 11, 12]])
def test_known_labels_of_a_pandas_table_go_by_the_names_of_its_rows(names):
    table = pd.DataFrame({"a": ["x", "y", "x"], "b": ["x", "y", "x"]}, index=names)
    known = pd.Series(["y", None, None], index=names[::-1])
    answered = combine(table, classifiers=["a", "b"], known=known, method="majority")
    assert answered["consensus"].tolist() == ["x", "y", "y"]
    assert combine(table, classifiers=["a", "b"], known=known.tolist(), method="majority")[
        "consensus"
    ].tolist() == [
        "y",
        "y",
        "x",
    ]


def test_known_labels_of_a_long_pandas_table_go_by_object_not_by_index():
    frame = long_table().to_pandas()
    plain = combine(frame, **LONG, known="gold")
    indexed = combine(frame.set_index(frame["worker"] + frame["task"]), **LONG, known="gold")
    assert indexed["consensus"].tolist() == plain["consensus"].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_table_has_the_answer_of_its_object_in_every_row(made, kind):
    frame = long_table()
    table = combine(made(kind, frame), **LONG, clusterings="topic", known="gold")
    expected = long_answer(frame, known=True)
    rows, number = rows_of(table), {task: i for i, task in enumerate(expected.object_ids)}
    order = [number[task] for task in rows["task"]]
    assert rows.columns == [*frame.columns, "consensus", "confidence"]
    assert rows["consensus"].to_list() == expected.labels()[order].tolist()
    assert_allclose(rows["confidence"], expected.confidence[order], **EXACT)


@pytest.mark.parametrize("max_rows", [1000, 5])
def test_objects_of_a_long_table_that_have_the_same_votes_have_their_own_answers(max_rows):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "task": rng.permutation(300),
            "worker": rng.choice(["a", "b"], 300),
            "answer": rng.integers(3, size=300),
        }
    )
    table, consensus = combine(
        frame, **LONG, method="majority", max_rows=max_rows, return_consensus=True
    )
    assert table["consensus"].to_list() == frame["answer"].to_list()
    said = dict(frame.select("task", "answer").rows())
    assert consensus.labels().tolist() == [said[task] for task in consensus.object_ids.tolist()]


@pytest.mark.parametrize("max_rows", [1000, 20])
@pytest.mark.parametrize("kind", ["pandas", "polars-lazy"])
def test_objects_of_a_long_table_can_be_asked_about_by_name(made, kind, max_rows):
    frame = long_table()
    consensus = combine(made(kind, frame), **LONG, max_rows=max_rows, return_consensus=True)[1]
    said = {
        (task, worker): answer
        for task, worker, answer in frame.select("task", "worker", "answer").rows()
    }
    for task in consensus.object_ids:
        by_model = consensus.explain(task).by_model
        votes = dict(zip(by_model["model"], by_model["said"], strict=True))
        assert all(said[task, voter] == votes[voter] for voter in votes if voter != "all else")


@pytest.mark.parametrize("kind", ["pandas", "polars-lazy"])
def test_an_object_with_two_clusters_is_refused(made, kind):
    table = pl.DataFrame(
        {"task": ["q", "q"], "worker": ["a", "b"], "answer": ["x", "x"], "topic": [0, 1]}
    )
    sentence = "'topic' must hold one value for all rows of an object, or none in some, got two for object 'q'"
    with pytest.raises(ValueError, match=sentence):
        combine(made(kind, table), **LONG, clusterings="topic")


@pytest.mark.parametrize("kind", FEW)
def test_a_known_label_on_one_row_of_an_object_is_enough(made, kind):
    frame = long_table()
    once = frame.with_columns(
        gold=pl.when(pl.col("worker") == "knn").then("gold"),
        topic=pl.when(pl.col("worker") == "svm").then("topic"),
    )
    tables = (
        combine(made(kind, table), **LONG, clusterings="topic", known="gold")
        for table in (once, frame)
    )
    some, all_rows = (rows_of(table).sort("task", "worker") for table in tables)
    assert frame["gold"].drop_nulls().len() > once["gold"].drop_nulls().len() > 0
    assert some["consensus"].to_list() == all_rows["consensus"].to_list()
    assert_allclose(some["confidence"], all_rows["confidence"], **EXACT)


@pytest.mark.parametrize("max_rows", [40])
@pytest.mark.parametrize("kind", KINDS)
def test_a_long_table_can_be_answered_with_one_row_per_object(made, kind, max_rows):
    frame = long_table()
    how = {"clusterings": "topic", "method": "majority", "max_rows": max_rows}
    one = rows_of(combine(made(kind, frame), **LONG, **how, per_object=True), sort=False).drop(
        "__index_level_0__", strict=False
    )
    each = rows_of(combine(made(kind, frame), **LONG, **how))
    expected = each.unique("task", keep="first", maintain_order=True).select(
        "task", "consensus", "confidence"
    )
    assert one.sort("task").equals(expected.sort("task"))
    if kind in IN_MEMORY:
        assert one["task"].to_list() == expected["task"].to_list()


@pytest.mark.filterwarnings("ignore:.* were solved before")
def test_new_objects_of_a_long_table_can_be_answered_with_one_row_each():
    votes = pd.DataFrame(
        {"task": ["q2", "q1", "q2"], "worker": ["a", "a", "b"], "answer": ["yes", "no", "no"]}
    )
    long = {"objects": "task", "voters": "worker", "classifiers": "answer"}
    _, consensus = combine(votes, **long, method="majority", return_consensus=True)
    answers = extend(votes, consensus, **long, per_object=True)
    assert answers.columns.tolist() == ["task", "consensus", "confidence"]
    assert answers["task"].tolist() == ["q2", "q1"]


def test_an_answer_off_the_scale_names_its_row_in_a_long_table():
    scores = pd.DataFrame(
        {"task": [1, 1, 2], "judge": ["a", "b", "a"], "score": ["1", "5", "refused"]}
    )
    message = "got 'refused' at row 2. Pass missing='refused' if it means no vote"
    with pytest.raises(
        InputError, match=f"^labels must hold answers of the scale, .*{re.escape(message)}"
    ):
        combine(
            scores,
            objects="task",
            voters="judge",
            classifiers="score",
            scale=range(1, 6),
            classes=["bad", "good"],
        )


def test_one_row_per_object_needs_a_long_table():
    sentence = "per_object is for a long table, with one row per vote. Leave it out, or pass objects and voters."
    with pytest.raises(ValueError, match=sentence):
        combine(votes_table(), classifiers=CLASSIFIERS, per_object=True)


@pytest.mark.parametrize("kind", FEW)
def test_known_labels_of_a_long_table_may_be_given_by_object(made, kind):
    frame = long_table()
    known = dict(frame.filter(pl.col("gold").is_not_null()).select("task", "gold").rows())
    by_name, by_column = (
        rows_of(combine(made(kind, frame), **LONG, known=given)).sort("task", "worker")
        for given in (known, "gold")
    )
    assert len(known) > 1
    assert by_name["consensus"].to_list() == by_column["consensus"].to_list()
    assert_allclose(by_name["confidence"], by_column["confidence"], **EXACT)


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_known_labels_of_rows_in_memory_may_be_given_by_number(made, kind):
    frame = votes_table()
    known = {row: label for row, label in enumerate(frame["gold"]) if label is not None}
    for labels in (known, frame["gold"].to_numpy()):
        answers = rows_of(combine(made(kind, frame), **ALL, known=labels))
        assert (
            answers["consensus"].to_list()
            == rows_of(combine(frame, **ALL, known="gold"))["consensus"].to_list()
        )


def test_known_labels_of_a_lazy_table_are_a_column_or_go_by_object():
    sentence = "known must name a column of a lazy table, got dict."
    with pytest.raises(ValueError, match=sentence):
        combine(votes_table().lazy(), **ALL, known={0: "spam"})


# ---- repeated votes, and answers on a scale ------------------------------------------------------


def repeated_table(n=60):
    """A long table in which every third vote is followed by another of the same voter."""
    once = long_table(n)
    again = once.filter(pl.col("id") % 3 == 0).with_columns(
        answer=pl.lit("spam"), id=pl.col("id") + 10_000
    )
    return pl.concat([once, again])


def repeated_votes(frame, repeats):
    ids = frame["task"].unique(maintain_order=True).to_list()
    return Votes.from_long(
        *(frame[name].to_list() for name in ("task", "worker", "answer")),
        object_ids=ids,
        repeats=repeats,
    )


@pytest.mark.parametrize("repeats", ["mean", "last", "first"])
@pytest.mark.parametrize("kind", ["polars-lazy"])
def test_repeated_votes_are_taken_in_as_asked(made, kind, repeats):
    frame = repeated_table()
    table, consensus = combine(made(kind, frame), **LONG, repeats=repeats, return_consensus=True)
    votes = repeated_votes(frame, repeats)
    expected = dict(zip(votes.object_ids, Panel().solve(votes).confidence, strict=True))
    rows = rows_of(table)
    assert_allclose(rows["confidence"], [expected[task] for task in rows["task"]], **EXACT)
    assert any(
        note.kind == "repeats" and "repeated a voter's vote" in str(note)
        for note in consensus.notes
    )


def test_repeated_votes_may_be_refused(made):
    frame = repeated_table()
    with pytest.raises(ValueError, match=re.escape("voters must have one vote per object, got ")):
        combine(frame, **LONG, repeats="error")
    with pytest.raises(
        ValueError,
        match=re.escape("Unknown repeats 'most'. Choose from: mean, last, first, error."),
    ):
        combine(frame, **LONG, repeats="most")


JUDGES = ["ann", "bob", "cy"]
GRADED = {"classifiers": JUDGES, "scale": range(10), "classes": ["fine", "toxic"]}


def graded_table(n=200, seed=0):
    """Three judges who score from 0 to 9, one of them with gaps and one the other way round."""
    rng = np.random.default_rng(seed)
    toxic = rng.integers(2, size=n)
    scores = {
        name: np.clip(rng.normal(2 + 5 * toxic, 2).round(), 0, 9).astype(int) for name in JUDGES
    }
    table = pl.DataFrame(
        {"id": range(n), **scores}, schema_overrides={"bob": pl.Int8, "cy": pl.Int16}
    )
    gold = [["fine", "toxic"][z] if i % 10 == 0 else None for i, z in enumerate(toxic)]
    gone = pl.Series(rng.random(n) < 0.1)
    return table.with_columns(cy=9 - pl.col("cy"), gold=pl.Series(gold)).with_columns(
        bob=pl.when(gone).then(None).otherwise(pl.col("bob"))
    )


def graded_votes(frame, scale=range(10)):
    return Votes.from_labels(
        {name: frame[name].to_list() for name in JUDGES}, classes=["fine", "toxic"], scale=scale
    )


@pytest.mark.parametrize("known", ["gold"])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_answered_as_those_in_memory(made, kind, known):
    frame = graded_table()
    rows = rows_of(combine(made(kind, frame), **GRADED, known=known))
    expected = Panel().solve(
        graded_votes(frame), None if known is None else frame["gold"].to_list()
    )
    assert rows["consensus"].to_list() == expected.labels().tolist()
    assert_allclose(rows["confidence"], expected.confidence, **EXACT)


@pytest.mark.parametrize("kind", FEW)
def test_scores_beyond_max_rows_are_answered_from_the_groups(made, kind):
    frame = graded_table()
    table, consensus = combine(made(kind, frame), **GRADED, max_rows=40, return_consensus=True)
    assert_allclose(
        rows_of(table)["confidence"], consensus.extend(graded_votes(frame)).confidence, **EXACT
    )


@pytest.mark.parametrize("kind", FEW)
def test_new_scores_are_answered_by_the_scales_of_a_saved_consensus(made, kind, tmp_path):
    combine(graded_table(), **GRADED, method="dawid-skene", return_consensus=True)[1].save(
        tmp_path / "judges.ec3"
    )
    saved, new = Consensus.load(tmp_path / "judges.ec3"), graded_table(30, seed=1)
    rows = rows_of(extend(made(kind, new), saved))
    assert_allclose(rows["confidence"], saved.extend(graded_votes(new)).confidence, **EXACT)


def test_new_scores_may_be_of_some_judges_in_columns_of_other_names():
    _, judges = combine(graded_table(), **GRADED, return_consensus=True)
    table = graded_table(30, seed=1)
    some = extend(table, judges, classifiers={"ann": "cy", "bob": "bob"})
    expected = extend(table.select("bob", ann="cy"), judges, classifiers=["ann", "bob"])
    assert some["confidence"].to_list() == expected["confidence"].to_list()
    assert not (extend(table, judges)["confidence"] == some["confidence"]).all()


@pytest.mark.filterwarnings("ignore:.* were solved before")
@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_scores_in_a_long_table_may_have_a_scale_each_and_voters_may_be_new(made, kind):
    wide = graded_table(100).with_columns(cy=pl.col("gold").fill_null("fine"))
    long = pl.concat(
        wide.select("id", worker=pl.lit(name), task="id", answer=pl.col(name).cast(pl.String))
        for name in JUDGES
    ).with_columns(id=pl.int_range(300))
    digits = [str(score) for score in range(10)]
    given = {**LONG, "classes": ["fine", "toxic"]}
    scales = {"ann": digits, "bob": Scale(digits)}
    _, consensus = combine(made(kind, long), **given, scale=scales, return_consensus=True)
    assert [model.kind for model in consensus.solution.models] == ["grader", "grader", "classifier"]
    only = extend(made(kind, long.filter(pl.col("worker") != "bob")), consensus, **LONG)
    assert rows_of(only).height == 200
    graded = long.filter(pl.col("worker") != "cy")
    _, judges = combine(made(kind, graded), **given, scale=digits, return_consensus=True)
    with pytest.warns(
        ExtendWarning,
        match=r"93 votes are treated as missing, .*: 'eve' 93\.",
    ):
        extend(
            made(kind, graded.with_columns(worker=pl.col("worker").replace("bob", "eve"))),
            judges,
            **LONG,
        )


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_scores_outside_the_scale_are_refused_or_missing(made, kind):
    table = made(kind, graded_table())
    words = re.escape(
        "classifiers must hold answers of the scale, [0, 1, 2, 3, 4, 5, 6, 7, 8], got 9 at "
    )
    with pytest.raises(ValueError, match=words):
        combine(table, **GRADED | {"scale": range(9)})
    rows = rows_of(combine(table, **GRADED | {"scale": Scale(range(9), outside="missing")}))
    nulled = graded_table().with_columns(
        pl.when(pl.col(name) < 9).then(pl.col(name)).alias(name) for name in JUDGES
    )
    assert_allclose(
        rows["confidence"], Panel().solve(graded_votes(nulled, range(9))).confidence, **EXACT
    )
    small = graded_table().filter(pl.max_horizontal(JUDGES) < 9)
    judges = combine(small, **GRADED | {"scale": range(9)}, return_consensus=True)[1]
    with pytest.raises(ValueError, match=words):
        extend(table, judges)
    assert rows_of(extend(table, judges, scale=Scale(range(9), outside="missing"))).height == 200


def test_votes_from_a_table_of_scores_are_graders():
    votes = votes_from(
        graded_table(),
        **GRADED | {"scale": {"ann": range(10), "bob": range(10)}, "classifiers": JUDGES[:2]},
    )
    assert [model.kind for model in votes.models] == ["grader", "grader"]
    with pytest.raises(ValueError, match=re.escape("Unknown voter 'anne'. Did you mean 'ann'?")):
        votes_from(graded_table(), **GRADED | {"scale": {"anne": range(10)}})
    with pytest.raises(
        ValueError,
        match=re.escape("classes must say what the ends of a scale mean, from low to high, got "),
    ):
        votes_from(graded_table(), classifiers=JUDGES, scale=range(10))


# ---- extend, votes_from --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_new_objects_get_the_answer_of_the_model(made, kind):
    model = combine(votes_table(), **ALL, method="iec3", return_consensus=True)[1]
    new = votes_table(50, seed=3)
    table = made(kind, new)
    answered = extend(table, model)
    assert type(answered) is type(table)
    assert rows_of(answered).columns == [*new.columns, "consensus", "confidence"]
    assert_allclose(
        rows_of(answered)["confidence"],
        model.extend(solved(new).solution.votes).confidence,
        **EXACT,
    )


@pytest.mark.parametrize("kind", FEW)
def test_no_new_objects_get_no_answers(made, kind):
    model = combine(votes_table(), **ALL, return_consensus=True)[1]
    rows = rows_of(extend(made(kind, votes_table()[:0]), model))
    assert rows.height == 0
    assert rows.columns[-2:] == ["consensus", "confidence"]


@pytest.mark.parametrize("kind", FEW)
def test_new_objects_without_any_vote_are_answered_by_their_clusters(made, kind):
    model = combine(votes_table(), **ALL, method="iec3", return_consensus=True)[1]
    new = votes_table(5).with_columns(
        pl.lit(None, dtype=pl.String).alias(name) for name in CLASSIFIERS
    )
    votes = Votes.from_labels(
        dict.fromkeys(CLASSIFIERS, [None] * 5),
        {name: new[name].to_list() for name in CLUSTERINGS},
        classes=[""],
    )
    rows = rows_of(extend(made(kind, new), model))
    assert_allclose(rows["confidence"], model.extend(votes).confidence)


def test_a_model_whose_columns_are_not_all_there_answers_with_a_warning():
    model = combine(votes_table(), **ALL, return_consensus=True)[1]
    with pytest.warns(
        ExtendWarning,
        match=re.escape(
            "no column for 2 base models of the consensus; treated as missing: ['tree', 'db']"
        ),
    ):
        extend(votes_table().drop("tree", "db"), model)


def test_labels_never_seen_are_counted():
    model = combine(votes_table(), **ALL, return_consensus=True)[1]
    new = votes_table(5).with_columns(svm=pl.lit("eggs"))
    with pytest.warns(ExtendWarning, match="5 votes are treated as missing"):
        extend(new, model)


@pytest.mark.parametrize("kind", FEW)
def test_votes_come_from_any_table(made, kind):
    votes = votes_from(made(kind, votes_table()), **ALL)
    assert votes.counts.sum() == 300
    assert_allclose(
        sorted(set(Panel().solve(votes).confidence.round(9))),
        sorted(set(solved(votes_table()).confidence.round(9))),
    )


# ---- what is asked of the consensus, and what is refused -----------------------------------------


def test_a_method_with_parameters_solves():
    method = EC3(balanced=False, alpha=0.5)
    rows = combine(votes_table(), **ALL, method=method)
    assert_allclose(rows["confidence"], solved(votes_table(), method).confidence, **EXACT)


@pytest.mark.parametrize("kind", LAZY)
def test_the_consensus_of_a_lazy_table_counts_every_row(made, kind):
    consensus = combine(made(kind, votes_table()), **ALL, return_consensus=True)[1]
    n_distinct = votes_table().select([*CLASSIFIERS, *CLUSTERINGS]).n_unique()
    expected = solved(votes_table()).voters()
    assert_allclose(
        [x or 0 for x in consensus.voters()["agreement"]],
        [x or 0 for x in expected["agreement"]],
        **EXACT,
    )
    assert_allclose(consensus.voters()["coverage"], expected["coverage"], **EXACT)
    assert (
        f"the {n_distinct} distinct rows of the table, each counted as often as it occurs"
        in str(consensus.solution.notes[-1])
    )


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"classifiers": ["smv"]},
            "classifiers must name a column of the table, got 'smv'. Did you mean 'svm'?",
        ),
        (
            {"classifiers": "clf_*"},
            "classifiers must match columns of the table, got 'clf_*'. The columns are ['id',",
        ),
        (
            {"classifiers": []},
            "classifiers must name at least one column, and of a long table the one column of labels, got [].",
        ),
        (
            {"clusterings": ["kmm"]},
            "clusterings must name a column of the table, got 'kmm'. Did you mean 'km'?",
        ),
        (
            {"known": "svm"},
            "classifiers and known must name different columns, got 'svm' for both.",
        ),
        ({"objects": "id"}, "objects and voters must be given together, got objects alone."),
        (
            {"objects": "id", "voters": "km"},
            "the one column of labels, got ['svm', 'knn', 'tree'].",
        ),
        (
            {"classifiers": ["weight"]},
            "classifiers must hold labels (ints, bools or strings), got 0.",
        ),
        (
            {"clusterings": ["weight"]},
            "at row 0 in column 'weight'. Pass shares as a table, objects x clusters.",
        ),
        (
            {"classifiers": ["id"]},
            "must hold labels of classes, got 300 different ones in 300 votes.",
        ),
        (
            {"classifiers": {"a": {"x": "km"}}, "classes": ["x", "y"]},
            "have one column for each class, ['x', 'y'], got ['x'].",
        ),
        ({"method": "iec4"}, "Unknown method 'iec4'. Did you mean 'iec3'?"),
        ({"max_rows": 0}, "max_rows must be an integer >= 1, got 0."),
        (
            {"clusterings": ["svm"]},
            "classifiers and clusterings must name different columns, got 'svm' for both.",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["polars-lazy"])
def test_wrong_arguments_are_refused_in_one_sentence(made, kind, changed, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        combine(made(kind, votes_table()), **{**ALL, **changed})


@pytest.mark.parametrize("kind", ["polars", "duckdb"])
def test_names_and_soft_models_may_stand_in_one_list(made, kind):
    frame = pl.DataFrame(
        {"id": [0, 1], "clf_a": ["x", "y"], "clf_p_x": [0.9, 0.2], "clf_p_y": [0.1, 0.8]}
    )
    chosen = ["clf_*", {"lr": "clf_p_*"}]  # the pattern leaves out what the soft model takes
    _, consensus = combine(made(kind, frame), classifiers=chosen, return_consensus=True)
    assert [model.name for model in consensus.solution.models] == ["clf_a", "lr"]


@pytest.mark.parametrize("kind", FEW)
def test_columns_that_are_there_already_are_not_overwritten(made, kind):
    table = made(kind, votes_table().with_columns(consensus=1, proba_ham=2))
    with pytest.raises(
        ValueError,
        match=re.escape(
            "no column 'consensus', because 'consensus' is added. Rename it, or pass prefix="
        ),
    ):
        combine(table, **ALL)
    with pytest.raises(ValueError, match=re.escape("table must have no column 'proba_ham'")):
        combine(made(kind, votes_table().with_columns(proba_ham=2)), **ALL, proba=True)
    names = (
        nw.from_native(combine(table, **ALL, proba=True, prefix="ec3_")).collect_schema().names()
    )
    assert names[-5:] == [
        "ec3_consensus",
        "ec3_confidence",
        "ec3_proba_",
        "ec3_proba_ham",
        "ec3_proba_spam",
    ]


@pytest.mark.filterwarnings(
    "ignore::ec3learn.methods.ReliabilityWarning"
)  # of labels that look alike
@pytest.mark.parametrize("max_rows", [1000, 2])
def test_columns_that_differ_only_in_case_are_one_for_duckdb(made, max_rows):
    frame = pl.DataFrame({"id": [0, 1, 2], "a": ["x", "X", "y"], "Confidence": [1, 2, 3]})
    chosen = {"classifiers": ["a"], "max_rows": max_rows, "method": "iec3"}
    words = "table must have no column 'Confidence', because 'confidence' is added. Rename it, or pass prefix='ec3_'."
    with pytest.raises(ValueError, match=re.escape(words)):
        combine(made("duckdb", frame), **chosen)
    words = "table must have no column 'my_proba_X', because 'my_proba_x' is added."
    with pytest.raises(ValueError, match=re.escape(words)):
        combine(made("duckdb", frame), prefix="my_", proba=True, **chosen)
    assert rows_of(combine(frame, proba=True, **chosen)).columns[3:] == [
        "consensus",
        "confidence",
        "proba_X",
        "proba_x",
        "proba_y",
    ]


@pytest.mark.parametrize("kind", FEW)
def test_a_table_without_rows_is_refused(made, kind):
    with pytest.raises(ValueError, match="table must have at least one row, got none"):
        combine(made(kind, votes_table()[:0]), **ALL)


@pytest.mark.parametrize("table", [[[1]], "votes.csv", None, np.ones((2, 2)), {"a": [1]}])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(
        TypeError,
        match=re.escape(
            "table must be a pandas, polars or Arrow table, a polars LazyFrame, a DuckDB"
        ),
    ):
        combine(table, classifiers="a")


def test_what_is_no_model_is_refused():
    with pytest.raises(
        TypeError,
        match=re.escape("consensus must be a Consensus, got str. Consensus.load(path) reads one"),
    ):
        extend(votes_table(), "model.ec3")


def test_a_table_without_the_columns_of_the_model_is_refused():
    model = combine(votes_table(), **ALL, return_consensus=True)[1]
    with pytest.raises(
        ValueError,
        match=re.escape(
            "like the classifiers of the consensus, ['svm', 'knn', 'tree'], got ['other']."
        ),
    ):
        extend(pl.DataFrame({"other": [1]}), model)


# ---- other names in a connection, and our own ----------------------------------------------------


@pytest.mark.parametrize("name", ["answers", "l", "__ec3learn_answers"])
@pytest.mark.parametrize("max_rows", [20])
def test_other_tables_of_a_connection_change_nothing(name, max_rows):
    frame = votes_table()
    connection = duckdb.connect()
    connection.from_arrow(frame.to_arrow()).create("votes")
    expected = rows_of(combine(connection.table("votes"), **ALL, max_rows=max_rows))
    wrong = frame.select("id", *CLASSIFIERS, *CLUSTERINGS).with_columns(
        consensus=pl.lit("eggs"), confidence=0.5
    )
    connection.from_arrow(pl.concat([wrong, wrong]).to_arrow()).create(name)
    assert_frame_equal(
        rows_of(combine(connection.table("votes"), **ALL, max_rows=max_rows)), expected
    )


# ---- rows out are rows in ------------------------------------------------------------------------

# Labels that are equal to somebody: to a collation without case or accents, or as floats.
ALIKE = {
    "text": (pl.String, ["a", "A", "\u00e1", "a ", "", "1", "1.0", None]),
    "ints": (pl.Int64, [2**53, 2**53 + 1, 2**53 + 2, -(2**53) - 1, 0, -1, None]),
    "large ints": (pl.UInt64, [2**63, 2**63 + 1, 2**64 - 1, 2**53 + 1, 0, None]),
    "floats": (pl.Float64, [2.0**53, 2.0**53 + 2, -0.0, 0.0, float("nan"), None]),
}


@st.composite
def alike_tables(draw):
    """Tables of labels that are nearly equal; integers may be beside floats."""
    kinds = draw(
        st.sampled_from(
            [["text"], ["ints"], ["ints", "floats"], ["large ints"], ["large ints", "floats"]]
        )
    )
    n_rows = draw(st.integers(1, 12))
    columns = {"id": pl.Series(range(n_rows), dtype=pl.Int64)}
    for j, kind in enumerate([*kinds, kinds[0]]):
        dtype, labels = ALIKE[kind]
        said = draw(st.lists(st.sampled_from(labels), min_size=n_rows, max_size=n_rows))
        columns[f"v{j}"] = pl.Series([labels[0], *said[1:]], dtype=dtype)
    columns["k"] = pl.Series(
        draw(st.lists(st.sampled_from(["x", "X", None]), min_size=n_rows, max_size=n_rows)),
        dtype=pl.String,
    )
    return pl.DataFrame(columns)


def has_inexact_floats(frame):
    floats = [
        value
        for column in frame
        if column.dtype == pl.Float64
        for value in column
        if value is not None
    ]
    return any(abs(value) >= 2**53 for value in floats)


def is_same_row(one, other):
    return all(
        (a is None and b is None) or a == b or (a != a and b != b)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.filterwarnings("ignore::ec3learn.answer.ExtendWarning")
@fuzzed(15)
@given(
    frame=alike_tables(),
    max_rows=st.sampled_from([1, 3, 1000]),
    method=st.sampled_from(["majority", "iec3", "dawid-skene"]),
)
def test_every_row_comes_back_once_as_it_was_and_with_the_answer_of_its_own_votes(
    frame, max_rows, method
):
    voters = [name for name in frame.columns if name.startswith("v")]
    chosen = {"classifiers": voters, "clusterings": ["k"], "method": method, "max_rows": max_rows}
    for kind in [*IN_MEMORY, "polars-lazy", "duckdb"]:
        table = MAKERS[kind](None, frame)
        before = rows_of(table)
        if has_inexact_floats(before.select(voters)):  # as pandas makes them of integers with gaps
            with pytest.raises(InputError, match="may have lost digits"):
                combine(table, **chosen)
            continue
        answered, consensus = combine(table, **chosen, return_consensus=True)
        rows = rows_of(answered)
        assert all(map(is_same_row, rows.select(frame.columns).rows(), before.rows())), kind
        assert rows.height == frame.height, kind
        said, clusters = (
            {name: before[name].to_list() for name in names} for names in (voters, ["k"])
        )
        expected = Votes.from_labels(said, clusters, classes=consensus.classes)
        proba = (
            consensus.extend(expected) if max_rows < 1000 else METHODS[method]().solve(expected)
        ).proba
        assert_allclose(rows["confidence"], proba.max(axis=1), **EXACT, err_msg=kind)


def test_objects_without_a_vote_are_counted_as_often_as_they_occur(made):
    frame = pl.DataFrame(
        {"svm": ["spam", "ham", None, None, None], "tree": ["spam", "ham", None, None, None]}
    )
    _, consensus = combine(
        made("polars-lazy", frame),
        classifiers=["svm", "tree"],
        method="majority",
        return_consensus=True,
    )
    assert "3 objects have no vote and got the mean vote of all." in map(str, consensus.notes)


def test_polars_streams_the_join_of_the_answers():
    table = pl.LazyFrame({"svm": ["spam", "ham"] * 10, "tree": ["spam", "spam"] * 10})
    answers = combine(table, classifiers=["svm", "tree"], method="majority")
    plan = answers.show_graph(engine="streaming", plan_stage="physical", raw_output=True)
    assert "equi-join" in plan
    assert "in-memory-join" not in plan


def test_type_checkers_know_the_kind_of_the_table():
    alone, both = (each.__annotations__["return"] for each in get_overloads(combine))
    assert (alone, both) == ("Table", "tuple[Table, Consensus]")


def test_soft_columns_are_remembered_with_their_models():
    old = pl.DataFrame({"p": [0.9, 0.2], "q": [0.1, 0.8], "g0": [1.0, 0.0], "g1": [0.0, 1.0]})
    named = {"classifiers": {"svm": {"a": "p", "b": "q"}}, "clusterings": {"gmm": "g*"}}
    answered, consensus = combine(old, **named, method="ec3", return_consensus=True)
    assert extend(old, consensus)["confidence"].to_list() == pytest.approx(answered["confidence"])


def test_objects_solved_before_are_told():
    table = long_table()
    named = {"objects": "task", "voters": "worker", "classifiers": "answer"}
    _, consensus = combine(table, **named, method="ec3", return_consensus=True)
    with pytest.warns(ExtendWarning, match="were solved before; the answers follow from the new"):
        extend(table, consensus, **named)


@pytest.mark.filterwarnings("ignore:.* no vote")
def test_sparse_wide_tables_are_answered_alike_if_they_are_lazy():
    rng = np.random.default_rng(0)
    said = rng.integers(3, size=(16, 60)).astype(str).astype(object)
    said[rng.random(said.shape) < 0.9] = None
    table = pl.DataFrame({f"worker {j}": list(votes) for j, votes in enumerate(said)})
    lazy = combine(table.lazy(), classifiers="*").collect()
    assert lazy["consensus"].equals(combine(table, classifiers="*")["consensus"])


def test_objects_without_a_vote_are_warned_of():
    table = pd.DataFrame({"a": ["x", None, "y"], "b": ["x", None, "y"], "c": ["y", None, "y"]})
    with pytest.warns(ReliabilityWarning, match=r"^1 object has no vote and got the mean vote"):
        combine(table, classifiers=["a", "b", "c"])


@pytest.mark.parametrize(
    ("exclude", "error"),
    [
        (["an"], "Unknown exclude 'an'. Did you mean 'ann'?"),
        (["ann", "bob"], "exclude must leave at least one voter, got ['ann', 'bob']."),
    ],
)
def test_voters_of_a_long_table_are_left_out_by_their_names(exclude, error):
    rows = pd.DataFrame({"q": [1, 1, 2], "who": ["ann", "bob", "ann"], "said": ["x", "y", "y"]})
    columns = Naming(classifiers="said", objects="q", voters="who", exclude=exclude)
    for table in (rows, pl.LazyFrame(rows.to_dict("list"))):
        frame = as_frame(table)
        with pytest.raises(InputError, match=f"^{re.escape(error)}"):
            content_of(frame, columns.find(frame))
