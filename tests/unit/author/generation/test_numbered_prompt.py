"""A prompt of any kind is shown with the lines of its file."""

from __future__ import annotations

import pytest

from gatekeeper.author.generation.numbered_prompt import number_prompt
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import ContractError, UsageError


def revision_of(texts):
    return MemoryRevision({path: text.encode() for path, text in texts.items()})


PROMPTY = "---\nname: a\n---\nsystem:\nOne word.\nuser:\n{{ text }} in {{ language }}\n"
GITHUB = "messages:\n- role: system\n  content: One word.\n- role: user\n  content: '{{text}}'\n"
KEYED = "a: 1\nb:\n  ask: |\n    One word.\n    {{ text }}\n"
CODE = 'X = 1\nASK = """One word.\n{text}"""\n'


@pytest.mark.parametrize(
    ("path", "part", "text", "variables", "line", "shown"),
    [
        ("p.txt", "", "One word.\n{{ text }}\n", ("text",), 1, "One word."),
        ("p.md", "", "# Task\nOne word: {text}\n", ("text",), 2, "One word: {text}"),
        ("p.prompty", "", PROMPTY, ("text", "language"), 5, "One word."),
        ("p.prompt.yml", "", GITHUB, ("text",), 3, "  content: One word."),
        ("p.yaml", "#b.ask", KEYED, ("text",), 4, "One word."),
        ("p.py", ":ASK", CODE, ("text",), 2, "One word."),
    ],
)
def test_the_lines_are_those_of_the_file(path, part, text, variables, line, shown):
    found = number_prompt(revision_of({path: text}), path + part)
    assert found.reference == path + part
    assert found.variables == variables
    assert dict(found.lines)[line] == shown
    assert f"{line} | {shown}" in found.data["prompt"]
    assert [type(number) for number in found.grounded([float(line)])] == [int]
    assert found.grounded([line, line]) == (line,)
    assert found.grounded([line, 99]) == ()
    assert found.grounded([]) == ()


def test_values_have_the_shape_that_the_template_reads():
    text = "{% for turn in turns %}{{ turn.text }}{% endfor %}{{ user.name }}"
    prompt = number_prompt(revision_of({"p.txt": text}), "p.txt")
    shapes = prompt.values_schema()["properties"]
    assert shapes["turns"]["items"]["properties"] == {"text": {"type": "string"}}
    assert shapes["user"]["required"] == ["name"]


def test_included_files_are_shown_too():
    files = {"p.md": "{% include 'rules.md' %}\n{{ text }}\n", "rules.md": "One word."}
    assert number_prompt(revision_of(files), "p.md").data["included"] == "One word."


@pytest.mark.parametrize(
    ("text", "error"), [("Say yes.", UsageError), ("", ContractError), ("{% if %}", ContractError)]
)
def test_a_prompt_that_cannot_be_tested_is_refused(text, error):
    with pytest.raises(error):
        number_prompt(revision_of({"p.txt": text}), "p.txt")


def test_a_prompt_that_is_not_there_is_named():
    with pytest.raises(ContractError, match=r"p\.txt"):
        number_prompt(revision_of({}), "p.txt")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"{{{{ a }}}} {'x' * 200_000}", "characters"),
        (" ".join(f"{{{{ v{n} }}}}" for n in range(101)), "101 variables"),
        (" ".join(f"{{{{ v.f{n} }}}}" for n in range(3_000)), "3,000 fields"),
    ],
)
def test_a_prompt_that_is_too_large_is_refused(text, named):
    with pytest.raises(UsageError, match=named):
        number_prompt(MemoryRevision({"p.txt": text.encode()}), "p.txt")
