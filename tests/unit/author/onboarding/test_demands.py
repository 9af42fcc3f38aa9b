"""What a prompt plainly demands, and what it only seems to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.onboarding.demands import find_demands


def demanded(text: str) -> list[tuple[str, Any]]:
    """The type of each check with its main parameter."""
    found = []
    for demand in find_demands(text):
        check = demand.check
        found.append((check["type"], check.get("values", check.get("fields", check.get("max")))))
    return found


@pytest.mark.parametrize(
    ("text", "checks"),
    [
        ("Answer with positive, negative or neutral.", ["positive", "negative", "neutral"]),
        ("Reply with exactly one of: spam, ham.", ["spam", "ham"]),
        ("Classify the mail into one of: refund, other.\n\nMail: {{ m }}", ["refund", "other"]),
        ("Classify it as bug, feature, or question", ["bug", "feature", "question"]),
        ("Answer yes or no.", ["yes", "no"]),
        ("Respond with either 'yes' or 'no'.", ["yes", "no"]),
        ("Choose one of the following:\n- billing\n- other\n\n{{ m }}", ["billing", "other"]),
        (
            "Classify it as one of:\n- billing: payments…\n- `other` (all else)\n\n{{ m }}",
            ["billing", "other"],
        ),
        (
            "Categories:\n\n* **billing** – payments\n* **bug** — errors\n\n"
            "Reply with exactly one category name.",
            ["billing", "bug"],
        ),
        ("The labels are:\n1. spam - ads\n2) ham\nReturn only the label.\n", ["spam", "ham"]),
        (
            "## Intents:\n• greet: hello\n• buy: wants it\nMail: {{ m }}\nAnswer in one word.",
            ["greet", "buy"],
        ),
    ],
)
def test_a_list_of_labels_is_an_enum(text, checks):
    assert demanded(text) == [("enum", checks)]


@pytest.mark.parametrize(
    ("text", "checks"),
    [
        ("Respond in valid JSON.", [("json_valid", None)]),
        (
            'Return JSON with keys "name", "age".',
            [("json_valid", None), ("json_required", ["name", "age"])],
        ),
        (
            "Return only a JSON object with the fields name, email and phone.\n{{ text }}",
            [("json_valid", None), ("json_required", ["name", "email", "phone"])],
        ),
        ("Return JSON. Keep the answer under 80 words.", [("json_valid", None)]),
        ("Return JSON; `label` is one of good, bad.", [("json_valid", None)]),
        (
            "Return a JSON object with the following fields:\n- name: the full name\n"
            "- **sum** (number): what it costs\n- note: a remark (optional)\n",
            [("json_valid", None), ("json_required", ["name", "sum"])],
        ),
        (
            'Output JSON with these keys:\n  "name" (string)\n  "date" (string): the day\n',
            [("json_valid", None), ("json_required", ["name", "date"])],
        ),
        (
            'Reply in JSON like this:\n{"label": "a: b", "at": {"day": 1, "hours": [2]}}',
            [("json_valid", None), ("json_required", ["label", "at"])],
        ),
        (
            'Return a JSON object in this format:\n\n```json\n{"label": "<a>", "urgency": 1}\n```',
            [("json_valid", None), ("json_required", ["label", "urgency"])],
        ),
        (
            'Return JSON: {{"label": "…", "at": {{"day": 1}}}}',
            [("json_valid", None), ("json_required", ["label", "at"])],
        ),
        (
            'Answer as JSON, such as {"a": 1, "b": 2} or {"a": 3, "c": 4}.',
            [("json_valid", None), ("json_required", ["a"])],
        ),
        # What shows no keys that every answer has.
        ('Return a JSON array: [{"a": 1}, {"a": 2}]', [("json_valid", None)]),
        ('Return JSON. The input: {"a": 1}', [("json_valid", None)]),
        ('Return JSON: {"a": 1, "b": "(optional)"}', [("json_valid", None)]),
        ('Return JSON by this schema: {"properties": {"a": {}}}', [("json_valid", None)]),
        ('Return JSON: {"a": 1, "b": ', [("json_valid", None)]),
        ("Return JSON of {{ text }} and {% if x %}x{% endif %}.", [("json_valid", None)]),
        ("Answer in at most 50 words.", [("length", 50)]),
        ("Write 200 characters or less.", [("length", 200)]),
        ("Do not use more than 100 words.", [("length", 100)]),
        ("Use at most 90 words in the whole answer.", [("length", 90)]),
        ("Use at most 60 words. The section comes later.", [("length", 60)]),
        ("  Rules:\n  - Write at most 70 words.", [("length", 70)]),
        ("Your answer must not exceed 80 characters.", [("length", 80)]),
        ("Don't write over 30 words. No more than 30 words!", [("length", 30)]),
        ("Summarise it.\nNever go beyond 12 words, please.", [("length", 12)]),
    ],
)
def test_json_and_lengths_are_checks(text, checks):
    assert demanded(text) == checks


@pytest.mark.parametrize(
    "text",
    [
        "Do not answer in JSON. Use plain text.",
        "You help either customers or sellers of the shop with their questions.",
        "Use one of our tools, or ask the user.",
        "Answer with a summary, then a list.",
        "Categories: a big list of things, of which some are new.",
        "Read at least 50 words.",
        "The file is JSON.",
        "Do not use fewer than 100 words.",
        "Write no less than 100 words.",
        "Write more than 100 words.",
        "Write a title of at most 9 words and a body of at most 90 words.",
        "Use sentences of at most 20 words.",
        "Use at most 20 words per sentence.",
        "- Summarise the trip in 50 words or less, with its date, in a section called OVERVIEW.",
        "- Output a maximum 100 character intro sentence.",
        "When you merge notes:\n- Do not exceed 50 words in the merged note",
        "Call the tool:\n- `content`: the text, which must\n  - Be maximum 200 words",
        '{"reason": "Explain it. Only keep a minimum draft with 5 words at most"}',
        "If the mail has less than 5 words, ask for more.",
        "Do not answer with yes or no.",
        "Never reply with good or bad.",
        "",
        # The list is no list of answers.
        "The names may be used by other code like unit tests, etc.",
        "Answer with examples, tests, etc.",
        "Use one of the following tools:\n- search\n- browse\n",
        "Use bullets or tables where they help.",
        "Answer with text, code or images.",
        "Answer in English or German.",
        "If the user is angry, reply with empathy or patience.",
        "Reply with markdown or plain text.",
        "You will get a label, one of: spam, ham. Say what it means.",
        "The categories: bug, feature, question.",
        "The categories:\n- bug: errors\n- feature: wishes\n\nWrite a reply to the customer.",
        "Categories:\n- bug: errors\n- feature: wishes\n\nAnswer with the category and a reason.",
        "Options:\n- a long one of words\n- another long one\nAnswer with the option only.",
        # The answer has more than the label.
        "Classify the mail as spam or ham, and explain why.",
        "Answer yes or no. Then write a short reply to the customer.",
        "First think step by step. Classify it as good or bad.",
        "For each line, answer yes or no.",
        "Rate it as low or high, and give a confidence score.",
        # The JSON is the input, a part of the answer, or one choice.
        "You will get a JSON object. Summarise the JSON for a manager.",
        "Write a Python function that returns JSON.",
        "Convert the answer of the server, which is JSON, to a table.",
        "Return a table, followed by a JSON object.",
        "Return the answer in <answer> tags. Return JSON inside.",
        "Return JSON or plain text.",
        "Return JSON in a block:\n```json\n{}\n```",
        "Return JSON lines, one for each item.",
        "If a tool fails, return JSON with the error.",
        "Explain how to return JSON from an HTTP handler.",
        "You provide help with JSON formatting.",
        "Return a markdown JSON of the plan.",
        "Subject lines:\n- reply needed, FYI\n",
        # The length is that of a part, of the input, or of something else.
        "Give it a title of at most 8 words.",
        "The subject must not exceed 60 characters.",
        "Explain each step in at most 20 words.",
        "Descriptions in the JSON are up to 100 characters.",
        "Variable names have at most 20 characters.",
        "Commit headers are under 72 characters.",
        "Messages of less than 5 words are greetings.",
    ],
)
def test_what_only_looks_like_a_demand_is_none(text):
    assert demanded(text) == []


@given(st.text(max_size=300))
def test_any_text_is_read(text):
    for demand in find_demands(f"Answer in JSON with one of {text}, at most {text} words"):
        assert demand.words
