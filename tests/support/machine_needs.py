"""What some tests need and not every machine has, and the command that makes these tests run.

CONTRIBUTING.md has the same table; `tests/unit/project/test_skipped_tests.py` compares the two.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.browser import PROGRAM
from support.container_lab import Lab, find_lab
from support.postgresql_server import programs

OFFICIAL_SERVERS = (
    *("mcp-server-everything", "mcp-server-filesystem", "mcp-server-git", "mcp-server-memory"),
    "mcp-server-time",
)
DATA = Path(__file__).parents[2].parent / "shared" / "data"
# Only root, also the root of an own namespace, may mount a file system.
UNSHARE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


@dataclass(frozen=True)
class Need:
    """A need of some tests: what it is, how to meet it, and whether this machine does."""

    what: str
    command: str
    is_met: Callable[[], bool]

    @property
    def reason(self) -> str:
        return f"needs {self.what}; to run it: {self.command}"

    @property
    def mark(self) -> pytest.MarkDecorator:
        """Skips the marked tests on a machine that does not meet the need."""
        return pytest.mark.skipif(not self.is_met(), reason=self.reason)

    def require(self) -> None:
        """Skip the test that runs now, or that asks for the fixture that runs now."""
        if not self.is_met():
            pytest.skip(self.reason)


def _mounts() -> bool:
    command = [*UNSHARE, "sh", "-c", "mount -t tmpfs none /mnt"]
    return (
        bool(shutil.which("unshare"))
        and not subprocess.run(command, capture_output=True).returncode
    )


def _has_landlock() -> bool:
    from gatekeeper.sandbox.restrictions import landlock_version

    return landlock_version() > 0


MCP_SERVERS = Need(
    "one of the official MCP servers",
    "`npm install -g @modelcontextprotocol/server-everything`, or `pip install mcp-server-time`",
    lambda: any(map(shutil.which, OFFICIAL_SERVERS)),
)
ROOT_USER = Need(
    "root, because these tests give files to another user",
    "`sudo .venv/bin/python -m pytest FILE`",
    lambda: os.geteuid() == 0,
)
MOUNT = Need(
    "the right to mount a file system",
    "`sudo .venv/bin/python -m pytest FILE`",
    _mounts,
)
LINUX = Need(
    "Linux, for its limits of memory, its filters of system calls or `/dev/full`",
    "`make test` on Linux or in a Linux container",
    lambda: sys.platform == "linux",
)
LANDLOCK = Need(
    "Linux 5.13 or newer with Landlock",
    "`make test` on a machine whose `/sys/kernel/security/lsm` names `landlock`",
    _has_landlock,
)
CHROMIUM = Need(
    "Chromium",
    "`apt-get install chromium`, then `make test-rest`",
    lambda: PROGRAM is not None,
)
POSTGRESQL = Need(
    "a PostgreSQL server",
    "`apt-get install postgresql`, then `make test-rest`",
    lambda: programs() is not None,
)
RAY = Need(
    "Ray",
    "`make test-rest`, which installs Ray",
    lambda: find_spec("ray") is not None,
)
NODE = Need(
    "Node.js",
    "`apt-get install nodejs`, then `make test`",
    lambda: shutil.which("node") is not None,
)
EVALSIG = Need(
    "evalsig",
    "`make .venv/.bench-ready`, then `make test`",
    lambda: find_spec("evalsig") is not None,
)
RECORDED_OUTPUTS = Need(
    "recorded outputs of PromptPex, PCSL and JudgeBench, which are not in the repository",
    "put the maintainers' folder `shared/data` beside your clone, then `make test-all`",
    DATA.is_dir,
)
CONTAINER_TOOLS = Need(
    "root, podman and the maintainers' tools in `shared/tools` beside your clone",
    "`../shared/tools/container-lab up`, then `make test-container`",
    lambda: isinstance(find_lab(), Lab),
)
NEEDS = {name: value for name, value in globals().items() if isinstance(value, Need)}
