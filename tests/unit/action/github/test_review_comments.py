"""Suggestions on the lines of a pull request: posted once, updated, and withdrawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.github_reviews import FakeFile
from support.github_server import BOT, FakeGithub, Fault

from gatekeeper.action.github.repository import RepositoryApi
from gatekeeper.action.github.review_comments import publish_suggestions
from gatekeeper.errors import PublishError
from gatekeeper.reports.markdown.revert import Suggestion

SHA, MARK, PATH = "a" * 40, "<!-- gatekeeper-suggestion:x -->", "prompts/a.md"
PATCH = "@@ -1,3 +1,4 @@\n a\n-b\n+c\n+d\n e\n@@ -20 +21,2 @@ section\n x\n+y"
SUGGESTION = Suggestion(PATH, 2, 3, "f" * 40, "why\n```suggestion\nb\n```")


@pytest.fixture
def github() -> Iterator[FakeGithub]:
    with FakeGithub() as fake:
        fake.pull_request(7, SHA)
        fake.files[7] = [
            FakeFile("other.md", "f" * 40, PATCH),
            FakeFile(PATH, "f" * 40, PATCH),
            FakeFile("gone.md", "f" * 40, PATCH, "removed"),
            FakeFile("large.md", "f" * 40, None),
        ]
        yield fake


@pytest.fixture
def api(github: FakeGithub) -> RepositoryApi:
    return RepositoryApi(
        "ghs_0123456789", "octo/prompts", github.url, sleep=lambda _: None, seconds_between_writes=0
    )


def publish(api: RepositoryApi, *wanted: Suggestion) -> bool:
    return publish_suggestions(api, 7, SHA, MARK, wanted)


def places(github: FakeGithub) -> list[tuple[int | None, int | None, str]]:
    return [(c.start_line, c.line, c.body) for c in github.reviews.get(7, [])]


def test_a_suggestion_is_posted_once_and_updated_in_place(
    github: FakeGithub, api: RepositoryApi
) -> None:
    body = f"{MARK}\n{SUGGESTION.text}"
    assert publish(api, SUGGESTION)
    assert publish(api, SUGGESTION)
    assert places(github) == [(2, 3, body)]
    assert github.reviews[7][0].commit_id == SHA
    assert publish(api, replace(SUGGESTION, text="new"))
    assert [(c.edits, c.body) for c in github.reviews[7]] == [(1, f"{MARK}\nnew")]


def test_a_suggestion_on_other_lines_replaces_the_outdated_one(
    github: FakeGithub, api: RepositoryApi
) -> None:
    publish(api, SUGGESTION)
    github.reviews[7][0].line = github.reviews[7][0].start_line = None
    assert publish(api, replace(SUGGESTION, start=4, end=4))
    assert [(start, end) for start, end, _ in places(github)] == [(None, 4)]


def test_an_answered_suggestion_is_withdrawn_without_deleting_the_discussion(
    github: FakeGithub, api: RepositoryApi
) -> None:
    publish(api, SUGGESTION)
    first = github.reviews[7][0]
    github.review(7, "Why?", PATH, 3, author="octocat", in_reply_to=first.id)
    assert not publish(api)
    assert [c.author for c in github.reviews[7]] == [BOT, "octocat"]
    assert MARK not in first.body
    assert "suggestion\n" not in first.body
    assert not publish(api)
    assert first.edits == 1


def test_comments_of_others_are_left_alone_even_with_the_marker(
    github: FakeGithub, api: RepositoryApi
) -> None:
    github.review(7, f"{MARK}\n{SUGGESTION.text}", PATH, 3, start_line=2, author="mallory")
    github.review(7, MARK, PATH, 3, author=None)
    github.review(7, f"> {MARK}\nWhy this?", PATH, 3)
    assert publish(api, SUGGESTION)
    assert not publish(api)
    assert [c.author for c in github.reviews[7]] == ["mallory", None, BOT]
    assert all(not c.edits for c in github.reviews[7])


@pytest.mark.parametrize(
    "wanted",
    [
        replace(SUGGESTION, start=4, end=21),
        replace(SUGGESTION, start=5, end=5),
        replace(SUGGESTION, start=23, end=23),
        replace(SUGGESTION, file_id="e" * 40),
        replace(SUGGESTION, path="gone.md"),
        replace(SUGGESTION, path="large.md"),
        replace(SUGGESTION, path="unchanged.md"),
    ],
)
def test_lines_that_the_diff_does_not_show_get_no_suggestion(
    github: FakeGithub, api: RepositoryApi, wanted: Suggestion
) -> None:
    publish(api, SUGGESTION)
    assert not publish(api, SUGGESTION, wanted)
    assert places(github) == []


def test_a_lost_answer_makes_no_second_suggestion(github: FakeGithub, api: RepositoryApi) -> None:
    github.faults.append(Fault("POST", "/pulls/7/comments", "lost"))
    assert publish(api, SUGGESTION)
    assert len(github.reviews[7]) == 1
    github.faults.append(Fault("DELETE", "/pulls/comments", "lost"))
    assert not publish(api)
    assert github.reviews[7] == []


@pytest.mark.parametrize(("method", "status"), [("POST", 403), ("POST", 422), ("DELETE", 403)])
def test_a_refusal_is_an_error_with_advice(
    github: FakeGithub, api: RepositoryApi, method: str, status: int
) -> None:
    publish(api, *([SUGGESTION] if method == "DELETE" else []))
    github.faults.append(Fault(method, "comments", status=status, message="no"))
    with pytest.raises(PublishError, match=str(status)):
        publish(api, *([SUGGESTION] if method == "POST" else []))
