"""Turns a result or an error into text for GitHub, and publishes it.

Every text is escaped and cleaned of secrets here; `github` only transports it.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.action.events import Activity, CheckMergeGroup, CheckPullRequest, RunPush
from gatekeeper.action.github.check_runs import CheckRun
from gatekeeper.action.github.client import PullRequestApi, StatusState
from gatekeeper.action.github.comments import (
    CheckedCommit,
    CommentPlace,
    comment_body,
    publish_comment,
)
from gatekeeper.action.github.repository import RepositoryApi
from gatekeeper.action.github.review_comments import publish_suggestions
from gatekeeper.action.github.workflow_step import (
    Annotation,
    Level,
    annotation_commands,
    warning_command,
    write_outputs,
    write_summary,
)
from gatekeeper.action.inputs import ActionInputs
from gatekeeper.action.workspace import give_reports_to_owner, out_folder
from gatekeeper.errors import ContractError, GatekeeperError, PublishError, UsageError, WriteError
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.document import Document, Section, Words, plain_words
from gatekeeper.reports.escape import block, log_text, visible
from gatekeeper.reports.formats.annotations import places
from gatekeeper.reports.markdown.comment import comment_text, render_summary
from gatekeeper.reports.markdown.revert import Suggestion, suggestions_of
from gatekeeper.reports.markers import comment_marker, issue_marker, suggestion_marker
from gatekeeper.reports.news import News, news_of, notification_body, notification_title, wanted
from gatekeeper.reports.notifications import send
from gatekeeper.reports.redact import redactor
from gatekeeper.reports.terminal.console import log_console, print_result
from gatekeeper.reports.words.call_counts import estimate_text
from gatekeeper.reports.words.headline import title
from gatekeeper.reports.write import write_files, write_reports

if TYPE_CHECKING:
    from gatekeeper.gate.forecast.estimate import RunEstimate
    from gatekeeper.reports.described.nights import NightlyIssue


STATUS_LIMIT = 140
_STATES: dict[int, StatusState] = {0: "success", 1: "failure"}


def publish_status(
    api: PullRequestApi,
    sha: str,
    exit_code: int | None,
    text: str,
    *,
    context: str,
    target_url: str | None,
) -> None:
    """Add a commit status, so that lists of commits show the verdict too.

    It corresponds to the job's exit code; None means that there is no verdict yet. Raises
    PublishError.
    """
    state = "pending" if exit_code is None else _STATES.get(exit_code, "error")
    api.set_status(sha, state, context, status_description(text), target_url)


def status_description(text: str) -> str:
    """Return one line that GitHub accepts as a status: 140 characters, none of them of four
    bytes."""
    plain = "".join(c if ord(c) <= 0xFFFF else "?" for c in " ".join(text.split()))
    return plain if len(plain) <= STATUS_LIMIT else plain[: STATUS_LIMIT - 1] + "…"


COULD_NOT_MEASURE = 3

_LEVELS: Mapping[str, Level] = {"fail": "error", "error": "error", "inconclusive": "warning"}
_ERROR_TITLES = {2: "Invalid input", COULD_NOT_MEASURE: "Could not measure"}


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything that is published on GitHub, as escaped text without secrets.

    `newsworthy` is False if no prompt was changed. `outputs` are those of action.yml. An answer
    that `is_held` says what a run would take.
    """

    verdict: str
    exit_code: int
    title: str
    comment: str
    summary: str
    newsworthy: bool
    annotations: tuple[Annotation, ...]
    outputs: Mapping[str, str]
    is_held: bool = False
    news: tuple[News, ...] = ()
    issues: tuple[NightlyIssue, ...] = ()
    commit: str | None = None
    suggestions: tuple[Suggestion, ...] = ()
    comment_on_suggestions: str = ""
    """The comment if the suggestions are posted: it refers to them."""


# From a result or an error to the answer


def answer_to(
    result: GateResult, out: Path, settings: ActionInputs, news: Sequence[News] = ()
) -> Answer:
    """Write the reports to `out`, print the verdict to the log, and return what to publish.

    Every report has `news` among its notices. If the reports cannot be written, the answer says so,
    and its exit code is 3 unless the result blocks anyway.
    """
    # Remove secrets before any text is cut, because a part of a secret could not be found later.
    result = redactor(settings.secrets).value(result)
    notices = [clean(f"{found.contract}: {found.text}", settings) for found in news]
    comment = clean(comment_text(result, notices), settings)
    unwritten = _write(result, notices, comment, out, settings)
    if unwritten:
        notices.append(clean(f"The reports could not be written: {unwritten}", settings))
        comment = clean(comment_text(result, notices), settings)
    said = result.contracts or result.uncovered or result.notices or notices
    newsworthy = bool(said or result.verdict != "pass")
    say(clean(_log(result, notices, newsworthy), settings))
    folder = settings.out.as_posix()
    files = {
        "out": folder,
        "result-path": f"{folder}/result.json",
        "comment-file": f"{folder}/comment.md",
        "report-path": f"{folder}/report.html",
        "junit-path": f"{folder}/junit.xml",
    }
    exit_code = result.exit_code or (unwritten.exit_code if unwritten else 0)
    return Answer(
        verdict=result.verdict,
        exit_code=exit_code,
        title=f"Reports missing. {title(result)}" if unwritten else title(result),
        comment=comment,
        summary=clean(render_summary(result, notices), settings),
        newsworthy=newsworthy,
        annotations=(
            *((_on_the_run(clean(str(unwritten), settings)),) if unwritten else ()),
            *_findings(result, settings),
        ),
        outputs={
            "verdict": result.verdict,
            "exit-code": str(exit_code),
            **({} if unwritten else files),
            "calls": str(result.calls.made),
            "cost-usd": "" if result.cost_usd is None else numbers.plain_amount(result.cost_usd),
        },
        news=news_of(result),
        commit=result.head_sha,
        suggestions=suggestions_of(result),
        comment_on_suggestions=clean(comment_text(result, notices, suggested=True), settings),
    )


def _write(
    result: GateResult, notices: Sequence[str], comment: str, out: Path, settings: ActionInputs
) -> WriteError | None:
    """Write the reports, with the comment as it is posted; return the error if this failed."""
    sent = comment_body(comment, result.head_sha, result.head_sha, comment_marker(settings.id))
    redact = redactor(settings.secrets)
    try:
        write_reports(result, out, settings.formats, notices=notices, redact=redact, comment=sent)
    except WriteError as error:
        return error
    give_reports_to_owner(settings.workspace, settings.out)
    return None


def _log(result: GateResult, notices: Sequence[str], newsworthy: bool) -> str:
    if not newsworthy:
        return f"{title(result)}: no contract is affected by this change"
    text = io.StringIO()
    print_result(result, None, log_console(text), notices)
    return text.getvalue()


def answer_to_error(error: GatekeeperError, settings: ActionInputs) -> Answer:
    """Return what to publish instead of a verdict."""
    exit_code = error.exit_code
    said = clean(str(error), settings)
    heading = _ERROR_TITLES.get(exit_code, "Could not measure")
    log = f"\n[Log of the run]({settings.run_url})\n" if settings.run_url else ""
    return _without_result(
        f"{heading}: {said.splitlines()[0] if said else ''}",
        f"## 🚫 {heading}\n\n{block(said, limit=20_000)}\n{log}",
        exit_code,
        redactor(settings.secrets).value(problems(error)),
        settings,
    )


def answer_to_hold(holds: Sequence[Words], found: RunEstimate, settings: ActionInputs) -> Answer:
    """Return what to publish of a check that may not call models: why, and what it would take."""
    from gatekeeper.reports.described.result import describe_estimate
    from gatekeeper.reports.markdown.render import render_markdown

    lead = (*holds, "No model was called. The required check fails until the prompts are tested.")
    section = Section("What a test takes", tuple(describe_estimate(found)))
    held = Document("⏸️ Not tested yet", "error", lead, [section])
    text = clean(render_markdown(held, redactor(settings.secrets)), settings)
    why = visible(clean(" ".join(map(plain_words, lead)), settings))
    told = (Annotation("error", "Not tested yet", why),)
    title = f"Not tested yet. A test takes {estimate_text(found)}"
    return replace(_without_result(title, text, COULD_NOT_MEASURE, told, settings), is_held=True)


def _without_result(
    title: str,
    text: str,
    exit_code: int,
    annotations: tuple[Annotation, ...],
    settings: ActionInputs,
) -> Answer:
    """Return the answer of a check that measured nothing, and write its comment to the file."""
    comment = f"{comment_marker(settings.id)}\n{text}"
    # A failure to write the file must not hide what is reported here.
    with suppress(WriteError, UsageError):
        redact = redactor(settings.secrets)
        write_files(
            {"comment.md": lambda: comment},
            out_folder(settings.workspace, settings.out),
            redact=redact,
        )
        give_reports_to_owner(settings.workspace, settings.out)
    return Answer(
        verdict="error",
        exit_code=exit_code,
        title=title,
        comment=text,
        summary=text,
        newsworthy=True,
        annotations=annotations,
        outputs={
            "verdict": "error",
            "exit-code": str(exit_code),
            "out": settings.out.as_posix(),
            "comment-file": f"{settings.out.as_posix()}/comment.md",
        },
    )


def _findings(result: GateResult, settings: ActionInputs) -> tuple[Annotation, ...]:
    """Return an annotation for each contract that does not pass, on changed prompt lines; the
    worst first."""
    return tuple(
        Annotation(
            level=_LEVELS[place.contract.verdict],
            title=visible(f"{place.contract.name}: {place.contract.verdict}"),
            message=clean(place.message, settings),
            path=place.path,
            line=place.line,
            end_line=place.end_line,
        )
        for place in places(result.contracts, result.blame)
    )


def problems(error: GatekeeperError) -> tuple[Annotation, ...]:
    """Return one annotation for each problem, at its position."""
    if not isinstance(error, ContractError):
        return (_on_the_run(str(error)),)
    return tuple(
        Annotation("error", "Contract", visible(str(problem)), problem.path, problem.line)
        for problem in error.problems
    )


def _on_the_run(text: str) -> Annotation:
    return Annotation("error", "Gatekeeper", visible(text))


# From the answer to GitHub


def deliver(answer: Answer, settings: ActionInputs, activity: Activity, api: RepositoryApi) -> int:
    """Publish the answer. If a part cannot be delivered, the log has a warning.

    Returns the answer's exit code, or 3 for a pass whose outputs could not be written, because a
    later step could misread missing outputs.
    """
    say_annotations(answer.annotations)
    outputs = dict(redactor(settings.secrets).value(answer.outputs))
    if isinstance(activity, CheckPullRequest):
        outputs["comment-url"] = _post_comment(answer, settings, activity, api)
    if isinstance(activity, CheckPullRequest | CheckMergeGroup):
        _show_on_commit(answer, settings, activity, api)
    try:
        write_summary(settings.summary_file, answer.summary)
    except WriteError as error:
        _say_warning(f"The job's summary could not be written: {error}", settings)
    try:
        write_outputs(settings.output_file, outputs)
    except WriteError as error:
        text = clean(f"The outputs could not be written: {error}", settings)
        say_annotations([_on_the_run(text)])
        return answer.exit_code or error.exit_code
    return answer.exit_code


def _show_on_commit(
    answer: Answer,
    settings: ActionInputs,
    activity: CheckPullRequest | CheckMergeGroup,
    api: RepositoryApi,
) -> None:
    """Set the commit status and create the check run, as far as the workflow wants them."""
    try:
        if settings.status_context:
            publish_status(
                api,
                activity.head_sha,
                None if answer.is_held else answer.exit_code,
                answer.title,
                context=settings.status_context,
                target_url=settings.run_url,
            )
            _end_replaced(settings, activity, api)
    except PublishError as error:
        advice = "If you do not want a commit status, leave the input `status-context` empty"
        _say_warning(f"{error}. {advice}", settings)
    try:
        if settings.check_run and not answer.is_held:
            # A button of a check run starts no workflow on a commit that GitHub Actions tests.
            again = f"To test again, open [the run]({settings.run_url}) and choose **Re-run jobs**."
            text = f"{again} A branch rule requires the job, not this page.\n\n{answer.comment}"
            passed, url = answer.exit_code == 0, settings.run_url
            name, sha = settings.check_run, activity.head_sha
            run = CheckRun(name, sha, passed, answer.title, text, url, answer.annotations)
            api.publish_check_run(run)
    except PublishError as error:
        _say_warning(f"{error}. If you do not want a check run, remove `check-run`", settings)


def _end_replaced(
    settings: ActionInputs, activity: CheckPullRequest | CheckMergeGroup, api: RepositoryApi
) -> None:
    """End the pending status of the commit before the push: its run was cancelled, has died or was
    held. Raises PublishError."""
    sha = activity.replaced_sha if isinstance(activity, CheckPullRequest) else None
    status = api.latest_status(sha, settings.status_context) if sha else None
    if sha and status is not None and status.state == "pending":
        text = "This commit was replaced by a push before it was tested"
        api.set_status(sha, "error", settings.status_context, text, status.target_url)


def _post_comment(
    answer: Answer, settings: ActionInputs, activity: CheckPullRequest, api: RepositoryApi
) -> str:
    checked = CheckedCommit(activity.number, activity.head_sha, answer.verdict, answer.newsworthy)
    try:
        comment, said = publish_comment(
            api,
            checked,
            lambda place: _suggest(answer, settings, checked, place, api),
            mode=settings.comment,
            marker=comment_marker(settings.id),
        )
    except PublishError as error:
        advice = "The file that the output `comment-file` names holds the text of the comment"
        _say_warning(f"{error}. {advice}", settings)
        return ""
    say(said)
    return comment.url if comment else ""


def _suggest(
    answer: Answer,
    settings: ActionInputs,
    checked: CheckedCommit,
    place: CommentPlace,
    api: RepositoryApi,
) -> str:
    """Post the suggestions on the lines of the pull request, and withdraw outdated ones. Returns
    the text of the comment: it shows as a diff what is not suggested.

    The comment's marker says that there are suggestions, so that other runs need not search them.
    """
    marker = suggestion_marker(settings.id)
    posted_before = place.existing is not None and marker in place.existing.body
    if not answer.suggestions and not posted_before:
        return answer.comment
    marked = f"{marker}\n{answer.comment}"
    if place.current_sha != checked.head_sha:
        # The run of the newer push posts and withdraws.
        return marked if posted_before else answer.comment
    try:
        posted = publish_suggestions(
            api, checked.number, checked.head_sha, marker, answer.suggestions
        )
    except PublishError as error:
        advice = "The suggested revert is also in the comment and in the job's summary"
        _say_warning(f"{error}. {advice}", settings)
        return marked
    return f"{marker}\n{answer.comment_on_suggestions}" if posted else answer.comment


def tell_issues(answer: Answer, settings: ActionInputs) -> tuple[News, ...]:
    """Open, update or close the issues of a nightly run. A failure is a warning in the log. Returns
    the news of those that are open since now, or that could not be opened."""
    if not answer.issues:
        return ()
    from gatekeeper.action.github.issues import OPENED, IssueApi, publish_issue

    api = IssueApi(settings.token, settings.repository, settings.api_url)
    link = f"\n\nLast checked by [this run]({settings.run_url})." if settings.run_url else ""
    news: list[News] = []
    for number, found in enumerate(answer.issues):
        own = issue_marker(settings.id, found.kind)
        title, body = clean(found.title, settings), clean(f"{found.body}{link}", settings)
        try:
            issue, said = publish_issue(api, own, found.changes, title, body, found.about)
        except PublishError as error:
            _say_warning(f"{error}. The job's summary says what changed", settings)
            return (*news, *(one for left in answer.issues[number:] for one in left.news))
        if issue and said:
            say(f"{said}: {issue.url}")
        if said.startswith(OPENED):
            news += found.news
    return tuple(news)


def notify(answer: Answer, settings: ActionInputs, activity: Activity, api: RepositoryApi) -> None:
    """Send notifications, if the workflow names addresses and there is news for them."""
    news = wanted(answer.news, settings.notify_on)
    if not news or not settings.notify:
        return
    number = _number_of(activity, api)
    page = f"{settings.home}/pull/{number}"
    body, wrong = notification_body(
        news,
        commit=answer.commit,
        url=settings.run_url,
        pull_request=page if number else None,
        template=settings.notify_template,
    )
    title = notification_title(news, settings.repository)
    unsent = send(settings.notify, clean(title, settings), clean(body, settings))
    for text in (*([wrong] if wrong else []), *unsent):
        _say_warning(text, settings)


def _number_of(activity: Activity, api: RepositoryApi) -> int | None:
    """Return the pull request that a run tests, or that a push has merged; None without one."""
    if isinstance(activity, CheckPullRequest | CheckMergeGroup):
        return activity.number
    if isinstance(activity, RunPush):
        with suppress(PublishError):
            return next((merged.number for merged in api.merged_as(activity.after)), None)
    return None


def say(text: str) -> None:
    """Print lines to the log so that the runner reads none of them as a command."""
    _print(log_text(text))


def say_annotations(annotations: Sequence[Annotation]) -> None:
    """Print the annotations as commands to the runner."""
    for line in annotation_commands(annotations):
        _print(line)


def _say_warning(text: str, settings: ActionInputs) -> None:
    _print(warning_command(visible(clean(text, settings))))


def _print(line: str) -> None:
    """Print a line, and ignore a log that cannot be written, so that the verdict is still
    published. `cli` reports the error at the end."""
    with suppress(OSError):
        print(line, flush=True)  # noqa: T201


# Secrets


def clean(text: str, settings: ActionInputs) -> str:
    """Remove known secrets: GitHub's log masking does not cover comments and files."""
    return redactor(settings.secrets).text(text)
