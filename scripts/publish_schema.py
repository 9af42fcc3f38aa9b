"""Writes the schemas that others read: those of contracts and records for editors and programs, and
those of the answers to this project's own prompts, which the contracts of these prompts check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gatekeeper.author.generation.questions import QUESTIONS
from gatekeeper.checks.judges.prefer import FORM
from gatekeeper.checks.judges.presets import PRESETS, answer_form
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.meaning.schemas import published_schema
from gatekeeper.contract.simulated_user import messages
from gatekeeper.history.stores.lines import record_schema

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ANSWERS = ROOT / "contracts" / "schemas"
STAGE_SCHEMAS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {name: question.schema for name, question in QUESTIONS.items()}
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
