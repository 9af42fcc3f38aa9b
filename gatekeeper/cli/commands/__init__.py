"""The commands of `gatekeeper`, by topic.

Each command is a function, which runs it and returns the exit code; its docstring is the command's
help. A function `add_NAME` adds its arguments. A file is imported if one of its commands is run, or
if the help of all commands is shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module

Command = Callable[[argparse.Namespace], int]

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
    "mutate": "weak_prompts",
    "blame": "weak_prompts",
    "selftest": "comparing",
    "validate": "checking",
    "generate": "generate",
    "fixtures": "contracts",
    "init": "contracts",
    "convert": "contracts",
    "gitlab": "services",
    "action": "services",
}
"""The module of each command, in the order of `gatekeeper --help`."""


def load(name: str) -> tuple[Command, Callable[[argparse.ArgumentParser], None]]:
    """Return a command, and the function that adds its arguments."""
    module = import_module(f"{__package__}.{COMMANDS[name]}")
    return getattr(module, name), getattr(module, f"add_{name}")
