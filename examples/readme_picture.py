"""Draw the images of README.md and docs/report.md into docs/images."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from ec3learn import EC3, Consensus, Table, Votes
from ec3learn.demo import demo_votes
from ec3learn.report import plots

IMAGES = Path(__file__).parents[1] / "docs" / "images"
N_SHOWN = 40
COLOURS = {
    "ham": "#00306f",
    "news": "#8a8678",
    "spam": "#f3c73b",
}  # distinct in greyscale and for colour-blind readers
CLASSIFIERS, CLUSTERINGS = ["svm", "tree", "bayes", "knn", "rules"], ["kmeans", "dbscan"]


def draw(folder: Path = IMAGES) -> None:
    """Draw both images."""
    table = demo_votes()
    consensus = EC3().solve(
        Votes.from_labels({n: table[n] for n in CLASSIFIERS}, {n: table[n] for n in CLUSTERINGS})
    )
    for name, picture in {
        "idea.png": idea(table, consensus),
        "pictures.png": four(consensus),
    }.items():
        picture.savefig(folder / name, dpi=110, metadata={"Software": None})
        plt.close(picture)


def four(consensus: Consensus) -> Figure:
    """Draw the plots of docs/report.md."""
    fig, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    plots.agreement_map(consensus, ax=axes[0, 0])
    plots.confidence_histogram(consensus, ax=axes[0, 1])
    plots.contested_objects(consensus, 10, ax=axes[1, 0])
    plots.cluster_classes(consensus, "kmeans", ax=axes[1, 1])
    return fig


def idea(table: Table, consensus: Consensus) -> Figure:
    """Draw the votes at the top, the clusters in the middle and the consensus at the bottom."""
    shown = np.arange(N_SHOWN)
    shown = shown[np.lexsort((consensus.confidence[shown], consensus.labels()[shown]))]

    fig, (top, middle, foot) = plt.subplots(
        3, 1, figsize=(9, 4.6), height_ratios=[5, 2, 4], sharex=True, layout="constrained"
    )
    classes = list(COLOURS)
    said = [
        [classes.index(table[n][i]) if table[n][i] else np.nan for i in shown] for n in CLASSIFIERS
    ]
    top.pcolormesh(
        np.array(said),
        cmap=ListedColormap(list(COLOURS.values())),
        vmin=0,
        vmax=2,
        edgecolors="white",
        linewidth=1.5,
    )
    clusters = [[table[n][i] if table[n][i] >= 0 else np.nan for i in shown] for n in CLUSTERINGS]
    middle.pcolormesh(
        np.array(clusters, dtype=float),
        cmap="Greys",
        vmin=-2,
        vmax=10,
        edgecolors="white",
        linewidth=1.5,
    )
    for row, line in enumerate(clusters):
        for column, cluster in enumerate(line):
            if not np.isnan(cluster):
                middle.text(
                    column + 0.5, row + 0.5, int(cluster), ha="center", va="center", fontsize=7
                )
    base = np.zeros(len(shown))
    for z, colour in enumerate(COLOURS.values()):
        share = consensus.proba[shown, z]
        foot.bar(
            np.arange(len(shown)) + 0.5, share, 0.92, bottom=base, color=colour, label=classes[z]
        )
        base += share
    for ax, names in ((top, CLASSIFIERS), (middle, CLUSTERINGS)):
        ax.set_yticks(np.arange(len(names)) + 0.5, names)
        ax.invert_yaxis()
    top.set_title("Five classifiers vote, with gaps", loc="left", fontsize=10)
    middle.set_title("Two clusterings group", loc="left", fontsize=10)
    foot.set_title("One answer: class probabilities", loc="left", fontsize=10)
    foot.set(xlabel="mails", xticks=[], yticks=[0, 1], ylim=(0, 1))
    foot.legend(
        ncols=3,
        loc="lower right",
        bbox_to_anchor=(1, 0.98),
        frameon=False,
        borderaxespad=0,
        handlelength=1,
    )
    for ax in (top, middle, foot):
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
    return fig


if __name__ == "__main__":
    draw()
