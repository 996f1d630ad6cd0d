"""All methods side by side: who differs, on which objects, and how often each is right."""

import re

import numpy as np
import pytest

from ec3learn import METHODS, DawidSkene, MajorityVote, Votes, WeightedVote, compare
from ec3learn.diagnosis import cross_validate, judge


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
    by_hand = compared.answers["weighted"].labels() != compared.answers["majority"].labels()
    assert compared.disagreement == pytest.approx(by_hand @ votes.sample_weight / 10)
    assert compare(votes, methods={"once": "majority", "again": "majority"}).disagreement == 0


def test_by_default_every_method_answers_once():
    votes, _ = noisy_votes()
    compared = compare(votes, fast=True)
    assert [*compared.answers, *compared.refused] == list(METHODS)


def test_each_method_is_cross_validated_on_the_same_known_labels():
    votes, truth = noisy_votes()
    known = {i: int(truth[i]) for i in range(40)}
    methods = {"majority": MajorityVote(), "ds": DawidSkene(), "upe": METHODS["upe"]()}
    compared = compare(votes, known, methods)
    rows = {row["method"]: row for row in compared.table.rows()}
    for name in ("majority", "ds"):
        score = cross_validate(compared.answers[name], methods[name])
        assert (rows[name]["correct"], rows[name]["low"], rows[name]["high"]) == (
            score.accuracy,
            *score.interval,
        )
    without = judge(
        methods["upe"].solve(votes), known
    )  # it supports no known labels, and so has seen none of them
    assert rows["upe"]["correct"] == without.consensus.accuracy
    assert compared.table["correct"] == sorted(compared.table["correct"], reverse=True)
    assert "80 objects without a known label" in str(compared)
    assert "Cross-validated on 40 known labels, with 95 % intervals" in str(compared)


def test_few_known_labels_give_no_score():
    votes, truth = noisy_votes()
    compared = compare(votes, {0: int(truth[0])}, ["majority", "upe"])
    assert compared.scores == {}
    assert "correct" not in compared.table.columns


def test_true_labels_judge_every_method():
    votes, truth = noisy_votes()
    compared = compare(votes, methods=["majority", "dawid-skene"], truth=truth)
    right = {name: (answer.labels() == truth).mean() for name, answer in compared.answers.items()}
    assert dict(
        zip(compared.table["method"], compared.table["correct"], strict=True)
    ) == pytest.approx(right)


def test_disputed_objects_come_first_and_say_who_says_what():
    votes, _ = noisy_votes()
    compared = compare(votes, methods=["majority", "dawid-skene", "bgcm", "ebcc"])
    codes = np.stack([answer.labels() for answer in compared.answers.values()])
    against = np.minimum((codes == 0).sum(axis=0), (codes == 1).sum(axis=0))
    disputed = compared.disputed(1000)
    assert [against[i] for i in disputed["object"]] == sorted(
        (against[i] for i in disputed["object"]), reverse=True
    )
    assert sum(disputed["alike"]) == (against > 0).sum() > 0
    first = next(disputed.rows())
    names = [
        name
        for name, code in zip(compared.answers, codes[:, first["object"]], strict=True)
        if code == first["label"]
    ]
    assert f"{first['label']}: {', '.join(names)}" in first["who"]
    assert "majority" in names


def test_a_method_that_cannot_answer_is_left_out_with_the_reason():
    compared = compare(
        noisy_votes()[0], methods={"majority": "majority", "bad": DawidSkene(max_iter=-1)}
    )
    assert list(compared.answers) == ["majority"]
    assert "Left out: bad. max_iter must be an integer >= 1, got -1." in str(compared)


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
