"""What was measured once is neither paid for nor drawn again, and misleads nobody."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_model import (
    BASE,
    HEAD,
    POLICY,
    WORDS,
    Model,
    check,
    evidence,
    measured,
    revision,
)

from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import plan_push, plan_run
from gatekeeper.sampling.trials import new_order_seed


@pytest.mark.long
@settings(max_examples=settings.default.max_examples // 2)
@given(
    seed=st.integers(0, 2**20),
    rate=st.floats(0, 1),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=14),
    samples=st.integers(1, 4),
    mode=st.sampled_from(["fixed", "adaptive"]),
    contracts=st.integers(1, 2),
    stays=st.booleans(),
    weakened=st.booleans(),
)
def test_the_same_again_makes_no_call_and_finds_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    rate: float,
    words: list[str],
    samples: int,
    mode: str,
    contracts: int,
    stays: bool,
    weakened: bool,
) -> None:
    """Whatever is repeated, shared by arms, fixtures and evaluations, or stopped early. With
    `stays` the base prompt takes no notice of the fixture, so that all its calls are one."""
    cache = tmp_path_factory.mktemp("cache") / "cache.jsonl"
    fields = {"samples": samples, "mode": mode, "contracts": contracts}
    base = revision("Base", "b", tuple(words), **fields)
    head = revision("Head", "c", tuple(words[1:] if weakened and words[1:] else words), **fields)
    if stays:
        base.files["contracts/c0.txt"] = b"Base."  # type: ignore[index]
    first = check(Model(rate, random.Random(seed)), cache, base, head)  # noqa: S311
    again = Model(rate, random.Random(seed + 1))  # noqa: S311
    second = check(again, cache, base, head)
    assert evidence(second) == evidence(first)
    assert again.asked == []
    assert (second.calls.made, second.cost_usd) == (0, 0.0)
    assert second.calls.cached == first.calls.made - first.calls.surplus
    assert not second.notices


@pytest.mark.long
@pytest.mark.parametrize("sorted_by", [lambda word: word[::-1], lambda word: -int(word[5:])])
def test_a_rerun_keeps_its_order_however_the_fixtures_are_sorted_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sorted_by: Callable[[str], Any]
) -> None:
    """A new order for known answers would be a new chance that sampling ends too soon."""
    monkeypatch.setattr("gatekeeper.gate.work.new_order_seed", new_order_seed)
    words = tuple(f"word {number}" for number in range(60))
    fields: dict[str, Any] = {"samples": 3, "mode": "adaptive"}
    base = revision("Base", "b", words, **fields)
    first = check(Model(0.9), tmp_path / "c.jsonl", base, revision("Head", "c", words, **fields))
    for attempt in range(3):
        again = Model(0.9)
        head = revision("Head", f"{attempt}", tuple(sorted(words, key=sorted_by)), **fields)
        second = check(again, tmp_path / "c.jsonl", base, head)
        assert second.order_seed != first.order_seed
        assert second.contracts[0].order_seed == first.contracts[0].order_seed
        assert drawn(second) == drawn(first)
        assert second.verdict == first.verdict
        assert again.asked == []


def drawn(result: GateResult) -> list[Request]:
    """What was asked by head's contract, in the order of evidence."""
    samples = (outcome.sample for outcome in result.outcomes)
    return [s.trial.request for s in samples if s.trial.contract_from == "head"]


def test_a_contract_that_asks_anything_else_is_drawn_in_a_new_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatekeeper.gate.work.new_order_seed", new_order_seed)
    seeds = set()
    for number in range(3):
        head = revision(f"Head {number}", "c")
        result = check(Model(), tmp_path / "c.jsonl", BASE, head)
        seeds |= {result.contracts[0].order_seed, result.order_seed}
    assert len(seeds) == 3


def test_without_a_cache_the_same_again_is_drawn_again(tmp_path: Path) -> None:
    """The tests above could not fail if the model always said the same."""
    model = Model()
    first, second = check(model, None), check(model, None)
    assert len(model.asked) == 96
    assert evidence(first) != evidence(second)


def test_a_change_to_one_fixture_measures_its_contract_and_no_other(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    base, head = revision("Base", "b", contracts=2), revision("Head", "c", contracts=2)
    head.files["contracts/c0.txt"] = b"Good {{ word }}"  # type: ignore[index]
    check(Model(), cache, base, head)
    model = Model()
    changed = {"contracts/c0.txt": b"Good {{ word.replace('word 3', 'another') }}"}
    result = check(model, cache, base, replace(head, files={**head.files, **changed}))
    assert model.asked.count("Good another") == 2
    assert len(model.asked) == 48
    assert (result.calls.made, result.calls.cached) == (48, 48)


@pytest.mark.long
def test_nobody_draws_again_what_failed_and_keeps_what_passed(tmp_path: Path) -> None:
    """Each push changes only what the fixtures that failed ask of the model."""

    class Worse(Model):
        async def complete(self, request: Request) -> Completion:
            self.rate = 0.6 if request.messages[0].content.startswith("Head") else 1.0
            return await super().complete(request)

    cache, model = tmp_path / "cache.jsonl", Worse()
    words = tuple(f"word {number}" for number in range(40))
    base = revision("Base", "b", words, samples=1)
    ends = dict.fromkeys(words, "")
    for push in range(8):
        head = revision("Head", f"{push}", words, samples=1)
        told = "".join(f"{{% if word == '{w}' %}}{end}{{% endif %}}" for w, end in ends.items())
        head.files["contracts/c0.txt"] = f"Head {{{{ word }}}}{told}.".encode()  # type: ignore[index]
        result = check(model, cache, base, head)
        assert result.verdict == "fail"
        failed = [o.sample.trial for o in result.outcomes if not o.passed]
        for trial in failed:
            ends[words[int(trial.fixture.removeprefix("id"))]] += "!"


def test_a_change_to_head_measures_base_again_too(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    check(Model(), cache)
    model = Model()
    result = check(model, cache, BASE, revision("Other", "d"))
    assert sorted(model.asked) == sorted([f"{a} {w}" for a in ("Base", "Other") for w in WORDS] * 2)
    assert result.calls.cached == 0


def test_head_and_base_exchanged_are_other_pairs(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    check(Model(), cache)
    model = Model()
    check(model, cache, revision("Head", "e"), revision("Base", "f"))
    assert len(model.asked) == 48


def test_a_check_that_changes_asks_nothing_and_checks_anew(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    first = check(Model(), cache)
    model = Model()
    base, head = revision("Base", "b", value="n"), revision("Head", "d", value="n")
    second = check(model, cache, base, head)
    assert model.asked == []
    assert first.contracts[0].head
    assert second.contracts[0].head
    assert first.contracts[0].head.passed == 24 - second.contracts[0].head.passed


def test_a_base_that_two_pairs_share_is_asked_again_for_the_one_that_is_new(tmp_path: Path) -> None:
    """Each pair's arms are of one run, also where the base prompt is the same for both."""
    cache = tmp_path / "cache.jsonl"
    base = revision("Base", "b", WORDS[:2], samples=1)
    base.files["contracts/c0.txt"] = b"Base."  # type: ignore[index]
    head = revision("Head", "c", WORDS[:2], samples=1)
    asked = Model()
    first = check(asked, cache, base, head, Policy(limits=Limits(None, 2, None, 4)))
    model = Model(drawn=random.Random(8))  # noqa: S311
    second = check(model, cache, base, head)
    assert sorted([*asked.asked, *model.asked]) == ["Base.", "Base.", "Head word 0", "Head word 1"]
    assert len(model.asked) == 2
    bases = {
        o.sample.completion.latency_ms
        for o in second.outcomes
        if o.sample.trial.arm == "base" and o.sample.completion
    }
    assert len(bases) == 2
    assert bases & {o.sample.completion.latency_ms for o in first.outcomes if o.sample.completion}


@pytest.mark.parametrize("kind", ["run", "push"])
def test_the_health_of_the_default_branch_is_always_measured_now(kind: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    check(Model(), cache)
    before = cache.read_bytes()
    work = plan_run(HEAD, POLICY) if kind == "run" else plan_push(Change(BASE, HEAD), POLICY)
    model = Model()
    result = measured(work, model, cache)
    assert len(model.asked) == 24
    assert result.calls.cached == 0
    assert cache.read_bytes() == before


def test_limits_count_real_calls_alone(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    check(Model(), cache)
    tight = Policy(limits=Limits(cost_usd=0.0, calls=0, minutes=None, concurrency=4))
    model = Model()
    result = check(model, cache, policy=tight)
    assert model.asked == []
    assert not any(r.code == "limit" for c in result.contracts for r in c.reasons)
