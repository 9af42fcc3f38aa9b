"""Keeps the provider's cache from treating one arm better than the other. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from gatekeeper.contract.trial import Arm, SharedPrefix
from gatekeeper.gate.plan import Evaluation, Job


def cache_arms_alike(job: Job) -> Job:
    """Return the job without shared prefixes if its evaluations do not agree on them; else the job
    itself.

    Evaluations share the calls that are the same, and the first one's prefix is marked. If the
    fixtures of head's contract share nothing, base's calls would not be cached, and head's calls
    under the base contract's settings would: head would seem cheaper and faster.
    """
    seen: Mapping[Arm, set[SharedPrefix | None]] = defaultdict(set)
    for evaluation in job.evaluations:
        for trial in evaluation.trials:
            seen[trial.arm].add(trial.request.shared_prefix)
    if all(len(prefixes) < 2 for prefixes in seen.values()):
        return job
    return replace(job, evaluations=tuple(map(_without_prefixes, job.evaluations)))


def _without_prefixes(evaluation: Evaluation) -> Evaluation:
    trials = tuple(
        replace(trial, request=replace(trial.request, shared_prefix=None))
        for trial in evaluation.trials
    )
    return replace(evaluation, trials=trials)
