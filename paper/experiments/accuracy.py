"""How accurate the methods are, and what the data sets are like."""

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.metrics import normalized_mutual_info_score

from ec3learn import (
    BGCM,
    C3ESL,
    EC3,
    UPE,
    DawidSkene,
    MajorityVote,
    SoftVote,
    WeightedVote,
)

from ..protocol import MOST_ROWS, split
from ..published import best_nmi
from ..scores import scores, solve_and_score

UPE_STARTS = 2


def learned():
    """Return the form of iEC3 that was measured best with few labels."""
    return EC3(0.5, 0.0, 0.5, 0.0, weights="agreement")


def describe(data):
    """Yield the size of a data set, the share of its largest class and the entropy of its classes."""
    shares = np.bincount(data.codes) / len(data.codes)
    values = {
        "rows": len(data.codes),
        "classes": data.n_classes,
        "features": data.X.shape[1],
        "majority": shares.max(),
        "entropy": -(shares * np.log2(shares)).sum(),
    }
    for head, value in values.items():
        yield "", head, "value", float(value)


def datasets(case):
    """Describe the data set."""
    return describe(case.data)


def accuracy(case, labels=None):
    """Score the paper's 16 methods, and ours with and without clusterings, which the setting names."""
    outputs = case.outputs(labels=labels)
    test = outputs.test
    starts = UPE_STARTS if labels is None else 1
    yield from _score_printed(outputs, UPE(n_init=starts, random_state=case.seed))
    yield from solve_and_score("C3E-SL", "paper", C3ESL(), test.votes(), test)
    yield from solve_and_score("iEC3, mass rule", "paper", EC3(), test.votes(), test, rule="mass")
    for clusterings in ("none", "paper", "both"):
        hard, soft = (test.votes(soft=soft, clusterings=clusterings) for soft in (False, True))
        if clusterings == "none":
            coins = DawidSkene(prior="uniform")
            yield from solve_and_score("weighted vote", "none", WeightedVote(), soft, test)
            yield from solve_and_score("Dawid-Skene", "none", coins, hard, test)
        if clusterings != "paper":
            yield from solve_and_score("iEC3", clusterings, EC3(), hard, test)
        yield from solve_and_score("iEC3, soft votes", clusterings, EC3(), soft, test)
        yield from solve_and_score("iEC3, learned weights", clusterings, learned(), soft, test)


def _score_printed(outputs, upe):
    """Score the paper's 16 methods and the two plainest votes."""
    test = outputs.test
    yield "", "", "n_rows", outputs.n_rows
    yield "", "", "n_test", len(test.truth)
    for name, proba in {**test.proba, **outputs.rivals}.items():
        yield from scores(name, "none", proba, test)
    combiners = {"BGCM": BGCM(), "UPE": upe, "EC3": EC3(balanced=False), "iEC3": EC3()}
    for name, method in combiners.items():
        yield from solve_and_score(name, "paper", method, test.votes(), test)
    hard, soft = (test.votes(soft=soft, clusterings="none") for soft in (False, True))
    yield from solve_and_score("majority vote", "none", MajorityVote(), hard, test)
    yield from solve_and_score("soft vote", "none", SoftVote(), soft, test)


def accuracy_large(case):
    """Score the paper's 16 methods on more rows of the same data set."""
    large = replace(case, protocol=replace(case.protocol, max_rows=MOST_ROWS))
    return _score_printed(large.outputs(), UPE(n_init=1, max_iter=300, random_state=case.seed))


def clustering_nmi(case):
    """Compare each clustering with the classes of the test set; noise is a cluster."""
    test = case.outputs().test
    for kind, clusterings in (("paper", test.clusters), ("default", test.more_clusters)):
        for name, clusters in clusterings.items():
            yield name, kind, "nmi", float(normalized_mutual_info_score(test.truth, clusters))


def nmi_bound(case):
    """Yield the best match with the classes that two or three clusters of distinct rows can have."""
    test = split(len(case.data.codes), case.seed, case.protocol.max_rows).test
    rows = case.data.X.iloc[test].astype(str).agg("|".join, axis=1)
    counts = pd.crosstab(rows.to_numpy(), case.data.codes[test]).to_numpy()
    for name, value in best_nmi(counts, 3).items():
        yield "any clustering", name, "nmi", value
