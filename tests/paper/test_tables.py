"""Tables, figures and the report, from rows alone."""

import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import friedmanchisquare, spearmanr, ttest_1samp, wilcoxon
from sklearn.metrics import f1_score, normalized_mutual_info_score, roc_auc_score

from ec3learn._table import Table
from ec3learn.paper import published as paper
from ec3learn.paper.claims import (
    Claim,
    critical_difference,
    friedman,
    interval,
    judge,
    mean_ranks,
    paired_tests,
)
from ec3learn.paper.exhibits import Finding, markdown, means, printed
from ec3learn.paper.figures import FIGURES, draw
from ec3learn.paper.findings import THEORY, advice, summary
from ec3learn.paper.published import (
    averaged_f_range,
    averages_off,
    best_nmi,
    contradictions,
    f_range,
    impossible_pairs,
)
from ec3learn.paper.report import report
from ec3learn.paper.run import read
from ec3learn.paper.tables import EXHIBITS, datasets_at_hand, entropy_note, exhibits
from ec3learn.paper.tables.accuracy import gain, scored
from ec3learn.paper.tables.clusterings import begins_to_pay
from ec3learn.paper.tables.paper_claims import claims, correlations
from ec3learn.paper.tables.studies import good_settings

GOLDEN = Path(__file__).with_name("golden.md")
RESULTS = Path(__file__).parents[2] / "results"


def golden(rows):
    """Four tables from the made-up rows of conftest.py; `python -m tests.paper.test_tables` writes them anew."""
    chosen = exhibits(rows, ["datasets", "accuracy_auc", "drop_term", "robustness"])
    return "\n\n".join(f"## {exhibit.title}\n\n{exhibit.markdown()}" for exhibit in chosen) + "\n"


# ---- tables --------------------------------------------------------------------------------------


def test_tables_are_the_stored_ones(rows):
    assert golden(rows) == GOLDEN.read_text()


def test_a_mean_is_over_repeats(rows):
    own = rows[
        (rows.experiment == "drop_term")
        & (rows.dataset == "magic")
        & (rows.setting == "J2")
        & (rows.metric == "auc")
    ]
    assert len(own) == 2
    assert means(rows, "drop_term", "auc", columns="setting").loc["magic", "J2"] == pytest.approx(
        own["value"].mean()
    )


def test_the_difference_is_ours_less_the_papers(rows):
    (exhibit,) = exhibits(rows, ["accuracy_auc"])
    difference = exhibit.blocks[1].frame
    ours = means(rows[rows["setting"] == "paper"], "accuracy", "auc").loc["titanic", "iEC3"]
    assert difference.loc["iEC3", "titanic"] == pytest.approx(ours - 0.687)


def test_stand_ins_are_never_compared_with_the_paper(rows):
    for exhibit in exhibits(rows):
        for block in exhibit.blocks:
            if block.caption.startswith(("Ours minus", "AUC, ours minus", "F, ours minus")):
                assert "sensor_sample" not in [*block.frame.index, *block.frame.columns]


def test_scores_are_those_with_the_papers_clusterings(rows):
    own = rows[
        (rows.experiment == "accuracy")
        & (rows.metric == "auc")
        & (rows.method == "iEC3")
        & (rows.setting == "paper")
    ]
    assert scored(rows, "accuracy", "auc", ["iEC3"])["iEC3"]["magic"] == pytest.approx(
        own[own.dataset == "magic"]["value"].mean()
    )


def test_the_gain_of_clusterings_is_over_the_same_method_without(rows):
    own = means(rows, "labels_5", "auc", columns="setting", method="iEC3")
    assert gain(rows, "labels_5", "iEC3")["both"]["magic"] == pytest.approx(
        own["both"]["magic"] - own["none"]["magic"]
    )


def test_good_settings_are_the_top_tenth_of_each_data_set(rows):
    good = good_settings(rows)
    best = means(rows, "parameters", "auc", columns="setting", method="iEC3")
    for name, own in good.groupby("dataset"):
        assert own["auc"].max() == pytest.approx(best.loc[name].max())
    np.testing.assert_allclose(good[list(paper.SUGGESTED)].sum(axis=1), 1)


def changed(rows, experiment, value, **where):
    """The rows with the values of some of them replaced."""
    chosen = rows["experiment"] == experiment
    for column, content in where.items():
        chosen &= rows[column].isin([content] if isinstance(content, str) else content)
    assert chosen.any()
    return rows.assign(value=np.where(chosen, value, rows["value"]))


@pytest.mark.parametrize(("value", "verdict"), [(0.99, "holds"), (0.01, "fails")])
def test_the_verdict_on_a_claim_follows_from_the_rows(rows, value, verdict):
    best = changed(rows, "accuracy", value, method="iEC3", setting="paper", metric="auc")
    (claim,) = [
        own for own in claims(best) if own.text.startswith("iEC3 has a higher AUC than each")
    ]
    assert claim.judge().verdict == verdict


def test_every_claim_is_one_of_the_paper_with_a_verdict(rows):
    found = claims(rows)
    assert len({claim.text for claim in found}) == len(found)
    assert sum(claim.headline for claim in found) >= 10
    assert all(claim.judge().total for claim in found)


def test_the_effect_of_a_correlation_has_the_correlation_as_its_mean():
    rng = np.random.default_rng(0)
    places = pd.MultiIndex.from_product([list("abcdef"), range(3)])
    values, size = (
        pd.Series(rng.random(18), index=places),
        pd.Series(range(6), index=list("abcdef")),
    )
    found = correlations(values, size)
    for split in range(3):
        assert found.xs(split, level=1).mean() == pytest.approx(
            spearmanr(values.xs(split, level=1), size).statistic
        )


def test_scoring_some_by_probabilities_and_others_by_labels_is_told_from_scoring_all_alike(rows):
    mixed = changed(rows, "accuracy", 0.95, method=["iEC3", "EC3"], setting="paper", metric="auc")
    mixed = changed(mixed, "accuracy", 0.97, method=["DT"], metric="auc")
    (exhibit,) = exhibits(mixed, ["metric"])
    wins = exhibit.blocks[1].frame.loc["iEC3"]
    assert (wins["probabilities, splits 0 to 4"], wins["mixed, splits 0 to 4"]) == (
        "0 of 5",
        "5 of 5",
    )


def test_clusterings_begin_to_pay_where_the_gain_stays_significant():
    levels = ["0.00", "0.10", "0.20", "0.40"]
    found = pd.DataFrame(
        {"gain": [0.01, -0.01, 0.02, 0.03], "p": [0.01, 0.01, 0.02, 0.01]}, index=levels
    )
    assert begins_to_pay(found) == "0.20"
    assert begins_to_pay(found.assign(p=0.5)) is None
    assert begins_to_pay(found.assign(gain=-found["gain"])) is None


@pytest.mark.parametrize(("value", "held"), [(0.9, True), (0.5, False)])
def test_what_learned_weights_keep_follows_from_the_rows(rows, value, held):
    both = changed(
        rows, "random_classifiers", 0.9, method="iEC3, learned weights, hard votes", setting="0"
    )
    both = changed(
        both, "random_classifiers", value, method="iEC3, learned weights, hard votes", setting="10"
    )
    (exhibit,) = exhibits(both, ["robustness"])
    finding, _ = exhibit.findings
    assert finding.answer is held


def test_swapped_rows_of_the_papers_table_are_found(rows):
    entropy = {"waveform": 1.585, "statlog": 2.483}
    own = [("datasets", name, 0, "", "entropy", "value", value) for name, value in entropy.items()]
    other = [
        ("datasets", "statlog", 0, "", head, "value", 6.0)
        for head in ("rows", "classes", "features", "majority")
    ]
    kept = rows[
        ~(
            (rows.experiment == "datasets")
            & (rows.dataset == "waveform")
            & (rows.setting == "entropy")
        )
    ]
    more = pd.concat([kept, pd.DataFrame(own + other, columns=rows.columns)])
    more = more[(more.experiment != "datasets") | more.dataset.isin(entropy)]
    (exhibit,) = exhibits(more, ["datasets"])
    assert (
        "of waveform and statlog differ from the printed ones, as if their rows were swapped"
        in exhibit.findings[0].measured
    )


def test_a_table_without_its_rows_says_what_to_run(rows):
    with pytest.raises(
        ValueError,
        match=r"Table 'runtime' needs rows of runtime, got none. Make .* paper run runtime\.",
    ):
        exhibits(rows[rows["experiment"] != "runtime"], ["runtime"])


def test_an_unknown_table_gets_the_nearest(rows):
    with pytest.raises(ValueError, match=r"Unknown table 'run_time'. Did you mean 'runtime'\?"):
        exhibits(rows, ["run_time"])


def test_markdown_leaves_a_gap_where_nothing_is_known():
    frame = pd.DataFrame(
        {"n": pd.array([1200, None], dtype="Int64"), "x": [0.12345, np.nan]},
        index=pd.Index(["a", "b"], name="k"),
    )
    assert markdown(frame, 2).splitlines()[2:] == ["| a | 1,200 | 0.12 |", "| b |  |  |"]


def test_a_question_is_answered():
    assert str(Finding("Does it rain?", True, "wet.")) == "**Yes**: Does it rain? Here: wet."
    assert (
        str(Finding("Does it rain?", None, "fog.")) == "**Inconclusive**: Does it rain? Here: fog."
    )


def test_tables_are_written_as_csv(rows, tmp_path):
    (exhibit,) = exhibits(rows, ["accuracy_auc"])
    paths = exhibit.write(tmp_path / "new")
    assert [path.name for path in paths] == ["accuracy_auc.csv", "accuracy_auc_2.csv"]
    assert pd.read_csv(paths[1], index_col=0).loc["DT", "titanic"] == pytest.approx(
        exhibit.blocks[1].frame.loc["DT", "titanic"]
    )


# ---- what is printed -----------------------------------------------------------------------------


def test_printed_averages_are_nearly_those_of_the_columns():
    for table in ("accuracy_auc", "accuracy_fscore"):
        scores = paper.printed(table)
        for method in paper.METHODS:
            mean = scores[method].drop("Average").mean()
            assert mean == pytest.approx(scores.loc["Average", method], abs=0.0095), (table, method)


def test_printed_tables_name_the_thirteen_data_sets():
    assert list(paper.printed("datasets").index) == list(paper.DATASETS)


# ---- figures and the report ----------------------------------------------------------------------


def test_figures_are_drawn_without_a_display_and_without_pyplot(rows, tmp_path):
    rows.to_pickle(tmp_path / "rows.pkl")
    program = (
        "import os, sys; os.environ.pop('DISPLAY', None); import pandas as pd; from ec3learn.paper.figures import draw\n"
        f"draw(pd.read_pickle({str(tmp_path / 'rows.pkl')!r}), {str(tmp_path / 'figures')!r}, ['growth'])\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert (tmp_path / "figures" / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_rows_give_the_same_picture(rows, tmp_path):
    (first,) = draw(rows, tmp_path / "a", ["ranks"])
    (second,) = draw(rows, tmp_path / "b", ["ranks"])
    assert first.read_bytes() == second.read_bytes()


def test_the_report_has_every_table_and_figure(rows, tmp_path):
    text = report(rows, tmp_path / "paper.md").read_text()
    for needed, make in EXHIBITS.values():
        assert f"## {make(rows).title}\n" in text, needed
    for name in FIGURES:
        assert f"(figures/{name}.png)" in text
        assert (tmp_path / "figures" / f"{name}.png").is_file()


def test_without_matplotlib_it_says_what_to_install(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("ec3learn._checks.find_spec", lambda name: None)
    with pytest.raises(
        ModuleNotFoundError,
        match=r"Drawing figures needs matplotlib: pip install 'ec3learn\[paper\]'\.",
    ):
        draw(rows, tmp_path, ["ranks"])


def test_the_report_has_the_tables_there_are_rows_for(rows, tmp_path):
    some = rows[rows["experiment"].isin(["accuracy", "drop_term"])]
    text = report(some, tmp_path / "paper.md").read_text()
    assert "## One term left out" in text
    assert "## Runtime" not in text


def test_data_sets_at_hand_stand_beside_the_papers(folder):
    table = datasets_at_hand(folder)
    assert isinstance(table, Table)
    row = next(row for row in table.rows() if row["dataset"] == "iris")
    assert (row["rows"], row["rows, paper"], row["classes"]) == (120, 150, 3)


def test_a_note_names_data_sets_whose_printed_entropies_differ():
    table = Table(
        {
            "dataset": ["iris", "image", "susy"],
            "entropy": [1.58, 1.0, None],
            "entropy, paper": [1.58, 2.78, 0.99],
        }
    )
    assert (
        entropy_note(table) == "Majority share and entropy of image differ from the printed ones."
    )
    assert entropy_note(Table({name: column[:1] for name, column in table.columns.items()})) == ""
    swapped = {
        "dataset": ["waveform", "statlog", "iris"],
        "entropy": [1.58, 2.48, 1.58],
        "entropy, paper": [2.48, 1.48, 1.58],
    }
    assert entropy_note(Table(swapped)) == (
        "Majority share and entropy of waveform and statlog differ from the printed ones, as if their rows were swapped."
    )


@pytest.mark.parametrize("shown_by", [row[-1] for row in THEORY])
def test_what_the_page_says_of_the_theory_is_shown_by_a_test(shown_by):
    place, test = shown_by.split("::")
    assert f"def {test}(" in (RESULTS.parent / place).read_text()


# ---- what is committed ---------------------------------------------------------------------------


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the rows of the real run are not at hand")
def test_the_page_quotes_the_rows_that_are_committed(tmp_path):
    rows = read(RESULTS)
    page = (RESULTS.parent / "docs" / "paper.md").read_text()
    for exhibit in exhibits(rows, ["accuracy_auc", "metric", "labels", "quality", "robustness"]):
        assert exhibit.markdown() in page, f"{exhibit.name}: run ec3learn paper report"


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the rows of the real run are not at hand")
def test_with_learned_weights_random_classifiers_cost_nearly_nothing():
    (exhibit,) = exhibits(read(RESULTS), ["robustness"])
    kept = exhibit.blocks[0].frame.loc["mean", "iEC3, learned weights, hard votes, classifiers"]
    assert kept >= 0.995


# ---- words follow the rows -----------------------------------------------------------------------


def headlines(rows):
    """The headlines of the summary."""
    return [text.split("**")[1] for text in summary(rows, claims(rows))]


BEST = {"method": "iEC3", "setting": "paper", "metric": "auc"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.99, "iEC3 is a good way to combine labels, and the best classifier."),
        (0.01, "iEC3 is no better way than a vote to combine labels, not the best classifier."),
    ],
)
def test_what_the_page_says_of_the_best_classifier_follows_from_the_rows(rows, value, words):
    assert words in headlines(changed(rows, "accuracy", value, **BEST))


def test_the_metric_is_named_as_the_reason_only_where_it_is_one(rows):
    assert "The metric does not explain the paper's table." in headlines(rows)
    mixed = changed(rows, "accuracy", 0.99, method=["iEC3", "EC3"], setting="paper", metric="auc")
    theirs = printed("accuracy_auc").stack()
    places = pd.MultiIndex.from_frame(mixed[["dataset", "method"]])
    own, score = mixed["method"].isin(["iEC3", "EC3"]), mixed["metric"]
    chosen = (
        (mixed["experiment"] == "accuracy")
        & (score == np.where(own, "auc", "auc_hard"))
        & places.isin(theirs.index)
    )
    mixed = mixed.assign(value=np.where(chosen, theirs.reindex(places), mixed["value"]))
    assert "Why the paper's table differs: the metric, most likely." in headlines(mixed)


@pytest.mark.parametrize(
    ("own", "vote", "words"),
    [
        (0.95, 0.95, "Robustness holds, but for a plain vote as well."),
        (0.95, 0.5, "Robustness holds."),
        (0.5, 0.95, "Robustness does not hold."),
    ],
)
def test_what_the_page_says_of_robustness_follows_from_the_rows(rows, own, vote, words):
    made = changed(rows, "random_classifiers", 1.0, setting="0")
    for method, value in (("iEC3", own), ("majority vote", vote)):
        made = changed(made, "random_classifiers", value, method=method, setting="10")
    assert words in headlines(made)


@pytest.mark.parametrize(
    ("loss", "words"),
    [(0.3, "Only the votes carry the labels."), (0.0, "Not only the votes carry the labels.")],
)
def test_what_the_page_says_of_the_terms_follows_from_the_rows(rows, loss, words):
    made = changed(rows, "drop_term", 0.8, metric="auc_hard")
    made = changed(made, "drop_term", 0.8 * (1 - loss), metric="auc_hard", setting="J3")
    assert words in headlines(made)


@pytest.mark.parametrize(
    ("experiments", "gained", "words"),
    [
        (["accuracy"], 0.1, "Add clusterings also if the classifiers"),
        (["accuracy"], -0.1, "Leave clusterings out if the classifiers"),
        (["labels_5", "labels_20"], 0.1, "With few labels they help on average, so let"),
        (
            ["labels_5", "labels_20"],
            -0.1,
            "With few labels they help on some data sets and harm on others, so let",
        ),
    ],
)
def test_the_advice_follows_from_the_rows(rows, experiments, gained, words):
    for experiment in experiments:
        for setting, value in (("none", 0.8), ("both", 0.8 + gained)):
            rows = changed(
                rows,
                experiment,
                value,
                method="iEC3, learned weights",
                setting=setting,
                metric="auc",
            )
    assert words in advice(rows)


if __name__ == "__main__":
    from .conftest import rows as made_up

    GOLDEN.write_text(golden(made_up.__wrapped__()))


# ---- ranks and tests, held against published numbers and scipy -----------------------------------


@pytest.mark.parametrize(("n_methods", "q"), [(2, 1.960), (4, 2.569), (10, 3.164)])
def test_the_critical_difference_has_the_published_q(n_methods, q):
    assert critical_difference(n_methods, 14) == pytest.approx(
        q * np.sqrt(n_methods * (n_methods + 1) / (6 * 14)), abs=2e-3
    )


def test_friedman_s_p_is_that_of_scipy():
    scores = pd.DataFrame(np.random.default_rng(0).random((8, 4)), columns=list("abcd"))
    assert friedman(scores) == pytest.approx(friedmanchisquare(*scores.to_numpy().T).pvalue)


def test_ties_share_their_ranks_and_data_sets_with_gaps_do_not_count():
    scores = pd.DataFrame({"a": [0.9, 0.5, 0.1], "b": [0.8, 0.5, np.nan], "c": [0.7, 0.4, 0.3]})
    assert mean_ranks(scores).to_dict() == {"a": 1.25, "b": 1.75, "c": 3.0}


def test_p_values_are_corrected_by_holm():
    rng = np.random.default_rng(0)
    control = rng.random(12)
    scores = pd.DataFrame(
        {
            "new": control,
            "far": control - 0.1 * rng.random(12),
            "near": control + 0.01 * rng.normal(size=12),
        }
    )
    found = paired_tests(scores, "new")
    raw = {name: wilcoxon(control - scores[name]).pvalue for name in ("far", "near")}
    assert found.p["far"] == pytest.approx(2 * raw["far"])
    assert found.p["near"] == pytest.approx(max(2 * raw["far"], raw["near"]))
    assert (found.better["far"], found.worse["far"]) == (12, 0)


def test_methods_that_are_equal_everywhere_are_not_told_apart():
    found = paired_tests(pd.DataFrame({"a": [0.5, 0.6], "b": [0.5, 0.6]}), "a")
    assert (found.better["b"], found.worse["b"], found.p["b"]) == (0, 0, 1.0)


# ---- claims --------------------------------------------------------------------------------------


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
        ([-x for x in CLEAR], {}, "fails"),
        ([0.04, -0.03, 0.02, -0.04, 0.01, -0.01], {}, "inconclusive"),
        (
            [0.04, -0.03, 0.02, -0.04, 0.01, -0.01],
            {"printed": 0.10},
            "fails",
        ),  # may be none, and is surely smaller
        ([0.04, -0.03, 0.02, -0.04, 0.01, -0.01], {"printed": 0.01}, "inconclusive"),
        ([0.93, 0.95, 0.97, 0.92, 0.99], {"above": 0.88}, "holds"),
        ([0.93, 0.95, 0.97, 0.92, 0.99], {"above": 0.99}, "fails"),
    ],
)
def test_the_verdict_follows_from_direction_and_size(means, options, verdict):
    assert judge(effect(means), **options).verdict == verdict


def test_one_data_set_that_is_surely_below_refutes_a_claim_about_every_one():
    found = judge(effect([*CLEAR, -0.02]), every=True)
    assert (found.verdict, found.against) == ("fails", ("set 6",))
    assert (found.supporting, found.total) == (6, 7)


def test_one_data_set_that_may_be_below_leaves_a_claim_about_every_one_open():
    assert judge(effect([*CLEAR, -0.02], noise=0.1), every=True).verdict == "inconclusive"


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
    assert judge(effect([0.05], n_splits=1)).verdict == "inconclusive"


def test_data_sets_without_rows_do_not_count():
    own = effect(CLEAR)
    own.loc["set 0"] = np.nan
    assert judge(own).total == len(CLEAR) - 1


def test_a_claim_shows_shares_in_percent():
    assert Claim("", None, percent=True).number(0.0421) == "4.2%"
    assert Claim("", None).number(0.0421) == "0.042"


# ---- printed numbers that cannot be --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
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


def test_the_best_clustering_is_the_best_of_all():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 6, size=(5, 2))
    rows, truth = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    every = [
        normalized_mutual_info_score(truth, np.array(places)[rows])
        for places in product(range(3), repeat=5)
    ]
    assert best_nmi(counts, 3)["mean"] == pytest.approx(max(every))


def test_the_text_and_its_tables_disagree():
    found = dict(contradictions())
    assert found["iEC3 is superior to EC3."] == "EC3 is ahead on Statlog (AUC), Sensor (F)."
    assert (
        "1.4% (Iris) to 9.9% (Creditcard)"
        in found["iEC3 is at least 3 % and at most 10 % better than UPE."]
    )


def test_an_average_that_is_right_is_not_off():
    assert averages_off("accuracy_auc")["iEC3"] < 0.001
