"""Stopping early decides as all samples would; failed calls make nothing surer.

The sequential test spends its level otherwise than the fixed one, so that near the level the
two may part: on these seeds they do not. How often they do is what benchmarks/decisions shows.

Random contracts (sizes, samples, aggregates, levels, duplicates) on random outcomes that are
fixed by the request, so that two runs differ in nothing but what is compared.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.gate.pipeline import RunContext, measure
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.gate.work import plan_check
from gatekeeper.sampling.retries import RetryPolicy

ONCE = RetryPolicy(attempts=1, give_up_after=10**6)
CONTRACT = """\
contract: 1
name: {name}
prompt: {name}.txt
model: m/{name}
fixtures:
  - file: {name}.csv
checks: [{{type: contains, value: ok}}]
{slo}gate: {{alpha: {alpha}{tolerance}}}
sampling: {{samples: {samples}, aggregate: {aggregate}, mode: {mode}, seed: {seed}}}
"""


@dataclass(frozen=True)
class Outcomes:
    """A model that answers a request always the same: how often `ok`, and how often not at all.

    Failures are kept by model and arm (True is head).
    """

    seed: int
    base: float
    head: float
    failures: Mapping[tuple[str, bool], float] = field(default_factory=dict)

    async def complete(self, request: Request) -> Completion:
        text = request.messages[0].content
        head = text.startswith("Head")
        drawn = f"{self.seed}|{request.model}|{text}|{request.repetition}"
        # Answers come in another order than they were asked for, as they do from a provider.
        for _ in range(random.Random(f"order|{drawn}").randrange(3)):  # noqa: S311
            await asyncio.sleep(0)
        failure = self.failures.get((request.model, head), 0)
        if random.Random(f"failure|{drawn}").random() < failure:  # noqa: S311
            raise CallFailed("no answer")
        passes = random.Random(drawn).random() < (self.head if head else self.base)  # noqa: S311
        return Completion("ok" if passes else "no", 5.0)

    async def aclose(self) -> None:
        """Nothing is open."""


def random_change(rng: random.Random, mode: str) -> Change:
    """One to three contracts, whose prompts all change."""
    base: dict[str, bytes] = {}
    head: dict[str, bytes] = {}
    for number in range(rng.choice([1, 1, 2, 3])):
        name, repeated = f"c{number}", rng.choice([1, 1, 2])
        size = rng.choice([4, 6, 10, 20, 30, 30])
        contract = CONTRACT.format(
            name=name,
            mode=mode,
            slo=rng.choice(["", "slo: {success_rate: 0.8}\n"]),
            alpha=rng.choice([0.05, 0.05, 0.2, 0.0625, 0.01]),
            tolerance=rng.choice(["", ", tolerance: 0.5"]),
            samples=rng.choice([1, 1, 2, 3, 5]),
            aggregate=rng.choice(["first", "majority", "all", "any"]),
            seed=rng.randrange(9),
        )
        fixtures = "".join(f"id{i},{name} word {i // repeated}\n" for i in range(size))
        for files, prompt in ((base, "Base {{ word }}"), (head, "Head {{ word }}")):
            files[f"contracts/{name}.yaml"] = contract.encode()
            files[f"contracts/{name}.txt"] = prompt.encode()
            files[f"contracts/{name}.csv"] = f"id,word\n{fixtures}".encode()
    return Change(MemoryRevision(base, "b" * 40), MemoryRevision(head, "c" * 40))


def measured(change: Change, outcomes: Outcomes, concurrency: int = 4) -> GateResult:
    """What the gate says of the change."""
    work = plan_check(change, Policy(limits=Limits(None, None, None, concurrency)))
    return asyncio.run(measure(work, RunContext(outcomes, retry=ONCE)))


def is_regression(contract: ContractResult) -> bool:
    """Whether the contract fails because head is worse."""
    return any(reason.code == "regression" for reason in contract.reasons)


@pytest.mark.parametrize("seed", range(32))
def test_adaptive_sampling_decides_as_fixed_sampling_does(seed):
    results = []
    for mode in ("fixed", "adaptive"):
        rng = random.Random(seed)  # noqa: S311
        change = random_change(rng, mode)
        outcomes = Outcomes(
            seed,
            base=rng.choice([0.5, 0.8, 0.95, 1, 1]),
            head=rng.choice([0.2, 0.3, 0.5, 0.7, 0.9, 1]),
        )
        results.append(measured(change, outcomes, rng.choice([1, 4, 16])))
    fixed, adaptive = results
    for one, other in zip(adaptive.contracts, fixed.contracts, strict=True):
        assert one.name == other.name
        assert is_regression(one) == is_regression(other)
        # Early, what got fixed counts as flicker that could hide a drop: less sure, never surer.
        less_sure = one.paired.stopped == "futile" and [r.code for r in one.reasons] == ["unseen"]
        assert one.verdict == ("inconclusive" if less_sure else other.verdict)
    verdicts = [[contract.verdict for contract in found.contracts] for found in results]
    assert (verdicts[0] != verdicts[1]) or adaptive.verdict == fixed.verdict
    for contract in fixed.contracts:
        paired = contract.paired
        if paired.p_value is not None:
            assert (paired.p_value <= paired.alpha) == is_regression(contract)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_failed_calls_only_make_the_answer_less_sure(seed):
    """What is decided with calls failing is what is decided with none failing."""
    rng = random.Random(seed)  # noqa: S311
    change = random_change(rng, rng.choice(["fixed", "adaptive"]))
    base, head = rng.choice([0.8, 0.95, 1]), rng.choice([0.3, 0.6, 0.8, 0.9, 0.95, 1])
    failures = {
        (f"m/c{number}", arm): rng.choice([0, 0, 0.05, 0.3, 1])
        for number in range(3)
        for arm in (False, True)
    }
    failing = measured(change, Outcomes(seed, base, head, failures))
    sound = measured(change, Outcomes(seed, base, head))
    for unsure, sure in zip(failing.contracts, sound.contracts, strict=True):
        if unsure.verdict in {"pass", "fail"}:
            assert sure.verdict == unsure.verdict
        if unsure.verdict == "inconclusive":
            assert sure.verdict != "fail"
