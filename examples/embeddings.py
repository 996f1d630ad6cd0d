"""
I have annotators and embeddings: how do I use both?
====================================================

Crowds are expensive: two votes on each of 900 images are 1,800 decisions, and still many labels
would be wrong. But images, texts and sounds have embeddings, and similar objects usually have the
same class. `CrowdClassifier` learns a classifier of the embeddings and the annotators' mistakes
together, without a single true label.

The images are handwritten digits, and their 64 grey values stand for an embedding. The annotators
are simulated, so that we can check at the end whether it worked.
"""

# %%
# The votes
# ---------
#
# Each of 25 annotators is right about half of the time, and has a wrong answer of its own for every
# digit. Most see few images.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import ec3learn
from ec3learn import CrowdClassifier, MajorityVote, Votes

X, truth = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
skill = rng.uniform(0.3, 0.8, size=25)
habit = rng.integers(10, size=(25, 10))  # what an annotator says instead of each digit


def ask(images, n_votes):
    """Return one row per vote: the image, the annotator and what it said."""
    asked = [(i, j) for i in images for j in rng.choice(25, n_votes, replace=False)]
    said = [truth[i] if rng.random() < skill[j] else habit[j, truth[i]] for i, j in asked]
    return [i for i, _ in asked], [f"annotator {j:02}" for _, j in asked], said


images, annotators, labels = ask(range(900), 2)
votes = Votes.from_long(images, annotators, labels)
print(votes)

# %%
# Votes alone, and both together
# ------------------------------
#
# `fit` takes the votes where other classifiers take labels.

model = CrowdClassifier(random_state=0).fit(X[:900], votes)
answers = {
    "majority vote": MajorityVote().solve(votes).labels(),
    "votes alone": ec3learn.solve(votes).labels(),
    "votes and embeddings": model.transduction_,
}
right = {name: float(np.mean(answer == truth[:900])) for name, answer in answers.items()}
for note in model.notes_:
    print(note)

_, axes = plt.subplots(figsize=(6, 2))
bars = axes.barh(list(right), list(right.values()), color=["#b8c4d6", "#7d96bd", "#1f4e8c"])
axes.bar_label(bars, fmt="%.2f", padding=3)
axes.set(xlim=(0, 1.1), xlabel="share of images that are right")
plt.tight_layout()

# %%
# The annotators
# --------------
#
# The consensus has everything that there is to know about them: how often each is right, and what
# each says instead. Here is the confusion matrix of one annotator, and how well the skills of all
# are found.

print(model.consensus_.confusion("annotator 00"))
voters = model.consensus_.voters()
found = dict(zip(voters["model"], voters["agreement"], strict=True))
actual = [
    np.mean([skill[j] + (1 - skill[j]) * (habit[j, z] == z) for z in range(10)]) for j in range(25)
]
gaps = [abs(found[f"annotator {j:02}"] - actual[j]) for j in range(25)]
print(f"mean gap between the estimated and the actual share of right votes: {np.mean(gaps):.3f}")

# %%
# New images
# ----------
#
# New images need no votes. If they have some, even of one annotator, the answer uses them too.

new = range(900, 1797)
print(f"new images without votes: {model.score(X[900:], truth[900:]):.3f}")
_, who, said = ask(new, 1)
more = Votes.from_long([i - 900 for i in new], who, said, object_ids=range(len(new)))
with_one = model.consensus_for(X[900:], more).labels()
print(f"new images with one vote each: {np.mean(with_one == truth[900:]):.3f}")

# %%
# If the embeddings are no good
# -----------------------------
#
# Here the embeddings are random numbers. The votes do not bear out what the classifier says, so
# they alone decide.

useless = CrowdClassifier(random_state=0).fit(rng.normal(size=(900, 64)), votes)
print(next(str(note) for note in useless.notes_ if note.kind == "features"))
