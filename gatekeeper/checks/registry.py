"""The list of all check types. To add one, write its module and name it here:
docs/adding-a-check.md."""

from __future__ import annotations

from collections.abc import Mapping

from gatekeeper.checks.check import Check
from gatekeeper.checks.composed import all_of, any_of
from gatekeeper.checks.grounded import citation, quote
from gatekeeper.checks.judges import judge
from gatekeeper.checks.measures import cost, latency, length, tokens, ttft
from gatekeeper.checks.own import python
from gatekeeper.checks.safety import no_prompt_leak, pii, refusal, secrets, word_list
from gatekeeper.checks.text import (
    bleu,
    chrf,
    contains,
    ends_with,
    enumeration,
    language,
    levenshtein,
    markdown,
    not_contains,
    not_regex,
    parses_as,
    regex_search,
    rouge,
    similarity,
    starts_with,
)
from gatekeeper.checks.tools import tool_call
from gatekeeper.checks.values import (
    count,
    equals,
    f1,
    json_equal,
    json_required,
    json_schema,
    json_valid,
    number,
    precision,
    recall,
)
from gatekeeper.contract.definition import CheckShape

CHECKS: Mapping[str, Check] = {
    "equals": equals.CHECK,
    "contains": contains.CHECK,
    "not_contains": not_contains.CHECK,
    "starts_with": starts_with.CHECK,
    "ends_with": ends_with.CHECK,
    "regex": regex_search.CHECK,
    "not_regex": not_regex.CHECK,
    "json_valid": json_valid.CHECK,
    "json_schema": json_schema.CHECK,
    "json_required": json_required.CHECK,
    "json_equal": json_equal.CHECK,
    "number": number.CHECK,
    "count": count.CHECK,
    "f1": f1.CHECK,
    "precision": precision.CHECK,
    "recall": recall.CHECK,
    "citation": citation.CHECK,
    "quote": quote.CHECK,
    "tool_call": tool_call.CHECK,
    "enum": enumeration.CHECK,
    "similarity": similarity.CHECK,
    "levenshtein": levenshtein.CHECK,
    "rouge": rouge.CHECK,
    "bleu": bleu.CHECK,
    "chrf": chrf.CHECK,
    "language": language.CHECK,
    "markdown": markdown.CHECK,
    "parses_as": parses_as.CHECK,
    "pii": pii.CHECK,
    "secrets": secrets.CHECK,
    "refusal": refusal.CHECK,
    "word_list": word_list.CHECK,
    "no_prompt_leak": no_prompt_leak.CHECK,
    "length": length.CHECK,
    "latency": latency.CHECK,
    "ttft": ttft.CHECK,
    "tokens": tokens.CHECK,
    "cost": cost.CHECK,
    "all_of": all_of.CHECK,
    "any_of": any_of.CHECK,
    "python": python.CHECK,
    "judge": judge.CHECK,
}

SHAPES: Mapping[str, CheckShape] = {name: check.shape for name, check in CHECKS.items()}
