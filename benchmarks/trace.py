"""How much of the package a small answer touches: its files, and the calls of its functions.

python benchmarks/trace.py            three counts
python benchmarks/trace.py --where    and the functions that are called most
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from ec3learn import MajorityVote, Votes, solve
from ec3learn import __file__ as PACKAGE_FILE
from ec3learn.cli import main as command
from ec3learn.demo import write_demo

PACKAGE = str(Path(PACKAGE_FILE).parent)


def traced(work: Callable[[], Any]) -> Counter[tuple[str, str]]:
    """Count the calls of each function of the package, by its file and name."""
    calls: Counter[tuple[str, str]] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(PACKAGE):
            calls[file.removeprefix(f"{PACKAGE}/"), frame.f_code.co_qualname] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def small_votes() -> Votes:
    """Votes of three voters on 48 objects."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=48)
    guesses = rng.integers(2, size=(3, 48))
    labels = np.where(rng.random((3, 48)) < 0.7, truth, guesses)
    return Votes.from_labels(dict(zip("abc", labels, strict=True)))


def combine(folder: str) -> None:
    """Let the command combine the votes of the demo."""
    columns = ["--classifiers", "svm,tree,bayes,knn,rules", "--clusterings", "kmeans,dbscan"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        command(["combine", f"{folder}/votes.csv", *columns, "--out", f"{folder}/labels.csv"])


def main() -> None:
    """Print how many files and calls each answer takes."""
    votes = small_votes()
    with tempfile.TemporaryDirectory() as folder:
        write_demo(f"{folder}/votes.csv")
        answers: dict[str, Callable[[], Any]] = {
            "solve": lambda: solve(votes),
            "MajorityVote": lambda: MajorityVote().solve(votes),
            "ec3learn combine": lambda: combine(folder),
        }
        for name, work in answers.items():
            calls = traced(work)
            files = {file for file, _ in calls}
            print(f"{name:18}{len(files):4} files {calls.total():6} calls")
            if "--where" in sys.argv:
                for (file, function), n in calls.most_common(25):
                    print(f"    {n:6} {file} {function}")
                print("   ", *sorted(files))


if __name__ == "__main__":
    main()
