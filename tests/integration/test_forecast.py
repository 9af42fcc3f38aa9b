"""What `affected` forecasts of a check, against what checks then take."""

from __future__ import annotations

import random
from statistics import mean
from typing import Any

import pytest
from support.random_model import BASE, HEAD, POLICY, Model, check, revision

from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion
from gatekeeper.gate.forecast.estimate import ContractEstimate, estimate_change
from gatekeeper.gate.forecast.forecast import Amounts, forecast_run
from gatekeeper.gate.work import plan_check

ONE = Amounts(lambda _: 0.01, lambda _: 0.5, lambda _: ((80, 20), (800, 200)))
WORDS = tuple(f"word {number}" for number in range(150))
GROUPED = {"mode": "fixed}\ngroups: {same: {checks: [{type: contains, value: o}]}"}
FIELDS = {"samples": 1, "mode": "adaptive", "gate": "margin: 0.2, claim: inputs"}


def estimate_of(base=BASE, head=HEAD) -> ContractEstimate:
    (found,) = estimate_change(Change(base, head), POLICY, (), ONE).contracts
    return found


@pytest.mark.long
def test_harmless_changes_take_about_the_expected_calls() -> None:
    base, head = (revision(a, s, WORDS, **FIELDS) for a, s in (("Base", "b"), ("Head", "c")))
    found = estimate_of(base, head)
    made = []
    for seed in range(10):
        drawn = random.Random(seed)  # noqa: S311
        made.append(check(Model(rate=0.9, drawn=drawn), None, base, head).calls.made)
    assert found.fewest_calls <= min(made)
    assert max(made) <= found.calls == 300
    assert found.fewest_calls < found.expected_calls < found.calls
    assert mean(made) == pytest.approx(found.expected_calls, rel=0.25)
    assert found.may_stop_early


def test_the_most_holds_the_fresh_samples() -> None:
    words = WORDS[:20]
    arms = (("Base", "b"), ("Head", "c"))
    base, head = (revision(a, s, words, gate="claim: both", samples=1) for a, s in arms)
    found = estimate_of(base, head)
    # Two pairs tell who is a suspect; ten suspects have 30 more, and ten that look fixed have ten.
    assert found.calls == 40 + 2 * (20 * 2 + 10 * 30 + 10 * 10)
    assert (found.fewest_calls, found.expected_calls) == (40, 40)
    assert found.worst_cost_usd == pytest.approx(0.5 * found.calls)
    for seed in range(5):
        drawn = random.Random(seed)  # noqa: S311
        assert 40 <= check(Model(0.6, drawn), None, base, head).calls.made <= found.calls


def test_a_broken_prompt_takes_no_fewer_than_the_fewest_calls() -> None:
    """Every fixture breaks: nothing ends a check sooner."""
    base = revision("ok", "b", WORDS, **FIELDS)
    head = revision("no", "c", WORDS, **FIELDS)

    class Breaks(Model):
        async def complete(self, request):
            found = await super().complete(request)
            return type(found)(request.messages[0].content.split()[0], 1.0, 10, 2, 0.0)

    made = check(Breaks(), None, base, head).calls
    found = estimate_of(base, head)
    assert found.fewest_calls <= made.made - made.surplus < found.expected_calls


def test_a_check_that_cannot_stop_early_is_expected_to_take_all() -> None:
    found = estimate_of()
    assert (found.fewest_calls, found.expected_calls, found.calls) == (48, 48, 48)
    assert (found.tokens, found.most_tokens) == (4_800, 48_000)
    assert found.cost_usd == pytest.approx(0.48)
    assert found.worst_cost_usd == pytest.approx(24.0)
    assert not found.may_stop_early


def test_what_is_unbounded_or_unknown_is_not_a_number() -> None:
    unknown = Amounts(lambda _: None, lambda _: None, lambda _: ((80, 20), (800, float("inf"))))
    found = estimate_change(Change(BASE, HEAD), POLICY, (), unknown)
    assert (found.cost_usd, found.worst_cost_usd, found.most_tokens) == (None, None, None)
    assert found.document()["tokens"] == 4_800


@pytest.mark.parametrize(
    "fields",
    [
        FIELDS,
        {"samples": 1, "gate": "claim: both"},
        {"samples": 2, "mode": "fixed", "gate": "claim: fixtures"},
        {"samples": 3, "mode": "adaptive"},
    ],
)
def test_a_run_is_forecast_like_its_contracts(fields: dict[str, Any]) -> None:
    base, head = (revision(a, s, WORDS, **fields) for a, s in (("Base", "b"), ("Head", "c")))
    found = forecast_run(plan_check(Change(base, head), POLICY), {}, ONE)
    assert found is not None
    contract = estimate_of(base, head)
    assert (found.expected.calls, found.most.calls) == (contract.expected_calls, contract.calls)
    assert (found.expected.tokens, found.most.tokens) == (contract.tokens, contract.most_tokens)
    assert found.expected.cost_usd == pytest.approx(contract.cost_usd)
    assert found.most.prompt_tokens == 800 * found.most.calls


def test_known_answers_are_no_calls_and_come_first() -> None:
    base, head = (revision(a, s, WORDS, **FIELDS) for a, s in (("Base", "b"), ("Head", "c")))
    work = plan_check(Change(base, head), POLICY)
    whole = forecast_run(work, {}, ONE)
    assert whole is not None
    for known in (10, whole.expected.calls, 299):
        left = forecast_run(work, dict.fromkeys(range(known), Completion("ok")), ONE)
        assert left is not None
        assert left.most.calls == 300 - known
        assert left.expected.calls == max(0, whole.expected.calls - known)
        assert left.expected.cost_usd == pytest.approx(0.01 * left.expected.calls)
    assert forecast_run(work, dict.fromkeys(range(300), Completion("ok")), ONE) is None


def test_answers_of_a_recording_are_no_calls() -> None:
    def recorded(arm: MemoryRevision) -> MemoryRevision:
        files = ((path, text.replace(b"openai/", b"recorded/")) for path, text in arm.files.items())
        return MemoryRevision(dict(files), arm.sha)

    base, head = map(recorded, (BASE, HEAD))
    assert forecast_run(plan_check(Change(base, head), POLICY), {}, ONE) is None
    found = estimate_of(base, head)
    assert (found.fewest_calls, found.expected_calls, found.calls, found.tokens) == (0, 0, 0, 0)


def test_calls_that_groups_share_are_made_once() -> None:
    base, head = (revision(arm, sha, **GROUPED) for arm, sha in (("Base", "b"), ("Head", "c")))
    found = forecast_run(plan_check(Change(base, head), POLICY), {}, ONE)
    assert found is not None
    made = check(Model(), None, base, head).calls.made
    assert found.most.calls == made == 48
