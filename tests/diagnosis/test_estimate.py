"""Shares and accuracies with intervals, from few labels."""

import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from ec3learn import Consensus, MajorityVote, Scale, SoftVote, Votes, solve
from ec3learn.diagnosis import (
    agreement,
    alpha,
    effective_voters,
    error_correlation,
    fleiss_kappa,
    kappas,
)
from ec3learn.diagnosis.estimate import by_chances, prediction_powered
from ec3learn.diagnosis.metrics import wilson_interval

krippendorff = pytest.importorskip("krippendorff")


def jury(seed=0, n=3000):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.3).astype(int)
    said = np.where(
        rng.random((n, 5)) < np.where(truth, 0.7, 0.85)[:, None], truth[:, None], 1 - truth[:, None]
    )
    return MajorityVote().solve(Votes.from_labels(said)), truth


def test_by_hand():
    # w = Cov(y, f) / ((1 + 4/4) Var f) = (1/3) / (2 x 2/7) = 7/12, with all eight f for the
    # variance
    y, f, rest = np.array([0.0, 0, 1, 1]), np.array([0.0, 0, 1, 1]), np.array([0.0, 0, 1, 1])
    found = prediction_powered(y, f, rest)
    assert found.value == pytest.approx(0.5)
    w, spread = 7 / 12, 2 / 7
    squares = np.sum((y - w * f - np.mean(y - w * f)) ** 2) + w**2 / 2  # and half an error more
    variance = squares / 3 / 4 + w**2 * spread / 4
    n = 0.25 * 4 / 3 / variance  # as many labels alone would have this variance
    assert found.worth == pytest.approx(n)
    gap = found.high - found.value
    assert gap**2 == pytest.approx(
        1.96**2 * (variance + (found.high * (1 - found.high) - 0.25) / n), rel=1e-4
    )


def test_useless_answers_leave_wilson_s_interval_but_for_one_label():
    y = np.repeat([0.0, 1.0], [46, 4])
    found = prediction_powered(y, np.full(50, 0.5), np.full(5000, 0.5))
    assert (found.low, found.high) == pytest.approx(wilson_interval(4, 50), abs=0.003)


def test_labels_that_are_all_alike_do_not_make_it_certain():
    found = prediction_powered(np.ones(30), np.full(30, 0.9), np.full(1000, 0.9))
    assert found.value == 1.0
    assert (found.low, found.high) == pytest.approx(wilson_interval(30, 30))


def test_useless_answers_leave_the_labels_alone():
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.4).astype(float)
    found = prediction_powered(y, np.full(200, 0.5), np.full(5000, 0.5))
    assert found.value == pytest.approx(y.mean())
    assert found.worth == pytest.approx(200)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    consensus, truth = jury()
    answers = consensus.labels()
    held = []
    for draw in range(300):
        chosen = np.random.default_rng(draw).choice(len(truth), 100, replace=False)
        table = consensus.estimate(1, known={int(i): int(truth[i]) for i in chosen})
        wanted = [truth.mean(), (answers == truth).mean()]
        held.append(
            [
                low <= value <= high
                for low, value, high in zip(table["low"], wanted, table["high"], strict=True)
            ]
        )
    assert np.all((np.mean(held, axis=0) > 0.92) & (np.mean(held, axis=0) < 0.985))


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("too_sure", [1, 3])
def test_intervals_keep_their_promise_for_a_rare_class(too_sure, n, even):
    held = []
    for draw in range(700):
        rng = np.random.default_rng(draw)
        y = (rng.random(3000) < 0.05).astype(float)
        f = expit(too_sure * (4 * y - 2 + 2 * rng.normal(size=3000) + logit(0.05)))
        chance = (
            np.full(3000, n / 3000)
            if even
            else 0.7 * n / 3000 + 0.3 * n * np.sqrt(f * (1 - f)) / np.sqrt(f * (1 - f)).sum()
        )
        chosen = rng.choice(3000, n, replace=False, p=chance / chance.sum())
        found = (
            prediction_powered(y[chosen], f[chosen], np.delete(f, chosen))
            if even
            else by_chances(y[chosen], f[chosen], chance[chosen], f)
        )
        held.append(found.low <= y.mean() <= found.high)
    assert 0.93 <= np.mean(held) <= 0.99


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("missed", [0.03, 0.1])
def test_intervals_keep_their_promise_where_labels_may_show_no_wrong_answer(missed, even):
    held, right = [], []
    for draw in range(500):
        rng = np.random.default_rng(draw)
        y = (rng.random(1000) < 0.4).astype(float)
        said = np.where(
            rng.random(1000) < missed, 0.0, y
        )  # one class is missed now and then, and surely
        f = np.where(
            rng.random(1000) < 0.2,
            np.where(rng.random(1000) < 0.8, y, 1 - y) * 0.6 + 0.2,
            0.01 + 0.98 * said,
        )
        chance = (
            np.full(1000, 0.05)
            if even
            else 0.01 + 40 * np.sqrt(f * (1 - f)) / np.sqrt(f * (1 - f)).sum()
        )
        chosen = rng.choice(1000, 50, replace=False, p=chance / chance.sum())
        for own, sure, kept in ((y, f, held), ((f > 0.5) == y, np.maximum(f, 1 - f), right)):
            found = (
                prediction_powered(own[chosen].astype(float), sure[chosen], np.delete(sure, chosen))
                if even
                else by_chances(own[chosen].astype(float), sure[chosen], chance[chosen], sure)
            )
            kept.append(found.low <= own.mean() <= found.high)
    assert np.mean(held) >= 0.92
    assert np.mean(right) >= 0.92


def test_a_draw_that_was_labelled_in_part_is_no_worse_than_a_smaller_one():
    found, true = [], []
    for draw in range(40):
        rng = np.random.default_rng(draw)
        truth = (rng.random(1000) < 0.6).astype(int)
        judges = {f"j{j}": np.where(rng.random(1000) < 0.7, truth, 1 - truth) for j in range(3)}
        consensus = MajorityVote().solve(Votes.from_labels(judges))
        drawn = consensus.ask(50, "share", random_state=draw)
        known = {int(i): int(truth[i]) for i in rng.choice(drawn["object"], 25, replace=False)}
        found.append(consensus.estimate(1, known, chance=drawn)["value"])
        true.append([truth.mean(), np.mean(consensus.labels() == truth)])
    assert (
        np.abs(np.mean(np.array(found) - true, axis=0)).max() < 0.04
    )  # half of the objects do not stand for all: it was -.157


def test_every_class_and_voter_is_estimated_on_request():
    consensus, truth = jury()
    known = {i: int(truth[i]) for i in range(300)}
    table = consensus.estimate(known=known, voters=True)
    names = [model.name for model in consensus.solution.models]
    assert table["measure"] == [
        "share of 0",
        "share of 1",
        "accuracy of the answer",
        *(f"accuracy of {name}" for name in names),
    ]
    for row in list(table.rows())[3:]:
        m = names.index(row["measure"].removeprefix("accuracy of "))
        right = np.mean(
            [consensus.solution.votes.said(i)[m] == truth[i] for i in range(len(truth))]
        )
        assert row["low"] < right < row["high"]
        assert row["worth"] >= 290


def test_a_voter_is_judged_only_where_it_voted():
    truth = np.random.default_rng(0).integers(2, size=400)
    half = [label if i % 2 else None for i, label in enumerate(truth.tolist())]
    consensus = MajorityVote().solve(
        Votes.from_labels({"half": half, "wrong": 1 - truth, "right": truth})
    )
    rows = list(
        consensus.estimate(known={i: int(truth[i]) for i in range(60)}, voters=True).rows()
    )[3:]
    assert [(row["measure"], row["labels"], row["value"]) for row in rows] == [
        ("accuracy of half", 30, 1.0),
        ("accuracy of wrong", 60, 0.0),
        ("accuracy of right", 60, 1.0),
    ]


def test_answers_make_labels_worth_more():
    consensus, truth = jury()
    table = consensus.estimate(1, known={i: int(truth[i]) for i in range(200)})
    assert table["labels"] == [200, 200]
    assert table["worth"][0] > 300
    assert table["high"][0] - table["low"][0] < table["plain_high"][0] - table["plain_low"][0]


@pytest.mark.parametrize(
    ("label", "known", "message"),
    [
        (7, dict.fromkeys(range(20), 0), "Unknown label 7. Choose from: 0, 1."),
        (1, {0: 0}, "known must have at least 10 labels, got 1."),
        (
            1,
            None,
            "known must be the labels of some objects, got None. Draw some objects at random, or with ask(goal='share'), and "
            "label them.",
        ),
    ],
)
def test_what_cannot_be_estimated_is_refused(label, known, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        jury()[0].estimate(label, known)


def test_labels_that_the_answer_was_given_are_refused():
    votes = Votes.from_labels({"a": [0, 1] * 20, "b": [0, 1] * 20})
    known = {i: i % 2 for i in range(15)}
    with pytest.raises(
        ValueError,
        match=r"^known must be labels that the answer was made without, got some that it was given\.",
    ):
        MajorityVote().solve(votes, known=known).estimate(1, known)


# ---- whom to ask next ----------------------------------------------------------------------------


def test_labels_are_asked_where_the_answer_is_most_likely_wrong():
    consensus, _ = jury(n=300)
    table = consensus.ask(20)
    wrong = 1 - consensus.confidence
    assert len(set(table["object"])) == 20
    assert wrong[table["object"]].min() >= np.sort(wrong)[-80]
    assert table["gain"] == sorted(table["gain"], reverse=True)


def test_known_labels_show_which_class_is_wrong_more_often():
    # Two voters of three say 0 on the first 60 objects and 1 on the others. The zeros that are
    # known are wrong.
    votes = Votes.from_labels(
        {"a": [0] * 60 + [1] * 60, "b": [0] * 60 + [1] * 60, "c": [1] * 60 + [0] * 60}
    )
    before = MajorityVote().solve(votes).ask(120)
    assert before["gain"] == pytest.approx(
        [(1 / 3) / (place // 2 + 1) ** 0.25 for place in range(120)]
    )
    known = dict.fromkeys((*range(10), *range(60, 70)), 1)
    after = MajorityVote().solve(votes, known=known).ask(10)
    assert set(after["object"]) <= set(range(60))
    assert after["gain"][0] > 0.5


def test_of_objects_that_are_alike_one_is_asked_about_first():
    votes = Votes.from_labels(
        {"a": [0] * 30 + [1, 0, 1], "b": [1] * 30 + [0, 0, 1], "c": [None] * 30 + [1, 0, 1]}
    )
    consensus = SoftVote().solve(votes)  # 30 objects are tied, and one has two votes of three
    assert 30 in consensus.ask(6)["object"]


def test_objects_with_few_votes_are_asked_about_first_where_a_vote_is_wanted():
    votes = Votes.from_labels({"a": [0, 0], "b": [1, 1], "c": [None, 0], "d": [None, 1]})
    consensus = SoftVote().solve(votes)
    assert consensus.ask(2, "vote")["object"] == [0, 1]
    assert consensus.ask(1, "vote")["votes"] == [2]


def test_known_labels_are_not_asked_for_again():
    votes = Votes.from_labels({"a": [0, 0, 1, 1], "b": [1, 1, 1, 0]})
    assert set(SoftVote().solve(votes, known={0: 0}).ask(10)["object"]) == {1, 2, 3}


@pytest.mark.parametrize("goal", ["label", "vote", "share"])
def test_more_objects_than_there_are_cannot_be_asked_about(goal):
    votes = Votes.from_labels({"a": [0, 0, 1], "b": [1, 0, 1]})
    assert sorted(SoftVote().solve(votes).ask(10, goal, random_state=0)["object"]) == [0, 1, 2]


def test_a_draw_has_the_chances_it_says():
    consensus, _ = jury(n=200)
    drawn, chance = np.zeros(200), np.zeros(200)
    for seed in range(2000):
        table = consensus.ask(20, "share", random_state=seed)
        assert len(table) == 20
        drawn[table["object"]] += 1 / 2000
        chance[table["object"]] = table["chance"]
    seen = chance > 0
    assert np.abs(drawn - chance)[seen].max() < 4 * np.sqrt(chance.max() / 2000)
    assert chance[seen].sum() == pytest.approx(20, abs=1.0)


def test_unequal_chances_are_corrected_for_and_the_interval_is_shorter():
    held, lengths = [], []
    for draw in range(200):
        consensus, truth = jury(seed=draw, n=1000)
        table = consensus.ask(100, "share", random_state=draw)
        known = {i: int(truth[i]) for i in table["object"]}
        by_chance = next(consensus.estimate(1, known, chance=table).rows())
        even = {
            int(i): int(truth[i])
            for i in np.random.default_rng(draw).choice(1000, 100, replace=False)
        }
        plain = next(consensus.estimate(1, even).rows())
        held.append(by_chance["low"] <= truth.mean() <= by_chance["high"])
        lengths.append((by_chance["high"] - by_chance["low"]) / (plain["high"] - plain["low"]))
    assert 0.91 < np.mean(held) <= 0.99
    assert np.mean(lengths) < 0.98


def test_chances_must_be_there_for_every_label():
    consensus, truth = jury(n=100)
    known = {i: int(truth[i]) for i in range(20)}
    message = "chance must have a number above 0 and at most 1 for every labelled object, as in the column chance of ask, got nan"
    with pytest.raises(ValueError, match=f"^{re.escape(message)} for 19.$"):
        consensus.estimate(1, known, chance=dict.fromkeys(range(19), 0.1))


def test_objects_that_count_several_times_are_as_many_objects():
    consensus, truth = jury(n=300)
    said = np.array([consensus.solution.votes.said(i) for i in range(300)])
    times = np.where(np.arange(300) < 40, 1, 3)
    weighted = MajorityVote().solve(Votes.from_labels(said, sample_weight=times))
    repeated = MajorityVote().solve(Votes.from_labels(np.repeat(said, times, axis=0)))
    known = {i: int(truth[i]) for i in range(40)}
    for one, other in zip(
        weighted.estimate(1, known).rows(), repeated.estimate(1, known).rows(), strict=True
    ):
        assert one == pytest.approx(other)
    with pytest.raises(
        ValueError,
        match=r"^sample_weight must be integers, so that objects can be counted, to estimate shares",
    ):
        MajorityVote().solve(Votes.from_labels(said, sample_weight=times / 7)).estimate(1, known)


def test_with_all_other_labels_shares_and_accuracies_are_exact():
    # The answer was given half of the labels, and the other half is known now: nothing is left to
    # estimate.
    consensus, truth = jury(n=200)
    solved = MajorityVote().solve(
        consensus.solution.votes, known=dict(enumerate(truth[:100].tolist()))
    )
    rest = dict(enumerate(truth.tolist()[100:], start=100))
    drawn = dict.fromkeys(rest, 1.0)
    for table in (
        solved.estimate(known=rest, voters=True),
        solved.estimate(known=rest, voters=True, chance=drawn),
    ):
        value = dict(zip(table["measure"], table["value"], strict=True))
        assert value["share of 1"] == pytest.approx(truth.mean())
        assert value["accuracy of the answer"] == pytest.approx(
            np.mean(solved.labels()[100:] == truth[100:])
        )
        name = solved.solution.models[0].name
        said = np.array([solved.solution.votes.said(i)[0] for i in range(200)])
        assert value[f"accuracy of {name}"] == pytest.approx(np.mean(said == truth))


def test_labels_that_the_answer_was_given_do_not_bias_the_rest():
    # Voters say 1 too often. What the answer says of objects whose labels it was given does not
    # show that.
    rng, gaps, held = np.random.default_rng(0), [], []
    for _ in range(60):
        truth = (rng.random(400) < 0.3).astype(int)
        said = rng.random((400, 3)) < np.where(truth, 0.9, 0.3)[:, None]
        order = rng.permutation(400)
        given, drawn = (
            {int(i): int(truth[i]) for i in some} for some in (order[:250], order[250:310])
        )
        row = next(
            MajorityVote()
            .solve(Votes.from_labels(said.astype(int)), known=given)
            .estimate(1, drawn)
            .rows()
        )
        gaps.append(row["value"] - truth.mean())
        held.append(row["low"] <= truth.mean() <= row["high"])
    assert abs(np.mean(gaps)) < 0.01
    assert np.mean(held) > 0.9


# ---- agreement -----------------------------------------------------------------------------------


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
@pytest.mark.parametrize("seed", range(4))
def test_alpha_is_that_of_the_package(level, seed):
    said = scores(seed)
    wanted = krippendorff.alpha(
        reliability_data=said.T, level_of_measurement=level, value_domain=[1, 2, 3, 4, 5]
    )
    assert alpha(votes_of(said), level) == pytest.approx(wanted, abs=1e-12)


def test_repeated_rows_count_as_often_as_they_occur():
    said = np.repeat(scores(n_objects=8, n_voters=3), 5, axis=0)
    votes = votes_of(said)
    assert votes.n_rows < len(said)
    assert alpha(votes) == pytest.approx(
        krippendorff.alpha(said.T, level_of_measurement="nominal"), abs=1e-12
    )


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


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_a_tied_vote_is_as_if_one_of_its_answers_had_been_drawn(level):
    # Object 0 has a vote for 0 or 1 and one for 0, object 1 one for 0 and one for 1. The draws give
    # the pairs (0, 0), (1, 0), and (0, 1), so half of 1 and none of 1 agree. Of the four votes 2.5
    # are for 0: expected are 2 x 2.5 x 1.5 / 3 = 2.5 that differ.
    votes = Votes.from_long([0, 0, 0, 1, 1], ["a", "a", "b", "a", "b"], [0, 1, 0, 0, 1])
    assert alpha(votes, level) == pytest.approx(1 - 3 / 2.5)
    table = agreement(votes, draws=20)
    assert table["value"][2] == pytest.approx(0.25)
    assert 0 <= table["low"][2] <= table["high"][2] <= 0.5


def test_weights_of_objects_that_are_no_counts_add_up_to_their_number():
    said = scores(n_objects=40)
    columns = {f"v{j}": column for j, column in enumerate(said.T)}
    weighted = Votes.from_labels(columns, classes=range(1, 6), sample_weight=np.full(40, 0.01))
    for one, other in zip(
        agreement(votes_of(said)).rows(), agreement(weighted).rows(), strict=True
    ):
        assert list(one.values())[1:] == pytest.approx(list(other.values())[1:], abs=1e-9)
    one, other = (next(kappas(votes).rows()) for votes in (votes_of(said), weighted))
    assert list(one.values())[2:] == pytest.approx(list(other.values())[2:], abs=1e-9)


def test_an_interval_does_not_shrink_to_nothing_where_all_sampled_objects_agree():
    votes = Votes.from_labels({"a": [0, 1] * 15, "b": [0, 1] * 15})
    least = binomtest(30, 30).proportion_ci(method="wilson").low
    table, row = agreement(votes), next(kappas(votes).rows())
    assert table["value"] == table["high"] == [1.0] * 3
    assert table["low"] == pytest.approx(
        [1 - 2 * (1 - least), 1 - 2 * (1 - least), least]
    )  # half of the pairs agree by chance
    assert (row["kappa"], row["low"], row["high"]) == pytest.approx((1.0, 1 - 2 * (1 - least), 1.0))


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_the_low_end_is_modest_where_one_answer_is_rare(level):
    votes = Votes.from_labels({"a": [1] + [0] * 29, "b": [1] + [0] * 29})
    low = [*agreement(votes, level)["low"], *kappas(votes, level=level)["low"]]
    assert min(low) > 0 and max(low) < 0.9


def test_votes_that_cannot_be_compared_have_no_agreement():
    assert np.isnan(alpha(Votes.from_labels({"a": [0, 1, None], "b": [None, None, 0]})))
    assert np.isnan(alpha(Votes.from_labels({"a": [1, 1], "b": [1, 1]})))


def test_measures_that_do_not_exist_have_no_interval():
    table = agreement(Votes.from_labels({"a": [1, 1], "b": [1, 1]}))  # all votes are alike
    assert table["low"][:2] == table["high"][:2] == [None, None]
    assert (table["low"][2], table["high"][2]) == (pytest.approx(0.342, abs=1e-3), 1.0)


def test_what_is_not_comparable_is_refused():
    words = Votes.from_labels({"a": ["x", "y"], "b": ["x", "x"]})
    wanted = (
        "level must be 'nominal' or 'ordinal' for answers that are not numbers, got 'interval'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        alpha(words, "interval")
    mixed = words.add({"c": [3, 4]}, scale=range(10))
    with pytest.raises(
        ValueError, match=r"^votes must be of voters with the same answers, got other ones of 'c'\."
    ):
        alpha(mixed)


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


def test_kappas_with_known_labels_are_those_of_scikit_learn_where_both_are_there():
    said, truth = scores(4), np.random.default_rng(4).integers(1, 6, size=60)
    known = {i: int(truth[i]) for i in range(0, 60, 2)}
    for row in kappas(votes_of(said), known, draws=0).rows():
        own = said[::2, int(row["voter"][1:])]
        assert row["other"] == "known labels"
        assert row["kappa"] == pytest.approx(
            cohen_kappa_score(own[~np.isnan(own)], truth[::2][~np.isnan(own)]), abs=1e-12
        )


def test_a_kappa_of_known_labels_counts_repeated_rows_and_weights():
    votes = Votes.from_labels({"a": [0, 0, 1, 1, 1]}, sample_weight=[1, 2, 1, 3, 1])
    row = next(kappas(votes, [0, 1, 1, 1, 0], draws=0).rows())
    assert row["objects"] == 8
    assert row["kappa"] == pytest.approx(
        cohen_kappa_score([0, 0, 1, 1, 1], [0, 1, 1, 1, 0], sample_weight=[1, 2, 1, 3, 1])
    )


def test_intervals_of_kappa_hold_the_truth_about_as_often_as_they_say():
    rng, held = np.random.default_rng(0), []
    for draw in range(200):
        truth = rng.integers(2, size=80)
        one, other = (truth ^ (rng.random(80) < 0.2) for _ in range(2))
        row = next(
            kappas(Votes.from_labels({"a": one, "b": other}), draws=100, random_state=draw).rows()
        )
        held.append(row["low"] <= 0.36 <= row["high"])  # (.68 - .5) / .5
    assert 0.88 < np.mean(held) < 0.99


def test_voters_without_a_common_object_have_no_kappa():
    assert len(kappas(Votes.from_labels({"a": [0, 1, None, None], "b": [None, None, 1, 0]}))) == 0


def test_scores_are_not_compared_with_known_labels():
    votes = Votes.from_labels(
        {"a": [1, 3], "b": [2, 3]}, classes=["bad", "good"], scale=range(1, 4)
    )
    with pytest.raises(
        ValueError,
        match=re.escape(
            "votes must be votes for classes to be compared with known labels, got a scale."
        ),
    ):
        kappas(votes, ["bad", "good"])


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


def test_objects_without_votes_do_not_change_the_correlation():
    rng = np.random.default_rng(0)
    truth, hard = rng.integers(2, size=400), rng.random(400) < 0.3
    votes = {
        f"v{j}": (truth ^ (rng.random(400) < np.where(hard, 0.5, 0.1))).tolist() for j in range(6)
    }
    padded = {name: [*said, *[None] * 2000] for name, said in votes.items()}
    assert error_correlation(Votes.from_labels(padded)) == pytest.approx(
        error_correlation(Votes.from_labels(votes)), abs=0.01
    )


@pytest.mark.parametrize("n_voters", [4, 5, 6, 9])
def test_the_order_of_the_voters_does_not_change_the_correlation(n_voters):
    rng = np.random.default_rng(3)
    truth, hard = rng.integers(2, size=300), rng.random(300) < 0.4
    votes = {
        f"v{j}": truth ^ (rng.random(300) < np.where(hard, 0.45, 0.05 * (1 + j)))
        for j in range(n_voters)
    }
    backwards = Votes.from_labels(dict(reversed(votes.items())))
    assert error_correlation(backwards) == pytest.approx(
        error_correlation(Votes.from_labels(votes)), abs=1e-9
    )


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


@pytest.mark.parametrize(("n_objects", "within"), [(300, 0.06), (2000, 0.03)])
@pytest.mark.parametrize("n_votes", [3, 4, 6])
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


@pytest.mark.parametrize("unit", [1e-300, 1e-9, 0.3])
def test_the_unit_of_weights_that_are_no_counts_does_not_change_the_correlation(unit):
    votes, truth = few_votes_each(300)
    weighted = replace(votes, sample_weight=unit * np.ones(300), counts=unit * votes.counts)
    for known in (None, truth):
        assert error_correlation(weighted, known) == pytest.approx(
            error_correlation(votes, known), abs=1e-9
        )


def test_votes_that_are_all_tied_show_no_correlation():
    votes = Votes.from_probabilities({f"v{j}": np.full((10, 2), 0.5) for j in range(4)})
    absent = votes.add({"other": np.arange(10) % 2}, weights={"other": 0})
    assert error_correlation(votes) == error_correlation(absent) == 0
    assert np.allclose(solve(votes).proba, 0.5)


def test_annotators_with_a_single_vote_show_no_correlation():
    said = np.random.default_rng(0).integers(2, size=1500)
    votes = Votes.from_long(np.repeat(np.arange(300), 5), [f"ann{j}" for j in range(1500)], said)
    assert error_correlation(votes) == 0


def test_many_classes_take_little_memory():
    said = np.random.default_rng(0).integers(100, size=(400, 20))
    tracemalloc.start()
    error_correlation(Votes.from_labels(said))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6


def test_what_voters_weigh_does_not_change_how_far_their_errors_correlate():
    votes = together(0.3)
    heavy = replace(votes, weights=np.where(np.arange(len(votes.models)) == 0, 3.0, 1.0))
    assert error_correlation(heavy) == error_correlation(votes)


def test_clusterings_do_not_err():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=200)
    votes = {
        f"v{j}": np.where(rng.random(200) < 0.6, truth, rng.integers(3, size=200)) for j in range(5)
    }
    known = dict(enumerate(truth[:100].tolist()))
    alone, beside = (
        Votes.from_labels(votes),
        Votes.from_labels(votes, {"k": rng.integers(4, size=200), "copy": truth}),
    )
    assert error_correlation(beside, known) == pytest.approx(
        error_correlation(alone, known), abs=1e-12
    )


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


def test_a_crowd_may_have_more_pairs_of_object_and_voter_than_32_bits_count():
    n = 50_000
    objects = np.repeat(np.arange(n), 2)
    labels = np.random.default_rng(0).integers(2, size=2 * n)
    votes = Votes.from_long(objects, np.roll(objects, 1), labels)
    assert votes.n_rows * len(votes.models) > 1 << 31
    assert -0.1 < error_correlation(votes, np.zeros(n, dtype=int)) < 0.1


def test_probabilities_err_together_as_far_as_their_most_probable_classes_do():
    rng = np.random.default_rng(0)
    truth, shared = rng.integers(2, size=600), rng.normal(0, 0.25, 600)
    right = [
        np.clip(0.5 + 0.3 * (2 * truth - 1) + shared + rng.normal(0, 0.25, 600), 0.01, 0.99)
        for _ in range(6)
    ]
    soft = Votes.from_probabilities(
        {f"v{j}": np.column_stack([1 - one, one]) for j, one in enumerate(right)}
    )
    hard = Votes.from_labels({f"v{j}": (one > 0.5).astype(int) for j, one in enumerate(right)})
    assert 0.05 < error_correlation(soft) == pytest.approx(error_correlation(hard), abs=1e-9)
    assert error_correlation(soft, truth) == pytest.approx(error_correlation(hard, truth), abs=1e-9)
    assert effective_voters(soft) == pytest.approx(effective_voters(hard), abs=1e-6)


@pytest.mark.parametrize("scale", [None, range(2)])
def test_who_is_asked_twice_errs_together_with_others_as_far_as_who_is_asked_once(scale):
    rng = np.random.default_rng(0)
    truth, chance = rng.integers(2, size=600), np.where(rng.random(600) < 0.3, 0.5, 0.1)
    objects, voters = np.tile(np.repeat(np.arange(600), 2), 6), np.repeat(list("abcdef"), 1200)
    said = truth[objects] ^ (rng.random(7200) < chance[objects])
    once, twice = (
        Votes.from_long(objects[::n], voters[::n], said[::n], classes=[0, 1], scale=scale)
        for n in (2, 1)
    )
    assert twice.stores.n_repeated == 3600
    assert error_correlation(twice) == pytest.approx(error_correlation(once), abs=0.05)
    by_labels = [error_correlation(votes, truth) for votes in (once, twice)]
    assert (
        by_labels[0] < by_labels[1] < 2 * by_labels[0]
    )  # the mean of two answers has less noise of its own


def test_the_names_of_the_classes_do_not_change_the_correlation_where_votes_are_tied():
    rng = np.random.default_rng(0)
    truth, chance = rng.integers(2, size=300), np.where(rng.random(300) < 0.3, 0.5, 0.1)
    objects, voters = np.tile(np.repeat(np.arange(300), 2), 6), np.repeat(list("abcdef"), 600)
    said = truth[objects] ^ (rng.random(3600) < chance[objects])
    found = error_correlation(Votes.from_long(objects, voters, said))
    assert error_correlation(Votes.from_long(objects, voters, 1 - said)) == pytest.approx(
        found, abs=1e-9
    )


@pytest.mark.parametrize("n_objects", [1, 2, 3, 5, 10, 20])
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


@pytest.mark.parametrize(
    "measure", [agreement, alpha, fleiss_kappa, kappas, error_correlation, effective_voters]
)
def test_what_are_no_votes_is_refused(measure):
    answer = MajorityVote().solve(Votes.from_labels({"a": [0, 1], "b": [0, 0]}))
    remedy = "Make one with Votes.from_labels; an answer has its own as consensus.solution.votes."
    with pytest.raises(
        TypeError, match=f"^{re.escape(f'votes must be a Votes, got Consensus. {remedy}')}$"
    ):
        measure(answer)


@pytest.mark.parametrize("correlation", ["much", float("nan")])
def test_a_correlation_that_is_no_number_is_refused(correlation):
    wanted = (
        f"correlation must be a finite number, got {correlation!r}. Leave it out to measure it."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        effective_voters(together(0.0, n_voters=4, n_objects=50), correlation)


def test_a_consensus_without_objects_estimates_nothing(tmp_path):
    MajorityVote().solve(Votes.from_labels({"a": [0, 1], "b": [0, 0]})).save(tmp_path / "votes.ec3")
    phrase = "estimate needs the objects, and this consensus was loaded from a file without them. "
    with pytest.raises(ValueError, match=f"^{re.escape(phrase)}Use extend"):
        Consensus.load(tmp_path / "votes.ec3").estimate(1, {0: 1})


def test_labels_tell_which_end_of_a_scale_means_what():
    truth = np.random.default_rng(0).integers(2, size=100)
    scores = {
        "up": 2 + 2 * truth,
        "down": 4 - 2 * truth,
        "both": np.where(np.arange(100) % 7, 2 + 2 * truth, 3),
    }
    known = {i: "fp"[truth[i]] for i in range(60)}
    asked, given = (
        Votes.from_labels(
            {name: scores[name] if up else 6 - scores[name] for name, up in sides.items()},
            classes=["f", "p"],
            scale=s,
        )
        for sides, s in (
            ({"up": True, "down": True, "both": True}, Scale(range(1, 6), direction="learn")),
            ({"up": True, "down": False, "both": True}, range(1, 6)),
        )
    )
    assert error_correlation(asked, known) == pytest.approx(error_correlation(given, known))


def test_only_voters_who_saw_enough_labels_are_judged_by_them():
    rng = np.random.default_rng(0)
    votes = Votes.from_long(
        np.repeat(np.arange(300), 3), rng.integers(60, size=900), rng.integers(2, size=900)
    )
    table = MajorityVote().solve(votes).estimate(None, dict.fromkeys(range(200), 0), voters=True)
    n_labels = {
        name: sum(votes.said(i)[m] is not None for i in range(200))
        for m, name in enumerate(names_of(votes))
    }
    judged = [name.removeprefix("accuracy of ") for name in table["measure"][3:]]
    assert judged == [name for name, n in n_labels.items() if n >= 10]


def names_of(votes):
    return [model.name for model in votes.models]


def test_judges_who_score_are_measured_with_many_classes_too():
    rng = np.random.default_rng(0)
    surface = rng.integers(25, size=300) + rng.normal(0, 3, 300)  # what all of them see
    scores = {
        f"j{j}": np.clip(np.rint(surface + rng.normal(0, 2, 300)), 0, 24).astype(int)
        for j in range(6)
    }
    votes = Votes.from_labels(scores, classes=range(25), scale=range(25))
    assert error_correlation(votes) != 0.0  # as it would be without voters
