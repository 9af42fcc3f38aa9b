"""Contracts with steps through whole runs: a model on 127.0.0.1 that extracts, then answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import check, result_of

from gatekeeper.author.blame.result import STEPS_CHANGED
from gatekeeper.cli.main import main

NAMES = tuple(f"Ann{number}" for number in range(12))
CONTRACT = """\
contract: 1
name: order
steps:
  - name: extract
    prompt: extract.md
    checks: [{type: contains, value: "{{ name }}", name: customer}]
prompt: answer.md
model: openai/gpt-4o-mini
params: {max_tokens: 50}
fixtures: [{file: names.jsonl}]
checks: [{type: starts_with, value: Hello}]
sampling: {samples: 1, mode: fixed}
slo: {success_rate: 0.5}
"""
EXTRACT = "Extract the name from: {{ letter }}\n"
ANSWER = "Greet {{ extract }} politely.\n"


def answer(body: dict) -> str:
    """The last word of the letter, or a greeting of whatever is between the words."""
    said = body["messages"][-1]["content"]
    if said.startswith("Extract"):
        return said.split()[-1]
    if said.startswith("Guess"):
        return "nobody {{ letter }}"
    return "Hello " + said.removeprefix("Greet ").removesuffix(" politely.")


def rows() -> str:
    made = ({"id": n, "vars": {"name": n, "letter": f"This is {n}"}} for n in NAMES)
    return "".join(json.dumps(row) + "\n" for row in made)


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as found:
        monkeypatch.setenv("OPENAI_API_KEY", "anything")
        yield found


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("order")
    made.write_all(
        {
            "contracts/order.yaml": CONTRACT,
            "contracts/extract.md": EXTRACT,
            "contracts/answer.md": ANSWER,
            "contracts/names.jsonl": rows(),
        }
    )
    made.commit("base")
    return made


def test_each_step_gets_the_outputs_before_it(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    where = ["--repo", str(repository.path)]
    assert main(["run", *where, "--out", str(tmp_path / "one")]) == 0
    found = result_of(tmp_path / "one")
    assert found["calls"]["made"] == len(server.requests) == 2 * len(NAMES)
    assert found["contracts"][0]["head"]["passed"] == len(NAMES)
    samples = tmp_path / "one" / "samples.jsonl"
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    assert {line["output"] for line in lines} == {f"Hello {name}" for name in NAMES}
    assert {line["turns"][0]["output_raw"] for line in lines} == set(NAMES)

    assert main(["run", *where, "--replay", str(samples), "--out", str(tmp_path / "two")]) == 0
    again = result_of(tmp_path / "two")
    assert (again["calls"]["made"], again["contracts"][0]["head"]["passed"]) == (0, len(NAMES))


def test_a_worse_first_step_fails_and_is_named(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    repository.branch("pr")
    repository.write("contracts/extract.md", edited(EXTRACT, "Extract", "Guess"))
    repository.commit("guess")
    assert check(repository, tmp_path / "out") == 1
    contract = result_of(tmp_path / "out")["contracts"][0]
    assert "regression" in {reason["code"] for reason in contract["reasons"]}
    failed = contract["fixtures"][0]["failures"][0]
    assert failed["check"] == "extract: customer"
    broke = [(step["name"], step["broke_first"]) for step in contract["head"]["steps"]]
    assert broke == [("extract", len(NAMES)), (None, 0)]
    assert "broke at step `extract` in 12 of 12" in (tmp_path / "out" / "comment.md").read_text()
    # The output looks like a template and is only text.
    said = {request["messages"][-1]["content"] for request in server.requests}
    assert "Greet nobody {{ letter }} politely." in said


def test_blame_names_the_edit_in_the_prompt_of_a_step(
    repository: GitRepository, tmp_path: Path
) -> None:
    repository.branch("pr")
    repository.write("contracts/extract.md", edited(EXTRACT, "Extract", "Guess"))
    repository.write("contracts/answer.md", f"{ANSWER}Be brief.\n")
    repository.commit("guess")
    blame = ["blame", "--repo", str(repository.path), "--base", "main", "--head", "pr"]
    assert main([*blame, "--out", str(tmp_path / "blame")]) == 0
    found = json.loads((tmp_path / "blame" / "blame.json").read_text())["contracts"][0]
    ((edit,),) = (cause["edits"] for cause in found["causes"])
    assert (edit["path"], edit["line"]) == ("contracts/extract.md", 1)
    assert [edit["path"] for edit in found["harmless"]] == ["contracts/answer.md"]


def test_blame_does_not_search_if_a_step_was_removed(
    repository: GitRepository, tmp_path: Path
) -> None:
    repository.branch("pr")
    start, end = CONTRACT.index("steps:"), CONTRACT.index("prompt: answer.md")
    repository.write("contracts/order.yaml", CONTRACT[:start] + CONTRACT[end:])
    repository.write("contracts/answer.md", "Greet {{ letter }} rudely.\nSay nothing.\n")
    repository.commit("one prompt")
    blame = ["blame", "--repo", str(repository.path), "--base", "main", "--head", "pr"]
    main([*blame, "--out", str(tmp_path / "blame")])
    found = json.loads((tmp_path / "blame" / "blame.json").read_text())["contracts"]
    assert all(one["ended"] == STEPS_CHANGED and not one["causes"] for one in found)


def test_an_unchanged_step_is_asked_once_for_both_arms(
    repository: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    repository.branch("pr")
    repository.write("contracts/answer.md", edited(ANSWER, "politely", "kindly"))
    repository.commit("kindly")
    assert check(repository, tmp_path / "out") == 0
    said = [request["messages"][-1]["content"] for request in server.requests]
    assert sum(text.startswith("Extract") for text in said) == len(NAMES)
    assert len(said) == 3 * len(NAMES)
    assert "sampling: 36 of 36 " in capsys.readouterr().err
    samples = str(tmp_path / "out" / "samples.jsonl")
    before = len(server.requests)
    assert check(repository, tmp_path / "again", "--replay", samples) == 0
    assert len(server.requests) == before


def test_the_checks_of_a_step_still_apply_if_the_change_removes_them(
    repository: GitRepository, tmp_path: Path
) -> None:
    repository.branch("pr")
    repository.write("contracts/extract.md", edited(EXTRACT, "Extract", "Guess"))
    own = '    checks: [{type: contains, value: "{{ name }}", name: customer}]\n'
    repository.write("contracts/order.yaml", CONTRACT.replace(own, ""))
    repository.commit("guess, unchecked")
    assert check(repository, tmp_path / "out") == 1
    contract = result_of(tmp_path / "out")["contracts"][0]
    assert "check `extract: customer` removed" in contract["weakened"]
    assert {r["contract_from"] for r in contract["reasons"] if r["verdict"] == "fail"} == {"base"}


def test_the_checks_of_a_removed_step_cannot_be_applied(
    repository: GitRepository, tmp_path: Path
) -> None:
    repository.branch("pr")
    lines = CONTRACT.splitlines(keepends=True)
    repository.write("contracts/order.yaml", "".join([*lines[:2], *lines[6:]]))
    repository.write("contracts/answer.md", "Greet {{ name }} politely.\n")
    repository.delete("contracts/extract.md")
    repository.commit("one step")
    assert check(repository, tmp_path / "out") != 0
    contract = result_of(tmp_path / "out")["contracts"][0]
    assert "step `extract` removed" in contract["weakened"]
    assert contract["verdict"] == "error"
    assert any(
        "the prompt has no step `extract`" in text
        for fixture in contract["under_base"]["fixtures"]
        for text in fixture["errors"]
    )


def test_what_asks_everything_at_once_refuses_steps(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--repo", str(repository.path), "--out", str(tmp_path / "out")]
    assert main(["run", "--batch", *where]) == 2
    assert "order has steps" in capsys.readouterr().err
    plan = ["plan", "--repo", str(repository.path), "--shards", "2"]
    assert main([*plan, "--out", str(tmp_path / "plan.json")]) == 2
    assert "order has steps" in capsys.readouterr().err


def test_a_replay_finds_each_draft_of_a_chain_that_asks_twice(
    repository: GitRepository, tmp_path: Path
) -> None:
    """Two steps with one prompt get two answers; the last prompt compares them."""
    steps = "".join(f"  - {{name: {name}, prompt: extract.md}}\n" for name in ("one", "two"))
    head = (
        CONTRACT[: CONTRACT.index("  - name")] + steps + CONTRACT[CONTRACT.index("prompt: answ") :]
    )
    repository.write("contracts/order.yaml", head)
    repository.write("contracts/answer.md", "Greet {{ one }} {{ two }} politely.\n")
    repository.commit("two drafts")
    drafts = iter(range(100))

    def draft(body: dict) -> str:
        said = body["messages"][-1]["content"]
        return f"draft {next(drafts)}" if said.startswith("Extract") else answer(body)

    where = ["--repo", str(repository.path)]
    with OpenAIServer(draft) as drafting:
        assert main(["run", *where, "--out", str(tmp_path / "one")]) == 0
        assert len(drafting.requests) == 3 * len(NAMES)
        samples = str(tmp_path / "one" / "samples.jsonl")
        assert main(["run", *where, "--replay", samples, "--out", str(tmp_path / "two")]) == 0
        assert len(drafting.requests) == 3 * len(NAMES)
    assert result_of(tmp_path / "two")["contracts"][0]["head"]["passed"] == len(NAMES)
