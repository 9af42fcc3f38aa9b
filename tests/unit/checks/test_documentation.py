"""The page of the checks is what the generator writes, and its examples do what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt
from support.check_examples import (
    FIXTURE,
    all_examples,
    answered,
    answered_text,
    judged,
    prepare_example,
    prepared,
)

import gatekeeper.checks
from gatekeeper.checks.check import Example
from gatekeeper.checks.registry import CHECKS
from gatekeeper.checks.repairs.steps import NAMES
from scripts.publish_checks import GROUPS, NO_CHECK, OTHER_TOOLS, PAGE, ours, page, remark

GUIDE = (PAGE.parent / "architecture.md").read_text("utf-8").split("\n## Add a check\n")[1]
TEXT = PAGE.read_text("utf-8")

# BaseAssertionTypesSchema and the special types of promptfoo's src/types/index.ts, November 2026.
PROMPTFOO = """
agent-rubric answer-relevance assert-set bleu classifier contains contains-all contains-any
contains-html contains-json contains-sql contains-xml context-faithfulness context-recall
context-relevance conversation-relevance cost equals factuality finish-reason g-eval gleu guardrails
human icontains icontains-all icontains-any is-html is-json is-refusal is-sql is-valid-function-call
is-valid-openai-function-call is-valid-openai-tools-call is-xml javascript latency levenshtein
llm-rubric max-score meteor model-graded-closedqa model-graded-factuality moderation perplexity
perplexity-score pi python regex rouge-n ruby search-rubric select-best similar similar:cosine
similar:dot similar:euclidean skill-used starts-with tool-call-f1 trace-error-spans trace-span-count
trace-span-duration trajectory:goal-success trajectory:step-count trajectory:tool-args-match
trajectory:tool-sequence trajectory:tool-used webhook word-count
"""


def blocks(markdown: str, language: str) -> Iterator[str]:
    for token in MarkdownIt().parse(markdown):
        if token.type == "fence" and token.info == language:
            yield token.content


def sections(markdown: str) -> Mapping[str, str]:
    parts = re.split(r"^##+ (.+)$", markdown, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_page_is_what_the_generator_writes():
    assert page(TEXT) == TEXT, "run `make docs`"


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_documents_itself(name):
    check = CHECKS[name]
    assert check.prose.split("\n\n")[0].endswith(".")
    assert check.examples
    assert check.group in GROUPS
    file = Path(check.prepare.__code__.co_filename)  # type: ignore[attr-defined]
    assert check.group == file.relative_to(Path(gatekeeper.checks.__file__).parent).parts[0]
    assert all("description" in schema for schema in check.parameters["properties"].values())


@pytest.mark.parametrize(("name", "at"), all_examples())
def test_every_example_passes_and_fails_as_it_says(name, at):
    example = CHECKS[name].examples[at]
    evaluator = prepared(name, at)
    said = example.judge_says or ("", "")
    samples = [answered(example, answer) for answer in (example.passes, example.fails)]
    assert bool(evaluator.questions(samples[0])) is (example.judge_says is not None)
    (passing,), (failing,) = (
        evaluator.evaluate(judged(evaluator, sample, says))
        for sample, says in zip(samples, said, strict=True)
    )
    assert (passing.passed, passing.message) == (True, "")
    assert failing.passed is False
    assert 0 < len(failing.message) < 600
    assert "\n" not in failing.message
    if CHECKS[name].scores:
        assert passing.score is not None
        assert failing.score is not None


def test_the_page_shows_the_first_example_of_each_check_as_yaml():
    found = sections(TEXT)
    for name, check in CHECKS.items():
        (block,) = blocks(found[name], "yaml")
        assert yaml.safe_load(block) == [yaml.safe_load(check.examples[0].written)]


def test_each_parameter_of_a_check_is_on_the_page():
    found = sections(TEXT)
    for name, check in CHECKS.items():
        for parameter in check.parameters["properties"]:
            assert f"`{parameter}`" in found[name], (name, parameter)


def test_the_links_of_the_page_resolve():
    anchors = {title.lower().replace(" ", "-") for title in sections(TEXT)}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= anchors


@pytest.mark.parametrize(
    "row", OTHER_TOOLS, ids=lambda row: row.get("promptfoo", row.get("deepeval"))
)
def test_what_other_tools_have_is_here_or_has_a_reason(row):
    """A row that names checks which are missing is right only if it says what to do without."""
    assert row.keys() <= {"promptfoo", "deepeval", "checks", "judge", "note", "otherwise"}
    missing = [name for name in row.get("checks", ()) if name not in CHECKS]
    assert not missing or "otherwise" in row
    assert (ours(row) == NO_CHECK) == (bool(row.get("otherwise")) and remark(row) != "")


def test_every_assertion_type_of_promptfoo_is_named_once():
    named = [row["promptfoo"] for row in OTHER_TOOLS if "promptfoo" in row]
    assert sorted(name for name in named if "`" not in name) == sorted(PROMPTFOO.split())


def test_the_first_example_of_the_page_works():
    for check in yaml.safe_load(next(blocks(TEXT, "yaml")))["checks"]:
        prepare_example(Example(yaml.safe_dump({**check, "severity": "error"}), "", ""))


def test_every_repair_is_described():
    section = sections(TEXT)["Repairs"]
    assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == list(NAMES)
    steps = yaml.safe_load(next(blocks(section, "yaml")))["repair"]["steps"]
    assert set(steps) <= set(NAMES)


def test_the_guide_to_adding_a_check_works():
    module, line = blocks(GUIDE, "python")
    code: dict[str, Any] = {}
    exec(compile(module, "begins_with.py", "exec"), code)  # noqa: S102 - the guide is ours
    assert line.strip() == '"begins_with": "text.begins_with",'

    (example,) = code["CHECK"].examples
    evaluator = prepare_example(example, {**CHECKS, "begins_with": code["CHECK"]})
    for answer, passed in ((example.passes, True), (example.fails, False)):
        assert evaluator.evaluate(answered(example, answer))[0].passed is passed
    (failed,) = evaluator.evaluate(answered_text(example, "Hello"))
    assert failed.message == 'expected to begin with "Dear Ann"; got "Hello"'
    assert FIXTURE in evaluator.checks
