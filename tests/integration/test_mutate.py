"""`gatekeeper mutate` as its user runs it: real git, a model on 127.0.0.1."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer, Reply, rate_limited
from support.recorded_repository import csv
from support.words_repository import WITH_OBJECTIVE, commit_words

from gatekeeper.cli.main import main
from gatekeeper.stats.paired.power import fixtures_needed

PROMPT = """\
Answer politely.

- Answer with ok only.
- Never mention <script>alert(1)</script> | tables.

{{ word }}
"""


@pytest.fixture
def repository(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    return commit_words(git_repository("mutate"), PROMPT, WITH_OBJECTIVE)


def answer(body: dict[str, Any]) -> Reply:
    """Do what the prompt says: `ok` alone if it asks for that, more words if it is not polite."""
    said = body["messages"][0]["content"]
    text = "ok" if "- Answer with ok only" in said else "ok, gladly"
    if "Do not answer politely" in said and "word0" in said:
        text = "no"
    return Reply(text, prompt_tokens=len(said.split()))


def mutate(made: GitRepository, out: Path, *flags: str) -> tuple[int, dict[str, Any]]:
    code = main(["mutate", "words", "--repo", str(made.path), "--out", str(out), *flags])
    file = out / "mutation.json"
    return code, json.loads(file.read_text()) if file.exists() else {}


def test_it_tells_protected_parts_from_unprotected_and_dead_ones(repository, tmp_path, capsys):
    # Few calls at a time, so that few are under way when a mutant is noticed.
    repository.commit("slow", {".github/gatekeeper.yml": "limits: {concurrency: 2}\n"})
    with OpenAIServer(answer) as server:
        code, found = mutate(repository, tmp_path)
    assert code == 0
    by_id = {one["id"]: one for one in found["mutants"]}
    assert {name: one["finding"] for name, one in by_id.items()} == {
        "1-drop": "no_effect",
        "1-negate": "noticed",
        "2-drop": "noticed",
        "2-negate": "noticed",
        "2-soften": "noticed",
        "3-drop": "no_effect",
        "3-negate": "no_effect",
        "3-soften": "no_effect",
    }
    assert (by_id["2-drop"]["line"], by_id["3-drop"]["tokens"]) == (3, 6)
    assert by_id["2-drop"]["pairs"] < 20
    assert found["score"] == 1
    # Each mutant has the base arm's answers for nothing.
    assert found["calls"] == len(server.requests) < 20 * (1 + 8)
    page = (tmp_path / "mutation.html").read_text()
    assert "<script>alert" not in page
    assert '<tr class="pass"><th scope="row">3</th><td>noticed</td>' in page
    assert "3-drop" not in page
    assert "list item dropped" in (tmp_path / "mutation.md").read_text()
    assert "noticed" in capsys.readouterr().out


def test_dead_parts_are_counted_once_and_not_said_to_be_dead_together(repository, tmp_path):
    examples = "Word: sun\nAnswer: ok\n\nWord: rain\nAnswer: ok\n\n"
    repository.write("prompts/words.txt", f"Answer with ok only.\n\n{examples}{{{{ word }}}}\n")

    def needs_the_rule_or_an_example(body: dict[str, Any]) -> Reply:
        said = body["messages"][0]["content"]
        known = "Answer with ok only." in said or "Answer: ok" in said
        return Reply("ok" if known else "no", prompt_tokens=len(said.split()))

    with OpenAIServer(needs_the_rule_or_an_example):
        code, found = mutate(repository, tmp_path, "--mutations", "drop")
    assert code == 0
    tokens = [(one["finding"], one["tokens"]) for one in found["mutants"]]
    assert tokens == [("no_effect", number) for number in (4, 4, 4, 8)]
    assert (
        "You can remove any one of 2 parts of the prompt without a change of any output; "
        "together, these parts have 12 input tokens of each call."
    ) in (tmp_path / "mutation.md").read_text()


def test_a_line_of_several_parts_shows_what_happens_without_each(repository, tmp_path, capsys):
    repository.write("prompts/words.txt", "Answer with ok only. Be kind.\n\n{{ word }}\n")

    def needs_the_first_sentence(body: dict[str, Any]) -> Reply:
        return Reply("ok" if "Answer with ok only." in body["messages"][0]["content"] else "no")

    with OpenAIServer(needs_the_first_sentence):
        code, _ = mutate(repository, tmp_path, "--mutations", "drop")
    assert code == 0
    line = next(one for one in capsys.readouterr().out.split("\n") if "Be kind." in one)
    assert " ".join(line.split()) == "1 no effect, noticed Answer with ok only. Be kind."
    page = (tmp_path / "mutation.html").read_text()
    assert '<tr class="inconclusive"><th scope="row">1</th><td>no effect, noticed</td>' in page


def test_parts_that_break_too_few_fixtures_have_a_finding_of_their_own(
    repository, tmp_path, capsys
):
    def breaks_two(body: dict[str, Any]) -> Reply:
        said = body["messages"][0]["content"]
        return Reply("ok" if "politely" in said or "word0" not in said or "9" in said else "no")

    two_levels = edited(PROMPT, "- Never mention", "  - Never mention")
    repository.write("prompts/words.txt", two_levels)
    rows = csv(("word01", "word02", "word09", *(f"word{n}" for n in range(10, 27))))
    repository.write("contracts/words.csv", rows)
    with OpenAIServer(breaks_two):
        code, found = mutate(repository, tmp_path, "--mutations", "drop")
    assert code == 0
    weak, *others = found["mutants"]
    assert (weak["finding"], weak["broke"], weak["fixed"]) == ("too_few_broke", 2, 0)
    assert {one["finding"] for one in others} == {"no_effect"}
    assert {one["fixtures_needed"] for one in others} == {None}
    # A tenth of so many fixtures is enough for a test at this level, four times out of five. The
    # two mutants without any effect take no share of the level.
    assert weak["fixtures_needed"] == fixtures_needed(0.1, 0.05) > 20
    assert (found["score"], found["clustered"], found["fixtures"]) == (0, False, 20)
    page = (tmp_path / "mutation.html").read_text()
    assert '<tr class="fail"><th scope="row">1</th><td>breaks too few</td>' in page
    printed = capsys.readouterr().out
    assert f"about {weak['fixtures_needed']} fixtures needed" in printed
    lines = [line.rstrip() for line in printed.split("\n")]
    assert any(re.fullmatch(r" *1 +breaks too few +Answer politely\.", line) for line in lines)
    assert any(re.match(r" *4 +no effect +  - Never mention <script>", line) for line in lines)


def test_related_fixtures_that_break_are_too_few_clusters(repository, tmp_path):
    rows = "".join(f"  - {{vars: {{word: word{n}}}, cluster: c{n % 3}}}\n" for n in range(9))
    contract = edited(
        WITH_OBJECTIVE, "fixtures: [{file: words.csv}]", f"fixtures:\n{rows.rstrip()}"
    )
    repository.write("contracts/words.yaml", contract)
    repository.write("prompts/words.txt", "Answer with ok only.\n\n{{ word }}\n")
    with OpenAIServer(lambda body: Reply("ok" if "ok" in str(body) else "no")):
        _, found = mutate(repository, tmp_path, "--mutations", "drop")
    (weak,) = found["mutants"]
    assert (weak["finding"], weak["broke"]) == ("too_few_broke", 9)
    assert (found["clustered"], found["fixtures"], weak["fixtures_needed"]) == (True, 3, 5)
    assert "about 5 clusters needed" in (tmp_path / "mutation.md").read_text()


def test_a_provider_that_refuses_everything_measures_nothing(repository, tmp_path):
    with OpenAIServer(lambda _: rate_limited("0")):
        repository.write(".github/gatekeeper.yml", "limits: {calls: 20}\n")
        code, found = mutate(repository, tmp_path, "--mutations", "drop")
    assert code == 3
    assert {one["finding"] for one in found["mutants"]} == {"unknown"}
    assert found["score"] is None


def test_an_estimate_calls_no_model(repository, tmp_path, capsys):
    assert mutate(repository, tmp_path, "--estimate") == (0, {})
    # 20 answers of the prompt, and 20 of each of the 8 mutants.
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "8 mutants, at most 180 calls"
    assert "USD" in said[1]


def test_a_suite_that_can_notice_nothing_is_named_before_the_first_call(
    repository, tmp_path, capsys
):
    repository.write("contracts/words.csv", csv(("one", "two", "three")))
    assert mutate(repository, tmp_path, "--estimate")[0] == 0
    assert "3 fixtures" in capsys.readouterr().err

    rows = "".join(f"  - {{vars: {{word: word{n}}}, cluster: c{n % 4}}}\n" for n in range(12))
    contract = edited(
        WITH_OBJECTIVE, "fixtures: [{file: words.csv}]", f"fixtures:\n{rows.rstrip()}"
    )
    repository.write("contracts/words.yaml", contract)
    assert mutate(repository, tmp_path, "--estimate")[0] == 0
    assert "4 clusters" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "prompt", "named"),
    [
        (("--mutations", "drop,invert"), PROMPT, "soften"),
        (("--mutations", ","), PROMPT, "soften"),
        ((), "{{ word }}\n", "prompts/words.txt"),
    ],
)
def test_bad_input_is_refused(repository, tmp_path, capsys, flags, prompt, named):
    repository.write("prompts/words.txt", prompt)
    assert mutate(repository, tmp_path, *flags) == (2, {})
    assert named in capsys.readouterr().err


def test_an_unknown_contract_is_refused(repository, capsys):
    assert main(["mutate", "wrods", "--repo", str(repository.path)]) == 2
    assert "'words'" in capsys.readouterr().err
