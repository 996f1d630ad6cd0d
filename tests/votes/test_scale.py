"""Answers on a scale: what they become, and what is refused."""

import re

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ec3learn
from ec3learn import EC3, Consensus, MajorityVote, Scale, SoftVote, Votes, votes_from
from ec3learn.votes import as_class_votes, group_meaning, votes_per_model
from ec3learn.votes.operations import class_shares

FINE_TOXIC = ["fine", "toxic"]


def test_a_score_of_0_to_9_is_a_vote_for_the_nearer_end():
    shares = class_shares(Scale(range(10)).positions, 2)
    assert_array_equal(shares.argmax(axis=1), [0] * 5 + [1] * 5)
    assert_array_equal(shares.max(axis=1), np.ones(10))


def test_the_middle_of_an_odd_scale_is_half_a_vote_for_either_side():
    assert_array_equal(
        class_shares(Scale([1, 2, 3, 4, 5]).positions, 2),
        [[1, 0], [1, 0], [0.5, 0.5], [0, 1], [0, 1]],
    )


def test_three_classes_divide_a_scale_evenly():
    assert_array_equal(
        class_shares(Scale([1, 2, 3, 4, 5]).positions, 3).argmax(axis=1),
        [0, 0, 1, 2, 2],
    )


def test_an_answer_is_shared_between_the_classes_it_lies_between():
    votes = Votes.from_labels(
        {"j": [1, 5]}, classes=["no", "maybe", "yes"], scale=Scale(range(1, 6), ["unsure"])
    )
    shares = group_meaning(votes).toarray()
    expected = [[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1], [0, 0, 0]]
    assert_allclose(shares, expected)
    assert_allclose(SoftVote().solve(votes).proba, [[1, 0, 0], [0, 0, 1]])


def test_an_answer_without_an_order_is_no_vote_for_a_class():
    votes = Votes.from_labels(
        {"j": [0, "unsure", 9]}, classes=FINE_TOXIC, scale=Scale(range(10), unordered=["unsure"])
    )
    assert [as_class_votes(votes).said(i) for i in range(3)] == [["fine"], [None], ["toxic"]]
    assert votes.said(1) == ["unsure"]


def test_a_scale_that_runs_down_is_turned_around():
    votes = Votes.from_labels(
        {"j": [1, 5]}, classes=FINE_TOXIC, scale=Scale(range(1, 6), direction="down")
    )
    assert [as_class_votes(votes).said(i) for i in range(2)] == [["toxic"], ["fine"]]


def test_voters_may_have_different_scales_or_none():
    said = {"scores": [0, 9, None], "stars": [1, 3, 5], "plain": ["fine", "toxic", "fine"]}
    votes = Votes.from_labels(said, scale={"scores": range(10), "stars": range(1, 6)})
    assert_array_equal(votes.classes, FINE_TOXIC)
    half = {"fine": 0.5, "toxic": 0.5}
    assert [as_class_votes(votes).said(i) for i in range(3)] == [
        ["fine", {"fine": 1.0, "toxic": 0.0}, "fine"],
        ["toxic", half, "toxic"],
        [None, {"fine": 0.0, "toxic": 1.0}, "fine"],
    ]


def test_wide_and_long_tables_of_scores_are_the_same_votes():
    scores = np.random.default_rng(0).integers(10, size=(30, 4))
    wide = Votes.from_labels(
        {f"j{j}": scores[:, j] for j in range(4)}, classes=FINE_TOXIC, scale=range(10)
    )
    objects, voters = np.indices(scores.shape)
    long = Votes.from_long(
        objects.ravel(),
        [f"j{j}" for j in voters.ravel()],
        scores.ravel(),
        classes=FINE_TOXIC,
        scale=range(10),
    )
    assert_allclose(SoftVote().solve(long).proba, SoftVote().solve(wide).proba)
    assert [long.said(i) for i in range(30)] == [wide.said(i) for i in range(30)]


def test_scores_and_classes_stand_side_by_side_in_a_long_table():
    votes = Votes.from_long(
        [0, 0, 1, 1], ["a", "b", "a", "b"], [7, "fine", 2, "toxic"], scale={"a": range(10)}
    )
    assert_array_equal(votes.classes, FINE_TOXIC)
    assert [as_class_votes(votes).said(i) for i in range(2)] == [
        ["toxic", "fine"],
        ["fine", "toxic"],
    ]


def test_a_method_that_needs_classes_says_that_it_took_them_from_scores():
    votes = Votes.from_labels({"a": [0, 9], "b": [1, 8]}, classes=FINE_TOXIC, scale=range(10))
    (note,) = EC3().solve(votes).notes
    assert note.kind == "grades"
    assert str(note).startswith(
        "2 voters answered on a scale, and each answer was taken as a vote for the nearest class."
    )


def test_new_scores_are_answered_by_a_saved_consensus(tmp_path):
    votes = Votes.from_labels({"a": [0, 9, 3], "b": [1, 8, 6]}, classes=FINE_TOXIC, scale=range(10))
    EC3().solve(votes).save(tmp_path / "x.ec3")
    new = Votes.from_labels({"a": [9], "b": [9]}, classes=FINE_TOXIC, scale=range(10))
    assert_array_equal(Consensus.load(tmp_path / "x.ec3").extend(new).labels(), ["toxic"])


def test_a_score_out_of_range_is_refused_or_missing():
    message = (
        "classifiers must hold answers of the scale, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], got 11 at row 1 in column 'j' "
        "and 1 more off it. Pass missing=11 if it means no vote, or a scale with outside='missing' for all such answers."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Votes.from_labels({"j": [0, 11, -3]}, classes=FINE_TOXIC, scale=range(10))
    votes = Votes.from_labels(
        {"j": [0, 11, 9]}, classes=FINE_TOXIC, scale=Scale(range(10), outside="missing")
    )
    assert [votes.said(i) for i in range(3)] == [[0], [None], [9]]


# ---- scores of any value -------------------------------------------------------------------------


def test_each_voter_has_at_most_ten_steps_among_its_own_scores():
    rng = np.random.default_rng(0)
    low, high = rng.uniform(0, 0.2, 300).round(3), rng.uniform(0.9, 1, 300).round(3)
    votes = Votes.from_labels({"low": low, "high": high}, classes=FINE_TOXIC, scale=Scale(0.0, 1.0))
    for model, scores in zip(votes.models, (low, high), strict=True):
        steps = model.labels.astype(float)
        assert len(steps) == 10
        assert set(steps) <= set(scores)
        assert_array_equal(model.positions, steps)
    said = np.array([votes.said(i)[0] for i in range(300)], dtype=float)
    apart = np.abs(low[:, None] - votes.models[0].labels.astype(float))
    assert_allclose(np.abs(low - said), apart.min(axis=1), atol=1e-12)
    assert MajorityVote().solve(votes).proba[:, 0].tolist() == [0.5] * 300


@pytest.mark.parametrize("direction", ["up", "down"])
def test_few_scores_are_their_own_steps_in_order(direction):
    scores = [1, 50, 100, "7.5", " 50", None, 99]
    votes = Votes.from_labels(
        {"j": scores}, classes=FINE_TOXIC, scale=Scale(1, 100, direction=direction)
    )
    assert [votes.said(i) for i in range(7)] == [
        [x] for x in ("1", "50", "100", "7.5", "50", None, "99")
    ]
    expected = (np.array([1, 7.5, 50, 99, 100]) - 1) / 99
    assert_allclose(votes.models[0].positions, expected if direction == "up" else 1 - expected)


def test_steps_may_be_stated():
    votes = Votes.from_labels(
        {"j": [0.0, 0.24, 0.26, 0.9, 1.0]}, classes=FINE_TOXIC, scale=Scale(0, 1, steps=[1, 0, 0.5])
    )
    assert [votes.said(i) for i in range(5)] == [["0"], ["0"], ["0.5"], ["1"], ["1"]]


def test_raw_scores_are_the_same_votes_in_wide_and_long_tables():
    scores = np.random.default_rng(0).random((60, 3))
    scores[3, 1] = np.nan
    wide = Votes.from_labels(
        {f"j{j}": scores[:, j] for j in range(3)}, classes=FINE_TOXIC, scale=Scale(0.0, 1.0)
    )
    objects, voters = np.indices(scores.shape)
    names = [f"j{j}" for j in voters.ravel()]
    long = Votes.from_long(
        objects.ravel(), names, scores.ravel(), classes=FINE_TOXIC, scale=Scale(0.0, 1.0)
    )
    assert [long.said(i) for i in range(60)] == [wide.said(i) for i in range(60)]
    assert wide.said(3)[1] is None


def test_masked_scores_are_missing_and_a_voter_of_one_score_has_one_step():
    masked = np.ma.MaskedArray([0.2, 0.9, 0.4], mask=[0, 1, 0])
    votes = Votes.from_labels(
        {"a": masked, "b": [0.7] * 3}, classes=FINE_TOXIC, scale=Scale(0.0, 1.0)
    )
    assert [votes.said(i) for i in range(3)] == [["0.2", "0.7"], [None, "0.7"], ["0.4", "0.7"]]


def test_scores_beyond_the_ends_are_refused_or_counted():
    said = {"j": [0.2, 1.5, -3, "high"]}
    message = "classifiers must hold scores from 0 to 1, got '1.5' at row 1 in column 'j' and 2 more off it."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        Votes.from_labels(said, classes=FINE_TOXIC, scale=Scale(0.0, 1.0))
    votes = Votes.from_labels(said, classes=FINE_TOXIC, scale=Scale(0, 1, outside="missing"))
    assert [votes.said(i) for i in range(4)] == [["0.2"], [None], [None], [None]]
    assert votes.stores.n_outside == 3


def test_new_scores_are_rounded_to_the_steps_of_a_saved_consensus(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    table = pl.DataFrame(
        {name: np.clip(truth * 0.4 + rng.normal(0.3, 0.15, 200), 0, 1) for name in ("a", "b", "c")}
    )
    how = {"classifiers": ["a", "b", "c"], "classes": FINE_TOXIC}
    consensus = ec3learn.solve(votes_from(table, scale=Scale(0.0, 1.0), **how))
    consensus.save(tmp_path / "x.ec3")
    new = pl.DataFrame({"a": [0.01, 0.99], "b": [0.05, 0.985], "c": [0.1, 0.93]})
    answers = ec3learn.extend(new, Consensus.load(tmp_path / "x.ec3"))
    assert answers["consensus"].to_list() == FINE_TOXIC
    right = consensus.labels() == np.array(FINE_TOXIC, dtype=object)[truth]
    assert right.mean() > 0.93


def notes_of(votes, kind):
    return [str(note) for note in MajorityVote().solve(votes).notes if note.kind == kind]


def test_answers_off_the_scale_are_counted_in_a_note():
    scale = Scale(range(10), outside="missing")
    said = {"a": [0, 11, 9, 11], "b": [1, 8, -3, 5], "c": [7, "?", 7, 7]}
    note = ["Off the scale and taken as missing: 4 answers."]
    wide = Votes.from_labels(said, classes=FINE_TOXIC, scale=scale)
    assert notes_of(wide, "outside") == note
    objects, voters = [0, 1, 2, 3] * 3, [*"aaaabbbbcccc"]
    labels = [answer for column in said.values() for answer in column]
    long = Votes.from_long(objects, voters, labels, classes=FINE_TOXIC, scale=scale)
    assert notes_of(long, "outside") == note
    weighted = Votes.from_labels(said, classes=FINE_TOXIC, scale=scale, sample_weight=[1, 2, 3, 0])
    assert notes_of(weighted, "outside") == ["Off the scale and taken as missing: 7 answers."]
    more = wide.add({"d": [1, 99, 2, 3]}, scale=scale)
    assert notes_of(more, "outside") == ["Off the scale and taken as missing: 5 answers."]
    right = Votes.from_labels({"a": [1, 2]}, classes=FINE_TOXIC, scale=scale)
    assert notes_of(right, "outside") == []


def test_voters_without_a_vote_that_can_be_read_are_named():
    said = {"a": [0, 1], "b": [None, None], "c": [11, 12]}
    votes = Votes.from_labels(
        said, {"k": [-1, -1]}, classes=FINE_TOXIC, scale=Scale(range(10), outside="missing")
    )
    assert notes_of(votes, "no votes") == ["2 voters gave no vote that can be read: b, c."]
    assert notes_of(votes.drop("b", "c"), "no votes") == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Scale([1]),
            "values must name at least two answers, from low to high, and none twice, got [1].",
        ),
        (
            lambda: Scale([1, 2, 1]),
            "values must be a list of different labels: all ints, all bools or all strings, got [1, 2, 1].",
        ),
        (
            lambda: Scale("123"),
            "values must be a list of different labels: all ints, all bools or all strings, got '123'.",
        ),
        (
            lambda: Scale([0.5, 1.0]),
            "values must be a list of different labels: all ints, all bools or all strings, got [0.5, 1.0].",
        ),
        (
            lambda: Scale([1, 2], direction="sideways"),
            "Unknown direction 'sideways'. Choose from: up, down.",
        ),
        (
            lambda: Scale(1.0, 0.0),
            "values must be the lowest score, and below the highest, got 1.0 and 0.0.",
        ),
        (
            lambda: Scale(0.0, float("inf")),
            "values must be the lowest score, and below the highest, got 0.0 and inf.",
        ),
        (
            lambda: Votes.from_labels({"j": [1, 2]}, scale=[1, 2]),
            "classes must say what the ends of a scale mean, from low to high, got none. "
            "Pass classes=['bad', 'good'], or whatever they are called.",
        ),
        (
            lambda: Votes.from_labels({"j": [1, 2]}, classes=[0, 1], scale={"k": [1, 2]}),
            "Unknown voter 'k'. Choose from: j.",
        ),
        (
            lambda: Votes.from_labels({"j": [1, 2]}, classes=[0, 1], scale=5),
            "values must be a list of different labels: all ints, all bools or all strings, got 5.",
        ),
    ],
)
def test_scales_that_make_no_sense_are_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}$"):
        make()


def test_shares_on_answers_outside_the_order_are_no_vote():
    shares = np.array([[0.4, 0.1, 0.5], [1, 0, 0], [0, 0, 1]])
    votes = Votes.from_labels(
        {"judge": shares}, classes=["bad", "good"], scale=Scale([0, 1], unordered=["unsure"])
    )
    first, second, third = (as_class_votes(votes).said(i)[0] for i in range(3))
    assert first == pytest.approx({"bad": 0.8, "good": 0.2})
    assert second == pytest.approx({"bad": 1.0, "good": 0.0})
    assert third is None


def test_a_score_may_be_text_as_language_models_write_it():
    scores = {"j": ["4", " 5", "2.0", "N/A"]}
    votes = Votes.from_labels(scores, classes=FINE_TOXIC, scale=range(1, 6), missing="N/A")
    assert [votes.said(i) for i in range(4)] == [[4], [5], [2], [None]]


def test_a_number_of_any_length_is_off_the_scale_instead_of_too_large():
    votes = Votes.from_labels(
        {"j": ["9" * 400, "3"]},
        classes=["bad", "good"],
        scale=Scale(range(1, 6), outside="missing"),
    )
    assert votes_per_model(votes).tolist() == [1]


def test_numbers_are_found_on_a_scale_of_text():
    votes = Votes.from_labels({"j": [1, 3]}, classes=FINE_TOXIC, scale=["1", "2", "3"])
    assert [votes.said(i) for i in range(2)] == [["1"], ["3"]]
