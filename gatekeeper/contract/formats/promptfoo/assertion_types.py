"""The assertion types of promptfoo: those with a check here, and why the others are not run.

Read in promptfoo's sources in November 2026. A test compares them with scripts/other_tools.yaml,
from which the table of docs/checks.md is written.
"""

from __future__ import annotations

MAPPED = frozenset(
    {
        "answer-relevance",
        "assert-set",
        "bleu",
        "contains",
        "contains-all",
        "contains-any",
        "contains-html",
        "contains-json",
        "contains-sql",
        "contains-xml",
        "context-faithfulness",
        "cost",
        "equals",
        "factuality",
        "g-eval",
        "icontains",
        "icontains-all",
        "icontains-any",
        "is-html",
        "is-json",
        "is-refusal",
        "is-sql",
        "is-valid-function-call",
        "is-valid-openai-function-call",
        "is-valid-openai-tools-call",
        "is-xml",
        "latency",
        "levenshtein",
        "llm-rubric",
        "model-graded-closedqa",
        "model-graded-factuality",
        "pi",
        "python",
        "regex",
        "rouge-n",
        "select-best",
        "similar",
        "similar:cosine",
        "starts-with",
        "tool-call-f1",
        "word-count",
    }
)
"""The assertion types that gatekeeper translates to a check."""

_AGENTS = "gatekeeper does not run agents and does not record traces of agents"
_TOOLS = (
    f"{_AGENTS}; to test the tool calls of one answer, write a gatekeeper contract with a "
    "check `tool_call`"
)
_RETRIEVER = (
    "this assertion type evaluates a retriever, but gatekeeper takes the context from the test"
)
_PROBABILITIES = "gatekeeper does not record token probabilities"
_CODE = "gatekeeper does not run {}; write the check as a Python function in a separate file"

NOT_RUN = {
    "agent-rubric": "a judge in gatekeeper sends single requests to a model, and is not an agent",
    "classifier": "gatekeeper does not call classifiers",
    "context-recall": _RETRIEVER,
    "context-relevance": _RETRIEVER,
    "conversation-relevance": "gatekeeper has no check that rates every turn of a conversation",
    "finish-reason": (
        "gatekeeper has no check for the reason why an answer ended; "
        "`samples.jsonl` records the reason"
    ),
    "gleu": "gatekeeper does not compute GLEU; use `bleu` or `rouge-n`",
    "guardrails": "gatekeeper does not read a provider's guardrails; use `is-refusal`",
    "human": "gatekeeper does not wait for the verdict of a person",
    "javascript": _CODE.format("JavaScript"),
    "max-score": (
        "this assertion type selects one of several outputs, but gatekeeper compares the outputs "
        "of base and head"
    ),
    "meteor": (
        "gatekeeper does not compute METEOR, which needs WordNet; use `similar` or `rouge-n`"
    ),
    "moderation": "gatekeeper calls no moderation service; use `llm-rubric`",
    "perplexity": _PROBABILITIES,
    "perplexity-score": _PROBABILITIES,
    "ruby": _CODE.format("Ruby"),
    "search-rubric": "judges cannot search the web, because search results change over time",
    "similar:dot": "gatekeeper does not compute the dot product of embeddings; use `similar`",
    "similar:euclidean": (
        "gatekeeper does not compute the Euclidean distance of embeddings; use `similar`"
    ),
    "skill-used": _AGENTS,
    "trace-error-spans": _AGENTS,
    "trace-span-count": _AGENTS,
    "trace-span-duration": _AGENTS,
    "trajectory:goal-success": _AGENTS,
    "trajectory:step-count": _AGENTS,
    "trajectory:tool-args-match": _TOOLS,
    "trajectory:tool-sequence": _TOOLS,
    "trajectory:tool-used": _TOOLS,
    "webhook": (
        "gatekeeper gives checks no network access, so that a pull request cannot leak outputs"
    ),
}
"""The reason why gatekeeper does not run each of the other types."""

RED_TEAM = "promptfoo:redteam:"
RED_TEAM_REASON = "gatekeeper neither generates nor grades attacks"

ALL_TYPES = MAPPED | NOT_RUN.keys()

IGNORES_NOT = frozenset(
    {
        "answer-relevance",
        "context-faithfulness",
        "factuality",
        "is-valid-function-call",
        "is-valid-openai-function-call",
        "is-valid-openai-tools-call",
        "model-graded-closedqa",
        "model-graded-factuality",
        "pi",
        "select-best",
    }
)
"""The types for which promptfoo ignores `not-`."""
