"""What was measured once is neither paid for nor drawn again, and misleads nobody."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper import session
from gatekeeper.contract.change import Change, MemoryRevision
from gatekeeper.contract.policy import Limits, Policy
from gatekeeper.contract.trial import Completion, Outcome, Request
from gatekeeper.errors import CallFailed
from gatekeeper.gate import Work, plan_check, plan_push, plan_run
from gatekeeper.result import GateResult

POLICY = Policy(limits=Limits(None, None, None, 4))
CONTRACT = """\
contract: 1
name: {name}
prompt: {name}.txt
model: m/{name}
fixtures: [{{file: words.csv}}]
checks: [{{type: contains, value: {value}}}]
sampling: {{samples: {samples}, mode: {mode}}}
"""
KEYS = {"SOME_API_KEY": "a-key-that-opens-a-model"}
WORDS = tuple(f"word {number}" for number in range(12))


@dataclass
class Model:
    """Answers by chance, differently whenever it is asked; what `fails` names has no answer."""

    rate: float = 0.7
    drawn: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311
    asked: list[str] = field(default_factory=list)
    fails: tuple[str, ...] = ()
    limit: int | None = None

    async def complete(self, request: Request) -> Completion:
        text = request.messages[0].content
        self.asked.append(text)
        if text in self.fails:
            raise CallFailed("no answer")
        answer = "ok" if self.drawn.random() < self.rate else "no"
        return Completion(answer, 100 * self.drawn.random(), 10, 2, self.drawn.random())

    async def require_keys(self, models: Iterable[str]) -> None:
        """None is needed."""

    async def aclose(self) -> None:
        """Nothing is open."""


def revision(
    arm: str, sha: str, words: tuple[str, ...] = WORDS, **fields: object
) -> MemoryRevision:
    contracts = fields.pop("contracts", 1)
    given = {"samples": 2, "mode": "fixed", "value": "ok"} | fields
    files = {"contracts/words.csv": _csv(words)}
    for number in range(contracts):  # type: ignore[call-overload]
        text = CONTRACT.format(name=f"c{number}", **given)
        files[f"contracts/c{number}.yaml"] = text.encode()
        files[f"contracts/c{number}.txt"] = f"{arm} {{{{ word }}}}".encode()
    return MemoryRevision(files, sha * 40)


def _csv(words: tuple[str, ...]) -> bytes:
    lines = "".join(f"id{number},{word}\n" for number, word in enumerate(words))
    return f"id,word\n{lines}".encode()


BASE = revision("Base", "b")
HEAD = revision("Head", "c")


@contextmanager
def answered_by(model: Model, keys: Mapping[str, str] = KEYS) -> Iterator[None]:
    with (
        patch("gatekeeper.providers.ModelRouter", lambda *_, **__: model),
        patch.dict("os.environ", keys),
    ):
        yield


def measured(
    work: Work, model: Model, cache: Path | None, keys: Mapping[str, str] = KEYS
) -> GateResult:
    with answered_by(model, keys):
        return session.measure(work, (), cache=cache)


def check(
    model: Model,
    cache: Path | None,
    base: MemoryRevision = BASE,
    head: MemoryRevision = HEAD,
    policy: Policy = POLICY,
) -> GateResult:
    return measured(plan_check(Change(base, head), policy), model, cache)


def evidence(result: GateResult) -> tuple[object, ...]:
    """All that decides, without what says where it comes from."""
    return result.verdict, result.contracts, tuple(map(_as_asked, result.outcomes))


def _as_asked(outcome: Outcome) -> Outcome:
    completion = outcome.sample.completion
    if completion is None:
        return outcome
    sample = replace(outcome.sample, completion=replace(completion, replayed=False))
    return replace(outcome, sample=sample)


@settings(deadline=None, max_examples=25)
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
    """Whatever is repeated, shared by arms, fixtures and judges, or stopped early. With `stays`
    the base prompt takes no notice of the fixture, so that all its calls are one."""
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


def test_a_check_that_changes_asks_nothing_and_judges_anew(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    first = check(Model(), cache)
    model = Model()
    base, head = revision("Base", "b", value="n"), revision("Head", "d", value="n")
    second = check(model, cache, base, head)
    assert model.asked == []
    assert first.contracts[0].head
    assert second.contracts[0].head
    assert first.contracts[0].head.passed == 24 - second.contracts[0].head.passed


def test_half_a_pair_is_measured_whole(tmp_path: Path) -> None:
    """One arm had no answer: the other's is neither kept nor used."""
    cache = tmp_path / "cache.jsonl"
    check(Model(fails=("Head word 3",)), cache)
    model = Model()
    result = check(model, cache)
    assert sorted(model.asked) == ["Base word 3"] * 2 + ["Head word 3"] * 2
    assert result.calls.failed == 0


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


def test_a_fixture_without_a_partner_is_asked_again(tmp_path: Path) -> None:
    """The base prompt cannot take it: there is no pair to be kept."""
    cache = tmp_path / "cache.jsonl"
    base = revision("Base", "b")
    base.files["contracts/c0.txt"] = b"Base {{ missing }}"  # type: ignore[index]
    check(Model(), cache, base)
    assert not cache.exists()


def test_limits_count_real_calls_alone(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    check(Model(), cache)
    tight = Policy(limits=Limits(cost_usd=0.0, calls=0, minutes=None, concurrency=4))
    model = Model()
    result = check(model, cache, policy=tight)
    assert model.asked == []
    assert not any(r.code == "limit" for c in result.contracts for r in c.reasons)


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
    assert "24 not signed with the keys of this run" in result.notices[0]


def test_a_cache_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "cache.jsonl").mkdir()
    result = check(Model(), tmp_path / "cache.jsonl")
    assert result.calls.made == 48
    assert len(result.notices) == 2
    assert "is not used" in result.notices[0]
    assert "could not be written" in result.notices[1]


def test_a_replay_leaves_the_cache_alone(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    with answered_by(Model()):
        session.measure(
            plan_check(Change(BASE, HEAD), POLICY), (), cache=cache, replay=tmp_path / "x.jsonl"
        )
    assert not cache.exists()


def test_no_secret_is_in_the_file(tmp_path: Path) -> None:
    cache = tmp_path / "cache.jsonl"
    check(Model(), cache)
    assert KEYS["SOME_API_KEY"] not in cache.read_text()
    assert {len(json.loads(line)["hmac"]) for line in cache.read_text().splitlines()} == {64}
