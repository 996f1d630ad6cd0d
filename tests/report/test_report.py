"""The report: its facts, its file, and the page in a real browser."""

import base64
import csv
import html
import io
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ec3learn import (
    BGCM,
    C3EKL,
    C3ESL,
    EC3,
    UPE,
    Consensus,
    DawidSkene,
    EC3Classifier,
    MajorityVote,
    Panel,
    Scale,
    SoftVote,
    Votes,
    WeightedVote,
    combine,
    solve,
)
from ec3learn.demo import demo_votes
from ec3learn.diagnosis import agreement, error_correlation
from ec3learn.report import page
from ec3learn.report.facts import FOLDED_FROM, facts_of
from ec3learn.report.page import page_of

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "\"><img src=x onerror='window.hacked = 2'>",
    "{{ 7 * 7 }} {% raw %}",
    "שלום עולם",
    "\u202egnp.exe",
    "two\nlines",
    "x" * 10_000,
    "👩‍🔬 emoji",
    "half \ud800 pair",
    "=HYPERLINK(1)",
    "",
    "</style></title><svg onload=window.hacked=3>",
]


def a_pool(n=400, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    names = np.array(["ant", "bee", "cat"], dtype=object)
    said = {
        f"m{m}": names[np.where(rng.random(n) < 0.55 + 0.08 * m, truth, rng.integers(3, size=n))]
        for m in range(5)
    }
    for column in said.values():
        column[rng.random(n) < missing] = None
    clusters = {"fine": truth * 4 + rng.integers(4, size=n), "noise": rng.integers(6, size=n)}
    return said, clusters, names[truth]


@pytest.fixture(scope="module")
def pool() -> tuple[Consensus, np.ndarray]:
    said, clusters, truth = a_pool()
    return EC3().solve(Votes.from_labels(said, clusters)), truth


@pytest.fixture(scope="module")
def hostile() -> Consensus:
    """Hostile names of classes, base models, clusters and objects."""
    rng = np.random.default_rng(0)
    rows = [
        (name, f"{voter} {HOSTILE[voter]}"[:10_000], HOSTILE[rng.integers(len(HOSTILE))])
        for name in HOSTILE
        for voter in range(12)
    ]
    objects, voters, labels = zip(*rows, strict=True)
    clusters = {"<b>clusters</b>": [HOSTILE[i % 3] for i in range(len(set(objects)))]}
    return EC3().solve(Votes.from_long(objects, voters, labels, clusters))


def text_of(consensus, **options):
    return page_of(facts_of(consensus, **options)).decode()


# ---- the facts -----------------------------------------------------------------------------------


def test_shares_confidence_and_changes_are_those_of_the_consensus(pool):
    consensus, _ = pool
    facts = facts_of(consensus)
    labels = consensus.labels()
    assert {name: shares[0] for name, shares in facts["classes"]["rows"]} == pytest.approx(
        {name: np.mean(labels == name) for name in consensus.classes}
    )
    assert facts["confidence"]["shares"] == pytest.approx(
        np.histogram(consensus.confidence, 20, (0, 1))[0] / 400
    )
    assert facts["changes"]["share"] == pytest.approx(consensus.summary().changed)


def test_held_out_labels_judge_the_answer_beside_the_majority_vote(pool):
    consensus, truth = pool
    fair = facts_of(consensus, truth=truth)["quality"]["fair"]
    shares = MajorityVote().solve(consensus.solution.votes).proba
    tops = shares >= shares.max(axis=1, keepdims=True) - 1e-9
    right = np.mean((tops & (consensus.classes == truth[:, None])).sum(axis=1) / tops.sum(axis=1))
    assert [answer["accuracy"] for answer in fair["answers"]] == pytest.approx(
        [np.mean(consensus.labels() == truth), right]
    )
    assert np.trace(fair["confusion"]["table"]) == np.sum(consensus.labels() == truth)


def test_labels_the_method_was_given_do_not_judge_it():
    said, clusters, truth = a_pool()
    consensus = EC3().solve(
        Votes.from_labels(said, clusters), known={i: truth[i] for i in range(100)}
    )
    quality = facts_of(consensus, truth=truth)["quality"]
    assert (quality["fair"]["n"], quality["n_both"], quality["given"]["n"]) == (300, 100, 100)
    assert quality["fair"]["answers"][0]["accuracy"] == np.mean((consensus.labels() == truth)[100:])
    assert "100 further labels were given to the method, so they are left out" in text_of(
        consensus, truth=truth
    )


def test_a_collapse_and_confidence_far_above_the_truth_are_warned_of():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=600)
    honest = np.where(rng.random((600, 12)) < 0.75, truth[:, None], 1 - truth[:, None])
    votes = Votes.from_labels(np.hstack([np.zeros((600, 9), dtype=int), honest]))
    warnings = facts_of(DawidSkene(one_coin=True, prior="uniform").solve(votes), truth=truth)[
        "warnings"
    ]
    for sentence in (
        "One number per voter may have collapsed",
        "All objects got the class 0",
        "The answer is overconfident",
    ):
        assert sum(warning.startswith(sentence) for warning in warnings) == 1


def test_copies_are_redundant_and_good_models_are_not():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=2000)
    good = {
        f"good{m}": np.where(rng.random(2000) < 0.993, truth, (truth + 1 + m % 2) % 3)
        for m in range(4)
    }
    consensus = EC3().solve(Votes.from_labels(good | {"copy": good["good1"]}))
    classifiers = facts_of(consensus)["pairs"]
    assert min(min(row) for row in classifiers["cells"]) > 0.98
    assert [set(pair[:2]) for pair in classifiers["redundant"]] == [{"good1", "copy"}]


def test_a_classifier_that_turns_classes_around_is_worse_than_chance(pool):
    consensus, _ = pool
    turned = {
        "turned": [
            {"ant": "bee", "bee": "cat", "cat": "ant"}[label] for label in consensus.labels()
        ]
    }
    assert facts_of(EC3().solve(consensus.solution.votes.add(turned)))["models"]["worse"] == [
        "turned"
    ]
    learned = facts_of(WeightedVote().solve(consensus.solution.votes.add(turned)))["models"]
    assert learned["worse"] == ["turned"]
    assert learned["rule"].endswith("The method itself left out some for this reason.")


def test_the_page_has_the_facts_of_the_summary():
    said, clusters, truth = a_pool()
    said["same"] = ["bee"] * 400
    method = EC3()
    consensus = method.solve(
        Votes.from_labels(said, clusters), known={i: truth[i] for i in range(100)}
    )
    summary = consensus.summary(method)
    page, notebook = (
        html.unescape(text_of(consensus, summary=summary)),
        html.unescape(consensus._repr_html_()),
    )
    page = page.replace("\N{NO-BREAK SPACE}", " ")
    assert str(summary.held_out) in page
    assert summary.notes
    for note in summary.notes:
        assert str(note) in page
        assert str(note) in notebook


def test_the_section_on_trust_has_what_the_diagnosis_says():
    said, clusters, truth = a_pool()
    consensus = Panel().solve(
        Votes.from_labels(said, clusters), known=dict(enumerate(truth[:40].tolist()))
    )
    rest = np.where(np.arange(400) < 40, None, truth)
    trust = facts_of(consensus, truth=truth)["trust"]
    assert trust["calibration"] == [
        str(note) for note in consensus.notes if note.kind == "calibration"
    ]
    assert trust["ask"] == list(consensus.ask(50).rows())
    assert trust["estimates"] == list(consensus.estimate(None, rest).rows())
    assert trust["error_correlation"] == error_correlation(consensus.solution.votes, rest)
    assert trust["agreement"][0]["value"] == pytest.approx(
        agreement(consensus.solution.votes, draws=0)["value"][0]
    )


def test_votes_per_object_are_counted_by_what_objects_count_and_where_there_are_any():
    said = {f"v{j}": [0, 1, int(j > 1), None] for j in range(5)}
    said["v4"][0] = None
    trust = facts_of(Panel().solve(Votes.from_labels(said, sample_weight=[8, 1, 1, 10])))["trust"]
    assert trust["n_votes"] == pytest.approx((8 * 4 + 2 * 5) / 10)
    assert trust["effective_voters"] <= trust["n_votes"]


def test_without_labels_the_page_says_how_to_estimate_a_share():
    said, _, _ = a_pool()
    page = html.unescape(page_of(facts_of(Panel().solve(Votes.from_labels(said)))).decode())
    assert "Can I trust it?" in page
    assert "ec3learn ask --goal share" in page


def test_the_objects_to_ask_about_are_a_csv_file_in_the_page():
    said, _, _ = a_pool()
    consensus = Panel().solve(Votes.from_labels(said))
    page = page_of(facts_of(consensus)).decode()
    content = re.search(
        r'download="ask.csv" href="data:text/csv;charset=utf-8;base64,([^"]+)"', page
    )[1]
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(content).decode("utf-8-sig"))))
    assert [int(row["object"]) for row in rows] == consensus.ask(50)["object"]


def test_voters_have_intervals_and_leans_in_the_page():
    said, _, truth = a_pool()
    said["yes"] = np.where(np.arange(400) % 2, "bee", truth)
    page = html.unescape(
        page_of(facts_of(Panel().solve(Votes.from_labels(said)), truth=truth)).decode()
    )
    row = re.search(r"<tr><th scope=\"row\"><bdi>yes</bdi>.*?</tr>", page)[0]
    assert re.search(r"\d+ to \d+\s%", row)
    assert "<bdi>bee</bdi> " in row


def test_what_clusters_hold_adds_up(pool):
    consensus, _ = pool
    fine = facts_of(consensus)["clusterings"]["blocks"][0]
    assert sum(row["share"] for row in fine["rows"]) == pytest.approx(1)
    assert all(
        sum(share for _, _, share in row["holds"]) == pytest.approx(1) for row in fine["rows"]
    )


def test_what_tipped_an_object_adds_up_to_its_margin(pool):
    row = facts_of(pool[0], n_contested=3)["contested"]["rows"][0]
    assert sum(lead for _, lead in row["tipped"]["terms"]) == pytest.approx(row["margin"], abs=2e-3)


def test_the_page_says_first_what_the_answer_is_and_last_how_it_was_made():
    said, _, truth = a_pool()
    page = text_of(Panel().solve(Votes.from_labels(said)), truth=truth)
    heads = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert heads == [
        "The answer",
        "How good it is",
        "Who to talk to",
        "What to review",
        "Can I trust it?",
        "How it was computed",
    ]
    before, _ = page[page.index("<main") :].split("How it was computed</h2>")
    shown = re.sub(r"<[^>]*>", " ", before)
    assert "anel" not in shown and "ase model" not in shown


def test_the_texts_of_objects_stand_beside_them():
    votes = Votes.from_long(["q1", "q1", "q2", "q2"], ["a", "b"] * 2, ["x", "y", "x", "y"])
    page = text_of(MajorityVote().solve(votes), texts={"q1": "Is it <b>red</b>?"})
    assert "<bdi>Is it &lt;b&gt;red&lt;/b&gt;?</bdi>" in page
    assert '<th scope="col">text</th>' in page
    assert '<th scope="col">text</th>' not in text_of(MajorityVote().solve(votes))


def test_columns_of_ones_are_left_out():
    said, _, _ = a_pool()
    plain = text_of(MajorityVote().solve(Votes.from_labels(said)))
    table = plain[plain.index('id="models-table"') :]
    heads = re.findall(r"<th scope=.col.[^>]*>([^<]*)</th>", table[: table.index("</thead>")])
    assert heads == ["classifier", "agreement", "remarks"]
    said["m0"][:50] = None
    some = text_of(WeightedVote(weights=[1, 2, 1, 1, 1]).solve(Votes.from_labels(said)))
    table = some[some.index('id="models-table"') :]
    heads = re.findall(r"<th scope=.col.[^>]*>([^<]*)</th>", table[: table.index("</thead>")])
    assert heads == ["classifier", "coverage", "agreement", "weight", "remarks"]


# ---- how objects are counted ---------------------------------------------------------------------


def counts_of(facts):
    """Return the numbers of a report that count objects."""
    columns = ("coverage", "agreement", "accuracy")
    table = [
        [row["model"], *(round(row[column], 9) for column in columns)]
        for row in facts["models"]["rows"]
    ]
    return [
        (
            facts["n_objects"],
            facts["n_open"],
            facts["changes"]["n"],
            facts["contested"]["n_close"],
        ),
        facts["contested"]["n_given"],
        facts["cards"],
        table,
        [sorted(facts["pairs"]["names"]), sorted(np.ravel(facts["pairs"]["cells"]).round(9))],
        [
            [(row["name"], round(row["size"], 9)) for row in block["rows"]]
            for block in facts["clusterings"]["blocks"]
        ],
        [round(block["median_size"], 9) for block in facts["clusterings"]["blocks"]],
        sorted(row["alike"] for row in facts["contested"]["rows"]),
    ]


def test_a_lazy_table_is_counted_like_the_same_table_in_memory():
    pl = pytest.importorskip("polars")
    mails = pl.DataFrame(
        {name: list(column) for name, column in demo_votes().columns.items() if name != "truth"}
    )
    columns = {
        "classifiers": ["svm", "tree", "bayes", "knn", "rules"],
        "clusterings": ["kmeans", "dbscan"],
        "known": "gold",
    }
    lazy, eager = (
        combine(table, **columns, return_consensus=True)[1] for table in (mails.lazy(), mails)
    )
    facts = facts_of(lazy, n_contested=1000)
    assert counts_of(facts) == counts_of(facts_of(eager, n_contested=1000))
    assert facts["quality"]["given"]["n"] == 60
    text = page_of(facts).decode()
    assert "600 rows, 489 of them distinct" in text
    assert "Objects are counted by their weights" not in text
    assert "The objects here are" not in text
    assert not re.search(r"\b489 objects", text)


def test_whole_weights_count_like_repeated_objects():
    said, clusters, truth = a_pool(150)
    times = np.random.default_rng(0).integers(1, 4, size=150)
    repeat = {name: np.repeat(column, times) for name, column in said.items()}
    weighted = EC3().solve(Votes.from_labels(said, clusters, sample_weight=times))
    repeated = EC3().solve(
        Votes.from_labels(
            repeat, {name: np.repeat(column, times) for name, column in clusters.items()}
        )
    )
    one = facts_of(weighted, truth=truth)
    other = facts_of(repeated, truth=np.repeat(truth, times))
    assert (one["n_objects"], one["changes"]["n"]) == (times.sum(), other["changes"]["n"])
    assert one["quality"]["fair"]["confusion"] == other["quality"]["fair"]["confusion"]
    one_score, other_score = (each["quality"]["fair"]["judgement"] for each in (one, other))
    assert one_score.wins == other_score.wins
    assert one["quality"]["fair"]["answers"][0]["auc"] == pytest.approx(
        other["quality"]["fair"]["answers"][0]["auc"]
    )
    assert [row["accuracy"] for row in one["models"]["rows"]] == pytest.approx(
        [row["accuracy"] for row in other["models"]["rows"]]
    )


# ---- given labels --------------------------------------------------------------------------------


def test_the_shares_are_those_of_the_summary_where_only_labels_were_given():
    said, _, truth = a_pool()
    consensus = solve(Votes.from_labels(said), known={i: truth[i] for i in range(60)})
    rows, classes = facts_of(consensus)["trust"]["estimates"], consensus.summary().classes
    assert [row["value"] for row in rows] == classes["estimate"]
    assert [row["high"] for row in rows] == classes["high"]
    assert {row["labels"] for row in rows} == {60}
    assert "From the known labels and all answers" in text_of(consensus)


def test_labels_held_fixed_are_neither_changed_nor_sure():
    said, clusters, truth = a_pool()
    votes = Votes.from_labels(said, clusters)
    consensus = EC3().solve(votes, known={i: truth[i] for i in range(100)})
    facts = facts_of(consensus)
    assert facts["n_open"] == 300
    assert round(300 * facts["changes"]["share"]) == facts["changes"]["n"]
    assert facts["confidence"]["shares"] == pytest.approx(
        np.histogram(consensus.confidence[100:], 20, (0, 1))[0] / 300
    )
    assert facts["cards"][1][:2] == (
        "mean confidence",
        f"{100 * consensus.confidence[100:].mean():.1f} %",
    )
    text = page_of(facts).decode()
    assert "without a given label" in text
    assert "Classifiers that were trained on these very labels look better" in text


def test_where_all_labels_were_given_it_is_said(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    X = y[:, None] + rng.normal(size=(60, 2))
    model = EC3Classifier([("lr", LogisticRegression())], [], cv=3, random_state=0).fit(X, y)
    model.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "All labels were given and held fixed, so there is no confidence to show" in text
    assert "so no object is contested" in text
    assert "100.0\N{NO-BREAK SPACE}%</dd>" not in text
    assert "No label differs" not in text
    assert "trained on these very labels" not in text


# ---- every kind of consensus ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [EC3(), BGCM(), UPE(), C3EKL(), C3ESL(), DawidSkene(), SoftVote(), WeightedVote()],
    ids=repr,
)
def test_every_method_has_a_report(method):
    said, clusters, truth = a_pool(80, missing=0.3)
    assert "How good it is" in text_of(method.solve(Votes.from_labels(said, clusters)), truth=truth)


def test_crowds_soft_votes_one_class_and_weights_have_reports(crowd, tmp_path):
    soft = Votes.from_probabilities(
        {"a": [[0.9, 0.1], [0.5, 0.5]], "b": [[0.2, 0.8], [np.nan, np.nan]]}, sample_weight=[1, 3]
    )
    one = Votes.from_labels({"a": ["x", None]})
    assert "Objects are counted by their weights" in text_of(EC3().solve(soft), truth=[0, 1])
    assert "There is only one class" in text_of(MajorityVote().solve(one))
    assert "What to review" in text_of(DawidSkene().solve(crowd))


def test_new_objects_have_a_report(pool):
    consensus, _ = pool
    new = consensus.extend(Votes.from_labels({"m0": ["ant", "bee"], "m1": ["bee", "bee"]}))
    assert facts_of(new, truth=["ant", "bee"])["quality"]["fair"]["n"] == 2


def test_a_loaded_consensus_says_what_cannot_be_shown(pool, tmp_path):
    consensus, truth = pool
    consensus.save(tmp_path / "answer", objects=True)
    consensus.save(tmp_path / "rule")
    with_objects, without = Consensus.load(tmp_path / "answer"), Consensus.load(tmp_path / "rule")
    facts = facts_of(with_objects, truth=truth)
    assert facts["quality"]["fair"]["n"] == 400
    assert (
        facts["models"]["accuracy_by"] is None
    )  # its voters cannot be judged by labels, since it has no votes
    assert "keeps the answers but not the votes" in text_of(with_objects)
    assert "loaded from a file without objects" in text_of(without)
    with pytest.raises(ValueError, match="truth needs objects to judge"):
        facts_of(without, truth=truth)


def test_the_page_stays_small(hostile):
    rng = np.random.default_rng(0)
    said = rng.integers(30, size=(300, 120))
    many = MajorityVote().solve(
        Votes.from_labels(said, {f"k{m}": rng.integers(50, size=300) for m in range(30)})
    )
    assert len(page_of(facts_of(many, truth=said[:, 0]))) < 2_000_000
    assert len(page_of(facts_of(hostile))) < 2_000_000


# ---- the file ------------------------------------------------------------------------------------


def test_a_file_that_exists_is_replaced_only_when_asked(pool, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(
        FileExistsError, match=r"report\.html exists already\. Pass overwrite=True to replace it\."
    ):
        pool[0].report(path)
    assert path.read_text() == "mine"
    pool[0].report(
        path,
        overwrite=True,
        title="Bees & ants",
        command=["ec3learn", "combine", "my votes.csv"],
        details={"seed": 3},
    )
    text = path.read_text("utf-8")
    assert "<title>Bees &amp; ants</title>" in text
    assert "ec3learn combine &#39;my votes.csv&#39;" in text
    assert "<bdi>3</bdi>" in text


def test_nothing_is_left_of_a_report_that_failed(pool, tmp_path, monkeypatch):
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="the disk is full"):
        pool[0].report(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (
            {"truth": ["dog"] * 400},
            ValueError,
            "truth must hold classes, .* got 'dog' for object 0",
        ),
        (
            {"truth": ["ant"]},
            ValueError,
            "truth must have one entry for each of the 400 objects, got 1",
        ),
        ({"truth": 5}, TypeError, "^truth must be an array with one label per object, .* got int"),
        (
            {"truth": {999: "ant"}},
            ValueError,
            "^truth must name objects by number, from 0 to 399, got 999",
        ),
        (
            {"truth": ([0, 0], ["ant", "bee"])},
            ValueError,
            "^truth must give an object one label, got two for 0",
        ),
        (
            {"truth": ["ant", 1] * 200},
            TypeError,
            "^truth must hold labels of one kind: .* got str and int",
        ),
        ({"path": 5}, TypeError, "path must be the name of a file, without NUL, got 5"),
        ({"n_contested": -1}, ValueError, "n_contested must be an integer >= 0, got -1"),
        (
            {"path": "no/such/folder/report.html"},
            FileNotFoundError,
            "path must lie in a folder that exists",
        ),
    ],
)
def test_what_is_refused(options, error, words, pool, tmp_path):
    with pytest.raises(error, match=words):
        pool[0].report(**{"path": tmp_path / "report.html", **options})


def test_labels_to_judge_a_long_table_by_name_its_objects(tmp_path):
    consensus = EC3().solve(Votes.from_long(["q1", "q2"], ["a", "b"], ["x", "y"]))
    with pytest.raises(
        ValueError,
        match=r"^truth must name objects that were voted on, got 'q9'\. The first objects are",
    ):
        consensus.report(tmp_path / "report.html", truth={"q9": "x"})


def test_without_jinja2_one_sentence_says_what_to_do(pool, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"A report needs jinja2: pip install 'ec3learn\[report\]'\."
    ):
        pool[0].report(tmp_path / "report.html")


def test_the_csv_file_has_no_formulas(hostile):
    content = re.search(
        r'href="data:text/csv;charset=utf-8;base64,([^"]+)"', text_of(hostile)
    ).group(1)
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(content).decode("utf-8-sig"))))
    assert len(rows) == len(hostile.contested(200))
    assert "'=HYPERLINK(1)" in {row["object"] for row in rows}
    assert not any(cell[:1] in tuple("=+-@") for row in rows for cell in row.values() if cell)


def test_the_page_names_no_other_place(pool):
    assert not re.search(
        r"""https?://|//[a-z]+\.|@import|url\(|<link(?! rel="icon" href="data:,")""",
        text_of(pool[0]),
    )


# ---- in a browser --------------------------------------------------------------------------------

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright's Python package is not installed"
    )
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


def judged_crowd():
    """Twenty annotators on 300 questions; one says nothing but yes, another guesses."""
    rng = np.random.default_rng(0)
    truth = np.tile(["no", "yes"], 150)
    said = np.where(rng.random((300, 20)) < 0.75, truth[:, None], truth[::-1, None])
    said[:, 0], said[:, 1] = "yes", rng.permutation(truth)
    objects, voters = np.nonzero(rng.random((300, 20)) < 0.4)
    votes = Votes.from_long(
        objects,
        [f"annotator {j}" for j in voters],
        said[objects, voters],
        object_ids=np.arange(300),
    )
    return solve(votes)


@pytest.fixture(scope="module")
def pages(pool, hostile, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    pool[0].report(folder / "pool.html", truth=pool[1])
    judged_crowd().report(folder / "crowd.html", truth=["no", "yes"] * 150)
    hostile.report(
        folder / "hostile.html",
        title=HOSTILE[0],
        command=HOSTILE[1],
        details={HOSTILE[2]: HOSTILE[11]},
    )
    return folder


@pytest.fixture
def opened(browser, pages):
    """Open a report; complaints of the browser, and requests for anything but the report, fail the test."""
    contexts, complaints = [], []

    def open_page(name, **options):
        contexts.append(browser.new_context(accept_downloads=True, **options))
        page = contexts[-1].new_page()
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                complaints.append(request.url)
                if not request.url.startswith(("file:", "data:"))
                else None
            ),
        )
        page.goto((pages / f"{name}.html").as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@in_browser
def test_a_table_is_sorted_by_its_headers_and_by_the_keyboard(opened):
    page = opened("pool")
    button = page.locator("#contested-table th button", has_text="confidence")
    cells = page.locator("#contested-table tbody td:nth-child(3)")
    button.click()
    up = [float(text) for text in cells.all_inner_texts()]
    assert up == sorted(up)
    assert page.locator("#contested-table th[aria-sort]").get_attribute("aria-sort") == "ascending"
    button.focus()
    page.keyboard.press("Enter")
    assert [float(text) for text in cells.all_inner_texts()] == sorted(up, reverse=True)
    assert page.locator("#contested-table th[aria-sort]").get_attribute("aria-sort") == "descending"


def test_voters_with_few_objects_in_common_have_no_heat_map():
    objects, voters = np.nonzero(np.random.default_rng(0).random((60, 20)) < 0.3)
    page = text_of(solve(Votes.from_long(objects, [f"a{j}" for j in voters], objects % 2)))
    assert "No two have 30 objects in common" in page
    assert "Heat map" not in page


@in_browser
def test_filtering_keeps_the_rows_with_all_the_words(opened):
    page = opened("pool")
    page.get_by_label("Filter objects").fill("tied ANT")
    rows = page.locator("#contested-table tbody tr:visible")
    assert 0 < rows.count() < 200
    assert all("tied" in text and "ant" in text for text in rows.all_text_contents())
    assert page.locator(".filter output").nth(1).inner_text().startswith(f"{rows.count()} of ")


@in_browser
def test_the_csv_file_can_be_saved(opened):
    page = opened("pool")
    with page.expect_download() as download:
        page.get_by_text("Save as CSV").click()
    assert download.value.suggested_filename == "contested.csv"
    assert download.value.path().read_bytes().startswith(b"\xef\xbb\xbfobject,label,confidence")


@in_browser
def test_hostile_names_are_shown_and_do_nothing(opened):
    page = opened("hostile")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, main script, main style").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE[0]
    shown = page.locator("#contested-table tbody th").all_inner_texts()
    assert {
        HOSTILE[0],
        HOSTILE[2],
        HOSTILE[3],
        "�gnp.exe",
        "two⏎lines",
        "x" * 47 + "…",
        "half ? pair",
        "(empty)",
    } <= set(shown)
    long_name = page.locator("#contested-table tbody th bdi[title]", has_text="xxx")
    assert len(long_name.get_attribute("title")) == 300
    assert (
        page.get_by_text(HOSTILE[3], exact=True).first.evaluate("element => element.tagName")
        == "BDI"
    )


@in_browser
def test_the_report_reads_without_javascript(opened):
    page = opened("pool", java_script_enabled=False)
    assert page.locator("#contested-table tbody tr").count() > 100
    page.locator("#contested-table summary").first.click()
    assert page.locator("#contested-table dl").first.is_visible()
    assert not page.get_by_label("Filter objects").is_visible()


@in_browser
def test_the_skip_link_comes_first_and_is_seen(opened):
    page = opened("pool")
    page.keyboard.press("Tab")
    box = page.locator(".skip:focus").bounding_box()
    assert box["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@in_browser
@pytest.mark.parametrize("name", ["pool", "hostile"])
def test_nothing_is_wider_than_a_phone(name, opened):
    page = opened(name, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@in_browser
@pytest.mark.parametrize("name", ["pool", "crowd"])
@pytest.mark.parametrize("width", [1300, 1920])
def test_no_table_is_cut_off(width, name, opened):
    page = opened(name, viewport={"width": width, "height": 900})
    cut = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).map(box => box.getAttribute('aria-label'))"
    assert page.locator(".scroll").evaluate_all(cut) == []


@in_browser
def test_rows_are_not_mostly_blank_on_a_phone(opened):
    page = opened("pool", viewport={"width": 400, "height": 740})
    heights = "selector => [...document.querySelectorAll(selector)].map(row => row.getBoundingClientRect().height)"
    assert max(page.evaluate(heights, "#contested-table tbody tr")) < 110
    assert max(page.evaluate(heights, ".words")) < 65


CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
    const s = c[i] / 255;
    return sum + w * (s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4);
  }, 0);
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const style = getComputedStyle(element);
    if (!own || ["SCRIPT", "title"].includes(element.tagName) || element.closest(".stack") || style.fontSize === "0px") continue;
    let behind = element;
    const paint = () => rgb(getComputedStyle(behind).backgroundColor);
    while (behind !== document.documentElement && (paint()[3] ?? 1) === 0) behind = behind.parentElement;
    const [a, b] = [rgb(element.closest("svg") ? style.fill : style.color), paint()].map(light);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)];
}"""


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(scheme, opened):
    assert opened("pool", color_scheme=scheme).evaluate(CONTRAST) == []


@in_browser
def test_a_cell_of_the_heat_map_names_its_models(opened):
    page = opened("pool")
    page.locator("table.heat").first.locator("tbody tr").first.locator("td").nth(1).hover()
    assert re.fullmatch(
        r"\u2068m\d\u2069 and \u2068m\d\u2069: \d+ %",
        page.locator("#status-classifier").inner_text(),
    )


# ---- a crowd -------------------------------------------------------------------------------------


def test_many_annotators_are_folded_with_those_in_trouble_first(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    rows = [
        (i, f"w{j:02d}", int(truth[i] if rng.random() < 0.9 else 1 - truth[i]))
        for j in range(30)
        for i in range(j, 200, 5)
    ]
    rows = [(i, name, 1 - truth[i] if name == "w29" else said) for i, name, said in rows]
    crowd = Votes.from_long(*map(list, zip(*rows, strict=True)))
    MajorityVote().solve(crowd).report(tmp_path / "crowd.html")
    written = (tmp_path / "crowd.html").read_text(encoding="utf-8")
    assert "answered by 30 annotators" in written
    assert "Show all 30 annotators" in written
    table = written[written.index('id="models-table"') :]
    assert table.index(">w29<") < table.index(">w00<")
    assert "lassifier" not in re.sub(r"<[^>]*>", "", table[: table.index("</section>")])
    few = Votes.from_labels({"svm": [0, 1], "knn": [0, 1]})
    MajorityVote().solve(few).report(tmp_path / "few.html")
    assert "Show all" not in (tmp_path / "few.html").read_text(encoding="utf-8")


def test_the_table_has_all_voters_that_a_warning_names(monkeypatch):
    monkeypatch.setattr("ec3learn.report.facts.MOST_MODELS", 3)
    good = np.tile(["no", "yes"], 100)
    said = {f"good{j}": good for j in range(6)}
    said["guess"] = [*np.random.default_rng(0).permutation(good)[:60], *[None] * 140]
    facts = facts_of(MajorityVote().solve(Votes.from_labels(said)))["models"]
    assert [name for name, _ in facts["empty"]] == ["guess"]
    assert "guess" in {row["model"] for row in facts["rows"]}
    assert (len(facts["rows"]), facts["n_left_out"]) == (3, 4)


def test_tied_classes_share_in_the_majority_vote_of_the_page():
    votes = Votes.from_labels({"a": [0, 0, 1, 0], "b": [1, 1, 1, 0], "c": [None, None, 1, 0]})
    facts = facts_of(DawidSkene().solve(votes, known={0: 0, 2: 1}))
    assert [shares[2] for _, shares in sorted(facts["classes"]["rows"])] == [0.5, 0.5]
    assert facts["quality"]["given"]["majority"] == 0.75


def test_the_rows_that_are_folded_are_those_that_the_style_hides():
    style = Path(page.__file__).with_name("style.css").read_text()
    assert f"tr:nth-child(n + {FOLDED_FROM + 1})" in style


def test_judges_who_score_are_in_the_table_of_voters():
    rng = np.random.default_rng(0)
    good = rng.random(300) < 0.5
    scores = {
        f"j{j}": np.clip(np.round(3 + 1.5 * (2 * good - 1) + rng.normal(size=300)), 1, 5)
        for j in range(4)
    }
    votes = Votes.from_labels(scores, classes=["bad", "good"], scale=Scale(range(1, 6)))
    facts = facts_of(Panel().solve(votes), truth=np.where(good, "good", "bad"))
    assert facts["summary"] == "300 objects, answered by 4 judges; 2 classes"
    assert {row["model"] for row in facts["models"]["rows"]} == set(scores)
    assert all(row["low"] < row["accuracy"] < row["high"] for row in facts["models"]["rows"])
    assert facts["trust"]["agreement"][0]["value"] == pytest.approx(
        agreement(votes, "ordinal", draws=0)["value"][0]
    )
    given_by = facts["contested"]["rows"][0]["given_by"]
    assert sum(len(names) for _, names in given_by["votes"]) == 4
    assert given_by["clusters"] == []
