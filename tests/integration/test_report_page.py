"""report.html as a reader has it: opened from disk in headless Chromium, clicked and typed at."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from support.browser import chromium
from support.edited_text import edited
from support.machine_needs import CHROMIUM
from support.ticket_run import gate_result, past, run_result

from gatekeeper.contract.values.trial import CheckResult, Outcome
from gatekeeper.gate.results.result import GateResult
from gatekeeper.history.record import fixture_key
from gatekeeper.reports.formats.csv_parquet import guarded
from gatekeeper.reports.html import render_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.long,  # A browser takes as much time as two thousand unit tests.
    CHROMIUM.mark,
]

HOSTILE = (
    "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 2'>"
    "<a href='javascript:window.owned = 3'>x</a>{{ 7 * 7 }}<!-- \u202egnp.exe \u200b &lt;b&gt;"
)


@dataclass
class Visit:
    """A page that is open, and what it did that nobody asked for."""

    page: Page
    faults: list[str] = field(default_factory=list)

    def open(self, path: Path) -> Visit:
        self.page.on("console", lambda message: self.faults.append(message.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self._asked(request.url, path.as_uri()))
        self.page.goto(path.as_uri())
        return self

    def samples(self) -> Visit:
        self.page.locator("#fixtures tr").first.wait_for()
        return self

    def cells(self, fixture: str) -> list[str]:
        """The texts of the row of a fixture, without its name."""
        row = self.page.locator("#fixtures tr", has_text=fixture).first
        return [" ".join(text.split()) for text in row.locator("td").all_inner_texts()]

    def _asked(self, url: str, own: str) -> None:
        if url.partition("#")[0] != own:
            self.faults.append(f"asked for {url}")


@pytest.fixture(scope="module")
def result() -> GateResult:
    return gate_result(60, 3, ("triage", "billing-only"))


@pytest.fixture(scope="module")
def browser(result: GateResult) -> Iterator[Browser]:
    """After the run: while the browser is there its event loop is running."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def report(result: GateResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_html(replace(result, past=past())), "utf-8")
    return path


@pytest.fixture
def visit(browser: Browser, report: Path) -> Iterator[Visit]:
    with browser.new_page() as page:
        page.emulate_media(reduced_motion="reduce")
        opened = Visit(page).open(report).samples()
        yield opened
        assert opened.faults == []


def contracts(page: Page) -> list[str]:
    return page.locator("#contract-table tbody tr:not([hidden]) th").all_inner_texts()


def fixtures(page: Page) -> list[str]:
    return page.locator("#fixtures .fixture b").all_inner_texts()


def test_the_table_sorts_both_ways_and_says_so(visit: Visit) -> None:
    heading = visit.page.locator("#contract-table th", has_text="Contract")
    heading.get_by_role("button").click()
    assert contracts(visit.page) == ["billing-only", "triage"]
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.get_by_role("button").click()
    assert contracts(visit.page) == ["triage", "billing-only"]
    assert heading.get_attribute("aria-sort") == "descending"


def test_the_table_filters_by_name_and_verdict(visit: Visit) -> None:
    visit.page.get_by_label("Find").first.fill("TRI")
    assert contracts(visit.page) == ["triage"]
    assert visit.page.locator("#contract-count").inner_text() == "1 of 2 contracts"
    visit.page.get_by_label("Find").first.fill("nothing of that name")
    assert contracts(visit.page) == []


def test_a_fixture_opens_on_both_answers_with_the_words_that_differ(visit: Visit) -> None:
    page = visit.page
    page.locator("#state").select_option("broke")
    button = page.locator(".fixture").first
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    opened = page.locator(".samples:visible")
    assert opened.locator(".card-head b").all_inner_texts()[:2] == ["base", "head"]
    assert "I am sorry to hear that." in " ".join(opened.locator("ins").all_inner_texts())
    assert "is JSON: not JSON" in opened.inner_text()
    assert "My card was charged twice" in opened.inner_text()
    page.locator("#words").uncheck()
    page.locator(".fixture").first.click()
    assert page.locator(".samples:visible ins").count() == 0


def test_fixtures_are_found_by_what_was_asked_and_answered(visit: Visit) -> None:
    from playwright.sync_api import expect

    page = visit.page
    page.locator("#text").fill("order 17.")
    expect(page.locator("#fixtures tr")).to_have_count(1)
    assert fixtures(page) == ["account-0017"]
    assert page.locator("#found").inner_text() == "1 of 60 fixtures"
    page.locator("#reset").click()
    page.locator("#category").select_option("billing")
    assert all(name.startswith("billing") for name in fixtures(page))
    page.locator("#state").select_option("repaired")
    page.locator(".fixture").first.click()
    repaired = page.locator("summary", has_text="Repaired before the checks").first
    repaired.click()
    assert "```json" in repaired.locator("xpath=..").inner_text()


def test_pages_turn_and_hold_every_fixture_once(visit: Visit) -> None:
    page = visit.page
    seen = fixtures(page)
    assert page.locator("#previous").is_disabled()
    while page.locator("#next").is_enabled():
        page.locator("#next").click()
        seen += fixtures(page)
    assert len(seen) == len(set(seen)) == 60
    assert page.locator("#page").inner_text() == "Page 2 of 2"


def test_a_cell_of_the_matrix_has_the_samples_of_both_arms(
    visit: Visit, result: GateResult
) -> None:
    def passed(fixture: str, check: str, arm: str) -> str:
        found = [
            said.passed
            for outcome in result.outcomes
            for said in outcome.check_results
            if (outcome.sample.trial.fixture, said.check, outcome.sample.trial.arm)
            == (fixture, check, arm)
            if outcome.sample.trial.contract == "triage"
        ]
        return f"{found.count(True)}/{len(found)}"

    visit.page.locator("#evaluation").select_option(label="triage")
    heads = visit.page.locator("#matrix thead th").all_inner_texts()
    assert [head.splitlines()[0] for head in heads[2:5]] == [
        "is JSON",
        "names the queue",
        "is short",
    ]
    for name in fixtures(visit.page):
        for place, check in enumerate(("is JSON", "names the queue", "is short"), 1):
            base, head = (passed(name, check, arm) for arm in ("base", "head"))
            assert visit.cells(name)[place] == (head if base == head else f"{base} → {head}")


def test_a_share_of_a_category_leads_to_its_fixtures(visit: Visit, result: GateResult) -> None:
    page = visit.page
    evaluated = [
        said.passed
        for outcome in result.outcomes
        for said in outcome.check_results
        if outcome.sample.trial.contract == "triage" and outcome.sample.trial.arm == "head"
        if outcome.sample.trial.fixture.startswith("billing") and said.check == "is JSON"
    ]
    page.locator("#evaluation").select_option(label="triage")
    row = page.locator("#categories tr", has=page.get_by_role("rowheader", name="billing"))
    share = row.get_by_title("is JSON")
    assert f"{evaluated.count(False)} of {len(evaluated)}" in share.inner_text()
    share.click()
    assert page.locator("#category option:checked").inner_text() == "billing"
    assert page.locator("#check option:checked").inner_text() == "is JSON"
    assert fixtures(page)
    assert page.evaluate("document.activeElement.className") == "fixture"


def test_the_count_below_a_high_share_has_the_ink_of_the_share(visit: Visit) -> None:
    cell = visit.samples().page.locator("#categories td:has(small)").first
    cell.evaluate("cell => { cell.className = 'h9' }")
    inks = [
        one.evaluate("one => getComputedStyle(one).color") for one in (cell, cell.locator("small"))
    ]
    assert inks == ["rgb(255, 255, 255)"] * 2


def test_arrow_keys_move_between_fixtures_and_escape_closes(visit: Visit) -> None:
    page = visit.page
    names = fixtures(page)
    active = "document.activeElement.closest('tr').querySelector('b').textContent"
    page.locator(".fixture").first.focus()
    for key, place in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", -1)):
        page.keyboard.press(key)
        assert page.evaluate(active) == names[place]
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.detail') !== null")
    page.keyboard.press("Escape")
    assert page.locator(".detail").count() == 0
    assert page.evaluate(active) == names[0]


def test_past_runs_stand_beside_a_fixture(
    browser: Browser, result: GateResult, tmp_path: Path
) -> None:
    key = fixture_key("billing-0012")
    counts = [(3, 0)] * 5 + [(3, 3), (3, 1)]
    runs = [
        replace(run, by_fixture={key: count})
        for run, count in zip(past(runs=7), counts, strict=True)
    ]
    path = tmp_path / "report.html"
    path.write_text(render_html(replace(result, past=tuple(runs))), "utf-8")
    with browser.new_page() as page:
        visit = Visit(page).open(path).samples()
        page.locator("#evaluation").select_option(label="triage")
        said = "past runs, oldest first: 5 passed, 1 failed, 1 mixed"
        row = page.locator("#fixtures tr", has_text="billing-0012")
        assert row.get_by_role("img", name=said).count() == 1
        page.locator("#state").select_option("unsteady")
        assert fixtures(page) == ["billing-0012"]
        page.locator(".fixture").click()
        assert (
            "passed in 5 of 7 runs of the default branch since 2026-01-31, failed in 1 "
            "(2026-02-05), failed in some samples in 1 (2026-02-06)"
        ) in page.locator(".detail").inner_text()
        assert visit.faults == []


def test_more_repetitions_get_the_focus(
    browser: Browser, result: GateResult, tmp_path: Path
) -> None:
    def again(number: int) -> Iterator[Outcome]:
        for outcome in result.outcomes:
            trial = outcome.sample.trial
            if trial.fixture == "billing-0000" and trial.repetition == 0:
                sample = replace(outcome.sample, trial=replace(trial, repetition=number))
                yield replace(outcome, sample=sample)

    outcomes = tuple(outcome for number in range(12) for outcome in again(number))
    path = tmp_path / "report.html"
    path.write_text(render_html(replace(result, outcomes=outcomes)), "utf-8")
    with browser.new_page() as page:
        visit = Visit(page).open(path).samples()
        page.locator("#text").fill("billing-0000")
        page.locator(".fixture", has_text="billing-0000").click()
        for shown, more in ((5, 5), (10, 2)):
            page.get_by_role("button", name=f"Show {more} more of 12 repetitions").click()
            focused = page.locator(".pair", has=page.locator(":focus"))
            assert focused.locator("h4").inner_text() == f"Repetition {shown + 1}"
        assert page.locator(".pair").count() == 12
        assert visit.faults == []


def test_what_is_shown_is_saved_as_csv_and_json(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    page.locator("#evaluation").select_option(label="triage")
    page.locator("#state").select_option("broke")
    names = fixtures(page)
    saved = []
    for name in ("CSV", "JSON"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save as {name}").click()
        assert download.value.suggested_filename == f"results-triage.{name.lower()}"
        download.value.save_as(tmp_path / name)
        saved.append((tmp_path / name).read_text("utf-8"))
    rows = list(csv.DictReader(saved[0].splitlines()))
    assert [row["fixture"] for row in rows] == names
    documents = json.loads(saved[1])
    for row, document in zip(rows, documents, strict=True):
        assert document["fixture"] == row["fixture"]
        assert document["result"] == "broke"
        counts = [
            row[f"is JSON: {arm} {what}"]
            for arm in ("base", "head")
            for what in ("passed", "samples")
        ]
        assert list(map(int, counts)) == document["checks"]["is JSON"]
        assert row["head_passed"] == "false"


def test_no_saved_cell_begins_a_formula(
    browser: Browser, result: GateResult, tmp_path: Path
) -> None:
    hostile = [
        "=1+1",
        "@x",
        "-2",
        "+3",
        "'=4",
        "  =5",
        "a\n=6",
        "b;+7",
        "\uff1d8",
        "c-9",
        'say "x"',
    ]
    contract = result.contracts[0]
    named = [
        replace(fixture, id=name) for fixture, name in zip(contract.fixtures, hostile, strict=False)
    ]
    path = tmp_path / "report.html"
    shown = replace(contract, fixtures=tuple(named))
    path.write_text(render_html(replace(result, contracts=(shown,))), "utf-8")
    with browser.new_page() as page:
        Visit(page).open(path).samples()
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        download.value.save_as(tmp_path / "saved.csv")
    with (tmp_path / "saved.csv").open(encoding="utf-8", newline="") as file:
        names = {row["fixture"] for row in csv.DictReader(file)}
    assert names == set(map(guarded, hostile))


def test_more_checks_than_fit_are_shown_on_request(
    browser: Browser, result: GateResult, tmp_path: Path
) -> None:
    def with_checks(outcome: Any) -> Any:
        more = tuple(CheckResult(f"check {number}", True) for number in range(10))
        return replace(outcome, check_results=(*more, *outcome.check_results))

    many = replace(result, outcomes=tuple(map(with_checks, result.outcomes)))
    path = tmp_path / "report.html"
    path.write_text(render_html(many), "utf-8")
    with browser.new_page() as page:
        visit = Visit(page).open(path).samples()
        heads = page.locator("#matrix thead th")
        assert heads.count() == 2 + 8
        assert heads.nth(2).inner_text() == "is JSON"  # what fails comes first
        page.get_by_role("button", name="Show all 13 checks").click()
        assert heads.count() == 2 + 13
        assert visit.faults == []


def test_whole_prompts_are_compared_word_by_word(visit: Visit) -> None:
    page = visit.page
    button = page.get_by_role("button", name="Compare whole prompts word by word").first
    button.click()
    prompts = page.locator(".prompts").first
    assert "nothing else" in " ".join(prompts.locator("del").all_inner_texts())
    assert "polite" in " ".join(prompts.locator("ins").all_inner_texts())
    button.click()
    assert not prompts.is_visible()


def test_everything_is_reached_by_keyboard(visit: Visit) -> None:
    page = visit.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the verdict"
    page.locator(".fixture").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".samples:visible").count() == 1
    page.keyboard.press("Space")
    assert page.locator(".samples:visible").count() == 0
    page.locator("#contract-table thead button").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("th[aria-sort]").count() == 1


def test_a_link_of_the_table_opens_the_contract(visit: Visit) -> None:
    page = visit.page
    name = contracts(page)[1]
    part = page.locator("details.contract").nth(1)
    part.evaluate("part => { part.open = false }")
    page.locator("#contract-table").get_by_role("link", name=name).click()
    page.wait_for_function("document.querySelectorAll('details.contract')[1].open")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_no_serious_accessibility_fault(
    browser: Browser, report: Path, scheme: Any, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with browser.new_page(
        color_scheme=scheme, viewport={"width": width, "height": 900}, reduced_motion="reduce"
    ) as page:
        Visit(page).open(report).samples()
        page.locator(".fixture").first.click()
        page.get_by_role("button", name="Compare whole prompts").first.click()
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        found = Axe().run(page).response["violations"]
        assert [
            (each["id"], [node["html"] for node in each["nodes"]][:3])
            for each in found
            if each["impact"] in ("serious", "critical")
        ] == []
        # Nothing but what scrolls in a frame of its own is wider than the window.
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_shows_every_column_in_dark_ink(browser: Browser, report: Path, scheme: Any) -> None:
    # What is left of A4 at 96 dots an inch.
    paper = {"width": 688, "height": 1000}
    with browser.new_page(color_scheme=scheme, viewport=paper) as page:
        Visit(page).open(report).samples()
        page.emulate_media(media="print", color_scheme=scheme)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        cut = """() => [...document.querySelectorAll('main *')]
            .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
            .map((e) => e.outerHTML.slice(0, 90))"""
        assert page.evaluate(cut) == []
        assert not page.locator("#samples").is_visible()
        assert not page.locator(".chart details").first.is_visible()
        assert page.locator("details.contract").last.locator(".finding").is_visible()
        ink = page.evaluate("getComputedStyle(document.body).color")
        assert max(map(int, re.findall(r"\d+", ink)[:3])) < 80


def anchored(browser: Browser, path: Path, anchor: str, into: list[Any]) -> None:
    """Open the page at the anchor, and keep the fixtures that are open and what the status says."""
    with browser.new_page() as page:
        page.emulate_media(reduced_motion="reduce")
        page.on("pageerror", lambda error: into.append(error))
        page.goto(f"{path.as_uri()}#{anchor}")
        page.locator("#fixtures tr").first.wait_for()
        into.append(page.locator(".fixture[aria-expanded=true] b").all_inner_texts())
        into.append(page.locator("#found").inner_text())
        into.append(page.locator("#evaluation option:checked").inner_text())


def test_an_anchor_opens_its_fixture_on_whatever_page(
    visit: Visit, browser: Browser, report: Path
) -> None:
    visit.page.get_by_role("button", name="Next page").click()
    name = fixtures(visit.page)[-1]
    found: list[Any] = []
    anchored(browser, report, f"fixture=triage/{quote(name, safe='')}", found)
    assert [found[0], found[2]] == [[name], "triage"]
    visit.page.locator(".fixture").last.click()
    assert re.search(rf"#fixture=[^/]+/{name}$", visit.page.url)
    visit.page.evaluate("anchor => { location.hash = anchor }", f"fixture=billing-only/{name}")
    visit.page.locator(".fixture[aria-expanded=true]", has_text=name).wait_for()


@pytest.mark.parametrize("anchor", ["fixture=triage/50%", "fixture=gone/x", "check=triage/", "%zz"])
def test_an_anchor_that_names_nothing_opens_nothing(
    browser: Browser, report: Path, anchor: str
) -> None:
    found: list[Any] = []
    anchored(browser, report, anchor, found)
    assert found[0] == []


def test_the_anchor_of_a_check_shows_what_fails_it(browser: Browser, report: Path) -> None:
    every: list[Any] = []
    found: list[Any] = []
    anchored(browser, report, "", every)
    anchored(browser, report, "check=triage/names%20the%20queue", found)
    assert found[1] != every[1]
    gone: list[Any] = []
    anchored(browser, report, "fixture=triage/gone", gone)
    assert gone[:2] == [[], "The fixture gone is not in this file; look in samples.jsonl."]


def test_without_a_script_the_main_facts_are_there(browser: Browser, report: Path) -> None:
    with browser.new_page(java_script_enabled=False) as page:
        page.goto(report.as_uri())
        text = page.locator("body").inner_text()
    assert "Do not merge" in text
    assert "Worse than base" in text
    assert "samples.jsonl" in text
    assert "Success rate over runs" in text


def hostile(result: GateResult) -> GateResult:
    """The result with every text of a model, a fixture, a check and a prompt replaced."""

    def outcome(found: Any) -> Any:
        sample = found.sample
        trial = replace(sample.trial, fixture=f"{sample.trial.fixture}{HOSTILE}")
        said = replace(sample.completion, text=f"raw {HOSTILE}")
        return replace(
            found,
            sample=replace(
                sample, trial=trial, completion=said, output=f"{sample.output} {HOSTILE}"
            ),
            check_results=tuple(
                CheckResult(f"{j.check}{HOSTILE}", j.passed, HOSTILE, j.severity)
                for j in found.check_results
            ),
        )

    def contract(found: Any) -> Any:
        arms = {
            name: replace(
                getattr(found, name),
                model=HOSTILE,
                prompt_path=HOSTILE,
                prompt_text=getattr(found, name).prompt_text + f"{name} {HOSTILE}",
            )
            for name in ("base", "head")
        }
        every = [
            replace(f, id=f"{f.id}{HOSTILE}", category=f"{f.category}{HOSTILE}", errors=(HOSTILE,))
            for f in found.fixtures
        ]
        reasons = tuple(replace(r, text=f"{r.text} {HOSTILE}") for r in found.reasons)
        return replace(
            found, fixtures=tuple(every), reasons=reasons, warnings=(HOSTILE,), path=HOSTILE, **arms
        )

    return replace(
        result,
        contracts=tuple(contract(each) for each in result.contracts),
        outcomes=tuple(outcome(each) for each in result.outcomes),
        uncovered=(HOSTILE,),
        notices=(HOSTILE,),
    )


def test_hostile_text_is_shown_and_does_nothing(
    browser: Browser, result: GateResult, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_html(replace(hostile(result), past=past())), "utf-8")
    with browser.new_page() as page:
        visit = Visit(page).open(path).samples()
        page.locator(".fixture").first.click()
        page.get_by_role("button", name="Compare whole prompts").first.click()
        page.locator("#categories button").first.click()
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        text = page.locator("body").inner_text()
        assert page.evaluate("window.owned") is None
        assert page.locator("main img, main a[href^=javascript], main script").count() == 0
        assert visit.faults == []
    assert "<img src=x onerror='window.owned = 2'>" in text
    assert "⟨U+202E⟩" in text
    assert "\u202e" not in text
    assert "{{ 7 * 7 }}" in text


def test_the_policy_of_the_page_stops_what_would_be_injected(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    attacked = edited(
        report.read_text("utf-8"),
        "</main>",
        (
            "<script>window.owned = 1</script><img src=x onerror='window.owned = 2'>"
            "<p style='color: red' id=styled>x</p></main>"
        ),
    )
    path = tmp_path / "report.html"
    path.write_text(attacked, "utf-8")
    with browser.new_page() as page:
        visit = Visit(page).open(path).samples()
        assert page.evaluate("window.owned") is None
        color = page.locator("#styled").evaluate("each => getComputedStyle(each).color")
        assert color != "rgb(255, 0, 0)"
        assert json.dumps(visit.faults).count("Content Security Policy") >= 3


def test_what_does_not_fit_is_told(browser: Browser, result: GateResult, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    whole = len(render_html(result).encode())
    limit = whole - 3_000
    page_text = render_html(result, limit=limit)
    assert len(page_text.encode()) <= limit
    path.write_text(page_text, "utf-8")
    with browser.new_page() as page:
        visit = Visit(page).open(path).samples()
        note = page.locator("#samples .note").first.inner_text()
        assert f"of {len(result.outcomes)} samples are in this file" in note
        assert "samples.jsonl" in note
        broke = sum(f.change == "broke" for f in result.contracts[0].fixtures)
        page.locator("#state").select_option("broke")
        assert page.locator("#fixtures tr").count() == min(50, broke)
        assert visit.faults == []


def test_of_one_revision_no_sample_speaks_of_a_base(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with ThreadPoolExecutor() as elsewhere:  # the browser's event loop runs in this thread
        found = elsewhere.submit(run_result).result()
    path.write_text(render_html(found), "utf-8")
    with browser.new_page() as page:
        visit = Visit(page).open(path).samples()
        page.locator("#state").select_option("failing")
        page.locator(".fixture").first.click()
        assert re.fullmatch(r"\d/2", page.locator("#fixtures .tally").first.inner_text())
        assert set(page.locator(".card-head b").all_inner_texts()) == {"head"}
        shown = page.locator("#fixtures").inner_text()
        assert not re.search(r"\bbase\b", shown, re.IGNORECASE)
        assert visit.faults == []


def test_a_phone_shows_the_verdict_of_every_contract(browser: Browser, report: Path) -> None:
    with browser.new_page(viewport={"width": 375, "height": 800}) as page:
        Visit(page).open(report).samples()
        box = page.locator("#contract-table tbody .badge").first.bounding_box()
        assert box
        assert box["x"] + box["width"] <= 375
