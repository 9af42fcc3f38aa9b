"""A search for harmful edits after a block that was chance, and among fixtures that flicker."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
from support.evaluations import evaluation_of
from support.fake_client import UNLIMITED, FakeClient, content
from support.outcomes import outcome

from gatekeeper.author.blame.measure import Search, find_broken
from gatekeeper.author.blame.result import NOT_CONFIRMED, BlameResult, sentences
from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.trial import Completion, Outcome, Request

NAMES = [f"f{number:02}" for number in range(40)]
CONTRACT = (
    "contract: 1\nname: words\nprompt: ../words.txt\nmodel: openai/gpt-4o-mini\n"
    "sampling: {samples: 2}\nchecks: [{type: equals, value: ok}]\nfixtures:\n"
) + "".join(f"- {{id: {name}, vars: {{x: {name}}}}}\n" for name in NAMES)
RULES = "One.\nTwo.\nThree.\nFour.\n"


def _loaded(rules: str):
    files = {"contracts/words.yaml": CONTRACT, "words.txt": f"{rules}\n{{{{ x }}}}\n"}
    revision = MemoryRevision({path: text.encode() for path, text in files.items()})
    return load_contract(revision, "contracts/words.yaml", SHAPES)


def _outcomes(failing: dict[str, set[str]], *, fresh: bool = False) -> list[Outcome]:
    found = [
        outcome(name, arm, repetition, name not in failing[arm])
        for name in (NAMES if not fresh else sorted(failing["head"]))
        for repetition in range(2)
        for arm in ("base", "head")
    ]
    return [
        replace(o, sample=replace(o.sample, trial=replace(o.sample.trial, confirms=fresh)))
        for o in found
    ]


def _searched(
    client: FakeClient, outcomes: list[Outcome], confirmed: frozenset[str] = frozenset()
) -> BlameResult:
    broken = find_broken(outcomes, confirmed)
    assert broken
    head = _loaded(RULES.replace(".", "!"))
    evaluation = evaluation_of(head, _loaded(RULES).target, evaluator=prepare(head))
    return asyncio.run(Search(evaluation, broken, client, UNLIMITED).blame())


@pytest.mark.parametrize("failing", [0.05, 0.4])
def test_a_block_that_was_chance_blames_no_edit(failing: float) -> None:
    """Nine fixtures failed on head by chance. Every answer is as likely to fail with any edit."""
    outcomes = _outcomes({"base": set(), "head": set(NAMES[:9])})
    blamed = 0
    for seed in range(20):
        drawn = random.Random(seed)  # noqa: S311
        client = FakeClient(lambda _, d=drawn: Completion("no" if d.random() < failing else "ok"))
        found = _searched(client, outcomes)
        blamed += bool(found.causes)
        if not found.causes:
            assert found.ended == NOT_CONFIRMED
            assert list(sentences(found)) == [
                f"gatekeeper blames no edit, because {NOT_CONFIRMED}."
            ]
    assert blamed <= 1


def test_the_edit_that_breaks_confirmed_fixtures_is_found_among_others_that_flicker() -> None:
    """An edit breaks four refund tickets of 40, and six others failed on head by chance."""
    refunds, flickering = set(NAMES[:4]), set(NAMES[10:16])
    outcomes = _outcomes({"base": set(), "head": refunds | flickering})
    outcomes += _outcomes({"base": set(), "head": refunds}, fresh=True)

    def answer(request: Request) -> Completion:
        asked = content(request)
        return Completion("no" if "Three!" in asked and asked.split()[-1] in refunds else "ok")

    found = _searched(FakeClient(answer), outcomes, frozenset(refunds))
    assert set(found.fixtures) == refunds
    (cause,) = found.causes
    assert [edit.after for edit in cause.edits] == ["Three!\n"]
    said = list(sentences(found))
    assert "accounts for 4 of 4 broken fixtures" in said[0]
    assert said[1] == "Without this edit, the other 3 edits do not break these fixtures."


def test_a_real_drop_is_searched_as_soon_as_seven_fresh_pairs_break() -> None:
    outcomes = _outcomes({"base": set(), "head": set(NAMES[:9])})
    client = FakeClient(lambda r: Completion("no" if "Two!" in content(r) else "ok"))
    found = _searched(client, outcomes)
    assert [edit.after for cause in found.causes for edit in cause.edits] == ["Two!\n"]
    assert found.outcome == "explained"
