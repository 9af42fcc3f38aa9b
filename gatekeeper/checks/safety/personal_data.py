"""Finds personal data in a text: addresses and numbers with a form and check digits."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping

from gatekeeper.checks.safety.national_ids import national_ids

Countries = tuple[str, ...]

_EMAIL = re.compile(
    r"(?<![\w.+-])[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}"
)
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)", re.ASCII)
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]{2,39}(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])", re.ASCII)
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}", re.ASCII | re.IGNORECASE)
_DIGIT_RUN = re.compile(r"(?<!\w)\d+(?:[ -]\d+)*(?!\w)", re.ASCII)

_CARDS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}"  # Visa
    r"|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"  # Mastercard
    r"|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}"  # American Express, Diners Club
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}"  # Discover, JCB
    r"|62\d{14,17}|(?:5[06-9]|6[37])\d{14,17}"  # UnionPay, Maestro
)
_LONGEST_CARD = 19
_MOST_TRIES = 10_000
"""The most candidates of one kind that are checked. Each takes a tenth of a millisecond."""


class TooManyCandidatesError(Exception):
    """A text has more candidates than can be looked at in time."""


def _emails(text: str, _countries: Countries) -> Iterator[str]:
    for found in _EMAIL.finditer(text):
        yield found[0]


def _phones(text: str, countries: Countries) -> Iterator[str]:
    from phonenumbers import Leniency, PhoneNumberMatcher

    regions = countries or ("ZZ",)
    for region in regions:
        tries = _MOST_TRIES // len(regions)
        matcher = PhoneNumberMatcher(text, region, Leniency.VALID, tries)
        for match in matcher:
            yield match.raw_string
        # Every candidate that is no number takes one try.
        if getattr(matcher, "_max_tries", 1) <= 0:
            raise TooManyCandidatesError("parts that can be a telephone number")


def _cards(text: str, _countries: Countries) -> Iterator[str]:
    from stdnum import luhn

    tries = 0
    for run in _DIGIT_RUN.finditer(text):
        groups = re.split(r"[ -]", run[0])
        for number in filter(_CARDS.fullmatch, _joined(groups)):
            tries += 1
            if tries > _MOST_TRIES:
                raise TooManyCandidatesError("parts that can be a card number")
            if luhn.is_valid(number):
                yield number


def _joined(groups: list[str]) -> Iterator[str]:
    """Yield what neighbouring groups of digits make together, as far as a card can be long."""
    for start in range(len(groups)):
        number = ""
        for group in groups[start : start + _LONGEST_CARD]:
            number += group
            if len(number) > _LONGEST_CARD:
                break
            yield number


def _ibans(text: str, _countries: Countries) -> Iterator[str]:
    from stdnum import iban

    tries = 0
    for found in _IBAN.finditer(text):
        compact = re.sub(r"[ -]", "", found[0]).upper()
        # Words in capitals may follow the number.
        for length in range(15, len(compact) + 1):
            tries += 1
            if tries > _MOST_TRIES:
                raise TooManyCandidatesError("parts that can be a bank account number")
            if iban.is_valid(compact[:length]):
                yield compact[:length]
                break


def _ips(text: str, _countries: Countries) -> Iterator[str]:
    for found in _IPV4.finditer(text):
        yield from _address(found[0])
    for found in _IPV6.finditer(text):
        if found[0].count(":") > 1:
            yield from _address(found[0])


def _address(text: str) -> Iterator[str]:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return
    if not (address.is_loopback or address.is_unspecified):
        yield text


KINDS: Mapping[str, Callable[[str, Countries], Iterator[str]]] = {
    "email": _emails,
    "card": _cards,
    "iban": _ibans,
    "ip": _ips,
    "national_id": national_ids,
    "phone": _phones,
}
"""The function that finds each kind. It raises TooManyCandidatesError if a text takes too
long."""
