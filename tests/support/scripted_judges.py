"""Answers the questions of quality/ as capable judges would, besides those of generation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from support.openai_server import Fault
from support.scripted_author import Answer, author, stage_of

JUDGES = ("openai/claude-judge", "openai/llama-judge")
EMBEDDER = "openai/text-embedding-3-small"
INPUTS = (
    "The zip broke on the first morning of our holiday in the mountains.",
    "Perfekt, ich kaufe es wieder!",
    "meh",
    "Great lamp. Terrible cable. Which of them counts for you?",
    "It arrived in March and I have used it on each and every day since then.",
    "10/10",
)


def verdict(answer: str, reason: str = "It says so.") -> dict[str, Any]:
    """An answer of a judge."""
    return {"reason": reason, "verdict": answer}


def quality_author(changes: Mapping[str, Any] | None = None) -> Answer:
    """Answer every stage, some of them with `changes`: texts, objects, or functions of the
    request."""
    own = dict(changes or {})
    generation = author({name: found for name, found in own.items() if not callable(found)})

    def answer(body: dict[str, Any]) -> Any:
        if "input" in body:
            return _embeddings(body["input"])
        stage = stage_of(body)
        if callable(own.get(stage)):
            found = own[stage](body)
            return json.dumps(found) if isinstance(found, dict) else found
        if stage in own or stage not in _SCRIPT:
            return generation(body)
        return json.dumps(_SCRIPT[stage](body["messages"][1]["content"]))

    return answer


def _baseline(question: str) -> dict[str, Any]:
    known = "<data written " in question
    rows = INPUTS[:1] if known else INPUTS
    return {
        "tests": [{"scenario": f"a review: {n}", "vars": {"review": t}} for n, t in enumerate(rows)]
    }


def _valid(question: str) -> dict[str, Any]:
    rude = "not buy it again" in question
    return verdict("no", "It is no review.") if rude else verdict("yes")


def _grounded(question: str) -> dict[str, Any]:
    polite = "The output is polite" in question
    return verdict("no", "Line 3 is about the tone alone.") if polite else verdict("yes")


def _obeyed(question: str) -> dict[str, Any]:
    return {"verdicts": [{"number": 1, **verdict("yes")}]}


_SCRIPT = {
    "baseline_tests": _baseline,
    "test_valid": _valid,
    "rule_grounded": _grounded,
    "rules_obeyed": _obeyed,
    "answer_correct": lambda _: verdict("yes"),
}


def _embeddings(texts: list[str]) -> Fault:
    data = [{"index": n, "embedding": [len(text), 4.0, 0]} for n, text in enumerate(texts)]
    usage = {"prompt_tokens": 6, "total_tokens": 6}
    return Fault("raw", body=json.dumps({"model": "m", "data": data, "usage": usage}))
