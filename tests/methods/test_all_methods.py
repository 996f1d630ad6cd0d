"""What holds for every method in METHODS."""

import re
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from ec3learn import BGCM, EC3, METHODS, UPE, Consensus, Panel, Votes, WeightedVote
from ec3learn._checks import InputError
from ec3learn.consensus import changed
from ec3learn.methods import Method, method_of
from ec3learn.votes.layout import Stores

from ..strategies import RawTable, any_tables, any_votes, graded_votes

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*solved before"),  # extended to on purpose
    pytest.mark.filterwarnings(
        "ignore::ec3learn.methods.ReliabilityWarning"
    ),  # random votes deserve it
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

EXTENDS = [name for name in METHODS if name not in ("upe", "c3e-kl", "c3e-sl")]
TAKES_KNOWN = [name for name in METHODS if name != "upe"]
SMOOTH = {
    "c3e-kl": {"tol": 1e-10, "max_iter": 5000},
    "upe": {"n_init": 3, "tol": 1e-10, "random_state": 0},
}
CLOSE = {"rtol": 0, "atol": 2e-6}
every_method = pytest.mark.parametrize("name", METHODS)
# One of each family: of its others, the tests of every method and their own files have enough.
KINDS = ["auto", "iec3", "weighted-vote", "bgcm", "upe", "c3e-kl", "ebcc", "dawid-skene"]
every_kind = pytest.mark.parametrize("name", KINDS)


def made(name):
    """The method with a tolerance that leaves no trace in the answers compared here."""
    return METHODS[name](**SMOOTH.get(name, {}))


def quietly(name, votes, known=None):
    with warnings.catch_warnings():  # hypothesis runs many examples within one test
        warnings.simplefilter("ignore")
        return made(name).solve(votes, known=known)


def assert_distributions(table):
    assert np.isfinite(table).all()
    assert (table >= 0).all()
    assert_allclose(table.sum(axis=1), 1, rtol=0, atol=1e-9)


def test_the_methods_are_these():
    wanted = (
        "auto ec3 iec3 majority soft-vote weighted-vote bgcm upe c3e-kl c3e-sl bwa ebcc dawid-skene"
    )
    wanted += " dawid-skene-one-coin stacked"
    assert list(METHODS) == wanted.split()


@every_method
def test_a_method_is_made_solved_and_cloned_by_name(name, w8):
    method = clone(METHODS[name]())
    assert isinstance(method, Method)
    consensus = method.solve(w8)
    assert isinstance(consensus, Consensus)
    assert consensus.proba.shape == (8, 3)


@every_method
@given(any_votes())
@hypothesis_settings(max_examples=25)
def test_rows_are_distributions_and_nothing_is_nan(name, votes):
    consensus = quietly(name, votes)
    assert_distributions(consensus.proba)
    assert_distributions(consensus.group_proba)
    assert np.isfinite([consensus.confidence, consensus.margin]).all()
    assert np.isfinite(consensus.weights).all()
    assert consensus.solution.objective is None or np.isfinite(consensus.solution.objective)


@every_kind
def test_objects_of_a_crowd_that_share_a_row_have_the_answer_of_rows_of_their_own(name):
    rng = np.random.default_rng(0)
    objects = np.repeat(np.arange(90), 2)
    voters = np.ravel([rng.choice(["a", "b", "c", "d"], 2, replace=False) for _ in range(90)])
    votes = Votes.from_long(
        objects, voters, np.where(rng.random(180) < 0.8, objects % 2, 1 - objects % 2)
    )
    apart = replace(
        votes,
        stores=Stores(sparse=votes.stores.sparse[votes.index]),
        counts=np.ones(90),
        index=None,
    )
    assert votes.n_rows < 45
    assert_allclose(quietly(name, votes).proba, quietly(name, apart).proba, **CLOSE)


@pytest.mark.parametrize(
    "name", [name for name in KINDS if name != "upe"]
)  # not convex: see test_upe
@given(any_tables(known=False), st.randoms(use_true_random=False))
@hypothesis_settings(max_examples=20)
def test_the_order_of_objects_and_models_does_not_matter(name, table, random):
    order = list(range(table.n_objects))
    random.shuffle(order)
    shuffled = table.taken(order)
    for part in ("classifiers", "clusterings"):
        items = list(getattr(shuffled, part).items())
        random.shuffle(items)
        setattr(shuffled, part, dict(items))
    one, other = quietly(name, table.votes()), quietly(name, shuffled.votes())
    assert_allclose(other.proba, one.proba[order], **CLOSE)


@every_kind
def test_names_do_not_matter(name, w8_table):
    renamed = RawTable(
        {
            name.upper(): [None if z is None else "zyx"[z] for z in column]
            for name, column in w8_table.classifiers.items()
        },
        {
            name.upper(): [z if z == -1 else 100 - z for z in column]
            for name, column in w8_table.clusterings.items()
        },
        ["z", "y", "x"],
    )
    assert_allclose(
        made(name).solve(renamed.votes()).proba, made(name).solve(w8_table.votes()).proba, **CLOSE
    )


@every_method
def test_the_order_of_classes_does_not_matter(name, w8_table):
    turned = RawTable(w8_table.classifiers, w8_table.clusterings, [2, 0, 1])
    one, other = made(name).solve(w8_table.votes()), made(name).solve(turned.votes())
    assert_allclose(other.proba, one.proba[:, [2, 0, 1]], **CLOSE)


@every_kind
@given(any_tables(known=False, sample_weight=False))
@hypothesis_settings(max_examples=15)
def test_equal_rows_get_equal_answers(name, table):
    twice = table.taken([*range(table.n_objects), *range(table.n_objects)])
    proba = quietly(name, twice.votes()).proba
    assert_allclose(proba[: table.n_objects], proba[table.n_objects :], **CLOSE)


@pytest.mark.parametrize("name", [name for name in KINDS if name != "upe"])
@given(any_tables(known=False, weights=False, sample_weight=False))
@hypothesis_settings(max_examples=15)
def test_an_object_of_weight_two_is_two_objects(name, table):
    repeats = [1 + i % 2 for i in range(table.n_objects)]
    stretched = table.taken(np.repeat(np.arange(table.n_objects), repeats))
    table.sample_weight = [float(n) for n in repeats]
    weighted, repeated = quietly(name, table.votes()), quietly(name, stretched.votes())
    assert_allclose(np.repeat(weighted.proba, repeats, axis=0), repeated.proba, **CLOSE)


@every_kind
def test_rows_kept_apart_get_the_answers_of_rows_solved_once(name, w8_table, monkeypatch):
    table = w8_table.taken([0, 1, 2, 3, 4, 5, 6, 7, 2, 2, 7])
    merged = made(name).solve(table.votes())
    monkeypatch.setattr("ec3learn.votes.assembly.distinct_rows", lambda columns: None)
    apart = made(name).solve(table.votes())
    assert apart.solution.votes.index is None
    assert merged.solution.votes.n_rows == 8
    assert_allclose(apart.proba, merged.proba, **CLOSE)


@every_kind
def test_votes_kept_sparsely_get_the_same_answers(name, w8_table):
    assert_allclose(
        made(name).solve(w8_table.long_votes()).proba,
        made(name).solve(w8_table.votes()).proba,
        **CLOSE,
    )


@every_kind
def test_unanimous_models_are_followed(name):
    truth = np.array([0, 1, 2, 2, 1, 0, 0, 1, 2, 2])
    votes = Votes.from_labels(
        {f"c{m}": truth for m in range(3)}, {"k0": truth + 5, "k1": (truth + 1) % 3}
    )
    assert_array_equal(made(name).solve(votes).labels(), truth)


@every_kind
def test_a_unanimous_table_of_one_class_is_sure(name):
    votes = Votes.from_labels({"c": ["a"] * 4, "d": ["a"] * 4}, {"k": [0, 0, 1, 1]})
    assert_allclose(made(name).solve(votes).proba, np.ones((4, 1)), rtol=0, atol=1e-12)


@every_kind
def test_an_object_without_any_vote_is_noted_and_gets_what_all_got(name):
    votes = Votes.from_labels(
        {"c": ["a", "b", None, "b"], "d": ["a", "b", None, None]}, {"k": [0, 1, None, 1]}
    )
    consensus = made(name).solve(votes)
    assert consensus.unanswered.tolist() == [False, False, True, False]
    assert any("1 object has no vote" in str(note) for note in consensus.notes)
    unsure = name in (
        "auto",
        "stacked",
        "dawid-skene-one-coin",
    )  # which give the mean of the others' probabilities
    wanted = consensus.proba[[0, 1, 3]].mean(axis=0) if unsure else [1 / 3, 2 / 3]
    assert_allclose(consensus.proba[2], wanted, rtol=0, atol=0.02)


@every_kind
def test_votes_without_any_class_vote_are_refused(name):
    votes = Votes.from_labels({"c": [None, None]}, {"k": [0, 1]}, classes=["a", "b"])
    wanted = "votes must hold at least one class vote whose classifier and object have a weight above 0, got none."
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        made(name).solve(votes)


@every_kind
def test_what_is_no_votes_is_refused(name):
    with pytest.raises(
        TypeError, match=r"got list\. Make one with Votes\.from_labels, or pass a table to"
    ):
        METHODS[name]().solve([[0, 1]])


@every_kind
def test_no_clusterings_and_unequal_numbers_of_clusters_are_fine(name, w8_table):
    alone = RawTable(w8_table.classifiers, {}, w8_table.classes)
    assert_distributions(made(name).solve(alone.votes()).proba)
    many = RawTable(w8_table.classifiers, {"k": list(range(8)), "one": [0] * 8}, w8_table.classes)
    assert_distributions(made(name).solve(many.votes()).proba)


@every_kind
def test_the_same_seed_gives_the_same_answer(name, w8):
    seeded = {"random_state": 3} if "random_state" in METHODS[name]().get_params() else {}
    one, other = (METHODS[name](**seeded).solve(w8).proba for _ in range(2))
    assert_array_equal(one, other)


@every_kind
def test_a_model_without_weight_is_as_good_as_absent(name, w8_table):
    w8_table.weights = {"c1": 0.0, "k0": 0.0}
    absent = RawTable(
        {n: w8_table.classifiers[n] for n in ("c0", "c2")},
        {"k1": w8_table.clusterings["k1"]},
        w8_table.classes,
    )
    assert_allclose(
        made(name).solve(w8_table.votes()).proba, made(name).solve(absent.votes()).proba, **CLOSE
    )


@every_kind
def test_clusterings_without_weight_are_as_good_as_absent(name, w8_table):
    alone = RawTable(w8_table.classifiers, {}, w8_table.classes)
    w8_table.weights = {"k0": 0.0, "k1": 0.0}
    assert_allclose(
        made(name).solve(w8_table.votes()).proba, made(name).solve(alone.votes()).proba, **CLOSE
    )


@pytest.mark.parametrize("name", ["auto", "stacked"])
def test_known_labels_teach_nothing_of_a_voter_without_weight(name, w8_table):
    absent = RawTable(
        {n: w8_table.classifiers[n] for n in ("c0", "c2")}, w8_table.clusterings, w8_table.classes
    )
    w8_table.weights = {"c1": 0.0}
    known = {0: 0, 2: 1, 5: 2, 7: 0}
    one, other = (made(name).solve(table.votes(), known).proba for table in (w8_table, absent))
    assert_allclose(one, other, rtol=0, atol=1e-5)


def test_soft_voters_without_weight_do_not_make_the_votes_soft():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=40)
    said = {f"h{m}": np.where(rng.random(40) < 0.8, truth, 1 - truth) for m in range(3)}
    soft = {f"s{m}": rng.dirichlet([1, 1], 40) for m in range(4)}
    votes = Votes.from_labels({**said, **soft}, weights=dict.fromkeys(soft, 0.0))
    assert_allclose(
        Panel().solve(votes).proba, Panel().solve(Votes.from_labels(said)).proba, **CLOSE
    )


def test_weights_learned_from_labels_take_a_classifier_of_weight_two_for_two(w8_table):
    again = {**w8_table.classifiers, "c1 again": w8_table.classifiers["c1"]}
    doubled = RawTable(again, w8_table.clusterings, w8_table.classes)
    w8_table.weights = {"c1": 2.0}
    method, known = EC3(delta=0, weights="labels"), {0: 0, 2: 1, 5: 2, 7: 0}
    one, other = (method.solve(table.votes(), known).proba for table in (w8_table, doubled))
    assert_allclose(one, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "method", [EC3(weights="agreement"), EC3(0.5, 0, 0.5, 0, weights="agreement"), WeightedVote()]
)
def test_weights_learned_from_agreement_do_not_depend_on_those_given(method, w8_table):
    given = np.array([1.0, 3.0, 0.5, 1.0, 2.0])
    alike = np.where(
        [True, True, True, False, False], given[:3].mean(), given
    )  # each voted on everything
    weighted, plain = (
        method.solve(replace(w8_table.votes(), weights=own)).weights for own in (given, alike)
    )
    assert_allclose(*(own / own[0] for own in ((weighted / given)[:3], (plain / alike)[:3])))


LEARN_VOTERS = (
    "auto",
    "stacked",
    "weighted-vote",
    "bwa",
    "ebcc",
    "dawid-skene",
    "dawid-skene-one-coin",
)


# In UPE each model has a penalty of its own. What is learned of voters is learned as if all had the
# same weight.
@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("upe", *LEARN_VOTERS)])
def test_a_model_of_weight_two_is_two_models(name, w8_table):
    w8_table.weights = {"c1": 2.0, "k0": 2.0}
    doubled = RawTable(
        {**w8_table.classifiers, "c1 again": w8_table.classifiers["c1"]},
        {**w8_table.clusterings, "k0 again": w8_table.clusterings["k0"]},
        w8_table.classes,
    )
    method = made(name)
    if isinstance(method, EC3):
        method.set_params(delta=0)  # delta holds each group once, whatever its model's weight
    assert_allclose(
        method.solve(w8_table.votes()).proba, method.solve(doubled.votes()).proba, rtol=0, atol=1e-5
    )


def four_alike(weights=None, n_objects=400):
    """Return the votes of four voters who are right in about 70 %, with these weights, and the truth."""
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=n_objects)
    said = {
        f"h{j}": np.where(rng.random(n_objects) < 0.55, truth, rng.integers(3, size=n_objects))
        for j in range(4)
    }
    return Votes.from_labels(said, weights=weights), truth


@pytest.mark.parametrize("name", LEARN_VOTERS)
@pytest.mark.parametrize("weight", [0.5, 1.8])
def test_who_weighs_more_is_not_taken_for_better_because_it_agrees_with_itself(name, weight):
    (equal, truth), (votes, _) = four_alike(), four_alike({"h0": weight})
    right = [np.mean(quietly(name, own).labels() == truth) for own in (equal, votes)]
    assert (
        right[1] > right[0] - 0.05
    )  # where a weight counts in learning, 1.5 is enough for h0 to decide alone


@pytest.mark.parametrize("name", LEARN_VOTERS)
def test_the_answer_moves_towards_who_weighs_more(name):
    weights = [0, 0.3, 0.7, 1, 1.5, 2, 3, 8]
    answers = [quietly(name, four_alike({"h0": weight})[0]) for weight in weights]
    said = np.array([votes[0] for votes in map(four_alike()[0].said, range(400))])
    agrees = [np.mean(answer.labels() == said) for answer in answers]
    belief = [answer.proba[np.arange(len(said)), said].mean() for answer in answers]
    assert (np.diff(agrees) >= 0).all() and (np.diff(belief) > 0).all()
    assert agrees[-1] > 0.99


@pytest.mark.parametrize("name", LEARN_VOTERS)
def test_equal_weights_of_any_size_change_nothing(name):
    plain, larger = (quietly(name, four_alike(weights)[0]) for weights in (None, [2.5] * 4))
    assert_allclose(larger.proba, plain.proba, **CLOSE)


@pytest.mark.parametrize("name", LEARN_VOTERS)
def test_new_objects_are_answered_with_the_same_weights(name, tmp_path):
    votes, truth = four_alike({"h0": 2.0, "h1": 0.5, "h3": 0.0})
    for known in (None, dict(enumerate(truth[:40].tolist()))):
        solved = METHODS[name]().solve(votes, known)
        solved.save(tmp_path / "c.ec3", overwrite=True)
        new = slice(0 if known is None else 40, None)
        for again in (solved, Consensus.load(tmp_path / "c.ec3")):
            assert_allclose(again.extend(votes).proba[new], solved.proba[new], **CLOSE)


@pytest.mark.parametrize("name", TAKES_KNOWN)
def test_a_known_label_moves_its_object_and_its_companions(name, w8):
    before, after = made(name).solve(w8), made(name).solve(w8, known={7: 0})
    assert after.labels()[7] == 0
    assert after.proba[7, 0] > before.proba[7, 0]


def test_a_method_without_a_place_for_known_labels_says_so(w8):
    wanted = "UPE-style does not support known labels. Leave known out, or take another method."
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        METHODS["upe"]().solve(w8, known={0: 1})


@pytest.mark.parametrize("name", EXTENDS)
@given(any_votes(sample_weight=False))
@hypothesis_settings(max_examples=20)
def test_objects_of_the_table_keep_their_answers_when_they_come_again(name, votes):
    consensus = quietly(name, votes)
    again = consensus.extend(votes)
    assert_allclose(again.proba, consensus.proba, **CLOSE)
    assert_array_equal(again.unanswered, consensus.unanswered)


@pytest.mark.parametrize("name", [name for name in KINDS if name in EXTENDS])
def test_a_new_object_gets_the_same_answer_alone_and_in_company(name, w8):
    consensus = made(name).solve(w8)
    assert_allclose(
        consensus.extend(w8[[3, 1, 4]]).proba[1],
        consensus.extend(w8[[1]]).proba[0],
        rtol=0,
        atol=1e-15,
    )


@pytest.mark.parametrize("name", [name for name in METHODS if name not in EXTENDS])
def test_a_method_that_can_not_extend_says_so(name, w8):
    consensus = made(name).solve(w8)
    wanted = (
        f"{consensus.solution.settings['method']} cannot be extended to new objects. Solve old and new objects together, or take a method "
        "that extends: EC3, voting, BGCM or Dawid-Skene."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        consensus.extend(w8)


@every_method
def test_a_saved_consensus_answers_as_before(name, w8, tmp_path):
    consensus = made(name).solve(w8)
    consensus.save(tmp_path / "saved.ec3", objects=True)
    loaded = Consensus.load(tmp_path / "saved.ec3")
    assert_array_equal(loaded.proba, consensus.proba)
    assert_allclose(loaded.group_proba, consensus.group_proba, rtol=0, atol=1e-15)
    if name in EXTENDS:
        assert_allclose(loaded.extend(w8).proba, consensus.proba, **CLOSE)


@every_kind
def test_every_consensus_has_the_same_diagnostics(name, w8):
    consensus = made(name).solve(w8)
    assert consensus.voters().columns["model"] == ["c0", "c1", "c2", "k0", "k1"]
    assert len(consensus.contested(3).columns["object"]) == 3
    assert consensus.explain(1).by_model.columns["said"][:5] == ["0", "0", "1", "0", "0"]
    assert "says 1" in consensus.confusion("c0").columns
    assert consensus.solution.settings["method"] in repr(consensus)
    assert "Contested: " in consensus._repr_html_()


@pytest.mark.parametrize("name", [name for name in METHODS if name not in EXTENDS])
def test_an_answer_that_is_no_sum_of_parts_is_explained_by_who_said_what(name, w8):
    explanation = made(name).solve(w8).explain(1)
    assert explanation.parts == {}
    assert list(explanation.by_model.columns) == ["model", "kind", "said"]
    assert "not a sum of parts" in repr(explanation)


@pytest.mark.parametrize("name", EXTENDS)
@given(any_votes())
@hypothesis_settings(max_examples=10)
def test_parts_add_up_to_the_answer(name, votes):
    consensus = quietly(name, votes)
    explanation = consensus.explain(votes.object_ids[0] if votes.object_ids is not None else 0)
    total = sum(explanation.parts.values())
    if explanation.unit != "log evidence":
        assert_allclose(total, consensus.proba[0], rtol=0, atol=1e-9)
    else:
        logs = np.log(np.maximum(consensus.proba[0], 1e-250))
        sure = logs > -200  # logarithms of what underflows are not comparable
        assert_allclose((total - total.max())[sure], (logs - logs.max())[sure], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in KINDS if name in EXTENDS])
def test_the_parts_of_an_object_without_votes_add_up_too(name):
    votes = Votes.from_labels({"a": [*"ppqpq", None], "b": [*"pqqqp", None], "c": [*"pppqq", None]})
    consensus = made(name).solve(votes)
    explanation, proba = consensus.explain(5), consensus.proba[5]
    total = sum(explanation.parts.values())
    wanted = np.log(proba) - np.log(proba).mean() if explanation.unit == "log evidence" else proba
    assert_allclose(total, wanted, rtol=0, atol=1e-9)


# ---- answers on a scale --------------------------------------------------------------------------


@every_kind
@given(graded_votes(), st.randoms(use_true_random=False))
@hypothesis_settings(max_examples=10)
def test_answers_on_a_scale_are_combined_in_any_order_and_extended(name, votes, random):
    consensus = quietly(name, votes)
    assert_distributions(consensus.proba)
    order = list(range(len(votes)))
    random.shuffle(order)
    if name != "upe":  # not convex: see test_upe
        assert_allclose(quietly(name, votes[order]).proba, consensus.proba[order], **CLOSE)
    if name in EXTENDS:
        again = consensus.extend(votes)
        assert_allclose(again.proba, consensus.proba, **CLOSE)
        assert_array_equal(again.unanswered, consensus.unanswered)


@pytest.mark.parametrize("name", [name for name in KINDS if name in EXTENDS])
@given(graded_votes())
@hypothesis_settings(max_examples=5)
def test_known_labels_beside_answers_on_a_scale_are_kept_and_parts_add_up(name, votes):
    last = len(votes) - 1
    consensus = quietly(name, votes, known={0: votes.classes[1]})
    assert consensus.labels()[0] == votes.classes[1]
    parts = consensus.explain(last)
    if parts.unit != "log evidence":
        assert_allclose(sum(parts.parts.values()), consensus.proba[last], rtol=0, atol=1e-9)


# ---- by name -------------------------------------------------------------------------------------


def test_names_of_methods_have_no_case():
    assert isinstance(method_of("IEC3", "method"), EC3)


def test_an_unknown_method_gives_the_nearest_and_all():
    wanted = f"Unknown method 'david-skene'. Did you mean 'dawid-skene'? Choose from: {', '.join(METHODS)}."
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}$"):
        method_of("david-skene", "method")


def test_what_is_no_method_is_refused():
    with pytest.raises(TypeError, match=r"^method must be a method or its name, got int\.$"):
        method_of(3, "method")


@pytest.mark.parametrize("method", [EC3, BGCM, UPE])
def test_a_seed_that_is_none_is_refused_whether_it_is_used_or_not(method, w8):
    message = "random_state must be an integer >= 0, a numpy Generator or None, got -1."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        method(random_state=-1).solve(w8)


def test_a_method_stands_for_itself():
    method = EC3(alpha=1)
    assert method_of(method, "method") is method


# ---- what a review found -------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in KINDS if name != "upe"])
def test_towards_any_method_soft_votes_get_the_answers_they_had(name):
    rng = np.random.default_rng(1)
    shares = {f"p{m}": rng.dirichlet([1, 1], 30) for m in range(3)}
    votes = Votes.from_probabilities(
        shares, {"soft": rng.dirichlet(np.ones(3), 30), "hard": rng.integers(2, size=30)}
    )
    consensus = EC3(towards=made(name)).solve(votes)
    if consensus.solution.rule is not None:
        assert_allclose(consensus.extend(votes).proba, consensus.proba, **CLOSE)
        assert_allclose(sum(consensus.explain(0).parts.values()), consensus.proba[0], **CLOSE)


@every_kind
def test_objects_without_weight_are_answered_by_their_own_votes(name):
    said = {"a": list("pqpqpq"), "b": list("pqpqqq"), "c": list("pqpppq")}
    votes = Votes.from_labels(
        said, {"k": [0, 1, 0, 1, 0, 1], "u": list(range(6))}, sample_weight=[0, 1, 1, 1, 1, 1]
    )
    assert made(name).solve(votes).labels()[0] == "p"


@every_kind
def test_a_clustering_that_says_nothing_is_no_error(name):
    votes = Votes.from_labels({"a": [0, 1, 1], "b": [0, 1, 0]}, {"nothing": [None] * 3})
    assert_distributions(made(name).solve(votes).proba)


@pytest.mark.parametrize("name", [name for name in KINDS if name in EXTENDS])
def test_a_voter_may_say_a_class_it_never_said_before(name):
    said = {"a": list("xxyyxy"), "b": list("xxyzxz"), "c": list("xyyzxz")}
    table = RawTable(said, {}, ["x", "y", "z"])
    new = Votes.from_labels({"a": ["z"], "b": ["z"]}, classes=["x", "y", "z"])
    wide, long = (
        made(name).solve(votes).extend(new) for votes in (table.votes(), table.long_votes())
    )
    assert_allclose(wide.proba, long.proba, **CLOSE)
    assert not long.unanswered.any()


@pytest.mark.parametrize("name", ["c3e-sl", "c3e-kl"])
def test_equal_rows_of_small_weight_are_solved_once(name):
    said = {"a": list("pqpqpq"), "b": list("pqpqqq"), "c": list("pqpppq")}
    clusters = {"k": [0, 1, 0, 1, 0, 1]}
    merged = Votes.from_labels(said, clusters, sample_weight=[0.25] * 6)
    apart = Votes.from_labels(
        said, {**clusters, "u": range(6)}, weights={"u": 0}, sample_weight=[0.25] * 6
    )
    assert_allclose(made(name).solve(merged).proba, made(name).solve(apart).proba, **CLOSE)


@pytest.mark.parametrize("name", [name for name in KINDS if name in EXTENDS])
def test_a_tie_is_broken_alike_in_any_company(name):
    consensus = made(name).solve(Votes.from_labels({"a": list("pqpq"), "b": list("qqpq")}))
    alone = consensus.extend(Votes.from_labels({"a": ["p"], "b": ["q"]}))
    assert alone.labels()[0] == consensus.labels()[0]


def test_weights_reach_the_method_gone_towards():
    votes = Votes.from_labels({"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "bad": [1, 1, 0, 1, 0]})
    without = EC3(towards="dawid-skene").solve(votes.drop("bad"))
    assert_allclose(
        EC3(weights={"bad": 0}, towards="dawid-skene").solve(votes).proba, without.proba, **CLOSE
    )


def test_numbers_of_numpy_in_lists_are_saved(w8, tmp_path):
    METHODS["weighted-vote"]([np.int64(1), np.float32(2), 3]).solve(w8).save(tmp_path / "c.ec3")
    assert Consensus.load(tmp_path / "c.ec3").solution.settings["weights"] == [1, 2.0, 3]


def test_who_is_named_worse_than_chance_has_no_weight():
    rng = np.random.default_rng(0)
    for _ in range(30):
        truth = rng.integers(2, size=25)
        said = {
            f"c{m}": np.where(rng.random(25) < p, truth, 1 - truth)
            for m, p in enumerate(rng.uniform(0.3, 0.75, 5))
        }
        consensus = METHODS["weighted-vote"](reweight_rounds=1).solve(Votes.from_labels(said))
        weight = dict(zip(said, consensus.weights, strict=True))
        assert all(weight[name] == 0 for name in consensus.solution.worse_than_chance)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_a_method_gone_towards_that_was_cut_off_says_so(w8):
    from ec3learn import DawidSkene

    with pytest.warns(
        UserWarning, match=r"^Dawid-Skene stopped at max_iter=1 before reaching tol=1e-05\. "
    ):
        EC3(towards=DawidSkene(max_iter=1)).solve(w8)


def test_a_class_in_the_place_of_a_method_is_refused_with_the_remedy():
    with pytest.raises(
        TypeError,
        match=r"^towards must be a method or its name, got ABCMeta\. Call it: EC3\(\)\.$|got type",
    ):
        method_of(EC3, "towards")


def test_an_extension_to_nothing_can_be_looked_at(w8):
    assert "Consensus" in METHODS["majority"]().solve(w8).extend(w8[:0])._repr_html_()


# ---- weights far apart ---------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("weight", [1e6])
def test_weights_that_differ_by_a_million_give_distributions(name, weight, w8_table):
    heavy_model = replace(w8_table, weights={"c1": weight})
    heavy_object = replace(w8_table, sample_weight=[weight, *[1.0] * 7])
    for table in (heavy_model, heavy_object):
        assert_distributions(quietly(name, table.votes()).proba)


def test_a_strong_pull_to_companions_leaves_the_mean_of_all(tiny_votes):
    assert_allclose(EC3(beta=1e6).solve(tiny_votes).proba, 0.5, rtol=0, atol=1e-5)


@pytest.mark.parametrize("alpha", [1e-6, 1e6])
def test_weak_and_strong_pulls_of_bgcm_give_distributions(alpha, w8):
    assert_distributions(BGCM(alpha=alpha).solve(w8).proba)


@pytest.mark.parametrize("weight", [1e-3, 1e-4, 1e-5])
def test_rounding_that_small_weights_magnify_is_put_right(weight):
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 500)
    classifiers = {f"v{j}": np.where(rng.random(500) < 0.7, truth, 1 - truth) for j in range(3)}
    votes = Votes.from_labels(classifiers, {"g": (truth * 13 + rng.integers(0, 40, 500)) % 40})
    assert_allclose(
        EC3(0.4, 0.5, weight, weight).solve(votes).proba.sum(axis=1), 1, rtol=0, atol=1e-9
    )


def test_an_answer_that_is_no_distribution_is_refused(w8):
    consensus = EC3().solve(w8)
    wanted = "The answer is no distribution over the classes, since numbers in it overflowed or lost their digits. Choose weights "
    wanted += "and parameters that differ by fewer orders of magnitude."
    for wrong in (np.nan, np.inf, -1e-12, 1e-5):
        broken = consensus.solution.row_proba.copy()
        broken[0, 0] = wrong if wrong < 0 or not np.isfinite(wrong) else broken[0, 0] + wrong
        with pytest.raises(InputError, match=f"^{re.escape(wanted)}$"):
            changed(consensus, solved_proba=broken)
    rounded = changed(consensus, solved_proba=consensus.solution.row_proba * (1 + 1e-8))
    assert_allclose(rounded.solution.row_proba, consensus.solution.row_proba, rtol=0, atol=1e-10)


# ---- memory --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many_classes():
    """300 objects, 60 annotators, 500 classes, three votes per object: confusion matrices would have 15 million entries."""
    rng = np.random.default_rng(0)
    return Votes.from_long(
        np.repeat(np.arange(300), 3),
        rng.integers(60, size=900),
        rng.integers(500, size=900),
        classes=range(500),
    )


def peak(act):
    """Return the most memory that was taken at once, in bytes."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "name", ["auto", "ec3", "iec3", "majority", "soft-vote", "weighted-vote", "bgcm", "c3e-sl"]
)
def test_memory_does_not_grow_with_annotators_times_squared_classes(name, many_classes):
    # One table of confusion matrices takes 120 MB; the answers take 1.2 MB, the distributions of
    # groups with members 3.6 MB.
    assert peak(lambda: quietly(name, many_classes)) < 40e6


def test_a_summary_and_a_file_take_as_little_memory(many_classes, tmp_path):
    consensus = quietly("majority", many_classes)
    assert peak(consensus.summary) < 30e6
    assert peak(lambda: consensus.save(tmp_path / "a.ec3")) < 30e6
    assert peak(lambda: consensus.extend(many_classes)) < 30e6


@pytest.mark.parametrize("name", ["bwa", "ebcc", "dawid-skene", "dawid-skene-one-coin"])
def test_confusion_matrices_that_would_fill_the_memory_are_refused(name, many_classes):
    wanted = "votes must have voters whose confusion matrices have at most 10,000,000 entries, got 15,000,000. Take "
    wanted += "method='weighted-vote' or method='ec3', which need no confusion matrices."
    with pytest.raises(InputError, match=re.escape(wanted)):
        quietly(name, many_classes)


def test_the_default_says_why_it_takes_the_weighted_vote_for_very_many_classes(many_classes):
    wanted = "The weighted vote was taken, because so many voters and classes fill the memory."
    assert wanted in map(str, quietly("auto", many_classes).notes)


@pytest.mark.parametrize("name", ["ec3", "majority", "weighted-vote", "bgcm"])
def test_a_sparse_table_of_classes_gives_the_answers_of_a_dense_one(
    name, crowd, monkeypatch, tmp_path
):
    dense = quietly(name, crowd)
    monkeypatch.setattr("ec3learn.answer.rule.DENSE", 0)
    small = crowd[range(20)]  # fewer rows than groups
    assert_allclose(quietly(name, crowd).proba, dense.proba, rtol=0, atol=1e-12)
    assert_allclose(dense.extend(small).proba, dense.proba[:20], rtol=0, atol=1e-12)
    dense.save(tmp_path / "a.ec3")
    assert_allclose(
        Consensus.load(tmp_path / "a.ec3").extend(small).proba, dense.proba[:20], rtol=0, atol=1e-12
    )
