"""`gatekeeper init`."""

from __future__ import annotations

import argparse

from gatekeeper.git import Repository


def add(_: argparse.ArgumentParser) -> None:
    """It takes nothing."""


def init(arguments: argparse.Namespace) -> int:
    """A first contract, policy and workflow; files that are there already are left alone."""
    from gatekeeper.starter import write_starter

    with Repository.open(arguments.repo) as repository:
        for line in write_starter(repository.root or arguments.repo):
            print(line)  # noqa: T201
    return 0
