"""The list of all check types."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gatekeeper.checks
from gatekeeper.checks.registry import CHECKS, MODULES, SHAPES
from scripts.publish_checks import GROUPS

HEAVY = (
    *("jinja2", "jsonpath", "jsonschema", "lingua", "markdown_it", "numpy", "phonenumbers"),
    *("rapidfuzz", "regex", "sacrebleu", "scipy", "sqlglot", "stdnum"),
)
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


def test_every_check_has_its_own_row() -> None:
    assert len(set(MODULES.values())) == len(MODULES)
    assert [SHAPES[name] for name in MODULES] == [check.shape for check in CHECKS.values()]


@pytest.mark.parametrize("name", ["unheard", "", "../equals", "values.equals"])
def test_only_names_of_the_list_are_checks(name: str) -> None:
    assert name not in CHECKS
    assert CHECKS.get(name) is None
    with pytest.raises(KeyError):
        CHECKS[name]


def test_every_module_with_a_check_is_listed() -> None:
    folder = Path(gatekeeper.checks.__file__ or "").parent
    written = {
        f"{'.'.join(path.relative_to(folder).with_suffix('').parts)}:{constant}".removesuffix(
            ":CHECK"
        )
        for group in GROUPS
        for path in (folder / group).rglob("*.py")
        for constant in re.findall(r"^([A-Z0-9_]+) = _?[Cc]heck\(", path.read_text("utf-8"), re.M)
    }
    assert written == set(MODULES.values())


def test_importing_every_check_loads_no_library_of_a_single_one() -> None:
    program = (
        "import sys; from gatekeeper.checks.registry import CHECKS; list(CHECKS.values()); "
        f"print(sorted(set({HEAVY}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
