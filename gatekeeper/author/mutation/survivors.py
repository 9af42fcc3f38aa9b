"""Writes test inputs for the parts of a prompt that its contract does not protect.

`gatekeeper mutate` found these parts: it changed them, and the contract did not notice. A model
proposes inputs that depend on a part. An input is kept if the contract's own model answers it
differently after the change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.author.forecast import Planned, assumed_sample, planned_question
from gatekeeper.author.generation.ask import Asker, ask_together
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt, render_each
from gatekeeper.author.generation.questions import SEED
from gatekeeper.author.generation.tests import says_something, without_near_duplicates
from gatekeeper.author.mutation.mutants import (
    MUTATIONS,
    Mutant,
    find_parts,
    make_mutants,
    rewrite_part,
)
from gatekeeper.contract.values.definition import Fixture, Prompt, Target
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import UsageError

CATEGORY = "survivor"
_SURVIVED = ("not_noticed", "too_few_broke", "no_effect")


@dataclass(frozen=True, slots=True)
class ProtectedPart:
    """A part of a prompt, and the fixtures that depend on it. `proposed` counts the inputs that a
    model proposed, `tried` those that are new, `proven` those that the contract's model answers
    differently without the part."""

    mutant: Mutant
    proposed: int
    tried: int
    proven: int
    rows: tuple[Mapping[str, Any], ...]


def read_survivors(text: str, path: str, prompt: Prompt) -> tuple[Mutant, ...]:
    """Return the mutants that a contract did not notice, one for each part. A part whose removal
    is noticed is protected.

    Args:
        text: A `mutation.json`.
        path: Its path, for messages.
        prompt: The prompt as it is now.

    Raises UsageError if the file is of another prompt, or of an older version of it.
    """
    try:
        document = json.loads(text)
        found = {row["id"]: (row["text"], row["finding"]) for row in document["mutants"]}
        rewritten = {row["id"]: row["now"] for row in document["mutants"]}
        of = document["prompt"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UsageError(f"{path}: this is not a mutation.json of `gatekeeper mutate`") from None
    if of != prompt.reference:
        raise UsageError(
            f"{path}: this file is about the prompt {of}; run `gatekeeper mutate` for a contract "
            f"of {prompt.reference} first"
        )
    mutants = {mutant.id: mutant for mutant in make_mutants(prompt, MUTATIONS)}
    for number, part in enumerate(find_parts(prompt), start=1):
        now = rewritten.get(f"{number}-model")
        made = rewrite_part(prompt, number, part, now) if isinstance(now, str) and now else None
        if made:
            mutants[made.id] = made
    parts: dict[tuple[int, int], Mutant] = {}
    protected: set[tuple[int, int]] = set()
    for name, (part, finding) in found.items():
        mutant = mutants.get(name)
        if mutant is None or mutant.part.text != part:
            raise UsageError(
                f"{path}: {prompt.reference} has changed since this file was written; run "
                "`gatekeeper mutate` again"
            )
        place = mutant.part.line, mutant.part.spans[0].start
        if mutant.mutation == "drop" and finding == "noticed":
            protected.add(place)
        if finding in _SURVIVED and mutant.part.kind != "all examples":
            parts.setdefault(place, mutant)
    return tuple(mutant for place, mutant in parts.items() if place not in protected)


async def protect(
    asker: Asker,
    prompt: NumberedPrompt,
    target: Target,
    mutants: Sequence[Mutant],
    known: Sequence[Fixture],
    count: int,
) -> tuple[ProtectedPart, ...]:
    """Return fixtures for each part. An input that is nearly the same as one of `known`, or as an
    earlier one, is left out. Raises as `Asker.ask` does."""
    proposed = await ask_together(*(_propose(asker, prompt, m, count) for m in mutants))
    fixtures = [
        Fixture(f"{_stem(mutant)}.{number}", row["vars"], metadata=row)
        for mutant, rows in zip(mutants, proposed, strict=True)
        for number, row in enumerate(rows, start=1)
    ]
    fresh, _ = without_near_duplicates(fixtures, known)
    return tuple(
        await ask_together(
            *(
                _prove(asker, target, m, [f for f in fresh if _is_of(f, m)], len(rows))
                for m, rows in zip(mutants, proposed, strict=True)
            )
        )
    )


def _is_of(fixture: Fixture, mutant: Mutant) -> bool:
    return fixture.id.rpartition(".")[0] == _stem(mutant)


def planned_requests(
    prompt: NumberedPrompt, target: Target, mutants: Sequence[Mutant], model: str, count: int
) -> list[Planned]:
    """Return requests like those of `protect`, for a forecast."""
    settings, values = {"count": str(count)}, prompt.values_schema()
    sample = assumed_sample(target.model, target.prompt, target.params)
    asked = [
        planned_question("survivors", model, _question(prompt, m), settings, values=values)
        for m in mutants
    ]
    return [*asked, Planned(sample, sample, 3 * count * len(mutants))]


def _question(prompt: NumberedPrompt, mutant: Mutant) -> dict[str, str]:
    return {**prompt.data, "part": mutant.part.text, "after": mutant.now or "(removed)"}


async def _propose(
    asker: Asker, prompt: NumberedPrompt, mutant: Mutant, count: int
) -> list[Mapping[str, Any]]:
    data, settings = _question(prompt, mutant), {"count": str(count)}
    answer = await asker.ask("survivors", data, settings, values=prompt.values_schema())
    rows: list[Mapping[str, Any]] = answer["tests"][:count]
    return [row for row in rows if any(map(says_something, row["vars"].values()))]


async def _prove(
    asker: Asker, target: Target, mutant: Mutant, fixtures: Sequence[Fixture], proposed: int
) -> ProtectedPart:
    both, _ = render_each(target.prompt, fixtures)
    changed_prompt = {f.id: m for f, m in render_each(mutant.prompt, fixtures)[0]}
    rows, tried = [], 0
    for fixture, before in both:
        after = changed_prompt.get(fixture.id)
        if after is None:
            continue
        tried += 1
        requests = [
            Request(target.model, messages, target.params, SEED, repetition)
            for messages, repetition in ((before, 0), (before, 1), (after, 0))
        ]
        if target.params.get("temperature") == 0:
            del requests[1]  # the same answer again
        *known, changed = await ask_together(*(asker.complete(r, "survivors") for r in requests))
        texts = {answer.text.strip() for answer in known}
        # Answers that differ by chance prove nothing.
        if len(texts) == 1 and changed.text.strip() not in texts:
            rows.append(_row(fixture, mutant))
    return ProtectedPart(mutant, proposed, tried, len(rows), tuple(rows))


def _row(fixture: Fixture, mutant: Mutant) -> Mapping[str, Any]:
    told = fixture.metadata
    return {
        "id": fixture.id,
        "vars": dict(fixture.vars),
        "category": CATEGORY,
        "cluster": _stem(mutant),
        "metadata": {name: told[name] for name in ("kind", "scenario", "reason")},
    }


def _stem(mutant: Mutant) -> str:
    return f"survivor-{mutant.id}"
