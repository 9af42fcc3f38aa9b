"""The steps of a chain in reports: the one that broke, and the differences of every prompt."""

from __future__ import annotations

from dataclasses import replace

from support.results import arm, failing_contract

from gatekeeper.gate.results.parts import StepResult
from gatekeeper.gate.results.result import ContractResult
from gatekeeper.reports.formats.annotations import places
from gatekeeper.reports.formats.result_json import part_document
from gatekeeper.reports.words.evidence import broke_at, plain_step, prompt_texts, step_table
from gatekeeper.reports.words.headline import what_happened
from gatekeeper.reports.words.prompt_diff import prompt_changes


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
