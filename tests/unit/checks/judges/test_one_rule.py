"""`judge: complies` with `rule`: one rule, read with the prompt, and the same for both arms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.edited_text import edited
from support.judges import MODEL, ask, judge, sample_of, verdict
from support.outcomes import contract

from gatekeeper.checks.check import Files, ParameterError
from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.judges.judge import Judge
from gatekeeper.checks.judges.presets import DATA_RULES, preset_prompt
from gatekeeper.contract.values.definition import (
    CheckSpec,
    Message,
    MessageTemplate,
    Prompt,
    PromptStep,
    Target,
)
from gatekeeper.contract.values.trial import Arm, Sample
from gatekeeper.gate.plan.calibrations_in_force import judge_identities

RULE_PROMPT = preset_prompt("complies_rule").rstrip()
RULE = "The label is one word."
PROMPTS: dict[Arm, Prompt] = {
    arm: Prompt("p.md", (MessageTemplate("system", f"{arm}: label {{{{ text }}}}", 1),), "")
    for arm in ("base", "head")
}


def of_arm(arm: Arm) -> Sample:
    sample = sample_of("the output", Message("system", f"{arm}: label SECRET"))
    return replace(sample, trial=replace(sample.trial, arm=arm))


def complies(texts: dict[str, str] | None = None, **params: Any) -> Judge:
    given = {"judge": "complies", "model": MODEL, **params}
    return Judge("complies", given, Files(texts or {}, "c.yaml", PROMPTS))


def system_of(check: Judge) -> str:
    return check.questions(of_arm("head"))[0].messages[0].content


def data_of(check: Judge, arm: Arm = "head") -> str:
    return check.questions(of_arm(arm))[0].messages[1].content


def test_the_judge_reads_the_rule_with_the_prompt_and_does_not_see_the_input():
    shown = data_of(complies(rule=RULE))
    places = [shown.index(text) for text in ("label {{ text }}", RULE, "the output")]
    assert places == sorted(places)
    assert "SECRET" not in shown
    assert RULE not in system_of(complies(rule=RULE))


def test_both_arms_are_graded_by_the_same_question():
    """Equal outputs are graded once, and a new prompt cannot explain the rule away."""
    check = complies(rule=RULE)
    assert check.questions(of_arm("base")) == check.questions(of_arm("head"))
    assert "base: label" in data_of(check)
    assert "head: label" not in data_of(check)
    assert "head: label" in data_of(complies())


def test_only_a_judge_of_one_rule_is_told_about_it():
    without = system_of(complies(instructions="Be brief."))
    listed = "- no: the output breaks a rule\n- yes: the output obeys every rule"
    filled = edited(preset_prompt("complies"), "{{ choices }}", listed)
    assert without == f"{filled.rstrip()}\n\n{DATA_RULES}"
    with_rule = system_of(complies(rule=RULE))
    assert f"\n\n{RULE_PROMPT}\n\n{DATA_RULES}" in with_rule
    assert "- no: the output breaks the rule\n- yes: the output obeys the rule\n" in with_rule


def test_instructions_stand_for_the_prompt():
    shown = data_of(complies(rule=RULE, instructions="Label the text."))
    assert "Label the text." in shown
    assert "label {{ text }}" not in shown


def test_a_prompt_of_ones_own_is_told_about_the_rule_too():
    check = complies({"own.md": "Grade it: {{ choices }}"}, rule=RULE, prompt="own.md")
    assert system_of(check).startswith("Grade it: - no: the output breaks the rule")
    assert RULE_PROMPT in system_of(check)


@pytest.mark.parametrize(("said", "passed"), [("yes", True), ("no", False)])
def test_the_verdict_decides(said, passed):
    check = complies(rule=RULE)
    finding, asked = ask(check, of_arm("head"), lambda _: verdict(said))
    assert (finding.passed, len(asked)) == (passed, 1)


@pytest.mark.parametrize(
    ("before", "explains"),
    [("made", "base: made"), ("other", "head: made"), (None, "head: made")],
)
def test_the_prompt_of_a_step_that_base_does_not_have_explains_its_rule(before, explains):
    """A renamed step is found by its file."""

    def of(arm: Arm, name: str, file: str | None) -> Target:
        made = [PromptStep(name, prompt(arm, file))] if file else []
        return Target(prompt(arm, "last"), "openai/m", {}, steps=tuple(made))

    def prompt(arm: Arm, file: str) -> Prompt:
        return Prompt(file, (MessageTemplate("user", f"{arm}: {file}", 1),), "")

    params = {"judge": "complies", "model": MODEL, "rule": RULE}
    targets = {"base": of("base", "old", before), "head": of("head", "new", "made")}
    spec = CheckSpec("judge", "short", params, step="new")
    made = contract("f1", checks=(spec,), target=targets["head"])
    (check,) = prepare(made, targets=targets).checks["f1"]
    assert explains in check.evaluate.questions(of_arm("head"))[0].messages[1].content


def test_a_forecast_counts_the_prompt():
    (about,) = complies(rule=RULE).forecast(of_arm("head"))
    assert "label {{ text }}" in "".join(message.content for message in about.messages)


def test_other_judges_have_no_rule():
    with pytest.raises(ParameterError, match="does not use `rule`"):
        judge(rule=RULE)


def test_a_calibration_belongs_to_the_rule_and_to_what_is_said_about_rules(monkeypatch):
    def digest(**params: Any) -> str:
        spec = CheckSpec("judge", "short", {"judge": "complies", "model": MODEL, **params})
        made = contract("f1", checks=(spec,))
        return judge_identities(made, prepare(made))["short"].digest

    before, without = digest(rule=RULE), digest()
    assert len({before, without, digest(rule="Other."), digest(instructions=RULE)}) == 4
    monkeypatch.setattr("gatekeeper.checks.judges.presets._ADDED", {"rule": "transcript"})
    assert digest(rule=RULE) != before
    assert digest() == without
