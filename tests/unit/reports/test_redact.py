"""Known secrets are found in whatever form they are written, and nothing else is touched."""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.results import failing_contract
from support.results import result as result_of

from gatekeeper.gate.results.result import Reason
from gatekeeper.reports.escape import block, code, html_code, prose, xml_text
from gatekeeper.reports.formats.junit import render_junit
from gatekeeper.reports.formats.result_json import render_result
from gatekeeper.reports.formats.samples import sample_lines
from gatekeeper.reports.redact import _OWN_WORDS, Redactor, redactor, secrets_in

SECRET = 'sk-Pr/0j+ab"c d\\e_f&<g>:é'
TOKEN = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"

visible_text = st.text(
    st.characters(min_codepoint=32, exclude_characters="*", exclude_categories=["Cs"]),
    max_size=30,
)
long_secrets = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FFF, exclude_categories=["Cc", "Cs", "Z"]),
    min_size=8,
    max_size=40,
)


TO_URL = str.maketrans("+/", "-_")


def _base64_url(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


ENCODINGS = {
    "plain": lambda s: s,
    "percent": lambda s: quote(s, safe=""),
    "percent of addresses": quote,
    "percent lower": lambda s: "".join(f"%{byte:02x}" for byte in s.encode()),
    "percent twice": lambda s: quote(quote(s, safe=""), safe=""),
    "form": quote_plus,
    "JSON": lambda s: json.dumps(s)[1:-1],
    "JSON of any character": lambda s: "".join(
        f"\\u{unit:04X}" for unit in memoryview(s.encode("utf-16-le")).cast("H")
    ),
    "JSON in JSON": lambda s: json.dumps(json.dumps(s)),
    "JSON with slashes": lambda s: json.dumps(s)[1:-1].replace("/", "\\/"),
    "Python": lambda s: "".join(f"\\U{ord(c):08x}" for c in s),
    "JavaScript": lambda s: "".join(f"\\u{{{ord(c):x}}}" for c in s),
    "octal": lambda s: "".join(f"\\{byte:03o}" for byte in s.encode("latin-1")),
    "HTML": html.escape,
    "HTML twice": lambda s: html.escape(html.escape(s)),
    "HTML decimal": lambda s: "".join(f"&#{ord(c)};" for c in s),
    "HTML hexadecimal": lambda s: "".join(f"&#x{ord(c):04X};" for c in s),
    "hexadecimal": lambda s: s.encode().hex(),
    "HEXADECIMAL": lambda s: s.encode().hex().upper(),
    "bytes": lambda s: s.encode().hex(":"),
    "reversed": lambda s: s[::-1],
    "prose": prose,
    "code span": code,
    "code in HTML": html_code,
    "code block": block,
    "XML": lambda s: html.escape(xml_text(s)),
    "cut": lambda s: s[:8] + "…",
    "cut in ASCII": lambda s: s[:-1] + "...",
    "cut before": lambda s: "…" + s[-8:],
    "cut before, with a space": lambda s: " … " + s[1:],
}
BASE64 = {
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "unpadded": lambda s: base64.b64encode(s.encode()).decode().rstrip("="),
    "for addresses": _base64_url,
    "after one byte": lambda s: base64.b64encode(b"x" + s.encode()).decode(),
    "after two bytes": lambda s: base64.b64encode(b"xy" + s.encode()).decode(),
    "of basic authentication": lambda s: base64.b64encode(f"user:{s}".encode()).decode(),
    "before other text": lambda s: _base64_url(f"ab{s} and more"),
    "in an address": lambda s: quote(base64.b64encode(f"a{s}".encode()).decode(), safe=""),
    "in JSON": lambda s: base64.b64encode(s.encode()).decode().replace("/", "\\/"),
}


@pytest.mark.parametrize("secret", [SECRET, TOKEN, "plainword", "pass word?"])
@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
def test_every_form_is_found(encode, secret: str) -> None:
    written = encode(secret)
    redacted = Redactor([secret]).text(f"before: {written} after")
    assert "***" in redacted
    assert redacted.startswith("before: ")
    assert redacted.endswith(" after")
    rest = html.unescape(redacted.replace("***", ""))
    assert not any(secret[at : at + 4] in rest for at in range(len(secret) - 3))
    assert len(rest) < len("before: <code></code> after") + 10


@pytest.mark.parametrize("secret", [SECRET, TOKEN, "plainword", "\x00\x10\x83\x10\x51\x87\x20\x92"])
@pytest.mark.parametrize("encode", BASE64.values(), ids=BASE64)
def test_every_base64_is_found(encode, secret: str) -> None:
    """What is left decodes to nothing of the secret."""
    redacted = Redactor([secret]).text(f"Basic {encode(secret)}\n")
    assert "***" in redacted
    content = secret.encode()
    left = [
        base64.b64decode("A" * shift + word + "A" * (-(shift + len(word)) % 4), altchars=b"-_")
        for word in re.findall("[A-Za-z0-9_-]+", unquote(redacted).translate(TO_URL))
        for shift in range(4)
    ]
    pieces = {content[at : at + 3] for at in range(len(content) - 2)}
    assert not [piece for piece in pieces if any(piece in found for found in left)]


@given(long_secrets, visible_text, visible_text, st.integers(0, 2**30))
def test_any_mixture_of_escapes_is_found(secret: str, before: str, after: str, seed: int) -> None:
    assume(secret not in before and secret not in after)
    forms = (
        lambda c: c,
        lambda c: quote(c, safe=""),
        lambda c: "".join(f"%{byte:02x}" for byte in c.encode()),
        lambda c: json.dumps(c)[1:-1],
        lambda c: f"&#{ord(c)};",
        lambda c: html.escape(c),
    )
    written = ""
    for character in secret:
        seed, choice = divmod(seed, len(forms))
        written += forms[choice](character)
    redacted = Redactor([secret]).text(f"{before} {written} {after}")
    assert secret not in redacted
    assert "***" in redacted


@given(long_secrets, visible_text)
def test_text_without_the_secret_stays(secret: str, text: str) -> None:
    assume(secret[:4] not in text and secret[::-1][:4] not in text)
    assume(not {"%", "\\", "&"} & set(text))
    assert Redactor([secret]).text(text) == text


@given(long_secrets, st.lists(visible_text, max_size=4))
def test_redacted_json_is_json(secret: str, texts: list[str]) -> None:
    assume(secret not in _OWN_WORDS)
    document = {"before": texts, "secret": secret, "inside": f"a{secret}\nb", "after": texts}
    redacting = Redactor([secret])
    document = redacting.value(document)
    assert secret not in json.dumps(document, ensure_ascii=False)
    json.loads(redacting.text(json.dumps(document)))


@pytest.mark.parametrize("first", "bfnrtu")
def test_a_secret_that_starts_like_an_escape_leaves_json_whole(first: str) -> None:
    """`\\n` and the rest of the secret is not the secret, but looks like it."""
    escaped = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "u": "ł"}[first]
    redacting = Redactor([f"{first}ecret-value"])
    for text in (f"{escaped}ecret-value", f"\\{first}ecret-value", f"\\\\{first}ecret-value"):
        written = json.dumps({"text": text})
        assert json.loads(redacting.text(written))


def test_base64_after_a_line_end_leaves_json_whole() -> None:
    written = json.dumps("x\n" + base64.b64encode(b"a" + TOKEN.encode()).decode())
    assert "***" in json.loads(Redactor([TOKEN]).text(written))


def test_a_secret_of_several_lines_is_found_by_its_lines() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqh\nkiG9w0BAQEFAASC\nab\n-----END KEY-----\n"
    redacting = Redactor([key])
    for written in (
        key,
        key.replace("\n", " "),
        "MIIEvQIBADANBgkqh",
        "x kiG9w0BAQEFAASC\n",
        code(key),
    ):
        redacted = redacting.text(f"<{written}>")
        assert "MIIEvQ" not in redacted
        assert "kiG9w0" not in redacted


def test_short_values_are_left() -> None:
    assert (
        Redactor(["seven77", "        ", ""]).text("seven77 is a number") == "seven77 is a number"
    )
    assert Redactor([]).text(TOKEN) == TOKEN
    assert Redactor([]).value((TOKEN,)) == (TOKEN,)


def test_the_longer_of_two_goes_as_a_whole() -> None:
    assert Redactor(["password", "password-and-more"]).text("password-and-more!") == "***!"


def test_a_beginning_alone_is_no_secret() -> None:
    """Only an ellipsis says that the rest was there: prefixes of keys are ordinary words."""
    text = "keys start with sk-Pr/0j+ or ghs_16C7, … and go on"
    assert Redactor([SECRET, TOKEN]).text(text) == text


def test_a_result_is_redacted_before_anything_is_cut() -> None:
    """The forms that remain after rendering are those of the rendered result."""
    result = result_of(failing_contract())
    contract = result.contracts[0]
    reason = Reason("regression", f"the provider said {TOKEN * 3}" + "x" * 700, "fail")
    spoilt = replace(
        result,
        contracts=(replace(contract, name=f"name {TOKEN}", reasons=(reason,)),),
        notices=(f"a notice about {TOKEN}",),
    )
    redacted = redactor((TOKEN,)).value(spoilt)
    for render in (render_result, render_junit, sample_lines):
        assert TOKEN[:8] not in "".join(render(redacted))
    assert redacted.verdict == spoilt.verdict
    assert redacted.contracts[0].fixtures == contract.fixtures
    assert redacted.outcomes == spoilt.outcomes


def test_words_of_the_program_are_no_secrets() -> None:
    """A variable `X_TOKEN=inconclusive` must not turn a verdict into stars."""
    result = replace(result_of(failing_contract()), verdict="inconclusive")
    assert redactor(("inconclusive", "regression")).value(result).verdict == "inconclusive"


@pytest.mark.parametrize("text", ["\\", "%25", "&amp;", "&#00", "\\u00", "ghs_16C7", "sk-Pr", "…"])
def test_hostile_repetition_stays_as_it_is(text: str) -> None:
    """A quadratic pattern would take hours for this."""
    repeated = text * (500_000 // len(text))
    assert Redactor([SECRET, TOKEN]).text(repeated) == repeated


def test_a_file_of_samples_without_a_secret_stays_as_it_is() -> None:
    line = json.dumps({"output": 'It says "skip 100 %" &c.\n' * 40, "request": "0f" * 32})
    text = f"{line}\n" * (500_000 // len(line))
    secrets = (SECRET, TOKEN, "AKIAIOSFODNN7EXAMPLE", "another-one-1234", "x" * 200)
    assert Redactor(secrets).text(text) == text


class _Pair(NamedTuple):
    name: str
    said: str


def test_the_fields_of_a_named_tuple_are_redacted() -> None:
    assert Redactor([TOKEN]).value(_Pair("a", f"is {TOKEN}")) == _Pair("a", "is ***")


def test_an_end_without_an_ellipsis_before_it_is_ordinary_text() -> None:
    text = f"… and then {TOKEN[-10:]}, {TOKEN[-12:]}"
    assert Redactor([TOKEN]).text(text) == text


def test_ends_that_follow_one_another_are_found() -> None:
    more = TOKEN[-8:] * 50_000
    assert Redactor([TOKEN]).text(f"…{TOKEN[-8:]}{more}") == f"…***{more}"


@pytest.mark.parametrize("length", [16, 17, 23, 30])
@pytest.mark.parametrize("at", [0, 1, 4, 7, 8, 10])
def test_any_long_part_of_a_key_is_found(at: int, length: int) -> None:
    part = TOKEN[at : at + length]
    assert Redactor([TOKEN]).text(f"a {part} b {part}") == "a *** b ***"


@pytest.mark.parametrize("at", range(len(TOKEN) - 15))
def test_fifteen_characters_of_a_key_may_be_chance_and_sixteen_are_none(at: int) -> None:
    redacting = Redactor([TOKEN])
    assert redacting.text(f"<{TOKEN[at : at + 15]}>") == f"<{TOKEN[at : at + 15]}>"
    assert redacting.text(f"<{TOKEN[at : at + 16]}>") == "<***>"


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("/runner/jobs/of-one-project/key-1.json", "/runner/jobs/of-one-project/report.html"),
        ("https://models.example.com/v1/tenants/77", "https://models.example.com/v1/tenants/78"),
        ("a-placeholder-that-nobody-needs-1", "a-placeholder-that-nobody-wants"),
        ("several words of prose, number 1", "several words of prose, number 2"),
    ],
)
def test_a_part_of_a_path_an_address_or_prose_is_ordinary_text(secret: str, text: str) -> None:
    assert Redactor([secret]).text(text) == text


def test_parts_that_follow_one_another_are_found() -> None:
    text = f"{TOKEN[:15]}-{TOKEN[20:30]}" * 50_000 + TOKEN[5:25] * 50_000
    assert TOKEN[5:25] not in Redactor([TOKEN, "ab" * 100 + "1"]).text(text)


@pytest.mark.parametrize(
    "name", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_BASE_URL", "AZURE_API_BASE"]
)
def test_the_password_of_an_address_is_a_secret(name: str) -> None:
    found = secrets_in({name: "http://svc:Tr0ub4dor%40pw@proxy.example:3128"})
    assert set(found) == {"Tr0ub4dor%40pw", "Tr0ub4dor@pw"}


def test_an_address_without_a_password_is_none() -> None:
    assert secrets_in({"HTTPS_PROXY": "http://proxy.example:3128", "HOME": "/x:longenough@y"}) == ()


def test_a_name_tells_a_secret() -> None:
    environ = {"OPENAI_API_KEY": "sk-0123456789", "KEYBOARD": "0123456789", "MY_TOKEN": "short"}
    assert secrets_in(environ, "ghs_0123456789") == ("ghs_0123456789", "sk-0123456789")
