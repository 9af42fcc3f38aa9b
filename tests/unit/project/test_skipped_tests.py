"""Each skipped test says what it needs and how to run it, and CONTRIBUTING.md has all of them."""

from __future__ import annotations

import re
from pathlib import Path

from support.machine_needs import NEEDS

ROOT = Path(__file__).parents[3]
TESTS = {path: path.read_text("utf-8") for path in sorted((ROOT / "tests").rglob("*.py"))}
# What a test file says if a fixture or a marker stands for the need.
STANDS_FOR = {"RECORDED_OUTPUTS": "shared_data", "CONTAINER_TOOLS": r"mark\.container"}


def files_with(pattern: str) -> list[Path]:
    found = [path for path, text in TESTS.items() if re.search(rf"\b({pattern})\b", text)]
    return [path for path in found if path != Path(__file__)]


def test_contributing_has_each_need_with_its_tests_and_its_command() -> None:
    rows = []
    for name, need in NEEDS.items():
        files = files_with(rf"{name}\.(mark|require)|{STANDS_FOR.get(name, name + '.mark')}")
        tests = [file.relative_to(ROOT / "tests") for file in files if "test_" in file.name]
        names = ", ".join(f"`{test}`" for test in tests)
        rows.append(f"| {names} | {need.what} | {need.command} |")
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = page.split("## Skipped tests\n")[1].split("\n## ")[0]
    assert re.findall(r"^\| `.*", table, re.MULTILINE) == rows


def test_no_test_is_skipped_for_another_reason() -> None:
    skipping = files_with(r"importorskip|skipif|mark\.skip|pytest\.skip")
    left_out = ROOT / "tests/end_to_end/conftest.py"
    assert set(skipping) == {ROOT / "tests/support/machine_needs.py", left_out}
