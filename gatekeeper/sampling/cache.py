"""Pairs of answers that an earlier run measured: not paid for again, and not drawn again. Pure.

Pushing again, running a job again and the merge queue ask what was asked before. Three rules keep
an answer from the past from misleading:

1. Both arms of a pair come from one run. A base of yesterday beside a head of today would take
   a provider's drift for the prompt's fault. So a pair is the unit, and a trial without a
   partner has none: a run on the default branch, which watches for drift, finds nothing here.
2. A pair is drawn once. Whoever asks for it again within MOST_AGE gets what was drawn first,
   so that nobody can draw until it comes out well. Only what was evidence is kept: of the
   answers under way when a run ended, the quick ones are there and the slow ones are not.
3. A contract is found as a whole: with one request changed, all of it is measured anew. Else a
   push that changes what failed would draw that again and keep what passed by luck, until all
   of it has passed.

An entry is a line of JSON with an HMAC-SHA256 whose key is made of the keys for the models.
Who can write the file, but does not have those, can take entries out and nothing else.
"""

from __future__ import annotations

import hmac
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gatekeeper.contract.identity import canonical, digest, request_digest
from gatekeeper.contract.trial import Arm, Completion, Request, Sample, Trial

VERSION = 1
MOST_AGE = timedelta(days=7)
LONGEST_LINE = 1_000_000
"""Bytes. A longer pair is not kept, and a longer line is not read."""

_CLOCK_SKEW = timedelta(minutes=5)
_SALT = b"gatekeeper"
_CONTEXT = b"sample cache 1"
_REMEMBERED = tuple(field.name for field in fields(Completion) if field.name != "replayed")

_Place = tuple[str, Arm, str, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """What both arms answered in one run. `key` names their two requests, see `pair_keys`."""

    key: str
    measured: datetime
    base: Completion
    head: Completion


def pair_keys(trials: Sequence[Trial]) -> dict[_Place, str]:
    """The key of each pair of trials, by contract, judge, fixture and repetition.

    It is the same for equal requests of one contract: model, messages, parameters, seed and
    repetition, of base and of head, as long as all else that the contract asks is the same too.
    Two contracts never share an answer, as in any run.
    """
    arms: dict[_Place, dict[Arm, list[Any]]] = defaultdict(dict)
    asked: dict[str, set[str]] = defaultdict(set)
    for trial in trials:
        meaning = arms[_place(trial)][trial.arm] = _meaning(trial.request)
        asked[trial.contract].add(canonical([trial.arm, meaning]))
    whole = {contract: digest([contract, sorted(requests)]) for contract, requests in asked.items()}
    return {
        place: digest([whole[place[0]], both["base"], both["head"]])
        for place, both in arms.items()
        if len(both) == 2
    }


def recall(trials: Sequence[Trial], pairs: Mapping[str, Pair]) -> dict[int, Completion]:
    """What is known of the trials, by their place in the plan. `pairs` are by their key."""
    if not pairs:
        return {}
    keys = pair_keys(trials)
    known: dict[int, Completion] = {}
    for index, trial in enumerate(trials):
        pair = pairs.get(keys.get(_place(trial), ""))
        if pair is not None:
            answer = pair.base if trial.arm == "base" else pair.head
            known[index] = replace(answer, replayed=True)
    return known


def measured_pairs(
    trials: Sequence[Trial], samples: Sequence[Sample], now: datetime
) -> dict[str, Pair]:
    """The pairs of which this run has both answers from a model and as evidence, by their key."""
    arms: dict[_Place, dict[Arm, Completion]] = defaultdict(dict)
    for sample in _evidence(trials, samples):
        if sample.completion is not None and not sample.completion.replayed:
            arms[_place(sample.trial)][sample.trial.arm] = sample.completion
    keys = pair_keys(trials)
    return {
        keys[place]: Pair(keys[place], now, both["base"], both["head"])
        for place, both in arms.items()
        if len(both) == 2
    }


def signing_key(secrets: Sequence[tuple[str, str]]) -> bytes:
    """32 bytes from named secrets by HKDF-SHA256 (RFC 5869), from which none can be told."""
    extracted = hmac.digest(_SALT, canonical(sorted(secrets)).encode(), "sha256")
    return hmac.digest(extracted, _CONTEXT + b"\x01", "sha256")


def written(pair: Pair, key: bytes) -> str:
    """The pair as a signed line, without its end."""
    record = {
        "version": VERSION,
        "key": pair.key,
        "measured": pair.measured.astimezone(UTC).isoformat(),
        "base": _record(pair.base),
        "head": _record(pair.head),
    }
    return canonical(record | {"hmac": _hmac(record, key)})


def read(line: bytes, key: bytes, now: datetime) -> Pair:
    """The pair of a line. Raises ValueError that says in a few words what is wrong with it."""
    if len(line) > LONGEST_LINE:
        raise ValueError("too long")
    try:
        record = json.loads(line.decode())
        if not isinstance(record, dict):
            raise ValueError
        signature = str(record.pop("hmac", "")).encode()
        expected = _hmac(record, key).encode()
    except (ValueError, RecursionError):
        raise ValueError("not a line of a cache, or cut short") from None
    if record.get("version") != VERSION:
        raise ValueError("of another version")
    if not hmac.compare_digest(signature, expected):
        raise ValueError("not signed with the keys of this run")
    try:
        pair = Pair(
            key=_text(record["key"]),
            measured=datetime.fromisoformat(record["measured"]),
            base=_completion(record["base"]),
            head=_completion(record["head"]),
        )
        ahead = pair.measured - now > _CLOCK_SKEW
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("signed, and of another form") from error
    if ahead:
        raise ValueError("from the future")
    return pair


def _place(trial: Trial) -> _Place:
    return trial.contract, trial.judged_by, trial.fixture, trial.repetition


def _meaning(request: Request) -> list[Any]:
    asked = request_digest(request.messages, request.params)
    return [request.model, asked, request.seed, request.repetition]


def _evidence(trials: Sequence[Trial], samples: Sequence[Sample]) -> Iterator[Sample]:
    """The samples of each judging up to its first gap, as evidence/collect.py takes them."""
    planned: dict[tuple[str, Arm], list[Trial]] = defaultdict(list)
    for trial in reversed(trials):
        planned[trial.contract, trial.judged_by].append(trial)
    for sample in samples:
        judging = planned[sample.trial.contract, sample.trial.judged_by]
        if judging and judging.pop() is sample.trial:
            yield sample
        else:
            judging.clear()


def _hmac(record: Mapping[str, Any], key: bytes) -> str:
    return hmac.digest(key, canonical(record).encode(), "sha256").hex()


def _record(completion: Completion) -> dict[str, Any]:
    return {name: value for name, value in asdict(completion).items() if name in _REMEMBERED}


def _completion(record: Mapping[str, Any]) -> Completion:
    """Raises TypeError or KeyError for what no run wrote."""
    found = Completion(**{name: record[name] for name in _REMEMBERED})
    _text(found.text)
    if found.fingerprint is not None:
        _text(found.fingerprint)
    for amount in (found.latency_ms, found.prompt_tokens, found.completion_tokens, found.cost_usd):
        if amount is not None and (isinstance(amount, bool) or not 0 <= amount < math.inf):
            raise TypeError("not an amount")
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value
