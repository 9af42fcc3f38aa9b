"""The repository's policy, `.github/gatekeeper.yml`: always read at the base revision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

POLICY_PATH = ".github/gatekeeper.yml"


@dataclass(frozen=True, slots=True)
class Allow:
    """What a pull request may do to its own judge without failing."""

    contract_removal: bool = False
    weakening: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may spend. None means: no such limit."""

    cost_usd: float | None = 2.00
    calls: int | None = 2000
    minutes: float | None = 20
    concurrency: int = 16
    requests_per_minute: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The defaults are what a repository without a policy file gets."""

    contracts: str = "contracts/**/*.yaml"
    prompts: tuple[str, ...] = ("prompts/**",)
    require_contract: bool = False
    on_inconclusive: Literal["pass", "fail"] = "pass"
    allow: Allow = Allow()
    limits: Limits = Limits()
    freeze: bool = True
    waiver_permission: Literal["read", "triage", "write", "maintain", "admin"] = "maintain"
    history_branch: str = "gatekeeper-data"
