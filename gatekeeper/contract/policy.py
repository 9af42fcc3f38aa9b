"""The repository's policy, `.github/gatekeeper.yml`: always read at the base revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from gatekeeper.contract.change import Change, Revision
from gatekeeper.contract.read import UnreadableError, read_text
from gatekeeper.contract.schemas import policy_schema
from gatekeeper.contract.syntax.schema import whole
from gatekeeper.contract.syntax.schema_errors import schema_problems
from gatekeeper.contract.syntax.yaml_positions import parse_yaml
from gatekeeper.errors import ContractError, Problem

DEFAULT_SUCCESS_RATE = 0.5
"""The success rate that a contract without a `success_rate` must reach if nothing else can evaluate
it. A contract that fails most of its own fixtures says that its prompt or the contract is wrong."""

POLICY_PATH = ".github/gatekeeper.yml"
NO_HISTORY = "off"


@dataclass(frozen=True, slots=True)
class Allow:
    """What a pull request may do to its own contracts without failing."""

    contract_removal: bool = False
    weakening: bool = False


@dataclass(frozen=True, slots=True)
class NewContracts:
    """The requirements for a contract without a base version: how many fixtures with distinct
    inputs, and which success rate from 0 to 1; None requires none.

    `floor` says that the policy file sets the rate: it then also applies if the contract's own
    objective is lower. The default applies only to contracts without such an objective.
    """

    fixtures: int = 0
    success_rate: float | None = DEFAULT_SUCCESS_RATE
    floor: bool = False


@dataclass(frozen=True, slots=True)
class OwnChecks:
    """Which code of the team's own may run: patterns of files of the base branch with check
    functions, and installed packages with check types, as `name==version`."""

    python: tuple[str, ...] = ("contracts/**/*.py",)
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgePolicy:
    """What a judge must show before it may grade: a calibration on the base branch, and the least
    kappa of a calibrated judge; None for any."""

    require_calibration: bool = False
    min_kappa: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may spend; with `month_usd`, what all runs of a calendar month may spend before
    full suites stop. None means: no such limit."""

    cost_usd: float | None = 2.00
    calls: int | None = 2000
    minutes: float | None = 20
    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    month_usd: float | None = None


BURN_RATE: Mapping[str, float] = MappingProxyType({"1d": 2.8, "7d": 1.0, "window": 1.0})
"""The burn rate from which a window is marked. The rule of The Site Reliability Workbook, chapter
5: the share of the budget that may go, times the objective's window, divided by the window looked
at. 2.8 is a tenth of the budget of 28 days in one day; 1 is the workbook's slowest alert: at that
rate the budget ends with its window."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy. The defaults apply to a repository without a policy file."""

    contracts: tuple[str, ...] = ("contracts/**/*.yaml", "contracts/**/*.yml")
    prompts: tuple[str, ...] = ("prompts/**",)
    require_contract: bool = False
    on_inconclusive: Literal["pass", "fail"] = "pass"
    on_weakening: Literal["note", "require_waiver"] = "note"
    allow: Allow = Allow()
    new_contracts: NewContracts = NewContracts()
    models: tuple[str, ...] | None = None
    """Patterns of the hosted models that may be called; None: the providers in use at base."""
    through_litellm: tuple[str, ...] = ()
    """Providers that are called through litellm although they could be called natively."""
    limits: Limits = Limits()
    freeze: bool = True
    freeze_exempt: tuple[str, ...] = ()
    burn_rate: Mapping[str, float] = field(default_factory=lambda: BURN_RATE)
    waiver_permission: Literal["read", "triage", "write", "maintain", "admin"] = "maintain"
    history: str = "branch:gatekeeper-data"
    checks: OwnChecks = OwnChecks()
    judge: JudgePolicy = JudgePolicy()
    blame_usd: float = 0.0
    """What the action may spend to find the harmful edits of a failing change; 0: no search."""


def policy_in_force(change: Change) -> tuple[Policy, tuple[str, ...]]:
    """Return the policy that applies to a change, and notices about it.

    This is the base's policy. If it cannot be read, nobody knows where the prompts are and what
    may be spent, so only a change that repairs the policy and nothing else is accepted; the
    defaults then apply. Raises ContractError for any other change, and if head's policy cannot be
    read: it must not be merged.
    """
    load_policy(change.head)
    try:
        return load_policy(change.policy_revision), ()
    except ContractError as error:
        if _changed_paths(change) != {POLICY_PATH}:
            raise ContractError([*map(_on_base, error.problems)]) from None
        mistakes = "; ".join(str(error).splitlines())  # a notice is one line
        return Policy(), (f"This change repairs the base policy: {mistakes}",)


def policy_problems_at(revision: Revision, branch: str) -> tuple[Problem, ...]:
    """Return the mistakes in the policy on a branch to merge into. With one, every pull request
    fails, except one that repairs the policy and changes nothing else."""
    try:
        load_policy(revision)
    except ContractError as error:
        return tuple(
            replace(
                problem,
                what=f"on the branch {branch}, every pull request fails by this: {problem.what}",
                fix=f"{problem.fix}; repair it in a pull request that changes nothing else",
            )
            for problem in error.problems
        )
    return ()


def _changed_paths(change: Change) -> set[str]:
    base, head = change.base.entries, change.head.entries
    return {path for path in base.keys() | head.keys() if base.get(path) != head.get(path)}


def _on_base(problem: Problem) -> Problem:
    """Return a mistake in the base policy for a change that cannot be checked because of it."""
    return replace(
        problem,
        what=f"on the branch to merge into: {problem.what}",
        fix=f"{problem.fix}; repair it in a pull request that changes nothing else",
    )


def load_policy(revision: Revision) -> Policy:
    """Load the revision's policy, or the defaults if it has none. Raises ContractError."""
    if POLICY_PATH not in revision.entries:
        return Policy()
    try:
        document = parse_yaml(read_text(revision, POLICY_PATH), POLICY_PATH)
    except UnreadableError as error:
        raise ContractError([Problem(POLICY_PATH, error.what, error.fix, error.line)]) from None
    data = {} if document.data is None else document.data
    problems = schema_problems(document, policy_schema(), data)
    if problems:
        raise ContractError(problems)
    return _policy(data)


def _policy(data: Mapping[str, Any]) -> Policy:
    plain = {
        name: data[name]
        for name in ("require_contract", "on_inconclusive", "on_weakening")
        if name in data
    }
    defaults = Policy()
    budget = data.get("error_budget", {})
    return Policy(
        **plain,
        contracts=_patterns(data.get("contracts", defaults.contracts)),
        prompts=tuple(data.get("prompts", defaults.prompts)),
        allow=Allow(**data.get("allow", {})),
        new_contracts=NewContracts(
            **whole(data.get("new_contracts", {}), "fixtures"),
            floor="success_rate" in data.get("new_contracts", {}),
        ),
        models=tuple(data["models"]) if "models" in data else None,
        through_litellm=tuple(
            name for name, way in data.get("providers", {}).items() if way == "litellm"
        ),
        limits=Limits(**whole(data.get("limits", {}), "calls", "concurrency")),
        freeze=budget.get("freeze", defaults.freeze),
        freeze_exempt=tuple(budget.get("exempt", defaults.freeze_exempt)),
        burn_rate={**defaults.burn_rate, **budget.get("burn_rate", {})},
        waiver_permission=data.get("waivers", {}).get("permission", defaults.waiver_permission),
        history=data.get("history", defaults.history) or NO_HISTORY,
        checks=OwnChecks(**{name: tuple(given) for name, given in data.get("checks", {}).items()}),
        judge=JudgePolicy(**data.get("judge", {})),
        blame_usd=data.get("blame", {}).get("cost_usd", defaults.blame_usd),
    )


def _patterns(written: str | Sequence[str]) -> tuple[str, ...]:
    return (written,) if isinstance(written, str) else tuple(written)
