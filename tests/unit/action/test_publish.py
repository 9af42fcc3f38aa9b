"""What an answer does beside telling: where files go, whom they belong to, known faults."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from pyarrow import parquet
from support import results as examples
from support.machine_needs import ROOT_USER

from gatekeeper.action import publish as answer
from gatekeeper.action.inputs import ActionInputs
from gatekeeper.errors import UsageError
from gatekeeper.reports.formats import Format

SETTINGS = ActionInputs("pull_request", Path("event"), Path("workspace"), "o/r", token="ghs_token")


def test_an_error_leaves_a_comment_file_that_follows_no_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("kept")
    out = tmp_path / "workspace" / "out"
    out.mkdir(parents=True)
    (out / "comment.md").symlink_to(elsewhere)
    settings = replace(SETTINGS, workspace=out.parent, out=Path("out"), secrets=("hunter2hunter2",))
    told = answer.answer_to_error(UsageError("no such hunter2hunter2"), settings)
    assert told.exit_code == 2
    assert told.title == "Invalid input: no such ***"
    assert elsewhere.read_text() == "kept"
    assert "no such ***" in (out / "comment.md").read_text()


@ROOT_USER.mark
def test_reports_belong_to_whom_the_workspace_belongs(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    os.chown(workspace, 1001, 1002)
    settings = replace(SETTINGS, workspace=workspace, out=Path("a/b"))
    answer.answer_to_error(UsageError("text"), settings)
    owners = {(p.stat().st_uid, p.stat().st_gid) for p in workspace.rglob("*")}
    assert len(list(workspace.rglob("*"))) == 3
    assert owners == {(1001, 1002)}


def test_no_report_of_any_format_holds_a_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = 'sk-"hunter2\\hunter2'
    contract = examples.failing_contract()
    assert contract.head is not None
    head = replace(contract.head, model=secret, prompt_text=secret)
    fixture = examples.fixture(0, "broke", head_output=f"it is {secret}")
    reasons = tuple(replace(reason, text=secret) for reason in contract.reasons)
    told = replace(contract, head=head, fixtures=(fixture,), reasons=reasons, path=secret)
    result = replace(examples.result(told), outcomes=(examples.outcome(text=f"={secret};"),))
    settings = replace(
        SETTINGS,
        workspace=tmp_path,
        out=Path("out"),
        secrets=(secret,),
        formats=get_args(Format),
    )
    answer.answer_to(result, tmp_path / "out", settings)
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert {"samples.csv", "metrics.prom", "gatekeeper.sarif", "badge.json"} < set(files)
    for name, content in files.items():
        assert b"hunter2" not in content, name
    (row,) = parquet.read_table(tmp_path / "out" / "samples.parquet").to_pylist()
    assert row["output"] == "=***;"
    fixtures = parquet.read_table(tmp_path / "out" / "fixtures.parquet").to_pylist()
    assert fixtures[0]["head_output"] == "it is ***"
