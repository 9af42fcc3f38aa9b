"""parses_as: what each format takes, where reading stopped, and what is too much to read."""

from __future__ import annotations

import pytest

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.text import document_worker
from gatekeeper.checks.text.parses_as import DIALECTS

READ = {
    "html": [
        "<p>a<p>b",
        "<div><p>x</div>",
        "<br><img src=x><svg><path/></svg>",
        "<!doctype html><html><head><title>T</title></head><body><ul><li>a<li>b</ul></body></html>",
        "<script>if (a < b) { x = '<p>' }</script>",
    ],
    "xml": ["<a/>", "<!DOCTYPE a><a/>", '<x:a xmlns:x="u"/>', "<?xml version='1.0'?><a>é</a>"],
    "yaml": ["a: 1", "- a\n- b", "[" * 150 + "]" * 150, "a: 1\n---\nb: 2"],
    "csv": ["a,b\n1,2\n", 'a,"b""c"\r\n1,2', 'a,"two\nlines"\n1,2'],
    "python": ["x = '\\d'", "async def f():\n    await g()\n"],
    "sql": ["SELECT 1", "select 1; delete from a;", "CREATE TABLE a (b int)", "VALUES (1)"],
}
NOT_READ = {
    "html": {
        "a < b": "the document has no tags",
        "<!-- <p> -->": "the document has no tags",
        "<b><i>x</b></i>": "`</b>` in line 1 does not match `<i>` of line 1",
        "<div>\n<span>": "`<span>` of line 2 is not closed",
        "<a href='x": "the document ends inside a tag, in line 1",
        "x</div>": "`</div>` in line 1 closes no element",
    },
    "xml": {
        "": "no element found at 1:1",
        "<a>&nbsp;</a>": "undefined entity at 1:4",
        "<x:a/>": "unbound prefix at 1:1",
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>': (
            "the document declares entities, which gatekeeper does not read"
        ),
        "<a>\ud83d</a>": "the document contains an incomplete character (half of a surrogate pair)",
    },
    "yaml": {
        "just a sentence": "the document must be a mapping or a list",
        "a: *x": "found undefined alias at 1:4",
        "[" * 5_000 + "]" * 5_000: "the document is nested too deeply",
        "a: 2026-99-99": "month must be in 1..12",
    },
    "csv": {
        "": "the document is empty",
        "a\nb": "the document has only one column; columns must be separated by `,`",
        "a,b\n\n1,2": "row 2 has 0 columns instead of 2",
        '"a,b\n': "unexpected end of data at line 1",
    },
    "python": {
        "": "the document is empty",
        "a = ": "invalid syntax at 1:5",
        "x\0": "source code string cannot contain null bytes",
    },
    "sql": {
        "yes": "`yes` is not a statement",
        "EXPLAIN SELECT 1": "`EXPLAIN SELECT 1` is not a statement",
        "-- only a comment": "the text has no statement",
        "SELECT a FROM WHERE": "Expected table name but got `WHERE` at 1:19",
        "SELECT (": "Required keyword: 'this' missing for `Paren` at 1:8",
        "Here is the query: SELECT 1": "Invalid expression / Unexpected token at 1:18",
        "SELECT " + "(" * 9_000 + "1" + ")" * 9_000: "the document is nested too deeply",
    },
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in READ.items() for text in texts]
)
def test_reads(apply, kind, text):
    finding = apply("parses_as", text, format=kind)
    assert (finding.passed, finding.message) == (True, "")


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [(kind, text, problem) for kind, texts in NOT_READ.items() for text, problem in texts.items()],
)
def test_says_what_is_wrong(apply, kind, text, problem):
    finding = apply("parses_as", text, format=kind)
    assert finding.passed is False
    assert finding.message.startswith(f"not {kind}: {problem}; got ")


@pytest.mark.parametrize(
    ("dialect", "text", "passed"),
    [
        ("tsql", "SELECT TOP 5 * FROM a", True),
        ("sqlite", "SELECT TOP 5 * FROM a", False),
        ("mysql", "SELECT `a` FROM b", True),
        ("postgres", "SELECT `a` FROM b", False),
    ],
)
def test_dialects_differ(apply, dialect, text, passed):
    assert apply("parses_as", text, format="sql", dialect=dialect).passed is passed


@pytest.mark.parametrize(
    ("params", "text", "problem"),
    [
        ({"statements": ["select"]}, "SELECT 1; VALUES (1); (SELECT 2)", ""),
        (
            {"statements": ["select"]},
            "SELECT 1; DROP TABLE a",
            "has a statement that is not allowed: drop",
        ),
        (
            {"statements": ["select"]},
            "WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d",
            "has a statement that is not allowed: delete",
        ),
        (
            {"statements": ["select"]},
            "SELECT * INTO n FROM a",
            "has a statement that is not allowed: create",
        ),
        (
            {"statements": ["select"]},
            "TRUNCATE TABLE a",
            "has a statement that is not allowed: delete",
        ),
        (
            {"statements": ["select"]},
            "GRANT SELECT ON a TO b",
            "has a statement that is not allowed: other",
        ),
        ({"statements": ["insert"]}, "INSERT INTO a SELECT * FROM b", ""),
        ({"tables": ["a", "S.b"]}, "SELECT * FROM A JOIN s.b ON TRUE", ""),
        (
            {"tables": ["a"]},
            "SELECT * FROM a WHERE x IN (SELECT 1 FROM c)",
            "names a table that is not allowed: c",
        ),
        ({"tables": ["b"]}, "SELECT * FROM s.b", "names a table that is not allowed: s.b"),
        ({"tables": ["a"]}, "WITH x AS (SELECT * FROM a) SELECT * FROM x", ""),
        (
            {"tables": []},
            "WITH a AS (SELECT * FROM a) SELECT * FROM a",
            "names a table that is not allowed: a",
        ),
        (
            {"tables": ["a"]},
            "INSERT INTO a SELECT * FROM b",
            "names a table that is not allowed: b",
        ),
        ({"tables": []}, "SELECT * FROM generate_series(1, 2)", ""),
    ],
)
def test_what_sql_may_do(apply, params, text, problem):
    finding = apply("parses_as", text, format="sql", dialect="postgres", **params)
    assert finding.passed is (not problem)
    assert finding.message.startswith(f"not sql: the text {problem}; got" if problem else "")


def test_every_dialect_is_one_of_sqlglot():
    from sqlglot import dialects

    assert set(DIALECTS) - {"ansi"} <= {name.lower() for name in dialects.DIALECTS}


@pytest.mark.parametrize(
    ("params", "text", "passed"),
    [
        ({"columns": 1}, "a\nb", True),
        ({"columns": 2}, "a,b,c", False),
        ({"columns": ["a", "b"]}, "a,b\n1,2", True),
        ({"columns": ["a", "c"]}, "a,b\n1,2", False),
        ({"delimiter": ";"}, "a;b\n1;2", True),
        ({"delimiter": "\t"}, "a\tb\n1\t", True),
    ],
)
def test_columns_of_csv(apply, params, text, passed):
    assert apply("parses_as", text, format="csv", **params).passed is passed


@pytest.mark.parametrize("params", [{"dialect": "mysql"}, {"columns": 2}, {"delimiter": ";"}])
def test_refuses_a_parameter_of_another_format(apply, params):
    with pytest.raises(ParameterError, match="the format `xml`"):
        apply("parses_as", "", format="xml", **params)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("xml", "a" * 100_001),
        ("python", "-" * 90_000 + "1"),  # Python's parser takes hundreds of megabytes
    ],
    ids=["long", "memory"],
)
def test_what_is_too_much_to_read_is_undetermined(apply, kind, text):
    assert apply("parses_as", text, format=kind).passed is None


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [(kind, text, None) for kind, texts in READ.items() for text in texts]
    + [(kind, text, said) for kind, texts in NOT_READ.items() for text, said in texts.items()],
)
def test_the_worker_answers_the_same_in_this_process(monkeypatch, kind, text, problem):
    monkeypatch.setattr(document_worker, "allow_cpu", lambda _seconds: None)
    request = {"format": kind, "text": text, "dialect": None, "columns": None, "delimiter": ","}
    assert list(document_worker.answer(request)) == [{"problem": problem}]


def test_time_that_sqlglot_hides_in_an_error_of_its_own_is_undetermined(monkeypatch):
    import sqlglot

    from gatekeeper.sandbox.process_limits import TimeUpError

    def run_out(*_, **__):
        try:
            raise TimeUpError
        except TimeUpError as error:
            raise sqlglot.errors.TokenError("Error tokenizing") from error

    monkeypatch.setattr(sqlglot, "parse", run_out)
    monkeypatch.setattr(document_worker, "allow_cpu", lambda _seconds: None)
    request = {"format": "sql", "text": "SELECT 1", "dialect": None}
    assert list(document_worker.answer(request)) == [{"fault": "time"}]
