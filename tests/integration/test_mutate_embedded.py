"""`gatekeeper mutate` on the example contracts, with the embedded model."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gatekeeper.author.mutation.measure import MutationResult, measure_mutants, plan_mutation
from gatekeeper.author.mutation.mutants import Mutant, find_parts, make_mutants
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.git import Repository
from gatekeeper.runs.run_plan import RunPlan

ROOT = Path(__file__).parents[2]
EXAMPLES = ("sentiment", "order-extraction", "order-requests", "order.json")
SEED = "0" * 32
ORDERS = 15
FIRST, SECOND = "Customers of a web shop wrote these reviews.", "Each review is about one product."
pytestmark = pytest.mark.long


@pytest.fixture
def repository(git_repository: Any) -> Any:
    made = git_repository("examples")
    contracts = ROOT / "contracts"
    for file in contracts.rglob("*"):
        if file.is_file() and file.name.startswith(EXAMPLES):
            copy = made.path / "contracts" / file.relative_to(contracts)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
            if file.name.startswith("order-") and ".fixtures." in file.name:  # a few are enough
                few = file.read_text("utf-8").splitlines(keepends=True)[:ORDERS]
                copy.write_text("".join(few), "utf-8")
    made.commit("the example contracts")
    return made


@pytest.mark.parametrize(
    ("contract", "kind", "begins"),
    [
        ("sentiment", "all examples", "Review: Clear sound"),
        ("order-extraction", "sentence", "Extract the order id and the quantity as JSON"),
    ],
)
def test_the_part_that_sets_the_form_of_the_answer_is_protected(
    repository: Any, contract: str, kind: str, begins: str
) -> None:
    with Repository.open(repository.path) as opened:
        revision = opened.worktree()
        loaded = load_contract(revision, f"contracts/{contract}.yaml", SHAPES)
        dropped = make_mutants(loaded.target.prompt, ["drop"])
        (mutant,) = (m for m in dropped if m.part.kind == kind and m.part.text.startswith(begins))
        (found,) = measured(revision, loaded, mutant).mutants
    assert found.finding == "noticed"
    assert found.broke > found.fixed


def measured(revision: Revision, contract: Contract, mutant: Mutant) -> MutationResult:
    """What the contract says of one mutant alone: all of them take the embedded model minutes."""
    plan = plan_mutation(contract, load_policy(revision), revision, (), SEED, [mutant])
    return measure_mutants(plan, RunPlan(work=plan.work, revisions=(revision,)))


def test_two_independent_sentences_in_another_order_are_not_noticed(repository: Any) -> None:
    file = repository.path / "contracts/prompts/sentiment.txt"
    file.write_text(f"{FIRST} {SECOND}\n{file.read_text('utf-8')}", "utf-8")
    with Repository.open(repository.path) as opened:
        revision = opened.worktree()
        contract = load_contract(revision, "contracts/sentiment.yaml", SHAPES)
        prompt = contract.target.prompt
        first = next(part for part in find_parts(prompt) if part.text == FIRST)
        (message,) = prompt.messages
        now = message.content.replace(f"{FIRST} {SECOND}", f"{SECOND} {FIRST}")
        assert now != message.content
        reordered = replace(prompt, messages=(replace(message, content=now),))
        mutant = Mutant("1-model", "model", first, SECOND, reordered)
        found = measured(revision, contract, mutant)
    (one,) = found.mutants
    assert one.pairs > 0
    assert one.finding in ("no_effect", "not_noticed", "too_few_broke")
    assert found.count("noticed") == 0
