"""ec3learn: one answer from many models.

Turn the outputs of many classifiers or annotators, and many clusterings of the same objects, into one classification.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .consensus import Consensus, ExtendWarning
    from .estimators import EC3Classifier
    from .frames import combine, extend, votes_from
    from .methods import (
        BGCM,
        C3EKL,
        C3ESL,
        EC3,
        METHODS,
        UPE,
        DawidSkene,
        MajorityVote,
        ReliabilityWarning,
        SoftVote,
        StackedVote,
        WeightedVote,
    )
    from .table import Table
    from .votes import Votes

__version__ = "0.1.0.dev0"

__all__ = [
    "BGCM",
    "C3EKL",
    "C3ESL",
    "EC3",
    "METHODS",
    "UPE",
    "Consensus",
    "DawidSkene",
    "EC3Classifier",
    "ExtendWarning",
    "MajorityVote",
    "ReliabilityWarning",
    "SoftVote",
    "StackedVote",
    "Table",
    "Votes",
    "WeightedVote",
    "__version__",
    "combine",
    "extend",
    "votes_from",
]

# Where names live; they are loaded, and with them scikit-learn, when they are first used. All others are methods.
_HOMES = {
    "combine": "frames",
    "extend": "frames",
    "votes_from": "frames",
    "Consensus": "consensus",
    "EC3Classifier": "estimators",
    "ExtendWarning": "consensus",
    "Table": "table",
    "Votes": "votes",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'ec3learn' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES.get(name, 'methods')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
