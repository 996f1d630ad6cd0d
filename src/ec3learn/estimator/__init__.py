"""From a feature table to a consensus classifier: `EC3Classifier`, and the pools of base models that it trains."""

from .classifier import EC3Classifier
from .features import Features
from .models import (
    Boosting,
    CalibratedLinearSVM,
    ConvolutionalNetwork,
    ExtraTrees,
    KDistanceDBSCAN,
    KernelLogisticRegression,
    KernelNaiveBayes,
    Landmarks,
    NearestNeighbours,
    Perceptron,
    QuantileMeanShift,
    RandomForest,
    SilhouetteKMeans,
)
from .pools import TableModel, classifier_pool, clusterer_pool, grids

__all__ = [
    "Boosting",
    "CalibratedLinearSVM",
    "ConvolutionalNetwork",
    "EC3Classifier",
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
