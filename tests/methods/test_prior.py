"""Class probabilities from elsewhere, besides the votes: how far they are trusted, and what each method does with them."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import ec3learn
from ec3learn import (
    BWA,
    EBCC,
    EC3,
    METHODS,
    UPE,
    Consensus,
    DawidSkene,
    MajorityVote,
    Panel,
    SoftVote,
    Votes,
    WeightedVote,
)
from ec3learn._checks import InputError
from ec3learn.algebra.trust import learn_trust
from ec3learn.methods import base
from ec3learn.votes import only_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*solved before"),  # extended to on purpose
    pytest.mark.filterwarnings("ignore::ec3learn.methods.ReliabilityWarning"),
]

ADMITS = {
    "auto": ec3learn.Panel(),
    "dawid-skene": DawidSkene(),
    "ebcc": EBCC(),
    "bwa": BWA(),
    "soft vote": SoftVote(),
    "weighted vote": WeightedVote(),
    "iec3 towards": EC3(towards=DawidSkene()),
}
every_admitting = pytest.mark.parametrize("method", ADMITS.values(), ids=list(ADMITS))
N, K = 400, 3


def accuracy(consensus, truth):
    return float(np.mean(consensus.labels() == truth))


@pytest.fixture(scope="module")
def crowd():
    """400 objects of three classes with one or two votes each, by 12 annotators who are right three times in five."""
    rng = np.random.default_rng(0)
    truth = rng.integers(K, size=N)
    objects = np.concatenate([np.arange(N), np.flatnonzero(rng.random(N) < 0.5)])
    voters = rng.integers(12, size=len(objects))
    labels = np.where(
        rng.random(len(objects)) < 0.6, truth[objects], rng.integers(K, size=len(objects))
    )
    return Votes.from_long(
        objects, voters, labels, object_ids=range(N), classes=range(K), repeats="last"
    ), truth


def informed(truth, share=0.9, sure=0.8, seed=1):
    """Class probabilities that name the truth in some share of the objects."""
    rng = np.random.default_rng(seed)
    named = np.where(rng.random(N) < share, truth, (truth + rng.integers(1, K, size=N)) % K)
    return np.where(np.arange(K) == named[:, None], sure, (1 - sure) / (K - 1))


def unmerged(votes):
    """The same votes with one row per object."""
    return replace(only_rows(votes, votes.index), counts=np.ones(len(votes)))


# ---- what it is worth ----------------------------------------------------------------------------


@every_admitting
def test_a_good_prior_helps(method, crowd):
    votes, truth = crowd
    assert (
        accuracy(method.solve(votes, prior=informed(truth)), truth)
        > accuracy(method.solve(votes), truth) + 0.05
    )


@every_admitting
@pytest.mark.parametrize("kind", ["noise", "wrong"])
def test_a_prior_worse_than_the_votes_does_not_hurt(method, kind, crowd):
    votes, truth = crowd
    prior = (
        np.random.default_rng(2).dirichlet(np.ones(K), N)
        if kind == "noise"
        else informed((truth + 1) % K)
    )
    alone, together = method.solve(votes), method.solve(votes, prior=prior)
    assert accuracy(together, truth) >= accuracy(alone, truth) - 0.005
    assert_allclose(together.proba, alone.proba, atol=1e-9)
    assert "The votes do not bear out the prior of 400 objects: it was not used." in map(
        str, together.notes
    )


def test_a_prior_that_is_too_sure_is_taken_down(crowd):
    votes, truth = crowd
    modest, boastful = (
        DawidSkene().solve(votes, prior=informed(truth, sure=sure)).solution.trust
        for sure in (0.6, 0.999)
    )
    assert boastful.slope < 1 < modest.slope


def test_a_note_says_how_many_votes_it_is_worth(crowd):
    votes, truth = crowd
    consensus = ec3learn.solve(votes, prior=informed(truth))
    (note,) = (str(note) for note in consensus.notes if note.kind == "prior")
    assert re.fullmatch(
        r"The prior of 400 objects was trusted: it counts as much as \d\.\d votes, its log-probabilities times \d\.\d\d\.",
        note,
    )


def test_known_labels_calibrate_it(crowd):
    _, truth = crowd
    prior = informed(truth, share=0.7, sure=0.95)
    errs = prior.argmax(axis=1) != truth
    echo = Votes.from_labels(
        {f"copy {j}": prior.argmax(axis=1) for j in range(3)}, classes=range(K)
    )  # they bear out its errors
    known = {i: int(truth[i]) for i in range(200)}
    blind, taught = (
        DawidSkene().solve(echo, known=labels, prior=prior).solution.trust
        for labels in (None, known)
    )
    left = np.arange(200, N)
    losses = [
        -one.log_proba(prior[left])[np.arange(200), truth[left]].mean() for one in (blind, taught)
    ]
    assert errs.any()
    assert losses[1] < losses[0]


def test_it_is_learned_from_a_sample_of_many_rows(crowd, monkeypatch):
    votes, truth = crowd
    whole = DawidSkene().solve(votes, prior=informed(truth)).solution.trust
    monkeypatch.setattr(base, "learn_trust", partial(learn_trust, sample=150))
    solved = DawidSkene().solve(votes, known={0: int(truth[0])}, prior=informed(truth))
    assert solved.solution.votes.n_rows > 200
    assert solved.solution.trust.slope == pytest.approx(whole.slope, rel=0.5)
    assert solved.solution.trust.weight == pytest.approx(whole.weight, rel=0.5)
    assert solved.solution.trust.slope != whole.slope


@pytest.mark.parametrize("method", ["auto", "dawid-skene", "bwa", "weighted-vote"])
def test_what_voters_weigh_does_not_change_how_far_it_is_trusted(method, crowd):
    votes, truth = crowd
    heavy = replace(votes, weights=np.where(np.arange(len(votes.models)) == 0, 4.0, 1.0))
    plain, weighted = (
        ec3learn.solve(own, method=method, prior=informed(truth)) for own in (votes, heavy)
    )
    assert (weighted.solution.trust.slope, weighted.solution.trust.weight) == (
        plain.solution.trust.slope,
        plain.solution.trust.weight,
    )
    right = [np.mean(own.labels() == truth) for own in (plain, weighted)]
    assert right[1] > right[0] - 0.05


def test_one_class_leaves_nothing_to_trust():
    votes = Votes.from_labels({"a": ["x", "x"]})
    assert ec3learn.solve(votes, method="dawid-skene", prior=[[1.0], [1.0]]).labels().tolist() == [
        "x",
        "x",
    ]


# ---- objects, rows and forms ---------------------------------------------------------------------


@every_admitting
def test_objects_without_a_prior_are_answered_by_their_votes(method, crowd):
    votes, _ = crowd
    nothing = np.full((N, K), np.nan)
    assert_allclose(method.solve(votes, prior=nothing).proba, method.solve(votes).proba, atol=1e-9)


@every_admitting
def test_the_order_of_objects_voters_and_classes_does_not_matter(method):
    rng = np.random.default_rng(2)
    truth = rng.integers(K, size=60)
    said = {
        f"v{j}": np.where(rng.random(60) < 0.6, truth, rng.integers(K, size=60)) for j in range(4)
    }
    prior = (
        0.5 * rng.dirichlet(np.ones(K), 60)
        + 0.5 * np.eye(K)[np.where(rng.random(60) < 0.8, truth, rng.integers(K, size=60))]
    )
    one = method.solve(Votes.from_labels(said, classes=range(K)), prior=prior).proba
    objects, classes = rng.permutation(60), rng.permutation(K)
    turned = Votes.from_labels(
        {name: said[name][objects] for name in reversed(said)}, classes=classes.tolist()
    )
    other = method.solve(turned, prior=prior[np.ix_(objects, classes)]).proba
    assert_allclose(other, one[np.ix_(objects, classes)], rtol=0, atol=1e-5)


def test_an_object_without_votes_gets_what_is_trusted_of_its_prior(crowd):
    votes, truth = crowd
    rest = votes[10:].add({"nobody": [None] * (N - 10)})
    silent = Votes.from_labels({"0": [0], "1": [1]}, classes=range(K))
    prior = informed(truth)
    consensus = DawidSkene().solve(rest, prior=prior[10:])
    unvoted = consensus.extend(silent[[0]].drop("1"), prior=prior[:1])
    assert not consensus.unanswered.any()
    assert unvoted.proba.shape == (1, K)
    gaps = Votes.from_long([0], ["0"], [0], object_ids=[0, 1], classes=range(K))
    second = consensus.extend(gaps, prior=prior[:2])
    assert_allclose(
        second.proba[1], np.exp(consensus.solution.trust.log_proba(prior[1:2]))[0], atol=0.02
    )
    assert not second.unanswered.any()


def test_equal_rows_with_different_priors_get_answers_of_their_own():
    votes = Votes.from_labels({"a": [0, 1] * 50, "b": [0, 1] * 50, "c": [0, 1, 1, 0] * 25})
    prior = np.tile([[0.9, 0.1], [0.1, 0.9]], (50, 1))
    prior[0] = [0.4, 0.6]
    proba = DawidSkene().solve(votes, prior=prior).proba
    assert votes.n_rows == 4
    assert proba[0, 0] < proba[4, 0]


def test_a_dataframe_is_matched_by_the_names_of_its_columns_and_a_dict_by_object():
    votes = Votes.from_long(["p", "p", "q", "r"], ["a", "b", "a", "b"], ["no", "yes", "yes", "no"])
    table = pd.DataFrame({"yes": [0.8, 0.7, 0.1], "no": [0.2, 0.3, 0.9]})
    expected = [[0.2, 0.8], [0.3, 0.7], [0.9, 0.1]]
    assert_allclose(votes.with_prior(table).prior.proba, expected)
    assert_array_equal(votes.with_prior({"q": [0.3, 0.7]}).prior.given, [False, True, False])


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([[0.5, 0.5]], "prior must have one row for each of the 3 objects, got 1 row."),
        (
            [[1.0], [1.0], [1.0]],
            "prior must have one row per object and one column per class, got 1 column of 'prior' for [0, 1].",
        ),
        (
            [0.1, 0.2, 0.3],
            "prior must have one row per object and one column per class, got shape (3,) of 'prior' for [0, 1].",
        ),
        (
            [[0.5, 0.6], [1, 0], [0, 1]],
            "prior must have rows that are non-negative and sum to 1, got a row that sums to 1.1 at row 0. "
            "Divide each row by its sum.",
        ),
        (
            {7: [0.5, 0.5]},
            "prior must name objects by number, from 0 to 2, got 7. Pass object_ids when making the votes, or an array in their order.",
        ),
        (
            pd.DataFrame({"x": [1.0] * 3}),
            "prior must have one column per class, named [0, 1], got ['x'] for 'prior'.",
        ),
    ],
)
def test_a_prior_that_does_not_fit_is_refused(prior, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        DawidSkene().solve(Votes.from_labels({"a": [0, 1, 0]}), prior=prior)


@pytest.mark.parametrize(
    "method", [MajorityVote(), METHODS["bgcm"](), UPE(), Panel(["dawid-skene", "majority"])]
)
def test_a_method_without_a_place_for_a_prior_says_so(method, crowd):
    title = "Majority vote" if isinstance(method, Panel) else method.title
    message = f"{title} does not support a prior. Leave prior out, or take another method, such as method='auto'."
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        method.solve(crowd[0], prior=informed(crowd[1]))


# ---- what follows from the answer ----------------------------------------------------------------


@every_admitting
def test_a_solved_object_is_extended_to_the_answer_it_had(method, crowd, tmp_path):
    votes, truth = crowd
    prior = informed(truth)
    consensus = method.solve(votes, prior=prior)
    assert_allclose(consensus.extend(votes, prior=prior).proba, consensus.proba, atol=2e-3)
    consensus.save(tmp_path / "saved.ec3")
    saved = Consensus.load(tmp_path / "saved.ec3")
    assert_allclose(
        saved.extend(votes[:20], prior=prior[:20]).proba,
        consensus.extend(votes, prior=prior).proba[:20],
        atol=1e-9,
    )


def test_a_consensus_without_a_prior_refuses_one_for_new_objects(crowd):
    votes, truth = crowd
    message = "This consensus was solved without a prior, so it does not know how far to trust one."
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        DawidSkene().solve(votes).extend(votes, prior=informed(truth))


@every_admitting
def test_an_explanation_has_the_prior_and_adds_up(method, crowd):
    votes, truth = crowd
    consensus = method.solve(votes, prior=informed(truth))
    explained = consensus.explain(3)
    total = np.sum(list(explained.parts.values()), axis=0)
    if explained.unit == "log evidence":
        logs = np.log(explained.proba)
        assert_allclose(total, logs - logs.mean(), atol=2e-2)
    else:
        assert_allclose(total, explained.proba, atol=2e-3)
    if explained.unit == "log evidence" or isinstance(method, BWA):
        assert ("own prior", "own prior") in explained.parts


def test_the_majority_vote_to_compare_with_has_no_part_in_the_prior(crowd):
    votes, truth = crowd
    consensus = ec3learn.solve(
        votes, prior=informed(truth), known={i: int(truth[i]) for i in range(60)}
    )
    plain = ec3learn.diagnosis.metrics.majority(MajorityVote().solve(votes))
    assert_allclose(
        consensus.solution.expand(ec3learn.diagnosis.metrics.majority(consensus).proba),
        MajorityVote().solve(votes).proba,
    )
    assert plain is not None
    assert consensus.summary(ec3learn.Panel()).held_out is not None


def test_a_prior_of_no_object_is_not_used(crowd):
    votes, *_ = crowd
    consensus = Panel().solve(votes, prior=np.full((votes.n_objects, votes.n_classes), np.nan))
    assert "The prior has probabilities of no object: it was not used." in map(str, consensus.notes)


def test_a_prior_is_trusted_in_a_table_whose_classes_alternate():
    rng, n = np.random.default_rng(0), 40_000
    truth = np.arange(n) % 2
    said = np.column_stack(
        [np.where(rng.random(n) < p, truth, 1 - truth) for p in (0.7, 0.65, 0.6)]
    )
    sure = expit(2 * truth - 1 + rng.normal(size=n))
    prior = np.column_stack([1 - sure, sure])
    votes, start = Votes.from_labels(said).with_prior(prior), said.mean(axis=1)
    found = learn_trust(votes, np.column_stack([1 - start, start]))
    assert found.weight == pytest.approx(2.7, abs=0.5)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_prior_of_few_values_is_trusted_alike_in_any_order_of_voters_and_classes(seed):
    rng, n = np.random.default_rng(seed), 240
    truth = rng.integers(3, size=n)
    said = {
        f"v{j}": np.where(rng.random(n) < 0.55 + 0.05 * j, truth, rng.integers(3, size=n))
        for j in range(5)
    }
    prior = np.full((n, 3), 0.15)
    prior[np.arange(n), np.where(rng.random(n) < 0.7, truth, rng.integers(3, size=n))] = 0.7
    order = np.array([2, 0, 1])
    number = np.argsort(order)
    renamed = {name: number[codes] for name, codes in reversed(said.items())}
    one = DawidSkene().solve(Votes.from_labels(said, classes=range(3)), prior=prior)
    other = DawidSkene().solve(Votes.from_labels(renamed, classes=range(3)), prior=prior[:, order])
    assert_allclose(one.proba, other.proba[:, number], rtol=0, atol=1e-9)


def test_shares_of_all_classes_must_sum_to_one():
    votes = Votes.from_labels({"a": [0, 1, 1], "b": [0, 0, 1], "c": [0, 1, 1]})
    answer = ec3learn.solve(votes, class_prior={0: 0.25, 1: 0.75})
    assert_allclose(answer.proba.mean(axis=0), [0.25, 0.75], atol=1e-6)
    assert "The answer was shifted to the class shares that you gave." in map(str, answer.notes)
    rare = ec3learn.solve(votes, class_prior={0: 0.01}).notes
    assert any("No object is most likely to be of 0: labels(rule=" in str(note) for note in rare)
    must = "class_prior must sum to 1 where it names every class, got shares that sum to 0.7."
    with pytest.raises(InputError, match=re.escape(must)):
        ec3learn.solve(votes, class_prior={0: 0.5, 1: 0.2})
