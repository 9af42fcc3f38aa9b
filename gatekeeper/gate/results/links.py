"""Where a reader finds what a report names. Every address in a report is made here: it is absolute,
so that it works wherever the text is copied to, and the names in it are percent-encoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from gatekeeper.contract.policies.policy import PublishedLinks


@dataclass(frozen=True, slots=True)
class Links:
    """The addresses of one run; empty texts for what has none.

    `report` leads to report.html. If it is the page itself and not a place to download it from,
    `opens` is true, and anchors of its fixtures and checks can follow. `files` is the address of
    the repository's files at head, which a path follows.
    """

    run: str = ""
    report: str = ""
    opens: bool = False
    dashboard: str = ""
    files: str = ""

    def file(self, path: str, line: int | None = None) -> str:
        """Return the address of a file at head, or of one of its lines."""
        if not self.files or not path:
            return ""
        # Without `plain`, GitHub shows a Markdown file as a page, which has no lines.
        at = f"?plain=1#L{line}" if line else ""
        return f"{self.files}{_encoded(path, '/')}{at}"

    def anchor(self, kind: str, contract: str, name: str) -> str:
        """Return the address that opens a `fixture`, or shows what fails a `check`, in the
        report."""
        if not self.opens:
            return ""
        return f"{self.report}#{kind}={_encoded(contract)}/{_encoded(name)}"


NO_LINKS = Links()


def links_from(
    environ: Mapping[str, str], published: PublishedLinks, sha: str, kept_page: str = ""
) -> Links:
    """Return the links of a run in a job of GitHub or GitLab; elsewhere, those that the policy
    names. `kept_page` is the path of the run's page in the dashboard, if it will have one."""
    server, repository = (
        environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY")
    )
    number = environ.get("GITHUB_RUN_ID", "")
    run = files = place = ""
    if server and repository:
        home = _address(f"{server}/{_encoded(repository, '/')}")
        run = run_address(home, number) if home and number else ""
        files = f"{home}/blob/{_encoded(sha)}/" if home else ""
        place = f"{run}#artifacts" if run else ""
    elif "CI_PROJECT_URL" in environ:
        home, run = (_address(environ.get(f"CI_{name}_URL", "")) for name in ("PROJECT", "JOB"))
        number = environ.get("CI_JOB_ID", "")
        files = f"{home}/-/blob/{_encoded(sha)}/" if home else ""
        place = f"{run}/artifacts/browse" if run else ""
    dashboard = published.dashboard or ""
    page = f"{dashboard.rstrip('/')}/{kept_page}" if dashboard and kept_page else ""
    if published.report and (number or "{run}" not in published.report):
        page = published.report.replace("{run}", _encoded(number)).replace("{sha}", _encoded(sha))
    return Links(run, page or place, bool(page), dashboard, files)


def run_address(home: str, number: str | int) -> str:
    """Return the address of a run of GitHub Actions in the repository whose address is `home`."""
    return f"{home}/actions/runs/{_encoded(str(number))}"


def _address(text: str) -> str:
    """Return the address of a server if a link can hold it as it is."""
    found = urlsplit(text)
    is_plain = found.scheme in ("http", "https") and found.hostname and not found.username
    return text.rstrip("/") if is_plain and text == quote(text, safe=":/%~") else ""


def _encoded(text: str, safe: str = "") -> str:
    return quote(text, safe=safe, errors="replace")
