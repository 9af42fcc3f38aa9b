"""Fixtures that flicker on base are named, and count less in the paired test."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.proposals import MANY, NO_SLO, OTHER, PROMPT_FILE, answers, some_say
from support.recorded_repository import PROMPT, contract_files

from gatekeeper.cli.main import main
from gatekeeper.history.record import fixture_key

CONTRACT = "contracts/words.yaml"
FLICKERS = MANY[:10]
FILES = contract_files(NO_SLO, MANY, some_say("no", 3))


@pytest.fixture
def nights_of(git_repository: Any, tmp_path: Path) -> Any:
    """Write a history of so many nights of the base revision, in which some words flicker."""

    def write(count: int, files: Mapping[str, str] = FILES, **changes: Any) -> Path:
        made = git_repository("nightly")
        made.write_all(dict(files))
        made.commit("base")
        past = tmp_path / "runs.jsonl"
        main(["run", "--repo", str(made.path), "--out", str(tmp_path), "--history", str(past)])
        line = json.loads(past.read_text("utf-8"))
        first = datetime.fromisoformat(line["time"])
        lines = []
        for night in range(count):
            fixtures = dict(line["fixtures"])
            fixtures |= {fixture_key(word): [1, night % 2] for word in FLICKERS}
            time = (first - timedelta(days=count - night)).isoformat()
            new = {"id": f"night-{night}", "time": time, "fixtures": fixtures}
            lines.append(json.dumps(line | new | changes) + "\n")
        past.write_text("".join(lines), "utf-8")
        return past

    return write


def test_fixtures_that_flicker_count_less(check_of: Any, nights_of: Any) -> None:
    past = nights_of(8)
    checked = check_of(FILES, {PROMPT_FILE: OTHER}, "--history", str(past))
    weights = checked.contract["paired"]["weights"]
    assert {weights[word] for word in FLICKERS} == {2}
    assert {weights[word] for word in MANY[10:]} == {8}
    assert "sign-flip test" in checked.contract["paired"]["method"]
    assert "fixtures that flicker count less" in checked.comment
    [said] = checked.contract["warnings"]
    assert said.startswith("10 fixtures flicker on base (")
    assert said in checked.comment


def test_quarantine_keeps_the_past_and_its_fixtures_are_not_named(
    check_of: Any, nights_of: Any
) -> None:
    past = nights_of(8)
    entries = (
        f"  - {{fixture: {word}, owner: a, until: 2999-01-01, why: b}}\n" for word in FLICKERS[1:]
    )
    held = {**FILES, CONTRACT: f"{NO_SLO}quarantine:\n{''.join(entries)}"}
    checked = check_of(held, {PROMPT_FILE: OTHER}, "--history", str(past))
    assert checked.contract["paired"]["weights"][MANY[0]] == 2
    assert f"1 fixture flickers on base ({MANY[0]})" in checked.contract["warnings"][-1]


def test_two_samples_of_base_that_pass_and_two_that_fail_are_flicker(check_of: Any) -> None:
    answered = {word: ["ok"] * 9 for word in MANY}
    mixed = {MANY[0]: ["ok", "no"] * 4, MANY[1]: ["no"] + ["ok"] * 8}
    recorded = {**answers(PROMPT, answered | mixed), **answers(OTHER, answered)}
    contract = f"{NO_SLO}sampling: {{samples: 4, mode: fixed}}\n"
    checked = check_of(contract_files(contract, MANY, recorded), {PROMPT_FILE: OTHER})
    assert [w for w in checked.contract["warnings"] if "flicker" in w] == [
        f"1 fixture flickers on base ({MANY[0]}); mend it, or put it in `quarantine`"
    ]


def test_validate_names_them_if_the_history_is_a_file(
    git_repository: Any, nights_of: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    past = nights_of(8)
    made = git_repository("named")
    entry = f"quarantine: [{{fixture: {MANY[0]}, owner: a, until: 2999-01-01, why: b}}]\n"
    policy = {".github/gatekeeper.yml": "history: runs.jsonl\n"}
    made.write_all({**FILES, CONTRACT: NO_SLO + entry, **policy})
    (made.path / "runs.jsonl").write_bytes(past.read_bytes())
    made.commit("base")
    main(["validate", "--repo", str(made.path)])
    said = capsys.readouterr()
    assert "9 fixtures flicker on base" in " ".join((said.out + said.err).split())


@pytest.mark.parametrize(
    ("count", "changes"),
    [(7, {}), (9, {"contract_digest": "another"})],
)
def test_too_few_nights_of_base_weigh_nothing(
    check_of: Any, nights_of: Any, count: int, changes: dict[str, Any]
) -> None:
    past = nights_of(count, **changes)
    checked = check_of(FILES, {PROMPT_FILE: OTHER}, "--history", str(past))
    assert checked.contract["paired"]["weights"] == {}
    assert "count less" not in checked.comment


def test_a_contract_that_head_wrote_has_no_past(check_of: Any, nights_of: Any) -> None:
    past = nights_of(12)
    lenient = edited(NO_SLO, "pattern: ok", "pattern: k")
    assert lenient != NO_SLO
    change = {PROMPT_FILE: OTHER, CONTRACT: lenient}
    checked = check_of(FILES, change, "--history", str(past))
    assert checked.contract["paired"]["weights"] == {}
    assert checked.contract["under_base"]["paired"]["weights"][MANY[0]] == 1
