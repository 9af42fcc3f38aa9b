"""A pull request cannot choose a kinder judge, send keys to another one, or grade itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.judged_contract import (
    CONTRACT,
    FILES,
    JUDGE,
    RUDE_PROMPT,
    WORDS,
    answer,
    check,
    is_question,
    propose,
    start_server,
    with_server,
)
from support.judges import (
    ATTACKS,
    carelessly_outside_of_data,
    obedient,
    outside_of_data,
    verdict,
)
from support.openai_server import OpenAIServer

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    yield from start_server(monkeypatch)


@pytest.fixture
def proposed(git_repository: Callable[..., GitRepository]) -> GitRepository:
    return propose(git_repository)


def test_a_judge_of_another_provider_needs_the_base_policy(
    proposed: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = edited(CONTRACT, "judge: {model: openai/gpt-4o", "judge: {model: groq/llama-3")
    proposed.commit("another judge", {"contracts/polite.yaml": other})
    code, _ = check(proposed, tmp_path)
    assert code == 2
    assert server.requests == []
    assert "groq/llama-3" in capsys.readouterr().err


def test_a_provider_that_only_judges_at_base_is_in_use_there(
    git_repository: Callable[..., GitRepository],
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The key is missing, but the model is not refused."""
    other = edited(CONTRACT, "judge: {model: openai/gpt-4o", "judge: {model: groq/llama-3")
    made = git_repository("groq")
    made.propose({"prompts/polite.txt": RUDE_PROMPT}, {**FILES, "contracts/polite.yaml": other})
    code, _ = check(made, tmp_path)
    assert code == 2
    error = capsys.readouterr().err
    assert "GROQ_API_KEY" in error
    assert "the base branch uses no model of the provider" not in error


def test_the_old_judge_grades_where_a_change_brings_a_kinder_one(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    kind = edited(CONTRACT, "The output is polite.", "The output has letters.")
    proposed.commit("kinder", {"contracts/polite.yaml": kind})

    def by_criteria(body: Mapping[str, Any]) -> str:
        if is_question(body) and "has letters" in body["messages"][0]["content"]:
            return verdict("yes")
        return answer(body)

    with_server(server, by_criteria)
    code, result = check(proposed, tmp_path)
    assert code == 1
    (contract,) = result["contracts"]
    assert any("criteria" in weakened for weakened in contract["weakened"])
    assert (contract["paired"]["broke"], contract["under_base"]["paired"]["broke"]) == (0, 24)


def test_a_change_of_the_judges_prompt_file_is_a_change_of_the_contract(
    git_repository: Callable[..., GitRepository], server: OpenAIServer, tmp_path: Path
) -> None:
    own = edited(CONTRACT, "judge: rubric,", "judge: rubric, prompt: judge.md,")
    made = git_repository("own")
    strict, kind = ("{{ criteria }} {{ choices }} " + word for word in ("STRICT", "KIND"))
    made.propose(
        {"prompts/polite.txt": RUDE_PROMPT, "contracts/judge.md": kind},
        {**FILES, "contracts/polite.yaml": own, "contracts/judge.md": strict},
    )

    def by_prompt(body: Mapping[str, Any]) -> str:
        if is_question(body) and "KIND" in body["messages"][0]["content"]:
            return verdict("yes")
        return answer(body)

    with_server(server, by_prompt)
    code, result = check(made, tmp_path)
    assert code == 1
    (contract,) = result["contracts"]
    assert any("`prompt`" in weakened for weakened in contract["weakened"])
    assert (contract["paired"]["broke"], contract["under_base"]["paired"]["broke"]) == (0, 24)


def test_a_fixture_cannot_name_a_judge_of_another_provider(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    named = edited(CONTRACT, "name: is polite", 'model: "{{ word }}/m", name: is polite')
    proposed.commit("by fixture", {"contracts/polite.yaml": named})
    code, _ = check(proposed, tmp_path)
    assert (code, server.requests) == (2, [])


def test_a_judge_takes_no_address(
    proposed: GitRepository, server: OpenAIServer, tmp_path: Path
) -> None:
    address = edited(CONTRACT, "max_tokens: 200", 'max_tokens: 200, api_base: "https://a.example"')
    proposed.commit("address", {"contracts/polite.yaml": address})
    code, _ = check(proposed, tmp_path)
    assert (code, server.requests) == (2, [])


@pytest.mark.parametrize("read", [outside_of_data, carelessly_outside_of_data])
def test_outputs_that_grade_themselves_are_still_a_regression(
    git_repository: Callable[..., GitRepository],
    server: OpenAIServer,
    tmp_path: Path,
    read: Callable[[Request], tuple[str, str]],
) -> None:
    """The judge obeys any order that stands outside of the data."""
    made = git_repository("attacks")
    good = edited(CONTRACT, "The output is polite.", "The output contains the word GOOD.")
    made.propose({"prompts/polite.txt": RUDE_PROMPT}, {**FILES, "contracts/polite.yaml": good})
    attacks = [*ATTACKS.values()]
    obey = obedient(read)

    def attacked(body: Mapping[str, Any]) -> str:
        messages = tuple(Message(m["role"], m["content"]) for m in body["messages"])
        if is_question(body):
            return obey(Request(JUDGE, messages, {}, None, 0)) or ""
        word = messages[-1].content.split()[1]
        if "politely" in messages[-1].content:
            return f"{word} GOOD"
        return attacks[int(word.removeprefix("word")) % len(attacks)]

    with_server(server, attacked)
    code, result = check(made, tmp_path)
    assert (code, result["verdict"]) == (1, "fail")
    assert result["contracts"][0]["paired"]["broke"] == len(WORDS)
