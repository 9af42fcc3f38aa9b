"""Prints how large the project is: lines and modules of the package by room, lines of the tests,
words of the documentation. `make size` runs it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gatekeeper"


def main() -> None:
    modules = sorted(PACKAGE.rglob("*.py"))
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for module in modules:
        room = _room(module)
        lines[room] += _lines(module)
        files[room] += 1
    _row("room", "lines", "modules", "loose")
    for room, count in lines.most_common():
        loose = sum(1 for module in (PACKAGE / room).glob("*.py") if module.name != "__init__.py")
        _row(room, f"{count:,}", f"{files[room]:,}", str(loose))
    _row("package", f"{lines.total():,}", f"{files.total():,}", "")
    tests = sum(map(_lines, (ROOT / "tests").rglob("*.py")))
    _row("tests", f"{tests:,}", "", "")
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in pages)
    print(f"documentation: {words:,} words on {len(pages)} pages")


def _room(module: Path) -> str:
    inside = module.relative_to(PACKAGE).parts
    return inside[0] if len(inside) > 1 else "."


def _lines(file: Path) -> int:
    return file.read_text(encoding="utf-8").count("\n")


def _row(*cells: str) -> None:
    name, *figures = cells
    print(f"{name:<12}" + "".join(f"{figure:>10}" for figure in figures))


if __name__ == "__main__":
    main()
