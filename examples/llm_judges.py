"""
Judge LLM answers with several judges
=====================================

Two language models answered 600 prompts, and six judges (other models) said which answer is better, A or B. Judges have
habits: one prefers whatever comes first, one whatever is longer, two are of the same family and err together. People have
judged 30 of the prompts. Which answer is better, and which judge should one believe?

The judges are made up, with habits of the kinds that are reported of real ones.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from ec3learn import DawidSkene, MajorityVote, Votes
from ec3learn.report import plots

# %%
# The judges
# ----------
#
# A judge is right with its skill, unless its habit takes over.

rng = np.random.default_rng(0)
n = 600
truth = rng.choice(["A", "B"], n, p=[0.5, 0.5])
longer = np.where(rng.random(n) < 0.6, truth, rng.choice(["A", "B"], n))  # better answers tend to be longer
other = np.where(truth == "A", "B", "A")


def judge(skill, habit=None, strength=0.0):
    """Return what a judge says: the truth with its skill, and its habit with that strength."""
    said = np.where(rng.random(n) < skill, truth, other)
    return said if habit is None else np.where(rng.random(n) < strength, habit, said)


family = judge(0.72)
said = {
    "careful": judge(0.85),
    "plain": judge(0.75),
    "first is best": judge(0.8, "A", 0.5),
    "long is best": judge(0.6, longer, 0.8),
    "family, large": np.where(rng.random(n) < 0.9, family, judge(0.72)),
    "family, small": np.where(rng.random(n) < 0.9, family, judge(0.72)),
}
votes = Votes.from_labels(said)

people = {int(i): truth[i] for i in rng.choice(n, 30, replace=False)}  # what people said about 30 prompts
hidden = np.setdiff1d(np.arange(n), list(people))


def right(consensus):
    """Return how often an answer is right about the prompts people have not judged."""
    return float(np.mean(consensus.labels()[hidden] == truth[hidden]))


# %%
# A first try, and what goes wrong
# --------------------------------
#
# Judges with habits are biased voters, and Dawid-Skene is made for those. But here it does worse than counting votes.

print("majority vote:", round(right(MajorityVote().solve(votes)), 3))
print("Dawid-Skene:  ", round(right(DawidSkene().solve(votes, people)), 3))

# %%
# The agreement map shows why. The two judges of one family agree far better than any others. Dawid-Skene supposes that
# voters err independently; two who agree so well must then both be excellent, and it follows them.

plots.agreement_map(MajorityVote().solve(votes))
plt.show()

# %%
# One voice for a family
# ----------------------
#
# We keep one of the two. Now Dawid-Skene gains on the majority vote, which gains too. It also finds the habit: the judge
# who likes the first answer says "A" about most of the prompts where B is better.

fair = votes.drop("family, small")
consensus = DawidSkene().solve(fair, people)
consensus.confusion("first is best")

# %%
# Do the 30 judgements of people help?
# ------------------------------------
#
# Hardly, as labels that are held: they are 30 of 600. They are worth more as a check: hide them from the method, and count
# how many it gets right. Here they put the ways to combine into the right order, but thirty are few, and a difference of
# two or three may be chance.

checked = list(people)
for name, judges in {"all judges": votes, "one of the family": fair}.items():
    for method in (MajorityVote(), DawidSkene()):
        answers = method.solve(judges).labels()[checked]
        print(f"{name}, {method}: right about {np.sum(answers == truth[checked])} of 30")

# %%
# The picture
# -----------
#
# What each judge and each way to combine gets right, which only made-up data can tell; and the prompts to show people next.

ways = {
    "majority vote, all": right(MajorityVote().solve(votes)),
    "Dawid-Skene, all": right(DawidSkene().solve(votes, people)),
    "majority vote, one of the family": right(MajorityVote().solve(fair)),
    "Dawid-Skene, one of the family": right(consensus),
}
scores = {name: float(np.mean(said[name] == truth)) for name in said} | ways
fig, (left, side) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
bars = left.barh(list(scores), list(scores.values()), color=["0.75"] * len(said) + ["#00204d"] * len(ways))
left.bar_label(bars, fmt="%.2f", padding=4)
left.invert_yaxis()
left.set(xlim=(0, 1.1), xlabel="share of prompts judged right", title="Judges (grey) and judges combined (dark)")
plots.contested_objects(consensus, 8, ax=side)
plt.show()
