"""samples.jsonl: complete enough to be replayed."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

from support import results as examples

from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.providers.recorded import ReplayClient
from gatekeeper.reports.formats.samples import sample_lines


def _lines(*outcomes: Any) -> list[dict[str, Any]]:
    result = replace(examples.PASS, outcomes=outcomes)
    return [json.loads(line) for line in "".join(sample_lines(result)).splitlines()]


def test_one_line_a_sample() -> None:
    first, second = _lines(
        examples.outcome(text=" NN\u2028", shared=True), examples.outcome(arm="base", repetition=1)
    )
    request = examples.outcome().sample.trial.request
    assert first["request"] == request_digest(request)
    assert first["output_raw"] == " NN\u2028"
    assert first["output"] == "NN"
    assert first["repairs"] == ["strip"]
    assert first["shared"] is True
    assert first["cost_usd"] is None
    assert first["checks"] == [
        {"check": "is a tag", "passed": True, "severity": "error", "message": ""}
    ]
    assert (second["arm"], second["repetition"]) == ("base", 1)
    assert first["prompt_digest"] == second["prompt_digest"] != first["request"]


def test_a_failed_call_has_no_output() -> None:
    (line,) = _lines(examples.outcome(text=None))
    assert line["error"] == "429 Too Many Requests"
    assert [line[key] for key in ("output_raw", "output", "latency_ms")] == [None] * 3
    assert line["checks"] == []


def test_a_recording_answers_as_the_model_did() -> None:
    outcomes = (examples.outcome(text=" NN\u2028"), examples.outcome(text="VB", repetition=1))
    recording = "".join(sample_lines(replace(examples.PASS, outcomes=outcomes))).encode()
    client = ReplayClient(lambda _: recording, "samples.jsonl")
    for outcome in outcomes:
        sample = outcome.sample
        assert sample.completion is not None
        replayed = asyncio.run(client.complete(sample.trial.request))
        assert replayed == replace(sample.completion, replayed=True)


def test_nothing_sampled_is_an_empty_file() -> None:
    assert list(sample_lines(examples.QUIET)) == []
