"""What the command line promises beyond the verdict: folders, pipes, histories."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.plain_spaces import spaced
from support.recorded_repository import GOOD, WORDS, answers, check, result_of, write_contract

from gatekeeper.cli.main import main
from gatekeeper.runs.library.affected import NOT_TESTED

OTHER = "Please say {{ word }}.\n"
HOSTED = edited(GOOD, "recorded/contracts/words.samples.jsonl", "openai/gpt-4o-mini")
# Two pairs of each fixture tell whether it seems to have broken, and 30 whether it did.
FRESH = 2 * 6 * (2 + 30)


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """A sound contract, and a pull request that breaks every fixture."""
    made = git_repository("words")
    write_contract(made, recorded=answers(OTHER, dict.fromkeys(WORDS, "no")))
    return made.propose({"prompts/words.txt": OTHER})


@pytest.fixture
def hosted(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """The same pull request with a model that takes calls."""
    made = git_repository("hosted")
    write_contract(made, HOSTED)
    return made.propose({"prompts/words.txt": OTHER})


def test_an_out_folder_that_is_a_file_is_refused_before_any_call(repository, tmp_path, capsys):
    (tmp_path / "out").write_text("mine", "utf-8")

    assert check(repository, tmp_path / "out") == 2
    assert "--out" in capsys.readouterr().err
    assert (tmp_path / "out").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    "command",
    [
        ("check", "--out", ".git/out"),
        ("check", "--cache", ".git/cache"),
        ("check", "--cache", "branch:/../.git/cache"),
        ("check", "--history", ".git/runs.jsonl"),
        ("run", "--history", ".GIT/hooks/runs.sqlite"),
        ("history", "--history", "link/runs.db"),
        ("plan", "--shards", "2", "--out", ".git/plan.json"),
        ("sample", "--plan", "p", "--shard", "1/2", "--out", "a/../.git"),
        ("convert", "prompts/a.prompt.yml", "--out", ".git"),
        ("fixtures", "add", "log.jsonl", "--contract", "words", "--out", ".git/a.jsonl"),
        ("judge", "label", "words", "--labels", ".git/labels.jsonl"),
        ("judge", "label", "words", "--page", ".git/hooks/page.html"),
    ],
)
def test_no_option_points_into_the_folder_of_git(command, repository, monkeypatch, capsys):
    monkeypatch.chdir(repository.path)
    (repository.path / "link").symlink_to(".git")
    before = sorted(repository.path.rglob("*"))

    assert main([*command]) == 2
    told = capsys.readouterr().err
    assert f"gatekeeper: {command[-2]} " in told
    assert "this is inside of `.git`; choose another place" in told
    assert sorted(repository.path.rglob("*")) == before


def test_a_branch_may_be_named_like_the_folder_of_git(repository, tmp_path, capsys):
    assert check(repository, tmp_path / "out", "--history", "branch:data/.git/x") != 1
    assert "inside of `.git`" not in capsys.readouterr().err


def test_reports_of_an_earlier_run_do_not_outlive_an_error(repository, tmp_path):
    assert check(repository, tmp_path / "out") == 1
    (tmp_path / "out" / "mine.txt").write_text("mine", "utf-8")
    repository.commit("broken", {"contracts/words.yaml": "contract: ["})

    assert check(repository, tmp_path / "out") == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["none.jsonl", "."])
def test_a_replay_of_no_file_is_refused_before_sampling_begins(name, repository, tmp_path, capsys):
    assert check(repository, tmp_path / "out", "--replay", str(tmp_path / name)) == 2
    told = capsys.readouterr().err
    assert "--replay" in told
    assert "sampling" not in told


def test_a_replay_does_not_remove_the_answers_that_it_is_to_replay(repository, tmp_path, capsys):
    out = tmp_path / "out"
    assert check(repository, out) == 1
    samples = out / "samples.jsonl"
    answers = samples.read_bytes()

    assert check(repository, out, "--replay", str(tmp_path / "." / "out" / "samples.jsonl")) == 2
    assert "another folder with --out" in capsys.readouterr().err
    assert samples.read_bytes() == answers
    assert check(repository, tmp_path / "again", "--replay", str(samples)) == 1


def test_the_default_folder_is_not_offered_to_git(repository, monkeypatch):
    monkeypatch.chdir(repository.path)

    assert main(["check", "--base", "main", "--head", "pr"]) == 1
    assert (repository.path / ".gatekeeper/out/result.json").is_file()
    assert repository.git("status", "--porcelain") == ""


@pytest.mark.parametrize("history", [".", "no-such-folder/runs.jsonl"])
def test_a_history_that_cannot_be_written_is_refused_before_any_call(
    history, repository, tmp_path, capsys
):
    target = tmp_path / history
    arguments = ["run", "--repo", str(repository.path), "--out", str(tmp_path / "out")]

    assert main([*arguments, "--history", str(target)]) == 2
    assert "--history" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_suite_without_contracts_is_no_pass(git_repository, tmp_path, capsys):
    made = git_repository("bare")
    made.commit("first", {"README.md": "hello\n"})

    code = main(["run", "--repo", str(made.path), "--out", str(tmp_path / "out")])

    assert code == 2
    assert "gatekeeper init" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "check",
        *(
            pytest.param(c, marks=pytest.mark.long)
            for c in ("affected", "affected --json", "validate")
        ),
    ],
)
def test_a_reader_that_leaves_does_not_change_the_exit_code(command, repository, tmp_path):
    arguments = [sys.executable, "-m", "gatekeeper", *command.split()]
    if not command.startswith("validate"):
        arguments += ["--base", "main", "--head", "pr"]
    if command == "check":
        arguments += ["--out", str(tmp_path / "out")]
    reading, writing = os.pipe()
    os.close(reading)

    ran = subprocess.run(
        arguments, cwd=repository.path, stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)

    assert ran.returncode == (1 if command == "check" else 0), ran.stderr
    assert "Traceback" not in ran.stderr


def _foretold(repository, capsys, *more: str) -> str:
    arms = ["--repo", str(repository.path), "--base", "main", "--head", "pr"]
    assert main(["affected", *arms, *more]) == 0
    return capsys.readouterr().out.replace("\u00a0", " ")


def test_affected_foretells_what_can_be_seen_and_warns(hosted, capsys):
    text = " ".join(_foretold(hosted, capsys).split())
    assert "6 fixtures, expected 12 calls," in text
    assert f"; at most {12 + FRESH} calls," in text
    warning = (
        "words, compared alone: 6 distinct fixtures can only show a drop of 87 points or more "
        "over all inputs, but `gate.margin` is 5 points; a fixture that always fails is found; to "
        "see a smaller drop, use 134 fixtures; if answers to the same fixture vary, take more "
        "samples"
    )
    assert text.count("can only show a drop") == 1
    assert f"⚠️ {warning}" in text

    (contract,) = json.loads(_foretold(hosted, capsys, "--json"))["contracts"]
    assert (contract["margin"], contract["level"], contract["fixtures_needed"]) == (
        0.05,
        pytest.approx(0.049),
        134,
    )
    counts = [contract[name] for name in ("fewest_calls", "expected_calls", "calls")]
    assert (counts, contract["may_stop_early"]) == ([12, 12, 12 + FRESH], False)
    assert spaced(contract["warning"]) == warning


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("{calls: 12}", ()),
        ("{calls: null, cost_usd: null}", ()),
        (
            "{calls: 11}",
            (
                "The planned samples may take 12 calls, but `limits.calls` is 11 in "
                ".github/gatekeeper.yml",
            ),
        ),
    ],
)
def test_affected_warns_where_the_limits_may_end_the_check(limits, said, hosted, capsys):
    hosted.switch("main")
    hosted.commit("policy", {".github/gatekeeper.yml": f"limits: {limits}\n"})
    hosted.switch("pr")
    hosted.git("rebase", "--quiet", "main")
    foretold = json.loads(_foretold(hosted, capsys, "--json"))["warnings"]
    assert tuple(warning.split(". ")[0] for warning in foretold) == said
    text = " ".join(_foretold(hosted, capsys).split())
    assert all(f"⚠️ {warning}" in text for warning in foretold)


def test_affected_compares_the_known_cost_with_the_limit(hosted, monkeypatch, capsys):
    monkeypatch.setattr("gatekeeper.providers.models.cost_estimate.expected_cost", lambda _: 0.01)
    monkeypatch.setattr("gatekeeper.providers.models.cost_estimate.worst_cost", lambda _: 0.5)
    found = json.loads(_foretold(hosted, capsys, "--json"))
    (warning,) = found["warnings"]
    assert warning.startswith("The planned samples may cost 6.00 USD at worst, but")
    assert "`limits.cost_usd` is 2.00" in warning.replace("\u00a0", " ")
    assert (found["cost_usd"], found["worst_cost_usd"]) == (pytest.approx(0.12), 198.0)
    text = _foretold(hosted, capsys)
    assert f"expected 12 calls, {found['tokens']:,} tokens, 0.12 USD" in text
    assert f"at most {12 + FRESH} calls, {found['most_tokens']:,} tokens, 198.00 USD" in text


@pytest.mark.parametrize("most", [2.5, float("inf")])
def test_affected_says_what_the_check_would_refuse(most, hosted, monkeypatch, capsys):
    monkeypatch.setattr("gatekeeper.providers.models.cost_estimate.worst_cost", lambda _: most)
    (warning,) = json.loads(_foretold(hosted, capsys, "--json"))["warnings"]
    assert warning.startswith("one call to ")
    assert "set max_tokens" in warning


def test_a_contract_that_head_adds_takes_no_level_from_the_bases(hosted, capsys):
    hosted.commit("second", {"contracts/again.yaml": edited(HOSTED, "name: words", "name: again")})
    contracts = json.loads(_foretold(hosted, capsys, "--json"))["contracts"]
    assert [contract["level"] for contract in contracts] == [pytest.approx(0.049)] * 2


@pytest.mark.parametrize(
    ("more", "early"),
    [
        ("sampling: {mode: fixed}\n", False),
        # The base contract, which also applies, may find a regression sooner.
        ("sampling: {samples: 3, aggregate: all}\n", True),
        ("sampling: {samples: 3}\ngate: {cost: +20%}\n", True),
        ("sampling: {samples: 3}\n", True),
    ],
)
def test_a_check_that_draws_everything_is_foretold(more, early, hosted, capsys):
    hosted.commit("sampling", {"contracts/words.yaml": HOSTED + more})
    (contract,) = json.loads(_foretold(hosted, capsys, "--json"))["contracts"]
    assert contract["may_stop_early"] is early


@pytest.mark.parametrize(
    ("samples", "objective", "early"),
    [
        (3, "{success_rate: 0.5}", True),
        (1, "{success_rate: 0.6}", False),
        (3, None, False),
    ],
)
def test_where_nothing_is_compared_there_is_no_margin_to_see(
    samples, objective, early, git_repository, capsys
):
    made = git_repository("alone")
    write_contract(made, HOSTED)
    made.commit("sound")
    made.branch("pr")
    bare = edited(HOSTED, "slo: {success_rate: 0.5}\n", f"slo: {objective}\n" if objective else "")
    more = f"sampling: {{samples: {samples}}}\n"
    made.commit("only the contract", {"contracts/words.yaml": bare + more})

    (contract,) = json.loads(_foretold(made, capsys, "--json"))["contracts"]

    assert contract["may_stop_early"] is early
    for key in ("minimum_detectable_effect", "margin", "level", "fixtures_needed", "warning"):
        assert contract[key] is None, key


def test_the_base_contracts_own_settings_are_no_other_contract(git_repository, capsys):
    made = git_repository("settings")
    write_contract(made)
    made.commit("sound")
    made.branch("pr")
    warmer = edited(GOOD, "prompt:", "params: {temperature: 1}\nprompt:")
    assert warmer != GOOD
    made.commit("both", {"contracts/words.yaml": warmer, "prompts/words.txt": OTHER})

    (contract,) = json.loads(_foretold(made, capsys, "--json"))["contracts"]

    assert contract["level"] == pytest.approx(0.0245)
    assert contract["warning"].startswith("words, compared alone, with 2 comparisons in total: ")


def test_the_pull_requests_comment_does_not_nag_about_the_margin(repository, tmp_path):
    check(repository, tmp_path / "out")

    comment = (tmp_path / "out" / "comment.md").read_text("utf-8")
    assert "gate.margin" not in comment


@pytest.mark.long
def test_a_terminal_of_few_characters_is_enough(repository, tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "gatekeeper", "check", "--base", "main", "--head", "pr"],
        cwd=repository.path,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )

    assert ran.returncode == 1, ran.stderr
    assert "Do not merge" in ran.stdout


def test_the_help_needs_few_characters_too(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    with pytest.raises(SystemExit) as ended:
        main(["check", "-h"])
    assert ended.value.code == 0


def test_a_missing_key_is_the_authors_mistake_before_any_call(
    repository, tmp_path, monkeypatch, capsys
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    hosted = edited(GOOD, "model: recorded/contracts/words.samples.jsonl", "model: openai/gpt-4o")
    repository.commit("hosted", {"contracts/words.yaml": hosted})
    out = tmp_path / "out"

    assert main(["run", "--repo", str(repository.path), "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert "openai/gpt-4o: no API key, so no model was called; set OPENAI_API_KEY" in error
    assert "0 calls" not in error
    assert "sampling" not in error
    assert not (out / "result.json").exists()


def left_out(result: dict[str, Any]) -> list[str]:
    """The files that the notice about uncommitted changes names; "" for one that names none."""
    said = [notice for notice in result["notices"] if notice.startswith(NOT_TESTED)]
    return [notice.partition("affect ")[2].partition(";")[0] for notice in said]


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("prompts/words.txt", "Utter {{ word }}.\n", ["contracts/words.yaml"]),
        ("prompts/new.txt", "Nobody watches {{ word }}.\n", ["prompts/new.txt"]),
        ("contracts/new.yaml", edited(GOOD, "name: words", "name: new"), ["contracts/new.yaml"]),
        ("contracts/words.yaml", "contract: [\n", [""]),
        ("README.md", "Notes.\n", []),
        ("contracts/words.yaml", f"{GOOD}# a comment\n", []),
    ],
)
def test_what_is_not_committed_is_not_checked_silently(
    path, content, told, repository, tmp_path, capsys
):
    repository.write(path, content)
    arms = ["--repo", str(repository.path), "--base", "main"]

    main(["check", *arms, "--out", str(tmp_path / "out")])
    assert left_out(result_of(tmp_path / "out")) == told
    main(["affected", *arms])
    said = capsys.readouterr().out.split("nothing was compared")[-1].replace("\n", " ")
    assert (NOT_TESTED in said) == bool(told)
    assert all(name in said for name in told)
    main(["check", *arms, "--head", "pr", "--out", str(tmp_path / "out")])
    assert not left_out(result_of(tmp_path / "out"))


@pytest.mark.parametrize(("ref", "told"), [("HEAD", True), ("main", False)])
def test_a_run_says_that_it_leaves_out_what_is_not_committed(
    ref, told, repository, tmp_path, capsys
):
    run = ["run", "--repo", str(repository.path), "--ref", ref, "--out", str(tmp_path / "out")]
    main(run)
    assert not left_out(result_of(tmp_path / "out"))

    repository.write("prompts/words.txt", "Utter {{ word }}.\n")
    main(run)
    assert left_out(result_of(tmp_path / "out")) == ["contracts/words.yaml"] * told
    assert (NOT_TESTED in capsys.readouterr().out) == told


def test_an_unfinished_run_is_not_the_past(repository, tmp_path):
    repository.switch("main")
    repository.commit("limit", {".github/gatekeeper.yml": "limits: {minutes: 1.0e-9}\n"})
    past = tmp_path / "runs.jsonl"
    arguments = ["run", "--repo", str(repository.path), "--out", str(tmp_path / "out")]

    assert main([*arguments, "--history", str(past)]) == 3
    assert not past.exists()


def test_a_contract_that_turns_to_a_copy_leaves_its_prompt_unwatched(repository, tmp_path):
    turned = edited(GOOD, "words.txt", "copy.txt")
    repository.commit(
        "turn", {"contracts/words.yaml": turned, "prompts/copy.txt": "Say {{ word }}.\n"}
    )

    assert check(repository, tmp_path / "out") == 1
    reasons = result_of(tmp_path / "out")["contracts"][0]["reasons"]
    assert "removed" in [reason["code"] for reason in reasons]


def test_results_name_every_file(repository, tmp_path):
    check(repository, tmp_path / "out")

    assert {path.name for path in Path(tmp_path / "out").iterdir()} == {
        "comment.md",
        "fixtures.csv",
        "junit.xml",
        "report.html",
        "result.json",
        "samples.csv",
        "samples.jsonl",
        "summary.md",
    }
