"""One rule for the verdicts on all claims of the paper: direction, size and significance, each on its own.

A claim becomes an *effect*: one number per data set and split that is above a bound where the claim
is right. `RULE` states the rule in words, `judge` applies it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

LEVEL = 0.05  # of tests; intervals leave out as much
FEW = 5  # with fewer data sets the interval is over splits
OVERLAP = 1 / 3  # test rows per training row, in the correction of Nadeau and Bengio

HOLDS, SMALLER, FAILS, UNCLEAR = "holds", "holds, but smaller", "fails", "inconclusive"

RULE = """\
1. *Effect.* A claim becomes one number per data set and split, such as the AUC of iEC3 minus that of UPE, and a bound that it
   must exceed (0 if none is given).
2. *Significance.* The interval of its mean (95 %) is Student's over the data sets, whose spread includes that of the splits.
   With fewer than five data sets it is over the splits, with the correction of Nadeau and Bengio (2003) for splits that share
   rows.
3. *Direction.* Shown if the whole interval is on the claimed side, reversed if it is on the other side, else not shown.
4. *Size.* Where the paper prints a size, it is reached unless the whole interval is below it.
5. *Verdict.* **Holds**: direction shown, size reached. **Holds, but smaller**: direction shown, size not reached. **Fails**:
   direction reversed, or neither is the direction shown nor the size reached. **Inconclusive**: anything else.
6. A claim about *every* data set (or step, or term) also fails if the interval of a single one, corrected for their number
   (Bonferroni), is on the other side; it holds only if all means are on the claimed side.
7. A claim that a trivial rival meets as well says little about the method: the rival is named beside it.

Headline claims are those of the paper's abstract, of its list of contributions and of its conclusion."""


@dataclass(frozen=True)
class Judgement:
    """What a claim came to: the mean effect with its interval, and the verdict."""

    mean: float
    low: float
    high: float
    supporting: int  # data sets (or other units) whose mean effect is on the claimed side
    total: int
    against: tuple[
        str, ...
    ]  # for a claim about every unit: those whose interval is on the other side
    direction: str  # "shown", "reversed" or "not shown"
    size: str  # "", "reached" or "smaller"
    verdict: str


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim of the paper, and the effect that was measured."""

    text: str  # in our words
    effect: Any  # a series by unit (a data set, mostly) and split
    above: float = 0.0  # the bound that the effect must exceed
    printed: float | None = None  # the size of the effect that the paper prints
    every: bool = False  # the claim is about every unit, not only about their mean
    headline: bool = False  # it is one of the paper's headline claims
    percent: bool = False  # the effect is a share, to be shown in percent
    rival: str = ""  # what a trivial rival does, or another note

    def judge(self) -> Judgement:
        """The verdict by the rule."""
        return judge(self.effect, self.above, self.printed, self.every)

    def number(self, value: float) -> str:
        """A number in the unit of the effect."""
        if not np.isfinite(value):
            return "?"
        return f"{value:.1%}" if self.percent else f"{value:.3f}"


def interval(effect: Any, level: float = 1 - LEVEL) -> tuple[float, float]:
    """The interval of the mean of an effect by unit and split; infinite where nothing can be said."""
    units = effect.groupby(level=0)
    means = units.mean()
    if means.empty:
        return -np.inf, np.inf
    if len(means) >= FEW:
        error, freedom = float(means.std(ddof=1)) / np.sqrt(len(means)), len(means) - 1
    else:
        counts = units.count()
        variances = units.var(ddof=1) * (1 / counts + OVERLAP)
        error, freedom = (
            float(np.sqrt(variances.sum(skipna=False))) / len(means),
            int(counts.min()) - 1,
        )
    middle = float(means.mean())
    if freedom < 1 or not np.isfinite(error):
        return -np.inf, np.inf
    reach = float(student.ppf((1 + level) / 2, freedom)) * error
    return middle - reach, middle + reach


def by_unit(effect: Any) -> Any:
    """The mean of an effect, or a table of effects, for each unit, in the order of the units."""
    return effect.groupby(level=0, sort=False).mean()


def overall(effect: Any) -> Any:
    """The mean over units; each counts the same, however many splits it has."""
    return by_unit(effect).mean()


def with_interval(effect: Any, decimals: int = 3) -> str:
    """The mean over units and its interval, such as "+0.012 [+0.003, +0.021]"."""
    return "{:+.{n}f} [{:+.{n}f}, {:+.{n}f}]".format(overall(effect), *interval(effect), n=decimals)


def judge(
    effect: Any, above: float = 0.0, printed: float | None = None, every: bool = False
) -> Judgement:
    """The verdict on an effect by the rule; the arguments are those of `Claim`.

    Examples
    --------
    >>> units = pd.MultiIndex.from_product([list("abcdef"), range(2)])
    >>> gain = pd.Series([0.02, 0.03] * 6, index=units)
    >>> judge(gain).verdict, judge(gain, printed=0.1).verdict, judge(-gain).verdict
    ('holds', 'holds, but smaller', 'fails')
    """
    effect = effect.dropna()
    units = effect.groupby(level=0)
    means, (low, high) = units.mean(), interval(effect)
    # The intervals of single units are corrected for their number.
    against = tuple(
        str(name)
        for name, own in units
        if every and interval(own, 1 - LEVEL / len(units))[1] < above
    )
    shown, reached = low > above, printed is None or high >= printed
    if high < above or against or not (shown or reached):
        verdict = FAILS
    elif not shown or (every and (means <= above).any()):
        verdict = UNCLEAR
    else:
        verdict = HOLDS if reached else SMALLER
    direction = "shown" if shown else "reversed" if high < above else "not shown"
    size = "" if printed is None else "reached" if reached else "smaller"
    supporting = int((means > above).sum())
    return Judgement(
        float(means.mean()), low, high, supporting, len(means), against, direction, size, verdict
    )


# ---- which differences between methods are significant (Demsar, 2006) ----------------------------


def mean_ranks(scores: Any) -> Any:
    """The mean rank of each method, the best (rank 1) first; `scores` has data sets as rows and methods as columns."""
    return scores.dropna().rank(axis=1, ascending=False).mean().sort_values(kind="stable")
