"""The calls of a run are divided evenly, and no limit is exceeded by all shards together."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Arm, Request, Trial
from gatekeeper.runs.shards.plan import assign_shards, limits_of_shard
from gatekeeper.sampling.calls import group_calls

ARMS: tuple[Arm, ...] = ("base", "head")


def trial(contract: str, fixture: int, arm: Arm, repetition: int, text: str) -> Trial:
    request = Request("openai/x", (Message("user", text),), {}, None, repetition)
    return Trial(contract, f"f{fixture}", arm, repetition, request)


@st.composite
def planned(draw: st.DrawFn) -> list[Trial]:
    """Trials of both arms; some fixtures share their request, some arms too."""
    texts = draw(st.lists(st.integers(0, 8), min_size=1, max_size=12))
    changed = draw(st.booleans())
    return [
        trial(contract, number, arm, repetition, f"{text} {arm if changed else ''}")
        for contract in ("a", "b")
        for repetition in range(draw(st.integers(1, 3)))
        for number, text in enumerate(texts)
        for arm in ARMS
    ]


@given(planned(), st.integers(1, 9))
def test_what_belongs_together_is_on_one_shard(trials: list[Trial], shards: int) -> None:
    found = assign_shards(trials, shards)
    assert set(found) <= set(range(1, shards + 1))
    together = defaultdict(set)
    _, call_of = group_calls(trials)
    for shard, one, call in zip(found, trials, call_of, strict=True):
        together[one.contract, one.fixture, one.repetition].add(shard)
        together["call", id(call)].add(shard)
    assert {len(places) for places in together.values()} == {1}
    assert found == assign_shards(trials, shards)


@given(st.integers(1, 400), st.integers(1, 40), st.integers(0, 500))
def test_shards_are_even_and_fit_their_part_of_the_limit(
    calls: int, shards: int, more: int
) -> None:
    trials = [trial("a", number, "head", 0, str(number)) for number in range(calls)]
    loads = Counter(assign_shards(trials, shards))
    sizes = [loads[shard] for shard in range(1, shards + 1)]
    assert max(sizes) - min(sizes) <= 1
    for shard, size in enumerate(sizes, 1):
        assert size <= (limits_of_shard(Limits(calls=calls + more), shard, shards).calls or 0)


@given(
    st.builds(
        Limits,
        cost_usd=st.none() | st.floats(0.001, 1e6),
        calls=st.none() | st.integers(0, 10**6),
        concurrency=st.integers(1, 500),
        requests_per_minute=st.none() | st.floats(1, 1e6),
        tokens_per_minute=st.none() | st.floats(1, 1e9),
    ),
    st.integers(1, 256),
)
def test_all_parts_together_are_the_limits(limits: Limits, shards: int) -> None:
    parts = [limits_of_shard(limits, number, shards) for number in range(1, shards + 1)]
    for name in ("cost_usd", "calls", "requests_per_minute", "tokens_per_minute"):
        whole = getattr(limits, name)
        own = [getattr(part, name) for part in parts]
        if whole is None:
            assert set(own) == {None}
        else:
            assert abs(sum(own) - whole) <= 1e-9 * whole
    assert sum(part.concurrency for part in parts) <= max(limits.concurrency, shards)
    assert {replace(part, calls=None) for part in parts} == {replace(parts[0], calls=None)}
    assert {part.minutes for part in parts} == {limits.minutes}


def test_neighbours_in_the_plan_go_to_different_shards() -> None:
    trials = [trial("a", number, "head", 0, str(number)) for number in range(6)]
    assert assign_shards(trials, 3) == (1, 2, 3, 1, 2, 3)
