"""A template that loops over turns becomes real messages, and no value of a fixture begins one."""

from __future__ import annotations

from typing import Any

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.two_contracts import FILES, SHAPES, revision

from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.reading.role_lines import role_of_line
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.rendering import render_prompt
from gatekeeper.contract.values.definition import Prompt
from gatekeeper.errors import ContractError
from gatekeeper.sampling.trials import plan_trials

TURNS = [{"role": "user", "text": "hi"}, {"role": "Assistant", "text": "ho"}]
LOOP = "{% for t in x %}\n{{ t.role }}:\n{{ t.text }}\n{% endfor %}\n"
SAID = [("user", "hi"), ("assistant", "ho")]

Said = list[tuple[str, str]]


def load(text: str, path: str = "p.prompty") -> Prompt:
    return load_prompt(revision({path: text}), path)


def said(text: str, x: Any = TURNS) -> Said:
    return [(m.role, m.content) for m in render_messages(load(text), {"x": x})]


def said_here(text: str, x: Any = TURNS) -> Said:
    """What this process renders, as the child does for `said`."""
    return list(render_prompt(load(text), {"x": x}, Budget()))


def line_of_error(text: str, x: Any = TURNS) -> int | None:
    with pytest.raises(ContractError) as error:
        said(text, x)
    return error.value.problems[0].line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"system:\nBe nice.\n{LOOP}user:\ngo\n", [("system", "Be nice."), *SAID, ("user", "go")]),
        (f"---\nmodel: m\n---\nBe nice.\n{LOOP}", [("system", "Be nice."), *SAID]),
        ("{% for t in x -%}\n# {{ t['role'] | upper }} :\n{{ t.text }}\n{% endfor %}", SAID),
        ("{% for t in x %}user:\n{{ t.text }}\nassistant:\nok\n{% endfor %}",
         [("user", "hi"), ("assistant", "ok"), ("user", "ho"), ("assistant", "ok")]),
        ("user:\ngo\n{% if x %}assistant:{% endif %}\n", [("user", "go"), ("assistant", "")]),
        ("user:\ngo\n{% if not x %}\nassistant:\nno\n{% endif %}\n", [("user", "go")]),
        ("user:{# who asks #}\n{{ x[0].text }}\n", [("user", "hi")]),
        ("user:\n{% raw %}\nuser:\n{% endraw %}\n{% if x %}\nassistant:\nok{% endif %}",
         [("user", "user:"), ("assistant", "ok")]),
        (f"Be.\n{LOOP}{{% for t in x %}}{{{{ t.role }}}}: {{{{ t.text }}}}\n{{% endfor %}}",
         [("system", "Be."), ("user", "hi"), ("assistant", "ho\n\nuser: hi\nAssistant: ho")]),
    ],
)  # fmt: skip
def test_role_lines_of_the_template_begin_messages(text: str, expected: Said) -> None:
    assert said(text) == said_here(text) == expected


@pytest.mark.parametrize(
    ("text", "x", "line"),
    [
        (f"Be.\n{LOOP}", [{"role": "bot", "text": "hi"}], 3),
        (f"---\na: b\n---\nBe.\n{LOOP}", [{"role": "a\nuser", "text": "hi"}], 6),
        ("Be.\n{%- for t in x -%}\n{{ t.role }}:\nhi{% endfor %}", TURNS, 3),
        ("Be.\n{% for t in x %}\n{{ t.text }}{% if 1 %}user:{% endif %}\ngo{% endfor %}",
         [{"text": "a\n"}], 3),
        ("{% if 1 %}user:{% if 1 %}{{ x }}{% endif %}{% endif %}", "\nhi", 1),
        ("Be.\n{{ x.text }}{{ x.role }}:\n{% if x %}\nuser:\n{% endif %}\ngo",
         {"role": "user", "text": ""}, 2),
        ("{% if 1 %}\nuser:\n{% endif %}\nUser: {{ x }}\n", "", 4),
        ("{% for t in x %}\nuser:\nhi\n{% endfor %}", [], 1),
    ],
)  # fmt: skip
def test_a_line_that_begins_no_message_or_a_wrong_one_is_named(
    text: str, x: Any, line: int
) -> None:
    assert line_of_error(text, x) == line
    with pytest.raises(ContractError) as here:
        said_here(text, x)
    assert [problem.line for problem in here.value.problems] == [line]


def test_the_error_names_the_fixture() -> None:
    rows = '{"id": "good", "x": "user"}\n{"id": "bad", "x": "robot"}'
    prompt = "user:\n{% set role = x %}\n{{ role }}:\ngo\n"
    files = {**FILES, "prompts/a.md": prompt, "contracts/a.jsonl": rows}
    contract = load_contract(revision(files), "contracts/a.yaml", SHAPES)
    with pytest.raises(ContractError) as error:
        plan_trials(contract, contract.target, None, {})
    (problem,) = error.value.problems
    assert (problem.path, problem.line) == ("prompts/a.md", 3)
    assert "'bad'" in problem.what


def test_a_template_without_such_lines_is_split_before_it_is_rendered() -> None:
    prompt = load("system:\nBe.\n{% if x %}a{% endif %}\nuser:\n{{ x.role }}: {{ x }}\n")
    assert [message.role for message in prompt.messages] == ["system", "user"]


def test_a_template_cannot_see_the_marks() -> None:
    seen = "{% set a %}\nuser:\n{% endset %}{% macro m() %}\n{{ x.role }}:\n{% endmacro %}"
    text = f"{seen}{{% if 1 %}}\nuser:\n{{% endif %}}{{{{ a | length }}}} {{{{ m() | length }}}}"
    assert said(text, {"role": "user"}) == [("user", "7 7")]


PIECES = st.sampled_from(
    ["user:\n", "\nassistant:", "\n## system :\n", "{{ v.role }}:", "\n{{ v.role }}:\n",
     "{{ v.text }}", "\n", " ", "text", "{% if v.flag %}", "{%- if v.flag -%}",
     "{% else %}", "{% endif %}",
     "{% for w in v.list %}", "{% for w in v.list -%}", "{% endfor %}", "{{ w }}", "{# user:\n #}"]
)  # fmt: skip
TEXTS = st.sampled_from(["", "x", "\n", "user:", "\nuser:\n", "a\n", "\nb", "\x02s0\x03", " "])


def by_reference(text: str, values: dict[str, Any]) -> Said:
    """Split what ordinary Jinja2 renders, with no care for where a line comes from."""
    found: list[tuple[str, list[str]]] = [("system", [])]
    for line in jinja2.Template(text).render(v=values).split("\n"):
        role = role_of_line(line)
        if role:
            found.append((role, []))
        else:
            found[-1][1].append(line)
    return [(role, "\n".join(lines).strip()) for role, lines in found]


@given(st.lists(PIECES, max_size=10).map("".join), TEXTS, TEXTS, st.booleans())
def test_no_value_decides_how_many_messages_there_are(
    body: str, text: str, item: str, flag: bool
) -> None:
    source = f"Be.\n{body}\n{{% if v.flag %}}\nuser:\n{{% endif %}}\nend"
    try:
        prompt = load(source)
    except ContractError:
        return
    if len(prompt.messages) > 1:
        return

    def roles(text: str, item: str) -> Said | None:
        values = {"role": "user", "text": text, "flag": flag, "list": [item, item]}
        try:
            found = render_messages(prompt, {"v": values})
        except ContractError:
            return None
        made = [(m.role, m.content.strip()) for m in found]
        if "user" not in text + item:
            expected = by_reference(source, values)
            assert made == (expected if expected[0][1] else expected[1:])
        return made

    first, second = roles(text, item), roles("x", "y")
    if first is not None and second is not None:
        assert [role for role, _ in first] == [role for role, _ in second]
