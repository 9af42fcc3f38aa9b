"""Writes docs/contract.v1.json, the contract format with every check, for editors."""

from __future__ import annotations

import json
from pathlib import Path

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.published import published_schema

TARGET = Path(__file__).parents[1] / "docs" / "contract.v1.json"


def schema_text() -> str:
    return json.dumps(published_schema(SHAPES), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(schema_text(), "utf-8")
