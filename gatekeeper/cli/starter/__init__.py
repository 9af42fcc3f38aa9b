"""The files that `gatekeeper init` writes: the policy, the workflows, and in an empty repository an
example contract with its prompt and fixtures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import yaml

from gatekeeper.errors import GatekeeperError, UsageError, WriteError
from gatekeeper.git import Repository

WORKFLOWS = {
    "workflow.yml": ".github/workflows/gatekeeper.yml",
    "nightly.yml": ".github/workflows/gatekeeper-nightly.yml",
}
_EXAMPLE = {
    "contract.yaml": "contracts/review-sentiment.yaml",
    "fixtures.csv": "contracts/review-sentiment.fixtures.csv",
    "prompt.prompty": "prompts/review-sentiment.prompty",
}
_POLICY = {"policy.yml": ".github/gatekeeper.yml"}
# Where each packaged file goes in the user's repository.
PLACES = {**_EXAMPLE, **_POLICY, **WORKFLOWS}
_FOR_AGENTS = "AGENTS.md"
_SKILLS = (".agents/skills/gatekeeper/SKILL.md", ".claude/skills/gatekeeper/SKILL.md")
_SKILL = """\
---
name: gatekeeper
description: Test a changed prompt. Use it after editing a prompt, a contract or a fixture.
---

"""
_PLACEHOLDER = re.compile(r"OWNER/gatekeeper@COMMIT(?: #[^\n]*)?")
_BRANCHES = "branches: [main]"
HOLDS = ("label", "environment")
"""What can release the test of a pull request: a label, or the approval of a deployment."""
LABEL, ENVIRONMENT = "test-prompts", "prompt-gate"
_HELD_BY: Mapping[str, Mapping[str, str]] = {
    "label": {
        "ready_for_review]": "ready_for_review, labeled]",
        "'pull_request' }}": "'pull_request' && github.event.action != 'labeled' }}",
        "          cache: ": "          # Without this label, the job calls no model and fails.\n"
        f"          label: {LABEL}\n          cache: ",
    },
    "environment": {
        "    permissions:\n": "    # Its reviewers start the job; the check is pending till then.\n"
        f"    environment: {ENVIRONMENT}\n    permissions:\n",
    },
}
"""What stands in the place of some words of the workflow, by what releases the test."""
_KEY = re.compile(r"^( *)OPENAI_API_KEY: .*\n", re.MULTILINE)
_ACTION = re.compile(r"[A-Za-z0-9][\w-]*/[\w.-]+@(?:[0-9a-f]{40}|[0-9a-f]{64})")
_HOW_TO_NAME = (
    "write the action as OWNER/REPO@SHA, with the full commit of the release that you trust"
)


def require_action(name: str) -> str:
    """Return the name of an action at a commit. Raises UsageError for anything else: a tag or a
    branch can be moved to other code after the workflow was reviewed."""
    if _ACTION.fullmatch(name):
        return name
    raise UsageError(f"--action {name!r}: this is not a commit of an action; {_HOW_TO_NAME}")


def example_files() -> Mapping[str, str]:
    """Return the example for an empty repository: a contract, its prompt, fixtures and policy."""
    return {place: _packaged(name) for name, place in {**_EXAMPLE, **_POLICY}.items()}


def policy_text(lines: Mapping[str, str]) -> str:
    """Return the policy, with these lines in place of the example's, by their keys."""
    text = _packaged("policy.yml")
    for key, line in lines.items():
        before, _, rest = text.partition(f"\n{key}: ")
        text = f"{before}\n{line}\n{rest.partition(chr(10))[2]}"
    return text


def workflow_files(
    branch: str,
    keys: Sequence[str] | None = None,
    settings: Sequence[str] = (),
    hold: str | None = None,
) -> Mapping[str, str]:
    """Return the two workflows.

    Args:
        branch: The branch whose pushes the nightly workflow measures.
        keys: The names of the keys that the models need; None means OPENAI_API_KEY.
        settings: The names of the variables that they need besides, which are no secrets.
        hold: What releases the test of a pull request, of HOLDS; None tests at once.
    """
    found = {}
    for name, place in WORKFLOWS.items():
        text = _packaged(name).replace(_BRANCHES, f"branches: [{_quote(branch)}]")
        for before, held in _HELD_BY[hold].items() if hold and name == "workflow.yml" else ():
            assert before in text  # noqa: S101
            text = text.replace(before, held, 1)
        found[place] = (
            text if keys is None else _KEY.sub(lambda at: _passed(at[1], keys, settings), text)
        )
    return found


def agent_files(root: Path) -> Mapping[str, str]:
    """Return what tells agents how to test a prompt: a text for all of them, and a skill in each
    folder where agents look for skills, except in one that a link leads to."""
    text = _packaged("agents.md")
    found = {place: f"{_SKILL}{text}" for place in _SKILLS if _link_above(root, place) is None}
    return {_FOR_AGENTS: text, **found}


def untold_agents(root: Path) -> str | None:
    """Return what to add to a file for agents that was there before; None if it says it."""
    if "gatekeeper" in _text(root / _FOR_AGENTS).lower():
        return None
    return f"Add to {_FOR_AGENTS}: After you edit a prompt, follow {_SKILLS[0]}."


def require_new_gate(root: Path, hold: str | None) -> None:
    """Raise UsageError if there is a workflow already that a hold would have to change."""
    place = WORKFLOWS["workflow.yml"]
    if hold and (root / place).exists():
        raise UsageError(
            f"--hold {hold}: {place} exists already and was not changed; remove the file first, or "
            "edit it as `Who may spend` in docs/github-action.md says"
        )


def write_files(root: Path, texts: Mapping[str, str], action: str | None = None) -> Iterator[str]:
    """Write the files that do not exist yet, and report for each whether it was written.

    Args:
        root: The top of the user's repository.
        texts: The files, by their paths from the top.
        action: What the workflows run, as OWNER/REPO@SHA; None leaves a placeholder. In existing
            workflows, the placeholder is replaced.

    Raises UsageError before the first file is written if a folder is a link, which could lead out
    of the repository.
    """
    for place in texts:
        _require_no_link(root, place)
    for place, text in texts.items():
        yield _write(root / place, place, _fill_in(text, action), action)


def _link_above(root: Path, place: str) -> PurePosixPath | None:
    above = PurePosixPath(place).parents
    return next((p for p in above if p != PurePosixPath() and (root / p).is_symlink()), None)


def _require_no_link(root: Path, place: str) -> None:
    linked = _link_above(root, place)
    if linked is not None:
        raise UsageError(
            f"{linked} is a link, so {place} was not written; replace the link with a folder"
        )


def has_placeholder(root: Path) -> bool:
    """Return whether a workflow does not name the action yet."""
    return any(_PLACEHOLDER.search(_text(root / place)) for place in WORKFLOWS.values())


def missing_keys(
    root: Path, keys: Sequence[str], settings: Sequence[str] = ()
) -> Mapping[str, str]:
    """Return what to add to each workflow that does not name one of these keys or settings."""
    found = {}
    for place in WORKFLOWS.values():
        text = _text(root / place)
        lacking = [[name for name in names if name not in text] for names in (keys, settings)]
        if text and any(lacking):
            found[place] = ", ".join(_passed("", *lacking).splitlines())
    return found


def _packaged(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _passed(indent: str, keys: Sequence[str], settings: Sequence[str] = ()) -> str:
    """Return the lines that pass the keys and settings to the action."""
    values = {key: f"secrets.{key}" for key in keys}
    values |= {name: f"vars.{name}" for name in settings}
    return "".join(f"{indent}{key}: ${{{{ {value} }}}}\n" for key, value in values.items())


def _write(target: Path, place: str, text: str, action: str | None) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        _create(target, text)
    except FileExistsError:
        if place in WORKFLOWS.values():
            before = _text(target)
            after = _fill_in(before, action)
            if after != before:
                target.write_text(after, "utf-8", errors="surrogateescape")
                return f"updated  {place} (the existing file now uses {action})"
            if action and action not in before:
                return f"kept     {place} (to use {action}, edit the existing file)"
        return f"kept     {place} (the file exists already)"
    return f"written  {place}"


def _fill_in(text: str, action: str | None) -> str:
    return _PLACEHOLDER.sub(lambda _: action, text) if action else text


def _text(path: Path) -> str:
    return path.read_text("utf-8", errors="surrogateescape")


def _quote(branch: str) -> str:
    """Return the branch as YAML takes it in a list."""
    plain = re.fullmatch(r"[A-Za-z][\w./-]*", branch) and yaml.safe_load(branch) == branch
    return branch if plain else json.dumps(branch, ensure_ascii=False)


def _create(target: Path, text: str) -> None:
    """Create the file completely or not at all: a later run would keep an incomplete file."""
    with target.open("x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
        except OSError as error:
            target.unlink(missing_ok=True)
            raise WriteError(target, error) from error


# The release that this gatekeeper was installed from, to name it in workflows.

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
        return _action_at(address, commit)
    parts = urlsplit(address)
    if parts.scheme != "file":
        return None
    try:
        with Repository.open(Path(unquote(parts.path))) as repository:
            commit = next(_releases(repository), None)
            origin = repository.address_of_origin()
    except GatekeeperError:
        return None
    return _action_at(origin, commit) if origin and commit else None


def _releases(repository: Repository) -> Iterator[str]:
    """Yield the commits of the releases, the latest first."""
    for tag in repository.version_tags():
        yield repository.resolve(f"refs/tags/{tag}")


def _action_at(address: str, commit: str) -> str | None:
    named = _GITHUB.fullmatch(address)
    full = re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit)
    return f"{named['name']}@{commit}" if named and full else None
