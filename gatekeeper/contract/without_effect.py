"""Finds what a contract sets without any effect, which is usually a mistake."""

from __future__ import annotations

from collections.abc import Iterator

from gatekeeper.contract.definition import CheckSpec, Contract

_RECORDED = "recorded/"
_NEEDS_CALLS = ("tool", "order")


def without_effect_warnings(contract: Contract) -> Iterator[str]:
    """Yield a warning for repairs that the mode never applies, and for each check that requires a
    tool call of a model that is offered no tools."""
    if contract.mode == "observe" and contract.repair.steps:
        yield "`repair` has no effect, because `mode: observe` repairs nothing; remove one of them"
    # A recording answers as the model did, whatever was offered to it.
    if "tools" in contract.target.params or contract.target.model.startswith(_RECORDED):
        return
    for spec in (spec for part in (contract, *contract.groups) for spec in part.checks):
        if _requires_a_call(spec):
            yield (
                f"check `{spec.name}` fails on every output, because the model is offered no tools;"
                " add `tools` to `params`"
            )


def _requires_a_call(spec: CheckSpec) -> bool:
    required = any(name in spec.params for name in _NEEDS_CALLS)
    return spec.type == "tool_call" and required and not spec.negated
