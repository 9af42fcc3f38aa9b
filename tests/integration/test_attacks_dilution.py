"""Changes that say nothing must not make a contract less sure of what it finds."""

from __future__ import annotations

import json

import pytest
from support.proposals import (
    CONTRACT,
    FIXTURES,
    MANY,
    NO_SLO,
    OTHER,
    PROMPT_FILE,
    Proposal,
    some_say,
)
from support.pull_request import FILES, PROMPT, answer
from support.recorded_repository import csv, under_name

FEW = MANY[:8]
SURE = NO_SLO + "sampling: {mode: fixed}\n"
OTHERS = tuple(f"other{number}" for number in range(30))


def base() -> dict[str, object]:
    """A contract whose eight fixtures break with p = 0.0039, and thirty that nothing happens to."""
    made = dict(Proposal("few", "", {}, contract=SURE, recorded=some_say("no", 40)).base)
    made[FIXTURES] = csv(FEW)
    for name in OTHERS:
        made[f"contracts/{name}.yaml"] = under_name(SURE, name, "txt")
        made[f"prompts/{name}.txt"] = made[PROMPT_FILE]
    return made


@pytest.mark.parametrize("ending", ["\n", "{# #}", "{% if word == 'never' %}No{% endif %}"])
def test_touching_other_prompts_does_not_hide_a_regression(run_gate, ending):
    before = base()
    touched = {
        f"prompts/{name}.txt": str(before[PROMPT_FILE]).rstrip("\n") + ending for name in OTHERS
    }
    answered = run_gate(before, {PROMPT_FILE: OTHER, **touched})
    assert answered.exit_code == 1
    assert answered.reasons() == {"regression"}
    contract = next(c for c in answered.result["contracts"] if c["name"] == "words")
    assert contract["paired"]["family"] == 1
    assert contract["paired"]["p_value"] == pytest.approx(2**-8)


def test_other_contracts_that_change_as_well_do_not_hide_it_either(run_gate):
    """A fixture that is added shows the change: only head's own contracts then compare."""
    before = base()
    touched = {}
    for name in OTHERS[:12]:
        text = str(before[PROMPT_FILE]).rstrip("\n")
        touched[f"prompts/{name}.txt"] = text + "{% if word == 'new' %}!{% endif %}"
        more = before[f"contracts/{name}.yaml"].replace(
            "checks:", "  - {id: new, vars: {word: new}}\nchecks:"
        )
        touched[f"contracts/{name}.yaml"] = more
    answered = run_gate(before, {PROMPT_FILE: OTHER, **touched})
    words = next(c for c in answered.result["contracts"] if c["name"] == "words")
    assert words["verdict"] == "fail"
    assert words["paired"]["family"] == 1


def test_a_comment_in_a_prompt_calls_no_model(run_gate):
    before = FILES[PROMPT]
    answered = run_gate(FILES, {PROMPT: f"{before.rstrip()}{{# clearer now #}}\n"}, answer=answer)
    assert (answered.exit_code, answered.verdict) == (0, "pass")
    assert answered.requests == ()
    assert answered.result["contracts"] == []
    assert "sentiment" in json.dumps(answered.result["notices"])


def test_a_fixture_that_is_removed_hides_no_request_that_changed(run_gate):
    """Head's fixtures are sent what they were sent; base's are not."""
    hidden = "Say {% if word in 'word0 word1 word2 word3 word4 word5 word6' %}no{% else %}"
    hidden += "{{ word }}{% endif %}.\n"
    said = dict(some_say("ok", 0)) | {"Say no.": "no"}
    proposal = Proposal(
        "hidden", "", {FIXTURES: csv(MANY[7:]), PROMPT_FILE: hidden}, contract=SURE, recorded=said
    )
    answered = proposal.run_check(run_gate)
    assert answered.exit_code == 1
    assert "regression" in answered.reasons()


# Pull requests that change fixtures and checks alone

BLOCKS = "on_inconclusive: fail\n"
IN_DOUBT = NO_SLO + "slo: {success_rate: 0.9}\n"
SOME = some_say("no", 1, "Say {{ word }}.")


def fixtures_only(contract: str, head: dict[str, str], recorded: object = SOME) -> Proposal:
    before = {FIXTURES: csv(MANY[:6])}
    return Proposal("fixtures", "", head, contract=contract, recorded=recorded, before=before)


@pytest.mark.parametrize("contract", [NO_SLO, IN_DOUBT], ids=["no objective", "in doubt"])
@pytest.mark.parametrize(
    "head",
    [
        {FIXTURES: csv(MANY[:7])},
        {PROMPT_FILE: "Say {{ word }}.{# clear #}\n", FIXTURES: csv(MANY[:7])},
    ],
    ids=["a fixture more", "a comment as well"],
)
def test_a_change_of_fixtures_alone_is_not_held_up_by_what_is_open(run_gate, contract, head):
    answered = fixtures_only(contract, head).run_check(run_gate, policy=BLOCKS)
    assert (answered.exit_code, answered.verdict) == (0, "pass")
    assert answered.reasons("pass") & {"slo", "unseen"}


@pytest.mark.parametrize(
    ("contract", "head", "recorded", "verdict"),
    [
        # certainly missed
        (IN_DOUBT, {FIXTURES: csv(MANY)}, some_say("no", 20, "Say {{ word }}."), "fail"),
        # weakened: a fixture less, a check less strict
        (IN_DOUBT, {FIXTURES: csv(MANY[:5])}, SOME, "inconclusive"),
        (
            IN_DOUBT,
            {CONTRACT: IN_DOUBT.replace("pattern: ok", "pattern: 'o?k'")},
            SOME,
            "inconclusive",
        ),
        # the prompt changes
        (
            IN_DOUBT,
            {PROMPT_FILE: OTHER, FIXTURES: csv(MANY[:7])},
            some_say("no", 1) | SOME,
            "inconclusive",
        ),
    ],
    ids=["missed", "removed", "another check", "prompt"],
)
def test_what_is_certain_or_weakened_still_holds_it_up(run_gate, contract, head, recorded, verdict):
    answered = fixtures_only(contract, head, recorded).run_check(run_gate, policy=BLOCKS)
    assert (answered.exit_code, answered.verdict) == (1, verdict)
