"""Decides which answers are streamed: those of contracts with an objective or a check on the time
to first token. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Trial
from gatekeeper.errors import UsageError
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.sampling.client import ModelClient, StreamingClient


def stream_timed_answers(job: Job) -> Job:
    """Return the job with all its trials streamed if base's or head's contract has an objective or
    a check on the time to first token; else the job itself.

    All trials, so that both arms are called in the same way: a streamed answer can take longer.
    """
    contracts = [evaluation.contract for evaluation in job.evaluations]
    if not any(map(_times_first_token, [*contracts, job.contract, *filter(None, [job.base])])):
        return job
    return replace(job, evaluations=tuple(map(_streamed, job.evaluations)))


def require_streams(trials: Iterable[Trial], client: ModelClient) -> None:
    """Refuse trials whose first token the client cannot time, before any call. Raises
    UsageError."""
    if not isinstance(client, StreamingClient):
        return
    for trial in trials:
        if trial.request.streamed and not client.can_stream(trial.request):
            raise UsageError(
                f"{trial.contract}: the time to first token of {trial.request.model} cannot be "
                "measured. Gatekeeper calls this model through litellm, at least with these "
                "parameters, and cannot stream answers through litellm. Remove the objectives "
                "`ttft_…` and the checks `ttft`, or use a model that gatekeeper calls without "
                "litellm; docs/models.md lists these models"
            )


def _times_first_token(contract: Contract) -> bool:
    return any(objective.measure.first_token for objective in contract.slo) or any(
        spec.type == "ttft" for spec in contract.every_check()
    )


def _streamed(evaluation: Evaluation) -> Evaluation:
    trials = tuple(
        replace(trial, request=replace(trial.request, streamed=True)) for trial in evaluation.trials
    )
    return replace(evaluation, trials=trials)
