"""The compiled loops: each against its numpy form, whole methods with and without them, and when they are loaded at all."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ec3learn import BGCM, EC3, Votes, kernels
from ec3learn.votes.layout import distinct_rows

loops = pytest.importorskip(
    "ec3learn.kernels.loops", reason="numba is not installed", exc_type=ImportError
)


def small_votes(seed, n=300, missing=0.1):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    classifiers = {
        f"c{m}": np.where(rng.random(n) < 0.6, truth, rng.integers(0, 3, n)) for m in range(4)
    }
    for column in classifiers.values():
        column[rng.random(n) < missing] = -1
    clusterings = {f"k{k}": rng.integers(0, k, n) for k in (5, 40, 90)}
    return Votes.from_labels(classifiers, clusterings, missing=-1)


# ---- each loop, and the numpy form that defines it -----------------------------------------------


@pytest.mark.parametrize("n_values", [1, 50, 60_000])
def test_keys_are_numbered_as_they_first_occur(n_values):
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 1 << 63, n_values).astype(np.uint64)[rng.integers(0, n_values, 100_000)]
    index = np.empty(len(keys), dtype=np.uint32)
    values = loops.number(keys, index)
    assert_array_equal(values[index], keys)
    assert_array_equal(np.sort(values), np.unique(keys))
    assert_array_equal(
        np.unique(index, return_index=True)[1], np.sort(np.unique(keys, return_index=True)[1])
    )


@pytest.mark.parametrize("n_groups", [9, 9000])
def test_rows_gather_the_numbers_of_their_groups(n_groups):
    rng = np.random.default_rng(0)
    codes, table, scale = (
        rng.integers(0, n_groups, (4, 3000)),
        rng.random((n_groups, 5)),
        rng.random(3000),
    )
    column, columns = np.ones(3000), np.ones((3000, 5))
    loops.gather(codes, table[:, 0].copy(), column)
    loops.gather_columns(codes, table, scale, columns)
    assert_allclose(column, 1 + table[codes, 0].sum(axis=0))
    assert_allclose(columns, 1 + scale[:, None] * table[codes].sum(axis=0))


@pytest.mark.parametrize("n_groups", [9, 9000])
def test_groups_add_up_the_numbers_of_their_rows(n_groups):
    rng = np.random.default_rng(0)
    codes, values, weight = (
        rng.integers(0, n_groups, (4, 3000)),
        rng.random((3000, 5)),
        rng.random(3000),
    )
    column, columns, expected = np.ones(n_groups), np.ones((n_groups, 5)), np.ones((n_groups, 5))
    loops.scatter(codes, weight * values[:, 0], column)
    loops.scatter_columns(codes, values, weight, columns)
    for of_model in codes:
        np.add.at(expected, of_model, weight[:, None] * values)
    assert_allclose(column, expected[:, 0])
    assert_allclose(columns, expected)


def test_pairs_are_counted_for_each_weight():
    rng = np.random.default_rng(0)
    groups, weights = rng.integers(0, 9, (4, 3000)), rng.random((2, 3000))
    counts, expected = np.zeros((9, 9, 2)), np.zeros((9, 9, 2))
    loops.count_pairs(groups, tuple(weights), counts)
    for a in range(4):
        for b in range(a, 4):
            np.add.at(expected, (groups[a], groups[b]), weights.T)
    assert_allclose(counts, expected)


# ---- with and without loops ----------------------------------------------------------------------


@pytest.mark.parametrize("least", [0, 1 << 60])
def test_a_crowd_is_read_the_same_in_one_pass_as_by_column(monkeypatch, least):
    monkeypatch.setattr(kernels, "LEAST", least)
    rng = np.random.default_rng(0)
    table = np.where(rng.random((25_000, 20)) < 0.2, rng.integers(3, 6, (25_000, 20)), -1)
    ours = Votes.from_labels(table, missing=-1)
    theirs = Votes.from_labels(np.asfortranarray(table), missing=-1)
    assert_array_equal(ours.stores.sparse.indptr, theirs.stores.sparse.indptr)
    assert_array_equal(ours.stores.sparse.indices, theirs.stores.sparse.indices)
    assert [model.name for model in ours.models] == [model.name for model in theirs.models]
    assert_array_equal(ours.classes, [3, 4, 5])


@pytest.mark.parametrize("n_labels", [2, 9, 60_000])
def test_distinct_rows_are_the_same_to_the_bit(monkeypatch, n_labels):
    rng = np.random.default_rng(0)
    table = rng.integers(-1, n_labels, (400, 11))[rng.integers(0, 400, 3000)]
    columns = [(column + 1, n_labels + 1) for column in table.T]
    found = []
    for least in (0, 1 << 60):
        monkeypatch.setattr(kernels, "LEAST", least)
        found.append(distinct_rows(columns))
    for ours, theirs in zip(*found, strict=True):
        assert_array_equal(ours, theirs)


@pytest.mark.parametrize("method", [EC3(solver="direct"), EC3(solver="cg"), BGCM()], ids=str)
def test_methods_answer_the_same_with_and_without_loops(monkeypatch, method):
    answers = []
    for least in (0, 1 << 60):
        monkeypatch.setattr(kernels, "LEAST", least)
        answers.append(method.solve(small_votes(0), known={0: 1}).proba)
    assert_allclose(*answers, atol=1e-11)


# ---- when they are loaded ------------------------------------------------------------------------


def test_small_tables_do_not_load_numba():
    program = (
        "import sys; from ec3learn import Votes, solve; solve(Votes.from_labels({'a': [0, 1], 'b': [0, 1]})); "
        "print('numba' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True
        ).stdout.strip()
        == "False"
    )


@pytest.fixture
def loaded_anew():
    """Loops that are looked for again, in this test and after it."""
    kernels.compiled.cache_clear()
    yield
    kernels.compiled.cache_clear()


@pytest.mark.parametrize("reason", ["missing", "switched off"])
def test_without_numba_everything_is_numpy(monkeypatch, loaded_anew, reason):
    if reason == "missing":
        monkeypatch.setattr(kernels, "find_spec", lambda name: None)
    else:
        monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.compiled() is None


@pytest.mark.parametrize(
    "error",
    [ImportError("numpy is too new"), OSError("no libllvmlite.so"), AttributeError()],
    ids=repr,
)
def test_with_a_numba_that_cannot_be_loaded_everything_is_numpy_and_one_warning_says_so(
    monkeypatch, loaded_anew, error
):
    monkeypatch.setattr(kernels, "import_module", lambda *_: (_ for _ in ()).throw(error))
    with pytest.warns(RuntimeWarning) as caught:
        assert [kernels.compiled() for _ in range(3)] == [None] * 3
    (warning,) = caught
    why = str(error) or "AttributeError"
    assert str(warning.message).startswith(
        f"numba is installed but cannot be loaded, so large tables take longer: {why}."
    )


def test_machine_code_is_not_kept_where_there_is_no_place_for_it(monkeypatch):
    def njit(cache=False, **_):
        if cache:
            raise RuntimeError("cannot cache function")
        return lambda function: "compiled"

    monkeypatch.setattr(loops.numba, "njit", njit)
    assert loops.loop(len) == "compiled"
