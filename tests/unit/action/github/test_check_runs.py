"""The check run: every annotation once, whatever GitHub does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.github_server import FakeGithub, Fault

from gatekeeper.action.github.check_runs import CheckRun, CheckRunApi
from gatekeeper.action.github.workflow_step import Annotation
from gatekeeper.errors import PublishError

RUN = CheckRun(
    name="gatekeeper/details",
    sha="a" * 40,
    passed=False,
    title="Do not merge",
    text="## Do not merge",
    details_url="https://ci.invalid/1",
    annotations=(),
)


@pytest.fixture
def api(github: FakeGithub) -> CheckRunApi:
    return CheckRunApi(
        "ghs_0123456789", "octo/prompts", github.url, sleep=lambda _: None, seconds_between_writes=0
    )


def findings(count: int) -> tuple[Annotation, ...]:
    return tuple(
        Annotation("error", f"contract-{number}: fail", "it got worse", "prompts/a.md", number)
        for number in range(1, count + 1)
    )


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 100, 137])
def test_every_annotation_is_there_once_and_in_order(
    github: FakeGithub, api: CheckRunApi, count: int
) -> None:
    api.publish_check_run(replace(RUN, annotations=findings(count)))
    (run,) = github.check_runs
    assert [found["start_line"] for found in run.annotations] == list(range(1, count + 1))
    assert len(github.requests) == max(1, -(-count // 50))
    assert (run.name, run.head_sha, run.conclusion) == (RUN.name, RUN.sha, "failure")
    assert run.output == {"title": RUN.title, "summary": RUN.text}
    assert run.details_url == RUN.details_url


@pytest.mark.parametrize("kind", ["lost", "close"])
@pytest.mark.parametrize(("method", "path"), [("POST", "check-runs$"), ("PATCH", r"check-runs/1")])
def test_a_lost_answer_repeats_nothing(
    github: FakeGithub, api: CheckRunApi, method: str, path: str, kind: Any
) -> None:
    github.faults.append(Fault(method, path, kind=kind))
    api.publish_check_run(replace(RUN, annotations=findings(120)))
    (run,) = github.check_runs
    assert [found["start_line"] for found in run.annotations] == list(range(1, 121))


def test_a_run_that_is_repeated_gets_a_page_of_its_own(
    github: FakeGithub, api: CheckRunApi
) -> None:
    """GitHub appends annotations, so an update would show those of both runs."""
    for passed in (False, True):
        api.publish_check_run(replace(RUN, passed=passed, annotations=findings(2)))
    assert [run.conclusion for run in github.check_runs] == ["failure", "success"]
    assert [len(run.annotations) for run in github.check_runs] == [2, 2]


def test_what_has_no_line_and_what_is_too_long(github: FakeGithub, api: CheckRunApi) -> None:
    known = (
        Annotation("error", "t" * 300, "é" * 70_000, "prompts/a.md"),
        Annotation("warning", "on the run", "no file"),
        Annotation("notice", "several lines", "m", "prompts/b.md", 3, 5),
    )
    long = replace(RUN, title="x" * 400, text="é" * 70_000, annotations=known)
    api.publish_check_run(long)
    (run,) = github.check_runs
    first, second = run.annotations
    assert (first["start_line"], first["end_line"], len(first["title"])) == (1, 1, 255)
    assert (second["start_line"], second["end_line"]) == (3, 5)
    assert second["annotation_level"] == "notice"
    assert "This text was cut" in run.output["summary"]


def test_a_refusal_names_the_permission(github: FakeGithub, api: CheckRunApi) -> None:
    github.read_only = True
    with pytest.raises(PublishError, match=r"could not create the check run.*`checks: write`"):
        api.publish_check_run(RUN)
