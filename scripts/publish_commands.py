"""Writes the reference of all commands in docs/commands.md from the command line itself.

    python -m scripts.publish_commands

The reference stands between two comments; whatever is outside them is written by hand.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gatekeeper.cli.main import command_parser

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
_PART = re.compile(r"(<!-- commands: [^\n]* -->\n).*?(<!-- end of commands -->\n)", re.DOTALL)
_EVERYWHERE = ("--help", "--repo", "--env-file", "--version")
"""Options that every command has; the head of the page explains them."""


_COMMON = 3
"""An option that so many commands have, with the same meaning, is explained once."""


def page(text: str) -> str:
    """Return the page with its generated part as it should be."""
    if not _PART.search(text):
        raise ValueError("docs/commands.md has no part `commands`")
    written = "\n".join(_sections(dict(_every(command_parser()))))
    return _PART.sub(lambda found: f"{found[1]}\n{written}\n{found[2]}", text)


def _every(parser: argparse.ArgumentParser, above: str = "") -> Iterator[tuple[str, Command]]:
    """Yield each command below the parser by its whole name, before the commands below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield f"{above}{name}", Command(command)
                yield from _every(command, f"{above}{name} ")


class Command:
    """What a command does, and each of its options as a reader types it, with the meaning."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        """Read the command's description and options."""
        self.about = _marked(" ".join((parser.description or "").split()))
        self.options = {
            _written(action): _meaning(parser, action)
            for action in parser._actions
            if action.help not in (None, argparse.SUPPRESS)
            and not isinstance(action, argparse._SubParsersAction)
            and not set(action.option_strings) & set(_EVERYWHERE)
        }


def _sections(commands: dict[str, Command]) -> Iterator[str]:
    """Yield the lines about the common options, then those about each command."""
    found = Counter(item for command in commands.values() for item in command.options.items())
    common: dict[str, str] = {}
    for (option, meaning), times in found.most_common():
        if times >= _COMMON and option.startswith("`--"):
            common.setdefault(option, meaning)
    yield "## Options of several commands"
    yield "Below, *also* names those of them that a command has."
    yield ""
    yield from (f"- {option}: {meaning}" for option, meaning in common.items())
    yield ""
    for name, command in commands.items():
        yield f"##{'#' * name.count(' ')} `gatekeeper {name}`"
        yield command.about
        yield ""
        own = [item for item in command.options.items() if item not in common.items()]
        yield from (f"- {option}: {meaning}" for option, meaning in own)
        shared = [
            option for option, meaning in command.options.items() if (option, meaning) not in own
        ]
        if shared:
            names = (option.partition(" ")[0].strip("`") for option in shared)
            yield "- also " + ", ".join(f"`{name}`" for name in names)
        yield from [""] * bool(command.options)


def _written(action: argparse.Action) -> str:
    """Return an option as a reader types it, such as `--base REF`."""
    value = "" if action.nargs == 0 else _value(action)
    names = action.option_strings or [value]
    if action.option_strings and value:
        names = [f"{name} {value}" for name in names]
    return ", ".join(f"`{name}`" for name in names)


def _value(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest.upper())
    forms = {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}
    return forms.get(str(action.nargs), name)


def _meaning(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    parts = [_marked(" ".join((str(action.help) % vars(action)).split()))]
    if action.choices:
        parts.append(", ".join(f"`{choice}`" for choice in action.choices))
    if action.required and action.option_strings:
        parts.append("required")
    others = [
        other.option_strings[-1]
        for group in command._mutually_exclusive_groups
        if action in group._group_actions
        for other in group._group_actions
        if other is not action
    ]
    if others:
        parts.append("not with " + " or ".join(f"`{other}`" for other in others))
    return "; ".join(parts)


def _marked(text: str) -> str:
    """Return the text with its options as code."""
    return re.sub(r"(`[^`]*`)|(--[a-z][a-z-]*)", lambda found: found[1] or f"`{found[2]}`", text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
