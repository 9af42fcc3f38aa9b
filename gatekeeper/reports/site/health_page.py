"""The page for what is not healthy now: budgets, verdicts, drift, fixtures, missing runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gatekeeper import numbers
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.history.counts import fixture_key
from gatekeeper.history.flickering import LEAST_CHANGES, MOST_RUNS
from gatekeeper.reports.described.drift import evidence_text, status_text
from gatekeeper.reports.escape import plain
from gatekeeper.reports.site.contract_history import ContractHistory
from gatekeeper.reports.site.frame import (
    HEALTH,
    Part,
    Site,
    TableCell,
    page_path,
    render_page,
    shown_name,
    texts,
)
from gatekeeper.reports.site.index_page import summary
from gatekeeper.reports.site.plots import state_strip
from gatekeeper.reports.words.columns import share_left

_MOST_FIXTURES = 100
_NUMBERS = True
_WORDS = False


def render_health(site: Site) -> str:
    """Render the page."""
    live = [history for history in site.histories if not history.removed]
    severity, headline = summary(site)
    parts = [part for part in _parts(live) if part.rows]
    lead = "The runs in the history show these problems." if parts else "Nothing needs attention."
    return render_page(
        site,
        "health",
        "Not healthy",
        HEALTH,
        verdict=severity,
        headline=headline,
        lead=lead,
        parts=parts,
    )


def fixture_names(history: ContractHistory) -> Mapping[str, str]:
    """Return the id of each fixture that the contract has now, by its key in records."""
    fixtures = history.contract.fixtures if history.contract else ()
    return {fixture_key(fixture.id): fixture.id for fixture in fixtures}


def _parts(live: list[ContractHistory]) -> Iterator[Part]:
    yield _budgets(live)
    yield _verdicts(live)
    yield _drift(live)
    yield _flickering(live)
    yield _missing(live)


def _link(history: ContractHistory) -> TableCell:
    return TableCell(shown_name(history.name), link=page_path(history.name))


def _budgets(live: list[ContractHistory]) -> Part:
    rows = [
        texts(
            _link(history),
            shown_name(label_of(budget.objective)),
            TableCell(
                {"overspent": "spent", "spent": "spent, could be chance"}.get(
                    budget.state, "burning"
                ),
                badge="fail" if budget.overspent else "inconclusive",
            ),
            f"{numbers.number(budget.spent)} of {budget.events:,}",
            numbers.number(budget.budget),
            share_left(budget),
            budget.window,
            numbers.moment(budget.frozen_until)
            if budget.frozen_until and history.budgets.frozen
            else numbers.NONE,
        )
        for history in live
        if history.budgets
        for budget in history.budgets.budgets
        if budget.state in ("spent", "overspent") or budget.burning
    ]
    head = [
        ("Contract", _WORDS),
        ("Objective", _WORDS),
        ("Budget", _WORDS),
        ("Failed", _NUMBERS),
        ("Allowed", _NUMBERS),
        ("Left", _NUMBERS),
        ("Window", _NUMBERS),
        ("Frozen until", _WORDS),
    ]
    return Part("budgets", "Error budgets", head, rows)


def _verdicts(live: list[ContractHistory]) -> Part:
    rows = [
        texts(
            _link(history),
            TableCell(last.verdict, badge=last.verdict),
            numbers.percent(last.success_rate),
            numbers.percent_interval(last.interval),
            numbers.moment(last.time),
        )
        for history in live
        for last in history.records[-1:]
        if last.verdict not in (None, "pass") and any(f.code == "verdict" for f in history.findings)
    ]
    head = [
        ("Contract", _WORDS),
        ("Verdict", _WORDS),
        ("Pass rate", _NUMBERS),
        ("Interval", _NUMBERS),
        ("Run", _WORDS),
    ]
    return Part("verdicts", "Last run did not pass", head, rows)


def _drift(live: list[ContractHistory]) -> Part:
    rows = []
    for history in live:
        drift = history.drift
        if drift is None or drift.status not in ("drifted", "watch"):
            continue
        change = drift.change
        size = numbers.points(change.size.value) if change else numbers.NONE
        interval = numbers.points_interval(change.size.interval) if change else ""
        worse = change is not None and change.direction == "worse"
        rows.append(
            texts(
                _link(history),
                shown_name(drift.model),
                TableCell(
                    plain(status_text(drift)).partition(":")[0],
                    badge="fail" if worse else "inconclusive",
                ),
                f"{change.since:%Y-%m-%d}" if change else numbers.NONE,
                f"{size} {interval}".rstrip(),
                evidence_text(drift.e_value),
            )
        )
    head = [
        ("Contract", _WORDS),
        ("Model", _WORDS),
        ("Status", _WORDS),
        ("Since", _WORDS),
        ("Change of the pass rate", _NUMBERS),
        ("Evidence", _NUMBERS),
    ]
    return Part("drift", "Models that drifted", head, rows)


def _flickering(live: list[ContractHistory]) -> Part:
    found = sorted(
        ((history, fixture) for history in live for fixture in history.flickering),
        key=lambda pair: (-pair[1].changes, pair[0].name, pair[1].key),
    )
    names: dict[str, Mapping[str, str]] = {}
    rows = []
    for history, fixture in found[:_MOST_FIXTURES]:
        known = names.setdefault(history.name, fixture_names(history))
        rows.append(
            texts(
                _link(history),
                shown_name(known.get(fixture.key, fixture.key)),
                state_strip(fixture.states),
                f"{fixture.changes:,}",
                f"{fixture.failed:,} of {fixture.samples:,}",
            )
        )
    left = len(found) - len(rows)
    more = f"The pages of the contracts show {left:,} more. " if left else ""
    explained = (
        f"A fixture flickers if its result changed at least {LEAST_CHANGES} times "
        f"in the last {MOST_RUNS} runs with the same prompt, contract and model. "
        "A run in which some samples pass and others fail counts as a change. Each square is a "
        "run: green if all samples passed, red if all samples failed, both colours if some passed "
        "and others failed."
    )
    head = [
        ("Contract", _WORDS),
        ("Fixture", _WORDS),
        (f"Last {MOST_RUNS} runs", _WORDS),
        ("Changes", _NUMBERS),
        ("Samples failed", _NUMBERS),
    ]
    return Part("flickering", "Flickering fixtures", head, rows, f"{more}{explained}")


def _missing(live: list[ContractHistory]) -> Part:
    rows = [
        texts(_link(history), plain(finding.text))
        for history in live
        for finding in history.findings
        if finding.code in ("missed", "no_history")
    ]
    head = [("Contract", _WORDS), ("What is missing", _WORDS)]
    return Part("missing", "Not measured", head, rows)
