"""The whole gate on real repositories with a recorded model: what is evaluated, how, and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.recorded_repository import GOOD, answers, check, csv, result_of, write_contract

from gatekeeper.cli.main import main

OTHER = "Please say {{ word }}.\n"
MANY = tuple(f"word{i}" for i in range(40))


def codes(result: dict[str, Any]) -> list[tuple[str, str]]:
    """(code of the reason, verdict of the contract) of every contract."""
    return [(r["code"], c["verdict"]) for c in result["contracts"] for r in c["reasons"]]


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """40 words; the prompt OTHER is answered like the one at main, but for words 0 to 19."""
    made = git_repository("words")
    broken = {word: "no" if i < 20 else "ok" for i, word in enumerate(MANY)}
    write_contract(made, words=MANY, recorded=answers(OTHER, broken))
    made.commit("sound")
    made.branch("pr")
    return made


def test_a_prompt_that_breaks_half_the_fixtures_fails(repository, tmp_path):
    repository.commit("break", {"prompts/words.txt": OTHER})

    assert check(repository, tmp_path) == 1

    (contract,) = result_of(tmp_path)["contracts"]
    paired = contract["paired"]
    assert contract["affected_by"] == [{"path": "prompts/words.txt", "change": "modified"}]
    assert paired["stopped"] == "regressed"
    assert paired["p_value"] < 0.05
    assert result_of(tmp_path)["calls"]["saved"] > 0
    assert {f["id"] for f in contract["fixtures"] if f["change"] == "broke"} <= set(MANY[:20])


def test_fixed_sampling_draws_every_sample(repository, tmp_path):
    repository.switch("main")
    fixed = GOOD + "sampling: {mode: fixed}\n"
    repository.commit("fixed", {"contracts/words.yaml": fixed})
    repository.switch("pr")
    repository.git("rebase", "--quiet", "main")
    repository.commit("break", {"prompts/words.txt": OTHER})

    assert check(repository, tmp_path) == 1

    result = result_of(tmp_path)
    paired = result["contracts"][0]["paired"]
    assert (paired["broke"], paired["fixed"], paired["unknown"]) == (20, 0, 0)
    assert (result["calls"]["made"], result["calls"]["cached"]) == (0, 80)


def test_a_change_that_touches_no_prompt_calls_no_model(repository, tmp_path, capsys):
    repository.commit("docs", {"README.md": "hello\n"})

    assert check(repository, tmp_path) == 0

    result = result_of(tmp_path)
    assert (result["verdict"], result["contracts"]) == ("pass", [])
    assert result["calls"]["made"] == 0


@pytest.mark.parametrize(
    "files",
    [
        {"contracts/words.yaml": edited(GOOD, "# what the prompt promises", "# a comment")},
        {"contracts/words.yaml": GOOD.replace("\n", "\r\n")},
        {"prompts/words.txt": "Say {{ word }}.\r\n"},
    ],
)
def test_comments_and_line_ends_run_nothing(files, repository, tmp_path):
    repository.commit("cosmetic", files)

    assert check(repository, tmp_path) == 0
    assert result_of(tmp_path)["contracts"] == []


def test_a_renamed_prompt_runs_nothing(repository, tmp_path):
    repository.rename("prompts/words.txt", "prompts/the words.txt")
    repository.commit(
        "rename", {"contracts/words.yaml": edited(GOOD, "words.txt", "the words.txt")}
    )

    assert check(repository, tmp_path) == 0
    assert result_of(tmp_path)["contracts"] == []


def test_a_contract_removed_while_its_prompt_stays_fails(repository, tmp_path):
    repository.delete("contracts/words.yaml")
    repository.commit("remove")

    assert check(repository, tmp_path) == 1
    assert codes(result_of(tmp_path)) == [("removed", "fail")]


def test_the_base_policy_may_allow_a_removal(repository, tmp_path):
    repository.switch("main")
    repository.commit("policy", {".github/gatekeeper.yml": "allow: {contract_removal: true}\n"})
    repository.switch("pr")
    repository.git("rebase", "--quiet", "main")
    repository.delete("contracts/words.yaml")
    repository.commit("remove")

    assert check(repository, tmp_path) == 0
    assert codes(result_of(tmp_path)) == [("removed", "pass")]


def test_a_pull_request_cannot_allow_itself_anything(repository, tmp_path):
    repository.delete("contracts/words.yaml")
    repository.commit("remove", {".github/gatekeeper.yml": "allow: {contract_removal: true}\n"})

    assert check(repository, tmp_path) == 1


def test_a_weakened_contract_does_not_hide_a_regression(repository, tmp_path):
    loose = edited(GOOD, "pattern: ok", "pattern: '.'")
    repository.commit("weaken", {"contracts/words.yaml": loose, "prompts/words.txt": OTHER})

    assert check(repository, tmp_path) == 1

    (contract,) = result_of(tmp_path)["contracts"]
    assert contract["weakened"]
    failing = [reason for reason in contract["reasons"] if reason["code"] == "regression"]
    assert [reason["text"].startswith("Under the base contract") for reason in failing] == [True]


def test_the_comment_leads_with_what_the_base_contract_found(repository, tmp_path):
    loose = edited(GOOD, "pattern: ok", "pattern: '.'")
    repository.commit("weaken", {"contracts/words.yaml": loose, "prompts/words.txt": OTHER})
    check(repository, tmp_path)

    comment = (tmp_path / "comment.md").read_text("utf-8")
    lead = comment.split("What to do")[0]
    assert "`words` got **worse** (under the base contract): " in lead
    assert "Under the base contract" not in comment
    assert "did **not change**" not in lead
    assert "fixtures broke in <code>words, under the base contract</code>" in comment
    reasons = result_of(tmp_path)["contracts"][0]["reasons"]
    assert ("regression", "base") in [(r["code"], r["contract_from"]) for r in reasons]


def test_removing_the_fixtures_that_broke_does_not_hide_a_regression(repository, tmp_path):
    repository.commit("remove", {"contracts/words.csv": csv(MANY[20:]), "prompts/words.txt": OTHER})

    assert check(repository, tmp_path) == 1
    assert ("regression", "fail") in codes(result_of(tmp_path))


def test_a_weakened_contract_that_satisfies_the_old_one_passes(repository, tmp_path):
    loose = edited(GOOD, "success_rate: 0.5", "success_rate: 0.4")
    repository.commit("weaken", {"contracts/words.yaml": loose})

    assert check(repository, tmp_path) == 0

    (contract,) = result_of(tmp_path)["contracts"]
    assert contract["weakened"]
    assert contract["base"] is None
    assert contract["paired"] is None
    comment = (tmp_path / "comment.md").read_text("utf-8")
    assert "| `words, under the base contract` |" in comment
    assert "; `words` was weakened" in comment.splitlines()[1]
    assert "Every request is the same as before, so there is nothing to compare." in comment


def test_a_new_contract_is_checked_by_its_objectives(repository, tmp_path):
    fresh = edited(GOOD, "name: words", "name: fresh", "words.txt", "other.txt")
    repository.commit(
        "new",
        {
            "contracts/fresh.yaml": edited(fresh, "success_rate: 0.5", "success_rate: 0.9"),
            "prompts/other.txt": OTHER,
        },
    )

    assert check(repository, tmp_path) == 1
    assert codes(result_of(tmp_path)) == [("slo", "fail")]


def test_a_new_contract_without_objectives_is_no_silent_pass(repository, tmp_path):
    fresh = edited(GOOD, "name: words", "name: fresh", "slo: {success_rate: 0.5}", "")
    repository.commit("new", {"contracts/fresh.yaml": fresh})

    assert check(repository, tmp_path) == 0
    [contract] = result_of(tmp_path)["contracts"]
    assert [(slo["target"], slo["default"]) for slo in contract["slo"]] == [(0.5, True)]


def test_a_changed_prompt_without_a_contract_is_listed(repository, tmp_path):
    repository.commit("stray", {"prompts/stray.md": "Hello {{ name }}"})

    assert check(repository, tmp_path) == 0
    assert result_of(tmp_path)["uncovered"] == ["prompts/stray.md"]


def test_the_base_policy_may_require_a_contract(repository, tmp_path):
    repository.switch("main")
    repository.commit("policy", {".github/gatekeeper.yml": "require_contract: true\n"})
    repository.switch("pr")
    repository.git("rebase", "--quiet", "main")
    repository.commit("stray", {"prompts/stray.md": "Hello {{ name }}"})

    assert check(repository, tmp_path) == 1


def test_samples_that_were_not_recorded_are_not_failed_checks(repository, tmp_path):
    unheard = "Utter {{ word }}.\n"
    repository.commit("unheard", {"prompts/words.txt": unheard})

    assert check(repository, tmp_path) == 3

    result = result_of(tmp_path)
    assert result["verdict"] == "error"
    assert result["contracts"][0]["head"]["samples"] == 0
    assert result["contracts"][0]["reasons"][0]["text"] == (
        "No sample could be measured on head: the request is not recorded in "
        "contracts/words.samples.jsonl: "
        "no sample has these messages and parameters."
    )
    calls = result["calls"]
    assert (calls["made"], calls["failed"], calls["unrecorded"]) == (0, 0, 40)
    assert result["cost_usd"] == 0
    (notice,) = result["notices"]
    assert notice.startswith(
        "The recording contracts/words.samples.jsonl has no answer for 40 requests. Make a new "
        "recording: run the real model with `sampling: {mode: fixed}`"
    )
    comment = (tmp_path / "comment.md").read_text("utf-8")
    assert "0 calls made, 40 cached, 40 not recorded" in comment
    assert "in a row" not in comment


def test_a_reached_limit_could_not_measure(repository, tmp_path):
    repository.switch("main")
    repository.commit("policy", {".github/gatekeeper.yml": "limits: {minutes: 1.0e-9}\n"})
    repository.switch("pr")
    repository.git("rebase", "--quiet", "main")
    repository.commit("break", {"prompts/words.txt": OTHER})

    assert check(repository, tmp_path) == 3

    result = result_of(tmp_path)
    assert "limit" in [code for code, _ in codes(result)]


def test_a_recording_answers_beyond_the_limits(repository, tmp_path):
    repository.switch("main")
    repository.commit("policy", {".github/gatekeeper.yml": "limits: {calls: 1}\n"})
    repository.switch("pr")
    repository.git("rebase", "--quiet", "main")
    repository.commit("break", {"prompts/words.txt": OTHER})

    assert check(repository, tmp_path) == 1

    calls = result_of(tmp_path)["calls"]
    assert (calls["made"], calls["cached"] > 10) == (0, True)


def history(path: Path, failed: int) -> Path:
    """A week of runs of the default branch, in the form `run` writes them: no single night
    freezes a prompt."""
    record = json.loads(path.read_text("utf-8").splitlines()[0])
    record |= {"failed": failed, "objectives": {}}
    times = [(datetime.now(UTC) - timedelta(days=day, hours=1)).isoformat() for day in range(7)]
    nights = [json.dumps(record | {"id": time, "time": time}) + "\n" for time in reversed(times)]
    path.write_text("".join(nights), "utf-8")
    return path


@pytest.mark.parametrize(("failed", "code"), [(0, 0), (40, 1)])
def test_a_spent_error_budget_freezes_the_prompt(failed, code, repository, tmp_path):
    past = tmp_path / "history.jsonl"
    run = ["run", "--repo", str(repository.path), "--ref", "main", "--history", str(past)]
    assert main([*run, "--out", str(tmp_path / "run")]) == 0
    history(past, failed)
    harmless = "Kindly say {{ word }}.\n"
    repository.write(
        "contracts/words.samples.jsonl",
        (repository.path / "contracts/words.samples.jsonl").read_text("utf-8")
        + _recorded(harmless),
    )
    repository.commit("harmless", {"prompts/words.txt": harmless})

    assert check(repository, tmp_path / "out", "--history", str(past)) == code

    (contract,) = result_of(tmp_path / "out")["contracts"]
    budget = contract["error_budget"]
    assert (budget["events"], budget["spent"]) == (7 * 40, 7 * failed)
    assert ("budget" in [r["code"] for r in contract["reasons"]]) == (code == 1)


def _recorded(prompt: str) -> str:
    from support.recorded_repository import recording

    rendered = {edited(prompt.removesuffix("\n"), "{{ word }}", w): "ok" for w in MANY}
    return recording(rendered)


def test_the_full_suite_checks_one_revision(repository, tmp_path):
    code = main(["run", "--repo", str(repository.path), "--out", str(tmp_path)])

    result = result_of(tmp_path)
    assert code == 0
    assert result["base"] == {"sha": None}
    assert result["contracts"][0]["head"]["fixtures_passed"] == 40


def test_uncommitted_changes_are_checked_with_worktree(repository, tmp_path):
    repository.write("prompts/words.txt", OTHER)

    arms = ["--repo", str(repository.path), "--base", "main", "--worktree"]
    code = main(["check", *arms, "--out", str(tmp_path)])

    assert code == 1
    assert result_of(tmp_path)["head"]["sha"] == "worktree"


def test_affected_explains_itself_and_calls_no_model(repository, capsys):
    repository.commit("break", {"prompts/words.txt": OTHER})
    arms = ["--repo", str(repository.path), "--base", "main", "--head", "pr"]

    assert main(["affected", *arms]) == 0
    text = capsys.readouterr().out
    assert "modified prompts/words.txt" in text
    assert "40 fixtures" in text
    assert "expected 0 calls" in text  # Recorded answers take no call.

    assert main(["affected", *arms, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["calls"] == 0
    assert document["contracts"][0]["affected_by"] == [
        {"path": "prompts/words.txt", "change": "modified"}
    ]


def test_affected_names_a_removed_contract(repository, capsys):
    repository.delete("contracts/words.yaml")
    repository.commit("remove")

    assert (
        main(
            ["affected", "--repo", str(repository.path), "--base", "main", "--head", "pr", "--json"]
        )
        == 0
    )
    (contract,) = json.loads(capsys.readouterr().out)["contracts"]
    assert (contract["name"], contract["removed"], contract["calls"]) == ("words", True, 0)


def test_init_writes_a_contract_that_validates_and_keeps_what_is_there(git_repository, capsys):
    made = git_repository("fresh")
    made.write(".github/gatekeeper.yml", "require_contract: true\n")

    assert main(["init", "--repo", str(made.path)]) == 0
    assert "kept     .github/gatekeeper.yml" in capsys.readouterr().out
    assert (made.path / ".github/gatekeeper.yml").read_text() == "require_contract: true\n"
    assert main(["validate", "--repo", str(made.path)]) == 0
    assert "1 contract valid, 0 errors" in capsys.readouterr().out


def test_the_page_draws_what_the_history_remembers(repository, tmp_path):
    history = str(tmp_path / "runs.jsonl")
    out = tmp_path / "out"
    repo = ["--repo", str(repository.path), "--history", history]
    assert main(["run", *repo, "--out", str(out)]) == 0
    assert "Success rate over runs" not in (out / "report.html").read_text("utf-8")

    repository.commit("break", {"prompts/words.txt": OTHER})
    check(repository, out, "--history", history)
    page = (out / "report.html").read_text("utf-8")
    assert "1 run of the default branch, with 95 % intervals. The success rate was 100" in page


def test_the_reports_are_all_there(repository, tmp_path):
    repository.commit("break", {"prompts/words.txt": OTHER})
    check(repository, tmp_path / "out")

    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "comment.md",
        "fixtures.csv",
        "junit.xml",
        "report.html",
        "result.json",
        "samples.csv",
        "samples.jsonl",
        "summary.md",
    }
