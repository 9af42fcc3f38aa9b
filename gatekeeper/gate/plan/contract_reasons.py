"""Reasons about the contract itself: what a pull request removes, replaces, adds, leaves the same
or leaves without one, whatever the model answers. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.checks.reading.output import quote
from gatekeeper.contract.changes.affected import Affected, AffectedContract
from gatekeeper.contract.changes.renaming import find_renaming, same_everywhere
from gatekeeper.contract.fixtures.unused_variables import names_sent, placeholder_fixtures
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.values.definition import POLICY_NAME, Contract
from gatekeeper.contract.weakening.policy_weakening import Weakening
from gatekeeper.errors import ContractError, Problem
from gatekeeper.gate.plan.plan import Job, plan_job
from gatekeeper.gate.results.result import Reason

if TYPE_CHECKING:
    from gatekeeper.contract.templates.structure import NewLine


def uncovered_reasons(paths: Sequence[str], policy: Policy) -> list[Reason]:
    """Return the reasons of changed prompts without a contract."""
    found = ((path, policy.at(path).require_contract) for path in paths)
    return [
        Reason("uncovered", f"{path} has no contract.", "fail" if required else "pass")
        for path, required in found
    ]


def weakened_reasons(job: Job, policy: Policy) -> list[Reason]:
    """Return the reason for each weakening, and which contract applies then."""
    if not job.weakened:
        return []
    if policy.on_weakening == "require_waiver":
        text = (
            f"The contract was weakened: {'; '.join(job.weakened)}. The base policy requires a "
            "maintainer's waiver (`on_weakening: require_waiver`)."
        )
        return [Reason("weakened", text, "fail")]
    if policy.allow.weakening:
        text = "The contract was weakened, which the policy allows."
        return [Reason("weakened", text, "pass")]
    if any(evaluation.contract_from == "base" for evaluation in job.evaluations):
        text = "The contract was weakened, so the base contract also applies."
        if job.keeps_model and not any(evaluation.base for evaluation in job.evaluations):
            text += " Every request is the same as before, so there is nothing to compare."
        return [Reason("weakened", text, "pass")]
    if job.base_problem is not None:
        text = "The contract was weakened, and the base contract cannot be applied."
        return [Reason("weakened", text, "inconclusive")]
    ways = "; ".join(job.weakened)
    text = f"The contract was weakened in a way that no measurement can evaluate: {ways}."
    return [Reason("weakened", text, "fail")]


def removed_reason(contract: AffectedContract, policy: Policy) -> Reason:
    """Return the reason for a contract that head no longer has."""
    if contract.broken and contract.base is None:
        changed = numbers.some([cause.path for cause in contract.affected_by], 3)
        text = (
            "Gatekeeper cannot run this contract, and could not run it before: "
            f"{_sentence(contract.broken)} So nothing tests the change of {changed}. "
            "Correct the mistake, in this pull request or in another one."
        )
        return Reason("error", text, "inconclusive")
    if contract.broken:
        text = (
            "Gatekeeper can no longer use the file of this contract: "
            f"{_sentence(contract.broken)} The contract applied before this change, so "
            f"{_left_untested(contract)}."
        )
        return Reason("removed", text, "fail")
    if contract.prompt_still_there:
        return _left_by_removal(contract, policy)
    if contract.successors and not policy.allow.contract_removal:
        added = numbers.some(contract.successors, 3)
        text = (
            "The contract was removed together with its prompt, and this pull "
            f"request adds {added}. Gatekeeper could not compare the old and the new "
            "prompt. If a new prompt replaces the old prompt, keep a contract with the name "
            f"{contract.name}. If not, remove the old prompt in "
            "a separate pull request, or ask a maintainer to waive this result."
        )
        return Reason("replaced", text, "inconclusive")
    return Reason("removed", "The contract was removed together with its prompt.", "pass")


def left_reasons(
    prompt: str | None, policy: Policy, replaced_by: str | None = None
) -> list[Reason]:
    """Return the reason for a contract that now names another prompt while its old one still
    exists. `replaced_by` says what the old one is now, if it is no longer a regular file."""
    if prompt is None:
        return []
    if policy.allow.contract_removal:
        text = f"The contract no longer tests {prompt}. The policy allows this."
        return [Reason("removed", text, "pass")]
    stays = f"which is {replaced_by}" if replaced_by else "which still exists"
    let = "Restore the regular file and let" if replaced_by else "Let"
    text = (
        f"The contract no longer tests {prompt}, {stays}. {let} this contract test it as before, "
        "remove the prompt, or set `allow: {contract_removal: true}` in the base policy."
    )
    return [Reason("removed", text, "fail")]


def new_contract_reasons(job: Job, policy: Policy) -> list[Reason]:
    """Return the reasons for a contract without a base version that has too few fixtures, or whose
    prompt replaced one that could not be compared with it."""
    reasons = []
    distinct = len(job.contract.fixtures) - len(job.evaluations[0].counts_with)
    required = policy.new_contracts.fixtures
    if job.is_new and distinct < required:
        found = f"{numbers.count(distinct, 'fixture')} with distinct inputs"
        if job.evaluations[0].clustered:
            clusters = numbers.count(distinct, "cluster")
            found = f"{numbers.count(len(job.contract.fixtures), 'fixture')} in {clusters}"
        text = (
            f"The contract is new and has {found}; the base policy requires "
            f"at least {required:,} (`new_contracts.fixtures`)."
        )
        reasons.append(Reason("new_contract", text, "fail"))
    if job.lost_prompt and not policy.allow.contract_removal:
        text = (
            f"This change removes the prompt {job.lost_prompt} of the base contract. "
            "Gatekeeper could not compare the removed prompt with "
            f"{job.contract.target.prompt.reference}, because the base contract "
            "cannot be loaded. Repair the base contract first, in a separate "
            "pull request, or ask a maintainer to waive this result."
        )
        reasons.append(Reason("replaced", text, "inconclusive"))
    elif job.successors and not policy.allow.contract_removal:
        others = numbers.some(job.successors, 3)
        text = (
            "This change removes the prompt of the base contract. Gatekeeper compared "
            f"the removed prompt with {job.contract.target.prompt.reference}, which the contract "
            f"now tests. But {others} in this pull request may also replace the removed prompt. "
            "Set the contract's `prompt` to the file that replaces the removed "
            "prompt, and add all other new prompts in a separate pull request. Or ask a "
            "maintainer to waive this result."
        )
        reasons.append(Reason("replaced", text, "inconclusive"))
    return reasons


def untested_reasons(job: Job) -> list[Reason]:
    """Return the reason for a template that changed while every message of the contract's fixtures
    stayed the same. A change of the model or its parameters does not test the template. Beside a
    change that is tested, new text that no request has is only named."""
    if job.base is None or job.left_prompt or not (job.leaves_messages or job.paired):
        return []
    unseen = _unseen(job.unseen_lines)
    if not job.leaves_messages:
        text = f"No request of the fixtures has {unseen}, so it was not tested."
        return [Reason("untested", text, "pass")] if unseen else []
    if not job.changes_template:
        return []
    same = "request of the fixtures is the same as before, so nothing was measured"
    if not job.leaves_requests:
        same = (
            "message of the fixtures is the same as before, so nothing tested the changed template"
        )
    text = (
        f"The template in {job.contract.target.prompt.reference} changed, but every {same}. "
        f"{f'No request has {unseen}. ' if unseen else ''}Add a fixture that uses the changed part "
        "of the template."
    )
    if any(line.in_comment for line in job.unseen_lines):
        text += (
            " If your program renders the prompt with Jinja, which drops comments, write "
            "`template: jinja` in the contract."
        )
    return [Reason("untested", text, "inconclusive")]


def example_reasons(contract: Contract) -> list[Reason]:
    """Return the reason for fixtures that still have the values of `gatekeeper init`: whatever was
    measured, nobody sends such an input."""
    found = placeholder_fixtures(contract)
    return [Reason("examples", f"{f.path}:{f.line}: {f.what}.", "inconclusive") for f in found]


def _unseen(lines: Sequence[NewLine]) -> str:
    """Name the first new line that no request has, and count the others."""
    if not lines:
        return ""
    more = f" and {numbers.count(len(lines) - 1, 'more new line')}" if len(lines) > 1 else ""
    return f"the new text {quote(lines[0].text)} in {lines[0].path}:{lines[0].line}{more}"


def lent_reasons(job: Job) -> list[Reason]:
    """Return the reason for variables that head's prompt needs and whose only value comes from
    head's fixtures: that value can tell the model what the program will not tell it."""
    if job.base is None or all(e.contract_from == "head" for e in job.evaluations):
        return []
    before, now = job.base.fixtures, job.contract.fixtures
    known = {name for fixture in before for name in fixture.vars}
    known.update(find_renaming(before, now).values())
    new = sorted(same_everywhere(now) & names_sent(job.contract) - known)
    if not new:
        return []
    names = ", ".join(f"`{name}`" for name in new)
    text = (
        f"The new prompt reads {names}, which no fixture of the base contract has. Those fixtures "
        "got the only value that this pull request uses, so no other value was tested. To settle "
        f"this, first add {names} to the fixtures, in a pull request that leaves the prompt as it "
        "is."
    )
    return [Reason("untested", text, "inconclusive", "base")]


def unanswerable_reasons(job: Job) -> list[Reason]:
    """Return the reason for a base contract of whose fixtures head's prompt can take none. Whatever
    is measured, it is not known what head would have answered, so no call is made."""
    of_base = (e for e in job.evaluations if e.contract_from != "head" and e.unknown_on_head)
    if job.base is None or all(evaluation.units() for evaluation in of_base):
        return []
    before = {name for fixture in job.base.fixtures for name in fixture.vars}
    now = {name for fixture in job.contract.fixtures for name in fixture.vars}
    names = ", ".join(f"`{name}`" for name in sorted(now - before)) or "other variables"
    text = (
        f"The new prompt needs {names}, which no fixture of the base contract has, so it cannot be "
        "compared on these fixtures, and nothing was measured. Give each new variable a default in "
        "the prompt (`{{ name | default('…') }}`) or the same value in all fixtures. Or add it to "
        "the fixtures first, in a pull request that leaves the prompt as it is."
    )
    return [Reason("error", text, "error", "base")]


def policy_reasons(weakened: Sequence[Weakening], policy: Policy) -> list[Reason]:
    """Return the reason for a weakened policy, a changed calibration or added comparisons, if the
    base policy requires a waiver for this."""
    weakened = [found for found in weakened if _needs_waiver(found, policy)]
    if not weakened:
        return []
    keys = ", ".join(f"`{found.place}`" for found in weakened)
    kinds = {found.what for found in weakened}
    what = kinds.pop() if len(kinds) == 1 else "The policy is weakened"
    text = (
        f"{what} ({keys}), and the base policy requires a maintainer's waiver "
        "(`on_weakening: require_waiver`). A maintainer can waive this result with the comment "
        f"`/gatekeeper waive {POLICY_NAME}: REASON`."
    )
    return [Reason("policy_weakened", text, "fail")]


def _needs_waiver(found: Weakening, policy: Policy) -> bool:
    return policy.at(found.policy_path, found.key).on_weakening == "require_waiver"


def not_held_up(reason: Reason) -> Reason:
    """Return the reason for a change that leaves every request the same and weakens nothing: open
    questions were open before, so only certain failures block it."""
    if reason.verdict != "inconclusive" or reason.code not in ("slo", "unseen", "undecided"):
        return reason
    unchanged = (
        "The prompt and its settings did not change, so this result does not block the merge."
    )
    text = f"{reason.text} {unchanged}"
    if reason.code == "unseen":
        text = "The prompt did not change, and no objective is significantly missed."
    return replace(reason, text=text, verdict="pass")


def _left_by_removal(contract: AffectedContract, policy: Policy) -> Reason:
    if policy.allow.contract_removal:
        text = "The contract was removed, but its prompt remains. The policy allows this."
        return Reason("removed", text, "pass")
    stays = f"is {contract.left_as}" if contract.left_as else "remains"
    keep = "Restore the regular file and keep" if contract.left_as else "Keep"
    text = (
        f"The contract was removed, but its prompt {stays}, so {_left_untested(contract)}. "
        f"{keep} the contract, or set `allow: {{contract_removal: true}}` in the base policy."
    )
    return Reason("removed", text, "fail")


def _left_untested(contract: AffectedContract) -> str:
    """Return what a removed contract means for its prompt, which other contracts may test."""
    names = numbers.some(contract.also_tested_by, 3)
    return f"{f'only {names}' if names else 'no contract'} would test the prompt"


def _sentence(problem: Problem) -> str:
    text = str(problem)
    return text if text.endswith(("?", ".")) else f"{text}."


# Plans the contracts of a run, without those that could not run before either, such as a suite with
# a test that lacks a variable. One of them does not stop the run of the others.


def plan_usable(
    wanted: Sequence[AffectedContract], policy: Policy, seed: str
) -> tuple[list[Job], dict[str, ContractError]]:
    """Return the jobs, and the errors of contracts that cannot run, and could not before, by their
    names. Raises ContractError if the change is to blame, or no contract of a full suite can run.
    """
    planned: list[Job] = []
    left_out: dict[str, ContractError] = {}
    for contract in wanted:
        if contract.head is None:
            continue
        try:
            planned.append(plan_job(contract, policy, seed))
        except ContractError as error:
            edited = contract.path in {cause.path for cause in contract.affected_by}
            own = not contract.is_foreign and (edited or contract.base is None)
            if own or not _fails_without_change(contract, policy):
                raise
            left_out[contract.name] = error
    if left_out and not planned and not any(c.affected_by for c in wanted):
        raise next(iter(left_out.values()))
    return planned, left_out


def _fails_without_change(contract: AffectedContract, policy: Policy) -> bool:
    """Return whether a contract that cannot run at head could not run at base either. In a full
    suite, which has no base, nothing changed."""
    if contract.base is None:
        return not contract.affected_by
    alone = replace(contract, head=contract.base, base=None, base_target=None)
    try:
        plan_job(alone, policy)
    except ContractError:
        return True
    return False


def without_unusable(
    affected: Affected, left_out: Mapping[str, ContractError], policy: Policy
) -> Affected:
    """Remove the contracts that cannot run. Notices name those of a full suite; a change that
    touches the others is not tested, and their changed prompts have no contract."""
    if not left_out:
        return affected
    kept = tuple(c for c in affected.contracts if c.name not in left_out)
    unknown = tuple(
        replace(c, base=None, head=None, broken=left_out[c.name].problems[0])
        for c in affected.contracts
        if c.name in left_out and c.affected_by
    )
    covered = {path for c in kept if c.head for path in c.head.dependencies}
    open_ = {
        cause.path
        for c in affected.contracts
        if c.name in left_out and c.head
        for cause in c.affected_by
        if cause.path in {prompt.path for prompt in c.head.target.prompts} - covered
    }
    watched = {path for pattern in policy.prompts for path in matching(open_, pattern)}
    notices = (
        f"Gatekeeper does not run the contract {name}: {error.problems[0]}"
        for name, error in left_out.items()
        if name not in {contract.name for contract in unknown}
    )
    return replace(
        affected,
        contracts=tuple(sorted((*kept, *unknown), key=lambda c: c.name)),
        uncovered=tuple(sorted({*affected.uncovered, *watched})),
        notices=(*affected.notices, *notices),
    )
