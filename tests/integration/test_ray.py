"""A full suite on a Ray cluster decides what one machine decides, also if a node dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.machine_needs import RAY
from support.openai_server import OpenAIServer, Reply
from support.pull_request import CONTRACT, answer, files
from support.same_result import without_time_and_calls

from gatekeeper.cli.main import main
from gatekeeper.runs.ray_cluster import connect

pytestmark = [
    pytest.mark.long,
    # Ray's own: files of its processes, and settings that it will change in a later version.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

KEY = "sk-0123456789abcdef"
FIXTURES = 20
ADAPTIVE = edited(
    CONTRACT,
    "sampling: {samples: 1, mode: fixed}",
    "sampling: {samples: 4, mode: adaptive}\nslo: {success_rate: 0.3}",
)
WHOLE = edited(CONTRACT, "name: sentiment", "name: whole", "samples: 1", "samples: 3")


AGENT = """\
contract: 1
name: agent
prompt: agent.md
model: openai/gpt-4o-mini
tools: [{name: find, inputSchema: {}}]
tool_results: [{tool: find, returns: "{{ args.id }} is paid"}]
fixtures: [{id: a, vars: {order: A1}}, {id: b, vars: {order: A2}}]
checks: [{type: equals, value: "{{ order }} is paid"}]
sampling: {samples: 3, mode: fixed}
slo: {success_rate: 0.3}
"""


@pytest.fixture(autouse=True)
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def suite(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("suite")
    contracts = {"contracts/sentiment.yaml": ADAPTIVE, "contracts/whole.yaml": WHOLE}
    made.commit("suite", {**files(FIXTURES), **contracts})
    return made


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A model whose address the nodes have too, because they start after it."""
    with OpenAIServer(answer) as started:
        yield started


@pytest.fixture
def cluster(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes on this machine that answer, and one that only holds the cluster together."""
    RAY.require()
    from ray.cluster_utils import Cluster

    started = Cluster()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Not `temp_dir`: Ray would write the cluster's address to its usual folder, and fail on a
        # machine where nothing has made that folder yet.
        monkeypatch.setenv("RAY_TMPDIR", folder)
        try:
            started.add_node(num_cpus=0, include_dashboard=False)
            started.add_node(num_cpus=1)
            started.add_node(num_cpus=1)
            yield started
        finally:
            started.shutdown()


def commands() -> Iterator[str]:
    """The command line of every process."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield file.read_text(errors="replace")


def kill(node: Any, cluster: Any) -> None:
    """Let a node die at once, with all of its processes."""
    (raylet,) = node.all_processes["raylet"]
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            number, parent = status.parent.name, status.read_text().rpartition(")")[2].split()[1]
            if int(parent) == raylet.process.pid:
                os.kill(int(number), signal.SIGKILL)
    cluster.remove_node(node, allow_graceful=False)


def run(suite: GitRepository, out: Path, *more: str) -> int:
    named = ["run", "--repo", str(suite.path), "--out", str(out), "--order-seed", "0" * 32]
    return main([*named, *more])


def result(out: Path) -> Any:
    return json.loads((out / "result.json").read_text())


def test_the_verdict_is_that_of_one_machine(
    cluster: Any, server: OpenAIServer, suite: GitRepository, tmp_path: Path
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    code = run(suite, tmp_path / "many", "--ray", cluster.address)
    many = len(server.requests)
    assert run(suite, tmp_path / "one") == code == 0
    found, one = result(tmp_path / "many"), result(tmp_path / "one")
    assert without_time_and_calls(found) == without_time_and_calls(one)
    assert found["calls"]["made"] == many
    assert found["cost_usd"] > 0
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_loop_of_tools_decides_as_on_one_machine(
    cluster: Any,
    server: OpenAIServer,
    git_repository: Callable[..., GitRepository],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def says(body: Mapping[str, Any]) -> str | Reply:
        said = body["messages"]
        if len(said) > 1:
            return str(said[-1]["content"])
        asked = {"name": "find", "arguments": json.dumps({"id": said[0]["content"]})}
        calls = ({"id": "x", "type": "function", "function": asked},)
        return Reply(None, finish_reason="tool_calls", tool_calls=calls)

    monkeypatch.setattr(server, "_answer", says)
    agent = git_repository("agent")
    agent.commit("agent", {"contracts/agent.yaml": AGENT, "contracts/agent.md": "{{ order }}"})
    assert run(agent, tmp_path / "many", "--ray", cluster.address) == 0
    many = len(server.requests)
    assert run(agent, tmp_path / "one") == 0
    found, one = result(tmp_path / "many"), result(tmp_path / "one")
    assert without_time_and_calls(found) == without_time_and_calls(one)
    assert found["calls"]["made"] == many == 2 * 3 * 2


def test_a_node_that_dies_loses_no_answer(
    cluster: Any,
    server: OpenAIServer,
    suite: GitRepository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its requests are asked again on the other node, and no other request is."""
    asked: Counter[str] = Counter()

    def says(body: Mapping[str, Any]) -> str:
        asked[json.dumps(body["messages"])] += 1
        if asked.total() == 30:  # requests of both nodes wait behind this one
            kill(next(iter(cluster.worker_nodes)), cluster)
        return answer(body)

    monkeypatch.setattr(server, "_answer", says)
    only = ("--contract", "whole")
    code = run(suite, tmp_path / "many", *only, "--ray", cluster.address)
    monkeypatch.setattr(server, "_answer", answer)
    assert run(suite, tmp_path / "one", *only) == code == 0
    found, one = result(tmp_path / "many"), result(tmp_path / "one")
    assert without_time_and_calls(found) == without_time_and_calls(one)
    lost = found["calls"]["made"] - 3 * FIXTURES
    assert 1 <= lost <= 16  # as many as were under way; some had not reached the model
    assert 3 * FIXTURES <= asked.total() <= found["calls"]["made"]
    assert found["calls"]["failed"] == 0


def test_without_a_node_nothing_was_measured(
    cluster: Any,
    server: OpenAIServer,
    suite: GitRepository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def says(body: Mapping[str, Any]) -> str:
        if len(server.requests) == 30:
            for node in list(cluster.worker_nodes):
                kill(node, cluster)
        return answer(body)

    monkeypatch.setattr(server, "_answer", says)
    assert run(suite, tmp_path, "--ray", cluster.address) == 3
    assert result(tmp_path)["verdict"] == "error"
    printed = capsys.readouterr()
    assert "no node of the Ray cluster answers" in printed.out
    assert "Raylet" not in printed.out + printed.err


def test_a_cluster_of_this_machine_leaves_and_prints_nothing_of_ray(
    server: OpenAIServer, suite: GitRepository, tmp_path: Path
) -> None:
    RAY.require()
    named = ["run", "--repo", str(suite.path), "--out", str(tmp_path / "out"), "--ray", "local"]
    # A module of the tested repository: no worker of the cluster may import it.
    (suite.path / "aiohttp.py").write_text("raise SystemExit")
    with tempfile.TemporaryDirectory() as folder:  # a socket's path must be short
        done = subprocess.run(
            [Path(sys.executable).parent / "gatekeeper", *named],
            cwd=suite.path,
            env=os.environ | {"TMPDIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        assert list(Path(folder).iterdir()) == []
        assert not any(folder in command for command in commands())
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("sampling") for line in done.stderr.splitlines())
    assert "ray" not in done.stdout.replace("--ray", "").lower().replace(str(tmp_path), "")


def test_nothing_that_a_node_sends_is_unpickled(tmp_path: Path) -> None:
    """The process that would unpickle it may have keys."""
    RAY.require()
    mark = tmp_path / "it-ran"

    class Evil(Exception):
        def __reduce__(self) -> Any:
            return os.mkdir, (str(mark),)

    class Node:
        def sends(self) -> Any:
            return Evil()

        def hides(self) -> Any:
            return {"a": [b"b", Evil()]}

        def fails(self) -> Any:
            raise Evil("wrong")

        def answers(self) -> bytes:
            return b'"data"'

    with connect("local", ()) as cluster:
        ray = cluster._ray
        node = ray.remote(Node).remote()
        for answer_of in (node.sends, node.hides):
            assert not isinstance(ray.get(answer_of.remote()), bytes)
        with pytest.raises(ray.exceptions.RayError):
            ray.get(node.fails.remote())

        async def await_all() -> list[Any]:
            every = [node.sends.remote(), node.hides.remote(), node.answers.remote()]
            return [await one for one in every]

        assert asyncio.run(await_all())[2] == b'"data"'

        class Broken:
            def __init__(self) -> None:
                raise Evil("at the start")

            def anything(self) -> None:
                """Do nothing."""

        with pytest.raises(ray.exceptions.RayError):
            ray.get(ray.remote(Broken).remote().anything.remote())
    assert not mark.exists()
