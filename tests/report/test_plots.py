"""Pictures: what they show is what the consensus says, and they can be read."""

import re
import subprocess
import sys
import warnings
from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

from ec3learn import EC3, Consensus, Votes, WeightedVote, solve
from ec3learn.methods import ReliabilityWarning
from ec3learn.report import plots

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(scope="module")
def consensus() -> Consensus:
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=200)
    said = {
        f"c{m}": np.where(rng.random(200) < 0.4 + 0.1 * m, truth, rng.integers(3, size=200))
        for m in range(5)
    }
    said["turned"] = (truth + 1) % 3
    clusters = {"kmeans": truth * 2 + rng.integers(2, size=200)}
    return WeightedVote("agreement").solve(Votes.from_labels(said, clusters))


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    plt.close("all")


PICTURES = {
    "agreement_map": plots.agreement_map,
    "confidence_histogram": plots.confidence_histogram,
    "reliability_bars": plots.reliability_bars,
    "contested_objects": plots.contested_objects,
    "cluster_classes": lambda consensus, ax=None: plots.cluster_classes(consensus, "kmeans", ax=ax),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_every_picture_has_a_title_and_labelled_axes(draw, consensus):
    ax = draw(consensus)
    assert all([ax.get_title(), ax.get_xlabel(), ax.get_ylabel()])
    ax.figure.canvas.draw()


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_every_picture_draws_where_it_is_told_and_opens_no_figure(draw, consensus):
    ax = matplotlib.figure.Figure().subplots()
    assert draw(consensus, ax=ax) is ax
    assert plt.get_fignums() == []


def test_cells_are_the_shares_of_objects_named_alike(consensus):
    ax = plots.agreement_map(consensus)
    names = [label.get_text() for label in ax.get_yticklabels()]
    votes = {
        name: np.array([consensus.solution.votes.said(i)[m] for i in range(200)])
        for m, name in enumerate(["c0", "c1"])
    }
    cells = ax.images[0].get_array()
    assert_allclose(
        cells[names.index("c0"), names.index("c1")], np.mean(votes["c0"] == votes["c1"])
    )


def test_columns_are_the_shares_of_objects_by_confidence(consensus):
    heights = [
        column.get_height() for column in plots.confidence_histogram(consensus, bins=4).patches
    ]
    assert_allclose(heights, np.histogram(consensus.confidence, bins=4, range=(0, 1))[0] / 200)


@pytest.mark.parametrize("by", ["weight", "agreement"])
def test_bars_are_the_weights_or_agreements(by, consensus):
    ax = plots.reliability_bars(consensus, by=by)
    drawn = {
        label.get_text(): bar.get_width()
        for label, bar in zip(ax.get_yticklabels(), ax.patches, strict=True)
    }
    table = consensus.voters()
    expected = {
        name: value
        for name, kind, value in zip(table["model"], table["kind"], table[by], strict=True)
        if kind != "clustering"
    }
    assert drawn == pytest.approx(expected)


def test_where_all_weights_are_one_the_bars_are_the_estimated_accuracy(consensus):
    alike = solve(consensus.solution.votes)
    ax, table = plots.reliability_bars(alike), alike.voters()
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted((x for x in table["estimated"] if x is not None), reverse=True)
    assert ax.get_xlabel() == "estimated accuracy" and widths[0] - widths[-1] > 0.2
    assert not any(table["weight"])


def test_classifiers_worse_than_chance_are_hatched(consensus):
    ax = plots.reliability_bars(consensus)
    hatched = [
        label.get_text()
        for label, bar in zip(ax.get_yticklabels(), ax.patches, strict=True)
        if bar.get_hatch()
    ]
    assert hatched == list(consensus.solution.worse_than_chance) == ["turned"]


def test_contested_bars_are_apart_by_the_margin(consensus):
    ax = plots.contested_objects(consensus, 6)
    widths = [bar.get_width() for bar in ax.patches]
    assert_allclose(np.subtract(widths[:6], widths[6:]), consensus.contested(6)["margin"])


def test_parts_of_cluster_bars_add_up_to_the_shares_of_clusters(consensus):
    ax = plots.cluster_classes(consensus, "kmeans")
    tops = np.sum([[bar.get_height() for bar in bars] for bars in ax.containers], axis=0)
    labels = [int(label.get_text()) for label in ax.get_xticklabels()]
    cluster = np.array([consensus.solution.votes.said(i)[-1] for i in range(200)])
    assert_allclose(tops, [np.mean(cluster == label) for label in labels])


def a_hundred() -> Consensus:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)
    said = np.where(rng.random((60, 100)) < 0.8, truth[:, None], 1 - truth[:, None])
    names = {f"annotator number {m}": said[:, m] for m in range(100)}
    return EC3().solve(Votes.from_labels(names, {"k": rng.integers(40, size=60)}))


@pytest.mark.parametrize(
    "draw",
    [plots.agreement_map, plots.reliability_bars, lambda c: plots.cluster_classes(c, "k", most=40)],
    ids=["map", "bars", "clusters"],
)
def test_labels_of_a_hundred_models_do_not_overlap(draw):
    ax = draw(a_hundred())
    ax.figure.canvas.draw()
    for labels, side in ((ax.get_xticklabels(), "x"), (ax.get_yticklabels(), "y")):
        boxes = [label.get_window_extent() for label in labels if label.get_text()]
        boxes.sort(key=lambda box: box.x0 if side == "x" else box.y0)
        for one, other in pairwise(boxes):
            assert not one.overlaps(other), side


def of_classes(n_classes: int, name: str = "class") -> Consensus:
    rng = np.random.default_rng(n_classes)
    names = np.array([f"{name} {z}" for z in range(n_classes)], dtype=object)
    truth = rng.integers(n_classes, size=400)
    said = {
        f"m{m}": names[np.where(rng.random(400) < 0.5, truth, rng.integers(n_classes, size=400))]
        for m in range(4)
    }
    said["turned"] = names[(truth + 1) % n_classes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReliabilityWarning)  # of the one that is turned
        return WeightedVote("agreement").solve(
            Votes.from_labels(said, {"k": truth + rng.integers(30, size=400)})
        )


FULL = {
    **{f"contested {n}": lambda c, n=n: plots.contested_objects(c, n) for n in (1, 30)},
    "weights": plots.reliability_bars,
    "agreement": lambda c: plots.reliability_bars(c, by="agreement"),
    "clusters": lambda c: plots.cluster_classes(c, "k"),
}


@pytest.mark.parametrize("draw", FULL.values(), ids=FULL)
@pytest.mark.parametrize(("n_classes", "name"), [(5, "a class with a long name, the"), (26, "c")])
def test_a_legend_covers_neither_bars_nor_title(draw, n_classes, name):
    ax = draw(of_classes(n_classes, name))
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    inside = ax.get_window_extent()
    assert legend.y0 >= inside.y1 - 1 or legend.x0 >= inside.x1 - 1
    assert not legend.overlaps(ax.title.get_window_extent())
    assert legend.x1 <= ax.figure.bbox.x1 + 1
    assert legend.y1 <= ax.figure.bbox.y1 + 1


def test_a_colour_bar_is_as_high_as_the_map():
    ax = plots.agreement_map(of_classes(3))
    ax.figure.canvas.draw()
    bar = ax.child_axes[0]
    assert_allclose(bar.get_window_extent().height, ax.get_window_extent().height, rtol=0.01)


def test_names_are_cut_in_the_middle_because_they_may_differ_at_the_end():
    consensus = EC3().solve(
        Votes.from_labels({f"an annotator with a long name {m}": ["a", "b"] for m in range(3)})
    )
    labels = [label.get_text() for label in plots.reliability_bars(consensus).get_yticklabels()]
    assert labels == [f"an annotator …ong name {m}" for m in range(3)]


def test_names_are_drawn_as_they_are():
    consensus = EC3().solve(
        Votes.from_labels({"$\\frac{1}$": ["a", "b"], "x" * 10_000: ["a", "b"]})
    )
    ax = plots.reliability_bars(consensus)
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "\\$\\frac{1}\\$",
        "x" * 13 + "…" + "x" * 10,
    ]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda c: plots.reliability_bars(c, by="size"),
            "Unknown by 'size'. Choose from: weight, agreement.",
        ),
        (lambda c: plots.cluster_classes(c, "k"), "Unknown clustering 'k'. Choose from: kmeans."),
        (lambda c: plots.contested_objects(c, 2.5), r"n must be an integer >= 0, got 2\.5\."),
    ],
)
def test_what_is_refused(call, words, consensus):
    with pytest.raises(ValueError, match=words):
        call(consensus)


@pytest.mark.parametrize(
    "name", ["agreement_map", "confidence_histogram", "reliability_bars", "contested_objects"]
)
def test_votes_that_were_not_solved_are_refused(name, consensus):
    words = "consensus must be a Consensus, got Votes. Solve votes first: EC3().solve(votes)."
    with pytest.raises(TypeError, match=re.escape(words)):
        getattr(plots, name)(consensus.solution.votes)


def test_a_picture_of_no_contested_object_is_empty(consensus):
    ax = plots.contested_objects(consensus, 0)
    ax.figure.canvas.draw()
    assert ax.get_legend() is None


def test_without_matplotlib_one_sentence_says_what_to_do(monkeypatch, consensus):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ModuleNotFoundError,
        match=r"Drawing plots needs matplotlib: pip install 'ec3learn\[plots\]'\.",
    ):
        plots.confidence_histogram(consensus)


def test_pictures_are_drawn_without_a_display(tmp_path):
    code = (
        "from ec3learn import EC3, Votes, plots\n"
        "c = EC3().solve(Votes.from_labels({'a': [0, 1, 1], 'b': [0, 0, 1]}))\n"
        f"plots.confidence_histogram(c).figure.savefig({str(tmp_path / 'p.png')!r})"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={"PATH": "", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )
    assert (tmp_path / "p.png").stat().st_size > 1000
