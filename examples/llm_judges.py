"""
How good is my chatbot, by a jury of language models?
=====================================================

Six language models scored 1,000 answers of a chatbot from 1 (bad) to 5 (good). You want four
things: a verdict for each answer with a confidence that means something, the quality of each judge,
the true pass rate with an interval, and a list of answers that people should look at. People have
time for 50 answers. What do 50 labels buy?

The scores are simulated with habits that have been reported for real judges: some are lenient, one
knows only extremes, two belong to one family, and all of them like fluent answers, also wrong ones.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

import ec3learn
from ec3learn import MajorityVote, Scale, Votes
from ec3learn.diagnosis import agreement, effective_voters, error_correlation

# %%
# The scores
# ----------

rng = np.random.default_rng(0)
n = 1000
good = rng.random(n) < 0.6
fluent = rng.normal(size=n)
family = rng.normal(size=n)


def judge(noise, style, lean=0.0, own=0.0, cuts=(-1.2, -0.4, 0.4, 1.2)):
    """Return scores from 1 to 5: what is seen of an answer, cut into five; `style` is how far fluency counts."""
    seen = (
        0.8 * np.where(good, 1, -1)
        + style * fluent
        + own * family
        + noise * rng.normal(size=n)
        + lean
    )
    return 1 + np.searchsorted(cuts, seen)


scores = {
    "careful": judge(0.7, 0.8),
    "lenient": judge(0.9, 1.6, lean=1.0),
    "strict": judge(0.9, 1.2, lean=-0.8),
    "extreme": judge(1.0, 1.8, cuts=(-0.2, -0.1, 0.1, 0.2)),
    "family, large": judge(0.4, 1.0, own=0.9),
    "family, small": judge(0.6, 1.0, own=0.9),
}
truth = np.where(good, "pass", "fail")

# %%
# A verdict without labels
# ------------------------
#
# A `Scale` lists the scores from low to high. `solve` learns from all scores together what each
# score of each judge means.

votes = Votes.from_labels(scores, classes=["fail", "pass"], scale=Scale(range(1, 6)))
unlabelled = ec3learn.solve(votes)
print(
    "mean confidence",
    unlabelled.confidence.mean().round(3),
    " right",
    np.mean(unlabelled.labels() == truth).round(3),
)
agreement(votes, "ordinal", draws=100)

# %% The judges agree far beyond chance, and the verdict is surer than it should be: errors that all
# judges share cannot be told from the truth. Only labels can do that.
#
# 50 labels, drawn for the purpose
# --------------------------------
#
# `ask(goal="share")` draws answers at random, unsure ones with a larger chance; `estimate` corrects
# for the chances. From labels that were chosen otherwise, such as those of the most contested
# answers, the estimate would be wrong.

draw = unlabelled.ask(50, "share", random_state=0)
people = draw.to_frame()
people["label"] = [truth[i] for i in draw["object"]]  # by people, in a column of the table
pass_rate = unlabelled.estimate("pass", people)
print(pass_rate)

# %% The jury alone would have reported its own pass rate, without an interval. `worth` says how
# many labels alone would do as well as 50 labels together with the jury.

print("by the jury", np.mean(unlabelled.labels() == "pass").round(3), " true", good.mean().round(3))

# %% The labels also show how much the judges repeat each other: six scores are worth far fewer
# independent ones.

shared = error_correlation(votes, people)
print(
    "correlation of errors",
    round(shared, 2),
    " independent judges",
    round(effective_voters(votes, shared), 1),
)

# %%
# A calibrated verdict
# --------------------
#
# The same labels calibrate the confidence: of the answers with a confidence of 80 %, about 80 %
# should be right.

consensus = ec3learn.solve(votes, known=people)
print(*consensus.notes, sep="\n")
rest = np.setdiff1d(np.arange(n), people["object"])
right_there = np.mean(consensus.labels()[rest] == truth[rest])
print("mean confidence", consensus.confidence[rest].mean().round(3), " right", right_there.round(3))

# %%
# The judges
# ----------
#
# How often a judge is right, with an interval; a score in the middle counts half for each class. 50
# labels do not tell the better of two similar judges.

unlabelled.estimate("pass", people, voters=True)

# %%
# Without labels, the answer shows which way each judge leans, and by how much:

consensus.voters().select("model", "estimated", "leans_to", "bias")

# %%
# What each judge says about answers that pass and fail. A 4 of the lenient judge means little:

consensus.confusion("lenient")

# %%
# What people should look at next
# -------------------------------

consensus.ask(10)

# %%
# What labels buy
# ---------------
#
# Left: the pass rate by each judge (scores above 3), by the jury, and estimated from 50 and from
# 200 labels. Right: the confidence before and after the calibration on 50 labels. They bring the
# confidence closer to the truth, but the interval of the pass rate is still 20 points long; for a
# difference of a few points you need 200 labels or more.

many = unlabelled.ask(200, "share", random_state=1)
by_people = many.to_frame().assign(label=[truth[i] for i in many["object"]])
by_200 = unlabelled.estimate("pass", by_people)
bars = {name: float(np.mean(own > 3)) for name, own in scores.items()}
bars |= {
    "majority vote": np.mean(MajorityVote().solve(votes).labels() == "pass"),
    "solve": np.mean(unlabelled.labels() == "pass"),
}
fig, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
left.barh(list(bars), list(bars.values()), color=["0.75"] * len(scores) + ["#7c9cc4", "#7c9cc4"])
for name, table in (("50 labels", pass_rate), ("200 labels", by_200)):
    value, low, high = (table[column][0] for column in ("value", "low", "high"))
    left.barh(
        [name],
        [value],
        color="#00204d",
        xerr=[[value - low], [high - value]],
        ecolor="#d1495b",
        capsize=4,
    )
left.axvline(good.mean(), color="#d1495b", linestyle="--")
left.invert_yaxis()
left.set(xlim=(0, 1), xlabel="pass rate; dashed: the truth")
for name, answer, style in (
    ("without labels", unlabelled, "s--"),
    ("calibrated on 50", consensus, "o-"),
):
    sure = answer.confidence[rest]
    bins = np.array_split(np.argsort(sure), 8)
    correct = [np.mean(answer.labels()[rest][own] == truth[rest][own]) for own in bins]
    right.plot([sure[own].mean() for own in bins], correct, style, label=name)
right.plot([0.5, 1], [0.5, 1], ":", color="0.5")
right.legend()
right.set(
    xlabel="confidence",
    ylabel="share that is right",
    title="On the dotted line, confidence can be believed",
)
plt.show()
