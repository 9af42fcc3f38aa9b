"""`gatekeeper blame` as its user runs it: real git, a model on 127.0.0.1."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.words_repository import commit_words

from gatekeeper.cli.main import main

BASE = "Be kind.\nAnswer with ok only.\nUse small letters.\n\nWord: {{ word }}\n"
HEAD = "Be very kind.\nUse small letters.\nThink twice.\n\nWord: {{ word }}\n"
RULE = "Answer with ok only.\n"
SEED = f"{1:032x}"


@pytest.fixture
def repository(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    made = commit_words(git_repository("blame"), BASE)
    made.branch("pr", "main")
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    return made


def blame(
    made: GitRepository,
    head: str,
    answer: Callable[[dict[str, Any]], str],
    out: Path,
    patch: pytest.MonkeyPatch,
) -> tuple[int, list[dict[str, Any]]]:
    made.commit("change", {"prompts/words.txt": head})
    with OpenAIServer(answer):
        flags = ["--base", "main", "--head", "pr", "--repo", str(made.path), "--out", str(out)]
        code = main(["blame", *flags])
    return code, json.loads((out / "blame.json").read_text())["contracts"]


def prompt_of(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def test_the_deleted_rule_is_named_and_the_other_edits_are_harmless(
    repository, tmp_path, monkeypatch, capsys
):
    def answer(body: dict[str, Any]) -> str:
        return "ok" if "Answer with ok only." in prompt_of(body) else "OK, gladly."

    code, (found,) = blame(repository, HEAD, answer, tmp_path, monkeypatch)
    assert (code, found["outcome"]) == (0, "explained")
    ((edit,),) = (cause["edits"] for cause in found["causes"])
    assert (edit["before"].strip(), edit["base_line"]) == ("Answer with ok only.", 2)
    assert len(found["harmless"]) == 2
    said = capsys.readouterr().out
    broke = len(found["fixtures"])
    assert f"If this edit is reverted, {broke} of {broke} broken fixtures pass again." in said
    assert "+Answer with ok only." in said
    assert found["causes"][0]["broke"] == found["causes"][0]["measured"] == len(found["fixtures"])
    assert 'deleting "Answer with ok only."' in said.lower().replace(
        "answer with ok only", "Answer with ok only"
    )


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("::error::forged", " : :error::forged"),
        ("  ::add-mask::x", "   : :add-mask::x"),
        ("##[error]forged", " ## [error]forged"),
    ],
)
def test_a_line_of_the_prompt_in_the_diff_is_no_command(line, shown, repository, tmp_path, capsys):
    begin, end = f"Be kind.\n{line}\n", "\nWord: {{ word }}\n"
    repository.switch("main")
    repository.commit(
        "a line that looks like a command", {"prompts/words.txt": f"{begin}{RULE}{end}"}
    )
    repository.branch("no-rule", "main")
    repository.commit("change", {"prompts/words.txt": f"{begin}{end}"})

    def answer(body: dict[str, Any]) -> str:
        return "ok" if RULE in prompt_of(body) else "OK, gladly."

    with OpenAIServer(answer):
        arms = ["--base", "main", "--head", "no-rule", "--repo", str(repository.path)]
        assert main(["blame", *arms, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "+Answer with ok only." in said
    assert shown in said.splitlines()
    assert not re.search(r"^\s*::|##\[", said, re.MULTILINE)


def test_with_the_cache_of_a_check_only_the_search_is_paid_for(repository, tmp_path, monkeypatch):
    def answer(body: dict[str, Any]) -> str:
        return "ok" if "Answer with ok only." in prompt_of(body) else "OK, gladly."

    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-is-long-enough-to-sign-a-cache")
    # One call at a time, so that no call is under way, and cancelled, when the check ends.
    repository.switch("main")
    repository.commit("policy", {".github/gatekeeper.yml": "limits: {concurrency: 1}\n"})
    repository.branch("slow", "main")
    repository.commit("change", {"prompts/words.txt": HEAD})
    arms = ["--base", "main", "--head", "slow", "--repo", str(repository.path)]
    cache = ["--cache", str(tmp_path / "cache.jsonl")]
    with OpenAIServer(answer) as server:
        assert main(["check", *arms, *cache, "--out", str(tmp_path / "check")]) == 1
        checked = {json.dumps(body) for body in server.requests}
        server.requests.clear()
        assert main(["blame", *arms, *cache, "--out", str(tmp_path / "blame")]) == 0
        searched = {json.dumps(body) for body in server.requests}
    assert checked
    assert searched
    assert not checked & searched


def test_edits_that_only_break_together_are_one_cause(repository, tmp_path, monkeypatch):
    def answer(body: dict[str, Any]) -> str:
        prompt = prompt_of(body)
        broken = "Be very kind." in prompt and "Think twice." in prompt
        return "no" if broken else "ok"

    code, (found,) = blame(repository, HEAD, answer, tmp_path, monkeypatch)
    assert code == 0
    ((first, second),) = (cause["edits"] for cause in found["causes"])
    assert {first["after"].strip(), second["after"].strip()} == {"Be very kind.", "Think twice."}
    # One of the two is enough, and it is proven to be.
    (reverted,) = found["revert"]["edits"]
    assert reverted in (first, second)
    assert found["revert"]["passed"] == found["revert"]["measured"] == len(found["fixtures"])
    assert found["revert"]["replacement"]["start"] == reverted["line"]


def test_a_cause_that_broke_few_of_the_first_fixtures_is_named_too(
    repository, tmp_path, monkeypatch
):
    """The check ends after seven broken fixtures. One edit breaks most of them."""
    monkeypatch.setattr("gatekeeper.gate.work.new_order_seed", lambda: SEED)

    def answer(body: dict[str, Any]) -> str:
        prompt = prompt_of(body)
        word = int(prompt.split("word")[-1])
        missing = "Answer with ok only." if word % 3 else "Be kind."
        return "ok" if missing in prompt else "no"

    code, (found,) = blame(repository, HEAD, answer, tmp_path, monkeypatch)
    assert (code, found["outcome"]) == (0, "explained")
    texts = {edit["before"].strip() for cause in found["causes"] for edit in cause["edits"]}
    assert texts == {"Answer with ok only.", "Be kind."}
    assert len(found["fixtures"]) >= 12


def test_a_change_that_breaks_nothing_is_not_searched(repository, tmp_path, monkeypatch):
    assert blame(repository, HEAD, lambda _: "ok", tmp_path, monkeypatch) == (0, [])


def test_a_model_that_answers_by_no_rule_blames_nobody(repository, tmp_path, monkeypatch):
    """Only head itself breaks, as if the model recognised it: no group of edits does."""

    def answer(body: dict[str, Any]) -> str:
        head = HEAD.split("\n\n")[0]
        return "no" if prompt_of(body).startswith(head) else "ok"

    code, (found,) = blame(repository, HEAD, answer, tmp_path, monkeypatch)
    assert code == 0
    (cause,) = found["causes"]
    assert len(cause["edits"]) == 3
    assert len(found["revert"]["edits"]) == 1
