"""Headless Chromium as Debian packages it, for pages that must work without a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAM = shutil.which("chromium")
# Chromium's own traffic would be taken for the page's.
_QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=_QUIET.split(" "))
        yield browser
        browser.close()


def reload_until(page: Page, is_stored: Callable[[], bool]) -> None:
    """Load the page again until it shows what was stored, or 100 times. Chromium keeps what pages
    store in another process, and on a busy machine a page can load before that process has it."""
    for _ in range(100):
        page.reload()
        if is_stored():
            return
