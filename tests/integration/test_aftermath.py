"""What a run on the default branch means beyond itself, through the action: real git, a GitHub
and a model on 127.0.0.1, a history in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support import webhook_payloads as payloads
from support.bot_comments import CheckedPull
from support.edited_text import edited
from support.github_server import FakeGithub, Fault
from support.message_servers import Webhook
from support.pull_request import BROKEN, CONTRACT, FIXTURES, HARMLESS, PROMPT

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

HISTORY = "history.jsonl"
WITH_OBJECTIVE: dict[str, str | bytes] = {
    "contracts/sentiment.yaml": CONTRACT + "slo: {success_rate: 0.9, window: 28d}\n"
}
Line = dict[str, Any]
Open = Callable[..., CheckedPull]


@pytest.fixture
def checked_pull(open_pull: Open) -> CheckedPull:
    return open_pull({PROMPT: HARMLESS}, WITH_OBJECTIVE, FIXTURES)


def nightly(checked_pull: CheckedPull, **inputs: str) -> int:
    return checked_pull.act("schedule", {}, **({"history": HISTORY} | inputs))


def past(checked_pull: CheckedPull, nights: Mapping[int, int]) -> None:
    """A past like the one run that is in the history: how many failed, by days ago."""
    path = checked_pull.change.workspace / HISTORY
    line: Line = json.loads(path.read_text().splitlines()[0])
    path.write_text("".join(json.dumps(_night(line, *n)) + "\n" for n in nights.items()))


def _night(line: Line, days_ago: int, failed: int) -> Line:
    fixtures = {key: [1, int(n < failed)] for n, key in enumerate(sorted(line["fixtures"]))}
    time = datetime.now(UTC) - timedelta(days=days_ago)
    return line | {
        "id": f"night-{days_ago}",
        "time": time.isoformat(),
        "failed": failed,
        "fixtures": fixtures,
        "objectives": {"success_rate": [line["samples"], failed]},
    }


RISE = {**dict.fromkeys(range(34, 4, -1), 12), **dict.fromkeys(range(4, 0, -1), 0)}
"""Sure with one more night like the last four."""
DROP = {**dict.fromkeys(range(34, 12, -1), 1), **dict.fromkeys(range(12, 0, -1), 12)}


@pytest.mark.long
def test_a_drift_opens_one_issue_and_tells_the_chat_once(
    checked_pull: CheckedPull, github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert nightly(checked_pull) == 0
    assert github.issues == []
    past(checked_pull, RISE)
    with Webhook() as chat:
        address = f"json://127.0.0.1:{chat.port}/0123456789abcdefghij"
        for _ in range(2):
            assert nightly(checked_pull, notify=address) == 0
            assert "answers better since" in capsys.readouterr().out
        (message,) = chat.received
    assert "a model or judge drifted" in message["title"]
    (issue,) = github.issues
    assert issue.title == "Model drift: sentiment"
    assert "| `sentiment` | `openai/gpt-4o-mini` |" in issue.body
    assert "https://github.com/octo/prompts/actions/runs/42" in issue.body
    assert "answers better since" in (checked_pull.folder / "summary").read_text()


@pytest.mark.long
def test_the_issue_closes_when_the_prompt_has_changed_since(
    checked_pull: CheckedPull, github: FakeGithub
) -> None:
    assert nightly(checked_pull) == 0
    past(checked_pull, DROP)
    assert nightly(checked_pull) == 0
    assert github.issues[0].state == "open"
    path = checked_pull.change.workspace / HISTORY
    digest = json.loads(path.read_text().splitlines()[0])["prompt_digest"]
    path.write_text(path.read_text().replace(digest, "of-another-prompt"))
    assert nightly(checked_pull) == 0
    assert github.issues[0].state == "closed"


def test_a_contract_that_was_removed_drifts_no_more(
    checked_pull: CheckedPull, github: FakeGithub
) -> None:
    assert nightly(checked_pull) == 0
    past(checked_pull, DROP)
    path = checked_pull.change.workspace / HISTORY
    path.write_text(edited(path.read_text(), '"contract": "sentiment"', '"contract": "removed"'))
    assert nightly(checked_pull) == 0
    assert github.issues == []


def test_a_contract_that_a_push_did_not_touch_may_be_broken(
    open_pull: Open, github: FakeGithub
) -> None:
    other = edited(CONTRACT, "name: sentiment", "name: other", "sentiment", "other")
    more: dict[str, str | bytes] = {
        "contracts/other.yaml": other,
        "contracts/other.fixtures.jsonl": "{nonsense\n",
        "prompts/other.md": "Not about {{ review }}\n",
    }
    checked_pull = open_pull({PROMPT: HARMLESS}, more, FIXTURES)
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.merge)
    assert checked_pull.act("push", push, history=HISTORY) == 0


def test_a_token_that_may_not_open_issues_changes_no_verdict(
    checked_pull: CheckedPull, github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert nightly(checked_pull) == 0
    past(checked_pull, DROP)
    github.faults.append(Fault("POST", "/issues$", status=403))
    assert nightly(checked_pull) == 0
    log = capsys.readouterr().out
    assert "::warning title=Gatekeeper::could not open the issue" in log
    assert "issues: write" in log


@pytest.mark.long
def test_a_push_that_spends_the_budget_is_told_once(open_pull: Open, github: FakeGithub) -> None:
    checked_pull = open_pull({PROMPT: BROKEN}, WITH_OBJECTIVE, FIXTURES)
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.merge)
    with Webhook() as chat:
        told = f"json://127.0.0.1:{chat.port}/0123456789abcdefghij"
        assert checked_pull.act("push", push, history=HISTORY, notify=told) == 1
        (message,) = chat.received
        assert "an error budget is spent" in message["title"]
        assert "only a significant improvement may merge" in message["message"]
        assert checked_pull.act("push", push, history=HISTORY, notify=told) == 1
        assert len(chat.received) == 1
    assert github.issues == []


def test_a_missed_objective_is_told_in_the_first_night(open_pull: Open) -> None:
    """A run by hand and a push between the nights change nothing; an objective that is met again
    and missed again is news again."""
    checked_pull = open_pull({PROMPT: BROKEN}, WITH_OBJECTIVE, FIXTURES)
    path = checked_pull.change.workspace / HISTORY
    with Webhook() as chat:
        told = f"json://127.0.0.1:{chat.port}/0123456789abcdefghij"
        assert nightly(checked_pull, notify=told, notify_on="objective") == 1
        (message,) = chat.received
        assert message["title"] == "octo/prompts: a nightly run missed an objective"
        assert message["message"].startswith("sentiment: ")
        assert "/pull/" not in message["message"]
        line = json.loads(path.read_text().splitlines()[0])
        assert (line["trigger"], line["verdict"]) == ("schedule", "fail")

        by_hand = line | {"id": "by-hand", "trigger": "manual", "verdict": "pass"}
        path.write_text(f"{json.dumps(line)}\n{json.dumps(by_hand)}\n")
        assert nightly(checked_pull, notify=told, notify_on="objective") == 1
        assert len(chat.received) == 1

        path.write_text(f"{json.dumps(line | {'verdict': 'pass'})}\n")
        assert nightly(checked_pull, notify=told, notify_on="objective") == 1
        assert len(chat.received) == 2
        assert nightly(checked_pull, notify=told, history="off") == 1
        assert len(chat.received) == 3


def test_a_push_links_the_pull_request_that_it_merged(open_pull: Open, github: FakeGithub) -> None:
    checked_pull = open_pull({PROMPT: BROKEN}, WITH_OBJECTIVE, FIXTURES)
    merge = checked_pull.change.merge
    github.pull_request(9, checked_pull.change.head, state="closed", merge_sha=merge)
    push = payloads.push(before=checked_pull.change.base, after=merge)
    with Webhook() as chat:
        told = f"json://127.0.0.1:{chat.port}/0123456789abcdefghij"
        assert checked_pull.act("push", push, history=HISTORY, notify=told) == 1
        (message,) = chat.received
    assert "https://github.com/octo/prompts/pull/9" in message["message"].splitlines()


def test_without_a_history_nothing_is_looked_back_on(
    checked_pull: CheckedPull, github: FakeGithub
) -> None:
    assert nightly(checked_pull, history="off") == 0
    assert not [request for request in github.requests if request.endswith("/issues")]
