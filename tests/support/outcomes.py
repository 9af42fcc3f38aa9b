"""Small builders of contracts and outcomes for tests of what is made of them."""

from __future__ import annotations

from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    Message,
    MessageTemplate,
    Prompt,
    SamplingPolicy,
    Target,
)
from gatekeeper.contract.values.trial import (
    Arm,
    CheckResult,
    Completion,
    Outcome,
    Request,
    Sample,
    Trial,
)


def target(text: str = "Say {{ word }}.", model: str = "recorded/samples.jsonl") -> Target:
    prompt = Prompt("prompts/p.txt", (MessageTemplate("user", text, 1),), text)
    return Target(prompt, model, {})


def contract(*fixtures: str, samples: int = 1, **fields) -> Contract:
    defaults = {
        "name": "words",
        "path": "contracts/words.yaml",
        "target": target(),
        "fixtures": tuple(Fixture(name, {"word": name}) for name in fixtures),
        "checks": (CheckSpec("contains", "says ok", {"value": "ok"}),),
        "sampling": SamplingPolicy(samples=samples),
    }
    return Contract(**(defaults | fields))


def outcome(
    fixture: str,
    arm: Arm,
    repetition: int,
    passed: bool | None,
    output: str = "ok",
    *,
    text: str | None = None,
    cost: float | None = None,
    latency: float | None = None,
    name: str = "words",
) -> Outcome:
    """A evaluated sample; `passed` None is a call that failed."""
    message = Message("user", fixture if text is None else text)
    trial = Trial(name, fixture, arm, repetition, Request("m", (message,), {}, 42, repetition))
    if passed is None:
        return Outcome(Sample(trial, None, "the call failed"))
    sample = Sample(trial, Completion(output, latency, cost_usd=cost), output=output)
    return Outcome(sample, (CheckResult("says ok", passed, "" if passed else "it does not"),))
