"""The sample cache of one run: read before the run, and written after it. sampling/cache.py says
what may be in it and why."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gatekeeper.gate.work import Work
from gatekeeper.reports.secrets import secrets_in

if TYPE_CHECKING:
    from gatekeeper.contract.values.trial import Outcome
    from gatekeeper.sampling.cache import Entry

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
        from gatekeeper.providers.cache_file import read_cache
        from gatekeeper.providers.models.keys import model_access
        from gatekeeper.sampling.cache import signing_key

        access = model_access(os.environ)
        if not access:
            return cls(notices=(f"{path}: {NO_KEY}",))
        key = signing_key(access)
        return cls(*read_cache(path, key, datetime.now(UTC)), path, key)

    def in_order(self, work: Work) -> Work:
        """Return the work with each contract that has an entry in the order of that entry."""
        from gatekeeper.sampling.cache import earlier_order_seeds

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
        from gatekeeper.gate.samples.long_answers import sample_to_keep
        from gatekeeper.reports.redact import redactor
        from gatekeeper.sampling.cache import continued, measured

        now = datetime.now(UTC)
        redact = redactor(secrets_in(os.environ))
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
        from gatekeeper.providers.cache_file import read_cache, write_cache
        from gatekeeper.sampling.cache import live_entries

        if self.key is None or not new:
            return ()
        # What a run beside this one has kept meanwhile was drawn first, and stands.
        meanwhile = read_cache(self.path, self.key, now).entries
        entries = live_entries([*meanwhile.values(), *self.entries.values(), *new])
        return write_cache(self.path, entries.values(), self.key)
