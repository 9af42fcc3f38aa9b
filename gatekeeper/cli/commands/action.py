"""`gatekeeper action`."""

from __future__ import annotations

import argparse


def add(_: argparse.ArgumentParser) -> None:
    """It takes nothing."""


def action(_: argparse.Namespace) -> int:
    """The container's entry: inputs and event come from the environment."""
    from gatekeeper.action.main import main

    return main()
