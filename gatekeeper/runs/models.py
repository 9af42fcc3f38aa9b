"""The models of a run: their client, what is wrong with their names, what they may cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from gatekeeper.contract.models.faults import NamedModel, find_faults, with_recordings
from gatekeeper.contract.reading.read import UnreadableError, refuse_lfs_pointer
from gatekeeper.contract.values.change import FileTooLargeError, Revision
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import ContractError, Problem, UsageError
from gatekeeper.gate.forecast.spending_limits import require_within_limits
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.plan.questions import judge_models
from gatekeeper.gate.work import Work
from gatekeeper.providers import ModelRouter
from gatekeeper.providers.models.cost_estimate import worst_cost
from gatekeeper.providers.models.model_faults import find_model_fault
from gatekeeper.providers.models.price_list import release_price_list
from gatekeeper.sampling.client import ModelClient
from gatekeeper.sampling.limits import Price


def open_models(
    revisions: tuple[Revision, ...],
    through_litellm: Collection[str],
    replay: Path | None = None,
    source: ModelClient | None = None,
) -> ModelRouter:
    """Return the client of all models.

    Args:
        revisions: Where `recorded/` models are read from, base first.
        through_litellm: The providers that the policy has litellm call.
        replay: A samples.jsonl that answers every model.
        source: The client for models without a recording, instead of this process.
    """
    return ModelRouter(
        _reader(revisions), replay=replay, through_litellm=through_litellm, elsewhere=source
    )


def require_sound_models(work: Work, revisions: tuple[Revision, ...]) -> tuple[str, ...]:
    """Refuse models that cannot or may not be called, before any call. Returns a notice for each
    that is likely misspelt. Raises ContractError."""
    return require_known_models(work.models, revisions, work.model_problems)


def require_known_models(
    named: Iterable[NamedModel], revisions: Sequence[Revision], others: Sequence[Problem] = ()
) -> tuple[str, ...]:
    """Refuse models that cannot be called, before any call.

    Args:
        named: The models, each with the place that names it.
        revisions: Where the recordings of `recorded/` models have to be.
        others: What else is wrong with the models.

    Returns a notice for each model that is likely misspelt. Raises ContractError.
    """
    faults = find_faults(named, with_recordings(find_model_fault, revisions))
    refused = faults.with_refused(others)
    if refused:
        raise ContractError(refused)
    return faults.notices


def prices_within_limits(
    work: Work, trusted: bool, worst: Price | None = None
) -> tuple[Price, tuple[str, ...]]:
    """Return the highest possible cost of each request, and notices about models without a price.

    `worst` is the price to use; None for that of a single call.
    Raises UsageError and MeasurementError if the limits cannot hold.
    """
    worst = _kept(work, worst or worst_cost)
    notices = require_within_limits(work, worst, trusted=trusted)
    release_price_list()  # the answers need the memory
    return worst, notices


def _kept(work: Work, worst: Price) -> Price:
    """Return the price with that of each planned request kept: the limits, the calls and the report
    ask for it again. Requests that are made during the run are not kept."""
    planned = {id(trial.request): trial.request for trial in work.trials}
    known: dict[int, float | None] = {}

    def price(request: Request) -> float | None:
        key = id(request)
        if key not in planned:
            return worst(request)
        if key not in known:
            known[key] = worst(request)
        return known[key]

    return price


def require_single_calls(job: Job, option: str) -> None:
    """Refuse a contract whose later calls depend on the answers to earlier ones, which come only
    with the whole batch or shard: judges, steps and conversations; in a batch also tools. Raises
    UsageError."""
    name = job.contract.name
    why = None
    fixtures = (fixture for e in job.evaluations for fixture in e.contract.fixtures)
    if judges := judge_models(job):
        why = (
            f"a check of {name} uses the judge {judges[0][1]}, but a run with {option} cannot ask "
            "judges"
        )
    elif any(arm.steps for e in job.evaluations for arm in (e.base, e.head) if arm):
        why = f"{name} has steps, and each step needs the output of the previous step"
    elif found := next((f for f in fixtures if f.turns or f.user), None):
        what = "a simulated user, and each message of this user"
        if found.turns:
            what = "turns, and each turn"
        why = (
            f"the fixture {found.id} of {name} has {what} needs the answer to the previous message"
        )
    elif option == "--batch" and any(e.contract.tools for e in job.evaluations):
        why = f"{name} has tools, and each call needs what the tools answered before it"
    elif any(e.contract.tools and e.contract.tools.simulator for e in job.evaluations):
        why = f"a model plays tools of {name}, and needs the calls of the agent"
    if why:
        raise UsageError(
            f"{option}: {why}; run this contract without {option}, and the other contracts with "
            f"{option} and --contract"
        )


def free_price(_: Request) -> float:
    """Return a price of zero, because answers of a recording cost nothing."""
    return 0.0


def _reader(revisions: tuple[Revision, ...]) -> Callable[[str], bytes]:
    def read(path: str) -> bytes:
        try:
            recordings = [r.read(path) for r in revisions if path in r.entries]
        except FileTooLargeError as error:
            what = f"the recording has {error.size // 1_000_000:,} MB, more than gatekeeper reads"
            raise ContractError([Problem(path, what, "record fewer samples")]) from None
        if not recordings:
            raise FileNotFoundError(path)
        try:
            for recording in recordings:
                refuse_lfs_pointer(recording, path)
        except UnreadableError as error:
            raise ContractError([Problem(path, error.what, error.fix)]) from None
        return b"\n".join(recordings)

    return read
