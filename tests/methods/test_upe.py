"""UPE-style: golden numbers, the gradient against finite differences, seeds."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad

from ec3learn import UPE
from ec3learn.methods.upe import Embedding

from ..strategies import random_table

W8 = """
0.928400 0.069396 0.002203  0.677719 0.314855 0.007426  0.753737 0.184014 0.062250  0.016785 0.941912 0.041303
0.013874 0.687224 0.298902  0.024460 0.653914 0.321626  0.007996 0.020099 0.971906  0.335185 0.028521 0.636294"""
T7 = """
0.948307 0.051482 0.000212  0.965470 0.034227 0.000303  0.497650 0.349304 0.153046  0.118883 0.732956 0.148161
0.071851 0.522552 0.405597  0.000115 0.042447 0.957438  0.409408 0.556683 0.033910"""
T6 = "0.941812 0.058188  0.612734 0.387266  0.612734 0.387266  0.941812 0.058188  0.015886 0.984114  0.015886 0.984114"


@pytest.mark.parametrize(
    ("name", "numbers", "cost"),
    [("w8", W8, 19.606573), ("t7", T7, 15.729473), ("t6", T6, 9.258309)],
)
def test_the_golden_numbers(name, numbers, cost, request):
    consensus = UPE(n_init=12, tol=1e-9, random_state=0).solve(request.getfixturevalue(name))
    assert consensus.solution.objective == pytest.approx(cost, abs=1e-6)
    assert_allclose(
        consensus.proba.ravel(), np.array(numbers.split(), dtype=float), rtol=0, atol=1e-5
    )


def test_the_golden_cost_and_gradient(w8):
    places = Embedding(w8, 2, 0.1, 0.1 / 8)
    unknown = 0.5 * np.cos(np.arange(36)).reshape(18, 2)
    index = np.arange(8) if w8.index is None else w8.index
    order = np.argsort(index)  # the objects in the order of the rows
    cost, gradient = places.cost(np.vstack([unknown[:8][order], unknown[8:]]).ravel())
    by_object = gradient.reshape(18, 2)[:8][index]
    assert cost == pytest.approx(44.644443, abs=1e-6)
    assert np.linalg.norm(gradient) == pytest.approx(6.129123, abs=1e-6)
    assert_allclose(
        by_object[:2].ravel(), [2.840180, 1.375014, 1.295450, 0.033754], rtol=0, atol=1e-6
    )
    assert_allclose(gradient[-2:], [0.143336, -0.138848], rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_finite_differences(seed):
    rng = np.random.default_rng(seed)
    raw = random_table(rng, soft=seed % 2 == 0, weighted=True, sample_weighted=True)
    places = Embedding(raw.votes(), 2, 0.2, 0.05)
    at = rng.normal(size=places.n_unknown)
    error = check_grad(lambda v: places.cost(v)[0], lambda v: places.cost(v)[1], at)
    assert error < 1e-5 * (1 + np.linalg.norm(places.cost(at)[1]))


def test_the_gradient_is_zero_at_the_answer(w8):
    consensus = UPE(tol=1e-10, random_state=0).solve(w8)
    worse = UPE(tol=1e-10, random_state=1).solve(w8)
    assert consensus.solution.objective == pytest.approx(
        worse.solution.objective, abs=1e-7
    )  # all starts reach the optimum here
    assert consensus.solution.converged


def test_a_seed_makes_it_reproducible(t7):
    one, other = (UPE(n_init=2, random_state=5).solve(t7) for _ in range(2))
    assert_array_equal(one.proba, other.proba)


def test_more_starts_are_never_worse(t7):
    costs = [UPE(n_init=n, random_state=0).solve(t7).solution.objective for n in (1, 4, 12)]
    assert costs == sorted(costs, reverse=True)


def test_the_order_of_objects_does_not_matter_where_all_starts_end_alike(w8_table):
    order = [3, 1, 7, 0, 6, 2, 5, 4]
    one, other = (
        UPE(tol=1e-10, random_state=0).solve(t.votes()) for t in (w8_table, w8_table.taken(order))
    )
    assert_allclose(other.proba, one.proba[order], rtol=0, atol=1e-5)


def test_sample_weights_are_repetitions(w8_table):
    repeated = w8_table.taken([0, 0, 1, 2, 3, 4, 5, 6, 7])
    w8_table.sample_weight = [2, 1, 1, 1, 1, 1, 1, 1]
    one, other = (UPE(tol=1e-10, random_state=0).solve(t.votes()) for t in (w8_table, repeated))
    assert_allclose(one.proba, other.proba[1:], rtol=0, atol=1e-5)


REFUSED = {
    "n_components must be an integer >= 1, got 0.": {"n_components": 0},
    "gamma must be a finite number > 0, got 0.": {"gamma": 0},
    "eta must be a finite number > 0, got nan.": {"eta": np.nan},
    "n_init must be an integer >= 1, got 0.": {"n_init": 0},
    "random_state must be an integer >= 0, a numpy Generator or None, got 'x'.": {
        "random_state": "x"
    },
}


@pytest.mark.parametrize("message", REFUSED)
def test_settings_that_make_no_sense_are_refused(w8, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        UPE(**REFUSED[message]).solve(w8)
