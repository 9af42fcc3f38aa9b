"""Translates the checks of a PCSL expectation suite, and the tolerances of an evaluation
profile."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gatekeeper.contract.formats.check_texts import literal
from gatekeeper.contract.formats.fields import expect_list
from gatekeeper.contract.formats.foreign_suite import At, copy_value
from gatekeeper.contract.formats.known_keys import Keys, keys, unknown_keys, unknown_keywords
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import NotRun
from gatekeeper.contract.values.unique_name import take_name
from gatekeeper.errors import ContractError

Written = Mapping[str, Any]

_PREFIX = "pc.check."
_JUDGE_MODEL = "openai/gpt-4o-mini"
"""The judge that prompt-contracts uses if the check names none."""
_OF_CHECK = "type severity"
CHECK_KEYS: Mapping[str, Keys] = {
    "json_valid": keys(_OF_CHECK, "name id"),
    "json_required": keys(f"{_OF_CHECK} fields keys", "name id"),
    "enum": keys(f"{_OF_CHECK} field allowed case_insensitive", "name id"),
    "regex_absent": keys(f"{_OF_CHECK} pattern", "name id"),
    "regex_present": keys(f"{_OF_CHECK} pattern flags field", "name id"),
    "token_budget": keys(f"{_OF_CHECK} max_out max_tokens", "name id"),
    "latency_budget": keys(f"{_OF_CHECK} p95_ms max_ms", "name id"),
    "contains_all": keys(f"{_OF_CHECK} required case_sensitive", "name id"),
    "contains_any": keys(f"{_OF_CHECK} options case_sensitive", "name id"),
    "judge": keys(f"{_OF_CHECK} criteria model", "name id"),
    "tolerance": keys("max_fail_rate"),
}
_OTHER_NAMES = {"enum_value": "enum"}
_FLAGS = frozenset("ims")
_SEVERAL = "{name} ({number})"


def read_checks(
    definition: Document, suite: Document, not_run: list[NotRun]
) -> tuple[list[At], dict[str, Any]]:
    """Return the checks, and the objectives on latency. Raises ContractError.

    From 0.3 on, the checks stand in either file, and `output_schema` may stand for some.
    """
    checks: list[At] = []
    slo: dict[str, Any] = {}
    taken: set[str] = set()
    holder = suite if "checks" in suite.data else definition
    found = expect_list(holder, ("checks",)) if "checks" in holder.data else []
    for index, item in enumerate(found):
        key: KeyPath = ("checks", index)
        kind = item.get("type")
        if not isinstance(kind, str):
            what, fix = "a check has no `type`", f"add a type, such as `type: {_PREFIX}json_valid`"
            raise ContractError([holder.problem(key, what, fix)])
        plain = kind.removeprefix(_PREFIX)
        plain = _OTHER_NAMES.get(plain, plain)
        table = CHECK_KEYS.get(plain)
        unknown = unknown_keys(holder, key, item, table, check=kind) if table else []
        if unknown:
            not_run += unknown
            continue
        if plain == "latency_budget" and "p95_ms" in item:
            slo["latency_p95_ms"] = copy_value(holder, (*key, "p95_ms"))
            continue
        made = _translate(plain, item)
        if isinstance(made, str):
            not_run.append(NotRun(kind, holder.position(key), made))
            continue
        named = f"{plain} {item['field']}" if item.get("field") else plain
        name = take_name(named, taken, _SEVERAL)
        severity = {"severity": item["severity"]} if item.get("severity") == "warn" else {}
        at = holder.position(key)
        checks.append(At({"name": At(name, at), **made, **severity}, at))
    schema = suite.data.get("output_schema")
    if isinstance(schema, dict):
        not_run += unknown_keywords(suite, ("output_schema",), schema)
        at = suite.position(("output_schema",))
        name = take_name("output_schema", taken, _SEVERAL)
        check = {"type": "json_schema", "schema": copy_value(suite, ("output_schema",))}
        checks.append(At({"name": At(name, at), **check}, at))
    if not checks and not slo and not not_run:
        raise ContractError([suite.problem((), "there are no checks", "add `checks`")])
    return checks, slo


def _translate(kind: str, item: Written) -> dict[str, Any] | str:
    """Return the check; why it is not run, if there is none."""
    make = _MAKERS.get(kind)
    if make is None:
        return "gatekeeper has no equivalent of PCSL checks of this type"
    try:
        return make(item)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        return f"the check's parameters do not follow the PCSL format ({error})"


def _enum(item: Written) -> dict[str, Any]:
    field = {"field": item["field"]} if item.get("field") else {}
    values = [literal(value) if isinstance(value, str) else value for value in item["allowed"]]
    return {
        "type": "enum",
        **field,
        "values": values,
        "ignore_case": item.get("case_insensitive") is True,
    }


def _contains(key: str, match: str) -> Callable[[Written], dict[str, Any]]:
    def make(item: Written) -> dict[str, Any]:
        values = [literal(str(value)) for value in item[key]]
        ignore = not item.get("case_sensitive", True)
        return {"type": "contains", "values": values, "match": match, "ignore_case": ignore}

    return make


def _regex(item: Written) -> dict[str, Any]:
    flags = "".join(sorted(set(str(item.get("flags", "")).lower()) & _FLAGS))
    pattern = f"(?{flags}){item['pattern']}" if flags else item["pattern"]
    field = {"field": item["field"]} if item.get("field") else {}
    return {"type": "regex", "pattern": literal(pattern), **field}


def _tokens(item: Written) -> dict[str, Any]:
    # prompt-contracts counts words here, whatever the check is called.
    most = item["max_out"] if "max_out" in item else item["max_tokens"]
    return {"type": "length", "max": int(most), "unit": "words"}


def _judge(item: Written) -> dict[str, Any]:
    model = item.get("model", _JUDGE_MODEL)
    named = model if "/" in model else f"openai/{model}"
    return {"judge": "rubric", "criteria": literal(item["criteria"]), "model": named}


def _similarity(_: Written) -> str:
    return (
        "PCSL computes embeddings itself, but gatekeeper gets embeddings from a provider; write a "
        "gatekeeper contract with a check `similar`"
    )


_MAKERS: Mapping[str, Callable[[Written], dict[str, Any] | str]] = {
    "json_valid": lambda _: {"type": "json_valid"},
    "json_required": lambda item: {
        "type": "json_required",
        "fields": [literal(str(name)) for name in item.get("fields") or item["keys"]],
    },
    "enum": _enum,
    "regex_absent": lambda item: {"type": "not_regex", "pattern": literal(item["pattern"])},
    "regex_present": _regex,
    "token_budget": _tokens,
    "latency_budget": lambda item: {"type": "latency", "max_ms": item["max_ms"]},
    "contains_all": _contains("required", "all"),
    "contains_any": _contains("options", "any"),
    "judge": _judge,
    "similarity": _similarity,
}


def tolerances(
    profile: Document, checks: Sequence[tuple[str, Written]], not_run: list[NotRun]
) -> dict[str, At]:
    """Return an objective for each check whose type has a `max_fail_rate`."""
    written = profile.data.get("tolerances")
    found: dict[str, At] = {}
    for kind, tolerance in (written if isinstance(written, dict) else {}).items():
        rate = tolerance.get("max_fail_rate") if isinstance(tolerance, dict) else None
        key = ("tolerances", kind, "max_fail_rate")
        not_run += unknown_keys(profile, key[:-1], tolerance, CHECK_KEYS["tolerance"])
        if not isinstance(rate, int | float) or not 0 <= rate < 1:
            what, fix = "`max_fail_rate` must be at least 0 and less than 1", "write 0.05"
            raise ContractError([profile.problem(key, what, fix)])
        plain = kind.removeprefix(_PREFIX)
        plain = _OTHER_NAMES.get(plain, plain)
        names = [name for name, _ in checks if re.fullmatch(rf"{re.escape(plain)}( .*)?", name)]
        if not names:
            why = f"the tolerance has no effect, because no check of the type `{plain}` runs"
            not_run.append(NotRun(f"tolerance of {kind}", profile.position(key), why))
        found |= {name: At(round(1 - rate, 9), profile.position(key)) for name in names}
    return found
