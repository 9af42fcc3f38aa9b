"""Rules in the policy of a folder that have no effect, because a policy above is stricter."""

from __future__ import annotations

from collections.abc import Iterator

from gatekeeper.contract.policies.folder_policies import read_policy
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.policies.policy_keys import value_of
from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import Problem


def overruled_keys(revision: Revision, policy: Policy) -> Iterator[Problem]:
    """Yield each rule of a folder's policy that is not the one that applies in the folder."""
    for folder in policy.folders:
        here = policy.at(folder.path)
        for name, written in folder.rules.items():
            applies = value_of(here, name)
            if written is not None and written != applies:
                what = (
                    f"`{name}` has no effect, because the policy of a parent folder "
                    f"sets the stricter value {applies}"
                )
                fix = "remove the key; the policy of a folder can only make rules stricter"
                document = read_policy(revision, folder.path)
                yield document.problem(tuple(name.split(".")), what, fix)
