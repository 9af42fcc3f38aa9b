"""Templates that would take all time or memory end in a child, and are named with their line."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machine_needs import LINUX
from support.quick_and_long import a_few

from gatekeeper.checks import evaluate as evaluation
from gatekeeper.checks.evaluate import prepare
from gatekeeper.contract.prompts.render import render_all, render_messages, render_value
from gatekeeper.contract.templates import client
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.environment import (
    compiled,
    environment_for,
    included_names,
)
from gatekeeper.contract.templates.plain import MAX_FILTERS, MAX_TAGS, is_plain, plain_includes
from gatekeeper.contract.templates.rendering import render_prompt
from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    MessageTemplate,
    Position,
    Prompt,
    Target,
)
from gatekeeper.errors import ContractError
from gatekeeper.sandbox.process import Answers, LimitedProcess, Limits

LONG = "{% set b='ab'*400000 %}"


def again(expression: str, times: int = 99_999) -> str:
    return f"{{% for i in range({times}) %}}{{% if {expression} %}}{{% endif %}}{{% endfor %}}"


def growing(start: str, step: str, then: str = "", times: int = 99) -> str:
    loop = f"{{% for i in range({times}) %}}{{% set ns.a = {step} %}}{{% endfor %}}"
    return f"{{% set ns = namespace(a={start}) %}}{loop}{then}"


BOMBS = {
    "indent": "{{ ('x\n'*400000)|indent(90000,true) }}",
    "in": LONG + again("'abb' in b"),
    "not in": LONG + again("'abb' not in b"),
    "wordwrap": "{% set b='a '*400000 %}" + again("b|wordwrap(1)"),
    "wordwrap with a string": "{{ ('a '*400000)|wordwrap(1,true,'x'*100000) }}",
    "tojson": "{% set b=['a'*9]*90000 %}" + again("b|tojson(99999)"),
    "slices": LONG + again("b[1:] and b[2:] and b[3:] and b[4:] and b[5:] and b[6:]"),
    "comparisons": LONG + "{% set c='a' ~ b[1:] %}" + again("b==c and b<=c and b>=c and c==b"),
    "urlize": "{{ ('www.a.com '*90000)|urlize(target='x'*9999) }}",
    "sum": "{% set b=range(9000)|map('string')|list %}" + again("(b,)|sum(start=())|list"),
    "pprint": "{% set b=[['a']*30]*3000 %}" + again("b|pprint"),
    "xmlattr": again("{'a':'<'*99999}|xmlattr"),
    "groupby": "{% set b=range(99)|map('string')|list %}" + again("b|groupby('upper')"),
    "sort": "{% set c='a'*90000 %}{% set b=[c ~ 1, c ~ 2]*5 %}" + again("b|sort"),
    "unique": "{% set b='Ä'*400000 %}" + again("[b, b, b]|unique|list"),
    "a method": LONG + again("b.count('ba')"),
    "a block": "{% set a %}{% for i in range(99999) %}{{ 'x'*99999 }}{% endfor %}{% endset %}",
    "a macro": "{% macro m() %}" + "{{ 'x'*99999 }}" * 9_999 + "{% endmacro %}{% set a=m() %}",
    "a namespace": growing("[]", "ns.a + ['x'*90]", times=99_999),
    "lists of texts": LONG + growing("[]", "[ns.a, b ~ i]", times=9_999),
    "numbers": "{% set a=9**900 %}{% set a=a*a*a %}" + again("a|string"),
    "title": "{% set b='a-'*400000 %}" + again("b|title"),
    "tests": LONG + again("b is in b and b is lower and b is upper"),
    "folded before it runs": "{{ '" + "x\\n" * 200_000 + "'|indent(90000,true) }}",
    "a long list": "{{ [" + "1," * 400_000 + "] }}",
    "many statements": "{% if word %}{% endif %}" * 50_000,
    "many names": "{{ word }}" * 90_000,
    "nested lists": growing("[1]", "[ns.a, ns.a]", "{{ ns.a }}"),
    "recursion": "{% macro m(n) %}{{ m(n+1) }}{% endmacro %}{{ m(0) }}",
    "batch": again("[1]|batch(99999,'x')|list"),
    "format of a float": "{{ 1e308.__format__('.99999999f') }}",
}


def prompt(text: str) -> Prompt:
    return Prompt("prompts/p.md", (MessageTemplate("user", text, 10),), text)


@LINUX.mark
@pytest.mark.parametrize("name", a_few(BOMBS, 11))
def test_a_bomb_ends_and_names_its_line(name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (found,) = render_all(prompt(BOMBS[name]), [{"word": "w"}], Budget(seconds=0.1))
    assert isinstance(found, ContractError)
    problem = found.problems[0]
    assert (problem.path, problem.field) == ("prompts/p.md", "user message")
    assert problem.line is not None
    assert problem.line >= 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


@pytest.mark.parametrize(
    "text", ["{{ ('x\n'*400000)|indent(90000,true) }}", LONG + again("'abb' in b")]
)
def test_a_bomb_in_a_parameter_ends_too(text: str) -> None:
    with pytest.raises(ContractError) as caught:
        render_value(text, Fixture("a", {}), Position("c.yaml", 3, 4), Budget(seconds=0.3))
    assert (caught.value.problems[0].path, caught.value.problems[0].line) == ("c.yaml", 3)


@pytest.mark.long
def test_a_child_that_is_killed_takes_one_fixture_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing nested lists is one call that no exception ends."""
    limited = LimitedProcess(client._SERVICE, client._PACKAGES, Limits(cpu=1))
    monkeypatch.setattr(client, "_CHILD", limited)
    compared = (
        "{% if bomb %}{% set ns=namespace(a=[1],b=[1]) %}{% for i in range(60) %}"
        "{% set ns.a=[ns.a,ns.a] %}{% set ns.b=[ns.b,ns.b] %}{% endfor %}"
        "{% if ns.a==ns.b %}{% endif %}{% endif %}{{ word | reverse }}"
    )
    values = [{"word": f"ab{n}", "bomb": n == 1} for n in range(4)]
    budget = Budget()
    found = list(render_all(prompt(compared), values, budget))
    assert [isinstance(one, ContractError) for one in found] == [False, True, False, False]
    assert not isinstance(found[3], ContractError)
    assert found[3][0].content == "3ba"
    assert budget.seconds < 10
    limited.close()


def test_each_budget_is_of_its_own() -> None:
    work = "{% for i in range(9999) %}{% endfor %}x"
    budget = Budget(work=25_000)
    found = list(render_all(prompt(work), [{}] * 5, budget))
    assert [isinstance(one, ContractError) for one in found] == [False] * 3 + [True] * 2
    assert "over all fixtures" in str(found[4])
    (found_here,) = render_all(prompt("plain"), [{}], budget)
    assert "over all fixtures" in str(found_here)
    with pytest.raises(ContractError, match="over all fixtures"):
        render_value("{{ 1 + 1 }}", Fixture("a", {}), None, budget)
    (fresh,) = render_all(prompt(work), [{}], Budget(work=25_000))
    assert not isinstance(fresh, ContractError)


def test_finished_texts_have_a_budget() -> None:
    values = [{"word": "x" * 1_000}] * 4
    for text in ("{{ word }}", "{% if word %}{{ word }}{% endif %}"):
        found = list(render_all(prompt(text), values, Budget(text_bytes=2_500)))
        assert [isinstance(one, ContractError) for one in found] == [False] * 3 + [True]
        assert "MB of text" in str(found[3])


def test_time_over_all_fixtures_has_a_budget() -> None:
    budget = Budget(seconds=0.2)
    texts = LONG + again("'abb' in b", 900) + "x"
    found = list(render_all(prompt(texts), [{}] * 200, budget))
    assert isinstance(found[-1], ContractError)
    assert "time" in str(found[-1])


def test_messages_together_have_a_limit() -> None:
    messages = tuple(MessageTemplate("user", "{{ a }}", line) for line in (1, 3))
    with pytest.raises(ContractError) as caught:
        render_messages(Prompt("p", messages, ""), {"a": "x" * 600_000})
    assert [problem.line for problem in caught.value.problems] == [3]


def with_check(expected: list[Any]) -> Contract:
    value = {"value": "{{ expected | first }}{{ expected | last }}"}
    check = CheckSpec("equals", "equals", value, position=Position("c.yaml", 3))
    fixtures = tuple(Fixture(f"f{n}", {}, expected=expected) for n in range(3))
    return Contract("c", "c.yaml", Target(prompt("hi"), "m", {}), fixtures, (check,))


def test_head_cannot_use_up_what_base_needs_to_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two contracts have the same check; only head's fixtures are expensive."""
    monkeypatch.setattr(evaluation, "Budget", partial(Budget, work=100_000))
    for _ in range(2):
        with pytest.raises(ContractError, match="over all fixtures"):
            prepare(with_check([0] * 49_000))
    assert len(prepare(with_check([1, 2])).checks) == 3


@pytest.mark.parametrize("value", ["x" * 65_000_000, float("nan")])
def test_values_that_cannot_be_sent_are_named(value: Any) -> None:
    found = list(render_all(prompt("{% if a %}{% endif %}x"), [{"a": 1}, {"a": value}], Budget()))
    assert [isinstance(one, ContractError) for one in found] == [False, True]
    with pytest.raises(ContractError, match="smaller values"):
        render_value("{{ a | reverse }}", Fixture("a", {"a": value}))


def test_what_is_no_data_is_no_value() -> None:
    for text in ("{{ 1e308 * 10 }}", "{{ range }}", "{{ namespace(a=1) }}"):
        with pytest.raises(ContractError, match="in `"):
            render_value(text, Fixture("a", {}))


def test_a_template_too_large_to_parse_here_is_parsed_in_the_child() -> None:
    padding = "{{ [" + "1," * 60_000 + "] }}"
    assert list(client.find_included("{% include 'a' %}" + padding)) == [("a", 1)]
    for source in ("{% if %}" + padding, "{% if x %}" + "x" * 65_000_000):
        with pytest.raises(client.NotATemplate):
            client.find_included(source)


def test_a_prompt_that_cannot_be_sent_or_checked_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    large = prompt("{% if a %}" + "x" * 65_000_000)
    assert "cannot be read" in client.check_syntax(large)[0].what
    monkeypatch.setattr(client._CHILD, "ask", lambda request: Answers([], "it takes too much"))
    (problem,) = client.check_syntax(prompt("{% if a %}"))
    assert (problem.path, problem.line) == ("prompts/p.md", 10)
    with pytest.raises(ContractError, match="takes too much"):
        render_value("{{ 1 + 1 }}", Fixture("a", {}))


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("", True),
        ("no tag", True),
        ("{{ a }} and {{a}}{{- a.b[0]['c d'][\"e\"] -}} }} %}", True),
        ("{{ a | trim | tojson }}", True),
        ("{{ a }}" * MAX_TAGS, True),
        ("{{ a }}" * (MAX_TAGS + 1), False),
        ("{{ a | trim }}" * MAX_FILTERS, True),
        ("{{ a | trim }}" * (MAX_FILTERS + 1), False),
        ("{{ a.0.b }}", True),
        ("{{ a.01 }}", False),
        ("{{ a.1b }}", False),
        ("{{ a +}}", False),
        ("{{{ a }}", False),
        ("{{ a | trim(b) }}", False),
        ("{{ a | indent }}", False),
        ("{{ a | trim | trim | trim | trim }}", False),
        ("{{ a.b() }}", False),
        ("{{ a[b] }}", False),
        ("{{ a[1:] }}", False),
        ("{{ a ~ b }}", False),
        ("{{ 'a' }}", False),
        ("{{ not a }}", False),
        ("{{ self }}", False),
        ("{{ {{ a }}", False),
        ("{% if a %}{% endif %}", False),
        ("{# a #}", False),
    ],
)
def test_what_is_plain(source: str, plain: bool) -> None:
    assert is_plain(source) is plain


NAMES = st.sampled_from(["a", "b.c", "b['c d']", "l[0]", "b", "zz", "b.zz", "true"])
SPACE = st.sampled_from(["", " ", "\n", "- ", "-"])
FILTERS = st.sampled_from(["", "|trim", " | tojson", "|upper|length", "| string |lower"])
TAGS = st.tuples(SPACE, NAMES, FILTERS, SPACE.map(lambda s: s[::-1])).map(
    lambda parts: "{{" + "".join(parts) + "}}"
)
VALUES = {"a": "<A> {{ x }}", "b": {"c": " é", "c d": [1, None, True]}, "l": [1.5, "x"]}


@given(st.lists(st.one_of(st.sampled_from(["t ", "\n", "}} ", "é\r\n"]), TAGS), max_size=6))
def test_this_process_and_the_child_render_alike(pieces: list[str]) -> None:
    source = "".join(pieces)
    if not is_plain(source):
        return
    made = prompt(source)
    request: Mapping[str, Any] = {
        "kind": "render", "prompt": client._as_json(made), "values": [VALUES],
        "budget": [10**6, 10**6, 9.0],
    }  # fmt: skip
    (there,) = client._CHILD.ask(request).responses
    found = there.get("messages", there.get("problems"))
    assert _here(made) == [tuple(one) if isinstance(one, list) else one for one in found]


def _here(made: Prompt) -> list[Any]:
    try:
        return list(render_prompt(made, VALUES, Budget()))
    except ContractError as error:
        return [asdict(problem) for problem in error.problems]


INCLUDES = [
    "{% include 'a.md' %}",
    '{%- include  "é b.md"-%}',
    "{%include 'a'%}",
    "{% include a %}",
]
FRAGMENTS = ["t ", "\n", "\r", "{", "%", "}", '{{ a["', '"] }}', '{{ "', '" }}', "{#", "#}"]


@given(st.lists(st.one_of(st.sampled_from(FRAGMENTS + INCLUDES), TAGS), max_size=6))
def test_plain_includes_are_those_of_the_parser(pieces: list[str]) -> None:
    source = "".join(pieces)
    found = plain_includes(source)
    if found is not None:
        assert found == included_names(source, environment_for(()))


ODD_NAMES = [
    *("if", "in", "is", "and", "or", "else", "none", "super", "loop", "caller", "import", "l_0_a"),
    *("a.0", "a.01", "a.0.5", "a.1b", "a._1", "a[01]", "a[10]", "a.if", "a['\n']", "a[0].1.b"),
]
ODD_TAGS = st.tuples(
    st.sampled_from(["{{", "{{-", "{{+", "{{{", "{{ -", "{{\xa0"]),
    st.sampled_from(ODD_NAMES) | NAMES,
    FILTERS,
    st.sampled_from(["}}", "-}}", "+}}", "}}}", " - }}", "\x1f}}", "\x00}}"]),
).map("".join)


@given(st.lists(st.one_of(st.sampled_from(FRAGMENTS + INCLUDES), TAGS, ODD_TAGS), max_size=6))
def test_the_parser_accepts_what_is_plain_and_what_includes_plainly(pieces: list[str]) -> None:
    source = "".join(pieces)
    if is_plain(source) or plain_includes(source) is not None:
        compiled(environment_for(()), source, "prompts/a.md")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("{% include 'a.md' %}", (("a.md", 1),)),
        ("{{ x }}\n\n{%- include \"b/a.md\" -%} and {% include 'c' %}", (("b/a.md", 3), ("c", 3))),
        ("{{ x[\"{% include 'a' %}\"] }}", None),
        ("{% include a %}", None),
        ("{% include 'a' ignore missing %}", None),
        ("{% raw %}{% include 'a' %}{% endraw %}", None),
    ],
)
def test_which_includes_are_plain(source: str, found: object) -> None:
    assert plain_includes(source) == found
