"""`/gatekeeper propose`: proposed contracts as a pull request.

The proposals are made again, within the policy's amount: an artifact could have been uploaded by
another workflow of the pull request. Branch, commit and title hold nothing that the pull request's
author wrote but its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from gatekeeper.action.activities import plan
from gatekeeper.action.github.proposals import Branch, GithubProposalApi
from gatekeeper.errors import PublishError
from gatekeeper.numbers import count, dollars
from gatekeeper.reports.escape import code, prose
from gatekeeper.reports.redact import redactor

if TYPE_CHECKING:
    from gatekeeper.action.checkout import Checkout
    from gatekeeper.action.events import CheckPullRequest
    from gatekeeper.action.github.repository import PullRequestState
    from gatekeeper.action.inputs import ActionInputs
    from gatekeeper.author.proposed_contracts import ProposedContracts

_OFF = (
    "The policy on the base branch does not allow proposals. To allow proposals, add "
    "`propose: {model: openai/gpt-4o-mini, cost_usd: 0.20}` to `.github/gatekeeper.yml` on the "
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
class Outcome:
    """The reply to the command as escaped text, and whether it was carried out."""

    text: str
    done: bool = False


def propose(
    settings: ActionInputs, state: PullRequestState, check: CheckPullRequest, checkout: Checkout
) -> Outcome:
    """Propose contracts for the changed prompts without one, commit them to a branch of their own
    and open a pull request into the present one. Raises GatekeeperError."""
    from gatekeeper.author.proposed_contracts import propose_contracts

    if not check.same_repository:
        return Outcome(_FORK)
    change, work = plan(settings, check, checkout)
    if not work.policy.propose.cost_usd:
        return Outcome(_OFF)
    if not work.affected.uncovered:
        return Outcome(_COVERED)
    api = GithubProposalApi(settings.token, settings.repository, settings.api_url)
    name, message = branch_name(state.number), commit_message(state.number)
    # Before anything is paid for.
    known = api.find_branch(name)
    if known is not None and not (known.own and known.message.strip() == message):
        return Outcome(
            f"The latest commit of the branch {code(name)} is not a commit of gatekeeper, so "
            "gatekeeper changed nothing. Merge or delete the branch, and repeat the command."
        )
    found = propose_contracts(change, work.policy, work.affected.uncovered)
    said = _notices(found)
    if not found.texts:
        return Outcome(f"Nothing was proposed.\n\n{said}")
    return Outcome(f"{_publish(api, settings, state, known, found)}\n\n{said}".rstrip(), True)


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
        place = f"{settings.server_url}/{settings.repository}"
        compare = f"{place}/compare/{quote(state.head_ref)}...{quote(name)}?expand=1"
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
        "GitHub does not start checks for a pull request that GitHub Actions opens. To start the "
        "checks, close the pull request and open the pull request again.\n"
    )
