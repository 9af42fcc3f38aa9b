"""Translates promptfoo's assertions on JSON, SQL, calls of tools, and Python functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gatekeeper.contract.formats.promptfoo.assertion import (
    Assertion,
    NeedsVariablesError,
    as_parameter,
)
from gatekeeper.contract.formats.promptfoo.python_functions import NoFunctionError, named_function
from gatekeeper.contract.formats.promptfoo.sources import FILE
from gatekeeper.contract.syntax.parsing import PythonFunction

Check = dict[str, Any]

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
_ABOVE_ZERO = 1e-9
"""The lowest score that passes without a threshold: in promptfoo, any score above 0."""


def is_json(assertion: Assertion) -> Check:
    """Require that the output is JSON, or is valid under the schema."""
    schema = _schema(assertion)
    if schema is None:
        return assertion.whole({"type": "json_valid"})
    return assertion.whole({"type": "json_schema", "schema": schema, "formats": True})


def contains_json(assertion: Assertion) -> Check:
    """Look for a JSON object in the output, or one that is valid under the schema."""
    schema = _schema(assertion)
    check: Check = {"type": "contains_json"}
    if schema is not None:
        check |= {"schema": schema, "formats": True}
    return assertion.with_field(check)


def _schema(assertion: Assertion) -> Any:
    schema = assertion.data()
    if not schema:
        return None
    if not isinstance(schema, dict):
        raise assertion.node.problem("`value` is not a JSON Schema", "write a mapping")
    return schema if "$schema" in schema else {"$schema": _DRAFT, **schema}


def sql(assertion: Assertion) -> Check:
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
    if tables:
        kinds, names = _tables(assertion, tables)
        check |= {"statements": kinds, "tables": names}
    return assertion.with_field(check)


def _tables(assertion: Assertion, written: Any) -> tuple[list[str], list[str]]:
    """Return the statements and tables that are allowed. Raises CannotRunError if each statement
    has tables of its own, or a table is a pattern."""
    items = written if isinstance(written, list) else [written]
    matches = [_TABLE.fullmatch(str(item)) for item in items]
    pairs = {(match[1], match[2]) for match in matches if match}
    kinds, names = sorted({kind for kind, _ in pairs}), sorted({name for _, name in pairs})
    if None in matches or len(pairs) != len(kinds) * len(names):
        why = (
            "`allowedTables` contains a pattern or allows different statements on "
            "different tables, and gatekeeper supports neither"
        )
        raise assertion.cannot(why)
    return kinds, names


def valid_call(assertion: Assertion) -> Check:
    """Require a call of a tool that the provider offers, and only calls that fit its schema."""
    tools = assertion.scope.tools
    functions = [_function(tool) for tool in tools] if isinstance(tools, list) else []
    known = {f["name"]: f.get("parameters") for f in functions if isinstance(f.get("name"), str)}
    if not known:
        raise assertion.cannot("the provider's `config` has no `tools` to compare the call with")
    ways = [{"type": "tool_call", "tool": name} for name in known]
    if len(ways) > 20:
        why = f"the provider offers {len(ways)} tools, but this check can compare at most 20"
        raise assertion.cannot(why)
    called = ways[0] if len(ways) == 1 else {"type": "any_of", "checks": ways}
    schemas = {name: as_parameter(schema) if schema else True for name, schema in known.items()}
    checks = [{"type": "tool_call", "allowed": schemas}, called]
    return assertion.whole({"type": "all_of", "name": assertion.kind, "checks": checks})


def _function(tool: Any) -> Mapping[str, Any]:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    return function if isinstance(function, Mapping) else {}


def tool_call_f1(assertion: Assertion) -> Check:
    """Require that exactly these tools are called, which is an F1 of 1."""
    if assertion.threshold(1) != 1:
        raise assertion.cannot(
            "gatekeeper supports only a threshold of 1, so the model must call "
            "exactly the listed tools"
        )
    value = assertion.raw()
    names = [assertion.literal(v) for v in value] if isinstance(value, list) else None
    if names is None and isinstance(value, str):
        names = [part.strip() for part in assertion.literal(value).split(",")]
    if not names:
        raise assertion.node.problem("`value` names no tool", "write a list of tools")
    checks: list[Check] = [{"type": "tool_call", "tool": name} for name in dict.fromkeys(names)]
    if len(checks) > 19:
        why = f"the assertion names {len(checks)} tools, but this check can compare at most 19"
        raise assertion.cannot(why)
    checks.append({"type": "tool_call", "allowed": list(dict.fromkeys(names))})
    return assertion.whole({"type": "all_of", "name": assertion.kind, "checks": checks})


def python(assertion: Assertion) -> Check:
    """Call a function of a file of the repository, if it fits the rules of `python:` checks."""
    value = assertion.node.get("value")
    if not isinstance(value, str) or not value.startswith(FILE):
        why = (
            "gatekeeper does not run Python code inside this file; write the code as a "
            "function in a separate file"
        )
        raise assertion.cannot(why)
    try:
        reference, function = named_function(
            assertion.scope.sources, assertion.node, value, "get_assert"
        )
    except NoFunctionError as error:
        raise assertion.cannot(str(error)) from None
    wanted = _parameters(assertion, function)
    check: Check = {"python": reference}
    if "context" in wanted:
        if assertion.scope.variables is None:
            raise NeedsVariablesError
        check["context"] = {"vars": as_parameter(dict(assertion.scope.variables))}
    threshold = assertion.node.get("threshold")
    check["pass"] = _ABOVE_ZERO if threshold is None else assertion.share(0)
    return assertion.whole(check)


def _parameters(assertion: Assertion, function: PythonFunction) -> Sequence[str]:
    """Return the parameters of the function. Raises CannotRunError if gatekeeper cannot call it."""
    name = function.name
    names = [
        *function.only_by_position,
        *function.by_position_or_name,
        *function.only_by_name,
    ]
    required = names[: len(names) - function.defaults]
    if function.only_by_position or not set(required) <= _GIVEN:
        why = (
            f"gatekeeper can call `{name}` only with the parameters `output`, `context`, `vars` "
            "and `expected`"
        )
        raise assertion.cannot(why)
    return names


TRANSLATORS: Mapping[str, Callable[[Assertion], Check]] = {
    "is-json": is_json,
    "contains-json": contains_json,
    "is-sql": sql,
    "contains-sql": sql,
    "is-valid-function-call": valid_call,
    "is-valid-openai-function-call": valid_call,
    "is-valid-openai-tools-call": valid_call,
    "tool-call-f1": tool_call_f1,
    "python": python,
}
