"""One rule for the verdicts on all claims of the paper: direction, size and significance, each on its own.

A claim becomes an *effect*: one number per data set and split that is above a bound where the claim
is right. `RULE` states the rule in words, `judge` applies it.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

LEVEL = 0.05  # of tests; intervals leave out as much
FEW = 5  # with fewer data sets the interval is over splits
OVERLAP = 1 / 3  # test rows per training row, in the correction of Nadeau and Bengio

HOLDS, SMALLER, REVERSED, OPEN, UNTESTABLE = (
    "holds",
    "holds, but smaller",
    "reversed",
    "not shown",
    "not testable",
)

RULE = """\
1. A claim becomes one number per data set and split, such as the AUC of iEC3 minus that of BGCM, and a bound that its mean must
   exceed (0 if none is given). The best baseline is the best on average over the splits of a data set, as in print.
2. The interval (95 %) is Student's over the data sets. With fewer than five it is over the splits, corrected for the rows that
   splits share (Nadeau and Bengio, 2003).
3. **Holds**: the whole interval is on the claimed side. **Reversed**: it is on the other side. **Not shown**: anything else.
   **Not testable**: the claim is about UPE, of which we have a reconstruction only; its numbers are shown, not judged.
4. *Smaller*: the whole interval is below the printed size. Both are means over the data sets that the paper and we have.
5. A claim about *every* data set (or step, or term) holds only if all means are on the claimed side. It is reversed if the interval
   of a single one, corrected for their number (Bonferroni), is on the other side: *against* it.

A note names a trivial rival that meets the claim as well. Headline claims are those of the paper's abstract, contributions and
conclusion."""


# What a claim came to: the mean effect with its interval, how many of all units (data sets, mostly) have
# a mean on the claimed side, the units whose interval is on the other side if all must agree, whether
# the printed size is reached, and the verdict.
Judgement = namedtuple("Judgement", "mean low high supporting total against size verdict")


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
    upe: bool = False  # the claim is about UPE, of which we have a reconstruction only
    rival: str = ""  # what a trivial rival does, or another note

    def judge(self) -> Judgement:
        """The verdict by the rule."""
        effect = self.effect
        if self.printed is not None:
            effect = effect.drop(index="sensor_sample", level=0, errors="ignore")
        found = judge(effect, self.above, self.printed, self.every)
        return found._replace(verdict=UNTESTABLE) if self.upe else found

    def number(self, value: float) -> str:
        """A number in the unit of the effect."""
        return f"{value:.1%}" if self.percent else f"{value:.3f}"


def within(low: float, high: float, number: Any) -> str:
    """An interval in brackets, or why there is none."""
    return f"[{number(low)}, {number(high)}]" if np.isfinite(high - low) else "(too few splits)"


def interval(effect: Any, level: float = 1 - LEVEL) -> tuple[float, float]:
    """The interval of the mean of an effect by unit and split; infinite where nothing can be said."""
    units = effect.groupby(level=0)
    means, counts = units.mean(), units.count()
    if len(means) >= FEW:
        error, freedom = means.sem(), len(means) - 1
    else:
        variances = units.var() * (1 / counts + OVERLAP)
        error, freedom = np.sqrt(variances.sum(skipna=False)) / len(means), counts.min() - 1
    reach = float(student.ppf((1 + level) / 2, freedom) * error) if freedom > 0 else np.inf
    return float(means.mean()) - reach, float(means.mean()) + reach


def by_unit(effect: Any) -> Any:
    """The mean of an effect, or a table of effects, for each unit, in the order of the units."""
    return effect.groupby(level=0, sort=False).mean()


def overall(effect: Any) -> Any:
    """The mean over units; each counts the same, however many splits it has."""
    return by_unit(effect).mean()


def best_on_average(table: Any) -> Any:
    """Of several effects, the one with the largest mean on each data set."""
    best = by_unit(table).idxmax(axis=1)
    values = [own[best[name]] for (name, _), own in table.iterrows()]
    return pd.Series(values, index=table.index)


def with_interval(effect: Any) -> str:
    """The mean over units and its interval, such as "+0.012 [+0.003, +0.021]"."""
    return f"{overall(effect):+.3f} {within(*interval(effect), '{:+.3f}'.format)}"


def judge(
    effect: Any, above: float = 0.0, printed: float | None = None, every: bool = False
) -> Judgement:
    """The verdict on an effect by the rule; the arguments are those of `Claim`.

    Examples
    --------
    >>> units = pd.MultiIndex.from_product([list("abcdef"), range(2)])
    >>> gain = pd.Series([0.02, 0.03] * 6, index=units)
    >>> judge(gain).verdict, judge(gain, printed=0.1).verdict, judge(-gain).verdict
    ('holds', 'holds, but smaller', 'reversed')
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
    if high < above or against:
        verdict = REVERSED
    elif not shown or (every and (means <= above).any()):
        verdict = OPEN
    else:
        verdict = HOLDS if reached else SMALLER
    size = "" if reached or verdict == SMALLER else "smaller"
    supporting = int((means > above).sum())
    return Judgement(means.mean(), low, high, supporting, len(means), against, size, verdict)


# ---- which differences between methods are significant (Demsar, 2006) ----------------------------


def mean_ranks(scores: Any) -> Any:
    """The mean rank of each method, the best (rank 1) first; `scores` has data sets as rows and methods as columns."""
    return scores.dropna().rank(axis=1, ascending=False).mean().sort_values(kind="stable")
