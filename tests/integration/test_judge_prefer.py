"""A contract that says "not worse than what we have": judges compare the arms in pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.judged_contract import check
from support.judges import verdict
from support.openai_server import Fault, OpenAIServer, bad_request

from gatekeeper.cli.main import main

WORDS = [f"word{number}" for number in range(30)]
CONTRACT = """\
contract: 1
name: reply
prompt: ../prompts/reply.txt
model: openai/gpt-4o-mini
params: {temperature: 0, max_tokens: 50}
judge: {model: openai/gpt-4o, params: {max_tokens: 200}}
fixtures:
  - file: words.csv
checks:
  - {judge: prefer, name: better answer}
gate: {margin: 0.3}
"""
FILES = {
    "contracts/reply.yaml": CONTRACT,
    "contracts/words.csv": "id,word\n" + "".join(f"{word},{word}\n" for word in WORDS),
    "prompts/reply.txt": "Explain {{ word }} well.\n",
}
Judge = Callable[[str, str], str]


def looks(a: str, b: str) -> str:
    """Look for the answer that explains more."""
    score = a.count("because") - b.count("because")
    return "A" if score > 0 else "B" if score < 0 else "tie"


def answering(judge: Judge, wrong: Callable[[str], bool] = lambda _: False) -> Any:
    def answer(body: Mapping[str, Any]) -> str | Fault:
        text = body["messages"][-1]["content"]
        if body["model"] == "gpt-4o":
            a, b = (
                re.search(rf"<data answer_{x} \w+>\n(.*?)\n</data", text, re.DOTALL) for x in "AB"
            )
            assert a
            assert b
            return verdict(judge(a[1], b[1]), "the REASON")
        word = text.split()[1]
        if wrong(word):
            return bad_request()
        return f"{word} because" if text.endswith(" well.") else f"{word} it is"

    return answer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    with OpenAIServer(answering(looks)) as started:
        yield started


@pytest.fixture
def proposed(git_repository: Callable[..., GitRepository]) -> GitRepository:
    return git_repository("prefer").propose(
        {"prompts/reply.txt": "Explain {{ word }} briefly.\n"}, FILES
    )


def reasons(result: dict[str, Any]) -> dict[str, str]:
    return {r["code"]: r["verdict"] for r in result["contracts"][0]["reasons"]}


def asked(server: OpenAIServer) -> int:
    return sum(body["model"] == "gpt-4o" for body in server.requests)


def test_answers_that_judges_like_less_are_blocked(proposed, server, tmp_path) -> None:
    code, result = check(proposed, tmp_path)
    assert code == 1
    assert reasons(result)["preference"] == "fail"
    found = result["contracts"][0]["preferences"][0]
    assert found["check"] == "better answer"
    assert found["base_preferred"] == found["pairs"] > 0
    assert found["contradictory"]["value"] == 0
    # Its own boundary: certain long before the last of 30 pairs.
    assert asked(server) < 2 * len(WORDS)
    assert "the REASON" in (tmp_path / "samples.jsonl").read_text("utf-8")
    # The single outputs are not failures of head.
    assert result["contracts"][0]["head"]["success_rate"] == 1


def test_answers_that_are_as_good_pass(proposed, server, tmp_path) -> None:
    server._answer = answering(lambda *_: "tie")
    code, result = check(proposed, tmp_path)
    assert code == 0
    # Nothing else is said: every single output passes.
    assert reasons(result) == {"preference": "pass"}
    assert result["contracts"][0]["preferences"][0]["base_preferred"] == 0


def test_a_judge_that_always_names_the_first_is_survived(proposed, server, tmp_path) -> None:
    """It says nothing about the prompt, and the report says so."""
    server._answer = answering(lambda *_: "A")
    code, result = check(proposed, tmp_path)
    assert code == 0
    assert reasons(result) == {"preference": "inconclusive"}
    found = result["contracts"][0]["preferences"][0]
    assert found["tied"] == found["pairs"]
    assert (found["contradictory"]["value"], found["for_first"]["value"]) == (1, 1)
    assert "contradict" in (tmp_path / "summary.md").read_text("utf-8")


def test_a_judge_that_answers_nonsense_could_not_measure(proposed, server, tmp_path) -> None:
    server._answer = answering(lambda *_: "perhaps")
    code, result = check(proposed, tmp_path)
    assert code == 3
    assert reasons(result)["error"] == "error"


def test_pairs_without_an_answer_are_not_measured(proposed, server, tmp_path) -> None:
    server._answer = answering(lambda *_: "tie", lambda word: int(word[4:]) < 20)
    code, result = check(proposed, tmp_path)
    assert code == 3
    assert result["contracts"][0]["preferences"][0]["unmeasured"] >= 20


def test_a_replay_asks_nobody_and_says_the_same(proposed, server, tmp_path) -> None:
    first, result = check(proposed, tmp_path / "first")
    before = len(server.requests)
    seed = result["order_seed"]
    replay = ["--replay", str(tmp_path / "first" / "samples.jsonl"), "--order-seed", seed]
    second, again = check(proposed, tmp_path / "second", *replay)
    assert len(server.requests) == before
    assert (first, result["contracts"][0]["preferences"]) == (
        second,
        again["contracts"][0]["preferences"],
    )


def test_the_cache_keeps_the_comparisons(proposed, server, tmp_path) -> None:
    server._answer = answering(lambda *_: "tie")
    cache = ["--cache", str(tmp_path / "cache")]
    _, first = check(proposed, tmp_path / "one", *cache)
    before = len(server.requests)
    _, second = check(proposed, tmp_path / "two", *cache)
    assert len(server.requests) == before
    assert first["contracts"][0]["preferences"] == second["contracts"][0]["preferences"]


def test_the_calls_of_both_phases_are_counted_and_limited(proposed, server, tmp_path) -> None:
    _, result = check(proposed, tmp_path / "one")
    assert result["calls"]["made"] == len(server.requests) == 60 + asked(server)
    assert result["calls"]["judge"]["made"] == asked(server)
    proposed.git("checkout", "-q", "main")
    proposed.commit("limit", {".github/gatekeeper.yml": "limits: {calls: 64}\n"})
    server.requests.clear()
    code, result = check(proposed, tmp_path / "two")
    assert code == 3
    assert len(server.requests) <= 64


def test_a_pull_request_that_drops_the_comparison_is_still_compared(
    proposed, server, tmp_path
) -> None:
    proposed.commit(
        "drop",
        {
            "contracts/reply.yaml": edited(
                CONTRACT, "{judge: prefer, name: better answer}", "{type: contains, value: it is}"
            )
        },
    )
    code, result = check(proposed, tmp_path)
    assert code == 1
    assert reasons(result)["preference"] == "fail"


def test_a_fixture_without_the_check_is_not_compared(proposed, server, tmp_path) -> None:
    """A comparison for some fixtures is about those alone."""
    some = "{judge: prefer, name: better answer, when: \"word.endswith('1')\"}"
    contract = edited(CONTRACT, "{judge: prefer, name: better answer}", some)
    contract = edited(contract, "gate:", "  - {type: length, min: 1}\ngate:")
    proposed.git("checkout", "-q", "main")
    proposed.commit("some", {"contracts/reply.yaml": contract})
    proposed.git("checkout", "-q", "pr")
    proposed.git("rebase", "-q", "main")
    server._answer = answering(lambda *_: "tie")
    _, result = check(proposed, tmp_path)
    found = result["contracts"][0]["preferences"][0]
    assert (found["pairs"], found["unmeasured"]) == (3, 0)
    assert asked(server) == 6


@pytest.mark.parametrize(
    "written",
    [
        "{judge: prefer, severity: warn}",
        "{judge: prefer, not: true}",
        "{type: any_of, checks: [{judge: prefer}, {type: length, min: 1}]}",
    ],
)
def test_a_comparison_that_could_not_gate_is_refused(proposed, server, written, capsys) -> None:
    contract = edited(CONTRACT, "{judge: prefer, name: better answer}", written)
    proposed.write(
        "contracts/reply.yaml", edited(contract, "gate:", "  - {type: length, min: 1}\ngate:")
    )
    assert main(["validate", "--repo", str(proposed.path)]) == 2
    assert "judge: prefer" in capsys.readouterr().err


def test_one_revision_has_nothing_to_compare(proposed, server, tmp_path) -> None:
    out = str(tmp_path)
    code = main(["run", "--repo", str(proposed.path), "--out", out])
    assert code == 0
    assert asked(server) == 0
