"""Records an answer to every request of every contract of a repository."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.files.contract_files import contract_paths
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.values.definition import Contract, Fixture
from gatekeeper.gate.validate import prepare_contract
from gatekeeper.git import Repository

Answer = Callable[[Contract, Fixture], str]


def record_all(root: Path, file: Path, answer: Answer) -> list[str]:
    """Write the recording, for `--replay`, and return the paths of the contracts."""
    rows = []
    with Repository.open(root) as repository:
        revision = repository.worktree()
        policy = load_policy(revision)
        paths = contract_paths(revision, policy, SHAPES)
        for path in paths:
            job = prepare_contract(revision, path, policy)
            fixtures = {fixture.id: fixture for fixture in job.contract.fixtures}
            for trial in job.evaluations[0].trials:
                output = answer(job.contract, fixtures[trial.fixture])
                rows.append(
                    {
                        "contract": trial.contract,
                        "fixture": trial.fixture,
                        "arm": "head",
                        "repetition": trial.repetition,
                        "model": trial.request.model,
                        "request": request_digest(trial.request),
                        "output_raw": output,
                        "output": output,
                        "latency_ms": 5.0,
                        "error": None,
                    }
                )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return list(paths)
