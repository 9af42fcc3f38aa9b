"""How many files and lines one more check, policy key, foreign assertion, report field and provider
take. Each is added to a copy of the package, which then has it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.edited_text import edited

import gatekeeper

PACKAGE = Path(gatekeeper.__file__).parent
TESTS = Path(__file__).parents[2]


@dataclass(frozen=True)
class Addition:
    """What is added: lines `after` the one line of a file that begins like this, and new `files`.
    `proof` is a program that fails without it."""

    after: Mapping[str, tuple[str, str]]
    proof: str
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        texts = (*(text for _, text in self.after.values()), *self.files.values())
        return sum(len(text.splitlines()) for text in texts)


CHECK = '''\
"""The check `shouts`: the output has no small letters."""

from gatekeeper.checks.check import PASSED, Check, Example, Files, Finding, Parameters
from gatekeeper.checks.check import SampleEvaluator, failed, parameters
from gatekeeper.checks.reading.output import FIELD, as_text, on_output


def _inspect(found: object) -> Finding:
    text = as_text(found)
    return PASSED if text == text.upper() else failed(f"has small letters: {text[:60]}")


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    return on_output(params, _inspect)


CHECK = Check(
    parameters(required=(), field=FIELD),
    _prepare,
    group="text",
    examples=(Example("{type: shouts}", "NO", "no"),),
    about="The output has no small letters.",
)
'''
ADDITIONS = {
    "check": Addition(
        {"checks/registry.py": ('    "equals": ', '    "shouts": "text.shouts",\n')},
        """
from gatekeeper.contract.meaning.schemas import published_schema
from gatekeeper.checks.registry import CHECKS, SHAPES
assert '"shouts"' in str(published_schema(SHAPES)).replace("'", '"')
from support.check_examples import answered, prepared
example, check = CHECKS["shouts"].examples[0], prepared("shouts", 0)
passes, fails = (check.evaluate(answered(example, text)) for text in ("NO", "no"))
assert passes[0].passed is True and fails[0].passed is False
assert "small letters" in fails[0].message
""",
        {"checks/text/shouts.py": CHECK},
    ),
    "policy key": Addition(
        {
            "contract/meaning/policy.v1.json": (
                '    "require_contract": {',
                '    "require_owner": {"x-folder": true, "x-stricter": "true", "type": "boolean", '
                '"default": false, "description": "Whether each contract needs an owner."},\n',
            ),
            "contract/policies/policy.py": (
                "    require_contract: bool = False",
                "    require_owner: bool = False\n",
            ),
        },
        """
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.weakening.policy_weakening import policy_weakenings
from gatekeeper.contract.values.change import Change, MemoryRevision
def policy(text, sha):
    return MemoryRevision({".github/gatekeeper.yml": text}, sha * 40)
strict, loose = policy(b"require_owner: true\\n", "a"), policy(b"require_owner: false\\n", "b")
assert load_policy(strict).require_owner and not load_policy(loose).require_owner
assert policy_weakenings(Change(strict, loose)) and not policy_weakenings(Change(loose, strict))
""",
    ),
    "foreign assertion": Addition(
        {
            "contract/formats/promptfoo/assertion_types.py": (
                '    row("contains", ',
                '    row("mentions", "contains", value=_TEXT, ignore_case=True),\n',
            )
        },
        """
from gatekeeper.contract.formats.promptfoo.assertion_types import ROWS
assert ROWS["mentions"].check == "contains"
""",
    ),
    "report field": Addition(
        {
            "gate/results/result.py": (
                "    policy_weakened: tuple[Weakening, ...] = ()",
                '    region: str = "everywhere"\n',
            ),
            "reports/result.v1.json": (
                '    "order_seed": {',
                '    "region": {"type": "string"},\n',
            ),
        },
        """
from datetime import UTC, datetime
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.formats.result_json import result_document
empty = GateResult(kind="run", verdict="pass", exit_code=0, base_sha=None, head_sha="a" * 40,
                   started=datetime.now(UTC), seconds=1.0, contracts=(), region="here")
assert result_document(empty)["region"] == "here"
""",
    ),
    "provider": Addition(
        {
            "providers/models/catalogue.py": (
                '    "groq": ',
                '    "example": _compatible("EXAMPLE", "https://api.example.com/v1"),\n',
            )
        },
        """
from gatekeeper.providers.models.endpoint import endpoint_of
found = endpoint_of("example/m", {"EXAMPLE_API_KEY": "k" * 20})
assert found.api_base == "https://api.example.com/v1" and not found.missing
assert found.refusal("https://elsewhere.example.com/v1", ())
""",
    ),
}
FILES_AND_LINES = {
    "check": (2, 24),
    "policy key": (2, 2),
    "foreign assertion": (1, 1),
    "report field": (2, 2),
    "provider": (1, 1),
}


def prove(package: Path, proof: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(package.parent), str(TESTS)))}
    return subprocess.run(
        [sys.executable, "-c", proof],
        cwd=package.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
@pytest.mark.parametrize("name", ADDITIONS)
def test_one_more_takes_few_lines(name: str, tmp_path: Path) -> None:
    addition = ADDITIONS[name]
    copy = tmp_path / "gatekeeper"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("*.md", "*.svg"))
    assert prove(copy, addition.proof).returncode == 1
    for file, (before, line) in addition.after.items():
        path = copy / file
        path.write_text(edited(path.read_text("utf-8"), f"\n{before}", f"\n{line}{before}"))
    for file, text in addition.files.items():
        (copy / file).write_text(text)
    proved = prove(copy, addition.proof)
    assert proved.returncode == 0, proved.stderr
    files = len({*addition.after, *addition.files})
    assert (files, addition.lines) == FILES_AND_LINES[name]
