"""Voting: counted by hand."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from ec3learn import EC3, DawidSkene, MajorityVote, SoftVote, Votes, WeightedVote
from ec3learn.methods import ReliabilityWarning
from ec3learn.votes import merge_equal_rows


def test_the_probabilities_are_shares_of_the_votes(w8):
    third = 1 / 3
    wanted = [
        [3, 0, 0],
        [2, 1, 0],
        [2, 1, 0],
        [0, 3, 0],
        [0, 2, 1],
        [0, 2, 1],
        [0, 0, 3],
        [1, 0, 2],
    ]
    assert_allclose(MajorityVote().solve(w8).proba, np.array(wanted) * third, rtol=0, atol=1e-15)


def test_clusterings_have_no_say(tiny_votes):
    for method in (MajorityVote(), SoftVote(), WeightedVote("equal")):
        alone = method.solve(tiny_votes.drop("kmeans"))
        assert_array_equal(method.solve(tiny_votes).proba, alone.proba)


def test_a_tie_goes_to_the_class_with_more_votes_overall_then_to_the_first():
    votes = Votes.from_labels({"c": ["b", "a", "b"], "d": ["a", "b", "b"]})
    assert MajorityVote().solve(votes).labels().tolist() == ["b", "b", "b"]
    even = Votes.from_labels({"c": ["b", "a"], "d": ["a", "b"]})
    assert MajorityVote().solve(even).labels().tolist() == ["a", "a"]


def test_majority_counts_a_soft_vote_for_its_most_probable_class():
    votes = Votes.from_probabilities(
        {"c": [[0.6, 0.4], [0.1, 0.9]], "d": [[0.55, 0.45], [0.2, 0.8]], "e": [0, 0]}
    )
    assert_allclose(MajorityVote().solve(votes).proba, [[1, 0], [1 / 3, 2 / 3]], rtol=0, atol=1e-15)


def test_majority_shares_a_soft_vote_that_is_tied():
    votes = Votes.from_probabilities(
        {"c": [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], "d": [[1, 0, 0], [0, 0, 1]]}
    )
    assert_allclose(
        MajorityVote().solve(votes).proba, [[0.75, 0.25, 0], [0, 0, 1]], rtol=0, atol=1e-15
    )


def test_majority_hardens_the_votes_on_new_objects_too():
    votes = Votes.from_probabilities({"c": [[0.6, 0.4], [0.1, 0.9]], "d": [[0.9, 0.1], [0.2, 0.8]]})
    new = Votes.from_probabilities({"c": [[0.51, 0.49]], "d": [[0.1, 0.9]]})
    assert MajorityVote().solve(votes).extend(new).proba.tolist() == [[0.5, 0.5]]


def test_a_soft_vote_is_the_mean_probability_of_those_who_voted():
    nobody = [np.nan, np.nan]
    votes = Votes.from_probabilities({"c": [[0.9, 0.1], nobody], "d": [[0.4, 0.6], [0.3, 0.7]]})
    assert_allclose(SoftVote().solve(votes).proba, [[0.65, 0.35], [0.3, 0.7]], rtol=0, atol=1e-15)


def test_a_soft_vote_is_ec3_with_gamma_alone(w8):
    assert_allclose(
        SoftVote().solve(w8).proba,
        EC3(alpha=0, beta=0, delta=0).solve(w8).proba,
        rtol=0,
        atol=1e-12,
    )


def test_given_weights_count_as_that_many_votes():
    votes = Votes.from_labels({"good": [0, 1, 0], "fair": [0, 1, 1], "poor": [1, 0, 1]})
    consensus = WeightedVote({"good": 3}).solve(votes)
    assert_allclose(consensus.proba[2], [3 / 5, 2 / 5], rtol=0, atol=1e-15)
    assert consensus.weights.tolist() == [3, 1, 1]


def test_weights_come_on_top_of_those_of_the_votes():
    votes = Votes.from_labels({"c": [0], "d": [1]}, weights={"c": 2})
    assert_allclose(WeightedVote([3, 1]).solve(votes).proba, [[6 / 7, 1 / 7]], rtol=0, atol=1e-15)


def test_learned_weights_beat_the_majority_where_skill_differs():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=3000)
    right = rng.random((3000, 5)) < [0.95, 0.95, 0.6, 0.6, 0.6]
    votes = Votes.from_labels(np.where(right, truth[:, None], 1 - truth[:, None]))
    accuracy = {
        type(m).__name__: (m.solve(votes).labels() == truth).mean()
        for m in (MajorityVote(), WeightedVote())
    }
    assert accuracy["WeightedVote"] > accuracy["MajorityVote"] + 0.05


def test_a_known_label_is_the_answer(w8):
    consensus = SoftVote().solve(w8, known={0: 2})
    assert consensus.proba[0].tolist() == [0, 0, 1]


def test_a_wrong_number_of_rounds_is_refused(w8):
    with pytest.raises(ValueError, match=r"^reweight_rounds must be an integer >= 0, got -1\.$"):
        WeightedVote(reweight_rounds=-1).solve(w8)


# ---- notes on tables that may not be what they seem ----------------------------------------------


def kinds(votes):
    return [note.kind for note in MajorityVote().solve(votes).notes]


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (["No", "no", "No "], "'No' and 'No ' and 'no'"),
        (["1", "1.0", " 1"], "' 1' and '1' and '1.0'"),
        (["a b", "a  B"], "'a  B' and 'a b'"),
        (["-2.000", "-2"], "'-2' and '-2.000'"),
    ],
)
def test_labels_that_look_alike_are_named(labels, named):
    (note,) = MajorityVote().solve(Votes.from_labels({"a": labels, "b": labels})).notes
    assert note.kind == "look alike"
    wanted = "Some labels differ only in case, spaces or how a number is written, and count as different classes: "
    assert str(note) == f"{wanted}{named}. Write them alike if they mean the same."


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        ["1", "10"],
        ["x1.0", "x1"],
        ["1.0.0", "1.0", "2"],
        [1, 2],
        [True, False],
    ],
)
def test_labels_that_differ_are_not_noted(labels):
    assert kinds(Votes.from_labels({"a": labels, "b": labels})) == []


def test_voters_that_look_alike_are_named():
    (note,) = (
        MajorityVote()
        .solve(Votes.from_long([1, 1, 2, 2], ["gpt", "ann", "GPT ", "ann"], list("abab")))
        .notes
    )
    assert note.kind == "look alike"
    wanted = "Some voters differ only in case, spaces or how a number is written, and count as different voters: "
    assert str(note) == f"{wanted}'GPT ' and 'gpt'. Write them alike if they are the same."


def test_a_single_voter_is_noted():
    (note,) = MajorityVote().solve(Votes.from_labels({"a": ["x", "y"]}, {"k": [0, 1]})).notes
    assert (note.kind, str(note)) == (
        "one voter",
        "There is only one voter, so nothing tells where it is wrong.",
    )


@pytest.mark.parametrize(("weights", "number"), [([0.25] * 4, 2), ([0.5] * 4, 2), ([2.0] * 4, 4)])
def test_objects_without_a_vote_are_counted_by_whole_weights_only(weights, number):
    votes = Votes.from_labels(
        {"a": ["x", "y", None, None], "b": ["x", "y", None, None]}, sample_weight=weights
    )
    assert any(
        f"{number} objects have no vote" in str(note)
        for note in MajorityVote().solve(merge_equal_rows(votes)).notes
    )


def test_a_single_column_may_be_a_long_table():
    (small,), (note,) = (
        MajorityVote().solve(Votes.from_labels({"label": ["x", "y"] * n})).notes for n in (1, 100)
    )
    assert (small.kind, note.kind) == ("one voter", "long table")
    assert str(small) == str(note)
    assert str(note).endswith(
        "If the table has one row per vote, name its columns of objects and voters."
    )
    assert kinds(Votes.from_long([1, 2], ["ann", "ann"], ["x", "y"])) == ["one voter"]


@pytest.mark.parametrize(
    ("labels", "remedy"),
    [
        (["x", "Unknown"], "missing='Unknown'"),
        (["x", "n/a"], "missing='n/a'"),
        ([0, 1, 2, -1], "missing=-1"),
    ],
)
def test_a_label_that_may_mean_no_answer_is_named(labels, remedy):
    (note,) = MajorityVote().solve(Votes.from_labels({"a": labels, "b": labels})).notes
    assert note.kind == "no answer"
    assert (
        str(note)
        == f"The label {labels[-1]!r} counts as a class. If it means that a voter did not answer, pass {remedy}."
    )


@pytest.mark.parametrize(
    "labels",
    [["no", "nay"], ["+", "-"], ["none", "mild"], [-1, 0, 1], [-2, -1, 0], [0, 1], [False, True]],
)
def test_other_labels_are_answers(labels):
    assert kinds(Votes.from_labels({"a": labels, "b": labels})) == []


def test_shares_that_round_below_zero_are_zero():
    shares = [[0, 0, 1], [0.8, 0.2, 0]]
    votes = Votes.from_labels(
        {"soft": np.array(shares), "sure": ["a", None]}, classes=["a", "b", "c"]
    )
    assert SoftVote().solve(votes).proba[1].tolist() == [0.8, 0.2, 0]


# ---- weights -------------------------------------------------------------------------------------


def annotators(seed, *, threshold, spread, n_objects=108, n_annotators=39):
    """Yes-or-no questions; annotators see the truth through noise and say yes above thresholds of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_objects) < 0.45
    seen = rng.normal(size=(n_objects, n_annotators)) + np.where(truth, 0.65, -0.65)[:, None]
    said = seen > rng.normal(threshold, spread, n_annotators)
    return Votes.from_labels({f"a{j}": said[:, j] for j in range(n_annotators)}), truth


def accuracy(method, votes, truth):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReliabilityWarning)
        return (method.solve(votes).labels() == truth).mean()


@pytest.mark.filterwarnings(
    "ignore::ec3learn.methods.ReliabilityWarning"
)  # that one is biased indeed
def test_an_annotator_who_always_says_the_same_gets_no_weight():
    rng = np.random.default_rng(0)
    truth = rng.random(1000) < 0.2
    right = rng.random((1000, 4)) < 0.8
    said = np.where(right, truth[:, None], ~truth[:, None])
    votes = Votes.from_labels(
        {**{f"a{j}": said[:, j] for j in range(4)}, "no": np.zeros(1000, dtype=bool)}
    )
    weights = WeightedVote().solve(votes).weights
    assert weights[4] < 0.01
    assert (weights[:4] > 0.5).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("method", [EC3(weights="agreement"), WeightedVote()])
def test_bias_that_weights_cannot_fix_is_warned_about(method, seed):
    votes, truth = annotators(seed, threshold=0.9, spread=0.5)
    assert accuracy(DawidSkene(), votes, truth) > accuracy(method, votes, truth) + 0.05
    with pytest.warns(
        ReliabilityWarning,
        match=r"^The voters look biased, .*, and one weight each cannot fix that:",
    ):
        consensus = method.solve(votes)
    assert any(
        "compare with method='dawid-skene' or towards='dawid-skene'" in str(note)
        for note in consensus.notes
    )


@pytest.mark.parametrize("seed", range(5))
def test_towards_dawid_skene_is_the_remedy(seed):
    votes, truth = annotators(seed, threshold=0.9, spread=0.5)
    best = accuracy(DawidSkene(), votes, truth)
    assert accuracy(EC3(towards=DawidSkene()), votes, truth) > best - 0.01
    assert accuracy(MajorityVote(), votes, truth) < best - 0.05


@pytest.mark.parametrize("seed", range(5))
def test_unbiased_annotators_raise_no_doubt(seed):
    votes, _ = annotators(seed, threshold=0.0, spread=0.1)
    for method in (EC3(weights="agreement"), WeightedVote()):
        assert not [note for note in method.solve(votes).notes if note.kind == "weights"]


def test_agreement_by_class_loses_less_where_annotators_are_biased():
    by_class, by_majority = [], []
    for seed in range(8):
        votes, truth = annotators(seed, threshold=0.4, spread=0.9)
        by_class.append(accuracy(WeightedVote(), votes, truth))
        by_majority.append(accuracy(MajorityVote(), votes, truth))
    assert np.mean(by_class) > np.mean(by_majority)


def test_weights_that_do_not_settle_are_warned_about():
    # Two camps of equal strength: the weights drift to one of them, slowly at first; two rounds are
    # too few.
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=300)
    skill = norm.cdf(np.linspace(-0.2, 0.9, 9))
    said = np.where(rng.random((300, 9)) < skill, truth[:, None], 1 - truth[:, None])
    with pytest.warns(
        ReliabilityWarning,
        match=r"^Weights from agreement did not settle in 1 round\. Raise reweight_rounds, ",
    ):
        WeightedVote(reweight_rounds=1).solve(Votes.from_labels(said))
