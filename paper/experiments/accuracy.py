"""How accurate the methods are, and what the data sets are like."""

from dataclasses import replace

import numpy as np
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

from ..datasets import TARGET
from ..protocol import MOST_ROWS
from ..scores import scores, solve_and_score

UPE_STARTS = 2


def learned():
    """The form of iEC3 that was measured best with few labels."""
    return EC3(0.5, 0.0, 0.5, 0.0, weights="agreement")


def datasets(case):
    """Describe the data set: its size, the share of its largest class, the entropy of its classes, their counts."""
    counts = case.data.frame[TARGET].value_counts(sort=False)
    shares = counts[counts > 0] / counts.sum()
    values = {
        "rows": counts.sum(),
        "classes": len(shares),
        "features": case.data.X.shape[1],
        "majority": shares.max(),
        "entropy": -(shares * np.log2(shares)).sum(),
    }
    for metric, found in (("value", values), ("count", counts)):
        for head, value in found.items():
            yield "", str(head), metric, float(value)


def accuracy(case):
    """Score the paper's 16 methods, and ours with and without clusterings, which the setting names."""
    outputs = case.outputs()
    test = outputs.test
    yield from _score_printed(outputs, UPE(n_init=UPE_STARTS, random_state=case.seed))
    yield from solve_and_score("C3E-SL", "paper", C3ESL(), test.votes(), test)
    yield from solve_and_score("iEC3, mass rule", "paper", EC3(), test.votes(), test, rule="mass")
    alone, soft_alone = (test.votes(soft=soft, clusterings=False) for soft in (False, True))
    yield from solve_and_score("weighted vote", "none", WeightedVote(), soft_alone, test)
    yield from solve_and_score("Dawid-Skene", "none", DawidSkene(prior="uniform"), alone, test)
    yield from solve_and_score("iEC3", "none", EC3(), alone, test)
    for setting, soft in (("none", soft_alone), ("paper", test.votes(soft=True))):
        yield from solve_and_score("iEC3, soft votes", setting, EC3(), soft, test)
        yield from solve_and_score("iEC3, learned weights", setting, learned(), soft, test)


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
    hard, soft = (test.votes(soft=soft, clusterings=False) for soft in (False, True))
    yield from solve_and_score("majority vote", "none", MajorityVote(), hard, test)
    yield from solve_and_score("soft vote", "none", SoftVote(), soft, test)


def accuracy_large(case):
    """Score the paper's 16 methods on more rows of the same data set."""
    large = replace(case, protocol=replace(case.protocol, max_rows=MOST_ROWS))
    return _score_printed(large.outputs(), UPE(n_init=1, max_iter=300, random_state=case.seed))


def clustering_nmi(case):
    """Compare each clustering with the classes of the test set; noise is a cluster."""
    test = case.outputs().test
    for name, clusters in test.clusters.items():
        yield name, "paper", "nmi", float(normalized_mutual_info_score(test.truth, clusters))
