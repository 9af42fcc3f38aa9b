"""`gatekeeper init`."""

from __future__ import annotations

import argparse

from gatekeeper.commands.output import readers_may_leave
from gatekeeper.git import Repository


def add(_: argparse.ArgumentParser) -> None:
    """It takes nothing."""


def init(arguments: argparse.Namespace) -> int:
    """A first contract, policy and workflow; files that are there already are left alone."""
    from gatekeeper.starter import write_starter

    with Repository.open(arguments.repo) as repository:
        lines = list(write_starter(repository.root or arguments.repo))
    with readers_may_leave():
        for line in lines:
            print(line)  # noqa: T201
    return 0
