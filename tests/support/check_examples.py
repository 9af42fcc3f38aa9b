"""The examples of the checks, loaded from a contract in memory as an author would write it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import yaml

from gatekeeper.checks.check import Check, Example
from gatekeeper.checks.evaluate import Evaluator, prepare
from gatekeeper.checks.registry import CHECKS
from gatekeeper.contract.changes.own_code import trust_code
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import OwnChecks, Policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.trial import Completion, JudgeAnswer, Request, Sample, Trial, Turn

FIXTURE = "example"


def all_examples() -> list[tuple[str, int]]:
    """Return the name of every check and the index of each of its examples."""
    return [(name, at) for name, check in CHECKS.items() for at in range(len(check.examples))]


@cache
def prepared(name: str, at: int) -> Evaluator:
    """Load an example of the registry through the contract loader, and prepare it."""
    return prepare_example(CHECKS[name].examples[at])


def prepare_example(example: Example, checks: Mapping[str, Check] = CHECKS) -> Evaluator:
    fixture = {"id": FIXTURE, "vars": dict(example.vars)}
    if example.expected is not None:
        fixture["expected"] = example.expected
    contract: dict[str, Any] = {
        "contract": 1,
        "name": "example",
        "prompt": "p.md",
        "model": "openai/m",
        "fixtures": [fixture],
        "checks": [yaml.safe_load(example.written)],
    }
    if isinstance(example.passes, Completion) and any(t.state for t in example.passes.turns):
        fixture["state"] = {}
        contract |= {"tools": [{"name": "refund", "inputSchema": {}}], "unanswered": "fail"}
    if isinstance(example.passes, Completion) and example.passes.users:
        contract["user"] = {"model": "openai/m", "goal": "Learn it."}
    files = {"c.yaml": json.dumps(contract), "p.md": "Answer.", **example.files}
    revision = MemoryRevision({path: text.encode() for path, text in files.items()})
    shapes = {name: check.shape for name, check in checks.items()}
    loaded = load_contract(revision, "c.yaml", shapes)
    policy = Policy(checks=OwnChecks(python=("**/*.py",)))
    return prepare(trust_code(loaded, revision, policy), checks)


def judged(evaluator: Evaluator, sample: Sample, says: str) -> Sample:
    """Return the sample with the answers of judges that all say the same."""
    asked = evaluator.questions(sample)
    answers = tuple(JudgeAnswer(question_id(question), Completion(says)) for question in asked)
    return replace(sample, judge_answers=answers)


def answered(example: Example, answer: str | Completion) -> Sample:
    """Return the sample of an answer to the example's prompt."""
    completion = Completion(answer) if isinstance(answer, str) else answer
    request = Request("openai/m", example.messages, {}, None, 0)
    trial = Trial("example", FIXTURE, "head", 0, request)
    return Sample(trial, completion, output=completion.text)


def answered_text(example: Example, text: str) -> Sample:
    """Return the sample of an answer like the one that passes, with another text, and with this
    text in its tool calls, in their results and in the state."""
    passes = example.passes
    if isinstance(passes, str):
        return answered(example, text)
    said = replace(
        _calling(passes, text), text=text, turns=tuple(_turn(t, text) for t in passes.turns)
    )
    return answered(example, said)


def _calling(completion: Completion, arguments: str) -> Completion:
    calls = tuple(replace(call, arguments=arguments) for call in completion.tool_calls)
    return replace(completion, tool_calls=calls)


def _turn(turn: Turn, text: str) -> Turn:
    results = tuple(replace(result, text=text) for result in turn.results)
    state = None if turn.state is None else json.dumps(text)
    return replace(turn, completion=_calling(turn.completion, text), results=results, state=state)
