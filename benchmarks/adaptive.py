"""Does adaptive sampling decide as fixed sampling does on a real model, and for how many calls?

    python benchmarks/adaptive.py [--samples 1]

Runs both pull requests of the demo on the embedded model in both modes, and ends with 1 where a
verdict differs. Repetitions of its answers at temperature 0 are copies, so that adaptive
sampling has more to save the more `--samples` a contract asks for.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import demo  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1)
    samples = parser.parse_args().samples
    agreed = True
    for pull_request in demo.PULL_REQUESTS:
        verdicts = []
        for mode in ("fixed", "adaptive"):
            result = check(pull_request.branch, mode, samples)
            calls = result["calls"]
            print(
                f"{pull_request.branch:9} {mode:9} {result['verdict']:13} "
                f"{calls['made']:4} calls, {calls['saved']:4} saved, {result['seconds']:5.1f} s  "
                + ", ".join(f"{c['name']}: {c['verdict']}" for c in result["contracts"])
            )
            verdicts.append([(c["name"], c["verdict"]) for c in result["contracts"]])
        agreed = agreed and verdicts[0] == verdicts[1]
    return 0 if agreed else 1


def check(branch: str, mode: str, samples: int) -> dict[str, Any]:
    """The result of the gate on a branch of the demo whose contracts all sample in this way."""
    with tempfile.TemporaryDirectory() as folder:
        demo.DEMO = Path(folder) / "demo"
        demo.REPOSITORY = demo.DEMO / "repository"
        demo.CONTRACTS = Path(folder) / "contracts"
        shutil.copytree(ROOT / "contracts", demo.CONTRACTS)
        for contract in demo.CONTRACTS.glob("*.yaml"):
            text = contract.read_text(encoding="utf-8")
            sampling = f"sampling: {{mode: {mode}, samples: {samples},"
            contract.write_text(text.replace("sampling: {samples: 1,", sampling), encoding="utf-8")
        demo.make_repository()
        out = demo.DEMO / "out"
        command = [sys.executable, "-m", "gatekeeper", "check", "--base", "main", "--head", branch]
        subprocess.run(
            [*command, "--out", str(out)], cwd=demo.REPOSITORY, capture_output=True, check=False
        )
        result: dict[str, Any] = json.loads((out / "result.json").read_text(encoding="utf-8"))
    return result


if __name__ == "__main__":
    sys.exit(main())
