"""Weaken first, break after: a contract that asks less of the pull request that comes next."""

from __future__ import annotations

import json

import pytest
from support.proposals import CONTRACT, FIXTURES, MANY, NO_SLO, all_say, some_say
from support.recorded_repository import contract_files, csv

STRICT = "on_loosening: require_waiver\n"
MORE = "contracts/new.jsonl"
TWO = NO_SLO.replace("  - file: words.csv\n", "  - file: words.csv\n  - file: new.jsonl\n")
BASE = contract_files(NO_SLO, MANY, all_say("ok") | some_say("no", 20))


def rows(cluster: str, **more: str) -> str:
    """New fixtures that repeat the inputs of the old ones and share a cluster."""
    return "".join(
        json.dumps({"id": f"n-{word}", "vars": {"word": word, **more}, "cluster": cluster}) + "\n"
        for word in MANY
    )


@pytest.mark.parametrize(
    "added",
    [
        pytest.param(rows("all", note="1"), id="a variable that no prompt uses"),
        pytest.param(rows("all"), id="the same variables"),
        pytest.param(rows("all", a="1") + rows("all", b="2").replace("n-", "m-"), id="twice"),
    ],
)
def test_new_fixtures_cannot_join_the_old_ones_unnoticed(judged, added):
    answered = judged(BASE, {MORE: added, CONTRACT: TWO}, policy=STRICT)

    assert (answered.exit_code, answered.verdict) == (1, "fail")
    assert answered.reasons() == {"weakened"}
    assert "count as one, before as 40" in answered.text


def test_new_fixtures_with_clusters_of_their_own_weaken_nothing(judged):
    others = rows("all", note="1").replace('"word": "', '"word": "other ')
    base = BASE | contract_files(
        NO_SLO, (*MANY, *(f"other {word}" for word in MANY)), some_say("no", 20)
    )
    base[FIXTURES] = csv(MANY)
    answered = judged(base, {MORE: others, CONTRACT: TWO}, policy=STRICT)

    assert answered.exit_code == 0
    assert answered.reasons() == set()
