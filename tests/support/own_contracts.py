"""The contracts of this project's own prompts, and their recordings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.broken_answers import REFUSAL, Broken

from gatekeeper.checks.evaluate import Evaluator, prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.trial import Completion, Sample, Trial
from gatekeeper.sampling.trials import plan_trials
from scripts.rekey_recordings import files_of

ROOT = Path(__file__).parents[2]
POLICY = ".github/gatekeeper.yml"


def own_files() -> Mapping[str, bytes]:
    """The contracts, all that they depend on, and the policy."""
    revision = files_of(ROOT)
    contents = {path: revision.read(path) for path in revision.entries}
    return {**contents, POLICY: (ROOT / POLICY).read_bytes()}


def recorded(contract: str) -> dict[str, dict[str, Any]]:
    """The recorded answers of a contract, by fixture."""
    path = ROOT / "contracts" / f"{contract}.samples.jsonl"
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {row["fixture"]: row for row in rows}


def trials_of(name: str, files: Mapping[str, bytes]) -> dict[str, Trial]:
    """The trials of a contract, by fixture."""
    contract = load_contract(MemoryRevision(files), f"contracts/{name}.yaml", SHAPES)
    planned = plan_trials(contract, contract.target, None, {}).trials
    return {trial.fixture: trial for trial in planned}


def failed(evaluator: Evaluator, trial: Trial, output: str) -> set[str]:
    """The names of the checks that an output does not pass."""
    results = evaluator.evaluate(Sample(trial, Completion(output), output=output))
    return {result.check for result in results if result.passed is not True}


def assert_can_pass_and_fail(
    name: str,
    prompts: Sequence[str],
    broken: Sequence[Broken],
    files: Mapping[str, bytes],
    reads: str,
) -> None:
    """Assert that a contract tests the prompts, that its recording answers its requests and passes,
    and that its checks, such as `reads`, find every broken answer."""
    contract = load_contract(MemoryRevision(files), f"contracts/{name}.yaml", SHAPES)
    assert set(prompts) <= set(contract.dependencies)

    trials, answers = trials_of(name, files), recorded(name)
    requests = {one.fixture: request_digest(one.request) for one in trials.values()}
    assert requests == {fixture: row["request"] for fixture, row in answers.items()}
    assert len(set(requests.values())) == len(contract.fixtures) >= 20

    used = {one.fixture for one in broken}
    fixtures = tuple(fixture for fixture in contract.fixtures if fixture.id in used)
    evaluator = prepare(replace(contract, fixtures=fixtures))
    for fixture in used:
        assert not failed(evaluator, trials[fixture], answers[fixture]["output_raw"]), fixture
    refused = failed(evaluator, trials[fixtures[0].id], REFUSAL)
    assert reads in refused
    for one in broken:
        answer = one.change(json.loads(answers[one.fixture]["output_raw"]))
        wrong = failed(evaluator, trials[one.fixture], json.dumps(answer))
        assert one.check in wrong, (one.fixture, answer)
        refused |= wrong
    assert refused == {check.name for check in contract.checks}
