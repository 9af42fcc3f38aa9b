"""Which models a contract's judges are: its own `judge`, and what a check sets for itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.checks.judge_settings import judges_named_in, with_contract_judge

JUDGE = {"model": "a/m", "params": {"temperature": 0, "max_tokens": 9}, "decide": "unanimous"}


def test_a_check_without_its_own_settings_has_the_contracts():
    found = with_contract_judge(JUDGE, {"judge": "tone", "tone": "kind"})
    assert found == {"judge": "tone", "tone": "kind", **JUDGE}


@pytest.mark.parametrize("own", [{"model": "b/m"}, {"models": ["b/m", "c/m"]}])
def test_a_checks_own_models_replace_the_contracts(own: dict[str, Any]):
    found = with_contract_judge(JUDGE, own)
    assert {name: found[name] for name in found if name in ("model", "models")} == own


def test_parameters_are_merged_by_name():
    found = with_contract_judge(JUDGE, {"params": {"temperature": 1}})
    assert found["params"] == {"temperature": 1, "max_tokens": 9}


def test_every_place_that_can_name_a_judge_is_read():
    data = {
        "judge": {"models": ["a/1", "a/2"]},
        "checks": [
            {"judge": "tone", "model": "b/1"},
            {
                "type": "all_of",
                "checks": [{"type": "any_of", "checks": [{"judge": "x", "model": "c/1"}]}],
            },
            {"type": "contains", "model": "not/a judge"},
        ],
        "fixtures": [{"checks": [{"judge": "rubric", "models": ["d/1"]}]}],
        "groups": {"tone": {"checks": [{"type": "judge", "judge": "tone", "model": "e/1"}]}},
        "repair": {"similar": {"model": "v/1", "min": 0.9}},
        "slo": {
            "consistency": {"target": 1, "similar": {"model": "v/2", "min": 0.9}},
            "categories": {"x": {"consistency": {"target": 1, "similar": {"model": "v/3"}}}},
        },
    }
    embedders, judges = ["v/1", "v/2", "v/3"], ["a/1", "a/2", "b/1", "c/1", "d/1", "e/1"]
    assert [*judges_named_in(data)] == [*embedders, *judges]


_KEYS = ["judge", "checks", "model", "models", "fixtures", "groups", "x"]
_KEYS += ["slo", "repair", "categories", "consistency", "similar"]
_ANY = st.recursive(
    st.none() | st.text() | st.integers(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(_KEYS),
            inner,
        )
    ),
)


@given(st.dictionaries(st.sampled_from(["judge", "checks", "fixtures", "groups"]), _ANY))
def test_no_file_raises(data: dict[str, Any]):
    assert all(isinstance(model, str) for model in judges_named_in(data))
