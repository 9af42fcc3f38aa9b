"""`gatekeeper gitlab`, `action` and `notify`: run in a job of GitLab or GitHub, or test what it
does."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from gatekeeper.cli.options import REQUIRED, Option, options
from gatekeeper.cli.output import print_error, print_lines
from gatekeeper.errors import PublishError, UsageError


def gitlab(arguments: argparse.Namespace) -> int:
    """Comment on the merge request of this GitLab job with the result of `gatekeeper check`.

    The token comes from the variable GATEKEEPER_GITLAB_TOKEN and is sent only to CI_SERVER_URL.
    """
    from gatekeeper.cli.gitlab import post_comment

    print_error(f"gatekeeper: {post_comment(arguments.out, arguments.id, os.environ)}")
    return 0


def action(_: argparse.Namespace) -> int:
    """Run as a step of a GitHub workflow, with inputs and event from the environment."""
    from gatekeeper.action.main import main

    return main()


def notify(arguments: argparse.Namespace) -> int:
    """Send a test message to an address for notifications.

    The exit code is 3 if it could not be sent.
    """
    from gatekeeper.reports.notifications import send

    addresses = arguments.test.split()
    if not addresses:
        raise UsageError("--test: the address is empty; give one that docs/reports.md lists")
    text = "This is a test: the gate can send notifications to this address."
    unsent = send(addresses, "Gatekeeper", text, explain=True)
    for said in unsent:
        print_error(f"gatekeeper: {said}")
    if not unsent:
        print_lines(["The message was sent. Look whether it has arrived."])
    return PublishError.exit_code if unsent else 0


OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "gitlab": options(
        """
    @out
    --id ID  the name of this gate; if a merge request has several gates, give each gate a
             different name, so that each gate has its own comment
    """,
        id={"default": "gatekeeper"},
    ),
    "action": (),
    "notify": options(
        "    --test ADDRESS  the address, as apprise writes it",
        test=REQUIRED,
    ),
}
