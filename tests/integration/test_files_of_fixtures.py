"""Fixtures with files, from a pull request to the page: what the model sees, and what people do."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.browser import chromium
from support.edited_text import edited
from support.git_repository import GitRepository
from support.machine_needs import CHROMIUM
from support.openai_server import OpenAIServer, Reply
from support.recorded_repository import check

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
LARGE = DOT + b"x" * 400_000
CONTRACT = """\
contract: 1
name: receipts
prompt: ../prompts/total.txt
model: openai/gpt-4o-mini
params: {max_tokens: 9}
fixtures:
  - {id: spar, vars: {shop: Spar}, files: [spar.png], expected: "12.50"}
  - {id: aldi, vars: {shop: Aldi}, files: [<b>.png, aldi.pdf], expected: "8.20"}
checks: [{type: contains, value: "{{ expected }}"}]
sampling: {samples: 1, mode: fixed}
"""
FILES: dict[str, bytes | str] = {
    "contracts/r.yaml": CONTRACT,
    "contracts/spar.png": DOT,
    "contracts/<b>.png": LARGE,
    "contracts/aldi.pdf": b"%PDF-1.4\n",
    "prompts/total.txt": "What is the total of {{ shop }}?",
}


def answer(body: Mapping[str, Any]) -> Reply:
    """A model that reads the total from the files."""
    *files, text = body["messages"][0]["content"]
    assert text["type"] == "text"
    kinds = [part["type"] for part in files]
    return Reply({("image_url",): "12.50", ("image_url", "file"): "8.20"}[tuple(kinds)])


@pytest.fixture
def proposed(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    head = {"prompts/total.txt": "Read the total of {{ shop }}."}
    return git_repository("receipts").propose(head, FILES)


def pictures_of(page: str) -> dict[str, str]:
    found = re.search(r'<div id="pictures" hidden>([^<]*)</div>', page)
    return json.loads(html.unescape(found[1])) if found else {}


def test_a_model_that_sees_is_tested_and_the_page_shows_what_it_saw(
    proposed: GitRepository, tmp_path: Path
) -> None:
    with OpenAIServer(answer) as server:
        assert check(proposed, tmp_path) == 0
        assert len(server.requests) == 4
    page = (tmp_path / "report.html").read_text("utf-8")
    digest = hashlib.sha256(DOT).hexdigest()
    shown = f"data:image/png;base64,{base64.b64encode(DOT).decode()}"
    assert pictures_of(page) == {digest: shown}  # the large one is only named
    assert "img-src data:" in page
    assert "<b>.png" not in page
    rows = [json.loads(line) for line in (tmp_path / "samples.jsonl").read_text().splitlines()]
    assert {row["output"] for row in rows} == {"12.50", "8.20"}


def test_a_changed_picture_is_tested_and_named(
    proposed: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proposed.commit("an easier receipt", {"contracts/spar.png": DOT + b"!"})
    with OpenAIServer(answer):
        check(proposed, tmp_path)
    result = json.loads((tmp_path / "result.json").read_text())
    assert "fixture `spar`: the files changed" in json.dumps(result)


def test_a_pointer_to_a_file_elsewhere_gets_a_sentence(
    proposed: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    proposed.commit("use LFS", {"contracts/spar.png": pointer})
    assert check(proposed, tmp_path) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "`contracts/spar.png` is a Git LFS pointer, not the file's content" in said
    assert "contracts/r.yaml:7" in said


def test_a_page_without_pictures_loads_none(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    plain = edited(edited(CONTRACT, ", files: [spar.png]", ""), "<b>.png, ", "")
    head: dict[str, bytes | str] = {"prompts/total.txt": "Read the total of {{ shop }}."}
    base = {**FILES, "contracts/r.yaml": plain}
    with OpenAIServer(lambda _: Reply("12.50 8.20")):
        check(git_repository("receipts").propose(head, base), tmp_path)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert pictures_of(page) == {}
    assert "img-src" not in page


@pytest.mark.long
@CHROMIUM.mark
def test_a_reader_sees_the_picture_beside_the_answers(
    proposed: GitRepository, tmp_path: Path
) -> None:
    with OpenAIServer(answer):
        check(proposed, tmp_path)
    with chromium() as browser:
        page = browser.new_page()
        faults: list[str] = []
        page.on("console", lambda message: faults.append(message.text))
        page.goto((tmp_path / "report.html").as_uri())
        page.locator("#fixtures .fixture", has_text="spar").click()
        picture = page.get_by_role("img", name="contracts/spar.png")
        picture.wait_for()
        assert picture.evaluate("image => image.naturalWidth") == 1
        page.locator("#fixtures .fixture", has_text="aldi").click()
        named = page.locator(".file figcaption").all_inner_texts()
        assert any(text.startswith("contracts/<b>.png (SHA-256 ") for text in named)
        assert any(text.startswith("contracts/aldi.pdf (SHA-256 ") for text in named)
        assert faults == []
