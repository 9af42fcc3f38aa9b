"""Reads `user` of a contract and of its fixtures: who plays the user, with what goal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gatekeeper.contract.meaning.digests import digest
from gatekeeper.contract.models.params import setting_fault
from gatekeeper.contract.reading.read import UnreadableError, locate, read_text
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract, Fixture, Position, SimulatedUser
from gatekeeper.errors import Problem

MAX_TURNS = 5
"""The most messages that a simulated user writes by default."""
LONGEST_GOAL = 10_000
"""The most characters of a goal or persona."""
_REFUSED = frozenset({"tools", "tool_choice", "parallel_tool_calls", "n", "stop"})
_GOAL = re.compile(r"\{\{\s*goal\s*\}\}")


def read_contract_user(
    revision: Revision, document: Document, problems: list[Problem]
) -> SimulatedUser | None:
    """Return the contract's user; its form is known to be sound. A mistake is added to
    `problems`."""
    data = document.data.get("user") if isinstance(document.data, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("model"), str):
        return None
    for name in ("goal", "persona"):
        if len(str(data.get(name, ""))) > LONGEST_GOAL:
            what = f"`{name}` has more than {LONGEST_GOAL:,} characters"
            problems.append(document.problem(("user", name), what, "write a sentence"))
    written = data.get("params") if isinstance(data.get("params"), dict) else {}
    for name, value in (written or {}).items():
        fault = setting_fault(data["model"], str(name), value, written or {})
        if name in _REFUSED:
            fault = (f"a simulated user does not use the parameter `{name}`", f"remove `{name}`")
        if fault:
            place = ("user", "params", name)
            problems.append(document.problem(place, f"params.{name}: {fault[0]}", fault[1]))
    turns = data.get("max_turns", MAX_TURNS)
    return SimulatedUser(
        data["model"],
        str(data.get("goal") or ""),
        int(turns) if isinstance(turns, int | float) else MAX_TURNS,
        str(data.get("persona") or ""),
        written or {},
        _own_prompt(revision, document, data.get("prompt"), problems),
    )


def _own_prompt(
    revision: Revision, document: Document, path: Any, problems: list[Problem]
) -> str | None:
    if not isinstance(path, str):
        return None
    try:
        text = read_text(revision, locate(path, document.path))
    except UnreadableError as error:
        problems.append(document.problem(("user", "prompt"), error.what, error.fix))
        return None
    if not _GOAL.search(text):
        what = f"`{path}` does not contain `{{{{ goal }}}}`"
        fix = "write `{{ goal }}` at the place of the goal; you can also use `{{ persona }}`"
        problems.append(document.problem(("user", "prompt"), what, fix))
    return text


def preset_prompt() -> str:
    """Return the text of gatekeeper's prompt file for simulated users."""
    return Path(__file__).with_name("user.md").read_text("utf-8")


def with_users(
    contract: SimulatedUser | None,
    fixtures: Sequence[Fixture],
    path: str,
    problems: list[Problem],
) -> tuple[Fixture, ...]:
    """Return the fixtures with their users: each fixture that sets a goal has one, and with a goal
    of the contract every fixture without `turns`."""
    if contract is None and not any(fixture.user for fixture in fixtures):
        return tuple(fixtures)
    return tuple(_with_user(contract, fixture, path, problems) for fixture in fixtures)


def _with_user(
    contract: SimulatedUser | None, fixture: Fixture, path: str, problems: list[Problem]
) -> Fixture:
    own = fixture.user
    if own is None and (contract is None or not contract.goal or fixture.turns):
        return fixture
    own = own or SimulatedUser()
    at = fixture.position or Position(path)

    def complain(what: str, fix: str) -> Fixture:
        what = f"fixture `{fixture.id}`: {what}"
        problems.append(at.problem(what, fix, "user"))
        return fixture

    if contract is None:
        return complain("the simulated user has no model", "add `user: {model: …}` to the contract")
    if fixture.turns:
        return complain("the fixture has both `turns` and a `user`", "keep only `turns` or `user`")
    if not (own.goal or contract.goal):
        return complain(
            "the simulated user has no goal",
            "add `goal` to `user` in the fixture or in the contract",
        )
    user = replace(
        contract,
        goal=own.goal or contract.goal,
        persona=own.persona or contract.persona,
        max_turns=own.max_turns or contract.max_turns,
    )
    return replace(fixture, user=user)


def user_files(data: Mapping[str, Any], contract: Contract) -> dict[str, str]:
    """Return a digest of the prompt file of a contract's users, by its path."""
    written = data.get("user")
    path = written.get("prompt") if isinstance(written, Mapping) else None
    if not isinstance(path, str):
        return {}
    texts = [fixture.user.prompt or "" for fixture in contract.fixtures if fixture.user]
    return {locate(path, contract.path): digest(texts[:1])}


def user_weakenings(base: Sequence[Fixture], head: Sequence[Fixture]) -> Iterator[str]:
    """Yield each way in which the simulated users of head may be easier to satisfy than base's."""
    kept = {fixture.id: fixture for fixture in head}
    said: set[str] = set()
    for before in base:
        now = kept.get(before.id)
        if now is None or before.user == now.user:
            continue
        for change in _changes(before.user, now.user):
            # What the contract sets is the same for all its fixtures.
            text = change if change.startswith("user.") else f"fixture `{before.id}`: {change}"
            if text not in said:
                said.add(text)
                yield text


def _changes(base: SimulatedUser | None, head: SimulatedUser | None) -> Iterator[str]:
    if base is None or head is None:
        yield "the simulated user was removed" if base else "a simulated user was added"
        return
    if base.model != head.model:
        yield f"user.model changed from {base.model} to {head.model}"
    if base.params != head.params:
        yield "user.params changed"
    if base.prompt != head.prompt:
        yield "user.prompt changed"
    if base.goal != head.goal:
        yield "the goal of the simulated user changed"
    if base.persona != head.persona:
        yield "the persona of the simulated user changed"
    if head.max_turns < base.max_turns:
        yield f"max_turns of the simulated user lowered from {base.max_turns} to {head.max_turns}"


_EMBEDDED = "local/"


def small_user(contract: Contract) -> Iterator[Problem]:
    """Yield a problem if the embedded model plays a user of the contract, once."""
    for fixture in contract.fixtures:
        if fixture.user and fixture.user.model.startswith(_EMBEDDED):
            model = fixture.user.model
            what = f"{model} plays the simulated user, but is too small to pursue a goal"
            fix = "use a larger model in `user`, or write the user's messages as `turns`"
            yield Problem(contract.path, what, fix)
            return
