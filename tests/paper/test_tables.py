"""Tables, claims and the page, from rows alone."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp
from sklearn.metrics import f1_score, roc_auc_score

from paper import page
from paper.__main__ import main
from paper.claims import best_on_average, interval, judge, mean_ranks
from paper.exhibits import long
from paper.figures import FIGURES, draw
from paper.findings import THEORY
from paper.published import (
    CONTRADICTIONS,
    TABLES,
    averaged_f_range,
    f_range,
    impossible_pairs,
    printed,
)
from paper.rows import RESULTS, read
from paper.tables import EXHIBITS, exhibits
from paper.tables.paper_claims import claims

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the rows of the real run are not at hand")
def test_the_page_is_that_of_the_rows_that_are_committed(monkeypatch, tmp_path):
    monkeypatch.setattr(page, "draw", lambda rows, folder: list(FIGURES))  # a minute's work
    rows = read()
    page.write(rows, tmp_path / "paper.md")
    for name in ("paper.md", "paper-tables.md"):
        assert (tmp_path / name).read_text() == (ROOT / "docs" / name).read_text()
    lines = long(exhibits(rows)).to_csv(index=False, float_format="%.4g", lineterminator="\n")
    assert lines == (RESULTS / "tables.csv").read_text()


def test_figures_are_drawn_and_the_same_rows_give_the_same_picture(rows, tmp_path):
    assert list(draw(rows, tmp_path)) == list(FIGURES)
    first = (tmp_path / "epsilon.png").read_bytes()
    list(draw(rows, tmp_path, ["epsilon"]))
    assert (tmp_path / "epsilon.png").read_bytes() == first


def test_tables_are_made_where_there_are_rows(rows):
    assert [exhibit.name for exhibit in exhibits(rows)] == list(EXHIBITS)
    (exhibit,) = exhibits(rows[rows["experiment"] == "drop_term"])
    assert "| method, score | J1 | J2 | J3 | J4 |" in exhibit.markdown()


def test_no_printed_number_stands_beside_one_of_a_stand_in(rows):
    best = changed(rows, 0.0, dataset="sensor_sample", experiment="accuracy")
    ours, other = (exhibits(own, ["accuracy"])[0].markdown() for own in (rows, best))
    assert ours == other
    beside = [claim for claim in claims(rows) if claim.printed is not None]
    changes = zip(
        beside, [claim for claim in claims(best) if claim.printed is not None], strict=True
    )
    assert all(one.judge() == two.judge() for one, two in changes)


def test_the_details_of_all_tables_are_one_table_with_a_line_per_number(rows):
    lines = long(exhibits(rows)).set_index(["table", "what", "row", "column"])["value"]
    own = rows.query("experiment == 'clustering_nmi' and dataset == 'magic' and method == 'DBSCAN'")
    assert lines["clustering_nmi", "NMI", "magic", "DBSCAN"] == pytest.approx(own["value"].mean())
    assert lines["accuracy", "AUC, paper", "titanic", "iEC3"] == 0.687
    assert lines["epsilon", "rounds", "magic", "0.025"] > 0  # a figure and claims, and no table


def test_a_page_from_few_splits_has_no_infinite_interval_and_names_its_rows(rows, tmp_path):
    page.write(rows[rows["seed"] == 0], tmp_path / "mine.md", "some/rows")
    text = (tmp_path / "mine.md").read_text()
    assert "inf" not in text.replace("information", "")
    assert "(too few splits)" in text
    assert "rows in `some/rows`" in text


def test_the_page_of_an_incomplete_run_is_refused(rows, tmp_path, capsys):
    rows[rows["method"] != "CNN"].to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(SystemExit):
        main(["page", "--rows", str(tmp_path)])
    assert "has no rows of CNN. Compare what is there" in capsys.readouterr().err


def test_no_verdict_rests_on_the_reconstructed_upe(rows):
    worse = changed(rows, 0.1, method="UPE")
    verdicts = [[claim.judge().verdict for claim in claims(own)] for own in (rows, worse)]
    named = [claim.upe for claim in claims(rows)]
    assert {v for v, upe in zip(verdicts[0], named, strict=True) if upe} == {"not testable"}
    assert [upe for claim, upe in zip(claims(rows), named, strict=True) if "UPE" in claim.text] == [
        True
    ] * sum(named)


def changed(rows, value, **where):
    """The rows with the values of some of them replaced."""
    chosen = np.logical_and.reduce([rows[column] == content for column, content in where.items()])
    return rows.assign(value=np.where(chosen, value, rows["value"]))


@pytest.mark.parametrize(("value", "verdict"), [(0.99, "holds"), (0.01, "reversed")])
def test_the_verdict_on_a_claim_follows_from_the_rows(rows, value, verdict):
    where = {"experiment": "accuracy", "method": "iEC3", "setting": "paper", "metric": "auc"}
    best = changed(rows, value, **where)
    text = "iEC3 beats each of the 14 baselines on every data set (AUC)."
    (claim,) = [each for each in claims(best) if each.text == text]
    assert claim.judge().verdict == verdict


@pytest.mark.parametrize("shown_by", [row[-1] for row in THEORY])
def test_what_the_page_says_of_the_theory_is_shown_by_a_test(shown_by):
    place, test = shown_by.strip("`").split("::")
    assert f"def {test}(" in (ROOT / place).read_text()


# ---- the rule, and tests between methods ---------------------------------------------------------


def effect(means, noise=0.001, n_splits=4):
    """An effect on one data set per mean, whose splits lie around it."""
    around = noise * np.linspace(-1, 1, n_splits)
    units = pd.MultiIndex.from_product([[f"set {k}" for k in range(len(means))], range(n_splits)])
    return pd.Series(np.add.outer(means, around).ravel(), index=units)


CLEAR = [0.03, 0.05, 0.04, 0.06, 0.02, 0.04]


@pytest.mark.parametrize(
    ("means", "options", "verdict"),
    [
        (CLEAR, {}, "holds"),
        (CLEAR, {"printed": 0.05}, "holds"),
        (CLEAR, {"printed": 0.10}, "holds, but smaller"),
        ([-x for x in CLEAR], {}, "reversed"),
        ([0.04, -0.03, 0.02, -0.04, 0.01, -0.01], {}, "not shown"),
        (
            [0.04, -0.03, 0.02, -0.04, 0.01, -0.01],
            {"printed": 0.10},
            "not shown",
        ),
        ([0.04, -0.03, 0.02, -0.04, 0.01, -0.01], {"printed": 0.01}, "not shown"),
        ([0.93, 0.95, 0.97, 0.92, 0.99], {"above": 0.88}, "holds"),
        ([0.93, 0.95, 0.97, 0.92, 0.99], {"above": 0.99}, "reversed"),
    ],
)
def test_the_verdict_follows_from_direction_and_size(means, options, verdict):
    assert judge(effect(means), **options).verdict == verdict


def test_one_data_set_that_is_surely_below_refutes_a_claim_about_every_one():
    found = judge(effect([*CLEAR, -0.02]), every=True)
    assert (found.verdict, found.against) == ("reversed", ("set 6",))
    assert (found.supporting, found.total) == (6, 7)


def test_one_data_set_that_may_be_below_leaves_a_claim_about_every_one_open():
    assert judge(effect([*CLEAR, -0.02], noise=0.1), every=True).verdict == "not shown"


def test_a_claim_about_every_data_set_holds_where_all_agree():
    assert judge(effect(CLEAR), every=True).verdict == "holds"


def test_over_five_data_sets_or_more_the_interval_is_student_s_over_their_means():
    expected = ttest_1samp(CLEAR, 0).confidence_interval(0.95)
    assert interval(effect(CLEAR)) == pytest.approx((expected.low, expected.high))


def test_over_few_data_sets_the_interval_is_over_splits_that_share_rows():
    own = effect([0.05], noise=0.01, n_splits=5)
    naive = ttest_1samp(own, 0).confidence_interval(0.95)
    low, high = interval(own)
    assert (high - low) / (naive.high - naive.low) == pytest.approx(np.sqrt((1 / 5 + 1 / 3) * 5))


def test_a_single_split_shows_nothing():
    assert judge(effect([0.05], n_splits=1)).verdict == "not shown"


def test_the_best_is_the_best_on_average_not_that_of_each_split():
    units = pd.MultiIndex.from_product([["one", "two"], [0, 1]])
    table = pd.DataFrame({"a": [0.9, 0.6, 0.1, 0.1], "b": [0.7, 0.7, 0.2, 0.3]}, index=units)
    assert best_on_average(table).tolist() == [0.9, 0.6, 0.2, 0.3]


def test_what_is_smaller_than_printed_says_so_unless_it_holds():
    open_means = [0.04, -0.03, 0.02, -0.04, 0.01, -0.01]
    assert judge(effect(open_means), printed=0.10).size == "smaller"
    assert judge(effect(open_means), printed=0.01).size == ""
    assert judge(effect(CLEAR), printed=0.10).size == ""


def test_data_sets_without_rows_do_not_count():
    own = effect(CLEAR)
    own.loc["set 0"] = np.nan
    assert judge(own).total == len(CLEAR) - 1


def test_the_best_method_has_the_lowest_mean_rank():
    scores = pd.DataFrame({"a": [0.9, 0.8, 0.7], "b": [0.9, 0.7, 0.6]})
    assert mean_ranks(scores).to_dict() == pytest.approx({"a": 3.5 / 3, "b": 5.5 / 3})


# ---- printed numbers that cannot be --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_every_labelling_has_an_f_in_the_range_of_its_auc(seed):
    rng = np.random.default_rng(seed)
    truth = np.arange(50) < rng.integers(5, 45)
    labels = np.where(rng.random(50) < rng.random(), truth, rng.random(50) < rng.random())
    low, high = f_range(roc_auc_score(truth, labels), truth.mean())
    assert low - 1e-9 <= f1_score(truth, labels, zero_division=0) <= high + 1e-9


def test_both_ends_of_the_range_are_reached():
    truth = np.repeat([True, False], [3, 7])
    every = [np.array(labels) for labels in product([False, True], repeat=10)]
    found = [
        f1_score(truth, labels, zero_division=0)
        for labels in every
        if abs(roc_auc_score(truth, labels) - 0.5) < 1e-9
    ]
    assert (min(found), max(found)) == pytest.approx(f_range(0.5, 0.3))


def test_averages_reach_further_than_one_split_and_no_further_than_mixtures():
    share, parts = 0.3, (0.5, 0.9)
    middle = np.mean(parts)
    low, high = averaged_f_range(middle, share)
    single = f_range(middle, share)
    mixed = [np.mean([f_range(part, share)[k] for part in parts]) for k in (0, 1)]
    assert low <= min(single[0], mixed[0]) + 1e-6
    assert high >= max(single[1], mixed[1]) - 1e-6


def test_a_pair_that_no_labels_give_is_found():
    found = impossible_pairs()
    assert (
        "iEC3" in found["any"]["Magic"]
    )  # AUC .587 and F .842: the larger class alone has F .78 at chance
    assert found["any"]["Diabetes"] == []
    for reading in ("rarer class", "larger class"):
        for name, methods in found[f"{reading}, averages"].items():
            assert set(methods) <= set(found[f"{reading}, one split"][name])


def test_the_text_and_its_tables_disagree():
    auc, f = (printed(table).drop(index="Average") for _, table in TABLES.values())
    gains, found = auc["iEC3"] / auc["UPE"] - 1, dict(CONTRADICTIONS)
    low, high = f"{gains.min():.1%} ({gains.idxmin()})", f"{gains.max():.1%} ({gains.idxmax()})"
    said = found["iEC3 is at least 3 % and at most 10 % better than UPE."]
    assert said.startswith(f"{low} to {high}; below 3 % on {', '.join(gains.index[gains < 0.03])}.")
    ahead = [
        f"{name} ({word})"
        for word, table in (("AUC", auc), ("F", f))
        for name in table.index[table["EC3"] > table["iEC3"]]
    ]
    assert found["iEC3 is superior to EC3."] == f"EC3 is ahead on {', '.join(ahead)}."
    several = printed("datasets").query("classes > 2")["majority"]
    assert several.idxmax() == "Statlog" and several["Statlog"] == 0.34
