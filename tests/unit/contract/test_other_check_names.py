"""The hints for check types of other tools name checks that exist, with their parameters."""

from __future__ import annotations

import re

import pytest
from support.check_examples import prepare_example

from gatekeeper.checks.check import Example
from gatekeeper.contract.checks.check_specs import CHECKS_HERE


@pytest.mark.parametrize("name", CHECKS_HERE)
def test_what_a_hint_advises_is_a_check(name):
    written = re.sub(r"\bmax: \.\.\.", "max: 9", CHECKS_HERE[name]).replace("...", "two words")
    model = ", model: openai/m" if written.startswith("judge:") else ""
    evaluator = prepare_example(Example(f"{{{written}{model}}}", "", ""))
    assert evaluator.checks["example"]
