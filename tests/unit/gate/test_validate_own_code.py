"""What `validate` says of checks whose code the policy does not list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.gate.validate import validate_contracts

FILES = {
    "contracts/a.yaml": """\
contract: 1
name: a
prompt: ../p.txt
model: openai/gpt-4o-mini
gate: {tolerance: 1}
checks:
  - {python: "../own/polite.py:f", name: polite}
  - {type: any_of, checks: [{python: "near.py:f"}, {type: contains, value: x}]}
fixtures: [{vars: {word: a}}]
""",
    "contracts/near.py": "def f(output):\n    return True\n",
    "own/polite.py": "def f(output):\n    return True\n",
    "p.txt": "Say {{ word }}",
}


@pytest.mark.parametrize(("patterns", "lines"), [(["contracts/*.py"], [7]), (["**/*.py"], [])])
def test_code_that_the_policy_does_not_list_is_a_warning(
    patterns: list[str], lines: list[int]
) -> None:
    revision = MemoryRevision({path: text.encode() for path, text in FILES.items()})
    policy = Policy()
    policy = replace(policy, checks=replace(policy.checks, python=tuple(patterns)))
    found = validate_contracts(revision, policy)
    assert found.problems == ()
    warned = [problem.problem for problem in found.of_level("warning")]
    assert [(problem.path, problem.line) for problem in warned] == [
        ("contracts/a.yaml", line) for line in lines
    ]
