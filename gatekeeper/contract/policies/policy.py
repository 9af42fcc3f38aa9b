"""The repository's policy, `.github/gatekeeper.yml`: always read at the base revision. Folders may
have stricter ones: see folder_policies.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from gatekeeper.contract.meaning.schemas import policy_schema
from gatekeeper.contract.policies.folder_policies import (
    POLICY_PATH as POLICY_PATH,  # the path of the policy, for every room
)
from gatekeeper.contract.policies.folder_policies import (
    FolderPolicy,
    load_folder_policies,
    patterns,
    policy_paths,
    read_policy,
)
from gatekeeper.contract.policies.policy_keys import policy_keys, value_of, with_value
from gatekeeper.contract.syntax.schema import whole
from gatekeeper.contract.syntax.schema_errors import schema_problems
from gatekeeper.contract.values.change import Change, Revision
from gatekeeper.errors import ContractError, Problem

DEFAULT_SUCCESS_RATE = 0.5
"""The success rate that a contract without a `success_rate` must reach if nothing else can evaluate
it. A contract that fails most of its own fixtures says that its prompt or the contract is wrong."""

NO_HISTORY = "off"

# The keys whose numbers are whole, also if they are written as 5.0.
_WHOLE = ("fixtures", "calls", "concurrency")


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
class ProposePolicy:
    """What the action may spend on contracts that it proposes for prompts without one, in US
    dollars, and the model that writes them. 0 proposes none."""

    cost_usd: float = 0.0
    model: str = ""


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

    def less(self, calls: int, cost_usd: float | None, minutes: float = 0.0) -> Limits:
        """Return what so many calls, their cost if it is known, and these minutes leave."""
        return replace(
            self,
            calls=None if self.calls is None else max(0, self.calls - calls),
            cost_usd=None if self.cost_usd is None else max(0.0, self.cost_usd - (cost_usd or 0.0)),
            minutes=None if self.minutes is None else self.minutes - minutes,
        )


BURN_RATE: Mapping[str, float] = MappingProxyType({"1d": 2.8, "7d": 1.0, "window": 1.0})
"""The burn rate from which a window is marked. The rule of The Site Reliability Workbook, chapter
5: the share of the budget that may go, times the objective's window, divided by the window looked
at. 2.8 is a tenth of the budget of 28 days in one day; 1 is the workbook's slowest alert: at that
rate the budget ends with its window."""


@dataclass(frozen=True, slots=True)
class BudgetPolicy:
    """Whether a spent error budget freezes a prompt, except those that match a pattern of `exempt`,
    and the burn rate from which each window is marked."""

    freeze: bool = True
    exempt: tuple[str, ...] = ()
    burn_rate: Mapping[str, float] = field(default_factory=lambda: BURN_RATE)


@dataclass(frozen=True, slots=True)
class WaiverPolicy:
    """The lowest role that may waive a failure."""

    permission: Literal["read", "triage", "write", "maintain", "admin"] = "maintain"


@dataclass(frozen=True, slots=True)
class PublishedLinks:
    """The addresses of the dashboard and of the page of a run's report; None: they have none."""

    dashboard: str | None = None
    report: str | None = None


@dataclass(frozen=True, slots=True)
class BlamePolicy:
    """What the action may spend to find the harmful edits of a failing change; 0: no search."""

    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy. The defaults apply to a repository without a policy file.

    `contracts` and `prompts` include the patterns of `folders`. All other values are those of the
    repository; `at` gives those that apply in a place.
    """

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
    error_budget: BudgetPolicy = BudgetPolicy()
    waivers: WaiverPolicy = WaiverPolicy()
    history: str = "branch:gatekeeper-data"
    checks: OwnChecks = OwnChecks()
    judge: JudgePolicy = JudgePolicy()
    blame: BlamePolicy = BlamePolicy()
    propose: ProposePolicy = ProposePolicy()
    links: PublishedLinks = PublishedLinks()
    folders: tuple[FolderPolicy, ...] = ()
    """The policies of folders, the outer folders first."""

    def at(self, *paths: str) -> Policy:
        """Return the policy that applies to something at these paths: of the repository's and of
        every folder above one of the paths, the strictest."""
        policy = self
        for folder in self.folders:
            if any(map(folder.holds, paths)):
                policy = _stricter(policy, folder)
        return policy

    def nearest(self, path: str) -> FolderPolicy | None:
        """Return the policy of the innermost folder above a path; None if only the repository's
        applies."""
        return next((folder for folder in reversed(self.folders) if folder.holds(path)), None)

    def path_for(self, path: str) -> str:
        """Return the path of the policy that is nearest to a path."""
        nearest = self.nearest(path)
        return nearest.path if nearest else POLICY_PATH

    def patterns_for(self, path: str) -> tuple[str, ...]:
        """Return the patterns of contracts of the policy that is nearest to a path."""
        nearest = self.nearest(path)
        if nearest:
            return nearest.contracts
        others = {pattern for folder in self.folders for pattern in folder.contracts}
        return tuple(pattern for pattern in self.contracts if pattern not in others)

    def folder_of(self, path: str) -> str:
        """Return the folder of the nearest policy; the empty text for the repository's."""
        nearest = self.nearest(path)
        return nearest.folder if nearest else ""


def policy_in_force(change: Change) -> tuple[Policy, tuple[str, ...]]:
    """Return the policy that applies to a change, and notices about it.

    This is the base's policy. If it cannot be read, nobody knows where the prompts are and what
    may be spent, so only a change that repairs the policy and nothing else is accepted; the
    defaults then apply. Raises ContractError for any other change, and if head's policy cannot be
    read: it must not be merged.
    """
    try:
        policy = load_policy(change.base)
    except ContractError as error:
        changed = change.changed
        if not changed or changed != {*policy_paths(changed)}:
            raise ContractError([*map(_on_base, error.problems)]) from None
        load_policy(change.head)
        mistakes = "; ".join(str(error).splitlines())  # a notice is one line
        policy = readable_policy(change.base)
        what = f"This change repairs these mistakes in the policy of the base branch: {mistakes}"
        return policy, (what,)
    load_policy(change.head)
    return policy, ()


def policy_problems_at(revision: Revision, branch: str) -> tuple[Problem, ...]:
    """Return the mistakes in the policy on a branch to merge into. With one, every pull request
    fails, except one that repairs the policy and changes nothing else."""
    try:
        load_policy(revision)
    except ContractError as error:
        return tuple(
            replace(
                problem,
                fix=(
                    f"{problem.fix}{'' if problem.fix.endswith('?') else '.'} "
                    f"With this mistake on the branch {branch}, every pull request "
                    "fails; repair the policy in a pull request that changes nothing else"
                ),
            )
            for problem in error.problems
        )
    return ()


def _on_base(problem: Problem) -> Problem:
    """Return a mistake in the base policy for a change that cannot be checked because of it."""
    return replace(
        problem,
        what=f"the policy on the branch to merge into has a mistake: {problem.what}",
        fix=f"{problem.fix}; repair the policy in a pull request that changes nothing else",
    )


def load_policy(revision: Revision) -> Policy:
    """Load the revision's policy, or the defaults if it has none, with those of its folders.
    Raises ContractError."""
    policy = Policy()
    folders: tuple[FolderPolicy, ...] = ()
    problems: list[Problem] = []
    try:
        policy = _load_root(revision)
    except ContractError as error:
        problems += error.problems
    try:
        folders = load_folder_policies(revision, Policy().contracts, Policy().prompts)
    except ContractError as error:
        problems += error.problems
    if problems:
        raise ContractError(problems)
    if not folders:
        return policy
    return replace(
        policy,
        contracts=_joined(policy.contracts, (folder.contracts for folder in folders)),
        prompts=_joined(policy.prompts, (folder.prompts for folder in folders)),
        folders=folders,
    )


def readable_policy(revision: Revision) -> Policy:
    """Load the revision's policy as far as it can be read: without its folders if one of theirs is
    wrong, and the defaults if the repository's is."""
    for load in (load_policy, _load_root):
        try:
            return load(revision)
        except ContractError:
            continue
    return Policy()


def _load_root(revision: Revision) -> Policy:
    if POLICY_PATH not in revision.entries:
        return Policy()
    document = read_policy(revision, POLICY_PATH)
    data = {} if document.data is None else document.data
    problems = schema_problems(document, policy_schema(), data)
    if problems:
        raise ContractError(problems)
    return _policy(data)


def _joined(own: Sequence[str], more: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*own, *(pattern for group in more for pattern in group)]))


def _policy(data: Mapping[str, Any]) -> Policy:
    defaults = Policy()
    given = {key: value for key, value in data.items() if not isinstance(value, Mapping)}
    given |= {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
    if "contracts" in given:
        given["contracts"] = patterns(given["contracts"])
    if "history" in given:
        given["history"] = given["history"] or NO_HISTORY
    sections: Mapping[str, Mapping[str, Any]] = {
        key: {name: tuple(part) if isinstance(part, list) else part for name, part in value.items()}
        for key, value in data.items()
        if isinstance(value, Mapping)
    }
    for key, part in sections.items():
        if key != "providers":
            given[key] = replace(getattr(defaults, key), **whole(part, *_WHOLE))
    if "success_rate" in sections.get("new_contracts", {}):
        given["new_contracts"] = replace(given["new_contracts"], floor=True)
    if "burn_rate" in sections.get("error_budget", {}):
        rates = BURN_RATE | sections["error_budget"]["burn_rate"]
        given["error_budget"] = replace(given["error_budget"], burn_rate=rates)
    if not sections.get("propose", {}).get("cost_usd"):
        given["propose"] = defaults.propose  # no model is asked
    ways = sections.get("providers", {})
    through_litellm = tuple(name for name, way in ways.items() if way == "litellm")
    return Policy(**given, through_litellm=through_litellm)


def _stricter(policy: Policy, folder: FolderPolicy) -> Policy:
    """Return the policy with each rule of the folder that is stricter."""
    for name, value in folder.rules.items():
        rank = policy_keys()[name].rank
        if rank(value) > rank(value_of(policy, name)):
            policy = with_value(policy, name, value)
            if name == "new_contracts.success_rate":
                policy = with_value(policy, "new_contracts.floor", True)
    return policy
