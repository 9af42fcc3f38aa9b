"""How long `gatekeeper validate` takes for a hundred contracts.

    python benchmarks/validate.py [--contracts 100] [--files 1000] [--repeat 5] [--limit 1.5]

Builds a repository as benchmarks/affected.py does, with 21 fixtures and 3 checks for each contract,
and times a process of its own from its start to its end. Ends with 1 where the median is above the
limit, or a contract is not valid.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from benchmarks.affected import build  # noqa: E402
from benchmarks.startup import environment  # noqa: E402


def main() -> int:
    """Prints the numbers; 1 where they break the promise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contracts", type=int, default=100)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1.5, help="seconds of wall time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = build(Path(temporary) / "repository", options.files, options.contracts).path
        _seconds(folder)
        runs = [_seconds(folder) for _ in range(options.repeat)]
    median = statistics.median(wall for wall, _ in runs)
    valid = {count for _, count in runs}
    print(f"{options.contracts} contracts: median {median:.2f} s, valid {valid}")
    return int(median > options.limit or valid != {options.contracts})


def _seconds(folder: Path) -> tuple[float, int]:
    """One process from its start to its end, and how many contracts are valid."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "gatekeeper", "validate", "--json"],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    wall = time.perf_counter() - started
    return wall, len(json.loads(done.stdout)["contracts"])


if __name__ == "__main__":
    sys.exit(main())
