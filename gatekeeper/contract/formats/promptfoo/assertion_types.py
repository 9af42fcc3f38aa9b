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
"""The types that become a check."""

_AGENTS = "agents and their traces are not run here"
_RETRIEVER = "it rates a retriever and not a prompt; the context is that of the test"
_PROBABILITIES = "the probabilities of tokens are not recorded"
_CODE = "gatekeeper runs no {}; write the check as a Python function in a file of its own"

NOT_RUN = {
    "agent-rubric": "a judge here is one request to a model, and no agent",
    "classifier": "no classifier is called",
    "context-recall": _RETRIEVER,
    "context-relevance": _RETRIEVER,
    "conversation-relevance": "no check rates every turn of a conversation",
    "finish-reason": "no check reads why an answer ended; samples.jsonl records it",
    "gleu": "GLEU is not computed; use `bleu` or `rouge-n`",
    "guardrails": "the guardrails of a provider are not read; use `is-refusal`",
    "human": "the gate waits for nobody",
    "javascript": _CODE.format("JavaScript"),
    "max-score": "it chooses one of several outputs; the gate compares base and head",
    "meteor": "METEOR needs WordNet; use `similar` or `rouge-n`",
    "moderation": "no moderation service is called; use `llm-rubric`",
    "perplexity": _PROBABILITIES,
    "perplexity-score": _PROBABILITIES,
    "ruby": _CODE.format("Ruby"),
    "search-rubric": "judges cannot search the web: the result would not repeat",
    "similar:dot": "the dot product of embeddings is not computed; use `similar`",
    "similar:euclidean": "the distance of embeddings is not computed; use `similar`",
    "skill-used": _AGENTS,
    "trace-error-spans": _AGENTS,
    "trace-span-count": _AGENTS,
    "trace-span-duration": _AGENTS,
    "trajectory:goal-success": _AGENTS,
    "trajectory:step-count": _AGENTS,
    "trajectory:tool-args-match": f"{_AGENTS}; the check `tool_call` reads the calls of one answer",
    "trajectory:tool-sequence": f"{_AGENTS}; the check `tool_call` reads the calls of one answer",
    "trajectory:tool-used": f"{_AGENTS}; the check `tool_call` reads the calls of one answer",
    "webhook": "checks have no network: a pull request could send outputs away",
}
"""Why each of the other types is not run."""

RED_TEAM = "promptfoo:redteam:"
RED_TEAM_REASON = "no attacks are generated or graded here"

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
"""The types whose `not-` form promptfoo evaluates like the form without it."""
