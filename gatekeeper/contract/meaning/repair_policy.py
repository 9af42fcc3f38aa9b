"""The repairs that a contract allows: its key `repair`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from gatekeeper.contract.syntax.schema import whole
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.values.definition import Contract, RepairPolicy
from gatekeeper.contract.values.objectives import read_similar
from gatekeeper.errors import Problem

_BY_FIELD = "lowercase_fields"
STEPS_ON_WORDS = ("strip_markdown_fences", "lowercase")
"""The steps whose result may have no JSON. The others change white space alone, or return JSON."""


def read_repairs(data: Mapping[str, Any]) -> RepairPolicy:
    """Return the policy of a `repair` that conforms to the schema."""
    policy = RepairPolicy(**whole(data, "max_steps"))
    fields = tuple(policy.lowercase_fields)
    steps, similar = tuple(policy.steps), read_similar(data)
    return replace(policy, steps=steps, lowercase_fields=fields, similar=similar)


def repair_problems(document: Document, data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if the step `lowercase_fields` and its fields do not come together."""
    repairs = data.get("repair")
    if not isinstance(repairs, Mapping) or not isinstance(repairs.get("steps", []), list):
        return
    named = _BY_FIELD in repairs.get("steps", [])
    if named and not repairs.get(_BY_FIELD):
        what = "the step `lowercase_fields` needs the names of fields"
        fix = "add `lowercase_fields: [category]` next to `steps`, with the fields to change"
        yield document.problem(("repair", "steps"), what, fix)
    elif repairs.get(_BY_FIELD) and not named:
        what = "`lowercase_fields` lists fields, but no step changes them"
        yield document.problem(("repair", _BY_FIELD), what, "add `lowercase_fields` to `steps`")


def repair_meaning(policy: RepairPolicy) -> dict[str, Any]:
    """Return the policy for a digest, without later keys that are not set."""
    meaning = {name: getattr(policy, name) for name in policy.__slots__}
    meaning["similar"] = asdict(policy.similar) if policy.similar else None
    later = {key: meaning.pop(key) for key in (_BY_FIELD, "similar")}
    return meaning | {key: value for key, value in later.items() if value}


def repair_weakenings(base: Contract, head: Contract) -> Iterator[str]:
    """Yield each repair that head allows and base does not."""
    before, now = base.repair.steps, head.repair.steps
    for step in now:
        if step not in before:
            yield f"repair step `{step}` added"
    if [step for step in before if step in now] != [step for step in now if step in before]:
        yield f"repair steps reordered from {', '.join(before)} to {', '.join(now)}"
    if _BY_FIELD in before and _BY_FIELD in now:
        for field in head.repair.lowercase_fields:
            if field not in base.repair.lowercase_fields:
                yield f"repair.lowercase_fields: `{field}` added"
    if now and head.repair.max_steps > base.repair.max_steps:
        change = f"from {base.repair.max_steps} to {head.repair.max_steps}"
        yield f"repair.max_steps raised {change}"
    if (base.gate.repairs, head.gate.repairs) == ("fail", "warn"):
        yield "gate.repairs lowered from fail to warn"
