"""The output is a valid document in the given `format`.

- `xml`: well-formed, with namespaces declared. A document that declares entities fails.
- `html`: at least one tag, every tag closed in the right order. Optional end tags such as `</p>`
  may be missing. Names of tags and attributes do not matter.
- `yaml`: a mapping or list that PyYAML's safe loader reads (which takes a key that occurs twice).
- `csv`: the same number of columns in every row, at least two. `columns` is the number, or the
  names in the first row. `delimiter` separates columns.
- `python`: valid syntax for the Python that runs Gatekeeper; a single word is valid, too.
- `sql`: one or more statements in sqlglot's `dialect`. Statements of which sqlglot knows only the
  first word, such as `EXPLAIN` and `CALL`, fail. `statements` lists the allowed kinds, also inside
  of other statements (`SELECT … INTO` is `create`, `TRUNCATE` is `delete`). `tables` lists the
  tables that may be named, spelt as in the statements (`orders`, `shop.orders`). What a function
  does is unknown.

The check executes nothing; its message says where reading stopped. For JSON, use
[json_valid](#json_valid). A document that takes more than 1.2 seconds or 512 MB is undetermined.
"""

from __future__ import annotations

import re
from typing import Any

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
    undetermined,
)
from gatekeeper.checks.reading.output import FIELD, as_text, on_output, quote
from gatekeeper.checks.text.documents import UnreadableError, read_document
from gatekeeper.checks.text.sql_statements import KINDS

FORMATS = ("xml", "html", "yaml", "csv", "python", "sql")
DIALECTS = (
    *("ansi", "athena", "bigquery", "clickhouse", "databricks", "doris", "drill", "druid"),
    *("duckdb", "hive", "mysql", "oracle", "postgres", "presto", "redshift", "snowflake"),
    *("spark", "sqlite", "starrocks", "teradata", "trino", "tsql"),
)
_ONLY_FOR = {
    "dialect": "sql",
    "statements": "sql",
    "tables": "sql",
    "columns": "csv",
    "delimiter": "csv",
}
_SHOWN_PROBLEM = 300
_MOST_BLOCKS = 10
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})[ \t]*([^\n]*)")


def fenced_blocks(text: str, language: str) -> list[str]:
    """Return what stands in the fenced code blocks of a Markdown text which name this language, or
    none. A block without an end is left out."""
    blocks: list[str] = []
    inside: list[str] | None = None
    fence, wanted = "", False
    for line in text.replace("\r\n", "\n").split("\n"):
        match = _FENCE.fullmatch(line)
        if inside is None:
            if match:
                fence, inside = match[1], []
                wanted = match[2].strip().lower() in ("", language)
        elif match and not match[2].strip() and match[1].startswith(fence):
            blocks += ["\n".join(inside).strip()] * wanted
            inside = None
        else:
            inside.append(line)
    return [block for block in blocks if block]


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    kind = params["format"]
    for name, only in _ONLY_FOR.items():
        if name in params and kind != only:
            raise ParameterError(
                f"the format `{kind}` does not use `{name}`",
                f"remove `{name}`, which only the format `{only}` uses",
            )
    dialect = params.get("dialect", "ansi")
    options = {
        "dialect": None if dialect == "ansi" else dialect,
        "statements": params.get("statements"),
        "tables": params.get("tables"),
        "columns": params.get("columns"),
        "delimiter": params.get("delimiter", ","),
    }

    def inspect(found: Any) -> Finding:
        whole = as_text(found)
        texts = (fenced_blocks(whole, kind) or [whole]) if params.get("fenced") else [whole]
        findings = [read(text) for text in texts[:_MOST_BLOCKS]]
        passed = (finding for finding in findings if finding.passed)
        return next(passed, min(findings, key=lambda finding: finding.passed is not None))

    def read(text: str) -> Finding:
        try:
            problem = read_document(kind, text, **options)["problem"]
        except UnreadableError as error:
            return undetermined(f"cannot be read as {kind}: {error}")
        if problem is None:
            return PASSED
        shown = quote(problem, _SHOWN_PROBLEM)[1:-1].replace('\\"', '"')
        return failed(f"not {kind}: {shown}; got {quote(text)}")

    return on_output(params, inspect)


CHECK = Check(
    parameters(
        required=("format",),
        format={
            "enum": list(FORMATS),
            "description": "The format: xml, html, yaml, csv, python or sql.",
        },
        dialect={
            "enum": list(DIALECTS),
            "default": "ansi",
            "description": "The dialect of SQL: a name that sqlglot knows, or `ansi`.",
        },
        statements={
            "type": "array",
            "items": {"enum": list(KINDS)},
            "minItems": 1,
            "description": (
                f"A list of the kinds of SQL statements that pass: {', '.join(KINDS)}."
            ),
        },
        tables={
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "description": "A list of the tables that SQL statements may name.",
        },
        columns={
            "x-looser": "change",
            "type": ["integer", "array"],
            "minimum": 1,
            "items": {"type": "string"},
            "minItems": 1,
            "description": (
                "The number of CSV columns, or a list of the column names in the first row."
            ),
        },
        delimiter={
            "type": "string",
            "minLength": 1,
            "maxLength": 1,
            "default": ",",
            "description": "The character that separates the columns of CSV.",
        },
        fenced={
            "type": "boolean",
            "default": False,
            "description": (
                "True to read the fenced code blocks, of which one must be valid, instead"
                " of the whole output."
            ),
        },
        field=FIELD,
    ),
    _prepare,
    group="text",
    examples=(
        Example(
            "{type: parses_as, format: sql, dialect: postgres}",
            "SELECT name FROM customers WHERE id = 4 LIMIT 10;",
            "SELECT name FROM WHERE id = 4",
        ),
        Example(
            "{type: parses_as, format: sql, statements: [select], tables: [customers, orders]}",
            "SELECT count(*) FROM orders",
            "DELETE FROM orders",
        ),
        Example(
            "{type: parses_as, format: sql, fenced: true}",
            "Try this:\n\n```sql\nSELECT 1\n```",
            "Try this:\n\n```sql\nSELECT FROM WHERE\n```",
        ),
        Example(
            "{type: parses_as, format: xml}", "<order><id>A-17</id></order>", "<order><id>A-17</id>"
        ),
        Example(
            "{type: parses_as, format: html, field: body}",
            '{"body": "<p>Hello <b>Ann</b>"}',
            '{"body": "<p>Hello <b>Ann</p>"}',
        ),
        Example("{type: parses_as, format: yaml}", "name: Ann\nage: 4", "name: Ann: Smith"),
        Example(
            "{type: parses_as, format: csv, columns: [name, age]}",
            "name,age\nAnn,4\n",
            "name,age\nAnn,4,old\n",
        ),
        Example(
            "{type: parses_as, format: python}",
            "def double(x):\n    return 2 * x\n",
            "def double(x) return 2 * x",
        ),
    ),
)
