"""Agreement of voters beyond chance."""

import re

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from ec3learn import Votes
from ec3learn.diagnosis import agreement, alpha, effective_voters, error_correlation, fleiss_kappa, kappas

krippendorff = pytest.importorskip("krippendorff")


def scores(seed=0, n_objects=60, n_voters=6, missing=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, size=n_objects)
    said = np.clip(truth[:, None] + rng.integers(-1, 2, size=(n_objects, n_voters)), 1, 5).astype(float)
    said[rng.random(said.shape) < missing] = np.nan
    return said


def votes_of(said):
    return Votes.from_labels({f"v{j}": column for j, column in enumerate(said.T)}, classes=range(1, 6))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(4))
def test_alpha_is_that_of_the_package(level, seed):
    said = scores(seed)
    wanted = krippendorff.alpha(reliability_data=said.T, level_of_measurement=level, value_domain=[1, 2, 3, 4, 5])
    assert alpha(votes_of(said), level) == pytest.approx(wanted, abs=1e-12)


def test_repeated_rows_count_as_often_as_they_occur():
    said = np.repeat(scores(n_objects=8, n_voters=3), 5, axis=0)
    votes = votes_of(said)
    assert votes.n_rows < len(said)
    assert alpha(votes) == pytest.approx(krippendorff.alpha(said.T, level_of_measurement="nominal"), abs=1e-12)


def test_fleiss_kappa_of_the_textbook():
    # Fleiss (1971), as often printed: ten objects, fourteen raters, five categories; kappa .210.
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    said = np.array([np.repeat(np.arange(1, 6), row) for row in table])
    assert fleiss_kappa(votes_of(said.astype(float))) == pytest.approx(0.210, abs=5e-4)


def test_intervals_hold_the_value_and_shrink_with_objects():
    few, many = (agreement(votes_of(scores(n_objects=n)), draws=100) for n in (40, 1000))
    for table in (few, many):
        assert all(low <= value <= high for low, value, high in zip(table["low"], table["value"], table["high"], strict=True))
    assert many["high"][0] - many["low"][0] < few["high"][0] - few["low"][0]


def test_votes_that_cannot_be_compared_have_no_agreement():
    assert np.isnan(alpha(Votes.from_labels({"a": [0, 1, None], "b": [None, None, 0]})))
    assert np.isnan(alpha(Votes.from_labels({"a": [1, 1], "b": [1, 1]})))


def test_what_is_not_comparable_is_refused():
    words = Votes.from_labels({"a": ["x", "y"], "b": ["x", "x"]})
    wanted = "level must be 'nominal' or level='ordinal' for answers that are not numbers, got 'interval'."
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        alpha(words, "interval")
    mixed = words.add({"c": [3, 4]}, scale=range(10))
    with pytest.raises(ValueError, match=r"^votes must be of voters with the same answers, got other ones of 'c'\."):
        alpha(mixed)


# ---- Cohen's kappa -----------------------------------------------------------------------------------------------------


def test_kappas_of_pairs_are_those_of_scikit_learn():
    said = scores(3, missing=0.2)
    table = kappas(votes_of(said), draws=0)
    assert len(table) == 15
    for row in table.rows():
        one, other = (said[:, int(row[name][1:])] for name in ("voter", "other"))
        both = ~np.isnan(one) & ~np.isnan(other)
        assert row["objects"] == both.sum()
        assert row["kappa"] == pytest.approx(cohen_kappa_score(one[both], other[both]), abs=1e-12)


def test_kappas_with_known_labels_are_those_of_scikit_learn_where_both_are_there():
    said, truth = scores(4), np.random.default_rng(4).integers(1, 6, size=60)
    known = {i: int(truth[i]) for i in range(0, 60, 2)}
    for row in kappas(votes_of(said), known, draws=0).rows():
        own = said[::2, int(row["voter"][1:])]
        assert row["other"] == "known labels"
        assert row["kappa"] == pytest.approx(cohen_kappa_score(own[~np.isnan(own)], truth[::2][~np.isnan(own)]), abs=1e-12)


def test_a_kappa_of_known_labels_counts_repeated_rows_and_weights():
    votes = Votes.from_labels({"a": [0, 0, 1, 1, 1]}, sample_weight=[1, 2, 1, 3, 1])
    row = next(kappas(votes, [0, 1, 1, 1, 0], draws=0).rows())
    assert row["objects"] == 8
    assert row["kappa"] == pytest.approx(cohen_kappa_score([0, 0, 1, 1, 1], [0, 1, 1, 1, 0], sample_weight=[1, 2, 1, 3, 1]))


def test_intervals_of_kappa_hold_the_truth_about_as_often_as_they_say():
    rng, held = np.random.default_rng(0), []
    for draw in range(200):
        truth = rng.integers(2, size=80)
        one, other = (truth ^ (rng.random(80) < 0.2) for _ in range(2))
        row = next(kappas(Votes.from_labels({"a": one, "b": other}), draws=100, random_state=draw).rows())
        held.append(row["low"] <= 0.36 <= row["high"])  # (.68 - .5) / .5
    assert 0.88 < np.mean(held) < 0.99


def test_voters_without_a_common_object_have_no_kappa():
    assert len(kappas(Votes.from_labels({"a": [0, 1, None, None], "b": [None, None, 1, 0]}))) == 0


def test_scores_are_not_compared_with_known_labels():
    votes = Votes.from_labels({"a": [1, 3], "b": [2, 3]}, classes=["bad", "good"], scale=range(1, 4))
    with pytest.raises(
        ValueError, match=re.escape("votes must be votes for classes to be compared with known labels, got a scale.")
    ):
        kappas(votes, ["bad", "good"])


# ---- voters who err together -----------------------------------------------------------------------------------------------


def together(hard, n_voters=12, n_objects=3000, seed=0):
    """Return votes that are wrong half of the time on a share of hard objects, and one time in ten on the others."""
    rng = np.random.default_rng(seed)
    truth, chance = rng.integers(2, size=n_objects), np.where(rng.random(n_objects) < hard, 0.5, 0.1)
    return Votes.from_labels({f"v{j}": truth ^ (rng.random(n_objects) < chance) for j in range(n_voters)})


def test_independent_errors_do_not_correlate_and_shared_ones_do():
    assert abs(error_correlation(together(0.0))) < 0.01
    assert 0.03 < error_correlation(together(0.3)) < 0.2  # the truth: .156


def test_voters_with_a_single_vote_do_not_blow_the_correlation_up():
    rng = np.random.default_rng(0)
    objects = np.repeat(np.arange(300), 3)
    labels = np.where(rng.random(900) < 0.8, objects % 3, rng.integers(3, size=900))
    assert -0.2 < error_correlation(Votes.from_long(objects, rng.integers(400, size=900), labels)) < 0.5


def test_copies_are_worth_less_than_voters_of_their_own():
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=4000)
    own = [truth ^ (rng.random(4000) < 0.2) for _ in range(6)]
    copied = {f"v{j}": own[max(j - 3, 0)] for j in range(9)}  # four of nine are one: 12 of 72 pairs err together, r = 1/6
    assert effective_voters(Votes.from_labels(copied)) == pytest.approx(9 / (1 + 8 / 6), abs=0.3)
    assert effective_voters(Votes.from_labels({f"v{j}": own[j] for j in range(6)})) == pytest.approx(6, abs=0.3)
