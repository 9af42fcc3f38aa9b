"""Takes the pictures of `gatekeeper init` and `gatekeeper validate` in docs/images. Needs chromium.

Both run on a small repository with prompts of several kinds, which this script writes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from gatekeeper.author.onboarding.proposal import Proposal, describe_proposal, propose
from gatekeeper.cli.main import main as gatekeeper
from gatekeeper.git import Repository
from gatekeeper.reports.described.validation import describe_validation
from gatekeeper.reports.terminal.render import Screen
from gatekeeper.runs.library.validate import validate

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import chromium  # noqa: E402

IMAGES = ROOT / "docs" / "images"
COLUMNS = 128
THEME = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [(72, 79, 88), (255, 123, 114), (63, 185, 80), (227, 179, 65), (121, 192, 255)] * 2,
)
STYLE = """
body { margin: 0; background: #ffffff }
pre { display: inline-block; margin: 0; padding: 14px 18px; background: #0d1117; color: #e6edf3;
      font: 13px/1.45 "DejaVu Sans Mono", monospace }
"""
SENTIMENT = """\
name: Review sentiment
model: openai/gpt-4o-mini
messages:
  - {role: system, content: "Answer with positive, negative or neutral."}
  - {role: user, content: "{{input}}"}
testData:
  - {input: "I love this phone.", expected: positive}
  - {input: "The battery died after a day.", expected: negative}
  - {input: "It is a phone.", expected: neutral}
evaluators:
  - {name: is the right label, string: {equals: "{{expected}}"}}
"""
PROMPTFOO = """\
prompts: [file://../prompts/summary.md]
providers: [openai:gpt-4o-mini]
tests:
  - vars: {article: The council met on Monday and agreed on a new school.}
    assert: [{type: icontains, value: council}]
  - vars: {article: The museum opens again in May after two years.}
    assert: [{type: icontains, value: museum}]
"""
FILES = {
    "evals/promptfooconfig.yaml": PROMPTFOO,
    "models/sentiment.prompt.yml": SENTIMENT,
    "prompts/summary.md": "Summarise this article in at most 50 words.\n\n{{ article }}\n",
    "prompts/contact.txt": (
        "Return only a JSON object with the fields name, email and phone.\n\n{{ text }}\n"
    ),
    "src/mail.py": (
        'CLASSIFY_PROMPT = """Classify the mail into one of: refund, complaint, other.\n\n'
        'Mail: {mail}\n"""\n'
    ),
}
MISTAKES = (
    (
        "contracts/contact.yaml",
        "model: openai/gpt-4o-mini",
        "model: openai/gpt-4o-mini\nparams: {top_k: 40}",
    ),
    ("contracts/contact.yaml", "{vars: {text: Here", "{vars: {tone: short, text: Here"),
)


def main() -> None:
    """Write the repository, run both commands, and take a picture of each."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "shop"
        for path, text in FILES.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, "utf-8")
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", root], check=True)
        with Repository.open(root) as repository:
            proposal: Proposal = propose(repository.worktree())
        take(
            "init",
            "gatekeeper init",
            lambda console: Screen(console).blocks(describe_proposal(proposal)),
        )
        gatekeeper(["init", "--repo", str(root)])
        for path, before, after in MISTAKES:
            text = (root / path).read_text("utf-8")
            (root / path).write_text(text.replace(before, after), "utf-8")
        (root / "prompts" / "reply.md").write_text("Write a reply to {{ mail }}\n", "utf-8")
        found = validate(repo=root)
        take(
            "validate",
            "gatekeeper validate",
            lambda console: Screen(console).blocks(describe_validation(found)),
        )


def take(name: str, command: str, show: Callable[[Console], None]) -> None:
    """Take a picture of what is printed on a dark terminal."""
    console = Console(
        record=True,
        width=COLUMNS,
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        file=StringIO(),
    )
    console.print(f"$ {command}", style="bold")
    show(console)
    printed = console.export_html(theme=THEME, inline_styles=True, code_format="<pre>{code}</pre>")
    page_text = f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{printed}"
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = Path(folder) / "page.html"
        page.write_text(page_text, "utf-8")
        with browser.new_page(viewport={"width": 1200, "height": 900}) as tab:
            tab.goto(page.as_uri())
            tab.locator("pre").screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
