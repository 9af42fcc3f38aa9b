"""`from gatekeeper import check, run, affected, validate`: typed values, no output, no exit."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.proposed_change import propose
from support.recorded_repository import PROMPT, WORDS, answers, contract_files

import gatekeeper
from gatekeeper.cli.main import main

ROOT = Path(__file__).parents[2]
WORSE = "Spell {{ word }}.\n"
KNOWN = answers(PROMPT, dict.fromkeys(WORDS, "ok")) | answers(WORSE, dict.fromkeys(WORDS, "no"))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose branch `pr` breaks the prompt; the current folder."""
    base = contract_files(recorded=KNOWN)
    made = propose(tmp_path / "words", base, {"prompts/words.txt": WORSE})
    made.origin.git("branch", "pr", made.head)
    monkeypatch.chdir(made.origin.path)
    return made.origin.path


def test_a_check_returns_the_result_and_leaves_nothing(repository, capfd):
    before = sorted(repository.rglob("*"))

    result = gatekeeper.check(base="main", head="pr")

    assert (result.verdict, result.exit_code, result.kind) == ("fail", 1, "check")
    assert isinstance(result, gatekeeper.GateResult)
    assert sorted(repository.rglob("*")) == before
    assert capfd.readouterr() == ("", "")


def test_the_examples_of_the_page_print_what_it_says(repository):
    page = (ROOT / "docs/other-systems.md").read_text("utf-8").split("\n## Python\n")[1]
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for kind, block in blocks:
            if kind == "python":
                exec(block, names)  # noqa: S102

    assert printed.getvalue() == "".join(block for kind, block in blocks if kind == "text")


def test_reports_are_those_of_the_command_line(repository, tmp_path):
    seed = "1" * 32
    more = {"format": "sarif", "order_seed": seed, "contract": "words"}
    gatekeeper.check(base="main", head="pr", out=tmp_path / "a", **more)
    arms = ["--base", "main", "--head", "pr", "--order-seed", seed, "--contract", "words"]
    main(["check", *arms, "--out", str(tmp_path / "b"), "--format", "sarif"])

    def texts(folder: Path) -> dict[str, str]:
        moment = r"\d{4}-\d\d-\d\d[T ][\d:.]+"
        changing = re.compile(rf"{moment}|[\d.,]+(e-\d+)? ?m?s\b|seconds\D+[\d.e-]+")
        names = ("comment.md", "result.json", "gatekeeper.sarif", "fixtures.csv")
        return {name: changing.sub("", (folder / name).read_text("utf-8")) for name in names}

    assert texts(tmp_path / "a") == texts(tmp_path / "b")


def test_a_run_adds_itself_to_the_history(repository, tmp_path):
    history = tmp_path / "history.jsonl"

    result = gatekeeper.run(history=str(history))

    assert result.verdict == "fail"
    assert len(history.read_text("utf-8").splitlines()) == 1


def test_it_works_within_a_running_event_loop_and_in_a_thread(repository):
    async def ask() -> str:
        return gatekeeper.run(ref="main").verdict

    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(gatekeeper.run(ref="main").verdict))
    thread.start()
    thread.join()

    assert [asyncio.run(ask()), *found] == ["pass", "pass"]


@pytest.mark.parametrize(
    "given",
    [
        {"head": "pr", "worktree": True},
        {"resume": True},
        {"resume": True, "out": "out", "order_seed": "0" * 32},
        {"order_seed": "7"},
        {"format": ["html"]},
        {"base": "nowhere"},
        {"repo": "/"},
    ],
)
def test_what_cannot_be_used_is_a_usage_error(repository, given):
    with pytest.raises(gatekeeper.UsageError):
        gatekeeper.check(**{"base": "main", **given})


def test_a_run_in_batches_needs_a_folder(repository):
    with pytest.raises(gatekeeper.UsageError):
        gatekeeper.run(batch=True)
    with pytest.raises(gatekeeper.UsageError):
        gatekeeper.run(batch=True, ray="auto", out="out")


def test_a_broken_contract_is_an_error_with_its_problems(repository):
    (repository / "contracts/words.yaml").write_text("contract: 1\nnom: words\n", "utf-8")

    found = gatekeeper.validate()
    with pytest.raises(gatekeeper.ContractError) as raised:
        gatekeeper.check(base="main", worktree=True)

    assert not found.valid
    assert found.problems == raised.value.problems
    assert {problem.path for problem in found.problems} == {"contracts/words.yaml"}
    assert gatekeeper.validate(paths="contracts/words.yaml").problems == found.problems


def test_the_result_survives_reports_that_cannot_be_written(repository, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise gatekeeper.WriteError("a file", OSError(28, "No space left on device"))

    monkeypatch.setattr("gatekeeper.runs.library.suite.write_reports", full)

    with pytest.raises(gatekeeper.WriteError) as raised:
        gatekeeper.check(base="main", head="pr", out=tmp_path / "out")

    assert raised.value.result.verdict == "fail"


def test_the_import_is_cheap_and_every_name_is_there():
    program = (
        "import sys; before = set(sys.modules); import gatekeeper;"
        "print(len([m for m in sys.modules if m.startswith('gatekeeper')]),"
        " len(set(sys.modules) - before) < 5);"
        "names = [n for n in dir(gatekeeper) if not n.startswith('_')];"
        "[getattr(gatekeeper, n) for n in names];"
        "import gatekeeper.runs.run_plan; from gatekeeper import run; print(callable(run))"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["1", "True", "True"]
    stub = (ROOT / "gatekeeper/__init__.pyi").read_text("utf-8")
    typed = set(re.findall(r" as (\w+)$", stub, re.MULTILINE)) | {"Fail"}
    public = {name for name in dir(gatekeeper) if not name.startswith("_")} - {"annotations"}
    assert typed <= public
    assert not [
        name
        for name in public - typed
        if getattr(gatekeeper, name).__class__.__name__ != "module"  # rooms that are imported
    ]


@pytest.mark.long
def test_a_users_file_is_checked_against_the_types(tmp_path):
    user = tmp_path / "user.py"
    user.write_text(
        "from gatekeeper import Fail, GateResult, check, run, validate\n"
        "def gate() -> int:\n"
        "    result: GateResult = check(base='main', contract=['a'], format='sarif')\n"
        "    rates = [c.head.success_rate for c in result.contracts if c.head]\n"
        "    reveal_type(rates)\n"
        "    reveal_type(run(ref='HEAD').verdict)\n"
        "    reveal_type(validate().problems)\n"
        "    check(base=1)\n"
        "    check('main')\n"
        "    run(format='html')\n"
        "    return result.exit_code\n"
        "fail: Fail = Fail('no')\n",
        "utf-8",
    )
    # With the settings and the cache of `make lint`, which has read the whole package.
    command = [sys.executable, "-m", "mypy", str(user)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    lines = [line.removeprefix(f"{user}:") for line in ran.stdout.splitlines()]
    notes = [line for line in lines if "Revealed type" in line]
    assert [re.sub(r'^.*?"(.*)"$', r"\1", note) for note in notes] == [
        "list[float | None]",
        "Literal['pass'] | Literal['fail'] | Literal['inconclusive'] | Literal['error']",
        "tuple[gatekeeper.errors.Problem, ...]",
    ], ran.stdout
    faults = [line.split(":")[0] for line in lines if " error: " in line]
    assert faults == ["8", "9", "10"], ran.stdout
