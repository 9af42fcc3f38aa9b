"""Contracts with `instructions`: one system message as it is, and the task of the user."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import Affected, find_affected
from gatekeeper.contract.fixtures.unused_variables import unused_variables
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.unfilled_names import unfilled_notices
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.weakening.weakening import setting_changes
from gatekeeper.errors import ContractError
from gatekeeper.gate.plan.plan import Job, as_sent, plan_job
from gatekeeper.sampling.trials import plan_trials

CONTRACT = """\
contract: 1
name: agents
instructions: ../AGENTS.md
model: openai/gpt-5-mini
fixtures:
  - {id: one, vars: {task: "Rename {{ x }} to {y}."}}
  - {id: two, vars: {task: Add a test., more: now}}
checks: [{type: contains, value: OK}]
"""
TEXT = "# {for} {{ agents }} {% raw\n{# kept #}\nuser:\nUse tabs {task}.\n"
SKILL = "---\nname: pdf\ndescription: {text}\n---\nRead the file.\n"


def revision(files: dict[str, str]) -> MemoryRevision:
    return MemoryRevision({path: text.encode() for path, text in files.items()})


def loaded(contract: str = CONTRACT, **files: str) -> Contract:
    given = {"contracts/a.yaml": contract, "AGENTS.md": TEXT, **files}
    return load_contract(revision(given), "contracts/a.yaml", SHAPES)


def sent(contract: Contract) -> dict[str, list[tuple[str, str]]]:
    trials = plan_trials(contract, as_sent(contract), None, {}).trials
    return {t.fixture: [(m.role, m.content) for m in t.request.messages] for t in trials}


def between(base: dict[str, str], head: dict[str, str], **renames: str) -> Affected:
    files = {"contracts/a.yaml": CONTRACT, "AGENTS.md": TEXT}
    both = [
        revision({p: t for p, t in {**files, **f}.items() if t is not None}) for f in (base, head)
    ]
    return find_affected(Change(*both, renames), Policy(prompts=("AGENTS.md",)), SHAPES)


def job_of(head: dict[str, str]) -> Job:
    (affected,) = between({}, head).contracts
    return plan_job(affected, Policy(), "seed")


def test_the_file_is_the_system_message_and_the_task_the_users():
    assert sent(loaded()) == {
        "one": [("system", TEXT), ("user", "Rename {{ x }} to {y}.")],
        "two": [("system", TEXT), ("user", "Add a test.")],
    }
    own = edited(CONTRACT, "model:", "task: 'Do it {{ more | default(\"later\") }}.'\nmodel:")
    assert [messages[1] for messages in sent(loaded(own)).values()] == [
        ("user", "Do it later."),
        ("user", "Do it now."),
    ]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1))
def test_any_text_is_sent_as_it_is(text):
    if not text.strip() or text.startswith("\ufeff"):
        return
    contract = loaded(**{"AGENTS.md": text})
    assert sent(contract)["one"][0] == ("system", text)


@pytest.mark.parametrize(
    ("path", "is_cut"),
    [
        ("skills/pdf/SKILL.md", True),
        (".claude/agents/reader.md", True),
        (".github/instructions/tests.instructions.md", True),
        ("agents/reader.agent.md", True),
        (".cursor/rules/go.mdc", True),
        ("AGENTS.md", False),
        ("app/CLAUDE.md", False),
        ("GEMINI.md", False),
        ("prompts/system.md", False),
    ],
)
def test_only_settings_of_agents_are_cut_off(path, is_cut):
    contract = edited(CONTRACT, "../AGENTS.md", f"/{path}")
    text = SKILL.format(text="Reads {{ it }}")
    (system, _), _ = sent(loaded(contract, **{path: text})).values()
    assert system == ("system", "Read the file.\n" if is_cut else text)


def test_the_value_of_a_key_may_be_the_instructions():
    contract = edited(CONTRACT, "../AGENTS.md", "../agents.yaml#writer.backstory")
    files = {"agents.yaml": "writer: {backstory: 'You write {topic} well.'}\n"}
    (system, _), _ = sent(loaded(contract, **files)).values()
    assert system == ("system", "You write {topic} well.")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("model:", "prompt: a.md\nmodel:", "cannot have `prompt`; remove `prompt`"),
        ("model:", "template: jinja\nmodel:", "cannot have `template`"),
        ("model:", "task: '{{ x'\nmodel:", "not a template"),
        ("model: openai/gpt-5-mini\n", "", "sets a model"),
        ("../AGENTS.md", "../gone.md", "there is no file `gone.md`"),
        ("../AGENTS.md", "../app.py:RULES", "cannot be a constant"),
        ("../AGENTS.md", "../m.yaml#m", "cannot be a list of messages"),
        ("instructions: ../AGENTS.md", "prompt: ../AGENTS.md\ntask: x", "`task` belongs to"),
        ("instructions: ../AGENTS.md\n", "", "`prompt` is missing"),
    ],
)
def test_mistakes_are_named(old, new, problem):
    files = {
        "app.py": "RULES = 'Be kind to all people.'\n",
        "m.yaml": "m: [{role: user, content: a}, {role: user, content: b}]\n",
    }
    with pytest.raises(ContractError, match=problem):
        loaded(edited(CONTRACT, old, new), **files)


def test_a_task_without_its_variable_is_a_mistake_of_the_contract():
    with pytest.raises(ContractError) as raised:
        sent(loaded(edited(CONTRACT, "vars: {task: Add", "vars: {tusk: Add")))
    (problem,) = raised.value.problems
    assert (problem.path, problem.line) == ("contracts/a.yaml", 3)
    assert "`task` is undefined (with fixture 'two')" in problem.what


def test_names_in_the_instructions_are_text_and_those_of_the_task_are_not():
    assert not unfilled_notices([loaded()])
    braces = edited(CONTRACT, "model:", "task: 'Do {more} {{ task }}'\nmodel:")
    (notice,) = unfilled_notices([loaded(braces)])
    assert notice.startswith("contracts/a.yaml:4: the model gets `{more}` unchanged")
    nothing = edited(CONTRACT, "model:", "task: Go.\nmodel:")
    found = [unused.problem.what for unused in unused_variables(loaded(nothing))]
    assert found == [
        "`task` uses no variable of the fixtures (`task`, `more`), so all requests are the same"
    ]


def test_a_change_of_the_file_affects_the_contract_as_that_of_a_prompt_does():
    (changed,) = between({}, {"AGENTS.md": f"{TEXT}Never ask.\n"}).contracts
    assert [cause.path for cause in changed.affected_by] == ["AGENTS.md"]
    assert between({}, {"README.md": "x"}).contracts == ()
    with pytest.raises(ContractError, match=r"there is no file `AGENTS\.md`"):
        between({}, {"AGENTS.md": None})
    away = {"AGENTS.md": None, "CLAUDE.md": f"{TEXT}!"}
    moved = {**away, "contracts/a.yaml": edited(CONTRACT, "AGENTS", "CLAUDE")}
    (renamed,) = between({}, moved, **{"AGENTS.md": "CLAUDE.md"}).contracts
    assert renamed.base is not None
    assert renamed.left_prompt is None
    copied = {**moved, "AGENTS.md": f"{TEXT}Be rude.\n"}
    (left,) = between({}, copied).contracts
    assert left.left_prompt == "AGENTS.md"
    (removed,) = between({}, {"contracts/a.yaml": None}).contracts
    assert (removed.head, removed.prompt_still_there) == (None, True)


def test_a_pull_request_cannot_hide_a_change_behind_an_easier_task():
    easier = edited(CONTRACT, "model:", "task: Say OK.\nmodel:")
    head = {"AGENTS.md": "Never say OK.\n", "contracts/a.yaml": easier}
    job = job_of(head)
    (hidden,) = [e for e in job.evaluations if e.contract_from == "base_settings"]
    tasks = {t.request.messages[1].content for t in hidden.trials if t.arm == "head"}
    assert tasks == {"Rename {{ x }} to {y}.", "Add a test."}
    assert {t.request.messages[0].content for t in hidden.trials if t.arm == "head"} == {
        "Never say OK.\n"
    }
    assert any("task changed" in notice for notice in job.notices)


@pytest.mark.parametrize("back", [False, True])
def test_a_file_that_was_a_prompt_is_also_tested_as_one(back):
    text = "Use {{ task }}.\n"
    now = CONTRACT
    before = edited(CONTRACT, "instructions:", "prompt:")
    if back:
        before, now = now, before
    (affected,) = between(
        {"contracts/a.yaml": before, "AGENTS.md": text},
        {"contracts/a.yaml": now, "AGENTS.md": f"{text}!"},
    ).contracts
    job = plan_job(affected, Policy(), "seed")
    roles = {
        e.contract_from: {
            tuple(m.role for m in t.request.messages) for t in e.trials if t.arm == "head"
        }
        for e in job.evaluations
    }
    as_prompt, as_instructions = {("user",)}, {("system", "user")}
    assert roles["head"] == (as_prompt if back else as_instructions)
    assert (as_instructions if back else as_prompt) in roles.values()
    assert setting_changes(affected.base, affected.head)


def test_a_changed_description_of_a_skill_is_named_as_not_tested():
    contract = edited(CONTRACT, "../AGENTS.md", "/SKILL.md")
    both = [
        {"contracts/a.yaml": contract, "SKILL.md": SKILL.format(text=text)} for text in ("a", "b")
    ]
    found = between(*both)
    assert found.contracts == ()
    assert any("front matter of SKILL.md changed" in notice for notice in found.notices)


def test_front_matter_that_hides_a_sentence_is_tested_as_text_too():
    contract = edited(CONTRACT, "../AGENTS.md", "/SKILL.md")
    plain = {"contracts/a.yaml": contract, "SKILL.md": "Read the file.\nNever delete.\n"}
    hidden = {**plain, "SKILL.md": "---\nname: Never delete.\n---\nRead the file.\n"}
    (affected,) = between(plain, hidden).contracts
    evaluations = plan_job(affected, Policy(), "seed").evaluations
    texts = {
        t.request.messages[0].content for e in evaluations for t in e.trials if t.arm == "head"
    }
    assert texts == {"Read the file.\n", hidden["SKILL.md"]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("See @docs/style.md.\n", ["AGENTS.md:1: the model gets `@docs/style.md` as text"]),
        ("# A\n\n@AGENTS.md\n@other.md\n", ["AGENTS.md:3: the model gets `@AGENTS.md` as text"]),
        ("- read @~/.claude/mine.md", ["AGENTS.md:1: the model gets `@~/.claude/mine.md`"]),
        ("Write `@docs/style.md`, ask me@a.md, use @types/node and @param x.\n", []),
    ],
)
def test_a_file_that_an_agent_would_insert_is_named(text, told):
    found = unfilled_notices([loaded(**{"AGENTS.md": text})])
    assert [notice.partition(";")[0] for notice in found if "as text" in notice] == [
        *(line if line.endswith("text") else f"{line} as text" for line in told)
    ]
