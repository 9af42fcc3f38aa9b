"""A pull request names the model, and nothing else about it: not whose key, not where to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import Fault, OpenAIServer
from support.pull_request import BROKEN, HARMLESS, PROMPT, answer
from support.pull_request import FILES as PULL_REQUEST
from support.ways_in import KEY, POLICY, RunGate

from gatekeeper.providers.models.catalogue import CATALOGUE

CONTRACT = "contracts/sentiment.yaml"
MODEL = "openai/gpt-4o-mini"

# Short answers, so that a fork's calls to a dearer model stay within the cost limit.
FILES = dict(PULL_REQUEST)
FILES[CONTRACT] = edited(FILES[CONTRACT], "temperature: 0", "temperature: 0, max_tokens: 5")


def contract(model: str) -> str:
    text = str(FILES[CONTRACT])
    assert MODEL in text
    return text.replace(MODEL, json.dumps(model))


EVIL = (
    "deepinfra/x",
    "baseten/abcd1234",
    "bedrock/agentcore/arn:aws:bedrock-agentcore:evil.example/:123456789012:runtime/x",
    "openai/https://evil.example/v1",
    "groq/x",
)
"""Of every kind one; test_provider_hosts.py asks them all."""


@pytest.mark.parametrize("model", EVIL)
def test_a_new_provider_is_refused_before_any_call(
    run_gate: RunGate, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if its key is there, and if the prompt would be evaluated on another model first."""
    monkeypatch.setenv("GROQ_API_KEY", "gsk-0123456789abcdef")
    head = {
        CONTRACT: contract(model),
        "contracts/more.yaml": edited(contract(MODEL), "name: sentiment", "name: a-first"),
        PROMPT: HARMLESS,
    }
    answered = run_gate(FILES, head, answer=answer)
    assert (answered.exit_code, answered.verdict) == (2, None)
    assert answered.requests == ()
    assert CONTRACT in answered.text
    if "arn:" not in model and "://" not in model:
        assert model in answered.text
        # A provider that there is not cannot be allowed either.
        assert (POLICY in answered.text) == (model.partition("/")[0] in CATALOGUE)


def test_a_prompts_front_matter_brings_no_provider_either(run_gate: RunGate) -> None:
    without = contract(MODEL).replace(f'model: "{MODEL}"\n', "")
    assert "model:" not in without
    front = "---\nmodel: {}\n---\n"
    base = {**FILES, CONTRACT: without, PROMPT: front.format(MODEL) + str(FILES[PROMPT])}
    evil = run_gate(base, {PROMPT: front.format("deepinfra/x") + HARMLESS}, answer=answer)
    assert (evil.exit_code, evil.requests) == (2, ())
    honest = run_gate(base, {PROMPT: front.format("openai/gpt-4o") + HARMLESS}, answer=answer)
    assert (honest.exit_code, honest.verdict) == (0, "pass")


def test_a_policy_at_head_allows_nothing(run_gate: RunGate) -> None:
    head = {CONTRACT: contract("groq/x"), POLICY: "models: ['*/*']\n", PROMPT: HARMLESS}
    answered = run_gate(FILES, head, answer=answer, policy="models: [openai/*]\n")
    assert (answered.exit_code, answered.requests) == (2, ())
    answered = run_gate(FILES, head, answer=answer)
    assert (answered.exit_code, answered.requests) == (2, ())


def test_another_contract_at_head_allows_nothing(run_gate: RunGate) -> None:
    """What is in use is looked up at base alone."""
    head = {f"contracts/{n}.yaml": contract(f"{n}/x") for n in ("groq", "mistral")}
    head |= {PROMPT: HARMLESS}
    answered = run_gate(FILES, head, answer=answer)
    assert (answered.exit_code, answered.requests) == (2, ())


@pytest.mark.parametrize(
    ("policy", "model", "code"),
    [
        (None, "openai/gpt-4o", 0),
        (None, "gpt-4o", 0),
        ("models: [openai/*, groq/*]\n", "openai/gpt-4o", 0),
        ("models: [openai/gpt-4o-mini]\n", "openai/gpt-4o-mini", 0),
        ("models: [openai/gpt-4o-mini]\n", "openai/gpt-4o", 2),
        ("models: [groq/*]\n", "openai/gpt-4o-mini", 2),  # the base's own is not allowed either
        ("models: []\n", "openai/gpt-4o-mini", 2),
    ],
)
def test_the_base_policy_says_what_may_be_called(
    run_gate: RunGate, policy: str | None, model: str, code: int
) -> None:
    head = {CONTRACT: contract(model), PROMPT: HARMLESS}
    answered = run_gate(FILES, head, answer=answer, policy=policy)
    assert answered.exit_code == code
    assert bool(answered.requests) == (code == 0)


def test_a_provider_that_base_dropped_is_refused(run_gate: RunGate) -> None:
    """The tip's policy counts, also for who starts from an older commit."""
    since = {POLICY: "models: [groq/*]\n"}
    answered = run_gate(FILES, {PROMPT: HARMLESS}, answer=answer, since=since)
    assert (answered.exit_code, answered.requests) == (2, ())


def test_the_first_pull_request_needs_a_policy_at_base(run_gate: RunGate) -> None:
    base = {"README.md": "Prompts."}
    refused = run_gate(base, dict(FILES), answer=answer)
    assert (refused.exit_code, refused.requests) == (2, ())
    assert POLICY in refused.text
    allowed = run_gate(base, dict(FILES), answer=answer, policy="models: [openai/*]\n")
    assert allowed.exit_code == 0
    assert allowed.requests


def test_a_key_that_is_missing_is_no_reason_to_send_another(run_gate: RunGate) -> None:
    head = {CONTRACT: contract("deepinfra/x"), PROMPT: HARMLESS}
    policy = "models: [openai/*, deepinfra/*]\nlimits: {cost_usd: null}\n"
    answered = run_gate(FILES, head, answer=answer, policy=policy)
    assert answered.exit_code == (3 if answered.way == "fork_stage" else 2)
    assert answered.requests == ()
    assert "DEEPINFRA_API_KEY" in answered.text + answered.log


@pytest.fixture
def elsewhere() -> Iterator[OpenAIServer]:
    """The server that a redirect leads to: it would answer, and note the key."""
    with OpenAIServer(lambda _: "positive") as server:
        yield server


@pytest.mark.parametrize("policy", [None, "providers: {openai: litellm}\n"])
@pytest.mark.parametrize(("status", "always"), [(302, True), (307, False)])
def test_a_redirect_is_a_failure(
    run_gate: RunGate, elsewhere: OpenAIServer, status: int, always: bool, policy: str | None
) -> None:
    moved = Fault("status", status, {"Location": f"{elsewhere.url}/chat/completions"})

    def model(body: Mapping[str, Any]) -> Any:
        return moved if always or BROKEN[:20] in json.dumps(body) else answer(body)

    answered = run_gate(FILES, {PROMPT: BROKEN}, answer=model, policy=policy)
    assert answered.exit_code != 0
    assert answered.verdict != "pass"
    assert elsewhere.requests == []
    assert KEY not in answered.text + answered.log


@pytest.mark.long
def test_a_pull_request_does_not_choose_how_models_are_called(run_gate: RunGate) -> None:
    """The base policy does."""
    at_head = {POLICY: "providers: {openai: litellm}\n", PROMPT: HARMLESS}
    answered = run_gate(FILES, at_head, answer=answer)
    assert {headers["user-agent"] for headers in answered.headers} == {"gatekeeper"}
    forced = run_gate(FILES, {PROMPT: HARMLESS}, answer=answer, policy=at_head[POLICY])
    assert forced.verdict == answered.verdict == "pass"
    assert forced.headers
    assert not any(headers["user-agent"] == "gatekeeper" for headers in forced.headers)


def test_models_of_the_command_line_need_no_leave(
    git_repository: Callable[..., GitRepository],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from gatekeeper.cli.main import main

    repository = git_repository("sweep")
    for path, text in {**FILES, POLICY: "models: [groq/*]\n"}.items():
        repository.write(path, text)
    with OpenAIServer(answer) as server:
        for name in ("HOSTED_VLLM_API_BASE", "OPENAI_BASE_URL"):
            monkeypatch.setenv(name, server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        arguments = ["--repo", str(repository.path), "--out", str(repository.path / "out")]
        code = main(
            [
                "sweep",
                "--contract",
                "sentiment",
                *arguments,
                "--model",
                "hosted_vllm/a,hosted_vllm/b",
            ]
        )
        capsys.readouterr()
        assert {request["model"] for request in server.requests} == {"a", "b", "gpt-4o-mini"}
    assert code in (0, 3)
