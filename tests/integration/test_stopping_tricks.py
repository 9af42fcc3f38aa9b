"""What stopping early must not open: tricks with the order, the family of tests, and time.

The tricks that head can play run by every way in, on a recorded model. The rest needs a model that
is slow or random, and asks the gate itself.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from integration.test_stopping import POLICY, Model, check, revision
from support.edited_text import edited
from support.proposals import (
    CONTRACT,
    FIXTURES,
    MANY,
    NO_SLO,
    OTHER,
    PROMPT_FILE,
    Proposal,
    all_say,
)
from support.recorded_repository import PROMPT, csv
from support.ways_in import RunGate

from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.gate.pipeline import RunContext, measure
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import plan_check
from gatekeeper.stats.objectives.error_budget import Event

JUDGE = """\
contract: 1
name: c0
prompt: c0.txt
model: m/c0
fixtures: [{{file: words.csv}}]
checks: [{{type: contains, value: ok}}]
sampling: {{samples: 1, seed: {seed}}}
"""


def compared(fixtures: int, model: Model, *, seed: int) -> GateResult:
    """A prompt that changes, and with it the seed of head's contract."""

    def files(arm: str, seed: int) -> dict[str, bytes]:
        words = "".join(f"id{i},word {i}\n" for i in range(fixtures))
        return {
            "contracts/c0.yaml": JUDGE.format(seed=seed).encode(),
            "contracts/c0.txt": f"{arm} {{{{ word }}}}".encode(),
            "contracts/words.csv": f"id,word\n{words}".encode(),
        }

    base = MemoryRevision(files("Base", 42), "b" * 40)
    head = MemoryRevision(files("Head", seed), "c" * 40)
    return asyncio.run(measure(plan_check(Change(base, head), POLICY), RunContext(model)))


SEEDED = NO_SLO + "sampling: {samples: 1, seed: 42}\n"
SEED = {CONTRACT: SEEDED.replace("42", "43")}
EXTRA = {
    f"contracts/x{number}.yaml": edited(
        NO_SLO,
        "name: words",
        f"name: x{number}",
        "words.csv",
        "tiny.csv",
        "pattern: ok",
        "pattern: o",
    )
    for number in range(13)
} | {"contracts/tiny.csv": csv(["word0"])}


@pytest.mark.parametrize(
    "more", [{}, SEED, EXTRA, SEED | EXTRA], ids=["alone", "seed", "contracts", "both"]
)
def test_nothing_in_head_makes_the_bases_contract_less_sure(
    more: dict[str, str], run_gate: RunGate
):
    """Five broken fixtures are enough at alpha, and would not be at half of it."""
    words = [f"word{number}" for number in range(5)]
    trick = Proposal(
        "trick",
        "",
        {PROMPT_FILE: OTHER, **more},
        contract=SEEDED,
        recorded=all_say("no"),
        before={FIXTURES: csv(words)},
    )
    answered = trick.run_check(run_gate)
    assert (answered.exit_code, answered.verdict) == (1, "fail")


def test_a_contract_that_was_cut_off_is_no_error_of_its_own(run_gate: RunGate):
    seed = Proposal(
        "seed", "", {PROMPT_FILE: OTHER, **SEED}, contract=SEEDED, recorded=all_say("no")
    )
    answered = seed.run_check(run_gate)
    assert answered.verdict == "fail"
    assert answered.reasons("error") == set()


@dataclass(frozen=True)
class LateFixturesBreak(Model):
    """Head answers the first of its fixtures as base does, and none of the others."""

    good: int = 130

    async def complete(self, request: Request) -> Completion:
        arm, _, number = request.messages[0].content.split()
        broken = arm == "Head" and int(number) >= self.good
        return Completion("no" if broken else "ok", 5.0)


def test_fixtures_cannot_be_put_where_they_are_not_drawn():
    """More than half of them broken: no order of the file hides it, whatever the commits."""
    assert check(LateFixturesBreak(1, 1), fixtures=300, samples=3).verdict == "fail"


@dataclass(frozen=True)
class Slow(Model):
    """Never answers in head's place where head would have passed."""

    async def complete(self, request: Request) -> Completion:
        completion = await super().complete(request)
        if request.messages[0].content.startswith("Head") and completion.text == "ok":
            await asyncio.Event().wait()
        return completion


@pytest.mark.parametrize("mode", ["adaptive", "fixed"])
@pytest.mark.parametrize("concurrency", [4, 64])
def test_an_interrupted_run_weighs_no_sample_beyond_a_gap(mode, concurrency):
    """What came back was what failed: taken as evidence it would call an equal prompt worse."""

    async def interrupted() -> GateResult:
        base, head = (
            revision("Base", "b", 1, 60, mode=mode),
            revision("Head", "c", 1, 60, mode=mode),
        )
        work = plan_check(Change(base, head), Policy(limits=Limits(None, None, None, concurrency)))
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.2, stop.set)
        return await measure(work, RunContext(Slow(0.6, 0.6), stop=stop))

    result = asyncio.run(interrupted())

    (found,) = result.contracts
    assert result.verdict == "error"
    assert {reason.code for reason in found.reasons} <= {"interrupted", "error"}


def test_a_frozen_prompt_may_show_that_it_is_better():
    """Being no worse does not end the sampling then: it has to be better."""
    now = datetime.now(UTC)
    spent = {"c0": {"success_rate": [Event(now - timedelta(days=d), 100, 60) for d in range(1, 9)]}}
    more = "slo: {success_rate: 0.9}"
    base, head = (
        revision(arm, sha, 1, 100, samples=5, more=more)
        for arm, sha in (("Base", "b"), ("Head", "c"))
    )
    work = plan_check(Change(base, head), POLICY)
    better = asyncio.run(measure(work, RunContext(Model(0.9, 0.99), history=spent)))
    alike = asyncio.run(measure(work, RunContext(Model(0.95, 0.95), history=spent)))

    assert better.verdict == "pass"
    assert [r.code for r in alike.contracts[0].reasons if r.verdict == "fail"] == ["budget"]


def test_a_level_that_nothing_reaches_ends_all_the_same():
    # Even if all twelve fixtures broke, p would be 2^-12, which is above this level.
    result = check(
        Model(1.0, 0.3), fixtures=12, samples=1, more="gate: {alpha: 1.0e-6, claim: inputs}"
    )

    assert result.verdict == "inconclusive"


def test_a_wider_margin_at_head_hides_nothing_by_any_way(run_gate: RunGate):
    """Ten fixtures of forty break; head's contract would be content with as many."""
    margin = "sampling: {samples: 3}\ngate: {margin: %s}\n"
    wider = Proposal(
        "wider",
        "",
        {PROMPT_FILE: OTHER, CONTRACT: NO_SLO + margin % "0.9"},
        contract=NO_SLO + margin % "0.07",
        recorded=all_say(["ok"] * 3, PROMPT)
        | all_say(["ok"] * 3)
        | {f"Please say {word}.": ["no"] * 3 for word in MANY[:10]},
    )
    answered = wider.run_check(run_gate)
    assert (answered.exit_code, answered.verdict) == (1, "fail")


def test_a_wider_margin_at_head_hides_nothing_from_the_bases_contract():
    """Head's contract is content early; the base's must have its samples all the same."""

    def files(arm: str, margin: float) -> dict[str, bytes]:
        words = "".join(f"id{i},word {i}\n" for i in range(100))
        contract = edited(JUDGE.format(seed=42), "samples: 1", "samples: 5")
        return {
            "contracts/c0.yaml": f"{contract}gate: {{margin: {margin}}}\n".encode(),
            "contracts/c0.txt": f"{arm} {{{{ word }}}}".encode(),
            "contracts/words.csv": f"id,word\n{words}".encode(),
        }

    def result(margin: float) -> GateResult:
        change = Change(
            MemoryRevision(files("Base", 0.07), "b" * 40),
            MemoryRevision(files("Head", margin), "c" * 40),
        )
        model = LateFixturesBreak(1, 1, good=90)
        return asyncio.run(measure(plan_check(change, POLICY), RunContext(model)))

    assert result(0.07).verdict == "fail"
    assert result(0.3).verdict == "fail"
    assert result(0.9).verdict == "fail"


def test_two_contracts_that_apply_both_end_early():
    """Evaluating side by side, a change of the contract does not cost all the calls."""
    result = compared(100, Model(1.0, 0.0), seed=7)

    assert result.verdict == "fail"
    assert result.calls.made + result.calls.surplus < 120
