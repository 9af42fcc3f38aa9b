"""An entry of the sample cache: what it is for, and what makes it worth nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.model import Message
from gatekeeper.contract.trial import Arm, Completion, Request, Sample, Trial
from gatekeeper.sampling.cache import (
    LONGEST_LINE,
    Pair,
    measured_pairs,
    pair_keys,
    read,
    recall,
    signing_key,
    written,
)

NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
KEY = signing_key([("OPENAI_API_KEY", "sk-0123456789abcdef")])

amounts = st.none() | st.floats(0, 1e9)
completions = st.builds(
    Completion,
    text=st.text(),
    latency_ms=amounts,
    prompt_tokens=st.none() | st.integers(0, 10**9),
    completion_tokens=st.none() | st.integers(0, 10**9),
    cost_usd=amounts,
    fingerprint=st.none() | st.text(),
)
pairs = st.builds(
    Pair,
    key=st.text("0123456789abcdef", min_size=64, max_size=64),
    measured=st.timedeltas(timedelta(0), timedelta(days=400)).map(lambda age: NOW - age),
    base=completions,
    head=completions,
)
PAIR = Pair("a" * 64, NOW, Completion("no", 8.5, 10, 2, 0.25), Completion("ok", 9.0, 11, 3, 0.5))


def trial(
    arm: Arm,
    fixture: str = "f",
    text: str | None = None,
    repetition: int = 0,
    judged_by: Arm = "head",
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
        judged_by,
    )


def sampled(trial: Trial, text: str | None = "ok", **completion: Any) -> Sample:
    if text is None:
        return Sample(trial, None, "no answer")
    return Sample(trial, Completion(text, **completion))


def only_key(*trials: Trial) -> str:
    (key,) = set(pair_keys(trials).values())
    return key


@given(pairs)
def test_a_pair_comes_back_as_it_was(pair: Pair) -> None:
    line = written(pair, KEY)
    assert "\n" not in line
    assert read(line.encode(), KEY, NOW) == pair


@given(pairs, st.data())
def test_no_byte_of_an_entry_can_be_changed(pair: Pair, data: st.DataObject) -> None:
    line = bytearray(written(pair, KEY).encode())
    place = data.draw(st.integers(0, len(line) - 1))
    line[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place]))
    try:
        found = read(bytes(line), KEY, NOW)
    except ValueError:
        return
    assert found == pair  # `1e5` or `1E5`, `\\u00e9` or `\\u00E9`: the same entry in other letters


@given(pairs, st.binary(min_size=1, max_size=40))
def test_another_key_makes_another_signature(pair: Pair, other: bytes) -> None:
    with pytest.raises(ValueError, match=r"^not signed with the keys of this run$"):
        read(written(pair, other).encode(), KEY, NOW)


@given(st.binary(max_size=200))
def test_nothing_but_an_entry_is_an_entry(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a line of a cache, or cut short|of another version"):
        read(line, KEY, NOW)


def changed(**fields: object) -> bytes:
    return json.dumps(json.loads(written(PAIR, KEY)) | fields).encode()


def signed(**fields: object) -> bytes:
    """What somebody with the key could write, or a fault of this program."""
    from gatekeeper.sampling.cache import _hmac

    record = json.loads(written(PAIR, KEY)) | fields
    del record["hmac"]
    return json.dumps(record | {"hmac": _hmac(record, KEY)}).encode()


ARMS = json.loads(written(PAIR, KEY))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (changed(base=ARMS["head"], head=ARMS["base"]), "not signed"),
        (changed(base=ARMS["head"]), "not signed"),
        (changed(key="b" * 64), "not signed"),
        (changed(measured="2026-05-04T12:30:01+00:00"), "not signed"),
        (changed(version=2), "another version"),
        (changed(version=True), "not signed"),
        (changed(hmac=None), "not signed"),
        (changed(hmac="é" * 64), "not signed"),
        (changed(hmac="\ud800"), "not a line"),
        (changed(hmac=["a"]), "not signed"),
        (written(PAIR, KEY).encode()[:-1], "cut short"),
        (written(PAIR, KEY).encode()[:200], "cut short"),
        (written(PAIR, KEY).encode("utf-16"), "not a line"),
        (written(PAIR, KEY).replace("8.5", "9" * 5000).encode(), "not a line"),
        (written(PAIR, KEY).replace("8.5", "NaN").encode(), "not a line"),
        (b"[" * 100_000, "not a line"),
        (b"[]", "not a line"),
        (b"null", "not a line"),
        (b"\xff\xfe", "not a line"),
        (b" " * (LONGEST_LINE + 1), "too long"),
        (signed(measured="2026-05-04T12:36:00+00:00"), "from the future"),
        (signed(measured="2026-05-04T12:30:00"), "another form"),
        (signed(measured="yesterday"), "another form"),
        (signed(measured=7), "another form"),
        (signed(measured="9999-12-31T23:59:59-23:59"), "from the future"),
        (signed(key=["a"]), "another form"),
        (signed(base=None), "another form"),
        (signed(base=[]), "another form"),
        (signed(base="text"), "another form"),
        (signed(base={}), "another form"),
        (signed(base=ARMS["base"] | {"text": None}), "another form"),
        (signed(base=ARMS["base"] | {"fingerprint": 7}), "another form"),
        (signed(base=ARMS["base"] | {"cost_usd": -1}), "another form"),
        (signed(base=ARMS["base"] | {"cost_usd": "1"}), "another form"),
        (signed(base=ARMS["base"] | {"prompt_tokens": True}), "another form"),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(line: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(line, KEY, NOW)


def test_a_clock_may_be_a_little_fast() -> None:
    ahead = replace(PAIR, measured=NOW + timedelta(minutes=4))
    assert read(written(ahead, KEY).encode(), KEY, NOW) == ahead


def test_a_time_is_written_in_utc() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-5)))
    assert '"2026-05-04T12:30:00+00:00"' in written(replace(PAIR, measured=elsewhere), KEY)


def test_the_signing_key_is_made_as_rfc_5869_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first test case, of which 42 bytes are asked; the first 32 are the first block."""
    from gatekeeper.sampling import cache

    monkeypatch.setattr(cache, "_SALT", bytes(range(13)))
    monkeypatch.setattr(cache, "_CONTEXT", bytes(range(0xF0, 0xFA)))
    monkeypatch.setattr(cache, "canonical", lambda _: "\x0b" * 22)
    expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    assert signing_key([]).hex() == expected


def test_the_signing_key_takes_all_secrets_by_name_in_any_order() -> None:
    a, b = ("A_API_KEY", "secret"), ("B_API_KEY", "other")
    assert signing_key([a, b]) == signing_key([b, a])
    found = {signing_key(x) for x in ([a], [b], [a, b], [("A_API_KEY", "other"), (b[0], a[1])])}
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
def test_whatever_is_asked_otherwise_is_another_pair(other: list[Trial]) -> None:
    assert only_key(*ASKED) != only_key(*other)


def test_the_name_of_a_fixture_and_who_judges_make_no_other_pair() -> None:
    same = [trial(arm, "g", f"{arm} f", judged_by="base") for arm in ("base", "head")]
    assert only_key(*ASKED) == only_key(*same)


def test_pairs_are_found_only_where_all_that_their_contract_asks_is_as_it_was() -> None:
    others = [trial("base", "g"), trial("head", "g"), trial("head", "alone")]
    keys = pair_keys([*ASKED, *others])
    assert pair_keys([*others, *ASKED]) == keys
    assert not set(pair_keys([*ASKED, *others[:2]]).values()) & set(keys.values())
    of_another = [replace(trial(arm), contract="d") for arm in ("base", "head")]
    assert pair_keys([*ASKED, *others, *of_another]).items() >= keys.items()


def test_a_trial_without_a_partner_has_no_key() -> None:
    apart = [trial("base"), trial("head", "g"), trial("head", repetition=1)]
    assert pair_keys(apart) == {}


def test_recalled_answers_say_that_no_model_was_asked() -> None:
    trials = [trial("head", "alone"), *ASKED]
    key = only_key(*trials)
    found = recall(trials, {key: replace(PAIR, key=key)})
    assert found == {
        1: replace(PAIR.base, replayed=True),
        2: replace(PAIR.head, replayed=True),
    }
    assert recall(trials, {"another": PAIR}) == {}
    assert recall(trials, {}) == {}


def test_both_answers_of_a_pair_are_kept() -> None:
    samples = [sampled(ASKED[0], "a", latency_ms=5.0), sampled(ASKED[1], "b", cost_usd=0.5)]
    (pair,) = measured_pairs(ASKED, samples, NOW).values()
    key = only_key(*ASKED)
    assert pair == Pair(key, NOW, Completion("a", latency_ms=5.0), Completion("b", cost_usd=0.5))


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
    assert measured_pairs(ASKED, samples, NOW) == {}


def test_what_comes_after_a_gap_is_not_kept() -> None:
    """Of each judging: the other's samples are complete."""
    trials = [
        trial(arm, fixture, judged_by=by)
        for fixture in "abc"
        for by in ("head", "base")
        for arm in ("base", "head")
    ]
    samples = [
        sampled(t, f"{t.judged_by}")
        for t in trials
        if (t.fixture, t.judged_by, t.arm) != ("b", "head", "base")
    ]
    kept = measured_pairs(trials, samples, NOW)
    assert len(kept) == 3
    assert sorted(pair.base.text for pair in kept.values()) == ["base"] * 3
