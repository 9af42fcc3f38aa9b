"""What the finder sees of a prompt's includes: all that the loader takes, or that it cannot say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.files.references import References, Sketch
from gatekeeper.contract.prompts.kinds import TEMPLATE_SUFFIXES, prompt_kind
from gatekeeper.contract.prompts.load import load_prompt
from gatekeeper.contract.reading.read import UnreadableError
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import ContractError

TONE = "prompts/tone.md"


def sketch(files: dict[str, str], prompt: str, fixtures: str = "[{vars: {x: 1}}]") -> Sketch:
    text = f"contract: 1\nname: a\nprompt: /{prompt}\nmodel: m\nfixtures: {fixtures}\n"
    contents = {**files, "c.yaml": text}
    revision = MemoryRevision({path: text.encode() for path, text in contents.items()})
    return References(revision, {}).sketches(["c.yaml"])[0]


def messages(content: str) -> str:
    return json.dumps([{"role": "user", "content": content}])


INCLUDE = "{% include 'tone.md' %}"
ESCAPED = messages(INCLUDE).replace("{%", "\\u007b\\u0025")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        *[(f"prompts/p{s}{t}", messages(INCLUDE)) for s in (".json", ".yml", ".yaml") for t in TEMPLATE_SUFFIXES],  # noqa: E501
        *[(f"prompts/p{s}{t}", ESCAPED) for s in (".json", ".yml") for t in ("", ".jinja", ".J2")],
        ("prompts/p.json.j2.jinja2.j2", ESCAPED),
        ("prompts/p.yml", '- role: user\n  content: "a {\\\n    % include \'tone.md\' %}"\n'),
        ("prompts/p.yml", '- role: user\n  content: "{% inc\\\n    lude \'tone.md\' %}"\n'),
        ("prompts/p.yml", '- role: user\n  content: "{\\x25 \\x69nclude \'tone.md\' %}"\n'),
        ("prompts/p.md", '{% include "to" "ne.md" %}'),
        ("prompts/p.md", "{% include ['tone.md', '/prompts/tone.md'] %}"),
        ("prompts/p.md", "{%-\n  include\n'tone' '.' \"md\" without context -%}"),
        ("prompts/p.md", "{% include '\\x74one.md' %}"),
        ("prompts/p.md", "{% raw %}{% endraw %}{% extends 'tone.md' %}"),
        ("prompts/p.md", "{% from 'tone.md' import a %}{% import 'tone.md' as b %}"),
        ("prompts/p.md", "---\nmodel: m\n---\n# user:\n\n{% if x %}{% include 'tone.md' %}{% endif %}"),  # noqa: E501
        ("prompts/p.prompty.jinja", "---\nmodel: m\n---\nuser:\n{% include 'tone.md' %}"),
        ("prompts/p.txt", "{% macro m() %}{% include 'tone.md' %}{% endmacro %}"),
        ("prompts/p.txt", "{% set a %}{% filter upper %}{% include 'tone.md' %}{% endfilter %}{% endset %}"),  # noqa: E501
    ],
)  # fmt: skip
def test_an_include_is_found_however_it_is_written(path: str, text: str) -> None:
    files = {path: text, TONE: "be kind"}
    assert load_prompt(MemoryRevision({p: t.encode() for p, t in files.items()}), path).includes
    found = sketch(files, path)
    assert found.sound
    assert found.closure == {"c.yaml", path, TONE}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("prompts/mid.yaml", "# {% include 'tone.md' %}\na: 1\n"),
        ("prompts/mid.yaml", "\"{% include 'tone.md' %}\": 1\n"),
        ("prompts/mid.json", json.dumps({INCLUDE: 1})),
        ("prompts/mid.json", "not JSON at all: {% include 'tone.md' %}"),
        ("prompts/mid.json.jinja2", '{"a": "{% include \'tone.md\' %}"}'),
        ("prompts/mid.md", "---\nmodel: {% include 'tone.md' %}\n---\n"),
    ],
)
def test_an_included_file_is_one_template_whatever_it_is_called(path: str, text: str) -> None:
    prompt = f"{{% include '/{path}' %}}"
    found = sketch({"p.txt": prompt, path: text, TONE: "be kind"}, "p.txt")
    assert found.sound
    assert TONE in found.closure


@pytest.mark.parametrize(
    "text",
    [
        "{% include name %}",
        "{% include 'to' ~ 'ne.md' %}",
        "{% include 'to' + 'ne.md' %}",
        "{% include 'tone.md' if x else 'other.md' %}",
        "{% include ['tone.md', name] %}",
        "{% include 'TONE.MD' | lower %}",
        "{% include ('tone.md') | trim %}",
        "{% include 3 %}",
        "{% include '' %}",
        "{% include '../../up.md' %}",
        "{% include 'gone.md' %}",
        "{% include 'tone.md' %}{% if %}",
        "{% include 'tone.md' %}{% include " + "(" * 9999,
        "{% raw %}{% include 'tone.md' %}",
    ],
)
def test_what_is_not_literal_or_does_not_parse_makes_the_closure_unsound(text: str) -> None:
    assert not sketch({"prompts/p.md": text, TONE: "be kind"}, "prompts/p.md").sound
    deep = {"prompts/p.md": "{% include 'mid.md' %}", "prompts/mid.md": text, TONE: "be kind"}
    assert not sketch(deep, "prompts/p.md").sound


@pytest.mark.parametrize("text", ["{% if include %}x{% endif %}", "{% raw %}{% include 'a' %}{% endraw %}"])  # fmt: skip  # noqa: E501
def test_words_that_include_nothing_affect_nothing(text: str) -> None:
    found = sketch({"prompts/p.md": text}, "prompts/p.md")
    assert (found.sound, found.closure) == (True, {"c.yaml", "prompts/p.md"})


@pytest.mark.parametrize("key", ["tools", "tool_results"])
@pytest.mark.parametrize("files", [{}, {"t.json": b"[]"}])
def test_a_missing_file_of_tools_makes_the_closure_unsound(
    key: str, files: dict[str, bytes]
) -> None:
    text = f"contract: 1\nname: a\nprompt: p.txt\nmodel: m\n{key}: t.json\nfixtures: []\n"
    contents = {"p.txt": b"{{ x }}", "c.yaml": text.encode(), **files}
    found = References(MemoryRevision(contents), {}).sketches(["c.yaml"])[0]
    assert (found.sound, "t.json" in found.closure) == (bool(files), True)


def test_a_file_is_looked_into_for_each_thing_it_is_taken_for() -> None:
    """As an include this file names nothing; as fixtures its rows name a schema."""
    rows = "- vars: {x: 1}\n  checks: [{type: json_schema, schema: s.json}]\n"
    files = {"p.txt": "{% include 'rows.yaml' %}", "rows.yaml": rows, "s.json": "{}"}
    from support.two_contracts import SHAPES

    text = "contract: 1\nname: a\nprompt: p.txt\nmodel: m\nfixtures: [{file: rows.yaml}]\n"
    contents = {path: text.encode() for path, text in {**files, "c.yaml": text}.items()}
    found = References(MemoryRevision(contents), SHAPES).sketches(["c.yaml"])[0]
    assert (found.sound, "s.json" in found.closure) == (True, True)


@pytest.mark.parametrize("word", ["recor\\\n  ded", "\\x72ecorded", "\\u0072ecorded"])
def test_a_recording_is_found_however_its_name_is_written(word: str) -> None:
    front = f'---\nmodel: "{word}/answers.jsonl"\n---\nhello'
    files = {"p.md": front, "answers.jsonl": ""}
    text = "contract: 1\nname: a\nprompt: p.md\nfixtures: [{vars: {x: 1}}]\n"
    contents = {path: text.encode() for path, text in {**files, "c.yaml": text}.items()}
    assert (
        "answers.jsonl" in References(MemoryRevision(contents), {}).sketches(["c.yaml"])[0].closure
    )


PIECES = st.sampled_from(
    ["{%", "%}", " include ", "inc", "lude ", "'tone.md'", '"to" "ne.md"', " extends ", "{% raw %}",
     "{% endraw %}", "{#", "#}", "{{ x }}", "{% include 'tone.md' %}", "{% include 'mid.yaml' %}",
     "\nuser:\n", "---\n", "\n", "\\\n  ", "\\u007b", "\\x25", '\\"',
     "x", " if x", "# ", "- ", ": ",
     "{% import 'tone.md' as t %}", "{% if x %}", "{% endif %}", "'", '"', "{", "%"]
)  # fmt: skip
SUFFIXES = st.tuples(
    st.sampled_from([".json", ".yml", ".yaml", ".md", ".prompty", ".txt", ".prompt", ""]),
    st.sampled_from(["", *TEMPLATE_SUFFIXES, ".jinja.j2"]),
).map("".join)


@st.composite
def prompt_files(draw: st.DrawFn) -> tuple[str, str]:
    suffix = draw(SUFFIXES)
    content = draw(st.lists(PIECES, max_size=8).map("".join))
    if prompt_kind(suffix) != "structured" or draw(st.integers(0, 9)) == 0:
        return f"prompts/p{suffix}", content
    quoted = draw(st.sampled_from([
        f'"{content}"', "'" + content.replace("'", "''") + "'", json.dumps(content),
        ">-\n    " + content.replace("\n", "\n    "), json.dumps(content).replace("%", "\\u0025"),
    ]))  # fmt: skip
    if draw(st.booleans()):
        return f"prompts/p{suffix}", f'[{{"role": "user", "content": {quoted}}}]'
    return f"prompts/p{suffix}", f"- role: user\n  content: {quoted}\n"


@given(prompt_files(), st.lists(PIECES, max_size=5).map("".join))
def test_whatever_the_loader_includes_the_finder_sees(made: tuple[str, str], middle: str) -> None:
    path, text = made
    files = {path: text, TONE: "be kind", "prompts/mid.yaml": middle}
    revision = MemoryRevision({name: content.encode() for name, content in files.items()})
    try:
        includes = set(load_prompt(revision, path).includes)
    except (ContractError, UnreadableError):
        return
    found = sketch(files, path)
    assert not found.sound or includes <= found.closure
