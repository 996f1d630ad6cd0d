"""Base classifiers and base clusterings."""

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
from .kernel_bayes import KernelNaiveBayes
from .landmarks import Landmarks

__all__ = [
    "Boosting",
    "CalibratedLinearSVM",
    "ConvolutionalNetwork",
    "ExtraTrees",
    "KDistanceDBSCAN",
    "KernelLogisticRegression",
    "KernelNaiveBayes",
    "Landmarks",
    "NearestNeighbours",
    "Perceptron",
    "QuantileMeanShift",
    "RandomForest",
    "SilhouetteKMeans",
]
