"""Waivers as the gate's own comments carry them: a hidden first line, believed on proof only.

The line counts where the gate's own account wrote the comment, where it is the comment's first,
and where the command it speaks of still stands on the same pull request, by the same person and
in the same words. Any workflow of a repository comments as the same account, so the account
alone proves nothing; and who deletes or rewrites the command takes the waiver back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gatekeeper.github.command import Command, read_command
from gatekeeper.github.repository_api import Remark
from gatekeeper.result import Waiver

WAIVER_MARKER = "<!-- gatekeeper-waiver "

_LINE = re.compile(rf"{re.escape(WAIVER_MARKER)}(\{{.*\}}) -->")
_FIELDS = {"contract", "kind", "author", "sha", "reason", "time", "comment"}
_UNSAFE = re.compile("[-<>&]")


def waiver_line(waiver: Waiver, comment_id: int) -> str:
    """The hidden line that records a waiver given by the command in that comment."""
    text = json.dumps({**asdict(waiver), "comment": comment_id}, separators=(",", ":"))
    # Two dashes would end the HTML comment, whoever wrote them into the reason.
    safe = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return f"{WAIVER_MARKER}{safe} -->"


def read_waivers(remarks: Sequence[Remark], sha: str) -> tuple[tuple[Waiver, ...], tuple[str, ...]]:
    """The waivers that count for the commit, and what to say of the others."""
    by_id = {remark.id: remark for remark in remarks}
    waivers: list[Waiver] = []
    notices: list[str] = []
    for remark in remarks:
        record = _record(remark.body)
        if record is None:
            continue
        if not remark.own:
            notices.append(f"A waiver in a comment of @{remark.author} is ignored: it is forged.")
            continue
        command = by_id.get(record.pop("comment"))
        waiver = Waiver(**record)
        if command is None or not _is_the_command(command, waiver):
            notices.append(f"{_named(waiver)} is ignored: nobody's comment asks for it.")
        elif waiver.sha != sha:
            notices.append(f"{_named(waiver)} was for {waiver.sha[:10]} and is void by now.")
        else:
            waivers.append(waiver)
    return tuple(waivers), tuple(notices)


def unknown_waivers(waivers: Sequence[Waiver], names: Sequence[str]) -> tuple[str, ...]:
    """What to say of waivers for contracts that there are none of."""
    return tuple(
        f"{_named(waiver)} is ignored: no contract has that name."
        for waiver in waivers
        if waiver.contract is not None and waiver.contract not in names
    )


def _record(body: str) -> dict[str, Any] | None:
    found = _LINE.fullmatch(body.split("\n", 1)[0].rstrip("\r"))
    if found is None:
        return None
    try:
        record = json.loads(found[1])
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.keys() != _FIELDS:
        return None
    texts = [record[name] for name in ("author", "sha", "reason", "time")]
    sound = (
        all(isinstance(text, str) for text in texts)
        and (record["contract"] is None or isinstance(record["contract"], str))
        and record["kind"] in ("waive", "accept")
        and type(record["comment"]) is int
    )
    return record if sound else None


def _is_the_command(remark: Remark, waiver: Waiver) -> bool:
    asked = read_command(remark.body)
    return (
        isinstance(asked, Command)
        and remark.author == waiver.author
        and (asked.name, asked.contract, asked.reason)
        == (waiver.kind, waiver.contract, waiver.reason)
    )


def _named(waiver: Waiver) -> str:
    of = f" of {waiver.contract}" if waiver.contract else ""
    return f"The waiver{of} by @{waiver.author}"
