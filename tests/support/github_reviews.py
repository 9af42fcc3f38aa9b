"""The part of a small GitHub that keeps comments on the lines of a pull request."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support.github_objects import LATER, REPOSITORY, TIME, Shapes


@dataclass
class FakeFile:
    """A file that a pull request changes; `sha` names its content at head."""

    filename: str
    sha: str
    patch: str | None
    status: str = "modified"


@dataclass
class FakeReviewComment:
    """A comment on lines as it stands. `line` is None once it is outdated."""

    id: int
    author: str | None
    body: str
    path: str
    line: int | None
    start_line: int | None = None
    commit_id: str = "a" * 40
    in_reply_to: int | None = None
    edits: int = 0


class Reviews(Shapes):
    """What belongs to comments on lines; the server answers with it."""

    def forget_reviews(self) -> None:
        self.files: dict[int, list[FakeFile]] = {}
        self.reviews: dict[int, list[FakeReviewComment]] = {}
        self._last_review = 5000

    def review(
        self, number: int, body: str, path: str, line: int | None, **more: Any
    ) -> FakeReviewComment:
        """Somebody comments on a line, by default the token's own account."""
        self._last_review += 1
        author = more.pop("author", self._author())
        comment = FakeReviewComment(self._last_review, author, body, path, line, **more)
        self.reviews.setdefault(number, []).append(comment)
        return comment

    def review_routes(self) -> list[tuple[str, str, Callable[..., Any]]]:
        pulls = f"/repos/{REPOSITORY}/pulls"
        return [
            ("GET", rf"{pulls}/(\d+)/comments", self._list_reviews),
            ("POST", rf"{pulls}/(\d+)/comments", self._create_review),
            ("PATCH", rf"{pulls}/comments/(\d+)", self._edit_review),
            ("DELETE", rf"{pulls}/comments/(\d+)", self._delete_review),
            ("GET", rf"{pulls}/(\d+)/files", self._list_files),
        ]

    def _list_reviews(self, number: str, query: Mapping[str, list[str]], **_: Any) -> Any:
        every = self.reviews.get(int(number), [])
        shown, headers = self._paged(every, f"pulls/{number}/comments", query)
        return 200, headers, [self._review_json(comment) for comment in shown]

    def _list_files(self, number: str, query: Mapping[str, list[str]], **_: Any) -> Any:
        every = self.files.get(int(number), [])
        shown, headers = self._paged(every, f"pulls/{number}/files", query)
        return 200, headers, [self._file_json(file) for file in shown]

    def _create_review(self, number: str, body: Any, **_: Any) -> Any:
        files = [f for f in self.files.get(int(number), []) if f.filename == body["path"]]
        start, line = body.get("start_line", body["line"]), body["line"]
        shown = files and any(
            int(found[1]) <= start and line < int(found[1]) + int(found[2] or 1)
            for found in re.finditer(r"(?m)^@@ -\S+ \+(\d+)(?:,(\d+))? @@", files[0].patch or "")
        )
        wrong_range = "start_line" in body and start >= line
        if not shown or wrong_range or body["side"] != "RIGHT":
            message = "pull_request_review_thread.line must be part of the diff"
            return 422, {}, {"message": message, "documentation_url": ""}
        made = self.review(
            int(number),
            body["body"],
            body["path"],
            line,
            start_line=body.get("start_line"),
            commit_id=body["commit_id"],
        )
        return 201, {}, self._review_json(made)

    def _edit_review(self, comment: str, body: Any, **_: Any) -> Any:
        for found in self._every():
            if found.id == int(comment):
                found.body, found.edits = body["body"], found.edits + 1
                return 200, {}, self._review_json(found)
        return 404, {}, {"message": "Not Found", "documentation_url": ""}

    def _delete_review(self, comment: str, **_: Any) -> Any:
        for comments in self.reviews.values():
            for found in comments:
                if found.id == int(comment):
                    comments.remove(found)
                    return 204, {}, None
        return 404, {}, {"message": "Not Found", "documentation_url": ""}

    def _every(self) -> Sequence[FakeReviewComment]:
        return [comment for comments in self.reviews.values() for comment in comments]

    def _paged(self, items: Any, path: str, query: Mapping[str, list[str]]) -> Any:
        raise NotImplementedError

    def _file_json(self, file: FakeFile) -> dict[str, Any]:
        urls = {f"{name}_url": f"{self.public_url}/{name}" for name in ("blob", "raw", "contents")}
        counts = {"additions": 1, "deletions": 1, "changes": 2}
        patch = {} if file.patch is None else {"patch": file.patch}
        named = {"sha": file.sha, "filename": file.filename, "status": file.status}
        return named | counts | urls | patch

    def _review_json(self, comment: FakeReviewComment) -> dict[str, Any]:
        address = f"{self.public_url}/repos/{REPOSITORY}/pulls"
        page = f"{self.public_url}/{REPOSITORY}/pull/1#discussion_r{comment.id}"
        link = {"href": page}
        replied = {"in_reply_to_id": comment.in_reply_to} if comment.in_reply_to else {}
        return replied | {
            "id": comment.id,
            "node_id": f"PRRC_{comment.id}",
            "url": f"{address}/comments/{comment.id}",
            "html_url": page,
            "pull_request_url": f"{address}/1",
            "pull_request_review_id": 1,
            "diff_hunk": "@@ -1 +1 @@",
            "path": comment.path,
            "position": None if comment.line is None else 1,
            "original_position": 1,
            "line": comment.line,
            "start_line": comment.start_line,
            "side": "RIGHT",
            "start_side": "RIGHT" if comment.start_line else None,
            "commit_id": comment.commit_id,
            "original_commit_id": comment.commit_id,
            "user": self._user_json(comment.author) if comment.author else None,
            "body": comment.body,
            "created_at": TIME,
            "updated_at": LATER if comment.edits else TIME,
            "author_association": "NONE",
            "_links": {"self": link, "html": link, "pull_request": link},
        }
