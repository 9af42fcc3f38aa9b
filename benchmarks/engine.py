"""How fast calls to a hosted model are, natively, through litellm, and with other programs.

    python -m benchmarks.engine [--calls 2000] [--concurrency 64] [--delay-ms 200]

A server in another process answers every request after the delay. Each row runs in a process of its
own, one after the other. The first rows make the calls alone: with bare aiohttp and bare litellm,
and with Gatekeeper's clients. The last rows are `gatekeeper check` of that many calls with three
checks, from start to end with all reports, and promptfoo where it is installed, with the same
prompts and checks. The ideal is the time of the rounds of calls that the server answers: 2,000
calls, 64 at once, are 32 rounds, of which the last one is not full. On a machine that does other
work the figures are rough; compare rows of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.latency import serve

ROWS = ("bare aiohttp", "bare litellm", "native", "litellm")
PROCESSES = ("check, native", "check, litellm")
PROMPTFOO = "promptfoo"
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


async def _bare_litellm(calls: int, concurrency: int) -> None:
    import litellm

    async def call(number: int) -> None:
        message = {"role": "user", "content": f"Tag the word fox{number}."}
        await litellm.acompletion("openai/gpt-4o-mini", [message], temperature=0, seed=42)

    await _take(calls, concurrency, call)


async def _client(calls: int, concurrency: int, through_litellm: tuple[str, ...]) -> None:
    from gatekeeper.contract.values.definition import Message
    from gatekeeper.contract.values.trial import Request
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
        if row == "bare aiohttp":
            await _bare(number, concurrency)
        elif row == "bare litellm":
            await _bare_litellm(number, concurrency)
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


class Cost(NamedTuple):
    """What a process took. `peak_mb` is None if its memory was not measured. `sampling` are the
    seconds from the first request to the last answer, by the server's clock. `measuring` are those
    of the calls, the checks and the statistics, without start-up and reports."""

    wall: float
    processor: float
    peak_mb: float | None = None
    measuring: float | None = None
    sampling: float | None = None


def run_process(command: Sequence[str], folder: Path) -> Cost:
    """Return what the command took. Raises SystemExit if it fails."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(output.read().decode())
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def run_check(row: str, calls: int, concurrency: int) -> Cost:
    """Return what the whole command took, with its byte code compiled as after an installation."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "repository"
        out = Path(temporary) / "out"
        policy = POLICY.format(concurrency=concurrency, way=row.removeprefix("check, "))
        build(folder, calls, policy)
        command = [sys.executable, "-m", "gatekeeper", "check", "--base", "main", "--head", "pr"]
        cost = run_process([*command, "--out", str(out)], folder)
        result = json.loads((out / "result.json").read_bytes())
        made = result["calls"]["made"]
        if made != calls:
            raise SystemExit(f"{made} calls were made instead of {calls}")
        outputs = [json.loads(line)["output"] for line in (out / "samples.jsonl").open()]
    return cost._replace(measuring=result["seconds"], sampling=_span(outputs))


def _span(outputs: Sequence[str]) -> float:
    """Return the seconds from the first request to the last answer."""
    calls = [(float(arrived), float(took)) for took, arrived in map(str.split, outputs)]
    return max(arrived + took / 1000 for arrived, took in calls) - min(calls)[0]


def run_promptfoo(program: str, calls: int, concurrency: int) -> Cost:
    """Return what promptfoo took for as many calls with the same prompts and checks."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tests = [{"vars": {"word": f"word{number}"}} for number in range(calls // 2)]
        checks = [
            {"type": "javascript", "value": "output.length <= 100"},
            {"type": "regex", "value": "[0-9]"},
            {"type": "contains", "value": "."},
        ]
        suite = {
            "prompts": ["Tag {{ word }}.", "Tag the word {{ word }}."],
            "providers": [
                {"id": "openai:gpt-4o-mini", "config": {"temperature": 0, "max_tokens": 5}}
            ],
            "defaultTest": {"assert": checks},
            "tests": tests,
        }
        (folder / "suite.json").write_text(json.dumps(suite), "utf-8")
        command = [program, "eval", "-c", "suite.json", "-j", str(concurrency), "--no-cache"]
        return run_process([*command, "--no-progress-bar", "-o", "out.json"], folder)


def take_row(row: str, calls: int, concurrency: int) -> Cost:
    """Return what a row of the table took, in a process of its own."""
    if row in PROCESSES:
        return run_check(row, calls, concurrency)
    if row.endswith(PROMPTFOO):
        return run_promptfoo(row, calls, concurrency)
    own = [sys.executable, "-m", "benchmarks.engine", "--calls", str(calls)]
    ran = subprocess.run(
        [*own, "--concurrency", str(concurrency), "--row", row], capture_output=True, text=True
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return Cost(*json.loads(ran.stdout.splitlines()[-1]))


def ideal_seconds(calls: int, concurrency: int, delay_ms: float) -> float:
    """Return the time of the rounds of calls that the server answers."""
    return math.ceil(calls / concurrency) * delay_ms / 1000


@contextmanager
def server(delay_ms: float) -> Iterator[None]:
    """A server in another process that answers after the delay; OpenAI's variables name it."""
    receiving, sending = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(delay_ms / 1000, sending), daemon=True
    )
    process.start()
    try:
        os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{receiving.recv()}/v1"
        os.environ["OPENAI_API_KEY"] = "none"
        yield
    finally:
        process.terminate()


@contextmanager
def byte_code() -> Iterator[None]:
    """Let programs keep their byte code, as an installed program has it."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PYTHONPYCACHEPREFIX"] = cache
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        yield


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
    ideal = ideal_seconds(*size, options.delay_ms)
    print(f"{options.calls} calls, {options.concurrency} at once, {options.delay_ms:g} ms each")
    print(f"{'':16}{'wall s':>8}{'/ ideal':>9}{'cpu ms a call':>15}{'peak MB':>9}")
    print(f"{'ideal':16}{ideal:8.2f}{1:9.2f}")
    promptfoo = shutil.which(PROMPTFOO)
    with server(options.delay_ms), byte_code():
        run_check(PROCESSES[0], 2, 2)  # compiles
        run_check(PROCESSES[1], 2, 2)
        for row in (*ROWS, *PROCESSES, *([promptfoo] if promptfoo else [])):
            cost = take_row(row, *size)
            name = PROMPTFOO if row == promptfoo else row
            ratio = f"{cost.wall / ideal:9.2f}" if ideal else f"{'-':>9}"
            a_call = cost.processor / options.calls * 1000
            peak = "" if cost.peak_mb is None else f"{cost.peak_mb:9.0f}"
            print(f"{name:16}{cost.wall:8.2f}{ratio}{a_call:15.2f}{peak}", flush=True)
    if promptfoo is None:
        print("promptfoo: left out, because it is not installed (npm install --global promptfoo)")


if __name__ == "__main__":
    main()
