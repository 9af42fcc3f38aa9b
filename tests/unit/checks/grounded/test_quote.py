"""`quote`: quotations stand in the context, however quotes, dashes and spaces are written."""

from __future__ import annotations

import pytest

MANUAL = "Press the red button and hold it for five seconds. Don't open the lid – ever."


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ('It says "Press the red button and hold it".', True),
        ("It says “press the red button and hold it,” I think.", True),
        ("Es heißt „Press the red button and hold it“.", True),
        ("Il dit « Press the red\nbutton and hold it ».", True),
        ("It says “Don’t open the lid — ever”.", True),
        ("It says “Press the red button … five seconds.”", True),
        ("It says “five seconds [...] Press the red button”.", False),
        ("It says “Press the green button and hold it”.", False),
        ("It says “Press it”.", False),
        ("It says nothing.", False),
        ('Both "a" and then the manual says "Press the red button and hold it".', True),
        ('A 5" tape.\n\nIt says "Press the red button and hold it".', True),
        ("“....................”", False),
    ],
)
def test_what_is_quoted_must_stand_in_the_context(apply, output, passed):
    assert apply("quote", output, context=MANUAL).passed is passed


def test_quotations_may_come_from_any_document(apply):
    context = [{"id": 1, "text": "The first of the documents."}, {"id": 2, "text": MANUAL}]
    output = "“the first of the documents” and “hold it for five seconds”"
    assert apply("quote", output, context=context).passed
    assert apply("quote", "“the first of the … five seconds”", context=context).passed is False


def test_a_minimum_and_a_length(apply):
    assert apply("quote", "none", context=MANUAL, min=0).passed
    assert apply("quote", "“blue”", context=MANUAL, min=0).passed
    assert apply("quote", "“blue”", context=MANUAL, min=0, min_length=4).passed is False


def test_the_message_shows_the_quotation(apply):
    found = apply("quote", "“Press the green button and hold it”", context=MANUAL)
    assert "Press the green button" in found.message
