"""`gatekeeper generate` on the prompts of the PromptPex paper. A scripted server answers with what
PromptPex extracted from them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from support.git_repository import GitRepository
from support.machine_needs import DATA, RECORDED_OUTPUTS
from support.openai_server import OpenAIServer
from support.promptpex_author import PromptPexAuthor
from support.promptpex_repository import PROMPTS, VARIABLES, PromptPexData

from gatekeeper.checks.registry import SHAPES
from gatekeeper.cli.main import main
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.git import Repository

PROMPTPEX = DATA / "promptpex"
pytestmark = RECORDED_OUTPUTS.mark
MODEL = "openai/gpt-4o-mini"


def generate(name: str, author: PromptPexAuthor, patch: pytest.MonkeyPatch) -> int:
    with OpenAIServer(author):
        patch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
        return main(["generate", f"prompts/{name}.prompty", "--model", MODEL])


def read(repository: GitRepository, name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The specification, and the lines of the fixture file by their ids."""
    spec = yaml.safe_load((repository.path / f"prompts/{name}.spec.yaml").read_text("utf-8"))
    lines = (repository.path / f"contracts/{name}.fixtures.jsonl").read_text("utf-8").splitlines()
    return spec, {json.loads(line)["id"]: line for line in lines}


@pytest.mark.parametrize("name", PROMPTS)
def test_each_artifact_is_valid_and_an_edit_changes_the_tests_of_its_rule(
    name: str, git_repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = PromptPexData(PROMPTPEX, name)
    prompt = (PROMPTPEX / f"{name}.prompty").read_text("utf-8")
    repository = git_repository(name)
    repository.write(f"prompts/{name}.prompty", prompt)
    repository.commit("the prompt")
    monkeypatch.chdir(repository.path)
    author = PromptPexAuthor(found, VARIABLES[name])

    assert generate(name, author, monkeypatch) == 0
    spec, tests = read(repository, name)
    lines = prompt.split("\n")
    for item in (*spec["rules"], *spec["input"]):
        assert item["lines"]
        assert all(lines[number - 1].strip() for number in item["lines"])
    rules = {rule["id"]: rule for rule in spec["rules"]}
    assert {json.loads(line)["cluster"] for line in tests.values()} <= set(rules)
    recorded = {row["input"] for row in found.rows}
    assert {json.loads(line)["vars"][VARIABLES[name]] for line in tests.values()} <= recorded
    with Repository.open(repository.path) as opened:
        contract = load_contract(opened.worktree(), f"contracts/{name}.yaml", SHAPES)
    assert {fixture.id for fixture in contract.fixtures} == set(tests)
    assert len(contract.checks) == len(rules)
    assert main(["validate"]) == 0
    checked = [rule for rule in rules.values() if "check" in rule]
    assert len(checked) == (name == "speech-tag")

    # One rule is reworded: its tests change, those of the others do not.
    first = next(iter(rules.values()))
    author.reworded[first["text"]] = "After the edit, the output says something else altogether."
    assert generate(name, author, monkeypatch) == 0
    spec, after = read(repository, name)
    assert [rule["text"] for rule in spec["rules"] if rule["id"] not in rules] == [
        author.reworded[first["text"]]
    ]
    changed = {i for i in {*tests, *after} if tests.get(i) != after.get(i)}
    assert changed
    owners = {json.loads((tests | after)[i])["cluster"] for i in changed}
    new = {rule["id"] for rule in spec["rules"]} - set(rules)
    assert owners == {first["id"], *new}
    assert main(["validate"]) == 0
    capsys.readouterr()
