"""Votes: what each base model said about each object, checked once, when it is made.

Memberships are kept in `Stores`, in the form in which they came. Only distinct rows are kept where
rows repeat. Other rooms ask, and make other votes, with the functions of `operations`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._checks import InputError, InputIndexError, InputTypeError, require_bool, unknown_name
from .._text import arg, count, listed
from .._typing import Array
from . import assembly
from .assembly import Repeats
from .encoding import rows_by_index
from .labels import Label
from .layout import Frozen, Models, Stores, smallest_uint, voter_noun
from .operations import (
    by_object,
    merge_equal_rows,
    only_rows,
    recounted,
    require_labels,
    split_by,
    votes_on,
    votes_per_model,
)
from .reading import named_columns
from .shares import Prior, both_classes, columns_by_class, normalised, read_prior


@dataclass(frozen=True, eq=False, repr=False)
class Votes(Frozen):
    """What many classifiers and clusterings said about the same objects.

    Make one with `Votes.from_labels`, `Votes.from_probabilities` or `Votes.from_long`; it cannot be
    changed afterwards.

    Attributes
    ----------
    classes : array
        The classes, as the user named them; sorted unless they were given.
    models : tuple of BaseModel
        The base models, classifiers and clusterings, in the order they were given.
    weights : array
        One non-negative weight per base model.
    sample_weight : array or None
        One non-negative weight per object; None counts each object once.
    object_ids : array or None
        The objects' names: those given, those of a long table or the index of a pandas table.
    n_objects : int
        How many objects there are.

    Examples
    --------
    >>> from ec3learn import Votes
    >>> labels = {"svm": ["a", "b", "b"], "knn": ["a", None, "b"]}
    >>> votes = Votes.from_labels(labels, {"kmeans": [0, 0, 1]})
    >>> votes
    Votes(3 objects, 2 classes, 2 classifiers, 1 clustering, 11.1 % missing)
    >>> more = votes.add({"lr": [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]})
    >>> more.said(1), more.drop("kmeans").said(1)
    (['b', None, 0, {'a': 0.4, 'b': 0.6}], ['b', None, {'a': 0.4, 'b': 0.6}])
    """

    classes: Array
    models: Models
    n_objects: int
    weights: Array
    sample_weight: Array | None = None
    object_ids: Array | None = None
    # Of each distinct row how often it occurs (by sample_weight), and of each object its row; None:
    # each object has its own.
    counts: Array = field(default_factory=lambda: np.empty(0))
    index: Array | None = None
    stores: Stores = field(default_factory=Stores)  # who is in which group, by distinct row
    prior: Prior | None = None  # class probabilities from elsewhere, by distinct row

    @classmethod
    def from_labels(
        cls,
        classifiers: Any,
        clusterings: Any = None,
        *,
        object_ids: Any = None,
        classes: Sequence[Label] | Array | None = None,
        missing: Label | None = None,
        scale: Any = None,
        clean: bool = False,
        weights: Mapping[str, float] | Sequence[float] | Array | None = None,
        sample_weight: Sequence[float] | Array | None = None,
    ) -> Votes:
        """Make votes from labels, one column per base model.

        Parameters
        ----------
        classifiers, clusterings : 2-D array-like, dict of name -> column, or dataframe
            Class labels and cluster labels: ints, bools or strings. None, NaN, pandas' NA and
            masked values are missing votes; so is -1 in clusterings (the noise of DBSCAN). A dict
            may also hold 2-D arrays: the probabilities of a soft classifier, one column per class,
            or the shares of a soft clustering, one column per cluster.
        object_ids : 1-D array-like
            The objects' names, each once; else the index of a pandas table, unless it is 0, 1, ...
        classes : sequence of labels
            The classes in their order, which may have more than were voted for; else sorted.
        missing : label, or list of labels
            Further values that mean "no vote", in classifiers and clusterings.
        scale : Scale, sequence of answers from low to high, or dict of classifier -> one of them
            For classifiers that answer on a scale (scores, ratings, "unsure") instead of naming
            classes; see `Scale`. `classes` then says what the ends mean, from low to high.
        clean : bool
            Take labels as one that differ only in case, outer spaces or their form of Unicode.
        weights : dict of name -> weight, or one weight per base model (classifiers first)
            How much each base model counts in the answer; 1 for models a dict does not name. Only
            ratios matter, and 0 is as good as absent. What methods learn of voters ignores weights.
        sample_weight : one weight per object
            How much each object counts, as if it occurred that many times.
        """
        require_bool("clean", clean)
        columns = named_columns(classifiers, "classifiers", "classifier")
        clusters = named_columns(clusterings, "clusterings", "clustering")
        fields = assembly.fields_of_columns(
            columns, clusters, "classifiers", classes, missing, scale, clean, sample_weight
        )
        ids = assembly.wide_ids(object_ids, fields["n_objects"], classifiers, clusterings)
        votes = cls(**fields, object_ids=ids)._weighted(weights, sample_weight)
        return votes if classes is not None else require_labels(votes, "classifiers")

    @classmethod
    def from_probabilities(
        cls,
        probabilities: Mapping[str, Any],
        clusterings: Any = None,
        *,
        object_ids: Any = None,
        classes: Sequence[Label] | Array | None = None,
        missing: Label | None = None,
        weights: Mapping[str, float] | Sequence[float] | Array | None = None,
        sample_weight: Sequence[float] | Array | None = None,
        normalize: bool = False,
    ) -> Votes:
        """Make votes from class probabilities.

        Parameters
        ----------
        probabilities : dict of name -> (objects x classes)
            Rows are non-negative and sum to 1 (within 1e-3); a row of NaN is a missing vote. A 1-D
            entry holds hard labels or, if it has fractions, the probabilities of the second of two
            classes. The columns of a dataframe are matched with the classes by name.
        clusterings, object_ids, missing, weights, sample_weight
            As in `from_labels`.
        classes : sequence of labels
            The names of the columns, in their order. Without it the columns are 0, 1, ... or the
            sorted labels of hard classifiers beside the soft ones, as in `predict_proba`.
        normalize : bool
            Divide each row by its sum first, for scores >= 0 that do not sum to 1.

        Examples
        --------
        >>> Votes.from_probabilities({"lr": [[0.9, 0.1], [0.2, 0.8]]}, classes=["ham", "spam"])
        Votes(2 objects, 2 classes, 1 classifier, 0 clusterings, 0.0 % missing)
        """
        if not isinstance(probabilities, Mapping):
            raise InputTypeError(
                "probabilities",
                "must be a dict of name -> table (objects x classes)",
                came=type(probabilities).__name__,
                remedy="Pass {'name': table} for a single model.",
            )
        require_bool("normalize", normalize)
        tables, classes = columns_by_class(probabilities, classes)
        tables = {name: both_classes(table, classes) for name, table in tables.items()}
        columns = named_columns(tables, "probabilities", "classifier")
        if normalize:
            columns |= {name: normalised(t) for name, t in columns.items() if t.ndim == 2}
        clusters = named_columns(clusterings, "clusterings", "clustering")
        fields = assembly.fields_of_columns(columns, clusters, "probabilities", classes, missing)
        ids = assembly.wide_ids(object_ids, fields["n_objects"], probabilities, clusterings)
        return cls(**fields, object_ids=ids)._weighted(weights, sample_weight)

    @classmethod
    def from_long(
        cls,
        objects: Any,
        voters: Any,
        labels: Any,
        clusterings: Any = None,
        *,
        object_ids: Any = None,
        classes: Sequence[Label] | Array | None = None,
        missing: Label | None = None,
        scale: Any = None,
        clean: bool = False,
        repeats: Repeats = "mean",
        weights: Mapping[str, float] | Sequence[float] | Array | None = None,
        sample_weight: Sequence[float] | Array | None = None,
    ) -> Votes:
        """Make votes from a long table, one row per vote, as crowds give it.

        The cost grows with the votes that exist.

        Parameters
        ----------
        objects, voters, labels : 1-D array-likes of one length
            Who said what about which object.
        clusterings : as in `from_labels`
            Clusters of the objects, in the order of `object_ids`.
        object_ids : 1-D array-like
            The objects in their order, with those nobody voted on; else those of `objects`, sorted.
        classes, missing, scale, clean, weights, sample_weight
            As in `from_labels`.
        repeats : "mean", "last", "first" or "error"
            What to do with several votes of a voter on one object: "mean" makes one soft vote.

        Examples
        --------
        >>> votes = Votes.from_long(["q1", "q1", "q2"], ["ann", "bob", "ann"], ["yes", "no", "yes"])
        >>> votes.object_ids
        array(['q1', 'q2'], dtype=object)
        """
        require_bool("clean", clean)
        fields = assembly.fields_of_long(
            objects, voters, labels, object_ids, classes, missing, scale, repeats, clean
        )
        votes = cls(**fields)
        if clusterings is not None:
            votes = votes.add(clusterings=clusterings, missing=missing)
        votes = merge_equal_rows(votes)._weighted(weights, sample_weight)
        return votes if classes is not None else require_labels(votes, "labels")

    # ---- reading them ----------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    @property
    def n_rows(self) -> int:
        """How many distinct rows are kept."""
        return len(self.counts)

    def said(self, i: int) -> list[Label | dict[Label, float] | None]:
        """What each base model said about object i: a label, a dict of label -> share, or None."""
        answers = votes_on(self, i)
        return [answers.get(m) for m in range(len(self.models))]

    def __len__(self) -> int:
        return self.n_objects

    def __repr__(self) -> str:
        n_voters = int(self.models.is_voter.sum())
        noun = voter_noun(self.models, self.stores.sparse is not None)
        n_possible = self.n_objects * len(self.models)
        missing = 1 - votes_per_model(self).sum() / n_possible if n_possible else 0.0
        n_clusterings = len(self.models) - n_voters
        return (
            f"Votes({count(self.n_objects, 'object')}, "
            f"{count(self.n_classes, 'class', 'classes')}, {count(n_voters, noun)}, "
            f"{count(n_clusterings, 'clustering')}, {100 * abs(missing):.1f} % missing)"
        )

    # ---- other votes from these ------------------------------------------------------------------

    def __getitem__(self, rows: Any) -> Votes:
        """The votes on some objects: a number, a slice, a mask or an array of numbers."""
        try:
            chosen = np.atleast_1d(np.arange(self.n_objects)[rows])
        except (IndexError, TypeError, ValueError):
            chosen = np.empty((0, 0))
        if chosen.ndim != 1 or isinstance(rows, tuple):
            must = "must be a number, a slice, a mask or an array of numbers of objects"
            limits = f", from 0 to {self.n_objects - 1}"
            raise InputIndexError("rows", must + limits, got=rows)
        kept, index = chosen, None
        if self.index is not None:
            kept, index = np.unique(self.index[chosen], return_inverse=True)
            index = index.astype(smallest_uint(len(kept)))
        object_ids = None if self.object_ids is None else self.object_ids[chosen]
        sample_weight = None if self.sample_weight is None else self.sample_weight[chosen]
        votes = replace(only_rows(self, kept, index), object_ids=object_ids)
        return recounted(votes, sample_weight)

    def drop(self, *names: str) -> Votes:
        """The votes without some base models."""
        known = [model.name for model in self.models]
        for name in names:
            if name not in known:
                raise unknown_name("base model", name, known)
        kept = [m for m, name in enumerate(known) if name not in set(names)]
        if not any(self.models[m].is_voter for m in kept):
            raise InputError("names", "must leave at least one classifier", got=names)
        models, weights = Models(self.models[m] for m in kept), self.weights[kept]
        stores = self.stores.only(kept, self.models.group_model)
        return merge_equal_rows(replace(self, models=models, weights=weights, stores=stores))

    def add(
        self,
        classifiers: Any = None,
        clusterings: Any = None,
        *,
        missing: Label | None = None,
        scale: Any = None,
        weights: Any = None,
    ) -> Votes:
        """The votes with further base models on the same objects.

        Parameters
        ----------
        classifiers, clusterings, missing, scale
            As in `from_labels`; the classes stay as they are.
        weights : dict of name -> weight, or one weight per new base model
            How much the new models count.
        """
        n_voters = int(self.models.is_voter.sum())
        n_clusterings = len(self.models) - n_voters
        columns = named_columns(classifiers, "classifiers", "classifier", n_voters)
        clusters = named_columns(clusterings, "clusterings", "clustering", n_clusterings)
        fields = assembly.fields_of_columns(
            columns, clusters, "classifiers", self.classes, missing, scale
        )
        ids = assembly.wide_ids(None, self.n_objects, classifiers, clusterings)
        return self + type(self)(**fields, object_ids=ids)._weighted(weights, None)

    def __add__(self, other: Votes) -> Votes:
        """Join the base models of two votes on the same objects."""
        if not isinstance(other, Votes):
            return NotImplemented
        if other.n_objects != self.n_objects:
            phrase = "Joined base models must describe the same objects, got "
            raise InputError("other", phrase=f"{phrase}{self.n_objects:,} and {other.n_objects:,}")
        if list(self.classes) != list(other.classes):
            raise InputError(
                "other",
                f"must have the classes {listed(self.classes)}",
                came=listed(other.classes),
                remedy=f"Pass {arg('classes', ...)} when making them.",
            )
        object_ids = _shared(self.object_ids, other.object_ids, "object_ids")
        sample_weight = _shared(self.sample_weight, other.sample_weight, "sample_weight")
        models = Models((*self.models, *other.models))
        assembly.require_unique_names([model.name for model in models])
        left, right = by_object(self), by_object(other)
        joined = replace(
            left,
            models=models,
            weights=np.concatenate([self.weights, other.weights]),
            stores=left.stores.beside(right.stores, self.models, other.models),
            object_ids=object_ids,
            prior=right.prior if left.prior is None else left.prior,
        )
        return merge_equal_rows(recounted(joined, sample_weight))

    def with_prior(self, prior: Any) -> Votes:
        """The votes with class probabilities that come from elsewhere, such as a model of features.

        Parameters
        ----------
        prior : table with one row per object and one column per class, or dict of object -> row
            Class probabilities that the objects' own votes had no part in. The columns of a
            dataframe are matched with the classes by name. A row of NaN is no prior.

        Examples
        --------
        >>> votes = Votes.from_labels({"ann": ["no", "yes", "yes"]}).with_prior({0: [0.2, 0.8]})
        >>> votes.prior.given
        array([ True, False, False])
        """
        proba = read_prior(prior, self.classes, self.n_objects, self.object_ids)
        different, number = np.unique(proba, axis=0, return_inverse=True)
        votes, row_number = split_by(self, number)
        return replace(votes, prior=Prior(different[row_number]))

    def _weighted(self, weights: Any, sample_weight: Any) -> Votes:
        """Check and set the weights of base models and of objects."""
        votes = self
        if weights is not None:
            names = [model.name for model in self.models]
            votes = replace(votes, weights=assembly.model_weights(weights, names))
        if sample_weight is None:
            return votes
        rows = rows_by_index(sample_weight, self.n_objects, self.object_ids, "sample_weight")
        if rows is not None:  # the place -1 of objects that are not named has no number
            sample_weight = np.append(sample_weight, np.nan)[rows]
        checked = assembly.non_negative(sample_weight, "sample_weight", self.n_objects, "objects")
        return recounted(votes, checked)


def _shared(left: Array | None, right: Array | None, what: str) -> Array | None:
    """What two votes that are joined must not disagree on."""
    if left is not None and right is not None and not np.array_equal(left, right):
        hint = f"Put them in the order of {arg('object_ids')}." * (what == "object_ids")
        raise InputError("other", f"must have the same {what}", came="different ones", remedy=hint)
    return right if left is None else left
