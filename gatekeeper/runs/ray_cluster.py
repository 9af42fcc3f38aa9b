"""Asks models on the nodes of a Ray cluster (`gatekeeper run --ray ADDRESS`).

Only single requests go to the cluster. Limits, retries, pace, order and the decision to stop stay
in this process, so the verdict is that of one machine. Each node has one actor with the models;
a request goes to the node with the fewest requests. If a node dies, its requests are asked again on
another node. What has been received stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import logging
import os
import pickle
import re
import signal
import socket
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper import __version__
from gatekeeper.contract.models.names import is_hosted
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, MeasurementError, UsageError
from gatekeeper.runs.model_source import ModelSource
from gatekeeper.runs.ray_node import NodeFailure, NodeModels, read_answer

LOCAL = "local"
_ADDRESS = re.compile(r"auto|local|(?:ray://)?(?P<host>[^\s:/@]+|\[[0-9a-fA-F:]+\]):(?P<port>\d+)")
_SECONDS_TO_CONNECT = 10.0
_SECONDS_TO_START = 120.0
_REQUESTS_AT_ONCE = 1000
"""Of one node; the runner's own limits are lower."""
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


@dataclass(eq=False, slots=True)
class _Node:
    """A node that answers. `actor` is a NodeModels there."""

    name: str
    actor: Any
    under_way: int = 0


class RayCluster(ModelSource):
    """A model client that hands each request to a node of a Ray cluster."""

    def __init__(self, ray: Any, through_litellm: Collection[str]) -> None:
        """`ray` is the module, connected to a cluster. Raises UsageError if a node lacks this
        version of gatekeeper, and MeasurementError if there is no node."""
        self._ray = ray
        self._through_litellm = tuple(through_litellm)
        self._opening = asyncio.Lock()
        self._nodes = self._open_nodes()

    @property
    def size(self) -> int:
        """The number of nodes that answer."""
        return len(self._nodes)

    def slots(self, model: str) -> int | None:
        """Return how many requests the nodes take at once, all together; None: any number."""
        asked = [node.actor.slots.remote(model) for node in self._nodes]
        each = list(map(_data, self._ray.get(asked)))
        known = [slots for slots in each if slots is not None]
        return sum(known) if known else None

    def can_stream(self, request: Request) -> bool:
        """Return whether every node can time the first token of the answer."""
        asked = [node.actor.can_stream.remote(_plain(request)) for node in self._nodes]
        return all(map(_data, self._ray.get(asked)))

    async def require_key(self, model: str) -> None:
        """Refuse a model that a node cannot ask for want of a key. Raises UsageError."""
        for node in self._nodes:
            missing = _data(await node.actor.find_missing_key.remote([model]))
            if missing:
                raise UsageError(f"node {node.name} of the Ray cluster: {missing}")

    async def complete(self, request: Request) -> Completion:
        node = await self._next_node()
        node.under_way += 1
        try:
            answer = await self._ask(node, request)
        finally:
            node.under_way -= 1
        if not isinstance(answer, NodeFailure):
            return answer
        if answer.unexpected:
            raise MeasurementError(f"node {node.name} of the Ray cluster: {answer.message}")
        raise answer.as_error()

    async def aclose(self) -> None:
        """Let go of the models on every node. Safe to call twice."""
        while self._nodes:
            self._let_go(self._nodes.pop())

    async def _ask(self, node: _Node, request: Request) -> Completion | NodeFailure:
        errors = self._ray.exceptions
        asked = None
        try:
            asked = node.actor.complete.remote(_plain(request))
            return _answer(await asked)
        except asyncio.CancelledError:
            if asked is not None:
                with contextlib.suppress(errors.RayError):
                    self._ray.cancel(asked)
            raise
        except (errors.RayTaskError, pickle.UnpicklingError) as error:
            raise MeasurementError(f"node {node.name} of the Ray cluster: {error}") from None
        except errors.RayError as error:
            if node in self._nodes:
                self._nodes.remove(node)
            # The node may have sent the request before it died.
            raise CallFailed(
                f"node {node.name} of the Ray cluster is gone",
                retryable=True,
                billable=is_hosted(request.model),
            ) from error

    async def _next_node(self) -> _Node:
        """Return the node with the fewest requests. Raises CallFailed if no node is left."""
        if not self._nodes:
            async with self._opening:
                if not self._nodes:
                    self._nodes = await asyncio.to_thread(self._open_nodes)
        return min(self._nodes, key=lambda node: node.under_way)

    def _open_nodes(self) -> list[_Node]:
        """Start the models' actor on every node that takes work."""
        nodes = [self._open_node(found) for found in self._ray.nodes() if _takes_work(found)]
        answering = list(filter(None, nodes))
        if not answering:
            raise CallFailed("no node of the Ray cluster answers", fatal=True)
        return answering

    def _open_node(self, found: dict[str, Any]) -> _Node | None:
        """Start the actor on a node; None if the node is gone."""
        errors = self._ray.exceptions
        name = str(found["NodeManagerHostname"])
        strategies = self._ray.util.scheduling_strategies
        here = strategies.NodeAffinitySchedulingStrategy(found["NodeID"], soft=False)
        # No restart and no repetition by Ray: the runner counts every request that is sent.
        models = self._ray.remote(NodeModels).options(
            num_cpus=0,
            max_concurrency=_REQUESTS_AT_ONCE,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=here,
        )
        actor = models.remote(self._through_litellm)
        try:
            version = _data(self._ray.get(actor.version.remote(), timeout=_SECONDS_TO_START))
        except errors.RayTaskError as error:
            raise UsageError(_not_installed(name)) from error
        except errors.ActorDiedError as error:
            if "ModuleNotFoundError" in str(error):
                raise UsageError(_not_installed(name)) from error
            return None
        except errors.RayError:
            return None
        if version != __version__:
            raise UsageError(
                f"node {name} of the Ray cluster has gatekeeper {version}, but this machine "
                f"has {__version__}; install {__version__} on that node"
            )
        return _Node(name, actor)

    def _let_go(self, node: _Node) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.kill(node.actor)


@contextlib.contextmanager
def connect(address: str, through_litellm: Collection[str]) -> Iterator[RayCluster]:
    """Connect to the Ray cluster at an address, and leave nothing of it behind.

    `address` is `auto` for the cluster that runs on this machine, `HOST:PORT`, `ray://HOST:PORT`,
    or `local` for a cluster of this machine alone that ends with the run. Raises UsageError for any
    other address and without Ray, and MeasurementError if there is no cluster.
    """
    _require_reachable(address)
    if importlib.util.find_spec("ray") is None:
        raise UsageError("--ray needs Ray on this machine: pip install 'gatekeeper[ray]'")
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import ray
    import ray.util.scheduling_strategies

    before = signal.getsignal(signal.SIGTERM)
    # Without an interface for it: what Ray prints to standard output of a node that died.
    ray._private.worker.print_to_stdstream = _print_nothing
    with tempfile.TemporaryDirectory(prefix="gk-", ignore_cleanup_errors=True) as folder:
        try:
            _refuse_objects()
            _init(ray, address, folder)
            signal.signal(signal.SIGTERM, before)  # Ray sets one of its own
            yield RayCluster(ray, through_litellm)
        finally:
            ray.shutdown()
            signal.signal(signal.SIGTERM, before)


def _init(ray: Any, address: str, folder: str) -> None:
    own = {"include_dashboard": False, "_temp_dir": folder} if address == LOCAL else {}
    # Ray puts the working folder on the import path of its workers. Nothing of a repository that
    # is tested may be imported there.
    with contextlib.chdir(folder):
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL, **own)
        except Exception as error:
            # Ray raises a bare Exception if a busy machine does not start a node in time.
            what = "Ray did not start" if address == LOCAL else "no Ray cluster answers"
            raise MeasurementError(f"--ray {address}: {what}: {error}") from error


def _print_nothing(*_: object, **__: object) -> None:
    """Print nothing."""


class _Refused(list[Any]):
    """What Ray takes for the objects in a message."""

    def __getitem__(self, _: Any) -> Any:
        return None


def _refuse_objects() -> None:
    """Keep this process, which may have keys, from unpickling what a node sends: an object or an
    error can be any code. Bytes stay bytes, and of an error, its text stays."""
    from ray import exceptions
    from ray._private import serialization
    from ray.util.client import client_pickler

    def error_of(sent: Any) -> Any:
        text = str(sent.formatted_exception_string)
        kind = exceptions.TaskCancelledError if "TaskCancelledError" in text else None
        return kind() if kind else exceptions.RayTaskError("a node", text, Exception(text))

    def find_class(_: Any, module: str, name: str) -> Any:
        if (module, name) == (client_pickler.__name__, "PickleStub"):
            return client_pickler.PickleStub
        raise pickle.UnpicklingError(f"the cluster sent an object: {module}.{name}")

    serialization.SerializationContext._deserialize_pickle5_data = lambda *_: _Refused()
    serialization._actor_handle_deserializer = lambda *_: None
    exceptions.RayError.from_ray_exception = staticmethod(error_of)
    client_pickler.ServerUnpickler.find_class = find_class


def _data(sent: Any) -> Any:
    """Return the data in the bytes that a node sent. Raises MeasurementError for anything else."""
    try:
        if not isinstance(sent, bytes):
            raise TypeError
        return json.loads(sent)
    except (TypeError, ValueError, RecursionError):
        raise MeasurementError("a node of the Ray cluster sent something else than data") from None


def _answer(sent: Any) -> Completion | NodeFailure:
    try:
        return read_answer(_data(sent))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        what = f"a node of the Ray cluster sent no answer: {error!r}"
        raise MeasurementError(what) from None


def _require_reachable(address: str) -> None:
    """Raise an error for an address that nobody listens at: Ray would wait for minutes."""
    found = _ADDRESS.fullmatch(address)
    if not found:
        raise UsageError(f"--ray {address}: give auto, local, HOST:PORT or ray://HOST:PORT")
    host, port = found["host"], found["port"]
    if host is None:
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_CONNECT):
            pass
    except (OSError, OverflowError) as error:
        raise MeasurementError(f"--ray {address}: no answer: {error}") from error


def _takes_work(node: dict[str, Any]) -> bool:
    """Return whether the node is alive and runs more than the cluster itself."""
    return bool(node["Alive"]) and node["Resources"].get("CPU", 0) > 0


def _not_installed(name: str) -> str:
    return (
        f"node {name} of the Ray cluster cannot load gatekeeper {__version__}; install this "
        "version in the Python of that node"
    )


def _plain(request: Request) -> Request:
    """Return the request as it can be sent to another process."""
    return replace(request, params=dict(request.params))
