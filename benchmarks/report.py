"""How large the HTML report of a large run is, how long it takes to write, and to open.

    python benchmarks/report.py [--fixtures 1000] [--samples 5] [--words 60] [--repeat 5]

Runs the gate on a simulated model, writes `report.html`, and opens it in headless Chromium: from
the request for the file until the samples can be clicked, the median of several times, in a
browser that runs already. Ends with 1 where the file is 2 MB or more, opening takes 2 s or more,
or a sample is not in it.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import chromium  # noqa: E402
from support.ticket_run import gate_result, past  # noqa: E402

from gatekeeper.reports.html import render_html  # noqa: E402

BYTES, SECONDS = 2_000_000, 2.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fixtures", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=5, help="of each fixture and arm")
    parser.add_argument("--words", type=int, default=60, help="of a long answer")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--smoke", action="store_true", help="show that it runs; decide nothing")
    args = parser.parse_args()
    result = gate_result(args.fixtures, args.samples, words=args.words)
    started = time.perf_counter()
    page = render_html(replace(result, past=past()))
    written = time.perf_counter() - started
    size = len(page.encode())
    whole = "are in this file" not in page
    print(f"{len(result.outcomes):,} samples: {size:,} bytes, written in {written:.2f} s")
    print("every sample is in the page" if whole else "some samples are left out")
    if not shutil.which("chromium"):
        print("chromium is not installed, so nothing is opened")
        return 0 if args.smoke else 1
    opened = statistics.median(open_times(page, args.repeat))
    print(f"opened in {opened:.2f} s (median of {args.repeat})")
    return 0 if args.smoke or (size < BYTES and opened < SECONDS and whole) else 1


def open_times(page: str, repeat: int) -> list[float]:
    """Seconds until the samples of the page can be clicked."""
    times = []
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        path = Path(folder) / "report.html"
        path.write_text(page, encoding="utf-8")
        for _ in range(repeat):
            with browser.new_page() as tab:
                started = time.perf_counter()
                tab.goto(path.as_uri())
                tab.locator("#fixtures button").first.wait_for()
                times.append(time.perf_counter() - started)
    return times


if __name__ == "__main__":
    raise SystemExit(main())
