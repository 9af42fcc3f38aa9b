"""Finds changed settings of a prompt file that its contract overrides, so the change has no
effect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gatekeeper.contract.definition import Contract
from gatekeeper.contract.digests import canonical

_LIMIT = 60
_NOT_SET = object()


def overridden_settings(base: Contract, head: Contract) -> Iterator[str]:
    """Return a sentence for the model and each parameter that changed in the prompt's front matter,
    while the contract sets its own at base and at head."""
    before, now = base.target.prompt, head.target.prompt
    if before.model != now.model and base.own_model and head.own_model:
        yield _sentence(head, "model", before.model or _NOT_SET, now.model or _NOT_SET)
    for name in sorted(base.own_params.keys() & head.own_params.keys()):
        written = before.params.get(name, _NOT_SET), now.params.get(name, _NOT_SET)
        if len({_NOT_SET if value is _NOT_SET else canonical(value) for value in written}) > 1:
            yield _sentence(head, name, *written)


def _sentence(head: Contract, name: str, before: Any, now: Any) -> str:
    change = f"changed from {_shown(before)} to {_shown(now)}"
    return (
        f"`{name}` {change} in {head.target.prompt.path}. The change has no effect, because the "
        f"contract {head.name} sets its own value. Change or remove the value in the contract."
    )


def _shown(value: Any) -> str:
    if value is _NOT_SET:
        return "none"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LIMIT else text[: _LIMIT - 3] + "..."
