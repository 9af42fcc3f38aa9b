"""Runs a generation in this process and writes its files: all of them or none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gatekeeper.author.generation.ask import Asker
from gatekeeper.author.generation.files import differing, require_unchanged, require_visible
from gatekeeper.author.generation.replace_files import replace_files
from gatekeeper.author.generation.resume import ResumedClient
from gatekeeper.author.generation.run import (
    Generated,
    GeneratedItems,
    GenerateOptions,
    GenerationPlan,
    generate,
    generated_files,
    items_as_they_are,
    within_limits,
)
from gatekeeper.author.generation.update import (
    UpdatePlan,
    keep_models,
    plan_update,
    update,
    without_model,
)
from gatekeeper.contract.definition import Position
from gatekeeper.errors import ContractError, MeasurementError
from gatekeeper.numbers import count, dollars
from gatekeeper.reports.terminal.stage_progress import StageProgress
from gatekeeper.reports.write import require_writable, write_files
from gatekeeper.runs.models import free_price, open_models, require_recording
from gatekeeper.runs.signals import with_signals

if TYPE_CHECKING:
    from gatekeeper.reports.terminal.progress import TerminalProgress

T = TypeVar("T")
ANSWERS = "generate.answers.jsonl"


@dataclass(frozen=True, slots=True)
class Session:
    """What a run did: the paths that changed, and its calls in words."""

    generated: Generated
    written: tuple[str, ...]
    calls: str


class LastStep(Protocol):
    """What is done with the items of a run before they are written, such as quality/run.py does.

    `models` are the models that it calls, each with the flag that names it.
    """

    @property
    def models(self) -> Sequence[tuple[str, str]]: ...

    async def __call__(
        self, plan: GenerationPlan, asker: Asker, items: GeneratedItems
    ) -> GeneratedItems: ...

    def reports(self) -> Mapping[str, Callable[[], str]]:
        """Return the reports for the folder of the answers, by their names."""
        ...


def generate_files(
    plan: GenerationPlan,
    options: GenerateOptions,
    root: Path,
    out: Path,
    replay: Path | None = None,
    then: LastStep | None = None,
    *,
    resume: bool = False,
) -> Session:
    """Ask the model and write the files below `root`.

    The answers go to `out`, also if the run fails: they were paid for. Raises UsageError,
    ContractError, MeasurementError and WriteError; then no other file is changed.
    """
    require_recording(replay)
    require_visible(plan.present, root)
    step = plan_update(plan) if options.update else None
    present = items_as_they_are(plan) if options.as_is else None
    if step and not step.needs_model:
        present = without_model(plan, step)

    async def ask(asker: Asker) -> GeneratedItems:
        items = present or await _ask_stages(plan, step, asker, options)
        return await then(plan, asker, items) if then else items

    if present and not then:
        items, calls = present, "0 calls"
    else:
        more = then.models if then else ()
        items, calls = ask_models(ask, plan, options, out, replay, more, resume=resume)
    stays = options.update or options.as_is
    made = generated_files(plan, items, keep_models(plan, options) if stays else options)
    changed = dict(differing(made.texts, plan.present))
    require_unchanged(plan.present, root)
    reports = then.reports() if then else {}
    if reports:
        write_files(reports, out)
    write_generated(changed, root)
    return Session(made, tuple(changed), calls)


async def _ask_stages(
    plan: GenerationPlan, step: UpdatePlan | None, asker: Asker, options: GenerateOptions
) -> GeneratedItems:
    if step:
        return await update(plan, step, asker, options)
    return await generate(plan, asker, options)


def ask_models(
    work: Callable[[Asker], Coroutine[Any, Any, T]],
    plan: GenerationPlan,
    options: GenerateOptions,
    out: Path,
    replay: Path | None = None,
    more: Sequence[tuple[str, str]] = (),
    *,
    resume: bool = False,
) -> tuple[T, str]:
    """Return the result of work that asks models, and its calls in words. SIGINT and SIGTERM end
    it. Writes the answers to `out`. `more` are models besides those of the options, each with its
    flag. With `resume`, answers that are in `out` already are not asked for again. Raises as
    `generate_files` does."""
    from gatekeeper.providers.cost_estimate import worst_cost

    require_recording(replay)
    if replay is None:
        _require_sound_models(plan, [*_named(options), *more])
        require_writable(out)
    client = open_models((plan.revision,), plan.policy.through_litellm, replay)
    resumed = ResumedClient(out / ANSWERS, client) if resume else None
    if resumed:
        client = open_models((plan.revision,), plan.policy.through_litellm, source=resumed)
    price = free_price if replay else worst_cost

    shown = None if replay else StageProgress()

    async def within(_: TerminalProgress, stop: asyncio.Event) -> tuple[T, Asker]:
        called = [*options.models, *(model for _, model in more)]
        await client.require_keys(tuple(dict.fromkeys(called)))
        asker = Asker(
            options.model,
            client,
            plan.policy.limits,
            price=price,
            progress=shown,
            forget=resumed.forget if resumed else None,
            instructions=plan.present.specification.wishes.instructions,
            lines=plan.prompt.lines_with_text,
        )
        failed = True
        try:
            made = await within_limits(work(asker), asker, stop)
            failed = False
        except MeasurementError as error:
            if replay is None and asker.recording:
                kept = f"{error}. The answers so far are kept; to continue from there, add --resume"
                raise MeasurementError(kept) from error
            raise
        finally:
            text = asker.recording
            if replay is None and text:
                text = resumed.joined(text) if resumed and failed else text
                write_files({ANSWERS: lambda: text}, out)
        return made, asker

    made, asker = asyncio.run(with_signals(client, within, shown))
    spent = "" if asker.cost_usd is None else f", {dollars(asker.cost_usd)}"
    return made, f"{count(asker.sent, 'call')}{spent}"


def write_generated(texts: dict[str, str], root: Path) -> None:
    """Write the files, or none. Raises WriteError."""
    replace_files(texts, root)


def _require_sound_models(plan: GenerationPlan, models: Sequence[tuple[str, str]]) -> None:
    """Refuse models that cannot be called, before any call. Raises ContractError."""
    from gatekeeper.contract.models.faults import find_faults, with_recordings
    from gatekeeper.providers.model_faults import find_model_fault

    named = [(Position(name), model) for name, model in models]
    faults = find_faults(named, with_recordings(find_model_fault, [plan.revision]))
    if faults.refused:
        raise ContractError(faults.refused)


def _named(options: GenerateOptions) -> list[tuple[str, str]]:
    named = [("--model", options.model)]
    named += [("--prove-with", options.prove_with)] if options.prove_with else []
    return [*named, *([("--judge", options.judge)] if options.judge else [])]
