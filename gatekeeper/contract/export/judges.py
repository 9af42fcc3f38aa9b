"""Writes judges for other tools, which ask a model for one of several words: as `llm` evaluators of
a `.prompt.yml`, and for `ModelBasedClassify` of OpenAI Evals."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.contract.checks.judge_settings import ENOUGH
from gatekeeper.contract.export.exported import is_text
from gatekeeper.contract.prompts.render import render_value
from gatekeeper.contract.values.definition import CheckSpec, Fixture

_ASKS = {
    "rubric": {"criteria": "The output must meet these criteria:"},
    "tone": {"tone": "The output must have this tone:"},
    "complies": {
        "rule": "The output must obey this rule:",
        "instructions": "The output must obey these rules:",
    },
}
"""What is exported of each kind of judge: the first of these parameters that the check has."""
_SHOWN = ("context", "question", "reference", "prompt")


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked: its model, the criteria, and whether each choice passes."""

    model: str
    criteria: str
    choices: Mapping[str, bool]


def llm_evaluator(check: CheckSpec, fixtures: Sequence[Fixture]) -> list[dict[str, Any]] | str:
    """Return the evaluator of a judge; why there is none, if it has no equivalent."""
    asked = judge_question(check, fixtures)
    if isinstance(asked, str):
        return asked
    evaluator = {
        "name": check.name,
        "llm": {
            "modelId": asked.model,
            "systemPrompt": asked.criteria,
            "prompt": f"Output:\n{{{{completion}}}}\n\n{_answer(asked)}",
            "choices": [{"choice": c, "score": int(passes)} for c, passes in asked.choices.items()],
        },
    }
    return [evaluator]


def graded_spec(asked: Question) -> dict[str, Any] | str:
    """Return the specification of `ModelBasedClassify`; why there is none. Its prompt has fields of
    Python's `str.format`."""
    if any(c in string.punctuation for choice in asked.choices for c in choice):
        return "`ModelBasedClassify` accepts no choice that contains punctuation"
    criteria = asked.criteria.replace("{", "{{").replace("}", "}}")
    return {
        "prompt": f"{criteria}\n\nOutput:\n{{completion}}\n\n{_answer(asked)}",
        "choice_strings": list(asked.choices),
        "choice_scores": {choice: float(passes) for choice, passes in asked.choices.items()},
        "input_outputs": {"input": "completion"},
        "eval_type": "classify",
    }


def _answer(asked: Question) -> str:
    return f"Answer with one of these alone: {', '.join(asked.choices)}"


def judge_question(check: CheckSpec, fixtures: Sequence[Fixture]) -> Question | str:
    """Return what other tools can ask a model; why not, if they cannot ask it."""
    asks = _ASKS.get(check.params["judge"], {})
    name = next((name for name in asks if name in check.params), None)
    if name is None:
        return f"the export format has no equivalent of the judge `{check.params['judge']}`"
    if any(name in check.params for name in _SHOWN):
        return (
            "the check shows the judge more than the output, and the export format shows only the "
            "output"
        )
    texts = {render_value(check.params[name], one, check.position) for one in fixtures}
    text = next(iter(texts))
    if len(texts) > 1 or not isinstance(text, str) or not is_text(text):
        return f"`{name}` of the check is a template, and the export format needs one fixed text"
    models = check.params.get("models") or [check.params.get("model")]
    if len(models) > 1 or check.params.get("repeat", 1) > 1:
        return "the check combines several answers of judges, and the export format has only one"
    choices, meanings = _choices(check)
    return Question(str(models[0]), "\n".join([asks[name], text, *meanings]), choices)


def judge_differences(check: CheckSpec) -> Iterator[str]:
    """Yield in which ways the exported judge sees less than the judge of the check."""
    if "rule" in check.params:
        yield "the exported judge sees only the rule, and neither the prompt nor `instructions`"


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
