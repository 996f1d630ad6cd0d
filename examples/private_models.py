"""
Combine models without sharing data
===================================

Five post offices read handwritten digits. Each has a scanner that sees a part of the image, and 40
labelled digits that must not leave the office. The offices may share only answers: the votes of
their models on the same 1,000 new digits, and a clustering of these digits. A consensus needs
nothing else.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from ec3learn import EC3, Consensus, DawidSkene, MajorityVote, Votes

# %%
# Each office alone
# -----------------
#
# Each office sees 24 of the 64 pixels and trains a model of its own choice on its own 40 digits.

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
new, later, records = np.split(rng.permutation(len(y)), [1000, 1500])

models = {
    "north": LogisticRegression(C=0.01, max_iter=500),
    "south": GaussianNB(var_smoothing=0.01),
    "east": RandomForestClassifier(random_state=0),
    "west": KNeighborsClassifier(1),
    "island": DecisionTreeClassifier(random_state=0),
}
pixels = {name: rng.choice(64, 24, replace=False) for name in models}
drawers = dict(zip(models, np.split(records[:200], 5), strict=True))
for name, model in models.items():
    model.fit(X[drawers[name]][:, pixels[name]], y[drawers[name]])

# %%
# What the offices share
# ----------------------
#
# Each office shares two columns: the digit that its model reads, and the number of a cluster.
# Cluster 7 of one office has nothing to do with cluster 7 of another, nor with the digit 7.

groupings = {
    name: KMeans(20, n_init=1, random_state=0).fit(X[new][:, pixels[name]]) for name in models
}


def answers(rows):
    """Return the votes of all offices on some digits."""
    read = {name: model.predict(X[rows][:, pixels[name]]) for name, model in models.items()}
    grouped = {
        f"{name} groups": groupings[name].predict(X[rows][:, pixels[name]]) for name in models
    }
    return Votes.from_labels(read, grouped)


votes = answers(new)
print(votes)

# %%
# One answer
# ----------
#
# The majority vote ignores the clusters; iEC3 smooths over them. Dawid-Skene uses the clusterings
# as voters. This is a good choice here: each office clusters by its own pixels, so the clusterings
# make independent mistakes. None of the methods has seen a label.

consensus = DawidSkene(clusterings="voters").solve(votes)
combined = {
    "majority vote": MajorityVote().solve(votes),
    "iEC3": EC3().solve(votes),
    "Dawid-Skene with groups": consensus,
}
consensus.voters()

# %%
# New digits, later
# -----------------
#
# The saved consensus is a small file with one row per group and no digits. With it, any office can
# combine answers on later digits. (A group with a single member would reveal the answer for this
# member, so check the sizes of the groups before sharing.)

with tempfile.TemporaryDirectory() as folder:
    consensus.save(Path(folder) / "offices.ec3")
    loaded = Consensus.load(Path(folder) / "offices.ec3")
print(
    f"accuracy on later digits: {np.mean(loaded.extend(answers(later)).labels() == y[later]):.3f}"
)
print(
    "smallest group:", min(np.bincount(grouping.labels_).min() for grouping in groupings.values())
)

# %%
# The result
# ----------
#
# The last bar shows what the offices must not do: train one model on the labelled digits and pixels
# of all of them. Sharing the data would still be better, but sharing answers closes more than half
# of the gap between the best office and this model.

right = {
    name: np.mean(model.predict(X[new][:, pixels[name]]) == y[new])
    for name, model in models.items()
}
right |= {name: np.mean(answer.labels() == y[new]) for name, answer in combined.items()}
pooled = LogisticRegression(C=0.01, max_iter=500).fit(X[records[:200]], y[records[:200]])
right["all data in one place"] = np.mean(pooled.predict(X[new]) == y[new])

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
colours = ["0.75"] * 5 + ["#00204d"] * 3 + ["white"]
bars = ax.barh(list(right), list(right.values()), color=colours, edgecolor="black", linewidth=0.6)
bars[-1].set_hatch("//")
ax.bar_label(bars, fmt="%.2f", padding=4)
ax.invert_yaxis()
ax.set(
    xlim=(0, 1.05),
    xlabel="accuracy on 1,000 digits",
    title="Alone, combined, and what sharing data would give",
)
plt.show()
