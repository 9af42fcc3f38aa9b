"""How much faster are two nodes of a Ray cluster than one, with the embedded model?

    python benchmarks/ray_nodes.py

Each node is a part of this machine with one core: its processes are pinned to it. The same suite
runs with `gatekeeper run --ray` on one node and on two, by turns. The time is that of the
measurement in `result.json`: it begins when the cluster is connected, and includes loading the
model on each node. The machine needs two idle cores, because the process that runs the gate takes
its share of one of them. Needs Ray: pip install 'gatekeeper[ray]'.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CONTRACT = """\
contract: 1
name: queues
prompt: prompt.md
model: local/smollm2
params: {temperature: 0, max_tokens: 24}
fixtures: [{file: tickets.csv}]
checks: [{type: length, min: 1}]
sampling: {samples: 1, mode: fixed}
"""
PROMPT = "Is the ticket about billing, delivery or an account? Explain.\n\nTicket: {{ ticket }}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=240)
    parser.add_argument("--repeat", type=int, default=3, help="runs on each number of nodes")
    parser.add_argument("--ratio", type=float, default=1.7, help="the ratio to reach; 0 for none")
    arguments = parser.parse_args()
    if importlib.util.find_spec("ray") is None:
        print("ray_nodes: left out, because Ray is not installed")
        return 0
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        print("ray_nodes: left out, because this machine has one core")
        return 0
    seconds: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        write_suite(Path(folder), arguments.calls)
        for _ in range(arguments.repeat):
            for nodes, times in seconds.items():
                times.append(measure(Path(folder), cores[:nodes]))
    one, two = (statistics.median(times) for times in seconds.values())
    for nodes, times in seconds.items():
        each = ", ".join(f"{time:.1f}" for time in times)
        rate = arguments.calls / statistics.median(times)
        print(f"{nodes} node(s): {each} s for {arguments.calls} calls, {rate:.1f} a second")
    print(f"two nodes are {one / two:.2f} times as fast as one (to reach: {arguments.ratio:g})")
    return 0 if one / two >= arguments.ratio else 1


def write_suite(folder: Path, calls: int) -> None:
    """A repository whose suite makes so many different calls."""
    tickets = "".join(f"{n},My order {n} has not arrived yet\n" for n in range(calls))
    for name, text in {
        "contracts/queues.yaml": CONTRACT,
        "contracts/prompt.md": PROMPT,
        "contracts/tickets.csv": f"id,ticket\n{tickets}",
        ".github/gatekeeper.yml": "limits: {calls: null, minutes: null}\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for command in (["init", "--quiet"], ["add", "."], [*identity, "commit", "-qm", "suite"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)


def measure(folder: Path, cores: list[int]) -> float:
    """The seconds that a run takes on one node for each of the cores."""
    with cluster(cores) as address, tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "gatekeeper", "run", "--repo", str(folder)]
        done = subprocess.run(
            [*command, "--out", out, "--ray", address], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        seconds: float = json.loads(Path(out, "result.json").read_text())["seconds"]
        return seconds


@contextmanager
def cluster(cores: list[int]) -> Iterator[str]:
    """A cluster with a node on each core, beside the processes that hold it together."""
    from ray.cluster_utils import Cluster

    everywhere = os.sched_getaffinity(0)
    started: Any = Cluster()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Not `temp_dir`, with which Ray fails if its usual folder does not exist.
        os.environ["RAY_TMPDIR"] = folder
        try:
            started.add_node(num_cpus=0, include_dashboard=False)
            for core in cores:
                os.sched_setaffinity(0, {core})
                started.add_node(num_cpus=1)
            os.sched_setaffinity(0, everywhere)
            yield str(started.address)
        finally:
            os.sched_setaffinity(0, everywhere)
            started.shutdown()


if __name__ == "__main__":
    raise SystemExit(main())
