"""Pairwise judging: which votes a table of pairs makes, how judges lean, and how strong items are."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import norm

from ec3learn import InputError, MajorityVote, Table, solve
from ec3learn.diagnosis.metrics import wilson_ends
from ec3learn.pairs import Comparisons

COLUMNS = ["prompt", "left", "right", "judge", "winner"]


def compared(rows, prompt="prompt"):
    table = pd.DataFrame(rows, columns=COLUMNS)
    return Comparisons.from_table(table, "left", "right", "judge", "winner", prompt)


def strengths(comparisons, method=None):
    consensus = (method or MajorityVote()).solve(comparisons.votes)
    return comparisons.strengths(consensus).to_frame().set_index("item")


def games(seed, strength, n, ties=0.5):
    """Random pairs of items named by their numbers, each judged once by one who is always right."""
    rng, rows = np.random.default_rng(seed), []
    for prompt in range(n):
        i, j = rng.choice(len(strength), 2, replace=False)
        odds = np.exp([(strength[i] - strength[j]) / 2, (strength[j] - strength[i]) / 2, 0])
        odds[2] = ties
        rows.append(
            (prompt, f"{i}", f"{j}", "ann", rng.choice(["A", "B", "tie"], p=odds / odds.sum()))
        )
    return rows


# ---- votes ---------------------------------------------------------------------------------------


def test_both_ways_round_are_one_object_and_the_other_way_is_turned_round():
    rows = [("q", "x", "y", "ann", "A"), ("q", "y", "x", "bob", "A"), ("q", "y", "x", "cy", "tie")]
    comparisons = compared(rows)
    x, y = ("first", "second") if comparisons.first[0] == "x" else ("second", "first")
    assert comparisons.votes.said(0) == [x, y, "tie"]
    assert comparisons.votes.object_ids[0] in ("q: x or y", "q: y or x")
    assert comparisons.prompts.tolist() == ["q"]


def test_a_judge_who_names_the_left_one_both_times_gives_half_a_vote_to_each():
    rows = [("q", "x", "y", "ann", "left"), ("q", "y", "x", "ann", "left")]
    assert compared(rows).votes.said(0) == [{"first": 0.5, "second": 0.5}]


@pytest.mark.parametrize(
    ("word", "vote"),
    [
        ("A", "first"),
        ("model_b", "second"),
        ("y", "second"),
        (" Left ", "first"),
        ("Tie (bothbad)", "tie"),
    ],
)
def test_a_winner_is_a_name_or_a_side(word, vote):
    other = ("r", "x", "y", "ann", "tie")
    assert compared([("q", "x", "y", "ann", word), other]).votes.said(0) == [vote]


def test_the_name_of_an_item_goes_before_a_word_for_a_side():
    assert compared([("q", "b", "a", "ann", "a"), ("r", "b", "a", "ann", "b")]).votes.said(0) == [
        "second"
    ]


def test_items_that_no_pairs_link_are_named_as_not_comparable():
    apart = [(q, *pair, "ann", "A") for q in range(5) for pair in [("a", "b"), ("c", "d")]]
    linked = [*apart, ("q", "b", "c", "ann", "A")]
    for rows, note in ((apart, "No pairs link 2 groups of items"), (linked, "")):
        games = compared(rows)
        assert games.strengths(MajorityVote().solve(games.votes)).note.startswith(note)
        assert repr(games) == f"Comparisons(4 items, {len(rows)} pairs)"
    assert games.strengths(MajorityVote().solve(games.votes)).note == ""


def test_which_item_is_first_does_not_follow_the_alphabet_nor_the_order_of_rows():
    rows = [(q, *way, "ann", "A") for q in range(200) for way in [("x", "y"), ("y", "x")]]
    one, other = compared(rows), compared(rows[::-1])
    assert 70 < (one.first == "x").sum() < 130
    assert sorted(one.votes.object_ids) == sorted(other.votes.object_ids)


def test_what_was_shown_one_way_only_stays_that_way():
    rows = [(q, "x", "y", who, "A") for q in range(20) for who in ("ann", "bob")]
    assert set(compared(rows).first) == {"x"}


def test_missing_winners_are_no_votes_and_tables_of_polars_are_read():
    rows = [("q", "x", "y", "ann", "A"), ("r", "x", "y", "ann", None), ("s", "x", "y", "ann", "B")]
    table = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    for each in (table, table.lazy()):
        read = Comparisons.from_table(each, "left", "right", "judge", "winner", "prompt")
        assert read.votes.object_ids.tolist() == ["q: x or y", "s: x or y"]
        assert read.votes.classes.tolist() == ["first", "second"]


def test_without_a_prompt_a_pair_is_one_object():
    rows = [(0, "x", "y", "ann", "A"), (1, "x", "y", "bob", "A"), (2, "x", "z", "ann", "tie")]
    assert compared(rows, prompt=None).votes.object_ids.tolist() == ["x or y", "x or z"]


def test_a_column_or_winner_that_is_not_there_is_refused():
    rows = [("q", "x", "y", "ann", "z")]
    with pytest.raises(InputError, match=re.escape("winner must hold 'x', 'y', 'A', 'B', 'left'")):
        compared(rows)
    with pytest.raises(InputError, match=r"Pass missing='z' if it means no vote"):
        compared(rows)
    with pytest.raises(InputError, match="Unknown column 'prompts'"):
        compared(rows, prompt="prompts")
    with pytest.raises(InputError, match=r"table must be a dataframe, got str\. Read a file first"):
        Comparisons.from_table("games.csv", "left", "right")
    with pytest.raises(InputError, match="right must name another item than left, got 'x' on both"):
        compared([("q", "x", "y", "ann", "A"), ("q", "x", "x", "ann", "A")])


def test_one_judge_needs_no_column_and_answers_may_mean_no_vote():
    games = pd.DataFrame(
        {"a": ["x", "x", "y"], "b": ["y", "z", "z"], "winner": ["A", "unsure", "both bad"]}
    )
    votes = Comparisons.from_table(games, "a", "b", missing="unsure").votes
    assert votes.object_ids.tolist() == ["x or y", "y or z"]
    assert [votes.said(0), votes.said(1)] == [["first"], ["tie"]]


# ---- position bias -------------------------------------------------------------------------------


def bias(rows):
    return next(compared(rows).position_bias().rows())


def both_ways(n, one, other):
    """n prompts of one judge, who says one word first and another on the pair turned round."""
    return [(q, *way, "ann", word) for q in range(n) for way, word in [("xy", one), ("yx", other)]]


def test_a_judge_who_names_the_same_winner_twice_has_no_bias_however_good_the_item():
    row = bias(both_ways(40, "A", "B"))
    assert (row["left"], row["same_winner"], row["both_ways"], row["votes"]) == (0.5, 1, 40, 80)
    assert 0.45 < row["low"] < 0.5 < row["high"] < 0.55


def test_a_judge_who_always_names_the_left_item_is_found_by_few_pairs():
    row = bias(both_ways(6, "A", "A"))
    assert (row["left"], row["same_winner"], row["high"]) == (1, 0, 1)
    half = 1.96 * np.sqrt((6 + 1) / 8 - 0.75**2) / np.sqrt(8)  # two votes more, one for each side
    assert row["low"] == pytest.approx((1 + 0.75 - half) / 2, abs=1e-4)


def test_a_tie_counts_one_half():
    assert bias(both_ways(5, "A", "tie"))["left"] == 0.75


def test_pairs_shown_one_way_count_only_for_a_judge_who_saw_none_both_ways():
    once = [(f"once {q}", "x", "y", "ann", "A") for q in range(50)]
    assert bias(once + both_ways(5, "A", "B"))["left"] == 0.5
    assert (bias(once)["left"], bias(once)["both_ways"], bias(once)["same_winner"]) == (1, 0, None)


def test_the_interval_of_a_bias_keeps_its_promise():
    rng, hits = np.random.default_rng(0), 0
    for _ in range(200):
        said = rng.choice(
            [1, 0.5, 0], size=12, p=[0.3, 0.6, 0.1]
        )  # of both votes: left, even, right
        words = {1: ("A", "A"), 0.5: ("A", "B"), 0: ("B", "B")}
        row = bias(
            [
                (q, *each, "ann", word)
                for q, s in enumerate(said)
                for each, word in zip(["xy", "yx"], words[s], strict=True)
            ]
        )
        hits += row["low"] < 0.6 < row["high"]
    assert 0.9 < hits / 200 < 1


# ---- strengths -----------------------------------------------------------------------------------


def test_two_items_have_the_log_odds_of_their_games():
    rows = [
        (q, "x", "y", "ann", "A" if q < 6000 else "B" if q < 8000 else "tie") for q in range(9000)
    ]
    table = strengths(compared(rows))
    assert_allclose(table["strength"], [np.log(3) / 2, -np.log(3) / 2], atol=1e-3)
    assert_allclose(table["win_rate"], [6500 / 9000, 2500 / 9000])
    # The deviation of log(a / b) of a multinomial is the root of 1 / a + 1 / b.
    assert_allclose(table["high"] - table["low"], 1.96 * np.sqrt(1 / 6000 + 1 / 2000), rtol=0.01)
    assert table.loc["x", "above_next"] > 0.999 and np.isnan(table.loc["y", "above_next"])


def test_strengths_are_those_of_davidsons_model():
    rows = games(0, [1, 0.3, 0, -0.5], 400)
    said = [(int(a), int(b), ["A", "B", "tie"].index(w)) for _, a, b, _, w in rows]

    def loss(t):
        total = 0.125 * (t[:4] ** 2).sum() + 0.000125 * t[4] ** 2
        for i, j, k in said:
            odds = np.array([(t[i] - t[j]) / 2, (t[j] - t[i]) / 2, t[4]])
            total += np.log(np.exp(odds).sum()) - odds[k]
        return total

    expected = minimize(loss, np.zeros(5)).x[:4]
    assert_allclose(strengths(compared(rows)).sort_index()["strength"], expected, atol=1e-4)


def test_without_ties_strengths_are_those_of_choix():
    choix = pytest.importorskip("choix")
    rows = games(1, [1, 0.3, 0, -0.5, -0.8], 200, ties=0)
    wins = [(int(a), int(b))[:: 1 if w == "A" else -1] for _, a, b, _, w in rows]
    expected = choix.opt_pairwise(5, wins, alpha=0.125)
    assert_allclose(strengths(compared(rows)).sort_index()["strength"], expected, atol=1e-4)


def test_an_item_that_wins_all_its_games_has_a_finite_strength():
    table = strengths(compared([(q, "x", "y", "ann", "A") for q in range(10)]))
    assert 1 < table.loc["x", "strength"] < 5
    assert_allclose(table.loc["x", ["win_rate", "win_high"]].astype(float), 1)
    assert 0.6 < table.loc["x", "win_low"] < 0.8  # 10 of 10 by Wilson's interval: .72


def test_intervals_of_strengths_and_win_rates_keep_their_promise():
    true, hits = np.array([0.8, 0, -0.8]), []
    wins = np.exp(np.subtract.outer(true, true) / 2)
    rates = (
        ((wins + 0.25) / (wins + wins.T + 0.5))[~np.eye(3, dtype=bool)].reshape(3, 2).mean(axis=1)
    )
    for seed in range(60):
        table = strengths(compared(games(seed, true, 150))).sort_index()
        hits.append(
            [
                (table["low"] < true) & (true < table["high"]),
                (table["win_low"] < rates) & (rates < table["win_high"]),
            ]
        )
    assert (np.mean(hits, axis=(0, 2)) > 0.9).all()
    assert np.mean(hits) < 0.99


def test_pairs_of_one_prompt_count_as_one_draw():
    rng, rows = np.random.default_rng(0), []
    for q in range(40):  # on half of the prompts x beats all others, on half it loses to all
        word = rng.choice(["A", "B"])
        rows += [(q, "x", other, "ann", word) for other in "abcdef"]
    width = [
        np.ptp(strengths(compared(each)).loc["x", ["win_low", "win_high"]])
        for each in (rows, [(i, *row[1:]) for i, row in enumerate(rows)])
    ]
    assert 2 < width[0] / width[1] < 3  # the root of six pairs a prompt is 2.4


def test_unsure_winners_count_in_part_and_widen_the_interval_as_if_drawn():
    judges = ["ann", "bob", "cy", "dan"]
    rows = [(q, "x", "y", who, "A" if q % 4 else "B") for q in range(80) for who in judges]
    rows = [(*row[:4], "A" if row[3] == "cy" else row[4]) for row in rows]  # cy differs on 20
    table = strengths(compared(rows))
    rate, low, high = table.loc["x", ["win_rate", "win_low", "win_high"]]
    assert_allclose(rate, 0.75 + 0.25 / 4)
    assert_allclose(high - low, 2 * 1.96 * np.sqrt(rate * (1 - rate) / 80), rtol=0.03)
    assert_allclose(table.loc["x", "strength"], np.log(rate / (1 - rate)) / 2, rtol=0.02)
    width = table.loc["x", "high"] - table.loc["x", "low"]
    assert_allclose(width, 1.96 / np.sqrt(80 * rate * (1 - rate)), rtol=0.05)


def test_a_winner_between_a_tie_and_one_item_varies_less_than_one_between_both():
    rows = [
        (q, "x", "y", who, said) for q in range(80) for who, said in [("ann", "A"), ("bob", "tie")]
    ]
    rate, low, high = strengths(compared(rows)).loc["x", ["win_rate", "win_low", "win_high"]]
    assert rate == 0.75
    assert_allclose(high - low, 2 * 1.96 * np.sqrt((0.5 + 0.5 / 4 - rate**2) / 80), rtol=0.03)


def test_few_prompts_count_as_one_less():
    rows = [(q, "x", "y", "ann", "A" if q < 7 else "B") for q in range(10)]
    low, high = strengths(compared(rows)).loc["x", ["win_low", "win_high"]]
    assert_allclose([low, high], wilson_ends(0.7, 9))


def test_pairs_of_a_single_prompt_are_drawn_one_by_one():
    rows = [("q", "x", other, "ann", word) for other, word in zip("abcdef", "AAABBA", strict=True)]
    low, high = strengths(compared(rows)).loc["x", ["low", "high"]]
    assert high - low > 0.5


def test_which_item_is_above_the_next_follows_from_both_errors_and_not_from_names():
    rows = [(q, "x", "y", "ann", "A" if q % 10 < 6 else "B") for q in range(100)]
    odds = np.log(60 / 40) / np.sqrt(1 / 60 + 1 / 40)
    assert_allclose(strengths(compared(rows)).loc["x", "above_next"], norm.cdf(odds), atol=0.005)
    rows = games(2, [0.1, -0.5, 0.6, 0], 120)
    other = [(q, f"{3 - int(a)}", f"{3 - int(b)}", *rest) for q, a, b, *rest in rows]
    one, two = strengths(compared(rows)), strengths(compared(other))
    assert_allclose(one["above_next"], two["above_next"], atol=1e-6)
    assert [f"{3 - int(item)}" for item in one.index] == two.index.tolist()


def test_a_jury_finds_the_order_of_items_in_spite_of_a_judge_who_looks_at_the_place():
    rng, rows = np.random.default_rng(0), []
    for q in range(150):
        for i, j in [(0, 1), (0, 2), (1, 2)]:
            better = rng.random() < 0.7
            for judge, right, leaning in [("ann", 0.9, 0), ("bob", 0.8, 0), ("cy", 0.7, 0.8)]:
                for way, good in [((i, j), better), ((j, i), not better)]:
                    word = good if rng.random() < right else not good
                    word = True if rng.random() < leaning else word
                    rows.append(
                        (q, *"xyz"[slice(None)][way[0]], "xyz"[way[1]], judge, "A" if word else "B")
                    )
    comparisons = compared(rows)
    low = dict(zip(*(comparisons.position_bias()[name] for name in ("judge", "low")), strict=True))
    assert low["cy"] > 0.8 > 0.6 > max(low["ann"], low["bob"])
    consensus = solve(comparisons.votes)
    assert comparisons.strengths(consensus)["item"] == ["x", "y", "z"]
    skill = dict(zip(*(consensus.voters()[name] for name in ("model", "agreement")), strict=True))
    assert skill["cy"] < skill["bob"] < skill["ann"]


def test_a_consensus_of_other_votes_is_refused():
    one, other = (
        compared([("q", "x", "y", "ann", "A"), ("r", "x", "y", "ann", "B")]),
        compared([("q", "x", "z", "ann", "A"), ("r", "x", "z", "ann", "B")]),
    )
    with pytest.raises(InputError, match="consensus must be made from the votes of these"):
        one.strengths(MajorityVote().solve(other.votes))
    assert isinstance(one.strengths(MajorityVote().solve(one.votes)), Table)
