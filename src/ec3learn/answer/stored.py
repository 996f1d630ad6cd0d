"""What a file stored, taken back array by array: nothing is believed that `save` would not have written."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..votes.layout import frozen
from .outcome import are_distributions

LOOSE = 1e-6  # by how much the sums of distributions of groups may miss 1


def require(holds: Any, what: str) -> None:
    """Refuse a file of which this does not hold; `what` is wrong then."""
    if not holds:
        raise ValueError(f"{what} is not what ec3learn writes")


def number(value: Any, what: str, low: float = -np.inf, high: float = np.inf) -> float:
    """Return a finite number between two bounds."""
    require(type(value) in (int, float) and np.isfinite(value) and low <= value <= high, what)
    return float(value)


def text(value: Any) -> str:
    """Return a text."""
    require(isinstance(value, str), "a name")
    return str(value)


class Stored:
    """The arrays of a file. Each is taken once, with what it must be; `require_empty` refuses what nobody has asked for."""

    def __init__(self, arrays: dict[str, Array], prefix: str = "") -> None:
        self._left = arrays
        self._prefix = prefix

    def under(self, prefix: str) -> Stored:
        """Return the arrays whose names begin like this, without that beginning."""
        return Stored(self._left, self._prefix + prefix)

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._left

    def take(self, name: str, kinds: str, *shape: int | None, low: float = -np.inf, high: float = np.inf) -> Array:
        """Return an array of these kinds and this shape (None: of any length) whose numbers are finite and within bounds."""
        name = self._prefix + name
        array = self._left.pop(name)
        require(array.dtype.kind in kinds and array.ndim == len(shape), name)
        require(all(want is None or want == have for want, have in zip(shape, array.shape, strict=True)), name)
        require(not array.size or (array.min() >= low and array.max() <= high and np.isfinite(array).all()), name)
        return frozen(array)

    def take_nullable(self, name: str, n: int, low: float, high: float) -> Array:
        """Return numbers within bounds, some of which may be NaN for none."""
        array = self._left[self._prefix + name]
        self._left[self._prefix + name] = np.nan_to_num(array) if array.dtype.kind == "f" else array
        self.take(name, "f", n, low=low, high=high)
        return frozen(array)

    def take_distributions(self, name: str, *shape: int | None, within: float = 1e-9) -> Array:
        """Return an array whose rows are distributions."""
        array = self.take(name, "f", *shape, low=0.0)
        require(are_distributions(np.atleast_2d(array), within), self._prefix + name)
        return array

    def take_numbers_of(self, name: str, n_things: int, n: int | None = None, once: bool = True) -> Array:
        """Return the numbers of some of `n_things`, none of them twice if each occurs `once`."""
        array = self.take(name, "i" if once else "iu", n, low=0, high=n_things - 1)
        require(not once or len(np.unique(array)) == len(array), self._prefix + name)
        return array

    def require_empty(self) -> None:
        """Refuse arrays that were not taken."""
        require(not self._left, next(iter(self._left), ""))
