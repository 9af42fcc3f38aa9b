"""The tasks of benchmarks/modes.py: PCSL's suites as contracts, and what each mode sends."""

from __future__ import annotations

from pathlib import Path

from benchmarks.modes import MODES, contract_of, tasks
from gatekeeper.gate.as_sent import as_sent


def test_every_task_is_a_contract_in_every_mode(shared_data: Path) -> None:
    found = {task.name: task for task in tasks(shared_data / "pcsl", 4)}
    assert len(found) == 5
    assert [len(task.inputs) for task in found.values()] == [4, 4, 3, 2, 3]
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
