"""Runs a generation in this process and writes its files: all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gatekeeper.author.generation.ask import Asker
from gatekeeper.author.generation.files import differing, require_unchanged, require_visible
from gatekeeper.author.generation.model_run import (
    AnswerFile,
    AskedModels,
    run_asker,
)
from gatekeeper.author.generation.replace_files import replace_files
from gatekeeper.author.generation.run import (
    Generated,
    GeneratedItems,
    GenerateOptions,
    GenerationPlan,
    UpdatePlan,
    generate,
    generated_files,
    items_as_they_are,
    keep_models,
    plan_update,
    update,
    without_model,
)
from gatekeeper.numbers import count, dollars
from gatekeeper.reports.write import write_files
from gatekeeper.runs.models import require_recording

if TYPE_CHECKING:
    from gatekeeper.author.quality.run import QualitySteps

T = TypeVar("T")
ANSWERS = "generate.answers.jsonl"


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
    if step and not step.needs_model:
        present = without_model(plan, step)

    async def ask(asker: Asker) -> GeneratedItems:
        items = present or await _ask_stages(plan, step, asker, options)
        return await then(plan, asker, items) if then else items

    said: tuple[str, ...] = ()
    if present and not then:
        items, calls = present, "0 calls"
    else:
        more = then.models if then else ()
        items, calls, said = ask_models(ask, plan, options, answers, more)
    stays = options.update or options.as_is
    made = generated_files(plan, items, keep_models(plan, options) if stays else options)
    changed = dict(differing(made.texts, plan.present))
    require_unchanged(plan.present, root)
    reports = then.reports() if then else {}
    if reports:
        write_files(reports, answers.path.parent)
    replace_files(changed, root)
    made = replace(made, notices=(*made.notices, *said))
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
    spent = "" if asker.cost_usd is None else f", {dollars(asker.cost_usd)}"
    return made, f"{count(asker.sent, 'call')}{spent}", said
