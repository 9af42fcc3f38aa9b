"""Tools for containers beside the repository, and a GitHub behind GitHub's own description.

A proxy stands in front of the GitHub on 127.0.0.1: a request that the description does not
allow never arrives, and an answer that strays from it becomes a 500.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from container_lab import LAB, Lab, find_lab
from github_fake import FakeGithub


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of the image take minutes: they run when asked for by their marker."""
    if "container" in config.option.markexpr:
        return
    asked_for = pytest.mark.skip(reason="builds and runs the image: ask for it with `-m container`")
    for item in items:
        if item.get_closest_marker("container"):
            item.add_marker(asked_for)


@pytest.fixture(scope="session")
def lab() -> Lab:
    found = find_lab()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture
def github(lab: Lab, tmp_path: Path) -> Iterator[FakeGithub]:
    with FakeGithub() as fake, (tmp_path / "proxy.log").open("w") as log:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        proxy = subprocess.Popen(
            [LAB, "proxy", str(port), fake.url],
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


def _wait_for(port: int, proxy: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and proxy.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(0.2)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the proxy did not start")
