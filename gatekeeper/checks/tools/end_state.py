"""The state at the end of the run passes all of the given checks, which read it as their output.

The state is the fixture's `state` with what the [rows of its tools](agents.md#state) changed. So
[equals](#equals), [json_schema](#json_schema), [count](#count) and the others find in it what the
calls did, whatever the model says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    parameters,
    undetermined,
)
from gatekeeper.checks.composed.all_or_any import combine_all
from gatekeeper.checks.composed.inner_checks import CHECKS, ComposedCheck, require_no_weights
from gatekeeper.contract.calls.trajectory import trajectory
from gatekeeper.contract.values.trial import Completion, Request, Sample, Turn


@dataclass(frozen=True, slots=True)
class _OfState(ComposedCheck):
    def __call__(self, sample: Sample) -> Finding:
        found = _state_of(sample)
        if found is None:
            return undetermined("the sample has no state, because no `tool_results` set one")
        return ComposedCheck.__call__(self, found)

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        found = _state_of(sample)
        return ComposedCheck.questions(self, found) if found else ()


def _state_of(sample: Sample) -> Sample | None:
    state = trajectory(sample).state
    if state is None:
        return None
    written = json.dumps(state, ensure_ascii=False)
    return replace(sample, output=written, repairs=(), ledger=())


def _prepare(params: Parameters, files: Files) -> SampleEvaluator:
    require_no_weights(params["checks"])
    if files.fixture is not None and files.fixture.state is None:
        raise ParameterError(
            "the fixture has no `state`",
            "add `state` to the fixture, or use `when` to apply the check only to other fixtures",
        )
    return _OfState(params["checks"], combine_all)


def _left(state: str) -> Completion:
    turn = Turn("", Completion("It is done."), state=state)
    return Completion("It is done.", turns=(turn,))


CHECK = Check(
    parameters(required=("checks",), checks=CHECKS),
    _prepare,
    group="tools",
    composed=True,
    examples=(
        Example(
            "type: end_state\nchecks: [{type: equals, field: orders.A7.status, value: refunded}]",
            _left('{"orders": {"A7": {"status": "refunded"}}}'),
            _left('{"orders": {"A7": {"status": "paid"}}}'),
        ),
    ),
)
