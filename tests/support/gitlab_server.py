"""GitLab as far as the gate knows it, on 127.0.0.1: users and the notes of one merge request.

Its routes, fields and statuses are those of https://docs.gitlab.com/api/notes/#merge-requests,
https://docs.gitlab.com/api/users/ and https://docs.gitlab.com/api/rest/#pagination.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.local_server import JsonHandler, LocalServer

TOKEN = "glpat-0123456789abcdefghij"
BOT = {"id": 77, "username": "project_5_bot"}
PERSON = {"id": 3, "username": "somebody"}
PATH = "/api/v4/projects/5/merge_requests/7"


class FakeGitlab(LocalServer):
    """Keeps the notes; `faults` are statuses to answer with before anything else is done."""

    def __init__(self, sha: str = "a" * 40) -> None:
        self.sha = sha
        self.notes: list[dict[str, Any]] = []
        self.faults: list[int] = []
        self.lose_answers = 0
        self.redirect: str | None = None
        self.calls: list[tuple[str, str]] = []
        fake = self

        class Handler(JsonHandler):
            def answer(self) -> None:
                status, document, headers = fake.carry_out(self)
                if status == 0:
                    self.close_connection = True  # the answer is lost
                    return
                import json

                self.send_json(status, json.dumps(document), headers)

            do_GET = do_POST = do_PUT = answer  # noqa: N815

        super().__init__(self.http(Handler))

    def add(self, body: str, author: dict[str, Any] = BOT) -> dict[str, Any]:
        """A note, as the API returns it."""
        note = {"id": 300 + len(self.notes), "body": body, "author": author, "system": False}
        self.notes.append(note)
        return note

    def carry_out(self, call: JsonHandler) -> tuple[int, Any, dict[str, str]]:
        address, given = urlsplit(call.path), call.read_json()
        self.calls.append((call.command, address.path))
        if self.redirect:
            return 302, {}, {"Location": self.redirect}
        if self.faults:
            return self.faults.pop(0), {"message": "no"}, {}
        if call.headers.get("PRIVATE-TOKEN") != TOKEN:
            return 401, {"message": "401 Unauthorized"}, {}
        status, document, headers = self._route(call.command, address, given)
        if call.command == "POST" and self.lose_answers:
            self.lose_answers -= 1
            return 0, None, {}
        return status, document, headers

    def _route(self, method: str, address: Any, given: Any) -> tuple[int, Any, dict[str, str]]:
        if (method, address.path) == ("GET", "/api/v4/user"):
            return 200, BOT, {}
        if (method, address.path) == ("GET", PATH):
            return 200, {"iid": 7, "sha": self.sha}, {}
        if (method, address.path) == ("GET", f"{PATH}/notes"):
            asked = {
                name: int(v[0]) for name, v in parse_qs(address.query).items() if v[0].isdigit()
            }
            size = min(asked.get("per_page", 20), 100)
            first = (asked.get("page", 1) - 1) * size
            more = first + size < len(self.notes)
            after = str(asked.get("page", 1) + 1) if more else ""
            return 200, self.notes[first : first + size], {"X-Next-Page": after}
        if (method, address.path) == ("POST", f"{PATH}/notes"):
            return 201, self.add(given["body"]), {}
        found = re.fullmatch(rf"{PATH}/notes/(\d+)", address.path)
        for note in self.notes:
            if method == "PUT" and found and note["id"] == int(found[1]):
                note["body"] = given["body"]
                return 200, note, {}
        return 404, {"message": "404 Not found"}, {}
