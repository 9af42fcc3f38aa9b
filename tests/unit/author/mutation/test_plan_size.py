"""A mutation run that would fill the memory is refused before anything is rendered."""

from __future__ import annotations

import json

import pytest

from gatekeeper.author.mutation.measure import plan_mutation
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.render import render_all
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import UsageError

CONTRACT = """\
contract: 1
name: words
prompt: ../words.txt
model: openai/gpt-4o-mini
fixtures: [{file: words.jsonl}]
checks: [{type: contains, value: ok}]
"""


def planned(fixtures: int, sentence: str):
    rows = (json.dumps({"id": f"f{number}", "vars": {"x": number}}) for number in range(fixtures))
    files = {
        "contracts/words.yaml": CONTRACT,
        "contracts/words.jsonl": "\n".join(rows),
        "words.txt": "".join(f"{sentence} {part}.\n" for part in range(20)) + "{{ x }}\n",
    }
    revision = MemoryRevision({path: text.encode() for path, text in files.items()})
    contract = load_contract(revision, "contracts/words.yaml", SHAPES)
    return plan_mutation(contract, Policy(), revision, ("drop",))


def test_requests_that_do_not_fit_into_memory_are_refused():
    with pytest.raises(UsageError, match="MB of requests"):
        planned(300, "Say what you think of it " * 150)


def test_a_usual_prompt_is_planned():
    assert len(planned(10, "Say what you think of it").mutants) == 20


def test_the_prompt_that_all_mutants_are_compared_with_is_rendered_once(monkeypatch):
    rendered = []

    def counted(prompt, values, budget):
        rendered.append(prompt.messages)
        return render_all(prompt, values, budget)

    monkeypatch.setattr("gatekeeper.sampling.trials.render_all", counted)
    # All mutants have the fixtures and checks of one contract: nothing digests them again.
    monkeypatch.setattr("gatekeeper.gate.plan.plan.contract_digest", None)
    plan = planned(3, "Say what you think of it")
    assert rendered.count(plan.contract.target.prompt.messages) == 1
    assert len(rendered) == 1 + len(plan.mutants)
    # The base arm of every comparison still has its own trials, with the same requests.
    base = [trial for trial in plan.work.trials if trial.arm == "base"]
    assert len(base) == 3 * len(plan.mutants)
    assert len({trial.request.messages for trial in base}) == 3
