"""What a run leaves in the cache for the next: all of it that is sound, or nothing."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_model import (
    BASE,
    HEAD,
    KEYS,
    POLICY,
    Model,
    answered_by,
    check,
    evidence,
    measured,
    revision,
)

from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.gate.work import plan_check
from gatekeeper.providers.models.keys import model_access
from gatekeeper.runs.answers import cache as cache_file
from gatekeeper.runs.answers.cache import cache_key, read
from gatekeeper.runs.execute import execute
from gatekeeper.runs.run_plan import RunPlan
from gatekeeper.sampling.cache import Entry


def entries(cache: Path) -> list[Entry]:
    key = cache_key(model_access(KEYS))
    return [read(line, key, datetime.now(UTC)) for line in cache.read_bytes().splitlines()]


@pytest.mark.long
@settings(max_examples=settings.default.max_examples // 2)
@given(
    seed=st.integers(0, 2**20),
    calls=st.lists(st.integers(1, 60), min_size=1, max_size=3),
    mode=st.sampled_from(["fixed", "adaptive"]),
    contracts=st.integers(1, 2),
)
def test_each_run_goes_on_behind_what_the_ones_before_drew(
    tmp_path_factory: pytest.TempPathFactory, seed: int, calls: list[int], mode: str, contracts: int
) -> None:
    """Cut short anywhere, and with the fixtures in another order for each commit."""
    cache = tmp_path_factory.mktemp("cache") / "cache.jsonl"
    fields: dict[str, Any] = {"mode": mode, "contracts": contracts, "samples": 3}
    base, before = revision("Base", "b", **fields), dict[str, Entry]()
    model = Model(drawn=random.Random(seed))  # noqa: S311
    for push, most in enumerate([*calls, None]):
        head = revision("Head", f"{push}", **fields)
        result = check(model, cache, base, head, Policy(limits=Limits(None, most, None, 4)))
        after = {entry.plan: entry for entry in (entries(cache) if cache.exists() else [])}
        for plan, entry in before.items():
            assert after[plan].measured == entry.measured
            assert after[plan].pairs[: len(entry.pairs)] == entry.pairs
        assert all(len({p.key for p in e.pairs}) == len(e.pairs) for e in after.values())
        before = after
    asked = len(model.asked)
    again = check(model, cache, base, head)
    assert len(model.asked) == asked
    assert evidence(again) == evidence(result)


def test_an_entry_taken_out_has_all_of_its_contract_drawn_again(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    base, head = (revision(*arm, contracts=2) for arm in (("Base", "b"), ("Head", "c")))
    check(Model(), cache, base, head)
    lines = cache.read_bytes().splitlines(keepends=True)
    assert [len(entry.pairs) for entry in entries(cache)] == [24, 24]
    cache.write_bytes(lines[1])
    model = Model()
    result = check(model, cache, base, head)
    assert (len(model.asked), result.calls.cached, result.notices) == (48, 48, ())


@pytest.mark.parametrize("cut", [1, 2, 500, 4000])
def test_a_line_that_was_cut_has_all_of_its_contract_drawn_again(cut: int, tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    check(Model(), cache)
    cache.write_bytes(cache.read_bytes().rstrip()[:-cut])
    model = Model()
    result = check(model, cache)
    assert (len(model.asked), result.calls.cached) == (48, 0)
    (notice,) = result.notices
    assert "ignores 1 entry of the cache" in notice
    assert "incomplete" in notice


def test_of_two_runs_side_by_side_the_first_to_end_stands(tmp_path: Path) -> None:
    """Also where both go on behind what an earlier run drew."""

    class Overtaken(Model):
        async def complete(self, request: Request) -> Completion:
            cache.write_bytes(first)
            return await super().complete(request)

    cache = tmp_path / "cache.jsonl"
    check(Model(), cache, policy=Policy(limits=Limits(None, 20, None, 4)))
    before = cache.read_bytes()
    check(Model(drawn=random.Random(1)), cache)  # noqa: S311
    first = cache.read_bytes()
    for start in (before, b""):
        cache.write_bytes(start)
        model = Overtaken(drawn=random.Random(2))  # noqa: S311
        check(model, cache)
        assert model.asked
        assert cache.read_bytes() == first


def test_a_contract_whose_answers_do_not_fit_is_named_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Long(Model):
        async def complete(self, request: Request) -> Completion:
            answer = await super().complete(request)
            return replace(answer, text="ok" * (1 + 200 * (request.model == "openai/c0")))

    cache = tmp_path / "cache.jsonl"
    base, head = (revision(*arm, contracts=2) for arm in (("Base", "b"), ("Head", "c")))
    monkeypatch.setattr(cache_file, "MOST_BYTES", 18_000)
    result = check(Long(), cache, base, head)
    (notice,) = result.notices
    assert "the answers of contract c0 do not fit" in notice
    assert [entry.contract for entry in entries(cache)] == ["c1"]


def test_half_a_pair_is_measured_whole(tmp_path: Path) -> None:
    """One arm had no answer: the other's is neither kept nor used."""
    cache = tmp_path / "cache.jsonl"
    check(Model(fails=("Head word 3",)), cache)
    model = Model()
    result = check(model, cache)
    assert sorted(model.asked) == ["Base word 3"] * 2 + ["Head word 3"] * 2
    assert result.calls.failed == 0


def test_a_fixture_without_a_partner_is_asked_again(tmp_path: Path) -> None:
    """The base prompt cannot take it: there is no pair to be kept."""
    cache = tmp_path / "cache.jsonl"
    base = revision("Base", "b")
    base.files["contracts/c0.txt"] = b"Base {{ missing }}"  # type: ignore[index]
    check(Model(), cache, base)
    assert not cache.exists()


def test_a_run_cut_short_leaves_what_it_measured_for_the_next(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    first = check(Model(), cache, policy=Policy(limits=Limits(None, 20, None, 4)))
    assert any(r.code == "limit" for c in first.contracts for r in c.reasons)
    model = Model()
    second = check(model, cache)
    assert second.calls.cached == 20
    assert len(model.asked) == 28


def test_what_a_run_has_beyond_its_first_gap_is_not_kept(tmp_path: Path) -> None:
    """The first call of the plan is still on its way when the time is up: what is there beyond it
    came early."""

    class Slow(Model):
        async def complete(self, request: Request) -> Completion:
            import asyncio

            if not self.asked:
                self.asked.append(request.messages[0].content)
                await asyncio.Event().wait()
            return await super().complete(request)

    cache = tmp_path / "cache.jsonl"
    result = check(Slow(), cache, policy=Policy(limits=Limits(None, None, 0.005, 4)))
    assert len(result.outcomes) > 4
    assert not cache.exists()


def test_an_answer_that_repeats_a_secret_is_not_kept(tmp_path: Path) -> None:
    class Telling(Model):
        async def complete(self, request: Request) -> Completion:
            answer = await super().complete(request)
            if request.messages[0].content == "Head word 5":
                return replace(answer, text=f"ok, {KEYS['SOME_API_KEY'][::-1]}")
            return answer

    cache = tmp_path / "cache.jsonl"
    check(Telling(), cache)
    assert KEYS["SOME_API_KEY"][::-1] not in cache.read_text()
    model = Model()
    check(model, cache)
    assert sorted(model.asked) == ["Base word 5"] * 2 + ["Head word 5"] * 2


def test_where_every_answer_repeats_a_secret_nothing_is_kept(tmp_path: Path) -> None:
    class Telling(Model):
        async def complete(self, request: Request) -> Completion:
            return replace(await super().complete(request), text=KEYS["SOME_API_KEY"])

    check(Telling(), tmp_path / "cache.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keys", [{}, {"SOME_API_KEY": "not-needed"}])
def test_without_a_key_there_is_no_cache_and_that_is_said(
    keys: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    cache = tmp_path / "cache.jsonl"
    work = plan_check(Change(BASE, HEAD), POLICY)
    result = measured(work, Model(), cache, keys)
    assert not cache.exists()
    assert [str(cache) in notice and "API_KEY" in notice for notice in result.notices] == [True]
    assert not measured(work, Model(), None, keys).notices


@pytest.mark.parametrize(
    "keys",
    [
        {"SOME_API_KEY": "another-key-of-the-same-model"},
        KEYS | {"SOME_BASE_URL": "https://elsewhere.example"},
    ],
    ids=["another key", "another server"],
)
def test_what_was_measured_with_other_access_is_measured_anew(
    keys: dict[str, str], tmp_path: Path
) -> None:
    cache = tmp_path / "cache.jsonl"
    check(Model(), cache)
    model = Model()
    result = measured(plan_check(Change(BASE, HEAD), POLICY), model, cache, keys)
    assert len(model.asked) == 48
    assert "ignores 1 entry of the cache" in result.notices[0]
    assert "not signed with the keys of this run: 1" in result.notices[0]


def test_a_cache_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "cache.jsonl").mkdir()
    result = check(Model(), tmp_path / "cache.jsonl")
    assert result.calls.made == 48
    assert len(result.notices) == 2
    assert "is not used" in result.notices[0]
    assert "could not be written" in result.notices[1]


def test_a_replay_leaves_the_cache_alone(tmp_path: Path) -> None:
    cache, recording = tmp_path / "cache.jsonl", tmp_path / "x.jsonl"
    recording.write_text("", encoding="utf-8")
    with answered_by(Model()):
        work = plan_check(Change(BASE, HEAD), POLICY)
        execute(RunPlan(work=work, revisions=(), cache=cache, replay=recording))
    assert not cache.exists()


def test_no_secret_is_in_the_file(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    check(Model(), cache)
    assert KEYS["SOME_API_KEY"] not in cache.read_text()
    assert {len(json.loads(line)["hmac"]) for line in cache.read_text().splitlines()} == {64}
