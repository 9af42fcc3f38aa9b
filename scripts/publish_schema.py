"""Writes the published formats for editors and other programs: the contract's and a record's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.schemas import published_schema
from gatekeeper.history.lines import record_schema

DOCS = Path(__file__).parents[1] / "docs"


def schema_text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    (DOCS / "contract.v1.json").write_text(schema_text(published_schema(SHAPES)), "utf-8")
    (DOCS / "record.v1.json").write_text(schema_text(record_schema()), "utf-8")
