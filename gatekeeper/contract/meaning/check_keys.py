"""Validates the keys that every check has, whatever its type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.templates.plain import is_template
from gatekeeper.errors import Problem

COMMON_KEYS = ("type", "name", "severity", "must_pass", "not", "when", "weight", "turn")
LONGEST_NAME = 200
"""The most characters of a check's name, because every evaluated sample repeats it."""
LONGEST_CONDITION = 2_000
"""The most characters of an expression in `when`."""
LEAST_WEIGHT, MOST_WEIGHT = 0.01, 100
"""The limits of a weight. Rounding could hide the failure of a check with a smaller weight."""

_OF_A_PART = ("type", "name", "not", "weight")


def key_problems(
    document: Document, key: KeyPath, item: Mapping[str, Any], *, part: bool
) -> list[Problem]:
    """Return the mistakes in the common keys of the check at `key`. A `part` of another check has
    only some of them: the others are those of the whole check."""
    problems = [*_name(document, key, item)]
    for name in COMMON_KEYS:
        if part and name in item and name not in _OF_A_PART:
            what = f"a check inside another check cannot have `{name}`"
            fix = f"write `{name}` in the outer check"
            problems.append(document.problem((*key, name), what, fix, at_key=True))
    problems += _severity(document, key, item)
    if not isinstance(item.get("not", False), bool):
        what, fix = "`not` must be true or false", "write `not: true`, or remove `not`"
        problems.append(document.problem((*key, "not"), what, fix))
    weight, number = item.get("weight", 1), "write a number such as 2"
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        problems.append(document.problem((*key, "weight"), "`weight` is not a number", number))
    elif not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        what = f"the weight must be from {LEAST_WEIGHT} to {MOST_WEIGHT}, but is {weight:g}"
        problems.append(document.problem((*key, "weight"), what, number))
    turn = item.get("turn", 1)
    if isinstance(turn, bool) or not isinstance(turn, int) or turn < 1:
        what = "`turn` must be a whole number of at least 1"
        fix = "write 1 for the first answer of the conversation, 2 for the second"
        problems.append(document.problem((*key, "turn"), what, fix))
    if "when" in item:
        problems += _condition(document, (*key, "when"), item["when"])
    return problems


def named_categories(when: str | Mapping[str, Any] | None) -> frozenset[str]:
    """Return the categories that a condition names."""
    if not isinstance(when, Mapping):
        return frozenset()
    written = when["category"]
    return frozenset(map(str, written if isinstance(written, list) else [written]))


def _name(document: Document, key: KeyPath, item: Mapping[str, Any]) -> Iterator[Problem]:
    name = item.get("name", "x")
    if not isinstance(name, str) or not name.strip():
        fix = "write a few words, or remove `name`"
        yield document.problem((*key, "name"), "the name is empty or is not text", fix)
    elif len(name) > LONGEST_NAME:
        what = f"the name has {len(name):,} characters, but the limit is {LONGEST_NAME}"
        yield document.problem((*key, "name"), what, "write a few words")


def _severity(document: Document, key: KeyPath, item: Mapping[str, Any]) -> Iterator[Problem]:
    severity = item.get("severity", "error")
    if severity not in ("error", "warn"):
        fix = (
            "write `error` if the check affects the verdict, or `warn` if gatekeeper only reports "
            "the check"
        )
        what = f"{severity!r} is neither `error` nor `warn`"
        yield document.problem((*key, "severity"), what, fix)
    must_pass = item.get("must_pass", False)
    if not isinstance(must_pass, bool):
        what = "`must_pass` must be true or false"
        fix = "write `must_pass: true`, or remove `must_pass`"
        yield document.problem((*key, "must_pass"), what, fix)
    elif must_pass and severity == "warn":
        what = (
            "a check with `severity: warn` cannot have `must_pass`, because the check never "
            "affects the verdict"
        )
        fix = "write `severity: error`, or remove `must_pass`"
        yield document.problem((*key, "must_pass"), what, fix)


def _condition(document: Document, key: KeyPath, when: Any) -> Iterator[Problem]:
    fix = (
        "write `{category: NAME}`, or an expression with the fixture's "
        "variables, such as `language == 'de'`"
    )
    if isinstance(when, Mapping):
        if set(when) != {"category"} or not _is_category(when["category"]):
            yield document.problem(
                key, "a mapping in `when` must have the form `{category: NAME}`", fix
            )
    elif not isinstance(when, str) or not when.strip():
        yield document.problem(key, "`when` must be an expression or a mapping", fix)
    elif len(when) > LONGEST_CONDITION:
        what = (
            f"the expression has {len(when):,} characters, but the limit is {LONGEST_CONDITION:,}"
        )
        yield document.problem(key, what, "write a shorter expression")
    elif is_template(when):
        what = "the expression contains `{{` or `{%`"
        yield document.problem(key, what, "write the expression without `{{`, `}}`, `{%` and `%}`")


def _is_category(value: Any) -> bool:
    if isinstance(value, list):
        return (
            bool(value)
            and all(map(_is_category, value))
            and not any(isinstance(item, list) for item in value)
        )
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
