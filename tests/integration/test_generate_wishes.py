"""What a person asks `gatekeeper generate` for: an effort, scenarios, metrics, instructions."""

from __future__ import annotations

import json

import pytest
import yaml
from support.generate_fixtures import CONTRACT, FIXTURES, SPEC
from support.scripted_author import author, stage_of

from gatekeeper.cli.main import main


def test_high_effort_and_a_persons_wishes_end_in_the_files(repository, generate, capsys):
    wishes = """\
version: 1
prompt: review.txt
scenarios:
- {id: shop, text: A shop reads the reviews of its customers.}
metrics:
- {id: short, text: The output wastes no word.}
instructions: {tests: "Write as a teenager does.", all: "Use British English."}
"""
    repository.write(SPEC, wishes)
    changes = {
        "rating": {"duplicates": [[1, 2]], "missing": []},
        "expansion": {"tests": [{"number": 1, "vars": {"review": "A much longer review. " * 9}}]},
    }
    code, server = generate("--effort", "high", answer=author(changes))
    assert code == 0
    said = capsys.readouterr().err
    assert "1 test left out, because another test has the same intent" in said
    assert "2 tests made longer" in said
    asked = {stage_of(body): body["messages"][0]["content"] for body in server.requests}
    assert "British English" in asked["rules"]
    assert "teenager" not in asked["rules"]
    assert "teenager" in asked["tests"]
    spec = yaml.safe_load((repository.path / SPEC).read_text("utf-8"))
    assert {name: spec[name] for name in ("scenarios", "metrics", "instructions")} == {
        name: yaml.safe_load(wishes)[name] for name in ("scenarios", "metrics", "instructions")
    }
    contract = yaml.safe_load((repository.path / CONTRACT).read_text("utf-8"))
    assert contract["checks"][-1]["judge"] == "rubric"
    rows = (repository.path / FIXTURES).read_text("utf-8").splitlines()
    assert all(".shop." in json.loads(row)["id"] for row in rows)
    assert main(["validate"]) == 0


@pytest.mark.parametrize(
    "wish",
    [
        "scenarios: [{id: inverse, text: a}]",
        "scenarios: [{id: '1', text: a}]",
        "metrics: [{id: a}]",
        "instructions: {testing: a}",
    ],
)
def test_a_wish_that_cannot_be_read_is_refused(repository, generate, capsys, wish):
    repository.write(SPEC, f"version: 1\nprompt: review.txt\n{wish}\n")
    code, server = generate()
    assert (code, server.requests) == (2, [])
    assert f"{SPEC}:3" in capsys.readouterr().err
