"""Whether voters are biased, not only unreliable, and whether an answer suffers from it.

Dawid-Skene is the judge, since it allows for bias: the confusion matrix of a voter shows that it mistakes one class for another.
One number per voter, such as a weight, cannot. The Bayesian information criterion decides which of the two explains the votes
better; how much that matters is the share of objects for which Dawid-Skene answers otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._text import arg, percent
from .._typing import Array
from ..algebra.em import ConfusionModel, n_confusions
from ..algebra.membership import membership
from ..answer.labelling import top_classes
from ..answer.mixtures import PanelRule, SubtypeRule
from ..answer.notes import BIAS, Note
from ..answer.outcome import Outcome
from ..answer.rule import EvidenceRule, GroupRule, KnownLabels, mean_votes
from ..votes import Votes

SAMPLE = 20_000  # distinct rows that are enough to judge by
MOST_CLASSES = 30  # for which a confusion matrix per classifier is learned quickly
MOST_CONFUSIONS = 1_000_000  # entries of all confusion matrices that are learned quickly
LEAST_OBJECTS = 30  # with fewer the criterion finds bias in chance
LEAST_CLASSIFIERS = 3  # with fewer it is unknown who is wrong
MUCH_APART = 0.1  # a share of objects, or of votes, that is too large to ignore


@dataclass(frozen=True)
class Bias:
    """How the voters look to Dawid-Skene."""

    evidence: float  # for confusion matrices, over what it takes for them to explain the votes better than one number each
    apart: tuple[float, ...]  # for each of some answers, the share of objects for which Dawid-Skene's differs

    @property
    def biased(self) -> bool:
        """Return whether confusion matrices explain the votes better than one number per classifier."""
        return bool(self.evidence > 1)


def judge_bias(votes: Votes, known: KnownLabels | None, answers: Sequence[Array]) -> Bias | None:
    """Compare confusion matrices with one number per classifier, and Dawid-Skene's answer with some others.

    Parameters
    ----------
    votes : Votes
        What the base models said.
    known : KnownLabels or None
        The known labels of distinct rows.
    answers : sequence of arrays
        Class probabilities of distinct rows.

    Returns
    -------
    Bias or None
        None where there are too few classifiers, classes or objects to tell, or too many for a quick answer.

    Examples
    --------
    >>> from ec3learn import MajorityVote, Votes
    >>> votes = Votes.from_labels({"a": [0, 0, 1, 1] * 9, "b": [0, 0, 1, 1] * 9, "c": [0, 1, 1, 1] * 9})
    >>> judge_bias(votes, None, [MajorityVote().solve(votes).row_proba]).biased
    True
    """
    if votes.is_classifier.sum() < LEAST_CLASSIFIERS or votes.n_classes < 2:
        return None
    if n_confusions(votes) > MOST_CONFUSIONS or votes.counts.sum() < LEAST_OBJECTS:
        return None
    if votes.n_rows > SAMPLE:
        rows = np.linspace(0, votes.n_rows - 1, SAMPLE).astype(np.int64)
        votes, answers = votes.only_rows(rows), [answer[rows] for answer in answers]
        known = None if known is None else KnownLabels(known.codes[rows], known.pull)
    known = None if known is None or not known.labelled.any() else KnownLabels(known.codes, np.inf)
    groups = membership(votes)
    start, _, _ = mean_votes(votes, groups, votes.weights, known)
    codes = None if known is None else known.codes
    matrices, coins = (
        ConfusionModel(votes, groups, codes, one_coin=one_coin, with_clusterings=True).fit(start, tol=1e-6, max_iter=100)
        for one_coin in (False, True)
    )
    total = float(votes.counts.sum())
    more_numbers = int(votes.is_classifier.sum()) * (votes.n_classes * (votes.n_classes - 1) - 1)
    gain = matrices.likelihoods[-1] - coins.likelihoods[-1]
    theirs, *ours = (top_classes(answer, votes.counts @ answer) for answer in (matrices.proba, *answers))
    apart = tuple(float(votes.counts @ (own != theirs)) / max(total, 1e-300) for own in ours)
    return Bias(2 * gain / max(more_numbers * np.log(max(total, 2.0)), 1e-300), apart)


def bias_note(apart: float) -> Note:
    """Return the note on biased voters, where Dawid-Skene answers otherwise for this share of the objects."""
    return Note(
        BIAS,
        "The voters look biased, not only unreliable, and one weight each cannot fix that: Dawid-Skene explains the votes "
        f"better and answers otherwise for {percent(apart)} of the objects. Check some of them, and compare with "
        f"{arg('method', 'dawid-skene')} or {arg('towards', 'dawid-skene')}.",
    )


def bias_of(outcome: Outcome) -> Note | None:
    """Return a note if the voters look biased and the answer suffers from it, whatever method made it.

    Parameters
    ----------
    outcome : Consensus
        One that holds its votes.

    Returns
    -------
    Note or None
        None too where the method itself allows for bias, as the panel and Dawid-Skene do.

    Examples
    --------
    >>> from ec3learn import MajorityVote, Votes
    >>> votes = Votes.from_labels({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [1, 1, 1, 1]})
    >>> bias_of(MajorityVote().solve(votes)) is None
    True
    """
    votes = outcome.require_votes("bias")
    if votes.n_classes > MOST_CLASSES or _allows_for_bias(outcome):
        return None
    bias = judge_bias(votes, outcome.known, [outcome.row_proba])
    return bias_note(bias.apart[0]) if bias is not None and bias.biased and bias.apart[0] >= MUCH_APART else None


def _allows_for_bias(outcome: Outcome) -> bool:
    """Return whether the method, or the one it goes towards, learns how each voter mistakes one class for another."""
    rule = outcome.rule
    if isinstance(rule, GroupRule) and rule.asked:
        (rule,) = rule.asked
    return isinstance(rule, (PanelRule, SubtypeRule, EvidenceRule)) and not outcome.settings.get("one_coin")
