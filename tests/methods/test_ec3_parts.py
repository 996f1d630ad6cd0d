"""The parts of EC3's problem and solution, each against dense matrices from the paper's formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ec3learn import EC3, Votes
from ec3learn._checks import InputError
from ec3learn.methods.ec3 import parts as parts_module

from ..dense import minimiser
from ..strategies import random_table

EXACT = {"rtol": 1e-9, "atol": 1e-9}


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
    method = EC3(weights="agreement", towards="dawid-skene")
    assert_allclose(method.parts(votes).object_proba, method.solve(votes).proba, atol=1e-9)


def test_votes_without_a_class_vote_have_no_parts():
    with pytest.raises(InputError, match="must hold at least one class vote"):
        EC3().parts(Votes.from_labels({"a": [None, None]}, {"k": [0, 1]}, classes=[0, 1]))
