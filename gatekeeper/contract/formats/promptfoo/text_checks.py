"""Translates promptfoo's assertions on texts, lengths and measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gatekeeper.contract.formats.promptfoo.assertion import Assertion, as_parameter
from gatekeeper.contract.formats.promptfoo.patterns import NotJavaScriptError, translate_pattern

Check = dict[str, Any]

_SHOWN = 60
_TAGS = (
    "html|head|body|div|span|p|a|img|h[1-6]|ul|ol|li|table|tr|td|th|form|input|button|script|style"
    "|link|meta|br|hr"
)
_OPENING, _CLOSING = r"<[a-zA-Z][a-zA-Z0-9-]*(?:\s[^>]*)?>", r"</[a-zA-Z][a-zA-Z0-9-]*\s*>"
_XML = r"(?s)<([A-Za-z_:][\w.:-]*)(?:\s[^<>]*)?(?:/>|>.*?</\1\s*>)"


def equals(assertion: Assertion) -> Check:
    """Compare JSON if the value is a mapping or a list, else the text to the letter."""
    if "value" not in (assertion.node.value or {}):
        fix = "write `value: …`; without `value`, promptfoo compares with the text `undefined`"
        raise assertion.node.problem("`value` is missing", fix)
    value = assertion.raw()
    if value is None:
        return assertion.whole({"type": "json_schema", "schema": {"const": None}})
    if isinstance(value, dict | list):
        return assertion.with_field({"type": "equals", "value": as_parameter(value)})
    if value == "":
        return assertion.whole({"type": "regex", "pattern": r"\A\Z"})
    check = {"type": "equals", "value": assertion.text(value), "strip": False}
    return assertion.with_field(check)


def contains(assertion: Assertion) -> Check:
    """Look for one text, or for all or any of several."""
    kind = assertion.kind.removeprefix("i")
    check: Check = {"type": "contains"}
    if kind == "contains":
        check["value"] = assertion.text()
    else:
        check["values"] = assertion.texts()
        if kind == "contains-any":
            check["match"] = "any"
    if assertion.kind.startswith("i"):
        check["ignore_case"] = True
    return assertion.with_field(check)


def starts_with(assertion: Assertion) -> Check:
    """Compare the beginning to the letter, white space included."""
    text = assertion.text()
    if not text.strip():
        pattern = r"\A" + "".join(f"\\x{ord(character):02x}" for character in text)
        return assertion.with_field({"type": "regex", "pattern": pattern})
    return assertion.with_field({"type": "starts_with", "value": text, "strip": False})


def regex(assertion: Assertion) -> Check:
    """Write the pattern of JavaScript in the syntax that is used here."""
    value = assertion.raw()
    if not isinstance(value, str) or not value:
        raise assertion.node.problem("`value` is no pattern", "write a regular expression")
    written = assertion.literal(value)
    try:
        pattern = translate_pattern(written)
    except NotJavaScriptError as error:
        what = f"promptfoo cannot read the pattern: {error}"
        raise assertion.node.problem(
            what, "write the pattern as a JavaScript regular expression"
        ) from None
    check: Check = {"type": "regex", "pattern": as_parameter(pattern)}
    if pattern != written and written.strip():
        check["name"] = " ".join(f"regex {written}".split())[:_SHOWN]
    return assertion.with_field(check)


def levenshtein(assertion: Assertion) -> Check:
    """Limit the edits; the default is 5."""
    most = assertion.threshold(5)
    if most < 0:
        raise assertion.cannot("a distance below 0 is impossible")
    check = {"type": "levenshtein", "value": assertion.text(), "max": math.floor(most)}
    return assertion.with_field({**check, "strip": False})


def rouge(assertion: Assertion) -> Check:
    """Compare single words, whatever their case."""
    check = {"type": "rouge", "value": assertion.text(), "variant": "rouge1"}
    return assertion.with_field({**check, "min": assertion.share(0.75)})


def bleu(assertion: Assertion) -> Check:
    """Compare words between white space, whatever their case, without smoothing."""
    value = assertion.raw()
    texts = [assertion.text(v) for v in value] if isinstance(value, list) else assertion.text(value)
    check = {"type": "bleu", "value": texts, "min": assertion.share(0.5), "tokenize": "none"}
    return assertion.with_field({**check, "ignore_case": True, "smoothing": "floor"})


def word_count(assertion: Assertion) -> Check:
    """Count words between white space: exactly so many, or from `min` to `max`."""
    value = assertion.raw()
    bounds = dict(value) if isinstance(value, Mapping) else {"min": value, "max": value}
    check: Check = {"type": "length", "unit": "words"}
    for name in ("min", "max"):
        if bounds.get(name) is not None:
            number = _number(assertion, bounds[name])
            if not number.is_integer() and bounds["min"] is bounds.get("max"):
                raise assertion.cannot("the number of words must be a whole number")
            check[name] = math.ceil(number) if name == "min" else math.floor(number)
    if len(check) == 2:
        raise assertion.node.problem("`value` has no count", "write 50, or {min: 20, max: 50}")
    if check.get("max", 0) < 0:
        raise assertion.cannot("the number of words cannot be below 0")
    check["min"] = max(check.get("min", 0), 0)
    return assertion.whole(check)


def _number(assertion: Assertion, value: Any) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(assertion.literal(value))
    except (ValueError, TypeError):
        raise assertion.node.problem("the word count must be a number", "write a number") from None


def latency(assertion: Assertion) -> Check:
    """Limit the time of the request."""
    return assertion.whole({"type": "latency", "max_ms": _positive(assertion)})


def cost(assertion: Assertion) -> Check:
    """Limit the cost of the request."""
    return assertion.whole({"type": "cost", "max_usd": _positive(assertion)})


def _positive(assertion: Assertion) -> float:
    limit = assertion.threshold()
    if limit <= 0:
        raise assertion.cannot(f"no output can meet a limit of {limit:g}; write a limit above 0")
    return limit


def refusal(assertion: Assertion) -> Check:
    """Look for phrases that refuse."""
    return assertion.with_field({"type": "refusal", "expect": "refusal"})


def contains_html(assertion: Assertion) -> Check:
    """Look for the signs of HTML that promptfoo counts, of which it takes two."""
    signs = [
        f"{_OPENING}|{_CLOSING}",
        r"<[a-zA-Z][a-zA-Z0-9-]*(?:\s[^>]*)?/>",
        r"&(?:[a-zA-Z]+|#[0-9]+|#x[0-9a-fA-F]+);",
        r"<!--[^-]*(?:-[^-]+)*-->",
        r"\s[a-zA-Z-]+=\s*[\"'][^\"']*[\"']",
    ]
    both = [_pattern(_OPENING), _pattern(_CLOSING)]
    ways = [
        _pattern(rf"(?i)<(?:{_TAGS})\b|<!DOCTYPE\s+html"),
        {"type": "all_of", "checks": both},
        {"type": "mean_of", "min": 2 / len(signs), "checks": [_pattern(sign) for sign in signs]},
    ]
    return assertion.whole({"type": "any_of", "name": "contains HTML", "checks": ways})


def _pattern(pattern: str) -> Check:
    return {"type": "regex", "pattern": pattern}


def is_html(assertion: Assertion) -> Check:
    """Read the output as HTML."""
    return assertion.with_field({"type": "parses_as", "format": "html"})


def xml(assertion: Assertion) -> Check:
    """Read the output as XML, or look for an element in it; and for each required element."""
    value = assertion.raw()
    if isinstance(value, Mapping):
        value = value.get("requiredElements", [])
    written = assertion.literal(value).split(",") if isinstance(value, str) else value or []
    names = [part for element in written for part in assertion.literal(element).strip().split(".")]
    whole: Check = {"type": "parses_as", "format": "xml"}
    first = whole if assertion.kind == "is-xml" else _pattern(_XML)
    if not names:
        return assertion.whole(first)
    checks = [first, *(_pattern(rf"<{_escaped(name)}[\s/>]") for name in dict.fromkeys(names))]
    return assertion.whole({"type": "all_of", "name": assertion.kind, "checks": checks})


def _escaped(name: str) -> str:
    return "".join(c if c.isalnum() or c in "_-:" else f"\\{c}" for c in name)


TRANSLATORS: Mapping[str, Callable[[Assertion], Check]] = {
    "equals": equals,
    **dict.fromkeys(("contains", "contains-all", "contains-any"), contains),
    **dict.fromkeys(("icontains", "icontains-all", "icontains-any"), contains),
    "starts-with": starts_with,
    "regex": regex,
    "levenshtein": levenshtein,
    "rouge-n": rouge,
    "bleu": bleu,
    "word-count": word_count,
    "latency": latency,
    "cost": cost,
    "is-refusal": refusal,
    "contains-html": contains_html,
    "is-html": is_html,
    "is-xml": xml,
    "contains-xml": xml,
}
