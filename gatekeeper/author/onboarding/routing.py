"""Proposes a contract on which skill of a repository a model picks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from posixpath import dirname

from gatekeeper.author.onboarding.skeleton import Skeleton, list_item, propose_name
from gatekeeper.contract.discovery.places import is_of_agents, is_own
from gatekeeper.contract.fixtures.unused_variables import EXAMPLES
from gatekeeper.contract.prompts.skills import NONE, read_routing
from gatekeeper.contract.reading.globs import literal_pattern
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.syntax.yaml_text import write_flow
from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import ContractError

_MOST_FIXTURES = 20


def find_skills(revision: Revision) -> str | None:
    """Return the pattern of the folder with the most skills; None if none has two."""
    folders: dict[str, list[str]] = defaultdict(list)
    for path in revision.entries:
        if path.endswith("/SKILL.md") and (is_of_agents(path) or is_own(path)):
            folders[dirname(dirname(path))].append(path)
    most = max(folders, key=lambda folder: (len(folders[folder]), folder), default="")
    if len(folders[most]) < 2:
        return None
    return f"/{literal_pattern(most)}/*/SKILL.md" if most else "/*/SKILL.md"


def write_routing(
    revision: Revision, pattern: str, taken: set[str], folder: str, model: str
) -> Skeleton:
    """Return a contract with an example request for each skill. Raises ContractError."""
    name = propose_name("skill-routing", taken)
    path = f"{folder}/{name}.yaml"
    routing = read_routing(revision, Document(path, {"contract": 1, "skills": pattern}))
    if routing is None or routing.problems:
        raise ContractError(routing.problems if routing else ())
    rows = [_row(skill) for skill in [*sorted(routing.names)[:_MOST_FIXTURES], NONE]]
    lines: Sequence[str] = [
        f"# Proposed by `gatekeeper init` for the skills of {pattern}.",
        "# Replace each request by some that users really send.",
        "contract: 1",
        f"name: {name}",
        f"skills: {write_flow(pattern)}",
        f"model: {model}",
        "params: {max_tokens: 2000}",
        "",
        "fixtures:",
        *(line for row in rows for line in list_item(row)),
        "",
    ]
    return Skeleton(path, name, "\n".join(lines), len(rows), (), "to replace")


def _row(skill: str) -> dict[str, str]:
    about = "request that needs no skill" if skill == NONE else f"request for the skill {skill}"
    return {"request": EXAMPLES[-1].format(name=about), "expected": skill}
