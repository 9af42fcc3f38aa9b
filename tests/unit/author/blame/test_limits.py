"""A search for harmful edits stays within its limits, whatever the model's server says."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.evaluations import evaluation_of
from support.fake_client import UNLIMITED, FakeClient, FakeTime, content

from gatekeeper.author.blame.measure import Broken, Search
from gatekeeper.author.blame.result import BlameResult
from gatekeeper.author.blame.search import expected_rates
from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request

CONTRACT = """\
contract: 1
name: words
prompt: ../words.txt
model: openai/gpt-4o-mini
fixtures: [{id: a, vars: {x: a}}, {id: b, vars: {x: b}}, {id: c, vars: {x: c}}]
checks: [{type: equals, value: ok}]
"""
RULES = "One.\nTwo.\nThree.\nFour.\nFive.\nSix.\nSeven.\nEight.\n"


def loaded(rules: str):
    files = {"contracts/words.yaml": CONTRACT, "words.txt": f"{rules}\n{{{{ x }}}}\n"}
    revision = MemoryRevision({path: text.encode() for path, text in files.items()})
    return load_contract(revision, "contracts/words.yaml", SHAPES)


def searched(client: FakeClient, limits: Limits, clock: FakeTime | None = None) -> BlameResult:
    head = loaded(RULES.replace(".", "!"))
    evaluation = evaluation_of(head, loaded(RULES).target, evaluator=prepare(head))
    rates = expected_rates(1.0, 0.0, broke=3, fixed=0)
    assert rates
    return asyncio.run(
        Search(
            evaluation,
            Broken(("a", "b", "c"), rates),
            client,
            limits,
            price=lambda _: 0.01,
            clock=clock or FakeTime(),
        ).blame()
    )


def breaks_with_seven(request: Request) -> Completion:
    return Completion("no" if "Seven!" in content(request) else "ok")


def test_without_limits_the_edit_is_found():
    client = FakeClient(breaks_with_seven)
    found = searched(client, UNLIMITED)
    assert [cause.edits[0].after for cause in found.causes] == ["Seven!\n"]
    assert len(client.asked) > 10
    assert found.cost_usd is None


def test_calls_without_a_cost_count_over_all_tests_of_a_search():
    client = FakeClient(breaks_with_seven)
    found = searched(client, replace(UNLIMITED, cost_usd=0.05))
    assert len(client.asked) == found.calls.made == 5
    assert "cost limit" in (found.ended or "")


def test_the_minutes_are_those_of_the_whole_search():
    clock = FakeTime()

    def slowly(request: Request) -> Completion:
        clock.now += 20
        return breaks_with_seven(request)

    client = FakeClient(slowly)
    found = searched(client, replace(UNLIMITED, minutes=2, concurrency=1), clock)
    assert len(client.asked) <= 7
    assert "time limit" in (found.ended or "")


@pytest.mark.parametrize("cost", [0.01, 0.0])
def test_known_costs_are_summed(cost):
    client = FakeClient(lambda request: replace(breaks_with_seven(request), cost_usd=cost))
    found = searched(client, replace(UNLIMITED, cost_usd=0.05))
    assert found.cost_usd == pytest.approx(cost * len(client.asked))
    assert found.cost_usd <= 0.05
