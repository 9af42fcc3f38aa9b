"""Evaluates the cases with each of the two programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from gatekeeper.checks.evaluate import Evaluator, prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.own_code import trust_code
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import OwnChecks, Policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import Completion, JudgeAnswer, Request, Sample, Trial
from scripts.compare_promptfoo.cases import FILES, TOOLS, Case
from scripts.compare_promptfoo.grader import QUERY, answer_judge, answer_promptfoo
from scripts.compare_promptfoo.model_server import serve_models

_CONFIG = "promptfooconfig.json"
_PROVIDER = """\
const answers = require("./answers.json");
module.exports = class {
  constructor(options) { this.config = options.config; }
  id() { return "recorded"; }
  async callApi(prompt, context) { return answers[context.vars.case]; }
};
"""
"""A provider of promptfoo that gives the recorded answers."""


def _configuration(cases: list[Case], provider: str, grader: str) -> dict[str, Any]:
    """Return a configuration of promptfoo with one test for each case."""
    tests = [
        {
            "description": f"case {index}",
            "vars": {"output": case.output, "case": index, "query": QUERY, **case.variables},
            **case.test,
        }
        for index, case in enumerate(cases)
    ]
    config = {"apiBaseUrl": grader, "apiKey": "none"}
    graders = {
        "text": {"id": "openai:chat:gpt-4o", "config": config},
        "embedding": {"id": "openai:embedding:text-embedding-3-small", "config": config},
    }
    return {
        "prompts": ["{{output}}"],
        "providers": [{"id": provider, "config": {"tools": TOOLS}}],
        "defaultTest": {"options": {"provider": graders}},
        "tests": tests,
    }


def gatekeeper_results(cases: list[Case]) -> dict[int, bool | None]:
    """Return whether each case passes here; None if it cannot be evaluated. Cases that are not run
    are left out."""
    text = json.dumps(_configuration(cases, "openai:gpt-4o-mini", "https://grader.example/v1"))
    files = {_CONFIG: text.encode(), **{name: code.encode() for name, code in FILES.items()}}
    revision = MemoryRevision(files)
    contract = load_contract(revision, _CONFIG, SHAPES)
    policy = Policy(checks=OwnChecks(python=tuple(FILES)))
    evaluator = prepare(trust_code(contract, revision, policy))
    found: dict[int, bool | None] = {}
    for fixture in contract.fixtures:
        index = int(fixture.id.split()[1])
        request = Request("openai/gpt-4o-mini", (), {}, None, 0)
        trial = Trial(contract.name, fixture.id, "head", 0, request)
        sample = Sample(trial, _completion(cases[index]), output=cases[index].output)
        passed = _passed(evaluator, sample)
        found[index] = None if None in passed else all(passed)
    return found


def _completion(case: Case) -> Completion:
    return Completion(
        case.output,
        latency_ms=case.latency_ms,
        cost_usd=case.cost_usd,
        finish_reason="tool_calls" if case.calls else "stop",
        tool_calls=tuple(ToolCall(name, arguments) for name, arguments in case.calls),
    )


def _passed(evaluator: Evaluator, sample: Sample) -> list[bool | None]:
    while questions := evaluator.questions(sample):
        answers = [JudgeAnswer(question_id(q), answer_judge(q)) for q in questions]
        sample = replace(sample, judge_answers=(*sample.judge_answers, *answers))
    return [result.passed for result in evaluator.evaluate(sample)]


def promptfoo_results(cases: list[Case], program: str) -> dict[int, bool]:
    """Return whether each case passes in promptfoo."""
    with tempfile.TemporaryDirectory() as folder, serve_models(_graded) as grader:
        out = Path(folder, "out.json")
        written = {
            **FILES,
            _CONFIG: json.dumps(
                _configuration(cases, "file://recorded.cjs", f"{grader.address}/v1")
            ),
            "recorded.cjs": _PROVIDER,
            "answers.json": json.dumps([_answer(case) for case in cases]),
        }
        for name, text in written.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        environment = {
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_CONFIG_DIR": folder,
            "PROMPTFOO_PYTHON": sys.executable,
        }
        command = [program, "eval", "-c", _CONFIG, "-o", str(out), "--no-cache", "--no-table"]
        subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, check=False, cwd=folder
        )
        rows = json.loads(out.read_text(encoding="utf-8"))["results"]["results"]
    return {int(row["testCase"]["description"].split()[1]): row["success"] for row in rows}


def _graded(_model: str, messages: Any) -> str:
    return answer_promptfoo("\n".join(str(message["content"]) for message in messages))


def _answer(case: Case) -> dict[str, Any]:
    calls = [
        {"id": str(n), "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(case.calls)
    ]
    output = calls or case.output
    return {"output": output, "cost": case.cost_usd, "latencyMs": case.latency_ms}
