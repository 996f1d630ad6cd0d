"""The grid on held-out labels gives the answers of single solutions, and chooses as it should."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from ec3learn import EC3, EC3Classifier, SoftVote, StackedVote, Votes
from ec3learn.algebra.membership import membership
from ec3learn.diagnosis.metrics import mean_auc
from ec3learn.estimator import candidates, selection
from ec3learn.estimator.selection import choose
from ec3learn.methods.ec3.grid import SOFT_VOTE, HeldOutFold, grid
from ec3learn.methods.stacking import greedy_weights


def soft_pool(seed, strengths, *, n_objects=400, n_classes=3, clusterings=2):
    """Classifiers whose scores follow the truth by these strengths, and clusterings that follow it mostly."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_objects)
    tables = {}
    for m, strength in enumerate(strengths):
        scores = np.exp(rng.normal(size=(n_objects, n_classes)) + strength * np.eye(n_classes)[truth])
        tables[f"c{m}"] = scores / scores.sum(axis=1, keepdims=True)
    clusters = {
        f"k{j}": np.where(rng.random(n_objects) < 0.8, truth, rng.integers(n_classes + 2, size=n_objects))
        for j in range(clusterings)
    }
    return Votes.from_probabilities(tables, clusters or None), truth


def test_the_grid_has_the_settings_of_the_paper():
    # 21 x 22 x 23 / 6 = 1771 settings in steps of .05; those that leave nothing to go by are refused by EC3 itself
    assert len(grid(0.05)) == 1771 - sum(1 for a in range(21) for b in range(21 - a) if a == 0 or 20 - a - b == 0)
    assert all(sum(setting) == pytest.approx(1) for setting in grid(0.1))
    assert SOFT_VOTE in grid(0.25)


@pytest.mark.parametrize("setting", [(0.25, 0.35, 0.35, 0.05), (0.5, 0, 0.5, 0), (0, 0.5, 0.5, 0), (0.5, 0.3, 0, 0.2), SOFT_VOTE])
@pytest.mark.parametrize("stacked", [False, True])
def test_a_fold_has_the_answers_of_ec3_with_the_other_labels_known(setting, stacked):
    votes, truth = soft_pool(0, [1.0, 0.5, 2.0])
    hidden = np.random.default_rng(1).random(len(truth)) < 0.3
    known = {int(i): int(truth[i]) for i in np.flatnonzero(~hidden)}
    targets = None
    if stacked:
        from ec3learn.answer.rule import KnownLabels, Targets

        answer = StackedVote().answer(votes, KnownLabels(np.where(hidden, -1, truth), np.inf))
        targets = Targets(answer.proba, answer.rule)
    weights = votes.weights * [2.0, 1.0, 0.5, 1.0, 1.0]
    fold = HeldOutFold(votes, membership(votes), weights, truth, hidden, targets)
    method = EC3(*setting, weights=[2.0, 1.0, 0.5], towards=StackedVote() if stacked else "votes")
    assert_allclose(fold.proba(setting), method.solve(votes, known=known).proba[hidden], rtol=0, atol=1e-9)


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_no_candidate_claims_to_know_labels_drawn_at_random(share, monkeypatch):
    """Fine clusters, and models that learn labels by heart: what leaks shows here.

    The AUC of 3,000 random labels has a standard deviation of .011, and the mean over 4 draws one of .005.
    """
    monkeypatch.setattr(candidates, "BUDGET", 0)  # a coarse grid shows it as well
    pool = [("knn", KNeighborsClassifier(3)), ("tree", DecisionTreeClassifier(random_state=0)), ("nb", GaussianNB())]
    claims = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(round(3000 / share), 3)), rng.integers(2, size=round(3000 / share))
        y[3000:] = -1
        fine = [("km", KMeans(150, n_init=1, random_state=0))]
        model = EC3Classifier(pool, fine, "soft-vote", unlabelled=-1, retrain_rounds=0, random_state=seed).fit(X, y)
        claims.append(choose(model.consensus_.votes, y, 5, seed).scores)
    means = {name: np.mean([claim[name] for claim in claims]) for name in claims[0]}
    assert len(means) > 4
    assert all(abs(mean - 0.5) < 0.02 for mean in means.values()), means


def test_clusters_that_tell_nothing_do_not_displace_classifiers():
    """Features with little signal, and clusters so fine that they could hold labels by heart."""
    X, y = make_classification(2400, 6, n_informative=2, n_redundant=0, flip_y=0.6, random_state=0)
    pool = [("knn", KNeighborsClassifier(5)), ("tree", DecisionTreeClassifier(random_state=0)), ("lr", LogisticRegression())]
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
    assert "AUC" in choose(votes, codes, 5, 0).notes[0].text


def test_a_sample_keeps_rare_classes():
    votes, _ = soft_pool(0, [1.0], n_objects=1000, n_classes=3)
    codes = np.zeros(1000, dtype=int)
    codes[:4], codes[4] = 1, 2
    sample, kept = selection._sample(votes, codes, 0, 100)
    assert np.bincount(kept).tolist() == [100, 4]
    assert sample.n_objects == 104


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
    assert isinstance(chosen.method, EC3)
    assert str(chosen.notes[0]).startswith("15 labels are too few to choose by")


def test_where_nothing_beats_soft_voting_it_is_used():
    votes, truth = soft_pool(0, [0.7] * 12, clusterings=0, n_objects=120)  # equally good, and few labels to find out
    chosen = choose(votes, truth, 5, 0)
    assert isinstance(chosen.method, SoftVote)
    assert "Nothing is clearly better than plain soft voting" in chosen.notes[0].text


def test_good_clusterings_and_unequal_classifiers_are_made_use_of():
    votes, truth = soft_pool(0, [0.2, 0.2, 0.2, 1.0], n_objects=1000)
    chosen = choose(votes, truth, 5, 0)
    new_votes, new_truth = soft_pool(1, [0.2, 0.2, 0.2, 1.0], n_objects=1000)
    consensus = chosen.method.solve(votes, known=([*range(1000)], truth.tolist()))
    ours, soft = mean_auc(consensus.extend(new_votes).proba, new_truth), mean_auc(SoftVote().solve(new_votes).proba, new_truth)
    assert ours > soft + 0.05


def test_hard_votes_are_taken_where_probabilities_mislead():
    """How sure a classifier says it is tells nothing of whether it is right."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    shares = {}
    for m in range(5):
        right = rng.random(2000) < 0.7
        sure = rng.choice([0.51, 0.99], 2000)
        on_class_1 = np.where(right == (y == 1), sure, 1 - sure)
        shares[f"c{m}"] = np.stack([1 - on_class_1, on_class_1], axis=1)
    choice = choose(Votes.from_probabilities(shares, classes=[0, 1]), np.where(np.arange(2000) < 1000, y, -1), 5, 0)
    assert choice.hard
    assert "hard votes" in choice.notes[0].text


def test_rare_classes_get_offsets():
    rng = np.random.default_rng(0)
    truth = (rng.random(4000) < 0.05).astype(int)
    chance = np.clip(0.05 + 0.25 * truth + rng.normal(0, 0.1, 4000), 0.001, 0.45)  # never the likelier class
    votes = Votes.from_probabilities({"c": np.stack([1 - chance, chance], axis=1)})
    chosen = choose(votes, truth, 5, 0)
    assert chosen.offsets is not None
    assert any("macro F" in note.text for note in chosen.notes)


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
    assert_allclose(consensus.extend(votes[[200]]).proba[0], consensus.proba[200], rtol=0, atol=1e-9)


def test_a_stacked_vote_needs_labels(w8):
    with pytest.raises(ValueError, match=r"^Stacked vote needs known labels, got none\. Pass known, "):
        StackedVote().solve(w8)
