"""Related fixtures count as one, from the file of fixtures to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.proposals import FIXTURES, MANY, NO_SLO, OTHER, PROMPT_FILE, all_say, some_say
from support.recorded_repository import GOOD, contract_files, result_of

from gatekeeper.cli.main import main


def rows(size: int) -> str:
    """The words in families of so many; 1 names no cluster."""
    names = (f"family {n // size}" if size > 1 else "" for n in range(len(MANY)))
    return "id,word,cluster\n" + "".join(f"{w},{w},{c}\n" for w, c in zip(MANY, names, strict=True))


def base(size: int, broken: int = 10, contract: str = NO_SLO) -> dict[str, str]:
    recorded = all_say("ok") | some_say("no", broken)
    return contract_files(contract, MANY, recorded) | {FIXTURES: rows(size)}


CHANGE = {PROMPT_FILE: OTHER}


def test_ten_fixtures_without_clusters_are_ten_that_broke(check_of: Any) -> None:
    found = check_of(base(1), CHANGE)
    assert (found.contract["verdict"], found.contract["paired"]["clusters"]) == ("fail", None)


def test_ten_fixtures_of_one_family_are_one_that_broke(check_of: Any) -> None:
    family = check_of(base(10), CHANGE)
    paired = family.contract["paired"]
    assert family.contract["verdict"] != "fail"
    assert paired["clusters"] == {"total": 4, "broke": 1, "fixed": 0}
    assert (paired["fixtures"], paired["p_value"]) == (40, 0.5)
    assert "clusters" in paired["method"]
    [text] = [r["text"] for r in family.contract["reasons"] if r["code"] != "broke"]
    assert "40 fixtures in 4 clusters" in text
    [broke] = [r["text"] for r in family.contract["reasons"] if r["code"] == "broke"]
    assert broke.startswith("10 fixtures broke")


def test_families_that_all_break_are_found(check_of: Any) -> None:
    found = check_of(base(4, broken=28), CHANGE)
    assert (found.code, found.contract["verdict"]) == (1, "fail")
    assert found.contract["paired"]["clusters"]["broke"] >= 6  # it is sure before the last


@pytest.mark.long
def test_a_pull_request_cannot_join_what_it_breaks(check_of: Any) -> None:
    """The base contract uses its own clusters, and the joining is named."""
    found = check_of(base(1), CHANGE | {FIXTURES: rows(20)})
    contract = found.contract

    assert (found.code, contract["verdict"]) == (1, "fail")
    assert any("count as one" in text for text in contract["weakened"])
    assert "regression" in {r["code"] for r in contract["reasons"] if r["contract_from"] == "base"}
    assert contract["paired"]["clusters"]["total"] == 2
    assert contract["under_base"]["paired"]["clusters"] is None
    # Its own comparison was cut before a first cluster was complete, and finds no fault with that.
    assert "error" not in {r["code"] for r in contract["reasons"]}


def test_joining_alone_is_a_weakening(check_of: Any) -> None:
    found = check_of(base(2), {FIXTURES: rows(4)})
    assert len(found.contract["weakened"]) == 10


def test_another_name_is_none(check_of: Any) -> None:
    found = check_of(base(2), {FIXTURES: edited(rows(2), "family", "kin")})
    assert found.result["contracts"] == []


@pytest.mark.parametrize(("size", "inputs", "met"), [(1, 40, True), (10, 4, None)])
def test_an_objective_counts_clusters(check_of: Any, size: int, inputs: int, met: Any) -> None:
    found = check_of(base(size, 0, GOOD.replace("0.5", "0.8")), CHANGE)
    [objective] = found.contract["slo"]
    assert (objective["inputs"], objective["met"], objective["clustered"]) == (
        inputs,
        met,
        size > 1,
    )


def test_validate_counts_clusters_and_proposes_more(tmp_path: Path, capsys: Any) -> None:
    letter = "please tell me where my order of last week is for it has not come"
    repository = GitRepository.create(tmp_path / "words")
    repository.write_all(base(10) | {FIXTURES: rows(10) + f"a,{letter} 1,\nb,{letter} 2,\n"})
    assert main(["validate", "--repo", str(repository.path)]) == 0

    said = capsys.readouterr().out
    assert "42 in 6 clusters" in said
    assert "`a`, `b` (proposed cluster: `a`)" in said


def test_two_runs_are_compared_by_the_clusters_of_their_samples(tmp_path: Path) -> None:
    repository = GitRepository.create(tmp_path / "words")
    repository.write_all(base(10))
    repository.propose(CHANGE)
    for ref in ("main", "pr"):
        asked = ["run", "--repo", str(repository.path), "--ref", ref]
        assert main([*asked, "--out", str(tmp_path / ref)]) in (0, 1)

    runs = [str(tmp_path / "main"), str(tmp_path / "pr")]
    main(["diff", *runs, "--repo", str(repository.path), "--out", str(tmp_path / "diff")])

    [contract] = result_of(tmp_path / "diff")["contracts"]
    assert contract["paired"]["clusters"] == {"total": 4, "broke": 1, "fixed": 0}
    assert {f["cluster"] for f in contract["fixtures"]} == {f"family {n}" for n in range(4)}
