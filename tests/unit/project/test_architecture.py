"""The rooms of the package: as docs/architecture.md names them, as import-linter enforces them."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "gatekeeper"
MODULES = sorted(PACKAGE.rglob("*.py"))


def enforced_rooms() -> list[set[str]]:
    """The layers of pyproject.toml, from top to bottom; rooms on one line share a set."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [layers] = [found["layers"] for found in contracts if found["id"] == "rooms"]
    return [set(layer.split(" | ")) for layer in layers]


def documented_rooms() -> list[set[str]]:
    """The first column of the table of rooms."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = page.split("## Rooms\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    return [{name.removesuffix(".py") for name in re.findall(r"`([^`]+)`", row)} for row in rows]


def test_the_page_has_the_enforced_order() -> None:
    assert [{"__main__"}, *documented_rooms()] == enforced_rooms()


def test_every_room_is_enforced() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    loose = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert rooms | loose == set().union(*enforced_rooms())


def test_the_hallway_is_short() -> None:
    assert len(list(PACKAGE.glob("*/__init__.py"))) <= 14
    assert {path.name for path in PACKAGE.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "errors.py",
        "numbers.py",
    }


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_says_what_it_is_for_in_at_most_400_lines(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 400
    assert not text.strip() or text.startswith('"""')


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_function_has_at_most_60_lines(path: Path) -> None:
    functions = (
        node
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    lengths = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions}
    assert {name: lines for name, lines in lengths.items() if lines > 60} == {}


def test_paths_that_the_page_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"(?<![\w/.-])((?:[a-z_]+/)+[a-z_]+\.py)", page))
    assert named
    assert not {name for name in named if not any((p / name).exists() for p in (ROOT, PACKAGE))}
