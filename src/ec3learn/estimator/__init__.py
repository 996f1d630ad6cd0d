"""From a feature table to a consensus classifier: `EC3Classifier`, and the pools of base models that it trains."""

from .classifier import EC3Classifier
from .crowd import CrowdClassifier
from .features import Features
from .models.classifiers import (
    Boosting,
    CalibratedLinearSVM,
    ExtraTrees,
    InstalledClassifier,
    NearestNeighbours,
    Perceptron,
    RandomForest,
)
from .models.clusterings import KDistanceDBSCAN, Landmarks, QuantileMeanShift, SilhouetteKMeans
from .models.convolution import ConvolutionalNetwork
from .models.kernel_bayes import KernelNaiveBayes
from .pooling import PooledVote
from .pools import TableModel, classifier_pool, clusterer_pool, grids

__all__ = [
    "Boosting",
    "CalibratedLinearSVM",
    "ConvolutionalNetwork",
    "CrowdClassifier",
    "EC3Classifier",
    "ExtraTrees",
    "Features",
    "InstalledClassifier",
    "KDistanceDBSCAN",
    "KernelNaiveBayes",
    "Landmarks",
    "NearestNeighbours",
    "Perceptron",
    "PooledVote",
    "QuantileMeanShift",
    "RandomForest",
    "SilhouetteKMeans",
    "TableModel",
    "classifier_pool",
    "clusterer_pool",
    "grids",
]
