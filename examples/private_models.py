"""
Combine models without sharing data
===================================

Five post offices read handwritten digits. Each has a scanner that sees a part of the picture, and a drawer with 40 labelled
digits that may not leave the house. What they may share are answers: what each model says about the same 1,000 new digits,
and how each office groups them. A consensus needs nothing else.
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
# Each office by itself
# ---------------------
#
# Each sees 24 of the 64 pixels, and trains a model of its own choice on its own 40 digits.

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
# What leaves the house
# ---------------------
#
# Two columns from each office: the digit its model reads, and the number of a cluster. Cluster 7 of one office has nothing
# to do with cluster 7 of another, nor with the digit 7.

groupings = {name: KMeans(20, n_init=1, random_state=0).fit(X[new][:, pixels[name]]) for name in models}


def answers(rows):
    """Return the votes of all offices on some digits."""
    read = {name: model.predict(X[rows][:, pixels[name]]) for name, model in models.items()}
    grouped = {f"{name} groups": groupings[name].predict(X[rows][:, pixels[name]]) for name in models}
    return Votes.from_labels(read, grouped)


votes = answers(new)
print(votes)

# %%
# One answer
# ----------
#
# The majority vote has no use for the groups; iEC3 smooths over them. Dawid-Skene takes them as voters: a good choice here,
# because each office groups by pixels of its own, so that the groups err independently. Nobody has told any of them a
# label.

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
# What was learned is a small file with a row for each group and none for a digit. With it any office can combine answers on
# digits that come later. (A group with one member would tell about that member, so look at the sizes of the groups before
# sharing.)

with tempfile.TemporaryDirectory() as folder:
    consensus.save(Path(folder) / "offices.ec3")
    loaded = Consensus.load(Path(folder) / "offices.ec3")
print(f"right about later digits: {np.mean(loaded.extend(answers(later)).labels() == y[later]):.3f}")
print("smallest group:", min(np.bincount(grouping.labels_).min() for grouping in groupings.values()))

# %%
# The picture
# -----------
#
# The last bar is what nobody may do: one model on the labelled digits of all offices, all pixels at once. Sharing data would
# still be better. Sharing answers gets more than half of the way from the best office to it.

right = {name: np.mean(model.predict(X[new][:, pixels[name]]) == y[new]) for name, model in models.items()}
right |= {name: np.mean(answer.labels() == y[new]) for name, answer in combined.items()}
pooled = LogisticRegression(C=0.01, max_iter=500).fit(X[records[:200]], y[records[:200]])
right["all data in one place"] = np.mean(pooled.predict(X[new]) == y[new])

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
colours = ["0.75"] * 5 + ["#00204d"] * 3 + ["white"]
bars = ax.barh(list(right), list(right.values()), color=colours, edgecolor="black", linewidth=0.6)
bars[-1].set_hatch("//")
ax.bar_label(bars, fmt="%.2f", padding=4)
ax.invert_yaxis()
ax.set(xlim=(0, 1.05), xlabel="share of 1,000 digits read right", title="Alone, combined, and what sharing data would give")
plt.show()
