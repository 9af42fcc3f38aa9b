"""A variable in single braces is named; braces that mean something else are not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.two_contracts import FILES, SHAPES, revision

from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.prompts.unfilled_names import unfilled_names, unfilled_notices
from gatekeeper.contract.values.definition import MessageTemplate, Prompt
from gatekeeper.errors import ContractError


def lines(prompt: str, style: str = "jinja") -> list[int | None]:
    text = f"{FILES['contracts/a.yaml']}template: {style}\n"
    files = revision({**FILES, "prompts/a.md": prompt, "contracts/a.yaml": text})
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


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Read\n{{x}}.", [2]),
        ("{{ x }}\n", [1]),
        ("{{{x}}}", []),
        ("{x} and {{x}}", []),
        ("{{other}} {{'x': 1}}", []),
    ],
)
def test_a_variable_in_doubled_braces_of_a_format_string_is_named(
    prompt: str, expected: list[int]
) -> None:
    assert lines(prompt, "fstring") == expected


def test_tags_that_are_never_closed_take_no_time() -> None:
    text = "{{" * 200_000
    prompt = Prompt("p.txt", (MessageTemplate("user", f"{text}\n{{x}}", 1),), "")
    contract = load_contract(revision(FILES), "contracts/a.yaml", SHAPES)
    found = unfilled_names(replace(contract, target=replace(contract.target, prompt=prompt)))
    assert list(found) == []


def test_notices_are_few_and_name_each_place_once() -> None:
    text = f"{FILES['contracts/a.yaml']}template: jinja\n"
    files = revision({**FILES, "prompts/a.md": "{x}\n" * 9, "contracts/a.yaml": text})
    contract = load_contract(files, "contracts/a.yaml", SHAPES)
    notices = unfilled_notices([contract, contract])
    assert [notice.split(" ")[0] for notice in notices] == [f"prompts/a.md:{n}:" for n in (1, 2, 3)]


def test_a_contract_that_declares_no_style_is_refused() -> None:
    files = revision({**FILES, "prompts/a.md": "Read\n{x}\n" * 20})
    with pytest.raises(ContractError) as caught:
        load_contract(files, "contracts/a.yaml", SHAPES)
    assert [problem.line for problem in caught.value.problems] == list(range(2, 22, 2))
    assert all("`template: fstring`" in problem.fix for problem in caught.value.problems)
    text = f"{FILES['contracts/a.yaml']}template: fstring\n"
    filled = revision({**FILES, "prompts/a.md": "Read {x}", "contracts/a.yaml": text})
    assert list(unfilled_names(load_contract(filled, "contracts/a.yaml", SHAPES))) == []
