"""Logs of inspect_ai: which votes they hold, and that it reads the scores that go back."""

import json

import pytest

from ec3learn import MajorityVote, Table, Votes, solve
from ec3learn._checks import MissingExtraError
from ec3learn.compat.inspect import read_logs, write_scores

NEEDED = "inspect_ai is not installed: pip install 'ec3learn[inspect]'"


# ---- without inspect_ai --------------------------------------------------------------------------


def scores(rows):
    """A table such as `read_logs` returns, from (id, epoch, judge, value)."""
    columns = ("object", "id", "epoch", "judge", "value")
    return Table.of(columns, [(f"m {row[0]} {row[1]}", *row) for row in rows]).to_frame()


def test_without_inspect_ai_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr("ec3learn._checks.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ec3learn\[inspect\]'"):
        read_logs("log.eval")


def test_each_answer_becomes_one_line_with_its_epoch(tmp_path):
    said = [
        (q, e, j, v)
        for q, e, v in [("a", 1, "C"), ("a", 2, "I")]
        for j, v in [("x", v), ("y", "C")]
    ]
    table = scores(said)
    consensus = MajorityVote().solve(
        Votes.from_long(table["object"], table["judge"], table["value"])
    )
    write_scores(consensus, table, tmp_path / "scores.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [(line["id"], line["epoch"], line["value"]) for line in lines] == [
        ("a", 1, "C"),
        ("a", 2, "C"),
    ]
    assert lines[1]["metadata"]["probability"] == {"C": 0.5, "I": 0.5}
    assert lines[0]["metadata"]["notes"] == [str(note) for note in consensus.notes]


def test_where_samples_are_the_objects_lines_have_no_epoch_and_some_may_have_no_answer(tmp_path):
    table = scores([(1, 1, "x", 3), (1, 2, "x", 3), (2, 1, "x", 5), (3, 1, "x", 5)])
    two = table[table["id"] < 3]
    consensus = MajorityVote().solve(Votes.from_long(two["id"], two["judge"], two["value"]))
    write_scores(consensus, table, tmp_path / "scores.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [(line["id"], line["value"], "epoch" in line) for line in lines] == [
        (1, 3, False),
        (2, 5, False),
    ]


# ---- with it -------------------------------------------------------------------------------------


def answer(text):
    """An answer of the mock model; without its use of tokens inspect_ai would count them online."""
    from inspect_ai.model import ModelOutput, ModelUsage

    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def mock(name, *texts):
    from itertools import cycle

    from inspect_ai.model import get_model

    said = cycle(texts)
    return get_model(
        f"mockllm/{name}", custom_outputs=lambda *_, **__: answer(next(said)), memoize=False
    )


def scorers():
    """Two scorers of letters, one of several numbers and one that says nothing of sample q0."""
    from inspect_ai.scorer import Score, mean, scorer

    def make(name, value, metrics):
        @scorer(metrics=metrics, name=name)
        def build():
            async def score(state, target):
                return value(state)

            return score

        return build()

    def strict(state):
        return Score(value="C" if state.sample_id != "q1" or state.epoch == 2 else "I")

    def kind(state):
        return Score(value="P" if state.sample_id == "q2" else "C")

    def rubric(state):
        return Score(value={"help": 7, "harm": 2.5})

    def maybe(state):
        return Score.unscored() if state.sample_id == "q0" else Score(value=True)

    return [
        make("strict", strict, [mean()]),
        make("kind", kind, [mean()]),
        make("rubric", rubric, {"*": [mean()]}),
        make("maybe", maybe, [mean()]),
    ]


@pytest.fixture(scope="module", params=["eval", "json"])
def log(request, tmp_path_factory):
    """Three samples, answered twice by the mock model, and scored by scorers and a panel of three."""
    pytest.importorskip("inspect_ai", reason=NEEDED)
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import model_graded_qa

    panel = [mock("a", "GRADE: C"), mock("b", "GRADE: I"), mock("c", "GRADE: C", "no grade")]
    task = Task(
        dataset=[Sample(id=f"q{i}", input="hello", target="hi") for i in range(3)],
        scorer=[*scorers(), model_graded_qa(model=panel)],
        epochs=2,
        name="greet",
    )
    folder = tmp_path_factory.mktemp("logs")
    done = eval(
        task,
        model=mock("model", "hi"),
        log_dir=str(folder),
        log_format=request.param,
        display="none",
    )[0]
    assert done.status == "success"
    return done.location


def test_scorers_and_the_members_of_a_panel_are_judges_of_each_answer(log):
    table = read_logs(log)
    said = {(row.id, row.epoch, row.judge): row.value for row in table.itertuples()}
    assert [said["q1", epoch, "strict"] for epoch in (1, 2)] == ["I", "C"]
    assert said["q2", 1, "kind"] == "P"
    assert (said["q0", 1, "rubric help"], said["q0", 1, "rubric harm"]) == (7, 2.5)
    assert said["q1", 1, "maybe"] is True and ("q0", 1, "maybe") not in said
    panel = table[table["judge"].str.startswith("model_graded_qa ")]
    assert panel.groupby("judge")["value"].agg(list).str.len().tolist() == [6, 6, 3]
    assert set(table["task"]) == {"greet"} and set(table["model"]) == {"mockllm/model"}
    assert table["object"].nunique() == 6


def test_logs_become_votes_and_inspect_ai_reads_the_consensus_back(log, tmp_path):
    from inspect_ai import score
    from inspect_ai.log import read_eval_log
    from inspect_ai.scorer import precomputed_scores

    table = read_logs(log, judge="model_graded_qa")
    votes = Votes.from_long(table["object"], table["judge"], table["value"])
    assert (len(votes), len(votes.models), votes.classes.tolist()) == (6, 3, ["C", "I"])
    consensus = solve(votes)
    path = tmp_path / "scores.jsonl"
    write_scores(consensus, table, path)
    scored = score(
        read_eval_log(log), precomputed_scores(str(path)), action="append", display="none"
    )
    back = {
        f"mockllm/model {sample.id} {sample.epoch}": sample.scores["precomputed_scores"]
        for sample in scored.samples
    }
    assert {name: each.value for name, each in back.items()} == dict(
        zip(consensus.object_ids, consensus.labels(), strict=True)
    )
    assert set(back["mockllm/model q0 1"].metadata) == {"probability", "notes"}


def test_models_may_be_the_judges_and_epochs_their_repeats_and_a_folder_is_read_too(log):
    from os.path import dirname

    table = read_logs(dirname(log), judge="strict")
    votes = Votes.from_long(table["id"], table["model"], table["value"])
    assert votes.object_ids.tolist() == ["q0", "q1", "q2"]
    assert votes.said(1) == [{"C": 0.5, "I": 0.5}]
