"""
Which of my annotators can I trust?
===================================

Ten people labelled 400 photos as cat, dog or fox. Nobody labelled them all, and nobody knows the
truth. Still, the votes alone show who is careful, who guesses and who prefers one answer, as long
as most people are better than chance and make independent mistakes.

The data is simulated, so that we can check at the end whether it worked.
"""

# %%
# The votes
# ---------
#
# Each annotator sees about 60 % of the photos. Six are decent, one is careful, one guesses, one
# says "dog" all the time, and one mistakes most foxes for dogs.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

import ec3learn
from ec3learn import DawidSkene, MajorityVote, Table, Votes
from ec3learn.report import plots

rng = np.random.default_rng(0)
animals = np.array(["cat", "dog", "fox"])
truth = rng.choice(animals, 400, p=[0.5, 0.3, 0.2])
skill = {
    "Ann": 0.95,
    "Ben": 0.75,
    "Cleo": 0.7,
    "Dan": 0.65,
    "Eve": 0.7,
    "Fay": 0.6,
    "Gus": 0.75,
    "Ida": 0.85,
}
skill |= {"Hal": 0, "Joe": 0}

said, seen = {}, {}
for name, share in skill.items():
    said[name] = np.where(rng.random(400) < share, truth, rng.choice(animals, 400))
    seen[name] = rng.random(400) < 0.6
said["Ida"][(truth == "fox") & (rng.random(400) < 0.8)] = "dog"  # mistakes foxes for dogs
said["Joe"][:] = "dog"  # gives the same answer for every photo

votes = Votes.from_labels({name: np.where(seen[name], said[name], None) for name in said})
print(votes)

# %%
# Who agrees with whom
# --------------------
#
# For a first look, compare the annotators with each other. Joe, who always says "dog", and Hal, who
# guesses, are the dark edges of the map.

majority = MajorityVote().solve(votes)
plots.agreement_map(majority)

# %%
# The labels
# ----------
#
# `solve` lets several methods answer and takes the mean of their probabilities. The first note says
# which.

consensus = ec3learn.solve(votes)
print(consensus.notes[0])

# %%
# What mistakes does each annotator make?
# ---------------------------------------
#
# To describe the annotators, take a method that is a model of them: Dawid-Skene estimates the true
# labels together with a confusion matrix for each annotator. Ida calls foxes dogs. Her other
# answers are good, and the method uses them.

skills = DawidSkene().solve(votes)
skills.confusion("Ida")

# %%
# Did it work?
# ------------
#
# For simulated data we know the truth. The estimates use only the votes.


def estimated(name: str) -> float:
    """Return how often this annotator is right, estimated from the votes."""
    table = skills.confusion(name)
    return sum(
        share * table[f"says {animal}"][z]
        for z, (animal, share) in enumerate(zip(animals, table["share"], strict=True))
    )


def actual(name: str) -> float:
    """Return how often this annotator is right."""
    return float(np.mean((said[name] == truth)[seen[name]]))


print(
    Table(
        {
            "annotator": list(skill),
            "estimated": [*map(estimated, skill)],
            "actual": [*map(actual, skill)],
        }
    )
)
print(
    "majority vote right:",
    np.mean(majority.labels() == truth),
    " solve right:",
    np.mean(consensus.labels() == truth),
)

# %%
# Left: how often each annotator is right, estimated and actual. Right: the photos to review first.

fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
names = sorted(skill, key=actual)
left.hlines(names, 0, [actual(name) for name in names], color="0.85", zorder=0)
left.scatter([actual(name) for name in names], names, s=80, color="#a5803b", label="actual")
left.scatter(
    [estimated(name) for name in names],
    names,
    marker="x",
    color="#00204d",
    label="estimated without the truth",
)
left.set(
    xlim=(0, 1.02),
    xlabel="share of photos labelled correctly",
    title="How often each annotator is right",
)
left.legend(loc="lower right")
plots.contested_objects(consensus, 8, ax=right)
plt.show()

# %%
# When not to trust it
# --------------------
#
# All methods see only agreement. Suppose Hal, who guesses, has four friends who copy him. They
# agree perfectly, so they look perfect, and the answer follows them. Thirty known labels undo about
# half of the harm.

copies = votes.add({f"friend {i}": np.where(seen["Hal"], said["Hal"], None) for i in range(4)})
known = {i: truth[i] for i in range(30)}
print("right with four copies of Hal:", np.mean(ec3learn.solve(copies).labels() == truth))
print("and with 30 known labels:", np.mean(ec3learn.solve(copies, known).labels() == truth))

# %% Copies of Joe would do little harm, because a voter with a single answer carries no
# information. For other copies, look for people who agree too well in the agreement map, and keep
# only one of them: ``votes.drop("friend 0", "friend 1")``.
