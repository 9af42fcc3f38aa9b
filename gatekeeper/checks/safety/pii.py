"""The output contains no personal data.

- `email`: e-mail addresses. `card`: payment cards, by the issuer's range and the check digit.
- `iban`: bank accounts with valid check digits. `ip`: IP addresses, but not loopback or
  unspecified.
- `national_id`: tax, health and identity numbers of `countries`, by form, dates and check digits
  (python-stdnum). They are looked for only if `countries` is set, because an order number may look
  like one.
- `phone`: valid numbers (phonenumbers) with a country code such as `+49 …`, or valid without one in
  one of `countries`.

`kinds` chooses the kinds of data; by default, the check looks for all of them. It does not find
names, postal addresses and numbers in words. `allow` lists values that may occur: an address, a
number, or a domain such as `@shop.example`. Messages show the first and last two characters;
reports still show whole outputs.
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
                "A list of two-letter codes of countries, such as `[US, DE]`, whose "
                "national ids and telephone numbers are also found."
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
