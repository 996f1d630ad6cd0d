"""Labels that were not drawn at random: they correct an answer, and no percentage rests on them."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ec3learn import DawidSkene, InputError, MajorityVote, Table, Votes, solve
from ec3learn.diagnosis.labels import HARD, measuring, read_labels, taught_labels


def jury(n=1500, share=0.3, seed=0):
    """Seven judges of whom each is right on 70 to 85 % of the objects, and the truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(int)
    right = rng.random((n, 7)) < np.linspace(0.7, 0.85, 7)
    return Votes.from_labels(np.where(right, truth[:, None], 1 - truth[:, None])), truth


def filled(table, truth):
    """The table of `ask` with its empty labels filled in."""
    labels = [int(truth[i]) for i in table["object"]]
    return Table(dict(table.columns) | {"label": labels})


VOTES, TRUTH = jury()
ANSWER = MajorityVote().solve(VOTES)


def random_labels(n, seed=0):
    chosen = np.random.default_rng(seed).choice(len(TRUTH), n, replace=False)
    return {int(i): int(TRUTH[i]) for i in chosen}


def test_ask_leaves_the_label_empty_and_says_how_it_drew():
    asked, drawn = ANSWER.ask(5), ANSWER.ask(5, "share", random_state=0)
    assert set(asked["label"]) == set(drawn["label"]) == {None}
    assert (set(asked["goal"]), set(drawn["goal"])) == ({"label"}, {"share"})
    assert set(asked["chance"]) == {None}
    assert all(0 < chance <= 1 for chance in drawn["chance"])
    assert asked["why"][0] == "4 of 7 said 0"


@pytest.mark.parametrize("kind", [Table, pd.DataFrame, pl.DataFrame])
def test_the_table_of_ask_is_read_back_and_unlabelled_rows_are_ignored(kind):
    asked = filled(ANSWER.ask(30), TRUTH)
    columns = dict(asked.columns) | {"label": [*asked["label"][:20], *[None] * 10]}
    table = kind(columns)
    pairs = {i: int(TRUTH[i]) for i in asked["object"][:20]}
    by_table, by_pairs = (DawidSkene().solve(VOTES, known) for known in (table, pairs))
    assert (by_table.proba == by_pairs.proba).all()
    labels = read_labels(ANSWER.solution, table)
    assert labels.n == 20
    assert (labels.chances[list(pairs)] == 0).all()


def test_a_table_that_went_through_a_csv_file_is_read_back(tmp_path):
    asked = ANSWER.ask(30, "share", random_state=0).to_frame()
    asked.loc[:19, "label"] = [int(TRUTH[i]) for i in asked["object"][:20]]
    asked.to_csv(tmp_path / "asked.csv", index=False)
    labels = read_labels(ANSWER.solution, pd.read_csv(tmp_path / "asked.csv"))
    assert labels.n == 20
    assert labels.chances[labels.codes >= 0] == pytest.approx(asked["chance"][:20].tolist())


def test_chosen_labels_give_a_sentence_instead_of_a_percentage(tmp_path):
    chosen = filled(ANSWER.ask(100), TRUTH)
    with pytest.raises(InputError, match=HARD):
        ANSWER.score(chosen)
    table = ANSWER.voters(chosen)
    assert set(table["accuracy"]) == {None}
    assert HARD in str(table)
    assert len(ANSWER.estimate(None, chosen)) == 0
    assert HARD in str(ANSWER.estimate(None, chosen))
    for summary in (
        ANSWER.summary(truth=chosen),
        MajorityVote().solve(VOTES, chosen).summary(MajorityVote()),
    ):
        assert (summary.judged, summary.held_out) == (None, None)
        assert "estimate" not in summary.classes.columns
        assert f"Note: {HARD}." in str(summary)
    for known, truth in ((chosen, None), (None, chosen)):
        page = tmp_path / f"{known is None}.html"
        MajorityVote().solve(VOTES, known).report(page, truth=truth)
        assert f"{HARD}." in page.read_text(encoding="utf-8")
        assert "% correct" not in page.read_text(encoding="utf-8")


def test_labels_of_unknown_origin_among_contested_objects_are_noticed():
    hard = {i: int(TRUTH[i]) for i in ANSWER.ask(40)["object"]}
    with pytest.raises(InputError, match=HARD):
        ANSWER.score(hard)
    taught = solve(VOTES, hard)
    assert measuring(taught.solution, taught_labels(taught.solution)) is None


def test_random_labels_are_hardly_ever_taken_for_chosen_ones():
    for seed in range(200):
        labels = read_labels(ANSWER.solution, random_labels(40, seed))
        assert measuring(ANSWER.solution, labels) is not None


def test_random_labels_measure_beside_chosen_ones():
    """A draw of 200, and 100 hard ones: the percentage rests on the 200."""
    random = random_labels(200)
    asked = filled(MajorityVote().solve(VOTES, random).ask(100), TRUTH).to_frame()
    draw = pd.DataFrame({"object": list(random), "label": list(random.values())})
    both = MajorityVote().solve(VOTES, pd.concat([draw, asked]))
    score = both.summary(MajorityVote()).held_out
    assert score.n_labels == 200
    right = np.mean([ANSWER.labels()[i] == label for i, label in random.items()])
    assert score.accuracy == pytest.approx(right)


def test_a_draw_after_labels_has_those_that_were_known_already():
    known = {i: int(TRUTH[i]) for i in range(400)}
    drawn = MajorityVote().solve(VOTES, known).ask(100, "share", random_state=0)
    labels = [label for label in drawn["label"] if label is not None]
    assert len(drawn) - len(labels) == 100
    assert labels == [known[i] for i in drawn["object"] if i in known]
    assert len(labels) > 5


def test_the_summary_shows_estimated_shares_beside_those_of_the_answer():
    summary = MajorityVote().solve(VOTES, random_labels(100)).summary(MajorityVote())
    for share, low, high in zip(
        (1 - TRUTH.mean(), TRUTH.mean()),
        summary.classes["low"],
        summary.classes["high"],
        strict=True,
    ):
        assert low < share < high
    assert "estimate" in str(summary)
    assert "estimate" not in str(ANSWER.summary())


@pytest.mark.parametrize("chosen", [0, 100])
def test_shown_percentages_hold_the_truth_as_often_as_they_say(chosen):
    """Of 60 draws of 50 labels with 100 chosen ones, at most 8 may miss: 5 % of 60 is 3."""
    missed = np.zeros(2)
    for seed in range(60):
        random = random_labels(50, seed)
        known = pd.DataFrame({"object": list(random), "label": list(random.values())})
        if chosen:
            asked = filled(MajorityVote().solve(VOTES, random).ask(chosen), TRUTH).to_frame()
            known = pd.concat([known, asked])
        else:
            known = random
        summary = MajorityVote().solve(VOTES, known).summary(MajorityVote())
        low, high = summary.held_out.interval
        share = summary.classes["low"][1], summary.classes["high"][1]
        missed += (
            not low <= ANSWER.score(TRUTH) <= high,
            not share[0] <= TRUTH.mean() <= share[1],
        )
    assert (missed <= 8).all()


def test_labels_that_were_chosen_correct_the_answer_without_a_number_of_how_well():
    asked = filled(solve(VOTES).ask(40, "label"), TRUTH)
    notes = [str(note) for note in solve(VOTES, known=asked).notes]
    assert f"{HARD}." in notes
    assert not any("log loss" in note for note in notes)
    drawn = [str(note) for note in solve(VOTES, known=random_labels(40)).notes]
    assert any("log loss" in note for note in drawn)


def noted(said, known=None):
    return {note.kind: note.text for note in solve(Votes.from_labels(said), known=known).notes}


def test_what_labels_taught_is_said_as_far_as_they_show_it():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=400)
    said = {f"j{m}": np.where(rng.random(400) < 0.6, truth, 1 - truth) for m in range(3)}
    few, even = (noted(said, dict(enumerate(truth[:n].tolist())))["calibration"] for n in (9, 40))
    assert few == "9 known labels corrected the answer."
    assert re.fullmatch(
        r"40 .* log loss 0\.\d{3} with them and 0\.\d{3} without: 40 labels show no difference\.",
        even,
    )
    helped = {name: np.where(truth == 1, 1, rng.integers(2, size=400)) for name in "abc"}
    text = noted(helped, dict(enumerate(truth[:200].tolist())))["calibration"]
    before, after = map(float, re.findall(r"0\.\d{3}", text))
    assert before < after and text.endswith(" without.")


def test_how_to_draw_labels_is_said_so_that_it_can_be_copied():
    said = {f"j{m}": TRUTH for m in range(3)}
    text, consensus = noted(said)["calibration"], solve(Votes.from_labels(said))
    call = re.search(r"consensus\.ask\(.*\)", text).group()
    assert len(eval(call, {"consensus": consensus})) == 30
