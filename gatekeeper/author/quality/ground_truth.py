"""Proposes answers of a strong model as the expected outputs of tests, and accepts them.

An answer is proposed if the majority of judges of other families calls it correct. It stands in
`metadata.proposed`, and no check reads it there. It becomes `expected` only when a person accepts
it: by this module's `accept_answers`, or by hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gatekeeper.author.generation.ask import Asker, ask_together
from gatekeeper.author.generation.files import (
    FixtureRow,
    differing,
    require_unchanged,
    write_fixture_rows,
)
from gatekeeper.author.generation.numbered_prompt import render_each
from gatekeeper.author.generation.questions import SEED
from gatekeeper.author.generation.replace_files import replace_files
from gatekeeper.author.generation.run import Generated, GenerationPlan
from gatekeeper.author.quality.judges import VALID, Panel, Verdict, with_metadata
from gatekeeper.contract.models.families import family_of
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import UsageError

PROPOSED, ACCEPTED = "proposed", "ground_truth"
FEWEST_JUDGES = 2
_FIRST_WORD = re.compile(r"(?:[a-z]+\.)?([a-z]+)")


@dataclass(frozen=True, slots=True)
class Proposals:
    """What became of the answers: ids of tests. `failed` have no answer of the model, `rejected`
    one that the majority of the judges does not accept."""

    model: str
    proposed: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def model_family(model: str) -> str:
    """Return the family of a model, or the first word of its name if the name says none."""
    name = model.rpartition("/")[2].casefold()
    word = _FIRST_WORD.match(name)
    return family_of(model) or (word[1] if word else name)


def require_other_families(model: str, judges: Sequence[str]) -> None:
    """Raise UsageError unless there are several judges, all of other families than the model's."""
    if len(set(judges)) < FEWEST_JUDGES:
        raise UsageError(
            "--ground-truth needs at least two judges from other families than the answering "
            "model; name the judges with --judges A,B"
        )
    same = [judge for judge in judges if model_family(judge) == model_family(model)]
    if same:
        raise UsageError(
            f"--judges {same[0]}: this model is of the same family as {model}, and "
            "may overlook mistakes that both models make; name a model of another family"
        )


async def with_proposed_answers(
    plan: GenerationPlan, asker: Asker, panel: Panel, model: str, items: Generated
) -> tuple[Generated, Proposals]:
    """Return the items with an answer proposed for each test that has none, and is not known to be
    invalid. An earlier proposal is replaced or removed. Raises as `Panel.ask` does."""
    rows = [row for row in items.rows if lacks_answer(row)]
    sound, _ = render_each(plan.prompt.prompt, rows)
    params = plan.prompt.prompt.params
    found = await ask_together(
        *(_answer(asker, panel, Request(model, m, params, SEED, 0)) for _, m in sound)
    )
    answers = {row.id: answer for (row, _), answer in zip(sound, found, strict=True)}
    asked = {row.id for row in rows}
    written = tuple(
        _with_proposal(row, model, answers.get(row.id)) if row.id in asked else row
        for row in items.rows
    )
    proposals = Proposals(
        model,
        tuple(name for name, answer in answers.items() if answer and answer[1].answer),
        tuple(name for name, answer in answers.items() if answer and not answer[1].answer),
        tuple(row.id for row in rows if not answers.get(row.id)),
    )
    return replace(items, rows=written), proposals


def accept_answers(
    rows: Sequence[FixtureRow], ids: Sequence[str] | None
) -> tuple[tuple[FixtureRow, ...], tuple[str, ...]]:
    """Return the rows with proposed answers as `expected`, and the ids of those that changed.

    Args:
        rows: All fixtures.
        ids: The tests whose answers a person accepts; None for all that have one.

    Raises UsageError for an id that has no proposed answer.
    """
    known = {row.id for row in rows if _proposal(row) is not None}
    unknown = [name for name in ids or () if name not in known]
    if unknown or not known:
        named = f"the test {unknown[0]} has" if unknown else "the tests have"
        raise UsageError(
            f"--accept-ground-truth: {named} no proposed answer; ask for answers with "
            "--ground-truth MODEL"
        )
    chosen = known if ids is None else set(ids)
    return tuple(_accept(row) if row.id in chosen else row for row in rows), tuple(
        row.id for row in rows if row.id in chosen
    )


def _accept(row: FixtureRow) -> FixtureRow:
    proposal = dict(_proposal(row) or {})
    answer = proposal.pop("answer")
    rest = {name: value for name, value in row.metadata.items() if name != PROPOSED}
    return with_metadata(row, {**rest, ACCEPTED: proposal}, expected=answer)


def _proposal(row: FixtureRow) -> dict[str, object] | None:
    found = row.metadata.get(PROPOSED)
    return found if isinstance(found, dict) and isinstance(found.get("answer"), str) else None


def lacks_answer(row: FixtureRow) -> bool:
    """Return whether an answer is proposed for the test."""
    data = row.data
    if data.get("turns") or data.get("user"):
        return False  # its answer depends on a whole conversation
    is_open = data.get("expected") is None and isinstance(data.get("vars"), dict)
    return is_open and row.metadata.get(VALID) is not False


async def _answer(asker: Asker, panel: Panel, request: Request) -> tuple[str, Verdict] | None:
    """Return the model's answer with the judges' verdict; None if there is no answer."""
    answer = await asker.text(request, "ground_truth")
    if answer is None or not answer.strip():
        return None
    asked = "\n\n".join(f"{message.role}:\n{message.content}" for message in request.messages)
    return answer, await panel.ask("answer_correct", {"request": asked, "answer": answer})


def _with_proposal(row: FixtureRow, model: str, answer: tuple[str, Verdict] | None) -> FixtureRow:
    before = row.metadata
    metadata = {name: value for name, value in before.items() if name != PROPOSED}
    if answer is not None and answer[1].answer:
        text, verdict = answer
        metadata[PROPOSED] = {
            "answer": text,
            "model": model,
            "score": round(verdict.score, 3),
            "judges": dict(verdict.votes),
        }
    return row if metadata == before else with_metadata(row, metadata)


ALL = "all"
EXAMPLE = '{type: equals, value: "{{ expected }}", when: expected is not none}'


def accept_proposals(plan: GenerationPlan, ids: Sequence[str], root: Path) -> tuple[str, ...]:
    """Write the fixture file, and return the tests that have an expected output now. Calls no
    model.

    Raises UsageError for a test without a proposed answer, MeasurementError and WriteError; then
    the file is not changed.
    """
    rows, changed = accept_answers(plan.present.fixtures, None if ALL in ids else ids)
    require_unchanged(plan.present, root)
    texts = {plan.places.fixtures: write_fixture_rows(rows)}
    replace_files(dict(differing(texts, plan.present)), root)
    return changed


def unused_notice(plan: GenerationPlan) -> str | None:
    """Return what to add if the contract says nothing of `expected`, so that no check compares an
    output with an accepted answer. None if it does, or if there is no contract."""
    contract = plan.present.contract
    if contract is None or "expected" in contract:
        return None
    return (
        f"No check of {plan.places.contract} uses `expected`, so the answers have no effect yet. "
        f"Add a check that compares outputs with them, such as {EXAMPLE}"
    )
