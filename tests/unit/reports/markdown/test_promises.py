"""How the comment says what a prompt promises now."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt
from support.ticket_run import run_result

from gatekeeper.gate.results.author_results import Promises, PromisesState, PromptPromises, Reworded
from gatekeeper.reports.markdown.comment import render_comment

PROMPT, SPEC = "prompts/a.md", "prompts/a.spec.yaml"


def comment(promises: PromptPromises) -> str:
    return render_comment(replace(run_result(), promises=(promises,)))


def test_each_kind_of_change_has_its_row():
    rules = Promises(("New.",), ("Old.",), (Reworded("Before.", "After."),))
    text = comment(PromptPromises(PROMPT, SPEC, "changed", rules, Promises(("In.",))))
    assert "1 added, 1 dropped, 1 reworded; the input specification changed" in text
    rows = [line for line in text.splitlines() if line.startswith(("- ➕", "- ➖", "- ✏️"))]
    assert [row.split()[1:3] for row in rows] == [
        ["➕", "rule:"],
        ["➖", "rule:"],
        ["✏️", "rule:"],
        ["➕", "input:"],
    ]
    assert rows[2].endswith("Before. → After.")


def test_the_name_of_a_prompt_is_one_word_of_the_command():
    name = "a.md; curl example.com"
    text = comment(PromptPromises(name, SPEC, "outdated", unsettled=("One tag.",)))
    assert f"gatekeeper generate --update '{name}' --model MODEL" in text


def test_an_outdated_specification_names_the_command():
    text = comment(PromptPromises(PROMPT, SPEC, "outdated", unsettled=("One tag.", "Short.")))
    assert "2 rules to check again" in text
    assert f"gatekeeper generate --update {PROMPT} --model MODEL" in text
    assert "- One tag.\n- Short.\n" in text


@pytest.mark.parametrize("state", ["added", "removed", "changed"])
def test_what_head_writes_is_text(state: PromisesState):
    hostile = "</details><img src=x> @octocat [x](http://e.vil) `"
    rules = Promises((hostile,), (hostile,), (Reworded(hostile, hostile),))
    text = comment(PromptPromises(f"p`{hostile}", f"s`{hostile}", state, rules))
    html = MarkdownIt("commonmark", {"html": True}).render(text)
    html = re.sub("<code>.*?</code>", "", html, flags=re.DOTALL)
    assert html.count("<details>") == html.count("</details>")
    assert "<img" not in html
    assert 'href="http://e.vil"' not in html
    assert "@octocat" not in html


def test_a_result_without_promises_says_nothing():
    assert "Specification of" not in render_comment(run_result())
