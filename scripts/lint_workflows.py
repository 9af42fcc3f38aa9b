"""Lints the workflows: those that run here, those to copy, action.yml, and the example contracts.

    python scripts/lint_workflows.py

Workflows to copy stand in the documentation as ```yaml blocks with `jobs:`, and in the package
for `gatekeeper init`. Their placeholder for this action is filled in, since the linters cannot
know that a reader will. zizmor looks for what an attacker could use, actionlint for what will
not run, check-jsonschema for keys that GitHub does not know. Nothing is fetched.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(sys.executable).parent
PLACEHOLDER = re.compile(r"(?<=uses: )OWNER/gatekeeper(\S*)@COMMIT.*")
FILLED_IN = rf"owner/gatekeeper\1@{'0' * 40} # v1.0.0"
BLOCK = re.compile(r"^```ya?ml\n(.*?)^```", re.DOTALL | re.MULTILINE)
JOBS = re.compile(r"^jobs:", re.MULTILINE)


def workflows(root: Path) -> Iterator[tuple[str, str]]:
    """(where it stands, text) of every workflow in the repository."""
    places = (".github/workflows/*.yml", "docs/**/*.yml", "gatekeeper/cli/starter/*.yml")
    for path in sorted(found for place in places for found in root.glob(place)):
        text = path.read_text(encoding="utf-8")
        if JOBS.search(text):
            yield str(path.relative_to(root)), text
    for path in [*sorted((root / "docs").rglob("*.md")), root / "README.md"]:
        for number, block in enumerate(BLOCK.findall(path.read_text(encoding="utf-8")), 1):
            if JOBS.search(block):
                yield f"{path.relative_to(root)} block {number}", block


def copy_workflows(root: Path, folder: Path) -> list[Path]:
    """The workflows as files that the linters recognise by their place."""
    target = folder / ".github" / "workflows"
    target.mkdir(parents=True)
    copies = []
    for place, text in workflows(root):
        name = re.sub(r"[^\w-]+", "-", place.removesuffix(".yml")).strip("-")
        copies.append(target / f"{name}.yml")
        copies[-1].write_text(PLACEHOLDER.sub(FILLED_IN, text), encoding="utf-8")
    return copies


def lint(root: Path) -> bool:
    """Whether no linter found anything."""
    with tempfile.TemporaryDirectory() as temporary:
        copies = [str(copy) for copy in copy_workflows(root, Path(temporary))]
        action, contracts = str(root / "action.yml"), sorted(root.glob("contracts/*.yaml"))
        schema = str(root / "gatekeeper" / "contract" / "meaning" / "schema.v1.json")
        commands = (
            ["zizmor", "--offline", "--no-progress", "--quiet", *copies, action],
            ["actionlint", "-shellcheck=", "-pyflakes=", *copies],
            ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *copies],
            ["check-jsonschema", "--builtin-schema", "vendor.github-actions", action],
            ["check-jsonschema", "--schemafile", schema, *map(str, contracts)],
        )
        return all([_run(command, Path(temporary)) for command in commands])  # noqa: C419


def _run(command: list[str], folder: Path) -> bool:
    done = subprocess.run(
        [str(PROGRAMS / command[0]), *command[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout + done.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(0 if lint(ROOT) else 1)
