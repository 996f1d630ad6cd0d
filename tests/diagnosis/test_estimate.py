"""Shares and accuracies with intervals, from few labels."""

import re

import numpy as np
import pytest
from scipy.special import expit, logit

from ec3learn import DawidSkene, MajorityVote, Scale, SoftVote, Votes
from ec3learn._table import Table
from ec3learn.diagnosis.estimate import prediction_powered
from ec3learn.diagnosis.metrics import wilson_interval

krippendorff = pytest.importorskip("krippendorff")


def jury(seed=0, n=3000):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.3).astype(int)
    said = np.where(
        rng.random((n, 5)) < np.where(truth, 0.7, 0.85)[:, None], truth[:, None], 1 - truth[:, None]
    )
    return MajorityVote().solve(Votes.from_labels(said)), truth


def filled(drawn, known):
    """The table that `ask` made, with the labels of some objects."""
    return Table(dict(drawn.columns) | {"label": [known.get(i) for i in drawn["object"]]})


def test_by_hand():
    # w = Cov(y, f) / ((1 + 4/4) Var f) = (1/3) / (2 x 2/7) = 7/12, with all eight f for the
    # variance
    y, f, rest = np.array([0.0, 0, 1, 1]), np.array([0.0, 0, 1, 1]), np.array([0.0, 0, 1, 1])
    value, _, high, worth = prediction_powered(y, f, rest, np.ones(4))
    assert value == pytest.approx(0.5)
    w, spread = 7 / 12, 2 / 7
    squares = np.sum((y - w * f - np.mean(y - w * f)) ** 2) + w**2 / 2  # and half an error more
    variance = squares / 3 / 4 + w**2 * spread / 4
    n = 0.25 * 4 / 3 / variance  # as many labels alone would have this variance
    assert worth == pytest.approx(n)
    gap = high - value
    assert gap**2 == pytest.approx(1.96**2 * (variance + (high * (1 - high) - 0.25) / n), rel=1e-4)


def test_useless_answers_leave_wilson_s_interval_but_for_one_label():
    y = np.repeat([0.0, 1.0], [46, 4])
    _, low, high, _ = prediction_powered(y, np.full(50, 0.5), np.full(5000, 0.5), np.ones(5000))
    assert (low, high) == pytest.approx(wilson_interval(4, 50), abs=0.003)


def test_labels_that_are_all_alike_do_not_make_it_certain():
    value, low, high, _ = prediction_powered(
        np.ones(30), np.full(30, 0.9), np.full(1000, 0.9), np.ones(1000)
    )
    assert value == 1.0
    assert (low, high) == pytest.approx(wilson_interval(30, 30))


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


@pytest.mark.parametrize(("n", "too_sure"), [(50, 3), (200, 1)])
def test_intervals_keep_their_promise_for_a_rare_class(too_sure, n):
    held = []
    for draw in range(700):
        rng = np.random.default_rng(draw)
        y = (rng.random(3000) < 0.05).astype(float)
        f = expit(too_sure * (4 * y - 2 + 2 * rng.normal(size=3000) + logit(0.05)))
        chosen = rng.choice(3000, n, replace=False)
        _, low, high, _ = prediction_powered(
            y[chosen], f[chosen], np.delete(f, chosen), np.ones(3000 - n)
        )
        held.append(low <= y.mean() <= high)
    assert 0.93 <= np.mean(held) <= 0.99


def test_intervals_keep_their_promise_where_labels_may_show_no_wrong_answer():
    held, right = [], []
    for draw in range(500):
        rng = np.random.default_rng(draw)
        y = (rng.random(1000) < 0.4).astype(float)
        said = np.where(
            rng.random(1000) < 0.03, 0.0, y
        )  # one class is missed now and then, and surely
        f = np.where(
            rng.random(1000) < 0.2,
            np.where(rng.random(1000) < 0.8, y, 1 - y) * 0.6 + 0.2,
            0.01 + 0.98 * said,
        )
        chosen = rng.choice(1000, 50, replace=False)
        for own, sure, kept in ((y, f, held), ((f > 0.5) == y, np.maximum(f, 1 - f), right)):
            rest = np.delete(sure, chosen), np.ones(950)
            _, low, high, _ = prediction_powered(own[chosen] * 1.0, sure[chosen], *rest)
            kept.append(low <= own.mean() <= high)
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
        found.append(consensus.estimate(1, filled(drawn, known))["value"])
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
        "share of class 0",
        "share of class 1",
        "accuracy of the answer",
        *(f"accuracy of classifier {name}" for name in names),
    ]
    for row in list(table.rows())[3:]:
        m = names.index(row["measure"].removeprefix("accuracy of classifier "))
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
        ("accuracy of classifier half", 30, 1.0),
        ("accuracy of classifier wrong", 60, 0.0),
        ("accuracy of classifier right", 60, 1.0),
    ]


DRAW_SOME = "Draw some objects at random, or with ask(goal='share'), and label them."


@pytest.mark.parametrize(
    ("label", "known", "message"),
    [
        (7, dict.fromkeys(range(20), 0), "Unknown label 7. Choose from: 0, 1."),
        (1, {0: 0}, f"known must have at least 10 labels, got 1. {DRAW_SOME}"),
        (1, None, f"known must have at least 10 labels, got 0. {DRAW_SOME}"),
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
        match=r"^known must be labels that the answer was made without, got some that it was given\. "
        r"Quote the estimate of summary\(\), which knows them, or solve without them\.$",
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


def test_the_further_of_objects_with_the_same_votes_gain_less():
    votes = Votes.from_labels({"a": [0] * 3, "b": [0] * 3, "c": [1] * 3})
    gain = MajorityVote().solve(votes).ask(3)["gain"]
    assert gain == pytest.approx([(1 / 3) / place**0.25 for place in (1, 2, 3)])


def test_objects_with_few_votes_are_asked_about_first_where_a_vote_is_wanted():
    votes = Votes.from_labels({"a": [0, 0], "b": [1, 1], "c": [None, 0], "d": [None, 1]})
    consensus = SoftVote().solve(votes)
    assert consensus.ask(2, "vote")["object"] == [0, 1]
    assert consensus.ask(1, "vote")["votes"] == [2]


def test_known_labels_are_not_asked_for_again():
    votes = Votes.from_labels({"a": [0, 0, 1, 1], "b": [1, 1, 1, 0]})
    assert set(SoftVote().solve(votes, known={0: 0}).ask(10)["object"]) == {1, 2, 3}


@pytest.mark.parametrize("goal", ["label", "share"])
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


def test_a_share_from_the_draw_of_ask_is_held_by_its_interval():
    held = []
    for draw in range(100):
        consensus, truth = jury(seed=draw, n=1000)
        table = consensus.ask(100, "share", random_state=draw)
        known = {i: int(truth[i]) for i in table["object"]}
        row = next(consensus.estimate(1, filled(table, known)).rows())
        held.append(row["low"] <= truth.mean() <= row["high"])
    assert np.mean(held) > 0.9


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
    drawn = solved.ask(100, "share", random_state=0)
    for known in (rest, filled(drawn, dict(enumerate(truth.tolist())))):
        table = solved.estimate(known=known, voters=True)
        value = dict(zip(table["measure"], table["value"], strict=True))
        assert value["share of class 1"] == pytest.approx(truth.mean())
        assert value["accuracy of the answer"] == pytest.approx(
            np.mean(solved.labels()[100:] == truth[100:])
        )
        name = solved.solution.models[0].name
        said = np.array([solved.solution.votes.said(i)[0] for i in range(200)])
        assert value[f"accuracy of classifier {name}"] == pytest.approx(np.mean(said == truth))


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


# ---- each group by itself ------------------------------------------------------------------------


def test_each_group_is_estimated_by_its_own_labels_and_answers():
    consensus, truth = jury(n=900)
    language = np.array(["en", "fr", "de"], dtype=object)[np.arange(900) % 3]
    known = {i: int(truth[i]) for i in range(300) if language[i] != "de" or i < 20}
    table = consensus.estimate(1, known, by=language)
    assert table["group"] == ["en", "en", "fr", "fr"]
    assert table.note == "Left out, with fewer than 10 labels: de."
    for group, row in zip(table["group"], table.rows(), strict=True):
        chosen = np.flatnonzero(language == group)
        alone = MajorityVote().solve(consensus.solution.votes[chosen])
        own = {i: known[k] for i, k in enumerate(chosen.tolist()) if k in known}
        expected = {each["measure"]: each for each in alone.estimate(1, own).rows()}
        assert row["value"] == pytest.approx(expected[row["measure"]]["value"], abs=1e-9)
        assert row["high"] == pytest.approx(expected[row["measure"]]["high"], abs=1e-9)


def test_objects_without_a_group_are_left_out_and_groups_may_be_named_by_object():
    consensus, truth = jury(n=300)
    known = {i: int(truth[i]) for i in range(100)}
    by = dict.fromkeys(range(100), "first")
    table = consensus.estimate(1, known, by=by)
    assert set(table["group"]) == {"first"}
    assert table["value"][0] == pytest.approx(truth[:100].mean())
    with pytest.raises(
        ValueError, match=r"^by must have one group for each of the 300 objects, got 2"
    ):
        consensus.estimate(1, known, by=["a", "b"])


def test_answers_outside_a_scale_have_no_part_in_a_judge_s_accuracy():
    truth = np.tile([0, 1], 60)
    said = [("unsure" if i % 3 == 0 else 1 + 3 * z) for i, z in enumerate(truth.tolist())]
    scale = Scale([1, 2, 3, 4], unordered=["unsure"])
    scores = {"careful": said, "other": (1 + 3 * truth).tolist()}
    votes = Votes.from_labels(scores, classes=["no", "yes"], scale=scale)
    known = {i: ["no", "yes"][truth[i]] for i in range(60)}
    rows = DawidSkene().solve(votes).estimate(known=known, voters=True).rows()
    careful = next(row for row in rows if row["measure"] == "accuracy of judge careful")
    assert (careful["labels"], careful["value"]) == (40, 1.0)


def test_the_estimate_from_labels_alone_has_wilson_s_interval():
    consensus, truth = jury()
    table = consensus.estimate(1, known={i: int(truth[i]) for i in range(200)})
    plain = [table[name][0] for name in ("plain", "plain_low", "plain_high")]
    n = truth[:200].sum()
    assert plain == pytest.approx([n / 200, *wilson_interval(n, 200)])


def test_labels_that_are_all_half_right_are_worth_their_number():
    half, sure = np.full(30, 0.5), np.linspace(0.5, 1, 30)
    _, low, high, worth = prediction_powered(half, sure, np.full(1000, 0.6), np.ones(1000))
    assert (low, high, worth) == pytest.approx((*wilson_interval(15, 30), 30))
