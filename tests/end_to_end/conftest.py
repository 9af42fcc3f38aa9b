"""Tools for containers beside the repository, and a GitHub behind GitHub's own description.

A proxy stands in front of the GitHub on 127.0.0.1: a request that the description does not
allow never arrives, and an answer that strays from it becomes a 500.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from end_to_end.github_description import excerpt
from end_to_end.runner import ROOT, Runner
from support.container_lab import LAB, Lab, find_lab
from support.github_server import FakeGithub
from support.machine_needs import CONTAINER_TOOLS
from support.openai_server import OpenAIServer
from support.pull_request import answer

PRISM = "npm/node_modules/@stoplight/prism-cli/dist/index.js"
NAME = "localhost/gatekeeper-end-to-end"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of the image take minutes: they run when asked for by their marker."""
    if "container" in config.option.markexpr:
        return
    left_out = pytest.mark.skip(reason="takes minutes; to run it: `make test-container`")
    for item in items:
        if item.get_closest_marker("container"):
            item.add_marker(left_out)


@pytest.fixture(scope="session")
def lab() -> Lab:
    CONTAINER_TOOLS.require()
    found = find_lab()
    assert isinstance(found, Lab)
    return found


@pytest.fixture(scope="session")
def image(lab: Lab) -> str:
    """Built from the Dockerfile; its name."""
    built = lab.run(str(LAB), "build", str(ROOT), f"{NAME}:latest")
    assert built.returncode == 0, built.stderr
    return f"{NAME}:latest"


@pytest.fixture(scope="session")
def released(lab: Lab, image: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the action.yml of a release, which names the image by its digest."""
    digest = lab.run("podman", "image", "inspect", "--format={{.Digest}}", image).stdout.strip()
    folder = tmp_path_factory.mktemp("released")
    script = (sys.executable, str(ROOT / "scripts/release_action.py"))
    made = lab.run(*script, f"{NAME}@{digest}", "--out", str(folder / "action.yml"))
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as server:
        yield server


@pytest.fixture
def runner(lab: Lab, image: str, released: Path, github: FakeGithub, model: OpenAIServer) -> Runner:
    return Runner(lab, image, released, github, model)


@pytest.fixture(scope="session")
def proxied(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeGithub]:
    tools = Path(lab.environment["CONTAINER_LAB"])
    folder = tmp_path_factory.mktemp("proxy")
    description = excerpt(tools, folder / "github.json")
    with FakeGithub() as fake, (folder / "proxy.log").open("w") as log:
        port = _free_port()
        proxy = subprocess.Popen(
            ["node", tools / PRISM, "proxy", "--errors", f"--port={port}", description, fake.url],
            env=lab.environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _wait_for(port, proxy)
            fake.public_url = f"http://127.0.0.1:{port}"
            yield fake
        finally:
            os.killpg(proxy.pid, signal.SIGTERM)
            proxy.wait()


@pytest.fixture
def github(proxied: FakeGithub) -> FakeGithub:
    """It takes seconds to start, so that all tests have the same, each from the beginning."""
    proxied.forget()
    return proxied


def _free_port() -> int:
    """Return a port at which nobody listens. The system gives those below 32768 to nobody who asks
    for any port, so that it is still free when the proxy has started."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    pytest.fail("no port is free")


def _wait_for(port: int, proxy: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and proxy.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(0.2)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the proxy did not start")
