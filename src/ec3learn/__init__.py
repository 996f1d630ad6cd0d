"""ec3learn: one answer from many models.

Turn the outputs of many classifiers or annotators, and many clusterings of the same objects, into
one classification.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._checks import InputError
    from ._table import Table
    from .consensus import Consensus
    from .estimator.classifier import EC3Classifier
    from .estimator.crowd import CrowdClassifier
    from .methods import (
        BGCM,
        BWA,
        C3EKL,
        C3ESL,
        EBCC,
        EC3,
        METHODS,
        UPE,
        DawidSkene,
        MajorityVote,
        Panel,
        SoftVote,
        StackedVote,
        WeightedVote,
        solve,
    )
    from .tables import combine, extend, votes_from
    from .votes import Scale, Votes

__version__ = "0.1.0.dev0"

__all__ = [
    "BGCM",
    "BWA",
    "C3EKL",
    "C3ESL",
    "EBCC",
    "EC3",
    "METHODS",
    "UPE",
    "Consensus",
    "CrowdClassifier",
    "DawidSkene",
    "EC3Classifier",
    "InputError",
    "MajorityVote",
    "Panel",
    "Scale",
    "SoftVote",
    "StackedVote",
    "Table",
    "Votes",
    "WeightedVote",
    "combine",
    "extend",
    "solve",
    "votes_from",
]

# Where names live; they are loaded, and with them scikit-learn, when they are first used. All
# others are methods.
_HOMES = {
    "_checks": ["InputError"],
    "_table": ["Table"],
    "consensus": ["Consensus"],
    "estimator": ["CrowdClassifier", "EC3Classifier"],
    "tables": ["combine", "extend", "votes_from"],
    "votes": ["Scale", "Votes"],
}


def __getattr__(name: str) -> Any:
    if name == "plots":
        return import_module(".report.plots", __name__)
    if name not in __all__:
        raise AttributeError(f"module 'ec3learn' has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "methods")
    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
