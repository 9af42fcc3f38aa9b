"""Answers from recordings that a pull request brings: text that its author wrote or recorded, and
that no run of this repository has measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.providers.recorded import Answered, answered_in


def unmeasured_notices(outcomes: Iterable[Outcome], base: Revision, head: Revision) -> list[str]:
    """Name each recording that head adds or changes, with how many answers of the outcomes are
    not in it at base. An answer that base has recorded is base's."""
    used: dict[str, set[Answered]] = defaultdict(set)
    for outcome in outcomes:
        request = outcome.sample.trial.request
        path = recording_path(request.model)
        if path is not None and outcome.sample.completion is not None:
            digest = request_digest(request)
            used[path].add((digest, request.repetition))
    return [
        _notice(path, count)
        for path, answers in sorted(used.items())
        if not _is_known(path, base, head) and (count := len(answers - _recorded_in(base, path)))
    ]


def _is_known(path: str, base: Revision, head: Revision) -> bool:
    """Return whether base has the same bytes, under any name."""
    entry = head.entries.get(path)
    if entry is None or entry == base.entries.get(path):
        return True
    return entry in base.entries.values()


def _recorded_in(revision: Revision, path: str) -> frozenset[Answered]:
    entry = revision.entries.get(path)
    if entry is None or entry.kind != "file":
        return frozenset()
    return answered_in(path, revision.read(path))


def _notice(path: str, count: int) -> str:
    answers = "1 answer" if count == 1 else f"{count:,} answers"
    return (
        f"The result uses {answers} that this change adds to the recording {path}. Gatekeeper did "
        "not call a model for this part of the result. To get real answers, run the model instead "
        "of the recording."
    )
