"""CrowdClassifier: a classifier and the annotators' confusions, learned together."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import ec3learn
from ec3learn import CrowdClassifier, DawidSkene, Panel, Votes
from ec3learn._checks import InputError
from ec3learn.answer import ExtendWarning
from ec3learn.estimator import crowd

K, J, N = 10, 12, 500
NAMES = [f"ann{j:02}" for j in range(J)]


def linear():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def wide_votes(truth, per=2, skill=0.5, seed=0, n_classes=K):
    """One column per annotator; most did not see an object, and each mistakes a class for its own favourite."""
    rng = np.random.default_rng(seed)
    favourite = rng.integers(n_classes, size=(J, n_classes))
    table = np.full((len(truth), J), np.nan)
    for i, z in enumerate(truth):
        for j in rng.choice(J, per, replace=False):
            table[i, j] = z if rng.random() < skill else favourite[j, z]
    return table


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:N], y[:N]


@pytest.fixture(scope="module")
def table(digits):
    return pd.DataFrame(wide_votes(digits[1]), columns=NAMES).astype("Int64")


@pytest.fixture(scope="module")
def fitted(digits, table):
    return CrowdClassifier(linear(), random_state=0).fit(digits[0], table)


def accuracy(labels, truth):
    return float(np.mean(np.asarray(labels) == truth))


# ---- what it is good for -------------------------------------------------------------------------


def test_features_and_votes_together_beat_each_alone(digits, table, fitted):
    X, y = digits
    by_votes = Panel().solve(Votes.from_labels(table))
    majority = ec3learn.MajorityVote().solve(Votes.from_labels(table)).labels()
    by_features = linear().fit(X[:400], majority[:400].astype(int)).predict(X[400:])
    assert accuracy(fitted.transduction_, y) > accuracy(by_votes.labels(), y) + 0.1
    assert accuracy(fitted.transduction_[400:], y[400:]) > accuracy(by_features, y[400:]) + 0.1


def test_new_rows_are_answered_without_votes_and_better_with_them():
    X, y = load_digits(return_X_y=True)
    model = CrowdClassifier(linear(), DawidSkene(), random_state=0).fit(
        X[:600], dict(zip(NAMES, wide_votes(y[:600]).T, strict=True))
    )
    new = dict(zip(NAMES, wide_votes(y[600:1200], per=3).T, strict=True))
    without, together = model.predict(X[600:1200]), model.consensus_for(X[600:1200], new).labels()
    assert accuracy(without, y[600:1200]) > 0.75
    assert accuracy(together, y[600:1200]) > accuracy(without, y[600:1200])
    assert_allclose(model.predict_proba(X[600:1200]).sum(axis=1), 1)


def test_voters_and_their_confusions_are_at_hand(fitted, tmp_path):
    assert list(fitted.consensus_.voters()["model"]) == NAMES
    assert len(fitted.consensus_.confusion("ann00")) == K
    pytest.importorskip("jinja2")
    fitted.report(tmp_path / "page.html")
    assert "CrowdClassifier" in (tmp_path / "page.html").read_text()


def test_known_labels_are_kept_and_help(digits, table, fitted):
    X, y = digits
    known = {i: int(y[i]) for i in range(0, N, 5)}
    model = CrowdClassifier(linear(), random_state=0).fit(X, table, known=known)
    rest = np.setdiff1d(np.arange(N), list(known))
    assert_array_equal(model.transduction_[list(known)], list(known.values()))
    assert (
        accuracy(model.transduction_[rest], y[rest])
        >= accuracy(fitted.transduction_[rest], y[rest]) - 0.01
    )


def test_without_an_estimator_the_one_is_taken_that_explains_the_votes_better(
    digits, table, monkeypatch
):
    monkeypatch.setattr(
        crowd,
        "classifier_pool",
        lambda **_: [("extra", DummyClassifier()), ("lr", linear()), ("nb", None)],
    )
    model = CrowdClassifier(method="dawid-skene", random_state=0, rounds=1).fit(digits[0], table)
    assert (
        str(model.notes_[0])
        == "Classifier: logistic regression. By extra trees the votes would be less likely."
    )
    assert accuracy(model.transduction_, digits[1]) > 0.75


def small_crowd(n=60):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    votes = {f"v{j}": np.where(rng.random(n) < 0.65, y, rng.integers(3, size=n)) for j in range(3)}
    return rng.normal(size=(n, 3)) + 2 * np.eye(3)[y], y, votes


@pytest.mark.filterwarnings("ignore:60 objects were solved before")
def test_votes_on_named_objects_are_matched_with_the_names_of_rows():
    X, y, votes = small_crowd()
    names = [f"q{i}" for i in range(len(y))]  # sorted, q10 comes before q2
    long = (
        np.repeat(names, 3),
        np.tile(list(votes), len(y)),
        np.column_stack(list(votes.values())).ravel(),
    )
    table = pd.DataFrame(X, index=names)
    model = CrowdClassifier(linear(), DawidSkene(), random_state=0)
    model.fit(table, Votes.from_long(*long))
    assert accuracy(model.transduction_, y) > 0.8
    assert_array_equal(
        model.consensus_for(table[::-1], Votes.from_long(*long)).labels(),
        model.consensus_for(table, Votes.from_long(*long)).labels()[::-1],
    )


def test_rows_that_every_tree_has_seen_are_answered_by_their_votes():
    X, y, votes = small_crowd()
    forest = RandomForestClassifier(3, oob_score=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # of scikit-learn: some rows have no out-of-bag score
        model = CrowdClassifier(forest, DawidSkene(), random_state=0).fit(X, votes)
    assert not model.consensus_.solution.votes.prior.given.all()
    assert accuracy(model.transduction_, y) > 0.7


# ---- guards --------------------------------------------------------------------------------------


def test_useless_features_leave_the_answer_to_the_votes(digits, table):
    X = np.random.default_rng(0).normal(size=(N, 8))
    model = CrowdClassifier(linear(), random_state=0).fit(X, table)
    alone = Panel().solve(Votes.from_labels(table))
    assert accuracy(model.transduction_, digits[1]) >= accuracy(alone.labels(), digits[1]) - 0.005
    words = (
        "The features were not used, because the votes do not bear them out: the answer is that of"
    )
    assert any(str(note).startswith(words) for note in model.notes_)
    assert_allclose(
        model.predict_proba(X[:2]), model.predict_proba(X[2:4])
    )  # the shares of the classes


def test_a_weak_classifier_that_is_sure_of_itself_does_no_harm(digits, table):
    weak = LinearSVC(
        max_iter=100, random_state=0
    )  # of raw features, half right, and it gives labels, not probabilities
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = CrowdClassifier(weak, DawidSkene(), random_state=0).fit(digits[0], table)
    alone = DawidSkene().solve(Votes.from_labels(table))
    assert accuracy(model.transduction_, digits[1]) >= accuracy(alone.labels(), digits[1]) - 0.005


def test_voters_worse_than_chance_are_named_and_do_no_harm(digits):
    X, y = digits
    votes = wide_votes(y, per=4, skill=0.7)
    votes[:, :3] = np.where(np.isnan(votes[:, :3]), np.nan, (y[:, None] + 1) % K)
    model = CrowdClassifier(linear(), random_state=0).fit(X, votes)
    alone = Panel().solve(Votes.from_labels(votes))
    assert accuracy(model.transduction_, y) >= accuracy(alone.labels(), y) - 0.005
    worse = "Worse than chance: classifier_0, classifier_1, classifier_2."
    assert any(str(note).startswith(worse) for note in model.notes_)


def test_one_class_needs_no_features(digits):
    model = CrowdClassifier(linear()).fit(
        digits[0][:30], {"ann": ["x"] * 30, "bob": ["x"] * 29 + [None]}
    )
    assert set(model.transduction_) == set(model.predict(digits[0][:5])) == {"x"}
    words = "The features were not used, because there is only one class: the answer is that of the votes alone."
    assert words in map(str, model.notes_)


def test_a_second_fit_with_the_same_seed_is_the_same(digits, table, fitted):
    again = clone(fitted).fit(digits[0], table)
    assert_array_equal(again.consensus_.proba, fitted.consensus_.proba)
    assert_array_equal(
        pickle.loads(pickle.dumps(again)).predict(digits[0][:9]), fitted.predict(digits[0][:9])
    )


# ---- what may be passed --------------------------------------------------------------------------


def test_wide_tables_and_ready_votes_give_the_same_answer(digits, table):
    objects, voters = np.nonzero(table.notna().to_numpy())
    labels = table.to_numpy()[objects, voters].astype(int)
    long = Votes.from_long(objects, np.array(NAMES)[voters], labels, object_ids=range(N))
    wide, *others = (
        CrowdClassifier(linear(), DawidSkene(), random_state=0, rounds=1).fit(digits[0], votes)
        for votes in (table, long, pl.from_pandas(table))
    )
    for model in others:
        assert_allclose(model.consensus_.proba, wide.consensus_.proba, atol=1e-6)


@pytest.mark.parametrize(
    "form",
    [
        sparse.csr_array,
        pd.DataFrame,
        lambda X: pl.DataFrame(X, schema=[f"x{i}" for i in range(64)]),
    ],
)
def test_sparse_matrices_and_dataframes_are_accepted(form, digits, table):
    X = form(digits[0])
    model = CrowdClassifier(random_state=0, rounds=1, method="dawid-skene").fit(X, table)
    assert accuracy(model.predict(X), digits[1]) > 0.85


def test_a_pipeline_may_read_texts():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    words = np.where(truth[:, None] == 1, "good great fine nice lovely", "bad poor awful sad nasty")
    X = pd.DataFrame({"text": [" ".join(rng.permutation(row[0].split())[:3]) for row in words]})
    votes = {name: np.where(rng.random(200) < 0.7, truth, 1 - truth) for name in "abc"}
    reads = make_pipeline(_Column("text"), TfidfVectorizer(), MultinomialNB())
    model = CrowdClassifier(reads, random_state=0).fit(X, votes)
    assert accuracy(model.transduction_, truth) > 0.95


class _Column(ec3learn.estimator.Features):
    def __init__(self, name="text"):
        super().__init__()
        self.name = name

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[self.name].tolist()

    def fit_transform(self, X, y=None):
        return self.transform(X)


def test_objects_without_votes_are_answered_by_their_features(digits, table):
    few = table.copy()
    few.iloc[:100] = pd.NA
    model = CrowdClassifier(linear(), random_state=0).fit(digits[0], few)
    assert accuracy(model.transduction_[:100], digits[1][:100]) > 0.6
    assert not model.consensus_.unanswered.any()


def test_a_voter_never_seen_is_warned_of(digits, fitted):
    with pytest.warns(
        ExtendWarning,
        match=r"^2 votes are treated as missing, .*: 'stranger' 2\.",
    ):
        fitted.consensus_for(digits[0][:2], {"stranger": [1, 2]})


def test_a_classifier_without_probabilities_will_do(digits, table):
    model = CrowdClassifier(
        make_pipeline(StandardScaler(), LinearSVC()), DawidSkene(), random_state=0
    ).fit(digits[0], table)
    assert accuracy(model.transduction_, digits[1]) >= accuracy(
        DawidSkene().solve(Votes.from_labels(table)).labels(), digits[1]
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "rounds must be an integer >= 1, got 0."),
        ({"cv": 1}, "cv must be an integer >= 2, got 1."),
        (
            {"method": "majority"},
            "method must support a prior, got Majority vote, which does not. Take method='ebcc' or method='dawid-skene'.",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(changes, message, digits, table):
    with pytest.raises(InputError, match=re.escape(message)):
        CrowdClassifier(**{"estimator": linear(), **changes}).fit(digits[0], table)


def test_votes_on_other_rows_are_refused(digits):
    with pytest.raises(
        InputError,
        match=r"^votes must describe the 500 rows of X, got 2 objects\. One row per vote goes",
    ):
        CrowdClassifier().fit(digits[0], {"ann": [1, 2]})


def test_a_classifier_that_fails_is_an_error(digits, table):
    with pytest.raises(
        InputError,
        match=r"^The classifier 'estimator' failed \(ValueError: .*\)\. Fix or remove it\.$",
    ):
        CrowdClassifier(MultinomialNB()).fit(-digits[0], table)


NOT_FOR_VOTES = {
    "check_fit_score_takes_y": "fit takes votes in the place of y",
    "check_supervised_y_2d": "a table of two dimensions is one column per voter",
    "check_dtype_object": "what the classifier refuses is told in a sentence of ours",
    "check_classifiers_regression_target": "numbers that are no labels are refused in other words",
}


@parametrize_with_checks(
    [CrowdClassifier(LogisticRegression(), "dawid-skene", rounds=2, random_state=0)],
    expected_failed_checks=lambda estimator: NOT_FOR_VOTES,
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)
