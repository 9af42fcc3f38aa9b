"""The options of `gatekeeper generate` for the steps after the generation."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gatekeeper.author.generation.effort import MOST_BASELINE_TESTS
from gatekeeper.errors import UsageError

if TYPE_CHECKING:
    from gatekeeper.author.generation.run import GenerationPlan
    from gatekeeper.author.quality.run import QualityOptions

_DEFAULT_BASELINE = 20


def add_quality(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("quality")
    group.add_argument(
        "--as-is",
        action="store_true",
        help="generate nothing; use the rules and tests in the files",
    )
    group.add_argument(
        "--check-quality",
        action="store_true",
        help="let judges decide which tests are valid and which rules follow from the prompt",
    )
    group.add_argument(
        "--leave-out-rejected",
        action="store_true",
        help="leave out the tests and rules that the judges of --check-quality reject",
    )
    group.add_argument(
        "--baseline",
        nargs="?",
        type=int,
        const=_DEFAULT_BASELINE,
        metavar="N",
        help=(
            "also write N tests directly from the prompt, for comparison (default: "
            f"{_DEFAULT_BASELINE})"
        ),
    )
    group.add_argument(
        "--ground-truth",
        metavar="MODEL",
        help="propose answers of this model as expected outputs if the judges accept them",
    )
    group.add_argument(
        "--accept-ground-truth",
        nargs="+",
        metavar="ID",
        help="accept the proposed answers of these tests, or of `all`, as expected outputs",
    )
    group.add_argument(
        "--judges",
        metavar="MODEL,…",
        help="the judges that grade the quality and the proposed answers; the majority decides "
        "(default: the contract's judge)",
    )
    group.add_argument(
        "--embeddings",
        metavar="MODEL",
        help="compare outputs by the embeddings of this model (default: by their words)",
    )


def read_quality(arguments: argparse.Namespace, plan: GenerationPlan) -> QualityOptions | None:
    """Return the steps to take; None if there are none. Raises UsageError."""
    from gatekeeper.author.generation.files import contract_models
    from gatekeeper.author.quality.ground_truth import require_other_families
    from gatekeeper.author.quality.run import QualityOptions

    count = arguments.baseline
    if count is not None and not 1 <= count <= MOST_BASELINE_TESTS:
        raise UsageError(f"--baseline {count}: give a number from 1 to {MOST_BASELINE_TESTS}")
    names = [name.strip() for name in (arguments.judges or "").split(",") if name.strip()]
    if arguments.embeddings:
        _require_embeddings(arguments.embeddings)
    # A contract that is there knows which model runs the prompt, and who grades it.
    model, judge = contract_models(plan.present.contract)
    has_baseline = any(row.is_baseline for row in plan.present.fixtures)
    options = QualityOptions(
        judges=tuple(dict.fromkeys(names)) or (arguments.judge or judge or arguments.model,),
        model=arguments.prove_with or plan.prompt.prompt.model or model or arguments.model,
        compares=has_baseline or bool(count),
        check=arguments.check_quality or arguments.leave_out_rejected,
        leave_out=arguments.leave_out_rejected,
        baseline=count or 0,
        ground_truth=arguments.ground_truth,
        embeddings=arguments.embeddings,
    )
    if options.is_empty:
        if arguments.as_is:
            raise UsageError(
                "--as-is alone does nothing; add --check-quality, --baseline or --ground-truth"
            )
        return None
    if options.ground_truth:
        require_other_families(options.ground_truth, options.judges)
    return options


def _require_embeddings(model: str) -> None:
    """Refuse a model of which no embeddings can be had, before any call. Raises UsageError."""
    from gatekeeper.contract.models.names import is_hosted, read_model_name
    from gatekeeper.providers.native.dialects import DIALECTS

    try:
        known = not model.startswith("local/") and (
            not is_hosted(model) or read_model_name(model).provider in DIALECTS
        )
    except ValueError as error:
        raise UsageError(f"--embeddings {model}: {error}") from None
    if not known:
        raise UsageError(
            f"--embeddings {model}: gatekeeper cannot get embeddings from this provider; use a "
            "model such as openai/text-embedding-3-small, or leave out --embeddings"
        )
