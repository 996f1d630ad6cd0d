"""Ranks and tests, held against published numbers and scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from ec3learn.paper.ranks import critical_difference, mean_ranks, paired_tests


@pytest.mark.parametrize(("n_methods", "q"), [(2, 1.960), (4, 2.569), (10, 3.164)])
def test_the_critical_difference_has_the_published_q(n_methods, q):
    assert critical_difference(n_methods, 14) == pytest.approx(q * np.sqrt(n_methods * (n_methods + 1) / (6 * 14)), abs=2e-3)


def test_ties_share_their_ranks_and_data_sets_with_gaps_do_not_count():
    scores = pd.DataFrame({"a": [0.9, 0.5, 0.1], "b": [0.8, 0.5, np.nan], "c": [0.7, 0.4, 0.3]})
    assert mean_ranks(scores).to_dict() == {"a": 1.25, "b": 1.75, "c": 3.0}


def test_p_values_are_corrected_by_holm():
    rng = np.random.default_rng(0)
    control = rng.random(12)
    scores = pd.DataFrame({"new": control, "far": control - 0.1 * rng.random(12), "near": control + 0.01 * rng.normal(size=12)})
    found = paired_tests(scores, "new")
    raw = {name: wilcoxon(control - scores[name]).pvalue for name in ("far", "near")}
    assert found.p["far"] == pytest.approx(2 * raw["far"])
    assert found.p["near"] == pytest.approx(max(2 * raw["far"], raw["near"]))
    assert (found.better["far"], found.worse["far"]) == (12, 0)


def test_methods_that_are_equal_everywhere_are_not_told_apart():
    found = paired_tests(pd.DataFrame({"a": [0.5, 0.6], "b": [0.5, 0.6]}), "a")
    assert (found.better["b"], found.worse["b"], found.p["b"]) == (0, 0, 1.0)
