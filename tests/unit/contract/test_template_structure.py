"""When two prompts are the same template, and when only their requests look the same."""

from __future__ import annotations

import pytest

from gatekeeper.contract.templates.structure import is_same_template
from gatekeeper.contract.values.definition import MessageTemplate, Prompt


def prompt(text: str, path: str = "prompts/p.md", **includes: str) -> Prompt:
    found = {f"prompts/{name}.md": content for name, content in includes.items()}
    return Prompt(path, (MessageTemplate("user", text, 1),), text, includes=found)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Say {{ word }}.", "Say {{word}}."),
        ("Say {{ word }}.", "Say {# one word #}{{ word }}."),
        ("Say it.", "Say{# only #} it."),
        ("{% if a %}x{% endif %}", "{%- if   a -%}x{%- endif -%}"),
        ("Say it.", "Say it."),
    ],
)
def test_comments_and_layout_do_not_count(before, after):
    assert is_same_template(prompt(before), prompt(after), {})


@pytest.mark.parametrize(
    "after",
    [
        "{% if word in ['known'] %}Say {{ word }}.{% else %}Nothing.{% endif %}",
        "{% if word.startswith('w') %}Say {{ word }}.{% endif %}",
        "Say {{ word if word != 'x' else '' }}.",
        "Say {{ {'known': 'known'}.get(word, 'none') }}.",
        "Say {{ word }}.{% if hidden is defined %} Lie.{% endif %}",
        "Say {{ other }}.",
        "Say {{ word }}!",
    ],
)
def test_what_a_fixture_may_not_reach_counts(after):
    assert not is_same_template(prompt("Say {{ word }}."), prompt(after), {})


def test_an_include_counts_by_its_template():
    text = "{% include 'part.md' %}"
    assert is_same_template(prompt(text, part="a{# c #}b"), prompt(text, part="ab"), {})
    assert not is_same_template(prompt(text, part="ab"), prompt(text, part="a{{ b }}"), {})


def test_moving_a_prompt_with_its_includes_changes_nothing():
    here = prompt("{% include 'part.md' %}", part="a")
    there = Prompt("x/p.md", here.messages, here.text, includes={"x/part.md": "a"})
    assert is_same_template(here, there, {})


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("Say {{ word }}.\nNow.", "{% include 'part.md' %}", "Say {{ word }}.\nNow.\n"),
        ("Say {{ word }}. Now.", "Say {% include 'part.md' %} Now.", "{{ word }}."),
        ("{% if a %}x{% endif %}", "{% if a %}{% include 'part.md' %}{% endif %}", "x"),
    ],
)
def test_text_that_moves_into_an_include_changes_nothing(before, after, part):
    assert is_same_template(prompt(before), prompt(after, part=part), {})
    assert not is_same_template(prompt(before), prompt(after, part=part + "!"), {})


def test_an_include_that_takes_no_variables_is_another_template():
    inner = "{% include 'part.md' without context %}"
    assert not is_same_template(prompt("Say it."), prompt(inner, part="Say it."), {})


def test_a_renamed_variable_changes_nothing():
    before, after = "Say {{ word }}.", "Say {{ term }}."
    assert is_same_template(prompt(before), prompt(after), {"word": "term"})
    assert not is_same_template(prompt(before), prompt(after), {"word": "other"})
    assert not is_same_template(prompt(before), prompt(after), {})


@pytest.mark.parametrize(
    "text",
    [
        "{% import 'part.md' as part %}{{ part.ask(word) }}",
        "{% from 'part.md' import ask %}{{ ask(word) }}",
        "{% extends 'part.md' %}{% block word %}{{ word }}{% endblock %}",
        "{% if word == 'x' %}{% include 'part.md' without context %}{% endif %}",
        "{% include 'part.md' ignore missing %}",
        "{% include ['part.md', 'no.md'] %}",
        "{% include 'part.md' if word else 'no.md' %}",
        "{% include 'outer.md' %}",
    ],
)
def test_every_file_of_the_prompt_counts(text):
    """`outer.md` is included plainly and imports the other."""
    outer = "{% import 'part.md' as part %}{{ part.ask(word) }}"

    def having(part: str) -> Prompt:
        return prompt(text, part=part, outer=outer)

    before = "{% macro ask(word) %}Say {{ word }}.{% endmacro %}"
    after = "{% macro ask(word) %}{% if word %}Say {{ word }}.{% endif %}{% endmacro %}"
    assert is_same_template(having(before), having("{# why #}" + before), {})
    assert not is_same_template(having(before), having(after), {})


def test_includes_that_multiply_are_compared_in_bounded_time():
    """Ten files of which each includes the next ten times; no rendering reaches them."""
    parts = {f"p{i}": f"{{% include 'p{i + 1}' %}}" * 10 for i in range(9)} | {"p9": "text"}
    text = "Say it.{% if never %}{% include 'p0' %}{% endif %}"
    assert is_same_template(prompt(text, **parts), prompt(text, **parts), {})
    changed = parts | {"p9": "another text"}
    assert not is_same_template(prompt(text, **parts), prompt(text, **changed), {})
    assert not is_same_template(prompt("Say it."), prompt(text, **parts), {})
