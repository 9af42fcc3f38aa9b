"""An entry of the sample cache: what it is for, and what makes it worth nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Arm, Completion, Request, Sample, Trial
from gatekeeper.runs.answers.cache import cache_key, read, written
from gatekeeper.sampling.cache import (
    Entry,
    Pair,
    continued,
    live_entries,
    measured,
    recall,
)

NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
KEY = cache_key([("OPENAI_API_KEY", "sk-0123456789abcdef")])

amounts = st.none() | st.floats(0, 1e9)
completions = st.builds(
    Completion,
    text=st.text(),
    latency_ms=amounts,
    prompt_tokens=st.none() | st.integers(0, 10**9),
    completion_tokens=st.none() | st.integers(0, 10**9),
    cost_usd=amounts,
    ttft_ms=amounts,
    reasoning_tokens=st.none() | st.integers(0, 10**9),
    fingerprint=st.none() | st.text(),
)
keys = st.text("0123456789abcdef", min_size=64, max_size=64)
entries = st.builds(
    Entry,
    plan=keys,
    contract=st.text(),
    order_seed=keys,
    measured=st.timedeltas(timedelta(0), timedelta(days=400)).map(lambda age: NOW - age),
    pairs=st.lists(st.builds(Pair, keys, completions, completions), max_size=3).map(tuple),
)
PAIR = Pair("a" * 64, Completion("no", 8.5, 10, 2, 0.25), Completion("ok", 9.0, 11, 3, 0.5))
SEED = "5" * 32
SEEDS = dict.fromkeys("cde", SEED)
ENTRY = Entry("b" * 64, "c", SEED, NOW, (PAIR,))
LINE = written(ENTRY, KEY)


def trial(
    arm: Arm,
    fixture: str = "f",
    text: str | None = None,
    repetition: int = 0,
    contract_from: Arm = "head",
    **request: Any,
) -> Trial:
    asked = {"model": "m", "params": {"temperature": 0}, "seed": 42} | request
    message = Message("user", text or f"{arm} {fixture}")
    return Trial(
        "c",
        fixture,
        arm,
        repetition,
        Request(messages=(message,), repetition=repetition, **asked),
        contract_from,
    )


def sampled(trial: Trial, text: str | None = "ok", **completion: Any) -> Sample:
    if text is None:
        return Sample(trial, None, "no answer")
    return Sample(trial, Completion(text, **completion))


def plan(*trials: Trial) -> Entry:
    """The entry of a run that had an answer to all of them."""
    (entry,) = measured(trials, [sampled(trial) for trial in trials], NOW, SEEDS)
    return entry


@given(entries)
def test_an_entry_comes_back_as_it_was(entry: Entry) -> None:
    line = written(entry, KEY)
    assert b"\n" not in line
    assert json.loads(line)["version"] == 4
    assert read(line, KEY, NOW) == entry


@given(entries, st.data())
def test_no_byte_of_an_entry_can_be_changed(entry: Entry, data: st.DataObject) -> None:
    line = bytearray(written(entry, KEY))
    place = data.draw(st.integers(0, len(line) - 1))
    line[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place]))
    with pytest.raises(ValueError, match=r"version of the cache$|^not signed"):
        read(bytes(line), KEY, NOW)


@given(entries, st.data())
def test_no_byte_can_be_taken_out_and_none_put_in(entry: Entry, data: st.DataObject) -> None:
    line = written(entry, KEY)
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, len(line)))
    other = data.draw(st.binary(max_size=5).filter(lambda new: new != line[start:end]))
    with pytest.raises(ValueError, match=r"version of the cache$|^not signed"):
        read(line[:start] + other + line[end:], KEY, NOW)


@given(entries, st.binary(min_size=1, max_size=40))
def test_another_key_makes_another_signature(entry: Entry, other: bytes) -> None:
    with pytest.raises(ValueError, match=r"^not signed with the keys of this run$"):
        read(written(entry, other), KEY, NOW)


@given(st.binary(max_size=200))
def test_nothing_but_an_entry_is_an_entry(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"^incomplete or of another version of the cache$"):
        read(line, KEY, NOW)


def changed(old: bytes, new: bytes) -> bytes:
    assert old in LINE
    return LINE.replace(old, new)


def signed(**fields: object) -> bytes:
    """What somebody with the key could write, or a fault of this program."""
    return signed_text(json.dumps(RECORD | fields))


def signed_text(text: str) -> bytes:
    from gatekeeper.runs.answers.cache import _hmac

    signature = _hmac(text.encode(), KEY).decode()
    return f'{{"version":4,"entry":{text},"hmac":"{signature}"}}'.encode()


def signed_pair(**fields: object) -> bytes:
    return signed(pairs=[RECORD["pairs"][0] | fields])


RECORD = json.loads(LINE)["entry"]
BASE = RECORD["pairs"][0]["base"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (changed(b'"base"', b'"head"'), "not signed"),
        (changed(b'"no"', b'"ok"'), "not signed"),
        (changed(b"a" * 64, b"b" * 64), "not signed"),
        (changed(b"12:30:00+", b"12:30:01+"), "not signed"),
        (changed(b'"entry":{', b'"entry":{ '), "not signed"),
        (changed(b'"version":4', b'"version":1'), "of another version of the cache"),
        (changed(b'"version":4', b'"version":true'), "of another version of the cache"),
        (LINE[:-66] + b'0"}', "incomplete or of another"),
        (LINE[:-66] + "é".encode() * 32 + b'"}', "incomplete or of another"),
        (LINE[:-66] + b"0" * 64 + b'"}', "not signed"),
        (LINE[:-1], "incomplete or of another"),
        (LINE[:200], "incomplete or of another"),
        (LINE + b" ", "incomplete or of another"),
        (LINE.decode().encode("utf-16"), "incomplete or of another"),
        (b"[" * 100_000, "incomplete or of another"),
        (b"[]", "incomplete or of another"),
        (b"\xff\xfe", "incomplete or of another"),
        (signed(measured="2026-05-04T12:36:00+00:00"), "from the future"),
        (signed(measured="9999-12-31T23:59:59-23:59"), "from the future"),
        (signed(measured="2026-05-04T12:30:00"), "in an unknown form"),
        (signed(measured="yesterday"), "in an unknown form"),
        (signed(measured=7), "in an unknown form"),
        (signed(plan=["a"]), "in an unknown form"),
        (signed(contract=None), "in an unknown form"),
        (signed(pairs=None), "in an unknown form"),
        (signed(pairs=["pair"]), "in an unknown form"),
        (signed(pairs=[{}]), "in an unknown form"),
        (signed_text("[]"), "in an unknown form"),
        (signed_text("{"), "in an unknown form"),
        (signed_pair(key=7), "in an unknown form"),
        (signed_pair(base=None), "in an unknown form"),
        (signed_pair(base=[]), "in an unknown form"),
        (signed_pair(base="text"), "in an unknown form"),
        (signed_pair(base={}), "in an unknown form"),
        (signed_pair(base=BASE | {"text": None}), "in an unknown form"),
        (signed_pair(base=BASE | {"fingerprint": 7}), "in an unknown form"),
        (signed_pair(base=BASE | {"cost_usd": -1}), "in an unknown form"),
        (signed_pair(base=BASE | {"cost_usd": math.nan}), "in an unknown form"),
        (signed_pair(base=BASE | {"cost_usd": "1"}), "in an unknown form"),
        (signed_pair(base=BASE | {"prompt_tokens": True}), "in an unknown form"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(line: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(line, KEY, NOW)


def test_a_clock_may_be_a_little_fast() -> None:
    ahead = replace(ENTRY, measured=NOW + timedelta(minutes=4))
    assert read(written(ahead, KEY), KEY, NOW) == ahead


def test_a_time_is_written_in_utc() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-5)))
    assert b'"2026-05-04T12:30:00+00:00"' in written(replace(ENTRY, measured=elsewhere), KEY)


def test_the_signing_key_is_made_as_rfc_5869_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first test case, of which 42 bytes are asked; the first 32 are the first block."""
    from gatekeeper.providers.models import keys

    monkeypatch.setattr(keys, "_SALT", bytes(range(13)))
    monkeypatch.setattr(keys, "canonical", lambda _: "\x0b" * 22)
    expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    assert keys.signing_key([], bytes(range(0xF0, 0xFA))).hex() == expected


def test_the_signing_key_takes_all_secrets_by_name_in_any_order() -> None:
    a, b = ("A_API_KEY", "secret"), ("B_API_KEY", "other")
    assert cache_key([a, b]) == cache_key([b, a])
    found = {cache_key(x) for x in ([a], [b], [a, b], [("A_API_KEY", "other"), (b[0], a[1])])}
    assert len(found) == 4


ASKED = [trial("base"), trial("head")]


@pytest.mark.parametrize(
    "other",
    [
        [trial("base", text="another"), trial("head")],
        [trial("base"), trial("head", text="another")],
        [trial("base", text="head f"), trial("head", text="base f")],
        [trial("base", model="n"), trial("head")],
        [trial("base"), trial("head", params={"temperature": 1})],
        [trial("base", seed=None), trial("head", seed=None)],
        [trial("base", repetition=1), trial("head", repetition=1)],
        [replace(trial(arm), contract="d") for arm in ("base", "head")],
    ],
)
def test_whatever_is_asked_otherwise_is_another_plan(other: list[Trial]) -> None:
    assert plan(*ASKED).plan != plan(*other).plan
    assert recall(other, live_entries([plan(*ASKED)])) == {}


def test_a_streamed_answer_is_another_one() -> None:
    asked = plan(trial("base"), trial("head"))
    timed = plan(trial("base", streamed=True), trial("head", streamed=True))
    assert asked.plan != timed.plan


def test_the_name_of_a_fixture_and_whose_contract_make_no_other_plan() -> None:
    same = [trial(arm, "g", f"{arm} f", contract_from="base") for arm in ("base", "head")]
    assert plan(*ASKED) == plan(*same)


def test_pairs_are_found_only_where_all_that_their_contract_asks_is_as_it_was() -> None:
    others = [trial("base", "g"), trial("head", "g"), trial("head", "alone")]
    known = live_entries([plan(*ASKED, *others)])
    assert sorted(recall([*others, *ASKED], known)) == [0, 1, 3, 4]
    assert recall([*ASKED, *others[:2]], known) == {}
    assert recall([ASKED[0], others[1], others[0], ASKED[1], others[2]], known) != {}
    of_another = [replace(trial(arm), contract="d") for arm in ("base", "head")]
    assert sorted(recall([*of_another, *ASKED, *others], known)) == [2, 3, 4, 5]


def test_who_stands_beside_whom_is_part_of_the_plan() -> None:
    def asked(*texts: str) -> list[Trial]:
        return [trial("base", f, t) for f, t in zip("ab", texts, strict=True)] + [
            trial("head", f) for f in "ab"
        ]

    assert plan(*asked("x", "y")).plan != plan(*asked("y", "x")).plan


def test_a_trial_without_a_partner_is_not_kept() -> None:
    apart = [trial("base"), trial("head", "g"), trial("head", repetition=1)]
    assert measured(apart, [sampled(trial) for trial in apart], NOW, SEEDS) == []


def test_recalled_answers_say_that_no_model_was_asked() -> None:
    trials = [trial("head", "alone"), *ASKED]
    found = recall(trials, live_entries([plan(*trials)]))
    assert found == {1: Completion("ok", replayed=True), 2: Completion("ok", replayed=True)}
    assert recall(trials, {"another": ENTRY}) == {}
    assert recall(trials, {}) == {}


def test_both_answers_of_a_pair_are_kept() -> None:
    samples = [sampled(ASKED[0], "a", latency_ms=5.0), sampled(ASKED[1], "b", cost_usd=0.5)]
    (entry,) = measured(ASKED, samples, NOW, SEEDS)
    (pair,) = entry.pairs
    assert (entry.contract, entry.measured) == ("c", NOW)
    assert (pair.base, pair.head) == (
        Completion("a", latency_ms=5.0),
        Completion("b", cost_usd=0.5),
    )


def test_each_contract_has_an_entry_of_its_own() -> None:
    trials = [replace(t, contract=name) for name in "de" for t in ASKED]
    found = measured(trials, [sampled(t) for t in trials], NOW, SEEDS)
    assert [entry.contract for entry in found] == ["d", "e"]
    assert len(live_entries(found)) == 2


def drawn(*texts: str, hours: int = 0) -> Entry:
    pairs = tuple(Pair(f"{n}", Completion("no"), Completion(t)) for n, t in enumerate(texts))
    return Entry("plan", "c", SEED, NOW - timedelta(hours=hours), pairs)


def test_what_is_drawn_goes_behind_what_was_and_is_forgotten_with_it() -> None:
    new = replace(drawn("a", "b"), pairs=drawn("a", "b").pairs[1:])
    assert continued(drawn("a", hours=5), new) == drawn("a", "b", hours=5)
    assert continued(None, new) == new


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (drawn("a", "b", hours=2), drawn("a", hours=2)),
        (drawn("a", hours=2), drawn("b", hours=1)),
        (drawn("a", hours=2), drawn("b", "a", hours=1)),
        (drawn("a", "b", hours=2), drawn("a", hours=1)),
    ],
    ids=["the longer", "the older", "the older, though shorter", "the older and longer"],
)
def test_of_entries_of_one_plan_one_stands(one: Entry, other: Entry) -> None:
    assert live_entries([one, other]) == live_entries([other, one]) == {"plan": one}


def test_of_two_that_go_on_in_two_ways_the_first_stands() -> None:
    start, one, other = drawn("a"), drawn("a", "b"), drawn("a", "c", "d")
    for order in ([start, one, other], [one, start, other], [one, other, start]):
        assert live_entries(order) == {"plan": one}


@pytest.mark.parametrize(
    "samples",
    [
        [sampled(ASKED[0], None), sampled(ASKED[1])],
        [sampled(ASKED[0]), sampled(ASKED[1], None)],
        [sampled(ASKED[0])],
        [sampled(ASKED[1])],
        [sampled(ASKED[0], replayed=True), sampled(ASKED[1])],
        [sampled(ASKED[0], replayed=True), sampled(ASKED[1], replayed=True)],
        [],
    ],
)
def test_half_a_pair_is_not_kept(samples: list[Sample]) -> None:
    assert measured(ASKED, samples, NOW, SEEDS) == []


@pytest.mark.parametrize("arm", [0, 1])
def test_a_fresh_answer_is_kept_alone_only_if_its_partner_was_not_asked_for(arm: int) -> None:
    """Whoever asks for a lost partner again would compare answers of two runs."""
    planned = [sampled(trial) for trial in ASKED]
    again = [trial.again(3) for trial in ASKED]
    alone = [*planned, sampled(again[arm], "fresh")]
    (entry,) = measured(ASKED, alone, NOW, SEEDS)
    assert [len(pair.answers) for pair in entry.pairs] == [2, 1]
    assert recall(again, live_entries([entry]), ASKED)[arm].text == "fresh"
    (entry,) = measured(ASKED, [*alone, sampled(again[1 - arm], None)], NOW, SEEDS)
    assert [len(pair.answers) for pair in entry.pairs] == [2]
    assert recall(again, live_entries([entry]), ASKED) == {}


def test_what_comes_after_a_gap_is_not_kept() -> None:
    """Of each evaluation: the other's samples are complete."""
    trials = [
        trial(arm, fixture, contract_from=by)
        for fixture in "abc"
        for by in ("head", "base")
        for arm in ("base", "head")
    ]
    samples = [
        sampled(t, f"{t.contract_from}")
        for t in trials
        if (t.fixture, t.contract_from, t.arm) != ("b", "head", "base")
    ]
    (kept,) = measured(trials, samples, NOW, SEEDS)
    assert [pair.base.text for pair in kept.pairs] == ["base"] * 3
