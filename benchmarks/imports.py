"""How long do `import ec3learn` and `from ec3learn import EC3` take, relative to `import sklearn.base`?

    python benchmarks/imports.py [--times 15]

The medians of imports in turn, each in its own process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

PROGRAM = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
RIVAL = "import sklearn.base"
OURS = ("import ec3learn", "from ec3learn import EC3")
LIMIT = 1.2


def seconds(statement: str) -> float:
    command = [sys.executable, "-c", PROGRAM.format(statement)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--times", type=int, default=15)
    runs = [
        [seconds(statement) for statement in (*OURS, RIVAL)]
        for _ in range(parser.parse_args().times)
    ]
    *ours, theirs = (median(times) for times in zip(*runs, strict=True))
    for statement, own in zip(OURS, ours, strict=True):
        print(f"{statement:26s} {own:.3f} s, {RIVAL} {theirs:.3f} s, ratio {own / theirs:.2f}")
    return int(ours[0] / theirs > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
