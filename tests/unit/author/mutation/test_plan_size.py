"""A mutation run that would fill the memory is refused before anything is rendered."""

from __future__ import annotations

import json

import pytest

from gatekeeper.author.mutation.measure import plan_mutation
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.change import MemoryRevision
from gatekeeper.contract.load import load_contract
from gatekeeper.contract.policy import Policy
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
