"""
Five labels a class: what does a pool of base models say together?
==================================================================

Fifty of the 1797 handwritten digits that come with scikit-learn have labels. Each classifier learns from these fifty, each
clustering sees all pictures without labels, and `EC3Classifier` combines what they say about the others.
"""

import warnings

import numpy as np
from sklearn.datasets import load_digits

from ec3learn import EC3Classifier, MajorityVote, SoftVote, Table, Votes

LABELS_PER_CLASS = 5


def main() -> None:
    """Print what each base model, voting and EC3Classifier get right, and which digits a person should look at."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    labelled = np.concatenate([rng.choice(np.flatnonzero(y == z), LABELS_PER_CLASS, replace=False) for z in range(10)])
    some = np.full(len(y), None, dtype=object)
    some[labelled] = y[labelled]
    rest = np.setdiff1d(np.arange(len(y)), labelled)

    print(f"{len(labelled)} labels, {len(rest)} digits without one\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = EC3Classifier(random_state=0, verbose=1).fit(X, some)

    first = {name: fitted[0].predict(X[rest]) for name, fitted in model.estimators_.items()}  # as they were before retraining
    soft = Votes.from_probabilities({name: fitted[0].predict_proba(X[rest]) for name, fitted in model.estimators_.items()})
    answers = first | {
        "majority vote": MajorityVote().solve(Votes.from_labels(first)).labels(),
        "soft vote": SoftVote().solve(soft).labels(),
        "EC3Classifier": model.transduction_[rest],
    }
    right = [float(np.mean(said == y[rest])) for said in answers.values()]
    print("\nHow many of the digits without a label each gets right:")
    print(Table({"model": list(answers), "accuracy": right}), "\n")
    print("The digits a person should look at first:")
    print(model.consensus_.contested(8))


if __name__ == "__main__":
    main()
