"""Prompts at a key of YAML, JSON and TOML: their messages, and the real lines of their text."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.prompts.reference import locate_prompt, read_reference, write_key
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Prompt
from gatekeeper.errors import ContractError, Problem


def load(path: str, text: str, part: str) -> Prompt:
    return load_prompt(MemoryRevision({path: text.encode()}), f"{path}#{part}")


def places(prompt: Prompt) -> list[tuple[str, str, list[int]]]:
    """Return each message's role and text, and the file's line of each of its lines."""
    return [
        (m.role, m.content, [m.line_at(n) for n in range(1, m.content.count("\n") + 2)])
        for m in prompt.messages
    ]


def problem(path: str, text: str, part: str) -> Problem:
    with pytest.raises(ContractError) as caught:
        load(path, text, part)
    return caught.value.problems[0]


YAML = """\
prompts:
  - |
    Classify:

    {{ text }}
  - >
    One line
    that goes on.

    And a second.
  - "a\\nb\\nc"
  - "first
    words

    next words"
tickets:
  "a.b":
    - role: system
      content: |-
        Be brief.
        Be kind.
    - {role: User, content: "{{ x }}"}
chat: |
  [
    {"role": "system", "content": "A\\nB"},
    {"role": "user", "content": "{{ x }}"}
  ]
"""


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("prompts[0]", [("user", "Classify:\n\n{{ text }}\n", [3, 4, 5, 6])]),
        ("prompts[1]", [("user", "One line that goes on.\nAnd a second.\n", [7, 10, 10])]),
        ("prompts[2]", [("user", "a\nb\nc", [11, 11, 11])]),
        ("prompts[3]", [("user", "first words\nnext words", [12, 15])]),
        (
            'tickets["a.b"]',
            [("system", "Be brief.\nBe kind.", [20, 21]), ("user", "{{ x }}", [22])],
        ),
        ("chat", [("system", "A\nB", [25, 25]), ("user", "{{ x }}", [26])]),
    ],
)
def test_yaml_gives_each_line_its_place(
    part: str, expected: list[tuple[str, str, list[int]]]
) -> None:
    assert places(load("p.yaml", YAML, part)) == expected


def test_json_has_a_text_on_one_line() -> None:
    text = '{\n "a": {\n  "b": ["x", "{{ y }}\\nz"]}}'
    assert places(load("p.json", text, "a.b[1]")) == [("user", "{{ y }}\nz", [3, 3])]
    chat = json.dumps({"a": json.dumps([{"role": "user", "content": "hi"}])})
    assert places(load("p.json", chat, "a")) == [("user", "hi", [1])]


TOML = '''\
title = "x"  # a note = "y"
[prompts]
short = "One {{ x }}"
long = """
First
second \\
   and more

third"""
raw = \'\'\'Same line
next\'\'\'
list = [
  "a", # "b"
  "c",
]
[prompts."a.b".inner]
in.line = {deep = "d", other = ["e"]}
[[messages]]
role = "system"
content = "S"
[[messages]]
role = "user"
content = "U"
'''


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("prompts.short", [[3]]),
        ("prompts.long", [[5, 6, 6, 9]]),
        ("prompts.raw", [[10, 11]]),
        ("prompts.list[1]", [[14]]),
        ('prompts["a.b"].inner.in.line.deep', [[17]]),
        ('prompts["a.b"].inner.in.line.other[0]', [[17]]),
        ("messages", [[20], [23]]),
    ],
)
def test_toml_gives_each_line_its_place(part: str, expected: list[list[int]]) -> None:
    prompt = load("p.toml", TOML, part)
    assert [lines for _, _, lines in places(prompt)] == expected
    if part == "prompts.long":
        assert prompt.text == tomllib.loads(TOML)["prompts"]["long"]


@pytest.mark.parametrize(
    ("part", "line", "word"),
    [
        ("prompt[0]", 1, "`prompts`"),
        ("prompts[4]", 1, "`prompts[3]`"),
        ("tickets.a", 16, "use one of `a.b`"),
        ('tickets["a.b"][0].contnet', 18, "`content`"),
        ("prompts.x", 1, "`prompts[0]`"),
        ("chat.x", 23, "after `#`"),
        ("tickets", 16, '`tickets["a.b"]`'),
    ],
)
def test_an_error_names_the_line_of_the_nearest_key(part: str, line: int, word: str) -> None:
    found = problem("p.yaml", YAML, part)
    assert (found.path, found.line) == ("p.yaml", line)
    assert word in found.fix


def test_faults_inside_a_text_have_their_line() -> None:
    broken = 'a: |\n  [\n   {"role": "user", "content": {{ x }} }\n  ]\n'
    assert problem("p.yaml", broken, "a").line == 3
    no_role = 'a: |\n  [{"role": "user", "content": "x"},\n   {"role": "usr", "content": "y"}]\n'
    assert problem("p.yaml", no_role, "a").line == 3
    assert problem("p.yaml", "a:\n - role: user\n   content: 1\n", "a").line == 3
    assert problem("p.yaml", "a: |\n  x\n  {% if %}\n", "a").line == 3
    assert problem("p.yaml", "b: 1\na: ' '\n", "a").line == 2
    assert problem("p.toml", "a = 1\nb = \n", "a").line == 2
    assert problem("p.toml", "a = " + "[" * 100_000, "a").what.startswith("not TOML")


@pytest.mark.parametrize("part", ["", "a..b", ".a", "a[", "a[-1]", "a[0]b", "a b", "[x]", "a."])
def test_a_part_that_is_no_key_is_refused(part: str) -> None:
    with pytest.raises(UnreadableError):
        read_reference(f"p.yaml#{part}")


@pytest.mark.parametrize("name", ["notes#1.md", "p.yaml/x", "a.md#b", "p.yaml.j2#x", "src/app.py"])
def test_other_names_are_whole_files(name: str) -> None:
    assert read_reference(name).part == ""


def test_a_reference_is_relative_to_the_file_that_has_it() -> None:
    assert str(locate_prompt("../p.yaml#a[0]", "evals/x.yaml#one")) == "p.yaml#a[0]"
    assert str(locate_prompt("/p.py:Some.NAME", "evals/x.yaml")) == "p.py:Some.NAME"
    with pytest.raises(UnreadableError):
        locate_prompt("../../p.yaml#a", "evals/x.yaml")
    with pytest.raises(UnreadableError):
        locate_prompt("https://example.com/p.yaml#a", "evals/x.yaml")


KEYS = st.lists(st.one_of(st.integers(0, 999_999), st.text(max_size=8)), min_size=1, max_size=5)


@given(KEYS)
def test_a_key_is_read_as_it_was_written(key: list[str | int]) -> None:
    steps = tuple(key)
    written = read_reference(f"p.yaml#{write_key(steps)}")
    assert written.key == steps
    assert read_reference(str(written)) == written


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ('["only {{ x }}"]', "write `[0]`"),
        ('["one {{ x }}", "two", "three"]', "write an item from `[0]` to `[2]`"),
    ],
)
def test_an_item_that_a_list_lacks_names_those_it_has(text, fix):
    assert problem("p.json", text, "[7]").fix == fix
