"""The code of a team's own checks: which files it is, and the version of it that may run.

A pull request must not bring code that runs. So the code comes from the branch to merge into alone,
from files that the base policy's `checks.python` matches. What a pull request writes into such a
file is compared and named, never executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gatekeeper.contract.changes.affected import AffectedContract
from gatekeeper.contract.checks.check_specs import code_paths
from gatekeeper.contract.policies.policy import POLICY_PATH, Policy
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.reading.read import UnreadableError, read_text
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import CheckSpec, Contract, Position
from gatekeeper.errors import Problem


def with_trusted_code(
    affected: AffectedContract, trusted: Revision, policy: Policy
) -> AffectedContract:
    """Return both versions of a contract with the code of their own checks as the trusted revision
    has it."""
    return replace(
        affected,
        head=affected.head and trust_code(affected.head, trusted, policy),
        base=affected.base and trust_code(affected.base, trusted, policy),
    )


def trust_code(contract: Contract, trusted: Revision, policy: Policy) -> Contract:
    """Return the contract with the code of its own checks as the trusted revision has it. A file
    that is missing there, is a link, or is not matched by the policy is left out."""
    if not any(map(_has_code, contract.own_checks)):
        return contract
    known: dict[str, str | None] = {}

    def trust(spec: CheckSpec) -> CheckSpec:
        if not _has_code(spec):
            return spec
        if spec.parts:
            spec = replace(spec, parts=tuple(map(trust, spec.parts)))
        if spec.shape.code is None:
            return spec
        for path in code_paths(spec.params, spec.shape):
            if path not in known:
                known[path] = _trusted_text(path, trusted, policy)
        texts = {path: known[path] for path in code_paths(spec.params, spec.shape)}
        return replace(spec, code={p: text for p, text in texts.items() if text is not None})

    fixtures = (
        replace(fixture, checks=tuple(map(trust, fixture.checks))) if fixture.checks else fixture
        for fixture in contract.fixtures
    )
    checks = tuple(map(trust, contract.checks))
    return replace(contract, checks=checks, fixtures=tuple(fixtures))


def missing_code_notices(contracts: Iterable[Contract]) -> tuple[str, ...]:
    """Return a notice for each check whose code does not run: the outputs that it would evaluate
    are paid for, and cannot be measured."""
    found: dict[str, None] = {}
    for contract in contracts:
        for spec in contract.every_check():
            if spec.code is None:
                continue
            missing = [p for p in code_paths(spec.params, spec.shape) if p not in spec.code]
            if missing:
                listed = ", ".join(f"`{path}`" for path in missing)
                notice = (
                    f"The check `{spec.name}` of the contract {contract.name} cannot run. The "
                    "code of the check is missing on the branch to merge into, or the policy "
                    f"of that branch does not list the code under `checks.python`: {listed}. "
                    "Merge the code and the policy first; otherwise, the run pays for answers "
                    "that this check cannot evaluate."
                )
                found[notice] = None
    return tuple(found)


def unlisted_code(contract: Contract, policy: Policy) -> Iterator[tuple[CheckSpec, str]]:
    """Yield each file of a check's code that the policy does not list, so that it would never run,
    with the check."""
    for spec in contract.every_check():
        for path in code_paths(spec.params, spec.shape) if spec.shape.code is not None else ():
            if not _is_listed(path, policy):
                yield spec, path


def unlisted_code_problems(contract: Contract, policy: Policy) -> Iterator[Problem]:
    """Yield each check with such code, with its place."""
    for spec, path in unlisted_code(contract, policy):
        what = f"check `{spec.name}` cannot run, because the policy does not list `{path}`"
        fix = f"add `{path}` to `checks: {{python: […]}}` in {POLICY_PATH}"
        at = spec.position or Position(contract.path)
        yield at.problem(what, fix)


def _is_listed(path: str, policy: Policy) -> bool:
    return any(path in matching([path], pattern) for pattern in policy.checks.python)


def _has_code(spec: CheckSpec) -> bool:
    return spec.shape.code is not None or any(map(_has_code, spec.parts))


def _trusted_text(path: str, trusted: Revision, policy: Policy) -> str | None:
    if not _is_listed(path, policy):
        return None
    try:
        return read_text(trusted, path)
    except UnreadableError:
        return None
