"""Scores on the test set: AUC by probabilities and by labels, F, accuracy."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, roc_auc_score

from ec3learn.methods import ReliabilityWarning


def mean_auc(proba, truth):
    """The AUC of each class against all others, averaged over the classes that occur."""
    classes = [z for z in np.unique(truth) if (truth != z).any()]
    return float(np.mean([roc_auc_score(truth == z, proba[:, z]) for z in classes] or 0.5))


def class_f(code, labels, truth):
    """The F score of one class; 0 if it neither occurs nor is predicted."""
    return float(f1_score(truth == code, labels == code, zero_division=0.0))


def scores(method, setting, proba, outputs, labels=None):
    """Yield the scores of class probabilities, and labels (by default the most probable classes).

    "auc" is computed from probabilities and "auc_hard" from labels, both one-vs-rest and averaged
    over the classes; "f" is the F score of the rarer of two classes, with more classes the average;
    "f_macro" is always the average.
    """
    truth = outputs.truth
    labels = proba.argmax(axis=1) if labels is None else labels
    macro = float(f1_score(truth, labels, labels=np.unique(truth), average="macro"))
    values = {
        "auc": mean_auc(proba, truth),
        "auc_hard": mean_auc(np.eye(outputs.n_classes)[labels], truth),
        "f": class_f(outputs.rare, labels, truth) if outputs.n_classes == 2 else macro,
        "f_macro": macro,
        "accuracy": float(np.mean(labels == truth)),
    }
    for metric, value in values.items():
        yield method, setting, metric, value


def solve_quietly(method, votes):
    """Solve without warnings about convergence or reliability: the scores show their effect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ReliabilityWarning)
        return method.solve(votes)


def solve_and_score(name, setting, method, votes, test, rule="argmax"):
    """Yield the scores of a method's answer to some votes on the test set."""
    consensus = solve_quietly(method, votes)
    labels = np.asarray(consensus.labels(rule=rule), dtype=np.int64)
    yield from scores(name, setting, consensus.proba, test, labels)


def auc_of(method, votes, test):
    """The AUC of a method's answer to some votes on the test set."""
    return mean_auc(solve_quietly(method, votes).proba, test.truth)
