"""A template cannot tell this environment from the ordinary Jinja2 of the program that uses it:
what is another here is refused, and what is answered is answered alike."""

from __future__ import annotations

import jinja2
import pytest
from jinja2.exceptions import SecurityError

from gatekeeper.contract.templates.environment import compiled, environment_for, rendered

# As in a program that writes prompts, and no HTML.
ORDINARY = jinja2.Environment()  # noqa: S701
VARIABLES = {"text": "some text", "rows": [{"pop": 1, "_id": 2}]}


def _here(text: str) -> str:
    environment = environment_for(())
    return rendered(environment, compiled(environment, text, "prompt.txt"), VARIABLES)


@pytest.mark.parametrize(
    "asked",
    [
        *(f"{name} is defined" for name in ("lipsum", "range", "dict", "cycler", "joiner")),
        *(f"{name} is callable" for name in ("lipsum", "range", "namespace", "text.upper")),
        *(f"{name} is defined" for name in ("loop", "caller", "config", "gatekeeper", "_")),
        "lipsum is mapping or lipsum is iterable or lipsum is string",
        "lipsum.name is defined",
        "range | string",
        "range(3) | string",
        "[range][0](2) | list",
        "cycler | string",
        "'function' in range | string",
        "rows[0]._id",
        "rows | map(attribute='pop') | list",
        "text.missing is defined",
    ],
)
def test_what_is_answered_is_answered_as_by_jinja(asked: str) -> None:
    text = f"{{{{ {asked} }}}}"
    assert _here(text) == ORDINARY.from_string(text).render(VARIABLES)


@pytest.mark.parametrize(
    "asked",
    [
        "'gatekeeper_counted' is filter",
        "'format' is filter",
        "'counted' is test",
        "['format'] | select('filter') | list",
        "['format'] | reject('test') | list",
        "lipsum()",
        "lipsum",
        "'x' ~ lipsum",
        "[lipsum] | string",
        "namespace(a=lipsum)",
        "[1] | random",
        "'%s' | format(1)",
        "['%s'] | map('format', 1) | list",
        "text.format is defined",
        "text.format_map is defined",
        "rows.append is defined",
        "text.__class__ is defined",
        "text | attr('format') is defined",
        "text.format | default('x')",
        "self",
        "'prompt.txt' in self | string",
        "range(100001)",
    ],
)
def test_what_would_be_answered_otherwise_is_refused(asked: str) -> None:
    with pytest.raises(SecurityError):
        _here(f"{{% if true %}}{{{{ {asked} }}}}{{% endif %}}")
    ORDINARY.from_string(f"{{{{ {asked} }}}}").render(VARIABLES)


def _filters_of_our_own() -> list[str]:
    return [name for name in environment_for(()).filters if name not in ORDINARY.filters]


# The names are random: workers of pytest-xdist must not find them in the tests' names.
@pytest.mark.parametrize("position", range(len(_filters_of_our_own())))
def test_a_filter_of_our_own_has_a_name_that_nobody_can_write_or_guess(position: int) -> None:
    name = _filters_of_our_own()[position]
    assert " " in name
    assert len(name.split()[1]) == 16


def test_blocks_are_named_by_self_as_ever() -> None:
    assert _here("{% block a %}x{% endblock %}{{ self.a() }}{{ self['a']() }}") == "xxx"
