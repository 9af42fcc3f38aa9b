"""`gatekeeper explain` and `mcp`: for agents that write prompts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from gatekeeper.cli.options import DEFAULT_OUT, Option, options
from gatekeeper.cli.output import print_json, readers_may_leave


def explain(arguments: argparse.Namespace) -> int:
    """Print what to do after a run, as short JSON for a program or an agent. Calls no model."""
    from gatekeeper.runs.library.explain import explain as explain_result

    found = explain_result(arguments.result)
    with readers_may_leave():
        print_json(found)
    return 0


def mcp(arguments: argparse.Namespace) -> int:
    """Serve `affected`, `validate`, `check` and `explain` to an agent, by MCP.

    The agent starts the server, and talks to it on standard input and output. `check` measures the
    work tree. What it may spend, and which models it calls, comes from the policy of the base
    branch. No tool writes a contract, a policy or a waiver.
    """
    from gatekeeper.cli.mcp_server import make_server

    make_server(arguments.repo, arguments.base).run()
    return 0


OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "explain": options(
        f"""
    RESULT  a result.json, or the folder that holds one (default: {DEFAULT_OUT})
    """,
        result={"nargs": "?", "default": DEFAULT_OUT, "type": str},
    ),
    "mcp": options("""
    --base REF  branch to merge into (default: the remote's default branch)
    """),
}
