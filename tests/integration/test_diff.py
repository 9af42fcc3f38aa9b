"""`gatekeeper diff` of revisions, of runs, and of one with the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import GOOD, PROMPT, WORDS, answers, csv, result_of, write_contract

from gatekeeper.cli.main import main

RECORDED, HOSTED = "recorded/contracts/words.samples.jsonl", "openai/gpt-4o-mini"
MANY = tuple(f"word{number:02}" for number in range(24))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch):
    """Says ok where it is asked to say something, and otherwise no."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")

    def answer(body: dict[str, Any]) -> str:
        return "ok" if body["messages"][0]["content"].startswith("Say") else "no"

    with OpenAIServer(answer) as server:
        yield server


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("diff")
    contract = GOOD.replace(RECORDED, HOSTED)
    made.write("contracts/words.yaml", contract)
    made.write("contracts/words.csv", csv(MANY))
    made.write("prompts/words.txt", "Say {{ word }}")
    made.commit("sound")
    made.branch("worse")
    made.commit("reword", {"prompts/words.txt": "Tell {{ word }}"})
    return made


def diff(made: GitRepository, out: Path, *flags: str) -> int:
    return main(["diff", "--repo", str(made.path), "--out", str(out), *flags])


def run(made: GitRepository, ref: str, out: Path) -> Path:
    assert main(["run", "--repo", str(made.path), "--ref", ref, "--out", str(out)]) in (0, 1)
    return out


def test_two_revisions_are_measured_side_by_side(repository, model, tmp_path, capsys):
    assert diff(repository, tmp_path / "out", "main", "worse") == 1
    found = result_of(tmp_path / "out")
    assert (found["kind"], found["verdict"]) == ("diff", "fail")
    assert found["contracts"][0]["paired"]["broke"] > 0
    assert "A regression" in capsys.readouterr().out
    markdown = (tmp_path / "out/summary.md").read_text()
    assert "A regression: `words` got worse" in markdown
    assert "merge" not in markdown.split("\n")[0]
    assert (tmp_path / "out/report.html").read_text().startswith("<!doctype html>")


def test_the_other_way_round_it_got_better(repository, model, tmp_path):
    assert diff(repository, tmp_path / "out", "worse", "main") == 0
    paired = result_of(tmp_path / "out")["contracts"][0]["paired"]
    assert paired["broke"] == 0


def test_two_runs_are_compared_without_a_call(repository, model, tmp_path, capsys):
    earlier = run(repository, "main", tmp_path / "earlier")
    later = run(repository, "worse", tmp_path / "later")
    asked = len(model.requests)
    sides = str(earlier), str(later / "samples.jsonl")
    assert diff(repository, tmp_path / "out", *sides, "--methods") == 1
    printed = capsys.readouterr().out
    assert "  mcnemar_chi_square_two_sided: p = " in printed
    assert "  success rate on head, wilson: " in printed
    assert len(model.requests) == asked
    found = result_of(tmp_path / "out")
    (contract,) = found["contracts"]
    assert (contract["paired"]["broke"], contract["paired"]["fixtures"]) == (24, 24)
    assert (contract["base"]["passed"], contract["head"]["passed"]) == (24, 0)
    assert contract["head"]["prompt"] == "prompts/words.txt"
    heads = [json.loads((side / "result.json").read_text())["head"] for side in (earlier, later)]
    assert [found["base"], found["head"]] == heads
    assert contract["fixtures"][0]["outputs"] == {"base": ["ok"], "head": ["no"]}
    assert any("measured at different times" in notice for notice in found["notices"])
    assert "24 of 24 fixtures broke" in printed


def test_a_run_compared_with_itself_has_not_changed(repository, model, tmp_path):
    saved = run(repository, "main", tmp_path / "saved")
    assert diff(repository, tmp_path / "out", str(saved / "result.json"), str(saved)) == 0
    paired = result_of(tmp_path / "out")["contracts"][0]["paired"]
    assert (paired["broke"], paired["fixed"], paired["difference"]) == (0, 0, 0)


def test_a_revision_is_measured_to_be_compared_with_a_run(repository, model, tmp_path):
    saved = run(repository, "main", tmp_path / "saved")
    asked = len(model.requests)
    assert diff(repository, tmp_path / "out", str(saved), "worse") == 1
    assert len(model.requests) == asked + len(MANY)


def test_fixtures_and_contracts_of_one_side_are_named_and_left_out(repository, model, tmp_path):
    earlier = run(repository, "main", tmp_path / "earlier")
    other = edited(GOOD, "name: words", "name: others")
    repository.write(
        "contracts/others.yaml",
        edited(other, "recorded/contracts/words.samples.jsonl", "openai/gpt-4o-mini"),
    )
    repository.write("contracts/words.csv", csv(MANY[:20]))
    repository.commit("fewer words, another contract")
    later = run(repository, "HEAD", tmp_path / "later")
    assert diff(repository, tmp_path / "out", str(earlier), str(later)) == 1
    found = result_of(tmp_path / "out")
    assert [c["name"] for c in found["contracts"]] == ["words"]
    assert found["contracts"][0]["paired"]["fixtures"] == 20
    said = " ".join(found["notices"])
    assert (
        "words: 4 fixtures are left out, because only one side has samples of these fixtures"
        in said
    )
    assert f"others has samples only in {later}" in said


def test_nothing_in_common_shows_nothing(repository, model, tmp_path):
    saved = run(repository, "main", tmp_path / "saved")
    assert diff(repository, tmp_path / "out", str(saved), str(saved), "--contract=others") == 3
    found = result_of(tmp_path / "out")
    assert (found["verdict"], found["contracts"]) == ("error", [])
    assert "the contract others has no samples on either side" in found["notices"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "holds no sample"),
        ("{", "samples.jsonl:1: not a line of samples.jsonl"),
        ("[]", "samples.jsonl:1: not a line of samples.jsonl"),
        ('{"contract": "a"}', "samples.jsonl:1: not a line of samples.jsonl (no 'fixture')"),
        ('{"contract": 7}', "contract is not text"),
    ],
)
def test_what_is_no_run_is_explained(repository, tmp_path, capsys, line, says):
    file = tmp_path / "samples.jsonl"
    file.write_text(line)
    assert diff(repository, tmp_path / "out", str(file), str(file)) == 2
    error = capsys.readouterr().err
    assert says in error
    assert str(file) in error
    assert not (tmp_path / "out/result.json").exists()


def test_a_folder_without_samples_and_an_unknown_revision_are_explained(
    repository, tmp_path, capsys
):
    (tmp_path / "empty").mkdir()
    assert diff(repository, tmp_path / "out", str(tmp_path / "empty"), "main") == 2
    assert f"{tmp_path / 'empty'}: " in capsys.readouterr().err
    assert diff(repository, tmp_path / "out", "main", "nowhere") == 2
    assert "nowhere" in capsys.readouterr().err


def test_two_sides_that_pass_nothing_fail_without_a_word_of_a_regression(
    git_repository, tmp_path, capsys
):
    made = git_repository("nothing")
    other = "Please say {{ word }}.\n"
    said = answers(PROMPT, dict.fromkeys(WORDS, "no")) | answers(other, dict.fromkeys(WORDS, "no"))
    write_contract(made, recorded=said)
    made.commit("bad")
    made.branch("also-bad")
    made.commit("as bad", {"prompts/words.txt": other})

    assert diff(made, tmp_path / "out", "main", "also-bad") == 1
    (contract,) = result_of(tmp_path / "out")["contracts"]
    reasons = {reason["code"] for reason in contract["reasons"] if reason["verdict"] == "fail"}
    assert "nothing_passes" in reasons
    assert "regression" not in reasons
    assert "A regression" not in capsys.readouterr().out
