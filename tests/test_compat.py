"""Other tools' interfaces: their contracts, and what the tools themselves do where they are installed."""

import importlib
import json
import re
import sys
from itertools import cycle
from os.path import dirname
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import ec3learn
from ec3learn import MajorityVote, Table, Votes, solve
from ec3learn._checks import InputError, MissingExtraError
from ec3learn.answer import ExtendWarning
from ec3learn.compat import crowdkit
from ec3learn.compat.inspect import read_logs, write_scores
from ec3learn.compat.mlflow import ensemble, metrics
from ec3learn.compat.results import read_deepeval, read_promptfoo
from ec3learn.diagnosis import agreement, effective_voters

NEEDED = "inspect_ai is not installed: pip install 'ec3learn[inspect]'"
NO_CROWD_KIT = "crowd-kit, which brings transformers, is not installed"


# ---- crowd-kit ------------------------------------------------------------------------------------

AGGREGATORS = [getattr(crowdkit, name) for name in crowdkit.__all__ if name != "BinaryRelevance"]


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


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=lambda each: each.__name__)
def test_a_table_without_votes_has_an_empty_answer_as_there(aggregator):
    nothing = pd.DataFrame([], columns=["task", "worker", "label"])
    fitted = aggregator().fit(nothing)
    assert fitted.probas_.empty and fitted.labels_.empty and fitted.skills_.empty
    assert fitted.labels_.name == "agg_label"
    assert crowdkit.BinaryRelevance(fitted).fit_predict(nothing).empty


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


def test_errors_are_shares_of_the_labels_per_worker_and_true_label(crowd):
    fitted = crowdkit.DawidSkene().fit(crowd)
    assert fitted.errors_.index.names == ["worker", "label"]
    assert_allclose(fitted.errors_.groupby("worker").sum(), 1)
    table = fitted.consensus_.confusion("w3")
    for name in "abc":
        assert_allclose(fitted.errors_.loc["w3", name], table[f"says {name}"], atol=1e-9)
    assert_allclose(fitted.priors_, fitted.consensus_.proba.mean(axis=0))


def test_wawa_weighs_by_the_agreement_with_the_majority(crowd):
    majority, wawa = crowdkit.MajorityVote().fit(crowd), crowdkit.Wawa().fit(crowd)
    assert_allclose(wawa.skills_, majority.skills_)
    weighed = crowd.assign(weight=crowd["worker"].map(majority.skills_))
    sums = weighed.pivot_table("weight", "task", "label", "sum").fillna(0)
    assert_allclose(wawa.probas_, sums.div(sums.sum(axis=1), axis=0).loc[wawa.probas_.index])


LISTS = pd.DataFrame(
    [
        ("t1", "w1", ["house", "tree"]),
        ("t1", "w2", ["house"]),
        ("t1", "w3", ["house", "tree", "grass"]),
        ("t2", "w1", ["car"]),
        ("t2", "w2", ["car", "human"]),
        ("t2", "w3", ["train"]),
    ],
    columns=["task", "worker", "label"],
)


@pytest.mark.parametrize("aggregator", AGGREGATORS, ids=lambda each: each.__name__)
def test_lists_of_labels_get_one_aggregator_per_label(aggregator):
    base = aggregator()
    fitted = crowdkit.BinaryRelevance(base_aggregator=base)
    labels = fitted.fit_predict(LISTS)
    assert labels.to_dict() == {"t1": ["house", "tree"], "t2": ["car"]}
    assert (labels.name, labels.index.name) == ("agg_label", "task")
    assert list(fitted.aggregators_) == ["car", "grass", "house", "human", "train", "tree"]
    assert not hasattr(base, "labels_")


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
    pytest.importorskip("crowdkit", reason=NO_CROWD_KIT)
    other = getattr(importlib.import_module("crowdkit.aggregation"), name)(**theirs)
    mine, expected = getattr(crowdkit, name)(**ours), other.fit_predict_proba(crowd)
    proba = mine.fit_predict_proba(crowd)
    assert_allclose(proba, expected.loc[proba.index, proba.columns], atol=apart)
    top = np.sort(expected.loc[proba.index].to_numpy(), axis=1)
    untied = top[:, -1] - top[:, -2] > 1e-6
    assert (mine.labels_ == other.labels_[proba.index])[untied].mean() > 0.99
    assert type(mine.labels_) is type(other.labels_) and mine.labels_.name == other.labels_.name
    assert proba.columns.name == expected.columns.name
    if name == "DawidSkene":
        errors = mine.errors_.reindex(other.errors_.index)[other.errors_.columns]
        assert_allclose(errors, other.errors_, atol=0.1)
        assert_allclose(mine.priors_[other.priors_.index], other.priors_, atol=0.02)


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_lists_of_labels_are_answered_as_by_crowd_kit():
    there = pytest.importorskip("crowdkit.aggregation", reason=NO_CROWD_KIT)
    expected = there.BinaryRelevance(there.MajorityVote()).fit_predict(LISTS)
    pd.testing.assert_series_equal(crowdkit.BinaryRelevance().fit_predict(LISTS), expected)


# ---- promptfoo and deepeval -----------------------------------------------------------------------


def rubric(passed, score, grader=None, metric=None, **more):
    """What promptfoo writes about an assertion of a model that grades."""
    about = {"type": "llm-rubric", "value": "is polite", "metric": metric, "provider": grader}
    about = {key: value for key, value in about.items() if value is not None}
    return {"pass": passed, "score": score, "reason": "", "assertion": about, **more}


def promptfoo_results():
    """Two tests of two prompts, with all that its files can have: a set, a failure, no assertion."""
    part = {"type": "contains", "value": "hi", "metric": "greets"}
    part = {"pass": True, "score": 1, "reason": "Assertion passed", "assertion": part}
    members = [
        rubric(True, 0.9, "openai:gpt", "polite"),
        rubric(False, 0.2, {"id": "ollama:llama", "config": {}}, "polite"),
        rubric(False, 0, "broken", metadata={"graderError": True}),
        {"pass": True, "score": 1, "reason": "", "componentResults": [part]},
        part,
        rubric(True, 1),
    ]
    graded = {"pass": True, "score": 1, "reason": "", "componentResults": members}
    none = {"pass": True, "score": 1, "reason": "No assertions"}
    rows = [(0, 1, graded), (0, 0, graded), (1, 0, none), (1, 1, None)]
    return [
        {"testIdx": t, "promptIdx": p, "gradingResult": g, "provider": {"id": "echo", "label": ""}}
        for t, p, g in rows
    ]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_assertions_of_promptfoo_are_rows(form, tmp_path):
    results = promptfoo_results()
    lines = "\n".join(map(json.dumps, results)) + "\n"
    whole = json.dumps({"evalId": "eval-1", "results": {"version": 3, "results": results}})
    path = tmp_path / f"results.{form}"
    path.write_text(whole if form == "json" else lines, encoding="utf-8")
    table = read_promptfoo(path)
    assert set(table["object"]) == {"0 0", "0 1"} and set(table["model"]) == {"echo"}
    said = table[table["object"] == "0 1"].drop(columns=["object", "model"]).to_numpy().tolist()
    assert said == [
        ["polite", "openai:gpt", True, 0.9],
        ["polite", "ollama:llama", False, 0.2],
        ["greets", "contains", True, 1],
        ["llm-rubric", "llm-rubric", True, 1],
    ]
    graders = table[table["metric"] == "polite"]
    votes = Votes.from_long(graders["object"], graders["judge"], graders["passed"])
    assert (len(votes), len(votes.models), votes.classes.tolist()) == (2, 2, [False, True])


def deepeval_run():
    bias = {"name": "Bias", "threshold": 0.5, "strictMode": False, "flaky": False}
    failed = bias | {"success": False, "evaluationModel": "gpt", "error": "RuntimeError: no api"}
    good, poor = ({"success": right, "score": 0.2 + 0.7 * right} for right in (True, False))
    said = [bias | good | {"evaluationModel": "gpt"}, bias | poor | {"evaluationModel": "llama"}]
    case, talk = {"name": "test_case_0", "input": "hello"}, {"name": "talk", "success": True}
    cases = [case | {"metricsData": said}, {"name": "named", "input": "bye"}]
    talk["metricsData"] = [failed, {**bias, **good, "name": "Exact Match"}]
    return {"testCases": cases, "conversationalTestCases": [talk]}


def test_metrics_of_deepeval_are_rows_from_a_file_or_a_folder(tmp_path):
    path = tmp_path / "test_run_20261119_205037.json"
    path.write_text(json.dumps(deepeval_run()), encoding="utf-8")
    table = read_deepeval(path)
    assert table.to_numpy().tolist() == [
        ["test_case_0", "Bias", "gpt", True, pytest.approx(0.9)],
        ["test_case_0", "Bias", "llama", False, 0.2],
        ["talk", "Exact Match", "Exact Match", True, pytest.approx(0.9)],
    ]
    assert read_deepeval(tmp_path).equals(table)


@pytest.mark.filterwarnings("ignore")  # of its own libraries
def test_what_deepeval_writes_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "1")
    there = pytest.importorskip("deepeval.test_run.test_run", reason="deepeval is not installed")
    store = importlib.import_module("deepeval.evaluate.local_store")
    run = there.TestRun.model_validate(deepeval_run())
    store.write_test_run(tmp_path, run)
    assert len(read_deepeval(tmp_path)) == 3


@pytest.mark.parametrize("text", ["no JSON", "[1]", '{"results": 3}', '{"testCases": 3}'])
@pytest.mark.parametrize("reader", [read_promptfoo, read_deepeval])
def test_files_of_something_else_are_refused(reader, text, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8")
    tool = reader.__name__.removeprefix("read_")
    words = f"{path} must have results of {tool}, as JSON."
    with pytest.raises(InputError, match=re.escape(words)):
        reader(path)


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
    assert all(re.fullmatch(r"[\w.\- :/]+", name) for name in logged)
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    with mlflow.start_run() as run:
        mlflow.log_metrics(logged)
    assert mlflow.get_run(run.info.run_id).data.metrics == pytest.approx(logged)


def test_a_consensus_decides_by_the_names_of_scorers():
    votes, _ = jury(("yes", "no"))
    consensus = solve(votes)
    said = {"j0": "no", "j1": "no", "stranger": "yes", "j3": None}
    feedbacks = [SimpleNamespace(name=name, value=value) for name, value in said.items()]
    with pytest.warns(ExtendWarning, match="'stranger' 1"):
        decided = ensemble(consensus)(feedbacks)
    answer = consensus.extend(Votes.from_labels({"j0": ["no"], "j1": ["no"]}))
    assert (decided.value, type(decided)) == ("no", SimpleNamespace)
    assert decided.metadata == {"confidence": f"{answer.confidence[0]:.3f}"}


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


@pytest.fixture
def logs(monkeypatch):
    """A stand-in for the reader of inspect_ai: logs by name, as the .json format has them."""
    panel = {"votes": ["C", "I", None]}
    scores = {
        "strict": {"value": "I", "metadata": None},
        "rubric": {"value": {"help": 7, "harm": 2.5}},
        "maybe": {"value": None},
        "graded": {"value": "C", "metadata": {"panel": panel}},
    }
    samples = [{"id": "q0", "epoch": 1, "scores": scores}, {"id": "q1", "epoch": 1, "scores": None}]
    found = {"a.json": {"eval": {"task": "greet", "model": "mock"}, "samples": samples}}

    def about(name, header_only):
        return SimpleNamespace(eval=SimpleNamespace(**found[name]["eval"]))

    def summaries(name):
        for sample in found[name]["samples"]:
            made = {
                key: SimpleNamespace(**{"metadata": None} | score)
                for key, score in (sample["scores"] or {}).items()
            }
            yield SimpleNamespace(**sample | {"scores": made})

    module = ModuleType("inspect_ai.log")
    module.list_eval_logs = lambda folder: [SimpleNamespace(name=name) for name in found]
    module.read_eval_log, module.read_eval_log_sample_summaries = about, summaries
    monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.log", module)
    monkeypatch.setattr("ec3learn._checks.find_spec", lambda name: True)


@pytest.mark.parametrize("from_folder", [False, True])
def test_each_score_is_a_row_and_each_part_of_it_a_judge(logs, from_folder, tmp_path):
    table = read_logs(tmp_path if from_folder else "a.json")
    assert table[["judge", "value"]].to_numpy().tolist() == [
        ["strict", "I"],
        ["rubric help", 7],
        ["rubric harm", 2.5],
        ["graded 1", "C"],
        ["graded 2", "I"],
    ]
    about = table[["object", "id", "epoch", "task", "model"]].drop_duplicates()
    assert about.to_numpy().tolist() == [["mock q0 1", "q0", 1, "greet", "mock"]]
    assert read_logs("a.json", judge="rubric")["judge"].tolist() == ["rubric help", "rubric harm"]


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
