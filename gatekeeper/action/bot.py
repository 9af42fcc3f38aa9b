"""Runs the commands in comments: who may give them, what they do, and the reply to each.

Every command applies to the pull request's head at that time, and needs the role that the policy at
the tip of the base branch requires. Nothing of the head is executed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, assert_never
from urllib.parse import quote

from gatekeeper.action.activities import Job, check, plan, suite_of_head, to_check, waiver_place
from gatekeeper.action.checkout import Checkout
from gatekeeper.action.events import USAGE, CheckPullRequest, Command, NotUnderstood, Respond
from gatekeeper.action.github.comments import marked_body, post_or_update
from gatekeeper.action.github.proposals import NO_CHECKS, Branch, GithubProposalApi
from gatekeeper.action.github.repository import (
    PullRequestState,
    Reaction,
    RepositoryApi,
    WorkflowRun,
    enough,
)
from gatekeeper.action.inputs import ActionInputs
from gatekeeper.action.publish import answer_to, clean, deliver, say
from gatekeeper.action.waivers import checked_before, is_of_a_pull_request, waiver_line
from gatekeeper.action.workspace import out_folder
from gatekeeper.contract.policies.policy import Policy, WaiverPolicy, load_policy
from gatekeeper.contract.values.definition import POLICY_NAME
from gatekeeper.errors import AuthorError, Bug, ContractError, PublishError, UsageError, as_told
from gatekeeper.gate.results.links import run_address
from gatekeeper.gate.results.result import GateResult, Waiver, WaiverKind
from gatekeeper.numbers import count, dollars
from gatekeeper.reports.escape import block, code, prose
from gatekeeper.reports.markdown.explanation import render_explanation
from gatekeeper.reports.markers import reply_marker
from gatekeeper.reports.redact import redactor

if TYPE_CHECKING:
    from gatekeeper.author.proposed_contracts import ProposedContracts


# `/gatekeeper propose`: proposed contracts as a pull request.
#
# The proposals are made again, within the policy's amount: an artifact could have been uploaded by
# another workflow of the pull request. Branch, commit and title hold nothing that the pull
# request's author wrote but its number.


_OFF = (
    "The policy on the base branch does not allow proposals. To allow proposals, add "
    "`propose: {model: openai/gpt-5.4-mini, cost_usd: 0.20}` to `.github/gatekeeper.yml` on the "
    "base branch."
)
_FORK = (
    "gatekeeper does not propose contracts for pull requests from forks, because each proposal "
    "costs money."
)
_COVERED = "Every prompt that this pull request adds or changes has a contract."
_NOT_ALLOWED = (
    "In the repository's settings under **Actions**, **General**, a maintainer can turn on **Allow "
    "GitHub Actions to create and approve pull requests**"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a command, as escaped text. `then` runs after the reply is posted, and its
    text is added to the reply. `record` is the hidden line of a waiver."""

    text: str
    reaction: Reaction = "rocket"
    exit_code: int = 0
    record: str | None = None
    then: Callable[[], str] | None = None


def propose(context: CommandContext) -> Reply:
    """Propose contracts for the changed prompts without one, commit them to a branch of their own
    and open a pull request into the present one. Raises GatekeeperError."""
    from gatekeeper.author.proposed_contracts import propose_contracts

    settings, state = context.job.settings, context.state
    if not context.check.same_repository:
        return Reply(_FORK, "confused")
    change, work = plan(context.job, context.check)
    if not work.policy.propose.cost_usd:
        return Reply(_OFF, "confused")
    if not work.affected.uncovered:
        return Reply(_COVERED, "confused")
    api = GithubProposalApi(settings.token, settings.repository, settings.api_url)
    name, message = branch_name(state.number), commit_message(state.number)
    # Before anything is paid for.
    known = api.find_branch(name)
    if known is not None and not (known.own and known.message.strip() == message):
        return Reply(
            f"The latest commit of the branch {code(name)} is not a commit of gatekeeper, so "
            "gatekeeper changed nothing. Merge or delete the branch, and repeat the command.",
            "confused",
        )
    found = propose_contracts(change, work.policy, work.affected.uncovered)
    said = _notices(found)
    if not found.texts:
        return Reply(f"Nothing was proposed.\n\n{said}", "confused")
    return Reply(f"{_publish(api, settings, state, known, found)}\n\n{said}".rstrip())


def branch_name(number: int) -> str:
    """Return the branch for the proposals of a pull request."""
    return f"gatekeeper/propose-{number}"


def commit_message(number: int) -> str:
    """Return the message of each commit to that branch."""
    return f"Propose contracts for pull request {number}"


def _publish(
    api: GithubProposalApi,
    settings: ActionInputs,
    state: PullRequestState,
    known: Branch | None,
    found: ProposedContracts,
) -> str:
    """Commit the files and open the pull request, and return what to reply."""
    name, message = branch_name(state.number), commit_message(state.number)
    texts = redactor(settings.secrets).value(dict(found.texts))
    sha = api.commit_files(name, known, state.head_sha, texts, message)
    body = redactor(settings.secrets).text(pull_request_text(state.number, found))
    try:
        address, opened = api.open_pull_request(name, state.head_ref, message, body)
    except PublishError as error:
        compare = f"{settings.home}/compare/{quote(state.head_ref)}...{quote(name)}?expand=1"
        return (
            f"The proposal is on the branch {code(name)}, but gatekeeper could not open a pull "
            f"request: {prose(str(error))}. [You can open the pull request]({compare}). "
            f"{_NOT_ALLOWED}."
        )
    if opened:
        return f"Opened [a pull request]({address}) with {_files(found)}."
    if known is not None and sha == known.sha:
        return f"[The pull request]({address}) has this proposal already."
    return f"Updated [the pull request]({address}) with {_files(found)}."


def _files(found: ProposedContracts) -> str:
    spent = "" if found.cost_usd is None else f", {dollars(found.cost_usd)}"
    contracts = count(len(found.proposals), "proposed contract")
    return f"{contracts} ({count(found.calls, 'call')}{spent})"


def _notices(found: ProposedContracts) -> str:
    return "\n".join(f"- {prose(notice, 2_000)}" for notice in found.notices)


def pull_request_text(number: int, found: ProposedContracts) -> str:
    """Return the description of the pull request, as escaped text."""
    rows = "\n".join(
        f"- {code(proposal.contract, 200)} for {code(proposal.prompt, 200)}: "
        f"{count(proposal.rules, 'rule')}, {count(proposal.fixtures, 'fixture')}"
        for proposal in found.proposals
    )
    return (
        f"#{number} adds or changes prompts that have no contract. This pull request proposes "
        f"contracts for these prompts. If you merge this pull request, #{number} contains the "
        f"contracts.\n\n{rows}\n\n"
        f"A model wrote these files from the text of the prompts in #{number}. Read "
        "the rules in each `.spec.yaml` before you merge, because a contract that demands too "
        "little does not protect the prompt. Edit or remove wrong rules; later runs of "
        "`gatekeeper generate` keep your edits.\n\n"
        f"{NO_CHECKS}\n"
    )


_UNSIGNED = (
    "The record of this command is not signed, because the bot's job has neither a model's API "
    "key nor the secret `GATEKEEPER_WAIVER_KEY`. If the gate's job has such a key, the gate "
    "ignores the command. Give both jobs the same `GATEKEEPER_WAIVER_KEY`."
)
_CUT = "\n\n… This text was cut. For the whole text, see this run's summary and artifact.\n"


@dataclass(frozen=True, slots=True)
class CommandContext:
    """Everything that a command needs: the job, the present pull request, and the check of its
    change."""

    job: Job
    request: Respond
    state: PullRequestState
    check: CheckPullRequest


def respond(settings: ActionInputs, request: Respond, api: RepositoryApi) -> int:
    """Carry out the comment's command and reply. Returns the exit code, 0 for success."""
    try:
        reply = _reply(settings, request, api)
    except Exception as error:
        told = as_told(error)
        if isinstance(told, Bug):
            say(clean(told.trace, settings))
        # A person's mistake is explained in the reply and does not fail the job.
        exit_code = 0 if isinstance(told, AuthorError) else told.exit_code
        reply = Reply(block(clean(str(told), settings), limit=20_000), "confused", exit_code)
    if reply is None:
        return 0
    return _send(reply, settings, request, api)


def _reply(settings: ActionInputs, request: Respond, api: RepositoryApi) -> Reply | None:
    """Return the reply, or None if the command was carried out before."""
    state = api.pull_request(request.number)
    tip = api.commit_sha(f"heads/{state.base_ref}")
    with Checkout(settings) as checkout:
        wanted = _policy(checkout, tip).waivers.permission
        role = api.role(request.author)
        if not enough(role, wanted):
            return _refusal(request, role, wanted)
        _react(api, request, "eyes")
        if not state.is_open:
            return Reply("This pull request is closed, so no command can run.", "confused")
        if isinstance(request.command, NotUnderstood):
            return _help(request.command)
        check = to_check(state, tip)
        job = Job(settings, api, checkout)
        return _carry_out(request.command, CommandContext(job, request, state, check))


def _policy(checkout: Checkout, tip: str) -> Policy:
    try:
        return load_policy(checkout.revision(tip))
    except ContractError:
        # It may have required the highest role.
        return Policy(waivers=WaiverPolicy("admin"))


def _refusal(request: Respond, role: str, wanted: str) -> Reply:
    return Reply(
        f"{prose('@' + request.author)} has the role {code(role)} in this "
        "repository. The policy accepts commands only from the role "
        f"{code(wanted)} or higher (`waivers.permission`). Nothing was done.",
        "-1",
    )


def _help(request: NotUnderstood) -> Reply:
    return Reply(f"Invalid command: {request.why}.\n\n{block(USAGE)}", "confused")


def _carry_out(command: Command, context: CommandContext) -> Reply | None:
    match command.name:
        case "rerun":
            return Reply("You asked to run the gate again.", then=lambda: _run_again(context))
        case "run":
            return Reply(_deliver(context, _one(context, command.contract or "")))
        case "full":
            return Reply(_deliver(context, suite_of_head(context.job, context.check)))
        case "explain":
            name = command.contract or ""
            result = check(context.job, context.check, (name,))
            _deliver(context, result)
            return Reply(clean(render_explanation(result, name), context.job.settings))
        case "propose":
            return propose(context)
        case "waive" | "accept":
            return _waive(context, command.name, command.contract, command.reason)
        case never:
            assert_never(never)


# Commands that run the gate


def _one(context: CommandContext, name: str) -> GateResult:
    """Run one contract: base against head if the change affects it, else on head alone."""
    _, work = plan(context.job, context.check, (name,))
    if work.jobs or work.removed:
        return check(context.job, context.check, (name,))
    return suite_of_head(context.job, context.check, (name,))


def _deliver(context: CommandContext, result: GateResult) -> str:
    """Write reports, outputs and summary as for any run, and return the comment's text."""
    out = out_folder(context.job.settings.workspace, context.job.settings.out)
    answer = answer_to(result, out, context.job.settings)
    deliver(answer, context.job.settings, context.request, context.job.api)
    return answer.comment


# Waivers


def _waive(
    context: CommandContext, kind: WaiverKind, contract: str | None, reason: str
) -> Reply | None:
    request, state = context.request, context.state
    if context.job.api.find_comment(
        request.number, reply_marker(context.job.settings.id, request.comment_id)
    ):
        # The job was run again: the command was for the head at that time, not for this one.
        return None
    _, work = plan(context.job, context.check, (contract,) if contract else ())
    names = [name for name in work.waivable if kind == "waive" or name != POLICY_NAME]
    if not names or (contract and contract not in names):
        what = f"{code(contract)} is not" if contract else "No contract is"
        return Reply(f"{what} affected by this change, so there is nothing to {kind}.", "confused")
    if (problem := _refuse_unseen(context)) is not None:
        return Reply(problem, "confused")
    place = waiver_place(context.job.settings, request.number)
    waiver = Waiver(contract, kind, request.author, state.head_sha, reason, request.time)
    of = code(contract) if contract else "every contract that this change affects"
    text = (
        f"Waived for {code(state.head_sha[:10])}: {of} no longer blocks this commit. "
        f"Reason: {prose(reason)}."
        if kind == "waive"
        else f"Accepted for {code(state.head_sha[:10])}: a regression of {of} no longer blocks "
        "this commit. A missed objective continues to block this commit."
    )
    text += " The command has effect until the next push, or until you edit your comment."
    if not place.keys:
        text += f" {_UNSIGNED}"
    return Reply(
        text,
        record=waiver_line(waiver, request.comment_id, place),
        then=lambda: _run_again(context),
    )


def _refuse_unseen(context: CommandContext) -> str | None:
    """Return why the command may not be for the present head, or None if nothing indicates this.

    Otherwise a push after the comment would be waived although nobody saw it. GitHub starts
    a run for every push, and both times are GitHub's own.
    """
    said = _time(context.request.time)
    sha = code(context.state.head_sha[:10])
    again = "Repeat the command after the gate has finished on this commit."
    checked = checked_before(context.job.api.workflow_runs(context.state.head_sha), said)
    if checked is None:
        return f"No workflow has run for {sha} yet. {again}"
    if not checked:
        return f"{sha} was pushed, or its checks began, after your comment. {again}"
    return None


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"the event's comment.created_at is {text!r}, not a time") from None


# The required check is the exit code of the gate's job, so only that job can lift it


def _run_again(context: CommandContext) -> str:
    """Repeat the gate's latest run for the head, or return what to click."""
    click = "Open the pull request's checks, choose the gate's run and click **Re-run failed jobs**"
    try:
        run = _gate_run(context)
    except PublishError as error:
        return f"gatekeeper could not find the gate's run: {prose(str(error))}. {click}."
    if run is None:
        sha = code(context.state.head_sha[:10])
        return f"gatekeeper could not tell which workflow run of {sha} is the gate's. {click}."
    address = run_address(context.job.settings.home, run.id)
    if run.conclusion is None:
        return (
            f"[The gate's run]({address}) is in progress. If this run fails, write "
            "`/gatekeeper rerun` in a comment."
        )
    try:
        context.job.api.rerun(run)
    except PublishError as error:
        return (
            f"gatekeeper could not start [the gate's run]({address}) again: {prose(str(error))}. "
            "Open that run and click **Re-run failed jobs**."
        )
    return f"[The gate's run]({address}) has been started again."


def _gate_run(context: CommandContext) -> WorkflowRun | None:
    """Return the run that the gate's status links to. Without a status, return the latest run if
    only one workflow runs on this pull request."""
    sha, status_context = context.state.head_sha, context.job.settings.status_context
    if status_context:
        with suppress(PublishError):
            found = context.job.api.run_of_status(sha, status_context)
            if found is not None:
                return context.job.api.workflow_run(found)
    runs = [run for run in context.job.api.workflow_runs(sha) if is_of_a_pull_request(run)]
    return runs[0] if len({run.path for run in runs}) == 1 else None


# Telling


def _send(reply: Reply, settings: ActionInputs, request: Respond, api: RepositoryApi) -> int:
    """Post one comment for the command. `then` runs only after the waiver's record is posted."""
    first = reply_marker(settings.id, request.comment_id)
    lines = [reply.record, first] if reply.record else [first]
    text = clean(reply.text, settings)
    if isinstance(request.command, Command) and request.command.more:
        text += "\n\nOnly the first command of your comment was carried out."
    try:
        comment = post_or_update(api, request.number, first, marked_body(lines, text, _CUT))
        if reply.then:
            done = clean(reply.then(), settings)
            api.update_comment(comment, marked_body(lines, f"{text}\n\n{done}", _CUT))
    except PublishError as error:
        say(f"The reply could not be posted: {clean(str(error), settings)}")
        say(text)
        _react(api, request, "confused")
        return error.exit_code
    _react(api, request, reply.reaction)
    say(f"Replied: {comment.url}")
    return reply.exit_code


def _react(api: RepositoryApi, request: Respond, reaction: Reaction) -> None:
    """Add a reaction to the comment; a failure is ignored."""
    try:
        api.react(request.number, request.comment_id, reaction)
    except PublishError as error:
        say(str(error))
