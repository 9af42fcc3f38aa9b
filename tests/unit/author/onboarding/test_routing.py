"""The contract on skills that `init` proposes."""

from __future__ import annotations

import pytest
from support.revisions import revision

from gatekeeper.author.onboarding.proposal import propose
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.values.change import Overlay


def skill(description: str) -> str:
    return f"---\ndescription: {description}\n---\nDo it.\n"


TWO = {f".claude/skills/{n}/SKILL.md": skill(n) for n in ("pdf", "sheets")}
PATH = "contracts/skill-routing.yaml"


def test_two_skills_get_a_contract_with_an_example_for_each():
    files = revision({**TWO, ".agents/skills/pdf/SKILL.md": skill("copy")})
    found = propose(files)
    (made,) = found.skeletons
    contract = load_contract(Overlay(files, {made.path: made.text}), made.path, SHAPES)
    assert (made.path, found.runs) == (PATH, True)
    assert [fixture.expected for fixture in contract.fixtures] == ["pdf", "sheets", "none"]
    again = propose(revision({**TWO, made.path: made.text}))
    assert again.skeletons == ()


@pytest.mark.parametrize(
    "files",
    [
        dict([*TWO.items()][:1]),
        {f"node_modules/a/skills/{n}/SKILL.md": skill(n) for n in "ab"},
        {f"{n}/SKILL.md": skill(n) for n in ("x/a", "y/a")},
    ],
)
def test_a_lone_skill_or_an_installed_one_gets_none(files):
    assert [made.path for made in propose(revision(files)).skeletons if made.path == PATH] == []


def test_a_skill_that_cannot_be_read_is_named():
    found = propose(revision({**TWO, ".claude/skills/bad/SKILL.md": "# No front matter\n"}))
    (row,) = [row for row in found.rows if row.kind == "skills"]
    assert row.contract is None
    assert "the skill has no `description`" in row.note
