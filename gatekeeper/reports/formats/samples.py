"""Renders `samples.jsonl`: every evaluated sample on its own line, complete enough for a replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, zip_longest
from typing import Any

from gatekeeper.contract.calls.chain import step_names
from gatekeeper.contract.values.trial import CheckResult, Completion, JudgeAnswer, Outcome, Turn
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.formats.result_json import encode
from gatekeeper.sampling.completion_record import tool_call_records

_NO_PARAMS: Mapping[str, Any] = {}


def sample_lines(result: GateResult) -> Iterator[str]:
    """Yield one JSON object per line, in the order of the plan, and fresh samples at the end; none
    if nothing was sampled."""
    every = chain(result.outcomes, result.fresh)
    return (f"{encode(sample_document(outcome))}\n" for outcome in every)


def sample_document(outcome: Outcome) -> dict[str, Any]:
    """Return a sample's document; `request` and `repetition` find the line again in a replay."""
    from gatekeeper.contract.meaning.digests import request_digest

    sample = outcome.sample
    trial, completion = sample.trial, sample.completion
    users = completion.users if completion else ()
    request = trial.request
    return {
        "contract": trial.contract,
        "fixture": trial.fixture,
        # Left out for the many fixtures that have none.
        **({} if trial.cluster is None else {"cluster": trial.cluster}),
        "arm": trial.arm,
        "contract_from": trial.contract_from,
        "repetition": trial.repetition,
        # Left out for the many samples that were planned.
        **({"confirms": True} if trial.confirms else {}),
        "model": request.model,
        "seed": request.seed,
        "request": request_digest(request.messages, request.params),
        "prompt_digest": request_digest(request.messages, _NO_PARAMS),
        "output_raw": completion.text if completion else None,
        "output": sample.output if completion else None,
        **_tool_calls(completion),
        **_whole(completion),
        **_turns(completion, step_names(request.messages)),
        # Left out for the many samples without a simulated user.
        **({"users": list(map(_judge_answer, users))} if users else {}),
        "repairs": list(sample.repairs),
        # Left out for the many outputs that need no repair.
        **({"repair_ledger": list(map(asdict, sample.ledger))} if sample.ledger else {}),
        # Left out for the many samples that no judge sees.
        **(
            {"judge_answers": [_judge_answer(a) for a in sample.judge_answers]}
            if sample.judge_answers
            else {}
        ),
        # Left out without one, as for most contracts.
        **({} if outcome.pass_score is None else {"pass_score": outcome.pass_score}),
        "checks": [_check_result(check_result) for check_result in outcome.check_results],
        "latency_ms": completion.latency_ms if completion else None,
        "ttft_ms": completion.ttft_ms if completion else None,
        "prompt_tokens": completion.prompt_tokens if completion else None,
        "completion_tokens": completion.completion_tokens if completion else None,
        **_reasoning(completion),
        "cost_usd": completion.cost_usd if completion else None,
        "fingerprint": completion.fingerprint if completion else None,
        "finish_reason": completion.finish_reason if completion else None,
        "error": sample.error,
        "shared": sample.shared,
    }


def _tool_calls(completion: Completion | None) -> dict[str, Any]:
    """Return the tool calls; nothing for the many answers that have none."""
    calls = tool_call_records(completion.tool_calls) if completion else []
    return {"tool_calls": calls} if calls else {}


def _reasoning(completion: Completion | None) -> dict[str, int]:
    """Return the tokens of the reasoning; nothing for the many answers without that count."""
    count = completion.reasoning_tokens if completion else None
    return {} if count is None else {"reasoning_tokens": count}


def _turns(completion: Completion | None, steps: Sequence[str]) -> dict[str, Any]:
    """Return every answer of a conversation or a chain; a replay finds each by its `request`."""
    turns = completion.turns if completion else ()
    each = zip_longest(turns, steps[: len(turns)])
    return {"turns": [_turn(turn, step) for turn, step in each]} if turns else {}


def _turn(turn: Turn, step: str | None) -> dict[str, Any]:
    answer = turn.completion
    return {
        **({} if step is None else {"step": step}),
        "request": turn.request,
        "output_raw": answer.text,
        **_tool_calls(answer),
        **_whole(answer),
        "latency_ms": answer.latency_ms,
        "ttft_ms": answer.ttft_ms,
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        **_reasoning(answer),
        "cost_usd": answer.cost_usd,
        "fingerprint": answer.fingerprint,
        "finish_reason": answer.finish_reason,
    }


def _whole(completion: Completion | None) -> dict[str, Any]:
    """Return the length and digest of an answer that was too long to be kept; otherwise None for
    both."""
    cut = completion.cut if completion else None
    return {
        "output_length": cut.length if cut else None,
        "output_sha256": cut.sha256 if cut else None,
    }


def _check_result(check_result: CheckResult) -> dict[str, Any]:
    return {
        "check": check_result.check,
        "passed": check_result.passed,
        "severity": check_result.severity,
        "message": check_result.message,
        # Left out for the many checks that give none.
        **({} if check_result.score is None else {"score": check_result.score}),
        **({} if check_result.weight == 1 else {"weight": check_result.weight}),
        **({"must_pass": True} if check_result.must_pass else {}),
        **({} if check_result.step is None else {"step": check_result.step}),
        **({"votes": [asdict(vote) for vote in check_result.votes]} if check_result.votes else {}),
    }


def _judge_answer(answer: JudgeAnswer) -> dict[str, Any]:
    """Return the answer of a judge or simulated user; a replay finds it by `request`, `repetition`
    and `model`."""
    completion = answer.completion
    return {
        "model": answer.asked.model,
        "request": answer.asked.digest,
        "repetition": answer.asked.repetition,
        "output_raw": completion.text if completion else None,
        **_whole(completion),
        "latency_ms": completion.latency_ms if completion else None,
        "prompt_tokens": completion.prompt_tokens if completion else None,
        "completion_tokens": completion.completion_tokens if completion else None,
        **_reasoning(completion),
        "cost_usd": completion.cost_usd if completion else None,
        "fingerprint": completion.fingerprint if completion else None,
        "finish_reason": completion.finish_reason if completion else None,
        "error": answer.error,
    }
