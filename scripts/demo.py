"""`make demo`: the gate on two pull requests, one harmless and one that breaks its prompts.

A real git repository is made under .gatekeeper/demo from the example contracts of this project,
with a branch for each pull request. `gatekeeper check` then runs on both as a user would run it,
with the embedded local model: no key, no network. Nothing is scripted: the second pull request
fails because the model, shown no examples, really does worse. Exits 1 if either verdict is not
the one announced.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / ".gatekeeper" / "demo"
REPOSITORY = DEMO / "repository"
CONTRACTS = ROOT / "contracts"

SENTIMENT = "prompts/sentiment.txt"
ORDERS = "prompts/order-extraction.prompt.yml"

# Nobody's git configuration (signing keys, hooks, templates) has a say in the demo.
GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "Gatekeeper demo",
    "GIT_AUTHOR_EMAIL": "demo@example.invalid",
    "GIT_COMMITTER_NAME": "Gatekeeper demo",
    "GIT_COMMITTER_EMAIL": "demo@example.invalid",
}

FOLD = re.compile(r"^<details><summary>(.*?)</summary>.*?^</details>\n+", re.DOTALL | re.MULTILINE)
TAG = re.compile(r"</?(?:code|sub)>")

Edit = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A branch of the demo, what it does to which prompts, and how the gate should end."""

    branch: str
    title: str
    edits: Mapping[str, Edit]
    exit_code: int


def reworded(before: str, after: str) -> Edit:
    """Replace one phrase. A phrase that is not there is a fault of the demo, said at once."""

    def edit(text: str) -> str:
        if before not in text:
            raise SystemExit(f"demo: {before!r} is not in the prompt any more")
        return text.replace(before, after)

    return edit


def without_text_examples(text: str) -> str:
    """The instruction and the question of the text prompt, without the examples between."""
    instruction, *_, question = text.strip().split("\n\n")
    return f"{instruction}\n\n{question}\n"


def without_example_turns(text: str) -> str:
    """The first and the last message of the conversation, without the example turns between."""
    head, first, *_, last = text.split("  - role: ")
    return "  - role: ".join((head, first, last))


PULL_REQUESTS = (
    PullRequest(
        "harmless",
        "Polish the wording",
        {SENTIMENT: reworded("each review", "each product review")},
        exit_code=0,
    ),
    PullRequest(
        "broken",
        "Save tokens: drop the examples",
        {SENTIMENT: without_text_examples, ORDERS: without_example_turns},
        exit_code=1,
    ),
)


def main() -> int:
    console = Console()
    started = time.monotonic()
    make_repository()
    console.print(f"A repository with {len(PULL_REQUESTS)} pull requests: {shown(REPOSITORY)}")
    ends = [check(pull_request, console) for pull_request in PULL_REQUESTS]
    console.rule("What happened")
    for pull_request, code in zip(PULL_REQUESTS, ends, strict=True):
        console.print(conclusion(pull_request, code), soft_wrap=True)
    console.print(f"{time.monotonic() - started:.0f} s in total.")
    reports = [DEMO / pull_request.branch / "report.html" for pull_request in PULL_REQUESTS]
    for report in filter(Path.exists, reports[::-1]):
        console.print(f"Open in a browser: {shown(report)}", soft_wrap=True)
    return 0 if ends == [pull_request.exit_code for pull_request in PULL_REQUESTS] else 1


def make_repository() -> None:
    """The example contracts on `main`, and a branch with one commit for each pull request."""
    shutil.rmtree(DEMO, ignore_errors=True)
    copied = REPOSITORY / "contracts"
    shutil.copytree(CONTRACTS, copied)
    for contract in copied.glob("*.yaml"):
        # A recording has no answers for the prompts that the pull requests write.
        if "model: recorded/" in contract.read_text(encoding="utf-8"):
            contract.unlink()
    git("init", "--quiet", "--initial-branch=main")
    commit("Prompts and their contracts")
    for pull_request in PULL_REQUESTS:
        git("switch", "--quiet", "--create", pull_request.branch, "main")
        for name, edit in pull_request.edits.items():
            prompt = REPOSITORY / "contracts" / name
            prompt.write_text(edit(prompt.read_text(encoding="utf-8")), encoding="utf-8")
        commit(pull_request.title)
    git("switch", "--quiet", "main")


def commit(message: str) -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message", message)


def git(*arguments: str) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    command = ["git", *arguments]
    subprocess.run(command, cwd=REPOSITORY, env=environment | GIT_ENVIRONMENT, check=True)


def check(pull_request: PullRequest, console: Console) -> int:
    """Run the gate on the branch, show its comment, and return its exit code."""
    out = DEMO / pull_request.branch
    console.rule(f"Pull request `{pull_request.branch}`: {pull_request.title}")
    arguments = ["check", "--base", "main", "--head", pull_request.branch, "--out", str(out)]
    console.print(f"$ gatekeeper {' '.join(arguments[:-1])} {shown(out)}", soft_wrap=True)
    started = time.monotonic()
    command = [sys.executable, "-m", "gatekeeper", *arguments]
    code = subprocess.run(command, cwd=REPOSITORY, check=False).returncode
    console.print(f"Exit code {code} after {time.monotonic() - started:.0f} s.")
    show_comment(out / "comment.md", console)
    console.print(f"Files: {', '.join(sorted(f.name for f in out.glob('*')))} in {shown(out)}")
    return code


def show_comment(path: Path, console: Console) -> None:
    """The comment as GitHub shows it at first sight: every fold closed."""
    if not path.exists():
        console.print("There is no comment: the gate ended before it had a verdict.")
        return
    closed = FOLD.sub(r"▸ \1\n\n", path.read_text(encoding="utf-8"))
    console.rule("comment.md, with its details folded", style="dim")
    console.print(Markdown(TAG.sub("", closed.replace("<br>", " · "))))
    console.rule(style="dim")


def conclusion(pull_request: PullRequest, code: int) -> str:
    """One line: the verdict as the gate recorded it, and whether it is the one announced."""
    result = DEMO / pull_request.branch / "result.json"
    verdict = json.loads(result.read_text(encoding="utf-8"))["verdict"] if result.exists() else None
    ends = {"pass": "passed", "fail": "failed", "inconclusive": "passed, though inconclusive"}
    line = f"`{pull_request.branch}` {ends.get(verdict, 'could not be checked')} (exit {code})"
    if code != pull_request.exit_code:
        return f"{line}, but should have ended with exit {pull_request.exit_code}."
    return f"{line}: {pull_request.title}."


def shown(path: Path) -> Path:
    return path.relative_to(ROOT)


if __name__ == "__main__":
    raise SystemExit(main())
