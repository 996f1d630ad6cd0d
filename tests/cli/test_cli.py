"""The command: what it prints and writes, its exit codes, and its words when something is wrong."""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import ec3learn.cli.commands  # noqa: F401
from ec3learn import MajorityVote, Panel, Scale, Votes, solve, votes_from
from ec3learn._table import Table
from ec3learn._text import UNSHOWN
from ec3learn.cli import DONE, INTERNAL_ERROR, INTERRUPTED, WRONG_INPUT, main
from ec3learn.cli.app import app
from ec3learn.demo import demo_votes, write_demo
from ec3learn.diagnosis import agreement, effective_voters, error_correlation, kappas
from ec3learn.methods import compare
from ec3learn.tables.formats import MEMORY

ROOT = Path(__file__).parents[2]
VOTERS = ["-c", "svm,tree,bayes,knn,rules", "-k", "kmeans,dbscan"]
ALL_VOTERS = {"classifiers": VOTERS[1].split(","), "clusterings": VOTERS[3].split(",")}
COMMANDS = [
    "combine",
    "apply",
    "explain",
    "voters",
    "compare",
    "agreement",
    "ask",
    "estimate",
    "methods",
    "demo",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with the votes of the demo as CSV and Parquet."""
    monkeypatch.chdir(tmp_path)
    write_demo("votes.csv")
    pl.DataFrame(dict(demo_votes().columns)).write_parquet("votes.parquet")
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command, and return its exit code, what it printed and what it complained of."""

    def run(*words):
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def records(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def column(path, name="consensus"):
    heads, *rows = records(path)
    return [row[heads.index(name)] for row in rows]


# ---- combine -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "labels"),
    [
        ("--known", "known labels that were hidden from the method"),
        ("--truth", "the held-out labels"),
    ],
)
def test_confidence_far_above_what_labels_show_is_noted(folder, run, option, labels):
    Path("sure.csv").write_text("a,b,right\n" + "x,x,x\ny,y,x\n" * 30)
    note = f"overconfident: on {labels} the mean confidence is 1.000, but only 50.0 % are correct."
    said = run("combine", "sure.csv", "-c", "a,b", option, "right", "--method", "majority")[1]
    assert note in " ".join(said.split())


def test_combine_writes_the_answers_behind_the_columns(folder, run):
    assert run("combine", "votes.csv", *VOTERS, "--known", "gold", "--out", "labels.csv")[0] == DONE
    before, after = records("votes.csv"), records("labels.csv")
    assert [row[:-2] for row in after] == before
    assert after[0][-2:] == ["consensus", "confidence"]
    right = sum(row[-2] == row[-3] for row in after[1:]) / (len(after) - 1)
    assert right > 0.8


def test_the_summary_tells_what_there_was(folder, run):
    _, out, err = run("combine", "votes.csv", *VOTERS, "--known", "gold")
    assert out.splitlines()[0].endswith(
        ": 600 objects (489 distinct), 3 classes ['ham', 'news', 'spam']"
    )
    assert "\nContested: " in out
    assert re.search(
        r"\nCross-validated on 60 known labels: \d\d\.\d % correct \(.*\), \d\d\.\d % by majority vote",
        out,
    )
    assert re.search(r"^svm +classifier +0\.902", out, flags=re.M)
    assert not err


def test_the_summary_is_for_machines_too(folder, run):
    facts = json.loads(run("combine", "votes.csv", *VOTERS, "--known", "gold", "--json")[1])
    assert facts["objects"] == 600
    assert facts["held_out"]["labels"] == 60
    order = ["knn", "tree", "bayes", "rules", "svm", "dbscan", "kmeans"]
    assert [voter["model"] for voter in facts["voters"]] == order
    assert facts["warning"] is None


def test_a_result_worse_than_the_majority_is_noted(folder, run):
    rows = [dict(row, a=row["truth"], b=row["truth"], bad="ham") for row in demo_votes().rows()]
    pl.DataFrame(rows).write_csv("x.csv")
    words = [
        "combine",
        "x.csv",
        "-c",
        "a,b,bad",
        "--known",
        "gold",
        "-m",
        "weighted-vote",
        "--set",
        "weights=[0.1, 0.1, 9]",
    ]
    assert (
        "\nNote: The majority vote is better on known labels that were hidden from the method: where"
        in run(*words)[1]
    )
    _, out, err = run(*words, "--json")
    assert (
        "warning: The majority vote is better on known labels that were hidden from the method: where"
        in err
    )
    assert json.loads(out)["warning"].startswith("The majority vote is better")


@pytest.mark.parametrize("method", ["majority", "iec3"])
def test_the_majority_vote_and_ties_are_not_called_worse_than_the_majority(method, folder, run):
    rows = [dict(row, noise=i % 2, svm=row["truth"]) for i, row in enumerate(demo_votes().rows())]
    pl.DataFrame(rows).write_csv("x.csv")
    _, out, err = run(
        "combine", "x.csv", "-c", "svm", "-k", "noise", "--known", "gold", "-m", method, "--json"
    )
    facts = json.loads(out)
    assert (facts["held_out"]["consensus"], facts["warning"], err) == (1.0, None, "")


def test_standard_input_and_output_have_the_table_alone(folder, run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("votes.csv").read_bytes())))
    code, out, err = run("combine", "-", "--format", "csv", *VOTERS, "--out", "-")
    assert code == DONE
    assert out.splitlines()[0].endswith(",truth,consensus,confidence")
    assert len(out.splitlines()) == 601
    assert ": 600 objects" in err.splitlines()[0]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_the_format_of_standard_input_follows_from_its_content(folder, run, monkeypatch, kind):
    frame = pl.read_csv("votes.csv")
    written = {
        "csv": lambda: frame.write_csv().encode("utf-8-sig"),
        "tsv": lambda: frame.write_csv(separator="\t").encode(),
        "jsonl": lambda: frame.write_ndjson().encode(),
        "parquet": lambda: Path("votes.parquet").read_bytes(),
        "arrow": lambda: frame.write_ipc(None).getvalue(),
    }
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(written[kind]())))
    )
    assert run("combine", "-", *VOTERS, "--out", "labels.csv", "--out-format", "jsonl")[0] == DONE
    run("combine", "votes.csv", *VOTERS, "--out", "expected.csv")
    assert pl.read_ndjson("labels.csv")["consensus"].to_list() == column("expected.csv")


def test_soft_votes_are_columns_of_probabilities(folder, run):
    Path("soft.csv").write_text("p_a,p_b,hard\n0.90,0.10,a\n0.2,0.8,b\n,,a\n")
    assert (
        run("combine", "soft.csv", "--soft", "lr=p_*", "-c", "hard", "--out", "out.csv")[0] == DONE
    )
    assert column("out.csv") == ["a", "b", "a"]
    assert column("out.csv", "p_a") == ["0.90", "0.2", ""]
    run("combine", "soft.csv", "--soft", "lr=a:p_a,b:p_b", "--out", "named.csv")
    assert column("named.csv")[:2] == ["a", "b"]


def test_a_long_table_has_a_row_a_vote(folder, run):
    rows = [
        (row["id"], name, row[name])
        for row in demo_votes().rows()
        for name in ("svm", "tree", "knn")
    ]
    pl.DataFrame(rows, schema=["task", "worker", "answer"], orient="row").write_csv("long.csv")
    words = ["--objects", "task", "--voters", "worker", "-c", "answer", "-m", "dawid-skene"]
    assert run("combine", "long.csv", *words, "--out", "out.csv")[0] == DONE
    assert len(set(zip(column("out.csv", "task"), column("out.csv"), strict=True))) == 600
    assert "Object 'mail-7' is" in run("explain", "long.csv", *words, "--object", "mail-7")[1]


def test_labels_that_mean_no_vote_classes_and_parameters_are_said_in_words(folder, run):
    Path("x.csv").write_text("a,b,k\n1,NA,0\n2,2,-1\nNA,1,NA\n")
    words = [
        "-c",
        "a,b",
        "-k",
        "k",
        "--missing",
        "NA",
        "--classes",
        "2,1,3",
        "--proba",
        "-m",
        "iec3",
        "--set",
        "alpha=0.1",
    ]
    assert run("combine", "x.csv", *words, "--out", "out.csv")[0] == DONE
    assert records("out.csv")[0][3:] == ["consensus", "confidence", "proba_2", "proba_1", "proba_3"]
    assert column("out.csv") == ["1", "2", "1"]
    assert column("out.csv", "k") == ["0", "-1", "NA"]


def test_classes_are_of_the_type_of_the_column_that_holds_them(folder, run):
    pl.DataFrame({"a": ["1", "2", "2"], "b": ["1", "2", "1"]}).write_parquet("digits.parquet")
    words = [
        "combine",
        "digits.parquet",
        "-c",
        "a,b",
        "--classes",
        "2,1",
        "-m",
        "majority",
        "--out",
        "out.parquet",
    ]
    assert run(*words)[::2] == (DONE, "Written: out.parquet\n")
    assert pl.read_parquet("out.parquet")["consensus"].to_list() == ["1", "2", "2"]


def test_more_distinct_rows_than_allowed_are_answered_from_their_groups(folder, run):
    code, out, _ = run("combine", "votes.csv", *VOTERS, "--max-rows", "100", "--out", "out.csv")
    assert code == DONE
    assert "Note: Solved on the 100 most frequent distinct rows (max_rows), " in out
    assert "" not in column("out.csv")


def test_a_report_is_written(folder, run):
    pytest.importorskip("jinja2")
    assert run("combine", "votes.csv", *VOTERS, "--report", "report.html")[0] == DONE
    assert "<html" in Path("report.html").read_text()


# ---- scores, and votes that repeat ---------------------------------------------------------------

SCORES = {
    "ann": [0, 9, 8, 1, 7, 2, 9, 0],
    "bob": [3, 7, 9, 2, 8, 1, 7, 3],
    "cy": [1, 8, "unsure", 0, 9, 1, 8, 2],
}
TOXIC = ["fine", "toxic", "toxic", "fine", "toxic", "fine", "toxic", "fine"]
GRADED = ["-c", "ann,bob,cy", "--scale", "0-9", "--unordered", "unsure", "--classes", "fine,toxic"]


@pytest.fixture
def scores(folder):
    """The scores of three judges in a CSV file and as JSON lines, where numbers stand beside text."""
    rows = [dict(zip(SCORES, said, strict=True)) for said in zip(*SCORES.values(), strict=True)]
    Path("scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("scores.csv").write_text(
        "ann,bob,cy\n" + "".join(",".join(map(str, row.values())) + "\n" for row in rows)
    )


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_scores_are_answered_as_by_the_library(scores, run, ending):
    words = [*GRADED, "--out", f"out.{ending}", "--save", "judges.ec3"]
    assert run("combine", f"scores.{ending}", *words)[0] == DONE
    votes = Votes.from_labels(SCORES, classes=["fine", "toxic"], scale=Scale(range(10), ["unsure"]))
    answers = pl.read_csv("out.csv") if ending == "csv" else pl.read_ndjson("out.jsonl")
    assert answers["consensus"].to_list() == solve(votes).labels().tolist() == TOXIC
    tolerance = (
        1e-9 if ending == "csv" else 5e-3
    )  # rows come in another order, and the rounds end within their tolerance
    assert answers["confidence"].to_list() == pytest.approx(
        solve(votes).confidence.tolist(), abs=tolerance
    )
    assert run("apply", "judges.ec3", f"scores.{ending}", "--out", "new.csv")[0] == DONE
    assert column("new.csv") == TOXIC
    assert (
        run("apply", "judges.ec3", "scores.csv", "--out", "new.csv", "--overwrite")[0] == DONE
    )  # all labels are text there
    assert column("new.csv") == TOXIC
    assert [float(x) for x in column("new.csv", "confidence")] == pytest.approx(
        answers["confidence"].to_list()
    )


def test_numbers_between_two_ends_are_scores(folder, run):
    rng, truth = np.random.default_rng(0), np.arange(60) % 2
    judges = {name: np.clip(truth * 0.4 + rng.normal(0.3, 0.1, 60), 0, 1) for name in "abc"}
    pl.DataFrame(judges).write_csv("raw.csv")
    words = ["--scale", "0.0-1.0", "--classes", "bad,good", "--out", "out.csv", "--save", "x.ec3"]
    assert run("combine", "raw.csv", "-c", "a,b,c", *words)[0] == DONE
    assert column("out.csv") == [("bad", "good")[z] for z in truth]
    assert run("apply", "x.ec3", "raw.csv", "--out", "new.csv")[0] == DONE
    assert column("new.csv") == column("out.csv")
    code, _, err = run("combine", "raw.csv", "-c", "a,b,c", "--scale", "1.0-0.0", *words[2:4])
    assert (code, err.count("\n")) == (WRONG_INPUT, 1)
    assert "must be the lowest score, and below the highest, got 1.0 and 0.0" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "--scale 0-8",
            "classifiers must hold answers of the scale, [0, 1, 2, 3, 4, 5, 6, 7, 8], got ",
        ),
        (
            "--scale 0",
            "values must name at least two answers, from low to high, and none twice, got [0].",
        ),
        (
            "--scale 0-9 --scale ann=0-9",
            "scale must be one scale for all voters, or one for each as NAME=ANSWERS, got 0-9, ",
        ),
        ("--scale an=0-9", "Unknown voter 'an'. Did you mean 'ann'?"),
        ("--scale 0-9 --outside nan", "Unknown outside 'nan'. Choose from: error, missing."),
        (
            "--scale 0-9 --unordered 9",
            "values must name at least two answers, from low to high, and none twice, got ",
        ),
        ("--scale 0-9 --direction learn", "Unknown direction 'learn'. Choose from: up, down."),
    ],
)
def test_wrong_scales_are_one_line_in_the_words_of_the_command(scores, run, words, sentence):
    code, _, err = run(
        "combine", "scores.csv", "-c", "cy,ann", "--classes", "fine,toxic", *shlex.split(words)
    )
    assert (code, err.count("\n")) == (WRONG_INPUT, 1)
    assert err.startswith(f"ec3learn: {sentence}")


def test_repeated_votes_are_taken_in_with_a_note_or_as_asked(folder, run):
    Path("long.csv").write_text("task,worker,answer\nq,ann,x\nq,ann,y\nr,ann,x\nr,bob,y\nr,cy,y\n")
    words = [
        "combine",
        "long.csv",
        "--objects",
        "task",
        "--voters",
        "worker",
        "-c",
        "answer",
        "-m",
        "soft-vote",
    ]
    code, out, _ = run(*words, "--classes", "y,x", "--out", "mean.csv")
    assert code == DONE
    assert (
        "\nNote: 1 vote repeated a voter's vote on the same object. By default they become one soft vote; repeats"
        in out
    )
    assert column("mean.csv", "confidence")[0] == "0.5"
    for repeats, label in (("first", "x"), ("last", "y")):
        run(*words, "--repeats", repeats, "--out", f"{repeats}.csv")
        assert column(f"{repeats}.csv") == [label, label, "y", "y", "y"]
    _, _, err = run(*words, "--repeats", "error")
    assert err == (
        "ec3learn: voters must have one vote per object, got 1 more, the first by 'ann' on 'q'. Pass repeats='mean', "
        "repeats='last' or repeats='first' to allow them. (option --voters)\n"
    )


# ---- apply, explain, voters ----------------------------------------------------------------------


@pytest.mark.parametrize("learned", ["votes.csv", "votes.parquet"])
@pytest.mark.parametrize("applied", ["votes.csv", "votes.parquet"])
def test_a_saved_model_answers_for_any_format(folder, run, learned, applied):
    assert run("combine", learned, *VOTERS, "--save", "mails.ec3", "--out", "labels.csv")[0] == DONE
    code, out, err = run("apply", "mails.ec3", applied, "--out-format", "csv")
    assert (code, err) == (DONE, "")
    Path("applied.csv").write_text(out)
    assert column("applied.csv") == column("labels.csv")


def test_objects_that_were_solved_before_are_told_when_they_are_answered_again(crowd, run):
    saving = ["-m", "ec3", "--save", "crowd.ec3", "--keep-objects"]
    assert run("combine", "crowd.csv", *OF_LONG, *saving)[0] == DONE
    code, _, err = run("apply", "crowd.ec3", "crowd.csv", *OF_LONG)
    n_objects = len(set(column("crowd.csv", "task")))
    assert code == DONE
    assert err.startswith(f"ec3learn: warning: {n_objects} objects were solved before; the answers")
    Path("new.csv").write_text("task,worker,answer\nnew,ann,yes\nnone,ann,\n")
    err = run("apply", "crowd.ec3", "new.csv", *OF_LONG)[2]
    assert "solved before" not in err
    assert "warning: 1 object has no vote, not even through others in the same groups" in err
    _, printed, err = run("apply", "crowd.ec3", "new.csv", *OF_LONG, "--out", "a.csv", "--json")
    facts = json.loads(printed)
    assert (facts["objects"], err) == (2, "Written: a.csv\n")
    assert facts["notes"][0].startswith("1 object has no vote")


def test_a_model_remembers_the_columns_of_soft_votes(folder, run):
    rows = "id,p,q,knn\n1,.9,.1,spam\n2,.2,.8,ham\n3,.6,.4,spam\n"
    Path("soft.csv").write_text(rows)
    words = ["-c", "knn", "--soft", "svm=spam:p,ham:q"]
    run("combine", "soft.csv", *words, "-m", "ec3", "--save", "soft.ec3", "--out", "old.csv")
    assert run("apply", "soft.ec3", "soft.csv", "--out", "new.csv")[::2] == (
        DONE,
        "Written: new.csv\n",
    )
    confidence = [[*map(float, column(name, "confidence"))] for name in ("new.csv", "old.csv")]
    assert confidence[0] == pytest.approx(confidence[1])


@pytest.mark.parametrize("clean", [True, False])
def test_labels_that_differ_only_in_spelling_may_be_one(folder, run, clean):
    Path("said.csv").write_text("a,b,gold\nYes,yes ,YES\nno,No,\ncaf\u00e9,cafe\u0301,\n")
    words = ["said.csv", "-c", "a,b", "-m", "majority", "--out", "answers.csv"]
    if clean:
        assert run("combine", *words, "--clean", "--known", "gold")[0] == DONE
        assert column("answers.csv") == ["yes", "no", "caf\u00e9"]
        assert column("answers.csv", "a") == ["Yes", "no", "caf\u00e9"]
    else:
        assert "6 classes" in run("combine", *words)[1]


@pytest.mark.parametrize("votes", ["parts", "parts/*.csv", "parts/day-[12].csv"])
def test_several_files_are_one_table(folder, run, votes):
    Path("parts").mkdir()
    frame = pl.read_csv("votes.csv", infer_schema=False)
    frame[:200].write_csv("parts/day-1.csv")
    frame[200:].select(frame.columns[::-1]).write_csv("parts/day-2.csv", separator=";")
    assert run("combine", votes, *VOTERS, "--known", "gold", "--out", "labels.csv")[0] == DONE
    run("combine", "votes.csv", *VOTERS, "--known", "gold", "--out", "expected.csv")
    assert Path("labels.csv").read_text() == Path("expected.csv").read_text()
    words = [votes, *VOTERS, "--out", "parts/day-1.csv", "--overwrite"]
    assert "out must not be a file that is read" in run("combine", *words)[2]
    frame.write_parquet("parts/day-3.parquet")
    if votes == "parts":
        code, _, err = run("combine", votes, *VOTERS)
        assert (code, err) == (
            WRONG_INPUT,
            "ec3learn: votes must be files of one format, got ['csv', 'parquet'].\n",
        )


def test_the_text_of_objects_is_shown_with_them(folder, run):
    frame = pl.read_csv("votes.csv").with_columns(body="text of " + pl.col("id"))
    frame.write_csv("texts.csv")
    words = ["texts.csv", *VOTERS[:2], "--text", "body"]
    for more in ([], ["--id", "id"]):
        run("combine", *words, *more, "--contested", "review.csv", "--overwrite")
        texts = dict(zip(frame["id"], frame["body"], strict=True))
        names = [frame["id"][int(i)] if not more else i for i in column("review.csv", "object")]
        assert column("review.csv", "body") == [texts[name] for name in names]
    asked = json.loads(run("ask", *words, "--id", "id", "-n", 3, "--json")[1])
    assert [row["body"] for row in asked] == [f"text of {row['object']}" for row in asked]
    assert "text of mail-" in run("ask", *words, "-n", 3)[1]
    run("combine", *words, "--report", "report.html")
    assert Path("report.html").read_text("utf-8").count("text of mail-") > 100


def test_voters_are_written_and_left_out(crowd, run):
    assert run("voters", "crowd.csv", *OF_LONG, "--out", "voters.csv")[0] == DONE
    names = column("voters.csv", "model")
    listed = json.loads(run("voters", "crowd.csv", *OF_LONG, "--json")[1])
    assert names == [row["model"] for row in listed]
    rest = json.loads(run("voters", "crowd.csv", *OF_LONG, "--exclude", names[0], "--json")[1])
    assert {row["model"] for row in rest} == {*names[1:]}
    Path("wide.csv").write_text("a,b,c\nx,y,y\ny,y,x\n")
    rest = json.loads(run("voters", "wide.csv", "-c", "*", "--exclude", "b", "--json")[1])
    assert {row["model"] for row in rest} == {"a", "c"}
    _, _, err = run("combine", "wide.csv", "-c", "*", "--exclude", "d")
    assert err.startswith("ec3learn: Unknown exclude 'd'. Choose from: a, b, c.")


def test_columns_that_a_model_lacks_are_told(folder, run):
    run("combine", "votes.csv", *VOTERS, "--save", "mails.ec3")
    pl.read_csv("votes.csv").drop("svm").write_csv("less.csv")
    _, _, err = run("apply", "mails.ec3", "less.csv")
    assert (
        err
        == "ec3learn: warning: The table has no column for 1 base model of the consensus; treated as missing: ['svm'].\n"
    )


def test_explain_adds_up_to_the_answer_that_combine_gives(folder, run):
    run("combine", "votes.csv", *VOTERS, "--known", "gold", "--out", "labels.csv")
    words = ["explain", "votes.csv", *VOTERS, "--known", "gold", "--json"]
    by_row = json.loads(run(*words, "--object", "17")[1])
    by_name = json.loads(run(*words, "--object", "mail-17", "--id", "id")[1])
    assert by_row["proba"] == by_name["proba"]
    assert by_row["label"] == column("labels.csv")[17]
    assert max(by_row["proba"].values()) == pytest.approx(
        float(column("labels.csv", "confidence")[17])
    )
    given = sum(part[f"to {by_row['label']}"] for part in by_row["by_model"])
    assert given == pytest.approx(by_row["proba"][by_row["label"]])


def test_voters_come_from_votes_or_from_a_model(folder, run):
    run("combine", "votes.csv", *VOTERS, "--save", "mails.ec3")
    assert run("voters", "votes.csv", *VOTERS) == run("voters", "mails.ec3")
    assert len(json.loads(run("voters", "mails.ec3", "--json")[1])) == 7


# ---- the others ----------------------------------------------------------------------------------


def test_methods_are_listed(run):
    assert re.search("^dawid-skene +Combine voters by Dawid-Skene", run("methods")[1], flags=re.M)
    listed = {row["method"]: row for row in json.loads(run("methods", "--json")[1])}
    assert listed["majority"] == {
        "method": "majority",
        "what": "Take the class most classifiers voted for",
        "set": {},
    }
    assert len({row["what"] for row in listed.values()}) == len(listed)


def test_parameters_are_listed_as_they_are_set(folder, run):
    out = run("methods")[1]
    said = dict(re.findall(r"^(\S+) .*((?:\n +\S+=.*)*)", out, flags=re.M))
    assert {name: len(words.split()) for name, words in said.items()} == {
        row["method"]: len(row["set"]) for row in json.loads(run("methods", "--json")[1])
    }
    for name, words in said.items():
        given = [word for pair in words.split() for word in ("--set", pair)]
        code, out, err = run(
            "combine", "votes.csv", "-c", "svm,tree", "-k", "kmeans", "-m", name, *given
        )
        assert code == DONE, err
        assert out == run("combine", "votes.csv", "-c", "svm,tree", "-k", "kmeans", "-m", name)[1]


def test_the_demo_beats_the_majority_vote(run):
    right = dict(re.findall(r"^(.+?)  +(0\.\d+)", run("demo")[1], flags=re.M))
    assert float(right["iEC3"]) > float(right["majority vote"])


def test_the_version_is_shown(run):
    assert run("--version") == (DONE, "ec3learn 0.1.0.dev0\n", "")


def test_without_arguments_there_is_the_help_and_no_complaint(run):
    code, shown, complaint = run()
    assert (code, complaint) == (DONE, "") and "Usage: ec3learn" in shown


def test_an_argument_too_many_is_refused_where_no_option_takes_names(run):
    assert run("demo", "x") == (
        WRONG_INPUT,
        "",
        "ec3learn: Got unexpected extra argument (x). See: ec3learn demo --help.\n",
    )


def test_the_help_alone_loads_nothing_heavy():
    heavy = "{'numpy', 'duckdb', 'sklearn'}"
    program = f"import sys; from ec3learn.cli import main; main(['--help']); print({heavy} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("set()\n")


# ---- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("combine nothing.csv -c svm", "nothing.csv: No such file or directory."),
        (
            "combine votes.csv -c svn",
            "classifiers must name a column of the table, got 'svn'. Did you mean 'svm'?",
        ),
        (
            "combine votes.csv",
            "classifiers must name at least one column, and of a long table the one column of labels, got []. The columns are ['id', 'svm', 'tree', ",
        ),
        (
            "estimate votes.csv -c svm --known glod",
            "known must name a column of the table, got 'glod'. Did you mean 'gold'?",
        ),
        ("estimate votes.csv -c svm --known gold.csv", "gold.csv: No such file or directory."),
        (
            "combine votes.csv -c svm -m ec4",
            "Unknown method 'ec4'. Did you mean 'ec3'? Choose from: auto, ec3, iec3,",
        ),
        (
            "combine votes.csv -c svm -m iec3 --set alfa=1",
            "Unknown parameter 'alfa' of iec3. Did you mean 'alpha'? Choose from: alpha,",
        ),
        ("combine votes.csv -c svm --set alpha", "settings must be NAME=VALUE, got 'alpha'."),
        (
            "combine votes.csv -c svm -m iec3 --set alpha=-1",
            "alpha must be a finite number >= 0, got -1.",
        ),
        (
            "combine votes.csv -c svm --memory lots",
            "memory must be a size such as '800MB' or '4GB', got 'lots'.",
        ),
        (
            "combine votes.csv -c svm --out nowhere/x.csv",
            "out must lie in a folder that exists, got nowhere/x.csv.",
        ),
        (
            "combine votes.csv -c svm --out votes.csv",
            "votes.csv exists already. Pass overwrite=True to replace it.",
        ),
        (
            "combine votes.csv -c svm --out x.doc",
            "The format of 'x.doc' is not known. Pass out_format: csv,",
        ),
        (
            "combine votes.csv --soft lr=a:svm,b:tree",
            "votes.csv must hold numbers where probabilities are, got 'news'.",
        ),
        ("combine . -c svm", "votes must be files of one format, got ['csv', 'parquet']."),
        (
            "combine votes.csv -c svm --n-contested -1 --out x.csv",
            "Invalid value for '--n-contested': -1 is not in the range x>=0.",
        ),
        ("combine votes.csv -c svm --max-rows x", "Invalid value for '--max-rows': "),
        (
            "agreement votes.csv -c svm",
            "classifiers must have at least two voters to compare, got one.",
        ),
        (
            "combine many.csv -c id",
            "classifiers must hold labels of classes, got 1,200 different ones in 1,200 votes.",
        ),
        (
            "apply votes.csv votes.csv",
            "votes.csv is not a consensus that this version of ec3learn can load: ",
        ),
        (
            "explain votes.csv --object 600 -c svm",
            "i must be the number of an object, from 0 to 599, got 600.",
        ),
        (
            f"explain votes.csv --object {10**50} -c svm",
            "i must be the number of an object, from 0 to 599, got",
        ),
        (
            "explain votes.csv --object x --id id -c svm",
            "Unknown object 'x'. The first objects are ['mail-0', 'mail-1',",
        ),
        ("combine votes.csv --outt x", "No such option"),
        ("combien", "No such command 'combien'. Did you mean 'combine'?"),
        (
            "combine mails.ec3 -c svm",
            "The format of 'mails.ec3' is not known. It is a saved consensus: pass a table, or use voters or apply.",
        ),
        (
            "voters mails.ec3 --known gold",
            "known must be left out for a saved consensus, which does not hold the votes.",
        ),
        (
            "combine empty.csv -c a,b",
            "classifiers must hold at least one vote, got only missing ones. (option --classifiers)\n",
        ),
        (
            "combine votes.csv -c svm --out-format csv",
            "out_format needs a file to write, out, got none.",
        ),
        (
            "combine votes.csv -c svm --per-object",
            "per_object needs a file to write, out, got none.",
        ),
        (
            "combine votes.csv -c svm --repeats last",
            "repeats='last' is for a long table, with one row per vote.",
        ),
        ("combine votes.csv -c svm --memory=-1GB", "memory must be a size such as '800MB'"),
        (
            "compare votes.csv -c svm,tree --methods ''",
            "methods must name at least one method, got none.",
        ),
        (
            "demo --votes nowhere/x.csv",
            "votes must lie in a folder that exists, got nowhere/x.csv.",
        ),
        ("combine", "Missing argument 'VOTES'."),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(folder, run, words, sentence):
    pl.DataFrame({"p": [f"{i / 50:.3f}" for i in range(1, 51)]}).write_csv("numbers.csv")
    pl.DataFrame({"id": [f"x{i}" for i in range(1200)]}).write_csv("many.csv")
    Path("empty.csv").write_text("id,a,b\n1,,\n")
    Path("mails.ec3").touch()
    code, out, err = run(*shlex.split(words))
    assert code == WRONG_INPUT
    assert err.startswith(f"ec3learn: {sentence}")
    assert err.count("\n") == 1 and re.search(r"[.?]( \(option --[a-z-]+\))?\n$", err)
    assert not out and not Path("x.csv").exists()


def test_numbers_that_json_does_not_have_are_null(folder, run):
    Path("apart.csv").write_text("a,b\nx,\n,y\n")
    code, printed, _ = run("agreement", "apart.csv", "-c", "a,b", "--json")
    assert code == DONE
    assert "NaN" not in printed and json.loads(printed)["measures"][0]["value"] is None


def test_the_votes_of_the_demo_can_be_written_again(folder, run):
    Path("votes.csv").write_text("precious")
    assert run("demo", "--votes", "votes.csv")[0] == WRONG_INPUT
    assert Path("votes.csv").read_text() == "precious"
    assert run("demo", "--votes", "votes.csv", "--overwrite")[0] == DONE
    assert len(records("votes.csv")) == 601


@pytest.mark.posix
@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read and write everything")
def test_a_file_that_may_not_be_read_or_written_is_told(folder, run):
    Path("votes.csv").chmod(0)
    assert (
        run("combine", "votes.csv", "-c", "svm")[2] == "ec3learn: votes.csv: Permission denied.\n"
    )
    folder.chmod(0o500)
    assert "Permission denied." in run("combine", "votes.parquet", "-c", "svm", "--out", "x.csv")[2]
    folder.chmod(0o700)


def test_a_bug_of_ours_is_told_as_such(folder, run, monkeypatch):
    monkeypatch.setattr("ec3learn.consensus.Consensus.summary", lambda *_, **__: {}["lost"])
    code, _, err = run("combine", "votes.csv", "-c", "svm")
    assert code == INTERNAL_ERROR
    assert (
        err
        == "ec3learn: Internal error (KeyError: 'lost'). Rerun with --debug and report the traceback.\n"
    )
    with pytest.raises(KeyError):
        run("combine", "votes.csv", "-c", "svm", "--debug")


def test_an_interrupt_is_quiet(folder, run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("ec3learn.consensus.Consensus.summary", interrupted)
    assert run("combine", "votes.csv", "-c", "svm", "--out", "x.csv") == (INTERRUPTED, "", "\n")
    assert sorted(os.listdir()) == ["votes.csv", "votes.parquet"]


@pytest.mark.posix
def test_nobody_reading_on_is_quiet(folder):
    command = f"{sys.executable} -m ec3learn combine votes.csv -c svm --out - --proba | head -n 0"
    done = subprocess.run(
        ["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 141)


@pytest.mark.posix
@pytest.mark.parametrize("told", [signal.SIGSEGV, signal.SIGKILL])
def test_a_crash_leaves_nothing_behind(folder, told):
    program = (
        "import os, time; from ec3learn.tables.formats import workspace\n"
        f"with workspace('out.csv'): os.kill(os.getpid(), {int(told)}); time.sleep(9)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == -told
    for _ in range(500):
        if not any(name.startswith(".ec3learn-") for name in os.listdir()):
            return
        time.sleep(0.02)
    raise AssertionError(os.listdir())


@pytest.mark.posix
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", None)])
def test_a_run_that_is_told_to_end_leaves_nothing_behind(folder, told):
    os.mkfifo("pipe.csv")
    command = [
        sys.executable,
        "-m",
        "ec3learn",
        "combine",
        "pipe.csv",
        "-c",
        "svm",
        "--out",
        "out.csv",
    ]
    as_usual = partial(
        signal.signal, told, signal.SIG_DFL
    )  # where the tests run under nohup, SIGHUP is ignored
    with (
        subprocess.Popen(command, preexec_fn=as_usual) as process,
        open("pipe.csv", "wb"),
    ):  # for which it waits in vain
        while not any(name.startswith(".ec3learn-") for name in os.listdir()):
            time.sleep(0.02)
        process.send_signal(told)
        assert process.wait(20) == 128 + told
    assert not any(name.startswith(".ec3learn-") for name in os.listdir())


@pytest.mark.parametrize(
    "words",
    [
        "ask votes.csv -c svm,tree --out votes.csv",
        "ask votes.csv -c svm,tree --id id --known votes.csv:gold --out votes.csv",
        "combine long.csv --objects id --voters voter -c vote --per-object --out long.csv",
    ],
)
def test_an_output_without_the_votes_cannot_replace_them(folder, run, words):
    Path("long.csv").write_text("id,voter,vote\n1,ann,a\n1,bob,a\n2,ann,b\n", encoding="utf-8")
    out = words.split()[-1]
    before = Path(out).read_bytes()
    code, _, err = run(*words.split(), "--overwrite")
    assert (code, err) == (
        WRONG_INPUT,
        f"ec3learn: out must not be a file that is read, got '{out}'. (option --out)\n",
    )
    assert Path(out).read_bytes() == before


@pytest.mark.posix
@pytest.mark.parametrize("option", ["--save", "--report", "--contested"])
def test_an_output_beside_the_answers_cannot_replace_the_input(folder, run, option):
    before = Path("votes.csv").read_bytes()
    code, _, err = run("combine", "votes.csv", *VOTERS, option, "votes.csv", "--overwrite")
    assert (code, err) == (
        WRONG_INPUT,
        f"ec3learn: {option[2:]} must not be a file that is read, got 'votes.csv'. (option {option})\n",
    )
    assert Path("votes.csv").read_bytes() == before


@pytest.mark.parametrize("option", ["--save", "--report"])
def test_what_is_no_table_is_not_written_to_standard_output(folder, run, option):
    code, _, err = run("combine", "votes.csv", "-c", "svm", option, "-")
    assert (code, err) == (
        WRONG_INPUT,
        f"ec3learn: {option[2:]} must be a file: standard output is for tables, got '-'. (option {option})\n",
    )
    assert not Path("-").exists()


@pytest.mark.posix
@pytest.mark.parametrize("option", ["--out", "--save", "--report"])
def test_every_output_follows_links_keeps_modes_and_writes_to_pipes(folder, run, option):
    Path("real.csv").touch(0o600)
    Path("link.csv").symlink_to("real.csv")
    assert (
        run("combine", "votes.csv", "-c", "svm", option, "link.csv", "--overwrite", "-q")[0] == DONE
    )
    assert Path("link.csv").is_symlink()
    assert Path("real.csv").stat().st_mode & 0o777 == 0o600
    assert Path("real.csv").stat().st_size > 100
    os.mkfifo("pipe.csv")
    with ThreadPoolExecutor() as pool:
        read = pool.submit(Path("pipe.csv").read_bytes)
        assert run("combine", "votes.csv", "-c", "svm", option, "pipe.csv", "-q")[0] == DONE
        assert len(read.result(20)) > 100
    assert Path("pipe.csv").is_fifo()


HOSTILE = "\x1b[31m\x07\u202e\u2066\x9b"
COMMANDS_OF_HOSTILE = {
    "combine": ["--id", "id"],
    "explain": ["--id", "id", "--object", f"{HOSTILE}0"],
    "explain nothing": ["--id", "id", "--object", f"{HOSTILE}nothing"],
    "compare": ["--methods", "majority,iec3"],
    "combine a file that is not there": [],
    "combine columns that are not there": ["--known", HOSTILE],
}


@pytest.mark.parametrize(
    ("library", "sentence"),
    [
        ("duckdb", "The command ec3learn needs duckdb: pip install 'ec3learn[cli]'."),
        ("pyarrow", "The command ec3learn needs pyarrow: pip install 'ec3learn[cli]'."),
        ("jinja2", "A report needs jinja2: pip install 'ec3learn[report]'."),
    ],
)
def test_a_library_that_is_not_installed_is_named_before_anything_is_written(
    folder, library, sentence
):
    words = ["combine", "votes.csv", *VOTERS, "--out", "x.csv", "--report", "x.html"]
    program = f"import sys; sys.modules[{library!r}] = None; from ec3learn.cli import main; sys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (
        WRONG_INPUT,
        "",
        f"ec3learn: {sentence}\n",
    )
    assert not Path("x.csv").exists()


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("case", COMMANDS_OF_HOSTILE)
def test_nothing_from_outside_reaches_the_terminal_raw(folder, run, case, as_json):
    said = [
        [f"{HOSTILE}{i}", f"{HOSTILE}{'ab'[i % 2]}", f"{HOSTILE}{'aab'[i % 3]}"] for i in range(12)
    ]
    pl.DataFrame(said, schema=["id", f"{HOSTILE}v", "w"], orient="row").write_csv(f"{HOSTILE}.csv")
    path = f"{HOSTILE}{' ' if 'file' in case else ''}.csv"
    command, options = case.split()[0], COMMANDS_OF_HOSTILE[case]
    _, out, err = run(
        command, path, "-c", f"{HOSTILE}v,w", *options, *(["--json"] if as_json else [])
    )
    assert not UNSHOWN.search((out + err).replace("\n", ""))
    assert out or err
    if as_json and out:
        assert json.dumps(HOSTILE)[1:-1] in json.dumps(json.loads(out)) or case == "compare"


@pytest.mark.posix
@pytest.mark.parametrize(
    "name",
    ["it's \"x\\y'.csv", "x\\'.csv", "a\nb.csv", "\\u.csv", "[x].csv", "*?.csv", "{x}%s.csv"],
)
def test_any_name_of_a_file_is_read_written_and_told(folder, run, name):
    Path("votes.csv").rename(name)
    assert run("combine", name, "-c", "svm", "--out", name, "--overwrite", "-q")[0] == DONE
    shown = name.replace("\n", "⏎")
    assert run("combine", name, "-c", "svm", "--out", name)[2].startswith(
        f"ec3learn: {shown} exists already. Pass overwrite=True"
    )
    assert (
        run("combine", f"{name}.csv", "-c", "svm")[2]
        == f"ec3learn: {shown}.csv: No such file or directory.\n"
    )
    assert (
        f"ec3learn: {shown} is not a consensus that this version"
        in run("apply", name, "votes.parquet")[2]
    )


def test_without_its_packages_the_command_tells_how_to_get_them(run, monkeypatch):
    monkeypatch.delitem(sys.modules, "ec3learn.cli.app")
    monkeypatch.setitem(sys.modules, "click", None)
    monkeypatch.delattr("ec3learn.cli.app")
    for name in [name for name in sys.modules if name.startswith("ec3learn.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    assert run("methods") == (
        WRONG_INPUT,
        "",
        "ec3learn: The command ec3learn needs click: pip install 'ec3learn[cli]'.\n",
    )


def test_what_the_encoding_of_standard_output_cannot_hold_is_escaped(folder):
    Path("accents.csv").write_text("a,b\né,é\nx,é\n", encoding="utf-8")
    words = [sys.executable, "-m", "ec3learn", "combine", "accents.csv", "-c", "a,b"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == DONE
    assert "\\xe9" in done.stdout


# ---- what the pages and the help show runs -------------------------------------------------------


def examples():
    """The examples in the help of each command."""
    for name, command in app.commands.items():
        for line in re.findall(r"^ +((?:cat |ec3learn ).*)$", command.epilog, flags=re.M):
            yield pytest.param(line, id=f"{name}: {line}")


def shell(script, folder):
    """Run a script in which `ec3learn` is the one under test."""
    function = f'ec3learn() {{ "{sys.executable}" -m ec3learn "$@"; }}\nset -eu -o pipefail\n'
    return subprocess.run(
        ["bash", "-c", function + script], cwd=folder, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def examples_folder(tmp_path_factory):
    """The files that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    frame = pl.DataFrame(dict(demo_votes().columns))
    frame.rename({"svm": "clf_svm", "tree": "clf_tree", "kmeans": "km_5"}).write_parquet(
        folder / "votes.parquet"
    )
    frame.write_csv(folder / "new.csv")
    frame.write_parquet(folder / "new.parquet")
    rows = [
        (row["id"], name, row[name])
        for row in demo_votes().rows()
        for name in ("svm", "tree", "knn")
    ]
    pl.DataFrame(rows, schema=["task", "worker", "answer"], orient="row").write_csv(
        folder / "answers.csv"
    )
    frame.select(pl.col("id").alias("task"), "truth").write_csv(folder / "truth.csv")
    write_scores(folder)
    return folder


def write_draw(folder):
    """Draw 40 mails, and fill in what they are."""
    words = ["-c", "svm,tree,bayes", "--id", "id", "--goal", "share", "-n", "40"]
    main(["ask", str(folder / "votes.csv"), *words, "--out", str(folder / "draw.csv")])
    drawn = pl.read_csv(folder / "draw.csv").drop("label")
    truth = pl.read_csv(folder / "votes.csv").select("id", label="truth")
    drawn.join(truth, on="id").write_csv(folder / "draw.csv")


def write_scores(folder):
    """Write the scores of six judges on 200 answers, and what people think of 40 that were drawn at random."""
    rng = np.random.default_rng(0)
    good = rng.random(200) < 0.7
    scores = {
        f"judge_{j}": np.clip(
            np.round(3 + 1.2 * (2 * good - 1) + rng.normal(size=200)), 1, 5
        ).astype(int)
        for j in range(6)
    }
    names = [f"answer {i}" for i in range(200)]
    pl.DataFrame({"id": names, **scores}).write_csv(folder / "scores.csv")
    words = ["scores.csv", "-c", "judge_*", "--classes", "bad,good", "--scale", "1-5", "--id", "id"]
    words = [str(folder / word) if word.endswith(".csv") else word for word in words]
    assert (
        main(["ask", *words, "--goal", "share", "-n", "40", "--out", str(folder / "draw.csv")])
        == DONE
    )
    drawn = column(folder / "draw.csv", "id")
    people = ["good" if good[names.index(name)] else "bad" for name in drawn]
    pl.DataFrame({"id": drawn, "label": people}).write_csv(folder / "people.csv")
    return words, float(good.mean())


@pytest.mark.parametrize("line", list(examples()))
def test_an_example_of_the_help_runs(examples_folder, line):
    for name in ("labels.csv", "votes.csv", "mails.ec3", "review.csv", "draw.csv"):
        (examples_folder / name).unlink(missing_ok=True)
    if "demo" not in line:
        write_demo(examples_folder / "votes.csv")
    if "draw.csv" in line and "--out" not in line:
        write_draw(examples_folder)
    if "mails.ec3" in line and "--save" not in line:
        main(
            [
                "combine",
                str(examples_folder / "votes.csv"),
                *VOTERS,
                "--save",
                str(examples_folder / "mails.ec3"),
            ]
        )
    done = shell(line, examples_folder)
    assert done.returncode == 0, done.stderr


def test_the_page_about_the_command_runs(tmp_path):
    page = (ROOT / "docs" / "command-line.md").read_text()
    done = shell("\n".join(re.findall(r"```console\n(.*?)```", page, flags=re.S)), tmp_path)
    assert done.returncode == 0, done.stderr


# ---- what objects are called, and where outputs go -----------------------------------------------


def test_the_report_calls_objects_by_their_row_or_by_a_column(folder, run):
    pl.read_csv("votes.csv").with_columns(
        pl.format("mail <{}>", pl.int_range(pl.len())).alias("name")
    ).write_csv("named.csv")
    for words, first in (((), "{}"), (("--id", "name"), "mail &lt;{}&gt;")):
        assert (
            run("combine", "named.csv", *VOTERS, "--report", "report.html", "--overwrite", *words)[
                0
            ]
            == DONE
        )
        page = Path("report.html").read_text(encoding="utf-8")
        votes = votes_from(pl.read_csv("votes.csv"), **ALL_VOTERS)
        contested = [row["object"] for row in Panel().solve(votes).contested(5).rows()]
        assert all(f">{first.format(row)}<" in page for row in contested)
    assert run("combine", "named.csv", *VOTERS, "--id", "nam", "--report", "x.html")[2].startswith(
        "ec3learn: id must name a column of the table, got 'nam'."
    )


def test_outputs_are_checked_before_anything_is_written(folder, run):
    code, _, complaint = run(
        "combine", "votes.csv", *VOTERS, "--out", "new.csv", "--report", "nowhere/report.html"
    )
    assert code == WRONG_INPUT
    assert complaint.startswith(
        "ec3learn: report must lie in a folder that exists, got nowhere/report.html."
    )
    code, _, complaint = run(
        "combine", "votes.csv", *VOTERS, "--save", "x.html", "--report", "x.html"
    )
    assert code == WRONG_INPUT
    assert complaint == "ec3learn: save and report must name different files. (option --save)\n"
    assert sorted(os.listdir()) == ["votes.csv", "votes.parquet"]


def test_known_labels_of_a_long_table_are_hidden_by_object(folder, run):
    rng = np.random.default_rng(0)
    truth = rng.choice(["yes", "no"], 120)
    rows = [
        {
            "task": f"t{i}",
            "worker": f"w{j}",
            "answer": truth[i] if rng.random() < 0.8 else "no",
            "gold": truth[i] if i < 60 else None,
        }
        for i in rng.permutation(120)
        for j in range(5)
    ]
    pl.DataFrame(rows).write_csv("long.csv")
    code, printed, _ = run(
        "combine",
        "long.csv",
        "--objects",
        "task",
        "--voters",
        "worker",
        "-c",
        "answer",
        "--known",
        "gold",
        "--json",
    )
    assert code == DONE
    held_out = json.loads(printed)["held_out"]
    assert held_out["labels"] == 60
    assert held_out["consensus"] > 0.8


# ---- one row per object, contested objects, and labels in files of their own ---------------------


LONG_TABLE = """task,worker,answer,gold
q2,ann,yes,yes
q1,ann,yes,
q1,bob,no,
q1,cy,yes,no
q2,bob,yes,
q3,cy,no,
"""
OF_LONG = ["--objects", "task", "--voters", "worker", "-c", "answer"]


@pytest.fixture
def crowd(folder):
    Path("crowd.csv").write_text(LONG_TABLE)
    return folder


@pytest.mark.parametrize("words", [(), ("--max-rows", 2)])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_long_table_comes_back_with_one_row_per_object(crowd, run, ending, words):
    how = ["-m", "majority", "--out", "labels.csv", "--per-object"]
    pl.read_csv("crowd.csv").write_parquet("crowd.parquet")
    pl.read_csv("crowd.csv").write_ndjson("crowd.jsonl")
    assert run("combine", f"crowd.{ending}", *OF_LONG, *how, *words)[0] == DONE
    assert [row[:2] for row in records("labels.csv")] == [
        ["task", "consensus"],
        ["q2", "yes"],
        ["q1", "yes"],
        ["q3", "no"],
    ]


def test_a_model_answers_with_one_row_per_object_too(crowd, run):
    run("combine", "crowd.csv", *OF_LONG, "-m", "majority", "--save", "crowd.ec3")
    code, printed, _ = run("apply", "crowd.ec3", "crowd.csv", *OF_LONG, "--per-object")
    assert (code, printed.splitlines()[0], len(printed.splitlines())) == (
        DONE,
        "task,consensus,confidence",
        4,
    )


def test_one_row_per_object_needs_a_long_table(folder, run):
    code, _, err = run("combine", "votes.csv", *VOTERS, "--per-object", "--out", "labels.csv")
    assert code == WRONG_INPUT
    assert (
        err
        == "ec3learn: per_object is for a long table, with one row per vote. Leave it out, or pass objects and voters. (option --per-object)\n"
    )
    assert not Path("labels.csv").exists()


def test_contested_objects_are_written_and_printed_for_machines(folder, run):
    words = ["--id", "id", "--n-contested", 7, "--contested", "review.csv", "--json"]
    facts = json.loads(run("combine", "votes.csv", *VOTERS, *words)[1])
    expected = Panel().solve(votes_from(pl.read_csv("votes.csv"), **ALL_VOTERS)).contested(7)
    assert column("review.csv", "object") == [f"mail-{row}" for row in expected["object"]]
    assert column("review.csv", "why") == expected["why"]
    assert [row["object"] for row in facts["most_contested"]] == column("review.csv", "object")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_known_labels_in_a_file_are_those_of_a_column(folder, run, ending):
    frame = pl.read_csv("votes.csv")
    frame.select("id", "gold").drop_nulls().sample(fraction=1, shuffle=True, seed=0).write_csv(
        "gold.csv"
    )
    frame.select("gold", "svm", "id").write_parquet("more.parquet")
    for known in ("gold", "gold.csv", "more.parquet:gold"):
        out = f"{known[:4]}-{len(known)}.csv"
        words = ["--known", known, "--id", "id", "--proba", "--out", out]
        assert run("combine", f"votes.{ending}", *VOTERS, *words)[0] == DONE
        assert records(out) == records("gold-4.csv")


def test_known_labels_may_be_in_several_files(folder, run):
    gold = pl.read_csv("votes.csv").select("id", "gold").drop_nulls()
    gold.head(40).write_csv("first.csv")
    gold.tail(30).write_parquet("second.parquet")
    files = ["--known", "first.csv", "--known", "second.parquet:gold", "--id", "id"]
    for method in ("auto", "stacked"):
        for known, out in (files, "files.csv"), (["--known", "gold"], "column.csv"):
            words = ["-m", method, *known, "--proba", "--out", out, "--overwrite"]
            assert run("combine", "votes.csv", *VOTERS, *words)[0] == DONE
        assert records("files.csv") == records("column.csv")


@pytest.mark.parametrize("shares", [["ham=.2,news=.1"], ["ham=.2", "news=.1"]])
def test_shares_of_classes_that_are_known_otherwise_are_those_of_the_answer(folder, run, shares):
    words = [word for share in shares for word in ("--class-prior", share)]
    run("combine", "votes.csv", *VOTERS, *words, "--proba", "--out", "a.csv")
    means = {
        label: np.mean([float(p) for p in column("a.csv", f"proba_{label}")])
        for label in ("ham", "news", "spam")
    }
    assert means == pytest.approx({"ham": 0.2, "news": 0.1, "spam": 0.7}, abs=1e-4)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--class-prior ham", "class_prior must be CLASS=SHARE, got 'ham'."),
        (
            "--class-prior ham=few",
            "class_prior must be CLASS=SHARE with a number, got ham=few.",
        ),
        (
            "--class-prior ham=.9,news=.9",
            "class_prior must have shares above 0 that sum to 1 at most, got {'ham': 0.9",
        ),
        ("--class-prior hem=.1", "Unknown class 'hem' in class_prior. Did you mean 'ham'?"),
        (
            "-m ec3 --class-prior ham=.1",
            "EC3 does not support class_prior. Leave class_prior out, or take method='auto'.",
        ),
    ],
)
def test_wrong_shares_of_classes_are_one_line(folder, run, words, sentence):
    code, _, err = run("combine", "votes.csv", *VOTERS, *words.split())
    assert code == WRONG_INPUT
    assert err.startswith(f"ec3learn: {sentence}")


def test_true_labels_judge_the_answer_and_are_not_seen_by_the_method(folder, run):
    pl.read_csv("votes.csv").select("id", "truth").write_csv("truth.csv")
    plain = json.loads(run("combine", "votes.csv", *VOTERS, "--known", "gold", "--json")[1])
    for truth in ("truth", "truth.csv"):
        words = ["--known", "gold", "--truth", truth, "--id", "id", "--report", f"{truth}.html"]
        facts = json.loads(run("combine", "votes.csv", *VOTERS, *words, "--json")[1])
        assert facts["judged"]["labels"] == 540
        assert (
            0.7
            < facts["judged"]["interval"][0]
            < facts["judged"]["consensus"]
            < facts["judged"]["interval"][1]
        )
        shares = [[row["share"] for row in each["classes"]] for each in (facts, plain)]
        assert shares[0] == shares[1]
        assert "Judged by the held-out labels of 540 objects" in Path(f"{truth}.html").read_text(
            encoding="utf-8"
        )
    frame = pl.read_csv("votes.csv")
    votes = votes_from(frame, **ALL_VOTERS)
    right = (solve(votes, known=frame["gold"]).labels() == frame["truth"].to_numpy())[
        frame["gold"].is_null().to_numpy()
    ]
    assert facts["judged"]["consensus"] == pytest.approx(right.mean())
    assert (
        "Judged by 540 true labels: "
        in run("combine", "votes.csv", *VOTERS, "--known", "gold", "--truth", "truth")[1]
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "votes.csv --known gold.csv",
            "known must be a file with a column 'object' and one column of labels, got ['id', 'gold'] in gold.csv. Write gold.csv:COLUMN to choose one of several columns, or pass id.",
        ),
        (
            "votes.csv --known votes.csv --id id",
            "known must be a file with a column 'id' and one column of labels, got ['id', 'svm', 'tree', 'bayes', 'knn', "
            "'rules', 'kmeans', 'dbscan', 'gold', 'truth'] in votes.csv. Write votes.csv:COLUMN to choose one of",
        ),
        (
            "votes.csv --truth strange.csv --id id",
            "truth must have labels of objects of the table, those in column 'id', got labels of ['x9'",
        ),
        (
            "votes.csv --known none.csv --id id",
            "known must have labels of objects of the table, those in column 'id', got no label in none.csv.",
        ),
        (
            "votes.csv --known twice.csv --id id",
            "known must give an object one label, got 'ham' and 'spam' for 'mail-0' in twice.csv.",
        ),
        (
            "votes.csv --truth eggs.csv --id id",
            "truth must hold classes, ['ham', 'news', 'spam'], got 'eggs' for object 0. Pass classes=[...] to name classes that "
            "nobody voted for.",
        ),
        (
            "votes.csv --known gold --truth gold",
            "known and truth must name different columns, got",
        ),
        (
            "votes.csv --known gold.csv --known other.csv --id id",
            "known must give an object one label, got 'ham' and 'news' for 'mail-0' in gold.csv, other.csv.",
        ),
        (
            "numbers.parquet --known gold.csv --id id",
            "known must hold classes, [0, 1, 2], got '",
        ),
    ],
)
def test_wrong_labels_in_files_are_one_line(folder, run, words, sentence):
    pl.read_csv("votes.csv").select("id", "gold").drop_nulls().write_csv("gold.csv")
    codes = {"ham": 0, "news": 1, "spam": 2}
    pl.read_csv("votes.csv").with_columns(
        pl.col(VOTERS[1].split(",")).replace_strict(codes)
    ).write_parquet("numbers.parquet")
    Path("strange.csv").write_text("id,label\nx9,ham\n")
    Path("none.csv").write_text("id,gold\nmail-0,\nmail-1,\n")
    Path("twice.csv").write_text("id,gold\nmail-0,ham\nmail-0,spam\n")
    Path("eggs.csv").write_text("id,gold\nmail-0,eggs\n")
    Path("other.csv").write_text("id,gold\nmail-0,ham\n")
    code, _, err = run("combine", *words.split(), *VOTERS)
    assert code == WRONG_INPUT
    assert err.startswith(f"ec3learn: {sentence}")


def test_labels_of_other_objects_are_counted(crowd, run):
    Path("gold.csv").write_text("task,label\nq1,no\nq9,yes\n")
    code, _, err = run("combine", "crowd.csv", *OF_LONG, "--known", "gold.csv")
    assert code == DONE
    assert (
        err
        == "ec3learn: warning: In gold.csv, 1 of 2 objects with a label could not be found in the table.\n"
    )


def test_quiet_prints_errors_alone(crowd, run):
    Path("gold.csv").write_text("task,label\nq1,no\nq9,yes\n")
    assert run(
        "combine", "crowd.csv", *OF_LONG, "--known", "gold.csv", "--out", "labels.csv", "-q"
    ) == (DONE, "", "")
    assert run("combine", "crowd.csv", *OF_LONG, "--known", "golt", "-q")[2].startswith(
        "ec3learn: known must name"
    )
    assert (
        json.loads(run("combine", "crowd.csv", *OF_LONG, "--known", "gold.csv", "-q", "--json")[1])[
            "objects"
        ]
        == 3
    )


# ---- compare -------------------------------------------------------------------------------------


def test_methods_are_compared_as_by_the_library(folder, run):
    words = [
        "--methods",
        "majority,dawid-skene",
        "--methods",
        "bgcm",
        "--known",
        "gold",
        "--id",
        "id",
    ]
    code, printed, _ = run("compare", "votes.csv", *VOTERS, *words, "--json")
    facts, frame = json.loads(printed), pl.read_csv("votes.csv")
    known = {i: label for i, label in enumerate(frame["gold"]) if label is not None}
    expected = compare(votes_from(frame, **ALL_VOTERS), known, ["majority", "dawid-skene", "bgcm"])
    assert code == DONE
    assert facts["note"] == expected.note
    assert {row["method"]: row["differs"] for row in facts["methods"]} == pytest.approx(
        dict(zip(expected["method"], expected["differs"], strict=True))
    )
    assert "of 540 objects without a known label" in run("compare", "votes.csv", *VOTERS, *words)[1]


def test_methods_are_compared_on_a_long_table_by_labels_in_a_file(crowd, run):
    Path("truth.csv").write_text("task,label\nq1,no\nq2,yes\nq3,no\n")
    words = ["--methods", "majority,soft-vote", "--truth", "truth.csv"]
    code, printed, _ = run("compare", "crowd.csv", *OF_LONG, *words)
    assert code == DONE
    assert "Judged by 3 true labels, with 95 % intervals." in printed
    assert "majority     0.000       0.889    0.667" in printed


# ---- one column, one role ------------------------------------------------------------------------


LONG = "combine answers.csv --objects question --voters worker -c answer"


def test_fast_leaves_the_diagnosis_out(folder, run):
    facts = json.loads(
        run("combine", "votes.csv", *VOTERS, "--known", "gold", "--json", "--fast")[1]
    )
    assert facts["held_out"] is None
    assert facts["objects"] == 600


def test_defaults_are_those_of_the_library():
    from ec3learn.tables.pipeline import MOST_ROWS

    defaults = {param.name: param.default for param in app.commands["combine"].params}
    assert defaults["max_rows"] == MOST_ROWS
    assert defaults["memory"] == MEMORY


def test_an_export_of_annotations_is_named_by_its_format(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    result = {
        "from_name": "mood",
        "to_name": "text",
        "type": "choices",
        "value": {"choices": ["good"]},
    }
    Path("export.json").write_text(
        json.dumps([{"id": 4, "annotations": [{"completed_by": 7, "result": [result]}]}])
    )
    long = ["--objects", "id", "--voters", "annotator", "-c", "mood"]
    _, out, _ = run(
        "combine",
        "export.json",
        *long,
        "--format",
        "label-studio",
        "--method",
        "majority",
        "--out",
        "-",
    )
    assert out == "id,annotator,mood,consensus,confidence\n4,7,good,good,1.0\n"
    assert "Pass format: csv" in run("combine", "export.json", *long)[2]


# ---- how far an answer can be trusted ------------------------------------------------------------


def test_agreement_is_that_of_the_library(folder, run):
    code, printed, _ = run("agreement", "votes.csv", *VOTERS[:2], "--known", "gold", "--json")
    assert code == DONE
    found = json.loads(printed)
    frame = pl.read_csv("votes.csv")
    votes = votes_from(frame, **{"classifiers": ALL_VOTERS["classifiers"]})
    assert found["measures"][0]["value"] == pytest.approx(agreement(votes, draws=0)["value"][0])
    assert found["pairs"] == list(kappas(votes).rows())
    correlation = error_correlation(votes, frame["gold"].to_list())
    assert found["by_labels"] and found["error_correlation"] == pytest.approx(correlation)
    assert found["effective_voters"] == pytest.approx(effective_voters(votes, correlation))
    without = json.loads(run("agreement", "votes.csv", *VOTERS[:2], "--json")[1])
    assert not without["by_labels"] and without["effective_voters"] == pytest.approx(
        effective_voters(votes)
    )
    printed = run("agreement", "votes.csv", *VOTERS[:2], "--known", "gold")[1]
    assert f"worth {found['effective_voters']:.1f} independent ones" in printed
    assert "Krippendorff's alpha" in printed
    assert "Cohen's kappa of two voters, the lowest first" in printed


def test_three_voters_show_nothing_of_the_errors_they_share_unless_labels_are_known(folder, run):
    few = "Fewer than 4 voters do not show how much their errors correlate; 20 known labels would."
    assert few in run("agreement", "votes.csv", "-c", "svm,tree,bayes")[1]
    assert (
        json.loads(run("agreement", "votes.csv", "-c", "svm,tree,bayes", "--json")[1])[
            "effective_voters"
        ]
        is None
    )
    pl.read_csv("votes.csv").with_columns(svm="truth", tree="truth").write_csv(
        "sure.csv"
    )  # 60 labels on a few distinct rows
    assert (
        "measured on known labels"
        in run("agreement", "sure.csv", "-c", "svm,tree", "--known", "gold")[1]
    )


def test_pairs_of_many_voters_are_cut_on_the_terminal(folder, run):
    rng = np.random.default_rng(0)
    pl.DataFrame({f"v{j}": rng.integers(2, size=30) for j in range(8)}).write_csv("many.csv")
    assert (
        "... and 8 more pairs; --json has them all" in run("agreement", "many.csv", "-c", "v*")[1]
    )


def test_voters_says_that_two_do_not_show_who_is_right(folder, run):
    printed = run("voters", "votes.csv", "-c", "svm,tree")[1]
    assert printed.endswith("tells whom the answer follows. Add a third voter, or pass known.\n")
    run("combine", "votes.csv", "-c", "svm,tree", "--save", "two.ec3")
    assert run("voters", "two.ec3")[1] == printed
    assert "Note" not in run("voters", "votes.csv", "-c", "svm,tree,bayes")[1]
    json.loads(run("voters", "two.ec3", "--json")[1])


def test_pairs_that_share_few_objects_come_last(folder, run):
    once = [1, 0] + [None] * 58  # disagrees with all, on two objects
    pl.DataFrame(
        {"a": [0, 1] * 30, "b": [0, 1] * 20 + [1, 0] * 10, "once": once, "c": [0, 1] * 30}
    ).write_csv("few.csv")
    printed = run("agreement", "few.csv", "-c", "a,b,c,once")[1]
    lines = printed.split(
        "Cohen's kappa of two voters, the lowest first, those with fewer than 30 common objects last"
    )[1].split("\n")
    assert [line.split()[:2] for line in lines[2:6]] == [
        ["a", "b"],
        ["b", "c"],
        ["a", "c"],
        ["a", "once"],
    ]
    assert "common objects last" not in run("agreement", "few.csv", "-c", "a,b,c")[1]


def test_votes_are_counted_and_scores_normalised_on_request(folder, run):
    Path("soft.csv").write_text("m_a,m_b,hard\n1,3,a\n2,2,b\n")
    how = ["-c", "hard", "--soft", "m=m_*", "-m", "soft-vote", "--counts", "--out", "out.csv"]
    code, _, told = run("combine", "soft.csv", *how)
    assert code == WRONG_INPUT and "Pass normalize=True" in told
    assert run("combine", "soft.csv", *how, "--normalize")[0] == DONE
    rows = pl.read_csv("out.csv").select("n_votes", "votes_a", "votes_b").rows()
    assert rows == [(2, 1.25, 0.75), (2, 0.5, 1.5)]


def test_the_note_on_voters_in_trouble_names_the_option_that_leaves_them_out(folder, run):
    good = ["a", "b"] * 20
    table = pl.DataFrame({"one": good, "two": good, "bad": good[::-1]})
    table.write_csv("bad.csv")
    printed = run("combine", "bad.csv", "-c", "one,two,bad", "-m", "majority")[1]
    assert "Worse than chance: bad." in printed and "Try it without them (--exclude)." in printed
    solved = MajorityVote().solve(Votes.from_labels(table))
    assert "Try it without them (votes.drop)." in str(solved.summary())


def test_names_that_rows_share_are_refused(folder, run):
    Path("same.csv").write_text("id,a,b\n7,x,x\n7,x,y\n8,y,y\n7,y,x\n")
    code, _, told = run("ask", "same.csv", "-c", "a,b", "--id", "id")
    assert code == WRONG_INPUT
    assert "id must name each row once, got '7' twice in column 'id'." in told


def test_a_missing_file_is_missing_whatever_its_name(folder, run):
    code, _, told = run("voters", "votes.odd", "-c", "svm")
    assert (code, told) == (WRONG_INPUT, "ec3learn: votes.odd: No such file or directory.\n")


def test_columns_of_ours_are_not_offered(folder, run):
    told = run("voters", "votes.csv", "-c", "svm,tree", "--known", "nowhere")[2]
    assert "must name a column of the table" in told and "__ec3learn" not in told


def test_objects_to_ask_about_are_rows_of_the_file(folder, run):
    code, printed, _ = run("ask", "votes.csv", *VOTERS[:2], "--id", "id", "-n", 7, "--json")
    assert code == DONE
    frame = pl.read_csv("votes.csv")
    votes = votes_from(frame, classifiers=ALL_VOTERS["classifiers"])
    expected = solve(votes).ask(7)
    asked = json.loads(printed)
    assert {row["object"] for row in asked} <= set(frame["id"])
    assert [row["gain"] for row in asked] == pytest.approx(expected["gain"], abs=0.002)


def test_a_draw_may_have_any_of_the_rows_that_are_alike(folder, run):
    pl.DataFrame({"a": [0] * 30 + [1], "b": [1] * 30 + [1], "c": [0] * 15 + [1] * 16}).write_csv(
        "alike.csv"
    )
    drawn = json.loads(
        run("ask", "alike.csv", "-c", "a,b,c", "--goal", "share", "-n", 20, "--json")[1]
    )
    assert len({row["object"] for row in drawn}) == 20
    assert sum(row["chance"] for row in drawn) > 10


def test_asking_a_long_table_names_its_objects(crowd, run):
    code, printed, _ = run("ask", "crowd.csv", *OF_LONG, "--goal", "vote", "-n", 2)
    assert code == DONE
    assert "q3" in printed


def test_what_is_written_is_named_and_not_printed(folder, run):
    told = run("ask", "votes.csv", *VOTERS, "-n", 3, "--out", "review.csv")
    assert told == (DONE, "", "Written: review.csv\n")
    assert len(records("review.csv")) == 4
    assert run("ask", "votes.csv", *VOTERS, "--out", "review.csv")[0] == WRONG_INPUT


def test_a_share_is_estimated_from_labels_that_the_method_does_not_see(folder, run):
    code, printed, _ = run(
        "estimate", "votes.csv", *VOTERS, "--known", "gold", "--label", "spam", "--json"
    )
    assert code == DONE
    frame = pl.read_csv("votes.csv")
    expected = solve(votes_from(frame, **ALL_VOTERS)).estimate("spam", frame["gold"].to_list())
    for row, wanted in zip(json.loads(printed), expected.rows(), strict=True):
        assert row == {
            name: pytest.approx(value) if isinstance(value, float) else value
            for name, value in wanted.items()
        }


def test_each_group_of_a_column_is_estimated_by_itself(folder, run):
    frame = pl.read_csv("votes.csv").with_row_index("n")
    frame.with_columns(half=pl.col("n") // 300).drop("n").write_csv("halves.csv")
    words = ["halves.csv", *VOTERS, "--known", "gold", "--label", "spam"]
    rows = json.loads(run("estimate", *words, "--by", "half", "--json")[1])
    assert {row["group"] for row in rows} == {"0", "1"}
    consensus = solve(votes_from(frame, **ALL_VOTERS))
    expected = consensus.estimate("spam", frame["gold"].to_list(), by=frame["n"] // 300)
    assert [row["value"] for row in rows] == pytest.approx(expected["value"], abs=1e-6)
    assert "(option --by)" in run("estimate", *words, "--by", "nosuch")[2]


def test_a_draw_is_read_back_with_its_chances(folder, run):
    words, share = write_scores(folder)
    labels = ["--known", "people.csv", "--known", "draw.csv"]
    code, printed, _ = run("estimate", *words, *labels, "--label", "good", "--json")
    assert code == DONE
    row = json.loads(printed)[0]
    assert row["labels"] == 40
    assert row["low"] < share < row["high"]
    drawn = pl.read_csv("draw.csv").with_columns(label=pl.Series(column("people.csv", "label")))
    drawn.write_csv("filled.csv")
    again = run("estimate", *words, "--known", "filled.csv", "--label", "good", "--json")
    assert again[:2] == (DONE, printed)


def test_a_draw_without_names_is_read_back_by_the_numbers_of_rows(folder, run):
    words = ["votes.csv", *VOTERS[:2]]
    run("ask", *words, "--goal", "share", "-n", 50, "--out", "draw.csv")
    drawn = pl.read_csv("draw.csv")
    truth = pl.read_csv("votes.csv")["truth"]
    drawn.with_columns(label=truth[drawn["object"]]).write_csv("draw.csv")
    frame = pl.read_csv("votes.csv").with_row_index()
    labels = pl.when(pl.col("index").is_in(drawn["object"].to_list())).then("truth")
    frame.with_columns(labels.alias("asked")).write_csv("asked.csv")
    of_file = json.loads(run("combine", *words, "--known", "draw.csv", "--json")[1])
    of_column = json.loads(run("combine", "asked.csv", *words[1:], "--known", "asked", "--json")[1])
    shares = [[row["share"] for row in facts["classes"]] for facts in (of_file, of_column)]
    assert shares[0] == shares[1]
    estimated = json.loads(run("estimate", *words, "--known", "draw.csv", "--json")[1])
    assert {row["labels"] for row in estimated} == {50}


def test_labels_that_were_chosen_estimate_nothing(folder, run):
    words = ["votes.csv", *VOTERS[:2], "--id", "id"]
    run("ask", *words, "-n", 40, "--out", "hard.csv", "--text", "rules")
    asked = pl.read_csv("hard.csv")
    assert asked.columns[:3] == ["id", "label", "answer"]
    assert asked["label"].null_count() == 40
    frame = pl.read_csv("votes.csv").select("id", "truth", "rules")
    found = asked.join(frame, on="id", how="left", maintain_order="left")
    assert found["rules"].to_list() == found["rules_right"].to_list()
    found.with_columns(label="truth").write_csv("hard.csv")
    assert "they correct the answer" in run("estimate", *words, "--known", "hard.csv")[1]
    _, printed, complaint = run("estimate", *words, "--known", "hard.csv", "--json")
    assert json.loads(printed) == [] and "they correct the answer" in complaint


def drawn_and_labelled(run, goal):
    """Votes on 400 objects with semicolons, and the true labels of 60 that `ask` names."""
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.4
    right = rng.random((400, 5)) < np.where(rng.random(400) < 0.3, 0.6, 0.92)[:, None]
    votes = {name: np.where(right[:, j] == truth, "yes", "no") for j, name in enumerate("abcde")}
    names = [f"m{i}" for i in range(400)]
    frame = pl.DataFrame({"id": names, "text": [f"text {i}" for i in range(400)], **votes})
    frame.write_csv("crowd.csv", separator=";")
    words = ["crowd.csv", "--delimiter", ";", "-c", "a,b,c,d,e", "--id", "id"]
    assert (
        run("ask", *words, "-n", 60, "--goal", goal, "--text", "text", "--out", "d.csv")[0] == DONE
    )
    asked = pl.read_csv("d.csv", separator=";")
    assert asked["text"].to_list() == ["text " + name[1:] for name in asked["id"]]
    labels = dict(zip(names, np.where(truth, "yes", "no").tolist(), strict=True))
    asked.with_columns(label=pl.Series([labels[name] for name in asked["id"]])).write_csv("d.csv")
    known = {i: labels[f"m{i}"] for i in (int(name[1:]) for name in asked["id"])}
    return words, Votes.from_labels(votes), asked, known


@pytest.mark.parametrize("option", ["--known", "--truth"])
def test_labels_that_were_chosen_correct_the_answer_and_do_not_measure_it(folder, run, option):
    words, *_ = drawn_and_labelled(run, "label")
    code, printed, complaint = run("combine", *words, option, "d.csv", "--report", "page.html")
    assert code == DONE, complaint
    page = " ".join(Path("page.html").read_text().split())
    for said in (printed, page):
        assert "These labels were chosen because they were hard: they correct the answer" in said
        assert "% correct" not in said.replace("\N{NO-BREAK SPACE}", " ")
        assert "measured on labels" not in said
    heads = run("voters", *words, "--known", "d.csv")[1].splitlines()[0]
    assert " accuracy" not in heads or option == "--truth"


def test_labels_of_a_draw_judge_the_answer(folder, run):
    words, votes, asked, known = drawn_and_labelled(run, "share")
    draw = Table(
        {
            "object": list(known),
            "label": list(known.values()),
            "chance": asked["chance"].to_list(),
        }
    )
    judged = json.loads(run("combine", *words, "--truth", "d.csv", "--json")[1])["judged"]
    assert judged["consensus"] == pytest.approx(solve(votes).score(draw))
    taught = solve(votes, known=draw).summary(Panel()).as_dict()["held_out"]
    shown = json.loads(run("combine", *words, "--known", "d.csv", "--json")[1])["held_out"]
    assert shown["consensus"] == pytest.approx(taught["consensus"], abs=0.05)
    few = run("combine", *words, "--known", "d.csv", "--max-rows", 60, "--json")[1]
    assert json.loads(few)["held_out"]["labels"] == 60


def test_an_estimate_needs_labels(folder, run):
    complaint = "ec3learn: known must be the labels of some objects, a column or a file, got none. (option --known)\n"
    assert run("estimate", "votes.csv", *VOTERS) == (WRONG_INPUT, "", complaint)


def test_an_estimate_needs_every_row_solved(folder, run):
    code, _, complaint = run("estimate", "votes.csv", *VOTERS, "--known", "gold", "--max-rows", 50)
    assert code == WRONG_INPUT
    assert complaint == (
        "ec3learn: This needs all distinct rows, and there are more than max_rows. Raise it. (option --max-rows)\n"
    )


# ---- very long labels and names ------------------------------------------------------------------

BIG = "x" * 1_000_000
BIG_LONG = ["--objects", "o", "--voters", "v", "-c", "l"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"a,b\n{BIG},y\ny,y\n{BIG},{BIG}\n", ["combine", "-c", "a,b"]),
        (f"a,b\n{BIG},y\ny,y\n{BIG},{BIG}\n", ["combine", "-c", "a,b", "--classes", "y,z"]),
        (f"a,b\n{BIG},y\ny,y\n{BIG},{BIG}\n", ["explain", "-c", "a,b", "--object", "0"]),
        (f"a,b\n{BIG},y\ny,y\n{BIG},{BIG}\n", ["voters", "-c", "a,b"]),
        (
            f"a,b\n{BIG},y\ny,y\n{BIG},{BIG}\n",
            ["compare", "-c", "a,b", "--methods", "majority,weighted-vote"],
        ),
        (f"a,b\n{BIG},y\ny,y\n{BIG},{BIG}\n", ["combine", "-c", "b", "--known", "a"]),
        (f"a,{BIG}\nx,y\ny,y\n", ["combine", "-c", "nope"]),
        (f"a,{BIG}\nx,y\ny,y\n", ["combine", "-c", "a,x*"]),
        (
            f"o,v,l\n{BIG},p,x\n{BIG},q,y\nr,p,x\n",
            ["compare", *BIG_LONG, "--methods", "majority,bgcm"],
        ),
        (f"o,v,l\nq,{BIG},x\nq,b,y\nr,{BIG},x\n", ["combine", *BIG_LONG]),
        (f"o,v,l\nq,{BIG},x\nq,b,y\nr,{BIG},x\n", ["explain", *BIG_LONG, "--object", "q"]),
        (f"o,v,l\nq,{BIG},x\nq,b,y\nr,{BIG},x\n", ["combine", *BIG_LONG, "--repeats", "none"]),
    ],
)
def test_a_label_or_a_name_of_a_megabyte_is_not_printed_whole(folder, run, content, words):
    Path("big.csv").write_text(content)
    code, out, err = run(words[0], "big.csv", *words[1:])
    assert code in (DONE, WRONG_INPUT)
    assert 0 < len(out) + len(err) < 10_000
