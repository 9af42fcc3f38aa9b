"""Templates: strict, sandboxed, bounded, and values that stay data."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatekeeper.contract.prompts.render import render_messages, render_value
from gatekeeper.contract.templates import client
from gatekeeper.contract.values.definition import Fixture, MessageTemplate, Position, Prompt
from gatekeeper.errors import ContractError


@pytest.fixture(params=["by its kind", "in this process"], autouse=True)
def rendered_where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is rendered in the child behaves alike here, where coverage sees it."""
    if request.param == "in this process":
        monkeypatch.setattr(client, "is_plain", lambda source: True)


FIXTURE = Fixture("a", {"n": 3, "items": [1, {"k": 2}]}, expected={"a": 1})


def prompt(text: str, includes: Mapping[str, str] | None = None) -> Prompt:
    template = MessageTemplate("user", text, 10)
    return Prompt("prompts/p.md", (template,), text, includes=includes or {})


def rendered(text: str, includes: Mapping[str, str] | None = None, **variables: object) -> str:
    return render_messages(prompt(text, includes), variables)[0].content


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hi {{ x }}\n", "hi <b>'"),
        ("{% for i in [1, 2] %}{{ loop.index }}/{{ loop.length }} {% endfor %}", "1/2 2/2 "),
        ("{% for i in y if i > 1 %}{{ i }}{% else %}none{% endfor %}", "none"),
        ("{{ d | tojson }}", '{"é": "<"}'),
        ("{{ x ~ 1 ~ x }}", "<b>'1<b>'"),
        ("{{ x | upper }} {{ [1, 2] | join(', ') }} {{ x.replace('b', 'c') }}", "<B>' 1, 2 <c>'"),
        ("{% raw %}{{ x }}{% endraw %}{# gone #}", "{{ x }}"),
        ("{{ 7 // 2 + 2 ** 3 % 5 }} {{ 5 % 3 }}", "6 2"),
        ("{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(1) }}", "[1]"),
    ],
)
def test_templates_render(text: str, expected: str) -> None:
    assert rendered(text, x="<b>'", y=[1], d={"é": "<"}) == expected


def test_includes_are_relative_to_the_including_file() -> None:
    includes = {"prompts/x/a.md": "A{% include '../b.md' %}\n", "prompts/b.md": "B{{ x }}\n"}
    assert (
        rendered("{% include 'x/a.md' %}.{% include '/prompts/b.md' %}", includes, x=1) == "AB1.B1"
    )
    for name in ("/etc/passwd", "c.md", "../../x"):
        with pytest.raises(ContractError, match="not found"):
            rendered(f"{{% include '{name}' %}}", includes)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text())
def test_values_are_never_templates(value: str) -> None:
    for text in (value, "{{ 7 * 7 }}" + value, "{% include 'a' %}"):
        assert rendered("{{ x }}", x=text) == text


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("a\n{{ nope }}", "prompts/p.md:11: user message", "`nope` is undefined"),
        ("{{ x.y.z }}", "prompts/p.md:10: user message", "`y`, but the value is text"),
        ("{% for i in x %}{{ i.id }}{% endfor %}", "prompts/p.md:10", "needs a list"),
        (
            "{{ category }}",
            "prompts/p.md:10: user message",
            "`category` of a fixture is for reports",
        ),
        ("\n{% include 'i.md' %}", "prompts/i.md:2: user message", "`deep` is undefined"),
        ("{% if %}", "prompts/p.md:10: user message", "not a template"),
        ("\n\n{{ 1 / 0 }}", "prompts/p.md:12: user message", "division by zero"),
        ("{{ x.__class__ }}", "prompts/p.md:10: user message", "does not allow this"),
        ("{% macro g() %}{{ g() }}{% endmacro %}{{ g() }}", "prompts/p.md:10", "without end"),
    ],
)
def test_faults_name_the_line(text: str, place: str, what: str) -> None:
    with pytest.raises(ContractError) as caught:
        rendered(text, {"prompts/i.md": "\n{{ deep }}"}, x="v")
    assert str(caught.value).startswith(place)
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("text", "values", "hint"),
    [
        ("{{ text }}", {"txt": 1}, "did you mean `txt`? If not, add the variable"),
        ("{{ expeted }}", {"expected": 1, "q": 2}, "did you mean `expected`?"),
        ("{{ text }}", {"fiel": "a.csv"}, "for `fiel`, did you mean `file`?"),
        ("{{ text }}", {"var": {"text": 1}}, "for `var`, did you mean `vars`?"),
        ("{{ text }}", {"question": 1}, "add the variable"),
        ("{{ text }}", {}, "add the variable"),
    ],
)
def test_a_likely_slip_is_a_question(text: str, values: dict[str, object], hint: str) -> None:
    with pytest.raises(ContractError) as caught:
        rendered(text, **values)
    assert caught.value.problems[0].fix.startswith(hint)


def test_every_message_is_looked_at() -> None:
    templates = tuple(MessageTemplate("user", f"{{{{ {name} }}}}", 1) for name in "ab")
    with pytest.raises(ContractError) as caught:
        render_messages(Prompt("p", templates, ""), {})
    assert len(caught.value.problems) == 2
    assert "none" in caught.value.problems[0].fix


@pytest.mark.parametrize(
    "text",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% for i in range(99999) %}{% if range(99999) | sum %}{% endif %}{% endfor %}",
        pytest.param(
            "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
            "{{ f(40) }}",
            marks=pytest.mark.long,
        ),
        "{{ 'x' * 10 ** 9 }}",
        "{{ [1] * 10 ** 9 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{{ 1 << 10 ** 9 }}",
        "{% set ns = namespace(a=2) %}{% for i in range(90) %}{% set ns.a = ns.a * ns.a %}{% endfor %}",  # noqa: E501
        "{{ 'a' | center(10 ** 9) }}",
        "{{ 'a'.ljust(10 ** 9) }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '%999999999d' | format(1) }}",
        "{% set ns = namespace(a='xy') %}{% for i in range(99) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}",  # noqa: E501
        "{% set ns = namespace(a='xy') %}{% for i in range(99) %}{% set ns.a = ns.a + ns.a %}{% endfor %}",  # noqa: E501
        "{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% endfor %}{{ ns.a }}",  # noqa: E501
        "{{ 'a'.replace('a', 'b' * 900000).replace('b', 'c' * 900000) }}",
        "{{ ('a' * 9999) | replace('a', 'b' * 9999) }}",
        "{{ range(99999) | join('a' * 9999) }}",
        "{{ ('a' * 9999).join(range(9999) | map('string') | list) }}",
        "{% for i in range(99999) %}{{ 'a' * 999 }}{% endfor %}",
        "{{ lipsum() }}",
        "{{ [1, 2] | random }}",
    ],
)
def test_bombs_and_chance_are_refused(text: str) -> None:
    with pytest.raises(ContractError):
        rendered(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{{ expected }}", {"a": 1}),
        ("{{ n }}", 3),
        ("{{- n + 1 -}}", 4),
        (" {{ n }}", " 3"),
        ("{{ n }}{{ n }}", "33"),
        ("{{ items | map('string') }}", ["1", "{'k': 2}"]),
        (["{{ n }}", {"k": "{{ expected.a }}"}, 7, None], [3, {"k": 1}, 7, None]),
        (r"^\w{2}$", r"^\w{2}$"),
        (r"{#\d+}", r"{#\d+}"),
        ("{% if n %}y{% endif %}", "y"),
        ("{{ {'a': n} }}", {"a": 3}),
        ("{% raw %}{{{% endraw %}", "{{"),
    ],
)
def test_values_keep_their_type(value: object, expected: object) -> None:
    assert render_value(value, FIXTURE, None) == expected


def test_expected_wins_over_a_variable_of_that_name() -> None:
    fixture = Fixture("a", {"expected": "var"}, expected="real")
    assert render_value("{{ expected }}", fixture) == "real"


@pytest.mark.parametrize("value", ["{{ zz }}", "{{ expected.zz }}", "x {{ zz }}", "{{ }}", "{{ n"])
def test_faults_in_values_name_their_place(value: str) -> None:
    with pytest.raises(ContractError) as caught:
        render_value(value, FIXTURE, Position("c.yaml", 3, 4))
    assert str(caught.value).startswith(f"c.yaml:3:4: in `{value}`")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("{}%#a1|'\"()[]~+*. \n", max_size=30))
def test_no_template_does_more_than_raise_contract_error(text: str) -> None:
    for render in (lambda: rendered(text, a="1"), lambda: render_value(text, FIXTURE)):
        try:
            render()
        except ContractError:
            continue


@pytest.mark.parametrize("text", ["{{ gone | default('x') }}", "{{ gone | default(y, true) }}"])
def test_a_default_stands_in_for_what_is_undefined(text: str) -> None:
    assert rendered(text, y="x") == "x"


def test_the_length_of_what_is_undefined_is_an_error() -> None:
    with pytest.raises(ContractError, match="undefined"):
        rendered("{{ gone | length }}")
