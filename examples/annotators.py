"""
Which of my annotators can I trust?
===================================

Ten people labelled 400 photos as cat, dog or fox. Nobody labelled them all, and nobody knows the truth. Yet the votes alone
tell who is careful, who guesses and who leans to one answer, as long as most people are better than chance and make their
mistakes independently.

The data is made up, so that in the end we can look whether it worked.
"""

# %%
# The votes
# ---------
#
# Each annotator sees about 60 % of the photos. Six are decent, one is careful, one guesses, one says "dog" all the time,
# and one takes most foxes for dogs.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from ec3learn import DawidSkene, MajorityVote, Table, Votes
from ec3learn.report import plots

rng = np.random.default_rng(0)
animals = np.array(["cat", "dog", "fox"])
truth = rng.choice(animals, 400, p=[0.5, 0.3, 0.2])
skill = {"Ann": 0.95, "Ben": 0.75, "Cleo": 0.7, "Dan": 0.65, "Eve": 0.7, "Fay": 0.6, "Gus": 0.75, "Ida": 0.85}
skill |= {"Hal": 0, "Joe": 0}

said, seen = {}, {}
for name, share in skill.items():
    said[name] = np.where(rng.random(400) < share, truth, rng.choice(animals, 400))
    seen[name] = rng.random(400) < 0.6
said["Ida"][(truth == "fox") & (rng.random(400) < 0.8)] = "dog"  # takes foxes for dogs
said["Joe"][:] = "dog"  # says the same about all

votes = Votes.from_labels({name: np.where(seen[name], said[name], None) for name in said})
print(votes)

# %%
# Who agrees with whom
# --------------------
#
# A first look needs no method. Joe, who always says "dog", and Hal, who guesses, are the dark edges of the map.

majority = MajorityVote().solve(votes)
plots.agreement_map(majority)

# %%
# How each one errs
# -----------------
#
# Dawid-Skene finds the true labels and each annotator's way of being wrong together. `confusion` shows what a person says
# about photos of each class: Ida's foxes are dogs. Her other answers are fine, and the method uses them.

consensus = DawidSkene().solve(votes)
consensus.confusion("Ida")

# %%
# Did it work?
# ------------
#
# Here the truth is known. The estimates come from the votes alone.


def estimated(name: str) -> float:
    """Return how often this annotator is right, by the consensus."""
    table = consensus.confusion(name)
    return sum(share * table[f"says {animal}"][z] for z, (animal, share) in enumerate(zip(animals, table["share"], strict=True)))


def actual(name: str) -> float:
    """Return how often this annotator is right."""
    return float(np.mean((said[name] == truth)[seen[name]]))


print(Table({"annotator": list(skill), "estimated": [*map(estimated, skill)], "actual": [*map(actual, skill)]}))
print("majority vote right:", np.mean(majority.labels() == truth), " Dawid-Skene right:", np.mean(consensus.labels() == truth))

# %%
# The picture: how often each annotator is right, as it was estimated and as it is; and the photos to look at again.

fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
names = sorted(skill, key=actual)
left.hlines(names, 0, [actual(name) for name in names], color="0.85", zorder=0)
left.scatter([actual(name) for name in names], names, s=80, color="#a5803b", label="actual")
left.scatter([estimated(name) for name in names], names, marker="x", color="#00204d", label="estimated without the truth")
left.set(xlim=(0, 1.02), xlabel="share of photos named right", title="How often each annotator is right")
left.legend(loc="lower right")
plots.contested_objects(consensus, 8, ax=right)
plt.show()

# %%
# When not to believe it
# ----------------------
#
# Agreement is all there is to go by. Let Hal, who guesses, bring four friends who copy him: they agree perfectly, so they
# seem perfect, and the answer follows them. Thirty known labels hardly help.

copies = votes.add({f"friend {i}": np.where(seen["Hal"], said["Hal"], None) for i in range(4)})
known = {i: truth[i] for i in range(30)}
print("right with four copies of Hal:", np.mean(DawidSkene().solve(copies).labels() == truth))
print("and with 30 known labels:", np.mean(DawidSkene().solve(copies, known).labels() == truth))

# %%
# Copies of Joe would do no harm: who says the same about everything tells nothing, and Dawid-Skene sees that. Otherwise
# look at the agreement map for people who agree too well, and drop all but one of them: ``votes.drop("friend 0", "friend
# 1")``.
