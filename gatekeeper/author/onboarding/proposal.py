"""Proposes a contract for each prompt of a repository, and the policy that finds them.

A suite of another tool is taken as it is; a prompt without a suite gets a contract of its own.
`gatekeeper validate` accepts what is proposed: the proposal is validated as if its files were
written, and what has a mistake is left out and named with the mistake.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gatekeeper import numbers
from gatekeeper.author.onboarding.routing import find_skills, write_routing
from gatekeeper.author.onboarding.skeleton import (
    DEFAULT_MODEL,
    Skeleton,
    contract_folder,
    propose_name,
    write_skeleton,
)
from gatekeeper.author.onboarding.surroundings import Surroundings
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.own_code import unlisted_code
from gatekeeper.contract.discovery.places import in_prompt_folder
from gatekeeper.contract.files.contract_document import contract_paths_of, read_contract_documents
from gatekeeper.contract.files.contract_files import matching_contracts
from gatekeeper.contract.files.inventory import (
    Inventory,
    InventoryPrompt,
    InventorySuite,
    take_inventory,
)
from gatekeeper.contract.models.allowed import models_in_use
from gatekeeper.contract.models.faults import ModelFault, with_recordings
from gatekeeper.contract.models.names import is_hosted, read_model_name
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy, load_policy
from gatekeeper.contract.reading.globs import literal_pattern, matching
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.values.change import Overlay, Revision
from gatekeeper.errors import ContractError, Problem, UsageError
from gatekeeper.gate.forecast.power import rarely_open
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.plan.questions import judge_models
from gatekeeper.gate.validate import prepare_contract, validate_contracts
from gatekeeper.providers.models.model_faults import find_model_fault
from gatekeeper.reports.document import Block, Cell, Paragraph, Quote, Table, Words, columns

NATIVE = ("contracts/**/*.yaml", "contracts/**/*.yml")
_SUFFIXES = (".prompt.yml", ".prompt.yaml", ".prompty")
_PROMPTFOO = "promptfooconfig"
_MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """One prompt or suite that was found. `contract` is the file that covers it from now on; None
    if there is none, and then `note` says why. `note` else says where the contract is from."""

    found: str
    kind: str
    contract: str | None
    note: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What `init` proposes. `skeletons` are the contracts to write, `contracts` and `prompts` the
    policy's patterns, `models` the patterns of models in use, `providers` those of hosted ones,
    `code` the files of checks in Python.
    `missing` are patterns that the repository's own policy lacks; it is not changed. `unread`
    counts files that were not looked into, and `about_agents` says which were not counted.
    `mistakes` are those of files that were there before,
    which `gatekeeper validate` reports with the proposal as without it."""

    rows: tuple[ProposalRow, ...] = ()
    skeletons: tuple[Skeleton, ...] = ()
    contracts: tuple[str, ...] = NATIVE
    prompts: tuple[str, ...] = ("prompts/**",)
    providers: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    has_contracts: bool = False
    unread: int = 0
    about_agents: str = ""
    mistakes: tuple[Problem, ...] = ()
    settings: tuple[str, ...] = ()
    """Variables of the repository that say where the models are."""
    decisive: bool = False
    """Whether every contract is large enough for an inconclusive result to block a change."""

    @property
    def runs(self) -> bool:
        """Return whether the gate has a contract to run."""
        return self.has_contracts or any(row.contract for row in self.rows)


def propose(
    revision: Revision,
    only: Sequence[str] = (),
    policy_text: Callable[[Proposal], str] | None = None,
) -> Proposal:
    """Look at the repository and return a proposal.

    Args:
        revision: Its files; nothing is written.
        only: Files to propose contracts for; none means all. Raises UsageError for one that holds
            neither a prompt nor a suite.
        policy_text: Writes the policy of a repository that has none.
    """
    policy = load_policy(revision)
    refused: dict[str, str] = {}
    while True:
        found = _Proposing(revision, policy, only, refused).proposal()
        mistakes = _mistakes(revision, found, policy_text)
        known = len(refused)
        for path, problem in mistakes:
            refused.setdefault(path, f"{problem.what}; {problem.fix}")
        if len(refused) == known:
            before = (problem for path, problem in mistakes if path in revision.entries)
            return replace(found, mistakes=tuple(before))


def _mistakes(
    revision: Revision, found: Proposal, policy_text: Callable[[Proposal], str] | None
) -> list[tuple[str, Problem]]:
    """Return what `validate` would refuse if the proposal was written, each with its file."""
    texts = {made.path: made.text for made in found.skeletons}
    if POLICY_PATH not in revision.entries and policy_text is not None:
        texts[POLICY_PATH] = policy_text(found)
    proposed = Overlay(revision, texts)
    try:
        done = validate_contracts(proposed, load_policy(proposed), (), find_model_fault)
    except ContractError as error:
        return [(problem.path, problem) for problem in error.problems]
    return [
        ((fault.contract or fault.problem.path).partition("#")[0], fault.problem)
        for fault in done.of_level("error")
    ]


@dataclass
class _Proposing:
    revision: Revision
    policy: Policy
    only: Sequence[str]
    refused: Mapping[str, str]
    rows: list[ProposalRow] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    models: Counter[str] = field(default_factory=Counter)
    judges: set[str] = field(default_factory=set)
    code: set[str] = field(default_factory=set)
    too_small: bool = False

    def __post_init__(self) -> None:
        self.around = Surroundings(self.revision, lambda model: self._model_fault(model) is None)

    def proposal(self) -> Proposal:
        has_policy = POLICY_PATH in self.revision.entries
        first = self._inventory(self.policy)
        for suite in first.suites:
            if suite.used and suite.name:
                self.names.add(suite.name)
        used = [suite for suite in first.suites if suite.used and not self._leave_out(suite)]
        suites = [suite.path for suite in first.unused if self._take_suite(suite)]
        left = {suite.path for suite in first.suites}.difference(suites, (s.path for s in used))
        widened = narrow(contract_patterns(suites, native=False), suites, left)
        before = self.policy.contracts
        if not has_policy:
            before = narrow(before, [suite.path for suite in used], left)
        second = self._inventory(replace(self.policy, contracts=(*before, *widened)))
        skeletons = self._skeletons(second)
        self._judge_size_of([suite.path for suite in used])
        native = bool(skeletons) or any(path.startswith("contracts/") for path in suites)
        chosen = contract_patterns(suites, native=native or not suites)
        own = self.policy.patterns_for("")  # without those of folders that have policies
        kept = [p for p in own if has_policy or (used and p not in chosen)]
        accepted = [*suites, *(s.path for s in used), *(made.path for made in skeletons)]
        # A policy that is there already is not changed.
        refused = () if has_policy else left | self.refused.keys()
        self._require_found()
        return Proposal(
            tuple(self.rows),
            tuple(skeletons),
            narrow((*kept, *chosen), accepted, refused),
            prompt_patterns(second.prompts),
            self._providers(),
            tuple(map(literal_pattern, sorted(self.code))),
            self._missing(chosen, suites, skeletons) if has_policy else (),
            bool(used),
            second.unread,
            "" if self.only else second.about_agents,
            settings=self.around.settings if "openai" in self._providers() else (),
            decisive=bool(accepted) and not has_policy and not self.too_small,
        )

    def _inventory(self, policy: Policy) -> Inventory:
        if self.only:  # a file that is named is a prompt, wherever it is
            named = tuple(map(literal_pattern, self.only))
            policy = replace(policy, prompts=(*policy.prompts, *named))
        found = take_inventory(self.revision, policy, SHAPES)
        if not self.only:
            return found
        prompts = tuple(prompt for prompt in found.prompts if prompt.path in self.only)
        suites = tuple(s for s in found.suites if s.used or s.path in self.only)
        return replace(found, prompts=prompts, suites=suites)

    def _leave_out(self, suite: InventorySuite) -> bool:
        """Return whether a contract that was there before has a mistake, and say so in a row."""
        why = self.refused.get(suite.path.partition("#")[0])
        if why is not None:
            self.rows.append(ProposalRow(suite.path, suite.kind, None, why))
        return why is not None

    def _take_suite(self, suite: InventorySuite) -> bool:
        """Return whether the suite runs as it is, and say so in a row."""
        try:
            if suite.path in self.refused:
                raise UnreadableError(self.refused[suite.path], "")
            read = read_contract_documents(self.revision, suite.path)
            if suite.kind != "contract" and not any(part.is_foreign for part in read):
                if not self._is_prompt_too(suite):
                    note = "gatekeeper does not read this file; see docs/formats.md"
                    self.rows.append(ProposalRow(suite.path, suite.kind, None, note))
                return False
            paths = [part.document.path for part in read]
            jobs = [prepare_contract(self.revision, path, self.policy) for path in paths]
            self._require_models(jobs)
        except (UnreadableError, ContractError) as error:
            if not self._is_prompt_too(suite):
                self.rows.append(ProposalRow(suite.path, suite.kind, None, _reason(error)))
            return False
        taken = [job.contract.name for job in jobs if job.contract.name in self.names]
        if taken:
            note = f"another contract already has the name {taken[0]}"
            if not self._is_prompt_too(suite):  # a prompt gets a contract with another name
                self.rows.append(ProposalRow(suite.path, suite.kind, None, note))
            return False
        self._judge_size(jobs)
        for job in jobs:
            self.names.add(job.contract.name)
            self.models[job.contract.target.model] += 1
            self.judges.update(model for _, model in judge_models(job))
            self.code.update(path for _, path in unlisted_code(job.contract, self.policy))
        fixtures = sum(len(job.contract.fixtures) for job in jobs)
        skipped = sum(len(job.contract.not_run) for job in jobs)
        note = f"used as it is: {numbers.count(fixtures, 'fixture')}"
        note += f"; {numbers.count(skipped, 'part')} not run" if skipped else ""
        self.rows.append(ProposalRow(suite.path, suite.kind, suite.path, note))
        return True

    def _is_prompt_too(self, suite: InventorySuite) -> bool:
        return suite.kind in ("GitHub prompt", "prompty")

    def _skeletons(self, inventory: Inventory) -> list[Skeleton]:
        usual = self._usual_model()
        found: list[Skeleton] = []
        for prompt in inventory.prompts:
            if prompt.contracts:
                continue
            try:
                found.append(self._skeleton(prompt, usual))
            except (UnreadableError, ContractError) as error:
                row = ProposalRow(prompt.reference, prompt.kind, None, _reason(error))
                self.rows.append(row)
        if (pattern := find_skills(self.revision)) and not (self.only or inventory.shows_skills):
            try:
                folder = contract_folder(self.policy.patterns_for(""))
                made = write_routing(self.revision, pattern, self.names, folder, usual)
                note = f"{made.fixtures} fixtures to replace; which skill a model picks"
                found.append(self._tried(made, pattern, "skills", note))
            except (UnreadableError, ContractError) as error:
                self.rows.append(ProposalRow(pattern, "skills", None, _reason(error)))
        return found

    def _skeleton(self, found: InventoryPrompt, usual: str) -> Skeleton:
        prompt = found.load(self.revision)
        name = propose_name(found.reference, self.names)
        folder = contract_folder(self.policy.patterns_for(found.path))
        made = write_skeleton(found, prompt, name, folder, usual, self.around)
        demands = ", ".join(str(demand.check["type"]) for demand in made.demands)
        count = numbers.count(made.fixtures, "fixture")
        note = f"{count} {made.source}; checks: {demands or 'add yours'}"
        if made.source == "without a variable":
            note += "; cannot show a regression until fixtures add `turns`"
        return self._tried(made, found.reference, found.kind, note)

    def _tried(self, made: Skeleton, found: str, kind: str, note: str) -> Skeleton:
        """Return the contract if it can be used, and say so in a row."""
        if made.path in self.revision.entries:
            what = f"{made.path} exists already, but is not a contract for this prompt"
            raise UnreadableError(what, "rename that file")
        if made.path in self.refused:
            raise UnreadableError(self.refused[made.path], "")
        overlay = Overlay(self.revision, {made.path: made.text})
        job = prepare_contract(overlay, made.path, self.policy)
        self._require_models([job])
        self._judge_size([job])
        self.models[job.contract.target.model] += 1
        self.rows.append(ProposalRow(found, kind, made.path, note))
        return made

    def _judge_size(self, jobs: Iterable[Job]) -> None:
        self.too_small |= not all(rarely_open(job.evaluations[0]) for job in jobs)

    def _judge_size_of(self, paths: Iterable[str]) -> None:
        """Judge the contracts that were there before; one with a mistake is not large enough."""
        try:
            every = [part for path in paths for part in contract_paths_of(self.revision, path)]
            self._judge_size([prepare_contract(self.revision, p, self.policy) for p in every])
        except (UnreadableError, ContractError):
            self.too_small = True

    def _require_models(self, jobs: Iterable[Job]) -> None:
        """Raise UnreadableError if the model of a contract cannot be called."""
        for model in dict.fromkeys(job.contract.target.model for job in jobs):
            fault = self._model_fault(model)
            if fault:
                raise UnreadableError(fault.what, fault.fix)

    def _model_fault(self, model: str) -> ModelFault | None:
        fault = with_recordings(find_model_fault, [self.revision])(model)
        return fault if fault and fault.certain else None

    def _usual_model(self) -> str:
        hosted = [model for model, _ in self.models.most_common() if is_hosted(model)]
        return hosted[0] if hosted else DEFAULT_MODEL

    def _providers(self) -> tuple[str, ...]:
        found = {name.provider for name in models_in_use(self.revision, self.policy)}
        for model in (*self.models, *self.judges):
            try:
                if is_hosted(model):
                    found.add(read_model_name(model).provider)
            except ValueError:
                continue
        return tuple(sorted(found))

    def _missing(
        self, chosen: Sequence[str], suites: Sequence[str], skeletons: Sequence[Skeleton]
    ) -> tuple[str, ...]:
        """Return the patterns to add to a policy that the repository has already."""
        paths = [*suites, *(made.path for made in skeletons)]
        lost = set(paths) - matching_contracts(paths, self.policy)
        return tuple(
            pattern
            for pattern in chosen
            if matching_contracts(lost, replace(self.policy, contracts=(pattern,)))
        )

    def _require_found(self) -> None:
        rows = {row.found.partition("#")[0].rpartition(":")[0] or row.found for row in self.rows}
        rows |= {row.found for row in self.rows} | {r.found.partition("#")[0] for r in self.rows}
        for path in self.only:
            if path not in rows:
                raise UsageError(
                    f"{path}: this file holds neither a prompt nor a suite that needs a "
                    "contract; `gatekeeper validate` lists all prompts"
                )


def _reason(error: UnreadableError | ContractError) -> str:
    """Return why something got no contract, and what to do."""
    fault = error if isinstance(error, UnreadableError) else error.problems[0]
    return f"{fault.what}; {fault.fix}" if fault.fix else fault.what


def policy_lines(proposal: Proposal) -> Mapping[str, str]:
    """Return the lines of the policy that follow from the proposal, by their keys."""
    lines = {
        "contracts": _list("contracts", proposal.contracts),
        "prompts": _list("prompts", proposal.prompts),
    }
    models = [f"{provider}/*" for provider in proposal.providers]
    lines["models"] = _list("models", models)
    if proposal.code:
        listed = ", ".join(map(json.dumps, proposal.code))
        why = "# Python files with your own checks. Gatekeeper runs the files of this branch."
        lines["checks"] = f"{why}\nchecks: {{python: [{listed}]}}"
    if proposal.decisive:
        why = "# Every suite is large enough: a harmless change seldom ends without a clear result."
        lines["on_inconclusive"] = f"{why}\non_inconclusive: fail"
    return lines


def _list(key: str, values: Sequence[str]) -> str:
    one = f"{key}: [{', '.join(map(json.dumps, values))}]"
    if len(one) <= 100:
        return one
    return "\n".join([f"{key}:", *(f"  - {json.dumps(value)}" for value in values)])


def contract_patterns(suites: Iterable[str], *, native: bool) -> tuple[str, ...]:
    """Return the patterns of contracts, for the paths of suites; a file whose name says what it is
    gets a pattern for later files of the kind. `native` adds the usual folder."""
    found: dict[str, None] = dict.fromkeys(NATIVE) if native else {}
    for path in sorted(suites):
        name = path.rpartition("/")[2]
        suffix = next((s for s in _SUFFIXES if name.lower().endswith(s)), None)
        if suffix:
            found[f"**/*{suffix}"] = None
        elif name.startswith(f"{_PROMPTFOO}."):
            found[f"**/{name}"] = None
        else:
            found[literal_pattern(path)] = None
    return tuple(found)


def narrow(
    patterns: Iterable[str], accepted: Iterable[str], refused: Iterable[str]
) -> tuple[str, ...]:
    """Return the patterns without those that match a refused file: the accepted files that such a
    pattern matches are named one by one."""
    found: dict[str, None] = {}
    for pattern in patterns:
        clean = not any(matching(refused, pattern))
        names = [pattern] if clean else map(literal_pattern, sorted(matching(accepted, pattern)))
        found |= dict.fromkeys(names)
    return tuple(found)


def prompt_patterns(prompts: Sequence[InventoryPrompt]) -> tuple[str, ...]:
    """Return the patterns of prompts: folders of prompts, suffixes that only prompts have, and the
    files that are left, one by one: other code beside them is no prompt."""
    found: dict[str, None] = {}
    files: list[str] = []
    for path in dict.fromkeys(prompt.path for prompt in prompts):
        suffix = next((s for s in _SUFFIXES if path.lower().endswith(s)), None)
        # `.github/prompts` also has files of GitHub Copilot, which no program sends to a model.
        if in_prompt_folder(path) and not (suffix and path.startswith(".github/")):
            found[f"{literal_pattern(_prompt_folder(path))}/**"] = None
        elif suffix:
            found[f"**/*{suffix}"] = None
        else:
            files.append(path)
    found |= dict.fromkeys(map(literal_pattern, files))
    return tuple(found) or ("prompts/**",)


def _prompt_folder(path: str) -> str:
    """Return the outermost folder of prompts above the file."""
    parts = path.split("/")
    depth = next(n for n in range(1, len(parts)) if in_prompt_folder("/".join([*parts[:n], "x"])))
    return "/".join(parts[:depth])


def describe_proposal(proposal: Proposal) -> Iterator[Block]:
    """Describe each prompt and suite that was found. What gets no contract is never left out."""
    if not proposal.rows:
        return
    rows = _joined(proposal.rows)
    left = _MOST_ROWS - sum(row.contract is None for row in rows)
    covered = [row for row in rows if row.contract is not None]
    hidden = covered[max(0, left) :]
    left_out = set(hidden)
    yield Table(
        columns("found", "kind", "contract", "how"),
        [_cells(row) for row in rows if row not in left_out],
    )
    if hidden:
        yield Paragraph(f"and {numbers.count(len(hidden), 'more row')} with a contract", "quiet")


def _joined(rows: Iterable[ProposalRow]) -> list[ProposalRow]:
    """Return the rows, with one for all parts of a file that get no contract for the same cause."""
    same: dict[object, list[ProposalRow]] = {}
    for row in rows:
        cause = (re.split("[:#]", row.found)[0], re.sub(r"`.*?`", "", row.note))
        same.setdefault(row if row.contract else cause, []).append(row)
    found = ((each[0], len(each) - 1) for each in same.values())
    return [
        replace(row, found=f"{row.found} and {more} more") if more else row for row, more in found
    ]


def _cells(row: ProposalRow) -> tuple[Words | Cell, ...]:
    contract = Cell("none", tone="inconclusive")
    if row.contract is not None:
        same = row.contract == row.found
        contract = Cell("the file itself" if same else Quote(row.contract), tone="pass")
    return Quote(row.found), row.kind, contract, Cell(Quote(row.note), tone="quiet")
