"""`--env-file` and `--log-requests`: keys from a file, and what was sent to models."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.openai_server import Fault, OpenAIServer, unauthorized

from gatekeeper.cli.main import main
from gatekeeper.providers.http import http_client
from gatekeeper.providers.http.http_client import Exchange, watched_exchanges
from gatekeeper.runs.request_log import logged_requests

KEY = "sk-made-for-this-test-0123456789"
CONTRACT = """\
contract: 1
name: words
prompt: words.md
model: openai/gpt-4o-mini
fixtures: [{id: a, vars: {word: one}}, {id: b, vars: {word: two}}]
checks: [{type: contains, value: Hi}]
sampling: {samples: 1, mode: fixed}
slo: {success_rate: 0.5}
"""

Run = Callable[..., int]


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test declares secret is no secret of the next one."""
    monkeypatch.setattr("gatekeeper.reports.redact._kept", set())


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository.create(tmp_path / "repo")
    made.write("contracts/words.yaml", CONTRACT)
    made.write("contracts/words.md", "Say {{ word }}\n")
    made.commit("first")
    return made


@pytest.fixture
def run(repository: GitRepository, tmp_path: Path) -> Run:
    def call(*options: object, command: str = "run") -> int:
        where = ["--repo", str(repository.path), "--out", str(tmp_path / "out")]
        return main([command, *where, *map(str, options)])

    return call


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda body: f"Hi, I was asked: {body['messages'][-1]['content']}") as found:
        yield found


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the requests of a run with a key go."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return tmp_path / "requests.jsonl"


def env_file(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "keys.env"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def read_log(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def reports(tmp_path: Path) -> str:
    return "".join(path.read_text("utf-8") for path in (tmp_path / "out").iterdir())


def test_a_key_of_the_file_opens_the_model_and_is_in_no_report(
    run: Run, server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server._answer = lambda _: f"Hi, the key is {KEY} and the place is Musterstadt-West."
    path = env_file(
        tmp_path,
        "# for my machine",
        f'export OPENAI_API_KEY="{KEY}"  # mine',
        "PLACE='Musterstadt-West'",
    )
    assert run("--env-file", path) == 0
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    shown = capsys.readouterr()
    for text in (reports(tmp_path), shown.out, shown.err):
        assert KEY not in text
        assert "Musterstadt-West" not in text
    assert "the key is ***" in reports(tmp_path)


@pytest.mark.parametrize("given", ["sk-of-the-environment-0123456789", ""])
def test_a_variable_that_is_set_stays_as_it_is(
    given: str, run: Run, server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", given)
    code = run("--env-file", env_file(tmp_path, f"OPENAI_API_KEY={KEY}"))
    assert os.environ["OPENAI_API_KEY"] == given
    assert code == (0 if given else 2)
    assert all(headers["authorization"] == f"Bearer {given}" for headers in server.headers)


def test_a_file_that_nobody_names_is_not_read(
    run: Run,
    repository: GitRepository,
    server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repository.write(".env", f"OPENAI_API_KEY={KEY}\n")
    monkeypatch.chdir(repository.path)
    assert run() == 2
    assert server.requests == []
    assert "OPENAI_API_KEY" not in os.environ


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_that_a_pull_request_could_change_is_refused(
    linked: bool,
    run: Run,
    repository: GitRepository,
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    repository.write(".env", "OPENAI_BASE_URL=http://127.0.0.1:9/v1\n")
    repository.commit("second")
    path = repository.path / ".env"
    if linked:
        path = tmp_path / "mine.env"
        path.symlink_to(repository.path / ".env")
    assert run("--env-file", path) == 2
    assert "git tracks this file" in capsys.readouterr().err
    assert server.requests == []


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (["A=1", "", "what is this"], ":3:"),
        (["A=1", "NAME"], ":2:"),
        (['KEY="sk-half-of-a-key-0123456789'], ":1:"),
        (["=sk-half-of-a-key-0123456789"], ":1:"),
        (["A=1\0"], ":1:"),
        (["A=1", "'A=B'=sk-half-of-a-key-0123456789"], ":2:"),
        (["A\0B=sk-half-of-a-key-0123456789"], ":1:"),
    ],
)
def test_a_line_that_is_no_variable_is_named_and_not_quoted(
    lines: list[str], place: str, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--env-file", env_file(tmp_path, *lines)) == 2
    said = capsys.readouterr().err
    assert f"keys.env{place}" in said
    assert "write NAME=value" in said
    assert "half-of-a-key" not in said


DOUBLED = b"A0=aaaa\n" + b"".join(b"A%d=${A%d}${A%d}\n" % (n + 1, n, n) for n in range(60))
MANY = b"A=" + b"a" * 30_000 + b"\n" + b"".join(b"B%d=${A}\n" % n for n in range(2_000))


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"A=\xff\n",
        b"A=1\n" * 300_000,
        DOUBLED,
        MANY,
        b"A=" + b"\xc3\xa4" * 70_000,
        b"A=" + b"${" * 90_000,
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    content: bytes | None, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "keys.env"
    if content is not None:
        path.write_bytes(content)
    assert run("--env-file", path) == 2
    assert f"--env-file {path}: " in capsys.readouterr().err


def test_a_link_that_leads_to_itself_is_named(
    run: Run, repository: GitRepository, capsys: pytest.CaptureFixture[str]
) -> None:
    path = repository.path / "loop.env"
    path.symlink_to(path)
    assert run("--env-file", path) == 2
    assert "Too many levels of symbolic links" in capsys.readouterr().err


def test_a_value_may_mention_another(run: Run, server: OpenAIServer, tmp_path: Path) -> None:
    lines = ("PART=0123456789", "OPENAI_API_KEY=sk-composed-${PART}${NONE:-0}")
    assert run("--env-file", env_file(tmp_path, *lines)) == 0
    assert server.headers[0]["authorization"] == "Bearer sk-composed-01234567890"


def test_the_log_has_what_was_sent_and_answered(run: Run, server: OpenAIServer, log: Path) -> None:
    assert run("--log-requests", log) == 0
    lines = read_log(log)
    assert len(lines) == 2
    assert {line["request"]["messages"][-1]["content"] for line in lines} == {"Say one", "Say two"}
    for line in lines:
        assert line["url"] == f"{server.url}/chat/completions"
        assert line["status"] == 200
        assert line["response"]["choices"][0]["message"]["content"].startswith("Hi, I was asked")
        assert set(line) == {
            "time", "method", "url", "request", "status", "latency_ms", "response", "error"
        }  # fmt: skip
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "variable",
    ["OPENAI_API_KEY", pytest.param("OPENAI_CUSTOM_HEADERS", marks=pytest.mark.long)],  # by litellm
)
def test_the_log_has_no_key_even_if_the_server_repeats_it(
    variable: str,
    run: Run,
    server: OpenAIServer,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = "gateway-secret-0123456789"
    if variable == "OPENAI_CUSTOM_HEADERS":
        monkeypatch.setenv(variable, f"X-Gateway: {secret}")
    server._answer = lambda _: unauthorized(f"Incorrect key: {KEY}, {secret}")
    assert run("--log-requests", log) != 0
    text = log.read_text("utf-8")
    assert '"status": 401' in text
    assert KEY not in text
    if variable == "OPENAI_CUSTOM_HEADERS":
        assert secret not in text


@pytest.mark.parametrize("depth", [300, 700, 950, 1_500, 100_000])
def test_an_answer_that_is_nested_deeply_stops_nothing(depth: int, log: Path) -> None:
    body = ("[" * depth + "]" * depth).encode()
    sent = [("Authorization", f"Bearer {KEY}")]
    with logged_requests(log) as lost, watched_exchanges(lambda *_: None):
        for watcher in http_client._watchers:
            url = f"https://user:{KEY}@host.invalid/{KEY}?key={KEY}"
            watcher("POST", url, sent, b'{"a": "b"}', Exchange(status=200, body=body), None)
    assert lost == []
    (line,) = read_log(log)
    assert (line["status"], line["request"]) == (200, {"a": "b"})
    assert line["url"] == "https://host.invalid/***"


def test_a_call_without_an_answer_is_in_the_log(run: Run, server: OpenAIServer, log: Path) -> None:
    server._answer = lambda _: Fault("status", 302, {"Location": "https://example.invalid/"})
    assert run("--log-requests", log) == 3
    assert read_log(log)[0]["status"] == 302
    assert "a redirect to example.invalid" in read_log(log)[0]["error"]


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder", "git"])
def test_the_log_goes_into_no_place_that_is_not_a_file_of_its_own(
    kind: str,
    run: Run,
    repository: GitRepository,
    server: OpenAIServer,
    log: Path,
    tmp_path: Path,
) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("precious", "utf-8")
    if kind == "link":
        log.symlink_to(mine)
    elif kind == "hard link":
        os.link(mine, log)
    elif kind == "pipe":
        os.mkfifo(log)
    elif kind == "folder":
        log.mkdir()
    else:
        log = repository.path / ".git" / "hooks" / "post-commit"
    assert run("--log-requests", log) == 2
    assert mine.read_text("utf-8") == "precious"
    assert server.requests == []


def test_a_log_that_is_there_is_continued_and_made_private(
    run: Run, server: OpenAIServer, log: Path
) -> None:
    log.write_text('{"time": "earlier"}\n', "utf-8")
    log.chmod(0o644)
    assert run("--log-requests", log) == 0
    assert [line["time"] == "earlier" for line in read_log(log)] == [True, False, False]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_log_that_cannot_be_written_is_told_and_ends_nothing(
    run: Run,
    server: OpenAIServer,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gatekeeper.runs.request_log.write_line", full)
    assert run("--log-requests", log) == 0
    assert "some requests are missing" in capsys.readouterr().out
