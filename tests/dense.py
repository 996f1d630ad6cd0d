"""An independent EC3: dense matrices in the paper's letters, object by object, solved as one linear system.

Nothing here is shared with the library; it is slow and meant to be read beside the paper. Names
follow the paper: N objects, G groups, l classes; A^m, K^m (N x G), A^c, K^c (N x N), Y^o, F^o (N x
l), Y^g, F^g (G x l). On top of the paper stand w (a weight a group), s (how often an object stands
in the table) and known labels.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma

from .strategies import RawTable


@dataclass
class Dense:
    """The matrices of one table, and its answer."""

    groups: list[tuple[str, Any]]  # (base model, label), one a column of A
    A: np.ndarray
    Km: np.ndarray
    Kc: np.ndarray
    Yo: np.ndarray
    Yg: np.ndarray
    gamma: np.ndarray  # of each object; infinite: held fixed
    delta: np.ndarray  # of each group
    s: np.ndarray
    alpha: float
    beta: float
    silent: np.ndarray  # objects that no vote reaches
    Fo: np.ndarray
    Fg: np.ndarray
    d: np.ndarray

    def J(self, Fo: np.ndarray, Fg: np.ndarray) -> dict[str, float]:
        """The paper's four sums, without weights; an object stands in the table s times."""
        to_groups = ((Fo[:, None, :] - Fg[None, :, :]) ** 2).sum(axis=2)
        to_objects = ((Fo[:, None, :] - Fo[None, :, :]) ** 2).sum(axis=2)
        pulled, pulled_groups = self.gamma > 0, self.delta > 0
        return {
            "J1": float((self.s[:, None] * self.Km * to_groups).sum()),
            "J2": float((np.outer(self.s, self.s) * self.Kc * to_objects).sum()),
            "J3": float((self.s * pulled) @ ((Fo - self.Yo) ** 2).sum(axis=1)),
            "J4": float(pulled_groups @ ((Fg - self.Yg) ** 2).sum(axis=1)),
        }

    def P(self, Fo: np.ndarray, Fg: np.ndarray) -> float:
        """The objective; here an object's gamma and a group's delta are its own."""
        J = self.J(Fo, Fg)
        gamma = np.where(np.isinf(self.gamma), 0.0, self.gamma)  # a fixed object is at its target
        return float(
            self.alpha / 2 * J["J1"]
            + self.beta / 2 * J["J2"]
            + (self.s * gamma) @ ((Fo - self.Yo) ** 2).sum(axis=1)
            + self.delta @ ((Fg - self.Yg) ** 2).sum(axis=1)
        )

    def algorithm_2(
        self, Fo: np.ndarray, epsilon: float
    ) -> tuple[np.ndarray, np.ndarray, list[float], list[float]]:
        """The paper's loop with its inverse: F^o, F^g, and P and the move of F^o after each round.

        Line 5 with K^m transposed; line 6 with the identity for the symbol 1, so that K^c stands there
        twice. Objects count once.
        """
        alpha, beta, gamma, delta = self.alpha, self.beta, self.gamma, self.delta
        Dm_o, Dm_g, Dc = (
            np.diag(K.sum(axis=axis)) for K, axis in ((self.Km, 1), (self.Km, 0), (self.Kc, 1))
        )
        values, moves = [], []
        while not moves or moves[-1] > epsilon:
            before = Fo
            Fg = np.linalg.inv(2 * np.diag(delta) + alpha * Dm_g) @ (
                alpha * self.Km.T @ Fo + 2 * delta[:, None] * self.Yg
            )
            Fo = np.linalg.inv(
                alpha * Dm_o + 2 * beta * Dc - 2 * beta * self.Kc + 2 * np.diag(gamma)
            ) @ (alpha * self.Km @ Fg + 2 * gamma[:, None] * self.Yo)
            moves.append(float(np.sqrt(((Fo - before) ** 2).sum())))
            Fg_best = np.linalg.inv(2 * np.diag(delta) + alpha * Dm_g) @ (
                alpha * self.Km.T @ Fo + 2 * delta[:, None] * self.Yg
            )
            values.append(self.P(Fo, Fg_best))
        return Fo, Fg_best, values, moves

    def gradient(self, Fo: np.ndarray, Fg: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """dP/dF^o (zero for fixed and silent objects) and dP/dF^g."""
        s, Km, Kc = self.s[:, None], self.Km, self.Kc
        gamma = np.where(np.isinf(self.gamma), 0.0, self.gamma)[:, None]
        from_groups = self.alpha * (Km.sum(axis=1)[:, None] * Fo - Km @ Fg)
        from_objects = 2 * self.beta * ((Kc @ self.s)[:, None] * Fo - Kc @ (s * Fo))
        by_object = s * (from_groups + from_objects + 2 * gamma * (Fo - self.Yo))
        by_group = self.alpha * (Km.T @ self.s)[:, None] * Fg - self.alpha * Km.T @ (s * Fo)
        by_group += 2 * self.delta[:, None] * (Fg - self.Yg)
        by_object[np.isinf(self.gamma) | self.silent] = 0
        return by_object, by_group


def minimiser(
    table: RawTable,
    alpha: float = 0.25,
    beta: float = 0.35,
    gamma: float = 0.35,
    delta: float = 0.05,
    balanced: bool = True,
    known_weight: float = np.inf,
) -> Dense:
    """Form every matrix and solve for F^o and F^g at once."""
    N, n_classes = table.n_objects, len(table.classes)
    s = np.ones(N) if table.sample_weight is None else np.array(table.sample_weight, dtype=float)
    labels = {i: table.classes.index(label) for i, label in table.known.items()}
    groups, A, w = _membership(table)
    V = _class_votes(table)  # N x l: the weighted class votes cast on each object
    Yo = _shares(V)
    voted = V.sum(axis=1) > 0
    for i, z in labels.items():
        Yo[i] = np.eye(n_classes)[z]
    has_target = voted | np.isin(np.arange(N), list(labels))
    mean_target = _shares((s * has_target) @ Yo)
    Yg = _shares(A.T @ (s[:, None] * V))

    reached = _reached(A, w, s, Yg.sum(axis=1) > 0, list(labels))
    groups, A, w, Yg = (
        [g for g, r in zip(groups, reached, strict=True) if r],
        A[:, reached],
        w[reached],
        Yg[reached],
    )
    Km = w * A / (A.T @ s) if balanced else w * A
    Km = _shares(Km)
    Ac = (w * A) @ A.T
    d = _sinkhorn(Ac, s)
    Kc = d[:, None] * Ac * d

    gamma_i = np.where(voted, gamma, 0.0)
    for i in labels:
        gamma_i[i] = known_weight * (alpha + beta + gamma + delta)
    delta_j = np.where(Yg.sum(axis=1) > 0, delta, 0.0)
    in_group = A.sum(axis=1) > 0
    silent = ~(gamma_i > 0) & ~(in_group & (alpha + beta > 0))
    Fo, Fg = _solve(Km, Kc, Yo, Yg, gamma_i, delta_j, s, alpha, beta, silent)
    Fo[silent] = mean_target
    return Dense(groups, A, Km, Kc, Yo, Yg, gamma_i, delta_j, s, alpha, beta, silent, Fo, Fg, d)


def _membership(table: RawTable) -> tuple[list[tuple[str, Any]], np.ndarray, np.ndarray]:
    """A^m, and the weight of each group: that of its base model."""
    groups, columns, weights = [], [], []
    for kind, models in (("classifier", table.classifiers), ("clustering", table.clusterings)):
        for name, said in models.items():
            if isinstance(said, np.ndarray) and said.ndim == 2:
                names = table.classes if kind == "classifier" else list(range(said.shape[1]))
                shares = np.nan_to_num(said)
            else:
                seen = {
                    label
                    for label in said
                    if label is not None and not (kind == "clustering" and label == -1)
                }
                names = (
                    [z for z in table.classes if z in seen]
                    if kind == "classifier"
                    else sorted(seen)
                )
                shares = np.array(
                    [[float(label is not None and label == z) for z in names] for label in said]
                )
            for z, column in zip(names, shares.reshape(len(said), len(names)).T, strict=True):
                groups.append((name, z))
                columns.append(column)
                weights.append(table.weights.get(name, 1.0))
    return groups, np.array(columns).T.reshape(table.n_objects, -1), np.array(weights)


def _class_votes(table: RawTable) -> np.ndarray:
    votes = np.zeros((table.n_objects, len(table.classes)))
    for name, said in table.classifiers.items():
        for i, answer in enumerate(said):
            if isinstance(said, np.ndarray) and said.ndim == 2:
                votes[i] += table.weights.get(name, 1.0) * np.nan_to_num(answer)
            elif answer is not None:
                votes[i, table.classes.index(answer)] += table.weights.get(name, 1.0)
    return votes


def _shares(rows: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; rows of zeros stay zeros."""
    totals = rows.sum(axis=-1, keepdims=True)
    return np.where(totals > 0, rows / np.where(totals > 0, totals, 1), 0.0)


def _reached(
    A: np.ndarray, w: np.ndarray, s: np.ndarray, voted: np.ndarray, labelled: list[int]
) -> np.ndarray:
    """Which groups a vote or a known label reaches, over any number of objects; objects and groups of weight 0 carry nothing."""
    counts = (A > 0) & (s > 0)[:, None]
    live = (w > 0) & counts.any(axis=0)
    reached = live & (voted | counts[labelled].any(axis=0))
    while True:
        objects = counts[:, reached].any(axis=1)
        more = live & (reached | counts[objects].any(axis=0))
        if (more == reached).all():
            return reached
        reached = more


def _sinkhorn(Ac: np.ndarray, s: np.ndarray) -> np.ndarray:
    """d with K^c = d A^c d and sum_k s_k K^c_ik = 1: the paper's rounds, K_ij <- K_ij / sqrt(r_i r_j)."""
    inside = np.diag(Ac) > 0
    Ac, weights = Ac[np.ix_(inside, inside)], s[inside]
    d = np.ones(len(weights))
    for _ in range(5000):
        r = d * (Ac @ (weights * d))
        d = d / np.sqrt(r)
        if np.abs(r - 1).max(initial=0.0) < 1e-15:
            break
    whole = np.zeros(len(s))
    whole[inside] = d
    return whole


def _solve(
    Km: np.ndarray,
    Kc: np.ndarray,
    Yo: np.ndarray,
    Yg: np.ndarray,
    gamma: np.ndarray,
    delta: np.ndarray,
    s: np.ndarray,
    alpha: float,
    beta: float,
    silent: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The stationary equations as one system over F^o and F^g; the equation of object i is divided by s_i."""
    N, G = Km.shape
    M, right = np.zeros((N + G, N + G)), np.zeros((N + G, Yo.shape[1]))
    for i in range(N):
        if silent[i] or np.isinf(gamma[i]):
            M[i, i], right[i] = 1, Yo[i]
            continue
        M[i, :N] -= 2 * beta * s * Kc[i]
        M[i, i] += alpha * Km[i].sum() + 2 * beta * (Kc[i] @ s) + 2 * gamma[i]
        M[i, N:] = -alpha * Km[i]
        right[i] = 2 * gamma[i] * Yo[i]
    for j in range(G):
        M[N + j, :N] = -alpha * s * Km[:, j]
        M[N + j, N + j] = alpha * (s @ Km[:, j]) + 2 * delta[j]
        right[N + j] = 2 * delta[j] * Yg[j]
        if M[N + j, N + j] == 0:  # nothing says what F^g_j is
            M[N + j, N + j], right[N + j] = 1, Yg[j]
    F = np.linalg.solve(M, right)
    return F[:N], F[N:]


# ---- models of voters ----------------------------------------------------------------------------


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
                prior[j, answer, k] = (
                    skill if answer == k else (1 - skill) * crowd[answer, k] / (1 - hit[k])
                )
    return (n_classes + 3) * prior


def subtypes(answers, n_classes, n_subtypes=1, learned=False, rounds=1, class_votes=1.0):
    """The answer after some rounds of EBCC (iBCC for one subtype)."""
    said, start = one_hot(answers, n_classes), mean_vote(answers, n_classes)
    votes = class_votes * start.sum(axis=0)
    easy = 0.1 + 0.8 * (n_classes * start.max(axis=1) - 1) / (n_classes - 1)
    kinds = np.ones((len(start), 1)) if n_subtypes == 1 else np.stack([easy, 1 - easy], axis=1)
    q = start[:, :, None] * kinds[:, None, :]
    for _ in range(rounds):
        counts = np.einsum("ijl,ikm->jlkm", said, q)
        prior = (
            pooled(counts.sum(axis=3))
            if learned
            else np.tile(diagonal(n_classes), (answers.shape[1], 1, 1))
        )
        if learned and n_subtypes > 1:
            prior = prior + 1 / n_classes
        mu = counts + prior[:, :, :, None]
        by_class, by_type = votes + q.sum(axis=(0, 2)), 0.1 / n_subtypes + q.sum(axis=0)
        if learned and n_subtypes == 1:
            table, class_log = (
                np.log(mu / mu.sum(axis=1, keepdims=True)),
                np.log(by_class / by_class.sum()),
            )
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
        misses = np.einsum(
            "ijk,j->ik", said.sum(axis=2, keepdims=True) - said, skill[:, 1] - np.log(n_classes - 1)
        )
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
        b = max(
            15 * 4 * (1 - 1 / n_classes) * (voted.sum(axis=1) * z * (1 - z)).sum() / voted.sum(),
            0.015,
        )
        for _ in range(rounds):
            v = (15 + voted.sum(axis=0)) / (b + (voted * (z[:, None] - y) ** 2).sum(axis=0))
            z = (z.mean() + y @ v) / (1 + voted @ v)
        scores.append(z)
    scores = np.stack(scores, axis=1)
    return scores / scores.sum(axis=1, keepdims=True)
