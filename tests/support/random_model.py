"""A model that answers by chance, and two revisions to check with it under a sample cache."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Outcome, Request
from gatekeeper.errors import CallFailed
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import Work, plan_check
from gatekeeper.runs.execute import execute
from gatekeeper.runs.run_plan import RunPlan

POLICY = Policy(limits=Limits(None, None, None, 4))
CONTRACT = """\
contract: 1
name: {name}
prompt: {name}.txt
template: jinja
model: openai/{name}
fixtures: [{{file: words.csv}}]
checks: [{{type: contains, value: {value}}}]
sampling: {{samples: {samples}, mode: {mode}}}
gate: {{{gate}}}
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
    # No fresh samples, so that every call is planned.
    given = {"samples": 2, "mode": "fixed", "value": "ok", "gate": "claim: inputs"} | fields
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
        patch("gatekeeper.runs.models.ModelRouter", lambda *_, **__: model),
        patch.dict("os.environ", keys),
    ):
        yield


def measured(
    work: Work, model: Model, cache: Path | None, keys: Mapping[str, str] = KEYS
) -> GateResult:
    with answered_by(model, keys):
        return execute(RunPlan(work=work, revisions=(), cache=cache))


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
