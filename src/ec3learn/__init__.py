"""ec3learn: one answer from many models.

Turn the outputs of many classifiers or annotators, and many clusterings of the same objects, into one classification.
"""

from .consensus import Consensus, ExtendWarning
from .methods.ec3 import EC3
from .table import Table
from .votes import Votes

__version__ = "0.1.0.dev0"

__all__ = ["EC3", "Consensus", "ExtendWarning", "Table", "Votes", "__version__"]
