"""The commands of `gatekeeper`, by topic.

Each command is a function, which runs it and returns the exit code; its docstring is the command's
help. OPTIONS of its file has its options. A file is imported if one of its commands is run, or if
the help of all commands is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from gatekeeper.cli.options import Actions, Command, Option

COMMANDS: Mapping[str, str] = {
    "check": "checking",
    "run": "checking",
    "plan": "shards",
    "sample": "shards",
    "decide": "shards",
    "affected": "checking",
    "budget": "past",
    "history": "past",
    "drift": "past",
    "site": "past",
    "judge": "judge",
    "diff": "comparing",
    "sweep": "weak_prompts",
    "migrate": "migrate",
    "mutate": "weak_prompts",
    "blame": "weak_prompts",
    "selftest": "comparing",
    "validate": "checking",
    "explain": "agents",
    "mcp": "agents",
    "generate": "generate",
    "fixtures": "contracts",
    "tools": "tools",
    "init": "contracts",
    "convert": "contracts",
    "gitlab": "services",
    "action": "services",
    "notify": "services",
}
"""The module of each command, in the order of `gatekeeper --help`."""


def load(name: str) -> tuple[Command, tuple[Option, ...]] | Actions:
    """Return a command with its options, or the commands below it."""
    module = import_module(f"{__package__}.{COMMANDS[name]}")
    found: Command | Actions = getattr(module, name)
    return found if isinstance(found, Actions) else (found, module.OPTIONS[name])
