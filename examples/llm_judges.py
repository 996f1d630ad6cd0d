"""
Judge LLM answers with several judges
=====================================

Two language models answered 600 prompts. Seven judges (other models) compared the two answers, A and B, with a score from 1
(A is much better) to 5 (B is much better). Judges have habits: one prefers the first answer, one the longer answer, one knows
only extremes, and two belong to the same family and make the same mistakes. People have judged 50 of the prompts. Which answer
is better, and which judges can you trust?

The judges are simulated, with habits that have been reported for real ones.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

import ec3learn
from ec3learn import MajorityVote, Scale, Votes
from ec3learn.report import plots

# %%
# The judges
# ----------
#
# A judge sees how much better B is, with noise and a lean of its own, and turns it into a score.

rng = np.random.default_rng(0)
n = 600
better = rng.normal(size=n)  # how much better B is than A
longer = 0.6 * better + 0.8 * rng.normal(size=n)  # better answers tend to be longer
truth = np.where(better > 0, "B", "A")


def judge(noise, seen=better, lean=0.0, cuts=(-1.2, -0.4, 0.4, 1.2)):
    """Return the scores of a judge: 1 below the first cut, 5 above the last."""
    return 1 + np.searchsorted(cuts, seen + lean + noise * rng.normal(size=n))


family = better + 1.3 * rng.normal(size=n)  # what both judges of one family see
scores = {
    "careful": judge(0.6),
    "plain": judge(1.0),
    "first is best": judge(0.7, lean=-1.2),
    "long is best": judge(0.5, seen=longer),
    "extreme": judge(0.9, cuts=(-0.1, -0.05, 0.05, 0.1)),
    "family, large": judge(0.3, seen=family),
    "family, small": judge(0.3, seen=family),
}
people = {int(i): truth[i] for i in rng.choice(n, 50, replace=False)}  # the judgements of people on 50 prompts
hidden = np.setdiff1d(np.arange(n), list(people))


def right(consensus):
    """Return the accuracy of an answer on the prompts that people have not judged."""
    return float(np.mean(consensus.labels()[hidden] == truth[hidden]))


# %%
# Combine the scores
# ------------------
#
# A `Scale` lists the scores from low to high. The lowest one stands for the first of the classes, the highest for the last.
# `solve` learns from all scores together what each score of each judge means; a majority vote counts scores below and above 3.

votes = Votes.from_labels(scores, classes=["A", "B"], scale=Scale(range(1, 6)))
print("majority vote:", round(right(MajorityVote().solve(votes)), 3))
print("solve:        ", round(right(ec3learn.solve(votes)), 3))

# %%
# The judge who prefers the first answer says 1 or 2 for half of the prompts where B is better. But a 3 of this judge
# speaks for B:

consensus = ec3learn.solve(votes, people)
consensus.confusion("first is best")

# %%
# Keep one judge per family
# -------------------------
#
# The agreement map, of scores below and above 3, shows two judges who agree far more than any others. They repeat each other's
# mistakes. Where voters agree beyond what the truth explains, `solve` is less sure of all of them, but it cannot know which of
# them are copies. Without the second judge of the family the answer is better.

plots.agreement_map(MajorityVote().solve(votes.as_class_votes()))
plt.show()

# %%
fair = votes.drop("family, small")
consensus = ec3learn.solve(fair, people)
print("one judge of the family:", round(right(consensus), 3))

# %%
# Do the 50 judgements of people help?
# ------------------------------------
#
# They teach the methods a little, and they calibrate the confidence: the share of correct answers among those that are 90 %
# confident should be 90 %. The last note says what this did.

print(consensus.notes[-1])
print("mean confidence:", consensus.confidence[hidden].mean().round(3), " right:", round(right(consensus), 3))

# %%
# The result
# ----------
#
# Left: the accuracy of each judge (a 3 counts as half right) and of the judges combined, which we know only because the data is
# simulated. Right: the prompts that people should judge next.

ways = {
    "majority vote, all": right(MajorityVote().solve(votes)),
    "solve, all": right(ec3learn.solve(votes, people)),
    "majority vote, one of the family": right(MajorityVote().solve(fair)),
    "solve, one of the family": right(consensus),
}
alone = {name: float(np.mean(np.where(own == 3, 0.5, (own > 3) == (truth == "B")))) for name, own in scores.items()}
bars_of = alone | ways
fig, (left, side) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
bars = left.barh(list(bars_of), list(bars_of.values()), color=["0.75"] * len(alone) + ["#00204d"] * len(ways))
left.bar_label(bars, fmt="%.2f", padding=4)
left.invert_yaxis()
left.set(xlim=(0, 1.1), xlabel="share of prompts judged correctly", title="Judges (grey) and judges combined (dark)")
plots.contested_objects(consensus, 8, ax=side)
plt.show()
