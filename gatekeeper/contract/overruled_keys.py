"""Rules in the policy of a folder that have no effect, because a policy above is stricter."""

from __future__ import annotations

from collections.abc import Iterator

from gatekeeper.contract.change import Revision
from gatekeeper.contract.folder_policies import read_policy
from gatekeeper.contract.policy import Policy
from gatekeeper.errors import Problem


def overruled_keys(revision: Revision, policy: Policy) -> Iterator[Problem]:
    """Yield each rule of a folder's policy that is not the one that applies in the folder."""
    for folder in policy.folders:
        here = policy.at(folder.path)
        rules = (
            (("require_contract",), folder.require_contract, here.require_contract),
            (("on_inconclusive",), folder.on_inconclusive, here.on_inconclusive),
            (("on_weakening",), folder.on_weakening, here.on_weakening),
            (("new_contracts", "fixtures"), folder.fixtures, here.new_contracts.fixtures),
            (
                ("new_contracts", "success_rate"),
                folder.success_rate,
                here.new_contracts.success_rate,
            ),
            (
                ("judge", "require_calibration"),
                folder.require_calibration,
                here.judge.require_calibration,
            ),
            (("judge", "min_kappa"), folder.min_kappa, here.judge.min_kappa),
        )
        for key, written, applies in rules:
            if written is not None and written != applies:
                name = ".".join(key)
                what = (
                    f"`{name}` has no effect, because the policy of a parent folder "
                    f"sets the stricter value {applies}"
                )
                fix = "remove the key; the policy of a folder can only make rules stricter"
                yield read_policy(revision, folder.path).problem(key, what, fix)
