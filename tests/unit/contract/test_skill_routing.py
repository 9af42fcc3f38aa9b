"""Contracts with `skills`: what the model is shown, what affects them, and what is refused."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited
from support.revisions import change, revision

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import Affected, find_affected
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError
from gatekeeper.gate.plan.plan import as_sent
from gatekeeper.sampling.trials import plan_trials

PATH = "contracts/routing.yaml"
CONTRACT = """\
contract: 1
name: routing
skills: /.claude/skills/*/SKILL.md
model: openai/gpt-5-mini
fixtures:
  - {id: form, request: Fill in {{ this }} form., expected: pdf}
  - {id: joke, request: Tell me a joke., expected: none}
"""
CONTRACT = edited(CONTRACT, "Fill in {{ this }} form.", '"Fill in {{ this }} form."')


def path_of(folder: str) -> str:
    return f".claude/skills/{folder}/SKILL.md"


def skill(description: str, *more: str, body: str = "Do it.") -> str:
    front = [f"description: {json.dumps(description, ensure_ascii=False)}", *more]
    return "\n".join(["---", *front, "---", body, ""])


FILES = {
    PATH: CONTRACT,
    path_of("pdf"): skill("Extract text from PDF files."),
    path_of("sheets"): skill(
        "Edit spreadsheets.", "when_to_use: For <Excel> & co.", "name: sheets"
    ),
}


def loaded(**files: str) -> Contract:
    return load_contract(revision({**FILES, **files}), PATH, SHAPES)


def refused(**files: str) -> list[str]:
    with pytest.raises(ContractError) as raised:
        loaded(**files)
    return [str(problem) for problem in raised.value.problems]


def sent(contract: Contract) -> list[tuple[str, str]]:
    first, *_ = plan_trials(contract, as_sent(contract), None, {}).trials
    return [(message.role, message.content) for message in first.request.messages]


def shown(contract: Contract) -> dict[str, str]:
    found = re.findall(r"<name>(.*)</name>\n<description>(.*?)</description>", sent(contract)[0][1])
    return {name: unescape(description) for name, description in found}


def between(head: dict[str, str | None], policy: Policy | None = None) -> Affected:
    files = {path: text for path, text in {**FILES, **head}.items() if text is not None}
    return find_affected(change(FILES, files), policy or Policy(), SHAPES)


def causes(head: dict[str, str | None]) -> list[str]:
    return [each.path for found in between(head).contracts for each in found.affected_by]


def test_the_model_is_shown_names_and_descriptions_and_the_request():
    (system, text), user = sent(loaded())
    assert system == "system"
    assert user in [("user", "Fill in {{ this }} form."), ("user", "Tell me a joke.")]
    assert shown(loaded()) == {
        "pdf": "Extract text from PDF files.",
        "sheets": "Edit spreadsheets. For <Excel> & co.",
    }
    assert "Do it." not in text


def test_a_check_and_repairs_are_there_unless_the_contract_has_its_own():
    (check,) = loaded().checks
    assert (check.type, check.params) == ("equals", {"field": "skill", "value": "{{ expected }}"})
    assert loaded().repair.steps == ("strip_thoughts", "extract_json")
    own = edited(CONTRACT, "fixtures:", "checks: [{type: contains, value: pdf}]\nfixtures:")
    assert [spec.type for spec in loaded(**{PATH: edited(own, "none", "any")}).checks] == [
        "contains"
    ]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\x85\u2028\u2029"), min_size=1))
def test_any_description_is_shown_as_it_is(text):
    if not text.strip() or any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in text):
        return
    files = {path_of("pdf"): skill(text)}
    if "\ufeff" not in text:
        assert shown(loaded(**files))["pdf"] == text.strip()


def test_skills_that_only_a_person_starts_are_not_shown():
    files = {path_of("deploy"): skill("Deploy.", "disable-model-invocation: true")}
    assert "deploy" not in shown(loaded(**files))
    wanted = edited(CONTRACT, "expected: pdf", "expected: deploy")
    (problem,) = refused(**files, **{PATH: wanted})
    assert "expects the skill `deploy`, which does not exist" in problem


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ({path_of("pdf"): skill("Extract tables.")}, [path_of("pdf")]),
        ({path_of("pdf"): skill("Extract text from PDF files.", "name: pdfs")}, None),
        ({path_of("new"): skill("New.")}, [path_of("new")]),
        ({path_of("sheets"): None}, [path_of("sheets")]),
        ({path_of("pdf"): skill("Extract text from PDF files.", body="Do other things.")}, []),
        ({path_of("pdf"): skill("Extract text from PDF files.", "license: MIT")}, []),
        ({".claude/skills/pdf/reference.md": "Text."}, []),
        ({".agents/skills/other/SKILL.md": skill("Other.")}, []),
    ],
)
def test_what_the_model_is_shown_affects_the_contract_and_nothing_else(head, expected):
    if expected is None:  # the name that a fixture expects is gone
        with pytest.raises(ContractError, match="expects the skill `pdf`"):
            causes(head)
    else:
        assert causes(head) == expected


def test_a_changed_text_of_a_skill_is_no_tested_prompt():
    policy = Policy(prompts=(".claude/skills/**",))
    path = path_of("pdf")
    described = between({path: skill("Extract tables.")}, policy)
    assert described.uncovered == ()
    for head in (skill("Extract text from PDF files.", body="X"), skill("Other.", body="X")):
        assert between({path: head}, policy).uncovered == (path,)


@pytest.mark.parametrize(
    "pattern",
    ["/.claude/skills/p*/SKILL.md", "/.claude/old/*/SKILL.md", "/.claude/skills/pdf/SKILL.md"],
)
def test_a_skill_that_the_contract_no_longer_shows_but_still_exists_is_left(pattern):
    copies = {".claude/old/pdf/SKILL.md": FILES[path_of("pdf")]}
    contract = edited(CONTRACT, "/.claude/skills/*/SKILL.md", pattern)
    (found,) = between({PATH: contract, **copies}).contracts
    assert found.left_prompt is not None
    assert found.left_prompt.startswith(".claude/skills/")


def test_a_new_skill_cannot_be_kept_out_of_the_contract():
    listed = f"[{path_of('pdf')}, {path_of('sheets')}]".replace(".claude", "/.claude")
    contract = edited(CONTRACT, "/.claude/skills/*/SKILL.md", listed)
    (found,) = between({PATH: contract, path_of("thief"): skill("Any request.")}).contracts
    assert found.left_prompt == path_of("thief")
    assert between({PATH: contract}).contracts == ()  # it shows the same skills


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {PATH: edited(CONTRACT, "/.claude", "./.claude")},
            "3:9: skills: no file matches `/contracts/.claude/skills/*/SKILL.md`; write "
            "`/.claude/skills/*/SKILL.md`; a leading / means the root",
        ),
        (
            {PATH: edited(CONTRACT, "/.claude", "/claude")},
            "3:9: skills: no file matches `/claude/skills/*/SKILL.md`; write a pattern such as "
            "`/.claude/skills/*/SKILL.md`",
        ),
        (
            {PATH: edited(CONTRACT, "/.claude/skills/*", "../../*")},
            "outside the repository",
        ),
        (
            {PATH: edited(CONTRACT, "model:", "prompt: a.md\nmodel:")},
            "4:1: prompt: a contract with `skills` cannot have `prompt`; remove `prompt`",
        ),
        (
            {PATH: edited(CONTRACT, "expected: pdf", "expected: pd")},
            "6:5: expected: the fixture `form` expects the skill `pd`, which does not exist; did "
            "you mean `pdf`?",
        ),
        ({path_of("pdf"): "# No front matter\n"}, "the skill has no `description`"),
        ({path_of("pdf"): skill(" ")}, "pdf/SKILL.md:2:14: description: `description` is not"),
        ({path_of("pdf"): "---\ndescription: Use it: now\n---\n"}, "pdf/SKILL.md:2:20: not YAML"),
        ({path_of("pdf"): skill("x" * 10_001)}, "a text of at most 10,000 characters"),
        (
            {path_of("other"): skill("Same.", "name: pdf")},
            f"the name `pdf` is also the one of `{path_of('other')}`",
        ),
        ({path_of("none"): skill("None.")}, "also the one that means that no skill fits"),
        ({PATH: edited(CONTRACT, "/.claude/skills/*/SKILL.md", "[]")}, "skills: "),
        ({PATH: edited(CONTRACT, "/.claude/skills/*/SKILL.md", "{a: 1}")}, "skills: "),
    ],
)
def test_mistakes_name_the_place_and_the_way_to_mend_them(files, expected):
    assert any(expected in problem for problem in refused(**files)), refused(**files)


def test_a_mistake_in_a_skill_is_found_when_the_skill_changes():
    with pytest.raises(ContractError, match="no `description`"):
        between({path_of("new"): "# Nothing\n"})


def test_thousands_of_skills_are_too_many():
    many = {path_of(f"s{n}"): skill("x") for n in range(1_001)}
    (problem,) = refused(**many)
    assert "1,003 files match, but the limit is 1,000" in problem
