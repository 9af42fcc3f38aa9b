"""The check run through the action: it ends as the job does, whatever its name is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.bot_comments import CheckedPull
from support.github_server import FakeGithub, Fault
from support.pull_request import BROKEN, HARMLESS, PROMPT

Open = Callable[..., CheckedPull]


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
    open_pull: Open, github: FakeGithub, change: dict[str, str], code: int, conclusion: str
) -> None:
    pull = open_pull(change)
    assert pull.run_check(check_run="true") == code
    (run,) = github.check_runs
    assert (run.name, run.head_sha, run.conclusion) == (
        "gatekeeper/details",
        pull.change.head,
        conclusion,
    )
    assert run.details_url == "https://github.com/octo/prompts/actions/runs/42"
    assert run.output["title"].startswith((github.statuses[-1].description or "").rstrip("…"))
    for comment in github.comments[7]:
        assert comment.body.partition("\n##")[2] in run.output["summary"]
    assert "**Re-run jobs**" in run.output["summary"]
    assert {found["path"] for found in run.annotations} == (set(change) if code else set())


def test_what_could_not_be_measured_is_never_neutral(open_pull: Open, github: FakeGithub) -> None:
    pull = open_pull({PROMPT: HARMLESS})
    pull.job.variables["OPENAI_API_KEY"] = ""
    assert pull.run_check(check_run="true") != 0
    assert [run.conclusion for run in github.check_runs] == ["failure"]


def test_nothing_is_created_for_what_is_not_tested_or_not_asked_for(
    open_pull: Open, github: FakeGithub
) -> None:
    pull = open_pull({PROMPT: BROKEN}, draft=True)
    assert pull.run_check({"draft": True}, check_run="true") == 3
    github.pull_request(7, pull.change.head)
    assert pull.run_check() == 1
    assert github.check_runs == []


def test_a_refusal_changes_no_verdict(
    open_pull: Open, github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    pull = open_pull({PROMPT: HARMLESS})
    github.faults.append(Fault("POST", "check-runs$", status=403))
    assert pull.run_check(check_run="true") == 0
    assert "`checks: write`" in capsys.readouterr().out
    assert github.verdicts[-1].state == "success"


@pytest.mark.parametrize(
    "taken",
    [{"status_context": "gatekeeper/details"}, {"id": "api", "status_context": "api/details"}],
)
def test_its_name_is_that_of_nothing_else(
    open_pull: Open, capsys: pytest.CaptureFixture[str], taken: dict[str, str]
) -> None:
    assert open_pull({PROMPT: HARMLESS}).run_check(check_run="true", **taken) == 2
    assert "is already the name of the job or of the commit status" in capsys.readouterr().out
