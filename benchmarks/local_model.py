"""How many answers a second the embedded model gives, by threads, slots, batch and waiting.

    python -m benchmarks.local_model [--fixtures 40] [--busy]

Two prompts of about 100 tokens, one for each arm, are asked about every fixture in turn, as a check
does. `batch` is the number of tokens that llama.cpp computes at a time, 512 by default. `reused` is
the share of the prompts' tokens that were in the cache of a slot. `--busy` keeps every core busy
with another process meanwhile. Each row runs in a process of its own. The last line
names the features of the processor that the library uses.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import subprocess
import sys
import time
from typing import Any

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.providers import local

SHOTS = (
    ("I loved this phone, the camera is superb and it arrived a day early.", "positive"),
    ("It broke after a day and the shop refused to take it back.", "negative"),
    ("Battery lasts for two days, the screen is bright. Would buy again.", "positive"),
    ("Slow, loud and far too warm after ten minutes of use.", "negative"),
)
WAITS = {"spin": "active", "sleep": "passive"}
BATCH = 512
OTHER_BATCHES = (32, 128, 2048)


def prompt(arm: str, fixture: int) -> str:
    """Return the prompt of an arm, with the fixture's own text last."""
    shots = "".join(f"Review: {text}\nSentiment: {label}\n\n" for text, label in SHOTS)
    instruction = "" if arm == "base" else "Sentiment of product reviews.\n\n"
    return f"{instruction}{shots}Review: I bought {fixture} of them and regret it.\nSentiment:"


def requests(fixtures: int) -> list[Request]:
    """Return the requests of both arms, pair by pair."""
    params = {"temperature": 0, "max_tokens": 3, "stop": ["\n"]}
    pairs = itertools.product(range(fixtures), ("base", "head"))
    return [
        Request(local.MODEL, (Message("user", prompt(arm, fixture)),), params, 42, 0)
        for fixture, arm in pairs
    ]


def set_batch(batch: int) -> None:
    """Let llama.cpp compute so many tokens at a time in this process."""
    import xllamacpp

    usual = xllamacpp.CommonParams

    def with_batch() -> Any:
        params = usual()
        params.n_ubatch = batch
        return params

    xllamacpp.CommonParams = with_batch


async def measure(threads: int, slots: int, batch: int, fixtures: int) -> dict[str, float]:
    """Return answers a second, processor seconds an answer, and the share of reused tokens."""
    set_batch(batch)
    client = local.LocalClient(threads, slots)
    tokens = reused = 0
    read = local._completion

    def count(answer: Any) -> Any:
        nonlocal tokens, reused
        tokens += answer["usage"]["prompt_tokens"]
        reused += (answer.get("timings") or {}).get("cache_n", 0)
        return read(answer)

    local._completion = count
    await client.complete(requests(1)[0])  # loads the model
    tokens = reused = 0
    every = iter(requests(fixtures))
    started, before = time.perf_counter(), time.process_time()

    async def work() -> None:
        for request in every:
            await client.complete(request)

    await asyncio.gather(*(work() for _ in range(slots)))
    wall, processor = time.perf_counter() - started, time.process_time() - before
    await client.aclose()
    calls = 2 * fixtures
    return {"rate": calls / wall, "processor": processor / calls, "reused": reused / tokens}


def settings(cores: int) -> list[tuple[int, int, int, str]]:
    """Return the threads, slots, batch and way to wait of each row."""
    every = itertools.product(sorted({1, cores}), (1, 2, 4), (BATCH,), WAITS)
    # One thread waits for no other.
    usual = [row for row in every if row[0] > 1 or row[-1] == "spin"]
    return [*usual, *((cores, 2, batch, "sleep") for batch in OTHER_BATCHES)]


def burn() -> None:
    """Keep a core busy."""
    while True:
        pass


def main() -> None:
    """Print a row for each way to run the model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixtures", type=int, default=40)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--row", nargs=3, type=int, metavar=("THREADS", "SLOTS", "BATCH"))
    options = parser.parse_args()
    if options.row:
        print(json.dumps(asyncio.run(measure(*options.row, options.fixtures))))
        return
    cores = os.cpu_count() or 1
    others = [
        multiprocessing.Process(target=burn, daemon=True) for _ in range(cores * options.busy)
    ]
    for other in others:
        other.start()
    print(
        f"{'threads':>8}{'slots':>7}{'batch':>7}{'wait':>7}{'answers/s':>11}{'cpu s each':>12}"
        f"{'reused':>9}"
    )
    own = [sys.executable, "-m", "benchmarks.local_model", "--fixtures", str(options.fixtures)]
    for threads, slots, batch, wait in settings(cores):
        row = subprocess.run(
            [*own, "--row", str(threads), str(slots), str(batch)],
            env={**os.environ, "OMP_WAIT_POLICY": WAITS[wait]},
            capture_output=True,
            text=True,
        )
        if row.returncode:
            raise SystemExit(row.stderr)
        found = json.loads(row.stdout.splitlines()[-1])
        print(
            f"{threads:8}{slots:7}{batch:7}{wait:>7}{found['rate']:11.1f}{found['processor']:12.3f}"
            f"{found['reused']:9.0%}",
            flush=True,
        )
    for other in others:
        other.terminate()
    import xllamacpp

    print(xllamacpp.get_system_info().strip())


if __name__ == "__main__":
    main()
