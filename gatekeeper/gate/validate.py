"""Validates contracts without a model: loads them, renders every prompt, prepares every check."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gatekeeper import numbers
from gatekeeper.checks.packages import use_packages
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import AffectedContract
from gatekeeper.contract.changes.own_code import unlisted_code_problems
from gatekeeper.contract.checks.gate_problems import without_effect
from gatekeeper.contract.discovery.places import is_own
from gatekeeper.contract.files.contract_document import (
    ContractDocument,
    contract_paths_of,
    read_contract_document,
    read_contract_documents,
)
from gatekeeper.contract.files.inventory import MOST_PROMPT_FILES, Inventory, take_inventory
from gatekeeper.contract.fixtures.near_duplicates import near_duplicate_warning
from gatekeeper.contract.fixtures.quarantine import ended_quarantines, held_fixtures
from gatekeeper.contract.fixtures.unused_variables import (
    UnusedVariable,
    names_read,
    placeholder_fixtures,
    unused_variables,
)
from gatekeeper.contract.formats.github_prompt import misspelt_keys
from gatekeeper.contract.loading.load import load_contract, shared_names
from gatekeeper.contract.models.allowed import EVERY_MODEL, AllowedModels, model_problems
from gatekeeper.contract.models.faults import (
    FindFault,
    NamedModel,
    find_faults,
    named_model,
    no_fault,
    with_recordings,
)
from gatekeeper.contract.models.params import param_place
from gatekeeper.contract.policies.folder_policies import misnamed_policies, read_policy
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy
from gatekeeper.contract.policies.unmatched_patterns import overruled_keys, unmatched_patterns
from gatekeeper.contract.prompts.kinds import GITHUB_PROMPT
from gatekeeper.contract.prompts.unfilled_names import tags_sent, unfilled_names, words_in_tags
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.reading.size_limits import require_few_trials
from gatekeeper.contract.simulated_user.settings import small_user
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract, Position
from gatekeeper.errors import ContractError, Problem, UsageError
from gatekeeper.gate.forecast.power import (
    compute_power,
    limit_notes,
    objective_summary,
    unpriced_warnings,
)
from gatekeeper.gate.plan.plan import Job, plan_job
from gatekeeper.gate.plan.questions import other_models
from gatekeeper.sampling.limits import Price

if TYPE_CHECKING:
    from gatekeeper.providers.call_advice import CallAdvice

# What `validate` found, as plain values: contracts, findings and the inventory.


FindingLevel = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about a file. Only an `error` keeps a contract from running. `contract` is
    the path of the contract that it was found in; None if it belongs to no contract."""

    level: FindingLevel
    problem: Problem
    contract: str | None = None

    def __str__(self) -> str:
        return str(self.problem) if self.problem.fix else self._without_fix()

    def _without_fix(self) -> str:
        at = (self.problem.path, self.problem.line, self.problem.column)
        text = f"{':'.join(str(part) for part in at if part)}: {self.problem.what}"
        return text.replace("\n", "⏎")

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {"level": self.level, "contract": self.contract, **asdict(self.problem)}


@dataclass(frozen=True, slots=True)
class ValidContract:
    """One contract without an error. `units` are its distinct inputs, or clusters of them;
    `repeated` counts fixtures whose input repeats that of another."""

    path: str
    name: str
    prompt: str
    model: str
    fixtures: int
    repeated: int
    units: int
    clustered: bool
    checks: int
    groups: tuple[str, ...] = ()
    deciding: tuple[str, ...] = field(default=(), repr=False)
    """The fixtures that are not in quarantine."""

    @property
    def fixtures_text(self) -> str:
        """Return the number of fixtures, and how many count if that is another number."""
        text = f"{self.fixtures:,}"
        if self.clustered:
            text = f"{text} in {numbers.count(self.units, 'cluster')}"
        return f"{text}, {f'{self.repeated:,}'} repeated" if self.repeated else text


@dataclass(frozen=True, slots=True)
class Validation:
    """The contracts without an error, all findings in the order of files, and the inventory; it is
    empty if only some files were named."""

    contracts: tuple[ValidContract, ...]
    findings: tuple[Finding, ...]
    inventory: Inventory = field(default_factory=Inventory)
    whole: bool = True

    def of_level(self, level: FindingLevel) -> tuple[Finding, ...]:
        """Return the findings of one level."""
        return tuple(finding for finding in self.findings if finding.level == level)

    @property
    def valid(self) -> bool:
        """Return whether there is no error."""
        return not self.problems

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the problems that keep a contract from running."""
        return tuple(finding.problem for finding in self.of_level("error"))

    def document(self) -> Mapping[str, Any]:
        """Return everything as JSON."""
        inventory = self.inventory
        return {
            "valid": self.valid,
            "contracts": [
                {name: value for name, value in asdict(contract).items() if name != "deciding"}
                for contract in self.contracts
            ],
            "findings": [finding.document() for finding in self.findings],
            "prompts": [asdict(prompt) for prompt in inventory.prompts],
            "suites": [asdict(suite) for suite in inventory.suites],
            "folders": [asdict(folder) for folder in inventory.by_folder()],
            "unread": inventory.unread,
            "of_agents": list(inventory.of_agents),
        }


_YEAR = 365
_MOST_UNCOVERED = 40
"""The most prompts without a contract that are read to say why they cannot have one."""
Advise = Callable[[str, Mapping[str, Any]], Iterable["CallAdvice"]]
"""Advises on calls to a model with these parameters."""


def validate_contracts(
    revision: Revision,
    policy: Policy,
    paths: Sequence[str] = (),
    find_fault: FindFault = no_fault,
    price: Price | None = None,
    advise: Advise | None = None,
) -> Validation:
    """Load the contracts, and return those without an error, with everything found.

    `paths` are contract files from the repository root; none means all that the policy names, and
    an inventory of the repository. `price` gives the cost of a request, for a warning about limits
    that need a price; `advise` says what calls to a model will meet. Raises ContractError if the
    policy names packages that cannot be used, or too many contracts.
    """
    use_packages(policy)
    validating = _Validating(revision, policy, find_fault, price, advise)
    if paths:
        validating.note_keys(paths)
        for path in (part for named in paths for part in contract_paths_of(revision, named)):
            validating.add(path)
        return validating.result(Inventory(), whole=False)
    inventory = take_inventory(revision, policy, SHAPES)
    for suite in inventory.suites:
        if suite.used:
            validating.add(suite.path)
    watched = {prompt.path for prompt in inventory.prompts}
    validating.note_keys(watched.union(filter(is_own, revision.entries)))
    validating.note_unused(inventory)
    validating.note_unreadable(inventory)
    validating.note_unmatched()
    return validating.result(inventory, whole=True)


@dataclass
class _Validating:
    """Validates one contract after the other, and remembers the names that are taken."""

    revision: Revision
    policy: Policy
    find_fault: FindFault
    price: Price | None
    advise: Advise | None
    findings: list[Finding] = field(default_factory=list)
    contracts: list[ValidContract] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    known: set[tuple[FindingLevel, Problem]] = field(default_factory=set)
    read_in: dict[str, frozenset[str] | None] = field(default_factory=dict)

    def result(self, inventory: Inventory, *, whole: bool) -> Validation:
        if not self.contracts and not any(f.level == "error" for f in self.findings):
            what = f"no contract matches {', '.join(self.policy.contracts)}"
            fix = "write a contract, or run `gatekeeper init`, which proposes them or says why not"
            level: FindingLevel = "error" if POLICY_PATH in self.revision.entries else "warning"
            self.findings.append(Finding(level, Problem(POLICY_PATH, what, fix)))
        return Validation(tuple(self.contracts), tuple(self.findings), inventory, whole)

    def add(self, path: str) -> None:
        """Validate the contract at the path."""
        try:
            job = prepare_contract(self.revision, path, self.policy)
        except ContractError as error:
            self._add("error", error.problems, path)
            return
        contract = job.contract
        named = self.names[contract.name]
        named += [] if path in named else [path]
        shared = shared_names({contract.name: named})
        if shared:
            self.contracts = [one for one in self.contracts if one.path not in shared]
            for other, found in shared.items():
                self._add("error", found.problems, other)
            return
        models = [named_model(contract, contract.target.model), *other_models(job)]
        faults = find_faults(models, with_recordings(self.find_fault, [self.revision]))
        if faults.refused:
            self._add("error", faults.refused, path)
            return
        read = read_contract_document(self.revision, path)
        # One mistake, said once: a name in single braces is a variable that nothing reads.
        unused = [] if any(unfilled_names(contract)) else [*self._unused(contract, read.file)]
        mistakes = [found.problem for found in unused if found.is_mistake]
        if mistakes:
            self._add("error", mistakes, path)
            return
        written = self.policy.models
        allowed = EVERY_MODEL if written is None else AllowedModels(written, True)
        self.contracts.append(_valid_contract(job))
        self._add("warning", [*model_problems(models, allowed), *faults.doubtful], path)
        self._add("warning", self._advice(contract, faults.doubtful), path)
        # With a tolerance, or the tests of a tool that compares nothing.
        alone = contract.gate.tolerance is not None or read.is_foreign
        self.note_keys(prompt.path for prompt in contract.target.prompts)
        doubts = _doubts(job, read, self.price, alone=alone)
        self._add("warning", doubts, path)
        self._add("warning", unlisted_code_problems(contract, self.policy), path)
        self._add("warning", (found.problem for found in unused), path)
        today = datetime.now(UTC).date()
        self._add("warning", ended_quarantines(contract, today), path)
        held = held_fixtures(contract, today)
        self._add("note", (Problem(path, text, "") for text in held), path)
        self._add("note", _notes(job, alone=alone), path)
        self._add("note", _later_ends(models), path)

    def note_keys(self, paths: Iterable[str]) -> None:
        """Warn of misspelt keys in files that are prompts, whether a contract names them or not:
        with such a key they may be no contract, or have no parameters."""
        found = sorted(path for path in paths if path.lower().endswith(GITHUB_PROMPT))
        for path in found[:MOST_PROMPT_FILES]:
            self._add("warning", misspelt_keys(self.revision, path), None)

    def note_unused(self, inventory: Inventory) -> None:
        """Warn of contracts that no pattern of the policy matches."""
        for suite in inventory.unused:
            if suite.kind == "contract":
                written = ", ".join(self.policy.patterns_for(suite.path))
                what = (
                    "looks like a contract but is not used, because no pattern of the policy "
                    f"({written}) matches the file's path"
                )
                fix = f"add this path to `contracts` in {self.policy.path_for(suite.path)}"
                self._add("warning", [Problem(suite.path, what, fix)], None)

    def note_unreadable(self, inventory: Inventory) -> None:
        """Say of prompts without a contract why one could not test them as they are."""
        for prompt in inventory.uncovered[:_MOST_UNCOVERED]:
            try:
                prompt.load(self.revision)
            except ContractError as error:
                self._add("note", error.problems, None)
            except UnreadableError as error:
                found = Problem(prompt.path, error.what, error.fix, error.line or prompt.line)
                self._add("note", [found], None)

    def note_unmatched(self) -> None:
        """Warn of patterns of the policies that match no file, of rules of folders that a stricter
        policy above makes useless, and of policies that nothing reads."""
        self._add("warning", unmatched_patterns(self.revision), None)
        if self.policy.limits.cost_usd is None:
            what = "no limit on cost: one run may spend any amount"
            fix = "set `cost_usd` to the most US dollars that one run may cost"
            written = read_policy(self.revision, POLICY_PATH)
            self._add("warning", [written.problem(("limits", "cost_usd"), what, fix)], None)
        self._add("warning", overruled_keys(self.revision, self.policy), None)
        self._add("warning", misnamed_policies(self.revision.entries), None)

    def _unused(self, contract: Contract, file: str) -> Iterator[UnusedVariable]:
        return unused_variables(contract, partial(self._read_in, file))

    def _read_in(self, file: str) -> frozenset[str] | None:
        """Return the variables that any contract of the file reads; None if that cannot be said.
        The prompts of a foreign file share their tests, and each may use others of the variables;
        the value of a variable may name another variable there, too.
        """
        if file not in self.read_in:
            found: frozenset[str] | None = frozenset(self._tags_in_suite(file))
            for path in contract_paths_of(self.revision, file):
                try:
                    names = names_read(load_contract(self.revision, path, SHAPES))
                except ContractError:
                    names = None
                found = None if names is None or found is None else found | names
                if found is None:
                    break
            self.read_in[file] = found
        return self.read_in[file]

    def _tags_in_suite(self, file: str) -> Iterator[str]:
        """Yield every word in a tag of a foreign file and of the files that it names."""
        read = read_contract_documents(self.revision, file)
        for path in sorted({file, *read[0].paths} if read and read[0].is_foreign else ()):
            entry = self.revision.entries.get(path)
            if entry is not None and entry.kind == "file":
                content = self.revision.read(path)
                yield from words_in_tags(content.decode("utf-8", errors="replace"))

    def _advice(self, contract: Contract, doubtful: Sequence[Problem]) -> Iterator[Problem]:
        """Yield what calls to the contract's models will meet; of a model that is likely misspelt,
        that is enough."""
        if self.advise is None:
            return
        document = read_contract_document(self.revision, contract.path).document
        for part in contract.parts:
            target = part.target
            for advice in self.advise(target.model, target.params):
                if advice.param is None:
                    if doubtful or part is not contract:
                        continue
                    place = contract.model_at or Position(contract.path)
                else:
                    place = param_place(advice.param, document, target.prompt)
                yield Problem(
                    place.path, advice.what, advice.fix, place.line, place.column, advice.param
                )

    def _add(self, level: FindingLevel, problems: Iterable[Problem], path: str | None) -> None:
        for problem in problems:
            if (level, problem) not in self.known:
                self.known.add((level, problem))
                self.findings.append(Finding(level, problem, path))


def _later_ends(models: Iterable[NamedModel]) -> Iterator[Problem]:
    """Yield the ends within a year of models that last longer than those that are warned of."""
    from gatekeeper.providers.models.retirement import find_retirement

    for place, model in dict.fromkeys(models):
        ends = find_retirement(model)
        if ends and not ends.is_soon and ends.days_left <= _YEAR:
            yield place.problem(ends.text, "", "model")


def _notes(job: Job, *, alone: bool) -> Iterator[Problem]:
    """Yield what to know about a contract: what its tool would test and this one does not, and
    what its fixtures are too few for. `alone` says that a comparison with base is not what its
    author relies on."""
    contract, evaluation = job.contract, job.evaluations[0]
    for skipped in contract.not_run:
        at, what = skipped.position, f"not run: `{skipped.kind}`: {skipped.why}"
        yield at.problem(what, "")
    graded = contract.gate.on == "score"
    weak = compute_power(evaluation).note if alone and not graded else None
    for note in (weak, objective_summary(evaluation), *limit_notes(evaluation)):
        if note:
            yield Problem(contract.path, note, "")
    yield from placeholder_fixtures(contract)


def _doubts(
    job: Job, read: ContractDocument, price: Price | None, *, alone: bool
) -> Iterator[Problem]:
    """Yield what is likely not meant in a contract that can run."""
    contract, evaluation = job.contract, job.evaluations[0]
    sentences = [
        None if alone or contract.gate.on == "score" else compute_power(evaluation).warning,
        near_duplicate_warning(contract.fixtures, evaluation.counts_with),
        *(unpriced_warnings(evaluation, price) if price else ()),
    ]
    yield from (Problem(contract.path, sentence, "") for sentence in filter(None, sentences))
    yield from unfilled_names(contract)
    yield from tags_sent(contract)
    yield from small_user(contract)
    yield from without_effect(contract, read.document, is_foreign=read.is_foreign)


def repository_path(path: Path, root: Path) -> str:
    """Return the path from the repository root, with forward slashes.

    Raises UsageError if it is outside of the repository.
    """
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise UsageError(
            f"{path} is not in the repository {root.resolve()}; give a path in this repository, "
            "or choose another repository with --repo"
        ) from None


def prepare_contract(revision: Revision, path: str, policy: Policy) -> Job:
    """Load a contract, render its prompt for every fixture, and prepare its checks.

    Raises ContractError.
    """
    contract = load_contract(revision, path, SHAPES)
    require_few_trials([(part, 1) for part in contract.parts])
    for group in contract.groups:
        _plan_part(group, policy)
    return _plan_part(contract, policy)


def _plan_part(contract: Contract, policy: Policy) -> Job:
    affected = AffectedContract(contract.name, contract.path, None, contract, (), True)
    return plan_job(affected, policy)


def _valid_contract(job: Job) -> ValidContract:
    contract, evaluation = job.contract, job.evaluations[0]
    return ValidContract(
        path=contract.path,
        name=contract.name,
        prompt=contract.target.prompt.path,
        model=contract.target.model,
        fixtures=len(contract.fixtures),
        repeated=len(evaluation.same_input),
        units=len(contract.fixtures) - len(evaluation.counts_with),
        clustered=evaluation.clustered,
        checks=len(contract.checks) + sum(len(fixture.checks) for fixture in contract.fixtures),
        groups=tuple(group.name for group in contract.groups),
        deciding=tuple(f.id for f in contract.fixtures if not f.quarantine),
    )
