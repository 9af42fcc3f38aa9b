"""A trial, its sample, and the outcome of the checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from gatekeeper.contract.values.call import SINGLE, Call
from gatekeeper.contract.values.definition import Attachment, Message, Severity, ToolCall
from gatekeeper.contract.values.tools import Tools

Arm = Literal["base", "head"]
_ROUNDING = 1e-9
"""Of a sum of products of weights and scores, which is not exact in binary."""
ContractFrom = Literal["head", "base", "base_settings", "base_reading"]
"""The contract that evaluates a trial: head's, base's, or base's own model, parameters and mode
with head's prompt file."""

Evaluated = tuple[str, ContractFrom]
"""An evaluation of a run: the contract's name, and whose contract evaluates."""


class SharedPrefix(NamedTuple):
    """How many first `messages` are the same in other requests of the run, and their `size` in
    bytes of UTF-8, of the arm with the smaller size."""

    messages: int
    size: int


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is sent: `messages`, and after the answer what the `call` says. `repetition`
    tells apart requests that are otherwise the same. `streamed` says that the answer is to come
    token by token, so that the first one can be timed. `shared_prefix` is for the provider's cache:
    it changes no answer, and no digest has it. `whole` is the digest of the conversation or chain
    that the request belongs to, and its number in it, from 0: several of them may begin with the
    same request, and go on from different answers. `inserted` is how many of these answers a
    forecast left out. With `tools`, each call of a tool is answered, and the model is asked
    again."""

    model: str
    messages: tuple[Message, ...]
    params: Mapping[str, Any]
    seed: int | None
    repetition: int
    streamed: bool = False
    shared_prefix: SharedPrefix | None = field(default=None, compare=False, repr=False)
    whole: tuple[str, int] | None = field(default=None, compare=False, repr=False)
    call: Call = SINGLE
    inserted: int = field(default=0, compare=False, repr=False)
    tools: Tools | None = None

    @property
    def files(self) -> tuple[Attachment, ...]:
        """Return the files of all messages."""
        return tuple(file for message in self.messages for file in message.files)


@dataclass(frozen=True, slots=True)
class Trial:
    """One fixture x one arm x one repetition: the unit of execution.

    `contract_from` says whose contract the fixture and the checks come from. `cluster` is that of
    the fixture. `part_of` names the contract of which `contract` is a group: their identical
    requests are sent once. `confirms` says that it is a fresh one, taken after the planned ones.
    """

    contract: str
    fixture: str
    arm: Arm
    repetition: int
    request: Request
    contract_from: ContractFrom = "head"
    cluster: str | None = None
    part_of: str | None = None
    confirms: bool = False

    def again(self, repetition: int) -> Trial:
        """Return a fresh trial of the same fixture and arm."""
        seed = self.request.seed
        seed = None if seed is None else seed - self.repetition + repetition
        request = replace(self.request, repetition=repetition, seed=seed)
        return replace(self, repetition=repetition, request=request, confirms=True)


@dataclass(frozen=True, slots=True)
class CutText:
    """The length in characters of a text that was too long to be kept, and the SHA-256 of its UTF-8
    in hexadecimal."""

    length: int
    sha256: str


TOO_LONG, REFUSED = "request_too_long", "request_refused"
REFUSED_REQUESTS: Mapping[str, str] = MappingProxyType(
    {
        TOO_LONG: (
            "The provider refused the request, because the request is longer than the model allows."
        ),
        REFUSED: "The provider refused the request because of its content.",
    }
)
"""Why there is no output at all, by `finish_reason`: no check can pass."""

_ENDED = frozenset(
    {
        *("stop", "stop_sequence", "end_turn", "eos", "eos_token"),
        *("complete", "completed", "succeeded", "done", "end", "finish", "finished"),
        *("tool_calls", "function_call"),  # some providers give an answer by a schema so
    }
)
"""The finish reasons of an answer that is whole, in the words of OpenAI and of others."""


def ended_early(finish_reason: str | None) -> bool:
    """Return whether the model stopped before its answer was whole. Every provider has words of its
    own for that (`length`, `model_length`, `abort`), so a reason that is not known is one."""
    return (finish_reason or "stop").casefold() not in _ENDED


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer of a model.

    `latency_ms` is the request's own time in milliseconds, without waiting for a slot; `ttft_ms`
    its part until the first token of a text or a tool call; `cost_usd` in US dollars. None means
    unknown, never zero.
    """

    text: str
    latency_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    replayed: bool = False
    """True if the answer comes from a recording and no model was called."""
    fingerprint: str | None = None
    """The model that answered, as the provider reports it: its full name, its build, or the
    digest of its file."""
    finish_reason: str | None = None
    """Why the model stopped, in OpenAI's words: `stop`, `length`, `content_filter`, `tool_calls`;
    None if the provider does not say. If the answer has no text, it still counts as an answer."""
    cut: CutText | None = None
    """The whole answer, if `text` or `tool_calls` hold only its beginning. The checks
    evaluated the whole answer."""
    ttft_ms: float | None = None
    cached_tokens: int | None = None
    """The number of the prompt's tokens that the provider read from its cache."""
    cache_write_tokens: int | None = None
    """The number of the prompt's tokens that the provider wrote to its cache."""
    reasoning_tokens: int | None = None
    """The number of the `completion_tokens` that the model used for its reasoning."""
    tool_calls: tuple[ToolCall, ...] = ()
    """The tools that the model asks to use, in its order. The answer may also have text."""
    opaque: str | None = field(default=None, repr=False)
    """What the provider wants back with the calls, such as signed thoughts, as JSON. Nobody reads
    in it; the `Message` with the calls hands it back."""
    turns: tuple[Turn, ...] = ()
    """Every answer of a conversation, the last one included; nothing for a single answer."""
    users: tuple[JudgeAnswer, ...] = ()
    """What a simulated user answered in the conversation, in order, unreadable answers included."""
    kept: tuple[KeptOutcome, ...] = ()
    """The outcomes of an answer of which the cache holds only the beginning: it cannot be evaluated
    again."""
    pause: float | None = field(default=None, compare=False, repr=False)
    """The seconds until the provider takes another call, because nothing remains of a rate limit;
    None for no pause. Only the run uses it; no file contains it."""

    @property
    def tokens(self) -> int | None:
        """Return the tokens of the prompt and of the answer; None if one of them is unknown."""
        prompt, answer = self.prompt_tokens, self.completion_tokens
        return None if prompt is None or answer is None else prompt + answer

    @property
    def is_part(self) -> bool:
        """Whether only the beginning of the answer, or of one in its conversation, is here."""
        inner = (*(t.completion for t in self.turns), *(u.completion for u in self.users))
        return self.cut is not None or any(c is not None and c.cut is not None for c in inner)


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a conversation, and the digest of the request that it answers. `results` are
    what the called tools answered, in the order of the calls, and `state` is the JSON of the state
    after them; None if they left it as it was."""

    request: str
    completion: Completion
    results: tuple[ToolResult, ...] = ()
    state: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered to a call: by a `row` of the contract, or `simulated` by a model; with
    `none`, nothing answers this call."""

    text: str
    is_error: bool = False
    source: Literal["row", "simulated", "none"] = "row"
    delay_ms: float = 0.0

    def marked(self) -> ToolResult:
        """Return the result as the model gets it: the text of an error begins with `ERROR`."""
        return replace(self, text=f"{ERROR}{self.text}") if self.is_error else self


ERROR = "Error: "


class QuestionId(NamedTuple):
    """Identifies a question to a judge: the model, the digest of messages and parameters, and the
    repetition. Two checks that ask the same share the answer."""

    model: str
    digest: str
    repetition: int


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """A judge's answer to one question about a sample, or that of a simulated user about a
    conversation; without an answer, `error` says why.

    A *judge* is a model that a check asks to grade an output.
    """

    asked: QuestionId
    completion: Completion | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """What one judge concluded about a sample, once. `passed` is None if it could not be asked or
    its answer could not be read. `reason` and `verdict` are the judge's own words."""

    model: str
    passed: bool | None
    score: float | None = None
    reason: str = ""
    verdict: str = ""


Meaning = Literal["same", "changed", "unknown"]
MissingAnswer = Literal["empty", "cut off", "refused", "refused in words"]


@dataclass(frozen=True, slots=True)
class AppliedRepair:
    """A repair step that changed an output: the SHA-256 of the text's UTF-8 `before` and `after`
    it, in hexadecimal, and whether the `meaning` changed."""

    step: str
    before: str
    after: str
    meaning: Meaning


@dataclass(frozen=True, slots=True)
class Sample:
    """A trial's completion, or the message of the call that failed.

    `output` is the text that the checks evaluate: the completion's text after the `repairs`, of
    which `ledger` says what each one did. `judge_answers` are the answers to the questions of its
    checks (checks/judges/).
    """

    trial: Trial
    completion: Completion | None
    error: str | None = None
    output: str = ""
    repairs: tuple[str, ...] = ()
    shared: bool = False
    """True if the answer to the identical request of an earlier sample was reused."""
    judge_answers: tuple[JudgeAnswer, ...] = ()
    ledger: tuple[AppliedRepair, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check for one sample.

    `passed` is None if the check could not be applied because the provider did not report what it
    needs (tokens, latency): undefined is never a pass and never a failure. `message` says what was
    found and what was expected, for a person to act on; empty if it passed. `score` is how good the
    output is, from 0 to 1; None for a check that gives none. `votes` are those of its judges.
    `weight` is that of its score, and `must_pass` says that a sample cannot pass without it. `step`
    is the step of a chain that it evaluated; None for the last output.
    """

    check: str
    passed: bool | None
    message: str = ""
    severity: Severity = "error"
    score: float | None = None
    votes: tuple[Vote, ...] = ()
    weight: float = 1.0
    must_pass: bool = False
    step: str | None = None


@dataclass(frozen=True, slots=True)
class KeptOutcome:
    """How a long answer was evaluated. `evaluation` is the digest of the rules by which it was
    (`digests.fixture_evaluation_digest`); the other fields are those of the `Outcome` and
    its sample."""

    evaluation: str
    check_results: tuple[CheckResult, ...]
    passed_before_repairs: tuple[bool | None, ...]
    output: str
    repairs: tuple[str, ...]
    ledger: tuple[AppliedRepair, ...]
    missing: MissingAnswer | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A sample with the results of its checks. `pass_score` is the contract's."""

    sample: Sample
    check_results: tuple[CheckResult, ...] = field(default=())
    pass_score: float | None = None
    passed_before_repairs: tuple[bool | None, ...] = ()
    """Whether the output passes with no repair, with the first repair, with the first two,
    and so on, without the last; None if that is not known."""
    missing: MissingAnswer | None = None
    """How the answer, or an earlier one of its conversation, is missing; None if it is there, or
    the contract asks for exactly this text."""

    @property
    def passed(self) -> bool | None:
        """Whether every error-severity check passed; None if that could not be measured, or if
        there is no such check. With a pass score: whether the grade reaches it, and every check
        that must pass does."""
        gating = self._gating()
        if self.sample.completion is None or not gating:
            return None
        if self.pass_score is None:
            verdicts = [j.passed for j in gating]
        else:
            verdicts = [j.passed for j in gating if j.must_pass]
            verdicts.append(self._reaches(self.pass_score))
        if False in verdicts:
            return False
        return None if None in verdicts else True

    @property
    def grade(self) -> float | None:
        """The weighted mean of the scores of the error-severity checks, from 0 to 1. A check
        without a score counts 1 if it passed, else 0. None if a check could not be applied."""
        low, high = self._grades()
        return low if low == high and self._gating() else None

    @property
    def grades(self) -> tuple[float, float]:
        """Return the lowest and the highest grade that the sample may have: both the same, unless a
        check or the sample could not be measured."""
        known = self.sample.completion is not None and self._gating()
        return self._grades() if known else (0.0, 1.0)

    @property
    def score(self) -> float | None:
        """The weighted mean of the scores that the checks gave, from 0 to 1; None if none gave
        one."""
        scored = [(j.weight, j.score) for j in self.check_results if j.score is not None]
        total = math.fsum(weight for weight, _ in scored)
        return math.fsum(weight * score for weight, score in scored) / total if scored else None

    def _gating(self) -> list[CheckResult]:
        return [j for j in self.check_results if j.severity == "error"]

    def _reaches(self, pass_score: float) -> bool | None:
        """Return whether the grade reaches the pass score, whatever an unknown check would say."""
        low, high = self._grades()
        if low >= pass_score - _ROUNDING:
            return True
        return None if high >= pass_score - _ROUNDING else False

    def _grades(self) -> tuple[float, float]:
        """Return the grade if the checks that could not be applied had failed, and if they had
        passed."""
        low, high, total = [0.0], [0.0], [0.0]
        for j in self._gating():
            known = j.score if j.score is not None else float(j.passed is True)
            low.append(j.weight * (known if j.passed is not None else 0.0))
            high.append(j.weight * (known if j.passed is not None else 1.0))
            total.append(j.weight)
        whole = math.fsum(total) or 1.0
        return math.fsum(low) / whole, math.fsum(high) / whole
