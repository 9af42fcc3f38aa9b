"""Takes known secrets out of what is written, also if they come encoded. Pure.

The runner masks secrets in the log alone; comments, summaries, files and outputs are ours.
Found are, of every known value of eight characters or more:

| form | because |
| --- | --- |
| as it is, and each line of one with several | error messages of providers repeat keys |
| its beginning before an ellipsis, its end after one | texts are cut to length in many places |
| any character percent-encoded | addresses in error messages |
| any character as a JSON, Python, JavaScript or octal escape | reports and requests are JSON |
| any character as an HTML entity, or after a backslash | Markdown and JUnit are escaped |
| base64 at all three alignments, standard and URL-safe, padded or not | headers such as `basic` |
| hexadecimal in one case, bare or with a separator | dumps and digests of bytes |
| any 16 characters in a row of one with 24 or more | a key without its prefix, or a half of it |
| backwards | the cheapest thing to ask of a model that has it in its prompt |

Escapes may be escaped again, up to three times. Forms that need a deliberate computation are not
found: other ciphers and bases, base64 of base64, base64 broken into lines, UTF-16, mixed case in
hexadecimal, characters spaced out or spread over several values. A person who can run code next to
the secret can always write it in such a form, but nothing of a pull request is executed.
"""

from __future__ import annotations

import base64
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cached_property, lru_cache
from html.entities import html5
from itertools import chain
from typing import Any, TypeVar, get_args
from urllib.parse import unquote

from gatekeeper.contract.values.trial import Arm, Request
from gatekeeper.gate.results.parts import FixtureChange
from gatekeeper.gate.results.result import ReasonCode, Stopped, Verdict

SHORTEST = 8
"""Shorter values occur in ordinary text, and replacing them would garble a report."""
HIDDEN = "***"

_RUN, _RUN_OF = 16, 24
"""How many characters in a row count as a part of a secret that has at least the second number of
characters."""
_BLOCK = _RUN // 2
# Parts of paths, addresses and prose are ordinary text, whatever variable holds such a thing.
_KEY = re.compile(r"(?![/~.])(?!.*//)[A-Za-z0-9_.+/=~:-]{24,}")
_LIKE_A_KEY = re.compile(r"(?=.*[0-9]).*[A-Za-z]")

_Value = TypeVar("_Value")

_OWN_WORDS = frozenset(
    chain.from_iterable(map(get_args, (Verdict, ReasonCode, Stopped, FixtureChange, Arm)))
)
"""Words that the program itself writes; a secret with this spelling is not removed."""

_WITHOUT_TEXT = frozenset({type(None), bool, int, float})

_AS_SENT = (Request, type)
"""Requests are not written. Their digests are, because a replay finds samples by them."""

_CUT = ("…", "...")
# A letter after a backslash belongs to an escape.
_BASE64_NEIGHBOUR = r"(?:(?<!\\)[A-Za-z0-9+/_-])?"
_HEX_SEPARATORS = ("", " ", ":", "-")
_SHORT_ESCAPES = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}
# Left where the first letter of a secret was also that of an escape: `\***` is not JSON.
_LONE_BACKSLASH = re.compile(r"(?<!\\)((?:\\\\)*)\\\*\*\*")
# Bounded, so that a text of nothing but backslashes takes no more than linear time.
_BACKSLASHES = r"\\\\{0,7}"


class Redactor:
    """Made once for the secrets of a run; `text` is then called for whatever is written."""

    def __init__(self, secrets: Iterable[str]) -> None:
        whole = {part for secret in secrets for part in (secret, *secret.splitlines())}
        known = {part.strip() for part in whole} | whole
        # The longest first, so that a secret which contains another goes as a whole.
        self._secrets = tuple(
            sorted((s for s in known if len(s.strip()) >= SHORTEST), key=lambda s: (-len(s), s))
        )

    @cached_property
    def _plain(self) -> tuple[str, ...]:
        return _longest_first(form for s in self._secrets for form in (s, s[::-1], *_hex(s)))

    @cached_property
    def _base64(self) -> tuple[str, ...]:
        return _longest_first(form for s in self._secrets for form in _base64(s))

    @cached_property
    def _escaped(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile("".join(map(_spellings, secret))) for secret in self._secrets)

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        """Return the secrets that are also found in parts; a line of another secret is such a
        part."""
        whole = [s for s in self._secrets if len(s) >= _RUN_OF and _KEY.fullmatch(s)]
        return tuple(s for s in whole if not any(s in other and s != other for other in whole))

    def text(self, text: str) -> str:
        """Replace every secret in the text by `***`."""
        if not self._secrets or len(text) < SHORTEST:
            return text
        redacted = self._redacted(text)
        return text if redacted == text else _LONE_BACKSLASH.sub(rf"\1{HIDDEN}", redacted)

    def _redacted(self, text: str) -> str:
        for form in self._plain:
            text = text.replace(form, HIDDEN)
        for form in self._base64:
            if form in text:
                # The characters beside hold the bits that the secret shares with its neighbours.
                around = f"{_BASE64_NEIGHBOUR}{re.escape(form)}{_BASE64_NEIGHBOUR}"
                text = re.sub(around, HIDDEN, text)
        if any(mark in text for mark in "%\\&+⏎\u200b"):
            for pattern in self._escaped:
                text = pattern.sub(HIDDEN, text)
        if any(mark in text for mark in _CUT):
            for secret in self._secrets:
                text = _without_beginnings(text, secret)
                text = _without_ends(text, secret)
        for secret in self._keys:
            text = _without_runs(text, secret)
        return text

    def value(self, value: _Value) -> _Value:
        """Redact every text in the value, before anything cuts or escapes it."""
        return self._inside(value, {}) if self._secrets else value

    def _inside(self, value: Any, known: dict[str, str]) -> Any:
        """Return the value itself if there is no secret in it."""
        kind = type(value)
        if kind in _WITHOUT_TEXT:
            return value
        if isinstance(value, str):
            if value not in known:
                known[value] = value if value in _OWN_WORDS else self.text(value)
            redacted = known[value]
            return value if redacted == value else redacted
        if isinstance(value, tuple | list):
            items = [self._inside(item, known) for item in value]
            if all(map(operator.is_, items, value)):
                return value
            # A named tuple takes its fields one by one and not as a sequence.
            return getattr(kind, "_make", kind)(items)
        if isinstance(value, dict | Mapping):
            return {
                self._inside(key, known): self._inside(item, known) for key, item in value.items()
            }
        if not is_dataclass(value) or isinstance(value, _AS_SENT):
            return value
        changed = {}
        for field in fields(value):
            item = getattr(value, field.name)
            redacted = self._inside(item, known)
            if redacted is not item and redacted != item:
                changed[field.name] = redacted
        return replace(value, **changed) if changed else value


@lru_cache(maxsize=8)
def redactor(secrets: tuple[str, ...]) -> Redactor:
    """Return the redactor of these secrets: its patterns are compiled once in a run."""
    return Redactor(secrets)


_kept: set[str] = set()


def keep_secret(values: Iterable[str]) -> None:
    """Take these values for secrets too, for the rest of this process."""
    _kept.update(values)


def environment_redactor(*more: str) -> Redactor:
    """Return the redactor of the secrets that this process has in its environment, and `more`."""
    return redactor((*secrets_in(os.environ), *more))


def _longest_first(forms: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(forms), key=lambda form: (-len(form), form)))


def _hex(secret: str) -> Iterator[str]:
    digits = secret.encode(errors="surrogatepass")
    for case in (str.lower, str.upper):
        for separator in _HEX_SEPARATORS:
            yield separator.join(case(f"{byte:02x}") for byte in digits)


def _base64(secret: str) -> Iterator[str]:
    """Yield the characters of base64 that depend on the secret alone, whatever precedes or follows
    it."""
    content = secret.encode(errors="surrogatepass")
    for before in range(3):
        # Of the first and the last character only some bits are the secret's.
        first = -(-before * 8 // 6)
        last = (before + len(content)) * 8 // 6
        core = base64.b64encode(bytes(before) + content).decode()[first:last]
        for form in (core, core.translate(_URL_SAFE)):
            yield form
            yield form.replace("/", "\\/")
            for plus, slash in (("%2B", "%2F"), ("%2b", "%2f")):
                yield form.replace("+", plus).replace("/", slash)


_URL_SAFE = str.maketrans("+/", "-_")


@lru_cache(maxsize=1024)
def _spellings(character: str) -> str:
    """Return a pattern for one character in any of its escapes.

    Each alternative begins with a literal character, so that `re` skips to the next candidate.
    """
    code = ord(character)
    percent = "".join(
        f"%(?:25){{0,3}}(?i:{byte:02x})" for byte in character.encode(errors="surrogatepass")
    )
    units = character.encode("utf-16-be", errors="surrogatepass").hex()
    json = "".join(rf"{_BACKSLASHES}u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    found = [
        re.escape(character),
        percent,
        json,
        rf"{_BACKSLASHES}U0{{0,6}}(?i:{code:x})",
        rf"{_BACKSLASHES}u\{{0{{0,6}}(?i:{code:x})\}}",
        rf"&(?:amp;){{0,3}}#(?:0{{0,6}}{code}|[xX]0{{0,6}}(?i:{code:x}));",
    ]
    names = "|".join(sorted(name.rstrip(";") for name in _ENTITY_NAMES.get(character, ())))
    if names:
        found.append(f"&(?:amp;){{0,3}}(?:{names});")
    if code < 256:
        found.append(rf"{_BACKSLASHES}x(?i:{code:02x})")
        found.append(rf"{_BACKSLASHES}(?:{code:03o}|{code:o}(?![0-7]))")
    if character in _SHORT_ESCAPES:
        found.append(rf"{_BACKSLASHES}{_SHORT_ESCAPES[character]}")
    if character == "\n":
        found += ["\r\n", "⏎", " "]
    elif character == " ":
        found += [r"\+"]
    elif character.isascii() and not character.isalnum() and not character.isspace():
        # Markdown and JSON escape punctuation; links are broken by an invisible space.
        found.append(rf"{_BACKSLASHES}{re.escape(character)}")
        return f"(?:{'|'.join(found)})\u200b?"
    return f"(?:{'|'.join(found)})"


def _entity_names() -> Mapping[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for name, character in html5.items():
        if name.endswith(";") and len(character) == 1:
            names[character] = (*names.get(character, ()), name)
    return names


_ENTITY_NAMES = _entity_names()


def _without_beginnings(text: str, secret: str) -> str:
    """Remove the first part of the secret if an ellipsis says that the text was cut there."""
    parts: list[str] = []
    done = 0
    at = text.find(secret[:SHORTEST])
    while at >= 0:
        end = at + SHORTEST
        while end - at < len(secret) and text[end : end + 1] == secret[end - at]:
            end += 1
        if text.startswith(_CUT, end):
            parts += [text[done:at], HIDDEN]
            done = end
        at = text.find(secret[:SHORTEST], end)
    return "".join([*parts, text[done:]])


def _without_ends(text: str, secret: str) -> str:
    """Remove the last part of the secret if an ellipsis says that the text was cut there."""
    parts: list[str] = []
    done = 0
    end_of_secret = secret[-SHORTEST:]
    at = text.find(end_of_secret)
    while at >= 0:
        length = SHORTEST
        while length < len(secret) and at > done and text[at - 1] == secret[-length - 1]:
            at, length = at - 1, length + 1
        if text[max(done, at - 4) : at].rstrip(" ").endswith(_CUT):
            parts += [text[done:at], HIDDEN]
            done = at + length
        at = text.find(end_of_secret, at + length)
    return "".join([*parts, text[done:]])


def _without_runs(text: str, secret: str) -> str:
    """Remove every part of the secret that is too long to be a coincidence.

    A run of 16 characters contains a whole block of 8 of the secret, so only those blocks are
    searched for.
    """
    for start in range(0, len(secret) - _BLOCK + 1, _BLOCK):
        block = secret[start : start + _BLOCK]
        parts: list[str] = []
        done = 0
        at = text.find(block)
        while at >= 0:
            before, end = 0, at + _BLOCK
            most = min(start, at - done)
            while before < most and text[at - before - 1] == secret[start - before - 1]:
                before += 1
            last = min(len(text), at + len(secret) - start)
            while end < last and text[end] == secret[start + end - at]:
                end += 1
            run = text[at - before : end]
            if len(run) >= _RUN and _LIKE_A_KEY.match(run):
                parts += [text[done : at - before], HIDDEN]
                done = end
            at = text.find(block, end)
        if parts:
            text = "".join([*parts, text[done:]])
    return text


_SECRET_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)(?:_|$)", re.IGNORECASE)
_LONG_PART = re.compile(r"[^/:@?&=\s]{16,}")
"""The shortest part of a notification address that counts as a token. Other words in an
address are shorter."""
_PASSWORD = re.compile(r"://[^/@:]*:(.+)@")
_ADDRESS_NAME = re.compile(r"(?:_PROXY|_BASE|_URL)$", re.IGNORECASE)


def secrets_in(environ: Mapping[str, str], token: str = "") -> tuple[str, ...]:
    """Return the values that must not appear in anything written, the longest first.

    A variable holds a secret if its name says so (`…_KEY`, `…_TOKEN`). The action's inputs
    `history` and `notify` may hold one inside an address, and so may the address of a proxy or a
    model's server. Values that this process was told to keep secret are secret in any case.
    """
    values = {value for name, value in environ.items() if _SECRET_NAME.search(name)}
    values |= {token, *_kept}
    for name, value in environ.items():
        if name == "INPUT_HISTORY" or _ADDRESS_NAME.search(name):
            for password in _PASSWORD.findall(value):
                values |= {password, unquote(password)}
    for address in environ.get("INPUT_NOTIFY", "").split():
        values |= {address, *_LONG_PART.findall(address)}
    # The longest first, so that a secret which contains another is replaced as a whole.
    return tuple(sorted((v for v in values if len(v) >= SHORTEST), key=lambda v: (-len(v), v)))
