"""`gate.on: score`: the paired test compares scores, which say more than passes."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field

import pytest
from support.edited_text import edited

from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.gate.pipeline import RunContext, measure
from gatekeeper.gate.work import plan_check
from gatekeeper.reports.formats.junit import render_junit
from gatekeeper.reports.formats.result_json import render_result
from gatekeeper.reports.markdown.comment import render_comment

CONTRACT = """\
contract: 1
name: titles
prompt: titles.txt
model: m/titles
params: {temperature: 1}
fixtures: [{file: titles.csv}]
checks: [{type: similarity, value: abcdefghijklmnopqrst, min: 0.3}]
sampling: {samples: SAMPLES}
gate: {claim: inputs, GATE}
"""
TITLE = "abcdefghijklmnopqrst"


@dataclass
class Author:
    """Writes a title with some letters wrong: on each arm as many as its mean, more or less."""

    base: float = 2
    head: float = 2
    seed: int = 1
    lost: frozenset[str] = field(default_factory=frozenset)

    async def complete(self, request: Request) -> Completion:
        arm, title = request.messages[0].content.split(" ")[:2]
        await asyncio.sleep(0)
        if arm == "Head" and title in self.lost:
            raise CallFailed("the connection was lost")
        drawn = random.Random(f"{self.seed} {arm} {title} {request.repetition}")  # noqa: S311
        wrong = round(max(0, drawn.gauss(self.base if arm == "Base" else self.head, 2)))
        return Completion(TITLE[: len(TITLE) - wrong] + "!" * wrong, 5.0)

    async def aclose(self) -> None:
        """Nothing is open."""


def revision(arm: str, gate: str, titles: int, samples: int) -> MemoryRevision:
    contract = edited(CONTRACT, "GATE", gate, "SAMPLES", str(samples))
    rows = "".join(f"t{n},t{n},{'long' if n % 2 else 'short'}\n" for n in range(titles))
    files = {
        "contracts/titles.yaml": contract,
        "contracts/titles.txt": f"{arm} {{{{ title }}}}",
        "contracts/titles.csv": f"id,title,category\n{rows}",
    }
    return MemoryRevision({p: t.encode() for p, t in files.items()}, arm[0].lower() * 40)


def check(
    author: Author, gate: str = "on: score", *, titles: int = 20, samples: int = 1, head: str = ""
):
    arms = revision("Base", gate, titles, samples), revision("Head", head or gate, titles, samples)
    work = plan_check(Change(*arms), Policy(limits=Limits(None, None, None, 8)), order_seed="1")
    result = asyncio.run(measure(work, RunContext(author)))
    return result, result.contracts[0]


WORSE = Author(2, 5)


@pytest.mark.parametrize("samples", [1, 3])
def test_a_lower_score_fails_although_every_answer_passes(samples: int) -> None:
    assert check(WORSE, "on: pass", samples=samples)[0].exit_code == 0
    result, found = check(WORSE, samples=samples)
    assert result.exit_code == 1
    paired = found.paired
    assert (paired.broke, paired.fixed) == (0, 0)
    base, head = paired.scores
    assert paired.difference == pytest.approx(head - base)
    [reason] = [r for r in found.reasons if r.verdict == "fail"]
    assert reason.text.startswith(f"Worse than base: mean score fell from {round(base, 3):g} to ")
    assert "sign-flip test of scores" in reason.text


def test_every_report_speaks_of_scores() -> None:
    result, found = check(WORSE)
    comment = render_comment(result)
    assert "mean score fell from" in comment
    assert "points" not in comment.split("How this was decided")[0]
    document = json.loads(render_result(result))["contracts"][0]["paired"]
    assert document["scores"] == pytest.approx(list(found.paired.scores))
    assert max(document["interval"]) < 0
    assert 'name="difference" value="−0.' in render_junit(result)


@pytest.mark.parametrize("seed", range(3))
def test_a_better_score_and_the_same_score_pass(seed: int) -> None:
    assert check(Author(5, 2, seed))[0].exit_code == 0
    assert check(Author(0, 0, seed), samples=2)[0].exit_code == 0


def test_the_margin_is_a_score() -> None:
    """A drop of about 0.05 that nothing proves: open by a margin of 0.01, and not by one of 0.2."""
    author = Author(2, 3, 4)
    assert check(author, "on: score, margin: 0.01", titles=6)[1].verdict == "inconclusive"
    found = check(author, "on: score, margin: 0.2", titles=6)[1]
    assert found.verdict == "pass"


def test_missing_answers_count_against_head() -> None:
    """Half of head's answers are lost: each may have had the score 0."""
    lost = frozenset(f"t{n}" for n in range(10))
    result, found = check(Author(2, 2, lost=lost))
    assert result.exit_code != 0
    assert found.verdict == "error"
    assert found.paired.unmeasured == 10


def test_scores_gate_by_category_too() -> None:
    _, found = check(WORSE, "on: score, slices: category", titles=40)
    assert [one.category for one in found.paired.slices] == ["short", "long"]
    assert all(one.scores for one in found.paired.slices)


def test_head_cannot_turn_scores_off() -> None:
    result, found = check(WORSE, head="on: pass")
    assert result.exit_code == 1
    assert "gate.on changed from score to pass" in found.weakened
    [reason] = [r for r in found.reasons if r.code == "regression"]
    assert reason.contract_from == "base"
