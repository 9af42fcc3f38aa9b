"""The inputs of a prompt that its fixtures do not cover, without personal data."""

from __future__ import annotations

import pytest
from support.edited_text import edited

from gatekeeper.author.logs import propose
from gatekeeper.author.logs.formats import LoggedInput
from gatekeeper.author.logs.personal_data import without_personal_data
from gatekeeper.author.logs.propose import (
    NEAR,
    choose_inputs,
    distance,
    filled,
    propose_fixtures,
    words_of,
)
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.values.change import MemoryRevision

CONTRACT = """\
contract: 1
name: words
prompt: words.prompty
model: m/x
fixtures: [{vars: {place: Paris, topic: the weather today}}]
checks: [{type: contains, value: ok}]
"""
PROMPT = "system:\nYou live in {{ place }}.\nuser:\nTell me about {{topic}} in {{ place }}!\n"


def contract(prompt: str = PROMPT):
    files = {"contracts/words.yaml": CONTRACT.encode(), "contracts/words.prompty": prompt.encode()}
    return load_contract(MemoryRevision(files, "b" * 40), "contracts/words.yaml", SHAPES)


def request(place: str, topic: str) -> LoggedInput:
    return LoggedInput(
        (("system", f"You live in {place}."), ("user", f"Tell me about {topic} in {place}!"))
    )


def test_values_are_read_back_from_what_was_sent():
    logged = [
        request("Rome", "old bridges (and $ signs)"),
        LoggedInput((("system", "You live in Rome."), ("user", "Tell me about it in Oslo!"))),
        LoggedInput((("user", "Hi"),)),
        LoggedInput(values={"place": "Oslo", "topic": "snow", "more": 1}),
        LoggedInput(values={"place": "Oslo"}),
    ]
    found = propose_fixtures(contract(), logged, 10)
    assert (found.requests, found.other, found.inputs) == (5, 3, 2)
    assert {tuple(row["vars"].values()) for row in found.rows} == {
        ("Rome", "old bridges (and $ signs)"),
        ("Oslo", "snow"),
    }


def test_a_template_with_statements_is_read_from_values_alone():
    prompt = edited(PROMPT, "Tell", "{% if topic %}Tell{% endif %}")
    logged = [request("Rome", "bridges"), LoggedInput(values={"place": "Oslo", "topic": "snow"})]
    assert propose_fixtures(contract(prompt), logged, 10).inputs == 1


def test_the_most_distant_inputs_come_first_and_covered_ones_never():
    known = [{"x": "the cat sat on the mat"}]
    logged = [
        {"x": "the cat sat on a mat"},
        {"x": "the cat sat on a red mat today"},
        {"x": "quarterly revenue of the firm"},
        {"x": "quarterly revenue of a firm"},
        {"x": "zebra"},
    ]
    found = choose_inputs(known, logged, 10)
    assert len(found.positions) == 2
    assert 4 in found.positions
    assert found.covered == pytest.approx(2 / 5)
    assert found.covered_then == 1
    nearest = [
        min(
            distance(words_of(one), words_of(centre))
            for centre in (*known, *(logged[at] for at in found.positions))
        )
        for one in logged
    ]
    assert all(far <= NEAR for far in nearest)
    assert choose_inputs([], logged, 1).positions == (0,)
    assert choose_inputs(known, [], 5).covered == 1


def test_inputs_that_another_one_connects_are_proposed_as_a_cluster():
    apart = [{"x": "a b c d e f"}, {"x": "u v w"}, {"x": "e f g h i j"}]
    assert choose_inputs([], apart, 5).clusters == (None, None, None)
    # This one shares four of eight words with the first, and with the last.
    found = choose_inputs([], [*apart, {"x": "c d e f g h"}], 5)
    assert sorted(zip(found.positions, found.clusters, strict=True)) == [
        (0, "family-1"),
        (1, None),
        (2, "family-1"),
    ]
    # The last chosen input connects two families.
    rows = [{"x": " ".join(words)} for words in ("abcdef", "mnijkl", "efghij", "cdefgh", "ghijkl")]
    found = choose_inputs([], rows, 5)
    assert (found.positions, set(found.clusters)) == ((0, 1, 2), {"family-1"})


@pytest.mark.parametrize(
    ("text", "clean", "count"),
    [
        ("mail jo@shop.example or jo@shop.example", "mail <email> or <email>", 2),
        ("call +49 30 901820 now", "call <phone> now", 1),
        ("pay 4111 1111 1111 1111", "pay <card>", 1),
        ("to DE89 3704 0044 0532 0130 00", "to <iban>", 1),
        ("key sk-proj-abcdefghijklmnopqrstuvwx1234567890", "key <secret>", 1),
        ("nothing here, 42", "nothing here, 42", 0),
    ],
)
def test_personal_data_and_secrets_are_replaced(text, clean, count):
    assert without_personal_data(text) == (clean, count)
    assert without_personal_data({"a": [text, 1]}) == ({"a": [clean, 1]}, count)


@pytest.mark.parametrize(
    ("value", "clean", "count"),
    [
        ({"jo@shop.example": 1, "al@shop.example": 2}, {"<email>": 1, "<email> 2": 2}, 2),
        ({"jo@shop.example": ["al@shop.example"]}, {"<email>": ["<email>"]}, 2),
        (4111111111111111, "<card>", 1),
        (1234567890, 1234567890, 0),
        (12345678.5, 12345678.5, 0),
        (r'{"to": "jo\u0040shop.example"}', '{"to": "<email>"}', 1),
        (r'{"to": "caf\u00e9"}', r'{"to": "caf\u00e9"}', 0),
        (r"no JSON \u0040", r"no JSON \u0040", 0),
    ],
)
def test_personal_data_hides_neither_in_keys_nor_in_numbers_nor_in_escapes(value, clean, count):
    assert without_personal_data(value) == (clean, count)


def test_inputs_that_take_long_to_clean_are_left_out():
    mails = " ".join(f"user{number}@shop.example" for number in range(300))
    logged = [
        LoggedInput(values={"place": mails, "topic": "mails"}),
        LoggedInput(values={"place": "word " * 50_000, "topic": "long"}),
        LoggedInput(values={"place": "Rome", "topic": "bridges"}),
    ]
    found = propose_fixtures(contract(), logged, 10)
    assert (found.left_out, [row["vars"]["place"] for row in found.rows]) == (2, ["Rome"])


def test_texts_that_take_long_to_compare_are_given_up(monkeypatch):
    monkeypatch.setattr(propose, "_SECONDS", 0.01)
    names = "abcdefghijkl"
    prompt = (
        "user:\n" + "a".join(f"{{{{ v{name} }}}}" for name in names) + "b\n{{ place }}{{ topic }}\n"
    )
    logged = [LoggedInput((("user", "a" * 3_000),)) for _ in range(40)]
    read = filled(contract(prompt))
    assert [read.values(one) for one in logged] == [None] * 40
    assert read.timeouts == 20
