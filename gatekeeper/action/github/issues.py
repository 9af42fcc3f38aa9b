"""The issues of nightly runs, such as that about drift: opened, updated, closed when it is over.

If a person closes one, it stays closed until there is something else to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gatekeeper.action.github.client import PullRequestApi, tried_again
from gatekeeper.reports.markers import changes_marker, read_changes

if TYPE_CHECKING:
    from github.Issue import Issue as GithubIssue

State = Literal["open", "closed"]
_PERMISSION = "issues: write"
OPENED = "opened an issue"
LIMIT = 65_536
"""The longest text of an issue, in characters, as for a comment."""


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue that the gate opened."""

    number: int
    state: State
    title: str
    body: str
    url: str


class IssueApi(PullRequestApi):
    """The calls to GitHub that the issue needs. Every method raises PublishError with advice."""

    @tried_again("look for the issue", _PERMISSION)
    def find_issue(self, marker: str, *, closed: bool) -> Issue | None:
        """Return the latest issue that the gate opened with the marker. With `closed`, closed
        issues count too."""
        return self._search_issue(marker, closed=closed)

    def create_issue(self, marker: str, title: str, body: str) -> Issue:
        """Open an issue, only once even if an answer of GitHub is lost."""
        return self._once(
            "open the issue",
            _PERMISSION,
            lambda: _issue(self._repo().create_issue(title, body=body)),
            lambda: self._search_issue(marker, closed=False),
        )

    @tried_again("update the issue", _PERMISSION)
    def update_issue(self, issue: Issue, title: str, body: str, state: State) -> Issue:
        """Change the title, the body and the state of an issue."""
        self._repo().get_issue(issue.number).edit(title=title, body=body, state=state)
        return Issue(issue.number, state, title, body, issue.url)

    def _search_issue(self, marker: str, *, closed: bool) -> Issue | None:
        state = "all" if closed else "open"
        for issue in self._repo().get_issues(state=state, sort="created", direction="desc"):
            if marker in (issue.body or "") and self._is_own_account(issue.user):
                return _issue(issue)
        return None


def publish_issue(
    api: IssueApi, marker: str, changes: Sequence[str], title: str, body: str, about: str = "drift"
) -> tuple[Issue | None, str]:
    """Open, update or close the issue; returns it and a line for the log.

    Raises PublishError.

    Args:
        marker: The hidden text that identifies the issue.
        changes: The names of the changes that are certain; none if it is over.
        about: What the issue is about, in a few words.
    """
    text = f"{marker}\n{changes_marker(changes)}\n{body}"[:LIMIT]
    # A repository may have thousands of closed issues, so they are read only if needed.
    found = api.find_issue(marker, closed=bool(changes))
    if not changes:
        if found is None:
            return None, ""
        return api.update_issue(found, title, text, "closed"), f"closed the issue about {about}"
    if found is None:
        return api.create_issue(marker, title, text), f"{OPENED} about {about}"
    if found.state == "open":
        if (found.title, found.body) == (title, text):
            return found, ""
        return api.update_issue(found, title, text, "open"), f"updated the issue about {about}"
    if read_changes(found.body).issuperset(changes):
        return found, f"somebody closed the issue about this {about}, so the issue stays closed"
    return api.create_issue(marker, title, text), f"{OPENED} about {about}"


def _issue(issue: GithubIssue) -> Issue:
    state: State = "closed" if issue.state == "closed" else "open"
    return Issue(issue.number, state, issue.title, issue.body or "", issue.html_url)
