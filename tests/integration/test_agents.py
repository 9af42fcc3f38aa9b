"""Contracts with tools through whole runs: a model on 127.0.0.1 that follows its prompt by rule."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer, Reply
from support.recorded_repository import check, result_of

from gatekeeper.cli.main import main

IDS = tuple(f"A{number}" for number in range(12))
CONTRACT = """\
contract: 1
name: refunds
prompt: prompt.md
model: openai/gpt-4o-mini
params: {max_tokens: 50}
tools: tools.json
tool_results:
  - tool: find_order
    when: {schema: {properties: {id: {pattern: "^A"}}}}
    returns: "{{ state[args.id] }}"
  - tool: refund
    when: {id: "{{ order }}"}
    sets: [{op: replace, path: "/{{ args.id }}/status", value: refunded}]
    returns: done
fixtures: [{file: orders.jsonl}]
checks: [{type: contains, value: "{{ order }} is refunded"}]
sampling: {samples: 1, mode: fixed}
slo: {success_rate: 0.5}
"""
TOOLS = {
    "tools": [
        {"name": name, "description": name, "inputSchema": {"type": "object"}}
        for name in ("find_order", "refund")
    ]
}
PROMPT = "---\n---\nsystem:\nLook first.\n\nuser:\nRefund {{ order }}.\n"


def call(name: str, **arguments: str) -> dict:
    return {
        "id": "call_of_the_provider",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def calling(*calls: dict) -> Reply:
    return Reply(None, finish_reason="tool_calls", tool_calls=calls)


def answer(body: dict) -> str | Reply:
    """Find the order, refund it, say so; without the sentence of the system message, only talk."""
    said = body["messages"]
    if "play a tool" in said[0]["content"]:
        return '{"result": "done", "is_error": false}'
    order = said[1]["content"].split()[1].rstrip(".")
    if not said[0]["content"].startswith("Look first"):
        return "I will look into it."
    if len(said) == 2:
        return calling(call("find_order", id=order))
    if len(said) == 4:
        assert [tool["function"]["name"] for tool in body["tools"]] == ["find_order", "refund"]
        assert json.loads(said[3]["content"]) == {"status": "paid"}
        assert said[2]["tool_calls"][0]["id"] == said[3]["tool_call_id"] == "call00001"
        return calling(call("refund", id=order))
    return f"{order} is refunded."


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as found:
        monkeypatch.setenv("OPENAI_API_KEY", "anything")
        yield found


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    rows = [
        {"id": name, "vars": {"order": name}, "state": {name: {"status": "paid"}}} for name in IDS
    ]
    made = git_repository("refunds")
    made.write_all(
        {
            "contracts/refunds.yaml": CONTRACT,
            "contracts/prompt.md": PROMPT,
            "contracts/tools.json": json.dumps(TOOLS),
            "contracts/orders.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        }
    )
    made.commit("base")
    return made


def test_the_tools_of_a_run_are_answered_until_the_model_answers(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    where = ["--repo", str(repository.path)]
    assert main(["run", *where, "--out", str(tmp_path / "one")]) == 0
    found = result_of(tmp_path / "one")
    assert found["calls"]["made"] == len(server.requests) == 3 * len(IDS)
    assert found["contracts"][0]["head"]["passed"] == len(IDS)

    samples = tmp_path / "one" / "samples.jsonl"
    line = json.loads(samples.read_text().splitlines()[0])
    first, second, third = line["turns"]
    assert json.loads(first["results"][0]["text"]) == {"status": "paid"}
    assert second["results"] == [{"text": "done", "source": "row"}]
    assert json.loads(second["state"]) == {line["fixture"]: {"status": "refunded"}}
    assert "results" not in third

    assert main(["run", *where, "--replay", str(samples), "--out", str(tmp_path / "two")]) == 0
    again = result_of(tmp_path / "two")
    assert (again["calls"]["made"], again["contracts"][0]["head"]["passed"]) == (0, len(IDS))


def test_a_prompt_that_no_longer_acts_is_a_regression(
    repository: GitRepository, tmp_path: Path
) -> None:
    prompt = edited(PROMPT, "Look first", "Be kind")
    repository.propose({"contracts/prompt.md": prompt})

    assert check(repository, tmp_path) == 1


def test_a_call_without_a_row_fails_and_the_report_has_the_row(
    repository: GitRepository, tmp_path: Path
) -> None:
    fewer = edited(CONTRACT, '{id: "{{ order }}"}', "{id: A1}")
    repository.propose({"contracts/refunds.yaml": fewer})

    assert check(repository, tmp_path) == 1
    assert result_of(tmp_path)["contracts"][0]["weakened"] == [
        "tool_results: the row 1 of `refund` was changed"
    ]
    for report in ("comment.md", "report.html", "junit.xml"):
        said = html.unescape((tmp_path / report).read_text()).replace("\\u0022", '"')
        assert "No row answers refund" in said, report
    samples = map(json.loads, (tmp_path / "samples.jsonl").read_text().splitlines())
    failed = [s for s in samples if "No row answers" in s["checks"][0]["message"]]
    assert len(failed) == len(IDS) - 1
    row = f'- {{"tool": "refund", "when": {{"id": "{failed[0]["fixture"]}"}}, "returns": "…"}}'
    assert row in failed[0]["checks"][0]["message"]
    assert "refused in words" not in (tmp_path / "comment.md").read_text()


def test_a_model_plays_a_tool_and_the_report_says_how_often(
    repository: GitRepository, tmp_path: Path
) -> None:
    simulated = edited(CONTRACT, '{id: "{{ order }}"}', "{id: none}")
    simulated += "unanswered: simulate\nsimulator: {model: openai/gpt-4o}\n"
    repository.commit("simulate", {"contracts/refunds.yaml": simulated})
    where = ["--repo", str(repository.path)]

    assert main(["run", *where, "--out", str(tmp_path / "one")]) == 0
    found = result_of(tmp_path / "one")
    assert any("A model made up 12 of 24 answers of tools" in n for n in found["notices"])
    assert "(12 to simulators" in (tmp_path / "one" / "comment.md").read_text()
    samples = str(tmp_path / "one" / "samples.jsonl")
    assert main(["run", *where, "--replay", samples, "--out", str(tmp_path / "two")]) == 0
    assert result_of(tmp_path / "two")["calls"]["made"] == 0
    assert main(["run", *where, "--batch", "--out", str(tmp_path / "three")]) == 2


def test_what_a_simulator_answered_becomes_rows_and_the_run_goes_the_same_way(
    repository: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fewer = edited(CONTRACT, '{id: "{{ order }}"}', "{id: none}")
    simulated = f"{fewer}unanswered: simulate\nsimulator: {{model: openai/gpt-4o}}\n"
    other = edited(simulated, "name: refunds", "name: other")
    made = {"contracts/refunds.yaml": simulated, "contracts/other.yaml": other}
    repository.commit("simulate", made)
    monkeypatch.chdir(repository.path)
    assert main(["run", "--out", str(tmp_path / "one")]) == 0
    sent = sorted(json.dumps(r) for r in server.requests if r["model"] == "gpt-4o-mini")
    (notice,) = (n for n in result_of(tmp_path / "one")["notices"] if "--contract refunds" in n)
    command = notice.split("`")[1].split()
    assert command[0] == "gatekeeper"
    samples = str(tmp_path / "one" / "samples.jsonl")
    capsys.readouterr()

    assert main([samples if word == "samples.jsonl" else word for word in command[1:]]) == 0
    assert f"{len(IDS)} rows from {len(IDS)} answered calls" in capsys.readouterr().out
    written = Path("contracts/refunds.tool-results.jsonl").read_text().splitlines()
    assert sorted(written) == sorted(
        json.dumps({"tool": "refund", "when": {"id": name}, "returns": "done"}) for name in IDS
    )
    rows = edited(fewer, "fixtures:", "  - refunds.tool-results.jsonl\nfixtures:")
    changed = {
        "contracts/refunds.yaml": rows,
        "contracts/other.yaml": edited(rows, "refunds\n", "other\n"),
    }
    repository.commit("rows", changed)
    before = len(server.requests)
    assert main(["run", "--out", str(tmp_path / "two")]) == 0
    assert sorted(map(json.dumps, server.requests[before:])) == sent
    assert not any("made up" in n for n in result_of(tmp_path / "two")["notices"])


def test_shards_run_whole_loops_and_a_batch_none(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where, plan = ["--repo", str(repository.path)], str(tmp_path / "plan.json")
    answers = str(tmp_path / "answers")
    assert main(["plan", *where, "--shards", "2", "--out", plan]) == 0
    for shard in ("1/2", "2/2"):
        assert main(["sample", *where, "--plan", plan, "--shard", shard, "--out", answers]) == 0
    decide = ["decide", *where, "--plan", plan, "--answers", answers]
    assert main([*decide, "--out", str(tmp_path / "out")]) == 0
    assert result_of(tmp_path / "out")["contracts"][0]["head"]["passed"] == len(IDS)

    assert main(["run", *where, "--batch", "--out", str(tmp_path / "batch")]) == 2
    assert "refunds has tools" in capsys.readouterr().err


def test_a_run_that_a_limit_ended_goes_on_without_asking_again(
    repository: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    run = ["run", "--repo", str(repository.path), "--out", str(tmp_path / "out")]
    repository.commit("limit", {".github/gatekeeper.yml": "limits: {calls: 20, concurrency: 1}\n"})
    assert main(run) == 3
    assert len(server.requests) == 20  # six loops of three calls, and a part of one

    repository.commit("more", {".github/gatekeeper.yml": "limits: {calls: 200}\n"})
    assert main([*run, "--resume"]) == 0
    assert len(server.requests) == 20 + 3 * (len(IDS) - 6)
    found = result_of(tmp_path / "out")
    assert found["contracts"][0]["head"]["passed"] == len(IDS)
