"""A nightly run of the action with a judge that drifts: the issue, the chat and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from support.bot_comments import CheckedPull
from support.edited_text import edited
from support.github_server import FakeGithub
from support.judges import verdict
from support.message_servers import Webhook
from support.openai_server import OpenAIServer
from support.pull_request import CONTRACT, FEW, HARMLESS, PROMPT, answer, files

from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.checks.judge_calibration import calibration_text, output_digest
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.values.calibration_record import CheckCalibration, GradedLabel
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.gate.plan.calibrations_in_force import judge_identities

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

GRADED = (
    edited(CONTRACT, "name: sentiment", "name: graded")
    + "judge: {model: openai/gpt-4o}\nslo: {checks: {one word: 0.5}}\n"
).replace("checks:\n", "checks:\n  - {judge: rubric, criteria: It is one word., name: one word}\n")
PATH = "contracts/graded.yaml"


def calibration() -> str:
    """Ten good and ten bad outputs, all graded as people do, all of them anchors."""
    suite = {**files(FEW), PATH: GRADED}
    revision = MemoryRevision({path: text.encode() for path, text in suite.items()})
    contract = load_contract(revision, PATH, SHAPES)
    judge = judge_identities(contract, prepare(contract))["one word"].digest
    texts = [f"{'positive' if n < 10 else 'a long story'}{n}" for n in range(20)]
    labels = tuple(
        GradedLabel("review-00", output_digest(text), n < 10, n < 10, text=text)
        for n, text in enumerate(texts)
    )
    return calibration_text("graded", {"one word": CheckCalibration(judge, labels)})


@pytest.mark.long
def test_a_judge_that_drifted_opens_an_issue_and_tells_the_chat_once(
    github: FakeGithub,
    model: OpenAIServer,
    open_pull: Callable[..., CheckedPull],
    capsys: pytest.CaptureFixture[str],
) -> None:
    strict = False

    def says(body: Mapping[str, Any]) -> str:
        if body["model"] != "gpt-4o":
            return answer(body)
        return verdict("no" if strict or "story" in body["messages"][-1]["content"] else "yes")

    model._answer = says
    more = {PATH: GRADED, "contracts/graded.judge.json": calibration()}
    pull = open_pull({PROMPT: HARMLESS}, more)
    with Webhook() as chat:
        told = f"json://127.0.0.1:{chat.port}/0123456789abcdefghij"

        def night() -> int:
            return pull.act("schedule", {}, history="history.jsonl", notify=told)

        assert night() == 0
        strict = True
        # Every sample fails the check, and this is not the prompt's fault.
        assert night() == 0
        assert "The prompt is not the cause" in capsys.readouterr().out
        assert github.issues == []
        assert night() == 0
        assert night() == 0
        (message,) = chat.received
    assert "a model or judge drifted" in message["title"]
    assert "grades differently since" in message["message"]
    (issue,) = github.issues
    assert issue.title == "Judge drift: graded"
    assert "| `graded` | `one word` | `openai/gpt-4o` |" in issue.body
    assert "10 of 20" in issue.body
    assert "judge openai/gpt-4o of" in (pull.folder / "summary").read_text()
    strict = False
    assert night() == 0
    assert issue.state == "closed"
