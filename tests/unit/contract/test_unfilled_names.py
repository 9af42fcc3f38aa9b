"""A variable in single braces is named; braces that mean something else are not."""

from __future__ import annotations

import pytest
from affected import FILES, SHAPES, revision

from gatekeeper.contract.load import load_contract
from gatekeeper.contract.unfilled_names import unfilled_names


def lines(prompt: str) -> list[int | None]:
    files = revision({**FILES, "prompts/a.md": prompt})
    return [
        found.line for found in unfilled_names(load_contract(files, "contracts/a.yaml", SHAPES))
    ]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [("Read {x}.", [1]), ("Read\n\n{x}\nand {x} {x}", [3, 4]), ("'{x}'", [1]), ("<a>{x}</a>", [1])],
)
def test_a_variable_in_single_braces_is_named_with_its_line(
    prompt: str, expected: list[int]
) -> None:
    assert lines(prompt) == expected


@pytest.mark.parametrize(
    "prompt",
    [
        "{{ x }} and {x}",
        '{"x": 1} {x: 1} { x }',
        r"\textbf{x} \frac{x}{x} ${x} a[0]{x}",
        "{other} {% if x %}{x}{% endif %}",
        "{{ '{' }}x{{ '}' }} {{ x }}",
    ],
)
def test_other_braces_are_left_alone(prompt: str) -> None:
    assert lines(prompt) == []
