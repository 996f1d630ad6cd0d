"""Algorithms 1 and 2 as the paper has them, for iEC3: dense, with the N x N matrix K^c; misprints are mended."""

import numpy as np
from scipy import linalg

ALPHA, BETA, GAMMA, DELTA = 0.25, 0.35, 0.35, 0.05


def matrices(outputs):
    """A^m and Y^o; a noise label of DBSCAN is a missing vote."""
    votes = [np.eye(outputs.n_classes)[proba.argmax(axis=1)] for proba in outputs.proba.values()]
    found = outputs.clusters.values()
    clusters = [(own[:, None] == np.unique(own[own >= 0])).astype(float) for own in found]
    members = np.hstack([*votes, *clusters])
    return members[:, members.any(axis=0)], np.mean(votes, axis=0)


def algorithm_1(similarity, tol):
    """K^c: rounds of K_ij / sqrt(d_i d_j) with the row sums d, until a round changes little."""
    scaled, change = similarity, np.inf
    while change > tol:
        before, sums = scaled, scaled.sum(axis=1)
        scaled = before / np.sqrt(np.outer(sums, sums))
        change = np.linalg.norm(scaled - before)
    return scaled


def algorithm_2(members, between, votes, tol, seed):
    """F^o by block coordinate descent; line 6 inverts an N x N matrix, which is factored once."""
    sizes = members.sum(axis=0)
    group_votes = members.T @ votes / sizes[:, None]  # Y^g
    weights = members / sizes / (members / sizes).sum(axis=1, keepdims=True)  # K^m
    left = (ALPHA + 2 * BETA + 2 * GAMMA) * np.eye(len(between)) - 2 * BETA * between
    factor, totals = linalg.cho_factor(left), ALPHA * weights.sum(axis=0)[:, None] + 2 * DELTA
    proba = np.random.default_rng(seed).dirichlet(np.ones(votes.shape[1]), len(votes))
    change = np.inf
    while change > tol:
        before = proba
        groups = (ALPHA * weights.T @ before + 2 * DELTA * group_votes) / totals  # line 5
        proba = linalg.cho_solve(factor, ALPHA * weights @ groups + 2 * GAMMA * votes)
        change = np.linalg.norm(proba - before)
    return proba


def as_published(outputs, tol=0.025, seed=0):
    """F^o of iEC3 from base outputs, one algorithm after the other."""
    members, votes = matrices(outputs)
    return algorithm_2(members, algorithm_1(members @ members.T, tol), votes, tol, seed)
