"""The output, or one field of it, contains no personal data.

`kinds` chooses what the check looks for:

- `email`: e-mail addresses.
- `card`: numbers of payment cards. The check recognises a card number by the number range of the
  issuer and the check digit.
- `iban`: numbers of bank accounts (IBAN) with valid check digits.
- `ip`: IP addresses. The check ignores loopback and unspecified IP addresses, such as `127.0.0.1`,
  `::1` and `0.0.0.0`.
- `national_id`: tax, health and identity numbers of the countries in `countries`. The library
  python-stdnum recognises these numbers by their form, dates and check digits.
- `phone`: telephone numbers that the library phonenumbers considers valid. The check always finds
  numbers with a country code, such as `+49 …`. The check finds a number without a country code only
  if the number is valid in one of the countries in `countries`.

By default, the check looks for all kinds of personal data. The check looks for national identifiers
(`national_id`) only if `countries` is set, because an order number may by chance be a valid
identifier of some country. The check does not find names, postal addresses, or numbers written in
words.

`allow` lists the data that the output may contain. An entry of `allow` is an address, a number, or
a domain such as `@shop.example`, which allows every e-mail address of this domain. The check
ignores spaces and hyphens in numbers. Messages show only the first two and the last two characters
of the data that the check found. The reports still show the whole outputs, with all personal data.
If a text has more than 100,000 characters, or more than 10,000 parts that can be data of one kind,
the check is undetermined.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
    undetermined,
)
from gatekeeper.checks.reading.output import FIELD, as_text, on_output
from gatekeeper.checks.safety.national_ids import COUNTRIES
from gatekeeper.checks.safety.personal_data import KINDS, TooManyCandidatesError
from gatekeeper.checks.safety.plain_text import plain, too_long

_MOST_SHOWN = 5
_WITHOUT_SEPARATORS = ("card", "iban", "national_id", "phone")


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    countries = tuple(params.get("countries", ()))
    kinds = params.get("kinds", [kind for kind in KINDS if kind != "national_id" or countries])
    if "national_id" in kinds and not countries:
        raise ParameterError(
            "`national_id` needs the code of at least one country",
            "add `countries`, such as `countries: [US, GB]`",
        )
    is_allowed = _allowed(params.get("allow", ()))

    def inspect(found: Any) -> Finding:
        text = plain(as_text(found))
        problem = too_long(text)
        if problem:
            return undetermined(problem)
        shown: list[str] = []
        try:
            for kind in kinds:
                for item in KINDS[kind](text, countries):
                    said = f"{kind} `{masked(item)}`"
                    if not is_allowed(kind, item) and said not in shown:
                        shown.append(said)
                        if len(shown) == _MOST_SHOWN:
                            return failed(f"contains personal data: {', '.join(shown)}, …")
        except TooManyCandidatesError as error:
            if not shown:
                return undetermined(f"the text has too many {error}")
        return failed(f"contains personal data: {', '.join(shown)}") if shown else PASSED

    return on_output(params, inspect)


def masked(found: str) -> str:
    """Return the first and the last two characters, so that a message does not repeat the data."""
    return f"{found[:2]}…{found[-2:]}"


def _allowed(allow: Any) -> Callable[[str, str], bool]:
    texts = [plain(text).strip().casefold() for text in allow]
    numbers = {_compact(text) for text in texts}
    domains = tuple(text for text in texts if text.startswith("@"))

    def is_allowed(kind: str, item: str) -> bool:
        text = item.casefold()
        if kind in _WITHOUT_SEPARATORS:
            return _compact(text) in numbers
        return text in texts or (kind == "email" and text.endswith(domains))

    return is_allowed


def _compact(text: str) -> str:
    return re.sub(r"[\s()./-]", "", text)


CHECK = Check(
    parameters(
        kinds={
            "type": "array",
            "items": {"enum": list(KINDS)},
            "minItems": 1,
            "description": f"A list of the kinds of data to look for: {', '.join(KINDS)}.",
        },
        countries={
            "type": "array",
            "items": {"enum": list(COUNTRIES)},
            "minItems": 1,
            "description": (
                "A list of two-letter codes of countries, such as `[US, DE]`. The check then "
                "also finds national ids of these countries, and their telephone numbers without a "
                "country code."
            ),
        },
        allow={
            "type": "array",
            "items": {"type": "string", "minLength": 2},
            "description": (
                "A list of addresses, numbers and `@domains` that the output may contain."
            ),
        },
        field=FIELD,
    ),
    _prepare,
    group="safety",
    examples=(
        Example(
            '{type: pii, allow: ["@shop.example", "{{ phone }}"]}',
            "Write to help@shop.example or call +49 30 901820.",
            "Ann's address is ann.smith@mail.example.",
            vars={"phone": "+49 30 901820"},
        ),
        Example(
            "{type: pii, kinds: [national_id, card], countries: [US]}",
            "Your order 4111-2222 has arrived.",
            "Your number is 536-90-4399, your card 4111 1111 1111 1111.",
        ),
    ),
)
