"""Dawid-Skene with a prior, EBCC and BWA on votes alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from ec3learn import (
    BWA,
    EBCC,
    EC3,
    Consensus,
    DawidSkene,
    MajorityVote,
    Panel,
    Scale,
    SoftVote,
    Votes,
)
from ec3learn.votes import as_class_votes

from .. import dense

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*solved before"),  # extended to on purpose
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def jury(seed, n_objects=40, n_voters=7, n_classes=3, missing=0.3):
    """Return answers of voters of unequal skill, and the truth; everybody votes at least once on an object."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_objects)
    skill = rng.uniform(0.3, 0.9, n_voters)
    right = rng.random((n_objects, n_voters)) < skill
    answers = np.where(right, truth[:, None], rng.integers(n_classes, size=(n_objects, n_voters)))
    answers[rng.random(answers.shape) < missing] = -1
    answers[np.arange(n_objects), rng.integers(n_voters, size=n_objects)] = truth
    return answers, truth


def votes_by_name(answers):
    return {
        f"v{j}": [None if x < 0 else int(x) for x in column] for j, column in enumerate(answers.T)
    }


def votes_of(answers, n_classes=3):
    return Votes.from_labels(votes_by_name(answers), classes=range(n_classes))


# ---- beside sums written out in full -------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rounds", [5])
@pytest.mark.parametrize(("prior", "learned"), [("diagonal", False), ("learned", True)])
def test_rounds_of_dawid_skene_with_a_prior_agree_with_loops(seed, rounds, prior, learned):
    answers, _ = jury(seed)
    ours = DawidSkene(prior=prior, tol=1e-300, max_iter=rounds).solve(votes_of(answers))
    assert_allclose(ours.proba, dense.subtypes(answers, 3, 1, learned, rounds), rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("class_votes", [1.0, 0.1])
@pytest.mark.parametrize(("prior", "learned"), [("diagonal", False), ("learned", True)])
def test_rounds_of_ebcc_agree_with_loops(seed, prior, learned, class_votes):
    answers, _ = jury(seed)
    ours = EBCC(prior=prior, class_votes=class_votes, tol=1e-300, max_iter=6).solve(
        votes_of(answers)
    )
    assert_allclose(
        ours.proba, dense.subtypes(answers, 3, 2, learned, 6, class_votes), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("seed", range(2))
def test_rounds_of_a_learned_coin_agree_with_loops(seed):
    answers, _ = jury(seed)
    ours = DawidSkene(one_coin=True, tol=1e-300, max_iter=6).solve(votes_of(answers))
    assert_allclose(ours.proba, dense.coin(answers, 3, 6), rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(2))
def test_bwa_agrees_with_loops(seed):
    answers, _ = jury(seed)
    assert_allclose(
        BWA(tol=1e-14, max_iter=2000).solve(votes_of(answers)).proba,
        dense.bwa(answers, 3),
        rtol=0,
        atol=1e-9,
    )


# Computed by a prototype of its own, to six digits: the three classifiers of W8, iterated to the
# end.
GOLDEN = {
    "iBCC": (
        DawidSkene(prior="diagonal", tol=1e-12),
        [0.995508, 0.001324, 0.003168],
        [0.053043, 0.013552, 0.933404],
    ),
    "pooled": (
        DawidSkene(tol=1e-12),
        [0.991373, 0.000207, 0.008420],
        [0.010903, 0.011979, 0.977118],
    ),
    "EBCC": (
        EBCC(tol=1e-12, max_iter=3000),
        [0.995552, 0.001325, 0.003123],
        [0.053921, 0.013776, 0.932303],
    ),
    "EBCC learned": (
        EBCC(prior="learned", tol=1e-12, max_iter=3000),
        [0.994280, 0.000103, 0.005616],
        [0.007948, 0.009297, 0.982754],
    ),
    "BWA": (
        BWA(tol=1e-12, max_iter=3000),
        [0.955553, 0.027957, 0.016490],
        [0.326003, 0.027255, 0.646741],
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_golden_numbers(name, w8):
    method, first, last = GOLDEN[name]
    proba = method.solve(w8.drop("k0", "k1")).proba
    assert_allclose(proba[[0, 7]], [first, last], rtol=0, atol=1e-6)


# ---- what a prior is for -------------------------------------------------------------------------


def test_voters_with_few_votes_are_judged_like_the_average_voter():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=400)
    objects = np.repeat(np.arange(400), 5)
    voters = rng.permutation(len(objects)) // 4  # four votes each
    right = rng.random(len(objects)) < 0.75
    said = np.where(right, truth[objects], rng.integers(3, size=len(objects)))
    votes = Votes.from_long(objects, [f"v{v}" for v in voters], said)
    accuracy = {
        prior: (DawidSkene(prior=prior).solve(votes).labels() == truth).mean()
        for prior in ("learned", "uniform")
    }
    assert accuracy["learned"] > accuracy["uniform"] + 0.05


def test_a_collapsed_coin_is_noted_and_others_are_not():
    rng = np.random.default_rng(1)  # spammers who always name the first class, and few who know
    truth = rng.integers(2, size=600)
    spam = np.zeros((600, 9), dtype=int)
    honest = np.where(rng.random((600, 12)) < 0.75, truth[:, None], 1 - truth[:, None])
    votes = Votes.from_labels(np.hstack([spam, honest]))
    collapsed = DawidSkene(one_coin=True, prior="uniform").solve(votes)
    assert (collapsed.labels() == 0).all()
    assert [note.kind for note in collapsed.notes] == ["collapse", "one class", "bias"]
    good = votes_of(jury(0, 300, 9)[0])
    assert "collapse" not in [note.kind for note in DawidSkene(one_coin=True).solve(good).notes]


# ---- grades --------------------------------------------------------------------------------------


def graded(n=400, n_judges=5, seed=0):
    """Return scores of judges who use the scale differently, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    shift = np.linspace(-3, 3, n_judges)
    scores = np.clip(
        np.rint(rng.normal(np.where(truth, 6.0, 3.0)[:, None] + shift, 1.5, (n, n_judges))), 0, 9
    ).astype(int)
    return Votes.from_labels(scores, classes=[0, 1], scale=range(10)), truth


@pytest.mark.parametrize(
    "method",
    [DawidSkene(), DawidSkene(prior="diagonal"), DawidSkene(prior="uniform"), EBCC(), Panel()],
)
def test_what_each_score_means_is_learned(method):
    votes, truth = graded()
    learned = (method.solve(votes).labels() == truth).mean()
    assert learned > (MajorityVote().solve(votes).labels() == truth).mean() + 0.02


def test_grades_are_extended_saved_and_explained(tmp_path):
    votes, _ = graded()
    consensus = Panel().solve(votes)
    consensus.save(tmp_path / "jury.ec3")
    again = Consensus.load(tmp_path / "jury.ec3").extend(votes)
    assert_allclose(again.proba, consensus.proba, rtol=0, atol=1e-12)
    assert_allclose(
        sum(consensus.explain(3).parts.values()), consensus.proba[3], rtol=0, atol=1e-12
    )


def test_two_scales_and_plain_votes_are_answered_together():
    votes, truth = graded()
    stars = np.clip(
        as_class_votes(votes).n_rows * 0
        + 1
        + 3 * truth
        + np.random.default_rng(0).integers(-1, 2, len(truth)),
        1,
        5,
    )
    plain = np.where(np.random.default_rng(1).random(len(truth)) < 0.8, truth, 1 - truth)
    both = votes.add({"stars": stars}, scale=Scale(range(1, 6))).add({"plain": plain})
    assert (Panel().solve(both).labels() == truth).mean() > 0.95


def rare_class(seed, n_objects=800):
    """Return a crowd of 20, three votes per object, and the truth; one object in twenty is of the second class."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_objects) < 0.05).astype(int)
    voters = np.argsort(rng.random((n_objects, 20)), axis=1)[:, :3]
    said = truth[:, None] ^ (rng.random(voters.shape) > rng.uniform(0.6, 0.9, 20)[voters])
    return Votes.from_long(np.repeat(np.arange(n_objects), 3), voters.ravel(), said.ravel()), truth


def test_errors_do_not_make_a_rare_class_common():
    for votes, truth in map(rare_class, range(2)):
        default, majority, printed = (
            method.solve(votes) for method in (Panel(), MajorityVote(), EBCC())
        )
        assert (default.labels() == truth).mean() > (majority.labels() == truth).mean() + 0.02
        assert (
            printed.proba[:, 1].mean()
            > EBCC(class_votes=0.1).solve(votes).proba[:, 1].mean()
            > truth.mean()
        )


def test_the_class_votes_of_ebcc_are_checked():
    with pytest.raises(ValueError, match=r"^class_votes must be a finite number >= 0, got -1\.$"):
        EBCC(class_votes=-1).solve(votes_of(jury(0)[0]))


# ---- what a review found -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [MajorityVote(), SoftVote(), BWA(), EC3(), DawidSkene(one_coin=True), EC3(towards=Panel())],
)
def test_grades_taken_as_class_votes_keep_known_labels_and_are_extended(method):
    votes, _ = graded(n=60)
    known = {0: 1, 5: 0, 7: 0}
    consensus = method.solve(votes, known)
    assert consensus.labels()[[0, 5, 7]].tolist() == [1, 0, 0]
    rest = np.setdiff1d(np.arange(60), list(known))
    assert_allclose(consensus.extend(votes).proba[rest], consensus.proba[rest], rtol=0, atol=1e-9)
    assert_allclose(
        method.solve(votes).extend(votes).proba, method.solve(votes).proba, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("long", [False, True])
def test_a_panel_that_hardens_some_votes_extends_and_explains(long, tmp_path):
    rng = np.random.default_rng(0)
    votes = Votes.from_probabilities({f"p{m}": rng.dirichlet([1, 1], 30) for m in range(2)})
    if long:  # repeated votes are soft ones, kept sparsely
        votes = Votes.from_long(
            rng.integers(30, size=300), rng.integers(4, size=300), rng.integers(2, size=300)
        )
    members = [MajorityVote(), EC3(towards=MajorityVote()), Panel([MajorityVote(), DawidSkene()])]
    for method in (Panel(members), EC3(towards=Panel(members))):
        consensus = method.solve(votes)
        consensus.save(tmp_path / "c.ec3", overwrite=True)
        for again in (consensus, Consensus.load(tmp_path / "c.ec3")):
            assert_allclose(again.extend(votes).proba, consensus.proba, rtol=0, atol=1e-12)
        assert_allclose(
            sum(consensus.explain(votes.object_ids[1] if long else 1).parts.values()),
            consensus.proba[1],
            atol=1e-12,
        )


@pytest.mark.parametrize("method", [BWA(max_iter=1), DawidSkene(max_iter=1), EBCC(max_iter=1)])
def test_a_single_round_is_allowed_and_warned_about(method):
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter=1 "):
        assert method.solve(votes_of(jury(0)[0])).solution.n_iter == 1


def test_a_member_that_was_cut_off_says_so():
    with pytest.warns(UserWarning, match=r"^Dawid-Skene 1 stopped before it converged\."):
        Panel([DawidSkene(max_iter=1), MajorityVote()]).solve(votes_of(jury(0)[0]))


def test_a_clustering_beside_coins_is_a_voter_whose_labels_have_no_names():
    answers, truth = jury(0, 300, 5)
    for shift in range(2):
        votes = votes_of(answers).add(clusterings={"k": (truth + shift) % 3})
        consensus = DawidSkene(one_coin=True, clusterings="voters").solve(votes)
        assert (consensus.labels() == truth).mean() > 0.99


def test_a_grader_without_weight_is_as_good_as_absent():
    votes, _ = graded(n=100)
    noise = np.random.default_rng(0).integers(10, size=100)
    more = votes.add({f"noise{i}": noise for i in range(2)}, scale=range(10), weights=[0, 0])
    assert_allclose(Panel().solve(more).proba, Panel().solve(votes).proba, rtol=0, atol=1e-9)


# ---- subtypes from a sample ----------------------------------------------------------------------


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr("ec3learn.algebra.bayes.SAMPLE", 100)
    monkeypatch.setattr("ec3learn.algebra.bayes.ENOUGH", 50)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("common", [2, 5, 11])
def test_very_frequent_rows_and_known_labels_are_in_the_sample(common):
    answers, truth = jury(0, 1000, 8, missing=0)
    votes = votes_of(np.vstack([answers, np.tile(answers[common], (3000, 1))]))
    assert 200 < votes.n_rows < 1000
    known = {int(i): int(truth[i]) for i in range(20, 1000, 50)}
    sampled = EBCC().solve(votes, known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ec3learn.algebra.bayes.SAMPLE", 10**6)
        whole = EBCC().solve(votes, known)
    assert_allclose(sampled.proba.mean(axis=0), whole.proba.mean(axis=0), rtol=0, atol=0.05)
    assert_allclose(sampled.proba[list(known)], np.eye(3)[list(known.values())])
    rest = np.setdiff1d(np.arange(1000), list(known))
    assert_allclose(sampled.extend(votes).proba[rest], sampled.proba[rest], rtol=0, atol=1e-12)


@pytest.mark.usefixtures("small_samples")
def test_voters_with_few_votes_are_learned_from_all_of_them():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=1000)
    objects = np.repeat(np.arange(1000), 3)
    said = np.where(rng.random(3000) < 0.7, truth[objects], 1 - truth[objects])
    votes = Votes.from_long(objects, rng.permutation(3000) // 10, said)
    sampled = EBCC().solve(votes).proba
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ec3learn.algebra.bayes.SAMPLE", 10**6)
        assert_allclose(sampled, EBCC().solve(votes).proba, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("n_clusters", [0, 5, 150])
def test_the_default_learns_from_a_sample_of_very_many_rows(n_clusters, monkeypatch):
    answers, truth = jury(0, 1000, 8, missing=0)
    votes = votes_of(answers)
    if n_clusters:
        cluster = truth + 3 * np.random.default_rng(0).integers(n_clusters // 3, size=1000)
        votes = votes.add(clusterings={"k": cluster})
    sampled = Panel().solve(votes)
    assert_allclose(sampled.extend(votes).proba, sampled.proba, rtol=0, atol=1e-12)
    shares = 0.7 * np.eye(3)[answers.T] + 0.3 * np.random.default_rng(0).random((8, 1000, 3))
    soft = Votes.from_probabilities(
        {f"v{j}": one / one.sum(axis=1, keepdims=True) for j, one in enumerate(shares)}
    )
    sure = Panel().solve(soft)
    assert_allclose(sure.extend(soft).proba, sure.proba, rtol=0, atol=1e-12)
    monkeypatch.setattr("ec3learn.algebra.bayes.SAMPLE", 10**6)
    whole = Panel().solve(votes)
    assert (sampled.labels() == truth).mean() > (whole.labels() == truth).mean() - 0.03
