"""secrets: the forms of keys, placeholders that are none, and what a message repeats."""

from __future__ import annotations

import pytest

from gatekeeper.checks.safety.secret_forms import FORMS

# Put together here, so that no scanner takes this file for a leak.
LETTERS = "aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7bC9dE2fG4hJ6kL8mN1pQ3rS5tU7vW9xY2zA4bC6dE8fG1hJ3"
SECRETS = {
    "private_key": "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
    "aws": "AKIA" + "ABCDEFGHIJ234567",
    "azure": "AccountKey=" + (LETTERS + LETTERS)[:86] + "==",
    "anthropic": "sk-" + "ant-api03-" + LETTERS[:40],
    "openai": "sk-" + "proj-" + LETTERS[:40],
    "google": "AIza" + LETTERS[:35],
    "github": "ghp_" + LETTERS[:36],
    "gitlab": "glpat-" + LETTERS[:20],
    "slack": "xoxb-" + "123456789012-" + LETTERS[:20],
    "stripe": "sk_" + "live_" + LETTERS[:24],
    "huggingface": "hf_" + LETTERS[:34],
    "npm": "npm_" + LETTERS[:36],
    "pypi": "pypi-AgE" + LETTERS[:60],
    "sendgrid": "SG." + LETTERS[:22] + "." + LETTERS[:43],
    "telegram": "123456789:AA" + LETTERS[:33],
    "jwt": "eyJ" + LETTERS[:20] + ".eyJ" + LETTERS[:20] + "." + LETTERS[:20],
    "url_password": "https://user:" + "hunter2@host.example",
    "assignment": "api_key: " + LETTERS[:20],
}


@pytest.mark.parametrize("kind", FORMS)
def test_finds(apply, kind):
    text = f'Use this:\n"{SECRETS[kind]}".'
    finding = apply("secrets", text, kinds=[kind])
    assert finding.passed is False
    assert kind in finding.message
    assert LETTERS[:10] not in finding.message
    assert "hunter2" not in finding.message
    assert apply("secrets", text).passed is False


@pytest.mark.parametrize(
    "text",
    [
        "Set OPENAI_API_KEY to sk-...",
        "password: ************",
        "password: yourpasswordhere",
        "token: aaaaaaaaaaaa1111",
        "https://<user>:<password>@host.example",
        "https://user:${PASSWORD}@host.example",
        "https://host.example:8080/a@b",
        "git@github.com:owner/repository.git",
        "desk-proj-" + LETTERS[:30],
        "-----BEGIN CERTIFICATE-----",
        "secret: none of your business",
    ],
)
def test_placeholders_are_no_secrets(apply, text):
    assert apply("secrets", text).passed


def test_invisible_characters_hide_nothing(apply):
    key = SECRETS["aws"]
    assert apply("secrets", f"{key[:8]}\u200b{key[8:]}").passed is False


def test_what_may_occur(apply):
    text = f"{SECRETS['aws']} {SECRETS['npm']}"
    assert apply("secrets", text, allow=[SECRETS["aws"], SECRETS["npm"]]).passed
    finding = apply("secrets", text, allow=[SECRETS["aws"]])
    assert finding.message == "contains secrets: npm `npm_…`"


def test_a_long_text_is_undetermined(apply):
    assert apply("secrets", "a" * 100_001).passed is None
