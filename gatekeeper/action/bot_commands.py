"""Reads the command in a comment. `bot` decides who may give commands. Pure.

A command is the first line of the comment, as Markdown shows it: after up to three spaces, and
followed by a space, a tab or nothing. Indented or fenced code, quotes, a line after hidden text
and characters that only look similar are not commands.

| line | meaning |
| --- | --- |
| `/gatekeeper rerun` | run the gate's job again |
| `/gatekeeper run NAME` | run one contract now |
| `/gatekeeper full` | run the whole suite on the pull request's head |
| `/gatekeeper waive NAME: REASON` | do not let this contract block this commit |
| `/gatekeeper accept [NAME]` | accept a regression as intended |
| `/gatekeeper explain NAME` | explain the evidence in words |
| `/gatekeeper propose` | open a pull request with contracts for prompts without one |
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

Name = Literal["rerun", "run", "full", "waive", "explain", "accept", "propose"]

PREFIX = "/gatekeeper"
REASON_LIMIT = 500

USAGE = """\
/gatekeeper rerun               run the gate again
/gatekeeper run NAME            run one contract and post the result
/gatekeeper full                run the whole suite on this pull request's head
/gatekeeper waive NAME: REASON  do not let the contract block this commit
/gatekeeper accept [NAME]       accept a regression as intended
/gatekeeper explain NAME        run one contract and explain the evidence in words
/gatekeeper propose             open a pull request with contracts for prompts that have none"""

_COMMAND = re.compile(rf" {{0,3}}{PREFIX}(?:[ \t]+(.*))?", re.DOTALL)
_LINE_BREAK = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters except the tab: some programs show text with one of them as several lines."""
_CONTRACT = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_SHAPES: dict[Name, str] = {
    "rerun": "",
    "full": "",
    "propose": "",
    "run": rf"[ \t]+({_CONTRACT})",
    "explain": rf"[ \t]+({_CONTRACT})",
    "accept": rf"(?:[ \t]+({_CONTRACT}))?",
    "waive": rf"[ \t]+({_CONTRACT}):[ \t]*(\S.*)",
}
_WANTED: dict[Name, str] = {
    "rerun": "write `/gatekeeper rerun` without further words",
    "full": "write `/gatekeeper full` without further words",
    "propose": "write `/gatekeeper propose` without further words",
    "run": "add the name of one contract after `run`",
    "explain": "add the name of one contract after `explain`",
    "accept": "write `/gatekeeper accept` alone, or add the name of one contract",
    "waive": "write the name of a contract, a colon and a reason after `waive`",
}


@dataclass(frozen=True, slots=True)
class Command:
    """The command in a comment. `contract` is None if the comment names none; `more` says that
    other commands follow, which are not carried out."""

    name: Name
    contract: str | None = None
    reason: str = ""
    more: bool = False


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A comment that begins with `/gatekeeper` and is not a valid command. `why` contains no text
    of the comment."""

    why: str


def read_command(text: str) -> Command | NotUnderstood | None:
    """Return the command in the comment's first line, or None if there is none."""
    first, *rest = (line.removesuffix("\r") for line in text.split("\n"))
    found = _COMMAND.fullmatch(first)
    if found is None or _LINE_BREAK.search(first):
        return None
    said = (found[1] or "").strip(" \t")
    word = re.split(r"[ \t]", said, maxsplit=1)[0]
    name = next((name for name in _SHAPES if name == word), None)
    if name is None:
        return NotUnderstood("this command does not exist" if word else "a command is missing")
    arguments = re.fullmatch(_SHAPES[name], said.removeprefix(name))
    if arguments is None:
        return NotUnderstood(_WANTED[name])
    contract, reason = (*arguments.groups(), None, None)[:2]
    reason = (reason or "").strip()
    if name == "waive" and not _shows_something(reason):
        return NotUnderstood(_WANTED[name])
    if len(reason) > REASON_LIMIT:
        return NotUnderstood(f"shorten the reason to {REASON_LIMIT} characters")
    more = any(_COMMAND.fullmatch(line) for line in rest)
    return Command(name, contract, reason, more)


def _shows_something(text: str) -> bool:
    """Return whether the text has a visible character."""
    return any(unicodedata.category(character)[0] not in "ZC" for character in text)
