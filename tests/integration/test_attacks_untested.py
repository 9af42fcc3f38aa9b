"""A prompt that knows its fixtures: every request stays as it was, and everything else changes."""

from __future__ import annotations

import pytest
from support.proposals import CONTRACT, FIXTURES, MANY, NO_SLO, OTHER, PROMPT_FILE, Proposal
from support.recorded_repository import PROMPT, csv

KNOWN = "{% if word.startswith('word') %}" + PROMPT.rstrip("\n") + "{% else %}Lie.{% endif %}\n"
LISTED = f"{{% if word in {list(MANY)} %}}" + PROMPT.rstrip("\n") + "{% endif %}\n"


@pytest.mark.parametrize(
    ("prompt", "more"),
    [
        pytest.param(LISTED, {}, id="by name"),
        pytest.param(KNOWN, {}, id="by their beginning"),
        pytest.param(KNOWN, {FIXTURES: csv((*MANY, "word99"))}, id="with a new fixture"),
        pytest.param(KNOWN, {CONTRACT: NO_SLO + "description: other\n"}, id="with a description"),
    ],
)
def test_a_prompt_that_knows_its_fixtures_is_no_pass(judged, prompt, more):
    answered = Proposal("known", "", {PROMPT_FILE: prompt, **more}).judge(judged)

    assert answered.verdict != "pass"
    assert "untested" in answered.reasons("inconclusive")


def test_a_comment_in_the_template_passes_without_a_call(judged):
    answered = Proposal("comment", "", {PROMPT_FILE: "{# Why. #}" + PROMPT}).judge(judged)

    assert (answered.exit_code, answered.verdict) == (0, "pass")
    assert answered.result["calls"]["made"] == 0


def test_a_real_change_is_not_called_untested(judged):
    answered = Proposal("real", "", {PROMPT_FILE: OTHER}).judge(judged)

    assert "untested" not in answered.reasons("inconclusive") | answered.reasons("fail")
