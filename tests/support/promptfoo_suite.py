"""A small suite of promptfoo, and what is read in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.foreign_files import loaded

from gatekeeper.contract.values.definition import CheckSpec, Contract
from gatekeeper.errors import ContractError, Problem

PATH = "evals/promptfooconfig.json"
YES: dict[str, Any] = {"vars": {"q": "a"}, "assert": [{"type": "equals", "value": "yes"}]}


def suite(*tests: Any, **more: Any) -> dict[str, Any]:
    """A suite of one prompt and one provider, unless `more` says otherwise."""
    plain = {"prompts": ["Say {{q}}"], "providers": ["openai:gpt-4o-mini"]}
    return plain | {"tests": list(tests) or [YES]} | more


def read(data: dict[str, Any], **files: str) -> Contract:
    """The only contract of a suite. In the names of other files, `__` stands for a dot."""
    others = {f"evals/{name.replace('__', '.')}": text for name, text in files.items()}
    return loaded({PATH: json.dumps(data), **others}, PATH)


def refused(data: dict[str, Any], **files: str) -> list[Problem]:
    """The problems of a suite that is refused."""
    with pytest.raises(ContractError) as found:
        read(data, **files)
    return list(found.value.problems)


def kinds(contract: Contract) -> list[str]:
    """What is not run."""
    return [note.kind for note in contract.not_run]


def checks_of_first(contract: Contract) -> list[CheckSpec]:
    """The checks that the first fixture has."""
    return [*contract.checks, *contract.fixtures[0].checks]
