"""The parts of a prompt, and the prompts that differ from it in one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.mutation.mutants import find_parts, make_mutants
from gatekeeper.contract.prompts.load import parse_prompt
from gatekeeper.contract.values.definition import MessageTemplate, Prompt
from gatekeeper.errors import UsageError

RULES = """\
---
model: openai/gpt-4o-mini
---
system:
# Tags
You tag words. Answer with the tag only.

- Never explain the tag.
- Use `NN` for nouns,
  also for names.

```
dog -> NN
```
user:
Tag {{ word }}.
"""
SENTIMENT = """\
Label the review.

Review: good
Sentiment: positive

Review: bad
Sentiment: negative

Review: {{ review }}
Sentiment:
"""


def parts(text: str, path: str = "prompt.prompty") -> list[tuple[str, str, int, int]]:
    found = find_parts(parse_prompt(text, path))
    return [(part.kind, part.text, part.line, part.last_line) for part in found]


def mutants(text: str, path: str = "prompt.txt") -> dict[str, str]:
    made = make_mutants(parse_prompt(text, path))
    return {one.id: "\n--\n".join(m.content for m in one.prompt.messages) for one in made}


def test_lines_that_begin_messages_of_a_loop_are_no_parts():
    looped = """\
---
name: mood
---
system:
Answer with one word.
- Be kind.

user:
Great lamp.
assistant:
positive

{% for turn in history %}
{{ turn.role }}:
{{ turn.text }}
{% endfor %}
user:
{{ review }}
"""
    assert parts(looped) == [
        ("sentence", "Answer with one word.", 5, 5),
        ("list item", "- Be kind.", 6, 6),
        ("sentence", "Great lamp.", 9, 9),
        ("sentence", "positive", 11, 11),
    ]


def test_sentences_list_items_and_code_are_parts_with_their_lines():
    assert parts(RULES) == [
        ("sentence", "You tag words.", 6, 6),
        ("sentence", "Answer with the tag only.", 6, 6),
        ("list item", "- Never explain the tag.", 8, 8),
        ("list item", "- Use `NN` for nouns,\n  also for names.", 9, 10),
        ("example", "```\ndog -> NN\n```", 12, 14),
    ]


def test_labelled_lines_are_examples_and_what_fixtures_fill_in_is_no_part():
    assert [(kind, line) for kind, _, line, _ in parts(SENTIMENT, "prompt.txt")] == [
        ("sentence", 1),
        ("example", 3),
        ("example", 6),
        ("all examples", 3),
    ]


def test_an_answer_of_the_assistant_and_its_question_are_one_example():
    text = "system:\nBe brief.\nuser:\nTwo?\nassistant:\n2\nuser:\n{{ question }}\n"
    assert parts(text)[1] == ("example", "Two?\n2", 4, 6)
    assert mutants(text, "prompt.prompty")["2-drop"] == "Be brief.\n--\n{{ question }}"


def test_a_line_break_in_wrapped_text_ends_no_sentence():
    wrapped = (
        "You are given a sentence and a word of it. You have to find the part of\n"
        "Speech of the word in the sentence, and to return the tag of this word.\n"
    )
    assert len(parts(wrapped, "prompt.txt")) == 2
    assert len(parts("Answer in English\nUse one word\n", "prompt.txt")) == 2


def test_dropped_text_leaves_no_hole():
    made = mutants(SENTIMENT)
    assert made["1-drop"].startswith("Review: good")
    assert made["2-drop"] == SENTIMENT.replace("Review: good\nSentiment: positive\n\n", "").strip()
    assert made["4-drop"] == "Label the review.\n\nReview: {{ review }}\nSentiment:"
    assert mutants("One. Two. {{ x }}")["1-drop"] == "Two. {{ x }}"
    assert mutants("One. Two. {{ x }}")["2-drop"] == "One. {{ x }}"


@pytest.mark.parametrize(
    ("rule", "negated", "softened"),
    [
        ("You must answer.", "You must not answer.", "You may answer."),
        ("Do not explain.", "Always explain.", "Try not to explain."),
        ("- Never guess.", "- Always guess.", "- Rarely guess."),
        ("Answer in English.", "Do not answer in English.", None),
        ("1. Return the tag.", "1. Do not return the tag.", None),
        ("Use at most 5 words.", "Use at least 5 words.", "Use about 5 words."),
        ("The mustard is yellow.", None, None),
    ],
)
def test_rules_are_negated_and_softened(rule, negated, softened):
    made = mutants(f"{rule}\n\n{{{{ x }}}}")
    assert made.get("1-negate") == (negated and f"{negated}\n\n{{{{ x }}}}")
    assert made.get("1-soften") == (softened and f"{softened}\n\n{{{{ x }}}}")


def test_a_prompt_of_which_nothing_is_left_and_a_broken_template_are_left_out():
    assert mutants("Say something nice.").keys() == {"1-negate"}
    split = "Be kind.\n\n{% if x %}\n\nBe brief.\n\n{% endif %}\n\n{{ x }}"
    assert mutants(split)["2-drop"] == "Be kind.\n\n{% if x %}\n\n{% endif %}\n\n{{ x }}"


WORDS = st.sampled_from(
    ["Answer.", "never lie", "- item", "1. two", "{{ x }}", "{% if x %}", "{% endif %}", "```",
     "Review: a", "# Head", "", " ", "\n", "> quote", "é. Ü! Ok?", "| a | b |", "---"]
)  # fmt: skip


@given(st.lists(st.lists(WORDS, max_size=12).map("\n".join), min_size=1, max_size=4))
def test_parts_lie_in_the_prompt_and_dropping_one_keeps_the_rest(contents):
    roles = ["system", "user", "assistant", "user"]
    messages = tuple(
        MessageTemplate(role, text, 1) for role, text in zip(roles, contents, strict=False)
    )
    prompt = Prompt("p.txt", messages, "\n".join(contents))
    for part in find_parts(prompt):
        pieces = [contents[at][start:end] for at, start, end in part.spans]
        assert all(piece.strip() for piece in pieces)
        assert not any(mark in part.text for mark in ("{{", "{%"))
        assert part.line <= part.last_line
    for one in make_mutants(prompt, ["drop"]):
        before, after = ("".join("".join(t).split()) for t in (contents, texts(one.prompt)))
        gone = "".join("".join(contents[at][s:e] for at, s, e in one.part.spans).split())
        assert len(before) - len(after) == len(gone)


def texts(prompt: Prompt) -> list[str]:
    return [message.content for message in prompt.messages]


@pytest.mark.parametrize(
    "text",
    [
        "```\n" * 8000,
        "A. " * 30_000,
        "x" * 200_000,
        "".join(f"{' ' * 2 * n}- a\n" for n in range(400)),
    ],
)
def test_a_prompt_that_is_too_large_or_deep_is_refused(text):
    with pytest.raises(UsageError, match="more than"):
        find_parts(Prompt("p.txt", (MessageTemplate("user", text, 1),), text))
