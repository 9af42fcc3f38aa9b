"""The tasks of benchmarks/modes.py: PCSL's suites as contracts, and what each mode sends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.modes import MODES, contract_of, tasks
from gatekeeper.gate.plan.plan import as_sent


def test_every_task_is_a_contract_in_every_mode(shared_data: Path) -> None:
    found = {task.name: task for task in tasks(shared_data / "pcsl", 4)}
    assert len(found) == 7
    assert [len(task.inputs) for task in found.values()] == [4, 4, 4, 3, 3, 2, 3]
    for task in found.values():
        sent = {mode: as_sent(contract_of(task, mode)) for mode in MODES}
        assert sent["observe"] == sent["repair"]
        assert "<output_requirements>" in sent["assist"].appended
        schema = sent["enforce"].params["response_format"]["json_schema"]["schema"]
        assert schema["required"]
    schema = as_sent(contract_of(found["support_ticket"], "enforce")).params["response_format"]
    assert schema["json_schema"]["schema"] == {
        "type": "object",
        "properties": {
            "category": {},
            "priority": {"enum": ["low", "medium", "high"]},
            "reason": {},
        },
        "required": ["category", "priority", "reason"],
    }


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("classification_en", {"intent": "none"}),
        ("extraction_finance", {"entities": [{"type": "MONEY", "value": "$1"}]}),
        ("rag_qa_wiki", {"answer": "nobody"}),
    ],
)
def test_the_expected_output_is_right_and_another_is_not(
    shared_data: Path, name: str, wrong: object
) -> None:
    (task,) = (task for task in tasks(shared_data / "pcsl", 4) if task.name == name)
    assert task.is_right is not None
    for expected in task.inputs.values():
        assert task.is_right(json.loads(json.dumps(expected)), expected)
        assert not task.is_right(wrong, expected)
