"""A scoring function of promptfoo decides a run, before and after the conversion."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.record_all import record_all

from gatekeeper.cli.main import main

CONFIG = """\
prompts: ["Say {{what}}"]
providers: [ollama:chat:llama3.2]
defaultTest:
  assertScoringFunction: file://score.py:weigh
tests:
  - vars: {what: hello}
    threshold: 0.7
    assert:
      - {type: contains, value: hello, metric: right, weight: 3}
      - {type: python, value: "file://score.py:short", metric: right}
      - {type: is-json, metric: form}
"""
CODE = """\
def short(output):
    return len(output) < 10

def weigh(named_scores, context):
    right = named_scores["right"]
    passed = right >= context["threshold"]
    return {"pass": passed, "score": right, "reason": f"right is {right}, form is not needed"}
"""


@pytest.mark.parametrize(
    ("output", "code", "message"),
    [
        ("hello hello", 0, ""),
        ("hallo", 1, "right is 0.25, form is not needed"),
    ],
)
def test_a_scoring_function_decides_before_and_after_the_conversion(
    output: str,
    code: int,
    message: str,
    git_repository: Callable[..., GitRepository],
    tmp_path: Path,
) -> None:
    made, name = git_repository("scored"), "promptfooconfig.yaml"
    policy = f"contracts: [{name}, native/*.yaml]\nchecks: {{python: [score.py]}}\n"
    made.write_all({name: CONFIG, "score.py": CODE, ".github/gatekeeper.yml": policy})
    made.commit("suite")
    where = ["--repo", str(made.path)]
    assert main(["validate", *where]) == 0
    replay = ["--replay", str(tmp_path / "recording.jsonl")]
    record_all(made.path, tmp_path / "recording.jsonl", lambda *_: output)
    assert main(["run", *where, *replay, "--out", str(tmp_path / "own")]) == code
    native = str(made.path / "native")
    assert main(["convert", str(made.path / name), *where, "--out", native]) == 0
    made.delete(name)
    made.commit("convert")
    assert main(["run", *where, *replay, "--out", str(tmp_path / "again")]) == code
    for out in ("own", "again"):
        rows = (tmp_path / out / "samples.jsonl").read_text("utf-8").splitlines()
        [sample] = map(json.loads, rows)
        [check] = sample["checks"]
        assert (check["passed"], check["message"]) == (code == 0, message)


def test_the_branch_to_merge_into_has_the_code_that_runs(
    git_repository: Callable[..., GitRepository], tmp_path: Path
) -> None:
    made, name = git_repository("scored"), "promptfooconfig.yaml"
    policy = f"contracts: [{name}]\nchecks: {{python: [score.py]}}\n"
    made.write_all({name: CONFIG, "score.py": CODE, ".github/gatekeeper.yml": policy})
    base = made.commit("suite")
    made.write("score.py", edited(CODE, '"pass": passed', '"pass": True'))
    made.write(name, CONFIG.replace("Say", "Please say"))
    head = made.commit("pass everything")
    record_all(made.path, tmp_path / "recording.jsonl", lambda *_: "hallo")
    out = tmp_path / "out"
    where = ["--repo", str(made.path), "--replay", str(tmp_path / "recording.jsonl")]
    main(["check", *where, "--base", base, "--head", head, "--out", str(out)])
    rows = (out / "samples.jsonl").read_text("utf-8").splitlines()
    checks = [check for row in map(json.loads, rows) for check in row["checks"]]
    assert checks
    assert not any(check["passed"] for check in checks)
    assert "until the merge, gatekeeper runs the base branch's version" in (
        out / "result.json"
    ).read_text("utf-8")
