"""Example values have the shape in which a template reads its variables."""

from __future__ import annotations

from typing import Any

import pytest

from gatekeeper.author.onboarding.example_values import example_values, prompt_variables
from gatekeeper.contract.values.definition import MessageTemplate, Prompt


def prompt(*texts: str) -> Prompt:
    messages = tuple(MessageTemplate("user", text, 1) for text in texts)
    return Prompt("prompts/a.md", messages, "\n".join(texts))


@pytest.mark.parametrize(
    ("text", "variable", "value"),
    [
        ("{{ news_item }}", "news_item", "a news item"),
        ("{{ user.name }} {{ user['town'] }}", "user", {"name": "a name", "town": "a town"}),
        ("{{ user.home.town }}", "user", {"home": {"town": "a town"}}),
        ("{% for x in items %}{{ x }}{% endfor %}", "items", ["a x"]),
        ("{% for t in turns %}{{ t.role }}{% endfor %}", "turns", [{"role": "a role"}]),
        # A message of a chat has a role that the template can write as a line.
        (
            "{% for t in turns %}{{ t.role }}:\n{{ t.content }}{% endfor %}",
            "turns",
            [{"role": "user", "content": "a content"}],
        ),
        ("{{ job.role }} {{ job.town }}", "job", {"role": "a role", "town": "a town"}),
        (
            "{% for a in m %}{% for b in a.l %}{{ b.c }}{% endfor %}{% endfor %}",
            "m",
            [{"l": [{"c": "a c"}]}],
        ),
        ("{{ name.upper() }}", "name", "a name"),
        # A field can have the name of a method of texts.
        ("{% for d in docs %}{{ d.title }}{% endfor %}", "docs", [{"title": "a title"}]),
        ("{{ page['count'] }} {{ page.index }}", "page", {"count": "a count", "index": "a index"}),
        ("{% if kind == 'a' %}x{% endif %}", "kind", "a kind"),
    ],
)
def test_the_template_says_which_shape_a_value_has(text: str, variable: str, value: Any) -> None:
    assert example_values(prompt(text), [variable], "a {name}") == {variable: value}


def test_variables_come_in_the_order_of_their_use() -> None:
    found = prompt_variables(prompt("{{ b }} {{ a }}", "{% set d = c %}{{ d }} {{ broken"))
    assert found == ("b", "a")
    assert prompt_variables(prompt("{{ b }} {{ a }}", "{% set d = c %}{{ d }}")) == ("b", "a", "c")
    # A word of the text is no use of the variable with its name.
    assert prompt_variables(prompt("The letter of {{ author }}: {{ letter }}")) == (
        "author",
        "letter",
    )
