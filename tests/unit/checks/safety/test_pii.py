"""pii: what counts as personal data, what may occur, and what a message repeats of it."""

from __future__ import annotations

import pytest

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.safety.national_ids import COUNTRIES

FOUND = {
    "email": [
        "ann.smith+x@mail.example.org",
        "(ann@shop.example)",
        "ännchen@büro.example",
        "a@b.co.",
    ],
    "card": [
        "4111 1111 1111 1111",
        "5500-0000-0000-0004",
        "340000000000009",
        "6011000000000004",
        "first 12 34, then 4111111111111111.",
        "４１１１ １１１１ １１１１ １１１１",
    ],
    "iban": [
        "DE89 3704 0044 0532 0130 00",
        "GB82WEST12345698765432 IS MINE",
        "fr1420041010050500013m02606",
    ],
    "ip": ["8.8.8.8", "at 10.0.0.1, port 80", "2001:db8::8a2e:370:7334", "::ffff:192.0.2.1"],
    "phone": [
        "+49 30 901820",
        "call +1 (650) 253-0000 now",
        "+33142685300",
        "+44\u200b 20 7946 0018",
    ],
}
NOT_FOUND = {
    "email": ["ann at mail.example", "@shop", "a@b", "1@2.3"],
    "card": [
        "4111 1111 1111 1112",
        "1234 5678 9012 3456",
        "4111111111111111234567",
        "x4111111111111111",
    ],
    "iban": ["DE89 3704 0044 0532 0130 01", "DE89"],
    "ip": ["127.0.0.1", "::1", "1.2.3", "1.2.3.4.5", "999.1.1.1", "12:30:45", "::"],
    "phone": ["030 901820", "2026-11-22", "A-4711-0815", "+1 23"],
}
# From the documentation of python-stdnum.
IDENTIFIERS = {
    "AT": "1237 010180",
    "AU": "123 456 782",
    "BE": "85 07 30 033 28",
    "BG": "8032056031",
    "BR": "390.533.447-05",
    "CA": "123-456-782",
    "CH": "756.9217.0769.85",
    "CL": "76086428-5",
    "CN": "360426199101010071",
    "CZ": "710319/2745",
    "DE": "36 574 261 809",
    "DK": "211062-5629",
    "EE": "36805280109",
    "ES": "54362315-K",
    "FI": "131052-308T",
    "FR": "2 95 10 99 126 111 93",
    "GB": "943-476-5870",
    "GR": "01013099997",
    "HR": "33392005961",
    "IE": "6433435F",
    "IL": "3933742-3",
    "IN": "ACUPA7085R",
    "IS": "120174-3399",
    "IT": "RCCMNL83S18D969H",
    "JP": "6214 9832 0257",
    "KR": "971013-9019902",
    "LT": "33309240064",
    "MX": "BOXW310820HNERXN09",
    "NL": "1112.22.333",
    "NO": "151086 95088",
    "PL": "44051401359",
    "RO": "1630615123457",
    "SE": "880320-0016",
    "TR": "17291716060",
    "US": "536-90-4399",
    "ZA": "7503305044089",
}
WITHOUT_CHECK_DIGIT = {"DK": "511062-5629", "IN": "ACUPA7085RR", "US": "000-90-4399"}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in FOUND.items() for text in texts]
)
def test_finds(apply, kind, text):
    finding = apply("pii", text, kinds=[kind])
    assert finding.passed is False
    assert finding.message.startswith(f"contains personal data: {kind} `")
    assert apply("pii", text).passed is False


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in NOT_FOUND.items() for text in texts]
)
def test_does_not_find(apply, kind, text):
    assert apply("pii", text, kinds=[kind]).passed


@pytest.mark.parametrize("country", COUNTRIES)
def test_national_identifiers(apply, country):
    number = IDENTIFIERS[country]
    params = {"kinds": ["national_id"], "countries": [country]}
    finding = apply("pii", f"My number is {number}, thanks.", **params)
    assert finding.passed is False
    assert number not in finding.message
    last = chr(ord(number[-1]) + (1 if number[-1] not in "9Zz" else -1))
    wrong = WITHOUT_CHECK_DIGIT.get(country, number[:-1] + last)
    assert apply("pii", f"My number is {wrong}, thanks.", **params).passed
    assert apply("pii", number, kinds=["email"], countries=[country]).passed


def test_numbers_without_a_country_code_belong_to_the_countries(apply):
    assert apply("pii", "call 650-253-0000").passed
    assert apply("pii", "call 650-253-0000", countries=["US"]).passed is False
    assert apply("pii", "call 650-253-0000", countries=["DE"], kinds=["phone"]).passed


@pytest.mark.parametrize(
    ("allow", "text", "passed"),
    [
        ("help@shop.example", "Help@Shop.example", True),
        ("help@shop.example", "ann@shop.example", False),
        ("@shop.example", "ann@shop.example", True),
        ("@shop.example", "ann@evil-shop.example", False),
        ("@shop.example", "ann@shop.example.evil.example", False),
        ("+49 30 901820", "+49 (30) 90-18-20", True),
        ("4111111111111111", "4111 1111 1111 1111", True),
        ("8.8.8.8", "8.8.8.8", True),
        ("8.8.8.8", "8.8.4.4", False),
        ("1.23.4.5", "12.3.4.5", False),
        ("annsmith@shop.example", "ann.smith@shop.example", False),
        ("DE89370400440532013000", "de89 3704 0044 0532 0130 00", True),
    ],
)
def test_what_may_occur(apply, allow, text, passed):
    assert apply("pii", text, allow=[allow]).passed is passed


def test_an_allowed_one_hides_no_other(apply):
    text = "help@shop.example, ann@mail.example"
    finding = apply("pii", text, allow=["help@shop.example"])
    assert finding.message == "contains personal data: email `an…le`"


def test_a_message_does_not_repeat_the_data(apply):
    texts = [text for texts in FOUND.values() for text in texts]
    finding = apply("pii", "\n".join(texts))
    assert finding.message.endswith(", …")
    for text in ("ann.smith", "4111", "3704", "901820"):
        assert text not in finding.message


def test_national_identifiers_need_a_country(apply):
    with pytest.raises(ParameterError, match="countries"):
        apply("pii", "", kinds=["national_id"])


@pytest.mark.parametrize("text", ["+1 " * 30_000, "a" * 100_001])
def test_what_cannot_be_searched_in_time_is_undetermined(apply, text):
    assert apply("pii", text).passed is None


@pytest.mark.parametrize("text", ["4 " * 50_000, "4111-" * 20_000, "DE89 " * 20_000, ":" * 100_000])
def test_many_candidates_are_searched_or_undetermined(apply, text):
    assert apply("pii", text, kinds=["card", "iban", "ip", "email"]).passed is not False


def test_a_field(apply):
    text = '{"mail": "a@b.example", "text": "none"}'
    assert apply("pii", text, field="text").passed
    assert apply("pii", text, field="mail").passed is False
