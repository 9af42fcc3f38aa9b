"""What `init` proposes for a repository: which files become contracts, and which patterns."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from rich.console import Console
from support.two_contracts import revision

from gatekeeper.author.onboarding.proposal import (
    Proposal,
    ProposalRow,
    contract_patterns,
    describe_proposal,
    policy_lines,
    prompt_patterns,
    propose,
)
from gatekeeper.author.onboarding.skeleton import contract_folder
from gatekeeper.contract.files.inventory import InventoryPrompt
from gatekeeper.reports.terminal.console import print_blocks

CONTRACT = """\
contract: 1
name: {name}
prompt: ../prompts/a.md
model: openai/gpt-4o-mini
fixtures: [{{id: one, vars: {{x: 1}}}}]
checks: [{{type: contains, value: ok}}]
"""
SUITE = {
    "prompts": ["Say {{q}}"],
    "providers": ["anthropic:messages:claude-3-5-haiku-latest"],
    "tests": [
        {"vars": {"q": "a"}, "assert": [{"type": "equals", "value": "a"}]},
        {"vars": {"q": "b"}, "assert": [{"type": "javascript", "value": "1"}]},
    ],
}


def found(prompt: str) -> InventoryPrompt:
    return InventoryPrompt(prompt, prompt, "template", 1, watched=False)


@pytest.mark.parametrize(
    ("suites", "native", "expected"),
    [
        (["a/x.prompt.yml", "b/y.Prompt.YML"], False, ("**/*.prompt.yml",)),
        (["a/promptfooconfig.json"], False, ("**/promptfooconfig.json",)),
        (["a/b[1].yaml"], False, ("a/b[[]1].yaml",)),
        ([], True, ("contracts/**/*.yaml", "contracts/**/*.yml")),
    ],
)
def test_patterns_of_contracts(suites: list[str], native: bool, expected: tuple[str, ...]) -> None:
    assert contract_patterns(suites, native=native) == expected


@pytest.mark.parametrize(
    ("patterns", "folder"),
    [
        (["**/*.yaml", "gates/**/*.yaml"], "gates"),
        (["/team/gates/*.yaml"], "team/gates"),
        (["gates/*.json"], "contracts"),
        ([], "contracts"),
    ],
)
def test_the_folder_of_new_contracts(patterns: list[str], folder: str) -> None:
    assert contract_folder(patterns) == folder


def test_patterns_of_prompts() -> None:
    few = ["app/prompts/deep/a.md", "x/a.prompty", "src/say.txt", "src/what?.txt"]
    assert prompt_patterns([found(path) for path in few]) == (
        "app/prompts/**",
        "**/*.prompty",
        "src/say.txt",
        "src/what[?].txt",
    )
    many = [f"src/{n}.ts" for n in range(30)]
    assert prompt_patterns([found(path) for path in many]) == tuple(many)
    assert prompt_patterns([]) == ("prompts/**",)
    github = [found(".github/prompts/a.prompt.yml"), found("prompts/b.prompt.yml")]
    assert prompt_patterns(github) == ("**/*.prompt.yml", "prompts/**")


def test_the_policy_lists_the_code_of_a_suite() -> None:
    check = {"type": "python", "value": "file://checks.py:good"}
    suite = {**SUITE, "tests": [{"vars": {"q": "a"}, "assert": [check]}]}
    code = "def good(output, context):\n    return True\n"
    files = {"evals/promptfooconfig.json": json.dumps(suite), "evals/checks.py": code}
    made = propose(revision(files))
    assert made.code == ("evals/checks.py",)
    assert policy_lines(made)["checks"].endswith('\nchecks: {python: ["evals/checks.py"]}')
    assert "checks" not in policy_lines(propose(revision({"prompts/a.md": "Say {{ a }}."})))


def test_a_prompt_gets_a_contract_and_a_suite_runs_as_it_is() -> None:
    made = propose(
        revision(
            {
                "prompts/a.md": "Classify {{ text }} as one of: good, bad.",
                "evals/promptfooconfig.json": json.dumps(SUITE),
            }
        )
    )
    rows = {row.found: row for row in made.rows}
    assert rows["evals/promptfooconfig.json"].contract == "evals/promptfooconfig.json"
    assert "1 fixture;" in rows["evals/promptfooconfig.json"].note
    assert "2 parts not run" in rows["evals/promptfooconfig.json"].note
    (skeleton,) = made.skeletons
    assert rows["prompts/a.md"].contract == skeleton.path
    assert made.contracts == (
        "contracts/**/*.yaml",
        "contracts/**/*.yml",
        "**/promptfooconfig.json",
    )
    assert made.providers == ("anthropic",)
    assert made.runs
    lines = policy_lines(made)
    assert lines["prompts"] == 'prompts: ["prompts/**", "evals/promptfooconfig.json"]'
    assert lines["models"] == 'models: ["anthropic/*"]'


def test_what_cannot_be_covered_has_a_row_that_says_so() -> None:
    broken = SUITE | {"tests": [{"assert": [{"type": "equalz", "value": "a"}]}]}
    named = CONTRACT.format(name="one")
    made = propose(
        revision(
            {
                "prompts/a.md": "Say {{ x }}",
                "contracts/a.yaml": named,
                "old/b.yaml": named,
                "evals/promptfooconfig.json": json.dumps(broken),
            }
        )
    )
    assert made.has_contracts
    assert made.skeletons == ()
    rows = {row.found: row for row in made.rows}
    assert rows["evals/promptfooconfig.json"].contract is None
    assert rows["old/b.yaml"].contract is None
    assert "one" in rows["old/b.yaml"].note


PROMPT = """\
model: {model}
messages:
  - {{role: user, content: "Say {{{{input}}}}"}}
testData: [{{input: a}}]
"""


@pytest.mark.parametrize("evaluators", ["", "evaluators: [{name: a, string: {equals: a}}]\n"])
@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("acme/llama-3.3-70b-instruct", "there is no provider `acme`"),
        ("Phi-4", "`Phi-4` cannot be called"),
        ("recorded/answers.jsonl", "the recording `answers.jsonl` does not exist"),
    ],
)
def test_a_model_that_cannot_be_called_gets_no_contract(
    model: str, why: str, evaluators: str
) -> None:
    text = PROMPT.format(model=model) + evaluators
    made = propose(revision({"prompts/a.prompt.yml": text}))
    assert made.skeletons == ()
    assert made.providers == ()
    [row] = made.rows
    assert row.contract is None
    assert why in row.note


def test_a_file_in_the_place_of_the_contract_is_not_replaced() -> None:
    first = propose(revision({"prompts/a.md": "Say {{ x }}"}))
    path = first.skeletons[0].path
    made = propose(revision({"prompts/a.md": "Say {{ x }}", path: "- 1\n"}))
    assert made.skeletons == ()
    assert path in {row.note.partition(" ")[0] for row in made.rows}


def test_two_prompty_files_of_one_name_get_one_row_each() -> None:
    model = "model: {id: gpt-4o-mini, provider: openai}"
    prompty = f"---\nname: Shop\n{model}\nsample: {{q: Which?}}\n---\nuser:\n"
    files = {
        "a/one.prompty": f"{prompty}Answer: {{{{q}}}}",
        "b/two.prompty": f"{prompty}Say: {{{{q}}}}",
    }
    rows = propose(revision(files)).rows
    assert [(row.found, row.contract) for row in rows] == [
        ("a/one.prompty", "a/one.prompty"),
        ("b/two.prompty", "contracts/two.yaml"),
    ]


def test_what_gets_no_contract_is_shown_with_its_reason_in_a_long_table() -> None:
    rows = [ProposalRow(f"p/{n}.md", "text", f"contracts/{n}.yaml", "checks") for n in range(50)]
    rows.append(ProposalRow("app.py:ask.prompt", "Python", None, "inside a function"))
    console = Console(width=200, record=True, file=StringIO())
    print_blocks(describe_proposal(Proposal(tuple(rows))), console)
    text = console.export_text()
    assert "app.py:ask.prompt" in text
    assert "inside a function" in text
    assert "and 11 more rows with a contract" in text


def test_parts_of_a_file_that_get_no_contract_for_one_cause_share_a_row() -> None:
    notes = ("the prompt is inside the function `{}`; move it out of `{}`", "`{}` is odd; mend it")
    rows = [
        ProposalRow(f"{file}.py:{name}", "Python", None, note.format(name, name))
        for file in "ab"
        for note in notes
        for name in ("one", "two", "three")
    ]
    rows.append(ProposalRow("a.py:four", "Python", "contracts/four.yaml", notes[1]))
    rows.append(ProposalRow("a.py:five", "Python", "contracts/five.yaml", notes[1]))
    console = Console(width=200, record=True, file=StringIO())
    print_blocks(describe_proposal(Proposal(tuple(rows))), console)
    text = console.export_text()
    assert text.count("one and 2 more") == 4
    assert "inside the function `one`" in text
    assert "two" not in text
    assert "a.py:four " in text
    assert "a.py:five " in text
