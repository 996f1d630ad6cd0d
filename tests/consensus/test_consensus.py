"""Consensus: labels and their rules, voters, explanations, contested objects, extension, saving, how it looks."""

import re

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import normalized_mutual_info_score

import ec3learn
from ec3learn import BWA, EBCC, EC3, Consensus, DawidSkene, MajorityVote, Panel, Scale, Votes, solve
from ec3learn._checks import InputError
from ec3learn.answer import ExtendWarning

from ..strategies import any_settings, any_tables, any_votes

EXACT = {"atol": 1e-9, "rtol": 0}
HOSTILE = "<script>alert('x')</script>"


@pytest.fixture
def consensus(w8):
    return EC3().solve(w8)


def unused(votes):
    """Every base model has a new name."""
    return Votes.from_labels({"new": votes.classes[np.zeros(len(votes), dtype=int)]})


# ---- the answer ----------------------------------------------------------------------------------


def test_confidence_and_margin_follow_from_the_probabilities(consensus):
    ranked = np.sort(consensus.proba, axis=1)
    assert_allclose(consensus.confidence, ranked[:, -1])
    assert_allclose(consensus.margin, ranked[:, -1] - ranked[:, -2])


def test_with_one_class_every_margin_is_one():
    assert EC3().solve(Votes.from_labels([[7], [7]])).margin.tolist() == [1, 1]


def test_labels_are_the_most_probable_classes(consensus):
    assert_array_equal(consensus.labels(), consensus.classes[consensus.proba.argmax(axis=1)])


def test_a_tie_goes_to_the_class_with_the_larger_mass():
    votes = Votes.from_labels({"c": ["a", "b", "b"], "d": ["b", "b", "b"]})
    consensus = EC3(alpha=0, beta=0).solve(votes)
    assert consensus.proba[0].tolist() == [0.5, 0.5]
    assert consensus.labels()[0] == "b"


def test_a_tie_of_equal_masses_goes_to_the_first_class():
    votes = Votes.from_labels({"c": ["a", "b"], "d": ["b", "a"]})
    assert EC3().solve(votes).labels().tolist() == ["a", "a"]
    turned = Votes.from_labels({"c": ["a", "b"], "d": ["b", "a"]}, classes=["b", "a"])
    assert EC3().solve(turned).labels().tolist() == ["b", "b"]


def test_rounding_does_not_break_a_tie():
    votes = Votes.from_probabilities({"p": [[0.5 + 1e-11, 0.5 - 1e-11], [0.2, 0.8]]})
    consensus = EC3(alpha=0, beta=0).solve(votes)
    assert consensus.proba[0].argmax() == 0
    assert consensus.labels().tolist() == [1, 1]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_mass_rule_gives_each_class_its_share(n_classes):
    rng = np.random.default_rng(0)
    shares = (
        rng.dirichlet(np.full(n_classes, 0.8), 3000) * 0.5
        + 0.5 * np.eye(n_classes)[0] * 0.9
        + 0.05 / n_classes
    )
    shares /= shares.sum(axis=1, keepdims=True)
    consensus = EC3().solve(Votes.from_probabilities({"p": shares}))
    mass = consensus.proba.mean(axis=0)
    by_mass = np.bincount(consensus.labels(rule="mass"), minlength=n_classes) / 3000
    by_argmax = np.bincount(consensus.labels(), minlength=n_classes) / 3000
    assert_allclose(by_mass, mass, atol=0.005)
    assert np.abs(by_argmax - mass).max() > 0.05


def test_the_mass_rule_gives_equal_rows_equal_labels(w8):
    votes = w8[[0, 0, 1, 1, 5, 5, 7, 7]]
    labels = EC3().solve(votes).labels(rule="mass")
    assert_array_equal(labels[::2], labels[1::2])


@given(any_votes())
def test_the_mass_rule_always_gives_classes(votes):
    labels = EC3().solve(votes).labels(rule="mass")
    assert len(labels) == len(votes)
    assert set(labels) <= set(votes.classes)


def test_the_mass_rule_keeps_certain_answers():
    votes = Votes.from_labels({"c": ["a", "b", "c", "a"]})
    assert EC3().solve(votes).labels(rule="mass").tolist() == ["a", "b", "c", "a"]


def test_an_unknown_rule_is_refused(consensus):
    with pytest.raises(
        ValueError,
        match=re.escape("Unknown rule 'max'. Did you mean 'argmax'? Choose from: argmax, mass."),
    ):
        consensus.labels(rule="max")


def test_groups_are_named_in_the_order_of_their_distributions(consensus):
    assert len(consensus.groups) == len(consensus.group_proba)
    assert consensus.groups[:4] == [("c0", 0), ("c0", 1), ("c0", 2), ("c1", 0)]


def test_the_arrays_of_a_consensus_are_unwritable(consensus):
    for array in (consensus.proba, consensus.group_proba, consensus.weights, consensus.classes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


# ---- who drove it --------------------------------------------------------------------------------


def test_voters_say_kind_coverage_agreement_and_weight(w8, consensus):
    voters = consensus.voters()
    labels = consensus.labels()
    said = [[w8.said(i)[m] for i in range(8)] for m in range(3)]
    assert voters["model"] == ["c0", "c1", "c2", "k0", "k1"]
    assert voters["kind"] == ["classifier"] * 3 + ["clustering"] * 2
    assert_allclose(voters["coverage"], [1, 1, 7 / 8, 1, 7 / 8])
    agreement = [
        np.mean([z == label for z, label in zip(column, labels, strict=True) if z is not None])
        for column in said
    ]
    assert_allclose(voters["agreement"][:3], agreement)
    assert voters["agreement"][3:] == [None, None]
    assert voters["weight"] == [None] * 5  # all are 1


def test_voters_say_purity_and_nmi_of_clusterings(consensus):
    voters = consensus.voters()
    labels = consensus.labels()
    k0 = [0, 0, 0, 1, 1, 1, 2, 2]
    pure = sum(max(np.bincount(labels[np.array(k0) == k])) for k in range(3)) / 8
    assert voters["purity"][:3] == [None] * 3
    assert voters["purity"][3] == pytest.approx(pure)
    assert voters["nmi"][3] == pytest.approx(normalized_mutual_info_score(labels, k0))


def test_agreement_of_a_soft_classifier_is_that_of_its_most_probable_class():
    votes = Votes.from_probabilities(
        {"p": [[0.6, 0.4], [0.4, 0.6], [0.9, 0.1]], "q": ["a", "b", "b"], "r": ["a", "b", "b"]},
        classes=["a", "b"],
    )
    voters = EC3().solve(votes).voters()
    assert voters["agreement"] == [pytest.approx(2 / 3), 1.0, 1.0]


@given(any_tables())
def test_voters_always_has_a_row_a_model(table):
    voters = EC3().solve(table.votes(), known=table.known or None).voters()
    assert voters["model"] == [*table.classifiers, *table.clusterings]
    for column in ("coverage", "agreement", "purity", "nmi"):
        assert all(x is None or -1e-12 <= x <= 1 + 1e-12 for x in voters[column])


@given(any_tables(), any_settings(), st.integers(0, 99))
def test_the_parts_of_an_explanation_add_up(table, settings, i):
    i %= table.n_objects
    consensus = EC3(**settings).solve(table.votes(), known=table.known or None)
    explanation = consensus.explain(i)
    assert_allclose(sum(explanation.parts.values()), consensus.proba[i], **EXACT)
    assert_allclose(explanation.proba, consensus.proba[i])
    assert explanation.label == consensus.labels()[i]
    for shown in (explanation.by_model, explanation.by_term):
        given_to = np.array([shown[f"to {label}"] for label in consensus.classes]).sum(axis=1)
        assert_allclose(given_to, consensus.proba[i], **EXACT)
        assert sum(shown["weight"]) == pytest.approx(1)


@pytest.mark.parametrize("method", [MajorityVote(), DawidSkene(), EBCC(), BWA(), Panel()], ids=repr)
@pytest.mark.parametrize("label", ["a", "b"])
def test_a_label_that_is_held_fixed_is_all_of_its_explanation(tiny_votes, method, label):
    explanation = method.solve(tiny_votes, known={1: label}).explain(1)
    assert explanation.label == label
    assert explanation.by_term["term"] == ["known label"]


def test_an_explanation_says_what_each_base_model_said(consensus):
    by_model = consensus.explain(6).by_model
    assert by_model["model"] == ["c0", "c1", "k0", "k1"]
    assert by_model["said"] == ["2", "2", "2", "2"]


def test_an_explanation_names_the_terms(w8, consensus):
    assert consensus.explain(0).by_term["term"] == ["groups", "companions", "votes"]
    pulled = EC3(known_weight=1.0).solve(w8, known={0: 1})
    assert pulled.explain(0).by_term["term"] == ["groups", "companions", "known label"]
    assert EC3().solve(w8, known={0: 1}).explain(0).by_term["term"] == ["known label"]


def test_an_object_nothing_reaches_is_explained():
    explanation = EC3().solve(Votes.from_labels({"c": ["a", "b", None]})).explain(2)
    assert list(explanation.parts) == [("mean vote of all", "mean vote of all")]


def test_an_explanation_reads_as_text(tiny_votes):
    text = repr(EC3().solve(tiny_votes).explain(1))
    assert text.startswith("Object 1 is 'a' (a 0.")
    assert "kmeans  clustering  0" in text


def test_an_object_is_explained_by_its_name_where_it_has_one():
    consensus = EC3().solve(Votes.from_long(["q1", "q2"], ["a", "b"], ["x", "y"]))
    assert consensus.explain("q2").label == "y"
    assert consensus.explain("q2").object == "q2"


def test_an_object_may_be_counted_from_the_end(consensus):
    assert_array_equal(consensus.explain(-1).proba, consensus.proba[7])


@pytest.mark.parametrize("i", [8, -9, "q1", 1.0, True, None, [0, 1]])
def test_an_object_that_is_not_there_can_not_be_explained(consensus, i):
    with pytest.raises(
        ValueError, match=re.escape(f"i must be the number of an object, from 0 to 7, got {i!r}.")
    ):
        consensus.explain(i)


def test_an_unknown_name_can_not_be_explained():
    consensus = EC3().solve(Votes.from_long(["q1", "q2"], ["a", "b"], ["x", "y"]))
    with pytest.raises(
        ValueError, match=re.escape("Unknown object 'q3'. The first objects are ['q1', 'q2'].")
    ):
        consensus.explain("q3")


@pytest.mark.parametrize("i", [0, ["q1", "q2"], None])
def test_what_is_no_name_can_not_be_explained(i):
    consensus = EC3().solve(Votes.from_long(["q1", "q2"], ["a", "b"], ["x", "y"]))
    with pytest.raises(
        ValueError, match=re.escape(f"Unknown object {i!r}. The first objects are ['q1', 'q2'].")
    ):
        consensus.explain(i)


@pytest.mark.parametrize("n", [2.5, -1, "3", True, None])
def test_a_number_of_contested_objects_is_a_whole_one(consensus, n):
    with pytest.raises(
        ValueError, match=f"^{re.escape(f'n must be an integer >= 0, got {n!r}.')}$"
    ):
        consensus.contested(n)


def test_ties_of_new_objects_are_broken_by_the_objects_that_were_solved():
    consensus = MajorityVote().solve(Votes.from_labels({"a": [0, 0, 0, 1], "b": [0, 0, 0, 1]}))
    extended = consensus.extend(Votes.from_labels({"a": [1, 1, 1], "b": [1, 1, 1]}))
    tied = Votes.from_labels({"a": [0], "b": [1]})
    assert (
        extended.extend(tied).labels().tolist() == consensus.extend(tied).labels().tolist() == [0]
    )


@pytest.mark.parametrize("n", [2.5, 0, None])
def test_who_asks_about_objects_asks_about_one_at_least(consensus, n):
    with pytest.raises(
        ValueError, match=f"^{re.escape(f'n must be an integer >= 1, got {n!r}.')}$"
    ):
        consensus.ask(n)


def test_no_contested_objects_are_a_table_without_rows(consensus):
    assert len(consensus.contested(0)) == 0


def test_contested_objects_have_the_smallest_margins(consensus):
    contested = consensus.contested(3)
    assert contested["object"] == np.argsort(consensus.margin)[:3].tolist()
    assert_allclose(contested["margin"], np.sort(consensus.margin)[:3])


def test_contested_objects_say_label_runner_up_and_votes():
    votes = Votes.from_labels({"c": ["a", "a", "b"], "d": ["a", "b", "b"], "e": ["a", "a", "b"]})
    row = next(EC3().solve(votes).contested(1).rows())
    assert (row["object"], row["label"], row["runner_up"], row["votes"], row["alike"]) == (
        1,
        "a",
        "b",
        "a (2), b (1)",
        1,
    )
    assert row["why"] == "2 of 3 said a"


WHY = {
    "the votes are tied between a and b": (
        {"c": ["a", "b"] * 3, "d": ["b", "b"] * 3},
        {"k": [0, 1] * 3},
    ),
    "the votes are tied between a, b and c": (
        {"c": ["a", "b"] * 3, "d": ["b", "b"] * 3, "e": ["c", "b"] * 3},
        {"k": [0, 1] * 3},
    ),
    "nobody voted on it": ({"c": ["a", "b", None]}, {"k": [0, 0, 0]}),
    "it has no vote, not even through others in the same groups, and got the mean vote of all": (
        {"c": ["a", "b", None]},
        None,
    ),
    "1 of 1 said a": ({"c": ["a", "b"]}, {"k": [0, 0]}),
}


@pytest.mark.parametrize("why", WHY)
def test_contested_objects_say_why(why):
    consensus = EC3().solve(Votes.from_labels(*WHY[why]))
    assert why in consensus.contested(9)["why"]


def test_contested_objects_show_the_scores_of_judges_and_which_class_they_lean_to():
    scores = {"ada": [1, 5, 2, 3], "bert": [1, 5, 4, 3], "cleo": [2, 4, 5, "unsure"]}
    scale = Scale(range(1, 6), unordered=["unsure"])
    consensus = ec3learn.solve(Votes.from_labels(scores, classes=["fail", "pass"], scale=scale))
    rows = {row["object"]: (row["votes"], row["why"]) for row in consensus.contested(4).rows()}
    assert rows[2] == ("2 (1), 4 (1), 5 (1)", "2 of 3 lean to pass")
    assert rows[3] == (
        "3 (2), unsure (1)",
        "the votes are tied between fail and pass",
    )
    assert "judge" in consensus.explain(2).by_model["kind"]
    assert repr(consensus).startswith("Consensus(Panel of 3 judges: 4 objects")


def test_an_object_whose_groups_overrule_its_votes_says_so():
    votes = Votes.from_labels(
        {"c": ["a", "b", "b", "b", "b"]}, {f"k{m}": [0] * 5 for m in range(6)}
    )
    why = EC3(alpha=1, beta=1, gamma=0.05).solve(votes).contested(9)["why"]
    assert "1 of 1 said a, but its clusters count too" in why
    said = {f"j{m}": ["a", "b"] * 30 for m in range(3)}
    known = dict.fromkeys(range(0, 40, 2), "b")
    why = solve(Votes.from_labels(said), known=known).contested(9)["why"]
    assert set(why) == {"3 of 3 said a, but known labels count too", "3 of 3 said b"}


def test_alike_objects_are_shown_once(w8):
    votes = Votes.from_labels({"a": [0, 1, 1, 1, 0], "b": [0, 0, 0, 0, 1]})
    consensus = EC3().solve(votes)
    assert consensus.contested(9)["object"].count(1) == 1
    assert 3 in consensus.contested(9)["alike"]


def test_objects_with_known_labels_are_not_contested(w8):
    assert 7 not in EC3().solve(w8, known={7: 0}).contested(8)["object"]


@pytest.mark.parametrize("n", [0, 3, 100])
def test_contested_gives_as_many_as_there_are(consensus, n):
    assert len(consensus.contested(n)) == min(n, 8)


def test_contested_names_objects_of_a_long_table():
    consensus = EC3().solve(Votes.from_long(["q1", "q2", "q2"], ["a", "b", "a"], ["x", "y", "x"]))
    assert consensus.contested(1)["object"] == ["q2"]


# ---- new objects ---------------------------------------------------------------------------------


@given(any_tables(), any_settings())
def test_extending_to_the_same_votes_gives_the_consensus(table, settings):
    votes = table.votes()
    consensus = EC3(**settings).solve(votes, known=table.known or None)
    extended = consensus.extend(votes)
    unlabelled = [i for i in range(table.n_objects) if i not in table.known]
    assert_allclose(extended.proba[unlabelled], consensus.proba[unlabelled], **EXACT)


@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_a_crowd_extended_to_itself_gives_the_consensus_and_is_noticed(crowd, solver):
    consensus = EC3(solver=solver).solve(crowd)
    with pytest.warns(ExtendWarning, match=r"^298 objects were solved before; the answers follow"):
        assert_allclose(consensus.extend(crowd).proba, consensus.proba, **EXACT)


@given(any_votes(), any_votes(), st.randoms(use_true_random=False))
@pytest.mark.filterwarnings("ignore::ec3learn.answer.ExtendWarning")
def test_an_extension_does_not_depend_on_the_batch(votes, new, random):
    consensus = EC3().solve(votes)
    together = consensus.extend(new).proba
    alone = [consensus.extend(new[i]).proba[0] for i in range(len(new))]
    assert_allclose(together, alone, **EXACT)


def test_an_extension_matches_models_by_name_in_any_order(w8_table):
    consensus = EC3().solve(w8_table.votes())
    turned = type(w8_table)(
        dict(reversed(w8_table.classifiers.items())),
        dict(reversed(w8_table.clusterings.items())),
        w8_table.classes,
    )
    assert_allclose(consensus.extend(turned.votes()).proba, consensus.proba, **EXACT)


def test_an_extension_matches_classes_in_any_order(w8_table):
    consensus = EC3().solve(w8_table.votes())
    turned = type(w8_table)(w8_table.classifiers, w8_table.clusterings, [2, 1, 0])
    assert consensus.extend(turned.votes()).labels().tolist() == consensus.labels().tolist()


def test_a_model_that_is_not_there_any_more_is_a_missing_vote(w8_table):
    consensus = EC3().solve(w8_table.votes())
    gone = type(w8_table)(
        {**w8_table.classifiers, "c1": [None] * 8}, w8_table.clusterings, w8_table.classes
    )
    assert_allclose(
        consensus.extend(w8_table.votes().drop("c1")).proba,
        consensus.extend(gone.votes()).proba,
        **EXACT,
    )


def test_unseen_models_classes_and_clusters_are_counted_in_a_warning():
    consensus = EC3().solve(Votes.from_labels({"c": ["a", "b", "a"]}, {"k": [0, 1, 1]}))
    new = Votes.from_labels({"c": ["a", "z", "z"], "other": ["a", "a", None]}, {"k": [0, 7, 0]})
    message = (
        "5 votes are treated as missing, because the consensus has no such base model, class or "
        "cluster: 'c' 2, 'other' 2, 'k' 1."
    )
    with pytest.warns(ExtendWarning, match=f"^{re.escape(message)}$"):
        extended = consensus.extend(new)
    assert extended.unanswered.tolist() == [False, True, False]


def test_votes_of_another_kind_than_the_classes_are_refused():
    consensus = EC3().solve(Votes.from_labels({"c": [7, 8, 7]}))
    message = "The classes are whole numbers, the votes are texts. Convert the votes first."
    with pytest.raises(InputError, match=f"^{message}$"):
        consensus.extend(Votes.from_labels({"c": ["7", "8"]}))


def test_the_warning_counts_a_soft_vote_as_one():
    consensus = EC3().solve(Votes.from_probabilities({"lr": [[0.9, 0.1], [0.2, 0.8]]}))
    message = (
        "1 vote is treated as missing, because the consensus has no such base model, class or "
        "cluster: 'LR' 1."
    )
    with pytest.warns(ExtendWarning, match=f"^{re.escape(message)}$"):
        consensus.extend(Votes.from_probabilities({"LR": [[0.9, 0.1]]}))


def test_the_warning_counts_objects_not_distinct_rows():
    consensus = EC3().solve(Votes.from_labels({"c": ["a", "b"]}))
    with pytest.warns(ExtendWarning, match=re.escape("40 votes are treated as missing")):
        consensus.extend(Votes.from_labels({"c": ["z"] * 40 + ["a"]}))


def test_a_classifier_that_has_become_a_clustering_is_unseen():
    consensus = EC3().solve(Votes.from_labels({"c": [0, 1]}, {"k": [0, 1]}))
    message = "4 votes are treated as missing"
    with pytest.warns(ExtendWarning, match=re.escape(message)):
        consensus.extend(Votes.from_labels({"k": [0, 1]}, {"c": [0, 1]}))


def test_clusters_are_matched_by_label_and_kind():
    consensus = EC3().solve(Votes.from_labels({"c": [0, 1]}, {"k": [0, 1]}))
    with pytest.warns(ExtendWarning, match="'k' 2"):
        consensus.extend(Votes.from_labels({"c": [0, 1]}, {"k": [False, True]}))


def test_an_extension_of_nothing_known_has_the_mean_vote(consensus, w8):
    with pytest.warns(ExtendWarning):
        extended = consensus.extend(unused(w8))
    assert extended.unanswered.all()
    assert_allclose(extended.proba, np.tile(extended.proba[0], (8, 1)))
    assert_allclose(extended.proba.sum(axis=1), 1)
    assert extended.notes


def test_an_extension_can_be_looked_at_like_any_consensus(w8, consensus):
    extended = consensus.extend(w8[[7, 7, 0]])
    assert extended.solution.objective is None
    assert extended.labels().tolist() == consensus.labels()[[7, 7, 0]].tolist()
    assert extended.voters()["coverage"][0] == 1
    assert_allclose(sum(extended.explain(0).parts.values()), consensus.proba[7], **EXACT)
    assert extended.contested(1)["object"] == [0]


def test_voters_of_an_extension_with_fewer_models_are_matched_by_name(w8, consensus):
    extended = consensus.extend(w8.drop("c0"))
    coverage = dict(zip(extended.voters()["model"], extended.voters()["coverage"], strict=True))
    assert coverage.get("c0", 0) == 0
    assert coverage["c2"] == pytest.approx(7 / 8)


def test_voters_of_an_extension_in_another_order_are_matched_by_name():
    consensus = EC3().solve(Votes.from_labels({"c": [0, 1, 0], "d": [1, 1, 0]}))
    voters = consensus.extend(Votes.from_labels({"d": [1, None, 0], "c": [0, 1, 0]})).voters()
    coverage = dict(zip(voters["model"], voters["coverage"], strict=True))
    assert coverage == {"c": 1, "d": pytest.approx(2 / 3)}


def test_what_is_no_votes_can_not_be_extended_to(consensus):
    message = "votes must be a Votes, got ndarray. Make one with Votes.from_labels."
    with pytest.raises(TypeError, match=re.escape(message)):
        consensus.extend(np.zeros((2, 2)))


# ---- on disk -------------------------------------------------------------------------------------


@given(table=any_tables())
def test_a_saved_consensus_extends_as_before(tmp_path_factory, table):
    votes = table.votes()
    consensus = EC3().solve(votes, known=table.known or None)
    path = tmp_path_factory.mktemp("saved") / "consensus.zip"
    consensus.save(path)
    loaded = Consensus.load(path)
    assert_array_equal(loaded.extend(votes).proba, consensus.extend(votes).proba)
    assert loaded.classes.tolist() == consensus.classes.tolist()
    assert loaded.groups == consensus.groups


@pytest.mark.parametrize(
    "labels", [[0, 1, 1], [True, False, False], ["no", "yes", "yes"], ["ü", "<b>", "日本"]]
)
def test_labels_survive_saving(tmp_path, labels):
    votes = Votes.from_labels({"c": labels}, {"k": labels})
    consensus = EC3().solve(votes)
    consensus.save(tmp_path / "saved")
    extended = Consensus.load(tmp_path / "saved").extend(votes)
    assert extended.labels().tolist() == consensus.labels().tolist()
    assert extended.labels().dtype == consensus.labels().dtype


def test_a_saved_consensus_keeps_what_was_found(tmp_path, w8):
    consensus = EC3(weights="agreement", known_weight=3.0).solve(w8, known={0: 0})
    consensus.save(tmp_path / "saved")
    loaded = Consensus.load(tmp_path / "saved")
    assert loaded.notes == consensus.notes
    for name in ("objective", "n_iter", "converged", "worse_than_chance", "settings"):
        assert getattr(loaded.solution, name) == getattr(consensus.solution, name)
    assert_array_equal(loaded.weights, consensus.weights)
    assert_array_equal(loaded.group_proba, consensus.group_proba)
    assert loaded.voters().columns == consensus.voters().columns


def test_a_saved_consensus_holds_no_object_unless_asked(tmp_path, consensus):
    consensus.save(tmp_path / "without")
    message = (
        "This consensus was loaded from a file without objects, so it has no probabilities of its own. "
        "Use extend(votes), or save it with objects=True."
    )
    loaded = Consensus.load(tmp_path / "without")
    for read in (
        lambda: loaded.proba,
        loaded.labels,
        lambda: loaded.confidence,
        lambda: loaded.margin,
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            read()
    assert "holds none" in repr(loaded)
    assert "holds none" in loaded._repr_html_()


def test_a_saved_consensus_holds_the_objects_if_asked(tmp_path):
    votes = Votes.from_long(["q1", "q2", "q2"], ["a", "b", "a"], ["x", "y", "x"])
    consensus = EC3().solve(votes)
    consensus.save(tmp_path / "with", objects=True)
    loaded = Consensus.load(tmp_path / "with")
    assert_array_equal(loaded.proba, consensus.proba)
    assert loaded.object_ids.tolist() == ["q1", "q2"]
    assert loaded.labels(rule="mass").tolist() == consensus.labels(rule="mass").tolist()
    assert repr(loaded) == repr(consensus)


def test_labels_of_a_loaded_consensus_are_those_that_were_saved_with_object_weights(tmp_path):
    votes = Votes.from_labels(
        {"c": ["a", "b", "b", "a"], "d": ["b", "b", "a", "a"]}, sample_weight=[1, 9, 1, 1]
    )
    consensus = EC3().solve(votes)
    consensus.save(tmp_path / "with", objects=True)
    loaded = Consensus.load(tmp_path / "with")
    assert loaded.labels().tolist() == consensus.labels().tolist()
    assert loaded.labels("mass").tolist() == consensus.labels("mass").tolist()
    assert loaded.unanswered.tolist() == consensus.unanswered.tolist()


def test_objects_nothing_reaches_stay_flagged_in_the_file(tmp_path):
    consensus = EC3().solve(Votes.from_labels({"c": ["a", "b", None]}))
    consensus.save(tmp_path / "with", objects=True)
    assert Consensus.load(tmp_path / "with").unanswered.tolist() == [False, False, True]


@pytest.mark.parametrize("what", ["explain", "contested"])
def test_a_loaded_consensus_has_no_votes_to_show(tmp_path, consensus, what):
    consensus.save(tmp_path / "saved", objects=True)
    message = f"{what} needs the votes, and a consensus loaded from a file does not hold them."
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(Consensus.load(tmp_path / "saved"), what)(0)


def test_an_extension_and_a_loaded_consensus_can_be_saved_again(tmp_path, w8, consensus):
    consensus.extend(w8).save(tmp_path / "one")
    Consensus.load(tmp_path / "one").save(tmp_path / "two")
    assert_allclose(Consensus.load(tmp_path / "two").extend(w8).proba, consensus.proba, **EXACT)


def test_odd_settings_can_be_saved(tmp_path, w8):
    odd = EC3(
        alpha=np.float32(0.25),
        weights=np.array([1.0, 2.0, 1.0]),
        known_weight=np.inf,
        random_state=np.random.default_rng(0),
    )
    odd.solve(w8).save(tmp_path / "saved")
    assert Consensus.load(tmp_path / "saved").solution.settings["weights"] == [1, 2, 1]


# ---- how it looks --------------------------------------------------------------------------------


def test_the_repr_says_method_models_and_confidence(w8, consensus):
    sure = consensus.confidence.mean()
    assert repr(consensus) == (
        f"Consensus(iEC3 of 3 classifiers and 2 clusterings: 8 objects, 3 classes, mean confidence {sure:.3f})"
    )
    assert "Consensus(EC3 of" in repr(EC3(balanced=False).solve(w8))


def test_html_shows_the_summary(consensus):
    html = consensus._repr_html_()
    for part in ("mean confidence", "Contested: ", "c2"):
        assert part in html


def test_hostile_names_are_escaped():
    votes = Votes.from_labels(
        {HOSTILE: [HOSTILE, "b", "b", HOSTILE], "d": ["b", "b", HOSTILE, HOSTILE]},
        {"<b>": [HOSTILE] * 4},
    )
    consensus = EC3().solve(votes)
    for html in (
        consensus._repr_html_(),
        consensus.voters()._repr_html_(),
    ):
        assert "<script>" not in html
        assert "<b>k" not in html
        assert "&lt;script&gt;" in html


def test_hostile_names_of_left_out_classifiers_are_escaped():
    votes = Votes.from_labels({HOSTILE: [1, 1, 0, 0], "c": [0, 0, 1, 1], "d": [0, 0, 1, 1]})
    consensus = EC3(weights="labels").solve(votes, known=[0, 0, 1, 1])
    assert consensus.solution.worse_than_chance == (HOSTILE,)
    assert "<script>" not in consensus._repr_html_()


@given(any_tables())
def test_everything_can_be_shown(table):
    assume(table.n_objects > 0)
    consensus = EC3().solve(table.votes(), known=table.known or None)
    shown = [
        repr(consensus),
        consensus._repr_html_(),
        repr(consensus.contested()),
        repr(consensus.explain(0)),
    ]
    assert all(shown)
    assert not any("nan" in text for text in shown)


def test_a_pandas_series_of_known_labels_goes_by_its_index_where_objects_have_names():
    votes = Votes.from_long(
        ["q2", "q1", "q2", "q1", "q3"], ["a", "a", "b", "b", "a"], ["y", "n", "n", "y", "n"]
    )
    known = pd.Series(["y", "n", None], index=["q2", "q1", "q3"])
    answer = EC3().solve(votes, known)
    assert dict(zip(votes.object_ids.tolist(), answer.labels().tolist(), strict=True)) == {
        "q1": "n",
        "q2": "y",
        "q3": "n",
    }


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_answers_come_as_a_dataframe_with_one_row_per_object(backend):
    votes = Votes.from_long(
        ["q2", "q2", "q1", "q2"], ["ann", "bob", "ann", "cy"], [True, False, False, True]
    )
    consensus = MajorityVote().solve(votes)
    frame = nw.from_native(consensus.to_frame(backend, proba=True), eager_only=True)
    assert frame.implementation.value == backend
    assert frame.columns == ["object", "consensus", "confidence", "proba_False", "proba_True"]
    assert frame["object"].to_list() == ["q1", "q2"]
    assert frame["consensus"].to_list() == [False, True]
    assert_allclose(frame["proba_True"].to_numpy(), [0, 2 / 3])
    numbered = MajorityVote().solve(Votes.from_labels({"svm": [3, 4, 4]})).to_frame(backend)
    assert nw.from_native(numbered, eager_only=True).rows() == [
        (0, 3, 1.0),
        (1, 4, 1.0),
        (2, 4, 1.0),
    ]


def test_the_score_is_the_share_of_labels_that_are_right(w8):
    consensus = MajorityVote().solve(w8)
    right = consensus.labels().tolist()
    assert consensus.score(right) == 1
    assert consensus.score({0: right[0]}) == 1
    known = MajorityVote().solve(w8, known={0: right[0]})
    with pytest.raises(
        ValueError, match=r"^truth must hold a label that the method was not given, got none\.$"
    ):
        known.score({0: right[0]})
