"""Runs the fixtures of a contract once against a live MCP server, and keeps what its tools
answered to calls that no row answers yet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from gatekeeper.author.generation.ask import Asker, UnusableAnswer
from gatekeeper.author.recording.calls import RecordedCall
from gatekeeper.author.recording.servers import Live, Server, connected
from gatekeeper.author.recording.tool_lists import Tool
from gatekeeper.author.session import AnswerFile, AskedModels, run_asker
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.tools.answers import read_arguments
from gatekeeper.contract.tools.matching import MOST_RESULT
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract, SimulatedUser, ToolCall
from gatekeeper.contract.values.tools import Tools
from gatekeeper.contract.values.trial import ERROR, JudgeAnswer, Request, ToolResult, Trial
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.sampling.conversations import converse
from gatekeeper.sampling.trials import plan_trials

MayCall = Callable[[Tool, Mapping[str, Any]], Awaitable[bool]]
"""Returns whether a person allows a call that may change something."""
_STAGE = "record"
_ANSWERS = Path(".gatekeeper/record/answers.jsonl")


@dataclass(slots=True)
class Recorded:
    """The answered calls of each fixture, the calls in words, and the names of tools that were
    `refused`. `failed` fixtures have no last answer, each with the reason."""

    conversations: list[list[RecordedCall]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    bill: str = ""


def is_harmless(tool: Tool) -> bool:
    """Return whether the server says that the tool changes nothing, or destroys nothing. Without a
    word of it, the protocol says that a tool may destroy."""
    hints = tool.get("annotations", {})
    return hints.get("readOnlyHint") is True or hints.get("destructiveHint") is False


def record_live(
    contract: Contract,
    server: Server,
    revision: Revision,
    policy: Policy,
    root: Path,
    may_call: MayCall,
    *,
    resume: bool = False,
) -> Recorded:
    """Run each fixture once, one after the other; `resume` reuses the model's answers of a
    recording that failed. Raises UsageError and MeasurementError."""
    if "tools" not in contract.target.params:
        raise UsageError(f"the contract {contract.name} offers no tool; name them in `tools`")
    every = plan_trials(contract, contract.target, None, {}).trials
    trials = [trial for trial in every if trial.repetition == 0]
    models = [("model", trial.request.model) for trial in trials]
    users = [t.request.call for t in trials if isinstance(t.request.call, SimulatedUser)]
    models += [("user.model", user.model) for user in users]
    found = Recorded()

    async def record(asker: Asker) -> None:
        async with connected(server) as live:
            for trial in trials:
                await _record_one(trial, asker, live, may_call, found)

    asked = AskedModels(models, revision, policy)
    _, asker, _ = run_asker(record, asked, AnswerFile(root / _ANSWERS, resume=resume))
    found.bill = asker.bill
    return found


async def _record_one(
    trial: Trial, asker: Asker, live: Live, may_call: MayCall, found: Recorded
) -> None:
    known = {tool["name"]: tool for tool in live.tools}
    calls: list[RecordedCall] = []
    found.conversations.append(calls)

    async def answer_tool(call: ToolCall) -> ToolResult | None:
        tool, arguments = known.get(call.name), read_arguments(call)
        if tool is None or arguments is None:
            return None
        if not is_harmless(tool) and not await may_call(tool, arguments):
            found.refused.add(call.name)
            return None
        text, is_error = await live.call(call.name, arguments)
        text = environment_redactor().text(text)[:MOST_RESULT]
        text = text.removeprefix(ERROR if is_error else "")
        calls.append(RecordedCall(call.name, arguments, text, is_error))
        return ToolResult(text, is_error).marked()

    async def ask_user(question: Request) -> JudgeAnswer:
        return JudgeAnswer(question_id(question), await asker.complete(question, _STAGE))

    request = trial.request
    request = replace(request, tools=request.tools or Tools())
    try:
        await converse(request, partial(asker.complete, stage=_STAGE), ask_user, answer_tool)
    except (CallFailed, UnusableAnswer) as failure:
        found.failed[trial.fixture] = str(failure)
