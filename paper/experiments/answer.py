"""What the answer of iEC3 depends on: weights, epsilon, terms, base models, rare classes, noise."""

import time
from dataclasses import replace
from itertools import product

import numpy as np

from ec3learn import EC3, UPE, MajorityVote

from .. import published
from ..scores import auc_of, class_f, mean_auc, solve_and_score, solve_quietly
from .accuracy import UPE_STARTS, learned
from .runtime import best_time


def parameters(case):
    """Score iEC3 over the grid of its weights, and the setting that is best on the validation set."""
    outputs = case.outputs()
    settings = grid(published.STEP)
    names = ["{:.2f} {:.2f} {:.2f} {:.2f}".format(*setting) for setting in settings]
    test, validation = (
        [auc_of(EC3(*setting), votes, part) for setting in settings]
        for part in (outputs.test, outputs.part(outputs.known))
        for votes in [part.votes()]
    )
    for name, area in zip(names, test, strict=True):
        yield "iEC3", name, "auc", area
    chosen = int(np.argmax(validation))
    yield "iEC3, tuned", names[chosen], "auc", test[chosen]


def grid(step):
    """All weights with the sum 1 in these steps that tie the answer to the votes."""
    n = round(1 / step)
    parts = ((a, b, c, n - a - b - c) for a, b, c in product(range(n + 1), repeat=3))
    return [
        tuple(x / n for x in (a, b, c, d))
        for a, b, c, d in parts
        if d >= 0 and (c > 0 or (a > 0 and d > 0))
    ]


def epsilon(case):
    """Score and time the paper's loop for each epsilon: AUC, rounds and processor seconds."""
    test = case.outputs().test
    votes = test.votes()
    for tol in published.EPSILONS:
        method = EC3(solver="bcd", tol=tol, random_state=case.seed)
        consensus = solve_quietly(method, votes)
        auc, rounds = mean_auc(consensus.proba, test.truth), float(consensus.solution.n_iter)
        values = {
            "auc": auc,
            "rounds": rounds,
            "seconds": best_time(method, votes, 5, time.process_time),
        }
        yield from (("iEC3", f"{tol:.3f}", metric, value) for metric, value in values.items())


def drop_term(case):
    """Leave out one of the four terms of the objective."""
    test = case.outputs().test
    for name, balanced in (("EC3", False), ("iEC3", True)):
        yield from solve_and_score(name, "none", EC3(balanced=balanced), test.votes(), test)
        for term, weight in {"J1": "alpha", "J2": "beta", "J3": "gamma", "J4": "delta"}.items():
            method = EC3(balanced=balanced, **{weight: 0.0})
            yield from solve_and_score(name, term, method, test.votes(), test)


# ---- which base models ---------------------------------------------------------------------------


def drop_one(case, kind):
    """Leave out one base model at a time: `kind` is "proba" for classifiers, "clusters" for clusterings."""
    test = case.outputs().test
    votes = test.votes()
    yield from solve_and_score("iEC3", "none", EC3(), votes, test)
    for name in getattr(test, kind):
        yield from solve_and_score("iEC3", name, EC3(), votes.drop(name), test)


def add_one_by_one(case, kind, first):
    """Add base models one by one, beginning with the one whose absence costs most on the validation set.

    `kind` is as in `drop_one`, and `first` the number of base models of this kind to begin with.
    """
    outputs = case.outputs()
    known, test = outputs.part(outputs.known), outputs.test
    auc = {name: auc_of(EC3(), known.votes().drop(name), known) for name in getattr(known, kind)}
    order = sorted(auc, key=auc.__getitem__)
    for place, name in enumerate(order, 1):
        yield "iEC3", name, "position", float(place)
    for step in range(first, len(order) + 1):
        yield from solve_and_score("iEC3", str(step), EC3(), test.votes().drop(*order[step:]), test)


# ---- robustness ----------------------------------------------------------------------------------


def imbalance(case, shares=None, upe=True):
    """Remove a share of one class's rows and train everything again."""
    methods = {"EC3": EC3(balanced=False), "iEC3": EC3(), "majority vote": MajorityVote()}
    methods |= {"UPE": UPE(n_init=UPE_STARTS, random_state=case.seed)} if upe else {}
    for removed in shares or published.REMOVED:
        outputs = case.outputs(tuned=False, removed=removed)
        test, setting = outputs.test, f"{removed:.2f}"
        for name, method in methods.items():
            consensus = solve_quietly(method, test.votes())
            f = class_f(outputs.touched, consensus.labels(), test.truth)
            yield name, setting, "auc", mean_auc(consensus.proba, test.truth)
            yield name, setting, "f_touched", f


def imbalance_large(case):
    """The same with all rows of the data set, for the ends alone and without UPE, which takes too long."""
    whole = replace(case, protocol=replace(case.protocol, max_rows=len(case.data.codes)))
    return imbalance(whole, (0.0, published.REMOVED[-1]), upe=False)


def random_classifiers(case):
    """Add classifiers that vote at random."""
    return _with_noise(
        case,
        "classifiers",
        lambda rng, test: rng.integers(test.n_classes, size=len(test.truth)),
        (0, 5, 10),
    )


def random_clusterings(case):
    """Add random clusterings with a random number of clusters.

    With thousands of clusters UPE takes half a minute for 500 objects, so it is run in the first
    repeat only.
    """
    return _with_noise(case, "clusterings", _random_clustering, (0, 10) if case.seed == 0 else ())


def _random_clustering(rng, test):
    """Between 1 and N clusters, none of them empty."""
    n_objects = len(test.truth)
    n_clusters = int(rng.integers(1, n_objects + 1))
    others = rng.integers(n_clusters, size=n_objects - n_clusters)
    return rng.permutation(np.concatenate([np.arange(n_clusters), others]))


def _with_noise(case, kind, draw, upe_with):
    """Add base models that are drawn at random, one by one; UPE joins in where so many were added."""
    test = case.outputs().test
    rng = np.random.default_rng([case.seed, 3])
    hard, soft = test.votes(), test.votes(soft=True)
    for n_random in range(published.MOST_RANDOM + 1):
        if n_random:
            added = {kind: {f"random {n_random}": draw(rng, test)}}
            hard, soft = hard.add(**added), soft.add(**added)
        methods = {
            "majority vote": (MajorityVote(), hard),
            "iEC3": (EC3(), hard),
            "iEC3, learned weights, hard votes": (EC3(weights="agreement"), hard),
            "iEC3, learned weights": (learned(), soft),
        }
        if n_random in upe_with:
            methods["UPE"] = (UPE(n_init=1, max_iter=300, random_state=case.seed), hard)
        for name, (method, votes) in methods.items():
            yield name, str(n_random), "auc", auc_of(method, votes, test)
