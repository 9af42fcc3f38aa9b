"""The check run through the action: it ends as the job does, whatever its name is."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from support.action_job import Job
from support.github_server import FakeGithub, Fault
from support.pull_request import BROKEN, FEW, HARMLESS, PROMPT, PullRequest

propose = partial(PullRequest.make, fixtures=FEW)


@pytest.mark.parametrize(
    ("change", "code", "conclusion"),
    [
        ({PROMPT: BROKEN}, 1, "failure"),
        ({PROMPT: HARMLESS}, 0, "success"),
        ({"contracts/sentiment.yaml": "contract: 1\nnmae: x\n"}, 2, "failure"),
        ({"README.md": "Another product.\n"}, 0, "success"),
    ],
    ids=["worse", "harmless", "mistake", "no prompt"],
)
def test_it_ends_as_the_job_does(
    job: Job,
    github: FakeGithub,
    tmp_path: Path,
    change: dict[str, str],
    code: int,
    conclusion: str,
) -> None:
    made = propose(tmp_path, change)
    github.pull_request(7, made.head)
    assert job.run(made, check_run="true") == code
    (run,) = github.check_runs
    assert (run.name, run.head_sha, run.conclusion) == ("gatekeeper/details", made.head, conclusion)
    assert run.details_url == "https://github.com/octo/prompts/actions/runs/42"
    assert run.output["title"].startswith((github.statuses[-1].description or "").rstrip("…"))
    for comment in github.comments[7]:
        assert comment.body.partition("\n##")[2] in run.output["summary"]
    assert "**Re-run jobs**" in run.output["summary"]
    assert {found["path"] for found in run.annotations} == (set(change) if code else set())


def test_what_could_not_be_measured_is_never_neutral(
    job: Job, github: FakeGithub, tmp_path: Path
) -> None:
    made = propose(tmp_path, {PROMPT: HARMLESS})
    github.pull_request(7, made.head)
    job.variables["OPENAI_API_KEY"] = ""
    assert job.run(made, check_run="true") != 0
    assert [run.conclusion for run in github.check_runs] == ["failure"]


def test_nothing_is_created_for_what_is_not_tested_or_not_asked_for(
    job: Job, github: FakeGithub, tmp_path: Path
) -> None:
    made = propose(tmp_path, {PROMPT: BROKEN})
    github.pull_request(7, made.head, draft=True)
    assert job.run(made, {"draft": True}, check_run="true") == 3
    github.pull_request(7, made.head)
    assert job.run(made) == 1
    assert github.check_runs == []


def test_a_refusal_changes_no_verdict(
    job: Job, github: FakeGithub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = propose(tmp_path, {PROMPT: HARMLESS})
    github.pull_request(7, made.head)
    github.faults.append(Fault("POST", "check-runs$", status=403))
    assert job.run(made, check_run="true") == 0
    assert "`checks: write`" in capsys.readouterr().out
    assert github.verdicts[-1].state == "success"


@pytest.mark.parametrize(
    "taken",
    [{"status_context": "gatekeeper/details"}, {"id": "api", "status_context": "api/details"}],
)
def test_its_name_is_that_of_nothing_else(
    job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str], taken: dict[str, str]
) -> None:
    assert job.run(propose(tmp_path, {PROMPT: HARMLESS}), check_run="true", **taken) == 2
    assert "is already the name of the job or of the commit status" in capsys.readouterr().out
