"""From a comment to the command in it. Pure; who may give it is for others to say.

A command is a line of its own that begins the comment:

| line | meaning |
| --- | --- |
| `/gatekeeper rerun` | run the gate's job again |
| `/gatekeeper run NAME` | judge one contract here and now |
| `/gatekeeper full` | the whole suite on the pull request's head |
| `/gatekeeper waive NAME: REASON` | this contract shall not hold up this commit |
| `/gatekeeper accept [NAME]` | what head answers differently is what is wanted |
| `/gatekeeper explain NAME` | the evidence in words |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Name = Literal["rerun", "run", "full", "waive", "explain", "accept"]

PREFIX = "/gatekeeper"
REASON_LIMIT = 500

USAGE = """\
/gatekeeper rerun               run the gate again
/gatekeeper run NAME            judge one contract
/gatekeeper full                run the whole suite on this pull request's head
/gatekeeper waive NAME: REASON  let the contract not hold up this commit
/gatekeeper accept [NAME]       the new answers are the wanted ones
/gatekeeper explain NAME        the evidence in words"""

_CONTRACT = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_SHAPES: dict[Name, str] = {
    "rerun": "",
    "full": "",
    "run": rf"[ \t]+({_CONTRACT})",
    "explain": rf"[ \t]+({_CONTRACT})",
    "accept": rf"(?:[ \t]+({_CONTRACT}))?",
    "waive": rf"[ \t]+({_CONTRACT}):[ \t]*(\S.*)",
}
_WANTED: dict[Name, str] = {
    "rerun": "`rerun` takes nothing after it",
    "full": "`full` takes nothing after it",
    "run": "`run` needs the name of one contract",
    "explain": "`explain` needs the name of one contract",
    "accept": "`accept` takes the name of one contract or nothing",
    "waive": "`waive` needs a contract's name, a colon and a reason",
}


@dataclass(frozen=True, slots=True)
class Command:
    """What a comment asks for. `contract` is None where none is named, `more` says that other
    commands follow, which are not carried out."""

    name: Name
    contract: str | None = None
    reason: str = ""
    more: bool = False


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A comment that speaks to the gate in words it does not know; `why` is of our own making."""

    why: str


def read_command(text: str) -> Command | NotUnderstood | None:
    """The command that begins the comment; None where it does not speak to the gate."""
    first, *rest = text.strip().splitlines() or [""]
    if not first.startswith(PREFIX):
        return None
    said = first.removeprefix(PREFIX).strip()
    word = said.split(maxsplit=1)[0] if said else ""
    name = next((name for name in _SHAPES if name == word), None)
    if name is None:
        return NotUnderstood("there is no such command" if word else "a command is missing")
    arguments = re.fullmatch(_SHAPES[name], said.removeprefix(name))
    if arguments is None:
        return NotUnderstood(_WANTED[name])
    contract, reason = (*arguments.groups(), None, None)[:2]
    reason = reason or ""
    if len(reason) > REASON_LIMIT:
        return NotUnderstood(f"a reason has at most {REASON_LIMIT} characters")
    more = any(re.match(PREFIX, line) for line in rest)
    return Command(name, contract, reason, more)
