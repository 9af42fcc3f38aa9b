"""Runs work that asks models in this process, keeps every answer in a file, and writes what a
generation made: all its files or none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gatekeeper.author.generation.ask import Asker, within_limits
from gatekeeper.author.generation.files import differing, require_unchanged, require_visible
from gatekeeper.author.generation.recording import Recalling, Recording
from gatekeeper.author.generation.replace_files import replace_files
from gatekeeper.author.generation.run import (
    Generated,
    GenerateOptions,
    GenerationPlan,
    generate,
    generated_files,
    items_as_they_are,
    keep_models,
    plan_update,
)
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Position
from gatekeeper.errors import MeasurementError
from gatekeeper.providers.models.cost_estimate import worst_cost
from gatekeeper.reports.terminal.progress import StageProgress, TerminalProgress
from gatekeeper.reports.write import require_writable, write_files
from gatekeeper.runs.answers.cache import CachedClient
from gatekeeper.runs.execute import require_recording
from gatekeeper.runs.models import free_price, open_models, require_known_models
from gatekeeper.runs.signals import with_signals

if TYPE_CHECKING:
    from gatekeeper.author.quality.run import QualitySteps

T = TypeVar("T")
ANSWERS = "generate.answers.jsonl"
_NOBODY = cast("Asker", None)
"""Who is asked if nothing has to be."""


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """Where the answers of a run are. `path` is written. With `replay`, all answers come from that
    file and nothing is written. With `resume`, answers that `path` holds are not asked for.
    Neither are those of the sample cache `cache`, to which a run adds its answers if it ends
    well."""

    path: Path
    replay: Path | None = None
    resume: bool = False
    cache: Path | None = None


@dataclass(frozen=True, slots=True)
class AskedModels:
    """The models that are `called`, that of the questions first, each with the flag that names it,
    and who asks them: the limits are those of the policy. `instructions` and `lines` are those of
    an Asker. The `others` are not called, and still have to exist."""

    called: Sequence[tuple[str, str]]
    revision: Revision
    policy: Policy
    instructions: Mapping[str, str] | None = None
    lines: Sequence[int] = ()
    others: Sequence[tuple[str, str]] = ()


def run_asker(
    work: Callable[[Asker], Coroutine[Any, Any, T]], models: AskedModels, answers: AnswerFile
) -> tuple[T, Asker, tuple[str, ...]]:
    """Return the result of work that asks models, the asker with its calls, and notices about the
    cache. SIGINT and SIGTERM end it.

    Raises UsageError, MeasurementError and WriteError.
    """

    require_recording(answers.replay)
    called = list(dict.fromkeys(model for _, model in models.called))
    if answers.replay is None:
        named = ((Position(flag), model) for flag, model in (*models.called, *models.others))
        require_known_models(list(named), [models.revision])
        require_writable(answers.path.parent)
    recording = Recording(None if answers.replay else answers.path, resume=answers.resume)
    through_litellm = models.policy.through_litellm
    client = open_models((models.revision,), through_litellm, answers.replay)
    if answers.resume:
        source = Recalling(recording, client)
        client = open_models((models.revision,), through_litellm, source=source)
    cached = CachedClient(answers.cache, client) if answers.cache and not answers.replay else None
    if cached:
        client = open_models((models.revision,), through_litellm, source=cached)
    shown = None if answers.replay else StageProgress()

    async def within(_: TerminalProgress, stop: asyncio.Event) -> tuple[T, Asker]:
        await client.require_keys(called)
        asker = Asker(
            called[0],
            client,
            models.policy.limits,
            price=free_price if answers.replay else worst_cost,
            progress=shown,
            recording=recording,
            instructions=models.instructions,
            lines=models.lines,
        )
        failed = True
        try:
            made = await within_limits(work(asker), asker, stop)
            failed = False
        except MeasurementError as error:
            if answers.replay is None and recording.text:
                kept = f"{error}. gatekeeper kept the answers so far; add --resume to use them"
                raise MeasurementError(kept) from error
            raise
        finally:
            recording.finish(failed=failed)
        return made, asker

    made, asker = asyncio.run(with_signals(client, within, shown))
    return made, asker, cached.keep() if cached else ()


@dataclass(frozen=True, slots=True)
class Session:
    """What a run did: the paths that changed, and its calls in words."""

    generated: Generated
    written: tuple[str, ...]
    calls: str


def generate_files(
    plan: GenerationPlan,
    options: GenerateOptions,
    root: Path,
    answers: AnswerFile,
    then: QualitySteps | None = None,
) -> Session:
    """Ask the model and write the files below `root`.

    The answers are kept, also if the run fails: they were paid for. Reports go to their folder.
    Raises UsageError, ContractError, MeasurementError and WriteError; then no other file is
    changed.
    """
    require_recording(answers.replay)
    require_visible(plan.present, root)
    step = plan_update(plan) if options.update else None
    present = items_as_they_are(plan) if options.as_is else None

    async def ask(asker: Asker) -> Generated:
        items = present or await generate(plan, asker, options, step)
        return await then(plan, asker, items) if then else items

    said: tuple[str, ...] = ()
    if not then and (present or (step and not step.needs_model)):
        items, calls = asyncio.run(ask(_NOBODY)), "0 calls"
    else:
        more = then.models if then else ()
        items, calls, said = ask_models(ask, plan, options, answers, more)
    stays = options.update or options.as_is
    made = generated_files(plan, items, keep_models(plan, options) if stays else options)
    changed = dict(differing(made.texts, plan.present))
    require_unchanged(plan.present.contents, root)
    reports = then.reports() if then else {}
    if reports:
        write_files(reports, answers.path.parent)
    replace_files(changed, root)
    made = replace(made, notices=(*made.notices, *said))
    return Session(made, tuple(changed), calls)


def ask_models(
    work: Callable[[Asker], Coroutine[Any, Any, T]],
    plan: GenerationPlan,
    options: GenerateOptions,
    answers: AnswerFile,
    more: Sequence[tuple[str, str]] = (),
) -> tuple[T, str, tuple[str, ...]]:
    """Return the result of work that asks models, its calls in words, and notices. SIGINT and
    SIGTERM end it. `more` are models besides those of the options, each with its flag. Raises as
    `generate_files` does."""
    models = AskedModels(
        [*options.named_models, *more],
        plan.revision,
        plan.policy,
        plan.present.specification.wishes.instructions,
        plan.prompt.lines_with_text,
        [("--judge", options.judge)] if options.judge else (),
    )
    made, asker, said = run_asker(work, models, answers)
    return made, asker.bill, said
