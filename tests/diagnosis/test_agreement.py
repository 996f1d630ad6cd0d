"""Agreement of voters beyond chance."""

import re

import numpy as np
import pytest

from ec3learn import Votes
from ec3learn.diagnosis import agreement, alpha, fleiss_kappa

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
