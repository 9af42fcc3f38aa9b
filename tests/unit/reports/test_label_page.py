"""The page on which a person labels outputs, opened from disk in headless Chromium."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.browser import chromium, reload_until
from support.machine_needs import CHROMIUM

from gatekeeper.gate.calibration.labels import LabelTask
from gatekeeper.reports.labelling import label_page

pytestmark = [
    pytest.mark.long,
    CHROMIUM.mark,
]

HOSTILE = '</pre></main><script>window.owned = 1</script>"><img src=x onerror="window.owned = 2">'


def test_the_page_gives_the_labels_as_a_file(tmp_path: Path):
    tasks = [LabelTask(f"f{i}", f"output {i}", f"input {i}") for i in range(3)]
    tasks.append(LabelTask("bad", HOSTILE, None, HOSTILE))
    file, labels = tmp_path / "page.html", tmp_path / "labels.jsonl"
    file.write_text(label_page("words", tasks, "ada", "tone"), encoding="utf-8")
    faults: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(file.as_uri())
        assert page.locator("#input").inner_text() == "input 0"
        page.locator("#score").fill("2")
        page.locator("#pass").click()
        assert page.locator("#fixture").inner_text() == "f0"
        page.locator("#score").fill("0.75")
        page.locator("#pass").click()
        assert page.locator("#score").input_value() == ""
        page.keyboard.press("s")
        page.keyboard.press("f")
        assert page.locator("#output").inner_text() == HOSTILE
        assert page.locator("#input-part").is_hidden()
        page.keyboard.press("f")
        assert page.evaluate("window.owned") is None
        reload_until(page, lambda: page.locator("#fixture").inner_text() != "f0")
        assert page.locator("#fixture").inner_text() == "f1"
        page.keyboard.press("p")
        page.keyboard.press("b")
        page.keyboard.press("f")
        assert page.locator("#progress").inner_text().startswith("4 of 4")
        with page.expect_download() as download:
            page.locator("#save").click()
        download.value.save_as(labels)
        page.close()
    assert faults == []
    rows = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]
    assert [row["verdict"] for row in rows] == ["pass", "fail", "fail", "fail"]
    assert [row.get("score") for row in rows] == [0.75, None, None, None]
    assert [row["output"] for row in rows] == [task.output for task in tasks]
    assert {(row["annotator"], row["check"]) for row in rows} == {("ada", "tone")}
