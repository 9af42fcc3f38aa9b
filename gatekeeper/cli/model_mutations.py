"""`gatekeeper mutate CONTRACT --mutations model`: mutants that a model proposes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gatekeeper.author.generation.model_mutations import (
    ModelMutants,
    ask_for_mutants,
    mutation_requests,
    parts_to_rewrite,
    recorded_model,
)
from gatekeeper.author.mutation.mutants import Mutant, Mutation, make_mutants, rewrite_part
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.numbers import count

if TYPE_CHECKING:
    from gatekeeper.contract.change import Revision
    from gatekeeper.contract.definition import Contract, Prompt
    from gatekeeper.contract.policy import Policy


@dataclass(frozen=True, slots=True)
class AskedMutants:
    """The mutants of a model with what to say about them. In a forecast they are as many as there
    can be."""

    mutants: tuple[Mutant, ...]
    notices: tuple[str, ...] = ()
    forecast: tuple[str, ...] = ()
    calls: int = 0
    cost_usd: float | None = None

    def policy_after(self, policy: Policy) -> Policy:
        """Return the policy with what is left of its limits on calls and cost."""
        limits = policy.limits
        if limits.calls is not None:
            limits = replace(limits, calls=max(0, limits.calls - self.calls))
        if limits.cost_usd is not None and self.cost_usd is not None:
            limits = replace(limits, cost_usd=max(0.0, limits.cost_usd - self.cost_usd))
        return replace(policy, limits=limits)


@dataclass(frozen=True, slots=True)
class ModelMutations:
    """How the mutants of a model are made: by `model`, or from a recording. With `resume`, answers
    of an earlier run in `out` are used again."""

    model: str
    recording: Path | None
    out: Path
    estimate: bool
    resume: bool = False

    @classmethod
    def of(cls, arguments: argparse.Namespace, wanted: bool) -> Self | None:
        """Return what the flags say; None if no model is wanted. Raises UsageError if they
        contradict one another."""
        recording: Path | None = arguments.mutations_from
        if not wanted:
            if arguments.model or recording:
                flag = "--model" if arguments.model else "--mutations-from"
                raise UsageError(f"{flag} needs --mutations model; add `model` to --mutations")
            return None
        if arguments.replay and not recording:
            raise UsageError(
                "--replay calls no model; name the mutate.answers.jsonl of that run with "
                "--mutations-from"
            )
        model: str | None = arguments.model or (recorded_model(recording) if recording else None)
        if not model:
            raise UsageError("--mutations model needs --model, the model that rewrites parts")
        return cls(model, recording, arguments.out, arguments.estimate, arguments.resume)

    def ask(
        self,
        contract: Contract,
        revision: Revision,
        policy: Policy,
        mutations: Sequence[Mutation],
    ) -> AskedMutants:
        """Return the mutants; for a forecast without a recording, one for each part.

        Raises GatekeeperError, also if the model proposes nothing that can be used.
        """
        prompt = contract.target.prompt
        if not parts_to_rewrite(prompt):
            raise UsageError(f"{prompt.path}: this prompt has no part that a model can rewrite")
        if self.estimate and self.recording is None:
            return self._forecast(prompt)
        known = {mutant.now for mutant in make_mutants(prompt, mutations)}
        found = ask_for_mutants(
            prompt,
            self.model,
            revision,
            policy,
            self.out,
            self.recording,
            known,
            resume=self.resume and self.recording is None,
        )
        if not found.mutants and set(mutations) == {"model"}:
            raise MeasurementError(" ".join(found.notices) + " There is nothing to measure.")
        return _asked(found)

    def _forecast(self, prompt: Prompt) -> AskedMutants:
        from gatekeeper.author.cost_words import cost_lines

        parts = parts_to_rewrite(prompt)
        made = (rewrite_part(prompt, n, part, f"{part.text} …") for n, part in parts.items())
        requests = mutation_requests(prompt, self.model)
        cost = cost_lines([(request, 1) for request in requests], requests)
        said = (f"{count(len(requests), 'call')} to {self.model} for the mutations", *cost)
        return AskedMutants(tuple(mutant for mutant in made if mutant), forecast=said)


def _asked(found: ModelMutants) -> AskedMutants:
    return AskedMutants(found.mutants, found.notices, calls=found.calls, cost_usd=found.cost_usd)
