"""Renders a page on which a person labels outputs in a browser, without a server."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from gatekeeper.gate.calibration.label_tasks import LabelTask
from gatekeeper.reports.html.page import page


def label_page(contract: str, tasks: Sequence[LabelTask], annotator: str, check: str | None) -> str:
    """Return the page. It loads nothing, keeps the verdicts in the browser, and gives them as a
    `labels.jsonl` to save."""
    data = {
        "contract": contract,
        "annotator": annotator,
        "check": check,
        "tasks": [
            {
                "fixture": task.fixture,
                "input": task.input,
                "expected": task.expected,
                "output": task.output,
            }
            for task in tasks
        ],
    }
    # In Base64, no output can end the element that holds it.
    packed = base64.b64encode(json.dumps(data).encode()).decode()
    title = f"Label outputs of {contract}"
    body = _BODY.format(title=escape(title), data=packed)
    script = files("gatekeeper.reports.judges").joinpath("label_page.js").read_text("utf-8")
    return page(title, body, script)


_BODY = """\
<main id="labelling" data-tasks="{data}">
<h1>{title}</h1>
<p id="progress" role="status"></p>
<section id="task">
<h2 id="fixture"></h2>
<div id="input-part"><h3>Input</h3><pre id="input"></pre></div>
<div id="expected-part"><h3>Expected</h3><pre id="expected"></pre></div>
<h3>Output</h3><pre id="output"></pre>
<p><label>Score from 0 to 1, if you like:
<input type="number" id="score" min="0" max="1" step="any"></label></p>
<p>
<button type="button" id="pass">Pass (P)</button>
<button type="button" id="fail">Fail (F)</button>
<button type="button" id="skip">Skip (S)</button>
<button type="button" id="back">Back (B)</button>
</p>
</section>
<p><a id="save" download="labels.jsonl" href="#">Save labels.jsonl</a></p>
"""
