"""The evidence beside the comparison in words: cost and latency, and the steps of a chain."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support import results as examples
from support.report_texts import comment_of
from support.results import arm, failing_contract
from support.ticket_run import gate_result

from gatekeeper.gate.results.parts import ResourceChange, StepResult
from gatekeeper.gate.results.result import ContractResult
from gatekeeper.reports.formats.annotations import places
from gatekeeper.reports.formats.result_json import part_document, render_result
from gatekeeper.reports.html import render_html
from gatekeeper.reports.words.evidence import broke_at, plain_step, prompt_texts, step_table
from gatekeeper.reports.words.headline import what_happened
from gatekeeper.reports.words.prompt_diff import prompt_changes
from gatekeeper.stats.interval import ConfidenceInterval

DEARER = ResourceChange("cost_per_call_usd", 0.001, 0.0043, ConfidenceInterval(3.2, 3.4))
SLOWER = ResourceChange("latency_p95_ms", 400.0, 600.0, ConfidenceInterval(0.4, 0.6))
SAME = ResourceChange("latency_p50_ms", 300.0, 303.0, ConfidenceInterval(-0.02, 0.04))
LITTLE = ResourceChange("tokens_per_call", 100.0, 101.0, ConfidenceInterval(0.005, 0.02))


def _with(contract: ContractResult, *resources: ResourceChange) -> ContractResult:
    assert contract.paired
    return replace(contract, paired=replace(contract.paired, resources=resources))


def test_a_dearer_head_is_in_the_title_the_text_and_the_table() -> None:
    contract = _with(examples.passing_contract(), DEARER, LITTLE, SAME, SLOWER)
    comment = comment_of(examples.result(contract))
    assert "significantly worse, but a call of `order-id` costs 330 % more" in comment
    assert (
        "**Cost and latency:** cost 0.0010 → 0.0043 USD (+330 %), "
        "latency p95 400 → 600 ms (+50 %)." in comment
    )
    assert "cost +330 % [+320, +340]<br>latency p95 +50 % [+40, +60]" in comment
    assert "tokens 100 → 101, +1 % [+0.5, +2]" in comment
    assert "cost +330" in render_html(examples.result(contract)).replace("\u00a0", " ")


def test_a_pass_says_in_one_line_that_nothing_changed() -> None:
    comment = comment_of(examples.result(_with(examples.passing_contract(), LITTLE, SAME)))
    line = "**Cost and latency:** no clear change: tokens 100 → 101, latency p50 300 → 303 ms."
    assert line in comment
    assert "| Cost and latency [99\u00a0%] |" not in comment
    two = examples.result(
        _with(examples.passing_contract("a"), SAME), _with(examples.passing_contract("b"), SAME)
    )
    assert "**Cost and latency:** no clear change.\n" in comment_of(two)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ((SLOWER,), "but the latency p95 of `order-id` is 50 % higher"),
        (
            (SLOWER, ResourceChange("latency_p50_ms", 100.0, 300.0, ConfidenceInterval(1.8, 2.2))),
            "but the latency p50 of `order-id` is 200 % higher",
        ),
        ((SLOWER, DEARER), "but a call of `order-id` costs 330 % more"),
        (
            (SLOWER, ResourceChange("tokens_per_call", 10.0, 90.0, ConfidenceInterval(7, 9))),
            "but the latency p95 of `order-id` is 50 % higher",
        ),
    ],
)
def test_the_title_names_the_largest_rise(changes: tuple[ResourceChange, ...], said: str) -> None:
    contract = _with(examples.passing_contract(), *changes)
    assert said in comment_of(examples.result(contract)).splitlines()[1]


def test_a_failure_mentions_what_changed_and_nothing_else() -> None:
    assert "**Cost and latency:** latency p95 400" in comment_of(
        examples.result(_with(examples.failing_contract(), SLOWER))
    )
    assert "**Cost and latency:**" not in comment_of(
        examples.result(_with(examples.failing_contract(), SAME))
    )


def test_of_several_contracts_each_is_named() -> None:
    names = ("a", "b", "c", "d")
    found = [_with(examples.passing_contract(name), SLOWER) for name in names]
    comment = comment_of(examples.result(*found))
    assert "`a` latency p95 400 → 600 ms (+50 %); `b` latency" in comment
    assert "; and 1 more contract." in comment


@pytest.mark.parametrize(
    ("base", "head", "interval", "differs"),
    [
        (1.0, 2.0, ConfidenceInterval(0.9, 1.1), True),
        (1.0, 0.5, ConfidenceInterval(-0.6, -0.4), True),
        (1.0, 1.02, ConfidenceInterval(0.01, 0.03), False),
        (1.0, 2.0, ConfidenceInterval(-0.1, 3.0), False),
        (1.0, 2.0, None, False),
        (0.0, 2.0, None, False),
    ],
)
def test_what_counts_as_a_change(
    base: float, head: float, interval: ConfidenceInterval | None, differs: bool
) -> None:
    assert ResourceChange("cost_per_call_usd", base, head, interval).differs is differs


def test_the_gate_measures_them_on_the_same_fixtures() -> None:
    result = gate_result(60, 1)
    paired = result.contracts[0].paired
    assert paired
    found = {change.resource: change for change in paired.resources}
    assert set(found) == {
        "cost_per_call_usd",
        "tokens_per_call",
        "latency_p50_ms",
        "latency_p95_ms",
    }
    for change in found.values():
        assert change.relative is not None
        assert change.interval
        assert change.interval.low <= change.relative <= change.interval.high
    assert found["latency_p95_ms"].differs
    told = json.loads(render_result(result))["contracts"][0]["paired"]["resources"]
    assert [each["resource"] for each in told] == list(found)


def steps(text: str, passed: int, broke: int, last_broke: int = 0) -> tuple[StepResult, ...]:
    return (
        StepResult("extract", "e.md", text, passed, 5, broke),
        StepResult(None, "a.md", "Answer", 5 - last_broke, 5, last_broke),
    )


def chain(broke: int = 4, last_broke: int = 1) -> ContractResult:
    made = failing_contract("order")
    base = arm(40, 40, prompt="Answer", prompt_path="a.md", steps=steps("Extract", 5, 0))
    after = steps("Guess", 5 - broke, broke, last_broke)
    head = arm(20, 40, prompt="Answer", prompt_path="a.md", steps=after)
    return replace(made, base=base, head=head)


def test_the_step_that_broke_most_samples_is_named() -> None:
    assert broke_at(chain(), plain_step) == "broke at step extract in 4 of 5 failed samples"
    assert broke_at(chain(1, 4), plain_step).startswith("broke at the last prompt in 4 of 5")
    assert broke_at(chain(0, 0), plain_step) == broke_at(failing_contract(), plain_step) == ""
    assert "broke at step `extract` in 4 of 5" in what_happened(chain())


def test_the_table_has_both_arms() -> None:
    table = tuple(
        [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in step_table(chain())
    )
    assert table == (
        ["Step", "Base passes", "Head passes", "Broke first"],
        ["`extract`", "100 % (5/5)", "20 % (1/5)", "4"],
        ["the last prompt", "100 % (5/5)", "80 % (4/5)", "1"],
    )
    assert step_table(failing_contract()) == ()


def test_the_difference_of_each_prompt_names_its_step_and_file() -> None:
    (change,) = prompt_changes(chain())
    assert (change.title, change.path) == ("extract › the text", "e.md")
    assert "+Guess" in change.diff


def test_added_and_removed_steps_are_differences() -> None:
    made = chain()
    assert made.base is not None
    assert made.head is not None
    single = replace(made.base, steps=())
    added = prompt_changes(replace(made, base=single))
    assert [(c.change, c.path) for c in added] == [("added", "e.md")]
    removed = prompt_changes(replace(made, base=made.head, head=single))
    assert [(c.change, c.path) for c in removed] == [("removed", "e.md")]


def test_all_prompts_are_shown_under_their_names() -> None:
    head = chain().head
    assert head is not None
    assert prompt_texts(head) == "[extract]\nGuess\n\n[last prompt]\nAnswer"
    assert [one["broke_first"] for one in part_document("arm", head)["steps"]] == [4, 1]
    assert part_document("arm", replace(head, steps=()))["steps"] == []


def test_an_annotation_is_at_the_prompt_of_the_step() -> None:
    (place,) = places([chain()])
    assert (place.path, place.line) == ("e.md", 1)
    made = chain()
    assert made.base is not None
    assert made.head is not None
    removed = replace(made, base=made.head, head=replace(made.base, steps=()))
    (place,) = places([removed])
    assert (place.path, place.line) == ("a.md", 1)
