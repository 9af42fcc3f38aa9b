"""The sample cache: a file of signed entries, read before a run and replaced after it.

sampling/cache.py says what is in it and why. An entry is a line of JSON with an HMAC-SHA256 over
all of it, whose key is made of the keys for the models. Without those keys, a person who can write
the file can only remove a whole entry or restore an older state of it.

Neither reading nor writing ever stops a run: unusable entries are named in one notice, and measured
again.
"""

from __future__ import annotations

import hmac
import json
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Self

from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.values.trial import Completion, Outcome, Request
from gatekeeper.gate.samples.outcomes import sample_to_keep
from gatekeeper.gate.work import Work
from gatekeeper.providers import ModelRouter
from gatekeeper.providers.models.keys import model_access, signing_key
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.runs.answers.files import read_own_file, replace_file
from gatekeeper.sampling.cache import (
    MOST_AGE,
    Entry,
    Pair,
    answer_entry,
    continued,
    earlier_order_seeds,
    live_entries,
    measured,
    recall_answer,
)
from gatekeeper.sampling.completion_record import completion_record, read_completion, read_text

VERSION = 4
_CLOCK_SKEW = timedelta(minutes=5)
# The signature is over the bytes as they are, so that nothing is parsed that is not signed.
_LINE = re.compile(rb'\{"version":%d,"entry":(.*),"hmac":"([0-9a-f]{64})"\}' % VERSION)

NO_KEY = (
    "gatekeeper does not use the cache, because no API key can sign the cache entries: no "
    "environment variable with a name that ends in API_KEY has a value of 16 characters or more. "
    "The token of a GitHub job does not count, because the next job has another token. To use the "
    "cache, set GATEKEEPER_API_KEY to a long random text"
)


@dataclass(frozen=True, slots=True)
class SampleCache:
    """`entries` are those that may be used, by their plan; `notices` are about the others.

    Without a file or a signing key it reads nothing and keeps nothing.
    """

    entries: Mapping[str, Entry] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    path: Path = Path()
    key: bytes | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: Path | None, work: Work) -> Self:
        """Open the cache at the path.

        A run on one revision does not use it, because the default branch is always measured now.
        """
        if path is None or work.kind != "check":
            return cls()
        return cls.of_file(path)

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Open the cache at the path, whatever it is used for."""
        access = model_access(os.environ)
        if not access:
            return cls(notices=(f"{path}: {NO_KEY}",))
        key = cache_key(access)
        return cls(*read_cache(path, key, datetime.now(UTC)), path, key)

    def in_order(self, work: Work) -> Work:
        """Return the work with each contract that has an entry in the order of that entry."""
        seeds = earlier_order_seeds(work.trials, self.entries)
        jobs = (
            job.in_order(seeds[job.contract.name]) if job.contract.name in seeds else job
            for job in work.jobs
        )
        return replace(work, jobs=tuple(jobs))

    def keep(self, work: Work, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
        """Add the run's samples, without those that repeat a secret. Returns notices about
        failures."""
        if self.key is None:
            return ()
        now = datetime.now(UTC)
        redact = environment_redactor()
        evaluations = {
            (job.contract.name, evaluation.contract_from): evaluation.contract
            for job in work.jobs
            for evaluation in job.evaluations
        }
        samples = [
            sample_to_keep(o, evaluations[o.sample.trial.contract, o.sample.trial.contract_from])
            for o in outcomes
        ]
        new = []
        seeds = {job.contract.name: job.order_seed for job in work.jobs}
        for entry in measured(work.trials, samples, now, seeds):
            pairs = tuple(pair for pair in entry.pairs if redact.value(pair) == pair)
            judged = {key: a for key, a in entry.judged.items() if redact.value(a) == a}
            earlier = self.entries.get(entry.plan)
            if pairs or (earlier and judged.keys() - earlier.judged.keys()):
                new.append(continued(earlier, replace(entry, pairs=pairs, judged=judged)))
        return self.add(new, now)

    def add(self, new: Sequence[Entry], now: datetime) -> tuple[str, ...]:
        """Add entries to the file. Returns notices about failures."""
        if self.key is None or not new:
            return ()
        # What a run beside this one has kept meanwhile was drawn first, and stands.
        meanwhile = read_cache(self.path, self.key, now).entries
        entries = live_entries([*meanwhile.values(), *self.entries.values(), *new])
        return write_cache(self.path, entries.values(), self.key)


class AroundModels(ABC):
    """A client that answers some requests itself, and asks the models the others."""

    def __init__(self, models: ModelRouter) -> None:
        self._models = models

    @abstractmethod
    async def complete(self, request: Request) -> Completion:
        """Answer, or ask. Raises CallFailed."""

    async def require_key(self, model: str) -> None:
        """Refuse a model whose key is missing. Raises UsageError."""
        await self._models.require_keys((model,))

    def slots(self, model: str) -> int | None:
        """Return how many requests the model takes at once; None: any number."""
        return self._models.slots(model)

    async def aclose(self) -> None:
        """Close the client of the models."""
        await self._models.aclose()


class CachedClient(AroundModels):
    """Answers requests that belong to no contract from the cache, such as those of `generate`, and
    asks the models what it does not hold.

    The answers of a run that failed are not kept: one that could not be used would end the next
    run, too.
    """

    def __init__(self, path: Path, models: ModelRouter) -> None:
        super().__init__(models)
        self._cache = SampleCache.of_file(path)
        self._new: list[tuple[Request, Completion]] = []

    async def complete(self, request: Request) -> Completion:
        """Answer from the cache, else ask. Raises CallFailed."""
        known = recall_answer(request, self._cache.entries)
        if known is not None:
            return known
        answer = await self._models.complete(request)
        self._new.append((request, answer))
        return answer

    def keep(self) -> tuple[str, ...]:
        """Add the new answers to the cache, without those that were cut or repeat a secret. Returns
        notices about the cache."""
        now = datetime.now(UTC)
        redact = environment_redactor()
        sound = [
            (request, answer)
            for request, answer in self._new
            if answer.cut is None and redact.value(answer) == answer
        ]
        new = {entry.plan: entry for entry in (answer_entry(*pair, now) for pair in sound)}
        return (*self._cache.notices, *self._cache.add([*new.values()], now))


MOST_BYTES = 20_000_000
"""The most bytes of a cache: some ten thousand pairs of short answers. The oldest entries are
removed first."""


class Recalled(NamedTuple):
    """The entries that may be used, by their plan, and notices about the others."""

    entries: Mapping[str, Entry]
    notices: tuple[str, ...] = ()


def read_cache(path: Path, key: bytes, now: datetime) -> Recalled:
    """Return the samples that earlier runs with the same keys measured in the last days.

    Never fails.
    """
    try:
        content = read_own_file(path, MOST_BYTES)
    except FileNotFoundError:
        return Recalled({})
    except OSError as error:
        return Recalled({}, (f"{path}: the cache is not used: {_reason(error)}",))
    sound: list[Entry] = []
    wrong: Counter[str] = Counter()
    for line in content.split(b"\n"):
        if not line.strip():
            continue
        try:
            sound.append(read(line, key, now))
        except ValueError as error:
            wrong[str(error)] += 1
    stands = live_entries(entry for entry in sound if entry.measured > now - MOST_AGE)
    if not wrong:
        return Recalled(stands)
    said = "; ".join(f"{reason}: {count}" for reason, count in wrong.most_common())
    left = "1 entry" if wrong.total() == 1 else f"{wrong.total()} entries"
    text = f"{path}: gatekeeper ignores {left} of the cache and measures again ({said})"
    return Recalled(stands, (text,))


def write_cache(path: Path, entries: Iterable[Entry], key: bytes) -> tuple[str, ...]:
    """Replace the file with these entries, only the newest if not all fit. Returns notices about an
    entry that is too large, and about a file that could not be written."""
    lines: list[bytes] = []
    notices: list[str] = []
    size = 0
    for entry in sorted(entries, key=lambda entry: entry.measured, reverse=True):
        line = written(entry, key) + b"\n"
        if len(line) > MOST_BYTES:
            notices.append(
                f"{path}: the answers of contract {entry.contract} do not fit into the cache, "
                f"because the answers have {len(line):,} bytes, and the cache may have at most "
                f"{MOST_BYTES:,} bytes"
            )
            continue
        size += len(line)
        if size > MOST_BYTES:
            break
        lines.append(line)
    try:
        replace_file(path, b"".join(reversed(lines)))
    except OSError as error:
        notices.append(f"{path}: the cache could not be written: {_reason(error)}")
    return tuple(notices)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def written(entry: Entry, key: bytes) -> bytes:
    """Return the entry as a signed line, without its line end."""
    record = {
        "plan": entry.plan,
        "contract": entry.contract,
        "order_seed": entry.order_seed,
        "measured": entry.measured.astimezone(UTC).isoformat(),
        "pairs": [
            {
                "key": pair.key,
                **{arm: completion_record(answer) for arm, answer in pair.answers.items()},
            }
            for pair in entry.pairs
        ],
        # Left out if there is none, so that entries without judges stay as they were.
        **(
            {"judged": {key: completion_record(c) for key, c in entry.judged.items()}}
            if entry.judged
            else {}
        ),
    }
    content = canonical(record).encode()
    signature = _hmac(content, key)
    return b'{"version":%d,"entry":%s,"hmac":"%s"}' % (VERSION, content, signature)


def read(line: bytes, key: bytes, now: datetime) -> Entry:
    """Return the entry of a line.

    Raises ValueError that says in a few words what is wrong with it.
    """
    found = _LINE.fullmatch(line)
    if not found:
        raise ValueError("incomplete or of another version of the cache")
    content, signature = found.groups()
    if not hmac.compare_digest(signature, _hmac(content, key)):
        raise ValueError("not signed with the keys of this run")
    try:
        record = json.loads(content)
        entry = Entry(
            plan=read_text(record["plan"]),
            contract=read_text(record["contract"]),
            order_seed=read_text(record["order_seed"]),
            measured=datetime.fromisoformat(record["measured"]),
            pairs=tuple(map(_pair, record["pairs"])),
            judged={
                read_text(key): read_completion(answer)
                for key, answer in record.get("judged", {}).items()
            },
        )
        ahead = entry.measured - now > _CLOCK_SKEW
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError("signed, but in an unknown form") from error
    if ahead:
        raise ValueError("from the future")
    return entry


def cache_key(secrets: Sequence[tuple[str, str]]) -> bytes:
    """Return the key that signs entries, made of the keys for the models."""
    return signing_key(secrets, b"sample cache %d" % VERSION)


def _hmac(content: bytes, key: bytes) -> bytes:
    return hmac.digest(key, content, "sha256").hex().encode()


def _pair(record: Mapping[str, Any]) -> Pair:
    """Read a pair. Raises TypeError, ValueError or KeyError if no run can have written it."""
    base, head = (read_completion(record[a]) if a in record else None for a in ("base", "head"))
    if base is None and head is None:
        raise ValueError("a pair without an answer")
    return Pair(read_text(record["key"]), base, head)
