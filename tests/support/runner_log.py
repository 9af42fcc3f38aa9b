"""What GitHub's runner makes of what a step leaves: commands in its log, lines of its output file.

After actions/runner, `src/Runner.Common/ActionCommand.cs` (both syntaxes) and
`src/Runner.Worker/FileCommandManager.cs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

COMMANDS = frozenset(
    {
        *("add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group"),
        *("internal-set-repo-path", "notice", "remove-matcher", "save-state", "set-env"),
        *("set-output", "stop-commands", "warning", "command", "section"),
    }
)


@dataclass(frozen=True)
class Command:
    name: str
    properties: dict[str, str]
    data: str


def commands(log: str) -> list[Command]:
    """Every command that the runner finds; it reads lines as .NET's StreamReader does."""
    return [found for line in re.split("\r\n|\r|\n", log) for found in _command(line)]


def _command(line: str) -> Iterator[Command]:
    trimmed = line.lstrip()
    if trimmed.startswith("::") and (end := trimmed.find("::", 2)) >= 0:
        yield _parsed(trimmed[2:end], trimmed[end + 2 :], ",")
    elif (start := line.find("##[")) >= 0 and (end := line.find("]", start)) >= 0:
        yield _parsed(line[start + 3 : end], line[end + 1 :], ";")


def _parsed(head: str, data: str, separator: str) -> Command:
    name, _, rest = head.partition(" ")
    pairs = [part.partition("=") for part in rest.strip().split(separator) if part]
    return Command(name, {key: _unescaped(value) for key, _, value in pairs}, _unescaped(data))


def _unescaped(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ",")):
        text = text.replace(code, character)
    return text.replace("%25", "%")


def outputs(text: str) -> dict[str, str]:
    """The output file as the runner reads it; raises ValueError where the step would fail."""
    found: dict[str, str] = {}
    lines = iter(re.split("\r\n|\r|\n", text.removesuffix("\n")))
    for line in lines:
        equals, heredoc = line.find("="), line.find("<<")
        if heredoc >= 0 and (equals < 0 or heredoc < equals):
            name, _, delimiter = line.partition("<<")
            value: list[str] = []
            for inner in lines:
                if inner == delimiter:
                    break
                value.append(inner)
            else:
                raise ValueError(f"no end of {name}")
            found[name] = "\n".join(value)
        elif equals >= 0:
            found[line[:equals]] = line[equals + 1 :]
        elif line:
            raise ValueError(line)
    return found
