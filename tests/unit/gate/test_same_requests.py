"""What leaves every request as it was is not compared, and takes no alpha from what is."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited
from support.revisions import change

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.policies.policy import Allow, Policy
from gatekeeper.gate.pipeline import build_result, conclude_without_calls
from gatekeeper.gate.plan.alpha import levels
from gatekeeper.gate.plan.plan import Job, plan_job
from gatekeeper.gate.results.result import Waiver
from gatekeeper.gate.work import Work, plan_check

CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.md
template: jinja
model: openai/small
fixtures: [{file: words.jsonl}]
checks: [{type: contains, value: ok}]
"""
OTHER_CONTRACT = edited(CONTRACT, "words", "texts")
PROMPT = "Say {{ word }}.\n"
HIDDEN = "Say {% if word == 'w0' %}nothing{% else %}{{ word }}{% endif %}.\n"
FRONT = "---\nmodel: openai/small\nparams: {{temperature: 0, top_p: 1{}}}\n---\nSay {{{{ word }}}}."

SAME = {
    "a comment of Jinja": "Say {{ word }}.{# be nice #}\n",
    "an empty line at the end": "Say {{ word }}.\n\n",
}
UNTESTED = {
    "a block that no fixture reaches": "Say {{ word }}.{% if word == 'zzz' %} No!{% endif %}\n",
    "another expression": "Say {{ word ~ '' }}.\n",
}
CHANGED = {
    "a word": "Please say {{ word }}.\n",
    "a space": "Say  {{ word }}.\n",
    "one fixture's input": HIDDEN,
    "the role": "---\nx: 1\n---\nsystem:\nSay {{ word }}.",
    "a parameter": "---\nparams: {temperature: 1}\n---\nSay {{ word }}.",
}


def files(
    name: str = "words", contract: str = CONTRACT, prompt: str = PROMPT, rows: int = 3
) -> dict[str, str]:
    fixtures = [{"id": f"f{i}", "vars": {"word": f"w{i}"}} for i in range(rows)]
    return {
        f"contracts/{name}.yaml": contract,
        f"contracts/{name}.jsonl": "".join(json.dumps(row) + "\n" for row in fixtures),
        f"prompts/{name}.md": prompt,
    }


def work(base: Mapping[str, str], head: Mapping[str, str]) -> Work:
    return plan_check(change(base, {**base, **head}), Policy())


def planned(base: Mapping[str, str], head: Mapping[str, str], **policy: Allow) -> Job:
    rules = Policy(**policy)
    (affected,) = find_affected(change(base, {**base, **head}), rules, SHAPES).contracts
    return plan_job(affected, rules, "order")


def evaluations_of(job: Job) -> list[tuple[str, bool]]:
    """Whose contract applies, and whether the arms are compared."""
    return [
        (evaluation.contract_from, evaluation.base is not None) for evaluation in job.evaluations
    ]


@pytest.mark.parametrize("prompt", SAME.values(), ids=SAME.keys())
def test_a_change_that_leaves_every_request_needs_no_call(prompt):
    found = work(files(), {"prompts/words.md": prompt})

    assert (found.jobs, found.trials, found.affected.contracts) == ((), (), ())
    assert found.affected.unaffected == 1
    assert found.affected.others == ("words",)
    (notice,) = found.affected.notices
    assert "words" in notice
    assert "prompts/words.md" in notice


@pytest.mark.parametrize("prompt", UNTESTED.values(), ids=UNTESTED.keys())
def test_a_template_that_changes_without_a_request_is_untested(prompt):
    found = work(files(), {"prompts/words.md": prompt})
    result = build_result(found, conclude_without_calls(found))

    assert (found.jobs, found.trials, found.affected.unaffected) == ((), (), 0)
    assert [job.contract.name for job in found.untested] == ["words"]
    assert (result.verdict, result.exit_code) == ("inconclusive", 3)
    assert [reason.code for reason in result.contracts[0].reasons] == ["untested"]


def test_a_waiver_covers_what_is_untested():
    found = work(files(), {"prompts/words.md": UNTESTED["another expression"]})
    waiver = Waiver("words", "waive", "mona", "head", "a refactoring", "2026-11-22T00:00:00Z")

    assert build_result(found, conclude_without_calls(found, (waiver,))).verdict == "pass"


@pytest.mark.parametrize("prompt", CHANGED.values(), ids=CHANGED.keys())
def test_a_change_of_a_request_is_compared(prompt):
    (job,) = work(files(), {"prompts/words.md": prompt}).jobs
    assert job.paired
    assert not job.leaves_requests


def test_front_matter_of_other_tools_affects_nothing():
    before = files(prompt="---\nauthor: you\n---\nSay {{ word }}.")
    found = work(before, {"prompts/words.md": "---\nauthor: me\n---\nSay {{ word }}."})
    assert (found.jobs, found.affected.notices) == ((), ())


def test_front_matter_that_base_does_not_have_may_be_text():
    (job,) = work(files(), {"prompts/words.md": "---\nauthor: me\n---\nSay {{ word }}."}).jobs
    assert evaluations_of(job) == [("head", False), ("base_reading", True)]
    sent = {trial.request.messages[0].content for trial in job.evaluations[1].trials}
    assert "---\nauthor: me\n---\nSay w0." in sent


def test_the_order_of_parameters_and_an_include_that_is_not_used_change_no_request():
    front = FRONT.format("")
    reordered = edited(front, "temperature: 0, top_p: 1", "top_p: 1, temperature: 0 ")
    contract = edited(CONTRACT, "model: openai/small\n", "")
    assert work(files(contract=contract, prompt=front), {"prompts/words.md": reordered}).jobs == ()
    including = "Say {{ word }}.{% if word == 'zzz' %}{% include 'part.md' %}{% endif %}\n"
    base = {**files(prompt=including), "prompts/part.md": "A"}
    assert work(base, {"prompts/part.md": "B"}).jobs == ()


def test_what_checks_in_another_way_is_checked_on_head_alone():
    longer = files(rows=4)
    job = planned(files(), {**longer, "prompts/words.md": SAME["a comment of Jinja"]})
    assert evaluations_of(job) == [("head", False)]
    assert job.leaves_requests
    assert not job.changes_nothing
    assert {trial.arm for trial in job.trials} == {"head"}
    assert levels([job]) == {}


def test_a_weakened_contract_is_still_checked_by_the_base_one():
    job = planned(files(), {**files(rows=2), "prompts/words.md": SAME["a comment of Jinja"]})
    assert job.weakened
    assert evaluations_of(job) == [("head", False), ("base", False)]


@pytest.mark.parametrize("allowed", [False, True])
def test_a_fixture_that_is_removed_hides_no_changed_request(allowed):
    """What head's fixtures do not show, base's do."""
    rows = files()["contracts/words.jsonl"].splitlines(keepends=True)
    head = {"prompts/words.md": HIDDEN, "contracts/words.jsonl": "".join(rows[1:])}
    job = planned(files(), head, allow=Allow(weakening=allowed))
    assert evaluations_of(job) == (
        [("head", False)] if allowed else [("head", True), ("base", True)]
    )


def test_a_fixture_that_changes_hides_no_changed_request():
    rows = edited(files()["contracts/words.jsonl"], '"w0"', '"w9"')
    job = planned(files(), {"prompts/words.md": HIDDEN, "contracts/words.jsonl": rows})
    assert evaluations_of(job) == [("head", True), ("base", True)]


def test_a_new_fixture_that_shows_a_change_does_not_put_the_base_contract_into_the_family():
    """Otherwise a pull request could take alpha from the contracts that find something."""
    shown = "Say {{ word }}.{% if word == 'w3' %} No!{% endif %}\n"
    job = planned(files(), {**files(rows=4), "prompts/words.md": shown})
    assert evaluations_of(job) == [("head", True)]
    assert not job.evaluations[0].trusted


def test_another_seed_or_model_is_no_change_that_is_left_out():
    reseeded = CONTRACT + "sampling: {seed: 7}\n"
    head = {"contracts/words.yaml": reseeded, "prompts/words.md": SAME["a comment of Jinja"]}
    job = planned(files(), head)
    assert evaluations_of(job) == [("head", False)]
    other = edited(CONTRACT, "openai/small", "openai/strong")
    head = {"contracts/words.yaml": other, "prompts/words.md": SAME["a comment of Jinja"]}
    assert evaluations_of(planned(files(), head)) == [("head", True)]


def test_settings_of_the_contract_hide_no_front_matter():
    """The contract's own model sends what base sent; a program would send the front matter's."""
    plain = edited(CONTRACT, "model: openai/small\n", "")
    base = files(contract=plain, prompt="---\nmodel: openai/small\n---\nSay {{ word }}.")
    head = {
        "contracts/words.yaml": CONTRACT,
        "prompts/words.md": "---\nmodel: openai/tiny\n---\nSay {{ word }}.",
    }
    job = planned(base, head)
    assert ("base_settings", True) in evaluations_of(job)
    assert not job.leaves_requests


def test_a_changed_recording_is_checked():
    recorded = edited(CONTRACT, "openai/small", "recorded/past.jsonl")
    base = {**files(contract=recorded), "past.jsonl": "{}\n"}
    comment = {"prompts/words.md": SAME["a comment of Jinja"]}
    assert work(base, comment).jobs == ()
    (job,) = work(base, {**comment, "past.jsonl": "{}\n{}\n"}).jobs
    assert evaluations_of(job) == [("head", False)]


def test_a_contract_that_leaves_its_prompt_for_a_copy_is_never_left_out():
    away = {
        "contracts/words.yaml": edited(CONTRACT, "words.md", "copy.md"),
        "prompts/copy.md": PROMPT,
    }
    (job,) = work(files(), away).jobs
    assert job.left_prompt == "prompts/words.md"


def test_a_new_contract_on_the_same_prompt_is_checked():
    base = {k: v for k, v in files().items() if k.startswith("prompts")}
    (job,) = work(base, {**files(), "prompts/words.md": SAME["a comment of Jinja"]}).jobs
    assert evaluations_of(job) == [("head", False)]
    assert not job.leaves_requests


@given(st.integers(0, 5), st.integers(0, 5))
def test_what_leaves_its_requests_takes_no_alpha(untouched, changed):
    base, head = {}, {}
    for number in range(untouched + changed):
        name = f"c{number}"
        base |= files(name, edited(CONTRACT, "words", name), rows=2)
        same = number < untouched
        head[f"prompts/{name}.md"] = SAME["a comment of Jinja"] if same else CHANGED["a word"]
    found = work(base, head)
    assert len(found.jobs) == changed
    assert set(levels(found.jobs).values()) == ({0.05 * 0.98 / changed} if changed else set())
