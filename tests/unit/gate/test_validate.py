"""What `validate` finds without a model, and how it is shown."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.foreign_files import GITHUB
from support.revisions import revision

from gatekeeper.contract.models.faults import ModelFault
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.errors import UsageError
from gatekeeper.gate.validate import Validation, repository_path, validate_contracts
from gatekeeper.providers.call_advice import advise_on_calls
from gatekeeper.reports.described.validation import describe_validation
from gatekeeper.reports.terminal.console import log_console, print_blocks

CONTRACT = """\
contract: 1
name: {name}
prompt: ../prompts/words.md
model: openai/gpt-4o-mini
gate: {{margin: 0.9}}
checks: [{checks}]
fixtures:
{rows}"""


def written(name: str, checks: int = 1, more: str = "") -> str:
    specs = ", ".join(f"{{type: contains, name: n{n}, value: v{n}}}" for n in range(checks))
    rows = "".join(f"  - {{id: f{n}, vars: {{word: w{n}}}}}\n" for n in range(9))
    return CONTRACT.format(name=name, checks=specs, rows=rows) + more


def refuse_gone(model: str) -> ModelFault | None:
    return ModelFault("it is gone", "name another", certain=True) if "gone" in model else None


SUITES = Policy(contracts=("contracts/**/*",))


def validate(files: dict[str, str], policy: Policy | None = None) -> Validation:
    rules = policy or Policy()
    return validate_contracts(
        revision(files), rules, find_fault=refuse_gone, advise=advise_on_calls
    )


def validated(**contracts: str) -> Validation:
    """What is found in contracts by the name of their file."""
    files = {f"contracts/{name}.yaml": text for name, text in contracts.items()}
    return validate(files | {"prompts/words.md": "Say {{ word }}."})


def test_each_sound_contract_is_a_row() -> None:
    found = validated(a=written("first"), b=written("second", checks=2))
    assert [(c.path, c.name, c.fixtures, c.checks, c.model) for c in found.contracts] == [
        ("contracts/a.yaml", "first", 9, 1, "openai/gpt-4o-mini"),
        ("contracts/b.yaml", "second", 9, 2, "openai/gpt-4o-mini"),
    ]
    assert found.findings == ()
    assert [prompt.contracts for prompt in found.inventory.prompts] == [
        ("contracts/a.yaml", "contracts/b.yaml")
    ]


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        ("mode: observe\nrepair: {steps: [strip_whitespace]}\n", 18, "`repair` has no effect"),
        ("repair: {steps: [strip_whitespace]}\n", 0, None),
        (
            "repair: {steps: [extract_json], similar: {model: openai/m, min: 0.9}}\n",
            17,
            "`similar` has no effect",
        ),
        ("checks: [{type: tool_call, tool: search}]\n", 17, "offers the model no tools"),
        ("checks: [{type: tool_call, tool: search, not: true}]\n", 0, None),
        ("checks: [{type: tool_call, none: true}]\n", 0, None),
        (
            "checks: [{type: tool_call, order: [a, b]}]\n"
            "params: {tools: [{type: function, function: {name: a}}]}\n",
            0,
            None,
        ),
        ("checks: [{type: json_valid, weight: 2}]\n", 17, "the weight of check"),
        ("checks: [{type: json_valid, weight: 2}]\npass_score: 0.5\n", 0, None),
        ("checks: [{type: mean_of, min: 1, checks: [{type: json_valid, weight: 2}]}]\n", 0, None),
        ("judge: {model: openai/gpt-4o}\n", 17, "no check uses the settings in `judge`"),
        ("checks: [{type: citation}]\n", 17, "accepts every citation"),
        ("checks: [{type: citation, ids: [a]}]\n", 0, None),
        ("mode: enforce\nchecks: [{type: json_valid}]\n", 17, "any JSON"),
        ("mode: enforce\nchecks: [{type: json_required, fields: [a]}]\n", 0, None),
        ("params: {top_k: 4}\n", 17, "`openai/gpt-4o-mini` does not take `top_k`"),
        ("params: {top_p: 0.4}\n", 0, None),
        (
            "model: openai/gpt-5-pro\nparams: {seed: 4}\n",
            18,
            "asked through OpenAI's Responses API",
        ),
        ("model: openai/o3\nparams: {reasoning_effort: low}\n", 0, None),
        ("model: openai/gpt-17-tiny\n", 17, "no price is known for `openai/gpt-17-tiny`"),
        ("checks: [{type: equals, value: '{{ wrod }}'}]\n", 0, None),
    ],
)
def test_what_is_not_meant_is_a_warning(more: str, line: int, said: str | None) -> None:
    replaced = {part.split(":")[0] for part in more.splitlines()} & {"checks", "model"}
    text = written("first")
    rest = text.splitlines(keepends=True)
    rest = ["#\n" if row.split(":")[0] in replaced else row for row in rest]
    found = validated(a="".join(rest) + more)
    warnings = found.of_level("warning")
    if said is None:
        assert [w for w in warnings if "wrod" not in w.problem.what] == []
        return
    (warning,) = warnings
    assert said in warning.problem.what
    assert (warning.problem.path, warning.problem.line) == ("contracts/a.yaml", line)
    assert not found.problems


@pytest.mark.parametrize(
    ("prompt", "check", "unused"),
    [
        ("Say {{ word }}.", "{type: contains, value: x}", {"other"}),
        ("Say {{ word }} {{ other }}.", "{type: contains, value: x}", set()),
        ("Say {{ word }}.", "{type: contains, value: '{{ other }}'}", set()),
        ("Say {{ word }}.", "{type: contains, value: x, when: other == 'b'}", set()),
        ("{% include 'part.md' %}", "{type: contains, value: x}", {"word"}),
    ],
)
def test_a_variable_that_nothing_reads_is_a_warning(
    prompt: str, check: str, unused: set[str]
) -> None:
    contract = edited(
        written("first"),
        "{word: ",
        "{other: b, word: ",
        "{type: contains, name: n0, value: v0}",
        check,
    )
    files = {"contracts/a.yaml": contract, "prompts/words.md": prompt}
    found = validate(files | {"prompts/part.md": "Say {{ other }}."})
    named = [w.problem for w in found.of_level("warning") if "the variable" in w.problem.what]
    assert {problem.what.split("`")[1] for problem in named} == unused
    assert [problem.line for problem in named] == [8] * len(unused)


@pytest.mark.parametrize(
    ("prompt", "style", "place", "fix"),
    [
        ("You speak.\n\nSay $word.", "jinja", ("prompts/words.md", 3), "`{{ word }}`"),
        ("Say ${word}", "jinja", ("prompts/words.md", 1), "`{{ word }}`"),
        ("Say {other}: %(word)s", "fstring", ("prompts/words.md", 1), "`{word}`"),
        ("Say [[word]] {{ other }}", "jinja", ("prompts/words.md", 1), "`{{ word }}`"),
        ("Say << word >>", "jinja", ("prompts/words.md", 1), "`{{ word }}`"),
        ("Say hello.", "jinja", ("contracts/a.yaml", 8), "`{{ other }}`"),
        ("Say [[word]] $words %(word) <<words>>", "jinja", ("prompts/words.md", 1), "`{{ word }}`"),
        ("Say $words {{ other }} $word$", "jinja", None, ""),
        ("Say $word and {{ word }}.", "jinja", None, ""),
    ],
)
def test_a_prompt_in_a_style_that_is_not_filled_in_is_an_error(
    prompt: str, style: str, place: tuple[str, int] | None, fix: str
) -> None:
    contract = written("first", more=f"template: {style}\n")
    contract = edited(contract, "{word: ", "{other: b, word: ", "name: n0, value: v0", "value: x")
    found = validate({"contracts/a.yaml": contract, "prompts/words.md": prompt})
    assert [(p.path, p.line) for p in found.problems] == ([place] if place else [])
    assert all(fix in problem.fix for problem in found.problems)
    assert len(found.contracts) == (0 if place else 1)


@pytest.mark.parametrize(
    ("second", "unused"), [("Greet {{who}} of {{shop}}", {"other"}), ("Greet {{who}}", None)]
)
def test_a_variable_that_another_prompt_of_the_file_reads_is_used(
    second: str, unused: set[str] | None
) -> None:
    suite = {
        "prompts": ["Hello {{who}}", second],
        "providers": ["openai:gpt-4o-mini"],
        "tests": [
            {
                "vars": {"who": "Ann", "shop": "the mill", "other": "x", "expected": "y"},
                "assert": [{"type": "contains", "value": "Ann"}],
            }
        ],
    }
    found = validate({"contracts/promptfooconfig.json": json.dumps(suite)}, SUITES)
    assert len(found.contracts) == 2
    named = [w.problem.what for w in found.of_level("warning") if "the variable" in w.problem.what]
    assert {what.split("`")[1] for what in named} == (unused or {"shop", "other"})


@pytest.mark.parametrize(
    ("given", "unused"),
    [
        ({"text": "greetings from {{ who.sub }}", "who": {"sub": "Bob"}}, None),
        ({"text": "from {{who}}", "who": "Bob"}, None),
        ({"text": "{{ a }}", "a": "{{ b }}", "b": "{{ who }}", "who": "Bob"}, None),
        ({"text": "the first: {{ who[0] }}", "who": [1, 2]}, None),
        ({"text": "greetings from who", "who": "Bob"}, "who"),
    ],
)
@pytest.mark.parametrize("place", ["tests", "default", "file"])
def test_a_variable_in_the_value_of_another_variable_is_used(given, unused, place) -> None:
    check = {"assert": [{"type": "contains", "value": "Bob"}]}
    suite: dict[str, Any] = {
        "prompts": ["Write: {{ text }}"],
        "providers": ["openai:gpt-4o-mini"],
        "tests": [{"vars": given, **check}],
    }
    files: dict[str, str] = {}
    if place == "default":
        suite |= {"defaultTest": {"vars": given}, "tests": [check]}
    elif place == "file":
        suite["tests"] = "file://tests.json"
        files["contracts/tests.json"] = json.dumps([{"vars": given, **check}])
    found = validate({"contracts/promptfooconfig.json": json.dumps(suite), **files}, SUITES)
    assert len(found.contracts) == 1, found.problems
    named = [w.problem.what for w in found.of_level("warning") if "the variable" in w.problem.what]
    assert [what.split("`")[1] for what in named] == ([unused] if unused else [])


def test_weights_of_another_tool_are_no_mistake() -> None:
    suite = {
        "prompts": ["Hello {{who}}"],
        "providers": ["openai:gpt-4o-mini"],
        "defaultTest": {"assert": [{"type": "contains", "value": "o", "weight": 2}]},
        "tests": [{"vars": {"who": "Ann"}}],
    }
    found = validate({"contracts/promptfooconfig.json": json.dumps(suite)}, SUITES)
    assert found.of_level("warning") == ()


def test_the_expected_value_of_a_prompt_file_is_no_unused_variable() -> None:
    text = edited(GITHUB, "{{expected}}", "Paris", "expected: Tokyo", "unread: x")
    found = validate({"contracts/city.prompt.yml": text}, SUITES)
    named = [w.problem.what for w in found.of_level("warning") if "the variable" in w.problem.what]
    assert [what.split("`")[1] for what in named] == ["unread"]


def test_a_name_in_single_braces_is_one_error() -> None:
    files = {"contracts/a.yaml": written("first"), "prompts/words.md": "Say {word}."}
    found = validate(files)
    assert [(p.path, p.line) for p in found.problems] == [("prompts/words.md", 1)]
    assert len(found.findings) == 1


@pytest.mark.parametrize(
    ("code", "said"), [("def f(output):\n  return (", "line 2"), ("x = 1", "`f`")]
)
def test_a_check_in_python_that_cannot_run_is_an_error(code: str, said: str) -> None:
    contract = edited(
        written("first"), "{type: contains, name: n0, value: v0}", "{python: 'own.py:f'}"
    )
    files = {"contracts/a.yaml": contract, "contracts/own.py": code}
    (problem,) = validate(files | {"prompts/words.md": "Say {{ word }}."}).problems
    assert (problem.path, problem.line) == ("contracts/a.yaml", 6)
    assert said in problem.what


def test_few_fixtures_are_a_note_if_a_tolerance_decides() -> None:
    text = written("first")
    lines = edited(text, "{margin: 0.9}", "{tolerance: 1}")
    found = validated(a=lines)
    assert not found.of_level("warning")
    (note,) = found.of_level("note")
    assert "134 fixtures can show" in note.problem.what


def test_a_contract_that_no_pattern_matches_is_a_warning() -> None:
    found = validate(
        {
            "contracts/a.yaml": written("first"),
            "elsewhere/b.yml": written("second"),
            "prompts/words.md": "Say {{ word }}.",
        }
    )
    (warning,) = found.of_level("warning")
    assert (warning.problem.path, warning.contract) == ("elsewhere/b.yml", None)
    assert [suite.path for suite in found.inventory.unused] == ["elsewhere/b.yml"]


@pytest.mark.parametrize("has_policy", [True, False])
def test_a_policy_that_finds_no_contract_is_an_error(has_policy: bool) -> None:
    files = {".github/gatekeeper.yml": "contracts: [gates/*.yaml]\n"} if has_policy else {}
    found = validate({"prompts/words.md": "Say {{ word }}.", **files})
    (said,) = (f for f in found.findings if "no contract matches" in f.problem.what)
    assert said.level == ("error" if has_policy else "warning")
    assert said.problem.path == ".github/gatekeeper.yml"
    assert [prompt.reference for prompt in found.inventory.uncovered] == ["prompts/words.md"]


def test_a_broken_contract_hides_no_other() -> None:
    found = validated(
        a=written("first", more="nonsense: 1\n"),
        b=written("second"),
        c=written("second"),
        d=written("fourth"),
        e=written("fifth", more="rubbish: 1\n"),
        f=edited(written("sixth"), "gpt-4o-mini", "gone"),
        g=written("seventh"),
    )
    assert [contract.name for contract in found.contracts] == ["fourth", "seventh"]
    problems = [str(problem) for problem in found.problems]
    assert [problem.split(":")[0] for problem in problems] == [
        "contracts/a.yaml",
        "contracts/b.yaml",
        "contracts/c.yaml",
        "contracts/e.yaml",
        "contracts/f.yaml",
    ]
    assert "`contracts/c.yaml` also has the name `second`" in problems[1]
    assert "`contracts/b.yaml` already has the name `second`" in problems[2]


def test_the_json_has_everything() -> None:
    found = validated(a=written("first", more="judge: {model: openai/gpt-4o}\n"))
    document = json.loads(json.dumps(found.document()))
    assert document["valid"] is True
    assert [contract["name"] for contract in document["contracts"]] == ["first"]
    (finding,) = document["findings"]
    assert (finding["level"], finding["path"], finding["field"]) == (
        "warning", "contracts/a.yaml", "judge",
    )  # fmt: skip
    assert document["folders"] == [{"folder": "prompts", "prompts": 1, "covered": 1}]
    assert document["prompts"][0]["reference"] == "prompts/words.md"
    assert document["suites"][0]["used"] is True


def test_problems_come_before_the_tables() -> None:
    found = validated(a=written("first", more="judge: {model: openai/gpt-4o}\n"))
    stream = io.StringIO()
    print_blocks(describe_validation(found), log_console(stream))
    lines = [line.split() for line in stream.getvalue().splitlines()]
    assert [line[0] for line in lines] == [
        "warning:", "contract", "first", "folder", "prompts", "✓",
    ]  # fmt: skip


def test_paths_are_told_from_the_repository_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "contracts").mkdir()
    monkeypatch.chdir(tmp_path / "contracts")
    assert repository_path(Path("a.yaml"), tmp_path) == "contracts/a.yaml"
    assert repository_path(tmp_path / "b.yaml", Path("..")) == "b.yaml"


def test_a_path_outside_is_the_authors_mistake(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    with pytest.raises(UsageError, match=r"x\.yaml is not in the repository.*--repo"):
        repository_path(tmp_path / "x.yaml", root)


def test_a_pattern_of_the_policy_that_matches_no_file_is_a_warning_with_its_line() -> None:
    files = {
        "contracts/a.yaml": written("first"),
        "prompts/words.md": "Say {{ word }}.",
        ".github/gatekeeper.yml": (
            "contracts: [contracts/**/*.yaml, contracts/**/*.yml]\n"
            "prompts:\n- promts/**\n- prompts/**\n- prompts/word.md\n- elsewhere/*.txt\n"
        ),
    }
    found = validate(files, Policy())
    assert found.valid
    problems = [f.problem for f in found.of_level("warning")]
    assert [(p.path, p.line, p.field, p.fix) for p in problems] == [
        (".github/gatekeeper.yml", 3, "prompts[0]", "did you mean `prompts/**`?"),
        (".github/gatekeeper.yml", 5, "prompts[2]", "did you mean `prompts/words.md`?"),
        (".github/gatekeeper.yml", 6, "prompts[3]", "correct or remove the pattern"),
    ]


def test_a_single_pattern_that_matches_no_file_has_a_line_too() -> None:
    files = {
        "contracts/a.yaml": written("first"),
        "prompts/words.md": "Say {{ word }}.",
        ".github/gatekeeper.yml": "require_contract: true\ncontracts: contract/*.yaml\n",
    }
    (problem,) = [f.problem for f in validate(files).of_level("warning")]
    assert (problem.line, problem.field) == (2, "contracts")
    assert problem.fix == "did you mean `contracts/*.yaml`?"


PROMPT_YML = """\
name: words
modelParamters: {temperature: 0}
evaluator:
  - {name: short, string: {contains: a}}
testdata: [{input: a}]
messages: [{role: user, content: "Say {{input}}."}]
"""


@pytest.mark.parametrize(
    ("path", "named"),
    [("prompts/words.prompt.yml", False), (".ai/words.prompt.yml", False), ("x.prompt.yml", True)],
)
def test_misspelt_keys_of_a_prompt_file_are_named(path: str, named: bool) -> None:
    contract = edited(written("first"), "word:", "input:")
    contract = edited(contract, "../prompts/words.md", f"/{path}")
    files = {path: PROMPT_YML} | ({"contracts/a.yaml": contract} if named else {})
    found = validate(files, Policy(prompts=("prompts/*", ".ai/*")))
    said = [(f.level, f.problem.path, f.problem.line, f.problem.fix) for f in found.findings]
    assert [each for each in said if each[1] == path] == [
        ("warning", path, 2, "did you mean `modelParameters`?"),
        ("warning", path, 3, "did you mean `evaluators`?"),
        ("warning", path, 5, "did you mean `testData`?"),
    ]
    assert found.valid
    assert len(found.contracts) == named


@pytest.mark.parametrize(
    "text",
    [
        "name: a\ntags: [b]\nparams: {temperature: 0}\nversion: 2\nauthor: c\nmetadata: {}\n",
        "model: openai/gpt-4o-mini\nmodels: [a]\nname: a\nnames: [b]\n",
        "{broken",
        "- a list\n",
        "1: a\n",
    ],
)
def test_other_keys_of_a_prompt_file_are_metadata(text: str) -> None:
    found = validate({"a.prompt.yml": text})
    assert [f for f in found.findings if "did you mean" in f.problem.fix] == []


@pytest.mark.parametrize(("model", "warned"), [("local/smollm2", True), ("openai/gpt-4o", False)])
def test_a_user_that_is_too_small_to_play_one_is_a_warning(model: str, *, warned: bool) -> None:
    more = f"user: {{model: {model}, goal: Return an order.}}\n"
    found = validated(alone=written("alone", more=more))
    assert not found.problems
    warnings = found.of_level("warning")
    said = [finding for finding in warnings if "simulated user" in finding.problem.what]
    assert len(said) == warned


def test_a_judge_that_refuses_a_temperature_is_an_error_with_its_line() -> None:
    judge = "judge: rubric, criteria: polite, model: anthropic/claude-opus-4-8"
    checks = f"checks:\n- {{type: judge, {judge}, params: {{temperature: 0.5}}}}\n"
    text = edited(written("first"), "checks: [{type: contains, name: n0, value: v0}]\n", checks)
    (problem,) = validated(a=text).problems
    assert "`anthropic/claude-opus-4-8` does not take `temperature`" in problem.what
    assert "remove `temperature`" in problem.fix
    assert problem.line == text[: text.index("judge: rubric")].count("\n") + 1
