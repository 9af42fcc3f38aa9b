"""The list of all check types."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gatekeeper.checks.registry import CHECKS, MODULES, SHAPES

SCRIPT = """
import sys
from gatekeeper.checks.registry import SHAPES
assert "judge" in SHAPES and len(SHAPES) > 20 and SHAPES.get("unheard") is None
before = "gatekeeper.checks.values.equals" in sys.modules
SHAPES["equals"]
print(before, "gatekeeper.checks.values.equals" in sys.modules,
      "gatekeeper.checks.judges.judge" in sys.modules)
"""


def test_a_check_is_imported_when_it_is_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False True False\n"


def test_every_check_has_its_own_module() -> None:
    assert len(set(MODULES.values())) == len(MODULES)
    assert [SHAPES[name] for name in MODULES] == [check.shape for check in CHECKS.values()]


@pytest.mark.parametrize("name", ["unheard", "", "../equals", "values.equals"])
def test_only_names_of_the_list_are_checks(name: str) -> None:
    assert name not in CHECKS
    assert CHECKS.get(name) is None
    with pytest.raises(KeyError):
        CHECKS[name]
