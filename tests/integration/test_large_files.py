"""A large binary beside the prompts costs nothing: not fetched, not read, not held in memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.git_server import GitServer
from support.pull_request import PROMPT
from support.pull_request_remote import TOKEN, Remote, break_prompt

MB = 1 << 20
SIZE = 200
"""Megabytes."""

# The peak of a process begins with that of the one that started it, and a shell is small.
FROM_A_SHELL = ("sh", "-c", '"$0" "$@"; exit $?', sys.executable)
AFFECTED = """\
import json, resource, sys
from pathlib import Path
from gatekeeper.action.checkout import Checkout
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.action.events import CheckPullRequest
from gatekeeper.action.inputs import ActionInputs

workspace, address, token, base, head, merge = sys.argv[1:]
name = "octo/prompts"
job = ActionInputs("pull_request", Path(), Path(workspace), name, token, server_url=address)
with Checkout(job) as checkout:
    change = checkout.change(CheckPullRequest(7, base, head, merge, same_repository=True))
    affected = find_affected(change, Policy(), SHAPES)
found = [[by.path for by in contract.affected_by] for contract in affected.contracts]
processes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
peak_mb = max(resource.getrusage(who).ru_maxrss for who in processes) / 1024
print(json.dumps({"causes": found, "peak_mb": peak_mb}))
"""


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    """A pull request in a repository with a file that no compression makes smaller."""
    folder = tmp_path_factory.mktemp("large")
    with GitServer(folder / "served", TOKEN) as server:
        made = Remote.make(folder, server)
        made.origin.config("core.bigFileThreshold", "1m")
        made.origin.config("core.compression", "0")
        large = made.origin.path / "model.bin"
        piece = os.urandom(MB)
        with large.open("wb") as file:
            for _ in range(SIZE):
                file.write(piece)
        os.utime(large, (0, 0))  # a file of this second is read again by each command of git
        made.propose(break_prompt)
        yield made


def partial(remote: Remote) -> None:
    """Depth 1, and of files above a megabyte the names alone."""
    remote.fetch(remote.merge, "--depth=1", "--filter=blob:limit=1m")


def whole(remote: Remote) -> None:
    """Depth 1 with all files, as actions/checkout leaves a commit that it was given."""
    made = remote.fetch(remote.merge, "--depth=1", "--filter=blob:limit=1m")
    for option in ("promisor", "partialclonefilter"):
        made.git("config", "--unset", f"remote.origin.{option}")
    packs = Path(".git/objects/pack")
    for pack in (remote.origin.path / packs).iterdir():
        os.link(pack, made.path / packs / pack.name)
    assert made.git("cat-file", "-s", f"{remote.merge}:model.bin") == str(SIZE * MB)


def whole_with_ref(remote: Remote) -> None:
    """The same as actions/checkout leaves it by itself."""
    whole(remote)
    made = GitRepository(remote.folder / "workspace")
    made.git("update-ref", "refs/remotes/pull/7/merge", remote.merge)


def nothing(remote: Remote) -> None:
    """The job has no checkout."""
    (remote.folder / "workspace").mkdir()


pytestmark = pytest.mark.long  # Writing the file takes seconds.
CHECKOUTS = (whole, whole_with_ref, partial, nothing)


@pytest.mark.parametrize("checkout", CHECKOUTS, ids=lambda made: made.__name__)
def test_two_hundred_megabytes_beside(remote: Remote, tmp_path: Path, checkout: Any) -> None:
    remote.folder = tmp_path
    checkout(remote)
    sent = remote.server.sent
    job = (str(tmp_path / "workspace"), remote.server.url, TOKEN)
    commits = (remote.base, remote.head, remote.merge)
    done = subprocess.run(
        [*FROM_A_SHELL, "-c", AFFECTED, *job, *commits], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["causes"] == [[PROMPT]]
    assert said["peak_mb"] < SIZE / 2
    assert remote.server.sent - sent < MB
