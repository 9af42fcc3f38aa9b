"""Reads SQL with sqlglot: whether it parses, what its statements do, and which tables they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

KINDS = ("select", "insert", "update", "delete", "merge", "create", "alter", "drop", "other")
"""What each statement does. `SELECT … INTO` creates a table; `TRUNCATE` deletes rows."""

_STATEMENTS = (
    *("Query", "DDL", "DML", "Values", "Alter", "Analyze", "Attach", "Cache", "Comment", "Commit"),
    *("Copy", "Describe", "Detach", "Drop", "Export", "Grant", "Kill", "LoadData", "Merge"),
    *("Pragma", "Refresh", "Revoke", "Rollback", "Set", "Show", "Transaction", "TruncateTable"),
    *("Uncache", "Use"),
)
"""The names of statements in sqlglot, which also reads a bare expression such as the word
`yes`."""

_CHANGES = (
    "Insert",
    "Update",
    "Delete",
    "Merge",
    "Create",
    "Alter",
    "Drop",
    "TruncateTable",
    "Into",
)
_OTHER_WORDS = {"into": "create", "truncatetable": "delete"}
_NAMED = re.compile(
    r"<Token token_type: [\w.]+, text: (.*), line: \d+, col: .*>|<class '[\w.]*?(\w+)'>", re.DOTALL
)
"""Objects of sqlglot in its messages: a token of the text, and a part of a statement."""


def sql_problem(
    text: str,
    dialect: str | None,
    kinds: Sequence[str] | None = None,
    tables: Sequence[str] | None = None,
) -> str | None:
    """Return why a text is not SQL of these kinds on these tables; None if it is.

    Raises TimeoutError, MemoryError or RecursionError if reading takes too much.
    """
    import sqlglot
    from sqlglot import errors

    try:
        statements = [one for one in sqlglot.parse(text, dialect=dialect) if one]
        if not statements:
            return "the text has no statement"
        for statement in statements:
            problem = _problem(statement, kinds, tables)
            if problem:
                return problem
    except errors.ParseError as error:
        first = error.errors[0] if error.errors else {}
        said = _NAMED.sub(r"`\1\2`", str(first.get("description", error))[:2_000])[:200]
        return f"{said} at {first.get('line')}:{first.get('col')}"
    except (errors.SqlglotError, ValueError) as error:
        if isinstance(error.__context__, TimeoutError | MemoryError | RecursionError):
            raise error.__context__ from None
        return str(error)[:200]
    return None


def _problem(
    statement: Any, kinds: Sequence[str] | None, tables: Sequence[str] | None
) -> str | None:
    if not isinstance(statement, _classes(_STATEMENTS)):
        return f"`{statement.sql()[:60]}` is not a statement"
    wrong = sorted(_kinds(statement) - set(kinds)) if kinds else []
    if wrong:
        return f"the text has a statement that is not allowed: {', '.join(wrong)}"
    if tables is not None:
        allowed = {name.casefold() for name in tables}
        unknown = sorted({name for name in _tables(statement) if name.casefold() not in allowed})
        if unknown:
            return f"the text names a table that is not allowed: {', '.join(unknown[:5])}"
    return None


def _kinds(statement: Any) -> set[str]:
    """Return what a statement does, together with the statements within it."""
    from sqlglot import exp

    changes = {_kind(node) for node in statement.find_all(*_classes(_CHANGES))}
    if isinstance(statement, exp.Query | exp.Values):
        return changes | {"select"}
    return changes | {_kind(statement)}


def _kind(node: Any) -> str:
    name = _OTHER_WORDS.get(node.key, node.key)
    return name if name in KINDS else "other"


def _tables(statement: Any) -> Iterator[str]:
    """Yield the tables that are read or changed, not the names that `WITH` gives."""
    from sqlglot import exp
    from sqlglot.optimizer.scope import traverse_scope

    found: list[Any] = []
    if isinstance(statement, exp.Query):
        for scope in traverse_scope(statement):
            found += [one for one in scope.sources.values() if isinstance(one, exp.Table)]
        changes: Iterator[Any] = statement.find_all(*_classes(_CHANGES))
        found += [table for change in changes for table in change.find_all(exp.Table)]
    else:
        found += statement.find_all(exp.Table)
    for table in found:
        name = ".".join(part.name for part in table.parts)
        if name:  # a function that returns a table has none
            yield name


def _classes(names: Sequence[str]) -> tuple[type, ...]:
    from sqlglot import exp

    return tuple(getattr(exp, name) for name in names if hasattr(exp, name))
