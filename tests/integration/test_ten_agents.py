"""Ten agents, each with a harmless, a subtly harmful and a catastrophic edit of its prompt."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.agent_by_rule import answer_by_rule
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import check, result_of

from gatekeeper.cli.main import main

AGENTS = {path.stem: path for path in Path(__file__).parents[1].glob("support/agents/*.yaml")}
VERDICTS = {"harmless": "pass", "subtle": "fail", "catastrophic": "fail"}


def files_of(name: str, agent: dict[str, Any]) -> dict[str, str]:
    contract = {
        "contract": 1,
        "name": name,
        "prompt": "prompt.md",
        "model": "openai/gpt-4o-mini",
        "params": {"max_tokens": 50},
        "tools": "tools.json",
        "gate": {"claim": "fixtures"},
        **agent["contract"],
    }
    tools = [
        {"name": tool, "description": text, "inputSchema": {"type": "object"}}
        for tool, text in agent["tools"].items()
    ]
    return {
        "contracts/agent.yaml": yaml.safe_dump(contract, sort_keys=False),
        "contracts/tools.json": json.dumps({"tools": tools}),
        "contracts/prompt.md": prompt_of(agent["prompt"]),
    }


def prompt_of(text: str) -> str:
    return f"---\n---\nsystem:\n{text}\nuser:\n{{{{ request }}}}\n"


def test_there_are_ten():
    assert len(AGENTS) == 10


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_its_edits_are_decided_rightly(
    name: str,
    git_repository: Callable[..., GitRepository],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = yaml.safe_load(AGENTS[name].read_text("utf-8"))
    repository = git_repository(name)
    repository.write_all(files_of(name, agent))
    repository.commit("base")
    monkeypatch.setenv("OPENAI_API_KEY", "anything")
    found: dict[str, tuple[int, str]] = {}
    with OpenAIServer(partial(answer_by_rule, agent["follows"])):
        where = ["--repo", str(repository.path), "--ref", "main"]
        assert main(["run", *where, "--out", str(tmp_path / "base")]) == 0
        (base,) = result_of(tmp_path / "base")["contracts"]
        assert base["head"]["success_rate"] == 1
        for kind, edit in agent["edits"].items():
            text = edited(agent["prompt"], edit["from"], edit["to"])
            repository.git("checkout", "-q", "-B", "pr", "main")
            repository.write("contracts/prompt.md", prompt_of(text))
            repository.commit(kind)
            code = check(repository, tmp_path / kind)
            result = result_of(tmp_path / kind)
            found[kind] = (code, result["verdict"])
            assert edit.get("shows", "") in failing_checks(result)
    assert found == {kind: (int(v == "fail"), v) for kind, v in VERDICTS.items()}


def failing_checks(result: dict[str, Any]) -> set[str]:
    """The checks that fail on head and not on base; an empty name if none does."""
    (contract,) = result["contracts"]
    broke = [fixture for fixture in contract["fixtures"] if fixture["change"] == "broke"]
    return {f["check"] for fixture in broke for f in fixture["failures"]} or {""}
