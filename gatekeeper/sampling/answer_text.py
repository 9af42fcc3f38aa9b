"""Shows an answer as text for people: the output, and the tools that the model asks to use."""

from __future__ import annotations

from gatekeeper.contract.values.trial import Sample, ToolCall


def answer_text(sample: Sample) -> str:
    """Return the output that the checks evaluate, and each tool call on a line of its own. A report
    still has to escape it."""
    calls = sample.completion.tool_calls if sample.completion else ()
    return "\n".join(filter(None, (sample.output, *map(call_text, calls))))


def call_text(call: ToolCall) -> str:
    """Return a call as `tool call: get_weather({"city": "Paris"})`."""
    return f"tool call: {call.name}({call.arguments})"
