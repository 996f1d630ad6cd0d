"""BGCM: golden numbers, an independent dense solution, and the loop that fails."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from ec3learn import BGCM, MajorityVote, Votes
from ec3learn.algebra.membership import membership
from ec3learn.methods.bgcm import Graph

from ..strategies import any_tables, random_table

GOLDEN = {"rtol": 0, "atol": 6e-7}
W8_PLAIN = """
0.723989 0.170614 0.105397  0.592468 0.284521 0.123010  0.543955 0.287941 0.168104  0.124903 0.687539 0.187558
0.125962 0.561489 0.312549  0.112954 0.571512 0.315533  0.133075 0.176559 0.690365  0.312462 0.153246 0.534293"""
W8_NORMALIZED = """
0.850779 0.100071 0.049151  0.728937 0.214564 0.056499  0.596880 0.242555 0.160565  0.046061 0.792915 0.161023
0.047725 0.585914 0.366361  0.036503 0.651707 0.311790  0.073101 0.097688 0.829211  0.226677 0.073531 0.699792"""
W8_ONE_SWEEP = """
0.511111 0.244444 0.244444  0.422222 0.322222 0.255556  0.417778 0.331111 0.251111  0.251111 0.497778 0.251111
0.251111 0.397778 0.351111  0.230556 0.438889 0.330556  0.258333 0.258333 0.483333  0.306667 0.240000 0.453333"""
T7_PLAIN = """
0.612468 0.235805 0.151727  0.632249 0.222091 0.145660  0.410860 0.379723 0.209417  0.255065 0.564182 0.180753
0.264798 0.401781 0.333420  0.219781 0.225291 0.554928  0.390278 0.441887 0.167834"""


def table(numbers, n_classes=3):
    return np.array(numbers.split(), dtype=float).reshape(-1, n_classes)


def solved_densely(raw, alpha, beta, normalize):
    """The normal equations of f in U and Q together, with plain numpy; every group must be tied to a class vote."""
    models = [*raw.classifiers.items(), *raw.clusterings.items()]
    n_objects, n_classes = raw.n_objects, len(raw.classes)
    edges, pulls, labels = [], [], []
    for name, column in models:
        weight = raw.weights.get(name, 1.0)
        is_classifier = name in raw.classifiers
        if isinstance(column, np.ndarray):
            shares = np.nan_to_num(column)
        else:
            values = (
                raw.classes
                if is_classifier
                else sorted({v for v in column if v is not None and v != -1})
            )
            shares = np.array([[float(v == own) for own in values] for v in column]).reshape(
                n_objects, -1
            )
        for g, share in enumerate(shares.T):
            edges.append(weight * share)
            pulls.append(alpha * weight if is_classifier else 0.0)
            labels.append(np.eye(n_classes)[g] if is_classifier else np.zeros(n_classes))
    a, pulls, labels = np.array(edges).T, np.array(pulls), np.array(labels)
    counts = np.ones(n_objects) if raw.sample_weight is None else np.array(raw.sample_weight)
    size = counts @ a
    weight_of = np.array(
        [
            raw.weights.get(name, 1.0)
            for name, column in models
            for _ in range(_width(raw, name, column))
        ]
    )
    if normalize:
        a = a * np.divide(weight_of, size, out=np.zeros_like(size), where=size > 0)
    h = np.zeros(n_objects)
    f = np.zeros((n_objects, n_classes))
    for i, label in raw.known.items():
        h[i], f[i, raw.classes.index(label)] = beta, 1
    s = counts[:, None] * a
    top = np.hstack([np.diag(counts * (a.sum(axis=1) + h)), -s])
    bottom = np.hstack([-s.T, np.diag(s.sum(axis=0) + pulls)])
    right = np.vstack([(counts * h)[:, None] * f, pulls[:, None] * labels])
    return np.linalg.lstsq(np.vstack([top, bottom]), right, rcond=None)[0][:n_objects]


def _width(raw, name, column):
    if isinstance(column, np.ndarray):
        return column.shape[1]
    return (
        len(raw.classes)
        if name in raw.classifiers
        else len({v for v in column if v is not None and v != -1})
    )


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_the_golden_numbers(solver, w8, t7, t6):
    plain, toy = BGCM(solver=solver).solve(w8), BGCM(solver=solver).solve(t7)
    assert_allclose(plain.proba, table(W8_PLAIN), **GOLDEN)
    assert_allclose(toy.proba, table(T7_PLAIN), **GOLDEN)
    assert toy.labels().tolist() == [
        0,
        0,
        0,
        1,
        1,
        2,
        1,
    ]  # the consensus that BGCM's paper prints for this table
    six = [[0.730769, 0.269231], [0.576923, 0.423077], [0.192308, 0.807692]]
    assert_allclose(
        BGCM(solver=solver).solve(t6).proba, np.array(six)[[0, 1, 1, 0, 2, 2]], **GOLDEN
    )


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_the_golden_numbers_with_normalised_groups(solver, w8):
    consensus = BGCM(normalize=True, solver=solver).solve(w8)
    assert_allclose(consensus.proba, table(W8_NORMALIZED), **GOLDEN)


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_the_golden_numbers_with_a_known_label(solver, w8):
    consensus = BGCM(solver=solver).solve(w8, known={2: 0})
    assert_allclose(
        consensus.proba[[2, 7]],
        [[0.877693, 0.077223, 0.045084], [0.400364, 0.097745, 0.501891]],
        **GOLDEN,
    )
    assert consensus.solution.settings["method"] == "BGCM-L"


def test_one_sweep_from_uniform_rows(w8):
    groups = membership(w8)
    graph = Graph(w8, groups, None, 2.0, False)
    swept = graph.update_objects(graph.update_groups(np.full((8, 3), 1 / 3)))
    swept = swept if w8.index is None else swept[w8.index]
    assert_allclose(swept, table(W8_ONE_SWEEP), **GOLDEN)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_an_independent_dense_solution_agrees(seed, normalize):
    rng = np.random.default_rng([seed, 1])
    raw = random_table(
        rng,
        soft=seed % 2 == 0,
        weighted=seed % 3 == 0,
        sample_weighted=seed % 5 == 0,
        known=seed % 4 == 0,
    )
    consensus = BGCM(alpha=1.5, beta=3.0, normalize=normalize).solve(
        raw.votes(), known=raw.known or None
    )
    answered = ~consensus.unanswered
    assert_allclose(
        consensus.proba[answered],
        solved_densely(raw, 1.5, 3.0, normalize)[answered],
        rtol=0,
        atol=1e-8,
    )


@given(any_tables())
@hypothesis_settings(max_examples=40)
def test_both_solvers_agree_on_odd_tables(raw):
    votes, known = raw.votes(), raw.known or None
    one, other = (BGCM(solver=solver).solve(votes, known=known) for solver in ("direct", "cg"))
    assert_allclose(one.proba, other.proba, rtol=0, atol=1e-8)


def test_an_infinite_beta_holds_known_labels_fixed(w8):
    fixed = BGCM(beta=np.inf).solve(w8, known={2: 1})
    assert fixed.proba[2].tolist() == [0, 1, 0]
    assert_allclose(fixed.proba, BGCM(beta=1e9).solve(w8, known={2: 1}).proba, rtol=0, atol=1e-7)


# ---- the published loop --------------------------------------------------------------------------


def test_the_loop_ends_at_the_exact_answer(w8):
    looped = BGCM(solver="loop", tol=1e-13, max_iter=5000, random_state=0).solve(w8)
    assert_allclose(looped.proba, BGCM().solve(w8).proba, rtol=0, atol=1e-10)


def test_the_loop_fails_beyond_a_few_hundred_objects_where_the_exact_answer_does_not():
    rng = np.random.default_rng(0)
    n_objects = 3000
    truth = rng.integers(3, size=n_objects)
    noisy = [
        np.where(rng.random(n_objects) < p, truth, rng.integers(3, size=n_objects))
        for p in [0.6] * 3 + [0.8] * 3
    ]
    votes = Votes.from_labels(np.stack(noisy[:3], axis=1), np.stack(noisy[3:], axis=1))
    looped = [
        (BGCM(solver="loop", random_state=seed).solve(votes).labels() == truth).mean()
        for seed in range(5)
    ]
    exact = (BGCM().solve(votes).labels() == truth).mean()
    assert exact > (MajorityVote().solve(votes).labels() == truth).mean()
    assert np.median(looped) < 0.6 < exact


def test_a_loop_that_is_cut_off_says_so(w8):
    wanted = "BGCM stopped at max_iter=2 before reaching tol=0.001. Raise max_iter or tol."
    with pytest.warns(ConvergenceWarning, match=f"^{re.escape(wanted)}$"):
        BGCM(solver="loop", max_iter=2, random_state=0).solve(w8)


# ---- errors --------------------------------------------------------------------------------------

REFUSED = {
    "alpha must be a finite number > 0, got 0.": {"alpha": 0},
    "beta must be a number > 0, got -1. Use numpy.inf to keep known labels fixed.": {"beta": -1},
    "normalize must be True or False, got 'yes'.": {"normalize": "yes"},
    "Unknown solver 'bcd'. Choose from: auto, cg, direct, loop.": {"solver": "bcd"},
    "tol must be a finite number > 0, got inf.": {"tol": np.inf},
    "max_iter must be an integer >= 1, got 0.": {"max_iter": 0},
}


@pytest.mark.parametrize("message", REFUSED)
def test_settings_that_make_no_sense_are_refused(w8, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        BGCM(**REFUSED[message]).solve(w8)


def test_a_vote_reaches_the_end_of_a_long_chain_of_clusters():
    # one vote; object i shares a cluster with object i + 1, by two clusterings in turn
    n_objects = 60
    votes = Votes.from_labels(
        {"c": ["a", *[None] * (n_objects - 1)]},
        {
            "even": [i // 2 for i in range(n_objects)],
            "odd": [(i + 1) // 2 for i in range(n_objects)],
        },
        classes=["a", "b"],
    )
    consensus = BGCM().solve(votes)
    assert not consensus.unanswered.any()
    assert_allclose(consensus.proba[:, 0], 1, rtol=0, atol=1e-9)
