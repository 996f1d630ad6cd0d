"""
Five labels per class: do clusterings help?
===========================================

Labels are expensive, objects are not. Three classifiers learn from a few labels per class; three
clusterings see all objects and no labels. Do the clusterings help? We try 2 to 50 labels per class
on two data sets that come with scikit-learn. The short answer: on one of them, they help with five
labels but not with fifty; on the other, hardly ever. The method that trusts clusterings most gains
most with few labels and loses with many.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ec3learn import EC3, DawidSkene, Table, Votes
from ec3learn.report import plots

LABELS = (2, 5, 10, 20, 50)  # per class
REPEATS = 5
KMEANS = {"kmeans 1": 1, "kmeans 2": 2, "kmeans 4": 4}  # clusters per class

# %%
# The base models
# ---------------
#
# The clusterings have 1, 2 and 4 clusters per class. The names of their clusters mean nothing, and
# they never see a label.


def clusterings_of(X, n_classes):
    """Return three clusterings of all objects."""
    return {
        name: KMeans(k * n_classes, n_init=1, random_state=0).fit_predict(X)
        for name, k in KMEANS.items()
    }


def votes_of(X, y, labelled):
    """Return the votes on all objects of three classifiers that are trained on the labelled ones."""
    pool = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "neighbours": KNeighborsClassifier(1),
        "bayes": GaussianNB(var_smoothing=1e-2),
    }
    return {name: model.fit(X[labelled], y[labelled]).predict(X) for name, model in pool.items()}


# %%
# With and without clusterings
# ----------------------------
#
# iEC3 combines the classifiers alone, and again with the clusterings. Dawid-Skene can use
# clusterings as voters, which trusts them more. Accuracy is measured on the objects without labels.

WAYS = {
    "iEC3, classifiers alone": lambda votes, known: EC3().solve(votes.drop(*KMEANS), known),
    "iEC3, with clusterings": lambda votes, known: EC3().solve(votes, known),
    "Dawid-Skene, clusterings as voters": lambda votes, known: DawidSkene(
        clusterings="voters"
    ).solve(votes, known),
}


def accuracies(X, y, per_class, clusterings, rng):
    """Return the accuracy of each method on the objects without labels, for one choice of labels."""
    labelled = np.concatenate(
        [rng.choice(np.flatnonzero(y == z), per_class, replace=False) for z in np.unique(y)]
    )
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    votes = Votes.from_labels(votes_of(X, y, labelled), clusterings)
    return [
        np.mean(way(votes, (labelled, y[labelled])).labels()[rest] == y[rest])
        for way in WAYS.values()
    ]


def study(X, y):
    """Return the mean accuracy for each number of labels and each method."""
    rng, clusterings = np.random.default_rng(0), clusterings_of(X, len(np.unique(y)))
    return np.mean(
        [[accuracies(X, y, n, clusterings, rng) for n in LABELS] for _ in range(REPEATS)], axis=0
    )


digits, digit = load_digits(return_X_y=True)
cells, cancer = load_breast_cancer(return_X_y=True)
results = {
    "handwritten digits": study(digits, digit),
    "breast cancer": study(StandardScaler().fit_transform(cells), cancer),
}
for title, right in results.items():
    print(title)
    print(
        Table({"labels per class": LABELS} | dict(zip(WAYS, right.T.tolist(), strict=True))), "\n"
    )

# %%
# Do the clusters follow the classes?
# -----------------------------------
#
# This decides whether clusterings help. Most of the ten clusters hold a single digit; some mix two
# or three. (The table `voters` of a consensus has the same as numbers: purity and mutual
# information.)

rng = np.random.default_rng(0)
labelled = np.concatenate(
    [rng.choice(np.flatnonzero(digit == z), 5, replace=False) for z in range(10)]
)
votes = Votes.from_labels(votes_of(digits, digit, labelled), clusterings_of(digits, 10))
consensus = EC3().solve(votes, (labelled, digit[labelled]))
plots.cluster_classes(consensus, "kmeans 1")
plt.show()

# %%
# The result
# ----------

fig, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
for ax, (title, right) in zip(axes, results.items(), strict=True):
    for way, line, style, colour in zip(
        WAYS, right.T, ("s:", "o-", "v--"), ("0.5", "#00204d", "#a5803b"), strict=True
    ):
        ax.plot(LABELS, line, style, color=colour, label=way)
    ax.set(xscale="log", xticks=LABELS, xticklabels=LABELS, xlabel="labels per class", title=title)
    ax.minorticks_off()
    ax.grid(alpha=0.3)
axes[0].set_ylabel("accuracy on objects without labels")
axes[1].legend(loc="lower right")
plt.show()

# %% For your own data: hide some of the labels, compare the accuracy with and without clusterings,
# and keep them only if they help. `EC3Classifier` does this for you.
