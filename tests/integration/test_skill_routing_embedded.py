"""Which skill the embedded model picks, before and after an edit of the list of skills.

A model of 135 million parameters picks by the names of the skills and hardly reads their
descriptions: with two descriptions swapped, it answered 9 of 9 requests as before. So the set is
the simplest that it can route: two skills whose names say what they are for, and a JSON Schema with
the names, which its answers follow. The harmless edit is one of a description. The catastrophic one
adds a skill whose name draws requests away from another.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git_repository import GitRepository
from support.recorded_repository import check, result_of

pytestmark = pytest.mark.long

SKILLS = {
    "cooking": "Use this for recipes and food.",
    "music": "Use this for songs and bands.",
}
THIEF = {"recipe": "Recipes: how to bake and cook soup, bread, rice and pasta."}
FOODS = ("tomato soup", "bread", "rice", "pasta", "a cake", "pancakes", "pizza")
REQUESTS = {
    **{f"Give me a recipe for {food}.": "cooking" for food in FOODS},
    "Play a song by the Beatles.": "music",
}
SCHEMA = {
    "type": "object",
    "properties": {"skill": {"enum": [*SKILLS, *THIEF]}},
    "required": ["skill"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "skill", "schema": SCHEMA}}
CONTRACT = {
    "contract": 1,
    "name": "routing",
    "skills": "../skills/*/SKILL.md",
    "model": "local/smollm2",
    "params": {"temperature": 0, "max_tokens": 20, "response_format": FORM},
    "gate": {"claim": "inputs"},
    "fixtures": [{"request": r, "expected": skill} for r, skill in REQUESTS.items()],
}
EDITS = {
    "harmless": ({"cooking": "Use this for recipes, meals and food."}, "pass"),
    "catastrophic": (THIEF, "fail"),
}


def files_of(skills: dict[str, str]) -> dict[str, str]:
    return {
        f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: {json.dumps(said)}\n---\nDo.\n"
        for name, said in skills.items()
    }


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_the_skills_is_decided_rightly(
    edit: str, git_repository: Callable[..., GitRepository], tmp_path: Path
) -> None:
    skills, verdict = EDITS[edit]
    repository = git_repository("routing")
    repository.write_all({**files_of(SKILLS), "contracts/routing.yaml": json.dumps(CONTRACT)})
    repository.commit("base")
    repository.git("checkout", "-q", "-b", "pr")
    repository.write_all(files_of(skills))
    repository.commit(edit)
    code = check(repository, tmp_path / "out")
    result = result_of(tmp_path / "out")
    (contract,) = result["contracts"]
    assert contract["base"]["success_rate"] >= 0.8
    assert (code, result["verdict"]) == (int(verdict == "fail"), verdict)
