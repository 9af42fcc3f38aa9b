"""How fast calls to a hosted model are, natively, through litellm and with bare aiohttp.

    python -m benchmarks.engine [--calls 2000] [--concurrency 64] [--delay-ms 200]

A server in another process answers every request after the delay. Each row runs in a process of its
own, one after the other. The first rows make the calls alone; the last two are `gatekeeper check`
of that many calls with three checks, from start to end. The ideal is the time that the server takes
if every place is always taken. On a machine that does other work the figures are rough; compare
rows of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.latency import serve

ROWS = ("aiohttp", "native", "litellm")
PROCESSES = ("check, native", "check, litellm")
POLICY = (
    "limits: {{calls: null, cost_usd: null, minutes: null, concurrency: {concurrency}}}\n"
    "history: off\nproviders: {{openai: {way}}}\n"
)
CONTRACT = """contract: 1
name: words
prompt: ../prompts/words.txt
model: openai/gpt-4o-mini
params: {temperature: 0, max_tokens: 5}
fixtures: [{file: words.csv}]
sampling: {mode: fixed, samples: 1}
checks:
  - {type: length, max: 100}
  - {type: regex, pattern: "[0-9]"}
  - {type: contains, value: "."}
"""


async def _take(calls: int, concurrency: int, call: Callable[[int], Awaitable[object]]) -> None:
    numbers = iter(range(calls))

    async def work() -> None:
        for number in numbers:
            await call(number)

    await asyncio.gather(*(work() for _ in range(concurrency)))


async def _bare(calls: int, concurrency: int) -> None:
    import aiohttp

    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call(number: int) -> None:
            message = {"role": "user", "content": f"Tag the word fox{number}."}
            body = {"model": "gpt-4o-mini", "messages": [message], "temperature": 0, "seed": 42}
            async with session.post(url, json=body) as response:
                json.loads(await response.read())

        await _take(calls, concurrency, call)


async def _client(calls: int, concurrency: int, through_litellm: tuple[str, ...]) -> None:
    from gatekeeper.contract.definition import Message
    from gatekeeper.contract.trial import Request
    from gatekeeper.providers.hosted import HostedClient

    client = HostedClient(through_litellm)

    async def call(number: int) -> None:
        messages = (Message("user", f"Tag the word fox{number}."),)
        await client.complete(Request("openai/gpt-4o-mini", messages, {"temperature": 0}, 42, 0))

    await _take(calls, concurrency, call)
    await client.aclose()


def run_row(row: str, calls: int, concurrency: int) -> tuple[float, float]:
    """Wall and processor seconds of the calls, after one that loads everything."""

    async def make(number: int) -> None:
        if row == "aiohttp":
            await _bare(number, concurrency)
        else:
            await _client(number, concurrency, ("openai",) if row == "litellm" else ())

    asyncio.run(make(1))
    started, before = time.perf_counter(), time.process_time()
    asyncio.run(make(calls))
    return time.perf_counter() - started, time.process_time() - before


def build(folder: Path, calls: int, policy: str) -> None:
    """A repository whose pull request takes that many calls to check, half of them on base."""

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=b", "-c", "user.email=b@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)

    for name in ("contracts", "prompts", ".github"):
        (folder / name).mkdir(parents=True)
    words = "".join(f"word{number}\n" for number in range(calls // 2))
    (folder / "contracts/words.csv").write_text(f"word\n{words}", "utf-8")
    (folder / "contracts/words.yaml").write_text(CONTRACT, "utf-8")
    (folder / "prompts/words.txt").write_text("Tag {{ word }}.", "utf-8")
    (folder / ".github/gatekeeper.yml").write_text(policy, "utf-8")
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "base")
    git("switch", "-qc", "pr")
    (folder / "prompts/words.txt").write_text("Tag the word {{ word }}.", "utf-8")
    git("commit", "-qam", "head")


def run_check(row: str, calls: int, concurrency: int) -> tuple[float, float]:
    """Wall and processor seconds of the whole command."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "repository"
        policy = POLICY.format(concurrency=concurrency, way=row.removeprefix("check, "))
        build(folder, calls, policy)
        command = [sys.executable, "-m", "gatekeeper", "check", "--base", "main", "--head", "pr"]
        started, before = time.perf_counter(), os.times()
        done = subprocess.run(
            [*command, "--out", str(Path(temporary) / "out")],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        after = os.times()
        written = Path(temporary) / "out/result.json"
        made = json.loads(written.read_bytes())["calls"]["made"] if written.exists() else 0
        if done.returncode or made != calls:
            raise SystemExit(f"{made} calls were made\n{done.stdout}{done.stderr}")
    processor = after.children_user - before.children_user
    processor += after.children_system - before.children_system
    return time.perf_counter() - started, processor


def main() -> None:
    """Print a row for each way."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--delay-ms", type=float, default=200)
    parser.add_argument("--row", choices=ROWS, help="run this row alone, in this process")
    options = parser.parse_args()
    size = options.calls, options.concurrency
    if options.row:
        print(json.dumps(run_row(options.row, *size)))
        return
    receiving, sending = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(options.delay_ms / 1000, sending), daemon=True
    )
    server.start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{receiving.recv()}/v1"
    os.environ["OPENAI_API_KEY"] = "none"
    ideal = options.calls * options.delay_ms / 1000 / options.concurrency
    print(f"{options.calls} calls, {options.concurrency} at once, {options.delay_ms:g} ms each")
    print(f"{'':16}{'wall s':>8}{'/ ideal':>9}{'cpu ms a call':>15}")
    print(f"{'ideal':16}{ideal:8.2f}{1:9.2f}")
    own = [sys.executable, "-m", "benchmarks.engine", "--calls", str(options.calls)]
    own += ["--concurrency", str(options.concurrency)]
    try:
        for row in (*ROWS, *PROCESSES):
            if row in PROCESSES:
                wall, processor = run_check(row, *size)
            else:
                ran = subprocess.run([*own, "--row", row], capture_output=True, text=True)
                if ran.returncode:
                    raise SystemExit(ran.stderr)
                wall, processor = json.loads(ran.stdout.splitlines()[-1])
            cost = processor / options.calls * 1000
            print(f"{row:16}{wall:8.2f}{wall / ideal:9.2f}{cost:15.2f}", flush=True)
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
