"""`gatekeeper action`."""

from __future__ import annotations

import argparse


def add(_: argparse.ArgumentParser) -> None:
    """Add nothing: the command has no options."""


def action(_: argparse.Namespace) -> int:
    """Run as a step of a GitHub workflow, with inputs and event from the environment."""
    from gatekeeper.action.main import main

    return main()
