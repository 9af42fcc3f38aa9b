"""What would take all time or memory ends within seconds, in words, by every way in."""

from __future__ import annotations

import resource

import pytest
from support.machine_needs import LINUX
from support.pull_request import FILES, PROMPT
from support.ways_in import RunGate

pytestmark = [
    pytest.mark.long,
    LINUX.mark,
]

CONTRACT = "contracts/sentiment.yaml"
CHECK = '{type: equals, value: "{{ expected }}"}'
NESTED = "(((a{1000}){1000}){1000}){1000}"
RENDERED = "(((({{ expected }}{1000}){1000}){1000}){1000})"
CHECKS = {
    "nested counts": f"{{type: regex, pattern: '{NESTED}'}}",
    "nested counts in a schema": f"{{type: json_schema, schema: {{pattern: '{NESTED}'}}}}",
    "names in a schema": f"{{type: json_schema, schema: {{patternProperties: {{'{NESTED}': {{}}}}}}}}",  # noqa: E501
    "nested counts from a template": f'{{type: regex, pattern: "{RENDERED}"}}',
}

TEMPLATES = {
    "a filter that multiplies": "{{ ('x\n'*400000)|indent(90000,true) }}",
    "a comparison in a loop": "{% set b='ab'*400000 %}{% for i in range(99999) %}"
    "{% if 'abb' in b %}{% endif %}{% endfor %}",
    "texts that are kept": "{% set b='ab'*400000 %}{% set ns=namespace(a=[]) %}"
    "{% for i in range(9999) %}{% set ns.a=[ns.a, b ~ i] %}{% endfor %}",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_that_takes_everything_is_refused(name: str, run_gate: RunGate) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answered = run_gate(FILES, {PROMPT: FILES[PROMPT] + TEMPLATES[name]})
    assert (answered.exit_code, answered.verdict) == (2, None)
    assert "the template takes too much" in answered.text
    assert PROMPT in answered.text
    assert answered.requests == ()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


@pytest.mark.parametrize("name", CHECKS)
def test_a_pattern_that_takes_everything_is_refused(name: str, run_gate: RunGate) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answered = run_gate(FILES, {CONTRACT: FILES[CONTRACT].replace(CHECK, CHECKS[name])})
    assert (answered.exit_code, answered.verdict) == (2, None)
    assert "cannot be compiled" in answered.text
    assert CONTRACT in answered.text
    assert answered.requests == ()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
