"""Five labels a class: what do seven classifiers and five clusterings of the digits say together?

Fifty of the 1797 handwritten digits that come with scikit-learn have labels. Each classifier learns from these fifty, each
clustering sees the pictures without labels, and iEC3 combines what they say about the others.
"""

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ec3learn import EC3, MajorityVote, Table, Votes

CLASSIFIERS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "naive Bayes": GaussianNB(var_smoothing=1e-2),
    "3 neighbours": KNeighborsClassifier(3),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "support vectors": make_pipeline(StandardScaler(), SVC()),
    "random forest": RandomForestClassifier(200, random_state=0),
    "extra trees": ExtraTreesClassifier(200, random_state=0),
}
CLUSTERINGS = {
    "10 means": KMeans(10, n_init=4, random_state=0),
    "20 means": KMeans(20, n_init=4, random_state=0),
    "40 means": KMeans(40, n_init=4, random_state=0),
    "100 means": KMeans(100, n_init=4, random_state=0),
    "Ward's tree": AgglomerativeClustering(20),
}


def digits_outputs(labels_per_class: int = 5) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    """Return what each classifier and each clustering says about the digits without labels, and their true classes."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    labelled = np.concatenate([rng.choice(np.flatnonzero(y == z), labels_per_class, replace=False) for z in range(10)])
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    classifiers = {name: model.fit(X[labelled], y[labelled]).predict(X[rest]) for name, model in CLASSIFIERS.items()}
    clusterings = {name: model.fit_predict(X)[rest] for name, model in CLUSTERINGS.items()}
    return classifiers, clusterings, y[rest]


def main() -> None:
    """Print what each base model, the majority and iEC3 get right, and which digits a person should look at."""
    classifiers, clusterings, truth = digits_outputs()
    votes = Votes.from_labels(classifiers, clusterings)
    consensus = EC3().solve(votes)
    answers = classifiers | {
        "majority vote": MajorityVote().solve(votes).labels(),
        "iEC3": consensus.labels(),
        "iEC3, agreement weights": EC3(weights="agreement").solve(votes).labels(),
    }
    print(votes, "\n")
    print(Table({"model": list(answers), "accuracy": [float(np.mean(said == truth)) for said in answers.values()]}), "\n")
    print("Who drove the consensus:")
    print(consensus.voters(), "\n")
    print("The digits a person should look at first:")
    print(consensus.contested(8))


if __name__ == "__main__":
    main()
