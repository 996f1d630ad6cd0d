"""The words of the report: what holds, what does not and why, an answer for practitioners, theory, and deviations.

A sentence that the rows could contradict is chosen by what the rows say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pandas as pd

from . import published
from .claims import (
    FAILS,
    HOLDS,
    LEVEL,
    SMALLER,
    UNCLEAR,
    Claim,
    by_unit,
    judge,
    mean_ranks,
    overall,
    with_interval,
)
from .exhibits import Frame, cells, has, kept, printed, select
from .protocol import MOST_ROWS, Protocol
from .published import BASELINES, impossible_pairs
from .tables.accuracy import EVERY, LABELS, gain_by_split, scored, scored_cells
from .tables.clusterings import (
    KINDS,
    as_printed,
    begins_to_pay,
    curve,
    real_and_noisy,
    tuned_gains,
    tuned_nmi,
)
from .tables.clusterings import LABELS as CURVES
from .tables.metric import CHANCE, EXPLORED, by_scoring, distances, nmi_above_bound
from .tables.studies import loop_seconds, lost_terms

WORDS = {
    HOLDS: "hold",
    SMALLER: "hold, but are smaller than printed",
    FAILS: "fail",
    UNCLEAR: "are inconclusive",
}
SOUND = (
    "**The theory is sound.** The problem is convex, its optimum is a distribution for every object, and the loop "
    "never climbs; each is shown by a test. Two formulas are misprinted, which changes no result."
)


def summary(rows: Frame, claims: list[Claim]) -> list[str]:
    """Return the findings, one sentence or two each, as far as there are rows."""
    makers: list[tuple[Callable[[Frame], str], tuple[str, ...]]] = [
        (_best, ("accuracy",)),
        (_metric, ("accuracy",)),
        (_clusterings, ("noisy_truth", "clustering_nmi", "tuned_clusterings")),
        (_terms, ("drop_term",)),
        (_robust, ("random_classifiers",)),
        (_runtime, ("like_for_like",)),
    ]
    return [
        _tally(claims),
        *(make(rows) for make, needed in makers if has(rows, *needed)),
        SOUND,
        _impossible(rows),
    ]


def _tally(claims: list[Claim]) -> str:
    counts = {
        head: Counter(claim.judge().verdict for claim in claims if claim.headline is head)
        for head in (True, False)
    }
    words = {
        head: ", ".join(
            f"{found[verdict]} {word}" for verdict, word in WORDS.items() if found[verdict]
        )
        for head, found in counts.items()
    }
    return (
        f"**The claims.** Of {sum(counts[True].values())} headline claims: {words[True]}. Of {sum(counts[False].values())} "
        f"side claims: {words[False]}. The rule is stated before the tables."
    )


def _best(rows: Frame) -> str:
    auc = scored_cells(rows, "auc")
    found = judge(auc["iEC3"] - auc[BASELINES].max(axis=1), every=True)
    order = mean_ranks(scored(rows, "accuracy", "auc", EVERY))
    gain = auc["iEC3"] - auc["majority vote"]
    combines = "a good way" if overall(gain) > 0 else "no better way than a vote"
    best = {HOLDS: "and the best classifier", FAILS: "not the best classifier"}.get(
        found.verdict, "perhaps the best classifier"
    )
    return (
        f"**iEC3 is {combines} to combine labels, {best}.** It is ahead of all 14 baselines on {found.supporting} of "
        f"{found.total} data sets; it is {found.mean:+.3f} AUC [{found.low:+.3f}, {found.high:+.3f}] from the best of them. It "
        f"adds {with_interval(gain)} to the majority vote of the same labels. First in mean rank: "
        f"{', '.join(order.index[:3])}; iEC3 is number {list(order.index).index('iEC3') + 1} of {len(order)}."
    )


def _metric(rows: Frame) -> str:
    new = rows[rows["seed"] >= EXPLORED]
    tested = has(new, "accuracy")
    part = new if tested else rows
    soft, hard = by_scoring(part).values()
    best = hard[BASELINES].max(axis=1)
    ahead = {name: int((soft[name] > best).sum()) for name in ("iEC3", "EC3", "majority vote")}
    far = distances(part, CHANCE)
    theirs, own = far.loc[BASELINES].mean(), far.loc[["EC3", "iEC3"]].mean()
    likely = (
        theirs.idxmin() == "labels"
        and own.idxmin() == "probabilities"
        and ahead["iEC3"] == len(best)
    )
    head = (
        "Why the paper's table differs: the metric, most likely"
        if likely
        else "The metric does not explain the paper's table"
    )
    return (
        f"**{head}.** Where the printed numbers are not near chance, those of the 14 baselines are {theirs['labels']:.3f} from "
        f"our AUC of labels and {theirs['probabilities']:.3f} from that of probabilities; those of EC3 and iEC3 are "
        f"{own['labels']:.3f} and {own['probabilities']:.3f}. If EC3 and iEC3 are scored by probabilities and the others by "
        f"labels, iEC3 is ahead of all 14 on {ahead['iEC3']} of {len(best)} data sets, EC3 on {ahead['EC3']}, and the plain "
        f"majority vote on {ahead['majority vote']}. The rule was found on splits 0 to 4 and "
        f"{'tested on new ones' if tested else 'has not been tested on others'}. What the author ran we cannot know."
    )


def _clusterings(rows: Frame) -> str:
    ours = overall(cells(rows, "clustering_nmi", "nmi")[published.CLUSTERINGS]).mean()
    theirs, level, found = as_printed(rows, "best classifier")
    tuned = by_unit(tuned_nmi(rows, "NMI"))
    reason = ours < theirs and found["gain"] > 0 and found["p"] < LEVEL
    return (
        f"**Clusterings are {'the second' if reason else 'not a'} reason.** Ours match the classes "
        f"{'less' if ours < theirs else 'more'} than the printed ones (mean NMI {ours:.2f}, printed {theirs:.2f}). If "
        f"clusterings had an NMI of {float(level):.2f} and erred independently, iEC3 would be {found['gain']:+.3f} AUC from the "
        f"best classifier and ahead of it on {found['ahead']} data sets. Clusterings of the features reach that NMI, tuned by "
        f"labels, on {(tuned >= float(level)).sum()} of {len(tuned)}."
    )


def _terms(rows: Frame) -> str:
    soft, hard = (-lost_terms(rows, name).mean() for name in ("auc", "auc_hard"))
    theirs = -printed("drop_term_auc_percent").mean()
    only = hard["J3"] < -5 and hard.drop("J3").min() > -1
    return (
        f"**{'Only the votes carry' if only else 'Not only the votes carry'} the labels.** Without J3, which ties objects to "
        f"their votes, the AUC of iEC3 by labels changes by {hard['J3']:+.1f} % (printed {theirs['J3']:+.1f} %), that by "
        f"probabilities by {soft['J3']:+.1f} %. Without J2, the co-occurrence that the paper calls one of the two most important "
        f"terms, these change by {hard['J2']:+.1f} % and {soft['J2']:+.1f} % (printed {theirs['J2']:+.1f} %)."
    )


def _robust(rows: Frame) -> str:
    mean, claimed = (
        overall(kept(rows, "random_classifiers", "auc", "10", "0")),
        published.RANDOM_AUC,
    )
    holds = "holds" if mean["iEC3"] >= claimed["iEC3"] else "does not hold"
    vote = (
        ", but for a plain vote as well"
        if min(mean["iEC3"], mean["majority vote"]) >= claimed["iEC3"]
        else ""
    )
    return (
        f"**Robustness {holds}{vote}.** With ten random classifiers iEC3 keeps {mean['iEC3']:.1%} of its AUC (claimed: at least "
        f"{claimed['iEC3']:.0%}), the majority vote {mean['majority vote']:.1%}, UPE {mean['UPE']:.1%} (claimed: "
        f"{claimed['UPE']:.0%}). With weights learned from agreement iEC3 keeps "
        f"{mean['iEC3, learned weights, hard votes']:.1%}."
    )


def _runtime(rows: Frame) -> str:
    table = loop_seconds(rows)
    ratio = table.div(table["iEC3"], axis=0).mean()
    theirs = printed("runtime_seconds").T
    said = theirs.div(theirs["iEC3"], axis=0).mean()
    return (
        f"**Speed.** As published, on the same objects, UPE (our reconstruction) takes {ratio['UPE']:.1f} times the time "
        f"of iEC3 (printed {said['UPE']:.2f}), and BGCM {ratio['BGCM']:.2f} times (printed {said['BGCM']:.2f}). The exact "
        f"solution over distinct rows is {(table['iEC3'] / table['iEC3, exact']).mean():.1f} times as fast as the loop."
    )


def _impossible(rows: Frame) -> str:
    pairs = impossible_pairs()
    counts = {reading: sum(map(len, found.values())) for reading, found in pairs.items()}
    total = len(pairs["any"]) * len(published.METHODS)
    titanic = ""
    if has(rows, "nmi_bound"):
        _, above = nmi_above_bound(rows)
        titanic = (
            f" Of the {len(published.CLUSTERINGS)} NMI printed for Titanic, {above['mean']} are above what any two or three "
            "clusters of its few distinct rows can reach."
        )
    return (
        f"**Some printed numbers cannot be.** Of {total} printed pairs of AUC and F on two-class sets, "
        f"{counts['rarer class, one split']} are impossible for labels if F is that of the rarer class, and "
        f"{counts['any']} in every reading, averages over splits included.{titanic}"
    )


# ---- for practitioners ---------------------------------------------------------------------------


def advice(rows: Frame) -> str:
    """Return what to do about clusterings, as far as the rows tell."""
    said = []
    if has(rows, "accuracy"):
        do = (
            "Add clusterings also"
            if judge(gain_by_split(rows, "accuracy")).direction == "shown"
            else "Leave clusterings out"
        )
        said.append(f"{do} if the classifiers are well trained and vote with probabilities.")
    if has(rows, "labels_5", "labels_20"):
        found = [judge(gain_by_split(rows, name)) for name in ("labels_5", "labels_20")]
        how = (
            "on average" if all(own.direction == "shown" for own in found) else "on some data sets"
        )
        harm = " and harm on others" if any(own.supporting < own.total for own in found) else ""
        said.append(f"With few labels they help {how}{harm}, so let held-out labels decide.")
    if has(rows, "noisy_truth", "tuned_clusterings", "accuracy"):
        much = (
            "far more"
            if real_and_noisy(rows).answer is False
            else "no more, as far as we can tell,"
        )
        said.append(
            f"Clusterings that err elsewhere than the classifiers do are worth {much} than clusterings of the same features."
        )
    return " ".join(said)


def practice(rows: Frame) -> list[str]:
    """Return when clusterings pay, how good they must be, and how many labels make them useless."""
    made = [_with_labels(rows, name, title) for name, title in LABELS.items() if has(rows, name)]
    if has(rows, "noisy_truth"):
        made += [_how_good(rows, labels, title) for labels, title in CURVES.items()]
    return made


def _with_labels(rows: Frame, experiment: str, title: str) -> str:
    found = judge(gain_by_split(rows, experiment))
    return (
        f"*{title.capitalize()}*: eleven clusterings of the features add {found.mean:+.4f} AUC [{found.low:+.4f}, "
        f"{found.high:+.4f}] to soft votes with learned weights; they help on {found.supporting} of {found.total} data sets."
    )


def _how_good(rows: Frame, labels: str, title: str) -> str:
    """Return from which match with the classes on clusterings beat doing without, and the mean of the probabilities."""
    curves = {kind: curve(rows, labels, kind, "iEC3, learned weights") for kind in KINDS}
    learned = {kind: _start(found) for kind, found in curves.items()}
    paper = _start(curve(rows, labels, "independent", "iEC3", "soft vote"))
    gains = curves["independent"]["gain"]
    some = ", ".join(
        f"{gain:+.3f} at {level}"
        for level, gain in gains.items()
        if level in ("0.10", "0.20", "0.40")
    )
    apart, alike = learned["independent"], learned["same"]
    when = (
        f"five clusterings help soft votes {apart}, whether they err independently or alike"
        if apart == alike
        else f"five clusterings with independent errors help soft votes {apart}, five that err alike {alike}"
    )
    return (
        f"*{title.capitalize()}*: {when}; with independent errors they add {some}. The paper's iEC3, on labels, beats the mean "
        f"of the probabilities {paper}."
    )


def _start(found: Frame) -> str:
    level = begins_to_pay(found)
    return "at no NMI that we tried" if level is None else f"from an NMI of {float(level):.2f} on"


# ---- theory, and where we depart from the paper --------------------------------------------------

EC3, ALGEBRA = "tests/methods/test_ec3.py::test_", "tests/algebra/test_algebra.py::test_"

# What the paper proves or states, whether it is so, and the test that shows it.
THEORY = [
    (
        "The problem is a convex quadratic one (Theorem 2)",
        "holds: its minimum is where the gradient is zero, and a dense solution finds the same",
        f"{EC3}the_answer_is_the_dense_minimiser_where_the_gradient_is_zero",
    ),
    (
        "Each step of the loop has one optimum (Theorem 3)",
        "holds, and for the whole problem if gamma or delta is above 0: every route ends at the same answer",
        f"{EC3}all_solvers_agree",
    ),
    (
        "The solution meets the constraints (Theorem 4)",
        "holds, and by itself: every row of the minimum without constraints is a distribution",
        f"{EC3}every_row_is_a_distribution",
    ),
    (
        "Block coordinate descent minimises the objective",
        "holds: no round of the loop raises it",
        f"{EC3}the_objective_of_the_paper_s_loop_never_rises",
    ),
    (
        "The loop ends at the optimum (Theorem 5)",
        "holds up to epsilon: the exact answer is never above it",
        f"{EC3}the_exact_answer_is_never_above_the_paper_s_loop",
    ),
    (
        "Algorithm 1 makes a doubly stochastic matrix",
        "holds for objects x objects, read as rounds of symmetric scaling (as printed, it never updates its second matrix)",
        f"{ALGEBRA}the_scaled_matrix_is_doubly_stochastic",
    ),
    (
        "The membership matrix is made doubly stochastic too",
        "cannot be: it has more rows than columns. Its rows are made to sum to 1",
        f"{EC3}w8_has_the_numbers_of_the_specification",
    ),
    (
        "alpha/2 + beta/2 + gamma + delta = 1",
        "not met by the paper's own settings, and not needed: only the ratios matter",
        f"{EC3}only_the_ratios_of_the_weights_matter",
    ),
]


def theory() -> Frame:
    """Return the paper's theory as a table."""
    rows = [(said, here, f"`{test}`") for said, here, test in THEORY]
    return pd.DataFrame(rows, columns=["the paper", "here", "shown by"]).set_index("the paper")


def deviations(rows: Frame) -> Frame:
    """Return where we depart from the paper: what, why, and what it does to the results."""
    splits = rows.groupby(["experiment", "dataset"])["seed"].nunique().groupby("experiment").min()
    splits = splits.drop("datasets", errors="ignore")
    compared = rows["dataset"].drop_duplicates().isin(published.DATASETS.values()).sum()
    used = select(rows, "accuracy", "n_rows")["value"].max()
    found = [
        (
            "Susy and Sensor are missing; a part of Sensor is shown but never compared",
            "not available",
            f"{compared} of {len(published.DATASETS)} data sets compared",
        ),
        (f"At most {used:,.0f} rows per data set", "time", _rows_effect(rows)),
        (
            f"{splits.min()} to {splits.max()} splits instead of 20; {splits.max()} in {(splits == splits.max()).sum()} of "
            f"{len(splits)} experiments",
            "time",
            "wider intervals",
        ),
        (
            "AUC from probabilities, one-vs-rest",
            "the paper does not say how it scores labels",
            _metric_effect(rows),
        ),
        (
            "F of the rarer of two classes, else averaged over classes",
            "the paper does not say",
            "levels of F, less so differences",
        ),
        (
            f"Clusterings not tuned by labels; four of them cluster {Protocol.n_landmarks:,} landmarks",
            "as a user would run them",
            _tuning_effect(rows),
        ),
        ("UPE is our reconstruction", "its full text was not available", _upe_effect(rows)),
        (
            "EC3, iEC3 and BGCM are solved exactly",
            "loops stop before their answer",
            _epsilon_effect(rows),
        ),
        (
            "The membership matrix has rows that sum to 1",
            "it is not square",
            "none known; no other reading has a solution",
        ),
        (
            "Small grids of settings; ensembles not tuned; a network of one convolution",
            "time; the paper has no details",
            "not measured",
        ),
        (
            "Base models are not tuned in the studies of imbalance, runtime and growth",
            "hundreds of trainings",
            "shares kept and times, not levels, are compared there",
        ),
    ]
    return pd.DataFrame(found, columns=["what", "why", "effect"]).set_index("what")


def _rows_effect(rows: Frame) -> str:
    if not has(rows, "accuracy_large"):
        return "not measured"
    small, large = (scored_cells(rows, "auc", name) for name in ("accuracy", "accuracy_large"))
    grown = overall((large - small).dropna(how="all"))
    return (
        f"with up to {MOST_ROWS:,} on {large.index.get_level_values(0).nunique()} data sets: iEC3 {grown['iEC3']:+.3f} AUC, the "
        f"mean of the 14 baselines {grown[BASELINES].mean():+.3f}"
    )


def _metric_effect(rows: Frame) -> str:
    soft, hard = by_scoring(rows).values()
    gap = (hard - soft).mean()
    return f"AUC of labels: {gap['iEC3']:+.3f} for iEC3, {gap[BASELINES].mean():+.3f} for the 14 baselines"


def _tuning_effect(rows: Frame) -> str:
    if not has(rows, "tuned_clusterings", "accuracy"):
        return "not measured"
    gains = tuned_gains(rows)
    lifted = with_interval(gains["iEC3", "NMI"] - gains["iEC3", "none"], 4)
    return f"tuned by labels, all but affinity propagation on all rows: AUC of iEC3 {lifted}"


def _upe_effect(rows: Frame) -> str:
    own, theirs = overall(scored_cells(rows, "auc")), printed("accuracy_auc").loc["Average"]
    return f"UPE minus BGCM: {own['UPE'] - own['BGCM']:+.3f} AUC, printed {theirs['UPE'] - theirs['BGCM']:+.3f}"


def _epsilon_effect(rows: Frame) -> str:
    if not has(rows, "epsilon"):
        return "not measured"
    auc = cells(rows, "epsilon", "auc", columns="setting").mean()
    return f"the loop at epsilon 0.025 has {auc['0.025'] / auc['0.005']:.2%} of its AUC at 0.005"
