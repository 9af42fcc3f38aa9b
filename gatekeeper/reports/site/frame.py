"""What all pages of the site have in common: navigation, style and script."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from gatekeeper import __version__
from gatekeeper.history.record import Record
from gatekeeper.reports.html.page import asset, linked_page, render_template, shown
from gatekeeper.reports.site.contract_history import ContractHistory, Severity
from gatekeeper.reports.site.kept_runs import KeptRun

INDEX, HEALTH, COSTS, RUNS = "index.html", "health.html", "costs.html", "runs.html"
STATUS: Mapping[Severity, str] = {
    "fail": "not healthy",
    "inconclusive": "watch",
    "pass": "healthy",
    "info": "no runs",
}
_PLAIN_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,78}[a-z0-9])?")
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_DARK = re.compile(r"@media screen and \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}\s*\}")


@dataclass(frozen=True, slots=True)
class Site:
    """Everything that the site shows. `source` names the history, `month_usd` is the policy's limit
    for a calendar month. `histories` come with what is not healthy first."""

    title: str
    source: str
    built: datetime
    records: Sequence[Record]
    histories: Sequence[ContractHistory]
    kept: Sequence[KeptRun] = ()
    notices: Sequence[str] = ()
    month_usd: float | None = None


def page_path(contract: str) -> str:
    """Return the path of a contract's page.

    It depends on the name alone, so that links stay true when other contracts come and go. A name
    that is not safe in an address, or has capitals, which some file systems ignore, gets a digest.
    """
    if _PLAIN_NAME.fullmatch(contract):
        return f"contracts/{contract}.html"
    digest = hashlib.sha256(contract.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    words = _NOT_PLAIN.sub("-", contract.lower()).strip("-")[:60].strip("-")
    return f"contracts/{words}--{digest}.html" if words else f"contracts/contract--{digest}.html"


def render_page(site: Site, template: str, heading: str, here: str, /, **values: Any) -> str:
    """Render a page from a template. `here` is the page's path in the site."""
    root = "../" if "/" in here else ""
    unhealthy = sum(history.severity == "fail" for history in site.histories)
    links = [
        ("Contracts", INDEX, here == INDEX),
        (f"Not healthy ({unhealthy})" if unhealthy else "Not healthy", HEALTH, here == HEALTH),
        ("Costs", COSTS, here == COSTS),
    ]
    if site.kept:
        links.append(("Reports", RUNS, here == RUNS))
    title = shown(site.title)
    body = render_template(
        template,
        site=site,
        site_title=title,
        links=links,
        root=root,
        version=__version__,
        status=STATUS,
        **values,
    )
    full = f"{title} · gatekeeper" if heading == title else f"{heading} · {title}"
    script, style = (root + name for name in site_assets())
    return linked_page(full, body, script, style)


@lru_cache(maxsize=1)
def site_assets() -> Mapping[str, str]:
    """Return the script and the style of the site, in this order: path -> text.

    The path depends on the text, so that no browser combines a page with an old copy.
    """
    dark = _DARK.search(asset("base.css"))
    if dark is None:
        raise ValueError("base.css: has no block of colours for dark screens")
    chosen = (
        f"@media screen {{ :root[data-theme=dark] {{ {dark[1]} color-scheme: dark }} }}\n"
        ":root[data-theme=light] { color-scheme: light }"
    )
    style = _DARK.sub(
        "@media screen and (prefers-color-scheme: dark) { :root:not([data-theme=light]) {\\1} }",
        asset("base.css"),
    )
    texts = {
        "js": f"{asset('table.js')}\n{asset('site.js')}",
        "css": f"{style}\n{chosen}\n{asset('site.css')}",
    }
    return {
        f"assets/site-{hashlib.sha256(text.encode()).hexdigest()[:10]}.{kind}": text
        for kind, text in texts.items()
    }
