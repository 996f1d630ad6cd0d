"""Time, memory, accuracy and scaling of each method, and a comparison with crowd-kit.

    python benchmarks/methods.py [--objects 10000 100000 1000000] [--methods NAME ...] [--limit 120]
    [--rounds 10] [--best-of 3]

Eight classifiers with accuracies from .6 to .9 vote on four classes, 2 to 16 % of their votes are
missing, and half of the errors on an object name the same wrong class. Four clusterings of 8 to 40
clusters follow the classes noisily. Nearly all rows differ.

Every measurement runs in its own process on one thread. "Seconds" are CPU seconds, which other work
on the machine hardly affects, from columns in memory to labels and probabilities, including the
creation of `Votes`. The best of several runs counts; runs of over 10 seconds are not repeated. "MB"
is the peak of resident memory above that with the input loaded, in the first run. "Slope" is the
slope of log seconds over log objects: 1 is linear. Methods have their default parameters, except a
single start for UPE (n_init=1). A method that exceeds the time limit is not run on larger tables.

crowd-kit does not support clusterings, so the comparison uses the class votes alone, with the same
number of EM rounds. Creating the long table for crowd-kit is not timed. If both finish, ec3learn
must be 100 times as fast (20 times for the majority vote) with a quarter of the memory on the
largest table; otherwise the exit code is 1. Linux with glibc only: memory is read from /proc.

Then the methods for votes alone stand beside Dawid-Skene: 12 voters on two classes, where rows
repeat, and on five classes with a tenth of the votes missing, where nearly all rows differ. `Votes`
is made before: time and memory are those of the method. The default must take at most 8 times the
time of Dawid-Skene and 1.5 times its memory on a million objects.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import ctypes
import json
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from ec3learn import METHODS, DawidSkene, MajorityVote, Votes

N_CLASSES = 4
CLUSTERS = (8, 12, 20, 40)
RIVAL = "crowd-kit"  # in the place of a method's name: the votes alone, ours and crowd-kit's
LEAST_FASTER, MOST_MEMORY = {"majority": 20.0, "dawid-skene": 100.0}, 0.25
JURY = "jury"  # likewise: methods for votes alone
JURY_METHODS = ("dawid-skene", "dawid-skene-one-coin", "bwa", "ebcc", "panel", "auto")
MOST_TIMES, MOST_TIMES_MEMORY, LARGE = 8.0, 1.5, 1_000_000  # objects from which these limits hold
NOT_REPEATED = 10.0  # seconds

KNOWN = [*METHODS, RIVAL, JURY]

Columns = dict[str, Any]


@dataclass
class Job:
    """What is measured: it returns labels, how many rounds it took, and whether it converged."""

    run: Callable[[], tuple[Any, int, bool]]
    truth: Any


# ---- the table -----------------------------------------------------------------------------------


def table(n_objects: int) -> tuple[Columns, Columns, Any]:
    """Return the columns of classifiers and of clusterings, -1 where there is none, and the true classes."""
    rng = np.random.default_rng(0)
    truth = rng.choice(N_CLASSES, n_objects, p=[0.4, 0.3, 0.2, 0.1])
    lookalike = (truth + rng.integers(1, N_CLASSES, n_objects)) % N_CLASSES
    classifiers = {}
    for m, skill in enumerate(np.linspace(0.6, 0.9, 8)):
        other = (truth + rng.integers(1, N_CLASSES, n_objects)) % N_CLASSES
        error = np.where(rng.random(n_objects) < 0.5, lookalike, other)
        classifiers[f"c{m}"] = np.where(rng.random(n_objects) < skill, truth, error)
        classifiers[f"c{m}"][rng.random(n_objects) < 0.02 * (m + 1)] = -1
    clusterings = {}
    for k in CLUSTERS:
        own = truth + N_CLASSES * rng.integers(0, k // N_CLASSES, n_objects)
        clusterings[f"k{k}"] = np.where(
            rng.random(n_objects) < 0.7, own, rng.integers(0, k, n_objects)
        )
    clusterings[f"k{CLUSTERS[-1]}"][rng.random(n_objects) < 0.1] = -1
    return classifiers, clusterings, truth


def jury(n_objects: int, n_classes: int) -> tuple[Columns, Any]:
    """Return the columns of 12 voters, -1 where there is no vote, and the true classes."""
    rng = np.random.default_rng(0)
    truth = rng.integers(n_classes, size=n_objects)
    voters = {}
    for m, skill in enumerate(np.linspace(0.45, 0.8, 12)):
        other = (truth + rng.integers(1, n_classes, n_objects)) % n_classes
        voters[f"v{m}"] = np.where(rng.random(n_objects) < skill, truth, other)
        if n_classes > 2:
            voters[f"v{m}"][rng.random(n_objects) < 0.1] = -1
    return voters, truth


def _jury_job(name: str, n_objects: int) -> Job:
    _, n_classes, method = name.split(maxsplit=2)
    columns, truth = jury(n_objects, int(n_classes))
    votes = Votes.from_labels(columns, missing=-1)

    def run() -> tuple[Any, int, bool]:
        consensus = METHODS[method]().solve(votes)
        _ = consensus.proba
        return consensus.labels(), consensus.solution.n_iter, consensus.solution.converged

    return Job(run, truth)


def job(name: str, n_objects: int, rounds: int) -> Job:
    if name.startswith(JURY):
        return _jury_job(name, n_objects)
    classifiers, clusterings, truth = table(n_objects)
    if name.startswith(RIVAL):
        return Job(_rival(name, classifiers, rounds), truth)
    if name.startswith("ours"):
        method = (
            MajorityVote()
            if "majority" in name
            else DawidSkene(prior="uniform", max_iter=rounds, tol=1e-300)
        )
        clusterings = {}
    else:
        method = METHODS[name](**({"n_init": 1, "random_state": 0} if name == "upe" else {}))

    def run() -> tuple[Any, int, bool]:
        consensus = method.solve(Votes.from_labels(classifiers, clusterings or None, missing=-1))
        _ = consensus.proba
        return consensus.labels(), consensus.solution.n_iter, consensus.solution.converged

    return Job(run, truth)


def _rival(name: str, classifiers: Columns, rounds: int) -> Callable[[], tuple[Any, int, bool]]:
    import pandas as pd
    from crowdkit import aggregation

    votes = np.stack(list(classifiers.values()), axis=1)
    task, worker = np.nonzero(votes >= 0)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": votes[task, worker]})

    def run() -> tuple[Any, int, bool]:
        method = (
            aggregation.MajorityVote()
            if "majority" in name
            else aggregation.DawidSkene(n_iter=rounds, tol=-np.inf)
        )
        labels = method.fit_predict(frame).reindex(np.arange(len(votes))).to_numpy()
        return labels, len(getattr(method, "loss_history_", ())), True

    return run


# ---- one measurement -----------------------------------------------------------------------------


def resident(which: str) -> int:
    """Return the process's resident bytes now ("VmRSS") or at their peak ("VmHWM")."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(which))


def reset_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def measure(name: str, n_objects: int, rounds: int, best_of: int, limit: float) -> dict[str, Any]:
    """Return what one method takes and gives on one table; a run that takes too long ends the process by SIGALRM."""
    warnings.simplefilter("ignore")  # a number of rounds is asked for, not convergence
    job(name, 200, rounds).run()  # load what is loaded when used
    asked = job(name, n_objects, rounds)
    ctypes.CDLL(None).malloc_trim(
        0
    )  # what making the table left over would hide what the method takes
    before = resident("VmRSS")
    reset_peak()
    extra, seconds = 0, [0.0]
    while len(seconds) <= best_of and seconds[-1] < NOT_REPEATED:
        signal.setitimer(signal.ITIMER_REAL, limit)
        start = time.process_time()
        labels, n_iter, converged = asked.run()
        seconds.append(time.process_time() - start)
        signal.setitimer(signal.ITIMER_REAL, 0)
        extra = extra or resident("VmHWM") - before
    accuracy = float(np.mean(labels == asked.truth))
    return {
        "seconds": min(seconds[1:]),
        "extra": extra / 1e6,
        "accuracy": accuracy,
        "rounds": n_iter,
        "converged": bool(converged),
    }


def measured_apart(
    name: str, n_objects: int, arguments: argparse.Namespace
) -> dict[str, Any] | None:
    """Return the same from a process of its own; None if it took too long."""
    options = {"--inside": name, "--objects": n_objects, "--limit": arguments.limit}
    options |= {"--rounds": arguments.rounds, "--best-of": arguments.best_of}
    command = [
        sys.executable,
        __file__,
        *(str(part) for option in options.items() for part in option),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == -signal.SIGALRM:
        return None
    if result.returncode:
        sys.exit(f"{name} failed on {n_objects:,} objects.\n{result.stderr}")
    return dict(json.loads(result.stdout))


# ---- all of them ---------------------------------------------------------------------------------


def grown(name: str, arguments: argparse.Namespace) -> dict[int, dict[str, Any]]:
    """Measure a method on all tables until it takes too long, print its line, and return what was found by size."""
    found: dict[int, dict[str, Any]] = {}
    over = False
    for n_objects in arguments.objects:
        row = None if over else measured_apart(name, n_objects, arguments)
        if row is None:
            over = True
        else:
            found[n_objects] = row
    late = f"> {arguments.limit:g}" if over else ""
    cells = []
    for key, digits in (
        ("seconds", partial(_digits, 3)),
        ("extra", partial(_digits, 3)),
        ("accuracy", "{:.4f}".format),
    ):
        missing = iter([late if key == "seconds" else "-"])
        cells += [
            digits(found[n][key]) if n in found else next(missing, "-") for n in arguments.objects
        ]
        if key == "seconds":
            cells.append(_slope(found))
    rounds = "/".join(
        str(row["rounds"]) + "*" * (not row["converged"]) for row in found.values() if row["rounds"]
    )
    print(_line(name, cells, rounds or "-"), flush=True)
    return found


def _slope(found: dict[int, dict[str, Any]]) -> str:
    if len(found) < 2:
        return "-"
    return f"{np.polyfit(np.log(list(found)), np.log([row['seconds'] for row in found.values()]), 1)[0]:.2f}"


def _digits(n: int, value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 10**n else f"{value:#.{n}g}".rstrip(".")


def _line(name: str, cells: Sequence[str], rounds: str) -> str:
    return f"{name:26s}" + "".join(f"{cell:>10s}" for cell in cells) + f"  {rounds}"


def beside_rival(arguments: argparse.Namespace) -> bool:
    """Measure ours and crowd-kit's on the votes alone, print the ratios, and return whether a limit is missed."""
    if find_spec("crowdkit") is None:
        print(
            f"\n{RIVAL} is not installed, so there is nothing to compare with. Get it with: pip install '.[bench]'"
        )
        return False
    print(
        f"\nThe votes alone, without clusterings, beside {RIVAL} {version(RIVAL)}; {arguments.rounds} rounds of EM."
    )
    missed = False
    ratios = []
    for method in ("majority", "dawid-skene"):
        ours, theirs = (grown(f"{who} {method}", arguments) for who in ("ours", RIVAL))
        both = [n for n in arguments.objects if n in ours and n in theirs]
        if not both:
            ratios.append(f"{method}: no table on which both finished")
            missed = True
            continue
        n = max(both)
        if ours[n]["rounds"] != theirs[n]["rounds"]:
            sys.exit(
                f"{method} made {ours[n]['rounds']} rounds here and {theirs[n]['rounds']} in {RIVAL}: not comparable."
            )
        faster = theirs[n]["seconds"] / ours[n]["seconds"]
        memory = ours[n]["extra"] / max(theirs[n]["extra"], 1e-9)
        short = faster < LEAST_FASTER[method] or memory > MOST_MEMORY
        missed |= short
        ratios.append(
            f"{method} on {n:,} objects: {faster:.1f} times as fast (at least {LEAST_FASTER[method]:g}), "
            f"{memory:.3f} of the memory (at most {MOST_MEMORY:g})"
            + ("  limit missed" if short else "")
        )
    print("", *ratios, sep="\n")
    return missed


def beside_dawid_skene(arguments: argparse.Namespace) -> bool:
    """Measure the methods for votes alone, print the ratios to Dawid-Skene, and return whether a limit is missed."""
    missed, ratios = False, []
    for n_classes in (2, 5):
        print(f"\nThe votes of 12 voters on {n_classes} classes, without making `Votes`.")
        found = {
            method: grown(f"{JURY} {n_classes} {method}", arguments) for method in JURY_METHODS
        }
        for method, rows in found.items():
            both = [n for n in arguments.objects if n in rows and n in found["dawid-skene"]]
            if method == "dawid-skene" or not both:
                missed |= not both
                continue
            ours, theirs = rows[max(both)], found["dawid-skene"][max(both)]
            times, memory = (
                ours["seconds"] / theirs["seconds"],
                ours["extra"] / max(theirs["extra"], 1e-9),
            )
            judged = method == "auto" and max(both) >= LARGE
            short = judged and (times > MOST_TIMES or memory > MOST_TIMES_MEMORY)
            missed |= short
            limits = f" (at most {MOST_TIMES:g} and {MOST_TIMES_MEMORY:g})" if judged else ""
            ratios.append(
                f"{method}, {n_classes} classes, {max(both):,} objects: {times:.1f} times the seconds and {memory:.2f} times the "
                f"memory of Dawid-Skene{limits}" + ("  limit missed" if short else "")
            )
    print("", *ratios, sep="\n")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--objects", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help=f"from: {', '.join(KNOWN)}; all unless given"
    )
    parser.add_argument(
        "--limit", type=float, default=120.0, help="seconds that one run may take, by the clock"
    )
    parser.add_argument("--rounds", type=int, default=10, help=f"rounds of EM, ours and {RIVAL}'s")
    parser.add_argument("--best-of", type=int, default=3)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        n_objects = arguments.objects[0]
        print(
            json.dumps(
                measure(
                    arguments.inside,
                    n_objects,
                    arguments.rounds,
                    arguments.best_of,
                    arguments.limit,
                )
            )
        )
        return 0
    names = arguments.methods or KNOWN
    unknown = sorted(set(names) - set(KNOWN))
    if unknown:
        parser.error(f"unknown method {unknown[0]!r}; choose from: {', '.join(KNOWN)}")
    arguments.objects = sorted(set(arguments.objects))
    sizes = [f"{n:,}" for n in arguments.objects]
    blank = [""] * (len(sizes) - 1)
    print(_line("", ["seconds", *blank, "", "MB", *blank, "accuracy", *blank], "rounds"))
    print(_line("objects", [*sizes, "slope", *sizes, *sizes], "(*: not converged)"), flush=True)
    for name in names:
        if name not in (RIVAL, JURY):
            grown(name, arguments)
    missed = [
        RIVAL in names and beside_rival(arguments),
        JURY in names and beside_dawid_skene(arguments),
    ]
    return int(any(missed))


if __name__ == "__main__":
    sys.exit(main())
