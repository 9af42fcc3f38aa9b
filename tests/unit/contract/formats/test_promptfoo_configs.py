"""Twelve configurations of promptfoo that between them use every assertion type."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gatekeeper.checks.evaluate import Evaluator, prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.export.convert import convert
from gatekeeper.contract.formats.promptfoo.assertion_types import ALL_TYPES, NOT_RUN, RED_TEAM
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import evaluation_meaning
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.syntax.yaml_positions import parse
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Contract, ToolCall
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial

FOLDER = Path(__file__).parents[3] / "support" / "promptfoo_configs"
CONFIGS = sorted(path.name for path in FOLDER.glob("[01]*.*"))


@cache
def files() -> dict[str, bytes]:
    return {str(p.relative_to(FOLDER)): p.read_bytes() for p in FOLDER.rglob("*.*") if p.is_file()}


@cache
def contract(name: str) -> Contract:
    return load_contract(MemoryRevision(files()), name, SHAPES)


@cache
def evaluator(name: str) -> Evaluator:
    return prepare(contract(name))


def written(name: str) -> Any:
    return parse(files()[name].decode(), name).data


def assertions(value: Any) -> list[str]:
    """The type of every assertion anywhere in a configuration."""
    if isinstance(value, list):
        return [kind for item in value for kind in assertions(item)]
    if not isinstance(value, dict):
        return []
    own = [t["type"] for t in value.get("assert") or [] if isinstance(t, dict)]
    return own + [kind for item in value.values() for kind in assertions(item)]


def sample(recorded: dict[str, Any], contract: Contract) -> Sample:
    call = recorded.get("call")
    completion = Completion(
        recorded["output"],
        latency_ms=recorded.get("latency_ms"),
        cost_usd=recorded.get("cost_usd"),
        finish_reason="tool_calls" if call else "stop",
        tool_calls=(ToolCall(*call),) if call else (),
    )
    request = Request(contract.target.model, (), {}, None, 0)
    trial = Trial(contract.name, recorded["test"], "head", 0, request)
    return Sample(trial, completion, output=recorded["output"])


def passes(name: str, evaluator: Evaluator, recorded: dict[str, Any]) -> bool | None:
    results = [
        r for r in evaluator.evaluate(sample(recorded, contract(name))) if r.severity == "error"
    ]
    least = contract(name).pass_score
    if least is not None:
        scores = [r.weight * (r.score if r.score is not None else r.passed) for r in results]
        return sum(scores) / sum(r.weight for r in results) >= least
    return None if any(r.passed is None for r in results) else all(r.passed for r in results)


CASES = [(name, recorded) for name in CONFIGS for recorded in written(name)["x-recorded"]]


@pytest.mark.parametrize(
    ("name", "recorded"), CASES, ids=[f"{name}-{r['test']}-{r['output'][:20]}" for name, r in CASES]
)
def test_recorded_outputs_pass_and_fail_as_in_promptfoo(
    name: str, recorded: dict[str, Any]
) -> None:
    assert passes(name, evaluator(name), recorded) is recorded["passes"]


def test_every_type_is_used() -> None:
    used = {t.removeprefix("not-") for name in CONFIGS for t in assertions(written(name))}
    assert len(CONFIGS) == 12
    assert {t for t in used if not t.startswith(RED_TEAM)} >= ALL_TYPES - {"assert-set", "is-json"}


def test_what_is_not_run_is_named_once() -> None:
    for name in CONFIGS:
        written_types = [t for t in assertions(written(name)) if t in NOT_RUN]
        named = [note.kind for note in contract(name).not_run]
        assert sorted(named) == sorted({*written_types, *MORE.get(name, ())})


MORE = {"10-judges.yaml": ("promptfoo:redteam:harmful",), "11-code.yaml": ("python",)}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_converted_contract_evaluates_and_sends_the_same(name: str) -> None:
    (made,) = convert(MemoryRevision(files()), name, "", SHAPES)
    native = {file.path: file.text.encode() for file in made.files}
    converted = load_contract(MemoryRevision(files() | native), made.files[0].path, SHAPES)
    before = contract(name)
    assert evaluation_meaning(converted) == evaluation_meaning(before)
    assert (converted.target.model, converted.target.params) == (
        before.target.model,
        before.target.params,
    )
    assert [(note.kind, note.why) for note in converted.not_run] == [
        (note.kind, note.why) for note in before.not_run
    ]
    for one, other in zip(before.fixtures, converted.fixtures, strict=True):
        assert render_messages(before.target.prompt, one.vars) == render_messages(
            converted.target.prompt, other.vars
        )


def test_judges_and_repeats_are_those_of_the_file() -> None:
    judges = {
        str(spec.params.get("model")) for spec in contract("10-judges.yaml").fixtures[0].checks
    }
    assert judges >= {"openai/gpt-4o", "anthropic/claude-sonnet-4-5"}
    cleaned = contract("12-cleaned.yaml")
    assert cleaned.sampling.samples == 3
    assert cleaned.repair.steps == ("strip_whitespace", "lowercase")
