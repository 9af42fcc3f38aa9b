"""Gives hand-written answers the requests that they answer now.

A recording finds an answer by its request, so a change of a prompt or a fixture makes it unknown.
What a person wrote as a good answer to a fixture may still be one: look at it, and run this. What a
model answered is never touched, because it answered the old request; record it again.

Usage: python -m scripts.rekey_recordings [NAME …], names of contracts; without any, all whose
recording was written by hand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.providers.recorded import PREFIX
from gatekeeper.sampling.trials import plan_trials

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "contracts",
    "gatekeeper/author/generation/prompts",
    "gatekeeper/checks/judges/prompts",
    "gatekeeper/contract/simulated_user",
)
"""What the contracts of this project depend on."""
BY_HAND = "by-hand"
"""What stands for the model in the recording of an answer that a person wrote."""


def rekeyed(contract: Contract, recording: str) -> str:
    """Return the recording with the request of each answer as the contract sends it. Raises
    ValueError if a model gave one of the answers."""
    trials = plan_trials(contract, contract.target, None, {}).trials
    requests = {
        (trial.fixture, trial.repetition): request_digest(trial.request) for trial in trials
    }
    rows: list[dict[str, Any]] = [json.loads(line) for line in recording.splitlines()]
    for row in rows:
        if row["model"] != BY_HAND:
            raise ValueError(f"{contract.name}: {row['model']} answered {row['fixture']}")
        row["request"] = requests[row["fixture"], row["repetition"]]
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def by_hand(path: Path) -> bool:
    """Return whether a person wrote every answer of a recording."""
    lines = path.read_text("utf-8").splitlines()
    return all(json.loads(line)["model"] == BY_HAND for line in lines)


def files_of(root: Path) -> MemoryRevision:
    """Return the contracts and what they depend on, as the files stand."""
    paths = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file()]
    return MemoryRevision({path.relative_to(root).as_posix(): path.read_bytes() for path in paths})


def rewrite(names: Sequence[str], root: Path = ROOT) -> list[str]:
    """Rewrite the recordings of the contracts, and return the names of these contracts."""
    revision = files_of(root)
    paths = [root / "contracts" / f"{name}.yaml" for name in names]
    done = []
    for path in paths or sorted((root / "contracts").glob("*.yaml")):
        contract = load_contract(revision, path.relative_to(root).as_posix(), SHAPES)
        recording = root / contract.target.model.removeprefix(PREFIX)
        if contract.target.model.startswith(PREFIX) and (names or by_hand(recording)):
            recording.write_text(rekeyed(contract, recording.read_text("utf-8")), "utf-8")
            done.append(contract.name)
    return done


if __name__ == "__main__":
    print("\n".join(rewrite(sys.argv[1:])))
