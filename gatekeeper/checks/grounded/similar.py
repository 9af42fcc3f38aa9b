"""The output has about the same meaning as the given text: the cosine of their embeddings is at
least `min`.

The score is the cosine; a negative cosine counts as 0. Unlike `similarity`, the check recognises
other words with the same meaning, but it may miss a `not`. The embedding model is called once for
each output, and these calls count like those of a judge.

`min` has no default, because unrelated texts may have 0.1 with one model and 0.7 with another.
Label some outputs, and `gatekeeper judge calibrate` says [which
minimum](judges.md#see-the-agreement) separates good outputs from bad ones. Providers that are
called [natively](models.md#providers-and-their-keys) in OpenAI's format work; the built-in [local
model](models.md#embeddings) does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    parameters,
    undetermined,
)
from gatekeeper.checks.reading.output import FIELD, as_text, on_output, quote
from gatekeeper.contract.checks.embeddings import LONGEST, comparison_request, read_cosine
from gatekeeper.contract.checks.judge_settings import answer_to
from gatekeeper.contract.values.trial import Request, Sample, Vote


@dataclass(frozen=True, slots=True)
class _Similar:
    """A prepared check of similarity by embeddings. `read_output` finds the text to compare."""

    model: str
    wanted: str
    least: float
    read_output: SampleEvaluator

    @property
    def judge_models(self) -> tuple[str, ...]:
        return (self.model,)

    def __call__(self, sample: Sample) -> Finding:
        found = self._question(sample)
        if isinstance(found, Finding):
            return found
        answer = answer_to(found, sample)
        if answer is None:
            return undetermined(f"the run did not call the model {self.model}")
        cosine = None if answer.completion is None else read_cosine(answer.completion.text)
        if cosine is None:
            why = answer.error or "the answer does not have the expected form"
            return undetermined(f"there are no embeddings to compare: {why}")
        score = max(0.0, cosine)
        passed = score >= self.least
        votes = (Vote(self.model, passed, score),)
        if passed:
            return Finding(True, score=score, votes=votes)
        # Rounded down, so that a score that is too low never looks high enough.
        shown = math.floor(score * 1000) / 1000
        output = found.messages[1].content
        message = (
            f"the score is {shown:g}, less than {self.least:g}; expected a meaning like "
            f"{quote(self.wanted)}; got {quote(output)}"
        )
        return Finding(False, message, score, votes)

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        """Return what is still to be asked about the sample."""
        found = self._question(sample)
        if isinstance(found, Finding) or answer_to(found, sample) is not None:
            return ()
        return (found,)

    def forecast(self, sample: Sample) -> tuple[Request, ...]:
        """Return what would be asked about an output that is as long as the sample's."""
        return (comparison_request(self.model, self.wanted, sample.output[:LONGEST] or "x"),)

    def _question(self, sample: Sample) -> Request | Finding:
        """Return the question; a finding for an output that no model has to see."""
        found = self.read_output(sample)
        if not found.passed:
            return found if found.passed is None else Finding(False, found.message, 0.0)
        text = found.message
        if not text.strip():
            return Finding(False, f"expected a meaning like {quote(self.wanted)}; got no text", 0.0)
        if len(text) > LONGEST:
            return undetermined(
                f"the text has {len(text):,} characters, too many for an embedding model"
            )
        return comparison_request(self.model, self.wanted, text)


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    wanted = as_text(params["value"])
    if not wanted.strip():
        raise ParameterError("`value` is empty", "write the text to compare with")
    if len(wanted) > LONGEST:
        raise ParameterError(f"`value` has more than {LONGEST:,} characters", "shorten it")
    if params["model"].startswith("local/"):
        raise ParameterError(
            "the model that comes with gatekeeper cannot distinguish meanings well enough",
            "use a model of a provider, such as openai/text-embedding-3-small",
        )
    read_output = on_output(params, _one_text)
    return _Similar(params["model"], wanted, params["min"], read_output)


def _one_text(value: Any) -> Finding:
    """Return the text to compare in place of a message."""
    return Finding(True, as_text(value))


CHECK = Check(
    parameters(
        required=("value", "min", "model"),
        value={
            "type": ["string", "number", "boolean"],
            "description": "The text to compare the output with.",
        },
        min={
            "x-looser": "down",
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "The lowest cosine similarity that passes, from 0 to 1.",
        },
        model={
            "type": "string",
            "minLength": 1,
            "description": "The embedding model, such as openai/text-embedding-3-small.",
        },
        field=FIELD,
    ),
    _prepare,
    scores=True,
    group="grounded",
    examples=(
        Example(
            '{type: similar, value: "{{ expected }}", min: 0.6, '
            "model: openai/text-embedding-3-small}",
            "You can pick it up tomorrow.",
            "We are closed for good.",
            expected="It is ready for collection from tomorrow.",
            judge_says=("0.743210", "0.214070"),
        ),
    ),
)
