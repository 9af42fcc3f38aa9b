"""How many reviews the embedded model labels rightly, by the form of the prompt.

    python -m benchmarks.local_prompts [--write docs/models.md]

The reviews are the 40 fixtures of contracts/sentiment, and the examples those of its prompt. An
answer is right if it is the label, whatever the case of its letters. The program ends with an error
if the plain text with examples labels less than 30 reviews rightly: the page recommends it.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.decisions.table import markdown_table, write_between_markers
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.providers import local

BEGIN, END = "<!-- bench-local-prompts:begin -->", "<!-- bench-local-prompts:end -->"
CONTRACTS = Path(__file__).parents[1] / "contracts"
INSTRUCTION = "Label each review as positive or negative."
EXAMPLES = (CONTRACTS / "prompts/sentiment.txt").read_text("utf-8")
LEAST = 30


class Form(NamedTuple):
    """A form of the prompt: its messages for a review, and the temperature."""

    messages: Callable[[str], tuple[Message, ...]]
    temperature: float = 0.0


def with_examples(review: str) -> str:
    """Return the prompt of contracts/sentiment, which ends with `Sentiment:`."""
    return EXAMPLES.replace("{{ review }}", review).rstrip()


FORMS: Mapping[str, Form] = {
    "a plain text with two examples, a blank line between the examples, and `Sentiment:` at the "
    "end": Form(lambda review: (Message("user", with_examples(review)),)),
    "the plain text with two examples, at temperature 0.7": Form(
        lambda review: (Message("user", with_examples(review)),), 0.7
    ),
    "the text with two examples, as a user message after a system message": Form(
        lambda review: (
            Message("system", "You label reviews."),
            Message("user", with_examples(review)),
        )
    ),
    "a system message with the instruction, and the review as the user message": Form(
        lambda review: (Message("system", INSTRUCTION), Message("user", review))
    ),
    "a plain text with only the instruction": Form(
        lambda review: (Message("user", f"{INSTRUCTION}\n\nReview: {review}"),)
    ),
}


async def count_right(form: Form, reviews: list[dict[str, str]]) -> int:
    """Count the reviews whose answer is the label."""
    params = {"temperature": form.temperature, "max_tokens": 4, "stop": ["\n"]}
    client = local.LocalClient()
    right = 0
    try:
        for number, row in enumerate(reviews):
            request = Request(local.MODEL, form.messages(row["review"]), params, number, 0)
            answer = await client.complete(request)
            right += answer.text.strip().casefold() == row["expected"]
    finally:
        await client.aclose()
    return right


def main() -> int:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--reviews", type=int, help="the first reviews only, for a look")
    parser.add_argument("--write", type=Path, help="put the table into this page")
    options = parser.parse_args()
    with (CONTRACTS / "sentiment.fixtures.csv").open(encoding="utf-8", newline="") as file:
        reviews = list(csv.DictReader(file))[: options.reviews]
    right = {name: asyncio.run(count_right(form, reviews)) for name, form in FORMS.items()}
    rows = [[name, f"{count} of {len(reviews)}"] for name, count in right.items()]
    text = markdown_table(["prompt", "correct answers"], rows)
    if options.write:
        write_between_markers(options.write, text.rstrip("\n"), BEGIN, END)
    else:
        print(text)
    return 1 if not options.reviews and next(iter(right.values())) < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
