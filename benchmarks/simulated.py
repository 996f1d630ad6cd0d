"""Simulated votes whose truth is known: crowds of many kinds, for `panel.py`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ec3learn import Votes

Rng = np.random.Generator
Made = tuple[Votes, np.ndarray]


def coins(rng: Rng, n_voters: int, n_classes: int, low: float, high: float) -> np.ndarray:
    """Confusion matrices of voters who are right with a skill, and wrong in every way alike."""
    skill = rng.uniform(low, high, n_voters)[:, None, None]
    even = np.ones((n_classes, n_classes)) - np.eye(n_classes)
    return skill * np.eye(n_classes) + (1 - skill) / (n_classes - 1) * even


def cast(
    rng: Rng,
    truth: np.ndarray,
    confusion: np.ndarray,
    per_object: int,
    guessed: np.ndarray | None = None,
) -> Made:
    """Votes of some voters, drawn at random, on each object; on some objects all of them guess."""
    n_voters, n_classes = confusion.shape[:2]
    voter = rng.permuted(np.tile(np.arange(n_voters), (len(truth), 1)), axis=1)[:, :per_object]
    ends = confusion[voter, truth[:, None]].cumsum(axis=2)
    said = (rng.random((*voter.shape, 1)) > ends[:, :, :-1]).sum(axis=2)
    if guessed is not None:
        said = np.where(guessed[:, None], rng.integers(n_classes, size=said.shape), said)
    table = {f"v{v}": np.full(len(truth), -1) for v in range(n_voters)}
    for v in range(n_voters):
        row, place = np.nonzero(voter == v)
        table[f"v{v}"][row] = said[row, place]
    return Votes.from_labels(table, missing=-1, classes=range(n_classes)), truth


def equal(rng: Rng) -> Made:
    """Nine voters of equal skill."""
    return cast(rng, rng.integers(3, size=500), coins(rng, 9, 3, 0.6, 0.6), 9)


def unequal(rng: Rng) -> Made:
    """Seven voters, two of them far better than the others."""
    good, poor = coins(rng, 2, 3, 0.85, 0.9), coins(rng, 5, 3, 0.35, 0.5)
    return cast(rng, rng.integers(3, size=1000), np.concatenate([good, poor]), 7)


def biased(rng: Rng) -> Made:
    """Voters who see the same signal and name the class from thresholds of their own."""
    truth = (rng.random(500) < 0.45).astype(int)
    seen = rng.normal(size=(500, 25)) + np.where(truth, 0.6, -0.6)[:, None]
    return Votes.from_labels((seen > rng.normal(0.7, 0.6, 25)).astype(int)), truth


def spammers(rng: Rng) -> Made:
    """Half of the voters guess, or always say the same."""
    confusion = coins(rng, 40, 3, 0.6, 0.9)
    for v in range(20):
        confusion[v] = 1 / 3 if v % 2 else np.eye(3)[rng.integers(3)]
    return cast(rng, rng.integers(3, size=600), confusion, 7)


def adversaries(rng: Rng) -> Made:
    """A quarter of the voters say the opposite."""
    confusion = coins(rng, 20, 2, 0.65, 0.95)
    confusion[:5] = confusion[:5, :, ::-1]
    return cast(rng, rng.integers(2, size=600), confusion, 6)


def confused_classes(rng: Rng) -> Made:
    """All voters confuse two of four classes."""
    confusion = coins(rng, 30, 4, 0.8, 0.95)
    for k in (0, 1):
        confusion[:, k] = 0.02
        confusion[:, k, k], confusion[:, k, 1 - k] = 0.55, 0.41
    return cast(rng, rng.integers(4, size=600), confusion, 5)


def hard_objects(rng: Rng) -> Made:
    """On three objects of ten, all voters guess."""
    truth = rng.integers(3, size=600)
    return cast(rng, truth, coins(rng, 20, 3, 0.7, 0.95), 6, rng.random(600) < 0.3)


def many_classes(rng: Rng) -> Made:
    """Fifteen classes."""
    return cast(rng, rng.integers(15, size=900), coins(rng, 30, 15, 0.4, 0.9), 5)


def many_voters(rng: Rng) -> Made:
    """Four hundred voters with eight votes each."""
    return cast(rng, rng.integers(2, size=800), coins(rng, 400, 2, 0.55, 0.95), 4)


def two_votes(rng: Rng) -> Made:
    """Two votes per object."""
    return cast(rng, rng.integers(2, size=800), coins(rng, 25, 2, 0.6, 0.95), 2)


def three_votes(rng: Rng) -> Made:
    """Three votes per object, four classes."""
    return cast(rng, rng.integers(4, size=800), coins(rng, 25, 4, 0.5, 0.95), 3)


def rare_class(rng: Rng) -> Made:
    """Three votes by 25 annotators on each object; one object in twenty is of the second class."""
    truth = (rng.random(1000) < 0.05).astype(int)
    return cast(rng, truth, coins(rng, 25, 2, 0.6, 0.9), 3)


def random_classifiers(rng: Rng) -> Made:
    """Five good voters among fifteen."""
    guesses = np.full((10, 3, 3), 1 / 3)
    confusion = np.concatenate([coins(rng, 5, 3, 0.75, 0.75), guesses])
    return cast(rng, rng.integers(3, size=1000), confusion, 15)


def clusterings_that_help(rng: Rng) -> Made:
    """Three poor classifiers and three good clusterings."""
    truth = rng.integers(4, size=1000)
    votes, _ = cast(rng, truth, coins(rng, 3, 4, 0.5, 0.6), 3)
    finer = truth * 3 + rng.integers(3, size=1000)
    for name, of_truth, size in (("k12", finer, 12), ("k4", truth, 4), ("k4 too", truth, 4)):
        right = rng.random(1000) < 0.85
        votes = votes.add(
            clusterings={name: np.where(right, of_truth, rng.integers(size, size=1000))}
        )
    return votes, truth


def mixed(rng: Rng) -> Made:
    """Skills, biases, hard objects that mislead many, rare classes, long tails of voters."""
    n, n_voters, n_classes = (
        int(rng.integers(50, 1500)),
        int(rng.integers(3, 60)),
        int(rng.choice([2, 2, 3, 5])),
    )
    truth = rng.choice(n_classes, n, p=rng.dirichlet(np.full(n_classes, 3.0)))
    skill, bias = rng.beta(6, 3, n_voters), rng.dirichlet(np.ones(n_classes), n_voters)
    lure, share = (truth + rng.integers(1, n_classes, n)) % n_classes, rng.uniform(0, 0.4)
    hard = rng.random(n) < share
    voted = rng.random((n, n_voters)) < min(1.0, rng.uniform(2, 8) / n_voters) ** rng.choice(
        [0.3, 1.0]
    )
    right = rng.random((n, n_voters)) < np.where(hard[:, None], 0.5 * skill, skill)
    slip = np.array([rng.choice(n_classes, n, p=one) for one in bias]).T
    wrong = np.where(hard[:, None] & (rng.random((n, n_voters)) < 0.6), lure[:, None], slip)
    labels = np.where(voted, np.where(right, truth[:, None], wrong), -1)
    known = {
        f"{v}": [None if code < 0 else int(code) for code in labels[:, v]]
        for v in range(n_voters)
        if voted[:, v].any()
    }
    return Votes.from_labels(known, classes=range(n_classes)), truth


KINDS: dict[str, Callable[[Rng], Made]] = {
    make.__name__.replace("_", " "): make
    for make in (
        equal,
        unequal,
        biased,
        spammers,
        adversaries,
        confused_classes,
        hard_objects,
        many_classes,
        many_voters,
        two_votes,
        three_votes,
        rare_class,
        random_classifiers,
        clusterings_that_help,
    )
}
