"""What a stranger's pull request may spend, through the action: too much is not begun at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support import webhook_payloads as payloads
from support.bot_comments import CheckedPull
from support.edited_text import edited
from support.github_server import FakeGithub
from support.openai_server import OpenAIServer
from support.pull_request import CONTRACT, FIXTURES, HARMLESS, PROMPT

POLICY = ".github/gatekeeper.yml"
CONTRACT_PATH = "contracts/sentiment.yaml"
EXPENSIVE = edited(CONTRACT, "samples: 1,", "samples: 100,")
"""4,800 calls, where the policy that nobody wrote allows 2,000."""
REFUSED = "comes from a fork, no model was called"

Open = Callable[..., CheckedPull]


@pytest.fixture
def opened(open_pull: Open, github: FakeGithub) -> Open:
    """A fork's pull request that rewords the prompt, and may change more."""

    def make(policy: str | None = None, **changed: str) -> CheckedPull:
        base = {POLICY: policy} if policy else None
        checked_pull = open_pull({PROMPT: HARMLESS, **changed}, base, FIXTURES)
        github.pulls[7].head_repository = "fork/prompts"
        return checked_pull

    return make


def by_workflow_run(checked_pull: CheckedPull) -> dict[str, Any]:
    fork = {"full_name": "fork/prompts", "owner": {"login": "fork"}}
    payload = payloads.workflow_run(head_sha=checked_pull.change.head, head_repository=fork)
    return payload | {"repository": {"full_name": "octo/prompts"}}


@pytest.mark.parametrize("event", ["pull_request_target", "pull_request", "workflow_run"])
def test_an_expensive_contract_is_answered_without_a_call(
    opened: Open, github: FakeGithub, model: OpenAIServer, event: str
) -> None:
    checked_pull = opened(**{CONTRACT_PATH: EXPENSIVE})
    by_run = event == "workflow_run"
    payload = by_workflow_run(checked_pull) if by_run else checked_pull.change.event(fork=True)
    assert checked_pull.act(event, payload) == 3
    assert model.requests == []
    (comment,) = checked_pull.own
    assert "Could not measure" in comment
    assert "may take 4,800 calls, but the base policy allows 2,000" in comment
    assert REFUSED in comment
    assert "limits.calls" in comment
    assert [(s.sha, s.state) for s in github.verdicts] == [(checked_pull.change.head, "error")]
    assert "\nerror\n" in (checked_pull.folder / "output").read_text()


LIMITS = {
    "calls": ("limits: {calls: 47}\n", "48 calls, but the base policy allows 47"),
    "cost": ("limits: {cost_usd: 0.0001}\n", "limits.cost_usd"),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_heads_own_limits_are_not_asked(opened: Open, model: OpenAIServer, limit: str) -> None:
    policy, said = LIMITS[limit]
    checked_pull = opened(policy, **{POLICY: "limits: {calls: 100000, cost_usd: 1000}\n"})
    assert checked_pull.act("pull_request_target", checked_pull.change.event(fork=True)) == 3
    assert model.requests == []
    assert said in checked_pull.own[0]


@pytest.mark.parametrize("command", ["run sentiment", "explain sentiment", "full"])
def test_nor_does_a_command_spend_it(opened: Open, model: OpenAIServer, command: str) -> None:
    """Whoever has it run has seen one commit; the fork may have pushed another since."""
    checked_pull = opened(**{CONTRACT_PATH: EXPENSIVE})
    assert checked_pull.say(f"/gatekeeper {command}") == 3
    assert model.requests == []
    assert REFUSED in checked_pull.reply
    assert checked_pull.reactions == ["eyes", "confused"]


def test_within_the_limits_a_fork_is_checked(opened: Open, model: OpenAIServer) -> None:
    checked_pull = opened("limits: {calls: 48}\n")
    assert checked_pull.act("pull_request_target", checked_pull.change.event(fork=True)) == 0
    assert len(model.requests) == 48
    assert "May merge" in checked_pull.own[0]


@pytest.mark.long
def test_who_may_push_here_spends_up_to_the_limit(
    opened: Open, github: FakeGithub, model: OpenAIServer
) -> None:
    checked_pull = opened("limits: {calls: 5}\n", **{CONTRACT_PATH: EXPENSIVE})
    github.pulls[7].head_repository = "octo/prompts"
    assert checked_pull.act("pull_request", checked_pull.change.event()) == 3
    assert len(model.requests) == 5
    assert REFUSED not in checked_pull.own[0]
