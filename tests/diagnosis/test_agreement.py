"""How far voters agree, with intervals, and how much of it is one opinion repeated."""

import re

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from ec3learn import Consensus, MajorityVote, Scale, Votes
from ec3learn.diagnosis import agreement, effective_voters, error_correlation, kappas

krippendorff = pytest.importorskip("krippendorff")


def alpha(votes, level="nominal"):
    return agreement(votes, level, draws=0)["value"][0]


def scores(seed=0, n_objects=60, n_voters=6, missing=0.3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, size=n_objects)
    said = np.clip(truth[:, None] + rng.integers(-1, 2, size=(n_objects, n_voters)), 1, 5).astype(
        float
    )
    said[rng.random(said.shape) < missing] = np.nan
    return said


def votes_of(said):
    return Votes.from_labels(
        {f"v{j}": column for j, column in enumerate(said.T)}, classes=range(1, 6)
    )


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_is_that_of_the_package(level, seed=0):
    said = scores(seed)
    wanted = krippendorff.alpha(
        reliability_data=said.T, level_of_measurement=level, value_domain=[1, 2, 3, 4, 5]
    )
    assert alpha(votes_of(said), level) == pytest.approx(wanted, abs=1e-12)


def test_fleiss_kappa_of_the_textbook():
    # Fleiss (1971), as often printed: ten objects, fourteen raters, five categories; kappa .210.
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    said = np.array([np.repeat(np.arange(1, 6), row) for row in table])
    assert agreement(votes_of(said.astype(float)), draws=0)["value"][1] == pytest.approx(
        0.210, abs=5e-4
    )


def test_intervals_hold_the_value_and_shrink_with_objects():
    few, many = (agreement(votes_of(scores(n_objects=n)), draws=100) for n in (40, 1000))
    for table in (few, many):
        assert all(
            low <= value <= high
            for low, value, high in zip(table["low"], table["value"], table["high"], strict=True)
        )
    assert many["high"][0] - many["low"][0] < few["high"][0] - few["low"][0]


def test_soft_votes_that_name_the_same_classes_agree():
    sure, unsure = [[0.9, 0.1], [0.2, 0.8]] * 5, [[0.6, 0.4], [0.4, 0.6]] * 5
    assert agreement(Votes.from_probabilities({"a": sure, "b": unsure}), draws=0)["value"] == [
        1.0,
        1.0,
        1.0,
    ]


@pytest.mark.parametrize(("n", "share"), [(50, 0.1), (300, 0.02)])
def test_intervals_hold_the_truth_where_a_class_is_rare(n, share):
    """Of 100 samples 5 may miss by their promise, and 11 at most by chance (once in a hundred times)."""
    rng, missed = np.random.default_rng(0), np.zeros(3)

    def sample(n):
        rare = rng.random((n, 1)) < share
        said = rng.random((n, 3)) < np.where(rare, 0.8, 0.02)
        return Votes.from_labels(said.astype(int), classes=[0, 1])

    many = sample(200_000)
    true = [*agreement(many, draws=0)["value"][:2], kappas(many, draws=0)["kappa"][0]]
    for _ in range(100):
        votes = sample(n)
        rows = [*list(agreement(votes, draws=60).rows())[:2], next(kappas(votes, draws=60).rows())]
        missed += [
            row["low"] is not None and not row["low"] <= value <= row["high"]
            for row, value in zip(rows, true, strict=True)
        ]
    assert (missed <= 11).all()


def test_an_interval_does_not_shrink_to_nothing_where_all_sampled_objects_agree():
    votes = Votes.from_labels({"a": [0, 1] * 15, "b": [0, 1] * 15})
    table, row = agreement(votes), next(kappas(votes).rows())
    assert table["value"] == table["high"] == [1.0] * 3
    assert all(0.7 < low < 0.95 for low in [*table["low"], row["low"]])


def test_a_vote_that_is_tied_between_answers_does_not_count():
    votes = Votes.from_long([0, 0, 0, 1, 1], ["a", "a", "b", "a", "b"], [0, 1, 0, 0, 1])
    assert agreement(votes, draws=0)["value"][2] == 0  # the tied vote is on the other object


def test_what_is_not_comparable_is_refused():
    words = Votes.from_labels({"a": ["x", "y"], "b": ["x", "x"]})
    wanted = (
        "level must be 'nominal' or 'ordinal' for answers that are not numbers, got 'interval'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        alpha(words, "interval")


def test_answers_on_different_scales_are_compared_by_their_classes():
    words = Votes.from_labels({"a": ["x", "y", "y"], "b": ["x", "x", "y"]})
    mixed, alike = words.add({"c": [3, 8, 9]}, scale=range(10)), words.add({"c": ["x", "y", "y"]})
    assert alpha(mixed) == pytest.approx(alpha(alike))
    assert kappas(mixed, draws=0)["kappa"] == pytest.approx(kappas(alike, draws=0)["kappa"])
    scores = {"a": [0.1, 0.9, 0.8], "b": [0.3, 0.2, 0.7], "c": [0.15, 0.55, 0.95]}
    scaled = Votes.from_labels(scores, classes=["bad", "good"], scale=Scale(0.0, 1.0))
    assert alpha(scaled, "ordinal") > 0


# ---- Cohen's kappa -------------------------------------------------------------------------------


def test_kappas_of_pairs_are_those_of_scikit_learn():
    said = scores(3, missing=0.2)
    table = kappas(votes_of(said), draws=0)
    assert len(table) == 15
    for row in table.rows():
        one, other = (said[:, int(row[name][1:])] for name in ("voter", "other"))
        both = ~np.isnan(one) & ~np.isnan(other)
        assert row["objects"] == both.sum()
        assert row["kappa"] == pytest.approx(cohen_kappa_score(one[both], other[both]), abs=1e-12)


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_weighted_kappas_are_those_of_scikit_learn(level):
    said = np.random.default_rng(0).integers(0, 4, size=(2, 60))
    said[1, :40] = np.minimum(said[0, :40] + 1, 3)
    labels = np.array(
        [1, 2, 3, 7]
    )  # only differences of numbers tell how far the last one is from the others
    apart = said if level == "ordinal" else labels[said]
    expected = cohen_kappa_score(*apart, weights="quadratic", labels=range(8))
    votes = Votes.from_labels({"a": labels[said[0]], "b": labels[said[1]]})
    assert next(kappas(votes, level=level, draws=0).rows())["kappa"] == pytest.approx(expected)
    assert next(kappas(votes, draws=0).rows())["kappa"] == pytest.approx(cohen_kappa_score(*said))


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_answers_without_a_place_on_the_scale_are_left_out_where_distances_count(level):
    one, other = [1, 2, 3, 4, 5, 1, "unsure", 3, 4, 5], [1, 2, 3, 4, 5, 2, 1, 3, "unsure", 4]
    votes = Votes.from_labels(
        {"a": one, "b": other},
        classes=["bad", "good"],
        scale=Scale(range(1, 6), unordered=["unsure"]),
    )
    sure = [[None if answer == "unsure" else answer for answer in said] for said in (one, other)]
    without = Votes.from_labels(
        dict(zip("ab", sure, strict=True)), classes=["bad", "good"], scale=Scale(range(1, 6))
    )
    assert alpha(votes, level) == pytest.approx(alpha(without, level))
    assert next(kappas(votes, level=level).rows()) == next(kappas(without, level=level).rows())
    assert alpha(votes) < alpha(
        without
    )  # "unsure" is an answer like any other where they are only alike or not
    assert agreement(votes, level, draws=20)["value"][1:] == pytest.approx(
        agreement(votes, draws=20)["value"][1:]
    )


def test_a_kappa_counts_repeated_rows_and_weights():
    votes = Votes.from_labels(
        {"a": [0, 0, 1, 1, 1], "b": [0, 1, 1, 1, 0]}, sample_weight=[1, 2, 1, 3, 1]
    )
    row = next(kappas(votes, draws=0).rows())
    assert row["objects"] == 8
    assert row["kappa"] == pytest.approx(
        cohen_kappa_score([0, 0, 1, 1, 1], [0, 1, 1, 1, 0], sample_weight=[1, 2, 1, 3, 1])
    )


def test_voters_without_a_common_object_have_no_kappa():
    assert len(kappas(Votes.from_labels({"a": [0, 1, None, None], "b": [None, None, 1, 0]}))) == 0


# ---- voters who err together ---------------------------------------------------------------------


def together(hard, n_voters=12, n_objects=3000, seed=0):
    """Return votes that are wrong half of the time on a share of hard objects, and one time in ten on the others."""
    rng = np.random.default_rng(seed)
    truth, chance = (
        rng.integers(2, size=n_objects),
        np.where(rng.random(n_objects) < hard, 0.5, 0.1),
    )
    return Votes.from_labels(
        {f"v{j}": truth ^ (rng.random(n_objects) < chance) for j in range(n_voters)}
    )


def test_independent_errors_do_not_correlate_and_shared_ones_do():
    assert abs(error_correlation(together(0.0))) < 0.01
    assert 0.03 < error_correlation(together(0.3)) < 0.2  # the truth: .156


def few_votes_each(n_objects, common=0.0, n_voters=12, n_votes=4, n_classes=3, seed=0):
    """Annotators who see a third of the objects; on some objects their errors name the same class."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_objects)
    lookalike, shares = (truth + 1) % n_classes, rng.random(n_objects) < common
    objects = np.repeat(np.arange(n_objects), n_votes)
    voters = np.argsort(rng.random((n_objects, n_voters)), axis=1)[:, :n_votes].ravel()
    skill = np.where(shares, 0.4, 0.55 + 0.03 * np.arange(n_voters)[:, None])[voters, objects]
    other = np.where(
        shares[objects], lookalike[objects], rng.integers(n_classes, size=len(objects))
    )
    said = np.where(rng.random(len(objects)) < skill, truth[objects], other)
    return Votes.from_long(
        objects, [f"ann{j}" for j in voters], said, classes=range(n_classes)
    ), truth


@pytest.mark.parametrize(("n_objects", "within", "n_votes"), [(300, 0.06, 6), (2000, 0.03, 3)])
def test_independent_annotators_with_few_votes_on_an_object_do_not_seem_to_err_together(
    n_objects, within, n_votes
):
    found = [
        error_correlation(few_votes_each(n_objects, n_votes=n_votes, seed=seed)[0])
        for seed in range(3)
    ]
    assert abs(np.mean(found)) < within


def test_annotators_who_err_together_show_less_of_it_than_labels_do():
    votes, truth = few_votes_each(2000, common=0.4, n_votes=6)
    assert 0.02 < error_correlation(votes) < error_correlation(votes, truth)


def test_votes_that_are_all_tied_show_no_correlation():
    votes = Votes.from_probabilities({f"v{j}": np.full((10, 2), 0.5) for j in range(4)})
    absent = votes.add({"other": np.arange(10) % 2}, weights={"other": 0})
    assert error_correlation(votes) == error_correlation(absent) == 0


def test_voters_without_weight_are_worth_nothing():
    votes = together(0.0, n_voters=6, n_objects=100)
    silent = Votes.from_labels([votes.said(i) for i in range(100)], weights=[1, 1, 1, 1, 0, 0])
    assert effective_voters(silent) == pytest.approx(
        effective_voters(silent.drop("classifier_4", "classifier_5"))
    )


def test_voters_with_a_single_vote_do_not_blow_the_correlation_up():
    rng = np.random.default_rng(0)
    objects = np.repeat(np.arange(300), 3)
    labels = np.where(rng.random(900) < 0.8, objects % 3, rng.integers(3, size=900))
    assert (
        -0.2
        < error_correlation(Votes.from_long(objects, rng.integers(400, size=900), labels))
        < 0.5
    )


@pytest.mark.parametrize("n_objects", [1, 10])
def test_a_correlation_is_one_however_few_objects_there_are(n_objects):
    for seed in range(10):
        said = np.random.default_rng(seed).integers(2, size=(n_objects, 5))
        assert -1 <= error_correlation(Votes.from_labels(said, classes=[0, 1])) <= 1


def test_copies_are_worth_less_than_voters_of_their_own():
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=4000)
    own = [truth ^ (rng.random(4000) < 0.2) for _ in range(6)]
    copied = {
        f"v{j}": own[max(j - 3, 0)] for j in range(9)
    }  # four of nine are one: 12 of 72 pairs err together, r = 1/6
    assert (
        9 / (1 + 8 / 6) < effective_voters(Votes.from_labels(copied)) < 5.5
    )  # copies in both halves are not seen
    assert effective_voters(
        Votes.from_labels({f"v{j}": own[j] for j in range(6)})
    ) == pytest.approx(6, abs=0.3)


@pytest.mark.parametrize("n_voters", [4, 5, 6])
def test_the_order_of_few_voters_hardly_moves_the_correlation(n_voters):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=3000)
    said = [truth ^ (rng.random(3000) < 0.25) for _ in range(n_voters - 1)]
    said.append(said[0])  # a copy, which halves of the voters have together or apart
    found = [
        error_correlation(Votes.from_labels({f"v{j}": said[j] for j in rng.permutation(n_voters)}))
        for _ in range(5)
    ]
    assert np.ptp(found) < 0.06


def test_a_voter_without_weight_does_not_move_the_correlation():
    rng = np.random.default_rng(0)
    votes = Votes.from_labels(rng.integers(2, size=(50, 5)), classes=[0, 1])
    more = votes.add({"silent": rng.integers(2, size=50)}, weights={"silent": 0})
    assert error_correlation(more) == pytest.approx(error_correlation(votes), abs=1e-12)


@pytest.mark.parametrize("measure", [agreement, kappas, error_correlation, effective_voters])
def test_what_are_no_votes_is_refused(measure):
    answer = MajorityVote().solve(Votes.from_labels({"a": [0, 1], "b": [0, 0]}))
    remedy = "Make one with Votes.from_labels; an answer has its own as consensus.solution.votes."
    with pytest.raises(
        TypeError, match=f"^{re.escape(f'votes must be a Votes, got Consensus. {remedy}')}$"
    ):
        measure(answer)


def test_a_correlation_that_is_no_number_is_refused(correlation=float("nan")):
    wanted = f"correlation must be a finite number >= -1, got {correlation!r}."
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        effective_voters(together(0.0, n_voters=4, n_objects=50), correlation)


def test_a_consensus_without_objects_estimates_nothing(tmp_path):
    MajorityVote().solve(Votes.from_labels({"a": [0, 1], "b": [0, 0]})).save(tmp_path / "votes.ec3")
    with pytest.raises(ValueError, match=r"^This consensus was loaded .* Use extend"):
        Consensus.load(tmp_path / "votes.ec3").estimate(1, {0: 1})


def names_of(votes):
    return [model.name for model in votes.models]


def test_votes_that_are_all_tied_show_no_agreement():
    tied = np.full((4, 2), 0.5)
    votes = Votes.from_probabilities({"ann": tied, "bob": tied}, classes=["a", "b"])
    assert np.isnan(agreement(votes)["value"]).all()
