"""The action's inputs and environment as one frozen value. Reads no file and no network.

GitHub passes an input `status-context` as the variable `INPUT_STATUS-CONTEXT` (dashes stay)
and an absent one as an empty string. Everything else is what every workflow step gets:
https://docs.github.com/en/actions/reference/workflows-and-actions/variables
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from gatekeeper.action.workspace import relative_path
from gatekeeper.errors import UsageError
from gatekeeper.gate.results.links import run_address
from gatekeeper.reports.formats import Format
from gatekeeper.reports.news import NEWS_KINDS
from gatekeeper.reports.redact import secrets_in

CommentMode = Literal["always", "changes", "failures", "off"]
Spending = Literal["draft", "ready"]
"""Which pull requests may call models: drafts too, or only those that are ready for review."""
DEFAULT_OUT = ".gatekeeper/out"
DEFAULT_STATUS_CONTEXT = "gatekeeper/verdict"
MAX_CONTEXT = 255
"""GitHub's limit for the name of a commit status."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,49}")


@dataclass(frozen=True, slots=True)
class ActionInputs:
    """The inputs of the workflow, and the runner's files for outputs and summary.

    `secrets` are values that must not appear in any output: the token and every variable whose name
    says that it is a secret.
    """

    event_name: str
    event_path: Path
    workspace: Path
    repository: str
    token: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    contracts: tuple[str, ...] = ()
    comment: CommentMode = "changes"
    on: Spending = "ready"
    label: str = ""
    out: Path = Path(DEFAULT_OUT)
    id: str = "gatekeeper"
    status_context: str = DEFAULT_STATUS_CONTEXT
    history: str = field(default="", repr=False)
    cache: Path | None = None
    requirements: Path | None = None
    formats: tuple[Format, ...] = ()
    batch: bool = False
    check_run: str = ""
    """The name of the check run; empty for none."""
    notify: tuple[str, ...] = field(default=(), repr=False)
    notify_on: tuple[str, ...] = NEWS_KINDS
    notify_template: str | None = None
    api_url: str = "https://api.github.com"
    server_url: str = "https://github.com"
    run_url: str | None = None
    output_file: Path | None = None
    summary_file: Path | None = None

    @property
    def home(self) -> str:
        """Return the address of the repository."""
        return f"{self.server_url}/{self.repository}"


def read_settings(environ: Mapping[str, str]) -> ActionInputs:
    """Read the inputs from the variables of a workflow step.

    Raises UsageError that names the invalid one.
    """
    on = _input(environ, "on")
    token = _input(environ, "token") or environ.get("GITHUB_TOKEN", "")
    server_url = environ.get("GITHUB_SERVER_URL") or "https://github.com"
    run = environ.get("GITHUB_RUN_ID")
    repository = _needed(environ, "GITHUB_REPOSITORY")
    return ActionInputs(
        event_name=_needed(environ, "GITHUB_EVENT_NAME"),
        event_path=Path(_needed(environ, "GITHUB_EVENT_PATH")),
        workspace=Path(_needed(environ, "GITHUB_WORKSPACE")),
        repository=repository,
        token=token,
        secrets=secrets_in(environ, token),
        contracts=_names(_input(environ, "contracts")),
        comment=_comment_mode(_input(environ, "comment")),
        on=cast(Spending, _one_of("on", on, on.lower() or "ready", get_args(Spending))),
        label=_input(environ, "label"),
        out=relative_path("out", _input(environ, "out") or DEFAULT_OUT),
        id=_id(_input(environ, "id")),
        status_context=_status_context(environ),
        history=_history(_input(environ, "history")),
        cache=_file(environ, "cache"),
        requirements=_file(environ, "requirements"),
        formats=cast(tuple[Format, ...], _chosen(environ, "formats", get_args(Format))),
        batch=_yes_or_no("batch", _input(environ, "batch")),
        check_run=_check_run(environ),
        notify=tuple(dict.fromkeys(_input(environ, "notify").split())),
        notify_on=_chosen(environ, "notify-on", NEWS_KINDS) or NEWS_KINDS,
        notify_template=_input(environ, "notify-template") or None,
        api_url=(environ.get("GITHUB_API_URL") or "https://api.github.com").rstrip("/"),
        server_url=server_url,
        run_url=run_address(f"{server_url}/{repository}", run) if run else None,
        output_file=_path(environ.get("GITHUB_OUTPUT")),
        summary_file=_path(environ.get("GITHUB_STEP_SUMMARY")),
    )


def _input(environ: Mapping[str, str], name: str) -> str:
    return environ.get(f"INPUT_{name.upper()}", "").strip()


def _needed(environ: Mapping[str, str], name: str) -> str:
    value = environ.get(name, "")
    if not value:
        raise UsageError(
            f"{name} is not set: `gatekeeper action` only runs as a step of a GitHub workflow; "
            "use `gatekeeper check` elsewhere"
        )
    return value


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in re.split(r"[\s,]+", text) if name))


def _comment_mode(text: str) -> CommentMode:
    # YAML 1.1 reads a bare `off` as false, and that is what arrives here.
    mode = {"": "changes", "false": "off"}.get(text.lower(), text.lower())
    return cast(CommentMode, _one_of("comment", text, mode, get_args(CommentMode)))


def _one_of(name: str, text: str, meant: str, known: Sequence[str]) -> str:
    if meant not in known:
        raise UsageError(f"input {name}: {text!r} is not valid; use one of {', '.join(known)}")
    return meant


def _id(text: str) -> str:
    if text and not _ID.fullmatch(text):
        raise UsageError(
            f"input id: {text!r} is not valid; use up to 50 letters, digits, "
            "dots, dashes and underscores"
        )
    return text or "gatekeeper"


def _status_context(environ: Mapping[str, str]) -> str:
    # Absent means the default, empty means: no status. Only `environ` tells them apart.
    context = environ.get("INPUT_STATUS-CONTEXT", DEFAULT_STATUS_CONTEXT).strip()
    if len(context) > MAX_CONTEXT or not context.isprintable():
        raise UsageError(
            f"input status-context: use at most {MAX_CONTEXT} characters, all of them printable"
        )
    if context and context == environ.get("GITHUB_JOB"):
        raise UsageError(
            f"input status-context: {context!r} is also the job's name, so a branch rule "
            "could not distinguish the status from the job; choose another name"
        )
    return context


def _check_run(environ: Mapping[str, str]) -> str:
    """Return the name of the check run, which is that of no job and of no status: GitHub finds a
    required check by its name."""
    if not _yes_or_no("check-run", _input(environ, "check-run")):
        return ""
    name = f"{_id(_input(environ, 'id'))}/details"
    if name in (_status_context(environ), environ.get("GITHUB_JOB")):
        raise UsageError(
            f"input check-run: {name!r} is already the name of the job or of the commit status; "
            "choose another `id` or `status-context`"
        )
    return name


def _history(text: str) -> str:
    """Return the location of the history, `off`, or empty text if the policy decides. A path must
    be inside the workspace."""
    if text.lower() in ("off", "false"):  # YAML 1.1 reads a bare `off` as false
        return "off"
    return text if ":" in text or not text else str(relative_path("history", text))


def _file(environ: Mapping[str, str], name: str) -> Path | None:
    text = _input(environ, name)
    return relative_path(name, text) if text else None


def _chosen(environ: Mapping[str, str], name: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the words of an input of which each has to be one of `known`."""
    words = _names(_input(environ, name).lower())
    unknown = [word for word in words if word not in known]
    if unknown:
        raise UsageError(
            f"input {name}: {unknown[0]!r} is not valid; use one or more of {', '.join(known)}"
        )
    return words


def _yes_or_no(name: str, text: str) -> bool:
    if text.lower() not in ("", "true", "false"):
        raise UsageError(f"input {name}: {text!r} is not valid; use true or false")
    return text.lower() == "true"


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None
