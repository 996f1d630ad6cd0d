"""Run all properties, which are the tests with hypothesis, again and again until the time is over or one fails.

It prints how many properties and examples each round tried, and fails if no round came to its end. Each round has a seed of its own. `python tests/fuzz.py --seed 7` repeats the round with that seed.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TIMES = "3"  # as many examples as in the tests
UNFINISHED = -1


def run_round(seed: int, seconds: float) -> int:
    """Run all properties once, and return the exit code; -1 if there was no time for all of them."""
    print(f"seed {seed}", flush=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "hypothesis",
        "-x",
        "-p",
        "no:cacheprovider",
        "--hypothesis-show-statistics",
        f"--hypothesis-seed={seed}",
        "tests",
    ]
    environment = os.environ | {"EC3LEARN_FUZZ": TIMES}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=seconds, stdout=subprocess.PIPE, text=True
        )
    except subprocess.TimeoutExpired:
        return UNFINISHED
    if done.returncode:
        print(done.stdout)
    tried = [int(number) for number in re.findall(r"- (\d+) passing", done.stdout)]
    print(f"{len(tried)} properties, {sum(tried):,} examples")
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long to go on")
    parser.add_argument("--seed", type=int, help="repeat one round")
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    code = n_rounds = 0
    while code == 0 and time.monotonic() < end:
        seed = random.randrange(2**32) if given.seed is None else given.seed
        code = run_round(seed, end - time.monotonic())
        n_rounds += code == 0
        if given.seed is not None:
            break
    print(f"{n_rounds} rounds finished.")
    if code == UNFINISHED:
        return int(n_rounds == 0)
    if code:
        print(f"Failed. Repeat it with: python tests/fuzz.py --seed {seed}")
    return code


if __name__ == "__main__":
    sys.exit(main())
