"""What reaches the pull request, the runner's files and the log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.github_server import BOT, FakeGithub

from gatekeeper.action.github.client import PullRequestApi
from gatekeeper.action.github.comments import (
    COMMENT_LIMIT,
    CheckedCommit,
    comment_body,
    publish_comment,
)
from gatekeeper.action.github.workflow_step import (
    SUMMARY_LIMIT,
    Annotation,
    annotation_commands,
    warning_command,
    write_outputs,
    write_summary,
)
from gatekeeper.action.publish import publish_status, status_description

OLD, NEW = "a" * 40, "b" * 40
MARK = "<!-- gatekeeper:x -->"


@pytest.fixture
def github() -> Iterator[FakeGithub]:
    with FakeGithub() as fake:
        fake.pull_request(7, OLD)
        yield fake


@pytest.fixture
def api(github: FakeGithub) -> PullRequestApi:
    return PullRequestApi(
        "ghs_0123456789", "octo/prompts", github.url, sleep=lambda _: None, seconds_between_writes=0
    )


def evaluated(verdict: str = "fail", sha: str = OLD, newsworthy: bool = True) -> CheckedCommit:
    return CheckedCommit(7, sha, verdict, newsworthy)


def test_one_comment_is_posted_and_then_updated(github: FakeGithub, api: PullRequestApi) -> None:
    _, said = publish_comment(api, evaluated(), "one", mode="always", marker=MARK)
    assert said == "comment posted"
    _, said = publish_comment(api, evaluated(), "two", mode="always", marker=MARK)
    assert said == "comment updated"
    (comment,) = github.comments[7]
    assert comment.edits == 1
    assert comment.body == f"{MARK}\n<!-- gatekeeper-head:{OLD} -->\ntwo"


def test_the_same_text_is_not_sent_again(github: FakeGithub, api: PullRequestApi) -> None:
    for _ in range(2):
        _, said = publish_comment(api, evaluated(), "text", mode="always", marker=MARK)
    assert said == "comment is up to date"
    assert github.comments[7][0].edits == 0


def test_jobs_with_other_ids_keep_apart(github: FakeGithub, api: PullRequestApi) -> None:
    publish_comment(api, evaluated(), "one", mode="always", marker=MARK)
    publish_comment(api, evaluated(), "two", mode="always", marker="<!-- gatekeeper:y -->")
    assert len(github.comments[7]) == 2


@pytest.mark.parametrize(
    ("mode", "verdict", "newsworthy", "posted"),
    [
        ("always", "pass", False, True),
        ("changes", "pass", False, False),
        ("changes", "pass", True, True),
        ("changes", "fail", True, True),
        ("failures", "pass", True, False),
        ("failures", "inconclusive", True, False),
        ("failures", "fail", True, True),
        ("failures", "error", True, True),
        ("off", "fail", True, False),
    ],
)
def test_when_a_first_comment_is_wanted(
    github: FakeGithub, api: PullRequestApi, mode: str, verdict: str, newsworthy: bool, posted: bool
) -> None:
    given_mode: object = mode
    publish_comment(
        api,
        evaluated(verdict, newsworthy=newsworthy),
        "text",
        mode=given_mode,  # type: ignore[arg-type]
        marker=MARK,
    )
    assert len(github.comments[7]) == int(posted)


@pytest.mark.parametrize("mode", ["changes", "failures"])
def test_an_old_failure_does_not_stay_after_the_fix(
    github: FakeGithub, api: PullRequestApi, mode: str
) -> None:
    github.comment(7, f"{MARK}\nit fails", BOT)
    publish_comment(
        api,
        evaluated("pass", newsworthy=False),
        "it passes",
        mode=mode,  # type: ignore[arg-type]
        marker=MARK,
    )
    assert "it passes" in github.comments[7][0].body


def test_a_stale_run_says_so(github: FakeGithub, api: PullRequestApi) -> None:
    github.pull_request(7, NEW)
    publish_comment(api, evaluated(), "text", mode="always", marker=MARK)
    body = github.comments[7][0].body
    warning = body.split("> [!WARNING]\n", 1)[1].split("\n\n")[0]
    assert OLD[:12] in warning
    assert NEW[:12] in warning
    assert body.endswith("\n\ntext")


def test_a_stale_run_does_not_overwrite_a_newer_answer(
    github: FakeGithub, api: PullRequestApi
) -> None:
    github.pull_request(7, NEW)
    publish_comment(api, evaluated(sha=NEW), "newer", mode="always", marker=MARK)
    _, said = publish_comment(api, evaluated(sha=OLD), "older", mode="always", marker=MARK)
    assert "newer push" in said
    assert github.comments[7][0].body.endswith("newer")


def test_a_comment_is_never_longer_than_github_takes(
    github: FakeGithub, api: PullRequestApi
) -> None:
    text = "x" * (2 * COMMENT_LIMIT)
    publish_comment(api, evaluated(sha=NEW), text, mode="always", marker=MARK)
    body = github.comments[7][0].body
    assert len(body) == COMMENT_LIMIT
    assert "This text was cut." in body


def test_a_comment_at_the_limit_is_whole() -> None:
    head = comment_body("", OLD, OLD, MARK)
    text = "x" * (COMMENT_LIMIT - len(head))
    assert comment_body(text, OLD, OLD, MARK) == head + text


@pytest.mark.parametrize(
    ("exit_code", "state"), [(0, "success"), (1, "failure"), (2, "error"), (3, "error")]
)
def test_the_status_says_what_the_job_says(
    github: FakeGithub, api: PullRequestApi, exit_code: int, state: str
) -> None:
    publish_status(api, OLD, exit_code, "May merge 🎉", context="gate", target_url=None)
    (status,) = github.statuses
    assert (status.sha, status.state, status.description) == (OLD, state, "May merge ?")


@given(st.text(max_size=300))
def test_a_status_is_what_github_takes(text: str) -> None:
    found = status_description(text)
    assert len(found) <= 140
    assert "\n" not in found
    assert all(ord(c) <= 0xFFFF for c in found)


def outputs_of(text: str) -> dict[str, str]:
    """As the runner reads GITHUB_OUTPUT."""
    found = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        name, delimiter = line.split("<<", 1)
        value = []
        for inner in lines:
            if inner == delimiter:
                break
            value.append(inner)
        found[name] = "\n".join(value)
    return found


def test_outputs_arrive_whatever_is_in_them(tmp_path: Path) -> None:
    path = tmp_path / "output"
    values = {"a": "1", "b": "x\nEOF\nverdict=pass\nverdict<<EOF", "c": ""}
    write_outputs(path, values)
    write_outputs(path, {"d": "later"})
    assert outputs_of(path.read_text()) == values | {"d": "later"}


def test_without_files_of_the_runner_nothing_is_written(tmp_path: Path) -> None:
    write_outputs(None, {"a": "1"})
    write_summary(None, "text")
    assert list(tmp_path.iterdir()) == []


def test_a_summary_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    write_summary(path, "one\n")
    write_summary(path, "two\n")
    assert path.read_text() == "one\ntwo\n"


@pytest.mark.parametrize("before", [0, 1000])
def test_a_summary_stays_below_what_the_runner_drops(tmp_path: Path, before: int) -> None:
    path = tmp_path / "summary"
    path.write_text("b" * before)
    write_summary(path, "ä" * SUMMARY_LIMIT)
    assert SUMMARY_LIMIT - 4 < path.stat().st_size < SUMMARY_LIMIT
    assert path.read_text().rstrip().endswith("artifact.")


def test_a_full_summary_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_text("b" * SUMMARY_LIMIT)
    write_summary(path, "more")
    assert path.stat().st_size == SUMMARY_LIMIT


def test_annotations_are_ranked_and_limited() -> None:
    found = [
        Annotation(level, f"{level} {n}", "m")
        for n in range(12)
        for level in ("notice", "error", "warning")
    ]
    lines = annotation_commands(found)  # type: ignore[arg-type]
    assert len(lines) == 30
    assert lines[0] == "::error title=error 0::m"
    assert lines[10] == "::warning title=warning 0::m"
    assert lines[29] == "::notice title=notice 9::m"


def test_an_annotation_names_its_place() -> None:
    (line,) = annotation_commands([Annotation("error", "t", "m", "prompts/a, b:c.md", 3)])
    assert line == "::error file=prompts/a%2C b%3Ac.md,title=t,line=3::m"


@given(st.text(max_size=200), st.text(max_size=50))
def test_an_annotation_is_one_line_whatever_is_in_it(message: str, title: str) -> None:
    (line,) = annotation_commands([Annotation("error", title, message)])
    assert "\n" not in line
    assert "\r" not in line
    found = re.fullmatch(r"::error title=([^:,]*)::(.*)", line, re.DOTALL)
    assert found


def test_a_long_message_is_cut() -> None:
    assert len(warning_command("x" * 10_000)) < 4_200
