"""Another model is written into contracts and prompts, and nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from support.edited_text import edited

from gatekeeper.author.migration.swap import Swap, swap_model
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import UsageError

OLD, NEW = "openai/gpt-4o-mini", "anthropic/claude-haiku-4-5"
REASONS = "openai/gpt-5.4-mini"
CONTRACT = """\
contract: 1 # the version
name: tag
prompt: ../prompts/tag.md
model: openai/gpt-4o-mini # not openai/gpt-4o
params: {max_tokens: 9}

fixtures: # two
  - {vars: {text: a openai/gpt-4o-mini}}
  - {vars: {text: b}}
checks: [{type: contains, value: a}]
"""
PROMPT = "Tag {{ text }}.\n"
PLAIN = edited(CONTRACT, "model: openai/gpt-4o-mini # not openai/gpt-4o\n", "")


def swap(files: Mapping[str, str], model: str = NEW, *paths: str) -> Swap:
    revision = MemoryRevision({path: text.encode() for path, text in files.items()})
    contracts = [load_contract(revision, p, SHAPES) for p in paths or ("contracts/tag.yaml",)]
    found = swap_model(revision, contracts, model)
    assert found.texts.keys() <= {path for contract in contracts for path in contract.dependencies}
    return found


def test_the_name_alone_changes_and_comments_stay() -> None:
    found = swap({"contracts/tag.yaml": CONTRACT, "prompts/tag.md": PROMPT})
    now = edited(CONTRACT, f"model: {OLD} # not", f"model: {NEW} # not")
    assert found == Swap({"contracts/tag.yaml": now}, {})


@pytest.mark.parametrize(
    ("name", "front", "now"),
    [
        ("tag.md", f"---\nmodel: '{OLD}' # x\n---\n", f"---\nmodel: '{NEW}' # x\n---\n"),
        ("tag.md", "---\nmodel: gpt-4o-mini\n---\n", f"---\nmodel: {NEW}\n---\n"),
        (
            "tag.prompty",
            "---\nmodel:\n  id: gpt-4o-mini\n---\nuser:\n",
            f"---\nmodel:\n  id: {NEW}\n---\nuser:\n",
        ),
    ],
)
def test_a_prompt_that_several_contracts_use_is_edited_once(
    name: str, front: str, now: str
) -> None:
    one = edited(PLAIN, "tag.md", name)
    files = {
        "contracts/tag.yaml": one,
        "contracts/two.yaml": edited(one, "name: tag", "name: two"),
        f"prompts/{name}": front + PROMPT,
    }
    found = swap(files, NEW, "contracts/tag.yaml", "contracts/two.yaml")
    assert found.texts == {f"prompts/{name}": now + PROMPT}


@pytest.mark.parametrize(
    ("params", "left"),
    [
        ("params: {temperature: 0}\n", "params: {}\n"),
        ("params: {temperature: 0.5, max_tokens: 9} # x\n", "params: {max_tokens: 9} # x\n"),
        ("params: {max_tokens: 9, 'top_p': 1.0, temperature: 0}\n", "params: {max_tokens: 9}\n"),
        ("params:\n  temperature: 0 # calm\n", ""),
        (
            "params:\n  top_p: 0.1\n  max_tokens: 9\n  temperature: 0\n",
            "params:\n  max_tokens: 9\n",
        ),
    ],
)
def test_parameters_that_the_model_refuses_are_taken_out(params: str, left: str) -> None:
    contract = edited(CONTRACT, "params: {max_tokens: 9}\n", params)
    found = swap({"contracts/tag.yaml": contract, "prompts/tag.md": PROMPT}, REASONS)
    now = edited(edited(contract, f"model: {OLD} # not", f"model: {REASONS} # not"), params, left)
    assert found.texts == {"contracts/tag.yaml": now}
    assert set(found.dropped["contracts/tag.yaml"]) >= {"temperature"}


def test_a_parameter_that_one_model_of_a_provider_refuses_is_taken_out() -> None:
    contract = edited(CONTRACT, "params: {max_tokens: 9}\n", "params: {max_tokens: 9, stop: x}\n")
    found = swap({"contracts/tag.yaml": contract, "prompts/tag.md": PROMPT}, "xai/grok-4")
    assert found.dropped == {"contracts/tag.yaml": ("stop",)}
    assert "params: {max_tokens: 9}\n" in found.texts["contracts/tag.yaml"]


@pytest.mark.parametrize(
    "model_line",
    [
        "model: &m openai/gpt-4o-mini\njudge: {model: *m}\n",
        "model: >-\n  openai/gpt-4o-mini\n",
    ],
)
def test_an_edit_that_would_change_more_is_refused(model_line: str) -> None:
    contract = edited(CONTRACT, "model: openai/gpt-4o-mini # not openai/gpt-4o\n", model_line)
    contract = edited(contract, "checks: [", "checks: [{judge: rubric, criteria: x}, ")
    if "judge:" not in model_line:
        contract += "judge: {model: openai/gpt-4o}\n"
    with pytest.raises(UsageError, match=r"without another change; edit contracts/tag\.yaml:"):
        swap({"contracts/tag.yaml": contract, "prompts/tag.md": PROMPT})
