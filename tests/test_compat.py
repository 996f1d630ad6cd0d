"""Other tools' interfaces: their contracts, and what the tools themselves do where they are installed."""

import importlib
import json
from itertools import cycle
from os.path import dirname

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import ec3learn
from ec3learn import MajorityVote, Table, Votes, solve
from ec3learn._checks import MissingExtraError
from ec3learn.compat import crowdkit
from ec3learn.compat.inspect import read_logs, write_scores
from ec3learn.compat.mlflow import ensemble, metrics
from ec3learn.diagnosis import agreement, effective_voters

NEEDED = "inspect_ai is not installed: pip install 'ec3learn[inspect]'"


# ---- crowd-kit ------------------------------------------------------------------------------------

AGGREGATORS = [getattr(crowdkit, name) for name in crowdkit.__all__]


@pytest.fixture(scope="module")
def crowd() -> pd.DataFrame:
    """120 tasks of three classes, five votes each by 15 workers, who are right in 50 to 95 %."""
    rng, rows = np.random.default_rng(0), []
    right = rng.uniform(0.5, 0.95, 15)
    for task, truth in enumerate(rng.integers(3, size=120)):
        for worker in rng.choice(15, 5, replace=False):
            said = truth if rng.random() < right[worker] else rng.integers(3)
            rows.append((f"t{task}", f"w{worker}", "abc"[said]))
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=lambda each: each.__name__)
def test_an_aggregator_keeps_the_contract_of_crowd_kit(aggregator, crowd):
    fitted = aggregator()
    assert fitted.fit(crowd) is fitted
    assert fitted.fit_predict(crowd) is fitted.labels_
    assert fitted.fit_predict_proba(crowd) is fitted.probas_
    assert (fitted.labels_.name, fitted.labels_.index.name) == ("agg_label", "task")
    assert (fitted.skills_.name, fitted.skills_.index.name) == ("skill", "worker")
    assert (fitted.probas_.columns.name, fitted.probas_.index.name) == ("label", "task")
    assert set(fitted.labels_.index) == set(crowd["task"])
    assert set(fitted.skills_.index) == set(crowd["worker"])
    assert_allclose(fitted.probas_.sum(axis=1), 1)
    assert (fitted.probas_.idxmax(axis=1) == fitted.labels_).mean() > 0.98  # but for ties
    assert fitted.labels_.tolist() == fitted.consensus_.labels().tolist()


@pytest.mark.parametrize("column", ["task", "worker", "label"])
def test_a_table_without_a_column_is_a_key_error_as_there(column, crowd):
    with pytest.raises(KeyError, match=column):
        crowdkit.MajorityVote().fit_predict(crowd.drop(columns=column))


def test_an_aggregator_does_what_solve_does(crowd):
    votes = ec3learn.Votes.from_long(crowd["task"], crowd["worker"], crowd["label"])
    assert_allclose(crowdkit.Aggregator().fit_predict_proba(crowd), ec3learn.solve(votes).proba)


def test_known_labels_and_skills_reach_the_method(crowd):
    known = pd.Series({"t0": "c", "t1": "a"})
    assert crowdkit.DawidSkene().fit_predict(crowd, true_labels=known)[["t0", "t1"]].tolist() == [
        "c",
        "a",
    ]
    three = crowd[crowd["worker"].isin(["w0", "w1", "w2"])]
    skills = pd.Series({"w0": 9.0, "w1": 1.0, "w2": 1.0})
    labels = crowdkit.MajorityVote().fit_predict(three, skills=skills)
    of_w0 = three[three["worker"] == "w0"].set_index("task")["label"]
    assert (labels[of_w0.index] == of_w0).all()


def test_settings_are_those_of_crowd_kit_or_of_the_method():
    assert (
        crowdkit.DawidSkene(50, 1e-3, prior="uniform").solver.get_params().items()
        >= {"max_iter": 50, "tol": 1e-3, "prior": "uniform"}.items()
    )
    assert crowdkit.OneCoinDawidSkene(n_iter=7).solver.get_params()["one_coin"] is True


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:The inplace keyword")
@pytest.mark.parametrize(
    ("name", "ours", "theirs", "apart"),
    [
        ("MajorityVote", {}, {}, 1e-12),
        ("DawidSkene", {"prior": "uniform"}, {"n_iter": 1000, "tol": 1e-12}, 0.1),
        ("OneCoinDawidSkene", {"prior": "uniform"}, {"n_iter": 1000, "tol": 1e-12}, 0.1),
    ],
)
def test_answers_are_those_of_crowd_kit(name, ours, theirs, apart, crowd):
    pytest.importorskip("crowdkit", reason="crowd-kit, which brings transformers, is not installed")
    other = getattr(importlib.import_module("crowdkit.aggregation"), name)(**theirs)
    mine, expected = getattr(crowdkit, name)(**ours), other.fit_predict_proba(crowd)
    proba = mine.fit_predict_proba(crowd)
    assert_allclose(proba, expected.loc[proba.index, proba.columns], atol=apart)
    top = np.sort(expected.loc[proba.index].to_numpy(), axis=1)
    untied = top[:, -1] - top[:, -2] > 1e-6
    assert (mine.labels_ == other.labels_[proba.index])[untied].mean() > 0.99
    assert type(mine.labels_) is type(other.labels_) and mine.labels_.name == other.labels_.name
    assert proba.columns.name == expected.columns.name


# ---- MLflow ---------------------------------------------------------------------------------------


def jury(labels=("pass it", "fail")):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=400)
    said = {f"j{j}": np.where(rng.random(400) < 0.8, truth, 1 - truth) for j in range(5)}
    names = np.array(labels, dtype=object)
    return Votes.from_labels({name: names[codes] for name, codes in said.items()}), names[truth]


def test_metrics_are_those_of_the_diagnosis():
    votes, truth = jury()
    consensus = MajorityVote().solve(votes)
    known = {i: truth[i] for i in range(60)}
    logged, estimated = metrics(consensus, known), consensus.estimate(known=known)
    assert logged["agreement"] == agreement(votes, draws=0)["value"][0]
    assert logged["effective_judges"] == effective_voters(votes)
    assert logged["share_of_class_pass_it_low"] == estimated["low"][1]
    assert logged["accuracy_of_the_answer"] == estimated["value"][2]
    assert all(type(value) is float for value in logged.values())
    assert len(metrics(consensus)) == 3


@pytest.mark.filterwarnings("ignore")  # of its own libraries
def test_names_are_those_that_mlflow_takes(tmp_path):
    votes, truth = jury(("très bon? 100 %", "c++"))
    logged = metrics(MajorityVote().solve(votes), {i: truth[i] for i in range(60)})
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    with mlflow.start_run() as run:
        mlflow.log_metrics(logged)
    assert mlflow.get_run(run.info.run_id).data.metrics == pytest.approx(logged)


@pytest.mark.filterwarnings("ignore")  # of its own libraries
def test_a_consensus_decides_for_an_ensemble_of_scorers():
    scorers = pytest.importorskip("mlflow.genai.scorers")
    votes, _ = jury(("yes", "no"))
    consensus = solve(votes)

    def scorer_of(name, value):
        @scorers.scorer(name=name)
        def score(outputs):
            return value

        return score

    said = {"j0": "no", "j1": "no", "j2": "yes", "j3": None}  # and j4 is not there
    panel = [scorer_of(name, value) for name, value in said.items()]
    jury_scorer = scorers.make_scorer_ensemble(
        name="jury", scorers=panel, ensemble_fn=ensemble(consensus)
    )
    answer = consensus.extend(Votes.from_labels({k: [v] for k, v in said.items()}))
    feedback = jury_scorer(outputs="hello")
    assert (feedback.name, feedback.value) == ("jury", answer.labels()[0])
    assert feedback.metadata["confidence"] == f"{answer.confidence[0]:.3f}"


# ---- inspect_ai -----------------------------------------------------------------------------------


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


def answer(text):
    """An answer of the mock model; without its use of tokens inspect_ai would count them online."""
    from inspect_ai.model import ModelOutput, ModelUsage

    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def mock(name, *texts):
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
    assert done.status == "success", done.error
    return done.location


@pytest.mark.filterwarnings("ignore")  # of its own libraries
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


@pytest.mark.filterwarnings("ignore")
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


@pytest.mark.filterwarnings("ignore")
def test_models_may_be_the_judges_and_epochs_their_repeats_and_a_folder_is_read_too(log):
    table = read_logs(dirname(log), judge="strict")
    votes = Votes.from_long(table["id"], table["model"], table["value"])
    assert votes.object_ids.tolist() == ["q0", "q1", "q2"]
    assert votes.said(1) == [{"C": 0.5, "I": 0.5}]
