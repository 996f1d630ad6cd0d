"""ec3learn: one answer from many models.

Turn the outputs of many classifiers or annotators, and many clusterings of the same objects, into one classification.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .consensus import Consensus, ExtendWarning
    from .methods.ec3 import EC3
    from .table import Table
    from .votes import Votes

__version__ = "0.1.0.dev0"

__all__ = ["EC3", "Consensus", "ExtendWarning", "Table", "Votes", "__version__"]

# Where each name lives; it is loaded, and with it scikit-learn, when it is first used.
_HOMES = {
    "EC3": "methods.ec3",
    "Consensus": "consensus",
    "ExtendWarning": "consensus",
    "Table": "table",
    "Votes": "votes",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ec3learn' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
