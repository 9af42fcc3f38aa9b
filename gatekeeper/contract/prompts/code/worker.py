"""The child's service: reads constants of source code for requests in JSON. See
`gatekeeper/sandbox`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from gatekeeper.contract.prompts.code.python_source import python_names
from gatekeeper.contract.prompts.code.reading import Reading, has_name
from gatekeeper.contract.prompts.code.written import CodeFault, Written


def answer(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the one response to a request: the constant's `messages`, each with its `role`, `parts`
    and `lines`, whether the file `has` it, or the `fault` that keeps it from being read."""
    try:
        yield _answer(request)
    except CodeFault as fault:
        yield {"fault": [fault.what, fault.fix, fault.line]}
    except (RecursionError, MemoryError):
        yield {"fault": ["the file is nested too deeply", "simplify the file", 1]}


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    language, source, path = request["language"], request["source"], request["path"]
    if language == "python":
        names = python_names(source, path)
    else:
        from gatekeeper.contract.prompts.code.typescript_source import typescript_names

        names = typescript_names(source, path, language)
    if request["kind"] == "has":
        return {"has": has_name(names, request["name"])}
    messages = Reading(names).constant(request["name"])
    return {"messages": [_message_as_json(role, text) for role, text in messages]}


def _message_as_json(role: str, found: Written) -> dict[str, Any]:
    parts = [part if isinstance(part, str) else list(part) for part in found.parts]
    first = next((line for line in found.lines if line is not None), 1)
    lines = found.numbered(first)
    computed = {
        name: sha256(code.encode(errors="replace")).hexdigest()
        for name, code in found.computed.items()
    }
    return {"role": role, "parts": parts, "lines": lines, "computed": computed}
