"""What a person is told first: counts, who is right on hidden labels, and which votes should not be believed."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from ec3learn import EC3, Consensus, DawidSkene, MajorityVote, SoftVote, Votes, WeightedVote
from ec3learn.answer.notes import Note
from ec3learn.consensus import changed
from ec3learn.diagnosis.metrics import (
    changed_rows,
    close_calls,
    majority,
    object_weights,
    row_weights,
)
from ec3learn.diagnosis.summary import summarise, table_notes, two_voter_notes
from ec3learn.report.facts import facts_of

SAID = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}


def test_a_note_says_that_two_voters_do_not_show_who_is_right(tmp_path):
    consensus = DawidSkene().solve(Votes.from_labels(SAID))
    (note,) = (note for note in consensus.notes if note.kind == "two voters")
    assert str(note) == (
        "With two voters, nothing shows who is right where they disagree. What the tables say of each tells whom the answer follows. "
        "Add a third voter, or pass known."
    )
    consensus.save(tmp_path / "x.ec3")
    assert note in Consensus.load(tmp_path / "x.ec3").notes


@pytest.mark.parametrize(
    ("votes", "known"),
    [
        (Votes.from_labels({**SAID, "c": [0, 0, 1, 1]}), None),
        (Votes.from_labels({"a": [0, 1], "b": [0, 1]}), None),  # never disagree
        (Votes.from_labels(SAID), {1: 0}),
        (Votes.from_labels(SAID, {"k": [0, 0, 1, 1]}), None),
    ],
)
def test_where_something_else_can_show_who_is_right_there_is_no_such_note(votes, known):
    assert two_voter_notes(DawidSkene().solve(votes, known).solution) == []


def crowd(order):
    """Return a crowd of eight annotators on 200 tasks, and the truth of some; `order` names the tasks."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    voters = np.repeat(np.arange(8), 200)
    right = rng.random(1600) < np.repeat([0.9, 0.9, 0.85, 0.6, 0.55, 0.5, 0.5, 0.5], 200)
    labels = np.where(right, np.tile(truth, 8), 1 - np.tile(truth, 8))
    names = np.asarray(order)
    known = {names[i]: int(truth[i]) for i in range(60)}
    return Votes.from_long(np.tile(names, 8).tolist(), [f"w{v}" for v in voters], labels), known


@pytest.mark.parametrize(
    "names", [[f"task {i}" for i in range(200)], list(range(200, 0, -1)), list(range(200))]
)
def test_known_labels_are_hidden_in_turn_whatever_objects_are_called(names):
    votes, known = crowd(names)
    method = WeightedVote(weights="labels")
    held_out = summarise(method.solve(votes, known), method).held_out
    assert held_out.n_labels == 60
    assert held_out.accuracy >= 0.85


def judges(n=2000):
    """Return three fair judges, one that always says "good", one that turns the first two classes around, and biased ones."""
    rng = np.random.default_rng(1)
    truth = rng.choice(["good", "bad", "fair"], n, p=[0.5, 0.35, 0.15])
    said = {}
    for j in range(3):
        said[f"fair {j}"] = np.where(
            rng.random(n) < 0.8, truth, rng.choice(["good", "bad", "fair"], n)
        )
    said["always"] = np.full(n, "good")
    turned = pd.Series(truth).map({"good": "bad", "bad": "good", "fair": "fair"}).to_numpy()
    for j in range(2):
        said[f"turned {j}"] = np.where(
            rng.random(n) < 0.9, turned, rng.choice(["good", "bad", "fair"], n)
        )
    return Votes.from_labels(said)


def test_votes_that_tell_nothing_and_bias_are_noted():
    notes = summarise(EC3().solve(judges())).notes
    assert notes[0].text.startswith(
        "Always says the same: always ('good'). Such votes carry no information about an object."
    )
    assert any(note.kind == "bias" for note in notes)


def test_a_summary_and_a_score_show_themselves_in_words():
    consensus = MajorityVote().solve(Votes.from_labels(SAID))
    summary = consensus.summary(truth=[0, 0, 1, 0])
    assert repr(summary) == str(summary)
    assert repr(summary.judged).startswith(
        "Judged by 4 true labels: 50.0 % correct (95 % interval "
    )


@pytest.mark.parametrize("method", [EC3(), MajorityVote(), DawidSkene()])
def test_the_notes_of_a_consensus_are_those_of_its_summary(method):
    consensus = method.solve(judges())
    assert consensus.notes == summarise(consensus).notes
    assert any(note.kind == "bias" for note in consensus.notes) != isinstance(method, DawidSkene)


def test_notes_survive_saving_and_pickling_and_need_no_votes_then(tmp_path):
    consensus = MajorityVote().solve(judges())
    consensus.save(tmp_path / "judges.ec3")
    loaded = Consensus.load(tmp_path / "judges.ec3")
    assert loaded.solution.votes is None
    assert loaded.notes == pickle.loads(pickle.dumps(consensus)).notes == consensus.notes
    assert "bias" in [note.kind for note in loaded.notes]


def test_new_objects_are_diagnosed_by_their_own_votes():
    votes = judges()
    consensus = MajorityVote().solve(votes)
    assert "bias" in [note.kind for note in consensus.extend(votes[:1000]).notes]
    assert consensus.extend(votes[:5]).notes == ()
    assert consensus.extend(votes[:0]).notes == ()


def test_a_method_that_allows_for_bias_has_no_such_note():
    assert not any(note.kind == "bias" for note in summarise(DawidSkene().solve(judges())).notes)


def test_fast_leaves_out_what_takes_long():
    votes, known = crowd(list(range(200)))
    method = WeightedVote(weights="labels")
    fast = summarise(method.solve(votes, known), method, fast=True)
    assert fast.held_out is None
    assert not any(
        note.kind == "bias" for note in summarise(EC3().solve(judges()), fast=True).notes
    )


def test_an_answer_of_one_class_is_noted_where_the_votes_are_not():
    said = {"a": ["x", "y"] * 50, "b": ["x", "y"] * 50, "c": ["x"] * 100}
    notes = summarise(WeightedVote(weights=[0.1, 0.1, 9]).solve(Votes.from_labels(said))).notes
    text = next(str(note) for note in notes if note.kind == "one class")
    assert (
        text
        == "All objects got the class x, though most votes name another for 50.0 % of them. Compare with another method."
    )


@pytest.mark.parametrize(
    "said",
    [
        {"a": ["x"] * 60, "b": ["x"] * 60, "c": ["x"] * 59 + ["y"]},  # most votes name it too
        {"a": ["x", "y"] * 30, "b": ["x", "y"] * 30, "c": ["x"] * 60},  # several classes
    ],
)
def test_one_class_is_noted_only_where_most_votes_name_another(said):
    method = WeightedVote(weights=[1, 1, 1])
    notes = summarise(method.solve(Votes.from_labels(said))).notes
    assert "one class" not in {note.kind for note in notes}


def test_an_answer_that_changes_no_label_is_noted_but_not_where_all_votes_agree():
    split = Votes.from_labels({"a": [0, 1, 1, 0], "b": [0, 1, 1, 0], "c": [1, 1, 1, 0]})
    assert [note.kind for note in summarise(EC3().solve(split)).notes] == ["same as majority"]
    assert summarise(MajorityVote().solve(split)).notes == ()
    agreed = Votes.from_labels({"a": [0, 1, 1, 0], "b": [0, 1, 1, 0]})
    assert summarise(EC3().solve(agreed)).notes == ()


def test_overconfidence_on_known_labels_is_noted():
    truth = np.tile([0, 1], 30)
    votes = Votes.from_labels(
        {"a": np.zeros(60, dtype=int), "b": np.zeros(60, dtype=int)}, classes=[0, 1]
    )
    summary = summarise(MajorityVote().solve(votes, known=truth), MajorityVote())
    assert "mean confidence is 1.000, but only 50.0 % are correct." in str(summary)


def test_a_collapsed_coin_is_noted_as_such_and_as_one_class():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=600)
    honest = np.where(rng.random((600, 12)) < 0.75, truth[:, None], 1 - truth[:, None])
    votes = Votes.from_labels(np.hstack([np.zeros((600, 9), dtype=int), honest]))
    notes = DawidSkene(one_coin=True, prior="uniform").solve(votes).summary(truth=truth).notes
    assert {"collapse", "one class", "overconfident"} <= {note.kind for note in notes}


def test_solvers_that_stopped_early_are_noted():
    with pytest.warns(ConvergenceWarning):
        consensus = DawidSkene(max_iter=1).solve(judges())
    assert next(note.kind for note in summarise(consensus).notes) == "not converged"


def test_no_objects_have_a_summary():
    votes = Votes.from_labels({"a": [0, 1], "b": [0, 1]})
    summary = EC3().solve(votes).extend(votes[:0]).summary()
    assert (summary.n_objects, summary.contested, list(summary.classes["share"])) == (
        0,
        0.0,
        [0.0, 0.0],
    )


def test_ten_notes_of_one_kind_are_one_line():
    failed = tuple(Note("left out", f"Model {i} failed.") for i in range(10))
    summary = summarise(
        changed(MajorityVote().solve(Votes.from_labels({"a": [0, 1], "b": [0, 1]})), notes=failed)
    )
    line = next(line for line in str(summary).splitlines() if line.startswith("Note: Model"))
    assert (
        line
        == "Note: Model 0 failed. Model 1 failed. Model 2 failed. And 7 more notes of this kind."
    )
    assert len(summary.as_dict()["notes"]) >= 10  # machines get them all


# ---- answers -------------------------------------------------------------------------------------


def test_one_threshold_holds_for_the_summary_and_the_report(tmp_path):
    consensus = SoftVote().solve(Votes.from_labels(SAID))
    assert consensus.solution.expand(close_calls(consensus.solution)).tolist() == [
        False,
        True,
        True,
        False,
    ]
    assert summarise(consensus).contested == 0.5
    consensus.report(tmp_path / "page.html")
    assert "50.0\N{NO-BREAK SPACE}% of all objects are close calls" in (
        tmp_path / "page.html"
    ).read_text("utf-8")


def test_weights_that_are_counts_stay_and_others_add_up_to_the_objects():
    counts, shares = ([2, 1, 3, 1], [0.2, 0.1, 0.3, 0.4])
    one, other = (
        EC3().solve(Votes.from_labels(SAID, sample_weight=weight)).solution
        for weight in (counts, shares)
    )
    assert object_weights(one).tolist() == counts
    assert np.allclose(object_weights(other), np.array(shares) * 4)
    assert row_weights(one).sum() == 7


# ---- the majority vote beside the answer ---------------------------------------------------------


def test_it_is_the_answer_of_the_method():
    rng = np.random.default_rng(0)
    votes = Votes.from_labels(
        {f"m{m}": rng.integers(4, size=200) for m in range(5)}, {"k": rng.integers(3, size=200)}
    )
    consensus = EC3().solve(votes, known={3: 1, 8: 2})
    labels = consensus.classes[consensus.solution.expand(majority(consensus).classes)]
    assert np.array_equal(labels, MajorityVote().solve(votes).labels())


def test_of_judges_who_score_it_is_the_answer_of_the_method_too():
    rng = np.random.default_rng(0)
    scores = {f"j{j}": rng.integers(10, size=300) for j in range(4)}
    scores = {name: [*own, *own[:100]] for name, own in scores.items()}
    votes = Votes.from_labels(scores, classes=["fine", "toxic"], scale=range(10))
    consensus, alone = DawidSkene().solve(votes, known={3: "fine"}), MajorityVote().solve(votes)
    found = majority(consensus)
    assert np.array_equal(
        consensus.classes[consensus.solution.expand(found.classes)], alone.labels()
    )
    assert np.array_equal(consensus.solution.expand(found.proba), alone.proba)


@pytest.mark.filterwarnings("ignore::ec3learn.answer.ExtendWarning")
def test_a_class_that_the_answer_does_not_have_is_marked():
    consensus = MajorityVote().solve(Votes.from_labels({"a": ["x", "y"]}))
    new = consensus.extend(
        Votes.from_labels({"a": ["x", "y"], "new": ["z", "z"], "newer": ["z", "z"]})
    )
    assert majority(new).classes.tolist() == [-1, -1]


def test_labels_that_were_held_fixed_are_not_counted_as_changed():
    votes = Votes.from_labels({"a": [0, 0, 1], "b": [0, 1, 1], "c": [1, 1, 1]})
    consensus = WeightedVote(weights=[1, 1, 9]).solve(votes, known={1: 0})
    solution = consensus.solution
    assert solution.expand(changed_rows(solution, majority(solution))).tolist() == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("soft", [False, True])
def test_tied_classes_share_in_all_that_is_said_of_it(soft):
    said = {"a": [0, 0, 1, 1] * 5, "b": [1, 0, 1, 0] * 5}  # tied on every second object
    votes = Votes.from_labels(said)
    if soft:
        votes = Votes.from_probabilities({m: 0.1 + 0.8 * np.eye(2)[said[m]] for m in said})
    consensus, truth = EC3().solve(votes), [0, 0, 1, 1] * 5
    facts, score = facts_of(consensus, truth=truth), consensus.summary(truth=truth).judged
    assert consensus.summary().changed == facts["changes"]["share"] == pytest.approx(0.25)
    assert dict(facts["classes"]["rows"])["0"][2] == pytest.approx(0.5)
    assert score.by_majority == pytest.approx(0.75)
    assert sum(score.wins) == pytest.approx(facts["changes"]["n"], abs=1)
    assert "majority vote: 25.0 % of the labels (ties count in part)" in str(consensus.summary())


def test_without_votes_there_is_none(tmp_path):
    consensus = MajorityVote().solve(Votes.from_labels({"a": [0, 1]}))
    consensus.save(tmp_path / "saved", objects=True)
    assert majority(type(consensus).load(tmp_path / "saved")) is None


@pytest.mark.parametrize("label", ["None", "unsure", " N/A ", ""])
def test_a_label_that_may_mean_no_answer_is_noted(label):
    votes = Votes.from_labels({"ann": ["x", label, "y"], "bob": ["x", "y", "y"]})
    assert [note.kind for note in table_notes(votes)] == ["no answer"]


@pytest.mark.parametrize(
    ("n_labels", "n_objects", "noted"), [(80, 5, True), (40, 5, False), (80, 320, False)]
)
def test_many_labels_that_repeat_votes_look_like_exchanged_columns(n_labels, n_objects, noted):
    rows = np.arange(320)
    labels, voters = [f"label {i % n_labels}" for i in rows], rows // 80 % 2
    votes = Votes.from_long(rows % n_objects, voters, labels)
    assert ("long table" in [note.kind for note in table_notes(votes)]) == noted
