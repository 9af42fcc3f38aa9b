"""Shows a check the step of a chain that it evaluates: the step's own request and output.

Base's prompt may lack a step that head's contract adds. Its check is then left out of the base arm,
so that base can only look better. If head's prompt lacks a step that base's contract checks, the
check cannot be applied.

Repairs apply to the last output alone. A step's checks see what the model wrote, because that is
what the next step gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from gatekeeper.checks.check import Finding, SampleEvaluator, failed, undetermined
from gatekeeper.contract.calls.calls import MOST_TEXT, as_called, calls_of, spoken, step_names
from gatekeeper.contract.calls.trajectory import why_unfinished
from gatekeeper.contract.values.definition import Prompt, Target
from gatekeeper.contract.values.trial import REFUSED_REQUESTS, Arm, Completion, Sample, Trial, Turn


class StepViews:
    """The steps of one sample, each as a sample of its own. `new_names` are those of head's steps
    that have another name in the contract."""

    def __init__(self, sample: Sample, new_names: Mapping[str, str]) -> None:
        self._sample = sample
        self._new_names = new_names
        self._names = step_names(sample.trial.request)
        self._found: dict[str | None, Sample | None] = {}

    def of(self, step: str | None) -> Sample | None:
        """Return what a check of the step evaluates; None if the sample has no such step. Without a
        name it is the last one."""
        if not self._names:
            return self._sample if step is None else None
        if step not in self._found:
            self._found[step] = spoken(self._sample) if step is None else self._step(step)
        return self._found[step]

    def apply(self, evaluate: SampleEvaluator, step: str | None) -> Finding | None:
        """Return what a check finds in its step; None if it is left out. If the provider refused a
        request, every check of that step and of later ones fails."""
        sample, refused = self.of(step), no_answer(self._sample)
        if refused and (sample is None or no_answer(sample)):
            return failed(refused)
        if sample is not None:
            return evaluate(sample)
        if self._sample.trial.arm == "base":
            return None
        return undetermined(f"the prompt has no step `{step}`")

    def _step(self, step: str) -> Sample | None:
        if step not in self._names:
            step = self._new_names.get(step, step)
        turns = self._sample.completion.turns if self._sample.completion else ()
        number = self._names.index(step) if step in self._names else len(turns)
        if number >= len(turns):
            return None
        answer = turns[number].completion
        called = as_called(self._sample, number)
        return replace(called, completion=answer, output=answer.text, repairs=(), ledger=())


def no_answer(sample: Sample) -> str | None:
    """Return why there is no answer: the provider refused the request, or a tool loop ended before
    one."""
    completion = sample.completion
    if completion is None:
        return None
    refused = None if completion.text else REFUSED_REQUESTS.get(completion.finish_reason or "")
    return refused or why_unfinished(sample)


def renamed_steps(contract: Target, head: Target) -> dict[str, str]:
    """Return the new name of each step of a contract that head's prompts have under another name:
    with the same prompt file."""
    names = {step.name for step in contract.steps}
    kept = {step.name for step in head.steps}
    new = {s.prompt.reference: s.name for s in head.steps if s.name not in names}
    gone = (step for step in contract.steps if step.name not in kept)
    return {s.name: new[s.prompt.reference] for s in gone if s.prompt.reference in new}


def prompts_of_step(targets: Mapping[Arm, Target], step: str | None) -> dict[Arm, Prompt]:
    """Return each arm's prompt of a step; the last prompt if the check names no step. If base does
    not have the step, its prompt is that of the same file, or head's."""
    prompts = {arm: target.prompt_of(step) for arm, target in targets.items()}
    own = {arm: {s.name for s in target.steps} for arm, target in targets.items()}
    if step in own["head"] - own["base"]:
        files = {prompt.reference: prompt for prompt in targets["base"].prompts}
        prompts["base"] = files.get(prompts["head"].reference, prompts["head"])
    return prompts


def filler_sample(trial: Trial, characters: int) -> Sample:
    """Return a sample of the trial of which every output has this length, for a forecast."""
    filler = _filler_completion(characters)
    calls = calls_of(trial.request)
    if not step_names(trial.request):
        # The whole conversation, as far as it is known.
        return Sample(replace(trial, request=calls[-1]), filler, output=filler.text)
    # A call with more text than this fails.
    inserted = max([1, *(call.inserted for call in calls)])
    short = Completion(_filler(min(characters, MOST_TEXT // inserted)))
    turns = (*(Turn("", short) for _ in calls[1:]), Turn("", filler))
    return Sample(trial, replace(filler, turns=turns), output=filler.text)


@lru_cache(maxsize=16)
def _filler_completion(characters: int) -> Completion:
    return Completion(_filler(characters))


@lru_cache(maxsize=16)
def _filler(characters: int) -> str:
    """Return text of this length: the same for all fixtures, because it can be long."""
    return "x" * characters
