"""EC3Classifier: drop-in for scikit-learn's ensembles, honest about what it has seen."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    PredefinedSplit,
    cross_val_score,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ec3learn import EC3, EC3Classifier, SoftVote
from ec3learn._checks import InputError
from ec3learn.estimator import classifier_pool, training


def pool():
    return [
        ("lr", LogisticRegression(max_iter=1000)),
        ("nb", GaussianNB(var_smoothing=1e-3)),
        ("tree", DecisionTreeClassifier(max_depth=4, random_state=0)),
    ]


def clusterings():
    return [
        ("km3", KMeans(3, n_init=2, random_state=0)),
        ("km9", KMeans(9, n_init=2, random_state=0)),
    ]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)


def hidden(y, n_kept, seed=0):
    """The labels of a few rows of each class, None for the others."""
    rng = np.random.default_rng(seed)
    kept = np.concatenate(
        [rng.choice(np.flatnonzero(y == z), n_kept, replace=False) for z in np.unique(y)]
    )
    some = np.full(len(y), None, dtype=object)
    some[kept] = y[kept]
    return some


def made(**settings):
    settings = {"classifiers": pool(), "clusterers": clusterings(), "random_state": 0, **settings}
    return EC3Classifier(**settings)


# ---- it works as people expect -------------------------------------------------------------------


def test_it_learns_and_predicts(iris):
    X, new_X, y, new_y = iris
    model = made().fit(X, y)
    assert model.score(new_X, new_y) > 0.9
    assert_allclose(model.predict_proba(new_X).sum(axis=1), 1)
    assert_array_equal(model.transduction_, y)
    assert model.n_features_in_ == 4


@pytest.mark.parametrize(
    "classes", [["a", "b", "c"], [10, -1, 7], np.array(["x", "y", "z"], dtype=object)]
)
def test_labels_of_any_kind_come_back(iris, classes):
    X, new_X, y, new_y = iris
    names = np.array(classes)[y]
    model = made(consensus="iec3").fit(X, names)
    assert set(model.classes_) == set(classes)
    assert np.mean(model.predict(new_X) == np.array(classes)[new_y]) > 0.9
    assert model.predict(new_X).dtype.kind == np.asarray(list(classes)).dtype.kind


@pytest.mark.parametrize("kind", ["boolean", "polars"])
def test_true_and_false_come_back_where_some_are_missing(iris, kind):
    X, new_X, y, new_y = iris
    given = [None if i % 3 == 0 else bool(label == 0) for i, label in enumerate(y)]
    labels = pl.Series(given) if kind == "polars" else pd.Series(given, dtype=kind)
    model = made(consensus="iec3", retrain=False).fit(X, labels)
    assert model.predict(new_X).dtype == bool
    assert (model.predict(new_X) == (new_y == 0)).mean() > 0.95


def test_a_lazy_table_is_to_be_collected_first(iris):
    X, _, y, _ = iris
    words = r"^X must be held in memory, got a LazyFrame\. Collect it\.$"
    with pytest.raises(TypeError, match=words):
        made().fit(pl.LazyFrame(X), y)


def test_no_row_depends_on_the_others(iris):
    X, new_X, y, _ = iris
    model = made().fit(X, y)
    whole = model.predict_proba(new_X)
    assert_allclose(
        np.vstack([model.predict_proba(new_X[[i]]) for i in range(5)]),
        whole[:5],
        rtol=0,
        atol=1e-12,
    )
    assert_allclose(model.predict_proba(new_X[::-1]), whole[::-1], rtol=0, atol=1e-12)


def test_the_same_seed_gives_the_same_answer(iris):
    X, new_X, y, _ = iris
    one, other = (made(random_state=3).fit(X, y).predict_proba(new_X) for _ in range(2))
    assert_array_equal(one, other)


def test_it_is_pickled_and_cloned(iris):
    X, new_X, y, _ = iris
    model = made().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(new_X), model.predict_proba(new_X))
    assert clone(model).get_params()["cv"] == 5


def test_sparse_features_work(iris):
    X, new_X, y, new_y = iris
    trees = [
        ("tree", DecisionTreeClassifier(random_state=0)),
        ("lr", LogisticRegression(max_iter=1000)),
    ]
    model = made(classifiers=trees).fit(sparse.csr_array(X), y)
    assert model.score(sparse.csr_array(new_X), new_y) > 0.9


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_dataframes_reach_the_base_models_as_they_are(iris, frame):
    X, new_X, y, new_y = iris
    names = ["a", "b", "c", "d"]
    table, new_table = (frame(dict(zip(names, part.T, strict=True))) for part in (X, new_X))
    chosen = make_pipeline(
        make_column_transformer(("passthrough", ["c", "d"])), LogisticRegression(max_iter=1000)
    )
    model = made(classifiers=[("petals", chosen), ("nb", GaussianNB())]).fit(table, y)
    assert model.score(new_table, new_y) > 0.9
    assert model.feature_names_in_.tolist() == names


def test_a_grid_search_reaches_base_models_and_method(iris):
    X, _, y, _ = iris
    search = GridSearchCV(
        made(consensus=EC3()),
        {"lr__C": [0.01, 1.0], "consensus__alpha": [0.1, 0.5]},
        cv=2,
    ).fit(X, y)
    assert set(search.best_params_) == {"lr__C", "consensus__alpha"}
    assert search.best_params_["lr__C"] == dict(search.best_estimator_.classifiers)["lr"].C


def test_a_base_model_can_be_dropped(iris):
    X, new_X, y, _ = iris
    model = (
        made(consensus="soft-vote").set_params(nb="drop", km9="drop", km3__n_clusters=2).fit(X, y)
    )
    assert list(model.estimators_) == ["lr", "tree"]
    assert [found.n_clusters for found in model.clusterers_.values()] == [2]
    assert model.set_params(nb=GaussianNB()).fit(X, y).predict(new_X).shape == (len(new_X),)


WITHOUT_WEIGHTS = "Trained without sample_weight, which their fit does not take: knn."


class Weighed(GaussianNB):
    """Notes the weights it gets."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Weighed.seen.append(sample_weight)
        return super().fit(X, y, sample_weight)


def test_sample_weight_reaches_pipelines_and_retraining(iris):
    X, _, y, _ = iris
    Weighed.seen.clear()
    weight = np.random.default_rng(0).random(len(y)) + 0.5
    weighed = make_pipeline(SelectKBest(k=3), Weighed())
    made(classifiers=[("nb", weighed)], retrain=True).fit(X, hidden(y, 12), sample_weight=weight)
    assert len(Weighed.seen) == 5 + 1 + 2
    assert all(seen is not None and set(seen) <= set(weight) for seen in Weighed.seen)


def test_sample_weight_reaches_our_pools_and_who_cannot_take_it_is_named(iris):
    X, new_X, y, _ = iris
    weight = np.where(y == 1, 100.0, 1.0)
    few = [
        (name, model)
        for name, model in classifier_pool(random_state=0)
        if name in ("lr", "nb", "knn")
    ]
    plain = made(classifiers=few, consensus="soft-vote").fit(X, y)
    with pytest.warns(UserWarning, match=f"^{re.escape(WITHOUT_WEIGHTS)}$"):
        weighted = made(classifiers=few, consensus="soft-vote").fit(X, y, sample_weight=weight)
    for name in plain.estimators_:
        one, other = (
            model.estimators_[name][0].predict_proba(new_X) for model in (plain, weighted)
        )
        assert (other[:, 1].mean() > one[:, 1].mean()) == (name != "knn")
    assert WITHOUT_WEIGHTS in [str(note) for note in weighted.notes_]


def test_sample_weight_counts_in_the_consensus(iris):
    X, _, y, _ = iris
    model = made(classifiers=pool()[:1], consensus="iec3").fit(
        X, y, sample_weight=np.arange(1, len(y) + 1)
    )
    assert model.consensus_.solution.votes.counts.sum() == len(y) * (len(y) + 1) / 2


@pytest.mark.parametrize("n_kept", [40, 12])
def test_the_answers_are_the_same_for_any_n_jobs(n_kept):
    X, y = make_classification(240, 5, n_informative=3, random_state=0)
    shown = hidden(y[:120], n_kept)
    own = [("forest", RandomForestClassifier(20, oob_score=True, random_state=0)), *pool()]
    one, two = (
        made(classifiers=own, n_jobs=n, retrain=True).fit(X[:120], shown).predict_proba(X[120:])
        for n in (1, 2)
    )
    assert_array_equal(one, two)


def test_the_answer_of_the_default_pools_for_a_row_does_not_depend_on_the_batch(iris):
    X, new_X, y, _ = iris
    model = EC3Classifier("fast", random_state=0).fit(X, y)
    many = np.vstack([new_X] * 3)
    whole = model.predict_proba(many)
    assert_allclose(whole[: len(new_X)], model.predict_proba(new_X), rtol=0, atol=1e-12)
    assert_allclose(
        whole[:3],
        np.vstack([model.predict_proba(new_X[[i]]) for i in range(3)]),
        rtol=0,
        atol=1e-12,
    )


def test_the_pipeline_of_the_paper_takes_one_line(iris):
    X, new_X, y, new_y = iris
    model = EC3Classifier("paper", "paper", "iec3", random_state=0)
    assert model.fit(X, hidden(y, 10)).score(new_X, new_y) > 0.85
    assert {"dt", "svm", "sgd"} < set(model.estimators_) and len(model.clusterers_) == 5


@pytest.mark.parametrize("marker", [None, -1])
def test_rows_without_labels_do_not_count_in_scores(iris, marker):
    X, new_X, y, new_y = iris
    model = made(unlabelled=-1, consensus="soft-vote").fit(X, y)
    some = np.array([marker if i % 2 else z for i, z in enumerate(new_y)])
    assert model.score(new_X, some) == model.score(new_X[::2], new_y[::2])
    heavy = np.where(np.arange(len(new_y)) == 0, 58.0, 2.0)  # the first weighs as much as 29 others
    some[0] = (new_y[0] + 1) % 3
    assert model.score(new_X, some, heavy) == 0.5
    shown = np.array([marker if i % 2 else z for i, z in enumerate(y)])
    assert cross_val_score(model, X, shown, cv=3).mean() > 0.8


@pytest.mark.parametrize(
    "changes", [{"lr__model__C": 1.0}, {"classifiers": classifier_pool("fast")}]
)
def test_a_default_value_that_is_set_changes_no_answer(iris, changes):
    X, new_X, y, _ = iris
    plain = EC3Classifier("fast", [], random_state=0).fit(X, y)
    changed = clone(plain).set_params(**changes).fit(X, y)
    assert_array_equal(changed.predict_proba(new_X), plain.predict_proba(new_X))


def test_the_order_of_rows_changes_nothing():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.normal(size=90), "m": rng.normal(size=90), "k": ["a", "b"] * 45})
    labels = hidden((frame["n"] + frame["m"] > 0).astype(int).to_numpy(), 6)
    other = rng.permutation(90)
    one = EC3Classifier("fast", "fast", random_state=0).fit(frame, labels)
    two = EC3Classifier("fast", "fast", random_state=0).fit(frame.iloc[other], labels[other])
    assert_allclose(two.consensus_.proba, one.consensus_.proba[other], atol=1e-6)
    assert_allclose(two.predict_proba(frame), one.predict_proba(frame), atol=1e-6)


def test_a_model_survives_libraries_that_save_what_is_in_it(iris):
    """As skops does: plain containers, and objects made anew from their attributes."""

    def again(value):
        if isinstance(value, (list, tuple)):
            return (list if isinstance(value, list) else tuple)(map(again, value))
        if isinstance(value, dict):
            return {key: again(part) for key, part in value.items()}
        if not type(value).__module__.startswith("ec3learn"):
            return value
        made_anew = object.__new__(type(value))
        made_anew.__dict__.update(again(vars(value)))
        return made_anew

    X, new_X, y, _ = iris
    model = made().fit(X, y)
    assert_array_equal(again(model).predict_proba(new_X), model.predict_proba(new_X))


# ---- honest about what it has seen ---------------------------------------------------------------


class Memory(ClassifierMixin, BaseEstimator):
    """Knows the labels of rows it has seen by heart, and guesses otherwise."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = {row.tobytes(): label for row, label in zip(np.asarray(X), y, strict=True)}
        return self

    def predict_proba(self, X):
        out = np.full((len(X), len(self.classes_)), 1 / len(self.classes_))
        for i, row in enumerate(np.asarray(X)):
            if row.tobytes() in self.seen_:
                out[i] = self.classes_ == self.seen_[row.tobytes()]
        return out

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_rows_that_all_trees_have_seen_get_no_vote_of_a_forest():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, oob_score=True, random_state=0)
    model = EC3Classifier([("forest", forest), *pool()], clusterers=[], random_state=0).fit(X, y)
    nobody = ~model.estimators_["forest"][0].oob_decision_function_.any(axis=1)
    silent = [model.consensus_.solution.votes.said(i)[0] is None for i in range(150)]
    assert sum(silent) == nobody.sum() > 0


def test_a_forest_votes_out_of_bag_instead_of_in_folds(monkeypatch):
    X, y = make_classification(300, 6, n_informative=3, flip_y=0.3, random_state=0)
    forest = RandomForestClassifier(60, oob_score=True, random_state=0)
    n_fits = []
    fit = RandomForestClassifier.fit
    monkeypatch.setattr(
        RandomForestClassifier, "fit", lambda self, X, y: n_fits.append(len(X)) or fit(self, X, y)
    )
    model = made(classifiers=[("forest", forest)], clusterers=[], consensus="soft-vote").fit(X, y)
    assert n_fits == [300]
    said = model.consensus_.solution.votes.stores.soft[0]
    out_of_bag = model.estimators_["forest"][0].oob_decision_function_
    assert_allclose(np.sort(said, axis=0), np.sort(out_of_bag, axis=0))
    assert (
        np.mean(said.argmax(axis=1) == y)
        < 0.9
        < np.mean(model.estimators_["forest"][0].predict(X) == y)
    )


def test_with_few_labels_a_forest_votes_in_folds(monkeypatch):
    """Out of bag it would lean against the class of each row: one row of it is missing, and of no other class."""
    X, y = np.random.default_rng(0).normal(size=(16, 3)), np.arange(16) % 2
    forest = RandomForestClassifier(60, oob_score=True, random_state=0)
    n_fits = []
    fit = RandomForestClassifier.fit
    monkeypatch.setattr(
        RandomForestClassifier, "fit", lambda self, X, y: n_fits.append(len(X)) or fit(self, X, y)
    )
    model = made(classifiers=[("forest", forest)], clusterers=[], consensus="soft-vote").fit(X, y)
    assert len(n_fits) == 6
    assert sorted(n_fits)[4] < sorted(n_fits)[5] == 16
    assert np.isfinite(model.consensus_.solution.votes.stores.soft[0]).all()


def test_a_forest_of_the_pool_has_fewer_trees_in_folds(monkeypatch):
    """Its votes in the folds cost more than half of a fit with few labels."""
    X, y = np.random.default_rng(0).normal(size=(16, 3)), np.arange(16) % 2
    sizes = []
    fit = RandomForestClassifier.fit
    monkeypatch.setattr(
        RandomForestClassifier,
        "fit",
        lambda self, X, y: sizes.append(self.n_estimators) or fit(self, X, y),
    )
    forest = [pair for pair in classifier_pool() if pair[0] == "forest"]
    made(classifiers=forest, clusterers=[], consensus="soft-vote").fit(X, y)
    assert sorted(sizes) == [25] * 5 + [100]


def test_a_forest_behind_the_users_own_steps_votes_in_folds():
    X, y = make_classification(100, 6, n_informative=3, random_state=0)
    forest = make_pipeline(
        SelectKBest(k=2), RandomForestClassifier(5, oob_score=True, random_state=0)
    )
    model = EC3Classifier([("forest", forest)], [], consensus="soft-vote", random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        n_rows = []
        fit = RandomForestClassifier.fit
        patch.setattr(
            RandomForestClassifier,
            "fit",
            lambda self, X, y: n_rows.append(len(X)) or fit(self, X, y),
        )
        model.fit(X, y)
    assert sorted(n_rows) == [80] * 5 + [100]


def test_a_classifier_that_only_remembers_gets_no_undue_weight():
    X, y = make_classification(400, 10, n_informative=5, random_state=0)
    model = EC3Classifier(
        [("memory", Memory()), ("lr", LogisticRegression())],
        clusterers=[],
        consensus=EC3(weights="labels"),
        random_state=0,
    ).fit(X, y)
    weight = dict(
        zip(
            [m.name for m in model.consensus_.solution.models],
            model.consensus_.weights,
            strict=True,
        )
    )
    assert weight["memory"] < 0.1 * weight["lr"]
    said = [model.consensus_.solution.votes.said(i)[0] for i in range(20)]
    assert all(answer == {0: 0.5, 1: 0.5} for answer in said)  # out of fold it has nothing to say


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
def test_rows_of_one_group_are_in_one_fold(cv):
    """Groups of equal rows with labels drawn at random: who has seen one of them knows the others."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 6)
    X, y = rng.normal(size=(100, 3))[groups], rng.integers(2, size=100)[groups]
    knn = [
        ("memory", Memory()),
        ("forest", RandomForestClassifier(20, oob_score=True, random_state=0)),
    ]
    apart = made(classifiers=knn, cv=cv, clusterers=[]).fit(X, y, groups=groups)
    together = made(classifiers=knn, cv=3, clusterers=[]).fit(X, y)
    fair, leaked = (model.voters_["weight"][1] for model in (apart, together))  # of the forest
    assert fair < 0.5 and leaked > 1  # a vote that says nothing has no weight


def test_groups_of_another_number_of_rows_are_refused(iris):
    X, _, y, _ = iris
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[90, 90, 3\]"):
        made().fit(X, y, groups=["a", "b", "c"])


def test_where_rows_are_many_some_folds_will_do(monkeypatch):
    X, y = make_classification(
        600, 4, n_informative=3, n_redundant=0, flip_y=0.2, weights=[0.7], random_state=0
    )
    everywhere = made(clusterers=[]).fit(X[:500], y[:500])
    monkeypatch.setattr(training, "ROWS_TO_JUDGE", 180)
    model = made(clusterers=[]).fit(X[:500], y[:500])
    votes = model.consensus_.solution.votes
    assert sum(votes.said(i)[0] is not None for i in range(500)) == 200  # two of five folds
    losses = [log_loss(y[500:], own.predict_proba(X[500:])) for own in (everywhere, model)]
    assert losses[1] < losses[0] + 0.03  # rows without votes do not enter the weights


@pytest.mark.parametrize("marker", [None, np.nan, -1])
def test_rows_without_labels_are_marked_in_three_ways(iris, marker):
    X, _, y, _ = iris
    some = hidden(y, 6)
    labels = np.array(
        [marker if label is None else label for label in some],
        dtype=object if marker is None else float,
    )
    model = made(unlabelled=-1).fit(X, labels)
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.transduction_ == y).mean() > 0.85
    known = np.array([label is not None for label in some])
    assert_array_equal(model.transduction_[known], y[known])


def test_minus_one_is_a_class_unless_it_is_said_not_to_be(iris):
    X, _, y, _ = iris
    assert made(consensus="iec3").fit(X, np.where(y == 0, -1, 1)).classes_.tolist() == [-1, 1]


@pytest.mark.filterwarnings("ignore::ec3learn.methods.ReliabilityWarning")
def test_retraining_helps_with_few_labels():
    X, y = load_digits(return_X_y=True)
    X, new_X, y, new_y = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    some = hidden(y, 5)
    base = [
        ("lr", make_pipeline(LogisticRegression(max_iter=300))),
        ("nb", GaussianNB(var_smoothing=1e-2)),
    ]
    scores = {
        n: EC3Classifier(
            base, [("km", KMeans(30, n_init=1, random_state=0))], retrain=n, random_state=0
        )
        .fit(X / 16, some)
        .score(new_X / 16, new_y)
        for n in (False, True)
    }
    assert scores[True] > scores[False]


@pytest.mark.parametrize(
    ("n_kept", "what"),
    [
        (3, "3 labelled rows, fewer than cv=5 folds: votes come from 3 folds."),
        (1, "1 labelled row, fewer than cv=5 folds: labelled rows get no votes to judge"),
    ],
)
def test_fewer_labels_than_folds_are_noted(iris, n_kept, what):
    X, _, y, _ = iris
    model = made().fit(X, hidden(y, n_kept))
    assert str(model.notes_[0]).startswith(f"No class has more than {what}")
    assert model.classes_.tolist() == [0, 1, 2]


def test_a_rare_class_does_not_cost_the_others_their_folds(iris):
    X, _, y, _ = iris
    rows = np.concatenate([np.flatnonzero(y > 0), np.flatnonzero(y == 0)[:2]])
    with pytest.MonkeyPatch.context() as patch:
        n_rows = []
        fit = GaussianNB.fit
        patch.setattr(
            GaussianNB, "fit", lambda self, X, y: n_rows.append(len(X)) or fit(self, X, y)
        )
        made(classifiers=[("nb", GaussianNB())], consensus="soft-vote").fit(X[rows], y[rows])
    assert len(n_rows) == 5 + 1


# ---- choices -------------------------------------------------------------------------------------


def test_any_method_can_be_asked_for(iris):
    X, new_X, y, new_y = iris
    for consensus in ("iec3", "dawid-skene", EC3(beta=0)):
        assert made(consensus=consensus).fit(X, y).score(new_X, new_y) > 0.85


def test_a_row_without_a_vote_is_none_for_the_first_class():
    X, y = make_classification(300, 4, random_state=0)
    fold = np.arange(300) % 4 - 1
    model = made(cv=PredefinedSplit(fold), clusterers=[], consensus="dawid-skene").fit(X, y)
    assert [model.consensus_.solution.votes.said(i)[0] is None for i in range(300)] == (
        fold < 0
    ).tolist()
    assert model.voters_["coverage"] == [0.75] * 3


def test_the_table_of_voters_is_there_without_solving_again(iris, monkeypatch):
    X, _, y, _ = iris
    model = made(consensus="soft-vote").fit(X, y)
    monkeypatch.setattr(SoftVote, "solve", None)
    assert model.voters_["model"] == ["lr", "nb", "tree", "km3", "km9"]
    assert model.voters_["weight"] == model.consensus_.voters()["weight"]


def test_notes_on_tables_of_votes_are_not_about_labels(iris):
    X, _, y, _ = iris
    model = made().fit(X, np.array(["unknown", "mild", "severe"])[y])
    assert not any("missing" in str(note) for note in model.notes_)


def test_a_report_can_be_written(iris, tmp_path):
    X, _, y, _ = iris
    path = tmp_path / "report.html"
    model = made().fit(X, hidden(y, 10))
    model.report(path, truth=y, title="Irises", details={"data": "from R. A. Fisher"})
    page = path.read_text(encoding="utf-8").replace(
        "\xa0", " "
    )  # a percent sign stays with its number
    assert "Irises" in page and "EC3Classifier" in page and "R. A. Fisher" in page
    assert all(str(note).split(",")[0] in page for note in model.notes_)


# ---- errors --------------------------------------------------------------------------------------


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("out of order")


def test_a_base_model_that_fails_is_named(iris):
    X, _, y, _ = iris
    wanted = "The classifier 'broken' failed (RuntimeError: out of order). Fix or remove it."
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}"):
        made(classifiers=[*pool(), ("broken", Broken())]).fit(X, y)


NAMES = "classifiers and clusterers must have different names, without '__', that are no parameters"
REFUSED = {
    "classifiers must hold at least one (name, estimator), got none.": {"classifiers": []},
    f"{NAMES}, got 'lr'.": {"clusterers": [("lr", KMeans())]},
    f"{NAMES}, got 'cv'.": {"clusterers": [("cv", KMeans())]},
    f"{NAMES}, got 'k__m'.": {"clusterers": [("k__m", KMeans())]},
}
NO_POOL = "classifiers must be the name of a pool or a list of (name, estimator), got "
OF_ANOTHER_KIND = {
    f"{NO_POOL}KMeans().": {"classifiers": KMeans()},
    f"{NO_POOL}('t', 'tree').": {"classifiers": [("t", "tree")]},
    f"{NO_POOL}('t', {Broken!r}).": {"classifiers": [("t", Broken)]},
}


@pytest.mark.parametrize("message", REFUSED)
def test_settings_that_make_no_sense_are_refused(iris, message):
    X, _, y, _ = iris
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        made(**REFUSED[message]).fit(X, y)


@pytest.mark.parametrize("message", OF_ANOTHER_KIND)
def test_settings_of_another_kind_are_refused(iris, message):
    X, _, y, _ = iris
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        made(**OF_ANOTHER_KIND[message]).fit(X, y)


def test_an_unknown_consensus_is_met_with_all_that_are_known(iris):
    X, _, y, _ = iris
    with pytest.raises(
        ValueError, match=r"^Unknown consensus 'best'\. Choose from: auto, ec3, iec3, "
    ):
        made(consensus="best").fit(X, y)


def test_columns_of_one_name_are_refused(iris):
    X, _, y, _ = iris
    frame = pd.DataFrame(X, columns=list("abac"))
    with pytest.raises(
        InputError,
        match=r"^X must have columns of different names, got 'a' 2 times\. Rename them\.$",
    ):
        made().fit(frame, y)


def test_no_label_at_all_is_refused(iris):
    X, _, y, _ = iris
    with pytest.raises(
        ValueError, match=r"^y must hold at least one label, got 90 missing ones\.$"
    ):
        made().fit(X, np.full(len(y), None))


def test_labels_of_two_kinds_are_refused(iris):
    X, _, y, _ = iris
    mixed = y.astype(object)
    mixed[0] = "zero"
    with pytest.raises(
        ValueError, match=r"^y must hold labels of one kind: .*, got str and int labels"
    ):
        made().fit(X, mixed)


# ---- scikit-learn's own checks -------------------------------------------------------------------


ROWS_ARE_DRAWN = "folds, trees and clusterings draw rows: two equal ones are not one of weight two"
NOT_FOR_POOLS = {
    "check_sample_weight_equivalence_on_dense_data": ROWS_ARE_DRAWN,
    "check_sample_weight_equivalence_on_sparse_data": ROWS_ARE_DRAWN,
}


@pytest.mark.filterwarnings("ignore")  # they feed it odd labels and rows, of which it warns
@parametrize_with_checks(
    [EC3Classifier("fast", "fast")], expected_failed_checks=lambda estimator: NOT_FOR_POOLS
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def test_free_text_is_warned_of():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "n": rng.normal(size=60),
            "job": ["cook", "clerk"] * 30,
            "words": [f"text {i}" for i in range(60)],
        }
    )
    y = (frame["n"] > 0).astype(int)
    words = "The column 'words' seems to hold free text, which the pool takes for categories."
    with pytest.warns(UserWarning, match=words):
        model = EC3Classifier("default", [], consensus="soft-vote", cv=2, random_state=0).fit(
            frame, y
        )
    assert str(model.notes_[0]).startswith(words)
