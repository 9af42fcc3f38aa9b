"""The contracts of the prompts of generation ask what generation asks: with the same data, the same
settings and the same schema."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Coroutine, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gatekeeper.author.generation import rule_checks
from gatekeeper.author.generation.files import FixtureRow
from gatekeeper.author.generation.items import (
    CONSTRAINTS,
    OPEN_QUESTIONS,
    RULES,
    Carried,
    find_items,
    invert_rules,
    update_items,
)
from gatekeeper.author.generation.numbered_prompt import number_prompt
from gatekeeper.author.generation.questions import QUESTIONS
from gatekeeper.author.generation.run import Generated
from gatekeeper.author.generation.tests import Effort, Writer
from gatekeeper.author.mutation.model_mutants import propose_mutants, protect
from gatekeeper.author.mutation.mutants import MUTATIONS, make_mutants
from gatekeeper.author.quality.agreement import measure_agreement, write_baseline_tests
from gatekeeper.author.quality.judges import (
    Panel,
    judge_groundedness,
    judge_validity,
    with_proposed_answers,
)
from gatekeeper.author.specification.prompt_lines import LineChanges
from gatekeeper.author.specification.spec_file import (
    GeneratedTest,
    InputConstraint,
    Rule,
    Scenario,
    Specification,
)
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.trial import Completion
from scripts.publish_schema import STAGE_SCHEMAS, contract_name

CONTRACTS = Path(__file__).parents[4] / "contracts"
VALUES = {"type": "object", "minProperties": 1}


class Asked:
    """Stands in for the asker: keeps each question, and answers it with nothing found."""

    def __init__(self) -> None:
        self.questions: dict[str, tuple[set[str], set[str], Any]] = {}

    async def ask(
        self,
        stage: str,
        data: Mapping[str, str],
        settings: Mapping[str, str] | None = None,
        values: Mapping[str, Any] | None = None,
        **_: object,
    ) -> Mapping[str, Any]:
        schema = QUESTIONS[stage].with_variables(values)
        names, filled, _ = self.questions.get(stage, (set(), set(), None))
        self.questions[stage] = names | data.keys(), filled | (settings or {}).keys(), schema
        known: dict[str, Any] = {"intent": "", "reason": "", "verdict": "unknown"}
        if stage == "baseline_tests" and "written" not in data:
            row = {"scenario": "a river", "vars": {"text": "The river is wide."}}
            known["tests"] = [row]
        return {name: known.get(name, []) for name in schema["properties"]}

    async def complete(self, *_: object) -> Completion:
        return Completion("an answer")

    async def text(self, *_: object) -> str:
        return "an answer"


def test_the_contracts_ask_what_generation_asks() -> None:
    asked = Asked()
    asyncio.run(_ask_everything(asked))
    assert asked.questions.keys() == STAGE_SCHEMAS.keys()
    for stage, (data, settings, schema) in asked.questions.items():
        name = contract_name(stage)
        prompt = (CONTRACTS / f"prompts/{name}.prompty").read_text("utf-8")
        assert set(re.findall(r"<data (\w+)>", prompt)) == data, stage
        assert settings <= _variables(name), stage
        assert _of_any_prompt(schema) == STAGE_SCHEMAS[stage], stage
        assert "minProperties" not in json.dumps(schema), f"{stage}: no variables were named"


def _variables(contract: str) -> set[str]:
    lines = (CONTRACTS / f"{contract}.fixtures.jsonl").read_text("utf-8").splitlines()
    return set.intersection(*(set(json.loads(line)["vars"]) for line in lines))


def _of_any_prompt(schema: Any) -> Any:
    """The schema without the variables of one prompt."""
    if isinstance(schema, Mapping):
        return {
            name: VALUES if name == "vars" and "properties" in value else _of_any_prompt(value)
            for name, value in schema.items()
        }
    return [_of_any_prompt(value) for value in schema] if isinstance(schema, list) else schema


async def _ask_everything(asker: Any) -> None:
    revision = MemoryRevision({"p.md": b"Translate the text to Dutch.\nText: {{ text }}\n"})
    prompt = number_prompt(revision, "p.md")
    rule = Rule("dutch", "The output is in Dutch.", "The output is not in Dutch.", (1,))
    input_ = [InputConstraint("input-text", "The text is any text.", (2,))]
    before = Specification("p.md")
    changes: Any = LineChanges(changed=(1,))
    carried: Any = Carried((), {}, (), frozenset(), ())
    test = GeneratedTest("dutch.1", "dutch", "rule", "typical", "a word", "", {"text": "tree"})
    writer = Writer(asker, prompt, input_, [rule], Effort(1, rates=True, expands=True))
    mutants = make_mutants(prompt.prompt, MUTATIONS)[:1]
    row = FixtureRow(
        "baseline.1", json.dumps({"id": "1", "vars": {"text": "a"}, "category": "baseline"})
    )
    panel = Panel(asker, ["judge"])
    plan: Any = SimpleNamespace(prompt=prompt, revision=revision)
    target: Any = SimpleNamespace(prompt=prompt.prompt)
    specification = Specification("p.md", rules=(rule,))
    questions: list[Coroutine[Any, Any, object]] = [
        find_items(asker, prompt, before, CONSTRAINTS),
        find_items(asker, prompt, before, RULES),
        find_items(asker, prompt, before, OPEN_QUESTIONS),
        invert_rules(asker, [rule]),
        rule_checks.propose_checks(asker, prompt, [rule]),
        writer.write_tests(rule, 1, Scenario("s", "at sea")),
        writer.improve([test]),
        protect(asker, prompt, target, mutants, [], 1),
        propose_mutants(asker, prompt.prompt),
        update_items(asker, prompt, changes, before, RULES, carried),
        update_items(asker, prompt, changes, before, CONSTRAINTS, carried),
        update_items(asker, prompt, changes, before, OPEN_QUESTIONS, carried),
        write_baseline_tests(asker, prompt, 2),
        judge_validity(panel, input_, [row]),
        judge_groundedness(panel, prompt, [rule]),
        with_proposed_answers(plan, asker, panel, "model", Generated(before, (row,))),
        measure_agreement(plan, asker, panel, specification, [row], "model", None),
    ]
    for question in questions:
        await question
