"""`EC3Classifier` and `CrowdClassifier`, and the base models that they train."""

from .classifier import EC3Classifier
from .crowd import CrowdClassifier
from .features import Features
from .models.clusterings import Landmarks
from .models.kernel_bayes import KernelNaiveBayes
from .pooling import PooledVote
from .pools import classifier_pool, clusterer_pool

__all__ = [
    "CrowdClassifier",
    "EC3Classifier",
    "Features",
    "KernelNaiveBayes",
    "Landmarks",
    "PooledVote",
    "classifier_pool",
    "clusterer_pool",
]
