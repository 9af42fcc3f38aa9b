"""The table of promptfoo's assertion types: what each is here, and why others are not run.

Read in promptfoo's sources in November 2026. A test compares the table with
scripts/other_tools.yaml, from which the table of docs/checks.md is written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gatekeeper.contract.formats.promptfoo.assertion import Assertion
from gatekeeper.contract.formats.promptfoo.javascript import NotJavaScriptError, translate_pattern
from gatekeeper.contract.formats.promptfoo.sources import FILE
from gatekeeper.contract.formats.reader import keys
from gatekeeper.contract.formats.rows import Check, Row, not_run, row, table
from gatekeeper.contract.prompts.styles.literal import as_parameter
from gatekeeper.contract.syntax.parsing import PythonFunction
from gatekeeper.contract.syntax.schema import is_number

_SHOWN = 60
_TAGS = (
    "html|head|body|div|span|p|a|img|h[1-6]|ul|ol|li|table|tr|td|th|form|input|button|script|style"
    "|link|meta|br|hr"
)
_OPENING, _CLOSING = r"<[a-zA-Z][a-zA-Z0-9-]*(?:\s[^>]*)?>", r"</[a-zA-Z][a-zA-Z0-9-]*\s*>"
_XML = r"(?s)<([A-Za-z_:][\w.:-]*)(?:\s[^<>]*)?(?:/>|>.*?</\1\s*>)"
_DRAFT = "http://json-schema.org/draft-07/schema#"
_DIALECTS = {
    "mysql": "mysql",
    "mariadb": "mysql",
    "postgresql": "postgres",
    "postgresql ": "postgres",
    "sqlite": "sqlite",
    "bigquery": "bigquery",
    "transactsql": "tsql",
    "redshift": "redshift",
    "snowflake": "snowflake",
    "hive": "hive",
    "trino": "trino",
    "athena": "athena",
}
_TABLE = re.compile(r"(select|insert|update|delete|create|drop|alter)::null::([\w.$-]+)")
_GIVEN = frozenset({"output", "context", "vars", "expected"})
_MOST_TOOLS = 20
_ABOVE_ZERO = 1e-9
"""The lowest score that passes without a threshold: in promptfoo, any score above 0."""
_SAME_FACTS = (
    "States the same facts as the reference, or some or more of them, and contradicts none. "
    "Differences in style, grammar and punctuation do not matter."
)


def _share(default: float) -> Callable[[Assertion], float]:
    return lambda assertion: assertion.share(default)


def _equals(assertion: Assertion) -> Check:
    """Compare JSON if the value is a mapping or a list, else the text to the letter."""
    if "value" not in assertion.node.mapping:
        fix = "write `value: …`; without `value`, promptfoo compares with the text `undefined`"
        raise assertion.node.problem("`value` is missing", fix)
    value = assertion.raw()
    if value is None:
        return assertion.of_whole({"type": "json_schema", "schema": {"const": None}})
    if isinstance(value, dict | list):
        return assertion.of_part({"type": "equals", "value": as_parameter(value)})
    if value == "":
        return assertion.of_whole(_pattern(r"\A\Z"))
    text = assertion.text(value)
    return assertion.of_part({"type": "equals", "value": text, "strip": False})


def _starts_with(assertion: Assertion) -> Check:
    """Compare the beginning to the letter, white space included."""
    text = assertion.text()
    if not text.strip():
        spaces = "".join(f"\\x{ord(character):02x}" for character in text)
        return assertion.of_part(_pattern(rf"\A{spaces}"))
    return assertion.of_part({"type": "starts_with", "value": text, "strip": False})


def _regex(assertion: Assertion) -> Check:
    """Write the pattern of JavaScript in the syntax that is used here."""
    value = assertion.raw()
    if not isinstance(value, str) or not value:
        raise assertion.node.problem("`value` is no pattern", "write a regular expression")
    written = assertion.literal(value)
    try:
        pattern = translate_pattern(written)
    except NotJavaScriptError as error:
        what = f"promptfoo cannot read the pattern: {error}"
        fix = "write the pattern as a JavaScript regular expression"
        raise assertion.node.problem(what, fix) from None
    check = _pattern(as_parameter(pattern))
    if pattern != written and written.strip():
        check["name"] = " ".join(f"regex {written}".split())[:_SHOWN]
    return assertion.of_part(check)


def _edits(assertion: Assertion) -> int:
    most = assertion.threshold(5)
    if most < 0:
        raise assertion.cannot("a distance below 0 is impossible")
    return math.floor(most)


def _word_count(assertion: Assertion) -> Check:
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
    return assertion.of_whole(check)


def _number(assertion: Assertion, value: Any) -> float:
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(assertion.literal(value))
    except (ValueError, TypeError):
        raise assertion.node.problem("the word count must be a number", "write a number") from None


def _contains_html(assertion: Assertion) -> Check:
    """Look for the signs of HTML that promptfoo counts, of which it takes two."""
    signs = [
        f"{_OPENING}|{_CLOSING}",
        r"<[a-zA-Z][a-zA-Z0-9-]*(?:\s[^>]*)?/>",
        r"&(?:[a-zA-Z]+|#[0-9]+|#x[0-9a-fA-F]+);",
        r"<!--[^-]*(?:-[^-]+)*-->",
        r"\s[a-zA-Z-]+=\s*[\"'][^\"']*[\"']",
    ]
    ways = [
        _pattern(rf"(?i)<(?:{_TAGS})\b|<!DOCTYPE\s+html"),
        {"type": "all_of", "checks": [_pattern(_OPENING), _pattern(_CLOSING)]},
        {"type": "mean_of", "min": 2 / len(signs), "checks": [_pattern(sign) for sign in signs]},
    ]
    return assertion.of_whole({"type": "any_of", "name": "contains HTML", "checks": ways})


def _pattern(pattern: str) -> Check:
    return {"type": "regex", "pattern": pattern}


def _xml(assertion: Assertion) -> Check:
    """Read the output as XML, or look for an element in it; and for each required element."""
    value = assertion.raw()
    if isinstance(value, Mapping):
        value = value.get("requiredElements", [])
    written = assertion.literal(value).split(",") if isinstance(value, str) else value or []
    names = [part for element in written for part in assertion.literal(element).strip().split(".")]
    whole: Check = {"type": "parses_as", "format": "xml"}
    first = whole if assertion.kind == "is-xml" else _pattern(_XML)
    if not names:
        return assertion.of_whole(first)
    escaped = ["".join(c if c.isalnum() or c in "_-:" else f"\\{c}" for c in n) for n in names]
    checks = [first, *(_pattern(rf"<{name}[\s/>]") for name in dict.fromkeys(escaped))]
    return assertion.of_whole({"type": "all_of", "name": assertion.kind, "checks": checks})


def _is_json(assertion: Assertion) -> Check:
    """Require that the output is JSON, or is valid under the schema."""
    schema = _schema(assertion)
    if schema is None:
        return assertion.of_whole({"type": "json_valid"})
    return assertion.of_whole({"type": "json_schema", "schema": schema, "formats": True})


def _schema(assertion: Assertion) -> Any:
    schema = assertion.data()
    if not schema:
        return None
    if not isinstance(schema, dict):
        raise assertion.node.problem("`value` is not a JSON Schema", "write a mapping")
    return schema if "$schema" in schema else {"$schema": _DRAFT, **schema}


def _sql(assertion: Assertion) -> Check:
    """Read the output, or a block of code in it, as SQL of the dialect."""
    value = assertion.raw() or {}
    if not isinstance(value, Mapping):
        fix = "write {databaseType: PostgreSQL}"
        raise assertion.node.problem("`value` is not a mapping", fix)
    written = str(value.get("databaseType") or "MySQL")
    dialect = _DIALECTS.get(written.lower())
    if dialect is None:
        why = f"gatekeeper cannot parse the SQL of the database type `{written[:50]}`"
        raise assertion.cannot(why)
    if value.get("allowedColumns"):
        why = "gatekeeper does not check a list of allowed columns; remove `allowedColumns`"
        raise assertion.cannot(why)
    check: Check = {"type": "parses_as", "format": "sql", "dialect": dialect}
    if assertion.kind == "contains-sql":
        check["fenced"] = True
    tables = value.get("allowedTables")
    return assertion.of_part({**check, **(_tables(assertion, tables) if tables else {})})


def _tables(assertion: Assertion, written: Any) -> Check:
    """Return the statements and tables that are allowed. Raises CannotRunError if each statement
    has tables of its own, or a table is a pattern."""
    items = written if isinstance(written, list) else [written]
    matches = [_TABLE.fullmatch(str(item)) for item in items]
    pairs = {(match[1], match[2]) for match in matches if match}
    kinds, names = sorted({kind for kind, _ in pairs}), sorted({name for _, name in pairs})
    if None in matches or len(pairs) != len(kinds) * len(names):
        why = "`allowedTables` has a pattern, or other statements for other tables"
        raise assertion.cannot(why)
    return {"statements": kinds, "tables": names}


def _valid_call(assertion: Assertion) -> Check:
    """Require a call of a tool that the provider offers, and only calls that fit its schema."""
    tools = assertion.scope.tools
    functions = [_function(tool) for tool in tools] if isinstance(tools, list) else []
    known = {f["name"]: f.get("parameters") for f in functions if isinstance(f.get("name"), str)}
    if not known:
        raise assertion.cannot("the provider's `config` has no `tools` to compare the call with")
    schemas = {name: as_parameter(schema) if schema else True for name, schema in known.items()}
    check: Check = {"type": "tool_call", "name": assertion.kind, "min": 1}
    return assertion.of_whole({**check, "allowed": schemas})


def _function(tool: Any) -> Mapping[str, Any]:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    return function if isinstance(function, Mapping) else {}


def _tool_call_f1(assertion: Assertion) -> Check:
    """Require that exactly these tools are called, which is an F1 of 1."""
    if assertion.threshold(1) != 1:
        raise assertion.cannot("only a threshold of 1 is supported: exactly the listed tools")
    value = assertion.raw()
    names = [assertion.literal(v) for v in value] if isinstance(value, list) else None
    if names is None and isinstance(value, str):
        names = [part.strip() for part in assertion.literal(value).split(",")]
    if not names:
        raise assertion.node.problem("`value` names no tool", "write a list of tools")
    names = list(dict.fromkeys(names))
    check: Check = {"type": "tool_call", "name": assertion.kind, "order": names}
    return assertion.of_whole({**check, "match": "any_order", "allowed": names})


def _named_tool(assertion: Assertion, matcher: Any) -> str:
    """Return the tool of a matcher, which is a text or has a `name` or `pattern`."""
    if isinstance(matcher, Mapping):
        if matcher.get("type") not in (None, "tool"):
            raise assertion.cannot("gatekeeper counts tool calls, and no other steps of a trace")
        matcher = matcher.get("pattern") or matcher.get("name")
    if not isinstance(matcher, str) or not matcher.strip():
        raise assertion.node.problem("`value` names no tool", "write the name of a tool")
    name = assertion.literal(matcher)
    if set(name) & set("*?"):
        raise assertion.cannot("gatekeeper compares the whole names of tools, without wildcards")
    return name


def _tool_used(assertion: Assertion) -> Check:
    """Require a call of each tool of a list, or so many calls of one. With `not-`, none of the list
    may be called."""
    value = assertion.raw()
    if isinstance(value, Mapping):
        named = {"tool": _named_tool(assertion, value)}
        return assertion.of_whole({**named, **_counted(assertion, {"min": 1, **value})})
    written = value if isinstance(value, list) and value else [value]
    names = list(dict.fromkeys(_named_tool(assertion, name) for name in written))
    if assertion.node.get("type") == assertion.kind:
        return assertion.of_whole({"type": "tool_call", "order": names, "match": "any_order"})
    if len(names) > _MOST_TOOLS:
        raise assertion.cannot(f"the list names more than {_MOST_TOOLS} tools")
    checks = [{"type": "tool_call", "tool": name} for name in names]
    return assertion.of_whole({"type": "any_of", "name": assertion.kind, "checks": checks})


def _step_count(assertion: Assertion) -> Check:
    """Count the calls of tools, or of one tool."""
    value = assertion.raw()
    if not isinstance(value, Mapping) or value.get("type") != "tool":
        raise assertion.cannot("the steps of a trace are not recorded; count calls by `type: tool`")
    named = {"tool": _named_tool(assertion, value)} if value.keys() & {"pattern", "name"} else {}
    return assertion.of_whole({**named, **_counted(assertion, value)})


def _counted(assertion: Assertion, value: Mapping[str, Any]) -> Check:
    """Return the check of a number of calls. Raises CannotRunError if each passes, or none does."""
    given = {name: value[name] for name in ("min", "max") if value.get(name) is not None}
    if not given or any(not (is_number(n) and float(n).is_integer()) for n in given.values()):
        fix = "write whole numbers, such as {type: tool, max: 5}"
        raise assertion.node.problem("`value` needs `min` or `max`", fix)
    bounds = {name: max(int(number), 0) for name, number in given.items()}
    least, most = bounds.get("min", 0), given.get("max", math.inf)
    if most < least or (not least and most == math.inf):
        raise assertion.cannot("with these bounds, every number of calls passes, or none does")
    return {"type": "tool_call", **bounds}


def _tool_sequence(assertion: Assertion) -> Check:
    """Compare the order of all calls, or look for it among them."""
    value = assertion.raw()
    mode, steps = "in_order", value
    if isinstance(value, Mapping):
        mode, steps = value.get("mode", "in_order"), value.get("steps")
    if not isinstance(steps, list) or not steps:
        raise assertion.node.problem("`value` has no steps", "write a list of tools")
    order = [_named_tool(assertion, step) for step in steps]
    match = "exact" if mode == "exact" else "in_order"
    return assertion.of_whole({"type": "tool_call", "order": order, "match": match})


def _tool_arguments(assertion: Assertion) -> Check:
    """Look for a call with these arguments, or with no others."""
    value = assertion.raw()
    wanted = value.get("args", value.get("arguments")) if isinstance(value, Mapping) else None
    if wanted is None:
        raise assertion.node.problem("`value` has no `args`", "write {name: TOOL, args: {…}}")
    if value.get("defaults") or value.get("ignore"):
        raise assertion.cannot("gatekeeper leaves out no argument by `defaults` or `ignore`")
    schema = {"const": wanted} if value.get("mode") == "exact" else _has_at_least(wanted)
    check: Check = {"type": "tool_call", "tool": _named_tool(assertion, value)}
    return assertion.of_whole({**check, "schema": as_parameter(schema)})


def _has_at_least(wanted: Any) -> Mapping[str, Any]:
    """Return the schema of a value that has what the wanted one has, and maybe more keys."""
    if isinstance(wanted, list):
        items = [_has_at_least(item) for item in wanted]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "items": False}
    if not isinstance(wanted, Mapping):
        return {"const": wanted}
    properties = {str(key): _has_at_least(item) for key, item in wanted.items()}
    return {"type": "object", "required": [*properties], "properties": properties}


def _goal(assertion: Assertion) -> str:
    value = assertion.raw()
    goal = value.get("goal") if isinstance(value, Mapping) else value
    return f"The assistant achieves this goal: {assertion.text(goal or '')}"


def _python(assertion: Assertion) -> Check:
    """Call a function of a file of the repository, if it fits the rules of `python:` checks."""
    value = assertion.node.get("value")
    if not isinstance(value, str) or not value.startswith(FILE):
        raise assertion.cannot(_CODE.format("Python in this file"))
    sources, kind = assertion.scope.sources, str(assertion.node.get("type"))
    reference, function = sources.function(assertion.node, value, "get_assert", kind)
    wanted = _parameters(assertion, function)
    check: Check = {"python": reference}
    if "context" in wanted:
        check["context"] = {"vars": as_parameter(dict(assertion.variables()))}
    threshold = assertion.node.get("threshold")
    check["pass"] = _ABOVE_ZERO if threshold is None else assertion.share(0)
    return assertion.of_whole(check)


def _parameters(assertion: Assertion, function: PythonFunction) -> Sequence[str]:
    """Return the parameters of the function. Raises CannotRunError if gatekeeper cannot call it."""
    name = function.name
    names = [*function.only_by_position, *function.by_position_or_name, *function.only_by_name]
    required = names[: len(names) - function.defaults]
    if function.only_by_position or not set(required) <= _GIVEN:
        raise assertion.cannot(
            f"gatekeeper can call `{name}` only with the parameters `output`, `context`, `vars` "
            "and `expected`"
        )
    return names


def _criteria(assertion: Assertion) -> str:
    value = assertion.raw()
    if isinstance(value, Mapping):
        raise assertion.cannot("the criteria are a mapping; write the criteria as text")
    if isinstance(value, list):
        return "\n".join(f"- {assertion.text(item)}" for item in value)
    return assertion.text(value)


def _question(assertion: Assertion) -> str | None:
    """Return the question that the output answers, from `query`; None for what the user says."""
    assertion.share_above_zero()
    return "{{ query }}" if isinstance(assertion.variables().get("query"), str) else None


def _context(assertion: Assertion) -> str:
    assertion.share_above_zero()
    if assertion.node.get("contextTransform") is not None:
        raise assertion.cannot("`contextTransform` is JavaScript, which gatekeeper does not run")
    if "context" not in assertion.variables():
        what = "the test has no variable `context`"
        raise assertion.node.problem(what, "add `context` to `vars`")
    return "{{ context }}"


def _similar(assertion: Assertion) -> Check:
    """Compare the embeddings of the output and of the texts in `value`."""
    texts = assertion.text_or_texts()
    if assertion.grading.embedding_fault:
        raise assertion.cannot(assertion.grading.embedding_fault)
    least, model = assertion.share(0.75), assertion.grading.embedding
    checks = [
        assertion.of_part({"type": "similar", "value": text, "min": least, "model": model})
        for text in ([texts] if isinstance(texts, str) else texts)
    ]
    return checks[0] if len(checks) == 1 else {"type": "any_of", "checks": checks}


_TRACES = "gatekeeper reads answers and tool calls, and records no traces"
_OF_TOOL = keys("name pattern type min max")
_RETRIEVER = (
    "this assertion type evaluates a retriever, but gatekeeper takes the context from the test"
)
_CODE = "gatekeeper does not run {}; write the check as a Python function in a separate file"
_OF_SQL = keys("databaseType allowedTables allowedColumns")
_TEXT, _TEXTS, _JUDGE = Assertion.text, Assertion.texts, Assertion.judge

WHOLE, IGNORES_NOT, APART, AT_LEAST, LIST = "whole", "ignores not", "apart", "at least", "list"
"""Marks of a row: the check reads only the whole output; promptfoo ignores `not-` before the type;
its result is added to that of the other assertions, whatever their score; a cell of a CSV file
gives it a threshold, which has a default; a cell gives it a list."""
ROWS: Mapping[str, Row] = table(
    row("equals", _equals),
    row("contains", "contains", value=_TEXT),
    row("contains-all", "contains", values=_TEXTS, marks={LIST}),
    row("contains-any", "contains", values=_TEXTS, match="any", marks={LIST}),
    row("icontains", "contains", value=_TEXT, ignore_case=True),
    row("icontains-all", "contains", values=_TEXTS, ignore_case=True, marks={LIST}),
    row("icontains-any", "contains", values=_TEXTS, match="any", ignore_case=True, marks={LIST}),
    row("starts-with", _starts_with, marks={AT_LEAST}),
    row("regex", _regex),
    row("levenshtein", "levenshtein", value=_TEXT, max=_edits, strip=False, marks={AT_LEAST}),
    # Single words, whatever their case.
    row("rouge-n", "rouge", value=_TEXT, variant="rouge1", min=_share(0.75), marks={AT_LEAST}),
    # Words between white space, whatever their case, without smoothing.
    row(
        "bleu", "bleu", value=Assertion.text_or_texts, min=_share(0.5), tokenize="none",
        ignore_case=True, smoothing="floor",
    ),
    row("word-count", _word_count, keys=keys("min max")),
    row("latency", "latency", max_ms=Assertion.limit, marks={WHOLE, AT_LEAST}),
    row("cost", "cost", max_usd=Assertion.limit, marks={WHOLE, AT_LEAST}),
    row("is-refusal", "refusal", expect="refusal"),
    row("is-html", "parses_as", format="html"),
    row("contains-html", _contains_html),
    row("is-xml contains-xml", _xml, keys=keys("requiredElements")),
    row("is-json", _is_json),
    row(
        "contains-json", "contains_json", schema=_schema,
        formats=lambda assertion: True if _schema(assertion) else None,
    ),
    row("is-sql contains-sql", _sql, keys=_OF_SQL),
    row(
        "is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call",
        _valid_call, marks={IGNORES_NOT},
    ),
    row("tool-call-f1", _tool_call_f1),
    row("trajectory:tool-used", _tool_used, keys=_OF_TOOL),
    row("trajectory:tool-sequence", _tool_sequence, keys=keys("mode steps")),
    row(
        "trajectory:tool-args-match", _tool_arguments,
        keys=keys("name pattern type args arguments mode defaults ignore"),
    ),
    row("trajectory:step-count", _step_count, keys=_OF_TOOL),
    row(
        "trajectory:goal-success", "judge rubric", criteria=_goal, transcript=True, model=_JUDGE,
        keys=keys("goal"),
    ),
    row("python", _python),
    row("llm-rubric g-eval", "judge rubric", criteria=_criteria, model=_JUDGE),
    row(
        "model-graded-closedqa pi", "judge rubric", criteria=_criteria, model=_JUDGE,
        marks={IGNORES_NOT},
    ),
    row(
        "factuality model-graded-factuality", "judge rubric", criteria=_SAME_FACTS,
        reference=_TEXT, model=_JUDGE, marks={IGNORES_NOT},
    ),
    row(
        "answer-relevance", "judge answers_question", question=_question, model=_JUDGE,
        marks={IGNORES_NOT, AT_LEAST},
    ),
    row(
        "context-faithfulness", "judge faithful", context=_context,
        pass_=Assertion.share_above_zero, model=_JUDGE, marks={IGNORES_NOT, AT_LEAST},
    ),
    row(
        "select-best", "judge prefer", criteria=_TEXT, model=_JUDGE,
        marks={WHOLE, IGNORES_NOT, APART},
    ),
    row("similar", _similar, marks={AT_LEAST}),
    row("similar:cosine", _similar),
    not_run("agent-rubric", "gatekeeper's judges are models, and not agents"),
    not_run("classifier", "gatekeeper does not call classifiers", {AT_LEAST}),
    not_run("context-recall context-relevance", _RETRIEVER, {AT_LEAST}),
    not_run("conversation-relevance", "gatekeeper has no check that rates every turn"),
    not_run("finish-reason", "no check reads why an answer ended; `samples.jsonl` records it"),
    not_run("gleu", "gatekeeper does not compute GLEU; use `bleu` or `rouge-n`"),
    not_run("guardrails", "gatekeeper does not read a provider's guardrails; use `is-refusal`"),
    not_run("human", "gatekeeper does not wait for the verdict of a person"),
    not_run("javascript", _CODE.format("JavaScript")),
    not_run("max-score", "it selects one of several outputs; gatekeeper compares base and head"),
    not_run("meteor", "gatekeeper does not compute METEOR; use `similar` or `rouge-n`"),
    not_run("moderation", "gatekeeper calls no moderation service; use `llm-rubric`"),
    not_run("perplexity perplexity-score", "token probabilities are not recorded", {AT_LEAST}),
    not_run("ruby", _CODE.format("Ruby")),
    not_run("search-rubric", "judges cannot search the web, whose results change over time"),
    not_run("similar:dot similar:euclidean", "only the cosine is computed; use `similar`"),
    not_run("skill-used trace-error-spans trace-span-count trace-span-duration", _TRACES),
    not_run("webhook", "checks have no network, so that a pull request cannot leak outputs"),
)  # fmt: skip
SET = "assert-set"
"""The type of several assertions that are one, which has no row."""
RED_TEAM = "promptfoo:redteam:"
RED_TEAM_REASON = "gatekeeper neither generates nor grades attacks"
ALL_TYPES = frozenset({*ROWS, SET})
MAPPED = frozenset(kind for kind in ALL_TYPES if kind == SET or not ROWS[kind].why)
"""The assertion types that gatekeeper translates to a check."""
NOT_RUN = ALL_TYPES - MAPPED


def has(kind: Any, mark: str) -> bool:
    """Return whether the row of a type has the mark."""
    return isinstance(kind, str) and kind in ROWS and mark in ROWS[kind].marks
