"""The documents of the checks are run: every example loads, every parameter is described."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

from gatekeeper.checks.check import Check
from gatekeeper.checks.evaluate import Evaluator, prepare
from gatekeeper.checks.registry import CHECKS, SHAPES
from gatekeeper.contract.definition import CheckSpec, Contract, Fixture, Prompt, Target
from gatekeeper.contract.trial import Completion, Request, Sample, Trial
from gatekeeper.sampling.repair import STEPS

DOCS = Path(__file__).parents[3] / "docs"
CHECKS_TEXT = (DOCS / "checks.md").read_text("utf-8")
GUIDE = (DOCS / "adding-a-check.md").read_text("utf-8")
FIXTURE = Fixture("one", {"customer": "Ann"}, expected={"order_id": "A-1"})


def blocks(markdown: str, language: str) -> Iterator[str]:
    for token in MarkdownIt().parse(markdown):
        if token.type == "fence" and token.info == language:
            yield token.content


def sections(markdown: str) -> Mapping[str, str]:
    parts = re.split(r"^## (.+)$", markdown, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def examples() -> list[Mapping[str, Any]]:
    return [
        check
        for name in CHECKS
        for block in blocks(sections(CHECKS_TEXT)[name], "yaml")
        for check in yaml.safe_load(block)
    ]


def ready(check: Mapping[str, Any], checks: Mapping[str, Check] = CHECKS) -> Evaluator:
    params = {key: value for key, value in check.items() if key not in ("type", "name", "severity")}
    errors = Draft202012Validator(checks[check["type"]].shape.schema).iter_errors(params)
    assert [error.message for error in errors] == []
    spec = CheckSpec(check["type"], check["type"], params)
    target = Target(Prompt("p.md", (), ""), "m", {})
    return prepare(Contract("c", "contracts/c.yaml", target, (FIXTURE,), (spec,)), checks)


def sample(output: str) -> Sample:
    trial = Trial("c", "one", "head", 0, Request("m", (), {}, None, 0))
    return Sample(trial, Completion(output), output=output)


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_has_a_section_with_every_parameter_and_an_example(name):
    section = sections(CHECKS_TEXT)[name]
    described = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
    assert described == list(SHAPES[name].schema["properties"])
    assert any(example["type"] == name for example in examples())


@pytest.mark.parametrize("example", examples(), ids=str)
def test_every_example_works(example):
    assert len(ready(example).evaluate(sample("anything"))) == 1


def test_the_first_example_of_the_page_works():
    for check in yaml.safe_load(next(blocks(CHECKS_TEXT, "yaml")))["checks"]:
        ready(check)


def test_every_repair_is_described():
    section = sections(CHECKS_TEXT)["Repairs"]
    assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == list(STEPS)
    steps = yaml.safe_load(next(blocks(section, "yaml")))["repair"]["steps"]
    assert set(steps) <= set(STEPS)


def test_the_guide_to_adding_a_check_works():
    module, line = blocks(GUIDE, "python")
    example = yaml.safe_load(next(blocks(GUIDE, "yaml")))[0]
    code: dict[str, Any] = {}
    exec(compile(module, "starts_with.py", "exec"), code)  # noqa: S102 - the guide is ours
    assert line.strip() == '"starts_with": starts_with.CHECK,'

    evaluator = ready(example, {**CHECKS, "starts_with": code["CHECK"]})
    assert evaluator.evaluate(sample("dear ann, hello"))[0].passed
    failed = evaluator.evaluate(sample("Hello"))[0]
    assert failed.passed is False
    assert failed.message == 'expected to begin with "Dear Ann"; got "Hello"'
