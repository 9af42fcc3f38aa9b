"""`gatekeeper init`: a first contract with its prompt and fixtures, a policy and a workflow."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from gatekeeper.errors import WriteError

# Where each packaged file goes in the user's repository.
PLACES = {
    "contract.yaml": "contracts/review-sentiment.yaml",
    "fixtures.csv": "contracts/review-sentiment.fixtures.csv",
    "prompt.prompty": "prompts/review-sentiment.prompty",
    "policy.yml": ".github/gatekeeper.yml",
    "workflow.yml": ".github/workflows/gatekeeper.yml",
}


def write_starter(root: Path) -> Iterator[str]:
    """Write the files that are not there yet, and say of each what became of it."""
    for name, place in PLACES.items():
        target = root / place
        text = files(__package__).joinpath(name).read_text("utf-8")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            _create(target, text)
        except FileExistsError:
            yield f"kept     {place} (it was there already)"
        else:
            yield f"written  {place}"
    yield "Next: set OPENAI_API_KEY, commit, edit the prompt, run `gatekeeper check --worktree`."
    yield "Before you push: name the release in .github/workflows for OWNER/gatekeeper@COMMIT."


def _create(target: Path, text: str) -> None:
    """Make the file, or leave none: half of one would be kept as the user's own later."""
    with target.open("x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
        except OSError as error:
            target.unlink(missing_ok=True)
            raise WriteError(target, error) from error
