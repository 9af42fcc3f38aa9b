"""The [simulated user](contracts.md#simulated-users) says that its goal is reached after at most
`max_messages` messages.

The check fails if the user gives up or writes all allowed messages. If some fixtures have no
simulated user, limit the check with `when`.
"""

from __future__ import annotations

from gatekeeper import numbers
from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
    undetermined,
)
from gatekeeper.contract.simulated_user.messages import sayings
from gatekeeper.contract.values.trial import Completion, JudgeAnswer, QuestionId, Sample


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    most = params.get("max_messages")

    def evaluate(sample: Sample) -> Finding:
        answers = sample.completion.users if sample.completion else ()
        if not sayings(answers):
            return undetermined("the conversation has no simulated user")
        *sent, last = sayings(answers)
        written = numbers.count(len(sent), "message")
        if not last.done:
            return failed(
                "expected the simulated user to reach its goal; the user did not reach the goal "
                f"in {written}"
            )
        if not last.reached:
            return failed(
                f"expected the simulated user to reach its goal; the user gave up after {written}"
            )
        if most is not None and len(sent) > most:
            return failed(
                f"expected the simulated user to reach its goal in at most "
                f"{numbers.count(most, 'message')}; the user wrote {written}"
            )
        return PASSED

    return evaluate


def _said(text: str) -> JudgeAnswer:
    return JudgeAnswer(QuestionId("openai/gpt-4o-mini", "0" * 64, 0), Completion(text))


_ASKED = _said('{"message": "Where is it?", "done": false, "reached": false}')
_REACHED = _said('{"message": "", "done": true, "reached": true}')
_GAVE_UP = _said('{"message": "", "done": true, "reached": false}')

CHECK = Check(
    parameters(
        max_messages={
            "x-looser": "up",
            "type": "integer",
            "minimum": 1,
            "maximum": 20,
            "description": (
                "How many messages, from 1 to 20, the simulated user may write to reach its goal."
            ),
        },
    ),
    _prepare,
    group="measures",
    examples=(
        Example(
            "{type: goal_reached}",
            Completion("It arrives on Friday.", users=(_ASKED, _REACHED)),
            Completion("I do not know.", users=(_ASKED, _GAVE_UP)),
        ),
    ),
)
