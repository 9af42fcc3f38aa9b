"""Categories with a comparison of their own: one that gets worse fails, whatever the others do."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from support.edited_text import edited

from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.gate.forecast.power import limit_notes
from gatekeeper.gate.pipeline import RunContext, measure
from gatekeeper.gate.plan.alpha import ALL, claim_levels
from gatekeeper.gate.results.result import ContractResult
from gatekeeper.gate.work import Work, plan_check
from gatekeeper.reports.formats.junit import render_junit
from gatekeeper.reports.formats.result_json import render_result
from gatekeeper.reports.markdown.comment import render_comment

CONTRACT = """\
contract: 1
name: triage
prompt: triage.txt
model: m/triage
params: {temperature: 1}
fixtures: [{file: tickets.csv}]
checks: [{type: equals, value: right}]
sampling: {samples: SAMPLES}
gate: {claim: inputs, GATE}
"""
SLICES = "slices: category"
SUITE = {"refund": 12, "delivery": 30, "praise": 18}


@dataclass
class Desk:
    """Answers tickets: on each arm, those of a category rightly as often as its rate says."""

    base: Mapping[str, float]
    head: Mapping[str, float]
    seed: int = 1

    async def complete(self, request: Request) -> Completion:
        arm, ticket = request.messages[0].content.split(" ")[:2]
        category = ticket.split("-")[0]
        await asyncio.sleep(0)
        rate = (self.base if arm == "Base" else self.head).get(category, 0.95)
        drawn = random.Random(f"{self.seed} {arm} {ticket} {request.repetition}")  # noqa: S311
        return Completion("right" if drawn.random() < rate else "wrong", 5.0)

    async def aclose(self) -> None:
        """Nothing is open."""


def tickets(suite: Mapping[str, int], moved: Mapping[str, str]) -> str:
    """A table in which each ticket is named after its category; some are `moved` to another."""
    names = [(f"{c}-{n}", c) for c, count in suite.items() for n in range(count)]
    return "id,ticket,category\n" + "".join(f"{t},{t},{moved.get(t, c)}\n" for t, c in names)


def revision(arm: str, gate: str, suite: Mapping[str, int], moved: Mapping[str, str], samples: int):
    contract = edited(CONTRACT, "GATE", gate or "alpha: 0.05", "SAMPLES", str(samples))
    files = {
        "contracts/triage.yaml": contract,
        "contracts/triage.txt": f"{arm} {{{{ ticket }}}}",
        "contracts/tickets.csv": tickets(suite, moved),
    }
    texts = {path: text.encode() for path, text in files.items()}
    return MemoryRevision(texts, arm[0].lower() * 40)


def plan(
    gate: str,
    *,
    head_gate: str | None = None,
    suite: Mapping[str, int] = SUITE,
    head_suite: Mapping[str, int] | None = None,
    moved: Mapping[str, str] | None = None,
    samples: int = 3,
) -> Work:
    base = revision("Base", gate, suite, {}, samples)
    head_gate = gate if head_gate is None else head_gate
    head = revision("Head", head_gate, head_suite or suite, moved or {}, samples)
    policy = Policy(limits=Limits(None, None, None, 8))
    return plan_check(Change(base, head), policy, order_seed="1")


def check(desk: Desk, gate: str = SLICES, **settings):
    result = asyncio.run(measure(plan(gate, **settings), RunContext(desk)))
    return result, result.contracts[0]


def codes(found: ContractResult, verdict: str = "fail") -> set[str]:
    return {reason.code for reason in found.reasons if reason.verdict == verdict}


SURE = dict.fromkeys(SUITE, 1.0)
REFUNDS_WORSE = Desk(SURE, {**SURE, "refund": 0.4, "delivery": 1.0})
MIXED = Desk({**SURE, "delivery": 0.7}, {**SURE, "refund": 0.3})


def test_a_category_that_gets_worse_fails_while_another_gets_better() -> None:
    """Delivery is fixed more often than refund breaks, so that all inputs together got no worse."""
    assert codes(check(MIXED, "")[1]) == set()
    result, found = check(MIXED)
    assert (result.exit_code, codes(found)) == (1, {"slice"})
    [reason] = [r for r in found.reasons if r.code == "slice"]
    assert reason.text.startswith("Category refund: worse than base: ")
    assert found.paired is not None
    slices = {one.category: one for one in found.paired.slices}
    assert list(slices) == ["refund", "delivery", "praise"]
    assert slices["refund"].p_value <= slices["refund"].alpha <= 0.05 / 2
    assert slices["refund"].fixtures == 12
    assert slices["delivery"].difference > 0


def test_every_report_shows_the_result_by_category() -> None:
    result, _ = check(MIXED)
    comment = render_comment(result)
    assert "`triage`: Category refund: worse than base" in comment
    assert "Categories of `triage`:" in comment
    assert "| 0 broke, 0 fixed of 18 | 1 |" in comment
    document = json.loads(render_result(result))
    [contract] = document["contracts"]
    assert [one["category"] for one in contract["paired"]["slices"]] == list(SUITE)
    assert 'name="category.refund" value="worse: ' in render_junit(result)


@pytest.mark.long
def test_a_harmless_change_rarely_fails_with_slices() -> None:
    """Three categories and all inputs share the level."""
    rates = dict.fromkeys(SUITE, 0.8)
    fails = sum(check(Desk(rates, rates, seed))[0].exit_code == 1 for seed in range(20))
    assert fails <= 3


def test_a_slice_too_small_to_reach_the_level_takes_no_part_of_it() -> None:
    suite = {"refund": 12, "tiny": 2, "few": 3}
    desk = Desk(dict.fromkeys(suite, 1.0), {**dict.fromkeys(suite, 1.0), "tiny": 0.0})
    _, found = check(desk, suite=suite)
    # All inputs and `refund` share 5 %: the others could not even reach that alone.
    [job] = plan(SLICES, suite=suite).jobs
    planned = claim_levels(job.evaluations[0], 0.05)
    assert (planned[ALL], planned["refund"]) == (0.025, 0.025)
    # Two of two broke: nothing that was open is passed over in silence.
    [open_slice] = [r for r in found.reasons if r.code == "slice"]
    assert open_slice.verdict == "inconclusive"
    assert "2 of 2 fixtures broke" in open_slice.text


@pytest.mark.parametrize(
    ("weakened", "named"),
    [
        ({"head_gate": ""}, "gate.slices removed; the value was category"),
        (
            {"moved": {f"refund-{n}": "delivery" for n in range(12)}},
            "fixture `refund-0`: category changed from refund to delivery",
        ),
        (
            {"moved": {f"refund-{n}": "praise" for n in range(6)}},
            "fixture `refund-0`: category changed from refund to praise",
        ),
        ({"head_suite": {"delivery": 30, "praise": 18}}, "fixture `refund-0` removed"),
        ({"head_gate": "slices: category, margin: 0.5"}, "gate.margin raised from 0.05 to 0.5"),
    ],
)
def test_head_cannot_shed_a_slice(weakened: dict, named: str) -> None:
    """The base contract applies too, with its own categories."""
    result, found = check(MIXED, **weakened)
    assert result.exit_code == 1
    assert named in found.weakened
    from_base = [r for r in found.reasons if r.verdict == "fail" and r.contract_from == "base"]
    told = [r.text for r in from_base or found.reasons if r.verdict == "fail"]
    assert any("Category refund: worse than base" in text for text in told)


def test_new_categories_of_head_do_not_make_the_slices_of_base_less_certain() -> None:
    added = {**SUITE, **{f"new{n}": 10 for n in range(12)}}
    result, _ = check(MIXED, head_suite=added)
    assert result.exit_code == 1


@pytest.mark.long
def test_sampling_goes_on_until_each_category_is_decided() -> None:
    """All inputs together are soon not worse; twelve refunds take longer to be."""
    desk = Desk(SURE, {**SURE, "refund": 0.75})
    suite = {"refund": 12, "delivery": 100}
    _, whole = check(desk, "", suite=suite, samples=6)
    _, found = check(desk, suite=suite, samples=6)
    assert whole.head.samples < found.head.samples


@pytest.mark.parametrize("seed", range(3))
def test_slices_of_a_suite_where_nothing_happens_cost_nothing(seed: int) -> None:
    _, whole = check(Desk(SURE, SURE, seed), "")
    _, found = check(Desk(SURE, SURE, seed))
    assert found.verdict == "pass"
    assert found.head.samples <= 2 * whole.head.samples


def test_slices_that_a_pull_request_adds_are_named() -> None:
    """They share the level with the comparison of all inputs, which can then show less."""
    added = plan("", head_gate=SLICES)
    assert [w.text for w in added.policy_weakened] == ["gets 3 more comparisons, so 4 share alpha"]
    assert not plan(SLICES).policy_weakened


def test_validate_names_a_category_too_small_to_fail() -> None:
    [job] = plan(SLICES, suite={"refund": 12, "tiny": 3}).jobs
    [note] = limit_notes(job.evaluations[0])
    assert note.startswith("the category `tiny` can never fail by itself, because at least 5 ")


MIX = "slices: category, weights: {refund: 90, delivery: 5, praise: 5}"


def test_the_mix_of_production_weighs_all_inputs() -> None:
    """Refunds are few fixtures and most of what comes: delivery does not outweigh them."""
    desk = Desk({**SURE, "delivery": 0.5}, {**SURE, "refund": 0.6})
    alike, mixed = (check(desk, f"{gate}, alpha: 0.01")[1].paired for gate in (SLICES, MIX))
    assert alike is not None
    assert mixed is not None
    assert alike.difference > 0 > mixed.difference
    assert mixed.method.endswith("sign-flip test, weighted by category")
    parts = {one.category: one.difference for one in mixed.slices}
    shares = {"refund": 0.9, "delivery": 0.05, "praise": 0.05}
    expected = sum(shares[name] * parts[name] for name in SUITE)
    assert mixed.difference == pytest.approx(expected, abs=0.02)


def test_weights_like_the_fixtures_change_nothing() -> None:
    same = "slices: category, weights: {refund: 12, delivery: 30, praise: 18}"
    assert check(MIXED)[1].paired == check(MIXED, same)[1].paired


def test_head_cannot_change_the_mix_alone() -> None:
    tilted = "slices: category, weights: {refund: 1, delivery: 98, praise: 1}"
    desk = Desk({**SURE, "delivery": 0.5}, {**SURE, "refund": 0.3})
    result, found = check(desk, MIX, head_gate=tilted)
    assert result.exit_code == 1
    assert "gate.weights changed" in found.weakened
