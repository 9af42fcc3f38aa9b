"""Writes the schemas that others read: those of contracts and records for editors and programs, and
those of the answers to this project's own prompts, which the contracts of these prompts check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gatekeeper.author.generation import (
    collection,
    input_specification,
    model_mutations,
    open_questions,
    rule_checks,
    rules,
    survivors,
    tests,
    update_items,
)
from gatekeeper.author.quality import agreement, baseline, ground_truth, groundedness, validity
from gatekeeper.author.quality.judges import VERDICT, VERDICTS
from gatekeeper.checks.judges.prefer import FORM
from gatekeeper.checks.judges.presets import PRESETS, answer_form
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.meaning.schemas import published_schema
from gatekeeper.contract.simulated_user import messages
from gatekeeper.history.lines import record_schema

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ANSWERS = ROOT / "contracts" / "schemas"
_VALUES = {"type": "object", "minProperties": 1}
"""The variables of any prompt. A question names those of its own prompt."""
STAGE_SCHEMAS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        input_specification.STAGE: input_specification.SCHEMA,
        rules.STAGE: rules.SCHEMA,
        rules.INVERSE_STAGE: rules.INVERSE_SCHEMA,
        open_questions.STAGE: open_questions.SCHEMA,
        rule_checks.STAGE: rule_checks.SCHEMA,
        tests.STAGE: tests.schema_with(_VALUES),
        collection.RATING: collection.RATING_SCHEMA,
        collection.EXPANSION: collection.expansion_schema(_VALUES),
        survivors.STAGE: survivors.schema_with(_VALUES),
        model_mutations.STAGE: model_mutations.SCHEMA,
        update_items.RULES.stage: update_items.RULES.schema,
        update_items.CONSTRAINTS.stage: update_items.CONSTRAINTS.schema,
        update_items.QUESTIONS.stage: update_items.QUESTIONS.schema,
        baseline.STAGE: baseline.schema_with(_VALUES),
        validity.STAGE: VERDICT,
        groundedness.STAGE: VERDICT,
        ground_truth.STAGE: VERDICT,
        agreement.STAGE: VERDICTS,
    }
)
"""The schema of the answer to the prompt of each stage of `gatekeeper generate` and `mutate`."""
JUDGE_SCHEMAS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        **{
            f"judge-{n.replace('_', '-')}": answer_form(p, {})[0].schema for n, p in PRESETS.items()
        },
        "judge-prefer": FORM.schema,
        "simulated-user": messages.SCHEMA,
    }
)
"""The schemas of the answers of judges and simulated users, by the contract of their prompt."""


def contract_name(stage: str) -> str:
    """Return the name of the contract of a stage's prompt."""
    return f"generate-{stage.replace('_', '-')}"


def schema_text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def published() -> dict[Path, str]:
    """Return the text of every published schema by its path."""
    stages = {contract_name(stage): schema for stage, schema in STAGE_SCHEMAS.items()}
    answers = {
        ANSWERS / f"{name}.json": schema for name, schema in {**stages, **JUDGE_SCHEMAS}.items()
    }
    found: dict[Path, Mapping[str, Any]] = {
        DOCS / "contract.v1.json": published_schema(SHAPES),
        DOCS / "record.v1.json": record_schema(),
        **answers,
    }
    return {path: schema_text(schema) for path, schema in found.items()}


if __name__ == "__main__":
    for path, text in published().items():
        path.write_text(text, "utf-8")
