"""Follows every link of a posted comment, as a reader who clicks each of them in a browser."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from support.action_job import Job
from support.browser import chromium
from support.github_server import FakeGithub
from support.machine_needs import CHROMIUM
from support.pull_request import BROKEN, FEW, PROMPT, PullRequest

if TYPE_CHECKING:
    from playwright.sync_api import Route

pytestmark = [pytest.mark.long, CHROMIUM.mark]

PAGES = "https://pages.example"
POLICY = f"""\
links:
  report: {PAGES}/{{run}}/report.html
  dashboard: {PAGES}/
"""
RUN = "/octo/prompts/actions/runs/42"


def test_every_link_of_a_comment_leads_to_what_it_names(
    job: Job, github: FakeGithub, tmp_path: Path
) -> None:
    change = PullRequest.make(
        tmp_path, {PROMPT: BROKEN}, more={".github/gatekeeper.yml": POLICY}, fixtures=FEW
    )
    github.pull_request(7, change.head)
    assert job.run(change) == 1
    (comment,) = github.comments[7]
    report = (change.workspace / ".gatekeeper/out/report.html").read_text("utf-8")
    found = Followed(change, tmp_path / "origin", report)
    # The action must have ended: both have an event loop in this thread.
    with chromium() as browser, browser.new_page() as page:
        page.route("**/*", found.answer)
        # The comment stands elsewhere, so a relative link would lead nowhere.
        page.set_content(MarkdownIt("commonmark").enable("table").render(comment.body))
        links = page.locator("a").evaluate_all("all => all.map(a => [a.textContent, a.href])")
        assert len(links) >= 10
        for text, address in links:
            page.goto(address)
            parts = urlsplit(address)
            kind, _, anchored = unquote(parts.fragment).partition("=")
            if kind == "fixture":
                opened = page.locator(".fixture[aria-expanded=true] b")
                opened.wait_for()
                assert [f"sentiment/{name}" for name in opened.all_inner_texts()] == [anchored]
                assert anchored == f"sentiment/{text}"
            elif kind == "check":
                page.locator("#fixtures tr").first.wait_for()
                assert anchored == f"sentiment/{text}"
            elif parts.path.startswith("/octo/prompts/blob/") and parts.fragment:
                lines = page.locator("pre").inner_text().split("\n")
                assert lines[int(parts.fragment.removeprefix("L")) - 1].strip()
    assert found.lost == []
    assert {"run", "report", "dashboard", "file"} <= found.kinds


class Followed:
    """GitHub and the published pages, as far as a comment leads to them."""

    def __init__(self, change: PullRequest, origin: Path, report: str) -> None:
        self._change, self._origin, self._report = change, origin, report
        self.kinds: set[str] = set()
        self.lost: list[str] = []

    def answer(self, route: Route) -> None:
        """Answer with what is there, and note what is not."""
        parts = urlsplit(route.request.url)
        place = f"{parts.scheme}://{parts.netloc}"
        blob = f"/octo/prompts/blob/{self._change.head}/"
        if place == PAGES and parts.path == "/42/report.html":
            self._show(route, "report", self._report)
        elif place == PAGES and parts.path == "/":
            self._show(route, "dashboard", "the dashboard")
        elif place == "https://github.com" and parts.path == RUN:
            self._show(route, "run", "the run")
        elif place == "https://github.com" and parts.path.startswith(blob):
            path = unquote(parts.path.removeprefix(blob))
            shown = subprocess.run(
                ["git", "show", f"{self._change.head}:{path}"],
                cwd=self._origin,
                capture_output=True,
                text=True,
            )
            if shown.returncode:
                self.lost.append(route.request.url)
            self._show(route, "file", f"<pre>{shown.stdout}</pre>")
        else:
            self.lost.append(route.request.url)
            route.fulfill(status=404, body="not found")

    def _show(self, route: Route, kind: str, body: str) -> None:
        self.kinds.add(kind)
        route.fulfill(status=200, content_type="text/html; charset=utf-8", body=body)
