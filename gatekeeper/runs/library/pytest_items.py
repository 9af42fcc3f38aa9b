"""The items of `pytest --gatekeeper`: one for each contract, and one for the change as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from gatekeeper.contract.policies.policy import Policy, load_policy, policy_in_force
from gatekeeper.errors import GatekeeperError
from gatekeeper.gate.decision.verdict import exit_code_of, worst
from gatekeeper.gate.plan.contract_reasons import uncovered_reasons
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import plan_run
from gatekeeper.git import Repository
from gatekeeper.reports.escape import plain
from gatekeeper.runs.library.affected import affected, change_of
from gatekeeper.runs.library.suite import check, run

CHANGE = "change"
"""The name of the item with what concerns no single contract."""


class GatekeeperWarning(UserWarning):
    """A contract's result is inconclusive, and the policy lets it merge."""


_WARNING = f"{GatekeeperWarning.__module__}.{GatekeeperWarning.__name__}"


class ContractFailed(Exception):
    """A contract does not hold, or may not merge; the text says why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the gate found of one contract: its exit code, and the sentences of its reasons."""

    verdict: str
    exit_code: int
    text: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What the gate found of each contract, or why it found nothing."""

    contracts: Mapping[str, Finding] = field(default_factory=dict)
    error: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the findings as plain data, for another process."""
        return asdict(self)

    @staticmethod
    def read(document: Mapping[str, Any]) -> Findings:
        """Return the findings that `document` wrote."""
        found = {name: Finding(**finding) for name, finding in document["contracts"].items()}
        return Findings(found, document["error"])


class Measurement:
    """The one measurement of a session. It begins when the first item needs it, and is then made
    for the items that were selected."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._session: pytest.Session | None = None

    def within(self, session: pytest.Session) -> None:
        """Measure only what this session selects."""
        self._session = session

    @cached_property
    def contracts(self) -> dict[str, str]:
        """The names of the contracts to run, with their files. Raises GatekeeperError."""
        if self._option("ref"):
            return _contracts_at(self._repo, self._option("ref"))

        found = affected(repo=self._repo, **self._arms).contracts
        return {contract.name: contract.path for contract in found if not contract.removed}

    @cached_property
    def findings(self) -> Findings:
        """Measure, or return what the process that started this one measured."""
        given = getattr(self._config, "workerinput", {}).get("gatekeeper")
        if given is not None:
            return Findings.read(given)
        try:
            return _findings(self._measure(), self._policy(), self.contracts)
        except GatekeeperError as error:
            return Findings(error=str(error))

    def _measure(self) -> GateResult:
        given: dict[str, Any] = {
            "repo": self._repo,
            "replay": self._option("replay"),
            "out": self._option("out"),
            "contract": self._selected(),
        }
        if self._option("ref"):
            return run(ref=self._option("ref"), **given)
        return check(**self._arms, **given)

    def _selected(self) -> Sequence[str]:
        """Return the names of the contracts that are selected; none if all are, because the result
        of a check then covers removed contracts too."""
        if self._session is None:
            return ()
        named = {item.name for item in self._session.items if isinstance(item, ContractItem)}
        return () if CHANGE in named else sorted(named)

    def _policy(self) -> Policy:
        with Repository.open(self._repo) as repository:
            if self._option("ref"):
                return load_policy(repository.revision(self._option("ref")))
            return policy_in_force(change_of(repository, **self._arms))[0]

    @property
    def _repo(self) -> Path:
        return self._config.rootpath

    @property
    def _arms(self) -> dict[str, Any]:
        head = self._option("head")
        return {"base": self._option("base"), "head": head, "worktree": head is None}

    def _option(self, name: str) -> Any:
        return self._config.getoption(f"gatekeeper_{name}")


def _contracts_at(repo: Path, ref: str) -> dict[str, str]:
    """Return the contracts of a revision. Raises GatekeeperError."""
    with Repository.open(repo) as repository:
        revision = repository.revision(ref)
        work = plan_run(revision, load_policy(revision), ())
        return {job.contract.name: job.contract.path for job in work.jobs}


def _findings(result: GateResult, policy: Policy, contracts: Mapping[str, str]) -> Findings:
    """Return what was found of each contract; what belongs to none of them is of the change."""
    found: dict[str, Finding] = {}
    rest = [*uncovered_reasons(result.uncovered, policy)]
    others = []
    for contract in result.contracts:
        if contract.name not in contracts:
            rest += contract.reasons
            others.append(contract)
            continue
        told = [reason for reason in contract.reasons if reason.verdict == contract.verdict]
        text = "\n".join(plain(reason.text) for reason in told or contract.reasons)
        code = exit_code_of(contract.verdict, [contract])
        found[contract.name] = Finding(contract.verdict, code, text)
    verdict = worst([reason.verdict for reason in rest])
    text = "\n".join(plain(reason.text) for reason in rest if reason.verdict == verdict)
    found[CHANGE] = Finding(verdict, exit_code_of(verdict, others), text)
    return Findings(found)


class Gate(pytest.Collector):
    """Collects the contracts of the repository."""

    measurement: Measurement

    def collect(self) -> Iterator[ContractItem]:
        """Return an item for each contract, and one for the change.

        Contracts that cannot be read have one item, which ends in an error.
        """
        self.measurement.within(self.session)
        try:
            contracts = dict(self.measurement.contracts)
        except GatekeeperError as error:
            self.measurement.__dict__["findings"] = Findings(error=str(error))
            contracts = {}
        for name, path in {**contracts, CHANGE: "."}.items():
            item = ContractItem.from_parent(self, name=name)
            item.file, item.measurement = path, self.measurement
            item.add_marker("gatekeeper")
            # The policy says whether an inconclusive result fails, and not a filter of the suite.
            item.add_marker(pytest.mark.filterwarnings(f"default::{_WARNING}"))
            yield item


class ContractItem(pytest.Item):
    """One contract. Measuring is its setup, so what cannot be measured is an error, not a
    failure."""

    file: str
    measurement: Measurement

    def setup(self) -> None:
        """Measure. Fails, which is an error of the item, if that was not possible."""
        findings = self.measurement.findings
        if findings.error is not None:
            pytest.fail(findings.error, pytrace=False)
        found = self._finding(findings)
        if found.verdict == "error":
            pytest.fail(found.text, pytrace=False)

    def runtest(self) -> None:
        """Fail with the reasons' sentences if the policy does not let the contract merge."""
        found = self._finding(self.measurement.findings)
        if found.exit_code:
            raise ContractFailed(found.text)
        if found.verdict == "inconclusive":
            self.warn(GatekeeperWarning(f"{self.name}: {found.text}"))

    def _finding(self, findings: Findings) -> Finding:
        # A contract whose requests are all the same as before is not in the result.
        return findings.contracts.get(self.name, Finding("pass", 0, ""))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the sentences alone: nobody needs a traceback of them."""
        if isinstance(excinfo.value, ContractFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the contract and its file in the report."""
        return self.config.rootpath / self.file, 0, f"gatekeeper: {self.name}"
