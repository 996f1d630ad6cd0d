"""EC3Classifier: from a feature table to a consensus classifier, as a scikit-learn estimator.

A pool of classifiers learns from the labelled rows and a pool of clusterings from all rows; what they say becomes `Votes`, a
method makes one answer of them, and its rule answers for new rows. Labelled rows are voted on by classifiers that have not seen
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)
from threadpoolctl import threadpool_limits

from .._checks import is_integer, require_bool, require_integer
from .._text import Table
from ..consensus import Consensus
from ..diagnosis.metrics import mean_auc
from ..methods.base import Method, method_of
from ..methods.stacking import greedy_weights
from ..votes import Votes
from ..votes.labels import is_missing, kind_of
from ..votes.reading import frame_of
from .pools import classifier_pool, clusterer_pool
from .selection import Choice, added, choose
from .training import Named, Training, assigned, mean_shares

Array = npt.NDArray[Any]

ROWS_FOR_TEXTS = 50  # of which more than half are different
ROWS_FOR_THREADS = 10_000  # below, a library with threads of its own is slower than without


class EC3Classifier(TransformerMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Train a pool of classifiers and clusterings and combine what they say.

    Rows whose label is missing are used too: the clusterings see all rows, and the consensus is solved over all of them.

    Parameters
    ----------
    classifiers, clusterers : name of a pool, or list of (name, estimator)
        "default" or "paper", or estimators of your own, pipelines included. A pipeline that selects columns keeps to them. An
        empty list of clusterers leaves clusterings out.
    consensus : "auto", a name in METHODS, or a method such as EC3(beta=0)
        "auto" chooses weights, settings and label rule on out-of-fold votes; plain soft voting is one of the candidates.
    voting : "soft" or "hard"
        Whether classifiers vote with probabilities, where they have them, or with their most probable class.
    cv : int
        In how many folds the labelled rows get votes from classifiers that have not seen them.
    unlabelled : label
        A value of `y` that means "no label", besides None and NaN.
    prefit : bool
        The base models are fitted already and are taken as they are. The rows given to `fit` should be new to them.
    retrain_rounds : int or "auto"
        How often the pool is retrained on the rows the consensus is surest of, where rows without labels are at hand. "auto" is
        2 with at least as many rows without labels as with, else 0.
    select : None or "greedy"
        "greedy" keeps only the classifiers that forward selection on out-of-fold votes takes; it stops when ten rounds have not
        raised the score.
    on_error : "raise" or "drop"
        What to do about a base model that fails: stop and name it, or go on without it and say so in `report_`.
    n_jobs : int or None
        How many base models are fitted at a time.
    random_state : int, RandomState or None
        Seeds the pools and the folds.
    verbose : int
        1 shows a progress bar for each base model.

    Attributes
    ----------
    classes_ : array
        The classes.
    transduction_ : array
        The labels of the rows given to `fit`: those given, and for the others what the consensus says.
    consensus_ : Consensus
        The answer for the rows given to `fit`, with `voters()`, `explain(i)` and so on.
    voters_ : Table
        The base models: agreement, weight, and what each adds.
    report_ : list of str
        What was chosen and why, what was left out, what to know.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from ec3learn import EC3Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> pool = [("lr", LogisticRegression(max_iter=1000)), ("nb", GaussianNB())]
    >>> EC3Classifier(pool, clusterers=[], random_state=0).fit(X, y).predict(X[:2])
    array([0, 0])
    """

    def __init__(
        self,
        classifiers: str | Named = "default",
        clusterers: str | Named = "default",
        consensus: str | Method = "auto",
        voting: Literal["soft", "hard"] = "soft",
        cv: int = 5,
        unlabelled: Any = None,
        prefit: bool = False,
        retrain_rounds: int | Literal["auto"] = "auto",
        select: Literal["greedy"] | None = None,
        on_error: Literal["raise", "drop"] = "raise",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.classifiers = classifiers
        self.clusterers = clusterers
        self.consensus = consensus
        self.voting = voting
        self.cv = cv
        self.unlabelled = unlabelled
        self.prefit = prefit
        self.retrain_rounds = retrain_rounds
        self.select = select
        self.on_error = on_error
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fit ---------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, **fit_params: Any) -> EC3Classifier:
        """Fit the base models, collect their votes and solve the consensus.

        Parameters
        ----------
        X : table of features
            Array, sparse matrix or dataframe.
        y : labels
            None and NaN are missing, and so is `unlabelled`.
        **fit_params
            `sample_weight`, handed to the classifiers that take it; with metadata routing, what they ask for.

        Returns
        -------
        EC3Classifier

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> model = EC3Classifier([("tree", DecisionTreeClassifier())], [], cv=2, random_state=0)
        >>> model.fit([[0], [1], [2], [7], [8], [9]], ["low", "low", None, "high", None, "high"]).transduction_
        array(['low', 'low', 'low', 'high', 'high', 'high'], dtype='<U4')
        """
        self._check()
        X, codes = self._read(X, y, fit_params.get("sample_weight"))
        with _few_threads(X):
            return self._fitted_to(X, codes, fit_params)

    def _fitted_to(self, X: Any, codes: Array, fit_params: dict[str, Any]) -> EC3Classifier:
        self.report_: list[str] = []
        work = Training(
            pool=self._pool("classifiers"),
            clusterers=self._pool("clusterers"),
            X=X,
            codes=codes,
            classes=self.classes_,
            params=self._routed(fit_params),
            prefit=self.prefit,
            cv=self.cv,
            on_error=self.on_error,
            n_jobs=self.n_jobs,
            seed=self._seed,
            verbose=self.verbose > 0,
            notes=self._pool_notes,
        )
        self.estimators_, out_of_fold = work.classifiers()
        if self.select == "greedy":
            self._keep_selected(out_of_fold, codes[codes >= 0])
        self.clusterers_, clusters = work.clusterings()
        shares = work.all_votes(self.estimators_, out_of_fold)
        self._hard = self.voting == "hard"
        self._choose(self._votes(shares, clusters), codes)
        self._solve(self._votes(shares, clusters), codes)
        for _ in range(self._rounds(codes)):
            new = work.retrained(self.estimators_, self.consensus_.proba, self._row_labels(self.consensus_))
            for name, (models, proba) in new.items():
                self.estimators_[name] = [*self.estimators_[name], *models]
                n_models = len(self.estimators_[name])
                free = codes < 0  # the votes on labelled rows stay out of fold
                shares[name][free] = (shares[name][free] * (n_models - 2) + 2 * proba[free]) / n_models
            self._solve(self._votes(shares, clusters), codes)
        work.progress.close()
        labels = self._row_labels(self.consensus_)
        self.transduction_ = self.classes_[np.where(codes >= 0, codes, labels)]
        return self

    def _keep_selected(self, out_of_fold: dict[str, Array], labels: Array) -> None:
        """Leave classifiers out that greedy forward selection on out-of-fold votes does not take."""
        shares = np.stack(list(out_of_fold.values()))
        voted = ~np.isnan(shares).any(axis=(0, 2))
        taken, history = greedy_weights(shares[:, voted], labels[voted], mean_auc)
        kept = [name for name, share in zip(out_of_fold, taken, strict=True) if share > 0]
        left = [name for name in out_of_fold if name not in kept]
        if left:
            self._pool_notes.append(f"Greedy selection (AUC {history[-1]:.4f}) left out: {', '.join(left)}.")
        self.estimators_ = {name: self.estimators_[name] for name in kept}

    def _choose(self, votes: Votes, codes: Array) -> None:
        if isinstance(self.consensus, str) and self.consensus == "auto":
            chosen = choose(votes, codes, self.cv, self._seed)
        else:
            chosen = Choice(method_of(self.consensus, "consensus"))
        self.method_, self.offsets_ = chosen.method, chosen.offsets
        self._hard = self._hard or chosen.hard
        self._pool_notes += chosen.notes

    def _solve(self, votes: Votes, codes: Array) -> None:
        labelled = codes >= 0
        known = ([int(i) for i in np.flatnonzero(labelled)], [self._names[z] for z in codes[labelled]])
        notes = list(self._pool_notes)
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            if self.method_.admits_known:
                self.consensus_: Consensus = self.method_.solve(votes, known=known)
            else:
                self.consensus_ = self.method_.solve(votes)
                notes.append(f"{self.method_.title} has no place for known labels: they were used to train the classifiers only.")
        notes += [str(doubt.message) for doubt in doubts]
        self.report_ = list(dict.fromkeys([*notes, *map(str, self.consensus_.notes)]))

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array]:
        """Return the features as they are handed on, and the number of each row's class, -1 where there is none.

        The label of a row without weight is as good as missing.
        """
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None: pass labels, with None "
                "for rows without one."
            )
        X = self._features(X, reset=True)
        y = column_or_1d(y, warn=True)
        if len(y) != _num_samples(X):
            raise ValueError(
                f"X and y must have as many rows, got inconsistent numbers of samples: {_num_samples(X)} and {len(y)}."
            )
        missing = _missing(y, self.unlabelled)
        if sample_weight is not None:
            missing |= _check_sample_weight(sample_weight, X, dtype=np.float64) == 0
        if missing.all():
            raise ValueError(f"y must hold at least one label, got {len(y)} missing ones.")
        given = y[~missing]
        if given.dtype == object:
            kinds = {kind_of(label) for label in given.tolist()}
            if len(kinds) > 1:
                raise ValueError(f"y must hold labels of one kind, got {' and '.join(sorted(map(str, kinds)))}.")
            given = np.array(given.tolist())
        if given.dtype.kind == "f" and missing.any() and (given == given.astype(np.int64)).all():
            given = given.astype(np.int64)  # whole numbers that became floats because of NaN
        check_classification_targets(given)
        self.classes_, numbers = np.unique(given, return_inverse=True)
        self._names: list[Any] = (
            list(range(len(self.classes_))) if self.classes_.dtype.kind not in "iubU" else self.classes_.tolist()
        )
        codes = np.full(len(y), -1)
        codes[~missing] = numbers
        self._codes = codes
        try:
            random = check_random_state(self.random_state)
        except ValueError:
            raise ValueError(
                f"random_state must be a whole number of at least 0, a numpy RandomState or None, got {self.random_state!r}."
            ) from None
        self._seed = int(random.randint(2**31 - 1))
        self._pool_notes: list[str] = []
        if isinstance(self.classifiers, str):
            self._warn_of_texts(X)
        return X, codes

    def _warn_of_texts(self, X: Any) -> None:
        """Say so if a column holds texts rather than categories, of which our own pools can make nothing."""
        frame = frame_of(X)
        if frame is None or len(frame) < ROWS_FOR_TEXTS:
            return
        for name, kind in frame.schema.items():
            n_texts = frame.get_column(name).n_unique() if kind == nw.String else 0
            if n_texts > len(frame) / 2:
                note = (
                    f"The column {name!r} holds {n_texts:,} different texts in {len(frame):,} rows, and the "
                    f"pool {self.classifiers!r} takes text for categories. Leave it out, or pass classifiers that read texts."
                )
                warnings.warn(note, stacklevel=4)
                self._pool_notes.append(note)

    def _features(self, X: Any, reset: bool) -> Any:
        """Check features without changing what the base models get to see: dataframes stay as they are."""
        if frame_of(X) is not None:
            validate_data(self, X, reset=reset, skip_check_array=True)
            if _num_samples(X) == 0:
                raise ValueError(
                    f"X must have at least one row, got 0 sample(s) (shape={X.shape}) while a minimum of 1 is required."
                )
            return X
        return validate_data(self, X, reset=reset, dtype=None, accept_sparse=["csr", "csc"], ensure_all_finite="allow-nan")

    def _rounds(self, codes: Array) -> int:
        if self.prefit:
            return 0
        if self.retrain_rounds == "auto":
            return 2 if (codes < 0).sum() >= (codes >= 0).sum() and (codes < 0).sum() >= 20 else 0
        return int(self.retrain_rounds) if (codes < 0).any() else 0

    def _votes(self, shares: dict[str, Array], clusters: dict[str, Array]) -> Votes:
        clusterings = clusters or None
        if not self._hard:
            return Votes.from_probabilities(shares, clusterings, classes=self._names)
        hard = {name: np.array(self._names, dtype=object)[table.argmax(axis=1)] for name, table in shares.items()}
        return Votes.from_labels(hard, clusterings, classes=self._names)

    def _row_labels(self, consensus: Consensus) -> Array:
        """Return the number of each object's class."""
        proba = consensus.proba
        return (proba if self.offsets_ is None else proba + self.offsets_).argmax(axis=1)

    # ---- new rows ----------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Array:
        """Return the class probabilities of new rows; no row's depend on the others.

        Parameters
        ----------
        X : table of features

        Returns
        -------
        array, rows x classes

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> X, y = [[0], [1], [2], [7], [8], [9]], ["low", "low", "low", "high", "high", "high"]
        >>> model = EC3Classifier([("tree", DecisionTreeClassifier())], [], cv=3, random_state=0).fit(X, y)
        >>> model.predict_proba([[3], [6]]).round(1)
        array([[0., 1.],
               [1., 0.]])
        """
        return self.consensus_for(X).proba

    def predict(self, X: Any) -> Array:
        """Return the classes of new rows.

        Parameters
        ----------
        X : table of features

        Returns
        -------
        array

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> X, y = [[0], [1], [2], [7], [8], [9]], ["low", "low", "low", "high", "high", "high"]
        >>> model = EC3Classifier([("tree", DecisionTreeClassifier())], [], cv=3, random_state=0).fit(X, y)
        >>> model.predict([[3], [6]])
        array(['low', 'high'], dtype='<U4')
        """
        consensus = self.consensus_for(X)
        return self.classes_[self._row_labels(consensus)]

    def consensus_for(self, X: Any) -> Consensus:
        """Return the consensus on new rows, with everything it can be asked.

        Parameters
        ----------
        X : table of features

        Returns
        -------
        Consensus

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> X, y = [[0], [1], [2], [7], [8], [9]], ["low", "low", "low", "high", "high", "high"]
        >>> model = EC3Classifier([("tree", DecisionTreeClassifier())], [], cv=3, random_state=0).fit(X, y)
        >>> model.consensus_for([[3]]).explain(0).label
        'low'
        """
        shares, clusters = self._said(X)
        return self.consensus_.extend(self._votes(shares, clusters))

    def transform(self, X: Any) -> Array:
        """Return what each classifier says: class probabilities, classifier after classifier.

        Parameters
        ----------
        X : table of features

        Returns
        -------
        array, rows x (classifiers x classes)

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> X, y = [[0], [1], [2], [7], [8], [9]], ["low", "low", "low", "high", "high", "high"]
        >>> model = EC3Classifier([("tree", DecisionTreeClassifier())], [], cv=3, random_state=0).fit(X, y)
        >>> model.transform([[3], [6]])
        array([[0., 1.],
               [1., 0.]])
        """
        shares, _ = self._said(X)
        return np.hstack(list(shares.values()))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of `transform`.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        array of str

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> X, y = [[0], [1], [2], [7], [8], [9]], ["low", "low", "low", "high", "high", "high"]
        >>> model = EC3Classifier([("tree", DecisionTreeClassifier())], [], cv=3, random_state=0).fit(X, y)
        >>> model.get_feature_names_out().tolist()
        ['tree_high', 'tree_low']
        """
        check_is_fitted(self)
        return np.array([f"{name}_{label}" for name in self.estimators_ for label in self.classes_], dtype=object)

    def _said(self, X: Any) -> tuple[dict[str, Array], dict[str, Array]]:
        check_is_fitted(self)
        X = self._features(X, reset=False)
        run = Parallel(n_jobs=self.n_jobs, prefer="threads")
        jobs = [delayed(mean_shares)(models, X, self._known_classes) for models in self.estimators_.values()]
        jobs += [delayed(assigned)(model, X) for model in self.clusterers_.values()]
        with _few_threads(X):
            answers = run(jobs)
        n_classifiers = len(self.estimators_)
        shares = dict(zip(self.estimators_, answers[:n_classifiers], strict=True))
        return shares, dict(zip(self.clusterers_, answers[n_classifiers:], strict=True))

    @property
    def _known_classes(self) -> Array:
        """Return what the classifiers call the classes: numbers, or if they were fitted before, the classes themselves."""
        return self.classes_ if self.prefit else np.arange(len(self.classes_))

    # ---- looked at ---------------------------------------------------------------------------------------------------

    @property
    def voters_(self) -> Any:
        """Return the table of base models.

        `adds` is by how much the area under the curve on held-out labels falls when that base model is left out.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> X, y = [[0], [1], [2], [7], [8], [9]], ["low", "low", "low", "high", "high", "high"]
        >>> model = EC3Classifier([("tree", DecisionTreeClassifier())], [], cv=3, random_state=0).fit(X, y)
        >>> model.voters_["model"], model.voters_["agreement"]
        (['tree'], [1.0])
        """
        check_is_fitted(self)
        votes = self.consensus_.votes
        assert votes is not None
        adds = added(self.method_, votes, self._codes, self.cv, self._seed)
        return Table({**self.consensus_.voters().columns, "adds": adds})

    def report(self, path: Any, *, details: Mapping[str, Any] | None = None, **options: Any) -> None:
        """Write a report on the consensus over the rows given to `fit`: one HTML file (it needs jinja2 to be made).

        Parameters
        ----------
        path : path
            The file.
        details : dict of name -> value
            What to show about how it was made, besides what `report_` says.
        **options
            As in `Consensus.report`: `truth`, `title`, `overwrite` and so on.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> X, y = [[0], [1], [2], [7], [8], [9]], ["low", "low", "low", "high", "high", "high"]
        >>> model = EC3Classifier([("tree", DecisionTreeClassifier())], [], cv=3, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.report(f"{folder}/report.html", title="Low or high")
        ...     "Low or high" in Path(folder, "report.html").read_text(encoding="utf-8")
        True
        """
        check_is_fitted(self)
        own = {"made by": type(self).__name__, "what to know": " ".join(self.report_) or "nothing"}
        more = {} if details is None else details
        self.consensus_.report(path, details={**own, **more} if isinstance(more, Mapping) else more, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    def _sk_visual_block_(self) -> Any:
        from sklearn.utils._repr_html.estimator import _VisualBlock

        named = [*_pairs(self.classifiers), *_pairs(self.clusterers)]
        if not named:
            return _VisualBlock("single", self, names=type(self).__name__, name_details=str(self))
        names, models = zip(*named, strict=True)
        return _VisualBlock("parallel", models, names=names)

    # ---- parameters of base models by name ---------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; those of base models are named as in `classifiers__lr__C`.

        Parameters
        ----------
        deep : bool
            Include the parameters of base models and of the method.

        Returns
        -------
        dict

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> EC3Classifier([("tree", DecisionTreeClassifier(max_depth=3))]).get_params()["classifiers__tree__max_depth"]
        3
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for pool in ("classifiers", "clusterers"):
                for name, model in _pairs(getattr(self, pool)):
                    params[f"{pool}__{name}"] = model
                    if hasattr(model, "get_params"):
                        params |= {f"{pool}__{name}__{key}": value for key, value in model.get_params(deep=True).items()}
        return params

    def set_params(self, **params: Any) -> EC3Classifier:
        """Set parameters; those of base models are named as in `classifiers__lr__C`.

        Parameters
        ----------
        **params
            Names and values.

        Returns
        -------
        EC3Classifier

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> EC3Classifier([("tree", DecisionTreeClassifier())]).set_params(classifiers__tree__max_depth=3, cv=2).classifiers
        [('tree', DecisionTreeClassifier(max_depth=3))]
        """
        in_pools = {key for key in params if key.startswith(("classifiers__", "clusterers__"))}
        own = {key: value for key, value in params.items() if key not in in_pools}
        of_method = next((key for key in own if key.startswith("consensus__")), None)
        if of_method is not None and isinstance(own.get("consensus", self.consensus), str):
            named = own.get("consensus", self.consensus)
            raise ValueError(f"{of_method} must be a parameter of a method, got consensus={named!r}. Pass consensus=EC3() first.")
        super().set_params(**own)
        for key in in_pools:
            pool, _, rest = key.partition("__")
            self._set_in_pool(pool, rest, params[key])
        return self

    def _set_in_pool(self, pool: str, rest: str, value: Any) -> None:
        models = getattr(self, pool)
        if isinstance(models, str):  # a pool by name becomes a list of its models
            models = self._pool(pool)
        name, _, parameter = rest.partition("__")
        if name not in [own for own, _ in models]:
            raise ValueError(f"Unknown base model {name!r} in {pool}. Choose from: {', '.join(own for own, _ in models)}.")
        if parameter:
            for own, model in models:
                if own == name:
                    model.set_params(**{parameter: value})
            setattr(self, pool, models)
        else:
            setattr(self, pool, [(own, value if own == name else model) for own, model in models])

    def _pool(self, pool: str) -> Named:
        named = getattr(self, pool)
        if not isinstance(named, str):
            return list(named)
        if pool == "classifiers":
            return list(classifier_pool(named, soft=self.voting == "soft", random_state=self._pool_seed()))
        n_classes = len(self.classes_) if hasattr(self, "classes_") else None
        return list(clusterer_pool(named, n_classes=n_classes, random_state=self._pool_seed()))

    def _pool_seed(self) -> Any:
        return getattr(self, "_seed", self.random_state)

    # ---- checks ------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        for pool in ("classifiers", "clusterers"):
            models = getattr(self, pool)
            if isinstance(models, str):
                continue
            self._check_pairs(pool, models)
            names = [name for name, _ in models]
            if pool == "classifiers" and not names:
                raise ValueError("classifiers must hold at least one (name, estimator), got an empty list.")
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{pool} must have different names, got {name!r} twice.")
                if "__" in name:
                    raise ValueError(f"The names in {pool} must not contain '__', got {name!r}.")
        both = {name for name, _ in _pairs(self.classifiers)} & {name for name, _ in _pairs(self.clusterers)}
        if both:
            raise ValueError(f"classifiers and clusterers must have different names, got {min(both)!r} in both.")
        for name, allowed in (("voting", ("hard", "soft")), ("on_error", ("drop", "raise"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"Unknown {name} {getattr(self, name)!r}. Choose from: {', '.join(allowed)}.")
        if self.select not in (None, "greedy"):
            raise ValueError(f"Unknown select {self.select!r}. Choose from: None, 'greedy'.")
        require_integer("cv", self.cv, 2)
        if self.retrain_rounds != "auto" and (not is_integer(self.retrain_rounds) or self.retrain_rounds < 0):
            raise ValueError(f"retrain_rounds must be 'auto' or a whole number of at least 0, got {self.retrain_rounds!r}.")
        if not (isinstance(self.consensus, str) and self.consensus == "auto"):
            method_of(self.consensus, "consensus", ("auto",))
        require_bool("prefit", self.prefit)
        if self.n_jobs is not None and (not is_integer(self.n_jobs) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be a whole number other than 0, or None, got {self.n_jobs!r}.")
        if isinstance(self.unlabelled, (list, tuple, set, dict, np.ndarray)):
            raise TypeError(f"unlabelled must be one label, got {self.unlabelled!r}.")
        if not isinstance(self.verbose, bool):
            require_integer("verbose", self.verbose, 0)

    def _check_pairs(self, pool: str, models: Any) -> None:
        """Refuse what is no list of (name, estimator)."""
        what = f"{pool} must be the name of a pool or a list of (name, estimator)"
        if not isinstance(models, (list, tuple)):
            one = "[]" if models is None and pool == "clusterers" else "[('name', estimator)]"
            hint = "list(pool.items())" if isinstance(models, Mapping) else one
            raise TypeError(f"{what}, got {type(models).__name__}. Pass {hint}.")
        for pair in models:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], str):
                raise TypeError(f"{what}, got {pair!r} in it. Pass ('name', estimator).")
            if isinstance(pair[1], type) or not hasattr(pair[1], "predict" if self.prefit else "fit"):
                hint = f" Call it: {pair[1].__name__}()." if isinstance(pair[1], type) else ""
                raise TypeError(f"{what}, got {pair[1]!r} under the name {pair[0]!r}, which is no estimator.{hint}")

    # ---- metadata ----------------------------------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who asks for which metadata.

        Returns
        -------
        MetadataRouter

        Examples
        --------
        >>> import sklearn
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from ec3learn import EC3Classifier
        >>> with sklearn.config_context(enable_metadata_routing=True):
        ...     tree = DecisionTreeClassifier().set_fit_request(sample_weight=True)
        ...     EC3Classifier([("tree", tree)]).get_metadata_routing().consumes("fit", ["sample_weight", "groups"])
        {'sample_weight'}
        """
        router = MetadataRouter(owner=self)
        if not isinstance(self.classifiers, str):
            for name, model in self.classifiers:
                router.add(**{name: model}, method_mapping=MethodMapping().add(callee="fit", caller="fit"))
        return router

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return what each classifier's `fit` gets besides X and y."""
        if not fit_params:
            return {}
        from sklearn import get_config

        pool = self._pool("classifiers")
        if get_config()["enable_metadata_routing"] and not isinstance(self.classifiers, str):
            routed = process_routing(self, "fit", **fit_params)
            return {name: dict(routed[name].fit) for name, _ in pool}
        unknown = [name for name in fit_params if name != "sample_weight"]
        if unknown:
            raise TypeError(f"fit takes sample_weight besides X and y, got {unknown[0]!r}.")
        return {name: dict(fit_params) if has_fit_parameter(model, "sample_weight") else {} for name, model in pool}


# ---- what was given ------------------------------------------------------------------------------------------------------


def _pairs(pool: Any) -> Named:
    """Return the (name, estimator) pairs of a list of them; a pool's name, or what is no list, has none."""
    if not isinstance(pool, (list, tuple)):
        return []
    return [(pair[0], pair[1]) for pair in pool if isinstance(pair, (list, tuple)) and len(pair) == 2]


def _missing(y: Array, marker: Any) -> Array:
    """Return which labels are missing."""
    if y.dtype.kind == "f":
        absent = np.isnan(y)
    elif y.dtype == object:
        absent = np.array([is_missing(label) for label in y], dtype=bool)
    else:
        absent = np.zeros(len(y), dtype=bool)
    return absent if marker is None else absent | np.array([label == marker for label in y.tolist()], dtype=bool)


def _few_threads(X: Any) -> Any:
    """Return a context in which libraries take one thread each where starting more would take longer than the work."""
    return threadpool_limits(1) if _num_samples(X) < ROWS_FOR_THREADS else nullcontext()
