"""Several projects in docs/github-action.md, and docs/getting-started.md, with their files,
commands and tables run as they are written."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.proposals import MANY, NO_SLO, OTHER, all_say, some_say
from support.record_all import record_all
from support.recorded_repository import contract_files, under_name

from gatekeeper.cli.main import main
from gatekeeper.contract.meaning.schemas import policy_schema
from gatekeeper.contract.policies.policy_keys import folder_keys

DOCS = Path(__file__).parents[2] / "docs"
ACTION = (DOCS / "github-action.md").read_text("utf-8")
MONOREPOS = ACTION.split("\n## Several projects in one repository\n")[1]
START = (DOCS / "getting-started.md").read_text("utf-8")
POLICY = ".github/gatekeeper.yml"
FEW = MANY[:6]


def blocks(page: str) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


TREE, FOLDER_POLICY, COMMAND, ONE_POLICY = blocks(MONOREPOS)


def project(name: str, words: tuple[str, ...], worse: int) -> dict[str, str]:
    """The files of a project as the page names them. The changed prompt breaks some words."""
    broken = all_say("no") if worse == len(words) else some_say("no", worse)
    made = contract_files(under_name(NO_SLO, name), words, broken)
    contract = made["contracts/words.yaml"]
    made["contracts/words.yaml"] = edited(contract, "recorded/", f"recorded/services/{name}/")
    renamed = {"prompts/words.txt": f"prompts/{name}.md", "words.": f"{name}."}
    for old, new in renamed.items():
        made = {path.replace(old, new): text.replace(old, new) for path, text in made.items()}
    return {f"services/{name}/{path}": text for path, text in made.items()}


FILES = project("search", MANY, len(MANY)) | project("mail", FEW, 2) | {POLICY: "{}\n"}


def policies() -> dict[str, str]:
    """The policies of the folders: that of mail stands on the page."""
    path = FOLDER_POLICY.splitlines()[0].removeprefix("# ")
    return {path: FOLDER_POLICY, f"services/search/{POLICY}": ""}


@pytest.fixture
def repository(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    """The repository of the page, in which a branch makes both prompts worse."""
    made = git_repository("projects")
    made.write_all(FILES | policies())
    base = made.commit("base")
    made.git("update-ref", "refs/remotes/origin/main", base)
    made.branch("pr")
    for name in ("search", "mail"):
        made.write(f"services/{name}/prompts/{name}.md", OTHER)
    made.commit("worse")
    monkeypatch.chdir(made.path)
    return made


def run(command: str, *more: str) -> int:
    program, *arguments = shlex.split(command)
    assert program == "gatekeeper"
    return main([*arguments, *more])


def test_the_repository_has_the_files_of_the_page() -> None:
    listed = {line.split()[0] for line in TREE.splitlines()}
    assert listed - {".github/workflows/gatekeeper.yml"} <= FILES.keys() | policies().keys()


def test_the_command_of_the_page_writes_the_comment_of_the_page(
    repository: GitRepository, tmp_path: Path
) -> None:
    assert run(COMMAND, "--out", str(tmp_path / "out")) == 1
    comment = (tmp_path / "out" / "comment.md").read_text("utf-8")
    written = comment.replace("\N{NO-BREAK SPACE}", " ").splitlines()
    quoted = [line[2:].strip() for line in MONOREPOS.splitlines() if line.startswith("> ")]
    assert len(quoted) == 9
    assert [line for line in written if line in quoted] == quoted


def test_the_policies_of_the_page_are_valid(
    repository: GitRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("gatekeeper validate --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {contract["name"] for contract in found["contracts"]} == {"search", "mail"}
    for path in policies():
        repository.delete(path)
    repository.write(POLICY, ONE_POLICY)
    assert run("gatekeeper validate --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {contract["name"] for contract in found["contracts"]} == {"search", "mail"}
    assert all(prompt["contracts"] for prompt in found["prompts"])


def test_the_table_says_which_keys_a_folder_may_have() -> None:
    table = MONOREPOS.partition("| key | in a folder |")[2].partition("\n\n")[0]
    *allowed, refused = (
        re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:]
    )
    assert {key for row in allowed for key in row} == set(folder_keys())
    assert set(refused) == policy_schema()["properties"].keys() - set(folder_keys())


def test_the_python_pattern_of_the_page_is_a_policy(repository: GitRepository) -> None:
    written = re.findall(r"`(checks: \{python: \[.+?\]\})`", MONOREPOS)
    assert len(written) == 1
    repository.write(POLICY, written[0] + "\n")
    assert run("gatekeeper validate") == 0


def test_the_example_of_init_runs_with_the_command_of_the_page(
    git_repository: Callable[..., GitRepository],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = git_repository("empty")
    monkeypatch.chdir(made.path)
    assert run("gatekeeper init", "--action", f"OWNER/gatekeeper@{'0' * 40}") == 0
    made.commit("init")
    capsys.readouterr()
    assert run("gatekeeper validate --json") == 0
    found = json.loads(capsys.readouterr().out)
    [contract] = found["contracts"]
    assert f"and {contract['fixtures']} fixtures" in START
    named = re.findall(r"`(\w+)`", START.partition("with the keys")[2].partition(".")[0])
    assert found.keys() == set(named)
    replay = tmp_path / "answers.jsonl"
    record_all(made.path, replay, lambda _contract, fixture: str(fixture.expected))
    [command] = re.findall(r"^gatekeeper run\b", START, re.MULTILINE)
    assert run(command, "--replay", str(replay), "--out", str(tmp_path / "out")) == 0
