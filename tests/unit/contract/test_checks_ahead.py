"""Templates that are checked ahead are answered at once, and a fault ahead changes no answer."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from typing import Any

import pytest

from gatekeeper.contract.templates import client
from gatekeeper.contract.templates.ahead import ChecksAhead
from gatekeeper.contract.values.definition import MessageTemplate, Prompt
from gatekeeper.sandbox.process import Answers, LimitedProcess


def prompt(text: str) -> Prompt:
    return Prompt("a.md", (MessageTemplate("user", text, 1),), text)


def test_what_is_added_is_checked_in_order_and_waited_for() -> None:
    batches: list[list[Hashable]] = []
    may_go = threading.Event()

    def check(batch: Mapping[Hashable, Any]) -> None:
        may_go.wait(10)
        batches.append(list(batch))

    ahead = ChecksAhead(check)
    for key in range(300):
        ahead.add(key, str(key))
        ahead.add(key, str(key))
    may_go.set()
    ahead.wait_for(299)
    assert [key for batch in batches for key in batch] == list(range(300))
    ahead.wait_for("never added")
    ahead.add("later", "")
    ahead.wait_for("later")
    assert batches[-1] == ["later"]


def test_a_fault_ahead_leaves_nobody_waiting() -> None:
    faults = [RuntimeError("broken"), None]

    def check(_: Mapping[Hashable, Any]) -> None:
        fault = faults.pop(0)
        if fault:
            raise fault

    ahead = ChecksAhead(check)
    ahead.add("one", "")
    ahead.wait_for("one")
    ahead.add("two", "")
    ahead.wait_for("two")
    assert not faults


def test_only_a_sound_template_is_not_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    own = client._CHILD.ask

    def ask(request: Any, wall: float | None = None) -> Answers:
        asked.append(request)
        return own(request, wall)

    monkeypatch.setattr(client._CHILD, "ask", ask)
    monkeypatch.setattr(client, "_sound", set())
    sound, broken = prompt("{% set here = 1 %}{{ here }}"), prompt("{% if here %}")
    for each in (sound, broken):
        client.check_syntax_ahead(each)
    assert client.check_syntax(sound) == []
    (problem,) = client.check_syntax(broken)
    assert problem.line == 1
    checked = [one["messages"][0][1] for request in asked for one in request["prompts"]]
    assert checked.count(sound.messages[0].content) == 1
    assert checked.count(broken.messages[0].content) == 2


def test_an_overrun_ahead_is_reported_for_its_own_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_CHILD", OverrunsOnce())
    monkeypatch.setattr(client, "_sound", set())
    first, second = prompt("{% set one = 1 %}{{ one }}"), prompt("{% set two = 2 %}{{ two }}")
    client.check_syntax_ahead(first)
    client.check_syntax_ahead(second)
    assert client.check_syntax(first) == []
    assert client.check_syntax(second) == []


class OverrunsOnce(LimitedProcess):
    """Ends at its first request, as a child does that overruns, and answers all others."""

    def __init__(self) -> None:
        super().__init__("unused:unused")
        self.asked = 0

    def ask(self, request: Any, wall: float | None = None) -> Answers:
        self.asked += 1
        if self.asked == 1:
            return Answers([], "it takes too much time")
        return Answers([[] for _ in request["prompts"]])
