"""The action tells a chat what happened: a real webhook, real git, a model on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.bot_comments import CheckedPull
from support.message_servers import Webhook
from support.pull_request import BROKEN, HARMLESS, PROMPT

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

TOKEN = "0123456789abcdefghij"


@pytest.fixture
def act(open_pull: Callable[..., CheckedPull]) -> Callable[..., int]:
    """Runs the action on a change of the prompt; names are those of inputs."""
    return lambda text, **inputs: open_pull({PROMPT: text}).run_check(**inputs)


def test_a_regression_is_told(act: Callable[..., int]) -> None:
    with Webhook() as chat:
        assert act(BROKEN, notify=f"json://127.0.0.1:{chat.port}/{TOKEN}") == 1
    (message,) = chat.received
    assert message["title"] == "octo/prompts: a change made a prompt worse"
    assert message["message"].startswith("sentiment: ")
    lines = message["message"].splitlines()
    assert "https://github.com/octo/prompts/pull/7" in lines
    assert "https://github.com/octo/prompts/actions/runs/42" in lines


def test_a_harmless_change_and_what_is_not_asked_for_are_not_told(
    act: Callable[..., int], tmp_path: Path
) -> None:
    with Webhook() as chat:
        address = f"json://127.0.0.1:{chat.port}/{TOKEN}"
        assert act(HARMLESS, notify=address) == 0
        assert chat.received == []


def test_only_what_is_asked_for_is_told(act: Callable[..., int]) -> None:
    with Webhook() as chat:
        address = f"json://127.0.0.1:{chat.port}/{TOKEN}"
        assert act(BROKEN, notify=address, notify_on="freeze drift") == 1
    assert chat.received == []


def test_a_failure_to_tell_changes_no_verdict_and_repeats_no_address(
    act: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with Webhook(status=503) as chat:
        code = act(
            BROKEN,
            notify=f"json://127.0.0.1:{chat.port}/{TOKEN}\nnonsense://{TOKEN}",
            notify_template="{{ nothing }}",
        )
    assert code == 1
    assert len(chat.received) == 1
    log = capsys.readouterr().out
    assert (
        "::warning title=Gatekeeper::the notification to address 1 (JSON) could not be sent" in log
    )
    assert "notification address 2" in log
    assert "the template for notifications cannot be rendered" in log
    assert TOKEN not in log
    assert "fail" in (tmp_path / "output").read_text()


def test_a_kind_that_is_unknown_is_the_authors_mistake(
    act: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert act(BROKEN, notify_on="regresion") == 2
    assert "input notify-on: 'regresion' is not valid; use one or more" in capsys.readouterr().out
