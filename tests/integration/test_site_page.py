"""The site as a reader has it: opened from a folder in headless Chromium, clicked and typed at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.browser import chromium, reload_until
from support.edited_text import edited
from support.machine_needs import CHROMIUM
from support.outcomes import contract
from support.site_history import name_of, nightly_history

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.reports.site.contract_history import contract_histories
from gatekeeper.reports.site.folder import write_site
from gatekeeper.reports.site.frame import Site, page_path

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.long,
    CHROMIUM.mark,
]
LAST = datetime(2026, 11, 20, 3, 23, tzinfo=UTC)
CONTRACTS = 6
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
PAGES = ("index.html", "health.html", "costs.html", page_path(name_of(0)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    records = nightly_history(CONTRACTS, 70, 8, LAST)
    slo = read_objectives({"success_rate": 0.95, "latency_p95_ms": 1200})
    suite = {name_of(n): contract("a", name=name_of(n), slo=slo) for n in range(CONTRACTS)}
    now = LAST + timedelta(hours=6)
    histories = contract_histories(records, suite, Policy(), now)
    write_site(Site("Prompt health", "runs.jsonl", now, records, histories), out)
    return out


@pytest.fixture(scope="module")
def browser(folder: Path) -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def page(browser: Browser, folder: Path) -> Iterator[Page]:
    faults: list[str] = []
    asked: list[str] = []
    with browser.new_page(color_scheme="light", reduced_motion="reduce") as tab:
        tab.on("console", lambda message: faults.append(message.text))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on(
            "request", lambda r: None if r.url.startswith(folder.as_uri()) else faults.append(r.url)
        )
        tab.goto((folder / "index.html").as_uri())
        yield tab
        assert faults == []
        assert [url for url in asked if not url.startswith(folder.as_uri())] == []


def names(page: Page) -> list[str]:
    return page.locator("#contract-table tbody tr:not([hidden]) th a").all_inner_texts()


def test_the_table_starts_with_the_worst_and_sorts_both_ways(page: Page) -> None:
    statuses = page.locator("#contract-table tbody tr").evaluate_all(
        "rows => rows.map((row) => ['fail', 'inconclusive', 'pass'].indexOf(row.dataset.status))"
    )
    assert statuses == sorted(statuses)
    assert statuses[0] == 0
    heading = page.locator("#contract-table th", has_text="Contract")
    heading.get_by_role("button").click()
    assert names(page) == sorted(names(page))
    heading.get_by_role("button").click()
    assert names(page) == sorted(names(page), reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"
    page.locator("#contract-table th", has_text="Pass rate").get_by_role("button").click()
    keys = page.locator("#contract-table tbody tr td:nth-child(2)").evaluate_all(
        "cells => cells.map((cell) => Number(cell.dataset.key))"
    )
    assert keys == sorted(keys)


def test_the_table_filters_by_name_model_and_status_and_keeps_it(page: Page) -> None:
    page.get_by_label("Find").fill("REFUND")
    assert names(page) == [name_of(1)]
    assert page.locator("#count").inner_text() == f"1 of {CONTRACTS} contracts"
    page.get_by_label("Find").fill("haiku")
    assert set(names(page)) == {name_of(2), name_of(5)}
    page.get_by_label("Find").fill("")
    page.get_by_label("Status").select_option("fail")
    unhealthy = names(page)
    assert 0 < len(unhealthy) < CONTRACTS
    page.reload()
    assert names(page) == unhealthy


def expect_background(page: Page, color: str) -> None:
    """Wait until the page has this background: a click on a link returns before the next page is
    there."""
    from playwright.sync_api import expect

    expect(page.locator("body")).to_have_css("background-color", color)


def test_the_theme_is_chosen_by_keyboard_and_lasts(page: Page) -> None:
    light = page.evaluate(BACKGROUND)
    page.locator("#theme").focus()
    page.keyboard.press("Enter")
    assert page.evaluate(BACKGROUND) == light
    page.keyboard.press("Enter")
    assert page.locator("#theme").inner_text() == "Theme: dark"
    dark = page.evaluate(BACKGROUND)
    assert dark != light
    page.get_by_role("link", name="Costs").click()
    page.wait_for_url("**/costs.html")
    reload_until(page, lambda: page.evaluate(BACKGROUND) == dark)
    expect_background(page, dark)
    page.emulate_media(media="print")
    expect_background(page, "rgb(255, 255, 255)")
    page.emulate_media(media="screen", color_scheme="dark")
    page.locator("#theme").click()
    expect_background(page, dark)
    page.locator("#theme").click()
    expect_background(page, light)


def test_a_contract_shows_its_older_runs_and_the_run_under_the_pointer(page: Page) -> None:
    page.get_by_role("link", name=name_of(0)).first.click()
    page.wait_for_url(f"**/{page_path(name_of(0))}")
    rows = page.locator("#run-table tbody tr")
    shown = rows.count()
    page.get_by_role("button", name=re.compile("older runs")).press("Enter")
    assert rows.count() == 70 > shown
    assert page.evaluate("document.activeElement.tagName") == "TR"
    days = page.locator("#run-table tbody th").all_inner_texts()
    assert days == sorted(days, reverse=True)
    chart = page.locator(".plot.main")
    chart.locator("svg").hover(position={"x": 5, "y": 20})
    assert chart.locator(".readout").inner_text().startswith(days[-1])


def test_the_first_key_leads_to_the_content(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_accessibility_fault_and_nothing_wider_than_the_window(
    browser: Browser, folder: Path, scheme: Any, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    size: Any = {"width": width, "height": 900}
    with browser.new_page(color_scheme=scheme, viewport=size) as tab:
        for name in PAGES:
            tab.goto((folder / name).as_uri())
            found = Axe().run(tab).response["violations"]
            assert [(v["id"], [n["html"] for n in v["nodes"]][:3]) for v in found] == [], name
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


def test_a_phone_shows_name_rate_and_status_without_scrolling(
    browser: Browser, folder: Path
) -> None:
    with browser.new_page(viewport={"width": 390, "height": 800}) as tab:
        tab.goto((folder / "index.html").as_uri())
        table = tab.locator("#contract-table")
        assert table.evaluate("t => t.parentNode.scrollWidth <= t.parentNode.clientWidth")


def test_without_a_script_everything_but_older_runs_is_there(
    browser: Browser, folder: Path
) -> None:
    with browser.new_page(java_script_enabled=False) as tab:
        tab.goto((folder / "index.html").as_uri())
        assert len(names(tab)) == CONTRACTS
        assert not tab.locator("#theme").is_visible()


def test_the_policy_stops_what_would_be_injected(browser: Browser, folder: Path) -> None:
    path = folder / "attacked.html"
    injected = (
        "<script>window.owned = 1</script><img src=x onerror='window.owned = 2'>"
        "<script src='data:text/javascript,window.owned = 3'></script>"
        "<p style='color: red' id=styled>x</p></main>"
    )
    path.write_text(
        edited((folder / "index.html").read_text("utf-8"), "</main>", injected), "utf-8"
    )
    with browser.new_page() as tab:
        tab.goto(path.as_uri())
        assert tab.evaluate("window.owned") is None
        color = tab.locator("#styled").evaluate("each => getComputedStyle(each).color")
        assert color != "rgb(255, 0, 0)"
    path.unlink()
