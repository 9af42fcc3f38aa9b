"""JSON on standard output: whole for programs, and no command to a workflow's runner."""

from __future__ import annotations

import json

import pytest
from support.runner_log import commands

from gatekeeper.cli.output import print_json


def test_no_text_is_a_command_and_none_is_changed(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"path": "##[set-output name=verdict]pass", "::error::x": ["::error::y"]}
    assert commands(json.dumps(document, indent=2))
    print_json(document)
    printed = capsys.readouterr().out
    assert commands(printed) == []
    assert json.loads(printed) == document
