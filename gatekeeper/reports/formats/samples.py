"""Renders `samples.jsonl`: every evaluated sample on its own line, complete enough for a replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict
from itertools import chain, zip_longest
from typing import Any

from gatekeeper.contract.calls.calls import step_names
from gatekeeper.contract.values.trial import CheckResult, Completion, JudgeAnswer, Outcome, Turn
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.formats.result_json import encode
from gatekeeper.sampling.completion_record import answer_row, loop_row


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
    document: dict[str, Any] = {
        "contract": trial.contract,
        "fixture": trial.fixture,
        "cluster": trial.cluster,
        "arm": trial.arm,
        "contract_from": trial.contract_from,
        "repetition": trial.repetition,
        "confirms": trial.confirms,
        "model": request.model,
        "seed": request.seed,
        "request": request_digest(request),
        "prompt_digest": prompt_digest(request),
        "output_raw": said.pop("output_raw"),
        "output": sample.output if completion else None,
        **{name: said.pop(name) for name in text},
        "turns": _turns(completion, step_names(request)),
        "users": list(map(_judge_answer, users)),
        "repairs": list(sample.repairs),
        "repair_ledger": list(map(asdict, sample.ledger)),
        "judge_answers": list(map(_judge_answer, sample.judge_answers)),
        "pass_score": outcome.pass_score,
        "checks": [_check_result(check_result) for check_result in outcome.check_results],
        **said,
        "error": sample.error,
        "shared": sample.shared,
    }
    return _without(document, _RARE)


_RARE = frozenset(
    ("cluster", "confirms", "turns", "users", "repair_ledger", "judge_answers", "pass_score")
)
_RARE_OF_CHECKS = frozenset(("score", "weight", "must_pass", "step", "votes"))


def _without(document: dict[str, Any], rare: Set[str]) -> dict[str, Any]:
    """Leave out the keys that most samples have nothing for."""
    for key in rare:
        value = document[key]
        if value is None or value is False or value == []:
            del document[key]
    return document


def _turns(completion: Completion | None, steps: Sequence[str]) -> list[dict[str, Any]]:
    """Return every answer of a conversation or a chain; a replay finds each by its `request`."""
    turns = completion.turns if completion else ()
    return [_turn(turn, step) for turn, step in zip_longest(turns, steps[: len(turns)])]


def _turn(turn: Turn, step: str | None) -> dict[str, Any]:
    of_step = {} if step is None else {"step": step}
    said = answer_row(turn.completion)
    return {**of_step, "request": turn.request, **said, **loop_row(turn)}


def _check_result(check_result: CheckResult) -> dict[str, Any]:
    document = {
        "check": check_result.check,
        "passed": check_result.passed,
        "severity": check_result.severity,
        "message": check_result.message,
        "score": check_result.score,
        "weight": None if check_result.weight == 1 else check_result.weight,
        "must_pass": check_result.must_pass,
        "step": check_result.step,
        "votes": [asdict(vote) for vote in check_result.votes],
    }
    return _without(document, _RARE_OF_CHECKS)


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
