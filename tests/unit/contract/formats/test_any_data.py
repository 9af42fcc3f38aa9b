"""Whatever stands in a foreign file, it is a contract or an error with its place."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.every_foreign_key import EVERY_KEY
from support.foreign_examples import EXAMPLES
from support.foreign_files import revision

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.files.contract_document import contract_paths_of
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import ContractError, Problem
from gatekeeper.gate.validate import prepare_contract

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**6),
    st.just(0.5),
    st.text(max_size=5),
    st.sampled_from(["{{ a }}", "{a}", "{", "a/../b", "#", "expected", "../../x", "{% raw %}"]),
    st.just([]),
    st.just({}),
    st.just([{}]),
    st.just({"a": [1]}),
).map(copy.deepcopy)


def places(value: Any, key: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in the data but the whole."""
    if not isinstance(value, dict | list):
        return []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [place for name, item in items for place in [(*key, name), *places(item, (*key, name))]]


def problems_of(revision: MemoryRevision, path: str) -> Sequence[Problem]:
    try:
        load_contract(revision, path, SHAPES)
    except ContractError as error:
        return error.problems
    return ()


MORE = [(example.path, example.files()) for example in EVERY_KEY if example.format != "prompty"]


@given(st.data())
def test_junk_anywhere_is_an_error_of_the_author(data: st.DataObject) -> None:
    path, written = data.draw(st.sampled_from(sorted(EXAMPLES.items()) + MORE))
    files = dict(written)
    changed = data.draw(st.sampled_from(sorted(f for f in files if f.endswith(".json"))))
    document = copy.deepcopy(json.loads(files[changed]))
    for _ in range(data.draw(st.integers(1, 3))):
        known = places(document)
        if not known:
            break
        *parents, last = data.draw(st.sampled_from(known))
        holder = document
        for part in parents:
            holder = holder[part]
        if data.draw(st.booleans()):
            holder[last] = data.draw(JUNK)
        else:
            del holder[last]
    files[changed] = json.dumps(document)
    made = revision(files)
    for contract in contract_paths_of(made, path):
        assert {problem.path for problem in problems_of(made, contract)} <= files.keys()


@pytest.mark.parametrize(
    ("file", "place", "value"),
    [
        ("evals/mail/es.json", ("output_schema", "required", 0), {}),
        ("evals/mail/es.json", ("output_schema", "required"), "label"),
        ("evals/mail/ep.json", ("targets", 0, "type"), ""),
    ],
)
def test_a_mistake_in_a_mode_that_sends_the_schema_is_an_error(
    file: str, place: tuple[Any, ...], value: Any
) -> None:
    example = next(one for one in EVERY_KEY if one.format == "pcsl")
    document = copy.deepcopy(example.data[file])
    *parents, last = place
    holder = document
    for part in parents:
        holder = holder[part]
    holder[last] = value
    files = {**example.files(), file: json.dumps(document)}
    with pytest.raises(ContractError):
        prepare_contract(revision(files), example.path, Policy())
