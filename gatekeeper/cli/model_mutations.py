"""`gatekeeper mutate CONTRACT --mutations model`: mutants that a model proposes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gatekeeper.author.generation.model_run import AnswerFile
from gatekeeper.author.mutation.model_mutants import (
    ANSWERS,
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
    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.contract.values.definition import Contract, Prompt


@dataclass(frozen=True, slots=True)
class ModelMutations:
    """How the mutants of a model are made: by `model`, or from a recording. With `resume`, answers
    of an earlier run in `out` are used again, and always those of the sample cache `cache`."""

    model: str
    recording: Path | None
    out: Path
    estimate: bool
    resume: bool = False
    cache: Path | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace, wanted: bool) -> Self | None:
        """Return what the flags say; None if no model is wanted. Raises UsageError if they
        contradict one another."""
        recording: Path | None = arguments.mutations_from
        if not wanted:
            if arguments.model or recording:
                flag = "--model" if arguments.model else "--mutations-from"
                raise UsageError(f"{flag} needs `--mutations model`; add `model` to --mutations")
            return None
        if arguments.replay and not recording:
            raise UsageError(
                "--replay calls no model; name the mutate.answers.jsonl of the recorded run with "
                "--mutations-from"
            )
        model: str | None = arguments.model or (recorded_model(recording) if recording else None)
        if not model:
            raise UsageError("--mutations model needs --model, the model that rewrites parts")
        run = arguments.out, arguments.estimate, arguments.resume, arguments.cache
        return cls(model, recording, *run)

    def ask(
        self,
        contract: Contract,
        revision: Revision,
        policy: Policy,
        mutations: Sequence[Mutation],
    ) -> ModelMutants:
        """Return the mutants; for an estimate without a recording, one for each part.

        Raises GatekeeperError, also if the model proposes nothing that can be used.
        """
        prompt = contract.target.prompt
        if not parts_to_rewrite(prompt):
            raise UsageError(f"{prompt.path}: this prompt has no part that a model can rewrite")
        if self._only_estimates:
            return ModelMutants(_possible(prompt), {}, self.model)
        known = {mutant.now for mutant in make_mutants(prompt, mutations)}
        found = ask_for_mutants(
            prompt,
            self.model,
            revision,
            policy,
            AnswerFile(
                self.out / ANSWERS,
                self.recording,
                self.resume and self.recording is None,
                self.cache,
            ),
            known,
        )
        if not found.mutants and set(mutations) == {"model"}:
            raise MeasurementError(" ".join(found.notices) + " No mutant is left to measure.")
        return found

    def estimate_lines(self, prompt: Prompt) -> Iterator[str]:
        """Yield how many calls ask for the mutants, and what they cost."""
        from gatekeeper.author.forecast import cost_lines

        if self._only_estimates:
            requests = mutation_requests(prompt, self.model)
            yield f"{count(len(requests), 'call')} to {self.model} for the mutations"
            yield from cost_lines([(request, 1) for request in requests], requests)

    @property
    def _only_estimates(self) -> bool:
        return self.estimate and self.recording is None


def _possible(prompt: Prompt) -> tuple[Mutant, ...]:
    """Return a mutant for each part that a model can rewrite."""
    parts = parts_to_rewrite(prompt).items()
    made = (rewrite_part(prompt, number, part, f"{part.text} …") for number, part in parts)
    return tuple(mutant for mutant in made if mutant)
