"""How long `gatekeeper site` takes for a year of runs of 100 contracts, and how large the site is.

    python benchmarks/site.py [--contracts 100] [--nights 365] [--fixtures 20] [--repeat 3]

Writes a repository and a history, and runs the command as a user does. Ends with 1 if the best time
is 3 s or more, or the site 5 MB or more. Prompts change every 60 nights; with `--steady` they never
do, which is the most work for the test for drift.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.site_history import (  # noqa: E402
    CHANGED_EVERY,
    nightly_history,
    write_repository,
)

from gatekeeper.history.stores.lines import to_lines  # noqa: E402

SECONDS, BYTES = 3.0, 5_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contracts", type=int, default=100)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--fixtures", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--steady", action="store_true", help="no prompt ever changes")
    parser.add_argument("--smoke", action="store_true", help="show that it runs; decide nothing")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_repository(folder, args.contracts, args.fixtures)
        records = nightly_history(
            args.contracts,
            args.nights,
            args.fixtures,
            changed_every=None if args.steady else CHANGED_EVERY,
        )
        history = to_lines(records)
        (folder / "runs.jsonl").write_bytes(history)
        print(f"{len(records):,} records, {len(history) / 1e6:.1f} MB of history")
        times = [_build(folder, f"site-{number}") for number in range(args.repeat)]
        files = [path for path in (folder / "site-0").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
    wall, processor = min(times)
    print(
        f"{len(files):,} files, {size / 1e6:.2f} MB, in {wall:.2f} s "
        f"({processor:.2f} s of processor time; best of {args.repeat})"
    )
    return 0 if args.smoke or (wall < SECONDS and size < BYTES) else 1


def _build(folder: Path, out: str) -> tuple[float, float]:
    """Seconds of one command: on the clock, and of the processor."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "gatekeeper", "site", "--history", "runs.jsonl", "--out", out]
    subprocess.run(command, cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, used


if __name__ == "__main__":
    raise SystemExit(main())
