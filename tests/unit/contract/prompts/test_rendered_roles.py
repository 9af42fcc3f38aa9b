"""A role line that a template makes is an error with its line; one that a value holds is data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.two_contracts import FILES, SHAPES, revision

from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.prompts.rendered_roles import rendered_role_problems
from gatekeeper.contract.reading.role_lines import role_of_line
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError
from gatekeeper.sampling.trials import plan_trials

TURNS = [{"role": "user", "text": "hi"}, {"role": "assistant", "text": "ho"}]
LOOP = "{% for t in x %}\n{{ t.role }}:\n{{ t.text }}\n{% endfor %}\n"


def lines(prompt: str, path: str = "p.md", x: object = TURNS, **files: str) -> list[int | None]:
    names = {name.replace("_", "."): text for name, text in files.items()}
    loaded = load_prompt(revision({path: prompt, **names}), path)
    return [problem.line for problem in rendered_role_problems(loaded, [{"x": x}])]


@pytest.mark.parametrize(
    ("prompt", "path", "expected"),
    [
        ("user:\n{% macro m() %}assistant:{% endmacro %}\n{{ m() }}\n", "p.md", [2]),
        (
            "user:\n{% set m %}assistant:{% endset %}\n{{ m }}\n{% if x %}\nuser:\n{% endif %}a",
            "p.md",
            [2],
        ),
        (LOOP, "p.md", [2]),
        ("{% for t in x %}\nuser:\n{{ t.text }}\n{% endfor %}\n", "p.md", [2]),
        (f"Go on with this dialogue.\n{LOOP}", "p.md", []),
        (LOOP, "p.txt", []),
        ("user:\n{{ x[0]['text'] }}:\n\nuser:\n{{ x[1]['text'] }}:\n", "p.md", [2, 5]),
    ],
)
def test_a_role_line_that_the_template_makes_is_named(
    prompt: str, path: str, expected: list[int]
) -> None:
    roles = [{**turn, "text": turn["role"]} for turn in TURNS]
    assert lines(prompt, path, roles) == expected


def test_an_included_file_begins_no_message_either() -> None:
    made = lines("system:\nBe.\n{% include 'few.md' %}\nuser:\ngo\n", few_md="\nuser:\nhi\n")
    assert made == [2]


@pytest.mark.parametrize(
    ("prompt", "path", "x"),
    [
        (LOOP, "p.txt", TURNS),
        (f"Quoted:\n{LOOP}", "p.md", TURNS),
        ("user:\n{{ x }}\n", "p.md", "user:\nhi\nassistant:\nho"),
        ("user:\n{{ x }}:\n", "p.md", "Colours"),
        ("user:\nThe role {{ x }}:\n", "p.md", "user"),
        ("user:\n{{ x }}: hello\n", "p.md", "user"),
        ("user:\n{% if not x %}assistant:{% endif %}go\n", "p.md", "user"),
        ("user:\n{% raw %}user:{% endraw %}\n", "p.md", "user"),
    ],
)
def test_other_text_is_left_alone(prompt: str, path: str, x: object) -> None:
    assert lines(prompt, path, x) == []


def words(prompt: str) -> Contract:
    files = {**FILES, "prompts/a.md": prompt, "contracts/a.jsonl": '{"x": "user"}\n{"x": "b"}'}
    return load_contract(revision(files), "contracts/a.yaml", SHAPES)


def test_head_is_refused_and_what_is_on_the_base_branch_is_still_compared() -> None:
    sound, broken = words("user:\n{{ x }}"), words("user:\n{{ x }}:\n")
    with pytest.raises(ContractError) as error:
        plan_trials(broken, broken.target, sound.target, {})
    (problem,) = error.value.problems
    assert (problem.path, problem.line) == ("prompts/a.md", 2)
    assert len(plan_trials(sound, sound.target, broken.target, {}).trials) > 0


def test_a_block_across_a_role_line_is_named_with_that_line() -> None:
    prompt = "Be.\n{% macro t(x) %}\n\n\nuser:\n{{ x }}\n{% endmacro %}\nThen\n"
    with pytest.raises(ContractError) as error:
        lines(prompt, "p.prompty")
    (problem,) = error.value.problems
    assert problem.line == 5


def test_a_template_that_is_wrong_anyway_keeps_its_own_error() -> None:
    with pytest.raises(ContractError) as error:
        lines("system:\n{% for t in x %}\nuser:\ngo\n")
    assert error.value.problems[0].line == 2


@given(st.text(alphabet=" \t#uUser:\u017f", max_size=12))
def test_a_role_line_is_blanks_hashes_blanks_a_role_and_a_colon(line: str) -> None:
    bare = line.strip(" \t").lstrip("#").strip(" \t")
    expected = bare.endswith(":") and bare[:-1].strip(" \t").lower() == "user"
    assert (role_of_line(line) == "user") == expected


@pytest.mark.parametrize("line", [" " * 1_000_000 + "x", "#" * 1_000_000, "user" + " " * 1_000_000])
def test_a_line_of_blanks_takes_no_time(line: str) -> None:
    assert role_of_line(line) is None
