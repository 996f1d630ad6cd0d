"""The weights of EC3's terms by cross-validation, against solving each fold anew."""

import re

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from ec3learn import EC3, Votes
from ec3learn._checks import InputError
from ec3learn.methods import tune_weights
from ec3learn.methods.ec3.tuning import grid


@pytest.fixture(scope="module")
def labelled():
    """Votes with gaps, soft ones and clusterings on 120 objects of three classes, and 40 labels."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=120)
    soft = rng.dirichlet(np.ones(3), 120) + np.eye(3)[truth]
    hard = np.where(rng.random((2, 120)) < 0.5, truth, rng.integers(3, size=(2, 120)))
    gaps = rng.random(120) < 0.2
    said = {
        "a": [None if gap else int(z) for gap, z in zip(gaps, hard[0], strict=True)],
        "b": hard[1],
        "c": soft / soft.sum(axis=1, keepdims=True),
    }
    votes = Votes.from_labels(
        said, {"k": (truth + rng.integers(2, size=120)) % 3}, classes=range(3)
    )
    return votes, {i: int(truth[i]) for i in rng.permutation(120)[:40].tolist()}


def out_of_fold(method, votes, known, folds):
    """Probabilities of the labelled objects by solving without their fold, as `tune_weights` cuts them."""
    labelled = np.random.default_rng(0).permutation(sorted(known))
    proba = np.empty((votes.n_objects, votes.n_classes))
    for fold in range(folds):
        hidden = labelled[fold::folds]
        shown = {i: z for i, z in known.items() if i not in hidden}
        proba[hidden] = method.solve(votes, known=shown).proba[hidden]
    return proba[labelled], np.array([known[i] for i in labelled])


def score(scoring, proba, truth):
    if scoring == "log_loss":
        return log_loss(truth, proba, labels=range(3))
    if scoring == "accuracy":
        return np.mean(proba.argmax(axis=1) == truth)
    return np.mean([roc_auc_score(truth == z, proba[:, z]) for z in range(3)])


@pytest.mark.parametrize("scoring", ["auc", "accuracy", "log_loss"])
@pytest.mark.parametrize("balanced", [True, False])
def test_every_setting_is_scored_as_if_each_fold_were_solved_anew(labelled, balanced, scoring):
    votes, known = labelled
    best, table = tune_weights(votes, known, scoring, balanced=balanced, step=0.25, folds=4)
    assert len(table) == 26
    for row in table.rows():
        given = row.pop(scoring)
        proba, truth = out_of_fold(EC3(**row, balanced=balanced), votes, known, 4)
        assert given == pytest.approx(score(scoring, proba, truth), abs=1e-7)
    scores = list(table[scoring])
    assert scores == sorted(scores, reverse=scoring != "log_loss")
    first = next(table.rows())
    assert (best.alpha, best.beta, best.gamma, best.delta) == tuple(first.values())[:4]
    assert best.balanced is balanced


def test_the_grid_of_the_paper_has_1730_settings():
    settings = np.array(list(grid(0.05)))
    assert len(settings) == 1730
    assert np.allclose(settings.sum(axis=1), 1)
    for setting in settings[::97]:
        EC3(*setting)._check()


def test_the_best_tenth_of_the_settings_gives_ranges(labelled):
    _, table = tune_weights(*labelled, step=0.25)
    top = np.array(table["alpha"][:2])
    assert table.note.startswith(f"alpha {top.min():.2f} to {top.max():.2f}, beta ")


def test_equal_scores_are_in_the_order_of_their_distance_from_the_paper_s_weights():
    votes = Votes.from_labels({m: [0, 1] * 10 for m in "ab"})  # every setting is right
    best, table = tune_weights(votes, [0, 1] * 10)
    assert set(table["auc"]) == {1.0}
    assert (best.alpha, best.beta, best.gamma, best.delta) == (0.25, 0.35, 0.35, 0.05)


def test_of_two_classes_the_area_is_that_of_either():
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=60)
    said = {m: np.where(rng.random(60) < 0.7, truth, 1 - truth) for m in "abc"}
    votes, known = Votes.from_labels(said), dict(enumerate(truth.tolist()))
    _, table = tune_weights(votes, known, step=0.5)
    row = next(table.rows())
    area = row.pop("auc")
    proba, labels = out_of_fold(EC3(**row), votes, known, 5)
    assert area == pytest.approx(roc_auc_score(labels, proba[:, 1]), abs=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"known": {0: 0, 1: 0, 2: 0, 3: 0, 4: 0}},
            "known must have labels of at least two classes",
        ),
        ({"known": {0: 0, 1: 1}}, "known must have labels of at least two classes, and at least 5"),
        ({"scoring": "f"}, "Unknown scoring 'f'. Choose from: auc, accuracy, log_loss."),
        ({"step": 0}, "step must be a finite number > 0, got 0."),
        ({"folds": 1}, "folds must be an integer >= 2, got 1."),
    ],
)
def test_what_cannot_be_tuned_is_refused(labelled, settings, message):
    votes, known = labelled
    with pytest.raises(InputError, match=re.escape(message)):
        tune_weights(votes, **({"known": known} | settings))
