"""Configurations of promptfoo that together have every key that the translation knows."""

from __future__ import annotations

from support.key_example import Example

_PROMPTFOO = Example(
    "promptfoo",
    "evals/promptfooconfig.json",
    {
        "evals/promptfooconfig.json": {
            "description": "Cities",
            "tags": {"team": "a"},
            "prompts": [
                {"id": "p", "raw": "Where is {{city}}?", "label": "where", "config": {"seed": 3}},
            ],
            "providers": [
                {
                    "id": "openai:gpt-4o-mini",
                    "label": "mini",
                    "config": {"temperature": 0.5},
                    "prompts": ["where"],
                    "transform": "output.trim()",
                    "delay": 5,
                    "env": {"A": "b"},
                }
            ],
            "evaluateOptions": {"repeat": 2, "maxConcurrency": 2},
            "defaultTest": {"assert": [{"type": "contains", "value": "in"}], "threshold": 0.5},
            "env": {"A": "b"},
            "tests": [
                {
                    "description": "Paris",
                    "vars": {"city": "Paris"},
                    "prompts": ["where"],
                    "providers": ["mini"],
                    "metadata": {"category": "city"},
                    "options": {
                        "provider": {"id": "openai:gpt-4o", "config": [0]},
                        "transform": "output.trim()",
                        "repeat": 3,
                        "disableVarExpansion": True,
                        "disableDefaultAsserts": True,
                    },
                    "assert": [
                        {"type": "similar", "value": "x", "threshold": 0.5, "weight": 2},
                        {"type": "icontains", "value": "France", "metric": "country"},
                        {"type": "is-json", "transform": "output.trim()", "config": [1]},
                        {"type": "word-count", "value": {"min": 1, "max": 9}},
                        {"type": "is-sql", "value": {"databaseType": "SQLite"}},
                        {"type": "is-xml", "value": {"requiredElements": ["a"]}},
                        {"type": "trajectory:tool-used", "value": {"name": "find", "min": 2}},
                        {"type": "trajectory:tool-used", "value": {"pattern": "get_*"}},
                        {
                            "type": "trajectory:tool-sequence",
                            "value": {"steps": ["find"], "mode": "exact"},
                        },
                        {
                            "type": "trajectory:tool-args-match",
                            "value": {"name": "find", "args": {"id": 1}, "mode": "exact"},
                        },
                        {
                            "type": "trajectory:tool-args-match",
                            "value": {
                                "name": "find",
                                "arguments": {"id": 2},
                                "defaults": [1],
                                "ignore": ["at"],
                            },
                        },
                        {"type": "trajectory:goal-success", "value": {"goal": "found"}},
                        {"type": "trajectory:step-count", "value": {"type": "tool", "max": 3}},
                        {"type": "llm-rubric", "value": "good", "provider": "openai:gpt-4o"},
                    ],
                }
            ],
            "scenarios": [{"config": [{"vars": {"city": "Rome"}}], "tests": [{"threshold": 0.4}]}],
        }
    },
    frozenset({"vars", "metadata", "tags", "env"}),
    frozenset({"description", "tags", "delay", "maxConcurrency", "metadata", "label", "id"}),
)

_PROMPTFOO_OTHERS = Example(
    "promptfoo",
    "evals/promptfooconfig.json",
    {
        "evals/promptfooconfig.json": {
            "prompts": ["Where is {{city}}?"],
            "targets": [{"id": "openai:gpt-4o-mini", "config": {"transformResponse": "output"}}],
            "commandLineOptions": {"repeat": 2, "verbose": True},
            "redteam": {"purpose": "x"},
            "tests": [
                {
                    "vars": {"city": "Rome"},
                    "options": {"postprocess": "output.trim()", "rubricPrompt": "Grade it"},
                    "assert": [
                        {
                            "type": "assert-set",
                            "threshold": 0.5,
                            "weight": 2,
                            "metric": "set",
                            "config": [1],
                            "assert": [
                                {"type": "equals", "value": "a"},
                                {"type": "contains", "value": "b"},
                            ],
                        },
                        {"type": "llm-rubric", "value": "good", "rubricPrompt": "Grade it"},
                        {
                            "type": "is-sql",
                            "value": {"allowedTables": "select::null::a", "allowedColumns": ["b"]},
                        },
                        {
                            "type": "similar",
                            "value": "x",
                            "provider": {
                                "text": "openai:gpt-4o",
                                "embedding": "openai:embedding:text-embedding-3-large",
                            },
                        },
                        {
                            "type": "context-faithfulness",
                            "threshold": 0.5,
                            "contextTransform": "output",
                        },
                    ],
                }
            ],
        }
    },
    frozenset({"vars", "redteam"}),
    frozenset({"verbose", "metric"}),
)
_LEFT_OUT_TESTS = Example(
    "promptfoo",
    "evals/promptfooconfig.json",
    {
        "evals/promptfooconfig.json": {
            "prompts": ["Where is {{city}}?"],
            "providers": [
                {"id": "openai:gpt-4o-mini", "responseParser": "output"},
                {"id": "openai:gpt-4o", "transformResponse": "output"},
            ],
            "tests": [
                {"path": "file://tests.json", "config": [1]},
                {"vars": {"city": "Rome"}, "assert": [{"type": "equals", "value": "a"}]},
                {
                    "vars": {"city": "Rome"},
                    "assert": [
                        {
                            "type": "is-json",
                            "value": {"type": "object", "properties": {"a": {"minLength": 1}}},
                        }
                    ],
                },
                *(
                    {
                        "vars": {"city": "Oslo"},
                        "assert": [{"type": "equals", "value": "a"}],
                        **others,
                    }
                    for others in (
                        {"provider": "openai:gpt-4o"},
                        {"providerOutput": "a"},
                        {"assertScoringFunction": "file://score.js"},
                        {"options": {"prefix": "a"}},
                        {"options": {"suffix": "a"}},
                        {"options": {"transformVars": "vars"}},
                    )
                ),
            ],
        }
    },
    frozenset({"vars", "properties"}),
    texts={
        "evals/tests.json": '[{"vars": {"city": "Bonn"}, "assert": [{"type": "is-json"}]}]',
    },
)

PROMPTFOO = (_PROMPTFOO, _PROMPTFOO_OTHERS, _LEFT_OUT_TESTS)
