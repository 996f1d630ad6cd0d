"""iBCC, EBCC, the pooled prior, one learned coin and BWA, written out with loops over voters, answers and classes.

Nothing of the library is used. A jury is an array of answers, objects x voters, -1 where there is none; answers are classes.
"""

import numpy as np
from scipy.special import digamma


def one_hot(answers, n_classes):
    """Objects x voters x classes."""
    return (answers[:, :, None] == np.arange(n_classes)).astype(float)


def mean_vote(answers, n_classes):
    said = one_hot(answers, n_classes).sum(axis=1)
    return said / said.sum(axis=1, keepdims=True)


def diagonal(n_classes):
    return np.where(np.eye(n_classes, dtype=bool), 4.0, 1.0)  # answers x classes


def pooled(counts):
    """The prior of each voter from expected counts, voters x answers x classes."""
    n_voters, n_classes, _ = counts.shape
    crowd = counts.sum(axis=0) + diagonal(n_classes)
    crowd = crowd / crowd.sum(axis=0)
    hit = np.diag(crowd)
    total = counts.sum(axis=(1, 2))
    right = np.array([np.trace(own) for own in counts])
    expected = np.array([own.sum(axis=0) @ hit for own in counts])
    p = expected.sum() / total.sum()
    prior = np.empty_like(counts)
    for j in range(n_voters):
        ratio = [(x + 4 * p) / (total[j] - x + 4 * (1 - p)) for x in (right[j], expected[j])]
        for k in range(n_classes):
            odds = hit[k] / (1 - hit[k]) * ratio[0] / ratio[1]
            skill = odds / (1 + odds)
            for answer in range(n_classes):
                prior[j, answer, k] = skill if answer == k else (1 - skill) * crowd[answer, k] / (1 - hit[k])
    return (n_classes + 3) * prior


def subtypes(answers, n_classes, n_subtypes=1, learned=False, rounds=1):
    """The answer after some rounds of EBCC (iBCC for one subtype)."""
    said, start = one_hot(answers, n_classes), mean_vote(answers, n_classes)
    votes = start.sum(axis=0)
    easy = 0.1 + 0.8 * (n_classes * start.max(axis=1) - 1) / (n_classes - 1)
    kinds = np.ones((len(start), 1)) if n_subtypes == 1 else np.stack([easy, 1 - easy], axis=1)
    q = start[:, :, None] * kinds[:, None, :]
    for _ in range(rounds):
        counts = np.einsum("ijl,ikm->jlkm", said, q)
        prior = pooled(counts.sum(axis=3)) if learned else np.tile(diagonal(n_classes), (answers.shape[1], 1, 1))
        if learned and n_subtypes > 1:
            prior = prior + 1 / n_classes
        mu = counts + prior[:, :, :, None]
        by_class, by_type = votes + q.sum(axis=(0, 2)), 0.1 / n_subtypes + q.sum(axis=0)
        if learned and n_subtypes == 1:
            table, class_log = np.log(mu / mu.sum(axis=1, keepdims=True)), np.log(by_class / by_class.sum())
        else:
            table = digamma(mu) - digamma(mu.sum(axis=1, keepdims=True))
            class_log = digamma(by_class) - digamma(by_class.sum())
        type_log = digamma(by_type) - digamma(by_type.sum(axis=1, keepdims=True))
        q = np.exp(np.einsum("ijl,jlkm->ikm", said, table) + class_log[:, None] + type_log)
        q /= q.sum(axis=(1, 2), keepdims=True)
    return q.sum(axis=2)


def coin(answers, n_classes, rounds):
    """The answer after some rounds of one learned coin per voter."""
    said, z = one_hot(answers, n_classes), mean_vote(answers, n_classes)
    first = np.array([4.0, n_classes - 1.0])
    beta = first.copy()
    for t in range(rounds):
        right = np.einsum("ijk,ik->j", said, z)
        counts = np.stack([right, said.sum(axis=(0, 2)) - right], axis=1)
        if t >= 3:
            seen = np.vstack([counts, first])
            up = (digamma(seen + beta) - digamma(beta)).sum(axis=0)
            beta = beta * up / (digamma(seen.sum(axis=1) + beta.sum()) - digamma(beta.sum())).sum()
        skill = digamma(counts + beta) - digamma((counts + beta).sum(axis=1, keepdims=True))
        hits = np.einsum("ijk,j->ik", said, skill[:, 0])
        misses = np.einsum("ijk,j->ik", said.sum(axis=2, keepdims=True) - said, skill[:, 1] - np.log(n_classes - 1))
        z = np.exp(hits + misses)
        z /= z.sum(axis=1, keepdims=True)
    return z


def bwa(answers, n_classes, rounds=2000):
    """Bayesian weighted averaging, class by class."""
    scores = []
    voted = answers >= 0
    for k in range(n_classes):
        y = (answers == k).astype(float)
        z = y.sum(axis=1) / voted.sum(axis=1)
        b = max(15 * 4 * (1 - 1 / n_classes) * (voted.sum(axis=1) * z * (1 - z)).sum() / voted.sum(), 0.015)
        for _ in range(rounds):
            v = (15 + voted.sum(axis=0)) / (b + (voted * (z[:, None] - y) ** 2).sum(axis=0))
            z = (z.mean() + y @ v) / (1 + voted @ v)
        scores.append(z)
    scores = np.stack(scores, axis=1)
    return scores / scores.sum(axis=1, keepdims=True)
