"""What a change writes itself, and what of it has no effect, is told in the comment."""

from __future__ import annotations

import pytest
from support.edited_text import edited
from support.proposals import CONTRACT, NO_SLO, OTHER, PROMPT_FILE, Proposal, all_say, some_say
from support.pull_request import FILES, PROMPT, answer
from support.recorded_repository import PROMPT as WORDS
from support.recorded_repository import RECORDING, recording


def told(answered, *words: str) -> list[str]:
    """The notices with all of the words, which the comment has as well."""
    found = [text for text in answered.result["notices"] if all(word in text for word in words)]
    shown = " ".join(answered.text.split())
    assert all(word in shown for _ in found for word in words)
    return found


FORGED = recording(all_say("ok") | all_say("ok", WORDS))


@pytest.mark.parametrize(
    ("head", "path"),
    [
        ({PROMPT_FILE: OTHER, RECORDING: FORGED}, RECORDING),
        # a recording of another name, next to the base's own
        (
            {
                PROMPT_FILE: OTHER,
                "contracts/new.jsonl": FORGED,
                CONTRACT: NO_SLO.replace(RECORDING, "contracts/new.jsonl"),
            },
            "contracts/new.jsonl",
        ),
    ],
    ids=["changed", "added"],
)
def test_answers_that_the_change_writes_are_named(run_gate, head, path):
    answered = Proposal("forged", "", head, recorded=all_say("ok", WORDS)).run_check(run_gate)
    (notice,) = told(answered, path, "that this change adds")
    assert any(f"{count} answers" in notice for count in (40, 80))


def test_answers_of_base_that_are_written_anew_do_not_count(run_gate):
    """Base's answer stands, and is no answer that nobody measured."""
    proposal = Proposal("forged", "", {PROMPT_FILE: OTHER, RECORDING: FORGED})
    answered = proposal.run_check(run_gate)
    assert answered.verdict == "fail"
    assert told(answered, "that this change adds") == []


def test_a_recording_that_does_not_change_is_not_named(run_gate):
    proposal = Proposal("same", "", {PROMPT_FILE: OTHER}, recorded=some_say("no", 0))
    answered = proposal.run_check(run_gate)
    assert answered.exit_code == 0
    assert told(answered, "that this change adds") == []


def test_a_setting_that_the_contract_overrides_is_named(run_gate):
    base = {**FILES, PROMPT: f"---\nmodel: openai/a\n---\n{FILES[PROMPT]}"}
    head = {PROMPT: edited(base[PROMPT], "openai/a", "openai/b")}
    answered = run_gate(base, head, answer=answer)
    assert (answered.exit_code, answered.requests) == (0, ())
    (notice,) = told(answered, "no effect")
    assert PROMPT in notice
