"""A prompt is moved and made worse, while its contract turns to an exact copy of the old one."""

from __future__ import annotations

from support.edited_text import edited
from support.proposals import CONTRACT, MANY, NO_SLO, PROMPT_FILE, Proposal, all_say, some_say
from support.recorded_repository import RECORDING, csv, recording, under_name

RULES = "".join(f"Rule {n}: be precise about item {n}.\n" for n in range(12))
LONG = f"{RULES}Say {{{{ word }}}}.\n"
WORSE = f"{RULES}Never say {{{{ word }}}}.\n"
STRICT = """\
require_contract: true
on_inconclusive: fail
new_contracts: {fixtures: 20, success_rate: 0.9}
"""
BASE = Proposal("base", "", {}).base | {
    CONTRACT: NO_SLO,
    PROMPT_FILE: LONG,
    RECORDING: recording(all_say("ok", LONG) | some_say("no", 20, WORSE)),
}
FOLLOWS = {
    CONTRACT: edited(NO_SLO, "words.txt", "copy.txt"),
    PROMPT_FILE: None,
    "prompts/copy.txt": LONG,
}
TINY = {
    "contracts/tiny.yaml": edited(
        under_name(NO_SLO, "tiny", "txt", "csv"), "type: regex, pattern: ok", "type: length, min: 1"
    ),
    "contracts/tiny.csv": csv(MANY),
}


def test_a_new_contract_on_the_moved_prompt_does_not_let_it_pass(run_gate):
    head = {**FOLLOWS, **TINY, "prompts/tiny.txt": WORSE}
    answered = run_gate(BASE, head, policy=STRICT)
    assert answered.exit_code == 1
    assert "replaced" in answered.reasons("inconclusive")
    assert "prompts/tiny.txt" in answered.text


def test_a_moved_prompt_outside_the_prompts_folder_does_not_pass(run_gate):
    answered = run_gate(BASE, {**FOLLOWS, "app/words.txt": WORSE}, policy=STRICT)
    assert answered.exit_code == 1
    assert "replaced" in answered.reasons("inconclusive")
    assert "app/words.txt" in answered.text


def test_a_prompt_that_moves_alone_passes(run_gate):
    answered = run_gate(BASE, FOLLOWS, policy=STRICT)
    assert (answered.exit_code, answered.verdict) == (0, "pass")
