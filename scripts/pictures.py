"""Takes the pictures in docs/images. Needs chromium.

`fail` and `pass` are the comments that `make demo` left. `inconclusive` and `error` are those of
the gate on a simulated model: one that does slightly worse on too few fixtures, and one that is
not there. The HTML report is that of another simulated run.
"""

from __future__ import annotations

import asyncio
import random
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from markdown_it import MarkdownIt

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.gate.pipeline import RunContext, measure
from gatekeeper.gate.work import plan_check
from gatekeeper.history.stores.lines import to_lines
from gatekeeper.reports.html import render_html
from gatekeeper.reports.markdown.comment import render_comment
from gatekeeper.reports.site.frame import page_path
from gatekeeper.sampling.retries import RetryPolicy

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import chromium  # noqa: E402
from support.site_history import name_of, nightly_history, write_repository  # noqa: E402
from support.ticket_run import gate_result, past  # noqa: E402

IMAGES = ROOT / "docs" / "images"
STYLE = """
body { font: 14px/1.5 "DejaVu Sans", sans-serif; color: #1f2328; margin: 12px 20px; width: 860px }
h2 { font-size: 21px; border-bottom: 1px solid #d1d9e0; padding-bottom: 6px; margin: 6px 0 12px }
h3 { font-size: 17px; margin: 18px 0 8px }
ul { padding-left: 28px; margin: 8px 0 }
p { margin: 8px 0 }
table { border-collapse: collapse; margin: 10px 0 }
td, th { border: 1px solid #d1d9e0; padding: 5px 11px }
th { background: #f6f8fa }
code { background: #eff1f3; padding: 2px 5px; border-radius: 6px; font: 86% "DejaVu Sans Mono" }
pre { background: #f6f8fa; padding: 10px; border-radius: 6px }
pre code { background: none; padding: 0 }
details { margin: 8px 0 }
blockquote { margin: 8px 0; padding: 0 14px; border-left: 4px solid }
blockquote * { color: #1f2328 }
.caution { color: #d1242f } .warning { color: #9a6700 } .tip { color: #1a7f37 }
sub { color: #59636e; font-size: 12px; vertical-align: baseline }
"""


CONTRACT = """\
contract: 1
name: refund-intent
prompt: refund-intent.txt
model: simulated/model
fixtures: [{file: mails.csv}]
checks: [{type: enum, values: [refund, other], name: is one of the two words}]
sampling: {samples: 3}
"""


@dataclass(frozen=True)
class Simulated:
    """Answers well with probability `base` or `head`; with None for head there is no answer."""

    base: float
    head: float | None

    async def complete(self, request: Request) -> Completion:
        text = request.messages[0].content
        rate = self.head if text.startswith("Briefly") else self.base
        if rate is None:
            raise CallFailed("503 Service Unavailable")
        drawn = random.Random(f"{text}|{request.repetition}").random()  # noqa: S311
        return Completion("refund" if drawn < rate else "It is a refund.", 420.0)

    async def aclose(self) -> None:
        """Nothing is open."""


def simulated(model: Simulated) -> str:
    """The comment on a pull request that makes one prompt shorter."""

    def revision(prompt: str, sha: str) -> MemoryRevision:
        mails = "".join(f"mail {number},Where is order {number}?\n" for number in range(24))
        files = {
            "contracts/refund-intent.yaml": CONTRACT,
            "contracts/refund-intent.txt": prompt,
            "contracts/mails.csv": f"id,mail\n{mails}",
        }
        return MemoryRevision({name: text.encode() for name, text in files.items()}, sha * 40)

    base = revision("Say whether this mail asks for a refund: {{ mail }}", "b")
    head = revision("Briefly: a refund? {{ mail }}", "c")
    around = RunContext(model, retry=RetryPolicy(attempts=1))
    result = asyncio.run(measure(plan_check(Change(base, head), Policy()), around))
    return render_comment(result)


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    take("comment-fail", comment_of("broken"), height=795, folds_open=0)
    take("comment-pass", comment_of("harmless"), height=380, folds_open=0)
    take("comment-inconclusive", simulated(Simulated(0.97, 0.93)), height=390, folds_open=0)
    take("comment-error", simulated(Simulated(0.97, None)), height=400, folds_open=0)
    take_report()
    take_site()


def comment_of(branch: str) -> str:
    return (ROOT / ".gatekeeper" / "demo" / branch / "comment.md").read_text("utf-8")


def take_report() -> None:
    """The HTML report of a simulated run after a month of nightly ones, and one fixture of it."""
    page = render_html(replace(gate_result(60, 3), past=past()))
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        path = Path(folder) / "report.html"
        path.write_text(page, "utf-8")
        with browser.new_page(
            viewport={"width": 1180, "height": 1000}, reduced_motion="reduce"
        ) as tab:
            tab.goto(path.as_uri())
            tab.locator("#fixtures button").first.wait_for()
            tab.screenshot(path=IMAGES / "report.png")
            tab.locator("#fixtures button").first.click()
            tab.locator(".charts").first.screenshot(path=IMAGES / "report-charts.png")
            tab.set_viewport_size({"width": 1180, "height": 640})
            tab.locator("#samples").evaluate("part => part.scrollIntoView()")
            tab.screenshot(path=IMAGES / "report-samples.png")


def take_site() -> None:
    """The first page of the site of a made-up year, and the page of a contract that drifted."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_repository(folder, contracts=12, fixtures=20)
        (folder / "runs.jsonl").write_bytes(to_lines(nightly_history(12, 365, 20)))
        command = [sys.executable, "-m", "gatekeeper", "site", "--history", "runs.jsonl"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
        site = folder / ".gatekeeper" / "site"
        with (
            chromium() as browser,
            browser.new_page(viewport={"width": 1180, "height": 860}) as tab,
        ):
            tab.goto((site / "index.html").as_uri())
            tab.screenshot(path=IMAGES / "site.png")
            tab.goto((site / page_path(name_of(0))).as_uri())
            tab.screenshot(path=IMAGES / "site-contract.png")


def take(name: str, comment: str, *, height: int, folds_open: int) -> None:
    html = MarkdownIt("commonmark").enable("table").render(comment)
    html = html.replace("<details>", "<details open>", folds_open)
    alert = r"<blockquote>\s*<p>\[!(\w+)\]"  # only GitHub draws these
    html = re.sub(alert, lambda a: f'<blockquote class="{a[1].lower()}"><p>', html)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{html}", "utf-8")
        subprocess.run(
            [
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--window-size=900,{height}",
                f"--screenshot={IMAGES / name}.png",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=60,
        )


if __name__ == "__main__":
    main()
