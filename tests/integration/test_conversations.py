"""Fixtures with turns through whole runs: a model on 127.0.0.1 that remembers what was said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import check, result_of

from gatekeeper.cli.main import main
from gatekeeper.contract.values.definition import Fixture
from gatekeeper.gate.samples.outcomes import variables_text

NAMES = tuple(f"Ann{number}" for number in range(12))
CONTRACT = """\
contract: 1
name: memory
prompt: prompt.md
model: openai/gpt-4o-mini
params: {max_tokens: 50}
fixtures: [{file: names.jsonl}]
checks: [{type: contains, value: "{{ name }}"}]
sampling: {samples: 1, mode: fixed}
slo: {success_rate: 0.5}
"""
PROMPT = "---\n---\nsystem:\nRemember.\n\nuser:\nI am {{ name }}.\n"
TURNS = ["How are you?", "What is my name?"]


def answer(body: dict) -> str:
    """The name from the first message, if the conversation has everything that was said, and the
    system message does not say to forget."""
    said = [message["content"] for message in body["messages"]]
    if said[-1] != TURNS[-1]:
        return f"heard {len(said)}"
    whole = said[1].startswith("I am") and said[2:5] == ["heard 2", TURNS[0], "heard 4"]
    return said[1].removeprefix("I am ").rstrip(".") if whole and said[0] == "Remember." else "?"


def rows(turns: list[str] | None = None) -> str:
    made = ({"id": name, "vars": {"name": name}, "turns": turns or TURNS} for name in NAMES)
    return "".join(json.dumps(row) + "\n" for row in made)


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as found:
        monkeypatch.setenv("OPENAI_API_KEY", "anything")
        yield found


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("memory")
    made.write_all(
        {
            "contracts/memory.yaml": CONTRACT,
            "contracts/prompt.md": PROMPT,
            "contracts/names.jsonl": rows(),
        }
    )
    made.commit("base")
    return made


def test_the_last_answer_of_each_conversation_is_evaluated(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    where = ["--repo", str(repository.path)]
    assert main(["run", *where, "--out", str(tmp_path / "one")]) == 0
    found = result_of(tmp_path / "one")
    assert found["calls"]["made"] == len(server.requests) == 3 * len(NAMES)
    assert found["contracts"][0]["head"]["passed"] == len(NAMES)

    samples = tmp_path / "one" / "samples.jsonl"
    line = json.loads(samples.read_text().splitlines()[0])
    assert [turn["output_raw"] for turn in line["turns"]] == ["heard 2", "heard 4", line["output"]]

    assert main(["run", *where, "--replay", str(samples), "--out", str(tmp_path / "two")]) == 0
    again = result_of(tmp_path / "two")
    assert (again["calls"]["made"], again["contracts"][0]["head"]["passed"]) == (0, len(NAMES))
    assert len(server.requests) == 3 * len(NAMES)


def test_a_prompt_that_forgets_is_a_regression(repository: GitRepository, tmp_path: Path) -> None:
    repository.branch("pr")
    repository.write("contracts/prompt.md", edited(PROMPT, "Remember", "Forget"))
    repository.commit("forget")
    assert check(repository, tmp_path / "out") == 1
    reasons = result_of(tmp_path / "out")["contracts"][0]["reasons"]
    assert "regression" in {reason["code"] for reason in reasons}


def test_changed_turns_are_a_weakening_and_the_old_ones_still_apply(
    repository: GitRepository, tmp_path: Path
) -> None:
    repository.branch("pr")
    repository.write("contracts/prompt.md", edited(PROMPT, "Remember", "Forget"))
    repository.write("contracts/names.jsonl", rows(["Say anything."]))
    repository.commit("ask less")
    assert check(repository, tmp_path / "out") == 1
    contract = result_of(tmp_path / "out")["contracts"][0]
    assert any("turns" in text for text in contract["weakened"])
    assert {r["contract_from"] for r in contract["reasons"] if r["verdict"] == "fail"} >= {"base"}


def test_what_asks_everything_at_once_refuses_conversations(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--repo", str(repository.path), "--out", str(tmp_path / "out")]
    assert main(["run", "--batch", *where]) == 2
    assert "turns" in capsys.readouterr().err


@pytest.mark.parametrize("turns", ["And then?", [""], [1], ["x"] * 21, {}])
def test_what_is_no_list_of_texts_is_refused(
    repository: GitRepository, turns: object, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"id": "a", "vars": {"name": "Ann"}, "turns": turns}
    repository.write("contracts/names.jsonl", json.dumps(row) + "\n")
    repository.commit("wrong")
    assert main(["validate", "--repo", str(repository.path)]) == 2
    said = capsys.readouterr()
    assert "contracts/names.jsonl:1" in said.out + said.err


def test_a_check_may_evaluate_an_earlier_answer(repository: GitRepository, tmp_path: Path) -> None:
    own = "[{type: contains, value: heard 2, turn: 1}, {type: contains, value: Ann, turn: 3}]"
    repository.write(
        "contracts/memory.yaml", edited(CONTRACT, '[{type: contains, value: "{{ name }}"}]', own)
    )
    repository.commit("turns")
    where = ["--repo", str(repository.path), "--out", str(tmp_path / "out")]
    assert main(["run", *where]) == 0
    wrong = edited(own, "heard 2, turn: 1", "heard 2, turn: 2")
    repository.write(
        "contracts/memory.yaml", edited(CONTRACT, '[{type: contains, value: "{{ name }}"}]', wrong)
    )
    repository.commit("wrong")
    assert main(["run", *where]) == 1
    failed = result_of(tmp_path / "out")["contracts"][0]["fixtures"][0]["failures"][0]
    assert failed["message"].startswith("answer 2: ")
    assert "heard 4" in failed["message"]


@pytest.mark.parametrize("turn", ["4", "0", "first", "true"])
def test_an_answer_that_no_fixture_has_is_refused(repository: GitRepository, turn: str) -> None:
    changed = edited(CONTRACT, '"{{ name }}"', f'"{{{{ name }}}}", turn: {turn}')
    repository.write("contracts/memory.yaml", changed)
    repository.commit("turns")
    assert main(["validate", "--repo", str(repository.path)]) == 2


def test_another_answer_is_a_weakening(repository: GitRepository, tmp_path: Path) -> None:
    repository.branch("pr")
    changed = edited(CONTRACT, 'value: "{{ name }}"', "value: heard, turn: 1")
    repository.write("contracts/memory.yaml", changed)
    repository.write("contracts/prompt.md", edited(PROMPT, "Remember", "Forget"))
    repository.commit("turns")
    assert check(repository, tmp_path / "out") == 1
    contract = result_of(tmp_path / "out")["contracts"][0]
    assert any("`turn` changed" in text for text in contract["weakened"])


def test_the_input_that_reports_show_has_its_turns() -> None:
    fixture = Fixture("a", {"name": "Ann"}, turns=tuple(TURNS))
    shown = variables_text(fixture)
    assert shown is not None
    assert shown.splitlines() == ["name: Ann", f"turn 2: {TURNS[0]}", f"turn 3: {TURNS[1]}"]
    assert variables_text(Fixture("a", {"name": "Ann"})) == "Ann"
