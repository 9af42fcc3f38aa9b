"""What a person at a terminal sees, and what a log gets."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from support import early_results
from support import early_results as early_examples
from support import results as examples

from gatekeeper.contract.values.change import AffectedBy
from gatekeeper.contract.values.trial import CheckResult
from gatekeeper.gate.results.result import GateResult, Reason
from gatekeeper.reports.described.result import describe_methods
from gatekeeper.reports.document import Paragraph, Table
from gatekeeper.reports.html import render_html
from gatekeeper.reports.markdown.comment import render_comment, render_summary
from gatekeeper.reports.terminal.console import (
    log_console,
    print_blocks,
    print_estimate,
    print_result,
)
from gatekeeper.stats.objectives.error_budget import ErrorBudget


@dataclass(frozen=True, kw_only=True)
class _Estimate:
    calls: int = 400
    fewest_calls: int = 400
    expected_calls: int = 400
    tokens: int | None = 52_000
    most_tokens: int | None = 1_200_000
    cost_usd: float | None = 0.0084
    worst_cost_usd: float | None = 0.41
    judge_calls: int = 0
    user_calls: int = 0


@dataclass(frozen=True)
class _ContractEstimate(_Estimate):
    name: str = "speech-tag"
    path: str = "contracts/speech-tag.yaml"
    affected_by: tuple[AffectedBy, ...] = (AffectedBy("prompts/a.md", "modified"),)
    model: str | None = "openai/gpt-4o-mini"
    fixtures: int = 40
    minimum_detectable_effect: float | None = 0.12
    removed: bool = False
    warning: str | None = None


@dataclass(frozen=True)
class _RunEstimate(_Estimate):
    contracts: tuple[_ContractEstimate, ...] = (_ContractEstimate(),)
    uncovered: tuple[str, ...] = ()
    unaffected: int = 12
    notices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def _console(*, terminal: bool = False, width: int = 160) -> Console:
    return Console(
        file=io.StringIO(), width=width, force_terminal=terminal, highlight=False, no_color=False
    )


def _printed(result: GateResult, **files: Path) -> str:
    console = _console()
    print_result(result, files, console)
    return _text(console)


def _text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().replace("\u00a0", " ")


def _forecast(forecast: _RunEstimate) -> str:
    console = _console()
    print_estimate(forecast, console)  # type: ignore[arg-type]
    return _text(console)


def test_the_end_of_a_failed_run() -> None:
    text = _printed(examples.FAIL, **{"result.json": Path("out/result.json")})
    assert "95 % (38/40)" in text
    assert "−20 points [−28.3, −12.9]" in text
    assert "❌ speech-tag regression: Worse than base" in text
    assert "broke nn-000 5/5 → 1/5, is a tag: the output does not match" in text
    assert "…and 2 more" in text
    assert "success rate missed" in text
    assert "400 calls made, 120 not needed; cost 0.0084 USD; 42 s" in text
    assert "out: result.json" in text
    assert text.endswith("❌ Do not merge: `speech-tag` got worse\n")


def test_a_log_gets_no_escape_codes_and_a_terminal_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b" not in _printed(examples.FAIL)
    console = _console(terminal=True)
    print_result(examples.FAIL, None, console)
    assert "\x1b[" in _text(console)


def test_what_is_no_terminal_has_no_width() -> None:
    """A row and a sentence are a line each, however narrow the terminal that started it."""
    environment = {**os.environ, "COLUMNS": "60"}
    environment.pop("FORCE_COLOR", None)
    program = (
        "import sys; sys.path.insert(0, 'tests');"
        "from support import results as examples;"
        "from gatekeeper.reports.terminal.console import print_result;"
        "print_result(examples.FAIL)"
    )
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    head, first, *_ = done.stdout.replace("\u00a0", " ").splitlines()
    titles = ["contract", "base", "head", "difference [95 %]", "p", "SLO", "budget left", "verdict"]
    assert re.split(r"\s{2,}", head.strip()) == titles
    assert re.split(r"\s{2,}", first.strip()) == [
        "speech-tag",
        "95 % (38/40)",
        "75 % (30/40)",
        "−20 points [−28.3, −12.9]",
        "0.011",
        "success rate missed; 1 met",
        "61.7 %",
        "fail",
    ]
    assert "interval 72.5 % to 77.5 %.\n" in done.stdout


@pytest.mark.parametrize("variables", [{}, {"FORCE_COLOR": "1"}, {"COLUMNS": "60"}])
def test_no_line_is_so_long_that_its_end_is_a_command(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workflow's runner reads each line of a log, and so the rest of a line that is wrapped."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    file = io.StringIO()
    long = [f"{'a ' * 5_000}::error::x", f"{'a' * 10_000}::error::x", "::error::x " * 1_000]
    lines = [Paragraph(text) for text in long]
    tables = [Table(["title", text], [[text, "short"]]) for text in long]
    print_blocks([*lines, *tables], log_console(file))
    text = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert text.count("error::x") == (2 + 1_000) * 3
    assert not re.search(r"^\s*::", text, re.MULTILINE)


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    print_result(examples.FAIL, None, console)
    assert "\x1b[31" not in _text(console)
    assert "\x1b[1;31" not in _text(console)


@pytest.mark.parametrize("name", [name for name in early_examples.EVERY if name != "many"])
def test_every_result_can_be_printed(name: str) -> None:
    assert _printed(early_examples.EVERY[name]).strip()


def test_an_untouched_prompt_is_one_line() -> None:
    assert _printed(examples.QUIET) == "✅ May merge: no contract is affected by this change\n"


def test_the_quick_answer_loads_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, 'tests');"
        "from support import results as examples;"
        "from gatekeeper.reports.terminal.console import print_result;"
        "from gatekeeper.reports.terminal.progress import TerminalProgress;"
        "from gatekeeper.reports.write import write_reports;"
        "from pathlib import Path;"
        "progress = TerminalProgress(); progress.started(0); progress.finished();"
        "print_result(examples.QUIET, write_reports(examples.QUIET, Path(sys.argv[1])));"
        "print([n for n in ('rich', 'markdown_it', 'jsonschema', 'scipy') if n in sys.modules])"
    )
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "✅ May merge: no contract is affected\n[]\n"


def test_without_a_console_it_prints_to_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_result(examples.PASS)
    print_estimate(_RunEstimate())  # type: ignore[arg-type]
    printed = capsys.readouterr().out
    assert "May merge" in printed
    assert "1 contract affected" in printed


def test_uncovered_and_notices() -> None:
    text = _printed(replace(examples.UNCOVERED, notices=("A notice.",)))
    assert "prompts/greeting.md has no contract." in text
    assert "A notice." in text


def test_failing_fixtures_stand_by_category_then_by_check_then_what_to_do() -> None:
    contract = replace(
        examples.failing_contract(), fixtures=tuple(map(examples.fixture, range(9), ["broke"] * 9))
    )
    same = replace(contract, name="speech-tag-2")
    old = replace(examples.passing_contract(), fixtures=(examples.fixture(1, "failing"),))
    text = _printed(examples.result(contract, same, old))
    parts = ("FAILING FIXTURES", "FAILURES BY CHECK", "RECOMMENDATIONS")
    fixtures, checks, advice = (text.index(f"\n{part}\n") for part in parts)
    assert fixtures < checks < advice
    nouns = sum(fixture.category == "noun" for fixture in contract.fixtures)
    listed = text[fixtures:checks]
    assert f"  speech-tag › noun: {nouns} of {nouns} fixtures broke\n    broke nn-000" in listed
    assert f"  speech-tag › other: {9 - nouns} of {9 - nouns} fixtures broke\n" in listed
    assert "  order-id › other: 1 of 1 fixture fails\n    fails " in listed
    rows = [line.split() for line in text[checks:advice].splitlines()[3:]]
    assert rows == [
        ["is", "a", "tag", "speech-tag", "9", "9", "0"],
        ["is", "a", "tag", "speech-tag-2", "9", "9", "0"],
        ["is", "a", "tag", "order-id", "1", "1", "1"],
    ]
    said = text[advice:]
    assert said.count("  speech-tag, speech-tag-2: Look at the fixtures that broke") == 1
    assert "  order-id: 1 fixture fails on base as well" in said


def test_of_one_revision_no_line_speaks_of_a_base() -> None:
    contract = examples.failing_contract()
    alone = [
        replace(fixture, base=None, base_passed=None, change=None) for fixture in contract.fixtures
    ]
    alone_contract = replace(contract, base=None, paired=None, fixtures=tuple(alone))
    text = _printed(replace(examples.result(alone_contract), kind="run"))
    said = text[text.index("FAILING FIXTURES") :]
    assert "fixtures fail\n" in said
    assert "    fails nn-000 1/5, is a tag:" in said
    assert "  fixtures  failures\n" in said
    assert not re.search(r"\bbase\b|broke", said.partition("RECOMMENDATIONS")[0])


def test_of_many_categories_and_fixtures_the_first_are_named() -> None:
    fixtures = tuple(
        replace(examples.fixture(number, "broke"), category=f"c{number // 7}")
        for number in range(7 * 12)
    )
    contract = replace(examples.failing_contract(), fixtures=fixtures)
    text = _printed(examples.result(contract))
    assert text.count("    broke ") == 5 * 10
    assert text.count("    …and 2 more\n") == 10
    assert "  …and 2 more categories of failing fixtures\n" in text


def test_nothing_that_fails_makes_no_part() -> None:
    sound = tuple(examples.fixture(number, "same") for number in range(4))
    text = _printed(examples.result(replace(examples.passing_contract(), fixtures=sound)))
    assert not re.search("FAILING|FAILURES|RECOMMENDATIONS", text)


def test_verbose_says_what_each_check_found_of_each_fixture() -> None:
    contract = replace(
        examples.failing_contract(),
        fixtures=(examples.fixture(0, "broke"), examples.fixture(1, "same")),
    )
    made = examples.outcome(text="::error::x")
    of = partial(replace, made.sample.trial, contract=contract.name, fixture="nn-000")
    fails = CheckResult("is a tag", False, "no tag\n::error::y")
    warns = CheckResult("is short", False, "too long", "warn")
    outcomes = (
        replace(
            made,
            sample=replace(made.sample, trial=of(arm="base")),
            check_results=(
                CheckResult("is a tag", True),
                CheckResult("is short", None, "", "warn"),
            ),
        ),
        replace(
            made, sample=replace(made.sample, trial=of(arm="head")), check_results=(fails, warns)
        ),
    )
    console = _console()
    result = replace(examples.result(contract), outcomes=outcomes)
    print_result(result, None, console, verbose=True)
    lines = _text(console).splitlines()
    assert lines[:3] == [
        "FAIL speech-tag › nn-000 › is a tag 1/1 → 0/1: no tag ::error::y",
        "warn speech-tag › nn-000 › is short – → 0/1: too long",
        "none speech-tag › 1 fixture without an answer",
    ]
    assert lines[-1] == "❌ Do not merge: `speech-tag` got worse"


def test_loosenings_and_notes() -> None:
    text = _printed(examples.WEAKENED)
    assert "weakened: slo.success_rate 0.95 → 0.9" in text
    assert "note: 2 fixtures have no base arm" in text


def test_a_broken_fixture_without_a_message() -> None:
    contract = examples.failing_contract()
    bare = replace(contract.fixtures[0], failures=(), head=None)
    empty = replace(contract, fixtures=(bare,), slo=(), error_budget=ErrorBudget("1d", 0, 0, 0, 0))
    assert "broke nn-000 5/5 → –\n" in _printed(examples.result(empty))


def test_hostile_text_is_not_markup() -> None:
    evil = "[red]x[/red]\x1b[31m\u202e:smile:\n::error::"
    contract = replace(
        examples.failing_contract(evil), reasons=(Reason("regression", evil, "fail"),)
    )
    text = _printed(examples.result(contract))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[red]x[/red]⟨U+001B⟩[31m⟨U+202E⟩:smile: ::error::" in text


EXPECTED = (
    "expected 400 calls, 52,000 tokens, 0.0084 USD; at most 400 calls, 1,200,000 tokens, 0.41 USD"
)


def test_what_a_check_would_run() -> None:
    limit = "It may take 400 calls, and limits.calls is 100"
    text = _forecast(
        _RunEstimate(uncovered=("prompts/b.md",), notices=("Shallow clone.",), warnings=(limit,))
    )
    lines, text = text, " ".join(text.split())
    assert f"⚠️ {limit}.\n1 contract affected" in lines
    assert "speech-tag  contracts/speech-tag.yaml" in lines
    assert "  modified prompts/a.md" in lines
    assert f"40 fixtures, {EXPECTED}, can only show a drop of 12 points or more" in text
    assert "prompts/b.md changed and has no contract." in text
    assert "Shallow clone." in text
    assert text.endswith(f"1 contract affected, 12 not affected: {EXPECTED}.")


def test_a_check_that_may_stop_early_and_one_that_is_blind_to_its_margin() -> None:
    few = _ContractEstimate(fewest_calls=30, expected_calls=90, warning="Too few.")
    text = _forecast(_RunEstimate((few,)))
    assert "expected 90 calls, 52,000 tokens, 0.0084 USD (at least 30 calls); at most 400" in text
    assert "\n  ⚠️ Too few.\n" in text
    assert "can show" not in text  # the warning says it
    assert "⚠️" not in _forecast(_RunEstimate())


def test_the_deciding_test_and_how_soon_it_was_sure() -> None:
    early = _printed(early_examples.EARLY)
    sure = "level 0.05; the result was certain after 9 of 100 fixtures\n"
    assert f"\n  sequential McNemar test on 100 distinct inputs, {sure}" in early
    assert "18 calls made, 182 not needed, 3 not used for the decision" in early
    wanted = "134 fixtures would show a drop of 5 points"
    assert wanted in _printed(examples.PASS)
    # The recommendation says it, so the line about the test does not.
    assert _printed(examples.INCONCLUSIVE).count(wanted) == 1


def test_a_removed_contract_and_an_unknown_price() -> None:
    gone = _ContractEstimate(removed=True)
    unknown = {"cost_usd": None, "worst_cost_usd": None, "most_tokens": None}
    unpriced = _ContractEstimate(minimum_detectable_effect=None, model=None, **unknown)  # type: ignore[arg-type]
    text = _forecast(_RunEstimate(contracts=(gone, unpriced), cost_usd=None))
    assert "removed at head, so there is nothing to sample" in text
    most = "at most 400 calls, unknown tokens, cost unknown"
    assert f"unknown: 40 fixtures, expected 400 calls, 52,000 tokens, cost unknown; {most}" in text


def test_nothing_would_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = "This change affects no contract (12 contracts unaffected), so no model is called.\n"
    assert _forecast(_RunEstimate(contracts=())) == nothing
    # Without a table, nothing lays it out: loading rich takes a fifth of such a run.
    monkeypatch.setitem(sys.modules, "rich.console", None)
    print_estimate(_RunEstimate(contracts=()))  # type: ignore[arg-type]
    assert capsys.readouterr().out == nothing


def test_of_many_loosenings_the_first_are_named() -> None:
    many = tuple(f"fixture `f{n}`: the variables changed" for n in range(30))
    text = _printed(examples.result(replace(examples.failing_contract(), weakened=many)))
    assert text.count("weakened: ") == 10
    assert "weakened in 20 more ways" in text


def test_a_note_has_no_tick() -> None:
    note = Reason("uncalibrated", "Nobody has measured it.", "pass")
    contract = examples.passing_contract()
    text = _printed(examples.result(replace(contract, reasons=(*contract.reasons, note))))
    (line,) = (line for line in text.splitlines() if "uncalibrated: " in line)
    assert line.startswith("ℹ️")


def _not_measured(errors: tuple[str, ...], reason: str = "samples are missing") -> list[str]:
    """Return the lines about fixtures that were not measured, if each has one of these errors."""
    (contract, *_) = examples.PASS.contracts
    fixture = contract.fixtures[0]
    fixtures = tuple(
        replace(fixture, id=f"f{number}", errors=(error,)) for number, error in enumerate(errors)
    )
    reasons = (Reason("error", reason, "error"),)
    contract = replace(contract, verdict="error", reasons=reasons, fixtures=fixtures)
    written = StringIO()
    result = replace(examples.PASS, verdict="error", contracts=(contract,))
    print_result(result, {}, Console(file=written, width=200))
    return [line for line in written.getvalue().splitlines() if "not measured" in line]


def test_each_error_is_named_once_with_its_first_fixture() -> None:
    assert _not_measured(("no answer", "KeyError: 'x'", "no answer", "no answer")) == [
        "  not measured f0 and 2 more: no answer",
        "  not measured f1: KeyError: 'x'",
    ]


def test_an_error_that_a_reason_names_is_not_repeated() -> None:
    assert _not_measured(("no answer",), "No sample could be measured on head: no answer.") == []


def test_only_a_few_errors_are_named() -> None:
    assert len(_not_measured(tuple(f"error <{number}>" for number in range(9)))) == 5


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
