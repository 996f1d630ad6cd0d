"""Votes: what may be passed, what comes back, what is refused and in which words."""

import re
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from ec3learn import EC3, DawidSkene, MajorityVote, SoftVote, Votes, combine, solve, votes_from
from ec3learn._checks import InputError
from ec3learn.votes import hardened, votes_per_model, without_clusterings
from ec3learn.votes.labels import is_missing

from ..strategies import any_columns, any_tables, any_votes, graded_votes, random_table

EXACT = {"atol": 1e-9, "rtol": 0}


def said(votes):
    """What each base model said about each object."""
    return [votes.said(i) for i in range(len(votes))]


def plain(votes):
    return [
        [value.item() if isinstance(value, np.generic) else value for value in row]
        for row in said(votes)
    ]


# ---- distinct labels stay distinct ---------------------------------------------------------------


def values_of(column):
    """What a column holds, as its own library lists it: None for what is missing."""
    dates = isinstance(column, np.ndarray) and column.dtype.kind in "mM"
    listing = next(
        (
            name
            for name in ("tolist", "to_list", "to_pylist")
            if hasattr(column, name) and not dates
        ),
        "__iter__",
    )
    return [None if is_missing(value) else value for value in getattr(column, listing)()]


def labels_out(column, place):
    """What comes back where a column is read as votes, clusters, names of objects or known labels."""
    n = len(column)
    if place == "classifiers":
        return [row[0] for row in said(Votes.from_labels({"c": column}))]
    if place == "clusterings":
        return [row[1] for row in said(Votes.from_labels({"c": [0] * n}, {"k": column}))]
    if place == "objects":
        ids = Votes.from_long(column, ["c"] * n, [0] * n).object_ids.tolist()
        return [next(name for name in ids if name == value) for value in values_of(column)]
    known = MajorityVote().solve(
        Votes.from_labels({"c": [0] * n}, classes=values_of(column)), known=column
    )
    return known.labels().tolist()


@settings(max_examples=200)
@given(any_columns(), st.sampled_from(["classifiers", "clusterings", "objects", "known"]))
def test_distinct_values_are_distinct_labels_or_refused(column, place):
    try:
        out = labels_out(column, place)
    except InputError:
        return
    assert out == [
        None if value == -1 and place == "clusterings" else value for value in values_of(column)
    ]


@pytest.mark.parametrize("place", ["classifiers", "clusterings"])
@pytest.mark.parametrize("top", [2**63 - 1, 2**64 - 1])
def test_the_largest_integers_come_back(place, top):
    column = np.array([top, top - 1, top], dtype=np.uint64)
    assert labels_out(column, place) == [top, top - 1, top]


# ---- labels come back as given -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.uint64])
def test_whole_numbers_of_any_width_come_back(dtype):
    votes = Votes.from_labels(np.array([[3, 5], [5, 3], [3, 3]], dtype=dtype))
    assert votes.classes.tolist() == [3, 5]
    assert plain(votes) == [[3, 5], [5, 3], [3, 3]]


def test_bools_come_back_as_bools():
    votes = Votes.from_labels({"c": np.array([True, False, True]), "d": [False, None, True]})
    assert votes.classes.tolist() == [False, True]
    assert EC3().solve(votes).labels().dtype == bool


def test_strings_come_back_as_strings():
    votes = Votes.from_labels(
        {
            "c": ["no", "yes"],
            "d": np.array(["yes", "yes"]),
            "e": np.array(["no", None], dtype=object),
        }
    )
    assert votes.classes.tolist() == ["no", "yes"]
    assert all(type(label) is str for label in EC3().solve(votes).labels())


def test_large_whole_numbers_far_apart_come_back():
    votes = Votes.from_labels({"c": [10**15, -(10**15), 7]})
    assert votes.classes.tolist() == [-(10**15), 7, 10**15]


def test_labels_have_the_type_they_were_given_in():
    assert EC3().solve(Votes.from_labels(np.array([[3], [5]]))).labels().dtype.kind == "i"
    assert type(EC3().solve(Votes.from_labels({"c": ["a", "b"]})).labels()[0]) is str


FRAMES = {
    "pandas": pd.DataFrame({"c": ["a", "b", None], "d": ["b", "b", "a"]}),
    "pandas strings": pd.DataFrame({"c": ["a", "b", pd.NA], "d": ["b", "b", "a"]}, dtype="string"),
    "pandas objects": pd.DataFrame({"c": ["a", "b", np.nan], "d": ["b", "b", "a"]}, dtype=object),
    "pandas categories": pd.DataFrame(
        {"c": ["a", "b", None], "d": ["b", "b", "a"]}, dtype="category"
    ),
    "pandas, rows named": pd.DataFrame(
        {"c": ["a", "b", None], "d": ["b", "b", "a"]}, index=["x", "y", "z"]
    ),
    "polars": pl.DataFrame({"c": ["a", "b", None], "d": ["b", "b", "a"]}),
    "polars categories": pl.DataFrame({"c": ["a", "b", None], "d": ["b", "b", "a"]}).cast(
        pl.Categorical
    ),
    "polars enums": pl.DataFrame({"c": ["a", "b", None], "d": ["b", "b", "a"]}).cast(
        pl.Enum(["a", "b", "z"])
    ),
    "pyarrow": pa.table({"c": ["a", "b", None], "d": ["b", "b", "a"]}),
    "pyarrow dictionary": pa.table(
        {
            "c": pa.array(["a", "b", None]).dictionary_encode(),
            "d": pa.array(["b", "b", "a"]).dictionary_encode(),
        }
    ),
    "dict of series": {"c": pd.Series(["a", "b", None]), "d": pl.Series(["b", "b", "a"])},
    "dict of lists": {"c": ["a", "b", None], "d": ("b", "b", "a")},
    "dict of masked arrays": {
        "c": np.ma.MaskedArray(["a", "b", "?"], mask=[0, 0, 1]),
        "d": np.array(["b", "b", "a"]),
    },
}


@pytest.mark.parametrize("frame", FRAMES)
def test_dataframes_and_dicts_of_strings_are_read(frame):
    votes = Votes.from_labels(FRAMES[frame])
    assert [model.name for model in votes.models] == ["c", "d"]
    assert votes.classes.tolist() == ["a", "b"]
    assert said(votes) == [["a", "b"], ["b", "b"], [None, "a"]]


NUMBERS = {
    "pandas floats with NaN": pd.DataFrame({"c": [1.0, 2.0, np.nan], "d": [2.0, 2.0, 1.0]}),
    "pandas Int64 with NA": pd.DataFrame({"c": [1, 2, pd.NA], "d": [2, 2, 1]}, dtype="Int64"),
    "pandas categories": pd.DataFrame(
        {"c": pd.Categorical([1, 2, None]), "d": pd.Categorical([2, 2, 1])}
    ),
    "polars": pl.DataFrame({"c": [1, 2, None], "d": [2, 2, 1]}),
    "pyarrow": pa.table({"c": [1, 2, None], "d": [2, 2, 1]}),
    "numpy floats with NaN": np.array([[1, 2], [2, 2], [np.nan, 1]]),
    "masked array": np.ma.MaskedArray([[1, 2], [2, 2], [9, 1]], mask=[[0, 0], [0, 0], [1, 0]]),
    "nested lists": [[1, 2], [2, 2], [None, 1]],
    "lists with NaN": [[1, 2], [2, 2], [float("nan"), 1]],
    "lists with NA": [[1, 2], [2, 2], [pd.NA, 1]],
    "objects": np.array([[1, 2], [2, 2], [None, 1]], dtype=object),
}


@pytest.mark.parametrize("table", NUMBERS)
def test_missing_numbers_are_read_from_any_table(table):
    votes = Votes.from_labels(NUMBERS[table])
    assert votes.classes.tolist() == [1, 2]
    assert plain(votes) == [[1, 2], [2, 2], [None, 1]]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, None, False], dtype="boolean"),
        pl.Series([True, None, False]),
        np.ma.MaskedArray([True, True, False], mask=[0, 1, 0]),
        [True, None, False],
    ],
)
def test_missing_bools_are_read_from_any_column(column):
    assert plain(Votes.from_labels({"c": column})) == [[True], [None], [False]]


def test_a_named_value_may_mean_no_vote():
    votes = Votes.from_labels({"c": ["a", "?", "b"]}, {"k": ["?", "x", "x"]}, missing="?")
    assert votes.classes.tolist() == ["a", "b"]
    assert said(votes) == [["a", None], [None, "x"], ["b", "x"]]


def test_minus_one_is_noise_in_clusterings_and_a_class_in_classifiers():
    votes = Votes.from_labels(np.array([[-1], [1]]), np.array([[-1], [1]]))
    assert votes.classes.tolist() == [-1, 1]
    assert plain(votes) == [[-1, None], [1, 1]]


def test_minus_one_is_noise_beside_a_named_missing_value():
    votes = Votes.from_labels({"c": [1, 9, -1]}, {"k": [-1, 9, 3]}, missing=9)
    assert plain(votes) == [[1, None], [None, None], [-1, 3]]


def test_a_missing_value_of_another_kind_is_no_label():
    votes = Votes.from_labels({"c": [1, 0]}, {"k": [1, 0]}, missing=True)
    assert plain(votes) == [[1, 1], [0, 0]]


def test_classes_may_be_named_and_ordered():
    votes = Votes.from_labels({"c": ["b", "a"]}, classes=["c", "b", "a"])
    assert votes.classes.tolist() == ["c", "b", "a"]
    assert MajorityVote().solve(votes).proba.tolist() == [[0, 1, 0], [0, 0, 1]]


def test_empty_clusters_are_left_out():
    votes = Votes.from_labels({"c": [0, 1]}, {"k": np.array([0, 500])})
    assert votes.models[1].labels.tolist() == [0, 500]


@pytest.mark.parametrize("form", [list, np.array])
def test_clusters_are_in_sorted_order_however_they_are_passed(form):
    votes = Votes.from_labels({"c": [0, 1, 0]}, {"k": form([5, 2, 9])})
    assert votes.models[1].labels.tolist() == [2, 5, 9]


def test_columns_of_an_array_are_counted_by_kind():
    votes = Votes.from_labels([[0, 1], [1, 1]], [[3], [4]])
    assert [(model.name, model.kind) for model in votes.models] == [
        ("classifier_0", "classifier"),
        ("classifier_1", "classifier"),
        ("clustering_0", "clustering"),
    ]


# ---- probabilities -------------------------------------------------------------------------------


def test_probabilities_are_kept_as_given():
    votes = Votes.from_probabilities(
        {"lr": [[0.9, 0.1], [np.nan, np.nan]], "hard": ["ham", "spam"]}, classes=["ham", "spam"]
    )
    assert said(votes)[0] == [{"ham": pytest.approx(0.9), "spam": pytest.approx(0.1)}, "ham"]
    assert said(votes)[1] == [None, "spam"]


def test_columns_without_names_are_numbered():
    assert Votes.from_probabilities({"lr": [[0.2, 0.3, 0.5]]}).classes.tolist() == [0, 1, 2]


def test_columns_follow_the_sorted_labels_of_hard_classifiers():
    votes = Votes.from_probabilities({"lr": [[0.2, 0.8], [1, 0]], "tree": ["yes", "no"]})
    assert votes.classes.tolist() == ["no", "yes"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_a_dataframe_are_matched_by_name(make):
    votes = Votes.from_probabilities(
        {"lr": make({"b": [0.1, 0.2], "a": [0.9, 0.8]})}, classes=["a", "b"]
    )
    assert EC3().solve(votes).labels().tolist() == ["a", "a"]


def test_names_of_columns_become_the_classes():
    votes = Votes.from_probabilities({"lr": pd.DataFrame({"b": [0.1], "a": [0.9]})})
    assert votes.classes.tolist() == ["b", "a"]


def test_soft_clusterings_stand_beside_hard_ones():
    votes = Votes.from_labels(
        {"c": ["a", "b"]}, {"hard": [0, 1], "soft": np.array([[0.5, 0.5], [0, 1]])}
    )
    assert said(votes)[0] == ["a", 0, {0: 0.5, 1: 0.5}]


def test_a_masked_row_of_probabilities_is_a_missing_vote():
    table = np.ma.MaskedArray([[0.5, 0.5], [9, 9]], mask=[[0, 0], [1, 1]])
    assert said(Votes.from_probabilities({"c": table}))[1] == [None]


# ---- long tables ---------------------------------------------------------------------------------


def test_a_long_table_has_its_objects_sorted():
    votes = Votes.from_long(["q2", "q1", "q2"], ["bob", "ann", "ann"], ["yes", "no", None])
    assert votes.object_ids.tolist() == ["q1", "q2"]
    assert [model.name for model in votes.models] == ["ann", "bob"]
    assert said(votes) == [["no", None], [None, "yes"]]


def test_objects_of_a_long_table_may_be_ordered_and_added():
    votes = Votes.from_long([3, 1], ["a", "a"], [0, 1], {"k": [7, 7, 8]}, object_ids=[3, 2, 1])
    assert votes.object_ids.tolist() == [3, 2, 1]
    assert plain(votes) == [[0, 7], [None, 7], [1, 8]]


def test_voters_may_be_numbers():
    votes = Votes.from_long([0, 1], np.array([11, 7]), ["x", "y"], weights={"11": 2.0})
    assert votes.weights.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_a_dataframe_make_a_long_table(make):
    frame = make({"task": ["q1", "q2"], "worker": ["a", "b"], "label": ["x", "y"]})
    votes = Votes.from_long(frame["task"], frame["worker"], frame["label"])
    assert said(votes) == [["x", None], [None, "y"]]


@pytest.mark.parametrize("seed", range(4))
def test_a_long_table_equals_the_wide_one(seed):
    table = random_table(
        np.random.default_rng(seed), weighted=True, sample_weighted=True, missing=0.5
    )
    wide, long = table.votes(), table.long_votes()
    assert plain(long) == plain(wide)
    assert_allclose(EC3().solve(long).proba, EC3().solve(wide).proba, **EXACT)


def test_many_classifiers_that_hardly_vote_equal_the_long_table():
    rng = np.random.default_rng(0)
    wide = np.where(rng.random((200, 20)) < 0.1, rng.integers(3, size=(200, 20)), -9)
    wide[:, 0] = rng.integers(3, size=200)
    asked = np.argwhere(wide != -9)
    long = Votes.from_long(
        asked[:, 0], [f"classifier_{j}" for j in asked[:, 1]], wide[tuple(asked.T)]
    )
    sparse = Votes.from_labels(wide, missing=-9)
    order = [model.name for model in sparse.models]
    assert sorted(order) == [model.name for model in long.models]
    assert repr(sparse) == repr(long)
    assert_allclose(EC3().solve(sparse).proba, EC3().solve(long).proba, **EXACT)


def test_a_crowd_costs_memory_for_its_votes_only(crowd):
    assert not crowd.stores.hard
    assert crowd.stores.sparse.nnz == votes_per_model(crowd).sum()


# ---- other votes from these ----------------------------------------------------------------------


@given(any_tables(known=False))
def test_some_rows_are_the_votes_on_these_objects(table):
    rows = list(range(0, table.n_objects, 2))
    whole = table.votes()
    for chosen in (rows, np.array(rows), slice(0, None, 2), np.arange(table.n_objects) % 2 == 0):
        assert said(whole[chosen]) == [whole.said(i) for i in rows]
    part = whole[rows]
    assert part.n_objects == len(rows)
    assert_allclose(
        part.counts.sum(),
        len(rows) if table.sample_weight is None else sum(table.taken(rows).sample_weight),
    )


def test_some_rows_are_solved_like_a_table_of_them(w8_table):
    rows = [7, 2, 2, 0, 5]
    assert_allclose(
        EC3().solve(w8_table.votes()[rows]).proba,
        EC3().solve(w8_table.taken(rows).votes()).proba,
        **EXACT,
    )


def test_one_row_may_be_taken_by_its_number(w8):
    assert said(w8[6]) == [w8.said(6)]
    assert said(w8[-1]) == [w8.said(7)]
    assert w8.said(-8) == w8.said(0)


def test_rows_keep_their_names():
    votes = Votes.from_long(["q1", "q2", "q3"], ["a"] * 3, [0, 1, 0])
    assert votes[[2, 0]].object_ids.tolist() == ["q3", "q1"]


@given(any_tables(known=False, soft=False))
def test_dropping_and_adding_a_clustering_gives_the_same_votes(table):
    table.clusterings["last"] = [i % 2 for i in range(table.n_objects)]
    votes = table.votes()
    again = votes.drop("last").add(
        clusterings={"last": table.clusterings["last"]},
        weights={"last": table.weights.get("last", 1.0)},
    )
    assert said(again) == said(votes)
    assert_allclose(EC3().solve(again).proba, EC3().solve(votes).proba, **EXACT)


def test_dropping_models_is_never_having_had_them(w8_table):
    few = type(w8_table)(
        {"c0": w8_table.classifiers["c0"]}, {"k1": w8_table.clusterings["k1"]}, w8_table.classes
    )
    dropped = w8_table.votes().drop("c1", "c2", "k0")
    assert repr(dropped) == repr(few.votes())
    assert_allclose(EC3().solve(dropped).proba, EC3().solve(few.votes()).proba, **EXACT)


@pytest.mark.parametrize("seed", range(4))
def test_votes_joined_are_votes_made_at_once(seed):
    table = random_table(np.random.default_rng(seed), soft=seed % 2 == 0, missing=0.1)
    first = dict(list(table.classifiers.items())[:1])
    rest = dict(list(table.classifiers.items())[1:])
    left = Votes.from_labels(first, classes=table.classes)
    right = left.add(rest or None, table.clusterings or None) if rest or table.clusterings else left
    assert said(right) == said(table.votes())
    assert_allclose(EC3().solve(right).proba, EC3().solve(table.votes()).proba, **EXACT)


def test_the_sum_of_two_votes_has_the_models_of_both():
    one = Votes.from_labels({"c": ["a", "b", "a"]}, {"k": [0, 0, 1]}, weights={"c": 2.0})
    other = Votes.from_probabilities(
        {"d": [[0.5, 0.5], [1, 0], [0, 1]]}, classes=["a", "b"], weights={"d": 3.0}
    )
    both = one + other
    assert [model.name for model in both.models] == ["c", "k", "d"]
    assert both.weights.tolist() == [2.0, 1.0, 3.0]
    assert said(both)[1] == ["b", 0, {"a": 1.0, "b": 0.0}]


def test_a_crowd_may_be_joined_with_a_table():
    crowd = Votes.from_long([0, 1, 2], ["ann", "bob", "ann"], ["x", "y", "y"])
    wide = Votes.from_labels({"svm": ["x", "x", "y"]})
    assert said(crowd + wide) == [["x", None, "x"], [None, "y", "x"], ["y", None, "y"]]
    assert said(wide + crowd) == [["x", "x", None], ["x", None, "y"], ["y", "y", None]]


def test_object_weights_survive_dropping_and_adding():
    votes = Votes.from_labels({"c": [0, 1], "d": [0, 1]}, sample_weight=[2, 5])
    assert votes.drop("d").counts.sum() == 7
    assert votes.add(clusterings={"k": [0, 0]}).counts.sum() == 7


def test_object_weights_and_names_of_the_right_summand_are_not_lost_silently():
    plain_votes = Votes.from_labels({"c": [0, 1, 1]})
    weighted = Votes.from_labels({"d": [0, 1, 0]}, sample_weight=[2, 5, 1])
    assert (plain_votes + weighted).sample_weight.tolist() == [2, 5, 1]


def test_added_columns_are_counted_on():
    votes = Votes.from_labels([[0], [1]]).add([[1], [1]], [[0], [0]])
    assert [model.name for model in votes.models] == [
        "classifier_0",
        "classifier_1",
        "clustering_0",
    ]


# ---- repr and immutability -----------------------------------------------------------------------


def test_the_repr_says_objects_classes_models_and_the_share_missing(w8):
    assert repr(w8) == "Votes(8 objects, 3 classes, 3 classifiers, 2 clusterings, 5.0 % missing)"
    assert len(w8) == 8


def test_the_repr_speaks_of_one_in_the_singular():
    assert repr(Votes.from_labels({"c": ["a"]}, {"k": [0]})) == (
        "Votes(1 object, 1 class, 1 classifier, 1 clustering, 0.0 % missing)"
    )


def test_the_repr_groups_thousands():
    votes = Votes.from_labels(np.zeros((12_345, 1), dtype=np.int8))
    assert (
        repr(votes) == "Votes(12,345 objects, 1 class, 1 classifier, 0 clusterings, 0.0 % missing)"
    )


@pytest.mark.parametrize("sample_weight", [None, [1, 2, 0]])
def test_soft_and_sparse_missing_votes_are_counted(sample_weight):
    votes = Votes.from_labels(
        {"c": np.array([[0.5, 0.5], [np.nan] * 2, [np.nan] * 2])}, sample_weight=sample_weight
    )
    assert repr(votes).endswith("66.7 % missing)")


def arrays_of(votes):
    soft = votes.stores.soft.values()
    sparse = (
        []
        if votes.stores.sparse is None
        else [votes.stores.sparse.data, votes.stores.sparse.indices, votes.stores.sparse.indptr]
    )
    others = [votes.sample_weight, votes.object_ids, votes.index]
    labels = [model.labels for model in votes.models]
    return [
        votes.classes,
        votes.weights,
        votes.counts,
        *votes.stores.hard.values(),
        *labels,
        *soft,
        *sparse,
        *(a for a in others if a is not None),
    ]


@given(any_votes())
def test_every_array_of_votes_is_unwritable(votes):
    assert not any(array.flags.writeable for array in arrays_of(votes))


def test_attributes_of_votes_can_not_be_set(w8):
    with pytest.raises(AttributeError):
        w8.weights = np.ones(5)
    with pytest.raises(ValueError, match="read-only"):
        w8.weights[0] = 7


def test_the_stores_of_votes_can_not_be_set(w8):
    with pytest.raises(ValueError, match="read-only"):
        w8.stores.hard[0][0] = 1


@pytest.mark.parametrize("n_objects", [5, 100])
def test_changing_the_array_afterwards_changes_nothing(n_objects):
    rng = np.random.default_rng(0)
    labels, clusters = rng.integers(3, size=(n_objects, 2)), rng.integers(90, size=(n_objects, 2))
    shares, sample_weight, weights = (
        rng.dirichlet(np.ones(3), n_objects),
        np.ones(n_objects),
        np.ones(5),
    )
    hard = Votes.from_labels(
        labels,
        clusters,
        sample_weight=sample_weight,
        weights=weights[:4],
        classes=classes_of_three(),
    )
    soft = Votes.from_labels({"p": shares, "c": labels[:, 0]}, {"k": clusters[:, 0]})
    before = said(hard), said(soft)
    for array in (labels, clusters, shares, sample_weight, weights):
        array[:] = 0
    assert (said(hard), said(soft)) == before
    assert hard.weights.tolist() == [1] * 4
    assert hard.counts.sum() == n_objects


def test_changing_the_list_of_classes_afterwards_changes_nothing():
    classes = np.array([0, 1, 2])
    votes = Votes.from_labels([[0], [1]], classes=classes)
    classes[:] = 9
    assert votes.classes.tolist() == [0, 1, 2]


def classes_of_three():
    return np.array([0, 1, 2])


def test_the_user_s_arrays_stay_writable():
    labels, shares, weight = np.array([[0], [1]]), np.array([[0.5, 0.5], [1, 0]]), np.ones(2)
    classes = np.array([0, 1])
    Votes.from_labels({"c": labels[:, 0], "p": shares}, sample_weight=weight, classes=classes)
    assert all(array.flags.writeable for array in (labels, shares, weight, classes))


# ---- refused, and in which words -----------------------------------------------------------------


def refused(kind, message):
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


LABEL_ERRORS = {
    "classifiers['a'] must be an array, a list or a column of a dataframe held in memory, got int.": (
        lambda: Votes.from_labels({"a": 5})
    ),
    "classifiers must be an array, a list, a dict of name -> column or a dataframe held in memory, got LazyFrame.": (
        lambda: Votes.from_labels(pl.LazyFrame({"c": [0, 1]}))
    ),
    "classifiers must be 2-dimensional (objects x models), a dict of name -> column or a dataframe, got shape (3,). "
    "Pass {'name': column} for a single model.": lambda: Votes.from_labels(pd.Series([0, 1, 1])),
    "clusterings must hold at least one object and one model, got none. Leave it out if there is nothing to pass.": (
        lambda: Votes.from_labels([[0]], {})
    ),
    "classifiers must have columns that describe the same objects, got 2 rows for 'c' and 3 for 'd'.": (
        lambda: Votes.from_labels({"c": [0, 1], "d": [0, 1, 1]})
    ),
    "Base models must have different names, got 'm' twice. Pass dicts of name -> column to name them.": (
        lambda: Votes.from_labels({"m": [0]}, {"m": [0]})
    ),
    "classifiers must hold labels (ints, bools or strings), got {'x': 1} of type dict at row 1 in column 'a'.": (
        lambda: Votes.from_labels({"a": ["x", {"x": 1}]})
    ),
    "classifiers must hold labels (ints, bools or strings), got ['x', 'y'] of type list at row 0 in column 'a'. "
    "For several labels per answer pass separator=';' to ec3learn.combine.": (
        lambda: Votes.from_labels({"a": [["x", "y"], ["x"]]})
    ),
    "classifiers must hold labels of one kind: all ints, all bools or all strings, got bool and int labels, "
    "the first int at row 1: 1 in column 'c'.": lambda: Votes.from_labels({"c": [True, 1, 0]}),
    "classifiers must have labels of one kind, got int (0) and str ('a'). Convert them to one kind first.": (
        lambda: Votes.from_labels({"c": [0, 1], "d": ["a", "b"]})
    ),
    "classifiers must hold labels (ints, bools or strings), got 0.25 of type float at row 1 in column 'classifier_0'. "
    "For probabilities use Votes.from_probabilities. For measurements pass their lowest and highest value as scale.": (
        lambda: Votes.from_labels(np.array([[1.0], [0.25]]))
    ),
    "classifiers must hold labels (ints, bools or strings), got 9.223372036854776e+18 of type float at row 1 in column "
    "'c'. Floats of this size may have lost digits. Pass integers or strings.": (
        lambda: Votes.from_labels({"c": np.array([1.0, 2.0**63, 2.0**63 + 2048])})
    ),
    "classifiers must hold labels (ints, bools or strings), got np.datetime64('1970-01-01T00:00:00.000000001') of type "
    "datetime64 at row 0 in column 'c'. Pass dates as strings.": (
        lambda: Votes.from_labels({"c": np.array([1, 2], dtype="datetime64[ns]")})
    ),
    "classifiers must hold classes, [0, 1], got 5 at row 1 in column 'd' and 1 more like it. Pass missing=5 if it "
    "means no vote.": lambda: Votes.from_labels({"c": [0, 1, 0], "d": [0, 5, 6]}, classes=[0, 1]),
    "classifiers must hold at least one vote, got only missing ones.": (
        lambda: Votes.from_labels({"c": [None, None]}, {"k": [0, 1]})
    ),
    "classes must be a list of different labels: all ints, all bools or all strings, got 'ab'.": (
        lambda: Votes.from_labels([["a"]], classes="ab")
    ),
    "classes must be a list of different labels: all ints, all bools or all strings, got [0, 'a'].": (
        lambda: Votes.from_labels([[0]], classes=[0, "a"])
    ),
    "missing must be a label (an int, a bool or a string), or a list of labels, got [0.5].": (
        lambda: Votes.from_labels({"a": [0, 1]}, missing=[0.5])
    ),
    "Unknown base model 'svn'. Did you mean 'svm'? Choose from: svm, k.": (
        lambda: Votes.from_labels({"svm": [0]}, {"k": [0]}, weights={"svn": 1})
    ),
    "weights must have one number for each of the 2 base models, got shape (3,).": (
        lambda: Votes.from_labels([[0, 0]], weights=[1, 1, 1])
    ),
    "weights must be finite and >= 0, got nan at position 0.": (
        lambda: Votes.from_labels([[0, 0]], weights=[np.nan, 1])
    ),
    "weights must hold numbers, got ['a'].": lambda: Votes.from_labels([[0]], weights=["a"]),
}
SHARE_ERRORS = {
    "probabilities must be a dict of name -> table (objects x classes), got list. Pass {'name': table} for a single model.": (
        lambda: Votes.from_probabilities([[0.5, 0.5]])
    ),
    "probabilities must hold labels (ints, bools or strings), got 2.5 of type float at row 0 in column 'lr'. Pass "
    "probabilities as a table, objects x classes.": (
        lambda: Votes.from_probabilities({"lr": [2.5, 0.0]})
    ),
    "probabilities must have rows that are non-negative and sum to 1, got a row that sums to 1.0015 at row 1 in column "
    "'lr'. Pass normalize=True to divide each row by its sum.": (
        lambda: Votes.from_probabilities({"lr": [[0.5, 0.5], [0.5, 0.5015]]})
    ),
    "probabilities must have rows that are non-negative and sum to 1, got the negative value -0.5 in a row that sums to "
    "1 at row 0 in column 'lr'. Turn logits into probabilities first, as scipy.special.softmax does.": (
        lambda: Votes.from_probabilities({"lr": [[-0.5, 1.5]]})
    ),
    "probabilities must have rows that are non-negative and sum to 1, got a row that sums to nan at row 0 in column "
    "'lr'. A row of NaN is a missing vote.": (
        lambda: Votes.from_probabilities({"lr": [[np.nan, 1.0]]})
    ),
    "clusterings must have rows that are non-negative and sum to 1, got a row that sums to 2 at row 0 in column 'k'. "
    "Divide each row by its sum.": lambda: Votes.from_labels([[0]], {"k": np.array([[1, 1]])}),
    "probabilities must have one row per object and one column per class, got 3 columns of 'b' for [0, 1]. "
    "Pass classes=[...] in the order of the columns.": (
        lambda: Votes.from_probabilities({"a": [[0.5, 0.5]], "b": [[0.5, 0.5, 0]]})
    ),
    "probabilities must have one row per object and one column per class, got 3 columns of 'lr' for ['a', 'b']. "
    "Transpose it.": (
        lambda: Votes.from_probabilities(
            {"lr": [[0.9, 0.2, 0.3], [0.1, 0.8, 0.7]]}, classes=["a", "b"]
        )
    ),
    "probabilities must hold numbers, one row of probabilities per object, got object values in column 'lr'.": (
        lambda: Votes.from_probabilities({"lr": [["a", "b"]]})
    ),
    "probabilities must have one column per class, named ['a', 'b'], got ['a'] for 'lr'. Add columns of 0 for ['b'].": (
        lambda: Votes.from_probabilities({"lr": pd.DataFrame({"a": [1.0]})}, classes=["a", "b"])
    ),
    "probabilities must have columns that describe the same objects, got "
    "shape (2, 2, 2) for 'lr'.": (
        lambda: Votes.from_probabilities({"lr": np.full((2, 2, 2), 0.5)})
    ),
}
LONG_ERRORS = {
    "objects must be an array, a list or a column of a dataframe held in memory, got str.": (
        lambda: Votes.from_long("q", "a", "x")
    ),
    "objects must hold names (ints, bools or strings), got datetime.date(2020, 1, 1) of type date at row 0. Pass dates "
    "as strings.": lambda: Votes.from_long([date(2020, 1, 1)], ["a"], ["x"]),
    "labels must have one dimension, one value per row, and at least one row, got shape (1, 1).": (
        lambda: Votes.from_long(["q"], ["a"], [["x"]])
    ),
    "objects, voters and labels must have the same length, got 2, 2 and 1.": (
        lambda: Votes.from_long([0, 1], ["a", "b"], [0])
    ),
    "voters must have one vote per object, got 1 more, the first by 'ann' on 'q1'. "
    "Pass repeats='mean', repeats='last' or repeats='first' to allow them.": (
        lambda: Votes.from_long(["q1", "q1"], ["ann", "ann"], [0, 1], repeats="error")
    ),
    "objects must not be missing, got a missing value at row 1. Leave that row out.": (
        lambda: Votes.from_long(["q1", None], ["ann", "ann"], [0, 1])
    ),
    "labels must hold at least one vote, got only missing ones.": (
        lambda: Votes.from_long([0, 1], ["a", "b"], [None, None])
    ),
    "object_ids must name every object that was voted on, each once, got 3 for 2 objects.": (
        lambda: Votes.from_long([0, 1], ["a", "b"], [0, 1], object_ids=[0, 1, 1])
    ),
    "object_ids must name every object that was voted on, each once, got none for 1.": (
        lambda: Votes.from_long([0, 1], ["a", "b"], [0, 1], object_ids=[0, 2])
    ),
    "Joined base models must describe the same objects, got 2 and 3.": (
        lambda: Votes.from_long([0, 1], ["a", "b"], [0, 1], {"k": [0, 1, 2]})
    ),
    "labels must hold classes, [0, 1], got 7 at row 1. Pass missing=7 if it means no vote.": (
        lambda: Votes.from_long([0, 1], ["a", "b"], [0, 7], classes=[0, 1])
    ),
}
ERRORS = LABEL_ERRORS | SHARE_ERRORS | LONG_ERRORS


@pytest.mark.parametrize("message", ERRORS)
def test_what_cannot_be_votes_is_refused_in_words(message):
    with refused(ValueError, message):
        ERRORS[message]()


def test_a_value_of_a_kind_that_is_no_label_is_a_type_error():
    with pytest.raises(TypeError):
        Votes.from_labels({"a": ["x", {"x": 1}]})


def test_a_prior_may_miss_one_by_rounding():
    votes = Votes.from_labels({"a": [0, 1]}).with_prior([[0.5, 0.500001], [0.3, 0.7]])
    assert_allclose(votes.prior.proba.sum(axis=1), 1, atol=1e-15)


def test_wrong_rows_are_counted():
    with pytest.raises(InputError, match=r"sums to 0\.8 at row 1 in column 'lr', and 2 more\."):
        Votes.from_probabilities({"lr": [[0.5, 0.5], [0.4, 0.4], [0.1, 0.1], [0.2, 0.1]]})


@pytest.mark.parametrize("rounding", [1e-6, 9e-4, -9e-4])
def test_rows_that_miss_one_by_rounding_are_divided_by_their_sums(rounding):
    votes = Votes.from_probabilities({"lr": [[0.5, 0.5 + rounding]]})
    assert sum(votes.said(0)[0].values()) == pytest.approx(1, abs=1e-11)


def test_floats_of_32_bits_may_miss_one_by_more():
    table = np.array([[0.5, 0.508], [0.2, 0.8]])
    said = Votes.from_probabilities({"nb": table.astype(np.float32)}).said(0)[0]
    assert sum(said.values()) == pytest.approx(1, abs=1e-11)
    with pytest.raises(InputError, match=r"a row that sums to 1\.008 at row 0"):
        Votes.from_probabilities({"nb": table})
    with pytest.raises(InputError, match=r"a row that sums to 1\.02 at row 0"):
        Votes.from_probabilities({"nb": np.array([[0.5, 0.52]], dtype=np.float32)})


def test_only_tables_are_divided_by_their_sums():
    votes = Votes.from_probabilities({"lr": [[2, 6], [3, 1]], "tree": [0, 1]}, normalize=True)
    assert plain(votes) == [[{0: 0.25, 1: 0.75}, 0], [{0: 0.75, 1: 0.25}, 1]]


def test_a_bad_row_far_down_is_named():
    table = np.full((70_000, 2), 0.5)
    table[66_000] = 0.25
    with pytest.raises(ValueError, match=re.escape("sums to 0.5 at row 66000")):
        Votes.from_probabilities({"lr": table})


TEXTS = [f"text {i}" for i in range(60)]
FRACTIONS = ["0.25", "1.5", "2"] * 20


@pytest.mark.parametrize(
    ("labels", "came"),
    [
        (TEXTS, "60 different ones in 60 votes"),
        (FRACTIONS, "the fractional number '0.25'"),
    ],
)
def test_texts_and_measurements_are_no_votes_unless_they_are_named(labels, came):
    objects, voters = list(range(60)), ["a"] * 60
    message = re.escape(f"must hold labels of classes, got {came}. Leave out texts, names and")
    with pytest.raises(InputError, match=f"^classifiers {message}"):
        Votes.from_labels({"a": labels})
    with pytest.raises(InputError, match=f"^labels {message}"):
        Votes.from_long(objects, voters, labels)
    assert Votes.from_labels({"a": labels}, classes=sorted(set(labels))).n_objects == 60


def test_few_objects_may_all_have_different_labels():
    assert Votes.from_labels({"a": TEXTS[:40]}).n_classes == 40
    assert Votes.from_labels({"a": TEXTS}, sample_weight=np.full(60, 9)).n_classes == 60


def test_labels_that_differ_in_case_spaces_or_form_are_one_if_they_are_cleaned():
    labels = ["Café", " cafe\u0301 ", "CAFÉ", "tea"]
    assert Votes.from_labels({"a": labels}, clean=True).classes.tolist() == ["café", "tea"]
    assert len(Votes.from_labels({"a": labels}).classes) == 4
    named = Votes.from_labels({"a": labels}, classes=["Tea", "Café"], clean=True)
    assert plain(named) == [["Café"], ["Café"], ["Café"], ["Tea"]]
    long = Votes.from_long([0, 1, 2, 3], ["a"] * 4, labels, clean=True)
    assert plain(long) == [["café"], ["café"], ["café"], ["tea"]]


def test_a_voter_and_a_clustering_may_not_share_a_name():
    message = "Base models must have different names, got 'a' twice. Pass dicts of name -> column to name them."
    with refused(ValueError, message):
        Votes.from_long([0, 1], ["a", "b"], [0, 1], {"a": [0, 0]})


JOIN_ERRORS = {
    "Unknown base model 'svn'. Did you mean 'svm'? Choose from: svm, knn, k.": (
        lambda votes: votes.drop("svn")
    ),
    "names must leave at least one classifier, got ('svm', 'knn').": (
        lambda votes: votes.drop("svm", "knn")
    ),
    "Joined base models must describe the same objects, got 2 and 3.": (
        lambda votes: votes.add({"new": [0, 1, 1]})
    ),
    "other must have the classes [0, 1], got [0, 1, 2]. Pass classes=[...] when making them.": (
        lambda votes: votes + Votes.from_labels({"new": [0, 1]}, classes=[0, 1, 2])
    ),
    "classifiers must hold classes, [0, 1], got 4 at row 1 in column 'new'. Pass missing=4 if it means no vote.": (
        lambda votes: votes.add({"new": [0, 4]})
    ),
}


@pytest.mark.parametrize("message", JOIN_ERRORS)
def test_models_that_do_not_fit_are_refused(message):
    votes = Votes.from_labels({"svm": [0, 1], "knn": [0, 0]}, {"k": [0, 1]})
    with refused(ValueError, message):
        JOIN_ERRORS[message](votes)


def test_votes_with_a_prior_are_joined_on_the_same_objects_only():
    one, other = (
        Votes.from_long(["q1", "q2"], ["a", "a"], [0, 1]),
        Votes.from_long(["q8", "q9"], ["b", "b"], [0, 1]),
    )
    with pytest.raises(ValueError, match="other must have the same object_ids, got different ones"):
        one.with_prior({"q1": [0.5, 0.5]}) + other


def test_adding_what_is_no_votes_is_refused(w8):
    with pytest.raises(TypeError, match="unsupported operand"):
        w8 + 1


def test_taking_no_object_is_refused_or_empty(w8):
    try:
        empty = w8[[]]
    except ValueError as error:
        assert "object" in str(error)
    else:
        assert len(empty) == 0
        assert repr(empty).startswith("Votes(0 objects")


def test_a_plain_dict_of_named_columns_keeps_its_order():
    votes = Votes.from_labels({"z": [0, 1], "a": [1, 1]})
    assert [model.name for model in votes.models] == ["z", "a"]
    assert_array_equal(votes_per_model(votes), [2, 2])


def test_whole_numbers_beyond_the_signed_range_are_labels_too():
    big = np.array([2**63 + 5, 3, 2**63 + 5], dtype=np.uint64)
    assert EC3().solve(Votes.from_labels({"a": big})).labels().tolist() == big.tolist()


def test_a_range_names_objects():
    assert Votes.from_long([0, 1], ["a", "b"], [1, 1], object_ids=range(3)).n_objects == 3


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_a_wide_table_are_read_whatever_their_order_in_memory(order):
    table = np.random.default_rng(0).integers(0, 3, (300, 90)).astype(np.int8)
    wide = Votes.from_labels(np.array(table, order=order))
    assert [wide.said(i) for i in (0, 150, 299)] == table[[0, 150, 299]].tolist()


def test_a_slice_of_a_larger_table_is_read_without_its_neighbours():
    table = np.random.default_rng(0).integers(-50, 50, (1000, 12)).astype(np.int8)
    table[:, :7] = np.abs(table[:, :7]) % 2
    assert Votes.from_labels(table[:, :7]).classes.tolist() == [0, 1]


@pytest.mark.parametrize("i", [8, -9, "x", True, 1.0])
def test_nothing_was_said_about_what_is_no_object(w8, i):
    with pytest.raises(
        IndexError,
        match=f"^{re.escape(f'i must be the number of an object, from 0 to 7, got {i!r}.')}$",
    ):
        w8.said(i)


# ---- several votes of a voter on one object ------------------------------------------------------


OBJECTS = ["q1", "q1", "q1", "q1", "q2"]
VOTERS = ["ann", "ann", "ann", "bob", "bob"]
LABELS = ["a", "b", "a", "b", "b"]


def test_repeated_votes_are_one_soft_vote():
    votes = Votes.from_long(OBJECTS, VOTERS, LABELS)
    ann, bob = votes.said(0)
    assert ann == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert bob == "b"
    assert votes.stores.n_repeated == 2
    assert_array_equal(votes_per_model(votes), [1, 2])


@given(
    st.lists(
        st.tuples(st.sampled_from("pqrs"), st.sampled_from("abc"), st.sampled_from("xyz")),
        min_size=1,
        max_size=15,
    ),
    st.sampled_from(["mean", "first", "last"]),
)
def test_of_repeated_votes_all_or_the_first_or_the_last_count(rows, repeats):
    objects, voters, labels = map(list, zip(*rows, strict=True))
    votes = Votes.from_long(objects, voters, labels, repeats=repeats)
    asked = {(item, voter): [] for item, voter, _ in rows}
    for item, voter, label in rows:
        asked[item, voter].append(label)
    kept = {"mean": slice(None), "first": slice(1), "last": slice(-1, None)}[repeats]
    for i, item in enumerate(votes.object_ids):
        for model, said in zip(votes.models, votes.said(i), strict=True):
            labels = asked.get((item, model.name), [])[kept]
            shares = {label: labels.count(label) / len(labels) for label in set(labels)}
            expected = shares if len(shares) > 1 else next(iter(shares), None)
            assert said == (pytest.approx(shares) if len(shares) > 1 else expected)
    assert votes.stores.n_repeated == len(rows) - len(asked)


def test_a_repeat_of_the_same_label_is_one_whole_vote():
    votes = Votes.from_long(["q1", "q1", "q2"], ["ann"] * 3, ["a", "a", "b"])
    assert [votes.said(0), votes.said(1)] == [["a"], ["b"]]


def test_a_note_counts_repeated_votes():
    notes = MajorityVote().solve(Votes.from_long(OBJECTS, VOTERS, LABELS)).notes
    (note,) = (note for note in notes if note.kind == "repeats")
    assert str(note) == (
        "2 votes repeated a voter's vote on the same object. By default they become one soft vote; repeats chooses otherwise."
    )


def test_a_repeated_vote_counts_for_its_most_frequent_label_in_the_majority_vote():
    votes = Votes.from_long(OBJECTS, VOTERS, LABELS)
    assert_allclose(MajorityVote().solve(votes).proba, [[0.5, 0.5], [0, 1]])
    assert_allclose(SoftVote().solve(votes).proba, [[1 / 3, 2 / 3], [0, 1]])


@pytest.mark.parametrize("method", [SoftVote(), MajorityVote(), EC3(), DawidSkene()])
def test_repeated_votes_give_the_answer_of_the_same_soft_votes(method):
    rng = np.random.default_rng(0)
    shares = (
        rng.multinomial(3, [0.5, 0.3, 0.2], size=(40, 5)) / 3
    )  # three votes of each of five voters
    soft = Votes.from_probabilities({f"v{v}": shares[:, v] for v in range(5)})
    objects, voters, classes = np.nonzero(shares)
    times = np.rint(3 * shares[objects, voters, classes]).astype(int)
    long = Votes.from_long(
        np.repeat(objects, times),
        [f"v{v}" for v in np.repeat(voters, times)],
        np.repeat(classes, times),
    )
    assert_allclose(method.solve(long).proba, method.solve(soft).proba, atol=1e-9)


# ---- several labels that mean "no vote" ----------------------------------------------------------


def test_several_labels_may_mean_no_vote():
    votes = Votes.from_labels(
        {"a": ["x", "NA", "y"], "b": ["n/a", "x", "y"]},
        {"k": ["c", "NA", "d"]},
        missing=["NA", "n/a"],
    )
    assert [votes.said(i) for i in range(3)] == [
        ["x", None, "c"],
        [None, "x", None],
        ["y", "y", "d"],
    ]
    numbers = Votes.from_labels({"a": [0, 9, 1]}, {"k": [7, 8, 9]}, missing=(9, 8))
    assert [numbers.said(i) for i in range(3)] == [[0, 7], [None, None], [1, None]]
    long = Votes.from_long(["q", "q", "r"], ["a", "b", "a"], ["x", "NA", "?"], missing={"NA", "?"})
    assert [long.said(i) for i in range(2)] == [["x", None], [None, None]]


# ---- objects of a crowd that have the same votes -------------------------------------------------


def one_vote_each(n=400, clusterings=None):
    rng = np.random.default_rng(0)
    voters, labels = rng.choice(list("abc"), n), rng.choice(["x", "y"], n)
    return Votes.from_long(np.arange(n), voters, labels, clusterings), voters, labels


def test_objects_with_the_same_votes_are_one_row_of_a_crowd():
    votes, voters, labels = one_vote_each()
    assert votes.n_rows == 6
    assert votes.counts.sum() == votes.n_objects == 400
    assert [
        dict(zip("abc", votes.said(i), strict=True))[voter] for i, voter in enumerate(voters)
    ] == labels.tolist()
    assert votes_per_model(votes).sum() == 400


def test_clusters_keep_the_rows_of_a_crowd_apart():
    clusters = np.arange(400) % 5
    votes, _, _ = one_vote_each(clusterings={"topic": clusters})
    assert votes.n_rows == 30
    assert [votes.said(i)[3] for i in range(400)] == clusters.tolist()


def test_a_crowd_in_which_few_rows_repeat_keeps_one_row_per_object():
    votes = Votes.from_long([0, 1, 2, 3, 4], ["a", "a", "b", "b", "c"], ["x", "x", "x", "y", "y"])
    assert votes.index is None
    assert votes.n_rows == 5


# ---- other forms of probabilities ----------------------------------------------------------------


def test_one_number_per_object_is_the_probability_of_the_second_class():
    one = Votes.from_probabilities({"lr": [0.25, 0.5, np.nan]}, classes=["ham", "spam"])
    both = Votes.from_probabilities(
        {"lr": [[0.75, 0.25], [0.5, 0.5], [np.nan, np.nan]]}, classes=["ham", "spam"]
    )
    assert [one.said(i) for i in range(3)] == [both.said(i) for i in range(3)]
    assert Votes.from_probabilities({"lr": [0.25, 0.5]}).said(0) == [{0: 0.75, 1: 0.25}]
    with pytest.raises(ValueError, match="Pass probabilities as a table, objects x classes"):
        Votes.from_probabilities({"lr": [0.25, 0.9]}, classes=["a", "b", "c"])


def test_scores_can_be_made_to_sum_to_1():
    votes = Votes.from_probabilities({"lr": [[2, 6], [1, 0]]}, normalize=True)
    assert votes.said(0)[0] == {0: 0.25, 1: 0.75}
    with pytest.raises(
        ValueError,
        match="must have rows that are non-negative and sum to 1, got a row that sums to 8",
    ):
        Votes.from_probabilities({"lr": [[2.0, 6.0], [1.0, 0.0]]})
    with pytest.raises(ValueError, match="sum to 1, got a row that sums to 0 at row 1"):
        Votes.from_probabilities({"lr": [[2.0, 6.0], [0.0, 0.0]]}, normalize=True)


# ---- odd tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["from_labels", "from_probabilities", "combine", "votes_from"])
@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_two_columns_of_one_name_are_refused_in_words(door, library):
    table = pd.DataFrame([["x", "y", "z"]], columns=["a", "a", "b"])
    if library == "pyarrow":
        table = pa.table([["x"], ["y"], ["z"]], names=["a", "a", "b"])
    doors = {
        "from_labels": lambda: Votes.from_labels(table),
        "from_probabilities": lambda: Votes.from_probabilities({"m": table}),
        "combine": lambda: combine(table, classifiers="b"),
        "votes_from": lambda: votes_from(table, classifiers="b"),
    }
    with pytest.raises(
        ValueError,
        match=r"^table must have columns of different names, got 'a' 2 times\. Rename them\.$",
    ):
        doors[door]()


def test_shared_votes_of_a_crowd_are_hardened_where_all_are_shared():
    votes = Votes.from_long(["q"] * 5, list("aaabb"), ["x", "x", "y", "x", "y"])
    assert hardened(votes).said(0) == ["x", {"x": 0.5, "y": 0.5}]


def test_repeated_scores_are_hardened_alike_in_long_and_in_wide_tables():
    long = Votes.from_long(
        ["q"] * 5, list("aaabb"), [1, 1, 3, 2, 3], classes=["x", "y"], scale=[1, 2, 3]
    )
    shares = {"a": np.array([[2 / 3, 0, 1 / 3]]), "b": np.array([[0, 0.5, 0.5]])}
    wide = Votes.from_labels(
        shares, {"k": np.array([[0.7, 0.3]])}, classes=["x", "y"], scale=[1, 2, 3]
    )
    first, second, clusters = hardened(wide).said(0)
    assert first == 1
    assert second == {1: 0.0, 2: 0.5, 3: 0.5}
    assert clusters == {0: 0.7, 1: pytest.approx(0.3)}
    assert hardened(long).said(0) == [1, {2: 0.5, 3: 0.5}]


def test_integers_of_another_byte_order_are_the_same_votes():
    table = np.random.default_rng(0).integers(0, 3, (100, 70))
    ours, theirs = (Votes.from_labels(own) for own in (table, table.astype(">i4")))
    assert_array_equal(ours.classes, theirs.classes)
    assert_array_equal(MajorityVote().solve(ours).proba, MajorityVote().solve(theirs).proba)


def test_more_voters_than_arrays_have_dimensions_may_be_unanimous():
    votes = Votes.from_labels({f"v{j}": ["a", "b"] for j in range(70)}, classes=["a", "b"])
    assert MajorityVote().solve(votes).labels().tolist() == ["a", "b"]


def test_a_prior_does_not_change_with_the_table_it_came_from():
    given = np.array([[0.2, 0.8], [0.6, 0.4]])
    votes = Votes.from_probabilities({"a": [[0.9, 0.1], [0.2, 0.8]]}).with_prior(given)
    given[0] = 0.5
    assert votes.prior.proba.tolist() == [[0.2, 0.8], [0.6, 0.4]]
    with pytest.raises(ValueError, match="read-only"):
        votes.prior.proba[0] = 0.5


@given(any_votes() | graded_votes())
def test_voters_alone_say_what_they_said_and_clusterings_nothing(votes):
    found = without_clusterings(votes)
    if found is None:
        return
    alone, row = found
    silent = [
        [
            said if model.is_voter else None
            for model, said in zip(votes.models, votes.said(i), strict=True)
        ]
        for i in range(len(votes))
    ]
    assert said(alone) == silent
    assert alone.n_rows < votes.n_rows
    assert_array_equal(alone.index, row if votes.index is None else row[votes.index])
    assert_allclose(alone.counts, np.bincount(row, weights=votes.counts, minlength=alone.n_rows))
    assert_array_equal(alone.models.group_model, votes.models.group_model)


def test_clusterings_alone_make_rows_differ():
    votes = Votes.from_labels({"a": [0, 0, 1], "b": [0, 0, 0]}, {"k": [0, 1, 2]})
    alone, row = without_clusterings(votes)
    assert_array_equal(row[1] == row, [True, True, False])
    assert alone.said(1) == [0, 0, None]
    assert without_clusterings(votes.drop("k")) is None


# ---- names of objects ----------------------------------------------------------------------------


def crowd(**more):
    return Votes.from_long(
        np.repeat(["q1", "q2", "q3"], 3), ["a", "b", "c"] * 3, list("xxyyyxxyx"), **more
    )


def test_a_label_or_prior_goes_to_every_copy_of_an_object():
    drawn = crowd()[[0, 0, 2, 0, 1]]
    assert MajorityVote().solve(drawn, known={"q1": "y", "q2": "x"}).labels().tolist() == [
        "y",
        "y",
        "x",
        "y",
        "x",
    ]
    informed = drawn.with_prior({"q1": [0.1, 0.9]})
    rows = np.arange(5) if informed.index is None else informed.index
    assert_array_equal(informed.prior.given[rows], [True, True, False, True, False])


@pytest.mark.parametrize("labels", [[None, "x"], ["x", None], ["x", "x"]])
def test_a_label_is_known_wherever_it_stands_among_gaps(labels):
    for known in ((["q2", "q2"], labels), pd.Series(labels, index=["q2", "q2"])):
        assert MajorityVote().solve(crowd(), known=known).labels().tolist() == ["x", "x", "x"]


def test_pandas_tables_are_matched_by_the_names_of_objects():
    prior = pd.DataFrame({"x": [0.5, 0.2, 0.9], "y": [0.5, 0.8, 0.1]}, index=["q3", "q2", "q1"])
    by_name = {name: row.tolist() for name, row in prior.iterrows()}
    assert_array_equal(
        crowd().with_prior(prior).prior.proba, crowd().with_prior(by_name).prior.proba
    )
    assert_array_equal(crowd().with_prior(prior[1:]).prior.given, [True, True, False])
    with pytest.raises(InputError, match="prior must name objects that were voted on, got 5"):
        crowd().with_prior(prior.set_axis([5, 6, 7]))
    weights = pd.Series([9, 1, 2], index=["q2", "q1", "q3"])
    assert crowd(sample_weight=weights).sample_weight.tolist() == [1, 9, 2]
    with pytest.raises(
        InputError,
        match=r"^sample_weight must be finite and >= 0, got nan at position 2\.$",
    ):
        crowd(sample_weight=weights[:2])


# ---- what cannot be meant ------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, (0,), [[0, 1]], "a", 1.5, 3])
def test_what_picks_no_objects_is_refused(rows):
    with pytest.raises(
        IndexError,
        match=r"^rows must be a number, a slice, a mask or an array of numbers of objects, from 0 to 2",
    ):
        crowd()[rows]


def test_sure_probabilities_of_the_second_class_are_no_labels():
    assert Votes.from_probabilities({"m": [1.0, 0.0]}, classes=["no", "yes"]).said(0) == [
        {"no": 0.0, "yes": 1.0}
    ]
    assert Votes.from_probabilities({"m": [1.0, 0.0]}, classes=[0, 1]).said(0) == [1]


def test_probabilities_may_be_negative_by_rounding_only():
    assert Votes.from_probabilities({"a": [[1, -1e-17], [0.5, 0.5]]}).said(0) == [{0: 1.0, 1: 0.0}]
    with pytest.raises(InputError, match=r"got the negative value -0\.1"):
        Votes.from_probabilities({"a": [[1.1, -0.1], [0.5, 0.5]]})


def test_a_sparse_table_of_probabilities_is_refused():
    with pytest.raises(TypeError, match=r"^probabilities\['m'\] must be an array.*got csr_array"):
        Votes.from_probabilities({"m": sparse.csr_array(np.eye(2))})


# ---- names of the objects of wide tables ---------------------------------------------------------

SAID = {"ann": ["y", "n", "n", "y"], "bob": ["y", "n", "y", "y"], "cy": ["n", "n", "n", "y"]}


def test_the_index_of_a_pandas_table_names_its_objects():
    table = pd.DataFrame({"id": [12, 3, 9, 7], **SAID}).set_index("id")
    votes = Votes.from_labels(table)
    assert votes.object_ids.tolist() == [12, 3, 9, 7]
    assert Votes.from_labels({name: table[name] for name in table}).object_ids.tolist() == [
        12,
        3,
        9,
        7,
    ]
    assert Votes.from_labels(pd.DataFrame(SAID)).object_ids is None
    assert Votes.from_labels(pd.DataFrame(SAID)[2:]).object_ids.tolist() == [2, 3]
    assert votes.add({"dan": table["ann"]}).object_ids.tolist() == [12, 3, 9, 7]
    shares = pd.DataFrame({"n": [0.2, 0.9], "y": [0.8, 0.1]}, index=["a", "b"])
    assert Votes.from_probabilities({"lr": shares}).object_ids.tolist() == ["a", "b"]
    dates = pd.DataFrame(SAID, index=pd.date_range("2026-01-01", periods=4))
    assert Votes.from_labels(dates).object_ids[1] == "2026-01-02 00:00:00"


@pytest.mark.parametrize("names", [[12, 3, 9, 7], [2, 0, 3, 1], ["d", "a", "c", "b"]])
def test_known_and_true_labels_of_pandas_go_by_the_names_of_objects(names):
    votes = Votes.from_labels(SAID, object_ids=names)
    known = pd.Series(["n", "y"], index=[names[3], names[1]])
    for labels in (known, known.to_dict()):
        assert solve(votes, known=labels).labels()[[3, 1]].tolist() == ["n", "y"]
    consensus = solve(votes)
    truth = pd.Series(consensus.labels(), index=names).sort_index()
    assert consensus.score(truth) == 1.0
    weights = pd.Series([1.0, 2.0, 3.0, 4.0], index=names).sort_index()
    assert Votes.from_labels(
        SAID, object_ids=names, sample_weight=weights
    ).sample_weight.tolist() == [1, 2, 3, 4]


def test_without_names_an_index_holds_row_numbers_or_is_refused():
    votes = Votes.from_labels(SAID)
    known = pd.Series(["n", None, "y", None], index=[3, 0, 1, 2])
    assert solve(votes, known=known).labels()[[3, 1]].tolist() == ["n", "y"]
    foreign = "must name objects by number, from 0 to 3, got 10. Pass object_ids when"
    with pytest.raises(InputError, match=re.escape("known " + foreign)):
        solve(votes, known=pd.Series(list("ynyn"), index=[10, 11, 12, 13]))
    with pytest.raises(InputError, match="sample_weight must name objects by number"):
        Votes.from_labels(SAID, sample_weight=pd.Series([1, 2, 3, 4], index=[4, 5, 6, 7]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Votes.from_labels(SAID, object_ids=[1, 2, 1, 3]),
            "once, got 1 twice. One row per",
        ),
        (lambda: Votes.from_labels(SAID, object_ids=[1, 2]), "each of the 4 objects once, got 2. "),
        (
            lambda: Votes.from_labels(pd.DataFrame(SAID, index=list("abca"))),
            "once, got 'a' twice. One row per vote goes through Votes.from_long. To drop an index,",
        ),
        (
            lambda: Votes.from_labels(
                pd.DataFrame(SAID), pd.DataFrame({"k": [0, 0, 1, 1]}, index=[1, 0, 2, 3])
            ),
            "classifiers must have one index in all columns of pandas, got different ones. Align",
        ),
    ],
)
def test_names_of_objects_that_repeat_or_differ_are_refused(make, message):
    with pytest.raises(InputError, match=re.escape(message)):
        make()


# ---- columns that are no votes -------------------------------------------------------------------


def long_columns(n_objects, n_voters, n_votes=6):
    """The columns of a long table: each object has some votes of a crowd, on three classes."""
    rng = np.random.default_rng(0)
    objects = np.repeat(np.arange(n_objects), n_votes)
    voters = np.concatenate([rng.permutation(n_voters)[:n_votes] for _ in range(n_objects)])
    return objects, voters, rng.integers(3, size=len(objects))


def test_ids_among_the_voters_are_refused_whatever_the_others_say():
    objects, voters, labels = long_columns(300, 40)
    message = (
        "classifiers must hold labels of classes, got 260 of 300 from one voter only, such as 40"
    )
    with pytest.raises(InputError, match=message):
        Votes.from_labels({"question": objects, "worker": voters, "answer": labels})
    many = np.random.default_rng(0).integers(40, size=(300, 3))
    assert Votes.from_labels(many).n_classes == 40


def test_sentences_that_nobody_repeats_are_refused():
    said = [f"I think that number {i} is rather nice" for i in range(3)]
    message = "got 3 of 5 from one voter only, such as 'I think that number 0 is rather nice'"
    with pytest.raises(InputError, match=message):
        Votes.from_long([1, 1, 2, 2, 3], list("ababa"), [*said, "a", "b"])
    assert Votes.from_labels({"a": said, "b": said}).n_classes == 3
    assert Votes.from_labels({"a": said}, classes=said).n_classes == 3


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2, 1)])
def test_columns_that_seem_exchanged_are_noted(order):
    columns = long_columns(300, 60, 20)
    right, wrong = (
        [note.kind for note in MajorityVote().solve(Votes.from_long(*parts)).notes]
        for parts in (columns, [columns[i] for i in order])
    )
    assert ("long table" in right, "long table" in wrong) == (False, True)
