"""`gatekeeper gitlab` and `action`: run in a job of GitLab or GitHub."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from gatekeeper.cli.options import Option, options
from gatekeeper.cli.output import print_error


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
}
