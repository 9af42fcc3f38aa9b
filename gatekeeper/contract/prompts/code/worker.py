"""The child's service: reads constants of source code for requests in JSON. See
`gatekeeper/sandbox`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from gatekeeper.contract.prompts.code.python_source import has_python_name, read_python
from gatekeeper.contract.prompts.code.written import CodeFault, Messages, Written


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
    language, source, name = request["language"], request["source"], request["name"]
    path = request["path"]
    if language == "python":
        if request["kind"] == "has":
            return {"has": has_python_name(source, name)}
        return _as_json(read_python(source, name, path))
    from gatekeeper.contract.prompts.code.typescript_source import (
        has_typescript_name,
        read_typescript,
    )

    if request["kind"] == "has":
        return {"has": has_typescript_name(source, name, language)}
    return _as_json(read_typescript(source, name, language, path))


def _as_json(messages: Messages) -> dict[str, Any]:
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
