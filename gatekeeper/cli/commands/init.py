"""`gatekeeper init`."""

from __future__ import annotations

import argparse

from gatekeeper.cli.output import readers_may_leave
from gatekeeper.git import Repository


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--action",
        metavar="OWNER/REPO@SHA",
        help="the release of gatekeeper for the workflows: its repository and full commit",
    )


def init(arguments: argparse.Namespace) -> int:
    """Write an example contract, a policy and workflows. Does not change existing files."""
    from gatekeeper.cli.starter import require_action, write_starter

    action = require_action(arguments.action) if arguments.action is not None else None
    with Repository.open(arguments.repo) as repository:
        root = repository.root or arguments.repo
        lines = list(write_starter(root, repository.default_branch(), action))
    with readers_may_leave():
        for line in lines:
            print(line)  # noqa: T201
    return 0
