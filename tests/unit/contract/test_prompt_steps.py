"""The steps of a contract: how they are read, and what is refused, with its line."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.foreign_files import loaded as loaded_from

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.files.references import References
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError

CONTRACT = """\
contract: 1
name: order
model: openai/m
steps:
  - name: extract
    prompt: extract.md
    checks: [{type: contains, value: "{{ name }}"}]
  - name: rank
    prompt: rank.md
prompt: answer.md
fixtures: [{id: a, vars: {name: Ann, open: true}}]
checks: [{type: contains, value: Ann}]
"""
FILES = {
    "extract.md": "Extract {{ name }}",
    "rank.md": "Rank {{ extract }} of {{ name }}",
    "answer.md": "---\n---\nsystem:\nBe kind.\n\nuser:\n{{ rank }}: {{ extract }}\n",
    "order.yaml": CONTRACT,
}


def load(changes: dict[str, str] | None = None) -> Contract:
    return loaded_from({**FILES, **(changes or {})}, "order.yaml")


def problem(changes: dict[str, str]) -> tuple[str, int | None, str]:
    """The path, line and text of the only problem."""
    with pytest.raises(ContractError) as caught:
        load(changes)
    (found,) = caught.value.problems
    return found.path, found.line, found.what


def test_steps_are_read_in_order_with_their_checks() -> None:
    contract = load()
    assert [prompt.path for prompt in contract.target.prompts] == list(FILES)[:3]
    assert [(spec.name, spec.step) for spec in contract.checks] == [
        ("extract: contains {{ name }}", "extract"),
        ("contains Ann", None),
    ]
    assert {"extract.md", "rank.md", "answer.md"} <= contract.dependencies.keys()


def test_every_prompt_and_file_of_a_step_is_found_without_loading() -> None:
    files = {
        **FILES,
        "order.yaml": edited(
            CONTRACT, '{type: contains, value: "{{ name }}"}', "{type: json_schema, schema: s.json}"
        ),
        "extract.md": '{% include "part.txt" %}',
        "part.txt": "x",
        "s.json": "{}",
    }
    revision = MemoryRevision({path: text.encode() for path, text in files.items()})
    (sketch,) = References(revision, SHAPES).sketches(["order.yaml"])
    assert sketch.sound
    assert sketch.closure == files.keys()
    assert sketch.steps == (("extract", "extract.md"), ("rank", "rank.md"))


@pytest.mark.parametrize(
    "template",
    [
        "{{ extract }}",
        "{{- extract -}}",
        "{% if open %}{{ extract }}{% else %}-{{extract}}{% endif %}",
        "{% for x in [1, 2] %}{{ x }} {{ extract }}{% endfor %}",
        "{# extract #}{{ extract }}{% raw %}{{ extract | upper }}{% endraw %}",
    ],
)
def test_an_output_may_be_inserted_as_it_is(template: str) -> None:
    assert load({"rank.md": template})


@pytest.mark.parametrize(
    "template",
    [
        "{{ extract | upper }}",
        "{{ extract ~ 'x' }}",
        "{{ extract[0] }}",
        "{{ extract.text }}",
        "{{ (extract) if open else '' }}",
        "{% if extract %}x{% endif %}",
        "{% for x in extract %}x{% endfor %}",
        "{% for x in [1] if extract %}x{% endfor %}",
        "{% for extract in [1] %}{{ extract }}{% endfor %}",
        "{% for x in [[1]] recursive %}{{ extract }}{{ loop(x) }}{% endfor %}",
        "{% set y = extract %}{{ y }}",
        "{% set extract = 1 %}",
        "{% set y %}{{ extract }}{% endset %}{{ y | upper }}",
        "{% filter upper %}{{ extract }}{% endfilter %}",
        "{% macro m() %}{{ extract }}{% endmacro %}{{ m() | upper }}",
        "{% macro extract() %}x{% endmacro %}",
        "{% block b %}{{ extract }}{% endblock %}{{ self.b() | upper }}",
        "{% with y = extract %}{{ y }}{% endwith %}",
        "{% call(x) name() %}{{ extract }}{% endcall %}",
    ],
)
def test_any_other_use_is_refused_with_its_line(template: str) -> None:
    with pytest.raises(ContractError) as caught:
        load({"rank.md": f"Rank\n{{{{ extract }}}}\n{template}"})
    assert {(p.path, p.line) for p in caught.value.problems} == {("rank.md", 3)}
    assert "`extract`" in caught.value.problems[0].what


def test_an_included_file_may_not_use_an_output() -> None:
    found = problem({"rank.md": '{% include "part.txt" %}', "part.txt": "\n{{ extract }}"})
    assert found[:2] == ("part.txt", 2)


def test_a_name_that_an_import_gives_away_is_refused() -> None:
    changes = {"rank.md": '{% import "m.txt" as extract %}{{ extract }}', "m.txt": "x"}
    assert problem(changes)[:2] == ("rank.md", 1)


@pytest.mark.parametrize("template", ["{{ rank }}", "x {{ extract }}{{ rank }}"])
def test_a_step_has_no_output_of_itself_or_of_later_ones(template: str) -> None:
    assert problem({"rank.md": template})[:2] == ("rank.md", 1)


def test_a_step_that_nobody_uses_is_refused() -> None:
    found = problem({"answer.md": "{{ extract }}"})
    assert found[:2] == ("order.yaml", 8)
    assert "`rank`" in found[2]


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ("{{ extract }}\n{{ rnk }}", ("answer.md", 2)),
        ("{{ extract }} {{ name }} rnk", ("order.yaml", 8)),
        ("{{ extract }} {{ brightness }}", ("order.yaml", 8)),
    ],
)
def test_a_misspelt_step_is_named_where_it_is_written(answer: str, place: tuple[str, int]) -> None:
    with pytest.raises(ContractError) as caught:
        load({"answer.md": answer})
    (found,) = caught.value.problems
    assert (found.path, found.line) == place
    assert ("did you mean the step `rank`" in found.fix) == (place[0] == "answer.md")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("name: rank", "name: extract", 8),
        ("name: rank", "name: loop", 8),
        ("name: rank", "name: ra-nk", 8),
        ("prompt: rank.md", "prompt: none.md", 9),
        ("name: Ann, open", "rank: Ann, name: Ann, open", 8),
        ("model: openai/m", "model: openai/m\nmode: assist", 4),
        ("open: true}}", "open: true}, turns: [And then?]}", 4),
        ("{type: contains, value: Ann}", "{type: contains, value: x, severity: warn}", 12),
        ("value: Ann}", "value: Ann, name: 'extract: contains {{ name }}'}", 12),
    ],
)
def test_what_cannot_be_a_step_is_refused_with_its_line(old: str, new: str, line: int) -> None:
    with pytest.raises(ContractError) as caught:
        load({"order.yaml": CONTRACT.replace(old, new)})
    assert ("order.yaml", line) in {(p.path, p.line) for p in caught.value.problems}


@pytest.mark.parametrize(("model", "sound"), [("openai/m", True), ("openai/other", False)])
def test_a_step_has_no_model_of_its_own(model: str, sound: bool) -> None:
    changes = {"rank.md": f"---\nmodel: {model}\n---\n{{{{ extract }}}}"}
    if sound:
        assert load(changes)
    else:
        assert problem(changes)[:2] == ("rank.md", 2)


def test_a_step_has_no_parameters_of_its_own() -> None:
    text = "---\nmodel: openai/m\nparams: {temperature: 0}\n---\n{{ extract }}"
    assert problem({"rank.md": text})[0] == "rank.md"
    assert load({"rank.md": text, "order.yaml": f"{CONTRACT}params: {{temperature: 0}}\n"})


@pytest.mark.parametrize(
    ("style", "template", "sound"),
    [
        ("fstring", "Rank {extract}", True),
        ("mustache", "Rank {{{extract}}}", True),
        ("mustache", "Rank {{extract}}", False),
        ("nunjucks", "Rank {{ extract }}", False),
    ],
)
def test_other_styles_insert_an_output_if_they_do_not_escape_it(
    style: str, template: str, sound: bool
) -> None:
    suffix = {"fstring": "", "mustache": ".mustache", "nunjucks": ".njk"}[style]
    name = f"rank.txt{suffix}"
    one = edited(CONTRACT, "rank.md", name)
    if style == "fstring":
        one = edited(one, "prompt: answer.md", "template: fstring\nprompt: answer.md")
    changes = {"order.yaml": one, name: template}
    if style == "fstring":
        changes |= {"extract.md": "Extract {name}", "answer.md": "{rank}: {extract}"}
    if sound:
        assert load(changes)
    else:
        assert problem(changes)[:2] == (name, 1)
