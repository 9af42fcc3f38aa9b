"""Turns a GitHub event into an activity of the gate. Pure: reads values, calls nothing.

| event | activity | base | head |
| --- | --- | --- | --- |
| `pull_request` | CheckPullRequest | first parent of the merge | the merge, GITHUB_SHA |
| `pull_request_target` | CheckPullRequest | first parent of the merge | merge_commit_sha |
| the two above, action `closed` | Nothing, red | | |
| `merge_group` | CheckMergeGroup | merge_group.base_sha | merge_group.head_sha |
| `merge_group`, action `destroyed` | Nothing, green | | |
| `workflow_run`, completed, of a fork or of Dependabot | FindPullRequest | | its head_sha |
| `workflow_run`, any other | Nothing, green | | |
| `push` to the default branch | RunPush | before; none of a new branch | after |
| `push` of any other branch or tag | Nothing, red | | |
| `schedule` | RunFull, kept in the history | | GITHUB_SHA |
| `workflow_dispatch`, default branch | RunFull, kept without `ref` | | `ref`, else GITHUB_SHA |
| `workflow_dispatch` of any other branch or tag | Nothing, red | | |
| `issue_comment`, created on a pull request, with a command | Respond | | |
| `issue_comment`, any other | Nothing, green and quiet | | |
| any other | Nothing, with the reason, red | | |

Every action of a pull request but `closed` is checked, `edited` and `labeled` too: each run
of a workflow replaces the required check of the same commit, so a run that looked at nothing
and ended green would lift the verdict of the run before. The same holds for every event whose
run reports to a commit that can be the head of a pull request: a push of a branch or tag, a
dispatch on one, a pull request that was closed while another one has the same head. An event the
gate cannot check is red for the same reason. What is green with nothing checked reports to no pull
request: it is the default branch's tip, or a commit that no branch has any more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gatekeeper.errors import UsageError

# Reads the command in a comment. `bot` decides who may give commands. Pure.
#
# A command is the first line of the comment, as Markdown shows it: after up to three spaces, and
# followed by a space, a tab or nothing. Indented or fenced code, quotes, a line after hidden text
# and characters that only look similar are not commands.


Name = Literal["rerun", "run", "full", "waive", "explain", "accept", "propose"]

PREFIX = "/gatekeeper"
REASON_LIMIT = 500

_COMMAND = re.compile(rf" {{0,3}}{PREFIX}(?:[ \t]+(.*))?", re.DOTALL)
_LINE_BREAK = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters except the tab: some programs show text with one of them as several lines."""
_CONTRACT = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_FORMS: dict[str, tuple[str, str]] = {
    "": ("", "write `/gatekeeper {}` without further words"),
    "NAME": (rf"[ \t]+({_CONTRACT})", "add the name of one contract after `{}`"),
    "[NAME]": (
        rf"(?:[ \t]+({_CONTRACT}))?",
        "write `/gatekeeper {}` alone, or add the name of one contract",
    ),
    "NAME: REASON": (
        rf"[ \t]+({_CONTRACT}):[ \t]*(\S.*)",
        "write the name of a contract, a colon and a reason after `{}`",
    ),
}
"""What may follow the name of a command, and what to write instead of anything else."""
_COMMANDS: dict[Name, tuple[str, str]] = {
    "rerun": ("", "run the gate again"),
    "run": ("NAME", "run one contract and post the result"),
    "full": ("", "run the whole suite on this pull request's head"),
    "waive": ("NAME: REASON", "do not let the contract block this commit"),
    "accept": ("[NAME]", "accept a regression as intended"),
    "explain": ("NAME", "run one contract and explain the evidence in words"),
    "propose": ("", "open a pull request with contracts for prompts that have none"),
}
USAGE = "\n".join(
    f"{f'{PREFIX} {name} {form}':<32}{meaning}" for name, (form, meaning) in _COMMANDS.items()
)


@dataclass(frozen=True, slots=True)
class Command:
    """The command in a comment. `contract` is None if the comment names none; `more` says that
    other commands follow, which are not carried out."""

    name: Name
    contract: str | None = None
    reason: str = ""
    more: bool = False


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A comment that begins with `/gatekeeper` and is not a valid command. `why` contains no text
    of the comment."""

    why: str


def read_command(text: str) -> Command | NotUnderstood | None:
    """Return the command in the comment's first line, or None if there is none."""
    first, *rest = (line.removesuffix("\r") for line in text.split("\n"))
    found = _COMMAND.fullmatch(first)
    if found is None or _LINE_BREAK.search(first):
        return None
    said = (found[1] or "").strip(" \t")
    word = re.split(r"[ \t]", said, maxsplit=1)[0]
    name = next((name for name in _COMMANDS if name == word), None)
    if name is None:
        return NotUnderstood("this command does not exist" if word else "a command is missing")
    shape, advice = _FORMS[_COMMANDS[name][0]]
    arguments = re.fullmatch(shape, said.removeprefix(name))
    if arguments is None:
        return NotUnderstood(advice.format(name))
    contract, reason = (*arguments.groups(), None, None)[:2]
    reason = (reason or "").strip()
    if name == "waive" and not _shows_something(reason):
        return NotUnderstood(advice.format(name))
    if len(reason) > REASON_LIMIT:
        return NotUnderstood(f"shorten the reason to {REASON_LIMIT} characters")
    more = any(_COMMAND.fullmatch(line) for line in rest)
    return Command(name, contract, reason, more)


def _shows_something(text: str) -> bool:
    """Return whether the text has a visible character."""
    return any(unicodedata.category(character)[0] not in "ZC" for character in text)


MAX_SAMPLES = 1000
"""The most samples of a fixture; a contract has the same limit."""

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class CheckPullRequest:
    """Check a pull request.

    `base_sha` is the tip of the branch to merge into as the event knew it, and may be out of date.
    `merge_sha` is the commit that merges the two; GitHub makes it in the background, so its second
    parent must be compared with `head_sha`. `same_repository` is False for forks: their runs get no
    secrets. `is_draft` is what the event knew. `replaced_sha` is the head before the push that
    caused the event.
    """

    number: int
    base_sha: str
    head_sha: str
    merge_sha: str | None
    same_repository: bool
    is_draft: bool = False
    replaced_sha: str | None = None


@dataclass(frozen=True, slots=True)
class CheckMergeGroup:
    """Check a group of a merge queue. `number` is the pull request that the group was made for."""

    base_sha: str
    head_sha: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class FindPullRequest:
    """Check the pull request that a first stage without secrets has run for.

    It is requested from GitHub by these three values, because the pull request's author controls
    every artifact and number of the first stage.
    """

    head_repository: str
    head_branch: str
    head_sha: str


@dataclass(frozen=True, slots=True)
class RunPush:
    """Run what a push to the default branch has changed. `before` is None for a new branch."""

    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class RunFull:
    """Run the full suite, or the named contracts, on one revision.

    `sha` is the commit that the workflow runs on, and its policy applies. `ref` is another commit,
    branch or tag to run, entered by a person who may start workflows. `samples` replaces the
    contracts' number, `pull_request` also gets the result, and `keep` is the trigger under which
    the history keeps the run, for a run of the default branch.
    """

    sha: str
    ref: str | None = None
    contracts: tuple[str, ...] = ()
    samples: int | None = None
    pull_request: int | None = None
    keep: Literal["schedule", "manual"] | None = None


@dataclass(frozen=True, slots=True)
class Respond:
    """Answer a comment on a pull request. `time` is when it was written."""

    number: int
    comment_id: int
    author: str
    time: str
    command: Command | NotUnderstood


@dataclass(frozen=True, slots=True)
class Nothing:
    """The event needs no run. `exit_code` is the job's exit code; an empty explanation is not
    printed."""

    explanation: str
    exit_code: int = 2


Activity = (
    CheckPullRequest | CheckMergeGroup | FindPullRequest | RunPush | RunFull | Respond | Nothing
)

_WRONG_PAYLOAD = "check that GITHUB_EVENT_PATH is the path of this event's payload"
_COULD_COUNT = (
    "This run fails on purpose: GitHub could count a green one as the required check of another "
    "pull request with this commit"
)
_CHECKED_EVENTS = "pull_request, merge_group, push, schedule or workflow_dispatch"
_NO_COMMIT = re.compile("0+")
_QUEUE_BRANCH = re.compile(r"(?:refs/heads/)?gh-readonly-queue/.+/pr-(\d+)-[0-9a-f]{40,64}")
_DEPENDABOT = "dependabot[bot]"


def activity_for(name: str, payload: Mapping[str, Any], environ: Mapping[str, str]) -> Activity:
    """Return what to do for the event. Raises UsageError if the payload is not of this event."""
    if name in ("pull_request", "pull_request_target"):
        return _pull_request(name, payload, environ)
    if name == "merge_group":
        return _merge_group(payload)
    if name == "workflow_run":
        return _workflow_run(payload)
    if name == "push":
        return _push(payload)
    if name == "schedule":
        return RunFull(_sha(environ.get("GITHUB_SHA"), "GITHUB_SHA"), keep="schedule")
    if name == "workflow_dispatch":
        return _dispatch(payload, _sha(environ.get("GITHUB_SHA"), "GITHUB_SHA"))
    if name == "issue_comment":
        return _comment(payload)
    advice = f"start the workflow on {_CHECKED_EVENTS}"
    return Nothing(f"gatekeeper cannot run on the event {name!r}; {advice}")


def _pull_request(name: str, payload: Mapping[str, Any], environ: Mapping[str, str]) -> Activity:
    number = _whole(payload, "pull_request.number")
    if payload.get("action") == "closed":
        return Nothing(
            f"pull request {number} is closed, so gatekeeper tests nothing. "
            f"{_COULD_COUNT}. Remove `closed` from the `types` of the workflow's `{name}`"
        )
    head_repository = _at(payload, "pull_request.head.repo.full_name", needed=False)
    base_repository = _at(payload, "pull_request.base.repo.full_name", needed=False)
    return CheckPullRequest(
        number=number,
        base_sha=_sha(_at(payload, "pull_request.base.sha"), "pull_request.base.sha"),
        head_sha=_sha(_at(payload, "pull_request.head.sha"), "pull_request.head.sha"),
        # Only for pull_request is GITHUB_SHA the merge commit.
        merge_sha=_full_name(
            environ.get("GITHUB_SHA")
            if name == "pull_request"
            else _at(payload, "pull_request.merge_commit_sha", needed=False)
        ),
        # A fork that has been deleted has no repository any more.
        same_repository=head_repository is not None and head_repository == base_repository,
        is_draft=_at(payload, "pull_request.draft", needed=False) is True,
        replaced_sha=_full_name(_at(payload, "before", needed=False)),
    )


def _full_name(value: Any) -> str | None:
    return value if isinstance(value, str) and _SHA.fullmatch(value) else None


def _merge_group(payload: Mapping[str, Any]) -> Activity:
    if payload.get("action") == "destroyed":
        return Nothing("the merge group was removed", exit_code=0)
    return CheckMergeGroup(
        base_sha=_sha(_at(payload, "merge_group.base_sha"), "merge_group.base_sha"),
        head_sha=_sha(_at(payload, "merge_group.head_sha"), "merge_group.head_sha"),
        number=_queued(_at(payload, "merge_group.head_ref", needed=False)),
    )


def _queued(branch: Any) -> int | None:
    """Return the pull request of a merge queue's branch, whose name only GitHub can create."""
    found = _QUEUE_BRANCH.fullmatch(branch) if isinstance(branch, str) else None
    return int(found[1]) if found else None


def _workflow_run(payload: Mapping[str, Any]) -> Activity:
    run = "workflow_run"
    if payload.get("action") != "completed":
        return Nothing("the triggering workflow run has not ended yet", exit_code=0)
    event = _at(payload, f"{run}.event")
    if event != "pull_request":
        text = f"the triggering workflow run is for the event {event}, not for pull_request"
        return Nothing(text, exit_code=0)
    conclusion = _at(payload, f"{run}.conclusion", needed=False)
    if conclusion not in ("success", "failure"):
        return Nothing(
            f"the conclusion of the triggering workflow run is {conclusion}, so gatekeeper "
            "tests nothing",
            exit_code=0,
        )
    repository = _at(payload, f"{run}.head_repository.full_name", needed=False)
    branch = _at(payload, f"{run}.head_branch", needed=False)
    if not isinstance(repository, str) or not isinstance(branch, str):
        return Nothing("the fork of the triggering workflow run was deleted", exit_code=0)
    own = repository == _at(payload, "repository.full_name")
    if own and _at(payload, f"{run}.actor.login", needed=False) != _DEPENDABOT:
        return Nothing(
            "the triggering workflow run had the secrets, so that run already tested the change",
            exit_code=0,
        )
    return FindPullRequest(
        repository, branch, _sha(_at(payload, f"{run}.head_sha"), f"{run}.head_sha")
    )


def _push(payload: Mapping[str, Any]) -> Activity:
    ref, name = _at(payload, "ref"), _at(payload, "repository.default_branch")
    before, after = _at(payload, "before"), _at(payload, "after")
    if _is_no_commit(after):
        return Nothing("the branch was deleted", exit_code=0)
    if ref != f"refs/heads/{name}":
        return Nothing(
            f"{ref} is not the default branch, so gatekeeper does not test this push, but only "
            f"the pull request of the branch. {_COULD_COUNT}. Limit the workflow to "
            f"`push: {{branches: [{name}]}}`"
        )
    known = None if _is_no_commit(before) else _sha(before, "before")
    return RunPush(known, _sha(after, "after"))


def _is_no_commit(value: Any) -> bool:
    return isinstance(value, str) and _NO_COMMIT.fullmatch(value) is not None


def _dispatch(payload: Mapping[str, Any], sha: str) -> Activity:
    ref = _dispatched_ref(_typed(payload, "ref")) or None
    default = _at(payload, "repository.default_branch", needed=False)
    started_on = _at(payload, "ref", needed=False)
    if started_on != f"refs/heads/{default}":
        return Nothing(
            f"the workflow was started on {started_on}, which is not the default branch. "
            f"{_COULD_COUNT}. Start the workflow on {default}, and name another commit in its "
            "input `ref`"
        )
    return RunFull(
        sha=sha,
        ref=ref,
        contracts=tuple(name for name in re.split(r"[\s,]+", _typed(payload, "contracts")) if name),
        samples=_dispatched_number(payload, "samples", MAX_SAMPLES),
        pull_request=_dispatched_number(payload, "pull-request"),
        keep="manual" if ref is None else None,
    )


def _typed(payload: Mapping[str, Any], name: str) -> str:
    """Return an input as text. `inputs` is null if the workflow declares none."""
    value = _at(payload, f"inputs.{name}", needed=False)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    return value.strip() if isinstance(value, str) else ""


def _dispatched_ref(text: str) -> str:
    # https://git-scm.com/docs/git-check-ref-format
    if (
        text.startswith(("-", "/"))
        or len(text) > 255
        or re.search(r"[\s\x00-\x1f~^:?*\[\\]|\.\.", text)
    ):
        raise UsageError(
            f"input ref: {text[:80]!r} is not a valid name; give a branch, tag or commit"
        )
    return text


def _dispatched_number(
    payload: Mapping[str, Any], name: str, most: int | None = None
) -> int | None:
    text = _typed(payload, name)
    if not text:
        return None
    # No more digits than GitHub numbers anything with: int() is slow on very many.
    number = int(text) if re.fullmatch("[0-9]{1,12}", text) else 0
    if number < 1 or (most is not None and number > most):
        upto = f"from 1 to {most:,}" if most else "of 1 or more"
        raise UsageError(f"input {name}: {text[:80]!r} is not a whole number {upto}")
    return number


def _comment(payload: Mapping[str, Any]) -> Activity:
    quiet = Nothing("", exit_code=0)
    if (
        payload.get("action") != "created"
        or _at(payload, "issue.pull_request", needed=False) is None
    ):
        return quiet
    body = _at(payload, "comment.body", needed=False)
    author = _at(payload, "comment.user.login", needed=False)
    command = read_command(body) if isinstance(body, str) else None
    # Bots and apps repeat what others wrote. The user of a deleted account is null.
    by_person = (
        _at(payload, "comment.user.type", needed=False) == "User"
        and _at(payload, "comment.performed_via_github_app", needed=False) is None
    )
    if command is None or not by_person or not isinstance(author, str):
        return quiet
    return Respond(
        number=_whole(payload, "issue.number"),
        comment_id=_whole(payload, "comment.id"),
        author=author,
        time=str(_at(payload, "comment.created_at")),
        command=command,
    )


def _whole(payload: Mapping[str, Any], path: str) -> int:
    number = _at(payload, path)
    if not isinstance(number, int):
        raise UsageError(f"`{path}` is {number!r}, not a whole number; {_WRONG_PAYLOAD}")
    return number


def _at(payload: Mapping[str, Any], path: str, *, needed: bool = True) -> Any:
    value: Any = payload
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None and needed:
        raise UsageError(f"the event has no `{path}`; {_WRONG_PAYLOAD}")
    return value


def _sha(value: Any, what: str) -> str:
    # git could read the name of a branch as an option or a path, so only commits are passed on.
    name = _full_name(value)
    if name is None:
        raise UsageError(f"`{what}` is {value!r}, not a full commit SHA; {_WRONG_PAYLOAD}")
    return name
