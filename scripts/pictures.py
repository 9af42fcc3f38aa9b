"""Takes the pictures of the comment in docs/images. Needs chromium; run it from the root."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

from gatekeeper.reports.comment import COMMENT_LIMIT, compose
from gatekeeper.reports.details import Depth

ROOT = Path(__file__).parents[1]
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
sub { color: #59636e; font-size: 12px; vertical-align: baseline }
"""


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from unit.reports import examples

    IMAGES.mkdir(parents=True, exist_ok=True)
    few = Depth(broken=3, others=3, output=1_500, diff=6_000)
    failed, passed = (
        compose(result, limit=COMMENT_LIMIT, depth=few) for result in (examples.FAIL, examples.PASS)
    )
    take("comment-fail", failed, height=893, folds_open=1)
    take("comment-pass", passed, height=385, folds_open=0)


def take(name: str, comment: str, *, height: int, folds_open: int) -> None:
    html = MarkdownIt("commonmark").enable("table").render(comment)
    html = html.replace("<details>", "<details open>", folds_open)
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
