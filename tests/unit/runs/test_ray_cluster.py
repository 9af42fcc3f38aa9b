"""Requests go to the nodes of a cluster; one that dies loses none. No Ray is needed here."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.event_loop import in_event_loop

from gatekeeper import __version__
from gatekeeper.cli.main import main
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, MeasurementError, UsageError
from gatekeeper.runs import ray_cluster
from gatekeeper.runs.ray_cluster import RayCluster, connect
from gatekeeper.runs.ray_node import NodeFailure, answer_as_data, as_data


class RayError(Exception):
    pass


class ActorDiedError(RayError):
    pass


class RayTaskError(RayError):
    pass


Answer = Callable[[Request], Any]


class Method:
    """A method of an actor: `remote` gives something to await, or to get."""

    def __init__(self, does: Callable[..., Any]) -> None:
        self._does = does

    def remote(self, *given: Any) -> Any:
        return Asked(self._does, given)


class Asked:
    def __init__(self, does: Callable[..., Any], given: Any) -> None:
        self._does, self._given = does, given

    def get(self) -> Any:
        return sent(self._does(*self._given))

    def __await__(self) -> Any:
        yield from asyncio.sleep(0).__await__()
        found = self._does(*self._given)
        if asyncio.iscoroutine(found):
            found = yield from found.__await__()
        return sent(found)


def sent(found: Any) -> Any:
    """Return what Ray hands over: bytes, or what the test says."""
    if isinstance(found, Exception):
        raise found
    if isinstance(found, Completion | NodeFailure):
        return answer_as_data(found)
    return found.value if isinstance(found, Odd) else as_data(found)


class Odd:
    """Something else than a node of ours sends."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Node:
    """A node and its actor."""

    def __init__(self, number: int, answer: Answer, version: Any = __version__) -> None:
        self.asked: list[Request] = []
        self.alive = True
        self.about = {"NodeID": number, "NodeManagerHostname": f"node-{number}"}
        self.actor = SimpleNamespace(
            version=Method(lambda: version),
            slots=Method(lambda model: 2 if model.startswith("local/") else None),
            can_stream=Method(lambda _: number != 2),
            find_missing_key=Method(lambda _: "no key" if number == 2 else None),
            complete=Method(self._complete),
        )
        self._answer = answer

    def _complete(self, request: Request) -> Any:
        self.asked.append(request)
        return self._answer(request)


class FakeRay:
    """As much of the module as is used. The first node only holds the cluster together."""

    exceptions = SimpleNamespace(
        RayError=RayError, ActorDiedError=ActorDiedError, RayTaskError=RayTaskError
    )
    util = SimpleNamespace(
        scheduling_strategies=SimpleNamespace(
            NodeAffinitySchedulingStrategy=lambda node, *, soft: (node, soft)
        )
    )

    def __init__(self, *nodes: Node) -> None:
        self.workers = {node.about["NodeID"]: node for node in nodes}
        self.canceled: list[Any] = []
        self.killed: list[Any] = []

    def nodes(self) -> list[dict[str, Any]]:
        head = {"NodeID": 0, "NodeManagerHostname": "head", "Alive": True, "Resources": {}}
        return [
            head,
            *(
                {**node.about, "Alive": node.alive, "Resources": {"CPU": 1.0}}
                for node in self.workers.values()
            ),
        ]

    def remote(self, _: type) -> Any:
        def options(*, scheduling_strategy: Any, **settings: int) -> Any:
            node, soft = scheduling_strategy
            assert not soft
            assert (settings["max_restarts"], settings["max_task_retries"]) == (0, 0)
            return SimpleNamespace(remote=lambda _: self.workers[node].actor)

        return SimpleNamespace(options=options)

    def get(self, asked: Any, timeout: float = 0) -> Any:
        return [each.get() for each in asked] if isinstance(asked, list) else asked.get()

    def cancel(self, asked: Any) -> None:
        self.canceled.append(asked)

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)


def request(model: str = "openai/gpt-4o-mini") -> Request:
    return Request(model, (Message("user", "hello"),), {}, None, 0)


def answers(_: Request) -> Completion:
    return Completion("yes", cost_usd=0.1)


@in_event_loop
async def test_requests_are_spread_over_the_nodes_that_take_work() -> None:
    waiting = asyncio.Event()

    async def slowly(_: Request) -> Completion:
        await waiting.wait()
        return Completion("yes")

    nodes = [Node(number, slowly) for number in (1, 2)]
    cluster = RayCluster(FakeRay(*nodes), ())
    assert cluster.size == 2
    calls = [asyncio.create_task(cluster.complete(request())) for _ in range(10)]
    while sum(len(node.asked) for node in nodes) < 10:
        await asyncio.sleep(0)
    assert [len(node.asked) for node in nodes] == [5, 5]
    waiting.set()
    assert {call.text for call in await asyncio.gather(*calls)} == {"yes"}


@pytest.mark.parametrize(("model", "billable"), [("openai/x", True), ("local/smollm2", False)])
@in_event_loop
async def test_the_request_of_a_node_that_died_is_tried_elsewhere(
    model: str, billable: bool
) -> None:
    dead, alive = Node(1, lambda _: ActorDiedError()), Node(2, answers)
    ray = FakeRay(dead, alive)
    cluster = RayCluster(ray, ())
    with pytest.raises(CallFailed) as failure:
        await cluster.complete(request(model))
    assert (failure.value.retryable, failure.value.fatal) == (True, False)
    assert failure.value.billable == billable
    assert [(await cluster.complete(request(model))).text for _ in range(3)] == ["yes"] * 3
    assert (len(dead.asked), len(alive.asked)) == (1, 3)


@in_event_loop
async def test_without_a_node_the_run_ends() -> None:
    node = Node(1, lambda _: ActorDiedError())
    cluster = RayCluster(FakeRay(node), ())
    with pytest.raises(CallFailed):
        await cluster.complete(request())
    node.alive = False
    with pytest.raises(CallFailed) as failure:
        await cluster.complete(request())
    assert failure.value.fatal


@in_event_loop
async def test_a_node_that_came_back_is_asked_again() -> None:
    node = Node(1, lambda _: ActorDiedError())
    cluster = RayCluster(FakeRay(node), ())
    with pytest.raises(CallFailed):
        await cluster.complete(request())
    node._answer = answers
    assert (await cluster.complete(request())).text == "yes"


@in_event_loop
async def test_a_failed_call_keeps_what_it_says() -> None:
    failed = NodeFailure("slow down", retryable=True, retry_after=3.0, throttled=True)
    cluster = RayCluster(FakeRay(Node(1, lambda _: failed)), ())
    with pytest.raises(CallFailed, match="slow down") as failure:
        await cluster.complete(request())
    found = failure.value
    assert (found.retryable, found.retry_after, found.throttled) == (True, 3.0, True)
    assert (found.fatal, found.author, found.billable) == (False, False, False)


@pytest.mark.parametrize(
    "answer", [NodeFailure("Traceback", unexpected=True), RayTaskError("Traceback")]
)
@in_event_loop
async def test_an_error_that_nobody_foresaw_ends_the_run(answer: Any) -> None:
    cluster = RayCluster(FakeRay(Node(1, lambda _: answer)), ())
    with pytest.raises(MeasurementError) as failure:
        await cluster.complete(request())
    assert not isinstance(failure.value, CallFailed)


@pytest.mark.parametrize(
    "value",
    [
        Completion("yes"),
        None,
        "text",
        b"",
        b"no JSON",
        b"[" * 100_000,
        b"[]",
        b"null",
        b'{"completion": {}, "pause": null}',
        b'{"failure": {"message": "x"}}',
        b'{"failure": {"message": "x", "retry_after": true}}',
        b'{"failure": {"message": "x", "retry_after": null, "__class__": 1}}',
        as_data({"completion": {"text": 1}, "pause": None}),
    ],
    ids=repr,
)
@in_event_loop
async def test_what_is_no_data_is_no_answer(value: Any) -> None:
    cluster = RayCluster(FakeRay(Node(1, lambda _: Odd(value))), ())
    with pytest.raises(MeasurementError) as failure:
        await cluster.complete(request())
    assert not isinstance(failure.value, CallFailed)


@in_event_loop
async def test_an_answer_arrives_whole() -> None:
    said = Completion("h\u00e9 \ud800", 3, 4, cost_usd=0.5, finish_reason="stop", pause=2.5)
    found = await RayCluster(FakeRay(Node(1, lambda _: said)), ()).complete(request())
    assert (found, found.pause) == (said, 2.5)


@in_event_loop
async def test_a_cancelled_request_is_cancelled_on_its_node() -> None:
    started = asyncio.Event()

    async def never(_: Request) -> Completion:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    ray = FakeRay(Node(1, never))
    call = asyncio.create_task(RayCluster(ray, ()).complete(request()))
    await started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(ray.canceled) == 1


@in_event_loop
async def test_slots_count_on_every_node_and_keys_must_be_on_every_node() -> None:
    ray = FakeRay(*(Node(number, answers) for number in (1, 2, 3)))
    cluster = RayCluster(ray, ())
    assert cluster.slots("local/smollm2") == 6
    assert cluster.slots("openai/x") is None
    assert not cluster.can_stream(request())
    with pytest.raises(UsageError, match="node-2"):
        await cluster.require_key("openai/x")
    await cluster.aclose()
    await cluster.aclose()
    assert len(ray.killed) == 3


@pytest.mark.parametrize(
    "version", ["0.0.0", RayTaskError("ModuleNotFoundError"), ActorDiedError("ModuleNotFoundError")]
)
def test_a_node_with_another_version_is_refused(version: Any) -> None:
    with pytest.raises(UsageError, match="node-1"):
        RayCluster(FakeRay(Node(1, answers, version)), ())


def test_a_node_that_does_not_start_is_left_out() -> None:
    cluster = RayCluster(FakeRay(Node(1, answers, RayError()), Node(2, answers)), ())
    assert cluster.size == 1


@pytest.mark.parametrize(
    "address", ["", "ray", "host", "http://host:1", "host:x", "user@host:1", "host:1/x", "a b:1"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError), connect(address, ()):
        pass


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_nobody_at_the_address_could_not_be_measured(form: str) -> None:
    with socket.socket() as taken:  # nobody else can get the port, and nobody listens at it
        taken.bind(("127.0.0.1", 0))
        address = form.format(taken.getsockname()[1])
        with pytest.raises(MeasurementError, match="no answer"), connect(address, ()):
            pass


@pytest.mark.parametrize(
    ("address", "what"), [("local", "did not start"), ("auto", "no Ray cluster answers")]
)
def test_a_cluster_that_does_not_start_could_not_be_measured(
    address: str, what: str, tmp_path: Path
) -> None:
    """Ray raises a bare Exception if a node takes too long to start."""

    def init(*_: object, **__: object) -> None:
        raise Exception("the current node timed out during startup")

    with pytest.raises(MeasurementError, match=f"{what}.*timed out"):
        ray_cluster._init(SimpleNamespace(init=init), address, str(tmp_path))


def test_ray_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(ray_cluster.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"gatekeeper\[ray\]"), connect("local", ()):
        pass
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_recording_needs_no_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--ray", "local", "--replay", "samples.jsonl"]) == 2
    assert capsys.readouterr().err
