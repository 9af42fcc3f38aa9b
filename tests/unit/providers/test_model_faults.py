"""Models that do not exist are refused with their place; what may be new is only doubted."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.two_contracts import FILES, SHAPES, contract, revision

from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.models.faults import find_faults, named_model, with_recordings
from gatekeeper.contract.values.definition import Position
from gatekeeper.errors import Problem
from gatekeeper.providers.models.catalogue import CATALOGUE
from gatekeeper.providers.models.model_faults import find_model_fault

PLACE = Position("contracts/a.yaml", 4, 8)


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("opnai/gpt-4o", "openai"),
        ("mistrl/x", "mistral"),
        ("locl/smollm2", "local"),
        ("recorde/a.jsonl", "recorded"),
        ("local/smolm2", "local/smollm2"),
        ("gtp-4o-mini", "gpt-4o-mini"),
        ("opneai", "openai/"),
        ("meta/Llama-3.3-70B-Instruct", "`deepinfra/meta-llama/Llama-3.3-70B-Instruct`"),
        ("github/openai/gpt-4.1", "`openai/gpt-4.1`, `azure/gpt-4.1`"),
        ("github/deepseek/DeepSeek-R1", "`deepseek/deepseek-r1`"),
        ("microsoft/Phi-99", "`azure_ai/NAME`"),
        ("github/meta/no-such-model", "`openrouter/PUBLISHER/NAME`"),
    ],
)
def test_what_cannot_be_asked_is_refused(model: str, meant: str) -> None:
    fault = find_model_fault(model)
    assert fault
    assert fault.certain
    assert meant in fault.fix


@pytest.mark.parametrize("model", ["github/openai/gpt-4.1", "meta/x", "github/x", "core42/jais"])
def test_names_of_github_models_say_that_it_closed(model: str) -> None:
    fault = find_model_fault(model)
    assert fault
    assert "GitHub Models" in fault.what
    assert "closed on 2026-07-30" in fault.what


@pytest.mark.parametrize("model", ["openai/gpt-4o-mni", "gpt-4o-mni"])
def test_a_likely_slip_is_doubted(model: str) -> None:
    fault = find_model_fault(model)
    assert fault
    assert not fault.certain
    assert f"`{model.replace('mni', 'mini')}`" in fault.fix


@pytest.mark.parametrize(
    "model",
    ["gpt-4o-mini", "local/smollm2", "recorded/a.jsonl", *(f"{p}/my-own-9" for p in CATALOGUE)],
)
def test_known_providers_may_have_any_model(model: str) -> None:
    assert find_model_fault(model) is None


def test_a_proxy_may_know_other_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_LITELLM_PROXY", "true")
    assert find_model_fault("acme/x") is None


def test_a_fault_is_told_once_for_each_place() -> None:
    other = Position("contracts/b.yaml", 9)
    found = find_faults(
        [(PLACE, "opnai/x"), (PLACE, "opnai/x"), (other, "opnai/x")], find_model_fault
    )
    assert [(p.path, p.line, p.field) for p in found.refused] == [
        ("contracts/a.yaml", 4, "model"),
        ("contracts/b.yaml", 9, "model"),
    ]
    # What else would be said of the same place is left out: it cannot be allowed.
    not_allowed = [Problem("contracts/a.yaml", "what", "fix", 4), Problem("c", "what", "fix", 4)]
    assert [p.path for p in found.with_refused(not_allowed)] == [
        "contracts/a.yaml",
        "contracts/b.yaml",
        "c",
    ]


def test_a_recording_that_no_revision_has_is_refused() -> None:
    revisions = [revision({"a.jsonl": ""}), revision({"b.jsonl": ""})]
    find = with_recordings(find_model_fault, revisions)
    models = [(PLACE, f"recorded/{name}.jsonl") for name in ("a", "b", "c")]
    assert [p.what for p in find_faults(models, find).refused] == [
        "the recording `c.jsonl` does not exist"
    ]


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({}, ("contracts/a.yaml", 4)),
        ({"prompts/a.md": "---\nname: x\nmodel: m\n---\n{{ x }}"}, ("prompts/a.md", 3)),
        (
            {"prompts/a.md": "---\nmodel:\n  id: m\n---\n{{ x }}"},
            ("prompts/a.md", 3),
        ),
    ],
)
def test_a_model_is_placed_where_it_is_named(files: dict[str, str], place: tuple[str, int]) -> None:
    text = contract("a")
    if files:
        text = edited(text, "model: m\n", "")
    made = load_contract(
        revision({**FILES, "contracts/a.yaml": text, **files}), "contracts/a.yaml", SHAPES
    )
    found, model = named_model(made, made.target.model)
    assert ((found.path, found.line), model) == (place, "m")
    assert named_model(made, "another")[0] == Position("contracts/a.yaml")
