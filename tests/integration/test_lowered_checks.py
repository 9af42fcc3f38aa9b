"""Weaken first, break after: the second pull request's report remembers what the first lowered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.edited_text import edited
from support.past_runs import line
from support.proposals import MANY, NO_SLO, OTHER, PROMPT_FILE, all_say
from support.recorded_repository import contract_files

from gatekeeper.cli.main import main
from gatekeeper.history.stores.lines import to_record

CHECKS = (
    "  - {type: regex, pattern: ok, name: says ok, severity: warn}\n"
    "  - {type: length, max: 99, name: short}\n"
)
LOWERED = edited(NO_SLO, "  - {type: regex, pattern: ok}\n", CHECKS)


def test_a_severity_lowered_by_an_earlier_change_is_in_the_report(
    check_of: Any, tmp_path: Path
) -> None:
    files = contract_files(LOWERED, MANY, all_say("no"))
    past = tmp_path / "runs.jsonl"
    earlier = (datetime.now(UTC) - timedelta(days=3)).isoformat()
    named = {"contract": "words", "time": earlier}
    past.write_text(line(**named) + "\n" + line(**named, error_checks=["says ok", "short"]) + "\n")
    checked = check_of(files, {PROMPT_FILE: OTHER}, "--history", str(past))
    assert (checked.code, checked.contract["weakened"]) == (0, [])
    [warning] = [text for text in checked.contract["warnings"] if "says ok" in text]
    assert "error to warn" in warning
    assert "The severity of the check `says ok` was lowered from error to warn" in checked.comment


def test_a_run_keeps_which_checks_gate(git_repository: Any, tmp_path: Path) -> None:
    made = git_repository("words")
    made.write_all(dict(contract_files(LOWERED, MANY)))
    made.commit("base")
    past = tmp_path / "runs.jsonl"
    where = ["--repo", str(made.path), "--out", str(tmp_path)]
    main(["run", *where, "--history", str(past)])
    assert to_record(past.read_bytes().strip()).error_checks == ("short",)
