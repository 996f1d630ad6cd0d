"""Dawid-Skene with a prior, EBCC, BWA, the panel and the default, on votes alone."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import ec3learn
from ec3learn import (
    BWA,
    EBCC,
    EC3,
    METHODS,
    Auto,
    Consensus,
    DawidSkene,
    MajorityVote,
    Panel,
    Scale,
    SoftVote,
    Votes,
    WeightedVote,
)
from ec3learn.answer.notes import BIAS, CALIBRATION, CHOICE, COLLAPSE, ONE_CLASS, PANEL
from ec3learn.methods.panel import are_mostly_soft, learn_slope, seat

from .. import dense

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


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
    return {f"v{j}": [None if x < 0 else int(x) for x in column] for j, column in enumerate(answers.T)}


def votes_of(answers, n_classes=3):
    return Votes.from_labels(votes_by_name(answers), classes=range(n_classes))


# ---- beside sums written out in full ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rounds", [1, 5])
@pytest.mark.parametrize(("prior", "learned"), [("diagonal", False), ("learned", True)])
def test_rounds_of_dawid_skene_with_a_prior_agree_with_loops(seed, rounds, prior, learned):
    answers, _ = jury(seed)
    ours = DawidSkene(prior=prior, tol=1e-300, max_iter=rounds).solve(votes_of(answers))
    assert_allclose(ours.proba, dense.subtypes(answers, 3, 1, learned, rounds), rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("class_votes", [1.0, 0.1])
@pytest.mark.parametrize(("prior", "learned"), [("diagonal", False), ("learned", True)])
def test_rounds_of_ebcc_agree_with_loops(seed, prior, learned, class_votes):
    answers, _ = jury(seed)
    ours = EBCC(prior=prior, class_votes=class_votes, tol=1e-300, max_iter=6).solve(votes_of(answers))
    assert_allclose(ours.proba, dense.subtypes(answers, 3, 2, learned, 6, class_votes), rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_rounds_of_a_learned_coin_agree_with_loops(seed):
    answers, _ = jury(seed)
    ours = DawidSkene(one_coin=True, tol=1e-300, max_iter=6).solve(votes_of(answers))
    assert_allclose(ours.proba, dense.coin(answers, 3, 6), rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_bwa_agrees_with_loops(seed):
    answers, _ = jury(seed)
    assert_allclose(BWA(tol=1e-14, max_iter=2000).solve(votes_of(answers)).proba, dense.bwa(answers, 3), rtol=0, atol=1e-9)


# Computed by a prototype of its own, to six digits: the three classifiers of W8, iterated to the end.
GOLDEN = {
    "iBCC": (DawidSkene(prior="diagonal", tol=1e-12), [0.995508, 0.001324, 0.003168], [0.053043, 0.013552, 0.933404]),
    "pooled": (DawidSkene(tol=1e-12), [0.991373, 0.000207, 0.008420], [0.010903, 0.011979, 0.977118]),
    "EBCC": (EBCC(tol=1e-12, max_iter=3000), [0.995552, 0.001325, 0.003123], [0.053921, 0.013776, 0.932303]),
    "EBCC learned": (
        EBCC(prior="learned", tol=1e-12, max_iter=3000),
        [0.994280, 0.000103, 0.005616],
        [0.007948, 0.009297, 0.982754],
    ),
    "BWA": (BWA(tol=1e-12, max_iter=3000), [0.955553, 0.027957, 0.016490], [0.326003, 0.027255, 0.646741]),
    "panel": (Panel(), [0.865622, 0.064026, 0.070351], [0.280824, 0.080985, 0.638191]),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_golden_numbers(name, w8):
    method, first, last = GOLDEN[name]
    proba = method.solve(w8.drop("k0", "k1")).proba
    assert_allclose(proba[[0, 7]], [first, last], rtol=0, atol=1e-5 if name == "panel" else 1e-6)


# ---- what a prior is for ---------------------------------------------------------------------------------------------


def test_voters_with_few_votes_are_judged_like_the_average_voter():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=400)
    objects = np.repeat(np.arange(400), 5)
    voters = rng.permutation(len(objects)) // 4  # four votes each
    right = rng.random(len(objects)) < 0.75
    said = np.where(right, truth[objects], rng.integers(3, size=len(objects)))
    votes = Votes.from_long(objects, [f"v{v}" for v in voters], said)
    accuracy = {prior: (DawidSkene(prior=prior).solve(votes).labels() == truth).mean() for prior in ("learned", "uniform")}
    assert accuracy["learned"] > accuracy["uniform"] + 0.05


def test_a_collapsed_coin_is_noted_and_others_are_not():
    rng = np.random.default_rng(1)  # spammers who always name the first class, and few who know
    truth = rng.integers(2, size=600)
    spam = np.zeros((600, 9), dtype=int)
    honest = np.where(rng.random((600, 12)) < 0.75, truth[:, None], 1 - truth[:, None])
    votes = Votes.from_labels(np.hstack([spam, honest]))
    collapsed = DawidSkene(one_coin=True, prior="uniform").solve(votes)
    assert (collapsed.labels() == 0).all()
    assert [note.kind for note in collapsed.notes] == [COLLAPSE, ONE_CLASS, BIAS]
    good = votes_of(jury(0, 300, 9)[0])
    assert COLLAPSE not in [note.kind for note in DawidSkene(one_coin=True).solve(good).notes]


def test_several_starts_are_the_same_for_the_same_seed():
    votes = votes_of(jury(0)[0])
    one, again, other = (EBCC(starts=3, random_state=seed).solve(votes).proba for seed in (0, 0, 1))
    assert_array_equal(one, again)
    assert not np.array_equal(one, other)


# ---- grades ----------------------------------------------------------------------------------------------------------


def graded(n=400, n_judges=5, seed=0):
    """Return scores of judges who use the scale differently, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    shift = np.linspace(-3, 3, n_judges)
    scores = np.clip(np.rint(rng.normal(np.where(truth, 6.0, 3.0)[:, None] + shift, 1.5, (n, n_judges))), 0, 9).astype(int)
    return Votes.from_labels(scores, classes=[0, 1], scale=range(10)), truth


@pytest.mark.parametrize("method", [DawidSkene(), DawidSkene(prior="diagonal"), DawidSkene(prior="uniform"), EBCC(), Panel()])
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
    assert_allclose(sum(consensus.explain(3).parts.values()), consensus.proba[3], rtol=0, atol=1e-12)


def test_two_scales_and_plain_votes_are_answered_together():
    votes, truth = graded()
    stars = np.clip(
        votes.as_class_votes().n_rows * 0 + 1 + 3 * truth + np.random.default_rng(0).integers(-1, 2, len(truth)), 1, 5
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
    for votes, truth in map(rare_class, range(3)):
        default, majority, printed = (method.solve(votes) for method in (Auto(), MajorityVote(), EBCC()))
        assert (default.labels() == truth).mean() > (majority.labels() == truth).mean() + 0.02
        assert printed.proba[:, 1].mean() > EBCC(class_votes=0.1).solve(votes).proba[:, 1].mean() > truth.mean()


def test_the_class_votes_of_ebcc_are_checked():
    with pytest.raises(ValueError, match=r"^class_votes must be a finite number >= 0, got -1\.$"):
        EBCC(class_votes=-1).solve(votes_of(jury(0)[0]))


# ---- the panel -------------------------------------------------------------------------------------------------------


def test_the_panel_is_the_mean_of_its_members():
    votes = votes_of(jury(0)[0])
    members = [SoftVote(), DawidSkene(), EC3()]
    proba = Panel(members).solve(votes).proba
    assert_allclose(proba, np.mean([member.solve(votes).proba for member in members], axis=0), rtol=0, atol=1e-12)


def seated(answers):
    n_rows, n_classes = answers[0].shape
    parts = [(slice(None), [(own, np.zeros(n_rows, dtype=bool)) for own in answers])]
    return seat(lambda: parts, [str(m) for m in range(len(answers))], np.ones(n_rows), np.ones(n_classes))


def test_a_member_far_from_all_others_leaves():
    rng = np.random.default_rng(0)
    good = [rng.dirichlet([9, 1], size=100) for _ in range(4)]
    members, proba, _ = seated([*good, np.tile([0.0, 1.0], (100, 1))])
    assert [member.sat for member in members] == [True, True, True, True, False]
    assert members[-1].distance > 0.9
    assert_allclose(proba, np.mean(good, axis=0))


def test_three_members_stay_however_far_they_are():
    answers = [np.tile(own, (9, 1)) for own in ([1.0, 0.0], [1.0, 0.0], [0.0, 1.0])]
    assert all(member.sat for member in seated(answers)[0])


def test_who_is_undecided_between_two_classes_is_not_far_from_either():
    answers = [np.tile([0.4, 0.6], (9, 1))] * 3 + [np.tile([0.5, 0.5], (9, 1))]
    assert [(member.sat, member.distance) for member in seated(answers)[0]] == [(True, 0.0)] * 4


def test_the_result_says_who_sat_and_where_they_disagree():
    consensus = Panel().solve(votes_of(jury(0)[0]))
    table = consensus.panel()
    methods = ["weighted vote", "one coin", "BWA", "EBCC", "EBCC with learned priors"]
    assert table["member"] == [*methods, "plain vote"]
    assert table["sat"] == [True] * 6
    note = next(note for note in consensus.notes if note.kind == PANEL)
    alike = np.mean([len({m.row_classes[i] for m in consensus.members[:5]}) == 1 for i in range(len(consensus.row_proba))])
    assert str(note).endswith(f"agrees on {100 * alike:.1f} % of the objects.")


@pytest.mark.parametrize("seed", [1, 6, 9])
def test_a_tie_of_the_plain_vote_does_not_make_it_stand_alone(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=200)
    said = {f"v{m}": np.where(rng.random(200) < 0.7, truth, (truth + rng.integers(1, 3, 200)) % 3) for m in range(4)}
    *_, plain = Panel().solve(Votes.from_labels(said)).panel().rows()
    assert (plain["member"], plain["alone"] <= plain["differs"]) == ("plain vote", True)


def test_a_method_without_members_has_no_panel():
    with pytest.raises(ValueError, match=r"^panel needs a panel of methods, and Majority vote is a single one\.$"):
        MajorityVote().solve(votes_of(jury(0)[0])).panel()


@pytest.mark.parametrize("members", ["best", [], 3])
def test_members_that_are_none_are_refused(members, w8):
    wanted = f"members must be 'default' or a sequence of methods or their names, got {members!r}."
    with pytest.raises(TypeError, match=f"^{re.escape(wanted)}$"):
        Panel(members).solve(w8)


# ---- the default -----------------------------------------------------------------------------------------------------


def test_votes_alone_go_to_the_panel_and_clusterings_refine_it(w8):
    alone, both = Auto().solve(w8.drop("k0", "k1")), ec3learn.solve(w8)
    assert [note.kind for note in (alone.notes[0], both.notes[0])] == [CHOICE, CHOICE]
    assert_allclose(alone.proba, Panel().solve(w8.drop("k0", "k1")).proba)
    members = [Panel().solve(w8), EC3(0.5, 0, 0.5, 0, towards=Panel()).solve(w8), DawidSkene(clusterings="voters").solve(w8)]
    assert_allclose(both.proba, np.mean([member.proba for member in members], axis=0), rtol=0, atol=1e-12)
    assert both.panel()["member"] == ["panel", "EC3 towards the panel", "Dawid-Skene with clusterings"]
    assert "there are clusterings too" in str(both.notes[0])


def models(seed, n_objects=60, n_models=4, n_classes=3):
    """Models that vote with probabilities, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_objects)
    signal = 1.5 * np.eye(n_classes)[truth]
    return {f"m{m}": softmax(signal + rng.normal(size=signal.shape), axis=1) for m in range(n_models)}, truth


def test_probabilities_are_averaged_beside_the_panel_of_their_classes():
    votes = Votes.from_probabilities(models(0)[0])
    consensus = ec3learn.solve(votes)
    assert consensus.panel()["member"] == ["weighted vote", "BWA", "panel of the most probable classes"]
    hard, share = votes.hardened(), 4.5 / 4**2  # of the plain vote in the panel of four voters, which is not wanted here
    plain = (sum(np.eye(3)[p.argmax(axis=1)] for p in models(0)[0].values()) + 1 / 3) / 5
    labels = (Panel().solve(hard).proba - share * plain) / (1 - share)
    members = [WeightedVote().solve(votes).proba, BWA().solve(votes).proba, labels]
    assert_allclose(consensus.proba, np.mean(members, axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_voters", "share"), [(2, 0.5), (3, 0.5), (5, 0.18), (9, 4.5 / 81), (10, 0.0)])
def test_the_plain_vote_has_a_share_where_voters_are_few(n_voters, share):
    votes = votes_of(jury(0, n_voters=n_voters, missing=0.0)[0])
    consensus = Panel().solve(votes)
    texts = [str(note) for note in consensus.notes if "plain vote" in str(note)]
    why = "So few voters show little of how good each of them is"
    assert texts == ([f"{why}: the plain vote makes up {100 * share:.1f} % of the panel's answer."] if share else [])
    table = consensus.panel()
    shares = dict(zip(table["member"], table["share"], strict=True))
    assert shares.pop("plain vote", 0.0) == pytest.approx(share)
    assert list(shares.values()) == pytest.approx([(1 - share) / len(shares)] * len(shares))
    assert_allclose(consensus.extend(votes).proba, consensus.proba, rtol=0, atol=1e-9)


def test_voters_of_a_single_vote_do_not_make_a_crowd():
    answers, _ = jury(0, n_voters=3, missing=0.0)
    once = np.full((len(answers), 7), -1)
    once[range(7), range(7)] = 1
    alone, beside = (Panel().solve(votes_of(table)) for table in (answers, np.hstack([answers, once])))
    notes = [[str(note) for note in consensus.notes if "plain vote" in str(note)] for consensus in (alone, beside)]
    assert "50.0 %" in notes[0][0] and "40.0 %" in notes[1][0]  # as of (3 x 40 + 7)^2 / (3 x 40^2 + 7) = 3.4 voters


def test_a_single_voter_has_no_plain_vote_beside_it_whatever_it_weighs():
    votes = Votes.from_labels({"a": [0, 1, 1]}, weights={"a": 1.5})
    assert not any("plain vote" in str(note) for note in Panel().solve(votes).notes)


def test_what_a_single_judge_says_is_taken_as_its_scale_has_it():
    consensus = ec3learn.solve(Votes.from_labels({"judge": [1, 5, 4, 2, 3]}, classes=["fail", "pass"], scale=Scale(range(1, 6))))
    assert_allclose(consensus.proba[:, 1], [0.25, 0.75, 0.625, 0.375, 0.5], rtol=0, atol=1e-9)  # and a vote of ignorance
    (note,) = (str(note) for note in consensus.notes if note.kind == PANEL)
    assert note == "A single voter does not show what its scores mean: the plain vote makes up 100.0 % of the panel's answer."
    assert [consensus.panel()[name][-1] for name in ("member", "sat", "share")] == ["plain vote", True, 1.0]
    assert not any(consensus.panel()["sat"][:-1])


def test_how_far_the_plain_vote_is_from_the_panel_is_shown():
    votes = votes_of(jury(1, n_objects=200, n_voters=5, missing=0.0)[0])
    consensus = Panel().solve(votes)
    others = (consensus.proba - 0.18 * SoftVote().solve(votes).proba * 5 / 6 - 0.18 / 18) / 0.82
    plain = MajorityVote().solve(votes)
    clear = plain.margin > 0
    apart = plain.labels() != others.argmax(axis=1)
    table = consensus.panel()
    assert table["differs"][-1] == pytest.approx(np.mean(apart & clear), abs=0.03)
    assert_array_equal(consensus.members[-1].row_classes[consensus.index][clear], plain.labels()[clear])


def test_few_judges_are_believed_less_than_their_scores_fit_together():
    confidence = {}
    for n_judges in (3, 9):
        votes, truth = graded(n_judges=n_judges)
        consensus = ec3learn.solve(votes)
        confidence[n_judges] = consensus.confidence.mean()
        assert confidence[n_judges] < np.mean(consensus.labels() == truth)
    assert confidence[3] < 0.85 < confidence[9]


def test_two_of_three_are_not_overruled_on_a_handful_of_objects():
    votes = Votes.from_labels({"x": ["A", "B", "A", "B"], "y": ["A", "tie", "A", "A"], "z": ["B", "B", None, "B"]})
    assert ec3learn.solve(votes).labels().tolist() == ["A", "B", "A", "B"]


def test_known_labels_to_calibrate_on_take_the_place_of_the_plain_vote():
    answers, truth = jury(0, n_voters=3)
    notes = [[str(note) for note in Panel().solve(votes_of(answers), known=dict(enumerate(truth[:n]))).notes] for n in (29, 30)]
    assert [any("plain vote" in text for text in texts) for texts in notes] == [True, False]


def soft_models(weights=None):
    said, truth = models(1, n_objects=300)
    return Votes.from_probabilities(said, weights=weights), truth


def judges_alike(weights=None):
    votes, truth = graded(n_judges=4)
    return votes if weights is None else replace(votes, weights=np.array(weights)), truth


@pytest.mark.parametrize("made", [soft_models, judges_alike])
def test_a_weight_moves_probabilities_and_scores_a_little(made):
    (equal, truth), (votes, _) = made(), made([2.0, 1.0, 1.0, 1.0])
    plain, weighted, larger = (ec3learn.solve(own) for own in (equal, votes, made([7.0] * 4)[0]))
    right = [np.mean(own.labels() == truth) for own in (plain, weighted)]
    assert right[1] > right[0] - 0.03
    assert 0.001 < np.abs(weighted.proba - plain.proba).mean() < 0.06
    assert_allclose(larger.proba, plain.proba, rtol=0, atol=1e-12)
    assert_allclose(weighted.extend(votes).proba, weighted.proba, rtol=0, atol=1e-9)


def test_known_labels_stay_whatever_voters_weigh():
    answers, truth = jury(2, n_objects=200, n_voters=4)
    known = dict(enumerate(truth[:50].tolist()))
    votes = votes_of(answers)
    plain, weighted = (Panel().solve(replace(votes, weights=np.array(own)), known) for own in ([1.0] * 4, [3.0, 1, 1, 1]))
    assert_array_equal(weighted.labels()[:50], truth[:50])
    right = [np.mean(own.labels()[50:] == truth[50:]) for own in (plain, weighted)]
    assert right[1] > right[0] - 0.1


def test_clusterings_refine_probabilities_but_do_not_vote():
    rng = np.random.default_rng(0)
    votes = Votes.from_probabilities(models(0)[0], {"k": rng.integers(5, size=60)})
    consensus = ec3learn.solve(votes)
    assert consensus.panel()["member"] == ["panel", "EC3 towards the panel"]
    members = [Panel().solve(votes), EC3(0.5, 0, 0.5, 0, towards=Panel()).solve(votes)]
    assert_allclose(consensus.proba, np.mean([member.proba for member in members], axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("sample_weight", [None, 0.5])
def test_what_clusterings_have_no_part_in_is_the_same_for_fewer_rows(soft, sample_weight, monkeypatch):
    clusters = {"k": np.random.default_rng(1).integers(30, size=60)}
    weights = sample_weight and sample_weight * np.arange(1, 61)
    if soft:
        votes = Votes.from_probabilities(models(0)[0], clusters, sample_weight=weights)
    else:
        votes = Votes.from_labels(votes_by_name(jury(3, n_objects=60, n_classes=2)[0]), clusters, sample_weight=weights)
    few = ec3learn.solve(votes)
    monkeypatch.setattr(Votes, "voters_alone", lambda votes: None)
    many = ec3learn.solve(votes)
    assert_allclose(few.proba, many.proba, rtol=0, atol=1e-9)
    assert few.panel() == many.panel()
    assert list(map(str, few.notes)) == list(map(str, many.notes))


def test_votes_are_probabilities_if_half_of_them_are():
    said, _ = models(0)
    labels = {name: np.eye(3)[proba.argmax(axis=1)] for name, proba in said.items()}
    half, fewer = said | {"m0": labels["m0"], "m1": labels["m1"]}, labels | {"m3": said["m3"]}
    assert len(ec3learn.solve(Votes.from_probabilities(half)).members) == 3
    assert len(ec3learn.solve(Votes.from_probabilities(fewer)).members) == 6


def test_one_model_with_probabilities_among_judges_on_a_scale_does_not_make_votes_probabilities():
    said, _ = models(0, n_classes=2)
    scores = {f"j{j}": np.random.default_rng(j).integers(10, size=60) for j in range(6)}
    assert are_mostly_soft(Votes.from_probabilities({"m0": said["m0"]}))
    assert not are_mostly_soft(Votes.from_probabilities({"m0": said["m0"]}).add(scores, scale=Scale(range(10))))


def test_who_repeats_some_votes_gives_labels_all_the_same():
    said = np.random.default_rng(0).integers(2, size=(20, 4))
    objects, voters = np.divmod(np.arange(80), 4)
    votes = Votes.from_long([*objects, 0], [*voters, 0], [*said.ravel(), 1 - said[0, 0]], repeats="mean")
    assert not votes.is_hard
    assert len(ec3learn.solve(votes).members) == 6


def test_probabilities_that_are_all_tied_get_an_answer():
    assert_allclose(ec3learn.solve(Votes.from_probabilities({m: np.full((4, 2), 0.5) for m in "abc"})).proba, 0.5)


@pytest.mark.parametrize("n_known", [0, 40])
def test_a_panel_of_probabilities_is_extended_saved_and_explained(n_known, tmp_path):
    said, truth = models(1)
    clusters = {"k": np.random.default_rng(1).integers(5, size=60)}
    votes, known = Votes.from_probabilities(said, clusters), {i: int(truth[i]) for i in range(n_known)}
    consensus = ec3learn.solve(votes, known or None)
    consensus.save(tmp_path / "c.ec3")
    for again in (consensus, Consensus.load(tmp_path / "c.ec3")):
        assert_allclose(again.extend(votes).proba[n_known:], consensus.proba[n_known:], rtol=0, atol=1e-9)
    assert_allclose(sum(consensus.explain(59).parts.values()), consensus.proba[59], atol=1e-9)


def test_models_that_are_too_sure_and_err_together_do_not_mislead_the_default():
    right = []
    for seed in range(4):
        X, y = make_classification(600, 10, n_informative=5, n_classes=3, class_sep=0.8, random_state=seed)
        train = np.concatenate([np.flatnonzero(y == z)[:10] for z in range(3)])
        test = np.setdiff1d(np.arange(600), train)
        pool = [GaussianNB(), DecisionTreeClassifier(random_state=0), KNeighborsClassifier(3), LogisticRegression()]
        said = {str(model): model.fit(X[train], y[train]).predict_proba(X[test]) for model in pool}
        votes = Votes.from_probabilities(said)
        right.append([np.mean(method.solve(votes).labels() == y[test]) for method in (Auto(), SoftVote())])
    ours, by_mean = np.mean(right, axis=0)
    assert ours > by_mean - 0.01


def test_one_call_takes_known_labels_and_other_methods(w8):
    assert_array_equal(ec3learn.solve(w8, known={7: 0}).labels()[7], 0)
    assert_allclose(ec3learn.solve(w8, method="majority").proba, MajorityVote().solve(w8).proba)


@pytest.mark.parametrize("name", ["auto", "panel", "ebcc", "bwa", "dawid-skene", "dawid-skene-one-coin"])
@pytest.mark.parametrize(
    "votes",
    [
        Votes.from_labels({"a": [0, 1], "b": [0, 0]}),  # two voters
        Votes.from_labels({"a": [0, 1, 1]}),  # a single one
        Votes.from_labels({"a": [0, 0], "b": [0, 0]}),  # one class
        Votes.from_long(range(30), [f"v{i}" for i in range(30)], [0, 1] * 15),  # everybody votes once
        Votes.from_labels({"a": [0, 1], "silent": [None, None]}),  # a voter without a vote
        Votes.from_labels({"a": [0, 1, 0]}, classes=[0, 1, 2, 3]),  # classes nobody named
    ],
)
def test_small_and_odd_juries_get_an_answer(name, votes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        consensus = METHODS[name]().solve(votes)
    assert_allclose(consensus.proba.sum(axis=1), 1)
    assert (consensus.confidence >= 1 / len(consensus.classes) - 1e-9).all()


def test_a_vote_that_the_panel_overrules_is_overruled_by_who_said_it():
    answers, _ = jury(0, n_objects=200)
    reasons = Panel().solve(votes_of(answers)).contested(50)["why"]
    assert any(reason.startswith("the votes are overruled by who said it:") for reason in reasons)


def test_where_clusterings_join_they_are_said_to_decide_too():
    votes = Votes.from_labels({"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1]}, {"k": [0, 0, 1, 1, 1]})
    (why,) = ec3learn.solve(votes).contested(1)["why"]
    assert why == "the votes are tied between 0 and 1: decided by who said it and its clusters"
    (why,) = Panel(clusterings="join").solve(votes.drop("k")).contested(1)["why"]
    assert why == "the votes are tied between 0 and 1: decided by who said it"


def test_an_answer_that_is_tied_is_not_decided_by_who_said_it():
    table = Panel().solve(Votes.from_labels({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]})).contested(2)
    assert max(table["margin"]) < 1e-9
    assert all(why.endswith(": decided by the more common class") for why in table["why"])


def test_a_clustering_does_not_undo_what_the_panel_knows_of_biased_voters():
    rng = np.random.default_rng(0)
    truth = (rng.random(500) < 0.45).astype(int)
    seen = rng.normal(size=(500, 25)) + np.where(truth, 0.6, -0.6)[:, None]
    votes = Votes.from_labels((seen > rng.normal(0.7, 0.6, 25)).astype(int))
    both = votes.add(clusterings={"k": np.where(rng.random(500) < 0.6, truth, rng.integers(2, size=500))})
    alone, joined = ((Auto().solve(votes).labels() == truth).mean() for votes in (votes, both))
    assert joined >= alone - 0.01


# ---- calibration -----------------------------------------------------------------------------------------------------


def correlated(n=1500, seed=0, judges=8, noise=1.0):
    """Return scores of judges who make the same mistakes, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    surface = np.where(truth, 5.5, 3.5) + rng.normal(0, 2, n)  # what all of them see
    scores = np.clip(np.rint(surface[:, None] + rng.normal(0, noise, (n, judges))), 0, 9).astype(int)
    return Votes.from_labels(scores, classes=[0, 1], scale=range(10)), truth


def log_loss(consensus, truth, rows):
    return -np.log(np.maximum(consensus.proba[rows, truth[rows]], 1e-12)).mean()


def test_fifty_labels_calibrate_the_confidence_and_keep_the_order_of_classes():
    votes, truth = correlated()
    known, rest = {i: int(truth[i]) for i in range(50)}, np.arange(50, 1500)
    without, taught = Panel().solve(votes), Panel().solve(votes, known=known)
    assert log_loss(taught, truth, rest) < log_loss(without, truth, rest) - 0.05
    few = Panel().solve(votes, known={i: int(truth[i]) for i in range(29)})
    (note,) = (note for note in few.notes if note.kind == CALIBRATION)
    reduced = "It was reduced by how much the voters' errors seem to correlate."
    assert str(note) == f"The confidence was not calibrated, which takes 30 known labels. {reduced}"
    note = next(note for note in taught.notes if note.kind == CALIBRATION)
    assert str(note).startswith("The confidence was calibrated on 50 known labels: cross-validated log loss 0.")
    assert "inconclusive" not in str(note)


@pytest.mark.parametrize(
    ("n_voters", "reduced"),
    [
        (1, ""),
        (3, " It was reduced by how much voters' errors usually correlate."),
        (4, " It was reduced by how much the voters' errors seem to correlate."),
    ],
)
def test_the_correlation_of_errors_is_said_to_be_seen_only_where_it_is(n_voters, reduced):
    votes = votes_of(jury(0, n_voters=n_voters, missing=0.0)[0])
    (note,) = (note for note in Panel().solve(votes).notes if note.kind == CALIBRATION)
    assert str(note) == f"The confidence was not calibrated, which takes 30 known labels.{reduced}"


def test_objects_without_votes_make_no_jury_surer():
    rng = np.random.default_rng(0)
    truth, hard = rng.integers(2, size=400), rng.random(400) < 0.4
    said = {f"v{j}": (truth ^ (rng.random(400) < np.where(hard, 0.5, 0.1))).tolist() for j in range(6)}
    padded = {name: [*answers, *[None] * 2000] for name, answers in said.items()}
    alone, beside = (Panel().solve(Votes.from_labels(table)).confidence[:400].mean() for table in (said, padded))
    assert beside == pytest.approx(alone, abs=0.01)


def test_the_note_on_a_calibration_that_changes_little_says_so():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    said = {f"j{m}": np.where(rng.random(300) < 0.7, truth, 1 - truth) for m in range(5)}
    answer = Panel().solve(Votes.from_labels(said), known=dict(enumerate(truth[:40].tolist())))
    (note,) = (note for note in answer.notes if note.kind == CALIBRATION)
    assert " without (inconclusive). Log-probabilities were multiplied by " in str(note)


@pytest.mark.parametrize("judges", [6, 8, 20])
def test_few_judges_show_little_of_the_errors_they_share_and_it_is_allowed_for(judges):
    votes, truth = correlated(judges=judges, noise=2.0)
    answer = Panel().solve(votes)
    assert answer.confidence.mean() - (answer.labels() == truth).mean() < 0.17
    assert log_loss(answer, truth, np.arange(1500)) < 0.9


def test_labels_that_voters_were_learned_from_are_not_counted_twice():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=2000)
    surface = np.where(rng.random(2000) < 0.75, truth, 1 - truth)  # all voters see the same one, which is wrong now and then
    votes = Votes.from_labels({f"v{j}": np.where(rng.random(2000) < 0.85, surface, 1 - surface) for j in range(6)})
    consensus = Panel().solve(votes, known={i: int(truth[i]) for i in range(500)})
    right = np.mean(consensus.labels()[500:] == truth[500:])
    assert consensus.confidence[500:].mean() == pytest.approx(right, abs=0.05)  # .61 while .75 were right
    lost = -np.log(consensus.proba[np.arange(500, 2000), truth[500:]]).mean()
    (note,) = (note for note in consensus.notes if note.kind == CALIBRATION)
    found = re.search(r"log loss ([\d.]+), ([\d.]+) without", str(note))
    assert float(found[1]) == pytest.approx(lost, abs=0.04)
    assert float(found[1]) <= float(found[2]) + 0.005


@pytest.mark.parametrize("seed", [0, 1])
def test_calibration_does_not_depend_on_the_order_of_objects(seed):
    answers, truth = jury(seed, 300, n_classes=2)
    order = np.random.default_rng(seed).permutation(300)
    slopes = [
        Panel().solve(votes_of(answers[rows], 2), known=np.where(rows < 60, truth[rows].astype(object), None)).rule.slope
        for rows in (np.arange(300), order)
    ]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-6)


def test_labels_of_rows_that_count_several_times_are_as_many_labels():
    said, truth = np.repeat([[0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]], 15, axis=0), np.tile([0, 0, 0, 1, 1], 12)
    rows, times = np.unique(np.column_stack([said, truth]), axis=0, return_counts=True)
    once = Panel().solve(Votes.from_labels(rows[:, :3], sample_weight=times), known=rows[:, 3])
    repeated = Panel().solve(Votes.from_labels(said), known=truth)
    assert str(once.notes[-1]).startswith("The confidence was calibrated on 60 known labels")
    assert once.rule.slope == pytest.approx(repeated.rule.slope, rel=1e-6)


def test_a_calibrated_panel_is_saved_extended_and_explained(tmp_path):
    votes, truth = correlated(300)
    consensus = Panel().solve(votes, known={i: int(truth[i]) for i in range(60)})
    consensus.save(tmp_path / "jury.ec3")
    again = Consensus.load(tmp_path / "jury.ec3").extend(votes)
    assert_allclose(again.proba[60:], consensus.proba[60:], rtol=0, atol=1e-12)
    assert_allclose(sum(consensus.explain(100).parts.values()), consensus.proba[100], rtol=0, atol=1e-12)


def test_a_panel_explains_how_far_each_vote_moves_the_answer():
    answers, _ = jury(0)
    votes = votes_of(answers)
    consensus = Panel().solve(votes)
    parts = consensus.explain(5).parts
    voter = next(f"v{j}" for j in range(7) if answers[5, j] >= 0)
    rest = {f"v{j}": [None if x < 0 or f"v{j}" == voter else int(x)] for j, x in enumerate(answers[5])}
    without = Votes.from_labels(rest, classes=range(3))
    assert_allclose(parts[voter, "votes"], consensus.proba[5] - consensus.extend(without).proba[0], rtol=0, atol=1e-12)
    said = int(answers[5, int(voter[1:])])
    assert parts[voter, "votes"][said] > 0


def test_a_slope_is_one_where_confidence_is_right_and_below_where_it_is_too_high():
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, 4000)
    codes = (rng.random(4000) > sure).astype(int)
    fair = np.stack([sure, 1 - sure], axis=1)
    too_sure = fair**3 / (fair**3).sum(axis=1, keepdims=True)
    assert learn_slope(fair, codes, np.ones(4000)) == pytest.approx(1, abs=0.1)
    assert learn_slope(too_sure, codes, np.ones(4000)) == pytest.approx(1 / 3, abs=0.05)


# ---- what a review found ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [MajorityVote(), SoftVote(), BWA(), EC3(), DawidSkene(one_coin=True), EC3(towards=Panel())])
def test_grades_taken_as_class_votes_keep_known_labels_and_are_extended(method):
    votes, _ = graded(n=60)
    known = {0: 1, 5: 0, 7: 0}
    consensus = method.solve(votes, known)
    assert consensus.labels()[[0, 5, 7]].tolist() == [1, 0, 0]
    rest = np.setdiff1d(np.arange(60), list(known))
    assert_allclose(consensus.extend(votes).proba[rest], consensus.proba[rest], rtol=0, atol=1e-9)
    assert_allclose(method.solve(votes).extend(votes).proba, method.solve(votes).proba, rtol=0, atol=1e-9)


def test_a_direction_to_be_learned_is_refused_for_new_objects():
    votes = Votes.from_labels({"j": [0, 9, 1, 8]}, classes=[0, 1], scale=Scale(range(10), direction="learn"))
    consensus = SoftVote().solve(votes, known={0: 1, 1: 0})
    assert consensus.labels().tolist() == [1, 0, 1, 0]
    wanted = (
        "scale must say which end of the scale of 'j' means which class, got direction='learn', which needs known labels. "
        "Pass a scale with direction='up' or direction='down'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        consensus.extend(votes)


@pytest.mark.parametrize("long", [False, True])
def test_a_panel_that_hardens_some_votes_extends_and_explains(long, tmp_path):
    rng = np.random.default_rng(0)
    votes = Votes.from_probabilities({f"p{m}": rng.dirichlet([1, 1], 30) for m in range(3)})
    if long:  # repeated votes are soft ones, kept sparsely
        votes = Votes.from_long(rng.integers(30, size=300), rng.integers(4, size=300), rng.integers(2, size=300))
    members = [MajorityVote(), EC3(towards=MajorityVote()), Panel([MajorityVote(), DawidSkene()])]
    for method in (Panel(members), EC3(towards=Panel(members))):
        consensus = method.solve(votes)
        consensus.save(tmp_path / "c.ec3", overwrite=True)
        for again in (consensus, Consensus.load(tmp_path / "c.ec3")):
            assert_allclose(again.extend(votes).proba, consensus.proba, rtol=0, atol=1e-12)
        assert_allclose(sum(consensus.explain(votes.object_ids[1] if long else 1).parts.values()), consensus.proba[1], atol=1e-12)


@pytest.mark.parametrize("method", [BWA(max_iter=1), DawidSkene(max_iter=1), EBCC(max_iter=1)])
def test_a_single_round_is_allowed_and_warned_about(method):
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter=1 "):
        assert method.solve(votes_of(jury(0)[0])).n_iter == 1


def test_who_scores_is_judged_with_and_without_a_prior_learned_from_all():
    rng = np.random.default_rng(0)
    good = rng.random(300) < 0.5
    scores = {f"j{m}": np.clip(np.where(good, 4, 2) + rng.integers(-2, 3, size=300), 1, 5) for m in range(4)}
    rule = Panel().solve(Votes.from_labels(scores, classes=["bad", "good"], scale=Scale(range(1, 6)))).rule
    members = {name: own.stored()[1] for name, own in rule.members}
    assert list(members)[:2] == ["Dawid-Skene with a learned prior", "Dawid-Skene"]
    learned, plain = members["Dawid-Skene with a learned prior"], members["Dawid-Skene"]
    assert any(not np.allclose(learned[name], plain[name], atol=1e-6) for name in learned)


def test_a_member_that_was_cut_off_says_so():
    with pytest.warns(UserWarning, match=r"^Dawid-Skene stopped at max_iter=1 before reaching tol=1e-05\. "):
        Panel([DawidSkene(max_iter=1), MajorityVote()]).solve(votes_of(jury(0)[0]))


def test_the_members_of_a_saved_panel_are_not_kept(tmp_path):
    Panel().solve(votes_of(jury(0)[0])).save(tmp_path / "c.ec3")
    wanted = "panel needs the answers of the members, and a consensus that was loaded or extended does not hold them."
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        Consensus.load(tmp_path / "c.ec3").panel()


def test_a_clustering_beside_coins_is_a_voter_whose_labels_have_no_names():
    answers, truth = jury(0, 300, 5)
    for shift in range(3):
        votes = votes_of(answers).add(clusterings={"k": (truth + shift) % 3})
        consensus = DawidSkene(one_coin=True, clusterings="voters").solve(votes)
        assert (consensus.labels() == truth).mean() > 0.99


def test_a_grader_without_weight_is_as_good_as_absent():
    votes, _ = graded(n=100)
    noise = np.random.default_rng(0).integers(10, size=100)
    more = votes.add({f"noise{i}": noise for i in range(3)}, scale=range(10), weights=[0, 0, 0])
    assert_allclose(Panel().solve(more).proba, Panel().solve(votes).proba, rtol=0, atol=1e-9)


# ---- subtypes from a sample ------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("seed", range(2))
def test_strongly_biased_voters_are_judged_by_confusion_matrices(seed):
    rng = np.random.default_rng(seed)
    truth = (rng.random(1000) < 0.45).astype(int)
    seen = rng.normal(size=(1000, 25)) + np.where(truth, 0.6, -0.6)[:, None]
    votes = Votes.from_labels((seen > rng.normal(0.7, 0.6, 25)).astype(int))
    consensus = Panel().solve(votes)
    assert "weighted vote" not in consensus.panel()["member"]
    assert (consensus.labels() == truth).mean() > (MajorityVote().solve(votes).labels() == truth).mean() + 0.1


def test_the_confidence_does_not_fall_where_classes_become_many():
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=400)
    said = {f"v{j}": np.where(rng.random(400) < 0.6, truth, rng.integers(4, size=400)) for j in range(10)}
    sure = [ec3learn.solve(Votes.from_labels(said, classes=range(n))).confidence.mean() for n in (4, 20, 21, 60)]
    assert max(sure) - min(sure) < 0.05  # it was .8 with 50 classes and .6 with 51
