"""Who sat on a panel of methods, and how they differ."""

from __future__ import annotations

import numpy as np

from .._checks import InputError
from .._text import Table
from ..answer.mixtures import PanelRule
from ..answer.outcome import Outcome


def panel(outcome: Outcome) -> Table:
    """Return a table of the methods on a panel.

    Parameters
    ----------
    outcome : Consensus
        The answer of `Panel`, or of `Auto` where it took one.

    Returns
    -------
    Table
        member; sat, whether its answer counts; differs, the share of objects that it answers otherwise than the others; and
        alone, the share of objects on which no other member agrees with it.

    Examples
    --------
    >>> from ec3learn import MajorityVote, Panel, SoftVote, Votes
    >>> votes = Votes.from_labels({"a": [0, 0, 1], "b": [0, 1, 1], "c": [0, 1, 0]})
    >>> panel(Panel([MajorityVote(), SoftVote()]).solve(votes))
    member          sat  differs  alone
    Majority vote  True    0.000  0.000
    Soft vote      True    0.000  0.000
    """
    if not outcome.members and isinstance(outcome.rule, PanelRule):
        kept = "a consensus that was loaded or extended does not hold them"
        raise InputError("", phrase=f"panel needs the answers of the members, and {kept}")
    if not outcome.members:
        raise InputError("", phrase=f"panel needs a panel of methods, and {outcome.settings['method']} is a single one")
    total = max(float(outcome.row_counts.sum()), 1e-300)
    classes = np.stack([member.row_classes for member in outcome.members])
    alike = (classes[:, None] == classes[None, :]).sum(axis=1)  # how many members say the same, the member itself included
    return Table(
        {
            "member": [member.name for member in outcome.members],
            "sat": [member.sat for member in outcome.members],
            "differs": [member.distance for member in outcome.members],
            "alone": [float(outcome.row_counts @ (own == 1)) / total for own in alike],
        }
    )
