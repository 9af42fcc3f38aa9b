"""Asks of each new model, by the paired gate, whether it is worse than the present one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gatekeeper.author.migration.swap import Swap, swap_model
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import every_contract
from gatekeeper.contract.changes.groups import narrowed
from gatekeeper.contract.models.names import read_model_name
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, Overlay, Revision
from gatekeeper.contract.values.definition import Contract, Position
from gatekeeper.errors import ContractError, UsageError
from gatekeeper.gate.diff import plan_diff
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.providers.models.retirement import retires_soon
from gatekeeper.runs.execute import execute
from gatekeeper.runs.models import require_known_models
from gatekeeper.runs.run_plan import RunPlan

Answer = Literal["not worse", "no drop found", "worse", "undecided", "not measured"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A new model with its edit and what the gate found; `why` says why there is none."""

    model: str
    swap: Swap = field(default_factory=lambda: Swap({}, {}))
    result: GateResult | None = None
    why: str = ""

    @property
    def contracts(self) -> tuple[ContractResult, ...]:
        """The results of the contracts; empty if the gate found none."""
        return self.result.contracts if self.result else ()

    @property
    def passes(self) -> bool:
        """Whether the gate lets the change of the model pass."""
        return self.result is not None and self.result.verdict == "pass"

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """The order among candidates that pass: first those that do not retire soon, then those
        that are proved not worse, then the cheapest."""
        costs = [c.head.cost_per_call_usd for c in self.contracts if c.head]
        known = [cost for cost in costs if cost is not None]
        proved = all(answer_of(contract) == "not worse" for contract in self.contracts)
        total = sum(known) if known and len(known) == len(costs) else float("inf")
        return retires_soon(self.model) is not None, not proved, total


@dataclass(frozen=True, slots=True)
class Migration:
    """The models that are replaced, each candidate, and what is doubtful about their models."""

    models: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    notices: tuple[str, ...] = ()

    @property
    def chosen(self) -> Candidate | None:
        """The best candidate that passes."""
        passing = (c for c in self.candidates if c.passes)
        return min(passing, key=lambda candidate: candidate.rank, default=None)

    @property
    def exit_code(self) -> int:
        """0 if a candidate passes, 1 if each is worse, 3 if it could not be decided."""
        if self.chosen:
            return 0
        verdicts = {c.result.verdict if c.result else "error" for c in self.candidates}
        return 1 if verdicts == {"fail"} else 3


def answer_of(contract: ContractResult) -> Answer:
    """Return the answer to the question whether the new model is worse."""
    if contract.verdict == "pass":
        proved = any(reason.code == "not_worse" for reason in contract.reasons)
        return "not worse" if proved else "no drop found"
    answers: dict[str, Answer] = {"fail": "worse", "inconclusive": "undecided"}
    return answers.get(contract.verdict, "not measured")


def contracts_to_move(
    revision: Revision, policy: Policy, names: Sequence[str], present: str | None
) -> tuple[Contract, ...]:
    """Return the contracts to move: those with the present model, or else the named ones, or else
    those whose model retires soon. Raises UsageError if there is none."""
    suite = narrowed(every_contract(revision, policy, SHAPES), names)
    every = [found.head for found in suite if found.head]
    if present is not None:
        found = [c for c in every if _name(c.target.model) == _name(present)]
        missing = f"no contract uses `{present}` (--from)"
    else:
        found = [c for c in every if names or retires_soon(c.target.model)]
        missing = (
            "no contract's model retires within 90 days; name the model to replace with --from, or "
            "contracts with --contract"
        )
    if not found:
        raise UsageError(missing)
    return tuple(found)


def _name(model: str) -> str:
    try:
        return str(read_model_name(model))
    except ValueError:
        return model


def migrate(
    revision: Revision,
    policy: Policy,
    contracts: Sequence[Contract],
    models: Sequence[str],
    replay: Path | None,
) -> Migration:
    """Compare the present models with each new one, on all contracts that the edit affects.

    Raises ContractError for a new model that cannot be called.
    """
    notices = require_known_models([(Position("--to"), model) for model in models], [revision])
    return Migration(
        tuple(dict.fromkeys(contract.target.model for contract in contracts)),
        tuple(_candidate(revision, policy, contracts, model, replay) for model in models),
        notices,
    )


def _candidate(
    revision: Revision,
    policy: Policy,
    contracts: Sequence[Contract],
    model: str,
    replay: Path | None,
) -> Candidate:
    try:
        swap = swap_model(revision, contracts, model)
        change = Change(revision, Overlay(revision, swap.texts))
        plan = RunPlan(
            work=plan_diff(change, policy), revisions=(change.base, change.head), replay=replay
        )
        return Candidate(model, swap, execute(plan))
    except (ContractError, UsageError) as error:
        return Candidate(model, why=str(error))
