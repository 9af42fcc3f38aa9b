"""From a comment to the command in it. Pure; who may give it is for others to say.

A command is the first line of the comment, as Markdown shows it: after up to three spaces, and
followed by a space, a tab or nothing. Indented or fenced code, quotes, hidden text before it and
characters that only look like it make no command.

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
import unicodedata
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

_COMMAND = re.compile(rf" {{0,3}}{PREFIX}(?:[ \t]+(.*))?", re.DOTALL)
_LINE_BREAK = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters but the tab: somebody may see more than one line in what has one of them."""
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
    """Return the command that begins the comment, or None if it does not speak to the gate."""
    first, *rest = (line.removesuffix("\r") for line in text.split("\n"))
    found = _COMMAND.fullmatch(first)
    if found is None or _LINE_BREAK.search(first):
        return None
    said = (found[1] or "").strip(" \t")
    word = re.split(r"[ \t]", said, maxsplit=1)[0]
    name = next((name for name in _SHAPES if name == word), None)
    if name is None:
        return NotUnderstood("there is no such command" if word else "a command is missing")
    arguments = re.fullmatch(_SHAPES[name], said.removeprefix(name))
    if arguments is None:
        return NotUnderstood(_WANTED[name])
    contract, reason = (*arguments.groups(), None, None)[:2]
    reason = (reason or "").strip()
    if name == "waive" and not _shows_something(reason):
        return NotUnderstood(_WANTED[name])
    if len(reason) > REASON_LIMIT:
        return NotUnderstood(f"a reason has at most {REASON_LIMIT} characters")
    more = any(_COMMAND.fullmatch(line) for line in rest)
    return Command(name, contract, reason, more)


def _shows_something(text: str) -> bool:
    """Whether a reader sees anything: neither blanks nor characters without a shape do."""
    return any(unicodedata.category(character)[0] not in "ZC" for character in text)
