"""Forecasts the calls of a mutation test and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gatekeeper.author.cost_words import cost_lines
from gatekeeper.gate.forecast.expected_calls import estimate_calls
from gatekeeper.gate.plan.families import levels
from gatekeeper.gate.plan.judge_calls import forecast_judges_together
from gatekeeper.gate.plan.user_calls import forecast_users_together
from gatekeeper.numbers import count
from gatekeeper.sampling.calls import distinct_requests

if TYPE_CHECKING:
    from gatekeeper.author.mutation.measure import MutationPlan


def mutation_estimate_lines(plan: MutationPlan) -> Iterator[str]:
    """Yield how many mutants and calls there are, and what the calls cost: about, if the contract
    notices no mutant, and at most."""
    work = plan.work
    requests = distinct_requests(work.trials)
    judged, played = forecast_judges_together(work.jobs), forecast_users_together(work.jobs)
    named = ((len(judged.most), "judges"), (len(played.most), "simulated users"))
    more = "".join(f", and {number:,} to {who}" for number, who in named if number)
    calls = f"at most {count(len(requests), 'call')}"
    yield f"{count(len(plan.mutants), 'mutant')}, {calls}{more}"
    shared = levels(work.jobs)
    each = [
        estimate_calls(
            job, shared, len(distinct_requests(job.trials)), work.policy.limits.concurrency
        )
        for job in work.jobs
    ]
    made = sum(one.expected for one in each) / max(1, sum(one.most for one in each))
    about = [*requests, *(request for one in (judged, played) for request in one.about)]
    most = [*requests, *(request for one in (judged, played) for request in one.most)]
    yield from cost_lines([(request, made) for request in about], most)
