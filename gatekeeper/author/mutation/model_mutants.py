"""Has a model change each part of a prompt as a careless colleague might.

The model sees the prompt and its parts, in batches, and rewrites one part at a time. A proposal is
left out if it changes nothing, or if it touches text that fixtures fill in, as everything does
after which the template cannot be read.

A model also writes test inputs for the parts that a contract does not protect, as `gatekeeper
mutate` found: it changed them, and the contract did not notice. An input is kept if the contract's
own model answers it differently after the change.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gatekeeper.author.forecast import Planned, assumed_sample, cost_lines, planned_question
from gatekeeper.author.generation.ask import Asker, ask_together
from gatekeeper.author.generation.numbered_prompt import NumberedPrompt, render_each
from gatekeeper.author.generation.questions import QUESTIONS, SEED
from gatekeeper.author.generation.tests import says_something, without_near_duplicates
from gatekeeper.author.mutation.mutants import (
    FILLED_IN,
    MUTATIONS,
    Mutant,
    Mutation,
    Part,
    find_parts,
    make_mutants,
    rewrite_part,
)
from gatekeeper.author.session import (
    AnswerFile,
    AskedModels,
    run_asker,
)
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract, Fixture, Prompt, Target
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.numbers import count

ANSWERS = "mutate.answers.jsonl"
BATCH = 20
"""Parts in one question, so that the answer fits into its limit of tokens."""
_TOUCHES = "variables or other parts of the template would change"


@dataclass(frozen=True, slots=True)
class ModelMutants:
    """The mutants of a model, sentences about what it was asked and what was left out, and the
    policy with what these calls left of its limits."""

    mutants: tuple[Mutant, ...]
    notices: tuple[str, ...]
    policy: Policy


def parts_to_rewrite(prompt: Prompt) -> dict[int, Part]:
    """Return the parts that a model is asked to change, by their number among all parts. A pair of
    messages and all examples together are left to the other mutations."""
    numbered = enumerate(find_parts(prompt), start=1)
    return {number: part for number, part in numbered if len(part.spans) == 1}


async def propose_mutants(
    asker: Asker, prompt: Prompt, known: Collection[str] = ()
) -> tuple[tuple[Mutant, ...], Counter[str]]:
    """Return a mutant for each part for which the model proposes a usable change, and why other
    proposals are left out. `known` are texts of mutants that there are already.

    Raises as `Asker.ask` does.
    """
    batches = list(_batches(prompt))
    answers = await ask_together(
        *(asker.ask("mutations", _data(prompt, batch)) for batch in batches)
    )
    left_out: Counter[str] = Counter()
    found: dict[int, Mutant] = {}
    for batch, answer in zip(batches, answers, strict=True):
        for row in answer["mutations"]:
            made = _mutant(prompt, batch, row, found, known)
            if isinstance(made, str):
                left_out[made] += 1
            else:
                found[row["part"]] = made
    return tuple(found[number] for number in sorted(found)), left_out


@dataclass(frozen=True, slots=True)
class ModelMutations:
    """How the mutants of a model are made: by `model`, or from the recording that `answers` names.
    An `estimate` asks nothing."""

    model: str
    answers: AnswerFile
    estimate: bool

    def ask(
        self, contract: Contract, revision: Revision, policy: Policy, mutations: Sequence[Mutation]
    ) -> ModelMutants:
        """Ask the model within the limits of the policy, and return the mutants; for an estimate
        without a recording, one for each part. The answers are kept, also if the run fails: they
        were paid for.

        Raises GatekeeperError, also if the model proposes nothing that can be used.
        """
        prompt = contract.target.prompt
        if not parts_to_rewrite(prompt):
            raise UsageError(f"{prompt.path}: this prompt has no part that a model can rewrite")
        if self._only_estimates:
            return ModelMutants(_possible(prompt), (), policy)
        known = {mutant.now for mutant in make_mutants(prompt, mutations)}
        (mutants, left_out), asker, said = run_asker(
            lambda asker: propose_mutants(asker, prompt, known),
            AskedModels([("--model", self.model)], revision, policy),
            self.answers,
        )
        notices = (
            f"{count(len(mutants), 'usable mutation')} proposed by {self.model} "
            f"({asker.bill if asker.sent else 'recorded'}).",
            *(f"{count(n, 'proposal')} left out: {why}." for why, n in sorted(left_out.items())),
            *said,
        )
        if not mutants and set(mutations) == {"model"}:
            raise MeasurementError(" ".join(notices) + " No mutant is left to measure.")
        limits = policy.limits.less(asker.sent, asker.cost_usd)
        return ModelMutants(mutants, notices, replace(policy, limits=limits))

    def estimate_lines(self, prompt: Prompt) -> Iterator[str]:
        """Yield how many calls ask for the mutants, and what they cost."""
        if self._only_estimates:
            question = QUESTIONS["mutations"]
            asked = [question.request(self.model, _data(prompt, b)) for b in _batches(prompt)]
            yield f"{count(len(asked), 'call')} to {self.model} for the mutations"
            yield from cost_lines(Planned(request, request) for request in asked)

    @property
    def _only_estimates(self) -> bool:
        return self.estimate and self.answers.replay is None


def _possible(prompt: Prompt) -> tuple[Mutant, ...]:
    """Return a mutant for each part that a model can rewrite."""
    parts = parts_to_rewrite(prompt).items()
    made = (rewrite_part(prompt, number, part, f"{part.text} …") for number, part in parts)
    return tuple(mutant for mutant in made if mutant)


def recorded_model(recording: Path) -> str:
    """Return the model whose answers a recording of mutations has. Raises UsageError."""
    try:
        with recording.open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines if line.strip()]
        models = {str(row["model"]) for row in rows if row.get("stage") == "mutations"}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{recording}: gatekeeper cannot read this file as {ANSWERS}: {error}"
        ) from error
    if len(models) != 1:
        raise UsageError(
            f"{recording}: this file must hold the mutations of exactly one model; use the "
            f"{ANSWERS} that `gatekeeper mutate` wrote"
        )
    return models.pop()


def _mutant(
    prompt: Prompt,
    batch: Mapping[int, Part],
    row: Mapping[str, Any],
    found: Mapping[int, Mutant],
    known: Collection[str],
) -> Mutant | str:
    """Return the mutant of a proposal; why it is left out, if it cannot be used."""
    number, now = row["part"], row["now"].strip()
    part = batch.get(number)
    if part is None:
        return "the prompt has no part with the given number"
    if not now or now.split() == part.text.split():
        return "nothing changed"
    if any(mark in now for mark in FILLED_IN):
        return _TOUCHES
    if now in known:
        return "another mutation makes the same change"
    if number in found:
        return "the part already has another mutation"
    made = rewrite_part(prompt, number, part, now)
    return _TOUCHES if made is None or _marks(made.prompt) != _marks(prompt) else made


def _marks(prompt: Prompt) -> list[int]:
    text = "\n".join(message.content for message in prompt.messages)
    return [text.count(mark) for mark in FILLED_IN]


def _batches(prompt: Prompt) -> Iterator[dict[int, Part]]:
    numbered = list(parts_to_rewrite(prompt).items())
    for start in range(0, len(numbered), BATCH):
        yield dict(numbered[start : start + BATCH])


def _data(prompt: Prompt, batch: Mapping[int, Part]) -> dict[str, str]:
    shown = "\n\n".join(f"[{message.role}]\n{message.content}" for message in prompt.messages)
    parts: Sequence[str] = [f"Part {number}:\n{part.text}" for number, part in batch.items()]
    return {"prompt": shown, "parts": "\n\n".join(parts)}


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
