"""Base models: the classifiers, graders and clusterings whose outputs are votes, and their groups.

Each (classifier, class), (grader, answer) and (clustering, cluster) is a *group*. Groups are
numbered model after model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .._typing import Array
from .layout import Frozen
from .scale import Scale

Kind = Literal["classifier", "clustering", "grader"]


@dataclass(frozen=True, eq=False)
class BaseModel(Frozen):
    """A base model: its name, its kind, and the labels of its groups.

    `labels` are the classes of a classifier, the clusters of a clustering or the answers of a
    grader, who has a `scale`.
    """

    name: str
    kind: Kind
    labels: Array
    scale: Scale | None = None

    @property
    def positions(self) -> Array | None:
        """Where each answer of a grader lies from the first class to the last (`Scale`)."""
        return None if self.scale is None else self.scale.positions

    @property
    def is_voter(self) -> bool:
        """Whether the model votes, for classes or on a scale, rather than clusters."""
        return self.kind != "clustering"

    @property
    def n_groups(self) -> int:
        """How many groups the model can put an object into."""
        return len(self.labels)


class Models(Sequence[BaseModel]):
    """The base models of votes, in their order, with the numbers of their groups.

    It is no tuple: libraries that save estimators make a plain one of it.
    """

    def __init__(self, models: Iterable[BaseModel]) -> None:
        self._models = tuple(models)

    def __len__(self) -> int:
        return len(self._models)

    def __getitem__(self, at: Any) -> Any:
        return self._models[at]

    @cached_property
    def offsets(self) -> Array:
        """The number of each model's first group, and at the end the number of groups."""
        return np.cumsum([0, *(model.n_groups for model in self)], dtype=np.int64)

    @property
    def n_groups(self) -> int:
        """How many groups there are, empty ones included."""
        return int(self.offsets[-1])

    @cached_property
    def group_model(self) -> Array:
        """The number of the model of each group."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def group_class(self) -> Array:
        """The number of the class of each classifier's group; -1 for other groups."""
        code = (np.arange(self.n_groups) - self.offsets[self.group_model]).astype(np.int32)
        return np.where(self.is_classifier[self.group_model], code, np.int32(-1))

    @cached_property
    def is_classifier(self) -> Array:
        """Which base models vote for classes."""
        return np.array([model.kind == "classifier" for model in self], dtype=bool)

    @cached_property
    def is_voter(self) -> Array:
        """Which base models vote, for classes or on a scale, rather than cluster."""
        return np.array([model.is_voter for model in self], dtype=bool)


def voter_noun(models: Iterable[BaseModel], is_crowd: bool) -> str:
    """What voters are called: judges if all score, annotators in a crowd, or classifiers."""
    if {model.kind for model in models if model.is_voter} == {"grader"}:
        return "judge"
    return "annotator" if is_crowd else "classifier"
