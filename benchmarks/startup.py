"""How long a pull request that touches no prompt waits for its answer.

    python benchmarks/startup.py [--files 2000] [--repeat 7] [--limit 0.3]

Builds a repository with one contract and many other files, changes one of the others on a
branch, and runs `gatekeeper check` on it: the median wall and processor time, beside those of
Python doing nothing, and which imports took longest. Ends with 1 above the limit (on wall time),
when the gate does not pass, or when a module meant for sampling was loaded.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.git_repository import GitRepository, isolated_environment  # noqa: E402

HEAVY = ("litellm", "openai", "scipy", "numpy", "github", "xllamacpp")
CONTRACT = """\
contract: 1
name: greeting
prompt: ../prompts/greeting.md
model: recorded/samples.jsonl
fixtures:
  - {id: one, vars: {name: Ada}, expected: Ada}
checks:
  - {type: contains, value: "{{ expected }}"}
"""


def build(folder: Path, files: int) -> GitRepository:
    """A repository with a contract, and a branch `pr` that changes something else."""
    repository = GitRepository.create(folder)
    repository.write("contracts/greeting.yaml", CONTRACT)
    repository.write("prompts/greeting.md", "Say hello to {{ name }}.\n")
    for number in range(files):
        repository.write(f"source/{number % 50}/{number}.txt", f"file {number}\n")
    repository.commit("start")
    repository.branch("pr")
    repository.commit("change", {"source/0/0.txt": "changed\n"})
    return repository


def environment(folder: Path) -> dict[str, str]:
    """A user's shell: byte code is kept (beside `folder`), as an installed program has it."""
    kept = {
        name: value
        for name, value in isolated_environment().items()
        if not name.startswith(("PYTHON", "GITHUB_", "INPUT_"))
    }
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(folder.parent / "byte code")}


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """One process of this Python, in `folder`."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )


def measure(arguments: list[str], folder: Path, repeat: int) -> tuple[float, float]:
    """Median wall and processor seconds, the first and cold run left out."""
    run(arguments, folder)
    walls, processors = [], []
    for _ in range(repeat):
        before, started = os.times(), time.perf_counter()
        run(arguments, folder)
        walls.append(time.perf_counter() - started)
        after = os.times()
        processors.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
    return statistics.median(walls), statistics.median(processors)


def imports(report: str) -> list[tuple[float, str]]:
    """The lines of -X importtime as (cumulative milliseconds, module), longest first."""
    lines = [line.split("|") for line in report.splitlines() if line.startswith("import time:")]
    timed = [
        (int(total) / 1000, name.strip()) for _, total, name in lines if total.strip().isdigit()
    ]
    return sorted(timed, reverse=True)


def main() -> int:
    """Prints the numbers; 1 where they break the promise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--limit", type=float, default=0.3, help="seconds of wall time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = build(Path(temporary) / "repository", options.files).path
        check = ["-m", "gatekeeper", "check", "--base", "main", "--head", "pr"]
        check += ["--out", str(Path(temporary) / "out")]
        done = run(check, folder)
        print(done.stdout + done.stderr)
        programs = {
            "python -c pass": ["-c", "pass"],
            "gatekeeper --version": ["-m", "gatekeeper", "--version"],
            f"gatekeeper check ({options.files} files)": check,
        }
        print(f"{'median of ' + str(options.repeat):36}{'wall s':>8}{'cpu s':>8}")
        for name, arguments in programs.items():
            wall, processor = measure(arguments, folder, options.repeat)
            print(f"{name:36}{wall:8.3f}{processor:8.3f}")
        timed = imports(run(["-X", "importtime", *check], folder).stderr)
    print("\nlongest imports, ms with what they import")
    for milliseconds, module in timed[:20]:
        print(f"{milliseconds:8.1f}  {module}")
    loaded = sorted({module.split(".")[0] for _, module in timed} & set(HEAVY))
    if loaded:
        print(f"loaded although no prompt changed: {', '.join(loaded)}")
    return int(done.returncode != 0 or bool(loaded) or wall > options.limit)


if __name__ == "__main__":
    sys.exit(main())
