"""Whose contract applies to a change, and with which model, parameters and mode."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from support.edited_text import edited
from support.revisions import change

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.policies.policy import Allow, Policy
from gatekeeper.gate.decision.reasons import broken_base_reasons
from gatekeeper.gate.plan.plan import Job, plan_job
from gatekeeper.gate.work import cache_arms_alike
from gatekeeper.sampling.calls import group_calls

CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.md
fixtures: [{file: words.jsonl}]
checks: [{type: contains, value: ok}]
"""
MODEL = "model: openai/small\n"
PROMPT = "Say {{ word }}.\n"
OTHER = "Please say {{ word }}.\n"
FRONT = "---\nmodel: openai/{}\nparams: {{temperature: {}}}\n---\n"
SCHEMA_CHECK = "  - {type: json_schema, schema: {type: object}}\n"


def files(contract: str = CONTRACT + MODEL, prompt: str = PROMPT, rows: int = 2) -> dict[str, str]:
    fixtures = [{"id": f"f{i}", "vars": {"word": f"w{i}"}} for i in range(rows)]
    return {
        "contracts/words.yaml": contract,
        "contracts/words.jsonl": "".join(json.dumps(row) + "\n" for row in fixtures),
        "prompts/words.md": prompt,
    }


def planned(base: Mapping[str, str], head: Mapping[str, str], **policy: object) -> Job:
    rules = Policy(**policy)  # type: ignore[arg-type]
    (affected,) = find_affected(change(base, head), rules, SHAPES).contracts
    return plan_job(affected, rules, "order")


def evaluations_of(job: Job) -> list[str]:
    return [evaluation.contract_from for evaluation in job.evaluations]


def sent(job: Job, by: str) -> tuple[str, Mapping[str, object], str]:
    """What head's arm sends for an evaluation: model, parameters, and the first message."""
    (evaluation,) = [j for j in job.evaluations if j.contract_from == by]
    request = next(t.request for t in evaluation.trials if t.arm == "head")
    return request.model, request.params, request.messages[0].content.split()[0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("model: openai/strong\n", "model changed from openai/small to openai/strong"),
        (MODEL + "params: {stop: [x]}\n", 'params.stop added: ["x"]'),
        (MODEL + "params: {max_tokens: 5}\n", "params.max_tokens added: 5"),
        (MODEL + "params: {seed: 5}\n", "params.seed added: 5"),
    ],
)
def test_a_new_prompt_is_also_checked_with_the_base_contracts_settings(settings, said):
    job = planned(files(), files(CONTRACT + settings, OTHER))

    assert evaluations_of(job) == ["head", "base_settings"]
    assert sent(job, "base_settings") == ("openai/small", {}, "Please")
    assert sent(job, "head") != sent(job, "base_settings")
    assert any(said in notice for notice in job.notices)


def test_a_parameter_that_is_removed_still_counts():
    before = CONTRACT + MODEL + "params: {temperature: 0}\n"
    job = planned(files(before), files(prompt=OTHER))

    assert sent(job, "base_settings") == ("openai/small", {"temperature": 0}, "Please")
    assert any("params.temperature removed; the value was 0" in notice for notice in job.notices)


def test_enforce_at_head_does_not_change_what_the_base_contract_asks():
    checked = edited(CONTRACT, "ok}]", "ok}, {type: json_schema, schema: {type: object}}]")
    head = files(checked + MODEL + "mode: enforce\n", OTHER)
    job = planned(files(checked + MODEL), head)

    assert evaluations_of(job) == ["head", "base_settings", "base"]
    assert "response_format" in sent(job, "head")[1]
    assert "response_format" in sent(job, "base")[1]
    assert sent(job, "base_settings")[1] == {}


def test_a_pull_request_that_only_changes_the_model_is_checked_as_it_would_run():
    job = planned(files(), files(CONTRACT + "model: openai/strong\n"))

    assert evaluations_of(job) == ["head"]
    (own,) = job.evaluations
    assert {t.arm: t.request.model for t in own.trials} == {
        "base": "openai/small",
        "head": "openai/strong",
    }
    assert any("model changed" in notice for notice in job.notices)


def test_a_worse_model_with_weaker_checks_is_checked_by_the_base_contract_as_it_would_run():
    weaker = edited(CONTRACT, "value: ok", "value: o", "[{type", "[{type")
    job = planned(files(), files(weaker + "model: openai/worse\n", OTHER))

    assert evaluations_of(job) == ["head", "base_settings", "base"]
    assert sent(job, "base") == ("openai/worse", {}, "Please")
    assert sent(job, "base_settings") == ("openai/small", {}, "Please")


def test_what_the_prompt_file_itself_sets_is_part_of_the_prompt():
    before = files(CONTRACT, FRONT.format("small", 0) + PROMPT)
    job = planned(before, files(CONTRACT, FRONT.format("strong", 1) + OTHER))

    assert evaluations_of(job) == ["head"]
    assert sent(job, "head") == ("openai/strong", {"temperature": 1}, "Please")


@pytest.mark.parametrize("front", [FRONT.format("small", 0), ""])
def test_a_contract_cannot_take_over_what_the_prompt_file_set(front):
    before = files(CONTRACT, FRONT.format("small", 0) + PROMPT)
    head = files(CONTRACT + "model: openai/strong\nparams: {temperature: 0}\n", front + OTHER)
    job = planned(before, head)

    assert evaluations_of(job) == ["head", "base_settings"]
    model, _, first = sent(job, "base_settings")
    assert (model, first) == ("openai/small", "Please")


def test_a_worse_model_in_the_prompt_file_cannot_hide_behind_the_contract():
    before = files(CONTRACT, FRONT.format("good", 0) + PROMPT)
    over = CONTRACT + "model: openai/good\nparams: {temperature: 0}\n"
    job = planned(before, files(over, FRONT.format("bad", 0) + PROMPT))

    assert sent(job, "head")[0] == "openai/good"
    assert sent(job, "base_settings")[0] == "openai/bad"


def test_a_policy_that_allows_weakening_leaves_the_base_contract_out():
    head = files(CONTRACT + "model: openai/strong\n", OTHER)
    job = planned(files(), head, allow=Allow(weakening=True))

    assert evaluations_of(job) == ["head"]


EXPECTS = edited(CONTRACT, "value: ok", "value: '{{ expected }}'") + MODEL
"""No fixture has an expected value, so the contract can evaluate nothing."""


def test_a_base_contract_that_cannot_apply_a_new_prompt_is_an_error():
    job = planned(files(EXPECTS), files(prompt=OTHER))

    (reason,) = broken_base_reasons(job)
    assert (reason.code, reason.verdict, reason.contract_from) == ("error", "error", "base")


def test_a_base_contract_that_cannot_apply_can_be_repaired():
    job = planned(files(EXPECTS), files())

    assert broken_base_reasons(job) == []
    assert job.base_problem is not None


def test_what_head_cannot_be_asked_is_planned_and_not_drawn():
    head = files(edited(CONTRACT, "value: ok", "value: OK") + MODEL, "Say {{ term }}.\n")
    head["contracts/words.jsonl"] = "".join(
        json.dumps({"id": f"f{i}", "vars": {"term": "easy" if i == 2 else f"w{i}"}}) + "\n"
        for i in range(3)
    )
    job = planned(files(rows=3), head)
    (_, base) = job.evaluations

    assert base.unanswerable == base.unknown_on_head == ("f2",)
    assert base.planned_on_head(1) == {"f0": 1, "f1": 1, "f2": 1}
    assert {(t.fixture, t.arm) for t in base.trials if t.fixture == "f2"} == set()
    assert len(base.trials) == 4


def test_a_renamed_variable_is_checked_on_the_base_contracts_own_values():
    head = files(edited(CONTRACT, "value: ok", "value: OK") + MODEL, "Please say {{ term }}.\n")
    head["contracts/words.jsonl"] = edited(head["contracts/words.jsonl"], "word", "term")
    job = planned(files(), head)

    assert evaluations_of(job) == ["head", "base"]
    assert job.evaluations[1].unanswerable == ()
    assert not any("variables changed" in sentence for sentence in job.weakened)


def test_renaming_a_variable_alone_changes_no_template():
    head = files(prompt="Say {{ term }}.\n")
    head["contracts/words.jsonl"] = edited(head["contracts/words.jsonl"], "word", "term")
    job = planned(files(), head)

    assert (job.leaves_requests, job.changes_template, job.weakened) == (True, False, ())


def enforced(*properties: str) -> str:
    inner = ", ".join(f"{name}: {{type: string}}" for name in properties)
    schema = f"{{type: json_schema, schema: {{type: object, properties: {{{inner}}}}}}}"
    return edited(CONTRACT, "ok}]", f"ok}}, {schema}]") + MODEL + "mode: enforce\n"


def test_the_order_of_an_enforced_schema_is_part_of_the_request():
    """A provider writes in the schema's order: an answer before its reasoning is worse."""
    job = planned(files(enforced("reasoning", "answer")), files(enforced("answer", "reasoning")))

    assert job.evaluations[0].base is not None
    assert not job.evaluations[0].asks_the_same


def test_the_order_of_a_schema_that_is_not_sent_changes_nothing():
    before, after = (
        edited(enforced(*names), "mode: enforce\n", "")
        for names in (("reasoning", "answer"), ("answer", "reasoning"))
    )
    changed = change(files(before), files(after))
    assert find_affected(changed, Policy(), SHAPES).contracts == ()


@pytest.mark.parametrize("others", [[], ["cars"]])
def test_no_arm_is_cached_better_than_the_other(others):
    """The base arm's calls are shared by evaluations, of which each has fixtures of its own."""

    def described(prompt: str, settings: str, subjects: list[str]) -> dict[str, str]:
        rows = [{"id": f"f{i}", "vars": {"word": f"w{i}", "of": "boats"}} for i in range(3)]
        rows += [{"id": name, "vars": {"word": "w", "of": name}} for name in subjects]
        found = files(
            CONTRACT + settings, f"system:\n{prompt} {{{{ of }}}}.\n\nuser:\n{{{{ word }}}}\n"
        )
        found["contracts/words.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows)
        return found

    base = described("Speak of", MODEL, [])
    job = planned(base, described("Do speak of", "model: openai/strong\n", others))
    assert "base_settings" in evaluations_of(job)
    alike = cache_arms_alike(job)
    assert unmarked(job) == ({True, False} if others else {False})
    assert unmarked(alike) == {bool(others)}
    assert alike == job
    assert (alike is job) is not others


def unmarked(job: Job) -> set[bool]:
    calls, _ = group_calls(job.trials)
    return {job.trials[call.trials[0]].request.shared_prefix is None for call in calls}
