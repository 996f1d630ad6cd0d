"""
Judge LLM answers with several judges
=====================================

Two language models answered 600 prompts, and six judges (other models) decided which answer is better, A or B. Judges have
habits: one prefers the first answer, one the longer answer, and two belong to the same family and make the same mistakes.
People have judged 30 of the prompts. Which answer is better, and which judges can you trust?

The judges are simulated, with habits that have been reported for real ones.
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
# A judge is right as often as its skill, unless its habit takes over.

rng = np.random.default_rng(0)
n = 600
truth = rng.choice(["A", "B"], n, p=[0.5, 0.5])
longer = np.where(rng.random(n) < 0.6, truth, rng.choice(["A", "B"], n))  # better answers tend to be longer
other = np.where(truth == "A", "B", "A")


def judge(skill, habit=None, strength=0.0):
    """Return the votes of a judge: right with probability `skill`, but its habit with probability `strength`."""
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

people = {int(i): truth[i] for i in rng.choice(n, 30, replace=False)}  # the judgements of people on 30 prompts
hidden = np.setdiff1d(np.arange(n), list(people))


def right(consensus):
    """Return the accuracy of an answer on the prompts that people have not judged."""
    return float(np.mean(consensus.labels()[hidden] == truth[hidden]))


# %%
# What can go wrong
# -----------------
#
# Judges with habits are biased voters, and Dawid-Skene is made for biased voters. But here it does worse than a majority
# vote.

print("majority vote:", round(right(MajorityVote().solve(votes)), 3))
print("Dawid-Skene:  ", round(right(DawidSkene().solve(votes, people)), 3))

# %%
# The agreement map shows why. The two judges of one family agree far more than any others. Dawid-Skene assumes that voters
# make independent mistakes. Under this assumption, two judges who agree so well must both be excellent, so it follows them.

plots.agreement_map(MajorityVote().solve(votes))
plt.show()

# %%
# Keep one judge per family
# -------------------------
#
# Without the second judge of the family, both methods improve, and Dawid-Skene beats the majority vote. It also finds the
# habits: the judge who prefers the first answer says "A" for most of the prompts where B is better.

fair = votes.drop("family, small")
consensus = DawidSkene().solve(fair, people)
consensus.confusion("first is best")

# %%
# Do the 30 judgements of people help?
# ------------------------------------
#
# As known labels, hardly: they are only 30 of 600. They are worth more as a check: hide them from the method and count how
# many it gets right. Here they rank the methods correctly. But thirty are few, and a difference of two or three may be
# chance.

checked = list(people)
for name, judges in {"all judges": votes, "one of the family": fair}.items():
    for method in (MajorityVote(), DawidSkene()):
        answers = method.solve(judges).labels()[checked]
        print(f"{name}, {method}: right about {np.sum(answers == truth[checked])} of 30")

# %%
# The result
# ----------
#
# Left: the accuracy of each judge and each method, which we know only because the data is simulated. Right: the prompts that
# people should judge next.

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
left.set(xlim=(0, 1.1), xlabel="share of prompts judged correctly", title="Judges (grey) and judges combined (dark)")
plots.contested_objects(consensus, 8, ax=side)
plt.show()
