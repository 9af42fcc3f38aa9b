"""Translates promptfoo's assertions that ask a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gatekeeper.contract.formats.promptfoo.assertion import Assertion, NeedsVariablesError

Check = dict[str, Any]

_SAME_FACTS = (
    "States the same facts as the reference, or some or more of them, and contradicts none. "
    "Differences in style, grammar and punctuation do not matter."
)


def rubric(assertion: Assertion) -> Check:
    """Grade the output against the criteria in `value`."""
    value = assertion.raw()
    if isinstance(value, list):
        criteria = "\n".join(f"- {assertion.text(item)}" for item in value)
    elif isinstance(value, Mapping):
        raise assertion.cannot("the criteria are a mapping; write the criteria as text")
    else:
        criteria = assertion.text(value)
    return _graded(assertion, {"judge": "rubric", "criteria": criteria})


def factuality(assertion: Assertion) -> Check:
    """Grade the facts of the output against the reference in `value`."""
    check = {"judge": "rubric", "criteria": _SAME_FACTS, "reference": assertion.text()}
    return _graded(assertion, check)


def answer_relevance(assertion: Assertion) -> Check:
    """Grade whether the output answers the question: from `query`, or the user."""
    _require_threshold(assertion)
    check: Check = {"judge": "answers_question"}
    variables = assertion.scope.variables
    if variables is None:
        raise NeedsVariablesError
    if isinstance(variables.get("query"), str):
        check["question"] = "{{ query }}"
    return _graded(assertion, check)


def faithfulness(assertion: Assertion) -> Check:
    """Require that the variable `context` supports so many of the claims as the threshold says."""
    share = _require_threshold(assertion)
    if assertion.node.get("contextTransform") is not None:
        raise assertion.cannot("`contextTransform` is JavaScript, which gatekeeper does not run")
    variables = assertion.scope.variables
    if variables is None:
        raise NeedsVariablesError
    if "context" not in variables:
        what = "the test has no variable `context`"
        raise assertion.node.problem(what, "add `context` to `vars`")
    return _graded(assertion, {"judge": "faithful", "context": "{{ context }}", "pass": share})


def _require_threshold(assertion: Assertion) -> float:
    share = assertion.share(0)
    if share == 0:
        why = "without a `threshold` above 0, every output passes in promptfoo"
        raise assertion.cannot(why)
    return share


def select_best(assertion: Assertion) -> Check:
    """Compare the outputs of head and base in pairs."""
    return _graded(assertion, {"judge": "prefer", "criteria": assertion.text()})


def similar(assertion: Assertion) -> Check:
    """Compare the embeddings of the output and of the texts in `value`."""
    value = assertion.raw()
    texts = (
        [assertion.text(v) for v in value] if isinstance(value, list) else [assertion.text(value)]
    )
    if assertion.grading.embedding_fault:
        raise assertion.cannot(assertion.grading.embedding_fault)
    least = assertion.share(0.75)
    model = assertion.grading.embedding
    ways = [{"type": "similar", "value": text, "min": least, "model": model} for text in texts]
    checks = [assertion.with_field(way) for way in ways]
    return checks[0] if len(checks) == 1 else {"type": "any_of", "checks": checks}


def _graded(assertion: Assertion, check: Check) -> Check:
    grading = assertion.grading
    if grading.own_prompt or assertion.node.get("rubricPrompt") is not None:
        raise assertion.cannot(
            "gatekeeper does not use this `rubricPrompt`, because gatekeeper's "
            "judges answer in a different format"
        )
    if grading.judge_fault:
        raise assertion.cannot(grading.judge_fault)
    if grading.judge is not None:
        check["model"] = grading.judge
    takes_field = check["judge"] not in ("prefer",)
    return assertion.with_field(check) if takes_field else assertion.whole(check)


TRANSLATORS: Mapping[str, Callable[[Assertion], Check]] = {
    "llm-rubric": rubric,
    "g-eval": rubric,
    "model-graded-closedqa": rubric,
    "pi": rubric,
    "factuality": factuality,
    "model-graded-factuality": factuality,
    "answer-relevance": answer_relevance,
    "context-faithfulness": faithfulness,
    "select-best": select_best,
    "similar": similar,
    "similar:cosine": similar,
}
