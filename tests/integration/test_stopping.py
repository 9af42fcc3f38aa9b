"""When sampling ends: as soon as the answer is sure, and not before."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

import pytest

from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.gate.pipeline import RunContext, measure
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import plan_check, plan_run
from gatekeeper.reports.markdown.comment import render_comment

POLICY = Policy(limits=Limits(None, None, None, 4))
CONTRACT = """\
contract: 1
name: {name}
prompt: {name}.txt
model: m/{name}
params: {{temperature: {temperature}}}
fixtures: [{{file: words.csv}}]
checks: [{{type: contains, value: ok}}]
sampling: {{samples: {samples}, mode: {mode}}}
{more}
"""


@dataclass(frozen=True)
class Model:
    """Passes each arm's requests with a probability, the same answer to the same request."""

    base: float
    head: float

    async def complete(self, request: Request) -> Completion:
        text = request.messages[0].content
        drawn = f"{request.model}|{text}"
        if request.params.get("temperature") != 0:
            drawn += f"|{request.repetition}"
        rate = self.head if text.startswith("Head") else self.base
        return Completion("ok" if random.Random(drawn).random() < rate else "no", 5.0)  # noqa: S311

    async def aclose(self) -> None:
        """Nothing is open."""


def revision(arm: str, sha: str, contracts: int, fixtures: int, **fields) -> MemoryRevision:
    files = {}
    for number in range(contracts):
        name = f"c{number}"
        settings = {"samples": 10, "mode": "adaptive", "more": "", "temperature": 1} | fields
        files[f"contracts/{name}.yaml"] = CONTRACT.format(name=name, **settings).encode()
        files[f"contracts/{name}.txt"] = f"{arm} {{{{ word }}}}".encode()
    words = "".join(f"id{i},word {i}\n" for i in range(fixtures))
    files["contracts/words.csv"] = f"id,word\n{words}".encode()
    return MemoryRevision(files, sha * 40)


def check(model: Model, *, contracts: int = 1, fixtures: int = 100, **fields) -> GateResult:
    base = revision("Base", "b", contracts, fixtures, **fields)
    head = revision("Head", "c", contracts, fixtures, **fields)
    work = plan_check(Change(base, head), POLICY)
    return asyncio.run(measure(work, RunContext(model)))


def run(model: Model, *, fixtures: int = 100, **fields) -> GateResult:
    work = plan_run(revision("Head", "c", 1, fixtures, **fields), POLICY)
    return asyncio.run(measure(work, RunContext(model)))


def total(result: GateResult) -> int:
    return result.calls.made + result.calls.saved


def test_a_broken_prompt_costs_tens_of_calls_instead_of_thousands():
    result = check(Model(0.95, 0.0))

    (found,) = result.contracts
    assert (result.verdict, found.paired.stopped) == ("fail", "regressed")
    assert result.calls.made < 40
    assert total(result) == 2000


def test_a_harmless_change_is_let_through_before_all_is_drawn():
    result = check(Model(0.97, 0.97))

    (found,) = result.contracts
    assert (result.verdict, found.paired.stopped) == ("pass", "not_worse")
    assert result.calls.made <= 1000
    assert found.paired.rounds == (result.calls.made - len(result.fresh)) / 200
    assert len(result.fresh) < 20


def test_fixed_sampling_draws_all_of_it():
    result = check(Model(0.95, 0.0), samples=3, mode="fixed")

    (found,) = result.contracts
    assert (result.verdict, found.paired.stopped, found.paired.rounds) == ("fail", "exhausted", 3)
    assert result.calls.made == 600


def test_copies_are_not_drawn_ten_times():
    """At temperature 0 a third round could say nothing that the second did not."""
    result = check(Model(0.6, 0.6), temperature=0)

    (found,) = result.contracts
    assert found.paired.stopped == "exhausted"
    assert found.paired.rounds == 2
    assert result.calls.made == 400
    assert {fixture.p_value for fixture in found.fixtures} == {None}


def test_sampling_ends_when_more_could_hardly_show_a_drop():
    result = check(Model(0.9, 0.9), fixtures=20)

    (found,) = result.contracts
    assert (result.verdict, found.paired.stopped) == ("pass", "futile")
    assert result.calls.made < 400
    assert found.paired.interval is None
    assert not found.paired.intervals
    ended = f"sampling ended after {found.paired.rounds} of 10 samples because more could hardly"
    assert f"{ended} have changed the answer" in render_comment(result).replace("\u00a0", " ")


@pytest.mark.parametrize(
    "more",
    [
        "gate: {tolerance: 0.5}",
        "gate: {cost: +20%}",
    ],
)
def test_what_needs_every_sample_gets_it_although_no_drop_could_be_shown(more):
    result = check(Model(0.8, 0.8), fixtures=20, more=more)

    assert result.calls.made == 400
    assert result.contracts[0].paired.stopped == "exhausted"


def test_fixed_sampling_is_never_futile():
    result = check(Model(0.8, 0.8), fixtures=20, mode="fixed")

    assert result.calls.made == 400
    assert result.contracts[0].paired.stopped == "exhausted"


def test_an_objective_in_doubt_is_worth_more_samples():
    plain = check(Model(0.9, 0.9))
    doubted = check(Model(0.9, 0.9), more="slo: {success_rate: 0.99}")

    assert plain.contracts[0].paired.stopped == "futile"
    (objective,) = doubted.contracts[0].slo
    assert objective.observed < 0.99
    assert doubted.calls.made > plain.calls.made


def test_an_objective_that_looks_met_may_stay_open():
    result = check(Model(0.97, 0.97), more="slo: {success_rate: 0.96}")

    (objective,) = result.contracts[0].slo
    assert objective.met is None
    assert result.verdict == "pass"
    assert result.calls.made < 2000


def test_a_share_of_fixtures_that_must_pass_is_measured_to_the_end():
    result = check(Model(1.0, 1.0), samples=2, more="gate: {tolerance: 0.9}")

    assert result.verdict == "pass"
    assert result.calls.made == 400


def test_without_a_base_it_stops_when_the_objective_is_decided():
    met = run(Model(0, 1.0), more="slo: {success_rate: 0.9}")
    missed = run(Model(0, 0.2), more="slo: {success_rate: 0.9}")
    close = run(Model(0, 0.5), samples=5, more="slo: {success_rate: 0.55}")

    assert (met.verdict, met.calls.made) == ("pass", 100)
    assert (missed.verdict, missed.calls.made) == ("fail", 100)
    assert close.calls.made == 500


@pytest.mark.long
def test_one_contract_that_is_decided_stops_no_other():
    class Mixed(Model):
        async def complete(self, request: Request) -> Completion:
            broken = Model(0.98, 0.0 if request.model == "m/c0" else 0.98)
            return await broken.complete(request)

    result = check(Mixed(0, 0), contracts=3)

    stopped = {c.name: c.paired.stopped for c in result.contracts}
    assert stopped == {"c0": "regressed", "c1": "not_worse", "c2": "not_worse"}
    adjusted = {c.name: c.paired.adjusted_p_value for c in result.contracts}
    assert adjusted["c0"] < 0.05 < adjusted["c1"]


def test_contracts_share_the_level():
    alone = check(Model(0.95, 0.0)).contracts[0].paired
    of_eight = check(Model(0.95, 0.0), contracts=8).contracts

    suite = 0.05 * 0.98  # broken fixtures have the rest
    assert alone.alpha == suite
    assert {c.paired.alpha for c in of_eight} == {suite / 8}
    assert all(c.verdict == "fail" for c in of_eight)


@pytest.mark.parametrize("fixtures", [1, 2, 4])
def test_too_few_fixtures_say_nothing_of_other_inputs(fixtures):
    """But what they say of themselves is certain."""
    result = check(Model(1.0, 0.0), fixtures=fixtures)

    (found,) = result.contracts
    by_code = {reason.code: reason.verdict for reason in found.reasons}
    assert by_code == {"nothing_passes": "fail", "broke": "fail", "unseen": "inconclusive"}
    assert found.paired.minimum_detectable_effect is None


def test_no_discordant_pair_is_no_crash_and_no_alarm():
    result = check(Model(0.0, 0.0), samples=1)

    (found,) = result.contracts
    assert {r.code for r in found.reasons if r.verdict != "pass"} == {"nothing_passes"}
    assert (found.paired.broke, found.paired.fixed, found.paired.p_value) == (0, 0, 1.0)
