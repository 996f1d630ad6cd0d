"""Consensus methods, one file each; `METHODS` finds them by name."""

from functools import partial

from .base import METHODS, Method, method_of, solve
from .bgcm import BGCM
from .bwa import BWA
from .c3e import C3EKL, C3ESL
from .comparison import compare
from .dawid_skene import EBCC, DawidSkene
from .ec3.ec3 import EC3
from .panel import Panel
from .stacking import StackedVote
from .upe import UPE
from .voting import MajorityVote, SoftVote, WeightedVote
from .weights import ReliabilityWarning

Auto = Panel

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

__all__ = [
    "BGCM",
    "BWA",
    "C3EKL",
    "C3ESL",
    "EBCC",
    "EC3",
    "METHODS",
    "UPE",
    "Auto",
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
]
