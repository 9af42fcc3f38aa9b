"""A model that follows its instructions by rule: the steps of an agent in `support/agents`.

    steps:
      - {when: Check the status, call: {get_order: {id: "{order}"}}}
      - {if: {get_order.status: "^(?!pending)"}, say: "It is {get_order.status}."}

It takes the steps in their order, one for each answer. `when` and `unless` are patterns of the
system message: it does what this says, and nothing that it no longer says. `if` holds patterns of
facts: of what the request says, by the groups of `reads`, of what tools answered, by their names,
and of the last message of the `user`, in which `code` is the number. Texts name facts in braces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from support.openai_server import Reply

Facts = dict[str, Any]

ENDINGS = ("Have a nice day.", "Thank you.", "Best wishes.")
"""What it adds to its words, as a model does not say the same in each sample."""


def answer_by_rule(follows: Mapping[str, Any], body: Mapping[str, Any]) -> str | Reply:
    """The next answer to a conversation."""
    messages: Sequence[Mapping[str, Any]] = body["messages"]
    facts = facts_of(follows["reads"], messages)
    system = str(messages[0]["content"])
    done = sum(message["role"] == "assistant" for message in messages)
    steps = [step for step in follows["steps"] if applies(step, system, facts)]
    step = steps[done] if done < len(steps) else {"say": "Is there anything else?"}
    if "say" in step:
        return f"{filled(step['say'], facts)} {ENDINGS[body['seed'] % len(ENDINGS)]}"
    ((name, arguments),) = step["call"].items()
    function = {"name": name, "arguments": json.dumps(filled(arguments, facts))}
    call = {"id": f"id{done}", "type": "function", "function": function}
    return Reply(None, finish_reason="tool_calls", tool_calls=(call,))


def facts_of(reads: str, messages: Sequence[Mapping[str, Any]]) -> Facts:
    users = [str(message["content"]) for message in messages if message["role"] == "user"]
    code = re.search(r"\d+", users[-1])
    facts: Facts = {"user": users[-1] if len(users) > 1 else "", "code": code[0] if code else ""}
    request = re.search(reads, users[0])
    facts |= request.groupdict() if request else {}
    names = {
        call["id"]: call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls") or ()
    }
    for message in messages:
        if message["role"] == "tool":
            facts[names[message["tool_call_id"]]] = read(str(message["content"]))
    return facts


def read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def applies(step: Mapping[str, Any], system: str, facts: Facts) -> bool:
    if not re.search(step.get("when", ""), system):
        return False
    if "unless" in step and re.search(step["unless"], system):
        return False
    wanted: Mapping[str, str] = step.get("if", {})
    return all(re.search(pattern, str(fact(facts, name))) for name, pattern in wanted.items())


def fact(facts: Facts, name: str) -> Any:
    found: Any = facts
    for part in name.split("."):
        found = found.get(part, "") if isinstance(found, Mapping) else ""
    return found


def filled(value: Any, facts: Facts) -> Any:
    if isinstance(value, Mapping):
        return {name: filled(inner, facts) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, facts) for inner in value]
    return re.sub(r"\{([a-z_.]+)\}", lambda found: str(fact(facts, found[1])), str(value))
