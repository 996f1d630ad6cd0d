"""The grid on held-out labels gives the answers of single solutions, and chooses as it should."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from ec3learn import EC3, Consensus, EC3Classifier, MajorityVote, SoftVote, StackedVote, Votes
from ec3learn.algebra.membership import membership
from ec3learn.answer.rule import KnownLabels
from ec3learn.diagnosis.metrics import macro_f, mean_auc
from ec3learn.estimator import TunedVote, selection
from ec3learn.estimator.candidates import weigh_by_labels
from ec3learn.estimator.selection import choose
from ec3learn.methods.ec3.system import SOFT_VOTE, AnySetting, grid
from ec3learn.methods.stacking import Blend, greedy_weights, simplex_weights


def soft_pool(seed, strengths, *, n_objects=400, n_classes=3, clusterings=2):
    """Classifiers whose scores follow the truth by these strengths, and clusterings that follow it mostly."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_objects)
    tables = {}
    for m, strength in enumerate(strengths):
        scores = np.exp(
            rng.normal(size=(n_objects, n_classes)) + strength * np.eye(n_classes)[truth]
        )
        tables[f"c{m}"] = scores / scores.sum(axis=1, keepdims=True)
    clusters = {
        f"k{j}": np.where(
            rng.random(n_objects) < 0.8, truth, rng.integers(n_classes + 2, size=n_objects)
        )
        for j in range(clusterings)
    }
    return Votes.from_probabilities(tables, clusters or None), truth


def test_the_grid_has_the_settings_of_the_paper():
    # 21 x 22 x 23 / 6 = 1771 settings in steps of .05; those that leave nothing to go by are
    # refused by EC3 itself
    assert len(grid(0.05)) == 1771 - sum(
        1 for a in range(21) for b in range(21 - a) if a == 0 or 20 - a - b == 0
    )
    assert all(sum(setting) == pytest.approx(1) for setting in grid(0.1))
    assert SOFT_VOTE in grid(0.25)


@pytest.mark.parametrize(
    "setting",
    [(0.25, 0.35, 0.35, 0.05), (0.5, 0, 0.5, 0), (0, 0.5, 0.5, 0), (0.5, 0.3, 0, 0.2), SOFT_VOTE],
)
def test_any_setting_has_the_answers_of_ec3(setting):
    votes, _ = soft_pool(0, [1.0, 0.5, 2.0])
    solved = AnySetting(votes, membership(votes), votes.weights * [2.0, 1.0, 0.5, 1.0, 1.0])
    consensus = EC3(*setting, weights=[2.0, 1.0, 0.5]).solve(votes)
    assert_allclose(solved.proba(setting), consensus.row_proba, rtol=0, atol=1e-9)


NOISE_POOLS = {
    "smooth": [("lr", LogisticRegression()), ("nb", GaussianNB())],
    "by heart": [
        ("knn", KNeighborsClassifier(3)),
        ("forest", ExtraTreesClassifier(30, bootstrap=True, oob_score=True, random_state=0)),
        ("nb", GaussianNB()),
    ],
}


@pytest.mark.parametrize("pool", NOISE_POOLS)
@pytest.mark.parametrize("n_unlabelled", [0, 600])
def test_no_candidate_claims_to_know_labels_drawn_at_random(pool, n_unlabelled):
    """Clusters of ten rows, and votes on other rows that come from models that have seen the hidden label.

    The AUC of 900 random labels of four classes has a standard deviation of .015, and the mean over
    8 draws one of .005.
    """
    claims = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(900 + n_unlabelled, 3)), rng.integers(4, size=900 + n_unlabelled)
        y[900:] = -1
        fine = [("km", KMeans(90, n_init=1, random_state=0))]
        model = EC3Classifier(
            NOISE_POOLS[pool], fine, "soft-vote", unlabelled=-1, retrain_rounds=0, random_state=seed
        ).fit(X, y)
        found = choose(model.consensus_.votes, y, 5, seed, "roc_auc").candidates
        names = [name if "refined" not in name else "refined" for name in found["candidate"]]
        claims.append(dict(zip(names, found["score"], strict=True)))
    means = {name: np.mean([claim[name] for claim in claims]) for name in claims[0]}
    assert len(means) == 8
    assert all(abs(mean - 0.5) < 0.02 for mean in means.values()), means


def test_clusters_that_tell_nothing_do_not_displace_classifiers():
    """Features with little signal, and clusters so fine that they could hold labels by heart."""
    X, y = make_classification(2400, 6, n_informative=2, n_redundant=0, flip_y=0.6, random_state=0)
    pool = [
        ("knn", KNeighborsClassifier(5)),
        ("tree", DecisionTreeClassifier(random_state=0)),
        ("lr", LogisticRegression()),
    ]
    fine = [(f"km{k}", KMeans(k, n_init=1, random_state=0)) for k in (80, 120)]
    aucs = {}
    for name, clusters in {"with": fine, "without": []}.items():
        model = EC3Classifier(pool, clusters, random_state=0).fit(X[:1200], y[:1200])
        aucs[name] = mean_auc(model.predict_proba(X[1200:]), y[1200:])
    assert aucs["with"] > aucs["without"] - 0.01


@pytest.mark.parametrize("n_rare", [1, 3])
def test_a_rare_class_does_not_stop_the_choice(n_rare, monkeypatch):
    monkeypatch.setattr(selection, "MOST_ROWS", 300)
    votes, truth = soft_pool(0, [1.0, 0.5], n_objects=1500, n_classes=3)
    codes = np.where(np.arange(1500) < 1490, np.minimum(truth, 1), -1)
    codes[np.flatnonzero(truth == 2)[:n_rare]] = 2
    assert "log loss" in choose(votes, codes, 5, 0).notes[0].text


def test_a_sample_keeps_rare_classes():
    codes = np.zeros(1000, dtype=int)
    codes[:4], codes[4] = 1, 2
    assert np.bincount(codes[selection._sample(codes, 0, 100)]).tolist() == [100, 4]


def test_what_base_models_add_is_measured_despite_a_rare_class():
    votes, truth = soft_pool(0, [2.0, 0.1], n_objects=3000, n_classes=3)
    codes = np.minimum(truth, 1)
    codes[0] = 2
    adds = selection.measure_base_models(SoftVote(), votes, codes, 5, 0)
    assert adds[0] > 0.05


def test_with_few_labels_nothing_is_tuned():
    votes, truth = soft_pool(0, [1.0, 1.0])
    codes = np.where(np.arange(len(truth)) < 15, truth, -1)
    chosen = choose(votes, codes, 5, 0)
    assert isinstance(chosen.method.members[0], EC3)
    assert str(chosen.notes[0]).startswith("15 labels are too few to choose by")


def test_with_very_many_classes_soft_voting_is_used_and_a_note_says_so(monkeypatch):
    votes, truth = soft_pool(0, [1.0, 1.0], n_objects=300)
    work = 300 * votes.models.n_groups * 3
    monkeypatch.setattr(selection, "MOST_WORK", work - 1)
    chosen = choose(votes, truth, 5, 0)
    assert str(chosen.notes[0]).startswith(
        "3 classes are too many to try other methods on so many rows"
    )
    answer = chosen.method.solve(votes).proba
    assert_array_equal(answer.argmax(axis=1), SoftVote().solve(votes).proba.argmax(axis=1))
    monkeypatch.setattr(selection, "MOST_WORK", work)
    assert "too many" not in str(choose(votes, truth, 5, 0).notes[0])


def test_with_very_many_classes_of_one_label_each_soft_voting_is_used(monkeypatch):
    votes, truth = soft_pool(0, [1.0, 1.0], n_objects=300)
    monkeypatch.setattr(selection, "MOST_WORK", 1)
    codes = np.full(300, -1)
    codes[[int(np.flatnonzero(truth == z)[0]) for z in range(3)]] = range(3)
    assert isinstance(choose(votes, codes, 5, 0).method, SoftVote)


@pytest.mark.parametrize(("n_labels", "share"), [(90, 1 / 3), (360, None)])
def test_the_fewer_labels_the_more_of_the_answer_is_fixed(n_labels, share):
    votes, truth = soft_pool(0, [1.0, 1.0], n_objects=400)
    codes = np.full(400, -1)
    for z in range(3):
        codes[np.flatnonzero(truth == z)[: n_labels // 3]] = z
    chosen = choose(votes, codes, 5, 0)
    if share is None:
        assert "of the answer" not in str(chosen.notes[0])
    else:
        assert chosen.method.shares == pytest.approx([1 - share, share])
        assert "it is 33 % of the answer" in str(chosen.notes[0])


def test_five_labels_of_a_rare_class_do_not_decide_alone():
    """As many labels in all as would be enough if classes were equally frequent."""
    votes, truth = soft_pool(0, [1.0, 0.5, 0.2], n_objects=800, n_classes=2)
    codes = np.full(800, -1)
    codes[np.flatnonzero(truth == 0)[:55]], codes[np.flatnonzero(truth == 1)[:5]] = 0, 1
    assert chosen_share(choose(votes, codes, 5, 0)) < 0.3


def chosen_share(chosen):
    return chosen.method.shares[1] if len(chosen.method.members) > 1 else 0.0


def test_with_few_labels_the_confidence_suits_them():
    """Twelve classifiers that are much better together than any of them says."""
    votes, truth = soft_pool(0, [1.0] * 12, n_objects=1000)
    codes = np.where(np.arange(1000) < 30, truth, -1)
    method = choose(votes, codes, 5, 0).method
    known = ([*range(30)], truth[:30].tolist())
    sharp, plain = (own.solve(votes, known=known) for own in (method, method.members[0]))
    losses = [-np.log(own.proba[np.arange(30, 1000), truth[30:]]).mean() for own in (sharp, plain)]
    assert method.slope > 1.2
    assert losses[0] < losses[1] - 0.05


def test_with_few_labels_a_bloc_of_bad_classifiers_does_not_outvote_the_good_ones():
    """Three that err together agree with their consensus most: only labels tell them from the two that are right."""
    rng = np.random.default_rng(0)
    truth, guess = rng.integers(2, size=(2, 600))
    said = {f"bloc {m}": guess for m in range(3)} | {f"good {m}": truth for m in range(2)}
    shares = {
        name: np.clip(0.2 + 0.6 * own + rng.normal(0, 0.1, 600), 0.01, 0.99)
        for name, own in said.items()
    }
    votes = Votes.from_probabilities(shares, {"km": rng.integers(5, size=600)}, classes=[0, 1])
    known = ([*range(16)], truth[:16].tolist())
    method = choose(votes, np.where(np.arange(600) < 16, truth, -1), 5, 0).method
    assert method.solve(votes, known=known).score(truth) > 0.95
    assert (
        EC3(*selection.WITH_FEW_LABELS, weights="agreement").solve(votes, known=known).score(truth)
        < 0.7
    )


def test_weights_by_labels_stop_growing_apart():
    """The best of many classifiers is not left alone, however many labels there are."""
    votes, truth = soft_pool(0, [1.0, 0.9, 0.5], n_objects=400)
    few, many = (
        weigh_by_labels(votes[rows], KnownLabels(np.tile(truth[:300], n), np.inf))
        for n in (1, 20)
        for rows in [np.tile(np.arange(300), n)]
    )
    assert few == pytest.approx(many, rel=0.05)
    assert few["c0"] == 1 > few["c2"]


def test_a_missing_vote_says_nothing_about_the_classifier():
    good = np.where(np.arange(20) % 2 == 1, 0.9, 0.1)
    votes = Votes.from_probabilities(
        {"good": good, "absent": np.full(20, np.nan), "unsure": np.full(20, 0.5)}, classes=[0, 1]
    )
    weights = weigh_by_labels(votes, KnownLabels(np.arange(20) % 2, np.inf))
    assert weights["good"] == 1
    assert weights["absent"] == pytest.approx(weights["unsure"])


def log_loss_of(consensus, truth):
    return -np.log(consensus.proba[np.arange(len(truth)), truth]).mean()


def chosen_and_soft(strengths, n_labels=1000, pool=soft_pool, **settings):
    """The chosen method and plain soft voting, learned from some votes and extended to others; and the truth of those."""
    votes, truth = pool(0, strengths, n_objects=n_labels, **settings)
    new_votes, new_truth = pool(1, strengths, n_objects=2000, **settings)
    known = ([*range(n_labels)], truth.tolist())
    method = choose(votes, truth, 5, 0).method
    return *(
        own.solve(votes, known=known).extend(new_votes) for own in (method, SoftVote())
    ), new_truth


def test_where_there_is_nothing_to_learn_little_is_lost():
    ours, soft, truth = chosen_and_soft(
        [0.7] * 12, 120, clusterings=0
    )  # equally good, and few labels to find out
    assert log_loss_of(ours, truth) < log_loss_of(soft, truth) + 0.01


def test_good_clusterings_and_unequal_classifiers_are_made_use_of():
    ours, soft, truth = chosen_and_soft([0.2, 0.2, 0.2, 1.0])
    assert mean_auc(ours.proba, truth) > mean_auc(soft.proba, truth) + 0.05
    assert log_loss_of(ours, truth) < log_loss_of(soft, truth) - 0.1


def pool_that_misleads(seed, strengths, n_objects):
    """How sure a classifier says it is tells nothing of whether it is right."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n_objects)
    shares = {}
    for m, strength in enumerate(strengths):
        right = rng.random(n_objects) < strength
        sure = rng.choice([0.51, 0.99], n_objects)
        on_class_1 = np.where(right == (truth == 1), sure, 1 - sure)
        shares[f"c{m}"] = np.stack([1 - on_class_1, on_class_1], axis=1)
    return Votes.from_probabilities(shares, classes=[0, 1]), truth


def test_hard_votes_are_taken_where_probabilities_mislead():
    ours, soft, truth = chosen_and_soft([0.7] * 5, pool=pool_that_misleads)
    assert mean_auc(ours.proba, truth) > mean_auc(soft.proba, truth) + 0.02


def test_the_answer_delivered_is_the_one_that_was_judged():
    """Its log loss on new objects is what was claimed, though soft votes are far less sure than they might be."""
    votes, truth = soft_pool(0, [1.0] * 8, n_objects=3000)
    chosen = choose(votes[np.arange(1500)], truth[:1500], 5, 0)
    consensus = chosen.method.solve(
        votes[np.arange(1500)], known=([*range(1500)], truth[:1500].tolist())
    )
    claimed, error = (chosen.candidates[column][-1] for column in ("score", "error"))
    assert (
        abs(log_loss_of(consensus.extend(votes[np.arange(1500, 3000)]), truth[1500:]) - claimed)
        < 3 * error
    )


@pytest.mark.parametrize("settings", [{"offsets": True}, {"scoring": "f1_macro"}, {}])
def test_rare_classes_get_offsets_if_asked_for(settings):
    rng = np.random.default_rng(0)
    truth = (rng.random(4000) < 0.05).astype(int)
    chance = np.clip(
        0.05 + 0.25 * truth + rng.normal(0, 0.1, 4000), 0.001, 0.45
    )  # never the likelier class
    votes = Votes.from_probabilities({"c": np.stack([1 - chance, chance], axis=1)})
    chosen = choose(votes, truth, 5, 0, **settings)
    labels = (
        chosen.method.solve(votes, known=([*range(4000)], truth.tolist())).extend(votes).labels()
    )
    assert (
        (chosen.offsets is not None)
        == bool(settings)
        == any("macro F" in note.text for note in chosen.notes[1:])
    )
    assert macro_f(labels, truth, 2) > 0.7


@pytest.mark.parametrize(
    "scoring", ["roc_auc", "roc_auc_ovr", "balanced_accuracy", make_scorer(accuracy_score)]
)
def test_candidates_are_compared_by_any_score(scoring):
    votes, truth = soft_pool(0, [1.0, 0.1, 0.1], clusterings=0)
    found = choose(votes, truth, 5, 0, scoring).candidates
    assert all(
        0.4 < score < 1 and error > 0
        for score, error in zip(found["score"], found["error"], strict=True)
    )
    assert found["score"][-1] > found["score"][0]


def test_repeated_folds_have_a_wider_error_than_independent_ones():
    scores = np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])
    assert selection.standard_error(scores) == pytest.approx(np.sqrt(2.5 * (1 / 5 + 1 / 4)))


def test_votes_of_ones_own_can_be_tuned():
    """A validation set with labels, and a test set without: better than soft voting and than stacking."""
    votes, truth = soft_pool(0, [0.2, 0.2, 0.2, 1.0, 0.6], n_objects=3000)
    known = ([*range(1000)], truth[:1000].tolist())
    losses = []
    for method in (TunedVote(), SoftVote(), StackedVote()):
        consensus = method.solve(votes, known=known)
        losses.append(-np.log(consensus.proba[np.arange(1000, 3000), truth[1000:]]).mean())
    assert losses[0] == min(losses)
    assert "on held-out labels" in str(TunedVote().solve(votes, known=known).notes[0])
    with pytest.raises(
        ValueError, match=r"^Tuned vote needs known labels, got none\. Pass known, or take"
    ):
        TunedVote().solve(votes)


def test_a_class_without_known_labels_can_still_be_the_answer():
    rng = np.random.default_rng(0)
    truth = np.arange(600) % 3
    votes = Votes.from_probabilities(
        {name: 0.2 * np.eye(3)[truth] + 0.8 * rng.dirichlet([1, 1, 1], 600) for name in "abcdefgh"}
    )
    known = np.flatnonzero(truth[:300] < 2)
    labels = TunedVote().solve(votes, known=(known.tolist(), truth[known].tolist())).labels()
    assert (labels == truth)[300:][truth[300:] == 2].mean() > 0.7


# ---- what is learned from labels -----------------------------------------------------------------


def test_simplex_weights_have_the_least_log_loss():
    rng = np.random.default_rng(0)
    shares, counts = rng.random((2, 500)) * [[1.0], [0.8]], rng.random(500)
    found = simplex_weights(shares, counts)
    losses = [
        -counts @ np.log(w * shares[0] + (1 - w) * shares[1]) for w in np.linspace(0, 1, 1001)
    ]
    assert found[0] == pytest.approx(np.argmin(losses) / 1000, abs=0.01)
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("on", ["votes", "labels", "log-odds"])
def test_the_parts_of_a_stacked_vote_add_up_to_its_answer(on):
    votes, truth = soft_pool(0, [1.0, 2.0], clusterings=1)
    consensus = StackedVote(on=on).solve(votes, known=([*range(300)], truth[:300].tolist()))
    logs = np.log(consensus.proba[350])
    assert_allclose(
        sum(consensus.explain(350).parts.values()), logs - logs.mean(), rtol=0, atol=1e-9
    )


def test_a_pool_of_log_odds_is_the_product_of_powers():
    votes, truth = soft_pool(0, [1.0, 2.0], clusterings=1)
    consensus = StackedVote(on="log-odds").solve(votes, known=([*range(300)], truth[:300].tolist()))
    weights = consensus.rule.voter_weights
    p, q = (np.maximum(votes.stores.soft.shares_of(m), 1e-3) for m in votes.stores.soft.models)
    expected = consensus.rule.fallback * p ** weights[0] * q ** weights[1]
    answers = consensus.proba[300:]
    assert_allclose(
        answers, (expected / expected.sum(axis=1, keepdims=True))[300:], rtol=0, atol=1e-9
    )
    assert weights[1] > weights[0] > 0
    assert_allclose(
        consensus.extend(votes[[350]]).proba[0], consensus.proba[350], rtol=0, atol=1e-9
    )
    parts = consensus.explain(350).parts
    assert_allclose(
        sum(parts.values()),
        np.log(consensus.proba[350]) - np.log(consensus.proba[350]).mean(),
        rtol=0,
        atol=1e-9,
    )


def test_a_stored_pool_does_not_grow_with_the_square_of_its_voters():
    said = np.random.default_rng(0).integers(3, size=(40, 50))
    rule = (
        StackedVote(on="log-odds")
        .solve(Votes.from_labels(said), known=dict(enumerate(said[:30, 0].tolist())))
        .rule
    )
    assert len(rule.groups) == 150
    assert sum(array.size for array in rule.stored()[1].values()) < 2 * len(rule.groups)


def test_a_blend_is_a_weighted_mean_made_sharper(tmp_path):
    votes, truth = soft_pool(0, [1.0, 0.5, 2.0])
    known = ([*range(200)], truth[:200].tolist())
    members = [
        SoftVote(),
        StackedVote(on="log-odds"),
        EC3(towards=StackedVote(on="labels")),
        MajorityVote(),
    ]
    shares, offsets = [0.4, 0.3, 0.2, 0.1], [0.0, 0.5, 0.0]
    consensus = Blend(members, shares, 1.5, offsets).solve(votes, known=known)
    mean = sum(
        share * own.solve(votes, known=known).proba
        for share, own in zip(shares, members, strict=True)
    )
    expected = mean**1.5 * np.exp(offsets)
    assert_allclose(
        consensus.proba[200:],
        (expected / expected.sum(axis=1, keepdims=True))[200:],
        rtol=0,
        atol=1e-9,
    )
    assert_allclose(consensus.proba[:200].max(axis=1), 1)
    assert_allclose(
        sum(consensus.explain(300).parts.values()), consensus.proba[300], rtol=0, atol=1e-9
    )
    consensus.save(tmp_path / "blend.ec3")
    again = Consensus.load(tmp_path / "blend.ec3").extend(votes[np.arange(200, 400)])
    assert_allclose(again.proba, consensus.proba[200:], rtol=0, atol=1e-9)


def test_what_base_models_add_to_a_blend_is_measured():
    votes, truth = soft_pool(0, [2.0, 0.1, 0.1], clusterings=0)
    adds = selection.measure_base_models(choose(votes, truth, 5, 0).method, votes, truth, 5, 0)
    assert adds[0] == max(adds) > 0.1


def test_greedy_selection_takes_the_best_and_leaves_guesses_out():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=500)
    good = np.clip(0.5 + 0.3 * (2 * truth - 1) + rng.normal(0, 0.3, 500), 0.01, 0.99)
    guess = rng.random((3, 500))
    shares = np.stack([np.stack([1 - p, p], axis=1) for p in [good, *guess]])
    weights, history = greedy_weights(shares, truth, mean_auc)
    assert weights[0] > 2
    assert history == sorted(history)
    assert weights.sum() == pytest.approx(4)


def test_a_stacked_vote_learns_whom_to_disbelieve():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    votes = Votes.from_labels({"liar": 1 - truth, "guess": rng.integers(2, size=300)})
    consensus = StackedVote().solve(votes, known={i: int(truth[i]) for i in range(60)})
    assert (consensus.labels() == truth).all()
    assert_allclose(
        consensus.extend(votes[[200]]).proba[0], consensus.proba[200], rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("on", ["votes", "labels", "log-odds"])
def test_labels_of_objects_without_votes_say_nothing_about_voters(on):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    shares = np.clip(0.5 + 0.3 * (2 * truth - 1) + rng.normal(0, 0.2, 200), 0.05, 0.95)
    known = {i: int(truth[i]) for i in range(100)}
    few = Votes.from_probabilities({"c": shares})
    more = Votes.from_probabilities({"c": np.r_[shares, np.full(300, np.nan)]})
    plain = StackedVote(on=on).solve(few, known=known)
    besides = StackedVote(on=on).solve(more, known=known | dict.fromkeys(range(200, 500), 1))
    assert_allclose(besides.proba[100:200], plain.proba[100:], rtol=0, atol=1e-6)


def test_a_stacked_vote_needs_labels(w8):
    with pytest.raises(
        ValueError, match=r"^Stacked vote needs known labels, got none\. Pass known, "
    ):
        StackedVote().solve(w8)


def test_a_classifier_that_tells_nothing_of_many_classes_has_nearly_no_weight():
    truth = np.tile(np.arange(30), 30)
    votes = Votes.from_labels({"good": truth, "constant": np.zeros_like(truth)}, classes=range(30))
    weights = weigh_by_labels(votes, KnownLabels(np.arange(30), np.inf))  # one per distinct row
    assert weights["good"] == 1.0 and 1e-60 < weights["constant"] < 1e-20
    EC3(weights=weights).solve(votes)


def test_labels_of_objects_that_weigh_nothing_weigh_classifiers_all_the_same():
    truth = np.tile([0, 1, 2], 20)
    votes = Votes.from_labels(
        {"good": truth, "bad": (truth + 1) % 3}, sample_weight=np.repeat([0.0, 1.0], 30)
    )
    found = TunedVote().solve(votes, known=dict(enumerate(truth[:12].tolist())))
    assert (found.labels() == truth).all()
