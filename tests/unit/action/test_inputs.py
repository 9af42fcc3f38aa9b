"""Inputs and environment of a workflow step as settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatekeeper.action.inputs import ActionInputs, read_settings
from gatekeeper.errors import UsageError

STEP = {
    "GITHUB_EVENT_NAME": "pull_request",
    "GITHUB_EVENT_PATH": "/github/workflow/event.json",
    "GITHUB_WORKSPACE": "/github/workspace",
    "GITHUB_REPOSITORY": "o/r",
}


def settings(**inputs: str) -> ActionInputs:
    given = {f"INPUT_{name.upper().replace('_', '-')}": value for name, value in inputs.items()}
    return read_settings(STEP | given)


def test_no_inputs_give_the_defaults() -> None:
    found = settings()
    assert found.contracts == ()
    assert found.comment == "changes"
    assert found.out == Path(".gatekeeper/out")
    assert found.id == "gatekeeper"
    assert found.status_context == "gatekeeper/verdict"
    assert found.history == ""
    assert found.api_url == "https://api.github.com"
    assert found.run_url is None
    assert found.output_file is None


def test_empty_inputs_give_the_defaults_but_for_the_status() -> None:
    found = settings(contracts="", comment=" ", out="", id="", history="", status_context="")
    assert found == settings(status_context="")
    assert found.status_context == ""


def test_what_the_runner_says_is_taken_over() -> None:
    found = read_settings(
        STEP
        | {
            "GITHUB_API_URL": "https://github.example/api/v3/",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_RUN_ID": "42",
            "GITHUB_OUTPUT": "/o",
            "GITHUB_STEP_SUMMARY": "/s",
        }
    )
    assert found.api_url == "https://github.example/api/v3"
    assert found.run_url == "https://github.example/o/r/actions/runs/42"
    assert (found.output_file, found.summary_file) == (Path("/o"), Path("/s"))


def test_names_are_separated_by_space_or_comma_and_kept_once() -> None:
    assert settings(contracts=" a,b\n c  a ").contracts == ("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "mode"), [("always", "always"), ("Failures", "failures"), ("false", "off")]
)
def test_comment_modes(text: str, mode: str) -> None:
    assert settings(comment=text).comment == mode


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("", ""),
        ("Off", "off"),
        ("false", "off"),
        ("past/./runs.jsonl", "past/runs.jsonl"),
        ("branch:gatekeeper-data", "branch:gatekeeper-data"),
        ("postgresql://gate@db/past", "postgresql://gate@db/past"),
    ],
)
def test_where_the_history_is(text: str, location: str) -> None:
    assert settings(history=text).history == location


def test_the_cache_is_a_file_of_the_workspace() -> None:
    assert settings(cache="").cache is None
    assert settings(cache=" .gatekeeper/cache.jsonl ").cache == Path(".gatekeeper/cache.jsonl")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("comment", "sometimes"),
        ("out", "/elsewhere"),
        ("out", "a/../../b"),
        ("history", "../x"),
        ("cache", "/elsewhere"),
        ("cache", "../x"),
        ("id", "a b"),
        ("id", "-->"),
        ("id", "x" * 51),
        ("status_context", "x" * 256),
        ("status_context", "a\nb"),
    ],
)
def test_a_bad_input_is_named(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"input {name.replace('_', '-')}"):
        settings(**{name: value})


def test_the_status_may_not_be_called_like_the_job() -> None:
    with pytest.raises(UsageError, match="job's name"):
        read_settings(STEP | {"INPUT_STATUS-CONTEXT": "gate", "GITHUB_JOB": "gate"})


@pytest.mark.parametrize("name", sorted(STEP))
def test_outside_a_workflow_it_says_what_to_use(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is not set.*gatekeeper check"):
        read_settings({k: v for k, v in STEP.items() if k != name})


def test_the_password_of_a_database_is_a_secret() -> None:
    found = settings(history="postgresql://gate:p@ss/w0rd-of-it@db/past")
    assert "p@ss/w0rd-of-it" in found.secrets
    assert "w0rd" not in repr(found)


def test_secrets_are_known_and_never_shown() -> None:
    found = read_settings(
        STEP
        | {
            "INPUT_TOKEN": "ghs_0123456789",
            "OPENAI_API_KEY": "sk-0123456789-long",
            "MY_PASSWORD": "short",
            "KEYBOARD": "qwertyuiop",
        }
    )
    assert found.token == "ghs_0123456789"
    assert found.secrets == ("sk-0123456789-long", "ghs_0123456789")
    assert "0123456789" not in repr(found)


def test_the_token_of_the_environment_is_the_second_choice() -> None:
    assert read_settings(STEP | {"GITHUB_TOKEN": "ghs_environment"}).token == "ghs_environment"


def test_formats_are_those_that_there_are() -> None:
    assert settings(formats="sarif, Badge").formats == ("sarif", "badge")
    assert settings().formats == ()
    with pytest.raises(
        UsageError,
        match="input formats: 'html' is not valid; use one or more of badge,",
    ):
        settings(formats="sarif html")
