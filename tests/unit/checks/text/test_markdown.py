"""markdown: elements that must be there, elements that must not, and links of the context."""

from __future__ import annotations

import pytest

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.text import document_worker

TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |"
CODE = "```python\nprint(1)\n```"


@pytest.mark.parametrize(
    ("params", "text", "message"),
    [
        ({"table": True}, TABLE, ""),
        ({"table": True}, "| a | b |", "has no table"),
        ({"table": False}, TABLE, "has a table, which is forbidden"),
        ({"list": True}, "1. a", ""),
        ({"list": "bullet"}, "- a", ""),
        ({"list": "bullet"}, "1. a", "has no bullet list"),
        ({"list": False}, "- a", "has a list, which is forbidden"),
        ({"heading": True}, "Title\n===", ""),
        ({"heading": 2}, "## a", ""),
        ({"heading": 2}, "# a\n### b", "has no heading of level 2, only of 1, 3"),
        ({"heading": 1}, "#a", "has no heading of level 1"),
        ({"heading": "Next steps"}, "# Next steps", ""),
        ({"heading": "Next steps"}, "Next steps", 'has no heading "Next steps"'),
        ({"heading": False}, "# a", "has a heading, which is forbidden"),
        ({"code": True}, "```\nx\n```", ""),
        ({"code": "python"}, CODE, ""),
        ({"code": "sql"}, CODE, 'has no code block of "sql"'),
        ({"code": False}, CODE, "has a code block, which is forbidden"),
        ({"table": True, "list": True}, "a", "has no table; has no list"),
        ({"heading": True}, "```\n# not a heading\n```", "has no heading"),
    ],
)
def test_elements(apply, params, text, message):
    finding = apply("markdown", text, **params)
    assert (finding.passed, finding.message.split("; got ")[0]) == (not message, message)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("[a](https://x.example/a)", []),
        ("<https://x.example/a>", []),
        ("![a](https://x.example/a)", []),
        ("[a](#here) [b](mailto:a@x.example)", []),
        ("no link", []),
        ("[a](https://x.example/b)", ["https://x.example/b"]),
        ("[a](https://x.example)", ["https://x.example"]),
        ("[a](https://x.example/a/b) [b](/c)", ["https://x.example/a/b", "/c"]),
        ("[a]()", [""]),
    ],
)
def test_links_stand_in_the_context_as_a_whole(apply, text, unknown):
    context = ["See https://x.example/a. More:", {"url": "https://x.example/a?b=1"}]
    finding = apply("markdown", text, links_in=context)
    assert finding.passed is (not unknown)
    assert all(f'"{link}"' in finding.message for link in unknown)


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("See https://x.example/a.", []),
        ("(https://x.example/w_(b)), **https://x.example/a**", []),
        ("请看https://x.example/a。", []),
        ("`https://x.example/b`", []),
        ("See https://x.example/b!", ["https://x.example/b"]),
        ("| a |\n|-|\n| https://evil.example/a_b_c |", ["https://evil.example/a_b_c"]),
        ("*https://x.example/a?b=1* https://x.example", ["https://x.example"]),
    ],
)
def test_an_address_without_a_link_counts_too(apply, text, unknown):
    context = "https://x.example/a, https://x.example/w_(b) and https://x.example/a?b=1"
    finding = apply("markdown", text, links_in=context)
    assert finding.passed is (not unknown)
    assert all(f'"{link}"' in finding.message for link in unknown)


@pytest.mark.parametrize("written", ["https://x.example/zürich", "https://x.example/z%C3%BCrich"])
@pytest.mark.parametrize("given", ["https://x.example/zürich", "https://x.example/z%C3%BCrich"])
def test_an_address_is_the_same_with_its_letters_encoded(apply, written, given):
    assert apply("markdown", f"[a]({written})", links_in=given).passed
    assert not apply("markdown", f"[a]({written})", links_in="https://x.example/zurich").passed


def test_a_host_name_may_have_other_letters(apply):
    text = "[a](https://münchen.example/a)"
    assert apply("markdown", text, links_in="https://münchen.example/a").passed


def test_the_worker_names_what_a_document_has(monkeypatch):
    monkeypatch.setattr(document_worker, "allow_cpu", lambda _seconds: None)
    text = f"# A\n\n{TABLE}\n\n- [b](/c)\n- ![d](e.png)\n\n{CODE}\n\n    indented"
    (response,) = document_worker.answer({"format": "markdown", "text": text})
    assert response["found"] == {
        "tables": 1,
        "lists": ["bullet"],
        "headings": [[1, "A"]],
        "code": ["", "python"],
        "links": [["/c", "/c"], ["e.png", "e.png"]],
    }


def test_refuses_a_check_of_nothing(apply):
    with pytest.raises(ParameterError, match="no element is named"):
        apply("markdown", "a", field="b")


def test_a_field(apply):
    assert apply("markdown", '{"body": "- a"}', field="body", list=True).passed


def test_a_long_text_is_undetermined(apply):
    assert apply("markdown", "a" * 100_001, table=False).passed is None
