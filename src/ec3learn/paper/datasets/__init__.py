"""The data sets of the paper, by name: from a folder, the user's cache, or the network.

A data set is one Parquet file with the features and, as its last column, the class (`target`). Data sets that are not in a folder
are downloaded once from UCI or OpenML, checked, and kept in the cache in the same form. Two need no file: Iris comes with
scikit-learn, and Waveform is made from its published definition.
"""

from .fetching import DatasetError
from .loading import Dataset, at_hand, cache_folder, load, names
from .registry import waveforms

__all__ = ["Dataset", "DatasetError", "at_hand", "cache_folder", "load", "names", "waveforms"]
