"""The action names the harmful edits of a failing pull request, if the base policy pays for it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from support.action_job import Job
from support.edited_text import edited
from support.git_repository import GitRepository
from support.github_reviews import FakeFile
from support.github_server import FakeGithub
from support.openai_server import OpenAIServer
from support.pull_request import FEW, GOOD, PROMPT, PullRequest

from gatekeeper.reports.formats.result_json import result_schema

CHANGED = (
    "What do you make of this?\nPlease think about it.\nDo not hurry.\n\nReview: {{ review }}\n"
)


def run(job: Job, change: PullRequest) -> tuple[int, dict[str, object], str]:
    github = job.github
    github.pull_request(7, change.head)
    origin = GitRepository(change.workspace.parent / "origin")
    patch_of = origin.git("diff", change.base, change.head, "--", PROMPT)
    github.files[7] = [
        FakeFile(PROMPT, origin.git("rev-parse", f"{change.head}:{PROMPT}"), patch_of)
    ]
    code = job.run(change)
    result = json.loads((change.workspace / ".gatekeeper/out/result.json").read_text())
    return code, result, github.comments[7][0].body if github.comments[7] else ""


@pytest.mark.parametrize("budget", ["0.30", "0", "0.0000001"])
def test_the_comment_names_the_harmful_edit(
    job: Job,
    model: OpenAIServer,
    tmp_path: Path,
    budget: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    policy = {".github/gatekeeper.yml": f"blame: {{cost_usd: {budget}}}\n"}
    change = PullRequest.make(tmp_path, {PROMPT: CHANGED}, fixtures=FEW, more=policy)
    code, result, comment = run(job, change)
    assert code == 1
    # Calls that were started and cancelled count too, also if the server never saw them.
    assert result["calls"]["made"] >= len(model.requests) >= 2 * FEW  # type: ignore[index]
    assert ("accounts for" in comment) == (budget == "0.30")
    assert ("ended early" in comment) == (budget == "0.0000001")
    # The deleted sentence was before line 4 of head; sections begin at line 1.
    line = 4 if budget == "0.30" else 1
    place = f"::error file={PROMPT},title=sentiment%3A fail,line={line}::"
    (annotation,) = [line for line in capsys.readouterr().out.splitlines() if place in line]
    assert ("accounts for" in annotation) == (budget == "0.30")
    lines = [e["line"] for one in result["blame"] for c in one["causes"] for e in c["edits"]]
    assert lines == [4] * (budget == "0.30")


def test_the_comment_says_what_the_prompt_promises_now(job: Job, tmp_path: Path) -> None:
    text = "version: 1\nprompt: {name}\nrules:\n- {{id: a, text: Kind words., lines: [1]}}\n"
    folder, _, name = PROMPT.rpartition("/")
    path = f"{folder}/{name.split('.')[0]}.spec.yaml"
    change = PullRequest.make(
        tmp_path, {PROMPT: CHANGED}, fixtures=FEW, more={path: text.format(name=name)}
    )
    _, result, comment = run(job, change)
    (promises,) = result["promises"]  # type: ignore[misc]
    assert (promises["prompt"], promises["state"]) == (PROMPT, "outdated")
    assert promises["unsettled"] == ["Kind words."]
    assert "- Kind words." in comment


@pytest.mark.long
def test_the_revert_is_suggested_on_the_lines_and_withdrawn_once_it_is_applied(
    job: Job, github: FakeGithub, tmp_path: Path
) -> None:
    policy = {".github/gatekeeper.yml": "blame: {cost_usd: 0.30}\n"}
    worse = edited(GOOD, " Answer with that one word.", "\nTake your time.")
    change = PullRequest.make(tmp_path, {PROMPT: worse}, fixtures=FEW, more=policy)
    code, result, comment = run(job, change)
    assert code == 1
    jsonschema.validate(result, result_schema())
    (blame,) = result["blame"]  # type: ignore[misc]
    (review,) = github.reviews[7]
    # The deleted sentence was before line 3 of head, which is blank.
    assert (review.path, review.start_line, review.line) == (PROMPT, None, 3)
    assert review.commit_id == change.head
    assert review.body.endswith("\n```suggestion\nAnswer with that one word.\n\n```")
    assert blame["revert"]["passed"] == blame["revert"]["measured"] == FEW
    assert "See the suggestion on `prompts/sentiment.md`, line 3." in comment
    assert "```diff\n--- a/" not in comment
    summary = (tmp_path / "summary").read_text()
    assert "+Answer with that one word.\n" in summary

    repaired = worse.replace("\n\n", "\nAnswer with that one word.\n\n")
    again = PullRequest.make(tmp_path / "again", {PROMPT: repaired}, fixtures=FEW, more=policy)
    code, _, comment = run(job, again)
    assert (code, github.reviews[7]) == (0, [])
    assert "gatekeeper-suggestion" not in comment
