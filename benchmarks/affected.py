"""How long it takes to see which of many contracts a pull request affects.

    python benchmarks/affected.py [--files 20000] [--contracts 500] [--repeat 5]
                                  [--limit 1] [--limit-all 1]

Builds a repository of that many files, with a prompt and a file of twenty fixtures for each
contract, and times a process of its own, from its start to the list, on four branches: one that
changes something else, one that changes a prompt, one a template that every prompt includes, one
every contract's own file. In the last two every contract is loaded whole, at base and at head.
Ends with 1 where a median is above its limit, or the list is not what it has to be.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from support.git_repository import GitRepository  # noqa: E402

from benchmarks.startup import environment  # noqa: E402

CONTRACT = """\
contract: 1
name: task-{number}
description: What task {number} promises
prompt: ../prompts/{folder}/task-{number}.md
model: openai/gpt-4o-mini
params: {{temperature: 0, max_tokens: 100}}
fixtures:
  - file: fixtures/task-{number}.jsonl
  - {{id: inline, vars: {{name: Ada, topic: "number {number}"}}, expected: Ada}}
checks:
  - {{type: contains, value: "{{{{ expected }}}}"}}
  - {{type: not_contains, value: "As an AI"}}
  - {{type: length, max: 2000}}
sampling: {{samples: 3}}
slo:
  success_rate: 0.75
  window: 28d
"""
PROMPT = """\
{{% include "../shared/tone.md" %}}

Task {number}: write a line about {{{{ topic }}}} for {{{{ name }}}}.
"""
TONE = "Be friendly.\n"
LIST = """\
import sys
from pathlib import Path
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.policies.policy import policy_in_force
from gatekeeper.git import Repository
from gatekeeper.runs.process import end_process, postpone_garbage_collection
postpone_garbage_collection()  # as every command does
with Repository.open(Path()) as repository:
    change = repository.change("main", sys.argv[1])
    policy, _ = policy_in_force(change)
    affected = find_affected(change, policy, SHAPES)
    print(len(affected.contracts), affected.unaffected)
end_process(0)
"""


def contract(number: int) -> str:
    """The text of one contract file."""
    return CONTRACT.format(number=number, folder=number % 20)


def build(folder: Path, files: int, contracts: int) -> GitRepository:
    """A repository on the branch `main`, with the branches that `expected` names."""
    repository = GitRepository.create(folder)
    for number in range(contracts):
        rows = [
            {"id": f"row-{row}", "vars": {"name": f"N{row}", "topic": "it"}, "expected": "it"}
            for row in range(20)
        ]
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        repository.write(f"contracts/task-{number}.yaml", contract(number))
        repository.write(f"contracts/fixtures/task-{number}.jsonl", lines)
        prompt = f"prompts/{number % 20}/task-{number}.md"
        repository.write(prompt, PROMPT.format(number=number))
    repository.write("prompts/shared/tone.md", TONE)
    for number in range(files - 3 * contracts - 1):
        repository.write(f"source/{number % 200}/{number}.txt", f"file {number}\n")
    repository.commit("start")
    # As a fresh clone has it, and not a file for every object.
    repository.git("gc", "--quiet")
    changes = {
        "other": {"source/0/0.txt": "changed\n"},
        "prompt": {"prompts/0/task-0.md": PROMPT.format(number=0) + "In English.\n"},
        "template": {"prompts/shared/tone.md": "Be brief.\n"},
        "every": {
            f"contracts/task-{number}.yaml": contract(number).replace("0.75", "0.8")
            for number in range(contracts)
        },
    }
    for branch, written in changes.items():
        repository.branch(branch, "main")
        repository.commit(branch, dict(written))
    repository.switch("main")
    return repository


def seconds(folder: Path, branch: str) -> tuple[float, str]:
    """One process from its start to its end, and what it printed."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", LIST, branch],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    return time.perf_counter() - started, (done.stdout + done.stderr).strip()


def main() -> int:
    """Prints the numbers; 1 where they break the promise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--contracts", type=int, default=500)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1, help="seconds of wall time")
    parser.add_argument("--limit-all", type=float, default=1, help="where all are affected")
    options = parser.parse_args()
    expected = {"other": 0, "prompt": 1, "template": options.contracts, "every": options.contracts}
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = build(Path(temporary) / "repository", options.files, options.contracts).path
        print(f"{options.files} files, {options.contracts} contracts")
        print(f"{'changed':12}{'affected':>10}{'median s':>10}{'worst s':>10}")
        for branch, count in expected.items():
            seconds(folder, branch)
            runs = [seconds(folder, branch) for _ in range(options.repeat)]
            walls = [wall for wall, _ in runs]
            printed = {said for _, said in runs}
            right = printed == {f"{count} {options.contracts - count}"}
            limit = options.limit if count < options.contracts else options.limit_all
            failed |= not right or statistics.median(walls) > limit
            print(f"{branch:12}{count:10}{statistics.median(walls):10.2f}{max(walls):10.2f}")
            if not right:
                print(f"expected {count} affected, got: {' '.join(printed)}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
