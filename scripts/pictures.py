"""Takes the pictures in docs/images of the comments that `make demo` left. Needs chromium."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt

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
    IMAGES.mkdir(parents=True, exist_ok=True)
    take("comment-fail", comment_of("broken"), height=830, folds_open=0)
    take("comment-pass", comment_of("harmless"), height=385, folds_open=0)


def comment_of(branch: str) -> str:
    return (ROOT / ".gatekeeper" / "demo" / branch / "comment.md").read_text("utf-8")


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
