"""A run of the gate on a simulated model, for reports: support tickets sorted into three queues.

The head prompt asks for politeness, so the model sometimes says more than the one JSON object.
Nothing is made up: the gate plans, samples, evaluates and decides as it does for anybody.
"""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from support.edited_text import edited

from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.gate.pipeline import RunContext, measure
from gatekeeper.gate.results.result import GateResult, PastRun
from gatekeeper.gate.work import plan_check, plan_run
from gatekeeper.history.record import fixture_key
from gatekeeper.stats.intervals.intervals import rate_interval
from gatekeeper.stats.objectives.error_budget import Event

QUEUES = {
    "billing": "My card was charged twice",
    "delivery": "My parcel never came",
    "account": "I cannot log in",
}
CONTRACT = """\
contract: 1
name: {name}
prompt: prompt.md
model: simulated/model
fixtures: [{{file: tickets.csv}}]
mode: repair
repair: {{steps: [strip_markdown_fences]}}
checks:
  - {{type: json_valid, name: is JSON}}
  - {{type: contains, value: "{{{{ expected }}}}", name: names the queue}}
  - {{type: length, max: 60, name: is short, severity: warn}}
sampling: {{samples: {samples}, mode: fixed}}
slo: {{success_rate: 0.9, latency_p95_ms: 900}}
"""
PROMPT = """\
# Task
You sort support tickets into queues.

# Rules
- Answer with one JSON object: `{"queue": "billing" | "delivery" | "account"}`.
- Answer with nothing else.

# Ticket
{{ ticket }}
"""
POLITE = edited(
    PROMPT,
    "- Answer with nothing else.",
    "- Be polite, and explain your choice in a short sentence.",
)


@dataclass(frozen=True)
class Simulated:
    """Answers as the prompt asks, with the faults that models have; the same for the same call."""

    words: int = 12

    async def complete(self, request: Request) -> Completion:
        text = request.messages[-1].content
        drawn = random.Random(f"{text}|{request.repetition}")  # noqa: S311
        queue = next(name for name, said in QUEUES.items() if said in text)
        answer = json.dumps({"queue": queue})
        polite = "polite" in text
        if drawn.random() < 0.04:
            answer = answer.replace(queue, "other")
        if drawn.random() < 0.15:
            answer = f"```json\n{answer}\n```"
        if polite and drawn.random() < (0.35 if queue == "billing" else 0.08):
            filler = " ".join(drawn.choice(FILLER) for _ in range(self.words))
            answer = f"I am sorry to hear that. {answer} I chose this queue because {filler}."
        milliseconds = drawn.lognormvariate(6.0, 0.35) + 12 * len(answer) * polite / 10
        asked, said = len(text) // 4, len(answer) // 4 + 1
        return Completion(answer, milliseconds, asked, said, 0.15e-6 * asked + 0.6e-6 * said)

    async def aclose(self) -> None:
        """Nothing is open."""


SAID = "the ticket says that a customer is unhappy with how we handled an order last week"
FILLER = tuple(SAID.split(" "))


def gate_result(
    fixtures: int = 60,
    samples: int = 3,
    names: tuple[str, ...] = ("triage",),
    *,
    words: int = 12,
    head: str = POLITE,
) -> GateResult:
    """What the gate finds of a change from the terse prompt to the polite one."""
    base = _revision(PROMPT, "b", names, fixtures, samples)
    change = Change(base, _revision(head, "c", names, fixtures, samples))
    work = plan_check(change, Policy(limits=Limits(calls=None)))
    result = asyncio.run(measure(work, RunContext(Simulated(words))))
    return replace(result, started=datetime(2026, 3, 2, 10, 31, tzinfo=UTC), seconds=184.2)


def _revision(
    prompt: str, sha: str, names: tuple[str, ...], fixtures: int, samples: int
) -> MemoryRevision:
    rows = []
    for number in range(fixtures):
        queue = list(QUEUES)[number % len(QUEUES)]
        rows.append(
            f'{_id(number)},{queue},{queue},"{QUEUES[queue]}, order {number}. Please help!"\n'
        )
    tickets = "id,category,expected,ticket\n" + "".join(rows)
    files: dict[str, str] = {}
    for name in names:
        files[f"contracts/{name}/contract.yaml"] = CONTRACT.format(name=name, samples=samples)
        files[f"contracts/{name}/prompt.md"] = prompt
        files[f"contracts/{name}/tickets.csv"] = tickets
    return MemoryRevision({path: text.encode() for path, text in files.items()}, sha * 40)


def _id(number: int) -> str:
    return f"{list(QUEUES)[number % len(QUEUES)]}-{number:04}"


def past(contract: str = "triage", runs: int = 30, *, seed: int = 1) -> tuple[PastRun, ...]:
    """A month of nightly runs on the default branch, with one bad week."""
    drawn = random.Random(seed)  # noqa: S311
    made = []
    for night in range(runs):
        rate = 0.88 if 14 <= night < 19 else 0.96
        counts = [(3, sum(drawn.random() > rate for _ in range(3))) for _ in range(60)]
        failed = sum(bad for _, bad in counts)
        time = datetime(2026, 1, 31, 3, tzinfo=UTC) + timedelta(days=night)
        interval = rate_interval(180 - failed, 180)
        events = {"success_rate": Event(time, 180, failed)}
        run = PastRun(contract, time, f"{night:040x}", 180, failed, interval, events)
        keys = (fixture_key(_id(number)) for number in range(60))
        made.append(replace(run, by_fixture=dict(zip(keys, counts, strict=True))))
    return tuple(made)


def run_result(fixtures: int = 30, samples: int = 2, *, head: str = POLITE) -> GateResult:
    """What the gate finds of one prompt alone."""
    revision = _revision(head, "c", ("triage",), fixtures, samples)
    work = plan_run(revision, Policy(limits=Limits(calls=None)))
    return asyncio.run(measure(work, RunContext(Simulated())))
