"""Changes that say nothing must not make a contract less sure of what it finds."""

from __future__ import annotations

import json

import pytest
from support.edited_text import edited
from support.proposals import (
    CONTRACT,
    FIXTURES,
    MANY,
    NO_SLO,
    OTHER,
    POLICY,
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
        more = edited(
            before[f"contracts/{name}.yaml"], "checks:", "  - {id: new, vars: {word: new}}\nchecks:"
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
            {CONTRACT: edited(IN_DOUBT, "pattern: ok", "pattern: 'o?k'")},
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


# Comparisons that are merged first, so that a worse prompt is less sure to be found


FIRST_WAIVED = "on_weakening: require_waiver\n"
TRIVIAL = "[{type: length, min: 1}]"
SAYS = "checks:\n  - {type: regex, pattern: ok}"
assert SAYS in NO_SLO
SOON = NO_SLO + "sampling: {mode: adaptive, samples: 1}\n"
FIRST_BREAK = some_say("no", 6) | some_say("ok", 0, "Say {{ word }}.")


def with_groups(contract: str, checks: str = TRIVIAL, more: str = "", count: int = 20) -> str:
    groups = [f"  g{number}: {{checks: {checks}}}\n" for number in range(count)]
    return f"{contract}{more}groups:\n{''.join(groups)}"


@pytest.mark.long
@pytest.mark.parametrize("contract", [SURE, SOON], ids=["fixed", "adaptive"])
@pytest.mark.parametrize("checks", [TRIVIAL, "[{type: regex, pattern: 'o|no'}]"])
def test_groups_that_never_fail_take_nothing_of_alpha(check_of, contract, checks):
    """Six of twelve break, p = 0.0156: too much for 0.05 / 21."""
    before = {FIXTURES: csv(MANY[:12])}
    proposal = Proposal(
        "second",
        "",
        {PROMPT_FILE: OTHER},
        contract=with_groups(contract, checks),
        recorded=FIRST_BREAK,
        before=before,
    )
    answered = check_of(proposal.base, proposal.writes)
    assert answered.code == 1
    words = next(c for c in answered.result["contracts"] if c["name"] == "words")
    assert words["verdict"] == "fail"
    assert words["paired"]["family"] == 1
    assert words["paired"]["alpha"] == pytest.approx(0.049)


TUNED = {
    "improve": "[{type: regex, pattern: no}]",
    "by another check": "[{type: length, max: 2}, {type: not_contains, value: ok}]",
    "are already good in part": "[{type: regex, pattern: 'no|^ok,'}]",
}


def tuned_answers(contract: str, broken: int = 6) -> dict[str, object]:
    """A prompt whose worse answers please what was added: so many of twelve turn to `no`. Beside
    eight, one fixture breaks for groups that pass `ok,` too."""
    said = some_say("no", broken) | some_say("ok", 0, "Say {{ word }}.")
    if broken == 8:
        said["Say word11."] = "ok, no"
    before = {FIXTURES: csv(MANY[:12])}
    return Proposal("second", "", {}, contract=contract, recorded=said, before=before).base


@pytest.mark.parametrize(
    ("checks", "broken", "contract"),
    [
        ("improve", 6, SURE),
        ("improve", 6, SOON),
        ("by another check", 6, SURE),
        ("are already good in part", 8, SOON),
    ],
)
def test_groups_that_a_worse_prompt_makes_better_take_one_share(check_of, checks, broken, contract):
    """With a share for each, p = 0.0156 and 0.0039 would be too much for 0.049 / 13."""
    before = tuned_answers(with_groups(contract, TUNED[checks], count=12), broken)
    answered = check_of(before, {PROMPT_FILE: OTHER})
    assert answered.code == 1
    words = next(c for c in answered.result["contracts"] if c["name"] == "words")
    assert words["verdict"] == "fail"
    assert words["paired"]["family"] == 2
    assert "regression" in {reason["code"] for reason in words["reasons"]}


def test_contracts_that_a_worse_prompt_makes_better_take_one_share(check_of):
    before = tuned_answers(SURE)
    for name in OTHERS[:12]:
        before[f"contracts/{name}.yaml"] = edited(
            SURE, "name: words", f"name: {name}", SAYS, f"checks: {TUNED['improve']}"
        )
    answered = check_of(before, {PROMPT_FILE: OTHER})
    words = next(c for c in answered.result["contracts"] if c["name"] == "words")
    assert (answered.code, words["paired"]["family"]) == (1, 2)


@pytest.mark.long
def test_limits_of_trivial_groups_take_only_their_own_share(check_of):
    contract = with_groups(SURE, more="gate: {latency_p50: +500%}\n")
    proposal = Proposal(
        "limits",
        "",
        {PROMPT_FILE: OTHER},
        contract=contract,
        recorded=FIRST_BREAK,
        before={FIXTURES: csv(MANY[:12])},
    )
    answered = check_of(proposal.base, proposal.writes)
    words = next(c for c in answered.result["contracts"] if c["name"] == "words")
    assert words["verdict"] == "fail"
    assert words["paired"]["alpha"] == pytest.approx(0.044)


@pytest.mark.long
def test_other_contracts_of_the_prompt_that_stay_as_they_are_take_nothing_either(check_of):
    before: dict[str, object] = {FIXTURES: csv(MANY[:12])}
    for name in OTHERS[:20]:
        before[f"contracts/{name}.yaml"] = edited(
            SURE, "name: words", f"name: {name}", SAYS, f"checks: {TRIVIAL}"
        )
    proposal = Proposal("second", "", {}, contract=SURE, recorded=FIRST_BREAK, before=before)
    assert check_of(proposal.base, {PROMPT_FILE: OTHER}).code == 1


@pytest.mark.parametrize(
    ("head", "together"),
    [
        ({CONTRACT: with_groups(NO_SLO)}, "20 more comparisons, so 21 share alpha"),
        ({CONTRACT: with_groups(NO_SLO, count=1)}, "1 more comparison, so 2 share alpha"),
        (
            {"contracts/again.yaml": edited(NO_SLO, "name: words", "name: again")},
            "1 more comparison, so 2 share alpha",
        ),
        (
            {
                "contracts/again.yaml": with_groups(edited(NO_SLO, "name: words", "name: again")),
                PROMPT_FILE: OTHER,
            },
            "21 more comparisons, so 22 share alpha",
        ),
    ],
    ids=["groups", "one group", "a contract", "with a worse prompt"],
)
def test_comparisons_added_for_a_prompt_are_named_and_need_a_waiver(check_of, head, together):
    recorded = some_say("ok", 0) | some_say("ok", 0, "Say {{ word }}.")
    base = Proposal("first", "", {}, recorded=recorded).base
    base[FIXTURES] = csv(MANY[:4])
    found = check_of({**base, POLICY: FIRST_WAIVED}, head)
    assert f"prompts/words.txt gets {together}." in found.result["notices"]
    assert found.code == 1
    assert "policy_weakened" in found.codes()


@pytest.mark.long
def test_comparisons_added_for_a_prompt_fail_nothing_by_default(check_of):
    recorded = some_say("ok", 0, "Say {{ word }}.")
    found = check_of(
        Proposal("first", "", {}, recorded=recorded).base, {CONTRACT: with_groups(NO_SLO)}
    )
    assert found.code == 0
    assert any("21 share alpha" in notice for notice in found.result["notices"])


def test_the_first_contract_of_a_prompt_dilutes_nothing(check_of):
    base = Proposal("none", "", {}, recorded=some_say("ok", 0, "Say {{ word }}.")).base
    contract = base.pop(CONTRACT)
    base[POLICY] = FIRST_WAIVED
    answered = check_of(base, {CONTRACT: contract})
    assert answered.codes() == set()
    assert "more comparison" not in json.dumps(answered.result["notices"])
