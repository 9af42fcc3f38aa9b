"""Prompts in the styles of Python, Mustache and Nunjucks: what they render to, and what they
refuse, with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited

from gatekeeper.contract.prompts.load import load_prompt, parse_prompt
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.prompts.styles import format_fields
from gatekeeper.contract.prompts.styles.apply import in_jinja
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import MessageTemplate, Prompt, TemplateStyle
from gatekeeper.errors import ContractError, Problem

VALUES: Mapping[str, Any] = {
    "x": "<X> & \"Y\" 'Z' {{ no }}",
    "n": 3,
    "yes": True,
    "no": None,
    "empty": [],
    "items": ["a", "b"],
    "order": {"id": 7, "lines": ["first"]},
    "half": 0.5,
    "whole": 2.0,
    "huge": 10**20,
}


def load(text: str, style: TemplateStyle | None, reference: str = "p.txt") -> Prompt:
    return load_prompt(MemoryRevision({"p.txt": text.encode()}), reference, style)


def rendered(text: str, style: TemplateStyle | None) -> str:
    (message,) = render_messages(load(text, style), VALUES)
    return message.content


def fault(text: str, style: TemplateStyle) -> Problem:
    with pytest.raises(ContractError) as caught:
        render_messages(load(text, style), VALUES)
    return caught.value.problems[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{x}", VALUES["x"]),
        ('{{"id": {n}}} {{{n}}}', '{"id": 3} {3}'),
        ("{order[id]} {order.id} {order[lines][0]} {n!s}", "7 7 first 3"),
        ("{{% if %}} {{# {{{{ }}}} {yes} {no}", "{% if %} {# {{ }} True None"),
        ("ends with {{", "ends with {"),
        ("two line ends\n\n", "two line ends\n"),
    ],
)
def test_format_strings(text: str, expected: str) -> None:
    assert rendered(text, "fstring") == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n{", 2),
        ("a\n\nb } c", 3),
        ("{}", 1),
        ("\n{0}", 2),
        ("\n{n:>10}", 2),
        ("{n!r}", 1),
        ('\n{"id": 1}', 2),
        ("{ n }", 1),
        ("a\n{n} {missing}", 2),
        ("{not}", 1),
    ],
)
def test_what_no_format_string_can_be_is_refused(text: str, line: int) -> None:
    assert fault(text, "fstring").line == line


@given(st.text("{}%# \n'\"ab|-", max_size=12))
def test_a_format_string_says_what_python_makes_of_it(text: str) -> None:
    try:
        expected = text.format(a="A}}", b="{{B")
    except (ValueError, IndexError):
        assert format_fields.count_fields(text) is None
        return
    except KeyError:
        return  # other names
    template = format_fields.translate(text)
    assert template.count("\n") - template.endswith("\n") == text.count("\n")
    prompt = Prompt("p.txt", (MessageTemplate("user", template, 1),), "")
    (message,) = render_messages(prompt, {"a": "A}}", "b": "{{B"})
    assert message.content == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{x}}", "&lt;X&gt; &amp; &quot;Y&quot; 'Z' {{ no }}"),
        ("{{{x}}} {{&x}} {{& x }}", " ".join([VALUES["x"]] * 3)),
        ("{{order.id}} {{ order.lines.0 }}", "7 first"),
        ("a {% b %} {# c #} {x} {", "a {% b %} {# c #} {x} {"),
        ("a\n  {{! note\n of two lines }}  \nb{{! c }}d", "a\nbd"),
    ],
)
def test_mustache(text: str, expected: str) -> None:
    assert rendered(text, "mustache") == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n{{#items}}x{{/items}}", 2),
        ("{{^no}}x{{/no}}", 1),
        ("\n\n{{> part}}", 3),
        ("{{=<% %>=}}", 1),
        ("{{ . }}", 1),
        ("{{! a\n b }}\n{{ x", 3),
        ("{{! a\n b }}\n{{ missing }}", 3),
    ],
)
def test_mustache_with_logic_is_refused(text: str, line: int) -> None:
    assert fault(text, "mustache").line == line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ x }} {{x | dump}}", '<X> & "Y" \'Z\' {{ no }} "<X> & \\"Y\\" \'Z\' {{ no }}"'),
        ("{{ yes }} [{{ no }}] {{ order.id }} {{-n}}", "true [] 73"),
        ("{% if x !== 'a' and (not no) %}a{% elseif x == 'b' %}b{% endif %}", "a"),
        ("{% if missing or empty %}a{% else %}b{% endif %}{% if not n %}c{% endif %}", "a"),
        ("{% if items.length %}{{ items.length }}{{ items | length }}{% endif %}", "22"),
        ("{% for i in items %}{{ loop.index }}{{ i | upper }}{% endfor %}", "1A2B"),
        ("{% verbatim %}{{ x }}{% endverbatim %}{% raw %}{%{% endraw %}", "{{ x }}{%"),
        ("{% verbatim %}{% if %}{{% endverbatim %}{{ n }}", "{% if %}{3"),
        ("{% set y = 'q' %}{% set z = order %}{{ y }}{{ z['id'] }}{# note #}\n\n", "q7\n"),
        ("{{ missing | default('d') }} {{ 'a' if yes else 'b' }}{{ 'a' if no }}", "d a"),
        ("{{ order.lines[0] }}{{ order.no | d('e') }}{{ items | join('+') | upper }}", "firsteA+B"),
        (
            "{% if order.no %}a{% else %}b{% endif %}{% for i in order.lines %}{{ i }}{% endfor %}",
            "bfirst",
        ),
        ("{{ half }} {{ whole }}", "0.5 2"),
        ("{{ x | safe }} {{ items | dump | safe }}", '<X> & "Y" \'Z\' {{ no }} ["a", "b"]'),
        ("{{ n | safe }} {{ missing | default('d') | safe }}{{ x | safe if no }}", "3 d"),
    ],
)
def test_nunjucks(text: str, expected: str) -> None:
    assert rendered(text, "nunjucks") == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n{% switch n %}{% endswitch %}", 2),
        ("{{ x | nl2br }}", 1),
        ("\n{{ x.trim() }}", 2),
        ("\n{{ x.replace('a', 'b') }}", 2),
        ("{{ cycler('a') }}", 1),
        ("{% for k, v in order %}{% endfor %}", 1),
        ("{% if n && x %}{% endif %}", 1),
        ("{% if x.startsWith('a') and n %}{% endif %}", 1),
        ("\n{% include 'a.njk' %}", 2),
        ("{{ {a: 1} }}", 1),
        ("{{ r/a+/g.test(x) }}", 1),
        ("\n{{ x", 2),
        ("\n\n{{ missing }}", 3),
        ("{% raw %}x", 1),
        # Nunjucks counts nested blocks.
        ("{% raw %}{% raw %}{% endraw %}{{ x }}", 1),
        ("{% verbatim %}{% endraw %}{{ x }}{% endverbatim %}", 1),
    ],
)
def test_what_nunjucks_has_and_jinja_has_not_is_refused(text: str, line: int) -> None:
    assert fault(text, "nunjucks").line == line


@pytest.mark.parametrize(
    "text",
    [
        *('{{ "BAD" if [] else "Classify:" }} {{ x }}', '{{ "BAD" if "1" == 1 else "x" }}'),
        *("{{ 'a' if {} else 'b' }}", "{{ 'a' if 1 else 'b' }}", "{{ 'a' if '' else 'b' }}"),
        *("{{ 'a' if true else 'b' }}", "{{ 'a' if 'a' == x else 'b' }}", "{{ 7 }}", "{{ [1] }}"),
        *("{{ n + 1 }}", "{{ -n }}", "{{ n % 2 }}", "{{ n / 2 }}", "{{ n ** 2 }}", "{{ x ~ x }}"),
        *("{% if n == 3 %}{% endif %}", "{% if n > 3 %}{% endif %}", "{% if x == n %}{% endif %}"),
        *("{% if x is string %}{% endif %}", "{% if 'a' in x %}{% endif %}", "{{ x[n] }}"),
        *("{% for i in [1] %}{% endfor %}", "{% for i in range(3) %}{% endfor %}", "{{ f() }}"),
        *("{% set y = [] %}", "{% set y = 1 %}", "{% set a, b = x %}", "{% set y %}{% endset %}"),
        *("{% for i in items %}{% set x = i %}{% endfor %}", "{{ loop }}", "{{ loop.index }}"),
        *("{% macro m() %}{% endmacro %}", "{{ x | title }}", "{{ x | round }}", "{{ 'a\\x41' }}"),
        *("{% if toString %}{% endif %}", "{% if order.constructor %}{% endif %}", "{{ dict }}"),
        *(
            "{% if (x %}{% endif %}",
            "{% if not x == 'a' %}{% endif %}",
            "{{ x\x0b }}",
            "{{ }}",
            "{{ x.upper() }}",
        ),
        *("{{ x | safe | upper }}", "{{ items | safe | length }}", "{% if x | safe %}{% endif %}"),
        *("{{ x | dump | upper }}", "{{ x | length | default('a') }}", "{{ 'a' 'b' }}"),
    ],
)
def test_nunjucks_that_javascript_may_read_otherwise_is_refused_at_load(text: str) -> None:
    with pytest.raises(ContractError) as caught:
        load(f"a\n{text}", "nunjucks")
    assert caught.value.problems[0].line == 2


@pytest.mark.parametrize(
    "text",
    [
        *("{{ items }}", "{{ order }}", "{{ huge }}", "{{ x.upper }}", "{{ order.keys }}"),
        *("{% if n == '3' %}{% endif %}", "{% if no == 'a' %}{% endif %}", "{{ n | upper }}"),
        *("{{ x.length }}", "{{ x | length }}", "{% if x.isalnum %}{% endif %}", "{{ x[0] }}"),
        *("{% for i in x %}{% endfor %}", "{% for i in order %}{% endfor %}", "{{ items[9] }}"),
        *("{{ order | join(',') }}", "{{ 'a' if yes == 'true' else 'b' }}", "{{ empty }}"),
    ],
)
def test_values_that_javascript_would_write_otherwise_are_errors(text: str) -> None:
    prompt = load(f"a\n{text}", "nunjucks")
    with pytest.raises(ContractError) as caught:
        render_messages(prompt, VALUES)
    assert caught.value.problems[0].line == 2


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("p.md", "{x} and {{ x }}", "text"),
        ("p.md", "{{{x}}}", "mustache"),
        ("p.txt", "{{#items}}{{.}}{{/items}}", None),
        ("p.txt", "{{ '{{#x}}' }} {% if x %}{% endif %}", "jinja"),
        ("p.mustache", "{{x}}", "mustache"),
        ("p.njk", "{{x}}", "nunjucks"),
        ("p.yaml#a", "a: Summarize {x}", "fstring"),
        ("p.yaml#a", "a: 'Summarize {x} as {\"y\": 1}'", "text"),
        ("p.yaml#a", "a: 'Summarize {x} as {{\"y\": 1}}'", "fstring"),
        ("p.yaml#a", "a: 'Summarize {{ x }} as {\"y\": 1}'", "text"),
        ("p.yaml#a", "a: Summarize {x} as {{ y }}", None),
        ("p.yaml#a", "a: no variable", "text"),
    ],
)
def test_the_style_is_decided_by_the_suffix_and_the_text(
    path: str, text: str, expected: str | None
) -> None:
    files = MemoryRevision({path.partition("#")[0]: text.encode()})
    if expected is None:
        with pytest.raises(ContractError):
            load_prompt(files, path)
    else:
        assert load_prompt(files, path).style == expected


def test_each_message_of_a_file_is_translated_with_its_lines() -> None:
    text = "---\nmodel: m\n---\nsystem:\nBe {x}.\n\nuser:\n{n}\n{n:d}\n"
    with pytest.raises(ContractError) as caught:
        load_prompt(MemoryRevision({"p.md": text.encode()}), "p.md", "fstring")
    assert caught.value.problems[0].line == 9
    sound = MemoryRevision({"p.md": edited(text, "{n:d}", "{{n}}").encode()})
    found = render_messages(load_prompt(sound, "p.md", "fstring"), VALUES)
    assert [message.content for message in found] == [f"Be {VALUES['x']}.", "3\n{n}"]


@pytest.mark.parametrize(
    ("style", "text", "what"),
    [
        ("mustache", "{{!" * 100_000, "a tag is not closed"),
        ("mustache", "{{!}}" + "{{! " * 60_000 + "}}", None),
        ("nunjucks", "{{ " + "a + " * 60_000 + "a }}", "this tag is not closed"),
        pytest.param("nunjucks", "{{ x }}\n" * 50_000, None, marks=pytest.mark.long),
        ("fstring", "{a" * 100_000, "a single `{`"),
        ("fstring", "{a}" * 200_000, "more than 500,000 characters"),
    ],
)
def test_hostile_texts_are_translated_or_refused(
    style: TemplateStyle, text: str, what: str | None
) -> None:
    prompt = Prompt("p.txt", (MessageTemplate("user", text, 1),), text)
    if what is None:
        assert in_jinja(prompt, style).messages[0].content
        return
    with pytest.raises(ContractError, match=re.escape(what)):
        in_jinja(prompt, style)


@pytest.mark.parametrize(
    "template",
    ["mustache", "{type: mustache}", "{format: mustache, parser: prompty}"],
)
def test_the_front_matter_of_a_prompt_file_declares_mustache(template: str) -> None:
    text = f"---\ntemplate: {template}\n---\nuser:\nSay {{{{x}}}} and {{{{{{x}}}}}}.\n"
    prompt = parse_prompt(text, "a.prompty")
    assert prompt.style == "mustache"
    assert render_messages(prompt, {"x": "<b>"})[0].content == "Say &lt;b&gt; and <b>."
    assert parse_prompt(text, "a.prompty", "jinja").style == "jinja"


def test_the_front_matter_cannot_declare_another_language() -> None:
    text = "---\ntemplate: {type: liquid}\n---\nuser:\nSay {{x}}.\n"
    with pytest.raises(ContractError, match="`liquid`") as caught:
        parse_prompt(text, "a.prompty")
    assert caught.value.problems[0].line == 2
