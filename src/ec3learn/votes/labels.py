"""Labels as the user gave them, and scales: answers that are not classes (scores, "unsure")."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from .._checks import InputError, InputTypeError, is_number, require_choice, unknown_name
from .._text import listed
from .._typing import Array

MOST_STEPS = 10  # to which a voter's scores are rounded
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)

Label = Any  # an int, a bool or a str, as the user gave it
KINDS = {"int", "bool", "str"}
Missing = frozenset[tuple[str, Label]]  # kinds and labels that mean "no vote"


def kind_of(label: Label) -> str:
    """'bool', 'int' or 'str', or the type's own name for what is no label."""
    if isinstance(label, (bool, np.bool_)):
        return "bool"
    if isinstance(label, (int, np.integer)) and not isinstance(label, np.timedelta64):
        return "int"
    return "str" if isinstance(label, str) else type(label).__name__


def is_missing(value: object) -> bool:
    """Whether a value stands for no vote: None, NaN, pandas' NA, NaT, numpy's masked."""
    if isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)):
        return bool(value != value)  # NaN and NaT
    return value is None or type(value).__name__ in {"NAType", "NaTType", "MaskedConstant"}


def labels_for_missing(missing: Any) -> Missing:
    """The labels that mean "no vote", of which the user may name one or several."""
    several = missing if isinstance(missing, (list, tuple, set, frozenset)) else [missing]
    labels = [(kind_of(label), plain(label)) for label in several if not is_missing(label)]
    if any(kind not in KINDS for kind, _ in labels):
        raise InputTypeError(
            "missing",
            "must be a label (an int, a bool or a string), or a list of labels",
            got=missing,
        )
    return frozenset(labels)


def label_list(argument: str, labels: Any) -> list[Label]:
    """A list of different labels of one kind, as the user passed it."""
    names = [plain(label) for label in labels] if hasattr(labels, "__iter__") else []
    kinds = {kind_of(label) for label in names}
    is_one_kind = len(kinds) == 1 and kinds <= KINDS and not isinstance(labels, str)
    if not is_one_kind or len(set(names)) < len(names):
        raise InputTypeError(
            argument,
            "must be a list of different labels: all ints, all bools or all strings",
            got=labels,
        )
    return names


def label_array(labels: Sequence[Label] | Array) -> Array:
    """Labels of one kind as an array that gives them back as they were (strings as `str`)."""
    is_text = not len(labels) or kind_of(labels[0]) == "str"
    array = object_array(labels) if is_text else np.array(list(labels))
    # Integers of any size are objects.
    return array if array.dtype.kind in "iubO" else object_array(labels)


def object_array(items: Iterable[Any]) -> Array:
    """Items of any kind as an array, each as it is."""
    listed = list(items)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def plain(label: Any) -> Label:
    """Scalars of numpy as Python's own; dates stay, for those of nanoseconds would be integers."""
    return label.item() if isinstance(label, np.generic) and label.dtype.kind not in "mM" else label


def cleaned(label: Label) -> Label:
    """Text without spaces around it, in lower case and in one form of Unicode."""
    if not isinstance(label, str):
        return label
    return unicodedata.normalize("NFC", label.strip().casefold())


# ---- scales --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """The answers that a voter may give in place of classes.

    Dawid-Skene and its kin learn what each answer means. Methods that need votes for classes get
    them by this rule: the scale is divided evenly among the classes, in their order, from its low
    end to its high end; an answer on the border between two classes is half a vote for each, and an
    answer outside the order is no vote.

    Parameters
    ----------
    values : sequence of labels
        The answers that have an order, from low to high, such as `range(10)`.
    unordered : sequence of labels
        Answers that have none, such as `["unsure"]`.
    direction : "up" or "down"
        Which end means which class: "up" says that the lowest answer stands for the first of
        `classes` and the highest for the last, "down" the opposite.
    outside : "error" or "missing"
        What to do with an answer that is not on the scale.
    steps : sequence of numbers
        `Scale(0.0, 1.0)` takes any score from 0 to 1, and rounds it to the nearest of these steps.
        Without them each voter has at most ten: scores of its own, close together where many lie.

    Examples
    --------
    >>> from ec3learn import DawidSkene, Scale, Votes
    >>> scores = {"gpt": [0, 9, 8, 1], "llama": [3, 7, 9, 2], "mistral": [1, 8, "unsure", 0]}
    >>> scale = Scale(range(10), unordered=["unsure"])
    >>> votes = Votes.from_labels(scores, classes=["fine", "toxic"], scale=scale)
    >>> DawidSkene().solve(votes).labels()
    array(['fine', 'toxic', 'toxic', 'fine'], dtype=object)
    """

    values: Any
    unordered: Any = ()
    direction: Literal["up", "down"] = "up"
    outside: Literal["error", "missing"] = "error"
    steps: Sequence[float] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        require_choice("direction", self.direction, ("up", "down"))
        require_choice("outside", self.outside, ("error", "missing"))
        if self.is_scores:
            object.__setattr__(self, "steps", tuple(np.unique(self.steps).tolist()))
            if not 0 < self.unordered - self.values < np.inf:
                must = "must be the lowest score, and below the highest"
                raise InputError("values", must, came=f"{self.values} and {self.unordered}")
            return
        for name in ("values", "unordered"):
            labels = getattr(self, name)
            is_empty = isinstance(labels, (list, tuple)) and not labels
            object.__setattr__(self, name, () if is_empty else tuple(label_list(name, labels)))
        keys = {(kind_of(label), label) for label in self.labels}
        if len(self.values) < 2 or len(keys) < len(self.labels):
            raise InputError(
                "values",
                "must name at least two answers, from low to high, and none twice",
                came=listed(self.labels),
            )

    @property
    def is_scores(self) -> bool:
        """Whether any number from `values` to `unordered` is an answer."""
        return is_number(self.values) and is_number(self.unordered)

    @property
    def labels(self) -> Array:
        """All answers, those with an order first."""
        steps = [f"{step:g}" for step in self.steps]
        return object_array(steps if self.is_scores else [*self.values, *self.unordered])

    @property
    def positions(self) -> Array:
        """Where each answer lies from the first class (0) to the last (1); NaN without an order."""
        if self.is_scores:
            positions = (np.array(self.steps) - self.values) / (self.unordered - self.values)
        else:
            unordered = np.full(len(self.unordered), np.nan)
            positions = np.append(np.linspace(0.0, 1.0, len(self.values)), unordered)
        return positions if self.direction == "up" else 1 - positions

    def rounded(self, values: Array) -> tuple[Array, Scale]:
        """Scores as the steps of this scale, and the scale with steps by what the scores show."""
        raw = np.array(values.tolist(), dtype=object)
        texts = np.array([str(value).strip() for value in raw], dtype=object)
        scores = np.array([float(text) if NUMBER.fullmatch(text) else np.nan for text in texts])
        inside = (scores >= self.values) & (scores <= self.unordered)
        steps = np.array(self.steps)
        if not self.steps:
            shown = scores[inside] if inside.any() else [self.values]
            shown = np.quantile(shown, np.linspace(0, 1, MOST_STEPS), method="nearest")
            steps = np.unique([float(f"{score:.3g}") for score in shown])
        scale = replace(self, steps=steps.tolist())
        answers = np.where(np.isnan(scores), raw, texts)
        nearest = np.searchsorted((steps[1:] + steps[:-1]) / 2, scores[inside], side="right")
        answers[inside] = scale.labels[nearest]
        return answers, scale


def scales_of(scale: Any, names: Sequence[str]) -> dict[str, Scale]:
    """The scale of each voter that has one: one for all, or a dict of voter -> scale."""
    if scale is None:
        return {}
    scales = scale if isinstance(scale, Mapping) else dict.fromkeys(names, scale)
    for name in scales:
        if name not in names:
            raise unknown_name("voter", name, names)
    return {
        name: answers if isinstance(answers, Scale) else Scale(answers)
        for name, answers in scales.items()
    }
