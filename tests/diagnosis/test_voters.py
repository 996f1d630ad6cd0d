"""Voters whose votes should not be trusted: doubts, pairs that agree too well, and bias."""

import re
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score, confusion_matrix, normalized_mutual_info_score

from ec3learn import EC3, Consensus, DawidSkene, MajorityVote, Panel, Votes, diagnosis, solve
from ec3learn._checks import InputTypeError
from ec3learn.answer.notes import Note
from ec3learn.diagnosis import pairs, voter_checks
from ec3learn.diagnosis.correlation import _evidence_of_bias, bias_notes, notes_on_bias
from ec3learn.diagnosis.metrics import kappa, mutual_information, sampled
from ec3learn.diagnosis.voters import worst_first
from ec3learn.votes import only_rows

judging = import_module("ec3learn.diagnosis.voters")  # the package has functions of these names
doubting = import_module("ec3learn.diagnosis.correlation")
pairing = import_module("ec3learn.diagnosis.agreement")

GOOD = np.tile(["a", "b"], 300)


def doubted(**said):
    votes = Votes.from_labels({f"good{m}": GOOD for m in range(5)} | said)
    return {
        row["model"]: (row["doubt"], row["says"])
        for row in voter_checks(MajorityVote().solve(votes)).rows()
    }


def test_each_doubt_has_its_name():
    guess = np.random.default_rng(0).permutation(GOOD)
    turned = np.where(GOOD == "a", "b", "a")
    assert doubted(turned=turned, guess=guess, lazy=["b"] * 600) == {
        "turned": ("worse than chance", None),
        "guess": ("no better than chance", None),
        "lazy": ("always says the same", "b"),
    }


def test_who_nearly_always_says_the_same_is_said_to_in_a_long_table():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=1000)
    lazy = np.ones(1000, dtype=int)
    lazy[rng.choice(1000, 5, replace=False)] = 0
    objects = np.tile(np.arange(1000), 4)
    voters = np.repeat(["ann", "bob", "cy", "lazy"], 1000)
    others = np.where(rng.random((3, 1000)) < 0.9, truth, 1 - truth)
    votes = Votes.from_long(objects, voters, np.append(others.ravel(), lazy))
    table = voter_checks(solve(votes))
    assert list(table.rows()) == [{"model": "lazy", "doubt": "always says the same", "says": 1}]


def test_a_saved_consensus_ranks_its_voters_as_before(tmp_path):
    guess = np.random.default_rng(0).permutation(GOOD)
    said = {"lazy": ["b"] * 600, "guess": guess} | {f"good{m}": GOOD for m in range(4)}
    consensus = MajorityVote().solve(Votes.from_labels(said))
    consensus.save(tmp_path / "x.ec3")
    loaded = Consensus.load(tmp_path / "x.ec3")
    assert worst_first(loaded)["model"] == worst_first(consensus)["model"]
    assert worst_first(loaded)["model"][:2] == ["guess", "lazy"]


def test_nothing_is_said_of_few_votes():
    assert doubted(turned=[{"a": "b", "b": "a"}[x] for x in GOOD[:29]] + [None] * 571) == {}


def test_who_always_says_the_same_where_nearly_all_is_that_is_not_doubted():
    mostly = np.where(np.arange(60) < 3, "b", "a")
    votes = Votes.from_labels({"one": mostly, "two": mostly, "lazy": ["a"] * 60})
    assert len(voter_checks(MajorityVote().solve(votes))) == 0


def scores_of(**said):
    good = np.where(GOOD == "a", 2, 4)
    return Votes.from_labels(
        {f"good{m}": good for m in range(5)} | said, classes=["a", "b"], scale=range(1, 6)
    )


def test_judges_who_score_are_doubted_by_whether_their_scores_rise_with_the_class():
    guess = np.random.default_rng(0).permutation(np.repeat([1, 2, 3, 4, 5], 120))
    lenient = np.where(GOOD == "a", 4, 5)  # always above the middle, and always right
    votes = scores_of(
        turned=np.where(GOOD == "a", 5, 1), guess=guess, lazy=[5] * 600, lenient=lenient
    )
    found = {
        row["model"]: (row["doubt"], row["says"])
        for row in voter_checks(DawidSkene().solve(votes)).rows()
    }
    assert found == {
        "turned": ("worse than chance", None),
        "guess": ("no better than chance", None),
        "lazy": ("always says the same", 5),
    }


def test_a_score_counts_for_the_class_it_falls_into():
    votes = scores_of(strict=np.where(GOOD == "a", 1, 3))  # 3 is the border between the classes
    table = DawidSkene().solve(votes).voters(GOOD)
    assert dict(zip(table["model"], table["accuracy"], strict=True)) == {
        f"good{m}": 1.0 for m in range(5)
    } | {"strict": 0.75}


def test_kappa_is_that_of_scikit_learn():
    ours, theirs = np.random.default_rng(0).integers(3, size=(2, 200))
    theirs = np.where(np.arange(200) % 2, ours, theirs)
    found = kappa(confusion_matrix(theirs, ours), np.arange(3))
    assert found[0] == pytest.approx(cohen_kappa_score(ours, theirs))


def test_a_guesser_is_called_worse_than_chance_once_in_a_hundred_times():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 200, p=[0.6, 0.3, 0.1])
    tables = (
        np.histogram2d(rng.choice(3, 200, p=[0.5, 0.2, 0.3]), truth, bins=3)[0] for _ in range(2000)
    )
    found = [kappa(table, np.arange(3)) for table in tables]
    assert 0.005 < np.mean([agreed < -noise for agreed, noise in found]) < 0.016


# ---- pairs ---------------------------------------------------------------------------------------


def test_agreement_is_the_share_of_objects_both_voted_on():
    votes = Votes.from_labels({"a": [0, 1] * 20, "b": [0, 0] * 15 + [None] * 10})
    found = pairs(MajorityVote().solve(votes))
    assert found.similarity[0, 1] == 0.5
    assert found.common[0, 1] == 30


def test_the_mutual_information_is_that_of_scikit_learn():
    one, other = np.random.default_rng(0).integers(4, size=(2, 300))
    other = np.where(np.arange(300) % 3, one, other)
    expected = normalized_mutual_info_score(one, other)
    assert mutual_information(np.histogram2d(one, other, bins=4)[0]) == pytest.approx(expected)


def redundant(said, **options):
    found = pairs(MajorityVote().solve(Votes.from_labels(said)), **options)
    return [{found.names[i], found.names[j]} for i, j in found.redundant]


def test_two_that_never_depart_from_the_answer_are_not_redundant():
    mostly = np.where(np.arange(100) < 5, "b", "a")
    assert redundant({"one": mostly, "two": mostly, "three": mostly}) == []


def test_two_that_agree_no_more_than_class_frequencies_explain_are_not_redundant():
    own = np.where(
        np.arange(60) % 10 == 0, "rare", "common"
    )  # 82 % of the time two such voters agree by chance
    others = ["common"] * 60
    assert redundant({"own": own, "copy": own, "a": others, "b": others, "c": others}) == []
    often = np.tile(own, 20)
    assert redundant({"own": often, "copy": often} | dict.fromkeys("abc", others * 20)) == [
        {"own", "copy"}
    ]


# ---- bias ----------------------------------------------------------------------------------------


def annotators(threshold, n_objects=300, n_annotators=15):
    """Yes-or-no questions; annotators see the truth through noise and say yes above a threshold."""
    rng = np.random.default_rng(0)
    truth = rng.random(n_objects) < 0.45
    seen = rng.normal(size=(n_objects, n_annotators)) + np.where(truth, 0.65, -0.65)[:, None]
    said = seen > threshold + rng.normal(0, 0.3, n_annotators)
    return Votes.from_labels({f"a{j}": said[:, j] for j in range(n_annotators)})


def test_a_tied_vote_is_compared_as_one_for_the_first_class():
    tied = np.array([[0.5, 0.5], [0.2, 0.8]] * 20)
    found = pairs(
        MajorityVote().solve(
            Votes.from_labels({"tied": tied, "first": [0, 1] * 20}, classes=[0, 1])
        )
    )
    assert found.similarity[0, 1] == 1


def test_annotators_who_say_yes_too_rarely_are_biased_and_the_majority_suffers():
    consensus = MajorityVote().solve(annotators(1.0))
    theirs = DawidSkene().solve(annotators(1.0))
    (note,) = bias_notes(consensus.solution)
    assert note.kind == "bias"
    share = float(re.search(r"otherwise for (.*?) % of the objects", note.text)[1])
    assert share == pytest.approx(100 * np.mean(consensus.labels() != theirs.labels()), abs=5)


@pytest.mark.parametrize(
    "method", [DawidSkene(), Panel(), EC3(towards=DawidSkene()), Panel(clusterings="join")]
)
def test_methods_that_allow_for_bias_have_no_such_note(method, monkeypatch):
    monkeypatch.setattr(doubting, "notes_on_bias", lambda *_: [Note("bias", "biased")])
    votes = annotators(1.0).add(clusterings={"k": [0, 1, 2] * 100})
    assert bias_notes(method.solve(votes).solution) == []
    assert bias_notes(MajorityVote().solve(votes).solution)[0].kind == "bias"


def test_a_sample_of_many_rows_is_judged(monkeypatch):
    consensus = MajorityVote().solve(annotators(1.0))
    monkeypatch.setattr(doubting, "SAMPLE", 100)
    assert consensus.solution.votes.n_rows > 100
    assert len(bias_notes(consensus.solution)) == 1


def independent(seed=0, n=20_000):
    """Return votes of sixteen equally good voters: objects on which they disagree are a third, but nearly all distinct rows."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    return Votes.from_labels({f"v{j}": truth ^ (rng.random(n) < 0.15) for j in range(16)})


def test_the_rare_rows_of_many_voters_are_not_taken_for_bias(monkeypatch):
    votes = independent()
    monkeypatch.setattr(doubting, "SAMPLE", 1_000)
    assert votes.n_rows > 4_000
    rows, counts, _ = sampled(votes, 1_000)
    sample = replace(only_rows(votes, rows), sample_weight=counts, counts=counts)
    assert _evidence_of_bias(sample, None)[0] < 1


def test_a_sample_of_rows_shows_who_agrees_with_whom_as_all_of_them_do(monkeypatch):
    consensus = MajorityVote().solve(independent())
    every = pairs(consensus)
    monkeypatch.setattr(pairing, "SAMPLE", 1_000)
    some = pairs(consensus)
    assert some.share_of_rows < 0.3
    order = [some.names.index(name) for name in every.names]
    assert np.abs(every.similarity - some.similarity[np.ix_(order, order)]).max() < 0.05
    np.testing.assert_allclose(some.common, 20_000)


FEW = {"a": [0, 0, 1, 1] * 7, "b": [0, 0, 1, 1] * 7, "c": [0, 1, 1, 1] * 7}


@pytest.mark.parametrize(
    "table",
    [{"a": [0, 1] * 20, "b": [1, 1] * 20}, {"a": [0] * 40, "b": [0] * 40, "c": [0] * 40}, FEW],
)
def test_two_voters_one_class_or_28_objects_are_too_few_to_tell(table):
    votes = Votes.from_labels(table)
    assert notes_on_bias(votes, None, MajorityVote().solve(votes).solution.row_proba) == []


ASKED = {
    "ask": (),
    "confusion_of": ("a",),
    "contested": (),
    "cross_validate": (MajorityVote(),),
    "estimate": (),
    "explain": (0,),
    "judge": ({0: 1},),
    "pairs": (),
    "voter_checks": (),
    "voters": (),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_diagnosis_of_what_is_no_consensus_is_refused(name):
    said = "consensus must be a Consensus, got Votes. Solve votes first: EC3().solve(votes)."
    with pytest.raises(InputTypeError, match=f"^{re.escape(said)}$"):
        getattr(diagnosis, name)(Votes.from_labels({"a": [0, 1]}), *ASKED[name])


def test_every_function_is_asked_here():
    of_votes = {"agreement", "effective_voters", "error_correlation", "kappas"}
    assert set(diagnosis.__all__) - of_votes == set(ASKED)


def test_labels_for_a_consensus_without_objects_or_votes_are_refused_with_what_helps(tmp_path):
    votes = Votes.from_labels({"a": [0, 1], "b": [0, 0]})
    MajorityVote().solve(votes).save(tmp_path / "x.ec3")
    loaded = Consensus.load(tmp_path / "x.ec3")
    wanted = "truth needs objects to judge, and this consensus was loaded from a file without them. Save it with objects=True, or "
    with pytest.raises(ValueError, match=f"^{re.escape(wanted)}judge the answer of extend"):
        loaded.score({0: 1})
    assert loaded.extend(votes).score({0: 0}) == 1
    with pytest.raises(ValueError, match=r"^voters with known labels needs the votes"):
        loaded.voters({0: 1})
    with pytest.raises(
        ValueError, match=re.escape("known must name objects by number, from 0 to 1, got 9.")
    ):
        loaded.extend(votes).voters({9: 1})


# ---- the table of voters -------------------------------------------------------------------------


def crowd(seed=0, n=600):
    """Return votes of three good voters and one who says yes too often, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    said = {f"good{j}": np.where(rng.random(n) < 0.9, truth, ~truth) for j in range(5)}
    said["yes-man"] = truth | (rng.random(n) < 0.5)
    return Votes.from_labels(
        {name: np.where(own, "yes", "no") for name, own in said.items()}
    ), np.where(truth, "yes", "no")


def row_of(table, model):
    return next(row for row in table.rows() if row["model"] == model)


def test_accuracy_on_known_labels_has_wilson_intervals():
    votes, truth = crowd()
    known = dict(enumerate(truth[:50].tolist()))
    row = row_of(Panel().solve(votes, known).voters(), "good0")
    right = sum(votes.said(i)[0] == truth[i] for i in range(50))
    assert (row["labels"], row["accuracy"]) == (50, right / 50)
    interval = binomtest(right, 50).proportion_ci(method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))


def test_without_labels_there_is_no_accuracy_but_an_estimate_near_it():
    votes, truth = crowd()
    table = DawidSkene().solve(votes).voters()
    assert table["accuracy"] == [None] * 6
    for m, name in enumerate(table["model"]):
        right = np.mean([votes.said(i)[m] == truth[i] for i in range(len(truth))])
        assert row_of(table, name)["estimated"] == pytest.approx(right, abs=0.04)


def test_few_known_labels_leave_the_estimates_and_the_order_by_them():
    votes, truth = crowd()
    solved = Panel().solve(votes, {i: truth[i] for i in range(2)})
    first = worst_first(solved)
    assert first["estimated"] == sorted(first["estimated"])
    assert max(first["labels"]) == 2 and row_of(first, "yes-man")["leans_to"] == "yes"
    assert first.note == "The lowest 95 % upper bound of the estimated accuracy comes first."
    assert first.note in str(solved.summary())


def test_methods_without_a_model_of_voters_estimate_nothing():
    table = MajorityVote().solve(crowd()[0]).voters()
    assert table["estimated"] == table["bias"] == [None] * 6


@pytest.mark.filterwarnings("ignore::ec3learn.answer.ExtendWarning")
def test_a_voter_that_the_consensus_never_saw_has_no_weight():
    consensus = MajorityVote().solve(Votes.from_labels({"a": [0, 1], "b": [0, 1]}))
    new = consensus.extend(Votes.from_labels({"a": [0, 1], "new": [1, 1]}))
    assert new.voters()["weight"] == [1.0, 0.0]


def test_a_lean_is_named_and_a_fair_voter_has_none():
    table = Panel().solve(crowd()[0]).voters()
    row = row_of(table, "yes-man")
    assert row["leans_to"] == "yes"
    assert row["bias"] == pytest.approx(0.3, abs=0.05)  # half of the 60 % that are no
    assert [row["leans_to"] for row in table.rows()].count(None) >= 4


@pytest.mark.parametrize("n_classes", [20])
def test_fair_voters_do_not_lean_however_many_classes_there_are(n_classes):
    rng = np.random.default_rng(0)
    truth = rng.integers(n_classes, size=400)
    wrong = (truth[:, None] + rng.integers(1, n_classes, size=(400, 60))) % n_classes
    said = np.where(rng.random((400, 60)) < 0.75, truth[:, None], wrong)
    said[:, 0] = np.where(rng.random(400) < 0.6, 1, said[:, 0])
    objects, voters = np.nonzero(rng.random((400, 60)) < 0.06)
    votes = Votes.from_long(objects, voters, said[objects, voters], object_ids=np.arange(400))
    leans = DawidSkene().solve(votes).voters()["leans_to"]
    assert leans[0] == 1
    assert leans[1:].count(None) >= 57


def test_who_voted_less_than_five_times_is_not_said_to_lean():
    shy, often = (
        ["b" if i % 2 == 0 and i < 2 * n else None for i in range(600)] for n in (4, 12)
    )  # only where it is "a"
    said = {f"good{m}": GOOD for m in range(5)} | {"shy": shy, "often": often}
    table = DawidSkene().solve(Votes.from_labels(said)).voters()
    assert dict(zip(table["model"][5:], table["leans_to"][5:], strict=True)) == {
        "shy": None,
        "often": "b",
    }


def test_voters_are_judged_alike_however_their_votes_are_kept():
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=200)
    said = np.where(rng.random((200, 9)) < 0.6, truth[:, None], rng.integers(3, size=(200, 9)))
    asked = rng.random((200, 9)) < 0.4
    columns = {
        f"v{m}": [int(z) if a else None for z, a in zip(said[:, m], asked[:, m], strict=True)]
        for m in range(9)
    }
    objects, voters = np.nonzero(asked)
    long = Votes.from_long(
        objects, [f"v{m}" for m in voters], said[asked], object_ids=np.arange(200)
    )
    assert long.stores.sparse is not None and Votes.from_labels(columns).stores.sparse is None
    known = {i: int(truth[i]) for i in range(50)}
    tables = [
        DawidSkene().solve(votes).voters(known) for votes in (Votes.from_labels(columns), long)
    ]
    for name in ("model", "labels", "leans_to"):
        assert tables[0][name] == tables[1][name]
    for name in ("coverage", "agreement", "estimated", "accuracy", "low", "high"):
        np.testing.assert_allclose(tables[0][name], tables[1][name], atol=1e-6)


def test_weights_that_are_no_counts_do_not_change_how_many_labels_there_are():
    votes, truth = crowd()
    said = {
        model.name: [votes.said(i)[m] for i in range(len(truth))]
        for m, model in enumerate(votes.models)
    }
    light = Votes.from_labels(said, classes=votes.classes, sample_weight=np.full(len(truth), 0.1))
    known = {i: truth[i] for i in range(60)}
    plain, weighted = (
        MajorityVote().solve(own).voters(known)
        for own in (Votes.from_labels(said, classes=votes.classes), light)
    )
    for name in set(plain.columns) - {"model", "kind", "class"}:
        assert weighted[name] == pytest.approx(plain[name])


def test_a_confusion_matrix_by_known_labels_has_the_shares_of_these():
    votes, truth = crowd()
    known = {i: truth[i] for i in range(200)}
    table = Panel().solve(votes).confusion("yes-man", known)
    said = np.array([votes.said(i)[5] for i in range(200)])
    expected = [np.mean(said[truth[:200] == label] == "yes") for label in ("no", "yes")]
    assert table["says yes"] == pytest.approx(expected)
    assert table["share"] == pytest.approx([np.mean(truth[:200] == z) for z in ("no", "yes")])


def test_a_judge_who_scores_is_judged_by_what_the_scores_mean():
    votes = Votes.from_labels(
        {"a": [1, 5, 5, 1], "b": [1, 5, 3, 1]}, classes=["bad", "good"], scale=range(1, 6)
    )
    table = MajorityVote().solve(votes).voters(["bad", "good", "good", "good"])
    assert table["accuracy"] == [0.75, 0.625]  # a 3 is half a vote for each class
    assert "the middle of the scale" in worst_first(Panel().solve(votes)).note


# ---- those in trouble first ----------------------------------------------------------------------


def test_voters_in_trouble_come_first_and_few_votes_do_not_condemn():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    said = {
        name: np.where(rng.random(200) < right, truth, 1 - truth)
        for name, right in (("good", 0.95), ("fair", 0.65))
    }
    said |= {"aah": said["good"], "zero": np.ones(200, dtype=int), "zany": 1 - truth}
    said["zest"] = np.array([1 - truth[0], *[None] * 199], dtype=object)
    votes = Votes.from_labels(said, {"noise": rng.integers(3, size=200), "km": truth})
    consensus = MajorityVote().solve(votes, known=truth)
    order = worst_first(consensus)["model"]
    assert order == ["zany", "zero", "fair", "zest", "good", "aah", "noise", "km"]
    assert consensus.voters()["model"] == [*said, "noise", "km"]  # in Python, as they were given


@pytest.mark.parametrize(
    ("votes", "kinds"),
    [
        (
            Votes.from_long(["p", "p", "q"], ["ann", "bob", "ann"], ["x", "y", "x"]),
            ["annotator", "annotator"],
        ),
        (
            Votes.from_labels({"a": [1, 3], "b": [3, 1]}, classes=["x", "y"], scale=[1, 2, 3]),
            ["judge", "judge"],
        ),
        (
            Votes.from_labels(
                {"a": [1, 3], "b": ["x", "y"]}, classes=["x", "y"], scale={"a": [1, 2, 3]}
            ),
            ["judge", "classifier"],
        ),
    ],
)
def test_voters_are_called_alike_everywhere_and_after_loading(votes, kinds, tmp_path):
    consensus = solve(votes)
    consensus.save(tmp_path / "x.ec3")
    loaded = Consensus.load(tmp_path / "x.ec3")
    for own in (consensus, loaded):
        assert own.voters()["kind"] == kinds
        assert sorted(worst_first(own)["kind"]) == sorted(kinds)
        assert f"of 2 {kinds[-1]}s" in repr(own)
    assert f"2 {kinds[-1]}s" in repr(votes)


def test_an_explanation_leaves_out_who_said_nothing():
    rows = [(f"q{i}", f"w{i % 40}", "x" if i % 3 else "y") for i in range(80)]
    rows += [("q0", "w5", "x")]
    explanation = (
        DawidSkene().solve(Votes.from_long(*map(list, zip(*rows, strict=True)))).explain("q0")
    )
    assert explanation.by_model["model"] == ["w0", "w5", "prior"]
    assert explanation.silent == explanation.as_dict()["silent"] == 38
    assert "\nw5 " in str(explanation)
    assert "w17" not in str(explanation)
    assert "38 other base models said nothing about it." in str(explanation)
    assert {row["model"] for row in explanation.as_dict()["by_model"]} >= {"w0", "w5"}


def test_rows_that_count_several_times_stand_for_as_many_objects():
    said = {"a": [0, 1, 0], "b": [1, 0, 0]}
    counted = Votes.from_labels(said, sample_weight=[5, 3, 9])
    repeated = Votes.from_labels(
        {name: np.repeat(labels, [5, 3, 9]) for name, labels in said.items()}
    )
    tables = [MajorityVote().solve(votes).contested(2)["alike"] for votes in (counted, repeated)]
    assert tables == [[5, 3], [5, 3]]
    consensus = MajorityVote().solve(Votes.from_labels({"a": [0, 1], "b": [0, 1]}))
    with pytest.warns(UserWarning, match=r"^8 votes are treated as missing, .*: 'a' 5, 'b' 3\.$"):
        consensus.extend(
            Votes.from_labels({"a": [2, 0, 0], "b": [1, 3, 0]}, sample_weight=[5, 3, 9])
        )


def test_agreement_is_the_share_of_votes_for_the_class_of_the_answer():
    votes = Votes.from_labels(
        {"a": [0, 1, 1, 0], "b": [0, 1, 1, 1], "c": [0, 0, 1, 1], "d": [None, 1, 1, None]}
    )
    assert MajorityVote().solve(votes).voters()["agreement"] == [0.75, 1.0, 0.75, 1.0]
