"""The note on a merge request: found by its author and marker, created once, never a command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.gitlab_server import BOT, PERSON, TOKEN, FakeGitlab

from gatekeeper.cli.gitlab import MergeRequestApi, post_comment, without_quick_actions
from gatekeeper.errors import PublishError, UsageError
from gatekeeper.reports.markers import comment_marker, head_marker

SHA = "a" * 40
MARKER = comment_marker()


@pytest.fixture
def gitlab(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitlab]:
    monkeypatch.setattr("gatekeeper.cli.gitlab.BACKOFF_S", (0.0, 0.0))
    with FakeGitlab(SHA) as fake:
        yield fake


def variables(gitlab: FakeGitlab, **more: str) -> dict[str, str]:
    return {
        "CI_SERVER_URL": gitlab.url,
        "CI_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_COMMIT_SHA": SHA,
        "GATEKEEPER_GITLAB_TOKEN": TOKEN,
        **more,
    }


def post(gitlab: FakeGitlab, out: Path, text: str | None = "fine", **more: str) -> str:
    if text is not None:
        (out / "comment.md").write_text(f"{MARKER}\n{text}\n", "utf-8")
    return post_comment(out, "gatekeeper", variables(gitlab, **more))


def test_a_note_is_created_and_then_updated(gitlab, tmp_path):
    first = post(gitlab, tmp_path)
    paths = [path for _, path in gitlab.calls]
    again = post(gitlab, tmp_path)
    changed = post(gitlab, tmp_path, "worse")

    assert [first, again, changed] == ["comment posted", "comment is up to date", "comment updated"]
    [note] = gitlab.notes
    assert note["body"] == f"{MARKER}\n{head_marker(SHA)}\nworse\n"
    assert paths.count("/api/v4/user") == 1  # the notes are searched once before the first attempt


def test_only_a_note_of_its_own_account_is_replaced(gitlab, tmp_path):
    gitlab.add(f"{MARKER}\nforged", PERSON)
    gitlab.add(f"> {MARKER}\nquoted", BOT)

    assert post(gitlab, tmp_path) == "comment posted"
    assert len(gitlab.notes) == 3


def test_its_note_is_found_behind_hundreds_of_others(gitlab, tmp_path):
    for number in range(230):
        gitlab.add(f"note {number}", PERSON)
    gitlab.add(f"{MARKER}\nold")

    assert post(gitlab, tmp_path) == "comment updated"
    assert len(gitlab.notes) == 231


def test_a_lost_answer_does_not_make_a_second_note(gitlab, tmp_path):
    gitlab.lose_answers = 1

    assert post(gitlab, tmp_path) == "comment posted"
    assert len(gitlab.notes) == 1


@pytest.mark.parametrize("faults", [[500], [429, 503]])
def test_a_fault_that_may_pass_is_tried_again(gitlab, tmp_path, faults):
    gitlab.faults = faults

    assert post(gitlab, tmp_path) == "comment posted"


@pytest.mark.parametrize("faults", [[401], [403], [404], [418], [500] * 3])
def test_a_refusal_is_an_error_without_the_token(gitlab, tmp_path, faults):
    gitlab.faults = faults

    with pytest.raises(PublishError) as raised:
        post(gitlab, tmp_path)

    assert TOKEN not in str(raised.value)
    assert gitlab.notes == []


def test_the_token_goes_to_no_other_host(gitlab, tmp_path):
    with FakeGitlab() as other:
        gitlab.redirect = f"{other.url}/api/v4/user"
        with pytest.raises(PublishError):
            post(gitlab, tmp_path)

        assert other.calls == []


@pytest.mark.parametrize("server", ["file:///etc/passwd", "gitlab", "", "https://a:b@host"])
def test_the_server_is_an_address_of_http(server):
    with pytest.raises(PublishError):
        MergeRequestApi(server, "5", "7", TOKEN)


def test_what_is_not_gitlab_is_an_error(gitlab, tmp_path, monkeypatch):
    monkeypatch.setattr(gitlab, "carry_out", lambda _: (200, ["what"], {}))

    with pytest.raises(PublishError):
        post(gitlab, tmp_path)


def test_a_late_pipeline_leaves_the_note_of_a_newer_push(gitlab, tmp_path):
    gitlab.sha = "b" * 40
    gitlab.add(f"{MARKER}\n{head_marker(gitlab.sha)}\nnewer")

    post(gitlab, tmp_path)

    assert gitlab.notes[0]["body"].endswith("newer")


def test_in_a_pipeline_of_the_merged_result_the_commit_is_that_of_the_branch(gitlab, tmp_path):
    post(gitlab, tmp_path, CI_COMMIT_SHA="c" * 40, CI_MERGE_REQUEST_SOURCE_BRANCH_SHA=SHA)

    assert head_marker(SHA) in gitlab.notes[0]["body"]


def test_without_a_comment_the_note_says_so(gitlab, tmp_path):
    post(gitlab, tmp_path, None, CI_JOB_URL="https://gitlab.example/job/1")

    assert "https://gitlab.example/job/1" in gitlab.notes[0]["body"]


@pytest.mark.parametrize(
    ("result", "notes"),
    [
        ({"verdict": "pass", "contracts": [], "uncovered": [], "notices": []}, 0),
        ({"verdict": "pass", "contracts": [], "uncovered": [], "notices": ["one"]}, 1),
        ({"verdict": "pass", "contracts": [{}], "uncovered": [], "notices": []}, 1),
        ({"verdict": "inconclusive", "contracts": [], "uncovered": [], "notices": []}, 1),
        ({"verdict": "pass"}, 1),
    ],
)
def test_a_change_without_prompts_gets_no_note(gitlab, tmp_path, result, notes):
    (tmp_path / "result.json").write_text(json.dumps(result), "utf-8")

    post(gitlab, tmp_path)

    assert len(gitlab.notes) == notes
    gitlab.add(f"{MARKER}\nof an earlier push")
    post(gitlab, tmp_path)
    assert gitlab.notes[0]["body"].endswith("fine\n")


@pytest.mark.parametrize(
    ("line", "harmless"),
    [("/merge", False), ("  /close", False), ("> /approve", False), ("a/b", True), ("//", True)],
)
def test_no_line_is_a_quick_action(line, harmless):
    text = f"before\n{line}\nafter\n"

    assert (without_quick_actions(text) == text) is harmless
    assert without_quick_actions(text).replace("\u2060", "") == text


def test_outside_of_a_merge_request_nothing_is_called(gitlab, tmp_path):
    with pytest.raises(UsageError):
        post(gitlab, tmp_path, CI_MERGE_REQUEST_IID="")
    with pytest.raises(PublishError):
        post(gitlab, tmp_path, GATEKEEPER_GITLAB_TOKEN="")

    assert gitlab.calls == []
