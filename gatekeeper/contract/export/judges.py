"""Writes judges as `llm` evaluators of GitHub Models: a question that is answered by one word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gatekeeper.contract.definition import CheckSpec, Fixture
from gatekeeper.contract.export.exported import rendered_values
from gatekeeper.contract.export.messages import is_text

ENOUGH = 0.75
"""The lowest score that passes if the check does not say which."""
_ASKS = {
    "rubric": ("criteria", "The output must meet these criteria:"),
    "tone": ("tone", "The output must have this tone:"),
    "complies": ("instructions", "The output must obey these rules:"),
}
_SHOWN = ("context", "question", "reference", "prompt")


def llm_evaluator(check: CheckSpec, fixtures: Sequence[Fixture]) -> list[dict[str, Any]] | str:
    """Return the evaluator of a judge; why there is none, if it has no equivalent."""
    asks = _ASKS.get(check.params["judge"])
    if asks is None or asks[0] not in check.params:
        return f"GitHub has no equivalent of the judge `{check.params['judge']}`"
    if any(name in check.params for name in _SHOWN):
        return "it shows the judge more than the output"
    name, opening = asks
    texts = {*rendered_values(check.params[name], fixtures, check.position)}
    text = next(iter(texts))
    if len(texts) > 1 or not isinstance(text, str) or not is_text(text):
        return f"its `{name}` is a template"
    models = check.params.get("models") or [check.params.get("model")]
    if len(models) > 1 or check.params.get("repeat", 1) > 1:
        return "several judges decide together"
    choices, meanings = _choices(check)
    words = ", ".join(choices)
    lines = [opening, text, *meanings]
    evaluator = {
        "name": check.name,
        "llm": {
            "modelId": models[0],
            "systemPrompt": "\n".join(lines),
            "prompt": f"Output:\n{{{{completion}}}}\n\nAnswer with one of these alone: {words}",
            "choices": [{"choice": c, "score": int(passes)} for c, passes in choices.items()],
        },
    }
    return [evaluator]


def _choices(check: CheckSpec) -> tuple[Mapping[str, bool], list[str]]:
    """Return whether each choice of the judge passes, and what the choices mean."""
    least, scale, scores = (check.params.get(name) for name in ("pass", "scale", "choices"))
    if scale:
        levels = sorted(scale, key=int)
        steps = len(levels) - 1
        enough = next(
            number
            for number, level in enumerate(levels)
            if level == str(least) or (least is None and number / steps >= ENOUGH)
        )
        meanings = [f"{level}: {scale[level]}" for level in levels]
        return {level: n >= enough for n, level in enumerate(levels)}, meanings
    if not scores:
        middle = {"partly": False} if check.params["judge"] == "tone" else {}
        return {"yes": True, **middle, "no": False}, []
    bound = scores.get(least, least) if isinstance(least, str) else least
    limit = float(bound) if isinstance(bound, int | float) else ENOUGH
    return {choice: score >= limit for choice, score in scores.items()}, []
