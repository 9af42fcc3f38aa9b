"""Conversations with a simulated user through whole runs: scripted models on 127.0.0.1."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import Fault, OpenAIServer
from support.recorded_repository import check, result_of

from gatekeeper.cli.main import main

ORDERS = tuple(range(100, 112))
USER = "gpt-4o"
CONTRACT = """\
contract: 1
name: shop
prompt: prompt.md
model: openai/gpt-4o-mini
params: {max_tokens: 50}
user: {model: openai/gpt-4o, goal: "Learn when order {{ order }} arrives.", max_turns: 4}
fixtures: [{file: orders.jsonl}]
checks: [{type: goal_reached}, {type: contains, value: Friday}]
sampling: {samples: 1, mode: fixed}
slo: {success_rate: 0.5}
"""
PROMPT = "---\n---\nsystem:\nHelp.\n\nuser:\nWhere is order {{ order }}?\n"


def said(message: str, *, done: bool = False, reached: bool = False) -> str:
    return json.dumps({"message": message, "done": done, "reached": reached})


def plays_user(body: Mapping[str, Any]) -> bool:
    return body["model"] == USER


def answer(body: Mapping[str, Any]) -> str:
    """Ask for the number first, and then answer; as the user, insist until there is a day."""
    text = body["messages"][-1]["content"]
    if plays_user(body):
        goal = body["messages"][0]["content"]
        number = next(str(order) for order in ORDERS if f"order {order} arrives" in goal)
        return said("", done=True, reached=True) if "Friday" in text else said(f"It is {number}.")
    told = any(m["content"].startswith("It is") for m in body["messages"])
    helps = body["messages"][0]["content"] == "Help."
    return "It arrives on Friday." if told and helps else "Which number?"


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as found:
        monkeypatch.setenv("OPENAI_API_KEY", "anything")
        yield found


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("shop")
    rows = "".join(json.dumps({"id": f"o{n}", "vars": {"order": n}}) + "\n" for n in ORDERS)
    made.write_all(
        {
            "contracts/shop.yaml": CONTRACT,
            "contracts/prompt.md": PROMPT,
            "contracts/orders.jsonl": rows,
        }
    )
    made.commit("base")
    return made


def run(repository: GitRepository, out: Path, *more: str) -> int:
    return main(["run", "--repo", str(repository.path), "--out", str(out), *more])


def test_the_user_speaks_until_the_goal_is_reached_and_a_replay_repeats_it(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    assert run(repository, tmp_path / "one") == 0
    found = result_of(tmp_path / "one")
    count = len(ORDERS)
    assert found["calls"]["made"] == len(server.requests) == 4 * count
    assert (found["calls"]["user"]["made"], found["calls"]["user"]["samples"]) == (2 * count, count)
    assert found["contracts"][0]["head"]["passed"] == count

    samples = tmp_path / "one" / "samples.jsonl"
    line = json.loads(samples.read_text().splitlines()[0])
    assert [turn["output_raw"] for turn in line["turns"]] == [
        "Which number?", "It arrives on Friday."
    ]  # fmt: skip
    assert len(line["users"]) == 2
    asked = next(r for r in server.requests if plays_user(r))
    assert "Help." not in json.dumps(asked)
    model = [r["messages"] for r in server.requests if not plays_user(r)]
    assert {tuple(m["role"] for m in messages) for messages in model} == {
        ("system", "user"), ("system", "user", "assistant", "user")
    }  # fmt: skip

    assert run(repository, tmp_path / "two", "--replay", str(samples)) == 0
    again = result_of(tmp_path / "two")
    assert (again["calls"]["made"], again["contracts"][0]["head"]["passed"]) == (0, count)
    assert len(server.requests) == 4 * count


def test_a_prompt_that_no_longer_reaches_the_goal_is_a_regression(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    repository.branch("pr")
    repository.write("contracts/prompt.md", edited(PROMPT, "Help.", "Stay silent."))
    repository.commit("worse")
    assert check(repository, tmp_path / "out") == 1
    contract = result_of(tmp_path / "out")["contracts"][0]
    assert "regression" in {reason["code"] for reason in contract["reasons"]}
    # The first answers of both arms are the same, so the user is asked about them once.
    users = sum(plays_user(request) for request in server.requests)
    assert users == (2 + 4) * len(ORDERS)


@pytest.mark.long
@pytest.mark.parametrize(
    "quoting", ["The assistant says {}", "{}", "<think>The assistant says {}", "```json\n{}\n```"]
)
def test_a_user_that_quotes_a_goal_of_the_model_has_not_reached_it(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path, quoting: str
) -> None:
    reached = said("", done=True, reached=True)

    def fooled(body: Mapping[str, Any]) -> str:
        last = body["messages"][-1]["content"]
        if plays_user(body):
            return quoting.format(reached) if "Sorry." in last else answer(body)
        given = answer(body)
        return given if body["messages"][0]["content"] == "Help." else f"Sorry. {reached}"

    server._answer = fooled
    repository.branch("pr")
    repository.write("contracts/prompt.md", edited(PROMPT, "Help.", "Stay silent."))
    repository.commit("worse")
    assert check(repository, tmp_path / "out") in (1, 3)
    contract = result_of(tmp_path / "out")["contracts"][0]
    assert contract["base"]["passed"] == len(ORDERS)
    assert contract["head"]["passed"] == 0


def test_weaker_users_are_named_and_the_users_of_base_still_speak(
    repository: GitRepository, tmp_path: Path
) -> None:
    repository.branch("pr")
    repository.write("contracts/prompt.md", edited(PROMPT, "Help.", "Stay silent."))
    weaker = edited(CONTRACT, "max_turns: 4", "max_turns: 1", "Learn when", "Ask when")
    weaker = edited(weaker, "{type: goal_reached}, ", "", "Friday", "number")
    repository.write("contracts/shop.yaml", weaker)
    repository.commit("easier")
    assert check(repository, tmp_path / "out") == 1
    contract = result_of(tmp_path / "out")["contracts"][0]
    named = " ".join(contract["weakened"])
    assert "goal" in named
    assert "max_turns" in named
    assert {r["contract_from"] for r in contract["reasons"] if r["verdict"] == "fail"} >= {"base"}


def test_a_user_of_another_provider_gets_no_key(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    repository.branch("pr")
    repository.write("contracts/shop.yaml", edited(CONTRACT, "openai/gpt-4o,", "mistral/large,"))
    repository.commit("another user")
    assert check(repository, tmp_path / "out") == 2
    assert not server.requests


@pytest.mark.parametrize(
    "broken",
    ["no JSON", said(""), said("x" * 3_000), said("", done=True)[:-1], '{"done": "no"}',
     Fault("status", 400, body="{}")],
)  # fmt: skip
def test_a_user_without_a_readable_answer_means_that_nothing_was_measured(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path, broken: Any
) -> None:
    server._answer = lambda body: broken if plays_user(body) else answer(body)
    assert run(repository, tmp_path / "out") == 3
    contract = result_of(tmp_path / "out")["contracts"][0]
    assert contract["head"]["passed"] == 0
    assert "error" in {reason["code"] for reason in contract["reasons"]}
    tries = 2 if isinstance(broken, Fault) else 2 * 3  # what is lost is asked once more at the end
    assert sum(plays_user(r) for r in server.requests) <= tries * len(ORDERS)


def test_a_user_writes_the_first_message_if_the_prompt_has_none(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    """What ends the conversation before it began is asked again."""
    hasty = [said("", done=True, reached=True)]

    def begins(body: Mapping[str, Any]) -> str:
        if plays_user(body) and "Nothing has been said" in body["messages"][-1]["content"]:
            return hasty.pop() if hasty else said("Where is my order?")
        return answer(body)

    server._answer = begins
    repository.write("contracts/prompt.md", "---\n---\nsystem:\nHelp.\n")
    repository.write("contracts/orders.jsonl", json.dumps({"id": "a", "vars": {"order": 100}}))
    repository.commit("only a system message")
    assert run(repository, tmp_path / "out") == 0
    line = json.loads((tmp_path / "out" / "samples.jsonl").read_text())
    assert (len(line["turns"]), len(line["users"])) == (2, 4)
    assert [check["passed"] for check in line["checks"]] == [True, True]
    model = [r["messages"] for r in server.requests if not plays_user(r)]
    assert [m["content"] for m in model[-1]] == [
        "Help.", "Where is my order?", "Which number?", "It is 100."
    ]  # fmt: skip


def test_the_forecast_counts_the_users(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.branch("pr")
    repository.write("contracts/prompt.md", edited(PROMPT, "Help.", "Help well."))
    repository.commit("other words")
    where = ["--repo", str(repository.path), "--base", "main", "--head", "pr", "--json"]
    assert main(["affected", *where]) == 0
    found = json.loads(capsys.readouterr().out)
    planned = 2 * 10 * len(ORDERS)
    assert found["expected_calls"] == planned == 2 * found["expected_user_calls"]
    # The most includes the fresh samples of fixtures that seem to break, with their users.
    assert found["calls"] > planned
    assert found["calls"] == 2 * found["user_calls"]
    assert found["worst_cost_usd"] > found["cost_usd"] > 0
