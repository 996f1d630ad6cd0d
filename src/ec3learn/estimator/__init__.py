"""`EC3Classifier` and `CrowdClassifier`, and the base models that they train."""

from .classifier import EC3Classifier
from .crowd import CrowdClassifier
from .features import Features
from .models.clusterings import KDistanceDBSCAN, Landmarks, QuantileMeanShift, SilhouetteKMeans
from .models.convolution import ConvolutionalNetwork
from .models.kernel_bayes import KernelNaiveBayes
from .pooling import PooledVote
from .pools import classifier_pool, clusterer_pool

__all__ = [
    "ConvolutionalNetwork",
    "CrowdClassifier",
    "EC3Classifier",
    "Features",
    "KDistanceDBSCAN",
    "KernelNaiveBayes",
    "Landmarks",
    "PooledVote",
    "QuantileMeanShift",
    "SilhouetteKMeans",
    "classifier_pool",
    "clusterer_pool",
]
