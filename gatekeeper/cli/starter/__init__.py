"""`gatekeeper init`: a first contract with its prompt and fixtures, a policy and the workflows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import yaml

from gatekeeper.errors import UsageError, WriteError

_WORKFLOWS = {
    "workflow.yml": ".github/workflows/gatekeeper.yml",
    "nightly.yml": ".github/workflows/gatekeeper-nightly.yml",
}
# Where each packaged file goes in the user's repository.
PLACES = {
    "contract.yaml": "contracts/review-sentiment.yaml",
    "fixtures.csv": "contracts/review-sentiment.fixtures.csv",
    "prompt.prompty": "prompts/review-sentiment.prompty",
    "policy.yml": ".github/gatekeeper.yml",
    **_WORKFLOWS,
}
_PLACEHOLDER = re.compile(r"OWNER/gatekeeper@COMMIT(?: #[^\n]*)?")
_BRANCHES = "branches: [main]"
_ACTION = re.compile(r"[A-Za-z0-9][\w-]*/[\w.-]+@(?:[0-9a-f]{40}|[0-9a-f]{64})")
_HOW_TO_NAME = "write it as OWNER/REPO@SHA, with the full commit of the release that you trust"


def require_action(name: str) -> str:
    """Return the name of an action at a commit. Raises UsageError for anything else: a tag or a
    branch can be moved to other code after the workflow was reviewed."""
    if _ACTION.fullmatch(name):
        return name
    raise UsageError(f"--action {name!r}: this is not a commit of an action; {_HOW_TO_NAME}")


def write_starter(root: Path, branch: str = "main", action: str | None = None) -> Iterator[str]:
    """Write the files that do not exist yet, and report for each whether it was written.

    Args:
        root: The top of the user's repository.
        branch: The branch whose pushes the nightly workflow measures.
        action: What the workflows run, as OWNER/REPO@SHA; None leaves a placeholder. In existing
            workflows, the placeholder is replaced.
    """
    for name, place in PLACES.items():
        text = files(__package__).joinpath(name).read_text("utf-8")
        text = text.replace(_BRANCHES, f"branches: [{_quote(branch)}]")
        yield _write(root / place, place, _fill_in(text, action), action)
    yield f"Next: commit these files to `{branch}`; its policy applies to every pull request."
    yield "Then set OPENAI_API_KEY, edit the prompt, and run `gatekeeper check --worktree`."
    yield "On GitHub: add the secret OPENAI_API_KEY, and require the check `Prompt gate`."
    yield (
        f"{_WORKFLOWS['nightly.yml']} measures `{branch}` every night and after every merge; "
        "without it, error budgets have no data."
    )
    if any(_PLACEHOLDER.search(_text(root / place)) for place in _WORKFLOWS.values()):
        yield (
            "Before you push: run `gatekeeper init --action OWNER/REPO@SHA` to write the "
            "release that you trust into both workflows."
        )


def _write(target: Path, place: str, text: str, action: str | None) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _create(target, text)
    except FileExistsError:
        if place in _WORKFLOWS.values():
            before = _text(target)
            after = _fill_in(before, action)
            if after != before:
                target.write_text(after, "utf-8", errors="surrogateescape")
                return f"updated  {place} (it exists already, and now names {action})"
        return f"kept     {place} (it exists already)"
    return f"written  {place}"


def _fill_in(text: str, action: str | None) -> str:
    return _PLACEHOLDER.sub(lambda _: action, text) if action else text


def _text(path: Path) -> str:
    return path.read_text("utf-8", errors="surrogateescape")


def _quote(branch: str) -> str:
    """Return the branch as YAML takes it in a list."""
    plain = re.fullmatch(r"[A-Za-z][\w./-]*", branch) and yaml.safe_load(branch) == branch
    return branch if plain else json.dumps(branch, ensure_ascii=False)


def _create(target: Path, text: str) -> None:
    """Create the file completely or not at all: a later run would keep an incomplete file."""
    with target.open("x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
        except OSError as error:
            target.unlink(missing_ok=True)
            raise WriteError(target, error) from error
