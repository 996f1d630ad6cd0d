"""EC3 and iEC3: cases to check by hand, limits, the dense minimiser, golden numbers, properties."""

import re
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss, roc_auc_score

from ec3learn import BGCM, C3ESL, EC3, UPE, Consensus, DawidSkene, SoftVote, Votes
from ec3learn._checks import InputError
from ec3learn.algebra.scaling import co_occurrence_scaling
from ec3learn.methods import tune_weights
from ec3learn.methods.ec3 import parts as parts_module
from ec3learn.methods.ec3.tuning import grid

from ..dense import minimiser
from ..strategies import RawTable, any_settings, any_tables, any_votes, random_table

# Objects are extended to on purpose that were solved before.
pytestmark = pytest.mark.filterwarnings("ignore:.*solved before")

EXACT = {"atol": 1e-9, "rtol": 0}
BCD = {"solver": "bcd", "tol": 1e-12, "max_iter": 20_000, "random_state": 0}


def group_rows(consensus, groups):
    """The rows of `group_proba` that belong to these groups, in this order."""
    place = {group: j for j, group in enumerate(consensus.groups)}
    return consensus.group_proba[[place[group] for group in groups]].reshape(len(groups), -1)


# ---- 1: cases small enough to check by hand ------------------------------------------------------


def test_a_clustering_breaks_a_tie(tiny_votes):
    assert EC3().solve(tiny_votes).labels().tolist() == ["a", "a", "b", "b"]


def test_two_objects_in_one_cluster_move_towards_each_other():
    # Y^o = (1, 0) and (0, 1), one cluster of both; the other two groups have one member. With alpha
    # = 0 only K^c = [[p, q], [q, p]] couples them, p + q = 1. A^c = [[2, 1], [1, 2]], so q = 1/3.
    # Stationary: gamma (f - 1) + beta q (f - (1 - f)) = 0, times two for the two ordered pairs.
    votes = Votes.from_labels({"c": ["a", "b"]}, {"k": [0, 0]})
    consensus = EC3(alpha=0, beta=1, gamma=1, delta=0).solve(votes)
    first = (1 + 1 / 3) / (1 + 2 / 3)
    assert_allclose(consensus.proba, [[first, 1 - first], [1 - first, first]], **EXACT)


def test_a_group_is_the_mean_of_its_members_and_of_the_votes_on_them():
    # beta = 0, one classifier, all agree: F^o = F^g = Y; then one object of two voted otherwise in
    # the shared cluster: EC3, K^m = 1/2 each. F^g_k = 1/2 by symmetry. 2 gamma (f - 1) + alpha/2 (f
    # - g) + alpha/2 (f - 1/2) = 0, with the own group g: alpha/2 (g - f) + 2 delta (g - 1) = 0;
    # delta = 0 gives g = f, so f = (2 gamma + alpha/4) / (2 gamma + alpha/2).
    votes = Votes.from_labels({"c": ["a", "b"]}, {"k": [0, 0]})
    consensus = EC3(alpha=4, beta=0, gamma=1, delta=0, balanced=False).solve(votes)
    assert_allclose(consensus.proba, [[0.75, 0.25], [0.25, 0.75]], **EXACT)
    assert_allclose(consensus.group_proba, [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]], **EXACT)


def test_an_object_nobody_voted_on_follows_its_cluster():
    votes = Votes.from_labels({"c": ["a", "a", "b", "b", None]}, {"k": [0, 0, 1, 1, 1]})
    assert EC3().solve(votes).labels()[4] == "b"


# ---- 2: limits with a known answer ---------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "direct", "cg", "bcd"])
def test_without_alpha_and_beta_the_mean_vote_comes_back(w8_table, solver):
    proba = EC3(alpha=0, beta=0, solver=solver).solve(w8_table.votes()).proba
    assert_allclose(proba, minimiser(w8_table).Yo, **EXACT)


def test_a_huge_gamma_returns_the_mean_vote(w8_table):
    proba = EC3(gamma=1e6).solve(w8_table.votes()).proba
    assert_allclose(proba, minimiser(w8_table).Yo, atol=1e-5)


def test_only_the_ratios_of_the_weights_matter(w8):
    one = EC3(alpha=0.25, beta=0.35, gamma=0.35, delta=0.05).solve(w8)
    other = EC3(alpha=25, beta=35, gamma=35, delta=5).solve(w8)
    assert_allclose(one.proba, other.proba, **EXACT)
    assert_allclose(100 * one.solution.objective, other.solution.objective)


@pytest.mark.parametrize("balanced", [True, False])
def test_a_single_classifier_alone_is_believed(balanced):
    votes = Votes.from_labels({"c": ["x", "y", "z", "x"]})
    consensus = EC3(balanced=balanced).solve(votes)
    assert_allclose(consensus.proba, np.eye(3)[[0, 1, 2, 0]], **EXACT)
    assert consensus.solution.objective == pytest.approx(0, abs=1e-12)


def test_without_clusterings_equal_voters_keep_their_majority():
    votes = Votes.from_labels([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])
    assert EC3().solve(votes).labels().tolist() == [0, 1, 0, 1]


def test_ec3_and_iec3_agree_when_all_groups_have_one_size():
    votes = Votes.from_labels({"c": [0, 0, 1, 1], "d": [0, 1, 1, 0]}, {"k": [0, 1, 0, 1]})
    assert_allclose(
        EC3(balanced=True).solve(votes).proba, EC3(balanced=False).solve(votes).proba, **EXACT
    )


def test_clusters_of_one_object_each_change_no_label(w8_table):
    alone = RawTable(w8_table.classifiers, {}, w8_table.classes)
    split = RawTable(w8_table.classifiers, {"k": list(range(8))}, w8_table.classes)
    assert_array_equal(EC3().solve(alone.votes()).labels(), EC3().solve(split.votes()).labels())


def test_a_known_label_that_pulls_ever_harder_becomes_a_fixed_one(w8):
    pulled = EC3(known_weight=1e10).solve(w8, known={0: 2})
    fixed = EC3().solve(w8, known={0: 2})
    assert_allclose(pulled.proba, fixed.proba, atol=1e-8)


def test_a_model_of_tiny_weight_is_as_good_as_absent(w8):
    light = Votes.from_labels(
        {"c0": [0, 0, 1, 1, 1, 2, 2, 2], "c1": [0, 0, 0, 1, 2, 1, 2, 0]},
        {"k": [0, 1] * 4},
        weights={"k": 1e-12},
    )
    assert_allclose(EC3().solve(light).proba, EC3().solve(light.drop("k")).proba, atol=1e-8)


# ---- 3: the dense minimiser ----------------------------------------------------------------------

KINDS = {
    "plain": {"missing": 0.0},
    "missing": {"missing": 0.4},
    "soft": {"soft": True},
    "weighted": {"weighted": True},
    "sample-weighted": {"sample_weighted": True},
    "known": {"known": True},
    "everything": {
        "soft": True,
        "weighted": True,
        "sample_weighted": True,
        "known": True,
        "missing": 0.3,
    },
}


def assert_minimises(table, votes, settings, known_weight, solver="auto"):
    method = EC3(**settings, known_weight=known_weight, solver=solver)
    consensus = method.solve(votes, known=table.known or None)
    dense = minimiser(table, **settings, known_weight=known_weight)
    assert_allclose(consensus.proba[~dense.silent], dense.Fo[~dense.silent], **EXACT)
    pulled = dense.Fg.sum(axis=1) > 0  # nothing pulls the others, and P does not depend on them
    assert_allclose(group_rows(consensus, dense.groups)[pulled], dense.Fg[pulled], **EXACT)
    assert consensus.solution.objective == pytest.approx(dense.P(dense.Fo, dense.Fg), abs=1e-9)
    by_object, by_group = dense.gradient(consensus.proba, group_rows(consensus, dense.groups))
    scale = 1 + (0 if np.isinf(known_weight) else known_weight)
    assert_allclose(by_object, 0, atol=1e-8 * scale)
    assert_allclose(by_group, 0, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_the_answer_is_the_dense_minimiser_where_the_gradient_is_zero(kind, seed):
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    table = random_table(rng, **KINDS[kind])
    settings = {"balanced": bool(seed % 2)}
    if seed % 4 > 1:
        alpha, beta, gamma, delta = rng.uniform(0.02, 1, 4)
        settings |= {"alpha": alpha, "beta": beta, "gamma": gamma, "delta": delta}
    assert_minimises(table, table.votes(), settings, known_weight=[np.inf, 2.0][seed // 4 % 2])


@pytest.mark.parametrize("solver", ["direct", "cg"])
@pytest.mark.parametrize("seed", range(4))
def test_a_crowd_from_a_long_table_is_solved_by_the_dense_minimiser(seed, solver):
    rng = np.random.default_rng([seed, 99])
    table = random_table(rng, weighted=True, sample_weighted=True, known=True, missing=0.5)
    assert_minimises(
        table,
        table.long_votes(),
        {"balanced": bool(seed % 2)},
        [np.inf, 2.0][seed // 2 % 2],
        solver,
    )


@pytest.mark.parametrize("zero", ["alpha", "beta", "gamma", "delta"])
@pytest.mark.parametrize("seed", range(2))
def test_a_term_left_out_still_gives_the_dense_minimiser(zero, seed):
    table = random_table(np.random.default_rng([seed, 7]), known=seed % 2 == 1)
    assert_minimises(table, table.votes(), {zero: 0.0}, np.inf)


@given(any_tables(), any_settings())
def test_odd_tables_are_solved_by_the_dense_minimiser(table, settings):
    dense = minimiser(table, **settings)
    consensus = EC3(**settings).solve(table.votes(), known=table.known or None)
    assert_array_equal(consensus.unanswered, dense.silent)
    assert_allclose(consensus.proba[~dense.silent], dense.Fo[~dense.silent], **EXACT)
    assert_allclose(group_rows(consensus, dense.groups), dense.Fg, **EXACT)


@given(any_tables(known=False), any_settings())
def test_objects_no_vote_reaches_get_the_mean_vote(table, settings):
    dense = minimiser(table, **settings)
    consensus = EC3(**settings).solve(table.votes())
    assert_allclose(consensus.proba[dense.silent], dense.Fo[dense.silent], **EXACT)


# ---- 4: two routes to one answer -----------------------------------------------------------------

ROUTES = {"direct": {"solver": "direct"}, "cg": {"solver": "cg"}, "bcd": BCD}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("seed", range(4))
def test_all_solvers_agree(route, seed):
    oddities = {
        "soft": seed % 2 == 0,
        "known": seed % 3 == 0,
        "weighted": True,
        "sample_weighted": True,
    }
    table = random_table(np.random.default_rng([seed, 3]), **oddities)
    auto = EC3(known_weight=1.5).solve(table.votes(), known=table.known or None)
    other = EC3(known_weight=1.5, **ROUTES[route]).solve(table.votes(), known=table.known or None)
    assert_allclose(other.proba, auto.proba, atol=1e-8)
    assert_allclose(other.group_proba, auto.group_proba, atol=1e-8)
    assert other.solution.objective == pytest.approx(auto.solution.objective, abs=1e-8)


@pytest.mark.parametrize("route", ROUTES)
def test_all_solvers_agree_on_a_crowd(crowd, route):
    assert_allclose(EC3(**ROUTES[route]).solve(crowd).proba, EC3().solve(crowd).proba, atol=1e-8)


@given(any_tables(), any_settings())
def test_all_solvers_agree_on_odd_tables(table, settings):
    votes, known = table.votes(), table.known or None
    direct = EC3(**settings, solver="direct").solve(votes, known=known)
    rounds = EC3(**settings, solver="cg").solve(votes, known=known)
    assert_allclose(rounds.proba, direct.proba, **EXACT)
    assert_allclose(rounds.group_proba, direct.group_proba, **EXACT)


@pytest.mark.parametrize("known_weight", [np.inf, 1.0])
def test_known_labels_may_come_as_array_dict_or_pair(w8, known_weight):
    forms = [
        [2, None, None, None, 0, None, None, None],
        np.ma.MaskedArray([2, 9, 9, 9, 0, 9, 9, 9], mask=[0, 1, 1, 1, 0, 1, 1, 1]),
        np.array([2.0, *[np.nan] * 3, 0.0, *[np.nan] * 3]),
        {0: 2, 4: 0},
        ([0, 4], [2, 0]),
        (np.array([4, 0]), np.array([0, 2])),
    ]
    answers = [EC3(known_weight=known_weight).solve(w8, known=known).proba for known in forms]
    for answer in answers[1:]:
        assert_allclose(answer, answers[0], **EXACT)


def test_known_labels_of_a_long_table_name_its_objects():
    objects, voters, labels = (
        ["q2", "q1", "q2", "q3"],
        ["a", "a", "b", "b"],
        ["yes", "no", "no", "yes"],
    )
    consensus = EC3().solve(Votes.from_long(objects, voters, labels), known={"q1": "yes"})
    assert consensus.labels()[consensus.object_ids == "q1"].tolist() == ["yes"]
    assert consensus.proba[0].tolist() == [0, 1]


def test_an_object_that_counts_twice_is_one_that_stands_there_twice(w8_table):
    heavy = RawTable(**{**vars(w8_table), "sample_weight": [2, 1, 1, 1, 1, 1, 1, 3]})
    repeated = w8_table.taken([0, *range(8), 7, 7])
    weighted, plain = EC3().solve(heavy.votes()), EC3().solve(repeated.votes())
    assert_allclose(weighted.proba, plain.proba[1:9], **EXACT)
    assert_allclose(weighted.group_proba, plain.group_proba, **EXACT)
    assert weighted.solution.objective == pytest.approx(plain.solution.objective, abs=1e-10)


def test_a_classifier_of_weight_two_is_one_that_votes_twice(w8_table):
    heavy = RawTable(**{**vars(w8_table), "weights": {"c0": 2.0}})
    twice = RawTable(
        **{
            **vars(w8_table),
            "classifiers": {**w8_table.classifiers, "again": w8_table.classifiers["c0"]},
        }
    )
    # delta pulls once for each group, however much the group weighs: left out here.
    assert_allclose(
        EC3(delta=0).solve(heavy.votes()).proba, EC3(delta=0).solve(twice.votes()).proba, **EXACT
    )


def test_weights_of_the_method_multiply_those_of_the_votes(w8_table):
    inside = RawTable(**{**vars(w8_table), "weights": {"c0": 3.0, "c2": 0.5}})
    half = RawTable(**{**vars(w8_table), "weights": {"c0": 1.5}})
    assert_allclose(
        EC3().solve(inside.votes()).proba,
        EC3(weights={"c0": 2.0, "c2": 0.5}).solve(half.votes()).proba,
        **EXACT,
    )


def test_weights_may_be_numbers_in_the_order_of_the_classifiers(w8):
    by_name = EC3(weights={"c0": 2.0, "c1": 1.0, "c2": 0.5}).solve(w8)
    assert_allclose(EC3(weights=[2.0, 1.0, 0.5]).solve(w8).proba, by_name.proba, **EXACT)
    assert_allclose(EC3(weights=np.array([2.0, 1.0, 0.5])).solve(w8).proba, by_name.proba, **EXACT)
    assert by_name.weights.tolist() == [2.0, 1.0, 0.5, 1.0, 1.0]


def test_certain_probabilities_are_hard_votes(w8_table):
    soft = {
        name: np.eye(3)[[0 if z is None else z for z in said]]
        for name, said in w8_table.classifiers.items()
    }
    soft["c2"][6] = np.nan
    votes = Votes.from_probabilities(soft, w8_table.clusterings)
    assert_allclose(EC3().solve(votes).proba, EC3().solve(w8_table.votes()).proba, **EXACT)


def test_the_loop_of_the_paper_depends_on_its_seed_only_within_its_epsilon(w8):
    one, same, other = (EC3(solver="bcd", random_state=seed).solve(w8) for seed in (0, 0, 1))
    assert_array_equal(one.proba, same.proba)
    assert not np.array_equal(one.proba, other.proba)
    assert_allclose(one.proba, EC3().solve(w8).proba, atol=0.025)


def test_the_default_solver_has_no_randomness(w8):
    assert_array_equal(EC3(random_state=0).solve(w8).proba, EC3(random_state=1).solve(w8).proba)


# ---- 6: golden numbers ---------------------------------------------------------------------------
# W8 and its numbers are those of the method's specification, made there by a dense implementation
# of its own; six digits.

W8_OBJECTS = {
    False: """0.818800 0.124706 0.056494  0.604460 0.320780 0.074760  0.597231 0.309811 0.092959  0.080574 0.799334 0.120092
              0.079716 0.620697 0.299587  0.074431 0.598788 0.326782  0.071310 0.122423 0.806267  0.347781 0.107039 0.545180""",
    True: """0.822388 0.123723 0.053889  0.612818 0.316294 0.070888  0.599887 0.307338 0.092775  0.077354 0.801806 0.120839
             0.076271 0.620701 0.303028  0.071194 0.602321 0.326484  0.067418 0.117460 0.815122  0.345785 0.101493 0.552723""",
}
W8_OBJECTIVE = {False: 0.324714, True: 0.317530}
W8_LAST_CLUSTER = {False: [0.486253, 0.187546, 0.326201], True: [0.495564, 0.194852, 0.309584]}
SIX_DIGITS = {"atol": 6e-7, "rtol": 0}


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("route", ROUTES)
def test_w8_has_the_numbers_of_the_specification(w8, balanced, route):
    consensus = EC3(balanced=balanced, **ROUTES[route]).solve(w8)
    assert_allclose(
        consensus.proba.ravel(), np.array(W8_OBJECTS[balanced].split(), dtype=float), **SIX_DIGITS
    )
    assert consensus.solution.objective == pytest.approx(W8_OBJECTIVE[balanced], abs=6e-7)
    assert_allclose(group_rows(consensus, [("k1", 3)])[0], W8_LAST_CLUSTER[balanced], **SIX_DIGITS)


@pytest.mark.parametrize("balanced", [True, False])
def test_the_dense_minimiser_itself_has_the_numbers_of_the_specification(w8_table, balanced):
    dense = minimiser(w8_table, balanced=balanced)
    assert_allclose(
        dense.Fo.ravel(), np.array(W8_OBJECTS[balanced].split(), dtype=float), **SIX_DIGITS
    )
    assert_allclose(
        dense.d,
        [0.285586, 0.248801, 0.265116, 0.265661, 0.260140, 0.293806, 0.379217, 0.283098],
        **SIX_DIGITS,
    )
    assert_allclose(dense.Kc[0], [0.407796, 0.284216, 0.227140, 0, 0, 0, 0, 0.080849], **SIX_DIGITS)
    first_row = dense.Km[0][dense.Km[0] > 0]
    assert_allclose(
        first_row, [0.24, 0.12, 0.24, 0.16, 0.24] if balanced else [0.2] * 5, **SIX_DIGITS
    )
    second = [dense.groups.index(("c1", z)) for z in range(3)]
    assert_allclose(
        dense.Yg[second], [[4 / 6, 1 / 6, 1 / 6], [0, 5 / 6, 1 / 6], [0, 0.4, 0.6]], **SIX_DIGITS
    )


# ---- 8: properties -------------------------------------------------------------------------------


def assert_distributions(proba):
    assert (proba >= 0).all()
    assert_allclose(proba.sum(axis=1), 1, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(any_tables(), any_settings(), st.sampled_from(["direct", "cg", "bcd"]))
def test_every_row_is_a_distribution(table, settings, solver):
    method = EC3(**settings, solver=solver, max_iter=200, random_state=0)
    consensus = method.solve(table.votes(), known=table.known or None)
    assert_distributions(consensus.proba)
    assert_distributions(consensus.group_proba)
    assert consensus.solution.objective >= 0


@pytest.mark.filterwarnings(
    "ignore::ec3learn.methods.ReliabilityWarning"
)  # random votes deserve it
@given(any_votes(), st.sampled_from(["equal", "agreement"]))
def test_nothing_is_ever_nan(votes, weights):
    consensus = EC3(weights=weights).solve(votes)
    numbers = [
        consensus.proba,
        consensus.group_proba,
        consensus.confidence,
        consensus.margin,
        consensus.weights,
    ]
    assert all(np.isfinite(array).all() for array in [*numbers, consensus.solution.objective])


@given(any_tables(), any_settings(), st.randoms(use_true_random=False))
def test_the_order_of_objects_does_not_matter(table, settings, random):
    order = list(range(table.n_objects))
    random.shuffle(order)
    shuffled = table.taken(order)
    one = EC3(**settings).solve(table.votes(), known=table.known or None)
    other = EC3(**settings).solve(shuffled.votes(), known=shuffled.known or None)
    assert_allclose(other.proba, one.proba[order], **EXACT)


@given(any_tables(), any_settings())
def test_the_order_of_base_models_does_not_matter(table, settings):
    turned = RawTable(
        **{
            **vars(table),
            "classifiers": dict(reversed(table.classifiers.items())),
            "clusterings": dict(reversed(table.clusterings.items())),
        }
    )
    one = EC3(**settings).solve(table.votes(), known=table.known or None)
    other = EC3(**settings).solve(turned.votes(), known=table.known or None)
    assert_allclose(other.proba, one.proba, **EXACT)


@given(any_tables(known=False), any_settings())
def test_names_and_order_of_classes_do_not_matter(table, settings):
    names = {z: f"{len(table.classes) - i} renamed" for i, z in enumerate(table.classes)}
    turned = {
        name: said[:, ::-1] if isinstance(said, np.ndarray) else [names.get(z) for z in said]
        for name, said in table.classifiers.items()
    }
    renamed = RawTable(
        **{
            **vars(table),
            "classifiers": turned,
            "classes": [names[z] for z in reversed(table.classes)],
        }
    )
    one, other = EC3(**settings).solve(table.votes()), EC3(**settings).solve(renamed.votes())
    assert_allclose(other.proba[:, ::-1], one.proba, **EXACT)


@given(any_tables(soft=False), any_settings())
def test_names_of_clusters_do_not_matter(table, settings):
    renamed = {
        name: [None if k is None or k == -1 else f"cluster {9 - k}" for k in said]
        for name, said in table.clusterings.items()
    }
    other = EC3(**settings).solve(
        RawTable(**{**vars(table), "clusterings": renamed}).votes(), known=table.known or None
    )
    assert_allclose(
        other.proba, EC3(**settings).solve(table.votes(), known=table.known or None).proba, **EXACT
    )


@given(any_tables(known=False), any_settings())
def test_unanimous_votes_win(table, settings):
    agreed = {name: ["class 0"] * table.n_objects for name in table.classifiers}
    table = RawTable(**{**vars(table), "classifiers": agreed})
    assert_allclose(EC3(**settings).solve(table.votes()).proba[:, 0], 1, **EXACT)


@given(any_tables(min_objects=4), any_settings())
def test_equal_rows_get_equal_answers(table, settings):
    consensus = EC3(**settings, solver="cg").solve(table.votes(), known=table.known or None)
    rows = [
        repr(
            [
                [said[i] for said in (*table.classifiers.values(), *table.clusterings.values())],
                table.known.get(i),
            ]
        )
        for i in range(table.n_objects)
    ]
    for i, j in product(range(table.n_objects), repeat=2):
        if rows[i] == rows[j]:
            assert_allclose(consensus.proba[i], consensus.proba[j], **EXACT)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(any_tables(), any_settings(), st.integers(0, 9))
def test_the_objective_of_the_paper_s_loop_never_rises(table, settings, seed):
    method = EC3(**settings, solver="bcd", tol=1e-6, max_iter=100, random_state=seed)
    consensus = method.solve(table.votes(), known=table.known or None)
    path = np.array([*consensus.solution.history, consensus.solution.objective])
    assert (np.diff(path) <= 1e-10).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(any_votes(), any_settings())
def test_the_exact_answer_is_never_above_the_paper_s_loop(votes, settings):
    loop = EC3(**settings, solver="bcd", random_state=0, max_iter=100).solve(votes)
    assert EC3(**settings).solve(votes).solution.objective <= loop.solution.objective + 1e-9


# ---- degenerate input has a defined answer -------------------------------------------------------

DEGENERATE = {
    "one object": (Votes.from_labels({"c": ["a"]}), [[1.0]]),
    "one object in a cluster of its own": (
        Votes.from_labels({"c": ["b"]}, {"k": [4]}, classes=["a", "b"]),
        [[0, 1]],
    ),
    "one class voted": (
        Votes.from_labels({"c": ["a", "a"], "d": ["a", None]}, classes=["a", "b"]),
        [[1, 0], [1, 0]],
    ),
    "one class at all": (Votes.from_labels([[1, 1], [1, 1]]), [[1.0], [1.0]]),
    "a cluster of everything": (
        Votes.from_labels({"c": ["a", "a"]}, {"k": [0, 0]}),
        [[1.0], [1.0]],
    ),
    "every object its own cluster": (
        Votes.from_labels({"c": ["a", "b"]}, {"k": [0, 1]}),
        [[1, 0], [0, 1]],
    ),
    "an object nobody voted on": (
        Votes.from_labels({"c": ["a", None, "b"]}, {"k": [0, 0, 1]}),
        [[1, 0], [1, 0], [0, 1]],
    ),
    "an object in no group": (
        Votes.from_labels({"c": ["a", "b", None]}, {"k": [0, 1, -1]}),
        [[1, 0], [0, 1], [0.5, 0.5]],
    ),
    "a clustering of noise only": (
        Votes.from_labels({"c": ["a", "b"]}, {"k": [-1, -1]}),
        [[1, 0], [0, 1]],
    ),
    "a classifier without any vote": (
        Votes.from_labels({"c": ["a", "b"], "d": [None, None]}),
        [[1, 0], [0, 1]],
    ),
    "clusters no vote reaches": (
        Votes.from_labels({"c": ["a", None, None]}, {"k": [0, 1, 1]}, classes=["a", "b"]),
        [[1, 0], [1, 0], [1, 0]],
    ),
    "a model of weight 0": (
        Votes.from_labels({"c": ["a", "b"], "d": ["b", "b"]}, weights={"d": 0}),
        [[1, 0], [0, 1]],
    ),
    "an object of weight 0": (
        Votes.from_labels({"c": ["a", "b"]}, sample_weight=[1, 0]),
        [[1, 0], [0, 1]],
    ),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_input_has_a_defined_answer(case, route):
    votes, expected = DEGENERATE[case]
    consensus = EC3(**ROUTES[route]).solve(votes)
    assert_allclose(consensus.proba, expected, atol=1e-8)
    assert_distributions(consensus.group_proba)


def test_objects_no_vote_reaches_are_flagged_and_noted():
    said = ["a", "b", None, None]
    consensus = EC3().solve(Votes.from_labels({"c": said, "d": said}, {"k": [0, 1, -1, 2]}))
    assert consensus.unanswered.tolist() == [False, False, True, True]
    note = "2 objects have no vote, not even through others in the same groups, and got the mean vote of all."
    assert list(map(str, consensus.solution.notes)) == [note]


def test_an_object_tied_to_votes_by_a_weightless_object_only_is_not_reached():
    said, ties = {"c": ["a", None, None, "b"]}, {"k": [0, 0, -1, 1], "j": [-1, 7, 7, 8]}
    assert not EC3().solve(Votes.from_labels(said, ties)).unanswered.any()
    weightless = EC3().solve(Votes.from_labels(said, ties, sample_weight=[1, 0, 1, 1]))
    assert weightless.unanswered.tolist() == [False, False, True, False]


def test_a_cluster_tied_to_votes_by_a_weightless_model_only_is_not_reached():
    votes = Votes.from_labels(
        {"c": ["a", None, None]},
        {"k": [0, 0, -1], "j": [-1, 5, 5]},
        weights={"k": 0},
        classes=["a", "b"],
    )
    consensus = EC3().solve(votes)
    assert consensus.unanswered.tolist() == [False, True, True]
    assert_allclose(consensus.proba, [[1, 0]] * 3)


def test_a_cluster_tied_to_votes_by_a_weightless_object_only_is_not_reached():
    votes = Votes.from_labels(
        {"c": ["a", None, None]},
        {"k": [0, 0, -1], "j": [-1, 5, 5]},
        sample_weight=[1, 0, 1],
        classes=["a", "b"],
    )
    consensus = EC3().solve(votes)
    assert consensus.unanswered.tolist() == [False, False, True]
    assert_distributions(consensus.proba)


def test_known_labels_alone_are_enough_to_go_by():
    votes = Votes.from_labels({"c": [None] * 4}, {"k": [0, 0, 1, -1]}, classes=["a", "b"])
    consensus = EC3().solve(votes, known={0: "b", 2: "a"})
    assert consensus.labels()[:3].tolist() == ["b", "b", "a"]
    assert_allclose(consensus.proba[3], [0.5, 0.5])


def test_an_object_nothing_reaches_gets_the_mean_of_votes_and_known_labels():
    votes = Votes.from_labels({"c": ["a", "a", "b", None]})
    assert_allclose(EC3().solve(votes, known={0: "b"}).proba[3], [1 / 3, 2 / 3])


def test_known_labels_of_nobody_change_nothing(w8):
    for nobody in ({}, [None] * 8, ([], [])):
        assert_array_equal(EC3().solve(w8, known=nobody).proba, EC3().solve(w8).proba)


def test_many_fine_clusterings_are_solved_like_the_dense_minimiser():
    rng = np.random.default_rng(0)
    clusterings = {f"k{m}": rng.integers(40, size=60).tolist() for m in range(3)} | {
        "own": list(range(60))
    }
    table = RawTable(
        {"c": rng.integers(3, size=60).tolist(), "d": rng.integers(3, size=60).tolist()},
        clusterings,
        [0, 1, 2],
    )
    for solver in ("direct", "cg"):
        assert_minimises(table, table.votes(), {}, np.inf, solver)


def test_thousands_of_clusters_are_solved_as_in_a_dense_system():
    rng = np.random.default_rng(0)
    votes = Votes.from_labels(rng.integers(2, size=(1200, 2)), rng.integers(1200, size=(1200, 4)))
    assert votes.models.n_groups > 3_000
    rounds = EC3(beta=0).solve(votes)
    assert_allclose(EC3(beta=0, solver="direct").solve(votes).proba, rounds.proba, **EXACT)


# ---- towards another method ----------------------------------------------------------------------


@given(any_votes(), any_settings())
def test_towards_the_soft_vote_is_towards_the_votes(votes, settings):
    one, other = EC3(**settings).solve(votes), EC3(**settings, towards=SoftVote()).solve(votes)
    assert_allclose(other.proba, one.proba, **EXACT)
    assert_allclose(other.group_proba, one.group_proba, **EXACT)
    assert other.solution.objective == pytest.approx(one.solution.objective, abs=1e-9)


@pytest.mark.parametrize("route", ["direct", "cg", "bcd"])
@pytest.mark.parametrize("known", [None, {2: 1, 5: 0}])
def test_all_solvers_agree_towards_another_method(w8, route, known):
    settings = BCD if route == "bcd" else {"solver": route}
    wanted = EC3(towards="dawid-skene").solve(w8, known=known)
    other = EC3(towards="dawid-skene", **settings).solve(w8, known=known)
    assert_allclose(other.proba, wanted.proba, **EXACT)


def test_with_gamma_alone_the_answer_is_the_other_methods(w8):
    for other in (DawidSkene(), BGCM(), C3ESL(), UPE(random_state=0)):
        consensus = EC3(alpha=0, beta=0, delta=0, towards=other).solve(w8)
        assert_allclose(consensus.proba, other.solve(w8).proba, **EXACT)


@given(any_votes(sample_weight=False))
def test_objects_keep_their_answers_towards_another_method_when_they_come_again(votes):
    consensus = EC3(towards=DawidSkene(max_iter=5000)).solve(votes)
    assert_allclose(consensus.extend(votes).proba, consensus.proba, rtol=0, atol=1e-6)


def test_a_consensus_towards_another_method_is_saved_with_it(w8, tmp_path):
    consensus = EC3(towards="dawid-skene").solve(w8)
    consensus.save(tmp_path / "c.ec3")
    assert_allclose(Consensus.load(tmp_path / "c.ec3").extend(w8).proba, consensus.proba, **EXACT)
    assert consensus.solution.settings["method"] == "iEC3 towards Dawid-Skene"
    assert set(consensus.explain(0).by_term.columns["term"]) == {"groups", "companions", "towards"}


def test_towards_a_method_that_can_not_extend_can_not_extend(w8):
    consensus = EC3(towards=C3ESL()).solve(w8)
    with pytest.raises(
        ValueError, match=r"^iEC3 towards C3E-SL cannot be extended to new objects\. "
    ):
        consensus.extend(w8)


def test_clusterings_reach_objects_the_other_method_has_no_answer_for():
    votes = Votes.from_labels({"c": ["a", "b", None], "d": ["a", "b", None]}, {"k": [0, 1, 0]})
    consensus = EC3(towards=DawidSkene()).solve(votes)
    assert consensus.labels()[2] == "a"
    assert not consensus.unanswered.any()


def test_an_unknown_method_to_go_towards_is_refused(w8):
    with pytest.raises(
        ValueError,
        match=r"^Unknown towards 'dawid'\. Did you mean 'dawid-skene'\? Choose from: votes, auto, ec3, ",
    ):
        EC3(towards="dawid").solve(w8)


# ---- learned weights -----------------------------------------------------------------------------


@pytest.fixture
def planted():
    """Five annotators, right four times in five, and one who names the wrong one of two classes four times in five."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=2000)
    right = rng.random((2000, 6)) < [0.8, 0.8, 0.8, 0.8, 0.8, 0.2]
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    return Votes.from_labels(
        {**{f"good{m}": said[:, m] for m in range(5)}, "liar": said[:, 5]}
    ), truth


def test_a_classifier_worse_than_chance_gets_no_weight_and_is_named(planted):
    consensus = EC3(weights="agreement").solve(planted[0])
    assert consensus.solution.worse_than_chance == ("liar",)
    assert consensus.weights[5] == 0
    assert (consensus.weights[:5] > 0).all()
    assert "Worse than chance and left out: liar." in map(str, consensus.notes)


def test_learned_weights_rank_annotators_by_their_skill():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=3000)
    skill = np.array([0.9, 0.75, 0.6, 0.45, 0.34])
    said = np.where(rng.random((3000, 5)) < skill, truth[:, None], rng.integers(3, size=(3000, 5)))
    votes = Votes.from_labels(said)
    learned, equal = EC3(weights="agreement").solve(votes), EC3().solve(votes)
    assert (np.diff(learned.weights) < 0).all()
    assert (learned.labels() == truth).mean() > (equal.labels() == truth).mean()


def test_learned_weights_have_the_mean_one_over_the_votes(planted):
    consensus = EC3(weights="agreement").solve(planted[0])
    assert consensus.weights.mean() == pytest.approx(1)


def test_known_labels_teach_the_weights(planted):
    votes, truth = planted
    consensus = EC3(weights="labels").solve(votes, known={i: truth[i] for i in range(100)})
    assert consensus.solution.worse_than_chance == ("liar",)
    assert consensus.weights[5] == 0


def test_weights_learned_from_labels_are_the_log_odds_of_being_right_by_class():
    votes = Votes.from_labels({"c": [0, 0, 0, 0], "d": [0, 0, 1, 1]}, classes=[0, 1])
    consensus = EC3(weights="labels").solve(votes, known=[0, 0, 0, 1])
    # c names 3 of 3 zeros and 0 of 1 ones, d 2 and 1; one vote's worth of chance is added to each
    # class
    right = np.array([(3.5 / 4 + 0.5 / 2) / 2, (2.5 / 4 + 1.5 / 2) / 2])
    odds = np.log(right / (1 - right))
    assert_allclose(consensus.weights, odds / odds.mean())


def test_if_no_classifier_is_better_than_chance_all_count_equally():
    votes = Votes.from_labels({"c": [0, 0, 1, 1], "d": [0, 1, 0, 1]})
    consensus = EC3(weights="labels").solve(votes, known=[1, 1, 0, 0])
    assert consensus.weights.tolist() == [1, 1]
    assert "No classifier is better than chance, so all were weighted equally." in map(
        str, consensus.notes
    )


def test_no_round_of_reweighting_leaves_equal_weights(planted):
    consensus = EC3(weights="agreement", reweight_rounds=0).solve(planted[0])
    assert consensus.weights.tolist() == [1] * 6


def test_learned_weights_do_not_depend_on_the_order_of_objects(planted):
    votes, _ = planted
    order = np.random.default_rng(1).permutation(2000)
    one, other = EC3(weights="agreement").solve(votes), EC3(weights="agreement").solve(votes[order])
    assert_allclose(other.proba, one.proba[order], **EXACT)


def test_random_classifiers_cost_learned_weights_little():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=4000)
    skilled = np.where(rng.random((4000, 5)) < 0.8, truth[:, None], 1 - truth[:, None])
    votes = Votes.from_labels(np.hstack([skilled, rng.integers(2, size=(4000, 10))]))
    accuracy = {
        w: (EC3(weights=w).solve(votes).labels() == truth).mean() for w in ("equal", "agreement")
    }
    alone = (EC3().solve(Votes.from_labels(skilled)).labels() == truth).mean()
    assert accuracy["equal"] < alone - 0.05
    assert accuracy["agreement"] > alone - 0.005


# ---- 5: the wording of errors and warnings -------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"), [("alpha", -0.2), ("beta", np.nan), ("gamma", "0.3"), ("delta", None)]
)
def test_a_term_s_weight_that_is_none_is_refused(w8, name, value):
    with pytest.raises(
        ValueError, match=re.escape(f"{name} must be a finite number >= 0, got {value!r}.")
    ):
        EC3(**{name: value}).solve(w8)


REFUSED = {
    "gamma and delta must not both be 0, got 0 and 0: nothing would tie the consensus to the votes.": {
        "gamma": 0,
        "delta": 0,
    },
    "gamma and alpha must not both be 0, got 0 and 0: nothing would tie the objects to the votes.": {
        "gamma": 0,
        "alpha": 0,
    },
    "alpha, beta, gamma and delta must be 0 or at least 1e-08 of the largest of them, got 1e-09 beside 0.35.": {
        "alpha": 1e-9
    },
    "known_weight must be a number > 0, got 0. Use numpy.inf to keep known labels fixed.": {
        "known_weight": 0
    },
    "known_weight must be a number > 0, got nan. Use numpy.inf to keep known labels fixed.": {
        "known_weight": np.nan
    },
    "Unknown solver 'lu'. Choose from: auto, bcd, cg, direct.": {"solver": "lu"},
    "tol must be a finite number > 0, got 0.": {"tol": 0},
    "max_iter must be an integer >= 1, got 0.": {"max_iter": 0},
    "reweight_rounds must be an integer >= 0, got -1.": {"reweight_rounds": -1},
    "Unknown weights 'equl'. Did you mean 'equal'? Choose from: agreement, equal, labels, or pass one number per classifier.": {
        "weights": "equl"
    },
    "weights='labels' needs known labels, got none. Pass known, or take weights='agreement'.": {
        "weights": "labels"
    },
    "Unknown base model 'k0'. Choose from: c0, c1, c2.": {"weights": {"k0": 1}},
    "weights must have one number for each of the 3 base models, got shape (2,).": {
        "weights": [1, 1]
    },
    "weights must be finite and >= 0, got -1.0 at position 1.": {"weights": [1, -1, 1]},
    "votes must hold at least one class vote whose classifier and object have a weight above 0, got none.": {
        "weights": [0, 0, 0]
    },
}


@pytest.mark.parametrize("message", REFUSED)
def test_settings_that_make_no_sense_are_refused(w8, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        EC3(**REFUSED[message]).solve(w8)


@pytest.mark.parametrize("setting", ["known_weight", "tol"])
def test_settings_that_are_no_numbers_are_refused_by_name(w8, setting):
    with pytest.raises((ValueError, TypeError), match=f"^{setting} must be .*got 'much'"):
        EC3(**{setting: "much"}).solve(w8)


def test_weights_that_are_no_numbers_are_refused(w8):
    with pytest.raises(
        TypeError, match=re.escape("weights must hold numbers, got ['a', 'b', 'c'].")
    ):
        EC3(weights=["a", "b", "c"]).solve(w8)


@pytest.mark.parametrize("weights", [{"c": 0}, None])
def test_votes_without_anything_to_go_by_are_refused(weights):
    said = ["a", "b"] if weights else [None, None]
    votes = Votes.from_labels({"c": said}, classes=["a", "b"], weights=weights)
    message = "votes must hold at least one class vote whose classifier and object have a weight above 0, got none."
    with pytest.raises(ValueError, match=re.escape(message)):
        EC3().solve(votes)


def test_votes_on_objects_of_weight_0_only_are_refused():
    votes = Votes.from_labels(
        {"c": ["a", None]}, {"k": [0, 1]}, classes=["a", "b"], sample_weight=[0, 1]
    )
    with pytest.raises(ValueError, match="votes must hold at least one class vote"):
        EC3().solve(votes)


def test_what_is_no_votes_is_refused():
    message = "votes must be a Votes, got list. Make one with Votes.from_labels, or pass a table to ec3learn.combine."
    with pytest.raises(TypeError, match=re.escape(message)):
        EC3().solve([[0, 1]])


BAD_KNOWN = {
    "known must have one entry for each of the 8 objects, got 3. Pass a dict of object -> label to name only a few.": [
        0,
        1,
        2,
    ],
    "known must have one entry for each of the 2 objects, got 1. Pass a dict of object -> label to name only a few.": (
        [0, 1],
        [2],
    ),
    "known must name objects by number, from 0 to 7, got 8.": {8: 1},
    "known must name objects by number, from 0 to 7, got -1.": {-1: 1},
    "known must hold classes, [0, 1, 2], got 'good' for object 0. Pass classes=[...] to name classes that nobody voted for.": {
        0: "good"
    },
    "known must name objects by number, from 0 to 7, got 'first'.": {"first": 1},
    "known must hold classes, [0, 1, 2], got 5 for object 3. Pass classes=[...] to name classes that nobody voted for.": {
        0: 1,
        3: 5,
    },
    "known must have one dimension, one value per row, and at least one row, got shape (0,).": [],
    "known must have one dimension, one value per row, and at least one row, got shape (8, 1).": [
        [0]
    ]
    * 8,
}


@pytest.mark.parametrize("message", BAD_KNOWN)
def test_known_labels_that_make_no_sense_are_refused(w8, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        EC3().solve(w8, known=BAD_KNOWN[message])


@pytest.mark.parametrize("known", [5, {0, 1}])
def test_known_labels_of_another_kind_are_refused(w8, known):
    message = (
        "known must be an array with one label per object, None where there is none, a dict of object -> label, or a pair "
        f"(objects, labels), got {type(known).__name__}."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        EC3().solve(w8, known=known)


def test_a_known_label_that_is_none_is_refused(w8):
    message = "known must hold labels (ints, bools or strings), got {'x': 1} of type dict at row 0."
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        EC3().solve(w8, known={3: {"x": 1}})


def test_a_label_that_is_no_class_is_not_met_with_an_argument_that_solve_lacks(w8):
    with pytest.raises(ValueError, match="must hold classes") as caught:
        EC3().solve(w8, known={3: 5})
    assert "missing=" not in str(caught.value)


def test_an_object_known_twice_with_two_labels_is_refused(w8):
    with pytest.raises(ValueError, match=r"known must give an object one label, got two for 0\."):
        EC3().solve(w8, known=([0, 0], [1, 2]))


@pytest.mark.parametrize("name", ["q9", ["q1"]])
def test_a_known_object_that_a_long_table_lacks_is_refused(name):
    votes = Votes.from_long(["q1", "q2"], ["a", "a"], ["yes", "no"])
    message = f"known must name objects that were voted on, got {name!r}. The first objects are ['q1', 'q2']."
    with pytest.raises(ValueError, match=re.escape(message)):
        EC3().solve(votes, known=([name], ["yes"]))


KNOWN_OTHERWISE = {  # ids and labels that another file spells otherwise
    "known must name objects that were voted on, got '7'. There is an object 7: pass numbers in both places.": {
        "7": "yes"
    },
    "known must hold classes, ['no', 'yes'], got ' YES' for object 7. Did you mean 'yes'?": {
        7: " YES"
    },
    "known must hold classes, ['no', 'yes'], got 1 for object 7. Labels are the classes themselves, not their numbers.": {
        7: 1
    },
    "known must be a dict of object -> label, or an array, got DataFrame. Pass one of its columns, or "
    "dict(zip(table[objects], table[labels])) with the names of two.": pd.DataFrame(
        {"object": [7], "label": ["yes"]}
    ),
}


@pytest.mark.parametrize("message", KNOWN_OTHERWISE)
def test_known_labels_that_are_spelled_otherwise_are_refused_with_what_helps(message):
    votes = Votes.from_long([7, 8], ["a", "a"], ["yes", "no"])
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        EC3().solve(votes, known=KNOWN_OTHERWISE[message])


@pytest.mark.parametrize(("solver", "tol"), [("cg", 1e-13), ("bcd", 1e-9)])
def test_stopping_early_is_warned_about_and_reported(w8, solver, tol):
    message = f"EC3 stopped at max_iter=1 before reaching tol={tol}. Raise max_iter or tol."
    with pytest.warns(ConvergenceWarning, match=re.escape(message)):
        consensus = EC3(solver=solver, tol=tol, max_iter=1, random_state=0).solve(w8)
    assert not consensus.solution.converged
    assert consensus.solution.n_iter == 1
    assert_distributions(consensus.proba)


def test_a_scaling_that_stops_early_is_warned_about(w8, monkeypatch):
    monkeypatch.setattr(
        "ec3learn.methods.ec3.objective.co_occurrence_scaling",
        partial(co_occurrence_scaling, max_iter=2),
    )
    with pytest.warns(
        UserWarning,
        match=r"The scaling of K\^c stopped after 2 rounds with change .*: it converges slowly",
    ):
        consensus = EC3().solve(w8)
    assert_allclose(consensus.proba.sum(axis=1), 1)


def test_the_paper_s_loop_stops_at_the_paper_s_epsilon_by_default(w8):
    consensus = EC3(solver="bcd", random_state=0).solve(w8)
    exact = EC3(**BCD).solve(w8)
    assert consensus.solution.converged
    assert 1 < consensus.solution.n_iter < exact.solution.n_iter
    assert len(consensus.solution.history) == consensus.solution.n_iter


# ---- 7: scikit-learn's face ----------------------------------------------------------------------


def test_scikit_learn_clones_it():
    method = EC3(alpha=0.4, weights={"svm": 2.0}, solver="cg")
    copy = clone(method)
    assert copy is not method
    assert copy.get_params() == method.get_params()


def test_parameters_are_stored_as_given_and_checked_when_solving():
    method = EC3(alpha=-1, solver="none such")
    assert method.get_params()["alpha"] == -1
    assert method.set_params(alpha=0.5, solver="cg").alpha == 0.5


def test_its_repr_names_what_differs_from_the_defaults():
    assert repr(EC3(alpha=0.5)) == "EC3(alpha=0.5)"


def test_an_unknown_parameter_is_refused():
    with pytest.raises(ValueError, match="Invalid parameter 'alfa' for estimator EC3"):
        EC3().set_params(alfa=1)


def test_solving_does_not_change_the_method(w8):
    method = EC3(weights="agreement")
    before = method.get_params()
    method.solve(w8)
    assert method.get_params() == before
    assert sorted(vars(method)) == sorted(before)


def test_the_settings_stand_in_the_consensus(w8):
    settings = EC3(balanced=False, beta=0.5).solve(w8).solution.settings
    assert settings["method"] == "EC3"
    assert settings["beta"] == 0.5
    assert settings["known_weight"] == "inf"


# ---- found by use --------------------------------------------------------------------------------


def test_every_group_has_a_distribution_when_alpha_is_0():
    votes = Votes.from_labels({"a": [0, 1, None, None]}, {"k": [0, 0, 0, -1], "j": [-1, -1, 1, 1]})
    assert_allclose(EC3(alpha=0).solve(votes).group_proba.sum(axis=1), 1)


def test_when_nobody_beats_chance_nobody_is_said_to_be_left_out():
    votes = Votes.from_labels({"a": [0, 1], "b": [0, 1]})
    consensus = EC3(weights="labels").solve(votes, known=[1, 0])
    assert list(map(str, consensus.notes)) == [
        "No classifier is better than chance, so all were weighted equally."
    ]


def test_tiny_shares_of_the_last_class_count_in_iec3():
    shares = np.array([[0.6, 0.4, 0.0], [0.5, 0.5, 0.0], [0.1 + 0.2, 0.7 - 1e-9, 1e-9]])
    shares /= shares.sum(axis=1, keepdims=True)
    table = RawTable({"soft": shares, "hard": [0, 1, 1]}, {"k": [0, 0, 1]}, [0, 1, 2])
    assert_allclose(EC3().solve(table.votes()).proba, minimiser(table).Fo, **EXACT)


def test_a_dense_system_over_too_many_groups_is_refused():
    fine = {f"k{m}": np.random.default_rng(m).permutation(6000) for m in range(2)}
    votes = Votes.from_labels({"c": np.arange(6000) % 2}, fine)
    message = "solver='direct' needs a dense matrix over groups, at most 10,000 of them, got 12,002. Take solver='cg' or solver='auto'."
    with pytest.raises(ValueError, match=re.escape(message)):
        EC3(solver="direct").solve(votes)


def test_the_title_names_the_method_it_goes_towards(w8):
    titles = [
        EC3(towards=other).solve(w8).solution.settings["method"]
        for other in ("votes", "dawid-skene", DawidSkene())
    ]
    assert titles == ["iEC3", "iEC3 towards Dawid-Skene", "iEC3 towards Dawid-Skene"]


# ---- the parts of the problem, by the paper's formulas -------------------------------------------


def in_dense_order(parts, dense):
    """The places of the dense groups among those of the parts."""
    names = [(model, int(label)) for model, label in parts.groups]
    assert sorted(names) == sorted((model, int(label)) for model, label in dense.groups)
    return [names.index((model, int(label))) for model, label in dense.groups]


@pytest.mark.parametrize("solver", ["auto", "cg"])
@pytest.mark.parametrize("kind", [{}, {"missing": 0.3}, {"soft": True}, {"weighted": True}])
@pytest.mark.parametrize("balanced", [True, False])
def test_every_part_is_that_of_the_paper_s_formulas(balanced, kind, solver):
    table = random_table(np.random.default_rng(3), **kind)
    parts, dense = (
        EC3(balanced=balanced, solver=solver).parts(table.votes()),
        minimiser(table, balanced=balanced),
    )
    order, n = in_dense_order(parts, dense), table.n_objects
    assert_allclose(parts.object_proba, dense.Fo, **EXACT)
    assert_allclose(parts.group_proba[order], dense.Fg, **EXACT)
    assert_allclose(parts.object_votes, dense.Yo, **EXACT)
    assert_allclose(parts.group_votes[order], dense.Yg, **EXACT)
    assert_allclose(parts.membership_weights.toarray()[:, order], dense.Km, **EXACT)
    assert_allclose(parts.co_occurrence_weights, dense.Kc, **EXACT)
    assert parts.terms == pytest.approx(dense.J(dense.Fo, dense.Fg), rel=1e-8, abs=1e-9)
    assert parts.objective == pytest.approx(dense.P(dense.Fo, dense.Fg), abs=1e-9)
    assert parts.co_occurrence_weights.shape == (n, n)


def test_objects_that_count_more_than_once_enter_every_sum():
    table = random_table(np.random.default_rng(1), sample_weighted=True)
    parts, dense = EC3().parts(table.votes()), minimiser(table)
    assert parts.terms == pytest.approx(dense.J(dense.Fo, dense.Fg), abs=1e-9)
    assert_allclose(parts.co_occurrence_weights @ dense.s, 1, atol=1e-9)


def test_the_co_occurrence_of_many_objects_is_an_operator(w8, monkeypatch):
    dense = EC3().parts(w8).co_occurrence_weights
    monkeypatch.setattr(parts_module, "MOST_DENSE", 7)
    operator = EC3().parts(w8).co_occurrence_weights
    table = np.random.default_rng(0).random((8, 3))
    assert not isinstance(operator, np.ndarray)
    assert_allclose(operator @ table, dense @ table, atol=1e-12)
    assert_allclose(operator.T @ table[:, 0], dense @ table[:, 0], atol=1e-12)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("epsilon", [0.025, 1e-8])
def test_the_loop_is_algorithm_2_round_by_round(balanced, epsilon):
    table = random_table(np.random.default_rng(2), missing=0.0)
    votes, dense = table.votes(), minimiser(table, balanced=balanced)
    start = np.random.default_rng(5).dirichlet(np.ones(votes.n_classes), votes.n_objects)
    Fo, Fg, values, moves = dense.algorithm_2(start, epsilon)
    parts = EC3(balanced=balanced, solver="bcd", tol=epsilon, random_state=5).parts(votes)
    assert_allclose(parts.object_proba, Fo, **EXACT)
    assert_allclose(parts.group_proba[in_dense_order(parts, dense)], Fg, **EXACT)
    assert_allclose(parts.history["P"], values, **EXACT)
    assert_allclose(parts.history["change"], moves, atol=1e-9)
    assert list(parts.history["round"]) == list(range(1, len(moves) + 1))


def test_a_direct_solution_has_no_rounds(w8):
    assert len(EC3(solver="direct").parts(w8).history) == 0


def test_a_term_of_weight_0_is_left_out(w8):
    parts = EC3(alpha=0, delta=0).parts(w8)
    assert list(parts.terms) == ["J2", "J3"]


def test_parts_are_by_object_and_agree_with_the_consensus():
    votes = Votes.from_labels({"a": [0, 1, 1, 0], "b": [0, 1, 1, 1]}, {"k": [0, 1, 1, 0]})
    for method in (EC3(weights="agreement", towards="dawid-skene"), EC3()):
        for own in (votes, votes.with_prior({0: [0.9, 0.1], 1: [0.2, 0.8], 3: [0.3, 0.7]})):
            assert_allclose(method.parts(own).object_proba, method.solve(own).proba, atol=1e-9)


def test_votes_without_a_class_vote_have_no_parts():
    with pytest.raises(InputError, match="must hold at least one class vote"):
        EC3().parts(Votes.from_labels({"a": [None, None]}, {"k": [0, 1]}, classes=[0, 1]))


# ---- the weights ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labelled():
    """Votes with gaps, soft ones and clusterings on 120 objects of three classes, and 40 labels."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=120)
    soft = rng.dirichlet(np.ones(3), 120) + np.eye(3)[truth]
    hard = np.where(rng.random((2, 120)) < 0.5, truth, rng.integers(3, size=(2, 120)))
    gaps = rng.random(120) < 0.2
    said = {
        "a": [None if gap else int(z) for gap, z in zip(gaps, hard[0], strict=True)],
        "b": hard[1],
        "c": soft / soft.sum(axis=1, keepdims=True),
    }
    votes = Votes.from_labels(
        said, {"k": (truth + rng.integers(2, size=120)) % 3}, classes=range(3)
    )
    return votes, {i: int(truth[i]) for i in rng.permutation(120)[:40].tolist()}


def out_of_fold(method, votes, known, folds):
    """Probabilities of the labelled objects by solving without their fold, as `tune_weights` cuts them."""
    labelled = np.random.default_rng(0).permutation(sorted(known))
    proba = np.empty((votes.n_objects, votes.n_classes))
    for fold in range(folds):
        hidden = labelled[fold::folds]
        shown = {i: z for i, z in known.items() if i not in hidden}
        proba[hidden] = method.solve(votes, known=shown).proba[hidden]
    return proba[labelled], np.array([known[i] for i in labelled])


def score(scoring, proba, truth):
    if scoring == "log_loss":
        return log_loss(truth, proba, labels=range(3))
    if scoring == "accuracy":
        return np.mean(proba.argmax(axis=1) == truth)
    return np.mean([roc_auc_score(truth == z, proba[:, z]) for z in range(3)])


@pytest.mark.parametrize("scoring", ["auc", "accuracy", "log_loss"])
@pytest.mark.parametrize("balanced", [True, False])
def test_every_setting_is_scored_as_if_each_fold_were_solved_anew(labelled, balanced, scoring):
    votes, known = labelled
    best, table = tune_weights(votes, known, scoring, balanced=balanced, step=0.25, folds=4)
    assert len(table) == 26
    for row in table.rows():
        given = row.pop(scoring)
        proba, truth = out_of_fold(EC3(**row, balanced=balanced), votes, known, 4)
        assert given == pytest.approx(score(scoring, proba, truth), abs=1e-7)
    scores = list(table[scoring])
    assert scores == sorted(scores, reverse=scoring != "log_loss")
    first = next(table.rows())
    assert (best.alpha, best.beta, best.gamma, best.delta) == tuple(first.values())[:4]
    assert best.balanced is balanced


def test_the_grid_of_the_paper_has_1730_settings():
    settings = np.array(list(grid(0.05)))
    assert len(settings) == 1730
    assert np.allclose(settings.sum(axis=1), 1)
    for setting in settings[::97]:
        EC3(*setting)._check()


def test_the_best_tenth_of_the_settings_gives_ranges(labelled):
    _, table = tune_weights(*labelled, step=0.25)
    top = np.array(table["alpha"][:2])
    assert table.note.startswith(f"alpha {top.min():.2f} to {top.max():.2f}, beta ")


def test_equal_scores_are_in_the_order_of_their_distance_from_the_paper_s_weights():
    votes = Votes.from_labels({m: [0, 1] * 10 for m in "ab"})  # every setting is right
    best, table = tune_weights(votes, [0, 1] * 10)
    assert set(table["auc"]) == {1.0}
    assert (best.alpha, best.beta, best.gamma, best.delta) == (0.25, 0.35, 0.35, 0.05)


def test_of_two_classes_the_area_is_that_of_either():
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=60)
    said = {m: np.where(rng.random(60) < 0.7, truth, 1 - truth) for m in "abc"}
    votes, known = Votes.from_labels(said), dict(enumerate(truth.tolist()))
    _, table = tune_weights(votes, known, step=0.5)
    row = next(table.rows())
    area = row.pop("auc")
    proba, labels = out_of_fold(EC3(**row), votes, known, 5)
    assert area == pytest.approx(roc_auc_score(labels, proba[:, 1]), abs=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"known": {0: 0, 1: 0, 2: 0, 3: 0, 4: 0}},
            "known must have labels of at least two classes",
        ),
        ({"known": {0: 0, 1: 1}}, "known must have labels of at least two classes, and at least 5"),
        ({"scoring": "f"}, "Unknown scoring 'f'. Choose from: auc, accuracy, log_loss."),
        ({"step": 0}, "step must be a finite number > 0, got 0."),
        ({"folds": 1}, "folds must be an integer >= 2, got 1."),
    ],
)
def test_what_cannot_be_tuned_is_refused(labelled, settings, message):
    votes, known = labelled
    with pytest.raises(InputError, match=re.escape(message)):
        tune_weights(votes, **({"known": known} | settings))
