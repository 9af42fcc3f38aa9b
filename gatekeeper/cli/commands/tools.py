"""`gatekeeper tools`: records the tools of MCP servers, and finds what changed in them."""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from posixpath import dirname
from typing import Any
from urllib.parse import urlsplit

from gatekeeper.author.recording.calls import read_calls
from gatekeeper.author.recording.live import Recorded, record_live
from gatekeeper.author.recording.rows import RecordedRows, rows_of
from gatekeeper.author.recording.servers import Server, list_tools, refuse_in_pull_requests
from gatekeeper.author.recording.tool_lists import (
    Tool,
    ToolChange,
    compare_tools,
    read_tools,
    written,
)
from gatekeeper.cli.arguments import named_contract
from gatekeeper.cli.options import MANY, Actions, options
from gatekeeper.cli.output import print_error, print_lines, write_new_files
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository
from gatekeeper.numbers import count
from gatekeeper.providers.http.network_guard import is_this_machine
from gatekeeper.reports.escape import clip
from gatekeeper.reports.write import write_files

DEFAULT_TOOLS = Path("tools.json")
DEFAULT_ROWS = Path("tool-results.jsonl")
_MOST_SHOWN = 20_000  # characters


def record(arguments: argparse.Namespace) -> int:
    """Save the tools of an MCP server, or what they answer, for a contract.

    A server is started by the COMMAND after `--`, with few variables of the environment, or called
    at its address. Its list of tools becomes a file for `tools`. With --contract, the model runs
    each fixture once, and what the live tools answer becomes rows for `tool_results`, as do the
    calls in logs and traces; personal data and secrets are replaced. A tool that may destroy
    something is called only if you agree.
    """
    if arguments.logs and (arguments.command_line or arguments.url):
        raise UsageError("give either --log or a server, not both")
    if arguments.logs and not arguments.contract:
        return _write_rows(rows_of(read_calls(arguments.logs)), arguments.out or DEFAULT_ROWS)
    if arguments.contract:
        return _record_contract(arguments)
    out = arguments.out or DEFAULT_TOOLS
    before = read_tools(out) if out.exists() else None
    tools = asyncio.run(list_tools(_server(arguments)))
    write_files({out.name: lambda: written(tools)}, out.parent)  # git keeps an earlier list
    print_lines(_recorded(tools, before, out))
    return 0


def _recorded(tools: Sequence[Tool], before: Sequence[Tool] | None, out: Path) -> Iterator[str]:
    yield f"{count(len(tools), 'tool')} written to {out}."
    if before is not None:
        yield from _changes(compare_tools(before, tools))
    name = _in_contract(out)
    yield f"Next: read the descriptions, and name the file in a contract: `tools: {name}`."


def _in_contract(out: Path) -> str:
    """Return how every contract of the file's repository can name it: from the root."""
    file = out.resolve()
    root = next((folder for folder in file.parents if (folder / ".git").exists()), None)
    return f"/{file.relative_to(root).as_posix()}" if root else out.name


def _record_contract(arguments: argparse.Namespace) -> int:
    server = None if arguments.logs else _server(arguments)
    with Repository.open(arguments.repo) as repository:
        revision = repository.worktree()
        policy = load_policy(revision)
        contract = named_contract(revision, policy, arguments.contract)
        root = repository.root or Path()
        out = arguments.out or root / dirname(contract.path) / f"{contract.name}.{DEFAULT_ROWS}"
        if out.exists():
            raise UsageError(f"{out} exists already; move this file, or name another with --out")
        if server is None:
            return _write_rows(rows_of(read_calls(arguments.logs, contract.name)), out)
        may_call = partial(_may_call, set(arguments.allow), {})
        found = record_live(
            contract, server, revision, policy, root, may_call, resume=arguments.resume
        )
    print_lines(_about_run(found, contract))
    return _write_rows(rows_of(found.conversations), out)


async def _may_call(
    allowed: Set[str], answers: dict[str, bool], tool: Tool, arguments: Mapping[str, Any]
) -> bool:
    """Ask a person once for each tool. Without a person, a tool that is not allowed is not
    called."""
    name = tool["name"]
    if name in allowed or not sys.stdin.isatty():
        return name in allowed
    if name not in answers:
        given = clip(json.dumps(arguments, ensure_ascii=False), 500)
        print_error(f"`{name}` may change or destroy something. Call it with {given}? [y/N]")
        answers[name] = (await asyncio.to_thread(sys.stdin.readline)).strip().lower() == "y"
    return answers[name]


def _about_run(found: Recorded, contract: Contract) -> Iterator[str]:
    yield f"{count(len(found.conversations), 'fixture')} of {contract.name} run: {found.bill}."
    for name in sorted(found.refused):
        yield f"Not called: `{name}`, which may destroy something; allow it with --allow {name}."
    for fixture, why in found.failed.items():
        yield f"The fixture {fixture} ended early: {why}"


def _write_rows(found: RecordedRows, out: Path) -> int:
    if not found.rows:
        raise UsageError("no call of a tool with its answer was found; see docs/agents.md")
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in found.rows)
    write_new_files({out: text})
    print_lines(_said(found, out))
    return 0


def _said(found: RecordedRows, out: Path) -> Iterator[str]:
    calls = count(found.calls, "answered call")
    yield f"{count(len(found.rows), 'row')} from {calls} written to {out}."
    if found.left_out:
        yield f"{count(found.left_out, 'call')} left out, because the answer is too long."
    if found.other:
        yield f"{count(found.other, 'call')} had other answers elsewhere; the longest were kept."
    if found.loosened:
        yield (
            f"{count(found.loosened, 'row')} match any value of the arguments that held personal "
            "data or secrets."
        )
    yield (
        f"Replaced {count(found.replaced, 'piece')} of personal data or secrets. gatekeeper does "
        "not detect names and postal addresses, so read the file before you commit it."
    )
    yield f"Next: name the file in a contract: `tool_results: {_in_contract(out)}`."


def drift(arguments: argparse.Namespace) -> int:
    """Compare a recorded list of tools with that of the live server. Calls no tool.

    A server whose descriptions change after you trusted it may give your agent new orders. The exit
    code is 1 if something changed.
    """
    recorded = read_tools(arguments.list)
    changes = compare_tools(recorded, asyncio.run(list_tools(_server(arguments))))
    if not changes:
        print_lines([f"The server lists the {count(len(recorded), 'tool')} of {arguments.list}."])
        return 0
    lines = [f"{count(len(changes), 'tool')} of {arguments.list} changed on the server:"]
    print_lines(
        [
            *lines,
            *_changes(changes),
            "Next: read this as you would a changed prompt. To test it, run `gatekeeper tools "
            f"record --out {arguments.list}` on a branch, and open a pull request.",
        ]
    )
    return 1


def _changes(changes: Sequence[ToolChange]) -> Iterator[str]:
    """Yield what changed, with the lines that differ."""
    for change in changes:
        parts = ", ".join(name for name, _, _ in change.parts)
        yield f"  {change.kind}: {change.name}" + (f" ({parts})" if parts else "")
        for name, before, now in change.parts:
            if len(before) + len(now) > _MOST_SHOWN:
                yield f"    the {name} is too long to show here; compare the files"
                continue
            lines = difflib.unified_diff(before.splitlines(), now.splitlines(), n=0, lineterm="")
            yield from (f"    {line[0]} {line[1:]}" for line in [*lines][2:] if line[0] in "+-")


def _server(arguments: argparse.Namespace) -> Server:
    """Return the server that the options name. Raises UsageError."""
    refuse_in_pull_requests()
    if bool(arguments.command_line) == bool(arguments.url):
        raise UsageError("name one server: its command after `--`, or its address by --url")
    variables = {name: _variable(name, "--env") for name in arguments.env}
    if arguments.command_line:
        return Server(command=tuple(arguments.command_line), variables=variables)
    pairs = [pair.partition("=") for pair in arguments.header]
    headers = {name: _variable(variable, "--header") for name, _, variable in pairs}
    address = urlsplit(arguments.url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise UsageError(f"--url {arguments.url}: write an address such as https://HOST/mcp")
    if headers and address.scheme == "http" and not is_this_machine(address.hostname):
        raise UsageError("--header: a header may hold a key, so the address must be https")
    return Server(url=arguments.url, headers=headers)


def _variable(name: str, option: str) -> str:
    if name not in os.environ:
        raise UsageError(f"{option}: the environment variable {name!r} is not set")
    return os.environ[name]


_SERVER = """
    COMMAND                 the command that starts the server, after `--`
    --url URL               the address of a server that runs (Streamable HTTP)
    --env NAME              also give the server this variable of the environment; can be repeated
    --header NAME=VARIABLE  send this header with the value of a variable; can be repeated"""
_MORE = {
    "command": {"nargs": "*", "dest": "command_line"},
    "env": MANY,
    "header": MANY,
}

tools = Actions(
    "Record the tools of MCP servers, and find what changed in them.",
    {
        record: options(
            f"""{_SERVER}
    --contract NAME         record what the server's tools answer to the fixtures of this contract;
                            with --log, what a simulator answered in the contract's samples
    --allow TOOL            call this tool without a question; can be repeated
    --resume                reuse the model's answers of a recording that failed
    --log LOG               read calls from this log, trace or samples.jsonl, and start no server;
                            can be repeated
    --out FILE              the file to write (default: {DEFAULT_TOOLS}, or {DEFAULT_ROWS}); a
                            recorded list is replaced
    """,
            log={**MANY, "dest": "logs"},
            allow=MANY,
            **_MORE,
        ),
        drift: options(
            f"""{_SERVER}
    --list FILE             the recorded list (default: {DEFAULT_TOOLS})
    """,
            list={"default": DEFAULT_TOOLS},
            **_MORE,
        ),
    },
)
