"""`gatekeeper generate --update` on the prompts of the PromptPex paper: one line is edited."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from support.machine_needs import DATA, RECORDED_OUTPUTS
from support.openai_server import OpenAIServer
from support.promptpex_author import PromptPexAuthor
from support.promptpex_repository import PROMPTS, VARIABLES, PromptPexData

from gatekeeper.cli.main import main

PROMPTPEX = DATA / "promptpex"
pytestmark = [
    pytest.mark.long,
    RECORDED_OUTPUTS.mark,
]
MODEL = "openai/gpt-4o-mini"
NO_NEWS: Mapping[str, Any] = {"known": [], "new": []}


class UpdatingAuthor(PromptPexAuthor):
    """It rewords the rules of changed lines, and keeps what these lines say of the input."""

    def _update_rules(self, data: Mapping[str, str]) -> dict[str, Any]:
        rows = self._known(data, "reword")
        self.reworded |= {row["text"].removesuffix(" Now."): row["text"] for row in rows}
        return {**NO_NEWS, "known": rows}

    def _update_input_specification(self, data: Mapping[str, str]) -> dict[str, Any]:
        return {**NO_NEWS, "intent": data["intent"], "known": self._known(data, "keep")}

    def _update_open_questions(self, _: Mapping[str, str]) -> dict[str, Any]:
        return dict(NO_NEWS)

    def _known(self, data: Mapping[str, str], verdict: str) -> list[dict[str, Any]]:
        line = int(data["changed_lines"])
        rows = (row.partition(". ") for row in data["known"].splitlines() if row != "none")
        return [
            {"number": int(number), "verdict": verdict, "text": f"{text} Now.", "lines": [line]}
            for number, _, text in rows
        ]


@pytest.mark.parametrize("name", PROMPTS)
def test_an_edit_of_one_line_changes_what_follows_from_it(
    name: str, git_repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = git_repository(name)
    place = f"prompts/{name}.prompty"
    text = (PROMPTPEX / f"{name}.prompty").read_text("utf-8")
    repository.write(place, text)
    monkeypatch.chdir(repository.path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
    command = ["generate", place, "--model", MODEL]

    def read() -> tuple[dict[str, Any], dict[str, str]]:
        spec = yaml.safe_load((repository.path / f"prompts/{name}.spec.yaml").read_text("utf-8"))
        rows = (repository.path / f"contracts/{name}.fixtures.jsonl").read_text("utf-8")
        return spec, {json.loads(row)["id"]: row for row in rows.splitlines()}

    with OpenAIServer(UpdatingAuthor(PromptPexData(PROMPTPEX, name), VARIABLES[name])) as server:
        assert main(command) == 0
        before, tests = read()
        # The line that the fewest rules follow from.
        cited = Counter(line for rule in before["rules"] for line in rule["lines"])
        number = cited.most_common()[-1][0]
        lines = text.split("\n")
        lines[number - 1] += " Edited."
        repository.write(place, "\n".join(lines))
        assert main([*command, "--update"]) == 0
        after, now = read()
        asked = len(server.requests)
        assert main([*command, "--update"]) == 0
        assert len(server.requests) == asked

    affected = {rule["id"] for rule in before["rules"] if number in rule["lines"]}
    rules = {rule["id"]: rule for rule in after["rules"]}
    for rule in before["rules"]:
        assert (rules[rule["id"]] == rule) is (rule["id"] not in affected)
    assert list(rules) == [rule["id"] for rule in before["rules"]]
    changed = {i for i in {*tests, *now} if tests.get(i) != now.get(i)}
    assert {json.loads((tests | now)[i])["cluster"] for i in changed} == affected
    assert main(["validate"]) == 0
