"""How long does `import ec3learn` take, as a ratio to `import sklearn.base`? At most 1.2. Medians, in turn.

python benchmarks/imports.py [--times 15]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

PROGRAM = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def seconds(module: str) -> float:
    return float(
        subprocess.run([sys.executable, "-c", PROGRAM.format(module)], capture_output=True, text=True, check=True).stdout
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--times", type=int, default=15)
    pairs = [(seconds("ec3learn"), seconds("sklearn.base")) for _ in range(parser.parse_args().times)]
    ours, theirs = (median(times) for times in zip(*pairs, strict=True))
    print(f"import ec3learn {ours:.3f} s, import sklearn.base {theirs:.3f} s, ratio {ours / theirs:.2f}")
    return int(ours / theirs > 1.2)


if __name__ == "__main__":
    sys.exit(main())
