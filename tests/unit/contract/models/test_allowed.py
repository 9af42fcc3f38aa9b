from __future__ import annotations

import pytest

from gatekeeper.contract.models.allowed import (
    EVERY_MODEL,
    AllowedModels,
    allowed_models,
    model_problems,
)
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy, load_policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Position
from gatekeeper.errors import ContractError

PROMPT = "---\nmodel: mistral/small\n---\nuser:\nSay {{ word }}.\n"


def revision(sha: str = "a", **contracts: str) -> MemoryRevision:
    files = {
        f"contracts/{name}.yaml": f"contract: 1\nname: {name}\nprompt: /p.md\n{text}".encode()
        for name, text in contracts.items()
    }
    return MemoryRevision({**files, "p.md": PROMPT.encode()}, sha)


def test_without_a_policy_the_providers_in_use_are_allowed() -> None:
    used = revision(
        a="model: openai/gpt-4o",
        b="model: claude-sonnet-4-5",
        c="",  # the prompt names it
        d="model: local/smollm2",
        e="model: recorded/x.jsonl",
        f="model: openai/https://evil.example",
        g="model: [groq/x]",
        h="model: {",
        i="model: groq/x",
    )
    before = revision("b", a="model: together_ai/x")
    found = allowed_models(Policy(), (used, before, before))
    patterns = ("anthropic/*", "groq/*", "mistral/*", "openai/*", "together_ai/*")
    assert found == AllowedModels(patterns, from_policy=False)


def test_what_is_no_contract_allows_nothing() -> None:
    files = {
        "contracts/a.yaml": b"model: openai/x",
        "contracts/b.yaml": b"- model: openai/x",
        "contracts/c.yaml": b"contract: 1\nname: c\nprompt: gone.md",
        "contracts/d.yaml": b"contract: 1\nname: d\nprompt: ../../x.md",
        "contracts/e.yaml": b"\xff",
        "elsewhere/f.yaml": b"contract: 1\nname: f\nmodel: openai/x",
    }
    assert allowed_models(Policy(), (MemoryRevision(files),)).patterns == ()


def test_the_policy_says_it_alone() -> None:
    used = revision(a="model: openai/gpt-4o")
    found = allowed_models(Policy(models=("anthropic/claude-*",)), (used,))
    assert found == AllowedModels(("anthropic/claude-*",), from_policy=True)
    assert allowed_models(Policy(models=()), (used,)).patterns == ()


@pytest.mark.parametrize(
    ("model", "allowed", "refused"),
    [
        ("openai/gpt-4o", AllowedModels(("openai/*",), from_policy=False), False),
        ("gpt-4o", AllowedModels(("openai/*",), from_policy=True), False),
        ("groq/x", EVERY_MODEL, False),
        ("local/smollm2", AllowedModels((), from_policy=True), False),
        ("recorded/x.jsonl", AllowedModels((), from_policy=False), False),
        ("groq/x", AllowedModels(("openai/*",), from_policy=True), True),
        ("groq/x", AllowedModels(("openai/*",), from_policy=False), True),
        ("groq/x", AllowedModels((), from_policy=False), True),
        ("openai/https://evil.example", EVERY_MODEL, True),
    ],
)
def test_problems(model: str, allowed: AllowedModels, refused: bool) -> None:
    asked = [(Position("contracts/a.yaml", line), model) for line in (4, 9)]
    problems = model_problems(asked, allowed)
    assert [(p.path, p.line) for p in problems] == [("contracts/a.yaml", 4)] * refused
    if refused and "://" not in model:
        assert model in str(problems[0])
        assert POLICY_PATH in problems[0].fix
        assert "groq/*" in problems[0].fix


@pytest.mark.parametrize(
    ("written", "models"),
    [
        ("models: [openai/*, anthropic/claude-*]", ("openai/*", "anthropic/claude-*")),
        ("models: []", ()),
        ("history: off", None),
    ],
)
def test_the_policys_key(written: str, models: tuple[str, ...] | None) -> None:
    found = load_policy(MemoryRevision({POLICY_PATH: written.encode()}))
    assert found.models == models


@pytest.mark.parametrize("written", ["gpt-4o", "[gpt-4o]", "[/x]", "[openai/]", "[1]", "true"])
def test_a_policy_that_names_no_models(written: str) -> None:
    with pytest.raises(ContractError) as error:
        load_policy(MemoryRevision({POLICY_PATH: f"models: {written}".encode()}))
    assert [p.path for p in error.value.problems] == [POLICY_PATH]
    assert "openai/*" in error.value.problems[0].fix
