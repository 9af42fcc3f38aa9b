"""Plans a comparison of a contract's prompt with variants of it, by the rules of the gate.

Each variant is tested against the prompt as a pull request would be. All variants share the calls
of the base arm, and one alpha (Holm).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from gatekeeper.contract.changes.affected import Affected, AffectedContract
from gatekeeper.contract.changes.groups import with_groups
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract, GatePolicy, Prompt
from gatekeeper.gate.work import Work, plan_contracts


def plan_variants(
    contract: Contract,
    variants: Mapping[str, Prompt],
    policy: Policy,
    revision: Revision,
    order_seed: str | None = None,
) -> Work:
    """Plan to compare the contract's prompt (base) with each variant (head).

    Args:
        contract: Its objectives, tolerance and limits are left out: only the comparison counts.
        variants: The prompts by the name of their comparison, which must not be the contract's.
        policy: Its limits and allowed models hold.
        revision: Where the contract comes from; the code of its checks is read there.
        order_seed: The seed of the order of the trials; None for a new one.

    Raises ContractError and UsageError.
    """
    compared = _comparison_alone(contract)
    found = with_groups(
        Affected(tuple(_changed(compared, name, prompt) for name, prompt in variants.items()))
    )
    shared = tuple(_sharing_calls(one, contract.name) for one in found.contracts)
    affected = Affected(shared)
    sha = revision.sha
    work = plan_contracts("check", sha, sha, policy, affected, (), (revision,), order_seed)
    # What planning says of each variant would be said as often as there are variants.
    return replace(work, affected=replace(work.affected, notices=()))


def variant_of(name: str, variants: Collection[str]) -> str:
    """Return the variant that a planned contract belongs to: its own name, or for a group of
    checks the name before its last dot."""
    return name if name in variants else name.rpartition(".")[0]


def _comparison_alone(contract: Contract) -> Contract:
    gate = GatePolicy(alpha=contract.gate.alpha, margin=contract.gate.margin)
    groups = tuple(_comparison_alone(group) for group in contract.groups)
    return replace(contract, slo=(), gate=gate, groups=groups)


def _changed(contract: Contract, name: str, prompt: Prompt) -> AffectedContract:
    """Return the contract as if a pull request changed its prompt, under the variant's name."""
    base = _renamed(contract, name)
    head = _with_prompt(base, prompt)
    return AffectedContract(
        name, contract.path, base, head, (), prompt_still_there=True, base_target=base.target
    )


def _renamed(contract: Contract, name: str) -> Contract:
    groups = tuple(
        replace(group, name=f"{name}.{group.name.removeprefix(f'{group.part_of}.')}", part_of=name)
        for group in contract.groups
    )
    return replace(contract, name=name, groups=groups)


def _with_prompt(contract: Contract, prompt: Prompt) -> Contract:
    target = replace(contract.target, prompt=prompt)
    groups = tuple(_with_prompt(group, prompt) for group in contract.groups)
    return replace(contract, target=target, groups=groups)


def _sharing_calls(found: AffectedContract, together: str) -> AffectedContract:
    """Return the comparison as a part of one contract: identical requests are sent once."""
    base = replace(found.base, part_of=together) if found.base else None
    head = replace(found.head, part_of=together) if found.head else None
    return replace(found, base=base, head=head, part_of=together)
