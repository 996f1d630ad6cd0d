"""Consensus: the answer, how sure it is, who drove it, and how it extends to new objects."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._checks import require_bool, require_choice, require_integer
from .._text import Table, count, listed
from ..algebra.linear import normalised
from ..algebra.membership import SparseMembership, entries, membership, scatter_to_votes
from ..answer.labelling import mass_classes, top_classes
from ..answer.rule import COMPANIONS, GROUPS, NOBODY, EvidenceRule, GroupRule, KnownLabels, Targets
from ..diagnosis.explanation import Explanation, tally_of, tally_text, why_contested
from ..votes.distinct import spread
from ..votes.labels import Label, kind_of, label_array, plain
from ..votes.layout import frozen
from ..votes.votes import BaseModel, Votes
from . import file as storage

Array = npt.NDArray[Any]


NOT_REACHED = "no vote, not even over others in the same groups, and got the mean vote of all"


class ExtendWarning(UserWarning):
    """New votes name base models, classes or clusters that the consensus has never seen.

    Examples
    --------
    >>> import warnings
    >>> from ec3learn import EC3, ExtendWarning, Votes
    >>> consensus = EC3().solve(Votes.from_labels({"svm": ["a", "b"]}, {"kmeans": [0, 1]}))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ExtendWarning)
    ...     consensus.extend(Votes.from_labels({"svm": ["a"]}, {"kmeans": [7]})).labels()
    array(['a'], dtype=object)
    """


@dataclass(frozen=True, eq=False, repr=False)
class Consensus:
    """One classification from many base models.

    A method's `solve` makes it; it is not made by hand.

    Attributes
    ----------
    classes : array
        The classes, in the order of the columns of `proba`.
    models : tuple of BaseModel
        The base models it was made from.
    weights : array
        The weight each base model had in the end.
    proba, group_proba : arrays
        The class probabilities of the objects and of the groups; `groups` says which group is which.
    objective : float or None
        The value of what the method minimised.
    n_iter, converged
        How many rounds the solver took, and whether it reached its tolerance.
    history : list of float
        The objective after each round, where the solver is a plain loop.
    notes : tuple of str
        What a user should know: classifiers without weight, objects nobody voted on, and so on.
    worse_than_chance : tuple of str
        The classifiers that learned weights left out because they agree with the consensus less than guessing would.
    settings : dict
        The method and its parameters.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}, {"kmeans": [0, 0, 1]})
    >>> consensus = EC3().solve(votes)
    >>> consensus.labels(), consensus.confidence.round(2)
    (array(['a', 'a', 'b'], dtype=object), array([0.87, 0.54, 0.91]))
    """

    classes: Array
    models: tuple[BaseModel, ...]
    weights: Array
    settings: Mapping[str, Any]
    rule: GroupRule | None = None  # how new objects are answered, where the method can
    group_table: tuple[Array, Array] | None = None  # numbers of groups, and their distributions; None: the means of their members
    votes: Votes | None = None
    row_proba: Array | None = None
    row_counts: Array | None = None  # where there are no votes to ask
    index: Array | None = None
    object_ids: Array | None = None
    known: KnownLabels | None = None
    silent: Array | None = None
    objective: float | None = None
    n_iter: int = 0
    converged: bool = True
    history: Sequence[float] = ()
    notes: tuple[str, ...] = ()
    worse_than_chance: tuple[str, ...] = ()
    lacking: str = NOT_REACHED  # what unanswered objects lack, and what they got
    tie_mass: Array | None = None  # the mass of the classes that breaks ties, where it is that of another table
    stored_voters: Table | None = field(default=None)

    # ---- the answer --------------------------------------------------------------------------------------------------

    @cached_property
    def proba(self) -> Array:
        """Return the class probabilities, objects x classes.

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}, {"kmeans": [0, 0, 1]})
        >>> EC3().solve(votes).proba.round(2)
        array([[0.87, 0.13],
               [0.54, 0.46],
               [0.09, 0.91]])
        """
        return frozen(self._spread(self._rows()))

    def labels(self, rule: Literal["argmax", "mass"] = "argmax") -> Array:
        """Return one class an object, named as in the votes.

        Parameters
        ----------
        rule : "argmax" or "mass"
            "argmax" takes the most probable class. Classes within 1e-9 of the highest probability are tied; the tied class
            with the larger mass (its mean probability over all objects) wins, and of equal masses the first in `classes`.
            "mass" chooses labels whose shares match the classes' mass, as nearly as objects with equal rows allow: smoothing
            pulls all objects towards the overall mix, so that rare classes seldom have the highest probability anywhere.

        Returns
        -------
        array

        Examples
        --------
        >>> from ec3learn import MajorityVote, Votes
        >>> votes = Votes.from_labels({"a": [0, 0, 0, 0], "b": [0, 0, 0, 0], "c": [1, 1, 0, 0], "d": [1, 0, 1, 0]})
        >>> consensus = MajorityVote().solve(votes)
        >>> consensus.labels(), consensus.labels(rule="mass")
        (array([0, 0, 0, 0]), array([1, 0, 0, 0]))
        """
        require_choice("rule", rule, ("argmax", "mass"))
        if rule == "argmax":
            return self._spread(self.classes[self._row_classes])
        return self._spread(self.classes[mass_classes(self._rows(), self._row_counts, self._mass)])

    @property
    def confidence(self) -> Array:
        """Return the highest class probability of each object.

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}, {"kmeans": [0, 0, 1]})
        >>> EC3().solve(votes).confidence.round(2)
        array([0.87, 0.54, 0.91])
        """
        return self._spread(self._rows().max(axis=1))

    @property
    def margin(self) -> Array:
        """Return by how much the most probable class of each object leads the next.

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}, {"kmeans": [0, 0, 1]})
        >>> EC3().solve(votes).margin.round(2)
        array([0.73, 0.08, 0.82])
        """
        return self._spread(self._row_margin)

    @property
    def unanswered(self) -> Array:
        """Return which objects no vote reaches, even over others: they have the mean vote of all.

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> EC3().solve(Votes.from_labels({"svm": ["a", "b", None]})).unanswered
        array([False, False,  True])
        """
        silent = np.zeros(len(self._rows()), dtype=bool) if self.silent is None else self.silent
        return self._spread(silent)

    @cached_property
    def group_proba(self) -> Array:
        """Return the class distribution of each group, groups x classes; groups without members have the mean vote of all.

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}, {"kmeans": [0, 0, 1]})
        >>> consensus = EC3().solve(votes)
        >>> dict(zip(consensus.groups, consensus.group_proba.round(2).tolist()))["kmeans", 0]
        [0.71, 0.29]
        """
        order, table = self._group_table
        nobody = normalised(table.sum(axis=0)) if self.rule is None else self.rule.fallback
        out = np.tile(nobody, (int(self._offsets[-1]), 1))
        out[order] = table
        return frozen(out)

    @cached_property
    def _group_table(self) -> tuple[Array, Array]:
        if self.group_table is not None:
            return self.group_table
        votes = self._own_votes("group_proba")
        groups = membership(votes)
        sums = groups.scatter(votes.counts[:, None] * self._rows())
        some = np.flatnonzero(sums.any(axis=1))
        return groups.order[some], normalised(sums[some])

    @property
    def groups(self) -> list[tuple[str, Label]]:
        """Return the groups, (base model, class or cluster), in the order of `group_proba`.

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> votes = Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}, {"kmeans": [0, 0, 1]})
        >>> EC3().solve(votes).groups[-2:]
        [('kmeans', 0), ('kmeans', 1)]
        """
        return [(model.name, plain(label)) for model in self.models for label in model.labels]

    def _rows(self) -> Array:
        if self.row_proba is None:
            raise ValueError(
                "This consensus was loaded from a file without objects, so it has no probabilities of its own. "
                "Use extend(votes), or save it with objects=True."
            )
        return self.row_proba

    def _spread(self, per_row: Array) -> Array:
        return per_row if self.index is None else spread(per_row, self.index)

    @cached_property
    def _row_counts(self) -> Array:
        if self.votes is not None:
            return self.votes.counts
        assert self.row_counts is not None
        return self.row_counts

    @cached_property
    def _mass(self) -> Array:
        return self._row_counts @ self._rows()

    @cached_property
    def _row_classes(self) -> Array:
        return top_classes(self._rows(), self._mass if self.tie_mass is None else self.tie_mass)

    @cached_property
    def _row_margin(self) -> Array:
        proba = self._rows()
        if proba.shape[1] == 1:
            return np.ones(len(proba))
        two = np.partition(proba, -2, axis=1)[:, -2:]
        return two[:, 1] - two[:, 0]

    # ---- who drove it ------------------------------------------------------------------------------------------------

    def voters(self) -> Table:
        """Return a table of the base models.

        Returns
        -------
        Table
            kind; coverage, the share of objects it said something about; agreement, the share of those where its (most
            probable) class is that of the consensus; weight; and of clusterings purity, the share of objects in the
            majority class of their cluster, and nmi, the normalised mutual information with the consensus.

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> EC3().solve(Votes.from_labels({"svm": [0, 1, 1], "knn": [0, None, 0]}, {"kmeans": [5, 6, 6]})).voters()
        model   kind        coverage  agreement  weight  purity    nmi
        svm     classifier     1.000      1.000   1.000
        knn     classifier     0.667      0.500   1.000
        kmeans  clustering     1.000              1.000   1.000  1.000
        """
        if self.stored_voters is not None:
            return self.stored_voters
        votes = self._own_votes("voters")
        contingency, agreed = self._contingency, self._agreement
        weight_of = {(model.name, model.kind): float(weight) for model, weight in zip(self.models, self.weights, strict=True)}
        total = max(float(self._row_counts.sum()), 1e-300)
        columns: dict[str, list[Any]] = {n: [] for n in ("model", "kind", "coverage", "agreement", "weight", "purity", "nmi")}
        for m, model in enumerate(votes.models):
            counts = contingency[votes.offsets[m] : votes.offsets[m + 1]]
            covered = float(counts.sum())
            is_clustering = model.kind == "clustering"
            purity = float(counts.max(axis=1).sum()) / covered if is_clustering and covered > 0 else None
            columns["model"].append(model.name)
            columns["kind"].append(model.kind)
            columns["coverage"].append(covered / total)
            columns["agreement"].append(agreed.get(m))
            columns["weight"].append(weight_of.get((model.name, model.kind), 0.0))
            columns["purity"].append(purity)
            columns["nmi"].append(_normalised_mutual_information(counts) if is_clustering and covered > 0 else None)
        return Table(columns)

    def explain(self, i: Any) -> Explanation:
        """Explain one object: what each base model said, and how much it and each term gave to each class.

        Parameters
        ----------
        i : int, or an object's name where the votes came from a long table
            The object.

        Returns
        -------
        Explanation
            Its parts add up to the object's class probabilities (of Dawid-Skene: to their logarithms, less the mean). C3E and
            UPE have no such parts: there it says who said what.

        Examples
        --------
        >>> from ec3learn import SoftVote, Votes
        >>> SoftVote().solve(Votes.from_labels({"svm": ["a", "b"], "knn": ["a", "a"]})).explain(1)
        Object 1 is 'a' (a 0.500, b 0.500)
        <BLANKLINE>
        model  kind        said  weight   to a   to b
        svm    classifier  b      0.500  0.000  0.500
        knn    classifier  a      0.500  0.500  0.000
        <BLANKLINE>
        term   weight   to a   to b
        votes   1.000  0.500  0.500
        """
        votes = self._own_votes("explain")
        position = self._position(i)
        row = position if votes.index is None else int(votes.index[position])
        known = None if self.known is None else KnownLabels(self.known.codes[row : row + 1], self.known.pull)
        one = self._aligned(votes[position], warn=False)
        parts: dict[tuple[str, str], Array] = {}
        if self.rule is not None:
            owner = np.repeat(np.arange(len(self.models)), np.diff(self._offsets))
            for (m, term), part in self.rule.parts(one, known, owner, self._hard_targets(votes[position])).items():
                parts[term if m == NOBODY else self.models[m].name, term] = part
        said = dict(zip([model.name for model in votes.models], votes.said(position), strict=True))
        kinds = {model.name: model.kind for model in votes.models}
        label = plain(self.classes[self._row_classes[row]])
        unit = "probability" if self.rule is None else self.rule.unit
        return Explanation(self._name(position), label, self.classes, self._rows()[row], said, kinds, parts, unit)

    def confusion(self, model: str) -> Table:
        """Return what one base model says about objects of each class, by the consensus.

        Parameters
        ----------
        model : str
            The base model's name.

        Returns
        -------
        Table
            A row a class: its share of the objects the model spoke about, and how often the model says each of its labels
            there, objects counted by their class probabilities. A biased annotator has large shares off the diagonal.

        Examples
        --------
        >>> from ec3learn import DawidSkene, Votes
        >>> votes = Votes.from_labels({"a": [0, 0, 1, 1] * 9, "b": [0, 0, 1, 1] * 9, "biased": [0, 0, 0, 1] * 9})
        >>> DawidSkene().solve(votes).confusion("biased")
        class  share  says 0  says 1
            0  0.500   1.000   0.000
            1  0.500   0.500   0.500
        """
        votes = self._own_votes("confusion")
        names = [own.name for own in votes.models]
        if model not in names:
            raise ValueError(f"Unknown base model {model!r}. Choose from: {', '.join(names)}.")
        m = names.index(model)
        groups = membership(votes)
        sums = scatter_to_votes(votes, groups, votes.counts[:, None] * self._rows())[votes.offsets[m] : votes.offsets[m + 1]]
        columns: dict[str, Sequence[Any]] = {
            "class": [plain(label) for label in self.classes],
            "share": normalised(sums.sum(axis=0)).tolist(),
        }
        said = zip(votes.models[m].labels.tolist(), normalised(sums.T).T, strict=True)
        return Table(columns | {f"says {plain(label)}": shares.tolist() for label, shares in said})

    def contested(self, n: int = 10, *, distinct: bool = True) -> Table:
        """Return the objects a person should look at first: those whose two most probable classes are closest.

        Parameters
        ----------
        n : int
            How many.
        distinct : bool
            Show of objects with the same votes and clusters only the first, and how many are alike.

        Returns
        -------
        Table
            object, label, confidence, runner_up, margin, votes, alike and why. Objects with known labels are left out.

        Examples
        --------
        >>> from ec3learn import MajorityVote, Votes
        >>> votes = Votes.from_labels({"svm": ["a", "b"], "knn": ["a", "a"], "tree": ["a", "a"]})
        >>> next(MajorityVote().solve(votes).contested(1).rows())["why"]
        'the votes are split: 2 of 3 said a'
        """
        require_integer("n", n, 0)
        require_bool("distinct", distinct)
        votes = self._own_votes("contested")
        margin = self._row_margin.copy()
        open_rows = np.ones(len(margin), dtype=bool) if self.known is None else self.known.codes < 0
        order = np.lexsort((np.arange(len(margin)), np.round(margin, 12)))
        order = order[open_rows[order]][:n]
        objects: list[tuple[int, int]] = []  # object, row
        alike = np.ones(len(margin), dtype=int) if self.index is None else np.bincount(self.index, minlength=len(margin))
        for row in order:
            members = [int(row)] if self.index is None else np.flatnonzero(self.index == row)[: 1 if distinct else n]
            objects += [(int(member), int(row)) for member in members]
        objects = objects[:n]
        rows = np.array([row for _, row in objects], dtype=int)
        proba = self._rows()[rows]
        best = self._row_classes[rows]
        without_best = proba.copy()
        without_best[np.arange(len(rows)), best] = -1
        second = without_best.argmax(axis=1)
        columns: dict[str, list[Any]] = {
            "object": [self._name(i) for i, _ in objects],
            "label": [plain(self.classes[z]) for z in best],
            "confidence": proba.max(axis=1, initial=0.0).tolist(),
            "runner_up": [plain(self.classes[z]) if len(self.classes) > 1 else None for z in second],
            "margin": margin[rows].tolist(),
        }
        tallies = [tally_of(votes.said(i), votes.models) for i, _ in objects]
        silent = [self.silent is not None and bool(self.silent[row]) for _, row in objects]
        columns["votes"] = [tally_text(tally) for tally in tallies]
        columns["alike"] = [int(alike[row]) for _, row in objects]
        lacking = f"it has {self.lacking}"
        columns["why"] = [
            lacking if nothing else why_contested(tally, label, self._decided_by())
            for tally, label, nothing in zip(tallies, columns["label"], silent, strict=True)
        ]
        return Table(columns)

    def _decided_by(self) -> str:
        """Return what decides besides the number of votes."""
        if isinstance(self.rule, EvidenceRule):
            return "who said it"
        terms = set() if self.rule is None else {term.name for term in self.rule.terms}
        equal = len(set(self.weights.tolist())) == 1
        if self.rule is None or terms & {GROUPS, COMPANIONS}:
            return "its groups" if equal else "weights and groups"
        return "the more common class" if equal else "weights"

    @cached_property
    def _contingency(self) -> Array:
        """Return how many objects of each group the consensus puts into each class."""
        votes = self._own_votes("voters")
        one_hot = np.zeros((votes.n_rows, len(self.classes)))
        one_hot[np.arange(votes.n_rows), self._row_classes] = votes.counts
        return scatter_to_votes(votes, membership(votes), one_hot)

    @cached_property
    def _agreement(self) -> dict[int, float | None]:
        votes = self._own_votes("voters")
        return agreement(votes, self._row_classes, self._contingency, _matched(votes.classes, self.classes, 0))

    def _own_votes(self, what: str) -> Votes:
        if self.votes is None:
            raise ValueError(f"{what} needs the votes, and a consensus loaded from a file does not hold them.")
        return self.votes

    @property
    def _offsets(self) -> Array:
        return np.concatenate([[0], np.cumsum([model.n_groups for model in self.models])])

    def _position(self, i: Any) -> int:
        n_objects = self._own_votes("explain").n_objects
        if self.object_ids is not None:
            known = kind_of(i) == kind_of(self.object_ids[0])
            found = np.flatnonzero(self.object_ids == i) if known else np.empty(0, dtype=int)
            if not len(found):
                raise ValueError(f"Unknown object {i!r}. The first objects are {listed(self.object_ids, 5)}.")
            return int(found[0])
        if kind_of(i) != "int" or not -n_objects <= i < n_objects:
            raise ValueError(f"i must be the number of an object, from 0 to {n_objects - 1}, got {i!r}.")
        return int(i) % n_objects

    def _name(self, i: int) -> Label:
        return i if self.object_ids is None else plain(self.object_ids[i])

    # ---- new objects -------------------------------------------------------------------------------------------------

    def extend(self, votes: Votes) -> Consensus:
        """Answer for new objects without solving again.

        An object whose votes and clusters were in the table gets the answer it had there, and no answer depends on the
        other new objects. Voting, BGCM, Dawid-Skene and EC3 can do this; C3E and UPE can't.
        Base models are matched by name, classes and clusters by label; what was never seen is treated as missing, with a
        warning that counts it.

        Parameters
        ----------
        votes : Votes
            The same base models' votes on the new objects.

        Returns
        -------
        Consensus

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> consensus = EC3().solve(Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}, {"kmeans": [0, 0, 1]}))
        >>> consensus.extend(Votes.from_labels({"svm": ["b"], "knn": [None]}, {"kmeans": [1]})).labels()
        array(['b'], dtype=object)
        """
        if not isinstance(votes, Votes):
            raise TypeError(f"votes must be a Votes, got {type(votes).__name__}. Make one with Votes.from_labels.")
        if self.rule is None:
            raise ValueError(
                f"{self.settings['method']} has no answer for new objects. Solve old and new objects together, or take a method "
                "that extends: EC3, voting, BGCM or Dawid-Skene."
            )
        groups = SparseMembership(self._aligned(votes, warn=True))
        proba, silent = self.rule.all_answers(groups, targets=self._hard_targets(votes))
        return Consensus(
            classes=self.classes,
            models=self.models,
            rule=self.rule,
            weights=self.weights,
            group_table=self._group_table,
            settings=self.settings,
            votes=votes,
            row_proba=frozen(proba),
            index=votes.index,
            object_ids=votes.object_ids,
            silent=frozen(silent),
            objective=None,
            n_iter=0,
            notes=silent_notes(silent, votes, self.lacking),
            lacking=self.lacking,
            tie_mass=self._own_tie_mass(),
        )

    def _own_tie_mass(self) -> Array | None:
        return self.tie_mass if self.tie_mass is not None or self.row_proba is None else self._mass

    def _hard_targets(self, votes: Votes) -> Targets | None:
        """Return what a method says that we go towards and that takes soft votes for hard ones; others are asked as they are."""
        other = None if self.rule is None or self.rule.towards is None else self.rule.towards[1]
        if other is None or not other.hard_votes or votes.soft is None:
            return None
        groups = SparseMembership(self._aligned(votes.hardened(), warn=False))
        return Targets.of(*other.all_answers(groups), other)

    def _aligned(self, votes: Votes, warn: bool) -> sparse.csr_array:
        """Return the membership of new rows in our groups."""
        if self.rule is not None and self.rule.hard_votes:
            votes = votes.hardened()
        number = {(model.name, model.kind): m for m, model in enumerate(self.models)}
        target = np.full(votes.n_groups, -1, dtype=np.int64)
        for m, model in enumerate(votes.models):
            ours = number.get((model.name, model.kind))
            if ours is not None:
                target[votes.offsets[m] : votes.offsets[m + 1]] = _matched(
                    model.labels, self.models[ours].labels, self._offsets[ours]
                )
        matrix = entries(votes)
        column = target[matrix.indices]
        seen = column >= 0
        if not seen.all():
            if warn:
                _warn_unseen(votes, matrix, target)
            row_of = np.repeat(np.arange(votes.n_rows), np.diff(matrix.indptr))
            starts = np.concatenate([[0], np.cumsum(np.bincount(row_of[seen], minlength=votes.n_rows))])
            matrix = sparse.csr_array((matrix.data[seen], column[seen], starts), shape=(votes.n_rows, int(self._offsets[-1])))
        else:
            matrix = sparse.csr_array((matrix.data, column, matrix.indptr), shape=(votes.n_rows, int(self._offsets[-1])))
        return matrix

    # ---- on disk -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, objects: bool = False) -> None:
        """Save what `extend` needs: tables with one row a group, in an open format (zip of JSON and numpy arrays).

        Parameters
        ----------
        path : path
            The file; it is replaced if it exists, and appears whole or not at all.
        objects : bool
            Keep the objects' class probabilities and names too. Without it the file holds no object; but a group with a
            single member says what that object's probabilities are, so look at the sizes of clusters before sharing it.

        Examples
        --------
        >>> import tempfile
        >>> from ec3learn import EC3, Consensus, Votes
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     EC3().solve(Votes.from_labels({"svm": ["a", "b"]})).save(f"{folder}/mails.ec3", objects=True)
        ...     Consensus.load(f"{folder}/mails.ec3").labels()
        array(['a', 'b'], dtype=object)
        """
        facts: dict[str, Any] = {
            "classes": _labels_out(self.classes),
            "models": [{"name": m.name, "kind": m.kind} for m in self.models],
            "settings": dict(self.settings),
            "objective": self.objective,
            "n_iter": self.n_iter,
            "converged": self.converged,
            "notes": list(self.notes),
            "worse_than_chance": list(self.worse_than_chance),
            "lacking": self.lacking,
            "rule": None,
            "labels": {},
            "voters": None
            if self.votes is None and self.stored_voters is None
            else {k: list(v) for k, v in self.voters().columns.items()},
        }
        order, table = self._group_table
        arrays: dict[str, Array] = {"weights": self.weights, "group_order": order, "group_table": table}
        mass = self._own_tie_mass()
        if mass is not None:
            arrays["tie_mass"] = mass
        if self.rule is not None:
            facts["rule"], more = self.rule.stored()
            arrays |= more
        for m, model in enumerate(self.models):
            if model.kind == "clustering":
                if model.labels.dtype.kind in "iu":
                    arrays[f"labels{m}"] = model.labels
                else:
                    facts["labels"][str(m)] = _labels_out(model.labels)
        if objects:
            arrays |= {"row_proba": self._rows(), "row_counts": self._row_counts}
            if self.silent is not None:
                arrays["silent"] = self.silent
            if self.index is not None:
                arrays["index"] = self.index
            if self.object_ids is not None:
                facts["object_ids"] = _labels_out(self.object_ids)
        storage.write(path, facts, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Consensus:
        """Load a saved consensus.

        Parameters
        ----------
        path : path
            A file made by `save`.

        Returns
        -------
        Consensus

        Examples
        --------
        >>> import tempfile
        >>> from ec3learn import EC3, Consensus, Votes
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     EC3().solve(Votes.from_labels({"svm": ["a", "b"]})).save(f"{folder}/mails.ec3")
        ...     Consensus.load(f"{folder}/mails.ec3")
        Consensus(iEC3 of 1 classifier and 0 clusterings, 2 classes; extends to new objects, holds none)
        """
        facts, arrays = storage.read(path)
        try:
            return cls._from_stored(facts, arrays)
        except KeyError as lacking:
            raise ValueError(f"{os.fspath(path)} is damaged ({lacking.args[0]} is missing). Save the consensus again.") from None

    @classmethod
    def _from_stored(cls, facts: dict[str, Any], arrays: dict[str, Array]) -> Consensus:
        classes = frozen(label_array(facts["classes"]))
        models = []
        for m, model in enumerate(facts["models"]):
            if model["kind"] == "classifier":
                labels = classes
            else:
                labels = arrays[f"labels{m}"] if f"labels{m}" in arrays else label_array(facts["labels"][str(m)])
            models.append(BaseModel(model["name"], model["kind"], labels))
        return cls(
            classes=classes,
            models=tuple(models),
            rule=None if facts["rule"] is None else GroupRule.from_stored(facts["rule"], arrays),
            weights=arrays["weights"],
            group_table=(arrays["group_order"], arrays["group_table"]),
            settings=facts["settings"],
            row_proba=arrays.get("row_proba"),
            row_counts=arrays.get("row_counts"),
            silent=arrays.get("silent"),
            index=arrays.get("index"),
            object_ids=label_array(facts["object_ids"]) if "object_ids" in facts else None,
            objective=facts["objective"],
            n_iter=facts["n_iter"],
            converged=facts["converged"],
            notes=tuple(facts["notes"]),
            worse_than_chance=tuple(facts["worse_than_chance"]),
            lacking=facts["lacking"],
            tie_mass=arrays.get("tie_mass"),
            stored_voters=None if facts["voters"] is None else Table(facts["voters"]),
        )

    # ---- to look at --------------------------------------------------------------------------------------------------

    def _summary(self) -> str:
        n_classifiers = sum(model.kind == "classifier" for model in self.models)
        made_of = f"{count(n_classifiers, 'classifier')} and {count(len(self.models) - n_classifiers, 'clustering')}"
        if self.row_proba is None:
            n_classes = count(len(self.classes), "class", "classes")
            extends = "holds no objects" if self.rule is None else "extends to new objects, holds none"
            return f"{self.settings['method']} of {made_of}, {n_classes}; {extends}"
        n_objects = len(self.row_proba) if self.index is None else len(self.index)
        counts = self._row_counts
        sure = float(counts @ self._rows().max(axis=1, initial=0.0) / max(counts.sum(), 1e-300))
        size = f"{count(n_objects, 'object')}, {count(len(self.classes), 'class', 'classes')}"
        return f"{self.settings['method']} of {made_of}: {size}, mean confidence {sure:.3f}"

    def __repr__(self) -> str:
        return f"Consensus({self._summary()})"

    def _repr_html_(self) -> str:
        parts = [f"<p><b>Consensus</b>: {escape(self._summary())}</p>"]
        parts += [f"<p>Note: {escape(note)}</p>" for note in self.notes]
        if self.row_proba is not None:
            codes = np.bincount(self._row_classes, weights=self._row_counts, minlength=len(self.classes))
            shares = normalised(codes.astype(np.float64)).tolist()
            mass = normalised(self._mass).tolist()
            parts.append(Table({"class": [plain(z) for z in self.classes], "share": shares, "mass": mass})._repr_html_())
        if self.votes is not None or self.stored_voters is not None:
            parts.append(self.voters()._repr_html_())
        if self.votes is not None and self.row_proba is not None:
            parts.append(f"<p>Most contested</p>{self.contested(5)._repr_html_()}")
        return "".join(parts)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        truth: Any = None,
        title: str = "Consensus report",
        n_contested: int = 200,
        command: str | Sequence[str] | None = None,
        details: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write a report to look at or to mail: one HTML file that needs no network (it needs jinja2 to be made).

        Parameters
        ----------
        path : path
            The file; it appears whole or not at all.
        truth : array with missing values, dict of object -> label, or pair (objects, labels)
            Labels to judge the answer by, which the method has not seen. Labels it was given as `known` are left out of the
            judgement.
        title : str
            The title of the page.
        n_contested : int
            How many contested objects to show, at most.
        command : str or list of str
            The command that made the answer, to be shown.
        details : dict of name -> value
            What else to show about how it was made: the data, the seed of the base models, and so on.
        overwrite : bool
            Replace the file if it exists.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from ec3learn import EC3, Votes
        >>> consensus = EC3().solve(Votes.from_labels({"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}, {"kmeans": [0, 0, 1]}))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     consensus.report(f"{folder}/report.html", truth={0: "a", 1: "b"}, title="Three mails")
        ...     "Three mails" in Path(folder, "report.html").read_text(encoding="utf-8")
        True
        """
        from ..report import write_report  # it stands above us, and few need it

        write_report(
            self,
            path,
            truth=truth,
            title=title,
            n_contested=n_contested,
            command=command,
            details=details,
            overwrite=overwrite,
        )


# ---- small steps -----------------------------------------------------------------------------------------------------


def agreement(votes: Votes, row_classes: Array, contingency: Array, number: Array) -> dict[int, float | None]:
    """Return for each classifier the share of its votes whose (most probable) class is that of `row_classes`; None: no vote.

    `contingency` counts, for each group, the objects of each class; `number` says which of those classes each class of the
    votes is, -1 for none.
    """
    shares: dict[int, float | None] = {}
    same = np.flatnonzero(number >= 0)
    for m, model in enumerate(votes.models):
        if model.kind == "classifier":
            counts = contingency[votes.offsets[m] : votes.offsets[m + 1]]
            covered = float(counts.sum())
            shares[m] = float(counts[same, number[same]].sum()) / covered if covered > 0 else None
    if votes.soft is None:
        return shares
    for soft in votes.soft.models:
        if votes.models[soft.number].kind == "classifier":
            table = votes.soft.shares_of(soft)
            highest = table.max(axis=1)
            voted = votes.counts * (highest > 0)
            top = table >= highest[:, None] - 1e-12
            right = (top & (number == row_classes[:, None])).any(axis=1) / top.sum(axis=1)
            shares[soft.number] = float(voted @ right / voted.sum()) if voted.any() else None
    return shares


def _matched(labels: Array, ours: Array, first_group: int) -> Array:
    """Return the number of our group for each label, -1 for labels we have never seen."""
    place = {(kind_of(label), label): first_group + j for j, label in enumerate(ours.tolist())}
    return np.array([place.get((kind_of(label), label), -1) for label in labels.tolist()], dtype=np.int64)


def _warn_unseen(votes: Votes, matrix: sparse.csr_array, target: Array) -> None:
    objects = np.ones(votes.n_rows) if votes.index is None else np.bincount(votes.index, minlength=votes.n_rows)
    row_of = np.repeat(np.arange(votes.n_rows), np.diff(matrix.indptr))
    per_group = np.bincount(matrix.indices, weights=objects[row_of], minlength=votes.n_groups) * (target < 0)
    lost = [round(float(per_group[votes.offsets[m] : votes.offsets[m + 1]].sum())) for m in range(len(votes.models))]
    named = ", ".join(f"{model.name!r} {count}" for model, count in zip(votes.models, lost, strict=True) if count)
    warnings.warn(
        f"{'1 vote is' if sum(lost) == 1 else f'{sum(lost)} votes are'} treated as missing because the base model, class or "
        f"cluster was never seen: {named}.",
        ExtendWarning,
        stacklevel=4,
    )


def silent_notes(silent: Array, votes: Votes, lacking: str = NOT_REACHED) -> tuple[str, ...]:
    """Return a note that counts the objects nothing is said about, if there are any."""
    rows = np.flatnonzero(silent)
    n_silent = len(rows) if votes.index is None else int(np.isin(votes.index, rows).sum())
    if not n_silent:
        return ()
    who = "1 object has" if n_silent == 1 else f"{n_silent} objects have"
    return (f"{who} {lacking}.",)


def _normalised_mutual_information(counts: Array) -> float:
    """Return the mutual information of clusters and classes over the mean of their entropies; 1 if both are constant."""
    joint = counts / counts.sum()
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)

    def entropy(p: Array) -> float:
        p = p[p > 0]
        return float(-(p * np.log(p)).sum())

    mutual = entropy(rows) + entropy(columns) - entropy(joint.ravel())
    mean = (entropy(rows) + entropy(columns)) / 2
    return 1.0 if mean == 0 else min(1.0, max(0.0, mutual / mean))


def _labels_out(labels: Array) -> list[Any]:
    return [plain(label) for label in labels.tolist()]
