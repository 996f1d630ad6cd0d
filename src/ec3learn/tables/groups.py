"""The answers of a `GroupRule` or `SubtypeRule`, computed by an engine: one small join per base model, then sums.

No row comes to this process, and nothing of ours runs in the engine. `answer.rule` has the same
formulas for arrays:
a term t says  s_t = sum_g w_tg P_tg / sum_g w_tg  over the groups g of a row, and the answer is the mean of the terms by how
hard each pulls. So the engine needs, per row, the sums of w_tg and of w_tg P_tg: the columns sum0,
sum1, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import count
from operator import add
from typing import Any, TypeGuard

import narwhals.stable.v2 as nw
import numpy as np

from .._typing import Array
from ..answer.mixtures import SubtypeRule
from ..answer.rule import GroupRule, Rule
from ..answer.solution import class_preference
from ..consensus import Consensus
from ..votes.labels import Label, kind_of
from .columns import Column, Columns
from .engines import OURS, Frame, exact, join, small_table
from .output import Output, label_type

Block = tuple[
    list[Label], Array
]  # the labels of a base model's groups, and their rows in the table of groups

NUMBERS: dict[Any, Any] = {nw.Int64: np.int64, nw.UInt64: np.uint64, nw.Float64: np.float64}
KEY, OBJECT, VOTER, MOST, STRENGTH = (
    f"{OURS}key",
    f"{OURS}object",
    f"{OURS}voter",
    f"{OURS}most",
    f"{OURS}strength",
)


def rules_for_joins(consensus: Consensus) -> list[GroupRule | SubtypeRule] | None:
    """Return the rules of a consensus, each followed by the one it pulls towards; None if joins cannot answer by one of them."""
    rules: list[GroupRule | SubtypeRule] = []
    asked: tuple[Rule, ...] = () if consensus.solution.rule is None else (consensus.solution.rule,)
    while asked:
        (rule,) = asked
        if not isinstance(rule, GroupRule) and not _is_plain_evidence(rule):
            return None
        rules.append(rule)
        asked = rule.asked
    return rules


def answer_from_groups(
    frame: Frame,
    columns: Columns,
    consensus: Consensus,
    output: Output,
    rules: list[GroupRule | SubtypeRule],
) -> Frame:
    """Let the engine answer for every row by rules for joins."""
    tables = [_group_columns(rule, consensus.solution.group_offsets[-1]) for rule in rules]
    answered = _with_sums(frame, columns, consensus, np.hstack(tables))
    for depth in reversed(range(len(rules))):  # the one that others pull towards comes first
        begin = sum(table.shape[1] for table in tables[:depth])
        rule = rules[depth]
        if isinstance(rule, GroupRule):
            answered = _with_mean(answered, rule, begin, depth)
        else:
            answered = _with_evidence(answered, rule, begin, depth)
    return _with_labels(answered, consensus, output)


def _is_plain_evidence(rule: Rule) -> TypeGuard[SubtypeRule]:
    """Return whether a rule adds up evidence for classes, without subtypes and correlations."""
    return (
        isinstance(rule, SubtypeRule)
        and len(rule.prior) == len(rule.fallback)
        and not rule.correlation
    )


def override(frame: Frame, answers: Frame, keys: list[str]) -> Frame:
    """Replace the answers of the rows that have these keys."""
    schema = frame.collect_schema()
    ours = {name: f"{OURS}{name}" for name in answers.columns if name not in keys}
    both = join(frame, answers.rename(ours), keys)
    found = {
        name: nw.when(nw.col(other).is_null()).then(nw.col(name)).otherwise(nw.col(other))
        for name, other in ours.items()
    }
    return both.with_columns(
        **{name: value.cast(schema[name]) for name, value in found.items()}
    ).drop(*ours.values())


# ---- adding up the groups of a row ---------------------------------------------------------------


def _group_columns(rule: GroupRule | SubtypeRule, n_groups: int) -> Array:
    """Return for each group and term its weight, and its weight times its distribution; of evidence, whether it has any."""
    width = len(rule.fallback) + 1
    if isinstance(rule, SubtypeRule):
        table = np.zeros((n_groups, width))
        table[rule.groups] = np.column_stack([np.ones(len(rule.groups)), rule.table])
        return table
    table = np.zeros((n_groups, len(rule.terms) * width))
    for t, term in enumerate(rule.terms):
        table[term.groups, t * width] = term.group_weight
        table[term.groups, t * width + 1 : (t + 1) * width] = term.weighted()
    return table


def _with_sums(frame: Frame, columns: Columns, consensus: Consensus, table: Array) -> Frame:
    """Add up, over the groups of each row, their rows of the table, in the columns sum0, sum1, and so on."""
    schema = frame.collect_schema()
    parts = np.split(table, consensus.solution.group_offsets[1:-1])
    blocks: dict[tuple[bool, str], Block] = {
        (base.is_voter, base.name): (base.labels.tolist(), part)
        for base, part in zip(consensus.solution.models, parts, strict=True)
    }
    wide: dict[tuple[bool, str], Column] = {
        (False, name): column for name, column in columns.clusterings.items()
    }
    if columns.objects is None:
        wide |= {(True, name): column for name, column in columns.classifiers.items()}
        frame = frame.with_columns(nw.lit(0.0).alias(_sum(j)) for j in range(table.shape[1]))
    else:
        frame = _with_long_sums(frame, columns, blocks, table.shape[1])
    harden = consensus.solution.rule is not None and consensus.solution.rule.hard_votes
    for (votes, name), column in wide.items():
        labels, block = blocks.get((votes, name), ([], table[:0]))
        if isinstance(column, dict):
            frame = _with_soft_sums(frame, column, labels, block, harden and votes)
        else:
            frame = _with_hard_sums(frame, column, schema[column], labels, block)
    return frame


def _with_hard_sums(
    frame: Frame, column: str, dtype: Any, labels: list[Label], block: Array
) -> Frame:
    """Add the group of each label."""
    key, kept, wanted, values = _matching(column, dtype, labels)
    used: list[int] = np.flatnonzero(block[kept].any(axis=0)).tolist()
    if not used:
        return frame
    parts = {f"{OURS}part{j}": block[kept, j] for j in used}
    groups = small_table(frame, {KEY: values} | parts).with_columns(nw.col(KEY).cast(wanted))
    frame = join(frame.with_columns(key.alias(KEY)), groups, [KEY])
    added = (
        nw.col(_sum(j)) + nw.col(part).fill_null(0.0) for j, part in zip(used, parts, strict=True)
    )
    return frame.with_columns(added).drop(KEY, *parts)


def _with_soft_sums(
    frame: Frame, columns: Mapping[Label, str], labels: list[Label], block: Array, harden: bool
) -> Frame:
    """Add all the groups of a soft model by their shares; null and NaN are no vote."""
    shares = {label: f"{OURS}share{z}" for z, label in enumerate(columns)}
    given = {name: nw.col(columns[label]).cast(nw.Float64) for label, name in shares.items()}
    # No comparison with NaN is true in pandas; elsewhere NaN counts as large.
    frame = frame.with_columns(
        **{
            name: nw.when((share >= 0) & (share <= 2)).then(share).otherwise(0.0)
            for name, share in given.items()
        }
    )
    if harden:
        frame = _hardened(frame, list(shares.values()))
    place = {label: z for z, label in enumerate(labels)}
    rows = [(nw.col(name), block[place[label]]) for label, name in shares.items() if label in place]
    added = {
        _sum(j): _added([nw.col(_sum(j)), *(share * float(row[j]) for share, row in rows)])
        for j in range(block.shape[1])
    }
    return frame.with_columns(**added).drop(*shares.values())


def _hardened(frame: Frame, shares: list[str]) -> Frame:
    """Turn shares into a vote for the largest, split on a tie."""
    frame = _with_largest(frame, shares, MOST)
    largest = {name: (nw.col(name) >= nw.col(MOST) - 1e-12) & (nw.col(MOST) > 0) for name in shares}
    frame = frame.with_columns(
        **{name: nw.when(top).then(1.0).otherwise(0.0) for name, top in largest.items()}
    )
    frame = frame.with_columns(_added([nw.lit(1e-300), *map(nw.col, shares)]).alias(MOST))
    return frame.with_columns(nw.col(name) / nw.col(MOST) for name in shares).drop(MOST)


def _with_long_sums(
    frame: Frame, columns: Columns, blocks: Mapping[tuple[bool, str], Block], n_sums: int
) -> Frame:
    """Add up the groups of an object's votes, which are in several rows of a long table."""
    assert columns.objects is not None and columns.voters is not None
    voters = [(name, block) for (votes, name), block in blocks.items() if votes]
    names = [name for name, (labels, _) in voters for _ in labels]
    all_labels = [label for _, (labels, _) in voters for label in labels]
    table = np.vstack([block for _, (_, block) in voters])
    key, kept, wanted, values = _matching(
        columns.labels, frame.collect_schema()[columns.labels], all_labels
    )
    sums = {_sum(j): table[kept, j] for j in range(n_sums)}
    groups = small_table(frame, {VOTER: [names[i] for i in kept], KEY: values} | sums).with_columns(
        nw.col(KEY).cast(wanted)
    )
    said = frame.select(
        nw.col(columns.objects).alias(OBJECT),
        nw.col(columns.voters).cast(nw.String).alias(VOTER),
        key.alias(KEY),
    )
    found = exact(join(said, groups, [VOTER, KEY]))
    once = found.group_by(OBJECT, VOTER).agg(
        nw.col(*sums).mean()
    )  # of the votes that a voter repeats
    added = (
        once.with_columns(nw.col(*sums).fill_null(0.0)).group_by(OBJECT).agg(nw.col(*sums).sum())
    )
    return join(frame, added.rename({OBJECT: columns.objects}), [columns.objects])


def _matching(column: str, dtype: Any, labels: list[Label]) -> tuple[nw.Expr, list[int], Any, Any]:
    """Return a column in one of five types, which labels can be in it, the type, and these labels in that type."""
    wanted: Any
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        kind, wanted = "str", nw.String
    elif dtype == nw.Boolean:
        kind, wanted = "bool", nw.Boolean
    else:
        kind, wanted = (
            "int",
            nw.Float64 if dtype.is_float() else nw.UInt64 if dtype == nw.UInt64 else nw.Int64,
        )
    kept = [i for i, label in enumerate(labels) if kind_of(label) == kind and _fits(label, wanted)]
    values = [labels[i] for i in kept]
    return (
        nw.col(column).cast(wanted),
        kept,
        wanted,
        np.array(values, NUMBERS[wanted]) if wanted in NUMBERS else values,
    )


def _fits(label: Any, wanted: Any) -> bool:
    """Return whether a label is a value of a type; beyond 2^53 not every integer is a float."""
    if wanted == nw.Float64:
        return float(label) == label
    return (
        wanted not in NUMBERS
        or np.iinfo(NUMBERS[wanted]).min <= label <= np.iinfo(NUMBERS[wanted]).max
    )


# ---- what follows from the sums ------------------------------------------------------------------


def _with_mean(frame: Frame, rule: GroupRule, begin: int, depth: int) -> Frame:
    """Add the mean of the terms, and whether there is none to take the mean of, as `GroupRule.answer` does."""
    width = len(rule.fallback) + 1
    pulls, rates, sums = (
        [],
        [],
        [],
    )  # how hard each term pulls, that over its total, and its weighted distributions
    for first, term in zip(count(begin, width), rule.terms, strict=False):
        total = nw.col(_sum(first))
        constant = nw.lit(float(term.pull))
        pulls.append(
            nw.when(total > 0).then(constant * total if term.by_total else constant).otherwise(0.0)
        )
        rates.append(
            nw.when(total > 0).then(constant if term.by_total else constant / total).otherwise(0.0)
        )
        sums.append([nw.col(_sum(first + z)) for z in range(1, width)])
    if rule.towards is not None and rule.towards[1] is not None:
        pulls.append(
            nw.when(nw.col(_unanswered(depth + 1))).then(0.0).otherwise(float(rule.towards[0]))
        )
        rates.append(pulls[-1])
        sums.append([nw.col(_proba(depth + 1, z)) for z in range(width - 1)])
    ours = [f"{OURS}rate{t}" for t in range(len(rates))]
    frame = frame.with_columns(
        _added(pulls).alias(STRENGTH),
        *(rate.alias(name) for rate, name in zip(rates, ours, strict=True)),
    )
    unanswered = nw.col(STRENGTH) <= 0
    answers = {}
    for z, nothing in enumerate(rule.fallback.tolist()):
        mean = _added(
            nw.col(name) * weighted[z] for name, weighted in zip(ours, sums, strict=True)
        ) / nw.col(STRENGTH)
        answers[_proba(depth, z)] = nw.when(unanswered).then(nothing).otherwise(mean)
    return frame.with_columns(unanswered.alias(_unanswered(depth)), **answers)


def _with_evidence(frame: Frame, rule: SubtypeRule, begin: int, depth: int) -> Frame:
    """Add the posterior, and whether no vote counts, as `SubtypeRule.finish` does: log prior + sums of log likelihoods."""
    unanswered = nw.col(_sum(begin)) <= 0
    logs = {
        _proba(depth, z): nw.lit(prior) + nw.col(_sum(begin + 1 + z))
        for z, prior in enumerate(rule.prior.tolist())
    }
    frame = _with_largest(
        frame.with_columns(unanswered.alias(_unanswered(depth)), **logs), list(logs), MOST
    )
    frame = frame.with_columns((nw.col(name) - nw.col(MOST)).exp() for name in logs)
    frame = frame.with_columns(_added(map(nw.col, logs)).alias(MOST))
    answers = {
        name: nw.when(nw.col(_unanswered(depth)))
        .then(nothing)
        .otherwise(nw.col(name) / nw.col(MOST))
        for name, nothing in zip(logs, rule.fallback.tolist(), strict=True)
    }
    return frame.with_columns(**answers).drop(MOST)


def _with_labels(frame: Frame, consensus: Consensus, output: Output) -> Frame:
    """Return the table with labels, confidence and probabilities; of tied classes the one with the larger mass wins."""
    classes, mass = consensus.classes, consensus.solution.tie_mass
    assert consensus.solution.rule is not None
    names = [_proba(0, z) for z in range(len(classes))]
    frame = _with_largest(frame, names, MOST)
    dtype = label_type(classes)
    preference = class_preference(
        consensus.solution.rule.fallback if mass is None else mass
    ).tolist()
    label = nw.lit(classes.tolist()[preference[-1]], dtype)
    for z in reversed(preference[:-1]):
        label = (
            nw.when(nw.col(names[z]) >= nw.col(MOST) - 1e-9)
            .then(nw.lit(classes.tolist()[z], dtype))
            .otherwise(label)
        )
    values = [label, nw.col(MOST), *map(nw.col, names if output.proba else ())]
    answered = frame.with_columns(
        value.alias(name) for value, name in zip(values, output.types(classes), strict=True)
    )
    ours = (
        name
        for name in answered.collect_schema().names()
        if name.startswith(OURS) and name not in output.table_columns
    )
    return answered.drop(ours)


def _with_largest(frame: Frame, columns: list[str], into: str) -> Frame:
    """Add the largest of some columns."""
    largest = (
        nw.max_horizontal(*columns) if len(columns) > 1 else nw.col(*columns)
    )  # Spark compares two or more
    return frame.with_columns(largest.alias(into))


def _added(terms: Iterable[nw.Expr]) -> nw.Expr:
    return reduce(add, terms)


def _sum(j: int) -> str:
    return f"{OURS}sum{j}"


def _unanswered(depth: int) -> str:
    return f"{OURS}unanswered{depth}"


def _proba(depth: int, z: int) -> str:
    return f"{OURS}proba{depth}_{z}"
