"""How good clusterings are and must be: clusterings that are tuned, and noisy copies of the classes.

Both replace the five clusterings of a repeat and combine them with the same classifiers.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.cluster import DBSCAN, AffinityPropagation, AgglomerativeClustering, KMeans
from sklearn.metrics import normalized_mutual_info_score as nmi  # noise is a cluster
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.neighbors import NearestNeighbors

from ec3learn import EC3, SoftVote
from ec3learn.estimator import Features, Landmarks, QuantileMeanShift

from .. import published
from ..protocol import split
from ..scores import auc_of, mean_auc, solve_and_score
from .accuracy import learned

# Levels of normalised mutual information with the classes
LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
N_COPIES = len(published.CLUSTERINGS)
GRAINS = (1, 2, 4, 8)  # clusters per class
FEW = 1000  # rows that the silhouette is computed on


def noisy_truth(case):
    """Replace the clusterings by copies of the classes with noise, made to match them to a degree.

    "independent" copies have noise of their own each, the best case; "same" are five times one
    copy, the worst. The setting is the number of labels per class, the kind, and the level.
    """
    for labels in (None, 20, 5):
        test = case.outputs(labels=labels).test
        word = "all" if labels is None else str(labels)
        best = max(mean_auc(proba, test.truth) for proba in test.proba.values())
        plain = test.votes(soft=True, clusterings="none")
        yield "best classifier", word, "auc", best  # in hindsight
        yield "soft vote", word, "auc", auc_of(SoftVote(), plain, test)
        yield from _combined(f"{word} none", test, "none")
        rng = np.random.default_rng([case.seed, 4])
        for level in LEVELS:
            copies = [noisy_copy(test.truth, level, rng) for _ in range(N_COPIES)]
            for kind, chosen in (("independent", copies), ("same", copies[:1] * N_COPIES)):
                setting = f"{word} {kind} {level:.2f}"
                named = {f"copy {k}": copy for k, copy in enumerate(chosen)}
                mean = float(np.mean([nmi(test.truth, copy) for copy in chosen]))
                yield "clusterings", setting, "nmi", mean
                yield from _combined(setting, replace(test, clusters=named), "paper")


def noisy_copy(truth, level, rng):
    """Return the classes with as many redrawn as leave a normalised mutual information of `level`.

    Examples
    --------
    >>> truth = np.arange(1000) % 3
    >>> copy = noisy_copy(truth, 0.4, np.random.default_rng(0))
    >>> round(nmi(truth, copy), 2)
    0.4
    """
    luck, others = rng.random(len(truth)), rng.permutation(truth)
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        below = nmi(truth, np.where(luck < middle, truth, others)) < level
        low, high = (middle, high) if below else (low, middle)
    return np.where(luck < high, truth, others)


def _combined(setting, test, clusterings):
    hard, soft = (test.votes(soft=soft, clusterings=clusterings) for soft in (False, True))
    yield "iEC3", setting, "auc", auc_of(EC3(), hard, test)
    yield "iEC3, learned weights", setting, "auc", auc_of(learned(), soft, test)


def tuned_clusterings(case):
    """Tune the five clusterings, by their match with the classes on the validation set or by the silhouette.

    All drawn rows are clustered at once; affinity propagation alone clusters landmarks, as many as
    where it is not tuned.
    """
    outputs, seed = case.outputs(), case.seed
    parts = split(len(case.data.codes), seed, case.protocol.max_rows)
    drawn = np.concatenate(parts)
    scaled = Features("standard", dense=True, random_state=seed)
    features = scaled.fit_transform(case.data.X.iloc[drawn])
    objects = slice(len(parts.train), None)  # the validation set, then the test set
    sample = np.random.default_rng(seed).permutation(len(drawn))[:FEW]
    distances = pairwise_distances(features[sample])
    np.fill_diagonal(distances, 0)
    tuned = {"NMI": {}, "silhouette": {}}
    for name, fits in _candidates(outputs.n_classes, case.protocol.n_landmarks, seed).items():
        tried = [np.asarray(fit(features)) for fit in fits]
        known = outputs.known
        match = [nmi(outputs.truth[known], labels[objects][known]) for labels in tried]
        shape = [_silhouette(distances, labels[sample]) for labels in tried]
        tuned["NMI"][name] = tried[int(np.argmax(match))][objects]
        tuned["silhouette"][name] = tried[int(np.argmax(shape))][objects]
    for way, clusters in {"none": outputs.clusters, **tuned}.items():
        test = replace(outputs, clusters=clusters).test
        for name, labels in test.clusters.items():
            yield name, way, "nmi", nmi(test.truth, labels)
            yield name, way, "n_clusters", float(len(np.unique(labels)))
        soft = test.votes(soft=True)
        yield from solve_and_score("iEC3", way, EC3(), test.votes(), test)
        yield from solve_and_score("iEC3, learned weights", way, learned(), soft, test)


def _candidates(n_classes, n_landmarks, seed):
    """Return the settings that are tried of each clustering, as functions from features to clusters."""
    few = [n_classes * grain for grain in GRAINS]
    return {
        "DBSCAN": [partial(_dbscan, quantile=q) for q in (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)],
        "Hierarchical": [AgglomerativeClustering(k, linkage="complete").fit_predict for k in few],
        "Affinity": [
            partial(_affinity, quantile=q, n_landmarks=n_landmarks, seed=seed)
            for q in (0.5, 0.1, 0.0)
        ],
        "K-Means": [KMeans(k, random_state=seed).fit_predict for k in sorted({2, *few})],
        "Mean-Shift": [QuantileMeanShift(q).fit_predict for q in (0.05, 0.1, 0.2, 0.3)],
    }


def _dbscan(features, quantile):
    """Cluster by DBSCAN whose radius is a quantile of the distances to the fourth neighbour."""
    distances = NearestNeighbors(n_neighbors=5).fit(features).kneighbors(features)[0][:, -1]
    return DBSCAN(eps=max(float(np.quantile(distances, quantile)), 1e-9)).fit_predict(features)


def _affinity(features, quantile, n_landmarks, seed):
    """Cluster landmarks by affinity propagation whose preference is a quantile of the similarities."""
    few = features[:: max(1, len(features) // 500)]
    preference = float(np.quantile(-pairwise_distances(few, metric="sqeuclidean"), quantile))
    model = AffinityPropagation(damping=0.9, max_iter=300, preference=preference)
    return Landmarks(model, n_landmarks, random_state=seed).fit_predict(features)


def _silhouette(distances, labels):
    """Return the mean silhouette; -1 where all rows, or none, share a cluster."""
    n_clusters = len(np.unique(labels))
    if not 1 < n_clusters < len(labels):
        return -1.0
    return float(silhouette_score(distances, labels, metric="precomputed"))
