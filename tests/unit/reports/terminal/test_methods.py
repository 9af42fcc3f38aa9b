"""What the methods that papers name find, for `gatekeeper diff --methods`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support import early_results
from support import results as examples

from gatekeeper.reports.described.result import describe_methods
from gatekeeper.reports.html import render_html
from gatekeeper.reports.markdown.comment import render_comment, render_summary
from gatekeeper.reports.terminal.console import print_blocks


def test_each_contract_has_the_methods_by_their_keys(capsys: pytest.CaptureFixture[str]) -> None:
    contract = early_results.early_contract()
    alone = replace(contract, name="##[group]alone", base=None, paired=None)
    print_blocks(describe_methods(examples.result(contract, alone)))
    lines = capsys.readouterr().out.splitlines()
    for line in (
        "speech-tag: methods that decide nothing",
        "  mcnemar_exact: p = 0.002",
        "  difference, newcombe: -1.0000 to -0.5500",
        "  success rate on head, jeffreys: 0.0000 to 0.2170",
    ):
        assert line in lines
    assert not any(line.startswith("##[") for line in lines)


def test_reports_show_no_method_that_decides_nothing() -> None:
    result = early_results.EARLY
    for render in (render_comment, render_summary, render_html):
        text = render(result).partition("<script")[0]
        assert "chi-square" not in text
        assert "Jeffreys" not in text
        assert "Newcombe" not in text
