"""
Five labels per class: how good is a pool of base models together?
==================================================================

Only fifty of the 1797 handwritten digits that come with scikit-learn have labels here. The
classifiers learn from these fifty, the clusterings see all images without labels, and
`EC3Classifier` combines their votes on the others.
"""

import warnings

import numpy as np
from sklearn.datasets import load_digits

from ec3learn import EC3Classifier, MajorityVote, SoftVote, Table, Votes

LABELS_PER_CLASS = 5


def main() -> None:
    """Print the accuracy of each base model, of voting and of EC3Classifier, and the digits that a person should review."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    labelled = np.concatenate(
        [rng.choice(np.flatnonzero(y == z), LABELS_PER_CLASS, replace=False) for z in range(10)]
    )
    some = np.full(len(y), None, dtype=object)
    some[labelled] = y[labelled]
    rest = np.setdiff1d(np.arange(len(y)), labelled)

    print(f"{len(labelled)} labels, {len(rest)} digits without one\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = EC3Classifier(random_state=0).fit(X, some)

    first = {
        name: fitted[0].predict(X[rest]) for name, fitted in model.estimators_.items()
    }  # before retraining
    soft = Votes.from_probabilities(
        {name: fitted[0].predict_proba(X[rest]) for name, fitted in model.estimators_.items()}
    )
    answers = first | {
        "majority vote": MajorityVote().solve(Votes.from_labels(first)).labels(),
        "soft vote": SoftVote().solve(soft).labels(),
        "EC3Classifier": model.transduction_[rest],
    }
    right = [float(np.mean(said == y[rest])) for said in answers.values()]
    print("\nAccuracy on the digits without a label:")
    print(Table({"model": list(answers), "accuracy": right}), "\n")
    print("The digits that a person should review first:")
    print(model.consensus_.contested(8))


if __name__ == "__main__":
    main()
