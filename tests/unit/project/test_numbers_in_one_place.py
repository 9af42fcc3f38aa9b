"""`gatekeeper/numbers.py` alone decides how people read a share or an amount of money."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "gatekeeper"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "numbers.py")

_OWN_FORMATS = (
    r":[+,.\d]*%\}",  # a share: {rate:.1%}
    r'f"[^"\n]*\$\{(?!\{)',  # money: ${amount}
    r"\} USD\b",
)


def own_formats(code: str) -> list[str]:
    return [found[0] for shape in _OWN_FORMATS for found in re.finditer(shape, code)]


def test_no_module_formats_shares_or_money_on_its_own() -> None:
    found = {str(path): own_formats(path.read_text("utf-8")) for path in MODULES}
    assert {path: formats for path, formats in found.items() if formats} == {}


@pytest.mark.parametrize(
    "code", ['f"{rate:.1%}"', 'f"{rate:.0%} pass"', 'f"costs ${amount:.4f}"', 'f"{cost:.2f} USD"']
)
def test_formats_of_one_s_own_are_found(code: str) -> None:
    assert own_formats(code)
