"""An MCP server on standard input and output, honest or hostile: run as a script with its tools and
behaviour as JSON. Imports the standard library alone, so that it starts at once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def command(**given: Any) -> list[str]:
    """The command that starts a server.

    `tools` are what it lists, or in `pages`; `answers` the result of each tool by its name, by
    default the arguments. `says` are lines that it writes first, `floods` makes it write without
    end, `silent` never answer, and `hangs` answer no call. `pads` is the length of a text that it
    adds to each page. `environ` names a file for its environment, `called` one for the
    calls that it gets.
    """
    return [sys.executable, str(Path(__file__).resolve()), json.dumps(given)]


def _answer(asked: dict[str, Any], given: dict[str, Any]) -> dict[str, Any] | None:
    method, params = asked["method"], asked.get("params", {})
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "1"},
        }
    if method == "tools/list":
        pages = given.get("pages") or [given.get("tools", [])]
        at = int(params.get("cursor") or 0)
        page: dict[str, Any] = {"tools": pages[at % len(pages)]}
        page["_meta"] = {"padding": "x" * given.get("pads", 0)}
        if at + 1 < len(pages) or given.get("endless"):
            page["nextCursor"] = str(at + 1)
        return page
    if method == "tools/call":
        if "called" in given:
            with Path(given["called"]).open("a") as file:
                file.write(json.dumps(params) + "\n")
        found = given.get("answers", {}).get(params["name"])
        text = json.dumps(params["arguments"], sort_keys=True)
        return found or {"content": [{"type": "text", "text": text}]}
    return None


def reply_to(asked: dict[str, Any], given: dict[str, Any]) -> str:
    """The message that answers a request."""
    result = _answer(asked, given)
    reply = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply})


def serve(given: dict[str, Any]) -> None:
    """Answer until standard input ends."""
    if "environ" in given:
        Path(given["environ"]).write_text(json.dumps(dict(os.environ)))
    for line in given.get("says", ()):
        print(line, flush=True)
    if given.get("complains"):
        print(given["complains"], file=sys.stderr, flush=True)
    while given.get("floods"):
        sys.stdout.write(given["floods"] * 10_000)
    for line in sys.stdin:
        asked = json.loads(line)
        is_call = asked["method"] == "tools/call"
        if "id" not in asked or given.get("silent") or (given.get("hangs") and is_call):
            continue
        print(reply_to(asked, given), flush=True)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
