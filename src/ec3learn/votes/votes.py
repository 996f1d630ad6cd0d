"""Votes: what each base model said about each object, checked once, when it is made.

A base model is a classifier (or annotator) that votes for classes, or a clustering that puts
objects into clusters. Each (classifier, class) and each (clustering, cluster) is a *group*. Groups
are numbered model after model.

Memberships are kept in `Stores`, in the form in which they came. Only distinct rows are kept where
rows repeat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._checks import InputError, InputIndexError, InputTypeError, require_bool, unknown_name
from .._text import arg, count, listed
from .._typing import Array
from . import assembly
from .assembly import SPARSE_FROM, SPARSE_MODELS, Repeats
from .distinct import distinct_entries, distinct_rows
from .encoding import as_shares, columns_by_class, in_order_of
from .labels import Label, kind_of
from .layout import BaseModel, Codes, Frozen, SoftShares, Stores, group_offsets, voter_noun
from .merging import is_crowd, merged_fields
from .prior import Prior, read_prior
from .reading import Column, named_columns, smallest_uint
from .scale import as_class_votes, class_shares, group_votes, oriented, shared_scale, shares_between


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
        The objects' names where they came from a long table.
    n_objects : int
        How many objects there are.

    Examples
    --------
    >>> from ec3learn import Votes
    >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", None, "b"]}, {"kmeans": [0, 0, 1]})
    >>> votes
    Votes(3 objects, 2 classes, 2 classifiers, 1 clustering, 11.1 % missing)
    >>> more = votes.add({"lr": [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]})
    >>> more.said(1), more.hardened().drop("kmeans").said(1)
    (['b', None, 0, {'a': 0.4, 'b': 0.6}], ['b', None, 'b'])
    """

    classes: Array
    models: tuple[BaseModel, ...]
    n_objects: int
    weights: Array
    sample_weight: Array | None = None
    object_ids: Array | None = None
    # How often each distinct row occurs (by sample_weight), and the distinct row of each object;
    # None: its own.
    counts: Array = field(default_factory=lambda: np.empty(0))
    index: Array | None = None
    stores: Stores = field(default_factory=Stores)  # who is in which group, by distinct row
    prior: Prior | None = None  # class probabilities from elsewhere, by distinct row
    n_repeated: int = (
        0  # further votes of a voter on one object, which were merged into one or left out
    )

    # ---- making them -----------------------------------------------------------------------------

    @classmethod
    def from_labels(
        cls,
        classifiers: Any,
        clusterings: Any = None,
        *,
        classes: Sequence[Label] | Array | None = None,
        missing: Label | None = None,
        scale: Any = None,
        weights: Mapping[str, float] | Sequence[float] | Array | None = None,
        sample_weight: Sequence[float] | Array | None = None,
    ) -> Self:
        """Make votes from labels, one column per base model.

        Parameters
        ----------
        classifiers, clusterings : 2-D array-like (objects x models), dict of name -> column, or
        dataframe
            Class labels and cluster labels: ints, bools or strings. None, NaN, pandas' NA and
            masked values are missing votes; so is -1 in clusterings (the noise of DBSCAN). A dict
            may also hold 2-D arrays: the probabilities of a soft classifier, one column per class,
            or the shares of a soft clustering, one column per cluster.
        classes : sequence of labels
            The classes and their order; needed only to name classes nobody voted for, or to fix
            their order.
        missing : label, or list of labels
            Further values that mean "no vote", in classifiers and clusterings.
        scale : Scale, sequence of answers from low to high, or dict of classifier -> one of them
            For classifiers that answer on a scale (scores, ratings, "unsure") instead of naming
            classes; see `Scale`. `classes` then says what the ends mean, from low to high.
        weights : dict of name -> weight, or one weight per base model (classifiers first)
            How much each base model counts; 1 for models a dict does not name. Only ratios matter,
            and 0 is as good as absent. Methods that learn how good voters are learn it as if all
            weighed alike: weights count in the answer only.
        sample_weight : one weight per object
            How much each object counts, as if it occurred that many times.

        Examples
        --------
        >>> votes = Votes.from_labels([[0, 0], [1, 0], [1, 1]], [[0], [-1], [1]])
        >>> votes.classes
        array([0, 1])
        """
        crowd = (
            None
            if clusterings is not None or scale is not None
            else assembly.fields_of_crowd(classifiers, classes, missing)
        )
        if crowd is not None:
            return cls(**crowd)._weighted(weights, sample_weight)
        columns = named_columns(classifiers, "classifiers", "classifier")
        votes = cls._of(
            columns, assembly.cluster_columns(clusterings), "classifiers", classes, missing, scale
        )
        return votes._weighted(weights, sample_weight)

    @classmethod
    def from_probabilities(
        cls,
        probabilities: Mapping[str, Any],
        clusterings: Any = None,
        *,
        classes: Sequence[Label] | Array | None = None,
        missing: Label | None = None,
        weights: Mapping[str, float] | Sequence[float] | Array | None = None,
        sample_weight: Sequence[float] | Array | None = None,
        normalize: bool = False,
    ) -> Self:
        """Make votes from class probabilities.

        Parameters
        ----------
        probabilities : dict of name -> (objects x classes)
            Rows are non-negative and sum to 1 (within 1e-6); a row of NaN is a missing vote. A 1-D
            entry holds hard labels or, if it has fractions, the probabilities of the second of two
            classes. The columns of a dataframe are matched with the classes by name.
        clusterings, missing, weights, sample_weight
            As in `from_labels`.
        classes : sequence of labels
            The names of the columns, in their order. Without it the columns are 0, 1, ... or, where
            hard classifiers stand beside the soft ones, the sorted labels of those, as scikit-learn
            orders the columns of `predict_proba`.

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
        tables = {
            name: as_shares(table, name, classes, normalize) for name, table in tables.items()
        }
        columns = named_columns(tables, "probabilities", "classifier")
        votes = cls._of(
            columns, assembly.cluster_columns(clusterings), "probabilities", classes, missing
        )
        return votes._weighted(weights, sample_weight)

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
        repeats: Repeats = "mean",
        weights: Mapping[str, float] | Sequence[float] | Array | None = None,
        sample_weight: Sequence[float] | Array | None = None,
    ) -> Self:
        """Make votes from a long table, one row per vote, as crowds give it; the cost grows with the votes that exist.

        Parameters
        ----------
        objects, voters, labels : 1-D array-likes of one length
            Who said what about which object.
        clusterings : as in `from_labels`
            Clusters of the objects, in the order of `object_ids`.
        object_ids : 1-D array-like
            The objects and their order, among them those nobody voted on; the sorted objects unless
            given.
        classes, missing, scale, weights, sample_weight
            As in `from_labels`.
        repeats : "mean", "last", "first" or "error"
            What to do with several votes of a voter on one object. "mean" takes them together as
            one soft vote; a note of the consensus says how many there were.

        Examples
        --------
        >>> votes = Votes.from_long(["q1", "q1", "q2"], ["ann", "bob", "ann"], ["yes", "no", "yes"])
        >>> votes.object_ids
        array(['q1', 'q2'], dtype=object)
        """
        crowd = cls(
            **assembly.fields_of_long(
                objects, voters, labels, object_ids, classes, missing, scale, repeats
            )
        )
        crowd = (
            crowd.merged()
            if clusterings is None
            else crowd.add(clusterings=clusterings, missing=missing)
        )
        return crowd._weighted(weights, sample_weight)

    @classmethod
    def _of(
        cls,
        columns: Any,
        clusterings: Any,
        argument: str,
        classes: Any,
        missing: Label | None,
        scale: Any = None,
    ) -> Self:
        """Make votes from columns by name."""
        votes = cls(
            **assembly.fields_of_columns(columns, clusterings, argument, classes, missing, scale)
        )
        if classes is None and not votes.n_votes[votes.is_voter].any():
            raise assembly.no_votes(argument)
        # Many classifiers that hardly vote are kept as a sparse matrix.
        crowd = [
            m
            for m, model in enumerate(votes.models)
            if model.kind == "classifier" and m in votes.hard
        ]
        if (
            len(crowd) < SPARSE_MODELS
            or votes.n_votes[crowd].sum() > (1 - SPARSE_FROM) * len(crowd) * votes.n_objects
        ):
            return votes
        return replace(
            votes, stores=votes.stores.with_entries_of(crowd, votes.models, votes.offsets)
        )

    # ---- reading them ----------------------------------------------------------------------------

    @property
    def n_classes(self) -> int:
        """Return how many classes there are."""
        return len(self.classes)

    @property
    def n_rows(self) -> int:
        """Return how many distinct rows are kept."""
        return len(self.counts)

    @cached_property
    def offsets(self) -> Array:
        """Return the number of each model's first group, and at the end the number of groups."""
        return group_offsets(self.models)

    @property
    def n_groups(self) -> int:
        """Return how many groups there are, empty ones included."""
        return int(self.offsets[-1])

    @property
    def group_model(self) -> Array:
        """Return the number of the model each group belongs to."""
        return np.repeat(np.arange(len(self.models), dtype=np.int32), np.diff(self.offsets))

    @property
    def group_class(self) -> Array:
        """Return the number of the class each classifier's group stands for, and -1 for clusters."""
        model = self.group_model
        own, number = (
            np.flatnonzero(self.is_classifier[model]),
            np.full(self.n_groups, -1, dtype=np.int32),
        )
        number[own] = own - self.offsets[model[own]]
        return number

    @cached_property
    def group_meaning(self) -> Any:
        """Return the vote that each group stands for, groups x classes, sparse; rows of zeros are no vote.

        An answer on a scale is shared between the two classes it lies between, in proportion.
        """
        return group_votes(self, shares_between)

    @cached_property
    def group_ballot(self) -> Any:
        """Return the same where votes are counted: an answer on a scale counts for the class it falls into, as `Scale` says."""
        return group_votes(self, class_shares)

    @property
    def hard(self) -> Codes:
        """Return the hard votes: a column of codes by the number of its model; a code of its `n_groups` is a missing vote."""
        return self.stores.hard

    @property
    def soft(self) -> SoftShares | None:
        """Return the soft votes."""
        return self.stores.soft

    @property
    def sparse(self) -> sparse.csr_array | None:
        """Return the votes of a crowd, rows x groups."""
        return self.stores.sparse

    @property
    def is_hard(self) -> bool:
        """Return whether every vote is whole: there are no soft or repeated ones."""
        return self.stores.is_hard

    @property
    def is_classifier(self) -> Array:
        """Return which base models are classifiers, that is, vote for classes."""
        return np.array([model.kind == "classifier" for model in self.models], dtype=bool)

    @property
    def is_voter(self) -> Array:
        """Return which base models vote, for classes or on a scale, rather than cluster."""
        return np.array([model.is_voter for model in self.models], dtype=bool)

    @cached_property
    def voter_noun(self) -> str:
        """Return what the voters are called: judges, annotators or classifiers."""
        return voter_noun(self.models, self.sparse is not None)

    @property
    def has_clusterings(self) -> bool:
        """Return whether there are clusterings with a weight above 0."""
        return bool((~self.is_voter & (self.weights > 0)).any())

    @property
    def has_graders(self) -> bool:
        """Return whether voters with a weight above 0 answer on a scale."""
        return any(
            model.kind == "grader" and weight > 0
            for model, weight in zip(self.models, self.weights, strict=True)
        )

    @cached_property
    def objects_per_row(self) -> Array:
        """Return how many objects have each distinct row."""
        if self.sample_weight is None:
            return self.counts
        return (
            np.ones(self.n_rows)
            if self.index is None
            else np.bincount(self.index, minlength=self.n_rows).astype(np.float64)
        )

    @property
    def n_alike(self) -> Array:
        """Return how many objects each distinct row stands for: whole weights of objects say how often each occurs."""
        weights = self.sample_weight
        return (
            self.counts
            if weights is None or (weights == weights.round()).all()
            else self.objects_per_row
        )

    @cached_property
    def n_votes(self) -> Array:
        """Return how many objects each base model said something about, by its groups."""
        return self.stores.n_votes(
            self.models, self.offsets, self.objects_per_row, repeated=self.index is not None
        )

    def said(self, i: int) -> list[Label | dict[Label, float] | None]:
        """Return what each base model said about object i: a label, a dict of label -> share, or None."""
        spoken = self.spoken(i)
        return [spoken.get(m) for m in range(len(self.models))]

    def spoken(self, i: int) -> dict[int, Label | dict[Label, float]]:
        """Return the same for those who said something, by their number: in a crowd these are few."""
        if kind_of(i) != "int" or not -self.n_objects <= i < self.n_objects:
            raise InputIndexError(
                "i", f"must be the number of an object, from 0 to {self.n_objects - 1}", got=i
            )
        return self.stores.said(
            int(i if self.index is None else self.index[i]), self.models, self.offsets
        )

    def entries_of(self, models: Array) -> tuple[Array, Array, Array, Array]:
        """Return what some base models said: of each entry the place of its model among them, its row, its group, its share."""
        return self.stores.entries_of(models, self.models, self.offsets)

    def __len__(self) -> int:
        return self.n_objects

    def __repr__(self) -> str:
        n_voters = int(self.is_voter.sum())
        n_clusterings = len(self.models) - n_voters
        missing = (
            1 - self.n_votes.sum() / (self.n_objects * len(self.models)) if self.n_objects else 0.0
        )
        return (
            f"Votes({count(self.n_objects, 'object')}, {count(self.n_classes, 'class', 'classes')}, "
            f"{count(n_voters, self.voter_noun)}, {count(n_clusterings, 'clustering')}, {100 * abs(missing):.1f} % missing)"
        )

    # ---- other votes from these ------------------------------------------------------------------

    def __getitem__(self, rows: Any) -> Self:
        """Return the votes on some objects: a number, a slice, a mask or an array of numbers."""
        everyone: Array = np.arange(self.n_objects)
        picked: Any = [rows] if isinstance(rows, (int, np.integer)) else rows
        try:
            chosen: Array = everyone[picked]
            if chosen.ndim != 1 or isinstance(rows, tuple) or rows is None:
                raise IndexError
        except (IndexError, TypeError, ValueError):
            raise InputIndexError(
                "rows",
                f"must be a number, a slice, a mask or an array of numbers of objects, from 0 to {self.n_objects - 1}",
                got=rows,
            ) from None
        kept, index = (
            (chosen, None)
            if self.index is None
            else np.unique(self.index[chosen], return_inverse=True)
        )
        sample_weight = None if self.sample_weight is None else self.sample_weight[chosen]
        return replace(
            self._rows(kept, None if index is None else index.astype(smallest_uint(len(kept)))),
            object_ids=None if self.object_ids is None else self.object_ids[chosen],
        )._counted(sample_weight)

    def drop(self, *names: str) -> Self:
        """Return the votes without some base models."""
        known = {model.name: None for model in self.models}
        for name in names:
            if not isinstance(name, str):
                raise InputTypeError("names", "must be strings, one by one", got=name)
            if name not in known:
                raise unknown_name("base model", name, known)
        dropped = set(names)
        kept = [m for m, name in enumerate(known) if name not in dropped]
        if not any(self.models[m].is_voter for m in kept):
            raise InputError(
                "names", "must leave at least one classifier", came=", ".join(map(repr, names))
            )
        return replace(
            self,
            models=tuple(self.models[m] for m in kept),
            weights=self.weights[kept],
            stores=self.stores.only(kept, self.group_model),
        ).merged()

    def add(
        self,
        classifiers: Any = None,
        clusterings: Any = None,
        *,
        missing: Label | None = None,
        scale: Any = None,
        weights: Any = None,
    ) -> Self:
        """Return the votes with further base models on the same objects.

        Parameters
        ----------
        classifiers, clusterings, missing, scale
            As in `from_labels`; the classes stay as they are.
        weights : dict of name -> weight, or one weight per new base model
            How much the new models count.
        """
        if classifiers is None and clusterings is None:
            raise InputError(
                "classifiers", f"or {arg('clusterings')} must be given", came="neither"
            )
        n_classifiers = int(self.is_voter.sum())
        new = (
            {}
            if classifiers is None
            else named_columns(classifiers, "classifiers", "classifier", n_classifiers)
        )
        new_clusters = assembly.cluster_columns(clusterings, len(self.models) - n_classifiers)
        n_new = len(next(iter({**new, **new_clusters}.values())))
        if n_new != self.n_objects:
            came = f"{count(n_new, 'row')} for {count(self.n_objects, 'object')}"
            raise InputError(
                "classifiers",
                phrase=f"The added base models must describe the same objects, got {came}",
            )
        return self + self._of(
            new, new_clusters, "classifiers", self.classes, missing, scale
        )._weighted(weights, None)

    def add_votes(
        self,
        objects: Any,
        voters: Any,
        labels: Any,
        *,
        missing: Label | None = None,
        scale: Any = None,
        repeats: Repeats = "mean",
    ) -> Self:
        """Return the votes with further ones, on these or other objects, by these or other voters: `from_long`, then `merge`.

        Where all voters answer on one scale, the new votes are read on it unless another `scale` is
        given.
        """
        scale = shared_scale(self.models) if scale is None else scale
        classes = None if scale is None else self.classes
        return self.merge(
            type(self).from_long(
                objects, voters, labels, classes=classes, missing=missing, scale=scale
            ),
            repeats,
        )

    def merge(self, other: Self, repeats: Repeats = "mean") -> Self:
        """Return the votes of two long tables as one: new votes, on other objects or by other voters, join these.

        `votes + other` does the same, with `repeats="mean"`.

        Parameters
        ----------
        other : Votes
            Votes made by `Votes.from_long`, like these. Objects, voters and classes are matched by
            name.
        repeats : "mean", "last", "first" or "error"
            What to do where a voter votes on an object in both: "mean" takes the two together as
            one soft vote, half of it from each however many votes they were, "last" the vote of
            `other`, "first" that of these votes.

        Returns
        -------
        Votes
            First the objects, voters and classes of these votes, in their order, and then the new
            ones.

        Examples
        --------
        >>> old = Votes.from_long(["q1", "q1", "q2"], ["ann", "bob", "ann"], ["yes", "no", "yes"])
        >>> new = Votes.from_long(["q2", "q3"], ["cy", "ann"], ["yes", "unsure"])
        >>> both = old.merge(new)
        >>> both, both.classes.tolist()
        (Votes(3 objects, 3 classes, 3 annotators, 0 clusterings, 44.4 % missing), ['no', 'yes',
        'unsure'])
        """
        if not isinstance(other, Votes):
            raise InputTypeError("other", "must be a Votes", came=type(other).__name__)
        for argument, votes in {"votes": self, "other": other}.items():
            if not is_crowd(votes):
                remedy = "Votes on the same objects by other base models are joined with + or add."
                raise InputError(
                    argument,
                    "must come from a long table, whose objects have names, without a prior",
                    remedy=remedy,
                )
        return type(self)(**merged_fields(self._by_object(), other._by_object(), repeats)).merged()

    def __add__(self, other: Self) -> Self:
        """Join the base models of two votes on the same objects, or merge those of two long tables."""
        if not isinstance(other, Votes):
            return NotImplemented
        if is_crowd(self) and is_crowd(other):
            return self.merge(other)
        if other.n_objects != self.n_objects:
            raise InputError(
                "other", f"must describe the same {self.n_objects} objects", got=other.n_objects
            )
        if list(self.classes) != list(other.classes):
            remedy = f"Pass {arg('classes', ...)} when making them."
            raise InputError(
                "other",
                f"must have the classes {listed(self.classes)}",
                came=listed(other.classes),
                remedy=remedy,
            )
        object_ids = _the_same(self.object_ids, other.object_ids, "object_ids")
        sample_weight = _the_same(self.sample_weight, other.sample_weight, "sample_weight")
        models = (*self.models, *other.models)
        assembly.require_unique_names([model.name for model in models])
        left, right = (
            (self, other) if self.index is None and other.index is None else self._aligned(other)
        )
        joined = replace(
            left,
            models=models,
            weights=np.concatenate([self.weights, other.weights]),
            stores=left.stores.beside(
                right.stores, len(self.models), self.n_groups, other.n_groups
            ),
            object_ids=object_ids,
            prior=right.prior if left.prior is None else left.prior,
            n_repeated=self.n_repeated + other.n_repeated,
        )
        return (
            joined if sample_weight is self.sample_weight else joined._counted(sample_weight)
        ).merged()

    def split_by(self, codes: Array) -> tuple[Self, Array]:
        """Split distinct rows whose objects differ in `codes` (integers from -1), and return each row's code."""
        if self.index is None:
            return self, codes
        packed = distinct_rows(
            [_numbers(self.index, self.n_rows), _numbers(codes + 1, int(codes.max()) + 2)]
        )
        if packed is None:
            return self._by_object(), codes
        (rows, code), index, _ = packed
        return self._rows(rows, index)._counted(self.sample_weight), code.astype(np.int64) - 1

    def with_prior(self, prior: Any) -> Self:
        """Return the votes with class probabilities of the objects that come from elsewhere, such as a model of their features.

        Parameters
        ----------
        prior : table with one row per object and one column per class, or dict of object -> row
            Class probabilities that the objects' own votes had no part in: those of a classifier
            out of fold. The columns of a dataframe are matched with the classes by name. A row of
            NaN is an object without a prior.

        Examples
        --------
        >>> from ec3learn import Votes
        >>> votes = Votes.from_labels({"ann": ["no", "yes", "yes"]}).with_prior({0: [0.2, 0.8]})
        >>> votes.prior.given
        array([ True, False, False])
        """
        proba = read_prior(prior, self.classes, self.n_objects, self.object_ids)
        if self.index is None:
            return replace(self, prior=Prior(proba))
        different, number = np.unique(proba, axis=0, return_inverse=True)
        votes, row_number = self.split_by(number)
        return replace(votes, prior=Prior(different[row_number]))

    def hardened(self) -> Self:
        """Return the votes with each soft one replaced by one for its most probable class or answer, shared on a tie."""
        return replace(self, stores=self.stores.hardened(self.models, self.group_model))

    def voters_alone(self) -> tuple[Self, Array] | None:
        """Return the votes as if clusterings had said nothing, with equal rows merged, and which of these rows each row is now.

        None where no rows are equal.
        """
        silent = self.stores.silenced(
            np.flatnonzero(~self.is_voter).tolist(), self.models, self.n_rows
        )
        by_row = replace(
            self,
            n_objects=self.n_rows,
            index=None,
            object_ids=None,
            sample_weight=self.counts,
            stores=silent,
        )
        found = by_row.merged()
        if found.index is None or found.n_rows == self.n_rows:
            return None
        index = found.index if self.index is None else found.index[self.index]
        objects = replace(
            found,
            n_objects=self.n_objects,
            object_ids=self.object_ids,
            sample_weight=self.sample_weight,
        )
        return replace(objects, index=index), found.index

    def unweighted(self) -> Self:
        """Return the votes with weight 1 for each base model that has a weight above 0; objects keep theirs."""
        alike = (self.weights > 0).astype(np.float64)
        return self if np.array_equal(alike, self.weights) else replace(self, weights=alike)

    def as_class_votes(self) -> Self:
        """Return the votes with each answer on a scale replaced by a vote for the class it stands for, by the rule of `Scale`.

        Examples
        --------
        >>> from ec3learn import Votes
        >>> votes = Votes.from_labels({"judge": [0, 2, 4]}, classes=["bad", "good"], scale=range(5))
        >>> votes.as_class_votes().said(1)
        [{'bad': 0.5, 'good': 0.5}]
        """
        return as_class_votes(self)

    def oriented(self, codes: Array) -> Self:
        """Return the votes with the direction of scales learned from known labels: class numbers by object, -1 for none."""
        return oriented(self, codes)

    def only_rows(self, rows: Array) -> Self:
        """Return some of the distinct rows with their weights, each as one object."""
        return self._rows(rows, None)

    def spread_over(self, index: Array, object_ids: Array | None = None) -> Self:
        """Return the same distinct rows as the votes on other objects: the distinct row of each, and their names."""
        moved = replace(self, n_objects=len(index), index=index, object_ids=object_ids)
        return moved._counted(None)

    # ---- inside ----------------------------------------------------------------------------------

    def _rows(self, rows: Array, index: Array | None) -> Self:
        """Return the stores of some rows only, with a new index."""
        return replace(
            self,
            n_objects=len(rows if index is None else index),
            counts=self.counts[rows],
            index=index,
            stores=self.stores.take(rows),
            prior=None if self.prior is None else self.prior.take(rows),
        )

    def merged(self) -> Self:
        """Merge rows that are equal, in a crowd where that halves them; votes kept as shares or with a prior stay as they are."""
        if self.soft is not None or self.prior is not None:
            return self
        columns = [_numbers(codes, self.models[m].n_groups + 1) for m, codes in self.hard.items()]
        most = self.n_rows
        if self.sparse is not None:
            columns.append(distinct_entries(self.sparse))
            most //= 2
        packed = (
            distinct_rows(columns) if columns[-1].n_codes <= most or self.sparse is None else None
        )
        if packed is None or len(packed[2]) > most:
            return self
        _, number, _ = packed
        rows = np.empty(len(packed[2]), dtype=np.int64)
        rows[number] = np.arange(self.n_rows)
        index = number if self.index is None else number[self.index]
        return self._rows(rows, index)._counted(self.sample_weight)

    def _by_object(self) -> Self:
        """Return the votes with one row per object."""
        return (
            self
            if self.index is None
            else self._rows(self.index, None)._counted(self.sample_weight)
        )

    def _aligned(self, other: Self) -> tuple[Self, Self]:
        """Return both votes over the same rows: the distinct pairs of rows, or the objects themselves."""
        both: list[Array] = [
            votes.index if votes.index is not None else np.arange(votes.n_objects)
            for votes in (self, other)
        ]
        columns = [
            _numbers(rows, votes.n_rows) for rows, votes in zip(both, (self, other), strict=True)
        ]
        all_hard = all(votes.soft is None and votes.sparse is None for votes in (self, other))
        packed = distinct_rows(columns) if all_hard else None
        rows, index = (both, None) if packed is None else packed[:2]
        return self._rows(rows[0], index)._counted(self.sample_weight), other._rows(rows[1], index)

    def _counted(self, sample_weight: Array | None) -> Self:
        """Set the objects' weights and with them the weight of each row."""
        if self.index is not None:
            counts = np.bincount(
                self.index, weights=sample_weight, minlength=len(self.counts)
            ).astype(np.float64)
        else:
            counts = assembly.ones(self.n_objects) if sample_weight is None else sample_weight
        return replace(self, sample_weight=sample_weight, counts=counts)

    def _weighted(self, weights: Any, sample_weight: Any) -> Self:
        """Check and set the weights of base models and of objects."""
        votes = self
        if weights is not None:
            votes = replace(
                votes,
                weights=assembly.model_weights(weights, [model.name for model in self.models]),
            )
        if sample_weight is not None:
            sample_weight = in_order_of(self.object_ids, sample_weight, "sample_weight")
            checked = assembly.non_negative(
                sample_weight, "sample_weight", self.n_objects, "objects"
            )
            if not checked.any():
                raise InputError(
                    "sample_weight", "must be above 0 for at least one object", came="only zeros"
                )
            votes = votes._counted(checked)
        return votes


def _numbers(codes: Array, n: int) -> Column:
    """Return numbers from 0 to n - 1 as a column."""
    return Column("", codes, 0, np.arange(n))


def _the_same(left: Array | None, right: Array | None, what: str) -> Array | None:
    """Return what two votes that are joined must not disagree on."""
    if left is not None and right is not None and not np.array_equal(left, right):
        raise InputError("other", f"must have the same {what}", came="different ones")
    return right if left is None else left
