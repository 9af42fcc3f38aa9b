"""Each way in which a pull request's policy asks less, and what is no weakening."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.edited_text import edited
from support.recorded_repository import GOOD, contract_files

from gatekeeper.contract.policies.policy import POLICY_PATH
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.weakening.policy_weakening import policy_weakenings

FILES = contract_files() | {
    "contracts/x/more.yaml": edited(
        GOOD,
        "name: words",
        "name: more",
        "../prompts",
        "/prompts",
        "file: words.csv",
        "file: /contracts/words.csv",
    ),
    "prompts/x/other.txt": "Other.",
}


def revision(policy: str | None, **more: str) -> MemoryRevision:
    files = {**FILES, **more} | ({} if policy is None else {POLICY_PATH: policy})
    encoded = {path: text.encode() for path, text in files.items()}
    return MemoryRevision(encoded, sha=str(hash(policy)))


def weakened(before: str | None, now: str | None, **more: str) -> set[str]:
    change = Change(revision(before, **more), revision(now, **more))
    return {found.key for found in policy_weakenings(change)}


LOOSER = [
    ("require_contract: true", "require_contract: false", {"require_contract"}),
    ("on_inconclusive: fail", "{}", {"on_inconclusive"}),
    ("on_weakening: require_waiver", "on_weakening: note", {"on_weakening"}),
    ("{}", "allow: {weakening: true}", {"allow.weakening"}),
    ("{}", "allow: {contract_removal: true}", {"allow.contract_removal"}),
    ("{}", "contracts: [contracts/*.yaml, contracts/**/*.yml]", {"contracts"}),
    ("{}", "prompts: [prompts/*]", {"prompts"}),
    ("{}", "prompts: []", {"prompts"}),
    ("{}", "prompts: [prompts/*, prompts/x/*]", {"prompts"}),
    ("prompts: [docs/*, prompts/*]", "prompts: [prompts/*]", {"prompts"}),
    ("contracts: ['contracts/**', 'c/*']", "contracts: ['contracts/**']", {"contracts"}),
    ("{}", "limits: {calls: 2001}", {"limits.calls"}),
    ("{}", "limits: {cost_usd: null}", {"limits.cost_usd"}),
    ("{}", "propose: {model: a/b, cost_usd: 0.1}", {"propose.cost_usd"}),
    ("limits: {month_usd: 9}", "limits: {month_usd: 10}", {"limits.month_usd"}),
    ("limits: {month_usd: 9}", "{}", {"limits.month_usd"}),
    ("{}", "limits: {minutes: 30, concurrency: 32}", {"limits.minutes", "limits.concurrency"}),
    ("{}", "error_budget: {freeze: false}", {"error_budget.freeze"}),
    ("{}", 'error_budget: {exempt: ["*"]}', {"error_budget.exempt"}),
    ("{}", "error_budget: {burn_rate: {1d: 9}}", {"error_budget.burn_rate.1d"}),
    ("{}", "waivers: {permission: read}", {"waivers.permission"}),
    ("waivers: {permission: admin}", "{}", {"waivers.permission"}),
    ("waivers: {permission: write}", "waivers: {permission: triage}", {"waivers.permission"}),
    ("waivers: {permission: triage}", "waivers: {permission: read}", {"waivers.permission"}),
    ("{}", "history: off", {"history"}),
    ("{}", "history: branch:mine", {"history"}),
    ("{}", "new_contracts: {success_rate: null}", {"new_contracts.success_rate"}),
    ("new_contracts: {success_rate: 0.5}", "{}", {"new_contracts.success_rate"}),
    ("new_contracts: {fixtures: 20}", "new_contracts: {fixtures: 5}", {"new_contracts.fixtures"}),
    ("models: [openai/gpt-4o]", "models: [openai/*]", {"models"}),
    ("models: [openai/gpt-4?]", "models: [openai/gpt-4*]", {"models"}),
    ("models: [openai/*]", "models: [openai/*, anthropic/*]", {"models"}),
    ("{}", 'models: ["*/*"]', {"models"}),
    ("limits: {calls: 10}\nrequire_contract: true", None, {"limits.calls", "require_contract"}),
]


@pytest.mark.parametrize(("before", "now", "keys"), LOOSER)
def test_a_loosening_is_found(before: str, now: str | None, keys: set[str]) -> None:
    assert weakened(before, now) == keys


@pytest.mark.parametrize(("now", "before"), [row[:2] for row in LOOSER if row[0] and row[1]])
def test_the_other_way_round_is_none(before: str, now: str) -> None:
    # Another history is another past, whichever way round.
    assert weakened(before, now) - {"history"} == set()


def test_another_model_for_proposals_gets_the_prompts():
    models = [f"propose: {{model: {name}, cost_usd: 0.1}}" for name in ("a/b", "c/d")]
    assert weakened(*models) == weakened(*reversed(models)) == {"propose.model"}
    assert weakened(models[0], models[1].replace("0.1", "0")) == set()


SAME = [
    ("limits: {calls: 10}", "# why\nlimits: {calls: 10.0}"),
    ("{}", None),
    ("models: [openai/*]", "models: [openai/gpt-4o]"),
    ("{}", "contracts: ['**/*.yaml', '**/*.yml']"),
    ("{}", "contracts: '**'"),
    ("prompts: [prompts/*, a/prompts/?.md]", "prompts: [/prompts/**, '**/?.md']"),
    ("prompts: ['prompts/x/**']", "prompts: ['prompts/**/x/**', 'prompts/**']"),
    ("prompts: ['a/x/b/**']", "prompts: ['a/**/b/**']"),
    ("error_budget: {exempt: [a, b]}", "error_budget: {exempt: [b]}"),
    ("waivers: {permission: write}", "waivers: {permission: admin}"),
]


@pytest.mark.parametrize(("before", "now"), SAME)
def test_what_asks_the_same_or_more_is_no_loosening(before: str, now: str | None) -> None:
    assert weakened(before, now) == set()


def test_a_policy_that_cannot_be_read_counts_as_the_defaults() -> None:
    assert weakened("limits: 7", "limits: {calls: 3000}") == {"limits.calls"}
    assert weakened("limits: 7", "limits: {calls: 100}") == set()


PIECES = ["a", "b", "/", "*", "**", "**/", "?", "a/"]
PATTERN = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)


@given(PATTERN, PATTERN, st.lists(st.sampled_from(["a", "b", "ab", "ba"]), min_size=1, max_size=3))
@settings(max_examples=3 * settings.default.max_examples)
def test_what_is_no_narrowing_matches_as_much(before: str, now: str, names: list[str]) -> None:
    path = "/".join(names)
    more = {path: "x"}
    if "prompts" not in weakened(f"prompts: ['{before}']", f"prompts: ['{now}']"):
        assert len(list(matching(more, now))) >= len(list(matching(more, before)))
