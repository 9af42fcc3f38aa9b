"""Decides how head's prompts are read if their contract does not say so, and says what a pull
request changes about it.

What base shows counts: its program did not change. If head shows another template engine, or front
matter or role lines that base does not have, nobody knows whether the program understands them.
Head then runs with both readings (gate/plan/plan.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gatekeeper.contract.values.definition import Contract, Prompt, Sections, Target, TemplateStyle

_NAMES: dict[TemplateStyle, str] = {
    "text": "text",
    "jinja": "Jinja",
    "fstring": "a format string",
    "mustache": "Mustache",
    "nunjucks": "Nunjucks",
    "instructions": "instructions",
}


def as_base_shows(base: Contract, head: Contract) -> Contract:
    """Return head's contract with its prompts read as base shows, where head shows nothing."""
    if base.template is not None or head.template is not None:
        return head
    return _reading(head, base.target, _as_before)


def as_before(target: Target, head: Contract) -> Contract:
    """Return a new contract with its prompts read like those of the target at base, unless their
    files or the contract say how they are written: no base contract would test the other
    reading."""
    if head.template is not None:
        return head
    return _reading(
        head, target, lambda old, now: now if now.shown_by == "file" else now.read_like(old)
    )


def reading_changes(base: Target, head: Target) -> Iterator[str]:
    """Yield a sentence for each prompt that head shows to be read otherwise than base's."""
    for before, now in _pairs(base, head):
        signs, readings = [], []
        new = _new_sections(before, now)
        if before.style != now.style:
            signs.append(now.sign or f"no sign of {_NAMES[before.style]}")
            readings.append(_NAMES[now.style])
        if new.front_matter:
            signs.append("front matter")
            readings.append("settings")
        if new.roles:
            signs.append(_roles_of(now))
            readings.append("the roles of messages")
        if signs:
            first = _NAMES[before.style] if before.style != now.style else "text"
            text = (
                f"`{now.reference}` now has {' and '.join(signs)}: read as {first}, as on base, "
                f"and as {' and '.join(readings)}."
            )
            if before.style != now.style:
                text += (
                    f" If your program always used {_NAMES[now.style]}, merge `template: "
                    f"{now.style}` into the contract first."
                )
            yield text


def reading_weakenings(base: Target, head: Target) -> Iterator[str]:
    """Yield each prompt that is now read otherwise, even if it sends the same: a later pull
    request can hide text where the new reading drops it."""
    for before, now in _pairs(base, head):
        place, new = f"`{now.reference}`", _new_sections(before, now)
        if before.style != now.style:
            yield f"{place} is now read as {_NAMES[now.style]} instead of {_NAMES[before.style]}"
        if new.front_matter:
            yield f"{place} now has front matter, which is read as settings"
        if new.roles:
            yield f"{place} now has {_roles_of(now)}, which are read as the roles of messages"
    yield from computed_changes(base, head)


def computed_changes(base: Target, head: Target) -> Iterator[str]:
    """Yield each variable that the prompt's file now gives its value otherwise: no request shows
    that."""
    for before, now in _pairs(base, head):
        for name in sorted(before.computed.keys() & now.computed.keys()):
            if before.computed[name] != now.computed[name]:
                yield (
                    f"`{now.reference}`: the code that gives `{name}` its value changed, but the "
                    "tests fill in the values of the fixtures"
                )


def _roles_of(prompt: Prompt) -> str:
    return "roles in its JSON text" if prompt.part else "role lines"


def _new_sections(before: Prompt, now: Prompt) -> Sections:
    """Return what of head's prompt is no text, and was none of base's."""
    pairs = zip(now.sections, before.sections, strict=True)
    return Sections(*(has and not had for has, had in pairs))


def unused_readings(own: Contract, read: Contract) -> Iterator[str]:
    """Yield a sentence for each prompt of a new contract that is only read as base shows."""
    for change in reading_changes(read.target, own.target):
        yield (
            f"{change.partition(', as on base')[0]}, as on base. If your program reads it "
            f"otherwise, write `template` in the contract {own.name}."
        )


def _as_before(before: Prompt, now: Prompt) -> Prompt:
    if now.shown_by not in ("nothing", "comment"):
        return now
    style = before.style if before.shown_by == "text" else None
    if now.shown_by == "comment" and before.style == "text" and before.messages != now.messages:
        style = "jinja"
    if style is None:
        return now
    found = now.read_as(style)
    return now if found.shown_by == "nothing" else replace(found, shown_by=now.shown_by)


def _reading(
    contract: Contract, before: Target, read: Callable[[Prompt, Prompt], Prompt]
) -> Contract:
    target = contract.target
    steps = {step.name: step.prompt for step in before.steps}
    prompt = read(before.prompt, target.prompt)
    now = tuple(
        replace(step, prompt=read(steps[step.name], step.prompt)) if step.name in steps else step
        for step in target.steps
    )
    if (prompt, now) == (target.prompt, target.steps):
        return contract
    groups = tuple(
        replace(group, target=replace(group.target, prompt=prompt, steps=now))
        for group in contract.groups
    )
    return replace(contract, target=replace(target, prompt=prompt, steps=now), groups=groups)


def _pairs(base: Target, head: Target) -> Iterator[tuple[Prompt, Prompt]]:
    before = {step.name: step.prompt for step in base.steps}
    yield from ((before[step.name], step.prompt) for step in head.steps if step.name in before)
    yield base.prompt, head.prompt
