"""Consensus: the answer that users hold, with the ways to ask it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
from typing import Any, Literal

import numpy as np

from .. import diagnosis
from .._checks import require_choice
from .._table import Table
from .._typing import Array
from ..answer.extension import extended
from ..answer.notes import Note
from ..answer.solution import Solution, mass_classes
from ..diagnosis.score import not_judged
from ..diagnosis.summary import Summary, notes_of, summarise
from ..votes import Votes
from ..votes.labels import Label, plain


class Consensus:
    """One classification from many base models.

    A method's `solve` makes it; it is not made by hand.

    Attributes
    ----------
    solution : Solution
        What the method found, for those who look closer: its votes and base models, settings, how
        the solver got there, and everything by distinct row.

    Examples
    --------
    >>> from ec3learn import EC3, Votes
    >>> said = {"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}
    >>> votes = Votes.from_labels(said, {"kmeans": [0, 0, 1]})
    >>> consensus = EC3().solve(votes)
    >>> consensus.labels(), consensus.confidence.round(2), consensus.margin.round(2)
    (array(['a', 'a', 'b'], dtype=object), array([0.87, 0.54, 0.91]), array([0.73, 0.08, 0.82]))
    """

    def __init__(self, solution: Solution) -> None:
        self.solution = solution

    @property
    def classes(self) -> Array:
        """The classes, in the order of the columns of `proba`."""
        return self.solution.classes

    @property
    def object_ids(self) -> Array | None:
        """The names of the objects, where they have some."""
        return self.solution.object_ids

    @property
    def proba(self) -> Array:
        """The class probabilities, objects x classes."""
        return self.solution.proba

    @property
    def confidence(self) -> Array:
        """The highest class probability of each object."""
        return self.solution.expand(self.solution.row_proba.max(axis=1))

    @property
    def margin(self) -> Array:
        """By how much the most probable class of each object leads the next."""
        return self.solution.expand(self.solution.row_margin)

    @property
    def unanswered(self) -> Array:
        """Which objects no vote reaches, even through others: they have the mean vote of all."""
        rows = self.solution.unanswered_rows
        nothing = np.zeros(len(self.solution.row_proba), dtype=bool)
        return self.solution.expand(nothing if rows is None else rows)

    @property
    def weights(self) -> Array:
        """The weight each base model had in the end."""
        return self.solution.weights

    @property
    def groups(self) -> list[tuple[str, Label]]:
        """The groups, (base model, class or cluster), in the order of `group_proba`."""
        return [
            (model.name, plain(label)) for model in self.solution.models for label in model.labels
        ]

    @property
    def group_proba(self) -> Array:
        """The class probabilities of each group; without members it has the mean vote of all."""
        return self.solution.group_proba

    def labels(self, rule: Literal["argmax", "mass"] = "argmax") -> Array:
        """One class per object, named as in the votes.

        Parameters
        ----------
        rule : "argmax" or "mass"
            "argmax" takes the most probable class. Classes within 1e-9 of the highest probability
            are tied; the tied class with the larger mass (its mean probability over all objects)
            wins, and of equal masses the first in `classes`. "mass" chooses labels whose shares
            match the classes' mass, as nearly as objects with equal rows allow: smoothing pulls all
            objects towards the overall mix, so that rare classes seldom have the highest
            probability anywhere.

        Examples
        --------
        >>> from ec3learn import MajorityVote, Votes
        >>> said = {"a": [0, 0, 0, 0], "b": [0, 0, 0, 0], "c": [1, 1, 0, 0], "d": [1, 0, 1, 0]}
        >>> votes = Votes.from_labels(said)
        >>> consensus = MajorityVote().solve(votes)
        >>> consensus.labels(), consensus.labels(rule="mass")
        (array([0, 0, 0, 0]), array([1, 0, 0, 0]))
        """
        require_choice("rule", rule, ("argmax", "mass"))
        solution = self.solution
        codes = (
            solution.row_classes
            if rule == "argmax"
            else mass_classes(solution.row_proba, solution.row_counts, solution.mass)
        )
        return solution.expand(solution.classes[codes])

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What a user should know about the answer; each note has a `kind` and a `text`.

        Those of the diagnosis are found when you first ask, at a bounded cost. Without votes, as in
        a loaded file, there are those that were saved.
        """
        return notes_of(self.solution)

    # Functions of the diagnosis that are asked so often that they are methods too.
    voters = diagnosis.voters
    confusion = diagnosis.confusion_of
    contested = diagnosis.contested
    estimate = diagnosis.estimate
    ask = diagnosis.ask
    explain = diagnosis.explain
    summary = summarise

    def to_frame(
        self,
        backend: Any = "pandas",
        *,
        proba: bool = False,
        rule: Literal["argmax", "mass"] = "argmax",
    ) -> Any:
        """The answers as a dataframe, one row per object.

        Parameters
        ----------
        backend : str
            Any dataframe library narwhals can make a table with: "pandas", "polars", "pyarrow", ...
        proba : bool
            Add a column `proba_<class>` for each class.
        rule : "argmax" or "mass"
            As in `labels`.

        Returns
        -------
        dataframe of that library
            object (its name where it has one, else its number), consensus, confidence and, on
            request, the probabilities.

        Examples
        --------
        >>> from ec3learn import MajorityVote, Votes
        >>> votes = Votes.from_long(["q1", "q1", "q2"], ["ann", "bob", "ann"], ["yes", "yes", "no"])
        >>> MajorityVote().solve(votes).to_frame()
          object consensus  confidence
        0     q1       yes         1.0
        1     q2        no         1.0
        """
        names = np.arange(self.solution.n_objects) if self.object_ids is None else self.object_ids
        columns = {"object": names, "consensus": self.labels(rule), "confidence": self.confidence}
        if proba:
            columns |= {
                f"proba_{plain(label)}": column
                for label, column in zip(self.classes, self.proba.T, strict=True)
            }
        return Table({name: values.tolist() for name, values in columns.items()}).to_frame(backend)

    def score(self, truth: Any) -> float:
        """The share of objects whose label is right, by labels that the method was not given.

        Parameters
        ----------
        truth : array with missing values, dict of object -> label, or pair (objects, labels)
            The true labels. `ec3learn.diagnosis.judge` has more measures of the same. Labels that
            were chosen because they were hard are refused.
        """
        score = diagnosis.judge(self, truth)
        if score is None:
            raise not_judged(self, truth)
        return score.accuracy

    def extend(self, votes: Votes, prior: Any = None) -> Consensus:
        """Answer for new objects without solving again.

        An object whose votes and clusters were in the table gets the answer it had there, and no
        answer depends on the other new objects. Voting, BGCM, Dawid-Skene and EC3 support this; C3E
        and UPE do not. Base models are matched by name, classes and clusters by label; what was
        never seen is treated as missing, with a warning that counts it.

        Parameters
        ----------
        votes : Votes
            The same base models' votes on the new objects.
        prior : as in `solve`
            Class probabilities of the new objects, if the consensus was solved with a prior. They
            are trusted as far as those.

        Examples
        --------
        >>> from ec3learn import EC3, Votes
        >>> said = {"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}
        >>> consensus = EC3().solve(Votes.from_labels(said, {"kmeans": [0, 0, 1]}))
        >>> new = Votes.from_labels({"svm": ["b"], "knn": [None]}, {"kmeans": [1]})
        >>> consensus.extend(new).labels()
        array(['b'], dtype=object)
        """
        return Consensus(extended(self.solution, votes, prior))

    def save(
        self, path: str | os.PathLike[str], *, objects: bool = False, overwrite: bool = False
    ) -> None:
        """Save what `extend` needs: one row per group, as an archive of numpy arrays.

        Parameters
        ----------
        path : path
            The file; it appears whole or not at all.
        objects : bool
            Keep the objects' class probabilities and names too. Without it the file holds no
            object; but a group with a single member shows that object's probabilities, so look at
            the sizes of clusters before sharing it.
        overwrite : bool
            Replace the file if it exists.

        Examples
        --------
        >>> import tempfile
        >>> from ec3learn import EC3, Consensus, Votes
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     consensus = EC3().solve(Votes.from_labels({"svm": ["a", "b"]}))
        ...     consensus.save(f"{folder}/mails.ec3", objects=True)
        ...     Consensus.load(f"{folder}/mails.ec3").labels()
        array(['a', 'b'], dtype=object)
        """
        from .file import write

        write(path, self.solution, self.notes, objects, overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Consensus:
        """Load a consensus that `save` wrote."""
        from .file import read

        return cls(read(path))

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        truth: Any = None,
        title: str = "Consensus report",
        n_contested: int = 200,
        command: str | Sequence[str] | None = None,
        details: Mapping[str, Any] | None = None,
        summary: Summary | None = None,
        texts: Mapping[Any, str | None] | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write a report to look at or to mail: one HTML file without a network; needs jinja2.

        Parameters
        ----------
        path : path
            The file; it appears whole or not at all.
        truth : array with missing values, dict of object -> label, or pair (objects, labels)
            Labels to judge the answer by, which the method has not seen. Labels it was given as
            `known` are left out of the judgement.
        title : str
            The title of the page.
        n_contested : int
            How many contested objects to show, at most.
        command : str or list of str
            The command that made the answer, to be shown.
        details : dict of name -> value
            What else to show about how it was made: the data, the seed of the base models, and so
            on.
        summary : Summary
            What `summary` returned, if it was called before: the page then shows its
            cross-validated score too, and does not compute its notes again.
        texts : dict of object -> text
            What to show beside the objects to review, such as the text that was voted on.
        overwrite : bool
            Replace the file if it exists.
        """
        from ..report.page import write_report

        write_report(
            self,
            path,
            truth=truth,
            title=title,
            n_contested=n_contested,
            command=command,
            details=details,
            summary=summary,
            texts=texts,
            overwrite=overwrite,
        )

    def __repr__(self) -> str:
        return f"Consensus({self.solution.description})"

    def _repr_html_(self) -> str:
        judged = self.solution.votes is not None and self.solution.has_objects
        text = str(self.summary()) if judged else "\n".join(map(str, self.notes))
        head = f"<p><b>Consensus</b>: {escape(self.solution.description)}</p>"
        return f"{head}<pre>{escape(text)}</pre>"


def changed(consensus: Consensus, **fields: Any) -> Consensus:
    """The same consensus with other fields of its solution."""
    return Consensus(replace(consensus.solution, **fields))
