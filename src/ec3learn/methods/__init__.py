"""Consensus methods, one file each; `METHODS` finds them by name."""

from functools import partial
from typing import Any

from .base import METHODS, Method, method_of, plain_parameters, solve
from .bgcm import BGCM
from .bwa import BWA
from .c3e import C3EKL, C3ESL
from .comparison import compare
from .dawid_skene import EBCC, DawidSkene
from .ec3.ec3 import EC3
from .ec3.tuning import tune_weights
from .panel import Panel
from .regression import StackedVote
from .upe import UPE
from .voting import MajorityVote, SoftVote, WeightedVote
from .weights import ReliabilityWarning

METHODS.update(
    {
        "auto": Panel,
        "ec3": partial(EC3, balanced=False),
        "iec3": EC3,
        "majority": MajorityVote,
        "soft-vote": SoftVote,
        "weighted-vote": WeightedVote,
        "bgcm": BGCM,
        "upe": UPE,
        "c3e-kl": C3EKL,
        "c3e-sl": C3ESL,
        "bwa": BWA,
        "ebcc": EBCC,
        "dawid-skene": DawidSkene,
        "dawid-skene-one-coin": partial(DawidSkene, one_coin=True),
        "stacked": StackedVote,
    }
)

WHAT = {  # for methods that are one class with different parameters
    "ec3": "Combine classifiers and clusterings by EC3: every group counts by its size",
    "iec3": "Combine classifiers and clusterings by iEC3: sizes are divided out, so that small "
    "groups and rare classes count",
    "auto": "Take the mean of several methods, and use clusterings too where there are some",
    "dawid-skene": "Combine voters by Dawid-Skene: estimate the true classes and each voter's "
    "confusion matrix",
    "dawid-skene-one-coin": "Combine voters by Dawid-Skene with one number per voter: how often it "
    "is right, whatever the class",
}

__all__ = [
    "BGCM",
    "BWA",
    "C3EKL",
    "C3ESL",
    "EBCC",
    "EC3",
    "METHODS",
    "UPE",
    "DawidSkene",
    "MajorityVote",
    "Method",
    "Panel",
    "ReliabilityWarning",
    "SoftVote",
    "StackedVote",
    "WeightedVote",
    "compare",
    "method_of",
    "solve",
    "tune_weights",
]


def describe_methods() -> list[dict[str, Any]]:
    """One dict per method: its name, what it does, and its parameters.

    Examples
    --------
    >>> next(row for row in describe_methods() if row["method"] == "majority")
    {'method': 'majority', 'what': 'Take the class most classifiers voted for', 'set': {}}
    """
    rows = []
    for name, make in METHODS.items():
        kind = make.func if isinstance(make, partial) else make
        what = WHAT.get(name, (kind.__doc__ or "").split("\n")[0].rstrip("."))
        rows.append({"method": name, "what": what, "set": plain_parameters(make().get_params())})
    return rows
