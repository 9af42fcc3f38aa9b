"""The rooms of the package: as docs/architecture.md names them, as import-linter enforces them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

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


def test_a_folder_has_at_most_twelve_modules() -> None:
    """What holds more has no topic that a reader could guess."""
    folders = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert [str(folder) for folder, count in folders.items() if count > 12] == []


def test_a_module_says_what_it_is_for() -> None:
    texts = {path: path.read_text("utf-8") for path in MODULES}
    unsaid = [path for path, text in texts.items() if text.strip() and not text.startswith('"""')]
    assert unsaid == []


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement of a tree; looking at the expressions too takes five times as long."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            yield node
            yield from statements(node)


def long_functions(path: Path) -> dict[str, int]:
    """The lines of each function of a module that has more than 60."""
    functions = (
        node
        for node in statements(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    lengths = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions}
    return {name: lines for name, lines in lengths.items() if lines > 60}


def test_a_function_has_at_most_60_lines() -> None:
    found = {str(path): long_functions(path) for path in MODULES}
    assert {path: functions for path, functions in found.items() if functions} == {}


def test_paths_that_the_page_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"(?<![\w/.-])((?:[a-z_]+/)+[a-z_]+\.py)", page))
    assert named
    assert not {name for name in named if not any((p / name).exists() for p in (ROOT, PACKAGE))}
