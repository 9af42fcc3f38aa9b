"""Finds the release that this gatekeeper was installed from, to name it in workflows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gatekeeper.errors import GatekeeperError
from gatekeeper.git import Repository

_GITHUB = re.compile(
    r"(?:https://(?:[^/@]+@)?github\.com/|(?:ssh://)?git@github\.com[:/])"
    r"(?P<name>[A-Za-z0-9][\w-]*/[\w.-]+?)(?:\.git)?/?"
)


def installed_release() -> str | None:
    """Return the action of this version as OWNER/REPO@SHA; None if it is not known.

    It is known if gatekeeper was installed from a repository on GitHub, or from a clone of one that
    has a release. Nothing is fetched.
    """
    try:
        about = distribution("gatekeeper").read_text("direct_url.json")
        return read_release(about or "")
    except (PackageNotFoundError, OSError):
        return None


def read_release(about: str) -> str | None:
    """Return the action that an installation's `direct_url.json` names.

    Source: PyPA, Recording the Direct URL Origin of installed distributions.
    """
    try:
        data = json.loads(about)
        address = str(data["url"])
    except (ValueError, KeyError, TypeError):
        return None
    commit = (data.get("vcs_info") or {}).get("commit_id")
    if isinstance(commit, str):
        return _action(address, commit)
    parts = urlsplit(address)
    if parts.scheme != "file":
        return None
    try:
        with Repository.open(Path(unquote(parts.path))) as repository:
            commit = next(_releases(repository), None)
            origin = repository.address_of_origin()
    except GatekeeperError:
        return None
    return _action(origin, commit) if origin and commit else None


def _releases(repository: Repository) -> Iterator[str]:
    """Yield the commits of the releases, the latest first."""
    for tag in repository.version_tags():
        yield repository.resolve(f"refs/tags/{tag}")


def _action(address: str, commit: str) -> str | None:
    named = _GITHUB.fullmatch(address)
    full = re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit)
    return f"{named['name']}@{commit}" if named and full else None
