"""`gatekeeper gitlab` and `action`: run in a job of GitLab or GitHub."""

from __future__ import annotations

import argparse
import os

from gatekeeper.cli.arguments import add_out
from gatekeeper.cli.output import print_error


def add_gitlab(parser: argparse.ArgumentParser) -> None:
    add_out(parser)
    parser.add_argument(
        "--id",
        default="gatekeeper",
        help=(
            "the name of this gate; if a merge request has several gates, give each gate "
            "a different name, so that each gate has its own comment"
        ),
    )


def gitlab(arguments: argparse.Namespace) -> int:
    """Comment on the merge request of this GitLab job with the result of `gatekeeper check`.

    The token comes from the variable GATEKEEPER_GITLAB_TOKEN and is sent only to CI_SERVER_URL.
    """
    from gatekeeper.cli.gitlab import post_comment

    print_error(f"gatekeeper: {post_comment(arguments.out, arguments.id, os.environ)}")
    return 0


def add_action(_: argparse.ArgumentParser) -> None:
    """Add nothing: the command has no options."""


def action(_: argparse.Namespace) -> int:
    """Run as a step of a GitHub workflow, with inputs and event from the environment."""
    from gatekeeper.action.main import main

    return main()
