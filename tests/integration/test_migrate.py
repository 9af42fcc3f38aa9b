"""`gatekeeper migrate`: the gate's answer on each new model, the edit, and the pull request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.github_server import FakeGithub
from support.openai_server import OpenAIServer
from support.pull_request import CONTRACT, answer, files
from support.quick_github import leave_out_pauses

from gatekeeper.cli.main import main

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

FILE = "contracts/sentiment.yaml"
OLD, GOOD, BAD = "openai/gpt-4o-mini-2024-07-18", "openai/gpt-5.4-mini", "openai/gpt-4o"
POLICY = {".github/gatekeeper.yml": "models: [openai/*]\ncontracts: [contracts/*.yaml]\n"}


@pytest.fixture
def repository(git_repository: Any, monkeypatch: pytest.MonkeyPatch, model: OpenAIServer) -> Any:
    def answers(body: Mapping[str, Any]) -> str:
        return "I could not say." if body["model"] == "gpt-4o" else answer(body)

    model._answer = answers
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    made: GitRepository = git_repository("moving")
    made.commit("base", {**files(), **POLICY, FILE: edited(CONTRACT, "openai/gpt-4o-mini", OLD)})
    return made


def run(repository: GitRepository, *arguments: str) -> tuple[int, dict[str, Any]]:
    out = repository.path.parent / "out"
    code = main(["migrate", "--repo", str(repository.path), "--out", str(out), *arguments])
    path = out / "migration.json"
    return code, json.loads(path.read_text("utf-8")) if path.exists() else {}


def test_the_best_model_that_passes_is_written(
    repository: GitRepository,
    retires_in: Callable[[str, int], date],
    capsys: pytest.CaptureFixture[str],
) -> None:
    retires_in(OLD, 40)
    code, found = run(repository, "--to", BAD, GOOD, "openai/gpt-5.5")
    assert code == 0
    bad, good, _ = found["candidates"]
    assert bad["contracts"][0]["answer"] == "worse"
    assert len(bad["contracts"][0]["broke"]) == 24
    assert good["contracts"][0]["answer"] in ("not worse", "no drop found")
    assert good["dropped"] == {FILE: ["temperature"]}
    assert found["chosen"] == GOOD
    text = (repository.path / FILE).read_text("utf-8")
    assert f"model: {GOOD}\n" in text
    assert "temperature" not in text
    said = capsys.readouterr().out
    assert "review-00" in said
    assert "cost per call" in said
    assert "latency p95" in said


def test_what_a_person_edits_during_the_run_stays(
    repository: GitRepository, model: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository.path / FILE
    kept = edited(file.read_text("utf-8"), "name: sentiment", "name: sentiment # mine")

    def answers(body: Mapping[str, Any]) -> str:
        file.write_text(kept, "utf-8")
        return answer(body)

    model._answer = answers
    code, found = run(repository, "--from", OLD, "--to", GOOD)
    assert (code, found["chosen"]) == (3, GOOD)
    assert file.read_text("utf-8") == kept
    assert f"{FILE} was changed while the model was answering" in capsys.readouterr().err


def with_crlf(repository: GitRepository) -> bytes:
    """Commit the contract with CRLF, and return it with the other model."""
    before = (repository.path / FILE).read_bytes().replace(b"\n", b"\r\n")
    (repository.path / FILE).write_bytes(before)
    repository.git("commit", "-qam", "other line ends")
    assert before.count(OLD.encode()) == 1
    return before.replace(OLD.encode(), BAD.encode())


def test_line_ends_stay(repository: GitRepository, model: OpenAIServer) -> None:
    model._answer = answer
    now = with_crlf(repository)
    assert run(repository, "--from", OLD, "--to", BAD)[0] == 0
    assert (repository.path / FILE).read_bytes() == now


def test_nothing_is_written_if_each_model_is_worse(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (repository.path / FILE).read_text("utf-8")
    assert run(repository, "--from", OLD, "--to", BAD)[0] == 1
    assert (repository.path / FILE).read_text("utf-8") == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--to", GOOD), "retires within 90 days; name the model to replace with --from"),
        (("--to", GOOD, "--from", "openai/o3"), "no contract uses `openai/o3`"),
        (("--to", "github/openai/gpt-4o", "--from", OLD), "GitHub Models closed"),
        (("--to", GOOD, "--contract", "none"), "no contract has the name 'none'"),
        (("--to", GOOD, "--from", OLD, "--pull-request"), "needs GITHUB_TOKEN"),
    ],
)
def test_bad_input_is_explained_before_any_call(
    repository: GitRepository,
    model: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    for name in ("GITHUB_TOKEN", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    assert run(repository, *arguments)[0] == 2
    assert said in capsys.readouterr().err
    assert model.requests == []


def test_a_model_that_the_policy_does_not_allow_is_named(repository: GitRepository) -> None:
    code, found = run(repository, "--from", OLD, "--to", "anthropic/claude-haiku-4-5")
    assert (code, found["chosen"]) == (3, None)
    page = (repository.path.parent / "out/migration.md").read_text("utf-8")
    assert "Nothing was measured" in page
    assert "No fixture changes" not in page
    assert "does not allow the model" in found["candidates"][0]["why"]


def test_the_change_becomes_a_pull_request_with_the_table(
    repository: GitRepository,
    github: FakeGithub,
    model: OpenAIServer,
    retires_in: Callable[[str, int], date],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with_crlf(repository)
    retires_in(OLD, 5)
    leave_out_pauses(monkeypatch)
    for name, value in (
        ("GITHUB_TOKEN", "ghs_0123456789"),
        ("GITHUB_REPOSITORY", "octo/prompts"),
        ("GITHUB_API_URL", github.url),
    ):
        monkeypatch.setenv(name, value)
    assert run(repository, "--to", GOOD, BAD, "--pull-request")[0] == 0
    (opened,) = github.opened
    branch = "gatekeeper/migrate-openai-gpt-4o-mini-2024-07-18"
    assert (opened.head, opened.base) == (branch, "main")
    assert opened.title == f"Replace {OLD} by {GOOD}"
    assert f"| `{GOOD}` | `sentiment` | 100 % → 100 % |" in opened.body.replace("\u00a0", " ")
    assert "`review-00`" in opened.body
    files = github.files_on(branch)
    assert [*files] == [FILE]
    assert files[FILE].count("\r\n") == files[FILE].count("\n") > 5
    assert github.commits[github.branches[branch]].parents == [repository.head()]
    assert "opened http" in capsys.readouterr().err
    # The work tree stays as it is, and a second run opens no second pull request.
    assert OLD in (repository.path / FILE).read_text("utf-8")
    assert run(repository, "--to", GOOD, "--pull-request")[0] == 0
    assert len(github.opened) == 1
    # Somebody else's branch is left, before anything is paid for.
    github.push(branch, "octocat")
    asked = len(model.requests)
    assert run(repository, "--to", GOOD, "--pull-request")[0] == 2
    assert len(model.requests) == asked
    assert "is not a commit of gatekeeper" in capsys.readouterr().err
