"""A pull request on a small repository, checked out as actions/checkout does it.

    change = PullRequest.make(tmp_path, {"prompts/sentiment.md": BROKEN})
    event = change.event()          # the payload of pull_request
    change.workspace                # depth 1, HEAD detached at the merge commit

The model to go with it is `answer`, for an OpenAIServer: it follows the instruction that the
prompt at base gives and talks at random without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.edited_text import edited
from support.job_workspace import check_out
from support.proposed_change import propose

PROMPT = "prompts/sentiment.md"
GOOD = "Is the review positive or negative? Answer with that one word.\n\nReview: {{ review }}\n"
HARMLESS = edited(GOOD, "Is the review", "Is this review")
BROKEN = "What do you make of this?\n\nReview: {{ review }}\n"
FIXTURES = 24
FEW = 8
"""A run on so few fixtures takes a third of the time, and still sees a prompt that breaks all."""

CONTRACT = """\
contract: 1
name: sentiment
prompt: ../prompts/sentiment.md
template: jinja
model: openai/gpt-4o-mini
params: {temperature: 0}
fixtures:
  - file: sentiment.fixtures.jsonl
checks:
  - {type: equals, value: "{{ expected }}"}
sampling: {samples: 1, mode: fixed}
"""


def _fixture(number: int) -> str:
    word, expected = ("love", "positive") if number % 2 else ("hate", "negative")
    row = {
        "id": f"review-{number:02}",
        "vars": {"review": f"I {word} item {number}."},
        "expected": expected,
    }
    return json.dumps(row)


def files(fixtures: int = FIXTURES) -> dict[str, str]:
    """The repository at base."""
    return {
        "README.md": "A product.\n",
        PROMPT: GOOD,
        "contracts/sentiment.yaml": CONTRACT,
        "contracts/sentiment.fixtures.jsonl": "".join(f"{_fixture(n)}\n" for n in range(fixtures)),
    }


FILES: Mapping[str, str] = files()


def answer(body: Mapping[str, Any]) -> str:
    """What the model says to a request."""
    text = body["messages"][-1]["content"]
    if "one word" not in text:
        return "I could not say."
    return "positive" if "love" in text else "negative"


@dataclass(frozen=True)
class PullRequest:
    """Its commits, and the checked-out merge of the two."""

    workspace: Path
    base: str
    head: str
    merge: str

    @classmethod
    def make(
        cls,
        folder: Path,
        change: Mapping[str, str],
        *,
        depth: int | None = 1,
        more: Mapping[str, str | bytes] | None = None,
        fixtures: int = FIXTURES,
    ) -> PullRequest:
        """`more` are files beside the usual ones, at base already."""
        made = propose(
            folder / "origin",
            {**files(fixtures), **(more or {})},
            change,
            since={"CHANGES.md": "One thing.\n"},
            check_out="main",
        )
        workspace = check_out(made.origin, made.merge, folder / "workspace", depth=depth)
        return cls(workspace.path, made.base, made.head, made.merge)

    def event(self, *, fork: bool = False) -> dict[str, Any]:
        """The fields of GitHub's payload that matter, and some that must not."""
        repository = {"full_name": "octo/prompts"}
        return {
            "action": "synchronize",
            "number": 7,
            "repository": repository,
            "pull_request": {
                "number": 7,
                "title": "`$(id)` ::set-output name=verdict::pass",
                "merge_commit_sha": self.merge,
                "base": {"ref": "main", "sha": self.base, "repo": repository},
                "head": {
                    "ref": "change",
                    "sha": self.head,
                    "repo": {"full_name": "fork/prompts"} if fork else repository,
                },
            },
        }

    def environment(self, event: Path, api_url: str, **inputs: str) -> dict[str, str]:
        """What the runner sets for a step of `pull_request`; inputs with their dashes."""
        event.write_text(json.dumps(self.event()), encoding="utf-8")
        given = {f"INPUT_{name.upper().replace('_', '-')}": value for name, value in inputs.items()}
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": api_url,
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_JOB": "gate",
            "GITHUB_OUTPUT": str(event.parent / "output"),
            "GITHUB_REPOSITORY": "octo/prompts",
            "GITHUB_RUN_ID": "42",
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_SHA": self.merge,
            "GITHUB_STEP_SUMMARY": str(event.parent / "summary"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "INPUT_TOKEN": "ghs_0123456789",
            "OPENAI_API_KEY": "sk-0123456789abcdef",
        } | given
