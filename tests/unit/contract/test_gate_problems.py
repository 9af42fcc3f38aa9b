"""Mistakes in `gate` that depend on the fixtures."""

from __future__ import annotations

import re

import pytest
from support.edited_text import edited

from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.definition import CheckShape
from gatekeeper.errors import ContractError

SHAPES = {"equals": CheckShape({"type": "object", "properties": {"value": {}}})}
CONTRACT = """\
contract: 1
name: tag
prompt: tag.txt
model: m/one
checks: [{type: equals, value: x}]
gate: GATE
fixtures:
  - {id: a, vars: {word: a}, category: refund}
  - {id: b, vars: {word: b}, category: "2024"}
  - {id: c, vars: {word: c}OTHER}
"""


def load(gate: str, other: str = ", category: refund", *, labels: bool = True):
    text = edited(CONTRACT, "GATE", gate, "OTHER", other)
    if not labels:
        text = re.sub(", category: [^}]*}", "}", text)
    files = {"c.yaml": text.encode(), "tag.txt": b"{{ word }}"}
    return load_contract(MemoryRevision(files, "h" * 40), "c.yaml", SHAPES)


@pytest.mark.parametrize(
    ("gate", "other", "what", "fix"),
    [
        ("{weights: {refund: 1}}", "", "`gate.weights` needs `gate.slices`", "add `slices:"),
        ("{slices: category, claim: fixtures}", "", "does not gate on inputs", "remove one"),
        ("{slices: language}", "", "is not one of category", "listed values"),
        (
            "{slices: category, weights: {refund: 3, '2024': 1}}",
            "",
            "fixture `c` has no `category`",
            "give every fixture",
        ),
        (
            "{slices: category, weights: {refund: 3}}",
            ", category: refund",
            "the category `2024` has no weight",
            "add `2024: 1`",
        ),
        (
            "{slices: category, weights: {refunds: 3, refund: 1, '2024': 1}}",
            ", category: refund",
            "no fixture has the category `refunds`",
            "refund",
        ),
        ("{slices: category, weights: {refund: 0}}", "", "0", ""),
        ("{on: score, claim: fixtures}", "", "does not gate on them", "remove one"),
        ("{on: scores}", "", "is not one of pass, score", "`score`"),
        (
            "{on: score}\nsampling: {samples: 3, aggregate: any}",
            "",
            "`aggregate: any` counts passes",
            "`aggregate: majority`",
        ),
        ("{slices: category, weights: {refund: 1.5}}", "", "1.5", ""),
    ],
)
def test_a_mistake_is_named_with_its_line_and_a_way_out(gate, other, what, fix) -> None:
    with pytest.raises(ContractError) as caught:
        load(gate, other)
    found = caught.value.problems
    assert any(what in p.what and fix in p.fix and p.line == 6 for p in found), found


def test_slices_need_categories_and_not_too_many() -> None:
    with pytest.raises(ContractError, match="no fixture has a `category`"):
        load("{slices: category}", labels=False)
    more = "".join(f"\n  - {{id: x{n}, vars: {{word: x{n}}}, category: c{n}}}" for n in range(40))
    with pytest.raises(ContractError, match="42 categories, but at most 30 can gate"):
        load("{slices: category}", "}" + more.rstrip("}"))


def test_weights_may_be_written_as_whole_floats_and_numbers_may_name_a_category() -> None:
    gate = load("{slices: category, weights: {refund: 3.0, 2024: 1}}").gate
    assert gate.weights == (("2024", 1), ("refund", 3))
