"""What the command line says of hostile files and servers: no commands, no control characters, and
no key, whoever writes it."""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
import warnings

import pytest

from gatekeeper.cli.output import no_secrets_in_errors, print_error
from gatekeeper.errors import Problem

KEY = "sk-Pr0j-4f9a1c7e2b8d6053f1aa"
HOSTILE = "x\n::warning file=a::pwned\x1b[31m\u202e\r::error::two\u2028::error::three##[group]"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.mark.parametrize("path", ["contracts/a.yaml", f"contracts/{HOSTILE}.yaml"])
def test_a_problem_takes_one_line_whatever_it_quotes(path: str, capsys) -> None:
    print_error(str(Problem(path, f"`{HOSTILE}` cannot be called", "write another", 1)))
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pwned" in said
    assert not [c for c in said if not (c.isprintable() or c == "\n")]


def test_no_line_of_an_error_is_a_command(capsys) -> None:
    print_error(f"gatekeeper: {HOSTILE}")
    said = capsys.readouterr().err
    assert not [line for line in said.splitlines() if line.lstrip().startswith("::")]
    assert "##[" not in said
    assert not {"\x1b", "\u202e", "\r", "\u2028"} & set(said)


def _warned() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_, **__: sys.stderr.write(f"Warning: {message}\n")
        warnings.warn(f"expected a text, got ['{KEY}']", stacklevel=1)


def _traced() -> None:
    try:
        raise ValueError(KEY)
    except ValueError:
        traceback.print_exc()


@pytest.mark.parametrize(
    "write",
    [
        _warned,
        _traced,
        lambda: logging.lastResort.handle(logging.makeLogRecord({"msg": KEY, "levelno": 40})),
        lambda: sys.stderr.writelines(["a", KEY]),
        lambda: sys.stderr.write(KEY[8:]),
    ],
    ids=["warning", "traceback", "log", "lines", "part"],
)
def test_standard_error_has_no_key_whoever_writes_there(write, capsys) -> None:
    before = sys.stderr
    with no_secrets_in_errors():
        write()
        assert sys.stderr.isatty() is False
    assert sys.stderr is before
    said = capsys.readouterr().err
    assert "***" in said
    assert KEY[8:] not in said


def test_the_stream_is_given_back_after_a_fault() -> None:
    before = sys.stderr
    with contextlib.suppress(ZeroDivisionError), no_secrets_in_errors():
        raise ZeroDivisionError
    assert sys.stderr is before
