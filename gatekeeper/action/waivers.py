"""Reads and writes waivers: hidden, signed first lines of the gate's own comments. Pure.

All workflows of a repository comment with the same account, so the account alone proves nothing.
A record therefore counts only if

- it is the first line of a comment by the gate's own account,
- a key of this run signed it, for this repository, pull request, commit and command,
- the command is on the same pull request, by the same person and in the same words.

`proven_waivers` checks the rest on GitHub: the person's present role, and whether the command was
edited. To withdraw a waiver, its author deletes or edits the command.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from typing import Any

from gatekeeper.action.events import Command, read_command
from gatekeeper.action.github.repository import Remark, RepositoryApi, WorkflowRun, enough
from gatekeeper.errors import PublishError
from gatekeeper.gate.results.result import Waiver
from gatekeeper.reports.markers import WAIVER_MARKER

_LINE = re.compile(rf"{re.escape(WAIVER_MARKER)}(\{{.*\}}) -->")
_SIGNED = {"contract", "kind", "author", "sha", "reason", "time", "comment"}
_SIGNATURE = re.compile("[0-9a-f]{64}")
_MOST_SIGNATURES = 32
_UNSAFE = re.compile("[-<>&]")
_AGAIN = "Repeat the command"


@dataclass(frozen=True, slots=True)
class Place:
    """The pull request that a waiver is for, and the keys that sign there.

    Without keys nothing can be signed or verified; `proven_waivers` then checks times on GitHub.
    """

    repository: str
    number: int
    keys: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record for the commit, with the comment that gave the command."""

    waiver: Waiver
    command: Remark


def waiver_line(waiver: Waiver, comment_id: int, place: Place) -> str:
    """Return the hidden line that records a waiver given by the command in that comment."""
    record = {**asdict(waiver), "comment": comment_id}
    record["signatures"] = [_signature(record, place, key) for key in place.keys]
    text = json.dumps(record, separators=(",", ":"))
    # Two dashes would end the HTML comment, whoever wrote them into the reason.
    safe = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return f"{WAIVER_MARKER}{safe} -->"


def read_waivers(
    remarks: Sequence[Remark], sha: str, place: Place
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """Return the records that may count for the commit, and notices about the others."""
    by_id = {remark.id: remark for remark in remarks}
    candidates: list[Candidate] = []
    notices: list[str] = []
    for remark in remarks:
        record = _record(remark.body)
        if record is None:
            continue
        if not remark.own:
            text = f"A forged waiver in a comment of @{remark.author} is ignored."
            notices.append(text)
            continue
        signed = _is_signed(record, place)
        command = by_id.get(record["comment"])
        waiver = Waiver(**{name: record[name] for name in _SIGNED - {"comment"}})
        if command is None or not _is_the_command(command, waiver):
            text = "is ignored, because the comment with its command was deleted or changed."
            notices.append(f"{named(waiver)} {text}")
        elif not signed:
            notices.append(f"{named(waiver)} is ignored, because {_unsigned(record)}")
        elif waiver.sha != sha:
            notices.append(
                f"{named(waiver)} was for the commit {waiver.sha[:10]} and no longer has an effect."
            )
        else:
            candidates.append(Candidate(waiver, command))
    return tuple(candidates), tuple(dict.fromkeys(notices))


def unknown_waivers(waivers: Sequence[Waiver], names: Sequence[str]) -> tuple[str, ...]:
    """Return notices about waivers for contracts that do not exist."""
    return tuple(
        f"{named(waiver)} is ignored, because there is no contract {waiver.contract}."
        for waiver in waivers
        if waiver.contract is not None and waiver.contract not in names
    )


def named(waiver: Waiver) -> str:
    """Return the words for the waiver in a notice."""
    of = f" of the contract `{waiver.contract}`" if waiver.contract else ""
    return f"The waiver{of} by @{waiver.author}"


def _record(body: str) -> dict[str, Any] | None:
    found = _LINE.fullmatch(body.split("\n", 1)[0].rstrip("\r"))
    if found is None:
        return None
    try:
        record = json.loads(found[1])
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.keys() - {"signatures"} != _SIGNED:
        return None
    # Records of version 1.0 have no signatures.
    signatures = record.setdefault("signatures", [])
    texts = [record[name] for name in ("author", "sha", "reason", "time")]
    sound = (
        all(isinstance(text, str) for text in texts)
        and (record["contract"] is None or isinstance(record["contract"], str))
        and record["kind"] in ("waive", "accept")
        and type(record["comment"]) is int
        and isinstance(signatures, list)
        and len(signatures) <= _MOST_SIGNATURES
        and all(isinstance(s, str) and _SIGNATURE.fullmatch(s) for s in signatures)
    )
    return record if sound else None


def _signature(record: dict[str, Any], place: Place, key: bytes) -> str:
    signed = {name: record[name] for name in _SIGNED}
    signed |= {"repository": place.repository, "pull_request": place.number}
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"))
    return hmac.digest(key, text.encode(), "sha256").hex()


def _is_signed(record: dict[str, Any], place: Place) -> bool:
    """Return whether a key of this run signed the record, or the run has no key.

    One key is enough: the gate's job may have keys that the bot's job does not have.
    """
    wanted = [_signature(record, place, key) for key in place.keys]
    found = record["signatures"]
    return not wanted or any(hmac.compare_digest(a, b) for a in wanted for b in found)


def _unsigned(record: dict[str, Any]) -> str:
    how = "the waiver is not signed" + (" with this run's key" if record["signatures"] else "")
    return (
        f"{how}. {_AGAIN}; if the new waiver has no effect either, give the bot's job "
        "and the gate's job the same secret GATEKEEPER_WAIVER_KEY"
    )


def _is_the_command(remark: Remark, waiver: Waiver) -> bool:
    command = read_command(remark.body)
    return (
        isinstance(command, Command)
        and remark.by_person
        and remark.author == waiver.author
        and (command.name, command.contract, command.reason)
        == (waiver.kind, waiver.contract, waiver.reason)
    )


# Decides whether a waiver counts, by its author's present role and by its command on GitHub.


_PULL_REQUEST_EVENTS = ("pull_request", "pull_request_target")


def proven_waivers(
    api: RepositoryApi, place: Place, head_sha: str | None, permission: str
) -> tuple[tuple[Waiver, ...], tuple[str, ...]]:
    """Return the waivers that count for the pull request's head, and notices about the others.

    Each author's role is checked again, because people lose roles. If GitHub does not confirm a
    waiver, it does not count, which is not an error. Raises PublishError if the comments cannot be
    read.

    Args:
        head_sha: The head of the pull request; None reads it from GitHub.
        permission: The role that the base policy requires.
    """
    remarks = api.comments(place.number, WAIVER_MARKER)
    if not any(WAIVER_MARKER in remark.body for remark in remarks):
        return (), ()
    sha = head_sha or api.pull_request(place.number).head_sha
    candidates, notices = read_waivers(remarks, sha, place)
    role = cache(api.role)
    waivers: list[Waiver] = []
    refused: list[str] = []
    for candidate in candidates:
        try:
            problem = _problem(candidate, api, role, permission)
            if problem is None and not place.keys:
                problem = _unseen(candidate, api)
        except PublishError as error:
            problem = f"{error}."
        if problem is None:
            waivers.append(candidate.waiver)
        else:
            refused.append(f"{named(candidate.waiver)} does not count: {problem}")
    return tuple(waivers), (*notices, *refused)


def checked_before(runs: tuple[WorkflowRun, ...], said: datetime) -> bool | None:
    """Return whether all runs on the pull request's commit began before that time.

    GitHub starts a run for every push, and both times are GitHub's own. None if there is no run.
    """
    found = [run for run in runs if is_of_a_pull_request(run)]
    return all(run.created <= said for run in found) if found else None


def is_of_a_pull_request(run: WorkflowRun) -> bool:
    """Return whether a push to a pull request started the run."""
    return run.event in _PULL_REQUEST_EVENTS


def _problem(
    candidate: Candidate, api: RepositoryApi, role: Callable[[str], str], permission: str
) -> str | None:
    if api.is_edited(candidate.command):
        # People with the role `write` can edit the comments of others.
        return f"the waiver's command was edited. {_AGAIN} in a new comment."
    found = role(candidate.waiver.author)
    if not enough(found, permission):
        return (
            f"the waiver's author has the role {found} now, but the policy requires {permission} "
            "(waivers.permission)."
        )
    return None


def _unseen(candidate: Candidate, api: RepositoryApi) -> str | None:
    """Return why the command may not be for this commit, by its time, or None.

    Without a key nobody can verify who wrote the record. The bot checks the time in the same way.
    """
    runs = api.workflow_runs(candidate.waiver.sha)
    if checked_before(runs, candidate.command.created):
        return None
    return (
        "this job has no key to verify the waiver, and somebody wrote the command "
        f"before the checks of {candidate.waiver.sha[:10]} began. {_AGAIN}."
    )
