"""How many inputs a suite has, and which of them are one."""

from __future__ import annotations

from typing import Any

import pytest
from support.edited_text import edited
from support.recorded_repository import GOOD, WORDS, answers, check, result_of, write_contract

OTHER = "Please say {{ word }}.\n"
MANY = tuple(f"word{i}" for i in range(40))


def codes(result: dict[str, Any]) -> list[tuple[str, str]]:
    """(code of the reason, verdict of the contract) of every contract."""
    return [(r["code"], c["verdict"]) for c in result["contracts"] for r in c["reasons"]]


def test_few_fixtures_are_inconclusive_and_the_policy_decides(git_repository, tmp_path):
    few = git_repository("few")
    bare = edited(GOOD, "slo: {success_rate: 0.5}\n", "")
    write_contract(few, bare, WORDS[:3], answers(OTHER, dict.fromkeys(WORDS[:3], "ok")))
    few.propose({"prompts/words.txt": OTHER})

    assert check(few, tmp_path / "lenient") == 0
    assert codes(result_of(tmp_path / "lenient")) == [("unseen", "inconclusive")]

    few.switch("main")
    few.commit("policy", {".github/gatekeeper.yml": "on_inconclusive: fail\n"})
    few.switch("pr")
    few.git("rebase", "--quiet", "main")

    assert check(few, tmp_path / "strict") == 1


def test_repeated_inputs_are_one_pair_and_reported(git_repository, tmp_path):
    made = git_repository("twice")
    rows = "".join(f"{word}-{i},{word}\n" for word in WORDS for i in range(10))
    write_contract(made, recorded=answers(OTHER, dict.fromkeys(WORDS, "no")))
    made.write("contracts/words.csv", "id,word\n" + rows)
    made.write("contracts/words.yaml", GOOD + "sampling: {mode: fixed}\n")
    made.propose({"prompts/words.txt": OTHER})

    check(made, tmp_path)

    (contract,) = result_of(tmp_path)["contracts"]
    assert (contract["paired"]["fixtures"], contract["paired"]["broke"]) == (6, 6)
    assert contract["paired"]["p_value"] == pytest.approx(1 / 2**6)
    assert sum(fixture["duplicate_of"] is not None for fixture in contract["fixtures"]) == 54
    assert "repeat" in (tmp_path / "comment.md").read_text("utf-8")
