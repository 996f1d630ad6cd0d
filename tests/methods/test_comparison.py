"""All methods side by side: who differs, on which objects, and how often each is right."""

import re

import numpy as np
import pytest

from ec3learn import METHODS, DawidSkene, MajorityVote, Votes, WeightedVote, solve
from ec3learn.diagnosis import cross_validate, judge
from ec3learn.methods import compare


def noisy_votes(n=120, seed=0):
    """Five voters of falling quality on two classes, and a clustering that follows the classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    said = {
        f"v{j}": np.where(rng.random(n) < right, truth, 1 - truth)
        for j, right in enumerate((0.95, 0.8, 0.7, 0.6, 0.55))
    }
    return Votes.from_labels(said, {"km": np.where(rng.random(n) < 0.9, truth, 1 - truth)}), truth


def test_the_share_on_which_methods_disagree_is_counted_by_object():
    votes = Votes.from_labels(
        {"a": [0, 0, 1, 1, 0], "b": [0, 1, 1, 1, 0], "c": [0, 1, 0, 1, 1]},
        sample_weight=[1, 1, 1, 5, 2],
        weights=[5, 1, 1],
    )
    compared = compare(votes, methods={"weighted": WeightedVote(), "majority": MajorityVote()})
    apart = WeightedVote().solve(votes).labels() != MajorityVote().solve(votes).labels()
    differs = dict(zip(compared["method"], compared["differs"], strict=True))
    assert differs == {"weighted": 0, "majority": pytest.approx(apart @ votes.sample_weight / 10)}
    same = compare(votes, methods={"once": "majority", "again": "majority"})
    assert same["differs"] == [0, 0]


def test_by_default_every_method_answers_once():
    votes, _ = noisy_votes()
    compared = compare(votes, fast=True)
    refused = re.findall("Left out: ([^.]*)", compared.note)
    assert sorted([*compared["method"], *refused]) == sorted(METHODS)


def test_each_method_is_cross_validated_on_the_same_known_labels():
    votes, truth = noisy_votes()
    known = {i: int(truth[i]) for i in range(40)}
    methods = {"majority": MajorityVote(), "ds": DawidSkene(), "upe": METHODS["upe"]()}
    compared = compare(votes, known, methods)
    rows = {row["method"]: row for row in compared.rows()}
    for name in ("majority", "ds"):
        score = cross_validate(methods[name].solve(votes, known), methods[name])
        assert (rows[name]["correct"], rows[name]["low"], rows[name]["high"]) == (
            score.accuracy,
            *score.interval,
        )
    without = judge(
        methods["upe"].solve(votes), known
    )  # it supports no known labels, and so has seen none of them
    assert rows["upe"]["correct"] == without.consensus.accuracy
    assert compared["correct"] == sorted(compared["correct"], reverse=True)
    assert "80 objects without a known label" in compared.note
    assert "Cross-validated on 40 known labels, with 95 % intervals" in compared.note


def test_few_known_labels_give_no_score():
    votes, truth = noisy_votes()
    compared = compare(votes, {0: int(truth[0])}, ["majority", "upe"])
    assert "correct" not in compared.columns


def test_true_labels_judge_every_method():
    votes, truth = noisy_votes()
    compared = compare(votes, methods=["majority", "dawid-skene"], truth=truth)
    right = {
        name: (METHODS[name]().solve(votes).labels() == truth).mean() for name in compared["method"]
    }
    by_name = dict(zip(compared["method"], compared["correct"], strict=True))
    assert by_name == pytest.approx(right)


def test_a_method_that_cannot_answer_is_left_out_with_the_reason():
    compared = compare(
        noisy_votes()[0], methods={"majority": "majority", "bad": DawidSkene(max_iter=-1)}
    )
    assert compared["method"] == ["majority"]
    assert "Left out: bad. max_iter must be an integer >= 1, got -1." in compared.note


@pytest.mark.parametrize(
    ("methods", "sentence"),
    [
        (["majority", "ebcd"], "Unknown method 'ebcd'. Did you mean 'ebcc'?"),
        ("majority", "methods must be a list of methods or of their names, got 'majority'."),
        ([], "methods must name at least one method, got none."),
        (["majority", "majority"], "methods must not repeat, got ['majority', 'majority']."),
    ],
)
def test_wrong_methods_are_refused(methods, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        compare(noisy_votes()[0], methods=methods)


def test_wrong_labels_are_an_error_and_not_a_reason_to_leave_a_method_out():
    with pytest.raises(
        ValueError, match=re.escape("known must hold classes, [0, 1], got 7 for object 3")
    ):
        compare(noisy_votes()[0], {3: 7}, ["majority"])


@pytest.mark.parametrize("argument", ["known", "truth"])
def test_labels_that_were_chosen_leave_the_scores_out_and_say_so(argument):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    votes = Votes.from_labels({f"v{j}": truth ^ (rng.random(300) < 0.3) for j in range(5)})
    asked = solve(votes).ask(40).to_frame()
    asked["label"] = truth[asked["object"]]
    compared = compare(votes, methods=["majority", "auto"], **{argument: asked})
    assert "correct" not in compared.columns
    assert compared.note.endswith("they correct the answer but do not measure it.")
    at_random = dict(enumerate(truth[:40].tolist()))
    compared = compare(votes, methods=["majority", "auto"], **{argument: at_random})
    assert "correct" in compared.columns and "because they were hard" not in compared.note
