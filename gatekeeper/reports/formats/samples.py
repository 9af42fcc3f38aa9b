"""Renders `samples.jsonl`: every evaluated sample on its own line, complete enough for a replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain, zip_longest
from typing import Any

from gatekeeper.contract.calls.calls import step_names
from gatekeeper.contract.values.trial import CheckResult, Completion, JudgeAnswer, Outcome, Turn
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.formats.result_json import encode
from gatekeeper.sampling.completion_record import answer_row


def sample_lines(result: GateResult) -> Iterator[str]:
    """Yield one JSON object per line, in the order of the plan, and fresh samples at the end; none
    if nothing was sampled."""
    every = chain(result.outcomes, result.fresh)
    return (f"{encode(sample_document(outcome))}\n" for outcome in every)


def sample_document(outcome: Outcome) -> dict[str, Any]:
    """Return a sample's document; `request` and `repetition` find the line again in a replay."""
    from gatekeeper.contract.meaning.digests import prompt_digest, request_digest

    sample = outcome.sample
    trial, completion = sample.trial, sample.completion
    users = completion.users if completion else ()
    request, said = trial.request, answer_row(completion)
    text = [name for name in ("tool_calls", "output_length", "output_sha256") if name in said]
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
        "request": request_digest(request),
        "prompt_digest": prompt_digest(request),
        "output_raw": said.pop("output_raw"),
        "output": sample.output if completion else None,
        **{name: said.pop(name) for name in text},
        **_turns(completion, step_names(request)),
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
        **said,
        "error": sample.error,
        "shared": sample.shared,
    }


def _turns(completion: Completion | None, steps: Sequence[str]) -> dict[str, Any]:
    """Return every answer of a conversation or a chain; a replay finds each by its `request`."""
    turns = completion.turns if completion else ()
    each = zip_longest(turns, steps[: len(turns)])
    return {"turns": [_turn(turn, step) for turn, step in each]} if turns else {}


def _turn(turn: Turn, step: str | None) -> dict[str, Any]:
    of_step = {} if step is None else {"step": step}
    return {**of_step, "request": turn.request, **answer_row(turn.completion)}


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
    said = answer_row(answer.completion)
    del said["ttft_ms"]  # these answers are not streamed
    return {
        "model": answer.asked.model,
        "request": answer.asked.digest,
        "repetition": answer.asked.repetition,
        **said,
        "error": answer.error,
    }
