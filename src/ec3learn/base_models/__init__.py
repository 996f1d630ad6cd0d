"""The pools of base classifiers and base clusterings."""

from .classifiers import (
    Boosting,
    CalibratedLinearSVM,
    ExtraTrees,
    KernelLogisticRegression,
    NearestNeighbours,
    Perceptron,
    RandomForest,
)
from .clusterings import KDistanceDBSCAN, QuantileMeanShift, SilhouetteKMeans
from .convolution import ConvolutionalNetwork
from .features import Features
from .kernel_bayes import KernelNaiveBayes
from .landmarks import Landmarks
from .pools import TableModel, classifier_pool, clusterer_pool, grids

__all__ = [
    "Boosting",
    "CalibratedLinearSVM",
    "ConvolutionalNetwork",
    "ExtraTrees",
    "Features",
    "KDistanceDBSCAN",
    "KernelLogisticRegression",
    "KernelNaiveBayes",
    "Landmarks",
    "NearestNeighbours",
    "Perceptron",
    "QuantileMeanShift",
    "RandomForest",
    "SilhouetteKMeans",
    "TableModel",
    "classifier_pool",
    "clusterer_pool",
    "grids",
]
