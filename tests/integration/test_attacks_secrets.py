"""A model, or a server in its place, repeats the key: on a person's own machine too, no file and
no line of the terminal has it."""

from __future__ import annotations

import base64
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
from support.openai_server import OpenAIServer, Reply, rubbish, unauthorized
from support.past_runs import record
from support.pull_request import CONTRACT, FILES, HARMLESS, PROMPT, answer

from gatekeeper.cli.main import main
from gatekeeper.history.stores.lines import to_lines

KEY = "sk-Pr0j-4f9a1c7e2b8d6053f1aa"
FORMS = (KEY, KEY[::-1], KEY.encode().hex(), base64.b64encode(KEY.encode()).decode().rstrip("="))
ECHOES: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: f"the header was Bearer {key}",
    "in JSON": lambda key: json.dumps({"authorization": f"Bearer {key}", "why": "x" * 400}),
    "at the end of JSON": lambda key: json.dumps({"why": "x" * 400, "authorization": key}),
    "base64": lambda key: base64.b64encode(f"key:{key}".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "backwards": lambda key: key[::-1],
}
FORMATS = [
    f"--format={name}" for name in ("badge", "codequality", "parquet", "prometheus", "sarif")
]


BOTH_WAYS = pytest.mark.parametrize("made", ["native", "litellm"], indirect=True)
"""How the model is called, as the base policy says."""


@pytest.fixture
def made(
    git_repository: Callable[..., GitRepository],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> GitRepository:
    repository = git_repository("local")
    policy = f"providers: {{openai: {getattr(request, 'param', 'native')}}}\n"
    checks = '  - {type: equals, value: "{{ expected }}"}\n  - {type: json_valid, severity: warn}\n'
    contract = edited(CONTRACT, '  - {type: equals, value: "{{ expected }}"}\n', checks)
    files = {**FILES, "contracts/sentiment.yaml": contract, ".github/gatekeeper.yml": policy}
    repository.commit("base", files)
    repository.branch("change")
    repository.commit("reword", {PROMPT: HARMLESS})
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(repository.path)
    return repository


def _leaks(folder: Path, *texts: str) -> list[str]:
    """Where the key still is, in any form or as its last part, which a cut leaves."""
    written = {
        str(file.relative_to(folder)): _text(file)
        for file in folder.rglob("*")
        if file.is_file() and ".git/" not in f"{file.relative_to(folder)}/"
    }
    said = {**written, **{f"stream {number}": text for number, text in enumerate(texts)}}
    found = (*FORMS, KEY[-12:])
    return [name for name, text in said.items() if any(form in text for form in found)]


def _text(file: Path) -> str:
    if file.suffix == ".parquet":
        from pyarrow import parquet

        return str(parquet.read_table(file).to_pylist())
    return file.read_bytes().decode("utf-8", "replace")


def _ask(answers: Callable[[dict[str, Any]], Any], *arguments: str) -> int:
    with OpenAIServer(answers):
        return main(list(arguments))


@pytest.mark.long
@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_no_report_of_a_check_and_no_line_has_a_key_that_an_answer_repeats(made, echo, capsys):
    def answers(body: dict[str, Any]) -> Reply:
        return Reply(echo(KEY), model=f"gpt-{KEY}", system_fingerprint=KEY)

    assert _ask(answers, "check", "--base", "main", *FORMATS, "--cache", "cache.jsonl") == 1
    said = capsys.readouterr()
    assert (made.path / ".gatekeeper/out/samples.parquet").exists()
    assert not _leaks(made.path, said.out, said.err)


def test_a_redacted_recording_replays_the_requests_that_were_asked(made, capsys):
    def answers(body: dict[str, Any]) -> str:
        return f"{answer(body)}, says {KEY}"

    assert _ask(answers, "check", "--base", "main", "--out", "first") == 1
    first = (made.path / "first/samples.jsonl").read_text()
    assert "positive, says ***" in first
    made.write("kept.jsonl", first)
    assert main(["check", "--base", "main", "--replay", "kept.jsonl", "--out", "second"]) == 1
    one, two = (
        [json.loads(line) for line in (made.path / out / "samples.jsonl").read_text().splitlines()]
        for out in ("first", "second")
    )
    for name in ("request", "output_raw", "output", "error"):
        assert [row[name] for row in one] == [row[name] for row in two]
    passed = [[[check["passed"] for check in row["checks"]] for row in rows] for rows in (one, two)]
    assert passed[0] == passed[1]


def test_no_record_of_a_history_has_it_and_no_line_of_one_that_an_older_version_wrote(made, capsys):
    def answers(body: dict[str, Any]) -> Reply:
        return Reply(answer(body), system_fingerprint=f"fp {KEY}")

    assert _ask(answers, "run", "--history", "runs.jsonl") == 0
    assert b'"fingerprints":["' in (made.path / "runs.jsonl").read_bytes().replace(b" ", b"")
    assert not _leaks(made.path, *capsys.readouterr())

    (made.path / "old.jsonl").write_bytes(to_lines([record("1", model=f"openai/{KEY}")]))
    for form in ("table", "csv", "json", "jsonl"):
        assert main(["history", "--history", "old.jsonl", "--format", form]) == 0
    assert main(["drift", "--history", "old.jsonl", "--json"]) == 0
    assert main(["history", "--history", "new.jsonl", "--import", "old.jsonl"]) == 0
    (made.path / "old.jsonl").unlink()
    assert not _leaks(made.path, *capsys.readouterr())
    assert b"***" in (made.path / "new.jsonl").read_bytes()


@pytest.mark.long
def test_a_diff_of_runs_whose_samples_still_have_it_does_not_repeat_it(made, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "another-key-of-the-same-person")
    for out in ("one", "two"):
        _ask(lambda body: f"no: {KEY}", "run", "--out", out)
    assert _leaks(made.path) != []
    capsys.readouterr()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert main(["diff", "one", "two", "--out", "diff"]) == 1  # no fixture passes
    assert not _leaks(made.path / "diff", *capsys.readouterr())


def test_a_sweep_does_not_repeat_it(made, capsys):
    def answers(body: dict[str, Any]) -> Reply:
        return Reply(f"{answer(body)} {KEY}", system_fingerprint=KEY)

    # The value of a parameter, which the page and the table name, is the key.
    arguments = ["--contract", "sentiment", "--param", f"stop=a,{KEY}", "--samples", "1"]
    code = _ask(answers, "sweep", *arguments)
    said = capsys.readouterr()
    assert code == 0, said.err
    assert (made.path / ".gatekeeper/sweep/sweep.json").exists()
    assert not _leaks(made.path, said.out, said.err)


@BOTH_WAYS
def test_an_error_of_the_provider_is_told_without_it(made, capsys):
    refused = unauthorized(f"Incorrect API key provided: {KEY}")
    code = _ask(lambda body: refused, "check", "--base=main")
    said = capsys.readouterr()
    assert code in (2, 3)
    assert "Incorrect API key" in said.out + said.err
    assert not _leaks(made.path, said.out, said.err)


def test_a_fault_of_the_program_is_told_without_it(made, capsys, monkeypatch):
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError(f"cannot use {KEY}")

    monkeypatch.setattr("gatekeeper.runs.library.suite.plan_check", fails)
    assert main(["check", "--base", "main"]) == 3
    said = capsys.readouterr()
    assert "cannot use ***" in said.err
    assert not _leaks(made.path, said.out, said.err)


@pytest.mark.long
@BOTH_WAYS
@pytest.mark.parametrize("wrong", ["content", "usage"])
def test_a_library_that_warns_of_a_value_of_the_wrong_type_does_not_show_it(made, wrong):
    """In a process of its own: pytest would catch the warnings."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "positive"}}
    completion = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    completion |= {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    if wrong == "content":
        choice["message"]["content"] = [KEY]
    else:
        completion["usage"] |= {"total_tokens": [KEY], "prompt_tokens_details": KEY}
    with OpenAIServer(lambda _: rubbish(json.dumps(completion))) as server:
        ended = subprocess.run(
            [sys.executable, "-m", "gatekeeper", "check", "--base", "main"],
            capture_output=True,
            text=True,
            env={**os.environ, "OPENAI_BASE_URL": server.url},
            timeout=120,
            check=False,
        )
        assert server.requests
    assert ended.returncode in (0, 1, 3)
    assert not _leaks(made.path, ended.stdout, ended.stderr)
    assert "Warning" not in ended.stderr
    assert "Traceback" not in ended.stderr
