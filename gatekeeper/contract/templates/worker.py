"""The child's service: compiles and renders templates for requests in JSON. See
`gatekeeper/sandbox`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.environment import environment_for, included_names
from gatekeeper.contract.templates.rendering import (
    MAX_SECONDS,
    check_templates,
    evaluate,
    render_prompt,
)
from gatekeeper.contract.templates.role_marks import role_lines_of
from gatekeeper.contract.templates.value_faults import ValueFault
from gatekeeper.contract.values.definition import MessageTemplate, Prompt
from gatekeeper.errors import ContractError
from gatekeeper.sandbox.process_limits import cpu_limit


def answer(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the responses to one request: one for each set of values if it is to render, and
    one for each prompt if it is to check."""
    kind = request["kind"]
    if kind == "render":
        prompt, budget = _prompt(request["prompt"]), Budget(*request["budget"])
        for values in request["values"]:
            yield {**_rendered(prompt, values, budget), "budget": _as_list(budget)}
    elif kind == "check":
        for given in request["prompts"]:
            yield [asdict(problem) for problem in check_templates(_prompt(given), cpu_limit)]
    elif kind == "role_lines":
        with cpu_limit(MAX_SECONDS):
            yield [asdict(line) for line in role_lines_of(request["source"])]
    elif kind == "includes":
        with cpu_limit(MAX_SECONDS):
            yield included_names(request["source"], environment_for(()))
    else:
        budget = Budget(*request["budget"])
        at = time.process_time()
        for text, place in request["asked"]:
            budget.spend(seconds=time.process_time() - at)  # what the answer before took to send
            found = _value(text, request["values"][place], budget)
            at = time.process_time()
            yield {**found, "budget": _as_list(budget)}


def _prompt(given: Mapping[str, Any]) -> Prompt:
    messages = tuple(MessageTemplate(*message) for message in given["messages"])
    return Prompt(given["path"], messages, "", includes=given["includes"])


def _as_list(budget: Budget) -> list[float]:
    return [budget.work, budget.text_bytes, budget.seconds]


def _rendered(prompt: Prompt, values: Mapping[str, Any], budget: Budget) -> dict[str, Any]:
    try:
        return {"messages": render_prompt(prompt, values, budget, cpu_limit)}
    except ContractError as error:
        return {"problems": [asdict(problem) for problem in error.problems]}


def _value(text: str, variables: Mapping[str, Any], budget: Budget) -> dict[str, Any]:
    try:
        return {"value": evaluate(text, variables, budget, cpu_limit)}
    except ValueFault as fault:
        return {"fault": [fault.what, fault.fix]}
