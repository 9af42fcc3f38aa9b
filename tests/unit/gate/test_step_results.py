"""Which step of a chain broke first, counted by sample."""

from __future__ import annotations

from dataclasses import replace

from support.outcomes import outcome, target

from gatekeeper.contract.values.definition import PromptStep
from gatekeeper.contract.values.trial import CheckResult, Outcome
from gatekeeper.gate.samples.outcomes import step_results

CHAIN = replace(target("Answer"), steps=(PromptStep("extract", target("Extract").prompt),))


def evaluated(first: bool | None, last: bool | None, *more: CheckResult) -> Outcome:
    made = outcome("a", "head", 0, True)
    results = (CheckResult("e", first, step="extract"), CheckResult("l", last), *more)
    return replace(made, check_results=results)


def test_each_step_has_its_own_rate_and_the_first_to_fail_is_named() -> None:
    outcomes = [
        *(evaluated(True, True), evaluated(False, False), evaluated(False, True)),
        *(evaluated(True, False), evaluated(None, True), outcome("a", "head", 0, None)),
    ]
    first, last = step_results(CHAIN, outcomes)
    assert (first.name, first.prompt_text, last.name) == ("extract", "Extract", None)
    assert (first.passed, first.samples, first.broke) == (2, 4, 2)
    assert (last.passed, last.samples, last.broke) == (3, 5, 1)
    assert (first.rate, last.rate) == (0.5, 0.6)


def test_a_warning_breaks_no_step_and_a_step_without_checks_has_no_rate() -> None:
    warned = CheckResult("w", False, severity="warn", step="extract")
    made = replace(evaluated(True, False), check_results=(warned, CheckResult("l", False)))
    first, last = step_results(CHAIN, [made])
    assert (first.samples, first.rate, first.broke) == (0, None, 0)
    assert (last.samples, last.broke) == (1, 1)


def test_a_sample_that_passes_by_its_score_broke_nowhere() -> None:
    made = replace(evaluated(False, True), pass_score=0.5)
    assert [step.broke for step in step_results(CHAIN, [made])] == [0, 0]


def test_a_single_prompt_has_no_steps() -> None:
    assert step_results(target(), [evaluated(False, False)]) == ()
