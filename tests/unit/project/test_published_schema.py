"""The schema for editors in docs/ is that of this code, and takes the example contracts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from jsonschema.validators import validator_for

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.meaning.schemas import published_schema

ROOT = Path(__file__).parents[3]
PUBLISHED = json.loads((ROOT / "docs" / "contract.v1.json").read_text("utf-8"))


VALIDATOR = validator_for(PUBLISHED)(PUBLISHED)


def test_the_published_schema_is_up_to_date():
    assert published_schema(SHAPES) == PUBLISHED, "run `make schema`"
    VALIDATOR.check_schema(PUBLISHED)


@pytest.mark.parametrize(
    "path",
    [*sorted((ROOT / "contracts").glob("*.yaml")), ROOT / "gatekeeper/cli/starter/contract.yaml"],
    ids=lambda path: path.name,
)
def test_every_contract_here_satisfies_it(path):
    VALIDATOR.validate(yaml.safe_load(path.read_text("utf-8")))
