"""Hard bounds on the size of a contract and a run, which are applied before anything is planned.

The author of a pull request writes fixtures, checks and samples, and their numbers multiply. The
bounds are far beyond what an honest suite needs: 10,000 fixtures with 20 checks and 10 samples are
within them. docs/contracts.md lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError, Problem

MOST_CONTRACTS = 5_000
"""The most contract files at a revision."""
MOST_FIXTURES = 50_000
"""The most fixtures of a contract, over all its sources."""
MOST_FIXTURE_FILES = 1_000
"""Of a contract."""
MOST_FIXTURE_TEXT = 100_000_000
"""The most characters of all fixture files of a contract."""
MOST_JUDGED = 50_000
"""The most characters of an output that a judge grades. A longer output is not measured."""
MOST_CHECKS = 1_000
"""The most checks in one list of a contract or a fixture."""
MOST_STEPS = 20
"""Of a contract; also the `maxItems` of its schema."""
MOST_APPLIED = 500_000
"""The most pairs of a fixture and a check in a contract, fixtures' own checks included."""
MOST_TRIALS = 1_000_000
"""The most trials of a run: fixtures x samples x arms, over all contracts."""
MOST_QUESTIONS = 200_000
"""The most questions to judges in a run: fixtures x samples x arms x judges x `repeat`."""


def require_few_contracts(paths: Sequence[str], patterns: Sequence[str], policy_path: str) -> None:
    """Raise ContractError if there are more contract files than allowed."""
    if len(paths) > MOST_CONTRACTS:
        what = (
            f"{len(paths):,} files match {', '.join(patterns)}, but the limit is {MOST_CONTRACTS:,}"
        )
        fix = "use narrower patterns, or remove contracts"
        raise ContractError([Problem(policy_path, what, fix, field="contracts")])


class Tally:
    """Counts one contract's fixtures while they are read."""

    def __init__(self, document: Document, checks: int) -> None:
        self._document = document
        self._checks = checks
        self._text = 0
        self._applied = 0
        self.fixtures = 0
        self.files = 0
        self.exceeded = False
        """Whether a bound was passed: nothing more needs to be read."""

    @property
    def left(self) -> int:
        """How many fixtures may still come."""
        return MOST_FIXTURES - self.fixtures

    def add_text(self, characters: int, key: KeyPath) -> None:
        """Raise ContractError if the fixture files are too many, or too long together."""
        self._text += characters
        self.files += 1
        if self.files > MOST_FIXTURE_FILES:
            what = f"the contract has more than {MOST_FIXTURE_FILES:,} fixture files"
            raise self._refused(what, "merge several fixture files into one", key)
        if self._text > MOST_FIXTURE_TEXT:
            what = f"the fixture files together have more than {MOST_FIXTURE_TEXT // 1_000_000} MB"
            raise self._refused(what, "split the contract, or remove fixtures", key)

    def add(self, fixtures: int, own_checks: int, key: KeyPath) -> None:
        """Raise ContractError if fixtures, or fixtures x checks, are too many."""
        self.fixtures += fixtures
        self._applied += fixtures * self._checks + own_checks
        if self.fixtures > MOST_FIXTURES:
            what = f"the contract has more than {MOST_FIXTURES:,} fixtures"
            raise self._refused(what, "split the contract, or keep fewer fixtures", key)
        if self._applied > MOST_APPLIED:
            what = (
                f"the number of fixtures times the number of checks is more than {MOST_APPLIED:,}"
            )
            fix = "use fewer checks or fixtures, or split the contract"
            raise self._refused(what, fix, key)

    def _refused(self, what: str, fix: str, key: KeyPath) -> ContractError:
        self.exceeded = True
        return ContractError([self._document.problem(key, what, fix)])


def require_few_trials(contracts: Iterable[tuple[Contract, int]]) -> None:
    """Refuse a run that would take too much memory and time before its first call.

    Each contract comes with the number of its arms; each answer of a tool loop counts as a sample.
    Raises ContractError that names the largest.
    """
    counted = [(c, _answers(c) * c.sampling.samples * arms) for c, arms in contracts]
    total = sum(trials for _, trials in counted)
    if total <= MOST_TRIALS:
        return
    contract, trials = max(counted, key=lambda each: each[1])
    what = (
        f"this run takes {total:,} samples, but the limit is {MOST_TRIALS:,}; this contract "
        f"takes {trials:,} of them"
    )
    fix = (
        f"use fewer fixtures (now {len(contract.fixtures):,}) or samples of each fixture "
        f"(now {contract.sampling.samples:,})"
    )
    raise ContractError([Problem(contract.path, what, fix, field="sampling.samples")])


def _answers(contract: Contract) -> int:
    """Return how many answers one sample of each fixture takes at most."""
    if contract.tools is None:
        return len(contract.fixtures)
    rounds = (f.user.max_turns if f.user else 1 + len(f.turns) for f in contract.fixtures)
    return contract.tools.max_steps * sum(rounds)


class QuestionTally:
    """Counts the questions to judges of a run while they are forecast."""

    def __init__(self) -> None:
        self._questions = 0

    def add(self, contract: Contract, questions: int) -> None:
        """Raise ContractError if there are more than allowed, because a pull request writes the
        numbers that multiply."""
        self._questions += questions
        if self._questions > MOST_QUESTIONS:
            what = f"the checks of this run would ask judges more than {MOST_QUESTIONS:,} questions"
            fix = "use fewer fixtures, samples or judges, or a lower `repeat`"
            raise ContractError([Problem(contract.path, what, fix, field="checks")])
